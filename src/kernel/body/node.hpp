// SPDX-License-Identifier: Apache-2.0
// The fused node on a block (NUMERICS.md, "The node"). Products in f32 are exact; each is brought to units of
// 2^(E - F) by a power of two and cut by the conversion to an integer; integers are added. Left to any.hpp is
// what would go wrong here: Inf and NaN; an E so small or large that a product that counts, a sum or the result
// is no normal number of f32; a sum of more than 32 bits.
#pragma once

#include "kernel/body.hpp"
#include "kernel/body/vectors.hpp"

namespace warpbit {
namespace {

// Numbers with a raw exponent + 127 up to this are far enough from the largest of f32 for a sum of 32 products.
constexpr int kMax = 246;

// Exponents are held as f32 holds them: plus 127, above kFraction bits of zeros.
constexpr int kFraction = 23;

// The raw exponents of f32 numbers; 0 of zero and of subnormals.
inline I32 raw_exponent(F32 value) {
  return bits<I32>(value) & 0x7F800000;
}
// Those of f16 numbers: subnormals have that of the smallest normal number.
inline I32 raw_exponent_of_half(F32 value) {
  const I32 raw = raw_exponent(value), smallest = I32{} + (127 - 14) * (1 << kFraction);
  return raw == 0 ? raw : max(raw, smallest);
}

// What is fixed while blocks are computed: as types, so that the loop over blocks has few branches of its own.
struct Fixed {
  int count = 0, nodes = 0;  // products of a node, and nodes; 0: as the program says
  bool half_nodes = false;   // nodes round to f16
  bool scaled = false;       // there are scale factors
  bool sparse = false;       // A is sparse
  bool plain = false;        // values and results are what nodes take and give, C and D in the nodes' format
  bool single = false;       // there is one step
};

// The exponents of the scale factors of a part.
struct PartScales {
  I32 a, b;
};
inline PartScales scales_of_part(const FusedBlocks& blocks, int row, int column, int lane) {
  const auto pair = U32{} + load<std::uint32_t>(blocks.a_scales + 2 * row);
  return {lanes<I32>([](int i) { return i % 2; }) == 0 ? bits<I32>(pair << 16) >> 16 : bits<I32>(pair) >> 16,
          convert<I32>(load<I16>(blocks.b_scales + 16 * column + lane))};
}

// What a node reads, for a part of a block: from its first k on.
template <class Exponent>
struct NodeInputs {
  const float *a, *b;
  const Exponent *a_exponents, *b_exponents;
  int count;
  const std::uint8_t *selected, *entry_places;  // of a sparse A
  I32 scale;                                    // exponents of the scale factors, if any
  const F32* held;                              // B, each column twice, if it is held
};

// The running value: its number, and its raw exponent, which is small for zero.
struct RunningPart {
  F32 value;
  I32 exponent;
};

struct NodeOutput {
  F32 sum;         // cut toward zero to 24 bits
  I32 inexact;     // true where a bit was cut (for f16 results)
  I32 suspicious;  // negative where any.hpp must be asked
};

// A sparse A: the two elements of a pair in a row, and what they meet in B's table; lanes are [column][2].
inline F32 pair_of_a(const float* a, int pair, int row) {
  return repeat_pair(a + 4 * pair + 2 * row);
}
inline F32 met(const float* b, const std::uint8_t* selected, int pair, int row) {
  const std::size_t nibble = selected[pair / 2 * 4 + 2 * row + pair % 2];  // times 8
  return load<F32>(b + kQuadValues * pair + 2 * nibble);
}

// [column][2] of two rows -> of the elements of a pair the first of both rows and the second, or the other way
// round.
//
//     u0 u1 ...  v0 v1 ...   ->   u0 v1 ...  u1 v0 ...
template <class V>
struct Both {
  V x, y;
};
template <class V>
inline Both<V> cross(V upper, V lower) {
  return {shuffle(upper, lower, [](int i) { return i % 2 == 0 ? i : kLanes + i; }),
          shuffle(upper, lower, [](int i) { return i % 2 == 0 ? i + 1 : kLanes + i - 1; })};
}

// Of B what belongs to one k, each column twice.
inline F32 columns_of(const float* b, int k) {
  return k % 2 == 0 ? load_twice<false>(b + 8 * k) : load_twice<true>(b + 8 * (k - 1));
}

// Whether B's values stay in registers while the rows of a case pass. Faster where the chain from one sum to
// the next is long: two nodes, powers, f16; slower for the one node of m16n8k16. Of fields both ways were not
// compared.
template <Fixed kFixed, class Exponent>
constexpr bool holds_b() {
  const bool fits = kLanes == 16 && kFixed.count > 0 && kFixed.count * kFixed.nodes <= 16;
  const bool is_long = kFixed.nodes == 2 || kFixed.half_nodes || sizeof(Exponent) > 1;
  return fits && is_long && kFixed.single && !kFixed.sparse;
}
template <Fixed kFixed, class Exponent>
inline __attribute__((always_inline)) F32 columns_of(const NodeInputs<Exponent>& in, int k) {
  if constexpr (holds_b<kFixed, Exponent>()) return in.held[k];
  return columns_of(in.b, k);
}

// What differs from tile to tile: how sums of exponents become E + 127, and from which E on the body is right.
struct Bounds {
  int bias, least;
};

// The largest raw exponents of products; below the least where all are zero.
template <Fixed kFixed>
inline I32 largest(const NodeInputs<std::int8_t>& in, Bounds bounds, int count) {
  const I32 sums = kFixed.sparse ? largest_sums(in.a_exponents, in.b_exponents, in.entry_places, count / 8)
                                 : largest_sums(in.a_exponents, in.b_exponents, count);
  if constexpr (kFixed.scaled) {
    const I32 raw = (sums >> 24) + bounds.bias + in.scale;
    return sums < 0 ? I32{} : min(max(raw, I32{}), I32{} + 255) << kFraction;
  }
  return (sums >> 1) + bounds.bias * (1 << kFraction);
}
template <Fixed kFixed>
inline I32 largest(const NodeInputs<std::int16_t>& in, Bounds, int count) {
  return largest_sums(in.a_exponents, in.b_exponents, count);
}
// The product of a power and a value has the sum of their exponents. One that f32 cannot hold is Inf, or below
// the least.
template <Fixed kFixed>
inline I32 largest(const NodeInputs<float>& in, Bounds, int count) {
  const auto of_all = [](int products, auto a_of, auto b_of) {
    F32 most[4] = {};  // of every fourth product: a comparison takes long
#pragma GCC unroll 16
    for (int k = 0; k < products; ++k) {
      const F32 product = a_of(k) * b_of(k);
      most[k % 4] = k < 4 ? product : larger(most[k % 4], product);
    }
    return raw_exponent(larger(larger(most[0], most[1]), larger(most[2], most[3])));
  };
  if constexpr (kFixed.sparse) {
    const auto of_row = [&](int row) {
      return of_all(
          count / 2, [&](int pair) { return pair_of_a(in.a_exponents, pair, row); },
          [&](int pair) { return met(in.b, in.selected, pair, row); });
    };
    const Both exponents = cross(of_row(0), of_row(1));
    return max(exponents.x, exponents.y);
  } else {
    return of_all(
        count, [&](int k) { return repeat_pair(in.a_exponents + 2 * k); },
        [&](int k) { return columns_of<kFixed>(in, k); });
  }
}

// The sums of the products in units: two that are to be added.
template <Fixed kFixed, class Exponent>
inline __attribute__((always_inline)) Both<U32> product_sums(const NodeInputs<Exponent>& in, F32 units,
                                                             int count, int sums) {
  U32 out[2] = {};
  if constexpr (kFixed.sparse) {
#pragma GCC unroll 2
    for (int row = 0; row < 2; ++row) {
      const auto of_row = bits<F32>(shuffle(bits<U32>(units), [row](int i) { return i / 2 * 2 + row; }));
#pragma GCC unroll 16
      for (int pair = 0; pair < count / 2; ++pair)
        out[row] +=
            bits<U32>(truncate(pair_of_a(in.a, pair, row) * met(in.b, in.selected, pair, row) * of_row));
    }
    return cross(out[0], out[1]);
  } else {
#pragma GCC unroll 32
    for (int k = 0; k < count; ++k)
      out[k % sums] += bits<U32>(truncate(repeat_pair(in.a + 2 * k) * columns_of<kFixed>(in, k) * units));
    return {out[0], out[1]};
  }
}

// Adds integers; an overflow makes `overflow` negative.
inline I32 checked_sum(I32 x, I32 y, I32& overflow) {
  const I32 sum = bits<I32>(bits<U32>(x) + bits<U32>(y));
  overflow |= (sum ^ x) & (sum ^ y);
  return sum;
}

template <Fixed kFixed, class Exponent>
inline __attribute__((always_inline)) NodeOutput node(const FusedProgram& program, Bounds bounds,
                                                      const NodeInputs<Exponent>& in, const RunningPart& c) {
  const int count = kFixed.count > 0 ? kFixed.count : in.count;
  I32 e = max(largest<kFixed>(in, bounds, count), c.exponent);
  NodeOutput out;
  const int least = bounds.least << kFraction, most = kMax << kFraction;
  if constexpr (kFixed.half_nodes) {
    e = max(e, I32{} + (program.floor << kFraction));
    out.suspicious = most - e;
  } else {
    out.suspicious = (e - least) | (most - e);
  }

  // The powers 2^(F - E), of C and of the products, and 2^(E - F).
  const U32 scale = (static_cast<std::uint32_t>(2 * 127 + program.window) << kFraction) - bits<U32>(e);
  const U32 unit = (254U << kFraction) - scale;
  const I32 c_units = truncate(c.value * bits<F32>(scale));
  F32 units = bits<F32>(scale);
  if constexpr (kFixed.scaled) {  // where all products are zero it may be anything
    const I32 power = (2 * 127 + program.window + program.product_scale) - (e >> kFraction) + in.scale;
    units = bits<F32>(min(max(power, I32{} + 1), I32{} + 254) << kFraction);
  } else if constexpr (!kFixed.plain) {
    units = bits<F32>(scale + (static_cast<std::uint32_t>(program.product_scale) << kFraction));
  }
  // Sixteen products cannot leave 32 bits.
  constexpr bool kMany = kFixed.count == 0 || kFixed.count > 16;
  const Both<U32> products = product_sums<kFixed>(in, units, count, kMany ? 2 : 1);
  I32 sum = bits<I32>(products.x + products.y);
  if constexpr (kMany) sum = checked_sum(bits<I32>(products.x), bits<I32>(products.y), out.suspicious);
  if constexpr (kFixed.count == 4 || kFixed.count == 8)  // nor can eight and C
    sum = bits<I32>(bits<U32>(sum) + bits<U32>(c_units));
  else
    sum = checked_sum(sum, c_units, out.suspicious);
  const F32 number = to_f32_toward_zero(sum);
  if constexpr (kFixed.half_nodes) out.inexact = truncate(number) != sum;
  out.sum = number * bits<F32>(unit);
  return out;
}

}  // namespace
}  // namespace warpbit
