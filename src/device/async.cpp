// SPDX-License-Identifier: Apache-2.0
// Calls of kernels for barrier objects, bulk copies and clusters.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>  // std::memcpy
#include <string_view>
#include <vector>

#include "async/copy.hpp"
#include "block/shape.hpp"
#include "device/cluster.hpp"
#include "device/planted.hpp"
#include "warpbit/device/calls.hpp"

namespace warpbit::device::calls {
namespace {

constexpr std::int64_t kObject = block::Mbarriers::kBytes;

void check_target(std::string_view form, Place at) {
  Block& block = current_block();
  if (auto error = async::not_on(block.how().target, form))
    block.fail(block::fault_of(block.who(at), *std::move(error)));
}

// Fails with an error of the asynchronous machine, or with what it has found; the form is its name.
void check(std::string_view form, const Result<bool>& done, Place at) {
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

}  // namespace

// ---- Clusters

Block& owner(std::string_view what, const View& array, Place at) {
  Block& here = current_block();
  if (array.rank < 0 || array.rank == here.shared.rank()) return here;
  Block& other = here.cluster().block(array.rank);
  check(what, here.async.cluster.may_access(here.async, other.async, here.who(at)), at);
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
    const bool has_waited = objects.leave(warp, lane);
    block.fail_if(objects.test(object.at, {phase, is_parity}, warp, lane, at, is_complete));
    if (is_complete && is_parity) objects.pass(object.at, warp, lane, at);
    if (is_complete && has_waited) block.async.cluster.happened();  // to those who wait for their turn
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

// ---- Bulk copies

namespace {

/// An array. Addresses are bytes of it.
class InArray : public async::Global {
 public:
  explicit InArray(const View* array) : array_(array) {}
  Result<std::byte*> find(std::uint64_t address, std::uint64_t bytes, bool writes) override {
    std::byte* const out = array_->global + static_cast<std::int64_t>(address);  // checked before
    access_global(out, bytes, writes);
    return out;
  }

 private:
  const View* array_;  // nullptr if the copy has another side
};

/// The memory of a tensor, which whoever made the map vouches for.
class InTensor : public async::Global {
 public:
  Result<std::byte*> find(std::uint64_t address, std::uint64_t bytes, bool writes) override {
    auto* const out = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
    access_global(out, bytes, writes);
    return out;
  }
};

/// One copy of the running thread.
class Copy {
 public:
  Copy(const BulkCopy& copy, Place at)
      : copy_(copy),
        at_(at),
        block_(current_block()),
        in_array_(copy.from != nullptr && copy.from->is_global ? copy.from : copy.to),
        issue_(block_.async, block_.who(at),
               copy.map != nullptr ? static_cast<async::Global&>(in_tensor_) : in_array_) {
    check_target(copy.form, at);
    if (copy.bytes < 0 || copy.bytes >= std::int64_t{1} << 32)
      fail(Errc::undefined_operand, fmt::format("{} bytes", copy.bytes), "a multiple of 16 below 2^32");
  }

  void load() { check(copy_.form, issue_.multicast(region(copy_.from), destinations()), at_); }
  void store() { check(copy_.form, issue_.store(own(), region(copy_.to), reduce()), at_); }
  void exchange() {
    const std::uint32_t from = own();
    check(copy_.form,
          issue_.exchange(from, static_cast<std::uint64_t>(copy_.bytes), destinations().front(), reduce()),
          at_);
  }

 private:
  [[noreturn]] void fail(Errc code, std::string seen, std::string accepted) {
    block_.fail(block::fault_of(block_.who(at_), {code, copy_.form, std::move(seen), std::move(accepted)}));
  }
  void check_array(const View& array, std::int64_t bytes) {
    block_.fail_if(block::check_bytes(copy_.form, array.is_global ? Space::global : Space::shared, array, bytes,
                                      1, block_.who(at_)));
  }
  async::Region region(const View* array);
  async::Destination destination(int rank);
  std::vector<async::Destination> destinations();
  std::uint32_t own();
  std::optional<async::Reduce> reduce();

  const BulkCopy& copy_;
  Place at_;
  Block& block_;
  TensorMap map_ = {};
  InArray in_array_;
  InTensor in_tensor_;
  async::Issue issue_;
};

// The side in global memory.
async::Region Copy::region(const View* array) {
  if (copy_.map == nullptr) {
    check_array(*array, copy_.bytes);
    return {static_cast<std::uint64_t>(array->at), static_cast<std::uint64_t>(copy_.bytes)};
  }
  TensorMapBytes bytes;
  std::memcpy(bytes.data(), copy_.map->bytes, sizeof bytes);
  const Result<TensorMap> map = TensorMap::decode(bytes);
  if (!map) {
    Error error = map.error();
    error.where = fmt::format("{}, tensor map: {}", copy_.form, error.where);
    block_.fail(block::fault_of(block_.who(at_), std::move(error)));
  }
  map_ = *map;
  if (std::cmp_not_equal(copy_.coordinates.size(), map_.rank))
    fail(Errc::descriptor_field, fmt::format("a tensor map of {} dimensions", map_.rank),
         fmt::format("{}, as the call has", copy_.coordinates.size()));
  const bool stores = copy_.barrier == nullptr;
  async::Region out{0, 0, &map_, {copy_.is_im2col ? tensor_map::CopyMode::im2col : tensor_map::CopyMode::tile}};
  std::ranges::copy(copy_.coordinates, out.box.coordinates.begin());
  std::ranges::copy(copy_.offsets, out.box.offsets.begin());
  check_array(stores ? *copy_.from : *copy_.to, static_cast<std::int64_t>(tensor_map::tile_bytes(map_)));
  return out;
}

// In the block with a rank; -1: the own one.
async::Destination Copy::destination(int rank) {
  const block::Who me = block_.who(at_);
  if (copy_.map == nullptr) check_array(*copy_.to, copy_.bytes);
  block_.fail_if(block::check_bytes(copy_.form, Space::shared, *copy_.barrier, kObject, kObject, me));
  View of = *copy_.to;
  of.rank = rank;
  return {&owner(copy_.form, of, at_).async, static_cast<std::uint32_t>(copy_.to->at),
          static_cast<std::uint32_t>(copy_.barrier->at)};
}

std::vector<async::Destination> Copy::destinations() {
  std::vector<async::Destination> out;
  if (copy_.mask == nullptr) {
    const auto rank = [&](const View& array) { return array.rank < 0 ? block_.shared.rank() : array.rank; };
    if (rank(*copy_.to) != rank(*copy_.barrier))
      fail(Errc::address_out_of_bounds, "barrier objects of another block",
           "the object lies where the bytes go");
    out.push_back(destination(copy_.to->rank));
    return out;
  }
  for (unsigned rest = *copy_.mask; rest != 0; rest &= rest - 1) {
    const int rank = std::countr_zero(rest), blocks = block_.cluster().blocks();
    if (rank >= blocks)
      fail(Errc::address_out_of_bounds, fmt::format("bytes of block {}, in the mask {:#x},", rank, *copy_.mask),
           blocks_of(blocks));
    out.push_back(destination(rank));
  }
  return out;
}

// The byte of the own shared memory from which on the copy reads.
std::uint32_t Copy::own() {
  check_own(copy_.form, *copy_.from, at_);
  if (copy_.map == nullptr) check_array(*copy_.from, copy_.bytes);
  return static_cast<std::uint32_t>(copy_.from->at);
}

static_assert(static_cast<int>(Reduction::add) == static_cast<int>(tensor_map::Reduction::add) &&
              static_cast<int>(Reduction::dec) == static_cast<int>(tensor_map::Reduction::dec) &&
              static_cast<int>(Reduction::xor_) == static_cast<int>(tensor_map::Reduction::xor_));

std::optional<async::Reduce> Copy::reduce() {
  if (copy_.reduction == nullptr) return std::nullopt;
  const auto reduction = static_cast<tensor_map::Reduction>(*copy_.reduction);
  if (copy_.map == nullptr && !tensor_map::exists(reduction, copy_.type, false))
    fail(Errc::undefined_operand, fmt::format(".{}.{}", tensor_map::name(reduction), warpbit::name(copy_.type)),
         "an operation that exists for the type of the elements");
  return async::Reduce{reduction, copy_.type};
}

}  // namespace

void copy_global_to_shared(const BulkCopy& copy, Place at) {
  if (!is_left_out(copy.form, at)) Copy(copy, at).load();
}

void copy_shared_to_global(const BulkCopy& copy, Place at) {
  if (!is_left_out(copy.form, at)) Copy(copy, at).store();
}

void copy_shared_to_cluster(const BulkCopy& copy, Place at) {
  if (!is_left_out(copy.form, at)) Copy(copy, at).exchange();
}

void bulk_commit_group(Place at) {
  check_target("cp.async.bulk.commit_group", at);
  if (is_left_out("cp.async.bulk.commit_group", at)) return;
  Block& block = current_block();
  block.async.groups.commit(block.who(at).thread);
}

void bulk_wait_group(unsigned pending, Place at) {
  constexpr const char* kForm = "cp.async.bulk.wait_group";
  check_target(kForm, at);
  const std::optional<unsigned> most = planted_pending(kForm, pending, at);
  if (!most) return;
  Block& block = current_block();
  const int thread = block.who(at).thread;
  (void)block.async.cluster.deliver_groups(thread);  // what it finds ends the cluster's turns
  block.fail_if_found(kForm);
  block.async.groups.wait(thread, *most, false);
}

}  // namespace warpbit::device::calls
