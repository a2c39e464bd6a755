// SPDX-License-Identifier: Apache-2.0
#include "cli/debug_adapter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <istream>
#include <ostream>
#include <sstream>

#include "cli/arguments.hpp"

namespace warpbit::cli {
namespace {

namespace fs = std::filesystem;
using Json = DebugAdapter::Json;

/// A longer message is none.
constexpr std::size_t kLongestMessage = std::size_t{1} << 26;

struct RequestRow {
  std::string_view name;
  Json (DebugAdapter::*run)(const Json&);
};
constexpr RequestRow kRequests[] = {
    {"initialize", &DebugAdapter::initialize},
    {"launch", &DebugAdapter::start},
    {"attach", &DebugAdapter::start},
    {"setBreakpoints", &DebugAdapter::set_breakpoints},
    {"setFunctionBreakpoints", &DebugAdapter::set_function_breakpoints},
    {"setExceptionBreakpoints", &DebugAdapter::set_exception_breakpoints},
    {"dataBreakpointInfo", &DebugAdapter::data_breakpoint_info},
    {"setDataBreakpoints", &DebugAdapter::set_data_breakpoints},
    {"configurationDone", &DebugAdapter::configured},
    {"threads", &DebugAdapter::threads},
    {"stackTrace", &DebugAdapter::stack},
    {"scopes", &DebugAdapter::scopes},
    {"variables", &DebugAdapter::variables},
    {"evaluate", &DebugAdapter::evaluate},
    {"setVariable", &DebugAdapter::set_variable},
    {"continue", &DebugAdapter::go_on},
    {"next", &DebugAdapter::next},
    {"stepIn", &DebugAdapter::step_in},
    {"stepOut", &DebugAdapter::step_out},
    {"stepBack", &DebugAdapter::step_back},
    {"reverseContinue", &DebugAdapter::reverse},
    {"pause", &DebugAdapter::nothing},
    {"terminate", &DebugAdapter::disconnect},
    {"disconnect", &DebugAdapter::disconnect},
};

}  // namespace

DebugAdapter::DebugAdapter(LoadedLaunch& loaded, std::string file, std::istream& in, std::ostream& out)
    : loaded_(loaded),
      file_(fs::absolute(file).lexically_normal().string()),
      in_(in),
      out_(out),
      debugger_(loaded.kernel, loaded.how, loaded.arguments),
      lines_(loaded.kernel.lines(loaded.how)),
      variables_(loaded.kernel.shared_variables(loaded.how)) {}

// ---- Messages: "Content-Length: 119\r\n\r\n{...}"

void DebugAdapter::serve() {
  std::size_t length = 0;
  for (std::string line; !is_done_ && std::getline(in_, line);) {
    constexpr std::string_view kLength = "Content-Length: ";
    if (line.ends_with('\r')) line.pop_back();
    if (line.starts_with(kLength)) length = number<std::size_t>(line.substr(kLength.size())).value_or(0);
    if (!line.empty()) continue;
    if (length == 0 || length > kLongestMessage) return;
    std::string text(length, '\0');
    if (!in_.read(text.data(), static_cast<std::streamsize>(length))) return;
    length = 0;
    if (const Json request = Json::parse(text, nullptr, false); request.is_object()) answer(request);
  }
}

void DebugAdapter::send(Json message) {
  message["seq"] = ++sequence_;
  const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  out_ << "Content-Length: " << text.size() << "\r\n\r\n" << text << std::flush;
}

void DebugAdapter::answer(const Json& request) {
  const std::string name = request.value("command", "");
  Json out = {
      {"type", "response"}, {"request_seq", request.value("seq", 0)}, {"command", name}, {"success", true}};
  behind_ = {};
  try {
    const auto* const row = std::ranges::find(kRequests, name, &RequestRow::name);
    if (row == std::end(kRequests)) refuse("the request", fmt::format("'{}'", name), "one of this adapter's");
    out["body"] = (this->*row->run)(request.value("arguments", Json::object()));
  } catch (const Refusal& refusal) {
    out["success"] = false;
    out["message"] = refusal.error.message();
  } catch (const Json::exception& error) {
    out["success"] = false;
    out["message"] = fmt::format("arguments that the request has not: {}", error.what());
  }
  send(std::move(out));
  if (behind_) behind_();
}

void DebugAdapter::stopped(std::string_view reason) {
  handles_.clear();
  if (at_.is_end && (!at_.fault || !stops_at_faults_)) {
    send({{"type", "event"}, {"event", "exited"}, {"body", {{"exitCode", at_.fault ? 1 : 0}}}});
    return send({{"type", "event"}, {"event", "terminated"}});
  }
  Json body = {{"reason", reason},
               {"threadId", (at_.seen    ? at_.seen->warp
                             : at_.fault ? at_.fault->warp
                                         : 0) +
                                1},
               {"allThreadsStopped", true}};
  if (at_.is_end) {
    body["reason"] = "exception";
    body["text"] = at_.fault->message();
    body["description"] = "a fault: the launch has ended";
  } else if (reason == kFindingReason && !at_.findings.empty()) {
    body["text"] = at_.findings.back().fault.message();
    body["description"] = "a finding";
  }
  send({{"type", "event"}, {"event", "stopped"}, {"body", body}});
}

void DebugAdapter::go(std::optional<std::uint64_t> to, std::string_view reason) {
  behind_ = [this, to, reason = std::string(reason)] {
    at_ = debugger_.state(to.value_or(~std::uint64_t{0}));
    stopped(reason);
  };
}

// ---- The session

Json DebugAdapter::initialize(const Json&) {
  behind_ = [this] { send({{"type", "event"}, {"event", "initialized"}}); };
  return {{"supportsConfigurationDoneRequest", true},
          {"supportsStepBack", true},
          {"supportsFunctionBreakpoints", true},
          {"supportsConditionalBreakpoints", true},
          {"supportsHitConditionalBreakpoints", true},
          {"supportsSteppingGranularity", true},
          {"supportsTerminateRequest", true},
          {"supportsEvaluateForHovers", true},
          {"supportsDataBreakpoints", true},
          {"supportsSetVariable", true},
          {"exceptionBreakpointFilters",
           {{{"filter", "finding"}, {"label", "findings"}, {"default", false}},
            {{"filter", "fault"}, {"label", "faults, which end the launch"}, {"default", true}}}}};
}

Json DebugAdapter::start(const Json& arguments) {
  stops_on_entry_ = arguments.value("stopOnEntry", false);
  return Json::object();
}

Json DebugAdapter::nothing(const Json&) {
  return Json::object();
}

Json DebugAdapter::configured(const Json& arguments) {
  if (!stops_on_entry_) return go_on(arguments);
  go(1, "entry");
  return Json::object();
}

Json DebugAdapter::disconnect(const Json&) {
  is_done_ = true;
  debugger_.restore();
  return Json::object();
}

// ---- Moves

Json DebugAdapter::go_on(const Json&) {
  std::map<const Breakpoint*, std::uint64_t> hits;
  std::string_view reason = "breakpoint";
  const auto to = debugger_.find_next(at_.step, [&](const ptx::Observation& seen) {
    bool stops = false;
    for (const auto& [source, all] : breaks_)
      for (const Breakpoint& one : all)
        if (is_at(one, seen) && ++hits[&one] % std::max<std::uint64_t>(one.hits, 1) == 0) {
          stops = true;
          reason = one.reason;
        }
    return stops;
  });
  go(to, reason);
  return {{"allThreadsContinued", true}};
}

// What lies before the place: at the end all statements.
std::uint64_t DebugAdapter::behind_last() const {
  return at_.step + (at_.is_end ? 1 : 0);
}

Json DebugAdapter::reverse(const Json&) {
  const auto to = debugger_.find_previous(behind_last(), [&](const ptx::Observation& seen) {
    return std::ranges::any_of(breaks_, [&](const auto& of) {
      return std::ranges::any_of(of.second, [&](const Breakpoint& one) { return is_at(one, seen); });
    });
  });
  go(to.value_or(1), to ? "breakpoint" : "entry");
  return Json::object();
}

// The next statement of a warp, or its next one from other lines of the source.
DebugPredicate DebugAdapter::steps_of(int warp, bool statements) const {
  const std::vector<SourceLink> from = at_.seen ? chain_of(at_.seen->line) : std::vector<SourceLink>();
  return [=, this](const ptx::Observation& seen) {
    return seen.warp == warp && (statements || from.empty() || chain_of(seen.line) != from);
  };
}

Json DebugAdapter::next(const Json& arguments) {
  const bool statements = arguments.value("granularity", "line") == "instruction";
  go(debugger_.find_next(at_.step, steps_of(arguments.at("threadId").get<int>() - 1, statements)), "step");
  return Json::object();
}

Json DebugAdapter::step_in(const Json& arguments) {
  go(debugger_.find_next(at_.step, steps_of(arguments.at("threadId").get<int>() - 1, true)), "step");
  return Json::object();
}

// To where the function ends that was inlined there.
Json DebugAdapter::step_out(const Json& arguments) {
  const int warp = arguments.at("threadId").get<int>() - 1;
  const std::size_t depth = at_.seen ? chain_of(at_.seen->line).size() : 0;
  go(debugger_.find_next(
         at_.step,
         [&](const ptx::Observation& seen) { return seen.warp == warp && chain_of(seen.line).size() < depth; }),
     "step");
  return Json::object();
}

Json DebugAdapter::step_back(const Json& arguments) {
  const bool statements = arguments.value("granularity", "line") == "instruction";
  const auto to =
      debugger_.find_previous(behind_last(), steps_of(arguments.at("threadId").get<int>() - 1, statements));
  go(to.value_or(1), to ? "step" : "entry");
  return Json::object();
}

}  // namespace warpbit::cli
