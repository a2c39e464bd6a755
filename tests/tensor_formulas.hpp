// SPDX-License-Identifier: Apache-2.0
// Where the matrices of tcgen05.mma lie, as the PTX manual states it ("Data Path Layout Organization", "Block Scaling",
// "Sparsity", "Strides"): formulas, case by case, without the library's maps.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace tensor_formulas {

/// Bits of a word of tensor memory, from `bit` on. The column is relative to the operand's address.
struct Cell {
  int block = 0, lane = 0, column = 0, bit = 0;
  friend auto operator<=>(const Cell&, const Cell&) = default;
};

/// A shape: M and N of all blocks, how many blocks, and the lane of the addresses, 0 or 16, where it may be either.
struct Shape {
  int m, n, blocks;
  bool ws, sparse;
  int h = 0;

  bool has_half() const { return (blocks == 1 && m == 64 && !ws) || (blocks == 2 && m == 128 && sparse); }
  /// Lanes that have columns of their own beside each other.
  int banks() const {
    if (ws) return 128 / m;
    return blocks == 2 && m == 128 && !sparse ? 2 : 1;
  }
};

/// D[m, n], layouts A to G.
inline Cell d(const Shape& s, int m, int n) {
  if (s.blocks == 2 && s.m == 256) return {m / 128, m % 128, n};                                  // A
  if (s.blocks == 2 && !s.sparse) return {m / 64, m % 64 + 64 * (n / (s.n / 2)), n % (s.n / 2)};  // B
  if (s.blocks == 2) return {m / 64, 32 * (m % 64 / 16) + m % 16 + s.h, n};                       // C
  if (s.m == 128) return {0, m, n};                                                               // D
  if (s.m == 64 && s.ws) return {0, m + 64 * (n / (s.n / 2)), n % (s.n / 2)};                     // E
  if (s.m == 64) return {0, 32 * (m / 16) + m % 16 + s.h, n};                                     // F
  return {0, m + 32 * (n / (s.n / 4)), n % (s.n / 4)};                                            // G
}

/// The place of row m of D in each bank: lanes alone matter.
inline std::vector<Cell> rows(const Shape& s, int m) {
  std::vector<Cell> out;
  for (int bank = 0; bank < s.banks(); ++bank) out.push_back(d(s, m, bank * s.n / s.banks()));
  return out;
}

/// A[m, k] in tensor memory, elements of `slot` bits, of which those from `low` on are used: lower k in lower bits.
inline std::vector<Cell> a(const Shape& s, int slot, int low, int m, int k) {
  std::vector<Cell> out;
  for (const Cell& row : rows(s, m)) out.push_back({row.block, row.lane, k * slot / 32, k * slot % 32 + low});
  return out;
}

/// Metadata of chunk q of row m.
inline std::vector<Cell> metadata(const Shape& s, bool f16_or_tf32, int selector, int m, int q) {
  std::vector<Cell> out;
  for (const Cell& row : rows(s, m)) {
    const int p = row.lane / 32, rho = row.lane % 32 - s.h;
    if (f16_or_tf32)
      out.push_back({row.block, 32 * p + s.h + 16 * (rho / 16) + rho % 8 + 8 * (q / 4), selector,
                     16 * (rho % 16 / 8) + 4 * (q % 4)});
    else
      out.push_back({row.block, row.lane, q / 8, 4 * (q % 8)});
  }
  return out;
}

/// Byte `id` + j of line x of `lines`, in partitions [first, first + count).
inline void add_scale(std::vector<Cell>& out, int block, int first, int count, int lines, int x, int id,
                      int j) {
  const int byte = id + j, stride = (lines + 127) / 128 * 4;
  for (int p = first; p < first + count; ++p)
    out.push_back({block, 32 * p + x % 32, x / 32 + (byte >= 4 ? stride : 0), byte % 4 * 8});
}

/// Scale factor j of row m of A.
inline std::vector<Cell> scale_a(const Shape& s, int id, int m, int j) {
  std::vector<Cell> out;
  const int lines = s.m / s.blocks;
  add_scale(out, m / lines, 0, 4, lines, m % lines, id, j);
  return out;
}

/// Scale factor j of column n of B. A pair with M 128: those of the columns that a bank of 64 lanes has.
inline std::vector<Cell> scale_b(const Shape& s, int id, int n, int j) {
  std::vector<Cell> out;
  for (int block = 0; block < s.blocks; ++block)
    if (s.blocks == 2 && s.m == 128)
      add_scale(out, block, n / (s.n / 2) * 2, 2, s.n / 2, n % (s.n / 2), id, j);
    else
      add_scale(out, block, 0, 4, s.n, n, id, j);
  return out;
}

// ---- In shared memory

/// A descriptor, in bytes. width: of the swizzle, 16 without one; wide: atoms of 32 bytes, of 128 bytes.
struct Described {
  std::uint64_t start, lbo, sbo, base_offset, width;
  bool wide = false, absolute = false;

  std::uint64_t bits() const {
    const std::uint64_t code = wide ? 1 : width == 128 ? 2 : width == 64 ? 4 : width == 32 ? 6 : 0;
    return (start >> 4) | (lbo >> 4) << 16 | (sbo >> 4) << 32 | std::uint64_t{1} << 46 | base_offset << 49 |
           std::uint64_t{absolute} << 52 | code << 61;
  }
};

/// The address of a byte: `b` along the contiguous direction of line `i` (K-major: row; MN-major: k).
inline std::uint64_t byte_address(const Described& x, bool mn, std::uint64_t i, std::uint64_t b) {
  std::uint64_t at = x.start;
  if (mn && x.width == 16)
    at += b % 16 + b / 16 * x.sbo + i % 8 * 16 + i / 8 * x.lbo;
  else if (mn && x.wide)
    at += b % 128 + b / 128 * x.lbo + i % 4 * 128 + i / 4 * x.sbo;
  else if (mn)
    at += b % x.width + b / x.width * x.lbo + i % 8 * x.width + i / 8 * x.sbo;
  else if (x.width == 16)
    at += i % 8 * 16 + i / 8 * x.sbo + b / 16 * x.lbo + b % 16;
  else if (x.absolute && x.start % 128 + b >= 128)
    at = x.lbo + (x.start % 128 + b) % 128 + i % 8 * 128 + i / 8 * x.sbo;
  else
    at += i % 8 * x.width + i / 8 * x.sbo + b % x.width + b / x.width * x.lbo;
  const std::uint64_t row = at / 128 + 8 - x.base_offset;
  if (x.wide) return at ^ row % 4 << 5;
  return at ^ row % (x.width / 16) << 4;
}

/// The bit of element (i, k). padded: sixteen elements begin each 16 bytes.
inline std::uint64_t bit(const Described& x, bool mn, int bits, bool padded, int i, int k) {
  const auto along = static_cast<std::uint64_t>(mn ? i : k), line = static_cast<std::uint64_t>(mn ? k : i);
  const auto width = static_cast<std::uint64_t>(bits);
  if (padded) return byte_address(x, mn, line, along / 16 * 16) * 8 + along % 16 * width;
  return byte_address(x, mn, line, along * width / 8) * 8 + along * width % 8;
}

}  // namespace tensor_formulas
