// SPDX-License-Identifier: Apache-2.0
#include "grid/written.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "grid/reach.hpp"
#include "grid/steps.hpp"
#include "grid/warp.hpp"

namespace warpbit::grid {
namespace {

/// The uses of a step's places by opcode: r result, v value, m matters, a any. Places that are not named are values
/// behind the two results. `list`: those of the places that `extra` counts.
struct Row {
  std::string_view opcode, places, list = {};
};
constexpr Row kRows[] = {
    {"ld", "rrm", "r"},   {"ldu", "rrm", "r"}, {"st", "rrm", "m"},
    {"atom", "rrmmm"},    {"red", "rrmmm"},    {"brx", "rrm"},
    {"call", "rrm"},      {"bar", "rrmmv"},    {"barrier", "rrmmv"},
    {"cp", "rrmmm"},      {"shfl", "rravvm"},  {"vote", "rrvm"},
    {"mbarrier", "rrmm"}, {"match", "rrvm"},   {"redux", "rrvm"},
    {"elect", "rrm"},     {"selp", "rraav"},   {"clusterlaunchcontrol", "rrv", "r"},
};

/// The lanes are those that have a part in it.
using Visit = std::function<void(const Place&, Use, Lanes)>;

void visit_as(const Place& place, char use, const Visit& visit, Lanes lanes = kAllLanes) {
  if (!place.exists() || place.kind == Place::Kind::constant) return;
  visit(place,
        use == 'r'   ? Use::result
        : use == 'm' ? Use::matters
        : use == 'a' ? Use::any
                     : Use::value,
        lanes);
}

// The lanes whose registers of a source count: those of ldmatrix and stmatrix that name a row, those that hold metadata or
// scale factors, none where registers say which these are.
Lanes lanes_of(const Instruction& instruction, const warpbit::Operand& operand) {
  const auto* const move = std::get_if<std::reference_wrapper<const Move>>(&instruction.decoded().kernel);
  if (operand.kind == OperandKind::address && move != nullptr)
    return move->get().addressing == Addressing::rows && !move->get().every_lane_valid
               ? kAllLanes >> (kLanes - move->get().lines)
               : kAllLanes;
  const bool of_a = operand.part == Part::scale_a, of_b = operand.part == Part::scale_b;
  if (!of_a && !of_b && operand.part != Part::metadata) return kAllLanes;
  if (of_a || of_b) {
    const warpbit::Operand* const selector = instruction.find(of_a ? Part::selector_a : Part::selector_b);
    if (selector != nullptr && !selector->is_all_literals()) return 0;
  }
  Lanes out = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    for (int reg = 0; reg < operand.registers; ++reg)
      for (int slot = 0; slot < operand.fragment.packing().per_register(); ++slot)
        if (operand.fragment.at(lane, reg, slot)) out |= Lanes{1} << lane;
  return out;
}

// An asynchronous product reads D: with scale-d 0 it needs no value.
void visit_tensor(const Program& program, const Step& step, bool results, const Visit& visit) {
  const Instruction& instruction = program.instructions[static_cast<std::size_t>(step.extra)];
  const std::vector<Place>& places = program.places[static_cast<std::size_t>(step.target)];
  std::size_t at = 0;
  const bool stores = !instruction.operands().empty() && !instruction.operands().front().is_destination();
  const bool accumulates = instruction.lanes() == 4 * kLanes;
  for (const warpbit::Operand& operand : instruction.operands()) {
    const bool matters =
        operand.kind == OperandKind::address || operand.kind == OperandKind::descriptor || stores;
    const bool is_d = operand.is_destination();
    const Lanes lanes = is_d ? kAllLanes : lanes_of(instruction, operand);
    for (int r = 0; r < operand.registers; ++r, ++at) {
      if (is_d == results) visit_as(places[at], results ? 'r' : matters ? 'm' : 'v', visit, lanes);
      if (is_d && !results && accumulates) visit_as(places[at], 'a', visit);
    }
  }
}

void visit_uses(const Program& program, const Step& step, const Visit& visit) {
  const std::string_view opcode = opcode_of(program, step);
  const auto found = std::ranges::find(kRows, opcode, &Row::opcode);
  // x xor x needs no value of x.
  const bool cancels = opcode == "xor" && step.place[2] == step.place[3];
  const Row row = found != std::end(kRows) ? *found : Row{opcode, cancels ? "rraa" : "rr", "v"};
  const auto places = [&](bool results) {
    for (std::size_t i = 0; i < step.place.size(); ++i) {
      const char use = i < row.places.size() ? row.places[i] : 'v';
      if ((use == 'r') == results) visit_as(step.place[i], use, visit);
    }
  };
  const Run run = steps::what_runs(step);
  // An asynchronous copy, or a change of a tensor map: all its places are in a list.
  if (run == steps::bulk || run == steps::change_map) {
    for (const Place& place : program.places[static_cast<std::size_t>(step.target)])
      visit_as(place, 'm', visit);
    return;
  }
  // Its places are in a list; those that a function for all lanes takes are the same once more.
  const bool tensor = run == steps::tensor || run == steps::control || run == steps::tensor_memory;
  // mov of a vector: to its parts, or from them.
  const bool moves = opcode == "mov" && step.extra >= 0;
  // What a thread stores for itself alone need have no value: an argument of an empty class, the rest of a union.
  const bool own = opcode == "st" && step.access.space == ptx::StateSpace::local;
  const char list = moves                                          ? (step.place[0].exists() ? 'v' : 'r')
                    : row.list.empty() || found == std::end(kRows) ? 0
                    : own                                          ? 'v'
                                                                   : row.list[0];
  const auto listed = [&](bool results) {
    if (list != 0 && (list == 'r') == results)
      for (const Place& place : program.places[static_cast<std::size_t>(step.extra)])
        visit_as(place, list, visit);
  };
  // The carry that a sum reads.
  const bool carries = opcode == "addc" || opcode == "subc" || opcode == "madc";
  // Atomics of vectors: the old values, then the addends.
  const bool vector = (opcode == "atom" || opcode == "red") && step.access.count > 1;
  const auto elements = [&](bool results) {
    const std::vector<Place>& all = program.places[static_cast<std::size_t>(step.target)];
    for (std::size_t i = 0; i < all.size(); ++i)
      if ((i < step.access.count) == results) visit_as(all[i], results ? 'r' : 'm', visit);
  };
  for (const bool results : {false, true}) {
    if (carries && !results)
      visit_as({Place::Kind::predicate, 1, false, static_cast<std::uint32_t>(step.target)}, 'v', visit);
    if (vector) elements(results);
    if (tensor) visit_tensor(program, step, results, visit);
    places(results);
    listed(results);
  }
}

}  // namespace

void for_each_use(const Program& program, const Step& step,
                  const std::function<void(const Place&, Use)>& visit) {
  visit_uses(program, step, [&](const Place& place, Use use, Lanes) { visit(place, use); });
}

const ptx::Register* find_register(const FunctionCode& function, const Place& place, int point) {
  const auto has = [&](const FunctionCode::Held& one) {
    return one.slot == place.slot && one.first <= point && point <= one.last;
  };
  if (place.kind == Place::Kind::reg)
    if (const auto found = std::ranges::find_if(function.held, has); found != function.held.end())
      return &function.registers[static_cast<std::size_t>(found->reg)];
  for (std::size_t i = 0; i < function.slot.size(); ++i) {
    const ptx::Register& one = function.registers[i];
    if (function.slot[i] == place.slot &&
        (one.type == ptx::Type::pred) == (place.kind == Place::Kind::predicate))
      return &one;
  }
  return nullptr;
}

std::string register_name(const FunctionCode& function, const Place& place, int point) {
  const ptx::Register* const found = find_register(function, place, point);
  return found == nullptr ? "a carry" : found->name;
}

// ---- Before a launch: registers that are written on every way, as bits

namespace {

/// The slots and predicates of a function that are written for sure.
using Sure = std::vector<bool>;

class Analysis {
 public:
  Analysis(const Program& program, const FunctionCode& function, int first, int last)
      : program_(program), function_(function), first_(first), in_(static_cast<std::size_t>(last - first)) {}

