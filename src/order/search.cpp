// SPDX-License-Identifier: Apache-2.0
#include "order/search.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "api/sum_runs.hpp"
#include "numeric/formats.hpp"
#include "numeric/value.hpp"
#include "order/hypotheses.hpp"
#include "threads.hpp"

namespace warpbit::order {

std::optional<std::pair<std::vector<std::byte>, std::vector<ResultElement>>> narrowed(const FoundProduct& p,
                                                                                      const Format& from,
                                                                                      const Format& to) {
  const auto code_in = [&](std::uint64_t code) -> std::optional<std::uint64_t> {
    const std::uint64_t out = round(to, value_of(decode(from, code), from), Rounding::nearest_even);
    if (round(from, value_of(decode(to, out), to), Rounding::nearest_even) != code) return std::nullopt;
    return out;
  };
  std::pair<std::vector<std::byte>, std::vector<ResultElement>> out;
  const std::size_t given = code_bytes(from.bits), item = code_bytes(to.bits);
  const MatrixView d{p.product.d.data, p.product.d.row_stride, p.product.d.column_stride};
  for (std::size_t row = 0; d.data != nullptr && row < p.product.rows; ++row)
    for (std::size_t column = 0; column < p.product.columns; ++column) {
      const std::optional<std::uint64_t> code = code_in(code_of(d, row, column, given));
      if (!code) return std::nullopt;
      const std::size_t at = out.first.size();
      out.first.resize(at + item);
      std::memcpy(&out.first[at], &*code, item);
    }
  for (const ResultElement& e : p.elements) {
    const std::optional<std::uint64_t> code = code_in(e.code);
    if (!code) return std::nullopt;
    out.second.push_back({e.row, e.column, *code});
  }
  return out;
}

namespace {

constexpr std::size_t kGroups = 8;

// ---- The search

struct Candidate {
  std::size_t instruction = 0;
  SumOrder order;
  std::uint64_t number = 0;
  std::size_t first_equal = 0;
  bool survives = false;
  Stored* stored = nullptr;
};

constexpr std::size_t kMostNear = 64;  // that are looked at closer
// Of a hypothesis, beside its products a b, as so many of these; for sums in f64 gemm() is called (RunSums).
constexpr double kOverhead = 1 << 16, kOverheadOfDoubles = 1 << 18;

class Search {
 public:
  Search(std::span<const Instruction> instructions, const FindOrderOptions& options, SumInputs inputs,
         std::span<const std::unique_ptr<Stored>> stores)
      : instructions_(instructions), o_(options), inputs_(inputs), stores_(stores) {}

  Result<OrderSearch> run() {
    for (const std::unique_ptr<Stored>& stored : stores_) {
      stored_ = stored.get();
      rounds_tf32_ = needs_rounding();  // of all alike
      if (SumOrder& base = stored_->base; rounds_tf32_ && base.tf32 == Tf32Rounding::cut)
        base.tf32 = Tf32Rounding::nearest_even;
      if (Result<void> chosen = choose_elements(); !chosen) return chosen.error();
    }
    const double overhead = instructions_[0].operands()[0].format == "f64" ? kOverheadOfDoubles : kOverhead;
    most_ = static_cast<std::uint64_t>(
        std::min(std::max(o_.most_products / (overhead + stores_[0]->groups[0].products()), 1.0), 1e18));
    share_.most_found = o_.most_found;
    share_.is_narrowed = order::are_narrower(o_.known);
    for (const Pass& pass : passes()) {
      if (share_.is_limited || (pass.begins && !share_.explaining.empty())) break;
      stored_ = pass.stored;
      if (pass.begins) share_.tried.push_back(0);
      try_level(pass.instruction, pass.level);
    }
    if (out_.found.empty()) find_nearest();
    out_.share = std::move(share_);
    Result<OrderSearch> whole = merge_orders(std::span(&out_, 1));
    if (whole) whole->share = std::move(out_.share);
    return whole;
  }

 private:
  struct Pass {
    int level;
    std::size_t instruction;
    Stored* stored;
    bool begins;  // nothing has explained D before
  };
  static bool is_wide(const Instruction& i) {
    const std::string_view format = i.find(Part::a)->format;
    return format == "f32" || format == "f64";
  }
  // What is tried, one after the other: as plausible orders of all instructions, the most usual instruction first. The simplest
  // orders of all and the runs of the first are one, and with them those of chains in f32 and f64: of D in f16 several may explain all
  // elements, and promotions and runs differ little. Where D may have been stored in another format than it is given in, only what
  // is usual is tried of that one.
  std::vector<Pass> passes() const {
    std::vector<Pass> out;
    for (int level = -1; level < order::kLevels; ++level)
      for (std::size_t i = 0; i < instructions_.size(); ++i)
        for (const std::unique_ptr<Stored>& stored : stores_) {
          const bool is_first = i == 0 && stored == stores_[0];
          const bool begins = level < 1 ? is_first : level > 1 || (i > 0 && !is_wide(instructions_[i]));
          if (level < order::kUsualLevels || stores_.size() == 1 || stored != stores_[0])
            out.push_back({level, i, stored.get(), begins});
        }
    return out;
  }
  const FoundProduct& product() const { return stored_->product; }

