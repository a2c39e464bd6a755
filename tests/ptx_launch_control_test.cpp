// SPDX-License-Identifier: Apache-2.0
// Clusters that take others which have not begun (clusterlaunchcontrol), under each schedule and on any number of host threads;
// mistakes with it, beside the kernel without them; and st.bulk.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "archive.hpp"
#include "forget_array.hpp"
#include "warpbit/format.hpp"
#include "warpbit/ptx.hpp"
#include "warpbit/tensor_map.hpp"

namespace ptx_launch_control_test {

using namespace warpbit;
using ptx::Cancel;

using Words = std::vector<std::uint32_t>;

constexpr unsigned kThreads = 64;

// Each cluster writes out[i] = 3 i + 1 and who[i] = its first block, for i of the blocks of all clusters that it does. The lanes
// of each block are 64; the first thread of a cluster asks.
constexpr const char* kSteal = R"(.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 who)
{
  .reg .pred %p<8>;  .reg .b32 %r<24>;  .reg .b64 %rd<8>;  .reg .b128 %q<2>;
  .shared .align 16 .b8 response[32];
  .shared .align 8 .b64 object;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd5, [who];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, response;
  mov.u32 %r3, object;
  mov.u32 %r4, %ctaid.x;
  mov.u32 %r11, %ctaid.y;
  mov.u32 %r12, %ctaid.z;
  mov.u32 %r13, %cluster_ctarank;
  sub.u32 %r4, %r4, %r13; // the first of the cluster
  mov.u32 %r10, %r4;
  mov.u32 %r5, 0;
  setp.eq.u32 %p1, %r1, 0;
  or.b32 %r14, %r1, %r13;
  setp.eq.u32 %p4, %r14, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r3], 1;
  @%p1 fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned; // first
  barrier.cluster.wait.aligned; // first
LOOP:
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 16;
  @%p4 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%r2], [%r3];
  mov.u32 %r15, %nctaid.x;
  mov.u32 %r16, %nctaid.y;
  mad.lo.u32 %r17, %r12, %r16, %r11;
  mad.lo.u32 %r17, %r17, %r15, %r4;
  add.u32 %r17, %r17, %r13;
  mad.lo.u32 %r6, %r17, 64, %r1;
  mul.wide.u32 %rd2, %r6, 4;
  add.u64 %rd3, %rd1, %rd2;
  mad.lo.u32 %r7, %r6, 3, 1;
  st.global.u32 [%rd3], %r7;
  add.u64 %rd3, %rd5, %rd2;
  st.global.u32 [%rd3], %r10;
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r3], %r5;
  @!%p2 bra WAIT;
  xor.b32 %r5, %r5, 1;
  ld.shared.b128 %q0, [%r2];
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q0;
  @!%p3 bra DONE; // query
  clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r4, %r11, %r12, _}, %q0;
  fence.proxy.async.shared::cta; // read
  barrier.cluster.arrive.aligned; // read
  barrier.cluster.wait.aligned; // read
  bra LOOP;
DONE:
  barrier.cluster.arrive.aligned; // last
  barrier.cluster.wait.aligned; // last
  ret;
}
)";

struct Edit {
  std::string from, to;
};
std::string edited(std::string text, const std::vector<Edit>& edits) {
  for (const Edit& one : edits) {
    const std::size_t at = text.find(one.from);
    INFO(one.from);
    REQUIRE(at != text.npos);
    text.replace(at, one.from.size(), one.to);
  }
  return text;
}

ptx::Function function(const std::string& text, const std::string& name = "k") {
  const Result<ptx::Module> module = ptx::Module::load(text);
  if (!module) FAIL(module.error().message());
  Result<ptx::Function> out = module->function(name);
  if (!out) FAIL(out.error().message());
  return *std::move(out);
}

struct Done {
  ptx::Report report;
  Words out, who;
};
Done run(const ptx::Function& kernel, ptx::Launch how, int host_threads = 2) {
  const std::size_t words = std::size_t{kThreads} * how.grid.x * how.grid.y * how.grid.z;
  Done done{{}, Words(words), Words(words)};
  how.block = {kThreads};
  how.execute.threads = host_threads;
  done.report = kernel.launch(how, {ptx::buffer(done.out), ptx::buffer(done.who)});
  return done;
}
void require_done(const Done& done) {
  if (done.report.fault) FAIL(done.report.fault->message());
  CHECK(done.report.findings.empty());
  CHECK((done.report.blocks + done.report.cancelled) * kThreads == done.out.size());
  for (std::size_t i = 0; i < done.out.size(); ++i)
    if (done.out[i] != 3 * i + 1) FAIL("out[" << i << "] is " << done.out[i]);
}

