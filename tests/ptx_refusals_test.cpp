// SPDX-License-Identifier: Apache-2.0
// What ptxas 13.0 refuses is refused with its cause: the qualifier that is missing, one too many or another one; the PTX
// version; the target; the size of an address. Each refusal stands beside a neighbour that is accepted.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>

#include "isa/since.hpp"
#include "scalar_table.hpp"
#include "warpbit/ptx.hpp"

namespace ptx_refusals_test {

using namespace warpbit;
using Catch::Contains, Catch::Equals;
using isa_table::Row;

struct Header {
  std::string version = "9.0", target = "sm_90a";
};

/// What is refused of a kernel with one statement; "-" if nothing is.
Result<ptx::Module> loaded(const std::string& statement, const Header& header) {
  return ptx::Module::load(fmt::format(
      ".version {}\n.target {}\n.address_size 64\n.global .b32 g;\n.const .b32 c;\n"
      ".visible .entry k(.param .u64 out) {{\n"
      ".reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .f64 %d<8>; .reg .pred %p<8>;\n"
      ".shared .align 16 .b8 s[64];\n{}\nret;\n}}\n",
      header.version, header.target, statement));
}
std::string said(const std::string& statement, const Header& header = {}) {
  const auto module = loaded(statement, header);
  if (!module) return module.error().message();
  const std::vector<Error> errors = module->check();
  return errors.empty() ? "-" : errors.front().message();
}

struct Case {
  std::string wrong, sentence, right;
};

TEST_CASE("the qualifier that is missing, too many or another one is named", "[quick]") {
  const std::vector<Case> kCases = {
      {"cvt.s32.f32 %r1, %f1;",
       "cvt.s32.f32: the integer rounding is missing; accepted is .rni, .rzi, .rmi or .rpi",
       "cvt.rzi.s32.f32 %r1, %f1;"},
      {"cvt.f32.s32 %f1, %r1;", "cvt.f32.s32: the rounding is missing; accepted is .rn, .rz, .rm or .rp",
       "cvt.rn.f32.s32 %f1, %r1;"},
      {"cvt.rn.f64.f32 %d1, %f1;",
       "cvt.rn.f64.f32: the rounding .rn must go: f32 to f64 is exact; accepted is cvt.f64.f32",
       "cvt.f64.f32 %d1, %f1;"},
      {"cvt.rn.s32.s64 %r1, %rd1;",
       "cvt.rn.s32.s64: the rounding .rn must go: integers are not rounded; accepted is cvt.s32.s64",
       "cvt.s32.s64 %r1, %rd1;"},
      {"cvt.rn.s32.f32 %r1, %f1;",
       "cvt.rn.s32.f32: the rounding is .rn; with the other qualifiers it can be .rni, .rzi, .rmi or .rpi",
       "cvt.rni.s32.f32 %r1, %f1;"},
      {"fma.f32 %f1, %f1, %f1, %f1;", "fma.f32: the rounding is missing; accepted is .rn, .rz, .rm or .rp",
       "fma.rn.f32 %f1, %f1, %f1, %f1;"},
      {"div.f32 %f1, %f1, %f1;",
       "div.f32: the rounding is missing; accepted is .approx, .full, .rn, .rz, .rm or .rp",
       "div.rn.f32 %f1, %f1, %f1;"},
      {"ex2.f32 %f1, %f1;", "ex2.f32: the qualifier .approx is missing; accepted is ex2.approx.f32",
       "ex2.approx.f32 %f1, %f1;"},
      {"mul.s32 %r1, %r1, %r1;", "mul.s32: the part of the product is missing; accepted is .lo, .hi or .wide",
       "mul.lo.s32 %r1, %r1, %r1;"},
      {"mul.lo.f32 %f1, %f1, %f1;", "mul.lo.f32: the part of the product .lo must go; accepted is mul.f32",
       "mul.f32 %f1, %f1, %f1;"},
      {"mul.s32.lo %r1, %r1, %r1;", "mul.s32.lo: its qualifiers stand in another order; accepted is mul.lo.s32",
       "mul.lo.s32 %r1, %r1, %r1;"},
      {"div.rn.s32 %r1, %r1, %r1;", "div.rn.s32: the rounding .rn must go; accepted is div.s32",
       "div.s32 %r1, %r1, %r1;"},
      {"atom.global.add.f16 %h1, [%rd1], %h1;",
       "atom.global.add.f16: the qualifier .noftz is missing; accepted is atom.global.add.noftz.f16",
       "atom.global.add.noftz.f16 %h1, [%rd1], %h1;"},
      {"red.global.add.bf16x2 [%rd1], %r1;",
       "red.global.add.bf16x2: the qualifier .noftz is missing; accepted is red.global.add.noftz.bf16x2",
       "red.global.add.noftz.bf16x2 [%rd1], %r1;"},
      {"shfl.down.b32 %r1, %r1, 1, 31;",
       "shfl.down.b32: the qualifier .sync is missing; accepted is shfl.sync.down.b32, which must be there since PTX 6.4, "
       "and with it the mask of lanes as the last operand",
       "shfl.sync.down.b32 %r1, %r1, 1, 31, -1;"},
      {"ld.acquire.u32 %r1, [%rd1];",
       "ld.acquire.u32: the scope is missing; accepted is .cta, .gpu, .sys or .cluster",
       "ld.acquire.gpu.u32 %r1, [%rd1];"},
      {"setp.f32 %p1, %f1, %f1;", "setp.f32: the comparison is missing; accepted is .eq, ",
       "setp.eq.f32 %p1, %f1, %f1;"},
      {"add.foo.f32 %f1, %f1, %f1;",
       "add.foo.f32: '.foo' is not a qualifier of this instruction; it takes none there: add.f32",
       "add.f32 %f1, %f1, %f1;"},
      {"mul.low.s32 %r1, %r1, %r1;",
       "mul.low.s32: '.low' is not a qualifier of this instruction; it takes .lo, .hi or .wide",
       "mul.lo.s32 %r1, %r1, %r1;"},
      {"cvt.rn.fp16.f32 %h1, %f1;",
       "cvt.rn.fp16.f32: '.fp16' is not a qualifier of this instruction; it takes .f16",
       "cvt.rn.f16.f32 %h1, %f1;"},
      {"add.float32 %f1, %f1, %f1;",
       "add.float32: '.float32' is not a qualifier of this instruction; it takes .f32",
       "add.f32 %f1, %f1, %f1;"},
      {"cvt.f16x2.f32 %r1, %f1, %f1;", "cvt.f16x2.f32: the rounding", "cvt.rn.f16x2.f32 %r1, %f1, %f1;"},
      {"cvt.rn.e4m3x2.f32 %h1, %f1, %f1;", "the qualifier .satfinite is missing",
       "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f1;"},
      {"atom.global.cas.u32 %r1, [%rd1], %r2, %r3;", "the type is .u32; with the other qualifiers it can be .b",
       "atom.global.cas.b32 %r1, [%rd1], %r2, %r3;"},
      {"atom.global.and.u32 %r1, [%rd1], %r2;",
       "the type is .u32; with the other qualifiers it can be .b32 or .b64",
       "atom.global.and.b32 %r1, [%rd1], %r2;"},
      {"atom.global.inc.s32 %r1, [%rd1], %r2;",
       "atom.global.inc.s32: the type is .s32; with the other qualifiers it can be .u32",
       "atom.global.inc.u32 %r1, [%rd1], %r2;"},
      {"redux.sync.add.f32 %f1, %f1, -1;", "the type is .f32; with the other qualifiers it can be .u32 or .s32",
       "redux.sync.add.s32 %r1, %r1, -1;"},
      {"fence.mbarrier_init.release.cta;", "the scope is .cta; with the other qualifiers it can be .cluster",
       "fence.mbarrier_init.release.cluster;"},
      {"fence.mbarrier_init.acquire.cluster;",
       "the order of memory is .acquire; with the other qualifiers it can be .release",
       "fence.mbarrier_init.release.cluster;"},
      {"cvt.e4m3x2.f32 %h1, %f1, %f1;", "cvt.e4m3x2.f32: the rounding",
       "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f1;"},
      {"ld.gloabl.u32 %r1, [%rd1];",
       "ld.gloabl.u32: '.gloabl' is not a qualifier of this instruction; it takes .global",
       "ld.global.u32 %r1, [%rd1];"},
      {"setp.lo.s32 %p1, %r1, %r1;", "the comparison is .lo; with the other qualifiers it can be .eq, ",
       "setp.lo.u32 %p1, %r1, %r1;"},
  };
  for (const Case& one : kCases) {
    CHECK_THAT(said(one.wrong), Contains(one.sentence));
    INFO(one.right);
    CHECK(said(one.right) == "-");
  }
}

TEST_CASE("no sentence lists more than a reader takes in", "[quick]") {
  for (const std::string statement :
       {"atom.global.foo.u32 %r1, [%rd1], %r1;", "ld.global %r1, [%rd1];", "cp.async.foo;",
        "mbarrier.foo.b64 [%rd1];", "set.eq %r1, %r1, %r1;", "bar 0;"})
    CHECK(said(statement).size() < 320);
}

TEST_CASE("a version of PTX has its targets and forms", "[quick]") {
  CHECK_THAT(said("", {"7.8", "sm_90a"}),
             Equals(".target sm_90a does not exist in PTX 7.8; it exists from PTX 8.0 on"));
  CHECK_THAT(said("", {"8.0", "sm_120a"}),
             Equals(".target sm_120a does not exist in PTX 8.0; it exists from PTX 8.7 on"));
  CHECK(said("", {"8.0", "sm_90a"}) == "-");
  const std::string load =
      "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, [%r1];";
  CHECK_THAT(said(load, {"8.0"}), Contains("does not exist in PTX 8.0; it exists from PTX 8.6 on"));
  CHECK(said(load, {"8.6"}) == "-");
  // A row's own version, where words do not tell it.
  const std::string three = "min.f32 %f1, %f1, %f1, %f1;";
  CHECK_THAT(said(three, {"8.6", "sm_100a"}), Contains("it exists from PTX 8.8 on"));
  CHECK(said(three, {"8.8", "sm_100a"}) == "-");
  const auto taken = loaded(three, {"8.8", "sm_100a"});
  REQUIRE(taken);
  const auto launched = taken->function("k");
  REQUIRE_FALSE(launched);
  CHECK_THAT(launched.error().message(), Contains("its results have not been measured"));
  CHECK(said("min.f32 %f1, %f1, %f1;", {"8.6", "sm_100a"}) == "-");
  const std::string narrow = "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f1;";
  CHECK(said(narrow, {"7.8", "sm_90"}) == "-");
  CHECK_THAT(said(narrow, {"8.0", "sm_89"}), Contains("it exists from PTX 8.1 on"));
  CHECK_THAT(said("cvt.rn.satfinite.f16.f32 %h1, %f1;", {"8.0", "sm_90"}), Contains("from PTX 8.1 on"));
  // What PTX never had, as ptxas says.
  for (const char* version : {"6.6", "7.9", "8.9", "0.5"})
    CHECK_THAT(said("", {version, "sm_80"}), Contains(fmt::format(".version {}; expected", version)));
  for (const char* version : {"65536.0", "65545.0", "9.65536", "4294967305.0"})
    CHECK_THAT(said("", {version, "sm_80"}), Contains(fmt::format("'{}'; expected a version", version)));
  for (const char* target : {"sm_85", "sm_91", "sm_99", "sm_130"})
    CHECK_THAT(said("", {"9.0", target}), Contains(target));
  CHECK(said("", {"8.0", "sm_82"}) == "-");
  // Tensor instructions, and special registers.
  CHECK_THAT(said("movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;", {"7.0", "sm_80"}),
             Contains("from PTX 7.8 on"));
  CHECK(said("movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;", {"7.8", "sm_80"}) == "-");
  CHECK_THAT(said("mov.u32 %r1, %reserved_smem_offset_begin;", {"7.0", "sm_80"}), Contains("from PTX 7.6 on"));
}

// By ptxas 13.0.
TEST_CASE("directives and types ask for their version and target", "[quick]") {
  const auto refused = [](const std::string& header, const std::string& body) {
    const auto module = ptx::Module::load(fmt::format(".version {}\n.address_size 64\n{}\n", header, body));
    return module ? std::string("-") : module.error().message();
  };
  const std::string bits = ".visible .entry k() { .reg .b128 x; ret; }";
  CHECK_THAT(refused("8.2 .target sm_80", bits),
             Contains(".b128 does not exist in PTX 8.2; it exists from PTX 8.3 on"));
  CHECK(refused("8.3 .target sm_80", bits) == "-");
  const std::string unified = ".global .attribute(.managed, .unified(1,2)) .u32 g;";
  CHECK_THAT(refused("8.0 .target sm_80", unified), Contains("'.unified' for sm_80; expected sm_90 or later"));
  CHECK(refused("8.0 .target sm_90", unified) == "-");
  CHECK(refused("8.0 .target sm_80", ".global .attribute(.managed) .u32 g;") == "-");
  CHECK_THAT(refused("8.0 .target sm_80", ".global .attribute(.foo) .u32 g;"),
             Contains("'.foo'; expected .managed or .unified"));
  CHECK_THAT(refused("9.0 .target sm_80", ".entry k() .noreturn { ret; }"),
             Contains("'.noreturn' of a kernel; expected one of a function"));
  CHECK(refused("9.0 .target sm_80", ".func f() .noreturn { exit; }") == "-");
  CHECK_THAT(refused("6.3 .target sm_75", ".func f() .noreturn { exit; }"), Contains("from PTX 6.4 on"));
}

TEST_CASE("sm_101 is what PTX 9.0 calls sm_110", "[quick]") {
  const auto on = [](const std::string& written, std::optional<Target> wanted = {}) {
    const auto module = ptx::Module::load(
        fmt::format(".version 8.8\n.target {}\n.visible .entry k() {{ ret; }}\n", written), wanted);
    return module ? std::string(module->target().name()) : module.error().message();
  };
  CHECK(on("sm_101") == "sm_110");
  CHECK(on("sm_101a") == "sm_110a");
  CHECK(on("sm_101f") == "sm_110f");
  CHECK(on("sm_101", Target::find_ptx("sm_103").value()) == "sm_103");
  CHECK_THAT(on("sm_101f", Target::find_ptx("sm_103f").value()), Contains("sm_101f"));
}

TEST_CASE("a tensor instruction has operands, and a call no qualifier but .uni", "[quick]") {
  for (const char* form :
       {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "stmatrix.sync.aligned.m8n8.x4.shared.b16",
        "wgmma.wait_group.sync.aligned", "cvt.rn.bf16x2.f32", "ldmatrix.sync.aligned.m8n8.x1.shared.b16"})
    CHECK_THAT(said(fmt::format("{};", form)), Contains("no operands; expected those of the form"));
  CHECK(said("wgmma.fence.sync.aligned;") == "-");
  const auto refused = [](const std::string& call) {
    const auto module = ptx::Module::load(
        ".version 9.0\n.target sm_90a\n.address_size 64\n.func f() { ret; }\n"
        ".visible .entry k() { " +
        call + " ret; }\n");
    REQUIRE(module.ok());
    return module->check();
  };
  CHECK(refused("call f, ();").empty());
  CHECK(refused("call.uni f, ();").empty());
  REQUIRE(refused("call.release f, ();").size() == 1);
  CHECK_THAT(refused("call.release f, ();")[0].message(),
             Contains("the qualifier .release; expected call or call.uni"));
}

TEST_CASE("a special register is named with its component", "[quick]") {
  CHECK_THAT(said("mov.u32 %r1, %tid;"), Contains("'%tid'; expected one of its components, such as %tid.x"));
  CHECK_THAT(said("mov.u32 %r1, %nothing;"),
             Contains("'%nothing'; expected the name of a register that is declared"));
  CHECK_THAT(said("mov.u32 %r1, %clock64;"),
             Contains("special register '%clock64' of .u64; expected a .u32 register or a constant"));
  CHECK(said("mov.u64 %rd1, %clock64;") == "-");
}

TEST_CASE("a later version of PTX than is known is a note", "[quick]") {
  const auto module = ptx::Module::load(".version 9.6\n.target sm_90a\n.visible .entry k() { ret; }\n");
  REQUIRE(module.ok());
  CHECK(module->check().empty());
  REQUIRE(module->notes().size() == 1);
  CHECK(module->notes()[0].defect.empty());
  CHECK(module->notes()[0].text == "PTX 9.6 is later than what is known (9.5)");
  for (const char* known : {"9.0", "9.1", "9.2", "9.3", "9.4", "9.5"}) {
    INFO(known);
    const auto of_newer =
        ptx::Module::load(fmt::format(".version {}\n.target sm_90a\n.visible .entry k() {{ ret; }}\n", known));
    REQUIRE(of_newer.ok());
    CHECK(of_newer->notes().empty());
    CHECK(of_newer->check().empty());
  }
}

// PTX ISA 9.4, "Release Notes", has the first three; the last rows are of "PTX Module Directives: .target".
TEST_CASE("sm_107 is a target since PTX 9.4, and of the family of sm_100 and sm_103", "[quick]") {
  const auto refusal = [](std::string_view version, std::string_view target, std::string_view on) {
    const auto module = ptx::Module::load(
        fmt::format(".version {}\n.target {}\n.visible .entry k() {{ ret; }}\n", version, target),
        Target::find_ptx(on).value());
    return module.ok() ? std::string() : module.error().message();
  };
  for (const std::string_view target : {"sm_107", "sm_107a", "sm_107f"}) {
    CHECK(refusal("9.4", target, target).empty());
    CHECK(refusal("9.3", target, target) ==
          fmt::format(".target {} does not exist in PTX 9.3; it exists from PTX 9.4 on", target));
  }
  for (const std::string_view runs : {"sm_80", "sm_100", "sm_100f", "sm_103f", "sm_107f"})
    CHECK(refusal("9.4", runs, "sm_107a").empty());
  for (const std::string_view other : {"sm_100a", "sm_103a", "sm_110f", "sm_120"})
    CHECK_FALSE(refusal("9.4", other, "sm_107a").empty());
}

// By the notes of each instruction in PTX ISA 9.4: the version before the first that has it, and a target without it.
TEST_CASE("forms of PTX 9.1 to 9.4 are refused before, and on targets without them") {
  struct Later {
    std::string_view before, since, target, without, statement;
  };
  constexpr std::string_view kRegisters =
      ".reg .b8 %y<4>; .reg .b16 %c<4>; .reg .b32 %r<9>; .reg .b64 %q<9>; .reg .f32 %f<9>; .local .align 8 .b8 l[8]; "
      ".shared .align 16 .b8 s[128]; ";
  constexpr Later kLater[] = {
      {"9.0", "9.1", "sm_120f", "sm_120", "cvt.rn.satfinite.e4m3x2.bf16x2 %c0, %r1;"},
      {"9.0", "9.1", "sm_100f", "sm_90a", "cvt.rn.satfinite.e3m2x2.f16x2 %c0, %r1;"},
      {"9.0", "9.1", "sm_110a", "sm_110f", "cvt.rn.satfinite.s2f6x2.f32 %c0, %f1, %f2;"},
      {"9.1", "9.2", "sm_120f", "sm_100", "cvt.rn.bf16x2.e5m2x2 %r0, %c1;"},
      {"9.1", "9.2", "sm_100a", "sm_103", "cvt.rn.relu.scaled::n2::ue8m0.bf16x2.e2m1x2 %r0, %y1, %c2;"},
      {"9.3", "9.4", "sm_107f", "sm_103a", "cvt.rz.satfinite.e4m3x2.f32 %c0, %f1, %f2;"},
      {"9.3", "9.4", "sm_107f", "sm_107", "cvt.rn.satfinite.pzo.e2m1x2.f16x2 %y0, %r1;"},
      {"9.3", "9.4", "sm_107a", "sm_120a", "cvt.rp.ue5m3x2.bf16x2 %c0, %r1;"},
      {"9.3", "9.4", "sm_107f", "sm_110a", "cvt.rn.satfinite.scaled::n1::ue8m0.e5m2x2.bf16x2 %c0, %r1, %y2;"},
      {"9.3", "9.4", "sm_90a", "sm_90", "ldmatrix.sync.aligned.m8n16.x1.shared.s8.s4 {%r0}, [s];"},
      {"9.0", "9.1", "sm_121a", "sm_110a",
       "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0 "
       "{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3}, %r6, {0, 0}, %r7, {0, 0};"},
      {"9.1", "9.2", "sm_120f", "sm_120", "add.u8x4 %r0, %r1, %r2;"},
      {"9.1", "9.2", "sm_120a", "sm_110a", "sub.sat.s8x4 %r0, %r1, %r2;"},
      {"9.1", "9.2", "sm_121f", "sm_107f", "min.relu.s8x4 %r0, %r1, %r2;"},
      {"9.1", "9.2", "sm_120f", "sm_100a", "add.sat.u32 %r0, %r1, %r2;"},
      {"9.3", "9.4", "sm_107f", "sm_120f", "set.lo.u8x4 %r0, %r1, %r2;"},
      {"9.1", "9.2", "sm_90", "sm_89",
       "{ .reg .b128 %w; mov.b128 %w, {%q1, %q2}; st.async.shared::cluster.mbarrier::complete_tx::bytes.b128 [%r1], %w, "
       "[%r2]; }"},
      {"9.1", "9.2", "sm_90", "sm_89",
       "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [s], [%q1], 64, 5, %r1, [s];"},
      {"9.2", "9.3", "sm_80", "sm_75", "clmad.hi.u64 %q0, %q1, %q2, %q3;"},
      {"9.0", "9.1", "sm_75", "", "ld.volatile.local.b32 %r0, [l];"},
      {"9.0", "9.1", "sm_75", "", "st.volatile.local.b32 [l], %r0;"},
      {"9.2", "9.3", "sm_75", "", "ld.mmio.acquire.sys.global.b32 %r0, [%q1];"},
      {"9.2", "9.3", "sm_75", "", "st.mmio.release.sys.global.b32 [%q1], %r0;"},
      {"9.3", "9.4", "sm_107f", "sm_100a",
       "tcgen05.mma.cta_group::1.kind::ti16 [%r0], %q1, %q2, %r3, {%r4, %r5, %r6, %r7}, 1;"},
      {"9.3", "9.4", "sm_107a", "sm_110a",
       "tcgen05.mma.ws.sp.cta_group::1.kind::ti16 [%r0], [%r1], %q2, [%r3], %r4, 1;"},
      {"9.3", "9.4", "sm_100f", "sm_120a",
       "tcgen05.alloc.exclusive.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 96;"},
      {"9.3", "9.4", "sm_110a", "sm_110", "tcgen05.dealloc.exclusive.cta_group::2.sync.aligned.b32 %r0, 96;"},
      {"9.3", "9.4", "sm_103a", "sm_103",
       "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster::16b.b64 [%r0], %c1;"},
      {"9.3", "9.4", "sm_107f", "sm_103f",
       "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster::32b.b64 [%r0], %r1;"},
  };
  const auto asked = [&](std::string_view version, std::string_view target, std::string_view statement) {
    const auto module =
        ptx::Module::load(fmt::format(".version {}\n.target {}\n.visible .entry k() {{ {}{} ret; }}\n", version,
                                      target, kRegisters, statement));
    REQUIRE(module.ok());
    const Result<ptx::Function> function = module->function("k");
    return function ? std::optional<Error>() : std::optional(function.error());
  };
  for (const Later& c : kLater) {
    INFO(c.statement << " on " << c.target);
    // A target may be later than a form.
    const Version first = Target::find_ptx(c.target)->row().since;
    if (text(first) <= c.before) {
      const std::optional<Error> early = asked(c.before, c.target, c.statement);
      REQUIRE(early);
      CHECK(early->code == Errc::not_in_version);
      CHECK(early->message().find(fmt::format("from PTX {} on", c.since)) != std::string::npos);
    }
    const std::optional<Error> now = asked(c.since, c.target, c.statement);
    CHECK((now ? now->message() : "") == "");
    if (c.without.empty()) continue;
    const std::optional<Error> elsewhere = asked("9.5", c.without, c.statement);
    REQUIRE(elsewhere);
    CHECK(elsewhere->code == Errc::not_on_target);
  }
}

TEST_CASE("forms of PTX 9.3 and 9.4 that no kernel executes are refused by name") {
  const auto refusal = [](std::string_view target, std::string_view statement) {
    const auto module = ptx::Module::load(fmt::format(
        ".version 9.4\n.target {}\n.visible .entry k() {{ .reg .b16 %c<4>; .reg .b32 %r<4>; .reg .b64 %q<4>; "
        "{} ret; }}\n",
        target, statement));
    REQUIRE(module.ok());
    const Result<ptx::Function> function = module->function("k");
    REQUIRE_FALSE(function.ok());
    CHECK(function.error().code == Errc::instruction_not_modelled);
    return function.error().message();
  };
  const auto says = [&](std::string_view statement, std::string_view reason) {
    INFO(statement);
    CHECK(refusal("sm_107a", statement).find(reason) != std::string::npos);
  };
  says("sub.rz.ftz.f16x2.f32x2.f32x2 %r0, %q1, %q2;", "no document says whether .ftz flushes results of f16");
  says("mul.f16x2.f16x2.bf16x2 %r0, %r1, %r2;", "no document says how c is rounded to the type of d");
  says("spcompress.b8.b2.sp::2:4.x1 {%r0}, {%r1}, {%r2, %r3}, 0;",
       "no document says which of equal elements it takes");
  CHECK(refusal("sm_100", "multimem.st.async.release.gpu.global.u32 [%q0], %r1;").find("there is one GPU") !=
        std::string::npos);
}

// Forms that are later than their target; the rest is there from the target's first version on.
TEST_CASE("since is what ptxas says") {
  std::map<std::string, std::pair<std::string, std::string>> later;  // by form and operands
  for (const Row& row : isa_table::read("versions"))
    for (const std::string& name :
         row.at("family") == "scalar" ? scalar_table::names(row.at("form")) : std::vector{row.at("form")})
      later[name + ' ' + row.at("operands")] = {row.at("target"), row.at("since")};
  int asked = 0, differ = 0;
  const auto check = [&](const std::string& name, const std::string& operands, Target target,
                         const ptx::ScalarForm* form) {
    const std::vector<std::string> parts = scalar_table::split(name, '.');
    const std::vector<std::string_view> words(parts.begin() + 1, parts.end());
    const auto found = later.find(name + ' ' + operands);
    const std::string expected = found == later.end() ? text(target.row().since) : found->second.second;
    if (expected == "none") return;  // asked without its operand
    const std::string got = text(std::max(
        target.row().since, form == nullptr ? since(parts[0], words, target) : ptx::since(*form, words)));
    ++asked;
    if (got == expected) return;
    // An arrival without a state, whose row is that with one.
    if (name.starts_with("mbarrier.arrive") && operands.starts_with("_ ")) return;
    ++differ;
    UNSCOPED_INFO(name << ' ' << operands << ": " << got << ", ptxas " << expected);
  };
  const auto first_target = [](const Row& row) -> std::optional<Target> {
    for (const Target target : Target::all())
      if (row.contains(std::string(target.name())) && row.at(std::string(target.name())) == "1") return target;
    return {};
  };
  for (const Row& row : isa_table::read("instructions"))
    if (const auto target = first_target(row); target && !isa_table::is_undocumented(row)) {
      const auto found = later.find(row.at("instruction") + ' ' + row.at("operands"));
      const Target on = found == later.end() ? *target : Target::find_ptx(found->second.first).value();
      check(row.at("instruction"), row.at("operands"), on, nullptr);
    }
  for (const Row& row : isa_table::read("scalar")) {
    const auto target = first_target(row);
    for (const std::string& name : scalar_table::names(row.at("form"))) {
      const auto statement = scalar_table::statement(name, row.at("operands"));
      if (!statement || !target) continue;
      const auto module = ptx::parse_module(scalar_table::module(*statement));
      const ptx::FunctionText& function = (*module)->functions.front();
      const auto forms =
          ptx::match_scalar(function.statements[0].opcode, words_of(function, function.statements[0]), *target);
      if (!forms) continue;  // of the tensor families
      const auto form = ptx::check_operands(function, function.statements[0], *forms);
      if (form) check(name, row.at("operands"), *target, (*form)->form);
    }
  }
  fmt::print("{} forms asked, {} later than their targets\n", asked, later.size());
  CHECK(differ == 0);
  CHECK(asked >= 12000);
  CHECK(later.size() >= 4000);
}

TEST_CASE("special registers of later targets are named, inside braces, too", "[quick]") {
  CHECK_THAT(said("mov.u32 %r1, %cluster_ctarank;", {"8.0", "sm_75"}),
             Contains("%cluster_ctarank does not exist on sm_75; it exists on sm_90, sm_90a, "));
  CHECK(said("mov.u32 %r1, %cluster_ctarank;", {"8.0", "sm_90"}) == "-");
  const std::string product =
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r1,%r1,%r1}, {%cluster_ctarank,%r1}, "
      "{%f1,%f1,%f1,%f1};";
  CHECK_THAT(said(product, {"8.0", "sm_80"}),
             Contains("%cluster_ctarank does not exist on sm_80; it exists on sm_90"));
}

