// SPDX-License-Identifier: Apache-2.0
#include "warpbit/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>  // std::countr_zero
#include <iterator>
#include <optional>
#include <string>
#include <tuple>
#include <variant>

#include "api/checks.hpp"
#include "isa/instruction.hpp"

namespace warpbit {

std::string ranges(const std::vector<int>& lanes) {
  std::string out;
  for (std::size_t i = 0; i < lanes.size();) {
    std::size_t last = i;
    while (last + 1 < lanes.size() && lanes[last + 1] == lanes[last] + 1) ++last;
    if (!out.empty()) out += ", ";
    out += last > i ? fmt::format("{}-{}", lanes[i], lanes[last]) : fmt::format("{}", lanes[i]);
    i = last + 1;
  }
  return out;
}

namespace {

bool same(const Instruction& x, const Instruction& y) {
  const auto written = [](const Operand& o) { return std::tie(o.kind, o.literals, o.sinks, o.offset); };
  return &x.decoded() == &y.decoded() || (x.canonical() == y.canonical() && x.target() == y.target() &&
                                          std::ranges::equal(x.operands(), y.operands(), {}, written, written));
}

constexpr std::ptrdiff_t kCell = sizeof(std::uint64_t);

// Rows of registers, one for each lane.
ResultView view_of(std::vector<std::uint64_t>& cells, int registers) {
  return {reinterpret_cast<std::byte*>(cells.data()), 0, kCell * registers, kCell};
}

bool is_literal(const Operand& op, int reg) {
  const auto i = static_cast<std::size_t>(reg);
  return i < op.literals.size() && op.literals[i].has_value();
}

Result<const Instruction*> common_instruction(std::span<const Instruction* const> lanes) {
  const Instruction* first = nullptr;
  std::size_t first_lane = 0;
  std::vector<int> missing, different;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    if (lanes[lane] == nullptr)
      missing.push_back(static_cast<int>(lane));
    else if (first == nullptr)
      first = lanes[first_lane = lane];
    else if (!same(*first, *lanes[lane]))
      different.push_back(static_cast<int>(lane));
  }
  if (first == nullptr)
    return Error{Errc::lanes_missing, "warp", "no lane executes an instruction", "all lanes must"};
  if (first->lanes() == 1) missing.clear();  // each thread executes it alone
  for (int lane = static_cast<int>(lanes.size()); lane < first->lanes(); ++lane) missing.push_back(lane);
  if (!missing.empty())
    return mismatch(*first, fmt::format("missing of {} lanes: {}", first->lanes(), ranges(missing)),
                    "all of them must execute it", Errc::lanes_missing);
  if (first->lanes() > 1 && static_cast<int>(lanes.size()) > first->lanes())
    return mismatch(*first, fmt::format("{} lanes given", lanes.size()),
                    fmt::format("it has {}", first->lanes()), Errc::lanes_disagree);
  if (!different.empty())
    return mismatch(*first,
                    fmt::format("executed by lane {}, but {} by lanes {}", first_lane,
                                lanes[static_cast<std::size_t>(different.front())]->text(), ranges(different)),
                    "all lanes must execute the same instruction", Errc::lanes_disagree);
  return first;
}

// The instruction of one warp; its operands are checked against its registers.
struct Warp {
  std::span<const Instruction* const> lanes;
  const Instruction& instruction;
  const Binding& binding;
  const Registers& registers;

