// SPDX-License-Identifier: Apache-2.0
// The variables of a kernel: the bytes that each has, and which one an address is in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "grid/warp.hpp"

namespace warpbit::grid {

struct Grid;

/// An address without its window, and without the rank of its block: the place of the byte in its space.
std::uint64_t place_in_space(const Access& access, std::uint64_t address);

/// The bytes of the variable in which those of a step must lie, by their place in its space. Nothing: it is not known, or
/// nobody asks.
struct Bounds {
  std::uint64_t first, bytes;
  bool hold(std::uint64_t at, std::uint64_t count) const {
    return count <= bytes && at - first <= bytes - count;
  }
};
std::optional<Bounds> bounds_of(Warp& warp, const Path& path, const Access& access);

/// Whether a lane's bytes lie in the variable of their step, or the block goes on all the same. False after a fault.
bool lies_in_variable(Warp& warp, const Path& path, const Step& step, int lane, std::uint64_t at,
                      std::uint64_t bytes);

/// Whether a lane's bytes of local memory lie in a variable of a function that it is in, or the block goes on all the same. False
/// after a fault.
bool lies_in_local_variable(Warp& warp, const Path& path, const Step& step, int lane, std::uint64_t at,
                            std::uint64_t bytes);

/// The variable of .shared that has a byte, by its name in the source.
struct SharedVariable {
  std::string name;
  std::uint64_t first, bytes;
};
/// Nothing if there is none, and for arrays whose size the launch gives.
std::optional<SharedVariable> shared_variable(const Program& program, std::uint64_t byte);
/// "As + 0xe00": the variable of .shared that has a byte; empty if there is none, and of arrays whose size the launch gives.
std::string name_of_shared(const Program& program, std::int64_t byte);
/// The name of a variable in its source, without what it is part of: "As" of "_ZZ4gemmPfE2As".
std::string source_name(std::string_view symbol);

/// The error of bytes that lie in no array of global memory.
Error beyond_global(const Grid& grid, std::uint64_t address, std::uint64_t bytes);
/// The error of a pointer to other memory that is used as an address in a space.
/// "address 0x100 (byte 4 of the array of 'a'), which is none of .shared memory,".
std::string in_another_space(const Grid& grid, ptx::StateSpace space, std::uint64_t address);
Error of_another_space(const Grid& grid, ptx::StateSpace space, std::uint64_t address);
/// Whether no constant lies at an address, and the kernel says of no parameter that it is a pointer to some.
bool is_beyond_constants(const Grid& grid, std::uint64_t address);

}  // namespace warpbit::grid
