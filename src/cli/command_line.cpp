// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>  // std::bad_alloc
#include <sstream>
#include <system_error>

#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/json.hpp"
#include "cli/terminal.hpp"
#include "warpbit/detail/letters.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

namespace warpbit::cli {

std::string examples(std::initializer_list<std::string_view> lines) {
  std::string out;
  for (const std::string_view line : lines) out += fmt::format("\n  {}", line);
  const bool has_captures = out.find(" golden") != out.npos;
  return (has_captures ? "golden/ is a folder of warpbit's repository.\n" : "") + ("Examples:" + out);
}

std::vector<std::string> near_forms(const Error& error, std::string_view text, std::optional<Target> target) {
  constexpr std::size_t kMost = 3;
  constexpr std::array kNoForm = {Errc::unknown_instruction, Errc::unknown_qualifier, Errc::repeated_qualifier,
                                  Errc::qualifier_order,     Errc::missing_qualifier, Errc::no_such_form,
                                  Errc::undocumented_form};
  if (text.empty() || std::ranges::find(kNoForm, error.code) == kNoForm.end()) return {};
  std::vector<std::string> near = nearest_forms(text, target, kMost);
  // Of an instruction that is known, forms of another one are no help.
  const std::string_view begun = text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
  const std::string_view given = begun.substr(0, begun.find('.'));
  const bool is_shape_alone = given.size() > 1 && given[0] == 'm' && given[1] >= '0' && given[1] <= '9';
  std::erase_if(near, [&](std::string_view form) {
    const std::string_view opcode = form.substr(0, form.find('.'));
    return error.code == Errc::unknown_instruction ? 2 * letters_apart(given, opcode) >= given.size()
                                                   : opcode != given && !is_shape_alone;
  });
  return near;
}

void suggest_forms(const Error& error, std::string_view text, std::optional<Target> target) {
  const std::vector<std::string> near = near_forms(error, text, target);
  if (near.empty()) return;
  std::fflush(stdout);  // what was refused stands above
  fmt::print(stderr, "did you mean\n");
  for (const std::string& form : near) fmt::print(stderr, "  {}\n", form);
}

namespace {

// Refuses to have no command, and a first argument that is neither one nor an option.
void check_command(int argc, char** argv) {
  if (argc < 2)
    refuse("warpbit", "no command", fmt::format("{}; warpbit --help says more", fmt::join(kCommands, ", ")));
  const std::string_view word = argv[1];
  if (word.empty() || word.starts_with('-') || std::ranges::find(kCommands, word) != std::end(kCommands))
    return;
  const auto nearest =
      std::ranges::min_element(kCommands, {}, [&](auto name) { return letters_apart(word, name); });
  refuse(fmt::format("'{}'", word), "not a command",
         2 * letters_apart(word, *nearest) <= word.size()
             ? fmt::format("{}? (warpbit --help lists all)", *nearest)
             : fmt::format("{}", fmt::join(kCommands, ", ")));
}

// Refuses a command without an argument that it must have.
void check_required(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands())
    for (const CLI::Option* option : command->get_options())
      if (option->get_required() && option->empty())
        refuse(command->get_name(), name_of(*option) + " is required", option->get_description());
}

// Refuses an option that the command does not have, and names the nearest.
void check_options(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands())
    for (const std::string& word : command->remaining()) {
      if (!word.starts_with("--")) continue;
      const std::string given = word.substr(0, word.find('='));
      std::vector<std::string> known;
      for (const CLI::Option* option : options_of(*command, false)) known.push_back(name_of(*option));
      const auto nearest =
          std::ranges::min_element(known, {}, [&](const auto& name) { return letters_apart(given, name); });
      const bool is_near = nearest != known.end() && 3 * letters_apart(given, *nearest) <= given.size();
      refuse(command->get_name(), fmt::format("'{}' is no option of it", given),
             is_near ? *nearest + "?" : fmt::format("{}", fmt::join(known, ", ")));
    }
}

// Refuses options of a test that stand before --: the command would take them for its own.
void check_test(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    const auto words = command->remaining();
    if (words.empty() || command->get_option_no_throw("test") == nullptr) continue;
    refuse(
        command->get_name(), fmt::format("'{}' is no option of it", words.front()),
        fmt::format("the command of the test behind --: warpbit {} -- TEST ARGUMENT...", command->get_name()));
  }
}

