// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "module.hpp"

namespace warpbit::python {
namespace {

std::string unsigned_name(std::size_t item_bytes) {
  return "uint" + std::to_string(8 * item_bytes);
}

// The format of NumPy's floats of this size.
std::string float_format(std::size_t item_bytes) {
  return "f" + std::to_string(8 * item_bytes);
}

std::size_t register_bytes(const Operand& operand) {
  return static_cast<std::size_t>(operand.register_bits) / 8;
}

std::string type_name(const py::handle& object) {
  return py::type::handle_of(object).attr("__name__").cast<std::string>();
}

RegisterArray described(py::array array) {
  RegisterArray out;
  out.has_cases = array.ndim() == 3;
  const py::ssize_t lanes = out.has_cases ? 1 : 0;
  out.cases = out.has_cases ? static_cast<std::size_t>(array.shape(0)) : 1;
  out.view = {static_cast<const std::byte*>(array.data()), out.has_cases ? array.strides(0) : 0,
              array.strides(lanes), array.strides(lanes + 1)};
  out.array = std::move(array);
  return out;
}

}  // namespace

std::string seen_text(const py::handle& object) {
  if (!py::isinstance<py::array>(object)) return "object of type " + type_name(object);
  const auto array = py::reinterpret_borrow<py::array>(object);
  return (array_in(object) ? "" : "masked ") + py::str(array.dtype()).cast<std::string>() + " of shape " +
         py::str(array.attr("shape")).cast<std::string>();
}

std::optional<py::array> array_in(const py::handle& object) {
  if (!py::isinstance<py::array>(object) || py::hasattr(object, "mask")) return std::nullopt;
  return py::reinterpret_borrow<py::array>(object);
}

std::optional<py::array> bits_in(const py::handle& object, std::size_t item_bytes, std::string_view format) {
  std::optional<py::array> array = array_in(object);
  if (!array) return std::nullopt;
  const py::dtype type = array->dtype();
  const bool fits = type.kind() == 'u' || (type.kind() == 'f' && format == float_format(item_bytes));
  if (!fits || static_cast<std::size_t>(type.itemsize()) != item_bytes || !type.attr("isnative").cast<bool>())
    return std::nullopt;
  return array;
}

std::string bits_text(std::size_t item_bytes, std::string_view format) {
  return unsigned_name(item_bytes) +
         (format == float_format(item_bytes) ? " or float" + std::to_string(8 * item_bytes) : "");
}

py::dtype unsigned_dtype(std::size_t item_bytes) {
  return py::dtype(unsigned_name(item_bytes));
}

std::size_t code_bytes(int bits) {
  return std::bit_ceil((static_cast<std::size_t>(bits) + 7) / 8);
}

std::uint64_t code_at(const std::byte* at, std::size_t item_bytes) {
  std::uint64_t code = 0;
  std::memcpy(&code, at, item_bytes);
  return code;
}

py::array_t<double> numbers_of(const py::handle& object, const std::string& where) {
  const auto refused = [&](const std::string& seen) {
    refuse(where, "values are " + seen,
           "an array of floats or integers, numbers or lists of them, each of which float64 holds");
  };
  if (py::isinstance<py::array>(object) && !array_in(object)) refused(seen_text(object));
  const py::module_ numpy = py::module_::import("numpy");
  py::array array;
  try {
    array = numpy.attr("asarray")(object);
  } catch (const py::error_already_set& e) {  // lists of unequal lengths
    if (!e.matches(PyExc_ValueError)) throw;
    refused(seen_text(object));
  }
  const char kind = array.dtype().kind();
  if (!(kind == 'f' && array.itemsize() <= 8) && kind != 'i' && kind != 'u')
    refused(py::isinstance<py::array>(object) ? seen_text(object) : py::repr(object).cast<std::string>());
  if (kind != 'f' && array.itemsize() == 8 &&
      (numpy.attr("any")(array.attr("__gt__")(std::int64_t{1} << 53)).cast<bool>() ||
       numpy.attr("any")(array.attr("__lt__")(-(std::int64_t{1} << 53))).cast<bool>()))
    refused("integers beyond 2^53");
  return array.attr("astype")("float64", "order"_a = "C", "copy"_a = false).cast<py::array_t<double>>();
}

std::string shape_text(const std::vector<py::ssize_t>& shape) {
  return py::str(py::tuple(py::cast(shape))).cast<std::string>();
}

py::array dense(const py::array& array) {
  return py::array::ensure(array, py::array::c_style);
}

std::vector<std::uint64_t> codes_in(const py::array& array) {
  const py::array items = dense(array);
  const auto bytes = static_cast<std::size_t>(items.itemsize());
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(items.size()); ++i)
    out.push_back(code_at(static_cast<const std::byte*>(items.data()) + i * bytes, bytes));
  return out;
}

