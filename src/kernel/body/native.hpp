// SPDX-License-Identifier: Apache-2.0
// The choice among the plans whose arithmetic the processor has itself.
#pragma once

#include "kernel/body/ieee.hpp"
#include "kernel/body/integers.hpp"

namespace warpbit {
namespace {

void native(const NativeProgram& program, const Parts& parts) {
  using Kind = NativeProgram::Kind;
  const bool is_half = program.kind == Kind::single_chain || program.kind == Kind::pair_sums;
  for (PartCursor at(parts); at.next();) {
    const NativePart part{at.part(), program, parts.rows};
    program.kind == Kind::double_chain ? doubles(part) : is_half ? halves(part) : integers(part);
  }
}

}  // namespace
}  // namespace warpbit
