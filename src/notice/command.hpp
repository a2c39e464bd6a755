// SPDX-License-Identifier: Apache-2.0
// Running the command of a test, with its own environment and a limit of time.
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace warpbit::noticing {

/// A new folder, which goes with what is in it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct Ended {
  enum class How { exited, not_found, out_of_time } how = How::exited;
  int status = 0;  ///< the exit status, or 128 + the signal
  double seconds = 0;
};

struct HowToRun {
  bool first_failure = false;               ///< pytest ends there
  double limit = 0;                         ///< in seconds; 0: none. Its end ends all processes of the command
  const std::atomic<bool>* stop = nullptr;  ///< when it is set, as at the end of the time
  bool shows = false;  ///< what it prints is shown as it comes; else it goes to `folder`/output
};
/// Runs a command with the variable of test processes; pytest keeps its cache in the folder.
Ended run_command(std::span<const std::string> command, const std::filesystem::path& folder, HowToRun how);

}  // namespace warpbit::noticing
