// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"
#include "warpbit/result.hpp"

namespace warpbit::python {
namespace {

// Where pybind11 makes room for an object that was made by __new__ alone and is used without a value.
void* without_value(std::size_t) {
  throw py::type_error("the object has no value: it was made without __init__");
}

// How objects are pickled, by every protocol. Python's own way for the protocols 0 and 1 makes an object of the base of
// all classes, which ends the process.
py::tuple reduced(const py::object& self) {
  const py::type type = py::type::of(self);
  if (!py::hasattr(type, "__setstate__"))
    throw py::type_error("a " + type.attr("__name__").cast<std::string>() + " cannot be pickled");
  return py::make_tuple(py::module_::import("copyreg").attr("__newobj__"), py::make_tuple(type),
                        self.attr("__getstate__")());
}

void throw_in_python(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const Refusal& refusal) {
    const py::object error = exception_of(refusal.error);
    PyErr_SetObject(py::type::handle_of(error).ptr(), error.ptr());
  }
}

// {"_kernel": ["reference", "scalar", ...], ...}: what signatures call the words of an enumeration.
template <class... W>
py::dict all_words(const Table<W...>& table) {
  py::dict out;
  ((out[py::str("_" + std::string(table.W::what))] = words<typename W::Enum>()), ...);
  return out;
}

// ---- What pybind11 says of arguments of other types, without their whole content

PyCFunctionWithKeywords dispatch = nullptr;  // pybind11's, of all functions

// "...Invoked with: str, float16 of shape (4096, 4096)"
std::string with_short_arguments(const std::string& text, PyObject* arguments, PyObject* words) {
  constexpr std::string_view kInvoked = "Invoked with: ";
  const std::size_t at = text.find(kInvoked);
  if (at == text.npos) return text;
  std::string out = text.substr(0, at + kInvoked.size()), between;
  const auto add = [&](const std::string& name, const py::handle& value) {
    const bool is_text = py::isinstance<py::str>(value);
    out += between + name + (is_text ? py::repr(value).cast<std::string>().substr(0, 60) : seen_text(value));
    between = ", ";
  };
  for (const py::handle& value : py::reinterpret_borrow<py::tuple>(arguments)) add("", value);
  if (words != nullptr)
    for (const auto& [name, value] : py::reinterpret_borrow<py::dict>(words))
      add(name.cast<std::string>() + "=", value);
  return out;
}

PyObject* call_with_short_errors(PyObject* self, PyObject* arguments, PyObject* words) {
  PyObject* const out = dispatch(self, arguments, words);
  if (out != nullptr || PyErr_ExceptionMatches(PyExc_TypeError) == 0) return out;
  try {
    const py::error_already_set raised;
    const auto text = py::str(raised.value()).cast<std::string>();
    PyErr_SetString(PyExc_TypeError, with_short_arguments(text, arguments, words).c_str());
  } catch (py::error_already_set& e) {
    e.restore();
  }
  return nullptr;
}

// Of a function, or of each method of a class.
void shorten_errors(const py::handle& object) {
  if (PyType_Check(object.ptr())) {
    for (const auto& [name, member] : py::dict(object.attr("__dict__").attr("copy")())) {
      if (py::isinstance<py::staticmethod>(member)) shorten_errors(member.attr("__func__"));
      if (PyInstanceMethod_Check(member.ptr())) shorten_errors(PyInstanceMethod_GET_FUNCTION(member.ptr()));
    }
    return;
  }
  if (!PyCFunction_Check(object.ptr())) return;
  PyMethodDef* const method = reinterpret_cast<PyCFunctionObject*>(object.ptr())->m_ml;
  if (method->ml_flags != (METH_VARARGS | METH_KEYWORDS)) return;
  const auto own = reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(method->ml_meth));
  if (own == &call_with_short_errors || (dispatch != nullptr && own != dispatch)) return;
  dispatch = own;
  method->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call_with_short_errors));
}

}  // namespace

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

PYBIND11_MODULE(_core, m) {
  m.doc() = "The extension behind the package warpbit.";
  m.attr("__version__") = WARPBIT_VERSION_TEXT;
  py::register_exception_translator(&throw_in_python);
  for (Add* add :
       {add_instruction, add_execute, add_fragments,   add_formats,  add_explain,  add_compare,    add_layout,
        add_captures,    add_replay,  add_diagnose,    add_bits,     add_orders,   add_reductions, add_gemm,
        add_ptx,         add_debug,   add_tensor_maps, add_textures, add_quantize, add_functions})
    add(m);
  m.attr("_words") = all_words(kWords);
  m.def(
      "_format_of_items",
      [](char kind, const std::string& name, std::size_t item_bytes) {
        auto [of, format] = meaning_of_items(kind, name, item_bytes);
        return of == Kind::other ? std::nullopt : std::optional(std::move(format));
      },
      "kind"_a, "name"_a, "item_bytes"_a);
  for (const auto& [name, object] : py::dict(m.attr("__dict__"))) {
    shorten_errors(object);
    if (!PyType_Check(object.ptr())) continue;
    auto* type = py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(object.ptr()));
    if (type == nullptr) continue;
    type->operator_new = &without_value;
    py::setattr(object, "__reduce__", py::cpp_function(&reduced, py::is_method(object)));
    py::setattr(
        object, "__reduce_ex__",
        py::cpp_function([](const py::object& self, int) { return reduced(self); }, py::is_method(object)));
  }
}

}  // namespace warpbit::python
