// SPDX-License-Identifier: Apache-2.0
// Steps of tcgen05: operands, lane by lane or of a warp. What instructions do is in async/tensor.
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

#include "api/tensor_operands.hpp"
#include "api/tensor_product.hpp"
#include "async/tensor.hpp"
#include "grid/cluster.hpp"
#include "grid/records.hpp"
#include "grid/steps.hpp"
#include "isa/instruction.hpp"
#include "numeric/formats.hpp"

namespace warpbit::grid::steps {
namespace {

using tensor::Allocation, tensor::Commit, tensor::Ordering, tensor::RegisterMove;

/// One execution. Each function of an instruction is an error, or false if the launch ends.
class Executed {
 public:
  Executed(Warp& warp, Path& path, const Step& step)
      : warp_(warp),
        path_(path),
        step_(step),
        instruction_(warp.program().instructions[static_cast<std::size_t>(step.extra)]),
        action_(std::get<TensorAction>(instruction_.decoded().kernel)),
        places_(warp.program().places[static_cast<std::size_t>(step.target)]) {}

  const TensorAction& action() const { return action_; }

  Result<Next> by_warp(Lanes lanes);
  Result<bool> by_lane(int lane);
  /// Nobody issues a product for each lane of a warp.
  bool is_by_one_lane(Lanes lanes);

 private:
  async::TensorIssue issue(int lane) const { return {warp_.block().async(), Block::who(warp_, step_, lane)}; }
  std::size_t first_place(std::size_t operand) const {
    const auto operands = instruction_.operands().first(operand);
    return std::accumulate(operands.begin(), operands.end(), std::size_t{0},
                           [](std::size_t sum, const warpbit::Operand& one) {
                             return sum + static_cast<std::size_t>(one.registers);
                           });
  }
  auto values(int lane) const {
    return [this, lane](std::size_t operand, int r) {
      return warp_.read(path_, places_[first_place(operand) + static_cast<std::size_t>(r)], lane);
    };
  }
  std::uint64_t value(Part part, int lane) const {
    const auto read = values(lane);
    return value_of(instruction_, part, read).value_or(0);
  }
  std::uint32_t word(Part part, int lane) const { return static_cast<std::uint32_t>(value(part, lane)); }
  /// The same in all lanes. Error: undefined_operand.
  Result<std::uint32_t> uniform(Part part) const;
  std::span<const Place> places(Part part) const;

  Result<Next> allocate();
  Result<SharedBytes> find_shared_word(Part part, std::size_t bytes, int lane, bool of_cluster) const;
  Result<bool> deallocate();
  Result<bool> load();
  Result<bool> forget_unwritten(std::uint32_t address, std::span<const Place> to,
                                std::span<const Place> reduced_to);
  Result<bool> store();
  Result<bool> product(int lane);
  ptx::Counts product_cost(const TensorMmaSources& sources) const;
  Result<bool> commit(int lane);

