// SPDX-License-Identifier: Apache-2.0
// What people hold arrays in.
#include <algorithm>
#include <sstream>

#include "module.hpp"
#include "warpbit/format.hpp"

namespace warpbit::python {
namespace {

std::string type_name(const py::handle& object) {
  return py::type::handle_of(object).attr("__name__").cast<std::string>();
}

std::string module_name(const py::handle& object) {
  const auto name = py::str(py::type::handle_of(object).attr("__module__")).cast<std::string>();
  return name.substr(0, name.find('.'));
}

std::optional<FormatInfo> format_named(std::string_view name) {
  Result<FormatInfo> found = find_format_info(name);
  if (!found) return std::nullopt;
  return std::move(found).value();
}

// ---- NumPy

bool is_array(const py::handle& object) {
  return py::isinstance<py::array>(object) ||
         py::isinstance(object, py::module_::import("numpy").attr("generic"));
}

Items items_of_array(const py::array& array) {
  const py::dtype type = array.dtype();
  if (py::hasattr(array, "mask") || !type.attr("isnative").cast<bool>()) return {array, Kind::other, {}};
  const std::string dtype = type.kind() == 'u' ? "" : type.attr("name").cast<std::string>();  // slow
  auto [kind, format] = meaning_of_items(type.kind(), dtype, static_cast<std::size_t>(type.itemsize()));
  return {array, kind, std::move(format)};
}

std::optional<Items> items_of_numpy(const py::handle& object) {
  if (py::isinstance<py::array>(object)) return items_of_array(py::reinterpret_borrow<py::array>(object));
  return items_of_array(py::array(py::module_::import("numpy").attr("asarray")(object)));
}

// ---- PyTorch

// PyTorch, if it is loaded and this is one of its tensors.
py::handle torch_of(const py::handle& object) {
  static PyObject* const modules = PySys_GetObject("modules");
  PyObject* const torch = modules == nullptr ? nullptr : PyDict_GetItemString(modules, "torch");
  if (torch == nullptr || !py::hasattr(torch, "Tensor") ||
      !py::isinstance(object, py::handle(torch).attr("Tensor")))
    return {};
  return torch;
}

bool is_tensor(const py::handle& object) {
  return static_cast<bool>(torch_of(object));
}

// "bfloat16"
std::string tensor_type(const py::handle& tensor) {
  return py::str(tensor.attr("dtype")).cast<std::string>().substr(std::string_view("torch.").size());
}

// What a tensor holds, where it holds it. NumPy lacks some of its types: these become unsigned integers.
std::optional<Items> items_of_tensor(const py::handle& tensor) {
  const py::handle torch = torch_of(tensor);
  if (const auto device = py::str(tensor.attr("device")).cast<std::string>(); device != "cpu")
    refuse("tensor", "it is on " + device, "a tensor on the CPU: x.cpu()");
  const auto bytes = tensor.attr("element_size")().cast<std::size_t>();
  const std::string type = tensor_type(tensor);
  const py::object values = tensor.attr("detach")();
  if (type != "bool" && py::hasattr(py::module_::import("numpy"), type.c_str()))
    return items_of_array(values.attr("numpy")());
  auto [kind, format] = meaning_of_items('V', type, bytes);
  if (bytes > 2) refuse("tensor", "it is of torch." + type, "a type that NumPy or ml_dtypes has");
  const py::object as_integers = values.attr("view")(torch.attr(bytes == 1 ? "uint8" : "int16"));
  return Items{as_integers.attr("numpy")().attr("view")(unsigned_dtype(bytes)), kind, std::move(format)};
}

// ---- GPUs

bool is_on_gpu(const py::handle& object) {
  return py::hasattr(object, "__cuda_array_interface__");
}

std::optional<Items> refused_gpu(const py::handle& object) {
  refuse(type_name(object), "it is in the memory of a GPU", copy_of_gpu(object));
}

// ---- Everything else that has an array

bool has_dlpack(const py::handle& object) {
  return py::hasattr(object, "__dlpack__") && py::hasattr(object, "__dlpack_device__");
}

bool has_buffer(const py::handle& object) {
  return PyObject_CheckBuffer(object.ptr()) != 0 && !PyBytes_Check(object.ptr());
}

bool has_array(const py::handle& object) {
  return py::hasattr(object, "__array__") || py::hasattr(object, "__array_interface__");
}

std::optional<Items> items_of_copy(const py::handle& object) {
  std::optional<Items> out = items_of_numpy(object);
  out->is_copy = true;  // it may be
  return out;
}

// The first that holds an object says what is in it.
struct Container {
  bool (*holds)(const py::handle& object);
  std::optional<Items> (*items)(const py::handle& object);
};
constexpr Container kContainers[] = {
    {is_array, items_of_numpy},     // NumPy, ml_dtypes; scalars, which have no dimension
    {is_tensor, items_of_tensor},   // PyTorch
    {is_on_gpu, refused_gpu},       // CuPy, Numba
    {has_dlpack, items_of_dlpack},  // JAX and others
    {has_buffer, items_of_numpy},   // array.array, memoryview
    {has_array, items_of_copy},     // pandas
};

}  // namespace

std::string copy_of_gpu(const py::handle& object) {
  struct Copy {
    std::string_view module, text;
  };
  constexpr Copy kCopies[] = {
      {"cupy", "x.get()"}, {"numba", "x.copy_to_host()"}, {"torch", "x.cpu()"}, {"jax", "numpy.asarray(x)"}};
  const std::string module = module_name(object);
  const auto* found = std::ranges::find(kCopies, module, &Copy::module);
  return "a copy in the memory of this computer" +
         (found == std::end(kCopies) ? std::string() : ": " + std::string(found->text));
}

std::string dtype_name(const FormatInfo& format) {
  std::istringstream words{std::string(format.synonyms)};
  for (std::string word; words >> word;) {
    const std::size_t digit = word.find_first_of("0123456789");
    const std::string kind = word.substr(0, digit);
    if (digit != std::string::npos && (kind == "float" || kind == "bfloat" || kind == "int" || kind == "uint"))
      return word;
  }
  return {};
}

std::pair<Kind, std::string> meaning_of_items(char kind, const std::string& name, std::size_t item_bytes) {
  if (kind == 'u') return {Kind::codes, ""};
  const std::optional<FormatInfo> format = format_named(name);
  const bool known = format && dtype_name(*format) == name && code_bytes(format->bits) == item_bytes;
  const std::string own = known ? std::string(format->name) : std::string();
  if (kind == 'i') return {Kind::integers, own};
  return {known ? Kind::numbers : Kind::other, own};
}

std::optional<Items> items_in(const py::handle& object) {
  const auto* found = std::ranges::find_if(kContainers, [&](const Container& c) { return c.holds(object); });
  if (found == std::end(kContainers)) return std::nullopt;
  return found->items(object);
}

std::string seen_text(const py::handle& object) {
  const auto shape = [&] {
    return " of shape " + py::str(py::tuple(object.attr("shape"))).cast<std::string>();
  };
  if (is_tensor(object)) return "torch." + tensor_type(object) + shape();
  if (is_array(object))
    return (py::hasattr(object, "mask") ? "masked " : "") + py::str(object.attr("dtype")).cast<std::string>() +
           shape();
  if (PyLong_Check(object.ptr()) || PyFloat_Check(object.ptr()))
    return py::repr(object).cast<std::string>().substr(0, 40);
  return "object of type " + type_name(object);
}

}  // namespace warpbit::python