// By ptxas 13.0, on sm_90a.
TEST_CASE("a special register stands in braces beside registers of its size", "[quick]") {
  for (
      const char* taken :
      {"mov.b64 %rd1, {%r1, %smid};", "mov.b64 %rd1, {%tid.x, %f1};", "mov.b64 %rd1, {%smid, 5};",
       "mov.b64 {%r1, %smid}, %rd1;", "st.global.v2.u32 [%rd1], {%r1, %smid};",
       "st.global.v2.f32 [%rd1], {%smid, %f1};", "st.global.v2.u16 [%rd1], {%smid, %r1};",
       "st.global.v2.u64 [%rd1], {%clock64, %rd1};", "ld.global.v2.u32 {%r1, %smid}, [%rd1];",
       "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {%r1, %smid}];",
       "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %smid}, [%r1];",
       "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1,%smid}, {%r1,%r1,%r1,%r1}, {%r1,%smid}, {%r1,%r1};"}) {
    INFO(taken);
    CHECK(said(taken) == "-");
  }
  for (
      const char* refused :
      {"mov.b32 %r1, {%h1, %smid};", "mov.b64 %rd1, {%clock64, %r1};", "st.global.v2.u16 [%rd1], {%smid, %h1};",
       "st.global.v2.u32 [%rd1], {%clock64, %r1};", "st.global.u32 [%rd1], %smid;", "mov.u32 %smid, %r1;",
       "ld.shared.u32 %r1, [%tid.x];", "ld.param.u32 %r1, [%tid.x];",
       "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1,%r2}, {%r1,%r1,%r1,%r1}, {%r1,%clock64}, {%r1,%r1};",
       "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %smid;", "cvt.rn.f16x2.f32 %r1, %f1, %smid;",
       "wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%r1], {%r1,%r1,%r1,%smid}, 16;"}) {
    INFO(refused);
    CHECK(said(refused) != "-");
  }
}