TEST_CASE("every schedule leaves the same product of work, each block of it once") {
  const ptx::Function kernel = function(kSteal);
  for (const unsigned cluster : {1U, 2U})
    for (const Dim3 grid : {Dim3{cluster, 1, 1}, Dim3{24, 1, 1}, Dim3{4, 3, 5}})
      for (const Cancel cancel : {Cancel::first_come, Cancel::never, Cancel::always, Cancel::random})
        for (const std::uint64_t seed : {0, 1, 2}) {
          CAPTURE(cluster, grid.x, grid.y, grid.z, ptx::name(cancel), seed);
          const ptx::Launch how{.grid = grid, .cluster = Dim3{cluster}, .cancel = cancel, .cancel_seed = seed};
          const Done one = run(kernel, how, 1);
          require_done(one);
          for (const int threads : {2, 3, 8}) {
            const Done other = run(kernel, how, threads);
            require_done(other);
            CHECK(other.who == one.who);
            CHECK(other.report.steps == one.report.steps);
          }
        }
}

TEST_CASE("who takes which follows the schedule") {
  const ptx::Function kernel = function(kSteal);
  const auto who = [&](Cancel cancel, std::uint64_t seed = 0) {
    Words out;
    const Done done = run(kernel, {.grid = {30}, .cluster = Dim3{1}, .cancel = cancel, .cancel_seed = seed});
    require_done(done);
    for (std::size_t block = 0; block < 30; ++block) out.push_back(done.who[block * kThreads]);
    return out;
  };
  Words own, lines;
  for (std::uint32_t block = 0; block < 30; ++block) {
    own.push_back(block);
    lines.push_back(block % 5);  // 5 * 5 <= 30 < 6 * 6
  }
  CHECK(who(Cancel::never) == own);
  CHECK(who(Cancel::always) == Words(30, 0));
  CHECK(who(Cancel::first_come) == lines);
  std::set<Words> different;
  for (std::uint64_t seed = 0; seed < 20; ++seed) different.insert(who(Cancel::random, seed));
  CHECK(different.size() >= 15);
}

// Paths that jump back often let others go first; that changes nothing of who takes which.
TEST_CASE("nor does it depend on how long a cluster takes") {
  const auto who = [](unsigned blocks, const char* rounds, Cancel cancel, int threads) {
    const ptx::Function kernel = function(edited(
        kSteal,
        {{"WAIT:\n", std::string("  mov.u32 %r20, 0;\n  add.u32 %r21, %r17, 1;\n  mul.lo.u32 %r21, %r21, ") +
                         rounds +
                         ";\nDELAY:\n  add.u32 %r20, %r20, 1;\n  setp.lt.u32 %p6, %r20, %r21;\n"
                         "  @%p6 bra DELAY;\nWAIT:\n"}}));
    const Done done = run(kernel, {.grid = {blocks}, .cancel = cancel, .cancel_seed = 2}, threads);
    require_done(done);
    return done.who;
  };
  for (const Cancel cancel : {Cancel::first_come, Cancel::always, Cancel::random}) {
    CAPTURE(ptx::name(cancel));
    const Words one = who(12, "700", cancel, 1);  // times the number of the block, from 1 on
    for (const int threads : {2, 8}) CHECK(who(12, "700", cancel, threads) == one);
    if (cancel == Cancel::always) CHECK(one == Words(12 * kThreads, 0));
  }
  // The second block may wait for others, as far as is known, and the third begins.
  const Words one = who(4, "30000", Cancel::always, 1);
  CHECK(std::set<std::uint32_t>(one.begin(), one.end()).size() > 1);
  CHECK(who(4, "30000", Cancel::always, 4) == one);
}

