// SPDX-License-Identifier: Apache-2.0
// Races in global memory, within a block and between blocks: each beside its correct neighbour.
#include <algorithm>
#include <numeric>
#include <span>
#include <sstream>
#include <vector>

#include "found_rules.hpp"

namespace ptx_global_test {

using namespace found_rules;

const std::string kMine = "st.global.u32 [%rd2], %r1;",
                  kNext = "ld.global.u32 %r5, [%rd2+128]; st.global.u32 [%rd2+1024], %r5;";

const std::vector<Case> kBlock = {
    {"data_race", "ld.global.u32 %r5, [%rd1]; add.u32 %r5, %r5, 1; @%p2 st.global.u32 [%rd1], %r5;"},
    {"", "@%p2 red.global.add.u32 [%rd1], 1;"},
    {"", "@%p1 ld.global.u32 %r5, [%rd1]; @%p1 st.global.u32 [%rd1], 5;"},
    // What one warp stores another one reads.
    {"data_race", kMine + "setp.eq.u32 %p4, %r4, 1; @%p4 bra END;" + kNext + "END:"},
    {"", kMine + "bar.sync 0; setp.eq.u32 %p4, %r4, 1; @%p4 bra END;" + kNext + "END:"},
    {"data_race", "st.global.u32 [%rd2+128], %r1; bar.warp.sync -1; @%p1 ld.global.u32 %r5, [%rd1+256];"},
    // Stores to one place.
    {"data_race", "@%p2 st.global.u32 [%rd1], %r1;",
     "bytes 0 to 3 of the array of 'out' were written by lane 0 of warp 0"},
    {"", "@%p2 st.global.u32 [%rd1], 7;"},
    {"", "st.global.u32 [%rd1], 7;"},
    {"", "cvt.u64.u32 %rd3, %r1; add.u64 %rd3, %rd1, %rd3; st.global.u8 [%rd3], %r1;"},
    {"",
     "shl.b32 %r5, %r1, 4; cvt.u64.u32 %rd3, %r5; add.u64 %rd3, %rd1, %rd3; st.global.v4.u32 [%rd3], {%r1, %r1, %r2, %r2};"},
    {"data_race",
     "cvt.u64.u32 %rd3, %r4; add.u64 %rd3, %rd1, %rd3; @%p2 st.global.u16 [%rd1], 7; @%p2 st.global.u8 [%rd3], %r1;"},
    // Strong and weak ones.
    {"data_race", "@%p1 st.global.u32 [%rd1], 7; @%p3 red.global.add.u32 [%rd1], 1;"},
    {"", "@%p1 st.relaxed.gpu.global.u32 [%rd1], 7; @%p3 red.global.add.u32 [%rd1], 1;"},
    {"",
     "@%p1 st.global.u32 [%rd1], 7; bar.sync 0; red.global.add.u32 [%rd1], 1; bar.sync 0; ld.global.u32 %r5, [%rd1];"},
};

TEST_CASE("two warps of a block") {
  for (const Case& one : kBlock) check(one, {.block = {64}});
}

// Lanes 0 to 15 read, each a word, which lanes 16 to 31 write.
std::string lower_reads_upper_writes(const std::string& between) {
  return "setp.lt.u32 %p4, %r1, 16; @!%p4 bra ON; ld.global.u32 %r5, [%rd2]; ON: " + between +
         " @%p4 bra END; st.global.u32 [%rd2+-64], %r1; END:";
}

const std::vector<Case> kWarp = {
    {"lanes_store_differently", "st.global.u32 [%rd1], %r1;",
     "lanes 0 and 1 store different values to bytes 0 to 3 of the array of 'out'"},
    {"lanes_not_synchronised", kMine + "ld.global.u32 %r5, [%rd1+64]; st.global.u32 [%rd2+128], %r5;"},
    {"", kMine + "bar.warp.sync -1; ld.global.u32 %r5, [%rd1+64]; st.global.u32 [%rd2+128], %r5;"},
    {"", kMine + "ld.global.u32 %r5, [%rd2]; add.u32 %r5, %r5, 1; st.global.u32 [%rd2], %r5;"},
    // Lanes that have parted: in turn if they have met since, be it where no memory is ordered.
    {"data_race", lower_reads_upper_writes("")},
    {"lanes_not_synchronised", lower_reads_upper_writes("shfl.sync.idx.b32 %r6, %r1, 0, 31, -1;")},
    {"lanes_not_synchronised", lower_reads_upper_writes("vote.sync.any.pred %p5, %p1, -1;")},
    {"data_race", lower_reads_upper_writes("@%p4 shfl.sync.idx.b32 %r6, %r1, 0, 31, 0xFFFF;")},
    {"", lower_reads_upper_writes("bar.warp.sync -1;")},
    {"lanes_not_synchronised",
     "@%p1 st.shared.u32 [flag], 1; bar.warp.sync -1; @!%p1 bra ON; ld.shared.u32 %r5, [flag];"
     " ON: vote.sync.any.pred %p4, %p1, -1; setp.ne.u32 %p5, %r1, 31; @%p5 bra END; st.shared.u32 [flag], 2; END:"},
    // Through the cache of what is never written.
    {"non_coherent_load", kMine + "ld.global.nc.u32 %r5, [%rd2];"},
    {"non_coherent_load", "ld.global.nc.u32 %r5, [%rd2]; st.global.u32 [%rd2], %r5;"},
    {"", kMine + "ld.global.nc.u32 %r5, [%rd2+128];"},
    {"", kMine + "ld.global.u32 %r5, [%rd2];"},
};

TEST_CASE("lanes of a warp") {
  for (const Case& one : kWarp) check(one, {.block = {32}});
}

const std::string kOwn =
    "mad.lo.u32 %r5, %r2, 32, %r1; mad.wide.u32 %rd3, %r5, 4, %rd1; st.global.u32 [%rd3], %r5;\n";

// All blocks store, and the last one reads what the others have stored.
std::string last_block(const std::string& before, const std::string& ticket, const std::string& behind) {
  return "shl.b32 %r5, %r2, 7; cvt.u64.u32 %rd3, %r5; add.u64 %rd3, %rd2, %rd3; st.global.u32 [%rd3+128], %r1;\n" +
         before + "@!%p1 bra MET;\n" + ticket +
         " %r6, [%rd1], 1; st.shared.u32 [flag], %r6;\nMET: bar.sync 0;\n" +
         "ld.shared.u32 %r6, [flag]; mov.u32 %r7, %nctaid.x; add.u32 %r6, %r6, 1; setp.ne.u32 %p4, %r6, %r7; @%p4 bra END;\n" +
         behind +
         "ld.global.u32 %r8, [%rd2+128]; ld.global.u32 %r9, [%rd2+256]; add.u32 %r8, %r8, %r9;\n"
         "st.global.u32 [%rd2+2048], %r8;\nEND:";
}

const std::vector<Case> kBlocks = {
    {"", kOwn},
    {"blocks_not_ordered", "st.global.u32 [%rd2], %r2;",
     "of block (0, 0, 0), and nothing orders that write and this one"},
    {"", "st.global.u32 [%rd2], %r1;"},
    {"blocks_not_ordered", kOwn + "ld.global.u32 %r6, [%rd1];"},
    {"", "red.global.add.u32 [%rd1], 1;"},
    {"", "cvt.u64.u32 %rd3, %r2; add.u64 %rd3, %rd1, %rd3; @%p1 st.global.u8 [%rd3], %r2;"},
    {"blocks_not_ordered", "@%p1 red.global.add.u32 [%rd1], 1; @%p1 ld.global.u32 %r5, [%rd1];"},
    {"non_coherent_load",
     "setp.eq.u32 %p4, %r2, 0; @%p4 st.global.u32 [%rd2], %r1; @!%p4 ld.global.nc.u32 %r5, [%rd2];"},
    // The last block.
    {"", last_block("membar.gl; bar.sync 0;", "atom.global.add.u32", "membar.gl;")},
    {"", last_block("bar.sync 0;", "atom.acq_rel.gpu.global.add.u32", "")},
    {"", last_block("bar.sync 0; membar.gl;", "atom.relaxed.gpu.global.add.u32", "fence.acq_rel.gpu;")},
    // It has read what the others' atomics left, so it may change that, with a fence or without.
    {"",
     last_block("membar.gl; bar.sync 0;", "atom.global.add.u32", "membar.gl; @%p1 st.global.u32 [%rd1], 0;")},
    {"",
     "@!%p1 bra END; atom.global.add.u32 %r5, [%rd1], 1; setp.ne.u32 %p4, %r5, 1; @%p4 bra END;"
     " st.global.u32 [%rd1], 0; END: membar.gl;"},
    {"blocks_not_ordered", "@%p1 st.relaxed.gpu.global.u32 [%rd2], 1; @%p1 st.global.u32 [%rd2], 2;"},
    {"flag_fence", last_block("membar.gl; bar.sync 0;", "atom.global.add.u32", "")},
    {"flag_fence", last_block("bar.sync 0;", "atom.global.add.u32", "membar.gl;")},
    {"blocks_not_ordered", last_block("bar.sync 0;", "atom.global.add.u32", "")},
    {"blocks_not_ordered", last_block("membar.gl; bar.sync 0;", "atom.relaxed.gpu.global.add.u32", ""),
     "the read of the flag between that write and this read is relaxed"},
    {"scope_too_narrow", last_block("bar.sync 0;", "atom.acq_rel.cta.global.add.u32", "")},
};

TEST_CASE("two blocks") {
  for (const Case& one : kBlocks)
    for (const int threads : {1, 2}) {
      ptx::Launch how{.grid = {2}, .block = {32}};
      how.execute.threads = threads;
      check(one, how);
    }
}

// Block 0 adds to two words, block 1 to the second one alone, by the same statement; then it reads the first one.
TEST_CASE("an atomic that a block has not read is no more than a flag without fences") {
  const std::string body =
      "@!%p1 bra END; mov.u32 %r5, %r2; L: mul.wide.u32 %rd3, %r5, 4; add.u64 %rd3, %rd1, %rd3;"
      " atom.global.add.u32 %r6, [%rd3], 1; add.u32 %r5, %r5, 1; setp.lt.u32 %p4, %r5, 2; @%p4 bra L;"
      " setp.eq.u32 %p5, %r2, 0; @%p5 bra END; ld.global.u32 %r7, [%rd1]; add.u32 %r7, %r7, %r6;"
      " st.global.u32 [%rd2+2048], %r7; END: membar.gl;";
  ptx::Launch how{.grid = {2}, .block = {32}};
  how.execute.threads = 1;
  check({"flag_fence", body}, how);
}

// The statements that a finding names beside its two accesses, each behind what is said of it: that of the cause first.
std::vector<std::pair<std::string, std::string>> flags(const std::string& body, const ptx::Launch& how) {
  const Outcome outcome = launch(body, how);
  CHECK(outcome.rules == std::set<std::string>{"flag_fence"});
  if (outcome.report.findings.empty()) return {};
  std::istringstream text(text_of(body));
  std::vector<std::string> lines(1);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  std::vector<std::pair<std::string, std::string>> out;
  const Fault& fault = outcome.report.findings[0].fault;
  const auto add = [&](const std::string& what, const FaultSide& side) {
    out.emplace_back(what, lines.at(std::max(side.ptx_line, static_cast<int>(side.at.line))));
  };
  add(fault.error.seen, fault);
  for (const FaultSide& side : fault.related)
    if (side.what.find(" of the flag") != side.what.npos) add(side.what, side);
  return out;
}

// Flags within a block come before the ticket, or behind it.
TEST_CASE("the flag that is named would have ordered the two blocks") {
  const std::string fence = "membar.gl;\n", count = "atom.shared.add.u32 %r10, [other], 1;\n",
                    swap = "@%p1 atom.shared.exch.b32 %r10, [other], 1;\n",
                    poll = "@%p1 st.volatile.shared.u32 [other], 1; ld.volatile.shared.u32 %r10, [other];\n",
                    clear = "@%p1 st.shared.u32 [other], 0; bar.sync 0;\n", ticket = "\natom.global.add.u32";
  for (const std::string& flag : {count, swap, poll})
    for (const unsigned blocks : {2U, 3U}) {
      const ptx::Launch how{.grid = {blocks}, .block = {32}};
      const auto behind =
          flags(clear + last_block(flag + fence + "bar.sync 0;\n", ticket, flag + "bar.sync 0;\n"), how);
      REQUIRE(behind.size() == 2);
      CHECK(behind[0].first == "this read of a flag is volatile or relaxed, and no fence follows it");
      CHECK(behind[1].first == "the write of the flag");
      const auto before =
          flags(clear + last_block(flag + "bar.sync 0;\n", ticket, fence + flag + "bar.sync 0;\n"), how);
      REQUIRE(before.size() == 2);
      CHECK(before[0].first == "this write of a flag is volatile or relaxed, and no fence stands before it");
      CHECK(before[1].first == "the read of the flag");
      for (const auto& found : {behind, before})
        for (const auto& [what, line] : found) CHECK_THAT(line, Catch::StartsWith("atom.global.add.u32"));
    }
}

// Both warps of each block store, and behind a barrier its first thread counts and waits for the other block.
std::string counted(const std::string& each, const std::string& first) {
  return "mad.lo.u32 %r5, %r2, 64, %r1; mad.wide.u32 %rd3, %r5, 4, %rd1; st.global.u32 [%rd3+64], %r1;\n" +
         each + "bar.sync 0; @!%p1 bra MET;\n" + first +
         "red.global.add.u32 [%rd1], 1;\nWAIT: ld.volatile.global.u32 %r6, [%rd1]; setp.ne.u32 %p4, %r6, 2;\n"
         "@%p4 bra WAIT; membar.gl;\nMET: bar.sync 0; ld.global.u32 %r7, [%rd2+64];";
}

TEST_CASE("a fence may come before the barrier, or behind it") {
  const ptx::Launch how{.grid = {2}, .block = {64}};
  check({"", counted("membar.gl;", "")}, how);
  check({"", counted("", "membar.gl;")}, how);
  check({"flag_fence", counted("", "")}, how);
  check({"scope_too_narrow", counted("membar.cta;", "")}, how);
}

TEST_CASE("what is found between blocks does not depend on which comes first") {
  const std::string body =
      "setp.eq.u32 %p4, %r2, 5; @%p4 st.global.u32 [%rd1], 7; @!%p4 ld.global.u32 %r5, [%rd1];";
  for (const int threads : {1, 2, 5}) {
    ptx::Launch how{.grid = {8}, .block = {32}};
    how.execute.threads = threads;
    const Outcome found = launch(body, how);
    CHECK(found.rules == std::set<std::string>{"blocks_not_ordered"});
  }
}

// What blocks, or warps of a block, do to one word, one after the other: whose turn it is tells a flag that orders nothing else.
std::string in_turn(const std::vector<std::string>& of, const std::vector<std::size_t>& order,
                    const std::string& who) {
  std::string out = "@!%p2 bra END;\n";
  for (std::size_t turn = 0; turn < order.size(); ++turn)
    out += fmt::format(
        "setp.ne.u32 %p4, {}, {}; @%p4 bra NEXT{};\n"
        "WAIT{}: ld.relaxed.gpu.global.u32 %r8, [%rd1+2048]; setp.ne.u32 %p5, %r8, {}; @%p5 bra WAIT{};\n"
        "{}\nst.relaxed.gpu.global.u32 [%rd1+2048], {}; bra END;\nNEXT{}:\n",
        who, order[turn], turn, turn, turn, turn, of[order[turn]], turn + 1, turn);
  return out + "END:";
}

struct Turns {
  bool is_race;
  std::vector<std::string> of;
};
const std::string kAdd = "red.global.add.u32 [%rd1], 5;", kZero = "st.global.u32 [%rd1], 0;",
                  kLoad = "ld.global.u32 %r9, [%rd1];";
const std::vector<Turns> kTurns = {
    // A plain store, and an atomic of one's own.
    {true, {kZero + kAdd, kAdd}},
    {true,
     {kZero + "atom.relaxed.gpu.global.exch.b32 %r9, [%rd1], 7;",
      "atom.relaxed.gpu.global.cas.b32 %r9, [%rd1], 7, 8;"}},
    {true, {kZero + "st.relaxed.gpu.global.u32 [%rd1], 7;", kAdd}},
    {true,
     {"st.global.u64 [%rd1], 0; red.global.add.u64 [%rd1], 5;",
      "atom.relaxed.gpu.global.add.u32 %r9, [%rd1+4], 5;"}},
    {true,
     {"st.global.v4.u32 [%rd1], {%r1, %r1, %r1, %r1}; red.global.add.u32 [%rd1+12], 5;",
      "red.global.add.u32 [%rd1+12], 1;"}},
    {true,
     {"st.global.v2.u32 [%rd1+8], {%r1, %r1}; st.relaxed.gpu.global.v2.u32 [%rd1+8], {%r2, %r2};",
      "st.relaxed.gpu.global.v4.u32 [%rd1], {3, 3, 3, 3};"}},
    {true,
     {"mov.b16 h, 2; st.global.b16 [%rd1+2], h; atom.relaxed.gpu.global.add.noftz.f16 h, [%rd1+2], h;",
      "mov.b16 h, 0; atom.relaxed.gpu.global.add.noftz.f16 h, [%rd1+2], h;"}},
    {false,
     {"mov.b16 h, 2; st.global.b16 [%rd1+2], h; atom.relaxed.gpu.global.add.noftz.f16 h, [%rd1+2], h;",
      "mov.b16 h, 0; atom.relaxed.gpu.global.add.noftz.f16 h, [%rd1], h;"}},
    {true, {kZero + kAdd, kAdd, kAdd}},
    {false, {"st.relaxed.gpu.global.u32 [%rd1], 0;" + kAdd, kAdd, kAdd}},
    // A plain load, and an atomic or a strong load of one's own.
    {true, {kLoad + kAdd, kAdd}},
    {true, {kLoad + "ld.relaxed.gpu.global.u32 %r9, [%rd1];", kAdd}},
    {true, {kLoad, kAdd, "ld.relaxed.gpu.global.u32 %r9, [%rd1];"}},
    {false, {"ld.relaxed.gpu.global.u32 %r9, [%rd1];" + kAdd, kAdd}},
    // Atomics of others, then one's own, then a plain load or store.
    {true, {kAdd + kLoad, kAdd}},
    {true, {kAdd + kZero, kAdd}},
    {true,
     {"atom.relaxed.gpu.global.inc.u32 %r9, [%rd1], 1000;" + kLoad,
      "atom.relaxed.gpu.global.cas.b32 %r9, [%rd1], 0, 8;", kAdd}},
    {true, {"red.global.add.u64 [%rd1], 5; ld.global.u32 %r9, [%rd1+4];", "red.global.max.u64 [%rd1], 5;"}},
    {true, {kAdd + "ld.global.v4.u32 {%r9, %r10, %r11, %r12}, [%rd1];", kAdd, kAdd, kAdd}},
    {true,
     {"st.relaxed.gpu.global.v4.u32 [%rd1], {3, 3, 3, 3};" + kLoad, "st.relaxed.gpu.global.u32 [%rd1], 4;"}},
    {false, {kAdd + "ld.relaxed.gpu.global.u32 %r9, [%rd1];", kAdd, kAdd}},
    {false, {kAdd + "ld.global.u32 %r9, [%rd1+4];", kAdd, kAdd}},
    // Stores of what is there already.
    {false,
     {"st.global.u32 [%rd1], 7; st.relaxed.gpu.global.u32 [%rd1], 7;", "st.relaxed.gpu.global.u32 [%rd1], 7;"}},
    {false, {"st.global.u32 [%rd1], 7;", "st.relaxed.gpu.global.u32 [%rd1], 7;", "st.global.u32 [%rd1], 7;"}},
    {true, {kZero + "st.relaxed.gpu.global.u32 [%rd1], 7;", "st.relaxed.gpu.global.u32 [%rd1], 7;"}},
};

// Of warps of one block; a load in a race is told, though nobody uses its value.
void check_warps(const std::string& body, unsigned warps, bool is_race) {
  INFO(body);
  std::set<std::string> rules =
      launch(body, {.block = {32 * warps},
                    .grades = {{"unused_race", Grade::fault}, {"sizes_differ", Grade::silent}}})
          .rules;
  if (rules.erase("unused_race") != 0) rules.emplace("data_race");
  CHECK(rules == (is_race ? std::set<std::string>{"data_race"} : std::set<std::string>{}));
}

TEST_CASE("a scalar that all warps read and one replaces is in a race if another one uses it") {
  // Warp 1 reads, and then warp 0 stores: a relaxed flag tells when, and orders nothing.
  const auto scalar = [](const std::string& before, const std::string& behind) {
    return "ld.global.u32 %r5, [%rd1]; add.u32 %r5, %r5, 1; setp.eq.u32 %p4, %r4, 0; @%p4 bra WAIT;\n" +
           before +
           "st.relaxed.gpu.global.u32 [%rd1+2048], 1;\n"
           "DONE: ld.relaxed.gpu.global.u32 %r6, [%rd1+2052]; setp.eq.u32 %p5, %r6, 0; @%p5 bra DONE;\n" +
           behind +
           "bra END;\nWAIT: ld.relaxed.gpu.global.u32 %r6, [%rd1+2048]; setp.eq.u32 %p5, %r6, 0; @%p5 bra WAIT;\n"
           "@%p1 st.global.u32 [%rd1], %r5;\nst.relaxed.gpu.global.u32 [%rd1+2052], 1;\nEND:";
  };
  const ptx::Launch how{.block = {64}};
  const std::string uses = "@%p3 st.global.u32 [%rd1+8], %r5; ", unused = "@%p1 st.global.u32 [%rd1+8], %r5; ",
                    decides = "setp.ne.u32 %p6, %r5, 7; @%p6 bra SKIP; @%p3 st.global.u32 [%rd1+8], 1; SKIP: ",
                    meets = "setp.ne.u32 %p6, %r5, 7; @%p6 mov.u32 %r7, 1; ";
  check({"", scalar("", "")}, how);
  check({"", scalar(unused, unused)}, how);
  check({"", scalar(meets, meets)}, how);
  // The latest read of a warp does not stand for one whose value is used.
  const std::string again = "ld.global.u32 %r8, [%rd1]; ";
  check({"", scalar(again, "")}, how);
  for (const std::string& one : {uses, decides}) {
    check({"data_race", scalar(one + again, ""), "were read by lane"}, how);
    check({"data_race", scalar(one, ""), "were read by lane"}, how);
    check({"data_race", scalar("", one), "were read by lane"}, how);
  }
}

TEST_CASE("an access of one's own hides no race, whoever comes first") {
  for (const Turns& one : kTurns) {
    std::vector<std::size_t> order(one.of.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto count = static_cast<unsigned>(order.size());
    do {
      const std::string of_blocks = ".reg .b16 h;\n" + in_turn(one.of, order, "%r2"),
                        of_warps = ".reg .b16 h;\n" + in_turn(one.of, order, "%r4");
      check({one.is_race ? "blocks_not_ordered" : "", of_blocks},
            {.grid = {count}, .block = {32}, .grades = {{"sizes_differ", Grade::silent}}});
      check_warps(of_warps, count, one.is_race);
    } while (std::ranges::next_permutation(order).found);
  }
}

// %rd1 is one array, %rd3 another one, of which the text says that nothing is stored there.
TEST_CASE("stores that leave their array are recorded in another one") {
  const std::string text = R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<4>; .reg .b32 %r<4>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [out]; ld.param.u64 %rd3, [in]; mov.u32 %r1, %tid.x;
  setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 32;
  sub.u64 %rd4, %rd3, %rd1; mul.lo.u64 %rd4, %rd4, 1; add.u64 %rd4, %rd1, %rd4;
  @%p1 st.global.u32 [%rd4], 7;
  @%p2 ld.global.u32 %r2, [%rd3];
  @%p2 st.global.u32 [%rd1], %r2;
  ret;
})";
  const Result<ptx::Module> module = ptx::Module::load(text);
  REQUIRE(module);
  std::vector<std::uint32_t> in(4), out(4);
  const ptx::Report report =
      module->function("k")->launch({.block = {64}}, {ptx::buffer(in), ptx::buffer(out)});
  REQUIRE(report.fault);
  CHECK(report.fault->rule == KernelRule::data_race);
}

