// SPDX-License-Identifier: Apache-2.0
// tensormap.replace, tensormap.cp_fenceproxy, fence.proxy.tensormap; a tensor map as a copy reads it.
#include "grid/tensor_maps.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstring>  // std::memcpy
#include <span>

#include "grid/cluster.hpp"
#include "grid/records.hpp"
#include "grid/steps.hpp"
#include "tensor_map/replace.hpp"

namespace warpbit::grid {

// ---- Changes

void ChangedMaps::release_all() {
  for (auto& [address, state] : states_) state.released = true;
}

void ChangedMaps::acquire(std::uint64_t address) {
  if (const auto found = states_.find(address); found != states_.end() && found->second.released)
    found->second.acquired = true;
}

std::optional<ChangedMaps::Missing> ChangedMaps::missing(std::uint64_t address) const {
  const auto found = states_.find(address);
  if (found == states_.end() || found->second.acquired) return std::nullopt;
  return Missing{
      found->second.who,
      found->second.released ? "and this thread has not acquired the change"
                             : "and that thread has not released the change",
      found->second.released
          ? "this thread must execute fence.proxy.tensormap::generic.acquire.gpu [address of the "
            "map], 128 before this statement"
          : "the thread that changed it must execute fence.proxy.tensormap::generic.release.gpu, "
            "and then this one fence.proxy.tensormap::generic.acquire.gpu [address of the map], 128"};
}

namespace steps {

std::uint64_t value(Warp& warp, const Path& path, const Step& step, const OperandAt& of, int lane) {
  const std::vector<Place>& places = warp.program().places[static_cast<std::size_t>(step.target)];
  return warp.read(path, places[static_cast<std::size_t>(of.place)], lane) +
         static_cast<std::uint64_t>(of.offset);
}

namespace {

constexpr std::size_t kMapBytes = sizeof(TensorMapBytes), kMapAlignment = 64;

/// The memory in which a tensor map lies.
Result<const GlobalMemory::Range*> find_map(const GlobalMemory& memory, std::uint64_t at) {
  if (at % kMapAlignment != 0)
    return Error{
        Errc::address_misaligned, {}, fmt::format("tensor map at {:#x}", at), "it must be a multiple of 64"};
  if (const GlobalMemory::Range* const range = memory.find(at, kMapBytes)) return range;
  return Error{Errc::address_out_of_bounds,
               {},
               "tensor map: " + memory.describe(at, kMapBytes),
               "it lies in global, constant or parameter memory"};
}

}  // namespace

Result<TensorMap> read_map(Warp& warp, const Step& step, std::uint64_t at, int dimensions, int lane) {
  Block& here = warp.block();
  const Result<const GlobalMemory::Range*> found = find_map(here.grid().memory, at);
  if (!found) return found.error();
  const GlobalMemory::Range* const range = *found;
  if (const auto missing = here.cluster().changed_maps().missing(at); missing && here.checks()) {
    Fault out = block::fault_of(
        Block::who(warp, step, lane),
        {Errc::protocol_violation,
         {},
         fmt::format("the tensor map at {:#x} was changed by {}, {} (so the copy may use the "
                     "old map)",
                     at, here.accesses().cluster().name(missing->who.thread, here.rank()), missing->what),
         std::string(missing->must)},
        KernelRule::tensormap_fence);
    out.other = block::side_of(missing->who, "changes it");
    if (!here.allows(std::move(out))) return here.found()->error;
  }
  TensorMapBytes bytes;
  std::memcpy(bytes.data(), range->data + (at - range->address), kMapBytes);
  Result<TensorMap> map = TensorMap::decode(bytes);
  if (map && dimensions != 0 && dimensions != map->rank)
    return Error{Errc::descriptor_field, "rank", fmt::format("a tensor map of {} dimensions", map->rank),
                 fmt::format("{}, as the instruction has", dimensions)};
  if (map) return map;
  Error error = map.error();
  error.where = "tensor map: " + error.where;
  return error;
}

// ---- Statements

namespace {

/// The bytes of a map in the own shared memory, or in global memory; records the access.
Result<std::byte*> map_bytes(Warp& warp, const Path& path, const Step& step, const OperandAt& of,
                             bool in_shared, bool writes, int lane) {
  std::uint64_t at = value(warp, path, step, of, lane);
  if (at % kMapAlignment != 0)
    return Error{
        Errc::address_misaligned, {}, fmt::format("tensor map at {:#x}", at), "it must be a multiple of 64"};
  const bool in_window = at - kSharedWindow < kWindowBytes;
  if (in_shared || in_window) {
    at = in_window ? at - kSharedWindow : window_address(at, kSharedWindow);
    const Result<SharedBytes> found = find_shared(warp, step, lane, at, kMapBytes, false);
    if (!found) return found.error();
    Records records(warp, step);
    const auto first = static_cast<std::int64_t>(found->offset);
    const bool allowed =
        writes ? records.changes(lane, first, kMapBytes) : records.reads(lane, first, kMapBytes);
    if (!allowed) return warp.block().found()->error;
    return found->block->shared().data() + found->offset;
  }
  const Result<const GlobalMemory::Range*> found = find_map(warp.block().grid().memory, at);
  if (!found) return found.error();
  const GlobalMemory::Range* const range = *found;
  if (writes && !range->writable) return written_to(*range);
  if (writes) warp.block().cluster().changed_maps().change(at, Block::who(warp, step, lane));
  return range->data + (at - range->address);
}

Result<void> change_one(Warp& warp, const Path& path, const Step& step, const MapOperation& operation,
                        int lane) {
  const bool copies = operation.kind == MapOperation::Kind::copy;
  const Result<std::byte*> to =
      map_bytes(warp, path, step, operation.map, !copies && operation.in_shared, true, lane);
  if (!to) return to.error();
  if (!copies) {
    tensor_map::replace(std::span<std::byte, kMapBytes>(*to, kMapBytes), operation.field, operation.ordinal,
                        value(warp, path, step, operation.value, lane));
    return {};
  }
  const Result<std::byte*> from = map_bytes(warp, path, step, operation.from, true, false, lane);
  if (!from) return from.error();
  std::memcpy(*to, *from, kMapBytes);
  const std::uint64_t at = value(warp, path, step, operation.map, lane);
  warp.block().cluster().changed_maps().copy(at, Block::who(warp, step, lane));
  return {};
}

}  // namespace

// Of a prefetch; step.target: how many coordinates.
Next check_map(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const std::uint64_t at =
        warp.read(path, step.place[2], lane) + static_cast<std::uint64_t>(step.access.offset);
    if (const Result<TensorMap> map = read_map(warp, step, at, step.target, lane); !map)
      return warp.fault(path, Lanes{1} << lane, map.error());
  }
  return Next::step;
}

// A copy of a map is done by the lanes of a warp together.
Next change_map(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  using Map = MapOperation::Kind;
  const MapOperation& operation = warp.program().async.maps[static_cast<std::size_t>(step.extra)];
  ChangedMaps& maps = warp.block().cluster().changed_maps();
  if (operation.kind == Map::release) return maps.release_all(), Next::step;
  if (operation.kind == Map::copy) lanes &= -lanes;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    if (operation.kind == Map::acquire) {
      maps.acquire(value(warp, path, step, operation.map, lane));
      continue;
    }
    const Result<void> done = change_one(warp, path, step, operation, lane);
    if (warp.block().has_fault()) return Next::end;
    if (!done) return warp.fault(path, Lanes{1} << lane, done.error());
  }
  return Next::step;
}

}  // namespace steps
}  // namespace warpbit::grid
