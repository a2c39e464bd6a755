// SPDX-License-Identifier: Apache-2.0
#include "worker.hpp"

#include <fcntl.h>  // O_CLOEXEC
#include <sys/wait.h>
#include <unistd.h>  // fork, pipe2, read, write

#include <cstdio>
#include <exception>

#include "driver.hpp"

namespace capture {
namespace {

constexpr int kThrew = 2;

// In the new process.
[[noreturn]] void be_worker(std::size_t first, const Worker& work, int to) {
  int status = 0;
  try {
    work(first, [to](Outcome outcome) {
      if (write(to, &outcome, 1) != 1) throw Failure("nobody hears what was done");
    });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "capture: %s\n", error.what());
    status = kThrew;
  }
  std::fflush(stdout);
  _exit(status);
}

}  // namespace

bool in_processes(std::size_t count, const Worker& work,
                  const std::function<void(std::size_t, Outcome)>& heard) {
  for (std::size_t next = 0; next < count;) {
    int ends[2];
    std::fflush(stdout);
    if (pipe2(ends, O_CLOEXEC) != 0) throw Failure("no pipe");
    const pid_t child = fork();
    if (child < 0) throw Failure("no process");
    if (child == 0) {
      close(ends[0]);
      be_worker(next, work, ends[1]);
    }
    close(ends[1]);
    const std::size_t first = next;
    for (Outcome outcome; read(ends[0], &outcome, 1) == 1;) heard(next++, outcome);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    const int exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (exit_status == kThrew) return false;
    // One that ends by itself has done a task at least.
    if (next < count && (exit_status != 0 || next == first)) heard(next++, Outcome::none);
  }
  return true;
}

}  // namespace capture
