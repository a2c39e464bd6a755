// SPDX-License-Identifier: Apache-2.0
// The rows of scalar instructions, by chapter of the PTX manual. forms.hpp has their notation.
#pragma once

#include <span>
#include <string_view>

#include "target/target.hpp"

namespace warpbit::ptx {

/// What the results of a form are, by what the manual leaves open of them (ptx/evidence).
enum class Kind : std::uint8_t {
  not_executed,  ///< the row says why, or the opcode
  not_measured,
  integers,
  integer_edges,
  division,
  wide_fields,
  floats,
  narrow_floats,
  extremes,
  ex2,
  comparisons,
  halves_by_set,
  integers_to_integers,
  integers_to_floats,
  floats_to_integers,
  floats_to_floats,
  logic,
  video,
  moves,
  decompressions,
  addresses,
  policies,
  loads_and_stores,
  atomics,
  copies,
  bulk_reductions,
  tensor_copies,
  tensor_reductions,
  map_copies,
  map_changes,
  textures,
  surfaces,
  requests,
  barrier_objects,
  barrier_states,
  barriers,
  exchanges,
  election,
  active_mask,
  control,
  assembler,  ///< a rule of the assembler, which is no form
};

struct FormRow {
  std::string_view pattern;   ///< {a,b}: one of these; `$name`: one of a named set; an empty one may be absent
  std::string_view operands;  ///< in the order of the statement
  Feature needs;
  Kind kind;
  /// The version of PTX, and those of words, which count instead of those that any instruction has (isa/since): "7.1,
  /// acquire 8.0". Empty: as old as the target.
  std::string_view since = {};
  std::string_view not_executed = {};  ///< why no kernel executes it, of that kind; empty: as the opcode says
};

struct Chapter {
  std::string_view name;
  std::span<const FormRow> rows;
};

/// In the order in which rows are tried.
std::span<const Chapter> chapters();

/// Of `$name`, separated by commas.
std::string_view words_of_set(std::string_view name);

// Each chapter's own.
std::span<const FormRow> integer_rows();
std::span<const FormRow> floating_rows();
std::span<const FormRow> half_rows();
std::span<const FormRow> comparison_rows();
std::span<const FormRow> logic_rows();
std::span<const FormRow> video_rows();
std::span<const FormRow> movement_rows();
std::span<const FormRow> memory_rows();
std::span<const FormRow> atomic_rows();
std::span<const FormRow> synchronization_rows();
std::span<const FormRow> copies_rows();
std::span<const FormRow> barriers_rows();
std::span<const FormRow> bulk_rows();
std::span<const FormRow> later_bulk_rows();
std::span<const FormRow> tensors_rows();
std::span<const FormRow> later_tensors_rows();
std::span<const FormRow> textures_rows();
std::span<const FormRow> surfaces_rows();
std::span<const FormRow> stores_rows();
std::span<const FormRow> multimem_rows();
std::span<const FormRow> fabric_rows();
std::span<const FormRow> compression_rows();
std::span<const FormRow> hints_rows();
std::span<const FormRow> control_rows();

}  // namespace warpbit::ptx
