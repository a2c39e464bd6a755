// SPDX-License-Identifier: Apache-2.0
// A process of a test that `warpbit notice` runs: it writes down what it launches, and may have a mistake in one module, or in one
// call of a kernel in source.
//
//     WARPBIT_NOTICE=folder    mutant          what to change, of which module or call; not there in the first run
//                              modules/KEY     texts of modules, written by the first run
//                              events          a line of JSON for each thing that happened, of all processes: "module", "planted",
//                                              "launch" (grid/twin_launch.hpp); "source" and "call", of a launch of a kernel in
//                                              source and of what it calls (device/twin.hpp)
#pragma once

#include <cstddef>
#include <cstdint>
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

/// A mistake in a kernel in source (warpbit/device.hpp): what becomes of one of its calls.
struct PlantedCall {
  enum class Change : std::uint8_t {
    left_out,   ///< a product leaves D = C; a test of a barrier object is true at once
    statement,  ///< `text` in place of the call's
    one_more,   ///< of its number: the groups that may be pending, the lane or the delta of a shuffle
    toggled,    ///< the lowest bit of its number: a parity, or the byte of `operand`
    exchanged,  ///< the first two registers of `operand`
    added,      ///< C is added to the product of A and B by the thread
    further,    ///< an access, by one element
    target,     ///< of a launch, no call: it runs on `text` in place of the target `call`
  };
  std::string file;
  unsigned line = 0;
  std::string call;  ///< a statement, or its beginning: "cp.async.wait_group 1"
  Change change = Change::left_out;
  std::size_t operand = 0;  ///< of the instruction
  std::string text;

  nlohmann::json json() const;
  /// Nothing if it is no such object.
  static std::optional<PlantedCall> read(const nlohmann::json& from);
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

  /// What to plant in a module or in a call; nothing in the first run.
  const std::optional<PlantedMistake>& mistake() const { return mistake_; }
  const std::optional<PlantedCall>& call() const { return call_; }
  bool is_first_run() const { return !mistake_ && !call_; }
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
  std::optional<PlantedCall> call_;
};

/// The same for equal texts on equal targets.
std::string module_key(std::string_view text, std::string_view target);

}  // namespace warpbit
#pragma GCC visibility pop
