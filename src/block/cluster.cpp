// SPDX-License-Identifier: Apache-2.0
#include "block/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace warpbit::block {

int Cluster::add_agent(Advice advice, std::string_view what) {
  agents_.push_back({std::move(advice), what, {}});
  return order.add_agent();
}

int Cluster::add_tensor_agent(Advice advice) {
  agents_.push_back({std::move(advice), "an operation of tcgen05", {}});
  return order.add_agent(true);
}

int Cluster::add_pair() {
  agents_.resize(agents_.size() + 2);
  return order.add_pair();
}

void Cluster::issued(int agent, Who by) {
  std::vector<Who>& issuers = agents_[static_cast<std::size_t>(agent - order.threads())].issuers;
  const auto found = std::ranges::find(issuers, by.at, &Who::at);
  found == issuers.end() ? issuers.push_back(by) : void(*found = by);
}

Who Cluster::who(int number, Place at) const {
  if (!order.is_agent(number)) return {number, at};
  const std::vector<Who>& issuers = of(number).issuers;
  const auto found = std::ranges::find(issuers, at, &Who::at);
  return found == issuers.end() ? Who{0, at} : *found;
}

std::string Cluster::name(int thread, int rank) const {
  const int in_block = thread % stride_;
  std::string out = fmt::format("lane {} of warp {}", in_block % kWarp, in_block / kWarp);
  if (rank_of(thread) != rank) out += fmt::format(" of block {} of the cluster", rank_of(thread));
  return out;
}

std::string Cluster::group_name(int thread, int rank) const {
  const int first = thread % stride_ / kWarpgroup * kGroupWarps;
  std::string out = fmt::format("warps {}-{}", first, first + kGroupWarps - 1);
  if (rank_of(thread) != rank) out += fmt::format(" of block {} of the cluster", rank_of(thread));
  return out;
}

}  // namespace warpbit::block
