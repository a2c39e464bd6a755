// SPDX-License-Identifier: Apache-2.0
// warpbit debug
#include "warpbit/debug.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "cli/arguments.hpp"
#include "cli/debug_adapter.hpp"
#include "cli/debug_session.hpp"
#include "cli/terminal.hpp"

namespace warpbit::cli {
namespace {

struct DebugArguments {
  LaunchSetup setup;
  std::string block;
  std::vector<std::string> commands;
  bool is_adapter = false;
};

// "1", "1,0" or "1,0,2": numbers from 0 on.
device::Index3 parse_block(const std::string& text) {
  unsigned all[3] = {};
  std::size_t at = 0;
  for (unsigned& one : all) {
    if (at > text.size()) break;
    const std::size_t end = std::min(text.find(',', at), text.size());
    const auto read = number<unsigned>(text.substr(at, end - at));
    if (!read) refuse("--in", fmt::format("'{}'", text), "the numbers of a block, as in 1,0,0");
    one = *read;
    at = end + 1;
  }
  if (at <= text.size()) refuse("--in", fmt::format("'{}'", text), "one to three numbers, as in 1,0,0");
  return {all[0], all[1], all[2]};
}

int debug(const DebugArguments& o) {
  LoadedLaunch loaded(o.setup);
  if (!o.block.empty()) loaded.how.observed_block = parse_block(o.block);
  if (o.is_adapter) {
    DebugAdapter(loaded, o.setup.file, std::cin, std::cout).serve();
    return kYes;
  }
  DebugSession session(loaded);
  session.show_place();
  const bool asks = ::isatty(STDIN_FILENO) != 0 && terminal().is_one;
  bool goes_on = std::ranges::all_of(o.commands, [&](const std::string& line) { return session.obey(line); });
  for (std::string line; goes_on;) {
    if (asks) fmt::print("(warpbit) "), std::fflush(stdout);
    goes_on = std::getline(std::cin, line) && session.obey(line);
  }
  return session.has_refused() && !asks ? kNoAnswer : kYes;
}

}  // namespace

void add_debug(CLI::App& command, int& status) {
  DebugArguments& o = add_arguments(command, status, debug);
  o.setup.add_to(command);
  command
      .add_option("--in", o.block,
                  "the block whose statements are followed: X, X,Y or X,Y,Z; the first unless given")
      ->type_name("BLOCK");
  command.add_option("--do", o.commands, "a line that is obeyed before those of the standard input")
      ->type_name("LINE")
      ->allow_extra_args(false);
  command
      .add_flag("--dap", o.is_adapter,
                "speak the Debug Adapter Protocol on the standard input and output, as editors do")
      ->excludes("--do");
  command.footer(
      "Lines of the standard input are obeyed one by one; help lists them. A launch is the same each time, so that it goes "
      "back as well as forwards. The exit status is 2 if a line of a session without a terminal is refused.\n" +
      examples(
          {"printf '%s\\n' '.version 8.0' '.target sm_90' '.address_size 64' '.entry f(.param .u64 x) { ret; }' "
           ">f.ptx && warpbit debug f.ptx --arg null --do step --do quit",
           "warpbit debug f.ptx --arg null --do help --do quit"}));
}

}  // namespace warpbit::cli
