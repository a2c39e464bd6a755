// SPDX-License-Identifier: Apache-2.0
// What a launch says: which side comes first, deadlocks as tables, findings in groups, and what was checked.
#include <catch2/catch.hpp>

#include "warpbit/ptx.hpp"

namespace ptx_told_test {

using namespace warpbit;
using Catch::Contains;

// A kernel of some threads with `body`, whose first line is line 12 of the text. %r1: the thread; %r2: its word of `s`; %r3: that of
// thread ^ 32; %p1: it is of warp 0.
ptx::Report launch(const std::string& body, unsigned threads, ptx::Launch how = {},
                   const std::string& directives = "") {
  const std::string text = R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out) )" +
                           directives + R"(
{
  .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<4>; .reg .f32 %f<4>;
  .shared .align 16 .b8 s[1024]; .shared .align 8 .b8 full[8];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x; mov.u32 %r2, s; shl.b32 %r4, %r1, 2; add.u32 %r2, %r2, %r4; xor.b32 %r3, %r2, 128;
  setp.lt.u32 %p1, %r1, 32; setp.eq.u32 %p2, %r1, 0; mov.u32 %r9, full; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
  mov.u32 %r10, 0;
)" + body + "\n  ret;\n}\n.file 1 \"k.cu\"\n";
  const Result<ptx::Module> module = ptx::Module::load(text);
  if (!module) FAIL(module.error().message());
  const Result<ptx::Function> function = module->function("k");
  if (!function) FAIL(function.error().message());
  std::vector<std::uint32_t> out(threads);
  how.block = {threads};
  how.step_limit = 100'000;
  ptx::Report report = function->launch(how, {ptx::buffer(out)});
  return report;
}
ptx::Launch lenient() {
  ptx::Launch how;
  how.lenient = true;
  return how;
}

// ---- Which side comes first

TEST_CASE("a race is told at the statement before which a barrier is missing") {
  // Warp 0 has loaded when warp 1 stores.
  const ptx::Report stored =
      launch("st.shared.u32 [%r2], %r1;\nld.shared.u32 %r5, [%r3];\nst.global.u32 [%rd1], %r5;", 64);
  REQUIRE(stored.fault);
  CHECK(
      stored.fault->message() ==
      "ld.shared.u32 %r5, [%r3]: bytes 0x80 to 0x83 were written by lane 0 of warp 1, and no barrier came "
      "between that write and this read; a __syncthreads "
      "must come between them\n  k, block (0, 0, 0), shared address 0x80 (s + 0x80)\n  PTX line 13: warp 0, lane 0\n"
      "  PTX line 12: warp 1, lane 0: writes bytes 0x80 to 0x83");
  // In a loop the store of the next round follows the load.
  const std::string loop =
      "L: st.shared.u32 [%r2], %r10;\nbar.sync 0;\nld.shared.u32 %r5, [%r3];\nadd.u32 %r10, %r10, 1;"
      " setp.lt.u32 %p3, %r10, 3; @%p3 bra L;";
  const ptx::Report round = launch(loop, 64);
  REQUIRE(round.fault);
  CHECK(round.fault->ptx_line == 12);
  CHECK(round.fault->other->ptx_line == 14);
  CHECK_THAT(round.fault->message(),
             Contains("st.shared.u32 [%r2], %r10: ") && Contains(" were read by lane "));
}

TEST_CASE("where warps have parted, no barrier of all is advised") {
  const ptx::Report report =
      launch("@%p1 bra A;\nld.shared.u32 %r5, [%r3]; bra END;\nA: st.shared.u32 [%r2], %r1;\nEND:", 64);
  REQUIRE(report.fault);
  CHECK_THAT(
      report.fault->message(),
      Contains(
          "; an arrival at an mbarrier and a wait for it, or a bar.sync that counts the threads of both warps, "
          "must come between them\n"));
}

TEST_CASE("bytes that nothing has written are told at the load") {
  const ptx::Report report =
      launch("ld.shared.u32 %r5, [%r2];\nadd.u32 %r5, %r5, 1;\nst.global.u32 [%rd1], %r5;", 32);
  REQUIRE(report.fault);
  CHECK(
      report.fault->message() ==
      "ld.shared.u32 %r5, [%r2]: bytes 0x0 to 0x3 of shared memory have never been written, and %r5 at PTX line 14 depends on them; "
      "they must be written before this ld\n  k, block (0, 0, 0), shared address 0x0 (s)\n"
      "  PTX line 12: warp 0, lanes 0-31\n  PTX line 14: warp 0, lanes 0-31: uses %r5");
}

