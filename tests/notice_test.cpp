// SPDX-License-Identifier: Apache-2.0
// warpbit notice: each kind of mistakes changes statements as it says, and each outcome of a test is told as it is.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "archive.hpp"
#include "edit/code.hpp"
#include "notice/mistakes.hpp"
#include "tool.hpp"
#include "warpbit/notice.hpp"

namespace notice_test {

using namespace warpbit;
using archive::Directory;
using Catch::Contains;

// A kernel with a body.
std::string module_of(const std::string& body) {
  return ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n)\n{\n"
         "  .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .f32 %f<20>; .reg .b64 %rd<20>; .reg .pred %p<9>;\n"
         "  .shared .align 16 .b8 s[2048];\n" +
         body + "}\n";
}

// ---- What becomes of a statement

struct Changed {
  std::string kind, before, after;  ///< `after`: of one of the changes; "": nothing is there
};
const Changed kChanged[] = {
    {"barrier", "bar.sync 0;", ""},
    {"barrier", "barrier.cluster.arrive;", ""},
    {"barrier", "bar.warp.sync -1;", ""},
    {"fence", "fence.proxy.async;", ""},
    {"fence", "membar.gl;", ""},
    {"fence", "wgmma.fence.sync.aligned;", ""},
    {"wait", "cp.async.wait_group 1;", ""},
    {"wait", "cp.async.wait_group 1;", "cp.async.wait_group 2;"},
    {"wait", "wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;"},
    {"wait", "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;", "setp.eq.u32 %p1, 0, 0;"},
    {"parity", "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;",
     "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 1;"},
    {"parity", "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;",
     "{ .reg .b32 _parity; xor.b32 _parity, %r2, 1; mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], _parity; }"},
    {"arrival", "mbarrier.arrive.shared::cta.b64 _, [%r1];", ""},
    {"arrival", "cp.async.commit_group;", ""},
    {"arrival", "wgmma.commit_group.sync.aligned;", ""},
    {"copy", "cp.async.cg.shared.global [%r1], [%rd1], 16;", ""},
    {"store", "st.global.u32 [%rd1], %r1;", ""},
    {"store", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};", ""},
    {"fragment", "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r3];",
     "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r2, %r1}, [%r3];"},
    {"fragment",
     "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3}, {%f1, %f2, %f3, %f4};",
     "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r2, %r1}, {%r3}, {%f1, %f2, %f3, %f4};"},
    {"transposed", "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r3];",
     "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r1, %r2}, [%r3];"},
    {"transposed", "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r1, %r2}, [%r3];",
     "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r3];"},
    {"transposed",
     "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd1], {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, 16;",
     "wmma.store.d.sync.aligned.col.m16n16k16.global.f32 [%rd1], {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, 16;"},
    {"transposed",
     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd2, 1, 1, 1, 0, 0;",
     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd2, 1, 1, 1, 0, 1;"},
    {"product_sign",
     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd2, %p1, 1, 1, 0, 0;",
     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd2, %p1, -1, 1, 0, 0;"},
    {"product",
     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd2, %p1, 1, 1, 0, 0;",
     ""},
    {"product",
     "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f5, %f6, %f3, %f4}, {%r1, %r2}, {%r3}, {%f1, %f2, %f3, %f4};",
     "mov.b32 %f5, %f1; mov.b32 %f6, %f2; "},
    {"selector",
     "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3, %r4}, {%f1, %f2, "
     "%f3, %f4}, %r5, 0x0;",
     "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3, %r4}, {%f1, %f2, "
     "%f3, %f4}, %r5, 1;"},
    {"accumulation",
     "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3}, {%f1, %f2, %f3, %f4};",
     "{ .reg .f32 _product<4>, _zero; mov.f32 _zero, 0f00000000; mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
     "{_product0, _product1, _product2, _product3}, {%r1, %r2}, {%r3}, {_zero, _zero, _zero, _zero}; add.f32 %f1, "
     "_product0, %f1; add.f32 %f2, _product1, %f2; add.f32 %f3, _product2, %f3; add.f32 %f4, _product3, %f4; }"},
    {"swizzle", "xor.b32 %r1, %r2, %r3;", "mov.b32 %r1, %r2;"},
    {"bound", "setp.lt.s32 %p1, %r1, %r2;", "setp.le.s32 %p1, %r1, %r2;"},
    {"comparison", "setp.lt.s32 %p1, %r1, %r2;", "setp.ge.s32 %p1, %r1, %r2;"},
    {"comparison", "setp.eq.f32 %p1, %f1, %f2;", "setp.ne.f32 %p1, %f1, %f2;"},
    {"guard", "@%p1 st.global.u32 [%rd1], %r1;", "st.global.u32 [%rd1], %r1;"},
    {"stride", "mul.wide.s32 %rd1, %r1, 4;", "mul.wide.s32 %rd1, %r1, 5;"},
    {"stride", "mad.lo.s32 %r1, %r2, %r3, %r4;",
     "{ .reg .s32 _other; add.s32 _other, %r3, 1; mad.lo.s32 %r1, %r2, _other, %r4; }"},
    {"stride", "shl.b32 %r1, %r2, 4;", "shl.b32 %r1, %r2, 5;"},
    {"offset", "ld.global.v2.u32 {%r1, %r2}, [%rd1+8];", "ld.global.v2.u32 {%r1, %r2}, [%rd1+16];"},
    {"parameter", "ld.param.u32 %r1, [n];", "ld.param.u32 %r1, [n]; add.u32 %r1, %r1, 1;"},
    {"literal", "add.s32 %r1, %r2, 5;", "add.s32 %r1, %r2, 6;"},
    {"literal", "mul.f32 %f1, %f2, 0f3F000000;", "mul.f32 %f1, %f2, 0f3F800000;"},
    {"exchanged", "sub.s32 %r1, %r2, %r3;", "sub.s32 %r1, %r3, %r2;"},
    {"term", "fma.rn.f32 %f1, %f2, %f3, %f4;", "mul.rn.f32 %f1, %f2, %f3;"},
    {"term", "max.f32 %f1, %f2, %f3;", "mov.b32 %f1, %f2;"},
    {"rounding", "cvt.rn.f16.f32 %h1, %f1;", "cvt.rz.f16.f32 %h1, %f1;"},
    {"rounding", "add.f32 %f1, %f2, %f3;", "add.rz.f32 %f1, %f2, %f3;"},
    {"fusion", "fma.rn.f32 %f1, %f2, %f3, %f4;",
     "{ .reg .f32 _product; mul.rn.f32 _product, %f2, %f3; add.rn.f32 %f1, _product, %f4; }"},
    {"sign", "shr.s32 %r1, %r2, 1;", "shr.u32 %r1, %r2, 1;"},
    {"sign", "ld.global.s8 %r1, [%rd1];", "ld.global.u8 %r1, [%rd1];"},
    {"last_step", "L: add.s32 %r1, %r1, 16; setp.lt.s32 %p1, %r1, %r2; @%p1 bra L;",
     "{ .reg .u32 _other; add.u32 _other, %r1, 16; setp.lt.s32 %p1, _other, %r2; }"},
};

TEST_CASE("each kind of mistakes changes statements as it says") {
  std::set<std::string> seen;
  for (const Changed& one : kChanged) {
    CAPTURE(one.kind, one.before, one.after);
    const std::string text = module_of("  " + one.before + "\n  ret;\n");
    const auto code = edit::Code::read(text);
    REQUIRE(code);
    const std::size_t at = text.find(one.before);
    std::vector<std::string> all;
    for (const edit::Site& site : code->sites())
      for (const noticing::KindRow& row : noticing::kind_rows()) {
        std::vector<noticing::Change> changes;
        if (row.name == one.kind) row.add(*code, site, changes);
        for (const noticing::Change& change : changes) {
          std::string changed = code->changed({change.edit});
          // What stands where the statement stood.
          all.push_back(changed.substr(at, changed.find("\n  ret;") - at));
          CHECK_FALSE(change.sentence.empty());
        }
      }
    const auto is_it = [&](const std::string& got) {
      return got == one.after || (one.kind == "last_step" && got.find(one.after) != got.npos);
    };
    CAPTURE(all);
    CHECK(std::any_of(all.begin(), all.end(), is_it));
    seen.insert(one.kind);
  }
  for (const noticing::KindRow& row : noticing::kind_rows())
    CHECK((seen.contains(std::string(row.name)) || row.name.empty()));
}

// ---- What a test notices

// A test: the tool launches a kernel on 32 words, `in` has as many, and what it leaves is compared with `expected`, or not.
struct Suite {
  Directory folder;
  std::string cli = tool::named("WARPBIT_CLI");

  Suite(const std::string& body, const std::vector<std::uint32_t>& in) {
    std::ofstream(folder.path / "k.ptx") << module_of(body);
    std::ofstream(folder.path / "in.npy", std::ios::binary)
        << archive::npy(archive::dictionary("'<u4'", "(32,)"), bytes(in));
  }

  static std::string bytes(const std::vector<std::uint32_t>& words) {
    return {reinterpret_cast<const char*>(words.data()), words.size() * 4};
  }
  std::string file(const char* name) const { return (folder.path / name).string(); }
  std::string launch(int n) const {
    // Each mistake has a file of its own, since tests run side by side.
    return fmt::format(
        "out=$(mktemp -p {}) && {} launch {} --block 32 --arg zeros:u32:32:$out.npy --arg {} --arg u32:{}",
        folder.path.string(), cli, file("k.ptx"), file("in.npy"), n);
  }
  std::vector<std::string> command(int n, const std::string& then) const {
    return {"sh", "-c", launch(n) + " && " + then};
  }
  std::string is_equal(const std::vector<std::uint32_t>& expected) const {
    std::ofstream(folder.path / "expected", std::ios::binary) << bytes(expected);
    return "tail -c 128 $out.npy | cmp -s - " + file("expected");
  }
};

std::vector<std::uint32_t> words(std::uint32_t (*of)(std::uint32_t)) {
  std::vector<std::uint32_t> out(32);
  for (std::uint32_t i = 0; i < 32; ++i) out[i] = of(i);
  return out;
}

// Thread i of those below n stores in[i] + 5 to out[i].
const char* const kAdd = R"(
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 bra DONE;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.u32 %r3, [%rd5];
  add.s32 %r4, %r3, 5;
  st.global.u32 [%rd4], %r4;
DONE:
  ret;
)";

// The only mistake of a kind in a kernel, or the one at a statement.
TriedMistake only(const std::vector<std::string>& command, const std::string& kind,
                  const std::string& at = "") {
  NoticeOptions options;
  options.kinds = {kind};
  options.most = 0;
  const Result<NoticeReport> report = notice(command, options);
  REQUIRE(report);
  CAPTURE(report->output);
  REQUIRE(report->state == NoticeReport::State::tried);
  std::vector<TriedMistake> found;
  for (const TriedMistake& one : report->tried)
    if (one.before.find(at) != one.before.npos) found.push_back(one);
  REQUIRE(found.size() == 1);
  return found.front();
}

TEST_CASE("what a test notices, and why it does not", "[once]") {
  const Suite suite(kAdd, words([](std::uint32_t i) { return 100 * i; }));
  const auto expected = words([](std::uint32_t i) { return 100 * i + 5; });
  const auto strong = suite.command(32, suite.is_equal(expected)), weak = suite.command(32, "true");

  CHECK(only(strong, "literal", "add.s32").outcome == Noticed::by_test);
  const TriedMistake passed = only(weak, "literal", "add.s32");
  CHECK(passed.outcome == Noticed::bytes);
  CHECK((passed.before == "add.s32 %r4, %r3, 5" && passed.after == "add.s32 %r4, %r3, 6" && passed.line == 19));
  CHECK((passed.kernel == "k" && passed.sentence == "6 in place of 5"));
  // An access behind the array is a fault, whatever is asserted; unless nobody looks.
  const TriedMistake fault = only(weak, "offset", "ld.global");
  CHECK(fault.outcome == Noticed::by_fault);
  CHECK_THAT(fault.fault, Contains("out of bounds"));
  CHECK(only({"sh", "-c", suite.launch(32) + " || true"}, "offset", "ld.global").outcome == Noticed::fault);
  // All threads are below n, so the bound does not matter; with one element less it does.
  CHECK(only(strong, "bound").outcome == Noticed::sizes);
  const auto some = words([](std::uint32_t i) { return i < 20 ? 100 * i + 5 : 0; });
  CHECK(only(suite.command(20, suite.is_equal(some)), "bound").outcome == Noticed::by_test);
  // No thread goes there.
  CHECK(only(suite.command(0, "true"), "literal", "add.s32").outcome == Noticed::not_executed);
}

TEST_CASE("a grid that hides a mistake is told from a mistake that is none", "[once]") {
  // The bound is a literal, and all 32 threads of the only block are below it.
  std::string body = kAdd;
  const auto replace = [&](std::string_view what, std::string_view by) {
    body.replace(body.find(what), what.size(), by);
  };
  replace("mov.u32 %r2, %tid.x;", "mov.u32 %r2, %tid.x; mov.u32 %r5, %ctaid.x; mad.lo.u32 %r2, %r5, 32, %r2;");
  replace("setp.ge.u32 %p1, %r2, %r1;", "setp.ge.u32 %p1, %r2, 32;");
  const Suite suite(body, words([](std::uint32_t i) { return 100 * i; }));
  const auto strong = suite.command(32, suite.is_equal(words([](std::uint32_t i) { return 100 * i + 5; })));
  CHECK(only(strong, "bound").outcome == Noticed::sizes);
}

TEST_CASE("inputs that hide a mistake are told from a mistake that is none", "[once]") {
  // Products by 0.5 and sums: of zeros nothing is seen.
  std::string body = kAdd;
  body.replace(body.find("add.s32 %r4, %r3, 5"), 19,
               "mov.b32 %f1, %r3; mul.f32 %f2, %f1, 0f3F000000; mov.b32 %r4, %f2");
  const Suite zeros(body, words([](std::uint32_t) { return 0U; }));
  const auto nothing = words([](std::uint32_t) { return 0U; });
  const TriedMistake hidden = only(zeros.command(32, zeros.is_equal(nothing)), "literal", "mul.f32");
  CHECK(hidden.outcome == Noticed::values);
  // The thread's number has no sign.
  body = kAdd;
  body.replace(body.find("mul.wide.u32 %rd3, %r2, 4"), 25, "shr.u32 %r5, %r2, 0; mul.wide.u32 %rd3, %r5, 4");
  const Suite equal(body, words([](std::uint32_t i) { return i; }));
  const TriedMistake same =
      only(equal.command(32, equal.is_equal(words([](std::uint32_t i) { return i + 5; }))), "sign", "shr.u32");
  CHECK((same.outcome == Noticed::same && same.inputs > 0));
  CHECK((!row(same.outcome).is_survivor && !row(same.outcome).is_noticed));
}

TEST_CASE("a mistake that changes no other statement has no effect, one that changes some may have", "[once]") {
  const auto outcome = [](const std::string& statements) {
    std::string body = kAdd;
    body.replace(body.find("add.s32 %r4, %r3, 5;"), 20, statements);
    const Suite suite(body, words([](std::uint32_t i) { return i; }));
    return only(suite.command(32, suite.is_equal(words([](std::uint32_t i) { return i + 5; }))), "sign",
                "shr.u32")
        .outcome;
  };
  // No number here is as large as one with a sign bit.
  CHECK(outcome("\n  shr.u32 %r5, %r3, 0;\n  add.s32 %r4, %r5, 5;\n") == Noticed::no_effect);
  // All ones or a one, of which one bit is used.
  CHECK(
      outcome("\n  not.b32 %r5, %r3;\n  shr.u32 %r6, %r5, 31;\n  and.b32 %r6, %r6, 1;\n  add.s32 %r4, %r3, 4;\n"
              "  add.s32 %r4, %r4, %r6;\n") == Noticed::same);
  // Where one line has both nothing is said.
  CHECK(outcome("shr.u32 %r5, %r3, 0; add.s32 %r4, %r5, 5;") == Noticed::same);
}

TEST_CASE("a finding is told, since hardware may leave the right bytes", "[once]") {
  std::string body = kAdd;
  const std::string add = "add.s32 %r4, %r3, 5;";
  body.replace(
      body.find(add), add.size(),
      "mov.u32 %r7, s; mad.lo.u32 %r8, %r2, 4, %r7; sub.u32 %r9, 31, %r2; mad.lo.u32 %r10, %r9, 4, %r7;\n"
      "  st.shared.u32 [%r8], %r3;\n  bar.warp.sync -1;\n  ld.shared.u32 %r4, [%r10];");
  const Suite suite(body, words([](std::uint32_t i) { return i; }));
  const auto turned = words([](std::uint32_t i) { return 31 - i; });
  const TriedMistake found = only(suite.command(32, suite.is_equal(turned)), "barrier");
  CHECK(found.outcome == Noticed::finding);
  CHECK(row(found.outcome).is_survivor);
  CHECK_THAT(found.fault, Contains("__syncwarp"));
  NoticeOptions options;
  options.kernels = {"other"};
  const Result<NoticeReport> refused = notice(suite.command(32, "true"), options);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message(), Contains("other") && Contains("some that the test launches: k"));
}

TEST_CASE("steps of a loop that do the same are told apart", "[once]") {
  std::string body = kAdd;
  body.replace(
      body.find("add.s32 %r4, %r3, 5"), 19,
      "mov.u32 %r6, 0; L: add.s32 %r6, %r6, 1; setp.ne.s32 %p2, %r6, 4; @%p2 bra L; add.s32 %r4, %r3, 5");
  const Suite suite(body, words([](std::uint32_t i) { return i; }));
  NoticeOptions options;
  options.kinds = {"literal"};
  options.most = 0;
  const Result<NoticeReport> report =
      notice(suite.command(32, suite.is_equal(words([](std::uint32_t i) { return i + 5; }))), options);
  REQUIRE(report);
  for (const TriedMistake& one : report->tried)
    if (one.after == "add.s32 %r6, %r6, 2")
      CHECK((one.outcome == Noticed::same || one.outcome == Noticed::by_test));
    else if (one.before == "setp.ne.s32 %p2, %r6, 4")
      CHECK(one.outcome == Noticed::same);
  CHECK(report->tried.size() >= 3);
}

TEST_CASE("a test that does not run, that fails or that launches nothing is told apart") {
  using State = NoticeReport::State;
  const std::vector<std::string> none = {"warpbit-no-such-command"},
                                 fails = {"sh", "-c", "echo reason; exit 3"}, nothing = {"true"};
  const Result<NoticeReport> not_run = notice(none), failing = notice(fails), empty = notice(nothing);
  REQUIRE((not_run && failing && empty));
  CHECK(not_run->state == State::not_run);
  CHECK((failing->state == State::fails && failing->status == 3 && failing->output == "reason\n"));
  CHECK(empty->state == State::no_kernel);

  CHECK(tool::run({"notice", "--", "warpbit-no-such-command"}).status == 2);
  const tool::Output said = tool::run({"notice", "--", "sh", "-c", "echo reason; exit 3"});
  CHECK(said.status == 2);
  CHECK_THAT(said.out, Contains("the test fails as it is, with exit status 3") && Contains("reason"));
  CHECK(tool::run({"notice", "--", "true"}).status == 3);
  const auto answer = nlohmann::json::parse(tool::run({"notice", "--json", "--", "true"}).out);
  CHECK((answer["schema"] == "notice/1" && answer["state"] == "no_kernel"));
}

TEST_CASE("what cannot be asked of notice is refused") {
  const std::vector<std::string> nothing = {"true"};
  NoticeOptions options;
  options.kinds = {"barriers"};
  const Result<NoticeReport> kind = notice(nothing, options);
  REQUIRE_FALSE(kind);
  CHECK_THAT(kind.error().message(), Contains("'barriers'") && Contains("barrier, fence, wait"));
  CHECK_FALSE(notice(std::span<const std::string>()));
  options = {};
  options.shard = {3, 2};
  CHECK_FALSE(notice(nothing, options));
  CHECK(tool::run({"notice"}).status == 2);
}

TEST_CASE("mistakes of one line are tried alone, and their modules are kept") {
  const Suite suite(kAdd, words([](std::uint32_t i) { return i; }));
  const Directory directory;
  const auto at = [&](const std::string& line) {
    NoticeOptions options;
    options.most = 0;
    options.at = {line};
    options.save = directory.path / ("line " + line);
    return notice(suite.command(32, "true"), options);
  };
  const std::string text = archive::bytes_of(suite.folder.path / "k.ptx");
  const std::size_t store = text.find("st.global");
  const auto line =
      static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(store), '\n')) + 1;
  const Result<NoticeReport> report = at(std::to_string(line));
  REQUIRE(report);
  REQUIRE_FALSE(report->tried.empty());
  for (const TriedMistake& one : report->tried) {
    CHECK(one.line == line);
    const std::string saved = archive::bytes_of(one.saved);
    CHECK(saved != text);
    if (one.kind == "store") CHECK(saved.find("st.global") == saved.npos);
  }
  CHECK_FALSE(at(std::to_string(line)));  // the folder is there
  const Result<NoticeReport> none = at("1");
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().message(), Contains("1; expected LINE of the PTX, or FILE:LINE"));
}

