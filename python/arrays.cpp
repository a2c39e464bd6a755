// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "module.hpp"

namespace warpbit::python {
namespace {

std::string shape_text(const py::array& array) {
  return py::str(array.attr("shape")).cast<std::string>();
}

const char* unsigned_name(std::size_t item_bytes) {
  switch (item_bytes) {
    case 1: return "uint8";
    case 2: return "uint16";
    case 4: return "uint32";
    default: return "uint64";
  }
}

std::size_t register_bytes(const Operand& operand) {
  return static_cast<std::size_t>(operand.register_bits) / 8;
}

RegisterArray described(py::array array) {
  RegisterArray out;
  out.has_cases = array.ndim() == 3;
  const py::ssize_t lanes = out.has_cases ? 1 : 0;
  out.cases = out.has_cases ? static_cast<std::size_t>(array.shape(0)) : 1;
  out.case_stride = out.has_cases ? array.strides(0) : 0;
  out.lane_stride = array.strides(lanes);
  out.register_stride = array.strides(lanes + 1);
  out.array = std::move(array);
  return out;
}

}  // namespace

std::string seen_text(const py::handle& object) {
  if (!py::isinstance<py::array>(object))
    return "object of type " + py::str(py::type::handle_of(object).attr("__name__")).cast<std::string>();
  const auto array = py::reinterpret_borrow<py::array>(object);
  return py::str(array.dtype()).cast<std::string>() + " of shape " + shape_text(array);
}

bool is_unsigned(const py::handle& object, std::size_t item_bytes) {
  if (!py::isinstance<py::array>(object)) return false;
  const py::dtype type = py::reinterpret_borrow<py::array>(object).dtype();
  return type.kind() == 'u' && static_cast<std::size_t>(type.itemsize()) == item_bytes &&
         type.attr("isnative").cast<bool>();
}

py::dtype unsigned_dtype(std::size_t item_bytes) {
  return py::dtype(unsigned_name(item_bytes));
}

std::size_t code_bytes(int bits) {
  return std::bit_ceil((static_cast<std::size_t>(bits) + 7) / 8);
}

std::string registers_text(const Operand& operand, int lanes) {
  const std::string one = std::to_string(lanes) + ", " + std::to_string(operand.registers) + ")";
  return std::string(unsigned_name(register_bytes(operand))) + " of shape (cases, " + one + " or (" + one;
}

OperandView RegisterArray::view() const {
  return {static_cast<const std::byte*>(array.data()), case_stride, lane_stride, register_stride};
}

ResultView RegisterArray::result_view() const {
  // Whether it can be written to is known: mutable_data() would ask again, with the GIL.
  return {const_cast<std::byte*>(static_cast<const std::byte*>(array.data())), case_stride, lane_stride,
          register_stride};
}

RegisterArray registers_of(const py::handle& object, const Operand& operand, int lanes,
                           const std::string& where) {
  const auto refused = [&] {
    return Refusal{Error{Errc::view_mismatch, where,
                         "operand " + std::string(operand.role) + " is " + seen_text(object),
                         registers_text(operand, lanes)}};
  };
  if (!is_unsigned(object, register_bytes(operand))) throw refused();
  const auto array = py::reinterpret_borrow<py::array>(object);
  const py::ssize_t n = array.ndim();
  if ((n != 2 && n != 3) || array.shape(n - 2) != lanes || array.shape(n - 1) != operand.registers)
    throw refused();
  return described(array);
}

RegisterArray results_of(const py::handle& out, const Operand& operand, int lanes, bool has_cases,
                         std::size_t cases, const std::string& where) {
  if (out.is_none()) {
    std::vector<py::ssize_t> shape = {lanes, operand.registers};
    if (has_cases) shape.insert(shape.begin(), static_cast<py::ssize_t>(cases));
    return described(py::array(unsigned_dtype(register_bytes(operand)), shape));
  }
  RegisterArray result = registers_of(out, operand, lanes, where);
  const auto refuse = [&](const std::string& seen, const std::string& accepted) {
    throw Refusal{Error{Errc::view_mismatch, where, seen, accepted}};
  };
  if (result.has_cases != has_cases || result.cases != cases)
    refuse("out is " + seen_text(out), has_cases ? std::to_string(cases) + " cases, as the sources have"
                                                 : "no dimension for cases, as the sources have none");
  if (!result.array.writeable()) refuse("out is read-only", "an array that can be written to");
  if (!is_apart(result.array))
    refuse("items of out share memory or are interleaved", "an array whose items each have their own");
  return result;
}

bool is_apart(const py::array& array) {
  std::vector<std::pair<std::size_t, std::size_t>> dimensions;  // stride, size
  for (py::ssize_t i = 0; i < array.ndim(); ++i)
    if (array.shape(i) > 1)
      dimensions.emplace_back(static_cast<std::size_t>(std::abs(array.strides(i))),
                              static_cast<std::size_t>(array.shape(i)));
  std::sort(dimensions.begin(), dimensions.end());
  auto extent = static_cast<std::size_t>(array.itemsize());  // of one step of the next dimension
  for (const auto& [stride, size] : dimensions) {
    if (stride < extent) return false;
    extent += stride * (size - 1);
  }
  return true;
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
  if (shared)
    throw Refusal{Error{Errc::view_mismatch, where, "out shares memory with " + name,
                        "memory of its own, or the same registers"}};
}

bool takes_registers(const Operand& operand) {
  const auto is_set = [](const std::optional<std::uint64_t>& literal) { return literal.has_value(); };
  return operand.registers > 0 && operand.kind != OperandKind::immediate &&
         (operand.literals.empty() || !std::all_of(operand.literals.begin(), operand.literals.end(), is_set));
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
    out.views.push_back(out.arrays.back().view());
  }
  if (taken != sources.size())
    throw Refusal{Error{Errc::view_mismatch, where, std::to_string(sources.size()) + " arrays of registers",
                        std::to_string(taken) + ", of " + roles}};
  if (out.arrays.empty()) return out;
  out.has_cases = out.arrays[0].has_cases;
  out.cases = out.arrays[0].cases;
  for (std::size_t i = 1; i < out.arrays.size(); ++i)
    if (out.arrays[i].has_cases != out.has_cases || out.arrays[i].cases != out.cases)
      throw Refusal{
          Error{Errc::view_mismatch, where,
                "shapes " + shape_text(out.arrays[0].array) + " and " + shape_text(out.arrays[i].array),
                "equally many cases in each array, or none in any"}};
  return out;
}

