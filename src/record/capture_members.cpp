// SPDX-License-Identifier: Apache-2.0
#include "warpbit/record.hpp"

#include <algorithm>
#include <variant>

#include "isa/instruction.hpp"
#include "record/members.hpp"
#include "warpbit/inputs/place.hpp"

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
  if (f.is_integer) return {};
  return {f.subnormals ? f.min_exponent() - f.fraction_bits : f.min_exponent(),
          decode(f, largest(f, false)).exponent};
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

// ---- Fills

class Fills {
 public:
  explicit Fills(const Instruction& instruction) : instruction_(instruction), frame_(frame_of(instruction)) {}

  // Registers of an operand. Those of d_in are D's.
  Member registers(const Operand& op, Fill fill, Role role) {
    Member out = start(fill, instruction_.lanes(), op.registers, op.register_bits);
    if (fill == Fill::elements) {
      const Packing& p = op.fragment.packing();
      out.role = role;
      out.neighbour = inputs::Neighbour::lane;
      out.slot_bits = p.slot_bits;
      out.low_bit = p.low_bit;
      out.format = format_numbers(*find_format(op.format));
      out.frame = frame_;
    }
    return out;
  }

  Member metadata(const Operand& op) {
    Member out = registers(op, Fill::metadata, {});
    const bool halves = instruction_.decoded().form->sparsity.kept == 1;
    out.choices = halves ? 0xE4 : 0xEDC984;  // ascending indices: defined with and without ordered_metadata
    out.count = halves ? 2 : 6;
    return out;
  }

  Member flag() { return start(Fill::flag, 1, 1, 8); }

  Member offsets(Fill fill, int lanes, int least, int step, int count) {
    Member out = start(fill, lanes, 1, 32);
    out.least = least;
    out.step = step;
    out.count = count;
    return out;
  }

  // Memory from byte `base` on.
  Member memory(Fill fill, int base, int bytes) {
    Member out = start(fill, 1, bytes / 4, 32);
    out.first = base / 4;
    return out;
  }

  Member factor_in_memory(const Operand& op, Role role, int base, int bytes) {
    Member out = memory(Fill::elements, base, bytes);
    const Format& f = *find_format(op.format);
    out.role = role;
    out.neighbour = inputs::Neighbour::word;
    out.slot_bits = f.bits;
    out.format = format_numbers(f);
    out.frame = frame_;
    return out;
  }

  Member descriptor(const DescribedMatrix& matrix, int base) {
    Member out = start(Fill::descriptor, 1, 1, 64);
    out.mn = matrix.major == Major::mn;
    out.lines = out.mn ? matrix.depth : matrix.lines;
    out.chunks = matrix.contiguous_bytes() / 16;
    out.base = base;
    out.bytes = inputs::factor_bytes(out);
    return out;
  }

 private:
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

  const Instruction& instruction_;
  inputs::Frame frame_;
  int count_ = 0;
};

// ---- Members

class Members {
 public:
  explicit Members(const Instruction& instruction) : instruction_(instruction), fills_(instruction) {}

  std::vector<CaptureMember> run() {
    std::vector<CaptureMember> out;
    for (const CaptureArray& array : members_of(instruction_, CaptureLayout::registers))
      out.push_back(array.operand != nullptr ? registers(array) : memory(array));
    return out;
  }

 private:
  CaptureMember registers(const CaptureArray& array) {
    const Operand& op = *array.operand;
    CaptureMember out{array.name,
                      array.item_bytes,
                      {array.shape.begin() + 1, array.shape.end()},
                      array.shape.size() == 1 ? 1 : instruction_.lanes(),
                      op.registers,
                      static_cast<int>(8 * array.item_bytes),
                      {}};
    if (array.holds == CaptureArray::Holds::before)
      out.fills = {fills_.registers(op, Fill::elements, Role::sum)};
    else if (!op.is_destination())
      out.fills = {fill(op)};
    return out;
  }

  CaptureMember memory(const CaptureArray& array) {
    CaptureMember out{array.name, 1, {static_cast<std::uint64_t>(bytes_)}, 1, bytes_ / 4, 32, {}};
    if (array.is_result()) return out;
    for (const Factor& f : factors_)
      out.fills.push_back(fills_.factor_in_memory(*f.operand, f.role, f.base, f.bytes));
    if (factors_.empty()) out.fills.push_back(fills_.memory(Fill::bits, 0, bytes_));
    return out;
  }

  Member fill(const Operand& op) {
    const auto& tile = instruction_.decoded().kernel;
    const bool converts = instruction_.lanes() == 1;
    switch (op.part) {
      case Part::a:
        return op.kind == OperandKind::descriptor ? described(*std::get<Tile>(tile).a_described, op, Role::left)
                                                  : fills_.registers(op, Fill::elements, Role::left);
      case Part::b:
        return op.kind == OperandKind::descriptor
                   ? described(*std::get<Tile>(tile).b_described, op, Role::right)
                   : fills_.registers(op, Fill::elements, Role::right);
      case Part::c: return fills_.registers(op, Fill::elements, Role::sum);
      case Part::scale_a: return fills_.registers(op, Fill::elements, Role::left_scale);
      case Part::scale_b: return fills_.registers(op, Fill::elements, Role::right_scale);
      case Part::metadata: return fills_.metadata(op);
      case Part::scale_d: return fills_.flag();
      case Part::address: return address();
      case Part::stride: return stride();
      default:
        return fills_.registers(op, converts && op.part == Part::source ? Fill::elements : Fill::bits,
                                Role::left);
    }
  }

  // A factor in memory, which follows what is there.
  Member described(const DescribedMatrix& matrix, const Operand& op, Role role) {
    const Member out = fills_.descriptor(matrix, bytes_);
    factors_.push_back({&op, role, bytes_, out.bytes});
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
  int lines() const { return move().lines_are_columns ? instruction_.columns() : instruction_.rows(); }

  Member address() {
    const MatrixMove& m = move();
    if (m.addressing == Addressing::rows) {
      bytes_ = kRowBytes;
      return fills_.offsets(m.to_memory ? Fill::permuted : Fill::offsets, instruction_.lanes(), 0, m.alignment,
                            kRowBytes / m.alignment);
    }
    const int longest = m.line_bytes + (kPlaces - 1) * step(m.stride_multiple);
    bytes_ = (lines() - 1) * longest + m.line_bytes + (kPlaces - 1) * step(m.alignment);
    bytes_ = (bytes_ + 15) / 16 * 16;
    return fills_.offsets(Fill::offset, instruction_.lanes(), 0, step(m.alignment), kPlaces);
  }

  Member stride() {
    const MatrixMove& m = move();
    return fills_.offsets(Fill::offset, 1, 8 * m.line_bytes / m.element_bits,
                          8 * step(m.stride_multiple) / m.element_bits, kPlaces);
  }

  struct Factor {
    const Operand* operand;
    Role role;
    int base, bytes;
  };
  const Instruction& instruction_;
  Fills fills_;
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
  if (instruction.rows() == 0) return refused("an instruction without results", "one with results");
  const auto* move = std::get_if<MatrixMove>(&instruction.decoded().form->action);
  if (move && move->space == Space::global) return refused("global memory", "shared memory");
  return Members(instruction).run();
}

}  // namespace warpbit
