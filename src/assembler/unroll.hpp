// SPDX-License-Identifier: Apache-2.0
// Loops whose number of rounds is known: a counter that begins with a literal, changes by a literal once in each round, and
// is compared with a literal at the end. The longer a loop is, the fewer rounds it may have (unroll.cpp, kLimits). A branch
// in it keeps it, and so does a call of the assembler's (div.rn and the like; flow.cpp, kBranching). A loop around loops that
// were unrolled is, too, whatever it comes to.
#pragma once

#include "assembler/editor.hpp"

namespace warpbit::assembler {

void unroll(Assembled& function);

}  // namespace warpbit::assembler
