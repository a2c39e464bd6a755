// SPDX-License-Identifier: Apache-2.0
#include "diagnose/product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "api/checks.hpp"
#include "diagnose/elements.hpp"
#include "diagnose/hypothesis.hpp"
#include "numeric/value.hpp"
#include "replay/execute_capture.hpp"

namespace warpbit::diagnosis {
namespace {

// More takes too long, and shows no more.
constexpr std::size_t kMostElements = std::size_t{1} << 20;  // of a matrix
constexpr std::uint64_t kMostProducts = std::uint64_t{1} << 26;

ExecuteOptions options_of_trial() {
  ExecuteOptions out;
  out.undefined = Undefined::as_measured;
  out.threads = 1;
  return out;
}

// One run of steps of K, from C or from 0.
Result<Array> execute_run(const Problem& p, const std::vector<int>& run, const Array& c) {
  const auto operands = p.instruction.operands();
  Array out = c;
  out.header = p.expected.header;
  const auto dense = [&](const Array& array, const Operand& op) {
    return OperandView::dense(array.data.data(), p.instruction.lanes(), op.registers, op.register_bits);
  };
  const OperandView d = dense(out, operands[0]);
  for (const int step : run) {
    std::vector<OperandView> views;
    for (std::size_t i = 0; i < p.sources.size(); ++i) {
      const Operand& op = operands[i + 1];
      OperandView view = op.part == Part::c ? d : dense(p.sources[i], op);
      if (op.part != Part::c) {
        view.base += step * view.case_stride;
        view.case_stride *= p.steps;
      }
      views.push_back(view);
    }
    const ResultView result = ResultView::dense(out.data.data(), p.instruction.lanes(), operands[0].registers,
                                                operands[0].register_bits);
    const Result<Execution> done = execute_batch(p.instruction, views, result, p.cases, options_of_trial());
    if (!done) return done.error();
  }
  return out;
}

Codes codes_of(const Operand& operand, const MatrixView& view, std::size_t rows, std::size_t columns) {
  const std::size_t bytes = code_bytes(operand.element_bits);
  Codes out{static_cast<int>(rows), static_cast<int>(columns), std::vector<std::uint64_t>(rows * columns)};
  const std::uint64_t mask = operand.fragment.packing().mask();
  for (std::size_t n = 0; view.data != nullptr && n < out.codes.size(); ++n) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(n / columns) * view.row_stride +
                              static_cast<std::ptrdiff_t>(n % columns) * view.column_stride;
    std::memcpy(&out.codes[n],
                static_cast<const std::byte*>(view.data) + at * static_cast<std::ptrdiff_t>(bytes), bytes);
    out.codes[n] &= mask;
  }
  return out;
}

}  // namespace

Problem cases_of(const Problem& problem, std::uint64_t first, std::uint64_t count) {
  Problem out(warpbit::cases_of(static_cast<const LoadedCapture&>(problem), first, count));
  out.matrices = problem.matrices;
  out.first = problem.first + first;
  out.steps = problem.steps;
  out.runs = problem.runs;
  return out;
}

Problem problem_of(const Instruction& instruction, std::shared_ptr<const Matrices> matrices,
                   std::uint64_t first, std::optional<std::uint64_t> count) {
  const auto tiles = [](int n, int size) { return static_cast<std::uint64_t>((n + size - 1) / size); };
  const std::uint64_t all =
      tiles(matrices->d.rows, instruction.rows()) * tiles(matrices->d.columns, instruction.columns());
  Problem out(LoadedCapture({instruction.text(), std::string(instruction.target().name()),
                             CaptureLayout::registers, CaptureSource::model, "{}"},
                            instruction, count.value_or(all)));
  out.matrices = std::move(matrices);
  out.first = first;
  out.steps = static_cast<int>(tiles(out.matrices->depth(), instruction.depth()));
  out.runs = {std::vector<int>(static_cast<std::size_t>(out.steps))};
  std::iota(out.runs[0].begin(), out.runs[0].end(), 0);
  const auto fill = [&](Part part, const Operand& op, const Codes& codes) {
    return tiles_of(out, Fragment(part, op, instruction.lanes()),
                    [&](int row, int column) { return codes.at(row, column); });
  };
  const auto operands = instruction.operands();
  out.expected = fill(Part::d, operands[0], out.matrices->d);
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const Operand& op = operands[i];
    out.sources[i - 1] = fill(op.part, op,
                              op.part == Part::a   ? out.matrices->a
                              : op.part == Part::b ? out.matrices->b
                                                   : out.matrices->c);
  }
  return out;
}

Array tiles_of(const Problem& problem, const Fragment& fragment,
               const std::function<std::uint64_t(int, int)>& code) {
  const Operand& op = fragment.op();
  const bool is_factor = fragment.part() == Part::a || fragment.part() == Part::b;
  const int steps = is_factor ? problem.steps : 1;
  Array out =
      Array::zeros(op.label, static_cast<std::size_t>(op.register_bits / 8),
                   {problem.cases, static_cast<std::uint64_t>(steps),
                    static_cast<std::uint64_t>(fragment.lanes()), static_cast<std::uint64_t>(op.registers)});
  const auto per = static_cast<std::size_t>(fragment.per_register());
  std::uint64_t item = 0;
  for (std::uint64_t n = 0; n < problem.cases; ++n)
    for (int step = 0; step < steps; ++step) {
      const Coordinate origin = problem.origin(fragment.part(), n, step);
      for (std::size_t slot = 0; slot < fragment.size(); slot += per) {
        std::uint64_t word = 0;
        for (std::size_t e = 0; e < per; ++e) {
          const Coordinate& at = fragment.at(slot + e);
          word |= code(origin.row + at.row, origin.column + at.column)
                  << fragment.packing().low_bit_of(static_cast<int>(e));
        }
        out.set(item++, word);
      }
    }
  return out;
}

