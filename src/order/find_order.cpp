// SPDX-License-Identifier: Apache-2.0
#include "warpbit/find_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "api/checks.hpp"
#include "api/sum_runs.hpp"
#include "numeric/formats.hpp"
#include "order/hypotheses.hpp"
#include "order/run_sums.hpp"
#include "threads.hpp"

namespace warpbit {
namespace {

using order::kTogether;  // columns of a group, and rows of one whose elements are a diagonal
using order::RunSums;
constexpr std::size_t kGroups = 8;

// Bytes of an item of each matrix.
struct ItemSizes {
  std::size_t a, b, c, d;
};

const std::byte* item_of(const MatrixView& m, std::size_t row, std::size_t column, std::size_t bytes) {
  return static_cast<const std::byte*>(m.data) + (static_cast<std::ptrdiff_t>(row) * m.row_stride +
                                                  static_cast<std::ptrdiff_t>(column) * m.column_stride) *
                                                     static_cast<std::ptrdiff_t>(bytes);
}
std::uint64_t code_of(const MatrixView& m, std::size_t row, std::size_t column, std::size_t bytes) {
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

std::vector<std::size_t> up_to(std::size_t count) {
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

// ---- The search

struct Candidate {
  std::size_t instruction = 0;
  SumOrder order;
  std::uint64_t number = 0;
  std::size_t first_equal = 0;
  bool survives = false;
};

constexpr std::size_t kMostNear = 64;  // that are looked at closer

class Search {
 public:
  Search(std::span<const Instruction> instructions, const FoundProduct& product,
         const FindOrderOptions& options, const Known& known)
      : instructions_(instructions), p_(product), o_(options), known_(known) {}

  Result<OrderSearch> run() {
    base_ = o_.known;
    rounds_tf32_ = needs_rounding();
    if (rounds_tf32_ && base_.tf32 == Tf32Rounding::cut) base_.tf32 = Tf32Rounding::nearest_even;
    if (Result<void> chosen = choose_elements(); !chosen) return chosen.error();
    const double most = std::max(o_.most_products - known_.products(), 0.0) / groups_[0].products();
    most_ = static_cast<std::uint64_t>(std::min(std::max(most, 1.0), 1e18));
    share_.most_found = o_.most_found;
    for (int level = -1; level < order::kLevels && out_.found.empty() && !share_.is_limited; ++level) {
      share_.tried.push_back(0);
      for (std::size_t i = 0; i < instructions_.size() && !is_full(); ++i) try_level(i, level);
    }
    if (out_.found.empty()) find_nearest();
    out_.share = std::move(share_);
    Result<OrderSearch> whole = merge_orders(std::span(&out_, 1));
    if (whole) whole->share = std::move(out_.share);
    return whole;
  }

 private:
  bool is_full() const { return out_.found.size() >= o_.most_found; }

  // Whether operands of tf32 have bits that it has not.
  bool needs_rounding() const {
    const Gemm& g = p_.product;
    const Operand *a = instructions_[0].find(Part::a), *b = instructions_[0].find(Part::b);
    if (a->format != "tf32" || b->format != "tf32") return false;
    const auto any = [](const MatrixView& m, std::size_t rows, std::size_t columns) {
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < columns; ++column)
          if ((code_of(m, row, column, 4) & 0x1FFF) != 0) return true;
      return false;
    };
    return any(g.a, g.rows, g.depth) || any(g.b, g.depth, g.columns);
  }

  // Elements that the plain chain does not give come first: where hypotheses differ.
  Result<void> choose_elements() {
    std::map<std::size_t, std::vector<ResultElement>> wrong;  // by row
    std::vector<ResultElement> right;
    std::size_t seen = 0;
    const std::size_t stride = std::max<std::size_t>(1, known_.size() / (2 * kTogether));
    const Result<void> done =
        known_.compare(instructions_[0], base_, o_.execute, [&](const ResultElement& e, std::uint64_t code) {
          if (code != e.code)
            wrong[e.row].push_back(e);
          else if (seen % stride == 0)
            right.push_back(e);
          ++seen;
        });
    if (!done) return done;
    std::vector<const std::vector<ResultElement>*> rows;
    for (const auto& [row, elements] : wrong) rows.push_back(&elements);
    std::ranges::stable_sort(rows, std::greater(), [](const auto* row) { return row->size(); });
    std::vector<ResultElement> scattered;
    for (const auto* row : rows) {
      if (groups_.size() >= kGroups) break;
      if (row->size() >= 3)
        groups_.push_back(
            known_.group({row->begin(), row->begin() + std::ptrdiff_t(std::min(kTogether, row->size()))}));
      else
        scattered.insert(scattered.end(), row->begin(), row->end());
    }
    add_scattered(scattered);
    add_scattered(right);
    return {};
  }
  void add_scattered(const std::vector<ResultElement>& elements) {
    for (std::size_t first = 0; first < elements.size() && groups_.size() < 2 * kGroups; first += kTogether)
      groups_.push_back(
          known_.group({elements.begin() + std::ptrdiff_t(first),
                        elements.begin() + std::ptrdiff_t(std::min(first + kTogether, elements.size()))}));
  }

  // ---- Hypotheses

  void try_level(std::size_t instruction, int level) {
    constexpr std::size_t kBatch = 256;
    if (o_.progress) count_level(instruction, level);
    std::vector<Candidate> batch;
    const auto visit = [&](const SumOrder& order) {
      if (number_ >= most_) share_.is_limited = true;
      if (share_.is_limited) return false;
      const std::uint64_t number = number_++;
      if (number % o_.shard.count != o_.shard.number - 1) return true;
      batch.push_back({instruction, order, number});
      return batch.size() < kBatch || finish(batch);
    };
    for_each_at(instruction, level, visit);
    finish(batch);
  }

  void for_each_at(std::size_t instruction, int level,
                   const std::function<bool(const SumOrder&)>& visit) const {
    const Instruction& i = instructions_[instruction];
    if (level < 0) {
      for (const SumOrder& order : o_.first) visit(order);
      return;
    }
    const order::Question question{p_.product.depth, static_cast<std::size_t>(i.terms()), base_,
                                   !find_format(i.operands()[0].format)->is_integer, rounds_tf32_};
    order::for_each_hypothesis(question, level, visit);
  }
  void count_level(std::size_t instruction, int level) {
    for_each_at(instruction, level, [&](const SumOrder&) { return ++begun_ < most_; });
    begun_ = std::min(begun_, most_);
  }

  // True if the search goes on.
  bool finish(std::vector<Candidate>& batch) {
    if (is_full()) return false;
    constexpr std::size_t kPiece = 32;
    for_each_piece(o_.execute.threads, (batch.size() + kPiece - 1) / kPiece, [&](std::uint64_t n) {
      const std::size_t first = n * kPiece;
      test(std::span(batch).subspan(first, std::min(kPiece, batch.size() - first)));
    });
    share_.tried.back() += batch.size();
    tried_ += batch.size();
    for (const Candidate& c : batch) {
      if (c.survives && !is_full()) confirm(c);
      remember(c);
    }
    batch.clear();
    if (o_.progress) o_.progress(tried_, begun_ / o_.shard.count);
    return !is_full();
  }

  // Hypotheses of one instruction. The first group is looked at first, as it chooses what is near; then what refuted others.
  void test(std::span<Candidate> candidates) const {
    const Instruction& i = instructions_[candidates[0].instruction];
    std::vector<const Group*> groups = {&groups_[0]};
    for (const Group& group : refuting_) groups.push_back(&group);
    for (std::size_t g = 1; g < groups_.size(); ++g) groups.push_back(&groups_[g]);
    std::vector<std::unique_ptr<RunSums>> remembered(groups.size());
    for (Candidate& c : candidates) test(c, i, groups, remembered);
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (remembered[g]) groups[g]->give_back(i, std::move(remembered[g]));
  }
  void test(Candidate& c, const Instruction& i, std::span<const Group* const> groups,
            std::vector<std::unique_ptr<RunSums>>& remembered) const {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (!remembered[g]) remembered[g] = groups[g]->take(i, o_.execute);
      const auto outcome = groups[g]->test(i, c.order, o_.execute, *remembered[g]);
      if (!outcome) return;
      if (g == 0) c.first_equal = outcome->equal;
      if (outcome->wrong) return;
    }
    c.survives = true;
  }

  FoundOrder compared(const Candidate& c) {
    const Instruction& i = instructions_[c.instruction];
    FoundOrder out{i, c.order};
    const Result<void> done =
        known_.compare(i, c.order, o_.execute, [&](const ResultElement& e, std::uint64_t code) {
          ++out.elements;
          out.equal += code == e.code;
          if (code != e.code && !out.first_wrong) {
            out.first_wrong = e;
            out.computed = code;
          }
        });
    (void)done;  // it was executed before
    out.number = c.number;
    SumOrder without = c.order;
    without.store.clear();
    if (format_of_result(i, without) == c.order.store && c.order.store_rounding == Rounding::nearest_even)
      out.order = without;
    out.left_out = p_.product.depth - summed_depth(i, p_.product.depth, c.order);
    return out;
  }
  void confirm(const Candidate& c) {
    FoundOrder found = compared(c);
    if (found.explains() && found.elements != 0)
      out_.found.push_back(std::move(found));
    else if (found.first_wrong)
      refuting_.push_back(known_.group({*found.first_wrong}));
  }

  // ---- The nearest

  void remember(const Candidate& c) {
    const auto before = [](const Candidate& x, const Candidate& y) { return x.first_equal > y.first_equal; };
    if (best_.size() >= kMostNear && best_.back().first_equal >= c.first_equal) return;
    best_.insert(std::ranges::upper_bound(best_, c, before), c);
    if (best_.size() > kMostNear) best_.pop_back();
  }
  void find_nearest() {
    for (const Candidate& c : best_) {
      const Instruction& i = instructions_[c.instruction];
      OrderShare::Near& near = share_.near.emplace_back(OrderShare::Near{{i, c.order}, c.first_equal});
      near.order.number = c.number;
      for (const Group& group : groups_)
        if (const auto outcome = group.test(i, c.order, o_.execute)) near.looked_equal += outcome->equal;
    }
    for (std::size_t n = 0; n < share_.near.size(); ++n)
      if (may_be_nearest(n)) share_.near[n].order = compared(best_[n]);
  }
  // Whether less than most_found others are nearer; in a share, others of the share that are before it in the whole, too.
  bool may_be_nearest(std::size_t n) const {
    const auto& near = share_.near;
    std::size_t nearer = 0;
    for (std::size_t other = 0; other < near.size(); ++other)
      nearer += other < n ? near[other].looked_equal >= near[n].looked_equal
                          : o_.shard.count == 1 && near[other].looked_equal > near[n].looked_equal;
    return nearer < o_.most_found;
  }

  std::span<const Instruction> instructions_;
  const FoundProduct& p_;
  const FindOrderOptions& o_;
  const Known& known_;
  SumOrder base_;
  bool rounds_tf32_ = false;
  std::vector<Group> groups_, refuting_;
  std::vector<Candidate> best_;
  std::uint64_t number_ = 0, most_ = 0, begun_ = 0, tried_ = 0;  // hypotheses; the last, of the share
  OrderShare share_;
  OrderSearch out_;
};

std::string line_of(const FoundOrder& f) {
  return fmt::format("{}: {}", f.instruction.canonical(), f.order.text());
}

std::size_t item_of_format(std::string_view name) {
  return code_bytes(find_format(name)->bits);
}

}  // namespace

std::string OrderSearch::text() const {
  std::string out;
  const auto add = [&](const std::string& line) { out += (out.empty() ? "" : "\n") + line; };
  if (!found.empty()) {
    add(fmt::format("all {} elements come out with", found[0].elements));
    for (const FoundOrder& f : found) add("  " + line_of(f));
    if (found.size() > 1) add("which these elements do not tell apart");
    if (found[0].left_out != 0)
      add(fmt::format("the last {} values of K are not in the sum: a mistake of the kernel",
                      found[0].left_out));
    if (!complete) add(fmt::format("others may explain them, too: {} were tried", tried));
  } else {
    add(fmt::format("none of {} orders explains all elements{}", tried, complete ? "" : "; there are more"));
    for (const FoundOrder& f : nearest) {
      add(fmt::format("  {} of {}: {}", f.equal, f.elements, line_of(f)));
      if (f.first_wrong)
        add(fmt::format("    at ({}, {}) it gives 0x{:x} instead of 0x{:x}", f.first_wrong->row,
                        f.first_wrong->column, f.computed, f.first_wrong->code));
    }
  }
  if (inferred) add("the instruction's arithmetic is inferred, no hardware result");
  return out;
}

Result<std::vector<Instruction>> instructions_of_products(std::string_view a, std::string_view b,
                                                          Target target) {
  const Format *left = find_format(a), *right = find_format(b);
  if (left == nullptr || right == nullptr)
    return Error{Errc::usage, "order of the sum", fmt::format("operands of {} and {}", a, b),
                 "formats of an instruction: f16, bf16, tf32, e4m3, e5m2, s8, f64; or f32"};
  const std::string types = fmt::format("{}.{}", left->name, right->name);
  std::vector<std::string> forms;
  if (left->is_integer)
    forms = {fmt::format("mma.sync.aligned.m16n8k32.row.col.s32.{}.s32", types),
             fmt::format("mma.sync.aligned.m16n8k16.row.col.s32.{}.s32", types)};
  else if (left->bits == 8)
    forms = {fmt::format("wgmma.mma_async.sync.aligned.m64n8k32.f32.{}", types)};
  for (const int depth : {16, 8, 4})
    for (const std::string_view sum : {"f32", "f64", "f16"})
      forms.push_back(fmt::format("mma.sync.aligned.m16n8k{}.row.col.{}.{}.{}", depth, sum, types, sum));
  forms.insert(forms.end() - 9, fmt::format("mma.sync.aligned.m16n8k32.row.col.f32.{}.f32", types));
  forms.push_back(fmt::format("mma.sync.aligned.m8n8k4.row.col.f64.{}.f64", types));
  std::vector<Instruction> out;
  for (const std::string& form : forms)
    if (Result<Instruction> i = Instruction::parse(form, target)) out.push_back(*std::move(i));
  std::ranges::stable_sort(out, {}, [](const Instruction& i) { return i.operands()[0].format == "f16"; });
  if (left == right)
    for (const std::string_view chain : {"chain.fma.rn.", "chain.fma.rn.f32."})
      if (Result<Instruction> i = Instruction::parse(fmt::format("{}{}", chain, left->name), target))
        out.push_back(*std::move(i));
  if (!out.empty()) return out;
  return Error{Errc::usage, "order of the sum", fmt::format("operands of {} on {}", types, target.name()),
               "f16, bf16, tf32, e4m3, e5m2, s8 or f64, as far as the target has products of them, or f32"};
}

Result<OrderSearch> merge_orders(std::span<const OrderSearch> shares) {
  const auto of_another = [&](const OrderSearch& s) {
    return s.share.most_found != shares[0].share.most_found || s.share.tried.empty();
  };
  if (shares.empty() || std::ranges::any_of(shares, of_another))
    return Error{Errc::usage, "order of the sum", shares.empty() ? "no share" : "shares of several searches",
                 "all shares of one search"};
  const std::uint64_t most = shares[0].share.most_found;
  // The answer is of the first level at which something was found.
  std::size_t levels = 0;
  bool any = false;
  for (const OrderSearch& s : shares) {
    if (!s.found.empty() && (!any || s.share.tried.size() < levels)) levels = s.share.tried.size();
    any = any || !s.found.empty();
    if (!any) levels = std::max(levels, s.share.tried.size());
  }
  OrderSearch out;
  out.complete = true;
  std::vector<OrderShare::Near> near;
  for (const OrderSearch& s : shares) {
    for (std::size_t level = 0; level < std::min(levels, s.share.tried.size()); ++level)
      out.tried += s.share.tried[level];
    out.complete = out.complete && !(s.share.is_limited && s.share.tried.size() <= levels);
    if (s.share.tried.size() == levels) out.found.insert(out.found.end(), s.found.begin(), s.found.end());
    if (!any) near.insert(near.end(), s.share.near.begin(), s.share.near.end());
  }
  std::ranges::sort(out.found, {}, &FoundOrder::number);
  if (out.found.size() >= most && most != 0) {
    out.found.erase(out.found.begin() + static_cast<std::ptrdiff_t>(most), out.found.end());
    out.tried = out.found.back().number + 1;
    out.complete = false;
  }
  using Near = OrderShare::Near;
  std::ranges::sort(near, {}, [](const Near& n) { return n.order.number; });
  std::ranges::stable_sort(near, std::greater(), &Near::first_equal);
  if (near.size() > kMostNear) near.erase(near.begin() + kMostNear, near.end());
  std::ranges::stable_sort(near, std::greater(), &Near::looked_equal);
  for (std::size_t i = 0; i < std::min<std::size_t>(most, near.size()); ++i)
    out.nearest.push_back(near[i].order);
  std::ranges::stable_sort(out.nearest, std::greater(), &FoundOrder::equal);
  for (const std::vector<FoundOrder>* list : {&out.found, &out.nearest})
    for (const FoundOrder& f : *list) out.inferred = out.inferred || f.instruction.inferred();
  return out;
}

Result<OrderSearch> find_order(std::span<const Instruction> instructions, const FoundProduct& product,
                               const FindOrderOptions& options) {
  const Gemm& g = product.product;
  if (instructions.empty())
    return Error{Errc::usage, "order of the sum", "no instruction",
                 "one or more, as of instructions_of_products"};
  const Instruction& i = instructions[0];
  const Operand *a = i.find(Part::a), *b = i.find(Part::b);
  if (a == nullptr || b == nullptr)
    return no_product(i, "it is no product of matrices", "an instruction D = A B + C");
  for (const Instruction& other : instructions) {
    const Operand *x = other.find(Part::a), *y = other.find(Part::b);
    if (x == nullptr || y == nullptr || x->format != a->format || y->format != b->format || other.blocks() != 0)
      return mismatch(other, "operands of other formats",
                      fmt::format("{} and {}, without block scaling", a->format, b->format));
  }
  if (g.rows == 0 || g.columns == 0 || g.depth == 0 || g.a.data == nullptr || g.b.data == nullptr)
    return mismatch(i, fmt::format("A is {} x {}, B {} x {}", g.rows, g.depth, g.depth, g.columns),
                    "matrices with elements");
  if (g.d.data == nullptr && product.elements.empty())
    return mismatch(i, "no elements of D", "all of D, or some elements");
  for (const ResultElement& e : product.elements)
    if (e.row >= g.rows || e.column >= g.columns)
      return mismatch(i, fmt::format("an element ({}, {}) of D", e.row, e.column),
                      fmt::format("elements of {} x {}", g.rows, g.columns));
  if (options.shard.number < 1 || options.shard.number > options.shard.count)
    return Error{Errc::usage, "order of the sum",
                 fmt::format("shard {} of {}", options.shard.number, options.shard.count),
                 "a number from 1 to the count"};
  const Result<std::size_t> factors = scale_factors(i, g.depth, options.known);
  if (!factors) return factors.error();
  const std::string_view of_d = format_of_result(i, options.known),
                         of_c = options.known.c_last ? of_d : i.operands()[0].format;
  const ItemSizes sizes{item_of_format(a->format), item_of_format(b->format), item_of_format(of_c),
                        item_of_format(of_d)};
  // Every instruction gives D in this format.
  FindOrderOptions same = options;
  if (same.known.store.empty() && !find_format(of_d)->is_integer) same.known.store = of_d;
  const Known known(product, sizes, *factors);
  return Search(instructions, product, same, known).run();
}

}  // namespace warpbit
