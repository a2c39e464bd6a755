// SPDX-License-Identifier: Apache-2.0
// What warpbit launch shows of the steps of a kernel: a trace, the first execution of a line.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::cli {

/// As the command line has them; empty: not given.
struct WatchArguments {
  std::string trace;     ///< "WARP" or "X,Y,Z:WARP"
  std::string break_at;  ///< "LINE" of the PTX, or "FILE:LINE" by .loc
};

/// The index of a block, X, X,Y or X,Y,Z, as the option `where` has it in `whole`. Refuses other texts.
device::Index3 block_index(const std::string& where, const std::string& whole, std::string_view block,
                           std::string_view accepted);

/// The lines of a statement in its source, the kernel's body first: [{"function", "file", "line"}].
nlohmann::ordered_json chain_json(const std::vector<SourceLink>& chain);

/// One row a lane: what a statement has read, and what it has written.
Table lanes_table(const ptx::Observation& seen);
/// The statements of "LINE" of the PTX, or "FILE:LINE" of the source. Refuses a line that has none.
std::vector<ptx::CodeLine> find_lines(const std::string& text, const ptx::Function& kernel,
                                      const ptx::Launch& how);

/// The watch of one launch. Refuses a line without a statement.
class LaunchWatch {
 public:
  LaunchWatch(const WatchArguments& arguments, const ptx::Function& kernel, const ptx::Launch& how, bool json);

  /// The launch calls the watch at each step. Precondition: the watch outlives the launch.
  void follow(ptx::Launch& how);
  /// Whether a trace is printed while the kernel runs.
  bool prints_steps() const { return !arguments_.trace.empty() && !json_; }
  /// Whether the line to break at was given, and never executed.
  bool missed() const { return !arguments_.break_at.empty() && !reached_; }
  bool reached() const { return reached_.has_value(); }

  /// What stands before the report.
  void print_break() const;
  /// Adds the members "trace" and "break", of those that were asked for.
  void add_to(nlohmann::ordered_json& answer) const;

 private:
  bool take(const ptx::Observation& seen);
  const std::vector<SourceLink>& chain_of(int line) const;
  void print_source(int line);
  std::string where() const;

  const WatchArguments& arguments_;
  bool json_;
  device::Index3 block_;
  int warp_ = 0;
  std::vector<ptx::CodeLine> lines_, stops_;  // all statements; those to break at
  std::string source_;                        // of the last step that was printed
  std::vector<ptx::Observation> trace_;
  std::optional<ptx::Observation> reached_;
};

}  // namespace warpbit::cli
