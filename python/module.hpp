// SPDX-License-Identifier: Apache-2.0
// What the files of the Python module share: errors as exceptions, words for enumerators, arrays as views.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>  // INFINITY
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "warpbit/explain.hpp"
#include "warpbit/fragment.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/replay.hpp"
#include "warpbit/result.hpp"
#include "words.hpp"

namespace warpbit::python {

namespace py = pybind11;
using py::literals::operator""_a;
using GilReleased = py::call_guard<py::gil_scoped_release>;  ///< for functions that touch no object of Python

// What each file adds to the module, in the order in which they need each other.
using Add = void(py::module_& m);
Add add_instruction, add_execute, add_fragments, add_formats, add_gemm, add_explain, add_compare, add_layout,
    add_captures, add_replay, add_diagnose, add_ptx, add_tensor_maps, add_textures;

inline constexpr int kColumns = 100;  ///< of texts for a person

// ---- Errors

/// An Error on its way to Python, where it is warpbit.Error.
struct Refusal {
  Error error;
};
[[noreturn]] inline void refuse(Errc code, std::string where, std::string seen, std::string accepted) {
  throw Refusal{Error{code, std::move(where), std::move(seen), std::move(accepted)}};
}
/// The same with view_mismatch.
[[noreturn]] inline void refuse(std::string where, std::string seen, std::string accepted) {
  refuse(Errc::view_mismatch, std::move(where), std::move(seen), std::move(accepted));
}

/// The error as an instance of warpbit.Error, which is not raised; and back. Errors: usage, for a code that is none.
py::object exception_of(const Error& error);
Error error_of(const py::handle& exception);

/// The value, or a Refusal.
template <class T>
auto value_of(Result<T> result) {
  if (!result) throw Refusal{result.error()};
  return std::move(result).value();
}

/// work() without the GIL: it touches no object of Python and throws nothing but Refusal and std::bad_alloc.
template <class Work>
auto without_gil(Work work) {
  const py::gil_scoped_release released;
  return work();
}

/// The same for work that may take long: it runs in a thread of its own, which is stopped when a signal handler of
/// Python raised something (Ctrl-C: KeyboardInterrupt). That is thrown. Work of few products of elements runs here, and all where there is no thread.
template <class Work>
auto interruptible(Work work, double products = INFINITY) {
  if (products < 1 << 23) return without_gil(work);
  std::atomic<bool> stop = false;
  std::optional<py::error_already_set> raised;
  auto done = std::async(std::launch::async | std::launch::deferred, [&] {
    const Stoppable stoppable(stop);
    return work();
  });
  const auto ends = [&] {
    return without_gil(
        [&] { return done.wait_for(std::chrono::milliseconds(50)) != std::future_status::timeout; });
  };
  while (!ends())
    if (!stop && PyErr_CheckSignals() != 0) {
      raised.emplace();
      stop = true;
    }
  if (raised) throw *raised;
  return done.get();
}

/// __eq__ by same(x, y), with objects of other classes False.
template <class Class, class Same>
void add_equality(Class& c, Same same) {
  using T = typename Class::type;
  c.def(
      "__eq__",
      [same](const T& x, const py::object& y) { return py::isinstance<T>(y) && same(x, y.cast<const T&>()); },
      "other"_a);
}

/// Bytes of a span, 0 without a swizzle; and back. Errors: usage.
int bytes_of(Swizzle swizzle);
Swizzle swizzle_of(int bytes);

// ---- Types in signatures

template <std::size_t N>
struct Annotation {
  char text[N];
  constexpr Annotation(const char (&t)[N]) { std::copy_n(t, N, text); }
};
/// An object that signatures, from which the stub is made (make_stub.py), call by this annotation.
template <Annotation A, class Base = py::object>
struct As : Base {
  using Base::Base;
  As() = default;
  As(Base base) : Base(std::move(base)) {}
  static bool check_(py::handle h) { return py::isinstance<Base>(h); }
};
using Code = As<"Union[int, float]">;  ///< anything with __index__, or a number
using Codes = As<"_Codes">;
using OptionalCodes = As<"Optional[_Codes]">;
using Bits = As<
    "_Bits">;  ///< registers or codes: unsigned integers, or items whose dtype says their format, as their bits
using OptionalBits = As<"Optional[_Bits]">;
using Numbers = As<"_Numbers">;  ///< see numbers_of()
using Bytes = As<"NDArray[np.uint8]">;
using Unsigned = As<"NDArray[np.unsignedinteger[Any]]", py::array>;
using Arrays = As<"dict[str, NDArray[Any]]", py::dict>;
using Types = As<"dict[str, tuple[np.dtype[Any], tuple[int, ...]]]", py::dict>;
using AnyComputation = As<"Union[Instruction, Computation]">;
using Share = std::pair<std::uint64_t, std::uint64_t>;

/// A Target, or its name.
struct TargetName {
  Target target;
  operator Target() const { return target; }
};
/// Errors: usage, unless 1 <= i <= n.
Shard shard_of(Share share);

/// warpbit.Execution: Execution, with the registers of D, or its codes.
struct Executed {
  As<"NDArray[Any]", py::array> d;
  Kernel kernel;
  bool inferred;
};

// ---- Operands and elements

/// An operand and the instruction that it is of.
struct BoundOperand {
  Instruction instruction;
  std::size_t index;

