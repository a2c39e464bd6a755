// SPDX-License-Identifier: Apache-2.0
// Each mistake with barrier objects, bulk copies, tensor maps and clusters, planted in a recorded kernel or in a small one.
// Beside it stands the kernel without it: it is silent, and leaves what a GPU left.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "recorded_launch.hpp"
#include "warpbit/tensor_map.hpp"

namespace ptx_async_faults_test {

using namespace recorded_launch;

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

// The fault of a launch, else its first finding; nullptr if there is none.
const Fault* found_in(const ptx::Report& report) {
  if (report.fault) return &*report.fault;
  return report.findings.empty() ? nullptr : &report.findings.front().fault;
}

// ---- Recorded kernels

class Recorded {
 public:
  explicit Recorded(const std::string& name) : kernel_(GoldenLaunch::golden(name)), memory_(kernel_.before()) {}

  std::string text() const { return kernel_.text(); }
  ptx::Report launch(const std::string& text, bool lenient) {
    const Result<ptx::Module> module = ptx::Module::load(text, *Target::find("sm_90a"));
    if (!module) FAIL(module.error().message());
    const Result<ptx::Function> function = module->function(kernel_.entry());
    if (!function) FAIL(function.error().message());
    ptx::Launch how = kernel_.shape();
    how.lenient = lenient;
    return kernel_.launch(*function, how, memory_);
  }
  ptx::Report launch_as_recorded() { return launch(text(), false); }
  void require_equal() { kernel_.require_left(memory_); }