  bool run() {
    reach(first_, Sure(static_cast<std::size_t>(function_.slots + function_.predicates), false));
    while (!next_.empty()) {
      const int begin = next_.back();
      next_.pop_back();
      follow(begin);
    }
    return found_;
  }

 private:
  std::size_t index(int step) const { return static_cast<std::size_t>(step - first_); }
  std::size_t bit(const Place& place) const {
    return place.slot + (place.kind == Place::Kind::predicate ? static_cast<std::size_t>(function_.slots) : 0);
  }
  // Control may come to a step with these.
  void reach(int step, const Sure& sure) {
    if (index(step) >= in_.size()) return;
    Sure& in = in_[index(step)];
    if (in.empty()) {
      in = sure;
      next_.push_back(step);
      return;
    }
    bool changed = false;
    for (std::size_t i = 0; i < in.size(); ++i)
      if (in[i] && !sure[i]) in[i] = false, changed = true;
    if (changed) next_.push_back(step);
  }
  void follow(int step) {
    Sure sure = in_[index(step)];
    for (; index(step) < in_.size(); ++step) {
      const Step& s = program_.steps[static_cast<std::size_t>(step)];
      if (s.guard >= 0 && !sure[static_cast<std::size_t>(s.guard + function_.slots)]) found_ = true;
      for_each_use(program_, s, [&](const Place& place, Use use) {
        if (use == Use::value || use == Use::matters)
          found_ = found_ || !sure[bit(place)];
        else if (use == Use::result && s.guard < 0)
          sure[bit(place)] = true;
      });
      if (found_) return next_.clear();
      if (!goes_on(step, sure)) return;
      // The steps to which others jump are begun anew.
      if (index(step + 1) < in_.size() && is_target(step + 1)) return reach(step + 1, sure);
    }
  }
  // Whether the next step follows.
  bool goes_on(int step, const Sure& sure) {
    to_.clear();
    followers(program_, step, to_);
    for (const int one : to_)
      if (one != step + 1) reach(one, sure);
    return std::ranges::find(to_, step + 1) != to_.end();
  }
  bool is_target(int step) {
    if (targets_.empty()) {
      targets_.resize(in_.size());
      for (int i = first_; index(i) < in_.size(); ++i) {
        to_.clear();
        followers(program_, i, to_);
        for (const int one : to_)
          if (one != i + 1) targets_[index(one)] = true;
      }
    }
    return targets_[index(step)];
  }

