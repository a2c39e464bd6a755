// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"
#include "warpbit/version.hpp"

namespace warpbit::python {
namespace {

// Where pybind11 makes room for an object that was made by __new__ alone and is used without a value.
void* without_value(std::size_t) {
  throw py::type_error("the object has no value: it was made without __init__");
}

// {"_kernel": ["reference", "scalar", ...], ...}: what signatures call the words of an enumeration.
template <class... E>
py::dict all_words() {
  py::dict out;
  ((out[py::str("_" + std::string(kWords<E>.what))] = words<E>()), ...);
  return out;
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  m.doc() = "The extension behind the package warpbit.";
  m.attr("__version__") = WARPBIT_VERSION_TEXT;
  add_errors(m);
  add_instruction(m);
  add_execute(m);
  add_fragments(m);
  add_formats(m);
  add_gemm(m);
  add_explain(m);
  add_compare(m);
  add_layout(m);
  add_captures(m);
  add_replay(m);
  add_diagnose(m);
  m.attr("_words") = all_words<Kernel, Basis, CodeClass, CaptureLayout, CaptureSource, Verdict, inputs::Profile,
                               Undefined, Rounding, FileStatus, Medium, ExactNumber::Kind, OperandKind, Part>();
  for (const auto& [name, object] : py::dict(m.attr("__dict__")))
    if (PyType_Check(object.ptr()))
      if (auto* type = py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(object.ptr())))
        type->operator_new = &without_value;
}

}  // namespace warpbit::python
