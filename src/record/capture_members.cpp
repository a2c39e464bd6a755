// SPDX-License-Identifier: Apache-2.0
#include "warpbit/record.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <variant>

#include "isa/instruction.hpp"
#include "probes/probe_inputs.hpp"
#include "record/members.hpp"
#include "warpbit/inputs.hpp"

namespace warpbit {
namespace {

using inputs::Fill;
using inputs::Member;
using inputs::Role;

// ---- Formats as numbers

inputs::Format format_numbers(const Format& f) {
  using inputs::NoNumbers;
  const NoNumbers no_numbers = f.specials == Specials::ieee           ? NoNumbers::ieee
                               : f.specials == Specials::nan_all_ones ? NoNumbers::all_ones
                                                                      : NoNumbers::none;
  return {f.bits, f.is_signed,   f.exponent_bits, f.fraction_bits,
          f.bias, f.ignored_low, f.subnormals,    no_numbers};
}

inputs::Range exponents(const Format& f) {
  return f.is_integer ? inputs::Range{} : inputs::Range{least_bit(f), largest_exponent(f)};
}

inputs::Frame frame_of(const Instruction& instruction) {
  inputs::Frame out;
  for (const Operand& op : instruction.operands()) {
    const Format& f = *find_format(op.format);
    switch (op.part) {
      case Part::a:
      case Part::source: out.left = exponents(f); break;
      case Part::b: out.right = exponents(f); break;
      case Part::scale_a: out.scale = exponents(f); break;
      case Part::d:
        out.sum = exponents(f);
        out.sum_normal = f.is_integer ? 0 : f.min_exponent();
        break;
      default: break;
    }
  }
  return out;
}

// ---- Members

// What the elements of an operand's registers are; nothing where any bits will do.
std::optional<Role> role_of(const Instruction& instruction, Part part) {
  switch (part) {
    case Part::a: return Role::left;
    case Part::b: return Role::right;
    case Part::c:
    case Part::d: return Role::sum;
    case Part::scale_a: return Role::left_scale;
    case Part::scale_b: return Role::right_scale;
    case Part::source: return instruction.lanes() == 1 ? std::optional(Role::left) : std::nullopt;
    default: return std::nullopt;
  }
}

class Members {
 public:
  explicit Members(const Instruction& instruction) : instruction_(instruction), frame_(frame_of(instruction)) {}

  std::vector<CaptureMember> run() {
    std::vector<CaptureMember> out;
    for (const CaptureArray& array : members_of(instruction_, CaptureLayout::registers))
      out.push_back(array.operand != nullptr ? registers(array) : memory(array));
    return out;
  }

 private:
  CaptureMember registers(const CaptureArray& array) {
    CaptureMember out{array.name,
                      array.item_bytes,
                      {array.shape.begin() + 1, array.shape.end()},
                      array.shape.size() == 1 ? 1 : instruction_.lanes(),
                      array.operand->registers,
                      static_cast<int>(8 * array.item_bytes),
                      {}};
    if (!array.is_result()) out.fills = {fill(*array.operand)};
    return out;
  }

  CaptureMember memory(const CaptureArray& array) {
    CaptureMember out{array.name, 1, {static_cast<std::uint64_t>(bytes_)}, 1, bytes_ / 4, 32, {}};
    if (array.is_result()) return out;
    for (const Factor& f : factors_)
      out.fills.push_back(elements(memory(f.base, f.bytes), *f.operand, inputs::Neighbour::word));
    if (factors_.empty()) out.fills.push_back(memory(0, bytes_));
    return out;
  }

  // ---- Fills

  Member start(Fill fill, int lanes, int registers, int register_bits) {
    Member out;
    out.fill = fill;
    out.operand = count_++;
    out.lanes = lanes;
    out.registers = registers;
    out.register_bits = register_bits;
    out.slot_bits = register_bits;
    return out;
  }

