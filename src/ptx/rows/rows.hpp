// SPDX-License-Identifier: Apache-2.0
// The rows of scalar instructions, by chapter of the PTX manual. forms.hpp has their notation.
#pragma once

#include <span>
#include <string_view>

#include "target/target.hpp"

namespace warpbit::ptx {

struct FormRow {
  std::string_view pattern;   ///< {a,b}: one of these; `$name`: one of a named set; an empty one may be absent
  std::string_view operands;  ///< in the order of the statement
  Feature needs;
  Version since = {};  ///< of PTX, where words alone do not tell it (isa/since)
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
std::span<const FormRow> movement_rows();
std::span<const FormRow> memory_rows();
std::span<const FormRow> atomic_rows();
std::span<const FormRow> synchronization_rows();
std::span<const FormRow> copies_rows();
std::span<const FormRow> barriers_rows();
std::span<const FormRow> bulk_rows();
std::span<const FormRow> tensors_rows();
std::span<const FormRow> stores_rows();
std::span<const FormRow> multimem_rows();
std::span<const FormRow> hints_rows();
std::span<const FormRow> control_rows();

}  // namespace warpbit::ptx
