// SPDX-License-Identifier: Apache-2.0
// A module that shows one statement alone, for whoever made the assembler.
#pragma once

#include <string>
#include <string_view>

#include "arbiter/slice.hpp"

namespace warpbit::arbiter {

/// The statement, the constants that it takes and as much behind it as shows the difference; all else comes from an array that
/// the module has. `instead`: text for `whole` that leaves what the GPU left; `defect`: a defect of the assembler that the
/// statement must still have, if it is one. Empty if there is none: a guard, memory or other threads decide.
std::string minimal_module(const Code& code, const Slice& slice, int site, const std::string& instead,
                           std::string_view defect);

}  // namespace warpbit::arbiter
