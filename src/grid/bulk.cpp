// SPDX-License-Identifier: Apache-2.0
// Bulk copies and tensor maps. A copy is checked when it is issued, and moves its bytes when it arrives (cluster.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>

#include "grid/atomic.hpp"
#include "grid/cluster.hpp"
#include "grid/records.hpp"
#include "grid/steps.hpp"
#include "tensor_map/replace.hpp"

namespace warpbit::grid::steps {
namespace {

using Moves = BulkOperation::Kind;
using tensor_map::CopyRun;
using Agent = block::Accesses::Agent;

constexpr std::size_t kMapBytes = 128, kMapAlignment = 64;
constexpr std::uint32_t kOffset = (1U << kRankShift) - 1;  // of an address in its block's shared memory

// A lane's number, or its address with its offset.
std::uint64_t value(Warp& warp, const Path& path, const Step& step, const OperandAt& of, int lane) {
  const std::vector<Place>& places = warp.program().places[static_cast<std::size_t>(step.target)];
  return warp.read(path, places[static_cast<std::size_t>(of.place)], lane) +
         static_cast<std::uint64_t>(of.offset);
}

/// The memory in which a tensor map lies.
Result<const GlobalMemory::Range*> find_map(const GlobalMemory& memory, std::uint64_t at) {
  if (at % kMapAlignment != 0)
    return Error{
        Errc::address_misaligned, {}, fmt::format("tensor map at {:#x}", at), "a multiple of 64 bytes"};
  if (const GlobalMemory::Range* const range = memory.find(at, kMapBytes)) return range;
  return Error{Errc::address_out_of_bounds,
               {},
               "tensor map: " + memory.describe(at, kMapBytes),
               "it lies in global, constant or parameter memory"};
}

// A copy in bulk moves whole 16 bytes.
std::optional<Error> misaligned(std::uint64_t bytes, std::uint64_t from, std::uint64_t to) {
  if ((bytes | from | to) % 16 == 0) return std::nullopt;
  return Error{Errc::address_misaligned,
               {},
               fmt::format("a copy of {} bytes from {:#x} to {:#x}", bytes, from, to),
               "all three must be multiples of 16"};
}

/// Where bytes go in a block's shared memory, and the barrier object there that counts them.
struct Destination {
  Block* block;
  std::uint32_t at, barrier;
};

/// One lane's copy: its operands, and where bytes go. Each function is an error, or false if the launch ends.
class Issue {
 public:
  Issue(Warp& warp, const Path& path, const Step& step, const BulkOperation& operation, int lane)
      : warp_(warp),
        path_(path),
        step_(step),
        operation_(operation),
        lane_(lane),
        who_(Block::who(warp, step, lane)) {}

  Result<bool> issue();

 private:
  /// Of a number; of an address with its offset.
  std::uint64_t value(const OperandAt& of) const { return steps::value(warp_, path_, step_, of, lane_); }
  std::uint64_t element(const OperandsAt& of, int i) const { return value({of.first + i, 0}); }
  std::uint32_t shared(const OperandAt& of) const { return static_cast<std::uint32_t>(value(of)); }
  Block& here() const { return warp_.block(); }
  const GlobalMemory& memory() const { return here().grid().memory; }
  /// Of the block's own shared memory: the byte there.
  Result<std::uint32_t> own(const OperandAt& of) const;
  Result<Destination> destination(std::uint64_t bytes) const;
  Result<void> read_map();
  tensor_map::TensorCopy copy_at(std::uint32_t shared) const;
  Result<void> find_runs(std::uint32_t shared);
  Result<void> find_global();
  const std::byte* data_of(const tensor_map::CopyLines& lines) const;
  Result<bool> load();
  Result<bool> load_into(const Destination& to);
  Result<bool> load_lines(Block& to, const tensor_map::CopyLines& lines, const std::byte* from,
                          std::uint32_t barrier);
  Result<bool> store();
  Result<bool> exchange();
  Result<bool> element();
  /// Begins to write bytes of a block for its barrier object.
  bool begin(Block& to, std::uint32_t at, std::uint64_t bytes, std::uint32_t barrier, Agent& agent,
             bool generic = false);
  /// They have arrived.
  std::function<bool()> arrival(Block& to, std::uint32_t at, std::uint64_t bytes, std::uint32_t barrier,
                                Agent agent, std::uint64_t counted,
                                std::function<void(std::byte* shared)> move) const;

