// SPDX-License-Identifier: Apache-2.0
// Laws of the tables of forms, plans and targets.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <set>

#include "isa/instruction.hpp"
#include "warpbit/capture.hpp"

namespace {

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
  for (const Family& family : families())
    for (const Form* form : documented_forms(family))
      for (const Target target : targets_of(*form))
        out.push_back({&family, form, target, find_plan(target.row(), form->arithmetic)});
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

// The classes that a target's rows serve there, with the unit that their block gives them.
std::vector<OperandClass> classes_of(const TargetRow& target) {
  std::vector<OperandClass> out;
  for (const Block& block : target.blocks)
    for (const PlanRow& row : block.rows) {
      if (block.unit && row.operands.unit != Unit::mma) continue;
      out.push_back(row.operands);
      if (block.unit) out.back().unit = *block.unit;
    }
  return out;
}

bool overlap(const OperandClass& x, const OperandClass& y) {
  return x.unit == y.unit && x.d == y.d && x.c == y.c && x.modifier == y.modifier && intersect(x.a, y.a) &&
         intersect(x.b, y.b);
}

std::vector<const Ground*> grounds(const Evidence& e) {
  return {&e.order, &e.window, &e.floor, &e.specials};
}

TEST_CASE("every documented form has a plan on each of its targets") {
  for (const Use& use : uses()) {
    INFO(title(use));
    CHECK(use.plan.has_value());
  }
}

TEST_CASE("a form is refused by name on every other target") {
  for (const Family& family : families())
    for (const Form* form : documented_forms(family)) {
      const std::vector<Target> has = targets_of(*form);
      CHECK_FALSE(has.empty());
      for (const Target target : Target::all()) {
        if (std::ranges::find(has, target) != has.end()) continue;
        INFO(form->canonical << " on " << target.name());
        const Result<Instruction> parsed = Instruction::parse(form->canonical, target);
        REQUIRE_FALSE(parsed.ok());
        CHECK(parsed.error().code == Errc::not_on_target);
        CHECK(parsed.error().accepted.find(has.front().name()) != std::string::npos);
      }
    }
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
  using Class = std::tuple<const PlanRow*, FormatId, FormatId>;
  std::set<Class> used;
  for (const Use& use : uses())
    if (use.plan) used.insert({use.plan->row, use.form->arithmetic.a, use.form->arithmetic.b});
  for (const PlanRow* row : all_rows()) {
    // A row of one type has it for both operands; one of several types has every pair.
    const std::vector<FormatId> as = members(row->operands.a), bs = members(row->operands.b);
    for (const FormatId a : as)
      for (const FormatId b : bs) {
        INFO(describe(row->plan) << " for " << format(a).name << " x " << format(b).name);
        CHECK(used.contains({row, a, b}));
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
      CHECK(*folder.begin() == "golden");
      CHECK(fs::is_directory(folder));
    }
    CHECK_FALSE(use.plan->row->machine.empty());
    CHECK_FALSE(use.plan->toolkit.empty());
  }
}

// The forms that the captures of a folder are of, with the number of files.
std::map<const Form*, int> captured_forms(const fs::path& folder, Target target) {
  std::map<const Form*, int> out;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    INFO(entry.path());
    const Result<CaptureReader> reader = CaptureReader::open(entry.path());
    REQUIRE(reader.ok());
    if (reader->header().source == CaptureSource::model) continue;
    const Result<Instruction> parsed = Instruction::parse(reader->header().statement, target);
    REQUIRE(parsed.ok());
    CHECK(reader->header().target == target.name());
    ++out[parsed->decoded().form];
  }
  return out;
}

bool differs_in_factors_only(const Form& x, const Form& y) {
  return x.rows == y.rows && x.columns == y.columns && x.depth == y.depth && x.ordered == y.ordered &&
         x.arithmetic.unit == y.arithmetic.unit && x.arithmetic.d == y.arithmetic.d &&
         x.arithmetic.c == y.arithmetic.c && x.arithmetic.modifier == y.arithmetic.modifier;
}

// Sparse mma was not captured for every pair of 8-bit and 4-bit types. What such a form computes is then known
// by a captured one of the same plan row, shape, variant and saturation.
TEST_CASE("every documented form of sm_90a has a capture, or one of its plan row has") {
  const Target target = Target::find("sm_90a").value();
  const std::map<std::string_view, int> without_capture = {{"mma", 0}, {"mma.sp", 36}};
  for (const Family& family : families()) {
    std::string folder(family.name);
    std::ranges::replace(folder, '.', '_');
    const std::map<const Form*, int> captured =
        captured_forms(fs::path("golden") / target.name() / folder, target);
    int forms = 0, files = 0, missing = 0;
    for (const auto& [form, count] : captured) files += count;
    for (const Form* form : documented_forms(family)) {
      if (!target.row().features.has(form->needs)) continue;
      INFO(form->canonical);
      ++forms;
      if (captured.contains(form)) continue;
      ++missing;
      const PlanRow* row = find_plan(target.row(), form->arithmetic).value().row;
      CHECK(std::ranges::any_of(captured, [&](const auto& entry) {
        const std::optional<TargetPlan> plan = find_plan(target.row(), entry.first->arithmetic);
        return plan && plan->row == row && differs_in_factors_only(*form, *entry.first);
      }));
    }
    fmt::print("{} on {}: {} documented forms, {} captures of {} forms, {} forms without\n", family.name,
               target.name(), forms, files, captured.size(), missing);
    CHECK(forms > 0);
    CHECK(missing == without_capture.at(family.name));
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

TEST_CASE("no form needs a larger tile than the kernel has room for") {
  for (const Family& family : families())
    for (const Form& form : family.forms) {
      INFO(form.canonical);
      CHECK(form.depth <= kMaxDepth);
      CHECK(form.products * form.rows * form.terms() <= kMaxElementsOfA);
      CHECK(form.products * form.columns * form.depth <= kMaxElementsOfB);
      for (const OperandSpec& op : form.operands) {
        CHECK(op.fragment().lanes() <= kMaxLanes);
        CHECK(op.count <= kMaxRegisters);
      }
    }
}

TEST_CASE("a plan describes itself, and no other in the same words") {
  std::map<std::string, const Plan*> seen;
  const std::vector<Plan> plans = distinct_plans();
  for (const Plan& plan : plans) {
    const std::string words = describe(plan);
    CHECK_FALSE(words.empty());
    INFO(words);
    CHECK(seen.emplace(words, &plan).second);
  }
  fmt::print("{} plans\n", plans.size());
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

}  // namespace
