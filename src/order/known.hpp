// SPDX-License-Identifier: Apache-2.0
// What is known of D, and the few elements of it that hypotheses are tried on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "api/checks.hpp"
#include "order/run_sums.hpp"
#include "warpbit/find_order.hpp"

namespace warpbit::order {

// Bytes of an item of each matrix.
struct ItemSizes {
  std::size_t a, b, c, d;
};

inline const std::byte* item_of(const MatrixView& m, std::size_t row, std::size_t column, std::size_t bytes) {
  return static_cast<const std::byte*>(m.data) + (static_cast<std::ptrdiff_t>(row) * m.row_stride +
                                                  static_cast<std::ptrdiff_t>(column) * m.column_stride) *
                                                     static_cast<std::ptrdiff_t>(bytes);
}
inline std::uint64_t code_of(const MatrixView& m, std::size_t row, std::size_t column, std::size_t bytes) {
  std::uint64_t out = 0;
  std::memcpy(&out, item_of(m, row, column, bytes), bytes);
  return out;
}

// Some rows and columns of a matrix, dense.
struct PickedMatrix {
  PickedMatrix(const MatrixView& from, std::size_t bytes, const std::vector<std::size_t>& rows,
               const std::vector<std::size_t>& columns)
      : data(from.data == nullptr ? 0 : rows.size() * columns.size() * bytes), row_stride(columns.size()) {
    if (from.data == nullptr) return;
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t j = 0; j < columns.size(); ++j)
        std::memcpy(&data[(i * columns.size() + j) * bytes], item_of(from, rows[i], columns[j], bytes), bytes);
  }
  MatrixView view() const {
    if (data.empty()) return {};
    return {data.data(), static_cast<std::ptrdiff_t>(row_stride), 1};
  }
  std::vector<std::byte> data;
  std::size_t row_stride;
};

inline std::vector<std::size_t> up_to(std::size_t count) {
  std::vector<std::size_t> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = i;
  return out;
}

// What threads remember of a small product, for one that tries more hypotheses.
struct Remembered {
  std::mutex mutex;
  std::map<const Instruction*, std::vector<std::unique_ptr<RunSums>>> unused;
};

// A small product that has some elements of D.
class Group {
 public:
  Group(const Gemm& g, const ItemSizes& sizes, std::size_t factors, const std::vector<std::size_t>& rows,
        const std::vector<std::size_t>& columns, std::vector<ResultElement> known)
      : rows_(rows),
        columns_(columns),
        a_(g.a, sizes.a, rows, up_to(g.depth)),
        b_(g.b, sizes.b, up_to(g.depth), columns),
        c_(g.c, sizes.c, rows, columns),
        bias_(g.bias, sizes.d, rows, columns),
        a_scale_(g.a_scale, 4, rows, up_to(factors)),
        b_scale_(g.b_scale, 4, up_to(factors), columns),
        item_(sizes.d),
        depth_(g.depth) {
    for (const ResultElement& e : known) {
      const auto row = std::ranges::find(rows, e.row) - rows.begin();
      const auto column = std::ranges::find(columns, e.column) - columns.begin();
      elements_.emplace_back(e,
                             static_cast<std::size_t>(row) * columns.size() + static_cast<std::size_t>(column));
    }
  }

  // What is remembered, until it is given back.
  std::unique_ptr<RunSums> take(const Instruction& i, const ExecuteOptions& how) const {
    {
      const std::lock_guard lock(remembered_->mutex);
      if (auto& unused = remembered_->unused[&i]; !unused.empty()) {
        std::unique_ptr<RunSums> out = std::move(unused.back());
        unused.pop_back();
        return out;
      }
    }
    std::vector<std::size_t> places;
    for (const auto& [element, at] : elements_) places.push_back(at);
    return std::make_unique<RunSums>(i, problem(), places, on_one_thread(how));
  }
  void give_back(const Instruction& i, std::unique_ptr<RunSums> sums) const {
    const std::lock_guard lock(remembered_->mutex);
    remembered_->unused[&i].push_back(std::move(sums));
  }

  std::size_t size() const { return elements_.size(); }
  double products() const {
    return static_cast<double>((rows_.size() + 1) / 2 * 16) * static_cast<double>(depth_);
  }

  // How many elements come out; the first that does not, and its code. Nothing if gemm refuses.
  struct Outcome {
    std::size_t equal = 0;
    std::optional<ResultElement> wrong = {};
    std::uint64_t computed = 0;
  };
  std::optional<Outcome> test(const Instruction& i, const SumOrder& order, const ExecuteOptions& how) const {
    std::vector<std::byte> d(rows_.size() * columns_.size() * item_);
    Gemm g = problem();
    g.d = {d.data(), static_cast<std::ptrdiff_t>(columns_.size()), 1};
    if (!gemm(i, g, {order, on_one_thread(how)}).ok()) return std::nullopt;
    return outcome([&](std::size_t n) {
      std::uint64_t code = 0;
      std::memcpy(&code, &d[elements_[n].second * item_], item_);
      return code;
    });
  }
  // The same by what is remembered.
  std::optional<Outcome> test(const Instruction& i, const SumOrder& order, const ExecuteOptions& how,
                              RunSums& sums) const {
    const auto codes = sums.codes(order);
    if (!codes) return test(i, order, how);
    return outcome([&](std::size_t n) { return (*codes)[n]; });
  }

