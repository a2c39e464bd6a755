// SPDX-License-Identifier: Apache-2.0
// What barriers of a block count and order, where lanes of a warp meet, and the shared memory that the system keeps. Expected
// values are arithmetic on thread numbers.
#include <catch2/catch.hpp>

#include <functional>
#include <string>
#include <vector>

#include "warpbit/ptx.hpp"

namespace ptx_barriers_test {

using namespace warpbit;

// %r1 is %tid.x, %r2 the thread's word of `tile`, %r3 its warp, %r4 its lane. The value of %r5 at END is its word of `out`; END
// is passed by those that have not returned.
std::string kernel_text(const std::string& body) {
  return R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<8>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<8>;
  .shared .align 16 .b8 tile[1024];
  mov.u32 %r1, %tid.x; shr.u32 %r3, %r1, 5; and.b32 %r4, %r1, 31; shl.b32 %r2, %r1, 2;
  ld.param.u64 %rd1, [out]; cvt.u64.u32 %rd2, %r2; add.u64 %rd1, %rd1, %rd2;
  mov.u32 %r6, tile; add.u32 %r2, %r2, %r6; mov.u32 %r5, 7;
  setp.eq.u32 %p1, %r3, 0; setp.lt.u32 %p2, %r4, 16; setp.lt.u32 %p3, %r1, 64;
)" + body +
         "\nEND:\n  st.global.u32 [%rd1], %r5;\n  ret;\n}\n";
}

struct Outcome {
  ptx::Report report;
  std::vector<std::uint32_t> out;
};

Outcome run(const std::string& text, unsigned threads, unsigned blocks_of_cluster = 1) {
  const Result<ptx::Module> module = ptx::Module::load(text);
  if (!module) FAIL(module.error().message());
  const Result<ptx::Function> function = module->function("k");
  REQUIRE(function);
  Outcome outcome;
  outcome.out.assign(257, 99);
  ptx::Launch how;
  how.block = {threads};
  how.grid = {blocks_of_cluster};
  if (blocks_of_cluster > 1) how.cluster = {blocks_of_cluster};
  outcome.report = function->launch(how, {ptx::buffer(outcome.out)});
  return outcome;
}

using Word = std::uint32_t;
using Expected = std::function<Word(Word thread)>;

struct Right {
  const char* name;
  unsigned threads;
  const char* body;
  Expected expected;  // of each thread
};
struct Wrong {
  const char* name;
  unsigned threads;
  const char* body;
  Errc code;
  std::vector<const char*> says;  // of the message
};

void check(const std::vector<Right>& all) {
  for (const Right& one : all)
    for (const unsigned blocks : {1U, 2U}) {
      INFO(one.name << ", " << blocks << " blocks");
      const Outcome outcome = run(kernel_text(one.body), one.threads, blocks);
      if (outcome.report.fault) FAIL_CHECK(outcome.report.fault->message());
      CHECK(outcome.report.findings.empty());
      for (Word t = 0; t < one.threads; ++t)
        if (outcome.out[t] != one.expected(t))
          FAIL_CHECK("thread " << t << ": " << outcome.out[t] << ", not " << one.expected(t));
      CHECK(outcome.out[one.threads] == 99);
    }
}

void check(const std::vector<Wrong>& all) {
  for (const Wrong& one : all)
    for (const unsigned blocks : {1U, 2U}) {
      INFO(one.name << ", " << blocks << " blocks");
      const Outcome outcome = run(kernel_text(one.body), one.threads, blocks);
      if (!outcome.report.fault) {
        FAIL_CHECK("no fault");
        continue;
      }
      CHECK(name(outcome.report.fault->error.code) == name(one.code));
      for (const char* part : one.says) CHECK_THAT(outcome.report.fault->message(), Catch::Contains(part));
    }
}

const Expected kSeven = [](Word) { return 7; };

// ---- What is counted

