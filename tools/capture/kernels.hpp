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
//   probes 90ec...                the set of the statement's probes, if it has any: it stands above
//   constant e 44444444           what every item of a member is when they are recorded, in hex; else 0
//   place c c 32 0                where code `c` of a probe lies: in member c, its 32 bits from bit 0 of a case
//   on places a a 16 0 16 256 ...    the same of the elements of `a`; a second line is of a copy of them ptx 43
//   as many lines follow
//
//   set 90ec...                   begins the inputs of probes
//   probe F 25, not 24: ...       begins one, which has this name
//   codes a 0:3c00 3:bc00         its elements of `a` that are not 0, in hex
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

/// Inputs of one dot product, as the layout `elements` has them; what is not here is 0.
struct Probe {
  struct Code {
    std::string array;
    std::uint64_t index, value;
  };
  std::string name;
  std::vector<Code> codes;
};
struct ProbeSet {
  std::string name;
  std::vector<Probe> probes;
};

/// Where the codes of an array of a probe lie, in bits from the beginning of a case of a member.
struct Places {
  std::string member, array;
  bool is_vector = false;  ///< the array has a second axis
  int bits = 0;            ///< of a code
  std::vector<std::uint64_t> at;

  int item_bytes() const { return bits <= 8 ? 1 : bits / 8; }
};
struct Constant {
  std::string member;
  std::uint64_t value = 0;
};

struct Kernel {
  std::string form, statement, file, ptx;
  std::uint32_t lanes = 0;            ///< 1 for an instruction of each thread
  std::vector<KernelMember> members;  ///< in the order of the kernel's parameters; the last one is the result

  std::string probes = {};  ///< the name of their set; empty: none
  std::vector<Constant> constants = {};
  std::vector<Places> places = {};

  const KernelMember& result() const { return members.back(); }
  /// In how many cases every register of a conversion's sources goes through all of its values; 0 if there are
  /// more than 2^32, or it is no conversion.
  std::uint64_t all_inputs() const {
    int bits = 0;
    for (const KernelMember& member : members)
      if (!member.fills.empty()) bits = member.register_bits > bits ? member.register_bits : bits;
    return lanes == 1 && bits <= 32 ? std::uint64_t{1} << bits : 0;
  }
  /// nullptr if there is none.
  const KernelMember* find(const std::string& name) const {
    for (const KernelMember& member : members)
      if (member.name == name) return &member;
    return nullptr;
  }
  /// Of an array of probes, the first; nullptr if there is none.
  const Places* places_of(const std::string& array) const {
    for (const Places& one : places)
      if (one.array == array) return &one;
    return nullptr;
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
  std::vector<ProbeSet> sets = {};

  /// The probes of a kernel; nullptr if it has none.
  const ProbeSet* probes_of(const Kernel& kernel) const {
    for (const ProbeSet& set : sets)
      if (set.name == kernel.probes) return &set;
    return nullptr;
  }
};

/// Throws Failure, which names the line.
KernelFile read_kernels(const std::string& path);

}  // namespace capture
