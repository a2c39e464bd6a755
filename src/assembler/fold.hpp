// SPDX-License-Identifier: Apache-2.0
// What the assembler makes of numbers and predicates that it knows, of products by 1, and of functions that undo each other.
#pragma once

#include "assembler/editor.hpp"

namespace warpbit::assembler {

/// Rules fold, divide, identity.
void fold(Assembled& function, Rules rules);
/// Rules pair, identity: of two functions, one after the other, of which nothing else uses the first.
void pair(Assembled& function, Rules rules);

}  // namespace warpbit::assembler
