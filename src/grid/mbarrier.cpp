// SPDX-License-Identifier: Apache-2.0
// Barrier objects, barrier.cluster and setmaxnreg.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "grid/bounds.hpp"
#include "grid/cluster.hpp"
#include "grid/records.hpp"
#include "grid/steps.hpp"

namespace warpbit::grid::steps {
namespace {

using Object = MbarrierOperation::Kind;

// The object at a lane's address. Only one of the own block may be waited for.
Result<SharedBytes> find_object(Warp& warp, const Path& path, const Step& step, int lane, bool of_cluster) {
  std::uint64_t address = warp.read(path, step.place[2], lane) + static_cast<std::uint64_t>(step.access.offset);
  if (step.access.generic) {
    if (address - kSharedWindow >= kWindowBytes)
      return Error{
          Errc::address_not_shared, {}, fmt::format("address {:#x}", address), "barrier objects lie there"};
    address -= kSharedWindow;
  }
  address = window_address(address, kSharedWindow);
  if (address % block::Mbarriers::kBytes != 0)
    return Error{
        Errc::address_misaligned, {}, fmt::format("address {:#x}", address), "it must be a multiple of 8"};
  return find_shared(warp, step, lane, address, block::Mbarriers::kBytes, of_cluster, true);
}

// What a thread does to objects of its own block alone.
bool is_of_own_block(Object kind) {
  return kind == Object::init || kind == Object::inval || kind == Object::copies || kind == Object::test ||
         kind == Object::layout;
}

Error another_blocks() {
  return {Errc::address_out_of_bounds, {}, "barrier objects of another block", "they must be the own block's"};
}

// One lane's; false after a fault. `result` is what its destination becomes.
bool execute(const MbarrierOperation& operation, async::Block& here, async::Block& of, std::int64_t address,
             std::uint64_t value, bool has_value, block::Who who, std::uint64_t& result) {
  const auto number = static_cast<std::uint32_t>(value);
  block::Mbarriers& objects = of.mbarriers;
  switch (operation.kind) {
    case Object::init:
      operation.reports ? void(of.reporting.insert(address)) : void(of.reporting.erase(address));
      return here.allows(objects.init(address, number, who));
    case Object::inval: return here.allows(objects.invalidate(address, who));
    case Object::layout: result = of.reporting.contains(address) == operation.reports ? 1 : 0; return true;
    case Object::expect: return here.allows(objects.expect(address, number, who));
    case Object::complete: return here.allows(objects.complete(address, number, who));
    case Object::copies: {
      block::MbarrierPromise promise;
      block::Found found = objects.promise_copies(address, operation.counted, who, promise);
      return here.promise(of, std::move(found), std::move(promise));
    }
    case Object::arrive: {
      block::MbarrierArrival arrival = operation.arrival;
      arrival.states = operation.states;
      if (has_value) (operation.expects ? arrival.expected : arrival.count) = number;
      return here.allows(objects.arrive(address, arrival, who, result));
    }
    default: return true;
  }
}

// What the layout of an object does not take (PTX manual, "Layouts of the mbarrier object"); nothing: it does.
std::optional<Error> misfit(const MbarrierOperation& operation, const async::Block& of, std::int64_t address,
                            std::uint64_t count) {
  constexpr std::uint64_t kMost = 511;  // of .layout::v1
  if (operation.kind == Object::init && operation.reports && static_cast<std::uint32_t>(count) > kMost)
    return Error{Errc::barrier_misused,
                 {},
                 fmt::format("a count of {}", static_cast<std::uint32_t>(count)),
                 fmt::format("1 to {} for an object of .layout::v1", kMost)};
  if (operation.kind == Object::layout && !of.mbarriers.has(address))
    return Error{Errc::barrier_misused,
                 {},
                 fmt::format("no barrier object at address {:#x}", address),
                 "mbarrier.init must come before"};
  return std::nullopt;
}

// The objects of a lane's operation: at its address, or there in each block of a mask.
Result<std::vector<SharedBytes>> find_objects(Warp& warp, const Path& path, const Step& step, int lane,
                                              const MbarrierOperation& operation) {
  const Result<SharedBytes> at =
      find_object(warp, path, step, lane, step.access.generic || step.access.cluster);
  if (!at) return at.error();
  if (!operation.blocks.exists()) return std::vector{*at};
  std::vector<SharedBytes> out;
  for (std::uint64_t rest = value(warp, path, step, operation.blocks, lane); rest != 0; rest &= rest - 1) {
    const auto rank = static_cast<std::uint64_t>(std::countr_zero(rest));
    const Result<SharedBytes> one =
        find_shared(warp, step, lane, at->offset | rank << kRankShift, block::Mbarriers::kBytes, true, true);
    if (!one) return one.error();
    out.push_back(*one);
  }
  return out;
}

// Whether those who wait for a complete phase of an object go on first: these lanes would change it, or complete a further phase.
bool must_wait(Warp& warp, const Path& path, const Step& step, Lanes lanes,
               const MbarrierOperation& operation) {
  const bool changes = operation.kind == Object::init || operation.kind == Object::inval;
  const bool arrives = operation.kind == Object::arrive && !operation.expects;  // else bytes are still to come
  if (!changes && !arrives && operation.kind != Object::complete) return false;
  const bool has_count = arrives && step.place[3].exists();
  std::uint32_t arrivals = 0;
  for_each_lane(lanes, [&](int lane) {
    arrivals += has_count ? static_cast<std::uint32_t>(warp.read(path, step.place[3], lane)) : 1;
  });
  return std::ranges::any_of(block::lanes_of(lanes), [&](int lane) {
    const Result<std::vector<SharedBytes>> objects = find_objects(warp, path, step, lane, operation);
    return objects && std::ranges::any_of(*objects, [&](const SharedBytes& at) {
             const block::Mbarriers& of = at.block->async().mbarriers;
             const auto address = static_cast<std::int64_t>(at.offset);
             return changes ? of.must_settle(address) : of.must_let_go(address, arrivals);
           });
  });
}

// Lanes that ask for the same phase of one object do so together. Those whose phase is not complete let the path wait, behind
// as many early answers as the launch has, until nothing else can happen; the others have seen theirs. Nobody waits by a test
// whose answer nothing reads.
Next test(Warp& warp, Path& path, const Step& step, Lanes lanes, const MbarrierOperation& operation) {
  async::Block& block = warp.block().async();
  block::Mbarriers& objects = block.mbarriers;
  const int me = warp.number_in_cluster();
  const block::Mbarriers::Left left = objects.leave(me, lanes);
  Lanes complete = path.seen & lanes;
  std::vector<std::pair<std::int64_t, Lanes>> missing;
  for (Lanes rest = lanes & ~complete; rest != 0;) {
    const int first = std::countr_zero(rest);
    const auto read = [&](int lane) {
      return std::pair(warp.read(path, step.place[2], lane), warp.read(path, step.place[3], lane));
    };
    Lanes alike = 0;
    for_each_lane(rest, [&](int lane) { alike |= Lanes{read(lane) == read(first)} << lane; });
    rest &= ~alike;
    Result<SharedBytes> at = find_object(warp, path, step, first, step.access.generic || step.access.cluster);
    if (at && at->block != &warp.block()) at = another_blocks();
    if (!at) return warp.fault(path, alike, at.error());
    if (!lies_in_variable(warp, path, step, first, at->offset, block::Mbarriers::kBytes)) return Next::end;
    const auto address = static_cast<std::int64_t>(at->offset);
    const block::Place here = Block::who(warp, step, first).at;
    bool is_complete = false;
    if (!warp.block().allows(
            objects.test(address,
                         {read(first).second, operation.is_parity, operation.acquires, step.result_is_read,
                          operation.scope, operation.scope_unsaid, operation.states},
                         me, alike, here, is_complete)))
      return Next::end;
    complete |= is_complete ? alike : 0;
    if (is_complete && step.result_is_read) warp.block().depend(objects.completed_by(address));
    if (!is_complete)
      missing.emplace_back(address, alike);
    else if (step.result_is_read)
      objects.pass(address, me, alike, here, operation.is_parity);
  }
  // To those who wait for their turn. Several phases later a parity is the same again: then nobody is let go.
  if (left.late || (left.last && (complete & ~path.seen) != 0)) block.cluster.happened();
  if (!missing.empty()) path.awaited = missing.back().first;
  const bool fails = complete != lanes && step.result_is_read;
  const int early = step.may_go_on && warp.block().checks() ? kEarlyAnswers : warp.block().grid().early_answers;
  if (fails && !path.gives_up && path.early_answers >= early) {
    for (const auto& [address, alike] : missing) objects.wait(address, me, alike);
    const Next next = warp.wait_for(path, lanes, Waits::test);
    path.seen = complete;
    return next;
  }
  path.gives_up = false;
  path.seen = 0;
  path.early_answers = fails ? path.early_answers + 1 : 0;
  if (fails) objects.fail(path.awaited, me, Block::who(warp, step, 0));
  warp.set(path, step.place[0], lanes, complete);
  return Next::step;
}

}  // namespace

Next mbarrier(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const MbarrierOperation& operation = warp.program().async.mbarriers[static_cast<std::size_t>(step.extra)];
  if (operation.kind == Object::test) return test(warp, path, step, lanes, operation);
  if (must_wait(warp, path, step, lanes, operation)) return warp.wait_for(path, lanes, Waits::turn);
  const Place& operand = step.place[3];
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const std::uint64_t value = operand.exists() ? warp.read(path, operand, lane) : 0;
    if (operation.kind == Object::pending) {
      warp.write(path, step.place[0], lane, block::Mbarriers::pending_count(value));
      continue;
    }
    Result<std::vector<SharedBytes>> objects = find_objects(warp, path, step, lane, operation);
    if (objects && is_of_own_block(operation.kind) && objects->front().block != &warp.block())
      objects = another_blocks();
    if (!objects) return warp.fault(path, Lanes{1} << lane, objects.error());
    std::uint64_t result = 0;
    for (const SharedBytes& at : *objects) {
      const auto address = static_cast<std::int64_t>(at.offset);
      if (!lies_in_variable(warp, path, step, lane, at.offset, block::Mbarriers::kBytes)) return Next::end;
      if (const auto error = misfit(operation, at.block->async(), address, value))
        return warp.fault(path, Lanes{1} << lane, *error);
      if (!execute(operation, warp.block().async(), at.block->async(), address, value, operand.exists(),
                   Block::who(warp, step, lane), result))
        return Next::end;
    }
    warp.write(path, step.place[0], lane, result);
  }
  warp.block().async().cluster.happened();
  return Next::step;
}

