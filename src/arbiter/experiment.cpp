// SPDX-License-Identifier: Apache-2.0
#include "arbiter/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace warpbit::arbiter {
namespace {

using verification::Bytes, verification::Part;

constexpr std::size_t kWordBytes = 4;

std::uint32_t word_at(std::span<const std::byte> bytes, std::size_t at) {
  if (bytes.size() % kWordBytes != 0) return std::to_integer<std::uint32_t>(bytes[at]);
  std::uint32_t out = 0;
  std::memcpy(&out, &bytes[at / kWordBytes * kWordBytes], kWordBytes);
  return out;
}

void add_difference(std::size_t part, std::string name, std::span<const std::byte> gpu,
                    std::span<const std::byte> here, const auto& is_compared, Outcome& out) {
  Difference found{part, std::move(name), 0, gpu.size()};
  for (std::size_t i = 0; i < gpu.size(); ++i) {
    if (!is_compared(i) || gpu[i] == here[i]) continue;
    if (found.differing++ == 0) found.first = i;
    found.last = i;
  }
  if (found.differing == 0) return;
  found.gpu = word_at(gpu, found.first);
  found.here = word_at(here, found.first);
  out.differences.push_back(std::move(found));
}

Way unchecked(std::uint64_t limit) {
  return {[limit](ptx::Launch& how) {
            how.check_shared = how.check_global = false;
            how.lenient = true;
            how.step_limit = limit;
          },
          {}};
}

}  // namespace

std::string Difference::text() const {
  if (bytes == 0) return fmt::format("{} differs", name);
  return fmt::format("{}: {} of {} bytes differ, the first is byte {}: {:#x} on the GPU, {:#x} here", name,
                     differing, bytes, first, gpu, here);
}

Result<Experiment> Experiment::read(const Recording& recording, const Record& record,
                                    const VerifyOptions& options) {
  if (record.kind != "launch")
    return Error{Errc::usage, fmt::format("record '{}'", record.name), fmt::format("a {}", record.kind),
                 "a launch"};
  Experiment out(recording, record, options);
  Result<RecordedLaunch> launch = read_launch(record);
  if (!launch) return launch.error();
  if (launch->module.empty() || !launch->reason.empty())
    return Error{Errc::usage, fmt::format("record '{}'", record.name),
                 launch->reason.empty() ? "no PTX" : launch->reason, "a launch that can be reproduced"};
  out.launch_ = std::make_shared<const RecordedLaunch>(*std::move(launch));
  const Result<Target> target = out.subject().target(out.launch_->target);
  if (!target) return target.error();
  out.target_ = *target;
  Result<std::string> text = verification::module_text(out.subject(), *out.launch_);
  if (!text) return text.error();
  out.text_ = *std::move(text);
  Result<Parts> parts = verification::parts_of(out.subject(), *out.launch_, verification::Changed::as_recorded);
  if (!parts) return parts.error();
  out.parts_ = *std::move(parts);
  return out;
}

Outcome Experiment::run(const std::string& text, const Way& way, Parts& parts,
                        const std::function<void(ptx::Launch&)>& place) const {
  Outcome out;
  const Result<ptx::Module> module = ptx::Module::load(text, way.target ? way.target : target_);
  if (!module) return {module.error(), {}, {}};
  const Result<ptx::Function> function = module->function(launch_->entry);
  if (!function) return {function.error(), {}, {}};
  if (const auto done = verification::set_variables(subject(), *launch_, *module); !done)
    return {done.error(), {}, {}};
  ptx::Launch how = verification::how_to_launch(subject(), *launch_, parts);
  if (way.change) way.change(how);
  if (place) place(how);
  out.report = function->launch(how, verification::arguments_of(*launch_));
  if (out.report.fault && out.report.fault->lanes.empty()) out.refused = out.report.fault->error;
  if (!out.has_run()) return out;
  if (const auto done = compare(*module, parts, out); !done) out.refused = done.error();
  return out;
}

Outcome Experiment::run(const std::string& text, const Way& way) const {
  Parts parts = parts_;
  return run(text, way, parts, {});
}

