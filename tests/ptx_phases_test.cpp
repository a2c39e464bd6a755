// SPDX-License-Identifier: Apache-2.0
// Phases of barriers: arrivals, bytes and states that may belong to another one, and objects that become data. Each kernel with its
// neighbour, which is silent.
#include <catch2/catch.hpp>

#include "warpbit/ptx.hpp"

namespace ptx_phases_test {

using namespace warpbit;

// A kernel of some threads with `body`, whose first line is line 12 of the text. %r1: the thread; %r2: its word of `s`; %r3, %r4: those
// of thread ^ 32 and thread ^ 16; %p1: it is of warp 0; %p2: it is thread 0; %p3: of the lower half of its warp. `full` is initialised
// for `count`, at address %r9.
std::string first_line(const std::string& body, unsigned threads, int count, bool narrow = true) {
  const std::string text = R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<4>;
  .shared .align 16 .b8 s[1024]; .shared .align 8 .b8 full[8];
  ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, s; shl.b32 %r4, %r1, 2; add.u32 %r2, %r2, %r4;
  xor.b32 %r3, %r2, 128; xor.b32 %r4, %r2, 64; setp.lt.u32 %p1, %r1, 32; setp.eq.u32 %p2, %r1, 0; mov.u32 %r9, full;
  mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; and.b32 %r5, %r1, 16; setp.eq.u32 %p3, %r5, 0;
  @%p2 mbarrier.init.shared::cta.b64 [%r9], )" +
                           std::to_string(count) + "; bar.sync 0;\n" + body + "\n  ret;\n}\n";
  const Result<ptx::Module> module = ptx::Module::load(text);
  if (!module) FAIL(module.error().message());
  const Result<ptx::Function> function = module->function("k");
  if (!function) FAIL(function.error().message());
  std::vector<std::uint32_t> out(threads);
  ptx::Launch how;
  how.block = {threads};
  if (!narrow) how.grades = {{"barrier_of_other_warps", Grade::silent}};
  const ptx::Report report = function->launch(how, {ptx::buffer(out)});
  const Fault* const found = report.fault              ? &*report.fault
                             : report.findings.empty() ? nullptr
                                                       : &report.findings[0].fault;
  return found == nullptr ? "" : found->message().substr(0, found->message().find('\n'));
}

struct Pair {
  const char* name;
  unsigned threads;
  int count;  // of `full`
  const char *wrong, *right, *says;
  int right_count;  // of `full` in the right one
};

