// SPDX-License-Identifier: Apache-2.0
// Tensor instructions, conversions and matrix moves, executed on the slots of a warp, or on copies of them side by side:
// the common cases of tensor.cpp, to which they leave all others, and every error.
#include <algorithm>
#include <cstring>

#include "api/checks.hpp"
#include "grid/bounds.hpp"
#include "grid/records.hpp"
#include "grid/slot_words.hpp"
#include "grid/steps.hpp"
#include "isa/instruction.hpp"

namespace warpbit::grid::steps {
namespace {

// ---- Products and conversions

constexpr std::size_t kOperands = 9, kRegisters = 16;
struct alignas(64) Side {
  std::byte bytes[kLanes * kRegisters * sizeof(std::uint64_t)];
};

// False if it is left to the general case.
bool compute_slots(Warp& warp, Path& path, const Instruction& instruction, std::span<const Place> places,
                   Lanes lanes) {
  const std::span<const warpbit::Operand> operands = instruction.operands();
  if (operands.size() > kOperands) return false;
  Side sides[kOperands];
  OperandView views[kOperands];
  std::size_t at = 0;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const auto count = static_cast<std::size_t>(operands[k].registers);
    if (count > kRegisters) return false;
    const SlotOperand of{warp, path, places.subspan(at, count), operands[k].register_bits};
    at += count;
    if (operands[k].kind == OperandKind::immediate) continue;
    views[k] = OperandView::dense(sides[k].bytes, instruction.lanes(), operands[k].registers, of.bits);
    if (k != 0) gather_slots(of, sides[k].bytes);
  }
  const warpbit::Operand& d = operands[0];
  const std::size_t cases = kLanes / static_cast<std::size_t>(instruction.lanes());
  Block& block = warp.block();
  const Result<Execution> done =
      execute_batch(instruction, std::span(views).subspan(1, operands.size() - 1),
                    ResultView::dense(sides[0].bytes, instruction.lanes(), d.registers, d.register_bits), cases,
                    block.grid().execute);
  if (!done) return false;
  scatter_slots({warp, path, places.first(static_cast<std::size_t>(d.registers)), d.register_bits},
                sides[0].bytes, lanes);
  return true;
}

// The same of a plain product, without the checks that its form passes once and for all.
bool compute_dense(Warp& warp, Path& path, const TensorPlan& plan, std::span<const Place> places) {
  Block& block = warp.block();
  Side a, b, sums;
  std::size_t at = plan.registers[0];
  for (auto& [side, k] : {std::pair(&a, 1), std::pair(&b, 2), std::pair(&sums, 3)}) {
    const std::size_t count = plan.registers[static_cast<std::size_t>(k)];
    gather_slots({warp, path, places.subspan(at, count), 32}, side->bytes);
    at += count;
  }
  const auto kernel = static_cast<Kernel>(block.grid().extension + static_cast<int>(Kernel::scalar));
  // D has other registers than C in some forms: then it needs a place of its own.
  Side other;
  std::byte* const d = plan.registers[0] == plan.registers[3] ? sums.bytes : other.bytes;
  if (!run_dense(*plan.tile, kernel, d, a.bytes, b.bytes, sums.bytes)) return false;
  scatter_slots({warp, path, places.first(plan.registers[0]), 32}, d, kAllLanes);
  return true;
}

// A run of products as one. False if it is left to its steps.
bool compute_run(Warp& warp, Path& path, const TensorPlan& plan, const ProductRun& run,
                 const Instruction& instruction) {
  if (instruction.inferred() || !warp.can_skip(run.steps - 1)) return false;
  struct alignas(64) Fragments {
    std::uint32_t a[kMaxProducts * kLanes * 4], b[kMaxProducts * kLanes * 2], d[kMaxProducts * kLanes * 4];
  };
  static thread_local Fragments fragments;
  const auto bytes = [](std::uint32_t* words) { return reinterpret_cast<std::byte*>(words); };
  const std::size_t a_words = plan.registers[1], b_words = plan.registers[2];
  // Registers of a step, from so many places on.
  const auto operand = [&](std::int32_t places, std::size_t first, std::size_t count) {
    const std::span<const Place> all = warp.program().places[static_cast<std::size_t>(places)];
    return SlotOperand{warp, path, all.subspan(first, count), 32};
  };
  for (std::size_t i = 0; i < run.a.size(); ++i)
    gather_slots(operand(run.a[i], 4, a_words), bytes(fragments.a + i * kLanes * a_words));
  for (std::size_t j = 0; j < run.b.size(); ++j)
    gather_slots(operand(run.b[j], 4 + a_words, b_words), bytes(fragments.b + j * kLanes * b_words));
  const std::size_t columns = run.b.size(), stride = 4 * columns;
  const auto sums = [&](std::size_t n) {
    return fragments.d + n / columns * kLanes * stride + n % columns * 4;
  };
  for (std::size_t n = 0; n < run.d.size(); ++n)
    gather_four(operand(run.d[n], 4 + a_words + b_words, 4), sums(n), stride);
  const auto kernel = static_cast<Kernel>(warp.block().grid().extension + static_cast<int>(Kernel::scalar));
  if (!run_dense_all(*plan.tile, kernel, static_cast<int>(run.a.size()), static_cast<int>(columns),
                     bytes(fragments.a), bytes(fragments.b), bytes(fragments.d)))
    return false;
  for (std::size_t n = 0; n < run.d.size(); ++n) scatter_four(operand(run.d[n], 0, 4), sums(n), stride);
  warp.skip(path, run.steps - 1);
  return true;
}

// ---- Rows of 16 bytes between registers and shared memory

constexpr int kRowBytes = 16;

/// Where rows begin in shared memory.
struct Rows {
  std::array<std::int64_t, kLanes> at;
  int count = 0;
};

// False if one of them is not there.
bool find_rows(Warp& warp, const Path& path, const Access& access, const warpbit::Operand& address,
               const Place& place, const Move& move, Space space, Rows& out) {
  const std::uint64_t size = warp.block().shared().size();
  const Bounds bounds = bounds_of(warp, path, access).value_or(Bounds{0, size});
  const std::uint64_t window =
      (space == Space::generic ? warp.block().memory().window() : 0) + warp.block().shared_base();
  if (!place.exists() || place.kind == Place::Kind::predicate || size < kRowBytes) return false;
  const std::uint32_t* const slot = warp.at(path, place);
  out.count = move.lines;
  bool there = true;
  for (int lane = 0; lane < (move.every_lane_valid ? kLanes : move.lines); ++lane) {
    std::uint64_t at = slot[lane];
    if (place.bits == 64) std::memcpy(&at, slot + 2 * lane, sizeof at);
    at += static_cast<std::uint64_t>(address.offset);
    there =
        there && at % kRowBytes == 0 && at - window <= size - kRowBytes && bounds.hold(at - window, kRowBytes);
    out.at[static_cast<std::size_t>(lane)] = static_cast<std::int64_t>(at - window);
  }
  return there;
}

Next record_reads(Warp& warp, const Step& step, const Rows& rows) {
  if (!warp.block().checks()) return Next::step;
  Records records(warp, step);
  block::LaneAccesses accesses = records.of(kAllLanes >> (kLanes - rows.count), kRowBytes);
  accesses.first = rows.at;
  return records.loads(accesses) ? Next::step : records.refused();
}
bool record_writes(Warp& warp, const Step& step, const Rows& rows,
                   const std::array<std::array<std::byte, kRowBytes>, kLanes>& values) {
  if (!warp.block().checks()) return true;
  Records records(warp, step);
  for (int row = 0; row < rows.count; ++row)
    if (const auto i = static_cast<std::size_t>(row); !records.writes(row, rows.at[i], values[i])) return false;
  return true;
}

bool are_apart(const Rows& rows) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows.count); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (rows.at[i] == rows.at[j]) return false;
  return true;
}