TEST_CASE("a wait for too few groups of copies is where the mistake is") {
  const std::string copies =
      "cvta.global.u64 %rd1, %rd1; and.b32 %r6, %r1, 0; cp.async.ca.shared.global [%r2], [%rd1], 4;\ncp.async.commit_group;\n";
  const std::string more = "cp.async.ca.shared.global [%r2+512], [%rd1], 4;\ncp.async.commit_group;\n",
                    rest = "\nbar.sync 0;\nld.shared.u32 %r5, [%r3+512];\nst.global.u32 [%rd1], %r5;";
  const ptx::Report report = launch(copies + more + "cp.async.wait_group 1;" + rest, 64);
  REQUIRE(report.fault);
  CHECK(report.fault->ptx_line == 16);
  CHECK_THAT(
      report.fault->message(),
      Catch::StartsWith(
          "cp.async.wait_group 1: it waits for all groups but the last, and lane 0 of warp 1 accesses bytes 0x200 to 0x203, "
          "the destination of a cp.async of thread 0 that is not complete (it is in group 2 of 2); this statement must be "
          "cp.async.wait_group 0, or each step must commit a group, an empty one, too\n"));
  const ptx::Report right = launch(copies + more + "cp.async.wait_group 0;" + rest, 64);
  if (right.fault) FAIL(right.fault->message());
}

// ---- Deadlocks

TEST_CASE("a deadlock is a table of who waits where") {
  const ptx::Report report = launch("@%p1 bra A;\nbar.sync 2, 96; bra END;\nA: bar.sync 1, 64;\nEND:", 96);
  REQUIRE(report.fault);
  CHECK(
      report.fault->message() ==
      "deadlock: no thread can go on (3 warps wait at 2 places): barrier 1 counts 64 threads, and 32 have come (warps 1-2 "
      "wait at another barrier); as many threads must execute the barrier as it counts, or it must count only the "
      "threads that do\n  k, block (0, 0, 0)\n"
      "  warp 0     PTX line 14: bar.sync 1, 64  barrier 1: 1 of 2 warps has arrived\n"
      "  warps 1-2  PTX line 13: bar.sync 2, 96  barrier 2: 2 of 3 warps have arrived");
}

TEST_CASE("warps that wait for registers are the cause of those that wait for their warpgroup") {
  // 128 * 40 and 256 * 240 registers are more than the 384 * 168 that the block has.
  const ptx::Report report = launch(
      "setp.ge.u32 %p3, %r1, 128; @%p3 bra MORE;\nsetmaxnreg.dec.sync.aligned.u32 40;\nret;\n"
      "MORE: setmaxnreg.inc.sync.aligned.u32 240;\nwgmma.fence.sync.aligned;",
      384, {}, ".maxntid 384, 1, 1 .minnctapersm 1");
  REQUIRE(report.fault);
  CHECK(report.fault->error.code == Errc::deadlock);
  CHECK_THAT(
      report.fault->message(),
      Contains(
          "warps 4-11 need 18,432 more registers, and 768 were free and 16,384 were given back by warps 0-3; ") &&
          Contains("setmaxnreg.inc.sync.aligned.u32 240  2,304 more registers, and 1,024 are free\n"));
}

TEST_CASE("a phase that lacks what nobody brings is told at the object") {
  const std::string wait =
      "\nbar.sync 0;\nW: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], 0; @!%p3 bra W;";
  const ptx::Report arrivals = launch(
      "@%p2 mbarrier.init.shared::cta.b64 [%r9], 40;\nbar.sync 0;\n@%p1 mbarrier.arrive.shared::cta.b64 _, [%r9];" +
          wait,
      64);
  REQUIRE(arrivals.fault);
  CHECK(
      arrivals.fault->message() ==
      "deadlock: no thread can go on (2 warps wait at 1 place): the mbarrier at 0x400 (full) was initialised for 40 arrivals, and 32 "
      "have come; as many arrivals must come as mbarrier.init counts, or it must count fewer\n  k, block (0, 0, 0)\n"
      "  PTX line 12: warp 0, lane 0: initialises the mbarrier at 0x400 (full) for 40 arrivals\n"
      "  warps 0-1  PTX line 16: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], 0  phase 0 of the mbarrier at 0x400 (full): 32 "
      "of 40 arrivals\n"
      "  PTX line 14: warp 0, lane 31: the latest arrival at the mbarrier at 0x400 (full)");
  const ptx::Report bytes = launch(
      "@%p2 mbarrier.init.shared::cta.b64 [%r9], 1;\n@%p2 mbarrier.arrive.expect_tx.shared::cta.b64 "
      "_, [%r9], 64;" +
          wait,
      32);
  REQUIRE(bytes.fault);
  CHECK(bytes.fault->ptx_line == 13);
  REQUIRE(bytes.fault->related.size() == 1);  // its arrival is the cause
  CHECK(bytes.fault->related[0].ptx_line == 12);
  CHECK(bytes.fault->related[0].what == "initialises the mbarrier at 0x400 (full) for 1 arrival");
  CHECK_THAT(bytes.fault->message(),
             Contains("the mbarrier at 0x400 (full) expects 64 bytes in phase 0, and 0 have come; copies "));
}

