// SPDX-License-Identifier: Apache-2.0
// Whole matrix products.
#include "warpbit/gemm.hpp"

#include "module.hpp"
#include "warpbit/diagnose.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/find_order.hpp"

namespace warpbit::python {
namespace {

// A matrix of codes as it lies.
struct CodeArray {
  py::array array;
  std::size_t rows, columns;
  MatrixView view;
};
CodeArray codes_of_matrix(const py::handle& object, const Operand& operand, const std::string& where,
                          const std::string& name) {
  const std::size_t bytes = code_bytes(operand.element_bits);
  const auto size = static_cast<py::ssize_t>(bytes);
  const std::optional<py::array> array = bits_in(object, bytes, operand.format);
  const bool is_matrix = array && array->ndim() == 2;
  if (!is_matrix || array->strides(0) % size != 0 || array->strides(1) % size != 0 ||
      reinterpret_cast<std::uintptr_t>(array->data()) % bytes != 0)
    refuse(where,
           name + " is " + seen_text(object) +
               (is_matrix ? " with strides " + py::str(array->attr("strides")).cast<std::string>() : ""),
           bits_text(bytes, operand.format) +
               " with two dimensions, whose strides are whole items (encode gives the codes of numbers)");
  return {*array,
          static_cast<std::size_t>(array->shape(0)),
          static_cast<std::size_t>(array->shape(1)),
          {array->data(), array->strides(0) / size, array->strides(1) / size}};
}

// The operands of D = A B + C. Errors: view_mismatch.
const Operand& operand_for(const Instruction& i, Part part) {
  if (const std::string_view product = product_by_types(i); !product.empty())
    refuse(std::string(i.canonical()), "its types are in an instruction descriptor",
           "types in the name: " + std::string(product));
  if (const Operand* operand = i.find(part)) return *operand;
  refuse(std::string(i.canonical()), "it is no product of matrices", "an instruction D = A B + C");
}

void require_shape(const CodeArray& matrix, std::size_t rows, std::size_t columns, const std::string& where,
                   const std::string& name) {
  if (matrix.rows != rows || matrix.columns != columns)
    refuse(where, name + " is " + seen_text(matrix.array),
           "shape (" + std::to_string(rows) + ", " + std::to_string(columns) + ")");
}

// A matrix of another format than the instruction's operands have.
Operand operand_in(const Operand& like, std::string_view format) {
  Operand out = like;
  const FormatInfo info = value_of(find_format_info(format));
  out.format = info.name;
  out.element_bits = info.bits;
  return out;
}

// Factors of f32 for promotions, or for whole rows and columns, if they are given.
std::optional<CodeArray> factors_of(const Instruction& i, const py::object& given, std::size_t lines,
                                    std::size_t factors, bool of_a) {
  if (given.is_none()) return std::nullopt;
  const std::string where(i.canonical()), name = of_a ? "a_scale" : "b_scale";
  CodeArray codes = codes_of_matrix(given, operand_in(operand_for(i, Part::d), "f32"), where, name);
  require_shape(codes, of_a ? lines : factors, of_a ? factors : lines, where, name);
  return codes;
}

// The scale factors of `lines` rows of A or columns of B, one for each block of K; nothing where the form has none.
std::optional<CodeArray> scales_of(const Instruction& i, const py::object& given, std::size_t lines,
                                   std::size_t depth, const SumOrder& order, bool of_a) {
  const std::string where(i.canonical()), name = of_a ? "a_scale" : "b_scale";
  const Operand* const operand = i.find(of_a ? Part::scale_a : Part::scale_b);
  if (i.find(Part::metadata) != nullptr) return std::nullopt;  // gemm refuses a sparse A
  if (operand == nullptr && (order.promote != 0 || order.scales_last))
    return factors_of(i, given, lines, value_of(scale_factors(i, depth, order)), of_a);
  if (operand == nullptr) {
    if (!given.is_none()) refuse(where, name + " is given", "none: the form has no block scaling");
    return std::nullopt;
  }
  const auto block = static_cast<std::size_t>(i.terms() / i.blocks());
  const std::size_t blocks = (depth + block - 1) / block, rows = of_a ? lines : blocks,
                    columns = of_a ? blocks : lines;
  if (given.is_none())
    refuse(where, name + " is not given",
           "codes of " + std::string(operand->format) + " of shape (" + std::to_string(rows) + ", " +
               std::to_string(columns) + "), one for each " + std::to_string(block) + " of K");
  CodeArray codes = codes_of_matrix(given, *operand, where, name);
  require_shape(codes, rows, columns, where, name);
  return codes;
}

Executed multiply(const Instruction& i, const Bits& a_object, const Bits& b_object,
                  const OptionalBits& c_object, const OptionalBits& a_scale_object,
                  const OptionalBits& b_scale_object, const OptionalBits& bias_object, const OptionalBits& out,
                  const std::string& order, int threads, std::optional<Kernel> kernel, bool allow_inferred) {
  const std::string where(i.canonical());
  const CodeArray a = codes_of_matrix(a_object, operand_for(i, Part::a), where, "A"),
                  b = codes_of_matrix(b_object, operand_for(i, Part::b), where, "B");
  const GemmOptions options{value_of(SumOrder::parse(order)),
                            {Undefined::error, allow_inferred, threads, kernel}};
  const Operand of_d = operand_in(operand_for(i, Part::d), format_of_result(i, options.order));
  require_shape(b, a.columns, b.columns, where, "B");
  Gemm problem{a.rows, b.columns, a.columns, a.view, b.view, {}, {}};
  std::optional<CodeArray> c;
  if (!c_object.is_none()) {
    c = codes_of_matrix(c_object, options.order.c_last ? of_d : operand_for(i, Part::d), where, "C");
    require_shape(*c, a.rows, b.columns, where, "C");
    problem.c = c->view;
  }
  std::optional<CodeArray> bias;
  if (!bias_object.is_none()) {
    bias = codes_of_matrix(bias_object, of_d, where, "bias");
    if (bias->rows != 1) require_shape(*bias, a.rows, b.columns, where, "bias");
    require_shape(*bias, bias->rows, b.columns, where, "bias");
    problem.bias = bias->view;
    if (bias->rows == 1) problem.bias.row_stride = 0;
  }
  const std::optional<CodeArray> a_scale = scales_of(i, a_scale_object, a.rows, a.columns, options.order, true),
                                 b_scale =
                                     scales_of(i, b_scale_object, b.columns, a.columns, options.order, false);
  if (a_scale) problem.a_scale = a_scale->view;
  if (b_scale) problem.b_scale = b_scale->view;
  py::object result = out;
  if (out.is_none())
    result = py::array(unsigned_dtype(code_bytes(of_d.element_bits)),
                       {static_cast<py::ssize_t>(a.rows), static_cast<py::ssize_t>(b.columns)});
  const CodeArray d = codes_of_matrix(result, of_d, where, "out");
  require_shape(d, a.rows, b.columns, where, "out");
  check_writable(d.array, where);
  if (!out.is_none()) {
    const auto apart = [&](const CodeArray& read, const char* name) {
      if (read.array.data() == d.array.data())
        refuse(where, std::string("out is ") + name, "memory of its own, or that of C");
      check_apart(d.array, read.array, where, name);
    };
    apart(a, "A");
    apart(b, "B");
    if (a_scale) apart(*a_scale, "a_scale");
    if (b_scale) apart(*b_scale, "b_scale");
    if (bias) apart(*bias, "bias");
    if (c) check_apart(d.array, c->array, where, "C");
  }
  problem.d = {const_cast<void*>(d.view.data), d.view.row_stride, d.view.column_stride};
  const Execution done =
      interruptible([&] { return value_of(gemm(i, problem, options)); },
                    static_cast<double>(a.rows * b.columns) * static_cast<double>(a.columns));
  const bool numbers = out.is_none() && holds_numbers({{a_object, &operand_for(i, Part::a)},
                                                       {b_object, &operand_for(i, Part::b)},
                                                       {c_object, &of_d}});
  return {numbers ? as_numbers(d.array, of_d.format) : d.array, done.kernel, done.inferred};
}

Diagnosis diagnose_product(const Instruction& i, const Bits& a_object, const Bits& b_object,
                           const OptionalBits& c_object, const Bits& d_object, bool pairs,
                           const std::string& store) {
  const std::string where(i.canonical());
  const CodeArray a = codes_of_matrix(a_object, operand_for(i, Part::a), where, "A"),
                  b = codes_of_matrix(b_object, operand_for(i, Part::b), where, "B"),
                  d = codes_of_matrix(d_object,
                                      operand_in(operand_for(i, Part::d),
                                                 store.empty() ? operand_for(i, Part::d).format : store),
                                      where, "d");
  require_shape(b, a.columns, b.columns, where, "B");
  require_shape(d, a.rows, b.columns, where, "d");
  Gemm product{a.rows, b.columns, a.columns, a.view, b.view, {}, {}};
  std::optional<CodeArray> c;
  if (!c_object.is_none()) {
    c = codes_of_matrix(c_object, operand_for(i, Part::d), where, "C");
    require_shape(*c, a.rows, b.columns, where, "C");
    product.c = c->view;
  }
  product.d = {const_cast<void*>(d.view.data), d.view.row_stride, d.view.column_stride};  // only read
  DiagnoseOptions options;
  options.pairs = pairs;
  options.store = store;
  return interruptible([&] { return value_of(diagnose(i, product, options)); });
}

// Elements of D: a number, which must be one of its format, or a code.
using Elements = As<"Optional[Iterable[Tuple[int, int, Union[int, float]]]]", py::object>;
std::vector<ResultElement> elements_of(const py::object& objects, const std::string& format) {
  std::vector<ResultElement> out;
  if (objects.is_none()) return out;
  const Codec codec = value_of(Codec::find(format));
  for (const py::handle& object : objects) {
    const auto [row, column, value] = object.cast<std::tuple<std::size_t, std::size_t, py::object>>();
    ResultElement& to = out.emplace_back(ResultElement{row, column, 0});
    if (!py::isinstance<py::float_>(value)) {
      to.code = value.cast<std::uint64_t>();
      continue;
    }
    const auto number = value.cast<double>();
    to.code = value_of(codec.encode(number));
    if (codec.decode(to.code) != number && number == number)
      refuse(Errc::usage, "order of the sum", py::repr(value).cast<std::string>(),
             "a number of the format of D, " + format + ", or its code as an int");
  }
  return out;
}

// The store that the type of D's items tells.
std::string store_told_by(const py::object& d, const Instruction& i, const SumOrder& known) {
  const std::optional<Items> items = items_in(d);
  if (!items) return "";
  const bool is_bf16 = items->format == "bf16" && format_of_result(i, known) == "f32";
  const char kind = items->format.empty() ? 'u' : 'f';
  return is_bf16 ? "bf16"
                 : value_of(store_of_items(i, known, kind, static_cast<std::size_t>(items->array.itemsize())));
}

// Whole D, or some elements of it.
OrderSearch search_order(const Bits& a_object, const Bits& b_object, const OptionalBits& d_object,
                         const std::string& target, const std::string& types, const std::string& order,
                         const As<"Sequence[str]">& first, const OptionalBits& c_object,
                         const Elements& elements, Share shard, double limit, std::size_t most) {
  const std::string where = "order of the sum";
  const std::size_t dot = std::min(types.find('.'), types.size());
  const std::string left = types.substr(0, dot), right = dot == types.size() ? left : types.substr(dot + 1);
  const std::vector<Instruction> instructions =
      value_of(instructions_of_products(left, right, value_of(Target::find(target))));
  const Instruction& i = instructions[0];
  FindOrderOptions options;
  options.known = value_of(SumOrder::parse(order));
  for (const auto& words : first.cast<std::vector<std::string>>())
    options.first.push_back(value_of(SumOrder::parse(words)));
  options.most_products = limit;
  options.most_found = most;
  options.shard = shard_of(shard);
  if (!d_object.is_none() && options.known.store.empty())
    options.known.store = store_told_by(d_object, i, options.known);
  const Operand of_d = operand_in(operand_for(i, Part::d), format_of_result(i, options.known));
  const CodeArray a = codes_of_matrix(a_object, operand_for(i, Part::a), where, "A"),
                  b = codes_of_matrix(b_object, operand_for(i, Part::b), where, "B");
  require_shape(b, a.columns, b.columns, where, "B");
  FoundProduct product{{a.rows, b.columns, a.columns, a.view, b.view, {}, {}}};
  product.elements = elements_of(elements, std::string(of_d.format));
  if (d_object.is_none() == product.elements.empty())
    refuse(Errc::usage, where, d_object.is_none() ? "no elements of D" : "both d and elements",
           "d, or elements");
  std::optional<CodeArray> c, d;
  if (!d_object.is_none()) {
    d = codes_of_matrix(d_object, of_d, where, "D");
    require_shape(*d, a.rows, b.columns, where, "D");
    product.product.d = {const_cast<void*>(d->view.data), d->view.row_stride,
                         d->view.column_stride};  // only read
  }
  if (!c_object.is_none()) {
    c = codes_of_matrix(c_object, options.known.c_last ? of_d : operand_for(i, Part::d), where, "C");
    require_shape(*c, a.rows, b.columns, where, "C");
    product.product.c = c->view;
  }
  return interruptible([&] { return value_of(find_order(instructions, product, options)); });
}

// ---- Pickles

// (form, order) of the other descriptions of a sum.
std::vector<std::pair<std::string, std::string>> sames_of(const FoundOrder& f) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const SameSum& same : f.same) out.emplace_back(same.form, same.order.text());
  return out;
}

