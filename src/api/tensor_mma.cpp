// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma: from the values of its operands to products of matrices by rows, and back into tensor memory.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "api/checks.hpp"
#include "api/located_mma.hpp"
#include "api/tensor_product.hpp"
#include "kernel/bodies.hpp"
#include "kernel/fast_tile.hpp"
#include "kernel/floating.hpp"
#include "warpbit/execute.hpp"

namespace warpbit {
namespace {

using tensor::DataPath;

// Words by rows, as a tile has them.
struct Words {
  int lanes = 0, count = 0;
  std::vector<std::uint32_t> words;

  void clear(int of_lanes, int of_count) {
    lanes = of_lanes;
    count = of_count;
    words.assign(as_size(lanes) * as_size(count), 0);
  }
  std::uint32_t& at(int lane, int reg) { return words[as_size(lane) * as_size(count) + as_size(reg)]; }
  void put(const RegisterBits& to, std::uint32_t code) { at(to.lane, to.reg) |= code << to.low_bit; }
  OperandView view() const { return OperandView::dense(words.data(), lanes, count, 32); }
};
// Of one thread; reused, so that nothing is allocated per execution.
struct Buffers {
  Words d, a, metadata, scale_a, scale_b, other_scale_b;
  std::vector<std::byte> b;
};
thread_local Buffers buffers;

class Execute {
 public:
  Execute(const Instruction& instruction, const TensorMmaSources& sources, const LocatedMma& x,
          std::span<const TensorBlock> blocks, const Body* body)
      : instruction_(instruction), s_(sources), x_(x), blocks_(blocks), body_(body) {}

  Result<void> check_metadata(const ExecuteOptions& options) const {
    if (!p_.mma.is_sparse) return {};
    for (int v = 0; v < p_.blocks; ++v)
      for (int bank = 0; bank < at_.banks; ++bank) {
        gather_metadata(v, bank);
        if (Result<void> checked =
                warpbit::check_metadata(instruction_, p_.tile, buffers.metadata.view(), 1, options);
            !checked)
          return checked;
      }
    return {};
  }

  // What PTX leaves open of integers with a sign and a magnitude: bits between these, and sums beyond 32 bits.
  Result<void> check_magnitudes() {
    if (format(p_.a).zero_bits == 0) return {};
    for (int v = 0; v < p_.blocks; ++v) {
      for (int bank = 0; bank < at_.banks; ++bank)
        if (Result<void> checked = check_a(v, bank); !checked) return checked;
      if (Result<void> checked = check_b(v); !checked) return checked;
    }
    if (!s_.accumulates || std::ranges::none_of(at_.d, [&](const Place& at) { return is_near_limit(at); }))
      return {};
    is_trial_ = true;
    run_products();
    is_trial_ = false;
    if (!beyond_) return {};
    return Error{
        Errc::undefined_operand, std::string(instruction_.canonical()),
        fmt::format("a sum beyond 32 bits, in row {}, column {} of D,", beyond_->first, beyond_->second),
        "one of s32"};
  }

  void run() {
    run_products();
    if (p_.mma.shifts_a)
      for (const TensorBlock& block : blocks_)
        for (int lane = 0; lane < kTensorLanes; lane += kTensorWindow)
          shift_down(*block.tensor, lane, x_.a.column);
  }

 private:
  void run_products() {
    if (p_.mma.is_weight_stationary && x_.mask.exists()) mask_columns();
    for (int v = 0; v < p_.blocks; ++v)
      for (int r = 0; r < p_.blocks; ++r) run_rows_of(v, r);
  }

  // Whether products could carry a word of D beyond 32 bits: 16 of 22 bits have no more than 26.
  bool is_near_limit(const Place& at) const {
    constexpr std::int32_t kFar = 0x7FFF'FFFF - (1 << 26);
    const auto word = static_cast<std::int32_t>(
        blocks_[as_size(at.lane / kTensorLanes)].tensor->read(at.lane % kTensorLanes, x_.d.column + at.reg));
    return word > kFar || word < -kFar;
  }

