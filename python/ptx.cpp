// SPDX-License-Identifier: Apache-2.0
// Modules of PTX, with the names of CuPy's RawModule.
#include "warpbit/ptx.hpp"

#include <cstring>
#include <memory>

#include "launches.hpp"
#include "profile.hpp"
#include "records.hpp"
#include "warpbit/profile.hpp"
#include "warpbit/tensor_map.hpp"

namespace warpbit::python {

std::string utf8(const std::string& bytes) {
  return py::reinterpret_steal<py::str>(
             PyUnicode_DecodeUTF8(bytes.data(), std::ssize(bytes), "backslashreplace"))
      .cast<std::string>();
}

namespace {

using Names = As<"Sequence[str]", py::sequence>;

// ---- What a launch gives

using Block = std::tuple<unsigned, unsigned, unsigned>;

struct LaunchFaultSide {
  int warp = 0;
  std::vector<int> lanes;
  std::string file;
  unsigned line = 0;
  int ptx_line = 0;
  std::vector<SourceLink> chain;
  std::optional<Block> elsewhere;
  std::string what;
};

struct LaunchRelatedSide {
  LaunchFaultSide at;
  std::string what;
};

struct LaunchWaiters {
  std::vector<Block> blocks;
  std::vector<int> warps, lanes;
  std::string file;
  unsigned line = 0;
  int ptx_line = 0;
  std::vector<SourceLink> chain;
  std::string statement, awaits;
};

struct LaunchFault {
  Error error;
  std::string rule;
  std::string kernel;
  std::string message;
  Block block;
  LaunchFaultSide at;
  std::optional<LaunchFaultSide> other;
  std::optional<std::string> space;
  std::optional<std::int64_t> byte;
  std::vector<LaunchWaiters> waiting;
  std::vector<LaunchRelatedSide> related;
};

struct LaunchFinding {
  LaunchFault fault;
  std::uint64_t times = 0;
  std::string grade;
  std::vector<int> warps, lanes;
  std::uint64_t blocks = 0;
  std::optional<int> cause;
};

struct LaunchRule {
  std::string_view name, says, manual, by_default, strict, in_source, reason, hardware;
};
std::vector<LaunchRule> launch_rules() {
  std::vector<LaunchRule> out;
  for (const KernelRuleInfo& rule : kernel_rules())
    out.push_back({rule.name, rule.says, rule.manual, name(rule.by_default), name(rule.strict),
                   name(rule.in_source), rule.reason, rule.hardware});
  return out;
}

struct LaunchReport {
  std::optional<LaunchFault> fault;
  bool inferred = false, contracted = false;
  std::uint64_t blocks = 0, cancelled = 0, steps = 0, checked_shared = 0, checked_global = 0;
  std::uint64_t checked_barriers = 0, checked_copies = 0, checked_products = 0;
  std::vector<std::string> not_looked_for;
  std::string printed;
  std::uint64_t printed_dropped = 0;
  std::vector<LaunchFinding> findings;
  std::vector<ptx::OrderDependence> order_dependent;
  std::vector<ptx::Inference> inferences;
  std::vector<ptx::AssembledLine> assembled;
  std::vector<ptx::LineCounts> profile;
  ptx::Timeline timeline;
  std::vector<ptx::AssemblerNote> notes;
};

Block block_of(const device::Index3& block) {
  return {block.x, block.y, block.z};
}

std::vector<SourceLink> links_of(std::vector<SourceLink> out) {
  for (SourceLink& link : out)
    for (std::string* text : {&link.function, &link.file}) *text = utf8(*text);
  return out;
}

LaunchFaultSide side_of(const FaultSide& side) {
  return {side.warp,
          side.lanes,
          side.at.file,
          side.at.line,
          side.ptx_line,
          links_of(side.chain),
          side.elsewhere ? std::optional(block_of(*side.elsewhere)) : std::nullopt,
          side.what};
}

LaunchWaiters waiters_of(const FaultWaiters& row) {
  LaunchWaiters out{{},           row.warps,           row.lanes,     row.at.file, row.at.line,
                    row.ptx_line, links_of(row.chain), row.statement, row.awaits};
  for (const device::Index3& block : row.blocks) out.blocks.push_back(block_of(block));
  return out;
}

LaunchFault fault_of(const Fault& fault) {
  LaunchFault out{fault.error,
                  std::string(name(fault.rule)),
                  fault.kernel,
                  fault.message(),
                  block_of(fault.block),
                  side_of(fault),
                  {},
                  {},
                  {},
                  {},
                  {}};
  for (const FaultSide& one : fault.related) out.related.push_back({side_of(one), one.what});
  for (const FaultWaiters& row : fault.waiting) out.waiting.push_back(waiters_of(row));
  if (fault.other) out.other = side_of(*fault.other);
  if (fault.address) {
    out.space = name(fault.address->space);
    out.byte = fault.address->byte;
  }
  return out;
}

std::vector<LaunchFinding> findings_of(const ptx::Report& report) {
  std::vector<LaunchFinding> out;
  for (const ptx::Finding& one : report.findings)
    out.push_back({fault_of(one.fault), one.times, std::string(name(one.grade)), one.warps, one.lanes,
                   one.blocks, one.cause < 0 ? std::nullopt : std::optional(one.cause)});
  return out;
}

// Lines whose texts are UTF-8.
template <class Line>
std::vector<Line> lines_of(std::vector<Line> out) {
  for (Line& line : out) {
    for (std::string* text : {&line.statement, &line.file}) *text = utf8(*text);
    if constexpr (requires { line.chain; }) line.chain = links_of(line.chain);
  }
  return out;
}

LaunchReport report_of(const ptx::Report& report) {
  return {report.fault ? std::optional(fault_of(*report.fault)) : std::nullopt,
          report.inferred,
          report.contracted,
          report.blocks,
          report.cancelled,
          report.steps,
          report.checked.shared,
          report.checked.global,
          report.checked.barriers,
          report.checked.copies,
          report.checked.products,
          report.checked.not_looked_for,
          utf8(report.printed),
          report.printed_dropped,
          findings_of(report),
          report.order_dependent,
          report.inferences,
          lines_of(report.assembled),
          lines_of(report.profile),
          report.timeline,
          lines_of(report.notes)};
}

[[noreturn]] void raise(const LaunchFault& fault) {
  const Error& e = fault.error;
  const py::object error =
      py::module_::import("warpbit._error")
          .attr("Error")(std::string(name(e.code)), e.where, e.seen, e.accepted, fault.message);
  PyErr_SetObject(py::type::handle_of(error).ptr(), error.ptr());
  throw py::error_already_set();
}

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

}  // namespace

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

// A str is one name.
std::vector<std::string> names_of(const Names& names) {
  if (py::isinstance<py::str>(names)) return {names.cast<std::string>()};
  return names.cast<std::vector<std::string>>();
}

LaunchReport launch(const ptx::Function& function, const Extent& grid, const Extent& block,
                    const LaunchArguments& args, std::uint64_t shared_mem, const OptionalExtent& cluster,
                    bool contract, bool as_written, const Names& without, bool check_shared, bool check_global,
                    bool lenient, bool strict, const Grades& rules, std::uint64_t step_limit,
                    ptx::Cancel cancel, std::uint64_t cancel_seed, int threads, bool allow_inferred,
                    Undefined undefined, bool profile, const device::Index3& observed_block,
                    const Callback& progress) {
  std::vector<py::object> held;
  const std::vector<ptx::Argument> arguments = arguments_of(function, args, held);
  ptx::Launch how{.grid = dim3_of(grid, "grid"),
                  .block = dim3_of(block, "block"),
                  .cluster = cluster_of(cluster),
                  .shared_bytes = shared_mem,
                  .contract = contract,
                  .as_written = as_written,
                  .without = names_of(without),
                  .check_shared = check_shared,
                  .check_global = check_global,
                  .lenient = lenient,
                  .strict = strict,
                  .grades = grades_of(rules),
                  .step_limit = step_limit,
                  .cancel = cancel,
                  .cancel_seed = cancel_seed,
                  .execute = {undefined, allow_inferred, threads, {}},
                  .profile = profile,
                  .timeline = profile,
                  .observed_block = observed_block};
  Progress told(progress);
  if (!progress.is_none())
    how.progress = [&](std::uint64_t done, std::uint64_t blocks) { told.set(done, blocks); };
  return report_of(interruptible([&] { return function.launch(how, arguments); }, INFINITY, &told));
}

// A call says what it found and allowed as a warning, at the caller.
void warn(const LaunchFinding& finding) {
  const std::string text = finding.fault.message + "\n  " + finding.grade + " of the rule " +
                           finding.fault.rule +
                           (finding.times > 1 ? "\n  " + std::to_string(finding.times) + " times" : "");
  if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0) throw py::error_already_set();
}

