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
template <class Exponent_, int kCount_, bool kWide_, bool kHalfNodes_, bool kScaled_>
struct Traits {
  using Exponent = Exponent_;                      // of the panels
  static constexpr int kCount = kCount_;           // products of each node; 0: as the program says
  static constexpr bool kWide = kWide_;            // sums may exceed 32 bits
  static constexpr bool kHalfNodes = kHalfNodes_;  // nodes round to f16
  static constexpr bool kScaled = kScaled_;        // there are scale factors
};

// What a node reads, for a part of a block: from its first k on.
template <class Exponent>
struct NodeInputs {
  const float *a, *b;
  const Exponent *a_exponents, *b_exponents;
  int count;
  I32 scale;  // exponents of the scale factors, if any
};

// The running value: its number, and its raw exponent plus 127, which is small for zero.
struct RunningPart {
  F32 value;
  I32 exponent;
};

struct NodeOutput {
  F32 sum;                   // cut toward zero to 24 bits
  I32 inexact;               // true where a bit was cut (for f16 results)
  std::uint32_t suspicious;  // lanes for which the specification must be asked
};

template <class T>
inline NodeOutput node(const FusedProgram& program, const NodeInputs<typename T::Exponent>& in,
                       const RunningPart& c) {
  const int count = T::kCount > 0 ? T::kCount : in.count;
  const I32 sums = largest_sums(in.a_exponents, in.b_exponents, count);
  I32 raw = sums + program.exponent_bias;
  if constexpr (T::kScaled) raw = sums < 0 ? I32{} : raw + in.scale;
  I32 e = max(raw, c.exponent);
  NodeOutput out;
  if constexpr (T::kHalfNodes) {
    e = max(e, I32{} + program.floor);
    out.suspicious = lanes_outside(e, 0, kMost);
  } else {
    out.suspicious = lanes_outside(e, program.least, kMost);
    if (__builtin_expect(out.suspicious != 0, 0)) {  // a sum of zeros is no reason
      const I32 zeros = (sums < 0) & bits<I32>(c.value == 0.0F);
      out.suspicious &= ~negative_lanes(zeros);
      e = max(e, I32{} + program.least);
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
  U32 even{}, odd{};
#pragma GCC unroll 32
  for (int k = 0; k < count; k += 2) {
    const F32 first = repeat_pair(in.a + 2 * k) * load<F32>(in.b + 16 * k);
    const F32 second = repeat_pair(in.a + 2 * k + 2) * load<F32>(in.b + 16 * k + 16);
    even += bits<U32>(truncate(first * units));
    odd += bits<U32>(truncate(second * units));
  }
  I32 sum, is_sixteenth{};
  if constexpr (T::kWide) {
    sum = sum_wide(bits<I32>(even), bits<I32>(odd), c_units, is_sixteenth);
  } else {
    const I32 products = bits<I32>(even + odd);
    sum = bits<I32>(bits<U32>(products) + bits<U32>(c_units));
    out.suspicious |= negative_lanes((sum ^ c_units) & (sum ^ products));
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
  std::uint32_t suspicious;
};

template <class T>
inline __attribute__((always_inline)) PartResult part(const FusedBlocks& blocks, const FusedProgram& program,
                                                      int row, int column, int lane, const std::byte* c_at) {
  using Exponent = typename T::Exponent;
  PartResult out{};
  RunningPart c{};
  if (c_at != nullptr) {
    if (program.half_c) {
      const U16 codes = load_part<U16>(c_at, blocks.c.piece_stride);
      out.c = convert<U32>(codes);
      c.value = widen_half(codes);
      c.exponent = T::kHalfNodes ? raw_exponent(codes) : raw_exponent(c.value);
    } else {
      out.c = load_part<U32>(c_at, blocks.c.piece_stride);
      c.value = bits<F32>(out.c);
      c.exponent = raw_exponent(c.value);
    }
    if (program.adds_c) out.suspicious = lanes_outside(c.exponent, 0, kMost);
  }
  NodeInputs<Exponent> in{};
  if constexpr (T::kScaled) in.scale = scale_of_part(blocks, row, lane, column);
  RunningPart running = c;
  U16 half{};
  for (int n = 0; n < program.nodes; ++n) {
    const FusedProgram::Node& range = program.node[n];
    const std::ptrdiff_t a_first = std::ptrdiff_t{row} * blocks.depth + range.first;
    const std::ptrdiff_t b_first = std::ptrdiff_t{column} * blocks.depth + range.first;
    in.a = blocks.a + 2 * a_first;
    in.b = blocks.b + 16 * b_first + lane;
    in.a_exponents = static_cast<const Exponent*>(blocks.a_exponents) + 2 * a_first;
    in.b_exponents = static_cast<const Exponent*>(blocks.b_exponents) + 16 * b_first + lane;
    in.count = range.count;
    const NodeOutput sum = node<T>(program, in, range.from_zero ? RunningPart{} : running);
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

template <class T>
inline __attribute__((always_inline)) void block(const FusedBlocks& blocks, const FusedProgram& program,
                                                 int row, int column) {
  const std::byte* c_at = blocks.c.base == nullptr
                              ? nullptr
                              : blocks.c.base + row * blocks.c.row_stride + column * blocks.c.column_stride;
  std::byte* d_at = blocks.d.base + row * blocks.d.row_stride + column * blocks.d.column_stride;
  for (int lane = 0; lane < kBlock; lane += kLanes) {
    PartResult result = part<T>(blocks, program, row, column, lane,
                                c_at == nullptr ? nullptr : c_at + lane / 4 * blocks.c.piece_stride);
    std::uint32_t suspicious = result.suspicious;
    if (blocks.a_special != nullptr)
      suspicious |= static_cast<std::uint32_t>(blocks.a_special[row] | blocks.b_special[column]) >> lane;
    suspicious &= (1U << kLanes) - 1;
    if (__builtin_expect(suspicious != 0, 0)) {
      std::uint32_t c[kLanes], d[kLanes];
      store(c, result.c);
      store(d, result.d);
      for (int i = 0; i < kLanes; ++i)
        if (suspicious >> i & 1) d[i] = blocks.exact(blocks.context, row, column, lane + i, c[i]);
      result.d = load<U32>(d);
    }
    std::byte* to = d_at + lane / 4 * blocks.d.piece_stride;
    if (program.half_d)
      store_part(to, blocks.d.piece_stride, convert<U16>(result.d));
    else
      store_part(to, blocks.d.piece_stride, result.d);
  }
}

template <class T>
void all_blocks(const FusedBlocks& given) {
  const FusedBlocks blocks = given;  // copies, which no store to D can change
  const FusedProgram program = *given.program;
  for (int column = 0; column < blocks.columns; ++column)
    for (int row = 0; row < blocks.rows; ++row) block<T>(blocks, program, row, column);
}

// ---- The choice of the traits

template <class Exponent, bool kWide, bool kHalfNodes, bool kScaled>
void with_count(const FusedBlocks& blocks) {
  const int count = blocks.program->node[0].count;
  if (count == 16)
    all_blocks<Traits<Exponent, 16, kWide, kHalfNodes, kScaled>>(blocks);
  else if (count == 8)
    all_blocks<Traits<Exponent, 8, kWide, kHalfNodes, kScaled>>(blocks);
  else
    all_blocks<Traits<Exponent, 0, kWide, kHalfNodes, kScaled>>(blocks);
}

void fused(const FusedBlocks& blocks) {
  const FusedProgram& program = *blocks.program;
  if (program.wide_exponents)
    with_count<std::int16_t, false, false, false>(blocks);
  else if (blocks.a_scales != nullptr)
    with_count<std::int8_t, true, false, true>(blocks);
  else if (program.wide)
    program.half_nodes ? with_count<std::int8_t, true, true, false>(blocks)
                       : with_count<std::int8_t, true, false, false>(blocks);
  else
    program.half_nodes ? with_count<std::int8_t, false, true, false>(blocks)
                       : with_count<std::int8_t, false, false, false>(blocks);
}

}  // namespace
}  // namespace warpbit
