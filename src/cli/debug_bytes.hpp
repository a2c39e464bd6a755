// SPDX-License-Identifier: Apache-2.0
// Bytes of a launch as people name them: an element of an array, a part of shared memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/launch_setup.hpp"
#include "warpbit/debug.hpp"

namespace warpbit::cli {

struct DebugBytes {
  std::span<std::byte> memory = {};  ///< of an array; empty: of shared memory
  std::uint64_t address = 0;         ///< in that
  std::uint64_t bytes = 0;
  std::string type = {};  ///< of an element: "f32"; of shared memory that of its variable, or u32

  /// Statements that write some of them.
  DebugPredicate is_written() const;
};

/// Types of elements in memory, with their bytes.
struct MemoryType {
  std::string_view name;
  std::size_t bytes;
};
/// Refuses another one.
MemoryType parse_memory_type(const std::string& where, std::string_view name);

/// The type of an array's elements, as value_text takes it.
std::string type_of(const LaunchArray& array);
/// The array of a parameter, by its name or by its number from 0 on. Refuses another one.
LaunchArray& parse_array(const std::string& where, std::string_view name, LoadedLaunch& loaded);

/// A place in shared memory: "0x40", "As", "As+0x40".
struct SharedPlace {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  ///< of its variable behind it; 0: it is none's, or nobody knows
  std::string type = {};    ///< that of the variable's elements, or u32
};
SharedPlace parse_shared(const std::string& where, std::string_view text,
                         std::span<const ptx::SharedVariable> variables);

/// "C", "C[17]" (by the order in memory), "C[3,5]", "shared As+0x40" (a word), "shared As+0x40:16" (16 bytes).
DebugBytes parse_bytes(const std::string& where, std::string_view text, LoadedLaunch& loaded,
                       std::span<const ptx::SharedVariable> variables);

}  // namespace warpbit::cli
