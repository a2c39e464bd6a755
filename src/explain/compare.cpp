// SPDX-License-Identifier: Apache-2.0
#include "warpbit/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "api/execute_capture.hpp"
#include "api/members.hpp"
#include "explain/wrapped.hpp"
#include "isa/instruction.hpp"
#include "numeric/formats.hpp"
#include "warpbit/probes.hpp"

namespace warpbit {
namespace {

bool is_sum_of_products(const Instruction& instruction) {
  return std::holds_alternative<Tile>(instruction.decoded().kernel);
}

Error no_sum_of_products(const Instruction& instruction) {
  return {Errc::view_mismatch, std::string(instruction.canonical()), "its elements are no sums of products",
          "an instruction of the form D = A B + C"};
}

// ---- Captures

// Arrays as generated_capture makes them, as if they were read.
LoadedCapture capture_of(const Instruction& instruction, const std::vector<Array>& arrays,
                         std::uint64_t cases) {
  LoadedCapture out{{}, instruction, cases, {}, {}, {}, arrays.back(), {}, {}, {}};
  const auto find = [&](std::string_view name) {
    const auto found = std::ranges::find_if(arrays, [&](const Array& a) { return a.header.name == name; });
    return found == arrays.end() ? std::nullopt : std::optional(*found);
  };
  for (const Operand& op : instruction.operands())
    if (!op.is_destination()) out.sources.push_back(find(op.label).value_or(Array{}));
  if (accumulates_in_place(instruction)) out.before = find(kBefore);
  if (instruction.uses_memory()) out.memory = find(kMemory);
  return out;
}

// The same inputs for another instruction.
LoadedCapture with(const LoadedCapture& capture, const Instruction& instruction) {
  LoadedCapture out = capture;
  out.instruction = instruction;
  return out;
}

ElementInputs inputs_of(const OwnedElementCodes& codes) {
  return {codes.a, codes.b, codes.c, codes.a_scale, codes.b_scale};
}

// Compares what several instructions make of the inputs of one capture.
Result<Comparison> compare_all(const LoadedCapture& capture, std::span<const Instruction> instructions,
                               const ExecuteOptions& options) {
  Comparison out;
  out.cases = capture.cases;
  std::vector<Array> results;
  for (const Instruction& instruction : instructions) {
    if (!is_sum_of_products(instruction)) return no_sum_of_products(instruction);
    Result<Array> result = execute(with(capture, instruction), options);
    if (!result) return result.error();
    results.push_back(std::move(*result));
  }
  std::optional<Mismatch> first;
  for (const Array& result : results) {
    ComparedResults of_result;
    out.elements = 0;
    for_each_element(capture, results[0], result, [&](const Mismatch& m, const auto&) {
      ++out.elements;
      if (m.expected == m.got) return;
      ++of_result.differing;
      of_result.most_codes =
          std::max(of_result.most_codes, codes_between(m.format, m.expected, m.got).value_or(0));
      if (!first || m.index < first->index) first = m;
    });
    out.results.push_back(of_result);
  }
  if (!first) return out;
  const Coordinate at{std::max(first->row, 0), std::max(first->column, 0), first->product};
  const Result<OwnedElementCodes> codes = codes_of_element(capture, first->index, at, options);
  if (!codes) return codes.error();
  const Result<ElementComparison> comparison = compare_element(instructions, inputs_of(*codes).sources());
  if (!comparison) return comparison.error();
  out.first = {first->index, at, *comparison};
  return out;
}

}  // namespace

std::optional<std::uint64_t> codes_between(std::string_view format_name, std::uint64_t x, std::uint64_t y) {
  const Format* f = find_format(format_name);
  if (f == nullptr || f->is_integer) return std::nullopt;
  if (decode(*f, x).cls == Class::nan || decode(*f, y).cls == Class::nan) return std::nullopt;
  // Counted from the least code: of each sign, magnitudes are in order.
  const std::uint64_t sign = f->is_signed ? (f->mask() >> 1) + 1 : 0;
  const auto magnitude = [&](std::uint64_t code) { return (code & f->mask() & ~sign) >> f->ignored_low; };
  const std::uint64_t a = magnitude(x), b = magnitude(y);
  if ((x & sign) != (y & sign)) return a + b;
  return a > b ? a - b : b - a;
}

Result<ElementComparison> compare_element(std::span<const Instruction> instructions,
                                          const ElementSources& element) {
  ElementComparison out;
  for (const Instruction& instruction : instructions) {
    Result<Explanation> explanation = explain_element(instruction, element);
    if (!explanation) return explanation.error();
    out.explanations.push_back(std::move(*explanation));
    out.reasons.push_back(difference(out.explanations.front(), out.explanations.back()));
  }
  return out;
}

Result<Comparison> compare_capture(const std::filesystem::path& path, std::span<const Target> targets,
                                   const ReplayOptions& options) {
  const Result<CaptureReader> reader = CaptureReader::open(path, options.read);
  if (!reader) return reader.error();
  const Result<LoadedCapture> capture = load_capture(*reader, options);
  if (!capture) return capture.error();
  std::vector<Instruction> instructions;
  for (const Target target : targets) {
    Result<Instruction> instruction = Instruction::parse(capture->header.statement, target);
    if (!instruction) return instruction.error();
    instructions.push_back(*instruction);
  }
  ExecuteOptions execute_options;
  execute_options.undefined = options.undefined;
  return compare_all(*capture, instructions, execute_options);
}

Result<Comparison> compare_generated(std::span<const Instruction> instructions, const InputChoice& choice,
                                     std::uint64_t cases) {
  for (const Instruction& instruction : instructions)
    if (!is_sum_of_products(instruction)) return no_sum_of_products(instruction);
  const Result<std::vector<Array>> arrays = generated_capture(instructions[0], choice, 0, cases);
  if (!arrays) return arrays.error();
  return compare_all(capture_of(instructions[0], *arrays, cases), instructions, {});
}

std::string text(const ElementComparison& c, int columns) {
  const auto width = static_cast<std::size_t>(std::max(columns, 20));
  std::string out;
  for (const Explanation& e : c.explanations) out += wrapped(fmt::format("{}: {}", e.target, e.plan), width);
  const Explanation& first = c.explanations.front();
  out += cut_off(fmt::format("exact: {}", first.exact.decimal()), width) + "\n";
  if (first.nearest) out += fmt::format("nearest: {}\n", code_text(first.format, *first.nearest));
  for (const std::string& reason : c.reasons)
    if (!reason.empty()) out += wrapped(reason, width);
  return out;
}

// ---- The search

namespace {

// Two instructions, and inputs that they disagree about.
class Shrinker {
 public:
  Shrinker(const Instruction& x, const Instruction& y, ElementInputs inputs)
      : x_(std::get<Tile>(x.decoded().kernel)),
        y_(std::get<Tile>(y.decoded().kernel)),
        in_(std::move(inputs)) {}

