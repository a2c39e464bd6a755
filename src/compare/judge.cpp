// SPDX-License-Identifier: Apache-2.0
// All elements by several computations: each case is read once, computed by each, and judged.
#include "compare/judge.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "compare/exact_sum.hpp"
#include "compare/row_inputs.hpp"
#include "replay/execute_capture.hpp"
#include "threads.hpp"

namespace warpbit {
namespace {

constexpr std::size_t kHeldFactors = std::size_t{1} << 20;  // of the elements that are read at once

// True if gemm computes what the chain does: a dense product of matrices whose sign nothing changes.
bool is_gemm(const Chain& chain, std::span<const LoadedCapture> captures) {
  const Tile& t = *chain.tile;
  if (t.terms != t.depth || t.a_scale.is_present() || t.negate_a != t.negate_b || t.starts_at_zero)
    return false;
  return RowInputs(captures, t, {0, 0, 0, 1, 1}, chain.depth).product(chain).ok();
}

// Where the results of a computation come from.
struct Source {
  std::optional<Array> executed;  // by the instruction of the capture
  bool is_gemm = false;           // or else, or by the specification
};

// By K, by computation.
using JudgedTable = std::vector<std::vector<Judged>>;

class Judge {
 public:
  Judge(std::span<const LoadedCapture> captures, std::span<const std::vector<Chain>> depths)
      : captures_(captures), depths_(depths), d_(captures[0].instruction.operands()[0]) {
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
    for (const std::vector<Chain>& chains : depths_) {
      std::vector<Source>& sources = sources_.emplace_back();
      for (const Chain& chain : chains) {
        Result<Source> source = source_of(chain, options);
        if (!source) return source.error();
        sources.push_back(*std::move(source));
      }
    }
    return {};
  }

  JudgedTable judge_case(std::uint64_t index) const {
    JudgedTable out(depths_.size(), std::vector<Judged>(depths_[0].size()));
    const Tile& tile = *depths_[0][0].tile;
    const std::size_t depth = depths_.back()[0].depth, rows = static_cast<std::size_t>(end_.row),
                      columns = static_cast<std::size_t>(end_.column);
    // Each reading of the inputs goes over the whole case.
    const std::size_t at_once = RowInputs::are_shared(captures_[0], tile)
                                    ? rows
                                    : std::max<std::size_t>(1, kHeldFactors / (columns * depth));
    for (int product = 0; product < end_.product; ++product)
      for (std::size_t first = 0; first < rows; first += at_once) {
        const RowRange range{index, product, first, std::min(rows, first + at_once), columns};
        judge_rows(RowInputs(captures_, tile, range, depth), out);
      }
    return out;
  }

 private:
  // Results of a computation, in order of rows.
  using Codes = std::vector<std::uint64_t>;

  Result<Source> source_of(const Chain& chain, const ExecuteOptions& options) const {
    Source out;
    const Instruction& instruction = chain.computation->instruction;
    if (captures_[0].cases == 0) return out;  // an empty share
    if (captures_.size() == 1 && chain.instructions() == 1 && chain.computation->order == SumOrder() &&
        instruction.canonical() == captures_[0].instruction.canonical()) {
      LoadedCapture other = captures_[0];
      other.instruction = instruction;
      Result<Array> got = execute(other, options);
      if (!got) return got.error();
      out.executed = std::move(*got);
    } else {
      out.is_gemm = !is_one_ && is_gemm(chain, captures_);
    }
    return out;
  }

  std::size_t item_of(std::uint64_t index, std::size_t element) const {
    if (is_one_) return index;
    const Place& place = places_[element];
    return (index * static_cast<std::uint64_t>(d_.fragment.lanes()) + static_cast<std::uint64_t>(place.lane)) *
               static_cast<std::uint64_t>(d_.registers) +
           static_cast<std::uint64_t>(place.reg);
  }
  // The first of all elements of a case.
  std::size_t first_of(const RowRange& range) const {
    return (static_cast<std::size_t>(range.product * end_.row) + range.first) * range.columns;
  }

