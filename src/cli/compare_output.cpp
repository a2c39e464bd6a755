// SPDX-License-Identifier: Apache-2.0
#include "cli/compare_output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "cli/help.hpp"
#include "cli/json.hpp"
#include "cli/terminal.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/format.hpp"

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
              {"order", order_text(c)},
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

// One K.
Json comparison_json(const Comparison& c) {
  Json out = {{"depth", c.depth}, {"cases", c.cases}, {"elements", c.elements}, {"format", c.format}};
  out["error"] = error_definition(c.format);
  out["computations"] = Json::array();
  for (std::size_t i = 0; i < c.results.size(); ++i) {
    Json of = {{"name", c.names[i]}};
    for (const auto& [name, number] : numbers(c.results[i])) of[name] = number;
    out["computations"].push_back(std::move(of));
  }
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
  return out;
}

}  // namespace

// ---- For a person

void print_wrapped(const std::string& sentence) {
  fmt::print("{}\n", fmt::join(broken(sentence, terminal().columns - 4), "\n    "));
}

// Where a form is not what the GPU's matrix products use.
void print_notes(const std::vector<Computation>& computations) {
  const std::vector<std::string> names = distinct_names(computations);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (const std::string text = note(computations[i].instruction); !text.empty())
      print_wrapped(fmt::format("note: {}: {}", names[i], text));
  for (const Computation& c : computations) {
    const std::optional<Instruction> used = used_by_products(c.instruction);
    if (!used || std::ranges::any_of(computations, [&](const Computation& other) {
          return other.instruction.canonical() == used->canonical();
        }))
      continue;
    const std::string command =
        fmt::format("warpbit compare {}@{} {}@{} --random ordinary", c.instruction.canonical(),
                    c.instruction.target().name(), used->canonical(), used->target().name());
    return fmt::print("{}\n", shell_lines(command, terminal().columns));
  }
}

void print_element(const ElementComparison& c, bool show) {
  const bool are_targets =
      std::ranges::all_of(c.explanations, [](const auto& e) { return e.name == e.target; });
  Table table = {{are_targets ? "target" : "computation", "result", "ulp off"}};
  for (const Explanation& e : c.explanations)
    table.push_back({e.name, code_text(e.format, e.code),
                     e.ulps ? fmt::format("{:.4g}", std::strtod(e.ulps->decimal().c_str(), nullptr)) : "-"});
  print_narrow(table);
  const auto columns = static_cast<int>(terminal().columns);
  fmt::print("{}", text(c, columns));
  if (!show) return;
  for (const Explanation& e : c.explanations) fmt::print("\n{}", text(e, columns));
}

// What was not measured, where no single element says so.
void print_marks(const std::vector<Computation>& computations) {
  const std::vector<std::string> names = distinct_names(computations);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (const std::string text = mark(computations[i].instruction); !text.empty())
      print_wrapped(fmt::format("{}: {}", names[i], text));
}

void print_comparison(const Comparison& c, const std::vector<Computation>& computations, bool show) {
  const std::vector<std::string> names = distinct_names(computations);
  const bool are_targets = names[0] == computations[0].instruction.target().name();
  Table table = {
      {are_targets ? "target" : "computation", fmt::format("differs from {}", names[0]), "by at most"}};
  for (std::size_t i = 1; i < names.size(); ++i) {
    const ComparedResults& r = c.results[i];
    table.push_back({names[i], fmt::format("{} of {} elements", r.differing, c.elements),
                     fmt::format("{} codes", r.most_codes)});
  }
  print_narrow(table);
  if (const std::string statistics = statistics_text(c, static_cast<int>(terminal().columns));
      !statistics.empty())
    fmt::print("\n{}", statistics);
  if (!c.first) {
    print_marks(computations);
    return print_notes(computations);
  }
  fmt::print("\nfirst: case {}, row {}, column {}{}\n", c.first->index, c.first->at.row, c.first->at.column,
             c.first->at.product ? fmt::format(", product {}", c.first->at.product) : "");
  print_element(c.first->comparison, show);
  print_notes(computations);
}

void print_study(const DepthStudy& study, const std::vector<Computation>& computations) {
  fmt::print("{}", text(study, static_cast<int>(terminal().columns)));
  print_notes(computations);
}

// ---- For programs

void print_json(const ElementComparison& comparison, const std::vector<Computation>& computations) {
  Json out = {{"computations", described(computations)}};
  add_element(out, comparison);
  print_json("compare", out);
}

void print_json(const DepthStudy& study, const std::vector<Computation>& computations) {
  const Json of_each = described(computations);
  if (study.comparisons.size() == 1) {
    Json out = comparison_json(study.comparisons[0]);
    for (std::size_t i = 0; i < of_each.size(); ++i) {
      Json both = of_each[i];
      both.update(out["computations"][i]);
      out["computations"][i] = both;
    }
    return print_json("compare", out);
  }
  Json out = {{"computations", of_each}, {"depths", Json::array()}};
  for (const Comparison& c : study.comparisons) out["depths"].push_back(comparison_json(c));
  print_json("compare", out);
}

void print_csv(const DepthStudy& study, const std::vector<Computation>& computations) {
  Table table = {{"name", "form", "target", "order", "depth"}};
  ComparedResults one;
  one.errors = {0};
  for (const auto& column : numbers(one)) table[0].emplace_back(column.first);
  for (const Comparison& c : study.comparisons)
    for (std::size_t i = 0; i < c.results.size(); ++i) {
      const Json of = described(computations[i], c.names[i]);
      Row& row = table.emplace_back();
      for (const char* member : {"name", "form", "target", "order"})
        row.push_back(of[member].get<std::string>());
      row.push_back(std::to_string(c.depth));
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
