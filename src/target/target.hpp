// SPDX-License-Identifier: Apache-2.0
// Targets as rows: features, and for each operand class the plan with its evidence. GPUs differ in data, not in
// control flow. The numbers are explained and proved in NUMERICS.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "numeric/formats.hpp"
#include "numeric/plan.hpp"
#include "warpbit/evidence.hpp"
#include "warpbit/target.hpp"

namespace warpbit {

/// What a form may need (PTX manual, "Target ISA Notes" of each instruction).
enum class Feature : std::uint32_t {
  sm_70 = 1 << 0,  ///< that target or a later one; likewise below
  sm_75 = 1 << 1,
  sm_80 = 1 << 2,
  sm_90 = 1 << 3,
  fp8_mma = 1 << 4,          ///< mma with e4m3 and e5m2
  kind_f8f6f4_fp8 = 1 << 5,  ///< .kind::f8f6f4 with e4m3 and e5m2
  kind_f8f6f4 = 1 << 6,      ///< .kind::f8f6f4 with every type
};

class Features {
 public:
  constexpr Features() = default;
  constexpr Features(Feature f) : bits_(static_cast<std::uint32_t>(f)) {}
  /// True if all of `needs` are here.
  constexpr bool has(Features needs) const { return (needs.bits_ & ~bits_) == 0; }
  friend constexpr Features operator|(Features x, Features y) {
    x.bits_ |= y.bits_;
    return x;
  }

 private:
  std::uint32_t bits_ = 0;
};
constexpr Features operator|(Feature x, Feature y) {
  return Features(x) | Features(y);
}

/// Which arithmetic an instruction asks for: families whose results follow the same rows share a unit.
enum class Unit : std::uint8_t {
  mma,         ///< mma.sync, all shapes but the next
  mma_m8n8k4,  ///< mma.sync.m8n8k4 with f16 operands
  mma_sp,      ///< mma.sp: the rows of mma, over the products that exist
};

/// What tells the unit from the plain one, for listings; empty for Unit::mma.
std::string_view name(Unit unit);

/// The qualifier that changes the arithmetic of a class.
enum class Modifier : std::uint8_t { none, satfinite, rn, rz, rm, rp, xor_popc, and_popc };

/// What a plan is looked up by: an instruction's unit, element formats and modifier.
struct Arithmetic {
  Unit unit;
  FormatId d, a, b, c;
  Modifier modifier = Modifier::none;
};

/// The classes that a plan serves.
struct OperandClass {
  Unit unit;
  FormatId d;
  FormatSet a, b;
  FormatId c;
  Modifier modifier = Modifier::none;

  constexpr bool matches(const Arithmetic& x) const {
    return unit == x.unit && d == x.d && a.contains(x.a) && b.contains(x.b) && c == x.c &&
           modifier == x.modifier;
  }
};

struct PlanRow {
  OperandClass operands;
  Plan plan;
  Evidence evidence;
  std::string_view machine;  ///< the machine instructions that the toolkit makes of it
};

/// A block of plan rows. It may serve another unit than the one its rows were written for, and a target that
/// merely resembles the one it was written for replaces its evidence.
struct Block {
  std::span<const PlanRow> rows;
  std::optional<Ground> ground = {};  ///< if set, all evidence is this
  std::optional<Unit> unit = {};      ///< if set, the rows of Unit::mma serve this unit
};

struct TargetRow {
  std::string_view name;
  Features features;
  std::span<const Block> blocks;
  std::string_view toolkit;  ///< with which the lowering was seen
};

/// A plan as one target has it.
struct TargetPlan {
  const PlanRow* row;
  Evidence evidence;
  std::string_view toolkit;
};

std::span<const TargetRow> target_rows();

/// The plan of an operand class on a target, or nothing if no row has it.
std::optional<TargetPlan> find_plan(const TargetRow& target, const Arithmetic& arithmetic);

}  // namespace warpbit
