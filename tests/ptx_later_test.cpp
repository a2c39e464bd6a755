// SPDX-License-Identifier: Apache-2.0
// Scalar forms of PTX 9.1 to 9.5, by the syntax and the notes of each instruction in PTX ISA 9.4: the version before the first one
// that has it, and a target without it; what no launch executes is accepted where a module is checked, and a launch refuses it by name.
// Forms of PTX 9.5 rest on the list of them in apache/tvm-tirx#241. tests/correct/later_*.ptx are launched.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "target/target.hpp"
#include "warpbit/ptx.hpp"

namespace ptx_later_test {

using namespace warpbit;
using Catch::Contains;

constexpr std::string_view kOneGpu = "there is one GPU", kReport = "what it reports of its bytes is not known",
                           kHow = "how it copies has not been measured",
                           kSize = "how eight bits say a size is not known",
                           kTable = "how its table lies in tensor memory is not known",
                           kWhich = "no document says which of equal elements it takes";

struct Later {
  std::string_view before, since, target, without, statement;
  std::string_view left = {};  ///< why no launch executes it
};

constexpr Later kLater[] = {
    // 9.1
    {"9.0", "9.1", "sm_90", "sm_89", "multimem.cp.async.bulk.global.shared::cta.bulk_group [%q0], [s], 64;",
     kOneGpu},
    {"9.0", "9.1", "sm_100", "sm_90a",
     "multimem.cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%q0], [s], 64, %c0;", kOneGpu},
    {"9.0", "9.1", "sm_90", "sm_89",
     "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%q0], [s], %r0;", kOneGpu},
    // 9.3: several GPUs
    {"9.2", "9.3", "sm_90a", "sm_90",
     "multimem.cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.b128 [%q0], [s], 64;", kOneGpu},
    {"9.2", "9.3", "sm_110f", "sm_120a",
     "multimem.cp.async.bulk.weak.global.shared::cta.bulk_group.cp_mask [%q0], [s], 64, %c0;", kOneGpu},
    {"9.2", "9.3", "sm_90", "sm_89",
     "multimem.cp.reduce.async.bulk.relaxed.sys.global.shared::cta.bulk_group.min.s64 [%q0], [s], 64;",
     kOneGpu},
    {"9.2", "9.3", "sm_100", "sm_90a", "multimem.red.async.release.sys.add.s32 [%q0], %r1;", kOneGpu},
    {"9.2", "9.3", "sm_100", "sm_90a",
     "fabric.try_get.async.shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric.relaxed.sys.b128 [s], "
     "[%r0, %q0], 256, [bar];",
     kOneGpu},
    {"9.2", "9.3", "sm_100", "sm_90a",
     "fabric.try_put.async.multimem.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric.cp_mask.relaxed.sys.b128 "
     "[%r0, %q0], [s], %r1, [bar], %c0;",
     kOneGpu},
    {"9.2", "9.3", "sm_100", "sm_90a",
     "fabric.try_put.async.counted::bytes.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric.relaxed.sys.b128 "
     "[%r0, %q0, %q1], [s], %r1, [bar];",
     kOneGpu},
    {"9.2", "9.3", "sm_100", "sm_90a",
     "fabric.try_red.async.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric.relaxed.sys.add.u32 "
     "[%r0, %q0], [s], %r1, [bar];",
     kOneGpu},
    {"9.2", "9.3", "sm_100", "sm_90a",
     "fabric.try_pullred.async.multimem.shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric.relaxed.sys.add"
     ".f32.sync [s], [%r0, %q0], 64, [bar], 0xFFFFFFFF;",
     kOneGpu},
    {"9.2", "9.3", "sm_120a", "sm_120f",
     "fabric.try_pullred.async.multimem.shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric.relaxed.sys"
     ".add.acc::f16.e4m3.sync [s], [%r0, %q0], 64, [bar], 0xFFFFFFFF;",
     kOneGpu},
    {"9.2", "9.3", "sm_100", "sm_90a", "fabric.submit.op_restrict::fetching;", kOneGpu},
    {"9.2", "9.3", "sm_100", "sm_90a", "fabric.wait.sync_restrict::reads;", kOneGpu},
    {"9.2", "9.3", "sm_100", "sm_90a", "fence.proxy.generic::fabric.alias.release.sys;", kOneGpu},
    // 9.3: strong copies, barrier objects
    {"9.2", "9.3", "sm_90a", "sm_90",
     "cp.async.bulk.weak.shared::cta.global.mbarrier::complete_tx::bytes [s], [%q0], 64, [bar];"},
    {"9.2", "9.3", "sm_100f", "sm_120f",
     "cp.async.bulk.relaxed.sys.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint.ignore_oob.b128 [s], [%q0], "
     "64, 3, 5, [bar], %q1;"},
    {"9.2", "9.3", "sm_110f", "sm_120a",
     "cp.async.bulk.relaxed.cluster.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.b128 [s], [%q0], "
     "64, [bar], %c0;"},
    {"9.2", "9.3", "sm_90a", "sm_100",
     "cp.async.bulk.relaxed.cta.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.b128 [%r0], [s], 64, [%r1];"},
    {"9.2", "9.3", "sm_103a", "sm_103",
     "cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.b128 [%q0], [s], 64;"},
    {"9.2", "9.3", "sm_100f", "sm_90a",
     "cp.async.bulk.weak.global.shared::cta.bulk_group.cp_mask [%q0], [s], 64, %c0;", kHow},
    {"9.2", "9.3", "sm_90", "sm_89",
     "cp.reduce.async.bulk.relaxed.cta.global.shared::cta.bulk_group.add.u64 [%q0], [s], 64;"},
    {"9.2", "9.3", "sm_90", "sm_89", "mbarrier.init.layout::v1.shared::cta.b64 [bar], 4;"},
    {"9.2", "9.3", "sm_90", "sm_89", "mbarrier.check_layout.layout::v1.shared::cta.b64 %p0, [bar];"},
    {"9.2", "9.3", "sm_90", "sm_89", "mbarrier.pending_count.layout::v0.b64 %r0, %q0;"},
    {"9.2", "9.3", "sm_90", "sm_89",
     "mbarrier.test_wait.phase_type::primary.shared::cta.b64 %p0|%p1, %y0, [bar], %q1;"},
    {"9.2", "9.3", "sm_90", "sm_89",
     "mbarrier.try_wait.parity.phase_type::conditional.relaxed.cluster.shared::cta.b64 %p0, [bar], %r0, %r1;"},
    // 9.4: hints, loads, atomics, fences
    {"9.3", "9.4", "sm_90", "sm_89", "prefetch.global.L1::32B.valid_addr [%q0];"},
    {"9.3", "9.4", "sm_90", "sm_89", "ld.u32.proxy::readonly %r0, [%q0];"},
    {"9.3", "9.4", "sm_90", "sm_89", "atom.shared::cta.add.noftz.f32 %f0, [s], %f1;"},
    {"9.3", "9.4", "sm_90", "sm_89", "red.global.add.noftz.v2.f32 [%q0], {%f0, %f1};"},
    {"9.3", "9.4", "sm_90", "sm_89",
     "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f32 [%q0], [s], 64;"},
    {"9.3", "9.4", "sm_90", "sm_89", "fence.proxy.alias.acquire.sys;"},
    {"9.3", "9.4", "sm_90", "sm_89",
     "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster;"},
    {"9.3", "9.4", "sm_107f", "sm_100f", "cp.async.bulk.prefetch.L2.global.L2::evict_last [%q0], 64;"},
    {"9.3", "9.4", "sm_107f", "sm_107",
     "applypriority.async.bulk.global.bulk_group.L2::evict_normal [%q0], 128;"},
    {"9.3", "9.4", "sm_107f", "sm_110f",
     "applypriority.async.bulk.tensor.2d.global.bulk_group.tile.L2::evict_normal [%q0, {%r0, %r1}];"},
    // 9.4: masks of 32 blocks, reports, parts of a map in the statement
    {"9.3", "9.4", "sm_90", "sm_89",
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster::16b [s], [%q0], 64, [bar], %c0;"},
    {"9.3", "9.4", "sm_107f", "sm_100f",
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster::32b [s], [%q0], 64, [bar], %r0;"},
    {"9.3", "9.4", "sm_107a", "sm_103a",
     "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster::32b.cta_group::2 "
     "[s], [%q0, {%r0, %r1}], [bar], 3;"},
    {"9.3", "9.4", "sm_107f", "sm_107",
     "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.mbarrier::report::disabled [s], [%q0], 64, [bar];"},
    {"9.3", "9.4", "sm_107f", "sm_110a",
     "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.mbarrier::report::validity::per_16bytes::8000 [s], [%q0], "
     "64, [bar];",
     kReport},
    {"9.3", "9.4", "sm_107f", "sm_110a",
     "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes"
     ".mbarrier::report::validity::per_element::ff [s], [%q0, {%r0, %r1, %r2, %r3, %r4}], [bar];",
     kHow},
    {"9.3", "9.4", "sm_107f", "sm_100f",
     "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes.override::global_address [s], [%q0, %q1, "
     "{%r0}], [bar];"},
    {"9.3", "9.4", "sm_107f", "sm_100f",
     "cp.async.bulk.tensor.3d.shared::cta.global.tile.mbarrier::complete_tx::bytes.cta_group::1.override::global_address"
     ".override::global_dim_stride [s], [%q0, %q1, {%y0, %y1, %y2}, {%r0, %r1}, %c0, {0, 0, 0}], [bar];",
     kSize},
    {"9.3", "9.4", "sm_107f", "sm_100f",
     "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group.override::global_address.override::global_dim [%q0, %q1, "
     "{%c0}, {0}], [s];",
     kSize},
    {"9.3", "9.4", "sm_107f", "sm_100f",
     "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs::w.bulk_group [%q0, {%r0, %r1, %r2}], [s];",
     kHow},
    {"9.3", "9.4", "sm_107f", "sm_100f",
     "cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.tile.bulk_group.override::global_address [%q0, %q1, {%r0, %r1}], "
     "[s];"},
    {"9.3", "9.4", "sm_107f", "sm_100f",
     "cp.async.bulk.prefetch.tensor.4d.L2.global.im2col::w::128.L2::evict_last [%q0, {%r0, %r1, %r2, %r3}], {%c0, %c1};"},
    {"9.3", "9.4", "sm_107f", "sm_100f",
     "mbarrier.expect_tx.relaxed.cta.shared::cluster.multicast::cluster::32b.b64 [%r0], 512, 0x3;"},
    {"9.3", "9.4", "sm_107f", "sm_100f",
     "mbarrier.arrive.release.cta.shared::cluster.multicast::cluster::32b.b64 _, [%r0], 0xa;"},
    {"9.3", "9.4", "sm_107f", "sm_100f",
     "mbarrier.arrive_drop.expect_tx.shared::cluster.multicast::cluster::32b.b64 _, [%r0], %r1, %r2;"},
    // 9.4: compression
    {"9.3", "9.4", "sm_107a", "sm_107f",
     "spcompress.b8.b2.sp::2:4.x4 {%r0}, {%r1, %r2, %r3, %r4}, {%r5, %r6, %r7, %r8, %r9, %r10, %r11, %r12}, %r13;",
     kWhich},
    {"9.3", "9.4", "sm_107a", "sm_100a",
     "spdecompress.b16.b4.sp::2:8.x2 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, {%r8}, {%r9, %r10};"},
    {"9.3", "9.4", "sm_107a", "sm_107f",
     "tcgen05.ld.red.spcompress.sync.aligned.32x32b.x4.max.sp::2:4.abs.f32.b2 {%r0}, {%r1, %r2}, %r3, [%r4];",
     kWhich},
    {"9.3", "9.4", "sm_107f", "sm_100f",
     "tcgen05.commit.cta_group::1.mbarrier::arrive::one.sync_restrict::shared::read::mma::a.shared::cluster.b64 [%r0];"},
    // 9.4: B by a table
    {"9.3", "9.4", "sm_107f", "sm_103a",
     "tcgen05.mma.cta_group::1.kind::f8f6f4.decompress::lut::b.collector::b::fill [%r0], %q0, %q1, [%r1], %r2, "
     "{%r3, %r4, %r5, %r6}, %p0;",
     kTable},
    {"9.3", "9.4", "sm_107a", "sm_110f",
     "tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale.decompress::lut::b.block32.collector::b::lastuse [%r0], [%r3], %q1, "
     "[%r1], %r2, [%r4], [%r5], %p0;",
     kTable},
    // 9.5
    {"9.4", "9.5", "sm_100", "sm_90a", "cp.async.bulk.wait_group.sync_restrict::proxy::async 0;",
     "no document says what it waits for"},
    {"9.4", "9.5", "sm_90", "sm_89", "fence.alias.sync_restrict::read.release.sys;",
     "no document says what it orders"},
    {"9.4", "9.5", "sm_100", "sm_90a", "fabric.submit.commit_group;", kOneGpu},
    {"9.4", "9.5", "sm_100", "sm_90a", "fabric.wait.sync_restrict::read 1;", kOneGpu},
    {"9.4", "9.5", "sm_107", "", "sin.approx.2pi.ftz.f32 %f0, %f1;", "no document says which bits it has"},
    {"9.4", "9.5", "sm_90a", "", "mov.u32 %r0, %locality_domain_id;"},
};

Result<ptx::Module> module_of(std::string_view version, std::string_view target, std::string_view statement) {
  return ptx::Module::load(fmt::format(
      ".version {}\n.target {}\n.visible .entry k() {{ .reg .pred %p<4>; .reg .b8 %y<4>; .reg .b16 %c<4>; "
      ".reg .b32 %r<16>; .reg .b64 %q<4>; .reg .f32 %f<4>; .shared .align 128 .b8 s[1024]; .shared .align 8 .b64 bar; {} ret; "
      "}}\n",
      version, target, statement));
}

std::vector<Error> checked(std::string_view version, std::string_view target, std::string_view statement) {
  const Result<ptx::Module> module = module_of(version, target, statement);
  REQUIRE(module.ok());
  return module->check();
}

TEST_CASE("forms of PTX 9.1 to 9.5 are accepted from their version on, on the targets that have them",
          "[quick]") {
  for (const Later& c : kLater) {
    INFO(c.statement << " on " << c.target);
    for (const std::string_view version : {c.since, std::string_view("9.5")})
      for (const Error& error : checked(version, c.target, c.statement)) CHECK(error.message() == "");
    if (text(Target::find_ptx(c.target)->row().since) <= c.before) {  // a target may be later than a form
      const std::vector<Error> early = checked(c.before, c.target, c.statement);
      REQUIRE(early.size() == 1);
      CHECK(early[0].code == Errc::not_in_version);
      CHECK_THAT(early[0].message(), Contains(fmt::format("from PTX {} on", c.since)));
    }
    if (c.without.empty()) continue;
    const std::vector<Error> elsewhere = checked("9.5", c.without, c.statement);
    REQUIRE(elsewhere.size() == 1);
    CHECK(elsewhere[0].code == Errc::not_on_target);
  }
}

TEST_CASE("a launch refuses by name what it does not execute of PTX 9.1 to 9.5", "[quick]") {
  for (const Later& c : kLater) {
    INFO(c.statement << " on " << c.target);
    const Result<ptx::Module> module = module_of("9.5", c.target, c.statement);
    REQUIRE(module.ok());
    const Result<ptx::Function> function = module->function("k");
    CHECK(function.ok() == c.left.empty());
    if (function.ok()) continue;
    CHECK(function.error().code == Errc::instruction_not_modelled);
    CHECK_THAT(function.error().message(), Catch::EndsWith(std::string(c.left)));
  }
}

// ---- Beside them

struct Wrong {
  std::string_view target, statement, says;
};

TEST_CASE("what is near to forms of PTX 9.1 to 9.5 is refused by its cause", "[quick]") {
  constexpr Wrong kWrong[] = {
      {"sm_90a",
       "cp.async.bulk.relaxed.shared::cta.global.mbarrier::complete_tx::bytes.b128 [s], [%q0], 64, [bar];",
       "the scope is missing; accepted is .cta, .gpu, .sys or .cluster"},
      {"sm_90a",
       "cp.async.bulk.relaxed.gpu.shared::cta.global.mbarrier::complete_tx::bytes [s], [%q0], 64, [bar];",
       "the qualifier .b128 is missing"},
      {"sm_90", "mbarrier.pending_count.layout::v1.b64 %r0, %q0;", "the qualifier .layout::v1 must go"},
      {"sm_90", "mbarrier.test_wait.phase_type::conditional.shared::cta.b64 %p0, [bar], %q1;", ".parity"},
      {"sm_90", "mbarrier.test_wait.phase_type::primary.shared::cta.b64 %p0|%p1, %r0, [bar], %q1;",
       "register '%r0' of .b32"},
      {"sm_107f",
       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster::32b [s], [%q0], 64, [bar], %c0;",
       "register '%c0' of .b16"},
      {"sm_107f",
       "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes.override::global_address [s], [%q0, {%r0, %r1}], "
       "[bar];",
       "[tensor map, address, {2 coordinates}]"},
      {"sm_107f",
       "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes.override::global_address"
       ".override::global_dim_stride [s], [%q0, %q1, {%y0, %y1}, {%r0, %r1}, %c0, {0, 0}], [bar];",
       "[tensor map, address, {2 sizes}, {1 lower strides}, upper strides, {2 coordinates}]"},
      {"sm_100", "fabric.submit.op_restrict::fetching 1;", "operand"},
      {"sm_100",
       "fabric.try_get.async.shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric.relaxed.sys.b128 [s], [%q0], "
       "256, [bar];",
       "[endpoint, offset]"},
      {"sm_107a", "spcompress.b8.b2.sp::2:4.x4 {%r0}, {%r1, %r2}, {%r5, %r6, %r7, %r8}, %r13;",
       "a vector of 4 .b32 registers"},
      {"sm_107a", "spdecompress.b8.b2.sp::1:8.x4 {%r0}, {%r1}, {%r2};",
       "it can be .sp::1:2, .sp::1:4 or .sp::2:4"},
      {"sm_107a",
       "tcgen05.mma.sp.cta_group::1.kind::f8f6f4.decompress::lut::b [%r0], %q0, %q1, [%r1], [%r2], %r3, %p0;",
       "'.decompress::lut::b' is not a qualifier"},
      {"sm_107a", "spcompress.b8.b2.sp::1:2.x4 {%r0}, {%r1}, {%r2}, %r3;", "'.sp::1:2' is not a qualifier"},
      {"sm_100", "fabric.try_atom.async.relaxed.sys.add.u32 [%r0, %q0], %r1;",
       "is not modelled yet: no document says which operands it has"},
      {"sm_100a", "tensormap.replace.tile.global_address.alloc_class.b1024.b64 [%q0], %q1;",
       "is not modelled yet: no document says which operands it has"},
  };
  for (const Wrong& c : kWrong) {
    INFO(c.statement);
    const std::vector<Error> errors = checked("9.5", c.target, c.statement);
    REQUIRE(errors.size() == 1);
    CHECK_THAT(errors[0].message(), Contains(std::string(c.says)));
  }
}

// ---- What a launch finds

std::string fault(std::string_view statements) {
  const Result<ptx::Module> module = module_of("9.4", "sm_107f", statements);
  REQUIRE(module.ok());
  const Result<ptx::Function> kernel = module->function("k");
  INFO((kernel ? "" : kernel.error().message()));
  REQUIRE(kernel.ok());
  const ptx::Report report = kernel->launch({.grid = {1}, .block = {1}}, {});
  return report.fault ? report.fault->message() : "";
}

TEST_CASE("objects of the second layout count to 511, and layouts are those of objects", "[quick]") {
  CHECK(fault("mbarrier.init.layout::v1.shared::cta.b64 [bar], 511;").empty());
  CHECK_THAT(fault("mbarrier.init.layout::v1.shared::cta.b64 [bar], 512;"),
             Contains("a count of 512; 1 to 511 for an object of .layout::v1"));
  CHECK(fault("mbarrier.init.layout::v0.shared::cta.b64 [bar], 512;").empty());
  CHECK_THAT(fault("mbarrier.check_layout.layout::v0.shared::cta.b64 %p0, [bar];"),
             Contains("no barrier object at address"));
}

TEST_CASE("a mask of 32 blocks names blocks of the cluster", "[quick]") {
  constexpr std::string_view kInit =
      "mbarrier.init.shared::cta.b64 [bar], 1; fence.mbarrier_init.release.cluster; mov.u32 %r0, bar; ";
  const auto arrive = [&](std::string_view mask) {
    return fault(fmt::format("{}mbarrier.arrive.shared::cluster.multicast::cluster::32b.b64 _, [%r0], {};",
                             kInit, mask));
  };
  CHECK(arrive("1").empty());
  CHECK_FALSE(arrive("0x10000").empty());
}

}  // namespace ptx_later_test
