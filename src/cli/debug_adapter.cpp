// SPDX-License-Identifier: Apache-2.0
#include "cli/debug_adapter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <istream>
#include <ostream>
#include <sstream>

#include "cli/arguments.hpp"
#include "cli/debug_fragments.hpp"
#include "cli/launch_values.hpp"

namespace warpbit::cli {
namespace {

namespace fs = std::filesystem;
using Json = DebugAdapter::Json;

/// A longer message is none.
constexpr std::size_t kLongestMessage = std::size_t{1} << 26;
constexpr std::size_t kLanesSeen = 32;

// A file as one of both has it: the other one may know its folders.
bool is_same_file(const std::string& x, const std::string& y) {
  return x == y || x.ends_with("/" + y) || y.ends_with("/" + x);
}

/// "%r1 < 5", of any lane that executes the statement; "" is none.
DebugPredicate condition_of(const std::string& text) {
  if (text.empty()) return {};
  std::istringstream in(text);
  std::string name, comparison, number_text, rest;
  in >> name >> comparison >> number_text;
  const bool is_negative = number_text.starts_with('-');
  const auto value = number<std::uint64_t>(number_text.substr(is_negative ? 1 : 0));
  constexpr std::string_view kComparisons[] = {"==", "!=", "<", "<=", ">", ">="};
  const auto* const found = std::ranges::find(kComparisons, comparison);
  if (!value || found == std::end(kComparisons) || in >> rest)
    refuse("the condition", fmt::format("'{}'", text), "REGISTER COMPARISON INTEGER, as in %r1 < 5");
  const auto holds = [which = found - std::begin(kComparisons)](auto x, auto y) {
    const bool all[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
    return all[which];
  };
  const std::uint64_t wanted = is_negative ? 0 - *value : *value;
  return [=](const ptx::Observation& seen) {
    for (const auto* all : {&seen.sources, &seen.registers})
      for (const ptx::RegisterValues& one : *all)
        for (std::size_t lane = 0; lane < kLanesSeen && one.name == name; ++lane) {
          if ((seen.lanes >> lane & 1) == 0) continue;
          const bool is_signed = one.type.starts_with('s');
          const auto as_signed = [&](std::uint64_t bits) {
            return one.type == "s32" ? std::int64_t{static_cast<std::int32_t>(bits)}
                                     : static_cast<std::int64_t>(bits);
          };
          if (is_signed ? holds(as_signed(one.values[lane]), static_cast<std::int64_t>(wanted))
                        : holds(one.values[lane], wanted))
            return true;
        }
    return false;
  };
}

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
    {"setExceptionBreakpoints", &DebugAdapter::nothing},
    {"configurationDone", &DebugAdapter::configured},
    {"threads", &DebugAdapter::threads},
    {"stackTrace", &DebugAdapter::stack},
    {"scopes", &DebugAdapter::scopes},
    {"variables", &DebugAdapter::variables},
    {"evaluate", &DebugAdapter::evaluate},
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
      lines_(loaded.kernel.lines(loaded.how)) {}

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
  if (at_.is_end && !at_.fault) {
    send({{"type", "event"}, {"event", "exited"}, {"body", {{"exitCode", 0}}}});
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
  return {{"supportsConfigurationDoneRequest", true},  {"supportsStepBack", true},
          {"supportsFunctionBreakpoints", true},       {"supportsConditionalBreakpoints", true},
          {"supportsHitConditionalBreakpoints", true}, {"supportsSteppingGranularity", true},
          {"supportsTerminateRequest", true},          {"supportsEvaluateForHovers", true}};
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

// ---- Breakpoints

bool DebugAdapter::is_of_module(const std::string& file) const {
  return is_same_file(file, file_);
}

const std::vector<SourceLink>& DebugAdapter::chain_of(int line) const {
  static const std::vector<SourceLink> none;
  const auto found = std::ranges::find(lines_, line, &ptx::CodeLine::line);
  return found == lines_.end() ? none : found->chain;
}

bool DebugAdapter::is_at(const Breakpoint& one, const ptx::Observation& seen) const {
  if (seen.lanes == 0 || (one.condition && !one.condition(seen))) return false;
  if (one.file.empty()) return without_guard(seen.statement).starts_with(one.opcode);
  if (is_of_module(one.file)) return seen.line == one.line;
  return std::ranges::any_of(chain_of(seen.line), [&](const SourceLink& link) {
    return link.line == one.line && is_same_file(one.file, link.file);
  });
}

Json DebugAdapter::set_breakpoints(const Json& arguments) {
  const std::string path = arguments.at("source").at("path").get<std::string>();
  std::vector<Breakpoint>& own = breaks_[path];
  own.clear();
  Json out = Json::array();
  for (const Json& asked : arguments.value("breakpoints", Json::array())) {
    Breakpoint one{path, asked.at("line").get<int>(), {}, 1, {}};
    one.hits = number<std::uint64_t>(asked.value("hitCondition", "1")).value_or(1);
    one.condition = condition_of(asked.value("condition", ""));
    const bool exists = std::ranges::any_of(lines_, [&](const ptx::CodeLine& line) {
      const bool is_source = std::ranges::any_of(line.chain, [&](const SourceLink& link) {
        return link.line == one.line && is_same_file(path, link.file);
      });
      return is_of_module(path) ? line.line == one.line : is_source;
    });
    out.push_back({{"verified", exists}, {"line", one.line}});
    if (!exists) out.back()["message"] = "the kernel executes no statement of this line";
    own.push_back(std::move(one));
  }
  return {{"breakpoints", out}};
}

Json DebugAdapter::set_function_breakpoints(const Json& arguments) {
  std::vector<Breakpoint>& own = breaks_[""];
  own.clear();
  Json out = Json::array();
  for (const Json& asked : arguments.at("breakpoints")) {
    Breakpoint one{{}, 0, asked.at("name").get<std::string>(), 1, condition_of(asked.value("condition", ""))};
    const bool exists = std::ranges::any_of(lines_, [&](const ptx::CodeLine& line) {
      return without_guard(line.statement).starts_with(one.opcode);
    });
    out.push_back({{"verified", exists}});
    own.push_back(std::move(one));
  }
  return {{"breakpoints", out}};
}

// ---- Moves

Json DebugAdapter::go_on(const Json&) {
  std::map<const Breakpoint*, std::uint64_t> hits;
  go(debugger_.find_next(at_.step,
                         [&](const ptx::Observation& seen) {
                           bool stops = false;
                           for (const auto& [source, all] : breaks_)
                             for (const Breakpoint& one : all)
                               if (is_at(one, seen) && ++hits[&one] % std::max<std::uint64_t>(one.hits, 1) == 0)
                                 stops = true;
                           return stops;
                         }),
     "breakpoint");
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
