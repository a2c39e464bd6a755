// SPDX-License-Identifier: Apache-2.0
// Bulk copies of kernels.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>  // std::memcpy
#include <optional>
#include <utility>
#include <vector>

#include "async/copy.hpp"
#include "device/cluster.hpp"
#include "device/planted.hpp"
#include "warpbit/device/calls.hpp"

namespace warpbit::device::calls {

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

  void load() { check_done(copy_.form, issue_.multicast(region(copy_.from), destinations()), at_); }
  void store() { check_done(copy_.form, issue_.store(own(), region(copy_.to), reduce()), at_); }
  void exchange() {
    const std::uint32_t from = own();
    check_done(copy_.form,
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
  const block::Who who = block.who(at);
  (void)block.async.cluster.deliver_groups(who.thread);  // what it finds ends the cluster's turns
  block.fail_if_found(kForm);
  block.async.groups.wait(who, *most, false);
}

}  // namespace warpbit::device::calls
