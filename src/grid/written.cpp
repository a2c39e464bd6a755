// SPDX-License-Identifier: Apache-2.0
#include "grid/written.hpp"

#include <algorithm>
#include <string>

#include "grid/reach.hpp"
#include "grid/steps.hpp"
#include "grid/warp.hpp"
#include "isa/instruction.hpp"

namespace warpbit::grid {
namespace {

void visit_as(const Place& place, char use, const VisitLanes& visit, Lanes lanes = kAllLanes) {
  if (!place.exists() || place.kind == Place::Kind::constant) return;
  visit(place, use == 'r' ? Use::result : use == 'm' ? Use::matters : Use::value, lanes);
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

// An asynchronous product reads D; with scale-d 0 that has no part in the result.
void visit_tensor(const Program& program, const Step& step, bool results, const VisitLanes& visit) {
  const Instruction& instruction = program.instructions[static_cast<std::size_t>(step.extra)];
  const std::vector<Place>& places = program.places[static_cast<std::size_t>(step.target)];
  std::size_t at = 0;
  const bool stores = !instruction.operands().empty() && !instruction.operands().front().is_destination();
  const bool moves = std::holds_alternative<std::reference_wrapper<const Move>>(instruction.decoded().kernel);
  const bool accumulates = instruction.lanes() == 4 * kLanes;
  for (const warpbit::Operand& operand : instruction.operands()) {
    const bool matters =
        operand.kind == OperandKind::address || operand.kind == OperandKind::descriptor || (stores && !moves);
    const bool is_d = operand.is_destination();
    const Lanes lanes = is_d ? kAllLanes : lanes_of(instruction, operand);
    for (int r = 0; r < operand.registers; ++r, ++at) {
      if (is_d == results) visit_as(places[at], results ? 'r' : matters ? 'm' : 'v', visit, lanes);
      if (is_d && !results && accumulates) visit_as(places[at], 'v', visit);
    }
  }
}

// By place, as the rows have it (ScalarForm::uses). What stands behind those is as the last of them: the state of
// mbarrier.pending_count, in the place of a count.
char use_of(const Step& step, std::size_t place, ptx::Does what) {
  if (place < 2) return 'r';
  if (step.form == nullptr) return what == ptx::Does::call ? 'm' : 'v';
  if (what == ptx::Does::surface_store || what == ptx::Does::surface_reduction)
    return 'm';  // handle, coordinates
  const std::string& uses = step.form->uses;
  return uses.size() == 2 ? 'v' : uses[std::min(place, uses.size() - 1)];
}

// Of the places in the list that a step's `extra` names; 0: it names none.
char use_of_list(Run run, ptx::Does what) {
  if (run == steps::fill) return 'm';
  if (run == steps::pack || what == ptx::Does::store || what == ptx::Does::surface_store ||
      what == ptx::Does::surface_reduction)
    return 'v';
  return run == steps::unpack || what == ptx::Does::load || what == ptx::Does::launch_control ||
                 what == ptx::Does::texture || what == ptx::Does::surface_load
             ? 'r'
             : 0;
}

bool is_tensor(Run run) {
  return run == steps::tensor || run == steps::control || run == steps::tensor_memory;
}

void visit_uses(const Program& program, const Step& step, const VisitLanes& visit) {
  const ptx::Does what = does(program, step);
  const Run run = steps::what_runs(step);
  const auto list = [&](std::int32_t at) -> const std::vector<Place>& {
    return program.places[static_cast<std::size_t>(at)];
  };
  // An asynchronous copy, or a change of a tensor map: all its places are in a list.
  if (run == steps::bulk || run == steps::change_map) {
    for (const Place& place : list(step.target)) visit_as(place, 'm', visit);
    return;
  }
  // Its places are in a list; those that a function for all lanes takes are the same once more.
  const bool tensor = is_tensor(run);
  const char of_list = use_of_list(run, what);
  for (const bool results : {false, true}) {
    // The carry that a sum reads.
    if (run == steps::compute && step.target >= 0 && !results)
      visit_as({Place::Kind::predicate, 1, false, static_cast<std::uint32_t>(step.target)}, 'v', visit);
    // Atomics of vectors: the old values, then the addends. Decompression: what is dense, then what is not.
    if (run == steps::atomic_vector || run == steps::decompress) {
      const std::vector<Place>& all = list(step.target);
      const char read = run == steps::decompress ? 'v' : 'm';
      for (std::size_t i = 0; i < all.size(); ++i)
        if ((i < step.access.count) == results) visit_as(all[i], results ? 'r' : read, visit);
    }
    if (tensor) visit_tensor(program, step, results, visit);
    for (std::size_t i = 0; i < step.place.size(); ++i)
      if (const char use = use_of(step, i, what); (use == 'r') == results) visit_as(step.place[i], use, visit);
    if (of_list != 0 && (of_list == 'r') == results)
      for (const Place& place : list(step.extra)) visit_as(place, of_list, visit);
  }
}

}  // namespace

void for_each_use(const Program& program, const Step& step,
                  const std::function<void(const Place&, Use)>& visit) {
  visit_uses(program, step, [&](const Place& place, Use use, Lanes) { visit(place, use); });
}

void for_each_use(const Program& program, const Step& step, const VisitLanes& visit) {
  visit_uses(program, step, visit);
}

bool writes(const Program& program, const Step& step, const Place& place) {
  bool out = false;
  for_each_use(program, step,
               [&](const Place& one, Use use) { out = out || (use == Use::result && one.is_same_as(place)); });
  return out;
}

bool is_descriptor(const Program& program, const Step& step, const Place& place) {
  if (!is_tensor(steps::what_runs(step))) return false;
  const std::vector<Place>& places = program.places[static_cast<std::size_t>(step.target)];
  std::size_t at = 0;
  for (const warpbit::Operand& operand :
       program.instructions[static_cast<std::size_t>(step.extra)].operands()) {
    const bool describes =
        operand.kind == OperandKind::descriptor || operand.part == Part::instruction_descriptor;
    for (int r = 0; r < operand.registers; ++r, ++at)
      if (describes && places[at].kind == place.kind && places[at].slot == place.slot) return true;
  }
  return false;
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

namespace {

enum class Fate : std::uint8_t { read, overwritten, kept };

Fate fate_in(const Program& program, const Step& step, const Place& predicate) {
  if (step.guard == static_cast<int>(predicate.slot)) return Fate::read;
  Fate out = Fate::kept;
  for_each_use(program, step, [&](const Place& place, Use use) {
    if (place.kind != Place::Kind::predicate || place.slot != predicate.slot || out == Fate::read) return;
    out = use != Use::result ? Fate::read : step.guard < 0 ? Fate::overwritten : out;
  });
  return out;
}

}  // namespace

bool is_read_behind(const Program& program, int step) {
  const Place& predicate = program.steps[static_cast<std::size_t>(step)].place[0];
  if (predicate.kind != Place::Kind::predicate) return false;
  std::vector<bool> seen(program.steps.size());
  std::vector<int> next;
  followers(program, step, next);
  while (!next.empty()) {
    const int at = next.back();
    next.pop_back();
    if (at >= static_cast<int>(seen.size()) || seen[static_cast<std::size_t>(at)]) continue;
    seen[static_cast<std::size_t>(at)] = true;
    const Fate fate = fate_in(program, program.steps[static_cast<std::size_t>(at)], predicate);
    if (fate == Fate::read) return true;
    if (fate == Fate::kept) followers(program, at, next);
  }
  return false;
}

// ---- Before a launch: registers that are written on every way, as bits

namespace {

/// The slots and predicates of a function that are written for sure.
using Sure = std::vector<bool>;

class Analysis {
 public:
  Analysis(const Program& program, const FunctionCode& function, int first, int last)
      : program_(program), function_(function), first_(first), in_(static_cast<std::size_t>(last - first)) {}

  std::vector<Place> run() {
    reach(first_, Sure(static_cast<std::size_t>(function_.slots + function_.predicates), false));
    while (!next_.empty()) {
      const int begin = next_.back();
      next_.pop_back();
      follow(begin);
    }
    return std::move(found_);
  }

 private:
  std::size_t index(int step) const { return static_cast<std::size_t>(step - first_); }
  std::size_t bit(const Place& place) const {
    return place.slot + (place.kind == Place::Kind::predicate ? static_cast<std::size_t>(function_.slots) : 0);
  }
  void read(const Place& place, const Sure& sure) {
    const auto is_same = [&](const Place& one) { return one.kind == place.kind && one.slot == place.slot; };
    if (!sure[bit(place)] && std::ranges::none_of(found_, is_same)) found_.push_back(place);
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
      if (s.guard >= 0) read({Place::Kind::predicate, 1, false, static_cast<std::uint32_t>(s.guard)}, sure);
      for_each_use(program_, s, [&](const Place& place, Use use) {
        if (use == Use::value || use == Use::matters)
          read(place, sure);
        else if (use == Use::result && s.guard < 0)
          sure[bit(place)] = true;
      });
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
  std::vector<Place> found_;
};

}  // namespace

std::vector<Place> find_unwritten(const Program& program, const FunctionCode& function, int first, int last) {
  return Analysis(program, function, first, last).run();
}

}  // namespace warpbit::grid
