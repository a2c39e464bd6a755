// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

namespace warpbit::cli {

/// Prints, of the forms and targets that are wanted, what they rest on and which captures show it: a line for
/// each, or for each family on each target. False if there are none.
Result<bool> print_evidence(const std::function<bool(const FormInfo&, Target)>& wanted, bool by_form,
                            bool markdown);

}  // namespace warpbit::cli
