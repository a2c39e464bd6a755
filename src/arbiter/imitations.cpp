// SPDX-License-Identifier: Apache-2.0
// What the assembler's defects make of a statement, as PTX: `{0}` to `{4}` are its operands, `$G` is its guard.
#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>

#include "arbiter/hypotheses.hpp"

namespace warpbit::arbiter {
namespace {

struct Imitation {
  std::string_view defect;
  std::string_view text;
};
constexpr Imitation kImitations[] = {
    {"half-addend", "$Gmov.b32 {0}, {1};"},
    {"half-addend", "$Gmov.b32 {0}, {2};"},
    {"upper-half", "$G{all} $Gshl.b32 {0}, {0}, 16;"},
    {"bfe-position", "$Gmov.b32 {0}, 0xFFFFFFFF;"},
    {"bfi-length", "{{ .reg .b32 _n; and.b32 _n, {4}, 31; $Gbfi.b32 {0}, {1}, {2}, {3}, _n; }}"},
    {"funnel-clamp", "{{ .reg .b32 _n; and.b32 _n, {3}, 31; $G{words} {0}, {1}, {2}, _n; }}"},
    {"sign-byte", "$Gmov.b32 {0}, 0;"},
};

std::string filled(const Imitation& row, const Site& site) {
  const std::string all = site.with(site.operands()), words = spell(site.parts);
  fmt::dynamic_format_arg_store<fmt::format_context> with;
  for (std::size_t n = 0; n < 5; ++n) with.push_back(site.operand(n));
  with.push_back(fmt::arg("all", all.c_str()));
  with.push_back(fmt::arg("words", words.c_str()));
  return fmt::vformat(row.text, with);
}

}  // namespace

std::vector<KnownDefect> known_defects(const Code& code) {
  std::vector<KnownDefect> out;
  for (const ptx::FunctionText& function : code.module().functions)
    for (const assembler::FoundDefect& found : assembler::find_defects(function)) {
      KnownDefect one{found.defect, code.find(&function, found.statement), {}};
      for (const Imitation& row : kImitations)
        if (row.defect == found.defect->name) one.imitations.push_back(filled(row, code.site(one.site)));
      out.push_back(std::move(one));
    }
  return out;
}

std::vector<Imitated> sets_of(const std::vector<KnownDefect>& all) {
  std::vector<Imitated> out;
  const auto add = [&](const auto& is_one) {
    for (std::size_t version = 0; version < 2; ++version) {
      Imitated one;
      for (const KnownDefect& defect : all)
        if (is_one(defect) && !defect.imitations.empty())
          one.emplace_back(&defect, defect.imitations[std::min(version, defect.imitations.size() - 1)]);
      if (!one.empty() && std::ranges::find(out, one) == out.end()) out.push_back(std::move(one));
    }
  };
  add([](const KnownDefect&) { return true; });
  for (const assembler::DefectRow& row : assembler::defects())
    add([&](const KnownDefect& one) { return one.row->name == row.name; });
  for (const KnownDefect& single : all) add([&](const KnownDefect& one) { return &one == &single; });
  return out;
}

}  // namespace warpbit::arbiter