TEST_CASE("a parameter is written by its name", "[quick]") {
  CHECK_THAT(said("st.param.u32 [%rd1], %r1;"),
             Contains("an address in a register; expected the name of a parameter"));
}

TEST_CASE("kernels of targets before sm_75 are refused in one sentence", "[quick]") {
  for (const std::string target : {"sm_70", "sm_72"})
    CHECK_THAT(said("mov.u32 %r1, 1;", {"7.0", target}),
               Equals("kernels run for sm_75 and later; this module is for " + target +
                      "; it runs on one of these if that is given as the target, such as sm_75"));
  const std::string text = ".version 7.0\n.target sm_70\n.visible .entry k() { ret; }\n";
  const auto later = ptx::Module::load(text, Target::find("sm_80").value());
  REQUIRE(later.ok());
  CHECK(later->check().empty());
  CHECK_FALSE(ptx::Module::load(text, Target::find("sm_70").value()).ok());
}

TEST_CASE("an address of 32 bits is none in .global, and no generic one", "[quick]") {
  const std::vector<std::string> kRefused = {"ld.u32 %r1, [%r2];",
                                             "ld.global.u32 %r1, [%r2];",
                                             "ld.global.nc.u32 %r1, [%r2];",
                                             "st.global.u32 [%r1+4], %r2;",
                                             "atom.add.u32 %r1, [%r2], %r3;",
                                             "red.global.add.u32 [%r1], 1;",
                                             "mbarrier.init.b64 [%r1], 1;",
                                             "prefetch.global.L1 [%r1];",
                                             "prefetchu.L1 [%r1];",
                                             "mov.u32 %r1, g;",
                                             "cvta.shared.u32 %r1, %r2;",
                                             "ldu.global.u32 %r1, [%r2];"};
  for (const std::string& statement : kRefused) {
    INFO(statement);
    CHECK_THAT(said(statement), Contains("64 bits"));
  }
  CHECK_THAT(said("mbarrier.init.b64 [%r1], 1;"), Contains("(.shared may be missing)"));
  CHECK_THAT(said("ld.global.u32 %r1, [%h2];"), Contains("'%h2' of .b16; expected [address] in .global"));
  const std::vector<std::string> kAccepted = {"ld.shared.u32 %r1, [%r2];",
                                              "st.local.u32 [%r1], %r2;",
                                              "mbarrier.init.shared.b64 [%r1], 1;",
                                              "ld.const.u32 %r1, [%r2];",
                                              "ld.shared.u32 %r1, [%h2];",
                                              "ld.param.u32 %r1, [%r2];",
                                              "cp.async.ca.shared.global [%r1], [%r2], 16;",
                                              "ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%r2];",
                                              "mov.u32 %r1, s;",
                                              "mov.u32 %r1, c;",
                                              "prefetch.local.L1 [%r1];",
                                              "ld.global.u32 %r1, [%rd1];",
                                              "cvta.shared.u64 %rd1, %rd2;",
                                              "ld.shared::cluster.u32 %r1, [%r2];",
                                              "atom.shared.add.u32 %r1, [%r2], %r3;"};
  for (const std::string& statement : kAccepted) {
    INFO(statement);
    CHECK(said(statement) == "-");
  }
}

