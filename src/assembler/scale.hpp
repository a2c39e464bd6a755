// SPDX-License-Identifier: Apache-2.0
// Two products of which the second is by a power of two become one, which is rounded once. It shows where the first one
// is subnormal or too large. The first may not be rounded by a word (.rn), nor be used by anything else.
#pragma once

#include "assembler/editor.hpp"

namespace warpbit::assembler {

void scale(Assembled& function, Rules rules);

}  // namespace warpbit::assembler
