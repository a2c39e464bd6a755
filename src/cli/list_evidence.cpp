// SPDX-License-Identifier: Apache-2.0
// warpbit list --evidence: what each form's results rest on, and the captures that show it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "cli/list_evidence.hpp"
#include "cli/table.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/replay.hpp"

namespace warpbit::cli {
namespace {

// What was recorded.
struct Recorded {
  std::uint64_t files = 0, cases = 0, elements = 0;
  std::set<std::string_view> dates, devices;

  void add(const IndexedCapture& c) {
    ++files;
    cases += c.cases;
    elements += c.elements;
    dates.insert(c.date);
    devices.insert(c.device);
  }
  void add(const Recorded& x) {
    files += x.files;
    cases += x.cases;
    elements += x.elements;
    dates.insert(x.dates.begin(), x.dates.end());
    devices.insert(x.devices.begin(), x.devices.end());
  }
  std::vector<std::string> cells() const {
    if (files == 0) return {"-", "-", "-", "-", "-"};
    const std::string days = dates.size() == 1 ? std::string(*dates.begin())
                                               : fmt::format("{} to {}", *dates.begin(), *dates.rbegin());
    return {std::to_string(files), std::to_string(cases), std::to_string(elements), days,
            fmt::format("{}", fmt::join(devices, "; "))};
  }
};
const std::vector<std::string> kRecorded = {"files", "cases", "elements", "date", "device"};

struct Known {
  const FormInfo* form;
  Target target;
  Evidence evidence;
  Recorded recorded;
};

Recorded recorded(const Instruction& form) {
  Recorded out;
  for (const IndexedCapture* c : golden_captures(form))
    if (c->source == name(CaptureSource::hardware)) out.add(*c);
  return out;
}

void append(std::vector<std::string>& row, const std::vector<std::string>& cells) {
  row.insert(row.end(), cells.begin(), cells.end());
}

Table by_form(const std::vector<Known>& all) {
  Table out{{"form", "target", "order", "F, rounding", "floor", "specials"}};
  append(out[0], kRecorded);
  for (const Known& k : all) {
    const Evidence& e = k.evidence;
    std::vector<std::string> row{k.form->canonical, std::string(k.target.name())};
    for (const Ground* ground : {&e.order, &e.window, &e.floor, &e.specials})
      row.emplace_back(name(ground->basis));
    append(row, k.recorded.cells());
    out.push_back(row);
  }
  return out;
}

// One line for each family on each target: how many of its forms rest on what.
Table by_family(const std::vector<Known>& all) {
  struct Sum {
    std::array<std::size_t, 3> by_basis{};
    std::size_t forms = 0, own = 0;
    Recorded recorded;
  };
  std::vector<std::pair<std::string_view, Target>> order;
  std::vector<Sum> sums;
  for (const Known& k : all) {
    const std::pair<std::string_view, Target> key{k.form->family, k.target};
    const auto at = std::ranges::find(order, key);
    const auto i = static_cast<std::size_t>(at - order.begin());
    if (at == order.end()) {
      order.push_back(key);
      sums.emplace_back();
    }
    Sum& sum = sums[i];
    ++sum.forms;
    ++sum.by_basis[static_cast<std::size_t>(k.evidence.overall())];
    sum.own += k.recorded.files > 0;
    sum.recorded.add(k.recorded);
  }
  Table out{{"family", "target", "forms", "captured", "published", "inferred", "with files"}};
  append(out[0], kRecorded);
  for (std::size_t i = 0; i < order.size(); ++i) {
    out.push_back({std::string(order[i].first), std::string(order[i].second.name())});
    const Sum& s = sums[i];
    for (const std::size_t n : {s.forms, s.by_basis[0], s.by_basis[1], s.by_basis[2], s.own})
      out.back().push_back(std::to_string(n));
    append(out.back(), s.recorded.cells());
  }
  return out;
}

}  // namespace

Result<bool> print_evidence(const std::function<bool(const FormInfo&, Target)>& wanted, bool form_by_form,
                            bool markdown) {
  const std::vector<FormInfo> all = forms();
  std::vector<Known> known;
  for (const FormInfo& form : all)
    for (const Target target : form.targets) {
      if (!wanted(form, target)) continue;
      const Result<Instruction> instruction = Instruction::parse(form.canonical, form.operands, target);
      if (!instruction) return instruction.error();
      known.push_back({&form, target, instruction->evidence(), recorded(*instruction)});
    }
  if (known.empty()) return false;
  print(form_by_form ? by_form(known) : by_family(known), markdown);
  return true;
}

}  // namespace warpbit::cli
