// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// That an instruction is no product, where one is wanted; of a tcgen05.mma, how its product is named.
Error no_product(const Instruction& instruction, std::string seen, std::string accepted);

}  // namespace warpbit
#pragma GCC visibility pop
