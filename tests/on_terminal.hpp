// SPDX-License-Identifier: Apache-2.0
// What programs show on a terminal.
#pragma once

#include <pty.h>  // forkpty
#include <sys/wait.h>
#include <unistd.h>

#include <regex>

#include "tool.hpp"

namespace tool {

// What a command of the shell shows on a terminal that wide.
inline Output on_terminal(unsigned short columns, const std::string& command) {
  winsize size{};
  size.ws_col = columns;
  size.ws_row = 24;
  int fd = -1;
  const pid_t child = forkpty(&fd, nullptr, nullptr, &size);
  REQUIRE(child >= 0);
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  Output out{-1, "", ""};
  char part[4096];
  for (ssize_t n = 0; (n = ::read(fd, part, sizeof part)) > 0;)
    out.out.append(part, static_cast<std::size_t>(n));
  ::close(fd);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  out.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return out;
}

// What is left to see of it: no colours, and of a line that was written over the last text.
inline std::string seen(const std::string& text) {
  return std::regex_replace(text, std::regex("\033\\[[0-9;]*[mK]|[^\n\r]*\r(?!\n)|\r"), "");
}

}  // namespace tool