// It orders what barrier.cluster.arrive.relaxed does not.
Next fence_mbarrier_init(Warp& warp, Path&, const Step& step, Lanes lanes) {
  async::Block& block = warp.block().async();
  block.cluster.barrier.release(warp.number_in_cluster(), lanes);
  for_each_lane(lanes, [&](int lane) { block.mbarriers.fence_init(Block::who(warp, step, lane).thread); });
  return Next::step;
}

// Those of async that have a restriction, without it: src/async/ASYNCHRONOUS.md.
Next fence_proxy(Warp& warp, Path&, const Step&, Lanes lanes) {
  if (warp.block().checks()) warp.block().accesses().fence_proxy(warp.number(), lanes);
  return Next::step;
}

Next fence_memory(Warp& warp, Path&, const Step& step, Lanes lanes) {
  if (warp.block().checks()) warp.block().accesses().fence_memory(warp.number(), lanes, step.access.order);
  return Next::step;
}

// ---- barrier.cluster

Next cluster_arrive(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  if ((step.target & kAligned) != 0)
    if (const Next next = meet_aligned(warp, path, step, lanes); next != Next::step) return next;
  return warp.block().cluster().arrive(warp, path, lanes, (step.target & kOrders) != 0);
}

Next cluster_wait(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  if ((step.target & kAligned) != 0)
    if (const Next next = meet_aligned(warp, path, step, lanes); next != Next::step) return next;
  return warp.block().cluster().wait(warp, path, lanes, (step.target & kOrders) != 0);
}

Next set_registers(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  if (const Next next = meet_aligned(warp, path, step, lanes); next != Next::step) return next;
  return warp.block().set_registers(warp, path, lanes, step.target, step.extra != 0);
}

}  // namespace warpbit::grid::steps
