// SPDX-License-Identifier: Apache-2.0
// Loads, stores and asynchronous copies, lane by lane.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "grid/resolver.hpp"
#include "grid/store_order.hpp"

namespace warpbit::grid::steps {

namespace {

using ptx::StateSpace;

std::uint64_t get(const std::byte* data, std::size_t bytes) {
  std::uint64_t out = 0;
  std::memcpy(&out, data, bytes);
  return out;
}

std::uint64_t extended(std::uint64_t value, const Access& access) {
  return access.sign_extends ? static_cast<std::uint64_t>(scalar::extend(value, access.bytes * 8)) : value;
}

// Calls visit(place, byte from which it is loaded or to which it is stored, how many) for the registers of an access.
template <class Visit>
void for_each_element(const Access& access, const std::vector<Place>& places, Visit visit) {
  const std::size_t size = access.bytes;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (size != 16) {
      visit(places[i], i * size, size);
      continue;
    }
    const auto [low, high] = halves(places[i]);
    visit(low, i * size, std::size_t{8});
    visit(high, i * size + 8, std::size_t{8});
  }
}

// What lanes have loaded, with its undefined bits. Registers are written when all lanes have: an address may stand in one of them,
// and until then the step may be done again.
class Loaded {
 public:
  Loaded(Warp& warp, const Path& path, const Step& step, Lanes lanes, const std::vector<Place>& to)
      : warp_(warp), undefined_(warp.undefined()), path_(path), step_(step), lanes_(lanes), to_(to) {}

  /// Of a lane: room for the bytes.
  std::byte* value(int lane) { return values_[static_cast<std::size_t>(lane)].data(); }
  void take(int lane, const Target& from, std::uint64_t address, const Buffer& bits, Records& records) {
    bits_[static_cast<std::size_t>(lane)] = bits;
    const auto is_undefined = [](std::byte one) { return one != std::byte{0}; };
    const auto first = std::ranges::find_if(bits, is_undefined),
               end = std::find_if_not(first, bits.end(), is_undefined);
    if (first == bits.end() || cause_.lanes != 0) return;
    cause_ = {undefined_memory(from.space, address, warp_.block().grid().memory),
              static_cast<std::int64_t>(address) + (first - bits.begin()),
              static_cast<std::int64_t>(address) + (end - bits.begin()) - 1,
              warp_.site(step_),
              lanes_,
              warp_.number()};
    cause_.element = step_.access.bytes;
    cause_.variable = step_.access.variable;
    if (records.race() != nullptr)
      cause_.race = records.race();
    else if (records.early() != nullptr)
      cause_.early = records.early();
    else if (const auto* const stored = stored_cause(lane, from, first - bits.begin(), records))
      cause_ = *stored;
  }
  /// Each lane has its own value, or, if they are alike, that of the first one.
  void write(bool alike) {
    const auto first = static_cast<std::size_t>(std::countr_zero(lanes_));
    for_each_element(step_.access, to_, [&](const Place& place, std::size_t at, std::size_t bytes) {
      for_each_lane(lanes_, [&](int lane) {
        const std::size_t of = alike ? first : static_cast<std::size_t>(lane);
        warp_.write(path_, place, lane, extended(get(values_[of].data() + at, bytes), step_.access));
        if (undefined_.active())
          undefined_.write(path_, place, lane, extended(get(bits_[of].data() + at, bytes), step_.access));
      });
    });
    if (cause_.lanes != 0) undefined_.come_from(path_, to_, cause_);
  }

 private:
  const UndefinedCause* stored_cause(int lane, const Target& from, std::ptrdiff_t at, Records& records) const {
    if (from.space == StateSpace::shared) return records.stored_cause(from, at);
    const std::int64_t in_frame =
        from.space == StateSpace::local ? warp_.local_at(lane, from.data + at) : std::int64_t{-1};
    return in_frame < 0 ? nullptr : undefined_.local().find(in_frame);
  }

