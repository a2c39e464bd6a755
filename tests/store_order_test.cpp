// SPDX-License-Identifier: Apache-2.0
// Whose bytes stay where lanes of one warp store different ones to one place by one instruction: as measured on an H200
// (grid/store_order.hpp), by both kernels of stores, with checks and without.
#include <algorithm>

#include "found_rules.hpp"

namespace store_order_test {

using namespace found_rules;
using Words = std::vector<std::uint32_t>;

// Lane t stores t, in all its words, at the address that `at` makes of %r1.
struct Row {
  std::string store, at;
  std::size_t words;  // of a lane
  Words stays;        // the first word of each place
  std::string says = "";
};

const std::string kHalf = "the lowest lane's in the last half of the warp that stores there",
                  kQuarter = "the lowest lane's in the last quarter of the warp that stores there";

const std::vector<Row> kRows = {
    {"st.shared.b32 [%r6], %r1;", "mov.u32 %r5, 0;", 1, {0}, "the lowest lane's)"},
    {"st.shared.b32 [%r6], %r1;", "and.b32 %r5, %r1, 3; shl.b32 %r5, %r5, 2;", 1, {0, 1, 2, 3}},
    {"st.shared.b32 [%r6], %r1;", "and.b32 %r5, %r1, 28;", 1, {0, 4, 8, 12, 16, 20, 24, 28}},
    {"st.volatile.shared.b32 [%r6], %r1;", "and.b32 %r5, %r1, 28;", 1, {0, 4, 8, 12, 16, 20, 24, 28}},
    {"st.b32 [%rd3], %r1;", "and.b32 %r5, %r1, 28;", 1, {0, 4, 8, 12, 16, 20, 24, 28}},
    {"st.shared.v2.b32 [%r6], {%r1, %r1};", "mov.u32 %r5, 0;", 2, {16}, kHalf},
    {"st.shared.v2.b32 [%r6], {%r1, %r1};",
     "and.b32 %r5, %r1, 7; shl.b32 %r5, %r5, 3;",
     2,
     {16, 17, 18, 19, 20, 21, 22, 23}},
    {"st.v2.b32 [%rd3], {%r1, %r1};",
     "shr.u32 %r5, %r1, 2; shl.b32 %r5, %r5, 3;",
     2,
     {0, 4, 8, 12, 16, 20, 24, 28}},
    {"st.shared.v4.b32 [%r6], {%r1, %r1, %r1, %r1};", "mov.u32 %r5, 0;", 4, {24}, kQuarter},
    {"st.shared.v4.b32 [%r6], {%r1, %r1, %r1, %r1};",
     "and.b32 %r5, %r1, 3; shl.b32 %r5, %r5, 4;",
     4,
     {24, 25, 26, 27}},
    {"st.shared.v4.b32 [%r6], {%r1, %r1, %r1, %r1};", "shr.u32 %r5, %r1, 4; shl.b32 %r5, %r5, 4;", 4, {8, 24}},
    {"st.v4.b32 [%rd3], {%r1, %r1, %r1, %r1};", "shr.u32 %r5, %r1, 3; shl.b32 %r5, %r5, 4;", 4, {0, 8, 16, 24}},
};

// The 128 words of the tile, which were 99, are copied to the array.
std::string body(const Row& row) {
  return "shl.b32 %r7, %r1, 4; mov.u32 %r6, tile; add.u32 %r7, %r6, %r7; mov.u32 %r8, 99;\n"
         "st.shared.v4.u32 [%r7], {%r8, %r8, %r8, %r8}; bar.sync 0;\n" +
         row.at + "\nadd.u32 %r6, %r6, %r5; cvt.u64.u32 %rd3, %r6; cvta.shared.u64 %rd3, %rd3;\n" + row.store +
         "\nbar.sync 0; ld.shared.v4.u32 {%r8, %r9, %r10, %r11}, [%r7];\n"
         "mad.wide.u32 %rd2, %r1, 16, %rd1; st.global.v4.u32 [%rd2], {%r8, %r9, %r10, %r11};";
}

Words expected(const Row& row) {
  Words out;
  for (const std::uint32_t lane : row.stays) out.insert(out.end(), row.words, lane);
  out.resize(128, 99);
  return out;
}

TEST_CASE("which lane's bytes stay in shared memory") {
  for (const Row& row : kRows)
    for (const Kernel kernel : {kernels().back(), Kernel::reference})
      for (const bool checks : {true, false}) {
        INFO(row.store << " " << row.at << (checks ? ", checked" : ""));
        ptx::Launch how{.block = {32}};
        how.check_shared = checks;
        how.execute.kernel = kernel;
        const Outcome outcome = launch(body(row), how);
        CHECK(Words(outcome.out.begin(), outcome.out.begin() + 128) == expected(row));
        if (!checks || row.says.empty()) continue;
        CHECK(outcome.rules == std::set<std::string>{"lanes_store_differently"});
        REQUIRE(outcome.messages.size() == 1);
        CHECK_THAT(outcome.messages[0], Catch::Contains(row.says));
      }
}

// What has no value stays without one if its lane's bytes stay: lane 0's do, or those of lane 1.
TEST_CASE("bits that nothing has written stay as their lane's bytes do") {
  const auto body = [](const std::string& lane) {
    return "setp.ne.u32 %p4, %r1, " + lane +
           "; @%p4 mov.u32 %r9, %r1; setp.gt.u32 %p5, %r1, 1; @%p5 bra END;\n"
           "st.shared.u32 [tile], %r9; @%p1 ld.shared.u32 %r10, [tile]; @%p1 st.global.u32 [%rd1], %r10; END:";
  };
  CHECK(launch(body("0"), {.block = {32}}).rules.contains("never_written"));
  CHECK_FALSE(launch(body("1"), {.block = {32}}).rules.contains("never_written"));
}

}  // namespace store_order_test
