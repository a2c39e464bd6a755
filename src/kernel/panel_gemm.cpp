// SPDX-License-Identifier: Apache-2.0
#include "kernel/panel_gemm.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "kernel/fused.hpp"

namespace warpbit {
namespace {

// The codes of all bytes as the bodies take them, with `sign` changed.
std::array<std::uint16_t, 256> half_codes(const Encoding& e, const TileOperand& factor, std::uint32_t sign) {
  std::array<std::uint16_t, 256> out{};
  const int low = factor.places.empty() ? 0 : factor.places[0].low_bit % 8;
  for (std::size_t code = 0; code < out.size(); ++code) {
    const auto byte = static_cast<std::uint32_t>(code) << low;
    out[code] = static_cast<std::uint16_t>(
        ((byte & e.sign_mask) << e.sign_shift | (byte & e.magnitude_mask) << e.magnitude_shift) ^ sign);
  }
  return out;
}

// A or B as lines of K: the rows of A, or the columns of B.
struct Factor {
  Factor(const MatrixProduct& p, const Encoding& e, std::size_t panel_steps, bool is_a)
      : encoding(e),
        matrix(is_a ? p.a : p.b.transposed()),
        count(is_a ? p.rows : p.columns),
        most_panels(is_a ? largest_stripe(p).pairs : largest_stripe(p).panels),
        steps(panel_steps),
        each(is_a ? 2 : 8),
        step_size(static_cast<std::size_t>(p.tile->terms) * each),
        sign(is_a && p.tile->negate_a != p.tile->negate_b ? 1U << (8 * code_bytes() - 1) : 0),
        codes(most_panels * panel_size() + kCodePadding / sizeof(std::uint32_t)),
        values(most_panels * panel_size()),
        exponents(most_panels * panel_size()),
        special(most_panels),
        has_special(most_panels),
        ranges(most_panels),
        scales(p, is_a) {
    if (e.bytes == 1) halves = half_codes(e, is_a ? p.tile->a : p.tile->b, sign);
    if (scales.blocks() == 0) return;
    scale_exponents.resize(most_panels * panel_steps * scales_each());
    scale_nan.resize(most_panels);
  }

  std::size_t panel_size() const { return steps * step_size; }
  // Where a panel begins.
  std::size_t at(std::size_t panel) const { return panel * panel_size(); }
  std::byte* codes_at(std::size_t panel) const {
    return reinterpret_cast<std::byte*>(codes.data()) + at(panel) * code_bytes();
  }
  float* values_at(std::size_t panel) const { return values.data() + at(panel); }
  std::byte* exponents_at(std::size_t panel, bool far) const {
    const std::size_t bytes = far ? sizeof(float) : each == 8 ? 2 : 1;  // near ones of B are there twice
    return reinterpret_cast<std::byte*>(exponents.data()) + at(panel) * bytes;
  }
  // The exponents of scale factors that a body reads of a panel in a step; those of a step follow each other.
  std::size_t scales_each() const { return each == 8 ? kBlock : each; }
  std::int16_t* scales_at(std::size_t step, std::size_t panel) {
    return &scale_exponents[(step * most_panels + panel) * scales_each()];
  }
  std::size_t code_bytes() const { return encoding.kind == Encoding::Kind::tf32 ? 4 : 2; }

  Encoding encoding;
  ItemMatrix matrix;
  std::size_t count;        // of lines
  std::size_t most_panels;  // of a stripe
  std::size_t steps;        // of a panel
  std::size_t each;         // lines of a panel
  std::size_t step_size;    // elements of a step of a panel
  std::uint32_t sign;       // what changes the sign of a code of the panels, if A or B is negated
  std::array<std::uint16_t, 256> halves = {};
  Lines<std::uint32_t> codes;
  Lines<float> values;
  Lines<std::int32_t> exponents;      // of 8 or 32 bits
  std::vector<std::uint8_t> special;  // of each panel
  // Of a panel of B; of the first one of a range of A, for all of the range.
  std::vector<std::uint8_t> has_special;
  std::vector<ExponentRange> ranges;
  LineScales scales;
  std::vector<std::int16_t> scale_exponents;
  std::vector<std::uint8_t> scale_nan;  // of each panel: whether there is a NaN among them
};

class PanelEngine : public GemmEngine {
 public:
  PanelEngine(const MatrixProduct& product, const Body& body)
      : p_(product), body_(body), fused_(*panel_tile(*product.tile)), panel_steps_(whole_steps(product)) {
    for (std::size_t i = 0; i < product.slots(); ++i)
      slots_.push_back(
          {{product, fused_.of_a, panel_steps_, true}, {product, fused_.of_b, panel_steps_, false}});
  }

  void pack_a(const Stripe& s, std::size_t first, std::size_t last) override {
    pack(slots_[s.slot].a, s, s.first_row, first, last);
  }
  void pack_b(const Stripe& s, std::size_t panel) override {
    pack(slots_[s.slot].b, s, s.first_column, panel, panel + 1);
  }

