// SPDX-License-Identifier: Apache-2.0
// Loads and stores of all lanes at once, for the common cases: elements as wide as their registers, in shared memory or in one
// range of global memory. Everything else, and every fault, is left to the specification (access.cpp), before anything is done.
#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "grid/bounds.hpp"
#include "grid/records.hpp"

namespace warpbit::grid::steps {
namespace {

using ptx::StateSpace;

/// Where the bytes of each lane lie. In a row all lanes are there, and those of each behind those of the one before: most warps
/// access memory so, and the record and the copy take them as one.
struct Targets {
  std::array<std::byte*, kLanes> data;  ///< in a row, of the first lane alone
  std::size_t bytes = 0;
  StateSpace space = StateSpace::global;
  bool is_row = false;

  std::byte* operator[](std::size_t lane) const { return is_row ? data[0] + lane * bytes : data[lane]; }
};

using LaneAddresses = std::array<std::uint64_t, kLanes>;

LaneAddresses addresses_of(Warp& warp, const Path& path, const Step& step) {
  LaneAddresses out;
  const Place& base = step.place[2];
  const std::uint32_t* const slot = warp.at(path, base);
  const auto offset = static_cast<std::uint64_t>(step.access.offset);
  if (base.bits == 64) {
    std::memcpy(out.data(), slot, sizeof out);
    for (std::uint64_t& address : out) address += offset;
  } else {
    const std::uint32_t mask = std::numeric_limits<std::uint32_t>::max() >> (32 - base.bits);
    for (std::size_t lane = 0; lane < kLanes; ++lane) out[lane] = (slot[lane] & mask) + offset;
  }
  return out;
}

// The memory in which the first lane's address lies.
struct Area {
  std::uint64_t first = 0, bytes = 0;
  std::byte* data = nullptr;
  StateSpace space = StateSpace::global;
};
Area area_of(Warp& warp, const Step& step, std::uint64_t address, std::uint64_t bytes, bool writes) {
  const std::span<std::byte> shared = warp.block().shared();
  const bool in_window = step.access.generic && address - kSharedWindow < kWindowBytes;
  const std::uint64_t base = warp.block().shared_base();  // others are left to the specification
  if (in_window) return {kSharedWindow + base, shared.size(), shared.data(), StateSpace::shared};
  if (step.access.space == StateSpace::shared) return {base, shared.size(), shared.data(), StateSpace::shared};
  if (step.access.space == StateSpace::constant && address >= kParameters) return {};
  const GlobalMemory::Range* const range = warp.block().grid().memory.find(address, bytes);
  if (range == nullptr || range->defined != nullptr || (writes && !range->writable)) return {};
  return {range->address, range->bytes, range->data, StateSpace::global};
}

// The part of an area in which a step's bytes must lie; no data if the area has not all of it.
Area narrowed(Area area, Warp& warp, const Path& path, const Access& access) {
  const std::optional<Bounds> bounds = bounds_of(warp, path, access);
  if (!bounds || area.data == nullptr) return area;
  const bool is_shared = area.space == StateSpace::shared;
  const std::uint64_t at = bounds->first - (is_shared ? 0 : place_in_space(access, area.first));
  if (at > area.bytes || bounds->bytes > area.bytes - at) return {};
  return {area.first + at, bounds->bytes, area.data + at, area.space};
}

bool are_row(const LaneAddresses& addresses, std::uint64_t bytes) {
  std::uint64_t apart = addresses[kLanes - 1] ^ (addresses[0] + (kLanes - 1) * bytes);
  if (apart != 0) return false;
  for (std::size_t lane = 0; lane < kLanes; ++lane) apart |= addresses[lane] ^ (addresses[0] + lane * bytes);
  return apart == 0;
}

// False if it is not the common case.
bool find(Warp& warp, const Path& path, const Step& step, Lanes lanes, bool writes, Targets& out) {
  if (warp.block().grid().execute.kernel == Kernel::reference) return false;
  LaneAddresses addresses = addresses_of(warp, path, step);
  const bool window = step.access.space == StateSpace::shared && !step.access.generic;
  if (window)
    for (std::uint64_t& address : addresses)
      address = step.place[2].bits == 64 ? window_address(address, kSharedWindow)
                                         : static_cast<std::uint32_t>(address);
  const std::uint64_t bytes = std::uint64_t{step.access.bytes} * step.access.count;
  const std::uint64_t first = addresses[static_cast<std::size_t>(std::countr_zero(lanes))];
  const Area area = narrowed(area_of(warp, step, first, bytes, writes), warp, path, step.access);
  if (area.data == nullptr || area.bytes < bytes) return false;
  out.space = area.space;
  out.bytes = bytes;
  out.is_row = lanes == kAllLanes && are_row(addresses, bytes);
  if (out.is_row) {
    const std::uint64_t offset = first - area.first, all = kLanes * bytes;
    if (area.bytes < all || offset > area.bytes - all || (first & (bytes - 1)) != 0) return false;
    out.data[0] = area.data + offset;
    return true;
  }
  const std::uint64_t last = area.bytes - bytes;
  bool common = true;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t offset = addresses[lane] - area.first;
    const bool is_here = (lanes >> lane & 1) != 0;
    const bool fits = offset <= last && (addresses[lane] & (bytes - 1)) == 0;
    common = common && (!is_here || fits);
    out.data[lane] = area.data + (is_here && fits ? offset : 0);
  }
  return common;
}

bool is_common(const Step& step, const std::vector<Place>& places) {
  if (step.access.in_frame || step.access.space == StateSpace::local || step.access.space == StateSpace::param)
    return false;
  const int bits = 8 * step.access.bytes;
  if (bits > 64 || !std::has_single_bit(std::uint32_t{step.access.bytes} * step.access.count)) return false;
  for (const Place& place : places) {
    if (place.kind != Place::Kind::reg && place.kind != Place::Kind::constant) return false;
    const bool fits = bits >= 32 ? place.bits == bits : place.bits <= 32 && !step.access.sign_extends;
    if (!fits) return false;
  }
  return true;
}

// Elements of a lane's bytes <-> slots of 32 or 64 bits.
template <class Element, int Cells>
void load_element(const Targets& from, std::size_t at, std::uint32_t* slot, Lanes lanes) {
  for_each_lane(lanes, [&](int lane) {
    Element value;
    std::memcpy(&value, from[static_cast<std::size_t>(lane)] + at, sizeof value);
    const std::conditional_t<Cells == 2, std::uint64_t, std::uint32_t> cell = value;
    std::memcpy(slot + Cells * lane, &cell, sizeof cell);
  });
}
template <class Element, int Cells>
void put_element(const std::uint32_t* slot, std::byte* values, std::size_t stride) {
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    std::memcpy(values + lane * stride, slot + Cells * lane, sizeof(Element));
}

// The bytes of a lane: most have as many as one of these, for which a copy is no call.
void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  switch (bytes) {
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    case 16: std::memcpy(to, from, 16); break;
    default: std::memcpy(to, from, bytes); break;
  }
}

