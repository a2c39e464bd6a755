// SPDX-License-Identifier: Apache-2.0
// What a descriptor reads, and what looks wrong about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/descriptor.hpp"
#include "warpbit/instruction.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

enum class DescriptorIssue {
  ignored_bits,      ///< bits are set that have no effect
  newer_descriptor,  ///< bits are set as in the descriptors of newer GPUs (tcgen05)
  ignored_leading,   ///< there is an LBO, and it is not used
  misaligned_start,  ///< it begins within the swizzle's repeat, with a base offset of 0
  exchanged,         ///< LBO and SBO exchanged would be the canonical layout
  bytes_for_units,   ///< some fields hold bytes where 16-byte units belong
  read_twice,        ///< several elements share bytes
  out_of_bounds,     ///< it reads bytes beyond shared memory
};
/// The name of an issue as it is spelled above.
std::string_view name(DescriptorIssue issue);

/// An issue of one descriptor.
struct DescriptorFinding {
  DescriptorIssue issue;
  std::string message;  ///< one sentence with the numbers and the probable intent
};

/// The most shared memory of a multiprocessor whose instructions have such descriptors (CUDA programming
/// guide).
inline constexpr std::uint64_t kMostSharedBytes = 233472;  // 228 KiB

/// What a descriptor is for in this instruction: a factor in shared memory, `factor` being Part::left_factor or
/// Part::right_factor. A bare form stands for both places of A. `transposed` is instead of the instruction's
/// imm-trans. Errors: operand_kind where there is no descriptor, or no transposition.
Result<DescribedMatrix> described_matrix(const Instruction& instruction, Part factor,
                                         std::optional<bool> transposed = std::nullopt);

/// What looks wrong, by issue. A finding that explains why bytes are read twice or out of bounds stands for
/// those. A layout that is possible but unusual may be found, too.
std::vector<DescriptorFinding> check_descriptor(std::uint64_t descriptor, const DescribedMatrix& matrix,
                                                std::uint64_t shared_bytes = kMostSharedBytes);

}  // namespace warpbit
#pragma GCC visibility pop
