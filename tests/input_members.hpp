// SPDX-License-Identifier: Apache-2.0
// Members of captures of all kinds, to try the generator of inputs on.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "warpbit/inputs.hpp"
#include "warpbit/record.hpp"

namespace input_members {

using namespace warpbit;

struct Named {
  std::string form;  // and the member's name
  CaptureMember member;
  inputs::Member fill;
};

/// All fills of some statements: every format of elements, every other fill.
inline std::vector<Named> all() {
  constexpr const char* kStatements[][2] = {
      {"sm_90a", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c};"},
      {"sm_90a", "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {d}, {a}, {b}, {c};"},
      {"sm_90a", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {d}, {a}, {b}, {c};"},
      {"sm_90a", "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {d}, {a}, {b}, {c};"},
      {"sm_90a", "mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e5m2.f16 {d}, {a}, {b}, {c};"},
      {"sm_90a", "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {d}, {a}, {b}, {c};"},
      {"sm_90a", "mma.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32 {d}, {a}, {b}, {c};"},
      {"sm_90a", "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {d}, {a}, {b}, {c};"},
      {"sm_90a", "mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32 {d}, {a}, {b}, {c}, e, 0;"},
      {"sm_90a", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}, e, 0;"},
      {"sm_120a", "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m3.f32 {d}, {a}, {b}, {c};"},
      {"sm_120a",
       "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e4m3.f32.ue8m0 "
       "{d}, "
       "{a}, {b}, {c}, sfa, {0, 0}, sfb, {0, 0};"},
      {"sm_120a",
       "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 "
       "{d}, "
       "{a}, {b}, {c}, sfa, {0, 0}, sfb, {0, 0};"},
      {"sm_90a",
       "wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16 {d}, desc_a, desc_b, scale_d, 1, 1, 0, 0;"},
      {"sm_90a", "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d}, desc_a, desc_b, scale_d, 1, 1, 1, 1;"},
      {"sm_90a", "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {d}, desc_a, desc_b, scale_d, 1, 1;"},
      {"sm_90a",
       "wgmma.mma_async.sp.sync.aligned.m64n16k64.f32.e4m3.e5m2 {d}, {a}, desc_b, e, 0, scale_d, 1, 1;"},
      {"sm_90a", "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r}, [addr];"},
      {"sm_90a", "stmatrix.sync.aligned.m8n8.x2.shared.b16 [addr], {r};"},
      {"sm_90a", "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {r}, [addr], stride;"},
      {"sm_90a", "cvt.rn.satfinite.e4m3x2.f32 d, a, b;"},
      {"sm_90a", "cvt.rn.f16x2.e5m2x2 d, a;"},
      {"sm_90a", "cvt.rn.f16.f64 d, a;"},
      {"sm_120a", "cvt.rn.f16x2.e2m1x2 d, a;"},
      {"sm_120a", "cvt.rn.bf16x2.ue8m0x2 d, a;"},
      {"sm_100a", "cvt.rs.satfinite.e4m3x4.f32 d, {abcd}, rbits;"},
  };
  std::vector<Named> out;
  for (const auto& [target, text] : kStatements) {
    const Result<Instruction> instruction = Instruction::parse(text, *Target::find(target));
    INFO(text << (instruction ? "" : instruction.error().message()));
    REQUIRE(instruction.ok());
    const auto members = capture_members(*instruction);
    REQUIRE(members.ok());
    for (const CaptureMember& member : *members)
      for (const inputs::Member& fill : member.fills)
        out.push_back({std::string(instruction->canonical()) + " " + member.name, member, fill});
  }
  return out;
}

}  // namespace input_members