  const Program& program_;
  const FunctionCode& function_;
  int first_;
  std::vector<Sure> in_;  // by step; empty: not reached yet, or not begun there
  std::vector<bool> targets_;
  std::vector<int> next_, to_;
  bool found_ = false;
};

}  // namespace

bool may_read_unwritten(const Program& program, const FunctionCode& function, int first, int last) {
  return Analysis(program, function, first, last).run();
}

// ---- During a launch

void Written::begin(const Path& path, const FunctionCode& function, Lanes lanes) {
  const auto clear = [&](std::vector<Lanes>& of, std::uint32_t first, int count) {
    const auto end = first + static_cast<std::size_t>(count);
    if (of.size() < end) of.resize(end);
    for (std::size_t i = first; i < end; ++i) of[i] &= ~lanes;
  };
  clear(slots_, path.frame, function.slots);
  for (auto it = partly_.lower_bound(path.frame);
       it != partly_.end() && it->first < path.frame + static_cast<std::size_t>(function.slots); ++it)
    for (Lanes& part : it->second) part &= ~lanes;
  clear(predicates_, path.predicates, function.predicates);
}

void Written::assume_all() {
  for (std::vector<Lanes>* const of : {&slots_, &predicates_}) std::ranges::fill(*of, kAllLanes);
}

Lanes& Written::of(const Path& path, const Place& place) {
  return place.kind == Place::Kind::predicate ? predicates_[path.predicates + place.slot]
                                              : slots_[path.frame + place.slot];
}

Written::Parts Written::parts_of(const Path& path, const Place& place) {
  const Lanes whole = of(path, place);
  Parts out = {whole, whole, whole, whole};
  if (place.kind == Place::Kind::reg && whole != kAllLanes)
    if (const auto found = partly_.find(path.frame + place.slot); found != partly_.end())
      for (std::size_t i = 0; i < out.size(); ++i) out[i] |= found->second[i];
  return out;
}

void Written::set(const Path& path, const Place& place, Lanes lanes, const Parts& known) {
  const Lanes whole = lanes & known[0] & known[1] & known[2] & known[3];
  Lanes& written = of(path, place);
  written = (written & ~lanes) | whole;
  if (place.kind != Place::Kind::reg) return;
  const std::size_t slot = path.frame + place.slot;
  const bool is_partly = (lanes & (known[0] | known[1] | known[2] | known[3])) != whole;
  const auto found = is_partly ? partly_.try_emplace(slot).first : partly_.find(slot);
  if (found == partly_.end()) return;
  for (std::size_t i = 0; i < known.size(); ++i)
    found->second[i] = (found->second[i] & ~lanes) | (lanes & known[i]);
}

namespace {

/// Calls visit(part of the register, element, part of the element) wherever they have bits in common.
///
///     elements of 8 bits    | 0 | 1 | 2 | 3 |        of 32    |       0       |       1       |
///     parts                 |   0   |   1   |                 |   0   |   1   |   2   |   3   |
template <class Visit>
void for_each_part(int bits, std::size_t elements, Visit visit) {
  const std::size_t of_element = static_cast<std::size_t>(bits) / elements;
  for (std::size_t at = 0; at < static_cast<std::size_t>(bits); at += std::min<std::size_t>(of_element, 16))
    visit(at / 16, at / of_element, at % of_element / 16);
}

/// Whether each half of the result depends on that half of the sources alone.
bool is_by_halves(const Program& program, const Step& step) {
  const std::string_view opcode = opcode_of(program, step);
  if (opcode == "cvt" || step.statement < 0) return false;
  constexpr std::array<std::string_view, 6> kBitwise = {"mov", "and", "or", "xor", "not", "lop3"};
  const Origin& origin = program.origins[static_cast<std::size_t>(step.statement)];
  const auto words = words_of(*origin.function, statement_of(origin));
  return std::ranges::find(kBitwise, opcode) != kBitwise.end() ||
         (!words.empty() && words.back().ends_with("16x2"));
}

}  // namespace

void Written::pack(const Program& program, const Path& path, const Step& step, Lanes lanes) {
  const std::vector<Place>& elements = program.places[static_cast<std::size_t>(step.extra)];
  Parts known = {lanes, lanes, lanes, lanes};
  for_each_part(step.place[0].bits, elements.size(),
                [&](std::size_t part, std::size_t element, std::size_t its) {
                  const Place& from = elements[element];
                  if (from.kind == Place::Kind::reg) known[part] &= parts_of(path, from)[its];
                });
  set(path, step.place[0], lanes, known);
}

void Written::unpack(const Program& program, const Path& path, const Step& step, Lanes lanes) {
  const std::vector<Place>& elements = program.places[static_cast<std::size_t>(step.extra)];
  const bool is_constant = step.place[2].kind != Place::Kind::reg;
  const Parts from = is_constant ? Parts{lanes, lanes, lanes, lanes} : parts_of(path, step.place[2]);
  std::vector<Parts> known(elements.size(), {lanes, lanes, lanes, lanes});
  for_each_part(
      step.place[2].bits, elements.size(),
      [&](std::size_t part, std::size_t element, std::size_t its) { known[element][its] &= from[part]; });
  for (std::size_t i = 0; i < elements.size(); ++i)
    if (elements[i].exists()) set(path, elements[i], lanes, known[i]);
}

Written::Missing Written::follow(const Program& program, const Path& path, const Step& step, Lanes lanes) {
  const Run run = steps::what_runs(step);
  if (run == steps::pack && step.place[0].bits <= 64) return pack(program, path, step, lanes), Missing{};
  if (run == steps::unpack && step.place[2].bits <= 64) return unpack(program, path, step, lanes), Missing{};
  Missing missing;
  Parts known = {lanes, lanes, lanes, lanes};  // where the results depend on nothing that was never written
  visit_uses(program, step, [&](const Place& place, Use use, Lanes counted) {
    if (use == Use::result) return set(path, place, lanes, known);
    if (use == Use::any) return;
    const Lanes without = lanes & counted & ~of(path, place);
    if (without == 0) return;
    if (use == Use::matters && missing.lanes == 0) missing = {place, without};
    const Parts parts = is_by_halves(program, step) ? parts_of(path, place) : Parts{};
    for (std::size_t i = 0; i < known.size(); ++i) known[i] &= ~(without & ~parts[i]);
  });
  return missing;
}

}  // namespace warpbit::grid
