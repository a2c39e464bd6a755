// SPDX-License-Identifier: Apache-2.0
// Steps that access memory.
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <mutex>

#include "async/atomic.hpp"
#include "grid/bounds.hpp"
#include "grid/cluster.hpp"
#include "grid/records.hpp"
#include "grid/steps.hpp"

namespace warpbit::grid::steps {

// The bytes belong to the block that the address names; where only the own block's may be accessed, it must be this one.
Result<SharedBytes> find_shared(Warp& warp, const Step& step, int lane, std::uint64_t address,
                                std::uint64_t bytes, bool of_cluster, bool arrives) {
  Block& here = warp.block();
  const std::uint64_t rank = address >> kRankShift, offset = address & ((std::uint64_t{1} << kRankShift) - 1);
  Block* const block = here.cluster().block(rank);
  if (block == nullptr || (block != &here && !of_cluster)) {
    const std::size_t blocks = here.cluster().blocks().size();
    return Error{Errc::address_out_of_bounds,
                 {},
                 fmt::format("{} bytes from {:#x} of shared memory on", bytes, address),
                 blocks == 1 ? fmt::format("the block has {} bytes", here.shared().size())
                 : block == nullptr
                     ? fmt::format("the cluster has {} blocks of {} bytes", blocks, here.shared().size())
                     : fmt::format("they are of block {} of the cluster: .shared::cluster, or a generic "
                                   "address, accesses them",
                                   rank)};
  }
  const std::uint64_t size = block->shared().size();
  if (bytes > size || offset > size - bytes)
    return Error{Errc::address_out_of_bounds,
                 {},
                 fmt::format("{} bytes from {:#x} of shared memory on", bytes, address),
                 fmt::format("the block has {} bytes", size)};
  if (block == &here) return SharedBytes{block, offset};
  if (!here.async().cluster.may_access(here.async(), block->async(), Block::who(warp, step, lane), arrives))
    return here.found()->error;
  return SharedBytes{block, offset};
}

namespace {

using ptx::StateSpace;

class Resolver {
 public:
  Resolver(Warp& warp, Path& path, const Step& step)
      : warp_(warp), path_(path), step_(step), bounds_(bounds_of(warp, path, step.access)) {}

  /// data is nullptr after a fault.
  Target resolve(int lane, std::uint64_t address, std::uint64_t bytes, bool writes) {
    if (address % std::bit_floor(bytes) != 0)
      return fault(lane, {Errc::address_misaligned,
                          {},
                          fmt::format("address {:#x}", address),
                          fmt::format("it must be a multiple of {}", std::bit_floor(bytes))});
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
      default: return global(lane, address, bytes, writes);
    }
  }

