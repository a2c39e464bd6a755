// SPDX-License-Identifier: Apache-2.0
// What is found and gone on behind does what it does without checks: each kernel breaks a rule, and leaves the same bytes in a
// lenient launch and in one without checks. Expected values are arithmetic.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "warpbit/ptx.hpp"

namespace ptx_lenient_test {

using namespace warpbit;

// %r1 is %tid.x, %r2 the address of s, %r20 that of two barrier objects, %rd1 of `in`: words 9. %r5 goes to the word of the block.
std::string kernel_text(const std::string& body) {
  return R"(.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<8>; .reg .b16 %h<4>; .reg .b32 %r<40>; .reg .b64 %rd<8>;
  .shared .align 128 .b8 s[2048]; .shared .align 8 .b8 bar[16];
  ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x; mov.u32 %r2, s; mov.u32 %r20, bar; mov.u32 %r3, %cluster_ctarank; mov.u32 %r9, 9; mov.u32 %r5, 0;
  mul.wide.u32 %rd3, %r3, 4; add.u64 %rd2, %rd2, %rd3; shl.b32 %r4, %r1, 4; add.u32 %r4, %r4, %r2;
  setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %r1, 32; setp.eq.u32 %p3, %r3, 0; setp.eq.u32 %p4, %r1, 32;
)" + body +
         "\nEND:\n  @%p1 st.global.u32 [%rd2], %r5;\n  ret;\n}\n";
}

// Waits for phase 0 of the first object.
const std::string kWait = " W: mbarrier.try_wait.parity.shared::cta.b64 %p7, [%r20], 0; @!%p7 bra W; ";
// Every thread writes 16 bytes, 5 in each word; all read the first word, and warp 0 writes there behind no barrier.
std::string written_by(const std::string& text) {
  return "mov.u32 %r6, 5; st.shared.v4.u32 [%r4], {%r6, %r6, %r6, %r6}; @%p1 mbarrier.init.shared::cta.b64 [%r20], 1;"
         "fence.mbarrier_init.release.cluster; bar.sync 0; ld.shared.u32 %r7, [%r2]; @!%p2 bra M;" +
         text + "\n M: bar.sync 0; ld.shared.u32 %r5, [%r2]; @!%p1 bra END;";
}

enum class Default { finding, fault };
struct Kernel {
  const char* name;
  unsigned threads, blocks;
  std::string body;
  std::uint32_t expected;  // of each block
  Default by_default;
  std::string_view rule;  // that is found first
};

ptx::Report launch(const Kernel& kernel, ptx::Launch how, std::vector<std::uint32_t>& out) {
  const Result<ptx::Module> module = ptx::Module::load(kernel_text(kernel.body));
  if (!module) FAIL(module.error().message());
  const Result<ptx::Function> function = module->function("k");
  if (!function) FAIL(function.error().message());
  std::vector<std::uint32_t> in(64, 9);
  out.assign(4, 0);
  how.block = {kernel.threads};
  how.grid = {kernel.blocks};
  how.cluster = {kernel.blocks};
  how.step_limit = 100000;
  return function->launch(how, {ptx::buffer(in), ptx::buffer(out)});
}

void check(const Kernel& kernel) {
  INFO(kernel.name);
  std::vector<std::uint32_t> out;
  ptx::Launch lenient, off;
  lenient.lenient = true;
  off.check_shared = false;
  const ptx::Report report = launch(kernel, {}, out);
  if (kernel.by_default == Default::fault) {
    REQUIRE(report.fault);
    CHECK(name(report.fault->rule) == kernel.rule);
  } else {
    if (report.fault) FAIL_CHECK(report.fault->message());
    REQUIRE_FALSE(report.findings.empty());
    CHECK(name(report.findings[0].fault.rule) == kernel.rule);
  }
  for (const ptx::Launch& how : {lenient, off}) {
    const ptx::Report gone_on = launch(kernel, how, out);
    INFO((how.lenient ? "lenient" : "without checks"));
    if (gone_on.fault) FAIL_CHECK(gone_on.fault->message());
    CHECK(gone_on.findings.empty() != how.lenient);
    for (unsigned block = 0; block < kernel.blocks; ++block) CHECK(out[block] == kernel.expected);
  }
}

const std::string kLoad =
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 16, [%r20];";

