// SPDX-License-Identifier: Apache-2.0
// Plain loads before an atom.cas that judges them, where it is in a function that others call, as in debug builds; and beside
// them loads that it does not judge, which are in a race with it.
#include "found_rules.hpp"

namespace cas_loops_test {

using namespace found_rules;

// A sum by compare-and-swap, with a load before the loop.
std::string text_of(const std::string& load) {
  return R"(.version 9.0
.target sm_90a
.address_size 64
.func (.param .b32 result) inner(.param .b64 where, .param .b32 compared, .param .b32 next)
{
  .reg .b32 %r<4>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [where]; ld.param.u32 %r1, [compared]; ld.param.u32 %r2, [next];
  atom.cas.b32 %r3, [%rd1], %r1, %r2;
  st.param.b32 [result+0], %r3;
  ret;
}
.func (.param .b32 result) outer(.param .b64 where, .param .b32 compared, .param .b32 next)
{
  .reg .b32 %r<8>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [where]; ld.param.u32 %r1, [compared]; ld.param.u32 %r2, [next];
  mov.b64 %rd2, %rd1; mov.b32 %r3, %r1; mov.b32 %r4, %r2;
  {
    .param .b64 param0; .param .b32 param1; .param .b32 param2; .param .b32 retval0;
    st.param.b64 [param0+0], %rd2; st.param.b32 [param1+0], %r3; st.param.b32 [param2+0], %r4;
    call.uni (retval0), inner, (param0, param1, param2);
    ld.param.b32 %r5, [retval0+0];
  }
  st.param.b32 [result+0], %r5;
  ret;
}
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<4>; .reg .b16 %rs<4>;
  ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;
)" + load +
         R"(
LOOP:
  mov.u32 %r4, %r3; mov.b64 %rd2, %rd1; mov.b32 %r5, %r4;
  add.u32 %r6, %r4, %r1;
  {
    .param .b64 param0; .param .b32 param1; .param .b32 param2; .param .b32 retval0;
    st.param.b64 [param0+0], %rd2; st.param.b32 [param1+0], %r5; st.param.b32 [param2+0], %r6;
    call.uni (retval0), outer, (param0, param1, param2);
    ld.param.b32 %r7, [retval0+0];
  }
  setp.ne.u32 %p1, %r7, %r4; mov.u32 %r3, %r7;
  @%p1 bra LOOP;
  ret;
}
)";
}

std::set<std::string> rules_of(const std::string& text, bool strict, std::uint32_t sum) {
  const Result<ptx::Module> module = ptx::Module::load(text);
  if (!module) FAIL(module.error().message());
  const Result<ptx::Function> function = module->function("k");
  if (!function) FAIL(function.error().message());
  std::vector<std::uint32_t> out(4);
  ptx::Launch how{.block = {64}};
  how.strict = strict;
  how.execute.threads = 1;
  const ptx::Report report = function->launch(how, {ptx::buffer(out)});
  if (report.fault) return {std::string(name(report.fault->rule))};
  CHECK(out[0] == sum);
  std::set<std::string> rules;
  for (const ptx::Finding& one : report.findings) rules.emplace(name(one.fault.rule));
  return rules;
}

TEST_CASE("an atom.cas in a function judges the load of its caller") {
  constexpr std::uint32_t kSum = 63 * 64 / 2;
  const std::string load = "ld.u32 %r2, [%rd1]; mov.b32 %r3, %r2;";
  CHECK(rules_of(text_of(load), false, kSum).empty());
  CHECK(rules_of(text_of(load), true, kSum) == std::set<std::string>{"load_before_cas"});
  // A relaxed load is none.
  const std::string relaxed = "ld.relaxed.gpu.u32 %r2, [%rd1]; mov.b32 %r3, %r2;";
  CHECK(rules_of(text_of(relaxed), true, kSum).empty());
}

TEST_CASE("an atom.cas in a function judges no other load") {
  // Of another place, of what is computed with, and beside the loop.
  const std::set<std::string> race = {"data_race"};
  CHECK(rules_of(text_of("ld.u32 %r2, [%rd1]; add.u32 %r3, %r2, 0;"), false, 0) == race);
  CHECK(rules_of(text_of("ld.u32 %r8, [%rd1]; ld.relaxed.gpu.u32 %r3, [%rd1]; st.u32 [%rd1+4], %r8;"), false,
                 0) == race);
}

}  // namespace cas_loops_test