// As ptxas has it of each target, with what alignment adds.
TEST_CASE("static shared memory ends where ptxas ends it", "[quick]") {
  const auto with = [](const char* target, int bytes) {
    return said(fmt::format(".shared .align 16 .b8 big[{}]; mov.u32 %r1, big;", bytes - 64), {"9.0", target});
  };
  for (const auto& [target, most] : {std::pair{"sm_80", 49152},
                                     {"sm_90", 49152},
                                     {"sm_100f", 49152},
                                     {"sm_90a", 232448},
                                     {"sm_110a", 232448},
                                     {"sm_120a", 101376}}) {
    INFO(target);
    CHECK(with(target, most) == "-");
    CHECK_THAT(with(target, most + 1),
               Contains(fmt::format("kernel 'k': {} bytes of static shared memory; expected at most {};",
                                    most + 16, most)));
  }
}

TEST_CASE("constants, declarations and repetitions are taken as ptxas takes them", "[quick]") {
  for (const std::string statement :
       {"add.s32 %r1, %r2, 0x1ffffffffffffffff;", "add.s32 %r1, %r2, 18446744073709551616;", "mov.u32 %r1, !0;",
        "selp.u32 %r1, 1, 2, !0;", "setp.eq.and.u32 %p1, %r1, %r2, !0;", "mov.u32 %r1, !WARP_SZ;",
        ".reg .pred %q<WARP_SZ>;", ".reg .pred ;", "ret.uni.uni;",
        "shfl.sync.sync.down.b32 %r1, %r2, 1, 31, -1;"}) {
    INFO(statement);
    CHECK(said(statement) == "-");
  }
  for (const std::string statement :
       {"mov.u64 %rd1, 92233720368547758080;", "mov.u32 %r1, 0x80000000000000000;", "mov.u32 %r1, !%r2;",
        "add.ftz.ftz.f32 %f1, %f2, %f3;", "mov.f32 %f1, !0;"}) {
    INFO(statement);
    CHECK(said(statement) != "-");
  }
}