/// What lanes store: that of a lane from so many bytes on as that of the one before. A slot of 32 or 64 bits has the bytes of an
/// element already.
struct Values {
  const std::byte* first;
  std::size_t stride;
};
using ValueBuffer = std::array<std::byte, kLanes * kMaxAccess>;
Values values_of(Warp& warp, const Path& path, const Access& access, const std::vector<Place>& from,
                 ValueBuffer& buffer) {
  const std::size_t size = access.bytes, stride = size * from.size();
  if (from.size() == 1)
    return {reinterpret_cast<const std::byte*>(warp.at(path, from.front())), size == 8 ? 8U : 4U};
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::uint32_t* const slot = warp.at(path, from[i]);
    std::byte* const to = buffer.data() + size * i;
    switch (size) {
      case 1: put_element<std::uint8_t, 1>(slot, to, stride); break;
      case 2: put_element<std::uint16_t, 1>(slot, to, stride); break;
      case 4: put_element<std::uint32_t, 1>(slot, to, stride); break;
      default: put_element<std::uint64_t, 2>(slot, to, stride); break;
    }
  }
  return {buffer.data(), stride};
}

// Words of shared memory, one for each of all lanes, that nobody checks. False if it is another case.
bool load_words(Warp& warp, Path& path, const Step& step, const Place& to) {
  const std::span<const std::byte> memory = warp.block().shared();
  const Place& base = step.place[2];
  if (step.access.bytes != 4 || step.access.count != 1 || step.access.generic || base.bits != 32 ||
      memory.size() < 4 || step.access.space != StateSpace::shared || warp.block().checks() ||
      warp.block().grid().execute.kernel == Kernel::reference)
    return false;
  const std::uint32_t* const addresses = warp.at(path, base);
  const auto offset =
      static_cast<std::uint32_t>(step.access.offset) - static_cast<std::uint32_t>(warp.block().shared_base());
  const auto last = static_cast<std::uint32_t>(std::min<std::size_t>(memory.size() - 4, 0xFFFF'FFFC));
  std::array<std::uint32_t, kLanes> at;
  std::uint32_t wrong = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    at[lane] = addresses[lane] + offset;
    wrong |= (at[lane] & 3) | (at[lane] > last ? 1U : 0U);
  }
  if (wrong != 0) return false;
  std::uint32_t* const slot = warp.at(path, to);
  for (std::size_t lane = 0; lane < kLanes; ++lane) std::memcpy(slot + lane, memory.data() + at[lane], 4);
  return true;
}

// False after a fault, and where the step is done again. `values`: what is stored.
bool record_global(Records& records, Warp& warp, Lanes lanes, const Targets& at, std::size_t bytes,
                   Values values = {nullptr, 0}) {
  if (warp.block().grid().accesses == nullptr) return true;
  const GlobalLanes what{lanes, at.data, bytes, values.first, values.stride, at.is_row};
  const bool reads = values.first == nullptr;
  const bool goes_on = reads ? !records.may_meet_write(what.of(std::countr_zero(lanes))) || records.loads(what)
                             : records.global(what, true);
  if (goes_on || records.refused() == Next::end) records.count(StateSpace::global, lanes_in(lanes));
  return goes_on;
}

// The places of the lanes in shared memory.
block::LaneAccesses in_shared(const Records& records, Warp& warp, Lanes lanes, const Targets& at,
                              std::size_t bytes) {
  block::LaneAccesses out = records.of(lanes, bytes);
  const std::byte* const memory = warp.block().shared().data();
  for (std::size_t lane = 0; lane < kLanes; ++lane) out.first[lane] = at[lane] - memory;
  return out;
}

}  // namespace

