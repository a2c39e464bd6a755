// SPDX-License-Identifier: Apache-2.0
// The functions for C that libwarpbit-kernels has.
#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "c/status.hpp"
#include "numeric/words.hpp"
#include "warpbit/ptx.hpp"
#include "warpbit/warpbit.h"

struct warpbit_module {
  warpbit::ptx::Module module;
  std::string target;                // with a terminating zero
  std::vector<std::string> entries;  // once, since names are lent
};

struct warpbit_kernel {
  warpbit::ptx::Function function;
};

namespace warpbit {
namespace {

warpbit_status no_module() {
  return wrong_argument("module", "a null pointer", "one of warpbit_load_module");
}
warpbit_status no_kernel() {
  return wrong_argument("kernel", "a null pointer", "one of warpbit_find_kernel");
}

Dim3 dim3_of(const std::uint32_t (&given)[3]) {
  const auto at_least_one = [](std::uint32_t n) { return n == 0 ? 1 : n; };
  return {at_least_one(given[0]), at_least_one(given[1]), at_least_one(given[2])};
}

// "fold, contract" -> names
std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> out;
  for (std::string_view name : words_between(list, ",")) {
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    out.emplace_back(name.substr(0, name.find_last_not_of(' ') + 1));
  }
  return out;
}

Result<ptx::Launch> launch_of(const warpbit_launch_options* given) {
  if (given == nullptr || given->size < sizeof given->size)
    return Error{Errc::usage, "options",
                 given == nullptr ? "a null pointer" : fmt::format("size {}", given->size), "WARPBIT_INIT"};
  warpbit_launch_options all{};
  std::memcpy(&all, given, std::min(given->size, sizeof all));
  if (all.threads < 0) return Error{Errc::usage, "threads", std::to_string(all.threads), "0 or more"};
  if (all.cancel < WARPBIT_CANCEL_FIRST_COME || all.cancel > WARPBIT_CANCEL_RANDOM)
    return Error{Errc::usage, "cancel", std::to_string(all.cancel), "a warpbit_cancel"};
  ptx::Launch out;
  out.cancel = static_cast<ptx::Cancel>(all.cancel);
  out.cancel_seed = all.cancel_seed;
  out.schedule = all.schedule;
  out.grid = dim3_of(all.grid);
  out.block = dim3_of(all.block);
  if (all.cluster[0] != 0 || all.cluster[1] != 0 || all.cluster[2] != 0) out.cluster = dim3_of(all.cluster);
  out.lenient = all.lenient != 0;
  out.shared_bytes = all.shared_bytes;
  out.step_limit = all.step_limit;
  out.contract = all.separate == 0;
  out.as_written = all.as_written != 0;
  if (all.without != nullptr) out.without = names_in(all.without);
  out.check_shared = all.unchecked_shared == 0;
  out.check_global = all.unchecked_global == 0;
  out.strict = all.strict != 0;
  if (all.rules != nullptr)
    for (const std::string& one : names_in(all.rules)) {
      Result<ptx::GradedRule> rule = ptx::GradedRule::parse(one);
      if (!rule) return rule.error();
      out.grades.push_back(*std::move(rule));
    }
  out.execute.undefined = all.as_measured != 0 ? Undefined::as_measured : Undefined::error;
  out.execute.allow_inferred = all.refuse_inferred == 0;
  out.execute.threads = all.threads;
  return out;
}

/// No parameter and no array has more.
constexpr std::size_t kMostValue = std::size_t{1} << 20, kMostBytes = std::size_t{1} << 40;

Result<ptx::Argument> argument_of(const warpbit_argument& given, std::size_t i) {
  const auto wrong = [&](std::string seen, std::string accepted) {
    return Error{Errc::usage, fmt::format("argument {}", i), std::move(seen), std::move(accepted)};
  };
  if (given.kind == WARPBIT_NULL) return ptx::null();
  if (given.kind < WARPBIT_NULL || given.kind > WARPBIT_UNWRITTEN)
    return wrong(fmt::format("kind {}", given.kind), "a warpbit_argument_kind");
  if (given.data == nullptr && given.bytes != 0) return wrong("no data", "WARPBIT_NULL for a null pointer");
  if (given.bytes > (given.kind == WARPBIT_VALUE ? kMostValue : kMostBytes))
    return wrong(fmt::format("{} bytes", given.bytes), "the bytes of an array, or of a parameter");
  const std::span<std::byte> bytes(static_cast<std::byte*>(given.data), given.bytes);
  if (given.kind == WARPBIT_BUFFER) return ptx::Argument(bytes);
  if (given.kind == WARPBIT_UNWRITTEN) return ptx::Argument(ptx::Unwritten{bytes});
  if (given.kind == WARPBIT_CONSTANT) return ptx::Argument(std::span<const std::byte>(bytes));
  return ptx::Argument(std::vector<std::byte>(bytes.begin(), bytes.end()));
}

/// Texts of this thread's last launch.
struct LastLaunch {
  struct Finding {
    std::string message, name;
    std::uint64_t times;
    const char *rule, *grade;  // of tables
  };
  std::string fault, printed, order_dependent, inferences, assembled, notes;
  std::vector<Finding> findings;
};
LastLaunch& last_launch() {
  thread_local LastLaunch last;
  return last;
}

std::vector<LastLaunch::Finding> findings_of(const ptx::Report& report) {
  std::vector<LastLaunch::Finding> out;
  for (const ptx::Finding& one : report.findings)
    out.push_back({one.fault.message(), std::string(name(one.fault.error.code)), one.times,
                   name(one.fault.rule).data(), name(one.grade).data()});
  return out;
}

// Null if there is nothing.
const char* lent(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

// "line 12: ..." for each.
template <class T, class Words>
std::string lines_of(const std::vector<T>& all, Words words) {
  std::string out;
  for (const T& one : all) out += fmt::format("{}line {}: {}", out.empty() ? "" : "\n", one.line, words(one));
  return out;
}
std::string order_text(const ptx::OrderDependence& one) {
  return fmt::format("{}: {}", one.instruction, one.why);
}
std::string inference_text(const ptx::Inference& one) {
  return fmt::format("{}: {}; as {}", one.instruction, one.open, one.from);
}
std::string assembled_text(const ptx::AssembledLine& one) {
  return fmt::format("{}: {}", one.rule, one.statement);
}
std::string note_text(const ptx::AssemblerNote& one) {
  return fmt::format("{}: {}: {}", one.defect, one.statement, one.text);
}

warpbit_status reported(ptx::Report done, warpbit_launch_report* report) {
  LastLaunch& last = last_launch();
  last = {done.fault ? done.fault->message() : "",
          std::move(done.printed),
          lines_of(done.order_dependent, order_text),
          lines_of(done.inferences, inference_text),
          lines_of(done.assembled, assembled_text),
          lines_of(done.notes, note_text),
          findings_of(done)};
  if (report != nullptr) {
    const warpbit_status filled =
        fill(report, {0, done.blocks, done.steps, done.inferred, done.contracted,
                      done.fault ? last.fault.c_str() : nullptr, last.printed.c_str(),
                      lent(last.order_dependent), last.findings.size(), done.cancelled, done.checked.shared,
                      done.checked.global, done.checked.barriers, done.checked.copies, done.checked.products});
    if (filled != WARPBIT_OK) return filled;
  }
  if (!done.fault) return WARPBIT_OK;
  const warpbit_status status = refuse(done.fault->error);
  last_error().message = last.fault;
  return status;
}

}  // namespace
}  // namespace warpbit

