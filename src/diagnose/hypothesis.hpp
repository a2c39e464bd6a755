// SPDX-License-Identifier: Apache-2.0
// What a hypothesis about a wrong kernel is, and what it works on: the inputs that the kernel had in truth, and
// what it then made of D.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "diagnose/product.hpp"
#include "warpbit/result.hpp"

namespace warpbit::diagnosis {

// ---- Fragments

/// From where each element of an operand is read, the same in every case: an index of a slot for each slot, in
/// the order (lane, register, slot). With the number of slots added n times, it is the slot of the n-th case
/// after this one.
using SlotMap = std::vector<std::int32_t>;
inline constexpr std::int32_t kElsewhere = -1;  ///< from outside what the file knows
inline constexpr std::int32_t kZero = -2;       ///< nowhere: it is 0

/// An element of a fragment, as a kernel counts it.
struct Index {
  int lane, reg, slot;
  int operator[](int which) const { return which == 0 ? lane : which == 1 ? reg : slot; }
};

/// A, B, C or D in registers, its elements numbered by slots. The operand must outlive it.
class Fragment {
 public:
  Fragment(Part part, const Operand& op, int lanes);

  Part part() const { return part_; }
  const Operand& op() const { return *op_; }
  /// False of the tile of a factor in shared memory: its lanes are lines, its registers elements of them.
  bool is_in_registers() const { return op_->kind != OperandKind::descriptor; }
  int lanes() const { return lanes_; }
  int registers() const { return op_->registers; }
  int per_register() const { return packing().per_register(); }
  const Packing& packing() const { return op_->fragment.packing(); }
  std::size_t size() const { return coordinates_.size(); }
  Index counts() const { return {lanes_, registers(), per_register()}; }
  char letter() const { return "DABC"[static_cast<int>(part_)]; }
  std::string role() const { return {"dabc"[static_cast<int>(part_)]}; }

  Index index(std::size_t slot) const {
    const int i = static_cast<int>(slot), item = i / per_register();
    return {item / registers(), item % registers(), i % per_register()};
  }
  const Coordinate& at(std::size_t slot) const { return coordinates_[slot]; }
  const Coordinate& at(const Index& i) const { return at(static_cast<std::size_t>(slot_at(i))); }

  std::int32_t slot_at(std::int32_t slot) const { return slot; }
  std::int32_t slot_at(const Index& i) const {
    return (i.lane * registers() + i.reg) * per_register() + i.slot;
  }
  /// The slot that holds an element, kElsewhere if the tile has none such.
  std::int32_t slot_at(const Coordinate& c) const;
  /// The same where a matrix lies tightly in memory and an index beyond the end of a line is the next line's;
  /// with `tiles`, what is beyond the end of the tile is the next case's.
  std::int32_t slot_at_address(int address, int product, bool tiles = false) const;
  /// The same of an element beyond one edge of the tile, which is the next case's.
  std::int32_t slot_in_next(const Coordinate& c) const;

  /// A line is what is contiguous in memory: a row, of B a column.
  bool lines_first() const { return part_ != Part::b; }
  int line() const { return lines_first() ? op_->fragment.columns() : op_->fragment.rows(); }
  int lines() const { return lines_first() ? op_->fragment.rows() : op_->fragment.columns(); }
  int outer(const Coordinate& c) const { return lines_first() ? c.row : c.column; }
  int inner(const Coordinate& c) const { return lines_first() ? c.column : c.row; }

