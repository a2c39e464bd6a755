// SPDX-License-Identifier: Apache-2.0
// warpbit list --captures, --ptx, --probes
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "cli/list.hpp"
#include "warpbit/record.hpp"
#include "warpbit/replay.hpp"

namespace warpbit::cli {

namespace {

using nlohmann::ordered_json;

ordered_json capture_json(const IndexedCapture& c) {
  return {{"path", c.path},     {"statement", c.statement}, {"target", c.target}, {"layout", c.layout},
          {"source", c.source}, {"profile", c.profile},     {"cases", c.cases},   {"elements", c.elements},
          {"date", c.date},     {"device", c.device}};
}

// " a 0:3c00 3:bc00", of what is not 0.
std::string codes_text(std::string_view array, const std::vector<std::uint64_t>& codes) {
  std::string out;
  for (std::size_t i = 0; i < codes.size(); ++i)
    if (codes[i] != 0) out += fmt::format(" {}:{:x}", i, codes[i]);
  return out.empty() ? "" : fmt::format(" {}{}", array, out);
}

void print_probes(const Instruction& form, const Probes& found) {
  fmt::print("{}: {}\n", form.canonical(), form.plan());
  for (const Probe& p : found.probes)
    fmt::print("  {}\n   {}{}{}{} c {:x} -> d {:x}\n", p.name, codes_text("a", p.a), codes_text("b", p.b),
               codes_text("sfa", p.a_scale), codes_text("sfb", p.b_scale), p.c, p.d);
  for (const Invisible& i : found.invisible) fmt::print("  {}: invisible, {}\n", i.name, i.reason);
  for (const Invisible& i : found.unknown) fmt::print("  {}: no probe is known\n", i.name);
}

ordered_json codes_json(const std::vector<std::uint64_t>& codes) {
  ordered_json out = ordered_json::array();
  for (const std::uint64_t code : codes) out.push_back(hexadecimal(code));
  return out;
}

ordered_json probe_json(const Probe& p) {
  return {{"name", p.name},
          {"parameters", p.parameters},
          {"a", codes_json(p.a)},
          {"b", codes_json(p.b)},
          {"a_scale", codes_json(p.a_scale)},
          {"b_scale", codes_json(p.b_scale)},
          {"c", hexadecimal(p.c)},
          {"d", hexadecimal(p.d)}};
}

ordered_json probes_json(const Instruction& form, const Probes& found) {
  ordered_json probes = ordered_json::array(), invisible = ordered_json::array(),
               unknown = ordered_json::array();
  for (const Probe& p : found.probes) probes.push_back(probe_json(p));
  for (const Invisible& i : found.invisible)
    invisible.push_back({{"name", i.name}, {"parameter", i.parameter}, {"reason", i.reason}});
  for (const Invisible& i : found.unknown) unknown.push_back({{"name", i.name}, {"parameter", i.parameter}});
  return {{"form", form.canonical()}, {"target", form.target().name()}, {"plan", form.plan()},
          {"probes", probes},         {"invisible", invisible},         {"unknown", unknown}};
}

// Empty if there are none.
std::string kernels_text(const ListArguments& o) {
  std::set<std::string> sets;
  std::string out;
  for_each_wanted(o, [&](const Instruction& form) {
    for (const std::string& statement : capture_statements(form)) {
      const Instruction parsed = required(Instruction::parse(statement, form.target()));
      const std::string block = required(capture_block(parsed));
      if (sets.empty()) out += fmt::format("kernels 1\ntarget {}\n", o.target);
      if (const ProbeSet set = probe_set(parsed); sets.insert(set.name).second) out += set.text;
      out += block;
    }
  });
  return out;
}

}  // namespace

int list_captures(const ListArguments& o) {
  std::vector<IndexedCapture> found =
      required(index_captures(std::vector<std::filesystem::path>(o.captures.begin(), o.captures.end())));
  if (o.json) {
    ordered_json rows = ordered_json::array();
    for (const IndexedCapture& c : found) rows.push_back(capture_json(c));
    print_json("list", {{"captures", rows}});
    return kYes;
  }
  for (IndexedCapture& c : found)
    for (std::string* text : {&c.path, &c.statement, &c.profile, &c.date, &c.device}) *text = printable(*text);
  fmt::print("{}", index_text(found));
  return kYes;
}

int list_kernels(const ListArguments& o) {
  const std::string kernels = kernels_text(o);
  if (o.json)
    print_json("list", {{"target", o.target}, {"kernels", kernels}});
  else
    fmt::print("{}", kernels);
  return kernels.empty() ? kNo : kYes;
}

int list_probes(const ListArguments& o) {
  ordered_json rows = ordered_json::array();
  int status = kNo;
  for_each_wanted(o, [&](const Instruction& form) {
    const Result<Probes> found = probes(form);
    if (!found) return;  // not D = A B + C
    if (o.json)
      rows.push_back(probes_json(form, *found));
    else
      print_probes(form, *found);
    status = kYes;
  });
  if (o.json) print_json("list", {{"forms", rows}});
  return status;
}

}  // namespace warpbit::cli
