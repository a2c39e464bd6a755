// SPDX-License-Identifier: Apache-2.0
// Orders as words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <sstream>

#include "reduction/candidates.hpp"

namespace warpbit {
namespace {

constexpr std::string_view kTogether[] = {"ascending", "pairs", "halves"};
constexpr std::string_view kSpreads[] = {"up", "turns"};
constexpr std::string_view kAccumulators[] = {"one", "each", "each:pairs", "step", "step:pairs"};

constexpr SumOrderWord kWords[] = {
    {"blocks", "26", "how many blocks share the sum of a row; one unless given"},
    {"spread", "up, turns",
     "what a block takes: a run of values, their number by that of blocks and rounded up (unless given); or "
     "turns, a step of its threads each time, as in a loop with a stride of the grid"},
    {"loop", "1024", "a block sums so many values to one, then the next ones; these sums are added, ascending"},
    {"threads", "128", "of a block; one unless given"},
    {"vector", "4", "consecutive values that a thread takes; one unless given"},
    {"unroll", "4",
     "vectors that a thread takes in a step, which lie `threads` vectors apart; one unless given"},
    {"accumulators", "one, each, each:pairs, step, step:pairs",
     "what a thread adds its values to: one accumulator; each value of a step its own, which are added in the end, ascending "
     "or in pairs; or one, to which the sum of a step goes"},
    {"", "shared", "threads are added in halves first, until 32 are left"},
    {"lanes", "pairs, halves",
     "the order in which 32 threads are added: (0+1)+(2+3), or (0+2)+(1+3) unless given"},
    {"warps", "ascending, pairs, halves", "the same of the sums of such 32 threads"},
    {"merge_threads", "4",
     "the sums of blocks go to so many threads by turns, each of which adds its own, ascending, before they are merged"},
    {"merge_order", "ascending, pairs, halves", "the same of the sums of blocks"},
    {"", "fused", "squares are not rounded before they are added"},
    {"", "online",
     "exponentials are those of x minus the greatest x so far; what a block has is multiplied when it goes on to the next `loop` values, "
     "and blocks leave their own log(sum of exp) and quotients"},
    {"value_lanes", "8", "of attention: how many of 32 threads share the sum of a column of v"},
    {"function", "reciprocal, expf, expf:full, expf:reciprocal, expf:steps, ex2, ex2:full, ex2:reciprocal",
     "a mean is the sum times 1 / n, rounded; the exponential function of softmax, CUDA's or ex2.approx of x log2(e), and its "
     "quotient: rounded (unless given), div.full, or times a reciprocal; steps: each step is rounded to the type of x"},
};

Error no_order(std::string_view seen, std::string accepted) {
  return {Errc::usage, "the order of a reduction", fmt::format("'{}'", seen), std::move(accepted)};
}

std::optional<int> number_of(std::string_view text) {
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(out) : std::nullopt;
}

template <class Enum, std::size_t N>
bool set_named(Enum& to, const std::string_view (&names)[N], std::string_view value) {
  const auto found = std::ranges::find(names, value);
  if (found == std::end(names)) return false;
  to = static_cast<Enum>(found - names);
  return true;
}

struct NumberWord {
  std::string_view name;
  int ReductionOrder::*member;
  int least, most;
};
constexpr NumberWord kNumbers[] = {{"blocks", &ReductionOrder::blocks, 1, 65'536},
                                   {"loop", &ReductionOrder::loop, 0, 1 << 24},
                                   {"threads", &ReductionOrder::threads, 1, 1'024},
                                   {"vector", &ReductionOrder::vector, 1, 64},
                                   {"unroll", &ReductionOrder::unroll, 1, 64},
                                   {"merge_threads", &ReductionOrder::merge_threads, 0, 1'024},
                                   {"value_lanes", &ReductionOrder::value_lanes, 0, 32}};
constexpr std::int64_t kMostInStep = 1 << 24;  // values that all blocks take at once

struct FlagWord {
  std::string_view name;
  bool ReductionOrder::*member;
};
constexpr FlagWord kFlags[] = {{"shared", &ReductionOrder::shared},
                               {"fused", &ReductionOrder::fused},
                               {"online", &ReductionOrder::online}};

struct TogetherWord {
  std::string_view name;
  Together ReductionOrder::*member;
};
constexpr TogetherWord kTogethers[] = {{"lanes", &ReductionOrder::lanes},
                                       {"warps", &ReductionOrder::warps},
                                       {"merge_order", &ReductionOrder::merge_order}};

bool set(ReductionOrder& out, std::string_view name, std::string_view value) {
  for (const NumberWord& one : kNumbers)
    if (one.name == name) {
      const std::optional<int> number = number_of(value);
      out.*one.member = number.value_or(one.least - 1);
      return number && *number > 0 && *number <= one.most;
    }
  for (const TogetherWord& one : kTogethers)
    if (one.name == name)
      return set_named(out.*one.member, kTogether, value) && !(name == "lanes" && value == "ascending");
  if (name == "spread") return set_named(out.spread, kSpreads, value);
  if (name == "accumulators") return set_named(out.accumulators, kAccumulators, value);
  if (name != "function") return false;
  out.function = value;
  return true;
}

}  // namespace

std::span<const SumOrderWord> reduction_words() {
  return kWords;
}

std::string ReductionOrder::text() const {
  const ReductionOrder usual;
  std::vector<std::string> out;
  const auto add = [&](std::string_view name, auto value) { out.push_back(fmt::format("{}={}", name, value)); };
  for (const NumberWord& one : kNumbers)
    if (this->*one.member != usual.*one.member) add(one.name, this->*one.member);
  if (spread != usual.spread) add("spread", kSpreads[static_cast<std::size_t>(spread)]);
  if (accumulators != usual.accumulators)
    add("accumulators", kAccumulators[static_cast<std::size_t>(accumulators)]);
  if (shared) out.emplace_back("shared");
  for (const TogetherWord& one : kTogethers)
    if (this->*one.member != usual.*one.member)
      add(one.name, kTogether[static_cast<std::size_t>(this->*one.member)]);
  for (const FlagWord& one : kFlags)
    if (one.name != "shared" && this->*one.member) out.emplace_back(one.name);
  if (!function.empty()) add("function", function);
  return out.empty() ? "threads=1" : fmt::format("{}", fmt::join(out, " "));
}

Result<ReductionOrder> ReductionOrder::parse(std::string_view words) {
  std::vector<std::string> names;
  for (const SumOrderWord& one : kWords)
    names.push_back(one.name.empty() ? std::string(one.values) : fmt::format("{}=", one.name));
  ReductionOrder out;
  std::istringstream in{std::string(words)};
  for (std::string word; in >> word;) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (const auto* const flag = std::ranges::find(kFlags, word, &FlagWord::name); flag != std::end(kFlags)) {
      out.*flag->member = true;
      continue;
    }
    const auto known = std::ranges::find(kWords, name, &SumOrderWord::name);
    if (equals == std::string::npos || known == std::end(kWords) || name.empty())
      return no_order(word, fmt::format("words of {}", fmt::join(names, ", ")));
    if (!set(out, name, std::string_view(word).substr(equals + 1))) {
      const auto* const number = std::ranges::find(kNumbers, name, &NumberWord::name);
      return no_order(word, number == std::end(kNumbers)
                                ? fmt::format("{}= with {}", name, known->values)
                                : fmt::format("{}= with a number from 1 to {}", name, number->most));
    }
  }
  if (auto error = reduction::order_refusal(out)) return *std::move(error);
  return out;
}

std::optional<Error> reduction::order_refusal(const ReductionOrder& order) {
  for (const NumberWord& one : kNumbers)
    if (const int value = order.*one.member; value < one.least || value > one.most)
      return no_order(fmt::format("{}={}", one.name, value),
                      fmt::format("a number from {} to {}", one.least, one.most));
  if (order.loop != 0 && order.spread == ReductionOrder::Spread::turns)
    return no_order("loop= and spread=turns",
                    "one of them: blocks that take steps by turns have no loop of their own");
  if (order.online && (order.spread == ReductionOrder::Spread::turns || order.merge_threads != 0))
    return no_order(order.text(), "online without spread=turns and merge_threads=");
  const auto lanes = static_cast<unsigned>(order.value_lanes);
  if (lanes != 0 && (!order.online || order.threads % 32 != 0 || !std::has_single_bit(lanes)))
    return no_order(order.text(), "value_lanes= with a power of two, online and threads=, a multiple of 32");
  const std::int64_t in_step = std::int64_t{order.blocks} * order.threads * order.vector * order.unroll;
  if (in_step > kMostInStep)
    return no_order(order.text(), fmt::format("at most {} values that all blocks take at once", kMostInStep));
  return std::nullopt;
}

}  // namespace warpbit
