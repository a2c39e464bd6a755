// SPDX-License-Identifier: Apache-2.0
// What the decoder says when it refuses, what literals it reads, and that no text makes it stumble.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <random>

#include "isa_table.hpp"
#include "warpbit/instruction.hpp"

namespace decoder_message_test {

using namespace warpbit;

Result<Instruction> parse(const std::string& text, std::string_view target = "sm_90a") {
  return Instruction::parse(text, *Target::find(target), isa_table::type_of);
}

std::string message(const std::string& text, std::string_view target = "sm_90a") {
  const auto result = parse(text, target);
  return result.ok() ? "accepted" : result.error().message();
}

const std::string kF16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
const std::string kS8 = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32";
const std::string kF64 = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64";

// kF16 with one qualifier replaced.
std::string with(const std::string& old, const std::string& text) {
  std::string out = kF16;
  return out.replace(out.find(old), old.size(), text);
}

TEST_CASE("a refusal names the wrong qualifier and what would be right", "[quick][decoder]") {
  const std::string fp8 = "mma.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32";
  for (const Target target : Target::all())
    CHECK(message(fp8, target.name()) == "mma: m16n8k64 does not exist for e4m3; it has m16n8k16 and m16n8k32");
  CHECK(message("mma.sync.aligned.m16n8k64.row.col.f32.e4m3.e5m2.f32", "sm_120a") ==
        "mma: m16n8k64 does not exist for e4m3 x e5m2; it has m16n8k16 and m16n8k32");

  const std::pair<std::string, std::string> rows[] = {
      {with("row.col", "row.row"), "the layout of B is .row; with the other qualifiers it can be .col"},
      {with("row.col", "col.row"), "the shape is .m16n8k16; with the other qualifiers it can be .m8n8k4"},
      {with("f16.f32", "f16.f16"), "the type of D is .f32; with the other qualifiers it can be .f16"},
      {with("f16.f16", "f16.bf16"), "the type of A is .f16; with the other qualifiers it can be .bf16"},
      {with("col", "col.rn"), "the rounding is .rn; with the other qualifiers it can be none"},
      {with("col", "col.kind::foo"), "the kind is .kind::foo; with the other qualifiers it can be none"},
      {with(".aligned", ""), "the qualifier .aligned is missing; accepted is .aligned"},
      {with(".f16.f16.f32", ".f16.f16"), "the type of C is missing; accepted is .f16, .f32, .f64 or .s32"},
      {with(".m16n8k16", ""),
       "the shape is missing; accepted is .m8n8k4, .m8n8k16, .m8n8k32, .m8n8k128, .m16n8k4, .m16n8k8, "
       ".m16n8k16, .m16n8k32, .m16n8k64, .m16n8k128 or .m16n8k256"},
      {with("aligned", "aligned.aligned"), "'.aligned' is one too many; accepted is one qualifier .aligned"},
      {with("m16n8k16", "m16n8k8.m16n8k16"), "'.m16n8k16' is one too many; accepted is one shape"},
      {kF16 + ".f16",
       "'.f16' is one too many; accepted is one type of D, one type of A, one type of B and one type of C"},
      {"mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16",
       "2 of its qualifiers do not fit the others; nearest is "
       "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16, "
       "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 or "
       "mma.sync.aligned.m16n8k16.row.col.f16.e5m2.e5m2.f16"},
      {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.popc.and",
       "'.popc' stands before '.and'; accepted is '.and' before '.popc'"},
      {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32",
       "the bit operation is missing; accepted is .xor or .and"},
      {"mma.sync.aligned.m16n8k32.row.col.kind::mxf4.f32.e4m3.e4m3.f32",
       "undocumented: a kind without block_scale, which ptxas 13.0 does not reject; documented is "
       "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"}};
  for (const auto& [text, expected] : rows) CHECK(message(text) == text + ": " + expected);
  CHECK(message("mma.sync.aligned.m16n8k32.row.col.f32.e2m1.e2m1.f32", "sm_120a") ==
        "mma.sync.aligned.m16n8k32.row.col.f32.e2m1.e2m1.f32: the kind is missing; accepted is .kind::f8f6f4");
  const std::string mma = "mma.sync.aligned.m16n8k16.row.col.";
  const std::pair<std::string, std::string> unknown[] = {
      {kF16 + ".foo", "none beside the others"},
      {mma + "f32.fp16.fp16.f32", ".f16"},
      {mma + "fp32.f16.f16.f32", ".f32"},
      {mma + "f32.fp8.fp8.f32", ".e4m3 and .e5m2"},
      {"mma.sync.alinged.m16n8k16.row.col.f32.f16.f16.f32", ".aligned"}};
  for (const auto& [text, takes] : unknown)
    CHECK_THAT(message(text), Catch::EndsWith(" is not a qualifier of this instruction; it takes " + takes));
}

TEST_CASE("a refusal names the target, the instruction or the operand", "[quick][decoder]") {
  CHECK(
      message("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", "sm_89") ==
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 does not exist on sm_89; it exists on sm_90, sm_90a, "
      "sm_100, sm_100a, sm_100f, sm_103, sm_103a, sm_103f, sm_107, sm_107a, sm_107f, sm_110, sm_110a, sm_110f, sm_120, sm_120a, sm_120f, "
      "sm_121, sm_121a, sm_121f");
  CHECK_THAT(message("mul.lo.s32 {d}, {a};"),
             Catch::StartsWith("mul.lo.s32: 'mul' is not an instruction of this library; it has mma"));
  const std::pair<std::string, std::string> rows[] = {
      {"{d}, {a}, {b};", ": operand c is missing; expected d:4xf32 a:4xb32 b:2xb32 c:4xf32"},
      {"{d}, {a}, {b}, {c}, {e};", ": operand {e} is one too many; expected d:4xf32 a:4xb32 b:2xb32 c:4xf32"},
      {"{d}, {a}, b, {c};",
       ", operand b: 'b' is no brace vector; expected a vector of 2 .b32 registers in braces"},
      {"{d}, {a}, [b], {c};",
       ", operand b: '[b]' is an address; expected a vector of 2 .b32 registers in braces"},
      {"{d}, {a}, {%r1}, {c};",
       ", operand b: '{%r1}' has 1 register; expected a vector of 2 .b32 registers in braces"},
      // Texts from outside stay on one line.
      {"{d}, {a}, {%r1\n}, {c};",
       ", operand b: '{%r1\\x0a}' has 1 register; expected a vector of 2 .b32 registers in braces"},
      {"{d}, {a}, {%f0, %f1}, {c};", ", operand b: '{%f0, %f1}' has type .f32; expected one of: b32 f16x2"},
      {"{d}, {a}, {%h0, %f1}, {c};",
       ", operand b: register %f1 has type .f32 beside .f16x2; expected one type of: b32 f16x2"},
      {"{d}, {a}, {1, 2}, {c};",
       ", operand b: the literal '1' cannot stand here; expected registers or, as literals, integers beside "
       "registers or 0f..."},
      {"{%f0, 1, %f1, %f2}, {a}, {b}, {c};",
       ", operand d: the literal '1' cannot stand here; expected registers only"},
      {"{d}, {a}, {b}, {%f0, _, %f1, %f2};", ", operand c: '_' cannot stand here; expected registers to read"},
      {"{_, _, _, _}, {a}, {b}, {c};", ", operand d: '_' cannot stand here; expected at least one register"}};
  for (const auto& [operands, expected] : rows) CHECK(message(kF16 + " " + operands) == kF16 + expected);
}

TEST_CASE("a refusal of a sparse instruction", "[quick][decoder]") {
  const std::string ordered = "mma.sp::ordered_metadata.sync.aligned.", plain = "mma.sp.sync.aligned.";
  const std::string bf16 = ordered + "m16n8k32.row.col.f32.bf16.bf16.f32",
                    f16 = ordered + "m16n8k32.row.col.f32.f16.f16.f32",
                    all = "; expected d:4xf32 a:4xb32 b:4xb32 c:4xf32 e:b32 f:imm(0..1)";
  const std::pair<std::string, std::string> rows[] = {
      {"e, 2;", ", operand f: '2' is out of range; expected 0..1"},
      {"e, -1;", ", operand f: '-1' is out of range; expected 0..1"},
      {"e, 0f00000000;", ", operand f: '0f00000000' is a literal; expected an immediate, 0..1"},
      {"e, %r1;", ", operand f: '%r1' is a register; expected an immediate, 0..1"},
      {"e, {0};", ", operand f: '{0}' is a brace vector; expected an immediate, 0..1"},
      {"5, 0;", ", operand e: '5' is a literal; expected one .b32 register"},
      {"[e], 0;", ", operand e: '[e]' is an address; expected one .b32 register"},
      {"{%r1, _}, 0;", ", operand e: '{%r1, _}' is a brace vector; expected one .b32 register"},
      {"%d1, 0;", ", operand e: '%d1' has type .f64; expected one of: b32 u32 s32 f32 f16x2"},
      {"0;", ", operand e: '0' is a literal; expected one .b32 register"},
      {"e;", ": operand f is missing" + all},
      {"e, 0, 0;", ": operand 0 is one too many" + all}};
  for (const auto& [operands, expected] : rows)
    CHECK(message(bf16 + " {d}, {a}, {b}, {c}, " + operands) == bf16 + expected);
  CHECK(message(bf16 + " {d}, {a}, {b}, {c};") == bf16 + ": operand e is missing" + all);
  for (const std::string value : {"2", "3"})
    CHECK(message(f16 + " {d}, {a}, {b}, {c}, e, " + value + ";") ==
          f16 + ", operand f: '" + value +
              "' is out of range by the manual, though the assembler lets it through; expected 0..1");
  CHECK(message(f16 + " {d}, {a}, {b}, {c}, e, 4;") == f16 + ", operand f: '4' is out of range; expected 0..1");

  for (const std::string& form : {plain + "m16n8k64.row.col.kind::f8f6f4.f32.e2m1.e4m3.f32",
                                  plain + "m16n8k64.row.col.f16.e4m3.e4m3.f16"})
    CHECK(message(form, "sm_120a") ==
          form + ": the sparse variant is .sp; with the other qualifiers it can be .sp::ordered_metadata");
  CHECK(message(plain + "m16n8k32.row.col.f32.e4m3.e4m3.f32") ==
        "mma.sp: m16n8k32 does not exist for e4m3; it has m16n8k64");
  CHECK(message("mma.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32") ==
        "mma: m16n8k64 does not exist for s8; it has m8n8k16, m16n8k16 and m16n8k32");
  const std::string twice = plain + "sp::ordered_metadata.m16n8k64.row.col.f32.e4m3.e4m3.f32";
  CHECK(message(twice) == twice + ": '.sp::ordered_metadata' is one too many; accepted is one sparse variant");
}

TEST_CASE("a refusal of a warpgroup's instruction", "[quick][decoder]") {
  const std::string start = "wgmma.mma_async.sync.aligned.", s8 = start + "m64n8k32.s32.s8.s8",
                    f16 = start + "m64n8k16.f32.f16.f16",
                    sparse = "wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8";
  std::string sizes;
  for (int n = 8; n <= 256; n += n < 32 ? 8 : 16)
    sizes += fmt::format("{}m64n{}k32", n == 8 ? "" : n == 256 ? " and " : ", ", n);
  const std::pair<std::string, std::string> forms[] = {
      {start + "m64n40k32.s32.s8.s8", "wgmma: m64n40k32 does not exist for s8; it has " + sizes},
      {start + "m64n16k16.f16.bf16.bf16",
       start + "m64n16k16.f16.bf16.bf16: the type of D is .f16; with the other qualifiers it can be .f32"},
      {start + "m64n16k16.satfinite.f32.f16.f16",
       start + "m64n16k16.satfinite.f32.f16.f16: the saturation is .satfinite; with the other qualifiers it "
               "can be none"},
      {"wgmma.mma_async.sync.m64n8k16.f32.f16.f16",
       "wgmma.mma_async.sync.m64n8k16.f32.f16.f16: undocumented: .aligned omitted, which ptxas 13.0 does not "
       "reject; documented is " +
           f16},
      {"wgmma.fence.sync",
       "wgmma.fence.sync: undocumented: .aligned omitted, which ptxas 13.0 does not reject; documented is "
       "wgmma.fence.sync.aligned"},
      {"wgmma.fence", "wgmma.fence: the qualifier .sync is missing; accepted is .sync"},
      {"wgmma", "wgmma: the instruction is missing; accepted is .fence, .commit_group or .wait_group"},
      {"wgmma.wait_all.sync.aligned",
       "wgmma.wait_all.sync.aligned: '.wait_all' is not a qualifier of this instruction; it takes .fence, "
       ".commit_group and .wait_group"},
      {"wgmma.wait_group.sync.aligned -1",
       "wgmma.wait_group.sync.aligned, operand N: '-1' is out of range; expected >=0"},
      {"fence.proxy.async.shared",
       "fence.proxy.async.shared: '.shared' is not a qualifier of this instruction; it takes .global, "
       ".shared::cta and .shared::cluster"},
      {"fence.proxy.async.global.shared::cta",
       "fence.proxy.async.global.shared::cta: '.shared::cta' is one too many; accepted is one state space"}};
  for (const auto& [text, expected] : forms) CHECK(message(text) == expected);
  for (const auto target : {"sm_90", "sm_100a", "sm_120a"})
    CHECK(message(s8, target) == s8 + " does not exist on " + target + "; it exists on sm_90a");

  const std::string registers = "expected d:4xb32 a:4xb32 b_desc:b64 scale_d:pred",
                    descriptors = "expected d:4xb32 a_desc:b64 b_desc:b64 scale_d:pred";
  const std::pair<std::string, std::string> operands[] = {
      {"{d}, [a], b, p;", ", operand a: '[a]' is an address; expected a vector of 4 .b32 registers in braces"},
      {"{d}, {a}, {b}, p;", ", operand b_desc: '{b}' is a brace vector; expected one .b64 register"},
      {"{d}, %r0, b, p;", ", operand a_desc: '%r0' has type .b32; expected one of: b64 u64 s64"},
      {"{d}, {%r0, %r1}, b, p;",
       ", operand a: '{%r0, %r1}' has 2 registers; expected a vector of 4 .b32 registers in braces"},
      {"d, a, b, p;", ", operand d: 'd' is no brace vector; expected a vector of 4 .b32 registers in braces"},
      {"{%r0, _, %r1, %r2}, a, b, p;", ", operand d: '_' cannot stand here; expected registers only"},
      {"{d}, a, b, 2;", ", operand scale_d: '2' is a literal; expected a predicate register, 0 or 1"},
      {"{d}, a, b, -1;", ", operand scale_d: '-1' is a literal; expected a predicate register, 0 or 1"},
      {"{d}, a, b, %r1;", ", operand scale_d: '%r1' has type .b32; expected one of: pred"},
      {"{d}, a, b;", ": operand scale_d is missing; " + descriptors},
      {"{d}, {a}, b;", ": operand scale_d is missing; " + registers},
      {"{d}, a, b, p, 1, 1;", ": operand 1 is one too many; " + descriptors}};
  for (const auto& [text, expected] : operands) CHECK(message(s8 + " " + text) == s8 + expected);

  const std::pair<std::string, std::string> immediates[] = {
      {"{d}, a, b, p, 0, 1, 0, 0;", ", operand imm_scale_a: '0' is out of range; expected -1,1"},
      {"{d}, a, b, p, 1, 2, 0, 0;", ", operand imm_scale_b: '2' is out of range; expected -1,1"},
      {"{d}, a, b, p, 1, 1, 2, 0;", ", operand imm_trans_a: '2' is out of range; expected 0..1"},
      {"{d}, {a}, b, p, 1, 1, %r1;", ", operand imm_trans_b: '%r1' is a register; expected an immediate, 0..1"},
      {"{d}, {a}, b, p, 1, 1, 0, 0;",
       ": operand 0 is one too many; expected d:4xf32 a:4xb32 b_desc:b64 scale_d:pred imm_scale_a:imm(-1,1) "
       "imm_scale_b:imm(-1,1) imm_trans_b:imm(0..1)"}};
  for (const auto& [text, expected] : immediates) CHECK(message(f16 + " " + text) == f16 + expected);
  CHECK(message(sparse + " {d}, a, b, e, 1, p") ==
        sparse + ", operand sp_sel: '1' is out of range; expected 0");
}

TEST_CASE("spellings that the toolkit's own expansion of a form cannot take are refused", "[quick][decoder]") {
  // Asked of ptxas 13.0: form, targets that take the metadata in braces, targets that do not.
  struct Row {
    const char* form;
    std::vector<const char*> taken, refused;
  };
  const Row rows[] = {
      {"mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32", {"sm_89", "sm_120a"}, {"sm_90a", "sm_100a"}},
      {"mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32",
       {"sm_80", "sm_89"},
       {"sm_90a", "sm_100a", "sm_120a"}},
      {"mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", {"sm_80", "sm_90a"}, {"sm_100a", "sm_120a"}},
      {"mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32",
       {"sm_90a", "sm_100a", "sm_120a"},
       {}},
      {"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", {"sm_80", "sm_90a"}, {"sm_100a", "sm_120a"}},
      {"mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32", {"sm_80", "sm_100a", "sm_120a"}, {}}};
  const auto parsed = [](const std::string& form, const char* metadata, const char* target) {
    return Instruction::parse(form + " {d}, {a}, {b}, {c}, " + metadata + ", 0;", target);
  };
  for (const auto& [form, taken, refused] : rows) {
    for (const char* target : taken) CHECK(parsed(form, "{%r0}", target).ok());
    for (const char* target : refused) {
      INFO(form << " on " << target);
      CHECK(parsed(form, "%r0", target).ok());
      const Result<Instruction> braced = parsed(form, "{%r0}", target);
      REQUIRE_FALSE(braced.ok());
      CHECK_THAT(braced.error().message(), Catch::EndsWith("expected one register without braces"));
    }
  }
  const std::string fp8 =
      "mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e4m3.f16 {%r0,%r1}, {%r2,%r3,%r4,%r5}, {%r6,%r7}, ";
  for (const char* target : {"sm_90a", "sm_100a"}) {
    CHECK_FALSE(Instruction::parse(fp8 + "{%r8, 1};", target).ok());
    CHECK(Instruction::parse(fp8 + "{%r8, %r9};", target).ok());
  }
  CHECK(Instruction::parse(fp8 + "{%r8, 1};", "sm_89").ok());
}

TEST_CASE("instructions of other kinds are refused by name, whatever their operands", "[quick][decoder]") {
  const std::pair<std::string, std::string> rows[] = {
      {"mbarrier.try_wait.parity.shared::cta.b64 p, [m], 0;", "so nothing arrives later"},
      {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [d], [t, {x, y}], [m];",
       "which is complete at once"},
      {"cp.async.ca.shared.global [d], [s], 16;",
       "a kernel's copies are modelled in warpbit/device.hpp; around a Machine, its host copies with write_memory"}};
  for (const auto& [text, reason] : rows) {
    const std::string name = text.substr(0, text.find(' '));
    CHECK_THAT(message(text), Catch::StartsWith(name + " is not modelled yet: ") && Catch::EndsWith(reason));
  }
  CHECK_THAT(message("ld.global.f32 %f0, [a, b];"),
             Catch::StartsWith("ld.global.f32: 'ld' is not an instruction"));
}

TEST_CASE("what is wrong with an instruction of tensor memory is named", "[quick][decoder]") {
  struct Row {
    std::string_view target;
    std::string text, seen;
  };
  const std::string mma = "tcgen05.mma.cta_group::1.kind::f16", ld = "tcgen05.ld.sync.aligned.";
  const Row rows[] = {
      {"sm_100", "tcgen05.fence::after_thread_sync",
       "tcgen05.fence::after_thread_sync does not exist on sm_100; it exists on sm_100a, sm_100f, sm_103a, sm_103f, sm_107a, sm_107f, sm_110a, sm_110f"},
      {"sm_103a", "tcgen05.mma.ws.cta_group::1.kind::i8", "it exists on sm_100a, sm_110a"},
      {"sm_100a", "tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32",
       "it exists on sm_103a, sm_103f, sm_107a, sm_107f, sm_110a, sm_110f"},
      {"sm_103f", "tcgen05.shift.cta_group::1.down", "it exists on sm_100a, sm_103a, sm_107a, sm_110a"},
      {"sm_110f", "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X",
       "it exists on sm_100a, sm_103a, sm_107a, sm_110a"},
      {"sm_100f", "tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale.block32",
       "it exists on sm_100a, sm_103a, sm_107a, sm_110a"},
      {"sm_110a", mma + " [d], a, b, i, p, 3;",
       mma +
           " with scale_input_d does not exist on sm_110a; it exists on sm_100a, sm_100f, sm_103a, sm_103f, sm_107a, sm_107f"},
      {"sm_100a", "tcgen05.mma.cta_group::1.kind::i8 [d], a, b, i, p, 1;", "with scale_input_d: undocumented"},
      {"sm_100a", mma + " [d], a, b, i, p, 16;", "operand scale_input_d: '16' is out of range; expected 0..15"},
      {"sm_100a", mma + " [d], a, b, i, {%r0, %r1, %r2}, p;",
       "operand disable_output_lane: '{%r0, %r1, %r2}' has 3 registers; expected a vector of 4 .b32 registers"},
      {"sm_100a", mma + ".ashift [d], a, b, i, p;",
       "operand a_tmem: 'a' is a register; expected a register of 32 bits in brackets"},
      {"sm_100a", mma + " [d], a, b, i;", "operand enable_input_d is missing"},
      {"sm_100a", mma + " [d], a, b, %f0, p;",
       "operand idesc: '%f0' has type .f32; expected one of: b32 u32 s32"},
      {"sm_100a", mma + " [%u0], a, b, i, p;", "operand d_tmem: '[%u0]' has type .u32; expected one of: b32"},
      {"sm_100a", mma + " [d], a, b, i, 2;",
       "operand enable_input_d: '2' is a literal; expected a predicate register, 0 or 1"},
      {"sm_100a", "tcgen05.mma.ws.cta_group::2.kind::f16",
       "'.cta_group::2' is not a qualifier of this instruction"},
      {"sm_100a", "tcgen05.mma.cta_group::1.kind::mxf4",
       "the kind is .kind::mxf4; with the other qualifiers it can be .kind::f16"},
      {"sm_100a", ld + "16x128b.x128.b32",
       "the shape is .16x128b; with the other qualifiers it can be .16x32bx2, .16x64b or .32x32b"},
      {"sm_100a", ld + "16x32bx2.x2.b32 {r}, [t];", "operand imm_half_split_off is missing"},
      {"sm_100a", ld + "32x32b.x2.b32 {r}, [t], 2;", "operand 2 is one too many"},
      {"sm_100a", ld + "32x32b.x2.b32 {%r0, _}, [t];", "'_' cannot stand here; expected registers only"},
      {"sm_100a", "tcgen05.ld.sync.32x32b.x1.b32", ".aligned omitted, which ptxas 13.0 does not reject"},
      {"sm_103a", "tcgen05.ld.sync.aligned.32x32b.x2.red.max.u32",
       "'.red' stands behind '.x2'; accepted is '.red' as number 2"},
      {"sm_100a", "tcgen05.cp.cta_group::1.128x256b.b4x16_p64.b8x16",
       "accepted is '.b8x16' before '.b4x16_p64'"},
      {"sm_100a", "tcgen05.cp.cta_group::1.64x128b",
       "the multicast is missing; accepted is .warpx2::01_23 or .warpx2::02_13"},
      {"sm_100a", "tcgen05.alloc.cta_group::1.sync.aligned.b32 [d], 48;",
       "operand ncols: '48' columns; expected a power of two from 32 to 512"},
      {"sm_100a", "tcgen05.commit.cta_group::1.mbarrier::arrive::one.multicast::cluster.b64 [m], 3;",
       "operand cta_mask: '3' is a literal; expected one .b16 register"},
      {"sm_100a", "tcgen05.swap", "'tcgen05' is not an instruction of this library; it has mma, mma.sp"},
  };
  for (const auto& [target, text, seen] : rows) {
    INFO(text);
    CHECK_THAT(message(text, target), Catch::Contains(seen));
  }
}

TEST_CASE("a refusal of the text gives the column", "[quick][decoder]") {
  const std::pair<std::string, std::string> rows[] = {
      {"", "column 1: nothing; expected an instruction"},
      {" // mma", "column 8: nothing; expected an instruction"},
      {"@p mma.sync;",
       "column 1: a guard predicate; expected the bare instruction; guards belong to the kernel around it"},
      {"mma.", "column 4: '.' alone; expected a directive or a qualifier after '.'"},
      {"mma.sync!", "column 9: found '!'; expected '.', a blank, '{', '[' or ';'"},
      {"mma.sync {d", "column 12: the text ends; expected ',' or '}'"},
      {"mma.sync {", "column 11: the text ends; expected a name, a literal, '{' or '['"},
      {"mma.sync {}", "column 11: found '}'; expected a name, a literal, '{' or '['"},
      {"mma.sync {a} {b};", "column 14: found '{'; expected ',' between operands, or ';'"},
      {"mma.sync {a},;", "column 14: found ';'; expected an operand after ','"},
      {"mma.sync {a}; x", "column 15: found 'x'; expected the end: one statement at a time"},
      {"mma.sync {09};", "column 11: '09' is not a number; expected an integer or floating-point constant"},
      {"mma.sync [a", "column 12: the text ends; expected ']'"},
      {"mma.sync \x01", "column 10: byte 0x01; expected a name, a number, a directive or a mark of PTX"}};
  for (const auto& [text, expected] : rows) CHECK(message(text) == expected);
}

TEST_CASE("blanks, comments and the closing ';' change nothing", "[quick][decoder]") {
  for (const std::string& text :
       {kF16, kF16 + ";", kF16 + " {d}, {a}, {b}, {c}", kF16 + "{d},{a},{b},{c};",
        "\t " + kF16 + " /* A */ { %f0 ,%f1,\n%f2, _ }, {a}, {b}, // B\n {c} ; // end",
        kF16 + " {d}, {d}, {d}, {d};"}) {
    const auto result = parse(text);
    INFO(text);
    REQUIRE(result.ok());
    CHECK(result->canonical() == kF16);
    CHECK(result->text() == text);
  }
  const auto spelled = parse(kF16 + " {%f0, _, %f1, %f2}, {a}, {b}, {acc};");
  REQUIRE(spelled.ok());
  CHECK(spelled->operands()[0].label == "%f0, _, %f1, %f2");
  CHECK_FALSE(spelled->operands()[0].is_symbolic);
  CHECK(spelled->operands()[3].label == "acc");
  CHECK(spelled->operands()[3].is_symbolic);
}

// Register i of C, or nothing.
std::vector<std::optional<std::uint64_t>> literals(const std::string& form, const std::string& c) {
  const auto result = parse(form + " {d}, {a}, {b}, " + c + ";");
  INFO(form << " " << c);
  REQUIRE(result.ok());
  return result->operands()[3].literals;
}

TEST_CASE("a literal is the bits of its register", "[quick][decoder]") {
  using Bits = std::vector<std::optional<std::uint64_t>>;
  CHECK(literals(kS8, "{0, 1, -1, 0x7fffffff}") == Bits{0, 1, 0xFFFFFFFF, 0x7FFFFFFF});
  CHECK(literals(kS8, "{0b101, 017, 0XFFU, 4294967297}") == Bits{5, 15, 255, 1});  // modulo 2^32
  CHECK(literals(kS8, "{%r0, 7, %r1, %r2}") == Bits{{}, 7, {}, {}});
  CHECK(literals(kF16, "{0f3F800000, 0F80000000, 0f00000000, 0f7fc00001}") ==
        Bits{0x3F800000, 0x80000000, 0, 0x7FC00001});
  CHECK(literals(kF64, "{1, -1}") == Bits{1, ~std::uint64_t{0}});  // an integer is the bits, not the number
  CHECK(literals(kF64, "{1.0, -2.5e-1}") == Bits{0x3FF0000000000000, 0xBFD0000000000000});
  CHECK(literals(kF64, "{0d3ff0000000000000, 0D8000000000000000}") == Bits{0x3FF0000000000000, 1ull << 63});
  CHECK(literals(kF64, "{%d0, 1.5}") == Bits{{}, 0x3FF8000000000000});
  CHECK(literals(kS8, "{c}").empty());
  // A double where cvt takes an f32 is rounded to nearest even; the right sides are what ptxas 13.0 makes the same
  // machine code of.
  const std::pair<std::string, std::uint64_t> doubles[] = {
      {"1.1", 0x3F8CCCCD},
      {"-1.1", 0xBF8CCCCD},
      {"1.0000000596046448", 0x3F800000},
      {"1.0000001788139343", 0x3F800002},
      {"3.4028235677973366e38", 0x7F800000},
      {"1e-40", 0x000116C2},
      {"-1e-60", 0x80000000},
      {"0d36a0000000000001", 0x00000001},
      {"0d7ff0000000000001", 0x7FC00000},
      {"0d7ff8000020000000", 0x7FC00001},
  };
  for (const auto& [text, bits] : doubles) {
    INFO(text);
    const auto cvt = parse("cvt.rz.f16.f32 %c0, " + text + ";");
    REQUIRE(cvt.ok());
    CHECK(cvt->operands()[1].literals == Bits{bits});
  }
}

TEST_CASE("the offset of an address is a constant expression", "[quick][decoder]") {
  const auto address = [](const std::string& text) {
    return parse("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r}, [" + text + "];");
  };
  // ptxas 13.0 makes the same machine code of both sides.
  const std::pair<std::string, std::int64_t> sums[] = {
      {"p", 0},     {"p+16", 16},   {"p + -16", -16}, {"p+(4)", 4},      {"p+(4+4)", 8},
      {"p+4+4", 8}, {"p+-(4)", -4}, {"p+4-(2-6)", 8}, {"p+ ( (4) )", 4}, {"p+(4)+(4)", 8},
      {"p+--4", 4}, {"p+(4U)", 4},  {"p+-0x10", -16}, {"p+4*4", 16}};
  for (const auto& [text, offset] : sums) {
    INFO(text);
    const auto result = address(text);
    REQUIRE(result.ok());
    CHECK(result->operands()[1].label == "p");
    CHECK(result->operands()[1].offset == offset);
  }
  const std::pair<std::string, std::string> refused[] = {{"p-16", "'+' and the offset"},
                                                         {"p+(4", "found ']'; expected ')'"},
                                                         {"p+()", "found ')'"},
                                                         {"p+4)", "found ')'"},
                                                         {"p+(4.0)", "an integer offset"},
                                                         {"p+q", "found 'q'; expected a constant"},
                                                         {"(p)", "found 'p'"},
                                                         {"p+(4+)", "found ')'"},
                                                         {"p+4 4", "found '4'; expected ']'"}};
  for (const auto& [text, said] : refused) {
    INFO(text);
    const auto result = address(text);
    REQUIRE_FALSE(result.ok());
    CHECK_THAT(result.error().message(), Catch::Contains(said));
  }
}

// 10,000 texts made of what PTX is made of. Every refusal is one sentence with its template filled.
TEST_CASE("no text makes the decoder stumble", "[quick][decoder]") {
  constexpr std::array kPieces = {"mma",
                                  ".sync",
                                  ".aligned",
                                  ".m16n8k16",
                                  ".m16n8k8",
                                  ".row",
                                  ".col",
                                  ".f32",
                                  ".f16",
                                  ".e4m3",
                                  ".s8",
                                  ".s32",
                                  ".b1",
                                  ".f64",
                                  ".popc",
                                  ".and",
                                  ".rn",
                                  ".m",
                                  ".kind",
                                  "::",
                                  ".",
                                  "..",
                                  " ",
                                  "\n",
                                  "\t",
                                  "{",
                                  "}",
                                  "[",
                                  "]",
                                  ",",
                                  ";",
                                  "%r1",
                                  "%f0",
                                  "%",
                                  "$",
                                  "_",
                                  "0",
                                  "-1",
                                  "0x",
                                  "0f",
                                  "1.5e",
                                  "0f3f800000",
                                  "1e999",
                                  "//",
                                  "/*",
                                  "*/",
                                  "@p",
                                  "{d}, ",
                                  "{a}, {b}",
                                  "\xff",
                                  "\x1b",
                                  "+",
                                  "99999999999999999999",
                                  "d"};
  std::mt19937 random(1);
  const std::vector<Target> targets = Target::all();
  std::size_t refused = 0;
  for (int i = 0; i < 10000; ++i) {
    std::string text = i % 2 ? kF16 : "";
    for (std::size_t n = random() % 24; n > 0; --n) text += kPieces[random() % kPieces.size()];
    const auto result = Instruction::parse(text, targets[random() % targets.size()], isa_table::type_of);
    if (result.ok()) continue;
    ++refused;
    const std::string said = result.error().message();
    const bool filled = said.find("{where}") == said.npos && said.find("{seen}") == said.npos &&
                        said.find("{accepted}") == said.npos;
    INFO(text << " -> " << said);
    const bool one_line = said.find_first_of("\n\r\x1b") == said.npos;
    CHECK((!said.empty() && filled && one_line && said.size() < 4096));
  }
  fmt::print("random texts: {} refused of 10000\n", refused);
  REQUIRE(refused > 5000);
}

TEST_CASE("long texts are read or refused like short ones", "[quick][decoder]") {
  constexpr std::size_t kLong = 1 << 20;
  const auto repeated = [&](std::string_view piece) {
    std::string out;
    while (out.size() < kLong) out += piece;
    return out;
  };
  CHECK(parse(kF16 + repeated(" ") + "{d}, {a}, {b}, {c};").ok());
  CHECK(parse(kF16 + " /*" + repeated("x") + "*/ {d}, {a}, {b}, {c};").ok());
  for (const std::string& text :
       {repeated("a"), repeated("."), kF16 + repeated(".f32"), kF16 + " " + repeated("{"),
        kF16 + " " + repeated("{a}, "), kF16 + " {" + repeated("%r1, ") + "%r1}, {a}, {b}, {c};",
        kF16 + " {" + repeated("1") + "}, {a}, {b}, {c};", kF16 + "." + repeated("f"),
        "mma " + repeated("%")}) {
    const std::string said = message(text);
    INFO(text.substr(0, 100) << "...: " << said.substr(0, 200));
    CHECK(said != "accepted");
    CHECK(said.size() < 4096);
  }
}

}  // namespace decoder_message_test
