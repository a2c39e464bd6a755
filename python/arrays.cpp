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

std::string unsigned_name(std::size_t item_bytes) {
  return "uint" + std::to_string(8 * item_bytes);
}

// The type of arrays whose items are the codes of a format, among its synonyms: "float16" of "half float16". May be empty.
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

std::optional<FormatInfo> format_named(std::string_view name) {
  Result<FormatInfo> found = find_format_info(name);
  if (!found) return std::nullopt;
  return std::move(found).value();
}

// The format of what an operand has in its registers: f32 of tf32, whose low bits the instruction cuts off.
std::string_view held(std::string_view format) {
  return format == "tf32" ? "f32" : format;
}

// PyTorch, if it is loaded and this is one of its tensors.
std::optional<py::object> torch_of(const py::handle& object) {
  static PyObject* const modules = PySys_GetObject("modules");
  PyObject* const torch = modules == nullptr ? nullptr : PyDict_GetItemString(modules, "torch");
  if (torch == nullptr || !py::hasattr(torch, "Tensor") ||
      !py::isinstance(object, py::handle(torch).attr("Tensor")))
    return std::nullopt;
  return py::reinterpret_borrow<py::object>(torch);
}

// "bfloat16"
std::string tensor_type(const py::handle& tensor) {
  return py::str(tensor.attr("dtype")).cast<std::string>().substr(std::string_view("torch.").size());
}

// What a tensor holds, where it holds it. NumPy lacks some of its types: these become unsigned integers.
std::optional<Items> items_of_tensor(const py::object& torch, const py::handle& tensor) {
  if (const auto device = py::str(tensor.attr("device")).cast<std::string>(); device != "cpu")
    refuse("tensor", "it is on " + device, "a tensor on the CPU: x.cpu()");
  const auto bytes = tensor.attr("element_size")().cast<std::size_t>();
  const std::string type = tensor_type(tensor);
  const py::object values = tensor.attr("detach")();
  const bool is_known = py::hasattr(py::module_::import("numpy"), type.c_str());
  const std::optional<std::string> format = format_of_items(type.starts_with("u") ? 'u' : 'V', type, bytes);
  if (!format || (!is_known && bytes > 2)) return std::nullopt;
  if (is_known) return Items{values.attr("numpy")(), *format};
  const py::object as_integers = values.attr("view")(torch.attr(bytes == 1 ? "uint8" : "int16"));
  return Items{as_integers.attr("numpy")().attr("view")(unsigned_dtype(bytes)), *format};
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
  if (torch_of(object))
    return "torch." + tensor_type(object) + " of shape " +
           py::str(py::tuple(object.attr("shape"))).cast<std::string>();
  if (!py::isinstance<py::array>(object)) return "object of type " + type_name(object);
  const auto array = py::reinterpret_borrow<py::array>(object);
  return (array_in(object) ? "" : "masked ") + py::str(array.dtype()).cast<std::string>() + " of shape " +
         py::str(array.attr("shape")).cast<std::string>();
}

std::optional<py::array> array_in(const py::handle& object) {
  if (!py::isinstance<py::array>(object) || py::hasattr(object, "mask")) return std::nullopt;
  return py::reinterpret_borrow<py::array>(object);
}

std::optional<std::string> format_of_items(char kind, const std::string& name, std::size_t item_bytes) {
  if (kind == 'u') return "";
  const std::optional<FormatInfo> format = format_named(name);
  if (!format || dtype_name(*format) != name || code_bytes(format->bits) != item_bytes) return std::nullopt;
  return std::string(format->name);
}

std::optional<Items> items_in(const py::handle& object) {
  if (const std::optional<py::array> array = array_in(object)) {
    const py::dtype type = array->dtype();
    if (!type.attr("isnative").cast<bool>()) return std::nullopt;
    // No format here has signed numbers of 16 bits: so bfloat16 comes out of other libraries.
    if (type.kind() == 'i' && type.itemsize() == 2) return Items{array->attr("view")(unsigned_dtype(2)), ""};
    const auto name = type.kind() == 'u' ? std::string() : type.attr("name").cast<std::string>();
    std::optional<std::string> format =
        format_of_items(type.kind(), name, static_cast<std::size_t>(type.itemsize()));
    if (!format) return std::nullopt;
    return Items{*array, *std::move(format)};
  }
  if (const std::optional<py::object> torch = torch_of(object)) return items_of_tensor(*torch, object);
  return std::nullopt;
}

std::optional<py::array> bits_in(const py::handle& object, std::size_t item_bytes, std::string_view format) {
  std::optional<Items> items = items_in(object);
  if (!items) return std::nullopt;
  const std::optional<FormatInfo> info = format_named(held(format));
  const bool are_codes = items->format.empty() || (items->format == "s8" && info && !info->is_integer);
  const bool fits = static_cast<std::size_t>(items->array.itemsize()) == item_bytes &&
                    (are_codes || items->format == held(format));
  if (!fits) return std::nullopt;
  return std::move(items->array);
}

std::string bits_text(std::size_t item_bytes, std::string_view format) {
  const std::string bits = unsigned_name(item_bytes);
  const std::optional<FormatInfo> info = format_named(held(format));
  const std::string own = info && code_bytes(info->bits) == item_bytes ? dtype_name(*info) : "";
  return bits + (own.empty() || own == bits ? "" : " or " + own);
}

