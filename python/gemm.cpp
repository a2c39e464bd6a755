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

CodeArray matrix_of(py::array array, Arguments& arguments, const std::string& name) {
  if (array.ndim() != 2) arguments.refused(name, seen_text(array), "a matrix: two dimensions");
  const auto size = array.itemsize();
  const auto rows = static_cast<std::size_t>(array.shape(0)),
             columns = static_cast<std::size_t>(array.shape(1));
  const bool is_whole = array.strides(0) % size == 0 && array.strides(1) % size == 0 &&
                        reinterpret_cast<std::uintptr_t>(array.data()) % static_cast<std::size_t>(size) == 0;
  if (!is_whole)
    arguments.refused(name,
                      seen_text(array) + " with strides " + py::str(array.attr("strides")).cast<std::string>(),
                      "strides of whole items: np.ascontiguousarray(x)");
  const MatrixView view{array.data(), array.strides(0) / size, array.strides(1) / size};
  return {std::move(array), rows, columns, view};
}

CodeArray codes_of_matrix(Arguments& arguments, const py::handle& object, const Operand& operand,
                          const std::string& name) {
  return matrix_of(arguments.codes(object, name, operand.format), arguments, name);
}

// The same of memory to write to.
CodeArray memory_of_matrix(Arguments& arguments, const py::handle& object, const Operand& operand,
                           const std::string& name) {
  const std::size_t bytes = code_bytes(operand.element_bits);
  std::optional<py::array> array = Arguments::in_place(object, operand.format, bytes);
  if (!array)
    arguments.refused(name, seen_text(object), bits_text(bytes, operand.format) + " with two dimensions");
  return matrix_of(*std::move(array), arguments, name);
}

