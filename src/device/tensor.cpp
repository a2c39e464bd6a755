// SPDX-License-Identifier: Apache-2.0
// Calls of kernels for tensor memory. What instructions do is in async/tensor.
#include "async/tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "device/cluster.hpp"
#include "device/planted.hpp"
#include "isa/instruction.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/device/calls.hpp"

namespace warpbit::device {

using block::Found, block::kWarp;

namespace {

std::string text_of(calls::Tensor what, int cta_group, std::string_view words) {
  using enum calls::Tensor;
  switch (what) {
    case alloc: return fmt::format("tcgen05.alloc.cta_group::{}.sync.aligned.shared::cta.b32", cta_group);
    case dealloc: return fmt::format("tcgen05.dealloc.cta_group::{}.sync.aligned.b32", cta_group);
    case relinquish:
      return fmt::format("tcgen05.relinquish_alloc_permit.cta_group::{}.sync.aligned", cta_group);
    case wait_ld: return "tcgen05.wait::ld.sync.aligned";
    case wait_st: return "tcgen05.wait::st.sync.aligned";
    case fence_before: return "tcgen05.fence::before_thread_sync";
    case fence_after: return "tcgen05.fence::after_thread_sync";
    case mma: return fmt::format("tcgen05.mma.cta_group::{}.{} [d], a, b, i, p;", cta_group, words);
    case mma_a_in_tensor_memory:
      return fmt::format("tcgen05.mma.cta_group::{}.{} [d], [a], b, i, p;", cta_group, words);
    case mma_block_scale:
      return fmt::format("tcgen05.mma.cta_group::{}.{} [d], a, b, i, [sa], [sb], p;", cta_group, words);
    case cp: return fmt::format("tcgen05.cp.cta_group::{}.{}", cta_group, words);
    case commit:
      return fmt::format("tcgen05.commit.cta_group::{}.mbarrier::arrive::one.shared::cluster.b64", cta_group);
    default: return std::string(words);
  }
}

// Parsed once by a host thread.
const Parsed& parsed_of(Target target, calls::Tensor what, int cta_group, const char* words) {
  using Key = std::tuple<std::string_view, calls::Tensor, int, std::string_view>;
  static thread_local std::map<Key, Parsed> all;
  const Key key(target.name(), what, cta_group, words);
  const auto found = all.find(key);
  if (found != all.end()) return found->second;
  std::string text = text_of(what, cta_group, words);
  Result<Instruction> instruction = Instruction::parse(text, target);
  return all.emplace(key, Parsed{std::move(text), std::move(instruction)}).first->second;
}

}  // namespace

// ---- By a warp

Result<bool> Block::allocate_columns(int first, int cta_group, std::uint32_t columns, bool is_exclusive) {
  const calls::TensorOperands& wanted = *call(first).operands.tensor;
  const block::Who who = this->who(first, call(first).at);
  const Result<std::optional<std::uint32_t>> address =
      async::TensorIssue(async, who).allocate(cta_group, columns, is_exclusive);
  if (!address) return address.error();
  if (found_) return false;
  for (int i = 0; i < kWarp; ++i) *call(first + i).operands.tensor->to = *address ? 0 : 1;
  if (!*address) return true;
  if ((found_ = shared.write({}, wanted.shared->at, sizeof **address, who))) return false;
  (void)shared.memory().write(Space::shared, static_cast<std::uint64_t>(wanted.shared->at),
                              std::as_bytes(std::span(&**address, 1)));  // checked by each lane
  shared.sync_warp(first / kWarp, block::kAllLanes);
  return true;
}

Result<bool> Block::move_tensor(int first, const Instruction& instruction, bool stores) {
  const std::uint32_t address = call(first).operands.tensor->address;
  const auto count = static_cast<std::size_t>(instruction.find(stores ? Part::source : Part::d)->registers);
  std::vector<std::uint32_t> words(kWarp * count);
  async::TensorIssue issue(async, who(first, call(first).at));
  const auto of_lane = [&](int i) {
    return std::span(words).subspan(static_cast<std::size_t>(i) * count, count);
  };
  if (stores) {
    for (int i = 0; i < kWarp; ++i)
      std::copy_n(call(first + i).operands.tensor->from, count, of_lane(i).begin());
    return issue.store(instruction, address, 0, words);
  }
  const Result<bool> done = issue.load(instruction, address, 0, words, {});
  for (int i = 0; i < kWarp; ++i) std::ranges::copy(of_lane(i), call(first + i).operands.tensor->to);
  return done;
}

Found Block::tensor(int first, const Instruction& instruction) {
  const calls::TensorOperands& wanted = *call(first).operands.tensor;
  for (int i = 1; i < kWarp; ++i) {
    const calls::TensorOperands& other = *call(first + i).operands.tensor;
    if (other.address != wanted.address || other.columns != wanted.columns)
      return of_warp(first, {Errc::undefined_operand, std::string(instruction.canonical()),
                             fmt::format("{:#x}, {} in lane 0 and {:#x}, {} in lane {}", wanted.address,
                                         wanted.columns, other.address, other.columns, i),
                             "the same values in all lanes of the warp"});
  }
  const TensorAction& action = std::get<TensorAction>(instruction.decoded().kernel);
  async::TensorIssue issue(async, who(first, call(first).at));
  const auto execute = [&]() -> Result<bool> {
    if (const auto* const allocation = std::get_if<tensor::Allocation>(&action.what)) {
      if (allocation->kind == tensor::Allocation::Kind::allocate)
        return allocate_columns(first, action.cta_group, wanted.columns, allocation->is_exclusive);
      if (allocation->kind == tensor::Allocation::Kind::relinquish) return issue.relinquish(action.cta_group);
      return issue.deallocate(action.cta_group, wanted.address, wanted.columns, allocation->is_exclusive);
    }
    if (const auto* const move = std::get_if<tensor::RegisterMove>(&action.what))
      return move_tensor(first, instruction, move->stores);
    issue.wait(std::get<tensor::Ordering>(action.what).kind == tensor::Ordering::Kind::wait_st);
    return true;
  };
  const Result<bool> done = execute();
  Found out = std::exchange(found_, std::nullopt);
  if (!done) out = of_warp(first, done.error());
  if (out && out->error.where.empty()) out->error.where = instruction.canonical();
  return out;
}

namespace calls {

namespace {

// A load or a store of which two registers are exchanged.
void exchanged_by_warp(const Parsed& parsed, const TensorOperands& operands, Place at) {
  TensorOperands other = operands;
  std::vector<std::uint32_t> registers;
  if (const Operand* const source = parsed.instruction ? parsed.instruction->find(Part::source) : nullptr) {
    registers.assign(operands.from, operands.from + source->registers);
    exchange(registers.data(), sizeof registers[0]);
    other.from = registers.data();
  }
  Call call{{Request::Kind::instruction, parsed.text, at}, {.tensor = &other}, &parsed};
  current_block().wait(call);
  if (registers.empty()) exchange(operands.to, sizeof *operands.to);
}

}  // namespace

void tensor_by_warp(Tensor what, int cta_group, const TensorOperands& operands, Place at) {
  Block& block = current_block();
  const Parsed& parsed = parsed_of(block.how().target, what, cta_group, operands.words);
  if (const PlantedCall* const change = planted(parsed.text, at)) {
    if (change->change == PlantedCall::Change::exchanged) exchanged_by_warp(parsed, operands, at);
    return;
  }
  if (operands.shared != nullptr) {
    check_own("tcgen05.alloc", *operands.shared, at);
    block.fail_if(block::check_bytes("tcgen05.alloc", Space::shared, *operands.shared, 4, 4, block.who(at)));
  }
  while (true) {
    std::uint32_t waits = 0;  // for columns
    TensorOperands mine = operands;
    if (what == Tensor::alloc) mine.to = &waits;
    Call call{{Request::Kind::instruction, parsed.text, at}, {.tensor = &mine}, &parsed};
    block.wait(call);
    if (waits == 0 || block.is_unwinding()) return;
    Call again{{Request::Kind::cluster, "tcgen05.alloc", at}};
    block.wait(again);
  }
}

// ---- By a thread

namespace {

TensorMmaSources sources_of(const TensorOperands& operands) {
  TensorMmaSources out;
  out.d = operands.address;
  out.a = operands.a;
  out.b = operands.b;
  out.instruction = operands.instruction;
  out.accumulates = operands.accumulates;
  out.scale_a = operands.scale_a;
  out.scale_b = operands.scale_b;
  return out;
}

std::vector<async::TensorIssue::Object> objects_of(const TensorOperands& operands, Place at) {
  constexpr std::string_view kForm = "tcgen05.commit";
  Block& here = current_block();
  const View& object = *operands.shared;
  constexpr std::int64_t kBytes = block::Mbarriers::kBytes;
  here.fail_if(block::check_bytes(kForm, Space::shared, object, kBytes, kBytes, here.who(at)));
  const auto offset = static_cast<std::uint32_t>(object.at);
  if (operands.mask == nullptr) return {{&owner(kForm, object, at).async, offset}};
  std::vector<async::TensorIssue::Object> out;
  for (std::uint32_t rest = *operands.mask; rest != 0; rest &= rest - 1)
    out.push_back(
        {&owner(kForm, mapa(object, static_cast<unsigned>(std::countr_zero(rest)), at), at).async, offset});
  return out;
}

}  // namespace

void tensor(Tensor what, int cta_group, const TensorOperands& operands, Place at) {
  Block& block = current_block();
  const Parsed& parsed = parsed_of(block.how().target, what, cta_group, operands.words);
  if (is_left_out(parsed.text, at)) return;
  const block::Who me = block.who(at);
  if (!parsed.instruction) block.fail(block::fault_of(me, parsed.instruction.error()));
  const Instruction& instruction = *parsed.instruction;
  async::TensorIssue issue(block.async, me);
  bool inferred = false;
  const auto execute = [&]() -> Result<bool> {
    switch (what) {
      case Tensor::mma:
      case Tensor::mma_a_in_tensor_memory:
      case Tensor::mma_block_scale:
        return issue.product(instruction, sources_of(operands), block.options(), inferred);
      case Tensor::cp: return issue.copy(instruction, operands.address, operands.a);
      case Tensor::commit: return issue.commit(cta_group, false, objects_of(operands, at));
      default: issue.fence(what == Tensor::fence_before); return true;
    }
  };
  const Result<bool> done = execute();
  block.fail_if_found(instruction.canonical());
  block.computed(inferred);
  if (done) return;
  Error error = done.error();
  if (error.where.empty()) error.where = instruction.canonical();
  block.fail(block::fault_of(me, std::move(error)));
}

std::uint64_t tensor_descriptor(const View& start, int leading_bytes, int stride_bytes, Swizzle swizzle,
                                Place at) {
  Block& block = current_block();
  const block::Who who = block.who(at);
  check_own("tensor_descriptor", start, at);
  block.fail_if(block::check_bytes("tensor_descriptor", Space::shared, start, 16, 16, who));
  const Descriptor fields{static_cast<std::uint32_t>(start.at), static_cast<std::uint32_t>(leading_bytes),
                          static_cast<std::uint32_t>(stride_bytes), 0, swizzle};
  const Result<std::uint64_t> bits = fields.encode_tensor();
  if (!bits) block.fail(block::fault_of(who, bits.error()));
  return *bits;
}

}  // namespace calls
}  // namespace warpbit::device
