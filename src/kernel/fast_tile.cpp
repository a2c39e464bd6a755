// SPDX-License-Identifier: Apache-2.0
#include "kernel/fast_tile.hpp"

namespace warpbit {
namespace {

// Whether a plan has a step of one of these kinds.
template <class... Steps>
bool has(const Plan& plan) {
  return (first_of<Steps>(plan) || ...);
}

// From where and by which arithmetic; the first row that has something for a tile computes it.
struct Row {
  bool uses_memory;
  bool (*takes)(const Plan&);
  FastMaker* compile;
  const char* path;
};
constexpr Row kRows[] = {
    {false, has<Fused>, compile_fused, "fused sums from fragments"},
    {false, has<Fused>, compile_gathered, "fused sums from gathered registers"},
    {false, has<GroupScaled>, compile_groups, "scaled groups from fragments"},
    {false, has<IntegerSum>, compile_native, "integer sums from gathered registers"},
    {false, has<BitCount>, compile_native, "bit counts from gathered registers"},
    {false, has<FmaChain, PairSums>, compile_native, "IEEE operations from gathered registers"},
    {true, has<Fused>, compile_warpgroup, "fused sums from shared memory"},
    {true, has<Fused, IntegerSum, BitCount>, compile_divided, "which shared memory is brought into"},
};

}  // namespace

std::shared_ptr<const FastTile> compile_fast(const Tile& t) {
  for (const Row& row : kRows) {
    if (row.uses_memory != t.uses_memory() || !row.takes(*t.plan)) continue;
    if (const std::shared_ptr<FastTile> out = row.compile(t)) {
      out->path += (out->path.empty() ? "" : ", ") + std::string(row.path);
      return out;
    }
  }
  return nullptr;
}

}  // namespace warpbit
