// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>  // STDERR_FILENO

#include <initializer_list>

#include "cli/command_line.hpp"

namespace {

// A file that is opened later must not get the number of a standard stream that is closed, and messages with it.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) == -1) ::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  return warpbit::cli::run_command_line(argc, argv);
}
