// SPDX-License-Identifier: Apache-2.0
// Why words are no form of an opcode: the change of fewest words by which they are one.
#pragma once

#include <span>
#include <string_view>

#include "target/target.hpp"
#include "warpbit/result.hpp"

namespace warpbit::ptx {

/// Errors: missing_qualifier, surplus_qualifier, no_such_form (another word in the place of one), qualifier_order,
/// unknown_qualifier. Precondition: forms_of(opcode) is not empty, and no form has these words.
Error no_form(std::string_view opcode, std::span<const std::string_view> words, Target target);

/// Of two reasons why one text is neither a scalar nor a tensor instruction, the one that says the smaller change.
const Error& nearer(const Error& scalar, const Error& tensor);

}  // namespace warpbit::ptx
