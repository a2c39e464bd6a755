// SPDX-License-Identifier: Apache-2.0
// What a value decides that a load has read in a race: a fault where it reaches more than registers of its lane.
#include <string>
#include <vector>

#include "found_rules.hpp"

namespace ptx_decided_test {

using namespace found_rules;

// Thread 0 stores to the word that both warps load. What a race decides matters in the warp that stores what comes of it: once
// thread 0 alone, whose load meets no store, and once all.
struct Decision {
  bool is_private;
  std::string body;
};
const std::string kBit = "setp.gt.u32 %p4, %r5, 3;", kArray = ".local .align 4 .b32 a[4]; mov.b64 %rd3, a;\n";
const std::vector<Decision> kDecisions = {
    {true, "add.u32 %r6, %r5, 7;"},
    {true, kBit + "@%p4 bra SKIP; mov.u32 %r6, 7; SKIP:"},
    {true, kBit + "@!%p4 mov.u32 %r6, 7;"},
    {true, kBit + "@%p4 bra ELSE; mov.u32 %r6, 7; bra.uni SKIP; ELSE: mov.u32 %r6, 9; SKIP:"},
    {true, kBit + "@%p4 bra SKIP; setp.eq.u32 %p5, %r5, 0; @%p5 bra SKIP; mov.u32 %r6, 7; SKIP:"},
    {true, "LOOP: add.u32 %r6, %r6, 3; setp.lt.u32 %p4, %r6, %r5; @%p4 bra LOOP;"},
    {true, kBit + "@%p4 bra SKIP; setp.ne.u32 %p5, %r1, 0; selp.u32 %r6, 7, 8, %p5; SKIP:"},
    {true, kArray + "st.local.u32 [a], 7;" + kBit +
               "@%p4 bra SKIP; st.local.u32 [a], 8; SKIP: ld.local.u32 %r6, [a];"},
    {true, kArray + "st.local.v4.u32 [a], {7, 8, 9, 10}; and.b32 %r7, %r5, 3; mad.wide.u32 %rd3, %r7, 4, %rd3;"
                    "ld.local.u32 %r6, [%rd3];"},
    {false, kBit + "@%p4 bra SKIP; st.global.u32 [%rd2+512], %r1; SKIP:"},
    {false, kBit + "@%p4 bra SKIP; bar.warp.sync -1; SKIP:"},
    {false, kBit + "@%p4 bra SKIP; st.shared.u32 [flag], 1; SKIP:"},
    {false, kBit + "@%p4 ret;"},
    {false, kBit + "@%p4 bra SKIP; ld.acquire.gpu.global.u32 %r6, [%rd2+512]; SKIP:"},
    {false, "and.b32 %r7, %r5, 3; mad.wide.u32 %rd3, %r7, 4, %rd2; ld.global.u32 %r6, [%rd3+512];"},
};

TEST_CASE("a race that decides which registers change") {
  for (const Decision& one : kDecisions) {
    const std::string begin = "mov.u32 %r6, 1; ld.global.u32 %r5, [%rd1];" + one.body + "add.u32 %r6, %r6, 1;";
    check({one.is_private ? "" : "data_race", begin + "@%p1 st.global.u32 [%rd1], %r6;"}, {.block = {64}});
    check({"data_race", begin + "@%p1 st.global.u32 [%rd1], %r6; st.global.u32 [%rd2+1024], %r6;"},
          {.block = {64}});
  }
}

}  // namespace ptx_decided_test