Codes matrix_of(const Problem& problem, const Fragment& d, const Array& tiles) {
  Codes out = problem.matrices->d;
  const auto per = static_cast<std::size_t>(d.per_register());
  for (std::uint64_t n = 0; n < problem.cases; ++n)
    for (std::size_t slot = 0; slot < d.size(); ++slot) {
      const Coordinate origin = problem.origin(Part::d, n, 0), at = d.at(slot);
      if (!out.has(origin.row + at.row, origin.column + at.column)) continue;
      out.codes[out.index(origin.row + at.row, origin.column + at.column)] =
          tiles.at((n * d.size() + slot) / per) >> d.packing().low_bit_of(static_cast<int>(slot % per)) &
          d.packing().mask();
    }
  return out;
}

bool is_inside(const Problem& problem, const Fragment& d, std::size_t element) {
  if (!problem.matrices) return true;
  const Coordinate origin = problem.origin(Part::d, element / d.size(), 0), at = d.at(element % d.size());
  return problem.matrices->d.has(origin.row + at.row, origin.column + at.column);
}

Array sum_of(const Fragment& fragment, const Array& x, const Array& y) {
  const Format& f = *find_format(fragment.op().format);
  const Packing& packing = fragment.packing();
  const auto add = [&](std::uint64_t p, std::uint64_t q) {
    if (f.is_integer) return (p + q) & f.mask();
    const Value total = sum(value_of(decode(f, p), f), value_of(decode(f, q), f), Rounding::nearest_even);
    return round(f, total, Rounding::nearest_even);
  };
  Array out = x;
  for (std::uint64_t i = 0; i < x.header.items(); ++i)
    out.set(i, with_elements(packing, x.at(i), [&](std::uint64_t code, int low) {
              return add(code, y.at(i) >> low & packing.mask());
            }));
  return out;
}

Result<Array> execute_trial(const Problem& problem) {
  if (!problem.matrices) return execute(problem, options_of_trial());
  const Array& c = *array_of(problem, Part::c);
  const Fragment d(Part::d, problem.instruction.operands()[0], problem.instruction.lanes());
  Array zero = c;
  std::ranges::fill(zero.data, std::byte{0});
  Result<Array> out = execute_run(problem, problem.runs.at(0), c);
  for (std::size_t i = 1; i < problem.runs.size() && out.ok(); ++i) {
    const Result<Array> more = execute_run(problem, problem.runs[i], zero);
    if (!more) return more;
    out = sum_of(d, *out, *more);
  }
  return out;
}

Result<Matrices> matrices_of(const Instruction& i, const Gemm& g) {
  const std::string accepted =
      "a dense product of matrices in registers, C in the format of D, without block scaling";
  const Operand *a = i.find(Part::a), *b = i.find(Part::b), *c = i.find(Part::c);
  const bool known = i.depth() != 0 && !i.uses_memory() && a && b && c && c->registers > 0 &&
                     i.terms() == i.depth() && i.find(Part::scale_a) == nullptr &&
                     a->fragment.products() == 1 && c->format == i.operands()[0].format;
  if (!known) return mismatch(i, "it is no such product", accepted);
  for (const Operand& operand : i.operands())
    if (!operand.literals.empty())
      return mismatch(i, fmt::format("literals in {}", operand.role), "registers, or no operands at all");
  if (g.rows == 0 || g.columns == 0 || g.depth == 0 || !g.a.data || !g.b.data || !g.d.data)
    return mismatch(i, fmt::format("A is {} x {}, B {} x {}", g.rows, g.depth, g.depth, g.columns),
                    "matrices with elements, A, B and D");
  const auto exceeds = [](std::size_t x, std::size_t y, std::size_t most) { return x > most / y; };
  const auto too_large = [&](std::size_t rows, std::size_t columns, std::size_t depth) {
    return exceeds(rows, depth, kMostElements) || exceeds(depth, columns, kMostElements) ||
           exceeds(rows, columns, kMostElements) || exceeds(rows * columns, depth, kMostProducts);
  };
  // Whole tiles are computed, so that these count.
  const auto whole = [](std::size_t x, int tile) {
    return (x + static_cast<std::size_t>(tile) - 1) / static_cast<std::size_t>(tile) *
           static_cast<std::size_t>(tile);
  };
  const bool large =
      too_large(g.rows, g.columns, g.depth) ||
      too_large(whole(g.rows, i.rows()), whole(g.columns, i.columns()), whole(g.depth, i.depth()));
  if (large)
    return mismatch(
        i, fmt::format("{} rows, {} columns, depth {}", g.rows, g.columns, g.depth),
        fmt::format("at most {} elements of a matrix and {} products: fewer rows and columns, over the "
                    "whole K, show a mistake as well",
                    kMostElements, kMostProducts));
  const Operand& d = i.operands()[0];
  return Matrices{codes_of(*a, g.a, g.rows, g.depth), codes_of(*b, g.b, g.depth, g.columns),
                  codes_of(d, g.c, g.rows, g.columns),
                  codes_of(d, {g.d.data, g.d.row_stride, g.d.column_stride}, g.rows, g.columns)};
}

}  // namespace warpbit::diagnosis