TEST_CASE("barriers count each instruction that a warp executes") {
  check(std::vector<Right>{
      {"an arrival and a wait of one warp", 32, "bar.arrive 1, 64; bar.sync 1, 64;", kSeven},
      {"two arrivals of one warp", 64,
       "@%p1 bra ONE; bar.sync 1, 96; bra END; ONE: bar.arrive 1, 96; bar.arrive 1, 96;", kSeven},
      // Each half arrives for the other one's next round, and then waits for its own.
      {"halves of a block in turns", 128,
       R"(@%p3 bar.arrive 1, 128;
          mov.u32 %r10, 0; selp.b32 %r11, 1, 0, %p3; add.u32 %r12, %r11, 1; sub.u32 %r13, 2, %r11;
       L: bar.sync %r12, 128; bar.arrive %r13, 128;
          add.u32 %r10, %r10, 1; setp.lt.u32 %p4, %r10, 4; @%p4 bra L;
          @!%p3 bar.sync 1, 128;)",
       kSeven},
      {"a first round with arrivals ahead", 256,
       R"(shr.u32 %r10, %r1, 7; setp.ne.u32 %p4, %r10, 0; @%p4 bra L; bar.arrive 9, 256;
       L: add.u32 %r11, %r10, 9; bar.sync %r11, 256; sub.u32 %r12, 10, %r10; bar.arrive %r12, 256;)",
       kSeven},
      {"one barrier with and without its count", 64, "@%p1 bar.arrive 3, 64; @!%p1 bar.sync 3;", kSeven},
  });
  check(std::vector<Wrong>{
      {"one instruction too few",
       32,
       "bar.arrive 1, 96; bar.sync 1, 96;",
       Errc::deadlock,
       {"barrier 1: 2 of 3 warps have arrived"}},
      {"a count for twice as many warps",
       64,
       "bar.sync 1, 128;",
       Errc::deadlock,
       {"warps 0-1", "barrier 1: 2 of 4 warps have arrived"}},
      {"warps at different barriers",
       64,
       "@%p1 bar.sync 1, 64; @!%p1 bar.sync 2, 64;",
       Errc::deadlock,
       {"warps wait at 2 places", "bar.sync 1, 64  barrier 1: 1 of 2 warps has arrived",
        "bar.sync 2, 64  barrier 2: 1 of 2 warps has arrived"}},
      {"counts that differ",
       64,
       "@%p1 bar.arrive 3, 96; @!%p1 bar.sync 3;",
       Errc::barrier_misused,
       {"barrier 3 for all threads",
        "its first arrival was for 96 threads, and all of a phase must count the same threads, or those who meet apart "
        "must use another barrier"}},
      {"a count where another warp meets all threads",
       64,
       "@%p1 bar.sync 0, 96; @!%p1 bar.sync 0;",
       Errc::barrier_misused,
       {"must use another barrier (__syncthreads is barrier 0)"}},
  });
}

TEST_CASE("barriers that are not aligned count lanes") {
  const Expected mine = [](Word t) { return (t & 16) == 0 ? (t ^ 32) + 5 : 7; };
  check(std::vector<Right>{
      {"sixteen lanes of each of four warps", 128,
       R"(add.u32 %r10, %r1, 5; @!%p2 bra END; st.shared.u32 [%r2], %r10; barrier.sync 1, 64;
          xor.b32 %r11, %r2, 128; ld.shared.u32 %r5, [%r11];)",
       mine},
      {"two halves of a warp at two places", 64,
       R"(add.u32 %r10, %r1, 5; st.shared.u32 [%r2], %r10; @%p2 bra LOW; barrier.sync 1, 64; bra END;
     LOW: barrier.sync 1, 64; xor.b32 %r11, %r2, 128; ld.shared.u32 %r5, [%r11];)",
       mine},
      {"all threads, at two places", 64,
       R"(add.u32 %r10, %r1, 5; st.shared.u32 [%r2], %r10; @%p2 bra LOW; barrier.sync 0; bra END;
     LOW: barrier.sync 0; xor.b32 %r11, %r2, 128; ld.shared.u32 %r5, [%r11];)",
       mine},
      {"each lane its barrier", 64,
       R"(add.u32 %r10, %r1, 5; st.shared.u32 [%r2], %r10; selp.b32 %r12, 1, 2, %p2; barrier.sync %r12, 32;
          @%p2 xor.b32 %r11, %r2, 128; @%p2 ld.shared.u32 %r5, [%r11];)",
       mine},
  });
  check(std::vector<Wrong>{
      {"sixteen lanes, and a count for more",
       128,
       "@!%p2 bra END; barrier.sync 1, 96;",
       Errc::deadlock,
       {"barrier 1: 64 of 96 threads have arrived"}},
      {"lanes of a warp at different barriers, aligned",
       64,
       "selp.b32 %r12, 1, 2, %p2; bar.sync %r12, 32;",
       Errc::barrier_misused,
       {"different barriers or counts", "the same, since it is aligned"}},
  });
}