bool holds_numbers(std::initializer_list<std::pair<py::object, const Operand*>> arrays) {
  bool any = false;
  for (const auto& [object, operand] : arrays) {
    const std::optional<Items> items = items_in(object);
    if (!items) continue;  // None
    const bool own = !items->format.empty();
    if (!own && !operand->format.starts_with("u")) return false;  // codes
    any = any || own;
  }
  return any;
}

py::array as_numbers(const py::array& codes, std::string_view format) {
  const std::string name = dtype_name(value_of(find_format_info(format)));
  if (name.empty() || !py::hasattr(py::module_::import("numpy"), name.c_str())) return codes;
  return codes.attr("view")(name);
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

py::array_t<double> decoded(const Items& items) {
  const Codec codec = value_of(Codec::find(items.format));
  py::array_t<double> out(shape_of(items.array));
  const py::array codes = dense(items.array);
  const auto bytes = static_cast<std::size_t>(codes.itemsize());
  const auto* from = static_cast<const std::byte*>(codes.data());
  std::span to(out.mutable_data(), static_cast<std::size_t>(out.size()));
  without_gil([&] {
    for (double& value : to) {
      value = codec.decode(code_at(from, bytes));
      from += bytes;
    }
  });
  return out;
}

py::array_t<double> numbers_of(const py::handle& object, const std::string& where) {
  const auto refused = [&](const std::string& seen) {
    refuse(where, "values are " + seen,
           "an array of floats or integers, numbers or lists of them, each of which float64 holds");
  };
  if (py::isinstance<py::array>(object) && !array_in(object)) refused(seen_text(object));
  if (const std::optional<Items> items = items_in(object); items && !items->format.empty())
    return decoded(*items);
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

namespace {

// Items of arrays and lists on their way to codes of a format, "" for any: codes as they are, numbers if the format holds
// them exactly.
class CodeList {
 public:
  CodeList(std::string_view format, const std::string& where) : format_(format), where_(where) {}

  void add(const Items& items) {
    const bool are_codes = items.format.empty();
    const bool same = items.format == format_;
    if (!are_codes && !same && (format_.empty() || value_of(find_format_info(items.format)).is_integer))
      refused(seen_text(items.array));
    note(!are_codes);
    if (are_codes || same) {
      const std::vector<std::uint64_t> codes = codes_in(items.array);
      codes_.insert(codes_.end(), codes.begin(), codes.end());
      return;
    }
    const py::array_t<double> numbers = decoded(items);
    for (const double number : std::span(numbers.data(), static_cast<std::size_t>(numbers.size())))
      codes_.push_back(exact(number));
  }

  void add_item(const py::handle& item) {
    const auto code = py::reinterpret_steal<py::int_>(PyNumber_Index(item.ptr()));
    const std::uint64_t value = code ? PyLong_AsUnsignedLongLong(code.ptr()) : 0;
    if (PyErr_Occurred() == nullptr) {
      note(false);
      codes_.push_back(value);
      return;
    }
    PyErr_Clear();
    const auto refused_item = [&] {
      refused(py::repr(item).cast<std::string>() + " of type " + type_name(item));
    };
    if (PyFloat_Check(item.ptr()) && !format_.empty()) {
      note(true);
      codes_.push_back(exact(item.cast<double>()));
      return;
    }
    const py::module_ numpy = py::module_::import("numpy");
    if (!py::isinstance(item, numpy.attr("generic"))) refused_item();
    const std::optional<Items> items = items_in(numpy.attr("asarray")(item));
    if (!items) refused_item();
    add(*items);
  }

  [[noreturn]] void refused(const std::string& seen) const {
    refuse(where_, seen,
           "codes: a sequence of int, or an array of unsigned integers with one dimension (encode gives "
           "the codes of numbers)" +
               (format_.empty() ? std::string()
                                : "; or numbers that " + std::string(format_) + " holds exactly, all float"));
  }

  std::vector<std::uint64_t> take() && { return std::move(codes_); }

 private:
  // Errors: view_mismatch for a number beside a code.
  void note(bool numbers) {
    if (codes_.empty()) numbers_ = numbers;
    if (numbers != numbers_) refused("codes beside numbers");
  }

  std::uint64_t exact(double number) const {
    const Codec codec = value_of(Codec::find(format_));
    const Result<std::uint64_t> code = codec.encode(number);
    const double back = code ? codec.decode(code.value()) : 0;
    const bool same =
        std::isnan(number) ? std::isnan(back) : back == number && std::signbit(back) == std::signbit(number);
    if (!code || !same)
      refuse(where_,
             py::repr(py::float_(number)).cast<std::string>() + " is no number of " + std::string(format_),
             "numbers that it holds exactly; encode rounds others");
    return code.value();
  }

  std::string_view format_;
  const std::string& where_;
  std::vector<std::uint64_t> codes_;
  bool numbers_ = false;
};

}  // namespace

std::vector<std::uint64_t> codes_of(const py::handle& object, const std::string& where,
                                    std::string_view format) {
  CodeList out(held(format), where);
  if (const std::optional<Items> items = items_in(object)) {
    if (items->array.ndim() != 1) out.refused(seen_text(object));
    out.add(*items);
    return std::move(out).take();
  }
  if (!py::isinstance<py::sequence>(object) || py::isinstance<py::str>(object) ||
      py::isinstance<py::array>(object))
    out.refused(seen_text(object));
  for (const py::handle& item : py::reinterpret_borrow<py::sequence>(object)) out.add_item(item);
  return std::move(out).take();
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
