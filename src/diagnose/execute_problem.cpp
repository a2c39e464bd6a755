// SPDX-License-Identifier: Apache-2.0
// The library's answer for what is diagnosed: a capture, or the chains of instructions for the tiles of D.
#include <algorithm>

#include "diagnose/elements.hpp"
#include "diagnose/hypothesis.hpp"
#include "numeric/formats.hpp"
#include "replay/execute_capture.hpp"

namespace warpbit::diagnosis {
namespace {

ExecuteOptions options_of_trial() {
  ExecuteOptions out;
  out.undefined = Undefined::as_measured;
  out.threads = 1;
  return out;
}

// ---- Operands in registers

// One run of steps of K, from C or from 0.
Result<Array> execute_registers(const Problem& p, const Run& run, const Array& c) {
  const auto operands = p.instruction.operands();
  Array out = c;
  out.header = p.expected.header;
  const auto dense = [&](const Array& array, const Operand& op) {
    return OperandView::dense(array.data.data(), p.instruction.lanes(), op.registers, op.register_bits);
  };
  const OperandView d = dense(out, operands[0]);
  for (const Step& step : run) {
    std::vector<OperandView> views;
    for (std::size_t i = 0; i < p.sources.size(); ++i) {
      const Operand& op = operands[i + 1];
      OperandView view = op.part == Part::c ? d : dense(p.sources[i], op);
      if (op.part != Part::c) {
        view.base += (op.part == Part::a ? step.a : step.b) * view.case_stride;
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

// ---- Factors in shared memory

std::uint64_t code_at(const Array& tiles, const Fragment& f, std::uint64_t tile, const Coordinate& at) {
  const auto slot = static_cast<std::size_t>(f.slot_at(at)), per = static_cast<std::size_t>(f.per_register());
  return tiles.at((tile * f.size() + slot) / per) >> f.packing().low_bit_of(static_cast<int>(slot % per)) &
         f.packing().mask();
}
void set_code(Array& tiles, const Fragment& f, std::uint64_t tile, const Coordinate& at, std::uint64_t code) {
  const auto slot = static_cast<std::size_t>(f.slot_at(at)), per = static_cast<std::size_t>(f.per_register());
  const std::uint64_t item = (tile * f.size() + slot) / per;
  const int low = f.packing().low_bit_of(static_cast<int>(slot % per));
  tiles.set(item, (tiles.at(item) & ~(f.packing().mask() << low)) | code << low);
}

// Codes in items of 64 bits, as gemm() takes them.
MatrixView items_of(const Codes& codes, const Fragment& f) {
  const auto items = static_cast<std::ptrdiff_t>(sizeof(std::uint64_t) / code_bytes(f.op().element_bits));
  return {codes.codes.data(), codes.columns * items, items};
}

// A run for the tiles of D as products of matrices, whose steps lie side by side.
class MemoryRun {
 public:
  MemoryRun(const Problem& p, const Run& run, const Array& c)
      : p_(p), run_(run), c_(c), a_(of(Part::a)), b_(of(Part::b)), d_(of(Part::d)) {}

  Result<Array> operator()() const {
    Array out = c_;
    out.header = p_.expected.header;
    for (std::uint64_t n = 0; n < p_.cases; ++n) {
      const PartOfD part = part_of(n);
      const Codes a = factor(a_, n, part), b = factor(b_, n, part);
      Codes d{part.rows, part.columns, std::vector<std::uint64_t>(std::size_t(part.rows * part.columns))};
      for_each(part, d, [&](const Coordinate& at, std::uint64_t& code) { code = code_at(c_, d_, n, at); });
      const MatrixView view = items_of(d, d_);
      Gemm product{static_cast<std::size_t>(d.rows),
                   static_cast<std::size_t>(d.columns),
                   static_cast<std::size_t>(a.columns),
                   items_of(a, a_),
                   items_of(b, b_),
                   view,
                   {d.codes.data(), view.row_stride, view.column_stride}};
      GemmOptions options;
      options.execute = options_of_trial();
      if (const Result<Execution> done = gemm(p_.instruction, product, options); !done) return done.error();
      for_each(part, d, [&](const Coordinate& at, std::uint64_t code) { set_code(out, d_, n, at, code); });
    }
    return out;
  }

 private:
  const Fragment& of(Part part) const { return *find(p_.layout->fragments, part); }

  // What is computed of a tile of D, counted in it.
  PartOfD part_of(std::uint64_t n) const {
    const PartOfD whole{0, 0, p_.instruction.rows(), p_.instruction.columns()};
    if (!p_.block) return whole;
    const Coordinate origin = p_.origin(Part::d, n, 0);
    const int row = std::clamp(p_.block->row - origin.row, 0, whole.rows),
              column = std::clamp(p_.block->column - origin.column, 0, whole.columns);
    return {row, column, std::min(p_.block->rows, whole.rows - row),
            std::min(p_.block->columns, whole.columns - column)};
  }
  template <class Use>
  static void for_each(const PartOfD& part, Codes& d, Use use) {
    for (int row = 0; row < d.rows; ++row)
      for (int column = 0; column < d.columns; ++column)
        use(Coordinate{part.row + row, part.column + column}, d.codes[d.index(row, column)]);
  }

  Codes factor(const Fragment& f, std::uint64_t n, const PartOfD& part) const {
    const bool is_a = f.part() == Part::a;
    const int depth = p_.instruction.depth(), all = depth * static_cast<int>(run_.size()),
              lines = is_a ? part.rows : part.columns, first = is_a ? part.row : part.column;
    Codes out{is_a ? lines : all, is_a ? all : lines, std::vector<std::uint64_t>(std::size_t(lines * all))};
    const Array& tiles = *array_of(p_, f.part());
    for (int k = 0; k < all; ++k) {
      const Step& step = run_[static_cast<std::size_t>(k / depth)];
      const std::uint64_t tile =
          n * static_cast<std::uint64_t>(p_.steps) + static_cast<std::uint64_t>(is_a ? step.a : step.b);
      for (int line = 0; line < lines; ++line) {
        const Coordinate at = is_a ? Coordinate{first + line, k % depth} : Coordinate{k % depth, first + line};
        out.codes[is_a ? out.index(line, k) : out.index(k, line)] = code_at(tiles, f, tile, at);
      }
    }
    return out;
  }

  const Problem& p_;
  const Run& run_;
  const Array& c_;
  const Fragment &a_, &b_, &d_;
};

Result<Array> execute_run(const Problem& p, const Run& run, const Array& c) {
  return p.instruction.uses_memory() ? MemoryRun(p, run, c)() : execute_registers(p, run, c);
}

}  // namespace

Array sum_of(const Fragment& fragment, const Array& x, const Array& y) {
  const Format& f = *find_format(fragment.op().format);
  const Packing& packing = fragment.packing();
  const auto add = [&](std::uint64_t p, std::uint64_t q) {
    if (f.is_integer) return (p + q) & f.mask();
    const Value total = sum(value_of(decode(f, p), f), value_of(decode(f, q), f), Rounding::nearest_even);
    return round(f, total, Rounding::nearest_even);
  };
  Array out = x;
  for (std::uint64_t i = 0, n = x.header.items(); i < n; ++i)
    out.set(i, with_elements(packing, x.at(i), [&](std::uint64_t code, int low) {
              return add(code, y.at(i) >> low & packing.mask());
            }));
  return out;
}

Result<Array> execute_trial(const Problem& problem) {
  if (!problem.matrices) return execute(problem, options_of_trial());
  const Array& c = *array_of(problem, Part::c);
  const Fragment& d = *find(problem.layout->fragments, Part::d);
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

}  // namespace warpbit::diagnosis