 private:
  Target fault(int lane, Error error) {
    warp_.fault(path_, Lanes{1} << lane, std::move(error));
    return {};
  }
  Target shared(int lane, std::uint64_t address, std::uint64_t bytes, bool of_cluster) {
    Result<SharedBytes> found = find_shared(warp_, step_, lane, address, bytes, of_cluster);
    if (found) return {found->block->shared().data() + found->offset, StateSpace::shared, found->block};
    return fault(lane, found.error());
  }
  Target local(int lane, std::uint64_t address, std::uint64_t bytes) {
    const Target out = local_bytes(warp_, lane, address, bytes);
    if (out.data != nullptr) return out;
    return fault(lane, {Errc::address_out_of_bounds,
                        {},
                        fmt::format("{} bytes from {:#x} of local memory on", bytes, address),
                        "a thread has 512 KiB"});
  }
  // Of the kernel, by its place in all of them.
  Target parameter(int lane, std::uint64_t address, std::uint64_t bytes) {
    const std::span<const std::byte> memory = warp_.block().grid().parameters;
    if (bytes <= memory.size() && address <= memory.size() - bytes)
      return {const_cast<std::byte*>(memory.data()) + address,
              StateSpace::param};  // loads alone have this space
    return fault(lane, {Errc::address_out_of_bounds,
                        {},
                        fmt::format("{} bytes from {:#x} of the parameters on", bytes, address),
                        fmt::format("there are {} bytes", memory.size())});
  }
  Target global(int lane, std::uint64_t address, std::uint64_t bytes, bool writes) {
    const GlobalMemory& memory = warp_.block().grid().memory;
    const GlobalMemory::Range* range = last_ != nullptr && last_->has(address, bytes) ? last_ : nullptr;
    if (range == nullptr) range = last_ = memory.find(address, bytes);
    if (range == nullptr) return fault(lane, beyond_global(warp_.block().grid(), address, bytes));
    if (writes && !range->writable) return fault(lane, written_to(*range));
    std::byte* defined = range->defined_at(address);
    // The host reads what is stored to an array: that needs values, as elsewhere in global memory.
    if (writes && range->heap == nullptr && defined != nullptr) {
      std::fill_n(defined, bytes, std::byte{0xFF});
      defined = nullptr;
    }
    return {range->data + (address - range->address), StateSpace::global, nullptr, defined, address};
  }
  Warp& warp_;
  Path& path_;
  const Step& step_;
  std::optional<Bounds> bounds_;
  const GlobalMemory::Range* last_ = nullptr;  // in which a lane's bytes lay
};

std::uint64_t address_of(Warp& warp, const Path& path, const Step& step, std::size_t place, int lane) {
  const std::uint64_t base = warp.read(path, step.place[place], lane);
  const std::uint64_t out =
      base + static_cast<std::uint64_t>(step.access.offset + (step.access.in_frame ? path.local : 0));
  // Windows have 32-bit addresses: their registers may have 32 bits.
  const bool window = step.access.space == StateSpace::shared || step.access.space == StateSpace::local ||
                      step.access.space == StateSpace::param;
  return step.access.generic || !window ? out : static_cast<std::uint32_t>(out);
}

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

// The undefined bits of what lanes have loaded.
class Loaded {
 public:
  Loaded(Warp& warp, const Path& path, const Step& step, Lanes lanes, const std::vector<Place>& to)
      : warp_(warp), undefined_(warp.undefined()), path_(path), step_(step), lanes_(lanes), to_(to) {}

  void take(int lane, const Target& from, std::uint64_t address, const Buffer& bits) {
    for_each_element(step_.access, to_, [&](const Place& place, std::size_t at, std::size_t bytes) {
      undefined_.write(path_, place, lane, extended(get(bits.data() + at, bytes), step_.access));
    });
    const auto first = std::ranges::find_if(bits, [](std::byte one) { return one != std::byte{0}; });
    if (first == bits.end() || cause_.lanes != 0) return;
    using From = Undefined::Cause::From;
    cause_ = {from.space == StateSpace::shared  ? From::shared
              : from.space == StateSpace::local ? From::local
              : address - kHeap < Heap::kBytes  ? From::heap
                                                : From::array,
              static_cast<std::int64_t>(address) + (first - bits.begin()), warp_.site(step_), lanes_};
    if (from.space != StateSpace::local) return;
    if (const std::int64_t in_frame = warp_.local_at(lane, from.data + (first - bits.begin())); in_frame >= 0)
      if (const auto* const stored = undefined_.cause_of_local(in_frame)) cause_ = *stored;
  }
  void done() {
    if (cause_.lanes != 0) undefined_.come_from(path_, to_, cause_);
  }

 private:
  const Warp& warp_;
  Undefined& undefined_;
  const Path& path_;
  const Step& step_;
  Lanes lanes_;
  const std::vector<Place>& to_;
  Undefined::Cause cause_ = {};
};

}  // namespace