  const Operand& operand(std::size_t i) const { return instruction.operands()[i]; }
  Result<void> check() const;
  // The registers of an operand that are not literals.
  std::vector<int> registers_of(std::size_t i) const {
    std::vector<int> out;
    if (operand(i).kind == OperandKind::immediate) return out;
    for (int r = 0; r < operand(i).registers; ++r)
      if (!is_literal(operand(i), r)) out.push_back(binding[i] + r);
    return out;
  }
  // Those of all source operands.
  std::vector<int> reads() const {
    std::vector<int> out;
    for (std::size_t i = 0; i < instruction.operands().size(); ++i)
      if (!operand(i).is_destination()) std::ranges::copy(registers_of(i), std::back_inserter(out));
    return out;
  }
  std::uint64_t read(std::size_t i, int lane, int reg) const {
    if (is_literal(operand(i), reg)) return *operand(i).literals[static_cast<std::size_t>(reg)];
    return registers.read(lane, binding[i] + reg);
  }
  // The operand with this role, or nothing.
  std::optional<std::size_t> find(Part part) const {
    const Operand* found = instruction.find(part);
    if (found == nullptr) return std::nullopt;
    return static_cast<std::size_t>(found - instruction.operands().data());
  }
  // The registers of an operand in the lanes from `first` on.
  OperandView view(std::size_t i, int first = 0) const {
    if (operand(i).kind == OperandKind::immediate) return {};
    const std::ptrdiff_t row = registers.registers();
    return {reinterpret_cast<const std::byte*>(registers.data() + first * row + binding[i]), 0, kCell * row,
            kCell};
  }
};

Result<void> Warp::check() const {
  const std::size_t operands = instruction.operands().size();
  const int wanted = instruction.lanes() == 1 ? static_cast<int>(lanes.size()) : instruction.lanes();
  if (binding.size() != operands || registers.lanes() != wanted)
    return mismatch(
        instruction,
        fmt::format("{} bound operands and {} lanes of registers", binding.size(), registers.lanes()),
        fmt::format("{} and {}", operands, wanted));
  for (std::size_t i = 0; i < operands; ++i)
    if (operand(i).kind != OperandKind::immediate &&
        (binding[i] < 0 || binding[i] > registers.registers() - operand(i).registers))
      return mismatch(instruction,
                      fmt::format("operand {} is bound to registers {} to {}", operand(i).role, binding[i],
                                  static_cast<std::int64_t>(binding[i]) + operand(i).registers - 1),
                      fmt::format("registers 0 to {}", registers.registers() - 1));
  return {};
}

// The destination's registers of some lanes, from rows of `stride` cells that begin with the first lane's.
void add_writes(const Warp& warp, std::size_t d, int first_lane, int lanes,
                std::span<const std::uint64_t> cells, Effects& effects) {
  const Operand& operand = warp.operand(d);
  for (int lane = 0; lane < lanes; ++lane)
    for (int r = 0; r < operand.registers; ++r)
      if (std::ranges::find(operand.sinks, r) == operand.sinks.end())
        effects.writes.push_back({first_lane + lane, warp.binding[d] + r,
                                  cells[static_cast<std::size_t>(lane * operand.registers + r)]});
}

// Executes on registers by the batch path; an instruction that threads execute alone, lane by lane.
Result<Effects> execute_registers(const Warp& warp, const ExecuteOptions& options) {
  const int together = warp.instruction.lanes();
  const int registers = warp.operand(0).registers;
  Effects effects;
  effects.reads = warp.reads();
  std::vector<std::uint64_t> out(static_cast<std::size_t>(together * registers));
  for (int first = 0; first < warp.registers.lanes(); first += together) {
    if (warp.lanes[static_cast<std::size_t>(first)] == nullptr) continue;
    std::vector<OperandView> sources;
    for (std::size_t i = 1; i < warp.instruction.operands().size(); ++i) sources.push_back(warp.view(i, first));
    std::ranges::fill(out, 0);
    const Result<Execution> done =
        execute_batch(warp.instruction, sources, view_of(out, registers), 1, options);
    if (!done) return done.error();
    effects.inferred = done->inferred;
    effects.kernel = done->kernel;
    add_writes(warp, 0, first, together, out, effects);
  }
  return effects;
}

// A descriptor or a predicate, which must be the same in all lanes.
Result<std::uint64_t> common_value(const Warp& warp, std::size_t operand) {
  const std::uint64_t first = warp.read(operand, 0, 0);
  for (int lane = 1; lane < warp.registers.lanes(); ++lane)
    if (const std::uint64_t value = warp.read(operand, lane, 0); value != first)
      return mismatch(warp.instruction,
                      fmt::format("{} is {:#x} in lane 0, but {:#x} in lane {}", warp.operand(operand).role,
                                  first, value, lane),
                      "all lanes must give the same", Errc::lanes_disagree);
  return first;
}

// Calls put(first byte, bytes) for the ranges of DescriptorMap: of a matrix whose lines are whole chunks, and whose chunks
// lie no farther apart than a descriptor reaches, by a bit for each chunk.
template <class Put>
void for_ranges(const Descriptor& descriptor, const DescribedMatrix& matrix, Put put) {
  constexpr std::uint64_t kChunk = ChunkMap::kChunk, kReach = 1 << 18, kBits = 64;
  const ChunkMap at(descriptor, matrix.major);
  const bool by_depth = matrix.major == Major::mn;
  const auto lines = static_cast<std::uint64_t>(by_depth ? matrix.depth : matrix.lines);
  const auto bits = static_cast<std::uint64_t>(by_depth ? matrix.lines : matrix.depth) *
                    static_cast<std::uint64_t>(matrix.element_bits);
  const std::uint64_t chunks = bits / (8 * kChunk), end = at.bound(lines, chunks);
  if (bits % (8 * kChunk) != 0 || end > kReach) {
    for (const ByteRange& range : DescriptorMap(descriptor, matrix).ranges())
      put(range.first, range.last - range.first + 1);
    return;
  }
  std::uint64_t is_read[kReach / kChunk / kBits + 1];
  std::fill_n(is_read, end / kChunk / kBits + 1, std::uint64_t{0});
  const auto add = [&](std::uint64_t number) { is_read[number / kBits] |= std::uint64_t{1} << number % kBits; };
  const std::optional<std::uint64_t> step = lines % 8 == 0 ? at.eight_lines() : std::nullopt;
  for (std::uint64_t line = 0; line < (step ? 8 : lines); ++line)
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
      const std::uint64_t number = at(line, chunk) / kChunk;
      add(number);
      for (std::uint64_t eight = 1; step && eight < lines / 8; ++eight) add(number + eight * (*step / kChunk));
    }
  std::uint64_t first = 0, count = 0;  // of chunks
  for (std::uint64_t i = 0; i <= end / kChunk / kBits; ++i)
    for (std::uint64_t rest = is_read[i]; rest != 0;) {
      const auto zeros = static_cast<std::uint64_t>(std::countr_zero(rest));
      const auto ones = static_cast<std::uint64_t>(std::countr_one(rest >> zeros));
      rest = zeros + ones == kBits ? 0 : rest >> (zeros + ones) << (zeros + ones);
      if (count != 0 && first + count == i * kBits + zeros) {
        count += ones;
        continue;
      }
      if (count != 0) put(first * kChunk, count * kChunk);
      first = i * kBits + zeros;
      count = ones;
    }
  if (count != 0) put(first * kChunk, count * kChunk);
}

}  // namespace

