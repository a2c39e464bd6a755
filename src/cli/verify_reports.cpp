// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/arguments.hpp"
#include "cli/json.hpp"
#include "cli/junit.hpp"
#include "cli/parts.hpp"
#include "cli/terminal.hpp"

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

// "the same bytes", of a record that was executed or not.
std::string verdict(const FileReport& r) {
  if (r.status == FileStatus::fault) return "a fault";
  if (r.status == FileStatus::not_reproducible) return "not reproducible";
  const std::string_view noun = r.kind == "launch" ? "bytes" : "elements";
  std::string out = r.kind == "copy"    ? "done"
                    : r.mismatches == 0 ? fmt::format("the same {} {}", r.elements, noun)
                                        : fmt::format("{} of {} {} differ{}", r.mismatches, r.elements, noun,
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

// ---- JUnit

std::string said(const FileReport& r) {
  if (r.error) return r.error->message();
  std::string out;
  for (const std::string& note : r.notes) out += (out.empty() ? "" : "; ") + note;
  for (const Mismatch& m : r.details) out += (out.empty() ? "" : "; ") + text(m);
  return out;
}

// What JUnit calls a case that did not pass: nothing if it did.
std::string_view junit_word(const FileReport& r) {
  if (r.status == FileStatus::unsupported || r.status == FileStatus::unreadable) return "error";
  if (r.status == FileStatus::not_reproducible || r.status == FileStatus::other_shard) return "skipped";
  if (r.status == FileStatus::fault || (r.mismatches != 0 && !r.may_differ)) return "failure";
  return "";
}

std::string junit_of(const std::vector<FileReport>& reports) {
  std::vector<JunitCase> cases;
  for (const FileReport& r : reports)
    cases.push_back(
        {r.path.string(), r.record.empty() ? r.header.statement : r.record, junit_word(r), said(r)});
  return junit_text("warpbit verify", cases);
}

// ---- For reviews

// What is no case that passed, of its file.
std::vector<Remark> remarks_of(const std::vector<FileReport>& reports) {
  std::vector<Remark> out;
  for (const FileReport& r : reports) {
    const std::string_view word = junit_word(r);
    if (word.empty() || word == "skipped") continue;
    const std::string what = r.record.empty() ? r.header.statement : r.record;
    const bool differs = word == "failure" && r.status != FileStatus::fault;
    out.push_back(
        {std::string(differs ? "bits_differ" : name(r.status)),
         differs ? "the elements or bytes are not those of the recording" : "a recording cannot be verified",
         differs ? Grade::finding : Grade::fault,
         fmt::format("{}: {}", what, said(r).empty() ? verdict(r) : said(r)),
         r.record,
         {{r.path.string()}}});
  }
  return out;
}

}  // namespace

int print_reports(const std::vector<FileReport>& reports, const ReportOutput& output) {
  if (!output.junit.empty()) write_text(output.junit, junit_of(reports));
  ReplayTotals totals;
  for (const FileReport& r : reports) {
    totals.add(r);
    if (!output.json && !output.quiet) print_report(r);
  }
  if (output.json)
    print_json("verify", {{"files", reports}, {"total", totals}});
  else
    print_fitted(totals.text());
  write_review(output.review, remarks_of(reports));
  return totals.exit_status();
}

nlohmann::ordered_json reports_json(const std::vector<FileReport>& reports) {
  return reports;
}
std::vector<FileReport> reports_of(const nlohmann::ordered_json& reports) {
  return reports.get<std::vector<FileReport>>();
}
nlohmann::ordered_json mismatches_json(const std::vector<Mismatch>& mismatches) {
  return mismatches;
}

}  // namespace cli
}  // namespace warpbit
