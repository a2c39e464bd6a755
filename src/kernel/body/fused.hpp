// SPDX-License-Identifier: Apache-2.0
// The fused node on a block (NUMERICS.md, "The node"). Products in f32 are exact; each is brought to units of
// 2^(E - F) by a power of two and cut by the conversion to an integer; integers are added. Left to the node is
// what would go wrong here: Inf and NaN; an E so small or large that a product that counts, a sum or the result
// is no normal number of f32; a sum of more than 32 bits.
#pragma once

#include "kernel/body.hpp"
#include "kernel/body/codes.hpp"
#include "kernel/body/vectors.hpp"

namespace warpbit {
namespace {

// Numbers with a raw exponent + 127 up to this are far enough from the largest of f32 for a sum of 32 products.
constexpr int kMost = 246;

constexpr int kRowsAtOnce = 16;

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

// ---- One node

// What is fixed while blocks are computed: as types, so that the loop over blocks has few branches of its own.
struct Fixed {
  int count = 0, nodes = 0;  // products of a node, and nodes; 0: as the program says
  bool half_nodes = false;   // nodes round to f16
  bool scaled = false;       // there are scale factors
  bool sparse = false;       // A is sparse
  bool plain = false;        // values and results are what nodes take and give, C and D in the nodes' format
  bool single = false;       // there is one step
};

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
  I32 suspicious;  // negative where the specification must be asked
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

// The largest raw exponents of products. Where all are zero `none` is true, and they are below the least.
struct Largest {
  I32 exponent, none;
};

template <Fixed kFixed>
inline Largest largest(const NodeInputs<std::int8_t>& in, Bounds bounds, int count, bool) {
  const I32 sums = kFixed.sparse ? largest_sums(in.a_exponents, in.b_exponents, in.entry_places, count / 8)
                                 : largest_sums(in.a_exponents, in.b_exponents, count);
  if constexpr (kFixed.scaled) {
    const I32 raw = (sums >> 24) + bounds.bias + in.scale;
    return {sums < 0 ? I32{} : min(max(raw, I32{}), I32{} + 255) << kFraction, sums < 0};
  }
  return {(sums >> 1) + bounds.bias * (1 << kFraction), sums < 0};
}
template <Fixed kFixed>
inline Largest largest(const NodeInputs<std::int16_t>& in, Bounds, int count, bool careful) {
  I32 none = ~I32{};
  for (int k = 0; careful && k < count; ++k)
    none &= (repeat_pair(in.a + 2 * k) == 0.0F) | (columns_of<kFixed>(in, k) == 0.0F);
  return {largest_sums(in.a_exponents, in.b_exponents, count), none};
}
// The product of a power and a value has the sum of their exponents. One that f32 cannot hold is Inf, or below
// the least.
template <Fixed kFixed>
inline Largest largest(const NodeInputs<float>& in, Bounds, int count, bool careful) {
  const auto of_all = [careful](int products, auto a_of, auto b_of) {
    F32 most[4] = {};  // of every fourth product: a comparison takes long
    I32 none = ~I32{};
#pragma GCC unroll 16
    for (int k = 0; k < products; ++k) {
      const F32 a = a_of(k), b = b_of(k);
      most[k % 4] = k < 4 ? a * b : larger(most[k % 4], a * b);
      if (careful) none &= (a == 0.0F) | (b == 0.0F);
    }
    return Largest{raw_exponent(larger(larger(most[0], most[1]), larger(most[2], most[3]))), none};
  };
  if constexpr (kFixed.sparse) {
    const auto of_row = [&](int row) {
      return of_all(
          count / 2, [&](int pair) { return pair_of_a(in.a_exponents, pair, row); },
          [&](int pair) { return met(in.b, in.selected, pair, row); });
    };
    const Largest upper = of_row(0), lower = of_row(1);
    const Both exponents = cross(upper.exponent, lower.exponent), none = cross(upper.none, lower.none);
    return {max(exponents.x, exponents.y), none.x & none.y};
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

// `careful`: finds out which lanes are suspicious without cause, because all they add are zeros.
template <Fixed kFixed, class Exponent>
inline __attribute__((always_inline)) NodeOutput node(const FusedProgram& program, Bounds bounds,
                                                      const NodeInputs<Exponent>& in, const RunningPart& c,
                                                      bool careful) {
  const int count = kFixed.count > 0 ? kFixed.count : in.count;
  const Largest products_e = largest<kFixed>(in, bounds, count, careful);
  I32 e = max(products_e.exponent, c.exponent);
  NodeOutput out;
  const int least = bounds.least << kFraction, most = kMost << kFraction;
  if constexpr (kFixed.half_nodes) {
    e = max(e, I32{} + (program.floor << kFraction));
    out.suspicious = most - e;
  } else {
    out.suspicious = (e - least) | (most - e);
    if (careful) {
      const I32 zeros = products_e.none & bits<I32>(c.value == 0.0F);
      out.suspicious &= ~zeros;
      e = max(e, I32{} + least);
    }
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

// Part of a block, at one of its steps.
struct PartPlace {
  int row, column, lane, step = 0;
};

// B of a column of blocks, if it is held.
template <Fixed kFixed, class Exponent>
struct HeldColumns {
  static constexpr int kCount = holds_b<kFixed, Exponent>() ? kFixed.count * kFixed.nodes : 1;
  F32 value[kCount];

  inline __attribute__((always_inline))
  HeldColumns(const FusedBlocks& blocks, const FusedProgram& program, int column) {
    if constexpr (holds_b<kFixed, Exponent>()) {
      const float* b = blocks.b + 8 * std::ptrdiff_t{column} * blocks.panel_steps * blocks.depth;
#pragma GCC unroll 16
      for (int k = 0; k < kCount; ++k)
        value[k] = columns_of(b + 8 * program.node[k / kFixed.count].first, k % kFixed.count);
    }
  }
};

constexpr bool has_halves(Fixed fixed) {
  return fixed.plain && fixed.half_nodes;
}
template <Fixed kFixed>
using Codes = typename CodesIn<has_halves(kFixed)>::type;

template <Fixed kFixed>
struct StepResult {
  Codes<kFixed> d;
  I32 suspicious;
};

// C's codes.
template <Fixed kFixed>
inline __attribute__((always_inline)) Codes<kFixed> load_c(const FusedBlocks& blocks,
                                                           const FusedProgram& program, PartPlace at) {
  if (blocks.c.base == nullptr) return Codes<kFixed>{};
  const std::byte* from = blocks.c.base + at.row * blocks.c.row_stride + at.column * blocks.c.column_stride +
                          at.lane / 4 * blocks.c.piece_stride;
  if constexpr (has_halves(kFixed))
    return load_part<U16>(from, blocks.c.piece_stride);
  else if (!kFixed.plain && program.half_c)
    return widen(load_part<U16>(from, blocks.c.piece_stride));
  else
    return load_part<U32>(from, blocks.c.piece_stride);
}

// And what they stand for.
template <Fixed kFixed>
inline RunningPart running_part(const FusedProgram& program, Codes<kFixed> codes) {
  if constexpr (!has_halves(kFixed))
    if (kFixed.plain || !program.half_c) return {bits<F32>(codes), raw_exponent(bits<F32>(codes))};
  const F32 value = widen_half(as_halves(codes));
  return {value, kFixed.half_nodes ? raw_exponent_of_half(value) : raw_exponent(value)};
}

// One step.
template <Fixed kFixed, class Exponent>
inline __attribute__((always_inline)) StepResult<kFixed> part(const FusedBlocks& blocks,
                                                              const FusedProgram& program, Bounds bounds,
                                                              const HeldColumns<kFixed, Exponent>& held,
                                                              PartPlace at, Codes<kFixed> c_codes,
                                                              bool careful) {
  StepResult<kFixed> out{};
  const RunningPart c = running_part<kFixed>(program, c_codes);
  if (!kFixed.plain && program.adds_c) out.suspicious = (kMost << kFraction) - c.exponent;
  NodeInputs<Exponent> in{};
  if constexpr (kFixed.scaled) in.scale = scale_of_part(blocks, at.row, at.lane, at.column);
  RunningPart running = c;
  U16 half{};
  const std::ptrdiff_t a_step = std::ptrdiff_t{at.row} * blocks.panel_steps + at.step;
  const std::ptrdiff_t b_step = std::ptrdiff_t{at.column} * blocks.panel_steps + at.step;
  const int nodes = kFixed.nodes > 0 ? kFixed.nodes : program.nodes;
#pragma GCC unroll 2
  for (int n = 0; n < nodes; ++n) {
    const FusedProgram::Node& range = program.node[n];
    const std::ptrdiff_t a_first = a_step * blocks.depth + range.first;
    const std::ptrdiff_t b_first = b_step * blocks.depth + range.first;
    const std::ptrdiff_t of_b = kFixed.sparse ? range.first / 2 * kQuadValues : 8 * b_first;
    in.a = blocks.a + 2 * a_first;
    in.b = blocks.b + of_b + at.lane;
    in.a_exponents = static_cast<const Exponent*>(blocks.a_exponents) + 2 * a_first;
    if constexpr (sizeof(Exponent) == 1)
      in.b_exponents = static_cast<const Exponent*>(blocks.b_exponents) +
                       (kFixed.sparse ? range.first / 8 * 128 + at.lane / 4 * 16 : 2 * of_b + 4 * at.lane);
    if constexpr (sizeof(Exponent) == 2)
      in.b_exponents = static_cast<const Exponent*>(blocks.b_exponents) + 2 * of_b + 2 * at.lane;
    if constexpr (kFixed.sparse) {
      in.selected = blocks.selected + a_first;
      in.entry_places = blocks.entry_places + 2 * a_first;
    }
    in.count = range.count;
    if constexpr (holds_b<kFixed, Exponent>()) in.held = held.value + n * kFixed.count;
    const bool from_zero = !kFixed.plain && range.from_zero;
    const NodeOutput sum = node<kFixed>(program, bounds, in, from_zero ? RunningPart{} : running, careful);
    out.suspicious |= sum.suspicious;
    if constexpr (kFixed.half_nodes) {
      half = to_half(sum);
      running.value = widen_half(half);
      running.exponent = raw_exponent_of_half(running.value);
    } else {
      running.value = kFixed.plain ? sum.sum : bits<F32>(bits<U32>(sum.sum) & program.kept_mask);
      running.exponent = raw_exponent(running.value);
    }
  }
  if constexpr (has_halves(kFixed)) {
    out.d = half;
  } else if constexpr (kFixed.plain) {
    out.d = bits<U32>(running.value);
  } else {
    if (program.adds_c) running.value += c.value;
    const bool rounds = program.half_d && (program.adds_c || !kFixed.half_nodes);
    out.d = program.half_d ? widen(rounds ? narrow_to_half(running.value) : half) : bits<U32>(running.value);
  }
  return out;
}

// ---- Blocks

// All steps of a part.
template <Fixed kFixed, class Exponent>
inline __attribute__((always_inline)) Codes<kFixed> all_steps(const FusedBlocks& blocks,
                                                              const FusedProgram& program, Bounds bounds,
                                                              const HeldColumns<kFixed, Exponent>& held,
                                                              PartPlace at, I32& suspicious) {
  Codes<kFixed> codes = load_c<kFixed>(blocks, program, at);
  do {
    const StepResult<kFixed> result = part<kFixed>(blocks, program, bounds, held, at, codes, false);
    suspicious |= result.suspicious;
    codes = result.d;
  } while (!kFixed.single && ++at.step < blocks.steps);
  return codes;
}

// The same with the lanes that are left to the specification.
template <Fixed kFixed, class Exponent>
__attribute__((noinline)) Codes<kFixed> careful_steps(const FusedBlocks& blocks, Bounds bounds, PartPlace at) {
  const FusedProgram& program = *blocks.program;
  const HeldColumns<kFixed, Exponent> held(blocks, program, at.column);
  const auto given = [](U32 codes) {
    if constexpr (has_halves(kFixed))
      return as_halves(codes);
    else
      return codes;
  };
  std::uint32_t codes[kLanes], d[kLanes];
  store(codes, as_words(load_c<kFixed>(blocks, program, at)));
  do {
    const StepResult<kFixed> result =
        part<kFixed>(blocks, program, bounds, held, at, given(load<U32>(codes)), true);
    std::uint32_t suspicious = negative_lanes(result.suspicious);
    if (blocks.a_special != nullptr)
      suspicious |= static_cast<std::uint32_t>(blocks.a_special[at.row * blocks.panel_steps + at.step] |
                                               blocks.b_special[at.column * blocks.panel_steps + at.step]) >>
                    at.lane;
    store(d, as_words(result.d));
    for (int i = 0; i < kLanes; ++i)
      codes[i] = suspicious >> i & 1
                     ? blocks.exact(blocks.context, at.step, at.row, at.column, at.lane + i, codes[i])
                     : d[i];
  } while (++at.step < blocks.steps);
  return given(load<U32>(codes));
}

// Some rows of one column of blocks: all are computed before one is stored, since D may be C, and again if a
// lane of one is suspicious.
template <Fixed kFixed, class Exponent>
inline void some_rows(const FusedBlocks& given, const FusedBlocks& blocks, const FusedProgram& program,
                      Bounds bounds, int first, int last, int column) {
  const HeldColumns<kFixed, Exponent> held(blocks, program, column);
  Codes<kFixed> d[kRowsAtOnce * 16 / kLanes];
  I32 suspicious{};
  Codes<kFixed>* to = d;
  for (int row = first; row < last; ++row)
    for (int lane = 0; lane < kBlock; lane += kLanes)
      *to++ = all_steps<kFixed>(blocks, program, bounds, held, {row, column, lane}, suspicious);
  if (__builtin_expect(blocks.a_special != nullptr || negative_lanes(suspicious) != 0, 0)) {
    to = d;
    for (int row = first; row < last; ++row)
      for (int lane = 0; lane < kBlock; lane += kLanes)
        *to++ = careful_steps<kFixed, Exponent>(given, bounds, {row, column, lane});
  }
  to = d;
  for (int row = first; row < last; ++row)
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      std::byte* at = blocks.d.base + row * blocks.d.row_stride + column * blocks.d.column_stride +
                      lane / 4 * blocks.d.piece_stride;
      if (!kFixed.plain && program.half_d)
        store_part(at, blocks.d.piece_stride, as_halves(*to++));
      else
        store_part(at, blocks.d.piece_stride, *to++);
    }
}

// Of 8 bits, powers, or fields.
constexpr int kind_of_exponents(int top) {
  return top > 0 ? 1 : top;
}

inline Bounds bounds_of(const FusedBlocks& blocks, const FusedProgram& program) {
  Bounds out{program.exponent_bias, kLeast};
  if (blocks.a_top > 0) out.bias += blocks.a_top + blocks.b_top - 2 * kTopExponent;
  if (out.bias < -128) out.bias = -128;                 // no sum reaches the least, and none leaves 32 bits
  if (out.bias >= out.least) out.least = out.bias + 1;  // sums of exponents with a zero are below
  return out;
}

// All that follow, as long as exponents are of the same kind. True if there is more.
template <Fixed kFixed, class Exponent>
bool all_blocks(FusedBlocks& given) {
  FusedBlocks blocks = given;  // copies that stay in registers: no store to D can change them
  const FusedProgram program = *given.program;
  for (;;) {
    const Bounds bounds = bounds_of(given, program);
    for (int column = 0; column < blocks.columns; ++column)
      for (int row = 0; row < blocks.rows; row += kRowsAtOnce)
        some_rows<kFixed, Exponent>(given, blocks, program, bounds, row,
                                    row + kRowsAtOnce < blocks.rows ? row + kRowsAtOnce : blocks.rows, column);
    if (!kFixed.single || given.next == nullptr || !given.next(given)) return false;
    if (kind_of_exponents(given.a_top) != kind_of_exponents(blocks.a_top)) return true;
    blocks.c.base = given.c.base;
    blocks.d.base = given.d.base;
    blocks.a_special = given.a_special;
    blocks.b_special = given.b_special;
  }
}

// ---- The choice of what is fixed

template <Fixed kFlags, class Exponent, int kCount, int kNodes>
bool with_steps(FusedBlocks& blocks) {
  constexpr auto fixed = [](bool single) {
    Fixed out = kFlags;
    out.count = kCount;
    out.nodes = kNodes;
    out.single = single;
    return out;
  };
  if (blocks.steps == 1) return all_blocks<fixed(true), Exponent>(blocks);
  constexpr bool kSingleCases = kFlags.sparse || kFlags.scaled || sizeof(Exponent) == 2;
  if constexpr (!kSingleCases) return all_blocks<fixed(false), Exponent>(blocks);
  return false;
}

// Powers, of bf16 and tf32, and fields.
template <Fixed kFlags, class Exponent>
bool with_wide(FusedBlocks& blocks) {
  const int count = blocks.program->node[0].count, nodes = blocks.program->nodes;
  if constexpr (kFlags.plain) {
    if (count == 4 && nodes == 1) return with_steps<kFlags, Exponent, 4, 1>(blocks);
    if (count == 4 && nodes == 2) return with_steps<kFlags, Exponent, 4, 2>(blocks);
    if (count == 8 && nodes == 1) return with_steps<kFlags, Exponent, 8, 1>(blocks);
  }
  return with_steps<kFlags, Exponent, 0, 0>(blocks);
}

template <Fixed kFlags>
bool with_count(FusedBlocks& blocks) {
  const FusedProgram& program = *blocks.program;
  const int count = program.node[0].count, nodes = program.nodes;
  if constexpr (!kFlags.half_nodes)
    if (blocks.a_top == 0) return with_wide<kFlags, float>(blocks);
  if constexpr (kTakesFields && !kFlags.half_nodes && !kFlags.sparse && !kFlags.scaled)
    if (blocks.a_top == kTopOfFields) return with_wide<kFlags, std::int16_t>(blocks);
  if (count == 4 && nodes == 1) return with_steps<kFlags, std::int8_t, 4, 1>(blocks);
  if (count == 4 && nodes == 2) return with_steps<kFlags, std::int8_t, 4, 2>(blocks);
  if (count == 8 && nodes == 1) return with_steps<kFlags, std::int8_t, 8, 1>(blocks);
  if (count == 8 && nodes == 2) return with_steps<kFlags, std::int8_t, 8, 2>(blocks);
  if (count == 16 && nodes == 1) return with_steps<kFlags, std::int8_t, 16, 1>(blocks);
  if (count == 16 && nodes == 2) return with_steps<kFlags, std::int8_t, 16, 2>(blocks);
  if (count == 32 && nodes == 1) return with_steps<kFlags, std::int8_t, 32, 1>(blocks);
  return with_steps<kFlags, std::int8_t, 0, 0>(blocks);
}

template <bool kSparse>
bool with_flags(FusedBlocks& blocks) {
  const FusedProgram& program = *blocks.program;
  const bool half = program.half_nodes;
  const bool plain = program.half_c == half && program.half_d == half && !program.adds_c &&
                     program.product_scale == 0 && program.kept_mask == ~0U && !program.node[0].from_zero;
  if (blocks.a_scales != nullptr) return with_count<Fixed{.scaled = true, .sparse = kSparse}>(blocks);
  if (half && plain) return with_count<Fixed{.half_nodes = true, .sparse = kSparse, .plain = true}>(blocks);
  if (half) return with_count<Fixed{.half_nodes = true, .sparse = kSparse}>(blocks);
  if (plain) return with_count<Fixed{.sparse = kSparse, .plain = true}>(blocks);
  return with_count<Fixed{.sparse = kSparse}>(blocks);
}

// These blocks and all that follow.
void fused_from(FusedBlocks& blocks) {
  while (blocks.selected != nullptr ? with_flags<true>(blocks) : with_flags<false>(blocks)) {
  }
}
void fused(const FusedBlocks& blocks) {
  FusedBlocks all = blocks;
  fused_from(all);
}

}  // namespace
}  // namespace warpbit
