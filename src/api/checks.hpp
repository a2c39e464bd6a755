// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "kernel/tile.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/state.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// An instruction and what is given with it do not fit: view_mismatch, or another code.
Error mismatch(const Instruction& instruction, std::string seen, std::string accepted,
               Errc code = Errc::view_mismatch);

/// The body that computes a tile by a kernel; null where the specification does.
const Body* body_for(const Tile& tile, Kernel kernel);

/// Refuses an instruction with inferred arithmetic if the options do not allow it.
Result<void> check_basis(const Instruction& instruction, const ExecuteOptions& options);

/// Refuses metadata that the manual leaves undefined if the options do not allow it.
Result<void> check_metadata(const Instruction& instruction, const Tile& tile, const OperandView& e,
                            std::size_t cases, const ExecuteOptions& options);

/// Computes a case of a dense tile without scale factors and memory, whose operands are registers: D, A, B and C, each as
/// [lane][register] without gaps; D may be C. False if the kernel has nothing for it. Nothing is checked.
bool run_dense(const Tile& tile, Kernel kernel, std::byte* d, const std::byte* a, const std::byte* b,
               const std::byte* c);
/// The same of `rows` fragments of A with each of `columns` of B, one after the other; D, which is C, is
/// [row][lane][column][register].
bool run_dense_all(const Tile& tile, Kernel kernel, int rows, int columns, const std::byte* a,
                   const std::byte* b, std::byte* d);
/// Whether the kernels have something for that: m16n8, D and C of f32.
bool can_run_all(const Tile& tile);
/// True if the tile is such a one.
bool is_dense_tile(const Instruction& instruction);

/// Ascending lanes as text: "3, 7-9".
std::string ranges(const std::vector<int>& lanes);

/// The kernel that the options select. Errors: no_such_kernel.
Result<Kernel> kernel_for(const ExecuteOptions& options);

/// The views of a tile's operands: `sources` in the order of the statement.
TileViews tile_views(const Instruction& instruction, std::span<const OperandView> sources);
/// The same for a product of a warpgroup; `before` is D, if it is added.
TileViews warpgroup_views(const Instruction& instruction, const WarpgroupSources& sources,
                          std::span<const std::byte> memory, const OperandView& before);

/// The bytes of a matrix in shared memory, ascending.
std::vector<ByteRange> described_ranges(const Descriptor& descriptor, const DescribedMatrix& matrix);

/// What a product reads in shared memory by its descriptors, by each lane. Precondition: one of a warpgroup.
std::vector<Effects::MemoryRead> described_reads(const Instruction& instruction,
                                                 const WarpgroupSources& sources);

/// Whether kernels may compute a product of a warpgroup with D where warps have their registers.
bool may_run_in_registers(const Instruction& instruction);
/// Whether this kernel has something for one of those, and execute_warpgroup would not refuse the sources.
bool can_run_in_registers(const Instruction& instruction, Kernel kernel, const WarpgroupSources& sources,
                          std::span<const std::byte> memory, const ExecuteOptions& options);
/// Then computes it. The lanes of register r of warp w of D, which has n, are at registers[w n + r].
void run_in_registers(const Instruction& instruction, Kernel kernel, const WarpgroupSources& sources,
                      std::span<const std::byte> memory, std::uint32_t* const* registers);

}  // namespace warpbit
#pragma GCC visibility pop