 private:
  GoldenLaunch kernel_;
  Parts memory_;
};

// The places that they have in common.
const Spot kFullWait = {"done, [%r76]"}, kExpect = {"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r50]"},
           kCopyA = {"[%r52], [%rd11, {%r168, %r1}]"}, kCopyB = {"[%r56], [%rd12, {%r168, %r2}]"},
           kProduct = {"wgmma.mma_async"}, kFirstInit = {"mbarrier.init.shared::cta.b64 [%r33], %r169;"};

const std::vector<Mistake> kMistakes = {
    // ---- Phases
    {"a parity that follows from the loop's counter",
     "hopper_tma_gemm",
     {{"and.b32  \t%r77, %r84, 1;", "and.b32  \t%r77, %r83, 1;"}},
     Errc::deadlock,
     {"deadlock", "no thread can go on (4 warps wait at 1 place)", "warps 0-3",
      "  phase 1 of the mbarrier at 0xc008: 0 of 1 arrivals",
      "\n    arrived before, and not in this phase: warp 0, lane 0\n",
      "phase 0 (parity 0) is complete, and this warp has not waited for it"},
     kFullWait},
    {"a parity that does not change",
     "hopper_tma_gemm",
     {{"done, [%r76], %r77;", "done, [%r76], 0;"}},
     Errc::deadlock,
     {"deadlock", "  phase 2 of the mbarrier at 0xc000: 0 of 1 arrivals",
      "\n    arrived before, and not in this phase: warp 0, lane 0\n",
      "phase 1 (parity 1) is complete, and this warp has not waited for it"},
     kFullWait},
    {"a phase that the warp has waited for before",
     "hopper_warp_specialised",
     {{"done, [%r63], %r64;", "done, [%r63], 0;"},
      {"done, [%r116], %r117;", "done, [%r116], 0;"},
      {"done, [%r170], %r171;", "done, [%r170], 0;"}},
     Errc::phase_mistaken,
     {"this warp has waited for phase 0 (parity 0) of the mbarrier at 0x12000 before, so this wait goes on at once",
      "what comes of it: wgmma.mma_async", "; the parity must follow from how often the object has been used"},
     {"done, [%r116]"},
     Spot{"wgmma.mma_async", 5}},
    {"a parity of the phase before",
     "hopper_tma_gemm",
     {{"mbarrier.try_wait.parity.shared::cta.b64 done, [%r76], %r77;",
       ".reg .b32 before; xor.b32 before, %r77, 1; mbarrier.try_wait.parity.shared::cta.b64 done, [%r76], before;"}},
     Errc::phase_mistaken,
     {"this wait for parity 1 of the mbarrier at 0xc000 goes on at once, since the first phase has parity 0",
      "what comes of it: wgmma", "bytes 0x6000 to 0x601f", "bulk copy of lane 0 of warp 0",
      "; the parity must follow from how often the object has been used"},
     {"done, [%r76], before"},
     kProduct},
    {"an arrival twice",
     "hopper_tma_gemm",
     {{"_, [%r50], %r51;", "_, [%r50], %r51; mbarrier.arrive.shared::cta.b64 _, [%r50];"}},
     Errc::barrier_misused,
     {"phase 0 of the mbarrier at 0xc000 has had its 1 arrival"},
     kExpect,
     kExpect},
    {"a count of half of those who arrive",
     "hopper_tma_gemm",
     {{"mov.u32 \t%r44, 128;", "mov.u32 \t%r44, 64;"}},
     Errc::deadlock,
     {"deadlock", "  phase 2 of the mbarrier at 0xc018: 0 of 64 arrivals",
      "the mbarrier at 0xc018 was initialised for 64 arrivals, and 128 have come since warp 0 last waited there, so it has "
      "missed phases; mbarrier.init must count all arrivals of a phase, or some of them must go to another mbarrier",
      "128 arrivals have come since this warp's last wait there, and its phases take 64"},
     {"mbarrier.init.shared::cta.b64 [%r35], %r44;"}},
    // ---- Bytes
    {"bytes of one operand instead of two",
     "hopper_tma_gemm",
     {{"mov.u32 \t%r51, 16384;", "mov.u32 \t%r51, 8192;"}},
     Errc::barrier_misused,
     {"this copy was issued in phase 0 (parity 0) of the mbarrier at 0xc000, and the phase was complete without its 8192 bytes"},
     kCopyB,
     kExpect},
    {"bytes of three operands instead of two",
     "hopper_tma_gemm",
     {{"mov.u32 \t%r51, 16384;", "mov.u32 \t%r51, 24576;"}},
     Errc::deadlock,
     {"deadlock", "phase 0 of the mbarrier at 0xc000: 1 of 1 arrivals, 16384 of 24576 bytes have come"},
     kExpect},
    {"bytes that nobody expects",
     "hopper_tma_gemm",
     {{"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r50], %r51;", ""}},
     Errc::deadlock,
     {"deadlock",
      "16384 bytes have come to the mbarrier at 0xc000 in phase 0, and nobody expects any; mbarrier.expect_tx must count",
      "phase 0 of the mbarrier at 0xc000: 0 of 1 arrivals, 16384 bytes have come, 16384 more than expected"},
     kCopyB},
    {"bytes that are expected when the phase is complete",
     "hopper_tma_gemm",
     {{"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r50], %r51;",
       "mbarrier.arrive.shared::cta.b64 _, [%r50];"},
      {"{%r168, %r2}], [%r50];",
       "{%r168, %r2}], [%r50]; mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r50], %r51;"}},
     Errc::copy_pending,
     {"bytes 0x6000 to 0x601f",
      "the mbarrier at 0xc000 expects bytes in phase 1, behind the last arrival of phase 0, and nobody has arrived "
      "in phase 1); mbarrier.expect_tx must come before the last arrival of phase 0"},
     kProduct,
     kCopyB},
    // ---- Beginning and end of objects
    {"mbarrier.init of an object in use",
     "hopper_tma_gemm",
     {{"@%p5 bra \t$L__BB0_3;", "@%p5 bra \t$L__BB0_3; mbarrier.init.shared::cta.b64 [%r33], 1;"}},
     Errc::barrier_misused,
     {"the mbarrier at 0xc000 is in use", "1 of 1 arrivals, 0 of 16384 bytes have come", "mbarrier.inval"},
     {"mbarrier.init.shared::cta.b64 [%r33], 1;"},
     kFirstInit},
    {"mbarrier.inval of an object in use",
     "hopper_tma_gemm",
     {{"@%p5 bra \t$L__BB0_3;", "@%p5 bra \t$L__BB0_3; mbarrier.inval.shared::cta.b64 [%r33];"}},
     Errc::barrier_misused,
     {"the mbarrier at 0xc000 is in use", "1 of 1 arrivals, 0 of 16384 bytes have come"},
     {"mbarrier.inval"},
     kFirstInit},
    {"an object that was not initialised",
     "hopper_tma_gemm",
     {{"mbarrier.init.shared::cta.b64 [%r37], %r169;", ""}},
     Errc::barrier_misused,
     {"there is no barrier object at 0xc008", "mbarrier.init must come before"},
     kExpect},
    {"an object whose mbarrier.init is ordered by nothing",
     "hopper_tma_gemm",
     {{"bar.sync \t0;", ""}},
     Errc::barrier_misused,
     {"the mbarrier at 0xc000 was initialised by lane 0 of warp 0, and nothing orders that mbarrier.init before"},
     kFullWait,
     kFirstInit},
    {"objects of a cluster without fence.mbarrier_init",
     "hopper_cluster_multicast",
     {{"fence.mbarrier_init.release.cluster;", ""}},
     Errc::barrier_misused,
     {"of block 1 of the cluster was initialised by lane 0 of warp 0 of that block, and that thread executed no fence",
      "fence.mbarrier_init"},
     {"[%r14], [%rd65"},
     Spot{"mbarrier.init.shared::cta.b64 [%r38]"}},
    {"objects of a cluster without barrier.cluster",
     "hopper_cluster_multicast",
     {{"barrier.cluster.arrive.release.aligned;", "bar.sync 0;"},
      {"barrier.cluster.wait.acquire.aligned;", ""}},
     Errc::protocol_violation,
     {"block 1 of the cluster may not have begun", "barrier.cluster.wait before the first access"},
     {"[%r14], [%rd65"}},
    // ---- Stages
    {"a producer that does not wait for an empty stage",
     "hopper_persistent",
     {{"mbarrier.try_wait.parity.shared::cta.b64 done, [%r461], %r462;", "bra over;"}},
     Errc::copy_pending,
     {"bytes 0x4000 to 0x5fff are written by a bulk copy of lane 0 of warp 8",
      "wait for phase 0 (parity 0) of the mbarrier at 0x14010"},
     {"[%r465], [%rd64"},
     Spot{"[%r524], [%rd64"}},
    {"a stage that the warpgroup's other warps may read",
     "hopper_tma_gemm",
     {{"mbarrier.try_wait.parity.shared::cta.b64 done, [%r15], %r77;", "bra over;"}},
     Errc::data_race,
     {"bytes 0x0 to 0x1f were read by a wgmma of warps 0-3", "all four warps", "wgmma.wait_group"},
     {"[%r114], [%rd33"},
     kProduct},
    {"a stage that is released to other blocks before its products are done",
     "hopper_cluster_multicast",
     {{"wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;"},
      {"wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;"}},
     Errc::data_race,
     {"bytes 0x1000 to 0x101f were read by a wgmma of warps 0-3 of block 0 of the cluster",
      "all four warps must execute wgmma.wait_group", "block (0, 0, 0), warps 0-3"},
     {"[%r14], [%rd65, {%r250"},
     kProduct},
    {"a stage that is released before its products are done",
     "hopper_persistent",
     {{"wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;"},
      {"wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;"},
      {"wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;"}},
     Errc::protocol_violation,
     {"wgmma.mma_async",
      " and is not complete; all four warps must execute wgmma.wait_group 0, and then a barrier"},
     {"[%r496], [%rd64"},
     Spot{"wgmma.mma_async", 4}},
    {"a product that reads a copy's bytes too early",
     "hopper_tma_gemm",
     {{"mbarrier.try_wait.parity.shared::cta.b64 done, [%r76], %r77;", "bra over;"}},
     Errc::copy_pending,
     {"bytes 0x6000 to 0x601f", "wait for phase 0 (parity 0) of the mbarrier at 0xc000 first"},
     kProduct,
     kCopyB},
    {"ld.shared of a copy's bytes before the copy",
     "hopper_tensor_maps",
     {{"mbarrier.try_wait.parity.shared::cta.b64 done, [%r158], %r159;", "bra over;"}},
     Errc::copy_pending,
     {"bytes 0x4 to 0x7 are written by a bulk copy of lane 0 of warp 0, which has not been waited for",
      "wait for phase 0 (parity 0) of the mbarrier at 0x1080 first"},
     {"ld.shared.u32", 2},
     Spot{"[%r130], [%rd4, {%r4}]"}},
    {"ld.shared of a copy's bytes too early",
     "hopper_tma_gemm",
     {{"{%r168, %r2}], [%r50];", "{%r168, %r2}], [%r50]; ld.shared.u32 %r60, [%r56];"}},
     Errc::copy_pending,
     {"ld.shared.u32",
      "bytes 0x6000 to 0x6003 are written by a bulk copy of lane 0 of warp 0, which has not been waited for",
      "wait for phase 0 (parity 0) of the mbarrier at 0xc000 first"},
     kCopyB,
     kCopyB},
    // ---- Proxies
    {"stores that a bulk copy reads, without fence.proxy.async",
     "hopper_persistent",
     {{"fence.proxy.async.shared::cta;", ""}},
     Errc::protocol_violation,
     {"bytes 0x10000 to 0x11fff were written by lane 0 of warp 0 and others through the generic proxy",
      "fence.proxy.async"},
     {"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"},
     Spot{"stmatrix"}},
    {"stores that a product reads, without fence.proxy.async",
     "gemm_wgmma",
     {{"fence.proxy.async;", ""}},
     Errc::protocol_violation,
     {"it reads shared memory 0x2000 to 0x20ff, which was written through the generic proxy",
      "fence.proxy.async"},
     kProduct,
     Spot{"st.shared", 8}},
    {"stores to bytes that a bulk group reads",
     "hopper_persistent",
     {{"cp.async.bulk.wait_group.read 0;", ""}},
     Errc::copy_pending,
     {"bytes 0x10000 to 0x1000f are read by a bulk copy of lane 0 of warp 0", "cp.async.bulk.wait_group.read"},
     {"stmatrix"},
     Spot{"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"}},
    // ---- Tensor maps
    {"a tensor map that was changed, without an acquire",
     "hopper_tensor_maps",
     {{"fence.proxy.tensormap::generic.acquire.gpu [%rd7], 128;", ""}},
     Errc::protocol_violation,
     {"was changed",
      "this thread must execute fence.proxy.tensormap::generic.acquire.gpu [address of the map], 128 before this statement"},
     {"[%r123], [%rd4, {%r4, %r5}]"},
     Spot{"tensormap.cp_fenceproxy"}},
    {"a tensor map that was changed again, without a release",
     "hopper_tensor_maps",
     {{"fence.proxy.tensormap::generic.acquire.gpu [%rd7], 128;",
       "tensormap.replace.tile.fill_mode.global.b1024.b32 [%rd7], 0;"
       " fence.proxy.tensormap::generic.acquire.gpu [%rd7], 128;"}},
     Errc::protocol_violation,
     {"was changed",
      "the thread that changed it must execute fence.proxy.tensormap::generic.release.gpu, and then this one fence.proxy.tensormap::generic.acquire.gpu [address of the map], 128"},
     {"[%r123], [%rd4, {%r4, %r5}]"},
     Spot{"tensormap.replace.tile.fill_mode.global"}},
    // ---- Tiles
    {"a tile at a multiple of 64 bytes",
     "hopper_tma_gemm",
     {{"add.s32 \t%r52, %r68, %r47;", "add.s32 \t%r52, %r68, %r47; add.s32 %r52, %r52, 64;"}},
     Errc::address_misaligned,
     {"0x40", "multiple of 128"},
     kCopyA},
    {"a bulk copy to a multiple of 8 bytes",
     "hopper_bulk_copies",
     {{"[%r83], [%rd24], 512", "[%r83+8], [%rd24], 512"}},
     Errc::address_misaligned,
     {"a copy of 512 bytes", "multiples of 16"},
     {"[%r83+8], [%rd24], 512"}},
    {"a bulk copy to an address of no block",
     "hopper_tma_gemm",
     {{"add.s32 \t%r52, %r68, %r47;", "add.s32 \t%r52, %r68, %r47; or.b32 %r52, %r52, 0x7F000000;"}},
     Errc::address_out_of_bounds,
     {"addresses from 0x7f000000 on of shared memory"},
     kCopyA},
    {"a bulk copy from another block's shared memory",
     "hopper_bulk_copies",
     {{".and.b32 [%r130], [%r127], 512", ".and.b32 [%r130], [%r130], 512"}},
     Errc::address_out_of_bounds,
     {"of another block", "a block copies from its own shared memory"},
     {".and.b32 [%r130], [%r130], 512"}},
    {"a product that expects another swizzle than the tensor map's",
     "hopper_tma_gemm",
     {{"or.b64  \t%rd15, %rd25, 4611686293305360384;", "or.b64  \t%rd15, %rd25, 0x8000004000010000;"}},
     Errc::protocol_violation,
     {"the tile from 0x0 on was copied with 128-byte swizzle", "is read with 64-byte swizzle"},
     kProduct,
     kCopyA},
    {"a product that expects no swizzle",
     "hopper_tma_gemm",
     {{"or.b64  \t%rd16, %rd26, 4611686293305360384;", "or.b64  \t%rd16, %rd26, 0x4000010000;"}},
     Errc::protocol_violation,
     {"the tile from 0x6000 on was copied with 128-byte swizzle", "is read with no swizzle"},
     kProduct,
     kCopyB},
    {"a product that expects another base offset than the copy's",
     "hopper_tma_gemm",
     {{"or.b64  \t%rd16, %rd26, 4611686293305360384;", "or.b64  \t%rd16, %rd26, 0x4002004000010000;"}},
     Errc::protocol_violation,
     {"the tile from 0x6000 on was copied with 128-byte swizzle", "128-byte swizzle and base offset 1"},
     kProduct,
     kCopyB},
    // ---- Clusters
    {"a block that ends while another one reads its memory",
     "hopper_cluster_reduction",
     {{"barrier.cluster.arrive.release.aligned;", "", 3}, {"barrier.cluster.wait.acquire.aligned;", "", 3}},
     Errc::protocol_violation,
     {"lane 0 of warp 0 of block 0 of the cluster reads byte 0x50 of the shared memory of block"},
     {"ld.v4.u32"},
     Spot{"\tret;"}},
    {"an arrival at a block that has ended",
     "hopper_cluster_multicast",
     {{"barrier.cluster.arrive.release.aligned;", "", 2}, {"barrier.cluster.wait.acquire.aligned;", "", 2}},
     Errc::protocol_violation,
     {"block 0 of the cluster has ended", "barrier.cluster.wait after the last arrival"},
     {"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there]"},
     Spot{"ret;"}},
    {"a warp that does not come to barrier.cluster",
     "hopper_cluster_reduction",
     {{"barrier.cluster.arrive.release.aligned;",
       "{ .reg .pred late; setp.lt.u32 late, %r3, 32; @late bar.sync 1, 64; } barrier.cluster.arrive.release.aligned;"}},
     Errc::deadlock,
     {"deadlock", "PTX line 140: bar.sync 1, 64  ", "  barrier 1: 1 of 2 warps has arrived\n",
      "(3, 0, 0), warps 1-3  PTX line 141: barrier.cluster.wait.acquire.aligned  barrier.cluster: 12 of 16 warps have arrived"},
     {"barrier.cluster.arrive.release.aligned;"}},
    // ---- Registers
    {"more registers than others have given back",
     "hopper_warp_specialised",
     {{"setmaxnreg.dec.sync.aligned.u32 40;", ""}},
     Errc::deadlock,
     {"deadlock", "setmaxnreg.inc.sync.aligned.u32 232",
      " more registers, and 768 were free and none were given back; other warps must give as many back by setmaxnreg.dec, or",
      "0 of 8 arrivals"},
     {"setmaxnreg.inc.sync.aligned.u32 232;"}},
};

TEST_CASE("each mistake in a recorded kernel is found with both places") {
  for (const Mistake& one : kMistakes) {
    DYNAMIC_SECTION(one.name) {
      Recorded recorded(one.kernel);
      const std::string text = edited(recorded.text(), one.edits);
      const ptx::Report report = recorded.launch(text, false);
      REQUIRE(found_in(report) != nullptr);
      const Fault& fault = *found_in(report);
      INFO(fault.message());
      CHECK(name(fault.error.code) == name(one.code));
      for (const char* words : one.says) CHECK_THAT(fault.message(), Catch::Contains(words));
      CHECK(fault.ptx_line == line_of(text, one.at));
      REQUIRE(fault.other.has_value() == one.other.has_value());
      if (one.other) CHECK(fault.other->ptx_line == line_of(text, *one.other));
    }
  }
}

TEST_CASE("a proxy fence with a restriction is one, and one for aliases is none") {
  const auto run = [](const char* fence) {
    Recorded recorded("hopper_bulk_copies");
    return recorded.launch(edited(recorded.text(), {{"fence.proxy.async.shared::cta;", fence}}), false);
  };
  for (const char* fence : {"fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;",
                            "fence.proxy.async.shared::cta.sync_restrict::shared::cta;"}) {
    const ptx::Report right = run(fence);
    if (right.fault) FAIL(right.fault->message());
  }
  const ptx::Report wrong = run("fence.proxy.alias;");
  REQUIRE(wrong.fault);
  CHECK(name(wrong.fault->error.code) == name(Errc::protocol_violation));
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

TEST_CASE("a launch that is lenient goes on behind such a fault") {
  Recorded recorded("hopper_persistent");
  const std::string text = edited(recorded.text(), {{"fence.proxy.async.shared::cta;", ""}});
  const ptx::Report report = recorded.launch(text, true);
  if (report.fault) FAIL(report.fault->message());
  recorded.require_equal();
  REQUIRE_FALSE(report.findings.empty());
  for (const ptx::Finding& one : report.findings) {
    INFO(one.fault.message());
    CHECK(name(one.fault.error.code) == name(Errc::protocol_violation));
    CHECK(one.fault.ptx_line == line_of(text, {"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"}));
    REQUIRE(one.fault.other);
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
  INFO(before.fault->message());
  CHECK(name(before.fault->error.code) == name(Errc::copy_pending));
}

// ---- Small kernels: a cluster of two blocks of 64 threads

// %p1: block 0; %p2: thread 0; %r3: the block's own object, %r4 and %r5: those of blocks 0 and 1.
constexpr const char* kBefore = R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k() .maxntid 64 .minnctapersm 1
{
  .reg .pred %p<8>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<2>;
  .shared .align 8 .b64 object;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %cluster_ctarank;
  mov.u32 %r3, object;
  mapa.shared::cluster.u32 %r4, %r3, 0;
  mapa.shared::cluster.u32 %r5, %r3, 1;
  setp.eq.u32 %p1, %r2, 0;
  setp.eq.u32 %p2, %r1, 0;
)";

// Where a fault is, and its other side.
const std::string kAt = "  // <- at\n", kOther = "  // <- other\n";
const std::string kInit = "@%p2 mbarrier.init.shared::cta.b64 [%r3], 64;",
                  kFence = "@%p2 fence.mbarrier_init.release.cluster;",
                  kInitLate = "setp.eq.u32 %p2, %r1, 32;\n" + kInit,
                  kArrive = "barrier.cluster.arrive.release.aligned;",
                  kArriveRelaxed = "barrier.cluster.arrive.relaxed.aligned;",
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
     Errc::protocol_violation,
     {"block 1 of the cluster may not have begun", "barrier.cluster.wait before the first access"},
     kInit + kFence + "\n" + kToSecond + kAt + kMeet,
     kInit + kFence + "\n" + kMeet + kToSecond + kMeet},
    {"a warp that leaves out the barrier of the cluster",
     Errc::protocol_violation,
     {"block 1 of the cluster may not have begun, and warp 1 has not executed the barrier.cluster of other warps; all "
      "threads of the cluster must execute barrier.cluster.arrive"},
     kInit + kFence + "\nsetp.lt.u32 %p4, %r1, 32;\n@%p4 " + kArrive + kOther + "@%p4 " + kWait +
         "\n@!%p4 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];" + kAt + kMeet,
     kInit + kFence + kMeet + "setp.lt.u32 %p4, %r1, 32;\n" + kMeet +
         "@!%p4 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];" + kMeet},
    {"an arrival at an object that is not initialised for others",
     Errc::barrier_misused,
     {"was initialised by lane 0 of warp 1", "nothing orders that mbarrier.init before", "barrier.cluster"},
     kMeet + kInitLate + kOther + kFence + kToSecond + kAt + kMeet,
     kMeet + kInitLate + kFence + kMeet + kToSecond + kMeet},
    {"an arrival at an object whose init a relaxed arrival does not order",
     Errc::barrier_misused,
     {"was initialised by lane 0 of warp 0", "is relaxed, so it does not order them",
      "a fence.acq_rel.cluster must come before it"},
     kInit + kOther + kArriveRelaxed + kWait + kToSecond + kAt + kMeet,
     kInit + kFence + kArriveRelaxed + kWait + kToSecond + kMeet},
    {"an arrival at a block that may have ended",
     Errc::protocol_violation,
     {"lane 31 of warp 1 of block 1 of the cluster arrives at the mbarrier at 0x0 of the shared memory of block 0"},
     kInit + kFence + kMeet + kToFirst + kAt + "ret;" + kOther,
     kInit + kFence + kMeet + kToFirst + kMeet},
    {"an arrival at a block that has ended, since it did not wait",
     Errc::protocol_violation,
     {"block 1 of the cluster has ended", "barrier.cluster.wait after the last arrival"},
     kInit + kFence + kArrive + "\n@!%p1 ret;" + kOther + kWait + kToSecond + kAt,
     kInit + kFence + kMeet + kToSecond + kArrive + kWait},
    {"copies that arrive at an object of another block",
     Errc::address_out_of_bounds,
     {"barrier objects of another block"},
     kInit + kFence + kMeet +
         "cvta.shared.u64 %rd1, 0;\nmapa.u64 %rd1, %rd1, 1;\n@%p1 cp.async.mbarrier.arrive.b64 [%rd1];" + kAt +
         kMeet,
     kInit + kFence + kMeet + "@%p2 cp.async.mbarrier.arrive.shared::cta.b64 [%r3];" + kMeet},
    {"an arrival with a count beyond the object's",
     Errc::barrier_misused,
     {"phase 0 of the mbarrier at 0x0 (object) has had 0 of its 64 arrivals, and this statement brings 65, 1 too many"},
     kInit + kOther + kFence + kMeet + "@%p2 mbarrier.arrive.shared::cta.b64 _, [%r3], 65;" + kAt,
     kInit + kFence + kMeet + "@%p2 mbarrier.arrive.shared::cta.b64 _, [%r3], 64;"},
    {"a store to an object",
     Errc::barrier_misused,
     {"the mbarrier at 0x0 (object) was overwritten by lane 0 of warp 0",
      "store the data elsewhere, or execute mbarrier.inval before the store and mbarrier.init after it"},
     kInit + kFence + kMeet + "@%p2 st.shared.u32 [%r3], 7;" + kOther +
         "@%p2 mbarrier.arrive.shared::cta.b64 _, [%r3];" + kAt,
     kInit + kFence + kMeet + "@%p2 mbarrier.arrive.shared::cta.b64 _, [%r3];"},
    {"an object of no arrivals",
     Errc::barrier_misused,
     {"a count of 0", "1 to 1048575"},
     "mov.u32 %r6, 0;\n@%p2 mbarrier.init.shared::cta.b64 [%r3], %r6;" + kAt,
     "mov.u32 %r6, 1;\n@%p2 mbarrier.init.shared::cta.b64 [%r3], %r6;"},
    {"an object at a multiple of 4 bytes",
     Errc::address_misaligned,
     {"address 0x4", "a multiple of 8"},
     "@%p2 mbarrier.init.shared::cta.b64 [%r3+4], 1;" + kAt,
     "@%p2 mbarrier.init.shared::cta.b64 [%r3], 1;"},
    {"an arrival with .noComplete that completes the phase",
     Errc::barrier_misused,
     {"this arrival with .noComplete is the last of the phase"},
     kInit + kOther + kFence + kMeet + "@%p2 mbarrier.arrive.noComplete.shared::cta.b64 %rd1, [%r3], 64;" + kAt,
     kInit + kFence + kMeet + "@%p2 mbarrier.arrive.noComplete.shared::cta.b64 %rd1, [%r3], 63;"},
    {"setmaxnreg.inc to fewer registers",
     Errc::barrier_misused,
     {"232 registers, but the thread already has 255", "setmaxnreg.inc takes more than that"},
     "setmaxnreg.inc.sync.aligned.u32 232;" + kAt,
     "setmaxnreg.dec.sync.aligned.u32 232; setmaxnreg.inc.sync.aligned.u32 240;"},
    {"barrier.cluster.wait without an arrival",
     Errc::barrier_misused,
     {"a thread waits that has not arrived"},
     kMeet + kWait + kAt,
     kMeet + kMeet},
    {"barrier.cluster.arrive twice",
     Errc::barrier_misused,
     {"a thread arrives a second time"},
     kArrive + "\n" + kArrive + kAt + kWait,
     kArrive + "\n" + kWait},
    {"half of a block at barrier.cluster",
     Errc::deadlock,
     {"blocks (0, 0, 0), (1, 0, 0), warp 0", "bar.sync 1, 64  ", "  barrier 1: 1 of 2 warps has arrived",
      "barrier.cluster.wait", "  barrier.cluster: 2 of 4 warps have arrived"},
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

TEST_CASE("each mistake between the blocks of a cluster is found, and its correct neighbour is silent") {
  for (const Small& one : kSmall) {
    DYNAMIC_SECTION(one.name) {
      const ptx::Report right = run_small(kBefore + one.correct + "\nret;\n}\n");
      if (found_in(right) != nullptr) FAIL(found_in(right)->message());
      const std::string text = kBefore + one.wrong + "\nret;\n}\n";
      const ptx::Report wrong = run_small(text);
      REQUIRE(found_in(wrong) != nullptr);
      const Fault& fault = *found_in(wrong);
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

// Eight rows of 64 bf16 with the swizzle of 128 bytes. %r5: the lane's row.
constexpr const char* kLdmatrix = R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128])
{
  .reg .pred %p<3>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<4>;
  .shared .align 1024 .b8 tile[1024];
  .shared .align 8 .b64 object;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, object;
  mov.u32 %r3, tile;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r2], 1;
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [%r2], 1024;
  mov.u32 %r4, 0;
  @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r3], [%rd2, {%r4, %r4}], [%r2];  // <- other
  bar.warp.sync 0xffffffff;
L: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
  @!%p2 bra L;
  and.b32 %r5, %r1, 7;
  mov.u32 %r6, 5;
)";

// A map of 8 rows of 64 numbers, whose boxes have all columns.
TensorMap map_of(std::span<std::uint16_t> numbers, std::uint32_t box_rows) {
  TensorMap map;
  map.elemtype = TensorType::bf16;
  map.rank = 2;
  map.global_address = ptx::address(std::as_writable_bytes(numbers));
  map.global_dim = {64, 8};
  map.global_stride = {128};
  map.box_dim = {64, box_rows};
  map.element_stride = {1, 1};
  return map;
}

TEST_CASE("an ldmatrix of a swizzled tile takes its chunks where they are") {
  alignas(16) std::array<std::uint16_t, 8 * 64> numbers{};
  TensorMap map = map_of(numbers, 8);
  map.swizzle_mode = Swizzle::bytes_128;
  const Result<TensorMapBytes> bytes = map.encode();
  REQUIRE(bytes);
  const std::string load =
      "shl.b32 %r7, %r6, 4;\nshl.b32 %r8, %r5, 7;\nadd.u32 %r7, %r7, %r8;\nadd.u32 %r7, %r7, %r3;\n"
      "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r8}, [%r7];  // <- at\nret;\n}\n";
  const auto run = [&](const std::string& text, Kernel kernel) {
    const Result<ptx::Module> module = ptx::Module::load(text);
    if (!module) FAIL(module.error().message());
    const Result<ptx::Function> function = module->function("k");
    REQUIRE(function);
    ptx::Launch how;
    how.block = {32};
    how.execute.kernel = kernel;
    return function->launch(how, {ptx::value(*bytes)});
  };
  const std::string wrong = kLdmatrix + load;
  for (const Kernel kernel : {Kernel::scalar, Kernel::reference}) {
    const ptx::Report right = run(kLdmatrix + ("xor.b32 %r6, %r6, %r5;\n" + load), kernel);
    if (right.fault) FAIL(right.fault->message());
    const ptx::Report found = run(wrong, kernel);
    REQUIRE(found.fault);
    INFO(found.fault->message());
    CHECK(name(found.fault->error.code) == name(Errc::protocol_violation));
    CHECK_THAT(found.fault->message(),
               Catch::Contains("the tile from 0x0 on was copied with 128-byte swizzle, and "
                               "lanes 0-7 read 16-byte chunk 5 of each 128-byte row"));
    CHECK(found.fault->ptx_line == line_of(wrong, {kAt}));
    REQUIRE(found.fault->other);
    CHECK(found.fault->other->ptx_line == line_of(wrong, {kOther}));
  }
  CHECK(ptx::forget(map.global_address));
}

// %rd2: a map in global memory, which the thread changes.
constexpr const char* kChangedMap = R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 map)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  .shared .align 128 .b8 tile[1024];
  .shared .align 8 .b64 object;
  ld.param.u64 %rd1, [map];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, tile;
  mov.u32 %r2, object;
  mbarrier.init.shared::cta.b64 [%r2], 1;
  mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [%r2], 1024;
  tensormap.replace.tile.box_dim.global.b1024.b32 [%rd2], 1, 8;  // <- other
)";

