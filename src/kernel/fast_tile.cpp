// SPDX-License-Identifier: Apache-2.0
#include "kernel/fast_tile.hpp"

#include <utility>

namespace warpbit {
namespace {

// One call of run_fast.
struct Run {
  const Body& body;
  const Tile& tile;
  const TileViews& views;
  const ResultView& d;
  std::size_t first, last;

  void operator()(const FusedTile& x) const { run_fused(body, x, tile, views, d, first, last); }
  void operator()(const GatheredTile& x) const { run_gathered(body, x, tile, views, d, first, last); }
  void operator()(const WarpgroupTile& x) const { run_warpgroup(body, x, tile, views, d); }
  void operator()(const DividedTile& x) const { run_divided(body, x, tile, views, d); }
  void operator()(const GroupTile& x) const { run_groups(body, x, tile, views, d, first, last); }
  void operator()(const NativeTile& x) const {
    for (std::size_t i = first; i < last; ++i)
      if (!run_native(body, x, tile, views, d, i)) run_tile(tile, views, d, i);
  }
};

}  // namespace

std::shared_ptr<const FastTile> compile_fast(const Tile& t) {
  const auto fast = [](const auto& compiled) { return std::make_shared<const FastTile>(FastTile{*compiled}); };
  if (const auto x = compile_fused(t)) return fast(x);
  if (const auto x = compile_gathered(t)) return fast(x);
  if (const auto x = compile_warpgroup(t)) return fast(x);
  if (const auto x = compile_divided(t)) return fast(x);
  if (const auto x = compile_groups(t)) return fast(x);
  if (const auto x = compile_native(t)) return fast(x);
  return nullptr;
}

void run_fast(const Body& body, const FastTile& fast, const Tile& tile, const TileViews& views,
              const ResultView& d, std::size_t first, std::size_t last) {
  std::visit(Run{body, tile, views, d, first, last}, fast.kind);
}

}  // namespace warpbit