Next vector_load(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  if (const Place& first = warp.program().places[static_cast<std::size_t>(step.extra)].front();
      lanes == kAllLanes && load_words(warp, path, step, first))
    return Next::step;
  Targets from;
  if (warp.undefined().active() || !find(warp, path, step, lanes, false, from))
    return load(warp, path, step, lanes);
  const std::vector<Place>& to = warp.program().places[static_cast<std::size_t>(step.extra)];
  const std::size_t size = step.access.bytes;
  Records records(warp, step);
  if (from.space == StateSpace::global && !record_global(records, warp, lanes, from, size * step.access.count))
    return records.refused();
  if (from.space == StateSpace::shared && warp.block().checks() &&
      !records.loads(in_shared(records, warp, lanes, from, size * step.access.count)))
    return records.refused();
  if (from.is_row && to.size() == 1 && size >= 4) {
    std::memcpy(warp.at(path, to.front()), from.data.front(), kLanes * size);
    return Next::step;
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::uint32_t* const slot = warp.at(path, to[i]);
    switch (size) {
      case 1: load_element<std::uint8_t, 1>(from, i, slot, lanes); break;
      case 2: load_element<std::uint16_t, 1>(from, 2 * i, slot, lanes); break;
      case 4: load_element<std::uint32_t, 1>(from, 4 * i, slot, lanes); break;
      default: load_element<std::uint64_t, 2>(from, 8 * i, slot, lanes); break;
    }
  }
  return Next::step;
}