// Stores are to 4,096 bytes of the process, of which a read-only array has the last 64: the lanes from 16 on load behind them.
TEST_CASE("a read-only array overlaps the end of one that is written") {
  const Result<ptx::Module> module = ptx::Module::load(R"(.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b32 %r<4>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x;
  mad.wide.u32 %rd3, %r1, 4, %rd1; mad.wide.u32 %rd4, %r1, 4, %rd2;
  ld.global.u32 %r2, [%rd3];
  st.global.u32 [%rd4], %r2;
  ret;
})");
  REQUIRE(module);
  constexpr std::size_t written = 1024, overlap = 16, lanes = 32;
  std::vector<std::uint32_t> all(written + lanes - overlap);
  std::iota(all.begin(), all.end(), 0U);
  const std::span<std::uint32_t> words(all);
  const ptx::Report report = module->function("k")->launch(
      {.block = {lanes}}, {ptx::buffer(std::span<const std::uint32_t>(words.subspan(written - overlap))),
                           ptx::buffer(words.first(written))});
  CHECK_FALSE(report.fault);
  CHECK(report.findings.empty());
  for (std::size_t i = 0; i < lanes; ++i) CHECK(all[i] == written - overlap + i);
}

// The same the other way round: the lanes below 16 load what lies before the array that is written.
TEST_CASE("a read-only array overlaps the beginning of one that is written") {
  const Result<ptx::Module> module = ptx::Module::load(R"(.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b32 %r<4>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x;
  mad.wide.u32 %rd3, %r1, 4, %rd1; mad.wide.u32 %rd4, %r1, 4, %rd2;
  ld.global.u32 %r2, [%rd3];
  st.global.u32 [%rd4+128], %r2;
  ret;
})");
  REQUIRE(module);
  constexpr std::size_t before = 16, lanes = 32;
  std::vector<std::uint32_t> all(1024);
  std::iota(all.begin(), all.end(), 0U);
  const std::span<std::uint32_t> words(all);
  const ptx::Report report = module->function("k")->launch(
      {.block = {lanes}},
      {ptx::buffer(std::span<const std::uint32_t>(words.first(lanes))), ptx::buffer(words.subspan(before))});
  CHECK_FALSE(report.fault);
  CHECK(report.findings.empty());
  for (std::size_t i = 0; i < lanes; ++i) CHECK(all[before + 32 + i] == i);
}

