// SPDX-License-Identifier: Apache-2.0
// Other values for launches of a test that `warpbit notice` runs, to tell a mistake that its inputs hide from one that changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// Words of 16 bits with other bits, none of which is of the exponent of f16, bf16 or f32.
///
///     f16  s eeeee mmmmmmmmmm    bf16  s eeeeeeee mmmmmmm
///     mask 1 00000 0001111111          1 00000000 1111111
struct OtherValues {
  std::uint16_t mask = 0, zeros = 0;  ///< `zeros`: what words that are 0 become first
  unsigned kept = 1;                  ///< of so many words one is not 0
};
inline constexpr std::uint16_t kMantissas = 0x807f;
/// Those that are tried.
inline constexpr OtherValues kOtherValues[] = {
    {kMantissas, 0x3c00}, {kMantissas, 0}, {0x0101, 0}, {kMantissas, 0x3c00, 40}};
/// So many launches of a kernel that leave the same are repeated with other inputs.
inline constexpr int kTriedLaunches = 4;

/// Changes whole words. `state`: of the random bits.
void change_values(std::span<std::byte> of, const OtherValues& to, std::uint64_t& state);

}  // namespace warpbit
#pragma GCC visibility pop
