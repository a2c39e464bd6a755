// SPDX-License-Identifier: Apache-2.0
#include "api/located_mma.hpp"

#include <fmt/format.h>

#include <tuple>

#include "api/checks.hpp"

namespace warpbit {
namespace {

// Columns from an address on, in lanes that begin where its lane says.
Result<TensorAddress> locate_columns(const Instruction& instruction, std::string_view role, std::uint32_t bits,
                                     int columns, bool has_half) {
  const TensorAddress out = TensorAddress::decode(bits);
  const auto refuse = [&](std::string seen, std::string accepted) {
    return Error{Errc::tensor_memory, fmt::format("{}, {} {:#x}", instruction.canonical(), role, bits),
                 std::move(seen), std::move(accepted)};
  };
  if (out.lane != 0 && !(has_half && out.lane == 16))
    return refuse(fmt::format("lane {}", out.lane),
                  has_half ? "lane 0 or 16 in this layout of D" : "lane 0 in this layout of D");
  if (out.column + columns > kTensorColumns)
    return refuse(fmt::format("columns {} to {}", out.column, out.column + columns - 1),
                  fmt::format("columns 0 to {}", kTensorColumns - 1));
  return out;
}

// Addresses of scale factors may carry the number of the first byte on top, which the instruction descriptor has.
constexpr std::uint32_t kScaleAddress = 0x3FFF'FFFF;

// The lanes of D in a layout that has some of each partition, or all.
void add_lanes(const LocatedMma& x, int block, int column, int columns, bool writes,
               std::vector<TensorTouch>& out) {
  const bool sixteen = x.product->path == tensor::DataPath::c || x.product->path == tensor::DataPath::f;
  for (int lane = sixteen ? x.half : 0; lane < kTensorLanes; lane += sixteen ? kTensorWindow : kTensorLanes)
    out.push_back({block, lane, sixteen ? kTensorWindow / 2 : kTensorLanes, column, columns, writes});
}

void add_shared(int block, const Descriptor& d, const DescribedMatrix& matrix, std::vector<SharedTouch>& out) {
  for (const ByteRange& range : described_ranges(d, matrix)) out.push_back({block, range});
}

Result<void> check_allocated(const Instruction& instruction, std::string_view role, const TensorAddress& at,
                             int columns, std::span<const TensorBlock> blocks) {
  for (const TensorBlock& block : blocks)
    if (!block.tensor->are_allocated(at.column, columns))
      return not_allocated(*block.tensor, fmt::format("{}, {}", instruction.canonical(), role), at.column,
                           at.column + columns - 1);
  return {};
}

Result<void> check_shared(const Instruction& instruction, std::string_view role, const Descriptor& d,
                          const DescribedMatrix& matrix, std::span<const TensorBlock> blocks) {
  for (const TensorBlock& block : blocks)
    if (!is_described_within(d, matrix, block.shared.size()))
      return Error{Errc::address_out_of_bounds, fmt::format("{}, {}", instruction.canonical(), role),
                   fmt::format("the bytes up to address {:#x}", described_end(d, matrix) - 1),
                   fmt::format("shared memory has {} bytes", block.shared.size())};
  return {};
}

}  // namespace

Result<LocatedMma> LocatedMma::locate(const Instruction& instruction, const TensorMmaSources& s) {
  const Result<const TensorProduct*> product = tensor_product(instruction, s.instruction, s.scale_input_d);
  if (!product) return product.error();
  LocatedMma out;
  const TensorProduct& p = **product;
  out.product = &p;
  const bool has_half = p.path == tensor::DataPath::c || p.path == tensor::DataPath::f;
  out.half = has_half && TensorAddress::decode(s.d).lane == 16 ? 16 : 0;
  out.places = &p.places(out.half);
  const TensorPlaces& places = *out.places;
  struct Row {
    std::string_view role;
    bool exists;
    std::uint32_t address;
    int columns;
    bool has_half;
    TensorAddress& to;
  };
  const Row rows[] = {
      {"d_tmem", true, s.d, places.d_columns, has_half, out.d},
      {"a_tmem", p.mma.a_in_tensor_memory, static_cast<std::uint32_t>(s.a), places.a_columns, has_half, out.a},
      {"sp_meta_tmem", p.mma.is_sparse, s.metadata, places.metadata_columns, has_half, out.metadata},
      {"scale_a_tmem", p.mma.is_block_scaled(), s.scale_a & kScaleAddress, places.scale_a_columns, false,
       out.scale_a},
      {"scale_b_tmem", p.mma.is_block_scaled(), s.scale_b & kScaleAddress, places.scale_b_columns, false,
       out.scale_b},
  };
  for (const Row& row : rows) {
    if (!row.exists) continue;
    const Result<TensorAddress> at =
        locate_columns(instruction, row.role, row.address, row.columns, row.has_half);
    if (!at) return at.error();
    if (row.has_half && at->lane != out.half)
      return Error{Errc::tensor_memory,
                   fmt::format("{}, {} {:#x}", instruction.canonical(), row.role, row.address),
                   fmt::format("lane {}", at->lane), fmt::format("lane {}, as that of d_tmem", out.half)};
    row.to = *at;
  }
  if (p.mma.a_in_tensor_memory && static_cast<std::uint32_t>(s.a) != s.a)
    return Error{Errc::tensor_memory, fmt::format("{}, a_tmem", instruction.canonical()),
                 fmt::format("{:#x}", s.a), "an address of 32 bits"};
  for (const auto& [role, exists, bits, to] :
       {std::tuple{"a_desc", !p.mma.a_in_tensor_memory, s.a, &out.a_descriptor},
        {"b_desc", true, s.b, &out.b_descriptor}}) {
    if (!exists) continue;
    const Result<Descriptor> d = tensor_descriptor(fmt::format("{}, {}", instruction.canonical(), role), bits);
    if (!d) return d.error();
    *to = *d;
  }
  if (p.mma.is_weight_stationary) {
    const Result<ZeroColumnMask> mask = ZeroColumnMask::decode(s.zero_columns, p.of);
    if (!mask) return mask.error();
    out.mask = *mask;
  }
  return out;
}

DescribedMatrix LocatedMma::b_matrix() const {
  DescribedMatrix out = *product->tile.b_described;
  out.lines += mask.shift;
  return out;
}

TensorTouches LocatedMma::touches(bool accumulates) const {
  TensorTouches out;
  const TensorProduct& p = *product;
  for (int v = 0; v < p.blocks; ++v) {
    if (accumulates) add_lanes(*this, v, d.column, places->d_columns, false, out.tensor);
    add_lanes(*this, v, d.column, places->d_columns, true, out.tensor);
    if (p.mma.a_in_tensor_memory) add_lanes(*this, v, a.column, places->a_columns, false, out.tensor);
    if (p.mma.shifts_a) out.tensor.push_back({v, 0, kTensorLanes, a.column, kShiftedColumns, true});
    if (p.mma.is_sparse) add_lanes(*this, v, metadata.column, places->metadata_columns, false, out.tensor);
    if (p.mma.is_block_scaled()) {
      out.tensor.push_back({v, 0, kTensorLanes, scale_a.column, places->scale_a_columns, false});
      out.tensor.push_back({v, 0, kTensorLanes, scale_b.column, places->scale_b_columns, false});
    }
    if (!p.mma.a_in_tensor_memory) add_shared(v, a_descriptor, *p.tile.a_described, out.shared);
    add_shared(v, b_descriptor, b_matrix(), out.shared);
  }
  return out;
}

Result<void> LocatedMma::check_memories(const Instruction& instruction,
                                        std::span<const TensorBlock> blocks) const {
  const TensorProduct& p = *product;
  struct Row {
    std::string_view role;
    const TensorAddress& at;
    int columns;
  };
  for (const Row& row : {Row{"d_tmem", d, places->d_columns},
                         {"a_tmem", a, places->a_columns},
                         {"sp_meta_tmem", metadata, places->metadata_columns},
                         {"scale_a_tmem", scale_a, places->scale_a_columns},
                         {"scale_b_tmem", scale_b, places->scale_b_columns}})
    if (Result<void> checked = check_allocated(instruction, row.role, row.at, row.columns, blocks); !checked)
      return checked;
  if (!p.mma.a_in_tensor_memory)
    if (Result<void> there = check_shared(instruction, "a_desc", a_descriptor, *p.tile.a_described, blocks);
        !there)
      return there;
  return check_shared(instruction, "b_desc", b_descriptor, b_matrix(), blocks);
}

}  // namespace warpbit