  void packed(const Stripe& s) override {
    auto& [a, b, far] = slots_[s.slot];
    far = false;
    for (std::size_t pair = 0; pair < s.pairs; pair += kRangePairs) far = far || a.ranges[pair].far;
    for (std::size_t panel = 0; panel < s.panels; ++panel) far = far || b.ranges[panel].far;
  }

  void decode_a(const Stripe& s, std::size_t first, std::size_t last) override {
    unpack(slots_[s.slot].a, first, last, slots_[s.slot].far);
  }
  void decode_b(const Stripe& s, std::size_t panel) override {
    unpack(slots_[s.slot].b, panel, panel + 1, slots_[s.slot].far);
  }

  void multiply(const Stripe& s, const BlockRange& range, const RunningBlocks& running) override {
    for (std::size_t panel = range.first_panel; panel < range.last_panel; ++panel)
      multiply(s, range, panel, running);
  }

 private:
  struct Slot {
    Factor a, b;
    bool far = false;  // exponents have 32 bits: they are far apart somewhere
  };

  std::size_t terms() const { return static_cast<std::size_t>(p_.tile->terms); }
  // Bodies decode 64 elements at once.
  static std::size_t whole_steps(const MatrixProduct& p) {
    std::size_t out = largest_stripe(p).steps;
    while (2 * out * static_cast<std::size_t>(p.tile->terms) % 64 != 0) ++out;
    return out;
  }

  // ---- Panels

  void pack(Factor& f, const Stripe& s, std::size_t first_line, std::size_t first, std::size_t last) {
    for (std::size_t panel = first; panel < last; ++panel) {
      const std::size_t line = first_line + panel * f.each;
      if (f.scales.blocks() != 0) pack_scales(f, s, line, panel);
      auto* halves = reinterpret_cast<std::uint16_t*>(f.codes_at(panel));
      switch (f.matrix.item_bytes) {
        case 1: gather<std::uint8_t>(f, s, line, halves); break;
        case 2: gather<std::uint16_t>(f, s, line, halves); break;
        default: gather<std::uint32_t>(f, s, line, reinterpret_cast<std::uint32_t*>(f.codes_at(panel))); break;
      }
    }
    const std::size_t count = (last - first) * f.panel_size();
    f.ranges[first] = body_.exponent_range(f.encoding, f.codes_at(first), static_cast<int>(count));
  }

  // One of ue8m0 for each line and step.
  void pack_scales(Factor& f, const Stripe& s, std::size_t line, std::size_t panel) const {
    const std::size_t twice = f.scales_each() / f.each;
    f.scale_nan[panel] = 0;
    for (std::size_t step = 0; step < s.steps; ++step) {
      std::int16_t* to = f.scales_at(step, panel);
      for (std::size_t i = 0; i < f.each; ++i) {
        const std::uint64_t code = f.scales.code(line + i, p_.steps[s.first_step + step], 0);
        if (code == kScaleNan) f.scale_nan[panel] = 1;
        for (std::size_t n = 0; n < twice; ++n) *to++ = scale_exponent(static_cast<unsigned>(code));
      }
    }
  }

  void unpack(Factor& f, std::size_t first, std::size_t last, bool far) const {
    const auto count = static_cast<int>((last - first) * f.panel_size());
    f.has_special[first] = body_.decode(f.encoding, f.codes_at(first), count, static_cast<int>(f.each),
                                        top(f, first, far), f.values_at(first), f.exponents_at(first, far));
    if (f.has_special[first])
      body_.find_specials(f.encoding, f.codes_at(first), static_cast<int>(last - first),
                          static_cast<int>(f.panel_size()), top(f, first, far), &f.special[first]);
    else
      std::fill(&f.special[first], &f.special[first] + (last - first), std::uint8_t{0});
    for (std::size_t i = first; f.scales.blocks() != 0 && i < last; ++i) {
      if (!f.scale_nan[i]) continue;
      f.special[i] = 1;
      f.has_special[first] = 1;
    }
  }
  static int top(const Factor& f, std::size_t first, bool far) { return far ? 0 : f.ranges[first].top; }

  template <class Item, class Code>
  void gather(const Factor& f, const Stripe& s, std::size_t line, Code* codes) const {
    const bool is_whole = f.count >= line + f.each;
    const bool is_dense = f.matrix.row_stride == 1;
    for (std::size_t step = 0; step < panel_steps_; ++step, codes += f.step_size) {
      const std::size_t k = step < s.steps ? p_.steps[s.first_step + step] * terms() : p_.depth;
      if (!is_whole || p_.depth - k < terms())
        f.each == 2 ? gather_edge<2, Item>(f, line, k, codes) : gather_edge<8, Item>(f, line, k, codes);
      else if (f.each == 2)
        gather_step<2, false, Item>(f, line, k, codes);
      else if (is_dense)
        gather_step<8, true, Item>(f, line, k, codes);
      else
        gather_step<8, false, Item>(f, line, k, codes);
    }
  }

