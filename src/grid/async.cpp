// SPDX-License-Identifier: Apache-2.0
#include "grid/async.hpp"

#include <fmt/format.h>

namespace warpbit::grid {

block::Accesses::Agent BulkGroups::agent(int thread) {
  auto found = groups_.find(thread);
  if (found == groups_.end()) {
    const std::string name = shared_.cluster().name(thread, shared_.rank());
    const int agent = shared_.cluster().add_agent([name](std::uint32_t) {
      return fmt::format(
          "{} must execute cp.async.bulk.wait_group.read or .wait_group behind its commit_group first", name);
    });
    found = groups_.emplace(thread, Group{agent}).first;
  }
  return {found->second.agent, found->second.committed};
}

void BulkGroups::commit(int thread) {
  if (const auto found = groups_.find(thread); found != groups_.end()) ++found->second.committed;
}

void BulkGroups::wait(int thread, std::uint32_t pending) {
  const auto found = groups_.find(thread);
  if (found == groups_.end() || found->second.committed <= pending) return;
  shared_.order().learn(thread / block::kWarp, found->second.agent, found->second.committed - pending);
}

void ChangedMaps::release_all() {
  for (auto& [address, state] : states_) state.released = true;
}

void ChangedMaps::acquire(std::uint64_t address) {
  if (const auto found = states_.find(address); found != states_.end() && found->second.released)
    found->second.acquired = true;
}

std::optional<ChangedMaps::Missing> ChangedMaps::missing(std::uint64_t address) const {
  const auto found = states_.find(address);
  if (found == states_.end() || found->second.acquired) return std::nullopt;
  return Missing{found->second.who, found->second.released ? "fence.proxy.tensormap::generic.acquire"
                                                           : "fence.proxy.tensormap::generic.release"};
}

}  // namespace warpbit::grid
