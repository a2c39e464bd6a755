// SPDX-License-Identifier: Apache-2.0
// ptxas, as a program of its own.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace capture {

/// What became of a module: a cubin, or what was said against it.
struct Code {
  std::string cubin, refusal;
  bool ok() const { return refusal.empty(); }
};

class Assembler {
 public:
  /// For -arch. Throws Failure if the program is not there (an empty name) or does not know it.
  Assembler(std::string program, std::string architecture);

  /// "ptxas V13.0.88"
  const std::string& version() const { return version_; }
  /// Any thread may ask. Throws nothing; what went wrong is the refusal.
  Code assemble(const std::string& ptx) const;

 private:
  std::string program_, architecture_, version_;
};

/// Makes work(0), work(1), ..., which throw nothing, on several threads, a bounded number of them ahead of
/// take().
class Ahead {
 public:
  Ahead(std::size_t count, unsigned threads, std::function<Code(std::size_t)> work);
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;
  ~Ahead();

  /// work(i), for i = 0, 1, ... in this order.
  Code take(std::size_t i);

 private:
  void run();

  std::function<Code(std::size_t)> work_;
  std::vector<std::optional<Code>> done_;
  std::size_t next_ = 0, taken_ = 0, lead_;
  bool stopped_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
};

}  // namespace capture
