// SPDX-License-Identifier: Apache-2.0
// A kernel at a glance: what its lines have executed, moved and multiplied, and what the warps of a block waited for, as a
// picture. All of it is counted; nothing in it is time.
//
//     line  statement                 steps    conflicts  sectors   ...        bars, the longest one of each column full
//       52  ld.global.u32 ...         128 ==   -          512/64
//       57  bar.sync 0                128 ==   -          -
//
//     warp 0  ======......       ======         = executes, . waits, \ lets it go on
//     warp 1        ======\......
//                          across: statements of the block, in warpbit's order
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/ptx.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit::ptx {

/// What is counted of a line, as a column of a table.
struct CountColumn {
  std::string_view name;           ///< "executed", as warpbit launch --json has it
  std::string_view heading, unit;  ///< "global", "bytes"
  std::uint64_t Counts::*count;
  std::uint64_t Counts::*least = nullptr;  ///< as few of them as would do; nullptr: nothing is known of that
  bool is_loss = false;                    ///< all of them are more than would do
};
/// All of them but the lanes, in the order of a table.
std::span<const CountColumn> count_columns();
/// "1,536", with a least "512/64", "-" for none; from ten million on "12.3 M".
std::string text(const CountColumn& column, const Counts& of);
/// The lanes that were active on average: "32.0", "16.5"; "-" if nothing was executed.
std::string lanes_text(const Counts& of);

/// What a picture shows.
struct ProfilePicture {
  std::string title;              ///< "gemm: 16 blocks of 32 threads"
  std::vector<LineCounts> lines;  ///< Report::profile
  Timeline timeline;              ///< Report::timeline
  /// Of a launch that has not come to its end, why: "line 57: ..."; all is up to there.
  std::string ended_by = {};
  int fault_line = 0;  ///< of the module's text, at which it faulted: its rows are framed; 0: none
};

/// A picture, an XML document in UTF-8, for light and dark backgrounds. Of many lines it has those with most of what is counted,
/// of many statements columns, and of many arrows some; it says so.
std::string profile_svg(const ProfilePicture& of);
/// Writes that picture; the file is complete or untouched. Errors: file_unwritable.
Result<void> write_profile_svg(const std::filesystem::path& path, const ProfilePicture& of);

/// The lines of a statement in its source: that of its function's body, and those that were inlined there. Files are without their
/// folders, and stand where they change: "gemm.cu:45 > 22".
std::string source_text(std::span<const SourceLink> chain);

}  // namespace warpbit::ptx
#pragma GCC visibility pop
