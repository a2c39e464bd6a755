// SPDX-License-Identifier: Apache-2.0
// The arrays of a capture, which its instruction and layout determine (src/capture/FORMAT.md, "Layouts").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/capture.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit {

inline constexpr std::string_view kMemory = "smem", kMemoryAfter = "smem_out", kBefore = "d_in";

/// Extents that a file chooses.
inline constexpr std::int64_t kCases = -1, kDepth = -2, kBlocks = -3, kBytes = -4;

/// One array of a capture.
struct CaptureArray {
  enum class Holds {
    operand,
    before,  ///< the destination before the instruction, where it is the accumulator
    memory,
    memory_after,
  };
  std::string name;
  Holds holds = Holds::operand;
  const Operand* operand = nullptr;  ///< of `before` the destination, of memory none
  std::size_t item_bytes = 1;
  std::vector<std::int64_t> shape;  ///< kCases first
  std::size_t source = 0;           ///< of a source operand: which of them

  bool is_result() const {
    return holds == Holds::memory_after || (holds == Holds::operand && operand->is_destination());
  }
};

/// All arrays: the source operands in the order of the statement, the destination before the instruction, memory,
/// and the result as the last. The instruction must outlive them. Precondition: not the layout `digests`.
std::vector<CaptureArray> members_of(const Instruction& instruction, CaptureLayout layout);

/// True if D is the accumulator, too.
bool accumulates_in_place(const Instruction& instruction);

/// The lines of a statement's block (tools/capture/kernels.hpp): the set of its probes, and where their codes lie in
/// the members of its capture; none if it has no probes.
std::string probe_lines(const Instruction& statement);

}  // namespace warpbit
