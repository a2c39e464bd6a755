// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "warpbit/capture.hpp"
#include "warpbit/inputs.hpp"
#include "warpbit/replay.hpp"

namespace warpbit {

/// A capture of the layout `digests`, checked.
struct LoadedDigests {
  CaptureHeader header;
  Instruction instruction;
  InputChoice choice;
  DigestBlocks blocks;
  Array digests;  ///< uint64, one for each block
  std::vector<std::string> notes;
};

/// Errors: those of decoding and of files.
Result<LoadedDigests> load_digests(const CaptureReader& reader, const ReplayOptions& options);

/// Elements of the result of one case. Precondition: digests() takes the instruction.
std::uint64_t elements_of_case(const Instruction& instruction);

/// Writes the ordinary capture of a block, with results as computed here; makes the folder if there is none.
/// Errors: file_unwritable; those of generated_capture.
Result<void> write_block(const LoadedDigests& file, std::uint64_t block, const std::filesystem::path& path,
                         const ExecuteOptions& options);

}  // namespace warpbit