py::tuple state_of_order(const FoundOrder& f) {
  py::object wrong = py::none();
  if (f.first_wrong)
    wrong = py::make_tuple(f.first_wrong->row, f.first_wrong->column, f.first_wrong->code, f.computed);
  return py::make_tuple(f.instruction, f.order.text(), f.equal, f.elements, wrong, f.left_out, f.number, f.sum,
                        sames_of(f));
}
FoundOrder order_of_state(const py::tuple& s) {
  FoundOrder out{s[0].cast<Instruction>(), value_of(SumOrder::parse(s[1].cast<std::string>())),
                 s[2].cast<std::uint64_t>(), s[3].cast<std::uint64_t>()};
  out.left_out = s[5].cast<std::size_t>();
  out.number = s[6].cast<std::uint64_t>();
  out.sum = s[7].cast<std::uint64_t>();
  for (const auto& [form, order] : s[8].cast<std::vector<std::pair<std::string, std::string>>>())
    out.same.push_back({form, value_of(SumOrder::parse(order))});
  if (s[4].is_none()) return out;
  const auto [row, column, code, computed] =
      s[4].cast<std::tuple<std::size_t, std::size_t, std::uint64_t, std::uint64_t>>();
  out.first_wrong = ResultElement{row, column, code};
  out.computed = computed;
  return out;
}

