// SPDX-License-Identifier: Apache-2.0
// What --json prints: one object for each command. Its first member is "schema": "COMMAND/N". Within a number N members are only
// added: none is renamed, removed, or given another type or meaning.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace warpbit::cli {

/// Prints the object with its schema, "COMMAND/1", as the first member. Bytes that are not UTF-8 are replaced by U+FFFD.
void print_json(std::string_view command, const nlohmann::ordered_json& object);

}  // namespace warpbit::cli
