// SPDX-License-Identifier: Apache-2.0
// The folder of a recording: data files and lines, written by a thread in the order in which they are given, so that a
// line comes behind the data that it names. The thread begins with the first of them, in the process that gives it.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "hash.hpp"
#include "json.hpp"

namespace warpbit::record {

/// Counts, for people: what was recorded and what was left out.
struct Tally {
  std::atomic<std::uint64_t> launches{0}, products{0}, copies{0}, bytes{0};  // bytes: of data files
  std::map<std::string, std::uint64_t> left_out;
};

class Writer {
 public:
  /// Takes the folder, or where another process has it FOLDER.2, FOLDER.3 and so on. False if there is none to be had.
  bool open(const std::string& folder, const std::string& status) {
    show_in(status);
    for (int i = 1; i <= 4096 && lines_ < 0; ++i) {
      folder_ = i == 1 ? folder : folder + "." + std::to_string(i);
      if (mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST) return false;
      lines_ = ::open((folder_ + "/recording.jsonl").c_str(),
                      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0666);
      if (lines_ < 0 && errno != EEXIST) return false;
    }
    if (lines_ < 0 || (mkdir((folder_ + "/data").c_str(), 0777) != 0 && errno != EEXIST)) return false;
    start();
    return true;
  }

  /// The name of the file that has these bytes. It is written unless there is one already.
  std::string data(const void* bytes, std::size_t size, const char* suffix = "") {
    const std::string name = hex_of(hash_of(bytes, size)) + suffix;
    std::unique_lock lock(mutex_);
    if (!known_.insert(name).second) return name;
    tally.bytes += size;
    room_.wait(lock, [&] { return queued_ < kMostQueued; });
    queued_ += size;
    busy_ = true;
    jobs_.push_back({name, std::string(static_cast<const char*>(bytes), size)});
    more_.notify_one();
    return name;
  }

  void line(std::string text) {
    const std::lock_guard lock(mutex_);
    busy_ = true;
    jobs_.push_back({"", std::move(text) + "\n"});
    more_.notify_one();
  }

  bool has_failed() const { return failed_; }
  const std::string& folder() const { return folder_; }

  void left_out(const std::string& why, std::uint64_t count = 1) {
    const std::lock_guard lock(mutex_);
    tally.left_out[why] += count;
  }

  /// Waits until everything is written, `seconds` at most. Takes no lock: signal handlers call it.
  void drain(int seconds) const {
    for (int i = 0; i < seconds * 1000 && busy_; ++i) {
      const timespec pause{0, 1000000};
      nanosleep(&pause, nullptr);
    }
  }

  /// A folder for the counts, which are written once a second.
  void show_in(const std::string& status) {
    if (!status.empty()) status_ = status + "/" + std::to_string(getpid());
  }

  /// Writes the rest, and ends the thread.
  void finish() {
    if (!thread_.joinable()) {
      const std::lock_guard lock(mutex_);
      if (!tally.left_out.empty()) write_status();
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
      more_.notify_one();
    }
    thread_.join();
    close(lines_);
    lines_ = -1;
  }

  Tally tally;

 private:
  struct Job {
    std::string name, bytes;  // no name: a line
  };

  static constexpr std::size_t kMostQueued = std::size_t{512} << 20;

  // Signals are for the threads of the program, from the first moment on: a fatal one waits for this thread (drain), so it
  // must not come to it. A thread begins with the mask of the one that makes it.
  void start() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    thread_ = std::thread([this] { work(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (jobs_.empty()) {
        busy_ = false;
        write_status();
        if (done_) return;
        more_.wait_for(lock, std::chrono::seconds(1), [&] { return done_ || !jobs_.empty(); });
        busy_ = !jobs_.empty();
        continue;
      }
      busy_ = true;
      Job job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      if (!failed_) failed_ = !write(job);
      lock.lock();
      if (!job.name.empty()) queued_ -= job.bytes.size();
      room_.notify_all();
    }
  }

  bool write(const Job& job) const {
    if (job.name.empty()) return write_all(lines_, job.bytes);
    const int file =
        ::open((folder_ + "/data/" + job.name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const bool written = file >= 0 && write_all(file, job.bytes);
    return (file < 0 || close(file) == 0) && written;
  }

  static bool write_all(int file, const std::string& bytes) {
    std::size_t at = 0;
    while (at < bytes.size()) {
      const ssize_t count = ::write(file, bytes.data() + at, bytes.size() - at);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      at += static_cast<std::size_t>(count);
    }
    return true;
  }

  // With the lock. A file that is there whole or not at all.
  void write_status() {
    if (status_.empty()) return;
    JsonObject reasons;
    for (const auto& [why, count] : tally.left_out) reasons.add(why, count);
    const std::string text = JsonObject()
                                 .text("folder", folder_)
                                 .add("launches", tally.launches.load())
                                 .add("products", tally.products.load())
                                 .add("copies", tally.copies.load())
                                 .add("bytes", tally.bytes.load())
                                 .add("failed", failed_ ? "true" : "false")
                                 .add("left_out", reasons.str())
                                 .str();
    if (text == shown_) return;
    shown_ = text;
    const int file = ::open((status_ + ".new").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) return;
    const bool written = write_all(file, text);
    close(file);
    if (written) std::rename((status_ + ".new").c_str(), (status_ + ".json").c_str());
  }

  std::string folder_, status_, shown_;
  int lines_ = -1;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable more_, room_;
  std::deque<Job> jobs_;
  std::set<std::string> known_;
  std::size_t queued_ = 0;
  std::atomic<bool> busy_{false}, failed_{false};
  bool done_ = false;
};

}  // namespace warpbit::record
