// SPDX-License-Identifier: Apache-2.0
#include "warpbit/ptx.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "isa/form.hpp"
#include "isa/since.hpp"
#include "isa/statement.hpp"
#include "ptx/evidence.hpp"
#include "ptx/forms.hpp"
#include "ptx/rows/opcodes.hpp"
#include "ptx/rows/words.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit {
namespace {

using ptx::Kind, ptx::ScalarForm;

std::string targets_of(const std::vector<Target>& having) {
  const std::vector<Target> all = Target::all();
  const auto first = std::ranges::find(all, having.front());
  return std::ranges::equal(first, all.end(), having.begin(), having.end())
             ? fmt::format("{} and later", having.front().name())
             : names(having);
}

/// Rows of the same opcodes and columns: their patterns, and what their forms rest on.
struct Alike {
  explicit Alike(const ScalarForm& form) : first(&form) {}

  bool takes(const ScalarForm& form) const {
    return form.opcodes == first->opcodes && form.row->needs == first->row->needs &&
           form.row->since == first->row->since && form.row->kind == first->row->kind &&
           form.row->not_executed == first->row->not_executed;
  }

  void add(const ScalarForm& form) {
    if (std::ranges::find(patterns, form.row->pattern) == patterns.end())
      patterns.push_back(form.row->pattern);  // once, whatever the operands are
    ptx::for_each_form(form, [&](std::string_view opcode, std::span<const std::string_view> words) {
      const ptx::KindRow* const kind = ptx::kind_of(form, words);
      if (!seen.insert(spell(opcode, words)).second || kind == nullptr) return;
      recorded += ptx::recording_of(opcode, words).empty() ? 0 : 1;
      if (!kind->open.empty() && std::ranges::find(open, kind->open) == open.end()) open.push_back(kind->open);
    });
  }

  IsaRow row() const {
    const ptx::FormRow& of = *first->row;
    IsaRow out{std::string(first->chapter->name),
               fmt::format("{}", fmt::join(patterns, " ")),
               targets_of(targets_with(of.needs)),
               std::string(of.since),
               fmt::format("{} of {}", recorded, seen.size()),
               fmt::format("{}", fmt::join(open, "; "))};
    if (const std::string_view reason = ptx::why_not_executed(*first); !reason.empty())
      out.open = fmt::format("not executed: {}", reason);
    return out;
  }

  const ScalarForm* first;
  std::vector<std::string_view> patterns = {}, open = {};
  std::set<std::string> seen = {};
  std::size_t recorded = 0;
};

void add_scalar(std::vector<IsaRow>& out) {
  std::vector<Alike> alike;  // of a chapter, in the order of the first rows
  const auto finish = [&] {
    for (const Alike& one : alike) out.push_back(one.row());
    alike.clear();
  };
  for (const ScalarForm& form : ptx::scalar_forms()) {
    if (!alike.empty() && alike.front().first->chapter != form.chapter) finish();
    auto found = std::ranges::find_if(alike, [&](const Alike& one) { return one.takes(form); });
    if (found == alike.end()) found = alike.emplace(alike.end(), form);
    found->add(form);
  }
  finish();
}

// The versions of PTX in which forms of a unit came, on the first target that had them.
std::string versions_of(std::string_view unit) {
  std::set<Version> out;
  for (const Family& family : families())
    for (const Form& form : family.forms) {
      if (name(form.arithmetic.unit) != unit || !form.undocumented.empty()) continue;
      std::vector<std::string_view> words(form.qualifiers.begin(), form.qualifiers.end());
      std::erase(words, "");
      Version first = kKnownPtx;
      for (const Target target : targets_of(form))
        first = std::min(first, std::max(target.row().since, since(family.opcode, words, target)));
      out.insert(first);
    }
  std::vector<std::string> texts;
  for (const Version version : out) texts.push_back(text(version));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// By the instructions that share an arithmetic.
void add_tensor(std::vector<IsaRow>& out) {
  struct Unit {
    std::string_view name;
    std::vector<std::optional<BasisRange>> by_target;
  };
  std::vector<Unit> units;
  for (const EvidenceRow& row : evidence_table()) {
    auto unit = std::ranges::find(units, row.unit, &Unit::name);
    if (unit == units.end()) unit = units.insert(units.end(), {row.unit, row.by_target});
    for (std::size_t i = 0; i < row.by_target.size(); ++i) {
      const std::optional<BasisRange>& one = row.by_target[i];
      std::optional<BasisRange>& all = unit->by_target[i];
      if (one && (!all || one->strongest < all->strongest)) all = one;
    }
  }
  const std::vector<Target> targets = Target::all();
  for (const Unit& unit : units) {
    std::vector<Target> having, captured;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (!unit.by_target[i]) continue;
      having.push_back(targets[i]);
      if (unit.by_target[i]->strongest == Basis::captured) captured.push_back(targets[i]);
    }
    const bool is_everywhere = captured.size() == having.size();
    out.push_back({"tensor instructions", std::string(unit.name), targets_of(having), versions_of(unit.name),
                   captured.empty() ? "none" : names(captured), is_everywhere ? "" : "published or inferred"});
  }
}

}  // namespace

std::vector<IsaRow> isa_rows() {
  std::vector<IsaRow> out;
  add_scalar(out);
  add_tensor(out);
  return out;
}

std::vector<IsaSet> isa_sets() {
  std::vector<IsaSet> out;
  for (const ptx::WordSet& one : ptx::word_sets()) out.push_back({one.name, one.words});
  return out;
}

}  // namespace warpbit
