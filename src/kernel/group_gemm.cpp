// SPDX-License-Identifier: Apache-2.0
// Products of scaled groups by the bodies: A and B become fragments of m16n8k64, one for each step. A fragment of A has
// eight pairs of rows of D, the rows of a pair eight apart; then its part of C and D is eight running blocks.
//
//     lane 4 p + t, A    pair p: (row 0, k = 8 t ... 8 t + 7), (row 1, the same k), both again with k 32 later
//     lane 4 p + t, B    column p: k = 8 t ... 8 t + 7, and 32 later
#include <array>
#include <cstring>
#include <vector>

#include "kernel/group_tile.hpp"
#include "kernel/panel_gemm.hpp"

namespace warpbit {
namespace {

constexpr std::size_t kPairs = 8;       // of a fragment
constexpr std::size_t kWords = 8;       // of a line in a step, of eight elements each
constexpr std::size_t kScaleBytes = 4;  // of a line in a step: as many as are read

// A or B: fragments and scale factors, [fragment][step].
struct FragmentLines {
  FragmentLines(const MatrixProduct& p, bool is_a)
      : matrix(is_a ? p.a : p.b.transposed()),
        depth(p.depth),
        count(is_a ? p.rows : p.columns),
        each(is_a ? 2 * kPairs : 8),
        most_steps(largest_stripe(p).steps),
        scales(p, is_a) {
    const Stripe most = largest_stripe(p);
    const std::size_t fragments = is_a ? (most.pairs + kPairs - 1) / kPairs : most.panels;
    words.resize(fragments * most_steps * each * kWords);
    scale_codes.resize(fragments * most_steps * each * kScaleBytes);
  }

  std::size_t words_of_step() const { return each * kWords; }
  std::size_t scales_of_step() const { return each * kScaleBytes; }
  const std::byte* fragment(std::size_t i) const {
    return reinterpret_cast<const std::byte*>(&words[i * most_steps * words_of_step()]);
  }
  const std::byte* scales_at(std::size_t i) const { return &scale_codes[i * most_steps * scales_of_step()]; }

  // Line i of a fragment: which word of its step has which eight elements.
  std::size_t place(std::size_t i, std::size_t eight) const {
    const std::size_t unit = eight / 4, t = eight % 4;
    return each == 8 ? (i * 4 + t) * 2 + unit : ((i / 2 * 4 + t) * 2 + unit) * 2 + i % 2;
  }

  // Eight elements of a line.
  std::uint32_t word(std::size_t line, std::size_t k) const {
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < 8 && k + i < depth && line < count; ++i)
      out |= static_cast<std::uint32_t>(matrix.get(line, k + i) & 0xF) << 4 * i;
    return out;
  }

  void pack(std::size_t fragment, std::size_t first_line, std::span<const std::size_t> steps) {
    for (std::size_t step = 0; step < steps.size(); ++step) {
      std::uint32_t* to = &words[(fragment * most_steps + step) * words_of_step()];
      std::byte* scale = &scale_codes[(fragment * most_steps + step) * scales_of_step()];
      for (std::size_t i = 0; i < each; ++i, scale += kScaleBytes) {
        for (std::size_t eight = 0; eight < kWords; ++eight)
          to[place(i, eight)] = word(first_line + i, (steps[step] * kWords + eight) * 8);
        for (std::size_t block = 0; block < scales.blocks(); ++block)
          scale[block] = static_cast<std::byte>(scales.code(first_line + i, steps[step], block));
      }
    }
  }

  ItemMatrix matrix;  // (line, k)
  std::size_t depth, count, each, most_steps;
  LineScales scales;
  std::vector<std::uint32_t> words;
  std::vector<std::byte> scale_codes;
};

class GroupEngine : public GemmEngine {
 public:
  GroupEngine(const MatrixProduct& product, const Body& body)
      : p_(product), body_(body), program_(*group_program(*product.tile)) {
    for (std::size_t i = 0; i < product.slots(); ++i) slots_.push_back({{product, true}, {product, false}});
    const auto& [a, b] = slots_[0];
    for (std::size_t i = 0; i < a.each; ++i) program_.scales.a[i] = static_cast<std::uint16_t>(i * kScaleBytes);
    for (std::size_t i = 0; i < b.each; ++i) program_.scales.b[i] = static_cast<std::uint16_t>(i * kScaleBytes);
  }

