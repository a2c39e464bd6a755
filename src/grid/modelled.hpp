// SPDX-License-Identifier: Apache-2.0
// Forms that the assembler takes and no kernel can run.
#pragma once

#include <span>
#include <string_view>

#include "ptx/forms.hpp"

namespace warpbit::grid {

/// Why there is nothing that executes an instruction of this name; empty: there is.
std::string_view reason_not_modelled(std::string_view opcode, std::span<const std::string_view> words);
/// Whether the results of a form were not measured; `types` are those among the words, `operands` how many it has.
bool is_unmeasured(std::string_view opcode, std::span<const std::string_view> words,
                   std::span<const ptx::Type> types, int operands);

}  // namespace warpbit::grid