 private:
  std::size_t linear(const Coordinate& c) const;
  std::int32_t slot_in_tile(std::int32_t slot, int tile) const {
    return slot + tile * static_cast<std::int32_t>(size());
  }
  Part part_;
  const Operand* op_;
  int lanes_;
  std::vector<std::int32_t> slots_;      // by product, row and column
  std::vector<Coordinate> coordinates_;  // by slot
};

/// Those of A, B and C that a capture has in registers, and D; of matrices all.
std::vector<Fragment> fragments_of(const Problem& problem);
const Fragment* find(std::span<const Fragment> fragments, Part part);

/// The operands of an instruction of matrices as their tiles have them. A factor in shared memory has a line of the matrix
/// (a row of A, a column of B) for each lane, and an element in each register.
struct TileLayout {
  std::vector<Operand> operands;
  std::vector<Fragment> fragments;  ///< of A, B, C and D
};
std::shared_ptr<const TileLayout> layout_of(const Instruction& instruction);

/// What each slot is read from: source(from, element), a slot, an Index or a Coordinate, for the Index or the
/// Coordinate of the slot. For D the inverse: what is written into each, the last one counts; unless it `reads`, too.
template <class Source>
SlotMap map_of(const Fragment& to, const Fragment& from, Source source, bool reads = false) {
  SlotMap out(to.size(), kElsewhere);
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::int32_t other = kElsewhere;
    if constexpr (std::is_invocable_v<Source, const Fragment&, const Index&>)
      other = from.slot_at(source(from, to.index(i)));
    else
      other = from.slot_at(source(from, to.at(i)));
    if (to.part() != Part::d || other == kZero || reads)
      out[i] = other;
    else if (other >= 0 && other < static_cast<std::int32_t>(to.size()))
      out[static_cast<std::size_t>(other)] = static_cast<std::int32_t>(i);
  }
  return out;
}

/// Reads each element of an operand from where the map says. Bits outside elements become 0.
Array moved(const Array& array, const Fragment& from, const Fragment& to, const SlotMap& map);

// ---- Hypotheses

/// What is known about an element of D.
enum class Knowledge : std::uint8_t {
  exact,      ///< what it is
  unwritten,  ///< that the kernel does not write it: it is 0, or what was there before
  nothing,
};

/// The inputs of the kernel, and for each slot of D in each case whether they say all about it.
struct Trial {
  Problem capture;
  std::vector<Knowledge> known;
};

/// Elements of an operand come from elsewhere.
struct SlotMove {
  Part to, from;  ///< the same but for A and B exchanged
  SlotMap map;
};

/// One mistake: its words, and what it changes.
struct Hypothesis {
  std::string kind, operand, mistake, hint;
  int cost = 1;             ///< of two that explain the same, the one that costs less comes first
  bool pairs = false;       ///< common enough to be tried together with another
  bool neighbours = false;  ///< it takes something from another case
  bool consistent = false;  ///< it does not count if anything contradicts it
  std::vector<SlotMove> moves = {};
  std::function<void(Trial&)> inputs = {};
  /// Instead of one execution; what it returns has gone through `inputs`.
  std::function<Result<Array>(const Problem& inputs)> execution = {};
  /// What it makes of the right D.
  std::function<void(const Problem&, const Fragment& d, Array&, std::vector<Knowledge>&)> results = {};

  bool is_of_results() const { return results || (moves.size() == 1 && moves[0].to == Part::d); }
};

/// What the kernel had, and what is known of D then.
void change_inputs(const Hypothesis& h, std::span<const Fragment> fragments, Trial& trial);
/// What it made of D.
void change_results(const Hypothesis& h, std::span<const Fragment> fragments, Trial& trial, Array& d);

/// The registers of a part in a capture, or the descriptors; of matrices the tiles. nullptr if it has none there.
const Array* array_of(const Problem& capture, Part part, bool descriptors = false);
Array* array_of(Problem& capture, Part part, bool descriptors = false);

/// Changes each item.
template <class Change>
void change(Array& array, Change change) {
  for (std::uint64_t i = 0, n = array.header.items(); i < n; ++i) array.set(i, change(array.at(i)));
}