const Pair kPairs[] = {
    {"an mbarrier that becomes data", 64, 64,
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\n"
     "bar.sync 0;\n"
     "@%p2 st.shared.u32 [%r9], 7;",
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\n"
     "bar.sync 0;\n"
     "@%p2 mbarrier.inval.shared::cta.b64 [%r9];\n"
     "@%p2 st.shared.u32 [%r9], 7;",
     "st.shared.u32 [%r9], 7: it overwrites the mbarrier at 0x400 (full), and no mbarrier.inval came "
     "between mbarrier.init and this statement; execute mbarrier.inval before the bytes become data, "
     "or store the data elsewhere",
     64},
    {"an mbarrier that becomes data, and one again", 64, 64,
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\n"
     "bar.sync 0;\n"
     "@%p2 st.shared.u32 [%r9+4], 7;\n"
     "@%p2 mbarrier.init.shared::cta.b64 [%r9], 64;",
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\n"
     "bar.sync 0;\n"
     "@%p2 mbarrier.inval.shared::cta.b64 [%r9];\n"
     "@%p2 st.shared.u32 [%r9+4], 7;\n"
     "@%p2 mbarrier.init.shared::cta.b64 [%r9], 64;",
     "st.shared.u32 [%r9+4], 7: it overwrites the mbarrier at 0x400 (full), and no mbarrier.inval "
     "came between mbarrier.init and this statement; execute mbarrier.inval before the bytes become "
     "data, or store the data elsewhere",
     64},
    {"an mbarrier that is initialised again, and becomes data", 64, 64,
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\n"
     "bar.sync 0;\n"
     "@%p2 mbarrier.init.shared::cta.b64 [%r9], 64;\n"
     "@%p2 st.shared.u32 [%r9], 7;",
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\n"
     "bar.sync 0;\n"
     "@%p2 mbarrier.inval.shared::cta.b64 [%r9];\n"
     "@%p2 mbarrier.init.shared::cta.b64 [%r9], 64;\n"
     "@%p2 st.shared.u32 [%r9], 7;",
     "st.shared.u32 [%r9], 7: it overwrites the mbarrier at 0x400 (full), and no mbarrier.inval came between mbarrier.init "
     "and this statement; execute mbarrier.inval before the bytes become data, or store the data elsewhere",
     64},
    {"the state of the last phase but one", 64, 64,
     "mbarrier.arrive.shared::cta.b64 %rd3, [%r9];\n"
     "W: mbarrier.try_wait.shared::cta.b64 %p4, [%r9], %rd3; @!%p4 bra W;\n"
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "V: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 1; @!%p4 bra V;\n"
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "bar.sync 0;\n"
     "mov.b64 %rd0, %rd3;\n"
     "U: mbarrier.try_wait.shared::cta.b64 %p4, [%r9], %rd0; @!%p4 bra U;\n",
     "mbarrier.arrive.shared::cta.b64 %rd3, [%r9];\n"
     "W: mbarrier.try_wait.shared::cta.b64 %p4, [%r9], %rd3; @!%p4 bra W;\n"
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "V: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 1; @!%p4 bra V;\n"
     "mbarrier.arrive.shared::cta.b64 %rd3, [%r9];\n"
     "bar.sync 0;\n"
     "mov.b64 %rd0, %rd3;\n"
     "U: mbarrier.try_wait.shared::cta.b64 %p4, [%r9], %rd0; @!%p4 bra U;\n",
     "mbarrier.try_wait.shared::cta.b64 %p4, [%r9], %rd0: this state is of phase 0 of the mbarrier "
     "at 0x400 (full), and phase 3 is at hand; it must be the state of an arrival in phase 2 or 3",
     64},
    {"a thread that arrives twice in a phase", 64, 64,
     "st.shared.u32 [%r2], %r1;\n"
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "@%p2 mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\n"
     "ld.shared.u32 %r7, [%r3]; st.global.u32 [%rd1], %r7;",
     "st.shared.u32 [%r2], %r1;\n"
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\n"
     "@%p2 mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "ld.shared.u32 %r7, [%r3]; st.global.u32 [%rd1], %r7;",
     "mbarrier.arrive.shared::cta.b64 _, [%r9]: phase 1 of the mbarrier at 0x400 (full) has had 1 of "
     "64 arrivals when the block ends, and nothing orders the end of phase 0 before this arrival, "
     "which may count there instead of another thread's; mbarrier.init must count all arrivals of a "
     "phase (it counts 64), or a wait must come before a thread arrives again",
     64},
    {"pairs of warps at one barrier", 128, 64,
     "st.shared.u32 [%r2], %r1;\n"
     "bar.sync 1, 64;\n"
     "shr.u32 %r6, %r1, 6; setp.eq.u32 %p5, %r6, 0;",
     "st.shared.u32 [%r2], %r1;\n"
     "shr.u32 %r6, %r1, 6; add.u32 %r6, %r6, 1;\n"
     "bar.sync %r6, 64;\n",
     "bar.sync 1, 64: barrier 1 counts 64 threads, warps 0, 3 have met there, and nothing orders "
     "that before warp 1 comes, which may meet one of them instead; it must count the threads of all "
     "warps that come to it, or warps that meet without these must use another one",
     64},
    {"pairs of warps at one barrier one after the other", 128, 64,
     "setp.lt.u32 %p5, %r1, 64; @!%p5 bra SECOND;\n"
     "bar.sync 1, 64; bra END;\n"
     "SECOND: bar.sync 1, 64;\n"
     "END:",
     "setp.lt.u32 %p5, %r1, 64; @!%p5 bra SECOND;\n"
     "bar.sync 1, 64;\n"
     "bar.sync 0; bra END;\n"
     "SECOND: bar.sync 0;\n"
     "bar.sync 1, 64;\n"
     "END:",
     "bar.sync 1, 64: barrier 1 counts 64 threads, warps 0, 3 have met there, and nothing orders "
     "that before warp 1 comes, which may meet one of them instead; it must count the threads of all "
     "warps that come to it, or warps that meet without these must use another one",
     64},
    {"bytes that are expected behind the only arrival", 32, 1,
     "@!%p2 bra C;\n"
     "fence.mbarrier_init.release.cluster; fence.proxy.async;\n"
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r9], 64;\n"
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 64, [%r9];\n"
     "C: bar.warp.sync -1;\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\n"
     "ld.shared.u32 %r7, [s+32];",
     "@!%p2 bra C;\n"
     "fence.mbarrier_init.release.cluster; fence.proxy.async;\n"
     "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r9], 64;\n"
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 64, [%r9];\n"
     "C: bar.warp.sync -1;\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\n"
     "ld.shared.u32 %r7, [s+32];",
     "ld.shared.u32 %r7, [s+32]: bytes 0x20 to 0x23 are written by a bulk copy of lane 0 of warp 0, "
     "which has not been waited for (the mbarrier at 0x400 (full) expects bytes in phase 1, behind "
     "the last arrival of phase 0, and nobody has arrived in phase 1); mbarrier.expect_tx must come "
     "before the last arrival of phase 0",
     1},
    {"a wait for a phase that such bytes keep open", 32, 1,
     "@!%p2 bra C;\n"
     "fence.mbarrier_init.release.cluster; fence.proxy.async;\n"
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r9], 64;\n"
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 64, [%r9];\n"
     "C: bar.warp.sync -1;\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 1; @!%p4 bra W;\n",
     "@!%p2 bra C;\n"
     "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r9], 0;\n"
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "C: bar.warp.sync -1;\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\n",
     "deadlock: no thread can go on (1 warp waits at 1 place): the mbarrier at 0x400 (full) expects "
     "bytes in phase 1, behind the last arrival of phase 0, and nobody has arrived in phase 1; "
     "mbarrier.expect_tx must come before the last arrival of phase 0",
     1},
    {"a wait that leaves out a phase", 64, 32,
     "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "bar.sync 0;\n"
     "@%p1 bra END;\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 1; @!%p4 bra W;\n"
     "END:",
     "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "bar.sync 0;\n"
     "@%p1 bra END;\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\n"
     "END:",
     "deadlock: no thread can go on (1 warp waits at 1 place): this warp waits for phase 1 (parity "
     "1) of the mbarrier at 0x400 (full), and has not waited for phase 0 (parity 0), which is "
     "complete; its parity must be that of the first phase that it has not waited for",
     32},
    {"lanes that meet at two statements", 32, 64,
     "st.shared.u32 [%r2], %r1;\n"
     "@!%p3 bra LATE;\n"
     "bar.warp.sync -1;\n"
     "st.shared.u32 [%r2+512], %r1;\n"
     "LATE: bar.warp.sync -1;\n"
     "ld.shared.u32 %r7, [%r4+512];",
     "st.shared.u32 [%r2], %r1;\n"
     "st.shared.u32 [%r2+512], %r1;\n"
     "bar.warp.sync -1;\n"
     "ld.shared.u32 %r7, [%r4+512];",
     "ld.shared.u32 %r7, [%r4+512]: bytes 0x200 to 0x203 were written by lane 0 of warp 0, and at "
     "the bar.warp.sync between that write and this read (PTX line 16) lanes 16-31 met lanes 0-15, "
     "which were at another one (PTX line 14); the masks must be those of the lanes that come to the "
     "same statement, or a __syncwarp must come between them, or a __syncthreads if other warps use "
     "these bytes, too",
     64},
    {"a thread that arrives twice in each phase", 64, 64,
     "mov.u32 %r8, 0;\n"
     "R: st.shared.u32 [%r2], %r1;\n"
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "@%p2 mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "and.b32 %r6, %r8, 1;\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], %r6; @!%p4 bra W;\n"
     "ld.shared.u32 %r7, [%r3]; add.u32 %r2, %r2, 256; add.u32 %r3, %r3, 256;\n"
     "and.b32 %r6, %r8, 1; setp.eq.u32 %p5, %r6, 0; @%p5 bra S; sub.u32 %r2, %r2, 512; sub.u32 %r3, "
     "%r3, 512;\n"
     "S: add.u32 %r8, %r8, 1; setp.lt.u32 %p5, %r8, 4; @%p5 bra R;",
     "mov.u32 %r8, 0;\n"
     "R: st.shared.u32 [%r2], %r1;\n"
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "@%p2 mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "and.b32 %r6, %r8, 1;\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], %r6; @!%p4 bra W;\n"
     "ld.shared.u32 %r7, [%r3]; add.u32 %r2, %r2, 256; add.u32 %r3, %r3, 256;\n"
     "and.b32 %r6, %r8, 1; setp.eq.u32 %p5, %r6, 0; @%p5 bra S; sub.u32 %r2, %r2, 512; sub.u32 %r3, "
     "%r3, 512;\n"
     "S: add.u32 %r8, %r8, 1; setp.lt.u32 %p5, %r8, 4; @%p5 bra R;",
     "st.shared.u32 [%r2], %r1: bytes 0x1f8 to 0x1fb were read by lane 30 of warp 0, and between "
     "that read and this write warp 1 arrived at the mbarrier at 0x400 (full), and did not wait for "
     "that phase; its mbarrier.init must count all 65 arrivals of a phase (it counts 64, and lane 0 "
     "of warp 0 arrives at PTX lines 14 and 15), or a __syncthreads must come between them",
     65},
};

