// SPDX-License-Identifier: Apache-2.0
// Calls of kernels for barrier objects and clusters. Bulk copies are in bulk.cpp.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "block/shape.hpp"
#include "device/cluster.hpp"
#include "device/planted.hpp"
#include "warpbit/device/calls.hpp"

namespace warpbit::device::calls {

void check_target(std::string_view form, Place at) {
  Block& block = current_block();
  if (auto error = async::not_on(block.how().target, form))
    block.fail(block::fault_of(block.who(at), *std::move(error)));
}

void check_done(std::string_view form, const Result<bool>& done, Place at) {
  Block& block = current_block();
  block.fail_if_found(form);
  if (done) return;
  Error error = done.error();
  if (error.where.empty()) error.where = form;
  block.fail(block::fault_of(block.who(at), std::move(error)));
}

std::string blocks_of(int blocks) {
  return blocks == 1 ? "the cluster has one block" : fmt::format("the cluster has {} blocks", blocks);
}

// ---- Clusters

Block& owner(std::string_view what, const View& array, Place at) {
  Block& here = current_block();
  if (array.rank < 0 || array.rank == here.shared.rank()) return here;
  Block& other = here.cluster().block(array.rank);
  check_done(what, here.async.cluster.may_access(here.async, other.async, here.who(at)), at);
  return other;
}

void check_own(std::string_view what, const View& array, Place at) {
  Block& block = current_block();
  if (array.rank >= 0 && array.rank != block.shared.rank())
    block.fail(block::fault_of(block.who(at), {Errc::address_out_of_bounds, std::string(what),
                                               fmt::format("bytes of block {} of the cluster", array.rank),
                                               "only those of the own block are accepted"}));
}

View mapa(const View& array, unsigned rank, Place at) {
  check_target("mapa", at);
  Block& block = current_block();
  const int blocks = block.cluster().blocks();
  if (std::cmp_greater_equal(rank, blocks))
    block.fail(block::fault_of(block.who(at),
                               {Errc::address_out_of_bounds, "mapa",
                                fmt::format("arrays of block {} of the cluster", rank), blocks_of(blocks)}));
  View out = array;
  out.rank = static_cast<int>(rank);
  return out;
}

unsigned cluster_ctarank(Place at) {
  check_target("%cluster_ctarank", at);
  return static_cast<unsigned>(current_block().shared.rank());
}

Index3 cluster_ctaid(Place at) {
  check_target("%cluster_ctaid", at);
  return block::position(static_cast<std::uint64_t>(current_block().shared.rank()),
                         current_block().how().cluster);
}

Index3 cluster_nctaid(Place at) {
  check_target("%cluster_nctaid", at);
  const Dim3& size = current_block().how().cluster;
  return {size.x, size.y, size.z};
}

void barrier_cluster_arrive(bool releases, Place at) {
  check_target("barrier.cluster", at);
  if (is_left_out("barrier.cluster.arrive", at)) return;
  Block& block = current_block();
  const block::Who me = block.who(at);
  const std::uint32_t lane = std::uint32_t{1} << me.thread % block::kWarp;
  if (block.async.cluster.barrier.arrive(me.thread / block::kWarp, lane, releases, at) != 0)
    block.fail(
        block::fault_of(me, {Errc::barrier_misused, "barrier.cluster.arrive", "a thread arrives a second time",
                             "barrier.cluster.wait must come between both arrivals"}));
}

void barrier_cluster_wait(Place at) {
  constexpr const char* kForm = "barrier.cluster.wait";
  if (is_left_out(kForm, at)) return;
  Block& block = current_block();
  const block::Who me = block.who(at);
  const std::uint32_t lane = std::uint32_t{1} << me.thread % block::kWarp;
  while (true) {
    const auto [never, is_complete] = block.async.cluster.barrier.wait(me.thread / block::kWarp, lane, true);
    if (never != 0)
      block.fail(block::fault_of(me, {Errc::barrier_misused, kForm, "a thread waits that has not arrived",
                                      "barrier.cluster.arrive must come before barrier.cluster.wait"}));
    if (is_complete) return;
    Call call{{Request::Kind::cluster, kForm, at}};
    block.wait(call);
    if (block.is_unwinding()) return;  // in a destructor
  }
}

// ---- Barrier objects

namespace {

std::string_view name(Mbarrier what) {
  switch (what) {
    case Mbarrier::init: return "mbarrier.init";
    case Mbarrier::inval: return "mbarrier.inval";
    case Mbarrier::arrive: return "mbarrier.arrive";
    case Mbarrier::arrive_cluster: return "mbarrier.arrive.shared::cluster";
    case Mbarrier::arrive_drop: return "mbarrier.arrive_drop";
    case Mbarrier::arrive_expect_tx: return "mbarrier.arrive.expect_tx";
    case Mbarrier::expect_tx: return "mbarrier.expect_tx";
    case Mbarrier::complete_tx: return "mbarrier.complete_tx";
    case Mbarrier::cp_async_arrive: return "cp.async.mbarrier.arrive";
    case Mbarrier::cp_async_arrive_noinc: return "cp.async.mbarrier.arrive.noinc";
  }
  return {};
}

block::Found execute(Mbarrier what, block::Mbarriers& objects, std::int64_t at, std::uint32_t value,
                     block::Who who, std::uint64_t& state) {
  switch (what) {
    case Mbarrier::init: return objects.init(at, value, who);
    case Mbarrier::inval: return objects.invalidate(at, who);
    case Mbarrier::arrive:
    case Mbarrier::arrive_cluster: return objects.arrive(at, {.count = value}, who, state);
    case Mbarrier::arrive_drop: return objects.arrive(at, {.count = value, .drops = true}, who, state);
    case Mbarrier::arrive_expect_tx: return objects.arrive(at, {.expected = value}, who, state);
    case Mbarrier::expect_tx: return objects.expect(at, value, who);
    case Mbarrier::complete_tx: return objects.complete(at, value, who);
    case Mbarrier::cp_async_arrive:
    case Mbarrier::cp_async_arrive_noinc: break;
  }
  return std::nullopt;
}

// Whether those who wait for a complete phase of the object go on first.
bool must_wait(Mbarrier what, const block::Mbarriers& objects, std::int64_t at, std::uint32_t value) {
  switch (what) {
    case Mbarrier::init:
    case Mbarrier::inval: return objects.must_settle(at);
    case Mbarrier::arrive:
    case Mbarrier::arrive_cluster:
    case Mbarrier::arrive_drop: return objects.must_let_go(at, value);
    case Mbarrier::complete_tx: return objects.must_let_go(at, 1);
    default: return false;
  }
}

}  // namespace

std::uint64_t mbarrier(Mbarrier what, const View& object, std::uint32_t value, Place at) {
  const std::string_view form = name(what);
  check_target(form, at);
  Block& block = current_block();
  const block::Who me = block.who(at);
  block.fail_if(block::check_bytes(form, Space::shared, object, kObject, kObject, me));
  if (what != Mbarrier::arrive_cluster) check_own(form, object, at);
  std::uint64_t state = 0;
  if (is_left_out(form, at)) return state;
  async::Block& of = owner(form, object, at).async;
  while (must_wait(what, of.mbarriers, object.at, value)) {
    Call call{{Request::Kind::phase, form, at}};
    block.wait(call);
    if (block.is_unwinding()) return state;  // in a destructor
  }
  if (what == Mbarrier::cp_async_arrive || what == Mbarrier::cp_async_arrive_noinc) {
    block::MbarrierPromise promise;
    block::Found found = of.mbarriers.promise_copies(object.at, what == Mbarrier::cp_async_arrive, me, promise);
    (void)block.async.promise(of, std::move(found), std::move(promise));
    block.fail_if_found(form);
    return state;
  }
  block.fail_if(execute(what, of.mbarriers, object.at, value, me, state));
  block.async.cluster.happened();
  return state;
}

bool mbarrier_test(const char* form, const View& object, std::uint64_t phase, bool is_parity, Place at) {
  check_target(form, at);
  Block& block = current_block();
  block.fail_if(block::check_bytes(form, Space::shared, object, kObject, kObject, block.who(at)));
  check_own(form, object, at);
  if (const PlantedCall* const change = planted(form, at)) {
    if (change->change == PlantedCall::Change::left_out) return true;
    phase ^= 1;
  }
  Call call{{Request::Kind::phase, form, at}};
  call.value = static_cast<std::uint64_t>(object.at);
  while (true) {
    bool is_complete = false;
    const int thread = block.who(at).thread, warp = thread / block::kWarp;
    const std::uint32_t lane = std::uint32_t{1} << thread % block::kWarp;
    block::Mbarriers& objects = block.async.mbarriers;
    const block::Mbarriers::Left left = objects.leave(warp, lane);
    block.fail_if(objects.test(object.at, {phase, is_parity}, warp, lane, at, is_complete));
    if (is_complete) objects.pass(object.at, warp, lane, at, is_parity);
    if (left.late || (left.last && is_complete))
      block.async.cluster.happened();  // to those who wait for their turn
    if (is_complete || call.in_vain) return is_complete;
    objects.wait(object.at, warp, lane);
    block.wait(call);
    if (block.is_unwinding()) return true;  // in a destructor
  }
}

std::uint32_t mbarrier_pending_count(std::uint64_t state) {
  return block::Mbarriers::pending_count(state);
}

void fence_mbarrier_init(Place at) {
  check_target("fence.mbarrier_init", at);
  if (is_left_out("fence.mbarrier_init", at)) return;
  Block& block = current_block();
  const int thread = block.who(at).thread;
  block.async.cluster.barrier.release(thread / block::kWarp, std::uint32_t{1} << thread % block::kWarp);
  block.async.mbarriers.fence_init(thread);
}

}  // namespace warpbit::device::calls
