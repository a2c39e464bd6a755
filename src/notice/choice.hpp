// SPDX-License-Identifier: Apache-2.0
// Which mistakes a test is tried with: those of all statements of the kernels that it launches and of all calls of those in source,
// and some of them.
#pragma once

#include <array>
#include <compare>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "edit/code.hpp"
#include "test_process.hpp"
#include "warpbit/notice.hpp"
#include "warpbit/target.hpp"

namespace warpbit::noticing {

/// A module that the test loads, as its first run has shown it.
struct SeenModule {
  std::string key, text, target, file;
  std::set<std::string> kernels;  ///< that were launched
  std::set<int> lines;            ///< that were executed
};

/// A call of a kernel in source, as the first run has shown it.
struct SeenCall {
  std::string file;
  int line = 0;
  std::string call, target;

  friend auto operator<=>(const SeenCall&, const SeenCall&) = default;
};

/// What a test launches.
struct Seen {
  std::vector<SeenModule> modules;
  std::set<SeenCall> calls;
};

/// A mistake, and what plants it.
struct Candidate {
  Mistake mistake;
  std::variant<PlantedMistake, PlantedCall> planted;
  bool is_executed = false;
};

struct Choice {
  std::vector<Candidate> chosen;
  std::size_t possible = 0;
  std::size_t statements = 0, executed = 0;
};

/// Mistakes that can be loaded: of each kind about as many, in an order that the seed makes.
Choice choose(const Seen& seen, const NoticeOptions& options);

/// All those in calls that are wanted. Counts the calls as statements.
std::vector<Candidate> candidates_of(const std::set<SeenCall>& calls, const NoticeOptions& options,
                                     Choice& counts);

/// The kind of mistakes that are of a whole module, or of a launch.
inline constexpr std::string_view kTarget = "target";
/// Generations whose tensor cores and conversions compute otherwise.
inline constexpr std::array kGenerations = {"sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120"};
bool is_wanted(const NoticeOptions& options, std::string_view kind);
/// Whether "gemm.cu:40" is a line of the source, whose path ends so.
bool is_line(const std::string& wanted, const std::string& file, int line);
/// In one line, without the last semicolon.
std::string flat(const std::string& text);
/// The line of a source file without the blanks around it; empty if it cannot be read.
std::string line_of(const SourceLink& at);

}  // namespace warpbit::noticing