TEST_CASE("what belongs to another phase than was meant is told") {
  for (const Pair& one : kPairs) {
    INFO(one.name);
    CHECK(first_line(one.wrong, one.threads, one.count) == one.says);
    CHECK(first_line(one.right, one.threads, one.right_count) == "");
  }
}

struct Right {
  const char* name;
  unsigned threads;
  int count;
  const char* body;
};

const Right kRight[] = {
    {"data where an object was initialised that nobody has used", 64, 64, "@%p2 st.shared.u32 [%r9], 7;"},
    {"all arrive twice before they wait for the second phase", 64, 64,
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 1; @!%p4 bra W;\n"},
    {"a state that is copied in a loop", 64, 64,
     "mov.u32 %r8, 0;\n"
     "mbarrier.arrive.shared::cta.b64 %rd3, [%r9];\n"
     "R: mov.b64 %rd0, %rd3;\n"
     "W: mbarrier.try_wait.shared::cta.b64 %p4, [%r9], %rd0; @!%p4 bra W;\n"
     "mbarrier.arrive.shared::cta.b64 %rd3, [%r9];\n"
     "add.u32 %r8, %r8, 1; setp.lt.u32 %p5, %r8, 5; @%p5 bra R;"},
    {"a state of the phase before", 64, 64,
     "mbarrier.arrive.shared::cta.b64 %rd3, [%r9];\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\n"
     "bar.sync 0;\n"
     "U: mbarrier.try_wait.shared::cta.b64 %p4, [%r9], %rd3; @!%p4 bra U;\n"},
    {"other warps come to a barrier behind an mbarrier", 128, 64,
     "setp.lt.u32 %p5, %r1, 64; @!%p5 bra C;\n"
     "bar.sync 1, 64;\n"
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "bra END;\n"
     "C: \n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\n"
     "bar.sync 1, 64;\n"
     "END:"},
    {"other warps come to a barrier behind a volatile flag", 128, 64,
     "@%p2 st.shared.u32 [s], 0;\n"
     "bar.sync 0;\n"
     "setp.lt.u32 %p5, %r1, 64; @!%p5 bra C;\n"
     "bar.sync 1, 64;\n"
     "@%p2 st.volatile.shared.u32 [s], 1;\n"
     "bra END;\n"
     "C: ld.volatile.shared.u32 %r6, [s]; setp.eq.u32 %p6, %r6, 0; @%p6 bra C;\n"
     "bar.sync 1, 64;\n"
     "END:"},
    {"a producer and a consumer that arrive in turn", 64, 64,
     "mov.u32 %r8, 0; @!%p1 bra C;\n"
     "P: bar.sync 2, 64; st.shared.u32 [%r2], %r1; bar.arrive 1, 64;\n"
     "add.u32 %r8, %r8, 1; setp.lt.u32 %p5, %r8, 3; @%p5 bra P; bra END;\n"
     "C: bar.arrive 2, 64; bar.sync 1, 64; ld.shared.u32 %r7, [%r3];\n"
     "add.u32 %r8, %r8, 1; setp.lt.u32 %p5, %r8, 3; @%p5 bra C;\n"
     "END:"},
    {"an arrival that is left over behind a wait", 64, 64,
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\n"
     "@%p2 mbarrier.arrive.shared::cta.b64 _, [%r9];\n"},
};

TEST_CASE("phases that are known to be complete are") {
  for (const Right& one : kRight) {
    INFO(one.name);
    CHECK(first_line(one.body, one.threads, one.count) == "");
  }
}

TEST_CASE("a warp that waits at a barrier which counts too few is told") {
  CHECK(
      first_line("st.shared.u32 [%r2], %r1;\nbar.sync 1, 64;\n@!%p1 ld.shared.u32 %r7, [s+128];", 96, 64,
                 false) ==
      "ld.shared.u32 %r7, [s+128]: bytes 0x80 to 0x83 were written by lane 0 of warp 1, and at the bar.sync "
      "between that write and this read (barrier 1) warps 0, 2 met, without warp 1; that barrier must count the "
      "threads of all warps that come to it (it counts 64, and warp 1 waits there), or a __syncthreads must come "
      "between them");
}

}  // namespace ptx_phases_test
