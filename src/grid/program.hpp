// SPDX-License-Identifier: Apache-2.0
// A function of a module, ready to be run: steps over numbered slots. The registers of a warp lie in slots of 32 lanes
// by 4 bytes:
//
//     slot    0            1            2       3
//             %r1          %rd1                 %h4
//             u32[32]      u64[32]              u32[32], upper halves 0
//
// Predicates are masks of 32 lanes, one word each. Constants and what does not change in a warp (%tid.x, addresses of
// variables) lie in slots of their own, so that every source is a slot.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "assembler/rules.hpp"
#include "block/strong.hpp"
#include "grid/async_tables.hpp"
#include "grid/stacks.hpp"
#include "grid/stores.hpp"
#include "grid/vector.hpp"
#include "ptx/compression.hpp"
#include "ptx/forms.hpp"
#include "ptx/module.hpp"
#include "ptx/special.hpp"
#include "scalar/operation.hpp"
#include "texture/surface.hpp"
#include "warpbit/detail/texture.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/target.hpp"

namespace warpbit {
struct Tile;
}

namespace warpbit::grid {

using Lanes = std::uint32_t;  ///< a mask
inline constexpr int kLanes = 32;
inline constexpr Lanes kAllLanes = 0xFFFF'FFFF;
/// How many lanes there are. Without an instruction that counts bits, which not all processors have, that is a call.
inline int lanes_in(Lanes lanes) {
  return lanes == kAllLanes ? kLanes : std::popcount(lanes);
}
template <class F>
void for_each_lane(Lanes lanes, F f) {
  for (int lane = 0; lane < kLanes; ++lane)
    if ((lanes >> lane & 1) != 0) f(lane);
}

/// What the system keeps of a block's shared memory from sm_80 on (CUDA C++ Programming Guide, "Shared Memory"). It is there,
/// at the beginning, for kernels that ask where it is: there an H100 has it. Of others the own bytes begin at 0.
inline constexpr std::uint64_t kReservedShared = 1024;

struct Step;
struct Path;
class Warp;

/// What a step does to its path.
enum class Next : std::uint8_t {
  step,   ///< the next one follows
  moved,  ///< it has set the path's pc itself, or split the path
  wait,   ///< the path cannot go on yet: the same step again, later
  end,    ///< lanes have ended, or a fault has
  again,  ///< the same step again, at once: from now on undefined bits are followed
  pause,  ///< the turn of the warp is over: the same step in its next one
};
using Run = Next (*)(Warp& warp, Path& path, const Step& step, Lanes lanes);

/// Of a step that accesses memory.
struct Access {
  ptx::StateSpace space = ptx::StateSpace::global;
  bool generic = false;
  bool sign_extends = false;
  bool strong = false;    ///< an atomic, or with an order (PTX manual, "Strong Operations")
  block::Strength order;  ///< of a strong one, or of a fence
  bool noftz = false;     ///< of an atomic addition of f32: global memory flushes nothing
  bool before_cas =
      false;  ///< a load that is no strong one, whose value an atom.cas is compared with (cas_loops.hpp)
  bool is_replaced =
      false;  ///< a load that is no strong one, to whose address a store of its function goes (early_reads.hpp)
  bool polls = false;  ///< a jump back to strong loads and atomics, of a loop that has nothing else
  bool ends_by_looks =
      false;             ///< of a jump that polls: nothing else ends the loop, no count of rounds and no clock
  bool is_data = false;  ///< a strong load whose value is used, and decides nothing (polls.hpp)
  bool non_coherent = false;  ///< ld.global.nc
  bool may_be_late = false;   ///< a strong store: a load may come before it (overtakes.hpp)
  bool cluster = false;       ///< of shared memory: also of another block (.shared::cluster)
  bool in_frame = false;      ///< from the beginning of the call's local memory
  bool of_parameter = false;  ///< of a parameter of a function, by an address in a register
  std::uint8_t bytes = 4;     ///< of an element
  std::uint8_t count = 1;     ///< elements
  std::int64_t offset = 0;
  std::int32_t variable = -1;  ///< of Program::variables, in which its bytes lie, by all that the text says
};

struct Step {
  Run run = nullptr;
  int guard = -1;  ///< a predicate
  bool guard_negated = false;
  std::array<Place, 7> place = {};  ///< the first is the result, if there is one
  std::int32_t target = -1;         ///< of a branch or a call: a step; of a store that may be late, too
  std::int32_t extra = -1;          ///< of the table that belongs to `run`
  Access access = {};
  std::int32_t statement = -1;  ///< of Program::origins; -1: of the return behind the last statement
  const ptx::ScalarForm* form =
      nullptr;  ///< of its statement; a tensor instruction, a call and what rules make have none
  // Of a step that is noted when it is executed: what it does, and its numbers in the tables of the program.
  Run noted = nullptr;
  std::int32_t freedom = -1;    ///< of Program::freedoms
  std::int32_t touch = -1;      ///< of Program::touches
  bool uses_load = false;       ///< on some way a register of tcgen05.ld that was not waited for
  bool result_is_read = false;  ///< of `atom`, and of a test of an mbarrier: by some step of its function
  bool may_go_on = false;  ///< of a test of an mbarrier: to what others share, when it is false (answers.hpp)
  bool changes = true;     ///< more than registers of its lanes
  // Of a step on all lanes at once: what it equals, its functions, and what they take.
  Run specification = nullptr;
  VectorSet vector = {}, vector_high = {};
  std::uint32_t parameter = 0;
};

/// Where a step comes from.
struct Origin {
  const ptx::FunctionText* function;
  int statement;
  auto operator<=>(const Origin&) const = default;
};

/// A call: who is called, and which bytes go there and come back.
struct Call {
  struct Copy {
    std::int64_t from, to;  ///< in the local memory of caller and callee, from the beginning of their frames
    std::int64_t bytes;
  };
  int function = -1;  ///< of Program::functions; -1: by `place[0]`
  std::vector<Copy> arguments, results;
};

/// How a tensor instruction is executed on slots (tensor_slots.cpp).
struct TensorPlan {
  enum class Kind : std::uint8_t {
    general,
    dense,       ///< D = A B + C, all of them registers
    registers,   ///< other products and conversions
    rows,        ///< rows of 16 bytes, lane by lane
    transposed,  ///< the same, transposed
  };
  Kind kind = Kind::general;
  const Tile* tile = nullptr;                  ///< dense
  std::array<std::uint8_t, 4> registers = {};  ///< dense: of D, A, B and C
  std::int32_t run = -1;                       ///< dense: of Program::product_runs, if one begins here
  bool d_in_place = false;                     ///< of a warpgroup: D may be computed in its slots
};

/// Products one after another, D = A B + C, of each of some A with each of some B.
struct ProductRun {
  int steps = 0;
  std::vector<std::int32_t> a,
      b;                        ///< of Program::places: those of a step that has this A, or this B
  std::vector<std::int32_t> d;  ///< the same, [a][b]
};

/// A statement that leaves something open (freedom.hpp).
struct Freedom {
  /// When its result is open: if several threads execute atomics, if there are several threads, always.
  enum class When : std::uint8_t { atomics, threads, always };
  std::int32_t statement = -1;  ///< of Program::origins
  When when = When::always;
  std::string_view why;  ///< empty of atomics whose own result is not open
};

/// A statement whose results rest on no result of the target's GPU, in a part of them or in all (evidence.hpp).
struct Inference {
  std::int32_t statement = -1;  ///< of Program::origins
  std::string_view open;        ///< which part: "the bits of a NaN"
  std::string_view from;        ///< and what that is assumed as
};

/// What a step does to registers that products of a warpgroup may use (products.hpp): slots.
struct Touch {
  enum class Kind : std::uint8_t {
    computes,
    copies,  ///< one to another, or to its halves
    sets,    ///< to a value that is in no register
    moves,   ///< a load or a store
  };
  Kind kind = Kind::computes;
  std::vector<int> reads, writes;
};

/// A texture instruction.
struct TextureOperation {
  enum class Kind : std::uint8_t { read, gather, width, height, depth };
  Kind kind = Kind::read;
  ptx::TextureShape shape = ptx::TextureShape::two;  ///< of reads
  bool integers = false;                             ///< coordinates
  int component = 0;                                 ///< of a gather
  /// Of an instruction that names a sampler beside its texture.
  const ptx::Variable *texture = nullptr, *sampler = nullptr;
};

/// A surface instruction; of a query, `kind`.
struct SurfaceOperation {
  enum class Kind : std::uint8_t { load, store, convert, reduce, width, height, depth, is_type };
  Kind kind = Kind::load;
  ptx::TextureShape shape = ptx::TextureShape::two;  ///< of accesses
  texture::SurfaceAccess access = {};
  ptx::Opaque opaque = ptx::Opaque::none;  ///< of is_type: what it asks for
  scalar::Operation reduction = {};
  scalar::Operation unsigned_reduction = {};  ///< of sured.p: of formats without a sign
};

/// Where a variable lies in its space: of local memory in the frame of a call, of a kernel's parameters among all of them.
struct PlacedVariable {
  const ptx::Variable* variable;
  std::uint64_t first;
};

struct FunctionCode {
  const ptx::FunctionText* function = nullptr;
  std::vector<ptx::Register> registers = {};  ///< those of the function, and what the assembler adds
  int first_step = 0;
  int slots = 0, predicates = 0;
  std::vector<std::uint32_t> slot;  ///< or predicate, by register of the function
  /// A register that has a slot from one point to another (slots.hpp).
  struct Held {
    std::uint32_t slot;
    int first, last;
    int reg;  ///< of the function
  };
  std::vector<Held> held = {};        ///< where registers share slots; none: each has its own
  std::vector<Place> unwritten = {};  ///< registers that some way reads before it writes them
  std::int64_t local_bytes = 0;
  std::int64_t saved_stack = -1;  ///< where a function that has alloca keeps what its caller has of the stack
  std::vector<std::int64_t> parameters, returns;  ///< in its local memory
  std::vector<PlacedVariable> locals =
      {};  ///< there, too: variables of .local, and parameters whose addresses are taken
};

/// A value that is the same for all warps (a constant) or is set when a warp starts (a special register).
struct ConstantSlot {
  std::uint32_t slot;
  int bits;
  std::uint64_t value = 0;
  std::uint64_t upper = 0;  ///< of 128 bits
  std::optional<ptx::Special> special = {};
  bool in_shared = false;  ///< the address of a shared variable, which carries the block's rank
};

struct Program {
  Program(std::shared_ptr<const ptx::ModuleText> of, Target on) : module(std::move(of)), target(on) {}

