// SPDX-License-Identifier: Apache-2.0
// Explanations for a person, and for a program.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "explain/words.hpp"
#include "text/wrapped.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/format.hpp"

namespace warpbit {
namespace {

constexpr std::size_t kValueWidth = 24;  // of the last column

// ---- One sum

// "13 addends are zero"; empty if none is.
std::string zeros_text(const ExplainedSum& sum) {
  const auto zeros = std::ranges::count_if(sum.addends, [](const auto& a) { return a.value.bits.empty(); });
  return zeros == 0 ? "" : fmt::format("{} {} zero", zeros, zeros == 1 ? "addend is" : "addends are");
}

// Labels, signs and bits under each other:
//
//     c             +    00110011001100110|011     0.1
//     a[0] b[0]     +  101000000000000000|         2.5
std::string table(const ExplainedSum& sum, std::size_t width) {
  const BitColumns at(sum);
  std::vector<std::pair<std::string, const ExactNumber*>> rows;  // labels and numbers
  for (const ExplainedAddend& addend : sum.addends)
    if (!addend.value.bits.empty()) rows.push_back({addend.name, &addend.value});
  const std::size_t addends = rows.size();
  rows.push_back({"sum of kept", &sum.total});
  rows.push_back({std::string(sum.format), &sum.result});
  std::size_t label = 0;
  for (const auto& row : rows) label = std::max(label, row.first.size());
  const auto kept = static_cast<std::size_t>(at.top() - at.low() + 1);
  const std::size_t used = 2 + label + 2 + 1 + kept + 1;
  const std::size_t room = width > used ? width - used : 0;
  const bool with_values = room >= kValueWidth + 2;
  const std::size_t lost =
      std::min(static_cast<std::size_t>(at.lost()), with_values ? room - kValueWidth : room);

  const auto [first, last] = at.headings(kept);
  std::string out =
      fmt::format("  {:<{}}   {}{:>{}}\n", "", label, first, last, last.empty() ? 0 : kept - first.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ExactNumber& x = *rows[i].second;
    if (i == addends) out += fmt::format("  {}\n", std::string(label + 3 + kept + 1, '-'));
    const std::string line =
        fmt::format("  {:<{}}  {}{}|{:<{}}{}", rows[i].first, label, x.negative ? '-' : '+',
                    i + 1 == rows.size() ? at.kept(x, last_bit(sum)) : at.kept(x),
                    cut_off(at.cut(x), std::max<std::size_t>(lost, 3)), lost,
                    with_values ? "  " + cut_off(short_text(x), kValueWidth - 2) : "");
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  if (const std::string zeros = zeros_text(sum); !zeros.empty()) out += "  " + zeros + "\n";
  for (const ExplainedAddend& addend : sum.addends)
    if (addend.group && !addend.group->sum.is_zero()) out += wrapped("  " + group_text(addend), width);
  return out;
}

std::string text(const ExplainedSum& sum, std::size_t width) {
  const std::string out = has_columns(sum) ? wrapped("  " + window_text(sum), width) + table(sum, width)
                                           : wrapped("  " + addition_text(sum), width);
  return out + wrapped(fmt::format("  -> {}{}", code_text(sum.format, sum.code), precision_text(sum)), width);
}

// ---- The result

nlohmann::ordered_json to_json(const ExactNumber& x) {
  return {{"decimal", x.decimal()}, {"ratio", x.ratio()}};
}
std::string hex(std::uint64_t code) {
  return fmt::format("{:#x}", code);
}

// The table above as data: what is kept and what is cut, from the column 2^top on.
nlohmann::ordered_json columns_json(const ExplainedSum& sum) {
  const BitColumns at(sum);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  const auto add = [&](std::string_view name, std::string_view is, const ExactNumber& x,
                       const std::string& kept) {
    rows.push_back(
        {{"name", name}, {"is", is}, {"sign", x.negative ? "-" : "+"}, {"kept", kept}, {"cut", at.cut(x)}});
    rows.back()["value"] = short_text(x);
  };
  for (const ExplainedAddend& addend : sum.addends)
    if (!addend.value.bits.empty()) add(addend.name, "addend", addend.value, at.kept(addend.value));
  add("sum of kept", "total", sum.total, at.kept(sum.total));
  add(sum.format, "result", sum.result, at.kept(sum.result, last_bit(sum)));
  return {{"top", at.top()}, {"low", at.low()}, {"rows", rows}};
}

// The sentences around it: which bits are kept or what is added, what comes of it, and how groups came about.
nlohmann::ordered_json sentences_json(const ExplainedSum& sum) {
  nlohmann::ordered_json out = {has_columns(sum) ? window_text(sum) : addition_text(sum)};
  for (const ExplainedAddend& addend : sum.addends)
    if (addend.group && !addend.group->sum.is_zero()) out.push_back(group_text(addend));
  if (const std::string zeros = zeros_text(sum); has_columns(sum) && !zeros.empty()) out.push_back(zeros);
  out.push_back("-> " + code_text(sum.format, sum.code) + precision_text(sum));
  return out;
}

}  // namespace

std::string text(const Explanation& e, int columns) {
  const auto width = static_cast<std::size_t>(std::max(columns, 60));
  std::string out = wrapped(fmt::format("{} on {}: {}", e.form, e.target, plan_text(e)), width);
  for (const ExplainedSum& sum : e.sums)
    out +=
        fmt::format("\n{}{}\n", sum.name, e.sums.size() > 1 ? instruction_text(e, sum) + ": " + sum.step : "") +
        text(sum, width);
  const auto row = [&](std::string_view label, const std::string& value) {
    out += cut_off(fmt::format("{:<10}{}", label, value), width) + "\n";
  };
  out += "\n";
  row("result", code_text(e.format, e.code));
  if (e.recorded)
    row("recorded", *e.recorded == e.code ? "the same" : code_text(e.format, *e.recorded) + ", which differs");
  row("exact", e.exact.decimal());
  if (!e.exact.bits.empty() && e.exact.exponent < 0) row("", "= " + e.exact.ratio());
  if (e.ulps) row("error", error_text(e));
  if (!e.note.empty()) out += "\n" + wrapped("note: " + e.note, width);
  return out;
}

std::string json(const Explanation& e) {
  using Json = nlohmann::ordered_json;
  Json out = {{"form", e.form}, {"target", e.target}, {"plan", e.plan}, {"inferred", e.inferred}};
  out["assumed"] = e.assumed;
  if (!e.note.empty()) out["note"] = e.note;
  out["sums"] = Json::array();
  for (const ExplainedSum& sum : e.sums) {
    Json of_sum = {{"name", sum.name}, {"step", sum.step}};
    if (e.instructions > 1) of_sum["instruction"] = sum.instruction;
    if (sum.window) of_sum["window"] = {{"e", sum.window->e}, {"f", sum.window->f}};
    of_sum["addends"] = Json::array();
    for (const ExplainedAddend& addend : sum.addends) {
      of_sum["addends"].push_back(
          {{"name", addend.name}, {"value", to_json(addend.value)}, {"kept", to_json(addend.kept)}});
      if (addend.group)
        of_sum["addends"].back()["group"] = {{"sum", to_json(addend.group->sum)},
                                             {"a_scale", to_json(addend.group->a_scale)},
                                             {"b_scale", to_json(addend.group->b_scale)}};
    }
    of_sum["total"] = to_json(sum.total);
    of_sum["format"] = sum.format;
    of_sum["code"] = hex(sum.code);
    of_sum["result"] = to_json(sum.result);
    if (has_columns(sum)) of_sum["columns"] = columns_json(sum);
    of_sum["sentences"] = sentences_json(sum);
    out["sums"].push_back(of_sum);
  }
  out["format"] = e.format;
  out["code"] = hex(e.code);
  out["result"] = to_json(e.result);
  if (e.recorded) out["recorded"] = hex(*e.recorded);
  out["exact"] = to_json(e.exact);
  if (e.nearest) out["nearest"] = hex(*e.nearest);
  if (e.ulps) out["ulps"] = e.ulps->decimal();
  out["sentence"] = code_text(e.format, e.code) + (e.ulps ? "; error " + error_text(e) : "");
  return out.dump(2) + "\n";
}

}  // namespace warpbit