std::vector<py::ssize_t> shape_of(const py::array& array) {
  return {array.shape(), array.shape() + array.ndim()};
}

std::string registers_text(const Operand& operand, int lanes) {
  const std::string one = std::to_string(lanes) + ", " + std::to_string(operand.registers) + ")";
  return unsigned_name(register_bytes(operand)) + " of shape (cases, " + one + " or (" + one;
}

ResultView RegisterArray::result_view() const {
  // Whether it can be written to is known: mutable_data() would ask again, with the GIL.
  return {const_cast<std::byte*>(view.base), view.case_stride, view.lane_stride, view.register_stride};
}

RegisterArray registers_of(const py::handle& object, const Operand& operand, int lanes,
                           const std::string& where) {
  const std::optional<py::array> array = bits_in(object, register_bytes(operand), operand.format);
  const py::ssize_t n = array ? array->ndim() : 0;
  if ((n != 2 && n != 3) || array->shape(n - 2) != lanes || array->shape(n - 1) != operand.registers)
    refuse(where, "operand " + std::string(operand.role) + " is " + seen_text(object),
           registers_text(operand, lanes));
  return described(*array);
}

RegisterArray results_of(const py::handle& out, const Operand& operand, int lanes, bool has_cases,
                         std::size_t cases, const std::string& where) {
  if (out.is_none()) {
    std::vector<py::ssize_t> shape = {lanes, operand.registers};
    if (has_cases) shape.insert(shape.begin(), static_cast<py::ssize_t>(cases));
    return described(py::array(unsigned_dtype(register_bytes(operand)), shape));
  }
  RegisterArray result = registers_of(out, operand, lanes, where);
  if (result.has_cases != has_cases || result.cases != cases)
    refuse(where, "out is " + seen_text(out),
           has_cases ? std::to_string(cases) + " cases, as the sources have"
                     : "no dimension for cases, as the sources have none");
  check_writable(result.array, where);
  return result;
}

void check_writable(const py::array& out, const std::string& where) {
  if (!out.writeable()) refuse(where, "out is read-only", "an array that can be written to");
  std::vector<std::pair<std::size_t, std::size_t>> dimensions;  // stride, size
  for (py::ssize_t i = 0; i < out.ndim(); ++i)
    if (out.shape(i) > 1)
      dimensions.emplace_back(static_cast<std::size_t>(std::abs(out.strides(i))),
                              static_cast<std::size_t>(out.shape(i)));
  std::sort(dimensions.begin(), dimensions.end());
  auto extent = static_cast<std::size_t>(out.itemsize());  // of one step of the next dimension
  for (const auto& [stride, size] : dimensions) {
    if (stride < extent)
      refuse(where, "items of out share memory or are interleaved", "an array whose items each have their own");
    extent += stride * (size - 1);
  }
}