py::list states_of(const std::vector<FoundOrder>& orders) {
  py::list out;
  for (const FoundOrder& f : orders) out.append(state_of_order(f));
  return out;
}
std::vector<FoundOrder> orders_of(const py::handle& states) {
  std::vector<FoundOrder> out;
  for (const py::handle& s : states) out.push_back(order_of_state(s.cast<py::tuple>()));
  return out;
}

py::tuple answer_of(const OrderSearch& s) {
  return py::make_tuple(states_of(s.found), states_of(s.nearest), s.tried, s.complete, s.inferred);
}
py::tuple state_of_search(const OrderSearch& s) {
  py::list near;
  for (const OrderShare::Near& n : s.share.near)
    near.append(py::make_tuple(state_of_order(n.order), n.first_equal, n.looked_equal));
  py::list explaining;
  for (const OrderShare::Explaining& e : s.share.explaining)
    explaining.append(py::make_tuple(e.instruction, e.order.text(), e.sum, e.number));
  return py::make_tuple(answer_of(s), s.share.tried, s.share.is_limited, s.share.most_found, near,
                        s.share.has_more, explaining);
}
OrderSearch search_of_state(const py::tuple& s) {
  const auto answer = s[0].cast<py::tuple>();
  OrderSearch out{orders_of(answer[0]), orders_of(answer[1]), answer[2].cast<std::uint64_t>(),
                  answer[3].cast<bool>(), answer[4].cast<bool>()};
  out.share.tried = s[1].cast<std::vector<std::uint64_t>>();
  out.share.is_limited = s[2].cast<bool>();
  out.share.most_found = s[3].cast<std::uint64_t>();
  for (const py::handle& object : s[4]) {
    const auto n = object.cast<py::tuple>();
    out.share.near.push_back(
        {order_of_state(n[0].cast<py::tuple>()), n[1].cast<std::uint64_t>(), n[2].cast<std::uint64_t>()});
  }
  out.share.has_more = s[5].cast<bool>();
  for (const py::handle& object : s[6]) {
    const auto e = object.cast<py::tuple>();
    out.share.explaining.push_back({e[0].cast<Instruction>(),
                                    value_of(SumOrder::parse(e[1].cast<std::string>())),
                                    e[2].cast<std::uint64_t>(), e[3].cast<std::uint64_t>()});
  }
  return out;
}

