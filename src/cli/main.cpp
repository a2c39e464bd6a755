// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>  // std::cout, to which CLI11 writes
#include <new>       // std::bad_alloc
#include <system_error>

#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/version.hpp"

namespace warpbit::cli {

int cannot_answer(const Error& error) {
  fmt::print(stderr, "warpbit: {}\n", error.message());
  return kNoAnswer;
}

Result<std::uint64_t> parse_hex(std::string_view where, std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out, 16);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size())
    return Error{Errc::usage, std::string(where), fmt::format("'{}'", text), "at most 16 hexadecimal digits"};
  return out;
}

std::string examples(std::initializer_list<std::string_view> lines) {
  std::string out = "Examples:";
  for (const std::string_view line : lines) out += fmt::format("\n  {}", line);
  return out;
}

bool is_file(const std::string& what) {
  return what.ends_with(".npz") || std::filesystem::exists(what);
}

void suggest_forms(const Error& error, std::string_view text, std::optional<Target> target) {
  constexpr std::size_t kMost = 3;
  constexpr std::array kNoForm = {Errc::unknown_instruction, Errc::unknown_qualifier, Errc::repeated_qualifier,
                                  Errc::qualifier_order,     Errc::missing_qualifier, Errc::no_such_form,
                                  Errc::undocumented_form};
  if (std::ranges::find(kNoForm, error.code) == kNoForm.end()) return;
  const std::vector<std::string> near = nearest_forms(text, target, kMost);
  if (near.empty()) return;
  std::fflush(stdout);  // what was refused stands above
  fmt::print(stderr, "did you mean\n");
  for (const std::string& form : near) fmt::print(stderr, "  {}\n", form);
}

int cannot_parse(const Error& error, std::string_view text, std::optional<Target> target) {
  const int status = cannot_answer(error);
  suggest_forms(error, text, target);
  return status;
}

}  // namespace warpbit::cli

int main(int argc, char** argv) {
  using namespace warpbit::cli;
  try {
    CLI::App app("NVIDIA's tensor instructions on a CPU, bit by bit as real GPUs compute them.", "warpbit");
    app.formatter(help_formatter());
    app.footer("Exit status of every command: 0 yes, 1 no, 2 could not answer.");
    app.set_version_flag("--version", WARPBIT_VERSION_TEXT);
    app.require_subcommand(1);
    int status = kNoAnswer;
    add_verify(app, status);
    add_diff(app, status);
    add_check(app, status);
    add_list(app, status);
    add_descriptor(app, status);
    add_pack(app, status);
    add_diagnose(app, status);
    add_format(app, status);
    add_run(app, status);
    add_explain(app, status);
    add_compare(app, status);
    add_layout(app, status);
    add_where(app, status);
    add_completion(app, status);
    add_man(app, status);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      const bool is_answered = app.exit(error) == 0 && std::cout.flush();
      return is_answered ? kYes : kNoAnswer;
    }
    errno = 0;
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
      if (errno != EPIPE) std::fputs("warpbit: the output could not be written\n", stderr);
      return kNoAnswer;
    }
    return status;
  } catch (const std::bad_alloc&) {
    std::fputs("warpbit: there is not enough memory for this\n", stderr);
    return kNoAnswer;
  } catch (const std::exception& error) {  // among them, that stdout cannot be written
    const auto* system = dynamic_cast<const std::system_error*>(&error);
    const bool is_unread = system != nullptr && system->code() == std::errc::broken_pipe;
    if (!is_unread) std::fprintf(stderr, "warpbit: %s\n", error.what());
    return kNoAnswer;
  }
}