Next load(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const std::vector<Place>& to = warp.program().places[static_cast<std::size_t>(step.extra)];
  const std::size_t size = step.access.bytes, bytes = size * step.access.count;
  Resolver resolver(warp, path, step);
  Records records(warp, step);
  Loaded loaded(warp, path, step, lanes, to);
  const bool of_name = step.access.space == StateSpace::param && step.place[2].kind == Place::Kind::constant;
  for (Lanes rest = lanes, alike; rest != 0; rest &= ~alike) {
    const int lane = std::countr_zero(rest);
    alike = of_name ? rest : Lanes{1} << lane;  // a parameter of the kernel is the same for all lanes
    const std::uint64_t address = address_of(warp, path, step, 2, lane);
    const Target from = resolver.resolve(lane, address, bytes, false);
    if (from.data == nullptr) return Next::end;
    if (!records.loads(lane, from, bytes)) return records.refused();
    Buffer value;
    const auto held = records.hold(from, bytes);
    std::memcpy(value.data(), from.data, bytes);
    records.takes(held, lane);
    for_each_element(step.access, to, [&](const Place& place, std::size_t at, std::size_t count) {
      const std::uint64_t bits = extended(get(value.data() + at, count), step.access);
      for_each_lane(alike, [&](int each) { warp.write(path, place, each, bits); });
    });
    if (warp.undefined().active()) {
      const Buffer undefined = records.undefined(from, bytes);
      for_each_lane(alike, [&](int each) { loaded.take(each, from, address, undefined); });
    }
  }
  loaded.done();
  return Next::step;
}

namespace {

// What a lane stores, by registers of values or of undefined bits.
template <class Read>
Buffer stored(const Access& access, const std::vector<Place>& from, Read read) {
  Buffer out = {};
  for_each_element(access, from, [&](const Place& place, std::size_t at, std::size_t count) {
    const std::uint64_t bits = read(place);
    std::memcpy(out.data() + at, &bits, count);
  });
  return out;
}

bool is_defined(const Buffer& undefined) {
  return undefined == Buffer{};
}

// Undefined bits are stored to global memory, where others read them. False after a fault.
bool allows_undefined(Warp& warp, const Path& path, const Step& step, Lanes lanes,
                      const std::vector<Place>& from) {
  const std::uint64_t mask = ones(std::min(8 * step.access.bytes, 64));
  for (const Place& place : from) {
    Lanes without = 0;
    if (step.access.bytes == 16)
      without = warp.undefined().lanes_of(path, place, lanes);
    else
      for_each_lane(lanes, [&](int lane) {
        without |= Lanes{(warp.undefined().read(path, place, lane) & mask) != 0} << lane;
      });
    if (without != 0 && !warp.undefined().fault(path, step, place, without)) return false;
  }
  return true;
}

}  // namespace

Next store(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const std::vector<Place>& from = warp.program().places[static_cast<std::size_t>(step.extra)];
  const std::size_t bytes = std::size_t{step.access.bytes} * step.access.count;
  Resolver resolver(warp, path, step);
  Records records(warp, step);
  Undefined& undefined = warp.undefined();
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const Target to = resolver.resolve(lane, address_of(warp, path, step, 2, lane), bytes, true);
    if (to.data == nullptr) return Next::end;
    const Buffer value =
        stored(step.access, from, [&](const Place& place) { return warp.read(path, place, lane); });
    Buffer bits = {};
    if (undefined.active())
      bits = stored(step.access, from, [&](const Place& place) { return undefined.read(path, place, lane); });
    const bool is_output = to.space == StateSpace::global && to.defined == nullptr;
    if (is_output && !is_defined(bits) && !allows_undefined(warp, path, step, lanes, from)) return Next::end;
    auto held = records.hold(to, bytes);  // who sees the bytes finds what has been left with them
    if (!records.writes(lane, to, std::span(value).first(bytes))) return Next::end;
    std::memcpy(to.data, value.data(), bytes);
    records.leaves(held, lane, lanes, false);
    if (to.defined != nullptr || undefined.active()) records.stored(to, bytes, &bits);
    if (to.space == StateSpace::local && !is_defined(bits))
      for_each_element(step.access, from, [&](const Place& place, std::size_t at, std::size_t count) {
        undefined.store_local(path, place, warp.local_at(lane, to.data + at), static_cast<std::int64_t>(count));
      });
  }
  return Next::step;
}

// ---- Atomics