void check_apart(const py::array& written, const py::array& read, const std::string& where,
                 const std::string& name) {
  const auto same = [](const py::array& x, const py::array& y) {
    return x.data() == y.data() && x.ndim() == y.ndim() &&
           std::equal(x.shape(), x.shape() + x.ndim(), y.shape()) &&
           std::equal(x.strides(), x.strides() + x.ndim(), y.strides());
  };
  if (same(written, read)) return;
  constexpr int kMostWork = 100'000;  // of NumPy's search for a common byte
  bool shared = true;
  try {
    shared = py::module_::import("numpy").attr("shares_memory")(written, read, kMostWork).cast<bool>();
  } catch (py::error_already_set& e) {
    if (!e.matches(py::module_::import("numpy").attr("TooHardError"))) throw;
  }
  if (shared) refuse(where, "out shares memory with " + name, "memory of its own, or the same registers");
}

bool takes_registers(const Operand& operand) {
  return operand.registers > 0 && operand.kind != OperandKind::immediate && !operand.is_all_literals();
}

SourceArrays sources_of(const Instruction& instruction, const py::args& sources) {
  const std::string where(instruction.canonical());
  SourceArrays out;
  std::size_t taken = 0;
  std::string roles;
  for (const Operand& operand : instruction.operands()) {
    if (operand.is_destination()) continue;
    if (!takes_registers(operand)) {
      out.views.emplace_back();
      continue;
    }
    roles += (roles.empty() ? "" : ", ") + std::string(operand.role);
    if (taken++ >= sources.size()) continue;
    out.arrays.push_back(registers_of(sources[taken - 1], operand, instruction.lanes(), where));
    out.views.push_back(out.arrays.back().view);
  }
  if (taken != sources.size())
    refuse(where, std::to_string(sources.size()) + " arrays of registers",
           std::to_string(taken) + ", of " + roles);
  if (out.arrays.empty()) return out;
  out.has_cases = out.arrays[0].has_cases;
  out.cases = out.arrays[0].cases;
  for (const RegisterArray& other : out.arrays)
    if (other.has_cases != out.has_cases || other.cases != out.cases)
      refuse(
          where,
          "shapes " + shape_text(shape_of(out.arrays[0].array)) + " and " + shape_text(shape_of(other.array)),
          "equally many cases in each array, or none in any");
  return out;
}

std::vector<std::uint64_t> codes_of(const py::handle& object, const std::string& where) {
  const auto refused = [&](const std::string& seen) {
    refuse(where, seen,
           "codes: a sequence of int, or an array of unsigned integers with one dimension (encode gives "
           "the codes of numbers)");
  };
  std::vector<std::uint64_t> out;
  if (!py::isinstance<py::array>(object)) {
    if (!py::isinstance<py::sequence>(object) || py::isinstance<py::str>(object)) refused(seen_text(object));
    for (const py::handle& item : py::reinterpret_borrow<py::sequence>(object)) {
      const auto code = py::reinterpret_steal<py::int_>(PyNumber_Index(item.ptr()));
      out.push_back(code ? PyLong_AsUnsignedLongLong(code.ptr()) : 0);
      if (!PyErr_Occurred()) continue;
      PyErr_Clear();
      refused(py::repr(item).cast<std::string>() + " of type " + type_name(item));
    }
    return out;
  }
  const auto bytes = static_cast<std::size_t>(py::reinterpret_borrow<py::array>(object).itemsize());
  const std::optional<py::array> array = bits_in(object, bytes);
  if (!array || array->ndim() != 1) refused(seen_text(object));
  return codes_in(*array);
}

Unsigned array_of(const std::vector<std::uint64_t>& codes, std::size_t item_bytes,
                  const std::vector<py::ssize_t>& shape) {
  py::array out(unsigned_dtype(item_bytes), shape);
  auto* at = static_cast<std::byte*>(out.mutable_data());
  for (const std::uint64_t code : codes) {
    std::memcpy(at, &code, item_bytes);
    at += item_bytes;
  }
  return out;
}

}  // namespace warpbit::python
