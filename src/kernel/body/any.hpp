// SPDX-License-Identifier: Apache-2.0
// Fused nodes on blocks of any operands (NUMERICS.md, "The node"): what node.hpp cannot compute, because exponents are far
// apart or beyond f32, sums have more than 32 bits, or NaN and Inf are among the operands.
//
// A number is a significand in f32, below 2 and exact, and its raw exponent. Products of significands are exact, too; a
// power of two brings them to units of 2^(E - F), and the conversion to integers cuts them. Inf and NaN are significands
// that are Inf and NaN and have no exponent: the sum of all products of significands in f32 then is the special value that
// the node returns.
#pragma once

#include "kernel/body.hpp"
#include "kernel/body/codes.hpp"
#include "kernel/body/node.hpp"
#include "kernel/body/panels.hpp"
#include "kernel/body/vectors.hpp"

namespace warpbit {
namespace {

// What zeros, Inf and NaN have as exponent: below any sum with scale factors, and below any floor. In panels exponents are
// 16 bits that are not negative.
constexpr std::int32_t kNoExponent = -8192;

struct AnyNumbers {
  F32 significand;
  I32 exponent;
};

// ---- Codes

inline I32 is_special(F32 v) {
  return (bits<I32>(v) & 0x7F800000) == 0x7F800000;
}

// Codes of f32, or of its upper bits.
inline AnyNumbers any_of_f32(U32 codes) {
  const U32 one = U32{} + 0x3F800000, twice = codes << 1;
  const I32 field = bits<I32>(twice >> 24);
  const F32 normal = bits<F32>((codes & 0x807FFFFF) | one),
            subnormal = normal - bits<F32>((codes & 0x80000000) | one);
  const F32 finite = field == 0 ? subnormal : normal;
  const I32 raw = max(field, I32{} + 1);
  // Twice the code less one is above all others for zero.
  return {field == 255 ? bits<F32>(codes) : finite, twice - 1 >= 0xFEFFFFFF ? I32{} + kNoExponent : raw};
}

// Codes of Encoding::Kind::half; `exponents` as panels have them. Those that f16 does not take for specials are NaN.
inline AnyNumbers any_of_half(const Encoding& e, U16 codes, U16 exponents) {
  const I32 magnitude = bits<I32>(widen(codes)) & 0x7FFF, raw = bits<I32>(widen(exponents));
  const I32 special = magnitude >= I32{} + e.first_special;
  const F32 power = bits<F32>((I32{} + (127 + 15 + e.added_exponent) - raw) << kFraction);
  const I32 nan = I32{} + (e.first_special == 0x7C00 ? 0 : 0x7FFFFFFF);
  return {bits<F32>(bits<I32>(widen_half(codes) * power) | (special & nan)),
          (magnitude == 0) | special ? I32{} + kNoExponent : raw};
}

// Two vectors of codes that follow each other.
struct AnyPair {
  AnyNumbers x, y;
};
inline AnyPair load_any(const Encoding& e, const std::byte* codes) {
  if (e.kind == Encoding::Kind::tf32)
    return {any_of_f32(load<U32>(codes) & 0xFFFFE000), any_of_f32(load<U32>(codes + 4 * kLanes) & 0xFFFFE000)};
  const auto x = load<U16>(codes), y = load<U16>(codes + 2 * kLanes);
  if (e.kind == Encoding::Kind::bf16) return {any_of_f32(widen(x) << 16), any_of_f32(widen(y) << 16)};
  struct Halves {
    U16 x, y;
  };
  const auto exponents = bits<Halves>(exponents_of_half(e, load<Words>(codes) & 0x7FFF));
  return {any_of_half(e, x, exponents.x), any_of_half(e, y, exponents.y)};
}

inline std::size_t code_bytes(const Encoding& e) {
  return e.kind == Encoding::Kind::tf32 ? 4 : 2;
}

// ---- Panels

//     A: significands [row of blocks][k][row]       exponents [row of blocks][k / 2][row][k % 2]
//     B: significands [k][16], each column twice    exponents [k / 2][16][k % 2]; for a sparse A [k][16][2], each twice
struct AnyPanels {
  static constexpr int kRows = 16, kOfA = kRows * 2 * kMaxPanelDepth, kOfB = kBlock * kMaxPanelDepth;
  static constexpr int kAhead = 2 * kLanes;  // codes are decoded in whole vectors
  alignas(64) float a[kOfA + kAhead];
  alignas(64) float b[kOfB];
  alignas(64) std::int16_t a_exponents[kOfA + kAhead];
  alignas(64) std::int16_t b_exponents[2 * kOfB];
  bool a_special;
  // What A was made of: rows of blocks side by side serve for more than one column.
  const void* a_codes = nullptr;
  int rows = 0;
};

// Decodes codes and calls put(i, numbers) for each vector. True if there are specials.
template <class Put>
inline __attribute__((always_inline)) bool for_any(const Encoding& given, const std::byte* codes, int count,
                                                   Put put) {
  const Encoding e = given;
  I32 special{};
  for (int i = 0; i < count; i += 2 * kLanes) {
    const AnyPair pair = load_any(e, codes + static_cast<std::size_t>(i) * code_bytes(e));
    put(i, pair.x);
    put(i + kLanes, pair.y);
    special |= is_special(pair.x.significand) | is_special(pair.y.significand);
  }
  return negative_lanes(special) != 0;
}

inline bool decode_any_a(const Encoding& e, const std::byte* codes, int count, AnyPanels& to, int at) {
  return for_any(e, codes, count, [&to, at](int i, const AnyNumbers& numbers) {
    store(to.a + at + i, numbers.significand);
    store(to.a_exponents + at + i, narrow(exchange_middle(bits<U32>(numbers.exponent - kNoExponent))));
  });
}
// Rows of blocks, each of so many codes and so many bytes from one to the next.
inline void decode_any_a(const Encoding& e, const std::byte* codes, std::ptrdiff_t row_bytes, int rows,
                         int count, AnyPanels& to) {
  if (to.a_codes == codes && to.rows == rows) return;
  if (row_bytes == static_cast<std::ptrdiff_t>(code_bytes(e)) * count) {
    to.a_special = decode_any_a(e, codes, rows * count, to, 0);
  } else {
    to.a_special = false;
    for (int row = 0; row < rows; ++row)
      to.a_special |= decode_any_a(e, codes + row * row_bytes, count, to, row * count);
  }
  to.a_codes = codes;
  to.rows = rows;
}

// The first of each two lanes, or the second, each twice.
template <bool kSecond, class V>
inline V twice(V v) {
  return shuffle(v, [](int i) { return i / 2 * 2 + kSecond; });
}

// [k / 2][column][k % 2] -> the panel. True if there are specials.
template <bool kSparse>
inline bool decode_any_b(const Encoding& e, const std::byte* codes, int depth, AnyPanels& to) {
  return for_any(e, codes, 8 * depth, [&to](int i, const AnyNumbers& numbers) {
    const int k = i / kBlock * 2, lane = i % kBlock, at = kBlock * k + lane;
    store(to.b + at, twice<false>(bits<I32>(numbers.significand)));
    store(to.b + at + kBlock, twice<true>(bits<I32>(numbers.significand)));
    const U32 exponent = bits<U32>(numbers.exponent - kNoExponent);
    if constexpr (kSparse) {
      const U32 both = exponent | exponent << 16;
      store(to.b_exponents + 2 * at, twice<false>(both));
      store(to.b_exponents + 2 * (at + kBlock), twice<true>(both));
    } else {  // k0 0 | k1 0  ->  k0 k1 | k0 k1
      store(to.b_exponents + at + lane,
            twice<false>(bits<U32>(bits<U64>(exponent) | bits<U64>(exponent) >> 16)));
    }
  });
}

// ---- A node

// Three sums of 32 bits, added: cut toward zero to 24 bits, and whether a bit was lost.
//
//     4 h + l        h: the upper 30 bits of each, added; l: 0 .. 3
struct AnySum {
  F32 number;
  I32 inexact;
};
__attribute__((noinline)) AnySum sum_of_many(I32 x, I32 y, I32 z) {
  const I32 low = (x & 3) + (y & 3) + (z & 3);
  const I32 high = (x >> 2) + (y >> 2) + (z >> 2) + (low >> 2), rest = low & 3;
  const I32 is_large = (high >= 1 << 27) | (high < -(1 << 27));
  const I32 large = high - ((high >> 31) & (rest != 0)), small = bits<I32>(bits<U32>(high) << 2) + rest;
  const I32 sum = is_large != 0 ? large : small;
  const F32 number = to_f32_toward_zero(sum);
  return {is_large != 0 ? number * 4.0F : number, (truncate(number) != sum) | (is_large & (rest != 0))};
}

// Rows of blocks that are computed at once: the steps of one wait for each other.
constexpr int kTogether = 2;

// What nodes read of two rows of blocks, from their first k on; the second row is `next` elements behind.
struct AnyInputs {
  const float *a, *b;
  const std::int16_t *a_exponents, *b_exponents;
  const std::uint8_t* met;  // of a sparse A, [k][row]: which k of B, whose panels are whole
  std::ptrdiff_t next;
  int count;            // of k, a multiple of four
  I32 bias[kTogether];  // makes a sum of two exponents E + 127
  bool special;         // there may be specials
};
// The sums of exponents of a sparse A, which take long to find.
struct AnySums {
  Shorts of[kMaxPanelDepth / 2][kTogether];
};

inline I32 odd_lanes() {
  return lanes<I32>([](int i) { return -(i % 2); });
}

// Of B what an element of A meets, in the two rows of a block.
template <bool kSparse>
inline __attribute__((always_inline)) F32 factor_b(const AnyInputs& in, int row, int k) {
  if constexpr (!kSparse) return load<F32>(in.b + kBlock * k);
  const std::uint8_t* met = in.met + row * in.next + 2 * k;
  const auto upper = load<F32>(in.b + kBlock * met[0]), lower = load<F32>(in.b + kBlock * met[1]);
  return odd_lanes() != 0 ? lower : upper;
}
// The sums of exponents of k and k + 1 in each lane.
template <bool kSparse>
inline __attribute__((always_inline)) Shorts exponent_sums(const AnyInputs& in, int row, int k) {
  const auto of_a = bits<Shorts>(U64{} + load<std::uint64_t>(in.a_exponents + row * in.next + 2 * k));
  if constexpr (!kSparse) return of_a + load<Shorts>(in.b_exponents + kBlock * k);
  const std::uint8_t* met = in.met + row * in.next + 2 * k;
  const auto at = [&](int i) { return load<I32>(in.b_exponents + 2 * kBlock * met[i]); };
  const I32 first = odd_lanes() != 0 ? at(1) : at(0), second = odd_lanes() != 0 ? at(3) : at(2);
  return of_a + bits<Shorts>((first & 0xFFFF) | (second & ~0xFFFF));
}

struct AnyNode {
  F32 number;   // of units of 2^(E - F), cut toward zero to 24 bits
  I32 inexact;  // true where a bit was cut
  I32 e;        // E + 127
  F32 special;  // no number where it is Inf or NaN
};

// The powers 2^(t - 127) of two t in a lane. They are 2^-63 or more, below which nothing is left of a product.
inline Both<F32> powers_of(Shorts t) {
  const U32 both = bits<U32>(max(t, Shorts{} + 64));
  return {bits<F32>(both << kFraction), bits<F32>((both & 0xFFFF0000) << (kFraction - 16))};
}

// What is left when a node has its sums of products, of those with even k and those with odd k.
inline __attribute__((always_inline)) void finish(const AnyNumbers& c, I32 low, I32 even, I32 odd,
                                                  AnyNode& out) {
  const F32 of_c = bits<F32>(max(c.exponent - low, I32{} + 64) << kFraction);
  const I32 z = truncate(c.significand * of_c);
  I32 overflow{};
  const I32 sum = checked_sum(checked_sum(even, odd, overflow), z, overflow);
  out.number = to_f32_toward_zero(sum);
  out.inexact = truncate(out.number) != sum;
  if (__builtin_expect(negative_lanes(overflow & ~is_special(out.special)) != 0, 0)) {
    const AnySum many = sum_of_many(even, odd, z);
    out.number = many.number;
    out.inexact = many.inexact;
  }
}

// The products in units, those of even k and those of odd k added: at most 16 each, below 32 bits. With specials also the
// sum of the products of significands.
template <bool kSparse, bool kSpecial>
inline __attribute__((always_inline)) void add_products(const AnyInputs& in, const AnySums& sums,
                                                        const Shorts (&lows)[kTogether], U32 (&even)[kTogether],
                                                        U32 (&odd)[kTogether], AnyNode (&out)[kTogether]) {
  for (int i = 0; i < in.count; i += 4)
#pragma GCC unroll 2
    for (int k = i; k < i + 4; k += 2)
#pragma GCC unroll 2
      for (int row = 0; row < kTogether; ++row) {
        const float* a = in.a + row * in.next + 2 * k;
        const F32 x = repeat_pair(a) * factor_b<kSparse>(in, row, k),
                  y = repeat_pair(a + 2) * factor_b<kSparse>(in, row, k + 1);
        if constexpr (kSpecial) out[row].special += x + y;
        const Shorts exponents = kSparse ? sums.of[k / 2][row] : exponent_sums<kSparse>(in, row, k);
        const Both<F32> powers = powers_of(exponents - lows[row]);
        even[row] += bits<U32>(truncate(x * powers.x));
        odd[row] += bits<U32>(truncate(y * powers.y));
      }
}

template <bool kSparse>
inline __attribute__((always_inline)) void any_node(const FusedProgram& program, const AnyInputs& in,
                                                    const AnyNumbers (&c)[kTogether],
                                                    AnyNode (&out)[kTogether]) {
  AnySums sums;
  Shorts largest[kTogether] = {};
  for (int i = 0; i < in.count; i += 4)
#pragma GCC unroll 2
    for (int k = i; k < i + 4; k += 2)
#pragma GCC unroll 2
      for (int row = 0; row < kTogether; ++row) {
        const Shorts exponents = exponent_sums<kSparse>(in, row, k);
        if constexpr (kSparse) sums.of[k / 2][row] = exponents;
        largest[row] = max(largest[row], exponents);
      }
  Shorts lows[kTogether];
  I32 low[kTogether];
#pragma GCC unroll 2
  for (int row = 0; row < kTogether; ++row) {
    const Shorts most = max(largest[row], bits<Shorts>(bits<U32>(largest[row]) << 16));
    const I32 bias = in.bias[row] + 2 * kNoExponent;  // of the exponents in panels
    out[row].e = max(max((bits<I32>(most) >> 16) + bias, c[row].exponent), I32{} + program.floor);
    out[row].special = c[row].significand;
    low[row] = out[row].e - (program.window + 127);
    const I32 of_products = low[row] - bias;
    lows[row] = bits<Shorts>((of_products & 0xFFFF) | of_products << 16);
  }
  U32 even[kTogether] = {}, odd[kTogether] = {};
  if (in.special)
    add_products<kSparse, true>(in, sums, lows, even, odd, out);
  else
    add_products<kSparse, false>(in, sums, lows, even, odd, out);
#pragma GCC unroll 2
  for (int row = 0; row < kTogether; ++row)
    finish(c[row], low[row], bits<I32>(even[row]), bits<I32>(odd[row]), out[row]);
}

// The result in f32, rounded toward zero; of zero +0.
inline U32 any_f32(const FusedProgram& program, const AnyNode& node) {
  const U32 sign = bits<U32>(node.number) & 0x80000000, magnitude = bits<U32>(node.number) & 0x7FFFFFFF;
  const I32 up = node.e - (127 + program.window), field = bits<I32>(magnitude >> kFraction) + up;
  const U32 normal = magnitude + (bits<U32>(up) << kFraction);
  const U32 down = bits<U32>(min(1 - field, I32{} + 31));
  const U32 subnormal = ((magnitude & 0x7FFFFF) | 0x800000) >> down;
  U32 out = field > 254 ? U32{} + 0x7F800000 : field < 1 ? subnormal : normal;
  out &= program.kept_mask;
  out = (out == 0) | (magnitude == 0) ? U32{} : out | sign;
  const U32 special = node.special != node.special ? U32{} + 0x7FFFFFFF : bits<U32>(node.special);
  return is_special(node.special) != 0 ? special : out;
}

// And in f16, rounded to nearest: the lowest of 24 bits stands for those that were cut.
inline U32 any_f16(const FusedProgram& program, const AnyNode& node) {
  const F32 odd = bits<F32>(bits<I32>(node.number) | (node.inexact & 1));
  const F32 number = odd * bits<F32>((node.e - program.window) << kFraction);
  const U32 codes = widen(narrow_to_half(number));
  const U32 special =
      node.special != node.special ? U32{} + 0x7FFF : (bits<U32>(node.special) >> 16 & 0x8000) | 0x7C00;
  return is_special(node.special) != 0 ? special : (codes & 0x7FFF) == 0 ? U32{} : codes;
}

// ---- The steps of a plan

// C or a running value of f16 nodes: subnormals have the exponent of the smallest normal number.
inline AnyNumbers any_of_running_half(U32 codes) {
  const AnyNumbers exact = any_of_f32(bits<U32>(widen_half(narrow(codes))));
  const I32 raw = exact.exponent == kNoExponent ? exact.exponent : max(exact.exponent, I32{} + (127 - 14));
  const F32 power = bits<F32>((127 + min(exact.exponent - raw, I32{})) << kFraction);
  return {exact.significand * power, raw};
}

// Nodes in f32 where C and D are f32, too, and nothing is added: most plans.
constexpr bool has_plain_sums(const FusedProgram& p) {
  return !p.half_nodes && !p.half_c && !p.half_d && !p.adds_c;
}

// The nodes alone: from what they take as C to what they give.
template <bool kSparse, bool kHalf>
inline __attribute__((always_inline)) void any_nodes(const FusedProgram& program, const AnyInputs& all,
                                                     U32 (&running)[kTogether]) {
  AnyInputs in = all;
  for (int n = 0; n < program.nodes; ++n) {
    const FusedProgram::Node& range = program.node[n];
    in.a = all.a + 2 * range.first;
    in.a_exponents = all.a_exponents + 2 * range.first;
    if constexpr (kSparse) {
      in.met = all.met + 2 * range.first;
    } else {
      in.b = all.b + kBlock * range.first;
      in.b_exponents = all.b_exponents + kBlock * range.first;
    }
    in.count = range.count;
    AnyNumbers c[kTogether];
#pragma GCC unroll 2
    for (int row = 0; row < kTogether; ++row) {
      const U32 codes = range.from_zero ? U32{} : running[row];
      c[row] = kHalf ? any_of_running_half(codes) : any_of_f32(codes);
    }
    AnyNode sums[kTogether];
    any_node<kSparse>(program, in, c, sums);
#pragma GCC unroll 2
    for (int row = 0; row < kTogether; ++row)
      running[row] = kHalf ? any_f16(program, sums[row]) : any_f32(program, sums[row]);
  }
}

// D of C, for any plan.
template <bool kSparse>
__attribute__((noinline)) void other_sums(const FusedProgram& program, const AnyInputs& in,
                                          U32 (&codes)[kTogether]) {
  F32 c[kTogether], value[kTogether];
  U32 running[kTogether];
  for (int row = 0; row < kTogether; ++row) {
    c[row] = program.half_c ? widen_half(narrow(codes[row])) : bits<F32>(codes[row]);
    running[row] = program.half_nodes ? codes[row] : bits<U32>(c[row]);
  }
  if (program.half_nodes)
    any_nodes<kSparse, true>(program, in, running);
  else
    any_nodes<kSparse, false>(program, in, running);
  for (int row = 0; row < kTogether; ++row) {
    codes[row] = running[row];
    if (program.half_nodes && program.half_d && !program.adds_c) continue;
    value[row] = program.half_nodes ? widen_half(narrow(running[row])) : bits<F32>(running[row]);
    if (program.adds_c) value[row] += c[row];
    if (program.half_d)
      codes[row] = value[row] != value[row] ? U32{} + 0x7FFF : widen(narrow_to_half(value[row]));
    else
      codes[row] = value[row] != value[row] ? U32{} + 0x7FFFFFFF : bits<U32>(value[row]);
  }
}

// ---- Blocks

// Whether one of the two scale factors of a lane is NaN.
inline I32 is_nan(const PartScales& scales) {
  constexpr std::int32_t kNan = scale_exponent(kScaleNan);
  return (scales.a == kNan) | (scales.b == kNan);
}

// One step of a part of two rows of blocks, which may be one and the same: codes of C -> of D.
template <bool kSparse>
inline void any_part(const FusedBlocks& blocks, const FusedProgram& program, AnyInputs& in,
                     const int (&row)[kTogether], int column, int lane, U32 (&codes)[kTogether]) {
  I32 nan[kTogether] = {};
  for (int i = 0; i < kTogether; ++i) {
    in.bias[i] = I32{} + program.exponent_bias;
    if (blocks.a_scales == nullptr) continue;
    const PartScales scales = scales_of_part(blocks, row[i], column, lane);
    in.bias[i] += scales.a + scales.b;
    nan[i] = is_nan(scales);
  }
  if (has_plain_sums(program))
    any_nodes<kSparse, false>(program, in, codes);
  else
    other_sums<kSparse>(program, in, codes);
  for (int i = 0; i < kTogether; ++i) codes[i] = nan[i] != 0 ? U32{} + 0x7FFFFFFF : codes[i];
}

// Rows [first, last) of a column of blocks, all steps: codes of C -> of D, [row][16]. At most AnyPanels::kRows.
template <bool kSparse>
__attribute__((noinline)) void any_rows(const FusedBlocks& blocks, int first, int last, int column,
                                        AnyPanels& panels, std::uint32_t* codes) {
  const FusedProgram program = *blocks.program;
  const Encoding &of_a = *blocks.a_encoding, &of_b = *blocks.b_encoding;
  const int b_depth = kSparse ? blocks.b_depth : blocks.depth, of_row = 2 * blocks.depth;
  const auto a_bytes = static_cast<std::ptrdiff_t>(code_bytes(of_a)) * of_row,
             b_bytes = static_cast<std::ptrdiff_t>(code_bytes(of_b)) * 8 * b_depth;
  const auto *a = static_cast<const std::byte*>(blocks.a_codes) + a_bytes * first * blocks.panel_steps,
             *b = static_cast<const std::byte*>(blocks.b_codes) + b_bytes * column * blocks.panel_steps;
  for (int step = 0; step < blocks.steps; ++step, a += a_bytes, b += b_bytes) {
    const bool special = decode_any_b<kSparse>(of_b, b, b_depth, panels);
    decode_any_a(of_a, a, a_bytes * blocks.panel_steps, last - first, of_row, panels);
    for (int row = first; row < last; row += kTogether) {
      const int rows[kTogether] = {row, row + 1 < last ? row + 1 : row}, at = row - first;
      AnyInputs in{};
      in.a = panels.a + of_row * at;
      in.a_exponents = panels.a_exponents + of_row * at;
      in.next = of_row * (rows[1] - row);
      in.special = special || panels.a_special;
      if constexpr (kSparse) in.met = blocks.met + std::ptrdiff_t{of_row} * row;  // there is one step
      for (int lane = 0; lane < kBlock; lane += kLanes) {
        in.b = panels.b + lane;
        in.b_exponents = panels.b_exponents + 2 * lane;
        std::uint32_t *x = codes + kBlock * at + lane, *y = x + kBlock * (rows[1] - row);
        U32 both[kTogether] = {load<U32>(x), load<U32>(y)};
        any_part<kSparse>(blocks, program, in, rows, column, lane, both);
        store(x, both[0]);
        store(y, both[1]);
      }
    }
  }
}

}  // namespace
}  // namespace warpbit
