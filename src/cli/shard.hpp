// SPDX-License-Identifier: Apache-2.0
// Shares of a work, as people type them.
#pragma once

#include <string>

#include "cli/commands.hpp"
#include "warpbit/replay.hpp"

namespace warpbit::cli {

/// The option --shard I/N, which writes to `shard`. Precondition: `shard` outlives the parsing.
void add_shard(CLI::App& command, Shard& shard, const std::string& description);

}  // namespace warpbit::cli
