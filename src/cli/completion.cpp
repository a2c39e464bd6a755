// SPDX-License-Identifier: Apache-2.0
// warpbit completion
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/help.hpp"

namespace warpbit::cli {
namespace {

// For text between single quotes in a shell.
std::string quoted(const std::string& text, std::string_view quote) {
  std::string out;
  for (const char c : text) out += c == '\'' ? std::string(quote) : std::string(1, c);
  return out;
}

std::string names_of(const std::vector<CommandHelp>& commands) {
  std::string out;
  for (const CommandHelp& c : commands) out += (out.empty() ? "" : " ") + c.name;
  return out;
}

// The names of the options, and what may stand without one.
std::string words_of(const CommandHelp& command) {
  std::vector<std::string> out;
  for (const OptionHelp& o : command.options) out.push_back(o.name);
  for (const OptionHelp& p : command.positionals) out.insert(out.end(), p.values.begin(), p.values.end());
  return fmt::format("{}", fmt::join(out, " "));
}

// In zsh's specifications brackets and colons mean something.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '[' || c == ']' || c == ':' ? std::string("\\") + c : std::string(1, c);
  return quoted(out, "'\\''");
}

std::string zsh_values(const OptionHelp& option) {
  return option.values.empty() ? "_files" : fmt::format("({})", fmt::join(option.values, " "));
}

struct CompletionArguments {
  std::string shell;
};

int completion(const CompletionArguments& o, const CLI::App& app) {
  const std::vector<CommandHelp> commands = help_of(app);
  fmt::print("{}", o.shell == "bash"  ? bash_completion(commands)
                   : o.shell == "zsh" ? zsh_completion(commands)
                                      : fish_completion(commands));
  return kYes;
}

}  // namespace

std::string bash_completion(const std::vector<CommandHelp>& commands) {
  std::string values, words;
  for (const CommandHelp& c : commands) {
    for (const OptionHelp& o : c.options) {
      if (!o.takes_value) continue;
      values += o.values.empty()
                    ? fmt::format("    {}:{}) return ;;\n", c.name, o.name)
                    : fmt::format("    {}:{}) words='{}' ;;\n", c.name, o.name, fmt::join(o.values, " "));
    }
    words += fmt::format("      {}) words='{}' ;;\n", c.name, words_of(c));
  }
  return fmt::format(
      "# bash completion for warpbit: source <(warpbit completion bash)\n"
      "_warpbit() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words=''\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W '{} --help --version' -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}}:$previous in\n"
      "{}"
      "    *)\n"
      "      case ${{COMP_WORDS[1]}} in\n"
      "{}"
      "      esac ;;\n"
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "}}\n"
      "complete -o default -F _warpbit warpbit\n",
      names_of(commands), values, words);
}

std::string zsh_completion(const std::vector<CommandHelp>& commands) {
  std::string list, cases;
  for (const CommandHelp& c : commands) {
    list += fmt::format("    '{}:{}'\n", c.name, quoted(c.description, "'\\''"));
    cases += fmt::format("    {})\n      _arguments", c.name);
    for (const OptionHelp& o : c.options)
      cases += fmt::format(" \\\n        '{}[{}]{}'", o.name, zsh_text(o.description),
                           o.takes_value ? ":value:" + zsh_values(o) : "");
    for (const OptionHelp& p : c.positionals)
      cases += fmt::format(" \\\n        '{}:{}:{}'", p.is_repeated ? "*" : "", p.name, zsh_values(p));
    cases += " ;;\n";
  }
  return fmt::format(
      "#compdef warpbit\n"
      "# zsh completion for warpbit: source <(warpbit completion zsh)\n"
      "_warpbit() {{\n"
      "  local -a commands\n"
      "  commands=(\n"
      "{}"
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $words[1] in\n"
      "{}"
      "  esac\n"
      "}}\n"
      "if [[ $funcstack[1] == _warpbit ]]; then _warpbit \"$@\"; else compdef _warpbit warpbit; fi\n",
      list, cases);
}

std::string fish_completion(const std::vector<CommandHelp>& commands) {
  std::string out = "# fish completion for warpbit: warpbit completion fish | source\n";
  for (const CommandHelp& c : commands) {
    out += fmt::format("complete -c warpbit -n __fish_use_subcommand -f -a {} -d '{}'\n", c.name,
                       quoted(c.description, "\\'"));
    const std::string begin = fmt::format("complete -c warpbit -n '__fish_seen_subcommand_from {}'", c.name);
    for (const OptionHelp& o : c.options) {
      std::string value = o.takes_value ? " -r" : "";
      if (!o.values.empty()) value = fmt::format(" -x -a '{}'", fmt::join(o.values, " "));
      out += fmt::format("{} -l {}{} -d '{}'\n", begin, o.name.substr(2), value, quoted(o.description, "\\'"));
    }
    for (const OptionHelp& p : c.positionals)
      if (!p.values.empty()) out += fmt::format("{} -f -a '{}'\n", begin, fmt::join(p.values, " "));
  }
  return out;
}

void add_completion(CLI::App& command, int& status) {
  const auto o = std::make_shared<CompletionArguments>();
  command.add_option("shell", o->shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>{"bash", "zsh", "fish"}));
  command.footer(examples({"warpbit completion bash", "warpbit completion zsh"}));
  command.callback([o, &command, &status] { status = completion(*o, *command.get_parent()); });
}

}  // namespace warpbit::cli