namespace {

enum class Adds : std::uint8_t { nothing, integers, others };

struct Change {
  Atomic kind;
  const scalar::Operation* operation;
  Adds adds;  ///< the operation
  StateSpace space;
  std::uint64_t a, b;
};

Adds what_adds(const scalar::Operation* operation) {
  if (operation == nullptr || operation->function != scalar::Function::add) return Adds::nothing;
  return ptx::is_integer(operation->type) && !ptx::is_packed(operation->type) ? Adds::integers : Adds::others;
}

// In global memory the unit of the cache adds: f32 subnormals are flushed, an f64 NaN stays as it is, the added one's
// first.
std::uint64_t added_in_cache(const Change& change, std::uint64_t old) {
  scalar::Operation operation = *change.operation;
  if (operation.type == ptx::Type::f32) operation.ftz = true;
  if (operation.type == ptx::Type::f64) {
    const auto is_nan = [](std::uint64_t code) { return (code << 1) > std::uint64_t{0xFFE0'0000'0000'0000}; };
    if (is_nan(change.a)) return change.a;
    if (is_nan(old)) return old;
  }
  scalar::Sources sources;
  sources.value = {old, change.a};
  sources.count = 2;
  return scalar::execute(operation, sources).value;
}

std::uint64_t changed(const Change& change, std::uint64_t old) {
  const std::uint64_t mask = 0xFFFF'FFFF;
  switch (change.kind) {
    case Atomic::exchange: return change.a;
    case Atomic::compare: return old == change.a ? change.b : old;
    case Atomic::increment: return (old & mask) >= (change.a & mask) ? 0 : old + 1;
    case Atomic::decrement: return (old & mask) == 0 || (old & mask) > (change.a & mask) ? change.a : old - 1;
    case Atomic::operation: break;
  }
  if (change.adds == Adds::integers) return old + change.a;  // whose upper bits nobody takes
  const bool adds = change.adds != Adds::nothing;
  if (adds && change.space == StateSpace::global) return added_in_cache(change, old);
  // In shared memory the assembler adds in a loop, the old value last.
  scalar::Sources sources;
  sources.value = {old, change.a};
  if (adds) std::swap(sources.value[0], sources.value[1]);
  sources.count = 2;
  return scalar::execute(*change.operation, sources).value;
}

template <class T>
std::uint64_t apply(Block& block, std::byte* data, const Change& change) {
  return async::change_whole<T>(data, [&](T old) {
    const auto next = static_cast<T>(changed(change, old));
    if (next != old) block.changed();
    return next;
  });
}

std::uint64_t apply(Block& block, std::byte* data, std::size_t bytes, const Change& change) {
  switch (bytes) {
    case 2: return apply<std::uint16_t>(block, data, change);
    case 4: return apply<std::uint32_t>(block, data, change);
    default: return apply<std::uint64_t>(block, data, change);
  }
}

}  // namespace

namespace {

bool all_change_each(const Records& records, const std::array<Target, kLanes>& to, Lanes lanes) {
  bool out = true;
  for_each_lane(lanes,
                [&](int lane) { out = out && records.can_change_each(to[static_cast<std::size_t>(lane)]); });
  return out;
}

}  // namespace

Next atomic(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const std::size_t size = step.access.bytes;
  Resolver resolver(warp, path, step);
  Records records(warp, step);
  std::array<Target, kLanes> to = {};
  const bool compares = static_cast<Atomic>(step.target) == Atomic::compare,
             only_writes = static_cast<Atomic>(step.target) == Atomic::exchange && !step.result_is_read;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    Target& of = to[static_cast<std::size_t>(lane)];
    of = resolver.resolve(lane, address_of(warp, path, step, 2, lane), size, true);
    const bool reads = of.space == StateSpace::global ? compares : !only_writes;  // there a change is both
    if (of.data == nullptr || (reads && !records.reads(lane, of, size))) return Next::end;
  }
  const scalar::Operation* operation =
      step.extra < 0 ? nullptr : &warp.program().operations[static_cast<std::size_t>(step.extra)];
  const Adds adds = what_adds(operation);
  Lanes recorded = 0, allowed = lanes;
  if (!compares && all_change_each(records, to, lanes)) {
    std::array<std::byte*, kLanes> data;
    std::ranges::transform(to, data.begin(), &Target::data);
    recorded = lanes;
    allowed = records.changes_each({lanes, data, size});
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((allowed >> lane & 1) == 0) continue;
    const Target& of = to[static_cast<std::size_t>(lane)];
    const bool is_recorded = (recorded >> lane & 1) != 0;
    auto held = is_recorded ? block::Messages::Held() : records.hold(of, size);  // recorded in their order
    const bool is_later = compares && of.space == StateSpace::global;            // it may change nothing
    if (!is_recorded && !is_later && !records.changes(lane, of, size)) return Next::end;
    records.stored(of, size, nullptr);
    const Change change{static_cast<Atomic>(step.target),
                        operation,
                        adds,
                        of.space,
                        warp.read(path, step.place[3], lane),
                        step.place[4].exists() ? warp.read(path, step.place[4], lane) : 0};
    const std::uint64_t old = apply(warp.block(), of.data, size, change);
    if (step.place[0].exists()) records.takes(held, lane);
    const bool writes = !compares || old == (change.a & ones(static_cast<int>(8 * size)));
    if (is_later && writes && !records.changes(lane, of, size)) return Next::end;
    if (writes) records.leaves(held, lane, lanes, true);
    warp.write(path, step.place[0], lane, old);
  }
  return allowed == lanes ? Next::step : Next::end;
}

// Each element is atomic, not all of them together.
Next atomic_vector(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const std::size_t size = step.access.bytes, count = step.access.count;
  const std::vector<Place>& places = warp.program().places[static_cast<std::size_t>(step.target)];
  const scalar::Operation& operation = warp.program().operations[static_cast<std::size_t>(step.extra)];
  const Adds adds = what_adds(&operation);
  Resolver resolver(warp, path, step);
  Records records(warp, step);
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const Target to = resolver.resolve(lane, address_of(warp, path, step, 2, lane), size * count, true);
    if (to.data == nullptr) return Next::end;
    auto held = records.hold(to, size * count);
    if (!records.reads(lane, to, size * count) || !records.changes(lane, to, size * count)) return Next::end;
    std::array<std::uint64_t, 8> old = {};  // an addend may lie where an old value goes
    for (std::size_t i = 0; i < count; ++i)
      old[i] =
          apply(warp.block(), to.data + i * size, size,
                {Atomic::operation, &operation, adds, to.space, warp.read(path, places[count + i], lane), 0});
    if (places[0].exists()) records.takes(held, lane);
    records.leaves(held, lane, lanes, true);
    for (std::size_t i = 0; i < count; ++i) warp.write(path, places[i], lane, old[i]);
  }
  return Next::step;
}

