// SPDX-License-Identifier: Apache-2.0
// The copies that recordings name by a generator, in groups: tools/capture/tensor_copies.cu asks a GPU for them, and
// verify warpbit. C++17.
#pragma once

#include "verify/cases/tensor_copy_draws.hpp"

namespace tensor_copies {

/// What ptxas takes of cp.reduce.async.bulk: a bit for each type, by reduction. b32 and b64 are u32 and u64.
//                                    u8 u16 u32 s32 u64 s64 f16 f32 f64 bf16 f32_ftz ...
inline constexpr std::uint32_t kTypeU32 = 1 << 2, kTypeS32 = 1 << 3, kTypeU64 = 1 << 4, kTypeS64 = 1 << 5,
                               kTypeF16 = 1 << 6, kTypeF32 = 1 << 7, kTypeF64 = 1 << 8, kTypeBf16 = 1 << 9;
inline constexpr std::array<std::uint32_t, 8> kGlobalReductions{
    kTypeU32 | kTypeS32 | kTypeU64 | kTypeF16 | kTypeF32 | kTypeF64 | kTypeBf16,
    kTypeU32 | kTypeS32 | kTypeU64 | kTypeS64 | kTypeF16 | kTypeBf16,
    kTypeU32 | kTypeS32 | kTypeU64 | kTypeS64 | kTypeF16 | kTypeBf16,
    kTypeU32,
    kTypeU32,
    kTypeU32 | kTypeU64,
    kTypeU32 | kTypeU64,
    kTypeU32 | kTypeU64};
inline constexpr std::array<std::uint32_t, 8> kSharedReductions{kTypeU32 | kTypeS32 | kTypeU64,
                                                                kTypeU32 | kTypeS32,
                                                                kTypeU32 | kTypeS32,
                                                                kTypeU32,
                                                                kTypeU32,
                                                                kTypeU32,
                                                                kTypeU32,
                                                                kTypeU32};

struct TypedReduction {
  std::uint32_t type, reduction;
};
/// The pairs of a table, in order.
inline std::vector<TypedReduction> pairs(const std::array<std::uint32_t, 8>& table) {
  std::vector<TypedReduction> out;
  for (std::uint32_t r = 0; r < 8; ++r)
    for (std::uint32_t type = 0; type < 13; ++type)
      if (table[r] >> type & 1) out.push_back({type, r});
  return out;
}

// ---- Groups

inline std::vector<CopyCase> copies(Operation operation, std::uint32_t first_seed, std::size_t n, bool im2col,
                                    bool interleave) {
  std::vector<CopyCase> out;
  for (std::uint32_t i = 0; i < n; ++i) out.push_back(drawn(first_seed + i, operation, im2col, interleave));
  return out;
}

/// Coordinates far from the tensor; in a half of them a dimension behind the first is so large that some are inside, if
/// `beyond` above 2^31.
inline std::vector<CopyCase> far_loads(bool beyond) {
  static constexpr std::array<std::int32_t, 10> kFar{
      INT32_MIN, INT32_MIN + 1, -1,     1 << 30, -(1 << 30),
      INT32_MAX, INT32_MAX - 7, -65536, 65536,   INT32_MAX - 255};
  static constexpr std::array<std::uint64_t, 4> kLarge{std::uint64_t{1} << 32, std::uint64_t{1} << 31,
                                                       (std::uint64_t{1} << 31) + 5,
                                                       (std::uint64_t{1} << 31) - 5};
  std::vector<CopyCase> out;
  for (CopyCase c : copies(kLoad, 20000, 78, false, false)) {
    Draw draw(c.seed);
    const std::size_t d = draw.below(c.map.rank);
    c.coordinates[d] = draw.of(kFar);
    make_legal(c);
    if (d != 0 && c.seed % 2 != 0) {
      c.map.dim[d] = draw.of(kLarge);
      c.map.stride[d - 1] = 0;
    }
    if ((c.map.dim[d] > kLarge[1]) == beyond) out.push_back(c);
  }
  return out;
}

/// Steps of channels and of images, which a step of pixels does not use.
inline std::vector<CopyCase> other_steps() {
  std::vector<CopyCase> out = copies(kLoad, 31000, 100, true, false);
  for (CopyCase& c : out) {
    Draw draw(c.seed);
    c.map.step[c.seed % 2 ? 0 : c.map.rank - 1] = 1 + draw.below32(c.seed % 2 ? 8 : 3);
  }
  return out;
}

/// For each pair of the table some cases, drawn(seed, type, reduction).
inline std::vector<CopyCase> of_pairs(std::uint32_t first_seed, std::size_t each,
                                      const std::array<std::uint32_t, 8>& table, const auto& drawn) {
  std::vector<CopyCase> out;
  std::uint32_t seed = first_seed;
  for (const TypedReduction& p : pairs(table))
    for (std::size_t i = 0; i < each; ++i) out.push_back(drawn(seed++, p.type, p.reduction));
  return out;
}
inline std::vector<CopyCase> reductions(std::uint32_t first_seed, std::size_t each, bool im2col,
                                        const std::array<std::uint32_t, 8>& table) {
  return of_pairs(first_seed, each, table, [&](std::uint32_t seed, auto type, auto reduction) {
    return drawn_reduction(seed, im2col, type, reduction);
  });
}

inline std::vector<CopyCase> bulk(std::uint32_t first_seed, std::size_t n, Operation operation) {
  std::vector<CopyCase> out;
  for (std::uint32_t i = 0; i < n; ++i) out.push_back(drawn_bulk(first_seed + i, operation, i % 13, 0));
  return out;
}
inline std::vector<CopyCase> bulk_reductions(std::uint32_t first_seed, std::size_t each, Operation operation,
                                             const std::array<std::uint32_t, 8>& table) {
  return of_pairs(first_seed, each, table, [&](std::uint32_t seed, auto type, auto reduction) {
    return drawn_bulk(seed, operation, type, reduction);
  });
}

// ---- Questions: what faults? These are asked in processes of their own.

// A tile of 8 rows of a tensor with 20.
inline CopyCase question(Operation operation, std::uint32_t type, std::uint32_t swizzle) {
  CopyCase c;
  c.operation = operation;
  c.map = tensor_maps::base(tensor_maps::kTiled, type, 2, 0, swizzle);
  const std::uint32_t element = bytes_of(c.map);
  c.map.address = 256, c.map.dim = {128 / element, 20, 1, 1, 1}, c.map.stride = {128, 0, 0, 0};
  c.map.box = {(swizzle == 0 ? 128 : 16u << swizzle) / element, 8, 1, 1, 1};
  c.instruction_rank = 2;
  c.shared = 1024;
  c.content = 1;
  return c;
}

/// Tiles at multiples of 16 bytes.
inline std::vector<CopyCase> ask_alignment() {
  std::vector<CopyCase> out;
  for (const Operation operation : {kLoad, kStore})
    for (std::uint32_t swizzle = 0; swizzle < 4; ++swizzle)
      for (const std::uint32_t shared : {1040u, 1088u, 1152u}) {
        out.push_back(question(operation, 6, swizzle));
        out.back().shared = shared;
      }
  return out;
}

/// First coordinates within 16 bytes, and negative ones, of tiles and slices.
inline std::vector<CopyCase> ask_coordinates() {
  std::vector<CopyCase> out;
  for (const Operation operation : {kLoad, kStore, kReduce})
    for (const std::uint32_t type : {2u, 4u, 6u}) {
      const std::int32_t together = type == 2 ? 4 : type == 4 ? 2 : 8;
      for (const std::int32_t first : {1, together / 2, together, -together, 3 * together / 2}) {
        out.push_back(question(operation, type, 0));
        out.back().coordinates[0] = first;
      }
      out.push_back(question(operation, type, 0));
      out.back().coordinates[1] = -1;
    }
  for (const Operation operation : {kLoad, kStore})
    for (std::size_t d = 0; d < 3; ++d) {
      out.push_back(drawn(70000, operation, false, true));
      for (std::int32_t& x : out.back().coordinates) x = 0;
      out.back().coordinates[d] = -1;
    }
  return out;
}

/// Pixels that begin outside the box between the corners, by `kLoad` below and above; stores with each of the corners.
inline std::vector<CopyCase> ask_corners() {
  std::vector<CopyCase> out = copies(kLoad, 32000, 24, true, false);
  for (CopyCase& c : out) {
    Draw draw(c.seed);
    const std::size_t d = 1 + draw.below(c.map.rank - 2);
    const std::int32_t low = c.map.lower[d - 1],
                       end = static_cast<std::int32_t>(c.map.dim[d]) + c.map.upper[d - 1];
    c.coordinates[d] = c.seed % 3 == 0 ? between(draw, low - 5, low - 1) : between(draw, end, end + 4);
  }
  for (const std::int32_t low : {-1, 0, 1})
    for (const std::int32_t up : {-1, 0, 1})
      for (const std::uint32_t pixels : {1u, 6u}) {
        CopyCase c;
        c.operation = kStore;
        c.map = tensor_maps::base(tensor_maps::kIm2col, 6, 3, 0, 0);
        c.map.address = 256, c.map.dim = {16, 8, 6, 1, 1}, c.map.stride = {32, 256, 0, 0};
        c.map.channels = 16, c.map.pixels = pixels;
        c.map.lower = {low, 0, 0}, c.map.upper = {up, 0, 0};
        c.coordinates = {0, 1, 1, 0, 0};
        c.instruction_rank = 3, c.instruction_im2col = 1;
        c.shared = 1024;
        c.content = 1;
        out.push_back(c);
      }
  return out;
}

/// Shared copies whose destination is the own block's.
inline std::vector<CopyCase> ask_own() {
  std::vector<CopyCase> out;
  for (const std::uint32_t to : {0u, 2u})
    for (std::uint32_t i = 0; i < 3; ++i) {
      out.push_back(drawn_bulk(82100 + i, kSharedCopy, 2, 0));
      out.back().to = to;
    }
  return out;
}

/// Every reduction of every type by a tensor map.
inline std::vector<CopyCase> ask_reductions() {
  std::vector<CopyCase> out;
  for (std::uint32_t reduction = 0; reduction < 8; ++reduction)
    for (std::uint32_t type = 0; type < 13; ++type) {
      CopyCase c;
      c.operation = kReduce;
      c.reduction = reduction;
      c.seed = 100 + 13 * reduction + type;
      c.map = tensor_maps::base(tensor_maps::kTiled, type, 2, 0, 0);
      const std::uint32_t row = 256 / bytes_of(c.map);
      c.map.address = 256, c.map.dim = {row, 20, 1, 1, 1}, c.map.stride = {256, 0, 0, 0};
      c.map.box = {row, 16, 1, 1, 1};
      c.instruction_rank = 2;
      c.shared = 1024;
      out.push_back(c);
    }
  return out;
}

/// Instructions of another mode or rank than the map.
inline std::vector<CopyCase> ask_modes() {
  std::vector<CopyCase> out;
  for (const Operation operation : {kLoad, kStore})
    for (const tensor_maps::Kind kind : {tensor_maps::kTiled, tensor_maps::kIm2col})
      for (std::uint32_t rank = 3; rank <= 4; ++rank)
        for (std::uint32_t im2col = 0; im2col < 2; ++im2col)
          for (std::uint32_t instruction_rank = rank - 1 + im2col * (rank == 3); instruction_rank <= 4;
               ++instruction_rank) {
            CopyCase c;
            c.operation = operation;
            c.map = tensor_maps::base(kind, 6, rank, 0, 0);
            c.map.address = 256, c.map.dim = {16, 8, 6, 2, 1}, c.map.stride = {32, 256, 2048, 4096};
            c.map.box = {16, 4, 3, 1, 1}, c.map.channels = 16, c.map.pixels = 24;
            c.map.lower = c.map.upper = {-1, -1, 0};
            c.instruction_rank = instruction_rank;
            c.instruction_im2col = im2col;
            c.shared = 1024;
            c.content = 1;
            out.push_back(c);
          }
  return out;
}

struct Group {
  const char* name;
  std::vector<CopyCase> (*make)();
};
/// Those that the replay has come first.
inline const std::vector<Group>& groups() {
  static const std::vector<Group> kGroups{
      {"tile", [] { return copies(kLoad, 1, 1600, false, false); }},
      {"far", [] { return far_loads(false); }},
      {"im2col", [] { return copies(kLoad, 30000, 700, true, false); }},
      {"other-steps", other_steps},
      {"store", [] { return copies(kStore, 50000, 500, false, false); }},
      {"store-im2col", [] { return copies(kStore, 51000, 200, true, false); }},
      {"reduce", [] { return reductions(60000, 10, false, kGlobalReductions); }},
      {"reduce-im2col", [] { return reductions(61000, 2, true, kGlobalReductions); }},
      {"slices", [] { return copies(kLoad, 70000, 400, false, true); }},
      {"slices-im2col", [] { return copies(kLoad, 71000, 200, true, true); }},
      {"store-slices", [] { return copies(kStore, 72000, 150, false, true); }},
      {"store-slices-im2col", [] { return copies(kStore, 73000, 100, true, true); }},
      {"bulk-load", [] { return bulk(80000, 52, kBulkLoad); }},
      {"bulk-store", [] { return bulk(80100, 52, kBulkStore); }},
      {"bulk-reduce", [] { return bulk_reductions(81000, 8, kBulkReduce, kGlobalReductions); }},
      {"shared-copy", [] { return bulk(82000, 26, kSharedCopy); }},
      {"shared-reduce", [] { return bulk_reductions(83000, 6, kSharedReduce, kSharedReductions); }},
      {"ask-far", [] { return far_loads(true); }},
      {"ask-own", ask_own},
      {"ask-alignment", ask_alignment},
      {"ask-coordinates", ask_coordinates},
      {"ask-corners", ask_corners},
      {"ask-reductions", ask_reductions},
      {"ask-modes", ask_modes},
  };
  return kGroups;
}

}  // namespace tensor_copies
