// SPDX-License-Identifier: Apache-2.0
// Each mistake with tensor memory, planted in a small kernel. Beside it stands the kernel without it: it is silent, and computes
// what it must.
#include <catch2/catch.hpp>

#include <optional>

#include "tensor_kernels.hpp"

namespace ptx_tensor_faults_test {

using namespace tensor_kernels;

/// A statement, by a part of its line: the nth that has it.
struct Spot {
  std::string text;
  int nth = 1;
};

std::size_t find(const std::string& text, const Spot& spot) {
  std::size_t at = text.find(spot.text);
  for (int i = 1; i < spot.nth && at != text.npos; ++i) at = text.find(spot.text, at + 1);
  INFO(spot.text << ", number " << spot.nth);
  REQUIRE(at != text.npos);
  return at;
}

int line_of(const std::string& text, const Spot& spot) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(find(text, spot));
  return 1 + static_cast<int>(std::count(text.begin(), end, '\n'));
}

/// Keeps the number of lines.
struct Edit {
  std::string from, to;
  int nth = 1;
};

std::string edited(std::string text, const std::vector<Edit>& edits) {
  for (const Edit& one : edits) text.replace(find(text, {one.from, one.nth}), one.from.size(), one.to);
  return text;
}

/// What a launch does with a mistake.
enum class How {
  error,      // it cannot go on
  violation,  // it ends, but not if it is lenient
  tolerated,  // it goes on, but not if it is strict
};

struct Mistake {
  const char* name;
  const char* kernel;
  How how;
  std::vector<Edit> edits;
  Errc code;
  std::vector<const char*> says;  // of the message
  Spot at;
  std::optional<Spot> other = {};
};

const std::string kAlloc = "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r5], 32;",
                  kDealloc = "@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8, 32;",
                  kTry = "mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r4], 0;", kLoop = "@!%p5 bra W1;",
                  kCommit = "@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];",
                  kProduct = "@%p2 tcgen05.mma.cta_group::1.kind::f16 [%r8], %rd4, %rd5, %r20, %p4;",
                  kWaitLoad = "tcgen05.wait::ld.sync.aligned;", kBefore = "tcgen05.fence::before_thread_sync;",
                  kAfter = "tcgen05.fence::after_thread_sync;",
                  kMeet = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";
// The number of columns in a register: the assembler checks one that is written there.
std::string columns(const char* count) {
  return std::string("mov.u32 %r22, ") + count + "; " + kAlloc.substr(0, kAlloc.size() - 3) + "%r22;";
}
const Spot kMma1 = {"tcgen05.mma"}, kMma2 = {"tcgen05.mma", 2}, kLd1 = {"tcgen05.ld."},
           kLd2 = {"tcgen05.ld.", 2};

