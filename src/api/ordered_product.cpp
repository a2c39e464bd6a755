// SPDX-License-Identifier: Apache-2.0
#include "api/ordered_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "api/checks.hpp"
#include "api/sums.hpp"
#include "kernel/conversion_table.hpp"

namespace warpbit {
namespace {

// A dense copy of a matrix of f32, as tf32.
struct RoundedMatrix {
  RoundedMatrix(const ItemMatrix& from, std::size_t rows, std::size_t columns, Tf32Rounding rounding)
      : codes(rounded_to_tf32(from, rows, columns, rounding)) {
    matrix = {reinterpret_cast<std::byte*>(codes.data()), static_cast<std::ptrdiff_t>(columns), 1, 4};
  }
  std::vector<std::uint32_t> codes;
  ItemMatrix matrix;
};

// ---- Steps that lie elsewhere than the engine's

// Lines of K (rows of A, columns of B) with the values of some steps, each filled up with zeros.
struct GatheredLines {
  GatheredLines(const ItemMatrix& lines, std::size_t count, const SumBlock& steps, std::size_t terms) {
    const std::size_t item = lines.item_bytes, depth = steps.size() * terms;
    bytes.resize(count * depth * item);
    for (std::size_t line = 0; line < count; ++line) {
      std::byte* to = &bytes[line * depth * item];
      for (std::size_t step = 0; step < steps.size(); ++step)
        for (std::size_t k = 0; k < steps[step].count; ++k)
          std::memcpy(to + (step * terms + k) * item, lines.at(line, steps[step].first + k), item);
    }
    matrix = {bytes.data(), static_cast<std::ptrdiff_t>(depth), 1, item};
  }
  std::vector<std::byte> bytes;
  ItemMatrix matrix;
};

ItemMatrix below(const ItemMatrix& matrix, std::size_t row) {
  ItemMatrix out = matrix;
  if (out.data != nullptr) out.data = matrix.at(row, 0);
  return out;
}

// Some rows of a product.
class RowsOfProduct {
 public:
  RowsOfProduct(const OrderedProduct& product, std::size_t first_row, std::size_t rows)
      : p_(product), base_(product.base), threads_(product.base.threads) {
    base_.rows = rows;
    base_.a = below(p_.base.a, first_row);
    c_ = below(p_.c, first_row);
    bias_ = below(p_.bias, first_row);
    d_ = below(p_.d, first_row);
    a_scale_ = below(p_.a_scale, first_row);
    if (has_blocks()) {
      base_.a_scale = a_scale_;
      base_.b_scale = p_.b_scale;
    }
  }

  void run() {
    if (is_one_chain()) {
      execute(p_.runs->front().front().front(), c_, d_);
      return;
    }
    Sums sums = SumTree(*p_.order, p_.formats, std::span(*p_.runs), *this).sum();
    if (p_.order->scales_last)
      sums = warpbit::promoted(Sums(scaled_format(), base_.rows, base_.columns), sums, a_scale_, p_.b_scale, 0,
                               p_.order->scale_order, threads_);
    store({p_.order, p_.formats.stored, c_, bias_, d_}, sums, threads_);
  }

 private:
  bool has_blocks() const { return base_.tile->a_scale.is_present(); }
  const Format& scaled_format() const {
    return p_.formats.merged->id == FormatId::f64 ? *p_.formats.merged : format(FormatId::f32);
  }
  // D is what one accumulator ends in.
  bool is_one_chain() const {
    const SumOrder& o = *p_.order;
    const Format* const of_d = base_.tile->d.format;
    return p_.runs->size() == 1 && p_.runs->front().size() == 1 && o.promote == 0 && !o.c_last &&
           o.alpha == 1 && !o.scales_last && p_.bias.data == nullptr && p_.formats.partials == of_d &&
           p_.formats.merged == of_d && p_.formats.stored == of_d;
  }

  // ---- The operations of SumTree

  friend class SumTree<RowsOfProduct>;

  Sums chain(const SumBlock& steps, bool from_c) {
    Sums out(*p_.formats.accumulated, base_.rows, base_.columns);
    execute(steps, from_c ? c_ : ItemMatrix(), out.items());
    return out;
  }
  Sums outer(bool from_c) {
    Sums out(*p_.formats.accumulated, base_.rows, base_.columns);
    if (from_c && c_.data != nullptr)
      for (std::size_t row = 0; row < base_.rows; ++row)
        for (std::size_t column = 0; column < base_.columns; ++column)
          std::memcpy(out.items().at(row, column), c_.at(row, column), out.item());
    return converted(std::move(out), *p_.formats.promoted);
  }
  Sums promoted(Sums outer, const Sums& inner, std::size_t number) {
    const bool scaled = !p_.order->scales_last && !has_blocks();
    return warpbit::promoted(std::move(outer), inner, scaled ? a_scale_ : ItemMatrix(),
                             scaled ? p_.b_scale : ItemMatrix(), number, p_.order->scale_order, threads_);
  }
  Sums added(Sums x, const Sums& y, const Format& to) {
    return warpbit::added(*base_.tile, std::move(x), y, to, threads_);
  }
  Sums converted(Sums x, const Format& to) { return warpbit::converted(std::move(x), to, threads_); }