  const Operand& operator*() const { return instruction.operands()[index]; }
  const Operand* operator->() const { return &**this; }
};
/// (rows, columns); (products, rows, columns) where there are several products.
std::vector<py::ssize_t> matrix_shape(const FragmentMap& map);

/// The inputs of an element from sequences of codes, or of numbers that the formats of the instruction hold; None is empty.
/// Errors: view_mismatch, with the operand.
ElementInputs element_of(const Instruction& instruction, const Codes& a, const Codes& b, const Code& c,
                         const OptionalCodes& a_scale, const OptionalCodes& b_scale);
/// A Computation, or an Instruction alone.
Computation computation_of(const py::handle& object);

// ---- Arrays

/// "uint32 of shape (2, 32, 4)", "masked uint32 ...", "torch.bfloat16 of ...", or "object of type list".
std::string seen_text(const py::handle& object);
/// The array, unless it is something else, or has a mask.
std::optional<py::array> array_in(const py::handle& object);
/// The memory of an array. Errors: argument_mismatch, at `where`, unless it is C-contiguous and in this machine's byte order.
std::span<const std::byte> memory_of(const py::array& array, const std::string& where);
/// The format that a dtype says, by its kind, name and bytes of an item in NumPy, ml_dtypes or PyTorch: "bf16" for 'V', "bfloat16", 2.
/// "" for unsigned integers, which are codes of any format; nothing for what is no format here.
std::optional<std::string> format_of_items(char kind, const std::string& name, std::size_t item_bytes);
/// An array, and the format that its dtype says: "" for codes.
struct Items {
  py::array array;
  std::string format;
};
/// An array, or what a tensor of PyTorch on the CPU holds, where it holds it. Errors: view_mismatch for a tensor elsewhere.
std::optional<Items> items_in(const py::handle& object);
/// The numbers of items whose format is known, exactly.
py::array_t<double> decoded(const Items& items);
/// The array, if its items are native unsigned integers of that size, or of `format` if that has the size: these count
/// as their bits.
std::optional<py::array> bits_in(const py::handle& object, std::size_t item_bytes,
                                 std::string_view format = {});
/// "uint16", or "uint16 or bfloat16" where that is taken as its bits.
std::string bits_text(std::size_t item_bytes, std::string_view format = {});
/// Whether matrices were given as numbers: the dtype of one says its format, and no other is of codes. None does not count;
/// uint8 is as good as a number where the operand is of such integers.
bool holds_numbers(std::initializer_list<std::pair<py::object, const Operand*>> arrays);
/// Codes as numbers: float16, float32, float64 or int32; as they are where NumPy has no type for the format.
py::array as_numbers(const py::array& codes, std::string_view format);
/// The type of unsigned integers of a size of 1, 2, 4 or 8 bytes.
py::dtype unsigned_dtype(std::size_t item_bytes);
/// The bytes of the smallest of these that holds a code of these bits.
std::size_t code_bytes(int bits);
/// The array with its items one after the other, the last dimension first: itself, or a copy.
py::array dense(const py::array& array);
/// The codes in an array of unsigned integers, in that order.
std::vector<std::uint64_t> codes_in(const py::array& array);
/// The code at an address.
std::uint64_t code_at(const std::byte* at, std::size_t item_bytes);
/// As dense float64: an array or tensor of floats or integers, a number, or sequences of numbers, none of which is rounded.
/// Errors: view_mismatch, at `where`.
py::array_t<double> numbers_of(const py::handle& object, const std::string& where);
/// "(16, 8)"
std::string shape_text(const std::vector<py::ssize_t>& shape);
std::vector<py::ssize_t> shape_of(const py::array& array);

/// "uint32 of shape (cases, 32, 4) or (32, 4)": the registers of an operand.
std::string registers_text(const Operand& operand, int lanes);

/// Registers of an operand in an array that Python holds.
struct RegisterArray {
  py::array array;
  bool has_cases = true;  ///< three dimensions; else one case
  std::size_t cases = 1;
  OperandView view;

