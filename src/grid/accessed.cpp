// SPDX-License-Identifier: Apache-2.0
#include "grid/accessed.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "async/cluster.hpp"
#include "async/tensor.hpp"
#include "grid/block.hpp"
#include "grid/bounds.hpp"
#include "grid/products.hpp"
#include "isa/instruction.hpp"

namespace warpbit::grid {

namespace {

// Generic addresses of shared memory and of global memory; those of local memory are not told apart from the latter.
AccessedSpace space_of(const Access& access, const std::vector<std::uint64_t>& addresses) {
  const auto in_window = [](std::uint64_t address) { return address - kSharedWindow < kWindowBytes; };
  if (access.generic)
    return std::ranges::all_of(addresses, in_window) ? AccessedSpace::shared : AccessedSpace::global;
  switch (access.space) {
    case ptx::StateSpace::shared: return AccessedSpace::shared;
    case ptx::StateSpace::local: return AccessedSpace::local;
    case ptx::StateSpace::param: return access.in_frame ? AccessedSpace::local : AccessedSpace::constant;
    case ptx::StateSpace::constant: return AccessedSpace::constant;
    default: return AccessedSpace::global;
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

}  // namespace

Accessed accessed(Warp& warp, const Path& path, const Step& step, Lanes lanes) {
  Accessed out;
  const auto take = [&](const Place& place, std::int64_t offset) {
    out.lanes = lanes;
    for_each_lane(lanes, [&](int lane) {
      out.addresses.push_back(warp.read(path, place, lane) + static_cast<std::uint64_t>(offset));
    });
  };
  const ptx::Does what = does(warp.program(), step);
  if (ptx::accesses_memory(what) && step.place[2].exists()) {  // st.async and red.async have a list of places
    take(step.place[2], step.access.offset);
    out.bytes = step.access.bytes * step.access.count;
    out.space = space_of(step.access, out.addresses);
    out.writes = what != ptx::Does::load;
    out.reads = what != ptx::Does::store;
  } else if (what == ptx::Does::copy && step.place[3].exists()) {  // cp.async
    lanes = reading(warp, path, step, lanes);
    take(step.place[3], step.target);
    out.bytes = step.access.bytes;
    out.reads = true;
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
    out.space = AccessedSpace::shared;
    out.reads = instruction.operands().front().is_destination();
    out.writes = !out.reads;
  }
  return out;
}

namespace {

// Whether lanes access shared memory of their own block, and where.
std::optional<std::uint64_t> own_shared(const Block& block, const Access& how, std::uint64_t address) {
  const std::uint64_t place = address - (how.generic ? kSharedWindow : 0);
  const bool names_block = how.generic || how.cluster;
  if (names_block && (place & ~std::uint64_t{0} << kRankShift) != block.shared_base()) return std::nullopt;
  return place_in_space(how, address);
}

void add_access(const Block& block, const Step& step, const Accessed& all, bool shared,
                std::vector<ptx::MemoryAccess>& to) {
  const auto bytes = static_cast<std::uint64_t>(all.bytes);
  std::size_t i = 0;
  for_each_lane(all.lanes, [&](int lane) {
    ptx::MemoryAccess one{lane, Space::global, all.addresses[i++], bytes, all.writes, all.reads};
    const bool is_shared = shared && (!step.access.generic || one.address - kSharedWindow < kWindowBytes);
    if (is_shared) {
      const std::optional<std::uint64_t> own = own_shared(block, step.access, one.address);
      if (!own) return;
      one.space = Space::shared;
      one.address = *own;
    } else if (const GlobalMemory::Range* const range = block.grid().memory.find(one.address, bytes)) {
      one.memory = range->data + (one.address - range->address);
    } else {
      return;
    }
    to.push_back(one);
  });
}

}  // namespace

std::vector<ptx::MemoryAccess> accesses_of(Warp& warp, const Path& path, const Step& step, Lanes lanes) {
  std::vector<ptx::MemoryAccess> out;
  if (lanes == 0) return out;
  const Accessed all = accessed(warp, path, step, lanes);
  if (all.space == AccessedSpace::global || all.space == AccessedSpace::shared)
    add_access(warp.block(), step, all, all.space == AccessedSpace::shared || step.access.generic, out);
  for (const Effects::MemoryRead& one : reads_of_product(warp, path, step))
    out.push_back({0, Space::shared, one.address, one.bytes, false, true});
  if (does(warp.program(), step) != ptx::Does::copy || !step.place[2].exists()) return out;
  Accessed to{{},  step.access.bytes, AccessedSpace::shared, lanes, false,
              true};  // cp.async, which writes shared memory
  for_each_lane(lanes, [&](int lane) {
    to.addresses.push_back(warp.read(path, step.place[2], lane) +
                           static_cast<std::uint64_t>(step.access.offset));
  });
  add_access(warp.block(), step, to, true, out);
  return out;
}

void add_begun(Block& block, std::size_t known, std::vector<ptx::MemoryAccess>& to) {
  const async::Cluster& cluster = block.async().cluster;
  for (std::size_t i = known; i < cluster.in_flight().size(); ++i) {
    const async::Cluster::InFlight& copy = cluster.in_flight()[i];
    for (const auto* const side : {&copy.from, &copy.to}) {
      if (!*side || ((*side)->shared != nullptr && (*side)->shared->shared.rank() != block.rank())) continue;
      const bool is_shared = (*side)->shared != nullptr;
      ptx::MemoryAccess one{copy.who.thread % kLanes, is_shared ? Space::shared : Space::global,
                            (*side)->address,         (*side)->bytes,
                            side == &copy.to,         side == &copy.from || copy.reduces};
      if (!is_shared)
        if (const GlobalMemory::Range* const range = block.grid().memory.find(one.address, one.bytes))
          one.memory = range->data + (one.address - range->address);
      to.push_back(one);
    }
  }
}

void add_touched(Block& block, Lanes lanes, ptx::Observation& to) {
  if (!block.async().has_tensor()) return;
  const auto [touches, own] = block.async().tensor().last;
  if (touches == nullptr) return;
  for (TensorTouch one : touches->tensor)
    if (std::exchange(one.block, 0) == own) to.tensor_accesses.push_back(one);
  for (const Effects::MemoryRead& one : touches->shared[static_cast<std::size_t>(own)])
    to.accesses.push_back({std::countr_zero(lanes), Space::shared, one.address, one.bytes, false, true});
}

}  // namespace warpbit::grid
