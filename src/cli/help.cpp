// SPDX-License-Identifier: Apache-2.0
#include "cli/help.hpp"

#include <fmt/format.h>

#include <sstream>
#include <utility>

#include "warpbit/format.hpp"
#include "warpbit/target.hpp"

namespace warpbit::cli {
namespace {

// "TEXT:{error,as-measured}" -> error, as-measured
std::vector<std::string> values_of(const std::string& name, const std::string& type) {
  std::vector<std::string> out;
  if (name == "--target")
    for (const Target target : Target::all()) out.emplace_back(target.name());
  if (name == "format")
    for (const FormatInfo& format : all_formats()) out.emplace_back(format.name);
  const std::size_t begin = type.find('{'), end = type.find('}');
  if (begin == type.npos || end == type.npos) return out;
  std::istringstream list(type.substr(begin + 1, end - begin - 1));
  for (std::string value; std::getline(list, value, ',');) out.push_back(value);
  return out;
}

OptionHelp option_help(const CLI::Option& option) {
  const bool is_positional = option.get_positional();
  const std::string name = is_positional ? option.get_name(true) : "--" + option.get_lnames().at(0);
  return {name,
          option.get_description(),
          option.get_items_expected_max() > 0,
          option.get_required(),
          is_positional && option.get_items_expected_max() > 1,
          values_of(name, option.get_type_name())};
}

}  // namespace

std::vector<CommandHelp> help_of(const CLI::App& app) {
  std::vector<CommandHelp> out;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    CommandHelp help{command->get_name(), command->get_description(), {}, {}, command->get_footer()};
    for (const CLI::Option* option : command->get_options())
      (option->get_positional() ? help.positionals : help.options).push_back(option_help(*option));
    const std::string heading = "Examples:\n";
    if (help.examples.starts_with(heading)) help.examples.erase(0, heading.size());
    out.push_back(std::move(help));
  }
  for (CommandHelp& help : out)
    for (OptionHelp& positional : help.positionals)
      if (positional.name == "command")
        for (const CommandHelp& command : out) positional.values.push_back(command.name);
  return out;
}

std::string synopsis(const CommandHelp& command) {
  std::string out = fmt::format("warpbit {} [OPTION...]", command.name);
  for (const OptionHelp& p : command.positionals)
    out += fmt::format(" {}{}{}{}", p.is_required ? "" : "[", p.name, p.is_repeated ? "..." : "",
                       p.is_required ? "" : "]");
  return out;
}

}  // namespace warpbit::cli
