// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "module.hpp"
#include "warpbit/compare.hpp"

namespace warpbit::python {

/// The inputs of an element from sequences of codes; None is empty. Errors: view_mismatch, with the operand.
ElementInputs element_of(const py::object& a, const py::object& b, std::uint64_t c, const py::object& a_scale,
                         const py::object& b_scale);
/// A Computation, or an Instruction alone.
Computation computation_of(const py::handle& object);

}  // namespace warpbit::python
