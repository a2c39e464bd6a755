// SPDX-License-Identifier: Apache-2.0
// Products in chains of FMA, or of products and sums, by the bodies: A and B become numbers of f32 or f64, pairs of rows and panels of eight columns.
//
//     A: [pair][step][2]      B: [panel][step][8]
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <variant>
#include <vector>

#include "kernel/conversion_table.hpp"
#include "kernel/panel_gemm.hpp"
#include "numeric/conversion.hpp"

namespace warpbit {
namespace {

const FmaChain* chain_step(const Tile& tile) {
  return tile.plan->size() == 1 ? std::get_if<FmaChain>(tile.plan->begin()) : nullptr;
}

// T: float or double.
template <class T>
class ChainEngine : public GemmEngine {
 public:
  ChainEngine(const MatrixProduct& product, const Body& body)
      : p_(product),
        body_(body),
        most_(largest_stripe(product)),
        to_float_{product.tile->a.format->id, FormatId::f32},
        table_(product.a.item_bytes == 2 ? find_table(to_float_, kAlways) : nullptr),
        slots_(product.slots(), {std::vector<T>(most_.pairs * most_.steps * 2),
                                 std::vector<T>(most_.panels * most_.steps * 8)}) {}

  void pack_a(const Stripe& s, std::size_t first_pair, std::size_t last_pair) override {
    for (std::size_t pair = first_pair; pair < last_pair; ++pair)
      pack(p_.a, p_.rows, s.first_row + 2 * pair, 2, s, &slots_[s.slot].a[pair * most_.steps * 2]);
  }
  void pack_b(const Stripe& s, std::size_t panel) override {
    pack(p_.b.transposed(), p_.columns, s.first_column + 8 * panel, 8, s,
         &slots_[s.slot].b[panel * most_.steps * 8]);
  }

  void multiply(const Stripe& s, const BlockRange& range, const RunningBlocks& running) override {
    const std::size_t pairs = range.last_pair - range.first_pair;
    std::array<T, kRangePairs * kBlock> sums;
    for (std::size_t panel = range.first_panel; panel < range.last_panel; ++panel) {
      for (std::size_t pair = 0; pair < pairs; ++pair)
        for_each_of_block([&](std::size_t row, std::size_t column, std::size_t place) {
          std::memcpy(&sums[pair * kBlock + 8 * row + column],
                      running.block(range.first_pair + pair, panel) + place * sizeof(T), sizeof(T));
        });
      body_.chain({std::is_same_v<T, double>, chain_step(*p_.tile)->fused,
                   &slots_[s.slot].a[range.first_pair * most_.steps * 2], most_.steps * 2,
                   &slots_[s.slot].b[panel * most_.steps * 8], s.steps, pairs, sums.data()});
      for (std::size_t pair = 0; pair < pairs; ++pair)
        for_each_of_block([&](std::size_t row, std::size_t column, std::size_t place) {
          std::byte* const to = running.block(range.first_pair + pair, panel) + place * sizeof(T);
          const T sum = sums[pair * kBlock + 8 * row + column];
          if (std::isnan(sum))
            by_specification(s, s.first_row + 2 * (range.first_pair + pair) + row,
                             s.first_column + 8 * panel + column, to);
          else
            std::memcpy(to, &sum, sizeof(T));
        });
    }
  }

 private:
  static constexpr std::size_t kAlways = std::size_t{1} << 20;  // so many elements that there is a table

  template <class Work>
  static void for_each_of_block(Work work) {
    for (std::size_t row = 0; row < 2; ++row)
      for (std::size_t column = 0; column < 8; ++column) work(row, column, element_of_block(row, column));
  }

  T number(const std::byte* item) const {
    if (table_ == nullptr && p_.a.item_bytes == sizeof(T)) {
      T out;
      std::memcpy(&out, item, sizeof(T));
      return out;
    }
    std::uint16_t code = 0;
    std::memcpy(&code, item, sizeof code);
    const std::uint32_t wide =
        table_ != nullptr ? (*table_)(code) : static_cast<std::uint32_t>(convert(to_float_, code, 0));
    return static_cast<T>(std::bit_cast<float>(wide));
  }
  // Some lines of K side by side; +0 outside the matrices.
  void pack(const ItemMatrix& lines, std::size_t count, std::size_t first, std::size_t each, const Stripe& s,
            T* to) const {
    for (std::size_t step = 0; step < s.steps; ++step) {
      const std::size_t k = p_.steps[s.first_step + step];
      for (std::size_t i = 0; i < each; ++i) *to++ = first + i < count ? number(lines.at(first + i, k)) : T{};
    }
  }
  // Of a NaN the bits count, too.
  void by_specification(const Stripe& s, std::size_t row, std::size_t column, std::byte* running) const {
    if (row >= p_.rows || column >= p_.columns) return;
    std::uint64_t sum = 0;
    std::memcpy(&sum, running, sizeof(T));
    for (std::size_t step = 0; step < s.steps; ++step) {
      const std::size_t k = p_.steps[s.first_step + step];
      const std::uint64_t a = p_.a.get(row, k), b = p_.b.get(k, column);
      sum = run_element(*p_.tile, {{&a, 1}, {&b, 1}, sum, {}, {}});
    }
    std::memcpy(running, &sum, sizeof(T));
  }

  struct Slot {
    std::vector<T> a, b;
  };
  const MatrixProduct& p_;
  const Body& body_;
  Stripe most_;
  Conversion to_float_;
  const ConversionTable* table_;
  std::vector<Slot> slots_;
};

}  // namespace

bool is_chain(const Tile& tile) {
  const FmaChain* const step = chain_step(tile);
  return tile.terms == 1 && step != nullptr && step->rounding == Rounding::nearest_even &&
         step->start == Start::running;
}

std::unique_ptr<GemmEngine> make_chain_engine(const MatrixProduct& product, const Body& body) {
  if (product.tile->d.format->id == FormatId::f64) return std::make_unique<ChainEngine<double>>(product, body);
  return std::make_unique<ChainEngine<float>>(product, body);
}

}  // namespace warpbit
