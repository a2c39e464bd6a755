// SPDX-License-Identifier: Apache-2.0
// Hints; control flow and the stack.
#include "ptx/rows/rows.hpp"

namespace warpbit::ptx {

using enum Feature;
using enum Kind;

std::span<const FormRow> hints_rows() {
  static constexpr FormRow kRows[] = {
      {"prefetch{,.global,.local}{.L1,.L2}", "[p]", sm_75, control},
      {"prefetch{,.global}{.L2::evict_last,.L2::evict_normal}", "[p]", sm_80, control},
      {"prefetch{,.const,.param}.tensormap", "[p]", sm_90, control, "8.0"},
      {"prefetch{,.global}.L1::32B.valid_addr", "[p]", sm_90, control, "9.4"},
      {"prefetchu.L1", "[r]", sm_75, control},
      {"applypriority{,.global}.L2::evict_normal", "[p] #imm(128)", sm_80, control, "7.4"},
      {"discard{,.global}.L2", "[p] #imm(128)", sm_80, control, "7.4"},
      {"createpolicy.fractional{$policy,$policy_both}.b64", "d:u64 a:f32?", sm_80, policies, "7.4"},
      {"createpolicy.range{,.global}{$policy,$policy_both}.b64", "d:u64 [p] a:u32 b:u32", sm_80, policies,
       "7.4"},
      {"createpolicy.cvt.L2.b64", "d:u64 a:u64", sm_80, policies, "7.4"},
      {"nanosleep.u32", "a:u32", sm_75, control},
      {"pmevent", "#imm(0..15)", sm_75, control},
      {"pmevent.mask", "#imm(0..65535)", sm_75, control},
      {"setmaxnreg{.inc,.dec}.sync.aligned{.u32,.s32}", "#imm(24..256/8)", setmaxnreg, control},
  };
  return kRows;
}

std::span<const FormRow> control_rows() {
  static constexpr FormRow kRows[] = {
      {"bra{,.uni}", "@label", sm_75, control},
      {"brx.idx{,.uni}", "a:u32! @table", sm_75, control},
      {"brkpt", "", sm_75, control},
      {"trap", "", sm_75, control},
      {"exit", "", sm_75, control},
      {"ret{,.uni}", "", sm_75, control},
      {"stacksave{.u32,.u64}", "d:T", sm_75, addresses, "7.3"},
      {"stackrestore{.u32,.u64}", "a:T(1..0)", sm_75, addresses, "7.3"},
      {"alloca{.u32,.u64}", "d:T a:T #imm?", sm_75, addresses, "7.3"},
  };
  return kRows;
}

}  // namespace warpbit::ptx