  // ---- One accumulator

  bool is_step_of_engine(const SumStep& step) const {
    const auto terms = static_cast<std::size_t>(base_.tile->terms);
    return step.first % terms == 0 && step.count == std::min(terms, base_.depth - step.first);
  }

  void execute(const SumBlock& steps, const ItemMatrix& c, const ItemMatrix& d) {
    MatrixProduct product = base_;
    product.c = c;
    product.d = d;
    const auto terms = static_cast<std::size_t>(base_.tile->terms);
    if (std::ranges::all_of(steps, [&](const SumStep& s) { return is_step_of_engine(s); })) {
      for (const SumStep& step : steps) product.steps.push_back(step.first / terms);
      return run_product(product, p_.body);
    }
    const GatheredLines a(base_.a, base_.rows, steps, terms),
        b(base_.b.transposed(), base_.columns, steps, terms);
    product.a = a.matrix;
    product.b = b.matrix.transposed();
    product.depth = steps.size() * terms;
    for (std::size_t i = 0; i < steps.size(); ++i) product.steps.push_back(i);
    run_product(product, p_.body);
  }

  const OrderedProduct& p_;
  MatrixProduct base_;
  ItemMatrix c_, bias_, d_, a_scale_;
  int threads_;
};

// Sums of that many elements are held at once.
std::size_t rows_at_once(const OrderedProduct& p) {
  constexpr std::size_t kMost = std::size_t{1} << 26;
  const std::size_t at_once = kMost / std::max<std::size_t>(p.base.columns, 1);
  return std::max<std::size_t>(at_once / 1024 * 1024, 1024);
}

Result<void> check_blocks(const Instruction& i, const OrderedProduct& p) {
  if (!p.base.tile->a_scale.is_present()) return {};
  const auto terms = static_cast<std::size_t>(p.base.tile->terms);
  for (const SumRun& run : *p.runs)
    for (const SumSlice& slice : run)
      for (const SumBlock& block : slice)
        for (const SumStep& step : block)
          if (step.first % terms != 0 || step.count != std::min(terms, p.base.depth - step.first))
            return mismatch(i, fmt::format("a step of {} values of K from {} on", step.count, step.first),
                            fmt::format("whole steps of {}: the form has block scaling", terms));
  return {};
}

}  // namespace

std::vector<std::uint32_t> rounded_to_tf32(const ItemMatrix& from, std::size_t rows, std::size_t columns,
                                           Tf32Rounding rounding) {
  std::vector<std::uint32_t> out(rows * columns);
  const bool nearest = rounding == Tf32Rounding::nearest_even;
  const Conversion conversion{FormatId::f32, FormatId::tf32, nearest ? CvtRounding::rn : CvtRounding::rna};
  const ConversionTable* const table = find_table(conversion, rows * columns);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column) {
      const auto code = static_cast<std::uint32_t>(from.get(row, column));
      out[row * columns + column] =
          table != nullptr ? (*table)(code) : static_cast<std::uint32_t>(convert(conversion, code, 0));
    }
  return out;
}

Result<void> run_ordered(const Instruction& instruction, const OrderedProduct& given) {
  if (Result<void> checked = check_blocks(instruction, given); !checked) return checked;
  OrderedProduct product = given;
  MatrixProduct& base = product.base;
  if (base.rows == 0 || base.columns == 0) return {};
  std::vector<RoundedMatrix> rounded;
  if (product.order->tf32 != Tf32Rounding::cut && base.depth != 0) {
    rounded.reserve(2);
    base.a = rounded.emplace_back(base.a, base.rows, base.depth, product.order->tf32).matrix;
    base.b = rounded.emplace_back(base.b, base.depth, base.columns, product.order->tf32).matrix;
  }
  const std::size_t rows = rows_at_once(product);
  for (std::size_t first = 0; first < base.rows; first += rows)
    RowsOfProduct(product, first, std::min(rows, base.rows - first)).run();
  return {};
}

}  // namespace warpbit
