// SPDX-License-Identifier: Apache-2.0
#include "warpbit/result.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "kernel/bodies.hpp"

namespace warpbit {
namespace {

constexpr std::array<std::string_view, 5> kNames{"reference", "scalar", "avx2", "avx512", "neon"};

#if defined(__x86_64__)
// A name that clang's __builtin_cpu_supports does not know. Asked once: a virtual machine stops at each cpuid.
bool has_f16c() {
  static const bool known = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  }();
  return known;
}
#endif

bool runs(Kernel kernel) {
  if (kernel == Kernel::reference || kernel == Kernel::scalar) return true;
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c() &&
                    __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512vnni");
  return (kernel == Kernel::avx2 && avx2) || (kernel == Kernel::avx512 && avx512);
#elif defined(__aarch64__)
  return kernel == Kernel::neon;
#else
  return false;
#endif
}

Error no_such_kernel(std::string_view where, std::string_view seen) {
  std::vector<std::string_view> names;
  for (const Kernel kernel : kernels()) names.push_back(name(kernel));
  return Error{Errc::no_such_kernel, std::string(where), fmt::format("'{}' on this processor", seen),
               fmt::format("{}", fmt::join(names, ", "))};
}

Result<Kernel> choose() {
  const std::vector<Kernel> possible = kernels();
  const char* wanted = std::getenv("WARPBIT_KERNEL");
  if (wanted == nullptr) return possible.back();
  const auto found = std::ranges::find(possible, wanted, [](Kernel kernel) { return name(kernel); });
  if (found == possible.end()) return no_such_kernel("WARPBIT_KERNEL", wanted);
  return *found;
}

}  // namespace

std::string_view name(Kernel kernel) {
  return kNames[static_cast<std::size_t>(kernel)];
}

std::vector<Kernel> kernels() {
  std::vector<Kernel> out;
  for (std::size_t number = 0; number < kNames.size(); ++number)
    if (const auto kernel = static_cast<Kernel>(number); runs(kernel)) out.push_back(kernel);
  return out;
}

Result<Kernel> chosen_kernel() {
  static const Result<Kernel> chosen = choose();
  return chosen;
}

Result<Kernel> check_kernel(Kernel kernel) {
  const auto number = static_cast<std::size_t>(kernel);
  if (number >= kNames.size()) return no_such_kernel("ExecuteOptions::kernel", fmt::format("{}", number));
  if (!runs(kernel)) return no_such_kernel("ExecuteOptions::kernel", name(kernel));
  return kernel;
}

const Body* find_body(Kernel kernel) {
  switch (kernel) {
    case Kernel::scalar: return &k_scalar_body;
#if defined(__x86_64__)
    case Kernel::avx2: return &k_avx2_body;
    case Kernel::avx512: return &k_avx512_body;
#elif defined(__aarch64__)
    case Kernel::neon: return &k_neon_body;
#endif
    default: return nullptr;
  }
}

Kernel kernel_of(const Body& body) {
  return static_cast<Kernel>(std::ranges::find(kNames, body.name) - kNames.begin());
}

}  // namespace warpbit