/// An order of the lanes of a warp that is not theirs.
struct LaneOrder {
  std::string_view text;
  int (*lane)(int);  ///< from which lane, both below 32
};
inline constexpr LaneOrder kLaneOrders[] = {
    {"row from lane % 8 and column from lane / 8", [](int x) { return x % 8 * 4 + x / 8; }},
    {"row from lane / 4 and column from lane % 4 exchanged", [](int x) { return x % 4 * 8 + x / 4; }},
    {"lanes reversed", [](int x) { return 31 - x; }},
    {"lane off by one (lane + 1)", [](int x) { return (x + 1) % 32; }},
    {"lane off by one (lane - 1)", [](int x) { return (x + 31) % 32; }},
    {"halves of the warp exchanged", [](int x) { return x ^ 16; }},
    {"groups of four lanes rotated by one", [](int x) { return (x + 4) % 32; }},
    {"groups of four lanes rotated back by one", [](int x) { return (x + 28) % 32; }},
    {"lanes rotated by one within their groups of four", [](int x) { return (x & 28) | ((x + 1) & 3); }},
    {"lanes rotated back by one within their groups of four", [](int x) { return (x & 28) | ((x + 3) & 3); }},
    {"neighbouring lanes exchanged", [](int x) { return x ^ 1; }},
    {"lanes two apart exchanged", [](int x) { return x ^ 2; }},
    {"neighbouring groups of four exchanged", [](int x) { return x ^ 4; }},
    {"groups of four, two apart, exchanged", [](int x) { return x ^ 8; }},
    {"lanes of each group of four reversed", [](int x) { return x ^ 3; }},
    {"groups of four reversed", [](int x) { return x ^ 28; }},
    {"lane from lane % 16 and lane / 16", [](int x) { return x % 16 * 2 + x / 16; }},
    {"lane from lane % 2 and lane / 2", [](int x) { return x % 2 * 16 + x / 2; }},
    {"lanes 16 to 31 have what lanes 0 to 15 have (lane % 16)", [](int x) { return x & 15; }},
    {"lanes 0 to 15 have what lanes 16 to 31 have", [](int x) { return x | 16; }},
    {"all have what lanes 0 to 7 have (lane % 8)", [](int x) { return x & 7; }},
    {"all have what lanes 0 to 3 have (lane % 4)", [](int x) { return x & 3; }},
    {"lanes 8 to 15 and 24 to 31 have what the eight before them have", [](int x) { return x & ~8; }},
    {"lanes 0 to 7 and 16 to 23 have what the eight behind them have", [](int x) { return x | 8; }},
    {"each second group of four has what the one before has", [](int x) { return x & ~4; }},
    {"each group of four has what the second of each two has", [](int x) { return x | 4; }},
    {"lanes 2 and 3 of each four have what lanes 0 and 1 have", [](int x) { return x & ~2; }},
    {"lanes 0 and 1 of each four have what lanes 2 and 3 have", [](int x) { return x | 2; }},
    {"odd lanes have what the even ones before them have", [](int x) { return x & ~1; }},
    {"even lanes have what the odd ones behind them have", [](int x) { return x | 1; }},
    {"all have what lane 0 has", [](int) { return 0; }},
};

/// Hypotheses about the registers of some operands as they are collected. They outlive whatever tries them.
struct Hypotheses {
  std::vector<Fragment> fragments;
  std::vector<int> sizes;   ///< of the product, that an author may take one for the other
  bool is_c_apart = false;  ///< C is read from elsewhere than D is in
  std::vector<Hypothesis> all = {};

  /// Precondition for the reference: it has one.
  const Fragment* find(Part part) const { return diagnosis::find(fragments, part); }
  const Fragment& fragment(Part part) const { return *find(part); }

  /// Returns it, for what it changes.
  Hypothesis& add(Hypothesis h) { return all.emplace_back(std::move(h)); }
};

/// The same about what is diagnosed, which outlives them.
struct Collection : Hypotheses {
  const Problem& capture;
  const Instruction& instruction = capture.instruction;

  explicit Collection(const Problem& problem)
      : Hypotheses{fragments_of(problem),
                   {problem.instruction.rows(), problem.instruction.columns(), problem.instruction.depth(),
                    problem.instruction.terms()},
                   !problem.before},
        capture(problem) {}

  bool has(Part part) const { return array_of(capture, part) != nullptr; }

  /// Each item of these operands is changed.
  void add_change(Hypothesis h, std::vector<Part> parts, std::function<std::uint64_t(std::uint64_t)> word,
                  bool descriptors = false) {
    add(std::move(h)).inputs = [parts = std::move(parts), word = std::move(word), descriptors](Trial& t) {
      for (const Part part : parts) change(*array_of(t.capture, part, descriptors), word);
    };
  }
};

/// Everything that may have happened to this instruction, by tables. No two have the same effect on all inputs
/// by construction alone.
void collect_places(Hypotheses& to);
void collect_products(Collection& to);
void collect_statements(Collection& to);
void collect_depth(Collection& to);
void collect_words(Collection& to);
void collect_epilogue(Collection& to);

}  // namespace warpbit::diagnosis
