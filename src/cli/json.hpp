// SPDX-License-Identifier: Apache-2.0
// What --json prints: one object for each command. Its first member is "schema": "COMMAND/N". Within a number N members are only
// added: none is renamed, removed, or given another type or meaning. `check --batch` alone prints an object for each line that it
// reads, of the schema "check-line/N", in a line each (JSON Lines). schemas/COMMAND-N.json describes the members, each with its unit.
//
// An answer of "no" (exit status 1) is an object on the standard output like that of "yes". A command that cannot answer (2)
// prints a sentence to the standard error and nothing to the standard output, with --json, too; verify, notice and findings alone
// answer with an object that says which files could not be replayed, or why the test told nothing.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "warpbit/result.hpp"

namespace warpbit::cli {

/// The same for those who read the help.
inline constexpr std::string_view kJsonPromise =
    "--json prints one object, whose first member \"schema\" is COMMAND/N. Within a number N members are only added. A command "
    "that cannot answer prints a sentence to the standard error and nothing to the standard output.";

/// The option --json.
CLI::Option* add_json(CLI::App& command, bool& json);

/// Prints the object with its schema, "COMMAND/1", as the first member. Bytes that are not UTF-8 are replaced by U+FFFD.
void print_json(std::string_view command, const nlohmann::ordered_json& object);
/// The same in one line.
void print_json_line(std::string_view command, const nlohmann::ordered_json& object);

/// {"code", "message"}, and what the message consists of: "where", "seen", "accepted".
nlohmann::ordered_json error_json(const Error& error);
/// The error of such an object. Throws nlohmann::json::exception where it has other members.
Error error_of(const nlohmann::ordered_json& object);
/// "0x3c00"
std::string hexadecimal(std::uint64_t code);

}  // namespace warpbit::cli
