// SPDX-License-Identifier: Apache-2.0
// The PTX version from which a word exists, and a tensor instruction; scalar ones have it in their rows (ptx/rows).
#pragma once

#include <span>
#include <string_view>

#include "target/target.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// The latest version that this library has the forms of.
inline constexpr Version kKnownPtx{9, 5};

/// The first version with this word in any instruction; as old as every target if there is nothing about it.
Version since(std::string_view word);
/// The first version of a tensor instruction with these words. A target may be later (TargetRow::since).
Version since(std::string_view opcode, std::span<const std::string_view> words, Target target);

}  // namespace warpbit
#pragma GCC visibility pop