template <class... Options>
void call(const ptx::Function& function, const Extent& grid, const Extent& block, const LaunchArguments& args,
          const Options&... options) {
  const LaunchReport report = launch(function, grid, block, args, options..., false, {}, Callback(py::none()));
  if (!report.printed.empty()) py::print(report.printed, "end"_a = "");
  for (const LaunchFinding& finding : report.findings) warn(finding);
  if (report.fault) raise(*report.fault);
}

// ---- Stores

struct LaunchStore {
  Block block;
  LaunchFaultSide at;
  std::string statement;
  std::string message;
};

// "st.global.f32 [%rd4], %f1" and, behind the first line of a fault, its places.
LaunchStore store_of(const Fault& fault) {
  const std::string message = fault.message(), &statement = fault.error.where;
  return {block_of(fault.block), side_of(fault), utf8(statement),
          utf8(statement + message.substr(std::min(message.find('\n'), message.size())))};
}

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

namespace {

std::optional<LaunchStore> find_store_in(const ptx::Function& function, const Extent& grid, const Extent& block,
                                         const LaunchArguments& args, const AnyArray& array,
                                         const std::vector<py::ssize_t>& index, std::uint64_t shared_mem,
                                         const OptionalExtent& cluster) {
  std::vector<py::object> held;
  const std::vector<ptx::Argument> arguments = arguments_of(function, args, held);
  const std::span<const std::byte> element = element_of(array, index);
  ptx::Launch how{.grid = dim3_of(grid, "grid"),
                  .block = dim3_of(block, "block"),
                  .cluster = cluster_of(cluster),
                  .shared_bytes = shared_mem};
  const auto found =
      interruptible([&] { return value_of(ptx::find_store(function, how, arguments, element)); });
  if (!found) return std::nullopt;
  return store_of(*found);
}

void add_find_store(py::module_& m, py::class_<ptx::Function>& function) {
  auto store =
      add_record(m, "LaunchStore", "A store of a launch. str() of it has the statement and the places.",
                 field("block", &LaunchStore::block, "x, y and z."),
                 field("at", &LaunchStore::at, "Who stores, and where in the source."),
                 field("statement", &LaunchStore::statement, "In one line."),
                 field("message", &LaunchStore::message, "All of it as text."));
  store.def("__str__", [](const LaunchStore& s) { return s.message; });
  function.def("find_store", &find_store_in, "grid"_a, "block"_a, "args"_a, py::kw_only(), "array"_a, "index"_a,
               "shared_mem"_a = 0, "cluster"_a = py::none(),
               R"(Who stores an element first: the launch is run again, with the statements as they are written.

array, index: the element, of an array on the memory of an argument. The run begins with what the arrays hold now, and leaves
them so; variables of the module keep what it leaves. None: no store of a thread was found. A store that is wider than
the element is found with all lanes that store so near. Errors: argument_mismatch, launch_shape, view_mismatch.)");
}

// ---- Modules

ptx::Module module_of(const std::optional<std::string>& code, const std::optional<std::filesystem::path>& path,
                      const std::optional<TargetName>& target, const Names& options,
                      const std::optional<std::string>& backend,
                      const As<"Optional[Sequence[str]]">& name_expressions) {
  const auto refused = [](const char* where, std::string seen, const char* accepted) {
    refuse(Errc::usage, where, std::move(seen), accepted);
  };
  if (code.has_value() == path.has_value())
    refused("RawModule", code ? "code and path" : "neither code nor path",
            "one of them: the text of a module of PTX, or its file");
  if (options.size() != 0)
    refused(
        "options", py::repr(options).cast<std::string>(),
        "none: PTX is compiled already; a launch with contract=False is --fmad=false, one with as_written=True is -O0");
  if (backend) refused("backend", "'" + *backend + "'", "none: PTX is compiled already");
  if (!name_expressions.is_none())
    refused("name_expressions", py::repr(name_expressions).cast<std::string>(),
            "none: kernels have the names that the PTX has (RawModule.kernels)");
  const std::optional<Target> on = target ? std::optional<Target>(target->target) : std::nullopt;
  return interruptible(
      [&] { return value_of(code ? ptx::Module::load(*code, on) : ptx::Module::load_file(*path, on)); });
}

Bytes global_of(const py::object& self, const std::string& name) {
  const std::span<std::byte> bytes = value_of(self.cast<const ptx::Module&>().variable(name));
  return Bytes(py::array(unsigned_dtype(1), {std::ssize(bytes)}, {1}, bytes.data(), self));
}

constexpr const char* kLaunch =
    R"(Runs the kernel as a grid, and returns what it did: a LaunchReport, whose fault is not raised.

grid, block: up to three numbers, (x, y, z), or one. args: a sequence with one argument for each parameter:
    an array, or a tensor of PyTorch or with __dlpack__, is memory that the kernel reads and writes in place: C-contiguous,
    of any type; to write to a read-only one is a fault;
    None is a null pointer;
    a number of Python's becomes what the parameter is: an int or bool its bytes, a float .f32 or .f64;
    a NumPy scalar is its own bytes, which must be as many as those of the parameter;
    a TensorMap is its 128 bytes; its global_address is `address` of an array;
    bytes, or a scalar of a structured type (numpy.void), are a structure passed by value.
shared_mem: dynamic shared memory of a block, in bytes. cluster: blocks of a cluster, as grid; None is what the
    kernel demands (.reqnctapercluster), else no clusters. contract: products and sums are fused as the assembler
    does by default. as_written: each statement by itself, as `ptxas -O0`. without: names of rules of the assembler that do
    not act, of assembler_rules(). check_shared: broken rules of kernel_rules() are looked for; check_global: in
    global memory, too. lenient: those that are faults are
    findings, and the launch goes on. strict: also those without harm on hardware are faults. rules: the grades of single rules,
    {"data_race": "finding"}: silent, note, finding or fault. step_limit: the maximum number of steps of a block; 0: any number.
    cancel: which requests of clusterlaunchcontrol.try_cancel succeed: "first_come", as if clusters ran side by side, about
    as many as each takes; "never"; "always", one cluster at a time; "random", by cancel_seed. threads, allow_inferred,
    undefined: as in `execute`.

The GIL is released; launches of a module take turns. After a fault the content of the arrays is unspecified.
Errors, raised: argument_mismatch, launch_shape, no_such_rule and no_such_kernel_rule for what no kernel can be called with.)";
constexpr const char* kProfile =
    R"(

