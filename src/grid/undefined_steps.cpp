// SPDX-License-Identifier: Apache-2.0
// What steps do to undefined bits. Loads, stores and matrix moves do that themselves, as they do it to values.
#include <algorithm>

#include "grid/block.hpp"
#include "grid/steps.hpp"
#include "grid/undefined.hpp"
#include "grid/undefined_bits.hpp"
#include "isa/instruction.hpp"
#include "scalar/decompress.hpp"

namespace warpbit::grid {
namespace {

LaneBits all_bits(Lanes lanes) {
  LaneBits out = {};
  for_each_lane(lanes, [&](int lane) { out[static_cast<std::size_t>(lane)] = ~std::uint64_t{0}; });
  return out;
}

Lanes lanes_with(const LaneBits& bits) {
  Lanes out = 0;
  for (int lane = 0; lane < kLanes; ++lane) out |= Lanes{bits[static_cast<std::size_t>(lane)] != 0} << lane;
  return out;
}

}  // namespace

/// The rules of a step: what it reads in its lanes, `any` being those in which something of that is undefined.
class Rules {
 public:
  Rules(Undefined& undefined, Path& path, const Step& step, Lanes lanes, Lanes any)
      : undefined_(undefined), warp_(undefined.warp_), path_(path), step_(step), lanes_(lanes), any_(any) {}

  /// All bits of all results, in the lanes that read something undefined.
  void whole() { set_all(any_); }
  void scalar();
  void logic();
  void decompress();
  void tensor();
  void elements(const Instruction& of, const ElementwiseKernel& kernel);
  // Of lanes that have met, `any` being those whose first source has undefined bits.
  void shuffle(const Met& met);
  void vote(const Met& met);
  /// All bits of all results, in the lanes whose masks have such lanes.
  void together(const Met& met) {
    Lanes out = 0;
    for_each_lane(lanes_, [&](int lane) { out |= Lanes{(mask(met, lane) & any_) != 0} << lane; });
    set_all(out);
  }

 private:
  std::uint64_t value(std::size_t i, int lane) { return warp_.read(path_, step_.place[i], lane); }
  std::uint64_t bits(const Place& place, int lane) { return undefined_.read(path_, place, lane); }
  std::uint64_t bits(std::size_t i, int lane) { return bits(step_.place[i], lane); }
  Lanes mask(const Met& met, int lane) { return static_cast<Lanes>(value(3, lane)) & met.lanes; }
  Lanes undefined_of(std::size_t i) {
    return step_.place[i].exists() ? undefined_.lanes_of(path_, step_.place[i], lanes_) : 0;
  }
  void set(const Place& place, const LaneBits& bits, const LaneBits& unknown = {}) {
    if (place.exists()) undefined_.result(path_, place, lanes_, bits, unknown);
  }
  void set_all(Lanes lanes) {
    for (const Place& place : undefined_.uses_.results) set(place, all_bits(lanes));
  }

