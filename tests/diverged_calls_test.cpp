// SPDX-License-Identifier: Apache-2.0
// Lanes of a warp that are in different functions at a time: each keeps its registers, whatever widths those of others have, and
// lanes that come by the same calls join.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "warpbit/ptx.hpp"

namespace diverged_calls_test {

using namespace warpbit;

constexpr std::uint32_t kValues = 8;

// What keeps lanes in `wide` while others are in `narrow`, and the other way round: 5000 jumps back are more than a path makes before
// others go first.
struct Meanwhile {
  const char *in_wide, *in_narrow;
};
const Meanwhile kLoop{"mov.u32 %t, 0; L: add.u32 %t, %t, 1; setp.lt.u32 %p, %t, 5000; @%p bra L;", ""};
const Meanwhile kBarrier{"bar.warp.sync -1;", "bar.warp.sync -1;"};
const Meanwhile kInner{"call (o), inner, (%t); ", ""};

// `wide` has eight numbers of 64 bits, `narrow` sixteen of 32, of lane %n; each returns 64 bits of them. The kernel calls either.
std::string module_of(const Meanwhile& x, const std::string& condition) {
  std::string wide, wide_sum, narrow, narrow_sum;
  for (unsigned i = 0; i < kValues; ++i) {
    wide += fmt::format("mad.lo.u64 %w{0}, %m, {1}, {2};\n", i, 0x100000001 * (i + 1), i << 20);
    wide_sum += fmt::format("mad.lo.u64 %s, %s, 3, %w{};\n", i);
  }
  for (unsigned i = 0; i < 2 * kValues; ++i) {
    narrow += fmt::format("mad.lo.u32 %x{0}, %n, {1}, {1};\n", i, 0x01010101 * (i + 1));
    narrow_sum += fmt::format("mad.lo.u32 %y, %y, 5, %x{};\n", i);
  }
  return fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.func (.param .b32 r) inner(.param .b32 a) {{
  .reg .b32 %t; .reg .pred %p;
  mov.u32 %t, 0; L: add.u32 %t, %t, 1; setp.lt.u32 %p, %t, 5000; @%p bra L;
  st.param.b32 [r], %t; ret;
}}
.func (.param .b64 r) wide(.param .b32 a) {{
  .reg .b64 %w<8>, %m, %s; .reg .b32 %n, %t; .reg .pred %p; .param .b32 o;
  ld.param.u32 %n, [a]; cvt.u64.u32 %m, %n; mov.u32 %t, %n;
  {}{} mov.u64 %s, 0;
  {}st.param.b64 [r], %s; ret;
}}
.func (.param .b64 r) narrow(.param .b32 a) {{
  .reg .b32 %x<16>, %n, %y; .reg .b64 %s; .param .b32 o;
  ld.param.u32 %n, [a];
  {}{} mov.u32 %y, 0;
  {}cvt.u64.u32 %s, %y; st.param.b64 [r], %s; ret;
}}
.visible .entry k(.param .u64 out) {{
  .reg .b32 %r<4>; .reg .b64 %a, %b, %s; .reg .pred %q;
  .param .b32 i; .param .b64 o;
  ld.param.u64 %a, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %b, %r0, 8; add.u64 %a, %a, %b;
  st.param.b32 [i], %r0;
  {};
  @%q bra NARROW;
  call (o), wide, (i);
  bra JOIN;
  NARROW: call (o), narrow, (i);
  JOIN: ld.param.b64 %s, [o]; st.global.u64 [%a], %s; ret;
}}
)",
                     wide, x.in_wide, wide_sum, narrow, x.in_narrow, narrow_sum, condition);
}

std::uint64_t wide(std::uint64_t lane) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < kValues; ++i) sum = sum * 3 + lane * (0x100000001 * (i + 1)) + (i << 20);
  return sum;
}
std::uint64_t narrow(std::uint32_t lane) {
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < 2 * kValues; ++i) sum = sum * 5 + (lane + 1) * (0x01010101 * (i + 1));
  return sum;
}

