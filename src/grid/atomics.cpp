// SPDX-License-Identifier: Apache-2.0
// Atomics and reductions.
#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>

#include "async/atomic.hpp"
#include "grid/resolver.hpp"

namespace warpbit::grid::steps {

namespace {

using ptx::StateSpace;

enum class Adds : std::uint8_t { nothing, integers, others };

struct Change {
  Atomic kind;
  const scalar::Operation* operation;
  Adds adds;  ///< the operation
  StateSpace space;
  std::uint64_t a, b;
  bool noftz;
};

Adds what_adds(const scalar::Operation* operation) {
  if (operation == nullptr || operation->function != scalar::Function::add) return Adds::nothing;
  return ptx::is_integer(operation->type) && !ptx::is_packed(operation->type) ? Adds::integers : Adds::others;
}

// In global memory the unit of the cache adds: f32 subnormals are flushed, an f64 NaN stays as it is, the added one's
// first.
std::uint64_t added_in_cache(const Change& change, std::uint64_t old) {
  scalar::Operation operation = *change.operation;
  if (operation.type == ptx::Type::f32 && !change.noftz) operation.ftz = true;
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
    const bool is_change = of.space == StateSpace::global && of.is_written(size);  // there it is a read, too
    const bool reads = is_change ? compares : !only_writes;
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
                        step.place[4].exists() ? warp.read(path, step.place[4], lane) : 0,
                        step.access.noftz};
    const std::uint64_t old = apply(warp.block(), of.data, size, change);
    const bool writes = !compares || old == (change.a & ones(static_cast<int>(8 * size)));
    const bool takes_lock =
        step.place[kFreeValue].exists() && writes &&
        old == (warp.read(path, step.place[kFreeValue], lane) & ones(static_cast<int>(8 * size)));
    if (takes_lock) records.takes_lock(of, lane);
    if (step.place[0].exists()) records.takes(held, of, lane);
    if (is_later && writes && !records.changes(lane, of, size)) return Next::end;
    if (writes) records.leaves(held, lane, lanes, true);
    if (writes && !takes_lock && !records.writes_lock(of, lane)) return Next::end;
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
      old[i] = apply(warp.block(), to.data + i * size, size,
                     {Atomic::operation, &operation, adds, to.space, warp.read(path, places[count + i], lane),
                      0, step.access.noftz});
    if (places[0].exists()) records.takes(held, to, lane);
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
    records.takes(held, to, lane);
    if (writes) records.leaves(held, lane, lanes, true);
    write_wide(warp, path, step.place[0], lane, old);
  }
  return Next::step;
}

}  // namespace warpbit::grid::steps