TEST_CASE("a tensor map that was changed is released and acquired before a copy uses it") {
  alignas(16) std::array<std::uint16_t, 8 * 64> numbers{};
  const TensorMap map = map_of(numbers, 4);
  const Result<TensorMapBytes> bytes = map.encode();
  REQUIRE(bytes);
  const std::string release = "fence.proxy.tensormap::generic.release.gpu;\n",
                    acquire = "fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;\n",
                    copy =
                        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                        "[%r1], [%rd2, {%r3, %r3}], [%r2];  // <- at\nret;\n}\n";
  const auto run = [&](const std::string& fences, int coordinate = 0) {
    const Result<ptx::Module> module =
        ptx::Module::load(fmt::format("{}mov.u32 %r3, {}; {}{}", kChangedMap, coordinate, fences, copy));
    if (!module) FAIL(module.error().message());
    const Result<ptx::Function> function = module->function("k");
    REQUIRE(function);
    alignas(64) TensorMapBytes changed = *bytes;
    return function->launch(ptx::Launch(), {ptx::buffer(std::span<std::byte>(changed))});
  };
  const ptx::Report right = run(release + acquire);
  if (right.fault) FAIL(right.fault->message());
  const ptx::Report beside = run(release + acquire, 1);
  REQUIRE(beside.fault);
  CHECK_THAT(beside.fault->message(),
             Catch::StartsWith("cp.async.bulk.tensor.2d.") &&
                 Catch::Contains(": coordinate 1, byte 2, is misaligned; a multiple of 16"));
  for (
      const auto& [fences, missing] :
      {std::pair(
           acquire,
           "the thread that changed it must execute fence.proxy.tensormap::generic.release.gpu, and then this one fence.proxy.tensormap::generic.acquire.gpu [address of the map], 128"),
       std::pair(
           release,
           "this thread must execute fence.proxy.tensormap::generic.acquire.gpu [address of the map], 128 before this statement")}) {
    const ptx::Report wrong = run(fences);
    REQUIRE(wrong.fault);
    INFO(wrong.fault->message());
    CHECK(name(wrong.fault->error.code) == name(Errc::protocol_violation));
    CHECK_THAT(wrong.fault->message(), Catch::Contains(missing));
    CHECK(wrong.fault->ptx_line == line_of(kChangedMap + fences + copy, {kAt}));
    REQUIRE(wrong.fault->other);
    CHECK(wrong.fault->other->ptx_line == line_of(kChangedMap + fences + copy, {kOther}));
  }
  CHECK(ptx::forget(map.global_address));
}

