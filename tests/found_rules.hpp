// SPDX-License-Identifier: Apache-2.0
// Launches of small kernels, and the rules that they break.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "warpbit/ptx.hpp"
#include "warpbit/result.hpp"

namespace found_rules {

using namespace warpbit;

/// A kernel `k` of one array of words, %rd1: %r1 is %tid.x, %r2 %ctaid.x, %r3 the lane, %r4 the warp, and %rd2 the thread's
/// word of 512 bytes. %p1 is thread 0, %p2 lane 0, %p3 lane 0 of warp 1.
inline std::string text_of(const std::string& body) {
  return R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
  .shared .align 16 .b8 tile[512]; .shared .align 4 .b32 flag; .shared .align 4 .b32 other;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %laneid; shr.u32 %r4, %r1, 5;
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r3, 0; setp.eq.u32 %p3, %r1, 32;
)" + body +
         "\n  ret;\n}\n";
}

struct Outcome {
  std::set<std::string> rules;  ///< "data_race", "flag_fence"
  std::vector<std::string> messages;
  ptx::Report report;
  std::vector<std::uint32_t> out = std::vector<std::uint32_t>(1024);
};

inline Outcome launch(const std::string& body, ptx::Launch how) {
  const Result<ptx::Module> module = ptx::Module::load(text_of(body));
  if (!module) FAIL(module.error().message());
  const Result<ptx::Function> function = module->function("k");
  if (!function) FAIL(function.error().message());
  Outcome outcome;
  if (how.step_limit == 0) how.step_limit = 100'000;
  // One block behind the other: how long a warp spins, and so what its other lanes do before, is up to the host otherwise.
  how.execute.threads = 1;
  outcome.report = function->launch(how, {ptx::buffer(outcome.out)});
  const auto add = [&](const Fault& fault) {
    outcome.rules.emplace(name(fault.rule));
    outcome.messages.push_back(fault.message());
    UNSCOPED_INFO(fault.message());
  };
  if (outcome.report.fault) add(*outcome.report.fault);
  for (const ptx::Finding& one : outcome.report.findings) add(one.fault);
  return outcome;
}

struct Case {
  std::string rule;  ///< the only one that is broken; empty: none
  std::string body;
  std::string says = {};  ///< the message has it
};

inline void check(const Case& one, const ptx::Launch& how) {
  INFO(one.body);
  const Outcome outcome = launch(one.body, how);
  CHECK(outcome.rules == (one.rule.empty() ? std::set<std::string>{} : std::set<std::string>{one.rule}));
  if (!one.says.empty() && !outcome.messages.empty())
    CHECK_THAT(outcome.messages[0], Catch::Contains(one.says));
}

}  // namespace found_rules
