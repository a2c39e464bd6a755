// SPDX-License-Identifier: Apache-2.0
// Strong loads by which a thread may wait for others, and those that take data alone:
//
//     L: ld.volatile.global.u32 %r1, [%rd1];      a poll: its value decides a branch
//        setp.eq.u32 %p1, %r1, 0;
//     @%p1 bra L;
//        ld.volatile.global.f32 %f1, [%rd2];      data: what is executed does not depend on it
//        st.global.f32 [%rd3], %f1;
//
// And strong stores that change a word in two steps, by what such a load has read there:
//
//        ld.relaxed.gpu.global.u32 %r1, [%rd1];      a sum, too
//        setp.gt.u32 %p1, %r2, %r1;
//    @%p1 st.relaxed.gpu.global.u32 [%rd1], %r2;
#pragma once

#include "grid/program.hpp"

namespace warpbit::grid {

/// Sets Access::is_data, polls and ends_by_looks in a function, each of whose registers has a slot of its own, and adds its strong
/// accesses to Program::strong_uses; its steps are the last ones.
void find_polls(Program& program, const FunctionCode& function);

}  // namespace warpbit::grid
