// SPDX-License-Identifier: Apache-2.0
// From where in the source of a kernel a statement comes.
#pragma once

#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace warpbit {

/// A line of a function. A statement that came by inlining, or by calls, has several: that of the kernel's body, where a function
/// is called, then that of this function, and so on to the one that has the statement itself.
struct SourceLink {
  std::string function;  ///< "Tile<128>::get"; empty if the module does not say
  std::string file;
  int line = 0;
  /// Other lines that may be meant in place of `line`: a function was inlined at each of them, and the debug information does
  /// not tell of copies by an unrolled loop at which one. Empty of nearly all.
  std::vector<int> or_lines = {};
  friend bool operator==(const SourceLink&, const SourceLink&) = default;
};

}  // namespace warpbit
#pragma GCC visibility pop
