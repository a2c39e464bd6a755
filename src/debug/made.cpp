// SPDX-License-Identifier: Apache-2.0
// What made an element: the statements of the block, walked from its last store back.
//
//     needed               statement, from the last one on                 needed then
//     [0x1000, 0x1004)     st.global.f32 [%rd1], %f3      lane 0           %f3 of lane 0
//     %f3                  add.f32 %f3, %f1, %f2                           %f1, %f2
//     %f1, %f2             ld.shared.f32 %f2, [%r4]                        %f1, 4 bytes of shared memory
//
//     %f2                  ...                                            and so on, back through tiles in shared memory and tensor memory
//
// Registers are those of lanes; addresses and guards are not followed. Of a product all of its matrices are needed.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "warpbit/debug.hpp"
#include "warpbit/tensor_memory.hpp"

namespace warpbit {
namespace {

using Lanes = std::uint32_t;

/// Bytes [first, end) that are needed, by their first one; none touch.
class Bytes {
 public:
  bool has(std::uint64_t first, std::uint64_t end) const {
    const auto behind = all_.lower_bound(end);
    return behind != all_.begin() && std::prev(behind)->second > first;
  }
  void add(std::uint64_t first, std::uint64_t end) {
    remove(first, end);
    all_.emplace(first, end);
  }
  void remove(std::uint64_t first, std::uint64_t end) {
    while (has(first, end)) {
      const auto one = std::prev(all_.lower_bound(end));
      const auto [from, to] = *one;
      all_.erase(one);
      if (from < first) all_.emplace(from, first);
      if (to > end) all_.emplace(end, to);
    }
  }

 private:
  std::map<std::uint64_t, std::uint64_t> all_;
};

/// What a walk needs of a statement that was executed.
struct Executed {
  int warp;
  Lanes lanes;
  int line;
  bool joins_lanes;
  std::vector<std::string> sources, results;
  std::vector<ptx::MemoryAccess> accesses;
  std::vector<TensorTouch> tensor;
};

Executed executed(const ptx::Observation& seen) {
  Executed out{seen.warp, seen.lanes, seen.line, seen.joins_lanes, {}, {}, seen.accesses, seen.tensor_accesses};
  for (const auto* const all : {&seen.sources, &seen.registers})
    for (const ptx::RegisterValues& one : *all) {
      if (one.is_written) out.results.push_back(one.name);
      if (one.is_value && all == &seen.sources) out.sources.push_back(one.name);
    }
  return out;
}

class Walk {
 public:
  void need(const ptx::MemoryAccess& bytes) {
    bytes_of(bytes.space).add(bytes.address, bytes.address + bytes.bytes);
  }
  /// The lanes of a statement that make something needed; what they have made it of is needed from now on.
  Lanes pass(const Executed& one) {
    Lanes out = stored(one) | stored_in_tensor_memory(one);
    for (const std::string& name : one.results)
      if (const auto found = registers_.find({one.warp, name}); found != registers_.end()) {
        out |= found->second & one.lanes;
        found->second &= ~one.lanes;
      }
    if (out != 0) need_sources(one, one.joins_lanes ? one.lanes : out);
    return out;
  }

 private:
  Bytes& bytes_of(Space space) { return space == Space::shared ? shared_ : global_; }

  Lanes stored(const Executed& one) {
    Lanes out = 0;
    for (const ptx::MemoryAccess& access : one.accesses) {
      Bytes& bytes = bytes_of(access.space);
      const std::uint64_t end = access.address + access.bytes;
      if (!access.writes || !bytes.has(access.address, end)) continue;
      out |= Lanes{1} << access.lane;
      if (!access.reads) bytes.remove(access.address, end);
    }
    return out;
  }

  // Calls use(first, end) for the words of each lane of tensor memory, which lie one lane after the other.
  static void for_words(const TensorTouch& touch, const auto& use) {
    for (int lane = touch.first_lane; lane < touch.first_lane + touch.lanes; ++lane) {
      const auto first = static_cast<std::uint64_t>(lane * TensorMemory::kColumns + touch.first_column);
      use(first, first + static_cast<std::uint64_t>(touch.columns));
    }
  }
  Lanes stored_in_tensor_memory(const Executed& one) {
    bool makes = false;
    for (const TensorTouch& touch : one.tensor)
      for_words(touch, [&](std::uint64_t first, std::uint64_t end) {
        if (!touch.writes || !tensor_.has(first, end)) return;
        makes = true;
        tensor_.remove(first, end);
      });
    return makes ? one.lanes : 0;
  }

  void need_sources(const Executed& one, Lanes lanes) {
    for (const std::string& name : one.sources) registers_[{one.warp, name}] |= lanes;
    for (const ptx::MemoryAccess& access : one.accesses)
      if (access.reads && !access.writes && (lanes >> access.lane & 1) != 0) need(access);
    for (const TensorTouch& touch : one.tensor)
      if (!touch.writes)
        for_words(touch, [&](std::uint64_t first, std::uint64_t end) { tensor_.add(first, end); });
  }

  std::map<std::pair<int, std::string>, Lanes> registers_;
  Bytes shared_, global_, tensor_;
};

}  // namespace

Result<std::vector<DebugOrigin>> Debugger::made(std::uint64_t step, const DebugPredicate& writes) {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  std::vector<Executed> all;
  std::map<int, std::string> statements;
  std::size_t last = 0;  // behind the last statement that writes
  run([&](const ptx::Observation& seen) {
    all.push_back(executed(seen));
    statements.try_emplace(seen.line, seen.statement);
    if (writes(seen)) last = all.size();
    return all.size() < step && all.size() < kMost;
  });
  if (all.size() == kMost && kMost < step)
    return Error{Errc::usage, "the chain of an element", fmt::format("more than {} statements", kMost),
                 "a place before the end, or a smaller launch"};
  std::vector<DebugOrigin> out;
  if (last == 0) return out;
  Walk walk;
  for (const ptx::MemoryAccess& one : all[last - 1].accesses) {
    ptx::Observation alone{};
    alone.accesses = {one};
    if (writes(alone)) walk.need(one);
  }
  for (std::size_t i = last; i-- > 0;)
    if (const Lanes lanes = walk.pass(all[i]); lanes != 0)
      out.push_back({i + 1, all[i].warp, lanes, all[i].line, statements.at(all[i].line)});
  return out;
}

}  // namespace warpbit
