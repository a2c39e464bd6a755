// SPDX-License-Identifier: Apache-2.0
// All elements by several computations: each case is read once, computed by each, and judged.
#include "compare/judge.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "compare/compare_inputs.hpp"
#include "compare/exact_sum.hpp"
#include "replay/execute_capture.hpp"
#include "threads.hpp"
#include "warpbit/gemm.hpp"

namespace warpbit {
namespace {

constexpr std::size_t kHeldFactors = std::size_t{1} << 20;  // of the elements that are read at once

// ---- One product of one case

// Codes of a matrix, row by row, as gemm takes them.
struct Matrix {
  std::size_t item;
  std::vector<std::byte> bytes;

  void set(std::size_t at, std::uint64_t code) {
    if (bytes.size() < (at + 1) * item) bytes.resize((at + 1) * item);
    std::memcpy(&bytes[at * item], &code, item);
  }
  std::uint64_t get(std::size_t at) const {
    std::uint64_t out = 0;
    std::memcpy(&out, &bytes[at * item], item);
    return out;
  }
};

// Matrices A, B (column by column) and C of a product.
struct Matrices {
  std::size_t rows, columns, depth;
  Matrix a, b, c;
};

Result<Matrix> product_of(const Chain& chain, const Matrices& m) {
  const auto across = static_cast<std::ptrdiff_t>(m.columns), down = static_cast<std::ptrdiff_t>(m.depth);
  Matrix d{code_bytes(chain.tile->d.format->bits), {}};
  d.bytes.resize(m.rows * m.columns * d.item);
  const Gemm problem{m.rows,
                     m.columns,
                     m.depth,
                     {m.a.bytes.data(), down, 1},
                     {m.b.bytes.data(), 1, down},
                     {m.c.bytes.data(), across, 1},
                     {d.bytes.data(), across, 1}};
  GemmOptions options;
  options.order = chain.computation->order;
  options.execute.threads = 1;
  const Result<Execution> executed = gemm(chain.computation->instruction, problem, options);
  if (!executed) return executed.error();
  return d;
}

// The factors of the elements of a row. Those of a dense A, and all of B, are the same in each.
class Factors {
 public:
  explicit Factors(const Tile& tile) : tile_(tile), is_dense_(!tile.sparsity.is_sparse()) {}

  void set_row(std::span<const ElementInputs> inputs) {
    const Tile& t = tile_;
    a_.clear();
    if (!is_dense_) b_.clear();
    for (const ElementInputs& in : inputs) {
      if (!is_dense_ || a_.empty()) a_.push_back(factors_of(t, t.a, t.a_scale, in.a, in.a_scale));
      if (b_.size() < inputs.size()) b_.push_back(factors_of(t, t.b, t.b_scale, in.b, in.b_scale));
    }
  }
  std::span<const Factor> a_of(std::size_t column) const { return a_[is_dense_ ? 0 : column]; }
  std::span<const Factor> b_of(std::size_t column) const { return b_[column]; }

 private:
  const Tile& tile_;
  bool is_dense_;
  std::vector<std::vector<Factor>> a_, b_;
};

// True if gemm computes what the chain does: a dense product of matrices that nothing negates.
bool is_gemm(const Chain& chain) {
  const Tile& t = *chain.tile;
  if (t.terms != t.depth || t.a_scale.is_present() || t.negate_a || t.negate_b || t.starts_at_zero)
    return false;
  const auto zeros = [&](const Format& f) {
    return Matrix{code_bytes(f.bits), std::vector<std::byte>((chain.depth + chain.terms()) * 8)};
  };
  return product_of(chain, {1, 1, chain.depth, zeros(*t.a.format), zeros(*t.b.format), zeros(*t.c.format)})
      .ok();
}

// ---- All cases

// Where the results of a computation come from.
struct Source {
  std::optional<Array> executed;  // by the instruction of the capture
  bool is_gemm = false;           // or else, or by the specification
};

class Judge {
 public:
  Judge(std::span<const LoadedCapture> captures, std::span<const Chain> chains)
      : captures_(captures), chains_(chains), d_(captures[0].instruction.operands()[0]) {
    const Instruction& i = captures[0].instruction;
    is_one_ = captures[0].header.layout == CaptureLayout::elements;
    end_ = is_one_ ? Coordinate{1, 1, 1} : Coordinate{i.rows(), i.columns(), i.products()};
    if (is_one_) return;
    for (Coordinate at{0, 0, 0}; at.product < end_.product; ++at.product)
      for (at.row = 0; at.row < end_.row; ++at.row)
        for (at.column = 0; at.column < end_.column; ++at.column)
          places_.push_back(d_.fragment.find(at).front());
  }

