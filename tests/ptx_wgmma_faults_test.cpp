// SPDX-License-Identifier: Apache-2.0
// Each mistake with asynchronous products that a kernel in PTX can make, alone, beside correct neighbours.
#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>  // iota
#include <string>
#include <vector>

#include "warpbit/ptx.hpp"

namespace ptx_wgmma_faults_test {

using namespace warpbit;
using Lines = std::vector<std::string>;

// 128 threads or more. A of 64 x 16 in bytes 0 to 0x7ff of `tile`, B of 16 x 8 in 0x800 to 0x8ff, %rd4 and %rd5 describe
// them; each thread of the first warpgroup writes five words from %r2 on. %f1 to %f4 are D, %r10 to %r13 A.
constexpr const char* kBefore = R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<8>;
  .reg .b32 %r<32>;
  .reg .f32 %f<32>;
  .reg .b64 %rd<16>;
  .shared .align 1024 .b8 tile[4096];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, tile;
  shl.b32 %r3, %r1, 2;
  add.u32 %r2, %r2, %r3;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd2, %rd1, %rd2;
  mov.b64 %rd4, 0x1000080000;
  mov.b64 %rd5, 0x1000080080;
  mov.b32 %r5, 0x3C003C00;
  mov.b32 %r10, %r5;
  mov.b32 %r11, %r5;
  mov.b32 %r12, %r5;
  mov.b32 %r13, %r5;
  mov.f32 %f1, 0f00000000;
  mov.f32 %f2, %f1;
  mov.f32 %f3, %f1;
  mov.f32 %f4, %f1;
  setp.eq.u32 %p7, %r1, %r1;
)";

const std::string kStores =
    "st.shared.b32 [%r2], %r5; st.shared.b32 [%r2+512], %r5; st.shared.b32 [%r2+1024], %r5; st.shared.b32 [%r2+1536], "
    "%r5; st.shared.b32 [%r2+2048], %r5;";
const std::string kProxy = "fence.proxy.async;", kBarrier = "bar.sync 0;";
const std::string kFence = "wgmma.fence.sync.aligned;", kCommit = "wgmma.commit_group.sync.aligned;",
                  kWait = "wgmma.wait_group.sync.aligned 0;", kWaitOne = "wgmma.wait_group.sync.aligned 1;";
const std::string kForm = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16";
const std::string kProduct = kForm + " {%f1, %f2, %f3, %f4}, %rd4, %rd5, %p7, 1, 1, 0, 0;";
const std::string kWithA = kForm + " {%f1, %f2, %f3, %f4}, {%r10, %r11, %r12, %r13}, %rd5, %p7, 1, 1, 0;";
const std::string kFill = kStores + kProxy + kBarrier;
const std::string kEnd = kCommit + kWait;
// Where a fault is, and its other side.
const std::string kAt = "  // <- at\n", kOther = "  // <- other\n";

std::string text_of(const std::string& body) {
  return kBefore + body + "\nret;\n}\n";
}

