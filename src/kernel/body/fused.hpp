// SPDX-License-Identifier: Apache-2.0
// Blocks: all nodes (node.hpp) and steps of each, their C and D; and again by any.hpp what is left to it.
#pragma once

#include "kernel/body.hpp"
#include "kernel/body/any.hpp"
#include "kernel/body/codes.hpp"
#include "kernel/body/node.hpp"
#include "kernel/body/vectors.hpp"

namespace warpbit {
namespace {

constexpr int kRowsAtOnce = AnyPanels::kRows;

// ---- All nodes of a part of a block

// Rounds a sum to nearest: the lowest of its 24 bits stands for those that were cut. A zero is +0.
inline U16 to_half(const NodeOutput& node) {
  const F32 odd = bits<F32>(bits<I32>(node.sum) | (node.inexact & 1));
  const U16 codes = narrow_to_half(odd);
  return (codes & 0x7FFF) == 0 ? U16{} : codes;
}

// PartRegisters of a block, at one of its steps.
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

// Whether C and D may lie in registers of warps.
constexpr bool takes_registers(Fixed fixed) {
  return fixed.single && !fixed.half_nodes && !fixed.scaled && !fixed.sparse;
}
// Whether they may lie in rows of a matrix.
constexpr bool takes_rows(Fixed fixed) {
  return fixed.single && !fixed.half_nodes && !fixed.sparse;
}
constexpr int first_lane_of(PartPlace at) {
  return 4 * (at.row % 8) + at.lane / 4;
}

template <Fixed kFixed>
struct StepResult {
  Codes<kFixed> d;
  I32 suspicious;
};

// C's codes.
template <Fixed kFixed>
inline __attribute__((always_inline)) Codes<kFixed> load_c(const FusedBlocks& blocks,
                                                           const FusedProgram& program, PartPlace at) {
  if constexpr (takes_registers(kFixed))
    if (blocks.c.registers != nullptr)
      return load_part(blocks.c.registers_of(at.row, at.column, blocks.columns), first_lane_of(at));
  if constexpr (takes_rows(kFixed))
    if (blocks.c.rows != nullptr)
      return load_rows(blocks.c.row_of(at.row, at.column, at.lane), blocks.c.row_bytes);
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
                                                              PartPlace at, Codes<kFixed> c_codes) {
  StepResult<kFixed> out{};
  const RunningPart c = running_part<kFixed>(program, c_codes);
  if (!kFixed.plain && program.adds_c) out.suspicious = (kMax << kFraction) - c.exponent;
  NodeInputs<Exponent> in{};
  if constexpr (kFixed.scaled) {
    const PartScales scales = scales_of_part(blocks, at.row, at.column, at.lane);
    in.scale = scales.a + scales.b;
  }
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
    const NodeOutput sum = node<kFixed>(program, bounds, in, from_zero ? RunningPart{} : running);
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
    const StepResult<kFixed> result = part<kFixed>(blocks, program, bounds, held, at, codes);
    suspicious |= result.suspicious;
    codes = result.d;
  } while (!kFixed.single && ++at.step < blocks.steps);
  return codes;
}

// Of some rows of one column of blocks those that are chosen, by any.hpp.
template <Fixed kFixed, class Chosen>
__attribute__((noinline)) void chosen_rows(FusedBlocks& blocks, int first, int last, int column,
                                           Chosen is_chosen, AnyPanels& panels, Codes<kFixed>* d) {
  constexpr int kParts = kBlock / kLanes;
  if (blocks.a_codes == nullptr) {
    blocks.find_codes(blocks);
    panels.a_codes = nullptr;
  }
  std::uint32_t codes[kRowsAtOnce * kBlock];
  for (int begin = first, end; begin < last; begin = end) {
    end = begin + 1;
    if (!is_chosen(begin)) continue;
    while (end < last && is_chosen(end)) ++end;
    std::uint32_t* to = codes;
    for (int row = begin; row < end; ++row)
      for (int lane = 0; lane < kBlock; lane += kLanes, to += kLanes)
        store(to, as_words(load_c<kFixed>(blocks, *blocks.program, {row, column, lane})));
    any_rows<kFixed.sparse>(blocks, begin, end, column, panels, codes);
    for (int i = 0; i < kParts * (end - begin); ++i) {
      const auto word = load<U32>(codes + kLanes * i);
      if constexpr (has_halves(kFixed))
        d[kParts * (begin - first) + i] = as_halves(word);
      else
        d[kParts * (begin - first) + i] = word;
    }
  }
}

// Whether rows are worth a try: where those before were suspicious, these probably are. Twice as many are given to any.hpp
// at once after each try in vain, up to 255: on some processors a product that underflows takes a hundred times as long.
class Tries {
 public:
  bool skips() { return left_ > 0 && left_-- > 0; }
  void tried(bool in_vain) {
    next_ = in_vain ? (next_ < 255 ? 2 * next_ + 1 : 255) : 0;
    left_ = next_;
  }

