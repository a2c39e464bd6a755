// SPDX-License-Identifier: Apache-2.0
// A process of a test that `warpbit notice` runs: it writes down what it launches, and may have a mistake in one module.
//
//     WARPBIT_NOTICE=folder    mutant          what to change, of which module; not there in the first run
//                              modules/KEY     texts of modules, written by the first run
//                              events          a line of JSON for each thing that happened, of all processes: "module", "planted",
//                                              "launch" (grid/twin_launch.hpp), "source": a launch of a kernel in source
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// A mistake: a part of a module's text, and what stands there instead.
struct PlantedMistake {
  std::string module;  ///< its key
  std::size_t at = 0, length = 0;
  std::string text;
  std::string target;  ///< of the changed text

  nlohmann::json json() const;
  /// Nothing if it is no such object.
  static std::optional<PlantedMistake> read(const nlohmann::json& from);
};

class TestProcess {
 public:
  /// This process; nullptr if no test is watched.
  static const TestProcess* self();

  /// While one lives, self() is nullptr in this thread: for launches that are no part of the test, but look for something.
  class Unwatched {
   public:
    Unwatched();
    ~Unwatched();
    Unwatched(const Unwatched&) = delete;
  };

  /// What to plant; nothing in the first run.
  const std::optional<PlantedMistake>& mistake() const { return mistake_; }
  /// Adds a line to the events. What cannot be written is not there for the reader, who says so.
  void write(const nlohmann::json& event) const;
  /// Keeps the text of a module.
  void keep(const std::string& key, std::string_view text) const;

  static constexpr const char *kVariable = "WARPBIT_NOTICE", *kMistake = "mutant", *kModules = "modules",
                              *kEvents = "events";

 private:
  explicit TestProcess(std::filesystem::path folder);
  std::filesystem::path folder_;
  std::optional<PlantedMistake> mistake_;
};

/// The same for equal texts on equal targets.
std::string module_key(std::string_view text, std::string_view target);

}  // namespace warpbit
#pragma GCC visibility pop
