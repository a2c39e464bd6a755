// SPDX-License-Identifier: Apache-2.0
#include "target/target.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace warpbit {

std::string_view name(Basis basis) {
  constexpr std::string_view kNames[] = {"captured", "published", "value only", "inferred"};
  return kNames[static_cast<std::size_t>(basis)];
}

std::string_view name(Unit unit) {
  switch (unit) {
    case Unit::mma: return "mma";
    case Unit::mma_m8n8k4: return "mma.m8n8k4 of f16";
    case Unit::mma_sp: return "mma.sp";
    case Unit::block_scale: return "mma, block-scaled";
    case Unit::sp_block_scale: return "mma.sp, block-scaled";
    case Unit::wmma: return "wmma.mma";
    case Unit::wmma_move: return "wmma.load, wmma.store";
    case Unit::matrix_move: return "ldmatrix, stmatrix, movmatrix";
    case Unit::cvt: return "cvt";
    case Unit::wgmma: return "wgmma.mma_async";
    case Unit::wgmma_sp: return "wgmma.mma_async.sp";
    case Unit::wgmma_sync: return "wgmma.fence, wgmma.commit_group, wgmma.wait_group";
    case Unit::proxy_fence: return "fence.proxy";
    case Unit::tcgen05: return "tcgen05.mma";
    case Unit::tcgen05_sp: return "tcgen05.mma.sp";
    case Unit::tcgen05_block_scale: return "tcgen05.mma with .block_scale";
    case Unit::tcgen05_sp_block_scale: return "tcgen05.mma.sp with .block_scale";
    case Unit::chain: return "chains of fma";
    case Unit::tensor_memory: return "tcgen05.alloc, ld, st, cp, shift, commit, fence, wait";
  }
  return "";
}

std::optional<TargetPlan> find_plan(const TargetRow& target, const Arithmetic& arithmetic) {
  for (const Block& block : target.blocks) {
    if (block.unit && *block.unit != arithmetic.unit) continue;
    Arithmetic wanted = arithmetic;
    if (block.unit) wanted.unit = block.rows.front().operands.unit;
    for (const PlanRow& row : block.rows) {
      if (!row.operands.matches(wanted)) continue;
      return TargetPlan{&row, block.evidence.value_or(row.evidence), target.toolkit};
    }
  }
  return std::nullopt;
}

std::vector<Target> Target::all() {
  std::vector<Target> out;
  for (const TargetRow& row : target_rows()) out.push_back(Target(row));
  return out;
}

std::vector<Target> targets_with(Features features) {
  std::vector<Target> out = Target::all();
  std::erase_if(out, [&](Target target) { return !target.row().features.has(features); });
  return out;
}

std::string_view Target::name() const {
  return row_->name;
}

std::string names(const std::vector<Target>& targets) {
  std::vector<std::string_view> out;
  for (const Target target : targets) out.push_back(target.name());
  return fmt::format("{}", fmt::join(out, ", "));
}

}  // namespace warpbit
