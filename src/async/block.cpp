// SPDX-License-Identifier: Apache-2.0
#include "async/block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "async/cluster.hpp"
#include "async/tensor.hpp"

namespace warpbit::async {

Block::Block(Cluster& of, int rank, std::uint64_t bytes, Allows what, std::uint64_t window, bool records)
    : cluster(of), shared(of.state(), rank, bytes, window, records), allows(std::move(what)) {
  of.blocks_.push_back(this);
}

Block::~Block() = default;

Tensor& Block::tensor() {
  if (!tensor_) tensor_ = std::make_unique<Tensor>(cluster.tensor_order());
  return *tensor_;
}

bool Block::promise(Block& of, block::Found found, block::MbarrierPromise promise) {
  if (!allows(std::move(found))) return false;
  const std::int64_t object = promise.address;
  const block::Who who = promise.who;
  cluster.send({[this, &of, promise = std::move(promise)] { return allows(of.mbarriers.keep(promise)); }, who,
                &of, object, 1});
  return true;
}

// ---- Bulk groups

block::Accesses::Agent BulkGroups::begin(block::Who who) {
  auto found = groups_.find(who.thread);
  if (found == groups_.end()) {
    const std::string name = shared_.cluster().name(who.thread, shared_.rank());
    const int agent = shared_.cluster().add_agent([this, name, thread = who.thread](std::uint32_t group) {
      const auto behind = later(thread, group);
      return fmt::format(
          "{} must execute {}cp.async.bulk.wait_group.read {}, and then, for other threads, a barrier, before this "
          "statement",
          name, behind ? "" : "cp.async.bulk.commit_group and ", behind.value_or(0));
    });
    found = groups_.emplace(who.thread, Group{agent}).first;
  }
  Group& group = found->second;
  group.last = who;
  group.last_group = group.committed;
  return {group.agent, group.committed};
}

void BulkGroups::commit(int thread) {
  if (const auto found = groups_.find(thread); found != groups_.end()) ++found->second.committed;
}

void BulkGroups::wait(block::Who who, std::uint32_t pending, bool reads_only) {
  waits_.insert_or_assign(who.thread, Wait{who, pending});
  const auto found = groups_.find(who.thread);
  if (found == groups_.end() || found->second.committed <= pending) return;
  Group& group = found->second;
  group.waited = std::max(group.waited, group.committed - pending);
  if (!reads_only) group.written = group.waited;
  shared_.order().learn(who.thread / block::kWarp, group.agent, group.waited);
}

std::vector<WrittenRows> BulkGroups::take_written(int thread, bool all) {
  std::vector<WrittenRows> out;
  const auto found = groups_.find(thread);
  if (found == groups_.end()) return out;
  std::vector<WrittenRows>& writes = found->second.writes;
  const auto is_done = [&](const WrittenRows& one) { return all || one.group < found->second.written; };
  std::ranges::copy_if(writes, std::back_inserter(out), is_done);
  std::erase_if(writes, is_done);
  return out;
}

bool BulkGroups::has_waited_for_none(int warp) const {
  const auto is_of_warp = [&](const auto& all) {
    const auto first = all.lower_bound(warp * block::kWarp);
    return first != all.end() && first->first / block::kWarp == warp;
  };
  return is_of_warp(waits_) && !is_of_warp(groups_);
}

std::optional<BulkGroups::Wait> BulkGroups::last_wait(int thread) const {
  const auto found = waits_.find(thread);
  return found == waits_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<BulkGroups::Pending> BulkGroups::pending() const {
  std::vector<Pending> out;
  for (const auto& [thread, group] : groups_)
    if (group.last_group >= group.waited) out.push_back({group.last, group.last_group < group.committed});
  return out;
}

// ---- Tiles

namespace {

constexpr std::uint64_t kLine = 128, kChunk = 16;

/// What a swizzle takes of a line's number.
std::uint64_t mask(Swizzle swizzle) {
  return static_cast<std::uint64_t>(span_bytes(swizzle)) / kChunk - 1;
}

}  // namespace

void CopiedTiles::add(std::uint64_t first, std::uint64_t bytes, Swizzle swizzle, block::Who who) {
  const std::uint64_t end = first + bytes;
  std::erase_if(tiles_, [&](const Copied& one) { return one.first < end && first < one.end; });
  if (swizzle != Swizzle::none) tiles_.push_back({first, end, swizzle, who});
}

bool CopiedTiles::is_of(const Copied& tile, std::uint64_t byte) const {
  const auto write = shared_.last_write(static_cast<std::int64_t>(byte));
  return write && write->at == tile.who.at && shared_.cluster().copies(write->thread);
}

block::Found CopiedTiles::mistaken(std::string_view what, std::span<const std::int64_t> rows,
                                   block::Who who) const {
  for (const Copied& tile : tiles_) {
    const std::uint64_t span = kChunk * (mask(tile.swizzle) + 1);
    for (std::size_t first = 0; first + 8 <= rows.size(); first += 8) {
      const auto row = [&](std::size_t i) { return static_cast<std::uint64_t>(rows[first + i]); };
      bool same_chunk = true, same_swizzle = true, copied = true;
      for (std::size_t i = 0; i < 8; ++i) {
        copied = copied && row(i) >= tile.first && row(i) < tile.end && is_of(tile, row(i));
        same_chunk = same_chunk && row(i) % span == row(0) % span;
        same_swizzle = same_swizzle && ((row(i) / kLine ^ row(0) / kLine) & mask(tile.swizzle)) == 0;
      }
      if (!copied || !same_chunk || same_swizzle) continue;
      const int bits = std::popcount(mask(tile.swizzle));
      Fault out = block::fault_of(
          who,
          {Errc::protocol_violation, std::string(what),
           fmt::format("the tile from {:#x} on was copied with {}, and lanes {}-{} read 16-byte chunk {} of "
                       "each {}-byte row, as without a swizzle",
                       tile.first, name(tile.swizzle), first, first + 7, row(0) % span / kChunk, span),
           fmt::format("the chunk's number must be XORed with {} of the address",
                       bits == 1 ? "bit 7" : fmt::format("bits 7 to {}", 6 + bits))},
          KernelRule::swizzle);
      out.lanes = block::lanes_of(0xFFU << first);
      out.address = {Space::shared, rows[first]};
      out.other = block::side_of(tile.who, "issues the copy");
      return out;
    }
  }
  return std::nullopt;
}

block::Found CopiedTiles::mistaken(std::string_view what, const Descriptor& descriptor,
                                   const DescribedMatrix& matrix, block::Who who) const {
  const std::uint64_t reads = mask(descriptor.swizzle), begin = descriptor.start / kLine * kLine,
                      end = described_end(descriptor, matrix);
  const auto offset = static_cast<std::uint64_t>(descriptor.base_offset);
  for (const Copied& tile : tiles_) {
    if (tile.first >= end || tile.end <= begin) continue;
    if (tile.swizzle == descriptor.swizzle && (offset & reads) == 0) continue;
    const bool has_other_rows = tile.swizzle != descriptor.swizzle && descriptor.swizzle != Swizzle::none;
    for (const ByteRange& range : DescriptorMap(descriptor, matrix).ranges()) {
      const std::uint64_t last = std::min(range.last, tile.end - 1);
      for (std::uint64_t at = std::max(range.first, tile.first); at <= last; at = (at / kLine + 1) * kLine) {
        const std::uint64_t line = at / kLine;
        if (!has_other_rows && (line & mask(tile.swizzle)) == ((line - offset) & reads)) continue;
        if (is_of(tile, at)) return mistaken(what, descriptor, tile, at, who);
      }
    }
  }
  return std::nullopt;
}

Fault CopiedTiles::mistaken(std::string_view what, const Descriptor& descriptor, const Copied& tile,
                            std::uint64_t byte, block::Who who) {
  Fault out = block::fault_of(
      who,
      {Errc::protocol_violation, std::string(what),
       fmt::format(
           "the tile from {:#x} on was copied with {}, and its byte {:#x} is read with {} and base offset {}",
           tile.first, name(tile.swizzle), byte, name(descriptor.swizzle), descriptor.base_offset),
       "the descriptor must have the swizzle of the tensor map, and base offset 0"},
      KernelRule::swizzle);
  out.address = {Space::shared, static_cast<std::int64_t>(byte)};
  out.other = block::side_of(tile.who, "issues the copy");
  return out;
}

// ---- Descriptors

bool reads_twice(const Descriptor& descriptor, const DescribedMatrix& matrix) {
  const ChunkMap at(descriptor, matrix.major);
  const auto lines = static_cast<std::uint64_t>(matrix.major == Major::mn ? matrix.depth : matrix.lines),
             chunks = (static_cast<std::uint64_t>(matrix.contiguous_bytes()) + kChunk - 1) / kChunk;
  std::vector<std::uint8_t> is_read(at.bound(lines, chunks) / kChunk + 1);
  for (std::uint64_t line = 0; line < lines; ++line)
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk)
      if (std::exchange(is_read[at(line, chunk) / kChunk], std::uint8_t{1}) != 0) return true;
  return false;
}

namespace {

// The smallest of the two offsets, LBO and SBO, with which each byte is read once; they are in units of 16 bytes. Rows lie eight
// by eight, and an offset is from eight of them to the next ones, or from one chunk of a row to the next.
std::string sound_offsets(const Descriptor& of, const DescribedMatrix& matrix) {
  const auto is_sound = [&](std::uint32_t Descriptor::*offset, std::uint32_t bytes) {
    Descriptor other = of;
    other.*offset = bytes;
    return !reads_twice(other, matrix);
  };
  constexpr std::uint32_t kRows = 8 * kChunk, kMost = 1 << 14;
  for (std::uint32_t bytes = kRows; bytes < kMost; bytes += kRows)
    for (const auto& [name, offset] :
         {std::pair("SBO", &Descriptor::stride), std::pair("LBO", &Descriptor::leading)})
      if (is_sound(offset, bytes))
        return fmt::format(
            "a descriptor that reads each byte of the tile once, as with {} {} (in the descriptor {})", name,
            bytes, bytes / kChunk);
  return "a descriptor that reads each byte of the tile once";
}

}  // namespace

block::Found suspicious(std::string_view which, std::uint64_t descriptor, const DescribedMatrix& matrix,
                        DescriptorForm form, block::Who who) {
  // A tile whose parts lie far apart may be meant so.
  const Descriptor of = Descriptor::decode(descriptor, form);
  if (!reads_twice(of, matrix)) return std::nullopt;
  using enum DescriptorIssue;
  for (const auto& [issue, message] : check_descriptor(descriptor, matrix, kMostSharedBytes, form))
    if (issue == exchanged || issue == bytes_for_units || issue == read_twice || issue == other_major)
      return block::fault_of(
          who,
          {Errc::descriptor_field,
           {},
           fmt::format("the descriptor {:#x} of {} (start {:#x}, LBO {}, SBO {} bytes, {}) looks wrong: {}",
                       descriptor, which, of.start, of.leading, of.stride, name(of.swizzle), message),
           issue == read_twice ? sound_offsets(of, matrix)
                               : "a descriptor that reads each byte of the tile once"},
          KernelRule::matrix_descriptor);
  return std::nullopt;
}

}  // namespace warpbit::async
