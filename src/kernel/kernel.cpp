// SPDX-License-Identifier: Apache-2.0
#include "warpbit/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "kernel/bodies.hpp"

namespace warpbit {
namespace {

constexpr std::array<std::string_view, 4> kNames{"node", "scalar", "avx2", "avx512"};

bool runs(Kernel kernel) {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
  const bool avx2 = false, avx512 = false;
#endif
  return kernel == Kernel::avx512 ? avx512 : kernel == Kernel::avx2 ? avx2 : true;
}

Result<Kernel> choose() {
  const std::vector<Kernel> possible = kernels();
  const char* wanted = std::getenv("WARPBIT_KERNEL");
  if (wanted == nullptr) return possible.back();
  std::string accepted;
  for (const Kernel kernel : possible) {
    if (name(kernel) == wanted) return kernel;
    accepted += fmt::format("{}{}", accepted.empty() ? "" : ", ", name(kernel));
  }
  return Error{Errc::no_such_kernel, "WARPBIT_KERNEL", fmt::format("'{}' on this processor", wanted), accepted};
}

}  // namespace

std::string_view name(Kernel kernel) {
  return kNames[static_cast<std::size_t>(kernel)];
}

std::vector<Kernel> kernels() {
  std::vector<Kernel> out{Kernel::node, Kernel::scalar, Kernel::avx2, Kernel::avx512};
  std::erase_if(out, [](Kernel kernel) { return !runs(kernel); });
  return out;
}

Result<Kernel> chosen_kernel() {
  static const Result<Kernel> chosen = choose();
  return chosen;
}

const Body* find_body(Kernel kernel) {
  switch (kernel) {
    case Kernel::scalar: return &k_scalar_body;
#if defined(__x86_64__)
    case Kernel::avx2: return &k_avx2_body;
    case Kernel::avx512: return &k_avx512_body;
#endif
    default: return nullptr;
  }
}

}  // namespace warpbit
