// SPDX-License-Identifier: Apache-2.0
// What came between the sides of a race in shared memory, and does not order them, and what was done too early. Each with its
// neighbour, which is silent.
#include <algorithm>
#include <catch2/catch.hpp>

#include "warpbit/ptx.hpp"

namespace ptx_between_test {

using namespace warpbit;

// A kernel of some threads with `body`, whose first line is line 12 of the text. %r1: the thread; %r2: its word of `s`; %r3, %r4: those
// of thread ^ 32 and thread ^ 16; %p1: it is of warp 0; %p3: of the lower half of its warp. `full` is initialised for `count`.
std::string message(const std::string& body, unsigned threads, int count = 64, unsigned blocks = 1) {
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
  std::vector<std::uint32_t> out(512);
  ptx::Launch how;
  how.block = {threads};
  how.grid = {blocks};
  if (blocks > 1) how.cluster = Dim3{blocks};
  const ptx::Report report = function->launch(how, {ptx::buffer(out)});
  if (report.fault) return report.fault->message();
  return report.findings.empty() ? "" : report.findings[0].fault.message();
}

struct Pair {
  const char* name;
  unsigned threads;
  int count;  // of `full`
  const char *wrong, *right, *says;
};

const Pair kPairs[] = {
    {"a bar.warp.sync of too few lanes", 32, 64,
     "st.shared.u32 [%r2], %r1;\nselp.b32 %r6, 0xffff, 0xffff0000, %p3;\nbar.warp.sync %r6;\nld.shared.u32 %r7, [%r4];\n"
     "st.global.u32 [%rd1], %r7;",
     "st.shared.u32 [%r2], %r1;\nbar.warp.sync -1;\nld.shared.u32 %r7, [%r4];\nst.global.u32 [%rd1], %r7;",
     "ld.shared.u32 %r7, [%r4]: bytes 0x40 to 0x43 were written by lane 16 of warp 0, and the bar.warp.sync "
     "between that write and this read had the mask 0x0000ffff, without lane 16; its mask must have lane 16, "
     "or a __syncwarp must come between them, or a __syncthreads if other warps use these bytes, too\n  k, block (0, 0, 0), shared address 0x40 (s "
     "+ 0x40)\n  PTX line 15: warp 0, lane 0\n  PTX line 12: warp 0, lane 16: writes bytes 0x40 to 0x43\n  PTX "
     "line 14: warp 0, lanes 0-31: the bar.warp.sync"},
    {"a shfl.sync, which orders no memory", 32, 64,
     "st.shared.u32 [%r2], %r1;\nshfl.sync.idx.b32 %r6, %r1, 0, 31, -1;\nld.shared.u32 %r7, [%r4];\nst.global.u32 [%rd1], %r7;",
     "st.shared.u32 [%r2], %r1;\nbar.warp.sync -1;\nld.shared.u32 %r7, [%r4];\nst.global.u32 [%rd1], %r7;",
     "ld.shared.u32 %r7, [%r4]: bytes 0x40 to 0x43 were written by lane 16 of warp 0, and the shfl.sync.idx.b32 between that "
     "write and this read orders no memory; a __syncwarp must come between them, or a __syncthreads if other warps use these "
     "bytes, too\n  k, block (0, 0, 0), shared address 0x40 (s + 0x40)\n  PTX line 14: warp 0, lane 0\n  PTX line 12: warp 0, "
     "lane 16: writes bytes 0x40 to 0x43\n  PTX line 13: warp 0, lanes 0-31: the lanes meet"},
    {"a bar.warp.sync of the other lane alone", 32, 64,
     "@!%p2 st.shared.u32 [%r2], %r1; bar.warp.sync -1;\n@!%p2 bra NEXT;\nst.shared.u32 [s], 7;\nbar.warp.sync 1;\nNEXT:\n"
     "ld.shared.u32 %r7, [s];\nst.global.u32 [%rd1], %r7;",
     "@!%p2 st.shared.u32 [%r2], %r1; bar.warp.sync -1;\n@!%p2 bra NEXT;\nst.shared.u32 [s], 7;\nNEXT:\nbar.warp.sync -1;\n"
     "ld.shared.u32 %r7, [s];\nst.global.u32 [%rd1], %r7;",
     "ld.shared.u32 %r7, [s]: bytes 0x0 to 0x3 were written by lane 0 of warp 0, and the bar.warp.sync between that write and "
     "this read had the mask 0x00000001, without lane 1; its mask must have lane 1, or a __syncwarp must come between them, or "
     "a __syncthreads if other warps use these bytes, too\n  k, block (0, 0, 0), shared address 0x0 (s)\n  PTX line 17: warp "
     "0, lane 1\n  PTX line 14: warp 0, lane 0: writes bytes 0x0 to 0x3\n  PTX line 15: warp 0, lanes 0-31: the bar.warp.sync"},
    {"a barrier by half of the lanes", 64, 64,
     "st.shared.u32 [%r2], %r1;\n@!%p3 bra BEHIND;\nbar.sync 0;\nBEHIND:\nld.shared.u32 %r7, [%r3];\nst.global.u32 [%rd1], %r7;",
     "st.shared.u32 [%r2], %r1;\nbar.sync 0;\nld.shared.u32 %r7, [%r3];\nst.global.u32 [%rd1], %r7;",
     "ld.shared.u32 %r7, [%r3]: bytes 0x40 to 0x43 were written by lane 16 of warp 0, and lanes 0-15 of warp 1 "
     "alone have come to the bar.sync between that write and this read; all threads must execute that barrier, "
     "or a __syncthreads must come between them\n  k, block (0, 0, 0), shared address 0x40 (s + 0x40)\n  PTX "
     "line 16: warp 1, lane 16\n  PTX line 12: warp 0, lane 16: writes bytes 0x40 to 0x43\n  PTX line 14: warp "
     "1, lanes 0-15: these lanes wait"},
    {"a barrier of other warps", 128, 64,
     "st.shared.u32 [%r2], %r1;\nbar.sync 1, 64;\nxor.b32 %r3, %r2, 256;\nld.shared.u32 %r7, [%r3];\n"
     "st.global.u32 [%rd1], %r7;",
     "st.shared.u32 [%r2], %r1;\nshr.u32 %r6, %r1, 5; and.b32 %r6, %r6, 1; add.u32 %r6, %r6, 1;\nbar.sync %r6, 64;\n"
     "xor.b32 %r3, %r2, 256;\nld.shared.u32 %r7, [%r3];\nst.global.u32 [%rd1], %r7;",
     "st.shared.u32 [%r2], %r1: bytes 0x100 to 0x103 were read by lane 0 of warp 0 before they were written, and at the bar.sync "
     "between this write and that read (barrier 1) warps 0, 3 met, without warp 2; a __syncthreads must come "
     "between them\n  k, block (0, 0, 0), shared address 0x100 (s + 0x100)\n  PTX line 12: warp 2, lane 0\n  "
     "PTX line 15: warp 0, lane 0: reads bytes 0x100 to 0x103\n  PTX line 13: warp 0, lanes 0-31: the bar.sync"},
    {"an arrival at a barrier without a wait", 64, 64,
     "st.shared.u32 [%r2], %r1;\nbar.arrive 1, 64;\nld.shared.u32 %r7, [%r3];\nst.global.u32 [%rd1], %r7;",
     "st.shared.u32 [%r2], %r1;\nbar.sync 1, 64;\nld.shared.u32 %r7, [%r3];\nst.global.u32 [%rd1], %r7;",
     "st.shared.u32 [%r2], %r1: bytes 0x0 to 0x3 were read by lane 0 of warp 1 before they were written, and between this write and that "
     "read warp 1 arrived at barrier 1, and did not wait; a bar.sync that counts the threads of both warps "
     "must come between them (bar.arrive waits for nobody)\n  k, block (0, 0, 0), shared address 0x0 (s)\n  "
     "PTX line 12: warp 0, lane 0\n  PTX line 14: warp 1, lane 0: reads bytes 0x0 to 0x3\n  PTX line 13: warp "
     "1, lanes 0-31: arrives"},
    {"an arrival at an mbarrier without a wait", 64, 64,
     "st.shared.u32 [%r2], %r1;\nmbarrier.arrive.shared::cta.b64 _, [%r9];\nld.shared.u32 %r7, [%r3];\n"
     "st.global.u32 [%rd1], %r7;",
     "st.shared.u32 [%r2], %r1;\nmbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\nld.shared.u32 %r7, [%r3];\n"
     "st.global.u32 [%rd1], %r7;",
     "ld.shared.u32 %r7, [%r3]: bytes 0x0 to 0x3 were written by lane 0 of warp 0, and between that write and "
     "this read warp 1 arrived at the mbarrier at 0x400 (full), and did not wait for that phase; a "
     "__syncthreads must come between them\n  k, block (0, 0, 0), shared address 0x0 (s)\n  PTX line 14: warp "
     "1, lane 0\n  PTX line 12: warp 0, lane 0: writes bytes 0x0 to 0x3\n  PTX line 13: warp 1, lane 0: arrives"},
    {"an mbarrier that counts one warp", 64, 32,
     "st.shared.u32 [%r2], %r1;\nmbarrier.arrive.shared::cta.b64 %rd3, [%r9];\n"
     "W: mbarrier.try_wait.shared::cta.b64 %p4, [%r9], %rd3; @!%p4 bra W;\nld.shared.u32 %r7, [%r3];\n"
     "st.global.u32 [%rd1], %r7;",
     "st.shared.u32 [%r2], %r1;\nbar.warp.sync -1; and.b32 %r6, %r1, 1; setp.ne.u32 %p5, %r6, 0;\n"
     "@!%p5 mbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\nld.shared.u32 %r7, [%r3];\n"
     "st.global.u32 [%rd1], %r7;",
     "st.shared.u32 [%r2], %r1: bytes 0x0 to 0x3 were read by lane 0 of warp 1 before they were written, and between this write and that "
     "read warp 1 arrived at the mbarrier at 0x400 (full), and waited for a phase that was complete without "
     "warp 0; its mbarrier.init must count all threads that arrive there (it counts 32), or a __syncthreads "
     "must come between them\n  k, block (0, 0, 0), shared address 0x0 (s)\n  PTX line 12: warp 0, lane 0\n  "
     "PTX line 15: warp 1, lane 0: reads bytes 0x0 to 0x3\n  PTX line 13: warp 1, lane 0: arrives"},
    {"an arrival at an mbarrier before the read", 64, 32,
     "@%p1 bra WAIT;\nmbarrier.arrive.shared::cta.b64 _, [%r9];\nld.shared.u32 %r7, [%r3];\nst.global.u32 [%rd1], %r7; bra END;\n"
     "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra WAIT;\nst.shared.u32 [%r2], %r1;\nEND:",
     "st.shared.u32 [%r2], %r1; bar.sync 0;\n@%p1 bra WAIT;\nld.shared.u32 %r7, [%r3];\n"
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\nst.global.u32 [%rd1], %r7; bra END;\n"
     "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra WAIT;\nst.shared.u32 [%r2], %r1;\nEND:",
     "st.shared.u32 [%r2], %r1: bytes 0x0 to 0x3 were read by lane 0 of warp 1 before they were written, behind its arrival in "
     "phase 0 (parity 0) of the mbarrier at 0x400 (full), for which this warp has waited; that arrival must come after that read\n"
     "  k, block (0, 0, 0), shared address 0x0 (s)\n  PTX line 17: warp 0, lane 0\n  PTX line 14: warp 1, lane 0: reads bytes "
     "0x0 to 0x3\n  PTX line 13: warp 1, lane 0: arrives"},
    {"an mbarrier that counts one of two warps that arrive", 96, 32,
     "@%p1 bra WAIT;\nst.shared.u32 [%r2], %r1;\n"
     "mbarrier.arrive.shared::cta.b64 _, [%r9];\nbra END;\n"
     "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r9], 0; @!%p5 bra WAIT;\nld.shared.u32 %r7, [%r2+128];\n"
     "st.global.u32 [%rd1], %r7;\nEND:",
     "@%p1 bra WAIT;\nst.shared.u32 [%r2], %r1;\n"
     "bar.warp.sync -1; @%p3 mbarrier.arrive.shared::cta.b64 _, [%r9];\nbra END;\n"
     "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r9], 0; @!%p5 bra WAIT;\nld.shared.u32 %r7, [%r2+128];\n"
     "st.global.u32 [%rd1], %r7;\nEND:",
     "st.shared.u32 [%r2], %r1: bytes 0x80 to 0x83 were read by lane 0 of warp 0 before they were written, and phase 0 (parity 0) "
     "of the mbarrier at 0x400 (full), for which that warp had waited, was complete before this warp had arrived there; its "
     "mbarrier.init must count all threads that arrive there (it counts 32)\n  k, block (0, 0, 0), shared address 0x80 (s + "
     "0x80)\n  PTX line 13: warp 1, lane 0\n  PTX line 17: warp 0, lane 0: reads bytes 0x80 to 0x83\n  PTX line 14: warp 2, "
     "lane 0: arrives"},
};

TEST_CASE("what came between the sides of a race is told where it does not order them") {
  for (const Pair& one : kPairs) {
    INFO(one.name);
    CHECK(message(one.wrong, one.threads, one.count) == one.says);
    CHECK(message(one.right, one.threads, one.count) == "");
  }
}

/// Of a cluster of so many blocks.
struct Early {
  const char* name;
  unsigned threads;
  int count;  // of `full`
  unsigned blocks;
  const char *wrong, *right, *first;  // line of what is said
};

const Early kEarly[] = {
    {"a read before its write", 32, 64, 1,
     "@%p2 bra A;\nld.shared.u32 %r7, [s]; bra END;\nA: st.shared.u32 [s], %r1;\nld.shared.u32 %r7, [s];\n"
     "END: st.global.u32 [%rd1], %r7;",
     "@%p2 st.shared.u32 [s], %r1;\nbar.warp.sync -1;\nld.shared.u32 %r7, [s];\nst.global.u32 [%rd1], %r7;",
     "st.shared.u32 [s], %r1: bytes 0x0 to 0x3 were read by lane 31 of warp 0 before they were written, "
     "and no barrier came between this write and that read; a __syncwarp must come between them, or a "
     "__syncthreads if other warps use these bytes, too"},
    {"a flag that is released before the write", 64, 64, 1,
     "@%p2 st.shared.u32 [s+512], 0;\nbar.sync 0;\n@!%p1 bra WAIT;\n@%p2 st.release.cta.shared.u32 [s+512], 1;\n"
     "@%p2 st.shared.u32 [s], 7;\nbra END;\n"
     "WAIT: ld.acquire.cta.shared.u32 %r7, [s+512]; setp.eq.u32 %p4, %r7, 0; @%p4 bra WAIT;\n"
     "ld.shared.u32 %r7, [s];\nst.global.u32 [%rd1], %r7;\nEND:",
     "@%p2 st.shared.u32 [s+512], 0;\nbar.sync 0;\n@!%p1 bra WAIT;\n"
     "@%p2 st.shared.u32 [s], 7;@%p2 st.release.cta.shared.u32 [s+512], 1;\n\nbra END;\n"
     "WAIT: ld.acquire.cta.shared.u32 %r7, [s+512]; setp.eq.u32 %p4, %r7, 0; @%p4 bra WAIT;\n"
     "ld.shared.u32 %r7, [s];\nst.global.u32 [%rd1], %r7;\nEND:",
     "ld.shared.u32 %r7, [s]: bytes 0x0 to 0x3 were written by lane 0 of warp 0, and the flag acquired "
     "before this read was released before that write; that write must come before the release of the "
     "flag, or an arrival at an mbarrier and a wait for it, or a bar.sync that counts the threads of both "
     "warps, must come between them"},
    {"a flag that is written before the write", 64, 64, 1,
     "@%p2 st.shared.u32 [s+512], 0;\nbar.sync 0;\n@!%p1 bra WAIT;\n@%p2 st.volatile.shared.u32 [s+512], 1;\n"
     "@%p2 st.shared.u32 [s], 7;\nbra END;\n"
     "WAIT: ld.volatile.shared.u32 %r7, [s+512]; setp.eq.u32 %p4, %r7, 0; @%p4 bra WAIT;\nmembar.cta;\n"
     "ld.shared.u32 %r7, [s];\nst.global.u32 [%rd1], %r7;\nEND:",
     "@%p2 st.shared.u32 [s+512], 0;\nbar.sync 0;\n@!%p1 bra WAIT;\n@%p2 st.shared.u32 [s], 7;membar.cta;\n"
     "@%p2 st.volatile.shared.u32 [s+512], 1;\n\nbra END;\n"
     "WAIT: ld.volatile.shared.u32 %r7, [s+512]; setp.eq.u32 %p4, %r7, 0; @%p4 bra WAIT;\nmembar.cta;\n"
     "ld.shared.u32 %r7, [s];\nst.global.u32 [%rd1], %r7;\nEND:",
     "ld.shared.u32 %r7, [s]: bytes 0x0 to 0x3 were written by lane 0 of warp 0, and the flag read before "
     "this read was written before that write; that write must come before the write of the flag, with a "
     "__threadfence_block (fence.acq_rel.cta) between them, or an arrival at an mbarrier and a wait for "
     "it, or a bar.sync that counts the threads of both warps, must come between them"},
    {"a flag of another lane", 64, 64, 1,
     "@%p2 st.shared.u32 [s+512], 0;\nbar.sync 0;\n@!%p1 bra WAIT;\n@%p2 st.release.cta.shared.u32 [s+512], 1;\n"
     "st.shared.u32 [%r2], %r1;\nbra END;\n"
     "WAIT: ld.acquire.cta.shared.u32 %r7, [s+512]; setp.eq.u32 %p4, %r7, 0; @%p4 bra WAIT;\n"
     "ld.shared.u32 %r7, [s+4];\nst.global.u32 [%rd1], %r7;\nEND:",
     "@%p2 st.shared.u32 [s+512], 0;\nbar.sync 0;\n@!%p1 bra WAIT;\nst.shared.u32 [%r2], %r1;\nbar.warp.sync -1;\n"
     "@%p2 st.release.cta.shared.u32 [s+512], 1;\n\nbra END;\n"
     "WAIT: ld.acquire.cta.shared.u32 %r7, [s+512]; setp.eq.u32 %p4, %r7, 0; @%p4 bra WAIT;\n"
     "ld.shared.u32 %r7, [s+4];\nst.global.u32 [%rd1], %r7;\nEND:",
     "ld.shared.u32 %r7, [s+4]: bytes 0x4 to 0x7 were written by lane 1 of warp 0, and the flag acquired "
     "before this read was released before that write; that write must come before the release of the "
     "flag, with a barrier between them, or an arrival at an mbarrier and a wait for it, or a bar.sync "
     "that counts the threads of both warps, must come between them"},
    {"a flag before a barrier", 64, 64, 1,
     "@%p2 st.shared.u32 [s+512], 0;\nbar.sync 0;\n@!%p1 bra WAIT;\n@%p2 st.release.cta.shared.u32 [s+512], 1;\n"
     "bra B;\nWAIT: ld.acquire.cta.shared.u32 %r7, [s+512]; setp.eq.u32 %p4, %r7, 0; @%p4 bra WAIT;\n"
     "B: bar.sync 0;\n@%p2 st.shared.u32 [s], 7;\n@%p1 bra END;\nld.shared.u32 %r7, [s];\n"
     "st.global.u32 [%rd1], %r7;\nEND:",
     "@%p2 st.shared.u32 [s+512], 0;\nbar.sync 0;\n@!%p1 bra WAIT;\n@%p2 st.release.cta.shared.u32 [s+512], 1;\n"
     "bra B;\nWAIT: ld.acquire.cta.shared.u32 %r7, [s+512]; setp.eq.u32 %p4, %r7, 0; @%p4 bra WAIT;\n"
     "B: bar.sync 0;\n@%p2 st.shared.u32 [s], 7;\nbar.sync 0;\n@%p1 bra END;\nld.shared.u32 %r7, [s];\n"
     "st.global.u32 [%rd1], %r7;\nEND:",
     "ld.shared.u32 %r7, [s]: bytes 0x0 to 0x3 were written by lane 0 of warp 0, and no barrier came "
     "between that write and this read; a __syncthreads must come between them"},
    {"an arrival at the own object", 32, 32, 2,
     "@%p2 fence.mbarrier_init.release.cluster;\nbarrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
     "mov.u32 %r5, %cluster_ctarank; xor.b32 %r5, %r5, 1; mapa.shared::cluster.u32 %r6, %r2, %r5; mapa.shared::cluster.u32 %r7, %r9, %r5;\n"
     "mov.u32 %r8, %r9;\nst.shared::cluster.u32 [%r6], %r1;\nmbarrier.arrive.shared::cta.b64 _, [%r9];\n"
     "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\n"
     "ld.shared.u32 %r10, [%r4];\nst.global.u32 [%rd1], %r10;\n"
     "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
     "@%p2 fence.mbarrier_init.release.cluster;\nbarrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
     "mov.u32 %r5, %cluster_ctarank; xor.b32 %r5, %r5, 1; mapa.shared::cluster.u32 %r6, %r2, %r5; mapa.shared::cluster.u32 %r7, %r9, %r5;\n"
     "mov.u32 %r8, %r9;\nst.shared::cluster.u32 [%r6], %r1;\n"
     "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];\n"
     "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\n"
     "ld.shared.u32 %r10, [%r4];\nst.global.u32 [%rd1], %r10;\n"
     "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
     "st.shared::cluster.u32 [%r6], %r1: bytes 0x0 to 0x3 were read by lane 16 of warp 0 of block 1 of "
     "the cluster before they were written, and phase 0 (parity 0) of the mbarrier at 0x400 (full), for "
     "which that warp had waited, was complete without this write; this thread must arrive there behind "
     "this write, or another wait must come before that read"},
    {"a relaxed arrival at barrier.cluster", 32, 32, 2,
     "@%p2 fence.mbarrier_init.release.cluster;\nbarrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
     "mov.u32 %r5, %cluster_ctarank; xor.b32 %r5, %r5, 1; mapa.shared::cluster.u32 %r6, %r2, %r5; \n"
     "mov.u32 %r8, %r9;\nst.shared::cluster.u32 [%r6], %r1;\n"
     "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;\nld.shared.u32 %r10, [%r4];\n"
     "st.global.u32 [%rd1], %r10;\nbarrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
     "@%p2 fence.mbarrier_init.release.cluster;\nbarrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
     "mov.u32 %r5, %cluster_ctarank; xor.b32 %r5, %r5, 1; mapa.shared::cluster.u32 %r6, %r2, %r5; mapa.shared::cluster.u32 %r7, %r9, %r5;\n"
     "mov.u32 %r8, %r9;\nst.shared::cluster.u32 [%r6], %r1;\n"
     "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\nld.shared.u32 %r10, [%r4];\n"
     "st.global.u32 [%rd1], %r10;\nbarrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
     "ld.shared.u32 %r10, [%r4]: bytes 0x40 to 0x43 were written by lane 16 of warp 0 of block 1 of the "
     "cluster, and the arrival between that write and this read is relaxed, so it does not order them; "
     "the arrival must not be .relaxed, or a fence.acq_rel.cluster must come before it"},
    {"a multicast that one block does not expect", 32, 1, 2,
     ".reg .b16 %h;\n@%p2 fence.mbarrier_init.release.cluster;\n"
     "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
     "mov.u32 %r5, %cluster_ctarank; setp.eq.u32 %p6, %r5, 0; selp.u32 %r6, 128, 0, %p6;\n"
     "@%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], %r6;\n"
     "mov.u32 %r5, %cluster_ctarank; setp.eq.u32 %p5, %r5, 0; and.pred %p5, %p5, %p2; mov.u16 %h, 3;\n"
     "@%p5 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [%rd1], 128, [%r9], %h;\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\nld.shared.u32 %r10, [%r2];\n"
     "mul.lo.u32 %r10, %r10, 2;\nst.global.u32 [%rd1+128], %r10;\n"
     "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
     ".reg .b16 %h;\n@%p2 fence.mbarrier_init.release.cluster;\n"
     "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\nmov.u32 %r6, 128;\n"
     "@%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], %r6;\n"
     "mov.u32 %r5, %cluster_ctarank; setp.eq.u32 %p5, %r5, 0; and.pred %p5, %p5, %p2; mov.u16 %h, 3;\n"
     "@%p5 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [%rd1], 128, [%r9], %h;\n"
     "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\nld.shared.u32 %r10, [%r2];\n"
     "mul.lo.u32 %r10, %r10, 2;\nst.global.u32 [%rd1+128], %r10;\n"
     "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [%rd1], "
     "128, [%r9], %h: bytes 0x0 to 0x3 were read by lane 0 of warp 0 of block 1 of the cluster before "
     "they were written, and phase 0 (parity 0) of the mbarrier at 0x400 (full), for which that warp had "
     "waited, was complete without this write; mbarrier.expect_tx must count the bytes of this copy no "
     "later than the last arrival of that phase"},
    {"a test whose answer is false once", 64, 1, 1,
     "@%p2 fence.proxy.async;\nbar.sync 0;\n@%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 256;\n"
     "@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 256, [%r9];\n"
     "bar.warp.sync -1;\nmbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; selp.u32 %r6, 1, 0, %p4;\n"
     "st.global.u32 [%rd1+512], %r6;\nld.shared.u32 %r7, [%r2];\nst.global.u32 [%rd1+256], %r7;",
     "@%p2 fence.proxy.async;\nbar.sync 0;\n@%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 256;\n"
     "@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 256, [%r9];\n"
     "bar.warp.sync -1;\nW: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\n"
     "ld.shared.u32 %r7, [%r2];\nst.global.u32 [%rd1+256], %r7;",
     "mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0: its answer was false, as it may be, and "
     "this warp has gone on; it must be executed again until its answer is true"},
    {"a test whose answer nothing reads", 64, 1, 1,
     "@%p2 fence.proxy.async;\nbar.sync 0;\n@%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 256;\n"
     "@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 256, [%r9];\n"
     "bar.warp.sync -1;\nmbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0;\nld.shared.u32 %r7, [%r2];\n"
     "st.global.u32 [%rd1+256], %r7;",
     "@%p2 fence.proxy.async;\nbar.sync 0;\n@%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 256;\n"
     "@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 256, [%r9];\n"
     "bar.warp.sync -1;\nW: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0; @!%p4 bra W;\n"
     "ld.shared.u32 %r7, [%r2];\nst.global.u32 [%rd1+256], %r7;",
     "mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r9], 0: nothing reads its answer, so this warp has "
     "not waited; it must be executed again until its answer is true"},
    {"a bulk store of words of all threads", 64, 64, 1,
     "st.shared.u32 [%r2], %r1;\nbar.sync 0;\n@%p2 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [s], 256;\n"
     "@%p2 cp.async.bulk.commit_group;\n@%p2 cp.async.bulk.wait_group 0;",
     "st.shared.u32 [%r2], %r1;\nfence.proxy.async;\nbar.sync 0;\n"
     "@%p2 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [s], 256;\n@%p2 cp.async.bulk.commit_group;\n"
     "@%p2 cp.async.bulk.wait_group 0;",
     "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [s], 256: bytes 0x0 to 0xff were written by "
     "lane 0 of warp 0 and others through the generic proxy, and no fence.proxy.async that orders those "
     "writes came before this statement; each of these threads must execute fence.proxy.async after its "
     "write, and before any barrier that comes between them"},
};

TEST_CASE("what was done too early is told: a flag, a read, a wait, a fence") {
  for (const Early& one : kEarly) {
    INFO(one.name);
    const std::string said = message(one.wrong, one.threads, one.count, one.blocks);
    CHECK(said.substr(0, said.find('\n')) == one.first);
    CHECK(message(one.right, one.threads, one.count, one.blocks) == "");
  }
}

// The place of the arrival is in the block whose write is not ordered, though all blocks arrive by one statement.
TEST_CASE("a relaxed arrival at barrier.cluster is told with its block") {
  const auto of = std::ranges::find(kEarly, std::string("a relaxed arrival at barrier.cluster"), &Early::name);
  REQUIRE(of != std::end(kEarly));
  CHECK_THAT(
      message(of->wrong, of->threads, of->count, of->blocks),
      Catch::Contains("\n  PTX line 17: block (1, 0, 0), warp 0, lane 0: the arrival, which is relaxed"));
}

}  // namespace ptx_between_test
