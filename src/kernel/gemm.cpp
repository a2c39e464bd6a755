// SPDX-License-Identifier: Apache-2.0
#include "kernel/gemm.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
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

// Products for which another thread is worth its start, by a body and by the specification.
constexpr double kBodyWork = 1 << 19, kElementWork = 1 << 14;

std::size_t divide_up(std::size_t x, std::size_t by) {
  return (x + by - 1) / by;
}

// ---- Element by element

class ElementEngine : public GemmEngine {
 public:
  explicit ElementEngine(const MatrixProduct& product)
      : p_(product),
        most_(largest_stripe(product)),
        a_(most_.pairs * 2 * depth()),
        b_(most_.panels * 8 * depth()),
        of_a_(product, true),
        of_b_(product, false),
        a_scales_(most_.pairs * 2 * most_.steps * of_a_.blocks()),
        b_scales_(most_.panels * 8 * most_.steps * of_b_.blocks()) {}

  void pack_a(const Stripe& s, std::size_t first_pair, std::size_t last_pair) override {
    for (std::size_t row = 2 * first_pair; row < 2 * last_pair; ++row) {
      pack(true, s, s.first_row + row < p_.rows, &a_[row * depth()],
           [&](std::size_t k) { return p_.a.get(s.first_row + row, k); });
      pack_scales(of_a_, p_.tile->a_scale, s, s.first_row + row, row, a_scales_);
    }
  }
  void pack_b(const Stripe& s, std::size_t panel) override {
    for (std::size_t column = 8 * panel; column < 8 * panel + 8; ++column) {
      pack(false, s, s.first_column + column < p_.columns, &b_[column * depth()],
           [&](std::size_t k) { return p_.b.get(k, s.first_column + column); });
      pack_scales(of_b_, p_.tile->b_scale, s, s.first_column + column, column, b_scales_);
    }
  }

  void multiply(const Stripe& s, const BlockRange& range, const RunningBlocks& running) override {
    for (std::size_t panel = range.first_panel; panel < range.last_panel; ++panel)
      for (std::size_t pair = range.first_pair; pair < range.last_pair; ++pair)
        for (std::size_t row = 0; row < 2; ++row)
          for (std::size_t column = 0; column < 8; ++column)
            if (s.first_row + 2 * pair + row < p_.rows && s.first_column + 8 * panel + column < p_.columns)
              multiply(s, 2 * pair + row, 8 * panel + column,
                       running.block(pair, panel) + element_of_block(row, column) * p_.d.item_bytes);
  }

 private:
  std::size_t terms() const { return static_cast<std::size_t>(p_.tile->terms); }
  std::size_t depth() const { return most_.steps * terms(); }

  template <class Get>
  void pack(bool of_a, const Stripe& s, bool is_inside, Decoded* to, Get get) const {
    for (std::size_t step = 0; step < s.steps; ++step)
      for (std::size_t term = 0; term < terms(); ++term) {
        const std::size_t k = p_.steps[s.first_step + step] * terms() + term;
        *to++ = decode_factor(*p_.tile, of_a, is_inside && k < p_.depth ? get(k) : 0);
      }
  }
  void pack_scales(const LineScales& scales, const TileScale& scale, const Stripe& s, std::size_t line,
                   std::size_t at, std::vector<Decoded>& to) const {
    std::size_t i = at * most_.steps * scales.blocks();
    for (std::size_t step = 0; step < s.steps; ++step)
      for (std::size_t block = 0; block < scales.blocks(); ++block)
        to[i++] = warpbit::decode(*scale.format, scales.code(line, p_.steps[s.first_step + step], block));
  }
  DecodedLine line(const std::vector<Decoded>& elements, const std::vector<Decoded>& scales, std::size_t blocks,
                   std::size_t at, std::size_t step) const {
    return {std::span(elements).subspan(at * depth() + step * terms(), terms()),
            std::span(scales).subspan((at * most_.steps + step) * blocks, blocks)};
  }

  void multiply(const Stripe& s, std::size_t row, std::size_t column, std::byte* running) const {
    std::uint64_t code = 0;
    std::memcpy(&code, running, p_.d.item_bytes);
    for (std::size_t step = 0; step < s.steps; ++step)
      code = run_element(*p_.tile, line(a_, a_scales_, of_a_.blocks(), row, step),
                         line(b_, b_scales_, of_b_.blocks(), column, step), code);
    std::memcpy(running, &code, p_.d.item_bytes);
  }

  const MatrixProduct& p_;
  Stripe most_;
  std::vector<Decoded> a_, b_;
  LineScales of_a_, of_b_;
  std::vector<Decoded> a_scales_, b_scales_;
};

// ---- Stripes

// Where a thread's part of some work goes on, in a cache line of its own.
struct alignas(64) Part {
  std::atomic<std::size_t> next = 0;
};

class Runner {
 public:
  Runner(const MatrixProduct& product, GemmEngine& engine)
      : p_(product),
        engine_(engine),
        most_(largest_stripe(product)),
        running_(elements() * p_.d.item_bytes),
        parts_(static_cast<std::size_t>(product.threads)) {}

  void run() {
    const std::size_t rows = 2 * kStripePairs, columns = 8 * kStripePanels;
    for (std::size_t row = 0; row < p_.rows; row += rows)
      for (std::size_t column = 0; column < p_.columns; column += columns)
        run({row, column, divide_up(std::min(rows, p_.rows - row), 2),
             divide_up(std::min(columns, p_.columns - column), 8)});
  }

 private:
  std::size_t elements() const { return most_.pairs * most_.panels * kBlock; }

