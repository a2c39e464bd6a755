// SPDX-License-Identifier: Apache-2.0
// Where the assembler computes a value (ptxas, before it fuses). A value whose first use lies behind two calls or more is
// computed before the last of them, if what it is made of lives that long anyway: it takes no register in between.
//
//     p = a b                    p = a b
//     s = p + c                  call
//     call                       q = a b
//     call            becomes    s = q + c     here q alone is used, by s, and fuses; p has other uses and does not
//     use of s, p, a, b, c       call
//                                use of s, p, a, b, c
//
// It is made of loads and results of plain calls (flow.hpp), which live, and of what is computed from them by statements
// that have a price (sink.cpp, kPrices), 10 at most in all: those come with it, as copies if others use them. Of those below
// it each that has several uses costs 1 more. mov, neg and abs are no statements here but part of a use. Calls are div, rem,
// rcp, sqrt, rsqrt that become branches of machine code; fences and barriers are none. What a fast path and a slow path join
// in is not made again, nor what a branch chooses. Found in machine code of ptxas 13.0 (sm_90a), which takes bodies of 10
// statements and none of 11 (tests/ptx_assembler_sink_test.cpp); recordings of random kernels agree (golden-digests/random).
#pragma once

#include "assembler/assemble.hpp"

namespace warpbit::assembler {

void sink(Assembled& function);

}  // namespace warpbit::assembler
