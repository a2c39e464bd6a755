// SPDX-License-Identifier: Apache-2.0
#include "assembler.hpp"

#include <fcntl.h>  // O_WRONLY
#include <spawn.h>
#include <stdlib.h>  // mkdtemp
#include <sys/wait.h>
#include <unistd.h>  // environ

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

#include "driver.hpp"

namespace capture {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "capture_XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) throw Failure(path_ + ": no temporary folder");
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

struct Output {
  int status;
  std::string text;
};

// Runs a program; its standard output and error go to `log`.
Output run(const std::vector<std::string>& words, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failure = posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failure != 0 || waitpid(child, &status, 0) != child) throw Failure(words[0] + ": cannot be run");
  return {status, content(log)};
}

}  // namespace

Assembler::Assembler(std::string program, std::string architecture)
    : program_(std::move(program)), architecture_(std::move(architecture)) {
  if (program_.empty()) throw Failure("ptxas: not found in PATH; WARPBIT_PTXAS may name it");
  const Folder folder;
  const std::string text = run({program_, "--version"}, folder / "log").text;
  std::smatch found;
  version_ =
      "ptxas " + (std::regex_search(text, found, std::regex("V[0-9.]+")) ? found.str() : "of unknown version");
  if (run({program_, "--help"}, folder / "log").text.find("'" + architecture_ + "'") == std::string::npos)
    throw Failure(program_ + " (" + version_ + ") does not know " + architecture_);
}

Code Assembler::assemble(const std::string& ptx) const try {
  const Folder folder;
  std::ofstream(folder / "kernel.ptx") << ptx;
  const Output said = run(
      {program_, "-arch", architecture_, folder / "kernel.ptx", "-o", folder / "kernel.cubin"}, folder / "log");
  if (said.status == 0) return {content(folder / "kernel.cubin"), ""};
  if (const std::optional<std::string> older = with_known_version(ptx, said.text); older && *older != ptx)
    return assemble(*older);
  return {"", said.text.empty() ? "ptxas failed and said nothing" : said.text};
} catch (const std::exception& error) {
  return {"", error.what()};
}

Ahead::Ahead(std::size_t count, unsigned threads, std::function<Code(std::size_t)> work)
    : work_(std::move(work)), done_(count), lead_(std::size_t{8} * std::max(threads, 1U)) {
  for (unsigned i = 0; i < std::max(threads, 1U); ++i) threads_.emplace_back([this] { run(); });
}

Ahead::~Ahead() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Ahead::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopped_ || next_ == done_.size() || next_ < taken_ + lead_; });
    if (stopped_ || next_ == done_.size()) return;
    const std::size_t i = next_++;
    lock.unlock();
    Code code = work_(i);
    lock.lock();
    done_[i] = std::move(code);
    changed_.notify_all();
  }
}

Code Ahead::take(std::size_t i) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_[i].has_value(); });
  Code out = std::move(*done_[i]);
  done_[i] = Code{};
  taken_ = i + 1;
  changed_.notify_all();
  return out;
}

}  // namespace capture
