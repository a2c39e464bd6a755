// SPDX-License-Identifier: Apache-2.0
#include "reduction/online.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reduction/functions.hpp"
#include "reduction/problem.hpp"

namespace warpbit::reduction {
namespace {

/// What a thread adds of products: the first one waits for the second, which is rounded.
struct Products {
  float sum = 0, e = 0, v = 0;
  int count = 0;

  float value() const { return count == 1 ? e * v : sum; }
  friend Products operator+(const Products& a, const Products& b) { return {a.value() + b.value(), 0, 0, 2}; }
};
struct ProductTerms {
  using Value = Products;
  std::span<const float> e, v;

  Products add(Products to, std::size_t i) const {
    if (to.count == 0) return {0, e[i], v[i], 1};
    to.sum = to.count == 1 ? std::fma(to.e, to.v, e[i] * v[i]) : std::fma(e[i], v[i], to.sum);
    to.count = 2;
    return to;
  }
  Products value(std::size_t i) const { return add({}, i); }  // of orders that add steps by themselves
};

// Tiles of a block one after the other: what it has is scaled first.
template <class TileSum>
std::vector<float> folded(const Tiles& tiles, const std::vector<std::size_t>& block, const TileSum& sum) {
  std::vector<float> out(tiles.greatest.size());
  for (std::size_t tile = 0; tile < block.size(); ++tile)
    out[block[tile]] = std::fma(out[block[tile]], tiles.scale[tile], sum(tile));
  return out;
}

}  // namespace

Tiles tiles_of(std::span<const float> x, const ReductionOrder& order) {
  const std::string_view function = exponential_of(order.function);
  Tiles out;
  std::vector<float> steps;
  std::size_t block = SIZE_MAX;
  for (const BlockPart& tile : parts_of(x.size(), order)) {
    if (tile.block != block) out.greatest.push_back(-INFINITY);
    block = tile.block;
    float& greatest = out.greatest.back();
    const float before = greatest;
    for (std::size_t i = tile.first; i < tile.last; ++i) greatest = std::fmax(greatest, x[i]);
    steps.push_back(before - greatest);
    for (std::size_t i = tile.first; i < tile.last; ++i) out.e.push_back(x[i] - greatest);
  }
  out.e = computed(function, out.e);
  out.scale = computed(function, steps);
  return out;
}

std::vector<float> totals_of(const Tiles& tiles, const Begun<float>& begun, const ReductionOrder& order) {
  std::vector<float> threads = begun.threads;
  const auto of_block = static_cast<std::size_t>(order.threads);
  return folded(tiles, begun.block, [&](std::size_t tile) {
    return add_threads(std::span(threads).subspan(tile * of_block, of_block), order);
  });
}

std::vector<float> products_of(const Tiles& tiles, std::span<const float> v, const ReductionOrder& order) {
  const auto lanes = static_cast<std::size_t>(std::max(order.value_lanes, 1)),
             warps = static_cast<std::size_t>(std::max(order.threads / 32, 1));
  ReductionOrder threads;
  threads.blocks = order.blocks;
  threads.loop = order.loop;
  threads.threads = static_cast<int>(lanes * warps);
  const Begun<Products> begun = begin(ProductTerms{tiles.e, v}, tiles.e.size(), threads);
  std::vector<float> sums;
  for (const Products& one : begun.threads) sums.push_back(one.value());
  return folded(tiles, begun.block, [&](std::size_t tile) {
    const std::span<float> all = std::span(sums).subspan(tile * lanes * warps, lanes * warps);
    for (std::size_t warp = 0; warp < warps; ++warp)
      all[warp] = add_together(all.subspan(warp * lanes, lanes), order.lanes);
    return add_together(all.first(warps), order.warps);
  });
}

// ---- Blocks

Online operator+(const Online& to, const Online& from) {
  const std::size_t n = to.greatest.size();
  Online out = to;
  std::vector<float> off(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    out.greatest[i] = std::fmax(to.greatest[i], from.greatest[i]);
    off[i] = to.greatest[i] - out.greatest[i];
    off[n + i] = from.greatest[i] - out.greatest[i];
  }
  const std::vector<float> scale = computed(to.function, off);
  for (std::size_t i = 0; i < n; ++i) {
    out.total[i] = std::fma(to.total[i], scale[i], scale[n + i] * from.total[i]);
    if (!out.products.empty())
      out.products[i] = std::fma(to.products[i], scale[i], scale[n + i] * from.products[i]);
  }
  return out;
}

namespace {

std::vector<float> logs_of(const Online& sums) {
  std::vector<float> out = computed("logf", sums.total);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += sums.greatest[i];
  return out;
}

std::vector<float> quotients_of(const Online& sums, std::string_view function) {
  std::vector<float> out = sums.products;
  if (has(function, "full")) return computed("div_full", out, sums.total);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = has(function, "reciprocal") ? out[i] * (1 / sums.total[i]) : out[i] / sums.total[i];
  return out;
}

}  // namespace

std::vector<float> merged(std::vector<Online> blocks, const ReductionOrder& order) {
  const bool has_products = !blocks[0].products.empty();
  if (blocks.size() > 1) {
    for (Online& one : blocks) {
      std::vector<float> logs = logs_of(one);
      if (has_products) one.products = quotients_of(one, order.function);
      one.greatest = std::move(logs);
      std::ranges::fill(one.total, 1.0F);
    }
    blocks[0] = add_together(std::span(blocks), order.merge_order);
  }
  return has_products ? quotients_of(blocks[0], order.function) : logs_of(blocks[0]);
}

// ---- Rows

OnlineRows::OnlineRows(const ReductionProblem& problem)
    : x_(numbers_of<float>(problem.x, problem.x_format, problem.columns)) {
  if (problem.v_columns != 0)
    v_ = numbers_of<float>(transposed(problem.v, problem.columns, problem.v_columns), problem.v_format,
                           problem.columns);
}

void OnlineRows::add_blocks(const Tiles& tiles, const ReductionOrder& order, std::vector<Online>& to) const {
  const std::vector<float> totals =
      totals_of(tiles, begin(Terms<float>{tiles.e}, tiles.e.size(), order), order);
  to.resize(totals.size());
  for (std::size_t block = 0; block < to.size(); ++block) {
    Online& one = to[block];
    one.function = exponential_of(order.function);
    one.greatest.resize(one.greatest.size() + std::max<std::size_t>(v_.size(), 1), tiles.greatest[block]);
    one.total.resize(one.greatest.size(), totals[block]);
  }
  for (const std::vector<float>& column : v_) {
    const std::vector<float> products = products_of(tiles, column, order);
    for (std::size_t block = 0; block < to.size(); ++block) to[block].products.push_back(products[block]);
  }
}

}  // namespace warpbit::reduction
