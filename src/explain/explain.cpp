// SPDX-License-Identifier: Apache-2.0
#include "warpbit/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <utility>
#include <variant>

#include "api/checks.hpp"
#include "api/sums.hpp"
#include "explain/chain.hpp"
#include "explain/dyadic.hpp"
#include "isa/instruction.hpp"
#include "numeric/node.hpp"
#include "replay/execute_capture.hpp"

namespace warpbit {
namespace {

Dyadic number_of(const Format& f, std::uint64_t code) {
  return Dyadic(value_of(decode(f, code), f));
}

// ---- Sums

// A running value, and what is in it: C, and the products of some k.
struct RunningSum {
  std::string name;
  const Format* format = nullptr;
  std::uint64_t code = 0;
  bool has_c = false;
  std::vector<bool> products;

  void add(const RunningSum& x) {
    has_c = has_c || x.has_c;
    for (std::size_t k = 0; k < products.size(); ++k) products[k] = products[k] || x.products[k];
  }
  // ExplainedSum::after
  std::optional<std::size_t> prefix() const {
    const auto end = std::ranges::find(products, false);
    if (!has_c || std::find(end, products.end(), true) != products.end()) return std::nullopt;
    return static_cast<std::size_t>(end - products.begin());
  }
};

// The sums of a chain, one after the other.
class ChainExplainer {
 public:
  ChainExplainer(const Chain& chain, const ElementCodes& codes, Explanation& out)
      : chain_(chain),
        tile_(*chain.tile),
        codes_(codes),
        exact_(number_of(*tile_.c.format, tile_.starts_at_zero ? 0 : codes.c)),
        out_(out) {}

  // C and all products, exactly.
  Dyadic run() {
    out_.instructions = chain_.instructions();
    out_.code = SumTree(chain_.computation->order, chain_.formats, std::span(chain_.runs), *this).sum().code;
    return exact_;
  }

  // ---- The operations of SumTree

  RunningSum chain(const SumBlock& steps, bool from_c) {
    RunningSum running = from_c ? c() : zero_;
    for (const SumStep& step : steps) {
      end_if(stop_);
      running = executed(step, running);
    }
    return running;
  }
  RunningSum outer(bool from_c) {
    RunningSum out = from_c ? c() : zero_;
    return converted(std::move(out), *chain_.formats.promoted);
  }
  RunningSum promoted(const RunningSum& outer, const RunningSum& inner, std::size_t) {
    const Format& to = *chain_.formats.promoted;
    Sums code = warpbit::promoted(sums_of(outer), sums_of(inner), {}, {}, 0, FactorOrder::together, 1);
    // The first one: +0 and a sum.
    if (!outer.has_c && outer.name == zero_.name)
      if (RunningSum same = converted(inner, to); same.code == code.items().get(0, 0)) return same;
    return in_sum(fmt::format("add in {} rn", to.name), to, code, {&outer, &inner});
  }
  RunningSum added(const RunningSum& x, const RunningSum& y, const Format& to) {
    const Sums code = warpbit::added(tile_, sums_of(x), sums_of(y), to, 1);
    return in_sum(fmt::format("add in {}{}", to.name, to.is_integer ? "" : " rn"), to, code, {&x, &y});
  }
  RunningSum converted(RunningSum x, const Format& to) {
    if (x.format == &to) return x;
    const Sums code = warpbit::converted(sums_of(x), to, 1);
    return in_sum(fmt::format("round to {} rn", to.name), to, code, {&x});
  }

 private:
  RunningSum c() const {
    RunningSum out = zero_;
    out.name = "c";
    out.format = tile_.c.format;
    out.code = codes_.c;
    out.has_c = true;
    return out;
  }
  static Sums sums_of(const RunningSum& x) {
    Sums out(*x.format, 1, 1);
    std::memcpy(out.codes.data(), &x.code, out.item());
    return out;
  }

  RunningSum executed(const SumStep& step, const RunningSum& before) {
    ++instruction_;
    Trace trace;
    // What the first sum starts from, if it is not C.
    RunningSum running = zero_;
    const std::uint64_t code = run_element(tile_, codes_of_step(codes_, step, before.code), &trace);
    for (const TracedSum& sum : trace) running = explained(sum, step.first, before, running);
    add_products(trace);
    running.code = code;
    running.format = tile_.d.format;
    return running;
  }

