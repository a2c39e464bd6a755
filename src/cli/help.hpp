// SPDX-License-Identifier: Apache-2.0
// What the parser knows about the commands, as data: what completion scripts and manual pages are made of.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace warpbit::cli {

struct OptionHelp {
  std::string name;  ///< "--target"; of a positional "paths"
  std::string description;
  bool takes_value, is_required, is_repeated;
  std::vector<std::string> values;  ///< all that there are; empty if it may be anything
};

struct CommandHelp {
  std::string name, description;
  std::vector<OptionHelp> options, positionals;
  std::string examples;  ///< lines
};

/// Help in lines that fit the standard output; examples are broken as a shell has it, with a backslash.
std::shared_ptr<CLI::FormatterBase> help_formatter();

/// All commands.
std::vector<CommandHelp> help_of(const CLI::App& app);

/// "warpbit check [OPTION...] [text]"
std::string synopsis(const CommandHelp& command);

/// The scripts that complete a command line.
std::string bash_completion(const std::vector<CommandHelp>& commands);
std::string zsh_completion(const std::vector<CommandHelp>& commands);
std::string fish_completion(const std::vector<CommandHelp>& commands);

/// A manual page in troff: of the tool, or of one of its commands.
std::string manual(const CLI::App& app, const std::vector<CommandHelp>& commands);
std::string manual(const CommandHelp& command);

}  // namespace warpbit::cli
