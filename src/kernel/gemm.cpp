// SPDX-License-Identifier: Apache-2.0
#include "kernel/gemm.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <variant>

#include "kernel/floating.hpp"
#include "kernel/fused.hpp"
#include "kernel/group_tile.hpp"
#include "kernel/panel_gemm.hpp"
#include "numeric/value.hpp"
#include "threads.hpp"

namespace warpbit {
namespace {

// Of a stripe so deep, a panel of B and the rows of A of a range stay in the first cache while they are
// multiplied. Its panels take up to 1.5 megabytes, its running values a few.
constexpr std::size_t kStripePairs = 512, kStripePanels = 128, kStripeDepth = 128;
constexpr std::size_t kRangePanels = 8;

std::size_t divide_up(std::size_t x, std::size_t by) {
  return (x + by - 1) / by;
}

// ---- Stripes

// The parts of one kind of work: each is done once in each step, in the order of the steps, by whichever thread takes it.
class PartsOfSteps {
 public:
  PartsOfSteps(std::size_t count, int threads)
      : steps_(count), threads_(static_cast<std::size_t>(threads)), left_{count, count} {}

  // A part of the step that nobody has begun and that is done with the step before. Each thread has a share of the
  // parts, the same in all steps: most of its blocks stay in the caches of one core. Then it takes from other shares.
  std::optional<std::size_t> take(std::uint64_t step, std::size_t thread) {
    for (std::size_t other = 0; other < threads_; ++other) {
      const std::size_t share = (thread + other) % threads_;
      for (std::size_t part = first_of(share); part < first_of(share + 1); ++part)
        if (std::uint64_t now = 2 * step; steps_[part].load(std::memory_order_relaxed) == now &&
                                          steps_[part].compare_exchange_strong(now, 2 * step + 1))
          return part;
    }
    return std::nullopt;
  }
  // Calls `last` after the last part of a step.
  template <class Last>
  void end(std::uint64_t step, std::size_t part, Last last) {
    steps_[part] = 2 * (step + 1);
    if (--left_[step % 2] != 0) return;
    left_[step % 2] = steps_.size();
    last();
    complete_ = step + 1;
  }
  // Steps whose parts are all done; those of the next may be done in part, those of the one behind it are not begun.
  std::uint64_t complete() const { return complete_; }

 private:
  std::size_t first_of(std::size_t share) const { return steps_.size() * share / threads_; }

  std::vector<std::atomic<std::uint64_t>> steps_;  // 2 n: n steps are done; 2 n + 1: and the next is begun
  std::size_t threads_;
  std::array<std::atomic<std::size_t>, 2> left_;  // of an even and an odd step
  std::atomic<std::uint64_t> complete_ = 0;
};

// The work on a product is in steps: a stripe of D over some steps of K. Each has three kinds of work in small parts.
// A part begins as soon as those are done that it needs, so that a thread without a processor holds up a part, but
// others find enough to do until it goes on:
//
//     step 0    pack, decode | multiply
//     step 1                 | pack, decode | multiply          needs all of decode 1, the same part of multiply 0
//     step 2                                | pack, decode |    in the slot of step 0: needs all of multiply 0
class Runner {
 public:
  Runner(const MatrixProduct& product, GemmEngine& engine, std::size_t range_panels)
      : p_(product),
        engine_(engine),
        most_(largest_stripe(product)),
        range_panels_(range_panels),
        down_(divide_up(most_.pairs, kRangePairs)),
        across_(divide_up(most_.panels, range_panels)),
        depths_(depths()),
        steps_(depths_ * divide_up(p_.rows, kRows) * divide_up(p_.columns, kColumns)),
        running_(most_.pairs * most_.panels * kBlock * p_.d.item_bytes),
        pack_(std::max(down_, across_), p_.threads),
        decode_(std::max(down_, across_), p_.threads),
        multiply_(down_ * across_, p_.threads),
        not_begun_(steps_ * down_ * across_) {}