  Warp& warp_;
  const Path& path_;
  const Step& step_;
  const BulkOperation& operation_;
  int lane_;
  block::Who who_;
  TensorMap map_ = {};
  std::vector<CopyRun> runs_;     // `shared` without the rank of a block
  std::vector<std::byte*> data_;  // in global memory, of each run that is not outside
};

Result<std::uint32_t> Issue::own(const OperandAt& of) const {
  const std::uint32_t at = shared(of);
  if (at >> kRankShift == static_cast<std::uint32_t>(here().rank())) return at & kOffset;
  return Error{Errc::address_out_of_bounds,
               {},
               fmt::format("address {:#x} of another block", at),
               "a block copies from its own shared memory"};
}

Result<Destination> Issue::destination(std::uint64_t bytes) const {
  const Result<SharedBytes> to = find_shared(warp_, step_, lane_, shared(operation_.to), bytes, true);
  if (!to) return to.error();
  const Result<SharedBytes> object =
      find_shared(warp_, step_, lane_, shared(operation_.barrier), block::Mbarriers::kBytes, true);
  if (!object) return object.error();
  if (object->block != to->block)
    return Error{Errc::address_out_of_bounds,
                 {},
                 "a barrier object of another block",
                 "that of the destination's block"};
  return Destination{to->block, static_cast<std::uint32_t>(to->offset),
                     static_cast<std::uint32_t>(object->offset)};
}

Result<void> Issue::read_map() {
  const std::uint64_t at = value(operation_.map);
  const Result<const GlobalMemory::Range*> found = find_map(memory(), at);
  if (!found) return found.error();
  const GlobalMemory::Range* const range = *found;
  if (const auto missing = here().cluster().changed_maps().missing(at); missing && here().checks()) {
    Fault out = block::fault_of(who_, {Errc::protocol_violation,
                                       {},
                                       fmt::format("the tensor map at {:#x} was changed", at),
                                       fmt::format("{} must come between", missing->fence)});
    out.other = {missing->who.thread / kLanes, {missing->who.thread % kLanes}, missing->who.at};
    if (!here().allows(std::move(out))) return here().found()->error;
  }
  std::array<std::byte, kMapBytes> bytes;
  std::memcpy(bytes.data(), range->data + (at - range->address), kMapBytes);
  Result<TensorMap> map = TensorMap::decode(bytes);
  if (!map) {
    Error error = map.error();
    error.where = "tensor map: " + error.where;
    return error;
  }
  map_ = *std::move(map);
  if (const int dimensions = operation_.coordinates.count; dimensions != map_.rank)
    return Error{Errc::descriptor_field, "rank", fmt::format("a tensor map of {} dimensions", map_.rank),
                 fmt::format("{}, as the instruction has", dimensions)};
  return {};
}

// A tensor copy from or to this place of a block's shared memory.
tensor_map::TensorCopy Issue::copy_at(std::uint32_t shared) const {
  tensor_map::TensorCopy copy{operation_.mode};
  copy.shared = shared;
  copy.to_global = operation_.kind == Moves::store;
  for (int i = 0; i < operation_.coordinates.count; ++i)
    copy.coordinates[static_cast<std::size_t>(i)] =
        static_cast<std::int32_t>(element(operation_.coordinates, i));
  for (int i = 0; i < operation_.offsets.count; ++i)
    copy.offsets[static_cast<std::size_t>(i)] = static_cast<std::uint16_t>(element(operation_.offsets, i));
  return copy;
}

Result<void> Issue::find_runs(std::uint32_t shared) {
  Result<std::vector<CopyRun>> found = tensor_map::runs(map_, copy_at(shared));
  if (!found) return found.error();
  runs_ = *std::move(found);
  return {};
}

Result<void> Issue::find_global() {
  const bool writes = operation_.kind == Moves::store;
  const GlobalMemory::Range* range = nullptr;
  data_.clear();
  for (const CopyRun& run : runs_) {
    if (run.outside) {
      data_.push_back(nullptr);
      continue;
    }
    const bool inside = range != nullptr && run.global >= range->address &&
                        run.global - range->address + run.bytes <= range->bytes && range->heap == nullptr;
    if (!inside) range = memory().find(run.global, run.bytes);
    if (range == nullptr)
      return Error{Errc::address_out_of_bounds,
                   {},
                   memory().describe(run.global, run.bytes),
                   "no argument reaches them"};
    if (writes && !range->writable) return written_to(*range);
    data_.push_back(range->data + (run.global - range->address));
  }
  return {};
}

// Where lines begin, if all lie in one range of memory; else nullptr.
const std::byte* Issue::data_of(const tensor_map::CopyLines& lines) const {
  const GlobalMemory::Range* const range = memory().find(lines.global, lines.reach());
  return range == nullptr || range->heap != nullptr ? nullptr : range->data + (lines.global - range->address);
}

namespace {

/// The smallest range of shared memory in which all runs lie.
struct Hull {
  std::uint32_t first = 0xFFFF'FFFF, end = 0;
  std::uint64_t bytes = 0;  ///< in runs
  bool is_full() const { return end - first == bytes; }
};
Hull hull_of(const std::vector<CopyRun>& runs, bool with_outside) {
  Hull out;
  for (const CopyRun& run : runs) {
    if (run.outside && !with_outside) continue;
    out.first = std::min(out.first, run.shared);
    out.end = std::max(out.end, run.shared + run.bytes);
    out.bytes += run.bytes;
  }
  if (out.bytes == 0) out.first = out.end = 0;
  return out;
}

Error beyond(std::uint64_t first, std::uint64_t bytes, Block& of) {
  return {Errc::address_out_of_bounds,
          {},
          fmt::format("{} bytes from {:#x} of shared memory on", bytes, first),
          fmt::format("the block has {} bytes", of.shared().size())};
}

}  // namespace

bool Issue::begin(Block& to, std::uint32_t at, std::uint64_t bytes, std::uint32_t barrier, Agent& agent,
                  bool generic) {
  if (!here().allows(to.mbarriers().begin_copy(barrier, who_, agent, !generic))) return false;
  if (!here().checks() || bytes == 0) return true;
  if (operation_.is_tensor) to.copied_tiles().add(at, bytes, map_.swizzle_mode, who_);
  agent.strong = operation_.reduction.has_value();
  return here().allows(to.accesses().write_by({}, at, static_cast<std::int64_t>(bytes), who_, agent, !generic));
}

std::function<bool()> Issue::arrival(Block& to, std::uint32_t at, std::uint64_t bytes, std::uint32_t barrier,
                                     Agent agent, std::uint64_t counted,
                                     std::function<void(std::byte* shared)> move) const {
  return [&from = here(), &to, who = who_, at, bytes, barrier, agent, counted, move = std::move(move)] {
    move(to.shared().data());
    if (from.checks() && bytes != 0) to.accesses().settle(at, static_cast<std::int64_t>(bytes), agent, who.at);
    return from.allows(to.mbarriers().complete_copy(barrier, static_cast<std::uint32_t>(counted), agent, who));
  };
}

Result<bool> Issue::issue() {
  switch (operation_.kind) {
    case Moves::load: return load();
    case Moves::store: return store();
    case Moves::exchange: return exchange();
    default: return element();
  }
}

// ---- From global to shared memory

// A multicast goes to the same places in each block of its mask.
Result<bool> Issue::load() {
  if (operation_.is_tensor)
    if (const Result<void> read = read_map(); !read) return read.error();
  if (!operation_.mask.exists()) {
    const Result<Destination> to = destination(0);
    return to ? load_into(*to) : to.error();
  }
  const std::uint32_t at = shared(operation_.to) & kOffset, barrier = shared(operation_.barrier) & kOffset;
  for (std::uint64_t rest = value(operation_.mask) & 0xFFFF; rest != 0; rest &= rest - 1) {
    const auto rank = static_cast<std::uint32_t>(std::countr_zero(rest)) << kRankShift;
    const Result<SharedBytes> object =
        find_shared(warp_, step_, lane_, barrier | rank, block::Mbarriers::kBytes, true);
    if (!object) return object.error();
    const Result<bool> done = load_into({object->block, at, barrier});
    if (!done || !*done) return done;
  }
  return true;
}

namespace {

// Moves what a load moves.
void move_in(const std::vector<CopyRun>& runs, const std::vector<std::byte*>& data, const TensorMap* map,
             std::byte* shared) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::byte* const to = shared + runs[i].shared;
    if (runs[i].outside) {
      tensor_map::fill(*map, {to, runs[i].bytes});
      continue;
    }
    std::memcpy(to, data[i], runs[i].bytes);
    if (map != nullptr && tensor_map::converts(map->elemtype))
      tensor_map::convert(map->elemtype, {to, runs[i].bytes});
  }
}

}  // namespace

