// SPDX-License-Identifier: Apache-2.0
// Matrices for the kernels of tests/kernels/tensor/: small numbers whose products are exact, every one another; and the arrays
// that the kernels take. All is written from the PTX manual, and shares nothing with the library.
#pragma once

#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "kernels/tensor/product.hpp"

namespace tensor_products {

using Bytes = std::vector<std::uint8_t>;
using Words = std::vector<std::uint32_t>;

// ---- Numbers

/// A type of A and B.
struct Format {
  std::string_view name;
  std::uint32_t code;      ///< in the instruction descriptor
  int exponent, mantissa;  ///< bits; integers have no exponent
  int bits;                ///< in shared memory: 32, 16, 8; 6 and 4: sixteen in 16 bytes; -4: two in a byte
  int unit;                ///< the numbers drawn are multiples of 2^unit,
  int limit;               ///< at most so many of them
};
constexpr Format kF16{"f16", 0, 5, 10, 16, 0, 255}, kBf16{"bf16", 1, 8, 7, 16, 0, 255},
    kTf32{"tf32", 2, 8, 10, 32, 0, 511}, kE4m3{"e4m3", 0, 4, 3, 8, 0, 240}, kE5m2{"e5m2", 1, 5, 2, 8, 0, 256},
    kE2m3{"e2m3", 3, 2, 3, 6, -3, 60}, kE3m2{"e3m2", 4, 3, 2, 6, -4, 448}, kE2m1{"e2m1", 5, 2, 1, 4, -1, 12},
    kPacked{"packed e2m1", 1, 2, 1, -4, -1, 12}, kU8{"u8", 0, 0, 8, 8, 0, 255}, kS8{"s8", 1, 0, 7, 8, 0, 127};

/// The code of a number that the format has.
inline std::uint32_t code_of(const Format& format, double x) {
  if (format.exponent == 0) return static_cast<std::uint32_t>(static_cast<int>(x)) & 0xFF;
  if (x == 0) return 0;
  const int bias = (1 << (format.exponent - 1)) - 1;
  const int e = std::max(std::ilogb(x), 1 - bias);  // of a subnormal number that of the smallest normal one
  const auto significand = static_cast<std::uint32_t>(std::ldexp(std::fabs(x), format.mantissa - e));
  const auto below = static_cast<std::uint32_t>(e + bias - 1)
                     << format.mantissa;  // the hidden bit adds 1 to it
  const std::uint32_t sign = x < 0 ? 1U << (format.exponent + format.mantissa) : 0;
  return (sign | (below + significand)) << (format.bits == 32 ? 13 : 0);  // tf32 in the upper bits of a word
}

/// A number of the format: up to `limit` units.
inline double draw(const Format& format, int limit, std::mt19937& random) {
  for (;;) {
    const std::uint32_t x = static_cast<std::uint32_t>(random()) % static_cast<std::uint32_t>(limit + 1);
    const int too_many = static_cast<int>(std::bit_width(x)) - format.mantissa - 1;
    if (format.exponent != 0 && too_many > 0 && x % (1U << too_many) != 0) continue;
    const double out = std::ldexp(static_cast<double>(x), format.unit);
    return format.name != "u8" && random() % 2 != 0 ? -out : out;
  }
}

struct Matrix {
  int rows = 0, columns = 0;
  std::vector<double> numbers = {};

  Matrix() = default;
  Matrix(int r, int c) : rows(r), columns(c), numbers(static_cast<std::size_t>(r * c)) {}
  double& at(int row, int column) { return numbers[static_cast<std::size_t>(row * columns + column)]; }
  double at(int row, int column) const { return numbers[static_cast<std::size_t>(row * columns + column)]; }
  Matrix transposed() const {
    Matrix out(columns, rows);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) out.at(j, i) = at(i, j);
    return out;
  }
};

