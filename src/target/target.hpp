// SPDX-License-Identifier: Apache-2.0
// Targets as rows: features, and for each operand class the plan with its evidence. GPUs differ in data, not
// in control flow. NUMERICS.md explains and proves the numbers.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "numeric/formats.hpp"
#include "numeric/plan.hpp"
#include "warpbit/target.hpp"

namespace warpbit {

/// A set of the enumerators of E, whose values are single bits.
template <class E>
class Flags {
 public:
  constexpr Flags() = default;
  constexpr Flags(E flag) : bits_(static_cast<std::uint32_t>(flag)) {}
  /// True if it contains all of `others`.
  constexpr bool has(Flags others) const { return (others.bits_ & ~bits_) == 0; }
  friend constexpr Flags operator|(Flags x, Flags y) {
    x.bits_ |= y.bits_;
    return x;
  }
  friend constexpr bool operator==(Flags, Flags) = default;

 private:
  std::uint32_t bits_ = 0;
};

/// A version of PTX: 9.0.
struct Version {
  int major = 0, minor = 0;
  constexpr auto operator<=>(const Version&) const = default;
};
inline std::string text(Version version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

/// Features that a form may require (PTX manual, "Target ISA Notes" of each instruction).
enum class Feature : std::uint32_t {
  sm_70 = 1 << 0,  ///< that target or a later one; likewise below
  sm_72 = 1 << 1,
  sm_75 = 1 << 2,
  sm_80 = 1 << 3,
  sm_90 = 1 << 4,
  sm_100 = 1 << 5,
  fp8 = 1 << 6,                   ///< mma and cvt with e4m3 and e5m2
  kind_f8f6f4_fp8 = 1 << 7,       ///< .kind::f8f6f4 with e4m3 and e5m2
  kind_f8f6f4 = 1 << 8,           ///< .kind::f8f6f4 with every type, and .block_scale
  sparse_fp4 = 1 << 9,            ///< sparse .kind::mxf4 and .kind::mxf4nvf4
  narrow_moves = 1 << 10,         ///< cvt with e3m2, e2m3, e2m1 and ue8m0; matrix moves of bytes and less
  stochastic_rounding = 1 << 11,  ///< cvt.rs
  wmma_fragments = 1 << 12,       ///< the fragments of wmma are known (NUMERICS.md, "Fragments of wmma")
  wgmma = 1 << 13,
  sm_86 = 1 << 14,
  redux_f32 = 1 << 15,  ///< redux.sync with f32
  setmaxnreg = 1 << 16,
  cancel_multicast = 1 << 17,  ///< clusterlaunchcontrol.try_cancel with .multicast::cluster::all
  tensor_group =
      1 << 18,  ///< copies of tensors with .cta_group, .tile::gather4, .tile::scatter4 and .im2col::w
  multimem_fp8 = 1 << 19,   ///< multimem with e4m3 and e5m2
  tensor_i8 = 1 << 20,      ///< tcgen05 with .kind::i8
  tensor_reduce = 1 << 21,  ///< tcgen05.ld.red
  tensor_specific =
      1 << 22,  ///< tcgen05 with .scale_vec::..., sparse with .kind::mxf4 and .kind::mxf4nvf4; tcgen05.shift
  tensor_k96 = 1 << 23,      ///< tcgen05.mma with K 96
  fixed_point = 1 << 24,     ///< cvt with s2f6
  fp8_arithmetic = 1 << 25,  ///< add, sub, mul and fma with four numbers of eight bits or less
  byte_sums = 1 << 26,       ///< add and sub of u8x4 and s8x4; add.sat of u32, u16x2 and s16x2
  sm_107f = 1 << 27,         ///< what sm_107f has beyond sm_103f
  sm_107a = 1 << 28,         ///< what sm_107a has beyond sm_107f and sm_103a
  strong_copies = 1 << 29,   ///< copies in bulk with .weak and .relaxed
  tensor_memory = tensor_group,
  tensor_scale_d = redux_f32,  ///< tcgen05.mma with scale-input-d
  tensormap_replace = setmaxnreg,
  signed_moves = setmaxnreg,             ///< ldmatrix with s8 of s4
  byte_extremes = kind_f8f6f4,           ///< min, max and neg of u8x4 and s8x4
  swizzle_atomicity = cancel_multicast,  ///< tensormap.replace of that field
};
using Features = Flags<Feature>;
constexpr Features operator|(Feature x, Feature y) {
  return Features(x) | Features(y);
}

/// The arithmetic that an instruction uses: families whose results follow the same rows share a unit.
enum class Unit : std::uint8_t {
  mma,             ///< mma.sync, all shapes but the next
  mma_m8n8k4,      ///< mma.sync.m8n8k4 with f16 operands
  mma_sp,          ///< mma.sp: the rows of mma, over the stored products
  block_scale,     ///< mma with .block_scale
  sp_block_scale,  ///< mma.sp with .block_scale: the rows of block_scale, over the stored products
  wmma,            ///< wmma.mma
  wmma_move,       ///< wmma.load and wmma.store
  matrix_move,     ///< ldmatrix, stmatrix, movmatrix
  cvt,
  wgmma,
  wgmma_sp,                ///< wgmma.mma_async.sp: the rows of wgmma, over the stored products
  wgmma_sync,              ///< without arithmetic: wgmma.fence, wgmma.commit_group, wgmma.wait_group
  proxy_fence,             ///< without arithmetic
  tcgen05,                 ///< tcgen05.mma, also .ws
  tcgen05_sp,              ///< tcgen05.mma.sp: the rows of tcgen05, over the stored products
  tcgen05_block_scale,     ///< tcgen05.mma with .block_scale
  tcgen05_sp_block_scale,  ///< the rows of tcgen05_block_scale, over the stored products
  tensor_memory,           ///< without arithmetic: tcgen05.alloc, ld, st, cp, shift, commit, fence, wait
  chain,                   ///< a product of a chain of FMA, on all targets alike
};

/// The instructions of the unit, for listings.
#pragma GCC visibility push(default)
std::string_view name(Unit unit);
#pragma GCC visibility pop

/// A qualifier that changes the arithmetic of a class.
enum class Modifier : std::uint8_t {
  none,
  satfinite,
  rn,
  rz,
  rm,
  rp,
  xor_popc,
  and_popc,
  packed_fp4,   ///< .kind::mxf4 and .kind::mxf4nvf4, in which e2m1 fills the registers
  packed_nvf4,  ///< tcgen05's .kind::mxf4nvf4 with scale factors of ue4m3
  separate,     ///< products are rounded before they are added
};

/// The lookup key of a plan: an instruction's unit, element formats (for a move: the moved format; for cvt: d
/// of the destination and a of the source) and the modifier of products.
struct Arithmetic {
  Unit unit;
  FormatId d, a, b, c;
  Modifier modifier = Modifier::none;
};

/// The classes that a plan serves.
struct OperandClass {
  Unit unit;
  FormatSet d, a, b, c;
  Modifier modifier = Modifier::none;

  constexpr bool matches(const Arithmetic& x) const {
    return unit == x.unit && d.contains(x.d) && a.contains(x.a) && b.contains(x.b) && c.contains(x.c) &&
           modifier == x.modifier;
  }
};

struct PlanRow {
  OperandClass operands;
  Plan plan;
  Evidence evidence;
  std::string_view machine;  ///< the machine instructions of the toolkit's lowering
};

/// A block of plan rows. It may serve another unit than the one its rows were written for (Unit::mma, or
/// Unit::block_scale for Unit::sp_block_scale). A target that merely resembles the one it was written for
/// replaces its evidence.
struct Block {
  std::span<const PlanRow> rows;
  std::optional<Evidence> evidence = {};  ///< if set, replaces that of the rows
  std::optional<Unit> unit = {};          ///< if set, the rows serve this unit instead
};

struct TargetRow {
  std::string_view name;
  Features features;
  std::span<const Block> blocks;
  std::string_view toolkit;  ///< the version in which the lowering was observed
  Version since;             ///< the first version of PTX that has the target
  std::uint32_t static_shared =
      48 << 10;                    ///< bytes of static shared memory of a kernel that ptxas takes at most
  std::string_view formerly = {};  ///< the name of it in versions of PTX before `since`
};

/// A plan on one target.
struct TargetPlan {
  const PlanRow* row;
  Evidence evidence;
  std::string_view toolkit;
};

#pragma GCC visibility push(default)  // the library of kernels asks for names
std::span<const TargetRow> target_rows();
/// The targets that have these features, oldest first.
std::vector<Target> targets_with(Features features);
#pragma GCC visibility pop

/// The plan of an operand class on a target: the first matching row, or nothing.
std::optional<TargetPlan> find_plan(const TargetRow& target, const Arithmetic& arithmetic);

}  // namespace warpbit