std::vector<ByteRange> described_ranges(const Descriptor& descriptor, const DescribedMatrix& matrix) {
  std::vector<ByteRange> out;
  for_ranges(descriptor, matrix, [&](std::uint64_t first, std::uint64_t bytes) {
    out.push_back({first, first + bytes - 1});
  });
  return out;
}

std::vector<Effects::MemoryRead> described_reads(const Instruction& instruction,
                                                 const WarpgroupSources& sources) {
  const Tile& tile = std::get<Tile>(instruction.decoded().kernel);
  std::vector<Effects::MemoryRead> out;
  out.reserve(static_cast<std::size_t>(tile.rows + tile.columns));
  for (const auto& [factor, descriptor] :
       {std::pair(&tile.b_described, sources.b_descriptor), std::pair(&tile.a_described, sources.a_descriptor)})
    if (*factor)
      for_ranges(Descriptor::decode(descriptor), **factor, [&](std::uint64_t first, std::uint64_t bytes) {
        out.push_back({Effects::kEveryLane, Space::shared, first, bytes});
      });
  return out;
}

namespace {

// Executes with factors in shared memory and D in place.
Result<Effects> execute_described(const Warp& warp, const Memory& memory, const ExecuteOptions& options) {
  const Tile& tile = std::get<Tile>(warp.instruction.decoded().kernel);
  Effects effects;
  WarpgroupSources sources;
  for (const auto& [part, factor, descriptor] : {std::tuple{Part::b, &tile.b_described, &sources.b_descriptor},
                                                 {Part::a, &tile.a_described, &sources.a_descriptor}}) {
    if (!*factor) continue;
    const Result<std::uint64_t> bits = common_value(warp, *warp.find(part));
    if (!bits) return bits.error();
    *descriptor = *bits;
  }
  effects.memory_reads = described_reads(warp.instruction, sources);
  if (!tile.a_described) sources.a = warp.view(*warp.find(Part::a));
  if (const std::optional<std::size_t> e = warp.find(Part::metadata)) sources.metadata = warp.view(*e);
  const Result<std::uint64_t> scale_d = common_value(warp, *warp.find(Part::scale_d));
  if (!scale_d) return scale_d.error();
  if (*scale_d > 1)
    return mismatch(warp.instruction, fmt::format("scale_d is {:#x}", *scale_d), "a predicate, 0 or 1");
  sources.accumulate = *scale_d != 0;
  const int registers = warp.operand(0).registers;
  std::vector<std::uint64_t> d;
  for (int lane = 0; lane < tile.lanes; ++lane)
    for (int r = 0; r < registers; ++r) d.push_back(static_cast<std::uint32_t>(warp.read(0, lane, r)));
  const Result<Execution> done =
      execute_warpgroup(warp.instruction, sources, memory.shared(), view_of(d, registers), options);
  if (!done) return done.error();
  const Instruction& i = warp.instruction;
  effects.deferred = AsyncUse{{i.rows(), i.columns(), i.depth()}, warp.registers_of(0), {}};
  if (!tile.a_described) effects.deferred->factors = warp.registers_of(*warp.find(Part::a));
  effects.reads = warp.reads();
  if (sources.accumulate)
    for (int r = 0; r < registers; ++r) effects.reads.push_back(warp.binding[0] + r);
  effects.inferred = done->inferred;
  effects.kernel = done->kernel;
  add_writes(warp, 0, 0, tile.lanes, d, effects);
  return effects;
}

// Executes a move between registers and memory.
Result<Effects> execute_move(const Warp& warp, const Memory& memory) {
  const DecodedInstruction& decoded = warp.instruction.decoded();
  const Move& move = std::get<std::reference_wrapper<const Move>>(decoded.kernel);
  const std::size_t p = *warp.find(Part::address);
  const std::optional<std::size_t> stride = warp.find(Part::stride);
  std::vector<std::uint64_t> addresses;
  std::vector<std::uint32_t> strides;
  for (int lane = 0; lane < warp.registers.lanes(); ++lane) {
    addresses.push_back(warp.read(p, lane, 0) + static_cast<std::uint64_t>(warp.operand(p).offset));
    if (stride) strides.push_back(static_cast<std::uint32_t>(warp.read(*stride, lane, 0)));
  }
  const MoveAddresses where{std::get<MatrixMove>(decoded.form->action).space, addresses, strides};
  Effects effects;
  effects.reads = warp.reads();
  effects.inferred = warp.instruction.inferred();
  const std::optional<std::size_t> d = warp.find(Part::d);
  const std::size_t moved = d ? *d : *warp.find(Part::source);
  std::vector<std::uint64_t> cells;
  for (int lane = 0; lane < move.lanes; ++lane)
    for (int r = 0; r < move.registers; ++r) cells.push_back(d ? 0 : warp.read(moved, lane, r));
  if (d) {
    auto reads = load_matrix(move, where, memory, cells);
    if (!reads) return reads.error();
    effects.memory_reads = *std::move(reads);
    add_writes(warp, moved, 0, move.lanes, cells, effects);
  } else {
    auto writes = store_matrix(move, where, memory, cells);
    if (!writes) return writes.error();
    effects.memory_writes = *std::move(writes);
  }
  return effects;
}

Result<Effects> execute(std::span<const Instruction* const> lanes, const Binding& binding,
                        const Registers& registers, const Memory* memory, const ExecuteOptions& options) {
  const Result<const Instruction*> common = common_instruction(lanes);
  if (!common) return common.error();
  const Warp warp{lanes, **common, binding, registers};
  if (Result<void> checked = warp.check(); !checked) return checked.error();
  if (const auto* control = std::get_if<Control>(&warp.instruction.decoded().kernel)) {
    Effects effects;
    effects.control = control->control;
    return effects;
  }
  if (std::holds_alternative<TensorAction>(warp.instruction.decoded().kernel))
    return mismatch(warp.instruction, "it uses tensor memory", "the functions of warpbit/execute.hpp",
                    Errc::machine_needed);
  if (!warp.instruction.uses_memory()) return execute_registers(warp, options);
  if (memory == nullptr)
    return mismatch(warp.instruction, "no memory is given", "the memory that it uses", Errc::memory_needed);
  if (Result<void> basis = check_basis(warp.instruction, options); !basis) return basis.error();
  if (std::holds_alternative<Tile>(warp.instruction.decoded().kernel))
    return execute_described(warp, *memory, options);
  return execute_move(warp, *memory);
}

}  // namespace

Result<Effects> execute_warp(std::span<const Instruction* const> lanes, const Binding& binding,
                             const Registers& registers, const Memory& memory, const ExecuteOptions& options) {
  return execute(lanes, binding, registers, &memory, options);
}

Result<Effects> execute_warp(std::span<const Instruction* const> lanes, const Binding& binding,
                             const Registers& registers, const ExecuteOptions& options) {
  return execute(lanes, binding, registers, nullptr, options);
}

}  // namespace warpbit