TEST_CASE("a cluster may wait for one that has not begun") {
  const ptx::Function kernel =
      function(edited(kSteal, {{"st.global.u32 [%rd3], %r7", "st.relaxed.gpu.global.u32 [%rd3], %r7"},
                               {"LOOP:\n",
                                "  setp.ne.u32 %p6, %r10, 0;\n  @%p6 bra LOOP;\n"
                                "SPIN:\n  ld.relaxed.gpu.global.u32 %r20, [%rd1+768];\n"
                                "  setp.eq.u32 %p6, %r20, 0;\n  @%p6 bra SPIN;\nLOOP:\n"}}));
  for (const int threads : {1, 4}) {
    const Done done = run(kernel, {.grid = {4}, .cancel = Cancel::always}, threads);
    require_done(done);
    for (std::size_t block = 0; block < 4; ++block) CHECK(done.who[block * kThreads] == (block == 0 ? 0 : 1));
  }
}

TEST_CASE("a request leaves something open, and a launch says so") {
  const Done done = run(function(kSteal), {.grid = {4}, .cluster = Dim3{1}});
  REQUIRE(done.report.order_dependent.size() == 1);
  CHECK_THAT(done.report.order_dependent[0].instruction, Catch::StartsWith("clusterlaunchcontrol.try_cancel"));
  CHECK(done.report.inferred);
}

TEST_CASE("schedules have names") {
  for (const char* const name : {"first_come", "never", "always", "random"}) {
    REQUIRE(ptx::find_cancel(name));
    CHECK(ptx::name(*ptx::find_cancel(name)) == name);
  }
  CHECK_FALSE(ptx::find_cancel("sometimes"));
}

// ---- Mistakes

const std::string kRequest =
    "@%p4 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 "
    "[%r2], [%r3];";

struct Mistake {
  const char* name;
  std::vector<Edit> edits;
  Errc code;
  const char* says;
  unsigned cluster = 1;
};
const std::vector<Mistake> kMistakes = {
    {"a request behind a failure",
     {{"@!%p3 bra DONE; // query", "@%p3 bra GO;\n" + kRequest + "\nbra DONE;\nGO:"}},
     Errc::protocol_violation,
     "this block has seen a try_cancel fail"},
    {"the response is read too early",
     {{"WAIT:\n", "@%p4 ld.shared.b128 %q1, [%r2];\nWAIT:\n"}},
     Errc::copy_pending,
     "ld.shared.b128 %q1, [%r2]: bytes 0x0 to 0xf are written by a clusterlaunchcontrol.try_cancel of lane 0 of warp "
     "0, which has not been waited for; wait for phase 0 (parity 0) of the mbarrier at 0x20 first\n"},
    {"and by a thread that knows of no request",
     {{"WAIT:\n", "ld.shared.b128 %q1, [%r2];\nWAIT:\n"}},
     Errc::copy_pending,
     "which has not been waited for; wait for phase 0",
     2},
    {"it is overwritten",
     {{"WAIT:\n", "@%p4 st.shared.u32 [%r2], %r1;\nWAIT:\n"}},
     Errc::copy_pending,
     "mbarrier"},
    {"it is overwritten by the next request while others read",
     {{"  barrier.cluster.arrive.aligned; // read\n  barrier.cluster.wait.aligned; // read\n", ""}},
     Errc::copy_pending,
     ""},
    {"two threads ask at the same place",
     {{"@%p4 clusterlaunch", "setp.lt.u32 %p5, %r1, 2;\n@%p5 clusterlaunch"}},
     Errc::copy_pending,
     "mbarrier"},
    {"fewer bytes are expected", {{"[%r3], 16;", "[%r3], 8;"}}, Errc::deadlock, "16 bytes have come"},
    {"more bytes are expected", {{"[%r3], 16;", "[%r3], 32;"}}, Errc::deadlock, "bytes"},
    {"an address that is no multiple of 16",
     {{"b128 [%r2], [%r3]", "b128 [%r2+8], [%r3]"}},
     Errc::address_misaligned,
     "it must be a multiple of 16"},
    {"beyond the block's memory",
     {{"b128 [%r2], [%r3]", "b128 [%r2+4096], [%r3]"}},
     Errc::address_out_of_bounds,
     "the block has"},
    {"a generic address that is none of shared memory",
     {{"async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%r2], [%r3]",
       "async.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%rd1], [%rd1]"}},
     Errc::address_not_shared,
     "a response and its barrier object lie there"},
    {"no barrier object",
     {{"@%p1 mbarrier.init.shared::cta.b64 [%r3], 1;", ""}},
     Errc::barrier_misused,
     "mbarrier.init"},
    {"a block of the cluster that may not have begun",
     {{"barrier.cluster.arrive.aligned; // first\n  barrier.cluster.wait.aligned; // first", "bar.sync 0;"}},
     Errc::protocol_violation,
     "may not have begun",
     2},
    {"the index of a failure is used",
     {{"@!%p3 bra DONE; // query", ""}},
     Errc::never_written,
     "the request has failed, so its response has no ctaid, and %rd3 at PTX line 40 depends on it"},
};