  Member fill(const Operand& op) {
    switch (op.part) {
      case Part::scale_d: return start(Fill::flag, 1, 1, 8);
      case Part::address: return address();
      case Part::stride: return stride();
      default: break;
    }
    if (op.kind == OperandKind::descriptor) return described(op);
    Member out = start(Fill::bits, instruction_.lanes(), op.registers, op.register_bits);
    if (op.part == Part::metadata) return metadata(out);
    return role_of(instruction_, op.part) ? elements(out, op, inputs::Neighbour::lane) : out;
  }

  // The same registers, with elements in their slots, or side by side in the words of memory.
  Member elements(Member out, const Operand& op, inputs::Neighbour neighbour) const {
    const Format& f = *find_format(op.format);
    const bool in_memory = neighbour == inputs::Neighbour::word;
    out.fill = Fill::elements;
    out.role = *role_of(instruction_, op.part);
    out.neighbour = neighbour;
    out.slot_bits = in_memory ? f.bits : op.fragment.packing().slot_bits;
    out.low_bit = in_memory ? 0 : op.fragment.packing().low_bit;
    out.format = format_numbers(f);
    out.frame = frame_;
    return out;
  }

  Member metadata(Member out) const {
    const bool halves = instruction_.decoded().form->sparsity.kept == 1;
    out.fill = Fill::metadata;
    out.choices = halves ? 0xE4 : 0xEDC984;  // ascending indices: defined with and without ordered_metadata
    out.count = halves ? 2 : 6;
    return out;
  }

  Member offsets(Fill fill, int lanes, int least, int step, int count) {
    Member out = start(fill, lanes, 1, 32);
    out.least = least;
    out.step = step;
    out.count = count;
    return out;
  }

  // Memory from byte `base` on.
  Member memory(int base, int bytes) {
    Member out = start(Fill::bits, 1, bytes / 4, 32);
    out.first = base / 4;
    return out;
  }

  // A factor in memory, which follows what is there.
  Member described(const Operand& op) {
    const Tile& tile = std::get<Tile>(instruction_.decoded().kernel);
    const DescribedMatrix& matrix = *(op.part == Part::a ? tile.a_described : tile.b_described);
    Member out = start(Fill::descriptor, 1, 1, 64);
    out.mn = matrix.major == Major::mn;
    out.lines = out.mn ? matrix.depth : matrix.lines;
    out.chunks = matrix.contiguous_bytes() / 16;
    out.base = bytes_;
    out.bytes = inputs::factor_bytes(out);
    factors_.push_back({&op, bytes_, out.bytes});
    bytes_ += out.bytes;
    return out;
  }

  const MatrixMove& move() const { return std::get<MatrixMove>(instruction_.decoded().form->action); }
  // Of a matrix with its lines apart by a stride: as many strides and addresses as kPlaces are tried.
  static constexpr int kPlaces = 8, kRowBytes = 1024;
  // ptxas makes ldmatrix of wmma.load where a line of A or B is contiguous along K in shared memory: lines
  // begin at multiples of 16 bytes then, also where the manual is content with fewer (a fragment of 4 or 8).
  static constexpr int kLineAlignment = 16;
  int step(int legal) const { return std::max(legal, kLineAlignment); }
  int stride_step() { return step(std::gcd(move().alignment, move().line_bytes)); }
  int lines() const { return move().lines_are_columns ? instruction_.columns() : instruction_.rows(); }

  Member address() {
    const MatrixMove& m = move();
    if (m.addressing == Addressing::rows) {
      bytes_ = kRowBytes;
      return offsets(m.to_memory ? Fill::permuted : Fill::offsets, instruction_.lanes(), 0, m.alignment,
                     kRowBytes / m.alignment);
    }
    const int longest = m.line_bytes + (kPlaces - 1) * stride_step();
    bytes_ = (lines() - 1) * longest + m.line_bytes + (kPlaces - 1) * step(m.alignment);
    bytes_ = (bytes_ + 15) / 16 * 16;
    return offsets(Fill::offset, instruction_.lanes(), 0, step(m.alignment), kPlaces);
  }

  Member stride() {
    const MatrixMove& m = move();
    return offsets(Fill::offset, 1, 8 * m.line_bytes / m.element_bits, 8 * stride_step() / m.element_bits,
                   kPlaces);
  }