const std::vector<Mistake> kMistakes = {
    // ---- Allocation
    {"columns that are no power of two",
     "twice",
     How::error,
     {{kAlloc, columns("48")}},
     Errc::tensor_memory,
     {"48 columns", "a power of two from 32 to 512"},
     {"tcgen05.alloc"}},
    {"more columns than there are",
     "twice",
     How::error,
     {{kAlloc, columns("1024")}},
     Errc::tensor_memory,
     {"1024 columns"},
     {"tcgen05.alloc"}},
    {"more columns than before",
     "twice",
     How::error,
     {{kAlloc, kAlloc + kAlloc.substr(0, kAlloc.size() - 3) + "64;"}},
     Errc::tensor_memory,
     {"64 columns after an allocation of 32"},
     {"tcgen05.alloc"}},
    {"an allocation after relinquish_alloc_permit",
     "twice",
     How::error,
     {{"tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;",
       "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; " + kAlloc}},
     Errc::tensor_memory,
     {"after tcgen05.relinquish_alloc_permit"},
     {"tcgen05.relinquish"}},
    {"columns that nobody frees",
     "twice",
     How::error,
     {{kAlloc, kAlloc.substr(0, kAlloc.size() - 3) + "512; " + kAlloc}},
     Errc::deadlock,
     {"deadlock", "32 columns of tensor memory: 512 of 512 are allocated (512 at 0x0)"},
     {"tcgen05.alloc"}},
    {"an allocation by half a warp",
     "twice",
     How::error,
     {{kAlloc, "@%p3" + kAlloc.substr(4)}},
     Errc::lanes_missing,
     {"all lanes of the warp must execute it"},
     {"tcgen05.alloc"},
     Spot{"tcgen05.relinquish"}},
    {"no allocation",
     "twice",
     How::error,
     {{kAlloc, "@%p2 st.shared.u32 [%r5], 0;"}},
     Errc::tensor_memory,
     {"columns 0 to 15 of tensor memory are not all allocated", "columns that tcgen05.alloc has allocated"},
     kMma1},
    {"other columns than those that were allocated",
     "twice",
     How::error,
     {{kDealloc, kDealloc.substr(0, kDealloc.size() - 3) + "64;"}},
     Errc::tensor_memory,
     {"64 columns at 0x0", "an allocation: 32 at 0x0"},
     {"tcgen05.dealloc"}},
    {"columns that are freed twice",
     "twice",
     How::error,
     {{kDealloc, kDealloc + kDealloc}},
     Errc::tensor_memory,
     {"32 columns at 0x0", "which are deallocated already"},
     {"tcgen05.dealloc"}},
    {"columns that are not freed",
     "twice",
     How::violation,
     {{kDealloc, ""}},
     Errc::protocol_violation,
     {"the block ends, and 32 columns of tensor memory at 0x0 are still allocated", "tcgen05.dealloc"},
     {"ret;"},
     Spot{"tcgen05.alloc"}},
    {"columns that are freed while another warp reads them",
     "twice",
     How::violation,
     {{"bar.sync 0; // last", "setp.eq.u32 %p1, %r2, 3;"}},
     Errc::protocol_violation,
     {"of tensor memory, which a tcgen05.ld of warp 0 reads, and nothing orders the tcgen05.wait::ld of that "
      "warp before this statement",
      "that warp must execute a barrier together with this thread, or arrive at an mbarrier"},
     {"tcgen05.dealloc"},
     kLd2},
    {"columns that are freed before another warp reads them",
     "twice",
     How::error,
     {{"bar.sync 0; // last", ""}},
     Errc::tensor_memory,
     {"are not all allocated"},
     kLd2},
    // ---- Addresses
    {"lanes of another warp's window",
     "twice",
     How::tolerated,
     {{"shl.b32 %r21, %r2, 21;", "mov.u32 %r21, 0;"}},
     Errc::protocol_violation,
     {"the address 0x0 names lane 0, and warp 1 may access lanes 32 to 63 only",
      "the lane of the address must be 32"},
     kLd1},
    {"an address that differs between lanes",
     "twice",
     How::error,
     {{"add.s32 %r21, %r21, %r8;", "add.s32 %r21, %r21, %r1;"}},
     Errc::undefined_operand,
     {"0x0 in lane 0 and 0x1 in lane 1", "the same value in all lanes"},
     kLd1},
    {"columns that are not allocated",
     "twice",
     How::error,
     {{"%r45}, [%r21];", "%r45}, [%r21+32];"}},
     Errc::tensor_memory,
     {"%r45}, [%r21+32]: columns 32 to 47 of tensor memory are not all allocated (columns 0 to 31 are); expected "
      "columns that tcgen05.alloc has allocated before\n"},
     kLd1},
    {"columns beyond the last",
     "twice",
     How::error,
     {{"%r45}, [%r21];", "%r45}, [%r21+500];"}},
     Errc::tensor_memory,
     {"columns 500 to 515", "columns 0 to 511"},
     kLd1},
    // ---- Products
    {"a D that was never written",
     "twice",
     How::violation,
     {{"setp.ne.u32 %p4", "setp.eq.u32 %p4"}},
     Errc::never_written,
     {"columns 0 to 15, lanes 0 to 127, of tensor memory have never been written"},
     kMma1},
    {"a product that a whole warp issues",
     "twice",
     How::violation,
     {{kProduct, "@%p1" + kProduct.substr(4)}},
     Errc::protocol_violation,
     {"32 lanes of the warp execute it",
      "one thread must issue it (elect.sync), and mbarrier.init must count as many arrivals as tcgen05.commit "
      "are still executed"},
     kMma1},
    {"D of two products that overlap",
     "twice",
     How::violation,
     {{kProduct, kProduct + " @%p2 tcgen05.mma.cta_group::1.kind::f16 [%r8+8], %rd4, %rd5, %r20, %p4;"}},
     Errc::protocol_violation,
     {"this writes columns 8 to 15, lanes 0 to 127, of tensor memory, which a tcgen05.mma of lane 0 of warp 0 also writes",
      "that tcgen05.mma has not been waited for"},
     kMma1,
     kMma1},
    // ---- Completion
    {"D that is read before the product is complete",
     "twice",
     How::violation,
     {{kCommit, kCommit + " @%p1 tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r50}, [%r21+2];"}},
     Errc::protocol_violation,
     {"this reads column 2, lanes 0 to 31, of tensor memory, which a tcgen05.mma of lane 0 of warp 0 writes",
      "that tcgen05.mma has not been waited for",
      "a wait for phase 0 (parity 0) of the mbarrier at 0x2000 (done), at which tcgen05.commit arrives, and then"},
     {"tcgen05.commit"},
     kMma1},
    {"D that is read by threads that do not wait",
     "twice",
     How::violation,
     {{kTry, ""}, {kLoop, ""}},
     Errc::protocol_violation,
     {"this writes ",
      "which a tcgen05.ld of warp 3 reads, and that tcgen05.ld stands behind this statement, and has not waited for it; a "
      "tcgen05.commit behind this statement, a wait of that warp for its mbarrier and then "
      "tcgen05.fence::after_thread_sync must come before that tcgen05.ld"},
     kMma1,
     kLd1},
    {"an ordinary arrival instead of tcgen05.commit",
     "twice",
     How::violation,
     {{kCommit, "@%p2 mbarrier.arrive.shared::cta.b64 _, [%r4];"}},
     Errc::protocol_violation,
     {"that tcgen05.mma has not been waited for", "other arrivals do not wait for it"},
     kLd1,
     kMma1},
    {"tcgen05.commit by another thread than the product's",
     "twice",
     How::violation,
     {{kCommit, "setp.eq.u32 %p2, %r1, 1; " + kCommit}},
     Errc::protocol_violation,
     {"this reads ",
      "which a tcgen05.mma of lane 0 of warp 0 writes, and that tcgen05.mma has not been waited for; a "
      "tcgen05.commit by lane 0 of warp 0, which has issued it (that of lane 1 of warp 0 is for operations of its own "
      "thread alone), and a wait for its mbarrier and then tcgen05.fence::after_thread_sync must come between"},
     kLd1,
     kMma1},
    {"a slot that is written while a product reads it",
     "twice",
     How::violation,
     {{kCommit, kCommit + " @%p3 st.shared.v4.u32 [%r6+4096], {%r20, %r20, %r20, %r20};"}},
     Errc::copy_pending,
     {"bytes 0x1000 to 0x100f are read by an operation of tcgen05 of lane 0 of warp 0, which has not been waited for",
      "at which tcgen05.commit arrives, must come between that operation and this statement"},
     {"tcgen05.commit"},
     kMma1},
    {"tcgen05.wait::st for tcgen05.cp",
     "moved",
     How::violation,
     {{kCommit, kCommit +
                    " @%p1 tcgen05.wait::st.sync.aligned; @%p1 tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r50}, "
                    "[%r21+48];"}},
     Errc::protocol_violation,
     {"column 48", "which a tcgen05.cp of lane 0 of warp 0 writes", "at which tcgen05.commit arrives"},
     {"tcgen05.commit"},
     Spot{"tcgen05.cp"}},
    {"tcgen05.wait::st left out",
     "moved",
     How::violation,
     {{"tcgen05.wait::st.sync.aligned;", ""}},
     Errc::protocol_violation,
     {"this reads ", "which a tcgen05.st of warp 0 writes, and that tcgen05.st has not been waited for",
      "this warp must execute tcgen05.wait::st between that tcgen05.st and this statement"},
     kMma1,
     Spot{"tcgen05.st."}},
    {"a load behind a store, without tcgen05.wait::st",
     "moved",
     How::violation,
     {{"%r16, %r17};\n  tcgen05.wait",
       "%r16, %r17}; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r50}, [%r21+32];\n  "
       "tcgen05.wait"}},
     Errc::protocol_violation,
     {"which a tcgen05.st of warp 3 writes",
      "this warp must execute tcgen05.wait::st between that tcgen05.st and this statement"},
     {"tcgen05.st."},
     Spot{"tcgen05.st."}},
    {"A that is overwritten while a product reads it",
     "moved",
     How::violation,
     {{kCommit, kCommit + " @%p1 tcgen05.st.sync.aligned.32x32b.x1.b32 [%r21+32], {%r10};"}},
     Errc::protocol_violation,
     {"this writes ",
      "which a tcgen05.mma of lane 0 of warp 0 reads, and that tcgen05.mma has not been waited for"},
     {"tcgen05.commit"},
     kMma1},
    {"columns that are shifted, and read before that is complete",
     "moved",
     How::violation,
     {{kCommit, kCommit + " @%p2 tcgen05.shift.cta_group::1.down [%r8+32]; @%p1 "
                          "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r50}, [%r21+32];"}},
     Errc::protocol_violation,
     {"column 32",
      "which a tcgen05.shift of lane 0 of warp 0 writes, and that tcgen05.shift has not been waited for"},
     {"tcgen05.commit"},
     Spot{"tcgen05.commit"}},
    {"tcgen05.cp and a product of another thread",
     "moved",
     How::violation,
     {{"[%r8+48], %rd4;", "[%r8+32], %rd4; setp.eq.u32 %p2, %r1, 32;"}},
     Errc::protocol_violation,
     {"which a tcgen05.cp of lane 0 of warp 0 writes, and nothing orders that tcgen05.cp before this statement"},
     kMma1,
     Spot{"tcgen05.cp"}},
    {"two tcgen05.cp to the same columns",
     "moved",
     How::tolerated,
     {{"[%r8+48], %rd4;", "[%r8+48], %rd4; @%p2 tcgen05.cp.cta_group::1.128x128b [%r8+48], %rd4;"}},
     Errc::protocol_violation,
     {"the order of that tcgen05.cp and a later tcgen05.cp is not defined"},
     {"tcgen05.cp"},
     Spot{"tcgen05.cp"}},
    {"A that tcgen05.cp overwrites behind a product",
     "moved",
     How::tolerated,
     {{"%rd5, %r20, %p4;", "%rd5, %r20, %p4; @%p2 tcgen05.cp.cta_group::1.128x128b [%r8+32], %rd4;"}},
     Errc::protocol_violation,
     {"the order of that tcgen05.mma and a later tcgen05.cp is not defined"},
     kMma1,
     kMma1},
    {"tcgen05.wait::ld left out, and D overwritten",
     "twice",
     How::violation,
     {{kWaitLoad, ""}},
     Errc::protocol_violation,
     {"this writes ", "which a tcgen05.ld of warp 0 reads, and that tcgen05.ld has not been waited for",
      "must execute tcgen05.wait::ld"},
     kMma2,
     kLd1},
    {"a register that is used before tcgen05.wait::ld",
     "twice",
     How::tolerated,
     {{kWaitLoad, ""}, {"{%r42, %r43, %r44, %r45};", "{%r42, %r43, %r44, %r45}; " + kWaitLoad}},
     Errc::protocol_violation,
     {"a destination of a tcgen05.ld that has not been waited for"},
     {"st.global.v4.u32 [%rd6], {"},
     kLd1},
    // ---- Threads
    {"no tcgen05.fence::before_thread_sync",
     "twice",
     How::tolerated,
     {{kBefore + " // second", ""}},
     Errc::protocol_violation,
     {"which a tcgen05.ld of warp 1 reads, and no fence came between the tcgen05.wait::ld of that warp and its "
      "next barrier, or arrival at an mbarrier",
      "that warp must execute tcgen05.fence::before_thread_sync between them"},
     kMma2,
     kLd1},
    {"no tcgen05.fence::after_thread_sync behind a barrier",
     "twice",
     How::tolerated,
     {{kAfter + " // second", ""}},
     Errc::protocol_violation,
     {"no fence came between the barrier, or the wait for an mbarrier, and this statement"},
     kMma2,
     kLd1},
    {"no tcgen05.fence::after_thread_sync behind a wait",
     "twice",
     How::tolerated,
     {{kAfter + " // wait", ""}},
     Errc::protocol_violation,
     {"has been waited for, but no fence followed the wait"},
     kLd1,
     kMma1},
    {"stores that a product reads, without fence.proxy.async",
     "twice",
     How::violation,
     {{"fence.proxy.async.shared::cta; // first", ""}},
     Errc::protocol_violation,
     {"by lane 0 of warp 0 and others through the generic proxy, and no fence.proxy.async that orders those writes"},
     kMma1,
     Spot{"st.shared.v4.u32 [%r6], {"}},
    {"stores that tcgen05.cp reads, without fence.proxy.async",
     "moved",
     How::violation,
     {{"fence.proxy.async.shared::cta;", ""}},
     Errc::protocol_violation,
     {"by lane 0 of warp 0 and others through the generic proxy, and no fence.proxy.async that orders those writes"},
     {"tcgen05.cp"},
     Spot{"st.shared.v4.u32 [%r6], {"}},
    // ---- Pairs
    {"columns that one block of a pair alone frees",
     "pair",
     How::violation,
     {{"@%p1 tcgen05.dealloc", "and.pred %p1, %p1, %p6; @%p1 tcgen05.dealloc"}},
     Errc::protocol_violation,
     {"the block ends, and 32 columns", "one warp of each block of the pair"},
     {"ret;"},
     Spot{"tcgen05.alloc"}},
    {"allocations that differ in a pair",
     "pair",
     How::error,
     {{"@%p1 tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r5], 32;",
       "selp.b32 %r22, 32, 64, %p6; @%p1 tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r5], %r22;"}},
     Errc::tensor_memory,
     {"the allocation of 64 at 0x0 in block 1 of the cluster, and the allocation of 32 at 0x0 in block 0",
      "the same columns in both blocks of a pair"},
     {"tcgen05.alloc"}},
    {"columns that a block frees while its pair uses them",
     "pair",
     How::violation,
     {{"cvt.u16.u32 %h1, %r23;", "cvt.u16.u32 %h1, %r23; @!%p6 bra LAST;"},
      {"@%p1 tcgen05.relinq", "LAST: @%p1 tcgen05.relinq"}},
     Errc::protocol_violation,
     {"this deallocates ",
      "which a tcgen05.mma of lane 0 of warp 0 of block 0 of the cluster writes, and that tcgen05.mma has not"},
     {"tcgen05.dealloc"},
     kMma1},
    {"a block that ends while its pair uses it",
     "pair",
     How::violation,
     {{"cvt.u16.u32 %h1, %r23;",
       "cvt.u16.u32 %h1, %r23; barrier.cluster.arrive; @!%p6 bra LAST; barrier.cluster.wait;"},
      {"@%p1 tcgen05.relinq", "LAST: @%p1 tcgen05.relinq"}},
     Errc::protocol_violation,
     {"block 1 of the cluster has ended"},
     kMma1,
     Spot{"ret;"}},
    {"a product before the other block may have begun",
     "pair",
     How::violation,
     {{kMeet + " // first", ""}},
     Errc::protocol_violation,
     {"block 1 of the cluster may not have begun"},
     kMma1},
    {"a tensor copy for the other block without .cta_group::2",
     "copied",
     How::error,
     {{"complete_tx::bytes.cta_group::2", "complete_tx::bytes"}},
     Errc::address_out_of_bounds,
     {"barrier objects of another block", "the object lies where the bytes go"},
     {"cp.async.bulk.tensor"}},
    {"a product that does not wait for the copies of its pair",
     "copied",
     How::violation,
     {{"W0:\n", "bra OVER; W0:\n"}, {"tcgen05.mma.cta_group::2", "OVER: tcgen05.mma.cta_group::2"}},
     Errc::copy_pending,
     {"bytes 0x0 to 0xfff are written by a bulk copy of lane 0 of warp 0",
      "wait for phase 0 (parity 0) of the mbarrier"},
     {"tcgen05.mma"},
     Spot{"cp.async.bulk.tensor"}},
    {"a product that expects another swizzle than the copies",
     "copied",
     How::violation,
     {{"0xC000401000010000", "0x8000401000010000"}},
     Errc::protocol_violation,
     {"the tile from 0x0 on was copied with 32-byte swizzle", "is read with 64-byte swizzle"},
     {"tcgen05.mma"},
     Spot{"cp.async.bulk.tensor"}},
    {"a mask without the other block",
     "pair",
     How::error,
     {{"mov.u32 %r23, 3;", "mov.u32 %r23, 1;"}},
     Errc::deadlock,
     {"deadlock", "block (1, 0, 0)", "nobody has arrived in phase 0", "0 of 1 arrivals"},
     {"mbarrier.try_wait"}},
    {"a mask that is not shifted by the rank",
     "pairs",
     How::error,
     {{"shl.b32 %r23, %r23, %r22;", ""}},
     Errc::deadlock,
     {"deadlock", "block (2, 0, 0)", "nobody has arrived in phase 0", "0 of 1 arrivals"},
     {"mbarrier.try_wait"}},
    {"a mask of blocks that are not there",
     "pair",
     How::error,
     {{"mov.u32 %r23, 3;", "mov.u32 %r23, 7;"}},
     Errc::address_out_of_bounds,
     {"the cluster has 2 blocks"},
     {"tcgen05.commit"}},
};

