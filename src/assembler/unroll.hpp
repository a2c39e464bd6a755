// SPDX-License-Identifier: Apache-2.0
// Loops whose number of rounds is known: a counter that begins with a known number, changes by a literal once in each round,
// and is compared with a literal at the end.
#pragma once

#include "assembler/editor.hpp"

namespace warpbit::assembler {

void unroll(Assembled& function);

}  // namespace warpbit::assembler