  Warp& warp_;
  Path& path_;
  const Step& step_;
  const Instruction& instruction_;
  const TensorAction& action_;
  const std::vector<Place>& places_;
};

Result<std::uint32_t> Executed::uniform(Part part) const {
  const std::uint32_t first = word(part, 0);
  for (int lane = 1; lane < kLanes; ++lane)
    if (const std::uint32_t other = word(part, lane); other != first)
      return Error{Errc::undefined_operand,
                   {},
                   fmt::format("{:#x} in lane 0 and {:#x} in lane {}", first, other, lane),
                   "the same value in all lanes of the warp"};
  return first;
}

std::span<const Place> Executed::places(Part part) const {
  const warpbit::Operand* const operand = instruction_.find(part);
  if (operand == nullptr) return {};
  return std::span(places_).subspan(
      first_place(static_cast<std::size_t>(operand - instruction_.operands().data())),
      static_cast<std::size_t>(operand->registers));
}

// ---- Allocation

// At a generic address, or in a window of 32 bits. Compilers give tcgen05.commit one of those without .shared::cluster.
Result<SharedBytes> Executed::find_shared_word(Part part, std::size_t bytes, int lane, bool of_cluster) const {
  std::uint64_t address = value(part, lane);
  const bool in_window = instruction_.canonical().find(".shared::") != std::string_view::npos;
  if (!in_window && address - kSharedWindow < kWindowBytes)
    address -= kSharedWindow;
  else if (!in_window && (!of_cluster || address >= kWindowBytes))
    return Error{
        Errc::address_not_shared, {}, fmt::format("address {:#x}", address), "shared memory is written"};
  address = window_address(address, kSharedWindow);
  if (address % bytes != 0)
    return Error{Errc::address_misaligned,
                 {},
                 fmt::format("address {:#x}", address),
                 fmt::format("it must be a multiple of {}", bytes)};
  return find_shared(warp_, step_, lane, address, bytes, of_cluster);
}

Result<Next> Executed::allocate() {
  const Result<std::uint32_t> columns = uniform(Part::column_count);
  if (!columns) return columns.error();
  const Result<SharedBytes> to = find_shared_word(Part::address, sizeof(std::uint32_t), 0, false);
  if (!to) return to.error();
  const Result<std::optional<std::uint32_t>> address =
      issue(0).allocate(action_.cta_group, *columns, std::get<Allocation>(action_.what).is_exclusive);
  if (warp_.block().has_fault()) return Next::end;
  if (!address) return address.error();
  if (!*address) {
    path_.awaited = *columns;
    return warp_.wait_for(path_, kAllLanes, Waits::columns);
  }
  if (!Records(warp_, step_).changes(0, static_cast<std::int64_t>(to->offset), sizeof(std::uint32_t)))
    return Next::end;
  std::memcpy(warp_.block().shared().data() + to->offset, &**address, sizeof(std::uint32_t));
  if (warp_.block().checks()) warp_.block().accesses().sync_warp(warp_.number(), kAllLanes);
  return Next::step;
}

Result<bool> Executed::deallocate() {
  const Result<std::uint32_t> address = uniform(Part::tensor_address), columns = uniform(Part::column_count);
  if (!address) return address.error();
  if (!columns) return columns.error();
  return issue(0).deallocate(action_.cta_group, *address, *columns,
                             std::get<Allocation>(action_.what).is_exclusive);
}

// ---- Loads and stores

thread_local std::vector<std::uint32_t> t_registers;  // by lane

Result<bool> Executed::load() {
  const Result<std::uint32_t> address = uniform(Part::tensor_address);
  if (!address) return address.error();
  const std::span<const Place> to = places(Part::d), reduced_to = places(Part::reduced);
  t_registers.resize(to.size() * kLanes);
  std::array<std::uint32_t, kLanes> reduced = {};
  const Result<bool> done =
      issue(0).load(instruction_, *address, static_cast<std::int64_t>(value(Part::half_split, 0)), t_registers,
                    std::span(reduced).first(reduced_to.empty() ? 0 : kLanes));
  if (!done || !*done) return done;
  for (std::size_t r = 0; r < to.size(); ++r) {
    if (!to[r].exists()) continue;
    std::uint32_t* const slot = warp_.at(path_, to[r]);
    for (std::size_t lane = 0; lane < kLanes; ++lane) slot[lane] = t_registers[lane * to.size() + r];
  }
  if (!reduced_to.empty())
    for (int lane = 0; lane < kLanes; ++lane)
      warp_.write(path_, reduced_to[0], lane, reduced[static_cast<std::size_t>(lane)]);
  return forget_unwritten(*address, to, reduced_to);
}

// Words that nothing has written read as TensorMemory::kUnwritten.
Result<bool> Executed::forget_unwritten(std::uint32_t address, std::span<const Place> to,
                                        std::span<const Place> reduced_to) {
  const auto may_be = [](std::uint32_t word) { return (word & 0xFFFF) == 0xFFFF || word >> 16 == 0xFFFF; };
  if (!warp_.block().checks() || std::ranges::none_of(t_registers, may_be)) return true;
  const Result<std::vector<std::size_t>> unwritten = unwritten_of_load(
      instruction_, warp_.number(), address, static_cast<std::int64_t>(value(Part::half_split, 0)),
      warp_.block().async().tensor().memory);
  if (!unwritten) return unwritten.error();
  std::vector<Lanes> lanes(to.size());
  Lanes any = 0;
  for (const std::size_t at : *unwritten) {
    lanes[at % to.size()] |= Lanes{1} << at / to.size();
    any |= Lanes{1} << at / to.size();
  }
  const auto lose = [&](const Place& place, Lanes of) {
    if (of == 0) return;
    warp_.forget(path_, place, of);
    warp_.undefined().come_from(path_, {&place, 1},
                                {Undefined::Cause::From::tensor, 0, 0, warp_.site(step_), any, warp_.number()});
  };
  for (std::size_t r = 0; r < to.size(); ++r) lose(to[r], lanes[r]);
  if (!reduced_to.empty()) lose(reduced_to[0], any);
  return true;
}

Result<bool> Executed::store() {
  const Result<std::uint32_t> address = uniform(Part::tensor_address);
  if (!address) return address.error();
  const std::span<const Place> from = places(Part::source);
  t_registers.resize(from.size() * kLanes);
  for (std::size_t r = 0; r < from.size(); ++r) {
    const std::uint32_t* const slot = warp_.at(path_, from[r]);
    for (std::size_t lane = 0; lane < kLanes; ++lane) t_registers[lane * from.size() + r] = slot[lane];
  }
  return issue(0).store(instruction_, *address, static_cast<std::int64_t>(value(Part::half_split, 0)),
                        t_registers);
}

Result<Next> Executed::by_warp(Lanes) {
  const auto next = [](const Result<bool>& done) -> Result<Next> {
    if (!done) return done.error();
    return *done ? Next::step : Next::end;
  };
  if (const auto* const allocation = std::get_if<Allocation>(&action_.what)) {
    if (allocation->kind == Allocation::Kind::allocate) return allocate();
    if (allocation->kind == Allocation::Kind::deallocate) return next(deallocate());
    return next(issue(0).relinquish(action_.cta_group));
  }
  if (const auto* const move = std::get_if<RegisterMove>(&action_.what))
    return next(move->stores ? store() : load());
  issue(0).wait(std::get<Ordering>(action_.what).kind == Ordering::Kind::wait_st);
  return Next::step;
}

// ---- What threads do alone

// By the instruction descriptor. Of rows that tensor memory has in several places one counts.
ptx::Counts Executed::product_cost(const TensorMmaSources& sources) const {
  const Result<const TensorProduct*> product =
      tensor_product(instruction_, sources.instruction, sources.scale_input_d);
  if (!product) return {};
  const TensorProduct& p = **product;
  const auto number = [](int x) { return static_cast<std::uint64_t>(x); };
  const std::uint64_t m = number(p.of.m), n = number(p.of.n), stored = number(p.stored_k),
                      d_bytes = m * n * number(format(p.d).bits) / 8;
  ptx::Counts out{.products = m * n * stored};
  for (const auto& matrix : {p.tile.a_described, p.tile.b_described})
    if (matrix) out.shared_bytes += number(p.blocks) * matrix->bytes();
  out.tensor_bytes = sources.accumulates ? 2 * d_bytes : d_bytes;
  if (p.mma.a_in_tensor_memory) out.tensor_bytes += m * stored * number(p.a_bits) / 8;
  if (p.sparsity.is_sparse()) out.tensor_bytes += m * stored / number(p.sparsity.kept) / 2;  // four bits each
  out.tensor_bytes += (m + n) * number(p.of.scales(p.mma));
  return out;
}

// Rows of a shape, each with so many bytes, and the partitions of 32 lanes that have them all.
ptx::Counts copy_cost(const tensor::Copy& copy, int blocks) {
  constexpr std::uint64_t kBytes[] = {128 * 32, 4 * 32, 128 * 16, 64 * 16, 32 * 16};  // by shape
  constexpr std::uint64_t kTimes[] = {1, 2, 2, 4};                                    // by multicast
  const std::uint64_t bytes = kBytes[static_cast<std::size_t>(copy.shape)] * static_cast<std::uint64_t>(blocks);
  return {.shared_bytes = bytes, .tensor_bytes = bytes * kTimes[static_cast<std::size_t>(copy.multicast)]};
}

Result<bool> Executed::product(int lane) {
  bool inferred = false;
  const TensorMmaSources sources = mma_sources(instruction_, values(lane));
  if (warp_.block().counts()) warp_.block().count(product_cost(sources));
  const Result<bool> done = issue(lane).product(instruction_, sources, warp_.block().grid().execute, inferred);
  std::int32_t& first = warp_.block().inferred;
  if (inferred && (first < 0 || step_.statement < first)) first = step_.statement;
  return done;
}

// A multicast arrives at the same place in each block of its mask.
Result<bool> Executed::commit(int lane) {
  const Result<SharedBytes> first = find_shared_word(Part::address, block::Mbarriers::kBytes, lane, true);
  if (!first) return first.error();
  std::vector<async::TensorIssue::Object> objects;
  const auto [mask_bits, reads_of_a] = std::get<Commit>(action_.what);
  if (mask_bits == 0) {
    objects.push_back({&first->block->async(), static_cast<std::uint32_t>(first->offset)});
  } else {
    for (std::uint32_t rest = word(Part::block_mask, lane) & static_cast<std::uint32_t>(ones(mask_bits));
         rest != 0; rest &= rest - 1) {
      const auto rank = static_cast<std::uint32_t>(std::countr_zero(rest)) << kRankShift;
      const Result<SharedBytes> object = find_shared(
          warp_, step_, lane, static_cast<std::uint32_t>(first->offset) | rank, block::Mbarriers::kBytes, true);
      if (!object) return object.error();
      objects.push_back({&object->block->async(), static_cast<std::uint32_t>(object->offset)});
    }
  }
  return issue(lane).commit(action_.cta_group, reads_of_a, objects);
}

Result<bool> Executed::by_lane(int lane) {
  if (std::holds_alternative<TensorMma>(action_.what)) {
    ++warp_.block().checked.products;
    return product(lane);
  }
  if (std::holds_alternative<Commit>(action_.what)) return commit(lane);
  if (const auto* const order = std::get_if<Ordering>(&action_.what)) {
    issue(lane).fence(order->kind == Ordering::Kind::before_thread_sync);
    return true;
  }
  const std::uint32_t at = word(Part::tensor_address, lane);
  if (std::holds_alternative<tensor::Shift>(action_.what)) return issue(lane).shift(instruction_, at);
  warp_.block().count(copy_cost(std::get<tensor::Copy>(action_.what), action_.cta_group));
  return issue(lane).copy(instruction_, at, value(Part::source, lane));
}

bool Executed::is_by_one_lane(Lanes lanes) {
  if (!std::holds_alternative<TensorMma>(action_.what) || std::has_single_bit(lanes)) return true;
  Fault out = block::fault_of(
      Block::who(warp_, step_, std::countr_zero(lanes)),
      {Errc::protocol_violation,
       {},
       fmt::format("{} lanes of the warp execute it, each of which issues a tcgen05.mma", std::popcount(lanes)),
       "one thread must issue it (elect.sync), and mbarrier.init must count as many arrivals as tcgen05.commit are "
       "still executed"},
      KernelRule::tensor_one_thread);
  out.lanes = block::lanes_of(lanes);
  return warp_.block().allows(std::move(out));
}

// Behind a deallocation that may be the reason.
Next refused(Warp& warp, Path& path, const Step& step, Lanes lanes, Error error) {
  error.where.clear();
  async::Block& here = warp.block().async();
  const std::optional<async::Tensor::Allocated> freed =
      error.accepted == kAllocatedColumns && here.has_tensor() ? here.tensor().freed : std::nullopt;
  if (!freed) return warp.fault(path, lanes, std::move(error));
  error.accepted = "tcgen05.dealloc after the last access";
  Fault out = block::fault_of(Block::who(warp, step, 0), std::move(error));
  out.lanes = block::lanes_of(lanes);
  const auto [first, count] = freed->columns;
  out.related.push_back(
      block::side_of_warp(freed->who, fmt::format("deallocates columns {} to {}", first, first + count - 1)));
  warp.block().fault(std::move(out));
  return Next::end;
}

}  // namespace

// ---- Statements

Next tensor_memory(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  Executed executed(warp, path, step);
  if (executed.action().lanes == kLanes) {
    warp.keep(path, lanes);
    if (lanes != kAllLanes) return need_all(warp, path, lanes);
    const Result<Next> done = executed.by_warp(lanes);
    if (warp.block().has_fault()) return Next::end;
    return done ? *done : refused(warp, path, step, lanes, done.error());
  }
  if (!executed.is_by_one_lane(lanes)) return Next::end;
  for (Lanes rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const Result<bool> done = executed.by_lane(lane);
    if (warp.block().has_fault()) return Next::end;
    if (!done) return refused(warp, path, step, Lanes{1} << lane, done.error());
    if (!*done) return Next::end;
  }
  return Next::step;
}

}  // namespace warpbit::grid::steps