  Warp& warp_;
  Undefined& undefined_;
  const Path& path_;
  const Step& step_;
  Lanes lanes_;
  const std::vector<Place>& to_;
  Undefined::Cause cause_ = {};
  std::array<Buffer, kLanes> values_, bits_;
};

// Whether several lanes have one address.
bool are_alike(Warp& warp, const Path& path, const Step& step, Lanes lanes) {
  const std::uint64_t first = address_of(warp, path, step, 2, std::countr_zero(lanes));
  bool out = !std::has_single_bit(lanes);
  for_each_lane(lanes, [&](int lane) { out = out && address_of(warp, path, step, 2, lane) == first; });
  return out;
}

}  // namespace

Next load(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const std::vector<Place>& to = warp.program().places[static_cast<std::size_t>(step.extra)];
  const std::size_t size = step.access.bytes, bytes = size * step.access.count;
  Resolver resolver(warp, path, step);
  Records records(warp, step);
  Loaded loaded(warp, path, step, lanes, to);
  // Lanes that load from one place find one value there, with what was left there, whatever other blocks do meanwhile: a GPU
  // reads it once for all.
  const std::byte* place = nullptr;
  std::optional<block::Messages::Held> held;
  // A parameter of the kernel is the same for all lanes.
  const bool of_name = step.access.space == StateSpace::param && step.place[2].kind == Place::Kind::constant;
  const bool may_be_global = step.access.generic || step.access.space == StateSpace::global;
  const bool alike = may_be_global && warp.block().checks() && are_alike(warp, path, step, lanes);
  for (Lanes rest = of_name ? lanes & -lanes : lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::uint64_t address = address_of(warp, path, step, 2, lane);
    const Target from = resolver.resolve(lane, address, bytes, false);
    if (from.data == nullptr) return Next::end;
    const bool as_one = alike && records.is_global(from);
    if (!as_one && !records.loads(lane, from, bytes)) return records.refused();
    if (as_one && rest == lanes && !records.loads_alike(lanes, from, bytes)) return records.refused();
    if (from.data != place) {
      held.reset();
      held.emplace(records.hold(from, bytes));
      place = from.data;
    }
    std::memcpy(loaded.value(lane), from.data, bytes);
    records.takes(*held, from, lane);
    if (warp.undefined().active()) loaded.take(lane, from, address, records.undefined(from, bytes), records);
  }
  loaded.write(of_name);
  return Next::step;
}

namespace {

bool is_defined(const Buffer& undefined) {
  return undefined == Buffer{};
}

// What lanes store, with its undefined bits.
class Storing {
 public:
  Storing(Warp& warp, const Path& path, const Step& step, Lanes lanes, Records& records)
      : warp_(warp), path_(path), step_(step), lanes_(lanes), records_(records), from_(places_of(warp, step)) {}

  std::size_t bytes() const { return std::size_t{step_.access.bytes} * step_.access.count; }
  Buffer value(int lane) const {
    return bytes_of([&](const Place& place) { return warp_.read(path_, place, lane); });
  }
  Buffer undefined(int lane) const {
    if (!warp_.undefined().active()) return {};
    return bytes_of([&](const Place& place) { return warp_.undefined().read(path_, place, lane); });
  }
  const std::vector<Place>& from() const { return from_; }
  void put(int lane, const Target& to, const Buffer& value, const Buffer& bits) {
    std::memcpy(to.data, value.data(), bytes());
    if (to.defined != nullptr || warp_.undefined().active()) records_.stored(to, bytes(), &bits);
    if (!is_defined(bits)) put_causes(lane, to);
    if (to.space != StateSpace::shared) return;
    shared_ |= Lanes{1} << lane;
    data_[static_cast<std::size_t>(lane)] = to.data;
    block_[static_cast<std::size_t>(lane)] = to.block;
  }
  /// Where lanes have stored to one place of shared memory, what stays there.
  void end() {
    if (!some_share()) return;
    in_store_order(shared_, bytes(), [&](int lane) {
      const auto i = static_cast<std::size_t>(lane);
      const Target to{data_[i], StateSpace::shared, block_[i]};
      const Buffer value = this->value(lane);
      records_.writes_again(lane, to, std::span(value).first(bytes()));
      put(lane, to, value, undefined(lane));
    });
  }

