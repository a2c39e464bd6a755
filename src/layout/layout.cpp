// SPDX-License-Identifier: Apache-2.0
#include "warpbit/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "api/tensor_product.hpp"
#include "fragment/tensor_maps.hpp"
#include "isa/instruction.hpp"
#include "layout/cute.hpp"
#include "layout/grid.hpp"
#include "numeric/formats.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit {
namespace {

// An operand that holds a matrix. A form without operands covers both placements of A.
struct Wanted {
  std::string role;
  const Operand* operand;
  bool by_descriptor;
};

bool holds_matrix(const Instruction& instruction, const Operand& op) {
  if (op.part == Part::address && !std::holds_alternative<MatrixMove>(instruction.decoded().form->action))
    return false;
  constexpr Part kMatrices[] = {Part::d, Part::a, Part::b, Part::c, Part::metadata, Part::scale_a,
                                Part::scale_b, Part::source, Part::address,
                                // of tcgen05.mma
                                Part::d_address, Part::a_address, Part::metadata_address, Part::scale_a_address,
                                Part::scale_b_address};
  return std::ranges::find(kMatrices, op.part) != std::end(kMatrices);
}

void sort(std::vector<LayoutCell>& cells) {
  std::ranges::sort(cells, {}, [](const LayoutCell& c) {
    return std::tuple(c.element.product, c.element.row, c.element.column, c.bit, c.place.lane, c.place.reg);
  });
}

constexpr auto kStored = "columns count stored elements";

bool is_sparse(const Instruction& instruction) {
  return instruction.terms() != instruction.depth();
}

// The selector of metadata or scale factors, with its lanes and bytes; the meaning of a column of a sparse A.
std::string note_of(const Operand& op, const Instruction& instruction) {
  if (op.part == Part::a && is_sparse(instruction)) return kStored;
  const Operand* by = op.part == Part::metadata  ? instruction.find(Part::selector)
                      : op.part == Part::scale_a ? instruction.find(Part::selector_a)
                      : op.part == Part::scale_b ? instruction.find(Part::selector_b)
                                                 : nullptr;
  if (by == nullptr) return "";
  const auto value = [&](std::size_t i) {
    return i < by->literals.size() && by->literals[i] ? fmt::format("{}", *by->literals[i])
                                                      : std::string("0 (a register says)");
  };
  return by->kind == OperandKind::immediate
             ? fmt::format("the indices of a group of A each, for selector {} = {}", by->role, value(0))
             : fmt::format("for {}: byte-id {}, thread-id {}", by->role, value(0), value(1));
}

// Everything that a map holds, in registers or in tensor memory.
OperandLayout in_words(std::string_view role, std::string_view format, const FragmentMap& map, Medium medium,
                       std::string note) {
  OperandLayout out{.role = std::string(role),
                    .format = std::string(format),
                    .medium = medium,
                    .rows = map.rows(),
                    .columns = map.columns(),
                    .products = map.products(),
                    .lanes = map.lanes(),
                    .registers = map.registers(),
                    .packing = map.packing(),
                    .element_bits = map.packing().bits,
                    .note = std::move(note)};
  for (int lane = 0; lane < map.lanes(); ++lane)
    for (int reg = 0; reg < map.registers(); ++reg)
      for (int slot = 0; slot < map.packing().per_register(); ++slot)
        if (const std::optional<Coordinate> at = map.at(lane, reg, slot))
          out.cells.push_back({*at, {lane, reg, map.packing().low_bit_of(slot), map.packing().bits}});
  sort(out.cells);
  return out;
}

OperandLayout in_registers(const Operand& op, const Instruction& instruction) {
  OperandLayout out = in_words(op.role, op.format, op.fragment, Medium::registers, note_of(op, instruction));
  add_cute(out);
  return out;
}

// ---- In memory

// The rows of a move, each at an address that a lane gives.
OperandLayout row_addresses(const Operand& op, const Form& form, const Move& move) {
  OperandLayout out{.role = std::string(op.role),
                    .format = std::string(op.format),
                    .medium = Medium::addresses,
                    .rows = form.rows,
                    .columns = 1,
                    .products = form.products,
                    .lanes = move.lanes,
                    .registers = 1,
                    .packing = op.fragment.packing(),
                    .element_bits = op.register_bits,
                    .note = fmt::format("a row is {} bytes", move.line_bytes)};
  for (int line = 0; line < move.lines; ++line)
    out.cells.push_back({{line % form.rows, 0, line / form.rows}, {line, 0, 0, op.register_bits}});
  return out;
}

// A matrix whose lines are a stride apart.
OperandLayout strided(const Operand& op, const Instruction& instruction, const Form& form, const Move& move) {
  const Operand* given = instruction.find(Part::stride);
  const bool known = given != nullptr && !given->literals.empty() && given->literals[0];
  const std::uint64_t stride = known ? *given->literals[0] : static_cast<std::uint64_t>(move.line_elements);
  const bool columns = std::get<MatrixMove>(form.action).lines_are_columns;
  const Operand* loaded = instruction.find(Part::d);
  const Operand* moved = loaded != nullptr ? loaded : instruction.find(Part::source);
  OperandLayout out{.role = std::string(op.role),
                    .format = std::string(moved->format),
                    .medium = Medium::memory,
                    .rows = form.rows,
                    .columns = form.columns,
                    .element_bits = move.element_bits,
                    .note = fmt::format("for a stride of {} elements{}; offsets from the address", stride,
                                        known ? "" : ", the default")};
  for (int i = 0; i < form.rows; ++i)
    for (int j = 0; j < form.columns; ++j) {
      const auto line = static_cast<std::uint64_t>(columns ? j : i);
      const auto position = static_cast<std::uint64_t>(columns ? i : j);
      out.cells.push_back(
          {{i, j, 0}, {}, (line * stride + position) * static_cast<std::uint64_t>(move.element_bits)});
    }
  add_cute(out, Swizzle::none);
  return out;
}

OperandLayout address(const Operand& op, const Instruction& instruction) {
  const DecodedInstruction& decoded = instruction.decoded();
  const Move& move = std::get<std::reference_wrapper<const Move>>(decoded.kernel).get();
  return move.addressing == Addressing::rows ? row_addresses(op, *decoded.form, move)
                                             : strided(op, instruction, *decoded.form, move);
}

// The descriptor of the first part of a minimal tile in the canonical layout.
Result<std::uint64_t> canonical_descriptor(const DescribedMatrix& matrix, Swizzle swizzle,
                                           DescriptorForm form) {
  DescribedMatrix tile = matrix;
  int& along = tile.major == Major::mn ? tile.lines : tile.depth;
  const int atom = 8 * span_bytes(swizzle) / (tile.padded ? 8 : tile.element_bits);
  along = (along + atom - 1) / atom * atom;
  const Result<CanonicalTile> whole = CanonicalTile::make(tile, swizzle);
  if (!whole) return whole.error();
  const Result<Descriptor> part = whole->descriptor(0, matrix);
  if (!part) return part.error();
  return form == DescriptorForm::wgmma ? part->encode() : part->encode_tensor();
}

std::string_view major_text(Major major, bool left) {
  return major == Major::k ? "K" : left ? "M" : "N";
}

OperandLayout in_shared_memory(const std::string& role, std::string_view format, bool left,
                               const DescribedMatrix& matrix) {
  return {.role = role,
          .format = std::string(format),
          .medium = Medium::shared_memory,
          .rows = left ? matrix.lines : matrix.depth,
          .columns = left ? matrix.depth : matrix.lines,
          .element_bits = matrix.element_bits};
}

OperandLayout described(const std::string& role, std::string_view format, bool left,
                        const DescribedMatrix& matrix, std::uint64_t descriptor, DescriptorForm form) {
  OperandLayout out = in_shared_memory(role, format, left, matrix);
  out.note = fmt::format("by descriptor {:#x}: {}; {}-major", descriptor, descriptor_text(descriptor, form),
                         major_text(matrix.major, left));
  const Descriptor fields = Descriptor::decode(descriptor, form);
  const DescriptorMap map(fields, matrix);
  for (const auto& [bit, i, k] : map.elements())
    out.cells.push_back({left ? Coordinate{i, k, 0} : Coordinate{k, i, 0}, {}, bit});
  sort(out.cells);
  if ((fields.base_offset == 0 || fields.swizzle == Swizzle::none) && !fields.absolute_leading &&
      !matrix.padded)
    add_cute(out, fields.swizzle);
  return out;
}

// What is added to the start in the descriptor for each step along K: bytes.
std::string steps_text(const CanonicalTile& tile, const DescribedMatrix& part, int steps) {
  std::vector<std::uint32_t> offsets;
  for (int step = 0; step < steps; ++step) {
    const Result<std::uint32_t> offset = tile.step(part, 0, step * part.depth);
    if (!offset) return "no descriptor reaches the steps along K";
    offsets.push_back(*offset);
  }
  return fmt::format("steps along K: start address + {:#x}", fmt::join(offsets, ", "));
}

// A whole tile of steps along K, in the canonical layout at address 0.
Result<OperandLayout> whole_tile(const Wanted& wanted, std::string_view format, const DescribedMatrix& part,
                                 Swizzle swizzle, const LayoutOptions::Tile& size) {
  const bool left = wanted.operand->part == Part::a;
  DescribedMatrix matrix = part;
  matrix.lines = left ? size.rows : size.columns;
  matrix.depth = left ? size.columns : size.rows;
  if (matrix.lines < 1 || matrix.depth < 1 || matrix.lines % part.lines != 0 || matrix.depth % part.depth != 0)
    return Error{Errc::usage, wanted.role, fmt::format("a tile of {} x {}", size.rows, size.columns),
                 left ? fmt::format("multiples of {} rows and {} columns", part.lines, part.depth)
                      : fmt::format("multiples of {} rows and {} columns", part.depth, part.lines)};
  const Result<CanonicalTile> tile = CanonicalTile::make(matrix, swizzle);
  if (!tile) return tile.error();
  OperandLayout out = in_shared_memory(wanted.role, format, left, matrix);
  const int steps = matrix.depth / part.depth;
  out.note = fmt::format("a tile at address 0, {}, {}-major; {}", name(swizzle), major_text(part.major, left),
                         steps_text(*tile, part, steps));
  out.step = part.depth;
  out.step_is_rows = !left;
  for (int i = 0; i < matrix.lines; ++i)
    for (int k = 0; k < matrix.depth; ++k)
      out.cells.push_back({left ? Coordinate{i, k, 0} : Coordinate{k, i, 0}, {}, tile->element_bit(i, k)});
  sort(out.cells);
  if (!matrix.padded) add_cute(out, swizzle);
  return out;
}

// ---- All operands

// The requested operands: all, or one, including A by descriptor of a form that covers both placements.
Result<std::vector<Wanted>> find_wanted(const Instruction& instruction, const std::string& name) {
  std::vector<Wanted> all;
  for (const Operand& op : instruction.operands())
    if (holds_matrix(instruction, op))
      all.push_back({std::string(op.role), &op, op.kind == OperandKind::descriptor});
  if (name.empty() && !all.empty()) return all;
  const auto found = std::ranges::find_if(all, [&](const Wanted& w) { return is_called(w.role, name); });
  if (found != all.end()) return std::vector{*found};
  if (const Operand* a = instruction.find(Part::a);
      a != nullptr && is_called(name, a->role) && described_matrix(instruction, Part::a).ok())
    return std::vector{Wanted{name, a, true}};
  std::string roles;
  for (const Wanted& w : all) roles += fmt::format("{}{}", roles.empty() ? "" : ", ", w.role);
  return Error{Errc::operand_kind, std::string(instruction.canonical()),
               all.empty() ? "no operand holds a matrix" : fmt::format("no operand '{}' holds a matrix", name),
               all.empty() ? "an instruction of matrices" : roles};
}

// ---- tcgen05.mma

// What its instruction descriptor says.
struct TensorLayout {
  TensorMma mma;
  InstructionDescriptor of;
  tensor::Extent extent;
};

std::string layout_name(const tensor::Extent& extent) {
  std::string out = fmt::format("layout {}", static_cast<char>('A' + static_cast<int>(extent.path)));
  if (extent.path == tensor::DataPath::c || extent.path == tensor::DataPath::f)
    out += fmt::format(", addresses with lane {}", extent.half);
  return out;
}

Result<std::optional<TensorLayout>> tensor_layout(const Instruction& instruction,
                                                  const LayoutOptions& options) {
  const std::optional<TensorMma> mma = tensor_mma(instruction);
  if (!mma) return std::optional<TensorLayout>();
  const TensorAction& action = std::get<TensorAction>(instruction.decoded().kernel);
  if (const Result<void> known = check_executed(instruction, action); !known) return known.error();
  std::optional<std::uint32_t> bits = options.instruction_descriptor;
  const Operand& operand = *instruction.find(Part::instruction_descriptor);
  if (!bits && !operand.literals.empty() && operand.literals[0])
    bits = static_cast<std::uint32_t>(*operand.literals[0]);
  if (!bits)
    return Error{Errc::usage, std::string(instruction.canonical()), "no instruction descriptor",
                 "one, which says the shape and the types"};
  const Result<InstructionDescriptor> of = InstructionDescriptor::decode(*bits, *mma, instruction.target());
  if (!of) return of.error();
  TensorLayout out{*mma, *of, {}};
  const auto path = tensor::data_path(of->m, mma->cta_group, mma->is_weight_stationary, mma->is_sparse);
  out.extent = {*path, of->m, of->n, 0};
  const bool has_half = *path == tensor::DataPath::c || *path == tensor::DataPath::f;
  if (options.tensor_lane != 0 && (options.tensor_lane != 16 || !has_half))
    return Error{Errc::usage, std::string(instruction.canonical()),
                 fmt::format("addresses with lane {}", options.tensor_lane),
                 fmt::format("{} in {}", has_half ? "0 or 16" : "0", layout_name(out.extent))};
  out.extent.half = options.tensor_lane;
  return std::optional(out);
}

Packing packing_of_a(const TensorLayout& x) {
  const Format& format = *find_format(x.of.a);
  const bool in_bytes = x.mma.kind == TensorKind::f8f6f4 || x.mma.kind == TensorKind::mxf8f6f4;
  if (format.bits < 8 && in_bytes) return {32, 8, format.byte_low, format.bits};
  return {32, format.bits, 0, format.bits};
}

struct TensorOperand {
  FragmentMap map;
  std::string format, note;
  bool is_transposed = false;  // columns of the map are rows of the operand
};

// An operand in tensor memory.
TensorOperand tensor_operand(const TensorLayout& x, Part part) {
  const int scales = x.of.scales(x.mma);
  switch (part) {
    case Part::d_address:
      return {tensor::d_map(x.extent, find_format(x.of.d)->bits), std::string(x.of.d), layout_name(x.extent)};
    case Part::a_address:
      return {tensor::a_map(x.extent, x.of.is_sparse ? x.of.k / 2 : x.of.k, packing_of_a(x)),
              std::string(x.of.a), x.of.is_sparse ? kStored : ""};
    case Part::metadata_address: {
      const bool by_sixteen = has_wide_elements(x.mma.kind);
      return {tensor::metadata_map(x.extent, by_sixteen, x.of.sparsity_selector), "b32",
              by_sixteen
                  ? fmt::format("the indices of a chunk of A each, for selector {}", x.of.sparsity_selector)
                  : "the indices of a chunk of A each"};
    }
    case Part::scale_a_address:
      return {tensor::scale_a_map(x.extent, scales, x.of.scale_id_a), std::string(x.of.scale),
              fmt::format("for scale factor ID {}", x.of.scale_id_a)};
    default:
      return {tensor::scale_b_map(x.extent, scales, x.of.scale_id_b), std::string(x.of.scale),
              fmt::format("for scale factor ID {}", x.of.scale_id_b), true};
  }
}

OperandLayout in_tensor_memory(const Wanted& wanted, const TensorLayout& x) {
  const auto [map, format, note, is_transposed] = tensor_operand(x, wanted.operand->part);
  OperandLayout out = in_words(wanted.role, format, map, Medium::tensor_memory, note);
  if (!is_transposed) return out;
  std::swap(out.rows, out.columns);
  for (LayoutCell& cell : out.cells) std::swap(cell.element.row, cell.element.column);
  sort(out.cells);
  return out;
}

Result<DescribedMatrix> matrix_of(const Instruction& instruction, const Wanted& wanted,
                                  const std::optional<TensorLayout>& tensor, const LayoutOptions& options) {
  const Part part = wanted.operand->part;
  if (tensor) return described_matrix(instruction, part, tensor->of);
  return described_matrix(instruction, part, options.transposed ? std::optional(true) : std::nullopt);
}

std::string_view format_of(const Wanted& wanted, const std::optional<TensorLayout>& tensor) {
  if (!tensor) return wanted.operand->format;
  return wanted.operand->part == Part::a ? tensor->of.a : tensor->of.b;
}

Result<void> add_described(const Instruction& instruction, const Wanted& wanted,
                           const std::optional<TensorLayout>& tensor, const LayoutOptions& options,
                           Layout& out) {
  const bool left = wanted.operand->part == Part::a;
  const DescriptorForm form = descriptor_form(instruction);
  const Result<DescribedMatrix> matrix = matrix_of(instruction, wanted, tensor, options);
  if (!matrix) return matrix.error();
  std::optional<std::uint64_t> descriptor = options.descriptor;
  if (const Operand& op = *wanted.operand;
      !descriptor && op.kind == OperandKind::descriptor && !op.literals.empty())
    descriptor = op.literals[0];
  if (!descriptor && options.swizzle && options.tile) {
    Result<OperandLayout> found =
        whole_tile(wanted, format_of(wanted, tensor), *matrix, *options.swizzle, *options.tile);
    if (!found) return found.error();
    out.operands.push_back(*std::move(found));
    return {};
  }
  if (!descriptor && options.swizzle) {
    const Result<std::uint64_t> made = canonical_descriptor(*matrix, *options.swizzle, form);
    if (!made) return made.error();
    descriptor = *made;
  }
  if (descriptor) {
    OperandLayout found = described(wanted.role, format_of(wanted, tensor), left, *matrix, *descriptor, form);
    const bool stored = tensor ? tensor->of.is_sparse : is_sparse(instruction);
    if (left && stored) found.note = fmt::format("{}; {}", kStored, found.note);
    if (tensor && tensor->mma.cta_group == 2)
      found.note += left ? "; each block of the pair has rows of its own"
                         : "; each block of the pair has columns of its own";
    out.operands.push_back(std::move(found));
  } else if (options.operand.empty()) {
    out.unknown.push_back(
        wanted.role + " lies in shared memory: a descriptor or the swizzle of a canonical layout says where");
  } else {
    return Error{Errc::usage, wanted.role, "it lies in shared memory",
                 "its descriptor, or the swizzle of a canonical layout"};
  }
  return {};
}

}  // namespace

