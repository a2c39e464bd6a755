// SPDX-License-Identifier: Apache-2.0
#include "device/twin.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "other_values.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit::device {
namespace {

using nlohmann::json;
using Bytes = std::span<std::byte>;
using Clock = std::chrono::steady_clock;

/// What is known in this process.
struct Known {
  std::mutex mutex;
  std::set<std::pair<CallSite, std::string>> sites;  // that were written, with their targets
  bool differs = false;                              // the mistake leaves other bytes
  std::map<std::string, int> tried;                  // launches, by kernel
  /// What is left for launches apart: a test must not seem to have no end as it is compared.
  std::chrono::milliseconds time{5000};
};
Known& known() {
  static Known one;
  return one;
}

// ---- A launch in a process of its own

/// How to launch.
struct Twin {
  const PlantedCall* mistake = nullptr;
  std::vector<Bytes> changed = {};  ///< gets other values first
  OtherValues values = {};
  int axis = -1;  ///< along which the grid has one block more, of a cluster one cluster; -1: none
};

/// What it has left.
struct Left {
  bool is_known = false;
  std::string fault = {}, rule = {};
  std::uint64_t changes = 0, executed = 0;  ///< GlobalAccesses::changes, CallWatch::executed
  std::vector<Bytes> read = {};
};

bool is_of_target(const PlantedCall* mistake, const Launch& how) {
  return mistake != nullptr && mistake->change == PlantedCall::Change::target &&
         how.target.name() == mistake->call;
}

Launch launch_of(const Twin& twin, const Launch& how) {
  constexpr unsigned Dim3::*kAxes[] = {&Dim3::x, &Dim3::y, &Dim3::z};
  Launch out = how;
  if (is_of_target(twin.mistake, how))
    if (const Result<Target> other = Target::find_ptx(twin.mistake->text)) out.target = *other;
  if (twin.axis >= 0) out.grid.*kAxes[twin.axis] += how.cluster.*kAxes[twin.axis];
  return out;
}

// Constants lie where nobody may write: the system says so of a read from a pipe.
void put(std::span<const std::byte> bytes, Bytes to) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) return;
  constexpr std::size_t kPiece = 4096;
  for (std::size_t at = 0; at < to.size(); at += kPiece) {
    const std::size_t size = std::min(kPiece, to.size() - at);
    if (::write(pipe[1], &bytes[at], size) != static_cast<ssize_t>(size)) break;
    if (::read(pipe[0], &to[at], size) != static_cast<ssize_t>(size)) break;
  }
  ::close(pipe[0]);
  ::close(pipe[1]);
}

void change_memory(const Twin& twin) {
  std::uint64_t state = 54;
  for (const Bytes one : twin.changed) {
    std::vector<std::byte> bytes(one.begin(), one.end());
    change_values(bytes, twin.values, state);
    put(bytes, one);
  }
}

// In the child.
json left_by(const Twin& twin, const Launch& how, const std::function<void()>& thread) {
  change_memory(twin);
  const PlantedCall nothing;  // no line is 0
  CallWatch watch(twin.mistake != nullptr ? *twin.mistake : nothing);
  GlobalAccesses accesses;
  watch.accesses = &accesses;
  Launch alone = launch_of(twin, how);
  alone.execute.threads = 1;
  json out = {{"fault", ""}, {"rule", ""}};
  try {
    if (const Launched launched = launch_once(alone, thread, &watch); launched.fault)
      out = {{"fault", launched.fault->message()}, {"rule", std::string(name(launched.fault->error.code))}};
  } catch (...) {
    out["fault"] = out["rule"] = "the kernel throws an exception";
  }
  out["changes"] = accesses.changes();
  out["executed"] = watch.executed() + (is_of_target(twin.mistake, how) ? 1 : 0);
  for (const Bytes one : accesses.read())
    out["read"].push_back({reinterpret_cast<std::uintptr_t>(one.data()), one.size()});
  return out;
}

Left left_of(const json& from, int status) {
  Left out;
  if (WIFSIGNALED(status)) {
    out.is_known = true;
    out.fault = out.rule = fmt::format("the kernel ends its process by signal {}", WTERMSIG(status));
    out.executed = 1;
  }
  if (!from.is_object()) return out;
  out = {true, from.at("fault"), from.at("rule"), from.at("changes"), from.at("executed"), {}};
  for (const json& one : from.value("read", json::array()))
    out.read.emplace_back(reinterpret_cast<std::byte*>(one[0].get<std::uintptr_t>()),
                          one[1].get<std::size_t>());
  return out;
}

[[noreturn]] void be_child(int to, const Twin& twin, const Launch& how, const std::function<void()>& thread) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (const int nothing = ::open("/dev/null", O_WRONLY);
      nothing >= 0) {  // what the kernel prints is printed once
    ::dup2(nothing, STDOUT_FILENO);
    ::dup2(nothing, STDERR_FILENO);
  }
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT})
    ::signal(signal, SIG_DFL);  // no report of the test's
  const std::string text = left_by(twin, how, thread).dump();
  std::size_t at = 0;
  for (ssize_t done = 1; done > 0 && at < text.size();
       at += static_cast<std::size_t>(std::max<ssize_t>(done, 0)))
    done = ::write(to, &text[at], text.size() - at);
  ::_exit(0);
}