// In which format D is stored: `known`, or what the dtype of D says. Empty: that of the instruction.
std::string stored(Arguments& arguments, const Instruction& i, const py::object& d, const std::string& known,
                   const std::string& name) {
  const std::optional<Items> items = known.empty() && !d.is_none() ? items_in(d) : std::nullopt;
  const Operand* of_d = i.find(Part::d);
  if (!items || of_d == nullptr ||
      static_cast<std::size_t>(items->array.itemsize()) >= code_bytes(of_d->element_bits))
    return known;
  if (items->kind == Kind::numbers) return items->format;
  if ((items->kind == Kind::codes || items->kind == Kind::integers) && items->array.itemsize() == 2 &&
      i.find(Part::a) != nullptr)
    return value_of(store_of_items(i, SumOrder(), 'u', 2));
  arguments.refused(name, seen_text(d) + ", codes of another format than " + std::string(of_d->format),
                    "its dtype, x.view(np.float16), or the word for it: store=f16, store=bf16");
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
std::optional<CodeArray> factors_of(Arguments& arguments, const Instruction& i, const py::object& given,
                                    std::size_t lines, std::size_t factors, bool of_a) {
  if (given.is_none()) return std::nullopt;
  const std::string where(i.canonical()), name = of_a ? "a_scale" : "b_scale";
  CodeArray codes = codes_of_matrix(arguments, given, operand_in(operand_for(i, Part::d), "f32"), name);
  require_shape(codes, of_a ? lines : factors, of_a ? factors : lines, where, name);
  return codes;
}

// The scale factors of `lines` rows of A or columns of B, one for each block of K; nothing where the form has none.
std::optional<CodeArray> scales_of(Arguments& arguments, const Instruction& i, const py::object& given,
                                   std::size_t lines, std::size_t depth, const SumOrder& order, bool of_a) {
  const std::string where(i.canonical()), name = of_a ? "a_scale" : "b_scale";
  const Operand* const operand = i.find(of_a ? Part::scale_a : Part::scale_b);
  if (i.find(Part::metadata) != nullptr) return std::nullopt;  // gemm refuses a sparse A
  if (operand == nullptr && (order.promote != 0 || order.scales_last))
    return factors_of(arguments, i, given, lines, value_of(scale_factors(i, depth, order)), of_a);
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
  CodeArray codes = codes_of_matrix(arguments, given, *operand, name);
  require_shape(codes, rows, columns, where, name);
  return codes;
}

Executed multiply(const Instruction& i, const Matrix& a_object, const Matrix& b_object,
                  const OptionalMatrix& c_object, const OptionalMatrix& a_scale_object,
                  const OptionalMatrix& b_scale_object, const OptionalMatrix& bias_object,
                  const OptionalBits& out, const std::string& order, int threads, std::optional<Kernel> kernel,
                  bool allow_inferred, bool codes) {
  const std::string where(i.canonical());
  Arguments arguments(where, codes);
  const CodeArray a = codes_of_matrix(arguments, a_object, operand_for(i, Part::a), "A"),
                  b = codes_of_matrix(arguments, b_object, operand_for(i, Part::b), "B");
  const GemmOptions options{value_of(SumOrder::parse(order)),
                            {Undefined::error, allow_inferred, threads, kernel}};
  const Operand of_d = operand_in(operand_for(i, Part::d), format_of_result(i, options.order));
  require_shape(b, a.columns, b.columns, where, "B");
  Gemm problem{a.rows, b.columns, a.columns, a.view, b.view, {}, {}};
  std::optional<CodeArray> c;
  if (!c_object.is_none()) {
    c = codes_of_matrix(arguments, c_object, options.order.c_last ? of_d : operand_for(i, Part::d), "C");
    require_shape(*c, a.rows, b.columns, where, "C");
    problem.c = c->view;
  }
  std::optional<CodeArray> bias;
  if (!bias_object.is_none()) {
    bias = codes_of_matrix(arguments, bias_object, of_d, "bias");
    if (bias->rows != 1) require_shape(*bias, a.rows, b.columns, where, "bias");
    require_shape(*bias, bias->rows, b.columns, where, "bias");
    problem.bias = bias->view;
    if (bias->rows == 1) problem.bias.row_stride = 0;
  }
  const std::optional<CodeArray> a_scale = scales_of(arguments, i, a_scale_object, a.rows, a.columns,
                                                     options.order, true),
                                 b_scale = scales_of(arguments, i, b_scale_object, b.columns, a.columns,
                                                     options.order, false);
  if (a_scale) problem.a_scale = a_scale->view;
  if (b_scale) problem.b_scale = b_scale->view;
  py::object result = out;
  if (out.is_none())
    result = py::array(unsigned_dtype(code_bytes(of_d.element_bits)),
                       {static_cast<py::ssize_t>(a.rows), static_cast<py::ssize_t>(b.columns)});
  const CodeArray d = memory_of_matrix(arguments, result, of_d, "out");
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
  return {out.is_none() ? as_format(d.array, of_d.format) : d.array, std::string(of_d.format), done.kernel,
          done.inferred};
}

Diagnosis diagnose_product(const Instruction& i, const Matrix& a_object, const Matrix& b_object,
                           const OptionalMatrix& c_object, const Matrix& d_object, bool pairs,
                           const std::string& known_store, bool codes) {
  const std::string where(i.canonical());
  Arguments arguments(where, codes);
  const std::string store = stored(arguments, i, d_object, known_store, "d");
  const CodeArray a = codes_of_matrix(arguments, a_object, operand_for(i, Part::a), "A"),
                  b = codes_of_matrix(arguments, b_object, operand_for(i, Part::b), "B"),
                  d = codes_of_matrix(arguments, d_object,
                                      operand_in(operand_for(i, Part::d),
                                                 store.empty() ? operand_for(i, Part::d).format : store),
                                      "d");
  require_shape(b, a.columns, b.columns, where, "B");
  require_shape(d, a.rows, b.columns, where, "d");
  Gemm product{a.rows, b.columns, a.columns, a.view, b.view, {}, {}};
  std::optional<CodeArray> c;
  if (!c_object.is_none()) {
    c = codes_of_matrix(arguments, c_object, operand_for(i, Part::d), "C");
    require_shape(*c, a.rows, b.columns, where, "C");
    product.c = c->view;
  }
  product.d = {const_cast<void*>(d.view.data), d.view.row_stride, d.view.column_stride};  // only read
  DiagnoseOptions options;
  options.pairs = pairs;
  options.store = store;
  return interruptible([&] { return value_of(diagnose(i, product, options)); });
}

// Elements of D.
using Elements = As<"Optional[Iterable[Tuple[int, int, _Element]]]", py::object>;
std::vector<ResultElement> elements_of(Arguments& arguments, const py::object& objects,
                                       const std::string& format) {
  std::vector<ResultElement> out;
  if (objects.is_none()) return out;
  for (const py::handle& object : objects) {
    const auto [row, column, value] = object.cast<std::tuple<std::size_t, std::size_t, py::object>>();
    const std::string name =
        "element " + shape_text({static_cast<py::ssize_t>(row), static_cast<py::ssize_t>(column)});
    const py::array code = arguments.codes(value, name, format);
    if (code.size() != 1) arguments.refused(name, seen_text(value), "one number or code");
    out.push_back(ResultElement{row, column, codes_in(code)[0]});
  }
  return out;
}

// Whole D, or some elements of it.
OrderSearch search_order(const Matrix& a_object, const Matrix& b_object, const OptionalMatrix& d_object,
                         const std::string& target, const std::string& types, const std::string& order,
                         const As<"Sequence[str]">& first, const OptionalMatrix& c_object,
                         const Elements& elements, Share shard, double limit, std::size_t most, bool codes,
                         const Callback& progress) {
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
  Arguments arguments(where, codes);
  options.known.store = stored(arguments, i, d_object, options.known.store, "D");
  const Operand of_d = operand_in(operand_for(i, Part::d), format_of_result(i, options.known));
  const CodeArray a = codes_of_matrix(arguments, a_object, operand_for(i, Part::a), "A"),
                  b = codes_of_matrix(arguments, b_object, operand_for(i, Part::b), "B");
  require_shape(b, a.columns, b.columns, where, "B");
  FoundProduct product{{a.rows, b.columns, a.columns, a.view, b.view, {}, {}}};
  product.elements = elements_of(arguments, elements, std::string(of_d.format));
  if (d_object.is_none() == product.elements.empty())
    refuse(Errc::usage, where, d_object.is_none() ? "no elements of D" : "both d and elements",
           "d, or elements");
  std::optional<CodeArray> c, d;
  if (!d_object.is_none()) {
    d = codes_of_matrix(arguments, d_object, of_d, "D");
    require_shape(*d, a.rows, b.columns, where, "D");
    product.product.d = {const_cast<void*>(d->view.data), d->view.row_stride,
                         d->view.column_stride};  // only read
  }
  if (!c_object.is_none()) {
    c = codes_of_matrix(arguments, c_object, options.known.c_last ? of_d : operand_for(i, Part::d), "C");
    require_shape(*c, a.rows, b.columns, where, "C");
    product.product.c = c->view;
  }
  Progress told(progress);
  options.progress = [&](std::uint64_t tried, std::uint64_t of) { told.set(std::min(tried, of), of); };
  return interruptible([&] { return value_of(find_order(instructions, product, options)); }, INFINITY, &told);
}

void add_find_order(py::module_& m) {
  m.def("find_order", &search_order, "a"_a, "b"_a, "d"_a = py::none(), py::kw_only(), "target"_a, "types"_a,
        "order"_a = "ascending", "first"_a = py::make_tuple(), "c"_a = py::none(), "elements"_a = py::none(),
        "shard"_a = Share{1, 1}, "limit"_a = FindOrderOptions().most_products,
        "most_found"_a = FindOrderOptions().most_found, "codes"_a = false, "progress"_a = py::none(),
        R"(In which order did a library sum this D = A B?

a, b, d: as of `gemm`; a float16 D is stored as f16. types: the formats of A and B, "f16", "tf32", "e4m3.e5m2". order: what is
known of the order, in words: c=last, alpha, or "store=bf16" where the dtype of D does not say it. first: orders to try before all others. elements: where
not all of D is known, (row, column, value) of some elements; codes: as in `gemm`. shard: (i, n)
for share i, from 1, of n shares of the hypotheses; `merge_orders` makes the answer of the whole of them. limit: as many
orders are tried as compute about so many products of two numbers, by all shares: some seconds; math.inf: all. progress: called now and then with the orders tried, and all. Errors: usage, view_mismatch.)");
}

}  // namespace

