// SPDX-License-Identifier: Apache-2.0
// warpbit/debug.hpp
#include "warpbit/debug.hpp"

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
  how.observe = see;
  return kernel_.launch(how, arguments_);
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
    if (out.step < step) return true;
    out.seen = seen;
    out.seen->shared = {};
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