  // Products of `first` on.
  RunningSum explained(const TracedSum& traced, std::size_t first, const RunningSum& c,
                       const RunningSum& before) {
    ExplainedSum sum = next_sum(describe(tile_.plan->begin()[traced.step]), *traced.format, traced.code);
    sum.instruction = instruction_;
    if (traced.cut) sum.window = {traced.cut->e, traced.cut->window};
    RunningSum in = zero_;
    for (const Addend& addend : traced.addends) {
      const Dyadic value(addend.value);
      const Dyadic kept = traced.cut ? Dyadic(addend.units, traced.cut->e - traced.cut->window) : value;
      const bool sets_e =
          traced.cut && value.is_finite() && value.number != 0 && addend.exponent == traced.cut->e;
      sum.addends.push_back(
          {name_of(addend, first, c, before), value.exact_number(), kept.exact_number(), sets_e});
      if (addend.what == Addend::What::products && addend.first < addend.last && tile_.a_scale.is_present())
        sum.addends.back().group = group_of(addend.first, addend.last);
      if (addend.what == Addend::What::accumulator) in.add(c);
      if (addend.what == Addend::What::running) in.add(before);
      if (addend.what == Addend::What::products)
        for (std::size_t k = addend.first; k <= addend.last; ++k) in.products[first + k] = true;
    }
    return finish(std::move(sum), std::move(in));
  }

  // The products of a scaled group. Only the first step has scale factors.
  ScaledGroup group_of(std::size_t first, std::size_t last) const {
    Dyadic sum(0, 0);
    for (std::size_t k = first; k <= last && k < codes_.a.size(); ++k) {
      const Dyadic a = number_of(*tile_.a.format, codes_.a[k]), b = number_of(*tile_.b.format, codes_.b[k]);
      Dyadic product(0, a.exponent + b.exponent);
      product.number = a.number * b.number;
      sum = sum + product;
    }
    const auto scale = [&](const TileScale& of, std::span<const std::uint64_t> codes) {
      const std::size_t block = first * static_cast<std::size_t>(of.blocks) / chain_.terms();
      return number_of(*of.format, block < codes.size() ? codes[block] : 0).exact_number();
    };
    return {sum.exact_number(), scale(tile_.a_scale, codes_.a_scale), scale(tile_.b_scale, codes_.b_scale)};
  }

  // An addition or a rounding beside the instructions.
  RunningSum in_sum(std::string step, const Format& to, Sums code,
                    std::initializer_list<const RunningSum*> addends) {
    ExplainedSum sum = next_sum(std::move(step), to, code.items().get(0, 0));
    sum.instruction = 0;
    RunningSum in = zero_;
    for (const RunningSum* addend : addends) {
      const ExactNumber value = number_of(*addend->format, addend->code).exact_number();
      sum.addends.push_back({addend->name, value, value, false});
      in.add(*addend);
    }
    in = finish(std::move(sum), std::move(in));
    in.format = &to;
    return in;
  }

  static std::string name_of(const Addend& addend, std::size_t first, const RunningSum& c,
                             const RunningSum& before) {
    switch (addend.what) {
      case Addend::What::accumulator: return c.name;
      case Addend::What::running: return before.name;
      case Addend::What::products: break;
    }
    if (addend.first == addend.last) return fmt::format("a[{0}] b[{0}]", first + addend.first);
    return fmt::format("a[{0}..{1}] b[{0}..{1}]", first + addend.first, first + addend.last);
  }

  ExplainedSum next_sum(std::string step, const Format& f, std::uint64_t code) const {
    ExplainedSum out;
    out.name = fmt::format("sum {}", out_.sums.size() + 1);
    out.step = std::move(step);
    out.format = f.name;
    out.code = code;
    out.result = number_of(f, code).exact_number();
    return out;
  }

  RunningSum finish(ExplainedSum sum, RunningSum in) {
    Dyadic total(0, 0);
    for (const ExplainedAddend& addend : sum.addends) total = total + Dyadic(addend.kept);
    sum.total = total.exact_number();
    sum.after = in.prefix();
    in.name = sum.name;
    in.code = sum.code;
    out_.sums.push_back(std::move(sum));
    return in;
  }

  // All products of an instruction, each once: a sum of what no other sum made.
  void add_products(const Trace& trace) {
    std::vector<bool> seen(kMaxDepth);
    for (const TracedSum& sum : trace)
      for (const Addend& addend : sum.addends) {
        if (addend.what != Addend::What::products || seen[addend.first]) continue;
        seen[addend.first] = true;
        exact_ = exact_ + Dyadic(addend.value);
      }
  }