void add_found_order(py::module_& m) {
  py::class_<FoundOrder> order(m, "FoundOrder",
                               "An instruction and an order of the sum, and how many elements of D they give.");
  order.def_readonly("instruction", &FoundOrder::instruction, "The instruction of each step.")
      .def_property_readonly(
          "order", [](const FoundOrder& f) { return f.order.text(); },
          "The order in words, as gemm takes them.")
      .def_readonly("equal", &FoundOrder::equal, "Elements that come out bit for bit,")
      .def_readonly("elements", &FoundOrder::elements, "of so many.")
      .def_readonly("left_out", &FoundOrder::left_out, "Values at the end of K that are not in the sum.")
      .def_readonly("number", &FoundOrder::number, "Of the hypothesis, in the order in which they are tried.")
      .def_property_readonly("same", &sames_of,
                             "Other descriptions of the same sum for any data of these sizes: (form, order).")
      .def("__repr__", [](const FoundOrder& f) {
        return "<FoundOrder " + std::string(f.instruction.canonical()) + ": " + f.order.text() + ", " +
               std::to_string(f.equal) + " of " + std::to_string(f.elements) + ">";
      });
  order.def(py::pickle(&state_of_order, &order_of_state));
}

void add_find_order(py::module_& m) {
  add_found_order(m);
  py::class_<OrderSearch> search(m, "OrderSearch", "What find_order found. Equal if the answers are.");
  search.def_readonly("found", &OrderSearch::found, "Those that give all of D, the most plausible first.")
      .def_readonly("nearest", &OrderSearch::nearest, "If there are none: those that give most elements.")
      .def_readonly("tried", &OrderSearch::tried, "How many were tried.")
      .def_readonly("complete", &OrderSearch::complete, "Whether all as plausible as the first were tried.")
      .def_readonly("inferred", &OrderSearch::inferred, "Whether the arithmetic was not verified on hardware.")
      .def_property_readonly(
          "split_k", [](const OrderSearch& s) { return name(s.split_k()); },
          "Was K split? \"yes\", \"no\" or \"cannot be told\".")
      .def("__str__", &OrderSearch::text);
  search.def(py::pickle(&state_of_search, &search_of_state));
  add_equality(search,
               [](const OrderSearch& x, const OrderSearch& y) { return answer_of(x).equal(answer_of(y)); });
  m.def("find_order", &search_order, "a"_a, "b"_a, "d"_a = py::none(), py::kw_only(), "target"_a, "types"_a,
        "order"_a = "ascending", "first"_a = py::make_tuple(), "c"_a = py::none(), "elements"_a = py::none(),
        "shard"_a = Share{1, 1}, "limit"_a = FindOrderOptions().most_products,
        "most_found"_a = FindOrderOptions().most_found,
        R"(In which order did a library sum this D = A B?

a, b, d: as of `gemm`; float16 and bfloat16 say the store of D. types: the formats of A and B, "f16", "tf32", "e4m3.e5m2". order: what is known of
the order, in words: c=last, alpha, "store=bf16" where D's type does not say so. first: orders to try before all others. elements: where
not all of D is known, (row, column, value) of some elements; a float is a number of D's format, an int a code. shard: (i, n)
for share i, from 1, of n shares of the hypotheses; `merge_orders` makes the answer of the whole of them. limit: as many
orders are tried as compute about so many products of two numbers, by all shares: some seconds; math.inf: all. Errors: usage, view_mismatch.)");
  m.def(
      "merge_orders", [](const std::vector<OrderSearch>& shares) { return value_of(merge_orders(shares)); },
      "shares"_a,
      "What find_order answers without shares, from those of all shares in any order. Error: usage.");
}

}  // namespace