// The common case of a tensor copy.
Result<bool> Issue::load_lines(Block& to, const tensor_map::CopyLines& lines, const std::byte* from,
                               std::uint32_t barrier) {
  const std::uint64_t bytes = lines.all();
  if (lines.shared + bytes > to.shared().size()) return beyond(lines.shared, bytes, to);
  Agent agent{};
  if (!begin(to, lines.shared, bytes, barrier, agent)) return false;
  here().cluster().send({arrival(to, lines.shared, bytes, barrier, agent, tensor_map::counted_bytes(map_),
                                 [lines, from](std::byte* shared) { tensor_map::move(lines, from, shared); })});
  return true;
}

Result<bool> Issue::load_into(const Destination& destination) {
  const auto& [block, at, barrier] = destination;
  Block& to = *block;
  std::uint64_t counted = 0;
  if (operation_.is_tensor) {
    const tensor_map::TensorCopy copy = copy_at(at);
    if (const Result<void> checked = tensor_map::check(map_, copy); !checked) return checked.error();
    if (const auto lines = tensor_map::lines(map_, copy))
      if (const std::byte* const from = data_of(*lines)) return load_lines(to, *lines, from, barrier);
    if (const Result<void> found = find_runs(at); !found) return found.error();
    counted = tensor_map::counted_bytes(map_);
  } else {
    counted = value(operation_.bytes);
    const std::uint64_t from = value(operation_.from);
    if (auto error = misaligned(counted, from, at)) return *std::move(error);
    runs_ = {{from, false, at, static_cast<std::uint32_t>(counted)}};
    if (counted == 0) runs_.clear();
  }
  if (const Result<void> found = find_global(); !found) return found.error();
  const Hull hull = hull_of(runs_, true);
  if (hull.end > to.shared().size()) return beyond(hull.first, hull.end - hull.first, to);
  Agent agent{};
  if (!begin(to, hull.first, hull.end - hull.first, barrier, agent)) return false;
  const std::shared_ptr<TensorMap> map = operation_.is_tensor ? std::make_shared<TensorMap>(map_) : nullptr;
  here().cluster().send({arrival(to, hull.first, hull.end - hull.first, barrier, agent, counted,
                                 [runs = std::move(runs_), data = std::move(data_), map](std::byte* shared) {
                                   move_in(runs, data, map.get(), shared);
                                 })});
  return true;
}

