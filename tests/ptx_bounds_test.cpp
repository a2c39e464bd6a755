// SPDX-License-Identifier: Apache-2.0
// An access lies in the variable whose address it computes with: what is told, and what compilers do that is right. Loops that
// never end are told, and those that wait for others are not.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "in_turn.hpp"
#include "warpbit/ptx.hpp"

namespace ptx_bounds_test {

using namespace warpbit;
using Catch::Contains;

// Variables of 64 bytes, one after the other; %rd1 points to the array of 64 words, %r1 is %tid.x.
std::string kernel(const std::string& body) {
  return R"(.version 9.2
.target sm_90a
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.global .align 4 .b8 ga[64];
.global .align 4 .b8 gb[64];
.func (.param .b32 r) next(.param .b32 a, .param .b32 b)
{ .reg .b32 %r<2>; ld.param.b32 %r1, [a]; add.u32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }
.visible .entry k(.param .u64 out, .param .u32 n, .param .u32 m)
{
  .shared .align 4 .b8 _ZZ1kPjE2As[64], _ZZ1kPjE2Bs[64];
  .local .align 4 .b8 la[64], lb[64];
  .reg .pred %p<4>;
  .reg .b16 %h<4>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<16>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
)" + body +
         "\n  ret;\n}\n";
}

ptx::Report launch(const std::string& body, ptx::Launch how = {}) {
  const Result<ptx::Module> module = ptx::Module::load(kernel(body));
  if (!module) FAIL(module.error().message());
  const Result<ptx::Function> function = module->function("k");
  if (!function) FAIL(function.error().message());
  std::vector<std::uint32_t> out(64);
  how.shared_bytes = 64;
  return function->launch(how, {ptx::buffer(out), ptx::value(std::uint32_t{16}), ptx::value(std::uint32_t{4})});
}

// What is told; "-" if nothing is.
std::string told(const std::string& body) {
  const ptx::Report report = launch(body);
  if (!report.fault) return report.findings.empty() ? "-" : report.findings[0].fault.message();
  return report.fault->message();
}

struct Case {
  const char *name, *body, *said;
};

const Case kBeyond[] = {
    {"a sum", "mov.u32 %r3, _ZZ1kPjE2As; add.u32 %r3, %r3, %r1; add.u32 %r3, %r3, 64; st.shared.u32 [%r3], 9;",
     "bytes 64 to 67 of 'As' (64 bytes of .shared) are out of bounds; an address that is computed from 'As' must stay in it"},
    {"an index that is loaded",
     "ld.param.u32 %r2, [n]; shl.b32 %r2, %r2, 2; mov.u32 %r3, _ZZ1kPjE2As; add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], 9;",
     "bytes 64 to 67 of 'As'"},
    {"below the first byte", "mov.u32 %r3, _ZZ1kPjE2Bs; sub.u32 %r3, %r3, 4; st.shared.u32 [%r3], 9;",
     "bytes -4 to -1 of 'Bs'"},
    {"across the end", "st.shared.v2.u32 [_ZZ1kPjE2As + 64], {%r1, %r1};", "bytes 64 to 71 of 'As'"},
    {"a generic address", "mov.u64 %rd3, _ZZ1kPjE2As; cvta.shared.u64 %rd3, %rd3; st.u32 [%rd3 + 64], 9;",
     "bytes 64 to 67 of 'As'"},
    {"a register that is used again",
     "mov.u32 %r3, _ZZ1kPjE2As; st.shared.u32 [%r3], 1; mov.u32 %r3, _ZZ1kPjE2Bs; st.shared.u32 [%r3 + -64], 1;",
     "bytes -64 to -61 of 'Bs'"},
    {"one of two addresses of a variable",
     "setp.eq.u32 %p1, %r1, 0; mov.u32 %r3, _ZZ1kPjE2As; add.u32 %r4, %r3, 64; selp.b32 %r5, %r4, %r3, %p1; st.shared.u32 [%r5], 1;",
     "bytes 64 to 67 of 'As'"},
    {"a loop",
     "mov.u32 %r3, _ZZ1kPjE2As; mov.u32 %r2, 0; L: st.shared.u32 [%r3], 1; add.u32 %r3, %r3, 4; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 17; @%p1 bra L;",
     "bytes 64 to 67 of 'As'"},
    {"an atomic", "mov.u32 %r3, _ZZ1kPjE2As; red.shared.add.u32 [%r3 + 64], 1;", "bytes 64 to 67 of 'As'"},
    {"a copy", "cp.async.ca.shared.global [_ZZ1kPjE2As + 64], [%rd1], 4;", "bytes 64 to 67 of 'As'"},
    {"rows",
     "st.shared.u32 [_ZZ1kPjE2Bs], 1; mov.u32 %r3, _ZZ1kPjE2As; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r3 + 64];",
     "bytes 64 to 79 of 'As'"},
    {"a barrier object", "mov.u32 %r3, _ZZ1kPjE2As; mbarrier.init.shared.b64 [%r3 + 64], 1;",
     "bytes 64 to 71 of 'As'"},
    {"a copy in bulk",
     "mov.u32 %r3, _ZZ1kPjE2As; mov.u32 %r4, dynamic; mbarrier.init.shared.b64 [%r4], 1; cp.async.bulk.shared::cluster.global."
     "mbarrier::complete_tx::bytes [%r3], [%rd1], 80, [%r4];",
     "bytes 0 to 79 of 'As'"},
    {"a copy in bulk from shared memory",
     "mov.u32 %r3, _ZZ1kPjE2As; cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3 + 48], 32;",
     "bytes 48 to 79 of 'As'"},
    {"behind what the launch gives", "mov.u32 %r3, dynamic; st.shared.u32 [%r3 + 64], 1;",
     "bytes 64 to 67 of 'dynamic' (64 bytes of dynamic .shared) are out of bounds; an address that is computed from 'dynamic' must stay in it"},
    {"before what the launch gives", "mov.u32 %r3, dynamic; st.shared.u32 [%r3 + -4], 1;",
     "bytes -4 to -1 of 'dynamic'"},
    {"local memory", "mov.u64 %rd3, la; add.u64 %rd3, %rd3, 64; st.local.u32 [%rd3], 1;",
     "bytes 64 to 67 of 'la' (64 bytes of .local) are out of bounds; an address that is computed from 'la' must stay in it"},
    {"local memory by a generic address", "mov.u64 %rd3, la; cvta.local.u64 %rd3, %rd3; st.u32 [%rd3 + 64], 1;",
     "bytes 64 to 67 of 'la'"},
    {"a variable of the module far away", "mov.u64 %rd3, ga; st.global.u32 [%rd3 + 1048832], 1;",
     "bytes 1048832 to 1048835 of 'ga' (64 bytes of .global"},
    {"a parameter that is named", "ld.param.u32 %r2, [n + 4];",
     "bytes 4 to 7 of 'n' (4 bytes of .param) are out of bounds; an address that is computed from 'n' must stay in it"},
    {"a parameter by its address",
     "mov.b64 %rd2, out; ld.param.u32 %r2, [%rd2 + 8]; st.global.u32 [%rd1], %r2;", "bytes 8 to 11 of 'out' ("},
};

TEST_CASE("an access beyond its variable is told, with the variable's name", "[quick]") {
  for (const Case& one : kBeyond) {
    INFO(one.name);
    ptx::Launch how;
    how.block = {std::string_view(one.name) == "rows" ? 32U : 1U};  // of a warp
    const ptx::Report report = launch(one.body, how);
    REQUIRE(report.fault);
    INFO(report.fault->message());
    CHECK(report.fault->rule == KernelRule::beyond_variable);
    CHECK(report.fault->error.code == Errc::address_out_of_bounds);
    CHECK_THAT(report.fault->message(), Contains(one.said));
  }
}

// Nobody says of which variable these are, or all lie in theirs.
const Case kRight[] = {
    {"the last bytes", "mov.u32 %r3, _ZZ1kPjE2As; st.shared.u32 [%r3 + 60], 1;", ""},
    {"a negative offset of an address beyond the end",
     "mov.u32 %r3, _ZZ1kPjE2As; add.u32 %r3, %r3, 128; st.shared.u32 [%r3 + -68], 1;", ""},
    {"a difference of addresses",
     "mov.u32 %r3, _ZZ1kPjE2As; mov.u32 %r4, _ZZ1kPjE2Bs; sub.u32 %r5, %r4, %r3; add.u32 %r3, %r3, %r5; st.shared.u32 [%r3 + 8], 1;",
     ""},
    {"one of two variables",
     "setp.eq.u32 %p1, %r1, 0; mov.u32 %r3, _ZZ1kPjE2As; mov.u32 %r4, _ZZ1kPjE2Bs; selp.b32 %r5, %r4, %r3, %p1; st.shared.u32 [%r5 + 4], 1;",
     ""},
    {"one of two variables, behind a branch",
     "mov.u32 %r3, _ZZ1kPjE2As; setp.eq.u32 %p1, %r1, 99; @%p1 bra L; mov.u32 %r3, _ZZ1kPjE2Bs; L: st.shared.u32 [%r3], 1;",
     ""},
    {"a variable under a guard",
     "mov.u32 %r3, _ZZ1kPjE2As; setp.eq.u32 %p1, %r1, 0; @%p1 mov.u32 %r3, _ZZ1kPjE2Bs; st.shared.u32 [%r3], 1;",
     ""},
    {"an address aligned by its bits",
     "mov.u32 %r3, dynamic; and.b32 %r4, %r3, 15; sub.u32 %r4, 16, %r4; and.b32 %r4, %r4, 15; add.u32 %r3, %r3, %r4; st.shared.u32 [%r3], 1;",
     ""},
    {"an address that a call hands back",
     "{ .param .b32 x; .param .b32 y; .param .b32 z; mov.u32 %r3, _ZZ1kPjE2As; add.u32 %r3, %r3, 63; st.param.b32 [x], %r3; st.param.b32 [y], 1; call (z), next, (x, y); ld.param.b32 %r4, [z]; } st.shared.u32 [%r4], 1;",
     ""},
    {"an address as a number", "st.shared.u32 [%r1 + 64], 1;", ""},
    {"all of .local", "mov.u64 %rd3, lb; st.local.u32 [%rd3 + 60], 1; ld.local.u32 %r3, [lb + 60];", ""},
    {"the parameter beside", "ld.param.u32 %r2, [m]; mov.b64 %rd2, m; ld.param.u32 %r3, [%rd2];", ""},
};

TEST_CASE("an address of no known variable, and one in its variable, is right", "[quick]") {
  for (const Case& one : kRight) {
    INFO(one.name);
    CHECK(told(one.body) == "-");
  }
}

// `at` loads word %n of a pointer, `mine` returns a pointer to its own variable, `of_struct` a word of its parameter.
std::string with_functions(const std::string& body) {
  return R"(.version 8.7
.target sm_90a
.address_size 64
.func (.param .b32 r) at(.param .b64 p, .param .b32 n)
{ .reg .b32 %n, %v; .reg .b64 %p, %q; .local .align 4 .b8 own[8]; .param .b32 o;
  st.local.u32 [own], 1; st.local.u32 [own+4], 2;
  ld.param.b64 %p, [p]; ld.param.b32 %n, [n]; mul.wide.s32 %q, %n, 4; add.s64 %p, %p, %q;
  ld.u32 %v, [%p]; st.param.b32 [r], %v; ret; }
.func (.param .b64 r) mine(.param .b32 n)
{ .reg .b32 %n; .reg .b64 %p; .local .align 4 .b8 gone[4];
  ld.param.b32 %n, [n]; st.local.u32 [gone], %n; mov.b64 %p, gone; cvta.local.u64 %p, %p; st.param.b64 [r], %p; ret; }
.func (.param .b32 r) of_struct(.param .align 4 .b8 s[16], .param .b32 n)
{ .reg .b32 %n, %v; .reg .b64 %p, %q;
  mov.b64 %p, s; ld.param.b32 %n, [n]; mul.wide.s32 %q, %n, 4; add.s64 %p, %p, %q;
  ld.local.u32 %v, [%p]; st.param.b32 [r], %v; ret; }
.visible .entry k(.param .u64 out)
{ .reg .b32 %n, %v; .reg .b64 %p, %out; .local .align 16 .b8 four[16]; .param .b64 p; .param .b32 n, r; .param .b64 q;
  .param .align 4 .b8 s[16];
  ld.param.b64 %out, [out]; mov.u32 %v, 7;
  st.local.v4.u32 [four], {%v, %v, %v, %v}; mov.b64 %p, four; cvta.local.u64 %p, %p;
)" + body +
         "\n  st.global.u32 [%out], %v; ret; }\n";
}

TEST_CASE("a pointer to a local variable stays in it, whatever function uses it", "[quick]") {
  const auto told = [](const std::string& body) {
    const Result<ptx::Module> module = ptx::Module::load(with_functions(body));
    if (!module) FAIL(module.error().message());
    const Result<ptx::Function> function = module->function("k");
    if (!function) FAIL(function.error().message());
    std::vector<std::uint32_t> out(64);
    const ptx::Report report = function->launch({}, {ptx::buffer(out)});
    CHECK((!report.fault || report.fault->rule == KernelRule::beyond_variable));
    return report.fault ? report.fault->message() : "";
  };
  const auto word = [](int n) {
    return fmt::format(
        "st.param.b64 [p], %p; st.param.b32 [n], {}; call (r), at, (p, n); ld.param.b32 %v, [r];", n);
  };
  for (const int n : {0, 1, 3}) CHECK(told(word(n)) == "");
  const std::string stays = "a pointer to 'four' must stay in it";
  for (const auto& [n, bytes] : {std::pair(4, "bytes 16 to 19"), {9, "bytes 36 to 39"}})
    CHECK_THAT(told(word(n)),
               Contains(stays) && Contains(fmt::format("{} of 'four' (16 bytes of .local)", bytes)));
  // By way of global memory.
  const std::string away = "st.global.u64 [%out+8], %p; ld.global.u64 %p, [%out+8];";
  CHECK(told(away + word(2)) == "");
  CHECK_THAT(told(away + "ld.u32 %v, [%p+16];"), Contains(stays));
  // Of a function that has returned.
  CHECK_THAT(told("st.param.b32 [n], 5; call (q), mine, (n); ld.param.b64 %p, [q]; ld.u32 %v, [%p];"),
             Contains("the variables of a function are gone when it has returned"));
  for (const int n : {0, 3})
    CHECK(told(fmt::format("st.param.b32 [s+{}], 9; st.param.b32 [s+{}], 9; st.param.b32 [n], {};"
                           " call (r), of_struct, (s, n); ld.param.b32 %v, [r];",
                           4 * n, 4 * (3 - n), n)) == "");
}

TEST_CASE("a shared address has the name of its variable", "[quick]") {
  ptx::Launch how;
  how.block = {64};
  const ptx::Report race = launch(
      "mov.u32 %r9, _ZZ1kPjE2As; shl.b32 %r2, %r1, 31; shr.b32 %r2, %r2, 29; mov.u32 %r3, _ZZ1kPjE2Bs; add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], %r1;",
      how);
  REQUIRE(race.fault);
  CHECK_THAT(race.fault->message(), Contains(", shared address 0x40 (Bs)"));
  CHECK_THAT(
      told("mov.u32 %r9, _ZZ1kPjE2As; mov.u32 %r3, _ZZ1kPjE2Bs; mbarrier.arrive.shared.b64 _, [%r3 + 8];"),
      Contains("there is no barrier object at 0x48 (Bs + 0x8)"));
}

// ---- Loops without an end

const Case kEndless[] = {
    {"a jump to itself", "L: bra L;",
     "has no end; no branch leads out of it: the one back may lack its predicate, or the compiler has read"},
    {"a counter whose branch lacks its predicate", "mov.u32 %r2, 0; L: add.u32 %r2, %r2, 1; bra L;",
     "has no end; no branch leads out of it: the one back may lack its predicate, or the compiler has read"},
    {"a lock in shared memory that nobody unlocks",
     "mov.u32 %r3, dynamic; st.shared.u32 [%r3], 1;"
     " L: atom.shared.cas.b32 %r2, [%r3], 0, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra L;",
     "no thread changes anything any more; it reads 0x1 each time"},
    {"a wait loop with the condition inverted",
     "mov.u32 %r3, dynamic; mbarrier.init.shared.b64 [%r3], 1; mbarrier.arrive.shared.b64 _, [%r3];"
     " L: mbarrier.try_wait.parity.shared.b64 %p1, [%r3], 0; @%p1 bra L;",
     "is true each time, for the phase is complete; a loop that waits goes on while it is false"},
    {"a wait that reads the clock and counts its rounds",
     "mov.u32 %r3, dynamic; st.shared.u32 [%r3], 0; mov.u32 %r4, 0; mov.u32 %r5, 0;"
     " L: ld.relaxed.cta.shared.u32 %r2, [%r3]; setp.ne.u32 %p1, %r2, 0; @%p1 bra E; mov.u32 %r6, %clock;"
     " add.u32 %r5, %r5, %r6; add.u32 %r4, %r4, 1; bra L; E: add.u32 %r4, %r4, %r5;",
     "no thread changes anything any more; it reads the same each time"},
    {"a cycle of several rounds", "mov.u32 %r2, 0; L: add.u32 %r2, %r2, 1; and.b32 %r2, %r2, 7; bra L;",
     "has no end"},
};

void check_endless(const Case& one) {
  INFO(one.name);
  const ptx::Report report = launch(one.body);
  REQUIRE(report.fault);
  INFO(report.fault->message());
  CHECK(report.fault->error.code == Errc::threads_diverge);
  CHECK_THAT(report.fault->message(), Contains(one.said));
}

// PTX ISA 9.4, "cp.async.bulk": the bytes at both ends may lie in no array, and have no value in shared memory.
TEST_CASE("a bulk copy ignores up to 15 bytes at each end, and these have no value", "[quick]") {
  struct Ignored {
    const char *copy, *load, *said;
  };
  constexpr Ignored kIgnored[] = {
      {"[dynamic], [%rd1], 64, 15, 15, [object];", "ld.shared.u8 %r3, [dynamic+15];", "-"},
      {"[dynamic], [%rd1], 64, 15, 15, [object];", "ld.shared.u8 %r3, [dynamic+48];", "-"},
      {"[dynamic], [%rd1], 64, 15, 15, [object];", "ld.shared.u8 %r3, [dynamic+14];",
       "of shared memory has never been written"},
      {"[dynamic], [%rd1], 64, 15, 15, [object];", "ld.shared.u8 %r3, [dynamic+49];",
       "of shared memory has never been written"},
      {"[dynamic], [%rd1], 64, 0, 0, [object];", "ld.shared.u8 %r3, [dynamic+63];", "-"},
      {"[dynamic], [%rd1+-16], 64, 15, 0, [object];", "", "49 bytes at"},
      {"[dynamic], [%rd1+208], 64, 0, 15, [object];", "", "49 bytes at"},
      {"[dynamic], [%rd1+256], 16, 8, 8, [object];", "", "-"},
      {"[dynamic], [%rd1], 64, 0, %r4, [object];", "",
       "ignoring 0 bytes at the beginning and 16 at the end is undefined; defined is 0 to 15 for each"},
      {"[dynamic], [%rd1], 64, %r4, 0, [object];", "", "ignoring 16 bytes at the beginning and 0 at the end"},
  };
  for (const Ignored& c : kIgnored) {
    INFO(c.copy << " " << c.load);
    const bool is_short = std::string_view(c.copy).find(" 16, ") != std::string_view::npos;
    const std::string found =
        told(fmt::format(".shared .align 8 .b64 object; mov.u32 %r4, 16; mov.u32 %r3, 0; "
                         "mbarrier.init.shared::cta.b64 [object], 1; "
                         "mbarrier.arrive.expect_tx.shared::cta.b64 _, [object], {}; "
                         "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob {} "
                         "L: mbarrier.try_wait.parity.shared::cta.b64 %p1, [object], 0; @!%p1 bra L; "
                         "{} st.global.u32 [%rd1], %r3;",
                         is_short ? 16 : 64, c.copy, c.load));
    if (std::string_view(c.said) == "-")
      CHECK(found == "-");
    else
      CHECK_THAT(found, Contains(c.said));
  }
}

TEST_CASE("a loop that repeats the same for ever is told", "[quick]") {
  for (const Case& one : kEndless) check_endless(one);
}

// After 40 million steps and accesses of the loop: the host might write there.
TEST_CASE("a loop over global memory that repeats the same for ever is told", "[quick][once]") {
  check_endless(
      {"a lock that nobody unlocks",
       "st.global.u32 [%rd1], 1; L: atom.global.cas.b32 %r2, [%rd1], 0, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra L;",
       "it reads 0x1 each time"});
}

TEST_CASE("a thread that loops for ever is told with those that wait for it", "[quick]") {
  ptx::Launch how;
  how.block = {64};
  const ptx::Report report =
      launch("setp.ge.u32 %p1, %r1, 32; @%p1 bra W; L: bra L; W: barrier.sync 1, 64;", how);
  REQUIRE(report.fault);
  CHECK_THAT(report.fault->message(),
             Contains("has no end") && Contains("warp 1  PTX line") && Contains(": barrier.sync 1, 64"));
}

TEST_CASE("a loop that ends is right, however long it does nothing but compute", "[quick][sampled]") {
  ptx::Launch how;
  how.block = {64};
  const int rounds = tries_all() ? 300'000 : 30'000;  // others go first after 2,000
  CHECK(told(fmt::format("mov.u32 %r2, 0; L: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, {}; @%p1 bra L;",
                         rounds)) == "-");
  // Another warp, and another block, end it.
  const std::string spin =
      "setp.eq.u32 %p2, {0}, 0; @%p2 bra W; L: ld.volatile.global.u32 %r2, [%rd1]; "
      "setp.eq.u32 %p1, %r2, 0; @%p1 bra L; bra E; W: mov.u32 %r3, 0; "
      "M: add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, {1}; @%p1 bra M; "
      "st.volatile.global.u32 [%rd1], 1; E:";
  CHECK_FALSE(launch("shr.u32 %r5, %r1, 5; " + fmt::format(fmt::runtime(spin), "%r5", rounds), how).fault);
  how.block = {1};
  how.grid = {3};
  how.execute.threads = 2;
  const ptx::Report blocks = launch(
      "mov.u32 %r5, %ctaid.x; sub.u32 %r5, 2, %r5; " + fmt::format(fmt::runtime(spin), "%r5", rounds), how);
  INFO((blocks.fault ? blocks.fault->message() : ""));
  CHECK_FALSE(blocks.fault);
}

}  // namespace ptx_bounds_test
