// SPDX-License-Identifier: Apache-2.0
// The fused node on a block (NUMERICS.md, "The node"). Products in f32 are exact; each is brought to units of
// 2^(E - F) by a power of two and cut by the conversion to an integer; integers are added. Left to the node is
// what would go wrong here: Inf and NaN; an E so small or large that a product that counts, a sum or the result
// is no normal number of f32; a sum of more than 32 bits.
#pragma once

#include "kernel/body.hpp"
#include "kernel/body/vectors.hpp"

namespace warpbit {
namespace {

// Numbers with a raw exponent + 127 up to this are far enough from the largest of f32 for a sum of 32 products.
constexpr int kMost = 246;

constexpr int kRowsAtOnce = 16;

inline F32 power_of_two(I32 biased_exponent) {
  return bits<F32>(biased_exponent << 23);
}

// ---- C and D

template <class V>
inline V load_part(const std::byte* from, std::ptrdiff_t piece_stride) {
  constexpr std::ptrdiff_t kPiece = 4 * sizeof(V{}[0]);
  if (kLanes == 4 || piece_stride == kPiece) return exchange_middle(load<V>(from));
  std::byte pieces[sizeof(V)];
  for (int t = 0; t < kLanes / 4; ++t) __builtin_memcpy(pieces + t * kPiece, from + t * piece_stride, kPiece);
  return exchange_middle(load<V>(pieces));
}
template <class V>
inline void store_part(std::byte* to, std::ptrdiff_t piece_stride, V v) {
  constexpr std::ptrdiff_t kPiece = 4 * sizeof(V{}[0]);
  v = exchange_middle(v);
  if (kLanes == 4 || piece_stride == kPiece) return store(to, v);
  std::byte pieces[sizeof(V)];
  store(pieces, v);
  for (int t = 0; t < kLanes / 4; ++t) __builtin_memcpy(to + t * piece_stride, pieces + t * kPiece, kPiece);
}

// The raw exponents plus 127 of f32 numbers; of zero and of subnormals some number below 2.
inline I32 raw_exponent(F32 value) {
  return bits<I32>(bits<U32>(value) << 1 >> 24);
}
// The same of f16 codes; 0 for zero.
inline I32 raw_exponent(U16 codes) {
  const I32 magnitude = convert<I32>(codes & 0x7FFF);
  const I32 raw = max(magnitude >> 10, I32{} + 1) + (127 - 15);
  return magnitude == 0 ? I32{} : magnitude >= 0x7C00 ? I32{} + 255 : raw;
}

// ---- One node

// The parts' exact sum as an integer, or where that has more than 32 bits a sixteenth of it, whose lowest bit
// then stands for all that is lost: a conversion that keeps 24 bits cuts it anyway.
inline I32 sum_wide(I32 x, I32 y, I32 z, I32& is_sixteenth) {
  const I32 low_bits = (x & 15) + (y & 15) + (z & 15);
  const I32 high = (x >> 4) + (y >> 4) + (z >> 4) + (low_bits >> 4);
  const I32 low = low_bits & 15;
  is_sixteenth = (high >= (1 << 27)) | (high < -(1 << 27));
  const I32 whole = bits<I32>(bits<U32>(high) << 4) | low;
  return is_sixteenth ? high | (low != 0 ? I32{} + 1 : I32{}) : whole;
}

// What is fixed while blocks are computed: as types, so that the loop over blocks has few branches of its own.
template <class Exponent_, int kCount_, bool kWide_, bool kHalfNodes_, bool kScaled_, bool kSparse_>
struct Traits {
  using Exponent = Exponent_;                      // of the panels
  static constexpr int kCount = kCount_;           // products of each node; 0: as the program says
  static constexpr bool kWide = kWide_;            // sums may exceed 32 bits
  static constexpr bool kHalfNodes = kHalfNodes_;  // nodes round to f16
  static constexpr bool kScaled = kScaled_;        // there are scale factors
  static constexpr bool kSparse = kSparse_;        // A is sparse
};

// What a node reads, for a part of a block: from its first k on.
template <class Exponent>
struct NodeInputs {
  const float *a, *b;
  const Exponent *a_exponents, *b_exponents;
  int count;
  const std::uint8_t* selected;  // of a sparse A
  I32 scale;                     // exponents of the scale factors, if any
};

// The running value: its number, and its raw exponent plus 127, which is small for zero.
struct RunningPart {
  F32 value;
  I32 exponent;
};

struct NodeOutput {
  F32 sum;         // cut toward zero to 24 bits
  I32 inexact;     // true where a bit was cut (for f16 results)
  I32 suspicious;  // negative where the specification must be asked
};

// What differs from tile to tile: how sums of exponents become E + 127, and from where on the body is right.
struct Bounds {
  int bias, least;
};

template <class T>
inline F32 product(const NodeInputs<typename T::Exponent>& in, int k) {
  const F32 a = repeat_pair(in.a + 2 * k);
  if constexpr (T::kSparse) {
    const F32 upper = load<F32>(in.b + 16 * in.selected[2 * k]),
              lower = load<F32>(in.b + 16 * in.selected[2 * k + 1]);
    return a * (lanes<I32>([](int i) { return i % 2; }) == 0 ? upper : lower);
  } else {
    return a * load<F32>(in.b + 16 * k);
  }
}

// `careful`: finds out which lanes are suspicious without cause, because all they add are zeros.
template <class T>
inline __attribute__((always_inline)) NodeOutput node(const FusedProgram& program, Bounds bounds,
                                                      const NodeInputs<typename T::Exponent>& in,
                                                      const RunningPart& c, bool careful) {
  const int count = T::kCount > 0 ? T::kCount : in.count;
  const I32 sums = largest_sums(in.a_exponents, in.b_exponents, T::kSparse ? 2 * count : count);
  I32 raw = sums + bounds.bias;
  if constexpr (T::kScaled) raw = sums < 0 ? I32{} : raw + in.scale;
  I32 e = max(raw, c.exponent);
  NodeOutput out;
  if constexpr (T::kHalfNodes) {
    e = max(e, I32{} + program.floor);
    out.suspicious = kMost - e;
  } else {
    out.suspicious = (e - bounds.least) | (kMost - e);
    if (careful) {
      const I32 zeros = (sums < 0) & bits<I32>(c.value == 0.0F);
      out.suspicious &= ~zeros;
      e = max(e, I32{} + bounds.least);
    }
  }

  // The powers 2^(F - E), of C and of the products, and 2^(E - F).
  const U32 scale = bits<U32>((2 * 127 + program.window) - e) << 23;
  const U32 unit = (254U << 23) - scale;
  const I32 c_units = truncate(c.value * bits<F32>(scale));
  F32 units = bits<F32>(scale + (static_cast<std::uint32_t>(program.product_scale) << 23));
  if constexpr (T::kScaled) {  // where all products are zero it may be anything
    const I32 power = (2 * 127 + program.window + program.product_scale) - e + in.scale;
    units = power_of_two(min(max(power, I32{} + 1), I32{} + 254));
  }
  constexpr int kSums = T::kWide ? 2 : 1;
  U32 products[kSums] = {};
#pragma GCC unroll 32
  for (int k = 0; k < count; ++k) products[k % kSums] += bits<U32>(truncate(product<T>(in, k) * units));
  I32 sum, is_sixteenth{};
  if constexpr (T::kWide) {
    sum = sum_wide(bits<I32>(products[0]), bits<I32>(products[kSums - 1]), c_units, is_sixteenth);
  } else {
    sum = bits<I32>(products[0] + bits<U32>(c_units));
    out.suspicious |= (sum ^ c_units) & (sum ^ bits<I32>(products[0]));
  }
  const F32 number = to_f32_toward_zero(sum);
  if constexpr (T::kHalfNodes) out.inexact = truncate(number) != sum;
  out.sum = number * bits<F32>(unit);
  if constexpr (T::kWide) out.sum = is_sixteenth ? out.sum * 16.0F : out.sum;
  return out;
}

// ---- All nodes of a part of a block

// Rounds a sum to nearest: the lowest of its 24 bits stands for those that were cut. A zero is +0.
inline U16 to_half(const NodeOutput& node) {
  const F32 odd = bits<F32>(bits<I32>(node.sum) | (node.inexact & 1));
  const U16 codes = narrow_to_half(odd);
  return (codes & 0x7FFF) == 0 ? U16{} : codes;
}

inline I32 scale_of_part(const FusedBlocks& blocks, int row, int lane, int column) {
  const auto pair = U32{} + load<std::uint32_t>(blocks.a_scales + 2 * row);
  const I32 left =
      lanes<I32>([](int i) { return i % 2; }) == 0 ? bits<I32>(pair << 16) >> 16 : bits<I32>(pair) >> 16;
  return left + convert<I32>(load<I16>(blocks.b_scales + 16 * column + lane));
}

struct PartResult {
  U32 c, d;
  I32 suspicious;
};

template <class T>
inline __attribute__((always_inline)) PartResult part(const FusedBlocks& blocks, const FusedProgram& program,
                                                      Bounds bounds, int row, int column, int lane,
                                                      bool careful) {
  using Exponent = typename T::Exponent;
  PartResult out{};
  RunningPart c{};
  if (blocks.c.base != nullptr) {
    const std::byte* at = blocks.c.base + row * blocks.c.row_stride + column * blocks.c.column_stride +
                          lane / 4 * blocks.c.piece_stride;
    if (program.half_c) {
      const U16 codes = load_part<U16>(at, blocks.c.piece_stride);
      out.c = convert<U32>(codes);
      c.value = widen_half(codes);
      c.exponent = T::kHalfNodes ? raw_exponent(codes) : raw_exponent(c.value);
    } else {
      out.c = load_part<U32>(at, blocks.c.piece_stride);
      c.value = bits<F32>(out.c);
      c.exponent = raw_exponent(c.value);
    }
    if (program.adds_c) out.suspicious = kMost - c.exponent;
  }
  NodeInputs<Exponent> in{};
  if constexpr (T::kScaled) in.scale = scale_of_part(blocks, row, lane, column);
  RunningPart running = c;
  U16 half{};
  const int a_depth = T::kSparse ? blocks.dense_depth : blocks.depth, b_depth = a_depth;
  const int spread = T::kSparse ? 2 : 1;  // k of B for each element of A
  for (int n = 0; n < program.nodes; ++n) {
    const FusedProgram::Node& range = program.node[n];
    in.a = blocks.a + 2 * (std::ptrdiff_t{row} * blocks.depth + range.first);
    in.selected = blocks.selected + 2 * (std::ptrdiff_t{row} * blocks.depth + range.first);
    const std::ptrdiff_t a_first = std::ptrdiff_t{row} * a_depth + spread * range.first;
    const std::ptrdiff_t b_first = std::ptrdiff_t{column} * b_depth + spread * range.first;
    in.b = blocks.b + 16 * (T::kSparse ? std::ptrdiff_t{column} * b_depth : b_first) + lane;
    in.a_exponents = static_cast<const Exponent*>(blocks.a_exponents) + 2 * a_first;
    in.b_exponents = static_cast<const Exponent*>(blocks.b_exponents) + 16 * b_first + lane;
    in.count = range.count;
    const NodeOutput sum = node<T>(program, bounds, in, range.from_zero ? RunningPart{} : running, careful);
    out.suspicious |= sum.suspicious;
    if constexpr (T::kHalfNodes) {
      half = to_half(sum);
      running = {widen_half(half), raw_exponent(half)};
    } else {
      running.value = bits<F32>(bits<U32>(sum.sum) & program.kept_mask);
      running.exponent = raw_exponent(running.value);
    }
  }
  if (program.adds_c) running.value += c.value;
  const bool rounds = program.half_d && (program.adds_c || !T::kHalfNodes);
  out.d =
      program.half_d ? convert<U32>(rounds ? narrow_to_half(running.value) : half) : bits<U32>(running.value);
  return out;
}

// ---- Blocks

// The lanes of a part that are left to the specification.
template <class T>
U32 careful_part(const FusedBlocks& blocks, const FusedProgram& program, Bounds bounds, int row, int column,
                 int lane) {
  PartResult result = part<T>(blocks, program, bounds, row, column, lane, true);
  std::uint32_t suspicious = negative_lanes(result.suspicious);
  if (blocks.a_special != nullptr)
    suspicious |= static_cast<std::uint32_t>(blocks.a_special[row] | blocks.b_special[column]) >> lane;
  std::uint32_t c[kLanes], d[kLanes];
  store(c, result.c);
  store(d, result.d);
  for (int i = 0; i < kLanes; ++i)
    if (suspicious >> i & 1) d[i] = blocks.exact(blocks.context, row, column, lane + i, c[i]);
  return load<U32>(d);
}

// Some rows of one column of blocks: all are computed before one is stored, since D may be C, and again if a
// lane of one is suspicious.
template <class T>
inline void some_rows(const FusedBlocks& blocks, const FusedProgram& program, Bounds bounds, int first,
                      int last, int column) {
  U32 d[kRowsAtOnce * 16 / kLanes];
  I32 suspicious{};
  U32* to = d;
  for (int row = first; row < last; ++row)
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      const PartResult result = part<T>(blocks, program, bounds, row, column, lane, false);
      suspicious |= result.suspicious;
      *to++ = result.d;
    }
  if (__builtin_expect(blocks.a_special != nullptr || negative_lanes(suspicious) != 0, 0)) {
    to = d;
    for (int row = first; row < last; ++row)
      for (int lane = 0; lane < kBlock; lane += kLanes)
        *to++ = careful_part<T>(blocks, program, bounds, row, column, lane);
  }
  to = d;
  for (int row = first; row < last; ++row)
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      std::byte* at = blocks.d.base + row * blocks.d.row_stride + column * blocks.d.column_stride +
                      lane / 4 * blocks.d.piece_stride;
      if (program.half_d)
        store_part(at, blocks.d.piece_stride, convert<U16>(*to++));
      else
        store_part(at, blocks.d.piece_stride, *to++);
    }
}

