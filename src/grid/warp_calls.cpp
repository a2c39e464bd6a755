// SPDX-License-Identifier: Apache-2.0
// A warp calls functions, and comes back from them.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "grid/block.hpp"
#include "grid/warp.hpp"

namespace warpbit::grid {
namespace {

constexpr std::size_t kCallDepth = 1000;

// Calls f(where they begin, function) for the registers of all calls of a path.
template <class F>
void for_each_frame(const Path& path, const F& f) {
  for (const Return& to : path.calls) f(to.frame, to.function);
  f(path.frame, path.function);
}

// Whether the calls of a path begin with these.
bool has_come_by(const Path& path, const std::vector<Return>& calls) {
  return path.calls.size() >= calls.size() && std::equal(calls.begin(), calls.end(), path.calls.begin());
}

}  // namespace

// Behind those of the caller, as a rule. But registers of other widths have other columns,
//
//     byte of a slot    0    4    8    12   16
//     of 32 bits        lane 0    lane 2        here lane 2 has bytes 8 to 11,
//                       |    lane 1    lane 3
//     of 64 bits        |  lane 0 |  lane 1 |   and here lane 1 does
//
// so no lane that is elsewhere may have registers of another function there. Lanes that have come by the same calls have theirs at
// one place, where they can join.
std::uint32_t Warp::frame_of_callee(const Path& path, int function) const {
  const auto slots = [&](int of) {
    return static_cast<std::uint32_t>(program_.functions[static_cast<std::size_t>(of)].slots);
  };
  const std::uint32_t behind = path.frame + slots(path.function), size = slots(function);
  std::uint32_t end = behind;
  bool is_free = true;
  for (const std::vector<Path>* const paths : {&paths_, &split_})
    for (const Path& other : *paths) {
      if (&other == &path || other.lanes == 0) continue;
      if (has_come_by(other, path.calls)) {
        const bool is_there = other.calls.size() == path.calls.size();
        const Return* const on = is_there ? nullptr : &other.calls[path.calls.size()];
        if ((is_there ? other.function : on->function) == function) return is_there ? other.frame : on->frame;
      }
      for_each_frame(other, [&](std::uint32_t first, int of) {
        end = std::max(end, first + slots(of));
        const bool overlaps = first < behind + size && behind < first + slots(of);
        is_free = is_free && (!overlaps || (first == behind && of == function));
      });
    }
  return is_free ? behind : end;
}

Next Warp::call(Path& path, const Call& call, int function, Lanes lanes) {
  if (path.calls.size() >= kCallDepth)
    return fault(path, lanes,
                 {Errc::stack_overflow,
                  {},
                  fmt::format("more than {} nested calls, the limit of a launch here", kCallDepth),
                  "the recursion must end earlier"});
  keep(path, lanes);
  const FunctionCode& callee = program_.functions[static_cast<std::size_t>(function)];
  const FunctionCode& caller = program_.functions[static_cast<std::size_t>(path.function)];
  const std::int64_t local = path.local + (caller.local_bytes + 15) / 16 * 16;
  undefined_.local().forget(local, callee.local_bytes);
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    if (callee.local_bytes > 0 && this->local(lane, local, callee.local_bytes) == nullptr)
      return fault(path, Lanes{1} << lane, {Errc::stack_overflow, {}, "local memory of more than 512 KiB", {}});
    if (callee.saved_stack >= 0)
      std::memcpy(this->local(lane, local + callee.saved_stack, sizeof(std::int64_t)), &stack(lane),
                  sizeof(std::int64_t));
    if (std::byte* const bits = callee.local_bytes > 0 ? defined(lane, local, callee.local_bytes) : nullptr)
      std::memset(bits, 0, static_cast<std::size_t>(callee.local_bytes));
    for (std::size_t i = 0; i < call.arguments.size(); ++i)
      copy_local(lane, local + callee.parameters[i], path.local + call.arguments[i].from,
                 call.arguments[i].bytes);
  }
  path.calls.push_back(
      {path.pc + 1, &call, path.frame, path.predicates, path.local, path.function, path.stack});
  path.stack = program_.stacks->call(path.stack, program_.steps[static_cast<std::size_t>(path.pc)].statement,
                                     program_.origins.size());
  path.frame = frame_of_callee(path, function);
  path.predicates += static_cast<std::uint32_t>(caller.predicates);
  path.local = local;
  path.function = function;
  path.pc = callee.first_step;
  registers_.reserve(path.frame + static_cast<std::uint32_t>(callee.slots),
                     path.predicates + static_cast<std::uint32_t>(callee.predicates));
  undefined_.enter(path, callee, lanes);
  return Next::moved;
}

Next Warp::go_back(Path& path, Lanes lanes) {
  if (path.calls.empty()) return end(path, lanes);
  keep(path, lanes);
  const Return to = path.calls.back();
  const FunctionCode& callee = program_.functions[static_cast<std::size_t>(path.function)];
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    for (std::size_t i = 0; i < to.call->results.size(); ++i)
      copy_local(lane, to.local + to.call->results[i].to, path.local + callee.returns[i],
                 to.call->results[i].bytes);
    if (callee.saved_stack >= 0)
      std::memcpy(&stack(lane), local(lane, path.local + callee.saved_stack, sizeof(std::int64_t)),
                  sizeof(std::int64_t));
  }
  path.calls.pop_back();
  path.last_branch = -1;
  path.pc = to.step;
  path.frame = to.frame;
  path.predicates = to.predicates;
  path.local = to.local;
  path.function = to.function;
  path.stack = to.stack;
  return Next::moved;
}

}  // namespace warpbit::grid