 private:
  int next_ = 0, left_ = 0;
};

// Some rows of one column of blocks: all are computed before one is stored, since D may be C, and again if a
// lane of one is suspicious.
template <Fixed kFixed, class Exponent>
inline void some_rows(FusedBlocks& given, const FusedBlocks& blocks, const FusedProgram& program, Bounds bounds,
                      int first, int last, int column, Tries& tries, AnyPanels& panels) {
  Codes<kFixed> d[kRowsAtOnce * 16 / kLanes];
  Codes<kFixed>* to = d;
  const bool marked = blocks.has_special;
  const auto is_special = [&](int row) {
    return marked && (given.a_special == nullptr || given.a_special[row] || given.b_special[column]);
  };
  bool all = tries.skips();
  if (__builtin_expect(!all, 1)) {
    const HeldColumns<kFixed, Exponent> held(blocks, program, column);
    I32 suspicious{};
    bool tried = false;
    for (int row = first; row < last; ++row) {
      if (__builtin_expect(is_special(row), 0)) {
        to += kBlock / kLanes;
        continue;
      }
      tried = true;
      for (int lane = 0; lane < kBlock; lane += kLanes)
        *to++ = all_steps<kFixed>(blocks, program, bounds, held, {row, column, lane}, suspicious);
    }
    all = negative_lanes(suspicious) != 0;
    if (tried) tries.tried(all);
  }
  if (__builtin_expect(marked || all, 0))
    chosen_rows<kFixed>(
        given, first, last, column, [&](int row) { return all || is_special(row); }, panels, d);
  to = d;
  if constexpr (takes_registers(kFixed))
    if (blocks.d.registers != nullptr) {
      for (int row = first; row < last; ++row)
        for (int lane = 0; lane < kBlock; lane += kLanes)
          store_part(blocks.d.registers_of(row, column, blocks.columns), first_lane_of({row, column, lane}),
                     *to++);
      return;
    }
  if constexpr (takes_rows(kFixed))
    if (blocks.d.rows != nullptr) {
      for (int row = first; row < last; ++row)
        for (int lane = 0; lane < kBlock; lane += kLanes)
          store_rows(blocks.d.row_of(row, column, lane), blocks.d.row_bytes, *to++);
      return;
    }
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
  Bounds out{program.exponent_bias, kMin};
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
  AnyPanels panels;
  static thread_local Tries of_thread;  // a batch comes in parts
  Tries& tries = of_thread;
  for (;;) {
    const Bounds bounds = bounds_of(given, program);
    // Rows outside: their lines of D stay in the first cache for several columns.
    for (int row = 0; row < blocks.rows; row += kRowsAtOnce)
      for (int column = 0; column < blocks.columns; ++column)
        some_rows<kFixed, Exponent>(given, blocks, program, bounds, row,
                                    row + kRowsAtOnce < blocks.rows ? row + kRowsAtOnce : blocks.rows, column,
                                    tries, panels);
    if (!kFixed.single || given.next == nullptr || !given.next(given)) return false;
    if (kind_of_exponents(given.a_top) != kind_of_exponents(blocks.a_top)) return true;
    blocks.c.base = given.c.base;
    blocks.d.base = given.d.base;
    blocks.has_special = given.has_special;
  }
}

// ---- The choice of what is fixed

// With sanitizers, where compiling takes longer than running: fixed are 8 products in two nodes, which holds_b() and sums
// without a check are for, and 16 in one; with wide exponents 8 in one.
#ifdef WARPBIT_FEW_INSTANCES
constexpr bool kFewInstances = true;
#else
constexpr bool kFewInstances = false;
#endif

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
  if constexpr (kFlags.plain && !kFewInstances) {
    if (count == 4 && nodes == 1) return with_steps<kFlags, Exponent, 4, 1>(blocks);
    if (count == 4 && nodes == 2) return with_steps<kFlags, Exponent, 4, 2>(blocks);
  }
  if constexpr (kFlags.plain)
    if (count == 8 && nodes == 1) return with_steps<kFlags, Exponent, 8, 1>(blocks);
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
  if (count == 8 && nodes == 2) return with_steps<kFlags, std::int8_t, 8, 2>(blocks);
  if (count == 16 && nodes == 1) return with_steps<kFlags, std::int8_t, 16, 1>(blocks);
  if constexpr (!kFewInstances) {
    if (count == 4 && nodes == 1) return with_steps<kFlags, std::int8_t, 4, 1>(blocks);
    if (count == 4 && nodes == 2) return with_steps<kFlags, std::int8_t, 4, 2>(blocks);
    if (count == 8 && nodes == 1) return with_steps<kFlags, std::int8_t, 8, 1>(blocks);
    if (count == 16 && nodes == 2) return with_steps<kFlags, std::int8_t, 16, 2>(blocks);
    if (count == 32 && nodes == 1) return with_steps<kFlags, std::int8_t, 32, 1>(blocks);
  }
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
