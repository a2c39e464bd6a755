// SPDX-License-Identifier: Apache-2.0
// Where targets, forms or orders of K differ.
#include "warpbit/study.hpp"

#include <algorithm>

#include "records.hpp"
#include "warpbit/format.hpp"

namespace warpbit::python {
namespace {

using Computations = As<"Iterable[Union[Instruction, Computation]]", py::iterable>;
std::vector<Computation> computations_of(const py::iterable& objects) {
  std::vector<Computation> out;
  for (const py::handle& object : objects) out.push_back(computation_of(object));
  if (out.empty()) refuse(Errc::usage, "compare", "no computation", "one or more instructions or computations");
  return out;
}

// A table of results in front of what the library says.
std::string element_text(const ElementComparison& c, int columns) {
  std::string out;
  std::size_t widest = 0;
  for (const Explanation& e : c.explanations) widest = std::max(widest, e.name.size());
  for (const Explanation& e : c.explanations)
    out += e.name + std::string(widest - e.name.size() + 2, ' ') + code_text(e.format, e.code) + "\n";
  return out + text(c, columns);
}

std::string text_of(const Comparison& c, int columns) {
  std::string out = std::to_string(c.cases) + " cases, " + std::to_string(c.elements) + " elements\n";
  for (std::size_t i = 1; i < c.results.size(); ++i)
    out += c.names[i] + " differs from " + c.names[0] + " in " + std::to_string(c.results[i].differing) +
           " elements, by at most " + std::to_string(c.results[i].most_codes) + " codes\n";
  out += statistics_text(c, columns);
  if (c.first)
    out += "first: case " + std::to_string(c.first->index) + ", row " + std::to_string(c.first->at.row) +
           ", column " + std::to_string(c.first->at.column) + "\n" + element_text(c.first->comparison, columns);
  return out;
}

std::string html_of(const ElementComparison& c) {
  std::string out;
  for (const Explanation& e : c.explanations) {
    const std::string picture = svg(e);  // from <svg on: what stands before is for a document of its own
    out += "<div>" + picture.substr(picture.find("<svg")) + "</div>\n";
  }
  return out;
}

void add_computation(py::module_& m) {
  py::class_<Computation>(
      m, "Computation",
      R"(An element of D over a K of any depth, by instructions in a chain, the D of one being the C of the
next: Computation(instruction, order, depth). order: as of `gemm`, "descending", "1:0:3:2", "split_k=2", "promote=128",
but for the words that are none of the sum along K. Errors: usage; view_mismatch for an order that does not fit.)")
      .def(py::init([](const Instruction& instruction, const std::string& order, std::size_t depth) {
             return value_of(computation(instruction, order,
                                         depth == 0 ? static_cast<std::size_t>(instruction.terms()) : depth));
           }),
           "instruction"_a, "order"_a = "ascending", "depth"_a = 0)
      .def_readonly("instruction", &Computation::instruction, "The instruction of each step.")
      .def_property_readonly(
          "order", [](const Computation& c) { return c.order.text(); }, "The order in words.")
      .def("__repr__",
           [](const Computation& c) {
             return "<Computation " + std::string(c.instruction.canonical()) + " on " +
                    std::string(c.instruction.target().name()) + ", " + order_text(c) + ">";
           })
      .def(py::pickle(
          [](const Computation& c) { return py::make_tuple(c.instruction, c.order.text()); },
          [](const py::tuple& s) {
            return Computation{s[0].cast<Instruction>(), value_of(SumOrder::parse(s[1].cast<std::string>()))};
          }));
}

// A row for each K and computation.
As<"list[dict[str, int | float | str]]", py::list> rows_of(const DepthStudy& study) {
  As<"list[dict[str, int | float | str]]", py::list> out;
  for (const Comparison& c : study.comparisons)
    for (std::size_t i = 0; i < c.results.size(); ++i) {
      const StudiedComputation& of = study.computations[i];
      const ErrorStatistics s = statistics(c.results[i]);
      const auto exact = static_cast<std::uint64_t>(std::ranges::count(c.results[i].errors, 0.0));
      out.append(py::dict("depth"_a = c.depth, "target"_a = of.target, "order"_a = of.order, "form"_a = of.form,
                          "inferred"_a = of.mark, "elements"_a = s.elements, "bias"_a = s.bias, "p50"_a = s.p50,
                          "p90"_a = s.p90, "p99"_a = s.p99, "max"_a = s.max, "exact"_a = exact,
                          "correctly_rounded"_a = c.results[i].correctly_rounded,
                          "differing"_a = c.results[i].differing));
    }
  return out;
}

void add_study(py::module_& m) {
  add_record(m, "StudiedComputation", "A computation of a study in words.",
             field("name", &StudiedComputation::name, "What tells it apart from the others."),
             field("form", &StudiedComputation::form, "The form in full."),
             field("target", &StudiedComputation::target, "The target."),
             field("order", &StudiedComputation::order, "The order of the sum in words."),
             field("plan", &StudiedComputation::plan, "The arithmetic."),
             field("mark", &StudiedComputation::mark,
                   "What of it no result of that GPU shows: \"inferred: ...\"; empty if nothing."));
  auto study =
      add_record(m, "DepthStudy", "Errors of several computations over several K. A notebook shows a plot.",
                 field("computations", &DepthStudy::computations, "A StudiedComputation for each."),
                 field("comparisons", &DepthStudy::comparisons, "A Comparison for each K."));
  study.def_property_readonly(
      "rows", &rows_of,
      R"(A dict for each K and computation: depth, target, order, form, inferred, elements, bias, p50,
p90, p99, max (ulp), exact and correctly_rounded (elements), differing (from the first computation).)");
  study.def(
      "text", [](const DepthStudy& s, int columns) { return text(s, columns); }, "columns"_a = kColumns,
      "A table for a person.");
  study.def(
      "svg", [](const DepthStudy& s) { return svg(s); },
      "The median and the 99th percentile against K, as a picture. Error: view_mismatch for integers.");
  study.def(
      "write_svg", [](const DepthStudy& s, const std::filesystem::path& path) { return write_svg(path, s); },
      "path"_a, "Writes that picture. Errors: view_mismatch, file_unwritable.");
  set_repr(study, [](const DepthStudy& s) {
    return "DepthStudy: " + std::to_string(s.computations.size()) + " computations, " +
           std::to_string(s.comparisons.size()) + " K";
  });
  study.def("__str__", [](const DepthStudy& s) { return text(s, kColumns); });
  study.def("_repr_html_", [](const DepthStudy& s) {
    const Result<std::string> picture =
        svg(s);  // from <svg on: what stands before is for a document of its own
    return picture ? std::optional(picture->substr(picture->find("<svg"))) : std::nullopt;
  });
}

void add_results(py::module_& m) {
  auto element = add_record(
      m, "ElementComparison",
      "One element by several computations, and why they differ. A notebook shows pictures.",
      field("explanations", &ElementComparison::explanations, "An Explanation for each."),
      field("reasons", &ElementComparison::reasons, "Why it differs from the first; empty if it does not."));
  element.def("text", &element_text, "columns"_a = kColumns, "For a person.");
  set_repr(element, [](const ElementComparison& c) {
    std::string out = "ElementComparison:";
    for (const Explanation& e : c.explanations) out += " " + e.name + " " + code_text(e.format, e.code);
    return out;
  });
  element.def("__str__", [](const ElementComparison& c) { return element_text(c, kColumns); });
  element.def("_repr_html_", &html_of);

  add_record(m, "Coordinate", "A place in a matrix.", field("row", &Coordinate::row, "Row."),
             field("column", &Coordinate::column, "Column."),
             field("product", &Coordinate::product, "Which of the products side by side."));
  add_record(m, "ErrorStatistics",
             "What the errors of a computation are like, in ulp; all zero if there are none.",
             field("elements", &ErrorStatistics::elements, "Elements that have an error."),
             field("bias", &ErrorStatistics::bias, "The mean of the errors."),
             field("deviation", &ErrorStatistics::deviation, "Their standard deviation."),
             field("mean", &ErrorStatistics::mean, "The mean of their magnitudes."),
             field("p50", &ErrorStatistics::p50, "The magnitude that half of the elements do not exceed."),
             field("p90", &ErrorStatistics::p90, "That 90 percent do not."),
             field("p99", &ErrorStatistics::p99, "That 99 percent do not."),
             field("p999", &ErrorStatistics::p999, "That 99.9 percent do not."),
             field("max", &ErrorStatistics::max, "The largest magnitude."));
  add_record(m, "ErrorBin", "Elements whose errors have a magnitude above `above` and at most `up_to` ulp.",
             field("above", &ErrorBin::above, "Both are 0 in the bin of elements without an error."),
             field("up_to", &ErrorBin::up_to, "A power of two."),
             field("counts", &ErrorBin::counts, "Elements, for each computation."));
  auto results = add_record(
      m, "ComparedResults",
      R"(Results of one computation against those of the first, and against the exact sums of C and all products. An
error is the result minus the exact sum, in ulp: units of 2^(max(e, emin) - p), where e is the exponent of the exact
sum, emin and p are the minimum exponent and the fraction bits of D's format.)",
      field("differing", &ComparedResults::differing, "Elements whose bits are not the same."),
      field("most_codes", &ComparedResults::most_codes, "Codes between two results, at most."),
      field("correctly_rounded", &ComparedResults::correctly_rounded,
            "Elements whose result is the number nearest to the exact sum."),
      field("special", &ComparedResults::special, "Elements left out: a NaN or Inf among the inputs."),
      field("overflowed", &ComparedResults::overflowed, "Elements left out: any other result of Inf or NaN."),
      field("errors", &ComparedResults::errors, "Errors of all other elements."));
  results.def_property_readonly(
      "errors",
      [](const ComparedResults& r) {
        return py::array_t<double>(static_cast<py::ssize_t>(r.errors.size()), r.errors.data());
      },
      "Errors of all other elements, in ascending order; none for integers.");
  results.def_property_readonly("statistics", &statistics, "What the errors are like.");
  set_repr(results, [](const ComparedResults& r) {
    return "ComparedResults: " + std::to_string(r.differing) + " differ, " + std::to_string(r.errors.size()) +
           " errors";
  });
  add_record(m, "FirstDifference", "The first element that is not the same everywhere.",
             field("index", &Comparison::First::index, "The case."),
             field("at", &Comparison::First::at, "Its place in D."),
             field("comparison", &Comparison::First::comparison, "The element by each."));
  auto comparison = add_record(
      m, "Comparison", "All elements of many cases by several computations.",
      field("cases", &Comparison::cases, "Cases."),
      field("elements", &Comparison::elements, "Elements of D in all of them."),
      field("results", &Comparison::results, "For each computation; the first differs nowhere from itself."),
      field("first", &Comparison::first, "The first difference, or None."),
      field("names", &Comparison::names, "What tells the computations apart."),
      field("format", &Comparison::format, "The format of D."), field("depth", &Comparison::depth, "K."));
  comparison.def_property_readonly("histogram", &histogram,
                                   "An ErrorBin for each power of two from 1/8 to the largest error.");
  comparison.def("text", &text_of, "columns"_a = kColumns,
                 "For a person: statistics, histogram, first difference.");
  set_repr(comparison, [](const Comparison& c) {
    std::string out = "Comparison of " + std::to_string(c.elements) + " elements, differing from the first:";
    for (std::size_t i = 1; i < c.results.size(); ++i) out += " " + std::to_string(c.results[i].differing);
    return out;
  });
  comparison.def("__str__", [](const Comparison& c) { return text_of(c, kColumns); });

  auto inputs =
      add_record(m, "ElementInputs", "What an element is computed from, as codes.",
                 field("a", &ElementInputs::a, "A row of A."), field("b", &ElementInputs::b, "A column of B."),
                 field("c", &ElementInputs::c, "The accumulator."),
                 field("a_scale", &ElementInputs::a_scale, "Scale factors of A."),
                 field("b_scale", &ElementInputs::b_scale, "Scale factors of B."));
  const auto as_array = [&inputs](const char* name, auto member, const char* doc) {
    inputs.def_property_readonly(
        name,
        [member](const ElementInputs& e) {
          return array_of(e.*member, 8, {static_cast<py::ssize_t>((e.*member).size())});
        },
        doc);
  };
  as_array("a", &ElementInputs::a, "A row of A, uint64.");
  as_array("b", &ElementInputs::b, "A column of B.");
  as_array("a_scale", &ElementInputs::a_scale, "Scale factors of A.");
  as_array("b_scale", &ElementInputs::b_scale, "Scale factors of B.");
  inputs.def_property_readonly(
      "c", [](const ElementInputs& e) { return array_of({e.c}, 8, {}); }, "The accumulator, of no dimension.");
  add_record(m, "FoundDifference", "Inputs that tell two computations apart.",
             field("inputs", &FoundDifference::inputs, "Few that are not zero, and simple ones."),
             field("comparison", &FoundDifference::comparison, "The element by both."));
  auto search = add_record(m, "DifferenceSearch", "What find_difference gives.",
                           field("found", &DifferenceSearch::found, "The inputs, or None."),
                           field("equal_steps", &DifferenceSearch::equal_steps,
                                 "Whether no input can tell them apart. False says nothing."),
                           field("tried", &DifferenceSearch::tried, "Elements that were tried."));
  const auto told = [](const DifferenceSearch& s) {
    if (s.found) return std::string("a difference");
    return s.equal_steps ? std::string("equal: no input tells them apart")
                         : "no difference found in " + std::to_string(s.tried) + " elements";
  };
  search.def("__str__", [told](const DifferenceSearch& s) {
    return s.found ? element_text(s.found->comparison, kColumns) : told(s);
  });
  set_repr(search, [told](const DifferenceSearch& s) { return "DifferenceSearch: " + told(s); });
}

}  // namespace

void add_compare(py::module_& m) {
  add_computation(m);
  add_results(m);
  add_study(m);
  m.def(
      "compare",
      [](const Computations& computations, const Codes& a, const Codes& b, const Code& c,
         const OptionalCodes& a_scale, const OptionalCodes& b_scale, bool codes) {
        const std::vector<Computation> of = computations_of(computations);
        const ElementInputs element = element_of(of[0].instruction, a, b, c, a_scale, b_scale, codes);
        return interruptible([&] { return compare_element(of, element); });
      },
      "computations"_a, "a"_a, "b"_a, "c"_a = 0, "a_scale"_a = py::none(), "b_scale"_a = py::none(),
      py::kw_only(), "codes"_a = false,
      R"(One element by several instructions or computations with the same formats; the rest as in `explain`.
Errors: view_mismatch.)");
  m.def(
      "compare_capture",
      [](const std::filesystem::path& path, const Computations& computations) {
        const std::vector<Computation> list = computations_of(computations);
        return interruptible([&] { return compare_capture(path, list); });
      },
      "path"_a, "computations"_a,
      "All elements of a capture of D = A B + C. Errors: those of reading; view_mismatch.");
  m.def(
      "compare_generated",
      [](const Computations& computations, std::uint64_t cases, std::uint64_t seed, inputs::Profile profile,
         std::size_t depth, Share shard, const Callback& progress) {
        const std::vector<Computation> list = computations_of(computations);
        const Shard of = shard_of(shard);
        const auto [first, own] = of.range(cases);
        Progress told(progress);
        return interruptible(
            [&, count = own] {
              return compare_generated(list, {seed, profile}, cases, depth, of,
                                       [&](std::uint64_t done) { told.set(done, count); });
            },
            INFINITY, &told);
      },
      "computations"_a, "cases"_a, "seed"_a = 0, "profile"_a = inputs::Profile::ordinary, "depth"_a = 0,
      "shard"_a = Share{1, 1}, "progress"_a = py::none(),
      R"(All elements of cases [0, cases) of generated inputs, which depend on form, seed, profile and the
number of the case alone.

profile: "uniform", "ordinary", "narrow", "wide", "underflow", "overflow", "specials", "cancellation",
"alignment", "mixed" or "exhaustive". depth: K, 0 for that of the deepest instruction. shard: (i, n) for share
i, from 1, of n shares of the cases; `merge` makes the whole of them. All inputs of a share are held at once. progress: called
now and then with the cases done, and all.
The GIL is released. Errors: view_mismatch; usage.)");
  m.def(
      "compare_depths",
      [](const Computations& computations, const std::vector<std::size_t>& depths, std::uint64_t cases,
         std::uint64_t seed, inputs::Profile profile, Share shard, bool zero_c, const Callback& progress) {
        const std::vector<Computation> list = computations_of(computations);
        const Shard of = shard_of(shard);
        const auto [first, own] = of.range(cases);
        Progress told(progress);
        return interruptible(
            [&, count = own] {
              return compare_depths(list, {seed, profile}, cases, depths, of, zero_c,
                                    [&](std::uint64_t done) { told.set(done, count); });
            },
            INFINITY, &told);
      },
      "computations"_a, "depths"_a, "cases"_a, "seed"_a = 0, "profile"_a = inputs::Profile::ordinary,
      "shard"_a = Share{1, 1}, "zero_c"_a = false, "progress"_a = py::none(),
      R"(What `compare_generated` gives for each K, which ascend: the errors of orders and targets against K, as data, as
a table (print) and as a plot. The inputs of a K are the first ones of a larger K. zero_c: C is zero, as of most products. Errors: view_mismatch; usage.)");
  m.def(
      "merge", [](const std::vector<Comparison>& shares) { return merge(shares); }, "shares"_a,
      "What comparing all cases gives, from its shares in any order. Error: usage.");
  m.def(
      "find_difference",
      [](const AnyComputation& x, const AnyComputation& y, std::size_t depth) {
        const Computation of_x = computation_of(x), of_y = computation_of(y);
        return interruptible([&] { return find_difference(of_x, of_y, depth); });
      },
      "x"_a, "y"_a, "depth"_a = 0,
      R"(Searches small inputs that tell two instructions or computations apart, over a K of this depth (0: that
of the deeper instruction). Errors: view_mismatch.)");
  m.def(
      "codes_between", &codes_between, "format"_a, "x"_a, "y"_a,
      R"(Codes between two of a floating-point format: 1 for neighbours, 0 for +0 and -0; None if one is a NaN,
or if the format is of integers.)");
}

}  // namespace warpbit::python