TEST_CASE("each mistake is a fault") {
  for (const Mistake& one : kMistakes) {
    INFO(one.name);
    for (const Cancel cancel : {Cancel::first_come, Cancel::never, Cancel::always}) {
      const Done done =
          run(function(edited(kSteal, one.edits)),
              {.grid = {12}, .cluster = Dim3{one.cluster}, .step_limit = 100000, .cancel = cancel});
      INFO(ptx::name(cancel));
      if (!done.report.fault && std::string(one.says).empty() && cancel == Cancel::never)
        continue;  // one request alone
      REQUIRE(done.report.fault);
      INFO(done.report.fault->message());
      CHECK(done.report.fault->error.code == one.code);
      CHECK_THAT(done.report.fault->message(), Catch::Contains(one.says));
    }
  }
}

TEST_CASE("what is like them and lawful is none") {
  const std::vector<std::pair<const char*, std::vector<Edit>>> kCorrect = {
      {"generic addresses",
       {{"  mov.u32 %r4, %ctaid.x;",
         "  cvt.u64.u32 %rd6, %r2; cvta.shared.u64 %rd6, %rd6; cvt.u64.u32 %rd7, %r3; cvta.shared.u64 %rd7, %rd7;\n"
         "  mov.u32 %r4, %ctaid.x;"},
        {"async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%r2], [%r3]",
         "async.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%rd6], [%rd7]"}}},
      {"one by one",
       {{"get_first_ctaid.v4.b32.b128 {%r4, %r11, %r12, _}, %q0;",
         "get_first_ctaid::x.b32.b128 %r4, %q0;\n"
         "  clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r11, %q0;\n"
         "  clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 %r12, %q0;"}}},
      {"a response of the kernel's own that says no",
       {{"LOOP:\n",
         "LOOP:\n  mov.b64 %rd6, 0;\n  mov.b128 %q1, {%rd6, %rd6};\n"
         "  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p6, %q1;\n"}}},
      {"a copy of the response",
       {{"ld.shared.b128 %q0, [%r2];",
         "ld.shared.v2.b64 {%rd6, %rd7}, [%r2];\n  mov.b128 %q1, {%rd6, %rd7};\n  mov.b128 %q0, %q1;"}}},
  };
  for (const auto& [name, edits] : kCorrect) {
    INFO(name);
    const ptx::Function kernel = function(edited(kSteal, edits));
    for (const unsigned cluster : {1U, 2U})
      require_done(run(kernel, {.grid = {4, 3, 2}, .cluster = Dim3{cluster}, .strict = true}));
  }
}

// It fails, as without checks.
TEST_CASE("a lenient launch goes on behind a request that must not be") {
  const ptx::Function kernel = function(edited(kSteal, kMistakes[0].edits));
  const Done done = run(kernel, {.grid = {12}, .cluster = Dim3{1}, .lenient = true, .cancel = Cancel::never});
  if (done.report.fault) FAIL(done.report.fault->message());
  for (const ptx::Finding& one : done.report.findings) UNSCOPED_INFO(one.fault.message());
  REQUIRE_FALSE(done.report.findings.empty());  // and its accesses that nothing orders
  CHECK(done.report.findings[0].fault.rule == KernelRule::request_behind_failure);
  CHECK(done.report.findings[0].times == 12);
  CHECK(done.who == run(kernel, {.grid = {12}, .check_shared = false, .cancel = Cancel::never}).who);
}