  std::shared_ptr<const ptx::ModuleText> module;
  Target target;
  std::vector<Step> steps;
  std::vector<Origin> origins;
  std::vector<FunctionCode> functions;
  std::vector<std::int32_t> function_of;  ///< by number in the module; -1: not reached
  std::vector<ConstantSlot> constants;
  int constant_slots = 0;

  std::vector<scalar::Operation> operations;
  std::vector<ptx::Compression> compressions;
  std::vector<Call> calls;
  std::vector<TextureOperation> textures;
  std::vector<SurfaceOperation> surfaces;
  std::vector<const ptx::Variable*>
      references;  ///< that stand for textures, samplers and surfaces, as steps name them
  std::vector<Instruction> instructions;  ///< tensor instructions and matrix moves
  std::vector<TensorPlan> tensor_plans;   ///< of each of them
  std::vector<ProductRun> product_runs;
  std::vector<std::vector<Place>> places;  ///< further places of a step
  std::vector<Freedom> freedoms;
  std::vector<Touch> touches;
  std::vector<std::vector<std::int32_t>> tables;  ///< of brx.idx: steps
  std::vector<PlacedVariable> variables;          ///< all of .shared, and those of steps
  AsyncTables async;
  Stores stores;

  std::uint64_t reserved_bytes = 0;  ///< of shared memory, at its beginning, for the system
  std::uint64_t shared_bytes = 0;    ///< with the static ones behind these; there the dynamic ones begin
  std::uint64_t shared_alignment = 1;
  int entry = 0;                   ///< of functions
  bool uses_heap = false;          ///< it calls malloc or free
  bool has_workspace = false;      ///< it reads the address of the grid's workspace
  bool requests_clusters = false;  ///< it has clusterlaunchcontrol.try_cancel
  bool discards = false;           ///< it has discard: memory with values may lose them
  bool has_weak_fences = false;    ///< of memory, that are no fence.sc
  bool orders_by_memory =
      false;  ///< it has fences, or accesses with an order: threads may wait for each other so
  std::vector<Inference> inferred;  ///< each form once
  /// Where a rule of the assembler has acted, by origins.
  struct Use {
    assembler::Rule rule;
    Origin origin;
  };
  std::vector<Use> uses;
  bool shares_slots = true;                                     ///< registers may lie in one slot
  std::shared_ptr<Stacks> stacks = std::make_shared<Stacks>();  ///< of calls that launches have done
  std::vector<bool> leads_out;                                  ///< by step: see lead_out
  std::vector<block::StrongUse> strong_uses;                    ///< by origin; empty where no access is strong

