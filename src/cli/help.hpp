// SPDX-License-Identifier: Apache-2.0
// What the parser knows about the commands: what completion scripts and manual pages are made of.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace warpbit::cli {

/// What a command about the commands takes.
struct HelpArguments {
  const CLI::App* app = nullptr;
  std::string what;
};

/// Help in lines that fit the standard output; examples are broken as a shell has it, with a backslash.
std::shared_ptr<CLI::FormatterBase> help_formatter();

/// All commands.
std::vector<const CLI::App*> commands_of(const CLI::App& app);
/// The options of a command, or what stands without one.
std::vector<const CLI::Option*> options_of(const CLI::App& command, bool positional);

/// "--target"; of a positional "paths".
std::string name_of(const CLI::Option& option);
bool takes_value(const CLI::Option& option);
/// Whether the value is a form.
bool takes_form(const CLI::Option& option);
/// The names of targets, PTX's and those of GPUs, without blanks: "H100", "RTX4080".
std::vector<std::string> target_words();
/// What its value is, in a word: "TARGET"; "error|as-measured". An option's own type_name(), or by a table of names.
std::string value_word(const CLI::Option& option);
/// All that there are; empty if it may be anything.
std::vector<std::string> values_of(const CLI::Option& option);

/// The text with `before` in front of each of these characters.
std::string escaped(const std::string& text, std::string_view characters, std::string_view before);
/// Text for between single quotes in a shell.
std::string quoted(const std::string& text);
/// A command line in lines of the shell, which begin with two blanks. What stands in quotes is not broken.
std::string shell_lines(const std::string& command, std::size_t columns);

}  // namespace warpbit::cli
