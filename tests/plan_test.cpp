// SPDX-License-Identifier: Apache-2.0
// Laws of the tables of forms, plans and targets.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <set>

#include "in_turn.hpp"
#include "isa/families/tensor_product.hpp"
#include "isa/instruction.hpp"
#include "isa/since.hpp"
#include "warpbit/replay.hpp"

namespace plan_test {

using namespace warpbit;
namespace fs = std::filesystem;

// A documented form on a target that has it, with its plan there.
struct Use {
  const Family* family;
  const Form* form;
  Target target;
  std::optional<TargetPlan> plan;
};

std::vector<const Form*> documented_forms(const Family& family) {
  std::vector<const Form*> out;
  for (const Form& form : family.forms)
    if (form.undocumented.empty()) out.push_back(&form);
  return out;
}

std::vector<Use> uses() {
  std::vector<Use> out;
  const auto add = [&](const Family& family) {
    for (const Form* form : documented_forms(family))
      for (const Target target : targets_of(*form))
        out.push_back({&family, form, target, find_plan(target.row(), form->arithmetic)});
  };
  for (const Family& family : families()) add(family);
  add(chain_family());
  add(tensor_product_family());
  return out;
}

std::string title(const Use& use) {
  return fmt::format("{} on {}", use.form->canonical, use.target.name());
}

std::vector<const PlanRow*> rows_of(const TargetRow& target) {
  std::vector<const PlanRow*> out;
  for (const Block& block : target.blocks)
    for (const PlanRow& row : block.rows) out.push_back(&row);
  return out;
}

std::vector<const PlanRow*> all_rows() {
  std::set<const PlanRow*> out;
  for (const TargetRow& target : target_rows())
    for (const PlanRow* row : rows_of(target)) out.insert(row);
  return {out.begin(), out.end()};
}

std::vector<Plan> distinct_plans() {
  std::vector<Plan> out;
  for (const PlanRow* row : all_rows())
    if (std::ranges::find(out, row->plan) == out.end()) out.push_back(row->plan);
  return out;
}

std::vector<FormatId> members(FormatSet set) {
  std::vector<FormatId> out;
  for (const Format& f : formats())
    if (set.contains(f.id)) out.push_back(f.id);
  return out;
}

bool intersect(FormatSet x, FormatSet y) {
  return std::ranges::any_of(members(x), [&](FormatId id) { return y.contains(id); });
}

// The classes that a target's rows serve there, with the unit that their block gives them. A block for another
// unit gives it those of its rows that have the unit of the first.
std::vector<OperandClass> classes_of(const TargetRow& target) {
  std::vector<OperandClass> out;
  for (const Block& block : target.blocks)
    for (const PlanRow& row : block.rows) {
      if (block.unit && row.operands.unit != block.rows.front().operands.unit) continue;
      out.push_back(row.operands);
      if (block.unit) out.back().unit = *block.unit;
    }
  return out;
}

// Which types and what depth tcgen05.mma has, its instruction descriptor says, not its form (tensor_sums_test.cpp).
bool is_by_descriptor(Unit unit) {
  return unit == Unit::tcgen05 || unit == Unit::tcgen05_sp || unit == Unit::tcgen05_block_scale ||
         unit == Unit::tcgen05_sp_block_scale;
}

bool overlap(const OperandClass& x, const OperandClass& y) {
  return x.unit == y.unit && x.modifier == y.modifier && intersect(x.d, y.d) && intersect(x.a, y.a) &&
         intersect(x.b, y.b) && intersect(x.c, y.c);
}

std::vector<const Ground*> grounds(const Evidence& e) {
  return {&e.order, &e.window, &e.floor, &e.specials};
}

TEST_CASE("every documented form has a plan on each of its targets") {
  for (const Use& use : uses()) {
    INFO(title(use));
    REQUIRE(use.plan.has_value());
    const bool has_steps = use.plan->row->plan.begin() != use.plan->row->plan.end();
    const auto* tensor = std::get_if<TensorAction>(&use.form->action);
    CHECK(has_steps == (std::holds_alternative<DotProduct>(use.form->action) ||
                        (tensor != nullptr && std::holds_alternative<TensorMma>(tensor->what))));
  }
}

// Whether the target has a form of the same text.
bool has_other_operands(const Family& family, const Form& form, Target target) {
  return std::ranges::any_of(family.forms, [&](const Form& other) {
    return target.row().features.has(other.needs | other.known) && other.canonical == form.canonical;
  });
}

// not_modelled where the target would have it, else not_on_target.
TEST_CASE("a form is refused by name on every other target") {
  std::map<std::string_view, std::set<std::string_view>> not_modelled;
  for (const Family& family : families())
    for (const Form* form : documented_forms(family)) {
      const std::vector<Target> has = targets_of(*form);
      CHECK_FALSE(has.empty());
      for (const Target target : Target::all()) {
        if (std::ranges::find(has, target) != has.end()) continue;
        if (has_other_operands(family, *form, target)) continue;
        INFO(form->canonical << " on " << target.name());
        const Result<Instruction> parsed = Instruction::parse(form->canonical, target);
        REQUIRE_FALSE(parsed.ok());
        const bool would = target.row().features.has(form->needs);
        CHECK(parsed.error().code == (would ? Errc::not_modelled : Errc::not_on_target));
        CHECK(parsed.error().accepted.find(has.front().name()) != std::string::npos);
        if (would) not_modelled[family.name].insert(target.name());
      }
    }
  // How these GPUs spread the fragments of wmma is not known.
  const std::set<std::string_view> before_ampere = {"sm_70", "sm_72", "sm_75"};
  const std::map<std::string_view, std::set<std::string_view>> expected = {
      {"wmma.load", before_ampere}, {"wmma.mma", before_ampere}, {"wmma.store", before_ampere}};
  CHECK(not_modelled == expected);
}

TEST_CASE("no two rows of a target match the same class") {
  for (const TargetRow& target : target_rows()) {
    const std::vector<OperandClass> classes = classes_of(target);
    for (std::size_t i = 0; i < classes.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        INFO(target.name << ": classes " << j << " and " << i << ", unit " << name(classes[i].unit));
        CHECK_FALSE(overlap(classes[i], classes[j]));
      }
  }
}

// Targets share rows, and a base target may lack the features that some classes of a row need.
TEST_CASE("every class of every row is that of a documented form on a target with this row") {
  std::set<std::tuple<const PlanRow*, char, FormatId>> used;
  std::set<std::tuple<const PlanRow*, FormatId, FormatId>> factors;
  for (const Use& use : uses()) {
    if (!use.plan) continue;
    const Arithmetic& x = use.form->arithmetic;
    const PlanRow* row = use.plan->row;
    for (const auto& [role, id] : {std::pair('d', x.d), {'a', x.a}, {'b', x.b}, {'c', x.c}})
      used.insert({row, role, id});
    factors.insert({row, x.a, x.b});
  }
  for (const PlanRow* row : all_rows()) {
    const auto& [unit, d, a, b, c, modifier] = row->operands;
    if (unit == Unit::tcgen05 || unit == Unit::tcgen05_block_scale)
      continue;  // instruction descriptors have types
    INFO(name(unit) << ": " << describe(row->plan));
    if (is_by_descriptor(unit)) continue;
    for (const auto& [role, set] : {std::pair('d', d), {'a', a}, {'b', b}, {'c', c}})
      for (const FormatId id : members(set)) {
        INFO(role << " " << format(id).name);
        CHECK(used.contains({row, role, id}));
      }
    // Of products every pair of A and B.
    if (unit == Unit::wmma_move || unit == Unit::matrix_move || unit == Unit::cvt) continue;
    for (const FormatId left : members(a))
      for (const FormatId right : members(b)) {
        INFO(format(left).name << ", " << format(right).name);
        CHECK(factors.contains({row, left, right}));
      }
  }
}

// The kernels know no others.
TEST_CASE("no row has rules that only neighbours have") {
  for (const PlanRow* row : all_rows())
    for (const Step& step : row->plan) {
      INFO(describe(row->plan));
      if (const auto* fused = std::get_if<Fused>(&step)) CHECK(fused->rules == SumRules{});
      if (const auto* groups = std::get_if<GroupScaled>(&step)) CHECK(groups->rules == SumRules{});
      if (const auto* integers = std::get_if<IntegerSum>(&step))
        CHECK((integers->overflow == Overflow::saturate || integers->products == kWholeDepth));
      if (const auto* chain = std::get_if<FmaChain>(&step)) {
        CHECK(chain->fused == (row->operands.modifier != Modifier::separate));
        CHECK((chain->nan == NanRule::canonical || chain->nan == NanRule::first_of_b_sum_a));
      }
    }
}

TEST_CASE("evidence says where it comes from") {
  for (const Use& use : uses()) {
    if (!use.plan) continue;
    INFO(title(use));
    for (const Ground* ground : grounds(use.plan->evidence)) {
      CHECK_FALSE(ground->from.empty());
      if (ground->basis != Basis::captured) continue;
      const fs::path folder(ground->from.substr(0, ground->from.find(',')));
      INFO(folder);
      CHECK((*folder.begin() == "golden" || *folder.begin() == "golden-digests"));
      CHECK(fs::is_directory(folder));
    }
    CHECK_FALSE(use.plan->row->machine.empty());
    CHECK_FALSE(use.plan->toolkit.empty());
  }
}

// The forms of a family that whole results of a target were captured of, with the number of files; probes are
// single elements.
using Captured = std::map<const Form*, int>;
Captured captured_forms(const Family& family, Target target) {
  Captured out;
  for (const IndexedCapture& c : golden_captures()) {
    if (c.target != target.name() || c.layout == name(CaptureLayout::elements)) continue;
    INFO(c.path);
    const Result<Instruction> parsed = Instruction::parse(c.statement, target);
    REQUIRE(parsed.ok());
    if (parsed->family() == family.name) ++out[parsed->decoded().form];
  }
  return out;
}

// The qualifiers without the state space: where a matrix lies in memory changes nothing else.
std::vector<std::string> without_space(const Family& family, const Form& form) {
  std::vector<std::string> out = form.qualifiers;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (family.slots[i].what == "state space") out[i].clear();
  return out;
}

// How the operands are written: of two forms with the same qualifiers, one has A in registers.
bool same_kinds(const Form& x, const Form& y) {
  return std::ranges::equal(x.operands, y.operands, {}, &OperandSpec::kind, &OperandSpec::kind);
}

bool has_capture(const Family& family, const Form& form, const Captured& captured) {
  return std::ranges::any_of(captured, [&](const auto& entry) {
    return same_kinds(*entry.first, form) && without_space(family, *entry.first) == without_space(family, form);
  });
}

// Of a PTX version whose assembler has captured nothing yet.
bool is_later(const Family& family, const Form& form, Target target) {
  const std::vector<std::string_view> words(form.qualifiers.begin(), form.qualifiers.end());
  return since(family.opcode, words, target) > Version{9, 0};
}

TEST_CASE("what is called captured on sm_90a has a capture, and nothing else", "[once]") {
  const Target target = Target::find("sm_90a").value();
  for (const Family& family : families()) {
    const Captured captured = captured_forms(family, target);
    int forms = 0, files = 0, not_captured = 0, later = 0;
    for (const auto& [form, count] : captured) files += count;
    for (const Form* form : documented_forms(family)) {
      if (!target.row().features.has(form->needs)) continue;
      INFO(form->canonical);
      ++forms;
      const Evidence evidence = find_plan(target.row(), form->arithmetic).value().evidence;
      const bool called_captured = evidence.overall() == Basis::captured;
      CHECK(has_capture(family, *form, captured) == called_captured);
      if (called_captured) continue;
      ++not_captured;
      later += is_later(family, *form, target) ? 1 : 0;
      CHECK(std::ranges::none_of(grounds(evidence), [](auto* g) { return g->basis == Basis::captured; }));
    }
    fmt::print("{} on {}: {} documented forms, {} captures of {} forms, {} not captured\n", family.name,
               target.name(), forms, files, captured.size(), not_captured);
    const bool has_results = !std::holds_alternative<Control>(family.forms.front().action);
    CHECK(not_captured == (has_results ? later : forms));
    CHECK((forms > 0) == !(family.name.ends_with("block_scale") || family.name.starts_with("tcgen05")));
  }
}

// In units of 2^(E - F), a product is less than 4 * 2^F, C less than 2 * 2^F.
TEST_CASE("the sum of a node fits in 64 bits") {
  for (const Plan& plan : distinct_plans())
    for (const Step& step : plan) {
      const Fused* fused = std::get_if<Fused>(&step);
      if (fused == nullptr) continue;
      INFO(describe(plan));
      REQUIRE(fused->products > 0);
      REQUIRE((fused->window > 0 && fused->window < 56));
      const u128 most = (static_cast<u128>(fused->products) * 4 + 2) << fused->window;
      CHECK(static_cast<bool>(most < u128{1} << 63));
      CHECK(fused->kept_fraction_bits <= format(fused->result).fraction_bits);
      CHECK(std::has_single_bit(fused->k.period));
      CHECK((fused->k.mask != 0 && fused->k.mask >> fused->k.period == 0));
    }
}

// A group of e2m1 is a multiple of 1/4 * 2^-6 (both scales of ue4m3 with three fraction bits), cut to multiples
// of 2^(E - F), where E is at least the exponent of its scales; its factors are at most 6 and 15/8.
TEST_CASE("the sum of scaled groups fits in 64 bits") {
  int found = 0;
  for (const Use& use : uses())
    for (const Step& step : use.plan->row->plan) {
      const GroupScaled* scaled = std::get_if<GroupScaled>(&step);
      if (scaled == nullptr || is_by_descriptor(use.form->arithmetic.unit)) continue;
      INFO(title(use));
      REQUIRE((scaled->group > 0 && use.form->terms() % scaled->group == 0));
      REQUIRE((scaled->window > 8 && scaled->window < 56));
      const auto products = static_cast<u128>(use.form->terms());
      const u128 scales = 4;  // (15/8)^2 is less
      CHECK(static_cast<bool>((products * 36 * scales + 2) << scaled->window < u128{1} << 63));
      // A group lies within a block.
      const auto scale = std::ranges::find(use.form->operands, Part::scale_a, &OperandSpec::part);
      REQUIRE(scale != use.form->operands.end());
      CHECK(use.form->terms() / scale->fragment().columns() % scaled->group == 0);
      CHECK((use.form->arithmetic.a == FormatId::e2m1 && use.form->arithmetic.b == FormatId::e2m1));
      ++found;
    }
  CHECK(found > 0);
}

TEST_CASE("no form needs more than the kernel has room for") {
  for (const Family& family : families())
    for (const Form& form : family.forms) {
      INFO(form.canonical);
      CHECK(form.depth <= kMaxDepth);
      CHECK(std::ranges::count(form.operands, Part::source, &OperandSpec::part) <=
            static_cast<std::ptrdiff_t>(kMaxSources));
      for (const OperandSpec& op : form.operands) {
        CHECK(op.fragment().lanes() <= 128);
        CHECK(op.count <= 128);
      }
    }
}

TEST_CASE("a plan describes itself, and no other in the same words") {
  std::map<std::string, const Plan*> seen;
  const std::vector<Plan> plans = distinct_plans();
  for (const Plan& plan : plans) {
    const std::string words = describe(plan);
    CHECK(words.empty() == (plan.begin() == plan.end()));
    INFO(words);
    CHECK(seen.emplace(words, &plan).second);
  }
  fmt::print("{} plans\n", plans.size());
}

TEST_CASE("every instruction says what it does", "[sampled]") {
  for (const Family& family : families()) {
    std::size_t turn = 0;  // the first of each family, at least
    for (const Form* form : documented_forms(family)) {
      if (!has_turn(turn++, 0, 5)) continue;
      const Result<Instruction> parsed = Instruction::parse(form->canonical, targets_of(*form).back());
      INFO(form->canonical);
      REQUIRE(parsed.ok());
      CHECK_FALSE(parsed->plan().empty());
    }
  }
}

TEST_CASE("targets have distinct names, and an unknown one is answered with all of them") {
  std::set<std::string_view> seen;
  for (const Target target : Target::all()) {
    CHECK(seen.insert(target.name()).second);
    CHECK(Target::find(target.name()).value() == target);
  }
  const Result<Target> unknown = Target::find("sm_1");
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().code == Errc::unknown_target);
  CHECK(unknown.error().message().find("sm_1") != std::string::npos);
  for (const std::string_view name : seen) {
    CHECK(unknown.error().accepted.find(name) != std::string::npos);
    CHECK(unknown.error().message().find(name) != std::string::npos);
  }
}

}  // namespace plan_test