  // Errors: those of execute.
  Result<void> prepare(const ExecuteOptions& options) {
    for (const Chain& chain : chains_) {
      Source source;
      const Instruction& instruction = chain.computation->instruction;
      if (captures_.size() == 1 && chain.instructions() == 1 && chain.computation->order == SumOrder() &&
          instruction.canonical() == captures_[0].instruction.canonical()) {
        LoadedCapture other = captures_[0];
        other.instruction = instruction;
        Result<Array> got = execute(other, options);
        if (!got) return got.error();
        source.executed = std::move(*got);
      } else {
        source.is_gemm = !is_one_ && is_gemm(chain);
      }
      sources_.push_back(std::move(source));
    }
    return {};
  }

  std::vector<Judged> judge_case(std::uint64_t index) const {
    std::vector<Judged> out(chains_.size());
    for (int product = 0; product < end_.product; ++product) judge_product(index, product, out);
    return out;
  }

 private:
  // Results of a computation, in order of rows.
  using Codes = std::vector<std::uint64_t>;

  std::size_t item_of(std::uint64_t index, std::size_t element) const {
    if (is_one_) return index;
    const Place& place = places_[element];
    return (index * static_cast<std::uint64_t>(d_.fragment.lanes()) + static_cast<std::uint64_t>(place.lane)) *
               static_cast<std::uint64_t>(d_.registers) +
           static_cast<std::uint64_t>(place.reg);
  }

  void judge_product(std::uint64_t index, int product, std::vector<Judged>& out) const {
    const auto columns = static_cast<std::size_t>(end_.column), rows = static_cast<std::size_t>(end_.row);
    const Tile& t = *chains_[0].tile;
    Matrices m{rows,
               columns,
               chains_[0].depth,
               {code_bytes(t.a.format->bits), {}},
               {code_bytes(t.b.format->bits), {}},
               {code_bytes(t.c.format->bits), {}}};
    std::vector<Codes> results(chains_.size(), Codes(rows * columns));
    std::vector<ExactElement> exact(t.d.format->is_integer ? 0 : rows * columns, ExactElement(t));
    Factors factors(t);
    const bool needs_matrices = std::ranges::any_of(sources_, &Source::is_gemm);
    // Each reading of the inputs goes over the whole case.
    const std::size_t at_once = std::max<std::size_t>(1, kHeldFactors / (columns * m.depth));
    for (std::size_t first = 0; first < rows; first += at_once) {
      const std::size_t end = std::min(rows, first + at_once);
      std::vector<Coordinate> elements;
      for (std::size_t row = first; row < end; ++row)
        for (int column = 0; column < end_.column; ++column)
          elements.push_back({static_cast<int>(row), column, product});
      const std::vector<ElementInputs> inputs = inputs_along_k(captures_, index, elements);
      for (std::size_t row = first; row < end; ++row) {
        const std::span of_row = std::span(inputs).subspan((row - first) * columns, columns);
        if (!exact.empty()) {
          factors.set_row(of_row);
          for (std::size_t column = 0; column < columns; ++column)
            exact[row * columns + column].set(factors.a_of(column), factors.b_of(column), of_row[column].c);
        }
        run_chains(of_row, row * columns, results);
        if (needs_matrices) take(m, row, of_row);
      }
    }
    for (std::size_t n = 0; n < chains_.size(); ++n) read_results(m, n, index, product, results[n]);
    judge_elements(index, product, results, exact, out);
  }

  // By the specification, where nothing faster computes it.
  void run_chains(std::span<const ElementInputs> inputs, std::size_t first, std::vector<Codes>& results) const {
    for (std::size_t n = 0; n < chains_.size(); ++n)
      for (std::size_t i = 0; i < inputs.size() && !sources_[n].executed && !sources_[n].is_gemm; ++i)
        results[n][first + i] = run_chain(chains_[n], inputs[i]);
  }

  static void take(Matrices& m, std::size_t row, std::span<const ElementInputs> inputs) {
    for (std::size_t column = 0; column < m.columns; ++column) {
      m.c.set(row * m.columns + column, inputs[column].c);
      for (std::size_t k = 0; k < m.depth && row == 0; ++k) m.b.set(column * m.depth + k, inputs[column].b[k]);
    }
    for (std::size_t k = 0; k < m.depth; ++k) m.a.set(row * m.depth + k, inputs[0].a[k]);
  }

