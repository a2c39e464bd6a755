// SPDX-License-Identifier: Apache-2.0
// In which order a kernel added the rows of an array.
#include "warpbit/reduction.hpp"

#include "module.hpp"
#include "warpbit/all_reduce.hpp"

namespace warpbit::python {
namespace {

using Values = As<"NDArray[Any]">;
using Axis = As<"Optional[int]">;

/// The codes of an array, the summed axis last.
struct Summed {
  std::string format;
  std::size_t rows = 1, columns = 1;
  std::vector<py::ssize_t> shape;  ///< of the array, the summed axis last
  std::vector<std::uint64_t> codes;
};

// `axis`: None flattens; nothing leaves the array as it is.
Summed summed(Arguments& arguments, const py::handle& object, const std::string& name,
              const std::optional<Axis>& axis) {
  const std::optional<Items> items = items_in(object);
  if (!items ||
      (items->format != "f16" && items->format != "bf16" && items->format != "f32" && items->format != "f64"))
    arguments.refused(name, seen_text(object), "an array of float16, bfloat16, float32 or float64");
  Summed out;
  out.format = items->format;
  py::object array = arguments.codes(object, name, out.format);
  if (axis && axis->is_none())
    array = array.attr("reshape")(-1);
  else if (axis)
    array = py::module_::import("numpy").attr("moveaxis")(array, *axis, -1);
  const py::array moved(array);
  out.shape.assign(moved.shape(), moved.shape() + moved.ndim());
  if (!out.shape.empty()) out.columns = static_cast<std::size_t>(out.shape.back());
  out.codes = codes_in(moved);
  out.rows = out.columns == 0 ? 0 : out.codes.size() / out.columns;
  return out;
}

ReductionProblem problem_of(const std::string& reduction, const Summed& x, double epsilon) {
  return {value_of(find_reduction(reduction)), x.rows, x.columns, x.format, x.format, x.codes, {}, epsilon};
}

// v of attention, in `of_v`, which must live as long.
void set_v(ReductionProblem& problem, Arguments& arguments, const py::handle& v, Summed& of_v) {
  if (v.is_none()) return;
  of_v = summed(arguments, v, "v", std::nullopt);
  problem.v_format = of_v.format;
  problem.v_columns = of_v.columns;
  problem.v = of_v.codes;
}

ReductionSearch find_reduction_in(const std::string& reduction, const Values& x, const Values& d,
                                  const Axis& axis, double epsilon, int threads, int blocks,
                                  const std::optional<Values>& v) {
  Arguments arguments("find_reduction_order");
  const Summed of_x = summed(arguments, x, "x", axis);
  ReductionProblem problem = problem_of(reduction, of_x, epsilon);
  Summed of_v;
  if (v) set_v(problem, arguments, *v, of_v);
  const bool has_values = leaves_values(problem.reduction);
  const Summed of_d = summed(arguments, d, "d", has_values ? std::optional(axis) : std::nullopt);
  problem.d_format = of_d.format;
  problem.d = of_d.codes;
  return interruptible([&] { return value_of(find_reduction_order(problem, {{threads, blocks}})); });
}

As<"NDArray[Any]", py::array> reduced_array(const std::string& reduction, const Values& x,
                                            const std::string& order, const Axis& axis, double epsilon,
                                            const std::optional<std::string>& d_format,
                                            const std::optional<Values>& v) {
  Arguments arguments("reduce");
  const Summed of_x = summed(arguments, x, "x", axis);
  ReductionProblem problem = problem_of(reduction, of_x, epsilon);
  Summed of_v;
  if (v) set_v(problem, arguments, *v, of_v);
  problem.d_format = d_format.value_or(of_x.format == "f64" ? "f64" : "f32");
  const ReductionOrder parsed = value_of(ReductionOrder::parse(order));
  const std::vector<std::uint64_t> codes = interruptible([&] { return value_of(reduce(problem, parsed)); });
  std::vector<py::ssize_t> shape = of_x.shape;
  if (!leaves_values(problem.reduction)) shape.pop_back();
  if (problem.v_columns != 0) shape.push_back(static_cast<py::ssize_t>(problem.v_columns));
  const py::array_t<std::uint64_t> items(shape, codes.data());
  py::array out =
      as_format(items.attr("astype")(unsigned_dtype(code_bytes(problem.d_format))), problem.d_format);
  if (leaves_values(problem.reduction) && !axis.is_none())
    out = py::module_::import("numpy").attr("moveaxis")(out, -1, axis);
  return out;
}

std::vector<std::vector<std::string>> reduction_classes(const ReductionSearch& search) {
  std::vector<std::vector<std::string>> out;
  for (const ReductionClass& one : search.classes) {
    out.emplace_back();
    for (const ReductionOrder& order : one.orders) out.back().push_back(order.text());
  }
  return out;
}

// ---- Over ranks

/// What each rank has, rank by rank.
struct Ranks {
  Ranks(Arguments& arguments, const Values& x) : of(summed(arguments, x, "x", std::nullopt)) {
    if (of.shape.empty()) arguments.refused("x", "one number", "an array for each rank");
    problem.ranks = static_cast<std::size_t>(of.shape[0]);
    problem.values = problem.ranks == 0 ? 0 : of.codes.size() / problem.ranks;
    problem.format = of.format;
    problem.x = of.codes;
  }
  Summed of;
  AllReduceProblem problem;
};

AllReduceSearch find_all_reduce_in(const Values& x, const Values& d, bool mean) {
  Arguments arguments("find_all_reduce_order");
  Ranks ranks(arguments, x);
  const Summed of_d = summed(arguments, d, "d", std::nullopt);
  if (of_d.format != ranks.of.format) arguments.refused("d", of_d.format, ranks.of.format + ", the type of x");
  ranks.problem.is_mean = mean;
  ranks.problem.d = of_d.codes;
  return interruptible([&] { return value_of(find_all_reduce_order(ranks.problem)); });
}

As<"NDArray[Any]", py::array> all_reduced_array(const Values& x, const std::string& order, bool mean) {
  Arguments arguments("all_reduce");
  Ranks ranks(arguments, x);
  ranks.problem.is_mean = mean;
  const AllReduceOrder parsed = value_of(AllReduceOrder::parse(order));
  const std::vector<std::uint64_t> codes =
      interruptible([&] { return value_of(all_reduce(ranks.problem, parsed)); });
  const std::vector<py::ssize_t> shape(ranks.of.shape.begin() + 1, ranks.of.shape.end());
  const py::array_t<std::uint64_t> items(shape, codes.data());
  return as_format(items.attr("astype")(unsigned_dtype(code_bytes(ranks.of.format))), ranks.of.format);
}

void add_all_reduces(py::module_& m) {
  using Range = std::tuple<std::size_t, std::size_t, std::string, std::size_t>;
  py::class_<AllReduceSearch>(m, "AllReduceSearch", "What find_all_reduce_order found.")
      .def_property_readonly(
          "name",
          [](const AllReduceSearch& s) { return s.name.empty() ? std::nullopt : std::optional(s.name); },
          "\"ring 0 1 2 3\", \"tree\" (NCCL's), \"other\", \"any\" of two ranks; None: nothing explains D.")
      .def_property_readonly(
          "order",
          [](const AllReduceSearch& s) {
            return s.name.empty() ? std::nullopt : std::optional(s.order.text());
          },
          "An order in words that explains D, or None.")
      .def_property_readonly(
          "ranges",
          [](const AllReduceSearch& s) {
            std::vector<Range> out;
            for (std::size_t i = 0; i < s.ranges.size(); ++i)
              out.emplace_back(s.ranges[i].first, s.ranges[i].count, s.order.tree(i).sum(), s.ranges[i].others);
            return out;
          },
          "Of each range of values the first one, how many there are, their sum as text, and how many other sums explain them.")
      .def_readonly("explained", &AllReduceSearch::explained,
                    "How many values are explained, from the first one on.")
      .def_readonly("tried", &AllReduceSearch::tried, "How many sums were tried.")
      .def_readonly("complete", &AllReduceSearch::complete, "Whether these are all that there are.")
      .def("__str__", &AllReduceSearch::text);
  m.def("find_all_reduce_order", &find_all_reduce_in, "x"_a, "d"_a, py::kw_only(), "mean"_a = false,
        R"(In which order an all-reduce has added what the ranks have: ring, tree, and the ranges of values.

x: an array whose first axis is that of the ranks, of float16, bfloat16, float32 or float64; d: what each of them has afterwards.
mean: instead of the sum. Errors: usage; view_mismatch.)");
  m.def(
      "all_reduce", &all_reduced_array, "x"_a, "order"_a, py::kw_only(), "mean"_a = false,
      R"(D as an all-reduce computes it that adds in this order: words as `warpbit order --sum all_reduce --words` lists them.

The others as of find_all_reduce_order. Errors: usage; view_mismatch.)");
}

}  // namespace

void add_reductions(py::module_& m) {
  py::class_<ReductionSearch>(m, "ReductionSearch", "What find_reduction_order found.")
      .def_property_readonly(
          "classes", &reduction_classes,
          "Orders in words that explain D, the likely ones first: a list for each sum; the orders of one list "
          "are the same tree of additions.")
      .def_readonly("more_classes", &ReductionSearch::more_classes, "How many lists are left out.")
      .def_readonly("tried", &ReductionSearch::tried, "How many orders were tried.")
      .def_readonly("complete", &ReductionSearch::complete, "Whether all were.")
      .def_readonly("rows", &ReductionSearch::rows,
                    "How many rows of D were compared: of large arrays the first ones.")
      .def_readonly("all_rows", &ReductionSearch::all_rows, "How many rows D has.")
      .def_property_readonly(
          "nearest",
          [](const ReductionSearch& s) -> std::optional<std::string> {
            if (s.nearest_rows == 0) return std::nullopt;
            return s.nearest.text();
          },
          "The order that explains most rows, from the first one on, where some were not explained; or None.")
      .def_readonly("nearest_rows", &ReductionSearch::nearest_rows, "How many rows that are.")
      .def("__str__", &ReductionSearch::text);
  m.def("find_reduction_order", &find_reduction_in, "reduction"_a, "x"_a, "d"_a, py::kw_only(), "axis"_a = -1,
        "epsilon"_a = 0.0, "threads"_a = 0, "blocks"_a = 0, "v"_a = py::none(),
        R"(The orders in which a kernel may have added: those that explain D bit for bit.

reduction: "sum", "mean", "norm", "softmax", "layer_norm", "rms_norm", "logsumexp", "log_softmax", "cumsum" or "attention", along `axis`; None: of
all values. x, d: arrays or tensors of float16, bfloat16, float32 or float64; d has no such axis, or all values of x for softmax,
log_softmax and the norms of rows. v: the values of attention, a row for each column of x; d has its columns. epsilon: of the norms. threads,
blocks: of the kernel, where a profiler shows them. Sums are in float32, of float64 in float64. Errors: usage; view_mismatch.)");
  m.def(
      "reduce", &reduced_array, "reduction"_a, "x"_a, "order"_a = "", py::kw_only(), "axis"_a = -1,
      "epsilon"_a = 0.0, "d_format"_a = py::none(), "v"_a = py::none(),
      R"(D as a kernel computes it that adds in this order: words as `warpbit order --sum sum --words` lists them.

d_format: "f16", "bf16", "f32" or "f64"; float32 unless given, of float64 float64. The others as of find_reduction_order.
Errors: usage; view_mismatch.)");
  add_all_reduces(m);
}

}  // namespace warpbit::python
