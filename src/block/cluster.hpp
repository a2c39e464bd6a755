// SPDX-License-Identifier: Apache-2.0
// What the blocks of a cluster share: the numbers of their threads, the order of what they do, and the agents that copy for
// them. Threads are numbered by block, each with whole warpgroups:
//
//     block     0              1              2
//     threads   0 ... s - 1    s ... 2s - 1   2s ...      s: stride()
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "block/actor.hpp"
#include "block/order.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::block {

class Cluster {
 public:
  Cluster(int blocks, int threads)
      : blocks_(blocks),
        stride_((threads + kWarpgroup - 1) / kWarpgroup * kWarpgroup),
        order(blocks * stride_) {}

  int blocks() const { return blocks_; }
  int stride() const { return stride_; }
  int rank_of(int thread) const { return thread / stride_; }

  /// What makes an agent's work up to a clock known, as an advice: "wait for phase 3 of ...".
  using Advice = std::function<std::string(std::uint32_t clock)>;
  /// A new agent that accesses shared memory for threads: its number in `order`. `what`: what it does, in faults.
  int add_agent(Advice advice, std::string_view what = "a bulk copy");
  /// The same for operations on tensor memory; without an advice it accesses no shared memory.
  int add_tensor_agent(Advice advice = {});
  /// A pair that makes products.
  int add_pair();
  /// A thread has an agent do something. `what`: if it is not what the agent does else.
  void issued(int agent, Who by, std::string_view what = {});
  /// Of a thread or an agent, by its number, the thread: of an agent, the last one that had it do something at a place.
  Who who(int number, Place at) const;
  /// Whether it is an agent that accesses shared memory for threads, as bulk copies do.
  bool copies(int number) const { return order.is_agent(number) && of(number).advice; }
  /// What an agent has done, issued at a place: "a bulk copy", "an st.async".
  std::string_view work(int agent, Place at) const;
  std::string advice(int agent, std::uint32_t clock) const { return of(agent).advice(clock); }
  /// "lane 3 of warp 1", for a thread of another block than `rank` with its own.
  std::string name(int thread, int rank) const;
  /// "warps 4-7", of the warpgroup of a thread, likewise.
  std::string group_name(int thread, int rank) const;

  /// How two places stand to each other in the program.
  enum class Flow : std::uint8_t {
    unknown,
    follows,  ///< a thread comes from the first to the second without a barrier of its block, and not the other way round
    apart,  ///< no thread comes from one to the other: warps have parted
  };
  /// Empty where nobody knows.
  std::function<Flow(Place first, Place second)> flow = {};

 private:
  struct Agent {
    Advice advice;
    std::string_view what;
    struct Issuer {
      Who by;
      std::string_view what;
    };
    std::vector<Issuer> issuers;  // by place
    const Issuer* issuer(Place at) const;
  };
  const Agent& of(int agent) const { return agents_[static_cast<std::size_t>(agent - order.threads())]; }

  int blocks_, stride_;
  std::vector<Agent> agents_;

 public:
  Order order;
  Messages messages{8};     ///< of flags in shared memory
  Actor actor, ended;       ///< who acts now, and who has ended last
  std::uint64_t noted = 0;  ///< statements of the block that is noted
};

}  // namespace warpbit::block
#pragma GCC visibility pop