/// Rows one behind the other, as shared memory has the format; in tensor memory elements of 4 and 6 bits have a byte each.
inline Bytes packed(const Matrix& matrix, const Format& format, bool for_tensor_memory = false) {
  const int n = matrix.columns, row_bytes = n * (format.bits == -4 ? 4 : std::max(format.bits, 8)) / 8;
  Bytes out(static_cast<std::size_t>(matrix.rows * row_bytes));
  for (int row = 0; row < matrix.rows; ++row)
    for (int i = 0; i < n; ++i) {
      const std::uint32_t code = code_of(format, matrix.at(row, i));
      int bits = format.bits, bit = i * bits;
      std::uint32_t shifted = code;
      if (bits == -4)
        bits = 4, bit = i * 4;
      else if (bits < 8 && for_tensor_memory)
        shifted = bits == 4 ? code << 2 : code, bits = 8, bit = i * 8;
      else if (bits < 8)
        bit = i / 16 * 128 + i % 16 * bits;
      for (int j = 0; j < bits; ++j)
        out[static_cast<std::size_t>(row * row_bytes + (bit + j) / 8)] |=
            static_cast<std::uint8_t>((shifted >> j & 1) << (bit + j) % 8);
    }
  return out;
}

// ---- What a launch computes

/// How a matrix lies in shared memory.
struct Laid {
  int swizzle = 2;  ///< bits 61-63 of the descriptor: 0 none, 1 128 bytes with atoms of 32, 2 128, 4 64, 6 32
  bool is_mn_major = false;
  bool other_way = false;  ///< what lies behind each other in which direction
};

struct Case {
  std::string_view kernel;
  const Format *a, *b;
  char d = 'f';  ///< f32, 'h': f16, 's': s32
  char layout = 'D';
  int m = 128, n = 16, steps = 4;
  Laid place_a = {}, place_b = {};
  int limit_a = 0, limit_b = 0;  ///< of the numbers, if not those of the formats
  int first_lane = 0;
  bool copies_metadata = false;
  int scales = 0;  ///< of a row for each instruction
  bool ue4m3 = false, k96 = false;
  bool fills = false;      ///< D is 1024 before
  int scale_input = 0;     ///< D is multiplied by 2^-scale_input
  std::uint32_t more = 0;  ///< bits of the instruction descriptor
  std::array<std::uint32_t, 8> disabled = {};
  std::uint64_t zero_columns = 0;
  int shifts = -1;  ///< tcgen05.shift of the partition with this lane, between the instructions
  bool is_ashift = false;

  bool has(std::string_view qualifier) const { return kernel.find(qualifier) != std::string::npos; }
  bool is_sparse() const { return has("_sp"); }
  bool in_tensor() const { return kernel.ends_with("_a") || is_ashift; }
  int blocks() const { return has("_pair") ? 2 : 1; }
  bool is_shifted() const { return is_ashift || shifts >= 0; }
  int bits() const { return a->bits == -4 ? 4 : std::max(a->bits, 8); }
  int stored_k() const { return (k96 ? 384 : 256) / bits(); }  ///< of an instruction
  int k() const { return stored_k() * (is_sparse() ? 2 : 1); }
  int b_shift() const { return static_cast<int>(zero_columns >> 56 & 63); }  ///< columns of B before the first
  int sets() const { return is_shifted() ? steps : 1; }                      ///< of D
  int banks() const { return layout == 'G' ? 4 : layout == 'B' || layout == 'E' ? 2 : 1; }
};
constexpr int kFill = 1024;

/// The lanes, of a block, of a row of it.
inline std::vector<int> lanes_of(const Case& c, int row) {
  switch (c.layout) {
    case 'C':
    case 'F': return {row / 16 * 32 + row % 16 + c.first_lane};
    case 'B':
    case 'E': return {row, row + 64};
    case 'G': return {row, row + 32, row + 64, row + 96};
    default: return {row};
  }
}

/// Elements of K that metadata speak of together, and how many of them are kept.
struct Chunk {
  int size, kept, pair;  ///< 2 elements at a time are kept of packed ones
};
inline Chunk chunk_of(const Format& a) {
  return a.bits == 32 ? Chunk{2, 1, 1} : a.bits == -4 ? Chunk{8, 4, 2} : Chunk{4, 2, 1};
}

/// The matrices of a launch. A has zeros where it keeps nothing.
struct Problem {
  Matrix a, stored, b, scale_a, scale_b;  ///< B: K by N; scale factors by row or column
  Matrix scaled_b;                        ///< of the columns that count
  Matrix codes;                           ///< metadata, 4 bits for each row and chunk
};

