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
  refuse(Errc::usage, "code", "'" + code + "'", "the code of an error");
}

void refuse_word(const char* what, const std::string& seen, const std::vector<std::string_view>& accepted) {
  std::string all;
  for (const std::string_view word : accepted) all.append(all.empty() ? "" : ", ").append(word);
  refuse(Errc::usage, what, "'" + seen + "'", "one of " + all);
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