  void run(Stripe s) {
    std::size_t first = 0;
    do {
      const std::size_t last = std::min(first + p_.run, p_.steps.size());
      for_each_range(s, [&](const BlockRange& r) { start(s, r, first == 0); });
      for (s.first_step = first; s.first_step < last; s.first_step += s.steps) {
        s.steps = std::min(most_.steps, last - s.first_step);
        for_each_pairs(s, [&](std::size_t pair, std::size_t last_pair) { engine_.pack_a(s, pair, last_pair); });
        for_each(s.panels, [&](std::size_t panel) { engine_.pack_b(s, panel); });
        engine_.packed(s);
        for_each_pairs(s,
                       [&](std::size_t pair, std::size_t last_pair) { engine_.decode_a(s, pair, last_pair); });
        for_each(s.panels, [&](std::size_t panel) { engine_.decode_b(s, panel); });
        for_each_range(s, [&](const BlockRange& r) { engine_.multiply(s, r, blocks(s)); });
      }
      for_each_range(s, [&](const BlockRange& r) { finish(s, r, first == 0); });
      first = last;
    } while (first < p_.steps.size());
  }

  // Each thread has a part of the work, the same for all steps of K: most of its blocks stay in the caches of
  // one core. Done with that, it takes from the parts of others.
  template <class Work>
  void for_each(std::size_t count, Work work) {
    const auto first = [&](std::size_t part) { return count * part / parts_.size(); };
    for (std::size_t part = 0; part < parts_.size(); ++part) parts_[part].next = first(part);
    const std::atomic<bool>* const stop = stop_flag();
#pragma omp parallel for num_threads(p_.threads) schedule(static, 1) if (p_.threads > 1 && count > 1)
    for (std::size_t thread = 0; thread < parts_.size(); ++thread) {
      const DefaultFloating floating;
      for (std::size_t other = 0; other < parts_.size(); ++other) {
        const std::size_t part = (thread + other) % parts_.size(), last = first(part + 1);
        if (parts_[part].next >= last) continue;  // read, but not written
        for (std::size_t i = parts_[part].next++; i < last && (stop == nullptr || !*stop);
             i = parts_[part].next++)
          work(i);
      }
    }
    end_if(stop);
  }
  template <class Work>
  void for_each_pairs(const Stripe& s, Work work) {
    for_each(divide_up(s.pairs, kRangePairs),
             [&](std::size_t i) { work(i * kRangePairs, std::min((i + 1) * kRangePairs, s.pairs)); });
  }
  template <class Work>
  void for_each_range(const Stripe& s, Work work) {
    const std::size_t down = divide_up(s.pairs, kRangePairs), across = divide_up(s.panels, kRangePanels);
    for_each(down * across, [&](std::size_t i) {
      const std::size_t pair = i / across * kRangePairs, panel = i % across * kRangePanels;
      work({pair, std::min(pair + kRangePairs, s.pairs), panel, std::min(panel + kRangePanels, s.panels)});
    });
  }

  RunningBlocks blocks(const Stripe& s) {
    return {running_.data(), s.pairs, p_.d.item_bytes};
  }

  // Calls work(running, element) for each element of a matrix with items like those of D in the range.
  template <class Item, class Work>
  void for_each_element(const Stripe& s, const BlockRange& range, const ItemMatrix& matrix, Work work) {
    const RunningBlocks running = blocks(s);
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

  // The first partial sum starts from C, the others from +0.
  void start(const Stripe& s, const BlockRange& range, bool from_c) {
    const RunningBlocks running = blocks(s);
    for (std::size_t panel = range.first_panel; panel < range.last_panel; ++panel)
      std::memset(running.block(range.first_pair, panel), 0,
                  (range.last_pair - range.first_pair) * kBlock * p_.d.item_bytes);
    if (!from_c || p_.c.data == nullptr) return;
    with_item([&]<class Item>(Item) {
      for_each_element<Item>(s, range, p_.c, [](std::byte* code, const std::byte* element) {
        std::memcpy(code, element, sizeof(Item));
      });
    });
  }

  // The first one becomes D, the others are added to it.
  void finish(const Stripe& s, const BlockRange& range, bool is_first) {
    with_item([&]<class Item>(Item) {
      for_each_element<Item>(s, range, p_.d, [&](const std::byte* code, std::byte* element) {
        if (is_first) {
          std::memcpy(element, code, sizeof(Item));
          return;
        }
        Item before, partial;
        std::memcpy(&before, element, sizeof(Item));
        std::memcpy(&partial, code, sizeof(Item));
        before = static_cast<Item>(add_partial_sums(*p_.tile, before, partial));
        std::memcpy(element, &before, sizeof(Item));
      });
    });
  }

  const MatrixProduct& p_;
  GemmEngine& engine_;
  Stripe most_;
  Lines<std::byte> running_;
  std::vector<Part> parts_;
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
  return panel_tile(tile) != nullptr || group_program(tile) != nullptr;
}

void run_product(const MatrixProduct& given, const Body* body) {
  if (given.rows == 0 || given.columns == 0) return;
  MatrixProduct product = given;
  const double work = static_cast<double>(given.rows) * static_cast<double>(given.columns) *
                      static_cast<double>(given.depth) / (body != nullptr ? kBodyWork : kElementWork);
  product.threads =
      thread_count(given.threads, static_cast<std::uint64_t>(std::min<double>(kMaxThreads, 1 + work)));
  std::unique_ptr<GemmEngine> engine;
  if (body == nullptr)
    engine = std::make_unique<ElementEngine>(product);
  else
    engine = panel_tile(*product.tile) != nullptr ? make_panel_engine(product, *body)
                                                  : make_group_engine(product, *body);
  Runner(product, *engine).run();
}

}  // namespace warpbit
