// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <sstream>

#include "module.hpp"
#include "warpbit/format.hpp"

namespace warpbit::python {
namespace {

std::size_t register_bytes(const Operand& operand) {
  return static_cast<std::size_t>(operand.register_bits) / 8;
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

std::uint64_t code_at(const std::byte* at, std::size_t item_bytes) {
  std::uint64_t code = 0;
  std::memcpy(&code, at, item_bytes);
  return code;
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
  return bits_text(register_bytes(operand)) + " of shape (cases, " + one + " or (" + one;
}

ResultView RegisterArray::result_view() const {
  // Whether it can be written to is known: mutable_data() would ask again, with the GIL.
  return {const_cast<std::byte*>(view.base), view.case_stride, view.lane_stride, view.register_stride};
}

RegisterArray registers_of(const py::handle& object, const Operand& operand, int lanes,
                           const std::string& where) {
  const std::optional<py::array> array = Arguments::in_place(object, operand.format, register_bytes(operand));
  const py::ssize_t n = array ? array->ndim() : 0;
  if ((n != 2 && n != 3) || array->shape(n - 2) != lanes || array->shape(n - 1) != operand.registers)
    refuse(
        where, "operand " + std::string(operand.role) + " is " + seen_text(object),
        registers_text(operand, lanes) + "; scatter makes them of a matrix, scatter_values of one of numbers");
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
