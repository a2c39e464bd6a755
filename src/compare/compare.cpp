// SPDX-License-Identifier: Apache-2.0
#include "warpbit/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compare/compare_inputs.hpp"
#include "compare/judge.hpp"
#include "explain/chain.hpp"
#include "explain/words.hpp"
#include "numeric/formats.hpp"
#include "replay/execute_capture.hpp"
#include "text/wrapped.hpp"
#include "threads.hpp"
#include "warpbit/format.hpp"

namespace warpbit {

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

// ---- One element

Result<ElementComparison> compare_element(std::span<const Computation> computations,
                                          const ElementCodes& element) {
  const Result<std::vector<Chain>> chains = find_chains(computations, element.a.size());
  if (!chains) return chains.error();
  const std::vector<std::string> names = distinct_names(computations);
  ElementComparison out;
  for (std::size_t i = 0; i < chains->size(); ++i) {
    Result<Explanation> explanation = explain_checked((*chains)[i], element);
    if (!explanation) return explanation.error();
    explanation->name = names[i];
    out.explanations.push_back(std::move(*explanation));
    out.reasons.push_back(difference(out.explanations.front(), out.explanations.back()));
  }
  return out;
}

// ---- Many

std::vector<ElementInputs> inputs_along_k(std::span<const LoadedCapture> captures, std::uint64_t index,
                                          std::span<const Coordinate> elements) {
  std::vector<ElementInputs> out = codes_of_executed(captures[0], index, elements);
  for (const LoadedCapture& capture : captures.subspan(1)) {
    const std::vector<ElementInputs> codes = codes_of_executed(capture, index, elements);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i].a.insert(out[i].a.end(), codes[i].a.begin(), codes[i].a.end());
      out[i].b.insert(out[i].b.end(), codes[i].b.begin(), codes[i].b.end());
    }
  }
  return out;
}

namespace {

// What was found over one K, with the first element that is not the same everywhere.
Result<Comparison> comparison_of(std::span<const LoadedCapture> captures,
                                 std::span<const Computation> computations, std::span<const Chain> chains,
                                 std::span<const Judged> judged) {
  Comparison out;
  out.cases = captures[0].cases;
  out.elements = judged.front().elements;
  out.depth = chains[0].depth;
  out.names = distinct_names(computations);
  out.format = chains[0].tile->d.format->name;
  const Mismatch* first = nullptr;
  for (const Judged& j : judged) {
    out.results.push_back(j.results);
    if (j.first && (first == nullptr || j.first->index < first->index)) first = &*j.first;
  }
  if (first == nullptr) return out;
  const Coordinate at{std::max(first->row, 0), std::max(first->column, 0), first->product};
  ElementInputs inputs = inputs_along_k(captures, first->index, {&at, 1})[0];
  if (inputs.a.size() > chains[0].depth) {
    inputs.a.resize(chains[0].depth);
    inputs.b.resize(chains[0].depth);
  }
  const Result<ElementComparison> comparison = compare_element(computations, inputs);
  if (!comparison) return comparison.error();
  out.first = {first->index, at, *comparison, inputs};
  return out;
}

}  // namespace

Result<std::vector<Comparison>> compare_inputs(std::span<const LoadedCapture> captures,
                                               std::span<const Computation> computations,
                                               std::span<const std::size_t> depths,
                                               const ExecuteOptions& options,
                                               const std::function<void(std::uint64_t)>& progress) {
  std::vector<std::vector<Chain>> chains;
  for (const std::size_t depth : depths) {
    Result<std::vector<Chain>> of_depth = find_chains(computations, depth);
    if (!of_depth) return of_depth.error();
    chains.push_back(*std::move(of_depth));
  }
  if (const Result<void> fits = check_formats(captures[0].instruction, computations[0].instruction); !fits)
    return fits.error();
  const Result<std::vector<std::vector<Judged>>> judged = judge(captures, chains, options, progress);
  if (!judged) return judged.error();
  std::vector<Comparison> out;
  for (std::size_t i = 0; i < depths.size(); ++i) {
    Result<Comparison> comparison = comparison_of(captures, computations, chains[i], (*judged)[i]);
    if (!comparison) return comparison.error();
    out.push_back(*std::move(comparison));
  }
  return out;
}