profile: the report has a profile: for each line, how often it was executed, what its accesses to memory cost, and what it
    multiplies; and a timeline: what the warps of observed_block, (x, y, z), waited for.
progress: called now and then with the blocks that have ended, and all.)";
constexpr const char* kCall =
    R"(As `launch`, but a fault is raised as Error, and what printf prints goes to sys.stdout; findings
are warnings, RuntimeWarning.)";

void add_rules(py::module_& m) {
  add_record(m, "AssemblerRule",
             "A rule by which the assembler (ptxas) changes the bits that a kernel leaves. At -O0 none acts.",
             field("name", &ptx::AssemblerRule::name, "As `without` of a launch takes it."),
             field("pattern", &ptx::AssemblerRule::pattern, "What it sees."),
             field("result", &ptx::AssemblerRule::result, "What it makes of it."),
             field("since", &ptx::AssemblerRule::since, "The ptxas in which it was first seen."),
             field("evidence", &ptx::AssemblerRule::evidence, "What shows it."));
  m.def(
      "assembler_rules",
      [] {
        const std::span<const ptx::AssemblerRule> all = ptx::assembler_rules();
        return std::vector<ptx::AssemblerRule>(all.begin(), all.end());
      },
      "All rules of the assembler, in the order in which they act.");
  add_record(
      m, "KernelRule", "A rule that a kernel must keep.",
      field("name", &LaunchRule::name, "As `rules` of a launch takes it."),
      field("says", &LaunchRule::says, "What a kernel must do."),
      field("manual", &LaunchRule::manual, "The section of the PTX manual."),
      field("by_default", &LaunchRule::by_default,
            "What a launch does where it is broken: \"fault\", it ends; \"finding\", it goes on and says so."),
      field("strict", &LaunchRule::strict, "The same of a launch with `strict`."),
      field("in_source", &LaunchRule::in_source,
            "The same of a kernel in source (device.hpp), whose launch reports faults alone."),
      field("reason", &LaunchRule::reason, "Why."),
      field("hardware", &LaunchRule::hardware, "What GPUs did with kernels that break it; or empty."));
  m.def("kernel_rules", &launch_rules, "All rules that a kernel must keep.");
}