TEST_CASE("sums of floats in bulk depend on the order of blocks") {
  const ptx::Report report = Recorded("hopper_bulk_copies").launch_as_recorded();
  REQUIRE(report.ok());
  int floats = 0, integers = 0;
  for (const ptx::OrderDependence& one : report.order_dependent) {
    floats += one.instruction.ends_with(".bulk_group.add.f32") ? 1 : 0;
    integers += one.instruction.ends_with(".bulk_group.add.u32") ? 1 : 0;
  }
  CHECK(floats == 1);
  CHECK(integers == 0);
}

// ---- Waits that do not wait for what they should

constexpr const char* kWaitsHead = R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  .shared .align 128 .b8 tile[1024];
  .shared .align 8 .b64 full[2];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  mov.u32 %r2, tile;
  mad.lo.u32 %r3, %r1, 4, %r2;
  setp.eq.u32 %p0, %r1, 0;
  @%p0 mbarrier.init.shared.b64 [full], 1;
  @%p0 mbarrier.init.shared.b64 [full+8], 1;
  bar.sync 0;
)";
constexpr const char* kLoad = R"(  @!%p0 bra LOADED;
  mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 256, [full];
LOADED:
)";

ptx::Report launched(
    const std::string& body, std::vector<std::uint32_t>& out,
    const std::function<void(ptx::Launch&)>& change = [](ptx::Launch&) {}) {
  const Result<ptx::Module> module = ptx::Module::load(kWaitsHead + body + "  ret;\n}\n");
  if (!module) FAIL(module.error().message());
  const Result<ptx::Function> function = module->function("k");
  REQUIRE(function);
  ptx::Launch how;
  how.block = {64};
  change(how);
  return function->launch(how, {ptx::buffer(out)});
}

