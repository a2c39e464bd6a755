// SPDX-License-Identifier: Apache-2.0
// Generated inputs of captures: a capture may state how its inputs were made instead of holding them. The
// form, a seed and a profile alone determine the bits of any register of any case. Host, device (CUDA) and
// Python (tools/capture/inputs.py) give the same bits. Also digests of results: 64 bits for a block of cases.
#pragma once

#include "warpbit/inputs/element.hpp"
#include "warpbit/inputs/member.hpp"
#include "warpbit/inputs/philox.hpp"
#include "warpbit/inputs/place.hpp"
#include "warpbit/inputs/setting.hpp"

namespace warpbit::inputs {

/// The counter of a register's random bits.
WARPBIT_HOST_DEVICE inline Words counter_of(const Member& m, std::uint64_t index, std::int32_t lane,
                                            std::int32_t reg) {
  return {{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
           static_cast<std::uint32_t>(m.operand),
           static_cast<std::uint32_t>(lane) << 16 | static_cast<std::uint32_t>(reg)}};
}

/// True if neighbouring elements are made so that their products may cancel.
WARPBIT_HOST_DEVICE inline bool has_twins(const Member& m, const Setting& s) {
  return s.profile == Profile::cancellation && m.role <= Role::right;
}

/// The elements of a register, from its random bits. `twin`: its one element repeats its neighbour's.
template <class U>
WARPBIT_HOST_DEVICE inline U packed_elements(const Member& m, const Setting& s, const Words& random,
                                             bool twin) {
  const int n = m.register_bits / m.slot_bits;
  const Twin<U> as_twin = twin_of<U>(m);
  U out = 0;
  for (int e = 0; e < n; ++e) {
    const bool second = n > 1 && e % 2 != 0 && has_twins(m, s);
    U code = element_code(m, s, share<U>(random, n, second ? e - 1 : e));
    if (second) code = twin_code(as_twin, code, share<U>(random, n, e).choice >> 21);
    if (twin) code = twin_code(as_twin, code, random.w[3]);
    out |= (code & ones<U>(m.format.bits)) << (m.slot_bits * e + m.low_bit);
  }
  return out;
}

/// A register of elements.
WARPBIT_HOST_DEVICE inline std::uint64_t elements_word(const Member& m, const Setting& s, Key key,
                                                       std::uint64_t index, std::int32_t lane,
                                                       std::int32_t reg) {
  if (s.profile == Profile::exhaustive)  // odd multiples: each register goes through all of its codes
    return index * (1 + std::uint64_t{0x9E3779B0} * static_cast<std::uint64_t>(16 * m.operand + reg));
  const bool single = m.register_bits == m.slot_bits, by_lane = m.neighbour == Neighbour::lane;
  const std::int32_t twin = single && has_twins(m, s) ? (by_lane ? lane : reg) & 1 : 0;
  const Words random =
      philox(key, counter_of(m, index, by_lane ? lane - twin : lane, by_lane ? reg : reg - twin));
  if (m.slot_bits == 1) return bits_word(s.profile, random);
  if (m.format.bits > 32) return packed_elements<std::uint64_t>(m, s, random, twin != 0);
  return packed_elements<std::uint32_t>(m, s, random, twin != 0);
}

/// Eight nibbles. If products may cancel, only the first and the last choice: neighbours, in ascending order.
WARPBIT_HOST_DEVICE inline std::uint64_t metadata_word(const Member& m, Profile profile, const Words& random) {
  std::uint64_t out = 0;
  for (int i = 0; i < 8; ++i) {
    const std::uint32_t bits = random.w[i / 2] >> (16 * (i % 2));
    const std::int32_t which =
        profile == Profile::cancellation ? below(bits, 2) * (m.count - 1) : below(bits, m.count);
    out |= static_cast<std::uint64_t>(m.choices >> (4 * which) & 0xF) << (4 * i);
  }
  return out;
}

/// A register of a member that does not hold elements.
WARPBIT_HOST_DEVICE inline std::uint64_t other_word(const Member& m, Profile profile, Key key,
                                                    std::uint64_t index, std::int32_t lane, std::int32_t reg) {
  const bool permuted = m.fill == Fill::permuted, same = permuted || m.fill == Fill::offset;
  const Words random = philox(key, counter_of(m, index, same ? 0 : lane, same ? 0 : reg));
  switch (m.fill) {
    case Fill::metadata: return metadata_word(m, profile, random);
    case Fill::offset:
    case Fill::offsets: return static_cast<std::uint64_t>(m.least + m.step * below(random.w[0], m.count));
    case Fill::permuted: {  // exchanged by bits, then an odd multiple
      const std::uint32_t i = (static_cast<std::uint32_t>(lane) ^ random.w[0]) * (random.w[1] | 1);
      return static_cast<std::uint64_t>(
          m.least + m.step * static_cast<std::int32_t>(i & static_cast<std::uint32_t>(m.count - 1)));
    }
    case Fill::flag: return below(random.w[0], 8) != 0;
    case Fill::descriptor: return descriptor_word(m, random);
    default: return random.w[0] | std::uint64_t{random.w[1]} << 32;
  }
}

/// The low register_bits bits of one register, for a case whose setting is known. `reg` counts from the start
/// of a lane's registers: first <= reg < first + registers.
WARPBIT_HOST_DEVICE inline std::uint64_t word(const Member& m, const Setting& s, Key key, std::uint64_t index,
                                              std::int32_t lane, std::int32_t reg) {
  const std::uint64_t out = m.fill == Fill::elements ? elements_word(m, s, key, index, lane, reg)
                                                     : other_word(m, s.profile, key, index, lane, reg);
  return out & ones<std::uint64_t>(m.register_bits);
}

/// The same from the profile.
WARPBIT_HOST_DEVICE inline std::uint64_t word(Key key, Profile profile, const Member& m, std::uint64_t index,
                                              std::int32_t lane, std::int32_t reg) {
  return word(m, setting_of(m, key, profile, index), key, index, lane, reg);
}

/// Default number of cases per digest.
inline constexpr std::uint64_t kBlockCases = 4096;

/// A result's contribution to the digest of its block, modulo 2^64: SplitMix64's finaliser. `position` counts
/// the result's registers in the whole capture: case, lane, register; memory is counted in words of four
/// bytes.
WARPBIT_HOST_DEVICE inline std::uint64_t mix(std::uint64_t position, std::uint64_t word) {
  std::uint64_t x = word + 0x9E3779B97F4A7C15 * (position + 1);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace warpbit::inputs
