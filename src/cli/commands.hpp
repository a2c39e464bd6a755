// SPDX-License-Identifier: Apache-2.0
// The commands of the tool. Each adds itself to the parser and leaves its exit status: 0 yes, 1 no, 2 could not
// answer.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "warpbit/result.hpp"
#include "warpbit/target.hpp"

namespace warpbit::cli {

inline constexpr int kYes = 0, kNo = 1, kNoAnswer = 2;

void add_verify(CLI::App& app, int& status);
void add_diff(CLI::App& app, int& status);
void add_check(CLI::App& app, int& status);
void add_list(CLI::App& app, int& status);
void add_descriptor(CLI::App& app, int& status);
void add_pack(CLI::App& app, int& status);
void add_diagnose(CLI::App& app, int& status);
void add_format(CLI::App& app, int& status);
void add_run(CLI::App& app, int& status);
void add_explain(CLI::App& app, int& status);
void add_compare(CLI::App& app, int& status);
void add_layout(CLI::App& app, int& status);
void add_where(CLI::App& app, int& status);
void add_completion(CLI::App& app, int& status);
void add_man(CLI::App& app, int& status);

/// What stands below the help of a command: lines that work from the root of this repository.
std::string examples(std::initializer_list<std::string_view> lines);

/// Prints "warpbit: message" to stderr and returns kNoAnswer.
int cannot_answer(const Error& error);
/// 64 bits, with or without 0x. Errors: usage, at `where`.
Result<std::uint64_t> parse_hex(std::string_view where, std::string_view text);

/// True if an argument that may be a form names a file.
bool is_file(const std::string& what);

/// Prints to stderr which documented forms a refused form or statement is nearest to, if it is no form: on the
/// target, if there is one.
void suggest_forms(const Error& error, std::string_view text, std::optional<Target> target);
/// cannot_answer and suggest_forms.
int cannot_parse(const Error& error, std::string_view text, std::optional<Target> target);

}  // namespace warpbit::cli