TEST_CASE("a warp that is not full counts as one") {
  const Expected other = [](Word t) { return t ^ 1; };
  const char* const exchange = "xor.b32 %r11, %r2, 4; ld.shared.u32 %r5, [%r11];";
  for (const char* form : {"bar.sync 0;", "bar.sync 1, %r20;", "barrier.sync 0;", "barrier.sync 1, %r20;"})
    for (const unsigned threads : {24U, 48U, 72U}) {
      INFO(form);
      const std::string body = "mov.u32 %r20, " + std::to_string((threads + 31) / 32 * 32) +
                               "; st.shared.u32 [%r2], %r1; " + form + exchange;
      check(std::vector<Right>{{form, threads, body.c_str(), other}});
    }
  check(std::vector<Right>{
      {"reductions", 48,
       R"(setp.lt.u32 %p4, %r1, 40; setp.lt.u32 %p5, %r1, 48;
          bar.red.popc.u32 %r5, 1, 64, %p4; bar.red.and.pred %p6, 1, 64, %p5; bar.red.and.pred %p7, 1, 64, %p4;
          @%p6 add.u32 %r5, %r5, 100; @%p7 add.u32 %r5, %r5, 1000;)",
       [](Word) { return 140; }},
  });
  check(std::vector<Wrong>{
      {"more than there are", 48, "bar.sync 1, 96;", Errc::deadlock, {"barrier 1: 2 of 3 warps have arrived"}},
      {"a reduction among others",
       64,
       "@%p1 bar.sync 1, 64; setp.eq.u32 %p4, %r1, 0; @!%p1 bar.red.popc.u32 %r5, 1, 64, %p4;",
       Errc::barrier_misused,
       {"barrier 1 with and without .red"}}});
}

TEST_CASE("threads that have ended are no arrivals where there is a count") {
  check(std::vector<Right>{
      {"all threads: none is waited for that has ended", 96,
       "setp.ge.u32 %p4, %r1, 64; @%p4 bra END; st.shared.u32 [%r2], %r1; bar.sync 0; xor.b32 %r11, %r2, 128; "
       "ld.shared.u32 %r5, [%r11];",
       [](Word t) { return t < 64 ? t ^ 32 : 7; }},
      {"lanes of a warp that have ended", 64,
       "@%p2 bra END; st.shared.u32 [%r2], %r1; bar.sync 1, 64; xor.b32 %r11, %r2, 128; ld.shared.u32 %r5, [%r11];",
       [](Word t) { return (t & 16) != 0 ? t ^ 32 : 7; }},
  });
  check(std::vector<Wrong>{{"a warp that has ended",
                            64,
                            "@!%p1 bra END; bar.sync 1, 64;",
                            Errc::deadlock,
                            {"barrier 1: 1 of 2 warps has arrived"}}});
}

// ---- What is ordered