int line_of(const std::string& text, const std::string& mark) {
  const std::size_t at = text.find(mark);
  return at == text.npos ? 0
                         : 1 + static_cast<int>(std::count(
                                   text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

ptx::Report run(const std::string& text, unsigned threads = 128) {
  const Result<ptx::Module> module = ptx::Module::load(text);
  if (!module) FAIL(module.error().message());
  const Result<ptx::Function> function = module->function("k");
  if (!function) FAIL(function.error().message());
  std::vector<float> out(1024, 1.0F);
  return function->launch({.grid = {2}, .block = {threads}}, {ptx::buffer(out)});
}

void require_ok(const std::string& body, unsigned threads = 128) {
  const ptx::Report report = run(text_of(body), threads);
  INFO(body);
  if (report.fault) FAIL(report.fault->message());
}

std::vector<int> range(int first, int last) {
  std::vector<int> out(static_cast<std::size_t>(last - first + 1));
  std::iota(out.begin(), out.end(), first);
  return out;
}

// The fault, whose lines are those of the marks.
Fault fault_of(const std::string& body, unsigned threads = 128) {
  const std::string text = text_of(body);
  const ptx::Report report = run(text, threads);
  INFO(body);
  REQUIRE(report.fault);
  const Fault& fault = *report.fault;
  INFO(fault.message());
  CHECK(fault.kernel == "k");
  CHECK(fault.block.x == 0);
  CHECK(fault.ptx_line == line_of(text, kAt));
  CHECK(fault.other.has_value() == (line_of(text, kOther) != 0));
  if (fault.other) CHECK(fault.other->ptx_line == line_of(text, kOther));
  return fault;
}

struct Mistake {
  const char* name;
  std::string says;  // of the message
  std::string wrong;
  Lines correct;
};

// ---- Registers: one warp is at fault, with the product on the other side

const std::string kIssue = kFill + kFence + kProduct + kOther, kIssued = kFill + kFence + kProduct;
const std::string kAdd = "add.f32 %f9, %f2, %f2;", kScale = "mul.f32 %f2, %f9, %f9;",
                  kZero = "mov.f32 %f2, 0f00000000;";

const std::string kOfHalves =
                      ".reg .b16 %rs<4>; mov.b32 %r20, 0; mov.b32 %r21, 0;" + kFill + kFence +
                      "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r20, %r21}, %rd4, %rd5, %p7, "
                      "1, 1, 0, 0;",
                  kHalves = "mov.b32 {%rs1, %rs2}, %r20;";

const std::vector<Mistake> kRegisters = {
    {"an accumulator is read before it is waited for",
     "%f2 is read, but it is an accumulator of " + kForm +
         ", which is not complete; wgmma.wait_group 0 must come before this statement",
     kIssue + kCommit + kAdd + kAt + kWait,
     {kIssued + kEnd + kAdd}},
    {"an accumulator is stored before it is waited for",
     "%f1 is read, but it is an accumulator",
     kIssue + kCommit + "st.global.f32 [%rd2], %f1;" + kAt + kWait,
     {kIssued + kEnd + "st.global.f32 [%rd2], %f1;"}},
    {"an accumulator is written before it is waited for",
     "%f2 is written, but it is an accumulator",
     "mov.f32 %f9, %f1;" + kIssue + kCommit + kScale + kAt + kWait,
     {"mov.f32 %f9, %f1;" + kIssued + kEnd + kScale}},
    {"an accumulator is set to a constant before it is waited for",
     "%f2 is written, but it is an accumulator",
     kIssue + kCommit + kZero + kAt + kWait,
     {kIssued + kEnd + kZero}},
    {"a copy of an accumulator is read before it is waited for",
     "%f8 is read, but it is an accumulator",
     kIssue + kCommit + "mov.f32 %f8, %f2; add.f32 %f9, %f8, %f8;" + kAt + kWait,
     // As compilers do in loops: the register goes to another value, and that is read.
     {kIssued + kCommit + "mov.f32 %f8, %f2;" + kWait + "add.f32 %f9, %f8, %f8;",
      "mov.f32 %f7, %f1;" + kIssued + kCommit + "mov.f32 %f8, %f2; mov.f32 %f2, %f7;" + kAdd + kWait}},
    {"a half of an accumulator is read before it is waited for",
     "%rs2 is read, but it is an accumulator of wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16",
     kOfHalves + kOther + kCommit + kHalves + "add.f16 %rs3, %rs2, %rs2;" + kAt + kWait,
     // As Triton does: ptxas puts no wait before the mov.
     {kOfHalves + kCommit + kHalves + kWait + "add.f16 %rs3, %rs2, %rs2; mov.b32 %r20, {%rs3, %rs1};",
      kOfHalves + kCommit + kHalves + "mov.b16 %rs3, %rs2;" + kWait + "st.global.b16 [%rd2], %rs3;",
      kOfHalves + kCommit + kHalves + "mov.b32 {%rs1, %rs2}, %r5; add.f16 %rs3, %rs2, %rs2;" + kWait}},
    {"a product without commit_group",
     "wgmma.commit_group and wgmma.wait_group 0 must come before this statement",
     kIssue + kWait + kAdd + kAt,
     {kIssued + kCommit + kWait + kAdd}},
    {"a wait that leaves one group",
     "wgmma.wait_group 0 must come before this statement",
     kIssue + kCommit + kWaitOne + kAdd + kAt,
     {kIssued + kCommit + kCommit + kWaitOne + kAdd}},
    {"a register of A is written before its product is waited for",
     "%r11 is written, but it is part of A of " + kForm,
     kFill + kFence + kWithA + kOther + kCommit + "add.u32 %r11, %r1, 1;" + kAt + kWait,
     {kFill + kFence + kWithA + kEnd + "add.u32 %r11, %r1, 1;"}},
    {"a register of A is read before its product is waited for",
     "%r11 is read, but it is part of A of " + kForm,
     kFill + kFence + kWithA + kOther + kCommit + "add.u32 %r6, %r11, 1;" + kAt + kWait,
     {kFill + kFence + kWithA + kEnd + "add.u32 %r6, %r11, 1;"}},
};

TEST_CASE("registers of a product before it is waited for") {
  for (const Mistake& one : kRegisters) {
    DYNAMIC_SECTION(one.name) {
      for (const std::string& correct : one.correct) require_ok(correct);
      const Fault fault = fault_of(one.wrong);
      CHECK_THAT(fault.message(), Catch::Contains(one.says));
      CHECK(fault.error.code == Errc::protocol_violation);
      CHECK(fault.warp < 4);
      CHECK(fault.warps == 1);
      CHECK(fault.lanes == range(0, 31));
      REQUIRE(fault.other);
      CHECK(fault.other->warp == 0);
      CHECK(fault.other->warps == 4);
      CHECK(fault.other->lanes == range(0, 31));
    }
  }
}

TEST_CASE("only some lanes touch an accumulator") {
  const std::string some = "setp.eq.u32 %p1, %r1, 70; @%p1 ";
  require_ok(kIssued + kCommit + kWait + some + kAdd);
  const Fault fault = fault_of(kIssue + kCommit + some + kAdd + kAt + kWait);
  CHECK(fault.warp == 2);
  CHECK(fault.lanes == range(6, 6));
}

// Products without a dependence are executed as one: each of them is checked.
TEST_CASE("an mma behind another one touches an accumulator") {
  const std::string a = "{%r10, %r11, %r12, %r13}, ",
                    form = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 ";
  const std::string before =
      "mov.b32 %r14, %r5; mov.b32 %r15, %r5; mov.f32 %f5, 0f3F800000; mov.f32 %f6, %f5;"
      "mov.f32 %f7, %f5; mov.f32 %f8, %f5; add.f32 %f10, %f5, %f5; add.f32 %f11, %f5, %f5;"
      "add.f32 %f12, %f5, %f5; add.f32 %f13, %f5, %f5;";
  const std::string one = form + "{%f5, %f6, %f7, %f8}, " + a + "{%r14, %r15}, {%f5, %f6, %f7, %f8};\n";
  const std::string two = form + "{%f1, %f2, %f3, %f4}, " + a + "{%r5, %r5}, {%f10, %f11, %f12, %f13};";
  require_ok(before + kIssued + kCommit + kWait + one + two);
  CHECK_THAT(fault_of(before + kIssue + kCommit + one + two + kAt + kWait).message(),
             Catch::Contains("%f1 is written, but it is an accumulator"));
}

// As compilers do without optimisation. Global memory is no such place.
TEST_CASE("accumulators that live in local memory") {
  const std::string begin =
      ".local .align 8 .b8 frame[8]; mov.u64 %rd6, frame; cvta.local.u64 %rd7, %rd6;"
      " st.local.f32 [%rd6], %f1;" +
      kFill;
  for (const std::string& access : {std::string("local.f32 "), std::string("f32 ")}) {
    const std::string at = access == "f32 " ? "[%rd7]" : "[%rd6]";
    const std::string load = "ld." + access + "%f2, " + at + ";", store = "st." + access + at + ", %f2;";
    require_ok(begin + kFence + load + kProduct + store + load + kProduct + store + kEnd + load + kAdd);
  }
  CHECK_THAT(fault_of(begin + kFence + "ld.global.f32 %f2, [%rd2];" + kOther + kProduct + kAt + kEnd).message(),
             Catch::Contains("%f2 is part of D, and was accessed by a thread"));
  CHECK_THAT(fault_of(begin + kFence + kProduct + kOther + "ld.f32 %f2, [%rd2];" + kAt + kEnd).message(),
             Catch::Contains("%f2 is written, but it is an accumulator"));
}

TEST_CASE("registers of a function that is called") {
  const std::string before =
      ".func work() {\n.reg .f32 %f<10>; .reg .b64 %rd<6>; .reg .pred %p<8>; .reg .b32 %r<2>;\n"
      "mov.b64 %rd4, 0x1000080000; mov.b64 %rd5, 0x1000080080; mov.u32 %r1, 0; setp.eq.u32 %p7, "
      "%r1, 1;\n";
  const auto text = [&](const std::string& body) {
    std::string out = text_of(kFill + "call work, ();");
    return out.insert(out.find(".visible"), before + body + "\nret;\n}\n");
  };
  CHECK_FALSE(run(text(kFence + kProduct + kEnd + kAdd)).fault);
  const ptx::Report report = run(text(kFence + kProduct + kCommit + kAdd + kWait));
  REQUIRE(report.fault);
  CHECK_THAT(report.fault->message(), Catch::Contains("%f2 is read, but it is an accumulator"));
}

// ---- Between a register's access and a product

const std::vector<Mistake> kFences = {
    {"a register that is written behind the fence",
     "%f2 is part of D, and was accessed by a thread after the last wgmma.fence; all four warps must execute "
     "wgmma.fence between that access and this statement",
     "mov.f32 %f9, %f1;" + kFill + kFence + kScale + kOther + kProduct + kAt + kEnd,
     {"mov.f32 %f9, %f1;" + kFill + kScale + kFence + kProduct + kEnd,
      // Compilers place constants and copies where they like, and read.
      kFill + kFence + kZero + kProduct + kEnd,
      "mov.f32 %f9, %f1;" + kFill + kFence + "mov.f32 %f2, %f9;" + kProduct + kEnd,
      kFill + kFence + kAdd + kProduct + kEnd}},
    {"a copy of what is written behind the fence",
     "%f2 is part of D, and was accessed by a thread",
     kFill + kFence + "add.f32 %f9, %f1, %f1;" + kOther + "mov.f32 %f2, %f9;" + kProduct + kAt + kEnd,
     {kFill + "add.f32 %f9, %f1, %f1;" + kFence + "mov.f32 %f2, %f9;" + kProduct + kEnd}},
    {"a register of A that is written behind the fence",
     "%r12 is part of A, and was accessed by a thread",
     kFill + kFence + "add.u32 %r12, %r1, 1;" + kOther + kWithA + kAt + kEnd,
     {kFill + "add.u32 %r12, %r1, 1;" + kFence + kWithA + kEnd}},
    {"a second product behind a change",
     "%f2 is part of D, and was accessed by a thread",
     kIssued + kEnd + "mul.f32 %f2, %f2, %f2;" + kOther + kProduct + kAt + kEnd,
     {kIssued + kEnd + "mul.f32 %f2, %f2, %f2;" + kFence + kProduct + kEnd, kIssued + kProduct + kEnd,
      kIssued + kEnd + kProduct + kEnd}},
};

TEST_CASE("a fence between a register's change and a product") {
  for (const Mistake& one : kFences) {
    DYNAMIC_SECTION(one.name) {
      for (const std::string& correct : one.correct) require_ok(correct);
      const Fault fault = fault_of(one.wrong);
      CHECK_THAT(fault.message(), Catch::Contains(one.says));
      CHECK(fault.error.code == Errc::protocol_violation);
      CHECK((fault.error.where + ";" == kProduct || fault.error.where + ";" == kWithA));
      CHECK(fault.lanes == range(0, 31));
      REQUIRE(fault.other);
      CHECK(fault.other->warp == fault.warp);
      CHECK(fault.other->warps == 1);
    }
  }
}

TEST_CASE("no fence before the first product") {
  const Fault fault = fault_of(kFill + kProduct + kAt + kEnd);
  CHECK(fault.error.message() ==
        kProduct.substr(0, kProduct.size() - 1) +
            ": no wgmma.fence came before this wgmma, the first of these warps; all four warps must execute "
            "wgmma.fence before it, after the last access to the registers of this wgmma");
  CHECK(fault.warps == 4);
}

TEST_CASE("products of two shapes share no accumulators without a fence") {
  const std::string other =
      "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f1, %f2, %f3, %f4}, %rd4, %rd5, %p7, 1, 1;";
  require_ok(kIssued + kEnd + kFence + other + kEnd);
  CHECK_THAT(fault_of(kIssue + other + kAt + kEnd).message(),
             Catch::Contains("%f1 is part of D, but it is in another shape an accumulator"));
  CHECK_THAT(fault_of(kIssue + kEnd + other + kAt + kEnd).message(),
             Catch::Contains("%f1 is part of D, and was accessed as an accumulator of m64n8k16 after"));
}

TEST_CASE("A of a product is no accumulator of a pending one") {
  const std::string next =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r20, %r21, %r22, %r23}, {%r24, %r25, %r26, "
      "%r27}, %rd5, %p7, 1, 1, 0;";
  const std::string first =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r24, %r25, %r26, %r27}, %rd4, %rd5, %p7, "
      "1, 1, 0, 0;";
  std::string zero;
  for (int i = 20; i < 28; ++i) zero += "mov.b32 %r" + std::to_string(i) + ", 0;";
  require_ok(zero + kFill + kFence + first + kEnd + kFence + next + kEnd);
  CHECK_THAT(fault_of(zero + kFill + kFence + first + kOther + next + kAt + kEnd).message(),
             Catch::Contains("%r24 is part of A, but it is an accumulator"));
}

// ---- Shared memory

TEST_CASE("a tile stays until its product is complete") {
  const std::string some = "setp.eq.u32 %p1, %r1, 33; @%p1 ", store = some + "st.shared.b32 [%r2], 0;";
  require_ok(kIssued + kEnd + kBarrier + store);
  const Fault early = fault_of(kIssue + kCommit + kBarrier + store + kAt + kWait);
  CHECK(early.error.code == Errc::protocol_violation);
  CHECK_THAT(early.message(),
             Catch::Contains(
                 kForm + " reads shared memory 0x84 to 0x87 and is not complete; all four warps must execute "
                         "wgmma.wait_group 0, and then a barrier, before this statement"));
  CHECK(early.warp == 1);
  CHECK(early.lanes == range(1, 1));
  REQUIRE(early.other);
  CHECK(early.other->warps == 4);
  REQUIRE(early.address);
  CHECK(early.address->byte == 0x84);
  // A warp's wait says nothing of the others.
  const std::string text = text_of(kIssue + kEnd + store + kAt);
  const ptx::Report others = run(text, 128);
  CHECK_FALSE(others.fault);
  REQUIRE(others.findings.size() == 1);
  CHECK(others.findings.front().fault.rule == KernelRule::product_of_other_warps);
  CHECK(others.findings.front().fault.ptx_line == line_of(text, kAt));
  REQUIRE(others.findings.front().fault.other);
  CHECK(others.findings.front().fault.other->ptx_line == line_of(text, kOther));
  CHECK(others.findings.front().fault.error.code == Errc::data_race);
  // So do copies.
  const std::string copy = some + "cp.async.ca.shared.global [%r2], [%rd2], 4;";
  require_ok(kIssued + kEnd + kBarrier + copy);
  CHECK_THAT(fault_of(kIssue + kCommit + kBarrier + copy + kAt + kWait).message(),
             Catch::Contains(" and is not complete"));
}

// The barrier is behind the product, but not behind its end.
TEST_CASE("a product reads until it has been waited for") {
  const auto body = [](const std::string& product, const std::string& between, const std::string& store) {
    return "setp.lt.u32 %p1, %r1, 128; setp.ge.u32 %p2, %r1, 128; @%p2 bra B0;\n" + kStores + kProxy +
           "\nB0: bar.sync 0; @%p2 bra B1;\n" + kFence + product + kCommit +
           "\nB1: bar.sync 0; @%p2 bra B2;\n" + kWait + "\nB2: " + between +
           "@%p1 bra B3; st.shared.b32 [%r2+-512], 0;" + store + "\nB3: ";
  };
  require_ok(body(kProduct, kBarrier, ""), 256);
  const Fault race = fault_of(body(kProduct + kOther, "", kAt), 256);
  CHECK(race.error.code == Errc::data_race);
  CHECK(race.warp == 4);
}

TEST_CASE("a proxy fence between a tile's stores and its product") {
  const std::string product = kFence + kProduct + kAt + kEnd;
  require_ok(kStores + kBarrier + kProxy + kFence + kProduct + kEnd);  // by those who read, too
  require_ok(kStores + "fence.proxy.async.shared::cta;" + kBarrier + kFence + kProduct + kEnd);
  for (const std::string& fence : {std::string(), std::string("fence.proxy.async.global;")}) {
    const Fault fault = fault_of(kStores + kOther + fence + kBarrier + product);
    CHECK(fault.error.code == Errc::protocol_violation);
    CHECK_THAT(
        fault.message(),
        Catch::Contains(
            "which was written through the generic proxy, and no fence.proxy.async came "
            "between that write and this statement; the thread of that write must execute fence.proxy.async after it"));
    CHECK(fault.warps == 4);
    REQUIRE(fault.other);
    CHECK(fault.other->warps == 1);
  }
  // A store behind the fence.
  const std::string some = "setp.eq.u32 %p1, %r1, 5; @%p1 ";
  const Fault late =
      fault_of(kStores + kProxy + some + "st.shared.b32 [%r2], 0;" + kOther + kBarrier + product);
  CHECK_THAT(late.message(), Catch::Contains("it reads shared memory 0x14 to 0x17"));
  REQUIRE(late.other);
  CHECK(late.other->lanes == range(5, 5));
}

// As compilers do, although the manual counts it as generic. What was stored beside it does need one.
TEST_CASE("what cp.async has written needs no proxy fence") {
  const auto body = [](const std::string& before, const std::string& after) {
    std::string out = before;
    for (const int at : {0, 512, 1024, 1536})
      out += "cp.async.ca.shared.global [%r2+" + std::to_string(at) + "], [%rd2], 4;";
    return out + "cp.async.commit_group; cp.async.wait_group 0;" + after + kFence + kProduct;
  };
  const std::string stores = "st.shared.b32 [%r2+2048], %r5;";
  require_ok(body(stores + kProxy, kBarrier) + kEnd);
  CHECK_THAT(fault_of(body(stores + kOther, kBarrier) + kAt + kEnd).message(),
             Catch::Contains("it reads shared memory 0x800 to 0x"));
}

TEST_CASE("a product does not read what is still copied") {
  const std::string copy = "setp.eq.u32 %p1, %r1, 64; @%p1 cp.async.ca.shared.global [%r2], [%rd2], 4;";
  require_ok(kStores + kProxy + copy + "cp.async.wait_all;" + kBarrier + kFence + kProduct + kEnd);
  const Fault fault = fault_of(kStores + kProxy + copy + kOther + kBarrier + kFence + kProduct + kAt + kEnd);
  CHECK(fault.error.code == Errc::copy_pending);
  REQUIRE(fault.other);
  CHECK(fault.other->warp == 2);
}

TEST_CASE("lanes with other descriptors") {
  const std::string some = "setp.eq.u32 %p1, %r1, 72; @%p1 ";
  require_ok(some + "mov.b64 %rd5, 0x1000080080;" + kIssued + kEnd);
  const Fault fault = fault_of(some + "mov.b64 %rd5, %rd4;" + kFill + kFence + kProduct + kAt + kEnd);
  CHECK(fault.error.code == Errc::lanes_disagree);
  CHECK(fault.warps == 4);
}

// ---- Warps that do not meet

TEST_CASE("four warps execute a product, its fence and its wait") {
  const std::string third = "setp.ge.u32 %p1, %r1, 64; setp.lt.u32 %p2, %r1, 96; and.pred %p1, %p1, %p2; @%p1 ";
  const auto missing = [](const std::string& body, const std::string& words, Errc code,
                          unsigned threads = 128) {
    const Fault fault = fault_of(body, threads);
    CHECK(fault.error.code == code);
    CHECK_THAT(fault.error.message(),
               Catch::Contains(words + "; all four warps of the warpgroup must execute it, at one place"));
    return fault;
  };
  require_ok(kFill + kFence + kProduct + kEnd + third + "ret;");
  const Fault ended = missing(kFill + third + "ret;" + kFence + kAt,
                              "executed by warps 0-1, 3, but warp 2 has ended", Errc::lanes_missing);
  CHECK(ended.lanes == range(0, 31));
  missing(kFill + kFence + third + "ret;" + kProduct + kAt, "executed by warps 0-1, 3, but warp 2 has ended",
          Errc::lanes_missing);
  missing(kFill + kFence + kProduct + kCommit + third + "ret;" + kWait + kAt,
          "executed by warps 0-1, 3, but warp 2 has ended", Errc::lanes_missing);
  const Fault barrier = missing(kFill + third + "bra LATE;\n" + kFence + kAt + "LATE: bar.sync 0;" + kOther,
                                "executed by warps 0-1, 3, but bar.sync by warp 2", Errc::threads_diverge);
  REQUIRE(barrier.other);
  CHECK(barrier.other->warp == 2);
  missing(kFill + kFence + third + "bra OTHER;\n" + kProduct + kAt + "bra END;\nOTHER: " + kWithA + kOther +
              "END: ",
          "executed by warps 0-1, 3, but " + kForm + " by warp 2", Errc::lanes_disagree);
  missing(kFence + kAt, "executed by warps 0-2, but there is no warp 3", Errc::lanes_missing, 96);
  // Half of a warp.
  CHECK(fault_of(kFill + "setp.lt.u32 %p1, %r1, 16; @%p1 bra LATE;\n" + kFence + kAt + "LATE: bar.sync 0;" +
                 kOther)
            .error.code == Errc::lanes_missing);
}

TEST_CASE("nothing of this is checked where accesses are not") {
  for (const std::string& body :
       {kStores + kBarrier + kProduct + kAdd, kFill + kProduct + kCommit + kAdd + kZero}) {
    const Result<ptx::Module> module = ptx::Module::load(text_of(body));
    REQUIRE(module);
    const Result<ptx::Function> function = module->function("k");
    REQUIRE(function);
    std::vector<float> out(1024);
    CHECK_FALSE(function->launch({.block = {128}, .check_shared = false}, {ptx::buffer(out)}).fault);
  }
}

}  // namespace ptx_wgmma_faults_test
