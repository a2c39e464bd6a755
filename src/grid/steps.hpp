// SPDX-License-Identifier: Apache-2.0
// What steps do. Each takes its places as its comment says: the result first.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "grid/program.hpp"
#include "kernel/move.hpp"

namespace warpbit::grid::steps {

/// Of a lane.
struct CompressedVectors {
  std::vector<std::uint32_t> metadata, elements, dense;
};

// ---- compute.cpp
Next compute(Warp& warp, Path& path, const Step& step,
             Lanes lanes);  ///< d, second or carry, sources; extra: operation
Next move(Warp& warp, Path& path, const Step& step, Lanes lanes);  ///< d, -, a
Next move_128(Warp& warp, Path& path, const Step& step, Lanes lanes);
Next logic_predicates(Warp& warp, Path& path, const Step& step,
                      Lanes lanes);  ///< d, -, a, b; extra: 0 and, 1 or, 2 xor, 3 not
/// What it makes of two.
inline Lanes combined(const Step& step, Lanes a, Lanes b) {
  const std::array<Lanes, 4> all = {a & b, a | b, a ^ b, ~a};
  return all[static_cast<std::size_t>(step.extra)];
}
Next pack(Warp& warp, Path& path, const Step& step, Lanes lanes);    ///< d; extra: places of the parts
Next unpack(Warp& warp, Path& path, const Step& step, Lanes lanes);  ///< -, -, a; extra: places of the parts
Next decompress(Warp& warp, Path& path, const Step& step,
                Lanes lanes);  ///< target: places, of which the first access.count are results; extra: of
                               ///< Program::compressions
/// What a lane reads there: its metadata and its elements; `read` says what is in a place.
template <class Read>
CompressedVectors compressed_vectors(const Program& program, const Step& step, Read read) {
  const std::vector<Place>& all = program.places[static_cast<std::size_t>(step.target)];
  const ptx::Compression& of = program.compressions[static_cast<std::size_t>(step.extra)];
  CompressedVectors out;
  const std::size_t dense = step.access.count,
                    metadata = static_cast<std::size_t>((of.from * of.index * of.number + 31) / 32);
  for (std::size_t i = dense; i < all.size(); ++i)
    (i < dense + metadata ? out.metadata : out.elements).push_back(static_cast<std::uint32_t>(read(all[i])));
  out.dense.resize(dense);
  return out;
}
Next frame_address(Warp& warp, Path& path, const Step& step,
                   Lanes lanes);                                    ///< d, -, offset in the call's local memory
Next clock(Warp& warp, Path& path, const Step& step, Lanes lanes);  ///< d

/// What a step does, however it is noted or executed.
inline Run what_runs(const Step& step) {
  return step.specification != nullptr ? step.specification : step.noted != nullptr ? step.noted : step.run;
}

/// Whether all lanes of the warp are here, where they must be: else the path waits.
Next meet_aligned(Warp& warp, Path& path, const Step& step, Lanes lanes);
/// What all lanes of a warp must execute waits for the rest of them; those that are not there, or have ended, are a fault.
Next need_all(Warp& warp, Path& path, Lanes lanes);

// ---- vector.cpp: as Step::specification, all lanes at once
Next vector(Warp& warp, Path& path, const Step& step, Lanes lanes);
Next vector_carry(Warp& warp, Path& path, const Step& step, Lanes lanes);
Next vector_set(Warp& warp, Path& path, const Step& step, Lanes lanes);
Next vector_reduce(Warp& warp, Path& path, const Step& step, Lanes lanes);
Next vector_shuffle(Warp& warp, Path& path, const Step& step, Lanes lanes);
Next vector_vote(Warp& warp, Path& path, const Step& step, Lanes lanes);
Next vector_setp(Warp& warp, Path& path, const Step& step, Lanes lanes);
Next vector_pack(Warp& warp, Path& path, const Step& step, Lanes lanes);
Next vector_unpack(Warp& warp, Path& path, const Step& step, Lanes lanes);

// ---- access.cpp
Next load(Warp& warp, Path& path, const Step& step,
          Lanes lanes);  ///< -, -, address; extra: places of the elements
Next store(Warp& warp, Path& path, const Step& step,
           Lanes lanes);  ///< -, -, address; extra: places of the elements
Next discard(Warp& warp, Path& path, const Step& step, Lanes lanes);  ///< -, -, address
Next fill(Warp& warp, Path& path, const Step& step,
          Lanes lanes);  ///< -, -, address; extra: the place of the size
/// One of the two, or a vector kernel that does the same. `places`: those of the elements.
Run access(const Step& step, const std::vector<Place>& places, bool loads);
/// copy_async where nothing is unusual; nothing if it is left to the specification, before anything is done.
std::optional<Next> copy_async_at_once(Warp& warp, Path& path, const Step& step, Lanes lanes);
Next copy_async(Warp& warp, Path& path, const Step& step,
                Lanes lanes);  ///< -, -, to, from, source size, ignored
Next commit_group(Warp& warp, Path& path, const Step& step, Lanes lanes);
Next wait_group(Warp& warp, Path& path, const Step& step,
                Lanes lanes);  ///< target: pending groups; -1: wait_all

// ---- atomics.cpp
Next atomic(Warp& warp, Path& path, const Step& step,
            Lanes lanes);  ///< d, -, address, a, b; extra: operation; target: kind
Next atomic_vector(Warp& warp, Path& path, const Step& step,
                   Lanes lanes);  ///< -, -, address; extra: operation; target: places of old values, of addends
Next atomic_128(Warp& warp, Path& path, const Step& step, Lanes lanes);  ///< d, -, address, a, b; target: kind

// ---- addresses.cpp
Next to_generic(Warp& warp, Path& path, const Step& step, Lanes lanes);  ///< d, -, a
Next from_generic(Warp& warp, Path& path, const Step& step, Lanes lanes);
Next is_space(Warp& warp, Path& path, const Step& step, Lanes lanes);         ///< p, -, a
Next map_address(Warp& warp, Path& path, const Step& step, Lanes lanes);      ///< d, -, a, rank
Next rank_of_address(Warp& warp, Path& path, const Step& step, Lanes lanes);  ///< d, -, a
Next allocate_on_stack(Warp& warp, Path& path, const Step& step,
                       Lanes lanes);  ///< d, -, bytes; access.offset: alignment
Next save_stack(Warp& warp, Path& path, const Step& step, Lanes lanes);     ///< d
Next restore_stack(Warp& warp, Path& path, const Step& step, Lanes lanes);  ///< -, -, a

// ---- control.cpp
Next nothing(Warp& warp, Path& path, const Step& step, Lanes lanes);
Next branch(Warp& warp, Path& path, const Step& step, Lanes lanes);          ///< target
Next branch_indexed(Warp& warp, Path& path, const Step& step, Lanes lanes);  ///< -, -, index; extra: table
Next call(Warp& warp, Path& path, const Step& step, Lanes lanes);  ///< -, -, address of a function; extra: call
Next go_back(Warp& warp, Path& path, const Step& step, Lanes lanes);
Next exit(Warp& warp, Path& path, const Step& step, Lanes lanes);
Next trap(Warp& warp, Path& path, const Step& step, Lanes lanes);
Next barrier(
    Warp& warp, Path& path, const Step& step,
    Lanes lanes);  ///< d, -, number, threads, predicate; access.count: reduction; target: kWaits, kAligned

// ---- mbarrier.cpp
Next mbarrier(Warp& warp, Path& path, const Step& step,
              Lanes lanes);  ///< d, -, address, count, bytes or state; extra: of AsyncTables::mbarriers
Next cluster_arrive(Warp& warp, Path& path, const Step& step, Lanes lanes);  ///< target: kOrders, kAligned
Next cluster_wait(Warp& warp, Path& path, const Step& step, Lanes lanes);    ///< likewise
Next fence_mbarrier_init(Warp& warp, Path& path, const Step& step, Lanes lanes);
Next fence_proxy(Warp& warp, Path& path, const Step& step, Lanes lanes);
inline constexpr std::int32_t kSequential = 1;
Next fence_memory(Warp& warp, Path& path, const Step& step,
                  Lanes lanes);  ///< access.order; target: kSequential of fence.sc
Next set_registers(Warp& warp, Path& path, const Step& step, Lanes lanes);  ///< target: count; extra: 1 if more

// ---- bulk.cpp
Next bulk(Warp& warp, Path& path, const Step& step, Lanes lanes);  ///< extra: of AsyncTables::bulks
Next bulk_commit(Warp& warp, Path& path, const Step& step, Lanes lanes);
inline constexpr std::int32_t kReadsOnly = 1;
Next bulk_wait(Warp& warp, Path& path, const Step& step,
               Lanes lanes);  ///< target: pending groups; extra: kReadsOnly of .read
/// Lanes end, and with them the groups that they have not waited for.
void end_copies(Warp& warp, const Step& step, Lanes lanes);

// ---- launch_control.cpp: what the response to a request for a cluster says
Next is_canceled(Warp& warp, Path& path, const Step& step,
                 Lanes lanes);  ///< -, -, response; extra: the place of the result
Next first_block(Warp& warp, Path& path, const Step& step,
                 Lanes lanes);  ///< likewise: of one result or four; target: 0 x, 1 y, 2 z, the first

// ---- tensor_maps.cpp
Next check_map(Warp& warp, Path& path, const Step& step, Lanes lanes);   ///< -, -, address; target: coordinates
Next change_map(Warp& warp, Path& path, const Step& step, Lanes lanes);  ///< extra: of AsyncTables::maps

// ---- textures.cpp
Next texture(
    Warp& warp, Path& path, const Step& step,
    Lanes
        lanes);  ///< -, -, handle, layer and coordinates; extra: the places of the results; target: of Program::textures

// ---- surfaces.cpp
Next surface(
    Warp& warp, Path& path, const Step& step,
    Lanes lanes);  ///< -, -, handle, layer and coordinates; extra: the places of the elements; target: of
                   ///< Program::surfaces
Next surface_query(Warp& warp, Path& path, const Step& step, Lanes lanes);  ///< d, -, handle; target: likewise

// ---- system.cpp
/// A function that a device has without a definition, and the bytes of its results and parameters.
struct SystemFunction {
  std::string_view name;
  Run run;  ///< extra: call
  std::span<const std::int64_t> returns, parameters;
  bool uses_heap = false;
};
/// vprintf, malloc, free, __assertfail; nullptr for other names.
const SystemFunction* system_function(std::string_view name);

// ---- freedom.cpp
/// Has a step noted when it is executed.
void note(Step& step);
Next noted(Warp& warp, Path& path, const Step& step, Lanes lanes);

// ---- lanes.cpp: lanes together
Next sync_warp(Warp& warp, Path& path, const Step& step, Lanes lanes);  ///< -, -, mask
Next shuffle(Warp& warp, Path& path, const Step& step, Lanes lanes);    ///< d, p, a, b, c, mask; extra: mode
/// The lane that is read, and whether it lies in the segment; beyond it, the lane itself.
enum class Shuffle : std::int32_t { up, down, butterfly, index };
struct Shuffled {
  int lane;
  bool inside;
};
Shuffled shuffled(Shuffle mode, int lane, int b, int c);
Next vote(Warp& warp, Path& path, const Step& step, Lanes lanes);    ///< d, -, a, mask; extra: mode
Next match(Warp& warp, Path& path, const Step& step, Lanes lanes);   ///< d, p, a, mask; extra: 0 any, 1 all
Next reduce(Warp& warp, Path& path, const Step& step, Lanes lanes);  ///< d, -, a, mask; extra: operation
Next active_mask(Warp& warp, Path& path, const Step& step, Lanes lanes);  ///< d
Next elect(Warp& warp, Path& path, const Step& step, Lanes lanes);        ///< d, p, mask

// ---- tensor.cpp
Next tensor(Warp& warp, Path& path, const Step& step,
            Lanes lanes);  ///< extra: instruction; target: places of its registers
/// The matrix move that a step is; nullptr of others.
const Move* matrix_move(const Program& program, const Step& step);
/// Four warps at one instruction.
struct Gathered {
  Warp* warp;
  Path* path;
  const Step* step;
};
Next tensor_group(std::span<const Gathered> warps);
Next control(Warp& warp, Path& path, const Step& step,
             Lanes lanes);  ///< fences, groups and waits of asynchronous products; extra: instruction

// ---- tensor_memory.cpp: tcgen05
/// Finds the steps that use registers of a tcgen05.ld on some way before a tcgen05.wait::ld, and has them noted.
void find_early_uses(Program& program);
/// A warp is about to do such a step. False after a fault.
bool use_load(Warp& warp, const Path& path, const Step& step);
Next tensor_memory(Warp& warp, Path& path, const Step& step,
                   Lanes lanes);  ///< extra: instruction; target: places of its registers

/// Whether an ldmatrix, whose rows begin there, takes the tiles of tensor copies for what they are. False after a fault.
bool takes_tiles(Warp& warp, const Step& step, std::span<const std::int64_t> rows);

// ---- tensor_slots.cpp
/// `places`: of the instruction's registers; those of different registers are different.
TensorPlan tensor_plan(const Instruction& instruction, std::span<const Place> places);
inline constexpr std::size_t kMaxProducts = 64;  ///< of a run
/// Finds the runs of products among the steps from `first` on, and gives them to their first steps.
void find_product_runs(Program& program, std::size_t first);
/// A tensor instruction of a warp; nothing if it is left to the general case, before anything is done.
std::optional<Next> tensor_slots(Warp& warp, Path& path, const Step& step, Lanes lanes);
/// The same of four warps.
std::optional<Next> tensor_group_slots(std::span<const Gathered> warps);

/// Of a barrier: bits of its target.
inline constexpr int kWaits = 1, kAligned = 2, kOrders = 4;
enum class Vote : std::int32_t { all, any, uniform, ballot };
/// Of memory: exchange, compare-and-swap, increment and decrement have no scalar operation.
enum class Atomic : std::int32_t { operation, exchange, compare, increment, decrement };

}  // namespace warpbit::grid::steps
