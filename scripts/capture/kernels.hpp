// SPDX-License-Identifier: Apache-2.0
// The kernels file, as `warpbit list --ptx` prints it.
//
//   kernels 1                     the version of this format
//   target sm_90a
//   form mma.sync...              begins a block
//   statement mma.sync... {d}, {a}, {b}, {c};
//   file mma/mma_sync...          where its capture lies, without .npz
//   lanes 32
//   member a 4 32 32 4            name, bytes of an item, bits of a register, extents of one case
//   fill operand=1 lanes=32 ...   how registers of the member above are filled; several lines fill all of it
//   result d 4 32 32 4            the same for what the kernel writes
//   ptx 43                        as many lines follow
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "warpbit/inputs/member.hpp"

namespace capture {

/// A member of a capture, for one case.
struct KernelMember {
  std::string name;
  int item_bytes = 0, register_bits = 0;
  std::vector<std::uint64_t> extents;          ///< without the cases
  std::vector<warpbit::inputs::Member> fills;  ///< none of the result

  std::uint64_t bytes() const {
    std::uint64_t out = static_cast<std::uint64_t>(item_bytes);
    for (const std::uint64_t extent : extents) out *= extent;
    return out;
  }
  /// Registers of a case, each of which a digest takes as a whole.
  std::uint64_t registers() const { return 8 * bytes() / static_cast<std::uint64_t>(register_bits); }
};

struct Kernel {
  std::string form, statement, file, ptx;
  std::uint32_t lanes = 0;            ///< 1 for an instruction of each thread
  std::vector<KernelMember> members;  ///< in the order of the kernel's parameters; the last one is the result

  const KernelMember& result() const { return members.back(); }
  /// In how many cases every register of a conversion's sources goes through all of its values; 0 if there are
  /// more than 2^32, or it is no conversion.
  std::uint64_t all_inputs() const {
    int bits = 0;
    for (const KernelMember& member : members)
      if (!member.fills.empty()) bits = member.register_bits > bits ? member.register_bits : bits;
    return lanes == 1 && bits <= 32 ? std::uint64_t{1} << bits : 0;
  }
  /// Of one case, all members.
  std::uint64_t bytes() const {
    std::uint64_t out = 0;
    for (const KernelMember& member : members) out += member.bytes();
    return out;
  }
};

struct KernelFile {
  std::string target;
  std::vector<Kernel> kernels;
};

/// Throws Failure, which names the line.
KernelFile read_kernels(const std::string& path);

}  // namespace capture
