// SPDX-License-Identifier: Apache-2.0
#include "async/copy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>  // std::memcpy
#include <memory>
#include <utility>

#include "async/atomic.hpp"

namespace warpbit::async {

using tensor_map::CopyRun;

namespace {

// A copy in bulk moves whole 16 bytes.
std::optional<Error> misaligned(std::uint64_t bytes, std::uint64_t from, std::uint64_t to) {
  if ((bytes | from | to) % 16 == 0) return std::nullopt;
  return Error{Errc::address_misaligned,
               {},
               fmt::format("a copy of {} bytes from {:#x} to {:#x}", bytes, from, to),
               "all three must be multiples of 16"};
}

Error beyond(std::uint64_t first, std::uint64_t bytes, Block& of) {
  return block::beyond_shared(first, bytes, of.memory().size());
}

bool is_beyond(std::uint64_t first, std::uint64_t bytes, Block& of) {
  const std::uint64_t size = of.memory().size();
  return bytes > size || first > size - bytes;
}

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

/// Where the bytes of a load without a tensor map go, those that are ignored, too.
Hull hull_of(const Region& from, std::uint32_t at) {
  if (from.bytes == 0) return {0, 0, 0};
  return {at, at + static_cast<std::uint32_t>(from.bytes), from.bytes};
}

// Where those go that are ignored.
std::vector<std::int64_t> ignored_bytes(const Region& from, std::uint32_t at) {
  std::vector<std::int64_t> out;
  const std::uint64_t left = std::min(from.ignored_left, from.bytes);
  const std::uint64_t right = std::min(from.ignored_right, from.bytes - left);
  for (std::uint64_t i = 0; i < left; ++i) out.push_back(static_cast<std::int64_t>(at + i));
  for (std::uint64_t i = from.bytes - right; i < from.bytes; ++i)
    out.push_back(static_cast<std::int64_t>(at + i));
  return out;
}

template <class T>
void reduce_element(const Reduce& how, std::byte* at, const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  change_whole<T>(
      at, [&](T old) { return static_cast<T>(tensor_map::reduce(how.reduction, how.type, old, value)); });
}

// Copies bytes, or reduces elements.
void move_to(std::byte* to, std::span<const std::byte> from, const std::optional<Reduce>& how) {
  if (!how) return void(std::memcpy(to, from.data(), from.size()));
  const std::uint32_t size = element_bytes(how->type);
  for (std::size_t i = 0; i < from.size(); i += size) switch (size) {
      case 1: reduce_element<std::uint8_t>(*how, to + i, &from[i]); break;
      case 2: reduce_element<std::uint16_t>(*how, to + i, &from[i]); break;
      case 4: reduce_element<std::uint32_t>(*how, to + i, &from[i]); break;
      default: reduce_element<std::uint64_t>(*how, to + i, &from[i]); break;
    }
}

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

// ---- What all copies do

bool Issue::begin(const Destination& to, std::uint32_t at, std::uint64_t bytes, Agent& agent, bool generic,
                  const Region* tensor, bool reduces) {
  if (!here_.allows(to.counting().mbarriers.begin_copy(to.barrier, who_, agent, !generic))) return false;
  if (!here_.shared.records() || bytes == 0) return true;
  if (tensor != nullptr && tensor->map != nullptr)
    to.block->tiles.add(at, bytes, tensor->map->swizzle_mode, who_);
  agent.strong = reduces || strong_;
  block::Shared& shared = to.block->shared;
  bool reads_unwritten = false;
  for (std::uint64_t i = 0; reduces && i < bytes; ++i)
    reads_unwritten = reads_unwritten || shared.is_never_written(static_cast<std::int64_t>(at + i));
  if (reads_unwritten &&
      !here_.allows(shared.read_fenced_by({}, at, static_cast<std::int64_t>(bytes), who_, agent)))
    return false;
  const bool goes_on =
      here_.allows(shared.write_by({}, at, static_cast<std::int64_t>(bytes), who_, agent, !generic));
  if (!work_.empty()) shared.cluster().issued(agent.number, who_, work_);
  return goes_on;
}

void Issue::send(const std::optional<Side>& from, const Destination& to, std::uint32_t at, std::uint64_t bytes,
                 Agent agent, std::uint64_t counted, bool reduces, Move move,
                 std::vector<std::int64_t> undefined) {
  auto arrive = [&here = here_, to, who = who_, at, bytes, agent, counted, move = std::move(move),
                 undefined = std::move(undefined)] {
    move(to.block->memory().data());
    if (here.shared.records() && bytes != 0)
      to.block->shared.settle(at, static_cast<std::int64_t>(bytes), agent, who.at);
    for (const std::int64_t byte : undefined) to.block->shared.forget(byte, 1);
    return here.allows(
        to.counting().mbarriers.complete_copy(to.barrier, static_cast<std::uint32_t>(counted), agent, who));
  };
  here_.cluster.send({.arrive = std::move(arrive),
                      .who = who_,
                      .counts = &to.counting(),
                      .object = to.barrier,
                      .from = from,
                      .to = Side{to.block, at, bytes},
                      .bytes = bytes,
                      .reduces = reduces});
}

// The smallest range of global memory in which all runs lie.
std::optional<Cluster::InFlight::Side> Issue::global_side() const {
  std::uint64_t first = ~std::uint64_t{0}, end = 0;
  for (const CopyRun& run : runs_)
    if (!run.outside) first = std::min(first, run.global), end = std::max(end, run.global + run.bytes);
  return end == 0 ? std::nullopt : std::optional(Side{nullptr, first, end - first});
}

// Whoever has the statement names it.
Error of_statement(Error error) {
  error.where.clear();
  return error;
}

// What the copy moves between the region and this place of shared memory.
Result<void> Issue::find_runs(const Region& region, std::uint32_t shared, bool writes) {
  if (region.map != nullptr) {
    tensor_map::TensorCopy box = region.box;
    box.shared = shared;
    box.to_global = writes;
    Result<std::vector<CopyRun>> found = tensor_map::runs(*region.map, box);
    if (!found) return of_statement(found.error());
    runs_ = *std::move(found);
  } else {
    if (auto error = writes ? misaligned(region.bytes, shared, region.address)
                            : misaligned(region.bytes, region.address, shared))
      return *std::move(error);
    runs_.clear();
    if (const std::uint64_t ignored = region.ignored_left + region.ignored_right; region.bytes > ignored)
      runs_ = {{region.address + region.ignored_left, false,
                shared + static_cast<std::uint32_t>(region.ignored_left),
                static_cast<std::uint32_t>(region.bytes - ignored)}};
  }
  data_.clear();
  for (const CopyRun& run : runs_) {
    if (run.outside) {
      data_.push_back(nullptr);
      continue;
    }
    const Result<std::byte*> found = global_.find(run.global, run.bytes, writes);
    if (!found) return found.error();
    data_.push_back(*found);
  }
  return {};
}

// ---- What they do to global memory

namespace {

std::vector<GlobalRows> rows_of(const tensor_map::CopyLines& lines, const std::byte* data) {
  std::vector<GlobalRows> out;
  const auto& [n0, n1, n2, n3] = lines.count;
  const auto stride = static_cast<std::ptrdiff_t>(lines.stride[0]);
  const bool overlap = lines.stride[0] < lines.bytes;
  for (std::uint64_t k = 0; k < std::uint64_t{n1} * n2 * n3; ++k) {
    const std::uint64_t at =
        k % n1 * lines.stride[1] + k / n1 % n2 * lines.stride[2] + k / n1 / n2 * lines.stride[3];
    if (!overlap) out.push_back({data + at, lines.bytes, n0, stride});
    for (std::uint64_t row = 0; overlap && row < n0; ++row)
      out.push_back({data + at + row * lines.stride[0], lines.bytes});
  }
  return out;
}

}  // namespace

// Runs that lie side by side are one row.
std::vector<GlobalRows> Issue::rows_of_runs() const {
  std::vector<GlobalRows> all, out;
  for (std::size_t i = 0; i < runs_.size(); ++i)
    if (data_[i] != nullptr) all.push_back({data_[i], runs_[i].bytes});
  std::ranges::sort(all, {}, &GlobalRows::first);
  for (const GlobalRows& one : all)
    if (!out.empty() && one.first <= out.back().first + out.back().bytes)
      out.back().bytes =
          std::max(out.back().bytes, static_cast<std::size_t>(one.first - out.back().first) + one.bytes);
    else
      out.push_back(one);
  return out;
}

GlobalCopies::Copy Issue::until_phase(const Destination& to, Agent agent) const {
  return {{},         false,  GlobalCopies::Copy::Wait::object, who_, &to.counting(), agent.clock, agent.number,
          to.barrier, strong_};
}

// ---- From global to shared memory

Result<bool> Issue::multicast(const Region& from, std::span<const Destination> to) {
  for (const Destination& one : to)
    if (Result<bool> done = load(from, one); !done || !*done) return done;
  return true;
}

// The common case of a tensor copy.
Result<bool> Issue::load_lines(const Region& from, const tensor_map::CopyLines& lines, const std::byte* data,
                               const Destination& to) {
  const std::uint64_t bytes = lines.all();
  if (is_beyond(lines.shared, bytes, *to.block)) return beyond(lines.shared, bytes, *to.block);
  Agent agent{};
  if (!begin(to, lines.shared, bytes, agent, false, &from)) return false;
  if (here_.shared.records() && !global_.access(until_phase(to, agent), rows_of(lines, data))) return false;
  send(Side{nullptr, lines.global, lines.reach()}, to, lines.shared, bytes, agent,
       tensor_map::counted_bytes(*from.map), false,
       [lines, data](std::byte* shared) { tensor_map::move(lines, data, shared); });
  return true;
}

Result<bool> Issue::load(const Region& from, const Destination& to) {
  std::uint64_t counted = from.bytes;
  if (from.map != nullptr) {
    tensor_map::TensorCopy box = from.box;
    box.shared = to.at;
    if (const Result<void> checked = tensor_map::check(*from.map, box); !checked)
      return of_statement(checked.error());
    if (const auto lines = tensor_map::lines(*from.map, box))
      if (const Result<std::byte*> data = global_.find(lines->global, lines->reach(), false))
        return load_lines(from, *lines, *data, to);
    counted = tensor_map::counted_bytes(*from.map);
  }
  if (const Result<void> found = find_runs(from, to.at, false); !found) return found.error();
  const Hull hull = from.map != nullptr ? hull_of(runs_, true) : hull_of(from, to.at);
  const std::uint32_t bytes = hull.end - hull.first;
  if (is_beyond(hull.first, bytes, *to.block)) return beyond(hull.first, bytes, *to.block);
  Agent agent{};
  if (!begin(to, hull.first, bytes, agent, false, &from)) return false;
  if (here_.shared.records() && !global_.access(until_phase(to, agent), rows_of_runs())) return false;
  const auto map = from.map != nullptr ? std::make_shared<const TensorMap>(*from.map) : nullptr;
  const std::optional<Side> side = global_side();
  send(
      side, to, hull.first, bytes, agent, counted, false,
      [runs = std::move(runs_), data = std::move(data_), map](std::byte* shared) {
        move_in(runs, data, map.get(), shared);
      },
      here_.shared.records() ? ignored_bytes(from, to.at) : std::vector<std::int64_t>());
  return true;
}

// ---- From shared to global memory

// A warp that takes its own wait_group for one of the thread that copies writes the next tile too early.
void Issue::explain_write(Fault& found) const {
  if (found.error.code != Errc::data_race || !found.other || !found.address ||
      !here_.groups.has_waited_for_none(found.other->warp))
    return;
  const int thread = found.other->warp * block::kWarp + found.other->lanes.front();
  const std::string writer = here_.shared.cluster().name(thread, here_.shared.rank());
  found.error.seen = fmt::format(
      "{} {} again before this copy was waited for (cp.async.bulk.wait_group waits for groups of the thread that "
      "executes it, and {} has none)",
      writer, found.other->what, writer.substr(writer.find("warp")));
  found.error.accepted =
      "the thread that copies must wait for its copy and then execute a barrier together with the thread that writes, "
      "before that write";
}

Result<bool> Issue::store(std::uint32_t from, const Region& to, const std::optional<Reduce>& reduce) {
  std::optional<Reduce> how = reduce;
  if (how && to.map != nullptr) {
    how->type = to.map->elemtype;
    if (!tensor_map::exists(how->reduction, how->type, true))
      return Error{Errc::descriptor_field, "elemtype", std::string(name(how->type)),
                   fmt::format("a type that .{} reduces", tensor_map::name(how->reduction))};
  }
  if (const Result<void> found = find_runs(to, from, true); !found) return found.error();
  const Hull hull = hull_of(runs_, false);
  if (is_beyond(hull.first, hull.end - hull.first, here_))
    return beyond(hull.first, hull.end - hull.first, here_);
  const std::optional<Side> side = global_side();
  Agent agent = here_.shared.records() && hull.bytes != 0 ? here_.groups.begin(who_) : Agent{};
  agent.strong = strong_ && !how;  // a reduction reads its source weakly
  if (here_.shared.records()) {
    const auto reads = [&](std::uint32_t first, std::uint32_t bytes) {
      block::Found found = here_.shared.read_by({}, first, bytes, who_, agent);
      if (found) explain_write(*found);
      return here_.allows(std::move(found));
    };
    if (hull.is_full()) {
      if (hull.bytes != 0 && !reads(hull.first, hull.end - hull.first)) return false;
    } else {
      for (const CopyRun& run : runs_)
        if (!run.outside && !reads(run.shared, run.bytes)) return false;
    }
    const GlobalCopies::Copy copy{{}, true, GlobalCopies::Copy::Wait::group, who_, &here_, agent.clock};
    std::vector<GlobalRows> rows = rows_of_runs();
    if (!global_.access(copy, rows)) return false;
    if (hull.bytes != 0) here_.groups.writes({who_, agent.clock, std::move(rows)});
  }
  Global::Store store = here_.shared.records() && !how ? global_.store_of_copy() : nullptr;
  auto arrive = [&here = here_, runs = std::move(runs_), data = std::move(data_), how,
                 store = std::move(store)] {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (data[i] == nullptr) continue;
      const std::span<std::byte> bytes = here.memory().subspan(runs[i].shared, runs[i].bytes);
      if (store && !store(data[i], bytes)) return false;
      move_to(data[i], bytes, how);
    }
    return true;
  };
  here_.cluster.send({.arrive = std::move(arrive),
                      .who = who_,
                      .group = who_.thread,
                      .from = Side{&here_, hull.first, hull.end - hull.first},
                      .to = side,
                      .bytes = hull.bytes,
                      .reduces = how.has_value(),
                      .number = agent.clock});
  return true;
}

// ---- Between blocks

Result<bool> Issue::exchange(std::uint32_t from, std::uint64_t bytes, const Destination& to,
                             const std::optional<Reduce>& reduce) {
  if (auto error = misaligned(bytes, from, to.at)) return *std::move(error);
  if (is_beyond(from, bytes, here_)) return beyond(from, bytes, here_);
  if (is_beyond(to.at, bytes, *to.block)) return beyond(to.at, bytes, *to.block);
  Agent agent{};
  if (!begin(to, to.at, bytes, agent, false, nullptr, reduce.has_value())) return false;
  std::vector<std::int64_t> undefined;
  if (here_.shared.records() && bytes != 0) {
    const auto count = static_cast<std::int64_t>(bytes);
    if (!here_.allows(here_.shared.read_by({}, from, count, who_, agent, !reduce))) return false;
    for (std::int64_t i = 0; i < count; ++i)
      if (here_.shared.is_never_written(from + i)) undefined.push_back(to.at + i);
  }
  send(
      Side{&here_, from, bytes}, to, to.at, bytes, agent, bytes, reduce.has_value(),
      [&here = here_, from, at = to.at, bytes, reduce](std::byte* shared) {
        move_to(shared + at, here.memory().subspan(from, bytes), reduce);
      },
      std::move(undefined));
  return true;
}

// Bytes that are known when the copy is issued.
Result<bool> Issue::write(std::span<const std::byte> value, const Destination& to,
                          const std::optional<Reduce>& reduce, bool generic) {
  if (is_beyond(to.at, value.size(), *to.block)) return beyond(to.at, value.size(), *to.block);
  std::array<std::byte, 32> data{};  // .v4.b64
  std::ranges::copy(value, data.begin());
  Agent agent{};
  if (!begin(to, to.at, value.size(), agent, generic, nullptr, reduce.has_value())) return false;
  send(std::nullopt, to, to.at, value.size(), agent, value.size(), reduce.has_value(),
       [data, at = to.at, bytes = value.size(), reduce](std::byte* shared) {
         move_to(shared + at, std::span(data).first(bytes), reduce);
       });
  return true;
}

// st.async and red.async are in the generic proxy.
Result<bool> Issue::element(std::span<const std::byte> value, const Destination& to,
                            const std::optional<Reduce>& reduce) {
  return write(value, to, reduce, true);
}

Result<bool> Issue::answer(std::span<const std::byte> response, std::span<const Destination> to) {
  work_ = "a clusterlaunchcontrol.try_cancel";
  for (const Destination& one : to)
    if (Result<bool> done = write(response, one, std::nullopt, false); !done || !*done) return done;
  return true;
}

}  // namespace warpbit::async
