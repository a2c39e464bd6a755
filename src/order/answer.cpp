// SPDX-License-Identifier: Apache-2.0
// What a search answers: the answer of the whole from those of its shares, and its words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "numeric/formats.hpp"
#include "warpbit/find_order.hpp"

namespace warpbit {
namespace {

constexpr std::size_t kMostNear = 64;   // that are looked at closer
constexpr std::size_t kMostSame = 4;    // descriptions of a sum in its text
constexpr std::size_t kUsualRuns = 16;  // of split-K in libraries

bool is_fp8(const Instruction& i) {
  const Format& f = *find_format(i.find(Part::a)->format);
  return !f.is_integer && f.bits <= 8;
}

bool is_split(const SumOrder& o) {
  return o.split_k > 1 || o.runs.size() > 1;
}

// Before the number of the hypothesis: promotions are usual of FP8 alone.
bool is_unlikely(const OrderShare::Explaining& e) {
  return e.order.promote != 0 && !is_fp8(e.instruction);
}

// The likely description of a found sum, and the others.
void name_sum(FoundOrder& found, std::vector<OrderShare::Explaining> all) {
  std::erase_if(all, [&](const OrderShare::Explaining& e) { return e.sum != found.sum; });
  std::ranges::stable_sort(all, {}, [](const auto& e) { return std::pair(is_unlikely(e), e.number); });
  if (all.empty()) return;
  found.instruction = all[0].instruction;
  found.order = all[0].order;
  found.same.clear();
  for (std::size_t n = 1; n < all.size(); ++n)
    found.same.push_back({std::string(all[n].instruction.canonical()), all[n].order});
}

SplitAnswer split_of(const FoundOrder& f) {
  const bool is = is_split(f.order), promotes = is_fp8(f.instruction);
  // Which of both made these bits, no data tell. Promotions are usual of FP8 alone.
  const auto is_other = [&](const SameSum& same) {
    if (promotes && is) return same.order.promote != 0;
    if (!promotes && same.order.promote != 0) return false;
    return is_split(same.order) != is && same.order.split_k <= kUsualRuns;
  };
  if (std::ranges::any_of(f.same, is_other)) return SplitAnswer::unknown;
  return is ? SplitAnswer::yes : SplitAnswer::no;
}

std::string line_of(const FoundOrder& f) {
  return fmt::format("{}: {}", f.instruction.canonical(), f.order.text());
}

std::string same_line(const FoundOrder& f) {
  std::vector<std::string> words;
  for (const SameSum& same : f.same) {
    if (words.size() == kMostSame) break;
    const bool is_form = same.form == f.instruction.canonical();
    words.push_back(is_form ? same.order.text() : fmt::format("{}: {}", same.form, same.order.text()));
  }
  const std::size_t more = f.same.size() - words.size();
  return fmt::format("{}{}", fmt::join(words, "; "), more == 0 ? "" : fmt::format("; and {} more", more));
}

}  // namespace

std::string_view name(SplitAnswer answer) {
  return answer == SplitAnswer::yes ? "yes" : answer == SplitAnswer::no ? "no" : "cannot be told";
}

SplitAnswer OrderSearch::split_k() const {
  if (found.empty() || narrowed) return SplitAnswer::unknown;
  const SplitAnswer first = split_of(found[0]);
  for (const FoundOrder& f : found)
    if (split_of(f) != first) return SplitAnswer::unknown;
  return complete ? first : SplitAnswer::unknown;
}

std::string OrderSearch::text() const {
  std::string out;
  const auto add = [&](const std::string& line) { out += (out.empty() ? "" : "\n") + line; };
  if (!found.empty()) {
    add(fmt::format("all {} elements come out with", found[0].elements));
    for (const FoundOrder& f : found) {
      add("  " + line_of(f));
      if (!f.same.empty()) add("    the same sum for any data: " + same_line(f));
    }
    if (found.size() > 1) add("which cannot be told apart by these data");
    if (!narrowed) add(fmt::format("split-K: {}", name(split_k())));
    if (found[0].left_out != 0)
      add(fmt::format("the last {} values of K are not in the sum: a mistake of the kernel",
                      found[0].left_out));
    if (narrowed)
      add("orders without these words were not tried");
    else if (!complete)
      add(fmt::format("others may explain them, too: {} were tried", tried));
  } else {
    add(fmt::format("none of {} orders{} explains all elements{}", tried, narrowed ? " with these words" : "",
                    complete ? "" : "; there are more"));
    if (!narrowed) add(fmt::format("split-K: {}", name(split_k())));
    for (const FoundOrder& f : nearest) {
      add(fmt::format("  {} of {}: {}", f.equal, f.elements, line_of(f)));
      if (f.first_wrong)
        add(fmt::format("    at ({}, {}) it gives 0x{:x} instead of 0x{:x}", f.first_wrong->row,
                        f.first_wrong->column, f.computed, f.first_wrong->code));
    }
  }
  if (inferred) add("the instruction's arithmetic is inferred, no hardware result");
  return out;
}

Result<OrderSearch> merge_orders(std::span<const OrderSearch> shares) {
  const auto of_another = [&](const OrderSearch& s) {
    return s.share.most_found != shares[0].share.most_found || s.share.tried.empty();
  };
  if (shares.empty() || std::ranges::any_of(shares, of_another))
    return Error{Errc::usage, "order of the sum", shares.empty() ? "no share" : "shares of several searches",
                 "all shares of one search"};
  const std::uint64_t most = shares[0].share.most_found;
  // The answer is of the first level at which something was found.
  std::size_t levels = 0;
  bool any = false;
  for (const OrderSearch& s : shares) {
    if (!s.found.empty() && (!any || s.share.tried.size() < levels)) levels = s.share.tried.size();
    any = any || !s.found.empty();
    if (!any) levels = std::max(levels, s.share.tried.size());
  }
  OrderSearch out;
  out.complete = true;
  out.narrowed = shares[0].share.is_narrowed;
  std::vector<OrderShare::Near> near;
  std::vector<OrderShare::Explaining> explaining;
  for (const OrderSearch& s : shares) {
    for (std::size_t level = 0; level < std::min(levels, s.share.tried.size()); ++level)
      out.tried += s.share.tried[level];
    out.complete = out.complete && !(s.share.is_limited && s.share.tried.size() <= levels);
    if (s.share.tried.size() == levels) {
      out.found.insert(out.found.end(), s.found.begin(), s.found.end());
      explaining.insert(explaining.end(), s.share.explaining.begin(), s.share.explaining.end());
      out.complete = out.complete && !s.share.has_more;
    }
    if (!any) near.insert(near.end(), s.share.near.begin(), s.share.near.end());
  }
  // Of each sum the first description; the others have its name.
  std::ranges::sort(out.found, {}, &FoundOrder::number);
  std::vector<FoundOrder> sums;
  for (FoundOrder& f : out.found)
    if (std::ranges::find(sums, f.sum, &FoundOrder::sum) == sums.end()) sums.push_back(std::move(f));
  if (sums.size() > most) {
    sums.erase(sums.begin() + static_cast<std::ptrdiff_t>(most), sums.end());
    out.complete = false;
  }
  out.found = std::move(sums);
  for (FoundOrder& f : out.found) name_sum(f, explaining);
  using Near = OrderShare::Near;
  std::ranges::sort(near, {}, [](const Near& n) { return n.order.number; });
  std::ranges::stable_sort(near, std::greater(), &Near::first_equal);
  if (near.size() > kMostNear) near.erase(near.begin() + kMostNear, near.end());
  std::ranges::stable_sort(near, std::greater(), &Near::looked_equal);
  for (std::size_t i = 0; i < std::min<std::size_t>(most, near.size()); ++i)
    out.nearest.push_back(near[i].order);
  std::ranges::stable_sort(out.nearest, std::greater(), &FoundOrder::equal);
  for (const std::vector<FoundOrder>* list : {&out.found, &out.nearest})
    for (const FoundOrder& f : *list) out.inferred = out.inferred || f.instruction.inferred();
  return out;
}

}  // namespace warpbit
