// SPDX-License-Identifier: Apache-2.0
#include "grid/resolver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "grid/cluster.hpp"

namespace warpbit::grid::steps {

using ptx::StateSpace;

// The bytes belong to the block that the address names; where only the own block's may be accessed, it must be this one.
Result<SharedBytes> find_shared(Warp& warp, const Step& step, int lane, std::uint64_t address,
                                std::uint64_t bytes, bool of_cluster, bool arrives) {
  Block& here = warp.block();
  if (address >= kWindowBytes) return of_another_space(here.grid(), StateSpace::shared, address);
  const std::uint64_t rank = address >> kRankShift, offset = address & ((std::uint64_t{1} << kRankShift) - 1);
  Block* const block = here.cluster().block(rank);
  if (block == nullptr || (block != &here && !of_cluster)) {
    const std::size_t blocks = here.cluster().blocks().size();
    if (blocks == 1) return block::beyond_shared(address, bytes, here.shared().size());
    return Error{Errc::address_out_of_bounds,
                 {},
                 fmt::format("addresses from {:#x} of shared memory on", address),
                 block == nullptr
                     ? fmt::format("the cluster has {} blocks of {} bytes", blocks, here.shared().size())
                     : fmt::format("they are of block {} of the cluster: .shared::cluster, or a generic "
                                   "address, accesses them",
                                   rank)};
  }
  const std::uint64_t size = block->shared().size();
  if (bytes > size || offset > size - bytes) return block::beyond_shared(offset, bytes, size);
  if (block == &here) return SharedBytes{block, offset};
  if (!here.async().cluster.may_access(here.async(), block->async(), Block::who(warp, step, lane), arrives))
    return here.found()->error;
  return SharedBytes{block, offset};
}

std::uint64_t address_of(Warp& warp, const Path& path, const Step& step, std::size_t place, int lane) {
  const std::uint64_t base = warp.read(path, step.place[place], lane);
  const std::uint64_t out =
      base + static_cast<std::uint64_t>(step.access.offset + (step.access.in_frame ? path.local : 0));
  if (step.access.generic) return out;
  switch (step.access.space) {
    case StateSpace::shared: return window_address(out, kSharedWindow);
    case StateSpace::local: return window_address(out, kLocalWindow);
    case StateSpace::param: return static_cast<std::uint32_t>(out);
    default: return out;
  }
}

Target bytes_of(const GlobalMemory::Range& range, std::uint64_t address, std::uint64_t bytes, bool writes) {
  std::byte* defined = range.defined_at(address);
  // The host reads what is stored to an array: that needs values, as elsewhere in global memory.
  bool was_written = true;
  if (writes && range.heap == nullptr && defined != nullptr) {
    was_written = has_values(defined, bytes);
    std::fill_n(defined, bytes, std::byte{0xFF});
    defined = nullptr;
  }
  return {range.data + (address - range.address),
          StateSpace::global,
          nullptr,
          defined,
          address,
          was_written,
          range.heap != nullptr};
}

Target Resolver::resolve(int lane, std::uint64_t address, std::uint64_t bytes, bool writes,
                         std::uint64_t unit) {
  unit = std::bit_floor(std::max(bytes, unit));
  if (address % unit != 0)
    return fault(
        lane, {Errc::address_misaligned,
               {},
               fmt::format("{}address {:#x}",
                           step_.access.generic ? "" : fmt::format("{} ", name(step_.access.space)), address),
               fmt::format("it must be a multiple of {}", unit)});
  StateSpace space = step_.access.space;
  if (const std::uint64_t at = place_in_space(step_.access, address); bounds_ && !bounds_->hold(at, bytes))
    if (!lies_in_variable(warp_, path_, step_, lane, at, bytes)) return {};
  if (step_.access.generic) {
    space = StateSpace::global;
    if (address - kSharedWindow < kWindowBytes) {
      address -= kSharedWindow;
      return shared(lane, address, bytes, true);
    } else if (address - kLocalWindow < kWindowBytes) {
      space = StateSpace::local;
      address -= kLocalWindow;
    }
  }
  switch (space) {
    case StateSpace::shared: return shared(lane, address, bytes, step_.access.cluster);
    case StateSpace::local: return local(lane, address, bytes);
    case StateSpace::param: return parameter(lane, address, bytes);
    case StateSpace::constant:
      if (is_beyond_constants(warp_.block().grid(), address))
        return fault(lane, of_another_space(warp_.block().grid(), space, address));
      [[fallthrough]];
    default: return global(lane, address, bytes, writes);
  }
}

Target Resolver::fault(int lane, Error error) {
  warp_.fault(path_, Lanes{1} << lane, std::move(error));
  return {};
}

Target Resolver::shared(int lane, std::uint64_t address, std::uint64_t bytes, bool of_cluster) {
  Result<SharedBytes> found = find_shared(warp_, step_, lane, address, bytes, of_cluster);
  if (found) return {found->block->shared().data() + found->offset, StateSpace::shared, found->block};
  return fault(lane, found.error());
}

Target Resolver::local(int lane, std::uint64_t address, std::uint64_t bytes) {
  const Access& access = step_.access;
  if (!bounds_ && !access.in_frame && !access.of_parameter && address < kWindowBytes &&
      !lies_in_local_variable(warp_, path_, step_, lane, address, bytes))
    return {};
  const Target out = local_bytes(warp_, lane, address, bytes);
  if (out.data != nullptr) return out;
  if (address >= kWindowBytes)
    return fault(lane, of_another_space(warp_.block().grid(), StateSpace::local, address));
  return fault(lane, {Errc::address_out_of_bounds,
                      {},
                      fmt::format("{} bytes from {:#x} of local memory on", bytes, address),
                      "a thread has 512 KiB"});
}

// Of the kernel, by its place in all of them.
Target Resolver::parameter(int lane, std::uint64_t address, std::uint64_t bytes) {
  const std::span<const std::byte> memory = warp_.block().grid().parameters;
  if (bytes <= memory.size() && address <= memory.size() - bytes)
    return {const_cast<std::byte*>(memory.data()) + address, StateSpace::param};  // loads alone have this space
  return fault(lane, {Errc::address_out_of_bounds,
                      {},
                      fmt::format("{} bytes from {:#x} of the parameters on", bytes, address),
                      fmt::format("there are {} bytes", memory.size())});
}

Target Resolver::global(int lane, std::uint64_t address, std::uint64_t bytes, bool writes) {
  const GlobalMemory& memory = warp_.block().grid().memory;
  const GlobalMemory::Range* range = last_ != nullptr && last_->has(address, bytes) ? last_ : nullptr;
  if (range == nullptr) range = last_ = memory.find(address, bytes);
  if (range == nullptr) return fault(lane, beyond_global(warp_.block().grid(), address, bytes));
  if (writes && !range->writable) return fault(lane, written_to(*range));
  return bytes_of(*range, address, bytes, writes);
}

}  // namespace warpbit::grid::steps
