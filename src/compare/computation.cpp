// SPDX-License-Identifier: Apache-2.0
// Computations in words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "explain/chain.hpp"
#include "numeric/words.hpp"
#include "text/wrapped.hpp"

namespace warpbit {
namespace {

// The words of a form that not all of the forms have, or else "no satfinite": the others' words.
std::string own_words(const std::string& form, const std::vector<std::string>& forms) {
  const auto without = [](std::string_view from, std::string_view text) {
    const std::vector<std::string_view> known = words_between(text, ".");
    std::vector<std::string_view> out = words_between(from, ".");
    std::erase_if(out, [&](auto word) { return std::ranges::find(known, word) != known.end(); });
    return out;
  };
  std::vector<std::string_view> own, missing;
  for (const std::string_view word : words_between(form, "."))
    if (!std::ranges::all_of(forms, [&](const std::string& f) { return without(word, f).empty(); }))
      own.push_back(word);
  for (const std::string& other : forms)
    if (missing.empty()) missing = without(other, form);
  if (own.empty() && missing.empty()) return form;
  return own.empty() ? fmt::format("no {}", fmt::join(missing, ".")) : fmt::format("{}", fmt::join(own, "."));
}

bool all_the_same(const std::vector<std::string>& list) {
  return std::ranges::all_of(list, [&](const std::string& x) { return x == list.front(); });
}

}  // namespace

Result<Computation> computation(const Instruction& instruction, std::string_view order, std::size_t depth) {
  Result<SumOrder> read = SumOrder::parse(order);
  if (!read) return read.error();
  Computation out{instruction, *std::move(read)};
  // Whether they form a chain is for those to say that need one: gemm has more.
  if (Result<void> checked = check_order(out, depth); !checked) return checked.error();
  // The steps one by one, if a word says it.
  std::vector<std::size_t>& steps = out.order.k_order;
  const bool ascends = std::ranges::is_sorted(steps), descends = std::ranges::is_sorted(steps, std::greater());
  if (steps.empty() || !(ascends || descends)) return out;
  out.order.descending = !ascends;
  steps.clear();
  return out;
}

std::string order_text(const Computation& c) {
  constexpr std::size_t kMost = 20;
  SumOrder rest = c.order;
  rest.k_order.clear();
  const std::string words = rest == SumOrder() ? "" : rest.text();
  if (c.order.k_order.empty()) return words.empty() ? "ascending" : words;
  const std::string steps = cut_off(fmt::format("{}", fmt::join(c.order.k_order, ":")), kMost);
  return words.empty() ? steps : fmt::format("{} {}", steps, words);
}

std::vector<std::string> distinct_names(std::span<const Computation> computations) {
  std::vector<std::string> forms, orders, targets;
  for (const Computation& c : computations) {
    forms.emplace_back(c.instruction.canonical());
    orders.push_back(order_text(c));
    targets.emplace_back(c.instruction.target().name());
  }
  const bool same_form = all_the_same(forms), same_order = all_the_same(orders),
             same_target = all_the_same(targets);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    std::string name = same_form ? "" : own_words(forms[i], forms);
    if (!same_order) name += (name.empty() ? "" : " ") + orders[i];
    if (name.empty())
      name = targets[i];
    else if (!same_target)
      name += " on " + targets[i];
    out.push_back(name);
  }
  return out;
}

}  // namespace warpbit
