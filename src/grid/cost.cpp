// SPDX-License-Identifier: Apache-2.0
#include "grid/cost.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "grid/accessed.hpp"
#include "grid/block.hpp"
#include "isa/instruction.hpp"

namespace warpbit::grid {
namespace {

constexpr std::uint64_t kSector = 32;

// How many parts of memory, each of so many bytes, these spans touch. Precondition: they are in order.
std::uint64_t touched(const std::vector<GlobalSpan>& spans, std::uint64_t part) {
  std::uint64_t out = 0, next = 0;
  for (const auto& [address, bytes] : spans) {
    if (bytes == 0) continue;
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

std::vector<GlobalSpan> spans_of(const std::vector<std::uint64_t>& addresses, std::uint64_t bytes) {
  std::vector<GlobalSpan> out;
  for (const std::uint64_t address : addresses) out.push_back({address, bytes});
  return out;
}

bool is_tensor_step(const Step& step) {
  const Run what = steps::what_runs(step);
  return what == steps::tensor || what == steps::tensor_memory;
}

}  // namespace

ptx::Counts sectors_of(std::vector<GlobalSpan> spans) {
  std::ranges::sort(spans, {}, &GlobalSpan::address);
  return {.sectors = touched(spans, kSector), .least_sectors = (touched(spans, 1) + kSector - 1) / kSector};
}

ptx::Counts cost(Warp& warp, const Path& path, const Step& step, Lanes lanes) {
  ptx::Counts out{.warps = 1, .lanes = static_cast<std::uint64_t>(std::popcount(lanes))};
  if (is_tensor_step(step))
    add_tensor_work(out, warp.program().instructions[static_cast<std::size_t>(step.extra)]);
  const Accessed access = accessed(warp, path, step, lanes);
  if (access.addresses.empty()) return out;
  const auto each = static_cast<std::uint64_t>(access.bytes);
  const std::uint64_t bytes = access.addresses.size() * each;
  switch (access.space) {
    case AccessedSpace::local: out.local_bytes = bytes; break;
    case AccessedSpace::constant: out.constant_bytes = bytes; break;
    case AccessedSpace::shared:
      out.shared_bytes = bytes;
      out.conflicts = static_cast<std::uint64_t>(bank_conflicts(access.addresses, access.bytes).total);
      break;
    case AccessedSpace::global:
      out.bytes = bytes;
      out += sectors_of(spans_of(access.addresses, each));
      if (does(warp.program(), step) == ptx::Does::copy) out.shared_bytes = bytes;
      break;
  }
  return out;
}

}  // namespace warpbit::grid
