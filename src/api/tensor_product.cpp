// SPDX-License-Identifier: Apache-2.0
#include "api/tensor_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "api/checks.hpp"
#include "isa/memo.hpp"
#include "kernel/fast_tile.hpp"

namespace warpbit {
namespace {

using tensor::DataPath;
using tensor::Extent;

constexpr int kWordBits = 32;

// ---- Matrices by rows

// The places of rows x columns elements, row i in lane i.
Places places_of_rows(int rows, int columns, const Packing& packing) {
  static Memo<std::tuple<int, int, Packing>, std::vector<Place>> tables;
  return tables.get({rows, columns, packing}, [&] {
    std::vector<Place> out;
    const int each = packing.per_register();
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column)
        out.push_back({row, column / each, packing.low_bit_of(column % each), packing.bits});
    return out;
  });
}

TileOperand rows_of(FormatId id, int rows, int columns, const Packing& packing) {
  const int each = packing.per_register();
  return {&format(id),
          {(columns + each - 1) / each, kWordBits, {}},
          places_of_rows(rows, columns, packing),
          packing.slot_bits == 8 ? container_of(id) : nullptr};
}

constexpr Packing kNibbles{kWordBits, 4, 0, 4};

// ---- Scale factors: words of four of them, of B those of column i in lane i % lanes

// By address: a tile has a span of spans.
struct ScalePlaces {
  std::vector<Place> places;
  Places all;
};

TileScale scale_of(FormatId id, int lines, int lanes, int scales) {
  static Memo<std::tuple<int, int, int>, std::shared_ptr<const ScalePlaces>> tables;
  const int words = (scales + 3) / 4;
  const auto& table = tables.get({lines, lanes, scales}, [&] {
    auto out = std::make_shared<ScalePlaces>();
    for (int line = 0; line < lines; ++line)
      for (int j = 0; j < scales; ++j)
        out->places.push_back({line % lanes, line / lanes * words + j / 4, j % 4 * 8, 8});
    out->all = out->places;
    return out;
  });
  TileScale out;
  out.format = &format(id);
  out.registers = {(lines + lanes - 1) / lanes * words, kWordBits, {}};
  out.blocks = scales;
  out.choices = {&table->all, 1};
  return out;
}

// ---- Compilation

FormatId id_of(std::string_view name) {
  return find_format(name)->id;
}

// Whether elements of this kind that are narrower than a byte lie in bytes of their own in tensor memory, and in sixteen bytes
// for each sixteen in shared memory (PTX manual, "Packing formats").
bool has_bytes(TensorKind kind) {
  return kind == TensorKind::f8f6f4 || kind == TensorKind::mxf8f6f4;
}

Packing packing_of_a(const TensorProduct& p) {
  const Format& f = format(p.a);
  if (f.bits < 8 && has_bytes(p.mma.kind)) return {kWordBits, 8, f.byte_low, f.bits};
  return {kWordBits, f.bits, 0, f.bits};
}

DescribedMatrix described(const TensorProduct& p, FormatId id, bool mn_major, int lines, int depth) {
  DescribedMatrix out{mn_major ? Major::mn : Major::k, format(id).bits, lines, depth};
  out.padded = out.element_bits < 8 && has_bytes(p.mma.kind);
  return out;
}

Tile tile_of(const TensorProduct& p, bool b_is_mn_major, int c_scale) {
  Tile t;
  t.plan = &p.plan.row->plan;
  t.lanes = t.rows = p.rows;
  t.columns = p.columns;
  t.depth = p.of.k;
  t.terms = p.stored_k;
  t.sparsity = p.sparsity;
  const int sum_bits = format(p.d).bits;
  t.c = t.d = rows_of(p.d, p.rows, p.columns, {kWordBits, sum_bits, 0, sum_bits});
  t.a = p.mma.a_in_tensor_memory ? rows_of(p.a, p.rows, p.stored_k, packing_of_a(p))
                                 : TileOperand{&format(p.a), {}, {}};
  t.b.format = &format(p.b);
  if (!p.mma.a_in_tensor_memory) t.a_described = described(p, p.a, p.of.a_is_mn_major, p.rows, p.stored_k);
  t.b_described = described(p, p.b, b_is_mn_major, p.columns, p.of.k);
  if (p.sparsity.is_sparse()) t.e = rows_of(FormatId::b32, p.rows, p.stored_k / p.sparsity.kept, kNibbles);
  if (const int scales = p.of.scales(p.mma); scales != 0) {
    t.a_scale = scale_of(id_of(p.of.scale), p.rows, p.rows, scales);
    t.b_scale = scale_of(id_of(p.of.scale), p.columns, p.rows, scales);
  }
  t.negate_a = p.of.negates_a;
  t.negate_b = p.of.negates_b;
  t.c_scale = c_scale;
  t.fast = compile_fast(t);
  return t;
}

Arithmetic arithmetic_of(const TensorProduct& p) {
  const bool scaled = p.mma.is_block_scaled(), sparse = p.mma.is_sparse;
  Modifier modifier = p.of.saturates ? Modifier::satfinite : Modifier::none;
  if (p.mma.kind == TensorKind::mxf4 || p.mma.kind == TensorKind::mxf4nvf4)
    modifier = p.of.scale == "ue4m3" ? Modifier::packed_nvf4 : Modifier::packed_fp4;
  const Unit unit = scaled ? (sparse ? Unit::tcgen05_sp_block_scale : Unit::tcgen05_block_scale)
                           : (sparse ? Unit::tcgen05_sp : Unit::tcgen05);
  return {unit, p.d, p.a, p.b, p.d, modifier};
}

Sparsity sparsity_of(const TensorMma& mma) {
  if (!mma.is_sparse) return {};
  switch (mma.kind) {
    case TensorKind::tf32: return kOneOfTwo;
    case TensorKind::mxf4:
    case TensorKind::mxf4nvf4: return kPairsOfEight;
    default: return kTwoOfFour;
  }
}

// Nothing if the target has no plan for the types.
std::optional<TensorProduct> compile_product(const TensorMma& mma, const InstructionDescriptor& of,
                                             const TargetRow& target, int c_scale) {
  TensorProduct p;
  p.mma = mma;
  p.of = of;
  p.path = *tensor::data_path(of.m, mma.cta_group, mma.is_weight_stationary, mma.is_sparse);
  p.blocks = mma.cta_group;
  p.rows = of.m / p.blocks;
  p.columns = of.n / p.blocks;
  p.stored_k = mma.is_sparse ? of.k / 2 : of.k;
  p.sparsity = sparsity_of(mma);
  p.a = id_of(of.a);
  p.b = id_of(of.b);
  p.d = id_of(of.d);
  p.a_bits = packing_of_a(p).slot_bits;
  const std::optional<TargetPlan> plan = find_plan(target, arithmetic_of(p));
  if (!plan) return std::nullopt;
  p.plan = *plan;
  p.tile = tile_of(p, of.b_is_mn_major, c_scale);
  p.masked = of.b_is_mn_major && mma.is_weight_stationary ? tile_of(p, false, c_scale) : p.tile;
  return p;
}

// ---- Where everything lies

// Calls put(element, its place) for all elements of a map, by lanes.
template <class Put>
void for_all(const FragmentMap& map, Put put) {
  const Packing& packing = map.packing();
  for (int lane = 0; lane < map.lanes(); ++lane)
    for (int reg = 0; reg < map.registers(); ++reg)
      for (int slot = 0; slot < packing.per_register(); ++slot)
        if (const std::optional<Coordinate> at = map.at(lane, reg, slot);
            at && at->row < map.rows() && at->column < map.columns())
          put(*at, Place{lane, reg, packing.low_bit_of(slot), packing.bits});
}

std::size_t number(const FragmentMap& map, const Coordinate& at) {
  return static_cast<std::size_t>(at.row) * static_cast<std::size_t>(map.columns()) +
         static_cast<std::size_t>(at.column);
}

std::size_t size_of(const FragmentMap& map) {
  return static_cast<std::size_t>(map.rows()) * static_cast<std::size_t>(map.columns());
}

// Of an operand of A's rows, by bank: the places in the partition of the row's lane of D.
std::vector<std::vector<Place>> by_banks(const FragmentMap& map, const TensorPlaces& places) {
  std::vector<std::vector<Place>> out(places.lane_of_row.size(), std::vector<Place>(size_of(map)));
  for_all(map, [&](const Coordinate& at, const Place& place) {
    for (std::size_t bank = 0; bank < out.size(); ++bank)
      if (places.lane_of_row[bank][static_cast<std::size_t>(at.row)] / kTensorWindow ==
          place.lane / kTensorWindow)
        out[bank][number(map, at)] = place;
  });
  return out;
}

std::vector<std::vector<Place>> by_partitions(const FragmentMap& map) {
  std::vector<std::vector<Place>> out(static_cast<std::size_t>(map.lanes() / kTensorWindow),
                                      std::vector<Place>(size_of(map)));
  for_all(map, [&](const Coordinate& at, const Place& place) {
    out[static_cast<std::size_t>(place.lane / kTensorWindow)][number(map, at)] = place;
  });
  return out;
}

int banks_of(DataPath path) {
  return path == DataPath::g ? 4 : path == DataPath::e || path == DataPath::b ? 2 : 1;
}

TensorPlaces find_places(const TensorProduct& p, int half) {
  TensorPlaces out;
  const Extent extent{p.path, p.of.m, p.of.n, half};
  out.banks = banks_of(p.path);
  const FragmentMap d = tensor::d_map(extent, format(p.d).bits);
  out.d = d.table();
  out.d_columns = d.registers();
  for (int bank = 0; bank < out.banks; ++bank) {
    std::vector<int>& lanes = out.lane_of_row.emplace_back();
    for (int m = 0; m < p.of.m; ++m)
      lanes.push_back(out.d[static_cast<std::size_t>(m * p.of.n + bank * p.of.n / out.banks)].lane);
  }
  if (p.mma.a_in_tensor_memory) out.a_columns = p.stored_k * p.a_bits / kWordBits;
  if (p.sparsity.is_sparse()) {
    const FragmentMap map = tensor::metadata_map(extent, has_wide_elements(p.mma.kind), p.of.sparsity_selector);
    out.metadata = by_banks(map, out);
    for (const std::vector<Place>& all : out.metadata)
      for (const Place& place : all) out.metadata_columns = std::max(out.metadata_columns, place.reg + 1);
  }
  if (const int scales = p.of.scales(p.mma); scales != 0) {
    const FragmentMap a = tensor::scale_a_map(extent, scales, p.of.scale_id_a),
                      b = tensor::scale_b_map(extent, scales, p.of.scale_id_b);
    out.scale_a = by_banks(a, out);
    out.scale_b = by_partitions(b);
    out.scale_a_columns = a.registers();
    out.scale_b_columns = b.registers();
  }
  return out;
}

}  // namespace

