// SPDX-License-Identifier: Apache-2.0
// What the bindings of launches share. The index of a block is a tuple in Python.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <tuple>

#include "warpbit/detail/block.hpp"

namespace pybind11::detail {

template <>
struct type_caster<warpbit::device::Index3> {
  using Tuple = std::tuple<unsigned, unsigned, unsigned>;
  PYBIND11_TYPE_CASTER(warpbit::device::Index3, make_caster<Tuple>::name);

  bool load(handle from, bool convert) {
    make_caster<Tuple> tuple;
    if (!tuple.load(from, convert)) return false;
    const auto [x, y, z] = cast_op<Tuple>(std::move(tuple));
    value = {x, y, z};
    return true;
  }
  static handle cast(const warpbit::device::Index3& from, return_value_policy policy, handle parent) {
    return make_caster<Tuple>::cast(Tuple(from.x, from.y, from.z), policy, parent);
  }
};

}  // namespace pybind11::detail

namespace warpbit::python {

inline constexpr const char* kChain =
    "A line of the kernel's body, and those of the functions that were inlined or called there, from outside in.";

}  // namespace warpbit::python