  Undefined& undefined_;
  Warp& warp_;
  Path& path_;
  const Step& step_;
  Lanes lanes_, any_;
};

// As `steps::compute` reads its sources.
void Rules::scalar() {
  const scalar::Operation& operation = warp_.program().operations[static_cast<std::size_t>(step_.extra)];
  LaneBits result = {}, unknown = {}, second = {};
  const Place carry{Place::Kind::predicate, 1, false, static_cast<std::uint32_t>(std::max(step_.target, 0))};
  for_each_lane(any_, [&](int lane) {
    scalar::Sources sources;
    sources.predicate = operation.predicate;
    UndefinedSources undefined;
    std::array<std::size_t, 4> from = {};
    for (std::size_t i = 2; i < step_.place.size() && step_.place[i].exists(); ++i) {
      if (step_.place[i].kind == Place::Kind::predicate) {
        sources.predicate = value(i, lane) != 0;
        undefined.bits.predicate = bits(i, lane) != 0;
        continue;
      }
      const auto at = static_cast<std::size_t>(sources.count++);
      sources.value[at] = value(i, lane);
      undefined.bits.value[at] = bits(i, lane);
      undefined.unknown[at] = undefined_.unknown(path_, step_.place[i], lane);
      from[at] = i;
      int& same = undefined.same[at];
      while (step_.place[from[static_cast<std::size_t>(same)]] != step_.place[i]) ++same;
    }
    undefined.bits.count = sources.count;
    if (step_.target >= 0) {
      sources.carry = warp_.read(path_, carry, lane) != 0;
      undefined.bits.carry = bits(carry, lane) != 0;
    }
    const UndefinedResults of = undefined_bits(operation, sources, undefined);
    const scalar::Results& found = of.bits;
    const bool extends = ptx::is_signed(operation.to) && operation.function != scalar::Function::cvt_pack;
    const auto at = static_cast<std::size_t>(lane);
    result[at] = extends ? static_cast<std::uint64_t>(scalar::extend(found.value, ptx::bits(operation.to)))
                         : found.value;
    unknown[at] = of.unknown;
    second[at] = operation.carry ? found.carry : found.second;
  });
  set(step_.place[0], result, unknown);
  set(step_.place[1], second);
}

// and, or: a defined false, or true, decides.
void Rules::logic() {
  const auto holds = [&](std::size_t i) -> Lanes {
    const Place& place = step_.place[i];
    if (place.kind == Place::Kind::predicate) return warp_.holds(path_, place);
    return place.exists() && warp_.read(path_, place, 0) != 0 ? kAllLanes : 0;
  };
  const Lanes a = holds(2), b = holds(3), of_a = undefined_of(2), of_b = undefined_of(3);
  const bool is_same = step_.place[2].kind == step_.place[3].kind && step_.place[2].slot == step_.place[3].slot;
  const bool is_negated = step_.place[2].negated != step_.place[3].negated;
  const Lanes both = of_a & of_b, apart = is_same ? (is_negated ? 0 : both) : both;
  const std::array<Lanes, 4> out = {apart | (of_a & b & ~of_b) | (of_b & a & ~of_a),
                                    apart | (of_a & ~b & ~of_b) | (of_b & ~a & ~of_a),
                                    is_same ? 0 : of_a | of_b, of_a};
  set(step_.place[0], all_bits(out[static_cast<std::size_t>(step_.extra)]));
}

void Rules::shuffle(const Met& met) {
  LaneBits result = {}, unknown = {};
  const Lanes by = undefined_of(3) | undefined_of(4);
  for_each_lane(lanes_, [&](int lane) {
    const int from = steps::shuffled(static_cast<steps::Shuffle>(step_.extra), lane,
                                     static_cast<int>(value(3, lane)), static_cast<int>(value(4, lane)))
                         .lane;
    const bool open = (by >> lane & 1) != 0;
    const auto to = static_cast<std::size_t>(lane), of = static_cast<std::size_t>(from);
    result[to] = open ? ~std::uint64_t{0} : met.undefined[of];
    unknown[to] = open ? 0 : met.unknown[of];
  });
  set(step_.place[0], result, unknown);
  set(step_.place[1], all_bits(by));
}

// A lane that is defined may decide.
void Rules::vote(const Met& met) {
  const Lanes holds = lanes_with(met.value), open = any_;
  LaneBits result = {};
  for_each_lane(lanes_, [&](int lane) {
    const Lanes of = mask(met, lane), undefined = open & of;
    const bool any = (holds & ~open & of) != 0, not_all = (~holds & ~open & of) != 0;
    std::uint64_t& out = result[static_cast<std::size_t>(lane)];
    switch (static_cast<steps::Vote>(step_.extra)) {
      case steps::Vote::all: out = undefined != 0 && !not_all; break;
      case steps::Vote::any: out = undefined != 0 && !any; break;
      case steps::Vote::uniform: out = undefined != 0 && !(any && not_all); break;
      case steps::Vote::ballot: out = undefined; break;
    }
  });
  set(step_.place[0], result);
}

namespace {

/// The elements of a product that undefined bits of its operands reach: D has row i from row i of A, column j from column j
/// of B, and an element from that of C.
class Reached {
 public:
  explicit Reached(const Instruction& of)
      : rows_(of.rows()),
        columns_(of.columns()),
        row_(size(of.products() * rows_)),
        column_(size(of.products() * columns_)),
        element_(size(of.products() * rows_ * columns_)) {}

  void add(Part part, const Coordinate& at) {
    if (part == Part::a || part == Part::metadata || part == Part::scale_a)
      row_[size(at.product * rows_ + at.row)] = true;
    else if (part == Part::b || part == Part::scale_b)
      column_[size(at.product * columns_ + at.column)] = true;
    else if (part == Part::c || part == Part::d)
      element_[size((at.product * rows_ + at.row) * columns_ + at.column)] = true;
    else
      all_ = true;
  }
  bool has(const Coordinate& at) const {
    return all_ || row_[size(at.product * rows_ + at.row)] ||
           column_[size(at.product * columns_ + at.column)] ||
           element_[size((at.product * rows_ + at.row) * columns_ + at.column)];
  }

 private:
  static std::size_t size(int i) { return static_cast<std::size_t>(i); }

