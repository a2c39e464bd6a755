// SPDX-License-Identifier: Apache-2.0
// Executing instructions on arrays of registers.
#include "warpbit/execute.hpp"

#include "module.hpp"

namespace warpbit::python {
namespace {

const Operand& destination_of(const Instruction& instruction) {
  if (const Operand* d = instruction.find(Part::d)) return *d;
  refuse(Errc::machine_needed, std::string(instruction.canonical()), "it has no results",
         "a Machine to execute it");
}

Executed execute_cases(const Instruction& instruction, const py::args& sources, const OptionalBits& out,
                       int threads, std::optional<Kernel> kernel, bool allow_inferred, Undefined undefined) {
  const std::string where(instruction.canonical());
  if (instruction.uses_memory())
    refuse(Errc::memory_needed, where, "no memory", "execute_warp with a memory, or execute_warpgroup");
  const Operand& operand = destination_of(instruction);
  const SourceArrays in = sources_of(instruction, sources);
  const RegisterArray d = results_of(out, operand, instruction.lanes(), in.has_cases, in.cases, where);
  if (!out.is_none())
    for (std::size_t i = 0; i < in.arrays.size(); ++i)
      check_apart(d.array, in.arrays[i].array, where, "source " + std::to_string(i));
  const auto work = [&] {
    return value_of(execute_batch(instruction, in.views, d.result_view(), in.cases,
                                  {undefined, allow_inferred, threads, kernel}));
  };
  const int products =
      instruction.rows() * instruction.columns() * instruction.terms() * instruction.products();
  const Execution done =
      interruptible(work, static_cast<double>(in.cases) * std::max(products, instruction.lanes()));
  return {d.array, "", done.kernel, done.inferred};
}

// The bytes of a memory. Errors: view_mismatch.
std::span<const std::byte> bytes_of(const py::handle& memory, const std::string& where) {
  const std::optional<py::array> array = Arguments::in_place(memory, "", 1);
  if (!array || array->ndim() != 1 || array->strides(0) != 1)
    refuse(where, "shared memory is " + seen_text(memory), "uint8 with one dimension, contiguous");
  return {static_cast<const std::byte*>(array->data()), static_cast<std::size_t>(array->size())};
}

Executed execute_group(const Instruction& instruction, const Bytes& shared, const OptionalBits& d,
                       const OptionalBits& a, std::uint64_t a_descriptor, std::uint64_t b_descriptor,
                       const OptionalBits& metadata, bool accumulate, std::optional<Kernel> kernel,
                       bool allow_inferred, Undefined undefined) {
  const std::string where(instruction.canonical());
  const std::span<const std::byte> memory = bytes_of(shared, where);
  const Operand& destination = destination_of(instruction);
  if (d.is_none() && accumulate)
    refuse(where, "no d", registers_text(destination, instruction.lanes()) + ", or accumulate=False");
  const RegisterArray registers = results_of(d, destination, instruction.lanes(), false, 1, where);
  const auto view_of = [&](Part part, const py::object& array) {
    const Operand* operand = instruction.find(part);
    return array.is_none() || operand == nullptr || operand->kind == OperandKind::descriptor
               ? OperandView{}
               : registers_of(array, *operand, instruction.lanes(), where).view;
  };
  const WarpgroupSources sources{view_of(Part::a, a), a_descriptor, b_descriptor,
                                 view_of(Part::metadata, metadata), accumulate};
  const Execution done = without_gil([&] {
    return value_of(execute_warpgroup(instruction, sources, memory, registers.result_view(),
                                      {undefined, allow_inferred, 1, kernel}));
  });
  return {registers.array, "", done.kernel, done.inferred};
}

As<"tuple[Optional[NDArray[np.unsignedinteger[Any]]], NDArray[np.uint8]]", py::tuple> execute_one_warp(
    const Instruction& instruction, const py::args& sources, const Bytes& shared, bool allow_inferred,
    Undefined undefined) {
  const std::string where(instruction.canonical());
  const SourceArrays in = sources_of(instruction, sources);
  if (in.has_cases && !in.arrays.empty())
    refuse(where, "arrays with a dimension for cases", "one warp: (lanes, registers)");
  py::object d = py::none();
  std::vector<OperandArray> operands;
  std::size_t source = 0;
  for (const Operand& operand : instruction.operands()) {
    if (operand.is_destination()) {
      const RegisterArray results = results_of(py::none(), operand, instruction.lanes(), false, 1, where);
      d = results.array;
      d.attr("fill")(0);  // a register that the statement drops
      operands.push_back(OperandArray::strided(results.result_view(), 1));
    } else {
      operands.push_back(OperandArray::strided(in.views[source++], 1));
    }
  }
  const std::span<const std::byte> bytes = bytes_of(shared, where);
  py::array after(unsigned_dtype(1), {static_cast<py::ssize_t>(bytes.size())}, bytes.data());  // a copy
  value_of(execute_warp(instruction, operands, {static_cast<std::byte*>(after.mutable_data()), bytes.size()}, 0,
                        {undefined, allow_inferred, 1, std::nullopt}));
  return py::make_tuple(d, after);
}

}  // namespace

void add_execute(py::module_& m) {
  py::class_<Executed>(m, "Execution", "What executing gives.")
      .def_readonly(
          "d", &Executed::d,
          R"(The registers of D, shaped as those of the sources, or of gemm D itself, (rows, columns), in an array of its
format (see gemm); `out` itself, if it was given.)")
      .def_readonly("format", &Executed::format, "The format of the items of d, \"f32\"; empty for registers.")
      .def_property_readonly(
          "codes",
          [](const Executed& e) {
            return Unsigned(e.d.attr("view")(unsigned_dtype(static_cast<std::size_t>(e.d.itemsize()))));
          },
          "The same memory as unsigned integers: bits to compare, of NaNs and zeros, too.")
      .def_readonly(
          "kernel", &Executed::kernel,
          "The kernel that computed it; \"reference\" where the others have nothing for the instruction.")
      .def_readonly("inferred", &Executed::inferred,
                    "Whether the arithmetic rests on no hardware result (Instruction.inferred).")
      .def("__repr__",
           [](const Executed& e) {
             return "<Execution: d " + seen_text(e.d) + ", kernel " + std::string(name(e.kernel)) +
                    (e.inferred ? ", inferred>" : ">");
           })
      .def(py::pickle([](const Executed& e) { return py::make_tuple(e.d, e.format, e.kernel, e.inferred); },
                      [](const py::tuple& s) {
                        return Executed{s[0].cast<py::array>(), s[1].cast<std::string>(), s[2].cast<Kernel>(),
                                        s[3].cast<bool>()};
                      }));
  m.def("execute", &execute_cases, "instruction"_a, py::kw_only(), "out"_a = py::none(), "threads"_a = 0,
        "kernel"_a = py::none(), "allow_inferred"_a = true, "undefined"_a = Undefined::error,
        R"(Executes an instruction once for each case.

sources: an array for each source operand that takes registers, in the order of the statement, each
    (cases, lanes, registers), or (lanes, registers) for one case; of Operand.dtype, with any strides,
    0 too. Nothing is converted or copied.
out: where D goes, of the same kind; a new array without it. It may be the array of a source.
threads: to split the cases over; 0 leaves it to OpenMP. kernel: a name of kernels().
allow_inferred: if False, an instruction for which Instruction.inferred holds is refused.
undefined: "error", or "as_measured" for what hardware does with operands that the manual leaves
    undefined.

The bits depend on neither threads nor kernel. The GIL is released. Errors: view_mismatch for an array that does
not fit; memory_needed; machine_needed; inferred_plan; undefined_operand; no_such_kernel.)");
  m.def("execute_warpgroup", &execute_group, "instruction"_a, "shared"_a, py::kw_only(), "d"_a = py::none(),
        "a"_a = py::none(), "a_descriptor"_a = 0, "b_descriptor"_a = 0, "metadata"_a = py::none(),
        "accumulate"_a = true, "kernel"_a = py::none(), "allow_inferred"_a = true,
        "undefined"_a = Undefined::error,
        R"(Executes one product of a warpgroup (wgmma.mma_async): D = A B + D, or D = A B without `accumulate`.

shared: the shared memory, uint8 with one dimension. d: registers (128, registers), read if D counts and
written; may be left out if it does not count. a, metadata: registers, where the instruction has them.
a_descriptor, b_descriptor: 64 bits (see Descriptor). What the statement gives as a literal counts instead.
Errors: view_mismatch, address_out_of_bounds, inferred_plan, undefined_operand, no_such_kernel.)");
  m.def(
      "execute_warp", &execute_one_warp, "instruction"_a, py::kw_only(), "shared"_a, "allow_inferred"_a = true,
      "undefined"_a = Undefined::error,
      R"(Executes an instruction of a warp that uses shared memory (ldmatrix, stmatrix, wmma.load, wmma.store).

sources: registers (lanes, registers) of each source operand that takes registers; addresses are offsets in
`shared`, uint8 with one dimension, which is copied. Returns (d, shared): the registers of D, or None, and the
memory afterwards. Errors: view_mismatch, address_misaligned, address_out_of_bounds, addresses_disagree,
stores_overlap, which name the lane.)");
}

}  // namespace warpbit::python
