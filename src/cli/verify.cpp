// SPDX-License-Identifier: Apache-2.0
// warpbit verify, warpbit diff
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/arguments.hpp"
#include "cli/json.hpp"
#include "cli/parts.hpp"
#include "cli/terminal.hpp"
#include "cli/verify_reports.hpp"
#include "warpbit/verify.hpp"

namespace warpbit::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct VerifyArguments {
  std::vector<std::string> paths;
  std::string target, part;
  VerifyOptions options;
  std::string against;
  ReportOutput output;
};

void add_reading_options(CLI::App& command, VerifyArguments& o) {
  command.add_option("--target", o.target, "replay as this target instead of the one in the file");
  command
      .add_option("--max-bytes", o.options.read.max_bytes,
                  "refuse larger files, by their uncompressed size (default 4 GiB)")
      ->check(whole_number(1));
  command.add_option("--details", o.options.details, "show that many mismatches of each file")
      ->check(whole_number(0))
      ->capture_default_str();
}

std::vector<FileReport> verified(const std::vector<Verifiable>& all, const VerifyOptions& options, bool shows) {
  ProgressBar bar(shows);
  return verify_all(all, options, [&](std::size_t done) { bar.show(done, all.size()); });
}

// What makes parts those of one work.
ordered_json question(const std::vector<Verifiable>& all, const VerifyOptions& options) {
  ordered_json out = {{"files", ordered_json::array()},
                      {"target", options.target ? options.target->name() : ""},
                      {"undefined", static_cast<int>(options.undefined)},
                      {"details", options.details},
                      {"max-bytes", options.read.max_bytes}};
  for (const Verifiable& one : all)
    out["files"].push_back(one.path.string() + (one.recording ? ":" + one.record().name : ""));
  return out;
}

void print_difference(const RecordDifference& one, bool is_parting) {
  const std::string names = one.first.empty()    ? one.second
                            : one.second.empty() ? one.first
                                                 : one.first + " and " + one.second;
  print_fitted(printable(fmt::format("{} ({}){}", names, one.what, is_parting ? ": here the two part" : "")));
  for (const std::string& line : one.lines) print_fitted(printable("  " + line));
}

// Of two recordings of one program: all that differs, and where they part.
int verify_against(const VerifyArguments& o) {
  if (o.paths.size() != 1) refuse("--against", fmt::format("{} paths", o.paths.size()), "one recording");
  VerifyOptions options = o.options;
  options.target = find_target(o.target);
  const Recording first = required(Recording::open(o.paths[0], options.read)),
                  second = required(Recording::open(o.against, options.read));
  const RecordingComparison found = required(compare_recordings(first, second, options));
  ordered_json rows = ordered_json::array();
  for (const RecordDifference& one : found.differences) {
    rows.push_back({{"first", one.first},
                    {"second", one.second},
                    {"what", one.what},
                    {"same_inputs", one.same_inputs},
                    {"same_code", one.same_code},
                    {"lines", one.lines}});
    if (!o.output.json && !o.output.quiet) print_difference(one, &one == found.parting());
  }
  if (o.output.json)
    print_json("verify", {{"same", found.same}, {"differences", rows}});
  else
    print_fitted(fmt::format("total: {} records are the same in both, {} are not", found.same, rows.size()));
  return found.differences.empty() ? kYes : kNo;
}

int verify(const VerifyArguments& o) {
  if (!o.against.empty()) return verify_against(o);
  if (o.options.whole && o.options.shard.count > 1)
    refuse("--whole", "a shard", "no --shard: each record needs those before it");
  VerifyOptions options = o.options;
  options.target = find_target(o.target);
  const std::vector<Verifiable> all =
      find_verifiable(std::vector<fs::path>(o.paths.begin(), o.paths.end()), options.read);
  if (all.empty())
    fmt::print(stderr, "warpbit: no capture and no recording under {}\n",
               printable(fmt::format("{}", fmt::join(o.paths, ", "))));
  const auto reports = [&] { return verified(all, options, !o.output.json && !o.output.quiet); };
  if (o.part.empty()) return print_reports(reports(), o.output);
  const ordered_json answer =
      kept(o.part, {"verify", question(all, options), options.shard}, [&] { return reports_json(reports()); });
  return read_part(o.part, [&] { return print_reports(reports_of(answer), o.output); });
}

