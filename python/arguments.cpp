// SPDX-License-Identifier: Apache-2.0
// From items to codes of a format, and to numbers.
#include "arguments.hpp"

#include <cstring>

#include "module.hpp"
#include "warpbit/format.hpp"

namespace warpbit::python {
namespace {

std::string unsigned_name(std::size_t item_bytes) {
  return "uint" + std::to_string(8 * item_bytes);
}

// The format of what an operand has in its registers: f32 of tf32, whose low bits the instruction cuts off.
std::string_view held(std::string_view format) {
  return format == "tf32" ? "f32" : format;
}

// Whether integers are their own codes, in two's complement.
bool is_integer(std::string_view format) {
  const FormatInfo info = value_of(find_format_info(format));
  return info.is_integer && info.zero_bits == 0;
}

py::module_ numpy() {
  return py::module_::import("numpy");
}

bool any(const py::object& mask) {
  return numpy().attr("any")(mask).cast<bool>();
}

// A list may hold scalars of NumPy that are codes; among numbers they would lose that.
bool holds_codes(const py::handle& object) {
  if (!py::isinstance<py::list>(object) && !py::isinstance<py::tuple>(object)) {
    if (!py::isinstance(object, numpy().attr("generic"))) return false;
    return object.attr("dtype").attr("kind").cast<std::string>() == "u";
  }
  for (const py::handle& item : py::reinterpret_borrow<py::sequence>(object))
    if (holds_codes(item)) return true;
  return false;
}

// Lists and numbers of Python as an array of NumPy's choice. Nothing for what is none.
std::optional<py::array> array_of_python(const py::handle& object) {
  const bool is_scalar =
      PyFloat_Check(object.ptr()) || (PyLong_Check(object.ptr()) && !PyBool_Check(object.ptr()));
  if (!is_scalar && !py::isinstance<py::list>(object) && !py::isinstance<py::tuple>(object) &&
      !PyRange_Check(object.ptr()))
    return std::nullopt;
  try {
    py::array out(numpy().attr("asarray")(object));
    if (out.dtype().kind() == 'O') return std::nullopt;  // too large integers, or lists of unequal lengths
    return out;
  } catch (const py::error_already_set& e) {
    if (!e.matches(PyExc_ValueError) && !e.matches(PyExc_OverflowError)) throw;
    return std::nullopt;
  }
}

// Items that are codes of a format as they lie.
bool is_in_place(const Items& items, std::string_view format, std::size_t item_bytes) {
  if (items.kind == Kind::other || static_cast<std::size_t>(items.array.itemsize()) != item_bytes) return false;
  const bool own = !format.empty() && items.format == held(format);
  const bool exported = format == "bf16" && items.kind == Kind::integers;  // as int16: NumPy lacks the type
  return items.kind == Kind::codes || own || exported;
}

// What makes of an array one that is taken.
std::string remedy(const Items& items, std::string_view format) {
  const std::string codes = "np." + unsigned_name(code_bytes(format));
  const bool same_size = static_cast<std::size_t>(items.array.itemsize()) == code_bytes(format);
  const bool is_int = items.kind == Kind::codes || items.kind == Kind::integers;
  if (!is_int) return is_integer(format) ? "x.astype(np.int64)" : "x.astype(np.float32)";
  const std::string as_codes = (same_size ? "x.view(" : "x.astype(") + codes + ") if these are codes";
  return as_codes + ", x.astype(np." + (is_integer(format) ? "int64" : "float64") + ") if they are numbers";
}

}  // namespace

std::string place_text(const py::array& array, std::size_t n) {
  std::string out;
  for (py::ssize_t d = array.ndim() - 1; d >= 0; --d) {
    const auto size = static_cast<std::size_t>(array.shape(d));
    out = std::to_string(n % size) + (out.empty() ? "" : ", ") + out;
    n /= size;
  }
  return "[" + out + "]";
}

std::size_t code_bytes(std::string_view format) {
  return code_bytes(value_of(find_format_info(format)).bits);
}

std::string bits_text(std::size_t item_bytes, std::string_view format) {
  const std::string bits = unsigned_name(item_bytes);
  if (format.empty()) return bits;
  const FormatInfo info = value_of(find_format_info(held(format)));
  const std::string own = code_bytes(info.bits) == item_bytes ? dtype_name(info) : "";
  return bits + (own.empty() || own == bits ? "" : " or " + own);
}

std::string accepted_text(std::string_view format) {
  return "codes, " + bits_text(code_bytes(format)) + ", or numbers that " + std::string(format) +
         (is_integer(format) ? " holds: integers with a sign, lists" : " holds exactly: floats, lists");
}

void Arguments::refused(const std::string& name, const std::string& seen, const std::string& accepted) const {
  refuse(where_, name + " is " + seen, accepted);
}

std::optional<py::array> Arguments::in_place(const py::handle& object, std::string_view format,
                                             std::size_t item_bytes) {
  const std::optional<Items> items = items_in(object);
  if (!items || items->is_copy || !is_in_place(*items, format, item_bytes)) return std::nullopt;
  return items->array;
}

py::array Arguments::codes(const py::handle& object, const std::string& name, std::string_view format) {
  const std::size_t bytes = code_bytes(format);
  const std::optional<Items> items = items_in(object);
  if (!items) return of_python(object, name, format);
  if (items->kind == Kind::codes && !is_integer(format)) note(codes_, name);
  if (is_in_place(*items, format, bytes)) return items->array;
  return of_items(*items, object, name, format);
}

py::array Arguments::of_items(const Items& items, const py::handle& object, const std::string& name,
                              std::string_view format) {
  const bool is_wide =
      items.kind == Kind::codes && static_cast<std::size_t>(items.array.itemsize()) > code_bytes(format);
  if (is_wide || (items.kind == Kind::integers && (is_integer(format) || all_codes_)))
    return integer_codes(items.array, name, format);
  if (items.kind == Kind::numbers) return exact(decoded(items), name, format);
  refused(name, seen_text(object), accepted_text(format) + "; " + remedy(items, format));
}

py::array Arguments::of_python(const py::handle& object, const std::string& name, std::string_view format) {
  const std::optional<py::array> array = array_of_python(object);
  const char kind = array ? array->dtype().kind() : 'O';
  if (kind == 'u' && holds_codes(object)) return codes(*array, name, format);
  if ((kind != 'i' && kind != 'u' && kind != 'f') || (array->itemsize() > 8))
    refused(name, seen_text(object), accepted_text(format));
  if (holds_codes(object))
    refused(name, "codes beside numbers",
            "either: np." + unsigned_name(code_bytes(format)) + "(...) of all for codes");
  if (kind == 'f' && all_codes_)
    refused(name, seen_text(object) + " of floats", "integers: codes=True is given");
  if (is_integer(format) && kind != 'f') return integer_codes(*array, name, format);
  if (kind == 'f') return exact(array->attr("astype")("float64").cast<py::array_t<double>>(), name, format);
  if (all_codes_) return integer_codes(*array, name, format);
  if (any(*array)) note(integers_, name);
  return exact(numbers(*array, name), name, format);
}

void Arguments::note(std::string& first, const std::string& name) {
  if (first.empty()) first = name;
  if (codes_.empty() || integers_.empty() || all_codes_) return;
  refused(integers_, "integers of Python, beside " + codes_ + ", which is codes",
          "numbers with a point, [1.0, 2.0], or codes: np.uint16([...]), or codes=True");
}

py::array Arguments::exact(const py::array_t<double>& numbers, const std::string& name,
                           std::string_view format) const {
  const Codec codec = value_of(Codec::find(held(format)));
  const std::size_t bytes = code_bytes(format);
  py::array out(unsigned_dtype(bytes), shape_of(numbers));
  const std::span from(numbers.data(), static_cast<std::size_t>(numbers.size()));
  const std::span to(static_cast<std::byte*>(out.mutable_data()), static_cast<std::size_t>(out.nbytes()));
  const EncodeItems how{.exactly = true};
  if (const auto bad = interruptible([&] { return encode_items(codec, from, to, how); },
                                     kItemAsProducts * static_cast<double>(from.size())))
    refused(name,
            py::repr(py::float_(from[bad->item])).cast<std::string>() + " at " + place_text(numbers, bad->item),
            "numbers that " + std::string(format) + " holds exactly; warpbit.encode(\"" + std::string(format) +
                "\", x) rounds others");
  return out;
}

py::array Arguments::integer_codes(const py::array& integers, const std::string& name,
                                   std::string_view format) const {
  const FormatInfo info = value_of(find_format_info(format));
  const bool with_sign = info.is_signed && !all_codes_ && integers.dtype().kind() == 'i';
  const py::object power = py::int_(1).attr("__lshift__")(with_sign ? info.bits - 1 : info.bits);
  const py::object least =
      with_sign || (all_codes_ && integers.itemsize() * 8 == info.bits && integers.ndim() > 0)
          ? py::object(py::int_(-1)).attr("__mul__")(power)
          : py::object(py::int_(0));
  if (any(integers.attr("__lt__")(least)) || any(integers.attr("__ge__")(power)))
    refused(name, seen_text(integers) + " with integers beyond " + std::string(format),
            "from " + py::str(least).cast<std::string>() + " to " +
                py::str(power.attr("__sub__")(1)).cast<std::string>());
  return integers.attr("astype")(unsigned_dtype(code_bytes(info.bits)));
}

py::array_t<double> Arguments::numbers(const py::handle& object, const std::string& name) const {
  constexpr const char* kAccepted =
      "an array of floats or integers, numbers or lists of them, each of which float64 holds";
  std::optional<Items> items = items_in(object);
  if (!items) {
    const std::optional<py::array> array = array_of_python(object);
    if (!array) refused(name, seen_text(object), kAccepted);
    items = items_in(*array);
  }
  if (items->kind == Kind::other) refused(name, seen_text(items->array), kAccepted);
  if (items->kind == Kind::numbers) return decoded(*items);
  if (items->array.itemsize() == 8 && (any(items->array.attr("__gt__")(std::int64_t{1} << 53)) ||
                                       any(items->array.attr("__lt__")(-(std::int64_t{1} << 53)))))
    refused(name, "integers beyond 2^53", kAccepted);
  return items->array.attr("astype")("float64", "order"_a = "C").cast<py::array_t<double>>();
}

py::array_t<double> decoded(const Items& items) {
  if (items.array.dtype().kind() == 'f')  // all of NumPy's are exact in float64
    return items.array.attr("astype")("float64", "order"_a = "C", "copy"_a = false).cast<py::array_t<double>>();
  const Codec codec = value_of(Codec::find(items.format));
  py::array_t<double> out(shape_of(items.array));
  const py::array codes = dense(items.array);
  const std::span from(static_cast<const std::byte*>(codes.data()), static_cast<std::size_t>(codes.nbytes()));
  const std::span to(out.mutable_data(), static_cast<std::size_t>(out.size()));
  interruptible([&] { decode_items(codec, from, to); }, kItemAsProducts * static_cast<double>(to.size()));
  return out;
}

py::array as_format(const py::array& codes, std::string_view format) {
  const std::string name = dtype_name(value_of(find_format_info(held(format))));
  if (name.empty() || code_bytes(format) != static_cast<std::size_t>(codes.itemsize())) return codes;
  if (py::hasattr(numpy(), name.c_str())) return codes.attr("view")(name);
  try {
    const py::module_ ml_dtypes = py::module_::import("ml_dtypes");
    if (py::hasattr(ml_dtypes, name.c_str())) return codes.attr("view")(ml_dtypes.attr(name.c_str()));
  } catch (const py::error_already_set& e) {
    if (!e.matches(PyExc_ImportError)) throw;
  }
  return codes;
}

py::dtype unsigned_dtype(std::size_t item_bytes) {
  return py::dtype(unsigned_name(item_bytes));
}

std::size_t code_bytes(int bits) {
  return std::bit_ceil((static_cast<std::size_t>(bits) + 7) / 8);
}

}  // namespace warpbit::python