  Result<void> check_code(std::string_view role, std::uint32_t bits, std::string_view line, int number,
                          int k) const {
    const Format& f = format(p_.a);
    if ((bits & ~f.used()) == 0) return {};
    return Error{Errc::undefined_operand, fmt::format("{}, {}", instruction_.canonical(), role),
                 fmt::format("{:#06x} as {} in {} {}, k {},", bits, f.name, line, number, k),
                 fmt::format("a code with 0 in bits {} to {}", f.bits - 1 - f.zero_bits, f.bits - 2)};
  }
  std::uint32_t shared_code(int block, const Descriptor& d, const DescribedMatrix& matrix, int line,
                            int k) const {
    std::uint16_t out = 0;
    std::memcpy(&out, blocks_[as_size(block)].shared.data() + element_bit(d, matrix, line, k) / 8, sizeof out);
    return out;
  }
  Result<void> check_a(int v, int bank) const {
    const bool in_tensor_memory = p_.mma.a_in_tensor_memory;
    const std::vector<int>& lanes = at_.lane_of_row[as_size(bank)];
    for (int i = 0; i < p_.rows; ++i) {
      const int lane = lanes[as_size(m_of(v, i))] % kTensorLanes;
      for (int k = 0; k < p_.stored_k && !is_disabled(v, lane); ++k) {
        const std::uint32_t one = in_tensor_memory
                                      ? code(v, x_.a, {lane, k / 2, k % 2 * p_.a_bits, p_.a_bits})
                                      : shared_code(v, x_.a_descriptor, *p_.tile.a_described, i, k);
        if (Result<void> checked =
                check_code(in_tensor_memory ? "a_tmem" : "a_desc", one, "row", m_of(v, i), k);
            !checked)
          return checked;
      }
    }
    return {};
  }
  Result<void> check_b(int r) const {
    const DescribedMatrix matrix = x_.b_matrix();
    for (int j = 0; j < p_.columns; ++j)
      for (int k = 0; k < p_.of.k && !x_.mask.is_zero(j); ++k)
        if (Result<void> checked =
                check_code("b_desc", shared_code(r, x_.b_descriptor, matrix, j + x_.mask.shift, k), "column",
                           n_of(r, j), k);
            !checked)
          return checked;
    return {};
  }

  std::uint32_t code(int block, const TensorAddress& at, const Place& place) const {
    const TensorMemory& memory = *blocks_[as_size(block)].tensor;
    return static_cast<std::uint32_t>(
        memory.read(place.lane % kTensorLanes, at.column + place.reg) >> place.low_bit & place.mask());
  }

  // The row of all blocks' that is row i of block v; likewise of columns.
  int m_of(int v, int i) const { return v * p_.rows + i; }
  int n_of(int r, int j) const { return r * p_.columns + j; }

  void gather_metadata(int v, int bank) const {
    const int groups = p_.stored_k / p_.sparsity.kept;
    buffers.metadata.clear(p_.rows, p_.tile.e.registers.count);
    for (int i = 0; i < p_.rows; ++i)
      for (int g = 0; g < groups; ++g)
        buffers.metadata.put(
            p_.tile.e.places[as_size(i * groups + g)],
            code(v, x_.metadata, at_.metadata[as_size(bank)][as_size(m_of(v, i) * groups + g)]));
  }
  void gather_scale_a(int v, int bank) const {
    const TileScale& scale = p_.tile.a_scale;
    buffers.scale_a.clear(p_.rows, scale.registers.count);
    for (int i = 0; i < p_.rows; ++i)
      for (int j = 0; j < scale.blocks; ++j)
        buffers.scale_a.put(
            scale.choices[0][as_size(i * scale.blocks + j)],
            code(v, x_.scale_a, at_.scale_a[as_size(bank)][as_size(m_of(v, i) * scale.blocks + j)]));
  }
  // Those of the columns of block r that a partition of block v has.
  void gather_scale_b(int v, int r, int partition, Words& to) const {
    const TileScale& scale = p_.tile.b_scale;
    to.clear(p_.rows, scale.registers.count);
    const std::vector<Place>& places = at_.scale_b[as_size(v * kTensorLanes / kTensorWindow + partition)];
    for (int j = 0; j < p_.columns; ++j)
      for (int b = 0; b < scale.blocks; ++b)
        to.put(scale.choices[0][as_size(j * scale.blocks + b)],
               code(v, x_.scale_b, places[as_size(n_of(r, j) * scale.blocks + b)]));
  }
  void gather_a(int v, int bank) const {
    buffers.a.clear(p_.rows, at_.a_columns);
    for (int i = 0; i < p_.rows; ++i) {
      const int lane = at_.lane_of_row[as_size(bank)][as_size(m_of(v, i))] % kTensorLanes;
      for (int w = 0; w < at_.a_columns; ++w)
        buffers.a.at(i, w) = blocks_[as_size(v)].tensor->read(lane, x_.a.column + w);
    }
  }