TEST_CASE("what is found at barrier objects is done") {
  const std::string init_alone = "@%p1 mbarrier.init.shared::cta.b64 [%r20], 1; ";
  check(
      {"an object that all lanes initialise", 32, 1,
       "mbarrier.init.shared::cta.b64 [%r20], 1; bar.sync 0; @%p1 mbarrier.arrive.shared::cta.b64 _, [%r20];" +
           kWait + "mov.u32 %r5, 7;",
       7, Default::finding, "mbarrier_init_by_lanes"});
  check({"counts that differ by lane", 32, 1,
         "add.u32 %r6, %r1, 1; sub.u32 %r6, 33, %r6; mbarrier.init.shared::cta.b64 [%r20], %r6; bar.sync 0; "
         "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r20];" +
             kWait + "mov.u32 %r5, 7;",
         7, Default::fault, "mbarrier_in_use"});
  check({"an init that nothing orders", 64, 1,
         init_alone + "@!%p4 bra M; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r20], 16;" + kLoad +
             " M: bar.sync 0;" + kWait + "ld.shared.u32 %r5, [%r2];",
         9, Default::fault, "mbarrier_init_order"});
  check(
      {"a multicast without fence.mbarrier_init", 32, 2,
       init_alone +
           "barrier.cluster.arrive; barrier.cluster.wait; @!%p1 bra W;"
           "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r20], 16; @%p3 bra W; mov.b16 %h1, 3;"
           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r2], [%rd1], 16, "
           "[%r20], %h1;" +
           kWait + "ld.shared.u32 %r5, [%r2]; barrier.cluster.arrive; barrier.cluster.wait;",
       9, Default::finding, "mbarrier_init_fence"});
  check(
      {"an init of one that is in use", 32, 1,
       "@!%p1 bra M; mbarrier.init.shared::cta.b64 [%r20], 2; mbarrier.arrive.shared::cta.b64 _, [%r20]; "
       "mbarrier.init.shared::cta.b64 [%r20], 1; mbarrier.arrive.shared::cta.b64 _, [%r20];\n M: bar.sync 0;" +
           kWait + "mov.u32 %r5, 7;",
       7, Default::fault, "mbarrier_in_use"});
  check({"an arrival without completion that completes", 32, 1,
         init_alone + "@%p1 mbarrier.arrive.noComplete.shared::cta.b64 %rd5, [%r20], 1; bar.sync 0;" + kWait +
             "mov.u32 %r5, 7;",
         7, Default::fault, "mbarrier_no_complete"});
  check({"an object that is written over", 32, 1,
         init_alone +
             "@%p1 st.shared.u32 [%r20+4], %r9; @%p1 mbarrier.arrive.shared::cta.b64 _, [%r20]; bar.sync 0;" +
             kWait + "mov.u32 %r5, 7;",
         7, Default::fault, "mbarrier_overwritten"});
}

TEST_CASE("an arrival at a block that has ended is done") {
  check(
      {"", 1, 2,
       "mbarrier.init.shared::cta.b64 [%r20], 4; fence.mbarrier_init.release.cluster; barrier.cluster.arrive; "
       "barrier.cluster.wait; mov.u32 %r5, 8; @!%p3 bra END; mapa.shared::cluster.u32 %r6, %r20, 1; "
       "mbarrier.arrive.shared::cluster.b64 _, [%r6];",
       8, Default::finding, "arrival_at_ended_block"});
}

TEST_CASE("a write that is a race is done") {
  const std::vector<std::pair<const char*, std::string>> writes = {
      {"st.shared", "@%p1 st.shared.u32 [%r2], %r9;"},
      {"stmatrix", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r4], {%r9};"},
      {"atom.shared", "@%p1 atom.shared.exch.b32 %r8, [%r2], %r9;"},
      {"red.shared", "@%p1 red.shared.add.u32 [%r2], 4;"},
      {"cp.async", "@%p1 cp.async.ca.shared.global [%r2], [%rd1], 16; cp.async.wait_all;"},
      {"cp.async at once", "cp.async.ca.shared.global [%r4], [%rd1], 16; cp.async.wait_all;"},
      {"cp.async that nobody waits for", "@%p1 cp.async.ca.shared.global [%r2], [%rd1], 16;"},
      {"cp.async.bulk",
       "@!%p1 bra W; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r20], 16;" + kLoad + kWait},
      {"st.async",
       "@!%p1 bra W; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r20], 4; "
       "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r2], %r9, [%r20];" +
           kWait},
  };
  for (const auto& [form, text] : writes)
    check({form, 64, 1, written_by(text), 9, Default::fault, "data_race"});
}

TEST_CASE("what cannot be done ends every launch") {
  for (const char* body :
       {"mbarrier.arrive.shared::cta.b64 _, [%r20];", "mbarrier.inval.shared::cta.b64 [%r20];",
        "mbarrier.init.shared::cta.b64 [%r20], 1; mbarrier.arrive.shared::cta.b64 _, [%r20], 2;"})
    for (const bool checks : {false, true}) {
      ptx::Launch how;
      how.lenient = checks;
      how.check_shared = checks;
      std::vector<std::uint32_t> out;
      const ptx::Report report = launch({"", 1, 1, body, 0, Default::fault, ""}, how, out);
      REQUIRE(report.fault);
      CHECK(report.fault->error.code == Errc::barrier_misused);
      CHECK(report.fault->rule == KernelRule::none);
    }
}

}  // namespace ptx_lenient_test
