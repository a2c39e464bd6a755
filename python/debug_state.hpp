// SPDX-License-Identifier: Apache-2.0
// What a launch has at one place, as Python has it.
#pragma once

#include <cstdint>
#include <string>

#include "module.hpp"
#include "warpbit/debug.hpp"

namespace warpbit::python {

using RegisterArrays = As<"dict[str, NDArray[Any]]", py::dict>;

/// What a callback gets, and what stands at a place.
struct DebugStatement {
  std::uint64_t step = 0;
  int warp = 0;
  std::uint32_t lanes = 0;
  int line = 0;
  std::string statement;
  RegisterArrays read, written;
  bool is_found = false;
};
DebugStatement statement_of(std::uint64_t step, const ptx::Observation& seen);

/// The classes of a state and of what it has.
void add_states(py::module_& m);

}  // namespace warpbit::python
