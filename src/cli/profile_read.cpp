// SPDX-License-Identifier: Apache-2.0
#include "cli/profile_read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/commands.hpp"
#include "cli/profile_tables.hpp"

namespace warpbit::cli {
namespace {

using Given = nlohmann::json;

constexpr std::uint64_t kMostExact = std::uint64_t{1} << 53;  // what all readers of JSON keep
constexpr std::uint64_t kMostLine = 0x7FFFFFFF, kMostIndex = 0xFFFFFFFF;
constexpr std::uint64_t kMostWarps = 32, kMostLanes = 32;  // 1024 threads of a block
constexpr std::string_view kSchema = "launch/1";

// As in a message: in one line, and not all of what is long.
std::string seen_text(const Given& value) {
  constexpr std::size_t kMost = 40;
  if (value.is_object() || value.is_array())
    return fmt::format("an {} of {}", value.type_name(), value.size());  // "an object of 3"
  const std::string out = value.dump(-1, ' ', true);
  return out.size() <= kMost ? out : out.substr(0, kMost) + "...";
}

// A value and its name in the text: "profile.timeline.runs[3].warp".
class Member {
 public:
  Member(const Given& value, const std::string& file, std::string path = {})
      : value_(value), file_(file), path_(std::move(path)) {}

  [[noreturn]] void refuse_it(std::string seen, std::string accepted) const {
    refuse(path_.empty() ? file_ : fmt::format("{}: {}", file_, path_), std::move(seen), std::move(accepted));
  }
  [[noreturn]] void refuse_it(std::string accepted) const { refuse_it(seen(), std::move(accepted)); }

  Member operator[](const char* name) const {
    if (!value_.is_object()) refuse_it("an object");
    const auto found = value_.find(name);
    if (found == value_.end()) refuse_it(fmt::format("no member {}", name), of_this_version());
    return {*found, file_, path_.empty() ? name : fmt::format("{}.{}", path_, name)};
  }
  bool has(const char* name) const { return value_.is_object() && value_.contains(name); }
  std::string seen() const { return seen_text(value_); }
  bool is_object() const { return value_.is_object(); }
  bool is_null() const { return value_.is_null(); }

  std::uint64_t number(std::uint64_t most, std::uint64_t least = 0) const {
    if (!value_.is_number_unsigned() || value_ < least || value_ > most)
      refuse_it(fmt::format("a whole number from {} to {}", least, most));
    return value_.get<std::uint64_t>();
  }
  int line() const { return static_cast<int>(number(kMostLine)); }
  std::string text() const {
    if (!value_.is_string()) refuse_it("a string");
    return value_.get<std::string>();
  }
  bool flag() const {
    if (!value_.is_boolean()) refuse_it("true or false");
    return value_.get<bool>();
  }
  std::vector<Member> items() const {
    if (!value_.is_array()) refuse_it("an array");
    std::vector<Member> out;
    for (const Given& one : value_) out.emplace_back(one, file_, fmt::format("{}[{}]", path_, out.size()));
    return out;
  }
  // One of the words from the first to the last enumerator.
  template <class Enum>
  Enum word(Enum last) const {
    const std::string given = text();
    std::string accepted;
    for (int i = 0; i <= static_cast<int>(last); ++i) {
      if (given == ptx::name(static_cast<Enum>(i))) return static_cast<Enum>(i);
      accepted += fmt::format("{}{}", i == 0 ? "" : ", ", ptx::name(static_cast<Enum>(i)));
    }
    refuse_it(accepted);
  }

 private:
  static std::string of_this_version() { return "all members that warpbit launch --profile --json prints"; }