void add_report(py::module_& m) {
  add_profile(m);
  add_record(m, "KernelParameter", "A parameter of a kernel.",
             field("name", &ptx::Parameter::name, "As the PTX has it."),
             field("type", &ptx::Parameter::type,
                   "As PTX spells it, without the dot; of an array that of its elements."),
             field("bytes", &ptx::Parameter::bytes, "Of the whole parameter."),
             field("offset", &ptx::Parameter::offset, "Among all parameters."),
             field("alignment", &ptx::Parameter::alignment, "In bytes."));
  add_record(m, "LaunchFaultSide", "Who does what a fault is about.",
             field("warp", &LaunchFaultSide::warp, "Of the block."),
             field("lanes", &LaunchFaultSide::lanes, "Of the warp; of the launch itself none."),
             field("file", &LaunchFaultSide::file, "Where the instruction comes from (.file), or empty."),
             field("line", &LaunchFaultSide::line, "In that file."),
             field("ptx_line", &LaunchFaultSide::ptx_line, "Of the module's text, from 1."),
             field("chain", &LaunchFaultSide::chain, kChain),
             field("elsewhere", &LaunchFaultSide::elsewhere,
                   "x, y and z, where it is another block of the cluster than the fault's; or None."),
             field("what", &LaunchFaultSide::what,
                   "As in \"the write of the flag\": what is there; of a fault's own side nothing."));
  add_record(
      m, "LaunchRelatedSide", "A place that has to do with a fault, besides its two sides.",
      field("at", &LaunchRelatedSide::at, "Where, and who."),
      field("what", &LaunchRelatedSide::what, "As in \"initialises the mbarrier at 0x10 for 64 arrivals\"."));
  add_record(
      m, "LaunchWaiters", "Threads that wait alike, of a deadlock.",
      field("blocks", &LaunchWaiters::blocks, "x, y and z of each."),
      field("warps", &LaunchWaiters::warps, "Of each of these blocks."),
      field("lanes", &LaunchWaiters::lanes, "Of each of these warps; empty: all that have not ended."),
      field("file", &LaunchWaiters::file, "Where they wait (.file), or empty."),
      field("line", &LaunchWaiters::line, "In that file."),
      field("ptx_line", &LaunchWaiters::ptx_line, "Of the module's text, from 1."),
      field("chain", &LaunchWaiters::chain, kChain),
      field("statement", &LaunchWaiters::statement, "At which they wait."),
      field("awaits", &LaunchWaiters::awaits, "What they wait for: \"barrier 1: 1 of 2 warps have arrived\"."));
  auto fault = add_record(
      m, "LaunchFault",
      "The first thing that a kernel must not do, in the first faulty block. str() is its message.",
      field("error", &LaunchFault::error, "What it is: an Error that is not raised."),
      field("rule", &LaunchFault::rule,
            "The rule that is broken, of kernel_rules(); \"none\" if nothing could go on behind it."),
      field("kernel", &LaunchFault::kernel, "Its name."),
      field("message", &LaunchFault::message, "The whole fault as text, a line for each side."),
      field("block", &LaunchFault::block, "x, y and z."), field("at", &LaunchFault::at, "Who did it."),
      field("other", &LaunchFault::other, "The other side of a conflict, or None."),
      field("space", &LaunchFault::space, "The memory concerned: \"shared\", \"global\"; or None."),
      field("byte", &LaunchFault::byte, "The byte in it; in global memory that of the array."),
      field("waiting", &LaunchFault::waiting, "Of a deadlock: all threads that have not ended."),
      field("related", &LaunchFault::related,
            "Further places: where a barrier object was initialised and arrived at, a flag written and read."));
  fault.def("__str__", [](const LaunchFault& f) { return f.message; });
  add_record(m, "LaunchFinding",
             "A fault behind which a launch has gone on, the first of its kind at these lines.",
             field("fault", &LaunchFinding::fault, "What it is."),
             field("times", &LaunchFinding::times, "How often it was found in all blocks."),
             field("grade", &LaunchFinding::grade, "\"finding\", a mistake, or \"note\"."),
             field("warps", &LaunchFinding::warps, "Whose fault it was, of all times."),
             field("lanes", &LaunchFinding::lanes, "The same of lanes."),
             field("blocks", &LaunchFinding::blocks, "In how many blocks it was found."),
             field("cause", &LaunchFinding::cause,
                   "The number of another finding that shares a line with it and was found before, or None."));
  add_record(
      m, "OrderDependence",
      "A statement with a result that PTX leaves open: it depends on the order in which threads run, on time, or "
      "on where the GPU runs them. A launch computes one of the results that there may be.",
      field("line", &ptx::OrderDependence::line, "Of the module's text, from 1."),
      field("instruction", &ptx::OrderDependence::instruction, "As in \"atom.global.add.f32\"."),
      field("why", &ptx::OrderDependence::why, "As in \"the sum depends on the order of the additions\"."),
      field("file", &ptx::OrderDependence::file, "Where the instruction comes from (.file), or empty."),
      field("source_line", &ptx::OrderDependence::source_line, "In that file."));
  add_record(
      m, "Inference",
      "What of a launch rests on no result of the target's GPU: an instruction, at its first statement, or a rule by which the "
      "assembler changes what is computed.",
      field("line", &ptx::Inference::line, "Of the module's text, from 1."),
      field("instruction", &ptx::Inference::instruction,
            "As in \"ex2.approx.f32\", or \"assembler: contract\"."),
      field("open", &ptx::Inference::open, "Which part of its results, as in \"the bits of a NaN\"."),
      field("source", &ptx::Inference::from, "What they are assumed as: \"an H100\"."),
      field("file", &ptx::Inference::file, "Where the instruction comes from (.file), or empty."),
      field("source_line", &ptx::Inference::source_line, "In that file."));
  add_record(
      m, "AssemblerNote",
      "A statement that the assembler (ptxas) turns into machine code with other bits than the PTX manual says: a defect "
      "of it, which a launch does not imitate.",
      field("defect", &ptx::AssemblerNote::defect, "Its name, as in \"half-addend\"."),
      field("line", &ptx::AssemblerNote::line, "Of the module's text, from 1."),
      field("statement", &ptx::AssemblerNote::statement, "In one line."),
      field("text", &ptx::AssemblerNote::text, "What ptxas makes of it, and what the PTX manual says."),
      field("file", &ptx::AssemblerNote::file, "Where the statement comes from (.file), or empty."),
      field("source_line", &ptx::AssemblerNote::source_line, "In that file."));
  add_record(m, "AssembledLine", "A rule of the assembler has acted on a statement.",
             field("rule", &ptx::AssembledLine::rule, "Its name in assembler_rules()."),
             field("line", &ptx::AssembledLine::line, "Of the module's text, from 1."),
             field("statement", &ptx::AssembledLine::statement, "In one line, as it was."),
             field("file", &ptx::AssembledLine::file, "Where the statement comes from (.file), or empty."),
             field("source_line", &ptx::AssembledLine::source_line, "In that file."));
  auto report = add_record(
      m, "LaunchReport", "What a launch did.",
      field("fault", &LaunchReport::fault, "What the kernel must not do, or None."),
      field("inferred", &LaunchReport::inferred, "Whether `inferences` are not empty."),
      field("contracted", &LaunchReport::contracted, "Whether products and sums were fused."),
      field("blocks", &LaunchReport::blocks, "Blocks that have ended."),
      field("cancelled", &LaunchReport::cancelled,
            "Blocks that did not begin, since other clusters have taken theirs."),
      field("steps", &LaunchReport::steps, "Instructions of warps."),
      field("checked_shared", &LaunchReport::checked_shared,
            "Accesses to shared memory that were checked, one for each lane of an instruction."),
      field("checked_global", &LaunchReport::checked_global, "The same of global memory."),
      field("checked_barriers", &LaunchReport::checked_barriers,
            "Phases that were complete: of bar, barrier.cluster and barrier objects."),
      field("checked_copies", &LaunchReport::checked_copies,
            "Asynchronous copies: cp.async, one for each lane, and those in bulk."),
      field("checked_products", &LaunchReport::checked_products,
            "Asynchronous products: wgmma and tcgen05.mma."),
      field("not_looked_for", &LaunchReport::not_looked_for,
            "What the launch was told not to look for: \"races in global memory\", \"the rule data_race\"."),
      field("printed", &LaunchReport::printed,
            "By printf, block by block: the last 1 MiB, as a GPU's buffer has it."),
      field("printed_dropped", &LaunchReport::printed_dropped, "Bytes of it before that."),
      field("findings", &LaunchReport::findings, "What was found and allowed, block by block."),
      field("order_dependent", &LaunchReport::order_dependent,
            "Statements that were executed and leave a result open, by line."),
      field("inferences", &LaunchReport::inferences,
            "What rests on no result of the target's GPU, each form once, by line."),
      field(
          "assembled", &LaunchReport::assembled,
          "Where rules of the assembler have acted, each rule once a line, in all functions that the kernel may call, by "
          "line."),
      field("profile", &LaunchReport::profile, "With `profile`: the statements that were executed, by line."),
      field("timeline", &LaunchReport::timeline, "With `profile`: what the warps of a block waited for."),
      field("notes", &LaunchReport::notes,
            "Where a GPU leaves other bits by a defect of ptxas, by line; none as written."));
  report.def(
      "profile_svg",
      [](const LaunchReport& r, const std::string& title) {
        ptx::ProfilePicture picture{title, r.profile, r.timeline};
        if (r.fault) {
          picture.ended_by = "A fault: " + r.fault->message.substr(0, r.fault->message.find('\n'));
          picture.fault_line = r.fault->at.ptx_line;
        }
        return ptx::profile_svg(picture);
      },
      "title"_a = "",
      R"(The profile and the timeline as a picture, SVG for light and dark backgrounds.

The lines with what is counted of each, and the warps of the observed block over its statements, with arrows from what lets a
warp go on. It is drawn from a report of a launch with profile=True.)");
  set_repr(report, [](const LaunchReport& r) {
    return "LaunchReport: " +
           (r.fault ? r.fault->message
                    : std::to_string(r.blocks) + " blocks, " + std::to_string(r.steps) + " steps" +
                          (r.findings.empty() ? "" : ", " + std::to_string(r.findings.size()) + " findings"));
  });
}

}  // namespace

