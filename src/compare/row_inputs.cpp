// SPDX-License-Identifier: Apache-2.0
#include "compare/row_inputs.hpp"

#include <cstring>

#include "compare/compare_inputs.hpp"
#include "numeric/formats.hpp"
#include "replay/execute_capture.hpp"
#include "warpbit/gemm.hpp"

namespace warpbit {
namespace {

std::vector<Coordinate> elements_of(const RowRange& range) {
  std::vector<Coordinate> out;
  for (std::size_t row = range.first; row < range.end; ++row)
    for (std::size_t column = 0; column < range.columns; ++column)
      out.push_back({static_cast<int>(row), static_cast<int>(column), range.product});
  return out;
}

// The first element of each row.
std::vector<Coordinate> rows_of(RowRange range) {
  range.columns = 1;
  return elements_of(range);
}

// The elements of the first row.
std::vector<Coordinate> columns_of(RowRange range) {
  range.end = range.first + 1;
  return elements_of(range);
}

// Codes of a matrix, line by line, as gemm takes them.
struct Items {
  Items(const Format& format, std::size_t count) : item(code_bytes(format.bits)), bytes(count * item) {}

  void set(std::size_t at, std::uint64_t code) { std::memcpy(&bytes[at * item], &code, item); }
  std::uint64_t get(std::size_t at) const {
    std::uint64_t out = 0;
    std::memcpy(&out, &bytes[at * item], item);
    return out;
  }

  std::size_t item;
  std::vector<std::byte> bytes;
};

Items lines(const Format& format, const std::vector<ElementInputs>& from,
            std::vector<std::uint64_t> ElementInputs::*codes, std::size_t depth) {
  Items out(format, from.size() * depth);
  for (std::size_t i = 0; i < from.size(); ++i)
    for (std::size_t k = 0; k < depth; ++k) out.set(i * depth + k, (from[i].*codes)[k]);
  return out;
}

}  // namespace

bool RowInputs::are_shared(const LoadedCapture& capture, const Tile& tile) {
  return capture.header.layout != CaptureLayout::elements && !tile.sparsity.is_sparse();
}

RowInputs::RowInputs(std::span<const LoadedCapture> captures, const Tile& tile, const RowRange& range,
                     std::size_t depth)
    : tile_(tile), range_(range), shared_(are_shared(captures[0], tile)) {
  if (shared_) {
    rows_ = inputs_along_k(captures, range.index, rows_of(range));
    columns_ = inputs_along_k(captures, range.index, columns_of(range));
  } else {
    rows_ = inputs_along_k(captures, range.index, elements_of(range));
  }
  for (const ElementInputs& in :
       shared_ ? codes_of_executed(captures[0], range.index, elements_of(range)) : rows_)
    c_.push_back(in.c);
  for (std::vector<ElementInputs>* list : {&rows_, &columns_})
    for (ElementInputs& in : *list) {
      if (!in.a_scale.empty()) continue;  // one instruction
      in.a.resize(depth);
      in.b.resize(depth);
    }
  if (tile.d.format->is_integer) return;  // whose sums nobody asks for
  for (const ElementInputs& in : rows_)
    a_factors_.push_back(factors_of(tile, tile.a, tile.a_scale, in.a, in.a_scale));
  for (const ElementInputs& in : shared_ ? columns_ : rows_)
    b_factors_.push_back(factors_of(tile, tile.b, tile.b_scale, in.b, in.b_scale));
}

ElementCodes RowInputs::of(std::size_t element, std::size_t depth) const {
  const ElementInputs &row = row_of(element), &column = column_of(element);
  const auto part = [&](const std::vector<std::uint64_t>& all) {
    return std::span(all).first(std::min(depth, all.size()));
  };
  return {part(row.a), part(column.b), c_[element], row.a_scale, column.b_scale};
}

void RowInputs::add_products(std::span<ExactElement> sums, std::size_t from, std::size_t to) const {
  const auto part = [&](const std::vector<Factor>& all) {
    return std::span(all).subspan(from, std::min(to, all.size()) - from);
  };
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (from == 0) sums[i].start(c_[i]);
    const std::size_t row = shared_ ? i / range_.columns : i, column = shared_ ? i % range_.columns : i;
    sums[i].add(part(a_factors_[row]), part(b_factors_[column]));
  }
}

Result<std::vector<std::uint64_t>> RowInputs::product(const Chain& chain) const {
  const std::size_t rows = rows_.size(), columns = columns_.size(), depth = chain.depth;
  const Items a = lines(*tile_.a.format, rows_, &ElementInputs::a, depth),
              b = lines(*tile_.b.format, columns_, &ElementInputs::b, depth);
  Items c(*tile_.c.format, rows * columns), d(*tile_.d.format, rows * columns);
  for (std::size_t i = 0; i < c_.size(); ++i) c.set(i, c_[i]);
  const auto across = static_cast<std::ptrdiff_t>(columns), down = static_cast<std::ptrdiff_t>(depth);
  const Gemm problem{rows,
                     columns,
                     depth,
                     {a.bytes.data(), down, 1},
                     {b.bytes.data(), 1, down},
                     {c.bytes.data(), across, 1},
                     {d.bytes.data(), across, 1}};
  GemmOptions options;
  options.order = chain.computation->order;
  options.execute.threads = 1;
  const Result<Execution> executed = gemm(chain.computation->instruction, problem, options);
  if (!executed) return executed.error();
  std::vector<std::uint64_t> out(c_.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = d.get(i);
  return out;
}

}  // namespace warpbit