void require_found(const Mistake& one, const std::string& text, const Fault& fault) {
  INFO(fault.message());
  CHECK(name(fault.error.code) == name(one.code));
  for (const char* words : one.says) CHECK_THAT(fault.message(), Catch::Contains(words));
  CHECK(fault.ptx_line == line_of(text, one.at));
  REQUIRE(fault.other.has_value() == one.other.has_value());
  if (one.other) CHECK(fault.other->ptx_line == line_of(text, *one.other));
}

TEST_CASE("each mistake with tensor memory is found, with both places", "[quick]") {
  for (const Mistake& one : kMistakes) {
    DYNAMIC_SECTION(one.name) {
      const std::string text = edited(kernel(one.kernel).text, one.edits);
      Run run(kernel(one.kernel));
      const ptx::Report report = run.launch(text, one.how == How::tolerated);
      REQUIRE(report.fault);
      require_found(one, text, *report.fault);
      if (one.how == How::error) continue;
      Run again(kernel(one.kernel));
      const ptx::Report other = again.launch(text, false, one.how == How::violation);
      const bool is_there = std::ranges::any_of(other.findings, [&](const ptx::Finding& finding) {
        return finding.fault.message() == report.fault->message();
      });
      CHECK(is_there);
      if (one.how == How::violation) continue;
      if (other.fault) FAIL(other.fault->message());
      again.require_equal();
    }
  }
}