// Two requests of a block before it knows what becomes of the first (PTX manual: undefined behind a failure that was observed).
TEST_CASE("a request before the failure of another one is known") {
  const std::string text = edited(
      kSteal,
      {{".shared .align 8 .b64 object;", ".shared .align 8 .b64 object;  .shared .align 8 .b64 other;"},
       {"  @%p1 mbarrier.init",
        "  mov.u32 %r20, other;\n  @%p1 mbarrier.init.shared::cta.b64 [%r20], 1;\n  @%p1 mbarrier.init"},
       {"LOOP:\n",
        "  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r20], 16;\n"
        "  @%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r2+16], [%r20];\n"
        "LOOP:\n"},
       {"DONE:\n",
        "DONE:\nW2:\n  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r20], 0;\n  @!%p2 bra W2;\n"
        "  ld.shared.b128 %q1, [%r2+16];\n  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p6, %q1;\n"
        "  selp.u32 %r21, 1, 0, %p6;\n"}});
  const Done done = run(function(text), {.grid = {9}, .cancel = Cancel::never});
  require_done(done);
}

// As hand-written kernels do.
TEST_CASE("the index of a failure that nobody uses is tolerated") {
  const ptx::Function kernel = function(edited(
      kSteal,
      {{"  @!%p3 bra DONE; // query\n  clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r4, %r11, "
        "%r12, _}, %q0;",
        "  clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r4, %r11, %r12, _}, %q0;\n"
        "  @!%p3 bra DONE; // query"}}));
  Done done = run(kernel, {.grid = {9}});
  REQUIRE(done.report.ok());
  REQUIRE(done.report.findings.size() == 1);
  CHECK(done.report.findings[0].fault.rule == KernelRule::block_of_failure);
  CHECK_THAT(done.report.findings[0].fault.message(),
             Catch::Contains("the request has failed, so its response has no ctaid"));
  done.report.findings.clear();
  require_done(done);
  CHECK_FALSE(run(kernel, {.grid = {9}, .strict = true}).report.ok());
}

TEST_CASE("the first faulty block is reported on any number of host threads") {
  // Blocks that do block 7 of the work fail.
  const ptx::Function kernel =
      function(edited(kSteal, {{"  mov.u32 %r15, %nctaid.x;",
                                "  setp.eq.u32 %p7, %r4, 7;\n  @%p7 trap;\n  mov.u32 %r15, %nctaid.x;"}}));
  const std::vector<std::pair<Cancel, unsigned>> kBlocks = {
      {Cancel::never, 7}, {Cancel::always, 0}, {Cancel::first_come, 7 % 5}};
  for (const auto& [cancel, block] : kBlocks)
    for (const int threads : {1, 2, 8}) {
      CAPTURE(ptx::name(cancel), threads);
      const Done done = run(kernel, {.grid = {30}, .cancel = cancel}, threads);
      REQUIRE(done.report.fault);
      CHECK(done.report.fault->block.x == block);
    }
}

TEST_CASE("an earlier target has no clusterlaunchcontrol and no st.bulk") {
  const Result<ptx::Module> module = ptx::Module::load(edited(kSteal, {{"sm_100a", "sm_90a"}}));
  REQUIRE(module);
  const Result<ptx::Function> kernel = module->function("k");
  REQUIRE_FALSE(kernel);
  CHECK(kernel.error().code == Errc::not_on_target);
  // Without .multicast it is of sm_100, too.
  const std::string all = ".multicast::cluster::all";
  CHECK(ptx::Module::load(edited(kSteal, {{"sm_100a", "sm_100"}, {all, ""}}))->function("k"));
  CHECK_FALSE(ptx::Module::load(edited(kSteal, {{"sm_100a", "sm_100"}}))->function("k"));
  for (const char* const target : {"sm_103a", "sm_120a"})
    require_done(run(function(edited(kSteal, {{"sm_100a", target}})), {.grid = {9}}));
}

// ---- A product that schedules itself

constexpr int kM = 1024, kN = 96, kK = 192, kTileM = 256, kTileN = 32, kSpan = 64;  // f16 in 128 bytes

struct Matrix {
  int rows;
  std::vector<int> values;
  std::vector<std::uint16_t> codes;
  template <class Value>
  Matrix(int of_rows, Value value) : rows(of_rows) {
    static const Codec codec = *Codec::find("f16");
    for (int i = 0; i < rows; ++i)
      for (int k = 0; k < kK; ++k) {
        values.push_back(value(i, k));
        codes.push_back(static_cast<std::uint16_t>(*codec.encode(values.back())));
      }
  }
  int at(int i, int k) const { return values[static_cast<std::size_t>(i * kK + k)]; }
};

