// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>

#include "grid/block.hpp"
#include "grid/steps.hpp"
#include "scalar/decompress.hpp"

namespace warpbit::grid::steps {

// The specification, lane by lane.
Next compute(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const scalar::Operation& operation = warp.program().operations[static_cast<std::size_t>(step.extra)];
  const Place carry{Place::Kind::predicate, 1, false, static_cast<std::uint32_t>(std::max(step.target, 0))};
  for_each_lane(lanes, [&](int lane) {
    scalar::Sources sources;
    sources.predicate = operation.predicate;
    for (std::size_t i = 2; i < step.place.size() && step.place[i].exists(); ++i) {
      const std::uint64_t value = warp.read(path, step.place[i], lane);
      if (step.place[i].kind == Place::Kind::predicate)
        sources.predicate = value != 0;
      else
        sources.value[static_cast<std::size_t>(sources.count++)] = value;
    }
    if (step.target >= 0) sources.carry = warp.read(path, carry, lane) != 0;
    scalar::Results results = scalar::execute(operation, sources);
    if (ptx::is_signed(operation.to) &&
        operation.function != scalar::Function::cvt_pack)  // into a wider register
      results.value = static_cast<std::uint64_t>(scalar::extend(results.value, ptx::bits(operation.to)));
    warp.write(path, step.place[0], lane, results.value);
    warp.write(path, step.place[1], lane, operation.carry ? results.carry : results.second);
  });
  return Next::step;
}

Next move(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  if (step.place[0].kind == Place::Kind::predicate) {
    const Place& a = step.place[2];
    Lanes value = 0;
    if (a.kind == Place::Kind::predicate)
      value = warp.holds(path, a);
    else
      for_each_lane(lanes, [&](int lane) { value |= Lanes{warp.read(path, a, lane) != 0} << lane; });
    warp.set(path, step.place[0], lanes, value);
    return Next::step;
  }
  for_each_lane(lanes,
                [&](int lane) { warp.write(path, step.place[0], lane, warp.read(path, step.place[2], lane)); });
  return Next::step;
}

Next move_128(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  for (std::uint32_t half = 0; half < 2; ++half) {
    Place to = step.place[0], from = step.place[2];
    to.bits = from.bits = 64;
    to.slot += 2 * half;
    from.slot += 2 * half;
    for_each_lane(lanes, [&](int lane) { warp.write(path, to, lane, warp.read(path, from, lane)); });
  }
  return Next::step;
}

Next logic_predicates(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const auto value = [&](std::size_t i) -> Lanes {
    const Place& place = step.place[i];
    if (!place.exists()) return 0;
    if (place.kind == Place::Kind::predicate) return warp.holds(path, place);
    return warp.read(path, place, 0) != 0 ? kAllLanes : 0;
  };
  warp.set(path, step.place[0], lanes, combined(step, value(2), value(3)));
  return Next::step;
}

// The first part lies lowest. Of 128 bits, parts of 32 or 64 lie in the slots one after another.
Next pack(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const std::vector<Place>& parts = warp.program().places[static_cast<std::size_t>(step.extra)];
  const int bits = step.place[0].bits / static_cast<int>(parts.size());
  for_each_lane(lanes, [&](int lane) {
    std::array<std::uint64_t, 2> out = {};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::size_t at = i * static_cast<std::size_t>(bits);
      out[at / 64] |= (warp.read(path, parts[i], lane) & ones(bits)) << at % 64;
    }
    Place to = step.place[0];
    const bool wide = to.bits == 128;
    if (wide) to.bits = 64;
    warp.write(path, to, lane, out[0]);
    to.slot += 2;
    if (wide) warp.write(path, to, lane, out[1]);
  });
  return Next::step;
}

Next unpack(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const std::vector<Place>& parts = warp.program().places[static_cast<std::size_t>(step.extra)];
  const int bits = step.place[2].bits / static_cast<int>(parts.size());
  for_each_lane(lanes, [&](int lane) {
    Place from = step.place[2];
    const bool wide = from.bits == 128;
    if (wide) from.bits = 64;
    std::array<std::uint64_t, 2> in = {warp.read(path, from, lane), 0};
    from.slot += 2;
    if (wide) in[1] = warp.read(path, from, lane);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::size_t at = i * static_cast<std::size_t>(bits);
      warp.write(path, parts[i], lane, in[at / 64] >> at % 64 & ones(bits));
    }
  });
  return Next::step;
}

Next decompress(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const Program& program = warp.program();
  const std::vector<Place>& places = program.places[static_cast<std::size_t>(step.target)];
  const ptx::Compression& of = program.compressions[static_cast<std::size_t>(step.extra)];
  for (Lanes rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    auto vectors =
        compressed_vectors(program, step, [&](const Place& at) { return warp.read(path, at, lane); });
    const int wrong = scalar::decompress(of, vectors.metadata, vectors.elements, vectors.dense);
    if (wrong >= 0)
      return warp.fault(path, Lanes{1} << lane,
                        {Errc::undefined_operand,
                         {},
                         fmt::format("index {} in the metadata", wrong),
                         fmt::format("0 to {}", of.to - 1)});
    for (std::size_t i = 0; i < vectors.dense.size(); ++i) warp.write(path, places[i], lane, vectors.dense[i]);
  }
  return Next::step;
}

Next frame_address(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  for_each_lane(lanes, [&](int lane) {
    warp.write(path, step.place[0], lane,
               warp.read(path, step.place[2], lane) + static_cast<std::uint64_t>(path.local));
  });
  return Next::step;
}

Next clock(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const std::uint64_t now = warp.block().clock();
  for_each_lane(lanes, [&](int lane) { warp.write(path, step.place[0], lane, now); });
  return Next::step;
}

}  // namespace warpbit::grid::steps
