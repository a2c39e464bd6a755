// SPDX-License-Identifier: Apache-2.0
// Statements that copy and store in bulk: their operands, lane by lane. What copies do is in async/copy.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>  // std::memcpy
#include <vector>

#include "async/copy.hpp"
#include "grid/bounds.hpp"
#include "grid/cluster.hpp"
#include "grid/cost.hpp"
#include "grid/launch_control.hpp"
#include "grid/records.hpp"
#include "grid/steps.hpp"
#include "grid/tensor_maps.hpp"

namespace warpbit::grid::steps {
namespace {

using Moves = BulkOperation::Kind;

constexpr std::string_view kFromOwn = "a block copies from its own shared memory";
constexpr std::uint32_t kOffset = (1U << kRankShift) - 1;  // of an address in its block's shared memory

/// Global memory of a launch, as copies of a lane see it.
class Buffers : public async::Global {
 public:
  Buffers(Warp& warp, const Step& step, int lane, bool reduces)
      : grid_(warp.block().grid()), records_(warp, step), lane_(lane), reduces_(reduces) {}
  Result<std::byte*> find(std::uint64_t address, std::uint64_t bytes, bool writes) override {
    const bool inside = range_ != nullptr && address >= range_->address &&
                        address - range_->address + bytes <= range_->bytes && range_->defined == nullptr;
    if (!inside) range_ = grid_.memory.find(address, bytes);
    if (range_ == nullptr) return beyond_global(grid_, address, bytes);
    if (writes && !range_->writable) return written_to(*range_);
    if (writes && range_->defined != nullptr) {
      finds_values_ = finds_values_ && has_values(range_->defined_at(address), bytes);
      std::fill_n(range_->defined_at(address), bytes, std::byte{0xFF});
    }
    return range_->data + (address - range_->address);
  }
  bool access(const async::GlobalCopies::Copy& copy, const std::vector<async::GlobalRows>& rows) override {
    if (copy.writes && reduces_ && !finds_values_ && !records_.meets_unwritten(lane_)) return false;
    return records_.copies(copy, rows);
  }
  Store store_of_copy() override { return records_.store_of_copy(lane_); }

 private:
  const Grid& grid_;
  Records records_;
  int lane_;
  bool reduces_, finds_values_ = true;          // wherever it writes
  const GlobalMemory::Range* range_ = nullptr;  // the last one that was found
};

/// One lane's copy. Each function is an error, or false if the launch ends.
class Lane {
 public:
  Lane(Warp& warp, const Path& path, const Step& step, const BulkOperation& operation, int lane)
      : warp_(warp),
        path_(path),
        step_(step),
        operation_(operation),
        lane_(lane),
        global_(warp, step, lane, operation.reduction.has_value()),
        copy_(warp.block().async(), Block::who(warp, step, lane), global_, operation.strong) {}

  Result<bool> issue();

 private:
  /// Of a number; of an address with its offset.
  std::uint64_t value(const OperandAt& of) const { return steps::value(warp_, path_, step_, of, lane_); }
  std::uint64_t element(const OperandsAt& of, int i) const { return value({of.first + i, 0}); }
  /// Of a register of 128 bits both halves; else 0 is the upper one.
  std::array<std::uint64_t, 2> wide_element(const OperandsAt& of, int i) const {
    const std::vector<Place>& places = warp_.program().places[static_cast<std::size_t>(step_.target)];
    const Place& place = places[static_cast<std::size_t>(of.first + i)];
    if (place.bits <= 64) return {element(of, i), 0};
    const auto [lower, upper] = halves(place);
    return {warp_.read(path_, lower, lane_), warp_.read(path_, upper, lane_)};
  }
  std::uint32_t shared(const OperandAt& of) const { return static_cast<std::uint32_t>(value(of)); }
  /// Of the block's own shared memory: the byte there.
  Result<std::uint32_t> own(const OperandAt& of, std::string_view must) const;
  Result<async::Destination> destination(std::uint64_t bytes) const;
  Result<std::vector<async::Destination>> destinations(std::uint64_t blocks) const;
  Result<void> ignored(async::Region& out) const;
  Result<async::Region> region(const OperandAt& address);
  /// Whether the bytes of shared memory lie in their variable; false after a fault. A misaligned copy is refused by itself.
  bool stays_in_variable(const OperandAt& of, std::uint64_t bytes) const {
    const std::uint32_t at = shared(of) & kOffset;
    const bool is_misaligned = bytes >= 16 && at % 16 != 0;
    return is_misaligned || lies_in_variable(warp_, path_, step_, lane_, at, bytes);
  }
  std::uint64_t bytes_of(const async::Region& region) const {
    return operation_.is_tensor ? tensor_map::counted_bytes(map_) : region.bytes;
  }
  /// Of a copy between global memory and so many blocks.
  ptx::Counts moved(const async::Region& region, bool to_global, std::uint64_t blocks = 1) const;
  std::optional<async::Reduce> reduce() const;
  Result<bool> load();
  Result<bool> store();
  Result<bool> exchange();
  Result<bool> store_element();
  Result<bool> request();
  bool may_request() const;