namespace {

using Wide = std::array<std::uint64_t, 2>;

Wide read_wide(Warp& warp, const Path& path, const Place& place, int lane) {
  const auto [low, high] = halves(place);
  return {warp.read(path, low, lane), warp.read(path, high, lane)};
}

void write_wide(Warp& warp, const Path& path, const Place& place, int lane, const Wide& value) {
  const auto [low, high] = halves(place);
  warp.write(path, low, lane, value[0]);
  warp.write(path, high, lane, value[1]);
}

}  // namespace

Next atomic_128(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  Resolver resolver(warp, path, step);
  Records records(warp, step);
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const Target to = resolver.resolve(lane, address_of(warp, path, step, 2, lane), sizeof(Wide), true);
    if (to.data == nullptr) return Next::end;
    auto held = records.hold(to, sizeof(Wide));
    if (!records.reads(lane, to, sizeof(Wide)) || !records.changes(lane, to, sizeof(Wide))) return Next::end;
    const Wide a = read_wide(warp, path, step.place[3], lane);
    const bool compares = static_cast<Atomic>(step.target) == Atomic::compare;
    const Wide value = compares ? read_wide(warp, path, step.place[4], lane) : a;
    const std::lock_guard lock(async::one_at_a_time);
    Wide old;
    std::memcpy(old.data(), to.data, sizeof old);
    const bool writes = !compares || old == a;
    if (writes) std::memcpy(to.data, value.data(), sizeof value);
    if (writes && old != value) warp.block().changed();
    records.takes(held, lane);
    if (writes) records.leaves(held, lane, lanes, true);
    write_wide(warp, path, step.place[0], lane, old);
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
      from = from_global.resolve(lane, source, step.access.bytes, false);
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

// ---- Addresses

namespace {

std::uint64_t window(StateSpace space) {
  return space == StateSpace::shared ? kSharedWindow : space == StateSpace::local ? kLocalWindow : 0;
}

}  // namespace

Next to_generic(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const std::uint64_t base = window(step.access.space);
  for_each_lane(lanes, [&](int lane) {
    warp.write(path, step.place[0], lane, base + warp.read(path, step.place[2], lane));
  });
  return Next::step;
}
Next from_generic(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const std::uint64_t base = window(step.access.space);
  for_each_lane(lanes, [&](int lane) {
    warp.write(path, step.place[0], lane, warp.read(path, step.place[2], lane) - base);
  });
  return Next::step;
}
Next is_space(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  Lanes value = 0;
  for_each_lane(lanes, [&](int lane) {
    const std::uint64_t address = warp.read(path, step.place[2], lane);
    StateSpace in = StateSpace::global;
    if (address - kSharedWindow < kWindowBytes)
      in = StateSpace::shared;
    else if (address - kLocalWindow < kWindowBytes)
      in = StateSpace::local;
    else if (address >= kConstants && address < kParameters)
      in = StateSpace::constant;
    else if (address >= kParameters && address < kBuffers)
      in = StateSpace::param;
    const bool is_others =
        in == StateSpace::shared && !step.access.cluster &&
        (address - kSharedWindow) >> kRankShift != static_cast<std::uint64_t>(warp.block().rank());
    const bool is = in == step.access.space && !is_others;
    value |= Lanes{is} << lane;
  });
  warp.set(path, step.place[0], lanes, value);
  return Next::step;
}

Next map_address(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  constexpr std::uint64_t kRank = std::uint64_t{0xFF} << kRankShift;
  const std::size_t blocks = warp.block().cluster().blocks().size();
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const std::uint64_t rank = warp.read(path, step.place[3], lane);
    if (rank >= blocks)
      return warp.fault(path, Lanes{1} << lane,
                        {Errc::address_out_of_bounds,
                         {},
                         fmt::format("addresses of block {}", rank),
                         blocks == 1 ? std::string("the cluster has block 0 only")
                                     : fmt::format("the cluster has blocks 0 to {}", blocks - 1)});
    const std::uint64_t address = warp.read(path, step.place[2], lane);
    warp.write(path, step.place[0], lane, (address & ~kRank) | rank << kRankShift);
  }
  return Next::step;
}
Next rank_of_address(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  for_each_lane(lanes, [&](int lane) {
    warp.write(path, step.place[0], lane, warp.read(path, step.place[2], lane) >> kRankShift & 0xFF);
  });
  return Next::step;
}

