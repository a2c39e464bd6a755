// SPDX-License-Identifier: Apache-2.0
// A Machine's tensor memory: instructions one after the other, and what of them is not complete.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "api/checks.hpp"
#include "api/tensor_operands.hpp"
#include "api/tensor_product.hpp"
#include "warpbit/machine.hpp"

namespace warpbit {
namespace {

using Kind = TensorPending::Kind;

std::string_view name(Kind kind) {
  constexpr std::array<std::string_view, 5> kNames{"tcgen05.mma", "tcgen05.cp", "tcgen05.shift", "tcgen05.ld",
                                                   "tcgen05.st"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool is_move(Kind kind) {
  return kind == Kind::ld || kind == Kind::st;
}

bool overlap(const TensorTouch& x, const TensorTouch& y) {
  return x.block == y.block && (x.writes || y.writes) && x.first_lane < y.first_lane + y.lanes &&
         y.first_lane < x.first_lane + x.lanes && x.first_column < y.first_column + y.columns &&
         y.first_column < x.first_column + x.columns;
}

// Words that both touch and one writes.
const TensorTouch* find_overlap(const TensorPending& before, const TensorPending& next) {
  for (const TensorTouch& x : next.touches.tensor)
    for (const TensorTouch& y : before.touches.tensor)
      if (overlap(x, y)) return &x;
  return nullptr;
}

// Whether two that were issued one after the other are executed so (PTX manual, "Pipelined tcgen05 Instructions").
bool is_ordered(const TensorPending& before, const TensorPending& next) {
  const std::pair pair{before.kind, next.kind};
  if (pair == std::pair{Kind::mma, Kind::mma})
    return before.d == next.d &&
           ((before.instruction ^ next.instruction) >> 17 & 0xFFF) == 0;  // the same D, N and M
  return pair == std::pair{Kind::cp, Kind::mma} || pair == std::pair{Kind::shift, Kind::mma} ||
         pair == std::pair{Kind::mma, Kind::shift} || pair == std::pair{Kind::shift, Kind::cp};
}

std::string_view remedy(Kind kind) {
  return kind == Kind::ld   ? "tcgen05.wait::ld must come between them"
         : kind == Kind::st ? "tcgen05.wait::st must come between them"
                            : "tcgen05.commit, and a wait for it, must come between them";
}

}  // namespace

// One instruction of a warp, with the registers of its lanes.
struct Machine::TensorCall {
  Group& group;
  int first_warp;  // of the block
  const Instruction& instruction;
  const Binding& binding;
  int lane;  // of the warpgroup: the first that executes it

  const TensorAction& action() const { return std::get<TensorAction>(instruction.decoded().kernel); }
  int warp() const { return first_warp + lane / kTensorThreads; }
  std::string who() const { return std::string(instruction.canonical()); }
  // Of the thread that issues it, or of one of its warp.
  auto values(int of_lane) const {
    return [this, of_lane](std::size_t i, int r) { return group.registers.read(of_lane, binding[i] + r); };
  }
  std::optional<std::uint64_t> value(Part part) const {
    const auto read = values(lane);
    return value_of(instruction, part, read);
  }
  std::uint32_t word(Part part) const { return static_cast<std::uint32_t>(value(part).value_or(0)); }
  std::size_t number(const Operand& operand) const {
    return static_cast<std::size_t>(&operand - instruction.operands().data());
  }
};

void Machine::pair(Machine& even, Machine& odd) {
  for (Machine* const one : {&even, &odd}) {
    one->tensor_.even = &even;
    one->tensor_.odd = &odd;
  }
}

Result<void> Machine::check_tensor(const TensorPending& next) const {
  if (!options_.detect) return {};
  for (const TensorPending& before : tensor_.pending) {
    const TensorTouch* const at = is_ordered(before, next) ? nullptr : find_overlap(before, next);
    if (at == nullptr) continue;
    return Error{
        Errc::protocol_violation, next.who,
        fmt::format("it {} columns {} to {} of lanes {} to {}, but {} is not complete, which {} some of them",
                    at->writes ? "writes" : "reads", at->first_column, at->first_column + at->columns - 1,
                    at->first_lane, at->first_lane + at->lanes - 1, before.who,
                    name(before.kind) == "tcgen05.ld" ? "reads" : "uses"),
        std::string(remedy(before.kind))};
  }
  for (const SharedTouch& touch : next.touches.shared) {
    const Machine& of = touch.block == 0 && tensor_.even != nullptr ? *tensor_.even
                        : touch.block == 1                          ? *tensor_.odd
                                                                    : *this;
    if (const std::optional<ByteRange> found =
            of.memory_.unordered(touch.bytes.first, touch.bytes.last - touch.bytes.first + 1))
      return Error{
          Errc::protocol_violation, next.who,
          fmt::format("it reads shared memory {:#x} to {:#x}, which was written through the generic proxy",
                      found->first, found->last),
          "fence.proxy.async must come between that write and this statement"};
  }
  return {};
}

Result<void> Machine::allocate(const TensorCall& call) {
  const auto [kind, is_exclusive] = std::get<tensor::Allocation>(call.action().what);
  using Allocation = tensor::Allocation::Kind;
  if (kind == Allocation::relinquish) {
    tensor_.memory.relinquish();
    return {};
  }
  const std::uint32_t columns = call.word(Part::column_count);
  if (kind == Allocation::deallocate) {
    if (options_.detect && !tensor_.pending.empty())
      return Error{Errc::protocol_violation, call.who(),
                   fmt::format("columns are freed, but {} is not complete", tensor_.pending.front().who),
                   std::string(remedy(tensor_.pending.front().kind))};
    return tensor_.memory.deallocate(call.word(Part::tensor_address), columns, is_exclusive);
  }
  TensorMemory after = tensor_.memory;
  const Result<std::optional<TensorAddress>> at = after.allocate(columns, is_exclusive);
  if (!at) return at.error();
  if (!*at)
    return Error{Errc::protocol_violation, call.who(),
                 fmt::format("{} columns side by side are not free", columns),
                 "tcgen05.dealloc of another warp must come first"};
  const std::uint32_t address = (*at)->encode();
  const bool is_shared = call.instruction.canonical().find(".shared::cta") != std::string_view::npos;
  if (Result<void> written = write_memory(is_shared ? Space::shared : Space::generic,
                                          *call.value(Part::address), std::as_bytes(std::span(&address, 1)));
      !written)
    return written;
  tensor_.memory = std::move(after);
  return {};
}

Result<void> Machine::execute_move(const TensorCall& call) {
  const auto& move = std::get<tensor::RegisterMove>(call.action().what);
  const Operand& moved = *call.instruction.find(move.stores ? Part::source : Part::d);
  const std::size_t at = call.number(moved);
  const int first = call.lane / kTensorThreads * kTensorThreads;
  const std::uint32_t address = call.word(Part::tensor_address);
  for (int lane = first; lane < first + kTensorThreads; ++lane) {
    const auto read = call.values(lane);
    if (value_of(call.instruction, Part::tensor_address, read) != call.value(Part::tensor_address))
      return mismatch(call.instruction, fmt::format("taddr differs in lane {}", lane), "the same in all lanes",
                      Errc::lanes_disagree);
  }
  const auto split = static_cast<std::int64_t>(call.value(Part::half_split).value_or(0));
  if (options_.detect && names_other_window(call.warp(), address))
    return Error{Errc::tensor_memory, call.who(), fmt::format("lane {} by warp {}", address >> 16, call.warp()),
                 fmt::format("lanes {} to {}", call.warp() % 4 * 32, call.warp() % 4 * 32 + 31)};
  Result<TensorTouches> touches = touches_of_move(call.instruction, call.warp(), address, split);
  if (!touches) return touches.error();
  TensorPending next{move.stores ? Kind::st : Kind::ld, call.who(), call.warp(), *std::move(touches), 0, 0};
  if (Result<void> checked = check_tensor(next); !checked) return checked;
  std::vector<std::uint32_t> words(static_cast<std::size_t>(kTensorThreads * moved.registers)),
      reduced(move.reduction ? kTensorThreads : 0);
  if (move.stores)
    for (int i = 0; i < kTensorThreads * moved.registers; ++i) {
      auto read = call.values(first + i / moved.registers);
      words[static_cast<std::size_t>(i)] =
          static_cast<std::uint32_t>(operand_value(call.instruction, at, i % moved.registers, read));
    }
  Result<void> done =
      move.stores ? execute_store(call.instruction, call.warp(), address, split, tensor_.memory, words)
                  : execute_load(call.instruction, call.warp(), address, split, tensor_.memory, words, reduced);
  if (!done) return done;
  for (int i = 0; !move.stores && i < kTensorThreads * moved.registers; ++i)
    if (std::ranges::find(moved.sinks, i % moved.registers) == moved.sinks.end())
      call.group.registers.write(first + i / moved.registers, call.binding[at] + i % moved.registers,
                                 words[static_cast<std::size_t>(i)]);
  for (int t = 0; t < static_cast<int>(reduced.size()); ++t)
    call.group.registers.write(first + t, call.binding[call.number(*call.instruction.find(Part::reduced))],
                               reduced[static_cast<std::size_t>(t)]);
  tensor_.pending.push_back(std::move(next));
  return {};
}

// An mma, cp or shift.
Result<Execution> Machine::execute_mma(const TensorCall& call) {
  std::vector<TensorBlock> blocks{{&tensor_.memory, memory_.shared()}};
  if (call.action().cta_group == 2) {
    if (tensor_.even == nullptr)
      return mismatch(call.instruction, "a block alone", "Machine::pair with the other block",
                      Errc::machine_needed);
    blocks = {{&tensor_.even->tensor_.memory, tensor_.even->memory_.shared()},
              {&tensor_.odd->tensor_.memory, tensor_.odd->memory_.shared()}};
  }
  const bool is_mma = std::holds_alternative<TensorMma>(call.action().what);
  const bool is_copy = std::holds_alternative<tensor::Copy>(call.action().what);
  const std::uint32_t address = call.word(Part::tensor_address);
  const TensorMmaSources sources =
      is_mma ? mma_sources(call.instruction, call.values(call.lane)) : TensorMmaSources();
  const std::uint64_t from = call.value(Part::source).value_or(0);
  Result<TensorTouches> touches = is_mma    ? touches_of_mma(call.instruction, sources, blocks)
                                  : is_copy ? touches_of_copy(call.instruction, address, from, blocks)
                                            : touches_of_shift(call.instruction, address, blocks);
  if (!touches) return touches.error();
  const Kind kind = is_mma ? Kind::mma : is_copy ? Kind::cp : Kind::shift;
  TensorPending next{kind, call.who(), call.warp(), *std::move(touches), sources.d, sources.instruction};
  if (Result<void> checked = check_tensor(next); !checked) return checked.error();
  Execution execution{call.instruction.inferred(), Kernel::reference};
  if (is_mma) {
    const Result<Execution> done = warpbit::execute_mma(call.instruction, sources, blocks, options_.execute);
    if (!done) return done.error();
    execution = *done;
  } else {
    const Result<void> done = is_copy ? execute_copy(call.instruction, address, from, blocks)
                                      : execute_shift(call.instruction, address, blocks);
    if (!done) return done.error();
  }
  tensor_.pending.push_back(std::move(next));
  return execution;
}

Result<Execution> Machine::execute_tensor(Group& group, int first_warp, const Instruction& instruction,
                                          std::span<const Instruction* const> lanes, const Binding& binding) {
  const auto& action = std::get<TensorAction>(instruction.decoded().kernel);
  if (Result<void> basis = check_basis(instruction, options_.execute); !basis) return basis.error();
  if (binding.size() != instruction.operands().size())
    return mismatch(instruction, fmt::format("{} bound operands", binding.size()),
                    fmt::format("{}", instruction.operands().size()));
  for (std::size_t i = 0; i < binding.size(); ++i)
    if (const Operand& operand = instruction.operands()[i];
        operand.kind != OperandKind::immediate &&
        (binding[i] < 0 || binding[i] > group.registers.registers() - operand.registers))
      return mismatch(instruction, fmt::format("operand {} is bound to register {}", operand.role, binding[i]),
                      fmt::format("registers 0 to {}", group.registers.registers() - 1));
  if (const Result<void> known = check_executed(instruction, action); !known) return known.error();
  std::vector<int> active;
  for (int lane = 0; lane < static_cast<int>(lanes.size()); ++lane)
    if (lanes[static_cast<std::size_t>(lane)] != nullptr) active.push_back(lane);
  Execution execution{instruction.inferred(), Kernel::reference};
  const auto call = [&](int lane) { return TensorCall{group, first_warp, instruction, binding, lane}; };
  if (action.lanes == 1) {
    if (active.size() != 1 && !std::holds_alternative<tensor::Ordering>(action.what))
      return mismatch(instruction, fmt::format("executed by {} lanes", active.size()),
                      "one thread: each that executes it issues it once more", Errc::lanes_disagree);
    if (std::holds_alternative<tensor::Commit>(action.what))
      std::erase_if(tensor_.pending, [](const TensorPending& one) { return !is_move(one.kind); });
    else if (!std::holds_alternative<tensor::Ordering>(action.what))
      return execute_mma(call(active.front()));
    return execution;
  }
  for (const int lane : active) {
    if (lane % kTensorThreads != 0) continue;
    const TensorCall of_warp = call(lane);
    Result<void> done;
    if (std::holds_alternative<tensor::Allocation>(action.what)) done = allocate(of_warp);
    if (std::holds_alternative<tensor::RegisterMove>(action.what)) done = execute_move(of_warp);
    if (const auto* const wait = std::get_if<tensor::Ordering>(&action.what)) {
      const Kind kind = wait->kind == tensor::Ordering::Kind::wait_ld ? Kind::ld : Kind::st;
      std::erase_if(tensor_.pending,
                    [&](const TensorPending& one) { return one.kind == kind && one.warp == of_warp.warp(); });
    }
    if (!done) return done.error();
  }
  return execution;
}

}  // namespace warpbit