TEST_CASE("where nobody begins, the wait for a free buffer is told") {
  const ptx::Report report = launch(
      "@%p2 mbarrier.init.shared::cta.b64 [%r9], 32;\n@%p2 mbarrier.init.shared::cta.b64 [s+512], 32;\nbar.sync 0;\n"
      "@!%p1 bra P;\nC: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], 0; @!%p3 bra C;\n"
      "ld.shared.u32 %r5, [%r2];\nmbarrier.arrive.shared::cta.b64 _, [s+512];\nst.global.u32 [%rd1], %r5;\nret;\n"
      "P: mbarrier.try_wait.parity.shared::cta.b64 %p3, [s+512], 0; @!%p3 bra P;\n"
      "st.shared.u32 [%r3], %r1;\nmbarrier.arrive.shared::cta.b64 _, [%r9];",
      64);
  REQUIRE(report.fault);
  CHECK_THAT(report.fault->message(),
             Contains("the first wait for a stage that is free, as this one is, must have parity 1"));
  REQUIRE(report.fault->waiting.size() == 2);
  CHECK(report.fault->waiting[0].warps == std::vector<int>{1});
  CHECK(report.fault->waiting[0].ptx_line == 21);
}

TEST_CASE("in a cluster the block is told whose wait tells most") {
  ptx::Launch how;
  how.grid = {2};
  how.cluster = Dim3{2};
  const ptx::Report report = launch(
      "mov.u32 %r11, %cluster_ctarank; add.u32 %r12, %r11, 32;\n@%p2 mbarrier.init.shared::cta.b64 [%r9], %r12;\n"
      "barrier.cluster.arrive; barrier.cluster.wait;\nmbarrier.arrive.shared::cta.b64 _, [%r9];\n"
      "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], 0; @!%p3 bra W;\n"
      "barrier.cluster.arrive; barrier.cluster.wait;",
      32, how);
  REQUIRE(report.fault);
  CHECK(report.fault->block.x == 1);
  CHECK(report.fault->ptx_line == 13);
  CHECK_THAT(report.fault->message(),
             Contains("the mbarrier at 0x400 (full) was initialised for 33 arrivals, and 32 have come"));
}

TEST_CASE("a wait that others repeat is told where their arrivals have let a race begin") {
  // Warp 0 waits for phase 0 again and again, and arrives in the place of warp 1.
  const ptx::Report report = launch(
      "setp.lt.u32 %p4, %r1, 64;\n@%p2 mbarrier.init.shared::cta.b64 [%r9], 32;\n"
      "@%p2 mbarrier.init.shared::cta.b64 [s+512], 64;\nbar.sync 0;\n@!%p4 bra P;\n"
      "C: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], 0; @!%p3 bra C;\n"
      "ld.shared.u32 %r5, [s];\nmbarrier.arrive.shared::cta.b64 _, [s+512];\n"
      "add.u32 %r10, %r10, 1; setp.lt.u32 %p3, %r10, 3; @%p3 bra C;\nst.global.u32 [%rd1], %r5;\nret;\n"
      "P: and.b32 %r6, %r10, 1; xor.b32 %r6, %r6, 1;\n"
      "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [s+512], %r6; @!%p3 bra W;\n"
      "st.shared.u32 [s], %r10;\nmbarrier.arrive.shared::cta.b64 _, [%r9];\n"
      "add.u32 %r10, %r10, 1; setp.lt.u32 %p3, %r10, 3; @%p3 bra P;",
      96);
  REQUIRE(report.fault);
  CHECK(report.fault->error.code == Errc::phase_mistaken);
  CHECK(report.fault->ptx_line == 17);
  CHECK_THAT(
      report.fault->message(),
      Contains(
          "[%r9], 0: this warp has waited for phase 0 (parity 0) of the mbarrier at 0x400 (full) before, so this "
          "wait goes on at once; the parity must follow from how often the object has been used\n"));
}

