// SPDX-License-Identifier: Apache-2.0
// Records of golden/, which tests change and verify again.
#pragma once

#include <span>

#include "recording_files.hpp"
#include "warpbit/verify.hpp"

namespace golden_records {

using recording_files::json;

/// A record of a recording.
inline json record_of(const std::filesystem::path& path, const std::string& name) {
  const warpbit::Recording recording = recording_files::required(warpbit::Recording::open(path));
  const warpbit::Record* const record = recording.find(name);
  INFO(name);
  REQUIRE(record != nullptr);
  return json::parse(record->text);
}

/// The records of a recording that `wanted` takes, verified.
inline std::vector<warpbit::FileReport> verified_records(const std::filesystem::path& path, const auto& wanted,
                                                         const warpbit::VerifyOptions& options = {}) {
  std::vector<warpbit::Verifiable> all = warpbit::find_verifiable(std::span(&path, 1));
  std::erase_if(all, [&](const warpbit::Verifiable& one) { return !wanted(one.record()); });
  return verify_all(all, options);
}

/// The report of one record.
inline warpbit::FileReport verified(const json& record) {
  const archive::Directory directory;
  const std::filesystem::path path = directory.path / "a.jsonl";
  recording_files::write(path, recording_files::lines({record}));
  const std::vector<warpbit::FileReport> reports = verify_all(warpbit::find_verifiable(std::span(&path, 1)));
  REQUIRE(reports.size() == 1);
  return reports[0];
}

/// A record with another value of a member, and what is said of it.
struct Changed {
  const char *name, *member;
  json value;
  std::string says;
};

/// Each record is refused with these words. `golden`: the record of a name.
inline void require_refused(std::span<const Changed> changes, const auto& golden) {
  for (const Changed& c : changes) {
    json record = golden(c.name);
    record[c.member] = c.value;
    const warpbit::FileReport report = verified(record);
    INFO(c.says);
    CHECK(report.status == warpbit::FileStatus::unreadable);
    REQUIRE(report.error);
    CHECK_THAT(report.error->message(), Catch::Contains(c.says));
  }
}

}  // namespace golden_records
