// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "module.hpp"

namespace warpbit::python {

/// The order of K in words ("descending", "1:0", "split_k=2"), over this depth, or as a sequence of steps.
/// `split_k` changes if the words say it. Errors: those of `computation` (warpbit/compare.hpp).
void set_k_order(const py::object& order, const Instruction& instruction, std::size_t depth,
                 std::vector<std::size_t>& steps, std::size_t& split_k);

}  // namespace warpbit::python