// Until the other end is closed; nothing if the time is over before.
std::optional<std::string> read_all(int from, std::chrono::milliseconds time) {
  const auto end = Clock::now() + time;
  std::string out;
  std::array<char, 4096> piece{};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd one{from, POLLIN, 0};
    if (::poll(&one, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) <= 0) return std::nullopt;
    const ssize_t size = ::read(from, piece.data(), piece.size());
    if (size <= 0) return out;
    out.append(piece.data(), static_cast<std::size_t>(size));
  }
}

// All that the kernel does stays in the child, but in memory that processes share.
Left launch_for(std::chrono::milliseconds time, const Twin& twin, const Launch& how,
                const std::function<void()>& thread) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) be_child(pipe[1], twin, how, thread);
  ::close(pipe[1]);
  const std::optional<std::string> text = child > 0 ? read_all(pipe[0], time) : std::nullopt;
  ::close(pipe[0]);
  if (child < 0) return {};
  if (!text) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  return text ? left_of(json::parse(*text, nullptr, false), status) : Left();
}

Left launch_apart(const Twin& twin, const Launch& how, const std::function<void()>& thread) {
  const auto begin = Clock::now();
  const auto time = [&] {
    const std::lock_guard lock(known().mutex);
    return known().time;
  }();
  if (time.count() <= 0) return {};
  Left out = launch_for(time, twin, how, thread);
  const std::lock_guard lock(known().mutex);
  known().time -= std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
  return out;
}

// ---- Two launches

/// The outcome of a launch with the mistake beside one without.
std::string_view outcome_of(const Left& right, const Left& wrong) {
  if (!right.fault.empty() && !wrong.fault.empty()) return right.rule == wrong.rule ? "same" : "bytes";
  if (!wrong.fault.empty()) return "fault";
  return right.fault.empty() && right.changes == wrong.changes ? "same" : "bytes";
}

class Twins {
 public:
  Twins(const PlantedCall& mistake, const Launch& how, const std::function<void()>& thread)
      : mistake_(mistake), how_(how), thread_(thread) {}

  /// Nothing if the mistake is not executed, or there is no time.
  std::optional<json> compare() {
    (void)Instruction::parse(mistake_.call,
                             how_.target);  // the library makes its tables once, for all children
    const Left wrong = launch_apart({.mistake = &mistake_}, how_, thread_);
    if (!wrong.is_known || wrong.executed == 0) return std::nullopt;
    const Left right = launch_apart({}, how_, thread_);
    if (!right.is_known) return std::nullopt;
    std::string_view outcome = outcome_of(right, wrong);
    if (outcome == "same" && right.fault.empty() && is_to_be_tried()) outcome = with_other_inputs(right.read);
    const std::lock_guard lock(known().mutex);
    known().differs = known().differs || outcome == "fault" || outcome == "bytes";
    return json{{"event", "source"},
                {"outcome", outcome},
                {"inputs", tried_},
                {"what", outcome == "fault" ? wrong.fault : ""}};
  }

 private:
  bool is_to_be_tried() const {
    const std::lock_guard lock(known().mutex);
    return known().tried[thread_.target_type().name()]++ < kTriedLaunches;
  }

  // Whether both leave the same; so they do where the kernel as it is has a fault.
  bool is_same(Twin twin) {
    const Left right = launch_apart(twin, how_, thread_);
    if (!right.is_known || !right.fault.empty()) return true;
    twin.mistake = &mistake_;
    const Left wrong = launch_apart(twin, how_, thread_);
    tried_ += wrong.is_known ? 1 : 0;
    return !wrong.is_known || outcome_of(right, wrong) == "same";
  }

  std::string_view with_other_inputs(const std::vector<Bytes>& read) {
    for (const OtherValues& values : kOtherValues)
      if (!read.empty() && !is_same({.changed = read, .values = values})) return "values";
    for (int axis = 0; axis < 3; ++axis)
      if (!is_same({.axis = axis})) return "sizes";
    return "same";
  }

  const PlantedCall& mistake_;
  const Launch& how_;
  const std::function<void()>& thread_;
  int tried_ = 0;
};

bool differs() {
  const std::lock_guard lock(known().mutex);
  return known().differs;
}

}  // namespace

Launched launch_recorded(const TestProcess& process, const Launch& how, const std::function<void()>& thread) {
  process.write({{"event", "source"}});
  CallWatch watch;
  Launched out = launch_once(how, thread, &watch);
  const std::string target(how.target.name());
  const std::lock_guard lock(known().mutex);
  for (const CallSite& one : watch.sites())
    if (known().sites.emplace(one, target).second)
      process.write(
          {{"event", "call"}, {"file", one.file}, {"line", one.line}, {"call", one.call}, {"target", target}});
  return out;
}

Launched launch_twins(const TestProcess& process, const Launch& how, const std::function<void()>& thread) {
  const json planted = {{"event", "planted"}};
  if (!process.call()) return launch_once(how, thread, nullptr);
  const PlantedCall& mistake = *process.call();
  if (!differs())
    if (const std::optional<json> event = Twins(mistake, how, thread).compare()) process.write(*event);
  if (is_of_target(&mistake, how)) process.write(planted);
  CallWatch watch(mistake, [&] { process.write(planted); });
  return launch_once(launch_of({.mistake = &mistake}, how), thread, &watch);
}

}  // namespace warpbit::device
