// SPDX-License-Identifier: Apache-2.0
// What came between the sides of a race in shared memory, and does not order them. Each with its neighbour, which is silent.
#include <catch2/catch.hpp>

#include "warpbit/ptx.hpp"

namespace ptx_between_test {

using namespace warpbit;

// A kernel of some threads with `body`, whose first line is line 12 of the text. %r1: the thread; %r2: its word of `s`; %r3, %r4: those
// of thread ^ 32 and thread ^ 16; %p1: it is of warp 0; %p3: of the lower half of its warp. `full` is initialised for `count`.
std::string message(const std::string& body, unsigned threads, int count = 64) {
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
     "st.shared.u32 [%r2], %r1: bytes 0x100 to 0x103 were read by lane 0 of warp 0, and at the bar.sync "
     "between that read and this write (barrier 1) warps 0, 3 met, without warp 2; a __syncthreads must come "
     "between them\n  k, block (0, 0, 0), shared address 0x100 (s + 0x100)\n  PTX line 12: warp 2, lane 0\n  "
     "PTX line 15: warp 0, lane 0: reads bytes 0x100 to 0x103\n  PTX line 13: warp 0, lanes 0-31: the bar.sync"},
    {"an arrival at a barrier without a wait", 64, 64,
     "st.shared.u32 [%r2], %r1;\nbar.arrive 1, 64;\nld.shared.u32 %r7, [%r3];\nst.global.u32 [%rd1], %r7;",
     "st.shared.u32 [%r2], %r1;\nbar.sync 1, 64;\nld.shared.u32 %r7, [%r3];\nst.global.u32 [%rd1], %r7;",
     "st.shared.u32 [%r2], %r1: bytes 0x0 to 0x3 were read by lane 0 of warp 1, and between that read and this "
     "write warp 1 arrived at barrier 1, and did not wait; a bar.sync that counts the threads of both warps "
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
     "st.shared.u32 [%r2], %r1: bytes 0x0 to 0x3 were read by lane 0 of warp 1, and between that read and this "
     "write warp 1 arrived at the mbarrier at 0x400 (full), and waited for a phase that was complete without "
     "warp 0; its mbarrier.init must count all threads that arrive there (it counts 32), or a __syncthreads "
     "must come between them\n  k, block (0, 0, 0), shared address 0x0 (s)\n  PTX line 12: warp 0, lane 0\n  "
     "PTX line 15: warp 1, lane 0: reads bytes 0x0 to 0x3\n  PTX line 13: warp 1, lane 0: arrives"},
};

TEST_CASE("what came between the sides of a race is told where it does not order them") {
  for (const Pair& one : kPairs) {
    INFO(one.name);
    CHECK(message(one.wrong, one.threads, one.count) == one.says);
    CHECK(message(one.right, one.threads, one.count) == "");
  }
}

}  // namespace ptx_between_test
