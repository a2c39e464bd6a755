// SPDX-License-Identifier: Apache-2.0
// A launch that a program made: the same kernel on the same memory, and every byte of it compared.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "verify/prepare.hpp"

namespace warpbit::verification {
namespace {

// ---- Comparing

constexpr std::size_t kWord = 4;

std::string word_text(std::span<const std::byte> bytes, std::size_t at) {
  if (bytes.size() % kWord != 0) return fmt::format("{:#04x}", static_cast<unsigned>(bytes[at]));
  std::uint32_t word = 0;
  std::memcpy(&word, &bytes[at / kWord * kWord], kWord);
  return fmt::format("{:#010x}", word);
}

// What is compared of memory, by words of 32 bits where it has whole ones in messages.
void compare(std::string_view name, std::span<const std::byte> expected, std::span<const std::byte> got,
             const auto& is_compared, std::size_t details, FileReport& report) {
  std::uint64_t differing = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!is_compared(i)) continue;
    ++report.elements;
    if (expected[i] != got[i] && differing++ == 0) first = i;
  }
  if (differing == 0) return;
  report.mismatches += differing;
  if (details == 0) return;
  report.notes.push_back(fmt::format("{}: {} of {} bytes differ, the first is byte {}: expected {}, got {}",
                                     name, differing, expected.size(), first, word_text(expected, first),
                                     word_text(got, first)));
}

Result<void> compare_variables(const Subject& subject, const RecordedLaunch& launch, const ptx::Module& module,
                               FileReport& report) {
  for (const RecordedVariable& one : launch.variables) {
    const std::optional<std::string>& name = one.after ? one.after : one.before;
    if (!name) continue;
    const Result<std::span<std::byte>> place = module.variable(one.name);
    if (!place) return place.error();
    const Result<Bytes> expected = data_of(subject, *name, place->size(), "variable " + one.name);
    if (!expected) return expected.error();
    compare(
        one.name, *expected, *place, [](std::size_t) { return true; }, subject.options.details, report);
  }
  return {};
}

void compare_printed(const RecordedLaunch& launch, const ptx::Report& got, FileReport& report) {
  if (!launch.printed || *launch.printed == got.printed) return;
  ++report.mismatches;
  report.notes.emplace_back("it prints another text than the GPU did");
}

// The lines of a fault or finding.
void say(std::string_view heading, const Fault& fault, FileReport& report) {
  const std::string message = fault.message();
  report.notes.push_back(fmt::format("{}{}{}: {}", heading,
                                     fault.rule == KernelRule::none ? "" : " of the rule ",
                                     fault.rule == KernelRule::none ? "" : name(fault.rule), message));
}

void say_findings(const ptx::Report& got, FileReport& report) {
  for (const ptx::Finding& one : got.findings) {
    if (one.grade != Grade::finding || one.cause >= 0) continue;
    ++report.findings;
    say("finding", one.fault, report);
  }
}

// Why what differs may do so.
void say_open(const RecordedLaunch& launch, const ptx::Report& got, FileReport& report) {
  if (report.mismatches == 0) return;
  if (launch.stable == false) {
    report.may_differ = true;
    report.notes.emplace_back("a second run on the GPU left other bytes, too");
  }
  for (const ptx::OrderDependence& one : got.order_dependent) {
    report.may_differ = true;
    report.notes.push_back(fmt::format("order-dependent: line {} {} ({})", one.line, one.instruction, one.why));
  }
}

// ---- Running

void leave(const Subject& subject, const std::vector<Part>& parts) {
  if (subject.carried == nullptr) return;
  for (const Part& part : parts)
    if (!part.expected.empty()) subject.carried->leave(part.recorded->address, part.expected, part.bytes);
}

// What the GPU left, where nothing was computed here.
void leave_recorded(const Subject& subject, std::vector<Part>& parts) {
  for (Part& part : parts) part.bytes = part.expected;
  leave(subject, parts);
}

}  // namespace

Result<FileStatus> verify_launch(const Subject& subject, FileReport& report) {
  const Result<RecordedLaunch> launch = read_launch(subject.record);
  if (!launch) return launch.error();
  report.header.statement = launch->entry;
  const Result<Target> target = subject.target(launch->target);
  if (!target) return target.error();
  report.target = target->name();
  Result<std::vector<Part>> parts = parts_of(subject, *launch, Changed::unknown);
  if (!parts) return parts.error();
  if (launch->module.empty() || !launch->reason.empty()) {
    report.notes.push_back(launch->reason.empty() ? "the recording has no PTX of it" : launch->reason);
    leave_recorded(subject, *parts);
    return FileStatus::not_reproducible;
  }
  Result<std::string> text = module_text(subject, *launch);
  if (!text) return text.error();
  const Result<ptx::Module> module = ptx::Module::load(*std::move(text), *target);
  if (!module) return module.error();
  const Result<ptx::Function> function = module->function(launch->entry);
  if (!function) return function.error();
  if (const auto done = set_variables(subject, *launch, *module); !done) return done.error();
  const std::vector<ptx::Argument> arguments = arguments_of(*launch);
  ptx::Report got = function->launch(how_to_launch(subject, *launch, *parts), arguments);
  if (subject.carried != nullptr && got.fault && got.fault->rule == KernelRule::never_written) {
    parts = parts_of(subject, *launch, Changed::as_recorded);
    report.notes.emplace_back(
        "it uses bytes that something which is not recorded has changed; they come from the recording");
    got = function->launch(how_to_launch(subject, *launch, *parts), arguments);
  }
  report.cases = 1;
  report.inferred = got.inferred;
  say_findings(got, report);
  if (got.fault) {
    if (got.fault->lanes.empty()) return got.fault->error;  // nothing has run
    say("fault", *got.fault, report);
    leave_recorded(subject, *parts);
    return FileStatus::fault;
  }
  for (const Part& part : *parts)
    compare(
        part.recorded->name, part.expected, part.bytes, [&](std::size_t i) { return part.is_compared(i); },
        subject.options.details, report);
  if (const auto done = compare_variables(subject, *launch, *module, report); !done) return done.error();
  compare_printed(*launch, got, report);
  say_open(*launch, got, report);
  leave(subject, *parts);
  return FileStatus::replayed;
}

Result<FileStatus> verify_copy(const Subject& subject, FileReport& report) {
  const Result<RecordedCopy> copy = read_copy(subject.record);
  if (!copy) return copy.error();
  if (!copy->data.empty()) {
    const Result<Bytes> data = data_of(subject, copy->data, copy->bytes, "the data of the copy");
    if (!data) return data.error();
    if (subject.carried != nullptr) subject.carried->leave(copy->to, *data, *data);
  } else if (subject.carried != nullptr) {
    subject.carried->copy(copy->to, copy->from, copy->bytes);
  }
  report.cases = 1;
  return FileStatus::replayed;
}

}  // namespace warpbit::verification
