// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "isa/instruction.hpp"
#include "record/members.hpp"
#include "warpbit/inputs/philox.hpp"
#include "warpbit/record.hpp"

namespace warpbit {
namespace {

// "codes a 0:3c00 3:bc00"
std::string codes_line(std::string_view array, std::span<const std::uint64_t> codes) {
  std::string out;
  for (std::size_t i = 0; i < codes.size(); ++i)
    if (codes[i] != 0) out += fmt::format(" {}:{:x}", i, codes[i]);
  return out.empty() ? "" : fmt::format("codes {}{}\n", array, out);
}

std::string text_of(const Probes& probes) {
  std::string out;
  for (const Probe& p : probes.probes) {
    out += fmt::format("probe {}\n", p.name);
    out += codes_line("a", p.a) + codes_line("b", p.b) + codes_line("sfa", p.a_scale) +
           codes_line("sfb", p.b_scale);
    out += codes_line("c", std::span(&p.c, 1));
  }
  return out;
}

// The element of B that a stored element of A meets where all nibbles of metadata are kNibble.
constexpr std::uint32_t kNibble = 0b0100, kNibbles = 0x44444444;
int depth_of(const Sparsity& s, int term) {
  if (!s.is_sparse()) return term;
  const int group = term / s.kept, within = term % s.kept, unit = s.kept / 2;
  if (unit == 0) return group * s.width;
  return group * s.width + stored_index(s, kNibble, within) * unit + within % unit;
}

class PlaceWriter {
 public:
  explicit PlaceWriter(const Instruction& statement)
      : statement_(statement), tile_(std::get<Tile>(statement.decoded().kernel)) {}

  std::string run() {
    for (const Operand& op : statement_.operands()) operand(op);
    return std::move(text_);
  }

 private:
  void operand(const Operand& op) {
    const bool described = op.kind == OperandKind::descriptor;
    switch (op.part) {
      case Part::a: described ? memory(op, *tile_.a_described, "a") : factor(op, "a"); break;
      case Part::b: described ? memory(op, *tile_.b_described, "b") : factor(op, "b"); break;
      case Part::c: element(op, op.label, "c"); break;
      case Part::d:
        if (accumulates_in_place(statement_)) element(op, kBefore, "c");
        element(op, op.label, "d");
        break;
      case Part::scale_a: scales(op, tile_.a_scale, "sfa"); break;
      case Part::scale_b: scales(op, tile_.b_scale, "sfb"); break;
      case Part::metadata: constant(op.label, kNibbles); break;
      case Part::scale_d:
        if (op.literals.empty()) constant(op.label, 1);
        break;
      default: break;
    }
  }

  void constant(std::string_view member, std::uint64_t value) {
    text_ += fmt::format("constant {} {:x}\n", member, value);
  }
  void places(std::string_view key, std::string_view member, std::string_view array, int bits,
              const std::vector<std::uint64_t>& at) {
    text_ += fmt::format("{} {} {} {} {}\n", key, member, array, bits, fmt::join(at, " "));
  }

  // Where an element begins, in bits from the beginning of a case.
  static std::uint64_t bit_of(const Operand& op, const Place& p) {
    return static_cast<std::uint64_t>((p.lane * op.registers + p.reg) * op.register_bits + p.low_bit);
  }

  // A line for each copy of the elements.
  void factor(const Operand& op, std::string_view array) {
    const bool left = op.part == Part::a;
    std::vector<std::vector<std::uint64_t>> copies;
    for (int term = 0; term < statement_.terms(); ++term) {
      const std::vector<Place> found =
          op.fragment.find(left ? Coordinate{0, term} : Coordinate{depth_of(tile_.sparsity, term), 0});
      copies.resize(found.size());
      for (std::size_t i = 0; i < found.size(); ++i) copies[i].push_back(bit_of(op, found[i]));
    }
    for (const auto& copy : copies) places("places", op.label, array, op.element_bits, copy);
  }

  void element(const Operand& op, std::string_view member, std::string_view array) {
    places("place", member, array, op.element_bits, {bit_of(op, op.fragment.find({0, 0}).front())});
  }

  void scales(const Operand& op, const TileScale& scale, std::string_view array) {
    std::vector<std::uint64_t> at;
    for (const RegisterBits& p : chosen_places(scale, {}, 0).first(static_cast<std::size_t>(scale.blocks)))
      at.push_back(bit_of(op, {p.lane, p.reg, p.low_bit, p.bits}));
    places("places", op.label, array, op.element_bits, at);
  }

  // A factor in memory, not swizzled: one group of 8 lines after the other, in each the chunks.
  void memory(const Operand& op, const DescribedMatrix& matrix, std::string_view array) {
    const auto members = capture_members(statement_).value();
    const auto& fill = std::ranges::find(members, op.label, &CaptureMember::name)->fills.front();
    constexpr std::uint32_t kAtom = 8 * ChunkMap::kChunk;
    const auto line = static_cast<std::uint32_t>(8 * matrix.contiguous_bytes());
    const bool k = matrix.major == Major::k;
    const Descriptor descriptor{static_cast<std::uint32_t>(fill.base), k ? kAtom : line, k ? line : kAtom};
    constant(op.label, descriptor.encode().value());
    std::vector<std::uint64_t> at;
    for (int term = 0; term < statement_.terms(); ++term)
      at.push_back(element_bit(descriptor, matrix.major, matrix.element_bits, 0,
                               op.part == Part::a ? term : depth_of(tile_.sparsity, term)));
    places("places", kMemory, array, op.element_bits, at);
  }

  const Instruction& statement_;
  const Tile& tile_;
  std::string text_;
};

std::string id_of(const std::string& set) {
  const inputs::Key key = inputs::key_of(set.c_str(), 0);
  return fmt::format("{:08x}{:08x}", key.w[1], key.w[0]);
}

// Those of the statement, if it is the first of its form.
Result<Probes> recorded_probes(const Instruction& statement) {
  const std::vector<std::string> all = capture_statements(statement);
  if (all.empty() || all.front() != statement.text())
    return Error{Errc::member_value, "statement", statement.text(), "the first statement of a form"};
  return probes(statement);
}

}  // namespace

std::string probe_lines(const Instruction& statement) {
  const Result<Probes> found = recorded_probes(statement);
  if (!found) return "";
  return fmt::format("probes {}\n{}", id_of(text_of(*found)), PlaceWriter(statement).run());
}

ProbeSet probe_set(const Instruction& statement) {
  const Result<Probes> found = recorded_probes(statement);
  if (!found) return {};
  std::string text = text_of(*found);
  const std::string id = id_of(text);
  return {id, fmt::format("set {}\n{}", id, text)};
}

}  // namespace warpbit