  const Given& value_;
  const std::string& file_;
  std::string path_;
};

// x, y and z, each from `least` to what it may be at most.
template <class Index>
Index index_of(const Member& from, std::uint64_t least, std::uint64_t most_x, std::uint64_t most) {
  const std::vector<Member> all = from.items();
  if (all.size() != 3) from.refuse_it("three numbers: x, y and z");
  return {static_cast<unsigned>(all[0].number(most_x, least)),
          static_cast<unsigned>(all[1].number(most, least)), static_cast<unsigned>(all[2].number(most, least))};
}
device::Index3 block_of(const Member& from) {
  return index_of<device::Index3>(from, 0, kMostIndex, kMostIndex);
}

// ---- Lines

ptx::Counts read_counts(const Member& from) {
  ptx::Counts out;
  for (const ptx::CountColumn& column : ptx::count_columns()) {
    const std::string name(column.name);
    out.*column.count = from[name.c_str()].number(kMostExact);
    if (column.least != nullptr) out.*column.least = from[("least_" + name).c_str()].number(kMostExact);
  }
  out.lanes = from["lanes"].number(kMostExact);
  return out;
}

ptx::LineCounts counted_line(const Member& from) {
  ptx::LineCounts out{{}, read_counts(from)};
  out.line = from["line"].line();
  out.statement = from["statement"].text();
  out.family = from["family"].text();
  out.file = from["file"].text();
  out.source_line = from["source_line"].line();
  for (const Member& one : from["chain"].items())
    out.chain.push_back({one["function"].text(), one["file"].text(), one["line"].line()});
  return out;
}

// By the text; data have those first that were executed most.
std::vector<ptx::LineCounts> counted_lines(const Member& from) {
  std::vector<std::pair<std::uint64_t, ptx::LineCounts>> numbered;
  for (const Member& one : from.items())
    numbered.emplace_back(one["number"].number(kMostLine), counted_line(one));
  std::ranges::stable_sort(numbered, {}, [](const auto& one) { return one.first; });
  std::vector<ptx::LineCounts> out;
  for (auto& [number, line] : numbered) out.push_back(std::move(line));
  return out;
}

// ---- The timeline

std::uint32_t mask_of(const Member& lanes) {
  std::uint32_t out = 0;
  for (const Member& one : lanes.items()) out |= std::uint32_t{1} << one.number(kMostLanes - 1);
  return out;
}

ptx::Release release_of(const Member& from) {
  return {from["what"].word(ptx::ReleasedBy::end), block_of(from["block"]),
          static_cast<int>(from["warp"].number(kMostWarps - 1)), from["line"].line(),
          from["statement"].number(kMostExact)};
}

ptx::Wait wait_of(const Member& from, std::uint64_t warps) {
  ptx::Wait out;
  out.what = from["what"].word(ptx::Awaited::warpgroup);
  out.warp = static_cast<int>(from["warp"].number(warps - 1));
  out.lanes = mask_of(from["lanes"]);
  out.line = from["line"].line();
  out.waited = from["waited"].flag();
  out.from = from["from"].number(kMostExact);
  out.released = from["released"].number(kMostExact);
  if (const Member to = from["to"]; !to.is_null()) out.to = to.number(kMostExact);
  if (const Member by = from["by"]; !by.is_null()) out.by = release_of(by);
  return out;
}

// Runs follow one another, up to what is covered.
std::vector<ptx::WarpRun> read_runs(const Member& from, std::uint64_t warps, std::uint64_t covered) {
  std::vector<ptx::WarpRun> out;
  std::uint64_t next = 0;
  for (const Member& one : from.items()) {
    ptx::WarpRun run;
    run.warp = static_cast<int>(one["warp"].number(warps - 1));
    run.first = one["first"].number(covered, next);
    run.count = one["count"].number(covered - run.first);
    run.first_line = one["first_line"].line();
    run.last_line = one["last_line"].line();
    next = run.first + run.count;
    out.push_back(run);
  }
  return out;
}

ptx::Timeline timeline_of(const Member& from) {
  ptx::Timeline out;
  const std::uint64_t warps = from["warps"].number(kMostWarps);
  out.block = block_of(from["block"]);
  out.warps = static_cast<int>(warps);
  out.statements = from["statements"].number(kMostExact);
  out.covered = from["covered"].number(out.statements);
  const Member runs = from["runs"], waits = from["waits"];
  if (warps == 0) {
    if (!runs.items().empty()) runs.refuse_it("an empty array, as there are no warps");
    if (!waits.items().empty()) waits.refuse_it("an empty array, as there are no warps");
    return out;
  }
  out.runs = read_runs(runs, warps, out.covered);
  for (const Member& one : waits.items()) out.waits.push_back(wait_of(one, warps));
  return out;
}

// ---- The answer

void check_schema(const Member& answer) {
  constexpr std::string_view kAccepted = "what warpbit launch --profile --json prints";
  if (!answer.has("schema"))
    answer.refuse_it(answer.is_object() ? "JSON without a schema" : answer.seen(),
                     fmt::format("{}: {}", kSchema, kAccepted));
  const std::string schema = answer["schema"].text();
  if (schema != kSchema) answer["schema"].refuse_it(fmt::format("\"{}\": {}", kSchema, kAccepted));
  if (!answer.has("profile")) answer.refuse_it("no member profile", fmt::format("{}", kAccepted));
}

std::string title_of(const Member& answer) {
  constexpr std::uint64_t kMostX = 0x7FFFFFFF, kMostYZ = 0xFFFF, kMostThreads = 1024;
  return profile_title(answer["kernel"].text(), answer["target"].text(),
                       index_of<Dim3>(answer["grid"], 1, kMostX, kMostYZ),
                       index_of<Dim3>(answer["block"], 1, kMostThreads, kMostThreads));
}

}  // namespace

ptx::ProfilePicture read_profile(const std::string& where, std::string_view text) {
  Given parsed;
  try {
    parsed = Given::parse(text);
  } catch (const Given::parse_error& error) {
    refuse(where, fmt::format("no JSON, at byte {} of {}", error.byte, text.size()),
           "what warpbit launch --profile --json prints");
  }
  const Member answer(parsed, where);
  check_schema(answer);
  const Member fault = answer["fault"], profile = answer["profile"];
  const bool is_stopped = answer.has("break") && !answer["break"].is_null();
  ptx::ProfilePicture out{title_of(answer), counted_lines(profile["lines"]), timeline_of(profile["timeline"])};
  std::optional<std::string> message;
  if (!fault.is_null()) {
    message = fault["message"].text();
    out.fault_line = fault["at"]["ptx_line"].line();
  }
  out.ended_by = ended_by(is_stopped, message);
  return out;
}

}  // namespace warpbit::cli