const TensorPlaces& TensorProduct::places(int half) const {
  static Memo<std::pair<const TensorProduct*, int>, TensorPlaces> all;
  return all.get({this, half}, [&] { return find_places(*this, half); });
}

Result<const TensorProduct*> tensor_product(const Instruction& instruction, std::uint32_t bits,
                                            int scale_input_d) {
  const Result<const TensorMma*> mma = tensor_action<TensorMma>(instruction, "tcgen05.mma");
  if (!mma) return mma.error();
  const Target target = instruction.target();
  using Key = std::tuple<const Form*, const TargetRow*, std::uint32_t, int>;
  static Memo<Key, std::unique_ptr<const TensorProduct>> all;
  const Result<InstructionDescriptor> of = InstructionDescriptor::decode(bits, **mma, target);
  if (!of) return of.error();
  const auto& found = all.get({instruction.decoded().form, &target.row(), bits, scale_input_d},
                              [&]() -> std::unique_ptr<const TensorProduct> {
                                std::optional<TensorProduct> made =
                                    compile_product(**mma, *of, target.row(), scale_input_d);
                                if (!made) return nullptr;
                                auto out = std::make_unique<TensorProduct>(std::move(*made));
                                return out;
                              });
  if (found == nullptr)
    return Error{Errc::instruction_descriptor, std::string(instruction.canonical()),
                 fmt::format("D of {}, A of {}, B of {} on {}", of->d, of->a, of->b, target.name()),
                 "types with a known arithmetic"};
  return found.get();
}

Result<Descriptor> tensor_descriptor(std::string_view where, std::uint64_t bits) {
  return Descriptor::decode_tensor(where, bits);
}

Result<void> check_blocks(const Instruction& instruction, std::size_t blocks) {
  const int group = std::get<TensorAction>(instruction.decoded().kernel).cta_group;
  if (blocks == static_cast<std::size_t>(group)) return {};
  return Error{Errc::usage, std::string(instruction.canonical()), fmt::format("{} blocks", blocks),
               group == 1 ? "one block" : "the two blocks of a pair"};
}

Error not_allocated(const TensorMemory& memory, std::string where, int first, int last) {
  std::string all;
  for (const TensorMemory::Columns& one : memory.allocations())
    all += fmt::format("{}{} to {}", all.empty() ? "" : ", ", one.first, one.first + one.count - 1);
  return {Errc::tensor_memory, std::move(where),
          fmt::format("{}{}",
                      first == last
                          ? fmt::format("column {} of tensor memory is not allocated", first)
                          : fmt::format("columns {} to {} of tensor memory are not all allocated", first, last),
                      all.empty() ? "" : fmt::format(" (columns {} are)", all)),
          std::string(kAllocatedColumns)};
}

}  // namespace warpbit
