// SPDX-License-Identifier: Apache-2.0
// What the instructions of tcgen05 that are on their way have done, as far as threads know.
#include "block/tensor.hpp"

#include <fmt/format.h>

namespace warpbit::block {

int TensorOrder::find(Key key) {
  const auto [found, added] = numbers_.try_emplace(key, static_cast<int>(pipes_.size()));
  if (!added) return found->second;
  const bool operations = key.first == Kind::operations;
  const auto advice = [this, pipe = static_cast<int>(pipes_.size())](std::uint32_t clock) {
    return commit_of(pipe, clock) +
           " must come between that operation and this statement (other arrivals do not wait for it)";
  };
  Pipe one{key.second, operations ? kWarp : 1, 0, 0, -1, -1};
  one.done = operations ? cluster_.add_tensor_agent(advice) : cluster_.add_tensor_agent();
  one.fenced = cluster_.add_tensor_agent();
  if (operations) one.issued = cluster_.add_tensor_agent();
  if (operations) one.read = cluster_.add_tensor_agent(advice);
  pipes_.push_back(one);
  return found->second;
}

std::uint32_t TensorOrder::issue(int pipe, Who who) {
  Pipe& one = of(pipe);
  one.last = who;
  const std::uint32_t clock = one.issued_count++;
  if (one.issued >= 0) cluster_.order.learn(one.owner / one.width, one.issued, one.issued_count);
  return clock;
}

void TensorOrder::wait(int warp, bool stores) {
  Pipe& one = of(stores ? this->stores(warp) : loads(warp));
  one.waited = one.issued_count;
  cluster_.order.learn(warp, one.done, one.waited);
}

void TensorOrder::fence_before(int warp) {
  for (const Pipe& one : pipes_)
    if (one.owner / one.width == warp)
      cluster_.order.learn(warp, one.fenced, one.issued >= 0 ? one.issued_count : one.waited);
}

void TensorOrder::fence_after(int warp) {
  std::vector<std::uint32_t>& known = after_[static_cast<std::size_t>(warp)];
  known.clear();
  for (const Pipe& one : pipes_)
    for (const int agent : {one.done, one.issued}) {
      if (agent < 0) continue;
      if (known.size() <= static_cast<std::size_t>(agent)) known.resize(static_cast<std::size_t>(agent) + 1);
      known[static_cast<std::size_t>(agent)] = cluster_.order.known_of(agent, warp);
    }
}

std::vector<Accesses::Agent> TensorOrder::committed(int thread, bool reads_of_a, std::string phase) {
  Pipe& one = of(operations(thread));
  if (reads_of_a) return {{one.read, one.issued_count}};
  if (one.committed_count == one.issued_count) idle_ = thread;
  one.committed_count = one.issued_count;
  one.committed_to = std::move(phase);
  std::vector<Accesses::Agent> out;
  for (const int agent : {one.done, one.fenced, one.issued, one.read}) out.push_back({agent, one.issued_count});
  return out;
}

std::string TensorOrder::commit_of(int pipe, std::uint32_t clock) const {
  if (const Pipe& one = of(pipe); clock < one.committed_count && !one.committed_to.empty())
    return fmt::format("a wait for {}, at which tcgen05.commit arrives,", one.committed_to);
  if (const int owner = of(pipe).owner; idle_ >= 0 && idle_ != owner && clock >= of(pipe).committed_count)
    return fmt::format(
        "a tcgen05.commit by {}, which has issued it (that of {} is for operations of its own thread alone), and a wait "
        "for its mbarrier",
        cluster_.name(owner, cluster_.rank_of(owner)), cluster_.name(idle_, cluster_.rank_of(owner)));
  return "a tcgen05.commit and a wait for its mbarrier";
}

std::optional<Who> TensorOrder::pending_load(int warp) const {
  const auto found = numbers_.find({Kind::loads, warp});
  if (found == numbers_.end() || of(found->second).waited == of(found->second).issued_count)
    return std::nullopt;
  return of(found->second).last;
}

std::vector<TensorOrder::Open> TensorOrder::open() const {
  std::vector<Open> out;
  for (const Pipe& one : pipes_) {
    const bool is_operation = one.width != 1;
    const std::uint32_t behind = is_operation ? one.committed_count : one.waited;
    if (one.issued_count != behind) out.push_back({one.last, one.issued_count - behind, is_operation});
  }
  return out;
}

bool TensorOrder::is_done(int pipe, std::uint32_t clock, int warp) const {
  return clock < cluster_.order.known_of(of(pipe).done, warp);
}
bool TensorOrder::is_issued(int pipe, std::uint32_t clock, int warp) const {
  return clock < cluster_.order.known_of(of(pipe).issued, warp);
}
bool TensorOrder::is_fenced(int pipe, std::uint32_t clock, int warp) const {
  return clock < cluster_.order.known_of(of(pipe).fenced, warp);
}
bool TensorOrder::is_behind_fence(int pipe, std::uint32_t clock, int warp, bool done) const {
  const std::vector<std::uint32_t>& known = after_[static_cast<std::size_t>(warp)];
  const auto agent = static_cast<std::size_t>(done ? of(pipe).done : of(pipe).issued);
  return agent < known.size() && clock < known[agent];
}

}  // namespace warpbit::block
