// SPDX-License-Identifier: Apache-2.0
// A launch that a program made: the same kernel on the same memory, and every byte of it compared.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "texture/handles.hpp"
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

// What is compared of memory, by words of 32 bits where it has whole ones in messages. The first byte that differs.
std::optional<std::size_t> compare(std::string_view name, std::span<const std::byte> expected,
                                   std::span<const std::byte> got, const auto& is_compared, std::size_t details,
                                   FileReport& report) {
  std::uint64_t differing = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!is_compared(i)) continue;
    ++report.elements;
    if (expected[i] != got[i] && differing++ == 0) first = i;
  }
  if (differing == 0) return {};
  report.mismatches += differing;
  if (details == 0) return {};
  report.notes.push_back(fmt::format("{}: {} of {} bytes differ, the first is byte {}: expected {}, got {}",
                                     name, differing, expected.size(), first, word_text(expected, first),
                                     word_text(got, first)));
  return first;
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
    const Result<std::vector<bool>> kept = addresses_of(module, one.name);
    if (!kept) return kept.error();
    compare(
        one.name, *expected, *place, [&](std::size_t i) { return !(*kept)[i]; }, subject.options.details,
        report);
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

// Bytes that are compared. What nobody has written is left to nobody.
void leave(const Subject& subject, const std::vector<Part>& parts) {
  if (subject.carried == nullptr) return;
  for (const Part& part : parts)
    for (std::size_t first = 0, end = 0; first < part.expected.size(); first = end) {
      end = first + 1;
      if (!part.is_compared(first)) continue;
      while (end < part.expected.size() && part.is_compared(end)) ++end;
      const auto of = [&](const Bytes& bytes) { return std::span(bytes).subspan(first, end - first); };
      subject.carried->leave(part.recorded->address + first, of(part.expected), of(part.bytes));
    }
}

// What the GPU left, where nothing was computed here.
void leave_recorded(const Subject& subject, std::vector<Part>& parts) {
  for (Part& part : parts) part.bytes = part.expected, part.defined.clear();
  leave(subject, parts);
}

/// A kernel with its module, whose variables are as they were before the launch.
struct Kernel {
  ptx::Module module;
  ptx::Function function;
};

Result<Kernel> kernel_of(const Subject& subject, const RecordedLaunch& launch, Target target) {
  Result<std::string> text = module_text(subject, launch);
  if (!text) return text.error();
  Result<ptx::Module> module = ptx::Module::load(*std::move(text), target);
  if (!module) return module.error();
  Result<ptx::Function> function = module->function(launch.entry);
  if (!function) return function.error();
  if (const auto done = set_variables(subject, launch, *module); !done) return done.error();
  return Kernel{*std::move(module), *std::move(function)};
}

Result<ptx::Report> run(const Subject& subject, const RecordedLaunch& launch, const Kernel& kernel,
                        std::vector<Part>& parts, FileReport& report) {
  const std::vector<ptx::Argument> arguments = arguments_of(launch);
  ptx::Report got = kernel.function.launch(how_to_launch(subject, launch, parts), arguments);
  if (subject.carried == nullptr || !got.fault || got.fault->rule != KernelRule::never_written) return got;
  Result<std::vector<Part>> recorded = parts_of(subject, launch, Changed::as_recorded);
  if (!recorded) return recorded.error();
  parts = *std::move(recorded);
  report.notes.emplace_back(
      "it uses bytes that something which is not recorded has changed; they come from the recording");
  return kernel.function.launch(how_to_launch(subject, launch, parts), arguments);
}

// Something did lie on the GPU where nothing lies here.
FileStatus status_of_fault(const Fault& fault, FileReport& report) {
  const bool is_memory = fault.error.code == Errc::address_unknown;
  const std::string& statement = fault.error.where;  // "@%p1 call ..."; a call of nullptr is the kernel's own
  const bool is_call = statement.starts_with("call") ||
                       (statement.starts_with('@') && statement.find(" call") != statement.npos);
  const bool is_code =
      is_call && fault.error.code == Errc::undefined_operand && !fault.error.seen.ends_with(" 0x0");
  const auto says = [&](std::string_view what) { return fault.error.seen.find(what) != std::string::npos; };
  const bool is_handle = fault.error.code == Errc::address_out_of_bounds &&
                         (says(texture::kNoTexture) || says(texture::kNoSurface));
  say(is_memory
          ? "it reaches memory that the recording does not have, as that behind pointers in memory (record --follow)"
      : is_code   ? "it calls a function by an address of the GPU, where code lies elsewhere"
      : is_handle ? "it has a handle of the GPU, and the recording has no textures and no surfaces"
                  : "fault",
      fault, report);
  return is_memory || is_code || is_handle ? FileStatus::not_reproducible : FileStatus::fault;
}

// Who stores there first: the launch is run again, and may not. An access that reaches across the edge of the bytes is out of
// bounds; then more are taken.
void say_store(const Subject& subject, const RecordedLaunch& launch, const Kernel& kernel, std::size_t part,
               std::size_t byte, FileReport& report) {
  for (const std::size_t around : {4, 8, 16, 32}) {
    Result<std::vector<Part>> parts = parts_of(subject, launch, Changed::as_recorded);
    if (!parts || !set_variables(subject, launch, kernel.module)) return;
    ptx::Launch how = how_to_launch(subject, launch, *parts);
    const std::size_t first = byte / around * around;
    protect(how, part, first, std::min(first + around, how.memory[part].bytes.size()));
    const ptx::Report got = kernel.function.launch(how, arguments_of(launch));
    if (!got.fault) return;
    if (got.fault->error.code != Errc::address_read_only) continue;
    const std::string message = got.fault->message();  // the statement: what is wrong, then lines of places
    report.notes.push_back(fmt::format("the first store to the {} bytes there: {}{}", around,
                                       message.substr(0, message.find(": ")),
                                       message.substr(std::min(message.find('\n'), message.size()))));
    return;
  }
}

Result<void> compare_all(const Subject& subject, const RecordedLaunch& launch, const Kernel& kernel,
                         const std::vector<Part>& parts, const ptx::Report& got, FileReport& report) {
  std::optional<std::pair<std::size_t, std::size_t>> wrong;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    const auto first = compare(
        part.recorded->name, part.expected, part.bytes, [&](std::size_t k) { return part.is_compared(k); },
        subject.options.details, report);
    if (first && !wrong) wrong = {i, *first};
  }
  if (wrong) say_store(subject, launch, kernel, wrong->first, wrong->second, report);
  if (const auto done = compare_variables(subject, launch, kernel.module, report); !done) return done.error();
  compare_printed(launch, got, report);
  say_open(launch, got, report);
  return {};
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
  const Result<Kernel> kernel = kernel_of(subject, *launch, *target);
  if (!kernel) return kernel.error();
  const Result<ptx::Report> got = run(subject, *launch, *kernel, *parts, report);
  if (!got) return got.error();
  report.cases = 1;
  report.inferred = got->inferred;
  say_findings(*got, report);
  if (got->fault) {
    if (got->fault->lanes.empty()) return got->fault->error;  // nothing has run
    leave_recorded(subject, *parts);
    return status_of_fault(*got->fault, report);
  }
  if (const auto done = compare_all(subject, *launch, *kernel, *parts, *got, report); !done)
    return done.error();
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
