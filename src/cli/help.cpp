// SPDX-License-Identifier: Apache-2.0
#include "cli/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>  // std::begin
#include <sstream>

#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "warpbit/format.hpp"
#include "warpbit/target.hpp"

namespace warpbit::cli {
namespace {

constexpr std::size_t kNames = 26;  // columns

// A text beside the names, or on lines of its own.
std::string beside(std::string_view text, std::size_t indent) {
  const std::size_t columns = std::max(terminal().columns, indent + kNames) - indent;
  return fmt::format("{}", fmt::join(broken(text, columns), "\n"));
}

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kNames); }
  // Which options exclude each other, the message says that comes when they stand together.
  std::string make_option_opts(const CLI::Option* option) const override {
    if (!takes_value(*option)) return "";
    std::string out = option->get_positional() ? "" : " " + value_word(*option);
    if (!option->get_default_str().empty()) out += "=" + option->get_default_str();
    if (option->get_items_expected_max() > 1) out += " ...";
    return out + (option->get_required() && !option->get_positional() ? " (required)" : "");
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return beside(option->get_description(), kNames);
  }
  std::string make_description(const CLI::App* app) const override {
    return beside(app->get_description(), 0) + "\n";
  }
  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream out;
    CLI::detail::format_help(out, command->get_name(), beside(command->get_description(), kNames), kNames);
    return out.str();
  }
  std::string make_footer(const CLI::App* app) const override {
    std::istringstream lines(app->get_footer());
    std::string out;
    for (std::string line; std::getline(lines, line);)
      out +=
          (line.starts_with("  ") ? shell_lines(line.substr(2), terminal().columns) : beside(line, 0)) + "\n";
    return out;
  }
};

}  // namespace

std::string escaped(const std::string& text, std::string_view characters, std::string_view before) {
  std::string out;
  for (const char c : text) out.append(characters.find(c) == characters.npos ? "" : before).push_back(c);
  return out;
}

std::string quoted(const std::string& text) {
  return escaped(text, "'", "'\\'");
}

// Up to the blank behind a word of a shell's: quotes and what follows a backslash are part of it.
static std::size_t word_end(std::string_view command, std::size_t at) {
  for (char quote = 0; at < command.size() && (quote != 0 || command[at] != ' '); ++at) {
    const char c = command[at];
    if (c == quote)
      quote = 0;
    else if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (quote == 0 && c == '\\')
      ++at;
  }
  return std::min(at, command.size());
}

std::string shell_lines(const std::string& command, std::size_t columns) {
  constexpr std::string_view kBreak = " \\\n      ";
  std::string out, line = "  ";
  for (std::size_t at = 0, end = 0; (at = command.find_first_not_of(' ', end)) != command.npos;) {
    end = word_end(command, at);
    if (line.size() > kBreak.size() && line.size() + (end - at) + 3 > columns) {
      out += line + std::string(kBreak.substr(0, 3));
      line = kBreak.substr(3);
    }
    line += (line.back() == ' ' ? "" : " ") + command.substr(at, end - at);
  }
  return out + line;
}

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  return std::make_shared<HelpFormatter>();
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::Option*> options_of(const CLI::App& command, bool positional) {
  return command.get_options([=](const CLI::Option* option) { return option->get_positional() == positional; });
}

std::string name_of(const CLI::Option& option) {
  return option.get_positional() ? option.get_name(true) : "--" + option.get_lnames().at(0);
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

bool takes_form(const CLI::Option& option) {
  constexpr std::string_view kForms[] = {"form", "forms", "line", "statement", "--form"};
  return std::ranges::find(kForms, name_of(option)) != std::end(kForms);
}

std::vector<std::string> target_words() {
  std::vector<std::string> out;
  for (const Target target : Target::all()) out.emplace_back(target.name());
  for (const TargetNames& row : target_names())
    for (const std::string_view known : row.names) {
      std::string name(known);
      std::erase(name, ' ');
      if (Target::find(name)) out.push_back(name);
    }
  return out;
}

// "TEXT:{error,as-measured}" -> error, as-measured
static std::vector<std::string> values_in(const std::string& type) {
  std::vector<std::string> out;
  const std::size_t begin = type.find('{'), end = type.find('}');
  if (begin == type.npos || end == type.npos) return out;
  std::istringstream list(type.substr(begin + 1, end - begin - 1));
  for (std::string value; std::getline(list, value, ',');) out.push_back(value);
  return out;
}

std::vector<std::string> values_of(const CLI::Option& option) {
  std::vector<std::string> out = values_in(option.get_type_name());
  const std::string name = name_of(option);
  if (name == "command") out.assign(std::begin(kCommands), std::end(kCommands));
  if (name == "--target" || name == "--targets") out = target_words();
  if (name == "format") {
    for (const FormatInfo& format : all_formats()) out.emplace_back(format.name);
    for (const BlockFormat& format : block_formats()) out.emplace_back(format.name);
  }
  return out;
}

std::string value_word(const CLI::Option& option) {
  struct Word {
    std::string_view option, word;
  };
  static constexpr Word kWords[] = {
      {"--a", "FILE"},
      {"--a-scale", "FILE"},
      {"--arrays", "FILE"},
      {"--b", "FILE"},
      {"--b-scale", "FILE"},
      {"--bisect", "FOLDER"},
      {"--block", "X,Y,Z"},
      {"--bytes", "BYTES"},
      {"--c", "FILE"},
      {"--captures", "FOLDER"},
      {"--cluster", "X,Y,Z"},
      {"--descriptor", "BITS"},
      {"--element", "ROW,COLUMN"},
      {"--entry", "KERNEL"},
      {"--find-difference", "X,Y"},
      {"--form", "FORM"},
      {"--grid", "X,Y,Z"},
      {"--max-bytes", "BYTES"},
      {"--operand", "OPERAND"},
      {"--out", "FILE"},
      {"--ptx", "FILE"},
      {"--random", "PROFILE"},
      {"--shared", "BYTES"},
      {"--size", "BYTES"},
      {"--svg", "FILE"},
      {"--target", "TARGET"},
      {"--targets", "TARGETS"},
  };
  const std::string all = option.get_type_name(), type = all.substr(0, all.find(':'));
  const bool is_number = type == "UINT" || type == "INT" || type == "FLOAT";
  if (!is_number && type != "TEXT") return all;
  if (const auto values = values_in(all); !values.empty()) return fmt::format("{}", fmt::join(values, "|"));
  const auto word = std::ranges::find(kWords, name_of(option), &Word::option);
  return std::string(word != std::end(kWords) ? word->word : is_number ? "NUMBER" : "VALUE");
}

}  // namespace warpbit::cli