// ---- From shared to global memory

namespace {

template <class T>
void reduce_element(tensor_map::Reduction reduction, TensorType type, std::byte* at, const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  change_whole<T>(at, [&](T old) { return static_cast<T>(tensor_map::reduce(reduction, type, old, value)); });
}

void reduce_bytes(tensor_map::Reduction reduction, TensorType type, std::byte* to,
                  std::span<const std::byte> from) {
  const std::uint32_t size = element_bytes(type);
  for (std::size_t i = 0; i < from.size(); i += size) switch (size) {
      case 1: reduce_element<std::uint8_t>(reduction, type, to + i, &from[i]); break;
      case 2: reduce_element<std::uint16_t>(reduction, type, to + i, &from[i]); break;
      case 4: reduce_element<std::uint32_t>(reduction, type, to + i, &from[i]); break;
      default: reduce_element<std::uint64_t>(reduction, type, to + i, &from[i]); break;
    }
}

}  // namespace

Result<bool> Issue::store() {
  const Result<std::uint32_t> own_bytes = own(operation_.from);
  if (!own_bytes) return own_bytes.error();
  const std::uint32_t at = *own_bytes;
  TensorType type = operation_.type;
  if (operation_.is_tensor) {
    if (const Result<void> read = read_map(); !read) return read.error();
    if (const Result<void> found = find_runs(at); !found) return found.error();
    type = map_.elemtype;
    if (operation_.reduction && !tensor_map::exists(*operation_.reduction, type, true))
      return Error{Errc::descriptor_field, "elemtype", std::string(name(type)),
                   fmt::format("a type that .{} reduces", tensor_map::name(*operation_.reduction))};
  } else {
    const std::uint64_t to = value(operation_.to), bytes = value(operation_.bytes);
    if (auto error = misaligned(bytes, at, to)) return *std::move(error);
    runs_ = {{to, false, at, static_cast<std::uint32_t>(bytes)}};
    if (bytes == 0) runs_.clear();
  }
  if (const Result<void> found = find_global(); !found) return found.error();
  const Hull hull = hull_of(runs_, false);
  if (hull.end > here().shared().size()) return beyond(hull.first, hull.end - hull.first, here());
  if (here().checks()) {
    const Agent agent = here().bulk_groups().agent(who_.thread);
    const auto reads = [&](std::uint32_t first, std::uint32_t bytes) {
      return here().allows(here().accesses().read_by({}, first, bytes, who_, agent));
    };
    if (hull.is_full()) {
      if (hull.bytes != 0 && !reads(hull.first, hull.end - hull.first)) return false;
    } else {
      for (const CopyRun& run : runs_)
        if (!run.outside && !reads(run.shared, run.bytes)) return false;
    }
  }
  here().cluster().send({[&block = here(), runs = std::move(runs_), data = std::move(data_), type,
                          reduction = operation_.reduction] {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (data[i] == nullptr) continue;
      const std::span<const std::byte> from = block.shared().subspan(runs[i].shared, runs[i].bytes);
      reduction ? reduce_bytes(*reduction, type, data[i], from)
                : void(std::memcpy(data[i], from.data(), from.size()));
    }
    return true;
  }});
  return true;
}

