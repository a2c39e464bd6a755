// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include "module.hpp"

namespace warpbit::python {

py::object exception_of(const Error& e) {
  return py::module_::import("warpbit._error")
      .attr("Error")(std::string(name(e.code)), e.where, e.seen, e.accepted, e.message());
}

Error error_of(const py::handle& exception) {
  const auto text = [&](const char* attribute) { return exception.attr(attribute).cast<std::string>(); };
  const std::string code = text("code");
  for (int i = 0; i <= static_cast<int>(Errc::usage); ++i)
    if (name(static_cast<Errc>(i)) == code)
      return {static_cast<Errc>(i), text("where"), text("seen"), text("accepted")};
  throw Refusal{Error{Errc::usage, "code", "'" + code + "'", "the code of an error"}};
}

void refuse_word(const char* what, const std::string& seen, const std::string& accepted) {
  throw Refusal{Error{Errc::usage, what, "'" + seen + "'", "one of " + accepted}};
}

void add_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Refusal& refusal) {
      const py::object error = exception_of(refusal.error);
      PyErr_SetObject(error.get_type().ptr(), error.ptr());
    }
  });
}

}  // namespace warpbit::python
