// SPDX-License-Identifier: Apache-2.0
#include "grid/watch.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include "grid/block.hpp"
#include "isa/instruction.hpp"

namespace warpbit::grid {
namespace {

constexpr std::uint64_t kSector = 32;

// The addresses of a step's access to memory, one a lane, and the bytes from each; none for other steps. Rows of matrices
// have 16 bytes (PTX manual, "ldmatrix", "stmatrix").
struct Accessed {
  std::vector<std::uint64_t> addresses = {};
  int bytes = 0;
  bool shared = false;
};

Accessed accessed(Warp& warp, const Path& path, const Step& step, std::string_view opcode, Lanes lanes) {
  Accessed out;
  const auto take = [&](const Place& place, std::int64_t offset) {
    for_each_lane(lanes, [&](int lane) {
      out.addresses.push_back(warp.read(path, place, lane) + static_cast<std::uint64_t>(offset));
    });
  };
  if (opcode == "ld" || opcode == "st" || opcode == "atom" || opcode == "red") {
    take(step.place[2], step.access.offset);
    out.bytes = step.access.bytes * step.access.count;
    out.shared = step.access.space == ptx::StateSpace::shared;
    const auto in_window = [](std::uint64_t address) { return address - kSharedWindow < kWindowBytes; };
    if (step.access.generic) out.shared = std::ranges::all_of(out.addresses, in_window);
    const bool elsewhere = step.access.space == ptx::StateSpace::local ||
                           step.access.space == ptx::StateSpace::param ||
                           step.access.space == ptx::StateSpace::constant;
    if (elsewhere) return {};
  } else if (opcode == "ldmatrix" || opcode == "stmatrix") {
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
    out.shared = true;
  }
  return out;
}

}  // namespace

Watch::Watch(const Program& program, const ptx::Launch& how, bool observes)
    : program_(program), how_(how), observes_(observes) {
  if (how.profile) counts_.resize(program.origins.size());
}

bool Watch::observes(const Warp& warp) const {
  return observes_ && warp.number() == how_.observed_warp;
}

void Watch::count_access(Warp& warp, const Path& path, const Step& step, Lanes lanes, Counts& counts) const {
  const Accessed access = accessed(warp, path, step, statement_of(program_, step).opcode, lanes);
  if (access.addresses.empty()) return;
  if (access.shared) {
    counts.conflicts += static_cast<std::uint64_t>(bank_conflicts(access.addresses, access.bytes).total);
    return;
  }
  std::set<std::uint64_t> sectors;
  for (const std::uint64_t address : access.addresses)
    for (std::uint64_t s = address / kSector;
         s <= (address + static_cast<std::uint64_t>(access.bytes) - 1) / kSector; ++s)
      sectors.insert(s);
  counts.sectors += sectors.size();
}

namespace {

std::vector<ptx::RegisterValues> results_of(Warp& warp, const Path& path, const Step& step) {
  std::vector<ptx::RegisterValues> out;
  const FunctionCode& function = warp.program().functions[static_cast<std::size_t>(path.function)];
  for_each_use(warp.program(), step, [&](const Place& place, Use use) {
    if (use != Use::result) return;
    ptx::RegisterValues one{register_name(function, place), {}, 0};
    for (int lane = 0; lane < kLanes; ++lane)
      one.values[static_cast<std::size_t>(lane)] = warp.read(path, place, lane);
    out.push_back(std::move(one));
  });
  return out;
}

}  // namespace

void Watch::before(Warp& warp, const Path& path, const Step& step, Lanes lanes) {
  if (step.statement < 0) return;
  if (!counts_.empty() && lanes != 0) {
    Counts& counts = counts_[static_cast<std::size_t>(step.statement)];
    ++counts.warps;
    counts.lanes += static_cast<std::uint64_t>(std::popcount(lanes));
    count_access(warp, path, step, lanes, counts);
  }
  if (observes(warp)) results_ = results_of(warp, path, step);
}

bool Watch::after(Warp& warp, const Path& before, const Step& step, Lanes lanes) {
  if (step.statement < 0 || !observes(warp)) return true;
  const ptx::Statement& statement = statement_of(program_, step);
  const Extent at = warp.block().index();
  ptx::Observation seen{{at[0], at[1], at[2]},   warp.number(),  lanes,
                        statement.position.line, statement.text, {}};
  seen.registers = results_of(warp, before, step);
  for (std::size_t i = 0; i < seen.registers.size(); ++i)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      seen.registers[i].changed |= Lanes{seen.registers[i].values[lane] != results_[i].values[lane]} << lane;
  return how_.observe(seen);
}

std::vector<ptx::LineCounts> profile(const Program& program, const std::vector<Counts>& counts) {
  std::vector<ptx::LineCounts> out;
  const std::vector<std::string>& files = program.module->files;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i].warps == 0) continue;
    const ptx::Statement& statement = statement_of(program.origins[i]);
    ptx::LineCounts line{statement.position.line,
                         std::string(statement.text),
                         std::string(statement.opcode),
                         {},
                         0,
                         counts[i].warps,
                         counts[i].lanes,
                         counts[i].sectors,
                         counts[i].conflicts};
    if (statement.source.file > 0 && static_cast<std::size_t>(statement.source.file) < files.size()) {
      line.file = files[static_cast<std::size_t>(statement.source.file)];
      line.source_line = statement.source.line;
    }
    out.push_back(std::move(line));
  }
  std::ranges::stable_sort(out, {}, &ptx::LineCounts::line);
  return out;
}

}  // namespace warpbit::grid
