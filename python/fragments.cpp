// SPDX-License-Identifier: Apache-2.0
// Matrices from and to registers, and sparse ones from and to dense ones.
#include "warpbit/fragment.hpp"

#include <bit>
#include <cstring>

#include "operand.hpp"
#include "warpbit/format.hpp"
#include "warpbit/sparse.hpp"

namespace warpbit::python {
namespace {

// What one slot of the registers of a case holds.
struct Slot {
  std::ptrdiff_t lane, reg;
  int low_bit;
  std::size_t element;  // in (product, row, column)
};

std::size_t index_of(const FragmentMap& map, Coordinate c) {
  return (static_cast<std::size_t>(c.product) * static_cast<std::size_t>(map.rows()) +
          static_cast<std::size_t>(c.row)) *
             static_cast<std::size_t>(map.columns()) +
         static_cast<std::size_t>(c.column);
}

// The first place of each element.
std::vector<Slot> first_places(const FragmentMap& map) {
  std::vector<Slot> out;
  for (const Place& p : map.table()) out.push_back({p.lane, p.reg, p.low_bit, out.size()});
  return out;
}

// Every place that holds an element.
std::vector<Slot> all_places(const FragmentMap& map) {
  std::vector<Slot> out;
  for (int lane = 0; lane < map.lanes(); ++lane)
    for (int reg = 0; reg < map.registers(); ++reg)
      for (int slot = 0; slot < map.packing().per_register(); ++slot)
        if (const std::optional<Coordinate> c = map.at(lane, reg, slot))
          out.push_back({lane, reg, map.packing().low_bit_of(slot), index_of(map, *c)});
  return out;
}

std::string where_of(const BoundOperand& o) {
  return std::string(o.instruction.canonical());
}

void require_registers(const BoundOperand& o) {
  if (!takes_registers(*o) || o->element_bits == 0)
    refuse(Errc::operand_kind, where_of(o), "operand " + std::string(o->role) + " has no matrix in registers",
           "an operand with registers");
}

// The codes of all cases, and the shape of the array that they are for.
struct Codes {
  std::vector<std::uint64_t> codes;
  std::vector<py::ssize_t> shape;
};
Codes gather(const BoundOperand& o, const py::object& registers) {
  require_registers(o);
  const RegisterArray in = registers_of(registers, *o, o.instruction.lanes(), where_of(o));
  const std::vector<Slot> places = first_places(o->fragment);
  Codes out{std::vector<std::uint64_t>(in.cases * places.size()), matrix_shape(o->fragment)};
  if (in.has_cases) out.shape.insert(out.shape.begin(), static_cast<py::ssize_t>(in.cases));
  const auto bytes = static_cast<std::size_t>(o->register_bits) / 8;
  const std::uint64_t mask = o->fragment.packing().mask();
  without_gil([&] {
    auto* code = out.codes.data();
    for (std::size_t i = 0; i < in.cases; ++i)
      for (const Slot& p : places)
        *code++ = code_at(in.view.base + static_cast<std::ptrdiff_t>(i) * in.view.case_stride +
                              p.lane * in.view.lane_stride + p.reg * in.view.register_stride,
                          bytes) >>
                      p.low_bit &
                  mask;
  });
  return out;
}

// A matrix, or one for each case, of items of any kind.
struct Matrices {
  py::array array;
  bool has_cases;
  std::size_t cases;
};
// Errors: view_mismatch, if there is no array of such items (`type`) or it has another shape.
Matrices matrices_of(const std::optional<py::array>& array, const py::object& object, const BoundOperand& o,
                     const std::string& type) {
  const std::vector<py::ssize_t> shape = matrix_shape(o->fragment);
  const auto n = static_cast<py::ssize_t>(shape.size());
  if (!array || (array->ndim() != n && array->ndim() != n + 1) ||
      !std::equal(shape.begin(), shape.end(), array->shape() + (array->ndim() - n))) {
    const std::string one = shape_text(shape).substr(1);
    refuse(Errc::view_mismatch, where_of(o),
           "the matrix of " + std::string(o->role) + " is " + seen_text(object),
           type + " of shape (" + one + " or (cases, " + one);
  }
  const bool has_cases = array->ndim() == n + 1;
  return {*array, has_cases, has_cases ? static_cast<std::size_t>(array->shape(0)) : 1};
}

// Where each element of the matrix lies, in bytes from that of its case.
std::vector<std::ptrdiff_t> offsets(const Matrices& m, const FragmentMap& map) {
  const py::ssize_t n = m.array.ndim();
  const std::ptrdiff_t row = m.array.strides(n - 2), column = m.array.strides(n - 1),
                       product = map.products() == 1 ? 0 : m.array.strides(n - 3);
  std::vector<std::ptrdiff_t> out;
  for (int p = 0; p < map.products(); ++p)
    for (int r = 0; r < map.rows(); ++r)
      for (int c = 0; c < map.columns(); ++c) out.push_back(p * product + r * row + c * column);
  return out;
}

// Writes code(address of an item) into all places of its element; other bits become 0, or stay in `out`.
template <class Code>
py::array scatter(const BoundOperand& o, const Matrices& m, const py::object& out, Code code) {
  const RegisterArray registers = results_of(out, *o, o.instruction.lanes(), m.has_cases, m.cases, where_of(o));
  if (out.is_none())
    std::memset(const_cast<void*>(registers.array.data()), 0,
                static_cast<std::size_t>(registers.array.nbytes()));
  else
    check_apart(registers.array, m.array, where_of(o), "the matrix");
  const std::vector<Slot> places = all_places(o->fragment);
  const std::vector<std::ptrdiff_t> items = offsets(m, o->fragment);
  const ResultView view = registers.result_view();
  const auto bytes = static_cast<std::size_t>(o->register_bits) / 8;
  const std::uint64_t mask = o->fragment.packing().mask();
  const auto* base = static_cast<const std::byte*>(m.array.data());
  const std::ptrdiff_t case_stride = m.has_cases ? m.array.strides(0) : 0;
  without_gil([&] {
    std::vector<std::uint64_t> codes(items.size());
    for (std::size_t i = 0; i < m.cases; ++i) {
      const auto index = static_cast<std::ptrdiff_t>(i);
      for (std::size_t e = 0; e < items.size(); ++e) codes[e] = code(base + index * case_stride + items[e]);
      for (const Slot& p : places) {
        std::byte* at =
            view.base + index * view.case_stride + p.lane * view.lane_stride + p.reg * view.register_stride;
        const std::uint64_t word = (code_at(at, bytes) & ~(mask << p.low_bit)) | (codes[p.element] & mask)
                                                                                     << p.low_bit;
        std::memcpy(at, &word, bytes);
      }
    }
  });
  return registers.array;
}

Unsigned scatter_codes(const BoundOperand& o, const Bits& codes, const OptionalBits& out) {
  require_registers(o);
  const std::size_t bytes = code_bytes(o->element_bits);
  const Matrices m = matrices_of(bits_in(codes, bytes, o->format), codes, o, bits_text(bytes, o->format));
  return scatter(o, m, out, [bytes](const std::byte* at) { return code_at(at, bytes); });
}

Unsigned scatter_values(const BoundOperand& o, const Numbers& values, const OptionalBits& out,
                        Rounding rounding, bool satfinite) {
  require_registers(o);
  const Codec codec = value_of(Codec::find(o->format));
  const py::array_t<double> numbers = numbers_of(values, where_of(o));
  return scatter(o, matrices_of(numbers, numbers, o, "numbers"), out, [&](const std::byte* at) {
    return value_of(codec.encode(std::bit_cast<double>(code_at(at, sizeof(double))), rounding, satfinite));
  });
}

py::array_t<double> gather_values(const BoundOperand& o, const Bits& registers) {
  const Codes gathered = gather(o, registers);
  const Codec codec = value_of(Codec::find(o->format));
  py::array_t<double> out(gathered.shape);
  double* value = out.mutable_data();
  for (const std::uint64_t code : gathered.codes) *value++ = codec.decode(code);
  return out;
}

// Rows x columns codes of the given bits, row by row.
std::vector<std::uint64_t> matrix_codes(const py::object& object, py::ssize_t rows, py::ssize_t columns,
                                        int bits, const std::string& where, const std::string& name,
                                        std::string_view format = {}) {
  const std::size_t bytes = code_bytes(bits);
  const std::optional<py::array> array = bits_in(object, bytes, format);
  if (!array || shape_of(*array) != std::vector{rows, columns})
    refuse(Errc::view_mismatch, where, name + " is " + seen_text(object),
           bits_text(bytes, format) + " of shape " + shape_text({rows, columns}));
  std::vector<std::uint64_t> out;
  const auto* base = static_cast<const std::byte*>(array->data());
  for (py::ssize_t r = 0; r < rows; ++r)
    for (py::ssize_t c = 0; c < columns; ++c)
      out.push_back(code_at(base + r * array->strides(0) + c * array->strides(1), bytes));
  return out;
}

// The operands of a sparse A. Errors: not_sparse.
std::pair<const Operand*, const Operand*> sparse_operands(const Instruction& i) {
  const Operand *a = i.find(Part::a), *e = i.find(Part::metadata);
  if (a == nullptr || e == nullptr)
    refuse(Errc::not_sparse, std::string(i.canonical()), "its A is not sparse", "an instruction with metadata");
  return {a, e};
}

As<"tuple[NDArray[np.unsignedinteger[Any]], NDArray[np.uint8]]", py::tuple> compress_dense(const Instruction& i,
                                                                                           const Bits& dense) {
  const auto [a, e] = sparse_operands(i);
  const CompressedMatrix out =
      value_of(compress(i, matrix_codes(dense, i.rows(), i.depth(), a->element_bits, std::string(i.canonical()),
                                        "the dense A", a->format)));
  const auto groups = static_cast<py::ssize_t>(out.metadata.size()) / i.rows();
  return py::make_tuple(array_of(out.codes, code_bytes(a->element_bits), {i.rows(), i.terms()}),
                        array_of(out.metadata, 1, {i.rows(), groups}));
}

Unsigned expand_sparse(const Instruction& i, const Bits& codes, const Bytes& metadata) {
  const auto [a, e] = sparse_operands(i);
  const std::string where(i.canonical());
  const std::vector<std::uint64_t> dense = value_of(
      expand(i, {matrix_codes(codes, i.rows(), i.terms(), a->element_bits, where, "the stored A", a->format),
                 matrix_codes(metadata, e->fragment.rows(), e->fragment.columns(), 4, where, "the metadata")}));
  return array_of(dense, code_bytes(a->element_bits), {i.rows(), i.depth()});
}

}  // namespace

void add_fragments(py::module_& m) {
  m.def(
      "gather",
      [](const BoundOperand& operand, const Bits& registers) {
        const Codes out = gather(operand, registers);
        return array_of(out.codes, code_bytes(operand->element_bits), out.shape);
      },
      "operand"_a, "registers"_a,
      "The codes of the matrix that registers hold: Operand.shape, or (cases, *shape), of "
      "Operand.code_dtype.\n\n"
      "registers: (lanes, registers) or (cases, lanes, registers) of Operand.dtype. An element that several\n"
      "places hold is taken from the first. Errors: view_mismatch; operand_kind.");
  m.def("gather_values", &gather_values, "operand"_a, "registers"_a, "The same as numbers, exactly: float64.");
  m.def(
      "scatter", &scatter_codes, "operand"_a, "codes"_a, "out"_a = py::none(),
      "The registers that hold a matrix of codes: (lanes, registers), or (cases, lanes, registers).\n\n"
      "codes: Operand.shape, or (cases, *shape), of Operand.code_dtype (or of floats of the operand's own format, as\n"
      "their bits), with any strides; bits above the\n"
      "format's width do not count. out: registers to write into, whose other bits stay as they are; new "
      "ones,\n"
      "zero elsewhere, without it. Errors: view_mismatch; operand_kind.");
  m.def("scatter_values", &scatter_values, "operand"_a, "values"_a, "out"_a = py::none(),
        "rounding"_a = Rounding::nearest_even, "satfinite"_a = false,
        "The same of numbers, each rounded once to the operand's format (see `encode`).");
  m.def("compress", &compress_dense, "instruction"_a, "dense"_a,
        "Compresses a dense A of (rows, depth) codes: (codes, metadata), of shapes (rows, terms) and (rows,\n"
        "groups of a row), a nibble in each uint8; `scatter` puts them into the registers of A and of the\n"
        "metadata. What is a zero of either sign counts as absent. Errors: not_sparse, with row and columns.");
  m.def(
      "expand", &expand_sparse, "instruction"_a, "codes"_a, "metadata"_a,
      "The dense A of (rows, depth) codes; +0 where nothing is stored. Errors: not_sparse, undefined_operand.");
}

}  // namespace warpbit::python
