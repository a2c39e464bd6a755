// SPDX-License-Identifier: Apache-2.0
#include "explain/chain.hpp"

#include <fmt/format.h>

#include <cstring>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "api/checks.hpp"
#include "api/no_product.hpp"
#include "api/sum_identity.hpp"
#include "api/sums.hpp"
#include "isa/instruction.hpp"

namespace warpbit {
namespace {

// An operation of the epilogue, or on operands, which is none of the sum along K; nothing if the order has none.
std::string_view beside_the_sum(const SumOrder& o) {
  if (o.c_last) return "c=last";
  if (o.alpha != 1 || o.beta != 1) return "alpha or beta";
  if (o.scales_last) return "scales=last";
  if (o.tf32 != Tf32Rounding::cut) return "tf32=";
  return "";
}

// The operations of SumTree on one element.
class ElementSums {
 public:
  ElementSums(const Chain& chain, const ElementCodes& codes) : chain_(chain), codes_(codes) {}

  Sums chain(const SumBlock& steps, bool from_c) const {
    const std::atomic<bool>* const stop = stop_flag();
    std::uint64_t running = from_c ? codes_.c : 0;
    for (const SumStep& step : steps) {
      end_if(stop);
      running = run_element(*chain_.tile, codes_of_step(codes_, step, running));
    }
    return made(*chain_.formats.accumulated, running);
  }
  Sums outer(bool from_c) const {
    return converted(made(*chain_.tile->c.format, from_c ? codes_.c : 0), *chain_.formats.promoted);
  }
  static Sums promoted(Sums outer, const Sums& inner, std::size_t) {
    return warpbit::promoted(std::move(outer), inner, {}, {}, 0, FactorOrder::together, 1);
  }
  Sums added(Sums x, const Sums& y, const Format& to) const {
    return warpbit::added(*chain_.tile, std::move(x), y, to, 1);
  }
  static Sums converted(Sums x, const Format& to) { return warpbit::converted(std::move(x), to, 1); }

 private:
  static Sums made(const Format& format, std::uint64_t code) {
    Sums out(format, 1, 1);
    std::memcpy(out.codes.data(), &code, out.item());
    return out;
  }

  const Chain& chain_;
  const ElementCodes& codes_;
};

}  // namespace

Result<void> check_order(const Computation& computation, std::size_t depth) {
  const Instruction& i = computation.instruction;
  const SumOrder& order = computation.order;
  if (i.find(Part::a) == nullptr || i.terms() == 0)
    return no_product(i, "it is no product of matrices", "an instruction of the form D = A B + C");
  if (const std::string_view word = beside_the_sum(order); !word.empty())
    return mismatch(i, std::string(word), "words of the sum along K alone");
  const std::string_view of_d = i.operands()[0].format;
  if (format_of_result(i, order) != of_d)
    return mismatch(i, fmt::format("D is {}", format_of_result(i, order)),
                    fmt::format("{0}, the format of the accumulators: store={0}", of_d));
  if (Result<SumFormats> formats = find_sum_formats(i, order); !formats) return formats.error();
  if (const Result<std::vector<SumRun>> runs = find_runs(i, std::max<std::size_t>(depth, 1), order); !runs)
    return runs.error();
  return {};
}

Result<Chain> find_chain(const Computation& computation, std::size_t given) {
  const Instruction& i = computation.instruction;
  const Tile* tile = std::get_if<Tile>(&i.decoded().kernel);
  if (tile == nullptr)
    return no_product(i, "it is no product of matrices", "an instruction of the form D = A B + C");
  if (Result<void> checked = check_order(computation, given); !checked) return checked.error();
  const std::size_t depth = std::max<std::size_t>(given, 1);
  Chain out{&computation, tile, depth, *find_sum_formats(i, computation.order),
            *find_runs(i, depth, computation.order)};
  const std::string once = fmt::format("a K of at most {}, the depth of one instruction", tile->terms);
  if (depth > out.terms() || out.instructions() > 1) {
    if (tile->c.format != tile->d.format)
      return mismatch(
          i, fmt::format("a K of {}, C is {} and D is {}", depth, tile->c.format->name, tile->d.format->name),
          once + ", or C in the format of D, as the D of one step is the C of the next");
    if (tile->a_scale.is_present())
      return mismatch(i, fmt::format("a K of {}, and its blocks are scaled", depth), once);
    if (tile->starts_at_zero) return mismatch(i, fmt::format("a K of {}, and scale-d is 0", depth), once);
  }
  return out;
}

ElementCodes codes_of_step(const ElementCodes& codes, const SumStep& step, std::uint64_t c) {
  const auto part = [&](std::span<const std::uint64_t> whole) {
    const std::size_t first = std::min(step.first, whole.size());
    return whole.subspan(first, std::min(step.count, whole.size() - first));
  };
  return {part(codes.a), part(codes.b), c, codes.a_scale, codes.b_scale};
}

std::uint64_t run_chain(const Chain& chain, const ElementCodes& codes) {
  ElementSums sums(chain, codes);
  return SumTree(chain.computation->order, chain.formats, std::span(chain.runs), sums).sum().items().get(0, 0);
}

bool same_steps(const Chain& x, const Chain& y) {
  if (x.tile->starts_at_zero != y.tile->starts_at_zero) return false;
  const auto identity = [](const Chain& chain) {
    return sum_identity(chain.computation->instruction, {chain.depth, true}, chain.computation->order);
  };
  const Result<std::uint64_t> of_x = identity(x), of_y = identity(y);
  return of_x && of_y && *of_x == *of_y;
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
  const Result<Element> executed = execute_element(i, codes_of_step(element, {0, chain.terms()}, element.c));
  if (!executed) return executed.error();
  return explain(chain, element);
}

Result<Explanation> explain_element(const Computation& computation, const ElementCodes& element) {
  const Result<Chain> chain = find_chain(computation, element.a.size());
  return chain ? explain_checked(*chain, element) : chain.error();
}

}  // namespace warpbit
