// SPDX-License-Identifier: Apache-2.0
// How an element came about.
#include "warpbit/explain.hpp"

#include "records.hpp"
#include "warpbit/format.hpp"

namespace warpbit::python {
namespace {

void add_numbers(py::module_& m) {
  auto number = add_record(m, "ExactNumber", "A number, exactly: (-1)^negative * bits * 2^exponent.",
                           field("kind", &ExactNumber::kind, "\"finite\", \"infinity\" or \"nan\"."),
                           field("negative", &ExactNumber::negative, "Its sign."),
                           field("bits", &ExactNumber::bits, "0 and 1, the highest first; empty for zero."),
                           field("exponent", &ExactNumber::exponent, "Of the last bit."));
  number.def("decimal", &ExactNumber::decimal,
             "All digits, \"-0.0625\", beyond 60 of them with an exponent of ten.");
  number.def("ratio", &ExactNumber::ratio, "\"-1/16\", \"-1/2^40\", \"3 x 2^70\".");
  number.def("__str__", &ExactNumber::decimal);
}

void add_sums(py::module_& m) {
  add_record(m, "ScaledGroup", "Products that are added exactly and then scaled.",
             field("sum", &ScaledGroup::sum, "The sum before it is scaled."),
             field("a_scale", &ScaledGroup::a_scale, "The scale factor of A."),
             field("b_scale", &ScaledGroup::b_scale, "The scale factor of B."));
  add_record(m, "Addend", "What a sum adds.",
             field("name", &ExplainedAddend::name, "\"c\", \"sum 2\", \"a[3] b[3]\"."),
             field("value", &ExplainedAddend::value, "The addend."),
             field("kept", &ExplainedAddend::kept, "What is left of it after the cut."),
             field("sets_e", &ExplainedAddend::sets_e, "Whether its exponent is E, the largest."),
             field("group", &ExplainedAddend::group, "Of a scaled group its sum and its scales; else None."));
  add_record(m, "Window", "Addends are cut toward zero to multiples of 2^(e - f).",
             field("e", &ExplainedSum::Window::e, "The largest exponent of an addend."),
             field("f", &ExplainedSum::Window::f, "Bits that are kept below it."));
  add_record(
      m, "Sum", "One sum, rounded once.", field("name", &ExplainedSum::name, "\"sum 1\""),
      field("step", &ExplainedSum::step, "Of the plan."),
      field("instruction", &ExplainedSum::instruction,
            "In a chain: which of the instructions, from 1; 0 for what adds the sums of runs."),
      field("after", &ExplainedSum::after, "C and the products of all k below this one are in it; or None."),
      field("addends", &ExplainedSum::addends, "What it adds."),
      field("window", &ExplainedSum::window, "Where addends are cut; None where nothing is."),
      field("total", &ExplainedSum::total, "The sum of what is kept."),
      field("format", &ExplainedSum::format, "The format of the result."),
      field("code", &ExplainedSum::code, "The code of the result."),
      field("result", &ExplainedSum::result, "The result."));
}

void add_explanation(py::module_& m) {
  auto c = add_record(
      m, "Explanation",
      "How one element of D came about. str() of it shows the addends bit under bit; a "
      "notebook shows a picture.",
      field("name", &Explanation::name, "The target, or what tells it from others."),
      field("form", &Explanation::form, "The form."),
      field("target", &Explanation::target, "The target's name."),
      field("plan", &Explanation::plan, "The steps."),
      field("note", &Explanation::note, "Which other form matrix products of that target use; or empty."),
      field("instructions", &Explanation::instructions, "How many instructions along K."),
      field("inferred", &Explanation::inferred, "Whether the arithmetic rests on no result of that GPU."),
      field("assumed", &Explanation::assumed, "What else of this element no result of that GPU shows."),
      field("sums", &Explanation::sums, "The sums, in order."),
      field("format", &Explanation::format, "The format of D."),
      field("code", &Explanation::code, "What the instruction returns."),
      field("result", &Explanation::result, "The same as a number."),
      field("recorded", &Explanation::recorded, "What a capture has in this place, or None."),
      field("exact", &Explanation::exact, "C and all products, without any rounding."),
      field("nearest", &Explanation::nearest, "The code nearest to it, or None."),
      field("ulps", &Explanation::ulps, "How many ulp the result is away from the exact sum, or None."));
  set_repr(c, [](const Explanation& e) {
    return "Explanation of " + e.form + " on " + e.target + ": " + code_text(e.format, e.code);
  });
  c.def(
      "text", [](const Explanation& e, int columns) { return text(e, std::max(columns, 60)); },
      "columns"_a = kColumns, "For a person; no line is longer than `columns`, at least 60.");
  const auto picture = [](const Explanation& e) { return svg(e); };
  c.def("svg", picture, "A picture: an XML document.");
  c.def("json", &json, "The text of a JSON object.");
  c.def("__str__", [](const Explanation& e) { return text(e, kColumns); });
  c.def("_repr_svg_", picture);
}

}  // namespace

ElementInputs element_of(const Instruction& instruction, const Codes& a, const Codes& b, const Code& c,
                         const OptionalCodes& a_scale, const OptionalCodes& b_scale, bool codes) {
  Arguments arguments(std::string(instruction.canonical()), codes);
  const auto codes_of = [&](const py::object& object, const char* name, Part part, int dimensions = 1) {
    if (object.is_none()) return std::vector<std::uint64_t>();
    const Operand* operand = instruction.find(part);
    if (operand == nullptr) arguments.refused(name, "given", "none: the instruction has no such operand");
    const py::array out = arguments.codes(object, name, operand->format);
    if (out.ndim() != dimensions)
      arguments.refused(name, seen_text(object) + (out.ndim() == 0 ? ", a number" : ""),
                        dimensions == 1 ? "a row of A or a column of B: one dimension" : "one number");
    return codes_in(out);
  };
  const Part sum = instruction.find(Part::c) != nullptr ? Part::c : Part::d;
  ElementInputs out;
  out.a = codes_of(a, "a", Part::a);
  out.b = codes_of(b, "b", Part::b);
  out.c = codes_of(c, "c", sum, 0)[0];
  out.a_scale = codes_of(a_scale, "a_scale", Part::scale_a);
  out.b_scale = codes_of(b_scale, "b_scale", Part::scale_b);
  return out;
}

Computation computation_of(const py::handle& object) {
  if (py::isinstance<Computation>(object)) return object.cast<Computation>();
  if (py::isinstance<Instruction>(object)) return {object.cast<Instruction>(), {}};
  throw py::type_error("expected an Instruction or a Computation, got " + seen_text(object));
}

void add_explain(py::module_& m) {
  add_numbers(m);
  add_sums(m);
  add_explanation(m);
  m.def(
      "explain",
      [](const AnyComputation& computation, const Codes& a, const Codes& b, const Code& c,
         const OptionalCodes& a_scale, const OptionalCodes& b_scale, bool codes) {
        const Computation of = computation_of(computation);
        const ElementInputs element = element_of(of.instruction, a, b, c, a_scale, b_scale, codes);
        constexpr double kAsProducts = 10'000;  // so many times as long as a product takes an explained one
        return interruptible([&] { return explain_element(of, element); },
                             kAsProducts * static_cast<double>(element.a.size()));
      },
      "computation"_a, "a"_a, "b"_a, "c"_a = 0, "a_scale"_a = py::none(), "b_scale"_a = py::none(),
      py::kw_only(), "codes"_a = false,
      R"(Explains one element of D = A B + C.

computation: an Instruction, or a Computation over a longer K. a, b: a row of A and a column of B,
equally many (of a sparse A, those of the products that exist). Lists and floating arrays are numbers, each of which the
format must hold exactly; unsigned arrays are codes, and with `codes` integers are. c: the accumulator.
a_scale, b_scale: with block scaling, the factors of the blocks.
Errors: view_mismatch.)");
  m.def(
      "explain_capture",
      [](const std::filesystem::path& path, std::uint64_t index, int row, int column, int product) {
        return interruptible([&] { return explain_capture(path, index, {row, column, product}); });
      },
      "path"_a, "case"_a, "row"_a = 0, "column"_a = 0, "product"_a = 0,
      "Explains an element of D in a case of a capture. Errors: those of reading; usage, if there is no such "
      "one.");
}

}  // namespace warpbit::python
