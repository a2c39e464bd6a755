// SPDX-License-Identifier: Apache-2.0
// warpbit man
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "warpbit/version.hpp"

namespace warpbit::cli {
namespace {

// A dot or quote that begins a line is a request, a hyphen may become a dash.
std::string troff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool begins = out.empty() || out.back() == '\n';
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string heading(const std::string& name, const std::string& description) {
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return fmt::format(".TH {} 1 \"\" \"warpbit {}\"\n.SH NAME\n{} \\- {}\n", upper, WARPBIT_VERSION_TEXT,
                     troff(name), troff(description));
}

std::string entry(const std::string& name, const std::string& description) {
  return fmt::format(".TP\n.B {}\n{}\n", troff(name), troff(description));
}

constexpr std::string_view kStatus = ".SH EXIT STATUS\n0 yes, 1 no, 2 could not answer.\n";

struct ManArguments {
  std::string command;
};

int man(const ManArguments& o, const CLI::App& app) {
  const std::vector<CommandHelp> commands = help_of(app);
  if (o.command.empty()) {
    fmt::print("{}", manual(app, commands));
    return kYes;
  }
  const auto found = std::ranges::find(commands, o.command, &CommandHelp::name);
  if (found != commands.end()) {
    fmt::print("{}", manual(*found));
    return kYes;
  }
  std::string known;
  for (const CommandHelp& c : commands) known += (known.empty() ? "" : ", ") + c.name;
  return cannot_answer({Errc::usage, "man", fmt::format("'{}'", o.command), "one of " + known});
}

}  // namespace

std::string manual(const CLI::App& app, const std::vector<CommandHelp>& commands) {
  std::string out = heading("warpbit", app.get_description());
  out += ".SH SYNOPSIS\n.B warpbit\n.I COMMAND\n[\\fIOPTION\\fR...]\n.SH COMMANDS\n";
  for (const CommandHelp& c : commands) out += entry(c.name, c.description);
  return out + std::string(kStatus);
}

std::string manual(const CommandHelp& command) {
  std::string out = heading("warpbit-" + command.name, command.description);
  out += fmt::format(".SH SYNOPSIS\n{}\n.SH OPTIONS\n", troff(synopsis(command)));
  for (const OptionHelp& p : command.positionals) out += entry(p.name, p.description);
  for (const OptionHelp& o : command.options)
    out += entry(o.takes_value ? o.name + " VALUE" : o.name, o.description);
  if (!command.examples.empty()) out += fmt::format(".SH EXAMPLES\n.nf\n{}\n.fi\n", troff(command.examples));
  return out + std::string(kStatus);
}

void add_man(CLI::App& command, int& status) {
  const auto o = std::make_shared<ManArguments>();
  command.add_option("command", o->command, "the command; of the tool itself without it");
  command.footer(examples({"warpbit man", "warpbit man check"}));
  command.callback([o, &command, &status] { status = man(*o, *command.get_parent()); });
}

}  // namespace warpbit::cli
