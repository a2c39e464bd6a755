// SPDX-License-Identifier: Apache-2.0
// Which mistakes a test is tried with: those of all statements of the kernels that it launches, and some of them.
#pragma once

#include <map>
#include <set>
#include <string>
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

/// A mistake, and what plants it.
struct Candidate {
  Mistake mistake;
  PlantedMistake planted;
  bool is_executed = false;
};

struct Choice {
  std::vector<Candidate> chosen;
  std::size_t possible = 0;
  std::size_t statements = 0, executed = 0;
};

/// Mistakes that can be loaded: of each kind about as many, in an order that the seed makes.
Choice choose(const std::vector<SeenModule>& modules, const NoticeOptions& options);

}  // namespace warpbit::noticing
