// SPDX-License-Identifier: Apache-2.0
#include "diagnose/product.hpp"

#include <fmt/format.h>

#include <cstring>
#include <variant>

#include "api/checks.hpp"
#include "diagnose/elements.hpp"
#include "diagnose/hypothesis.hpp"
#include "isa/instruction.hpp"
#include "numeric/formats.hpp"

namespace warpbit::diagnosis {
namespace {

// More takes too long, and shows no more.
constexpr std::size_t kMostElements = std::size_t{1} << 20;  // of a matrix
constexpr std::uint64_t kMostProducts = std::uint64_t{1} << 26;

Codes codes_of(int bits, const MatrixView& view, std::size_t rows, std::size_t columns) {
  const std::size_t bytes = code_bytes(bits);
  Codes out{static_cast<int>(rows), static_cast<int>(columns), std::vector<std::uint64_t>(rows * columns)};
  const std::uint64_t mask = ones(bits);
  for (std::size_t n = 0; view.data != nullptr && n < out.codes.size(); ++n) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(n / columns) * view.row_stride +
                              static_cast<std::ptrdiff_t>(n % columns) * view.column_stride;
    std::memcpy(&out.codes[n],
                static_cast<const std::byte*>(view.data) + at * static_cast<std::ptrdiff_t>(bytes), bytes);
    out.codes[n] &= mask;
  }
  return out;
}

// Whether an element of a factor decides anything in what is computed.
bool is_needed(const Problem& problem, Part part, int row, int column) {
  const std::optional<PartOfD>& block = problem.block;
  if (!block) return true;
  if (part == Part::a) return block->has(row, block->column);
  return part != Part::b || block->has(block->row, column);
}

}  // namespace

Problem cases_of(const Problem& problem, std::uint64_t first, std::uint64_t count) {
  Problem out(warpbit::cases_of(static_cast<const LoadedCapture&>(problem), first, count));
  out.matrices = problem.matrices;
  out.first = problem.first + first;
  out.steps = problem.steps;
  out.runs = problem.runs;
  out.layout = problem.layout;
  out.store = problem.store;
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
  Run& run = out.runs.emplace_back();
  for (int step = 0; step < out.steps; ++step) run.emplace_back(step);
  out.layout = layout_of(instruction);
  const auto fill = [&](Part part, const Codes& codes) {
    return tiles_of(out, *find(out.layout->fragments, part),
                    [&](int row, int column) { return codes.at(row, column); });
  };
  out.expected = fill(Part::d, out.matrices->d);
  const auto operands = instruction.operands();
  for (std::size_t i = 1; i < operands.size(); ++i) {
    Array& to = out.sources[i - 1];
    if (operands[i].part == Part::a) to = fill(Part::a, out.matrices->a);
    if (operands[i].part == Part::b) to = fill(Part::b, out.matrices->b);
    if (operands[i].part == Part::c) to = fill(Part::c, out.matrices->c);
  }
  if (instruction.find(Part::c) == nullptr) out.before = fill(Part::c, out.matrices->c);
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
          const int row = origin.row + at.row, column = origin.column + at.column;
          if (is_needed(problem, fragment.part(), row, column))
            word |= code(row, column) << fragment.packing().low_bit_of(static_cast<int>(e));
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
  const int row = origin.row + at.row, column = origin.column + at.column;
  return problem.matrices->d.has(row, column) && (!problem.block || problem.block->has(row, column));
}

Result<const Format*> stored_format(const Instruction& i, std::string_view name) {
  if (name.empty()) return nullptr;
  const Format *out = find_format(name), &sum = *find_format(i.operands()[0].format);
  const bool is_known = out == &sum || (out != nullptr && !sum.is_integer && !out->is_integer &&
                                        out->bits >= 16 && out->ignored_low == 0 && out->bits <= sum.bits);
  if (is_known) return out == &sum ? nullptr : out;
  return mismatch(i, fmt::format("D is stored in {}", name),
                  sum.is_integer ? std::string(sum.name)
                                 : fmt::format("{}, or f16 or bf16 where it is narrower", sum.name));
}

// What an instruction is instead of a dense product whose steps follow each other.
std::string_view other_than_product(const Instruction& i, const Tile* tile) {
  if (tile == nullptr || i.find(Part::a) == nullptr || i.find(Part::b) == nullptr)
    return "it is no product of matrices";
  if (i.find(Part::scale_a) != nullptr) return "its blocks are scaled";
  if (i.terms() != i.depth()) return "its A is sparse";
  if (i.products() != 1) return "it is several products";
  return "its C is not of the format of D";
}

Result<Matrices> matrices_of(const Instruction& i, const Gemm& g, const Format* store) {
  const std::string accepted =
      "a dense product of matrices, of a warp or of a warpgroup, C in the format of D, without block scaling, as "
      "mma.m16n8k16.f32.f16";
  const Operand *a = i.find(Part::a), *b = i.find(Part::b), *c = i.find(Part::c);
  const Operand& d = i.operands()[0];
  const Tile* tile = std::get_if<Tile>(&i.decoded().kernel);
  const bool known = tile != nullptr && a && b && i.terms() == i.depth() && i.find(Part::scale_a) == nullptr &&
                     i.products() == 1 && (i.uses_memory() || (c && c->registers > 0 && c->format == d.format));
  if (!known) return mismatch(i, std::string(other_than_product(i, tile)), accepted);
  if (tile->starts_at_zero)
    return mismatch(i, "scale-d is 0", "1 or a predicate: D of one step is C of the next");
  for (const Operand& operand : i.operands())
    if (!operand.literals.empty() && operand.registers > 0)
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
  const auto whole = [](std::size_t x, int size) {
    return (x + static_cast<std::size_t>(size) - 1) / static_cast<std::size_t>(size) *
           static_cast<std::size_t>(size);
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
  const Format& sum = *find_format(d.format);
  Matrices out{codes_of(a->element_bits, g.a, g.rows, g.depth),
               codes_of(b->element_bits, g.b, g.depth, g.columns),
               codes_of(d.element_bits, g.c, g.rows, g.columns),
               codes_of(store ? store->bits : d.element_bits, {g.d.data, g.d.row_stride, g.d.column_stride},
                        g.rows, g.columns)};
  for (std::uint64_t& code : out.d.codes)
    if (store) code = rounded_to(sum, *store, code);
  return out;
}

}  // namespace warpbit::diagnosis
