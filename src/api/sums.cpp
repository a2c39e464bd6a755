// SPDX-License-Identifier: Apache-2.0
#include "api/sums.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "kernel/floating.hpp"
#include "numeric/value.hpp"
#include "threads.hpp"

namespace warpbit {
namespace {

// The canonical NaN of f32, and a NaN's absence from a sum of others.
constexpr std::uint32_t kNan32 = 0x7FFFFFFF;

std::uint64_t item_at(const std::byte* from, std::size_t bytes) {
  std::uint64_t code = 0;
  std::memcpy(&code, from, bytes);
  return code;
}

// Calls work(row) for all rows of a matrix, on threads where it is large.
template <class Work>
void for_each_row(std::size_t rows, std::size_t columns, int threads, const Work& work) {
  constexpr std::size_t kTogether = std::size_t{1} << 14;
  const std::size_t rows_of_piece = std::max<std::size_t>(1, kTogether / std::max<std::size_t>(columns, 1));
  const std::size_t pieces = (rows + rows_of_piece - 1) / rows_of_piece;
  for_each_piece(threads, pieces, [&](std::uint64_t piece) {
    const DefaultFloating floating;
    const std::size_t first = piece * rows_of_piece;
    for (std::size_t row = first; row < std::min(first + rows_of_piece, rows); ++row) work(row);
  });
}

Value value_at(const Format& f, std::uint64_t code) {
  return value_of(decode(f, code), f);
}
std::uint64_t nearest(const Format& f, const Value& value) {
  return round(f, value, Rounding::nearest_even);
}

// IEEE 754's addition of f32; the host's, in the mode that DefaultFloating sets.
std::uint32_t add_f32(std::uint32_t x, std::uint32_t y) {
  const float sum = std::bit_cast<float>(x) + std::bit_cast<float>(y);
  return sum != sum ? kNan32 : std::bit_cast<std::uint32_t>(sum);
}

void add_row_f32(std::byte* to, const std::byte* x, const std::byte* y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t p, q;
    std::memcpy(&p, x + 4 * i, 4);
    std::memcpy(&q, y + 4 * i, 4);
    p = add_f32(p, q);
    std::memcpy(to + 4 * i, &p, 4);
  }
}

}  // namespace

Sums converted(Sums x, const Format& to, int threads) {
  if (x.format == &to) return x;
  Sums out(to, x.rows, x.columns);
  const Format& from = *x.format;
  for_each_row(x.rows, x.columns, threads, [&](std::size_t row) {
    for (std::size_t i = row * x.columns; i < (row + 1) * x.columns; ++i) {
      const std::uint64_t code = nearest(to, value_at(from, item_at(&x.codes[i * x.item()], x.item())));
      std::memcpy(&out.codes[i * out.item()], &code, out.item());
    }
  });
  return out;
}

Sums added(const Tile& tile, Sums x, const Sums& y, const Format& to, int threads) {
  Sums other(to, x.format == &to ? 0 : x.rows, x.columns);
  Sums& out = x.format == &to ? x : other;
  const bool is_f64 = std::ranges::any_of(std::array{x.format, y.format, &to},
                                          [](const Format* f) { return f->id == FormatId::f64; });
  const Format& in = format(is_f64 ? FormatId::f64 : FormatId::f32);
  const bool is_f32 = x.format->id == FormatId::f32 && y.format == x.format && to.id == FormatId::f32;
  for_each_row(y.rows, y.columns, threads, [&](std::size_t row) {
    const std::size_t first = row * y.columns;
    if (is_f32) return add_row_f32(&out.codes[4 * first], &x.codes[4 * first], &y.codes[4 * first], y.columns);
    for (std::size_t i = first; i < first + y.columns; ++i) {
      const std::uint64_t p = item_at(&x.codes[i * x.item()], x.item()),
                          q = item_at(&y.codes[i * y.item()], y.item());
      const auto total = [&] {
        return sum(value_at(*x.format, p), value_at(*y.format, q), Rounding::nearest_even);
      };
      const std::uint64_t code =
          to.is_integer ? add_partial_sums(tile, p, q) : nearest(to, value_at(in, nearest(in, total())));
      std::memcpy(&out.codes[i * out.item()], &code, out.item());
    }
  });
  return std::move(out);
}