inline void draw_row(const Case& c, Problem& out, int row, std::mt19937& random) {
  static constexpr int kKept[] = {0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b0110, 0b1110};
  const int limit = c.limit_a ? c.limit_a : c.a->limit;
  if (!c.is_sparse()) {
    for (int k = 0; k < out.a.columns; ++k)
      out.a.at(row, k) = out.stored.at(row, k) = draw(*c.a, limit, random);
    return;
  }
  const Chunk chunk = chunk_of(*c.a);
  for (int q = 0; q < out.codes.columns; ++q) {
    const int code = chunk.size == 2 ? (random() % 2 ? 0xE : 0x4) : kKept[random() % std::size(kKept)];
    out.codes.at(row, q) = code;
    for (int k = 0; k < chunk.size; ++k) out.a.at(row, q * chunk.size + k) = 0;
    for (int i = 0; i < chunk.kept; ++i) {
      // 0x4: the lower of two; 0xE: the upper.
      const int place =
          chunk.size == 2 ? code == 0xE : (code >> 2 * (i / chunk.pair) & 3) * chunk.pair + i % chunk.pair;
      out.a.at(row, q * chunk.size + place) = out.stored.at(row, q * chunk.kept + i) =
          draw(*c.a, limit, random);
    }
  }
}

/// The row of A by which a row of the product is multiplied, after some shifts: lane i of each 32 lanes takes what lane i + 1 has.
inline int shifted_row(const Case& c, int row, int times) {
  if (c.is_ashift || row / 32 * 32 == c.shifts) return std::min(row + times, row / 32 * 32 + 31);
  return row;
}

/// Numbers by their scale factors, of which each row has a few along K.
inline double scaled(const Case& c, double x, const Matrix& scales, int row, int k) {
  return c.scales == 0 ? x : x * scales.at(row, k / (c.k() / c.scales));
}

/// A row of the product. `exact`: in every order of the sum, in f32, or in f16 after each instruction.
struct Row {
  std::vector<double> sums;
  bool exact = true;
};
inline Row row_of(const Case& c, const Problem& x, int set, int row) {
  const double grain = std::ldexp(1, c.a->unit + c.b->unit);
  std::vector<double> magnitudes(static_cast<std::size_t>(c.n));
  Row out{magnitudes};
  for (int k = 0; k < x.a.columns; ++k) {
    const double a = scaled(c, x.a.at(shifted_row(c, row, set), k), x.scale_a, row, k);
    const double* const b = &x.scaled_b.numbers[static_cast<std::size_t>((set * c.k() + k) * c.n)];
    for (std::size_t n = 0; a != 0 && n < magnitudes.size(); ++n) {
      out.sums[n] += a * b[n];
      magnitudes[n] += std::fabs(a * b[n]);
    }
    if (c.d == 'h' && (k + 1) % c.k() == 0)
      for (const double sum : out.sums) out.exact &= std::fabs(sum / grain) <= 2047;
  }
  for (const double sum : magnitudes) out.exact &= c.d == 's' || sum / grain < 1 << 24;
  return out;
}