  ElementInputs run() {
    for (bool smaller = true; smaller;) {
      smaller = false;
      for (std::size_t k = 0; k < in_.a.size(); ++k) smaller = without(k) || smaller;
      smaller = replaced(in_.c, {0, nearest_power(*x_.c.format, in_.c)}) || smaller;
      for (std::size_t k = 0; k < in_.a.size(); ++k) {
        smaller = simpler(*x_.a.format, in_.a[k]) || smaller;
        smaller = simpler(*x_.b.format, in_.b[k]) || smaller;
      }
    }
    return in_;
  }

 private:
  bool differ() const {
    const ElementCodes codes{in_.a, in_.b, in_.c, in_.a_scale, in_.b_scale};
    return run_element(x_, codes) != run_element(y_, codes);
  }

  bool without(std::size_t k) {
    if (in_.a[k] == 0 && in_.b[k] == 0) return false;
    const std::uint64_t a = std::exchange(in_.a[k], 0), b = std::exchange(in_.b[k], 0);
    if (differ()) return true;
    in_.a[k] = a;
    in_.b[k] = b;
    return false;
  }

  // The first of the candidates with which they still differ, up to the code itself.
  bool replaced(std::uint64_t& code, std::initializer_list<std::uint64_t> candidates) {
    const std::uint64_t before = code;
    for (const std::uint64_t candidate : candidates) {
      if (candidate == before) break;
      code = candidate;
      if (differ()) return true;
    }
    code = before;
    return false;
  }

