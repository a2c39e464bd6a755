// SPDX-License-Identifier: Apache-2.0
// Directed inputs that tell the arithmetic of an instruction from others that are close to it: what to ask a
// GPU that may compute otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// One element of D = A B + C, with codes as in the layout `elements` of captures.
struct Probe {
  std::string name;  ///< what it tells apart, and how, e.g. "F 25, not 24: 2^0 @0, -2^0 @1, 2^-25 @2"
  std::vector<std::string_view> parameters;  ///< of which it tells values apart, e.g. "F"
  std::vector<std::uint64_t> a, b, a_scale, b_scale;
  std::uint64_t c = 0, d = 0;  ///< d: what the instruction returns
};

/// A value of a parameter of which no result can tell whether it is that of the instruction.
struct Invisible {
  std::string name;  ///< e.g. "floor -133, not -132"
  std::string_view parameter;
  std::string reason;  ///< the outcome of a proof from the exponents of the formats
};

/// Of every parameter of a plan each value beside its own is in one of the lists. `unknown` is of those for
/// which neither an input nor a proof was found; tests show that no instruction has any.
struct Probes {
  std::vector<Probe> probes;
  std::vector<Invisible> invisible, unknown;
};

/// The probes of an instruction, made from its plan and formats alone. Errors: member_value, for an instruction
/// that is no D = A B + C.
Result<Probes> probes(const Instruction& instruction);

}  // namespace warpbit
#pragma GCC visibility pop
