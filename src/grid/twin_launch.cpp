// SPDX-License-Identifier: Apache-2.0
#include "grid/twin_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <variant>

#include "grid/launch_memory.hpp"
#include "grid/twin_steps.hpp"
#include "other_values.hpp"

namespace warpbit::grid {
namespace {

using Bytes = std::span<std::byte>;

/// Launches whose memory is larger are not compared.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
/// What of the mistake is known in this process.
struct OfMistake {
  std::mutex mutex;
  bool differs = false;
  std::map<std::string, int> tried;               // launches, by kernel
  std::map<std::string, std::set<int>> executed;  // lines, by module and kernel
};
OfMistake& of_mistake() {
  static OfMistake one;
  return one;
}

// ---- Memory

std::vector<Bytes> bytes_of(std::span<const GlobalMemory::Range> ranges) {
  std::vector<Bytes> out;
  for (const GlobalMemory::Range& one : ranges) out.emplace_back(one.data, one.bytes);
  return out;
}

std::size_t size_of(const std::vector<Bytes>& all) {
  std::size_t out = 0;
  for (const Bytes one : all) out += one.size();
  return out;
}

using Copy = std::vector<std::byte>;

Copy copy_of(const std::vector<Bytes>& all) {
  Copy out;
  out.reserve(size_of(all));
  for (const Bytes one : all) out.insert(out.end(), one.begin(), one.end());
  return out;
}

void put(const Copy& copy, const std::vector<Bytes>& to) {
  std::size_t at = 0;
  for (const Bytes one : to) {
    if (!one.empty()) std::memcpy(one.data(), &copy[at], one.size());
    at += one.size();
  }
}

// ---- Other inputs

/// Another input of the same kind: other values, or one smaller integer, or a larger grid.
struct Change {
  std::string_view outcome;
  OtherValues values = {};
  std::size_t smaller = 0;  ///< the number of the parameter + 1; 0: none
  std::uint64_t size = 0;   ///< its number then
  int axis = -1;            ///< along which the grid has one block more, of a cluster one cluster; -1: none
};

bool is_integer(const ptx::Parameter& one) {
  return (one.bytes == 4 || one.bytes == 8) && (one.type[0] == 'u' || one.type[0] == 's' || one.type[0] == 'b');
}

/// The number of a parameter; 0 if it is no integer that may be less.
std::uint64_t size_argument(const ptx::Parameter& parameter, const ptx::Argument& argument) {
  const auto* const bytes = std::get_if<std::vector<std::byte>>(&argument);
  std::uint64_t out = 0;
  if (bytes == nullptr || !is_integer(parameter) || bytes->size() > sizeof out) return 0;
  std::memcpy(&out, bytes->data(), bytes->size());
  return out >= 2 && out < (std::uint64_t{1} << 31) ? out : 0;
}

std::vector<Change> changes_of(const TwinLaunch& what) {
  std::vector<Change> out;
  for (const OtherValues& values : kOtherValues) out.push_back({"values", values});
  for (std::size_t i = 0; i < what.parameters.size(); ++i)
    if (const std::uint64_t size = size_argument(what.parameters[i], what.arguments[i]); size != 0)
      for (const std::uint64_t less : {size - 1, size / 2, std::uint64_t{1}})
        if (out.back().smaller != i + 1 || less < out.back().size) out.push_back({"sizes", {}, i + 1, less});
  for (int axis = 0; axis < 3; ++axis) out.push_back({"sizes", {}, 0, 0, axis});
  return out;
}

/// The launch with a change of its grid.
ptx::Launch changed(const ptx::Launch& how, const Change& change) {
  constexpr unsigned Dim3::*kAxes[] = {&Dim3::x, &Dim3::y, &Dim3::z};
  ptx::Launch out = how;
  if (change.axis >= 0) out.grid.*kAxes[change.axis] += how.cluster.value_or(Dim3{}).*kAxes[change.axis];
  return out;
}

/// The arguments with a change; arrays that are only read are copied to `held`.
std::vector<ptx::Argument> changed(const TwinLaunch& what, const Change& change, std::uint64_t& state,
                                   std::vector<Copy>& held) {
  std::vector<ptx::Argument> out(what.arguments.begin(), what.arguments.end());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (const auto* array = std::get_if<std::span<const std::byte>>(&out[i])) {
      Copy& copy = held.emplace_back(array->begin(), array->end());
      change_values(copy, change.values, state);
      out[i] = std::span<const std::byte>(copy);
    } else if (auto* number = std::get_if<std::vector<std::byte>>(&out[i])) {
      if (change.smaller == i + 1) {
        std::memcpy(number->data(), &change.size, number->size());
      } else if (what.parameters[i].type[0] == 'f') {
        change_values(*number, change.values, state);
      }
    }
  }
  return out;
}

// ---- Both launches

// Whether a rule is broken, to the grade of a finding, that was not broken before.
bool has_new_finding(const ptx::Report& before, const ptx::Report& after) {
  return std::ranges::any_of(after.findings, [&](const ptx::Finding& one) {
    return one.grade == Grade::finding && std::ranges::none_of(before.findings, [&](const ptx::Finding& other) {
             return other.fault.rule == one.fault.rule;
           });
  });
}

class Twins {
 public:
  Twins(const TwinLaunch& what, const Twin& with, const Twin& without)
      : what_(what),
        with_(with),
        without_(without),
        arrays_(ptx::writable_memory(what.how, what.arguments)),
        own_(bytes_of(with.variables)),
        others_(bytes_of(without.variables)) {}

  bool are_small() const { return size_of(arrays_) + size_of(own_) <= kMostBytes; }