 private:
  static const std::vector<Place>& places_of(const Warp& warp, const Step& step) {
    return warp.program().places[static_cast<std::size_t>(step.extra)];
  }
  template <class Read>
  Buffer bytes_of(Read read) const {
    Buffer out = {};
    for_each_element(step_.access, from_, [&](const Place& place, std::size_t at, std::size_t count) {
      const std::uint64_t bits = read(place);
      std::memcpy(out.data() + at, &bits, count);
    });
    return out;
  }
  void put_causes(int lane, const Target& to) {
    Undefined& undefined = warp_.undefined();
    for_each_element(step_.access, from_, [&](const Place& place, std::size_t at, std::size_t count) {
      const UndefinedCause cause = undefined.cause_of_store(path_, place, step_, lanes_);
      if (to.space == StateSpace::shared) return records_.store_cause(to, at, count, cause);
      const std::int64_t in_frame =
          to.space == StateSpace::local ? warp_.local_at(lane, to.data + at) : std::int64_t{-1};
      if (in_frame >= 0) undefined.local().store(in_frame, static_cast<std::int64_t>(count), cause);
    });
  }
  bool some_share() const {
    for (Lanes rest = shared_; rest != 0; rest &= rest - 1)
      for (Lanes other = rest & (rest - 1); other != 0; other &= other - 1)
        if (data_[static_cast<std::size_t>(std::countr_zero(rest))] ==
            data_[static_cast<std::size_t>(std::countr_zero(other))])
          return true;
    return false;
  }

  Warp& warp_;
  const Path& path_;
  const Step& step_;
  Lanes lanes_, shared_ = 0;
  Records& records_;
  const std::vector<Place>& from_;
  std::array<std::byte*, kLanes> data_;  // of lanes that store to shared memory
  std::array<Block*, kLanes> block_;
};

}  // namespace

bool allows_undefined(Warp& warp, const Path& path, const Step& step, Lanes lanes,
                      const std::vector<Place>& from) {
  const std::uint64_t mask = ones(std::min(8 * step.access.bytes, 64));
  const auto has_value = [&](int lane) {
    return std::ranges::any_of(
        from, [&](const Place& place) { return (~warp.undefined().read(path, place, lane) & mask) != 0; });
  };
  bool is_part = step.access.strong && step.access.bytes != 16;
  for_each_lane(is_part ? lanes : 0, [&](int lane) { is_part = is_part && has_value(lane); });
  for (const Place& place : from) {
    Lanes without = 0;
    if (step.access.bytes == 16)
      without = warp.undefined().lanes_of(path, place, lanes);
    else
      for_each_lane(lanes, [&](int lane) {
        without |= Lanes{(warp.undefined().read(path, place, lane) & mask) != 0} << lane;
      });
    if (without != 0 && !warp.undefined().stores(path, step, place, without, step.access.bytes, is_part))
      return false;
  }
  return true;
}

Next store(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  Resolver resolver(warp, path, step);
  Records records(warp, step);
  Storing storing(warp, path, step, lanes, records);
  const std::size_t bytes = storing.bytes();
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const Target to = resolver.resolve(lane, address_of(warp, path, step, 2, lane), bytes, true);
    if (to.data == nullptr) return Next::end;
    const Buffer value = storing.value(lane), bits = storing.undefined(lane);
    const bool is_output = to.space == StateSpace::global && to.defined == nullptr;
    if (is_output && !is_defined(bits) && !allows_undefined(warp, path, step, lanes, storing.from()))
      return Next::end;
    auto held = records.hold(to, bytes);  // who sees the bytes finds what has been left with them
    if (!records.writes(lane, to, std::span(value).first(bytes))) return Next::end;
    storing.put(lane, to, value, bits);
    records.leaves(held, lane, lanes, false);
    if (step.access.strong && !records.writes_lock(to, lane)) return Next::end;
  }
  storing.end();
  return Next::step;
}