std::vector<std::uint64_t> run(const std::string& text) {
  const Result<ptx::Module> module = ptx::Module::load(text);
  INFO((module ? "" : module.error().message()));
  REQUIRE(module);
  const Result<ptx::Function> function = module->function("k");
  INFO((function ? "" : function.error().message()));
  REQUIRE(function);
  std::vector<std::uint64_t> out(32);
  const ptx::Report report = function->launch({.block = {32}}, {ptx::buffer(out)});
  INFO((report.fault ? report.fault->message() : ""));
  CHECK_FALSE(report.fault);
  CHECK(report.findings.empty());
  return out;
}

struct Condition {
  const char* text;  // of lanes that call `narrow`
  bool (*holds)(std::uint32_t lane);
};

TEST_CASE("lanes in different functions keep their registers") {
  for (const Meanwhile& x : {kLoop, kBarrier, kInner})
    for (const Condition& to : {
             Condition{"and.b32 %r1, %r0, 1; setp.eq.u32 %q, %r1, 0",
                       [](std::uint32_t l) { return l % 2 == 0; }},
             {"and.b32 %r1, %r0, 1; setp.eq.u32 %q, %r1, 1", [](std::uint32_t l) { return l % 2 == 1; }},
             {"setp.ge.u32 %q, %r0, 16", [](std::uint32_t l) { return l >= 16; }},
             {"setp.lt.u32 %q, %r0, 3", [](std::uint32_t l) { return l < 3; }},
             {"setp.eq.u32 %q, %r0, 2", [](std::uint32_t l) { return l == 2; }},
         }) {
      INFO(x.in_wide << " " << to.text);
      const std::vector<std::uint64_t> out = run(module_of(x, to.text));
      for (std::uint32_t lane = 0; lane < 32; ++lane)
        CHECK(out[lane] == (to.holds(lane) ? narrow(lane) : wide(lane)));
    }
}

// Lane 0 waits in `meet` when the others call it at the same place: behind the barrier all are one.
TEST_CASE("lanes that come by the same calls join, though others have been elsewhere") {
  const std::vector<std::uint64_t> out = run(R"(.version 8.7
.target sm_90a
.address_size 64
.func (.param .b64 r) meet(.param .b32 a) {
  .reg .b32 %n, %m, %x<4>; .reg .b64 %s; .reg .pred %p;
  ld.param.u32 %n, [a]; mov.u32 %x0, 0;
  setp.ne.u32 %p, %n, 0; @%p bra SKIP;
  L: add.u32 %x0, %x0, 1; setp.lt.u32 %p, %x0, 9000; @%p bra L;
  SKIP: bar.warp.sync -1;
  activemask.b32 %m; cvt.u64.u32 %s, %m; st.param.b64 [r], %s; ret;
}
.func (.param .b64 r) other(.param .b32 a) {
  .reg .b64 %w<6>; .reg .b32 %n, %t; .reg .pred %p;
  ld.param.u32 %n, [a]; cvt.u64.u32 %w0, %n; mov.u32 %t, 0;
  L: add.u64 %w0, %w0, 1; add.u32 %t, %t, 1; setp.lt.u32 %p, %t, 3000; @%p bra L;
  st.param.b64 [r], %w0; ret;
}
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<4>; .reg .b64 %a, %b, %s, %t; .reg .pred %q;
  .param .b32 i; .param .b64 o;
  ld.param.u64 %a, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %b, %r0, 8; add.u64 %a, %a, %b;
  st.param.b32 [i], %r0; mov.u64 %t, 0;
  setp.ne.u32 %q, %r0, 7;
  @%q bra CALL;
  call (o), other, (i);
  ld.param.b64 %t, [o];
  CALL: call (o), meet, (i);
  ld.param.b64 %s, [o]; add.u64 %s, %s, %t; st.global.u64 [%a], %s; ret;
}
)");
  for (std::uint64_t lane = 0; lane < 32; ++lane)
    CHECK(out[lane] == std::uint64_t{0xFFFFFFFF} + (lane == 7 ? 3007 : 0));
}

}  // namespace diverged_calls_test
