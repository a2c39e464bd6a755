// SPDX-License-Identifier: Apache-2.0
// warpbit verify, warpbit diff
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/arguments.hpp"
#include "cli/json.hpp"
#include "cli/parts.hpp"
#include "cli/terminal.hpp"
#include "warpbit/verify.hpp"

namespace warpbit {

using nlohmann::ordered_json;

// How nlohmann-json finds them.
static void to_json(ordered_json& out, const Mismatch& m) {
  out = {{"case", m.index}};
  if (m.cases > 0) out["cases"] = m.cases;
  if (!m.name.empty()) out["name"] = m.name;
  if (m.lane >= 0)
    out.update(
        {{"lane", m.lane}, {"register", m.reg}, {"row", m.row}, {"column", m.column}, {"product", m.product}});
  if (m.address >= 0) out["address"] = m.address;
  if (m.cases == 0) out["format"] = m.format;
  out.update({{"expected", fmt::format("{:#x}", m.expected)}, {"got", fmt::format("{:#x}", m.got)}});
}

// Whether something was executed, or why not is in the notes.
static bool has_numbers(FileStatus status) {
  return status == FileStatus::replayed || status == FileStatus::fault ||
         status == FileStatus::not_reproducible;
}

static void to_json(ordered_json& out, const FileReport& r) {
  out = {{"path", r.path.string()}, {"status", name(r.status)}};
  if (!r.record.empty()) out.update({{"kind", r.kind}, {"record", r.record}});
  if (r.error) out["error"] = cli::error_json(*r.error);
  if (!has_numbers(r.status)) return;
  out.update({{"statement", r.header.statement},
              {"target", r.target},
              {"target_of_file", r.header.target},
              {"source", name(r.header.source)},
              {"cases", r.cases},
              {"elements", r.elements},
              {"masked", r.masked},
              {"mismatches", r.mismatches},
              {"inferred", r.inferred},
              {"notes", r.notes},
              {"details", r.details}});
  if (!r.record.empty()) out.update({{"may_differ", r.may_differ}, {"findings", r.findings}});
}

static void to_json(ordered_json& out, const ReplayTotals& t) {
  out = {{"files", t.files},
         {"cases", t.cases},
         {"elements", t.elements},
         {"mismatches", t.mismatches},
         {"unsupported", t.unsupported},
         {"unreadable", t.unreadable},
         {"other_shards", t.other_shards},
         {"records", t.records},
         {"may_differ", t.may_differ},
         {"faults", t.faults},
         {"not_reproducible", t.not_reproducible}};
}

// ---- Back from JSON

static std::uint64_t code_of(const ordered_json& text) {
  return std::stoull(text.get<std::string>(), nullptr, 16);
}

static void from_json(const ordered_json& in, Mismatch& m) {
  m.index = in.at("case");
  m.cases = in.value("cases", std::uint64_t{0});
  m.name = in.value("name", "");
  m.lane = in.value("lane", -1);
  m.reg = in.value("register", -1);
  m.row = in.value("row", -1);
  m.column = in.value("column", -1);
  m.product = in.value("product", 0);
  m.address = in.value("address", std::int64_t{-1});
  static std::set<std::string> formats;  // a Mismatch has no string of its own
  if (m.cases == 0) m.format = *formats.insert(in.at("format").get<std::string>()).first;
  m.expected = code_of(in.at("expected"));
  m.got = code_of(in.at("got"));
}

static void from_json(const ordered_json& in, FileReport& r) {
  r.path = in.at("path").get<std::string>();
  const auto status = in.at("status").get<std::string>();
  r.status = FileStatus::not_reproducible;
  while (r.status != FileStatus::replayed && name(r.status) != status)
    r.status = static_cast<FileStatus>(static_cast<int>(r.status) - 1);
  r.kind = in.value("kind", r.kind);
  r.record = in.value("record", "");
  if (in.contains("error")) r.error = cli::error_of(in.at("error"));
  if (!has_numbers(r.status)) return;
  r.header.statement = in.at("statement");
  r.target = in.at("target");
  r.header.target = in.at("target_of_file");
  for (const CaptureSource source : {CaptureSource::hardware, CaptureSource::published, CaptureSource::model})
    if (in.at("source") == name(source)) r.header.source = source;
  r.cases = in.at("cases");
  r.elements = in.at("elements");
  r.masked = in.at("masked");
  r.mismatches = in.at("mismatches");
  r.inferred = in.at("inferred");
  r.notes = in.at("notes").get<std::vector<std::string>>();
  r.details = in.at("details").get<std::vector<Mismatch>>();
  r.may_differ = in.value("may_differ", false);
  r.findings = in.value("findings", std::uint64_t{0});
}

namespace cli {
namespace {

namespace fs = std::filesystem;

// "the same bytes", of a record that was executed or not.
std::string verdict(const FileReport& r) {
  if (r.status == FileStatus::fault) return "a fault";
  if (r.status == FileStatus::not_reproducible) return "not reproducible";
  std::string out = r.kind == "copy"    ? "done"
                    : r.mismatches == 0 ? fmt::format("the same {} bytes", r.elements)
                                        : fmt::format("{} of {} bytes differ{}", r.mismatches, r.elements,
                                                      r.may_differ ? ", as they may" : "");
  if (r.findings != 0) out += fmt::format(", {} finding{}", r.findings, r.findings == 1 ? "" : "s");
  return out + (r.inferred ? ", inferred" : "");
}

void print_notes(const FileReport& r) {
  for (const std::string& note : r.notes) {
    std::istringstream lines(note);
    for (std::string line; std::getline(lines, line);) print_fitted(fmt::format("  {}", printable(line)));
  }
}

// One line for each file or record of the shard, and indented ones for its details.
void print_report(const FileReport& r) {
  if (r.status == FileStatus::other_shard) return;
  const std::string path = r.path.string() + (r.record.empty() ? "" : ": " + r.record);
  if (!r.record.empty() && has_numbers(r.status)) {
    print_fitted(
        printable(fmt::format("{}: {} {} on {}: {}", path, r.kind, r.header.statement, r.target, verdict(r))));
    return print_notes(r);
  }
  if (r.status != FileStatus::replayed) {
    std::string message = r.error->message();
    if (message.starts_with(path + ": ")) message.erase(0, path.size() + 2);
    print_fitted(fmt::format("{}: {}: {}", path, name(r.status), message));
    return;
  }
  std::string statement = r.header.statement;  // may have line breaks
  std::ranges::replace_if(
      statement, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  const std::string target =
      r.target == r.header.target ? r.target : r.target + " (file: " + r.header.target + ")";
  const std::string masked = r.masked ? fmt::format(" ({} masked)", r.masked) : "";
  print_fitted(fmt::format("{}: {} {} {} cases, {} elements{}, {} mismatches, {}{}", path, statement, target,
                           r.cases, r.elements, masked, r.mismatches, name(r.header.source),
                           r.inferred ? ", inferred" : ""));
  for (const std::string& note : r.notes) print_fitted(fmt::format("  note: {}", note));
  for (const Mismatch& m : r.details) print_fitted(fmt::format("  {}", text(m)));
  if (r.mismatches > r.details.size()) fmt::print("  ... and {} more\n", r.mismatches - r.details.size());
}

struct VerifyArguments {
  std::vector<std::string> paths;
  std::string target, part;
  VerifyOptions options;
  bool json = false, quiet = false;
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

int print_reports(const std::vector<FileReport>& reports, bool json, bool quiet) {
  ReplayTotals totals;
  for (const FileReport& r : reports) {
    totals.add(r);
    if (!json && !quiet) print_report(r);
  }
  if (json)
    print_json("verify", {{"files", reports}, {"total", totals}});
  else
    print_fitted(totals.text());
  return totals.exit_status();
}

int verify(const VerifyArguments& o) {
  if (o.options.whole && o.options.shard.count > 1)
    refuse("--whole", "a shard", "no --shard: each record needs those before it");
  VerifyOptions options = o.options;
  options.target = find_target(o.target);
  const std::vector<Verifiable> all =
      find_verifiable(std::vector<fs::path>(o.paths.begin(), o.paths.end()), options.read);
  if (all.empty())
    fmt::print(stderr, "warpbit: no capture and no recording under {}\n",
               printable(fmt::format("{}", fmt::join(o.paths, ", "))));
  const auto reports = [&] { return verified(all, options, !o.json && !o.quiet); };
  if (o.part.empty()) return print_reports(reports(), o.json, o.quiet);
  const ordered_json answer =
      kept(o.part, {"verify", question(all, options), options.shard}, [&] { return ordered_json(reports()); });
  return read_part(o.part,
                   [&] { return print_reports(answer.get<std::vector<FileReport>>(), o.json, o.quiet); });
}

int diff_command(const VerifyArguments& o) {
  const DiffReport report = required(diff(o.paths[0], o.paths[1], with_target(o.options, o.target)));
  if (o.json) {
    print_json("diff", {{"cases", report.cases},
                        {"elements", report.elements},
                        {"differences", report.differences},
                        {"details", report.details}});
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
    for (const SavedPart& part : parts) shares.push_back(part.answer.get<std::vector<FileReport>>());
    return print_reports(required(merge_reports(shares, parts[0].question.at("details"))), o.json, o.quiet);
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
  CLI::Option* json = add_json(command, o.json);
  command.add_flag("--quiet", o.quiet, "print the last line alone")->excludes(json);
  command.footer(
      examples({"warpbit verify golden/sm_90a/ldmatrix", "warpbit verify golden --shard 1/500 --quiet",
                "warpbit verify golden/sm_90a/wmma_mma --shard 1/8 --target sm_80 --details 1"}));
}

void add_diff(CLI::App& command, int& status) {
  VerifyArguments& o = add_arguments(command, status, diff_command);
  command.add_option("files", o.paths, "two capture files")->required()->expected(2);
  add_reading_options(command, o);
  add_json(command, o.json);
  command.footer(examples(
      {"warpbit diff golden/sm_90a/mma/mma_sync_aligned_m16n8k128_row_col_s32_b1_b1_s32_and_popc.npz "
       "golden/sm_90a/mma/mma_sync_aligned_m16n8k128_row_col_s32_b1_b1_s32_and_popc.npz",
       "warpbit diff --json golden/sm_90a/mma/mma_sync_aligned_m16n8k128_row_col_s32_b1_b1_s32_and_popc.npz "
       "golden/sm_90a/mma/mma_sync_aligned_m16n8k128_row_col_s32_b1_b1_s32_and_popc.npz"}));
}

}  // namespace cli
}  // namespace warpbit