  /// Of the statement at a place in faults (origin_at).
  block::StrongUse use_at(device::Place at) const { return block::use_at(strong_uses, at); }
};

/// The steps of a function. Precondition: all functions are compiled.
inline std::span<Step> steps_of(Program& program, std::size_t function) {
  const auto first = [&](std::size_t f) { return static_cast<std::size_t>(program.functions[f].first_step); };
  const std::size_t end = function + 1 < program.functions.size() ? first(function + 1) : program.steps.size();
  return std::span(program.steps).subspan(first(function), end - first(function));
}

/// The statement that a step executes. Precondition: step.statement is not -1.
inline const ptx::Statement& statement_of(const Origin& origin) {
  return origin.function->statements[static_cast<std::size_t>(origin.statement)];
}
inline const ptx::Statement& statement_of(const Program& program, const Step& step) {
  return statement_of(program.origins[static_cast<std::size_t>(step.statement)]);
}

/// Of a place in faults, which is a site from 1 on: a number of Program::origins, and what that is. Precondition: it is known.
inline std::int32_t number_at(const Program& program, device::Place at) {
  return static_cast<std::int32_t>((at.line - 1) % program.origins.size());
}
inline const Origin& origin_at(const Program& program, device::Place at) {
  return program.origins[static_cast<std::size_t>(number_at(program, at))];
}

/// Opcode and qualifiers: "atom.global.add.f32".
inline std::string form_of(const Origin& origin) {
  std::string out(statement_of(origin).opcode);
  for (const std::string_view word : words_of(*origin.function, statement_of(origin)))
    out.append(".").append(word);
  return out;
}

/// Of a step's statement. The return behind the last one is a ret.
inline ptx::Does does(const Program& program, const Step& step) {
  return step.statement < 0 ? ptx::Does::ret : statement_of(program, step).is->does;
}

}  // namespace warpbit::grid
