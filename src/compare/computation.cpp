// SPDX-License-Identifier: Apache-2.0
// Computations in words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "explain/chain.hpp"
#include "numeric/words.hpp"
#include "text/wrapped.hpp"

namespace warpbit {
namespace {

constexpr std::string_view kSplit = "split_k=";

std::optional<std::size_t> whole_number(std::string_view text) {
  std::size_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

std::vector<std::size_t> descending(std::size_t steps) {
  std::vector<std::size_t> out(steps);
  std::iota(out.rbegin(), out.rend(), std::size_t{0});
  return out;
}

// "1:0:2"
std::optional<std::vector<std::size_t>> listed(std::string_view word) {
  std::vector<std::size_t> out;
  for (const std::string_view number : words_between(word, ":")) {
    const std::optional<std::size_t> step = whole_number(number);
    if (!step) return std::nullopt;
    out.push_back(*step);
  }
  return out;
}

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

Result<Computation> computation(const Instruction& instruction, std::string_view k_order, std::size_t depth) {
  Computation out{instruction};
  const auto terms = static_cast<std::size_t>(instruction.terms());
  const std::size_t steps = terms == 0 ? 0 : (depth + terms - 1) / terms;
  const std::vector<std::string_view> words = words_between(k_order, "+");
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const bool is_last = i + 1 == words.size(), is_first = i == 0;
    std::optional<std::size_t> split;
    std::optional<std::vector<std::size_t>> order;
    if (word.starts_with(kSplit)) split = whole_number(word.substr(kSplit.size()));
    if (word == "ascending") order.emplace();
    if (word == "descending") order = descending(steps);
    if (!order) order = listed(word);
    if (split && is_last)
      out.split_k = *split;
    else if (order && is_first)
      out.k_order = std::move(*order);
    else
      return Error{Errc::usage, "K order", fmt::format("'{}'", k_order),
                   "ascending, descending or the steps (1:0:3:2), split_k=2, or descending+split_k=2"};
  }
  if (terms == 0) return find_chain(out, depth).error();  // no sum of products
  // Whether they form a chain is for those to say that need one: gemm has more.
  if (const Result<KSteps> k =
          find_k_steps(instruction, std::max<std::size_t>(depth, 1), out.k_order, out.split_k);
      !k)
    return k.error();
  return out;
}

std::string k_order_text(const Computation& c) {
  constexpr std::size_t kMost = 20;
  std::string order;
  if (c.k_order.size() > 1 && c.k_order == descending(c.k_order.size()))
    order = "descending";
  else if (!std::ranges::is_sorted(c.k_order))
    order = cut_off(fmt::format("{}", fmt::join(c.k_order, ":")), kMost);
  if (c.split_k == 1) return order.empty() ? "ascending" : order;
  return fmt::format("{}{}{}{}", order, order.empty() ? "" : "+", kSplit, c.split_k);
}

std::vector<std::string> distinct_names(std::span<const Computation> computations) {
  std::vector<std::string> forms, orders, targets;
  for (const Computation& c : computations) {
    forms.emplace_back(c.instruction.canonical());
    orders.push_back(k_order_text(c));
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