TEST_CASE("source and compiled code are told what they are", "[quick]") {
  using namespace std::string_literals;
  const std::vector<std::pair<std::string, std::string>> kOthers = {
      {"#include <cuda.h>\n__global__ void k() {}\n",
       "CUDA C++; expected PTX: nvcc -ptx -arch=sm_90a -lineinfo"},
      {"extern \"C\" __global__ void k(int* p) { *p = 1; }", "CUDA C++"},
      {"// a kernel\n__device__ int f();\n", "CUDA C++"},
      {"\x7F"
       "ELF\x02\x01\x01\x33\x07"s,
       "a cubin or another ELF file, which is compiled; expected PTX: cuobjdump -ptx"},
      {"\x50\xED\x55\xBA\x01\x00\x10\x00"s, "a fatbin"},
      {"PK\x03\x04\x14"s, "a zip archive"},
      {"\x1F\x8B\x08"s, "a file of gzip"},
  };
  for (const auto& [text, sentence] : kOthers) {
    const auto module = ptx::Module::load(text);
    REQUIRE_FALSE(module.ok());
    CHECK_THAT(module.error().message(), Contains(sentence));
  }
  CHECK(
      ptx::Module::load("// of __global__ void k()\n.version 8.0\n.target sm_80\n.entry k() { ret; }\n").ok());
}