Result<Instruction> parse_on_newest(std::string_view form_or_statement) {
  const Result<std::string> text = full_form(form_or_statement);
  if (!text) return text.error();
  std::optional<Error> refused;
  std::vector<Target> targets = Target::all();
  std::ranges::reverse(targets);
  for (const Target target : targets) {
    Result<Instruction> i = Instruction::parse(*text, target);
    if (i) return i;
    const bool elsewhere = i.error().code == Errc::not_on_target || i.error().code == Errc::not_modelled;
    if (!elsewhere) return i.error();
    if (!refused) refused = i.error();
  }
  return *refused;
}

Result<Layout> layout(const Instruction& instruction, const LayoutOptions& options) {
  if (instruction.family() == "tcgen05.mma by types")
    return Error{Errc::usage, std::string(instruction.canonical()), "a product of matrices without registers",
                 "the tcgen05.mma with .cta_group and an instruction descriptor"};
  const Result<std::vector<Wanted>> wanted = find_wanted(instruction, options.operand);
  if (!wanted) return wanted.error();
  const auto in_memory = std::ranges::count_if(*wanted, &Wanted::by_descriptor);
  if (options.descriptor && in_memory != 1)
    return Error{Errc::usage, std::string(instruction.canonical()),
                 in_memory == 0 ? "a descriptor, and no such operand in shared memory"
                                : "one descriptor, and several operands in shared memory",
                 in_memory == 0 ? "none" : "the operand that it is for"};
  if (options.tile && (in_memory != 1 || !options.swizzle))
    return Error{
        Errc::usage, std::string(instruction.canonical()), "a tile",
        in_memory != 1 ? "one operand in shared memory that it is of" : "the swizzle of its canonical layout"};
  const Result<std::optional<TensorLayout>> tensor = tensor_layout(instruction, options);
  if (!tensor) return tensor.error();
  if (options.instruction_descriptor && !*tensor)
    return Error{Errc::usage, std::string(instruction.canonical()), "an instruction descriptor", "tcgen05.mma"};
  Layout out{std::string(instruction.canonical()), std::string(instruction.target().name()), {}, {}};
  for (const Wanted& w : *wanted)
    if (w.by_descriptor) {
      if (Result<void> added = add_described(instruction, w, *tensor, options, out); !added)
        return added.error();
    } else if (*tensor) {
      out.operands.push_back(in_tensor_memory(w, **tensor));
    } else {
      out.operands.push_back(w.operand->part == Part::address ? address(*w.operand, instruction)
                                                              : in_registers(*w.operand, instruction));
    }
  return out;
}

}  // namespace warpbit
