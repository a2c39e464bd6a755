// SPDX-License-Identifier: Apache-2.0
#include "notice/command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>

#include "test_process.hpp"
#include "threads.hpp"

namespace warpbit::noticing {

namespace fs = std::filesystem;

Folder::Folder() {
  std::string name = (fs::temp_directory_path() / "warpbit-notice-XXXXXX").string();
  if (::mkdtemp(name.data()) != nullptr) path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

namespace {

constexpr int kNotFound = 127;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> environment(const fs::path& folder, bool first_failure) {
  const char* const options = std::getenv("PYTEST_ADDOPTS");
  const std::string added[] = {
      fmt::format("{}={}", TestProcess::kVariable, folder.string()), "PYTHONDONTWRITEBYTECODE=1",
      fmt::format("PYTEST_ADDOPTS={} -o cache_dir={}{}", options == nullptr ? "" : options,
                  (folder / "cache").string(), first_failure ? " -x" : "")};
  std::vector<std::string> out(std::begin(added), std::end(added));
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view name = std::string_view(*one).substr(0, std::strcspn(*one, "="));
    if (std::ranges::none_of(added, [&](const std::string& other) {
          return other.size() > name.size() && other.starts_with(name) && other[name.size()] == '=';
        }))
      out.emplace_back(*one);
  }
  return out;
}

// The child, between fork and exec: nothing here takes memory.
[[noreturn]] void become(char** argv, char** variables, int output) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  if (output >= 0) {
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
  }
  ::execvpe(argv[0], argv, variables);
  ::_exit(kNotFound);
}

}  // namespace

Ended run_command(std::span<const std::string> command, const fs::path& folder, HowToRun how) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::string> words(command.begin(), command.end()),
      variables = environment(folder, how.first_failure);
  std::vector<char*> argv = pointers(words), envp = pointers(variables);
  const int output =
      how.shows ? -1 : ::open((folder / "output").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const auto begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const std::atomic<bool>* const stop = stop_flag();
  const pid_t child = ::fork();
  if (child == 0) become(argv.data(), envp.data(), output);
  if (output >= 0) ::close(output);
  if (child < 0) return {Ended::How::not_found, errno, 0};
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    const auto is_set = [](const std::atomic<bool>* one) { return one != nullptr && *one; };
    const bool is_late = how.limit > 0 && seconds() > how.limit;
    if (is_late || is_set(stop) || is_set(how.stop)) {
      ::kill(-child, SIGKILL);
      ::waitpid(child, &status, 0);
      end_if(stop);
      return {Ended::How::out_of_time, 128 + SIGKILL, seconds()};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code == kNotFound ? Ended::How::not_found : Ended::How::exited, code, seconds()};
}

}  // namespace warpbit::noticing