TEST_CASE("kernel forms are what Instruction has not", "[quick]") {
  const auto form = [](const std::string& text, const char* target) {
    const auto out = ptx::kernel_form(text, Target::find(target).value());
    return out ? fmt::format("{}, PTX {}{}", out->kind, out->since, out->has_operands ? ", operands" : "")
               : out.error().message();
  };
  CHECK(form("add.f32", "sm_80") == "floating-point arithmetic, PTX 7.0");
  CHECK(form("cvt.rzi.s32.f32", "sm_75") == "movement and conversion, PTX 6.3");
  CHECK(form("mbarrier.try_wait.parity.shared.b64", "sm_90") == "barrier objects, PTX 7.8");
  CHECK(form("cp.async.cg.shared.global", "sm_80") == "asynchronous copies, PTX 7.0");
  CHECK(form("add.f32 %f1, %f2, %f3;", "sm_80") == "floating-point arithmetic, PTX 7.0, operands");
  CHECK_THAT(form("mbarrier.try_wait.parity.shared.b64", "sm_80"),
             Contains("does not exist on sm_80; it exists on sm_90, "));
  CHECK_THAT(form("cvt.s32.f32", "sm_80"), Contains("the integer rounding is missing"));
  CHECK(form("suld.b.2d.b32.trap", "sm_80") == "surfaces, PTX 7.0");
  CHECK_THAT(form("mma.sync.aligned.m16n8k15", "sm_80"), Contains("the layout of A is missing"));
  CHECK_THAT(form("add.f32", "sm_70"), Contains("kernels run for sm_75 and later"));
}

}  // namespace ptx_refusals_test