TEST_CASE("a barrier orders what came before each arrival, before what follows the waits") {
  // Threads 0 to 31 write for those of warp 1.
  const Expected written = [](Word t) { return t < 32 ? 7 : t - 32; };
  check(std::vector<Right>{
      {"a store before an arrival", 64,
       R"(@%p1 bra ONE; bar.sync 1, 64; ld.shared.u32 %r5, [%r2+-128]; bra END;
     ONE: st.shared.u32 [%r2], %r1; bar.arrive 1, 64;)",
       written},
      {"producers that end behind their arrival", 64,
       R"(@%p1 bra ONE; bar.sync 1, 64; ld.shared.u32 %r5, [%r2+-128]; bra END;
     ONE: st.shared.u32 [%r2], %r1; st.global.u32 [%rd1], %r5; bar.arrive 1, 64; ret;)",
       written},
      {"what an arrival knows", 96,
       R"(setp.ge.u32 %p4, %r1, 64; @%p1 bra ONE; @%p4 bra LAST; bar.sync 1, 64; bar.arrive 2, 64; bra END;
    LAST: bar.sync 2, 64; ld.shared.u32 %r5, [%r2+-256]; bra END;
     ONE: st.shared.u32 [%r2], %r1; bar.arrive 1, 64;)",
       [](Word t) { return t < 64 ? 7 : t - 64; }},
      {"two rounds of a buffer", 64,
       R"(mov.u32 %r10, 0; @%p1 bra ONE;
       L: bar.sync 1, 64; ld.shared.u32 %r5, [%r2+-128]; bar.arrive 2, 64;
          add.u32 %r10, %r10, 1; setp.lt.u32 %p4, %r10, 2; @%p4 bra L; bra END;
     ONE: add.u32 %r11, %r1, %r10; st.shared.u32 [%r2], %r11; bar.arrive 1, 64; bar.sync 2, 64;
          add.u32 %r10, %r10, 1; setp.lt.u32 %p4, %r10, 2; @%p4 bra ONE;)",
       [](Word t) { return t < 32 ? 7 : t - 31; }},
  });
  const std::vector<const char*> race = {"were written by lane 0 of warp 0", "no barrier came between"};
  check(std::vector<Wrong>{
      {"a store behind an arrival",
       64,
       R"(@%p1 bra ONE; bar.sync 1, 64; ld.shared.u32 %r5, [%r2+-128]; bra END;
     ONE: bar.arrive 1, 64; st.shared.u32 [%r2], %r1;)",
       Errc::data_race,
       {"were written by lane 0 of warp 0, behind its arrival at barrier 1, for which this warp has waited; that arrival must "
        "come after that write"}},
      {"a load behind an arrival", 64,
       R"(@%p1 bra ONE; bar.arrive 1, 64; ld.shared.u32 %r5, [%r2+-128]; bra END;
     ONE: st.shared.u32 [%r2], %r1; bar.sync 1, 64;)",
       Errc::data_race, race},
      {"an arrival at another barrier",
       96,
       R"(setp.ge.u32 %p4, %r1, 64; @%p1 bra ONE; bar.sync 1, 64; ld.shared.u32 %r5, [%r2+-128]; bra END;
     ONE: st.shared.u32 [%r2], %r1; bar.arrive 2, 64;)",
       Errc::data_race,
       {"were written by lane 0 of warp 0"}},
      {"a producer that ends without an arrival",
       96,
       R"(@%p1 bra ONE; bar.sync 1, 64; ld.shared.u32 %r5, [%r2+-128]; bra END;
     ONE: st.shared.u32 [%r2], %r1; ret;)",
       Errc::data_race,
       {"were written by lane 0 of warp 0"}},
      {"a buffer that is written again too early",
       64,
       R"(mov.u32 %r10, 0; @%p1 bra ONE;
       L: bar.sync 1, 64; bar.arrive 2, 64; ld.shared.u32 %r5, [%r2+-128];
          add.u32 %r10, %r10, 1; setp.lt.u32 %p4, %r10, 2; @%p4 bra L; bra END;
     ONE: add.u32 %r11, %r1, %r10; st.shared.u32 [%r2], %r11; bar.arrive 1, 64; bar.sync 2, 64;
          add.u32 %r10, %r10, 1; setp.lt.u32 %p4, %r10, 2; @%p4 bra ONE;)",
       Errc::data_race,
       {"were read by lane 0 of warp 1, behind its arrival at barrier 2, for which this warp has waited; that arrival must come "
        "after that read"}},
      {"a count that leaves the readers alone",
       128,
       R"(@%p3 bra ONE; bar.sync 1, 64; ld.shared.u32 %r5, [%r2+-256]; bra END;
     ONE: st.shared.u32 [%r2], %r1; bar.sync 1, 64;)",
       Errc::data_race,
       {"no barrier came between"}},
  });
}

// ---- Lanes of a warp

// The lower half executes `instruction` on %r7 into %r5 at one place, the upper one at another, of which another mask or form
// may be told.
std::string halves(const std::string& lower, const std::string& upper) {
  return "mov.u32 %r7, %r1; @%p2 bra LOW; " + upper + " bra END;\n LOW: add.u32 %r8, %r1, 3; " + lower;
}