  int rows_, columns_;
  std::vector<bool> row_, column_, element_;
  bool all_ = false;
};

// Calls visit(register of the operand, lane, its bits, element) for the elements that the lanes hold.
template <class Visit>
void for_each_element(const warpbit::Operand& operand, int first_lane, Visit visit) {
  const Packing& packing = operand.fragment.packing();
  for (int r = 0; r < operand.registers; ++r)
    for (int lane = 0; lane < kLanes; ++lane)
      for (int slot = 0; slot < packing.per_register(); ++slot)
        if (const auto element = operand.fragment.at(first_lane + lane, r, slot))
          visit(r, lane, packing.mask() << packing.low_bit_of(slot), *element);
}

}  // namespace

// A warp of a warpgroup has rows of its own.
void Rules::tensor() {
  const Instruction& instruction = warp_.program().instructions[static_cast<std::size_t>(step_.extra)];
  if (const auto* const kernel = std::get_if<ElementwiseKernel>(&instruction.decoded().kernel))
    return elements(instruction, *kernel);
  if (!std::holds_alternative<Tile>(instruction.decoded().kernel)) {
    set_all(instruction.lanes() == 1 ? any_ : any_ != 0 ? lanes_ : 0);
    return;
  }
  const std::vector<Place>& places = warp_.program().places[static_cast<std::size_t>(step_.target)];
  const int first_lane = instruction.lanes() == kLanes ? 0 : warp_.number() % 4 * kLanes;
  bool accumulates = true;
  std::size_t at = 0;
  for (const warpbit::Operand& operand : instruction.operands()) {
    if (operand.part == Part::scale_d && places[at].exists())
      accumulates = warp_.read(path_, places[at], 0) != 0 || bits(places[at], 0) != 0;
    at += static_cast<std::size_t>(operand.registers);
  }
  Reached reached(instruction);
  at = 0;
  for (const warpbit::Operand& operand : instruction.operands()) {
    const std::size_t first = std::exchange(at, at + static_cast<std::size_t>(operand.registers));
    const bool is_matrix = operand.kind == OperandKind::vector || operand.part == Part::metadata ||
                           operand.part == Part::scale_a || operand.part == Part::scale_b;
    if (operand.is_destination() && (instruction.lanes() == kLanes || !accumulates)) continue;
    if (is_matrix)
      for_each_element(operand, first_lane,
                       [&](int r, int lane, std::uint64_t mask, const Coordinate& element) {
                         if ((bits(places[first + static_cast<std::size_t>(r)], lane) & mask) != 0)
                           reached.add(operand.part, element);
                       });
    else
      for (std::size_t r = first; r < at; ++r)
        if (undefined_.lanes_of(path_, places[r], lanes_) != 0) reached.add(operand.part, {});
  }
  const warpbit::Operand& d = *instruction.find(Part::d);
  std::vector<LaneBits> out(static_cast<std::size_t>(d.registers));
  for_each_element(d, first_lane, [&](int r, int lane, std::uint64_t mask, const Coordinate& element) {
    if (reached.has(element)) out[static_cast<std::size_t>(r)][static_cast<std::size_t>(lane)] |= mask;
  });
  for (std::size_t r = 0; r < out.size(); ++r) set(places[r], out[r]);
}

// Each element comes from one of a source; random bits and scale factors count for all.
void Rules::elements(const Instruction& of, const ElementwiseKernel& kernel) {
  const std::vector<Place>& places = warp_.program().places[static_cast<std::size_t>(step_.target)];
  std::vector<std::span<const Place>> sources;
  std::span<const Place> d;
  Lanes all = 0;
  std::size_t at = 0;
  for (const warpbit::Operand& operand : of.operands()) {
    const std::span own(places.data() + at, static_cast<std::size_t>(operand.registers));
    at += own.size();
    if (operand.part == Part::d) {
      d = own;
    } else if (operand.part == Part::source) {
      sources.push_back(own);
    } else {
      for (const Place& place : own) all |= undefined_.lanes_of(path_, place, lanes_);
    }
  }
  std::vector<LaneBits> out(d.size());
  const auto mask = [](const RegisterBits& one) { return ones(one.bits) << one.low_bit; };
  for (std::size_t i = 0; i < kernel.elements.size(); ++i) {
    const RegisterBits &from = kernel.elements[i].bits, &to = kernel.destination.places[i];
    const Place& source = sources[kernel.elements[i].operand][static_cast<std::size_t>(from.reg)];
    for_each_lane(kernel.lanes == 1 ? lanes_ : Lanes{1} << to.lane, [&](int lane) {
      const bool is_open = (bits(source, kernel.lanes == 1 ? lane : from.lane) & mask(from)) != 0;
      if (is_open || (all >> lane & 1) != 0)
        out[static_cast<std::size_t>(to.reg)][static_cast<std::size_t>(lane)] |= mask(to);
    });
  }
  for (std::size_t r = 0; r < d.size(); ++r) set(d[r], out[r]);
}

// Elements are moved; where they go, the metadata says.
void Rules::decompress() {
  const Program& program = warp_.program();
  const std::vector<Place>& places = program.places[static_cast<std::size_t>(step_.target)];
  std::vector<LaneBits> out(step_.access.count);
  for_each_lane(any_, [&](int lane) {
    auto masks = steps::compressed_vectors(program, step_, [&](const Place& at) { return bits(at, lane); });
    const bool is_known = std::ranges::count(masks.metadata, 0U) == std::ssize(masks.metadata);
    masks.metadata = steps::compressed_vectors(program, step_, [&](const Place& at) {
                       return warp_.read(path_, at, lane);
                     }).metadata;
    scalar::decompress(program.compressions[static_cast<std::size_t>(step_.extra)], masks.metadata,
                       masks.elements, masks.dense);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i][static_cast<std::size_t>(lane)] = is_known ? masks.dense[i] : ~std::uint64_t{0};
  });
  for (std::size_t i = 0; i < out.size(); ++i) set(places[i], out[i]);
}

