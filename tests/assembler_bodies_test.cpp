// SPDX-License-Identifier: Apache-2.0
// Bodies of a kernel leave what an H100 left of them, as ptxas -O0 and -O3 assembled them (golden-digests/assembler): rules of
// the assembler, statements that none changes, and its defects. These leave at -O3 what they leave at -O0, and have a note.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "golden_records.hpp"
#include "warpbit/ptx.hpp"

namespace assembler_bodies_test {

using namespace warpbit;
using golden_records::json, recording_files::required;

const std::filesystem::path kRecording = "golden-digests/assembler/sm_90a.zip";

std::string text_of(const Recording& recording, const json& name) {
  const auto bytes = required(recording.data(name.get<std::string>()));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The defects that a module has notes of.
std::set<std::string> defects_of(const Recording& recording, const json& module) {
  const auto loaded = ptx::Module::load(text_of(recording, module));
  REQUIRE(loaded);
  std::set<std::string> out;
  for (const ptx::AssemblerNote& note : loaded->notes()) out.insert(note.defect);
  return out;
}

TEST_CASE("bodies leave what an H100 left at -O0 and -O3, but for the defects that their notes name") {
  const auto all = find_verifiable(std::span(&kRecording, 1));
  const std::vector<FileReport> reports = verify_all(all);
  std::map<std::string, int> launches;
  int changed = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const FileReport& report = reports[i];
    INFO(report.record << ": " << fmt::format("{}", fmt::join(report.notes, "\n"))
                       << (report.error ? report.error->message() : ""));
    const json record = json::parse(all[i].record().text);
    const bool is_wrong = record.contains("defects");
    CHECK(report.status == (is_wrong ? FileStatus::not_reproducible : FileStatus::replayed));
    CHECK(report.mismatches == 0);
    CHECK(report.elements == (is_wrong ? 256 : 512));
    changed += !is_wrong && record.at("O0") != record.at("O3");
    if (++launches[record.at("module")] != 1) continue;
    const auto expected =
        is_wrong ? record.at("defects").get<std::set<std::string>>() : std::set<std::string>();
    CHECK(defects_of(*all[i].recording, record.at("module")) == expected);
  }
  CHECK(launches.size() == 37);
  for (const auto& [module, count] : launches) CHECK(count == 3);
  CHECK(changed > 0);
}

TEST_CASE("a body with a defect leaves here at -O3 what it leaves at -O0") {
  std::size_t bodies = 0;
  for (const Verifiable& one : find_verifiable(std::span(&kRecording, 1))) {
    json record = json::parse(one.record().text);
    if (!record.contains("defects")) continue;
    INFO(one.record().name);
    CHECK(record.at("O0") != record.at("O3"));
    record["O3"] = record["O0"];
    record.erase("defects");
    const archive::Directory directory;
    recording_files::Data data;
    for (const char* const member : {"module", "before"})
      data.emplace_back(record.at(member), text_of(*one.recording, record.at(member)));
    const std::filesystem::path path =
        recording_files::write_folder(directory.path / "one", recording_files::lines({record}), data);
    for (const FileReport& report : verify_all(find_verifiable(std::span(&path, 1)))) {
      CHECK((report.status == FileStatus::replayed && report.mismatches == 0 && report.cases == 2));
      ++bodies;
    }
  }
  CHECK(bodies >= 30);
}

}  // namespace assembler_bodies_test