// ---- Between blocks

Result<bool> Issue::exchange() {
  const Result<std::uint32_t> own_bytes = own(operation_.from);
  if (!own_bytes) return own_bytes.error();
  const std::uint32_t from = *own_bytes;
  const std::uint64_t bytes = value(operation_.bytes);
  const Result<Destination> to = destination(bytes);
  if (!to) return to.error();
  if (auto error = misaligned(bytes, from, to->at)) return *std::move(error);
  if (from + bytes > here().shared().size()) return beyond(from, bytes, here());
  Agent agent{};
  if (!begin(*to->block, to->at, bytes, to->barrier, agent)) return false;
  if (here().checks() && bytes != 0 &&
      !here().allows(here().accesses().read_by({}, from, static_cast<std::int64_t>(bytes), who_, agent)))
    return false;
  here().cluster().send({arrival(*to->block, to->at, bytes, to->barrier, agent, bytes,
                                 [&block = here(), from, at = to->at, bytes, reduction = operation_.reduction,
                                  type = operation_.type](std::byte* shared) {
                                   const std::span<const std::byte> source =
                                       block.shared().subspan(from, bytes);
                                   reduction ? reduce_bytes(*reduction, type, shared + at, source)
                                             : void(std::memcpy(shared + at, source.data(), bytes));
                                 })});
  return true;
}

