// SPDX-License-Identifier: Apache-2.0
// Targets, instructions and their operands.
#include "warpbit/instruction.hpp"

#include "operand.hpp"
#include "warpbit/target.hpp"
#include "warpbit/kernel.hpp"

namespace warpbit::python {
namespace {

Target target_of(const py::handle& object) {
  if (py::isinstance<Target>(object)) return object.cast<Target>();
  if (!py::isinstance<py::str>(object))
    throw py::type_error("target: expected a Target or its name, got " + seen_text(object));
  return value_of(Target::find(object.cast<std::string>()));
}

// "d: f32 16x8; registers uint32 of shape (cases, 32, 4) or (32, 4)"
std::string text_of(const Operand& operand, int lanes) {
  std::string out = std::string(operand.role) + ": ";
  if (!takes_registers(operand)) return out + "in the statement";
  const FragmentMap& map = operand.fragment;
  return out + std::string(operand.format) + " " + std::to_string(map.rows()) + "x" +
         std::to_string(map.columns()) + (map.products() > 1 ? "x" + std::to_string(map.products()) : "") +
         "; registers " + registers_text(operand, lanes);
}

std::string text_of(const Instruction& i) {
  std::string out = std::string(i.canonical()) + " on " + std::string(i.target().name());
  for (const Operand& operand : i.operands()) out += "\n  " + text_of(operand, i.lanes());
  return out;
}

py::dict evidence_of(const Instruction& i) {
  const Evidence& e = i.evidence();
  py::dict out;
  for (const auto& [name, ground] : {std::pair("order", e.order), std::pair("window", e.window),
                                     std::pair("floor", e.floor), std::pair("specials", e.specials)})
    out[name] = py::make_tuple(ground.basis, ground.from);
  return out;
}

void add_target(py::module_& m) {
  py::class_<Target>(m, "Target",
                     "What PTX is compiled for, named as in a .target directive. Target(\"sm_90\"); Error: "
                     "unknown_target, which lists the known ones.")
      .def(py::init([](const std::string& name) { return value_of(Target::find(name)); }), "name"_a)
      .def_property_readonly("name", &Target::name, "\"sm_90\"")
      .def("__str__", &Target::name)
      .def("__repr__", [](const Target& t) { return "Target('" + std::string(t.name()) + "')"; })
      .def(
          "__eq__",
          [](const Target& x, const py::object& y) {
            return py::isinstance<Target>(y) && x == y.cast<Target>();
          },
          "other"_a)
      .def("__hash__", [](const Target& t) { return py::hash(py::cast(t.name())); })
      .def(py::pickle(
          [](const Target& t) { return py::make_tuple(t.name()); },
          [](const py::tuple& state) { return value_of(Target::find(state[0].cast<std::string>())); }));
  m.def("targets", &Target::all, "All targets, oldest first.");
}

void add_operand(py::module_& m) {
  py::class_<BoundOperand>(m, "Operand",
                           "An operand of an instruction: a matrix in the registers of its lanes (PTX manual, "
                           "\"Matrix Fragments\"), or what the statement gives as a literal.")
      .def_property_readonly(
          "role", [](const BoundOperand& o) { return o->role; }, "The manual's name: \"a\".")
      .def_property_readonly(
          "part", [](const BoundOperand& o) { return o->part; },
          "What it is in D = A B + C: \"left_factor\", \"accumulator\", ...")
      .def_property_readonly(
          "kind", [](const BoundOperand& o) { return o->kind; },
          "How it is written: \"vector\", \"scalar\", \"immediate\", ...")
      .def_property_readonly(
          "format", [](const BoundOperand& o) { return o->format; },
          "The format of its elements, e.g. \"f16\" (see warpbit.formats).")
      .def_property_readonly(
          "element_bits", [](const BoundOperand& o) { return o->element_bits; },
          "Bits of the code of an element.")
      .def_property_readonly(
          "takes_registers", [](const BoundOperand& o) { return takes_registers(*o); },
          "Whether `execute` takes an array for it (of a destination: gives one).")
      .def_property_readonly(
          "shape",
          [](const BoundOperand& o) -> py::tuple {
            const FragmentMap& map = o->fragment;
            if (map.products() == 1) return py::make_tuple(map.rows(), map.columns());
            return py::make_tuple(map.products(), map.rows(), map.columns());
          },
          "The shape of the matrix, (rows, columns); (products, rows, columns) where the instruction computes\n"
          "several products side by side.")
      .def_property_readonly(
          "register_shape",
          [](const BoundOperand& o) { return py::make_tuple(o.instruction.lanes(), o->registers); },
          "The shape of the registers of a case, (lanes, registers of a lane).")
      .def_property_readonly(
          "dtype",
          [](const BoundOperand& o) { return unsigned_dtype(static_cast<std::size_t>(o->register_bits) / 8); },
          "NumPy's type of a register: uint32, or another unsigned one.")
      .def_property_readonly(
          "code_dtype", [](const BoundOperand& o) { return unsigned_dtype(code_bytes(o->element_bits)); },
          "The least unsigned type that holds the code of an element.")
      .def("__repr__",
           [](const BoundOperand& o) { return "<Operand " + text_of(*o, o.instruction.lanes()) + ">"; })
      .def(py::pickle([](const BoundOperand& o) { return py::make_tuple(o.instruction, o.index); },
                      [](const py::tuple& s) {
                        return BoundOperand{s[0].cast<Instruction>(), s[1].cast<std::size_t>()};
                      }));
}

void add_forms(py::module_& m) {
  py::class_<FormInfo>(m, "Form", "A documented form and where it exists.")
      .def_readonly("canonical", &FormInfo::canonical, "The form in the manual's spelling.")
      .def_readonly("family", &FormInfo::family, "Of which family it is, e.g. \"mma_sp\".")
      .def_readonly("operands", &FormInfo::operands, "\"d:4xf32 a:4xb32 b:2xb32 c:4xf32\"")
      .def_readonly("targets", &FormInfo::targets, "The targets that have it, oldest first.")
      .def("__repr__", [](const FormInfo& f) { return "<Form " + f.canonical + ">"; });
  m.def("forms", &forms, "All documented forms of all families.");
  m.def(
      "nearest_forms",
      [](const std::string& text, const std::optional<py::object>& target, std::size_t most) {
        return nearest_forms(text, target ? std::optional(target_of(*target)) : std::nullopt, most);
      },
      "text"_a, "target"_a = py::none(), "most"_a = 3,
      "The documented forms, at most `most`, that a mistyped form or statement is nearest to.");
  m.def("kernels", &kernels,
        "The kernels that this processor can run, slowest first: \"reference\" (the specification), \"scalar\",\n"
        "\"avx2\", \"avx512\". All compute the same bits.");
  m.def(
      "chosen_kernel", [] { return value_of(chosen_kernel()); },
      "The kernel that is used unless one is asked for: that of the environment variable WARPBIT_KERNEL, or "
      "the\n"
      "last of kernels().");
}

}  // namespace

BoundOperand operand_of(const Instruction& instruction, const std::string& role) {
  std::string roles;
  for (std::size_t i = 0; i < instruction.operands().size(); ++i) {
    const Operand& operand = instruction.operands()[i];
    if (operand.role == role) return {instruction, i};
    roles += (roles.empty() ? "" : ", ") + std::string(operand.role);
  }
  throw Refusal{Error{Errc::operand_kind, std::string(instruction.canonical()), "no operand '" + role + "'",
                      "one of " + roles}};
}

void add_instruction(py::module_& m) {
  add_target(m);
  py::class_<Instruction> c(
      m, "Instruction",
      "An instruction of a target. Instruction(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32\", "
      "\"sm_90\"):\n"
      "a statement or a bare form, in which every immediate has its least value. Immutable; it pickles.\n"
      "Errors name the qualifier or operand that is wrong and what would be right there.");
  c.def(py::init([](const std::string& text, const py::object& target) {
          return value_of(Instruction::parse(text, target_of(target)));
        }),
        "text"_a, "target"_a);
  c.def_property_readonly("text", &Instruction::text, "The text that came in.");
  c.def_property_readonly("canonical", &Instruction::canonical, "The form in the manual's spelling.");
  c.def_property_readonly("family", &Instruction::family, "Of which family it is, e.g. \"mma_sp\".");
  c.def_property_readonly("target", &Instruction::target, "The target.");
  c.def_property_readonly(
      "operands",
      [](const Instruction& i) {
        std::vector<BoundOperand> out;
        for (std::size_t n = 0; n < i.operands().size(); ++n) out.push_back({i, n});
        return out;
      },
      "In the order of the statement, the destination first.");
  c.def("operand", &operand_of, "role"_a, "The operand of the manual's name, e.g. \"a\".");
  c.def_property_readonly("rows", &Instruction::rows, "M: rows of A and D.");
  c.def_property_readonly("columns", &Instruction::columns, "N: columns of B and D.");
  c.def_property_readonly("depth", &Instruction::depth, "K: columns of A, rows of B.");
  c.def_property_readonly("terms", &Instruction::terms,
                          "Products in a sum: depth, or half of it where A is sparse.");
  c.def_property_readonly("blocks", &Instruction::blocks, "Scale factors in a row of A; 0 if there are none.");
  c.def_property_readonly("products", &Instruction::products, "Products of matrices side by side.");
  c.def_property_readonly("lanes", &Instruction::lanes,
                          "Lanes that execute it together: 32, 128, or 1 of each thread.");
  c.def_property_readonly("uses_memory", &Instruction::uses_memory, "Whether it reads or writes memory.");
  c.def_property_readonly("inferred", &Instruction::inferred,
                          "Whether the order of the sum, F or the rounding rest on no hardware result.");
  c.def_property_readonly(
      "basis", [](const Instruction& i) { return i.evidence().overall(); },
      "What ordinary results rest on: \"captured\", \"published\" or \"inferred\".");
  c.def_property_readonly(
      "evidence", &evidence_of,
      "What each parameter of the arithmetic rests on: {\"order\": (basis, from), \"window\":\n"
      "..., \"floor\": ..., \"specials\": ...}.");
  c.def_property_readonly("plan", &Instruction::plan, "The steps of one element of D.");
  c.def_property_readonly("machine", &Instruction::machine, "The machine instructions that it becomes.");
  c.def("__str__", [](const Instruction& i) { return text_of(i); });
  c.def("__repr__", [](const Instruction& i) {
    return "Instruction(" + py::repr(py::cast(i.text())).cast<std::string>() + ", '" +
           std::string(i.target().name()) + "')";
  });
  c.def(
      "__eq__",
      [](const Instruction& x, const py::object& y) {
        if (!py::isinstance<Instruction>(y)) return false;
        const auto& other = y.cast<const Instruction&>();
        return x.text() == other.text() && x.target() == other.target();
      },
      "other"_a);
  c.def("__hash__", [](const Instruction& i) { return py::hash(py::make_tuple(i.text(), i.target())); });
  c.def(py::pickle([](const Instruction& i) { return py::make_tuple(i.text(), i.target()); },
                   [](const py::tuple& state) {
                     return value_of(Instruction::parse(state[0].cast<std::string>(), state[1].cast<Target>()));
                   }));
  add_operand(m);
  add_forms(m);
}

}  // namespace warpbit::python