// Four lanes for each line of 128 bytes, as the sums of a product lie: each store has another piece of all lines.
std::string pieces(const std::string& words, int bytes, const std::string& other) {
  std::string out = "shr.u32 %r5, %r3, 2; and.b32 %r6, %r3, 3; shl.b32 %r5, %r5, 7; mul.lo.u32 %r6, %r6, " +
                    std::to_string(bytes / 4) +
                    "; add.u32 %r5, %r5, %r6; cvt.u64.u32 %rd3, %r5; add.u64 %rd3, %rd1, %rd3;\n"
                    "setp.eq.u32 %p4, %r2, 0; @!%p4 bra OTHER;\n";
  for (int at = 0; at < 128; at += bytes)
    out += "st.global" + words + " [%rd3+" + std::to_string(at) + "], " + (bytes == 16 ? "%r1" : "{%r1, %r1}") +
           ";  // piece " + std::to_string(at / bytes) + "\n";
  return out + "bra END;\nOTHER: " + other + "\nEND:";
}

TEST_CASE("each piece of a line has the statement that stored it") {
  for (const auto& [words, bytes] : {std::pair<std::string, int>{".u32", 16}, {".v2.u32", 32}})
    for (int piece = 0; piece < 128 / bytes; ++piece)
      for (const int threads : {1, 2}) {
        CAPTURE(words, piece, threads);
        const std::string body = pieces(
            words, bytes, "ld.global.u32 %r7, [%rd1+" + std::to_string(256 + piece * bytes + bytes - 4) + "];");
        ptx::Launch how{.grid = {2}, .block = {32}};
        how.execute.threads = threads;
        const Outcome outcome = launch(body, how);
        REQUIRE(outcome.rules == std::set<std::string>{"blocks_not_ordered"});
        const std::string text = text_of(body);
        const auto stored = text.substr(0, text.find("// piece " + std::to_string(piece)));
        const auto line = std::to_string(1 + std::ranges::count(stored, '\n'));
        CHECK_THAT(outcome.messages[0], Catch::Contains("PTX line " + line + ": block (0, 0, 0)"));
      }
  // All of them, and then others of the same bytes.
  check({"", pieces(".v2.u32", 32, "")}, {.grid = {2}, .block = {32}});
  const std::string again = "bar.sync 0; st.global.v2.u32 [%rd3], {%r2, %r2}; st.global.u32 [%rd2], %r3;";
  check({"lanes_not_synchronised", pieces(".v2.u32", 32, "") + again}, {.block = {32}});
  check({"", pieces(".v2.u32", 32, "") + "bar.sync 0; st.global.u32 [%rd2], %r3;"}, {.block = {32}});
  check({"data_race", pieces(".v2.u32", 32, "") + "setp.eq.u32 %p5, %r4, 1; @%p5 ld.global.u32 %r7, [%rd1];"},
        {.block = {64}});
}

TEST_CASE("accesses are counted") {
  const std::string body = kMine +
                           "ld.global.u32 %r5, [%rd2]; mov.u32 %r6, tile; @%p2 st.shared.u32 [%r6], %r5;"
                           "@%p2 red.global.add.u32 [%rd1+2048], 1;";
  const ptx::Report all = launch(body, {.grid = {1}, .block = {32}}).report;
  CHECK(all.checked.shared == 1);
  CHECK(all.checked.global == 65);
  const ptx::Report shared = launch(body, {.block = {32}, .check_global = false}).report;
  CHECK(shared.checked.shared == 1);
  CHECK(shared.checked.global == 0);
  const ptx::Report none = launch(body, {.block = {32}, .check_shared = false}).report;
  CHECK(none.checked.shared == 0);
  CHECK(none.checked.global == 0);
}

TEST_CASE("global memory is not checked if it is not to be") {
  check({"", "@%p2 st.global.u32 [%rd1], %r1;"}, {.block = {64}, .check_global = false});
  check({"", "@%p2 st.global.u32 [%rd1], %r1;"}, {.block = {64}, .check_shared = false});
}

}  // namespace ptx_global_test
