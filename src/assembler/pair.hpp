// SPDX-License-Identifier: Apache-2.0
// What the assembler makes of two functions, one after the other, that undo each other.
#pragma once

#include "assembler/editor.hpp"

namespace warpbit::assembler {

/// Rules pair and identity.
void pair(Assembled& function, Rules rules);

}  // namespace warpbit::assembler