TensorMapBytes map_of(Matrix& matrix, int box_rows) {
  TensorMap map;
  map.elemtype = TensorType::f16;
  map.rank = 2;
  map.global_address = ptx::address(std::as_writable_bytes(std::span(matrix.codes)));
  map.global_dim = {kK, static_cast<std::uint64_t>(matrix.rows)};
  map.global_stride = {2 * kK};
  map.box_dim = {kSpan, static_cast<std::uint32_t>(box_rows)};
  map.element_stride = {1, 1};
  map.swizzle_mode = warpbit::Swizzle::bytes_128;
  const Result<TensorMapBytes> out = map.encode();
  REQUIRE(out);
  return *out;
}

TEST_CASE("pairs of blocks that schedule themselves leave the exact product", "[kernels]") {
  Matrix a(kM, [](int i, int k) { return (i * 7 + k * 3 + i / 32) % 11 - 5; }),
      b(kN, [](int j, int k) { return (k * 5 + j * 11) % 13 - 6; });
  std::vector<float> expected;
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kN; ++j) {
      int sum = 0;
      for (int k = 0; k < kK; ++k) sum += a.at(i, k) * b.at(j, k);
      expected.push_back(static_cast<float>(sum));
    }
  const ptx::Function kernel =
      function(archive::bytes_of("tests/kernels/tensor/persistent.sm_100a.ptx"), "persistent_gemm");
  // D f32 (bit 4), A and B f16 (0), N / 8 from bit 17, M / 16 from bit 24 on (PTX manual, "Instruction descriptor").
  constexpr std::uint32_t kDescriptor = 1 << 4 | kTileN / 8 << 17 | kTileM / 16 << 24;
  const TensorMapBytes map_a = map_of(a, kTileM / 2), map_b = map_of(b, kTileN / 2);
  std::set<std::uint64_t> cancelled;
  for (const Cancel cancel : {Cancel::first_come, Cancel::never, Cancel::always, Cancel::random})
    for (const int threads : {1, 4}) {
      CAPTURE(ptx::name(cancel), threads);
      std::vector<float> d(static_cast<std::size_t>(kM * kN));
      ptx::Launch how{.grid = {2 * kN / kTileN, 2, kM / kTileM / 2},
                      .block = {224},
                      .shared_bytes = 1024 + 2 * 128 * (kTileM / 2 + kTileN / 2),
                      .strict = true,
                      .cancel = cancel,
                      .cancel_seed = static_cast<std::uint64_t>(threads)};
      how.execute.threads = threads;
      const ptx::Report report =
          kernel.launch(how, {ptx::value(map_a), ptx::value(map_b), ptx::buffer(d), ptx::value(kDescriptor),
                              ptx::value(kTileM / 2), ptx::value(kTileN), ptx::value(kN),
                              ptx::value(kK / kSpan), ptx::value(kSpan)});
      if (report.fault) FAIL(report.fault->message());
      CHECK(report.findings.empty());
      CHECK(report.blocks + report.cancelled == 24);
      cancelled.insert(report.cancelled);
      CHECK((d == expected));
    }
  CHECK(cancelled.contains(0));
  CHECK(cancelled.contains(22));
  for (Matrix* const one : {&a, &b}) forget_array(std::as_writable_bytes(std::span(one->codes)));
}

// ---- st.bulk

