// SPDX-License-Identifier: Apache-2.0
// What a launch of PTX is given: shapes, grades, and objects of Python as arguments of a kernel.
#include "launches.hpp"

#include <cstring>

#include "warpbit/tensor_map.hpp"

namespace warpbit::python {
namespace {

// ---- Arguments

[[noreturn]] void refuse_argument(const ptx::Parameter& parameter, std::string seen, std::string accepted) {
  refuse(Errc::argument_mismatch, "argument '" + parameter.name + "'", std::move(seen), std::move(accepted));
}

// "4 bytes (.u32)"
std::string type_text(const ptx::Parameter& parameter) {
  return std::to_string(parameter.bytes) + " bytes (." + parameter.type + ")";
}

// Whether a parameter is one number of its type, and no structure.
bool is_number(const ptx::Parameter& parameter) {
  const std::size_t digits = parameter.type.find_first_of("0123456789");
  return digits != std::string::npos && std::to_string(8 * parameter.bytes) == parameter.type.substr(digits);
}
bool is_float(const ptx::Parameter& parameter) {
  return parameter.type == "f32" || parameter.type == "f64";
}

}  // namespace

py::array memory_in(const py::handle& object, const std::string& where) {
  const auto refused = [&](const std::string& why) {
    refuse(Errc::argument_mismatch, where, seen_text(object) + why, "a C-contiguous array of numbers");
  };
  const std::optional<Items> items = items_in(object);
  if (!items || items->array.dtype().attr("hasobject").cast<bool>() || py::hasattr(object, "mask")) refused("");
  if (items->is_copy)
    refuse(Errc::argument_mismatch, where, seen_text(object) + ", which shares no memory", "np.asarray(x)");
  if (!items->array.dtype().attr("isnative").cast<bool>()) refused(" in another byte order");
  if ((items->array.flags() & py::array::c_style) == 0) refused(", which is not C-contiguous");
  return items->array;
}

std::span<const std::byte> bytes_in(const py::array& memory) {
  return {static_cast<const std::byte*>(memory.data()), static_cast<std::size_t>(memory.nbytes())};
}

namespace {

std::span<std::byte> writable(std::span<const std::byte> memory) {
  return {const_cast<std::byte*>(memory.data()), memory.size()};
}

std::vector<std::byte> bytes_of(const py::bytes& object) {
  const auto text = object.cast<std::string_view>();
  std::vector<std::byte> out(text.size());
  std::memcpy(out.data(), text.data(), text.size());
  return out;
}

// A Python number as C converts it: a float to the nearest f32. An integer may be too large for any.
template <class T>
std::vector<std::byte> float_bytes(const ptx::Parameter& parameter, const py::handle& object) {
  const double number = PyFloat_AsDouble(object.ptr());
  const bool overflows = PyErr_Occurred() != nullptr;
  PyErr_Clear();
  const T rounded = static_cast<T>(number);
  if (overflows || (std::isinf(rounded) && !std::isinf(number)))
    refuse_argument(parameter, py::repr(object).cast<std::string>(),
                    "a number that ." + parameter.type + " holds");
  std::vector<std::byte> out(sizeof rounded);
  std::memcpy(out.data(), &rounded, sizeof rounded);
  return out;
}

std::vector<std::byte> integer_bytes(const ptx::Parameter& parameter, const py::handle& object) {
  const bool negative = object.attr("__lt__")(0).cast<bool>();
  const py::object limit = py::int_(1).attr("__lshift__")(8 * parameter.bytes - (negative ? 1 : 0));
  const py::object size = negative ? object.attr("__invert__")() : py::reinterpret_borrow<py::object>(object);
  if (!size.attr("__lt__")(limit).cast<bool>())
    refuse_argument(parameter, py::repr(object).cast<std::string>(), "an integer of " + type_text(parameter));
  return bytes_of(object.attr("to_bytes")(parameter.bytes, "little", "signed"_a = negative));
}

// A number of Python's has no size: it takes that of the parameter.
std::vector<std::byte> number_bytes(const ptx::Parameter& parameter, const py::handle& object) {
  const std::string seen = py::repr(object).cast<std::string>();
  if (!is_number(parameter))
    refuse_argument(parameter, seen, "bytes or a NumPy scalar of " + type_text(parameter));
  if (is_float(parameter))
    return parameter.bytes == 4 ? float_bytes<float>(parameter, object)
                                : float_bytes<double>(parameter, object);
  if (PyFloat_Check(object.ptr()) || parameter.type[0] == 'f')
    refuse_argument(parameter, seen,
                    parameter.type[0] == 'f' ? "a NumPy scalar of " + type_text(parameter)
                                             : "an integer, or a NumPy scalar of " + type_text(parameter));
  return integer_bytes(parameter, object);
}

// A scalar of NumPy's has a size, which must be that of the parameter, and a kind.
std::vector<std::byte> scalar_bytes(const ptx::Parameter& parameter, const py::handle& object) {
  const py::dtype type = object.attr("dtype").cast<py::dtype>();
  const bool integer = std::string_view("iub").find(type.kind()) != std::string_view::npos,
             floating = type.kind() == 'f';
  const bool fits =
      parameter.type[0] == 'b' || !is_number(parameter) || !(parameter.type[0] == 'f' ? integer : floating);
  if (!fits || type.attr("hasobject").cast<bool>() ||
      static_cast<std::size_t>(type.itemsize()) != parameter.bytes)
    refuse_argument(parameter,
                    py::str(object).cast<std::string>() + ", " +
                        py::str(static_cast<const py::object&>(type)).cast<std::string>() + " of " +
                        std::to_string(type.itemsize()) + " bytes",
                    type_text(parameter));
  return bytes_of(object.attr("tobytes")());
}

std::vector<std::byte> map_bytes(const ptx::Parameter& parameter, const TensorMap& map) {
  const TensorMapBytes bytes = value_of(map.encode());
  if (parameter.bytes != bytes.size())
    refuse_argument(parameter, "a TensorMap, which is " + std::to_string(bytes.size()) + " bytes",
                    type_text(parameter));
  return {bytes.begin(), bytes.end()};
}

// What must live until the launch has ended comes to `held`.
ptx::Argument argument_of(const ptx::Parameter& parameter, const py::handle& object,
                          std::vector<py::object>& held) {
  if (object.is_none()) {
    if (parameter.bytes != 8)
      refuse_argument(parameter, "None, which is a pointer of 8 bytes", type_text(parameter));
    return ptx::null();
  }
  if (py::isinstance<TensorMap>(object)) return map_bytes(parameter, object.cast<const TensorMap&>());
  if (PyBytes_Check(object.ptr())) return bytes_of(py::reinterpret_borrow<py::bytes>(object));
  if (!py::isinstance<py::array>(object) &&
      py::isinstance(object, py::module_::import("numpy").attr("generic")))
    return scalar_bytes(parameter, object);
  if (PyLong_Check(object.ptr()) || PyFloat_Check(object.ptr())) return number_bytes(parameter, object);
  if (!items_in(object))
    refuse_argument(parameter, seen_text(object), "an array or tensor, a number, a TensorMap, bytes or None");
  const py::array array = memory_in(object, "argument '" + parameter.name + "'");
  held.push_back(array);
  if (array.writeable()) return writable(bytes_in(array));
  return bytes_in(array);
}

// ---- Addresses

// Arrays with an address, which live until a launch that may reach them has ended.
py::object& addressed() {
  static auto& all = *new py::object(py::module_::import("weakref").attr("WeakValueDictionary")());
  return all;
}

}  // namespace

std::uint64_t address_of(const AnyArray& object) {
  const py::array array = memory_in(object, "address");
  const std::span<const std::byte> memory = bytes_in(array);
  if (!array.writeable())
    refuse(Errc::argument_mismatch, "address", seen_text(array) + ", which is read-only",
           "an array that can be written to");
  static std::uint64_t count = 0;
  const std::uint64_t out = ptx::address(writable(memory));
  py::module_::import("weakref").attr("finalize")(object, py::cpp_function([out] { ptx::forget(out); }));
  addressed().attr("__setitem__")(++count, object);
  return out;
}

// ---- Launches

Dim3 dim3_of(const Extent& given, const char* what) {
  const auto refused = [&] {
    refuse(Errc::launch_shape, what, py::repr(given).cast<std::string>().substr(0, 80),
           "an integer, or one to three of them, from 1 on");
  };
  unsigned all[3] = {1, 1, 1};
  const auto take = [&](std::size_t i, const py::handle& number) {
    const py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(number.ptr()));
    if (!index) PyErr_Clear(), refused();
    const unsigned long long value = PyLong_AsUnsignedLongLong(index.ptr());
    if (PyErr_Occurred() != nullptr) PyErr_Clear(), refused();
    if (value < 1 || value > 0xFFFF'FFFF) refused();
    all[i] = static_cast<unsigned>(value);
  };
  if (!py::isinstance<py::sequence>(given) || py::isinstance<py::str>(given)) {
    take(0, given);
  } else {
    const auto numbers = given.cast<py::sequence>();
    if (numbers.size() < 1 || numbers.size() > 3) refused();
    for (std::size_t i = 0; i < numbers.size(); ++i) take(i, numbers[i]);
  }
  return {all[0], all[1], all[2]};
}

std::vector<ptx::GradedRule> grades_of(const Grades& rules) {
  std::vector<ptx::GradedRule> out;
  for (const auto& [rule, grade] : rules.cast<std::map<std::string, std::string>>()) {
    const std::optional<Grade> found = find_grade(grade);
    if (!found) refuse(Errc::usage, "rules", grade, "silent, note, finding or fault");
    out.push_back({rule, *found});
  }
  return out;
}

std::optional<Dim3> cluster_of(const OptionalExtent& cluster) {
  if (cluster.is_none()) return std::nullopt;
  return dim3_of(Extent(py::object(cluster)), "cluster");
}

std::vector<ptx::Argument> arguments_of(const ptx::Function& function, const LaunchArguments& args,
                                        std::vector<py::object>& held) {
  const std::vector<ptx::Parameter>& parameters = function.parameters();
  if (args.size() != parameters.size())
    refuse(Errc::argument_mismatch, function.name(), std::to_string(args.size()) + " arguments",
           std::to_string(parameters.size()));
  held.push_back(py::list(addressed().attr("values")()));
  std::vector<ptx::Argument> out;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const py::object object = args[i];
    held.push_back(object);  // the caller may change its list
    out.push_back(argument_of(parameters[i], object, held));
  }
  return out;
}

namespace {

const std::byte* address_of_item(const py::array& array, const std::vector<py::ssize_t>& index) {
  const bool fits = std::ssize(index) == array.ndim();
  const auto* at = static_cast<const std::byte*>(array.data());
  for (py::ssize_t i = 0; i < std::ssize(index); ++i) {
    const py::ssize_t n = index[static_cast<std::size_t>(i)];
    if (!fits || n < 0 || n >= array.shape(i))
      refuse("index", shape_text(index), "an index of an array of shape " + shape_text(shape_of(array)));
    at += n * array.strides(i);
  }
  if (!fits) refuse("index", "()", "an index of an array of shape " + shape_text(shape_of(array)));
  return at;
}

}  // namespace

std::span<const std::byte> element_of(const AnyArray& array, const std::vector<py::ssize_t>& index) {
  const std::optional<Items> items = items_in(array);
  if (!items || items->is_copy)
    refuse(Errc::argument_mismatch, "array", seen_text(array), "an array on the memory of an argument");
  return {address_of_item(items->array, index), static_cast<std::size_t>(items->array.itemsize())};
}

}  // namespace warpbit::python
