// SPDX-License-Identifier: Apache-2.0
// Copies by cp.async, and their groups.
#include <algorithm>
#include <cstring>  // std::memcpy
#include <utility>

#include "block/shared.hpp"

namespace warpbit::block {

void Shared::begin_copy(std::int64_t to, std::int64_t size, const CopiedBytes& bytes, int thread,
                        std::uint16_t place) {
  Copier& of = copier(thread);
  of.copies.push_back({static_cast<std::uint32_t>(to), of.group, place, static_cast<std::uint16_t>(size)});
  ++of.begun;
  std::memcpy(memory_.shared_for_writing().data() + to, bytes.data(), static_cast<std::size_t>(size));
}

Found Shared::copy_async(std::string_view what, const View& to, const CopiedBytes& bytes, int size, Who who) {
  if (auto fault = check_bytes(what, Space::shared, to, size, static_cast<std::size_t>(size), who))
    return fault;
  Found found = write(what, to.at, size, who, Accesses::Written::pending);
  begin_copy(to.at, size, bytes, who.thread, accesses_.number(who.at));
  return found;
}

void Shared::commit_group(int thread) {
  ++copier(thread).group;
}

void Shared::wait_group(int thread, unsigned pending, Place at) {
  auto& [group, copies, delivered, waited, waited_for, waited_pending, begun] = copier(thread);
  waited = at;
  waited_for = group;
  waited_pending = pending;
  for (const Accesses::Agent& agent : delivered)
    cluster_->order.learn(thread / kWarp, agent.number, agent.clock + 1);
  delivered.clear();
  if (group <= pending) return;
  const auto end =
      std::ranges::find_if(copies, [first = group - pending](const Copy& c) { return c.group >= first; });
  for (auto c = copies.begin(); c != end; ++c)
    accesses_.settle(c->to, c->size, thread, c->place, cluster_->order);
  copies.erase(copies.begin(), end);
}

std::vector<Who> Shared::pending_copies() const {
  std::vector<Who> out;
  for (std::size_t i = 0; i < copiers_.size(); ++i)
    if (const std::vector<Copy>& copies = copiers_[i].copies; !copies.empty())
      out.push_back({first_thread() + static_cast<int>(i), accesses_.place(copies.back().place)});
  return out;
}

std::vector<Shared::InFlight> Shared::in_flight() const {
  std::vector<InFlight> out;
  for (std::size_t i = 0; i < copiers_.size(); ++i)
    for (const Copy& one : copiers_[i].copies) {
      const bool is_committed = one.group < copiers_[i].group;
      out.push_back({{first_thread() + static_cast<int>(i), accesses_.place(one.place)},
                     one.to,
                     one.size,
                     is_committed ? std::optional(copiers_[i].group - 1 - one.group) : std::nullopt});
    }
  return out;
}

// PTX manual, "cp.async.mbarrier.arrive".
void Shared::deliver(int thread, Accesses::Agent agent) {
  Copier& of = copier(thread);
  if (of.copies.empty()) return;
  for (const Copy& c : of.copies) {
    const Place at = accesses_.place(c.place);
    cluster_->issued(agent.number, {thread, at}, "a cp.async");
    accesses_.settle(c.to, c.size, agent, at);
  }
  of.copies.clear();
  of.delivered.push_back(agent);
}

}  // namespace warpbit::block
