// SPDX-License-Identifier: Apache-2.0
// The instructions of warps and warpgroups, executed when their lanes have met.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>  // std::memcpy
#include <optional>
#include <utility>

#include "device/block.hpp"
#include "isa/instruction.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/machine.hpp"

namespace warpbit::device {

using block::fault_of, block::Found, block::kAllLanes, block::kGroupWarps, block::kWarp, block::kWarpgroup,
    block::lanes_of;

namespace {

std::size_t lane_bytes(const Operand& operand) {
  return static_cast<std::size_t>(operand.registers * operand.register_bits / 8);
}

// The registers of the operands.
Binding binding_of(const Instruction& instruction, const calls::WarpgroupProduct& product) {
  Binding out;
  for (const Operand& operand : instruction.operands()) {
    const bool in_registers = operand.kind != OperandKind::descriptor;
    switch (operand.part) {
      case Part::d: out.push_back(product.d); break;
      case Part::a: out.push_back(in_registers ? static_cast<int>(product.a) : kDescriptorA); break;
      case Part::b: out.push_back(kDescriptorB); break;
      default: out.push_back(kScaleD); break;  // immediates are not bound
    }
  }
  return out;
}

// The last byte that a product would read, for the first factor that exceeds the memory.
std::optional<std::int64_t> beyond(const Instruction& instruction, const calls::WarpgroupProduct& product,
                                   std::uint64_t bytes) {
  const Tile& tile = std::get<Tile>(instruction.decoded().kernel);
  for (const auto& [factor, descriptor] :
       {std::pair(tile.b_described, product.b), std::pair(tile.a_described, product.a)})
    if (factor && described_end(Descriptor::decode(descriptor), *factor) > bytes)
      return static_cast<std::int64_t>(described_end(Descriptor::decode(descriptor), *factor) - 1);
  return std::nullopt;
}

}  // namespace

// The fault of all lanes of a warp.
Fault Block::of_warp(int first, Error error) const {
  Fault out = fault_of(who(first, call(first).at), std::move(error));
  out.lanes = lanes_of(kAllLanes);
  return out;
}

Found Block::execute(int first) {
  const Call& wanted = call(first);
  const bool grouped = wanted.kind == calls::Request::Kind::of_warpgroup;
  const Result<Instruction>& instruction = wanted.parsed->instruction;
  const auto failed = [&](Error error) -> Fault {
    Fault fault = of_warp(first, std::move(error));
    return grouped ? block::of_group(group_of(first), std::move(fault)) : fault;
  };
  if (!instruction) return failed(instruction.error());
  if (wanted.operands.tensor != nullptr) return tensor(first, *instruction);
  if (wanted.operands.product != nullptr) return multiply(first, *instruction);
  if (grouped) return products.control(group_of(first), *instruction), std::nullopt;
  if (wanted.operands.row != nullptr) return move(first, *instruction);
  std::array<const calls::Operands*, kWarp> lanes{};
  for (int i = 0; i < kWarp; ++i) lanes[static_cast<std::size_t>(i)] = &call(first + i).operands;
  if (const Result<void> done = compute(*instruction, lanes); !done) return failed(done.error());
  return std::nullopt;
}

// Executes an instruction on registers of these lanes.
Result<void> Block::compute(const Instruction& instruction, std::span<const calls::Operands* const> lanes) {
  std::array<OperandView, std::tuple_size_v<decltype(registers_)>> views{};
  const std::span<const Operand> operands = instruction.operands();
  std::size_t given = 0;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].kind == OperandKind::immediate) continue;
    const std::size_t size = lane_bytes(operands[k]);
    std::vector<std::byte>& bytes = registers_[k];
    bytes.resize(lanes.size() * size);
    views[k] =
        OperandView::dense(bytes.data(), instruction.lanes(), operands[k].registers, operands[k].register_bits);
    if (k == 0) continue;
    for (std::size_t i = 0; i < lanes.size(); ++i)
      std::memcpy(&bytes[i * size], lanes[i]->sources[given], size);
    ++given;
  }
  const Operand& d = operands[0];
  const Result<Execution> done = execute_batch(
      instruction, std::span(views).subspan(1, operands.size() - 1),
      ResultView::dense(registers_[0].data(), instruction.lanes(), d.registers, d.register_bits), 1, options_);
  if (!done) return done.error();
  inferred_ = inferred_ || done->inferred;
  const std::size_t size = lane_bytes(d);
  for (std::size_t i = 0; i < lanes.size(); ++i) std::memcpy(lanes[i]->d, &registers_[0][i * size], size);
  return {};
}

