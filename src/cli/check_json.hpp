// SPDX-License-Identifier: Apache-2.0
// What `check --json` says of forms, statements and modules.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/json.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::cli {

/// A form or statement on targets, each with an answer; if none accepts it, the documented forms that it is near to.
nlohmann::ordered_json answers_json(const std::string& text, std::span<const Target> targets);
/// A module of PTX, or why it cannot be loaded, and all that is refused of it.
nlohmann::ordered_json module_json(const std::string& file, const Result<ptx::Module>& module,
                                   const std::vector<Error>& errors);

}  // namespace warpbit::cli