  const Chain& chain_;
  const Tile& tile_;
  const ElementCodes& codes_;
  // At most the values of the last step are beyond K.
  const RunningSum zero_{"zero", tile_.d.format, 0, false, std::vector<bool>(chain_.depth + chain_.terms())};
  const std::atomic<bool>* const stop_ = stop_flag();
  Dyadic exact_;
  std::size_t instruction_ = 0;
  Explanation& out_;
};

// ---- What it rests on

// NUMERICS.md: published values lie near 1.
std::vector<std::string> assumed_by(const Evidence& evidence, const Explanation& e) {
  std::vector<std::string> out;
  const auto assume = [&](const Ground& ground, std::string what, bool is_used) {
    const Basis weakest = &ground == &evidence.window ? Basis::published : Basis::value_only;
    if (!is_used || ground.basis < weakest) return;
    if (ground.basis == Basis::value_only) what += fmt::format(" ({})", ground.from);
    if (std::ranges::find(out, what) == out.end()) out.push_back(std::move(what));
  };
  for (const ExplainedSum& sum : e.sums) {
    if (find_format(sum.format)->is_integer) return {};
    using Kind = ExactNumber::Kind;
    const auto any = [&](auto holds) { return std::ranges::any_of(sum.addends, holds); };
    const bool special = sum.result.kind != Kind::finite ||
                         any([](const ExplainedAddend& x) { return x.value.kind != Kind::finite; });
    assume(evidence.specials, "a NaN or Inf", special);
    if (special) continue;
    assume(
        evidence.floor, "the floor of E",
        sum.window && !any(&ExplainedAddend::sets_e) && any([](const auto& x) { return !x.value.is_zero(); }));
    assume(evidence.specials, "the sign of a zero",
           sum.result.is_zero() && (sum.code != 0 || any([](const auto& x) { return x.value.negative; })));
    assume(evidence.window, "a sum below the normal range", is_below_normal(sum));
  }
  return out;
}

// ---- The result

Explanation explain(const Instruction& instruction, const ElementCodes& codes) {
  const Computation alone{instruction};
  const auto& tile = std::get<Tile>(instruction.decoded().kernel);
  const auto depth = static_cast<std::size_t>(tile.terms);
  const SumRun whole{SumSlice{SumBlock{SumStep{0, depth}}}};
  const Chain chain{&alone, &tile, depth, find_sum_formats(instruction, alone.order).value(), {whole}};
  return explain(chain, codes);
}

// An error about the only case of a capture, with its number.
Error numbered(Error error, std::uint64_t index) {
  constexpr std::string_view kOnly = "case 0";
  for (std::string* text : {&error.where, &error.seen})
    if (const std::size_t at = text->find(kOnly); at != text->npos)
      text->replace(at, kOnly.size(), fmt::format("case {}", index));
  return error;
}

// The code in D's place, of a capture with one case.
std::uint64_t recorded_code(const LoadedCapture& capture, Coordinate at) {
  if (capture.header.layout == CaptureLayout::elements) return capture.expected.at(0);
  const Operand& d = capture.instruction.operands()[0];
  const Place place = d.fragment.find(at).front();
  const auto item = static_cast<std::uint64_t>(place.lane * d.registers + place.reg);
  return capture.expected.at(item) >> place.low_bit & place.mask();
}

}  // namespace

Explanation explain(const Chain& chain, const ElementCodes& codes) {
  const Instruction& instruction = chain.computation->instruction;
  Explanation out;
  out.form = instruction.canonical();
  out.name = out.target = instruction.target().name();
  out.plan = instruction.plan();
  out.inferred = instruction.inferred();
  out.note = note(instruction);
  const Dyadic exact = ChainExplainer(chain, codes, out).run();
  const Format& f = *chain.tile->d.format;
  const Dyadic result = number_of(f, out.code);
  out.format = f.name;
  out.result = result.exact_number();
  out.exact = exact.exact_number();
  if (!f.is_integer && exact.is_finite() && result.is_finite()) {
    out.nearest = encode(f, exact.rounded_to_odd(), Rounding::nearest_even, Overflow::ieee);
    out.ulps = ulps(f, exact, result + -exact);
  }
  if (!out.inferred) out.assumed = assumed_by(instruction.evidence(), out);
  return out;
}

Result<Explanation> explain_element(const Instruction& instruction, const ElementCodes& element,
                                    const ExecuteOptions& options) {
  const Result<Element> executed = execute_element(instruction, element, options);
  if (!executed) return executed.error();
  return explain(instruction, element);
}

Result<Explanation> explain_capture(const std::filesystem::path& path, std::uint64_t index, Coordinate at,
                                    const ReplayOptions& options) {
  const Result<LoadedCapture> capture = load_capture(path, options);
  if (!capture) return capture.error();
  if (const Result<void> exists = check_element(*capture, index, at); !exists) return exists.error();
  const LoadedCapture one = cases_of(*capture, index, 1);
  // Refuses what cannot be read.
  if (const Result<Array> executed = execute(one, execute_options(options)); !executed)
    return numbered(executed.error(), index);
  Explanation out = explain(one.instruction, codes_of_executed(one, 0, {&at, 1})[0]);
  out.recorded = recorded_code(one, at);
  return out;
}

}  // namespace warpbit
