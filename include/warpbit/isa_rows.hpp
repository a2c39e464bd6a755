// SPDX-License-Identifier: Apache-2.0
// The instructions that kernels may have, as a table (doc/isa.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace warpbit {

/// Forms of a chapter of the PTX manual that are alike in what they need and what they rest on.
struct IsaRow {
  std::string chapter;  ///< "integer arithmetic"
  std::string forms;    ///< patterns, by blanks: {a,b} is one of these, $name one of IsaSet
  std::string targets;  ///< their names, or the first one "and later"
  /// The version of PTX, and those of words that have another one: "7.1, acquire 8.0"; empty: as old as the target.
  std::string since;
  /// How many of the forms a GPU has executed: "12 of 16"; of tensor instructions: on which targets.
  std::string recorded;
  std::string open;  ///< what the manual leaves open of the others, or why none is executed; empty: nothing
};
/// By chapter, scalar instructions first.
std::vector<IsaRow> isa_rows();

/// Words that patterns have by a name.
struct IsaSet {
  std::string_view name;   ///< "rnd"
  std::string_view words;  ///< ".rn,.rz,.rm,.rp"; an empty one may be absent
};
std::vector<IsaSet> isa_sets();

}  // namespace warpbit
#pragma GCC visibility pop