void add_gemm(py::module_& m) {
  add_find_order(m);
  m.def("diagnose_product", &diagnose_product, "instruction"_a, "a"_a, "b"_a, "c"_a = py::none(), py::kw_only(),
        "d"_a, "pairs"_a = true, "store"_a = "",
        R"(Which mistake gives this wrong D of a product of whole matrices, made with this mma or wgmma?

a, b, c: as of `gemm`, as they are meant. d: what the kernel gave, (rows, columns) codes. Also mistakes in the loop
over K, in the blocks of D, in descriptors and in the epilogue are tried, and other orders of the sum along K. pairs: as
in `diagnose`. store: the format of d, where the kernel rounds its sums to another ("bf16"). Errors: view_mismatch.)");
  m.def("gemm", &multiply, "instruction"_a, "a"_a, "b"_a, "c"_a = py::none(), py::kw_only(),
        "a_scale"_a = py::none(), "b_scale"_a = py::none(), "bias"_a = py::none(), "out"_a = py::none(),
        "order"_a = "ascending", "threads"_a = 0, "kernel"_a = py::none(), "allow_inferred"_a = true,
        R"(D = A B + C, bit for bit as the instruction gives it tile by tile along K.

a: (rows, depth), b: (depth, columns), c: (rows, columns) codes, of Operand.code_dtype, or arrays and tensors
whose dtype says the operand's format, as their bits: float16, float32 (of tf32 too: `order` says how it is rounded),
int8, bfloat16, float8_e4m3fn, ...; with strides of whole items (so that b.T of a column-major matrix is no copy); no c is +0. D is of the same kind: codes,
or, where every matrix was given as numbers, float16, float32, float64 or int32. The sizes need not be multiples of
the instruction's. a_scale: (rows, blocks) and b_scale: (blocks, columns), codes of the scale factors where the form
has block scaling, one for each block of K; a block is terms / blocks of the instruction deep, and the last one may
be cut off. bias: (rows, columns) or (1, columns), added before the store. out: where D goes; may be c. order: how
the sum along K is made, and D of it, in words: "descending", "1:0:3:2", "split_k=3 unit=64 store=f16"
(doc/guide/library-products.md has all). With promote a_scale and b_scale are of f32, (rows, promotions) and (promotions,
columns), with scales=last (rows, 1) and (1, columns); with c=last c is of the format of D.
threads, kernel, allow_inferred: as in `execute`.

Any dense product whose C has the format of D: mma, with block scaling too, wmma and wgmma, wherever its operands
lie. Errors: view_mismatch, inferred_plan, no_such_kernel.)");
}

}  // namespace warpbit::python