using namespace warpbit;

warpbit_status warpbit_load_module(const char* text, const char* target, warpbit_module** module) {
  return guarded([&] {
    if (text == nullptr || module == nullptr)
      return wrong_argument("warpbit_load_module", "a null pointer", "a text and where to put the module");
    *module = nullptr;
    std::optional<Target> on;
    if (target != nullptr) {
      const Result<Target> found = Target::find(target);
      if (!found) return refuse(found.error());
      on = *found;
    }
    const Result<ptx::Module> loaded = ptx::Module::load(text, on);
    if (!loaded) return refuse(loaded.error());
    *module = new warpbit_module{*loaded, std::string(loaded->target().name()), loaded->entries()};
    return WARPBIT_OK;
  });
}

void warpbit_free_module(warpbit_module* module) {
  delete module;
}

warpbit_status warpbit_describe_module(const warpbit_module* module, warpbit_module_description* description) {
  return guarded([&] {
    if (module == nullptr) return no_module();
    return fill(description, {0, module->target.c_str(), static_cast<int32_t>(module->entries.size())});
  });
}

const char* warpbit_kernel_name(const warpbit_module* module, int32_t kernel) {
  if (module == nullptr || kernel < 0 || static_cast<std::size_t>(kernel) >= module->entries.size())
    return nullptr;
  return module->entries[static_cast<std::size_t>(kernel)].c_str();
}

warpbit_status warpbit_find_kernel(const warpbit_module* module, const char* name, warpbit_kernel** kernel) {
  return guarded([&] {
    if (module == nullptr) return no_module();
    if (name == nullptr || kernel == nullptr)
      return wrong_argument("warpbit_find_kernel", "a null pointer", "a name and where to put the kernel");
    *kernel = nullptr;
    const Result<ptx::Function> found = module->module.function(name);
    if (!found) return refuse(found.error());
    *kernel = new warpbit_kernel{*found};
    return WARPBIT_OK;
  });
}

