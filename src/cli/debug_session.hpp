// SPDX-License-Identifier: Apache-2.0
// warpbit debug: a place in a launch, and the commands that move it and show it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/launch_setup.hpp"
#include "warpbit/debug.hpp"

namespace warpbit::cli {

using Words = std::vector<std::string>;

/// Where to stop.
struct DebugBreakpoint {
  std::string text;                  ///< as it was typed
  std::vector<ptx::CodeLine> lines;  ///< at these
  std::string opcode;                ///< without them: "mma", at statements whose name begins so
  DebugPredicate holds;              ///< without both: at these statements
  std::optional<int> warp;
  std::uint64_t hits = 1;  ///< at every nth time
};

class DebugSession {
 public:
  /// Refuses what cannot be launched at all.
  explicit DebugSession(LoadedLaunch& loaded);

  /// One line that somebody has typed. False at the end.
  bool obey(const std::string& line);
  /// Whether it has refused a line.
  bool has_refused() const { return has_refused_; }
  /// What stands at the place, as after each move.
  void show_place() const;

  // What the commands do, by name; each refuses words that it does not know.
  void help(const Words& words);
  void set_break(const Words& words);
  void delete_break(const Words& words);
  void info(const Words& words);
  void go_on(const Words& words);
  void step(const Words& words);
  void line(const Words& words);
  void other_warp(const Words& words);
  void barrier(const Words& words);
  void back(const Words& words);
  void go_to(const Words& words);
  void warps(const Words& words);
  void select_warp(const Words& words);
  void print_value(const Words& words);
  void registers(const Words& words);
  void matrix(const Words& words);
  void shared(const Words& words);
  void array(const Words& words);
  void stored(const Words& words);
  void made(const Words& words);
  void mbarriers(const Words& words);
  void waits(const Words& words);
  void pending(const Words& words);
  void tensor(const Words& words);
  void set(const Words& words);
  void list(const Words& words);

 private:
  void move(const DebugPredicate& holds, bool is_back, std::string_view what);
  void move_to(std::uint64_t step);
  bool is_at(const DebugBreakpoint& one, const ptx::Observation& seen) const;
  const DebugWarp& warp() const;
  LaunchArray& array_of(const std::string& command, const Words& words) const;
  void show_block(std::string_view table) const;
  void set_register(const Words& words);
  DebugBreakpoint parse_break(Words& words);
  void show_break(std::size_t i) const;
  void list_shared() const;
  const ptx::CodeLine* code_line(int line) const;
  std::string source_of(int line) const;
  DebugPredicate of_warp() const;

  LoadedLaunch& loaded_;
  Debugger debugger_;
  std::vector<ptx::CodeLine> lines_;
  std::vector<ptx::SharedVariable> variables_;
  std::vector<DebugBreakpoint> breaks_;
  DebugState at_;
  int warp_ = 0;
  bool has_refused_ = false;
  std::string before_;  // the last line that was obeyed: an empty one repeats it
};

}  // namespace warpbit::cli