// The name of a target or of a file is not empty, as it is where a variable of the shell is not set.
void refuse_empty_names(CLI::App& app) {
  constexpr std::string_view kNamed[] = {"--target", "--targets", "--svg", "--out"};
  const CLI::Validator named([](const std::string& text) { return text.empty() ? "an empty name" : ""; }, "");
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    for (CLI::Option* option : command->get_options())
      if (std::ranges::find(kNamed, name_of(*option)) != std::end(kNamed)) option->check(named);
}

// "ask -inf": what begins with one '-' is no option of ask, but a part of the line.
std::vector<const char*> with_lines(int argc, char** argv) {
  std::vector<const char*> out(argv, argv + argc);
  const auto is_option = [](std::string_view word) { return word.starts_with("--") || word == "-h"; };
  const auto has = [&](const auto& is) { return std::any_of(out.begin() + 2, out.end(), is); };
  if (argc < 3 || std::string_view(argv[1]) != "ask" ||
      has([](std::string_view word) { return word == "--"; }) ||
      !has([&](std::string_view word) { return word.starts_with('-') && !is_option(word); }))
    return out;
  out.insert(std::stable_partition(out.begin() + 2, out.end(), is_option), "--");
  return out;
}

// CLI11 takes "[tag]" for a list; the words of a test behind -- it gets with a mark.
constexpr char kMark = '\x01';

std::vector<std::string> with_marks(const std::vector<const char*>& words) {
  std::vector<std::string> out(words.begin(), words.end());
  const auto end = std::ranges::find(out, "--");
  if (out.size() < 2 || end == out.end() || (out[1] != "notice" && out[1] != "findings")) return out;
  std::for_each(end + 1, out.end(), [](std::string& word) { word.insert(word.begin(), kMark); });
  return out;
}

void remove_marks(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    if (CLI::Option* const test = command->get_option_no_throw("test"))
      test->transform([](const std::string& word) { return word.substr(word.starts_with(kMark) ? 1 : 0); });
}

// The exit status, where no refusal is thrown.
int answer(CLI::App& app, int argc, char** argv, const int& status) try {
  check_command(argc, argv);
  std::vector<std::string> words = with_marks(with_lines(argc, argv));
  words.erase(words.begin());
  std::ranges::reverse(words);
  app.parse(std::move(words));
  return status;
} catch (const CLI::ParseError& error) {
  if (error.get_name() == "RequiredError") check_required(app);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    check_options(app);
    check_test(app);
  }
  std::ostringstream out, messages;
  const int status_of_help = app.exit(error, out, messages);
  fmt::print("{}", out.str());
  fmt::print(stderr, "{}", messages.str());
  return status_of_help == 0 ? kYes : kNoAnswer;
}

int run(int argc, char** argv) {
  CLI::App app("NVIDIA's tensor instructions on a CPU, bit by bit as real GPUs compute them.", "warpbit");
  app.formatter(help_formatter());
  app.footer(fmt::format("Exit status of every command: 0 yes, 1 no, 2 could not answer.\n{}", kJsonPromise));
  app.set_version_flag("--version", WARPBIT_VERSION_TEXT);
  app.require_subcommand(1);
  int status = kNoAnswer;
#define WARPBIT_ADD(name, help) add_##name(*app.add_subcommand(#name, help), status);
  WARPBIT_COMMANDS(WARPBIT_ADD)
#undef WARPBIT_ADD
  refuse_empty_names(app);
  remove_marks(app);
  try {
    status = answer(app, argc, argv, status);
  } catch (const Refusal& refusal) {
    fmt::print(stderr, "warpbit: {}\n", printable(refusal.error.message()));
    suggest_forms(refusal.error, refusal.text, refusal.target);
  }
  errno = 0;
  const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (is_written) return status;
  if (errno != EPIPE) std::fputs("warpbit: the output could not be written\n", stderr);
  return kNoAnswer;
}

}  // namespace

int run_command_line(int argc, char** argv) noexcept {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("warpbit: there is not enough memory for this\n", stderr);
  } catch (const std::exception& error) {  // among them, that stdout cannot be written
    const auto* system = dynamic_cast<const std::system_error*>(&error);
    const bool is_unread = system != nullptr && system->code() == std::errc::broken_pipe;
    if (!is_unread) std::fprintf(stderr, "warpbit: %s\n", error.what());
  }
  return kNoAnswer;
}

}  // namespace warpbit::cli