TEST_CASE("a store to a barrier object in use is told at the store") {
  const ptx::Report report = launch(
      "@%p2 mbarrier.init.shared::cta.b64 [%r9], 1;\nbar.sync 0;\n@%p1 bra A;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 %p3, [%r9], 0; bra END;\nA: st.shared.u32 [%r9], 0;\nEND:",
      64);
  REQUIRE(report.fault);
  CHECK(report.fault->rule == KernelRule::mbarrier_overwritten);
  CHECK_THAT(report.fault->message(),
             Catch::StartsWith("st.shared.u32 [%r9], 0: it overwrites the mbarrier at 0x400 (full), "
                               "which is in use; "));
}

TEST_CASE("what is on its way when a block ends is told with what began it") {
  const auto found = [](const std::string& body) {
    const ptx::Report report = launch(body, 32);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].fault.rule == KernelRule::pending_at_end);
    return report.findings[0].fault;
  };
  const std::string copy =
      "@%p2 st.shared.v4.u32 [%r2], {%r1, %r1, %r1, %r1}; @%p2 fence.proxy.async;\n"
      "@%p2 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 16;\n";
  CHECK_THAT(found(copy).message(), Contains("is in no group that can be waited for; this thread must execute "
                                             "cp.async.bulk.commit_group after it"));
  CHECK_THAT(found(copy + "@%p2 cp.async.bulk.commit_group;").message(),
             Contains("has not been waited for; this thread must execute cp.async.bulk.wait_group.read 0"));
  const Fault arrival = found("barrier.cluster.arrive.aligned;");
  REQUIRE(arrival.other);
  CHECK(arrival.other->ptx_line == 12);
}

TEST_CASE("who lacks others of its warp is told") {
  const ptx::Report report = launch("@!%p2 ret;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r2];", 32);
  REQUIRE(report.fault);
  CHECK_THAT(
      report.fault->message(),
      Contains("lanes 1-31 have ended; ") &&
          Catch::EndsWith("PTX line 13: warp 0, lane 0\n  PTX line 12: warp 0, lanes 1-31: here they ended"));
}

// ---- Both values

TEST_CASE("of stores that differ both values are told, and how far they are apart") {
  const auto message = [](const std::string& store) {
    const ptx::Report report = launch(
        "mov.f32 %f1, 0f4126A740; @%p1 mov.f32 %f1, 0f4126A741; mov.b32 %r5, %f1;\nmov.u32 %r2, s;\n" + store,
        64, lenient());
    REQUIRE(report.findings.size() == 1);
    return report.findings[0].fault.message();
  };
  CHECK_THAT(
      message("st.shared.f32 [%r2], %f1;"),
      Contains(" (that lane stores 0x4126a741, this one 0x4126a740, as f32 1 unit in the last place apart); "));
  CHECK_THAT(message("st.shared.b32 [%r2], %r5;"),
             Contains(" 0x4126a740, as f32 1 unit in the last place apart); "));
  CHECK_THAT(message("selp.f32 %f1, 0f3F800000, 0fC2010000, %p1; st.shared.f32 [%r2], %f1;"),
             Contains(" (that lane stores 0x3f800000, this one 0xc2010000, as f32 1 and -32.25); "));
  CHECK_THAT(message("st.shared.u32 [%r2], %r5;"),
             Contains("(that lane stores 0x4126a741, this one 0x4126a740); "));
  CHECK_THAT(
      message("selp.u32 %r6, 5, 1073741824, %p1; st.shared.b32 [%r2], %r6;"),
      Contains(
          " and no barrier came between that write and this one (that lane stores 0x00000005, this one 0x40000000); "));
}

// ---- Groups of findings

