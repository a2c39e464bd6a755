// SPDX-License-Identifier: Apache-2.0
// warpbit man
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/json.hpp"
#include "warpbit/result.hpp"

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

// Of the tool.
std::string manual(const CLI::App& app) {
  std::string out = heading("warpbit", app.get_description()) +
                    ".SH SYNOPSIS\n.B warpbit\n.I COMMAND\n[\\fIOPTION\\fR...]\n.SH COMMANDS\n";
  for (const CLI::App* c : commands_of(app)) out += entry(c->get_name(), c->get_description());
  return out + fmt::format(".SH JSON\n{}\n", troff(std::string(kJsonPromise)));
}

std::string manual_of_command(const CLI::App& command) {
  std::string synopsis = fmt::format("warpbit {} [OPTION...]", command.get_name()), entries;
  for (const CLI::Option* p : options_of(command, true)) {
    synopsis += fmt::format(fmt::runtime(p->get_required() ? " {}{}" : " [{}{}]"), name_of(*p),
                            p->get_items_expected_max() > 1 ? "..." : "");
    entries += entry(name_of(*p), p->get_description());
  }
  for (const CLI::Option* o : options_of(command, false))
    entries += entry(name_of(*o) + (takes_value(*o) ? " " + value_word(*o) : ""), o->get_description());
  constexpr std::string_view kExamples = "Examples:\n";
  const std::string footer = command.get_footer();
  return fmt::format("{}.SH SYNOPSIS\n{}\n.SH OPTIONS\n{}.SH EXAMPLES\n.nf\n{}\n.fi\n",
                     heading("warpbit-" + command.get_name(), command.get_description()), troff(synopsis),
                     entries, troff(footer.substr(footer.find(kExamples) + kExamples.size())));
}

int man(const HelpArguments& o) {
  const std::vector<const CLI::App*> commands = commands_of(*o.app);
  const auto found = std::ranges::find(commands, o.what, &CLI::App::get_name);
  if (found == commands.end() && !o.what.empty())
    refuse("man", fmt::format("'{}'", o.what), fmt::format("one of {}", fmt::join(kCommands, ", ")));
  fmt::print("{}.SH EXIT STATUS\n0 yes, 1 no, 2 could not answer.\n",
             o.what.empty() ? manual(*o.app) : manual_of_command(**found));
  return kYes;
}

}  // namespace

void add_man(CLI::App& command, int& status) {
  HelpArguments& o = add_arguments(command, status, man);
  o.app = command.get_parent();
  command.add_option("command", o.what, "the command; of the tool itself without it");
  command.footer(examples({"warpbit man", "warpbit man check"}));
}

}  // namespace warpbit::cli
