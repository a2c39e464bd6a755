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

#include "arguments.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/fragment.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/replay.hpp"
#include "warpbit/result.hpp"
#include "words.hpp"

namespace warpbit::python {

using py::literals::operator""_a;
using GilReleased = py::call_guard<py::gil_scoped_release>;  ///< for functions that touch no object of Python

// What each file adds to the module, in the order in which they need each other.
using Add = void(py::module_& m);
Add add_instruction, add_execute, add_fragments, add_formats, add_quantize, add_functions, add_orders,
    add_reductions, add_gemm, add_explain, add_compare, add_layout, add_captures, add_replay, add_diagnose,
    add_bits, add_ptx, add_debug, add_profile, add_tensor_maps, add_textures;

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

/// How far work is, for a function of Python's: progress(done, of), which may be None.
class Progress {
 public:
  explicit Progress(py::object call) : call_(std::move(call)) {}
  /// From any thread, without the GIL.
  void set(std::uint64_t done, std::uint64_t of) {
    of_ = of;
    done_ = done;
  }
  /// Calls the function, if there is something new. With the GIL. Throws what the function raises.
  void tell() {
    const std::uint64_t done = done_;
    if (call_.is_none() || done == told_) return;
    call_(told_ = done, of_.load());
  }

 private:
  py::object call_;
  std::atomic<std::uint64_t> done_ = 0, of_ = 0;
  std::uint64_t told_ = 0;
};

/// The same for work that may take long: it runs in a thread of its own, which is stopped when a signal handler of Python
/// (Ctrl-C: KeyboardInterrupt) or `progress` raised something. That is thrown. Work of few products of elements runs here, and
/// all where there is no thread.
template <class Work>
auto interruptible(Work work, double products = INFINITY, Progress* progress = nullptr) {
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
  const auto look = [&] {
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (progress != nullptr) progress->tell();
    } catch (py::error_already_set& e) {
      raised.emplace(std::move(e));
      stop = true;
    }
  };
  while (!ends())
    if (!stop) look();
  if (!stop && progress != nullptr) progress->tell();
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
using Code = As<"_Element">;    ///< a number, or a code as an unsigned scalar of NumPy
using Codes = As<"_Elements">;  ///< Arguments::codes, of one dimension
using OptionalCodes = As<"Optional[_Elements]">;
using Matrix = As<"_Matrix">;  ///< Arguments::codes
using OptionalMatrix = As<"Optional[_Matrix]">;
using Bits = As<"_Bits">;  ///< registers, or memory to write to (Arguments::in_place)
using OptionalBits = As<"Optional[_Bits]">;
using Numbers = As<"_Numbers">;  ///< Arguments::numbers
using Bytes = As<"NDArray[np.uint8]">;
using Unsigned = As<"NDArray[np.unsignedinteger[Any]]", py::array>;
using Arrays = As<"dict[str, NDArray[Any]]", py::dict>;
using Types = As<"dict[str, tuple[np.dtype[Any], tuple[int, ...]]]", py::dict>;
using AnyComputation = As<"Union[Instruction, Computation]">;
using Callback = As<"Optional[Callable[[int, int], Any]]">;  ///< Progress
using Share = std::pair<std::uint64_t, std::uint64_t>;

/// A Target, or its name.
struct TargetName {
  Target target;
  operator Target() const { return target; }
};
/// Errors: usage, unless 1 <= i <= n.
Shard shard_of(Share share);

/// warpbit.Execution: Execution, with the registers of D, or its elements.
struct Executed {
  As<"NDArray[Any]", py::array> d;
  std::string format;  ///< of the items of d; empty for registers
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

/// The inputs of an element; None is empty. Errors: view_mismatch, with the operand.
ElementInputs element_of(const Instruction& instruction, const Codes& a, const Codes& b, const Code& c,
                         const OptionalCodes& a_scale, const OptionalCodes& b_scale, bool codes);
/// A Computation, or an Instruction alone.
Computation computation_of(const py::handle& object);

// ---- Arrays

/// An array or tensor as an array on its memory, whatever its items. Errors: argument_mismatch, at `where`, unless it is
/// C-contiguous and in this machine's byte order.
py::array memory_in(const py::handle& object, const std::string& where);
/// Its bytes.
std::span<const std::byte> bytes_in(const py::array& memory);
/// How to get a copy in the memory of this computer of an array in that of a GPU: "a copy ...: x.get()".
std::string copy_of_gpu(const py::handle& object);
/// The type of arrays whose items are the codes of a format, among its synonyms: "float16" of "half float16". May be empty.
std::string dtype_name(const FormatInfo& format);
/// The numbers of items whose format is known, exactly.
py::array_t<double> decoded(const Items& items);
/// The array with its items one after the other, the last dimension first: itself, or a copy.
py::array dense(const py::array& array);
/// The codes in an array of unsigned integers, in that order.
std::vector<std::uint64_t> codes_in(const py::array& array);
/// The code at an address.
std::uint64_t code_at(const std::byte* at, std::size_t item_bytes);
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

/// Codes as an array of the given unsigned type and shape.
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
