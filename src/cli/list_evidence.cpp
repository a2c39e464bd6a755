// SPDX-License-Identifier: Apache-2.0
// warpbit list --evidence
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <set>

#include "cli/arguments.hpp"
#include "cli/list.hpp"
#include "warpbit/ptx.hpp"
#include "warpbit/replay.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;
using Captures = std::vector<const IndexedCapture*>;

// Those of a GPU.
Captures recorded(const Instruction& form) {
  Captures out = golden_captures(form);
  std::erase_if(out, [](const IndexedCapture* c) { return c->source != name(CaptureSource::hardware); });
  return out;
}

const Row kRecorded = {"files", "cases", "elements", "date", "device"};

struct Recorded {
  std::uint64_t cases = 0, elements = 0;
  std::set<std::string_view> dates, devices;

  explicit Recorded(const Captures& captures) {
    for (const IndexedCapture* c : captures) {
      cases += c->cases;
      elements += c->elements;
      dates.insert(c->date);
      devices.insert(c->device);
    }
  }
};

Row cells(const Captures& captures) {
  if (captures.empty()) return Row(kRecorded.size(), "-");
  const Recorded r(captures);
  const std::string_view first = *r.dates.begin(), last = *r.dates.rbegin();
  return {std::to_string(captures.size()), std::to_string(r.cases), std::to_string(r.elements),
          first == last ? std::string(first) : fmt::format("{} to {}", first, last),
          fmt::format("{}", fmt::join(r.devices, "; "))};
}

ordered_json recorded_json(const Captures& captures) {
  const Recorded r(captures);
  return {{"files", captures.size()},
          {"cases", r.cases},
          {"elements", r.elements},
          {"dates", r.dates},
          {"devices", r.devices}};
}

// Beside the families what whole kernels have, by kind (warpbit list --kernels).
void add_kinds(const ListArguments& o, Table& out, ordered_json& rows) {
  const std::vector<Target> targets = Target::all();
  const std::optional<Target> wanted = find_target(o.target);
  for (const ptx::KindEvidence& kind : ptx::evidence_table())
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const ptx::FormCounts& counts = kind.by_target[i];
      if (counts.all() == 0 || (wanted && *wanted != targets[i])) continue;
      const std::string name = fmt::format("kernels: {}", kind.kind), target(targets[i].name());
      rows.push_back({{"family", name},
                      {"target", target},
                      {"forms", counts.all()},
                      {"captured", counts.captured},
                      {"published", 0},
                      {"defined", counts.defined},
                      {"inferred", counts.inferred},
                      {"with_files", counts.captured},
                      {"recorded", recorded_json({})}});
      Row row{name, target};
      for (const std::uint64_t n :
           {counts.all(), counts.captured, std::uint64_t{0}, counts.defined, counts.inferred, counts.captured})
        row.push_back(std::to_string(n));
      out.push_back(joined(std::move(row), Row(kRecorded.size(), "-")));
    }
}

int evidence_by_form(const ListArguments& o) {
  Table out{joined({"form", "target", "order", "F, rounding", "floor", "specials"}, kRecorded)};
  ordered_json rows = ordered_json::array();
  for_each_wanted(o, [&](const Instruction& form) {
    const Evidence& e = form.evidence();
    Row row{std::string(form.canonical()), std::string(form.target().name())};
    for (const Ground* ground : {&e.order, &e.window, &e.floor, &e.specials})
      row.emplace_back(name(ground->basis));
    const Captures captures = recorded(form);
    rows.push_back({{"form", row[0]},
                    {"target", row[1]},
                    {"order", row[2]},
                    {"window", row[3]},
                    {"floor", row[4]},
                    {"specials", row[5]},
                    {"recorded", recorded_json(captures)}});
    out.push_back(joined(std::move(row), cells(captures)));
  });
  return print_listing(o, out, {{"forms", rows}});
}

// One line for each family on each target: how many of its forms rest on what. A value alone is known of floors only, and no
// form rests on these.
int evidence_by_family(const ListArguments& o) {
  struct Sum {
    std::string_view family;
    Target target;
    std::array<std::size_t, kBases.size()> by_basis = {};
    std::size_t forms = 0, own = 0;
    Captures captures = {};

    std::size_t of(Basis basis) const { return by_basis[static_cast<std::size_t>(basis)]; }
  };
  std::vector<Sum> sums;
  for_each_wanted(o, [&](const Instruction& form) {
    auto at = std::ranges::find_if(
        sums, [&](const Sum& s) { return s.family == form.family() && s.target == form.target(); });
    if (at == sums.end()) at = sums.insert(at, {form.family(), form.target()});
    const Captures captures = recorded(form);
    ++at->forms;
    ++at->by_basis[static_cast<std::size_t>(form.evidence().overall())];
    at->own += !captures.empty();
    at->captures.insert(at->captures.end(), captures.begin(), captures.end());
  });
  Table out{joined({"family", "target", "forms", "captured", "published", "defined", "inferred", "with files"},
                   kRecorded)};
  ordered_json rows = ordered_json::array();
  for (const Sum& s : sums) {
    rows.push_back({{"family", s.family},
                    {"target", s.target.name()},
                    {"forms", s.forms},
                    {"captured", s.of(Basis::captured)},
                    {"published", s.of(Basis::published)},
                    {"defined", 0},
                    {"inferred", s.of(Basis::inferred)},
                    {"with_files", s.own},
                    {"recorded", recorded_json(s.captures)}});
    Row row{std::string(s.family), std::string(s.target.name())};
    for (const std::size_t n :
         {s.forms, s.of(Basis::captured), s.of(Basis::published), std::size_t{0}, s.of(Basis::inferred), s.own})
      row.push_back(std::to_string(n));
    out.push_back(joined(std::move(row), cells(s.captures)));
  }
  if (o.pattern.empty()) add_kinds(o, out, rows);
  return print_listing(o, out, {{"families", rows}});
}

}  // namespace

int list_evidence(const ListArguments& o) {
  return o.forms ? evidence_by_form(o) : evidence_by_family(o);
}

}  // namespace warpbit::cli
