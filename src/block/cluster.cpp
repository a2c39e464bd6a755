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

void Cluster::issued(int agent, Who by, std::string_view what) {
  std::vector<Agent::Issuer>& issuers = agents_[static_cast<std::size_t>(agent - order.threads())].issuers;
  const auto found = std::ranges::find_if(issuers, [&](const auto& one) { return one.by.at == by.at; });
  found == issuers.end() ? issuers.push_back({by, what}) : void(*found = {by, what});
}

const Cluster::Agent::Issuer* Cluster::Agent::issuer(Place at) const {
  const auto found = std::ranges::find_if(issuers, [&](const Issuer& one) { return one.by.at == at; });
  return found == issuers.end() ? nullptr : &*found;
}

std::string_view Cluster::work(int agent, Place at) const {
  const Agent::Issuer* const issuer = of(agent).issuer(at);
  return issuer == nullptr || issuer->what.empty() ? of(agent).what : issuer->what;
}

Who Cluster::who(int number, Place at) const {
  if (!order.is_agent(number)) return {number, at};
  const Agent::Issuer* const issuer = of(number).issuer(at);
  return issuer == nullptr ? Who{0, at} : issuer->by;
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
