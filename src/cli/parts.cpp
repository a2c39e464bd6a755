// SPDX-License-Identifier: Apache-2.0
// warpbit merge
#include "cli/parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>  // getpid

#include <algorithm>
#include <cerrno>
#include <cstring>  // std::strerror
#include <filesystem>
#include <fstream>
#include <optional>

#include "cli/arguments.hpp"
#include "cli/json.hpp"
#include "warpbit/result.hpp"

namespace warpbit::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::string_view kPartSchema = "part/1";

ordered_json whole_json(const SavedPart& part) {
  return {{"schema", kPartSchema},
          {"warpbit", WARPBIT_VERSION_TEXT},
          {"command", part.command},
          {"question", part.question},
          {"shard", {part.shard.number, part.shard.count}},
          {"answer", part.answer}};
}

// Nothing where there is no such file.
std::optional<SavedPart> find_part(const std::string& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return std::nullopt;
  std::ifstream in(file, std::ios::binary);
  return read_part(file, [&] {
    const ordered_json all = ordered_json::parse(in);
    if (all.at("schema") != kPartSchema) refuse_part(file, all.at("schema").dump());
    if (all.at("warpbit") != WARPBIT_VERSION_TEXT)
      refuse(file, fmt::format("a part that warpbit {} has computed", all.at("warpbit").get<std::string>()),
             fmt::format("parts of warpbit {} alone", WARPBIT_VERSION_TEXT));
    SavedPart out{all.at("command"),
                  all.at("question"),
                  {all.at("shard").at(0), all.at("shard").at(1)},
                  all.at("answer")};
    if (out.shard.number < 1 || out.shard.number > out.shard.count) refuse_part(file, all.at("shard").dump());
    return std::optional(std::move(out));
  });
}

// Refuses a part of something else.
void check_same(const std::string& file, const SavedPart& part, const SavedPart& asked,
                std::string_view other) {
  const auto differ = [&](std::string_view what, const std::string& seen, const std::string& expected) {
    if (seen != expected)
      refuse(file, fmt::format("a part of another work, {} {}", what, seen),
             fmt::format("{}, as {}", expected, other));
  };
  differ("by warpbit", part.command, asked.command);
  for (const auto& [name, value] : asked.question.items())
    differ("with " + name, part.question.value(name, ordered_json()).dump(), value.dump());
  differ("of", std::to_string(part.shard.count), std::to_string(asked.shard.count));
}

int merge_parts(const MergeArguments& o) {
  const std::vector<SavedPart> parts = read_parts(o.files);
  const std::string& command = parts[0].command;
  const auto only = [&](bool given, const char* option, std::string_view of) {
    if (given && command != of)
      refuse("merge", fmt::format("{} for parts of warpbit {}", option, command),
             fmt::format("it with those of warpbit {}", of));
  };
  only(o.quiet, "--quiet", "verify");
  only(o.csv, "--csv", "compare");
  only(o.show, "--explain", "compare");
  if (command == "verify") return merge_verify(o, parts);
  if (command == "compare") return merge_compare(o, parts);
  if (command == "order") return merge_order(o, parts);
  refuse_part(o.files[0], command);
}

}  // namespace

// Beside it first.
void write_text(const std::string& file, std::string_view text) {
  const std::string beside = fmt::format("{}.{}.tmp", file, getpid());
  std::ofstream out(beside, std::ios::binary);
  out << text;
  out.close();
  if (!out || ::rename(beside.c_str(), file.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    std::error_code ignored;
    fs::remove(beside, ignored);
    refuse(file, reason, "", Errc::file_unwritable);
  }
}

void refuse_part(const std::string& file, const std::string& seen) {
  refuse(file, seen, "a file that --part has written");
}

CLI::Option* add_part(CLI::App& command, std::string& file) {
  return command.add_option(
      "--part", file,
      "keep the answer in this file, for warpbit merge; where it is there already, nothing is computed again");
}

ordered_json kept(const std::string& file, SavedPart asked, const std::function<ordered_json()>& compute) {
  if (const std::optional<SavedPart> part = find_part(file)) {
    check_same(file, *part, asked, "asked");
    if (part->shard.number != asked.shard.number)
      refuse(file, fmt::format("part {} of {}", part->shard.number, part->shard.count),
             fmt::format("part {}, or a file that is not there", asked.shard.number));
    return part->answer;
  }
  asked.answer = compute();
  write_text(file, whole_json(asked).dump() + "\n");
  return asked.answer;
}

std::vector<SavedPart> read_parts(const std::vector<std::string>& files) {
  std::vector<SavedPart> out;
  for (const std::string& file : files) {
    std::optional<SavedPart> part = find_part(file);
    if (!part) refuse(file, "no such file", "a file that --part has written");
    if (!out.empty()) check_same(file, *part, out[0], files[0]);
    out.push_back(*std::move(part));
  }
  const auto number = [](const SavedPart& part) { return part.shard.number; };
  std::ranges::stable_sort(out, {}, number);
  const auto same = [&](const SavedPart& x, const SavedPart& y) { return number(x) == number(y); };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  std::vector<std::uint64_t> missing;
  auto at = out.begin();
  for (std::uint64_t i = 1; i <= out[0].shard.count && missing.size() < 10; ++i)
    if (at != out.end() && at->shard.number == i)
      ++at;
    else
      missing.push_back(i);
  if (!missing.empty())
    refuse("merge",
           fmt::format("{} of {} parts, without {}{}", out.size(), out[0].shard.count, fmt::join(missing, ", "),
                       out.size() + missing.size() < out[0].shard.count ? ", ..." : ""),
           "all of them");
  return out;
}

void add_merge(CLI::App& command, int& status) {
  MergeArguments& o = add_arguments(command, status, merge_parts);
  command.add_option("parts", o.files, "the files of all parts of one work, in any order")->required();
  CLI::Option* quiet = command.add_flag("--quiet", o.quiet, "of verify: print the last line alone");
  CLI::Option* show = command.add_flag("--explain", o.show, "of compare: also explain the element by each");
  CLI::Option* json = command.add_flag("--json", o.json, "print one JSON object instead, as the command does")
                          ->excludes(quiet, show);
  command.add_flag("--csv", o.csv, "of compare: print the statistics, a row for each computation")
      ->excludes(show, json);
  command.footer(
      examples({"warpbit verify golden/sm_90a/ldmatrix --part all.json && warpbit merge all.json",
                "for i in 1 2; do warpbit verify golden/sm_90a/ldmatrix --shard $i/2 --part $i.json; done; "
                "warpbit merge 1.json 2.json"}));
}

}  // namespace warpbit::cli
