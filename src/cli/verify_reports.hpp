// SPDX-License-Identifier: Apache-2.0
// What verify says of captures and records: lines for people, JSON, which --part keeps, too, and JUnit's XML.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/review.hpp"
#include "warpbit/replay.hpp"

namespace warpbit::cli {

/// How reports are printed.
struct ReportOutput {
  bool json = false, quiet = false;
  std::string junit = {};  ///< a file to write, or none
  ReviewOutput review = {};
};

/// Prints them and their totals; the exit status.
int print_reports(const std::vector<FileReport>& reports, const ReportOutput& output);

/// As `--json` and `--part` have them, and back. reports_of throws nlohmann::json::exception.
nlohmann::ordered_json reports_json(const std::vector<FileReport>& reports);
std::vector<FileReport> reports_of(const nlohmann::ordered_json& reports);
nlohmann::ordered_json mismatches_json(const std::vector<Mismatch>& mismatches);

}  // namespace warpbit::cli