  // For each K from the least: the exact sums of one go on to the next.
  void judge_rows(const RowInputs& in, JudgedTable& out) const {
    const Tile& tile = *depths_[0][0].tile;
    std::vector<ExactElement> exact(tile.d.format->is_integer ? 0 : in.range().elements(), ExactElement(tile));
    std::size_t done = 0;
    for (std::size_t i = 0; i < depths_.size(); ++i) {
      const std::vector<Chain>& chains = depths_[i];
      in.add_products(exact, done, chains[0].depth);
      done = chains[0].depth;
      std::vector<Codes> results;
      for (std::size_t n = 0; n < chains.size(); ++n)
        results.push_back(results_of(in, chains[n], sources_[i][n]));
      judge_elements(in.range(), chains, results, exact, out[i]);
    }
  }

  Codes results_of(const RowInputs& in, const Chain& chain, const Source& source) const {
    if (source.is_gemm) return *in.product(chain);
    Codes out(in.range().elements());
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!source.executed) {  // by the specification, where nothing faster computes it
        out[i] = run_chain(chain, in.of(i, chain.depth));
        continue;
      }
      const std::size_t element = first_of(in.range()) + i;
      const std::uint64_t item = source.executed->at(item_of(in.range().index, element));
      out[i] = is_one_ ? item : item >> places_[element].low_bit & places_[element].mask();
    }
    return out;
  }

  void judge_elements(const RowRange& range, const std::vector<Chain>& chains,
                      const std::vector<Codes>& results, const std::vector<ExactElement>& exact,
                      std::vector<Judged>& out) const {
    Mismatch m = place_of(captures_[0], 0);
    m.index = range.index;
    m.product = range.product;
    for (std::size_t i = 0; i < results[0].size(); ++i) {
      if (!captures_[0].compared(item_of(range.index, first_of(range) + i))) continue;
      m.row = static_cast<int>(range.first + i / range.columns);
      m.column = static_cast<int>(i % range.columns);
      m.expected = results[0][i];
      for (std::size_t n = 0; n < chains.size(); ++n) {
        m.got = results[n][i];
        judge_result(m, out[n]);
        if (!exact.empty()) judge_error(exact[i], *chains[n].tile, m.got, out[n].results);
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
  std::span<const std::vector<Chain>> depths_;
  const Operand& d_;
  bool is_one_;
  Coordinate end_;
  std::vector<Place> places_;                 // (product, row, column)
  std::vector<std::vector<Source>> sources_;  // as depths_
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

void append(Judged& to, const Judged& x) {
  to.elements += x.elements;
  append(to.results, x.results);
  if (!to.first) to.first = x.first;
}

void sort_errors(std::vector<double>& errors) {
  std::uint64_t compared = 0;
  std::ranges::sort(errors, [&, stop = stop_flag()](double x, double y) {
    if (++compared % (1 << 16) == 0) end_if(stop);
    return x < y;
  });
}

}  // namespace

void add(ComparedResults& to, const ComparedResults& x) {
  const auto own = static_cast<std::ptrdiff_t>(to.errors.size());
  append(to, x);
  std::inplace_merge(to.errors.begin(), to.errors.begin() + own, to.errors.end());
}

Result<std::vector<std::vector<Judged>>> judge(std::span<const LoadedCapture> captures,
                                               std::span<const std::vector<Chain>> depths,
                                               const ExecuteOptions& options,
                                               const std::function<void(std::uint64_t)>& progress) {
  Judge all(captures, depths);
  if (const Result<void> prepared = all.prepare(options); !prepared) return prepared.error();
  for (const LoadedCapture& capture : captures)  // refuses what cannot be read
    if (const Result<Array> executed = execute(capture, options); !executed) return executed.error();
  std::vector<JudgedTable> cases(captures[0].cases);
  std::uint64_t done = 0;
  std::mutex mutex;
  for_each_piece(0, cases.size(), [&](std::uint64_t i) {
    cases[i] = all.judge_case(i);
    if (!progress) return;
    const std::lock_guard lock(mutex);
    progress(++done);
  });
  JudgedTable out(depths.size(), std::vector<Judged>(depths[0].size()));
  for (JudgedTable& of_case : cases) {
    end_if(stop_flag());
    for (std::size_t i = 0; i < out.size(); ++i)
      for (std::size_t n = 0; n < out[i].size(); ++n) append(out[i][n], of_case[i][n]);
    of_case.clear();
  }
  for (std::vector<Judged>& of_depth : out)
    for (Judged& of_chain : of_depth) sort_errors(of_chain.results.errors);
  return out;
}

}  // namespace warpbit
