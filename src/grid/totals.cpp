// SPDX-License-Identifier: Apache-2.0
#include "grid/totals.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "grid/block.hpp"

namespace warpbit::grid {

void Totals::add(const Totals& later) {
  if (later.inferred >= 0 && (inferred < 0 || later.inferred < inferred)) inferred = later.inferred;
  blocks += later.blocks;
  steps += later.steps;
  checked += later.checked;
  printed.add(later.printed);
  counts.resize(std::max(counts.size(), later.counts.size()));
  for (std::size_t i = 0; i < later.counts.size(); ++i) counts[i] += later.counts[i];
  if (later.timeline.warps != 0) timeline = later.timeline;
  for (const Finding& one : later.findings) add(one);
}

void Totals::add(const Finding& found) {
  const auto same =
      std::ranges::find_if(findings, [&](const Finding& other) { return are_same(other.fault, found.fault); });
  if (same == findings.end()) return findings.push_back(found);
  grid::add(*same, found);
  same->blocks += found.blocks;
}

void TotalsByCluster::add(std::uint64_t cluster, Totals left) {
  auto behind = runs_.upper_bound(cluster);
  auto run = behind == runs_.begin() ? runs_.end() : std::prev(behind);
  if (run != runs_.end() && run->second.end == cluster) {
    run->second.totals.add(left);
    ++run->second.end;
  } else {
    run = runs_.emplace_hint(behind, cluster, Run{cluster + 1, std::move(left)});
  }
  if (behind == runs_.end() || behind->first != run->second.end) return;
  run->second.totals.add(behind->second.totals);
  run->second.end = behind->second.end;
  runs_.erase(behind);
}

void TotalsByCluster::forget_behind(std::uint64_t cluster) {
  runs_.erase(runs_.upper_bound(cluster), runs_.end());
}

Totals TotalsByCluster::all() const {
  Totals out;
  for (const auto& [first, run] : runs_) out.add(run.totals);
  return out;
}

}  // namespace warpbit::grid