  void run() {
    const std::atomic<bool>* const stop = stop_flag();
    const auto take = [&](int thread) {
      const DefaultFloating floating;
      try {
        run(static_cast<std::size_t>(thread), stop);
      } catch (...) {
        is_over_ = true;
        happened();
        throw;
      }
    };
    share(p_.threads, std::cref(take));
  }

 private:
  static constexpr std::size_t kRows = 2 * kStripePairs, kColumns = 8 * kStripePanels;

  // How often a stripe of D is computed, over other steps of K; once where D is C.
  std::size_t depths() const { return p_.steps.empty() ? 1 : divide_up(p_.steps.size(), most_.steps); }
  Stripe stripe(std::uint64_t step) const {
    const std::size_t number = step / depths_, columns = divide_up(p_.columns, kColumns);
    Stripe out;
    out.first_row = number / columns * kRows;
    out.first_column = number % columns * kColumns;
    out.pairs = divide_up(std::min(kRows, p_.rows - out.first_row), 2);
    out.panels = divide_up(std::min(kColumns, p_.columns - out.first_column), 8);
    out.first_step = step % depths_ * most_.steps;
    out.steps = std::min(most_.steps, p_.steps.size() - out.first_step);
    out.slot = step % p_.slots();
    return out;
  }

  void happened() {
    ++events_;
    events_.notify_all();
  }
  // Takes parts until none is left that nobody has begun; sleeps while those that are left need others.
  void run(std::size_t thread, const std::atomic<bool>* stop) {
    while (!is_over_ && not_begun_ != 0) {
      end_if(stop);
      const std::uint32_t before = events_;
      if (go_on(thread))
        happened();
      else if (!is_over_ && not_begun_ != 0)
        events_.wait(before);
    }
  }
  // Does a part, if one can be begun. A and B are prepared as early as there is room for them.
  bool go_on(std::size_t thread) {
    const std::uint64_t multiplied = multiply_.complete(), decoded = decode_.complete(),
                        packed = pack_.complete();
    if (packed < steps_ && packed < multiplied + p_.slots())
      if (const auto part = pack_.take(packed, thread)) return pack(packed, *part);
    if (decoded < packed)
      if (const auto part = decode_.take(decoded, thread)) return decode(decoded, *part);
    for (std::uint64_t step = multiplied; step < decoded; ++step)
      if (const auto part = multiply_.take(step, thread)) return multiply(step, *part);
    return false;
  }

  // A part has a range of A and one of B, as far as the stripe has them.
  template <class OfA, class OfB>
  void for_ranges(const Stripe& s, std::size_t part, OfA of_a, OfB of_b) const {
    if (s.steps == 0) return;
    if (const std::size_t pair = part * kRangePairs; pair < s.pairs)
      of_a(pair, std::min(pair + kRangePairs, s.pairs));
    for (std::size_t i = 0, panel = part * range_panels_; i < range_panels_ && panel < s.panels; ++i, ++panel)
      of_b(panel);
  }
  bool pack(std::uint64_t step, std::size_t part) {
    const Stripe s = stripe(step);
    for_ranges(
        s, part, [&](std::size_t first, std::size_t last) { engine_.pack_a(s, first, last); },
        [&](std::size_t panel) { engine_.pack_b(s, panel); });
    pack_.end(step, part, [&] { engine_.packed(s); });
    return true;
  }
  bool decode(std::uint64_t step, std::size_t part) {
    const Stripe s = stripe(step);
    for_ranges(
        s, part, [&](std::size_t first, std::size_t last) { engine_.decode_a(s, first, last); },
        [&](std::size_t panel) { engine_.decode_b(s, panel); });
    decode_.end(step, part, [] {});
    return true;
  }
  bool multiply(std::uint64_t step, std::size_t part) {
    --not_begun_;
    const Stripe s = stripe(step);
    const std::size_t pair = part / across_ * kRangePairs, panel = part % across_ * range_panels_;
    if (pair < s.pairs && panel < s.panels) {
      const BlockRange range{pair, std::min(pair + kRangePairs, s.pairs), panel,
                             std::min(panel + range_panels_, s.panels)};
      if (step % depths_ == 0) start(s, range);
      if (s.steps > 0) engine_.multiply(s, range, blocks());
      if ((step + 1) % depths_ == 0) finish(s, range);
    }
    multiply_.end(step, part, [] {});
    return true;
  }