Result<Comparison> compare_inputs(std::span<const LoadedCapture> captures,
                                  std::span<const Computation> computations, const ExecuteOptions& options,
                                  const std::function<void(std::uint64_t)>& progress) {
  const std::size_t depth = captures.size() * static_cast<std::size_t>(captures[0].instruction.terms());
  Result<std::vector<Comparison>> out = compare_inputs(captures, computations, {&depth, 1}, options, progress);
  if (!out) return out.error();
  return std::move(out->front());
}

Result<Comparison> compare_capture(const std::filesystem::path& path, std::span<const Computation> computations,
                                   const ReplayOptions& options) {
  const Result<LoadedCapture> capture = load_capture(path, options);
  return capture ? compare_inputs({&*capture, 1}, computations, execute_options(options)) : capture.error();
}

Result<std::vector<LoadedCapture>> inputs_along_steps(std::span<const Computation> computations,
                                                      const InputChoice& choice, std::uint64_t first,
                                                      std::uint64_t cases, std::size_t depth) {
  const auto deepest =
      std::ranges::max_element(computations, {}, [](const Computation& c) { return c.instruction.terms(); });
  // Refused before anything is generated.
  if (const Result<std::vector<Chain>> chains = find_chains(computations, depth); !chains)
    return chains.error();
  const auto terms = static_cast<std::size_t>(deepest->instruction.terms());
  std::vector<LoadedCapture> out;
  InputChoice of_step = choice;
  for (std::size_t k = 0; k < std::max<std::size_t>(depth, 1); k += terms, ++of_step.seed) {
    end_if(stop_flag());
    Result<LoadedCapture> capture = generated_inputs(deepest->instruction, of_step, first, cases);
    if (!capture) return capture.error();
    out.push_back(*std::move(capture));
  }
  return out;
}

Result<Comparison> compare_generated(std::span<const Computation> computations, const InputChoice& choice,
                                     std::uint64_t cases, std::size_t depth, Shard shard,
                                     const std::function<void(std::uint64_t)>& progress) {
  const auto [first, own] = shard.range(cases);
  const Result<std::vector<LoadedCapture>> captures =
      inputs_along_steps(computations, choice, first, own, depth);
  if (!captures) return captures.error();
  Result<Comparison> out = compare_inputs(*captures, computations, {}, progress);
  if (out && out->first) out->first->index += first;
  return out;
}

Result<Comparison> merge(std::span<const Comparison> shares) {
  if (shares.empty()) return Error{Errc::usage, "merge", "no share", "one or more"};
  Comparison out = shares[0];
  for (const Comparison& share : shares.subspan(1)) {
    if (share.results.size() != out.results.size())
      return Error{Errc::usage, "merge",
                   fmt::format("shares of {} and of {} computations", out.results.size(), share.results.size()),
                   "shares of the same computations"};
    out.cases += share.cases;
    out.elements += share.elements;
    for (std::size_t i = 0; i < out.results.size(); ++i) add(out.results[i], share.results[i]);
    if (share.first && (!out.first || share.first->index < out.first->index)) out.first = share.first;
  }
  return out;
}

std::string text(const ElementComparison& c, int columns) {
  const auto width = static_cast<std::size_t>(std::max(columns, 20));
  std::string out;
  for (const Explanation& e : c.explanations)
    out += wrapped(fmt::format("{}: {}", e.name, plan_text(e)), width);
  const Explanation& first = c.explanations.front();
  out += cut_off(fmt::format("exact: {}", first.exact.decimal()), width) + "\n";
  if (first.nearest) out += fmt::format("nearest: {}\n", code_text(first.format, *first.nearest));
  for (const std::string& reason : c.reasons)
    if (!reason.empty()) out += wrapped(reason, width);
  return out;
}

}  // namespace warpbit