void warpbit_free_kernel(warpbit_kernel* kernel) {
  delete kernel;
}

warpbit_status warpbit_describe_kernel(const warpbit_kernel* kernel, warpbit_kernel_description* description) {
  return guarded([&] {
    if (kernel == nullptr) return no_kernel();
    const ptx::Function& f = kernel->function;
    return fill(description,
                {0, f.name().c_str(), static_cast<int32_t>(f.parameters().size()), f.shared_bytes()});
  });
}

warpbit_status warpbit_describe_parameter(const warpbit_kernel* kernel, int32_t parameter,
                                          warpbit_parameter* description) {
  return guarded([&] {
    if (kernel == nullptr) return no_kernel();
    const std::vector<ptx::Parameter>& all = kernel->function.parameters();
    if (parameter < 0 || static_cast<std::size_t>(parameter) >= all.size())
      return wrong_argument(
          "parameter", std::to_string(parameter),
          all.empty() ? "none: the kernel has no parameters" : fmt::format("0 to {}", all.size() - 1));
    const ptx::Parameter& p = all[static_cast<std::size_t>(parameter)];
    return fill(description, {0, p.name.c_str(), p.type.c_str(), p.bytes, p.offset, p.alignment});
  });
}

warpbit_status warpbit_variable(const warpbit_module* module, const char* name, void** data, size_t* bytes) {
  return guarded([&] {
    if (module == nullptr) return no_module();
    if (name == nullptr || data == nullptr || bytes == nullptr)
      return wrong_argument("warpbit_variable", "a null pointer",
                            "a name and where to put the place and the size");
    const Result<std::span<std::byte>> found = module->module.variable(name);
    if (!found) return refuse(found.error());
    *data = found->data();
    *bytes = found->size();
    return WARPBIT_OK;
  });
}

warpbit_status warpbit_address(void* data, size_t bytes, uint64_t* address) {
  return guarded([&] {
    if (data == nullptr || address == nullptr)
      return wrong_argument("warpbit_address", "a null pointer", "an array and where to put its address");
    if (bytes > kMostBytes)
      return wrong_argument("bytes", fmt::format("{}", bytes), fmt::format("at most {}", kMostBytes));
    *address = ptx::address({static_cast<std::byte*>(data), bytes});
    return WARPBIT_OK;
  });
}

warpbit_status warpbit_forget(uint64_t address) {
  return guarded([&] {
    return ptx::forget(address)
               ? WARPBIT_OK
               : wrong_argument("address", fmt::format("{:#x}", address), "one of warpbit_address");
  });
}

warpbit_status warpbit_launch(const warpbit_kernel* kernel, const warpbit_launch_options* options,
                              const warpbit_argument* arguments, size_t count, warpbit_launch_report* report) {
  return guarded([&] {
    if (kernel == nullptr) return no_kernel();
    if (arguments == nullptr && count != 0)
      return wrong_argument("arguments", "a null pointer", "one for each parameter");
    if (const std::size_t wanted = kernel->function.parameters().size(); count > wanted)
      return wrong_argument("count", fmt::format("{}", count),
                            fmt::format("{}, one for each parameter", wanted));
    if (report != nullptr && report->size < sizeof report->size)
      return wrong_argument("size", "no structure with its size", "WARPBIT_INIT");
    const Result<ptx::Launch> how = launch_of(options);
    if (!how) return refuse(how.error());
    std::vector<ptx::Argument> all;
    for (std::size_t i = 0; i < count; ++i) {
      Result<ptx::Argument> argument = argument_of(arguments[i], i);
      if (!argument) return refuse(argument.error());
      all.push_back(*std::move(argument));
    }
    return reported(kernel->function.launch(*how, all), report);
  });
}

const char* warpbit_inferences() {
  return lent(last_launch().inferences);
}

const char* warpbit_assembled() {
  return lent(last_launch().assembled);
}

const char* warpbit_notes() {
  return lent(last_launch().notes);
}

warpbit_status warpbit_describe_finding(uint64_t finding, warpbit_finding* description) {
  return guarded([&] {
    const LastLaunch& last = last_launch();
    if (finding >= last.findings.size())
      return wrong_argument("finding", std::to_string(finding),
                            last.findings.empty() ? "none: the last launch has found nothing"
                                                  : fmt::format("0 to {}", last.findings.size() - 1));
    const LastLaunch::Finding& one = last.findings[finding];
    return fill(description, {0, one.message.c_str(), one.name.c_str(), one.times, one.rule, one.grade});
  });
}