std::vector<std::uint64_t> codes_of(const py::handle& object, const std::string& where) {
  const auto refuse = [&](const std::string& seen) {
    throw Refusal{Error{Errc::view_mismatch, where, seen,
                        "codes: a sequence of int, or an array of unsigned integers "
                        "with one dimension"}};
  };
  std::vector<std::uint64_t> out;
  if (!py::isinstance<py::array>(object)) {
    if (!py::isinstance<py::sequence>(object) || py::isinstance<py::str>(object)) refuse(seen_text(object));
    for (const py::handle& item : py::reinterpret_borrow<py::sequence>(object)) {
      const py::int_ code = py::reinterpret_steal<py::int_>(PyNumber_Index(item.ptr()));
      if (!code) throw py::error_already_set();
      const std::uint64_t value = PyLong_AsUnsignedLongLong(code.ptr());
      if (PyErr_Occurred()) {
        PyErr_Clear();
        refuse(py::repr(code).cast<std::string>());
      }
      out.push_back(value);
    }
    return out;
  }
  const auto array = py::reinterpret_borrow<py::array>(object);
  const auto bytes = static_cast<std::size_t>(array.itemsize());
  if (array.ndim() != 1 || bytes > 8 || !is_unsigned(object, bytes)) refuse(seen_text(object));
  out.resize(static_cast<std::size_t>(array.shape(0)));
  const auto* at = static_cast<const std::byte*>(array.data());
  for (std::uint64_t& code : out) {
    std::memcpy(&code, at, bytes);
    at += array.strides(0);
  }
  return out;
}

py::array array_of(const std::vector<std::uint64_t>& codes, std::size_t item_bytes,
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
