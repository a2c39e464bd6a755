// SPDX-License-Identifier: Apache-2.0
// What a command has found, for places where code is reviewed: --sarif FILE and --annotations.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "warpbit/review.hpp"

namespace warpbit::cli {

struct ReviewOutput {
  std::string sarif;  ///< a file to write, or none
  bool annotations = false;

  bool is_wanted() const { return annotations || !sarif.empty(); }
};

/// Adds the options. `json`: that of --json, which prints one object and nothing else. Precondition: `output` outlives the parsing.
void add_review(CLI::App& command, ReviewOutput& output, CLI::Option* json);
/// Writes what is wanted: remarks of one place once. Refuses a file that cannot be written.
void write_review(const ReviewOutput& output, std::vector<Remark> remarks);

nlohmann::ordered_json remarks_json(const std::vector<Remark>& remarks);

}  // namespace warpbit::cli