  // B with the columns that the mask leaves, and zeros for the others: lines of K, without a swizzle.
  void mask_columns() {
    const DescribedMatrix from = x_.b_matrix(), to = *p_.masked.b_described;
    const std::span<const std::byte> shared = blocks_[0].shared;
    buffers.b.assign(described_end(masked_descriptor(), to), std::byte{0});
    const auto bits = as_size(from.element_bits);
    for (int n = 0; n < to.lines; ++n) {
      if (x_.mask.is_zero(n)) continue;
      for (int k = 0; k < to.depth; ++k) {
        const std::uint64_t source = element_bit(x_.b_descriptor, from, n + x_.mask.shift, k),
                            target = element_bit(masked_descriptor(), to, n, k);
        for (std::uint64_t bit = 0; bit < bits; ++bit) {
          const auto one = shared[(source + bit) / 8] >> (source + bit) % 8 & std::byte{1};
          buffers.b[(target + bit) / 8] |= one << (target + bit) % 8;
        }
      }
    }
  }
  Descriptor masked_descriptor() const {
    const DescribedMatrix& to = *p_.masked.b_described;
    const int chunks = std::max(to.padded ? to.depth / 16 : to.depth * to.element_bits / 128, 1);
    Descriptor out;
    out.leading = 128;
    out.stride = 128U * static_cast<std::uint32_t>(chunks);
    return out;
  }

  // The rows of block v, with the columns that block r brings.
  void run_rows_of(int v, int r) {
    const bool has_copies = p_.mma.a_in_tensor_memory || p_.mma.is_sparse || p_.mma.is_block_scaled();
    // The banks that have these columns; those with copies of their own one by one.
    const int each = at_.banks / p_.blocks == 0 ? 1 : at_.banks / p_.blocks,
              first = at_.banks == 1 ? 0 : r * each;
    if (!has_copies) return run_kept(v, r, first, 0, p_.rows, 0, p_.columns);
    for (int bank = first; bank < first + each; ++bank) {
      const int n0 = (bank - first) * (p_.columns / each);
      run_bank(v, r, bank, n0, n0 + p_.columns / each);
    }
  }

  // Columns [n0, n1) of a bank. Rows whose partitions have other scale factors of B are computed apart.
  void run_bank(int v, int r, int bank, int n0, int n1) {
    if (p_.mma.a_in_tensor_memory) gather_a(v, bank);
    if (p_.mma.is_sparse) gather_metadata(v, bank);
    if (!p_.mma.is_block_scaled()) return run_kept(v, r, bank, 0, p_.rows, n0, n1);
    gather_scale_a(v, bank);
    const auto partition_of = [&](int i) {
      return at_.lane_of_row[as_size(bank)][as_size(m_of(v, i))] % kTensorLanes / kTensorWindow;
    };
    int begin = 0;
    gather_scale_b(v, r, partition_of(0), buffers.scale_b);
    for (int i = kTensorWindow; i < p_.rows; i += kTensorWindow) {
      gather_scale_b(v, r, partition_of(i), buffers.other_scale_b);
      if (buffers.other_scale_b.words == buffers.scale_b.words) continue;
      run_kept(v, r, bank, begin, i, n0, n1);
      std::swap(buffers.scale_b, buffers.other_scale_b);
      begin = i;
    }
    run_kept(v, r, bank, begin, p_.rows, n0, n1);
  }

  bool is_disabled(int v, int lane) const {
    return s_.disabled_lanes[as_size(v * kTensorLanes / 32 + lane / 32)] >> lane % 32 & 1;
  }
  bool has_disabled() const {
    return std::ranges::any_of(s_.disabled_lanes, [](std::uint32_t word) { return word != 0; });
  }