int diff_command(const VerifyArguments& o) {
  const DiffReport report = required(diff(o.paths[0], o.paths[1], with_target(o.options, o.target)));
  if (o.output.json) {
    print_json("diff", {{"cases", report.cases},
                        {"elements", report.elements},
                        {"differences", report.differences},
                        {"details", mismatches_json(report.details)}});
  } else {
    for (const Mismatch& m : report.details) fmt::print("{}\n", printable(text(m)));
    if (report.differences > report.details.size())
      fmt::print("... and {} more\n", report.differences - report.details.size());
    fmt::print("total: {} cases, {} elements, {} differences\n", report.cases, report.elements,
               report.differences);
  }
  return report.differences ? kNo : kYes;
}

}  // namespace

int merge_verify(const MergeArguments& o, const std::vector<SavedPart>& parts) {
  return read_part(o.files[0], [&] {
    std::vector<std::vector<FileReport>> shares;
    for (const SavedPart& part : parts) shares.push_back(reports_of(part.answer));
    return print_reports(required(merge_reports(shares, parts[0].question.at("details"))), {o.json, o.quiet});
  });
}

void add_verify(CLI::App& command, int& status) {
  VerifyArguments& o = add_arguments(command, status, verify);
  command.add_option("paths", o.paths, "captures, recordings, and folders to search for them")->required();
  add_reading_options(command, o);
  add_undefined(command, o.options.undefined);
  command.add_flag(
      "--whole", o.options.whole,
      "execute the records of a recording one after the other, each on the memory that those before have left here");
  command.add_flag("--lenient", o.options.how.lenient,
                   "launches go on behind broken rules, and show all of them");
  CLI::Option* bisect = command.add_option(
      "--bisect", o.options.block_folder,
      "where a file's digests differ, write a capture of the first such block into this folder");
  command
      .add_option(
          "--max-products", o.options.read.max_products,
          "refuse a file of digests with more products a b in its cases, or in the shard (default 2^40)")
      ->check(whole_number(1));
  add_shard(command, o.options.shard, "replay one of N shares of the files, of digests of the blocks");
  add_part(command, o.part)->excludes(bisect);
  command
      .add_option("--against", o.against,
                  "compare with another recording of the same program: what differs, where they part, and why")
      ->type_name("RECORDING");
  command.add_option("--junit", o.output.junit, "also write a report as JUnit's XML")->type_name("FILE");
  CLI::Option* json = add_json(command, o.output.json);
  add_review(command, o.output.review, json);
  command.add_flag("--quiet", o.output.quiet, "print the last line alone")->excludes(json);
  command.footer(
      examples({"warpbit verify golden/sm_90a/ldmatrix", "warpbit verify golden --shard 1/500 --quiet",
                "warpbit verify golden/sm_90a/wmma_mma --shard 1/8 --target sm_80 --details 1"}));
}

void add_diff(CLI::App& command, int& status) {
  VerifyArguments& o = add_arguments(command, status, diff_command);
  command.add_option("files", o.paths, "two capture files")->required()->expected(2);
  add_reading_options(command, o);
  add_json(command, o.output.json);
  command.footer(examples(
      {"warpbit diff golden/sm_90a/mma/mma_sync_aligned_m16n8k128_row_col_s32_b1_b1_s32_and_popc.npz "
       "golden/sm_90a/mma/mma_sync_aligned_m16n8k128_row_col_s32_b1_b1_s32_and_popc.npz",
       "warpbit diff --json golden/sm_90a/mma/mma_sync_aligned_m16n8k128_row_col_s32_b1_b1_s32_and_popc.npz "
       "golden/sm_90a/mma/mma_sync_aligned_m16n8k128_row_col_s32_b1_b1_s32_and_popc.npz"}));
}

}  // namespace warpbit::cli