Outcome Experiment::try_out(const std::string& text, std::uint64_t limit) const {
  return run(text, unchecked(limit));
}

// Blocks begin one after the other: the launch is stopped by the first statement of the next one.
bool Experiment::may_fit(const std::string& text, std::uint64_t limit, const Probe& probe) const {
  const Dim3& grid = launch_->grid;
  const std::uint64_t next =
      (std::uint64_t{probe.block.z} * grid.y + probe.block.y) * grid.x + probe.block.x + 1;
  if (launch_->cluster || next >= std::uint64_t{grid.x} * grid.y * grid.z) return true;
  Parts parts = parts_;
  const Outcome outcome = run(text, unchecked(limit), parts, [&](ptx::Launch& how) {
    how.observed_block = {static_cast<unsigned>(next % grid.x), static_cast<unsigned>(next / grid.x % grid.y),
                          static_cast<unsigned>(next / grid.x / grid.y)};
    how.observe = [](const ptx::Observation&) { return false; };
  });
  return outcome.has_run() && parts[probe.part].bytes[probe.byte] == parts[probe.part].expected[probe.byte];
}

std::optional<Thread> Experiment::writer(std::size_t part, std::size_t byte, std::size_t around) const {
  if (part >= parts_.size()) return {};
  Parts parts = parts_;
  const std::uint64_t base = parts[part].recorded->address, size = parts[part].bytes.size();
  const std::uint64_t first = std::max(base, (base + byte) / around * around) - base;
  const std::uint64_t last = std::min<std::uint64_t>(size, (base + byte) / around * around + around - base);
  const Outcome found = run(text_, {[](ptx::Launch& how) {
                              how.check_shared = how.check_global = false;
                              how.as_written = how.lenient = true;
                            }},
                            parts, [&](ptx::Launch& how) { verification::protect(how, part, first, last); });
  const std::optional<Fault>& fault = found.report.fault;
  if (!fault || fault->error.code != Errc::address_read_only || fault->lanes.empty()) return {};
  return Thread{fault->block, fault->warp, fault->lanes.front()};
}

std::uint64_t Experiment::address(std::size_t part, std::size_t byte) const {
  return part < parts_.size() ? parts_[part].recorded->address + byte : 0;
}

std::optional<std::uint64_t> Experiment::left(std::uint64_t address, std::size_t bytes) const {
  std::uint64_t out = 0;
  for (const Part& part : parts_) {
    const std::uint64_t at = address - part.recorded->address;
    if (bytes > sizeof out || at >= part.expected.size() || part.expected.size() - at < bytes) continue;
    std::memcpy(&out, &part.expected[at], bytes);
    return out;
  }
  return {};
}

bool Experiment::leaves_memory() const {
  return launch_->variables.empty() && std::ranges::all_of(parts_, [](const Part& part) {
           return part.defined.empty() && (part.expected.empty() || part.expected == part.bytes);
         });
}

Result<void> Experiment::compare(const ptx::Module& module, const Parts& parts, Outcome& out) const {
  for (std::size_t i = 0; i < parts.size(); ++i)
    add_difference(
        i,
        parts[i].recorded->name.empty() ? fmt::format("the memory at {:#x}", parts[i].recorded->address)
                                        : parts[i].recorded->name,
        parts[i].expected, parts[i].bytes, [&](std::size_t at) { return parts[i].is_compared(at); }, out);
  for (std::size_t i = 0; i < launch_->variables.size(); ++i) {
    const RecordedVariable& one = launch_->variables[i];
    const std::optional<std::string>& name = one.after ? one.after : one.before;
    if (!name) continue;
    const Result<std::span<std::byte>> place = module.variable(one.name);
    if (!place) return place.error();
    const Result<Bytes> expected =
        verification::data_of(subject(), *name, place->size(), "variable " + one.name);
    if (!expected) return expected.error();
    add_difference(
        parts.size() + i, one.name, *expected, *place, [](std::size_t) { return true; }, out);
  }
  if (launch_->printed && *launch_->printed != out.report.printed)
    out.differences.push_back({parts.size() + launch_->variables.size(), "what it prints"});
  return {};
}

}  // namespace warpbit::arbiter
