// SPDX-License-Identifier: Apache-2.0
// What is wrong in kernels, for places where code is reviewed: as a file of SARIF (Static Analysis Results Interchange Format
// 2.1.0, OASIS), and as annotations of a pull request (the workflow commands of GitHub Actions).
//
//     std::vector<Remark> all = ptx::remarks(report);             // of a launch
//     std::ofstream("kernels.sarif") << sarif(all, review_root());
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "warpbit/fault.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// A line that a remark is about.
struct RemarkPlace {
  std::string file;       ///< as the compiler wrote it: absolute, or from the folder that it was called in
  int line = 0;           ///< from 1 on; 0: the whole file
  int column = 0;         ///< from 1 on; 0: the whole line
  std::string what = {};  ///< "the earlier write", "PTX"; empty for the first place of a remark

  friend bool operator==(const RemarkPlace&, const RemarkPlace&) = default;
};

/// One thing that is wrong, or that a reader should know.
struct Remark {
  std::string rule;      ///< "data_race": the name of a rule of kernels, of an error, or of a kind of mistakes
  std::string sentence;  ///< what that is, of any kernel
  Grade grade = Grade::finding;
  std::string message;      ///< all of it, in lines
  std::string kernel = {};  ///< as people write it: "Tile<128>::get"; or empty
  std::vector<RemarkPlace> at =
      {};  ///< the statement: the innermost line first, those that it was inlined into, then its PTX
  std::vector<RemarkPlace> others = {};  ///< the other sides
  std::uint64_t times = 1;

  friend bool operator==(const Remark&, const Remark&) = default;
};

/// A fault as a remark. `ptx_file`: the file of its module; empty if it was none.
Remark remark(const Fault& fault, Grade grade, const std::string& ptx_file = {});

/// Adds remarks of the same rule at the same place to one another: `times` are their sum, the first message is kept.
std::vector<Remark> merged(std::vector<Remark> all);

/// The nearest folder above the current one that has a .git; without one the current folder.
std::filesystem::path review_root();

/// The place of a remark that a reader of the files below `root` should see, as a launch tells it: of the lines that are in such a
/// file the one that the message begins with, that of the kernel, or the first one that was inlined into it; without one its PTX,
/// if that is such a file; else what the remark has. nullptr if no place has a file.
const RemarkPlace* shown_place(const Remark& of, const std::filesystem::path& root);

/// The remarks as one run of SARIF, in UTF-8. Files below `root` are named from there on, with the base %SRCROOT%; others as
/// file:// URIs. Faults are of the level "error", findings "warning", notes "note".
std::string sarif(std::span<const Remark> all, const std::filesystem::path& root);

/// A line for each rule and place, by which GitHub Actions marks the line of a file: "::error file=gemm.cu,line=12,title=...::...". A
/// remark whose file is not below `root` has no place.
std::string annotations(std::span<const Remark> all, const std::filesystem::path& root);

/// In a test that `warpbit findings` runs, adds a remark to those of its launches; elsewhere nothing happens.
void add_remark(const Remark& one);

}  // namespace warpbit
#pragma GCC visibility pop
