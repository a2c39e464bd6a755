// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "module.hpp"
#include "warpbit/compare.hpp"

namespace warpbit::python {

using Code = As<"int">;  ///< anything with __index__
using Codes = As<"_Codes">;
using OptionalCodes = As<"Optional[_Codes]">;

/// The inputs of an element from sequences of codes; None is empty. Errors: view_mismatch, with the operand.
ElementInputs element_of(const Codes& a, const Codes& b, const Code& c, const OptionalCodes& a_scale,
                         const OptionalCodes& b_scale);
/// A Computation, or an Instruction alone.
Computation computation_of(const py::handle& object);

}  // namespace warpbit::python