std::optional<Next> move_slots(Warp& warp, Path& path, const Step& step, const Instruction& instruction,
                               std::span<const Place> places) {
  const Move& move = std::get<std::reference_wrapper<const Move>>(instruction.decoded().kernel);
  const bool stores = instruction.find(Part::d) == nullptr;
  const std::span<const Place> moved = stores ? places.subspan(1) : places.first(places.size() - 1);
  for (const Place& place : moved)
    if (place.kind != Place::Kind::reg && !(stores && place.kind == Place::Kind::constant)) return std::nullopt;
  Rows rows;
  if (!find_rows(warp, path, step.access, *instruction.find(Part::address),
                 stores ? places.front() : places.back(), move,
                 std::get<MatrixMove>(instruction.decoded().form->action).space, rows))
    return std::nullopt;
  if (stores && !are_apart(rows)) return std::nullopt;
  if (!stores)
    if (const Next next = record_reads(warp, step, rows); next != Next::step) return next;
  if (!stores && !takes_tiles(warp, step, std::span(rows.at).first(static_cast<std::size_t>(rows.count))))
    return Next::end;
  std::byte* const shared = warp.block().shared().data();
  std::array<std::array<std::byte, kRowBytes>, kLanes> stored;
  const bool transposed =
      warp.program().tensor_plans[static_cast<std::size_t>(step.extra)].kind == TensorPlan::Kind::transposed;
  for (std::size_t r = 0; r < moved.size(); ++r) {
    std::uint32_t* const slot = warp.at(path, moved[r]);
    for (std::size_t i = 0; i < 8; ++i) {
      std::byte* const row = stores ? stored[8 * r + i].data() : shared + rows.at[8 * r + i];
      if (!transposed) {  // row i: lanes 4 i and on
        stores ? std::memcpy(row, slot + 4 * i, kRowBytes) : std::memcpy(slot + 4 * i, row, kRowBytes);
        continue;
      }
      // Row i: the halves number i % 2 of lanes i / 2, i / 2 + 4, ...
      for (std::size_t k = 0; k < 8; ++k) {
        auto* const half = reinterpret_cast<std::byte*>(slot + 4 * k + i / 2) + 2 * (i % 2);
        stores ? std::memcpy(row + 2 * k, half, 2) : std::memcpy(half, row + 2 * k, 2);
      }
    }
  }
  if (!stores) return Next::step;
  if (!record_writes(warp, step, rows, stored)) return Next::end;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows.count); ++i)
    std::memcpy(shared + rows.at[i], stored[i].data(), kRowBytes);
  return Next::step;
}