template <class T>
void all_blocks(const FusedBlocks& given) {
  const FusedBlocks blocks = given;  // copies, which no store to D can change
  const FusedProgram program = *given.program;
  Bounds bounds{program.exponent_bias, 40};
  if (blocks.a_top > 0) bounds.bias += blocks.a_top + blocks.b_top - 2 * kTopExponent;
  if (bounds.bias >= bounds.least) bounds.least = bounds.bias + 1;  // sums of exponents with a zero are below
  for (int column = 0; column < blocks.columns; ++column)
    for (int row = 0; row < blocks.rows; row += kRowsAtOnce)
      some_rows<T>(blocks, program, bounds, row,
                   row + kRowsAtOnce < blocks.rows ? row + kRowsAtOnce : blocks.rows, column);
}

// ---- The choice of the traits

template <class Exponent, bool kWide, bool kHalfNodes, bool kScaled, bool kSparse>
void with_count(const FusedBlocks& blocks) {
  const int count = blocks.program->node[0].count;
  if (count == 16)
    all_blocks<Traits<Exponent, 16, kWide, kHalfNodes, kScaled, kSparse>>(blocks);
  else if (count == 8)
    all_blocks<Traits<Exponent, 8, kWide, kHalfNodes, kScaled, kSparse>>(blocks);
  else
    all_blocks<Traits<Exponent, 0, kWide, kHalfNodes, kScaled, kSparse>>(blocks);
}

template <class Exponent, bool kSparse>
void with_width(const FusedBlocks& blocks) {
  const FusedProgram& program = *blocks.program;
  if (blocks.a_scales != nullptr)
    with_count<Exponent, true, false, true, kSparse>(blocks);
  else if (program.half_nodes)
    program.wide ? with_count<Exponent, true, true, false, kSparse>(blocks)
                 : with_count<Exponent, false, true, false, kSparse>(blocks);
  else
    program.wide ? with_count<Exponent, true, false, false, kSparse>(blocks)
                 : with_count<Exponent, false, false, false, kSparse>(blocks);
}

void fused(const FusedBlocks& blocks) {
  const bool sparse = blocks.selected != nullptr;
  if (blocks.a_top > 0)
    sparse ? with_width<std::int8_t, true>(blocks) : with_width<std::int8_t, false>(blocks);
  else  // bf16 and tf32
    sparse ? with_count<std::int16_t, false, false, false, true>(blocks)
           : with_count<std::int16_t, false, false, false, false>(blocks);
}

}  // namespace
}  // namespace warpbit
