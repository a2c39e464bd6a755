// SPDX-License-Identifier: Apache-2.0
// From a wrong result to the mistake in the kernel.
#include "warpbit/diagnose.hpp"

#include "records.hpp"

namespace warpbit::python {
namespace {

Result<Diagnosis> diagnose_registers(const Instruction& instruction, const py::args& sources, const Bits& d,
                                     bool pairs) {
  const std::string where(instruction.canonical());
  const SourceArrays in = sources_of(instruction, sources);
  const Operand* operand = instruction.find(Part::d);
  if (operand == nullptr)
    refuse(Errc::member_value, "d", "an instruction without results", "D = A B + C in registers");
  const RegisterArray result = registers_of(d, *operand, instruction.lanes(), where);
  if (result.cases != in.cases)
    refuse(where, "d is " + seen_text(d), std::to_string(in.cases) + " cases, as the sources have");
  const DiagnoseOptions options{{}, {}, pairs};
  return interruptible([&] { return diagnose(instruction, in.views, result.view, in.cases, options); });
}

}  // namespace

void add_diagnose(py::module_& m) {
  add_record(m, "Finding", "What a mistake explains.",
             field("kind", &Finding::kind, "A word for a program: \"transposed\"."),
             field("operand", &Finding::operand, "The roles of the operands concerned; may be empty."),
             field("mistake", &Finding::mistake, "In words."),
             field("hint", &Finding::hint, "What to look at."),
             field("explained", &Finding::explained, "Elements of D that are what the mistake gives."),
             field("contradicted", &Finding::contradicted, "Elements of D that are something else."),
             field("elements", &Finding::elements, "All that were compared."),
             field("certain", &Finding::certain,
                   "It explains every element, no other mistake does, and it is no chance."),
             field("form", &Finding::form, "Of an order of the sum: the instruction."),
             field("order", &Finding::order, "Of an order of the sum: its words, as gemm takes them."),
             field("left_out", &Finding::left_out, "Values at the end of K that the order leaves out."));
  add_record(m, "WrongIndices", "Values of one index of the elements of D that have wrong elements.",
             field("index", &WrongIndices::index,
                   "\"case\", \"tile row\", \"tile column\", \"warp\", \"lane\" (of its warp), \"register\", "
                   "\"element\", \"row\" or \"column\"."),
             field("values", &WrongIndices::values, "The values, ascending."),
             field("size", &WrongIndices::size, "Of how many."),
             field("text", &WrongIndices::text, "The values in short: \"8 to 15 of each 16\"."));
  auto places = add_record(
      m, "WrongPlaces", "Where wrong elements of D are. str() of it is one line.",
      field("indices", &WrongPlaces::indices, "Those of which some values have no wrong element."),
      field("wrong", &WrongPlaces::wrong, "Wrong elements."),
      field("is_complete", &WrongPlaces::is_complete, "Whether every element with such indices is wrong."));
  places.def("__str__", &WrongPlaces::text);
  auto diagnosis = add_record(
      m, "Diagnosis", "Which mistake gives exactly this wrong D. str() of it says so.",
      field("verdict", &Diagnosis::verdict,
            "\"correct\", \"mistake\", \"ambiguous\", \"partial\" or \"none\"."),
      field("statement", &Diagnosis::statement, "The instruction."),
      field("target", &Diagnosis::target, "On which it was diagnosed."),
      field("cases", &Diagnosis::cases, "Cases."), field("elements", &Diagnosis::elements, "Elements of D."),
      field("right", &Diagnosis::right, "Elements that are right as they are."),
      field("hypotheses", &Diagnosis::hypotheses, "Mistakes that were tried."),
      field("inferred", &Diagnosis::inferred, "Whether the arithmetic rests on no hardware result."),
      field("findings", &Diagnosis::findings, "Those that explain more than the result as it is, best first."),
      field("where", &Diagnosis::where,
            "Where nothing explains all: the wrong elements, of a few tiles each for itself."));
  set_repr(diagnosis, [](const Diagnosis& d) { return "Diagnosis: " + d.text(); });
  diagnosis.def("__str__", [](const Diagnosis& d) { return d.details(); });
  m.def("diagnose", &diagnose_registers, "instruction"_a, py::kw_only(), "d"_a, "pairs"_a = true,
        R"(Diagnoses the registers of a wrong D of D = A B + C.

sources: as in `execute`, what was meant to be given. d: what the kernel gave, (cases, lanes, registers) or
(lanes, registers). pairs: whether pairs of mistakes are tried where no single one explains everything. The GIL
is released. Errors: view_mismatch, member_value.)");
  m.def(
      "diagnose_capture",
      [](const std::filesystem::path& path, const std::optional<TargetName>& target, bool pairs) {
        return interruptible([&] { return diagnose(path, DiagnoseOptions{target, {}, pairs}); });
      },
      "path"_a, "target"_a = py::none(), "pairs"_a = true,
      "The same of a capture. Errors: those of reading and decoding; member_value.");
}

}  // namespace warpbit::python