// Whether a matrix move is one of rows of eight elements of 16 bits, lane by lane or transposed.
TensorPlan::Kind kind_of_rows(const Instruction& instruction) {
  using Kind = TensorPlan::Kind;
  const auto* const kernel = std::get_if<std::reference_wrapper<const Move>>(&instruction.decoded().kernel);
  if (kernel == nullptr || std::endian::native != std::endian::little) return Kind::general;
  const Move& move = *kernel;
  if (move.addressing != Addressing::rows || move.line_bytes != kRowBytes || move.alignment != kRowBytes ||
      move.element_bits != 16 || move.lines != 8 * move.registers ||
      move.elements.size() != static_cast<std::size_t>(64 * move.registers))
    return Kind::general;
  for (const Kind kind : {Kind::rows, Kind::transposed}) {
    const auto fits = [&](const MoveElement& e) {
      const int half = e.bits.low_bit / 16, lane = e.bits.lane, line = e.line - 8 * e.bits.reg;
      return kind == Kind::rows ? line == lane / 4 && e.position == lane % 4 * 2 + half
                                : line == lane % 4 * 2 + half && e.position == lane / 4;
    };
    if (std::ranges::all_of(move.elements, fits)) return kind;
  }
  return Kind::general;
}

// Whether all are registers of 32 bits, and no two the same.
bool are_registers_apart(std::span<const Place> places) {
  std::vector<std::uint32_t> slots;
  for (const Place& place : places) {
    if (place.kind != Place::Kind::reg || place.bits != 32) return false;
    slots.push_back(place.slot);
  }
  std::ranges::sort(slots);
  return std::ranges::adjacent_find(slots) == slots.end();
}

}  // namespace

TensorPlan tensor_plan(const Instruction& instruction, std::span<const Place> places) {
  using Kind = TensorPlan::Kind;
  TensorPlan out;
  if (instruction.lanes() == 4 * kLanes) {
    out.d_in_place =
        may_run_in_registers(instruction) &&
        are_registers_apart(places.first(static_cast<std::size_t>(instruction.operands()[0].registers)));
    return out;
  }
  if (is_dense_tile(instruction)) {
    const std::span<const warpbit::Operand> operands = instruction.operands();
    bool words = true;
    for (std::size_t i = 0; i < out.registers.size(); ++i) {
      out.registers[i] = static_cast<std::uint8_t>(operands[i].registers);
      words = words && operands[i].register_bits == 32 && operands[i].registers <= 8;
    }
    if (words) {
      out.kind = Kind::dense;
      out.tile = &std::get<Tile>(instruction.decoded().kernel);
      return out;
    }
  }
  if (!instruction.uses_memory() && !std::holds_alternative<Control>(instruction.decoded().kernel))
    out.kind = Kind::registers;
  if (!instruction.inferred()) {
    const Kind rows = kind_of_rows(instruction);
    if (rows != Kind::general) out.kind = rows;
  }
  return out;
}

std::optional<Next> tensor_slots(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  using Kind = TensorPlan::Kind;
  const Program& program = warp.program();
  const TensorPlan& plan = program.tensor_plans[static_cast<std::size_t>(step.extra)];
  if (plan.kind == Kind::general || warp.block().grid().extension < 0) return std::nullopt;
  const Instruction& instruction = program.instructions[static_cast<std::size_t>(step.extra)];
  const std::span<const Place> places = program.places[static_cast<std::size_t>(step.target)];
  switch (plan.kind) {
    case Kind::rows:
    case Kind::transposed: return move_slots(warp, path, step, instruction, places);
    case Kind::dense:
      if (plan.run >= 0 &&
          compute_run(warp, path, plan, program.product_runs[static_cast<std::size_t>(plan.run)], instruction))
        return Next::step;
      if (!compute_dense(warp, path, plan, places)) return std::nullopt;
      return Next::step;
    default:
      if (!compute_slots(warp, path, instruction, places, lanes)) return std::nullopt;
      return Next::step;
  }
}

}  // namespace warpbit::grid::steps