/// Matrices with exact products, of which no two are equal: rows of A are drawn until that is so.
inline Problem problem_of(const Case& c) {
  std::mt19937 random(static_cast<unsigned>(c.m + 7 * c.n));
  const int steps_a = c.is_shifted() ? 1 : c.steps, k = c.k() * steps_a;
  Problem out;
  out.a = Matrix(c.m, k);
  out.stored = Matrix(c.m, c.stored_k() * steps_a);
  out.b = Matrix(c.k() * c.steps, c.n + c.b_shift());
  out.codes = Matrix(c.m, k / chunk_of(*c.a).size);
  for (double& x : out.b.numbers) x = draw(*c.b, c.limit_b ? c.limit_b : c.b->limit, random);
  out.scale_a = Matrix(c.m, c.steps * c.scales);
  out.scale_b = Matrix(c.n, c.steps * c.scales);
  for (Matrix* const scales : {&out.scale_a, &out.scale_b})
    for (double& x : scales->numbers) x = c.ue4m3 ? static_cast<double>(1 + random() % 15) : 1 << random() % 4;
  out.scaled_b = Matrix(out.b.rows, c.n);
  for (int i = 0; i < out.b.rows; ++i)
    for (int n = 0; n < c.n; ++n)
      out.scaled_b.at(i, n) = scaled(c, out.b.at(i, n + c.b_shift()), out.scale_b, n, i);
  std::unordered_set<double> seen;
  int draws = 0;
  for (int row = 0; row < c.m; ++row) {
    std::unordered_set<double> now;
    do {
      REQUIRE(++draws < 20'000);
      draw_row(c, out, row, random);
      now.clear();
      const Row product = row_of(c, out, 0, row);
      for (const double sum : product.sums)
        if (!product.exact || seen.contains(sum) || !now.insert(sum).second) break;
    } while (static_cast<int>(now.size()) != c.n);
    seen.merge(now);
  }
  return out;
}

// ---- What a kernel takes

/// A matrix of `blocks` blocks, K-major with `rows` rows of A or columns of B in each.
inline Operand operand(const Case& c, const Laid& place, int rows, int line_bytes, int lines, int step_bytes,
                       int step_k) {
  Operand x{};
  x.is_mn_major = place.is_mn_major;
  x.swizzle = place.swizzle;
  x.pitch = line_bytes;
  const int w = place.swizzle == 4 ? 64 : place.swizzle == 6 ? 32 : 128;
  if (place.is_mn_major) {
    x.lines = lines;
    x.bytes = line_bytes / c.blocks();
    x.of_rank = x.bytes;
    x.step = step_k;
    if (place.swizzle == 0) {  // core matrices of 8 lines of 16 bytes
      x.leading = place.other_way ? 8 * x.bytes : 128;
      x.stride = place.other_way ? 128 : 16 * x.lines;
    } else {
      const int pattern = (place.swizzle == 1 ? 4 : 8) * w;
      x.leading = place.other_way ? pattern : x.lines * w;
      x.stride = place.other_way ? (x.bytes + w - 1) / w * pattern : pattern;
    }
  } else {
    x.lines = rows;
    x.bytes = line_bytes;
    x.of_rank = rows * line_bytes;
    x.step = step_bytes;
    if (place.swizzle == 0) {
      x.leading = place.other_way ? 128 : 16 * x.lines;
      x.stride = place.other_way ? 8 * x.bytes : 128;
    } else {
      x.stride = 8 * w;
      x.further = x.lines * w;
      x.leading = 16;
    }
  }
  return x;
}

inline std::uint32_t descriptor_of(const Case& c) {
  std::uint32_t out = static_cast<std::uint32_t>(c.n / 8) << 17 | c.more;
  out |= c.a->code << 7 | c.b->code << 10 | (c.is_sparse() ? 4U : 0U);
  if (c.scales == 0) {
    out |= (c.d == 'f' ? 1U : c.d == 's' ? 2U : 0U) << 4 | static_cast<std::uint32_t>(c.m / 16) << 24;
    out |= static_cast<std::uint32_t>(c.place_a.is_mn_major) << 15 |
           static_cast<std::uint32_t>(c.place_b.is_mn_major) << 16;
  } else {
    out |= static_cast<std::uint32_t>(c.m / 128) << 27 | (c.ue4m3 ? 0U : 1U << 23) | (c.k96 ? 1U << 31 : 0U);
    out |= static_cast<std::uint32_t>(c.place_a.is_mn_major) << 15 |
           static_cast<std::uint32_t>(c.place_b.is_mn_major) << 16;
  }
  return out;
}

/// Words of 128 lanes for each block: 8 chunks of an instruction in a column, or 16 in two.
inline Words metadata_of(const Case& c, const Problem& x, int columns) {
  Words out(static_cast<std::size_t>(c.blocks() * 128 * columns));
  const int rows = c.m / c.blocks(), chunks = c.k() / chunk_of(*c.a).size;
  for (int row = 0; row < c.m; ++row)
    for (int q = 0; q < x.codes.columns; ++q)
      for (const int d_lane : lanes_of(c, row % rows)) {
        const int in = q % chunks, of_partition = d_lane % 32 - c.first_lane;
        int lane = d_lane, column = q / chunks * 2 + in / 8, bit = 4 * (in % 8);
        if (chunks == 8) {
          lane = d_lane / 32 * 32 + c.first_lane + of_partition / 16 * 16 + of_partition % 8 + 8 * (in / 4);
          column = q / chunks;
          bit = 16 * (of_partition % 16 / 8) + 4 * (in % 4);
        }
        out[static_cast<std::size_t>((row / rows * 128 + lane) * columns + column)] |=
            static_cast<std::uint32_t>(x.codes.at(row, q)) << bit;
      }
  return out;
}

/// Blocks of 512 bytes: of 128 rows, four factors of each.
inline void add_scales(const Case& c, const Matrix& scales, int first_row, int rows, int per_block,
                       Bytes& out) {
  static constexpr Format kUe4m3{"ue4m3", 0, 4, 3, 8, 0, 0};
  for (int group = 0; group * 4 < scales.columns; ++group)
    for (int first = first_row; first < first_row + rows; first += per_block) {
      const std::size_t at = out.size();
      out.resize(at + 512);
      for (int row = first; row < std::min(first + per_block, first_row + rows); ++row)
        for (int j = 4 * group; j < std::min(4 * group + 4, scales.columns); ++j) {
          const int r = row - first;
          const double x = scales.at(row, j);
          out[at + static_cast<std::size_t>(r % 32 * 16 + r / 32 * 4 + j % 4)] = static_cast<std::uint8_t>(
              c.ue4m3 ? code_of(kUe4m3, x) : 127U + static_cast<unsigned>(std::ilogb(x)));
        }
    }
}

/// The arrays of a launch.
struct Arrays {
  Product product{};
  Bytes a, b, scales;
  Words metadata, d;
  int shared_bytes = 0;
};

inline Arrays arrays_of(const Case& c, const Problem& x) {
  Arrays out;
  Product& p = out.product;
  const int blocks = c.blocks(), rows = c.m / blocks, step_bytes = c.k96 ? 48 : 32;
  const int b_step = step_bytes * (c.is_sparse() ? 2 : 1);
  out.a = packed(c.place_a.is_mn_major ? x.stored.transposed() : x.stored, *c.a, c.in_tensor());
  out.b = packed(c.place_b.is_mn_major ? x.b : x.b.transposed(), *c.b);
  const auto pitch = [](const Bytes& bytes, int lines) { return static_cast<int>(bytes.size()) / lines; };
  p.a = operand(c, c.place_a, rows, pitch(out.a, c.place_a.is_mn_major ? x.stored.columns : c.m),
                x.stored.columns, step_bytes, c.stored_k());
  p.b = operand(c, c.place_b, x.b.columns / blocks,
                pitch(out.b, c.place_b.is_mn_major ? x.b.rows : x.b.columns), x.b.rows, b_step, c.k());
  const auto whole = [](int bytes) { return (bytes + 1023) / 1024 * 1024; };
  const auto room = [&](const Operand& o) { return whole(2 * o.lines * std::max(o.bytes, 128)); };
  p.b.at = room(p.a);
  p.scales_at = p.b.at + room(p.b);
  p.layout = c.layout;
  p.rows = rows;
  p.columns = c.n;
  p.steps = c.steps;
  p.first_lane = c.first_lane;
  p.d_step = c.is_shifted() ? c.n : 0;
  p.a_step = c.is_shifted() ? 0 : step_bytes / 4;
  p.accumulate = c.is_shifted() ? 0 : c.fills ? ~0U : ~1U;
  p.fills = c.fills;
  p.fill = c.d == 's' ? kFill : std::bit_cast<std::uint32_t>(static_cast<float>(kFill));
  p.descriptor = descriptor_of(c);
  p.shifts = c.shifts;
  for (int i = 0; i < 8; ++i) p.disabled[i] = c.disabled[static_cast<std::size_t>(i)];
  p.zero_columns = c.zero_columns;
  if (c.is_sparse()) {
    const bool is_wide = c.k() / chunk_of(*c.a).size == 16;
    p.metadata_step = is_wide ? 2 : 1;
    p.metadata_columns = (c.steps * p.metadata_step + 1) / 2 * 2;
    p.copies_metadata = c.copies_metadata;
    if (c.copies_metadata) REQUIRE(p.metadata_columns == 4);
    out.metadata = metadata_of(c, x, p.metadata_columns);
  }
  if (c.scales != 0) {
    p.scales = c.scales;
    p.scale_groups = (c.steps * c.scales + 3) / 4;
    p.scale_rows_a = 1;
    p.scale_rows_b = c.layout == 'B' ? 2 : (c.n + 127) / 128;
    for (int rank = 0; rank < blocks; ++rank) {
      add_scales(c, x.scale_a, rank * rows, rows, 128, out.scales);
      add_scales(c, x.scale_b, 0, c.n, c.layout == 'B' ? c.n / 2 : 128, out.scales);
    }
  }
  out.shared_bytes = p.scales_at + 512 * p.scale_groups * (p.scale_rows_a + p.scale_rows_b) + 2048;
  out.d.assign(static_cast<std::size_t>(c.sets() * c.m * c.n), 0xDEAD'BEEF);
  return out;
}

}  // namespace tensor_products