  RunningBlocks blocks() const { return {running_.data(), most_.pairs, p_.d.item_bytes}; }

  // Calls work(running, element) for each element of a matrix with items like those of D in the range.
  template <class Item, class Work>
  void for_each_element(const Stripe& s, const BlockRange& range, const ItemMatrix& matrix, Work work) {
    const RunningBlocks running = blocks();
    for (std::size_t panel = range.first_panel; panel < range.last_panel; ++panel)
      for (std::size_t pair = range.first_pair; pair < range.last_pair; ++pair) {
        const std::size_t first_row = s.first_row + 2 * pair, first_column = s.first_column + 8 * panel;
        const std::size_t rows = std::min<std::size_t>(2, p_.rows - first_row);
        const std::size_t columns = std::min<std::size_t>(8, p_.columns - first_column);
        const std::ptrdiff_t next = matrix.column_stride * static_cast<std::ptrdiff_t>(sizeof(Item));
        std::byte* block = running.block(pair, panel);
        for (std::size_t row = 0; row < rows; ++row) {
          std::byte* element = matrix.at(first_row + row, first_column);
          for (std::size_t column = 0; column < columns; ++column)
            work(block + element_of_block(row, column) * sizeof(Item),
                 element + static_cast<std::ptrdiff_t>(column) * next);
        }
      }
  }
  template <class Work>
  void with_item(Work work) const {
    switch (p_.d.item_bytes) {
      case 2: return work(std::uint16_t{});
      case 4: return work(std::uint32_t{});
      default: return work(std::uint64_t{});
    }
  }

  // From C; +0 where there is none.
  void start(const Stripe& s, const BlockRange& range) {
    const RunningBlocks running = blocks();
    for (std::size_t panel = range.first_panel; panel < range.last_panel; ++panel)
      std::memset(running.block(range.first_pair, panel), 0,
                  (range.last_pair - range.first_pair) * kBlock * p_.d.item_bytes);
    if (p_.c.data == nullptr) return;
    with_item([&]<class Item>(Item) {
      for_each_element<Item>(s, range, p_.c, [](std::byte* code, const std::byte* element) {
        std::memcpy(code, element, sizeof(Item));
      });
    });
  }

  void finish(const Stripe& s, const BlockRange& range) {
    with_item([&]<class Item>(Item) {
      for_each_element<Item>(s, range, p_.d, [](const std::byte* code, std::byte* element) {
        std::memcpy(element, code, sizeof(Item));
      });
    });
  }

