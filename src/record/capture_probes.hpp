// SPDX-License-Identifier: Apache-2.0
// What the capture program needs to record probes (tools/capture/kernels.hpp).
#pragma once

#include <string>

#include "warpbit/instruction.hpp"

namespace warpbit {

/// The lines of a statement's block: the set of its probes, and where their codes lie in the members of its
/// capture; none if it has no probes.
std::string probe_lines(const Instruction& statement);

}  // namespace warpbit