// Lane i fills with ones, then zeroes `size` bytes from byte 64 i on; out has all of shared memory.
constexpr const char* kZeros = R"(.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 size)
{
  .reg .pred %p<4>;  .reg .b32 %r<16>;  .reg .u32 %u<2>;  .reg .b64 %rd<8>;
  .shared .align 16 .b8 tile[2048];
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [size];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, tile;
  mov.u32 %r3, -1;
  shl.b32 %r4, %r1, 6;
  add.u32 %r5, %r2, %r4;
  st.shared.v4.u32 [%r5], {%r3, %r3, %r3, %r3};
  st.shared.v4.u32 [%r5+16], {%r3, %r3, %r3, %r3};
  st.shared.v4.u32 [%r5+32], {%r3, %r3, %r3, %r3};
  st.shared.v4.u32 [%r5+48], {%r3, %r3, %r3, %r3};
  bar.sync 0; // first
  cvt.u64.u32 %rd4, %r5;
  cvta.shared.u64 %rd4, %rd4;
  st.bulk.weak.shared::cta [%r5], %rd2, 0;
  bar.sync 0; // second
  shl.b32 %r6, %r1, 2;
  add.u32 %r7, %r2, %r6;
  cvt.u64.u32 %rd3, %r6;
  add.u64 %rd3, %rd1, %rd3;
  mov.u32 %r8, 0;
LOOP:
  ld.shared.u32 %r9, [%r7];
  st.global.u32 [%rd3], %r9;
  add.u32 %r7, %r7, 128;
  add.u64 %rd3, %rd3, 128;
  add.u32 %r8, %r8, 1;
  setp.lt.u32 %p1, %r8, 16;
  @%p1 bra LOOP;
  ret;
}
)";

struct Zeroed {
  ptx::Report report;
  Words out = Words(512);
};
Zeroed zeroed(std::uint64_t size, const std::vector<Edit>& edits = {}) {
  Zeroed out;
  out.report =
      function(edited(kZeros, edits))
          .launch({.grid = {1}, .block = {32}, .strict = true}, {ptx::buffer(out.out), ptx::value(size)});
  return out;
}

TEST_CASE("st.bulk writes zeros") {
  const std::vector<std::vector<Edit>> kForms = {
      {},
      {{".weak.shared::cta [%r5]", " [%rd4]"}},
      {{".weak.shared::cta", ".shared::cta"}},
      {{"st.bulk.weak.shared::cta [%r5], %rd2",
        "cvt.u32.u64 %u1, %rd2;\n  st.bulk.weak.shared::cta [%r5], %u1"}},
  };
  for (const std::vector<Edit>& edits : kForms)
    for (const std::uint64_t size : {0, 8, 24, 64}) {
      CAPTURE(size, edits.size());
      const Zeroed done = zeroed(size, edits);
      if (done.report.fault) FAIL(done.report.fault->message());
      for (std::size_t i = 0; i < 512; ++i) CHECK(done.out[i] == (i % 16 * 4 < size ? 0 : 0xFFFF'FFFF));
    }
  // A constant size, an offset, and lanes that write the same zeros.
  const Zeroed done = zeroed(0, {{"[%r5], %rd2", "[%r2+16], 32"}});
  if (done.report.fault) FAIL(done.report.fault->message());
  for (std::size_t i = 0; i < 512; ++i) CHECK(done.out[i] == (i >= 4 && i < 12 ? 0 : 0xFFFF'FFFF));
}

TEST_CASE("mistakes with st.bulk") {
  const std::string store = "  st.bulk.weak.shared::cta [%r5], %rd2, 0;";
  struct Case {
    std::uint64_t size;
    std::vector<Edit> edits;
    Errc code;
    const char* says;
  };
  const std::vector<Case> kCases = {
      {12, {}, Errc::address_misaligned, "a multiple of 8, 16777216 at most"},
      {16777224, {}, Errc::address_misaligned, "a multiple of 8, 16777216 at most"},
      {8, {{"[%r5], %rd2", "[%r5+4], %rd2"}}, Errc::address_misaligned, "it must be a multiple of 8"},
      {2048,
       {{store, "  setp.eq.u32 %p2, %r1, 31;\n  @%p2" + store.substr(1)}},
       Errc::address_out_of_bounds,
       "2048"},
      {8, {{".weak.shared::cta [%r5]", " [%rd1]"}}, Errc::address_not_shared, "st.bulk writes there alone"},
      {64, {{"bar.sync 0; // second", ""}}, Errc::data_race, "no barrier came between"},
      {64, {{"[%r5], %rd2", "[%r5], %rd5"}}, Errc::never_written, "%rd5"},
  };
  for (const Case& one : kCases) {
    CAPTURE(one.size, one.says);
    const Zeroed done = zeroed(one.size, one.edits);
    REQUIRE(done.report.fault);
    INFO(done.report.fault->message());
    CHECK(done.report.fault->error.code == one.code);
    CHECK_THAT(done.report.fault->message(), Catch::Contains(one.says));
  }
}

}  // namespace ptx_launch_control_test