TEST_CASE("one missing barrier is one finding, whose consequences stand below it") {
  const std::string body =
      ".loc 1 5 1\nst.shared.u32 [%r2], %r1;\n.loc 1 6 1\nst.shared.u32 [%r2+512], %r1;\n"
      ".loc 1 8 1\nld.shared.u32 %r5, [%r3];\nld.shared.u32 %r6, [%r3+512];\n.loc 1 9 1\nadd.u32 %r5, %r5, %r6;\n"
      "st.global.u32 [%rd1], %r5;";
  const ptx::Report report = launch(body, 128, lenient());
  std::size_t roots = 0;
  for (const ptx::Finding& one : report.findings) roots += one.cause < 0 ? 1 : 0;
  CHECK(roots == 1);
  REQUIRE_FALSE(report.findings.empty());
  // Once for each pair of lines, whichever came first.
  std::vector<std::pair<unsigned, unsigned>> pairs;
  for (const ptx::Finding& one : report.findings)
    if (one.fault.rule == KernelRule::data_race)
      pairs.emplace_back(std::min(one.fault.at.line, one.fault.other->at.line),
                         std::max(one.fault.at.line, one.fault.other->at.line));
  std::ranges::sort(pairs);
  CHECK(pairs == std::vector<std::pair<unsigned, unsigned>>{{5, 8}, {6, 8}});
}

TEST_CASE("a finding counts who did it, and in how many blocks") {
  ptx::Launch how = lenient();
  how.grid = {3};
  const ptx::Report report = launch("st.shared.u32 [%r2], %r1;\nld.shared.u32 %r5, [%r3];", 64, how);
  CHECK_FALSE(report.findings.empty());
  for (const ptx::Finding& one : report.findings) {
    INFO(one.fault.message());
    CHECK(one.blocks == 3);
    CHECK(one.times % 3 == 0);
    if (one.fault.rule == KernelRule::data_race) {
      CHECK(one.lanes.size() > 1);
      CHECK_THAT(one.more(), Contains(" more like it: warp") && Catch::EndsWith(", in 3 blocks"));
    }
  }
}

// ---- What was checked

TEST_CASE("a launch says what it looked at") {
  ptx::Launch how;
  how.grid = {2};
  const ptx::Report report = launch(
      "st.shared.u32 [%r2], %r1;\nbar.sync 0;\nld.shared.u32 %r5, [%r3];\n"
      "cp.async.ca.shared.global [%r2+512], [%rd1], 4;\ncp.async.wait_all;",
      64, how);
  if (report.fault) FAIL(report.fault->message());
  CHECK(report.checked.barriers == 2);
  CHECK(report.checked.copies == 2 * 64);
  CHECK(report.checked.products == 0);
  CHECK(report.checked.shared >= 2 * 2 * 64);
  CHECK(report.checked.not_looked_for.empty());
  how.check_global = false;
  how.grades = {{"data_race", Grade::silent}};
  CHECK(launch("bar.sync 0;", 32, how).checked.not_looked_for ==
        std::vector<std::string>{"races in global memory", "the rule data_race"});
  how.check_shared = false;
  CHECK(launch("bar.sync 0;", 32, how).checked.not_looked_for ==
        std::vector<std::string>{"any rule of kernels"});
}

TEST_CASE("counts are told in groups of three digits") {
  ptx::Checked checked;
  CHECK(checked.text() == "checked 0 shared and 0 global accesses");
  checked = {12288, 999, 1, 2, 1000, {}};
  CHECK(checked.text() == "checked 12,288 shared and 999 global accesses, 1 barrier, 2 copies, 1,000 products");
}

/// What is said of a module with one product that A100s and H100s compute otherwise.
std::string said_of_product(const std::string& written, std::optional<Target> target = {}) {
  const auto module = ptx::Module::load(".version 8.0\n.target " + written + R"(
.address_size 64
.visible .entry k() {
  .reg .b32 %r<4>; .reg .f32 %f<4>;
  mov.b32 %r0, 0; mov.b32 %r1, 0; mov.b32 %r2, 0;
  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1}, {%r2}, {0f00000000, 0f00000000, 0f00000000, 0f00000000};
  ret;
})",
                                        target);
  REQUIRE(module);
  const ptx::Report report = module->function("k").value().launch({.grid = {1}, .block = {32}}, {});
  return report.notes.empty() ? "-" : report.notes.at(0).text;
}

TEST_CASE("a module without a target of its GPU says where bits may differ", "[quick]") {
  CHECK_THAT(said_of_product("sm_80"),
             Contains("computed as on sm_80 (.target sm_80): its last bits may differ on ") &&
                 Contains("sm_90") && Contains("--target "));
  CHECK(said_of_product("sm_80", Target::find_ptx("sm_80").value()) == "-");
  CHECK(said_of_product("sm_80", Target::find_ptx("sm_90").value()) == "-");
  CHECK(said_of_product("sm_90a") == "-");
}

}  // namespace ptx_told_test
