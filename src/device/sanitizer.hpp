// SPDX-License-Identifier: Apache-2.0
// What the address sanitizer must know of stacks; nothing where there is none.
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

// leave() and arrive() stand around each switch of stacks. `frames` keeps what the sanitizer remembers of the
// stack that is left; nullptr if it is left for good.
#ifdef WARPBIT_ADDRESS_SANITIZER
inline void leave(void** frames, const void* bottom, std::size_t size) {
  __sanitizer_start_switch_fiber(frames, bottom, size);
}
inline void arrive(void* frames, const void** from_bottom, std::size_t* from_size) {
  __sanitizer_finish_switch_fiber(frames, from_bottom, from_size);
}
/// Frames that never returned have left marks; what lies there next would be taken for them.
inline void forget(const void* bottom, std::size_t size) {
  __asan_unpoison_memory_region(bottom, size);
}
#else
inline void leave(void**, const void*, std::size_t) {}
inline void arrive(void*, const void**, std::size_t*) {}
inline void forget(const void*, std::size_t) {}
#endif

}  // namespace warpbit::device::sanitizer