void add_gemm(py::module_& m) {
  add_find_order(m);
  m.def("diagnose_product", &diagnose_product, "instruction"_a, "a"_a, "b"_a, "c"_a = py::none(), py::kw_only(),
        "d"_a, "pairs"_a = true, "store"_a = "", "codes"_a = false,
        R"(Which mistake gives this wrong D of a product of whole matrices, made with this mma or wgmma?

a, b, c, codes: as of `gemm`, as they are meant. d: what the kernel gave, (rows, columns). Also mistakes in the loop
over K, in the blocks of D, in descriptors and in the epilogue are tried, and other orders of the sum along K. pairs: as
in `diagnose`. store: the format of d, where the kernel rounds its sums to another ("bf16") and its dtype does not say so. Errors: view_mismatch.)");
  m.def("gemm", &multiply, "instruction"_a, "a"_a, "b"_a, "c"_a = py::none(), py::kw_only(),
        "a_scale"_a = py::none(), "b_scale"_a = py::none(), "bias"_a = py::none(), "out"_a = py::none(),
        "order"_a = "ascending", "threads"_a = 0, "kernel"_a = py::none(), "allow_inferred"_a = true,
        "codes"_a = false,
        R"(D = A B + C, bit for bit as the instruction gives it tile by tile along K.

a: (rows, depth), b: (depth, columns), c: (rows, columns). What they are, their dtype says:
* floating arrays and lists are numbers, which the operand's format must hold exactly; of its own dtype (float16, bfloat16,
  float8_e4m3fn, ...; float32 of tf32, which `order` rounds) their bits count as they are;
* unsigned arrays, of Operand.code_dtype, are codes; so is bf16 as int16, and with `codes` every integer;
* arrays of integers with a sign are numbers of an integer format; for a float format they are refused.
Tensors of PyTorch, ml_dtypes' types and all that has __dlpack__ or __array__ count alike. Strides are of whole items (b.T
of a column-major matrix is no copy); no c is +0. D has the format's own dtype: float32, float16, float64, int32, or
ml_dtypes' where that is installed; else they are codes, for decode(result.format, d). The sizes need not be multiples of
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
