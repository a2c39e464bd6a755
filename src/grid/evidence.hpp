// SPDX-License-Identifier: Apache-2.0
// What of a program rests on no result of its target's GPU.
#pragma once

#include <optional>
#include <vector>

#include "grid/program.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::grid {

/// What a statement's evidence says, if it is inferred. Precondition: it is no tensor instruction.
std::optional<Inference> inference(const Origin& origin, Target target);
/// The same of a tensor instruction; of one of tensor memory whose operands decide, a launch says it (Block::inferred).
std::optional<Inference> inference(const Instruction& instruction);

/// By line, each form once: those of the program, rules of the assembler that have acted, and the first product of tensor
/// memory that a launch found (-1: none).
std::vector<ptx::Inference> inferences(const Program& program, std::int32_t product);

/// Of a program for the .target of its module: the first tensor instruction that later GPUs compute otherwise.
std::optional<ptx::AssemblerNote> computed_otherwise_later(const Program& program);

}  // namespace warpbit::grid
