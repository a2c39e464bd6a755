// SPDX-License-Identifier: Apache-2.0
// A product of matrices element by element, by the specification: for all that has no faster engine.
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "kernel/panel_gemm.hpp"

namespace warpbit {
namespace {

class ElementEngine : public GemmEngine {
 public:
  explicit ElementEngine(const MatrixProduct& product)
      : p_(product), most_(largest_stripe(product)), of_a_(product, true), of_b_(product, false) {
    Decodings slot;
    slot.a.resize(most_.pairs * 2 * depth());
    slot.b.resize(most_.panels * 8 * depth());
    slot.a_scales.resize(most_.pairs * 2 * most_.steps * of_a_.blocks());
    slot.b_scales.resize(most_.panels * 8 * most_.steps * of_b_.blocks());
    slots_.resize(product.slots(), slot);
  }

  void pack_a(const Stripe& s, std::size_t first_pair, std::size_t last_pair) override {
    Decodings& to = slots_[s.slot];
    for (std::size_t row = 2 * first_pair; row < 2 * last_pair; ++row) {
      pack(true, s, s.first_row + row < p_.rows, &to.a[row * depth()],
           [&](std::size_t k) { return p_.a.get(s.first_row + row, k); });
      pack_scales(of_a_, p_.tile->a_scale, s, s.first_row + row, row, to.a_scales);
    }
  }
  void pack_b(const Stripe& s, std::size_t panel) override {
    Decodings& to = slots_[s.slot];
    for (std::size_t column = 8 * panel; column < 8 * panel + 8; ++column) {
      pack(false, s, s.first_column + column < p_.columns, &to.b[column * depth()],
           [&](std::size_t k) { return p_.b.get(k, s.first_column + column); });
      pack_scales(of_b_, p_.tile->b_scale, s, s.first_column + column, column, to.b_scales);
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
    const Decodings& from = slots_[s.slot];
    std::uint64_t code = 0;
    std::memcpy(&code, running, p_.d.item_bytes);
    for (std::size_t step = 0; step < s.steps; ++step)
      code = run_element(*p_.tile, line(from.a, from.a_scales, of_a_.blocks(), row, step),
                         line(from.b, from.b_scales, of_b_.blocks(), column, step), code);
    std::memcpy(running, &code, p_.d.item_bytes);
  }

  struct Decodings {
    std::vector<Decoded> a, b, a_scales, b_scales;
  };

  const MatrixProduct& p_;
  Stripe most_;
  LineScales of_a_, of_b_;
  std::vector<Decodings> slots_;
};

}  // namespace

std::unique_ptr<GemmEngine> make_element_engine(const MatrixProduct& product) {
  return std::make_unique<ElementEngine>(product);
}

}  // namespace warpbit