TEST_CASE("lanes of a warp meet at several places of the program") {
  const std::string vote =
                        "{ .reg .pred q; and.b32 %r9, %r7, 1; setp.ne.u32 q, %r9, 0; "
                        "vote.sync.ballot.b32 %r5, q, 0xffffffff; }",
                    shfl = "shfl.sync.bfly.b32 %r5, %r7, 16, 31, 0xffffffff;",
                    match = "and.b32 %r9, %r7, 3; match.any.sync.b32 %r5, %r9, 0xffffffff;",
                    all = "and.b32 %r9, %r7, 0; match.all.sync.b32 %r5, %r9, 0xffffffff;",
                    redux = "redux.sync.add.u32 %r5, %r7, 0xffffffff;",
                    elect = "elect.sync %r5|%p5, 0xffffffff; @%p5 add.u32 %r5, %r5, 50;",
                    // Tiles of eight lanes: 0-7, 16-23 meet 8-15, 24-31 of the same sixteen.
      tiles =
          "and.b32 %r9, %r1, 16; mov.u32 %r10, 0xffff; shl.b32 %r10, %r10, %r9; redux.sync.add.u32 %r5, %r7, %r10;";
  const auto both = [](const std::string& text) { return halves(text, text); };
  const std::vector<std::string> bodies = {both(vote), both(shfl),  both(match),
                                           both(all),  both(redux), both(elect)};
  check(std::vector<Right>{
      {"vote", 32, bodies[0].c_str(), [](Word) { return 0xAAAAAAAA; }},
      {"shfl", 64, bodies[1].c_str(), [](Word t) { return t ^ 16; }},
      {"match.any", 32, bodies[2].c_str(), [](Word t) { return 0x11111111U << (t & 3); }},
      {"match.all", 32, bodies[3].c_str(), [](Word) { return 0xFFFFFFFF; }},
      {"redux", 64, bodies[4].c_str(), [](Word t) { return 496 + t / 32 * 1024; }},
      {"elect", 32, bodies[5].c_str(), [](Word t) { return t == 0 ? 50 : 0; }},
  });
  const std::string tiled = "mov.u32 %r7, %r1; and.b32 %r12, %r1, 8; setp.eq.u32 %p4, %r12, 0; @%p4 bra LOW; " +
                            tiles + " bra END;\n LOW: " + tiles;
  const std::string memory =
      "st.shared.u32 [%r2], %r1; xor.b32 %r11, %r2, 64; @%p2 bra LOW; bar.warp.sync -1; ld.shared.u32 %r5, [%r11]; "
      "bra END;\n LOW: bar.warp.sync -1; ld.shared.u32 %r5, [%r11];";
  const std::string four =
      "mov.u32 %r7, %r1; and.b32 %r12, %r1, 3; setp.eq.u32 %p4, %r12, 0; setp.eq.u32 %p5, %r12, 1; "
      "setp.eq.u32 %p6, %r12, 2; @%p4 bra A; @%p5 bra B; @%p6 bra C;\n" +
      redux + " bra END;\n A: " + redux + " bra END;\n B: " + redux + " bra END;\n C: " + redux;
  const std::string again =
      "mov.u32 %r10, 0; mov.u32 %r7, %r1;\n L: @%p2 bra LOW; " + shfl + " bra NEXT;\n LOW: " + shfl +
      "\n NEXT: mov.u32 %r7, %r5; add.u32 %r10, %r10, 1; setp.lt.u32 %p4, %r10, 3; @%p4 bra L;";
  check(std::vector<Right>{
      {"tiles of sixteen", 32, tiled.c_str(), [](Word t) { return t < 16 ? 120 : 376; }},
      {"memory behind bar.warp.sync", 32, memory.c_str(), [](Word t) { return t ^ 16; }},
      {"four places", 32, four.c_str(), [](Word) { return 496; }},
      {"a loop", 32, again.c_str(), [](Word t) { return t ^ 16; }},
      {"where the others have ended", 32,
       "@!%p2 bra END; mov.u32 %r7, %r1; redux.sync.add.u32 %r5, %r7, 0xffffffff;",
       [](Word t) { return t < 16 ? 120 : 7; }},
  });
}

TEST_CASE("lanes that do not meet are found") {
  const std::string shfl = "shfl.sync.bfly.b32 %r5, %r7, 16, 31, 0xffffffff;";
  const std::vector<std::string> bodies = {
      halves(shfl, "shfl.sync.idx.b32 %r5, %r7, 16, 31, 0xffffffff;"),
      halves(shfl, "shfl.sync.bfly.b32 %r5, %r7, 16, 31, 0xffff0000;"),
      halves(shfl, "bar.sync 0;"),
      halves("redux.sync.add.u32 %r5, %r7, 0xffffffff;", "redux.sync.add.s32 %r5, %r7, 0xffffffff;"),
  };
  check(std::vector<Wrong>{
      {"other qualifiers", 32, bodies[0].c_str(), Errc::lanes_missing, {"never reach it"}},
      {"a mask that leaves out who is in the other",
       32,
       bodies[1].c_str(),
       Errc::never_written,
       {"does not name"}},
      {"a barrier", 32, bodies[2].c_str(), Errc::lanes_missing, {"never reach it"}},
      {"another type", 32, bodies[3].c_str(), Errc::lanes_missing, {"never reach it"}},
  });
}

