// SPDX-License-Identifier: Apache-2.0
// What arguments mean: arrays, tensors, lists and numbers of Python as codes of a format, or as numbers. Every function that
// takes some asks here.
//
//     object --containers.cpp--> Items --arguments.cpp--> codes of a format, in items of their size
//                                                     or numbers, in items of float64
#pragma once

#include <pybind11/numpy.h>

#include <optional>
#include <string>
#include <string_view>

namespace warpbit::python {

namespace py = pybind11;

// ---- What an object holds

/// By its dtype, what the items of an array are.
enum class Kind {
  codes,     ///< unsigned integers: codes of any format
  numbers,   ///< of a floating-point format, or of a small integer one (int4)
  integers,  ///< signed integers
  other,     ///< bool, complex, float128, objects, another byte order, ...
};
struct Items {
  py::array array;  ///< the object itself, a view of its memory, or what it says that it holds
  Kind kind;
  std::string format;  ///< the one that the dtype says: "bf16" for bfloat16; may be empty
  bool is_copy = false;
};
/// What an array holds, or a tensor of another library in the memory of this computer; where it holds it. Nothing for
/// lists, numbers and other objects of Python. Errors: view_mismatch for memory of a GPU.
std::optional<Items> items_in(const py::handle& object);
/// The kind of a dtype, by its kind, name and bytes of an item in NumPy, ml_dtypes, PyTorch or DLPack; and the format.
std::pair<Kind, std::string> meaning_of_items(char kind, const std::string& name, std::size_t item_bytes);
/// "uint32 of shape (2, 32, 4)", "masked uint32 ...", "torch.bfloat16 of ...", "a list", "2.5": never a whole array.
std::string seen_text(const py::handle& object);

/// A tensor in memory that other libraries share with us (DLPack). Nothing if the object has none.
/// Errors: view_mismatch for memory of a GPU, or for types that no array can have.
std::optional<Items> items_of_dlpack(const py::handle& object);

// ---- What is meant

/// The arguments of one call.
class Arguments {
 public:
  /// where: what a refusal names, such as the instruction. codes: integers are codes, of lists and of arrays with a sign, too.
  explicit Arguments(std::string where, bool codes = false) : where_(std::move(where)), all_codes_(codes) {}

  /// Codes of a format, of any shape: the memory of an array whose items are these (unsigned integers of their size,
  /// or the format's own dtype), or a new array. Numbers are converted if the format holds them exactly.
  ///
  /// | | a float format | an integer format |
  /// | --- | --- | --- |
  /// | unsigned array | codes, of their size, or wider ones that fit | codes |
  /// | floating array, its own dtype | as its bits | |
  /// | floating array, list or number | numbers | numbers |
  /// | signed array | refused; int16 of bf16: codes | numbers |
  ///
  /// Errors: view_mismatch, which says the remedy; also where integers of Python stand beside codes of another argument and may
  /// be both, for a float format.
  py::array codes(const py::handle& object, const std::string& name, std::string_view format);
  /// The same without any conversion: an array to write to, or of registers. Nothing if it is none.
  static std::optional<py::array> in_place(const py::handle& object, std::string_view format,
                                           std::size_t item_bytes);
  /// Numbers as dense float64. Errors: view_mismatch.
  py::array_t<double> numbers(const py::handle& object, const std::string& name) const;

  [[noreturn]] void refused(const std::string& name, const std::string& seen,
                            const std::string& accepted) const;

 private:
  py::array of_items(const Items& items, const py::handle& object, const std::string& name,
                     std::string_view format);
  py::array of_python(const py::handle& object, const std::string& name, std::string_view format);
  py::array exact(const py::array_t<double>& numbers, const std::string& name, std::string_view format) const;
  py::array integer_codes(const py::array& integers, const std::string& name, std::string_view format) const;
  void note(std::string& first, const std::string& name);

  std::string where_;
  bool all_codes_;
  std::string codes_, integers_;  ///< the first argument of codes of a float format, and of integers of Python
};

/// An item takes about so many times as long as a product of elements (interruptible).
inline constexpr double kItemAsProducts = 64;
/// "codes, uint16, or numbers that f16 holds exactly: floats, lists"
std::string accepted_text(std::string_view format);
/// "uint16", or "uint16 or bfloat16" where that is taken as its bits.
std::string bits_text(std::size_t item_bytes, std::string_view format = {});

/// "[3, 5]": item number n of an array.
std::string place_text(const py::array& array, std::size_t n);
/// Codes as an array of the format's own dtype, of NumPy or, where it is installed, ml_dtypes; else as they are.
py::array as_format(const py::array& codes, std::string_view format);
/// The type of unsigned integers of a size of 1, 2, 4 or 8 bytes.
py::dtype unsigned_dtype(std::size_t item_bytes);
/// The bytes of the smallest of these that holds a code of these bits.
std::size_t code_bytes(int bits);
/// The bytes of an item of codes of a format.
std::size_t code_bytes(std::string_view format);

}  // namespace warpbit::python
