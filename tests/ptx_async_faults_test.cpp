// SPDX-License-Identifier: Apache-2.0
// Each mistake with barrier objects, bulk copies, tensor maps and clusters, planted in a recorded kernel or in a small one.
// Beside it stands the kernel without it: it is silent, and leaves what a GPU left.
#include <fmt/format.h>

#include "recorded_kernel.hpp"

namespace ptx_async_faults_test {

using namespace recorded_kernel;

// A statement, by a part of its text: the nth that has it.
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

// Keeps the number of lines, so that places are those of the recorded file.
struct Edit {
  std::string from, to;
  int nth = 1;
};

std::string edited(std::string text, const std::vector<Edit>& edits) {
  for (const Edit& one : edits) text.replace(find(text, {one.from, one.nth}), one.from.size(), one.to);
  return text;
}

struct Mistake {
  const char* name;
  const char* kernel;  // in golden/kernels/
  std::vector<Edit> edits;
  Errc code;
  std::vector<const char*> says;  // of the message
  Spot at;
  std::optional<Spot> other = {};
};

// ---- Recorded kernels

class Recorded {
 public:
  explicit Recorded(const std::string& name)
      : folder_(fs::path("golden/kernels") / name),
        case_(json::parse(text_of(folder_ / "case.json"))),
        memory_(arrays_of(folder_ / "arrays.npz")) {}

  std::string text() const { return text_of(folder_ / "kernel.ptx"); }
  ptx::Report launch(const std::string& text, bool lenient) {
    const Result<ptx::Module> module = ptx::Module::load(text, *Target::find("sm_90a"));
    if (!module) FAIL(module.error().message());
    const Result<ptx::Function> function = module->function(case_.at("entry").get<std::string>());
    if (!function) FAIL(function.error().message());
    ptx::Launch how = shape_of(case_);
    how.lenient = lenient;
    return recorded_kernel::launch(*function, case_, memory_, how);
  }
  void require_equal() {
    for (const json& output : case_.at("outputs")) {
      const auto name = output.get<std::string>();
      INFO(name);
      CHECK(memory_.at("in_" + name) == memory_.at("out_" + name));
    }
  }

