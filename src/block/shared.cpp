// SPDX-License-Identifier: Apache-2.0
#include "block/shared.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>  // std::memcpy
#include <utility>

namespace warpbit::block {
namespace {

constexpr std::uint64_t kProduct = std::uint64_t{1} << 63;
constexpr int kPlaceBits = 16;

}  // namespace

Shared::Shared(std::shared_ptr<Cluster> cluster, int rank, std::uint64_t bytes, std::uint64_t window,
               bool records)
    : cluster_(std::move(cluster)),
      rank_(rank),
      records_(records),
      memory_(bytes, window),
      accesses_(records ? static_cast<std::size_t>(bytes) : 0),
      copiers_(static_cast<std::size_t>(cluster_->stride())) {}

Shared::Shared(int threads, std::uint64_t bytes) : Shared(std::make_shared<Cluster>(1, threads), 0, bytes) {}

std::string Shared::at(std::int64_t byte) const {
  const std::string name = name_of ? name_of(byte) : std::string();
  return name.empty() ? fmt::format("{:#x}", byte) : fmt::format("{:#x} ({})", byte, name);
}

// ---- Accesses of a thread

// Whether products are pending, which may read what is written.
bool Shared::is_read() const {
  return std::ranges::any_of(readers_, [](const AsyncState* products) { return products->is_pending(); });
}

// Whether a pending product reads bytes that are about to be written.
Found Shared::overwritten(std::string_view what, std::int64_t first, std::int64_t bytes, Who who) const {
  const ByteRange range{static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(first + bytes - 1)};
  for (const AsyncState* products : readers_)
    if (products->is_pending())
      if (const auto found = products->check_store({what}, range)) return violated(fault_of(who, {}), *found);
  return std::nullopt;
}

Found Shared::read(std::string_view what, std::int64_t first, std::int64_t bytes, Who who, bool strong) {
  const auto found = accesses_.read(first, bytes, who.thread, who.at, cluster_->order, strong);
  if (!found) return std::nullopt;
  return conflict_of_thread(what, *found, who.at, false);
}

// Each test of a barrier object does this: what it finds as a rule is not put into words.
Found Shared::read_opaque(std::string_view what, std::int64_t first, std::int64_t bytes, Who who) {
  const auto found = accesses_.read(first, bytes, who.thread, who.at, cluster_->order, true);
  if (!found || found->kind == Accesses::Conflict::Kind::never_written) return std::nullopt;
  return conflict_of_thread(what, *found, who.at, false);
}

Found Shared::write(std::string_view what, std::int64_t first, std::int64_t bytes, Who who,
                    Accesses::Written state, bool strong) {
  const auto found = accesses_.write(first, bytes, who.thread, who.at, cluster_->order, state, strong);
  if (auto fault = overwritten(what, first, bytes, who)) return fault;
  if (!found) return std::nullopt;
  return conflict_of_thread(what, *found, who.at, true);
}

Found Shared::write(std::string_view what, std::int64_t first, std::span<const std::byte> value, Who who,
                    bool strong, const std::function<std::string_view()>& type) {
  const auto bytes = static_cast<std::int64_t>(value.size());
  const Accesses::Written state = state_of(first, value);
  Found read = overwritten(what, first, bytes, who);
  const auto found = accesses_.write(first, bytes, who.thread, who.at, cluster_->order, state, strong);
  if (read || !found) return read;
  Fault out = conflict_of_thread(what, *found, who.at, true);
  const auto there = memory_.shared().subspan(static_cast<std::size_t>(first), value.size());
  if (found->kind == Accesses::Conflict::Kind::race && found->before_writes) {
    const bool is_turned = out.warp * kWarp + out.lanes.front() != who.thread;
    out.error.seen += fmt::format(" (that lane stores {}, this one {}{})", hex(is_turned ? value : there),
                                  hex(is_turned ? there : value), type ? apart(there, value, type()) : "");
    if (out.rule == KernelRule::data_race) out.error.accepted = one_must_store(out);
  }
  return out;
}

Found Shared::write_opaque(std::string_view what, std::int64_t first, std::int64_t bytes, Who who) {
  const auto found =
      accesses_.write(first, bytes, who.thread, who.at, cluster_->order, Accesses::Written::done);
  if (auto fault = overwritten(what, first, bytes, who)) return fault;
  if (!found) return std::nullopt;
  Fault out = conflict_of_thread(what, *found, who.at, true);
  if (Accesses::is_read_before_meeting(*found, cluster_->order)) out.rule = KernelRule::mbarrier_inval_order;
  return out;
}

Accesses::Written Shared::state_of(std::int64_t first, std::span<const std::byte> value) const {
  const bool same =
      value.empty() || (std::memcmp(memory_.shared().data() + first, value.data(), value.size()) == 0 &&
                        accesses_.are_settled(first, static_cast<std::int64_t>(value.size())));
  return same ? Accesses::Written::same : Accesses::Written::done;
}

Found Shared::load(std::string_view what, const View& from, std::span<std::byte> value, std::size_t alignment,
                   Who who) {
  const auto bytes = static_cast<std::int64_t>(value.size());
  if (auto fault = check_bytes(what, Space::shared, from, bytes, alignment, who)) return fault;
  std::memcpy(value.data(), memory_.shared().data() + from.at, value.size());
  return read(what, from.at, bytes, who);
}

Found Shared::store(std::string_view what, const View& to, std::span<const std::byte> value,
                    std::size_t alignment, Who who) {
  const auto bytes = static_cast<std::int64_t>(value.size());
  if (auto fault = check_bytes(what, Space::shared, to, bytes, alignment, who)) return fault;
  Found found = write(what, to.at, bytes, who);
  (void)memory_.write(Space::shared, static_cast<std::uint64_t>(to.at), value);  // checked above
  return found;
}

// PTX manual, "cp.async": the destination is written at some time before the copy is waited for. Here it is written at once,
// as without a record; until the wait it counts as not written.
// ---- Accesses of bulk copies

void Shared::needs_no_fence(Place at) {
  if (std::ranges::find(need_no_fence_, at) == need_no_fence_.end()) need_no_fence_.push_back(at);
}

Found Shared::read_fenced_by(std::string_view what, std::int64_t first, std::int64_t bytes, Who who,
                             Accesses::Agent agent, bool moves) {
  cluster_->issued(agent.number, who);
  const auto found = accesses_.read(first, bytes, who.thread, who.at, agent, cluster_->order);
  if (!found || (moves && found->kind == Accesses::Conflict::Kind::never_written)) return std::nullopt;
  return conflict(what, *found, who.at, {agent.number, agent.clock, false});
}

Found Shared::read_by(std::string_view what, std::int64_t first, std::int64_t bytes, Who who,
                      Accesses::Agent agent, bool moves) {
  if (Found found = read_fenced_by(what, first, bytes, who, agent, moves)) return found;
  return unfenced_write(what, first, bytes, who, true);
}

Found Shared::read_by(std::string_view what, std::span<const Effects::MemoryRead> bytes, Who who,
                      Accesses::Agent agent) {
  cluster_->issued(agent.number, who);
  bool fenced = false;
  const bool at_once =
      accesses_.read_at_once(bytes, who.thread, who.thread, 1, who.at, agent, cluster_->order, fenced);
  if (at_once && fenced) return std::nullopt;
  for (const Effects::MemoryRead& one : bytes) {
    const auto first = static_cast<std::int64_t>(one.address), count = static_cast<std::int64_t>(one.bytes);
    if (Found found =
            at_once ? unfenced_write(what, first, count, who, true) : read_by(what, first, count, who, agent))
      return found;
  }
  return std::nullopt;
}

Found Shared::write_by(std::string_view what, std::int64_t first, std::int64_t bytes, Who who,
                       Accesses::Agent agent, bool async) {
  Found read = overwritten(what, first, bytes, who);
  if (!read && async && fences_reads_) read = unfenced_read(what, first, bytes, who);
  cluster_->issued(agent.number, who, async ? "" : agent.strong ? "a red.async" : "an st.async");
  if (accesses_.write_at_once(first, bytes, who.thread, who.at, agent, cluster_->order)) return read;
  Found unfenced = async ? unfenced_write(what, first, bytes, who, false) : std::nullopt;
  const auto found = accesses_.write(first, bytes, who.thread, who.at, agent, cluster_->order);
  if (read) return read;
  Found out = found ? Found(conflict(what, *found, who.at, {agent.number, agent.clock, true})) : std::nullopt;
  return unfenced && (!out || is_worse(*unfenced, *out)) ? unfenced : out;
}

Found Shared::ends(Who who, const std::function<bool(std::int64_t)>& is_object) {
  const auto found = accesses_.foreign(0, static_cast<std::int64_t>(memory_.shared_bytes()), first_thread(),
                                       cluster_->stride(), who.thread, cluster_->order, is_object);
  if (!found) return std::nullopt;
  Fault out = told({}, *found, who.at, false);
  const bool arrives = !found->before_writes && is_object(found->byte);
  out.rule = arrives ? KernelRule::arrival_at_ended_block : KernelRule::block_ended;
  const auto flaw = order().nearly_before(found->before->thread, found->before->clock, who.thread);
  if (flaw && flaw->kind == Flaw::Kind::scope) out.rule = rule_of_race(flaw);
  out.error = {
      Errc::protocol_violation,
      {},
      fmt::format("{} {} {:#x} of the shared memory of block {} of the cluster, which may have ended by then",
                  cluster_->name(found->before->thread, rank_),
                  arrives                ? "arrives at the mbarrier at"
                  : found->before_writes ? "writes byte"
                                         : "reads byte",
                  found->byte, rank_),
      must_meet_at_end(arrives)};
  std::swap(static_cast<FaultSide&>(out), *out.other);
  out.what.clear();
  out.related.clear();
  out.other->what = fmt::format("block {} of the cluster ends", rank_);
  return out;
}

// ---- Order

void Shared::barrier() {
  if (cluster_->blocks() == 1) return order().barrier();
  std::vector<int> warps;
  for (int warp = 0; warp < cluster_->stride() / kWarp; ++warp) warps.push_back(first_warp() + warp);
  order().barrier_of(warps);
}

// ---- Accesses of instructions

Found Shared::read(std::string_view what, const LaneAccesses& of) {
  const auto found = accesses_.read(of, cluster_->order);
  if (!found) return std::nullopt;
  return conflict_of_thread(what, *found, of.at, false);
}

Found Shared::write(std::string_view what, const LaneAccesses& of, Accesses::Written state) {
  const auto found = accesses_.write(of, cluster_->order, state);
  if (is_read())
    for (std::uint32_t rest = of.lanes; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      if (auto fault = overwritten(what, of.first[static_cast<std::size_t>(lane)], of.bytes,
                                   {of.warp * kWarp + lane, of.at}))
        return fault;
    }
  if (!found) return std::nullopt;
  return conflict_of_thread(what, *found, of.at, true);
}

std::uint32_t Shared::store(const LaneAccesses& to, const std::byte* values, std::size_t stride) {
  if (is_read()) return 0;
  std::byte* const memory = memory_.shared_for_writing().data();
  const auto bytes = static_cast<std::size_t>(to.bytes);
  const std::uint16_t place = accesses_.number(to.at);
  std::uint32_t done = 0;
  for (std::uint32_t rest = to.lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::int64_t first = to.first[static_cast<std::size_t>(lane)];
    const std::span value(values + static_cast<std::size_t>(lane) * stride, bytes);
    if (!accesses_.write_if_free(first, to.bytes, to.warp * kWarp + lane, place, cluster_->order,
                                 state_of(first, value)))
      break;
    std::memcpy(memory + first, value.data(), bytes);
    done |= rest & -rest;
  }
  return done;
}

Found Shared::copy_async(std::string_view what, const LaneAccesses& to,
                         const std::array<CopiedBytes, kWarp>& bytes) {
  Found found = write(what, to, Accesses::Written::pending);
  const std::uint16_t place = accesses_.number(to.at);
  for (std::uint32_t rest = to.lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto i = static_cast<std::size_t>(lane);
    begin_copy(to.first[i], to.bytes, bytes[i], to.warp * kWarp + lane, place);
  }
  return found;
}

Found Shared::apply(std::string_view what, const Effects& effects, int warp, Place at) {
  for (const Effects::MemoryRead& r : effects.memory_reads)
    if (auto fault = read(what, static_cast<std::int64_t>(r.address), static_cast<std::int64_t>(r.bytes),
                          {warp * kWarp + r.lane, at}))
      return fault;
  for (const Effects::MemoryWrite& w : effects.memory_writes) {
    if (auto fault = write(what, static_cast<std::int64_t>(w.address), std::span(w.bytes),
                           {warp * kWarp + w.lane, at}, false))
      return fault;
    (void)memory_.write(w.space, w.address, w.bytes);  // execute_warp has checked it
  }
  return std::nullopt;
}

// Lanes of two warps represent the rest: without a barrier, a lane's write must not be read by any lane of
// another warp.
Found Shared::read_as_group(std::string_view what, const Effects::MemoryRead& bytes, int group, Place at,
                            Accesses::Agent agent) {
  const int first = group * kWarpgroup, second = first + kWarp;
  for (const int reader : {first, second}) {
    auto found = accesses_.read(static_cast<std::int64_t>(bytes.address),
                                static_cast<std::int64_t>(bytes.bytes), reader, at, agent, cluster_->order);
    if (!found) continue;
    const bool by_first_warp = found->before && found->before->thread / kWarp == first / kWarp;
    found->thread = by_first_warp ? second : first;
    return of_group(group, told(what, *found, at, false));
  }
  return std::nullopt;
}

Found Shared::read_as_group(std::string_view what, std::span<const Effects::MemoryRead> bytes, int group,
                            Place at, Accesses::Agent agent, bool& fenced) {
  const int first = group * kWarpgroup;
  cluster_->issued(agent.number, {first, at});
  if (accesses_.read_at_once(bytes, first, first + kWarp, kWarpgroup, at, agent, cluster_->order, fenced))
    return std::nullopt;
  for (const Effects::MemoryRead& read : bytes)
    if (auto fault = read_as_group(what, read, group, at, agent)) return fault;
  return std::nullopt;
}

std::optional<Accesses::Unfenced> Shared::unfenced(std::uint64_t address, std::uint64_t bytes, int group) {
  return accesses_.unfenced(static_cast<std::int64_t>(address), static_cast<std::int64_t>(bytes),
                            group * kWarpgroup, kWarpgroup, cluster_->order);
}

// ---- Actors

std::uint64_t Shared::actor(Who who, bool is_product) {
  return (is_product ? kProduct : 0) | static_cast<std::uint64_t>(who.thread) << kPlaceBits |
         accesses_.number(who.at);
}

FaultSide Shared::side(std::uint64_t actor) const {
  const int thread = static_cast<int>((actor & ~kProduct) >> kPlaceBits);
  const Place at = accesses_.place(static_cast<std::uint16_t>(actor));
  if ((actor & kProduct) != 0)
    return {thread / kWarp, lanes_of(kAllLanes), at, kGroupWarps, 0, {}, {}, "issues the wgmma"};
  return side_of({thread, at}, "accesses the register");
}

Fault Shared::violated(Fault fault, const AsyncViolation& violation) const {
  fault.error = violation.error;
  fault.rule = violation.rule;
  if (violation.other) fault.other = side(*violation.other);
  if (violation.bytes)
    fault.address = {Space::shared, static_cast<std::int64_t>(violation.bytes->first), {}, rank_};
  return fault;
}

}  // namespace warpbit::block