// ---- Shared memory that the system keeps

TEST_CASE("kernels that ask for reserved shared memory have it before their own") {
  check(std::vector<Right>{
      {"where it is", 1,
       R"(mov.u32 %r10, %reserved_smem_offset_begin; mov.u32 %r11, %reserved_smem_offset_cap;
          mov.u32 %r12, %reserved_smem_offset_0; shl.b32 %r12, %r12, 16; add.u32 %r5, %r10, %r11; add.u32 %r5, %r5, %r12; and.b32 %r5, %r5, 0xffffff;)",
       [](Word) { return 1024; }},
      {"the kernel's own", 1,
       "mov.u32 %r10, %reserved_smem_offset_0; mov.u32 %r5, tile; and.b32 %r5, %r5, 0xffff;",
       [](Word) { return 1024; }},
      {"and else", 1, "mov.u32 %r5, tile; and.b32 %r5, %r5, 0xffff;", [](Word) { return 0; }},
      // Cooperative groups take 288 bytes of it, and clear their bits before they use them.
      {"room for a library", 1,
       R"(mov.u32 %r10, %reserved_smem_offset_1; mov.u32 %r11, %reserved_smem_offset_end; sub.u32 %r10, %r11, %r10;
          setp.ge.u32 %p4, %r10, 288; selp.b32 %r5, 1, 0, %p4;)",
       [](Word) { return 1; }},
      {"a barrier there", 64,
       R"(.reg .u32 start; mov.u32 start, %reserved_smem_offset_1; cvt.u64.u32 %rd4, start; cvta.shared.u64 %rd5, %rd4;
          setp.eq.u32 %p4, %r4, 0; mov.u32 %r10, 1; shl.b32 %r10, %r10, %r3; not.b32 %r11, %r10;
          @%p4 red.and.release.cta.b32 [%rd5], %r11; bar.sync 0;
          @%p4 atom.or.acq_rel.cta.b32 %r12, [%rd5], %r10; bar.sync 0; ld.u32 %r5, [%rd5]; and.b32 %r5, %r5, 3;)",
       [](Word) { return 3; }},
      {"sizes", 1,
       "mov.u32 %r10, %total_smem_size; mov.u32 %r11, %dynamic_smem_size; mov.u32 %r12, %aggr_smem_size; mov.u32 %r13, "
       "%reserved_smem_offset_1; shl.b32 %r11, %r11, 16; add.u32 %r5, %r10, %r11; sub.u32 %r12, %r12, %r10; shl.b32 %r12, "
       "%r12, 20; add.u32 %r5, %r5, %r12;",
       [](Word) { return 1024 + (1024U << 20); }},
  });
  const Result<ptx::Module> module = ptx::Module::load(kernel_text("mov.u32 %r5, %reserved_smem_offset_1;"));
  REQUIRE(module);
  CHECK(module->function("k")->shared_bytes() == 1024);  // tile
  std::vector<std::uint32_t> out(1);
  const ptx::Report report = module->function("k")->launch({.block = {1}}, {ptx::buffer(out)});
  REQUIRE(report.order_dependent.size() == 1);
  CHECK_THAT(std::string(report.order_dependent[0].why), Catch::Contains("left to the driver"));
}

TEST_CASE("reserved shared memory is known from sm_80 on") {
  std::string text = kernel_text("mov.u32 %r5, %reserved_smem_offset_1;");
  text.replace(text.find("sm_90a"), 6, "sm_80");
  CHECK(ptx::Module::load(text)->check().empty());
  text.replace(text.find("sm_80"), 5, "sm_75");
  CHECK_FALSE(ptx::Module::load(text)->check().empty());
  CHECK_FALSE(ptx::Module::load(kernel_text("mov.u32 %r5, %reserved_smem_offset_2;")).ok());
}

}  // namespace ptx_barriers_test
