// SPDX-License-Identifier: Apache-2.0
#include "warpbit/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <variant>

#include "api/checks.hpp"
#include "api/execute_capture.hpp"
#include "explain/dyadic.hpp"
#include "isa/instruction.hpp"
#include "kernel/tile.hpp"
#include "numeric/node.hpp"

namespace warpbit {
namespace {

Dyadic number_of(const Format& f, std::uint64_t code) {
  return Dyadic(value_of(decode(f, code), f));
}

std::string name_of(const Addend& addend, std::size_t sums) {
  switch (addend.what) {
    case Addend::What::accumulator: return "c";
    case Addend::What::running: return fmt::format("sum {}", sums);
    case Addend::What::products: break;
  }
  if (addend.first == addend.last) return fmt::format("a[{0}] b[{0}]", addend.first);
  return fmt::format("a[{0}..{1}] b[{0}..{1}]", addend.first, addend.last);
}

// `sums` came before.
ExplainedSum explained(const TracedSum& traced, const Plan& plan, std::size_t sums) {
  ExplainedSum out;
  out.name = fmt::format("sum {}", sums + 1);
  out.step = describe(plan.begin()[traced.step]);
  if (traced.cut) out.window = {traced.cut->e, traced.cut->window};
  Dyadic total(0, 0);
  for (const Addend& addend : traced.addends) {
    const Dyadic value(addend.value);
    const Dyadic kept = traced.cut ? Dyadic(addend.units, traced.cut->e - traced.cut->window) : value;
    total = total + kept;
    const bool sets_e =
        traced.cut && value.is_finite() && value.number != 0 && addend.exponent == traced.cut->e;
    out.addends.push_back({name_of(addend, sums), value.exact_number(), kept.exact_number(), sets_e});
  }
  out.total = total.exact_number();
  out.format = traced.format->name;
  out.code = traced.code;
  out.result = number_of(*traced.format, traced.code).exact_number();
  return out;
}

// C and all products, each once: a sum of what no other sum made.
Dyadic exact_sum(const Trace& trace, const Dyadic& c) {
  Dyadic out = c;
  std::vector<bool> seen(kMaxDepth);
  for (const TracedSum& sum : trace)
    for (const Addend& addend : sum.addends) {
      if (addend.what != Addend::What::products || seen[addend.first]) continue;
      seen[addend.first] = true;
      out = out + Dyadic(addend.value);
    }
  return out;
}

// The distance of numbers of this size.
int unit_of(const Format& f, const Dyadic& x) {
  return (x.number == 0 ? f.min_exponent() : std::max(x.top(), f.min_exponent())) - f.fraction_bits;
}

void compare(const Format& f, const Dyadic& exact, Explanation& out) {
  const Dyadic result = number_of(f, out.code);
  out.exact = exact.exact_number();
  if (f.is_integer || !exact.is_finite() || !result.is_finite()) return;
  out.nearest = encode(f, exact.rounded_to_odd(), Rounding::nearest_even, Overflow::ieee);
  Dyadic error = result + -exact;
  if (error.number < 0) error = -error;
  out.ulps = error.times_power(-unit_of(f, exact)).exact_number();
}

Explanation explain(const Instruction& instruction, const ElementCodes& codes) {
  const Tile& tile = std::get<Tile>(instruction.decoded().kernel);
  Trace trace;
  Explanation out;
  out.code = run_element(tile, codes, &trace);
  out.form = instruction.canonical();
  out.target = instruction.target().name();
  out.plan = instruction.plan();
  out.inferred = instruction.inferred();
  for (std::size_t i = 0; i < trace.size(); ++i) out.sums.push_back(explained(trace[i], *tile.plan, i));
  out.format = tile.d.format->name;
  out.result = number_of(*tile.d.format, out.code).exact_number();
  compare(*tile.d.format, exact_sum(trace, number_of(*tile.c.format, tile.starts_at_zero ? 0 : codes.c)), out);
  return out;
}

// The code in D's place of a case.
std::uint64_t recorded_code(const LoadedCapture& capture, std::uint64_t index, Coordinate at) {
  if (capture.header.layout == CaptureLayout::elements) return capture.expected.at(index);
  const Operand& d = capture.instruction.operands()[0];
  const Place place = d.fragment.find(at).front();
  const auto item = static_cast<std::uint64_t>(place.lane * d.registers + place.reg);
  const std::uint64_t per_case = capture.expected.header.items() / capture.cases;
  return capture.expected.at(index * per_case + item) >> place.low_bit & place.mask();
}

}  // namespace

Result<Explanation> explain_element(const Instruction& instruction, const ElementSources& element,
                                    const ExecuteOptions& options) {
  const Result<Element> executed = execute_element(instruction, element, options);
  if (!executed) return executed.error();
  return explain(instruction, {element.a, element.b, element.c, element.a_scale, element.b_scale});
}

Result<Explanation> explain_capture(const std::filesystem::path& path, std::uint64_t index, Coordinate at,
                                    const ReplayOptions& options) {
  const Result<CaptureReader> reader = CaptureReader::open(path, options.read);
  if (!reader) return reader.error();
  const Result<LoadedCapture> capture = load_capture(*reader, options);
  if (!capture) return capture.error();
  ExecuteOptions execute_options;
  execute_options.undefined = options.undefined;
  const Result<OwnedElementCodes> codes = codes_of_element(*capture, index, at, execute_options);
  if (!codes) return codes.error();
  Explanation out = explain(capture->instruction, *codes);
  out.recorded = recorded_code(*capture, index, at);
  return out;
}

}  // namespace warpbit
