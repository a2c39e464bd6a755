// SPDX-License-Identifier: Apache-2.0
// warpbit arbiter: causes that are known are named. Recordings of an H100 (examples/recordings/assembler) have defects of the
// assembler; others are planted: the bytes are those of another module or launch, and the arbiter sees only the right PTX.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "archive.hpp"
#include "tool.hpp"
#include "warpbit/arbiter.hpp"

namespace arbiter_test {

using namespace warpbit;
using archive::Directory;
using Catch::Contains;
using Words = std::vector<std::uint32_t>;

constexpr std::uint64_t kIn = 0x7f2c40000000, kOut = 0x7f2c40010000;
constexpr unsigned kThreads = 256;

// A kernel of one block: thread %r1 has its word of `in` in %r2 and %f2, and the next thread's in %r3 and %f3, and stores %r9.
std::string kernel(const std::string& body) {
  return ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
         "  .reg .b16 %h<40>; .reg .b32 %r<400>; .reg .f32 %f<40>; .reg .b64 %rd<20>; .reg .pred %p<9>;\n"
         "  .shared .align 16 .b8 s[2048];\n"
         "  ld.param.u64 %rd1, [in];\n  ld.param.u64 %rd2, [out];\n  mov.u32 %r1, %tid.x;\n"
         "  mul.wide.u32 %rd3, %r1, 4;\n  add.s64 %rd4, %rd1, %rd3;\n  add.s64 %rd5, %rd2, %rd3;\n"
         "  ld.global.u32 %r2, [%rd4];\n  ld.global.u32 %r3, [%rd4+4];\n  mov.b32 %f2, %r2;\n  mov.b32 %f3, %r3;\n" +
         body + "  st.global.u32 [%rd5], %r9;\n  ret;\n}\n";
}

// Words whose floats are near 1, of both signs.
Words inputs() {
  Words out(kThreads + 4);
  std::uint32_t state = 12345;
  for (std::uint32_t& one : out) {
    state = state * 1664525 + 1013904223;
    one = 0x3f000000 | (state >> 8 & 0x00ffffff) | (state & 0x80000000);
  }
  return out;
}

ptx::Launch shape(unsigned blocks) {
  ptx::Launch how;
  how.grid = {blocks};
  how.block = {kThreads};
  how.lenient = true;
  return how;
}

// What a kernel leaves of `inputs`.
Words left_by(const std::string& text, ptx::Launch how, std::optional<Target> target = {}) {
  const Result<ptx::Module> module = ptx::Module::load(text, target);
  if (!module) FAIL(module.error().message());
  const Result<ptx::Function> function = module->function("k");
  if (!function) FAIL(function.error().message());
  Words in = inputs(), out(kThreads);
  const ptx::Report report = function->launch(how, {ptx::buffer(in), ptx::buffer(out)});
  if (report.fault) FAIL(report.fault->message());
  return out;
}

class Recorded {
 public:
  // A GPU that is said to have run `text` has left `out`.
  Recorded(const std::string& text, const Words& out, unsigned blocks = 1, bool stable = true) {
    const auto hex = [](std::uint64_t address) {
      std::string bytes;
      for (int i = 0; i < 8; ++i) bytes += fmt::format("{:02x}", address >> 8 * i & 255);
      return bytes;
    };
    std::filesystem::create_directory(directory_.path / "data");
    data("code", text.data(), text.size());
    const Words in = inputs(), zeros(out.size());
    data("in", in.data(), in.size() * 4);
    data("zeros", zeros.data(), zeros.size() * 4);
    data("out", out.data(), out.size() * 4);
    std::ofstream(directory_.path / "recording.jsonl")
        << R"({"format": "recording-1", "target": "sm_90a", "source": "model", "program": "a test"})"
        << "\n"
        << fmt::format(
               R"({{"kind": "launch", "name": "k", "entry": "k", "module": "code", "grid": [{}, 1, 1], )"
               R"("block": [{}, 1, 1], "parameters": [{{"bytes": "{}"}}, {{"bytes": "{}"}}], "stable": {}, )"
               R"("memory": [{{"address": "{:#x}", "bytes": {}, "name": "in", "before": "in"}}, )"
               R"({{"address": "{:#x}", "bytes": {}, "name": "out", "before": "zeros", "after": "out"}}]}})",
               blocks, kThreads, hex(kIn), hex(kOut), stable, kIn, in.size() * 4, kOut, out.size() * 4)
        << "\n";
  }
  std::string path() const { return directory_.path.string(); }

 private:
  void data(const std::string& name, const void* bytes, std::size_t count) {
    std::ofstream(directory_.path / "data" / name, std::ios::binary)
        .write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
  }
  Directory directory_;
};

Judgement verdict_on(const std::string& path, const std::string& record = "k") {
  const Result<Recording> recording = Recording::open(path);
  if (!recording) FAIL(recording.error().message());
  const Record* const found = recording->find(record);
  REQUIRE(found != nullptr);
  const Result<Judgement> verdict = arbitrate(*recording, *found);
  if (!verdict) FAIL(verdict.error().message());
  return *verdict;
}

// What a verdict says, for messages.
std::string told(const Judgement& verdict) {
  std::string out = fmt::format("{}{}", name(verdict.ruling), verdict.is_certain ? "" : "?");
  for (const Cause& one : verdict.causes) {
    out += fmt::format("; {} {}: {}", name(one.ruling), one.hypothesis, one.sentence);
    for (const CodePlace& place : one.places) out += fmt::format(" [{}: {}]", place.line, place.statement);
  }
  for (const std::string& one : verdict.notes) out += "; note " + one;
  return out;
}

bool names(const Judgement& verdict, const std::string& statement) {
  return std::ranges::any_of(verdict.causes, [&](const Cause& one) {
    return std::ranges::any_of(one.places, [&](const CodePlace& at) { return at.statement == statement; });
  });
}

// ---- What a GPU left

TEST_CASE("defects that an H100 has shown are named, with a module that shows them") {
  struct Case {
    const char *record, *defect, *statement;
  };
  for (const Case& one : {Case{"half_addend", "half-addend", "add.s16x2 %r7, %r2, %r4"},
                          Case{"half_addend_packed", "half-addend", "add.s16x2 %r7, %r5, %r4"},
                          Case{"bfe_position", "bfe-position", "bfe.s32 %r6, %r2, 40, 8"}}) {
    const Judgement verdict = verdict_on("examples/recordings/assembler", one.record);
    INFO(told(verdict));
    CHECK(verdict.ruling == Ruling::assembler);
    CHECK(verdict.is_certain);
    REQUIRE(verdict.causes.size() == 1);
    CHECK(verdict.causes[0].hypothesis == one.defect);
    CHECK(names(verdict, one.statement));
    CHECK_THAT(verdict.minimal, Contains(one.statement));
    const Result<ptx::Module> minimal = ptx::Module::load(verdict.minimal);
    REQUIRE(minimal);
    REQUIRE(minimal->notes().size() == 1);
    CHECK(minimal->notes()[0].defect == one.defect);
    CHECK(verdict.minimal.size() < 1000);
  }
}

TEST_CASE("bits that a rule of the assembler makes are those of the PTX") {
  const Judgement scaled = verdict_on("examples/recordings/assembler", "scale");
  INFO(told(scaled));
  CHECK(scaled.ruling == Ruling::as_ptx);
  REQUIRE(scaled.causes.size() == 1);
  CHECK(scaled.causes[0].hypothesis == "scale");
  CHECK(names(scaled, "mul.f32 %f4, %f3, 0f3F000000"));
  const Judgement shifted = verdict_on("examples/recordings/assembler", "shift");
  CHECK(shifted.ruling == Ruling::as_ptx);
  CHECK(shifted.causes.empty());
}

// ---- Defects in kernels of 200 statements

// Statements that mix a word with itself, and what they make of it by the PTX manual.
struct Mixed {
  std::string text;
  std::uint32_t value;
};
void mix(int steps, std::uint32_t seed, std::string& text, Words& values) {
  std::uint32_t state = seed;
  for (int i = 0; i < steps; ++i) {
    state = state * 1664525 + 1013904223;
    const std::uint32_t c = state >> 4 | 1;
    constexpr const char* kForms[] = {"add.u32 %r9, %r9, {};", "xor.b32 %r9, %r9, {};",
                                      "mul.lo.u32 %r9, %r9, {};"};
    text += "  " + fmt::format(fmt::runtime(kForms[i % 3]), c) + "\n";
    for (std::uint32_t& one : values) one = i % 3 == 0 ? one + c : i % 3 == 1 ? one ^ c : one * c;
  }
}

TEST_CASE("a defect is found in a kernel of 200 statements") {
  const bool halves = GENERATE(false, true);
  Words values = inputs();
  values.resize(kThreads);
  std::string body = "  mov.b32 %r9, %r2;\n";
  mix(90, 1, body, values);
  const std::string statement = halves ? "add.s16x2 %r7, %r9, %r4" : "bfe.s32 %r9, %r9, 33, 8";
  if (halves)
    body +=
        "  mov.b32 %r4, 8257536;\n  " + statement + ";\n  mov.b32 {_, %h4}, %r7;\n  cvt.u32.u16 %r9, %h4;\n";
  else
    body += "  " + statement + ";\n";
  // What the GPU does: no addend; ones.
  for (std::uint32_t& one : values) one = halves ? one >> 16 : 0xFFFFFFFF;
  mix(90, 2, body, values);
  const Recorded recorded(kernel(body), values);
  const Judgement verdict = verdict_on(recorded.path());
  INFO(told(verdict));
  CHECK(verdict.ruling == Ruling::assembler);
  CHECK(verdict.is_certain);
  CHECK(names(verdict, statement));
  CHECK(verdict.slice.size() > 180);
  CHECK_THAT(verdict.minimal, Contains(statement));
  CHECK(std::ranges::count(verdict.minimal, '\n') < 24);
}

// ---- Planted causes

struct Plant {
  const char* name;
  const char *body, *ran;  ///< what the arbiter sees, and what ran: empty, the same
  Ruling ruling;
  const char* statement;  ///< that is named; empty: none
  const char* hypothesis;
  void (*change)(ptx::Launch&) = nullptr;
};

const Plant kPlants[] = {
    {"an addend", "add.u32 %r9, %r2, 5; xor.b32 %r9, %r9, %r3;", "add.u32 %r9, %r2, 9; xor.b32 %r9, %r9, %r3;",
     Ruling::other_code, "add.u32 %r9, %r2, 5", "literal"},
    {"a factor", "mul.lo.u32 %r8, %r2, 3001; add.u32 %r9, %r8, %r3; not.b32 %r9, %r9;",
     "mul.lo.u32 %r8, %r2, 3191; add.u32 %r9, %r8, %r3; not.b32 %r9, %r9;", Ruling::other_code,
     "mul.lo.u32 %r8, %r2, 3001", "literal"},
    {"a factor of floats", "mul.rn.f32 %f4, %f2, 0f3FC00000; add.rn.f32 %f5, %f4, %f3; mov.b32 %r9, %f5;",
     "mul.rn.f32 %f4, %f2, 0f3FCCCCCD; add.rn.f32 %f5, %f4, %f3; mov.b32 %r9, %f5;", Ruling::other_code,
     "mul.rn.f32 %f4, %f2, 0f3FC00000", "literal"},
    {"an epsilon", "fma.rn.f32 %f4, %f2, %f3, 0f3727C5AC; mul.rn.f32 %f5, %f4, %f4; mov.b32 %r9, %f5;",
     "fma.rn.f32 %f4, %f2, %f3, 0f358637BD; mul.rn.f32 %f5, %f4, %f4; mov.b32 %r9, %f5;", Ruling::other_code,
     "fma.rn.f32 %f4, %f2, %f3, 0f3727C5AC", "literal"},
    {"a shift", "shl.b32 %r8, %r2, 3; sub.u32 %r9, %r3, %r8;", "shl.b32 %r8, %r2, 5; sub.u32 %r9, %r3, %r8;",
     Ruling::other_code, "shl.b32 %r8, %r2, 3", "literal"},
    {"a mask", "and.b32 %r8, %r2, 255; add.u32 %r9, %r8, %r3;", "and.b32 %r8, %r2, 127; add.u32 %r9, %r8, %r3;",
     Ruling::other_code, "and.b32 %r8, %r2, 255", "literal"},
    {"a bound", "mov.u32 %r9, 0; setp.lt.u32 %p1, %r1, 100; @%p1 add.u32 %r9, %r2, %r3;",
     "mov.u32 %r9, 0; setp.lt.u32 %p1, %r1, 77; @%p1 add.u32 %r9, %r2, %r3;", Ruling::other_code,
     "setp.lt.u32 %p1, %r1, 100", "literal"},
    {"rounds of a loop",
     "mov.u32 %r9, %r2; mov.u32 %r8, 0; L: mad.lo.u32 %r9, %r9, %r3, %r8; add.u32 %r8, %r8, 1;\n"
     "setp.lt.u32 %p1, %r8, 10; @%p1 bra L;",
     "mov.u32 %r9, %r2; mov.u32 %r8, 0; L: mad.lo.u32 %r9, %r9, %r3, %r8; add.u32 %r8, %r8, 1;\n"
     "setp.lt.u32 %p1, %r8, 13; @%p1 bra L;",
     Ruling::other_code, "setp.lt.u32 %p1, %r8, 10", "literal"},
    {"a comparison", "and.b32 %r8, %r2, 3; setp.lt.u32 %p1, %r8, 2; selp.b32 %r9, %r2, %r3, %p1;",
     "and.b32 %r8, %r2, 3; setp.gt.u32 %p1, %r8, 2; selp.b32 %r9, %r2, %r3, %p1;", Ruling::other_code,
     "setp.lt.u32 %p1, %r8, 2", "word"},
    {"an opcode", "min.u32 %r8, %r2, %r3; add.u32 %r9, %r8, 77;",
     "max.u32 %r8, %r2, %r3; add.u32 %r9, %r8, 77;", Ruling::other_code, "min.u32 %r8, %r2, %r3", "opcode"},
    {"a rounding", "fma.rn.f32 %f4, %f2, %f3, %f2; mov.b32 %r9, %f4;",
     "fma.rz.f32 %f4, %f2, %f3, %f2; mov.b32 %r9, %f4;", Ruling::other_code, "fma.rn.f32 %f4, %f2, %f3, %f2",
     "word"},
    {"exchanged sources", "sub.u32 %r8, %r2, %r3; mul.lo.u32 %r8, %r8, %r8; sub.u32 %r9, %r8, %r3;",
     "sub.u32 %r8, %r2, %r3; mul.lo.u32 %r8, %r8, %r8; sub.u32 %r9, %r3, %r8;", Ruling::other_code,
     "sub.u32 %r9, %r8, %r3", "swapped"},
    {"a statement that is gone", "add.u32 %r9, %r2, %r3; mul.lo.u32 %r9, %r9, 1664525; add.u32 %r9, %r9, %r2;",
     "add.u32 %r9, %r2, %r3; add.u32 %r9, %r9, %r2;", Ruling::other_code, "mul.lo.u32 %r9, %r9, 1664525",
     "dropped"},
    {"a guard", "and.b32 %r8, %r2, 1; setp.eq.u32 %p1, %r8, 0; mov.u32 %r9, %r2; @%p1 add.u32 %r9, %r2, %r3;",
     "and.b32 %r8, %r2, 1; setp.eq.u32 %p1, %r8, 0; mov.u32 %r9, %r2; add.u32 %r9, %r2, %r3;",
     Ruling::other_code, "@%p1 add.u32 %r9, %r2, %r3", "guard"},
    {"another register", "xor.b32 %r7, %r2, %r3; add.u32 %r8, %r7, %r2; sub.u32 %r9, %r8, %r7;",
     "xor.b32 %r7, %r2, %r3; add.u32 %r8, %r7, %r1; sub.u32 %r9, %r8, %r7;", Ruling::other_code,
     "add.u32 %r8, %r7, %r2", "source"},
    {"a distance", "ld.global.u32 %r8, [%rd4+8]; add.u32 %r9, %r8, %r2;",
     "ld.global.u32 %r8, [%rd4+12]; add.u32 %r9, %r8, %r2;", Ruling::other_code, "ld.global.u32 %r8, [%rd4+8]",
     "offset"},
    {"through shared memory",
     "shl.b32 %r4, %r1, 2; mov.u32 %r5, s; add.u32 %r5, %r5, %r4; add.u32 %r6, %r2, 21; st.shared.u32 [%r5], %r6; bar.sync 0;\n"
     "xor.b32 %r5, %r5, 128; ld.shared.u32 %r9, [%r5];",
     "shl.b32 %r4, %r1, 2; mov.u32 %r5, s; add.u32 %r5, %r5, %r4; add.u32 %r6, %r2, 23; st.shared.u32 [%r5], %r6; bar.sync 0;\n"
     "xor.b32 %r5, %r5, 128; ld.shared.u32 %r9, [%r5];",
     Ruling::other_code, "add.u32 %r6, %r2, 21", "literal"},
    {"--fmad=false",
     "mul.f32 %f4, %f2, %f3; add.f32 %f5, %f4, %f2; mul.f32 %f6, %f5, %f3; sub.f32 %f7, %f6, %f2; mov.b32 %r9, %f7;",
     "", Ruling::other_code, "", "fmad", [](ptx::Launch& how) { how.contract = false; }},
    {"-O0", "mov.f32 %f4, 0f43000000; rsqrt.approx.f32 %f5, %f4; mul.rn.f32 %f6, %f5, %f2; mov.b32 %r9, %f6;",
     "", Ruling::other_code, "", "as-written", [](ptx::Launch& how) { how.as_written = true; }},
    {"one product that is not fused",
     "mul.f32 %f4, %f2, %f3; add.f32 %f5, %f4, %f2; mul.f32 %f6, %f5, %f3; sub.f32 %f7, %f6, %f2; mov.b32 %r9, %f7;",
     "mul.rn.f32 %f4, %f2, %f3; add.f32 %f5, %f4, %f2; mul.f32 %f6, %f5, %f3; sub.f32 %f7, %f6, %f2; mov.b32 %r9, %f7;",
     Ruling::open, "mul.f32 %f4, %f2, %f3", "separate"},
};

std::string lines_of(std::string body) {
  for (std::size_t at = body.find("; "); at != body.npos; at = body.find("; ", at + 2)) body[at + 1] = '\n';
  return body + "\n";
}

TEST_CASE("planted causes are named, and none wrongly for certain") {
  int right = 0;
  for (const Plant& one : kPlants) {
    const std::string seen = kernel(lines_of(one.body)),
                      ran = one.ran[0] == 0 ? seen : kernel(lines_of(one.ran));
    ptx::Launch how = shape(1);
    if (one.change != nullptr) one.change(how);
    const Recorded recorded(seen, left_by(ran, how));
    const Judgement verdict = verdict_on(recorded.path());
    INFO(one.name << ": " << told(verdict));
    const bool is_named = one.statement[0] == 0 || names(verdict, one.statement);
    const bool is_hypothesis =
        std::ranges::find(verdict.causes, one.hypothesis, &Cause::hypothesis) != verdict.causes.end();
    CHECK(verdict.ruling == one.ruling);
    CHECK(is_named);
    CHECK(is_hypothesis);
    right += verdict.ruling == one.ruling && is_named && is_hypothesis;
  }
  CHECK(right == std::ssize(kPlants));
}

TEST_CASE("other bits of a product of matrices say which target ran") {
  const std::string text =
      "mov.u32 %r20, %r2; mov.u32 %r21, %r3; mov.f32 %f10, 0f3F800001;\n"
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f4, %f5, %f6, %f7}, {%r20, %r21, %r20, %r21}, {%r21, %r20}, "
      "{%f10, %f10, %f10, %f10};\nmov.b32 %r9, %f4;";
  const std::string seen = kernel(lines_of(text));
  const Result<Target> older = Target::find("sm_80");
  REQUIRE(older);
  std::string ran = seen;
  ran.replace(ran.find("sm_90a"), 6, "sm_80");
  const Recorded recorded(seen, left_by(ran, shape(1), *older));
  const Judgement verdict = verdict_on(recorded.path());
  INFO(told(verdict));
  CHECK(verdict.ruling == Ruling::other_code);
  CHECK(verdict.is_certain);
  REQUIRE(verdict.causes.size() == 1);
  CHECK(verdict.causes[0].hypothesis == "target");
  CHECK_THAT(verdict.causes[0].sentence, Contains("sm_80") && !Contains("sm_100"));
}

// ---- The PTX leaves it open, or is at fault

TEST_CASE("mistakes in the PTX are its faults, whatever bytes a GPU has left") {
  struct Case {
    const char *name, *body, *rule, *statement;
  };
  const Case cases[] = {
      {"a barrier is missing",
       "shl.b32 %r4, %r1, 2; mov.u32 %r5, s; add.u32 %r5, %r5, %r4; st.shared.u32 [%r5], %r2; xor.b32 %r5, %r5, 128;\n"
       "ld.shared.u32 %r9, [%r5];",
       "data_race", "ld.shared.u32 %r9, [%r5]"},
      {"a register without a value", "add.u32 %r9, %r2, %r99;", "never_written", "st.global.u32 [%rd5], %r9"},
      {"beyond the array", "ld.global.u32 %r9, [%rd4+65536000];", "", "ld.global.u32 %r9, [%rd4+65536000]"},
      {"threads that store to one place", "mov.u32 %r9, %r2; st.global.u32 [%rd2+16], %r1;", "",
       "st.global.u32 [%rd2+16], %r1"},
  };
  for (const Case& one : cases) {
    Words out = inputs();
    out.resize(kThreads);
    out[4] = 77;
    const Recorded recorded(kernel(lines_of(one.body)), out);
    const Judgement verdict = verdict_on(recorded.path());
    INFO(one.name << ": " << told(verdict));
    CHECK(verdict.ruling == Ruling::ptx_fault);
    CHECK(verdict.is_certain);
    CHECK(names(verdict, one.statement));
  }
}

TEST_CASE("what an order decides is open") {
  const std::string text = kernel(
      "  red.global.add.f32 [%rd2], %f2;\n  mov.u32 %r9, 0;\n  add.s64 %rd5, %rd5, 4;\n"
      "  setp.eq.u32 %p1, %r1, 255;\n  @%p1 ret;\n");
  Words out(kThreads);
  out[0] = 0x3f800000;
  const Recorded recorded(text, out);
  const Judgement verdict = verdict_on(recorded.path());
  INFO(told(verdict));
  CHECK(verdict.ruling == Ruling::open);
  CHECK(names(verdict, "red.global.add.f32 [%rd2], %f2"));
  const std::string plain = kernel("  add.u32 %r9, %r2, %r3;\n");
  Words other = left_by(plain, shape(1));
  other[3] ^= 0x5a5a;
  const Recorded unstable(plain, other, 1, false);
  const Judgement of_unstable = verdict_on(unstable.path());
  CHECK(of_unstable.ruling == Ruling::open);
  REQUIRE(of_unstable.causes.size() == 1);
  CHECK(of_unstable.causes[0].hypothesis == "unstable");
}

TEST_CASE("bytes that no hypothesis makes are not explained") {
  const std::string text = kernel("  add.u32 %r8, %r2, 5;\n  xor.b32 %r9, %r8, %r3;\n");
  Words out = left_by(text, shape(1));
  out[17] ^= 0x00010000;
  out[90] ^= 0x00300000;
  const Recorded recorded(text, out);
  const Judgement verdict = verdict_on(recorded.path());
  INFO(told(verdict));
  CHECK(verdict.ruling == Ruling::unexplained);
  CHECK(verdict.causes.empty());
  REQUIRE(verdict.differences.size() == 1);
  CHECK_THAT(verdict.differences[0], Contains("out: 2 of 1024 bytes differ, the first is byte 70"));
  REQUIRE(verdict.slice.size() >= 4);
  CHECK(verdict.slice[0].statement == "st.global.u32 [%rd5], %r9");
  CHECK(verdict.slice[1].statement == "xor.b32 %r9, %r8, %r3");
  CHECK(verdict.slice[2].statement == "add.u32 %r8, %r2, 5");
  CHECK(std::ranges::find(verdict.tried, "literal", &Tried::hypothesis) != verdict.tried.end());
  CHECK(verdict.minimal.empty());
}

// ---- The command

TEST_CASE("the command prints a verdict, and writes a module that shows it") {
  const Directory directory;
  const std::string minimal = (directory.path / "minimal.ptx").string(), path = "examples/recordings/assembler";
  const tool::Output wrong = tool::run({"arbiter", path, "bfe_position", "--minimal", minimal});
  CHECK(wrong.status == 1);
  CHECK(wrong.lines().back() == "verdict: the assembler is at fault");
  CHECK_THAT(wrong.out, Contains("line 22: bfe.s32 %r6, %r2, 40, 8"));
  CHECK_THAT(archive::bytes_of(minimal), Contains("bfe.s32 %r6, %r2, 40, 8;"));
  const tool::Output right = tool::run({"arbiter", path, "shift", "--quiet"});
  CHECK(right.status == 0);
  CHECK(right.out == "verdict: the GPU has the bits of the PTX\n");
  const auto json = nlohmann::json::parse(tool::run({"arbiter", path, "half_addend", "--json"}).out);
  CHECK(json.at("schema") == "arbiter/1");
  CHECK(json.at("ruling") == "assembler");
  CHECK(json.at("certain") == true);
  const tool::Output unnamed = tool::run({"arbiter", path});
  CHECK(unnamed.status == 2);
  CHECK_THAT(unnamed.err, Contains("none, and 5 launches") && Contains("bfe_position"));
  CHECK(tool::run({"arbiter", path, "no_such"}).status == 2);
}

}  // namespace arbiter_test
