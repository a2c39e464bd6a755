// SPDX-License-Identifier: Apache-2.0
// What the launches of a process reach: arrays that have an address, and the arguments of one launch.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grid/memory.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::ptx {

/// The arrays that `address` has named, with their addresses.
std::vector<std::pair<std::uint64_t, std::span<std::byte>>> named_arrays();

#pragma GCC visibility push(default)  // warpbit's other libraries use it
/// What a launch may write, without parts that are there twice: arrays of its arguments, memory that is placed, arrays that have an
/// address. Variables of the module are not among it.
std::vector<std::span<std::byte>> writable_memory(const Launch& how, std::span<const Argument> arguments);

/// What that memory holds, to be put back.
class KeptMemory {
 public:
  KeptMemory(const Launch& how, std::span<const Argument> arguments);
  void restore() const;

 private:
  std::vector<std::pair<std::span<std::byte>, std::vector<std::byte>>> kept_;
};

/// What a kernel may write to by an argument; empty for others.
std::span<std::byte> written_array(const Argument& argument);
#pragma GCC visibility pop

/// The memory of one launch.
class LaunchMemory {
 public:
  LaunchMemory(const grid::GlobalMemory& variables, std::size_t parameters);
  std::optional<Error> set(const Parameter& parameter, const Argument& argument);
  std::optional<Error> place(const PlacedMemory& part);
  grid::GlobalMemory& memory() { return memory_; }
  std::span<std::byte> parameters() { return bytes_; }

 private:
  std::uint64_t reach(std::span<const std::byte> array, bool writable, const std::string& name);
  std::uint64_t reach_unwritten(std::span<std::byte> array, const std::string& name);

  grid::GlobalMemory memory_;
  std::deque<grid::ZeroBytes> defined_;  // of arrays that begin without a value
  std::vector<std::byte> bytes_;
  std::uint64_t next_constant_;  // where the next array that is only read begins
};

}  // namespace warpbit::ptx
