// SPDX-License-Identifier: Apache-2.0
// Who of a block learns what a flag of another block tells: the lane that acquires it, those that it has met since, and threads
// behind a barrier, each with a fence of its own.
#include "found_rules.hpp"

namespace ptx_acquires_test {

using namespace found_rules;

// Block 0 writes a word for each thread of block 1, and sets a flag by its first thread.
std::string told_by(const std::string& writes, const std::string& waits, const std::string& reads) {
  return "mad.wide.u32 %rd3, %r1, 4, %rd1; setp.ne.u32 %p4, %r2, 0; @%p4 bra HERE;\n"
         "st.global.u32 [%rd3+512], %r1;\n" +
         writes + "\nbra END;\nHERE: @!%p1 bra BEHIND;\n" + waits + "\nBEHIND: " + reads +
         "\nld.global.u32 %r8, [%rd3+512]; st.global.u32 [%rd3+1024], %r8;\nEND:";
}
std::string wait_by(const std::string& load) {
  return "WAIT: " + load + " %r7, [%rd1]; setp.eq.u32 %p5, %r7, 0; @%p5 bra WAIT;";
}

const ptx::Launch kOneWarp{.grid = {2}, .block = {32}};
const std::string kRelease = "bar.warp.sync -1; @%p1 st.release.gpu.global.u32 [%rd1], 1;",
                  kAcquire = wait_by("ld.acquire.gpu.global.u32");

TEST_CASE("what a lane acquires, others know behind a bar.warp.sync") {
  const std::string kSays =
      "ld.global.u32 %r8, [%rd3+512]: bytes 516 to 519 of the array of 'out' were written by lane 1 of warp 0 of block "
      "(0, 0, 0), and the flag between that write and this read was acquired by another lane of the warp alone, and no "
      "__syncwarp came since; a __syncwarp must come between the acquire and this read, or a "
      "__syncthreads if other warps need the flag, too\n";
  check({"lanes_not_synchronised", told_by(kRelease, kAcquire, ""), kSays}, kOneWarp);
  check({"", told_by(kRelease, kAcquire, "bar.warp.sync -1;")}, kOneWarp);
  check({"", told_by(kRelease, kAcquire, "bar.sync 0;")}, kOneWarp);
  const std::string kRelaxed = wait_by("ld.volatile.global.u32") + " membar.gl;";
  check({"lanes_not_synchronised", told_by(kRelease, kRelaxed, ""), kSays}, kOneWarp);
  check({"", told_by(kRelease, kRelaxed, "bar.warp.sync -1;")}, kOneWarp);
  // Lanes that meet at a vote or a shfl do so as a rule to be told of the flag.
  check({"", told_by(kRelease, kAcquire, "vote.sync.any.pred %p6, %p5, -1;")}, kOneWarp);
  check({"", told_by(kRelease, kAcquire, "shfl.sync.idx.b32 %r9, %r7, 0, 31, -1;")}, kOneWarp);
  // Each has acquired it.
  check({"", told_by(kRelease, "", kAcquire)}, kOneWarp);
  // All but lanes 16 to 31 have met the first one.
  check({"lanes_not_synchronised",
         told_by(kRelease, kAcquire, "setp.lt.u32 %p6, %r1, 16; @%p6 bar.warp.sync 0xFFFF;"),
         "bytes 576 to 579 of the array"},
        kOneWarp);
}

// Each thread has its fence in front of the barrier, and one behind.
TEST_CASE("fences of all threads, and a flag between barriers") {
  const ptx::Launch how{.grid = {2}, .block = {64}};
  const auto by = [](const std::string& before, const std::string& after) {
    return told_by(before + " bar.sync 0; @%p1 atom.global.exch.b32 %r9, [%rd1], 1;",
                   wait_by("ld.relaxed.gpu.global.u32"), "bar.sync 0; " + after);
  };
  check({"", by("membar.gl;", "membar.gl;")}, how);
  check({"", by("fence.sc.gpu;", "fence.sc.gpu;")}, how);
  check({"", by("membar.sys;", "fence.sc.sys;")}, how);
  // The order of two fences is theirs alone, if they are fence.sc.
  for (const auto& [before, after] :
       {std::pair("fence.acq_rel.gpu;", "fence.acq_rel.gpu;"), std::pair("membar.gl;", "fence.acq_rel.gpu;"),
        std::pair("membar.gl;", "membar.cta;"), std::pair("membar.gl;", "")}) {
    INFO(before << " " << after);
    CHECK_FALSE(launch(by(before, after), how).rules.empty());
  }
}

}  // namespace ptx_acquires_test
