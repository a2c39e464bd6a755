// SPDX-License-Identifier: Apache-2.0
// Generated inputs of captures: a capture may state how its inputs were made instead of holding them. The
// form, a seed and a profile alone determine the bits of any register of any case. Host, device (CUDA) and
// Python (tools/capture/inputs.py) give the same bits. Also digests of results: 64 bits for a block of cases.
#pragma once

#include "warpbit/inputs/element.hpp"
#include "warpbit/inputs/member.hpp"
#include "warpbit/inputs/philox.hpp"
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

/// N registers of elements, which are made at once: a host does so in vectors, a thread of a GPU one.
template <class U, int N>
struct Registers {
  std::uint32_t place[N];      ///< the last word of their counters
  std::uint32_t random[4][N];  ///< word by word
  U out[N];
};

/// The elements that `code` makes of their random bits, in their slots.
template <class U, int N, class Code>
WARPBIT_HOST_DEVICE inline void pack_elements(const Member& m, bool twins, Registers<U, N>& r, Code code) {
  const int n = m.register_bits / m.slot_bits;
  const U mask = ones<U>(m.format.bits);
  for (int i = 0; i < N; ++i) r.out[i] = 0;
  for (int e = 0; e < n; ++e) {
    const bool second = twins && n > 1 && e % 2 != 0;
    const Share own = share_of(n, e), share = second ? share_of(n, e - 1) : own;
    const Twin<U> twin = second ? twin_of<U>(m) : Twin<U>{};
    const int low = m.slot_bits * e + m.low_bit;
    for (int i = 0; i < N; ++i)
      r.out[i] |= (twin_code(twin, code(random_of<U>(share, r.random, i)),
                             random_of<U>(own, r.random, i).choice >> 21) &
                   mask)
                  << low;
  }
}

/// Registers of elements at the places that are set, in the case of the counter. Not for Profile::exhaustive.
template <class U, int N>
WARPBIT_HOST_DEVICE inline void make_elements(const Member& m, const Setting& s, Key key, const Words& counter,
                                              Registers<U, N>& r) {
  const bool twins = has_twins(m, s);
  // The bit of a place by which it repeats its neighbour's random bits.
  const std::uint32_t twin = !twins || m.register_bits != m.slot_bits ? 0
                             : m.neighbour == Neighbour::lane         ? 0x10000
                                                                      : 1;
  auto& [x0, x1, x2, x3] = r.random;
  for (int i = 0; i < N; ++i) {
    const Words x = philox(key, {{counter.w[0], counter.w[1], counter.w[2], r.place[i] & ~twin}});
    x0[i] = x.w[0], x1[i] = x.w[1], x2[i] = x.w[2], x3[i] = x.w[3];
  }
  if (m.slot_bits == 1) {
    for (int i = 0; i < N; ++i) r.out[i] = bits_word(s.profile, {{x0[i], x1[i], x2[i], x3[i]}});
    return;
  }
  with_code<U>(m, s, [&](auto code) { pack_elements(m, twins, r, code); });
  const Twin<U> as_twin = twin_of<U>(m);
  for (int i = 0; i < N; ++i)
    if ((r.place[i] & twin) != 0)
      r.out[i] = (twin_code(as_twin, r.out[i] >> m.low_bit, x3[i]) & ones<U>(m.format.bits)) << m.low_bit;
}