// st.async and red.async are in the generic proxy.
Result<bool> Issue::element() {
  const std::size_t size = operation_.element_bytes,
                    bytes = size * static_cast<std::size_t>(operation_.values.count);
  const std::uint32_t address = shared(operation_.to);
  if (address % bytes != 0)
    return Error{Errc::address_misaligned,
                 {},
                 fmt::format("address {:#x}", address),
                 fmt::format("a multiple of {} bytes", bytes)};
  const Result<Destination> to = destination(bytes);
  if (!to) return to.error();
  Buffer data{};
  for (int i = 0; i < operation_.values.count; ++i) {
    const std::uint64_t bits = element(operation_.values, i);
    std::memcpy(data.data() + static_cast<std::size_t>(i) * size, &bits, size);
  }
  Agent agent{};
  if (!begin(*to->block, to->at, bytes, to->barrier, agent, true)) return false;
  here().cluster().send({arrival(
      *to->block, to->at, bytes, to->barrier, agent, bytes,
      [data, at = to->at, bytes, reduction = operation_.reduction, type = operation_.type](std::byte* shared) {
        reduction ? reduce_bytes(*reduction, type, shared + at, std::span(data).first(bytes))
                  : void(std::memcpy(shared + at, data.data(), bytes));
      })});
  return true;
}

}  // namespace

Next bulk(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const BulkOperation& operation = warp.program().async.bulks[static_cast<std::size_t>(step.extra)];
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const Result<bool> done = Issue(warp, path, step, operation, lane).issue();
    if (warp.block().has_fault()) return Next::end;
    if (!done) return warp.fault(path, Lanes{1} << lane, done.error());
    if (!*done) return Next::end;
  }
  return Next::step;
}

Next bulk_commit(Warp& warp, Path&, const Step& step, Lanes lanes) {
  for_each_lane(lanes,
                [&](int lane) { warp.block().bulk_groups().commit(Block::who(warp, step, lane).thread); });
  return Next::step;
}

Next bulk_wait(Warp& warp, Path&, const Step& step, Lanes lanes) {
  if (!warp.block().cluster().deliver()) return Next::end;
  for_each_lane(lanes, [&](int lane) {
    warp.block().bulk_groups().wait(Block::who(warp, step, lane).thread,
                                    static_cast<std::uint32_t>(step.target));
  });
  return Next::step;
}

// ---- Tensor maps

namespace {

/// The bytes of a map in the own shared memory, or in global memory; records the access.
Result<std::byte*> map_bytes(Warp& warp, const Path& path, const Step& step, const OperandAt& of,
                             bool in_shared, bool writes, int lane) {
  std::uint64_t at = value(warp, path, step, of, lane);
  if (at % kMapAlignment != 0)
    return Error{
        Errc::address_misaligned, {}, fmt::format("tensor map at {:#x}", at), "a multiple of 64 bytes"};
  const bool in_window = at - kSharedWindow < kWindowBytes;
  if (in_shared || in_window) {
    at = static_cast<std::uint32_t>(at - (in_window ? kSharedWindow : 0));
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

}  // namespace warpbit::grid::steps