TEST_CASE("a kernel with both .cta_group is refused, as by the assembler", "[quick]") {
  const std::string text =
      edited(kTwice, {{"relinquish_alloc_permit.cta_group::1", "relinquish_alloc_permit.cta_group::2"}});
  const Result<ptx::Module> module = ptx::Module::load(text);
  REQUIRE(module);
  const Result<ptx::Function> function = module->function("k");
  REQUIRE_FALSE(function);
  CHECK(name(function.error().code) == name(Errc::no_such_form));
  CHECK_THAT(function.error().message(),
             Catch::Contains(".cta_group::2 in a kernel that has .cta_group::1, too; one of them"));
  CHECK(module->check().size() == 1);
}

// All columns for one warp, and then for another one, which has to wait.
TEST_CASE("an allocation waits for columns that another warp frees", "[quick]") {
  const std::string text = R"(.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 to)
.reqntid 64
{
  .reg .pred %p<3>;  .reg .b32 %r<6>;  .reg .b64 %rd<4>;
  .shared .align 4 .b32 where[2];
  mov.u32 %r1, %tid.x;
  shr.u32 %r2, %r1, 5;
  setp.eq.u32 %p1, %r2, 0;
  mov.u32 %r3, where;
  mad.lo.u32 %r3, %r2, 4, %r3;
  @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 512;
  bar.sync 0;
  @!%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 512;
  ld.shared.u32 %r4, [%r3];
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 512;
  ld.param.u64 %rd1, [to];
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r4;
  ret;
}
)";
  const Result<ptx::Module> module = ptx::Module::load(text);
  REQUIRE(module);
  const Result<ptx::Function> function = module->function("k");
  REQUIRE(function);
  std::vector<std::uint32_t> to(64, 7);
  ptx::Launch how{.grid = {1}, .block = {64}};
  how.strict = true;
  const ptx::Report report = function->launch(how, {ptx::buffer(to)});
  if (report.fault) FAIL(report.fault->message());
  CHECK(report.findings.empty());
  CHECK(to == std::vector<std::uint32_t>(64, 0));
}

TEST_CASE("the kernels without mistakes are silent, and compute their products", "[quick]") {
  for (const SmallKernel& one : kKernels) {
    DYNAMIC_SECTION(one.name) {
      for (const bool strict : {false, true}) {
        Run run(one);
        const ptx::Report report = run.launch(one.text, strict);
        if (report.fault) FAIL(report.fault->message());
        for (const ptx::Finding& finding : report.findings) FAIL_CHECK(finding.fault.message());
        run.require_equal();
      }
    }
  }
}

}  // namespace ptx_tensor_faults_test