std::string first_of(const std::string& body) {
  std::vector<std::uint32_t> out(256);
  const ptx::Report report = launched(body, out);
  const Fault* const found = found_in(report);
  return found == nullptr ? "" : found->message();
}

TEST_CASE("a wait for something else is named") {
  const std::string use = "  ld.shared.u32 %r4, [%r3];\n  st.global.u32 [%rd2+512], %r4;\n";
  const auto wait = [](const std::string& object) {
    return "W: mbarrier.try_wait.parity.shared.b64 %p1, [" + object + "], 0;\n  @!%p1 bra W;\n";
  };
  CHECK(first_of(kLoad + wait("full") + use) == "");
  for (const std::string test : {"test", "try"})
    CHECK_THAT(
        first_of(fmt::format("{}  mbarrier.{}_wait.parity.shared.b64 %p1, [full], 0;\n{}", kLoad, test, use)),
        Catch::StartsWith(
            fmt::format("mbarrier.{}_wait.parity.shared.b64 %p1, [full], 0: nothing reads its answer, so "
                        "this warp has not waited; it must be executed again until its answer is true\n",
                        test)));
  for (const std::string last : {"", "  @%p1 bra U;\n"})
    CHECK_THAT(
        first_of(kLoad +
                 std::string("  mbarrier.try_wait.parity.shared.b64 %p1, [full], 0;\n"
                             "  selp.u32 %r4, 1, 0, %p1;\n  setp.ne.u32 %p1, %r4, 0;\n") +
                 last + "U:\n" + use),
        Catch::StartsWith(
            "mbarrier.try_wait.parity.shared.b64 %p1, [full], 0: its answer was false, as it may be, and "
            "this warp has gone on; it must be executed again until its answer is true\n"));
  CHECK_THAT(
      first_of(kLoad + std::string("  @%p0 mbarrier.arrive.shared.b64 _, [full+8];\n") + wait("full+8") + use),
      Catch::Contains("wait for phase 0 (parity 0) of the mbarrier at 0x400 first (the last wait of this warp "
                      "was at the mbarrier at 0x408)"));
}

