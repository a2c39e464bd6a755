// SPDX-License-Identifier: Apache-2.0
// Placement of factors in shared memory: descriptors whose bytes all lie in their part of memory.
#pragma once

#include "warpbit/inputs/setting.hpp"

namespace warpbit::inputs {

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

}  // namespace warpbit::inputs
