// SPDX-License-Identifier: Apache-2.0
#include "cli/compare_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "cli/json.hpp"
#include "cli/terminal.hpp"
#include "warpbit/explain.hpp"

namespace warpbit::cli {
namespace {

using Json = nlohmann::ordered_json;

// The numbers of a computation, in the order of columns of a table.
std::vector<std::pair<const char*, Json>> numbers(const ComparedResults& r) {
  std::vector<std::pair<const char*, Json>> out = {{"differing", r.differing},
                                                   {"most_codes", r.most_codes},
                                                   {"special", r.special},
                                                   {"overflowed", r.overflowed},
                                                   {"measured", r.errors.size()}};
  if (r.errors.empty()) return out;
  const ErrorStatistics s = statistics(r);
  const std::pair<const char*, Json> of_errors[] = {{"correctly_rounded", r.correctly_rounded},
                                                    {"bias", s.bias},
                                                    {"deviation", s.deviation},
                                                    {"mean", s.mean},
                                                    {"p50", s.p50},
                                                    {"p90", s.p90},
                                                    {"p99", s.p99},
                                                    {"p99.9", s.p999},
                                                    {"max", s.max}};
  out.insert(out.end(), std::begin(of_errors), std::end(of_errors));
  return out;
}

Json described(const Computation& c, const std::string& name) {
  Json out = {{"name", name},
              {"form", c.instruction.canonical()},
              {"target", c.instruction.target().name()},
              {"k_order", order_text(c)},
              {"plan", c.instruction.plan()}};
  if (const std::string text = mark(c.instruction); !text.empty()) out["mark"] = text;
  if (const std::string text = note(c.instruction); !text.empty()) out["note"] = text;
  return out;
}

Json described(const std::vector<Computation>& computations) {
  const std::vector<std::string> names = distinct_names(computations);
  Json out = Json::array();
  for (std::size_t i = 0; i < names.size(); ++i) out.push_back(described(computations[i], names[i]));
  return out;
}

void add_element(Json& out, const ElementComparison& c) {
  out["explanations"] = Json::array();
  for (const Explanation& e : c.explanations) out["explanations"].push_back(Json::parse(json(e)));
  out["reasons"] = c.reasons;
}

Json codes(const std::vector<std::uint64_t>& list) {
  Json out = Json::array();
  for (const std::uint64_t code : list) out.push_back(fmt::format("{:#x}", code));
  return out;
}

Json inputs_json(const ElementInputs& in) {
  Json out = {{"a", codes(in.a)}, {"b", codes(in.b)}, {"c", fmt::format("{:#x}", in.c)}};
  if (!in.a_scale.empty()) out["a_scale"] = codes(in.a_scale);
  if (!in.b_scale.empty()) out["b_scale"] = codes(in.b_scale);
  return out;
}

}  // namespace

void print_results(const ElementComparison& comparison) {
  const bool are_targets =
      std::ranges::all_of(comparison.explanations, [](const auto& e) { return e.name == e.target; });
  Table table = {{are_targets ? "target" : "computation", "result", "ulp off"}};
  for (const Explanation& e : comparison.explanations)
    table.push_back({e.name, code_text(e.format, e.code),
                     e.ulps ? fmt::format("{:.4g}", std::strtod(e.ulps->decimal().c_str(), nullptr)) : "-"});
  print_narrow(table);
  fmt::print("{}", text(comparison, static_cast<int>(terminal().columns)));
}

void print_json(const ElementComparison& comparison, const std::vector<Computation>& computations) {
  Json out = {{"computations", described(computations)}};
  add_element(out, comparison);
  print_json("compare", out);
}

void print_json(const Comparison& c, const std::vector<Computation>& computations) {
  Json out = {{"cases", c.cases}, {"elements", c.elements}, {"format", c.format}};
  out["error"] = error_definition(c.format);
  out["computations"] = described(computations);
  for (std::size_t i = 0; i < c.results.size(); ++i)
    for (const auto& [name, number] : numbers(c.results[i])) out["computations"][i][name] = number;
  out["histogram"] = Json::array();
  for (const ErrorBin& bin : histogram(c))
    out["histogram"].push_back({{"above", bin.above}, {"up_to", bin.up_to}, {"counts", bin.counts}});
  out["first"] = nullptr;
  if (c.first) {
    Json first = {{"case", c.first->index},
                  {"row", c.first->at.row},
                  {"column", c.first->at.column},
                  {"product", c.first->at.product}};
    first["inputs"] = inputs_json(c.first->inputs);
    add_element(first, c.first->comparison);
    out["first"] = first;
  }
  print_json("compare", out);
}

void print_csv(const Comparison& c, const std::vector<Computation>& computations) {
  Table table = {{"name", "form", "target", "k_order"}};
  ComparedResults one;
  one.errors = {0};
  for (const auto& column : numbers(one)) table[0].emplace_back(column.first);
  for (std::size_t i = 0; i < c.results.size(); ++i) {
    const Json of = described(computations[i], c.names[i]);
    Row& row = table.emplace_back();
    for (const char* member : {"name", "form", "target", "k_order"})
      row.push_back(of[member].get<std::string>());
    for (const auto& [name, number] : numbers(c.results[i])) row.push_back(number.dump());
    row.resize(table[0].size());
  }
  print_csv(table);
}

void print_json(const DifferenceSearch& search, const std::vector<Computation>& computations) {
  Json out = {{"computations", described(computations)},
              {"found", search.found.has_value()},
              {"equal_steps", search.equal_steps},
              {"tried", search.tried}};
  if (search.found) {
    out["inputs"] = inputs_json(search.found->inputs);
    add_element(out, search.found->comparison);
  }
  print_json("compare", out);
}

}  // namespace warpbit::cli
