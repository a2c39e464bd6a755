// SPDX-License-Identifier: Apache-2.0
// Changes of memory as a whole: blocks run side by side.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace warpbit::async {

/// For what the host's processor cannot change as a whole: 128 bits, and arrays that the host has at odd addresses.
inline std::mutex one_at_a_time;

/// The T at `data` becomes change(T). Returns what it was.
template <class T, class Change>
T change_whole(std::byte* data, Change change) {
  if (reinterpret_cast<std::uintptr_t>(data) % std::atomic_ref<T>::required_alignment != 0) {
    const std::lock_guard lock(one_at_a_time);
    T old;
    std::memcpy(&old, data, sizeof old);
    const T next = change(old);
    std::memcpy(data, &next, sizeof next);
    return old;
  }
  std::atomic_ref<T> memory(*reinterpret_cast<T*>(data));
  T old = memory.load();
  while (!memory.compare_exchange_weak(old, change(old))) continue;
  return old;
}

}  // namespace warpbit::async
