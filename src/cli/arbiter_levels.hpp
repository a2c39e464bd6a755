// SPDX-License-Identifier: Apache-2.0
// A recorded launch, run again on the GPU of this machine as each assembler makes it at each level of optimisation.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "warpbit/arbiter.hpp"

namespace warpbit::cli {

/// What an assembler made at a level left.
struct Level {
  std::string name;          ///< "ptxas 13.0.88 -O3"
  bool is_recorded = false;  ///< the bytes of the recording
  bool is_of_ptx = false;    ///< the bytes that the PTX has here
  std::string reason = {};   ///< why there are none; empty if there are
};

/// Whether the machine has a GPU, by its device file; or a script stands in for it (WARPBIT_LEVELS).
bool has_gpu();

/// Runs tools/arbiter/levels. Errors: file_unreadable, if it says why nothing could be run; those of reading what it wrote.
Result<std::vector<Level>> run_levels(const std::string& recording, const Record& record,
                                      const VerifyOptions& options);

/// What follows for the verdict: a level that leaves the recorded bytes, and not those of the PTX, has made them of this PTX.
void add_levels(const std::vector<Level>& levels, Judgement& verdict);

/// A line each: "ptxas 13.0.88 -O3: the recorded bytes, which the PTX does not have".
std::vector<std::string> level_lines(const std::vector<Level>& levels);
nlohmann::ordered_json levels_json(const std::vector<Level>& levels);

}  // namespace warpbit::cli
