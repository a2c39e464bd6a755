// SPDX-License-Identifier: Apache-2.0
// What may have become of one statement, a row each: how its text changes, and what that means.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arbiter/solve.hpp"
#include "assembler/defects.hpp"
#include "edit/code.hpp"

namespace warpbit::arbiter {

/// What hypotheses look at beside the statement.
struct Evidence {
  const Code& code;
  std::span<const Slice> slices;  ///< of some wrong elements; at least one
  const Solutions& solutions;
  /// Numbers at which the wrong elements begin and end.
  const std::set<std::uint64_t>& bounds;
};

/// A statement as it may have been.
struct Candidate {
  Edit edit;
  std::string sentence;  ///< "with 7 in place of 5"
};

struct Hypothesis {
  std::string_view name;
  Ruling ruling;
  void (*add)(const Evidence&, int site, std::vector<Candidate>&);
};
/// All of them; the likely ones first.
std::span<const Hypothesis> hypotheses();

/// A statement of which the assembler is known to make what the manual does not say, and texts that do the same.
struct KnownDefect {
  const assembler::DefectRow* row;
  int site;
  std::vector<std::string> imitations;  ///< for `whole`; empty: there is none
};
/// Those of all functions of the module.
std::vector<KnownDefect> known_defects(const Code& code);
/// Statements with a defect, and what each may have become.
using Imitated = std::vector<std::pair<const KnownDefect*, std::string>>;
/// What to imitate at once: all of them, those of each defect, each alone.
std::vector<Imitated> sets_of(const std::vector<KnownDefect>& all);

}  // namespace warpbit::arbiter