  const MatrixProduct& p_;
  GemmEngine& engine_;
  Stripe most_;
  std::size_t range_panels_, down_, across_;  // ranges of the largest stripe
  std::size_t depths_;
  std::uint64_t steps_;
  Lines<std::byte> running_;
  PartsOfSteps pack_, decode_, multiply_;
  std::atomic<std::uint64_t> not_begun_;  // parts of multiply_, in all steps
  std::atomic<std::uint32_t> events_ = 0;
  std::atomic<bool> is_over_ = false;
};

}  // namespace

LineScales::LineScales(const MatrixProduct& p, bool of_a) {
  const TileScale& scale = of_a ? p.tile->a_scale : p.tile->b_scale;
  if (!scale.is_present()) return;
  const ItemMatrix& m = of_a ? p.a_scale : p.b_scale;
  matrix_ = of_a ? m : ItemMatrix{m.data, m.column_stride, m.row_stride, m.item_bytes};
  lines_ = of_a ? p.rows : p.columns;
  blocks_ = static_cast<std::size_t>(scale.blocks);
  count_ = divide_up(p.depth, static_cast<std::size_t>(p.tile->terms) / blocks_);
  one_ = encode(*scale.format, {false, 1, 0}, Rounding::nearest_even, Overflow::ieee);
}

std::uint64_t run_step(const MatrixProduct& p, std::size_t number, std::size_t row, std::size_t column,
                       std::uint64_t c) {
  const Tile& t = *p.tile;
  if (row >= p.rows || column >= p.columns) return 0;
  // A NaN in C is the canonical NaN in D, whatever A and B are (NUMERICS.md, "Specials").
  if (warpbit::decode(*t.c.format, c).cls == Class::nan) return t.d.format->canonical_nan;
  const auto terms = static_cast<std::size_t>(t.terms);
  const std::size_t first = p.steps[number] * terms, count = std::min(terms, p.depth - first);
  std::array<std::uint64_t, kMaxDepth> a, b, a_scales, b_scales;
  for (std::size_t k = 0; k < count; ++k) {
    a[k] = p.a.get(row, first + k);
    b[k] = p.b.get(first + k, column);
  }
  const LineScales of_a(p, true), of_b(p, false);
  for (std::size_t i = 0; i < of_a.blocks(); ++i) a_scales[i] = of_a.code(row, p.steps[number], i);
  for (std::size_t i = 0; i < of_b.blocks(); ++i) b_scales[i] = of_b.code(column, p.steps[number], i);
  return run_element(t, {{a.data(), count},
                         {b.data(), count},
                         c,
                         {a_scales.data(), of_a.blocks()},
                         {b_scales.data(), of_b.blocks()}});
}

std::uint64_t add_partial_sums(const Tile& t, std::uint64_t x, std::uint64_t y) {
  const Format& f = *t.d.format;
  const Value total = sum(value_of(decode(f, x), f), value_of(decode(f, y), f), Rounding::nearest_even);
  if (!f.is_integer) return round(f, total, Rounding::nearest_even);
  const auto* integers = std::get_if<IntegerSum>(t.plan->begin());
  return encode(f, total.number, Rounding::toward_zero, integers ? integers->overflow : Overflow::ieee);
}

Stripe largest_stripe(const MatrixProduct& p) {
  const std::size_t terms = static_cast<std::size_t>(p.tile->terms);
  Stripe out;
  out.pairs = std::min(divide_up(p.rows, 2), kStripePairs);
  out.panels = std::min(divide_up(p.columns, 8), kStripePanels);
  out.steps = std::min(p.steps.size(), std::max<std::size_t>(1, kStripeDepth / terms));
  return out;
}

bool has_engine(const Tile& tile) {
  return panel_tile(tile) != nullptr || group_program(tile) != nullptr || is_chain(tile);
}

std::unique_ptr<GemmEngine> make_engine(const MatrixProduct& product, const Body& body) {
  const Tile& tile = *product.tile;
  return is_chain(tile)                ? make_chain_engine(product, body)
         : panel_tile(tile) != nullptr ? make_panel_engine(product, body)
                                       : make_group_engine(product, body);
}

void run_product(const MatrixProduct& given, const Body* body) {
  if (given.rows == 0 || given.columns == 0) return;
  MatrixProduct product = given;
  const double work = static_cast<double>(given.rows) * static_cast<double>(given.columns) *
                      static_cast<double>(given.depth) /
                      static_cast<double>(body != nullptr ? kBodyPart : kElementPart);
  product.threads =
      thread_count(given.threads, static_cast<std::uint64_t>(std::min<double>(kMaxThreads, 1 + work)));
  std::unique_ptr<GemmEngine> engine;
  if (body == nullptr)
    engine = make_element_engine(product);
  else
    engine = make_engine(product, *body);
  Runner(product, *engine, body != nullptr ? kRangePanels : 1).run();
}

}  // namespace warpbit