 private:
  static ExecuteOptions on_one_thread(ExecuteOptions how) {
    how.threads = 1;
    return how;
  }
  Gemm problem() const {
    return {rows_.size(), columns_.size(), depth_,          a_.view(),   b_.view(), c_.view(),
            {},           a_scale_.view(), b_scale_.view(), bias_.view()};
  }
  template <class Code>
  Outcome outcome(Code code_of_element) const {
    Outcome out;
    for (std::size_t n = 0; n < elements_.size(); ++n) {
      const std::uint64_t code = code_of_element(n);
      if (code == elements_[n].first.code) {
        ++out.equal;
      } else if (!out.wrong) {
        out.wrong = elements_[n].first;
        out.computed = code;
      }
    }
    return out;
  }

  std::vector<std::size_t> rows_, columns_;
  PickedMatrix a_, b_, c_, bias_, a_scale_, b_scale_;
  std::size_t item_, depth_;
  std::vector<std::pair<ResultElement, std::size_t>> elements_;  // and where in d
  std::unique_ptr<Remembered> remembered_ = std::make_unique<Remembered>();
};

// ---- All known elements

class Known {
 public:
  Known(const FoundProduct& product, const ItemSizes& sizes, std::size_t factors)
      : p_(product), sizes_(sizes), factors_(factors) {
    if (is_whole()) return;
    for (std::size_t first = 0; first < p_.elements.size(); first += kTogether)
      diagonals_.push_back(
          diagonal(std::span(p_.elements).subspan(first, std::min(kTogether, p_.elements.size() - first))));
  }

  bool is_whole() const { return p_.product.d.data != nullptr; }
  std::size_t size() const { return is_whole() ? p_.product.rows * p_.product.columns : p_.elements.size(); }
  double products() const {
    const Gemm& g = p_.product;
    if (is_whole())
      return static_cast<double>(g.rows) * static_cast<double>(g.columns) * static_cast<double>(g.depth);
    return static_cast<double>(size()) * 8 * static_cast<double>(g.depth);
  }

  // Calls see(element, computed code) for all. Errors: those of gemm.
  template <class See>
  Result<void> compare(const Instruction& i, const SumOrder& order, const ExecuteOptions& how, See see) const {
    if (is_whole()) return compare_whole(i, order, how, see);
    for (std::size_t n = 0; n < diagonals_.size(); ++n) {
      const auto outcome = diagonals_[n].test(i, order, how);
      if (!outcome) return mismatch(i, "an order that does not fit", "another");
      // Of a group with a wrong element each is looked at alone.
      for (std::size_t e = n * kTogether; e < std::min((n + 1) * kTogether, p_.elements.size()); ++e) {
        const ResultElement& element = p_.elements[e];
        if (!outcome->wrong) {
          see(element, element.code);
          continue;
        }
        const auto alone = diagonal(std::span(&element, 1)).test(i, order, how);
        see(element, alone->wrong ? alone->computed : element.code);
      }
    }
    return {};
  }

  // Elements of a row, or those of a diagonal.
  Group group(const std::vector<ResultElement>& elements) const {
    std::vector<std::size_t> rows, columns;
    for (const ResultElement& e : elements) {
      rows.push_back(e.row);
      columns.push_back(e.column);
    }
    for (auto* list : {&rows, &columns}) {
      std::ranges::sort(*list);
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    return {p_.product, sizes_, factors_, rows, columns, elements};
  }

 private:
  Group diagonal(std::span<const ResultElement> elements) const {
    return group({elements.begin(), elements.end()});
  }

  template <class See>
  Result<void> compare_whole(const Instruction& i, const SumOrder& order, const ExecuteOptions& how,
                             See see) const {
    const Gemm& g = p_.product;
    std::vector<std::byte> d(g.rows * g.columns * sizes_.d);
    Gemm again = g;
    again.d = {d.data(), static_cast<std::ptrdiff_t>(g.columns), 1};
    if (Result<Execution> done = gemm(i, again, {order, how}); !done) return done.error();
    const MatrixView expected{g.d.data, g.d.row_stride, g.d.column_stride};
    for (std::size_t row = 0; row < g.rows; ++row)
      for (std::size_t column = 0; column < g.columns; ++column) {
        std::uint64_t code = 0;
        std::memcpy(&code, &d[(row * g.columns + column) * sizes_.d], sizes_.d);
        see(ResultElement{row, column, code_of(expected, row, column, sizes_.d)}, code);
      }
    return {};
  }

  const FoundProduct& p_;
  ItemSizes sizes_;
  std::size_t factors_;
  std::vector<Group> diagonals_;
};

}  // namespace warpbit::order
