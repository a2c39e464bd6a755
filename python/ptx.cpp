// SPDX-License-Identifier: Apache-2.0
// Modules of PTX, with the names of CuPy's RawModule.
#include "warpbit/ptx.hpp"

#include "launch_report.hpp"
#include "launches.hpp"
#include "records.hpp"

namespace warpbit::python {
namespace {

using Names = As<"Sequence[str]", py::sequence>;

[[noreturn]] void raise(const LaunchFault& fault) {
  const Error& e = fault.error;
  const py::object error =
      py::module_::import("warpbit._error")
          .attr("Error")(std::string(name(e.code)), e.where, e.seen, e.accepted, fault.message);
  PyErr_SetObject(py::type::handle_of(error).ptr(), error.ptr());
  throw py::error_already_set();
}

// A str is one name.
std::vector<std::string> names_of(const Names& names) {
  if (py::isinstance<py::str>(names)) return {names.cast<std::string>()};
  return names.cast<std::vector<std::string>>();
}

LaunchReport launch(const ptx::Function& function, const Extent& grid, const Extent& block,
                    const LaunchArguments& args, std::uint64_t shared_mem, const OptionalExtent& cluster,
                    bool contract, bool as_written, const Names& without, bool check_shared, bool check_global,
                    bool lenient, bool strict, const Grades& rules, std::uint64_t step_limit,
                    ptx::Cancel cancel, std::uint64_t cancel_seed, std::uint64_t schedule, int threads,
                    bool allow_inferred, Undefined undefined, bool profile,
                    const device::Index3& observed_block, const Callback& progress) {
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
                  .schedule = schedule,
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
    as many as each takes; "never"; "always", one cluster at a time; "random", by cancel_seed. schedule: in which order warps and
    blocks take turns: another number than 0 decides on it, and on how long each goes on, the same each time; a kernel that is
    right in one order only is caught by another. threads, allow_inferred, undefined: as in `execute`.

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

}  // namespace

void add_ptx(py::module_& m) {
  add_report(m);
  py::class_<ptx::Function> function(m, "RawKernel", "A kernel of a RawModule.");
  const auto add = [&](const char* name, auto run, const std::string& doc, auto... more) {
    function.def(name, run, "grid"_a, "block"_a, "args"_a, py::kw_only(), "shared_mem"_a = 0,
                 "cluster"_a = py::none(), "contract"_a = true, "as_written"_a = false,
                 "without"_a = py::tuple(), "check_shared"_a = true, "check_global"_a = true,
                 "lenient"_a = false, "strict"_a = false, "rules"_a = py::dict(), "step_limit"_a = 0,
                 "cancel"_a = ptx::Cancel::first_come, "cancel_seed"_a = 0, "schedule"_a = 0, "threads"_a = 0,
                 "allow_inferred"_a = true, "undefined"_a = Undefined::error, more..., doc.c_str());
  };
  add("launch", &launch, std::string(kLaunch) + kProfile, "profile"_a = false,
      "observed_block"_a = device::Index3{}, "progress"_a = py::none());
  add("__call__",
      &call<std::uint64_t, OptionalExtent, bool, bool, Names, bool, bool, bool, bool, Grades, std::uint64_t,
            ptx::Cancel, std::uint64_t, std::uint64_t, int, bool, Undefined>,
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
          "bind", &ptx::Module::bind, "name"_a, "handle"_a,
          R"(What a variable .texref, .surfref or .samplerref stands for from the next launch on: a handle of `texture`,
`surface` or `sampler`, which is read as it says. A launch of a kernel that names a variable without a handle is a fault,
argument_mismatch, but for a sampler with an initial value. An initial value that says otherwise than the handle is one, too.
Errors: usage, for another name; argument_mismatch, for another handle.)")
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
