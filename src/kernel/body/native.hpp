// SPDX-License-Identifier: Apache-2.0
// The choice among the plans whose arithmetic the processor has itself.
#pragma once

#include "kernel/body/ieee.hpp"
#include "kernel/body/integers.hpp"

namespace warpbit {
namespace {

void native(const NativeBlocks& blocks) {
  switch (blocks.program->kind) {
    case NativeProgram::Kind::integers:
    case NativeProgram::Kind::xor_count:
    case NativeProgram::Kind::and_count: return integers(blocks);
    case NativeProgram::Kind::double_chain: return doubles(blocks);
    case NativeProgram::Kind::single_chain:
    case NativeProgram::Kind::pair_sums: return halves(blocks);
  }
}

}  // namespace
}  // namespace warpbit