// ---- The stack of alloca

Next allocate_on_stack(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const auto alignment = static_cast<std::uint64_t>(step.access.offset);
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const std::uint64_t bytes = warp.read(path, step.place[2], lane);
    const std::uint64_t at =
        (static_cast<std::uint64_t>(warp.stack(lane)) + alignment - 1) / alignment * alignment;
    if (bytes > kStackEnd || at + bytes > kStackEnd)
      return warp.fault(
          path, Lanes{1} << lane,
          {Errc::stack_overflow, {}, fmt::format("alloca of {} bytes", bytes), "a thread has 512 KiB"});
    warp.stack(lane) = static_cast<std::int64_t>(at + bytes);
    warp.write(path, step.place[0], lane, at);
  }
  return Next::step;
}
Next save_stack(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  for_each_lane(lanes, [&](int lane) {
    warp.write(path, step.place[0], lane, static_cast<std::uint64_t>(warp.stack(lane)));
  });
  return Next::step;
}
Next restore_stack(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const std::uint64_t to = warp.read(path, step.place[2], lane);
    if (to < kStack || to > static_cast<std::uint64_t>(warp.stack(lane)))
      return warp.fault(path, Lanes{1} << lane,
                        {Errc::address_out_of_bounds,
                         {},
                         fmt::format("stackrestore to {:#x}", to),
                         "what stacksave has returned"});
    warp.stack(lane) = static_cast<std::int64_t>(to);
  }
  return Next::step;
}

}  // namespace warpbit::grid::steps
