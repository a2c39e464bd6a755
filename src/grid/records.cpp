// SPDX-License-Identifier: Apache-2.0
#include "grid/records.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "grid/cluster.hpp"
#include "grid/global_races.hpp"
#include "grid/store_order.hpp"
#include "ptx/type.hpp"

namespace warpbit::grid::steps {

// Copies that nobody has waited for.
bool Records::meets_no_copy(const GlobalLanes& what, bool writes, bool strong) {
  async::GlobalCopies& copies = block_.async().cluster.copies;
  if (!copies.may_meet(writes) ||
      (what.is_row && !copies.conflict(what.of(0), kLanes * what.bytes, writes, strong)))
    return true;
  for (Lanes rest = what.lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto found = copies.conflict(what.of(lane), what.bytes, writes, strong);
    if (found) return allowed(fault_of_copy(block_.grid(), *found, Block::who(warp_, step_, lane), writes));
  }
  return true;
}

// Rows of one copy do not disturb each other. Most tiles are read from arrays that nobody stores to.
bool Records::copies(async::GlobalCopies::Copy copy, std::span<const async::GlobalRows> rows) {
  GlobalAccesses* const accesses = block_.grid().accesses;
  if (accesses == nullptr) return true;
  async::GlobalCopies& others = block_.async().cluster.copies;
  const int lane = copy.who.thread % kLanes;
  for (const async::GlobalRows& some : rows) {
    if (!copy.writes && !may_meet_write(some.first)) continue;
    for (std::size_t row = 0; row < some.rows; ++row) {
      const std::byte* const first = some.first + static_cast<std::ptrdiff_t>(row) * some.stride;
      const GlobalLanes what{Lanes{1} << lane, one_lane(lane, first), some.bytes};
      const bool strong = copy.writes || copy.strong;
      if (!meets_no_copy(what, copy.writes, strong)) return false;
      GlobalAccess by = this->by(copy.writes, strong);
      by.async = true;
      if (!copy.writes)
        if (const auto found = accesses->unfenced(by, lane, first, some.bytes))
          if (!allowed(fault_unfenced(block_.grid(), block_.accesses().cluster(), *found))) return false;
      if (const auto found = accesses->access(by, what); found != nullptr && !allowed_global(*found))
        return false;
    }
  }
  for (const async::GlobalRows& some : rows) {
    if (!copy.writes && !accesses->may_be_stored(some.first)) continue;
    copy.rows = some;
    others.add(copy);
  }
  return true;
}

bool Records::written(std::span<const async::WrittenRows> all) {
  GlobalAccesses* const accesses = block_.grid().accesses;
  if (accesses == nullptr) return true;
  GlobalAccess by = this->by(true, true);
  by.async = true;
  for (const async::WrittenRows& one : all) {
    by.site = Block::site_of(one.who.at);
    const int lane = one.who.thread % kLanes;
    for (const async::GlobalRows& row : one.rows) {
      const auto found = accesses->access(by, {Lanes{1} << lane, one_lane(lane, row.first), row.bytes});
      if (found != nullptr && !allowed_global(*found)) return false;
    }
  }
  return true;
}

// Copies are met by each other alone here: with their values, as stores are.
async::Global::Store Records::store_of_copy(int lane) const {
  GlobalAccesses* const arrivals = block_.grid().arrivals;
  if (arrivals == nullptr) return nullptr;
  return [&block = block_, arrivals, lane, by = by(true, false)](std::byte* to,
                                                                 std::span<const std::byte> from) {
    const auto found = arrivals->access(by, {Lanes{1} << lane, one_lane(lane, to), from.size(), from.data()});
    return found == nullptr || allows(block, *found);
  };
}

bool Records::copies_async(const GlobalLanes& from) {
  GlobalAccesses* const accesses = block_.grid().accesses;
  const std::byte* const first = from.of(std::countr_zero(from.lanes));
  if (accesses == nullptr) return true;
  if (may_meet_write(first) && !global(from, false, false)) return false;
  if (!accesses->may_be_stored(first)) return true;
  const auto number = [&](int lane) {
    return block_.accesses().copies(Block::who(warp_, step_, lane).thread) - 1;
  };
  const auto add = [&](int lane, std::size_t rows) {
    block_.async().cluster.copies.add(
        {{from.of(lane), from.bytes, rows, static_cast<std::ptrdiff_t>(from.bytes)},
         false,
         async::GlobalCopies::Copy::Wait::threads,
         Block::who(warp_, step_, lane),
         &block_.async(),
         number(lane)});
  };
  bool are_alike = from.is_row;
  for (int lane = 1; are_alike && lane < kLanes; ++lane) are_alike = number(lane) == number(0);
  are_alike ? add(0, kLanes) : for_each_lane(from.lanes, [&](int lane) { add(lane, 1); });
  return true;
}

bool Records::may_precede_cas(int lane) {
  if (!step_.access.before_cas || !block_.is_told(KernelRule::load_before_cas)) return true;
  return allowed(
      block::fault_of(Block::who(warp_, step_, lane),
                      {Errc::protocol_violation,
                       {},
                       "an atom.cas at its address is compared with what it loads, and other threads "
                       "may change that at any time",
                       "the load must be ld.relaxed or ld.volatile"},
                      KernelRule::load_before_cas));
}

bool Records::loads(const GlobalLanes& from) {
  race_ = nullptr;
  if (!may_precede_cas(std::countr_zero(from.lanes)) || !meets_no_copy(from, false, strong_)) return false;
  const auto found = block_.grid().accesses->access(by(false, strong_), from);
  if (found == nullptr || !found->within)
    return (found == nullptr || allowed_global(*found)) && follows_early(from);
  Fault race = fault_within(block_.grid(), block_.accesses().cluster(), *found->within);
  if (race.rule != KernelRule::data_race || !block_.is_told(race.rule)) return allowed_global(*found);
  found->within.reset();
  Fault unused = race;
  unused.rule = KernelRule::unused_race;
  if (!allowed_global(*found) || !allowed(std::move(unused)) || !follows()) return false;
  race_ = std::make_shared<const Fault>(std::move(race));
  return true;
}

// Where several warps may load what one of them replaces.
bool Records::follows_early(const GlobalLanes& from) {
  early_ = nullptr;
  if (!step_.access.is_replaced || block_.warps().size() == 1 || !block_.is_told(KernelRule::data_race))
    return true;
  const int first = std::countr_zero(from.lanes);
  bool alike = !from.is_row && !std::has_single_bit(from.lanes);
  for_each_lane(from.lanes, [&](int lane) { alike = alike && from.of(lane) == from.of(first); });
  if (!alike) return true;
  if (!follows()) return false;
  const int thread = warp_.number_in_cluster() * kLanes + first;
  const std::uint32_t clock = block_.accesses().cluster().order.clock(thread);
  early_ =
      block_.early_reads.add(warp_.site(step_), warp_.number(), {thread, clock, from.of(first), from.bytes});
  return true;
}

bool Records::global(const GlobalLanes& what, bool writes, bool strong) {
  if (!meets_no_copy(what, writes, strong)) return false;
  const auto found = block_.grid().accesses->access(by(writes, strong), what);
  return found == nullptr || allowed_global(*found);
}

GlobalAccess Records::by(bool writes, bool strong) const {
  return {block_.accesses().cluster().order,
          block_.cluster().number(),
          warp_.number_in_cluster(),
          warp_.site(step_),
          writes,
          strong,
          step_.access.non_coherent,
          false,
          !writes && step_.access.is_data};
}

bool Records::allows(Block& block, const GlobalConflicts& found) {
  const Grid& grid = block.grid();
  const block::Cluster& cluster = block.accesses().cluster();
  if (found.between) grid.races->add(*found.between);
  if (!found.within) return true;
  Fault race = fault_within(grid, cluster, *found.within);
  if (race.rule == KernelRule::data_race && block.early_reads.wait_for_use(*found.within, cluster.order, race))
    race.rule = KernelRule::unused_race;
  return block.allows(std::move(race));
}

Lanes Records::changes_each(const GlobalLanes& what) {
  Lanes done = 0;
  if (block_.async().cluster.copies.empty()) {
    done = block_.grid().accesses->access_each(
        by(true, step_.access.strong), what,
        [&](int, const GlobalConflicts& found) { return allowed_global(found); });
  } else {
    for (Lanes rest = what.lanes; rest != 0; rest &= rest - 1) {
      if (!global({rest & -rest, what.data, what.bytes}, true)) break;
      done |= rest & -rest;
    }
  }
  count(ptx::StateSpace::global, lanes_in(done) + (done == what.lanes ? 0 : 1));
  return done;
}

bool Records::stores(const block::LaneAccesses& to, const std::byte* values, std::size_t stride) {
  const auto bytes = static_cast<std::size_t>(to.bytes);
  std::byte* const memory = block_.shared().data();
  const auto value = [&](int lane) {
    return std::span(values + static_cast<std::size_t>(lane) * stride, bytes);
  };
  const auto first = [&](int lane) { return to.first[static_cast<std::size_t>(lane)]; };
  if (!block_.checks()) {
    in_store_order(to.lanes, bytes,
                   [&](int lane) { std::memcpy(memory + first(lane), value(lane).data(), bytes); });
    return true;
  }
  const Lanes done = block_.accesses().store(to, values, stride);
  count(ptx::StateSpace::shared, lanes_in(done));
  if (done == to.lanes) return true;
  for_each_lane(done, [&](int lane) { keep_stored(lane, first(lane), to.bytes); });
  for (Lanes rest = to.lanes & ~done; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (!writes(lane, first(lane), value(lane))) return false;
    std::memcpy(memory + first(lane), value(lane).data(), bytes);
  }
  in_store_order(to.lanes, bytes, [&](int lane) {
    writes_again(lane, shared(first(lane)), value(lane));
    std::memcpy(memory + first(lane), value(lane).data(), bytes);
  });
  return true;
}

block::Messages::Held Records::hold(const Target& at, std::size_t bytes) {
  if (!is_ordered() && !(step_.access.strong && is_global(at))) return {};
  if (at.space == ptx::StateSpace::shared) {
    const auto rank = static_cast<std::uint64_t>(of(at).rank());
    return {block_.accesses().cluster().messages, rank << 32 | static_cast<std::uint64_t>(offset(at)), bytes};
  }
  if (at.space != ptx::StateSpace::global) return {};
  return {*block_.grid().messages, at.address, bytes};
}

void Records::takes(const block::Messages::Held& held, const Target& from, int lane) {
  if (!is_ordered()) return;
  const block::Who who = Block::who(warp_, step_, lane);
  block::FlagUse read{who.at, block_.cluster().number(), who.thread};
  read.word = from.data;
  held.for_each([&](const block::Message& message) {
    block_.accesses().order().take(warp_.number_in_cluster(), block_.rank(), message, step_.access.order, read);
  });
}

void Records::leaves(block::Messages::Held& held, int lane, Lanes lanes, bool is_atomic) {
  if (held.empty() || !is_ordered()) return;
  block::Order& order = block_.accesses().order();
  if (!posting_) posting_ = order.post(warp_.number_in_cluster(), lanes, step_.access.order, is_atomic);
  const bool is_part =
      step_.access.bytes * step_.access.count < 4;  // of a word, whose rest may be another flag
  const block::Who who = Block::who(warp_, step_, lane);
  held.put(*posting_, {block_.cluster().number(), block_.rank(), who.thread, who.at}, is_atomic || is_part);
}

std::string_view Records::type() const {
  const Origin& origin = warp_.program().origins[static_cast<std::size_t>(step_.statement)];
  std::string_view out;
  for (const std::string_view word : words_of(*origin.function, statement_of(origin)))
    if (const auto type = ptx::find_type(word)) out = ptx::row(*type).name;
  return out;
}

void Records::explain(Fault& found, Block& of, int lane, std::int64_t first,
                      std::span<const std::byte> value) const {
  const bool of_warp = found.other && found.other->warp == found.warp && found.other->lanes.size() == 1 &&
                       found.other->at == found.at && found.address;
  if (!of_warp) return;
  const int before = found.other->lanes.front();
  if ((has_stored_ >> before & 1) == 0) return;
  const Stored& stored = stored_[static_cast<std::size_t>(before)];
  const std::int64_t end =
                         std::min(stored.first + stored.bytes, first + static_cast<std::int64_t>(value.size())),
                     both = std::max(first, stored.first);
  if (found.address->byte < stored.first || found.address->byte >= end) return;
  const auto common = [&](std::span<const std::byte> bytes, std::int64_t at) {
    return bytes.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(end - both));
  };
  const std::span<const std::byte> one = common(of.shared(), both), other = common(value, both - first);
  found.rule = KernelRule::lanes_store_differently;
  const std::string values =
      std::ranges::equal(one, other)
          ? "bits of them have never been written"
          : fmt::format("{} and {}{}", block::hex(one), block::hex(other), block::apart(one, other, type()));
  found.error.seen = fmt::format("lanes {} and {} store different values to {}: {} ({})", before, lane,
                                 block::bytes_text(both, end - 1), values, which_stays(value.size()));
  found.error.accepted = kOneLaneStores;
}

}  // namespace warpbit::grid::steps
