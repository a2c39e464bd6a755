// SPDX-License-Identifier: Apache-2.0
// Targets, instructions and their operands.
#include "warpbit/instruction.hpp"

#include "module.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/result.hpp"
#include "warpbit/target.hpp"

namespace warpbit::python {
namespace {

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

As<"dict[str, tuple[_basis, str]]", py::dict> evidence_of(const Instruction& i) {
  const Evidence& e = i.evidence();
  py::dict out;
  for (const auto& [name, ground] : {std::pair("order", e.order), std::pair("window", e.window),
                                     std::pair("floor", e.floor), std::pair("specials", e.specials)})
    out[name] = py::make_tuple(ground.basis, ground.from);
  return out;
}

void add_target(py::module_& m) {
  py::class_<Target> c(
      m, "Target",
      "What PTX is compiled for: Target(\"sm_90\"), as in a .target directive, or Target(\"H100\") and "
      "the other names of target_names(). Errors: unknown_target, which lists the known ones; "
      "ambiguous_target, which lists what the name may be.");
  c.def(py::init([](const std::string& name) { return value_of(Target::find(name)); }), "name"_a)
      .def_property_readonly("name", &Target::name, "\"sm_90\"")
      .def("__str__", &Target::name)
      .def("__repr__", [](const Target& t) { return "Target('" + std::string(t.name()) + "')"; })
      .def("__hash__", [](const Target& t) { return py::hash(py::cast(t.name())); })
      .def(py::pickle(
          [](const Target& t) { return py::make_tuple(t.name()); },
          [](const py::tuple& state) { return value_of(Target::find(state[0].cast<std::string>())); }));
  add_equality(c, [](const Target& x, const Target& y) { return x == y; });
  m.def("targets", &Target::all, "All targets, oldest first.");
  m.def(
      "target_names",
      [] {
        As<"dict[str, list[str]]", py::dict> out;
        for (const TargetNames& row : target_names()) out[py::cast(row.target.name())] = row.names;
        return out;
      },
      R"(The names of GPUs, which stand for targets everywhere: {"sm_90a": ["H100", ...], ...}; x in "RTX 40x0" is a digit
from 5 to 9. Case, blanks, "-" and "_" do not matter.)");
}

// Errors: operand_kind, if there is no such role.
BoundOperand operand_of(const Instruction& instruction, const std::string& role) {
  std::string roles;
  for (std::size_t i = 0; i < instruction.operands().size(); ++i) {
    const Operand& operand = instruction.operands()[i];
    if (operand.role == role) return {instruction, i};
    roles += (roles.empty() ? "" : ", ") + std::string(operand.role);
  }
  refuse(Errc::operand_kind, std::string(instruction.canonical()), "no operand '" + role + "'",
         "one of " + roles);
}

void add_operand(py::class_<BoundOperand>& c) {
  const auto read = [&c](const char* name, const char* doc, auto get) {
    c.def_property_readonly(name, get, doc);
  };
  using Bound = const BoundOperand&;
  read("role", "The manual's name: \"a\".", [](Bound o) { return o->role; });
  read("part", "What it is in D = A B + C: \"a\", \"c\", \"metadata\", ...", [](Bound o) { return o->part; });
  read("kind", "How it is written: \"vector\", \"scalar\", \"immediate\", ...",
       [](Bound o) { return o->kind; });
  read("format", "The format of its elements, e.g. \"f16\" (see warpbit.formats).",
       [](Bound o) { return o->format; });
  read("element_bits", "Bits of the code of an element.", [](Bound o) { return o->element_bits; });
  read(
      "takes_registers",
      R"(Whether its values are in registers, so that `execute` takes an array for it (of D: returns one). False
for an immediate and for literals, whose values stand in the statement.)",
      [](Bound o) { return takes_registers(*o); });
  read(
      "shape",
      R"(The shape of the matrix, (rows, columns); (products, rows, columns) where the instruction computes
several products side by side.)",
      [](Bound o) { return As<"tuple[int, ...]", py::tuple>(py::tuple(py::cast(matrix_shape(o->fragment)))); });
  read("register_shape", "The shape of the registers of a case, (lanes, registers of a lane).",
       [](Bound o) { return std::pair(o.instruction.lanes(), o->registers); });
  read("dtype", "NumPy's type of a register: uint32, or another unsigned one.",
       [](Bound o) { return unsigned_dtype(static_cast<std::size_t>(o->register_bits) / 8); });
  read("code_dtype", "The smallest unsigned type that holds the code of an element.",
       [](Bound o) { return unsigned_dtype(code_bytes(o->element_bits)); });
  c.def("__repr__", [](Bound o) { return "<Operand " + text_of(*o, o.instruction.lanes()) + ">"; });
  c.def(py::pickle(
      [](Bound o) { return py::make_tuple(o.instruction, o->role); },
      [](const py::tuple& s) { return operand_of(s[0].cast<Instruction>(), s[1].cast<std::string>()); }));
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
      [](const std::string& text, const std::optional<TargetName>& target, std::size_t most) {
        return nearest_forms(text, target, most);
      },
      "text"_a, "target"_a = py::none(), "most"_a = 3,
      "The documented forms, at most `most`, nearest to a mistyped form or statement.");
  m.def("kernels", &kernels,
        R"(The kernels that this processor can run, slowest first: "reference" (the specification), "scalar",
"avx2", "avx512", "neon". All compute the same bits.)");
  m.def("chosen_kernel", &chosen_kernel,
        R"(The kernel that is used unless one is asked for: that of the environment variable WARPBIT_KERNEL, or
the last of kernels().)");
}

}  // namespace

