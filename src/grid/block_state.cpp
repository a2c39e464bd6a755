// SPDX-License-Identifier: Apache-2.0
// warpbit/block_state.hpp: what is to be seen of a block at one place.
#include "grid/block_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "async/tensor.hpp"
#include "grid/bounds.hpp"
#include "grid/cluster.hpp"
#include "ptx/source.hpp"

namespace warpbit::grid {
namespace {

using ptx::BlockState, ptx::MbarrierState, ptx::PendingBytes, ptx::PendingState, ptx::TensorMemoryState;
using InFlight = async::Cluster::InFlight;

std::vector<MbarrierState> mbarriers_of(const async::Block& block) {
  std::vector<MbarrierState> out;
  for (const block::Mbarriers::Shown& one : block.mbarriers.all())
    out.push_back({static_cast<std::uint64_t>(one.address), block.shared.name_of(one.address),
                   static_cast<std::uint64_t>(one.phase), one.expected, one.pending, one.came, one.bytes,
                   one.absent});
  return out;
}

// ---- What is pending

PendingState begun_by(const Program& program, const async::Block& block, block::Who who, Lanes lanes = 0) {
  PendingState out;
  const int thread = who.thread - block.shared.first_thread();
  out.warp = thread / kLanes;
  out.lanes = lanes != 0 ? lanes : Lanes{1} << thread % kLanes;
  if (who.at.line == 0) return out;
  const ptx::Statement& statement = statement_of(origin_at(program, who.at));
  out.line = statement.position.line;
  out.statement = ptx::one_line(statement.text);
  return out;
}

std::optional<PendingBytes> side_of(const GlobalMemory& memory, const std::optional<InFlight::Side>& side,
                                    const async::Block& here) {
  if (!side) return std::nullopt;
  PendingBytes out{Space::global, side->address, side->bytes};
  if (side->shared != nullptr) {
    out.space = Space::shared;
    out.name = side->shared->shared.name_of(static_cast<std::int64_t>(side->address));
    if (side->shared != &here) out.rank = side->shared->shared.rank();
  } else if (const GlobalMemory::Range* const range = memory.find(side->address, side->bytes)) {
    out.name = range->part(side->address - range->address, side->bytes);
  }
  return out;
}

// "cp.async.wait_group 1"
std::string wait_group(std::string_view what, std::optional<std::uint32_t> later) {
  return later ? fmt::format("{} {}", what, *later) : std::string();
}

// Bulk copies and arrivals that this block has begun, or that come to it.
void add_in_flight(const Grid& grid, const async::Block& here, std::vector<PendingState>& to) {
  const block::Cluster& cluster = here.shared.cluster();
  for (const InFlight& one : here.cluster.in_flight()) {
    const async::Block& by = *here.cluster.block(cluster.rank_of(one.who.thread));
    if (&by != &here && one.counts != &here && !(one.to && one.to->shared == &here)) continue;
    PendingState out = begun_by(grid.program, by, one.who);
    out.from = side_of(grid.memory, one.from, here);
    out.to = side_of(grid.memory, one.to, here);
    out.bytes = one.bytes;
    if (one.counts == nullptr)
      out.awaited_by = wait_group("cp.async.bulk.wait_group", by.groups.later(one.group, one.number));
    else
      out.awaited_by = "the mbarrier at " + one.counts->shared.at(one.object);
    if (one.counts != nullptr && one.counts != &here)
      out.awaited_by += fmt::format(" of block {} of the cluster", one.counts->shared.rank());
    if (&by != &here) out.statement += fmt::format(" (block {} of the cluster)", by.shared.rank());
    to.push_back(std::move(out));
  }
}

// Copies by cp.async: those of one statement and group are one.
void add_copies(const Program& program, const async::Block& here, std::vector<PendingState>& to) {
  const auto first = to.size();
  for (const block::Shared::InFlight& one : here.shared.in_flight()) {
    PendingState out = begun_by(program, here, one.who);
    const auto at = static_cast<std::uint64_t>(one.to), bytes = static_cast<std::uint64_t>(one.bytes);
    out.awaited_by = wait_group("cp.async.wait_group", one.later);
    const auto like =
        std::find_if(to.begin() + static_cast<std::ptrdiff_t>(first), to.end(), [&](const PendingState& other) {
          return other.warp == out.warp && other.line == out.line && other.awaited_by == out.awaited_by;
        });
    if (like == to.end()) {
      out.to = PendingBytes{Space::shared, at, bytes, -1, here.shared.name_of(one.to)};
      out.bytes = bytes;
      to.push_back(std::move(out));
      continue;
    }
    const std::uint64_t end = std::max(like->to->address + like->to->bytes, at + bytes);
    like->to->address = std::min(like->to->address, at);
    like->to->bytes = end - like->to->address;
    like->bytes += bytes;
    like->lanes |= out.lanes;
    ++like->count;
  }
}

// Bytes of shared memory that a product reads, from the first to the last.
std::optional<PendingBytes> read_by(const Effects& effects) {
  std::uint64_t first = ~std::uint64_t{0}, end = 0;
  for (const Effects::MemoryRead& one : effects.memory_reads) {
    first = std::min(first, one.address);
    end = std::max(end, one.address + one.bytes);
  }
  return end == 0 ? std::nullopt : std::optional(PendingBytes{Space::shared, first, end - first});
}

void add_products(const Program& program, const async::Block& here, const block::Products& products, int groups,
                  std::vector<PendingState>& to) {
  for (int g = here.shared.first_group(); g < here.shared.first_group() + groups; ++g) {
    const block::Products::Group* const group = products.find(g);
    if (group == nullptr) continue;
    const std::deque<std::vector<AsyncState::Product>>& all = group->async.groups();
    for (std::size_t i = 0; i < all.size(); ++i)
      for (const AsyncState::Product& one : all[i]) {
        PendingState out =
            begun_by(program, here, {g * block::kWarpgroup, here.shared.side(one.number).at}, kAllLanes);
        out.from = read_by(one.effects);
        if (i + 1 < all.size())
          out.awaited_by = wait_group("wgmma.wait_group", static_cast<std::uint32_t>(all.size() - 2 - i));
        to.push_back(std::move(out));
      }
  }
}

void add_tensor(const Program& program, const async::Block& here, std::vector<PendingState>& to) {
  if (!here.has_tensor()) return;
  for (const block::TensorOrder::Open& one : here.cluster.tensor_order().open()) {
    if (here.shared.cluster().rank_of(one.last.thread) != here.shared.rank()) continue;
    PendingState out = begun_by(program, here, one.last, one.is_operation ? 0 : kAllLanes);
    out.count = one.count;
    if (!one.is_operation)
      out.awaited_by = out.statement.starts_with("tcgen05.st") ? "tcgen05.wait::st" : "tcgen05.wait::ld";
    to.push_back(std::move(out));
  }
}

TensorMemoryState tensor_of(const TensorMemory& memory) {
  TensorMemoryState out;
  for (const TensorMemory::Columns& one : memory.allocations()) out.allocated.push_back({one.first, one.count});
  out.words.reserve(std::size_t{TensorMemory::kLanes} * TensorMemory::kColumns);
  for (int lane = 0; lane < TensorMemory::kLanes; ++lane)
    for (int column = 0; column < TensorMemory::kColumns; ++column) {
      out.words.push_back(memory.read(lane, column));
      out.written.push_back(memory.is_written(lane, column));
    }
  return out;
}

}  // namespace

// ---- Who waits for whom

// The warps without which a path does not go on, where it is known who must come.
std::vector<int> Block::missing_for(const Warp& warp, const Path& path) const {
  const auto lacks = [&](std::size_t w) {
    const Warp& other = *warps_[w];
    if (path.waits_for == Waits::barrier) {
      const Barrier& barrier = barriers_[static_cast<std::size_t>(path.barrier)];
      return barrier.threads == 0 && (other.alive() & ~barrier.warps[w].here) != 0;
    }
    if (path.waits_for == Waits::cluster)
      return (other.alive() & ~cluster_.async().barrier.arrived(other.number_in_cluster())) != 0;
    const bool is_own = other.number() / block::kGroupWarps == warp.number() / block::kGroupWarps;
    return path.waits_for == Waits::warpgroup && is_own &&
           std::ranges::none_of(warps_[w]->paths(), [&](const Path& one) {
             return one.pc == path.pc && one.waits_for == Waits::warpgroup;
           });
  };
  std::vector<int> out;
  for (std::size_t w = 0; w < warps_.size(); ++w)
    if (lacks(w)) out.push_back(static_cast<int>(w));
  return out;
}

namespace {

ptx::Awaited kind_of(const Path& path) {
  using enum ptx::Awaited;
  switch (path.waits_for) {
    case Waits::turn:
    case Waits::test: return mbarrier;
    case Waits::columns: return columns;
    case Waits::barrier: return barrier;
    case Waits::cluster: return cluster_barrier;
    case Waits::registers: return registers;
    case Waits::warpgroup: return warpgroup;
    case Waits::none: break;
  }
  return path.gives_up ? mbarrier : lanes;
}

}  // namespace

std::vector<ptx::WaitState> Block::waits(const Warp* newest) const {
  const std::vector<Lanes> alive = cluster_.alive();
  std::vector<ptx::WaitState> out;
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (const Path& path : warp->paths()) {
      if (!path.waits && (warp.get() != newest || path.waits_for == Waits::none)) continue;
      const Step& step = grid_.program.steps[static_cast<std::size_t>(path.pc)];
      ptx::WaitState one{warp->number(),
                         path.lanes,
                         0,
                         {},
                         kind_of(path),
                         0,
                         missing_for(*warp, path),
                         awaited(*warp, path, alive)};
      if (one.kind == ptx::Awaited::barrier) one.number = static_cast<std::uint64_t>(path.barrier);
      if (one.kind == ptx::Awaited::mbarrier) one.number = static_cast<std::uint64_t>(path.awaited);
      if (step.statement >= 0) {
        const ptx::Statement& statement = statement_of(grid_.program, step);
        one.line = statement.position.line;
        one.statement = ptx::one_line(statement.text);
      }
      out.push_back(std::move(one));
    }
  return out;
}

BlockState Observed::state() const {
  const Program& program = block_.grid().program;
  async::Block& own = block_.async();
  BlockState out;
  out.mbarriers = mbarriers_of(own);
  out.waits = block_.waits(waits_ ? &warp_ : nullptr);
  add_in_flight(block_.grid(), own, out.pending);
  add_copies(program, own, out.pending);
  const int groups = (static_cast<int>(block_.warps().size()) + block::kGroupWarps - 1) / block::kGroupWarps;
  if (const Products* const products = block_.products_if_any())
    add_products(program, own, products->of_groups(), groups, out.pending);
  add_tensor(program, own, out.pending);
  if (own.has_tensor()) out.tensor = tensor_of(own.tensor().memory);
  return out;
}

namespace {

// Where a register is at a point; nothing: nobody reads its value any more.
std::optional<Place> find_place(const FunctionCode& code, std::size_t reg, int point) {
  const ptx::Register& declared = code.registers[reg];
  const bool is_predicate = declared.type == ptx::Type::pred;
  Place out{is_predicate ? Place::Kind::predicate : Place::Kind::reg,
            static_cast<std::uint8_t>(ptx::bits(declared.type)), false, code.slot[reg]};
  if (is_predicate || code.held.empty()) return out;
  const auto found = std::ranges::find_if(code.held, [&](const FunctionCode::Held& one) {
    return one.reg == static_cast<int>(reg) && one.first <= point && point <= one.last;
  });
  if (found == code.held.end()) return std::nullopt;
  out.slot = found->slot;
  return out;
}

}  // namespace

Result<void> Observed::set_register(int number, std::uint32_t lanes, std::string_view name,
                                    std::uint64_t value) {
  const std::string where(name);
  if (number < 0 || number >= static_cast<int>(block_.warps().size()))
    return Error{Errc::usage, where, fmt::format("warp {}", number),
                 fmt::format("0 to {}", block_.warps().size() - 1)};
  Warp& warp = *block_.warps()[static_cast<std::size_t>(number)];
  Lanes left = lanes & warp.alive();
  for (Path& path : warp.paths()) {
    const FunctionCode& code = block_.grid().program.functions[static_cast<std::size_t>(path.function)];
    const auto found = std::ranges::find(code.registers, where, &ptx::Register::name);
    if ((path.lanes & left) == 0 || found == code.registers.end()) continue;
    const bool is_behind = &warp == &warp_ && path.pc == step_;
    const std::optional<Place> place = find_place(
        code, static_cast<std::size_t>(found - code.registers.begin()), 2 * path.pc + (is_behind ? 1 : 0));
    if (!place)
      return Error{Errc::usage, where, "a register that no later statement reads before it is written again",
                   "one that holds a value here"};
    for_each_lane(path.lanes & left, [&](int lane) {
      warp.write(path, *place, lane, value);
      if (warp.undefined().active()) warp.undefined().write(path, *place, lane, 0);
    });
    left &= ~path.lanes;
  }
  if (left != 0 || (lanes & warp.alive()) == 0)
    return Error{Errc::usage, where, fmt::format("warp {} has no such register in these lanes", number),
                 "a register of the function that its lanes are in"};
  return {};
}

Result<void> Observed::set_shared(std::uint64_t address, std::span<const std::byte> bytes) {
  const std::span<std::byte> memory = block_.shared();
  if (address > memory.size() || bytes.size() > memory.size() - address)
    return block::beyond_shared(address, bytes.size(), memory.size());
  std::ranges::copy(bytes, memory.begin() + static_cast<std::ptrdiff_t>(address));
  return {};
}

std::vector<ptx::SharedVariable> shared_variables(const Program& program) {
  std::vector<ptx::SharedVariable> out;
  for (const PlacedVariable& one : program.variables)
    if (one.variable->space == ptx::StateSpace::shared)
      out.push_back({source_name(one.variable->name), std::string(ptx::row(one.variable->type).name), one.first,
                     static_cast<std::uint64_t>(one.variable->bytes)});
  std::ranges::stable_sort(out, {}, &ptx::SharedVariable::address);
  return out;
}

}  // namespace warpbit::grid