  /// Precondition: the array is writable.
  ResultView result_view() const;
};
/// The array as it lies, whatever its strides. Errors: view_mismatch, at `where`, if it is not of the operand's
/// registers.
RegisterArray registers_of(const py::handle& object, const Operand& operand, int lanes,
                           const std::string& where);
/// The same to write to: `out` if it is one, else a new dense array of these cases. Errors: also of one that
/// cannot be written to, has other cases, or whose items share memory.
RegisterArray results_of(const py::handle& out, const Operand& operand, int lanes, bool has_cases,
                         std::size_t cases, const std::string& where);
/// Errors: view_mismatch, if an array that is written shares memory with one that is read, unless they are the
/// same registers.
void check_apart(const py::array& written, const py::array& read, const std::string& where,
                 const std::string& name);
/// Errors: view_mismatch, if `out` cannot be written to or two of its items can share memory, by its strides.
void check_writable(const py::array& out, const std::string& where);

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

/// Integers as codes: an array of unsigned integers of any size and one dimension, or a sequence of int. With a format
/// also numbers that it holds exactly, each a float, or an array of them. Errors: view_mismatch, at `where`.
std::vector<std::uint64_t> codes_of(const py::handle& object, const std::string& where,
                                    std::string_view format = {});
/// The same as an array of the given unsigned type and shape.
Unsigned array_of(const std::vector<std::uint64_t>& codes, std::size_t item_bytes,
                  const std::vector<py::ssize_t>& shape);

}  // namespace warpbit::python

namespace PYBIND11_NAMESPACE {
namespace detail {

template <warpbit::python::Annotation A, class Base>
struct handle_type_name<warpbit::python::As<A, Base>> {
  static constexpr auto name = const_name(A.text);
};

// A function may return a Result: its error is raised; Result<void> is None.
template <class T>
struct type_caster<warpbit::Result<T>> {
  using Value = make_caster<decltype(std::declval<warpbit::Result<T>>().value())>;
  static constexpr auto name = Value::name;
  static handle cast(warpbit::Result<T> result, return_value_policy, handle parent) {
    return Value::cast(warpbit::python::value_of(std::move(result)), return_value_policy::move, parent);
  }
};

template <>
struct type_caster<warpbit::Error> {
  PYBIND11_TYPE_CASTER(warpbit::Error, const_name("Error"));
  bool load(handle source, bool) {
    value = warpbit::python::error_of(source);
    return true;
  }
  static handle cast(const warpbit::Error& error, return_value_policy, handle) {
    return warpbit::python::exception_of(error).release();
  }
};

template <>
struct type_caster<warpbit::python::TargetName> {
  static constexpr auto name = const_name("Union[Target, str]");
  template <class>
  using cast_op_type = const warpbit::python::TargetName&;
  operator const warpbit::python::TargetName&() const { return *value; }
  bool load(handle source, bool);
  std::optional<warpbit::python::TargetName> value;
};

}  // namespace detail
}  // namespace PYBIND11_NAMESPACE
