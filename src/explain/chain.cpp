// SPDX-License-Identifier: Apache-2.0
#include "explain/chain.hpp"

#include <fmt/format.h>

#include <optional>
#include <tuple>
#include <variant>
#include <vector>

#include "api/checks.hpp"
#include "isa/instruction.hpp"

namespace warpbit {
namespace {

// The products that a plan of one step adds to the running value before it rounds. Nothing for another plan.
std::optional<std::size_t> products_of_node(const Plan& plan) {
  if (plan.size() != 1) return std::nullopt;
  const Step& step = *plan.begin();
  if (const auto* fused = std::get_if<Fused>(&step);
      fused && fused->start == Start::running && fused->k == KSet{})
    return static_cast<std::size_t>(fused->products);
  if (const auto* fma = std::get_if<FmaChain>(&step); fma && fma->start == Start::running) return 1;
  if (std::holds_alternative<PairSums>(step)) return 2;
  if (const auto* sum = std::get_if<IntegerSum>(&step); sum && sum->overflow == Overflow::saturate)
    return static_cast<std::size_t>(sum->products);
  return std::nullopt;
}

// Products that are added without anything in between that depends on where an instruction begins.
std::size_t unit_of(const Chain& chain) {
  return std::min(products_of_node(*chain.tile->plan).value_or(chain.terms()), chain.terms());
}

// Of each run the units of K in the order in which they are added.
std::vector<std::vector<std::size_t>> units_of_runs(const Chain& chain, std::size_t unit) {
  std::vector<std::vector<std::size_t>> out;
  for (std::size_t i = 0; i < chain.k.steps.size(); ++i) {
    if (i % chain.k.run == 0) out.emplace_back();
    const std::size_t first = chain.k.steps[i] * chain.terms();
    for (std::size_t k = first; k < first + chain.terms(); k += unit) out.back().push_back(k);
  }
  return out;
}

// Addition modulo 2^32, whose order does not count.
bool only_wraps(const Plan& plan) {
  if (plan.size() != 1) return false;
  if (const auto* sum = std::get_if<IntegerSum>(plan.begin())) return sum->overflow == Overflow::ieee;
  return std::holds_alternative<BitCount>(*plan.begin());
}

}  // namespace

Result<Chain> find_chain(const Computation& computation, std::size_t depth) {
  const Instruction& i = computation.instruction;
  const Tile* tile = std::get_if<Tile>(&i.decoded().kernel);
  if (tile == nullptr)
    return no_product(i, "its elements are no sums of products", "an instruction of the form D = A B + C");
  Result<KSteps> k = find_k_steps(i, std::max<std::size_t>(depth, 1), computation.k_order, computation.split_k);
  if (!k) return k.error();
  const std::string once = fmt::format("a K of at most {}, the depth of one instruction", tile->terms);
  if (k->steps.size() > 1) {
    if (tile->c.format != tile->d.format)
      return mismatch(
          i, fmt::format("a K of {}, C is {} and D is {}", depth, tile->c.format->name, tile->d.format->name),
          once + ", or C in the format of D, as the D of one step is the C of the next");
    if (tile->a_scale.is_present())
      return mismatch(i, fmt::format("a K of {}, and its blocks are scaled", depth), once);
    if (tile->starts_at_zero) return mismatch(i, fmt::format("a K of {}, and scale-d is 0", depth), once);
  }
  return Chain{&computation, tile, std::move(*k)};
}

ElementCodes codes_of_step(const Chain& chain, const ElementCodes& codes, std::size_t step, std::uint64_t c) {
  const auto part = [&](std::span<const std::uint64_t> whole) {
    const std::size_t first = std::min(step * chain.terms(), whole.size());
    return whole.subspan(first, std::min(chain.terms(), whole.size() - first));
  };
  return {part(codes.a), part(codes.b), c, codes.a_scale, codes.b_scale};
}

std::uint64_t run_chain(const Chain& chain, const ElementCodes& codes) {
  return for_each_step(
      chain, codes.c, std::uint64_t{0},
      [&](std::size_t step, std::uint64_t c) {
        return run_element(*chain.tile, codes_of_step(chain, codes, step, c));
      },
      [&](std::uint64_t x, std::uint64_t y) { return add_partial_sums(*chain.tile, x, y); });
}

bool same_steps(const Chain& x, const Chain& y) {
  const Tile &p = *x.tile, &q = *y.tile;
  // A product of two negated factors is that of the factors; no plan that tells NaNs apart has negated ones.
  const bool same_signs = (p.negate_a != p.negate_b) == (q.negate_a != q.negate_b);
  if (!(*p.plan == *q.plan) || !same_signs || p.starts_at_zero != q.starts_at_zero) return false;
  if (only_wraps(*p.plan)) return true;
  const std::size_t unit = unit_of(x);
  if (unit != unit_of(y)) return false;
  return (products_of_node(*p.plan) || x.terms() == y.terms()) &&
         units_of_runs(x, unit) == units_of_runs(y, unit);
}

Result<void> check_formats(const Instruction& first, const Instruction& other) {
  constexpr std::tuple<Part, std::string_view> kParts[] = {
      {Part::a, "A"}, {Part::b, "B"}, {Part::c, "C"}, {Part::d, "D"}};
  // D accumulates in place where there is no C.
  const auto format_of = [](const Instruction& i, Part part) {
    const Operand* found = i.find(part == Part::c && i.find(part) == nullptr ? Part::d : part);
    return found != nullptr ? found->format : std::string_view("absent");
  };
  for (const auto& [part, name] : kParts)
    if (format_of(first, part) != format_of(other, part))
      return mismatch(other, fmt::format("{} is {}", name, format_of(other, part)),
                      fmt::format("{}, as {} has it", format_of(first, part), first.canonical()));
  const bool is_scaled = first.blocks() > 0 || other.blocks() > 0;
  if (is_scaled && first.canonical() != other.canonical())
    return mismatch(other, "scaled blocks", "the same form on other targets");
  return {};
}

Result<std::vector<Chain>> find_chains(std::span<const Computation> computations, std::size_t depth) {
  std::size_t most = 1;
  for (const Computation& c : computations)
    most = std::max(most, static_cast<std::size_t>(c.instruction.terms()));
  const std::size_t steps = std::max<std::size_t>(1, (depth + most - 1) / most);
  std::vector<Chain> out;
  for (const Computation& c : computations) {
    Result<Chain> chain = find_chain(c, steps * most);
    if (!chain) return chain.error();
    if (const Result<void> fits = check_formats(computations[0].instruction, c.instruction); !fits)
      return fits.error();
    out.push_back(std::move(*chain));
  }
  return out;
}

Result<Explanation> explain_checked(const Chain& chain, const ElementCodes& element) {
  const Instruction& i = chain.computation->instruction;
  if (element.a.size() != element.b.size())
    return mismatch(i, fmt::format("{} elements of a and {} of b", element.a.size(), element.b.size()),
                    "the same number of both");
  const Result<Element> executed = execute_element(i, codes_of_step(chain, element, 0, element.c));
  if (!executed) return executed.error();
  return explain(chain, element);
}

Result<Explanation> explain_element(const Computation& computation, const ElementCodes& element) {
  const Result<Chain> chain = find_chain(computation, element.a.size());
  return chain ? explain_checked(*chain, element) : chain.error();
}

}  // namespace warpbit
