// SPDX-License-Identifier: Apache-2.0
// warpbit completion
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit::cli {
namespace {

struct CompletionArguments : HelpArguments {
  std::optional<std::string> forms;
};

std::string spaced(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::string zsh_values(const CLI::Option& option) {
  if (takes_form(option)) return "{compadd -- $(warpbit completion --forms \"$PREFIX\"); _files}";
  const std::string values = spaced(values_of(option));
  return values.empty() ? "_files" : "(" + values + ")";
}

std::string bash_completion(const CLI::App& app) {
  std::string values, words;
  for (const CLI::App* c : commands_of(app)) {
    std::vector<std::string> of_command;
    for (const CLI::Option* o : options_of(*c, false)) {
      of_command.push_back(name_of(*o));
      const std::string known = spaced(values_of(*o));
      if (takes_value(*o))
        values += fmt::format("    {}:{}) {} ;;\n", c->get_name(), name_of(*o),
                              takes_form(*o)  ? "words=$(_warpbit_forms)"
                              : known.empty() ? "return"
                                              : "words='" + known + "'");
    }
    for (const CLI::Option* p : options_of(*c, true))
      for (const std::string& value : values_of(*p)) of_command.push_back(value);
    const std::vector<const CLI::Option*> positional = options_of(*c, true);
    const bool has_form = std::ranges::any_of(positional, [](const CLI::Option* p) { return takes_form(*p); });
    words += fmt::format("      {}) words='{}'{} ;;\n", c->get_name(), spaced(of_command),
                         has_form ? "\" $(_warpbit_forms)\"" : "");
  }
  return fmt::format(
      "# bash completion for warpbit: source <(warpbit completion bash)\n"
      "_warpbit_forms() {{\n"
      "  [[ $current == -* ]] || \"${{COMP_WORDS[0]}}\" completion --forms \"$current\" 2>/dev/null\n"
      "}}\n"
      "_warpbit() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words=''\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W '{} --help --version' -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}}:$previous in\n"
      "    *:@) words='{}' ;;\n"
      "{}"
      "    *)\n"
      "      case ${{COMP_WORDS[1]}} in\n"
      "{}"
      "      esac ;;\n"
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "}}\n"
      "complete -o default -F _warpbit warpbit\n",
      fmt::join(kCommands, " "), spaced(target_words()), values, words);
}

std::string zsh_completion(const CLI::App& app) {
  std::string list, cases;
  for (const CLI::App* c : commands_of(app)) {
    list += fmt::format("    '{}:{}'\n", c->get_name(), quoted(c->get_description()));
    cases += fmt::format("    {})\n      _arguments", c->get_name());
    for (const CLI::Option* o : options_of(*c, false))
      cases += fmt::format(" \\\n        '{}[{}]{}'", name_of(*o),
                           quoted(escaped(o->get_description(), "[]:", "\\")),
                           takes_value(*o) ? ":value:" + zsh_values(*o) : "");
    for (const CLI::Option* p : options_of(*c, true))
      cases += fmt::format(" \\\n        '{}:{}:{}'", p->get_items_expected_max() > 1 ? "*" : "", name_of(*p),
                           zsh_values(*p));
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

constexpr std::string_view kFishForms = "(warpbit completion --forms (commandline -ct))";

std::string fish_completion(const CLI::App& app) {
  std::string out = "# fish completion for warpbit: warpbit completion fish | source\n";
  for (const CLI::App* c : commands_of(app)) {
    out += fmt::format("complete -c warpbit -n __fish_use_subcommand -f -a {} -d '{}'\n", c->get_name(),
                       escaped(c->get_description(), "'", "\\"));
    const std::string begin =
        fmt::format("complete -c warpbit -n '__fish_seen_subcommand_from {}'", c->get_name());
    for (const CLI::Option* o : options_of(*c, false)) {
      const std::string values = spaced(values_of(*o));
      out += fmt::format("{} -l {}{} -d '{}'\n", begin, name_of(*o).substr(2),
                         takes_form(*o)    ? " -x -a '" + std::string(kFishForms) + "'"
                         : !values.empty() ? " -x -a '" + values + "'"
                         : takes_value(*o) ? " -r"
                                           : "",
                         escaped(o->get_description(), "'", "\\"));
    }
    for (const CLI::Option* p : options_of(*c, true))
      if (takes_form(*p))
        out += fmt::format("{} -a '{}'\n", begin, kFishForms);
      else if (const std::string values = spaced(values_of(*p)); !values.empty())
        out += fmt::format("{} -f -a '{}'\n", begin, values);
  }
  return out;
}

// ---- What the scripts ask for

// Whether a text that begins so may stand for the form: each word of a short one is a part of a word of the full one.
bool may_begin(const std::string& begin, const std::string& form) {
  std::istringstream in(begin);
  for (std::string word; std::getline(in, word, '.');)
    if (form.find(word) == form.npos) return false;
  return true;
}

// Forms that begin with it, full and short; behind '@' with their targets.
int print_forms(const std::string& begin) {
  if (const std::size_t at = begin.find('@'); at != begin.npos) {
    for (const std::string& target : target_words())
      if (target.starts_with(begin.substr(at + 1))) fmt::print("{}{}\n", begin.substr(0, at + 1), target);
    return kYes;
  }
  const std::string opcode = begin.substr(0, begin.find('.'));
  std::string last;
  for (const FormInfo& form : forms()) {
    if (form.canonical == last || !form.canonical.starts_with(opcode) || !may_begin(begin, form.canonical))
      continue;
    last = form.canonical;
    if (last.starts_with(begin)) fmt::print("{}\n", last);
    for (const std::string& text : short_forms(last))
      if (text != last && text.starts_with(begin)) fmt::print("{}\n", text);
  }
  return kYes;
}

int completion(const CompletionArguments& o) {
  if (o.forms) return print_forms(*o.forms);
  if (o.what.empty()) refuse("completion", "shell is required", "bash, zsh or fish");
  const auto make = o.what == "bash" ? bash_completion : o.what == "zsh" ? zsh_completion : fish_completion;
  fmt::print("{}", make(*o.app));
  return kYes;
}

}  // namespace

void add_completion(CLI::App& command, int& status) {
  CompletionArguments& o = add_arguments(command, status, completion);
  o.app = command.get_parent();
  CLI::Option* shell = command.add_option("shell", o.what, "bash, zsh or fish");
  shell->check(CLI::IsMember(std::vector<std::string>{"bash", "zsh", "fish"}));
  command
      .add_option("--forms", o.forms,
                  "print instead the forms that begin with it, full and short; the scripts ask for these")
      ->excludes(shell);
  command.footer(examples({"warpbit completion bash", "warpbit completion zsh"}));
}

}  // namespace warpbit::cli