  void pack_a(const Stripe& s, std::size_t first_pair, std::size_t last_pair) override {
    static_assert(kRangePairs % kPairs == 0);
    for (std::size_t pair = first_pair; pair < last_pair; pair += kPairs)
      slots_[s.slot].a.pack(pair / kPairs, s.first_row + 2 * pair, steps(s));
  }
  void pack_b(const Stripe& s, std::size_t panel) override {
    slots_[s.slot].b.pack(panel, s.first_column + 8 * panel, steps(s));
  }

  void multiply(const Stripe& s, const BlockRange& range, const RunningBlocks& running) override {
    for (std::size_t panel = range.first_panel; panel < range.last_panel; ++panel)
      for (std::size_t pair = range.first_pair; pair < range.last_pair; pair += kPairs)
        multiply(s, pair, std::min(kPairs, range.last_pair - pair), panel, running.block(pair, panel));
  }

 private:
  struct Slot {
    FragmentLines a, b;
  };
  struct Context {
    const MatrixProduct* product;
    std::size_t first_step, row, column;
  };

  std::span<const std::size_t> steps(const Stripe& s) const {
    return std::span(p_.steps).subspan(s.first_step, s.steps);
  }

  // A fragment of A and one of B, all steps.
  void multiply(const Stripe& s, std::size_t pair, std::size_t pairs, std::size_t panel,
                std::byte* blocks) const {
    const auto& [a, b] = slots_[s.slot];
    constexpr std::ptrdiff_t kPiece = 4 * sizeof(float);
    alignas(64) std::byte whole[kPairs * kBlock * sizeof(float)] = {};  // where a stripe has fewer pairs
    const std::size_t bytes = pairs * kBlock * sizeof(float);
    std::byte* const d = pairs == kPairs ? blocks : whole;
    if (d == whole) std::memcpy(whole, blocks, bytes);
    const PartRegisters part{.a = a.fragment(pair / kPairs),
                             .b = b.fragment(panel),
                             .c = d,
                             .d = d,
                             .e = nullptr,
                             .a_scales = a.scales_at(pair / kPairs),
                             .b_scales = b.scales_at(panel)};
    Context context{&p_, s.first_step, s.first_row + 2 * pair, s.first_column + 8 * panel};
    const auto stride = [](std::size_t items, std::size_t bytes_of_one) {
      return static_cast<std::ptrdiff_t>(items * bytes_of_one);
    };
    // The steps are cases, D of one as C of the next.
    const CaseStrides strides{.a = stride(a.words_of_step(), 4),
                              .b = stride(b.words_of_step(), 4),
                              .a_scales = stride(a.scales_of_step(), 1),
                              .b_scales = stride(b.scales_of_step(), 1)};
    body_.groups(program_,
                 {&part, 1, s.steps, strides, static_cast<int>(kPairs), kPiece, kPiece, {exact, &context}});
    if (d == whole) std::memcpy(blocks, whole, bytes);
  }

  static std::uint64_t exact(void* context, const LeftLane& at, std::uint64_t c) {
    const auto& [product, first_step, row, column] = *static_cast<const Context*>(context);
    return run_step(*product, first_step + at.index, row + 2 * static_cast<std::size_t>(at.row) + at.lane % 2,
                    column + static_cast<std::size_t>(at.lane / 2), c);
  }

  const MatrixProduct& p_;
  const Body& body_;
  GroupProgram program_;
  std::vector<Slot> slots_;
};

}  // namespace

std::unique_ptr<GemmEngine> make_group_engine(const MatrixProduct& product, const Body& body) {
  return std::make_unique<GroupEngine>(product, body);
}

}  // namespace warpbit
