// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include "warpbit/result.hpp"

namespace warpbit::python {

/// The error as an instance of warpbit.Error, which is not raised.
pybind11::object exception_of(const Error& error);
/// And back. Errors: usage, for a code that is none.
Error error_of(const pybind11::handle& exception);

}  // namespace warpbit::python

namespace PYBIND11_NAMESPACE {
namespace detail {

template <>
struct type_caster<warpbit::Error> {
  PYBIND11_TYPE_CASTER(warpbit::Error, const_name("Error"));

  bool load(handle source, bool) {
    value = warpbit::python::error_of(source);
    return true;
  }
  static handle cast(const warpbit::Error& error, return_value_policy, handle) {
    return warpbit::python::exception_of(error).release();
  }
};

}  // namespace detail
}  // namespace PYBIND11_NAMESPACE