TEST_CASE("the phase that a warp has missed is named") {
  const std::string arrive = "  @%p0 mbarrier.arrive.shared.b64 _, [full];\n",
                    wait = "W: mbarrier.try_wait.parity.shared.b64 %p1, [full], 0;\n  @!%p1 bra W;\n";
  CHECK(first_of(arrive + "  bar.sync 0;\n" + wait) == "");
  CHECK_THAT(
      first_of(arrive + arrive + "  bar.sync 0;\n" + wait),
      Catch::Contains("phase 0 (parity 0) was complete, and phase 1 after it, before this warp waited for it"));
}

TEST_CASE("who invalidates an object lets those go on first whose phase is complete") {
  const std::string arrive = "  @%p0 mbarrier.arrive.shared.b64 _, [full];\n",
                    wait = "W: mbarrier.try_wait.parity.shared.b64 %p1, [full], 0;\n  @!%p1 bra W;\n",
                    inval = "  @%p0 mbarrier.inval.shared.b64 [full];\n",
                    store = "  st.global.u32 [%rd2], 7;\n";
  CHECK(first_of(arrive + wait + "  bar.sync 0;\n" + inval + store) == "");
  const std::string mistake = arrive + wait + inval + store;
  CHECK_THAT(first_of(mistake), Catch::Contains("is in use"));
  for (const bool lenient : {true, false}) {
    std::vector<std::uint32_t> out(256);
    const ptx::Report report = launched(mistake, out, [&](ptx::Launch& how) {
      how.lenient = lenient;
      how.check_shared = lenient;
    });
    CHECK_FALSE(report.fault);
    CHECK(report.findings.empty() != lenient);
    CHECK(std::count(out.begin(), out.end(), 7) == 64);
  }
}