void add_ptx(py::module_& m) {
  add_report(m);
  add_rules(m);
  py::class_<ptx::Function> function(m, "RawKernel", "A kernel of a RawModule.");
  const auto add = [&](const char* name, auto run, const std::string& doc, auto... more) {
    function.def(name, run, "grid"_a, "block"_a, "args"_a, py::kw_only(), "shared_mem"_a = 0,
                 "cluster"_a = py::none(), "contract"_a = true, "as_written"_a = false,
                 "without"_a = py::tuple(), "check_shared"_a = true, "check_global"_a = true,
                 "lenient"_a = false, "strict"_a = false, "rules"_a = py::dict(), "step_limit"_a = 0,
                 "cancel"_a = ptx::Cancel::first_come, "cancel_seed"_a = 0, "threads"_a = 0,
                 "allow_inferred"_a = true, "undefined"_a = Undefined::error, more..., doc.c_str());
  };
  add("launch", &launch, std::string(kLaunch) + kProfile, "profile"_a = false,
      "observed_block"_a = device::Index3{}, "progress"_a = py::none());
  add("__call__",
      &call<std::uint64_t, OptionalExtent, bool, bool, Names, bool, bool, bool, bool, Grades, std::uint64_t,
            ptx::Cancel, std::uint64_t, int, bool, Undefined>,
      kCall);
  function
      .def_property_readonly(
          "name", [](const ptx::Function& f) { return f.name(); }, "As the PTX has it.")
      .def_property_readonly(
          "parameters", [](const ptx::Function& f) { return f.parameters(); }, "Its parameters, in order.")
      .def_property_readonly("shared_size_bytes", &ptx::Function::shared_bytes,
                             "Static shared memory of a block.")
      .def("__repr__", [](const ptx::Function& f) { return "<RawKernel " + f.name() + ">"; });
  add_find_store(m, function);
  py::class_<ptx::Module>(
      m, "RawModule",
      R"(A module of PTX, as nvcc -ptx and other compilers make it. Its variables keep their values from launch to launch.

code: its text; path: or the file. target: for which to run it; the module's own without it. The other arguments of
CuPy's RawModule have no meaning here and are refused, unless they are left empty.)")
      .def(py::init(&module_of), "code"_a = py::none(), py::kw_only(), "path"_a = py::none(),
           "target"_a = py::none(), "options"_a = py::tuple(), "backend"_a = py::none(),
           "name_expressions"_a = py::none())
      .def_property_readonly("target", &ptx::Module::target, "For which it runs.")
      .def_property_readonly("kernels", &ptx::Module::entries,
                             "The names of its kernels, in the order of the text.")
      .def(
          "get_function",
          [](const ptx::Module& module, const std::string& name) { return module.function(name); }, "name"_a,
          R"(A kernel by its name in the PTX, which of C++ is mangled unless it is extern "C". Errors: no_such_kernel_entry,
which names all; that of the first instruction that it reaches and that cannot run.)")
      .def("get_global", &global_of, "name"_a,
           "The bytes of a variable in global or constant memory, to read and write. Errors: no_such_variable.")
      .def(
          "address_words",
          [](const ptx::Module& module, const std::string& name) {
            py::list out;
            for (const ptx::AddressWord& one : value_of(module.address_words(name)))
              out.append(py::make_tuple(one.at, one.bytes));
            return As<"List[Tuple[int, int]]", py::list>(out);
          },
          "name"_a,
          R"(Where a variable has addresses of others, or of functions, by its initial value: the first byte of each, and how many.
A GPU has other ones there. PTX manual, "Initializers". Errors: no_such_variable.)")
      .def("check", &ptx::Module::check,
           "Everything that ptxas or a launch would refuse, with line and column: Errors that are not raised.")
      .def("__repr__", [](const ptx::Module& module) {
        std::string out = "<RawModule for " + std::string(module.target().name());
        const char* between = ": ";
        for (const std::string& name : module.entries()) out += std::exchange(between, ", ") + name;
        return out + ">";
      });
  m.def(
      "address", &address_of, "array"_a,
      R"(The 64-bit number by which the launches of this process reach an array, for pointers inside structures and
arrays, and for tensor maps.

The array must be C-contiguous and writeable. The same memory has the same address until the array objects that
it was asked of are collected; then launches do not reach it any more.)");
}

}  // namespace warpbit::python
