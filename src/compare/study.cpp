// SPDX-License-Identifier: Apache-2.0
// Computations over several K: one reading of the inputs, one table.
#include "warpbit/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "compare/compare_inputs.hpp"
#include "compare/judge.hpp"
#include "numeric/words.hpp"
#include "text/wrapped.hpp"

namespace warpbit {
namespace {

// Rounded up to whole instructions.
Result<std::vector<std::size_t>> whole_depths(std::span<const Computation> computations,
                                              std::span<const std::size_t> depths) {
  int deepest = 1;
  for (const Computation& c : computations) deepest = std::max(deepest, c.instruction.terms());
  const auto terms = static_cast<std::size_t>(deepest);
  if (depths.empty()) return Error{Errc::usage, "depth", "no K", "one or more"};
  std::vector<std::size_t> out;
  for (const std::size_t depth : depths) {
    const std::size_t whole = (std::max<std::size_t>(depth, 1) + terms - 1) / terms * terms;
    if (!out.empty() && whole <= out.back())
      return Error{
          Errc::usage, "depth", fmt::format("a K of {} behind one of {}", whole, out.back()),
          fmt::format("numbers that ascend, also once they are rounded up to multiples of {}, the K of an "
                      "instruction",
                      terms)};
    out.push_back(whole);
  }
  return out;
}

// C is an operand of its own, or what D holds before.
void clear_c(LoadedCapture& capture) {
  if (capture.before) std::ranges::fill(capture.before->data, std::byte{0});
  for (std::size_t i = 0; i < capture.sources.size(); ++i)
    if (capture.instruction.operands()[i + 1].part == Part::c)
      std::ranges::fill(capture.sources[i].data, std::byte{0});
}

bool are_the_same(const std::vector<std::string>& list) {
  return std::ranges::adjacent_find(list, std::ranges::not_equal_to()) == list.end();
}

// Without forms, where targets and orders tell all computations apart.
std::vector<std::string> names_of(std::span<const Computation> computations) {
  std::vector<std::string> targets, orders, out;
  for (const Computation& c : computations) {
    targets.emplace_back(c.instruction.target().name());
    orders.push_back(order_text(c));
  }
  const bool same_order = are_the_same(orders), same_target = are_the_same(targets) && !same_order;
  for (std::size_t i = 0; i < targets.size(); ++i)
    out.push_back(same_target ? orders[i] : same_order ? targets[i] : targets[i] + " " + orders[i]);
  const bool distinct = std::set(out.begin(), out.end()).size() == out.size();
  return distinct ? out : distinct_names(computations);
}

// ---- Text

using Cells = std::vector<std::string>;

std::vector<Cells> rows_of(const DepthStudy& study, bool is_measured) {
  std::vector<Cells> out;
  if (is_measured)
    out.push_back({"K", "median", "99 %", "max", "bias", "correct", "computation"});
  else
    out.push_back({"K", "differs", "computation"});
  for (const Comparison& c : study.comparisons)
    for (std::size_t i = 0; i < c.results.size(); ++i) {
      const ErrorStatistics s = statistics(c.results[i]);
      Cells row = {std::to_string(c.depth)};
      if (!is_measured) row.push_back(std::to_string(c.results[i].differing));
      for (const double x : {s.p50, s.p99, s.max, s.bias})
        if (is_measured) row.push_back(s.elements == 0 ? "-" : fmt::format("{:.4g}", x));
      if (is_measured)
        row.push_back(s.elements == 0
                          ? "-"
                          : fmt::format("{:.4g} %", 100 * static_cast<double>(c.results[i].correctly_rounded) /
                                                        static_cast<double>(s.elements)));
      row.push_back(study.computations[i].name);
      out.push_back(std::move(row));
    }
  return out;
}

// The last column is on the left of its place, and broken where the line ends.
std::string table_of(const std::vector<Cells>& rows, std::size_t columns) {
  constexpr std::size_t kBlanks = 2, kLeastName = 12;
  const std::size_t last = rows[0].size() - 1;
  std::vector<std::size_t> widths(last);
  std::size_t left = 0;
  for (std::size_t i = 0; i < last; ++i) {
    for (const Cells& row : rows) widths[i] = std::max(widths[i], row[i].size());
    left += widths[i] + kBlanks;
  }
  std::string out;
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < last; ++i) out += fmt::format("{:>{}}{:{}}", row[i], widths[i], "", kBlanks);
    const std::string name = wrapped(row[last], std::max(columns, left + kLeastName) - left);
    std::size_t indent = 0;
    for (const std::string_view line : words_between(std::string_view(name).substr(0, name.size() - 1), "\n")) {
      out += fmt::format("{:{}}{}\n", "", indent, line);
      indent = left;
    }
  }
  return out;
}