TEST_CASE("a wait for groups of another thread is named") {
  const std::string rounds = R"(  mov.u32 %r5, 0;
L:
  st.shared.u32 [%r3], %r5;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 256;
  @%p0 cp.async.bulk.commit_group;
)";
  const std::string again =
      "  add.s64 %rd1, %rd1, 256;\n  add.u32 %r5, %r5, 1;\n  setp.lt.u32 %p1, %r5, 3;\n  @%p1 bra L;\n";
  CHECK(first_of(rounds + "  @%p0 cp.async.bulk.wait_group.read 0;\n  bar.sync 0;\n" + again) == "");
  CHECK_THAT(first_of(rounds + "  cp.async.bulk.wait_group.read 0;\n" + again),
             Catch::Contains("a barrier, before this statement (it waits for "
                             "groups of the thread that executes it, and warp 1 has none)"));
}

TEST_CASE("barriers that are out of step are named") {
  const std::string round = R"(  st.shared.u32 [%r3], %r1;
  bar.sync 0;
  xor.b32 %r6, %r3, 128;
  ld.shared.u32 %r7, [%r6];
  st.global.u32 [%rd2], %r7;
)";
  CHECK(first_of(round) == "");
  CHECK_THAT(first_of("  setp.lt.u32 %p2, %r1, 32;\n  @%p2 bar.sync 0;\n" + round),
             Catch::Contains(
                 "warp 0 met the last barrier at PTX line 21, warp 1 at PTX line 23, so their barriers are out "
                 "of step"));
}