  struct Factor {
    const Operand* operand;
    int base, bytes;
  };
  const Instruction& instruction_;
  inputs::Frame frame_;
  int count_ = 0;
  int bytes_ = 0;  // of shared memory
  std::vector<Factor> factors_;
};

// Registers, also those of a warpgroup, and of each thread.
CaptureArray registers_of(const Operand& op, int lanes) {
  const bool is_word = op.part == Part::address || op.part == Part::stride;
  const bool same_in_all =
      op.part == Part::stride || op.kind == OperandKind::descriptor || op.kind == OperandKind::predicate;
  CaptureArray out{op.label,
                   CaptureArray::Holds::operand,
                   &op,
                   is_word ? 4 : static_cast<std::size_t>(op.register_bits / 8),
                   {kCases}};
  if (lanes > 1 && !same_in_all) out.shape.push_back(lanes);
  if (op.kind == OperandKind::vector) out.shape.push_back(op.registers);
  return out;
}

// Factors: [n, K]; scale factors: [n, K / block]; accumulators: [n]. A factor that the statement finds by a
// descriptor is a or b.
CaptureArray elements_of(const Operand& op) {
  const bool is_factor = op.part == Part::a || op.part == Part::b;
  CaptureArray out{op.label, CaptureArray::Holds::operand, &op, code_bytes(op.element_bits), {kCases}};
  if (op.kind == OperandKind::descriptor) out.name = op.part == Part::a ? "a" : "b";
  if (is_factor) out.shape.push_back(kDepth);
  if (op.part == Part::scale_a || op.part == Part::scale_b) out.shape.push_back(kBlocks);
  return out;
}

}  // namespace

bool accumulates_in_place(const Instruction& instruction) {
  return instruction.find(Part::scale_d) != nullptr;
}

std::vector<CaptureArray> members_of(const Instruction& instruction, CaptureLayout layout) {
  using Holds = CaptureArray::Holds;
  const bool elements = layout == CaptureLayout::elements;
  const auto array_of = [&](const Operand& op) {
    return elements ? elements_of(op) : registers_of(op, instruction.lanes());
  };
  const Operand& first = instruction.operands()[0];
  std::vector<CaptureArray> out;
  std::size_t source = 0;
  for (const Operand& op : instruction.operands()) {
    if (op.is_destination()) continue;
    const std::size_t number = source++;
    if (op.kind == OperandKind::immediate || op.kind == OperandKind::pair || !op.literals.empty()) continue;
    // The elements of A and B are those of products that exist: there is no metadata.
    if (elements && (op.part == Part::metadata || op.part == Part::scale_d)) continue;
    out.push_back(array_of(op));
    out.back().source = number;
  }
  if (accumulates_in_place(instruction)) {
    out.push_back(array_of(first));
    out.back().name = elements ? "c" : kBefore;
    out.back().holds = Holds::before;
  }
  const CaptureArray memory{std::string(kMemory), Holds::memory, nullptr, 1, {kCases, kBytes}};
  if (instruction.uses_memory() && !elements) out.push_back(memory);
  out.push_back(first.is_destination() ? array_of(first) : memory);
  if (!first.is_destination()) {
    out.back().name = kMemoryAfter;
    out.back().holds = Holds::memory_after;
  }
  return out;
}

Result<std::vector<CaptureMember>> capture_members(const Instruction& instruction) {
  const auto refused = [&](std::string_view seen, std::string_view accepted) {
    return Error{Errc::member_value, "statement", std::string(seen), std::string(accepted)};
  };
  if (std::holds_alternative<TensorAction>(instruction.decoded().kernel))
    return refused("an instruction of tensor memory", "one of registers and shared memory");
  if (instruction.rows() == 0) return refused("an instruction without results", "one with results");
  const auto* move = std::get_if<MatrixMove>(&instruction.decoded().form->action);
  if (move && move->space == Space::global) return refused("global memory", "shared memory");
  return Members(instruction).run();
}

}  // namespace warpbit