  // Those that were executed, or that gemm computes.
  void read_results(const Matrices& m, std::size_t n, std::uint64_t index, int product, Codes& out) const {
    if (sources_[n].executed) {
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::size_t element = static_cast<std::size_t>(product) * out.size() + i;
        const std::uint64_t item = sources_[n].executed->at(item_of(index, element));
        out[i] = is_one_ ? item : item >> places_[element].low_bit & places_[element].mask();
      }
    } else if (sources_[n].is_gemm) {
      const Result<Matrix> d = product_of(chains_[n], m);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = d->get(i);
    }
  }

  void judge_elements(std::uint64_t index, int product, const std::vector<Codes>& results,
                      const std::vector<ExactElement>& exact, std::vector<Judged>& out) const {
    Mismatch m = place_of(captures_[0], 0);
    m.index = index;
    m.product = product;
    for (std::size_t i = 0; i < results[0].size(); ++i) {
      const std::size_t element = static_cast<std::size_t>(product) * results[0].size() + i;
      if (!captures_[0].compared(item_of(index, element))) continue;
      m.row = static_cast<int>(i) / end_.column;
      m.column = static_cast<int>(i) % end_.column;
      m.expected = results[0][i];
      for (std::size_t n = 0; n < chains_.size(); ++n) {
        m.got = results[n][i];
        judge_result(m, out[n]);
        if (!exact.empty()) judge_error(exact[i], *chains_[n].tile, m.got, out[n].results);
      }
    }
  }

  static void judge_result(const Mismatch& m, Judged& out) {
    ++out.elements;
    if (m.expected == m.got) return;
    ++out.results.differing;
    out.results.most_codes =
        std::max(out.results.most_codes, codes_between(m.format, m.expected, m.got).value_or(0));
    if (!out.first) out.first = m;
  }

  static void judge_error(const ExactElement& exact, const Tile& tile, std::uint64_t code,
                          ComparedResults& out) {
    if (exact.is_special(tile)) {
      ++out.special;
    } else if (const std::optional<ResultError> error = exact.error_of(tile, code); !error) {
      ++out.overflowed;
    } else {
      out.correctly_rounded += error->correctly_rounded ? 1 : 0;
      out.errors.push_back(error->ulps);
    }
  }

  std::span<const LoadedCapture> captures_;
  std::span<const Chain> chains_;
  const Operand& d_;
  bool is_one_;
  Coordinate end_;
  std::vector<Place> places_;  // (product, row, column)
  std::vector<Source> sources_;
};

// Without the order of errors.
void append(ComparedResults& to, const ComparedResults& x) {
  to.differing += x.differing;
  to.most_codes = std::max(to.most_codes, x.most_codes);
  to.correctly_rounded += x.correctly_rounded;
  to.special += x.special;
  to.overflowed += x.overflowed;
  to.errors.insert(to.errors.end(), x.errors.begin(), x.errors.end());
}

}  // namespace

void add(ComparedResults& to, const ComparedResults& x) {
  const auto own = static_cast<std::ptrdiff_t>(to.errors.size());
  append(to, x);
  std::inplace_merge(to.errors.begin(), to.errors.begin() + own, to.errors.end());
}

Result<std::vector<Judged>> judge(std::span<const LoadedCapture> captures, std::span<const Chain> chains,
                                  const ExecuteOptions& options,
                                  const std::function<void(std::uint64_t)>& progress) {
  Judge all(captures, chains);
  if (const Result<void> prepared = all.prepare(options); !prepared) return prepared.error();
  for (const LoadedCapture& capture : captures)  // refuses what cannot be read
    if (const Result<Array> executed = execute(capture, options); !executed) return executed.error();
  std::vector<std::vector<Judged>> cases(captures[0].cases);
  std::uint64_t done = 0;
  std::mutex mutex;
  for_each_piece(0, cases.size(), [&](std::uint64_t i) {
    cases[i] = all.judge_case(i);
    if (!progress) return;
    const std::lock_guard lock(mutex);
    progress(++done);
  });
  std::vector<Judged> out(chains.size());
  for (std::vector<Judged>& of_case : cases) {
    end_if(stop_flag());
    for (std::size_t n = 0; n < out.size(); ++n) {
      out[n].elements += of_case[n].elements;
      append(out[n].results, of_case[n].results);
      if (!out[n].first) out[n].first = of_case[n].first;
    }
    of_case.clear();
  }
  std::uint64_t compared = 0;
  const auto is_less = [&, stop = stop_flag()](double x, double y) {
    if (++compared % (1 << 16) == 0) end_if(stop);
    return x < y;
  };
  for (Judged& of_chain : out) std::ranges::sort(of_chain.results.errors, is_less);
  return out;
}

}  // namespace warpbit