// `timeout` sends a signal to the process and to its group: it arrives twice.
TEST_CASE("Ctrl-C leaves an answer and no files") {
  const Suite suite(kAdd, words([](std::uint32_t i) { return i; }));
  const Directory own, counted;
  const std::string runs = tool::shell_word((counted.path / "runs").string());
  const std::string test = tool::shell_words(suite.command(32, "echo >> " + runs + "; sleep 0.3"));
  const auto stopped_after = [&](int count) {
    return tool::shell(fmt::format(
        "rm -f {0}; touch {0}; export TMPDIR={1}; {2} notice --jobs 1 -- {3} & "
        "while test $(wc -l < {0}) -lt {4}; do sleep 0.02; done; "
        "kill -INT $!; kill -INT $!; wait $!",
        runs, tool::shell_word(own.path.string()), tool::shell_word(tool::named("WARPBIT_CLI")), test, count));
  };
  CHECK_THAT(stopped_after(3).out, Contains("Ctrl-C was pressed") && Contains("score: "));
  CHECK(std::filesystem::is_empty(own.path));
  CHECK_THAT(stopped_after(1).err, Contains("Ctrl-C"));
  CHECK(std::filesystem::is_empty(own.path));
}

TEST_CASE("shares of the mistakes are all of them, and a seed chooses", "[once]") {
  const Suite suite(kAdd, words([](std::uint32_t i) { return i; }));
  const auto asked = [&](std::size_t most, std::uint64_t seed, Shard shard) {
    NoticeOptions options;
    options.most = most;
    options.seed = seed;
    options.shard = shard;
    const Result<NoticeReport> report = notice(suite.command(32, "true"), options);
    REQUIRE(report);
    std::vector<std::string> out;
    for (const TriedMistake& one : report->tried)
      out.push_back(one.kind + fmt::format("{}", one.line) + one.after);
    return out;
  };
  const auto all = asked(0, 0, {}), some = asked(5, 1, {});
  CHECK((some.size() == 5 && all.size() == 8));
  CHECK(some == asked(5, 1, {}));
  std::vector<std::string> joined = asked(0, 0, {1, 2});
  const auto rest = asked(0, 0, {2, 2});
  joined.insert(joined.end(), rest.begin(), rest.end());
  CHECK(joined == all);
}

}  // namespace notice_test