  // A product, of which rows [m0, m1) and columns [n0, n1) are kept.
  void run_kept(int v, int r, int bank, int m0, int m1, int n0, int n1) {
    const bool masked = p_.mma.is_weight_stationary && x_.mask.exists();
    const Tile& tile = masked ? p_.masked : p_.tile;
    TensorMemory& memory = *blocks_[as_size(v)].tensor;
    TileViews views;
    if (p_.mma.a_in_tensor_memory) views.a = buffers.a.view();
    views.a_descriptor = x_.a_descriptor;
    views.b_descriptor = masked ? masked_descriptor() : x_.b_descriptor;
    views.a_memory = blocks_[as_size(v)].shared;
    views.b_memory = masked ? std::span<const std::byte>(buffers.b) : blocks_[as_size(r)].shared;
    views.e = buffers.metadata.view();
    views.a_scale = buffers.scale_a.view();
    views.b_scale = buffers.scale_b.view();
    views.accumulate = s_.accumulates;
    const bool whole = m0 == 0 && m1 == p_.rows && n0 == 0 && n1 == p_.columns;
    const bool in_rows = p_.path == DataPath::a || p_.path == DataPath::d;
    if (whole && in_rows && !p_.has_halves() && !has_disabled() && !is_trial_) {
      const int column = x_.d.column + r * p_.columns;
      const ResultView d{reinterpret_cast<std::byte*>(memory.data() + column), 0, 4 * TensorMemory::kStride, 4};
      views.c = d;
      compute(tile, views, d);
      return memory.mark_written(0, kTensorLanes, column, p_.columns);
    }
    buffers.d.clear(p_.rows, tile.d.registers.count);
    const auto for_kept = [&](auto use) {
      for (int i = m0; i < m1; ++i)
        for (int j = n0; j < n1; ++j) {
          const Place& place = at_.d[as_size(m_of(v, i) * p_.of.n + n_of(r, j))];
          use(tile.d.places[as_size(i * p_.columns + j)], place.lane % kTensorLanes, x_.d.column + place.reg);
        }
    };
    if (s_.accumulates)
      for_kept([&](const RegisterBits& at, int lane, int column) {
        buffers.d.put(at, static_cast<std::uint32_t>(memory.read(lane, column) & at.mask()));
      });
    const ResultView d{reinterpret_cast<std::byte*>(buffers.d.words.data()), 0, 4 * tile.d.registers.count, 4};
    views.c = d;
    compute(tile, views, d);
    for_kept([&](const RegisterBits& at, int lane, int column) {
      if (is_disabled(v, lane)) return;
      const auto sum = static_cast<std::uint32_t>(buffers.d.at(at.lane, at.reg) >> at.low_bit & at.mask());
      if (is_trial_)
        judge_sum(memory.read(lane, column), sum, m_of(v, at.lane), n_of(r, at.reg));
      else
        memory.write(lane, column, sum);
    });
    (void)bank;
  }

  // A sum that wraps is 2^32 off, and the products have 26 bits.
  void judge_sum(std::uint32_t before, std::uint32_t after, int row, int column) {
    const std::int64_t products =
        std::int64_t{static_cast<std::int32_t>(after)} - static_cast<std::int32_t>(before);
    if (products != static_cast<std::int32_t>(products)) beyond_ = {row, column};
  }

  void compute(const Tile& tile, const TileViews& views, const ResultView& d) const {
    const DefaultFloating floating;
    if (body_ != nullptr && tile.fast)
      tile.fast->run({*body_, tile, views, d, 0, 1});
    else
      run_tile(tile, views, d, 0);
  }

  const Instruction& instruction_;
  const TensorMmaSources& s_;
  const LocatedMma& x_;
  const TensorProduct& p_ = *x_.product;
  const TensorPlaces& at_ = *x_.places;
  const std::span<const TensorBlock> blocks_;
  const Body* const body_;
  bool is_trial_ = false;  // nothing is written
  std::optional<std::pair<int, int>> beyond_;
};

}  // namespace

Result<TensorTouches> touches_of_mma(const Instruction& instruction, const TensorMmaSources& sources,
                                     std::span<const TensorBlock> blocks) {
  const Result<LocatedMma> x = LocatedMma::locate(instruction, sources);
  if (!x) return x.error();
  if (Result<void> count = check_blocks(instruction, blocks.size()); !count) return count.error();
  if (Result<void> there = x->check_memories(instruction, blocks); !there) return there.error();
  return x->touches(sources.accumulates);
}

Result<Execution> execute_mma(const Instruction& instruction, const TensorMmaSources& sources,
                              std::span<const TensorBlock> blocks, const ExecuteOptions& options) {
  const Result<LocatedMma> x = LocatedMma::locate(instruction, sources);
  if (!x) return x.error();
  if (Result<void> count = check_blocks(instruction, blocks.size()); !count) return count.error();
  const TargetPlan& plan = x->product->plan;
  if (!options.allow_inferred && is_inferred(plan))
    return Error{Errc::inferred_plan,
                 fmt::format("{} on {}", instruction.canonical(), instruction.target().name()),
                 std::string(plan.evidence.order.from), "allow inferred arithmetic to execute it"};
  const Result<Kernel> kernel = kernel_for(options);
  if (!kernel) return kernel.error();
  if (Result<void> there = x->check_memories(instruction, blocks); !there) return there.error();
  const Body* const body = body_for(x->product->tile, *kernel);
  Execute execute(instruction, sources, *x, blocks, body);
  if (Result<void> metadata = execute.check_metadata(options); !metadata) return metadata.error();
  if (Result<void> magnitudes = execute.check_magnitudes(); !magnitudes) return magnitudes.error();
  execute.run();
  return Execution{is_inferred(plan), body == nullptr ? Kernel::reference : kernel_of(*body)};
}

}  // namespace warpbit