/// One register of them.
template <class U>
WARPBIT_HOST_DEVICE inline U elements_word(const Member& m, const Setting& s, Key key, const Words& counter) {
  Registers<U, 1> one;
  one.place[0] = counter.w[3];
  make_elements(m, s, key, counter, one);
  return one.out[0];
}
WARPBIT_HOST_DEVICE inline std::uint64_t elements_word(const Member& m, const Setting& s, Key key,
                                                       std::uint64_t index, std::int32_t lane,
                                                       std::int32_t reg) {
  if (s.profile == Profile::exhaustive)  // odd multiples: each register goes through all of its codes
    return index * (1 + std::uint64_t{0x9E3779B0} * static_cast<std::uint64_t>(16 * m.operand + reg));
  const Words counter = counter_of(m, index, lane, reg);
  if (m.format.bits > 32) return elements_word<std::uint64_t>(m, s, key, counter);
  return elements_word<std::uint32_t>(m, s, key, counter);
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

// ---- Placement of factors in shared memory: descriptors whose bytes all lie in their part of memory

/// The bytes of a span in which 16-byte chunks are permuted, by the descriptor's field; 16 without a swizzle.
WARPBIT_HOST_DEVICE inline std::int32_t span_bytes(std::int32_t swizzle) {
  return swizzle == 0 ? 16 : 256 >> swizzle;
}

/// A factor as atoms of 8 lines of one span each, `groups` of them along the lines and `spans` along a line.
struct Atoms {
  std::int32_t bytes, groups, spans;
};
WARPBIT_HOST_DEVICE inline Atoms atoms_of(const Member& m, std::int32_t swizzle) {
  const std::int32_t span = span_bytes(swizzle), chunks = span / 16;
  return {8 * span, m.lines / 8, (m.chunks + chunks - 1) / chunks};
}

/// The space that a factor needs: room for any swizzle, and for a start moved by up to 7 rows of 128 bytes.
inline std::int32_t factor_bytes(const Member& m) {
  std::int32_t most = 0;
  for (std::int32_t swizzle = 0; swizzle < 4; ++swizzle) {
    const Atoms a = atoms_of(m, swizzle);
    most = larger(most, a.bytes * a.groups * a.spans);
  }
  return (most + 1023) / 1024 * 1024 + 1024;
}

/// The steps from one group of lines to the next and from one span to the next. Either step may be the
/// smaller one, and there may be gaps between atoms. A step that is not taken is an arbitrary small one.
struct Steps {
  std::int32_t lines, spans;
};
WARPBIT_HOST_DEVICE inline Steps steps_of(const Atoms& a, std::int32_t step, const Words& random) {
  const bool lines_first = (random.w[1] & 1) != 0;
  const std::int32_t any = 16 * below(random.w[2], 64);
  return {a.groups == 1 ? any
          : lines_first ? step
                        : step * a.spans,
          a.spans == 1  ? any
          : lines_first ? step * a.groups
                        : step};
}

/// A descriptor (PTX manual, "Matrix Descriptor Format"). The factor may begin within a span, as a part of a
/// larger matrix does; a start moved by rows of 128 bytes has a base offset.
WARPBIT_HOST_DEVICE inline std::uint64_t descriptor_word(const Member& m, const Words& random) {
  const auto swizzle = static_cast<std::int32_t>(random.w[0] >> 30);
  const Atoms atoms = atoms_of(m, swizzle);
  const std::int32_t all = atoms.groups * atoms.spans, chunks = span_bytes(swizzle) / 16;
  const std::int32_t room = (m.bytes - 1024) / (atoms.bytes * all);  // atoms per atom
  const std::int32_t step = atoms.bytes * (1 + below(random.w[0], smaller(room, 3)));
  const Steps steps = steps_of(atoms, step, random);

  const std::int32_t free = (m.bytes - 1024 - step * all) / atoms.bytes;
  const std::int32_t place = m.base + atoms.bytes * below(random.w[1] >> 16, free + 1);
  const std::int32_t within = m.chunks <= chunks ? m.chunks * below(random.w[3], chunks / m.chunks) * 16 : 0;
  const std::int32_t rows = swizzle != 0 && (random.w[3] >> 30) == 0 ? below(random.w[3] >> 14, 8) : 0;
  const std::int32_t base_offset = rows != 0 ? ((place + 128 * rows) / 128) % 8 : 0;
  // With M or N contiguous and no swizzle the two steps change places.
  const bool exchanged = m.mn != 0 && swizzle == 0;
  const std::int32_t leading = exchanged ? steps.lines : steps.spans;
  const std::int32_t stride = exchanged ? steps.spans : steps.lines;
  const auto field = [](std::int32_t value, int low) { return static_cast<std::uint64_t>(value) << low; };
  return field((place + 128 * rows + within) / 16, 0) | field(leading / 16, 16) | field(stride / 16, 32) |
         field(base_offset, 49) | field(swizzle, 62);
}

// ---- Registers of any member

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