  Warp& warp_;
  const Path& path_;
  const Step& step_;
  const BulkOperation& operation_;
  int lane_;
  TensorMap map_ = {};
  Buffers global_;
  async::Issue copy_;
};

Result<std::uint32_t> Lane::own(const OperandAt& of, std::string_view must) const {
  if (const std::uint64_t at = window_address(value(of), kSharedWindow); at >= kWindowBytes)
    return of_another_space(warp_.block().grid(), ptx::StateSpace::shared, at);
  const std::uint32_t at = shared(of);
  if (at >> kRankShift == static_cast<std::uint32_t>(warp_.block().rank())) return at & kOffset;
  return Error{
      Errc::address_out_of_bounds, {}, fmt::format("address {:#x} of another block", at), std::string(must)};
}

Result<async::Destination> Lane::destination(std::uint64_t bytes) const {
  const Result<SharedBytes> to =
      find_shared(warp_, step_, lane_, window_address(value(operation_.to), kSharedWindow), bytes, true);
  if (!to) return to.error();
  const Result<SharedBytes> object =
      find_shared(warp_, step_, lane_, window_address(value(operation_.barrier), kSharedWindow),
                  block::Mbarriers::kBytes, true);
  if (!object) return object.error();
  const int apart = object->block->rank() ^ to->block->rank();
  if (apart > (operation_.in_pair ? 1 : 0))
    return Error{Errc::address_out_of_bounds,
                 {},
                 "barrier objects of another block",
                 operation_.in_pair ? "the object lies where the bytes go, or in the other block of the pair"
                                    : "the object lies where the bytes go"};
  return async::Destination{&to->block->async(), static_cast<std::uint32_t>(to->offset),
                            static_cast<std::uint32_t>(object->offset), &object->block->async()};
}

// A multicast goes to the same places in each block of a mask. With .cta_group::2 the objects are those of the even or of
// the odd blocks of all pairs, as the one that is named.
Result<std::vector<async::Destination>> Lane::destinations(std::uint64_t blocks) const {
  std::vector<async::Destination> out;
  const std::uint32_t at = shared(operation_.to) & kOffset, barrier = shared(operation_.barrier) & kOffset;
  const std::uint32_t parity = shared(operation_.barrier) >> kRankShift & 1;
  for (std::uint64_t rest = blocks; rest != 0; rest &= rest - 1) {
    const auto rank = static_cast<std::uint32_t>(std::countr_zero(rest));
    const std::uint32_t counting = operation_.in_pair ? (rank & ~1U) | parity : rank;
    const Result<SharedBytes> object =
        find_shared(warp_, step_, lane_, barrier | counting << kRankShift, block::Mbarriers::kBytes, true);
    if (!object) return object.error();
    const Result<SharedBytes> to = find_shared(warp_, step_, lane_, at | rank << kRankShift, 0, true);
    if (!to) return to.error();
    out.push_back({&to->block->async(), at, barrier, &object->block->async()});
  }
  return out;
}

// The bytes of both ends that .ignore_oob gives.
Result<void> Lane::ignored(async::Region& out) const {
  constexpr std::uint64_t kMost = 15;
  if (!operation_.ignored_left.exists()) return {};
  out.ignored_left = value(operation_.ignored_left);
  out.ignored_right = value(operation_.ignored_right);
  if (out.ignored_left <= kMost && out.ignored_right <= kMost) return {};
  return Error{
      Errc::undefined_operand,
      {},
      fmt::format("ignoring {} bytes at the beginning and {} at the end", out.ignored_left, out.ignored_right),
      fmt::format("0 to {} for each", kMost)};
}

// The side of the copy in global memory.
Result<async::Region> Lane::region(const OperandAt& address) {
  if (!operation_.is_tensor) {
    async::Region out{value(address), value(operation_.bytes)};
    if (const Result<void> read = ignored(out); !read) return read.error();
    return out;
  }
  const int dimensions = operation_.coordinates.count;
  Result<TensorMap> map = read_map(warp_, step_, value(operation_.map), dimensions, lane_);
  if (!map) return map.error();
  map_ = *std::move(map);
  if (operation_.address.exists()) map_.global_address = value(operation_.address);
  async::Region out{0, 0, &map_, {operation_.mode}};
  for (int i = 0; i < dimensions; ++i)
    out.box.coordinates[static_cast<std::size_t>(i)] =
        static_cast<std::int32_t>(element(operation_.coordinates, i));
  for (int i = 0; i < operation_.offsets.count; ++i)
    out.box.offsets[static_cast<std::size_t>(i)] = static_cast<std::uint16_t>(element(operation_.offsets, i));
  return out;
}

// What lies outside of a tensor is part of the box, and of no sector. A copy that is refused is none.
ptx::Counts Lane::moved(const async::Region& region, bool to_global, std::uint64_t blocks) const {
  std::vector<GlobalSpan> spans;
  if (region.map != nullptr) {
    tensor_map::TensorCopy box = region.box;
    box.to_global = to_global;
    const Result<std::vector<tensor_map::CopyRun>> runs = tensor_map::runs(*region.map, box);
    if (!runs) return {};
    for (const tensor_map::CopyRun& run : *runs)
      if (!run.outside) spans.push_back({run.global, run.bytes});
  } else {
    spans.push_back({region.address, region.bytes});
  }
  ptx::Counts out = sectors_of(std::move(spans));
  out.bytes = bytes_of(region);
  out.shared_bytes = out.bytes * blocks;
  return out;
}

std::optional<async::Reduce> Lane::reduce() const {
  if (!operation_.reduction) return std::nullopt;
  return async::Reduce{*operation_.reduction, operation_.type};
}

Result<bool> Lane::load() {
  const Result<async::Region> from = region(operation_.from);
  if (!from) return from.error();
  if (!stays_in_variable(operation_.to, bytes_of(*from))) return false;
  if (!operation_.mask.exists()) {
    const Result<async::Destination> to = destination(0);
    if (!to) return to.error();
    if (warp_.block().counts()) warp_.block().count(moved(*from, false));
    return copy_.load(*from, *to);
  }
  const Result<std::vector<async::Destination>> to =
      destinations(value(operation_.mask) & (operation_.wide_mask ? 0xFFFF'FFFF : 0xFFFF));
  if (!to) return to.error();
  if (warp_.block().counts()) warp_.block().count(moved(*from, false, to->size()));
  return copy_.multicast(*from, *to);
}

Result<bool> Lane::store() {
  const Result<std::uint32_t> from = own(operation_.from, kFromOwn);
  if (!from) return from.error();
  const Result<async::Region> to = region(operation_.to);
  if (!to) return to.error();
  if (!stays_in_variable(operation_.from, bytes_of(*to))) return false;
  if (warp_.block().counts()) warp_.block().count(moved(*to, true));
  return copy_.store(*from, *to, reduce());
}

Result<bool> Lane::exchange() {
  const Result<std::uint32_t> from = own(operation_.from, kFromOwn);
  if (!from) return from.error();
  const std::uint64_t bytes = value(operation_.bytes);
  if (!stays_in_variable(operation_.to, bytes)) return false;
  const Result<async::Destination> to = destination(bytes);
  if (!to) return to.error();
  warp_.block().count({.shared_bytes = 2 * bytes});
  return copy_.exchange(*from, bytes, *to, reduce());
}

Result<bool> Lane::store_element() {
  const std::size_t size = operation_.element_bytes,
                    bytes = size * static_cast<std::size_t>(operation_.values.count);
  const std::uint32_t address = shared(operation_.to);
  if (address % bytes != 0)
    return Error{Errc::address_misaligned,
                 {},
                 fmt::format("address {:#x}", address),
                 fmt::format("it must be a multiple of {}", bytes)};
  if (!stays_in_variable(operation_.to, bytes)) return false;
  const Result<async::Destination> to = destination(bytes);
  if (!to) return to.error();
  Buffer data{};
  for (int i = 0; i < operation_.values.count; ++i) {
    const auto [bits, upper] = wide_element(operation_.values, i);
    std::byte* const at = data.data() + static_cast<std::size_t>(i) * size;
    std::memcpy(at, &bits, std::min(size, sizeof bits));
    if (size > sizeof bits) std::memcpy(at + sizeof bits, &upper, sizeof upper);
  }
  warp_.block().count({.shared_bytes = bytes});
  return copy_.element(std::span(data).first(bytes), *to, reduce());
}

// Behind a failure that its block knows of (PTX manual: "undefined").
bool Lane::may_request() const {
  Block& here = warp_.block();
  const block::Who who = Block::who(warp_, step_, lane_);
  const std::optional<block::Who> knows = here.checks() ? here.cluster().known_failure(who) : std::nullopt;
  if (!knows) return true;
  Fault out = block::fault_of(
      who,
      {Errc::protocol_violation,
       {},
       "this block has seen a try_cancel fail",
       "once query_cancel.is_canceled has been false, the block must execute no further try_cancel, and "
       "neither the expect_tx nor the wait for it"},
      KernelRule::request_behind_failure);
  out.other = block::side_of(*knows, "learns of the failure");
  return here.allows(std::move(out));
}

Result<bool> Lane::request() {
  constexpr std::uint32_t kAlignment = 16;
  for (const OperandAt& of : {operation_.to, operation_.barrier}) {
    if (operation_.generic && value(of) - kSharedWindow >= kWindowBytes)
      return Error{Errc::address_not_shared,
                   {},
                   fmt::format("address {:#x}", value(of)),
                   "a response and its barrier object lie there"};
    if (const Result<std::uint32_t> found = own(of, "a response comes to the block's own shared memory");
        !found)
      return found.error();
  }
  if (shared(operation_.to) % kAlignment != 0)
    return Error{Errc::address_misaligned,
                 {},
                 fmt::format("address {:#x}", shared(operation_.to)),
                 fmt::format("it must be a multiple of {}", kAlignment)};
  Block& here = warp_.block();
  const std::uint64_t all = (std::uint64_t{1} << here.cluster().blocks().size()) - 1;
  const Result<std::vector<async::Destination>> to =
      destinations(operation_.to_all ? all : std::uint64_t{1} << here.rank());
  if (!to) return to.error();
  if (!may_request()) return false;
  return copy_.answer(response_to(here.cluster().request()), *to);
}

Result<bool> Lane::issue() {
  switch (operation_.kind) {
    case Moves::load: return load();
    case Moves::store: return store();
    case Moves::exchange: return exchange();
    case Moves::request: return request();
    default: return store_element();
  }
}

}  // namespace

Next bulk(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const BulkOperation& operation = warp.program().async.bulks[static_cast<std::size_t>(step.extra)];
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    ++warp.block().checked.copies;
    const Result<bool> done = Lane(warp, path, step, operation, lane).issue();
    if (warp.block().has_fault()) return Next::end;
    if (!done) return warp.fault(path, Lanes{1} << lane, done.error());
    if (!*done) return Next::end;
  }
  return Next::step;
}

// Zeros, from a lane's address on, as many as it says.
Next fill(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  constexpr std::uint64_t kUnit = 8, kMost = 16'777'216;
  const Place& size = warp.program().places[static_cast<std::size_t>(step.extra)][0];
  Records records(warp, step);
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const auto fault = [&](Errc code, std::string seen, std::string accepted) {
      return warp.fault(path, Lanes{1} << lane, {code, {}, std::move(seen), std::move(accepted)});
    };
    const std::uint64_t bytes = warp.read(path, size, lane);
    std::uint64_t at = warp.read(path, step.place[2], lane) + static_cast<std::uint64_t>(step.access.offset);
    if (step.access.generic && at - kSharedWindow >= kWindowBytes)
      return fault(Errc::address_not_shared, fmt::format("address {:#x}", at), "st.bulk writes there alone");
    at = window_address(at, kSharedWindow);
    if (bytes % kUnit != 0 || bytes > kMost)
      return fault(Errc::address_misaligned, fmt::format("{} bytes", bytes),
                   fmt::format("a multiple of {}, {} at most", kUnit, kMost));
    if (at % kUnit != 0)
      return fault(Errc::address_misaligned, fmt::format("address {:#x}", at),
                   fmt::format("it must be a multiple of {}", kUnit));
    const Result<SharedBytes> found = find_shared(warp, step, lane, at, bytes, false);
    if (!found) return warp.fault(path, Lanes{1} << lane, found.error());
    if (!lies_in_variable(warp, path, step, lane, found->offset, bytes)) return Next::end;
    const std::vector<std::byte> zeros(bytes);
    const Target to{found->block->shared().data() + found->offset, ptx::StateSpace::shared, found->block};
    if (!records.writes(lane, to, zeros)) return Next::end;
    std::ranges::copy(zeros, to.data);
  }
  return Next::step;
}

}  // namespace warpbit::grid::steps
