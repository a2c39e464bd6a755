// SPDX-License-Identifier: Apache-2.0
// What the files of the Python module share: errors as exceptions, words for enumerators, arrays as views.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"
#include "warpbit/fragment.hpp"
#include "words.hpp"

namespace warpbit::python {

namespace py = pybind11;
using py::literals::operator""_a;

// What each file adds to the module, in the order in which they need each other.
void add_errors(py::module_& m);
void add_instruction(py::module_& m);
void add_execute(py::module_& m);
void add_fragments(py::module_& m);
void add_formats(py::module_& m);
void add_gemm(py::module_& m);
void add_explain(py::module_& m);
void add_compare(py::module_& m);
void add_layout(py::module_& m);
void add_captures(py::module_& m);
void add_replay(py::module_& m);
void add_diagnose(py::module_& m);

/// An Error on its way to Python, where it is warpbit.Error.
struct Refusal {
  Error error;
};

/// The value, or a Refusal.
template <class T>
T value_of(Result<T> result) {
  if (!result) throw Refusal{result.error()};
  return std::move(result).value();
}
inline void check(const Result<void>& result) {
  if (!result) throw Refusal{result.error()};
}

/// Throws what `result` has against the call. The GIL is released while `work` runs, which touches no object of
/// Python and throws nothing but Refusal and std::bad_alloc.
template <class Work>
auto without_gil(Work work) {
  const py::gil_scoped_release released;
  return work();
}

/// warpbit.Execution: Execution, with the registers of D, or its codes.
struct Executed {
  py::array d;
  Kernel kernel;
  bool inferred;
};

// ---- Arrays

/// "uint32 of shape (2, 32, 4)", or "list" of what is no array.
std::string seen_text(const py::handle& object);
/// True if it is an array of native unsigned integers of that size.
bool is_unsigned(const py::handle& object, std::size_t item_bytes);
/// The type of unsigned integers of a size of 1, 2, 4 or 8 bytes.
py::dtype unsigned_dtype(std::size_t item_bytes);
/// The bytes of the least of these that holds a code of so many bits.
std::size_t code_bytes(int bits);

/// "uint32 of shape (cases, 32, 4) or (32, 4)": the registers of an operand.
std::string registers_text(const Operand& operand, int lanes);

/// Registers of an operand in an array that Python holds.
struct RegisterArray {
  py::array array;
  bool has_cases = true;  ///< three dimensions; else one case
  std::size_t cases = 1;
  std::ptrdiff_t case_stride = 0, lane_stride = 0, register_stride = 0;

  OperandView view() const;
  /// Precondition: the array is writable.
  ResultView result_view() const;
};
/// The array as it lies, whatever its strides. Errors: view_mismatch, at `where`, if it is not of the operand's
/// registers.
RegisterArray registers_of(const py::handle& object, const Operand& operand, int lanes,
                           const std::string& where);
/// The same to write to: `out` if it is one, else a new dense array of so many cases. Errors: also of one that
/// cannot be written to, has not that many cases, or whose items share memory.
RegisterArray results_of(const py::handle& out, const Operand& operand, int lanes, bool has_cases,
                         std::size_t cases, const std::string& where);
/// Errors: view_mismatch, if an array that is written shares memory with one that is read, unless they are the
/// same registers.
void check_apart(const py::array& written, const py::array& read, const std::string& where,
                 const std::string& name);
/// True if no two items of it can share memory, by its strides.
bool is_apart(const py::array& array);

/// True if an operand is registers that a caller gives; literals are in the statement.
bool takes_registers(const Operand& operand);

/// As `execute` takes them: an array for each source operand that takes registers.
struct SourceArrays {
  std::vector<RegisterArray> arrays;
  std::vector<OperandView> views;  ///< for each source operand, in the order of the statement
  bool has_cases = true;
  std::size_t cases = 1;
};
/// Errors: view_mismatch: another number of arrays, one that does not fit, unequal numbers of cases.
SourceArrays sources_of(const Instruction& instruction, const py::args& sources);

/// Integers as codes: an array of unsigned integers of any size and one dimension, or a sequence of int.
/// Errors: view_mismatch, at `where`.
std::vector<std::uint64_t> codes_of(const py::handle& object, const std::string& where);
/// The same as an array of the given unsigned type and shape.
py::array array_of(const std::vector<std::uint64_t>& codes, std::size_t item_bytes,
                   const std::vector<py::ssize_t>& shape);

}  // namespace warpbit::python