  // Whether operands of tf32 have bits that it has not.
  bool needs_rounding() const {
    const Gemm& g = product().product;
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
    const std::size_t stride = std::max<std::size_t>(1, stored_->known.size() / (2 * kTogether));
    const Result<void> done = stored_->known.compare(instructions_[0], stored_->base, o_.execute,
                                                     [&](const ResultElement& e, std::uint64_t code) {
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
      if (stored_->groups.size() >= kGroups) break;
      if (row->size() >= 3)
        stored_->groups.push_back(stored_->known.group(
            {row->begin(), row->begin() + std::ptrdiff_t(std::min(kTogether, row->size()))}));
      else
        scattered.insert(scattered.end(), row->begin(), row->end());
    }
    add_scattered(scattered);
    add_scattered(right);
    return {};
  }
  void add_scattered(const std::vector<ResultElement>& elements) {
    for (std::size_t first = 0; first < elements.size() && stored_->groups.size() < 2 * kGroups;
         first += kTogether)
      stored_->groups.push_back(stored_->known.group(
          {elements.begin() + std::ptrdiff_t(first),
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
      batch.back().stored = stored_;
      if (batch.size() == kBatch) finish(batch);
      return true;
    };
    for_each_at(instruction, level, visit);
    finish(batch);
  }

  void for_each_at(std::size_t instruction, int level,
                   const std::function<bool(const SumOrder&)>& visit) const {
    const Instruction& i = instructions_[instruction];
    if (level < 0) {
      for (SumOrder order : o_.first) {
        if (order.store.empty()) order.store = stored_->base.store;
        visit(order);
      }
      return;
    }
    const Question question{product().product.depth,
                            static_cast<std::size_t>(i.terms()),
                            stored_->base,
                            o_.known,
                            !find_format(i.operands()[0].format)->is_integer,
                            rounds_tf32_};
    warpbit::order::for_each_hypothesis(question, level, visit);
  }
  void count_level(std::size_t instruction, int level) {
    for_each_at(instruction, level, [&](const SumOrder&) { return ++begun_ < most_; });
    begun_ = std::min(begun_, most_);
  }

  void finish(std::vector<Candidate>& batch) {
    constexpr std::size_t kPiece = 32;
    for_each_piece(o_.execute.threads, (batch.size() + kPiece - 1) / kPiece, [&](std::uint64_t n) {
      const std::size_t first = n * kPiece;
      test(std::span(batch).subspan(first, std::min(kPiece, batch.size() - first)));
    });
    share_.tried.back() += batch.size();
    tried_ += batch.size();
    for (const Candidate& c : batch) {
      if (c.survives) confirm(c);
      remember(c);
    }
    batch.clear();
    if (o_.progress) o_.progress(tried_, begun_ / o_.shard.count);
  }

  // Hypotheses of one instruction. The first group is looked at first, as it chooses what is near; then what refuted others.
  void test(std::span<Candidate> candidates) const {
    const Instruction& i = instructions_[candidates[0].instruction];
    std::vector<const Group*> groups = {&stored_->groups[0]};
    for (const Group& group : stored_->refuting) groups.push_back(&group);
    for (std::size_t g = 1; g < stored_->groups.size(); ++g) groups.push_back(&stored_->groups[g]);
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

  FoundOrder compared(const Candidate& c) const {
    const Instruction& i = instructions_[c.instruction];
    FoundOrder out{i, shortest(i, c.order)};
    const Result<void> done =
        c.stored->known.compare(i, c.order, o_.execute, [&](const ResultElement& e, std::uint64_t code) {
          ++out.elements;
          out.equal += code == e.code;
          if (code != e.code && !out.first_wrong) {
            out.first_wrong = e;
            out.computed = code;
          }
        });
    (void)done;  // it was executed before
    out.number = c.number;
    out.left_out = inputs_.depth - summed_depth(i, inputs_.depth, c.order);
    return out;
  }
  // Without the words that say what is so anyway.
  static SumOrder shortest(const Instruction& i, SumOrder order) {
    SumOrder without = order;
    without.store.clear();
    const bool says_nothing =
        format_of_result(i, without) == order.store && order.store_rounding == Rounding::nearest_even;
    return says_nothing ? without : order;
  }

  // Of each sum the first description is compared with all elements.
  void confirm(const Candidate& c) {
    const Instruction& i = instructions_[c.instruction];
    const Result<std::uint64_t> sum = sum_identity(i, inputs_, c.order);
    if (!sum || refuted_.contains(*sum)) return;
    const bool is_known = std::ranges::find(out_.found, *sum, &FoundOrder::sum) != out_.found.end();
    if (!is_known && out_.found.size() >= o_.most_found) {
      share_.has_more = true;
      share_.explaining.push_back({i, shortest(i, c.order), *sum, c.number});  // it may be
      return;
    }
    if (!is_known) {
      FoundOrder found = compared(c);
      found.sum = *sum;
      if (!found.explains() || found.elements == 0) {
        refuted_.insert(*sum);
        if (found.first_wrong) stored_->refuting.push_back(stored_->known.group({*found.first_wrong}));
        return;
      }
      out_.found.push_back(std::move(found));
    }
    share_.explaining.push_back({i, shortest(i, c.order), *sum, c.number});
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
      for (const Group& group : c.stored->groups)
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
  const FindOrderOptions& o_;
  SumInputs inputs_;
  std::span<const std::unique_ptr<Stored>> stores_;
  Stored* stored_ = nullptr;  // whose hypotheses are tried
  bool rounds_tf32_ = false;
  std::vector<Candidate> best_;
  std::set<std::uint64_t> refuted_;                              // sums
  std::uint64_t number_ = 0, most_ = 0, begun_ = 0, tried_ = 0;  // hypotheses; the last, of the share
  OrderShare share_;
  OrderSearch out_;
};

}  // namespace

Result<OrderSearch> search(std::span<const Instruction> instructions, const FindOrderOptions& options,
                           const SumInputs& inputs, std::span<const std::unique_ptr<Stored>> stores) {
  return Search(instructions, options, inputs, stores).run();
}

}  // namespace warpbit::order
