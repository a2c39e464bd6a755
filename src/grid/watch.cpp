// SPDX-License-Identifier: Apache-2.0
#include "grid/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "async/tensor.hpp"
#include "grid/accessed.hpp"
#include "grid/block_state.hpp"
#include "grid/cluster.hpp"
#include "grid/cost.hpp"
#include "ptx/source.hpp"

namespace warpbit::grid {
namespace {

// ---- Statements

// "@!%p1 bra DONE"
std::string guarded_text(const Origin& origin) {
  const ptx::Statement& statement = statement_of(origin);
  std::string out;
  if (statement.guard >= 0)
    out = fmt::format("@{}{} ", statement.guard_negated ? "!" : "",
                      origin.function->registers[static_cast<std::size_t>(statement.guard)].name);
  return out + ptx::one_line(statement.text);
}

// Of accesses with their space; of opcodes that are several instructions with what comes behind it.
std::string family_of(const ptx::FunctionText& function, const ptx::Statement& statement) {
  constexpr std::array<std::string_view, 5> kSpaces = {"global", "shared", "local", "param", "const"};
  std::string out(statement.opcode);
  for (const std::string_view one : words_of(function, statement)) {
    if (statement.is->told_by == ptx::ToldBy::first_word) return out + "." + std::string(one);
    const std::string_view space = one.substr(0, one.find(':'));
    if (statement.is->told_by == ptx::ToldBy::space && std::ranges::find(kSpaces, space) != kSpaces.end())
      return out + "." + std::string(space);
  }
  return out;
}

ptx::CodeLine line_of(const Program& program, const Origin& origin) {
  const ptx::Statement& statement = statement_of(origin);
  std::vector<SourceLink> chain = chain_of(*program.module, *origin.function, statement);
  const SourceLink at = chain.empty() ? SourceLink{} : chain.front();
  return {statement.position.line,
          guarded_text(origin),
          std::string(statement.opcode),
          family_of(*origin.function, statement),
          at.file,
          at.line,
          std::move(chain)};
}

// ---- Registers

// The type of a register as a statement takes it: a type of its size that the statement names, of results the first, of
// sources the last (cvt.f32.s32 %f1, %r1), but not of a product's, whose sources have types of their own.
std::string_view type_of(const FunctionCode& code, const ptx::Statement& statement,
                         const ptx::Register& declared, const Place& place, bool is_result) {
  constexpr std::size_t kMaxTypes = 2;
  if (place.kind == Place::Kind::predicate) return ptx::row(ptx::Type::pred).name;
  if (ptx::is_floating(declared.type)) return ptx::row(declared.type).name;
  std::vector<ptx::Type> named;
  for (const std::string_view one : words_of(*code.function, statement))
    if (const auto type = ptx::find_type(one)) named.push_back(*type);
  const bool fits =
      !named.empty() && (is_result || (named.size() <= kMaxTypes && statement.is->does != ptx::Does::tensor));
  const ptx::Type type = !fits ? ptx::Type::b32 : is_result ? named.front() : named.back();
  if (fits && ptx::bits(type) == place.bits && ptx::row(type).cls != ptx::TypeClass::bits)
    return ptx::row(type).name;
  return ptx::row(declared.type).name;
}

// Whether the text has no such register: a factor that the assembler keeps for a later sum.
bool is_added(const FunctionCode& code, const ptx::Register& one) {
  return &one - code.registers.data() >= std::ssize(code.function->registers);
}

// Adds the registers of a statement's operands that stand in no address.
void add_values(const ptx::FunctionText& function, int first, int count, std::set<std::string_view>& to) {
  for (int i = first; i < first + count; ++i) {
    const ptx::Operand& one = function.operands[static_cast<std::size_t>(i)];
    if (one.kind == ptx::Operand::Kind::reg)
      to.insert(function.registers[static_cast<std::size_t>(one.index)].name);
    if (one.kind == ptx::Operand::Kind::vector || one.kind == ptx::Operand::Kind::list)
      add_values(function, one.first, one.count, to);
  }
}

std::vector<ptx::RegisterValues> registers_of(Warp& warp, const Path& path, const Step& step, bool results) {
  std::vector<ptx::RegisterValues> out;
  const FunctionCode& code = warp.program().functions[static_cast<std::size_t>(path.function)];
  const ptx::Statement& statement = statement_of(warp.program(), step);
  std::set<std::string_view> values;
  add_values(*code.function, statement.first_operand, statement.operands, values);
  const auto add = [&](Place place) {
    place.negated = false;
    const ptx::Register* const declared = find_register(code, place, 2 * path.pc + (results ? 1 : 0));
    if (declared == nullptr || is_added(code, *declared)) return;  // or the carry
    ptx::RegisterValues one{declared->name, type_of(code, statement, *declared, place, results), {}};
    one.is_written = results;
    one.is_value = values.contains(declared->name) && !is_descriptor(warp.program(), step, place);
    if (std::ranges::find(out, one.name, &ptx::RegisterValues::name) != out.end()) return;
    for (int lane = 0; lane < kLanes; ++lane)
      one.values[static_cast<std::size_t>(lane)] = warp.read(path, place, lane);
    out.push_back(std::move(one));
  };
  if (!results && step.guard >= 0)
    add({Place::Kind::predicate, 1, false, static_cast<std::uint32_t>(step.guard)});
  for_each_use(warp.program(), step, [&](const Place& place, Use use) {
    if ((use == Use::result) == results) add(place);
  });
  return out;
}

// A statement may have several steps: the last one stands for it.
bool stands_for_statement(const Program& program, const Path& path, const Step& step) {
  const auto next = static_cast<std::size_t>(path.pc) + 1;
  if (step.statement < 0) return false;
  if (next >= program.steps.size() || program.steps[next].statement < 0) return true;
  const auto origin = [&](const Step& of) { return program.origins[static_cast<std::size_t>(of.statement)]; };
  return origin(program.steps[next]) != origin(step);
}

}  // namespace

Watch::Watch(const Program& program, const ptx::Launch& how, const Block& block, int warps, bool is_observed)
    : program_(program), how_(how), observes_(how.observe && is_observed) {
  if (how.profile) counts_.resize(program.origins.size());
  if (how.timeline && is_observed) timeline_.emplace(program, block, warps);
}

bool Watch::observes(const Warp& warp) const {
  return observes_ && (how_.observes_all_warps || warp.number() == how_.observed_warp);
}

void Watch::before(Warp& warp, const Path& path, const Step& step, Lanes lanes) {
  if (how_.timeline) {
    block::Cluster& cluster = *warp.block().async().cluster.state();
    cluster.actor = {warp.block().rank(), warp.number(), step.statement, cluster.noted};
    if (timeline_) timeline_->begin();
  }
  if (!stands_for_statement(program_, path, step)) return;
  if (!counts_.empty() && lanes != 0) cost_ = cost(warp, path, step, lanes);
  if (!observes(warp)) return;
  results_ = registers_of(warp, path, step, true);
  sources_ = registers_of(warp, path, step, false);
  for (ptx::RegisterValues& one : sources_)
    one.is_written = std::ranges::find(results_, one.name, &ptx::RegisterValues::name) != results_.end();
  accesses_ = accesses_of(warp, path, step, lanes);
  in_flight_ = warp.block().async().cluster.in_flight().size();
  if (warp.block().async().has_tensor()) warp.block().async().tensor().last = {};
}

void Watch::wait(Warp& warp, const Path& path, const Step& step) {
  if (timeline_) timeline_->wait(warp, path, step);
}

bool Watch::after(Warp& warp, const Path& before, const Step& step, Lanes lanes, bool waits) {
  if (!stands_for_statement(program_, before, step)) return true;
  if (!counts_.empty() && lanes != 0) counts_[static_cast<std::size_t>(step.statement)] += cost_;
  if (timeline_) {
    timeline_->execute(warp, before, step, lanes, waits);
    warp.block().async().cluster.state()->noted = timeline_->statements();
  }
  if (!observes(warp)) return true;
  const Origin& origin = program_.origins[static_cast<std::size_t>(step.statement)];
  const Extent at = warp.block().index();
  ptx::Observation seen{{at[0], at[1], at[2]},
                        warp.number(),
                        lanes,
                        statement_of(origin).position.line,
                        guarded_text(origin),
                        {},
                        std::move(sources_),
                        warp.block().shared(),
                        std::move(accesses_)};
  Observed own(warp, before.pc, waits);
  seen.own = &own;
  add_begun(warp.block(), in_flight_, seen.accesses);
  add_touched(warp.block(), lanes, seen);
  seen.joins_lanes = ptx::joins_lanes(does(program_, step));
  seen.is_found = warp.block().findings().size() > std::exchange(found_, warp.block().findings().size());
  if (!waits) seen.registers = registers_of(warp, before, step, true);
  for (std::size_t i = 0; i < seen.registers.size(); ++i)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      seen.registers[i].changed |= Lanes{seen.registers[i].values[lane] != results_[i].values[lane]} << lane;
  return how_.observe(seen);
}

std::vector<ptx::CodeLine> lines(const Program& program) {
  std::set<Origin> all;
  for (const Step& step : program.steps)
    if (step.statement >= 0) all.insert(program.origins[static_cast<std::size_t>(step.statement)]);
  std::vector<ptx::CodeLine> out;
  for (const Origin& one : all) out.push_back(line_of(program, one));
  std::ranges::stable_sort(out, {}, &ptx::CodeLine::line);
  return out;
}

std::vector<ptx::LineCounts> profile(const Program& program, const std::vector<ptx::Counts>& counts) {
  std::map<Origin, ptx::Counts> all;  // of a loop that is unrolled the rounds together
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i].warps != 0) all[program.origins[i]] += counts[i];
  std::vector<ptx::LineCounts> out;
  for (const auto& [origin, sum] : all) out.push_back({line_of(program, origin), sum});
  std::ranges::stable_sort(out, {}, &ptx::LineCounts::line);
  return out;
}

}  // namespace warpbit::grid