// What an H100 does right, as others' pipelines rely on: the last warp that leaves invalidates the object, and one lane of each
// has told that it leaves.
TEST_CASE("tests of an object by lanes for which another one tells are a finding") {
  const std::string arrive = "  @%p0 mbarrier.arrive.shared.b64 _, [full];\n  and.b32 %r4, %r1, 31;\n";
  const auto wait = [](const std::string& label) {
    return fmt::format("{0}: mbarrier.try_wait.parity.shared.b64 %p1, [full], 0;\n  @!%p1 bra {0};\n", label);
  };
  const std::string leave = R"(  setp.ne.u32 %p2, %r4, 0;
  @%p2 bra END;
  fence.acq_rel.cta;
  atom.add.acq_rel.cta.global.u32 %r5, [%rd1], 1;
  setp.ne.u32 %p3, %r5, 1;
  @%p3 bra END;
  mbarrier.inval.shared.b64 [full];
END:
)";
  CHECK(first_of(arrive + wait("W") + "  bar.warp.sync 0xffffffff;\n" + leave) == "");
  std::vector<std::uint32_t> out(256);
  const ptx::Report told = launched(arrive + wait("W") + leave, out);
  CHECK(told.ok());
  REQUIRE(told.findings.size() == 1);
  CHECK(told.findings[0].fault.rule == KernelRule::lanes_not_synchronised);
  CHECK_THAT(
      told.findings[0].fault.message(),
      Catch::Contains(
          "a __syncwarp must come between that read and the arrival, or the store of the flag, by the other lane"));
  out.assign(out.size(), 0);
  const ptx::Report apart = launched(arrive + "  setp.eq.u32 %p2, %r4, 31;\n  @%p2 bra V;\n" + wait("W") +
                                         "  bra LEAVE;\n" + wait("V") + "LEAVE:\n" + leave,
                                     out);
  REQUIRE(apart.fault);
  CHECK(apart.fault->rule == KernelRule::mbarrier_in_use);
}

}  // namespace ptx_async_faults_test
