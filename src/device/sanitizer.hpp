// SPDX-License-Identifier: Apache-2.0
// What the address sanitizer must know about stacks; empty without it.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define WARPBIT_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WARPBIT_ADDRESS_SANITIZER
#endif
#endif

#ifdef WARPBIT_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace warpbit::device::sanitizer {

// leave() and arrive() surround each switch of stacks. `frames` keeps the sanitizer's state of the stack that
// is left; nullptr if it is left for good.
#ifdef WARPBIT_ADDRESS_SANITIZER
inline void leave(void** frames, const void* bottom, std::size_t size) {
  __sanitizer_start_switch_fiber(frames, bottom, size);
}
inline void arrive(void* frames, const void** from_bottom, std::size_t* from_size) {
  __sanitizer_finish_switch_fiber(frames, from_bottom, from_size);
}
/// Clears the marks of frames that never returned; the next frames there would trip over them.
inline void forget(const void* bottom, std::size_t size) {
  __asan_unpoison_memory_region(bottom, size);
}
#else
inline void leave(void**, const void*, std::size_t) {}
inline void arrive(void*, const void**, std::size_t*) {}
inline void forget(const void*, std::size_t) {}
#endif

}  // namespace warpbit::device::sanitizer