// Bytes of global memory have no value from now on.
Next discard(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  Resolver resolver(warp, path, step);
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const std::uint64_t address = address_of(warp, path, step, 2, lane);
    const Target of = resolver.resolve(lane, address, step.access.bytes, false);
    if (of.data == nullptr) return Next::end;
    if (of.space != StateSpace::global) {
      warp.fault(path, Lanes{1} << lane,
                 {Errc::address_out_of_bounds,
                  {},
                  fmt::format("address {:#x}", address),
                  "discard takes addresses in global memory"});
      return Next::end;
    }
    if (of.defined != nullptr) std::fill_n(of.defined, step.access.bytes, std::byte{0});
  }
  return Next::step;
}

// ---- Asynchronous copies. The bytes beyond the source's size are zero. A copy is complete when the thread waits for it;
// where accesses are not checked, at once.

namespace {

// How many bytes of the source are copied.
std::size_t source_bytes(Warp& warp, const Path& path, const Step& step, int lane) {
  const std::size_t size = step.access.bytes;
  const Place& given = step.place[4];
  if (!given.exists()) return size;
  const std::uint64_t value = warp.read(path, given, lane);
  if (given.kind == Place::Kind::predicate) return value != 0 ? 0 : size;  // ignore-src
  return std::min<std::size_t>(value, size);
}

}  // namespace

Next copy_async(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  warp.block().checked.copies += static_cast<std::uint64_t>(lanes_in(lanes));
  if (const std::optional<Next> done = copy_async_at_once(warp, path, step, lanes)) return *done;
  Step to_step = step, from_step = step;
  to_step.access.space = StateSpace::shared;
  from_step.access.space = StateSpace::global;
  from_step.access.variable = -1;  // it is that of the other side
  to_step.access.generic = from_step.access.generic = false;
  Resolver to_shared(warp, path, to_step), from_global(warp, path, from_step);
  Block& block = warp.block();
  const auto size = static_cast<int>(step.access.bytes);
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const std::size_t count = source_bytes(warp, path, step, lane);
    const Target to =
        to_shared.resolve(lane, address_of(warp, path, to_step, 2, lane), step.access.bytes, true);
    if (to.data == nullptr) return Next::end;
    std::array<std::byte, 16> bytes = {};
    Target from;
    if (count > 0) {
      const std::uint64_t source =
          warp.read(path, step.place[3], lane) + static_cast<std::uint64_t>(step.target);
      from = from_global.resolve(lane, source, count, false, step.access.bytes);
      if (from.data == nullptr) return Next::end;
      std::memcpy(bytes.data(), from.data, count);
    }
    if (!block.checks()) {
      std::memcpy(to.data, bytes.data(), step.access.bytes);
      continue;
    }
    const std::int64_t at = to.data - block.shared().data();
    if (!block.allows(block.accesses().copy_async({}, block.accesses().view(at), bytes, size,
                                                  Block::who(warp, step, lane))))
      return Next::end;
    if (from.data != nullptr && !Records(warp, step).copies_async(lane, from, count)) return Next::end;
  }
  return Next::step;
}

Next commit_group(Warp& warp, Path&, const Step&, Lanes lanes) {
  for_each_lane(
      lanes, [&](int lane) { warp.block().accesses().commit_group(warp.number_in_cluster() * kLanes + lane); });
  return Next::step;
}

Next wait_group(Warp& warp, Path&, const Step& step, Lanes lanes) {
  block::Shared& shared = warp.block().accesses();
  for_each_lane(lanes, [&](int lane) {
    const int thread = warp.number_in_cluster() * kLanes + lane;
    if (step.target < 0) shared.commit_group(thread);  // wait_all
    shared.wait_group(thread, static_cast<unsigned>(std::max(step.target, 0)), Block::who(warp, step, lane).at);
  });
  return Next::step;
}

}  // namespace warpbit::grid::steps