std::vector<py::ssize_t> matrix_shape(const FragmentMap& map) {
  if (map.products() == 1) return {map.rows(), map.columns()};
  return {map.products(), map.rows(), map.columns()};
}

void add_instruction(py::module_& m) {
  add_target(m);
  py::class_<BoundOperand> operand(
      m, "Operand",
      R"(An operand of an instruction: a matrix in the registers of its lanes (PTX manual, "Matrix Fragments"),
or what the statement gives as a literal.)");
  py::class_<Instruction> c(
      m, "Instruction",
      R"(An instruction of a target. Instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_90"):
a statement or a bare form, in which every immediate has its least value. A bare form may be short, as in
Instruction("mma.m16n8k16.f32.f16", "H100"); text is then the form in full. Immutable; it pickles. Errors name the
qualifier or operand that is wrong and what would be right there.)");
  c.def(py::init([](const std::string& text, const TargetName& target) {
          return value_of(Instruction::parse(text, target.target.name()));
        }),
        "text"_a, "target"_a);
  const auto read = [&c](const char* name, const char* doc, auto get) {
    c.def_property_readonly(name, get, doc);
  };
  read("text", "The text that came in.", &Instruction::text);
  read("canonical", "The form in the manual's spelling.", &Instruction::canonical);
  read("family", "Of which family it is, e.g. \"mma_sp\".", &Instruction::family);
  read("target", "The target.", &Instruction::target);
  read("operands", "In the order of the statement, the destination first.", [](const Instruction& i) {
    std::vector<BoundOperand> out;
    for (std::size_t n = 0; n < i.operands().size(); ++n) out.push_back({i, n});
    return out;
  });
  c.def("operand", &operand_of, "role"_a, "The operand of the manual's name, e.g. \"a\".");
  read("rows", "M: rows of A and D.", &Instruction::rows);
  read("columns", "N: columns of B and D.", &Instruction::columns);
  read("depth", "K: columns of A, rows of B.", &Instruction::depth);
  read("terms", "Products in a sum: depth, or half of it where A is sparse.", &Instruction::terms);
  read("blocks", "Scale factors in a row of A; 0 if there are none.", &Instruction::blocks);
  read("products", "Products of matrices side by side.", &Instruction::products);
  read("lanes", "Lanes that execute it together: 32, 128, or 1 of each thread.", &Instruction::lanes);
  read("uses_memory", "Whether it reads or writes memory.", &Instruction::uses_memory);
  read("inferred", "Whether the order of the sum, F or the rounding rest on no hardware result.",
       &Instruction::inferred);
  read("basis",
       R"(How the arithmetic of ordinary results is known: "captured" from a GPU by this project, "published" by
others who measured one, or "inferred" from other GPUs.)",
       [](const Instruction& i) { return i.evidence().overall(); });
  read("evidence",
       R"(What each parameter of the arithmetic rests on: {"order": (basis, from), "window": ..., "floor": ...,
"specials": ...}. A floor may be known by its "value only": others measured it and published no results.)",
       &evidence_of);
  read("plan", "The steps of one element of D.", &Instruction::plan);
  read("note", "Which other form matrix products of the target use, and how it differs; or empty.",
       [](const Instruction& i) { return note(i); });
  read("machine", "The instructions of the GPU itself (SASS) that ptxas makes of it, e.g. \"HMMA.16816.F32\".",
       &Instruction::machine);
  c.def("__str__", [](const Instruction& i) { return text_of(i); });
  c.def("__repr__", [](const Instruction& i) {
    return "Instruction(" + py::repr(py::cast(i.text())).cast<std::string>() + ", '" +
           std::string(i.target().name()) + "')";
  });
  add_equality(c, [](const Instruction& x, const Instruction& y) {
    return x.text() == y.text() && x.target() == y.target();
  });
  c.def("__hash__", [](const Instruction& i) { return py::hash(py::make_tuple(i.text(), i.target())); });
  c.def(py::pickle([](const Instruction& i) { return py::make_tuple(i.text(), i.target()); },
                   [](const py::tuple& state) {
                     return value_of(Instruction::parse(state[0].cast<std::string>(), state[1].cast<Target>()));
                   }));
  add_operand(operand);
  add_forms(m);
}

}  // namespace warpbit::python

bool pybind11::detail::type_caster<warpbit::python::TargetName>::load(handle source, bool) {
  using namespace warpbit::python;
  if (isinstance<warpbit::Target>(source)) {
    value = TargetName{source.cast<warpbit::Target>()};
  } else if (isinstance<str>(source)) {
    value = TargetName{value_of(warpbit::Target::find(source.cast<std::string>()))};
  } else if (!source.is_none()) {
    throw type_error("target: expected a Target or its name, got " + seen_text(source));
  }
  return value.has_value();
}