// Moves between registers and shared memory. Register 0 of each lane is its address; those of the matrix
// follow.
Found Block::move(int first, const Instruction& instruction) {
  const bool loads = call(first).operands.d != nullptr;
  const int lines = instruction.rows() * instruction.products();
  const Operand& matrix = *instruction.find(loads ? Part::d : Part::source);
  const auto row_bytes = std::int64_t{16};  // per address: PTX manual, "ldmatrix", "stmatrix"
  Registers registers(kWarp, 1 + matrix.registers);
  std::array<const Instruction*, kWarp> lanes{};
  for (int i = 0; i < kWarp; ++i) {
    const Call& r = call(first + i);
    lanes[static_cast<std::size_t>(i)] = &instruction;
    if (i < lines)
      if (auto fault =
              block::check_bytes(r.name, Space::shared, *r.operands.row, row_bytes, 16, who(first + i, r.at)))
        return fault;
    registers.write(i, 0, static_cast<std::uint64_t>(r.operands.row->at));
    if (loads) continue;
    const auto* words = static_cast<const std::uint32_t*>(r.operands.sources[0]);
    for (int k = 0; k < matrix.registers; ++k) registers.write(i, 1 + k, words[k]);
  }
  const Result<Effects> effects =
      execute_warp(lanes, loads ? Binding{1, 0} : Binding{0, 1}, registers, shared.memory(), options_);
  if (!effects) {
    Fault fault = of_warp(first, effects.error());
    fault.error.where = fmt::format("{}, {}", instruction.canonical(), fault.error.where);
    return fault;
  }
  if (auto fault =
          shared.apply(instruction.canonical(), *effects, shared.first_warp() + first / kWarp, call(first).at))
    return fault;
  std::vector<std::int64_t> rows;
  if (!async.tiles.empty())
    for (const Effects::MemoryRead& read : effects->memory_reads)
      rows.push_back(static_cast<std::int64_t>(read.address));
  if (auto fault = async.tiles.mistaken(instruction.canonical(), rows, who(first, call(first).at)))
    return fault;
  for (const Effects::Write& w : effects->writes)
    static_cast<std::uint32_t*>(call(first + w.lane).operands.d)[w.reg - 1] =
        static_cast<std::uint32_t>(w.value);
  inferred_ = inferred_ || effects->inferred;
  return std::nullopt;
}

// The fault if some lanes' operands differ from those of lane 0: registers, which one instruction names for
// all.
Found Block::disagreeing(int first, const Instruction& instruction) const {
  const bool described = instruction.find(Part::a)->kind == OperandKind::descriptor;
  for (int thread = first + 1; thread < first + kWarpgroup; ++thread) {
    const calls::WarpgroupProduct &one = product(thread), &other = product(first);
    if (one.d == other.d && (described || one.a == other.a)) continue;
    Fault out =
        fault_of(who(thread, call(thread).at),
                 {Errc::lanes_disagree, std::string(instruction.canonical()),
                  fmt::format("{} is another fragment in lane {} of warp {} than in lane 0 of warp {}",
                              one.d == other.d ? "a" : "d", thread % kWarp, thread / kWarp, first / kWarp),
                  "all lanes must give the same"});
    out.other = {shared.first_warp() + first / kWarp, {0}, call(first).at, 1, 0, {}, {}, "gives the other one"};
    return out;
  }
  return std::nullopt;
}

// The fault for an error of execute_warp, with its lanes and address.
Fault Block::refused(int first, const Instruction& instruction, Error error) const {
  Fault out = block::of_group(group_of(first), fault_of(who(first, call(first).at), std::move(error)));
  if (out.error.code == Errc::address_out_of_bounds)
    out.address = {Space::shared, *beyond(instruction, product(first), shared.memory().shared_bytes())};
  if (out.error.code != Errc::lanes_disagree) return out;
  for (int warp = first / kWarp; warp < first / kWarp + kGroupWarps; ++warp) {
    const std::uint32_t different = meeting.waiting(warp, [&](const block::Request& r) {
      return *static_cast<const Call&>(r).operands.product != product(first);
    });
    if (different == 0) continue;
    out.other = {out.warp, {0}, out.at, 1, 0, {}, {}, "gives other ones"};
    out.warp = shared.first_warp() + warp;
    out.warps = 1;
    out.lanes = lanes_of(different);
    return out;
  }
  return out;
}

// Whether the product takes tiles of tensor copies for what they are.
Found Block::mistaken(int first, const Instruction& instruction) const {
  if (async.tiles.empty()) return std::nullopt;
  const Tile& tile = std::get<Tile>(instruction.decoded().kernel);
  for (const auto& [factor, descriptor] :
       {std::pair(tile.a_described, product(first).a), std::pair(tile.b_described, product(first).b)})
    if (factor)
      if (auto found = async.tiles.mistaken(instruction.canonical(), Descriptor::decode(descriptor), *factor,
                                            who(first, call(first).at)))
        return found;
  return std::nullopt;
}

Found Block::multiply(int first, const Instruction& instruction) {
  if (auto fault = disagreeing(first, instruction)) return fault;
  block::Products::Group& g = products.group(group_of(first));
  std::array<const Instruction*, kWarpgroup> lanes{};
  lanes.fill(&instruction);
  for (int lane = 0; lane < kWarpgroup; ++lane) {
    g.registers.write(lane, kDescriptorA, product(first + lane).a);
    g.registers.write(lane, kDescriptorB, product(first + lane).b);
    g.registers.write(lane, kScaleD, product(first + lane).scale_d ? 1 : 0);
  }
  Result<Effects> effects = execute_warp(lanes, binding_of(instruction, product(first)),
                                         g.async.ahead(g.registers), shared.memory(), options_);
  if (!effects) return refused(first, instruction, effects.error());
  const bool inferred = effects->inferred;
  if (auto fault = products.issue(group_of(first), instruction, *std::move(effects), call(first).at))
    return fault;
  if (auto fault = mistaken(first, instruction)) return block::of_group(group_of(first), *std::move(fault));
  inferred_ = inferred_ || inferred;
  return std::nullopt;
}

}  // namespace warpbit::device
