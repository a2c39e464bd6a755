// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>  // _mm_getcsr
#elif defined(__aarch64__)
#include <cstdint>
#else
#include <cfenv>
#endif

namespace warpbit {

/// While it lives, its thread computes in floating point as the bodies need it, whatever the caller has set:
/// rounding to nearest, subnormals kept, no traps. Afterwards all is as it was, flags included.
class DefaultFloating {
 public:
  DefaultFloating(const DefaultFloating&) = delete;
  DefaultFloating& operator=(const DefaultFloating&) = delete;

#if defined(__SSE2__)
  DefaultFloating() : before_(_mm_getcsr()) {
    _mm_setcsr(kAllMasked);
  }
  ~DefaultFloating() {
    _mm_setcsr(before_);
  }

 private:
  //  15  14..13  12..7  6    5..0
  //  FTZ   RC    masks  DAZ  flags
  static constexpr unsigned kAllMasked = 0x1F80;
  unsigned before_;
#elif defined(__aarch64__)
  DefaultFloating() {
    asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr\n\tmsr fpcr, xzr" : "=r"(control_), "=r"(flags_)::"memory");
  }
  ~DefaultFloating() {
    asm volatile("msr fpcr, %0\n\tmsr fpsr, %1" ::"r"(control_), "r"(flags_) : "memory");
  }

 private:
  //   26    25  24  23..22   19   15..8   2   1   0
  //  AHP    DN  FZ  RMode   FZ16  traps  NEP  AH  FIZ
  std::uint64_t control_, flags_;
#else
  DefaultFloating() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloating() {
    std::fesetenv(&before_);
  }

 private:
  std::fenv_t before_;
#endif
};

}  // namespace warpbit