// What the numbers leave out.
std::string left_out(const DepthStudy& study) {
  std::string out;
  for (const Comparison& c : study.comparisons)
    for (std::size_t i = 0; i < c.results.size(); ++i)
      if (const ComparedResults& r = c.results[i]; r.special + r.overflowed > 0)
        out += fmt::format(
            "K {}, {}: without {} elements with a NaN or Inf among the inputs and {} that overflowed\n",
            c.depth, study.computations[i].name, r.special, r.overflowed);
  return out;
}

}  // namespace

Result<DepthStudy> compare_depths(std::span<const Computation> computations, const InputChoice& choice,
                                  std::uint64_t cases, std::span<const std::size_t> depths, Shard shard,
                                  bool zero_c, const std::function<void(std::uint64_t)>& progress) {
  const Result<std::vector<std::size_t>> whole = whole_depths(computations, depths);
  if (!whole) return whole.error();
  const auto [first, own] = shard.range(cases);
  Result<std::vector<LoadedCapture>> captures =
      inputs_along_steps(computations, choice, first, own, whole->back());
  if (!captures) return captures.error();
  if (zero_c) clear_c(captures->front());
  Result<std::vector<Comparison>> found = compare_inputs(*captures, computations, *whole, {}, progress);
  if (!found) return found.error();
  for (Comparison& c : *found)
    if (c.first) c.first->index += first;
  return study_of(computations, *std::move(found));
}

DepthStudy study_of(std::span<const Computation> computations, std::vector<Comparison> comparisons) {
  const std::vector<std::string> names = names_of(computations);
  DepthStudy out;
  for (std::size_t i = 0; i < computations.size(); ++i) {
    const Instruction& instruction = computations[i].instruction;
    out.computations.push_back({names[i], std::string(instruction.canonical()),
                                std::string(instruction.target().name()), order_text(computations[i]),
                                instruction.plan(), mark(instruction)});
  }
  out.comparisons = std::move(comparisons);
  return out;
}

std::string text(const DepthStudy& study, int columns) {
  const auto width = static_cast<std::size_t>(std::max(columns, 60));
  const Comparison& first = study.comparisons.front();
  const bool is_measured = has_errors(study);
  std::string out = wrapped(is_measured ? fmt::format("error: {}; {} elements for each K",
                                                      error_definition(first.format), first.elements)
                                        : fmt::format("elements that are not those of {}, of {} for each K",
                                                      study.computations[0].name, first.elements),
                            width);
  out += table_of(rows_of(study, is_measured), width);
  const std::string without = left_out(study);
  for (const std::string_view line : words_between(without, "\n"))
    if (!line.empty()) out += wrapped(line, width);
  out += "\n";
  for (const std::string& line : forms_of(study)) out += wrapped(line, width);
  return out;
}

std::vector<std::string> forms_of(const DepthStudy& study) {
  std::vector<std::string> out;
  for (const StudiedComputation& c : study.computations) {
    std::string line = fmt::format("{} on {}: {}{}", c.form, c.target, c.plan,
                                   c.mark.empty() ? "" : fmt::format(" ({})", c.mark));
    if (std::ranges::find(out, line) == out.end()) out.push_back(std::move(line));
  }
  return out;
}

}  // namespace warpbit
