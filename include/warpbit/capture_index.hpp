// SPDX-License-Identifier: Apache-2.0
// Indexes of captures: what a folder of them is evidence of, without reading it again. The index of golden/ and
// golden-digests/ is part of the library (golden/index.tsv).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "warpbit/capture.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// One capture. What its provenance does not say is "-".
struct IndexedCapture {
  std::string path;       ///< from where the index was made
  std::string statement;  ///< the form in the manual's spelling, and the operands as the file has them
  std::string target;
  std::string layout, source;  ///< as name() prints them
  std::string profile;         ///< of the inputs; "probes" where the cases have names
  std::uint64_t cases = 0, elements = 0;
  std::string date, device;

  friend bool operator==(const IndexedCapture&, const IndexedCapture&) = default;
};

/// The captures among files and in folders, in ascending order of their paths, which begin as they are given
/// here. Errors: those of files and of decoding; no_cases where there is no capture.
Result<std::vector<IndexedCapture>> index_captures(std::span<const std::filesystem::path> paths,
                                                   const ReadOptions& options = {});

/// An index as text: a heading and a line for each capture, fields separated by tabs.
std::string index_text(std::span<const IndexedCapture> captures);

/// The captures of golden/ and golden-digests/, by the index that the library was built with.
const std::vector<IndexedCapture>& golden_captures();

/// Those of them that are of an instruction's form (with any operands) and show what it computes on its target:
/// recorded on a GPU with the target's number, whose letter (a, f) changes which instructions there are, not
/// what they compute.
std::vector<const IndexedCapture*> golden_captures(const Instruction& instruction);

}  // namespace warpbit
#pragma GCC visibility pop