namespace {

/// What a step does to undefined bits; others: whole.
struct StepRule {
  Run run;
  void (Rules::*rule)();
};
constexpr StepRule kStepRules[] = {
    {steps::compute, &Rules::scalar},
    {steps::logic_predicates, &Rules::logic},
    {steps::decompress, &Rules::decompress},
    {steps::tensor, &Rules::tensor},
};
struct MeetingRule {
  Run run;
  void (Rules::*rule)(const Met&);
};
constexpr MeetingRule kMeetingRules[] = {
    {steps::shuffle, &Rules::shuffle},
    {steps::vote, &Rules::vote},
    {steps::match, &Rules::together},
    {steps::reduce, &Rules::together},
};

}  // namespace

void Undefined::result(const Path& path, const Place& place, Lanes lanes, const LaneBits& bits,
                       const LaneBits& unknown) {
  if (lanes_with(bits) == 0 && lanes_of(path, place, lanes) == 0) return;
  Place absolute = place;
  absolute.slot += place.kind == Place::Kind::predicate ? path.predicates : path.frame;
  pending_.push_back({absolute, lanes, bits, unknown});
}

// A register that is moved keeps its unknown; parts of registers, and what is made of such, have new ones.
void Undefined::move_unknown(const Path& path, const Step& step, Lanes lanes) {
  const bool whole = steps::what_runs(step) == steps::move && step.place[0].bits == step.place[2].bits;
  for_each_lane(lanes, [&](int lane) {
    const std::uint64_t moved = whole ? unknown(path, step.place[2], lane) : 0;
    for (const Place& to : uses_.results)
      if (to.kind == Place::Kind::reg)
        unknown_[path.frame + to.slot][static_cast<std::size_t>(lane)] = moved != 0 ? moved : ++unknowns_;
  });
}

void Undefined::find_results(Path& path, const Step& step, Lanes lanes, Lanes any) {
  const Run run = steps::what_runs(step);
  const bool moves = run == steps::move || run == steps::move_128 || run == steps::pack || run == steps::unpack;
  if (does(warp_.program(), step) == ptx::Does::load || steps::matrix_move(warp_.program(), step) != nullptr)
    return;
  if (std::ranges::find(kMeetingRules, run, &MeetingRule::run) != std::end(kMeetingRules)) return;
  if (any == 0) {
    for (const Place& place : uses_.results) result(path, place, lanes, {});
  } else if (moves) {
    move_unknown(path, step, lanes);
    warp_.move_masks(masks_, path, step, lanes);
  } else {
    Rules rules(*this, path, step, lanes, any);
    const auto* const row = std::ranges::find(kStepRules, run, &StepRule::run);
    row == std::end(kStepRules) ? rules.whole() : (rules.*row->rule)();
  }
}

void Undefined::meet(Path& path, const Step& step, Lanes lanes, const Met& met) {
  const auto* const row = std::ranges::find(kMeetingRules, steps::what_runs(step), &MeetingRule::run);
  Rules rules(*this, path, step, lanes, lanes_with(met.undefined));
  (rules.*row->rule)(met);
  commit();
  pending_.clear();
  causes_pending_.clear();
}

}  // namespace warpbit::grid
