// SPDX-License-Identifier: Apache-2.0
#include "grid/cost.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "grid/block.hpp"
#include "isa/instruction.hpp"

namespace warpbit::grid {
namespace {

constexpr std::uint64_t kSector = 32;

enum class Counted : std::uint8_t { global, shared, local, constant };

// The addresses of a step's access to memory, one a lane, and the bytes from each; none for other steps. Rows of matrices
// have 16 bytes (PTX manual, "ldmatrix", "stmatrix").
struct Accessed {
  std::vector<std::uint64_t> addresses = {};
  int bytes = 0;
  Counted space = Counted::global;
};

// Generic addresses of shared memory and of global memory; those of local memory are not told apart from the latter.
Counted space_of(const Access& access, const std::vector<std::uint64_t>& addresses) {
  const auto in_window = [](std::uint64_t address) { return address - kSharedWindow < kWindowBytes; };
  if (access.generic) return std::ranges::all_of(addresses, in_window) ? Counted::shared : Counted::global;
  switch (access.space) {
    case ptx::StateSpace::shared: return Counted::shared;
    case ptx::StateSpace::local: return Counted::local;
    case ptx::StateSpace::param: return access.in_frame ? Counted::local : Counted::constant;
    case ptx::StateSpace::constant: return Counted::constant;
    default: return Counted::global;
  }
}

// The lanes for which cp.async reads global memory.
Lanes reading(Warp& warp, const Path& path, const Step& step, Lanes lanes) {
  const Place& size = step.place[4];
  if (!size.exists()) return lanes;
  const bool ignores = size.kind == Place::Kind::predicate;
  Lanes out = lanes;
  for_each_lane(lanes, [&](int lane) {
    if ((warp.read(path, size, lane) != 0) == ignores) out &= ~(Lanes{1} << lane);
  });
  return out;
}

Accessed accessed(Warp& warp, const Path& path, const Step& step, Lanes lanes) {
  Accessed out;
  const auto take = [&](const Place& place, std::int64_t offset) {
    for_each_lane(lanes, [&](int lane) {
      out.addresses.push_back(warp.read(path, place, lane) + static_cast<std::uint64_t>(offset));
    });
  };
  const ptx::Does what = does(warp.program(), step);
  if (ptx::accesses_memory(what) && step.place[2].exists()) {  // st.async and red.async have a list of places
    take(step.place[2], step.access.offset);
    out.bytes = step.access.bytes * step.access.count;
    out.space = space_of(step.access, out.addresses);
  } else if (what == ptx::Does::copy && step.place[3].exists()) {  // cp.async
    lanes = reading(warp, path, step, lanes);
    take(step.place[3], step.target);
    out.bytes = step.access.bytes;
  } else if (const Move* const move = steps::matrix_move(warp.program(), step);
             move != nullptr && move->addressing == Addressing::rows) {
    const Instruction& instruction = warp.program().instructions[static_cast<std::size_t>(step.extra)];
    const std::vector<Place>& places = warp.program().places[static_cast<std::size_t>(step.target)];
    std::size_t at = 0;
    for (const warpbit::Operand& operand : instruction.operands()) {
      if (operand.kind == OperandKind::address) break;
      at += static_cast<std::size_t>(operand.registers);
    }
    const int rows = instruction.rows() * instruction.products();
    lanes &= rows >= kLanes ? kAllLanes : (Lanes{1} << rows) - 1;
    take(places[at], 0);
    out.bytes = 16;
    out.space = Counted::shared;
  }
  return out;
}

// How many parts of memory, each of so many bytes, an access touches.
std::uint64_t touched(std::vector<std::uint64_t> addresses, std::uint64_t bytes, std::uint64_t part) {
  std::ranges::sort(addresses);
  std::uint64_t out = 0, next = 0;
  for (const std::uint64_t address : addresses) {
    const std::uint64_t first = std::max(address / part, next), end = (address + bytes - 1) / part + 1;
    if (first < end) out += end - first;
    next = std::max(next, end);
  }
  return out;
}

// Of a matrix product, and of loads and stores of tensor memory: what a warp does of it.
void add_tensor_work(ptx::Counts& to, const Instruction& instruction) {
  const auto& kernel = instruction.decoded().kernel;
  const auto product = [](int x, int y) {
    return static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y);
  };
  if (const auto* const tile = std::get_if<Tile>(&kernel)) {
    const auto warps = static_cast<std::uint64_t>(std::max(tile->lanes / kLanes, 1));
    to.products = product(tile->rows, tile->columns) * product(tile->terms, tile->products) / warps;
    const auto bits = [&](Part part) {
      const warpbit::Operand* const operand = instruction.find(part);
      return static_cast<std::uint64_t>(operand == nullptr ? 0 : operand->element_bits);
    };
    if (tile->a_described) to.shared_bytes += product(tile->rows, tile->terms) * bits(Part::a) / 8 / warps;
    if (tile->b_described) to.shared_bytes += product(tile->depth, tile->columns) * bits(Part::b) / 8 / warps;
  } else if (const auto* const action = std::get_if<TensorAction>(&kernel);
             action != nullptr && std::holds_alternative<tensor::RegisterMove>(action->what)) {
    const warpbit::Operand* const registers =
        instruction.find(std::get<tensor::RegisterMove>(action->what).stores ? Part::source : Part::d);
    if (registers != nullptr) to.tensor_bytes = product(registers->registers, 4 * kLanes);
  }
}

bool is_tensor_step(const Step& step) {
  const Run what = steps::what_runs(step);
  return what == steps::tensor || what == steps::tensor_memory;
}

}  // namespace

ptx::Counts cost(Warp& warp, const Path& path, const Step& step, Lanes lanes) {
  ptx::Counts out{.warps = 1, .lanes = static_cast<std::uint64_t>(std::popcount(lanes))};
  if (is_tensor_step(step)) add_tensor_work(out, warp.program().instructions[static_cast<std::size_t>(step.extra)]);
  const Accessed access = accessed(warp, path, step, lanes);
  if (access.addresses.empty()) return out;
  const auto each = static_cast<std::uint64_t>(access.bytes);
  const std::uint64_t bytes = access.addresses.size() * each;
  switch (access.space) {
    case Counted::local: out.local_bytes = bytes; break;
    case Counted::constant: out.constant_bytes = bytes; break;
    case Counted::shared:
      out.shared_bytes = bytes;
      out.conflicts = static_cast<std::uint64_t>(bank_conflicts(access.addresses, access.bytes).total);
      break;
    case Counted::global:
      out.bytes = bytes;
      out.sectors = touched(access.addresses, each, kSector);
      out.least_sectors = (touched(access.addresses, each, 1) + kSector - 1) / kSector;
      if (does(warp.program(), step) == ptx::Does::copy) out.shared_bytes = bytes;
      break;
  }
  return out;
}

}  // namespace warpbit::grid