  /// Both, on the memory as it is, which then has what the mistake left.
  std::string_view launch(const ptx::Launch& as, std::span<const ptx::Argument> arguments, ptx::Report& report,
                          bool& is_valid) {
    const Copy before = copy_of(arrays_);
    put(copy_of(own_), others_);
    ptx::Launch how = alone(as);
    const ptx::Report right = without_.launch(how, arguments);
    is_valid = !right.fault;
    const Copy right_arrays = copy_of(arrays_), right_variables = copy_of(others_);
    put(before, arrays_);
    if (how.step_limit == 0) how.step_limit = right.steps * 4 + 10'000;
    report = with_.launch(how, arguments);
    if (report.fault && right.fault) return report.fault->rule == right.fault->rule ? "same" : "bytes";
    if (report.fault) return "fault";
    const bool is_same = !right.fault && report.printed == right.printed && copy_of(arrays_) == right_arrays &&
                         copy_of(own_) == right_variables;
    if (!is_same) return "bytes";
    return has_new_finding(right, report) ? "finding" : "same";
  }

  /// The first change with which the mistake leaves other bytes; "same" if none does. `before`: the arrays.
  std::string_view with_other_inputs(const Copy& before, const Copy& variables, int& tried) {
    const Copy arrays_left = copy_of(arrays_), variables_left = copy_of(own_);
    std::string_view out = "same";
    std::uint64_t state = 54;
    for (const Change& change : changes_of(what_)) {
      put(before, arrays_);
      put(variables, own_);
      for (const Bytes one : arrays_) change_values(one, change.values, state);
      std::vector<Copy> held;
      ptx::Report report;
      bool is_valid = false;
      const std::vector<ptx::Argument> arguments = changed(what_, change, state, held);
      const std::string_view outcome = launch(changed(what_.how, change), arguments, report, is_valid);
      tried += is_valid ? 1 : 0;
      if (!is_valid || outcome == "same") continue;
      out = change.outcome;
      break;
    }
    put(arrays_left, arrays_);
    put(variables_left, own_);
    return out;
  }

  /// Whether nothing else happens on the way to these bytes. `before`: the arrays.
  bool have_same_steps(const Copy& before, const Copy& variables) {
    const Copy arrays_left = copy_of(arrays_), variables_left = copy_of(own_);
    const auto restore = [&] {
      put(before, arrays_);
      put(variables, own_);
      put(variables, others_);
    };
    restore();
    const bool out = grid::have_same_steps(with_.launch, without_.launch, alone(what_.how), what_.arguments,
                                           what_.line, restore);
    put(arrays_left, arrays_);
    put(variables_left, own_);
    return out;
  }

  Copy arrays() const { return copy_of(arrays_); }
  Copy variables() const { return copy_of(own_); }

  /// On one host thread: what order leaves open is the same then.
  static ptx::Launch alone(const ptx::Launch& how) {
    ptx::Launch out = how;
    out.execute.threads = 1;
    return out;
  }

 private:
  const TwinLaunch& what_;
  const Twin &with_, &without_;
  std::vector<Bytes> arrays_, own_, others_;
};

// The fault, or the last finding.
std::string said(const ptx::Report& report, std::string_view outcome) {
  if (report.fault) return report.fault->message();
  return outcome == "finding" && !report.findings.empty() ? report.findings.back().fault.message()
                                                          : std::string();
}

bool is_to_be_tried(const std::string& kernel) {
  const std::lock_guard lock(of_mistake().mutex);
  return of_mistake().tried[kernel]++ < kTriedLaunches;
}

}  // namespace

ptx::Report launch_twins(const TwinLaunch& what, const Twin& with, const Twin& without) {
  constexpr std::uint64_t kSteps = 100'000'000;
  Twins twins(what, with, without);
  const bool differs = [] {
    const std::lock_guard lock(of_mistake().mutex);
    return of_mistake().differs;
  }();
  if (differs || !twins.are_small() || what.arguments.size() != what.parameters.size()) {
    ptx::Launch how = Twins::alone(what.how);
    if (how.step_limit == 0) how.step_limit = kSteps;
    return with.launch(how, what.arguments);
  }
  const Copy before = twins.arrays(), variables = twins.variables();
  ptx::Report out;
  bool is_valid = false;
  int tried = 0;
  std::string_view outcome = twins.launch(what.how, what.arguments, out, is_valid);
  if (outcome == "same" && is_valid && is_to_be_tried(what.kernel)) {
    outcome = twins.with_other_inputs(before, variables, tried);
    if (outcome == "same" && twins.have_same_steps(before, variables)) outcome = "no_effect";
  }
  if (outcome == "fault" || outcome == "bytes") {
    const std::lock_guard lock(of_mistake().mutex);
    of_mistake().differs = true;
  }
  what.process.write({{"event", "launch"},
                      {"kernel", what.kernel},
                      {"outcome", outcome},
                      {"inputs", tried},
                      {"what", said(out, outcome)}});
  return out;
}

ptx::Report launch_recorded(const TwinLaunch& what, const RecordedModule& module, const LaunchOnce& launch) {
  ptx::Launch how = what.how;
  how.profile = true;
  ptx::Report out = launch(how, what.arguments);
  std::vector<int> lines;
  {
    const std::lock_guard lock(of_mistake().mutex);
    std::set<int>& seen = of_mistake().executed[module.key + what.kernel];
    for (const ptx::LineCounts& one : out.profile)
      if (one.lanes != 0 && seen.insert(one.line).second) lines.push_back(one.line);
  }
  what.process.write({{"event", "launch"},
                      {"kernel", what.kernel},
                      {"module", module.key},
                      {"file", module.file},
                      {"lines", lines},
                      {"ok", out.ok()}});
  for (const Remark& one : ptx::remarks(out, module.file)) add_remark(one);
  if (!what.how.profile) out.profile.clear();
  return out;
}

}  // namespace warpbit::grid