Next vector_store(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  Targets to;
  if (warp.undefined().active() || !find(warp, path, step, lanes, true, to))
    return store(warp, path, step, lanes);
  const std::vector<Place>& from = warp.program().places[static_cast<std::size_t>(step.extra)];
  const std::size_t bytes = std::size_t{step.access.bytes} * step.access.count;
  ValueBuffer buffer;
  const Values values = values_of(warp, path, step.access, from, buffer);
  Records records(warp, step);
  if (to.space == StateSpace::shared)
    return records.stores(in_shared(records, warp, lanes, to, bytes), values.first, values.stride) ? Next::step
                                                                                                   : Next::end;
  if (warp.block().grid().accesses != nullptr)
    return record_global(records, warp, lanes, to, bytes, values) ? Next::step : Next::end;
  if (to.is_row && values.stride == bytes) {
    std::memcpy(to.data.front(), values.first, kLanes * bytes);
    return Next::step;
  }
  for_each_lane(lanes, [&](int i) {
    const auto lane = static_cast<std::size_t>(i);
    copy_bytes(to[lane], values.first + lane * values.stride, bytes);
  });
  return Next::step;
}

// Where all bytes are copied, and each address is where it should be.
std::optional<Next> copy_async_at_once(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  Block& block = warp.block();
  const std::uint64_t bytes = step.access.bytes, last = block.shared().size() - bytes;
  const Place &to = step.place[2], &from = step.place[3];
  const bool reference = block.grid().execute.kernel == Kernel::reference;
  if (reference || step.place[4].exists() || from.bits != 64 || step.access.in_frame ||
      block.shared().size() < bytes)
    return {};
  std::array<std::uint64_t, kLanes> source;
  std::memcpy(source.data(), warp.at(path, from), sizeof source);
  LaneAddresses target = addresses_of(warp, path, step);
  for (std::uint64_t& address : source) address += static_cast<std::uint64_t>(step.target);
  const GlobalMemory::Range* const range =
      block.grid().memory.find(source[static_cast<std::size_t>(std::countr_zero(lanes))], bytes);
  if (range == nullptr || range->defined != nullptr || to.kind == Place::Kind::predicate) return {};
  const Bounds bounds = bounds_of(warp, path, step.access).value_or(Bounds{0, block.shared().size()});
  const std::uint64_t last_source = range->bytes - bytes;
  bool there = true;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    // Tiles come from far: the lines of all lanes are on their way at once. A wrong address does no harm.
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(range->data) +
                                                     (source[lane] - range->address)));
    target[lane] = window_address(target[lane], kSharedWindow) - block.shared_base();
    const bool fits = ((target[lane] | source[lane]) & (bytes - 1)) == 0 && target[lane] <= last &&
                      bounds.hold(target[lane], bytes) && source[lane] - range->address <= last_source;
    there = there && (fits || (lanes >> lane & 1) == 0);
  }
  if (!there) return {};
  const auto copy = [&](std::size_t lane, std::byte* d) {
    const std::byte* const s = range->data + (source[lane] - range->address);
    copy_bytes(d, s, bytes);
  };
  if (!block.checks()) {
    for_each_lane(lanes, [&](int i) {
      const auto lane = static_cast<std::size_t>(i);
      copy(lane, block.shared().data() + target[lane]);
    });
    return Next::step;
  }
  Records records(warp, step);
  block::LaneAccesses accesses = records.of(lanes, bytes);
  std::array<block::CopiedBytes, kLanes> copied;
  for_each_lane(lanes, [&](int i) {
    const auto lane = static_cast<std::size_t>(i);
    accesses.first[lane] = static_cast<std::int64_t>(target[lane]);
    copy(lane, copied[lane].data());
  });
  std::array<std::byte*, kLanes> read;
  for_each_lane(lanes, [&](int i) {
    const auto lane = static_cast<std::size_t>(i);
    read[lane] = range->data + (source[lane] - range->address);
  });
  const bool is_row = lanes == kAllLanes && are_row(source, bytes);
  return records.begins(accesses, copied) && records.copies_async({lanes, read, bytes, nullptr, 0, is_row})
             ? Next::step
             : Next::end;
}

Run access(const Step& step, const std::vector<Place>& places, bool loads) {
  if (!step.access.strong && is_common(step, places)) return loads ? vector_load : vector_store;
  return loads ? load : store;
}

}  // namespace warpbit::grid::steps
