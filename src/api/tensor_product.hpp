// SPDX-License-Identifier: Apache-2.0
// What tcgen05.mma computes once its instruction descriptor is known: matrices by rows (kernel/parts.hpp, has_rows) that one
// block, or each block of a pair, computes; and where tensor memory has them.
#pragma once

#include <cstdint>
#include <vector>

#include "fragment/tensor_maps.hpp"
#include "isa/instruction.hpp"
#include "kernel/tile.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"
#include "warpbit/tensor_memory.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

inline constexpr int kTensorLanes = TensorMemory::kLanes, kTensorColumns = TensorMemory::kColumns,
                     kTensorWindow = TensorMemory::kWindowLanes, kTensorThreads = 32;

inline std::size_t as_size(int i) {
  return static_cast<std::size_t>(i);
}

/// Where the elements lie, relative to the operands' addresses; "lanes" from 128 on are those of the second block. A bank
/// has some columns of D side by side, in lanes of its own, with its own copies of the rows of A and of their metadata and
/// scale factors.
struct TensorPlaces {
  int banks = 1;
  std::vector<Place> d;                       ///< (m, n)
  std::vector<std::vector<int>> lane_of_row;  ///< by bank, of each m
  std::vector<std::vector<Place>> metadata;   ///< by bank: (m, group)
  std::vector<std::vector<Place>> scale_a;    ///< by bank: (m, scale factor)
  std::vector<std::vector<Place>> scale_b;    ///< by partition of 32 lanes, of both blocks: (n, scale factor)
  int d_columns = 0, a_columns = 0, metadata_columns = 0, scale_a_columns = 0, scale_b_columns = 0;
};

/// An mma and its descriptor, compiled.
struct TensorProduct {
  TensorMma mma;
  InstructionDescriptor of;
  TargetPlan plan;
  tensor::DataPath path;
  int blocks = 1;             ///< of the pair: each computes rows of its own, of columns from each
  int rows = 0, columns = 0;  ///< of a block, and those of B that each block brings
  int stored_k = 0;           ///< elements of a row of A that are stored
  Sparsity sparsity;
  FormatId a, b, d;
  int a_bits = 0;  ///< of a place of A in tensor memory
  /// The product of the rows of one block and the columns of one. D has its elements of 16 bits side by side.
  Tile tile;
  /// The same with B K-major, eight lines of 16 bytes each after the other: after a zero-column mask.
  Tile masked;

  bool has_halves() const { return d == FormatId::f16; }
  /// Where everything lies if the addresses of D, A and metadata have this lane: 0, or 16.
  const TensorPlaces& places(int half) const;
};

/// Kept as long as the program. `scale_input_d`: as in TensorMmaSources. Errors: usage; instruction_descriptor.
Result<const TensorProduct*> tensor_product(const Instruction& instruction, std::uint32_t descriptor,
                                            int scale_input_d = 0);

/// A descriptor of an mma's A or B, or of tcgen05.cp. Error: descriptor_field.
Result<Descriptor> tensor_descriptor(std::string_view where, std::uint64_t bits);

/// Refuses what TensorAction::not_executed says. Error: instruction_not_modelled.
inline Result<void> check_executed(const Instruction& instruction, const TensorAction& action) {
  if (action.not_executed.empty()) return {};
  return Error{Errc::instruction_not_modelled,
               std::string(instruction.canonical()),
               std::string(action.not_executed),
               {}};
}

/// The action of an instruction of this kind. Error: usage.
template <class What>
Result<const What*> tensor_action(const Instruction& instruction, std::string_view wanted) {
  const auto* const action = std::get_if<TensorAction>(&instruction.decoded().kernel);
  const What* const what = action == nullptr ? nullptr : std::get_if<What>(&action->what);
  if (what != nullptr) {
    if (const Result<void> known = check_executed(instruction, *action); !known) return known.error();
    return what;
  }
  return Error{Errc::usage, std::string(instruction.canonical()), "another instruction", std::string(wanted)};
}

/// tcgen05.shift of the partition that begins with this lane (PTX manual, "tcgen05.shift").
inline constexpr int kShiftedColumns = 8;
void shift_down(TensorMemory& memory, int first_lane, int first_column);

/// Refuses another number of blocks than the .cta_group of an instruction. Error: usage.
Result<void> check_blocks(const Instruction& instruction, std::size_t blocks);

inline constexpr std::string_view kAllocatedColumns = "columns that tcgen05.alloc has allocated before";
/// The error of columns [first, last] of tensor memory, some of which are not allocated.
Error not_allocated(const TensorMemory& memory, std::string where, int first, int last);

}  // namespace warpbit
#pragma GCC visibility pop
