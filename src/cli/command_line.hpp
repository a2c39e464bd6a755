// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace warpbit::cli {

/// Runs the command that the arguments name, the first of them behind argv[0]. Prints to stdout and stderr of C, throws
/// nothing, does not end the process. Returns the exit status (kYes, kNo, kNoAnswer in commands.hpp).
int run_command_line(int argc, char** argv) noexcept;

}  // namespace warpbit::cli
