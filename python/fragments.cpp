// SPDX-License-Identifier: Apache-2.0
// Matrices from and to registers, and sparse ones from and to dense ones.
#include "warpbit/fragment.hpp"

#include <bit>
#include <cstring>

#include "module.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/format.hpp"

namespace warpbit::python {
namespace {

// A place in the registers of a case, and which element, of (product, row, column), it holds.
struct Held {
  int lane, reg, low_bit;
  std::size_t element;
};

// Every place that holds an element, from the last one.
std::vector<Held> places_of(const FragmentMap& map) {
  std::vector<Held> out;
  for (int lane = map.lanes() - 1; lane >= 0; --lane)
    for (int reg = map.registers() - 1; reg >= 0; --reg)
      for (int slot = 0; slot < map.packing().per_register(); ++slot)
        if (const std::optional<Coordinate> c = map.at(lane, reg, slot))
          out.push_back(
              {lane, reg, map.packing().low_bit_of(slot),
               static_cast<std::size_t>((c->product * map.rows() + c->row) * map.columns() + c->column)});
  return out;
}

std::size_t elements_of(const FragmentMap& map) {
  return static_cast<std::size_t>(map.products() * map.rows() * map.columns());
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
struct GatheredCodes {
  std::vector<std::uint64_t> codes;
  std::vector<py::ssize_t> shape;
};
GatheredCodes gather(const BoundOperand& o, const py::object& registers) {
  require_registers(o);
  const RegisterArray in = registers_of(registers, *o, o.instruction.lanes(), where_of(o));
  const std::size_t elements = elements_of(o->fragment);
  GatheredCodes out{std::vector<std::uint64_t>(in.cases * elements), matrix_shape(o->fragment)};
  if (in.has_cases) out.shape.insert(out.shape.begin(), static_cast<py::ssize_t>(in.cases));
  const auto bytes = static_cast<std::size_t>(o->register_bits) / 8;
  const std::vector<Held> places = places_of(o->fragment);
  without_gil([&] {
    for (std::size_t i = 0; i < in.cases; ++i)
      for (const Held& p : places)  // the first place of an element comes last
        out.codes[i * elements + p.element] =
            code_at(in.view.at(i, p.lane, p.reg), bytes) >> p.low_bit & o->fragment.packing().mask();
  });
  return out;
}

std::string name_of(const BoundOperand& o) {
  return "the matrix of " + std::string(o->role);
}

// A matrix, or one for each case, of items of any kind, one after the other.
struct Matrices {
  py::array array, items;
  bool has_cases;
};
// Errors: view_mismatch, if the array has another shape.
Matrices matrices_of(const py::array& array, const BoundOperand& o) {
  const std::vector<py::ssize_t> shape = matrix_shape(o->fragment);
  const auto n = static_cast<py::ssize_t>(shape.size());
  if ((array.ndim() != n && array.ndim() != n + 1) ||
      !std::equal(shape.begin(), shape.end(), array.shape() + (array.ndim() - n))) {
    const std::string one = shape_text(shape).substr(1);
    refuse(where_of(o), name_of(o) + " is " + seen_text(array), "shape (" + one + " or (cases, " + one);
  }
  return {array, dense(array), array.ndim() == n + 1};
}

// Writes code(item) into all places of its element; other bits become 0, or stay in `out`.
template <class Code>
py::array scatter(const BoundOperand& o, const Matrices& m, const py::object& out, Code code) {
  const std::size_t cases = m.has_cases ? static_cast<std::size_t>(m.array.shape(0)) : 1;
  const RegisterArray registers = results_of(out, *o, o.instruction.lanes(), m.has_cases, cases, where_of(o));
  if (out.is_none())
    std::memset(const_cast<void*>(registers.array.data()), 0,
                static_cast<std::size_t>(registers.array.nbytes()));
  else
    check_apart(registers.array, m.array, where_of(o), "the matrix");
  const std::vector<Held> places = places_of(o->fragment);
  const ResultView view = registers.result_view();
  const auto bytes = static_cast<std::size_t>(o->register_bits) / 8;
  const auto item_bytes = static_cast<std::size_t>(m.items.itemsize());
  const std::uint64_t mask = o->fragment.packing().mask();
  const auto* item = static_cast<const std::byte*>(m.items.data());
  without_gil([&] {
    std::vector<std::uint64_t> codes(elements_of(o->fragment));
    for (std::size_t i = 0; i < cases; ++i) {
      for (std::uint64_t& c : codes) {
        c = code(code_at(item, item_bytes)) & mask;
        item += item_bytes;
      }
      for (const Held& p : places) {
        std::byte* at = view.at(i, p.lane, p.reg);
        const std::uint64_t word = (code_at(at, bytes) & ~(mask << p.low_bit)) | codes[p.element] << p.low_bit;
        std::memcpy(at, &word, bytes);
      }
    }
  });
  return registers.array;
}

Unsigned scatter_codes(const BoundOperand& o, const Matrix& codes, const OptionalBits& out) {
  require_registers(o);
  const py::array array = Arguments(where_of(o)).codes(codes, name_of(o), o->format);
  return scatter(o, matrices_of(array, o), out, [](std::uint64_t code) { return code; });
}

Unsigned scatter_values(const BoundOperand& o, const Numbers& values, const OptionalBits& out,
                        Rounding rounding, bool satfinite) {
  require_registers(o);
  const Codec codec = value_of(Codec::find(o->format));
  const py::array_t<double> numbers = Arguments(where_of(o)).numbers(values, name_of(o));
  return scatter(o, matrices_of(numbers, o), out, [&](std::uint64_t bits) {
    return value_of(codec.encode(std::bit_cast<double>(bits), rounding, satfinite));
  });
}

py::array_t<double> gather_values(const BoundOperand& o, const Bits& registers) {
  const GatheredCodes gathered = gather(o, registers);
  const Codec codec = value_of(Codec::find(o->format));
  py::array_t<double> out(gathered.shape);
  double* value = out.mutable_data();
  for (const std::uint64_t code : gathered.codes) *value++ = codec.decode(code);
  return out;
}

// Rows x columns codes, row by row.
std::vector<std::uint64_t> matrix_codes(Arguments& arguments, const py::object& object, const std::string& name,
                                        std::string_view format, py::ssize_t rows, py::ssize_t columns) {
  const py::array array = arguments.codes(object, name, format);
  if (shape_of(array) != std::vector{rows, columns})
    arguments.refused(name, seen_text(array), "shape " + shape_text({rows, columns}));
  return codes_in(array);
}

// The operands of a sparse A. Errors: not_sparse.
std::pair<const Operand*, const Operand*> sparse_operands(const Instruction& i) {
  const Operand *a = i.find(Part::a), *e = i.find(Part::metadata);
  if (a == nullptr || e == nullptr)
    refuse(Errc::not_sparse, std::string(i.canonical()), "its A is not sparse", "an instruction with metadata");
  return {a, e};
}

As<"tuple[NDArray[np.unsignedinteger[Any]], NDArray[np.uint8]]", py::tuple> compress_dense(
    const Instruction& i, const Matrix& dense) {
  const auto [a, e] = sparse_operands(i);
  Arguments arguments{std::string(i.canonical())};
  const CompressedMatrix out =
      value_of(compress(i, matrix_codes(arguments, dense, "the dense A", a->format, i.rows(), i.depth())));
  const auto groups = static_cast<py::ssize_t>(out.metadata.size()) / i.rows();
  return py::make_tuple(array_of(out.codes, code_bytes(a->element_bits), {i.rows(), i.terms()}),
                        array_of(out.metadata, 1, {i.rows(), groups}));
}

Unsigned expand_sparse(const Instruction& i, const Matrix& codes, const Bytes& metadata) {
  const auto [a, e] = sparse_operands(i);
  Arguments arguments{std::string(i.canonical())};
  const std::vector<std::uint64_t> dense = value_of(expand(
      i, {matrix_codes(arguments, codes, "the stored A", a->format, i.rows(), i.terms()),
          matrix_codes(arguments, metadata, "the metadata", "u4", e->fragment.rows(), e->fragment.columns())}));
  return array_of(dense, code_bytes(a->element_bits), {i.rows(), i.depth()});
}

}  // namespace

void add_fragments(py::module_& m) {
  m.def(
      "gather",
      [](const BoundOperand& operand, const Bits& registers) {
        const GatheredCodes out = gather(operand, registers);
        return array_of(out.codes, code_bytes(operand->element_bits), out.shape);
      },
      "operand"_a, "registers"_a,
      R"(The codes of the matrix that registers hold: Operand.shape, or (cases, *shape), of Operand.code_dtype.

registers: (lanes, registers) or (cases, lanes, registers) of Operand.dtype. An element that several places hold
is taken from the first. Errors: view_mismatch; operand_kind.)");
  m.def("gather_values", &gather_values, "operand"_a, "registers"_a, "The same as numbers, exactly: float64.");
  m.def("scatter", &scatter_codes, "operand"_a, "codes"_a, "out"_a = py::none(),
        R"(The registers that hold a matrix of codes: (lanes, registers), or (cases, lanes, registers).

codes: Operand.shape, or (cases, *shape): unsigned codes, of Operand.code_dtype, or numbers that the format holds exactly
(see gemm), with any strides; bits above the format's width do not count. out: registers to write into, whose
other bits stay as they are; new ones, zero elsewhere, without it. Errors: view_mismatch; operand_kind.)");
  m.def("scatter_values", &scatter_values, "operand"_a, "values"_a, "out"_a = py::none(),
        "rounding"_a = Rounding::nearest_even, "satfinite"_a = false,
        "The same of numbers, each rounded once to the operand's format (see `encode`).");
  m.def("compress", &compress_dense, "instruction"_a, "dense"_a,
        R"(Compresses a dense A of (rows, depth) codes: (codes, metadata), of shapes (rows, terms) and (rows,
groups of a row), a nibble in each uint8; `scatter` puts them into the registers of A and of the metadata. What
is a zero of either sign counts as absent. Errors: not_sparse, with row and columns.)");
  m.def(
      "expand", &expand_sparse, "instruction"_a, "codes"_a, "metadata"_a,
      "The dense A of (rows, depth) codes; +0 where nothing is stored. Errors: not_sparse, undefined_operand.");
}

}  // namespace warpbit::python
