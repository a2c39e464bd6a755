// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"
#include "warpbit/version.hpp"

namespace warpbit::python {

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
}

}  // namespace warpbit::python
