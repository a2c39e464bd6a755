// SPDX-License-Identifier: Apache-2.0
// Where the elements of operands lie, and the descriptors that say so of shared memory.
#include "warpbit/layout.hpp"

#include "module.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/fragment.hpp"

namespace warpbit::python {

Swizzle swizzle_of(int bytes) {
  for (const Swizzle s : {Swizzle::none, Swizzle::bytes_32, Swizzle::bytes_64, Swizzle::bytes_128})
    if (bytes == (s == Swizzle::none ? 0 : span_bytes(s))) return s;
  refuse(Errc::usage, "swizzle", std::to_string(bytes), "0, 32, 64 or 128 bytes");
}

int bytes_of(Swizzle s) {
  return s == Swizzle::none ? 0 : span_bytes(s);
}

namespace {

std::string table_of(const Layout& l, int width, bool by_lanes) {
  return layout_text(l, {by_lanes, width, {}});
}

std::vector<std::string> where(const Layout& l, const std::string& question) {
  const LayoutQuestion asked = value_of(parse_layout_question(question));
  std::vector<std::string> out;
  for (const LayoutAnswer& a : value_of(answer(l, asked))) out.push_back(text(a, asked));
  return out;
}

// Columns product, row, column and, in registers and tensor memory, lane, register, low bit, bits, or, in memory, bit, bits.
py::array_t<std::int64_t> cells_of(const OperandLayout& o) {
  const bool in_registers = o.medium == Medium::registers || o.medium == Medium::tensor_memory;
  const auto count = static_cast<py::ssize_t>(o.cells.size());
  py::array_t<std::int64_t> out({count, py::ssize_t{in_registers ? 7 : 5}});
  std::int64_t* at = out.mutable_data();
  for (const LayoutCell& c : o.cells) {
    for (const int x : {c.element.product, c.element.row, c.element.column}) *at++ = x;
    if (in_registers) {
      for (const int x : {c.place.lane, c.place.reg, c.place.low_bit, c.place.bits}) *at++ = x;
    } else {
      *at++ = static_cast<std::int64_t>(c.bit);
      *at++ = o.element_bits;
    }
  }
  return out;
}

Instruction instruction_of(const As<"Union[Instruction, str]">& instruction) {
  return py::isinstance<py::str>(instruction) ? value_of(parse_on_newest(instruction.cast<std::string>()))
                                              : instruction.cast<Instruction>();
}

void add_layouts(py::module_& m) {
  py::class_<OperandLayout>(m, "OperandLayout", "All elements of an operand.")
      .def_readonly("role", &OperandLayout::role, "The manual's name: \"d\", \"a\", \"b_desc\".")
      .def_readonly("format", &OperandLayout::format, "The format of its elements.")
      .def_readonly("medium", &OperandLayout::medium,
                    "\"registers\", \"shared_memory\", \"memory\", \"addresses\" or \"tensor_memory\".")
      .def_readonly("rows", &OperandLayout::rows, "Rows of the matrix.")
      .def_readonly("columns", &OperandLayout::columns, "Columns of the matrix.")
      .def_readonly("products", &OperandLayout::products, "Matrices side by side.")
      .def_readonly("note", &OperandLayout::note, "What the places depend on beside the form; may be empty.")
      .def_readonly("cute", &OperandLayout::cute,
                    "CuTe's notation, shape:stride; empty where the places are no such layout.")
      .def_readonly("cute_domain", &OperandLayout::cute_domain,
                    "Between what that maps: \"(T32,V4) -> (M16,N8)\", whose numbers count along M first.")
      .def_property_readonly(
          "cells", &cells_of,
          R"(int64, a row for each place of each element: product, row, column, then in registers and in tensor memory lane,
register or column, low bit and bits, elsewhere the first bit in memory and bits.)");
  py::class_<Layout>(
      m, "Layout",
      "Where the operands of an instruction lie. str() of it is a table; a notebook shows a picture.")
      .def_readonly("form", &Layout::form, "The form.")
      .def_readonly("target", &Layout::target, "The target for which it was read.")
      .def_readonly("operands", &Layout::operands, "Those that hold matrices.")
      .def_readonly("unknown", &Layout::unknown,
                    "A sentence for each operand of which nothing says where it lies.")
      .def("text", &table_of, "width"_a = kColumns, "by_lanes"_a = false,
           "A table: of the matrices, or lane by lane.")
      .def(
          "svg", [](const Layout& l, bool by_lanes) { return layout_svg(l, {by_lanes}); }, "by_lanes"_a = false,
          "A picture, an XML document: A left of D, B above it; with by_lanes also what each lane holds.")
      .def("json", &layout_json, "The text of a JSON object with a record for each place.")
      .def("csv", &layout_csv, "The records as lines of values separated by commas.")
      .def("markdown", &layout_markdown, "The records as a table for Markdown.")
      .def(
          "where", &where, "question"_a,
          R"(Answers "a[3,5]", "lane 7 reg 2", "a lane 7 reg 2" or "b byte 0x412": a line for each place or element.
Errors: usage.)")
      .def("__str__", [](const Layout& l) { return table_of(l, kColumns, false); })
      .def("__repr__", [](const Layout& l) { return "<Layout of " + l.form + ">"; })
      .def("_repr_svg_", [](const Layout& l) { return layout_svg(l); });
  m.def(
      "layout",
      [](const As<"Union[Instruction, str]">& instruction, const std::string& operand,
         std::optional<std::uint64_t> descriptor, std::optional<int> swizzle, bool transposed,
         std::optional<std::pair<int, int>> tile, std::optional<std::uint32_t> instruction_descriptor,
         int tensor_lane) {
        LayoutOptions options{.operand = operand,
                              .descriptor = descriptor,
                              .instruction_descriptor = instruction_descriptor,
                              .tensor_lane = tensor_lane,
                              .transposed = transposed};
        if (swizzle) options.swizzle = swizzle_of(*swizzle);
        if (tile) options.tile = {tile->first, tile->second};
        return layout(instruction_of(instruction), options);
      },
      "instruction"_a, "operand"_a = "", "descriptor"_a = py::none(), "swizzle"_a = py::none(),
      "transposed"_a = false, "tile"_a = py::none(), "instruction_descriptor"_a = py::none(),
      "tensor_lane"_a = 0,
      R"(Where the elements of each operand lie.

instruction: an Instruction, or a form, which is read on the newest target that has it. operand: the only one
wanted, "a". descriptor: of the operand in shared memory; or swizzle: 0, 32, 64 or 128 bytes, for a tile at
address 0 in the canonical layout. transposed: instead of imm-trans. tile: rows and columns of a tile of
several steps along K, with swizzle. instruction_descriptor: of tcgen05.mma, which says its shape and types.
tensor_lane: of the addresses of D, A and metadata there, 0 or 16. Errors: operand_kind, usage,
instruction_descriptor, no_such_layout.)");
}

void add_fragment_moves(py::module_& m) {
  py::class_<FragmentMove>(
      m, "FragmentMove", "How an operand's registers are loaded from memory (ldmatrix), or stored (stmatrix).")
      .def_readonly("operand", &FragmentMove::operand, "The manual's name.")
      .def_readonly("order", &FragmentMove::order,
                    "How the matrix is stored: \"row_major\" or \"column_major\".")
      .def_readonly("tiles", &FragmentMove::tiles, "Fragments side by side: along K for A, along N for others.")
      .def_readonly("stores", &FragmentMove::stores, "True for stmatrix.")
      .def_readonly("packed", &FragmentMove::packed,
                    "True for elements of D converted to 16 bits, two registers in one.")
      .def_readonly("padded", &FragmentMove::padded,
                    "True if an element in memory has the padding that it has in a register.")
      .def_readonly("form", &FragmentMove::form, "The instruction; empty: none does it.")
      .def_readonly("reason", &FragmentMove::reason, "Why none does.")
      .def_readonly("registers", &FragmentMove::registers, "Of the operand, for each instruction.")
      .def_readonly("shift", &FragmentMove::shift,
                    "Bits by which each register must be shifted left afterwards.")
      .def_readonly("line_elements", &FragmentMove::line_elements, "Elements in the 16 bytes at an address.")
      .def_readonly("line_padding", &FragmentMove::line_padding, "Bytes behind them that hold none.")
      .def_readonly("row", &FragmentMove::row,
                    "The row to whose element lane i points, in instruction j and warp w, as a formula.")
      .def_readonly("column", &FragmentMove::column, "The same for the column.")
      .def_property_readonly(
          "addresses",
          [](const FragmentMove& move) {
            std::vector<std::tuple<int, int, int, int, int>> out;
            for (const LineAddress& a : move.addresses)
              out.emplace_back(a.instruction, a.warp, a.lane, a.row, a.column);
            return out;
          },
          "Tuples: instruction, warp, lane, row, column.");
  py::class_<FragmentMoves>(
      m, "FragmentMoves", "Which ldmatrix and stmatrix move an instruction's operands. str() of it is a text.")
      .def_readonly("form", &FragmentMoves::form, "The form.")
      .def_readonly("target", &FragmentMoves::target, "The target whose instructions were tried.")
      .def_readonly("moves", &FragmentMoves::moves, "For each operand and order of storage.")
      .def(
          "text", [](const FragmentMoves& f, int width) { return text(f, width); }, "width"_a = kColumns,
          "A table for each; and where D of a product is A of the next.")
      .def("json", &fragment_moves_json, "The same as the text of a JSON object.")
      .def("__str__", [](const FragmentMoves& f) { return text(f, kColumns); });
  m.def(
      "fragment_moves",
      [](const As<"Union[Instruction, str]">& instruction, const std::string& operand) {
        return fragment_moves(instruction_of(instruction), operand);
      },
      "instruction"_a, "operand"_a = "",
      R"(Which ldmatrix fills an operand's registers from which rows, and which stmatrix stores D.

instruction: an Instruction, or a form, which is read on the newest target that has it. operand: the only one
wanted, "a". Errors: operand_kind.)");
}

void add_scale_layout(py::module_& m) {
  py::class_<ScaleLayout> c(
      m, "ScaleLayout",
      "Where the scale factors of a matrix lie in memory: in the 128 x 4 tiles of cuBLAS, CUTLASS and PyTorch, or row by row.");
  c.def(py::init([](std::int64_t rows, std::int64_t blocks, ScaleOrder order) {
          constexpr std::int64_t kMost = std::int64_t{1} << 30;
          if (rows < 0 || blocks < 0 || rows > kMost || blocks > kMost)
            refuse(Errc::usage, "ScaleLayout",
                   std::to_string(rows) + " rows, " + std::to_string(blocks) + " blocks", "0 to 2^30 each");
          return ScaleLayout{rows, blocks, order};
        }),
        "rows"_a, "blocks"_a, "order"_a = ScaleOrder::tiles, "order: \"tiles\" or \"linear\". Errors: usage.")
      .def_readonly("rows", &ScaleLayout::rows, "Rows of A, or columns of B.")
      .def_readonly("blocks", &ScaleLayout::blocks, "Blocks of a row, along K.")
      .def_readonly("order", &ScaleLayout::order, "\"tiles\" or \"linear\".")
      .def_property_readonly("bytes", &ScaleLayout::bytes, "All bytes, padding included.")
      .def(
          "offset",
          [](const ScaleLayout& l, std::int64_t row, std::int64_t block) {
            if (row < 0 || block < 0 || row >= l.rows || block >= l.blocks)
              refuse(Errc::usage, "sf", "[" + std::to_string(row) + "," + std::to_string(block) + "]",
                     std::to_string(l.rows) + " rows, " + std::to_string(l.blocks) + " blocks, from 0");
            return l.offset(row, block);
          },
          "row"_a, "block"_a, "The byte of a scale factor. Errors: usage.")
      .def(
          "at",
          [](const ScaleLayout& l,
             std::int64_t offset) -> std::optional<std::pair<std::int64_t, std::int64_t>> {
            const std::optional<ScaleFactor> found = l.at(offset);
            if (!found) return std::nullopt;
            return std::pair(found->row, found->block);
          },
          "offset"_a, "The row and block at a byte; None for padding and outside.")
      .def("__repr__", [](const ScaleLayout& l) {
        return "<ScaleLayout of " + std::to_string(l.rows) + " x " + std::to_string(l.blocks) + ">";
      });
  add_equality(c, std::equal_to<ScaleLayout>());
}

}  // namespace

void add_layout(py::module_& m) {
  add_layouts(m);
  add_fragment_moves(m);
  add_scale_layout(m);
  py::class_<Descriptor> c(
      m, "Descriptor",
      "A matrix descriptor of wgmma, its fields in bytes (PTX manual, \"Matrix Descriptor Format\").");
  c.def(py::init(
            [](std::uint32_t start, std::uint32_t leading, std::uint32_t stride, int base_offset, int swizzle) {
              return Descriptor{start, leading, stride, base_offset, swizzle_of(swizzle)};
            }),
        "start"_a = 0, "leading"_a = 0, "stride"_a = 0, "base_offset"_a = 0, "swizzle"_a = 0)
      .def_static(
          "decode", [](std::uint64_t bits) { return Descriptor::decode(bits); }, "bits"_a,
          "The descriptor of 64 bits.")
      .def("encode", &Descriptor::encode,
           "Its 64 bits. Error: descriptor_field, which names the field and what it can hold.")
      .def_readonly("start", &Descriptor::start, "Address in shared memory, a multiple of 16 below 2^18.")
      .def_readonly("leading", &Descriptor::leading, "Leading dimension byte offset.")
      .def_readonly("stride", &Descriptor::stride, "Stride dimension byte offset.")
      .def_readonly("base_offset", &Descriptor::base_offset, "0 to 7.")
      .def_property_readonly(
          "swizzle", [](const Descriptor& d) { return bytes_of(d.swizzle); },
          "Bytes within which chunks are exchanged: 0, 32, 64 or 128.")
      .def("__str__", [](const Descriptor& d) { return descriptor_text(value_of(d.encode())); })
      .def(py::pickle([](const Descriptor& d) { return py::make_tuple(value_of(d.encode())); },
                      [](const py::tuple& s) { return Descriptor::decode(s[0].cast<std::uint64_t>()); }));
  add_equality(c, std::equal_to<Descriptor>());
}

}  // namespace warpbit::python
