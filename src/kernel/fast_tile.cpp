// SPDX-License-Identifier: Apache-2.0
#include "kernel/fast_tile.hpp"

namespace warpbit {
namespace {

// Whether a plan has a step of one of these kinds.
template <class... Steps>
bool has(const Plan& plan) {
  return (first_of<Steps>(plan) || ...);
}

// By which arithmetic; where the operands are is found by each alike (PartsTile).
struct Row {
  bool (*takes)(const Plan&);
  FastMaker* compile;
  const char* arithmetic;
};
constexpr Row kRows[] = {
    {has<Fused>, compile_fused, "fused sums"},
    {has<GroupScaled, WindowedGroups>, compile_groups, "scaled groups"},
    {has<IntegerSum>, compile_native, "integer sums"},
    {has<BitCount>, compile_native, "bit counts"},
    {has<FmaChain, PairSums>, compile_native, "IEEE operations"},
};

}  // namespace

std::shared_ptr<const FastTile> compile_fast(const Tile& t) {
  if (t.c_scale != 0) return nullptr;
  for (const Row& row : kRows) {
    if (!row.takes(*t.plan)) continue;
    if (const std::shared_ptr<FastTile> out = row.compile(t)) {
      out->path = row.arithmetic + (" from " + out->source());
      return out;
    }
  }
  return nullptr;
}

}  // namespace warpbit