  template <class Item>
  static auto code_at(const Factor& f, const std::byte* from) {
    Item item;
    std::memcpy(&item, from, sizeof(Item));
    if constexpr (sizeof(Item) == 1)
      return f.halves[item];
    else
      return static_cast<Item>(item ^ f.sign);
  }

  // A step within the matrix; of dense lines, one item follows another.
  template <std::size_t kEach, bool kDense, class Item, class Code>
  void gather_step(const Factor& f, std::size_t line, std::size_t k, Code* codes) const {
    const std::byte* first = f.matrix.at(line, k);
    const std::ptrdiff_t next_line =
        (kDense ? 1 : f.matrix.row_stride) * static_cast<std::ptrdiff_t>(sizeof(Item));
    const std::ptrdiff_t next_k = f.matrix.column_stride * static_cast<std::ptrdiff_t>(sizeof(Item));
    for_each_element<kEach>([&](std::size_t i, int place) {
      *codes++ = code_at<Item>(f, first + place * next_k + static_cast<std::ptrdiff_t>(i) * next_line);
    });
  }
  template <std::size_t kEach, class Item, class Code>
  void gather_edge(const Factor& f, std::size_t line, std::size_t k, Code* codes) const {
    for_each_element<kEach>([&](std::size_t i, int place) {
      const std::size_t l = line + i, at = k + static_cast<std::size_t>(place);
      *codes++ = l < f.count && at < p_.depth ? code_at<Item>(f, f.matrix.at(l, at)) : Code{0};
    });
  }

  // Calls put(line, k) for the elements of a step in the order of a panel: of A each k, of B two at a time.
  template <std::size_t kEach, class Put>
  void for_each_element(Put put) const {
    constexpr std::size_t kTogether = kEach == 8 ? 2 : 1;
    for (std::size_t first = 0; first < fused_.order.size(); first += kTogether)
      for (std::size_t i = 0; i < kEach; ++i)
        for (std::size_t k = 0; k < kTogether; ++k) put(i, fused_.order[first + k]);
  }

  // ---- Blocks

  // The blocks of one panel.
  void multiply(const Stripe& s, const BlockRange& range, std::size_t panel, const RunningBlocks& running) {
    Slot& slot = slots_[s.slot];
    auto& [a, b, far] = slot;
    FusedBlocks blocks;
    blocks.program = &fused_.program;
    blocks.rows = static_cast<int>(range.last_pair - range.first_pair);
    blocks.columns = 1;
    blocks.depth = p_.tile->terms;
    blocks.steps = static_cast<int>(s.steps);
    blocks.panel_steps = static_cast<int>(panel_steps_);
    blocks.a = a.values_at(range.first_pair);
    blocks.b = b.values_at(panel);
    blocks.a_exponents = a.exponents_at(range.first_pair, far);
    blocks.b_exponents = b.exponents_at(panel, far);
    blocks.a_top = top(a, range.first_pair, far);
    blocks.b_top = top(b, panel, far);
    blocks.has_special = a.has_special[range.first_pair] || b.has_special[panel];
    blocks.a_special = &a.special[range.first_pair];
    blocks.b_special = &b.special[panel];
    blocks.a_encoding = &a.encoding;
    blocks.b_encoding = &b.encoding;
    blocks.a_codes = a.codes_at(range.first_pair);
    blocks.b_codes = b.codes_at(panel);
    const auto item = static_cast<std::ptrdiff_t>(running.item_bytes);
    blocks.c = {running.block(range.first_pair, panel), 4 * item, kBlock * item, 0};
    blocks.d = blocks.c;
    if (a.scales.blocks() == 0)
      body_.fused(blocks);
    else
      multiply_scaled(s, range.first_pair, panel, slot, blocks);
  }

  // Step by step, each with its own scale factors.
  void multiply_scaled(const Stripe& s, std::size_t pair, std::size_t panel, Slot& slot, FusedBlocks blocks) {
    auto& [a, b, far] = slot;
    blocks.steps = 1;
    const std::size_t exponent = far ? sizeof(float) : 1;
    for (std::size_t step = 0; step < s.steps; ++step) {
      blocks.a_scales = a.scales_at(step, pair);
      blocks.b_scales = b.scales_at(step, panel);
      body_.fused(blocks);
      blocks.a += a.step_size;
      blocks.b += b.step_size;
      blocks.a_codes = static_cast<const std::byte*>(blocks.a_codes) + a.step_size * a.code_bytes();
      blocks.b_codes = static_cast<const std::byte*>(blocks.b_codes) + b.step_size * b.code_bytes();
      blocks.a_exponents = static_cast<const std::byte*>(blocks.a_exponents) + a.step_size * exponent;
      blocks.b_exponents = static_cast<const std::byte*>(blocks.b_exponents) + b.step_size * 2;  // or not read
    }
  }

  const MatrixProduct& p_;
  const Body& body_;
  const FusedTile& fused_;
  std::size_t panel_steps_;
  std::vector<Slot> slots_;
};

}  // namespace

std::unique_ptr<GemmEngine> make_panel_engine(const MatrixProduct& product, const Body& body) {
  return std::make_unique<PanelEngine>(product, body);
}

}  // namespace warpbit