Sums promoted(Sums outer, const Sums& inner, const ItemMatrix& a_scale, const ItemMatrix& b_scale,
              std::size_t block, FactorOrder order, int threads) {
  const Format &f32 = format(FormatId::f32), &to = *outer.format;
  const auto scale_at = [&](const ItemMatrix& m, std::size_t row, std::size_t column) {
    return m.data == nullptr ? Value{Class::finite, {false, 1, 0}} : value_at(f32, m.get(row, column));
  };
  const auto rounded = [&](const Value& value) { return value_at(f32, nearest(f32, value)); };
  for_each_row(outer.rows, outer.columns, threads, [&](std::size_t row) {
    const Value left = scale_at(a_scale, row, block);
    for (std::size_t column = 0; column < outer.columns; ++column) {
      const std::size_t i = row * outer.columns + column;
      const Value right = scale_at(b_scale, block, column),
                  x = value_at(*inner.format, item_at(&inner.codes[i * inner.item()], inner.item()));
      const Value scaled = order == FactorOrder::together  ? product(rounded(product(left, right)), x)
                           : order == FactorOrder::a_first ? product(right, rounded(product(left, x)))
                                                           : product(left, rounded(product(right, x)));
      std::byte* const at = &outer.codes[i * outer.item()];
      const std::uint64_t code =
          nearest(to, sum(value_at(to, item_at(at, outer.item())), scaled, Rounding::nearest_even));
      std::memcpy(at, &code, outer.item());
    }
  });
  return outer;
}

namespace {

// alpha sum + beta C, rounded to the format in which D is computed.
class SumScaling {
 public:
  SumScaling(const SumOrder& order, const Format& in)
      : in_(in),
        between_(order.between.empty() ? nullptr : find_format(order.between)),
        order_(order),
        alpha_(factor(order.alpha)),
        beta_(factor(order.beta)) {}

  Value scaled(const Value& sum) const { return rounded(product(alpha_, sum)); }
  Value scaled(const Value& sum, const Value& c) const {
    Value left = product(alpha_, sum);
    const Value right = product(beta_, c);
    if (between_ != nullptr) left = value_at(*between_, nearest(*between_, rounded(left)));
    const bool rounds_left = order_.fused != FusedScaling::alpha,
               rounds_right = order_.fused != FusedScaling::beta;
    return rounded(warpbit::sum(rounds_left ? rounded(left) : left, rounds_right ? rounded(right) : right,
                                Rounding::nearest_even));
  }
  Value with_bias(const Value& value, const Value& bias) const {
    return rounded(warpbit::sum(value, bias, Rounding::nearest_even));
  }

 private:
  static Value factor(float number) {
    return value_at(format(FormatId::f32), std::bit_cast<std::uint32_t>(number));
  }
  Value rounded(const Value& value) const { return value_at(in_, nearest(in_, value)); }

  const Format& in_;
  const Format* between_;
  const SumOrder& order_;
  Value alpha_, beta_;
};

void copy(const Epilogue& e, const Sums& sums, std::size_t row) {
  for (std::size_t column = 0; column < sums.columns; ++column)
    std::memcpy(e.d.at(row, column), &sums.codes[(row * sums.columns + column) * sums.item()], sums.item());
}

}  // namespace

void store(const Epilogue& e, Sums& sums, int threads) {
  const SumOrder& order = *e.order;
  const Format& from = *sums.format;
  const bool has_c = order.c_last && e.c.data != nullptr, has_bias = e.bias.data != nullptr,
             is_scaled = order.alpha != 1 || has_c;
  if (!is_scaled && !has_bias && &from == e.store)
    return for_each_row(sums.rows, sums.columns, threads, [&](std::size_t row) { copy(e, sums, row); });
  const SumScaling scaling(order, format(from.id == FormatId::f64 ? FormatId::f64 : FormatId::f32));
  for_each_row(sums.rows, sums.columns, threads, [&](std::size_t row) {
    for (std::size_t column = 0; column < sums.columns; ++column) {
      Value value =
          value_at(from, item_at(&sums.codes[(row * sums.columns + column) * sums.item()], sums.item()));
      if (has_c)
        value = scaling.scaled(value, value_at(*e.store, e.c.get(row, column)));
      else if (is_scaled)
        value = scaling.scaled(value);
      if (has_bias) value = scaling.with_bias(value, value_at(*e.store, e.bias.get(row, column)));
      const std::uint64_t code = round(*e.store, value, order.store_rounding);
      std::memcpy(e.d.at(row, column), &code, e.d.item_bytes);
    }
  });
}

}  // namespace warpbit
