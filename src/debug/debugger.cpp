// SPDX-License-Identifier: Apache-2.0
// warpbit/debug.hpp
#include "warpbit/debug.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "grid/launch_memory.hpp"

namespace warpbit {
namespace {

void remember(const ptx::Observation& seen, DebugWarp& warp) {
  for (const auto* all : {&seen.sources, &seen.registers})
    for (const ptx::RegisterValues& one : *all) {
      ptx::RegisterValues& known = warp.registers.try_emplace(one.name, one).first->second;
      const bool is_result = all == &seen.registers;
      // What is not changed keeps the type of the statement that wrote it.
      if (is_result) known.type = one.type;
      known.values = one.values;
      known.changed = is_result ? one.changed : 0;
    }
}

}  // namespace

namespace {

DebugPredicate writes(std::function<bool(const ptx::MemoryAccess&)> holds) {
  return [holds = std::move(holds)](const ptx::Observation& seen) {
    return std::ranges::any_of(seen.accesses,
                               [&](const ptx::MemoryAccess& one) { return one.writes && holds(one); });
  };
}

}  // namespace

DebugPredicate writes_memory(std::span<const std::byte> bytes) {
  return writes([bytes](const ptx::MemoryAccess& one) {
    const std::less<> before;
    return one.memory != nullptr && before(one.memory, bytes.data() + bytes.size()) &&
           before(bytes.data(), one.memory + one.bytes);
  });
}

DebugPredicate writes_shared(std::uint64_t address, std::uint64_t bytes) {
  return writes([=](const ptx::MemoryAccess& one) {
    return one.space == Space::shared && one.address < address + bytes && address < one.address + one.bytes;
  });
}

DebugPredicate has_finding() {
  return [](const ptx::Observation& seen) { return seen.is_found; };
}

Debugger::Debugger(ptx::Function kernel, ptx::Launch how, std::vector<ptx::Argument> arguments)
    : kernel_(std::move(kernel)),
      how_(std::move(how)),
      arguments_(std::move(arguments)),
      before_(std::make_shared<const ptx::KeptMemory>(how_, arguments_)) {
  how_.execute.threads = 1;  // what order leaves open is the same each time
  how_.observes_all_warps = true;
}

void Debugger::restore() {
  before_->restore();
}

ptx::Report Debugger::run(const std::function<bool(const ptx::Observation&)>& see) {
  restore();
  ptx::Launch how = how_;
  std::uint64_t at = 0;
  how.observe = [&](const ptx::Observation& seen) {
    (void)apply_edits(++at, seen);  // which `edit` has tried
    return see(seen);
  };
  return kernel_.launch(how, arguments_);
}

namespace {

Result<void> apply(const DebugEdit& edit, ptx::ObservedBlock& block) {
  if (const auto* const reg = std::get_if<DebugEdit::Register>(&edit.what))
    return block.set_register(reg->warp, reg->lanes, reg->name, reg->value);
  if (const auto* const shared = std::get_if<DebugEdit::Shared>(&edit.what))
    return block.set_shared(shared->address, shared->bytes);
  const auto& memory = std::get<DebugEdit::Memory>(edit.what);
  std::ranges::copy(memory.bytes, memory.at.begin());
  return {};
}

// A state shows what was changed in registers that it knows.
void show(const DebugEdit& edit, DebugState& state) {
  const auto* const reg = std::get_if<DebugEdit::Register>(&edit.what);
  const auto warp = reg == nullptr ? state.warps.end() : state.warps.find(reg->warp);
  if (warp == state.warps.end()) return;
  const auto found = warp->second.registers.find(reg->name);
  for (std::size_t lane = 0; lane < 32 && found != warp->second.registers.end(); ++lane)
    if ((reg->lanes >> lane & 1) != 0) found->second.values[lane] = reg->value;
}

}  // namespace

Result<void> Debugger::apply_edits(std::uint64_t step, const ptx::Observation& seen) {
  for (const DebugEdit& one : edits_)
    if (one.step == step)
      if (Result<void> done = apply(one, *seen.own); !done) return done;
  return {};
}

Result<void> Debugger::edit(DebugEdit edit) {
  std::optional<Result<void>> done;
  std::uint64_t at = 0;
  run([&](const ptx::Observation& seen) {
    if (++at == edit.step) done = apply(edit, *seen.own);
    return at < edit.step;
  });
  if (!done)
    return Error{Errc::usage, "a change", fmt::format("a place behind {} statements", edit.step),
                 "a place behind a statement of the block, from 1 on"};
  if (*done) edits_.push_back(std::move(edit));
  return *done;
}

DebugState Debugger::state(std::uint64_t step) {
  DebugState out;
  if (step == 0) {
    restore();
    return out;
  }
  ptx::Report report = run([&](const ptx::Observation& seen) {
    out.step += 1;
    DebugWarp& warp = out.warps[seen.warp];
    warp.line = seen.line;
    warp.statement = seen.statement;
    warp.step = out.step;
    remember(seen, warp);
    for (const DebugEdit& one : edits_)
      if (one.step == out.step) show(one, out);
    if (out.step < step) return true;
    out.seen = seen;
    out.seen->shared = {};
    out.seen->own = nullptr;
    out.block = seen.own->state();
    out.shared.assign(seen.shared.begin(), seen.shared.end());
    return false;
  });
  out.is_end = !out.seen.has_value();
  out.fault = std::move(report.fault);
  out.findings = std::move(report.findings);
  return out;
}

std::optional<std::uint64_t> Debugger::find_next(std::uint64_t step, const DebugPredicate& holds,
                                                 std::uint64_t nth) {
  std::uint64_t at = 0;
  std::optional<std::uint64_t> out;
  run([&](const ptx::Observation& seen) {
    if (++at > step && holds(seen) && --nth == 0) out = at;
    return !out;
  });
  return out;
}

std::optional<std::uint64_t> Debugger::find_previous(std::uint64_t step, const DebugPredicate& holds) {
  std::uint64_t at = 0;
  std::optional<std::uint64_t> out;
  if (step > 1)
    run([&](const ptx::Observation& seen) {
      if (++at < step && holds(seen)) out = at;
      return at + 1 < step;
    });
  return out;
}

}  // namespace warpbit
