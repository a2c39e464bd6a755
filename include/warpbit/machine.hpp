// SPDX-License-Identifier: Apache-2.0
// One warp executing one instruction, as a record: what it read and what it writes. The batch path
// (warpbit/execute.hpp) computes the same bits without records.
#pragma once

#include <span>
#include <vector>

#include "warpbit/execute.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/memory.hpp"
#include "warpbit/registers.hpp"
#include "warpbit/result.hpp"

namespace warpbit {

/// Which register of the file the first register of each operand is, in the order of Instruction::operands();
/// an operand's registers are consecutive. The entry of an immediate is ignored.
using Binding = std::vector<int>;

/// Executes one warp. `lanes[i]` is what lane i executes, nullptr if the lane has exited or takes another path.
/// All lanes of the warp must execute the same form with the same literals and sinks (PTX manual, ".sync" and
/// ".aligned"); an instruction of each thread (Instruction::lanes() is 1) is executed by those lanes that are
/// given. Neither registers nor memory are changed; apply the effects. Errors: lanes_missing and
/// lanes_disagree, which name the lanes; view_mismatch if the binding does not fit the registers;
/// inferred_plan, undefined_operand; of an instruction that uses memory address_misaligned,
/// address_out_of_bounds, address_not_shared, addresses_disagree and stores_overlap, which name the lane and
/// the address.
Result<Effects> execute_warp(std::span<const Instruction* const> lanes, const Binding& binding,
                             const Registers& registers, const Memory& memory,
                             const ExecuteOptions& options = {});

/// The same without a memory. Errors: also memory_needed.
Result<Effects> execute_warp(std::span<const Instruction* const> lanes, const Binding& binding,
                             const Registers& registers, const ExecuteOptions& options = {});

}  // namespace warpbit