  bool simpler(const Format& f, std::uint64_t& code) {
    if (f.is_integer || code == 0) return false;
    const std::uint64_t one = encode(f, {false, 1, 0}, Rounding::nearest_even, Overflow::saturate);
    const std::uint64_t fraction = (std::uint64_t{1} << (f.fraction_bits + f.ignored_low)) - 1;
    // At last without the lowest bit of its fraction.
    const std::uint64_t shorter = (code & fraction) != 0 ? code & (code - 1) : code;
    return replaced(code, {one, nearest_power(f, code), shorter});
  }

  // The number without its fraction.
  static std::uint64_t nearest_power(const Format& f, std::uint64_t code) {
    const Decoded d = decode(f, code);
    if (f.is_integer || d.cls != Class::finite) return code;
    const int top = bit_length(d.significand) - 1;
    return encode(f, {d.negative, 1, d.exponent - f.fraction_bits + top}, Rounding::toward_zero,
                  Overflow::saturate);
  }

  const Tile &x_, &y_;
  ElementInputs in_;
};

std::optional<ElementInputs> find_among_probes(const Instruction& x, const Instruction& y,
                                               std::uint64_t& tried) {
  const Result<Probes> all = probes(x);
  if (!all) return std::nullopt;
  for (const Probe& probe : all->probes) {
    ++tried;
    const Result<Element> other = execute_element(y, {probe.a, probe.b, probe.c, probe.a_scale, probe.b_scale});
    if (other && other->code != probe.d)
      return ElementInputs{probe.a, probe.b, probe.c, probe.a_scale, probe.b_scale};
  }
  return std::nullopt;
}

// Inputs of the profile, in case and place of the first difference.
Result<std::optional<ElementInputs>> find_among_generated(const Instruction& x, const Instruction& y,
                                                          inputs::Profile profile, std::uint64_t& tried) {
  constexpr std::uint64_t kCases = 144;  // of `mixed` sixteen of each profile
  const Result<std::vector<Array>> arrays = generated_capture(x, {0, profile}, 0, kCases);
  if (!arrays) return arrays.error();
  const LoadedCapture capture = capture_of(x, *arrays, kCases);
  const Instruction both[] = {x, y};
  const Result<Comparison> comparison = compare_all(capture, both, {});
  if (!comparison) return comparison.error();
  tried += comparison->elements;
  if (!comparison->first) return std::optional<ElementInputs>();
  const Result<OwnedElementCodes> codes =
      codes_of_element(capture, comparison->first->index, comparison->first->at, {});
  if (!codes) return codes.error();
  return std::optional(inputs_of(*codes));
}

}  // namespace

Result<DifferenceSearch> find_difference(const Instruction& x, const Instruction& y) {
  for (const Instruction* instruction : {&x, &y})
    if (!is_sum_of_products(*instruction)) return no_sum_of_products(*instruction);
  if (x.canonical() != y.canonical())
    return Error{Errc::view_mismatch, std::string(x.canonical()), std::string(y.canonical()),
                 "the same form on another target"};
  DifferenceSearch out;
  const Tile &of_x = std::get<Tile>(x.decoded().kernel), &of_y = std::get<Tile>(y.decoded().kernel);
  out.equal_plans = *of_x.plan == *of_y.plan;
  if (out.equal_plans) return out;
  std::optional<ElementInputs> found = find_among_probes(x, y, out.tried);
  if (!found) found = find_among_probes(y, x, out.tried);
  for (const inputs::Profile profile : {inputs::Profile::ordinary, inputs::Profile::mixed}) {
    if (found) break;
    Result<std::optional<ElementInputs>> generated = find_among_generated(x, y, profile, out.tried);
    if (!generated) return generated.error();
    found = std::move(*generated);
  }
  if (!found) return out;
  const ElementInputs small = Shrinker(x, y, *found).run();
  const Instruction both[] = {x, y};
  const Result<ElementComparison> comparison = compare_element(both, small.sources());
  if (!comparison) return comparison.error();
  out.found = {small, *comparison};
  return out;
}

}  // namespace warpbit