 private:
  fs::path folder_;
  json case_;
  Arrays memory_;
};

const std::vector<Mistake> kMistakes = {
    // ---- Phases
    {"a parity that follows from the loop's counter",
     "hopper_tma_gemm",
     {{"and.b32  \t%r77, %r84, 1;", "and.b32  \t%r77, %r83, 1;"}},
     Errc::threads_diverge,
     {"x"},
     {"done, [%r76]"}},
    {"a parity that does not change",
     "hopper_tma_gemm",
     {{"done, [%r76], %r77;", "done, [%r76], 0;"}},
     Errc::phase_mistaken,
     {"x"},
     {"done, [%r76]"}},
    {"a parity that is one ahead",
     "hopper_tma_gemm",
     {{"mbarrier.try_wait.parity.shared::cta.b64 done, [%r76], %r77;",
       ".reg .b32 ahead; xor.b32 ahead, %r77, 1; mbarrier.try_wait.parity.shared::cta.b64 done, [%r76], ahead;"}},
     Errc::copy_pending,
     {"x"},
     {"done, [%r76]"}},
    {"an arrival twice",
     "hopper_tma_gemm",
     {{"_, [%r50], %r51;", "_, [%r50], %r51; mbarrier.arrive.shared::cta.b64 _, [%r50];"}},
     Errc::barrier_misused,
     {"x"},
     {"done, [%r76]"}},
    {"a count of half of the consumers",
     "hopper_tma_gemm",
     {{"mov.u32 \t%r44, 128;", "mov.u32 \t%r44, 64;"}},
     Errc::barrier_misused,
     {"x"},
     {"done, [%r76]"}},
    // ---- Bytes
    {"bytes of one operand instead of two",
     "hopper_tma_gemm",
     {{"mov.u32 \t%r51, 16384;", "mov.u32 \t%r51, 8192;"}},
     Errc::barrier_misused,
     {"x"},
     {"done, [%r76]"}},
    {"bytes of three operands instead of two",
     "hopper_tma_gemm",
     {{"mov.u32 \t%r51, 16384;", "mov.u32 \t%r51, 24576;"}},
     Errc::threads_diverge,
     {"x"},
     {"done, [%r76]"}},
    {"bytes that are expected when the phase is complete",
     "hopper_tma_gemm",
     {{"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r50], %r51;",
       "mbarrier.arrive.shared::cta.b64 _, [%r50];"},
      {"{%r168, %r2}], [%r50];",
       "{%r168, %r2}], [%r50]; mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r50], %r51;"}},
     Errc::copy_pending,
     {"x"},
     {"done, [%r76]"}},
    // ---- Beginning and end of objects
    {"mbarrier.init of an object in use",
     "hopper_tma_gemm",
     {{"@%p5 bra \t$L__BB0_3;", "@%p5 bra \t$L__BB0_3; mbarrier.init.shared::cta.b64 [%r33], 1;"}},
     Errc::barrier_misused,
     {"x"},
     {"done, [%r76]"}},
    {"mbarrier.inval of an object in use",
     "hopper_tma_gemm",
     {{"@%p5 bra \t$L__BB0_3;", "@%p5 bra \t$L__BB0_3; mbarrier.inval.shared::cta.b64 [%r33];"}},
     Errc::barrier_misused,
     {"x"},
     {"done, [%r76]"}},
    {"an object that was not initialised",
     "hopper_tma_gemm",
     {{"mbarrier.init.shared::cta.b64 [%r37], %r169;", ""}},
     Errc::barrier_misused,
     {"x"},
     {"done, [%r76]"}},
    {"an object whose mbarrier.init is ordered by nothing",
     "hopper_tma_gemm",
     {{"bar.sync \t0;", ""}},
     Errc::barrier_misused,
     {"x"},
     {"done, [%r76]"}},
    {"objects of a cluster without fence.mbarrier_init",
     "hopper_cluster_multicast",
     {{"fence.mbarrier_init.release.cluster;", ""}},
     Errc::barrier_misused,
     {"x"},
     {"done, [%r76]"}},
    {"objects of a cluster without barrier.cluster",
     "hopper_cluster_multicast",
     {{"barrier.cluster.arrive.release.aligned;", "bar.sync 0;"},
      {"barrier.cluster.wait.acquire.aligned;", ""}},
     Errc::barrier_misused,
     {"x"},
     {"done, [%r76]"}},
    // ---- Stages
    {"a stage that is filled while products read it",
     "hopper_warp_specialised",
     {{"mbarrier.try_wait.parity.shared::cta.b64 done, [%r363], %r364;", "bra over;"},
      {"mbarrier.try_wait.parity.shared::cta.b64 done, [%r278], %r279;", "bra over;"},
      {"mbarrier.try_wait.parity.shared::cta.b64 done, [%r290], %r291;", "bra over;"},
      {"mbarrier.try_wait.parity.shared::cta.b64 done, [%r302], %r303;", "bra over;"},
      {"mbarrier.try_wait.parity.shared::cta.b64 done, [%r314], %r315;", "bra over;"}},
     Errc::copy_pending,
     {"x"},
     {"done, [%r76]"}},
    {"a stage that the only warpgroup's other warps may read",
     "hopper_tma_gemm",
     {{"mbarrier.try_wait.parity.shared::cta.b64 done, [%r15], %r77;", "bra over;"}},
     Errc::copy_pending,
     {"x"},
     {"done, [%r76]"}},
    {"a stage that is released before its products are done",
     "hopper_persistent",
     {{"wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;", 1},
      {"wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;", 1},
      {"wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;", 1}},
     Errc::copy_pending,
     {"x"},
     {"done, [%r76]"}},
    {"a product that reads a copy's bytes too early",
     "hopper_tma_gemm",
     {{"mbarrier.try_wait.parity.shared::cta.b64 done, [%r76], %r77;", "bra over;"}},
     Errc::copy_pending,
     {"x"},
     {"done, [%r76]"}},
    {"ld.shared of a copy's bytes too early",
     "hopper_tensor_maps",
     {{"mbarrier.try_wait.parity.shared::cta.b64 done, [%r158], %r159;", "bra over;"}},
     Errc::copy_pending,
     {"x"},
     {"done, [%r76]"}},
    // ---- Proxies
    {"stores that a bulk copy reads, without fence.proxy.async",
     "hopper_persistent",
     {{"fence.proxy.async.shared::cta;", ""}},
     Errc::protocol_violation,
     {"x"},
     {"done, [%r76]"}},
    {"stores that a product reads, without fence.proxy.async",
     "gemm_wgmma",
     {{"fence.proxy.async;", ""}},
     Errc::protocol_violation,
     {"x"},
     {"done, [%r76]"}},
    {"stores to bytes that a bulk group reads",
     "hopper_persistent",
     {{"cp.async.bulk.wait_group.read 0;", ""}},
     Errc::copy_pending,
     {"x"},
     {"done, [%r76]"}},
    // ---- Tensor maps
    {"a tensor map that was changed, without an acquire",
     "hopper_tensor_maps",
     {{"fence.proxy.tensormap::generic.acquire.gpu [%rd7], 128;", ""}},
     Errc::protocol_violation,
     {"x"},
     {"done, [%r76]"}},
    {"a tensor map that was changed again, without a release",
     "hopper_tensor_maps",
     {{"fence.proxy.tensormap::generic.acquire.gpu [%rd7], 128;",
       "tensormap.replace.tile.fill_mode.global.b1024.b32 [%rd7], 0;"
       " fence.proxy.tensormap::generic.acquire.gpu [%rd7], 128;"}},
     Errc::protocol_violation,
     {"x"},
     {"done, [%r76]"}},
    {"a tile at a multiple of 64 bytes",
     "hopper_tma_gemm",
     {{"add.s32 \t%r52, %r68, %r47;", "add.s32 \t%r52, %r68, %r47; add.s32 %r52, %r52, 64;"}},
     Errc::address_misaligned,
     {"x"},
     {"done, [%r76]"}},
    {"a product that expects another swizzle than the tensor map's",
     "hopper_tma_gemm",
     {{"or.b64  \t%rd15, %rd25, 4611686293305360384;", "or.b64  \t%rd15, %rd25, 0x8000004000010000;"}},
     Errc::protocol_violation,
     {"x"},
     {"done, [%r76]"}},
    {"a product that expects another base offset than the copy's",
     "hopper_tma_gemm",
     {{"or.b64  \t%rd16, %rd26, 4611686293305360384;", "or.b64  \t%rd16, %rd26, 0x4002004000010000;"}},
     Errc::protocol_violation,
     {"x"},
     {"done, [%r76]"}},
    // ---- Clusters
    {"a block that ends while another one reads its memory",
     "hopper_cluster_reduction",
     {{"barrier.cluster.arrive.release.aligned;", "", 3}, {"barrier.cluster.wait.acquire.aligned;", "", 3}},
     Errc::protocol_violation,
     {"x"},
     {"done, [%r76]"}},
    {"a copy to a block that may have ended",
     "hopper_cluster_multicast",
     {{"barrier.cluster.arrive.release.aligned;", "", 2}, {"barrier.cluster.wait.acquire.aligned;", "", 2}},
     Errc::protocol_violation,
     {"x"},
     {"done, [%r76]"}},
    {"a warp that does not come to barrier.cluster",
     "hopper_cluster_reduction",
     {{"barrier.cluster.arrive.release.aligned;",
       "{ .reg .pred late; setp.lt.u32 late, %r3, 32; @late bar.sync 1, 64; } barrier.cluster.arrive.release.aligned;",
       1}},
     Errc::threads_diverge,
     {"x"},
     {"done, [%r76]"}},
    // ---- Registers
    {"more registers than others have given back",
     "hopper_warp_specialised",
     {{"setmaxnreg.dec.sync.aligned.u32 40;", ""}},
     Errc::threads_diverge,
     {"x"},
     {"done, [%r76]"}},
};

TEST_CASE("each mistake in a recorded kernel is a fault with both places") {
  for (const Mistake& one : kMistakes) {
    DYNAMIC_SECTION(one.name) {
      Recorded recorded(one.kernel);
      const std::string text = edited(recorded.text(), one.edits);
      const ptx::Report report = recorded.launch(text, false);
      REQUIRE(report.fault);
      const Fault& fault = *report.fault;
      INFO(fault.message());
      CHECK(name(fault.error.code) == name(one.code));
      for (const char* words : one.says) CHECK_THAT(fault.message(), Catch::Contains(words));
      CHECK(fault.ptx_line == line_of(text, one.at));
      REQUIRE(fault.other.has_value() == one.other.has_value());
      if (one.other) CHECK(fault.other->ptx_line == line_of(text, *one.other));
    }
  }
}

TEST_CASE("the same kernels without the mistakes are silent, and leave what a GPU left") {
  std::vector<std::string> kernels;
  for (const Mistake& one : kMistakes)
    if (std::ranges::find(kernels, one.kernel) == kernels.end()) kernels.emplace_back(one.kernel);
  for (const std::string& kernel : kernels) {
    DYNAMIC_SECTION(kernel) {
      for (const bool lenient : {false, true}) {
        Recorded recorded(kernel);
        const ptx::Report report = recorded.launch(recorded.text(), lenient);
        if (report.fault) FAIL(report.fault->message());
        CHECK(report.findings.empty());
        recorded.require_equal();
      }
    }
  }
}

// Tiles from a multiple of 128 bytes on: copies and products swizzle by the same bits of an address.
TEST_CASE("a tile that is swizzled from another line on") {
  const std::vector<Edit> moves = {
      {"and.b32  \t%r47, %r46, -1024;", "and.b32  \t%r47, %r46, -1024; add.s32 %r47, %r47, 128;"},
      {"and.b32  \t%r170, %r75, -1024;", "and.b32  \t%r170, %r75, -1024; add.s32 %r170, %r170, 128;"},
      {"or.b32  \t%r67, %r63, %r47;", "add.s32 \t%r67, %r63, %r47;"}};
  std::vector<Edit> all = moves;
  for (int i = 0; i < 2; ++i) {  // the addresses in descriptors, for A and B
    all.push_back({", 261120;", ", 262016;"});
    all.push_back({", 261152;", ", 262048;"});
    all.push_back({", 261184;", ", 262080;"});
    all.push_back({", 261216;", ", 262112;"});
  }
  Recorded right("hopper_tma_gemm");
  const ptx::Report report = right.launch(edited(right.text(), all), false);
  if (report.fault) FAIL(report.fault->message());
  right.require_equal();

  Recorded wrong("hopper_tma_gemm");
  const ptx::Report before = wrong.launch(edited(wrong.text(), moves), false);
  REQUIRE(before.fault);
  CHECK(name(before.fault->error.code) == name(Errc::never_written));
}

// ---- Small kernels: a cluster of two blocks of 64 threads

// %p1: block 0; %p2: thread 0 of block 1; %r3: the block's own object, %r4 and %r5: those of blocks 0 and 1.
constexpr const char* kBefore = R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k()
{
  .reg .pred %p<8>;
  .reg .b32 %r<16>;
  .shared .align 8 .b64 object;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %cluster_ctarank;
  mov.u32 %r3, object;
  mapa.shared::cluster.u32 %r4, %r3, 0;
  mapa.shared::cluster.u32 %r5, %r3, 1;
  setp.eq.u32 %p1, %r2, 0;
  setp.eq.u32 %p2, %r1, 0;
  setp.eq.and.u32 %p3, %r2, 1, %p2;
)";

// Where a fault is, and its other side.
const std::string kAt = "  // <- at\n", kOther = "  // <- other\n";
const std::string kInit = "@%p2 mbarrier.init.shared::cta.b64 [%r3], 64;",
                  kFence = "@%p2 fence.mbarrier_init.release.cluster;",
                  kArrive = "barrier.cluster.arrive.release.aligned;",
                  kWait = "barrier.cluster.wait.acquire.aligned;", kMeet = kArrive + kWait + "\n",
                  kToSecond = "@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];",
                  kToFirst = "@!%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];";

struct Small {
  const char* name;
  Errc code;
  std::vector<const char*> says;
  std::string wrong, correct;
};

const std::vector<Small> kSmall = {
    {"an arrival at a block that may not have begun",
     Errc::barrier_misused,
     {"x"},
     kInit + kFence + "\n" + kToSecond + kAt + kMeet,
     kInit + kFence + "\n" + kMeet + kToSecond + kMeet},
    {"an arrival at an object that is not initialised for others",
     Errc::barrier_misused,
     {"x"},
     kMeet + kInit + kOther + kFence + kToSecond + kAt + kMeet,
     kMeet + kInit + kFence + kMeet + kToSecond + kMeet},
    {"an arrival at a block that may have ended",
     Errc::protocol_violation,
     {"x"},
     kInit + kFence + kMeet + kToFirst + kOther + "ret;" + kAt,
     kInit + kFence + kMeet + kToFirst + kMeet},
    {"an arrival at a block that has ended",
     Errc::protocol_violation,
     {"x"},
     kInit + kFence + kMeet + kToSecond + kAt,
     kInit + kFence + kMeet + kToSecond + kMeet},
    {"an arrival with a count beyond the object's",
     Errc::barrier_misused,
     {"x"},
     kInit + kOther + kFence + kMeet + "@%p2 mbarrier.arrive.shared::cta.b64 _, [%r3], 65;" + kAt,
     kInit + kFence + kMeet + "@%p2 mbarrier.arrive.shared::cta.b64 _, [%r3], 64;"},
    {"barrier.cluster.wait without an arrival",
     Errc::barrier_misused,
     {"x"},
     kMeet + kWait + kAt,
     kMeet + kMeet},
    {"barrier.cluster.arrive twice",
     Errc::barrier_misused,
     {"x"},
     kArrive + "\n" + kArrive + kAt + kWait,
     kArrive + "\n" + kWait},
    {"half of a block at barrier.cluster",
     Errc::threads_diverge,
     {"x"},
     "setp.lt.u32 %p4, %r1, 32;\n@%p4 bar.sync 1, 64;" + kAt + kMeet,
     "setp.lt.u32 %p4, %r1, 32;\n@%p4 bar.sync 1, 32;\n" + kMeet},
};

ptx::Report run_small(const std::string& text) {
  const Result<ptx::Module> module = ptx::Module::load(text, *Target::find("sm_90a"));
  if (!module) FAIL(module.error().message());
  const Result<ptx::Function> function = module->function("k");
  if (!function) FAIL(function.error().message());
  ptx::Launch how;
  how.grid = {2};
  how.cluster = Dim3{2};
  how.block = {64};
  return function->launch(how, {});
}

TEST_CASE("each mistake between the blocks of a cluster is a fault, and its correct neighbour is none") {
  for (const Small& one : kSmall) {
    DYNAMIC_SECTION(one.name) {
      const ptx::Report right = run_small(kBefore + one.correct + "\nret;\n}\n");
      if (right.fault) FAIL(right.fault->message());
      const std::string text = kBefore + one.wrong + "\nret;\n}\n";
      const ptx::Report wrong = run_small(text);
      REQUIRE(wrong.fault);
      const Fault& fault = *wrong.fault;
      INFO(fault.message());
      CHECK(name(fault.error.code) == name(one.code));
      for (const char* words : one.says) CHECK_THAT(fault.message(), Catch::Contains(words));
      CHECK(fault.ptx_line == line_of(text, {kAt}));
      const bool has_other = one.wrong.find(kOther) != std::string::npos;
      REQUIRE(fault.other.has_value() == has_other);
      if (has_other) CHECK(fault.other->ptx_line == line_of(text, {kOther}));
    }
  }
}

}  // namespace ptx_async_faults_test
