// SPDX-License-Identifier: Apache-2.0
// Mistakes that are another instruction on the same registers: types, selectors, signs, targets.
#include <fmt/format.h>

#include <array>
#include <set>

#include "diagnose/diagnose_trial.hpp"
#include "isa/statement.hpp"
#include "numeric/conversion.hpp"

namespace warpbit {
namespace {

// A statement in parts that can be replaced.
struct Words {
  std::string opcode;
  std::vector<std::string> qualifiers, operands;

  static Words of(const Instruction& instruction) {
    Words out;
    const Result<Statement> statement = split(instruction.text());
    if (!statement) return out;
    out.opcode = statement->opcode;
    for (const std::string_view q : statement->qualifiers) out.qualifiers.emplace_back(q);
    for (const OperandText& op : statement->operands) out.operands.emplace_back(op.text);
    return out;
  }
  std::string text() const {
    std::string out = opcode;
    for (const std::string& q : qualifiers) out += "." + q;
    for (std::size_t i = 0; i < operands.size(); ++i) out += (i ? ", " : " ") + operands[i];
    return out + ";";
  }
};

// Types that take the same bits.
struct TypePair {
  std::string_view one, other, kind;
};
constexpr TypePair kTypes[] = {
    {"f16", "bf16", "type"},    {"e4m3", "e5m2", "type"},   {"e2m3", "e3m2", "type"},
    {"s8", "u8", "signedness"}, {"s4", "u4", "signedness"}, {"ue8m0", "ue4m3", "type"},
};

bool same_registers(const Instruction& x, const Instruction& y) {
  if (x.operands().size() != y.operands().size() || x.lanes() != y.lanes()) return false;
  for (std::size_t i = 0; i < x.operands().size(); ++i) {
    const Operand &ox = x.operands()[i], &oy = y.operands()[i];
    if (ox.part != oy.part || ox.kind != oy.kind || ox.registers != oy.registers ||
        ox.register_bits != oy.register_bits)
      return false;
  }
  return true;
}

class StatementCollection {
 public:
  explicit StatementCollection(const LoadedCapture& capture)
      : instruction_(capture.instruction), words_(Words::of(instruction_)) {}

  std::vector<Hypothesis> run() {
    types();
    saturation();
    immediates();
    scale_selectors();
    layouts();
    targets();
    accumulation();
    return std::move(out_);
  }

 private:
  // The instruction of other words, if it exists and has the same registers.
  std::optional<Instruction> other(const Words& words) const {
    Result<Instruction> i = Instruction::parse(words.text(), instruction_.target());
    if (!i || !same_registers(instruction_, *i)) return std::nullopt;
    return *std::move(i);
  }
  void add(Hypothesis h, Instruction other) {
    h.inputs = [other = std::move(other)](Trial& trial) { trial.capture.instruction = other; };
    out_.push_back(std::move(h));
  }

  const Operand& operand(std::size_t i) const { return instruction_.operands()[i]; }

  void types() {
    for (const TypePair& pair : kTypes)
      for (const auto& [from, to] : {std::pair{pair.one, pair.other}, std::pair{pair.other, pair.one}}) {
        std::vector<std::size_t> at;
        for (std::size_t i = 0; i < words_.qualifiers.size(); ++i)
          if (words_.qualifiers[i] == from) at.push_back(i);
        for (std::size_t subset = 1; subset < std::size_t{1} << at.size(); ++subset)
          type(pair.kind, from, to, at, subset);
      }
  }
  void type(std::string_view kind, std::string_view from, std::string_view to,
            const std::vector<std::size_t>& at, std::size_t subset) {
    Words words = words_;
    for (std::size_t i = 0; i < at.size(); ++i)
      if (subset >> i & 1) words.qualifiers[at[i]] = to;
    const std::optional<Instruction> i = other(words);
    if (!i) return;
    std::string changed, roles;
    for (std::size_t n = 0; n < i->operands().size(); ++n) {
      const Operand& op = i->operands()[n];
      if (op.format == operand(n).format) continue;
      if (op.part == Part::d || op.part == Part::c) return;  // D's bits mean something else
      changed += (changed.empty() ? "" : " and ") + std::string(op.role);
      roles += (roles.empty() ? "" : " ") + std::string(op.role);
    }
    if (changed.empty()) return;
    add({std::string(kind), roles,
         fmt::format("{} {} taken as {} instead of {}", changed, roles.size() == changed.size() ? "is" : "are",
                     to, from),
         fmt::format("the type of {} in the statement", changed), 1, true},
        *i);
  }

  void saturation() {
    Words words = words_;
    const auto found = std::ranges::find(words.qualifiers, "satfinite");
    const bool has = found != words.qualifiers.end();
    if (has)
      words.qualifiers.erase(found);
    else
      for (std::size_t i = 0; i < words.qualifiers.size(); ++i)
        if (words.qualifiers[i] == operand(0).format) {
          words.qualifiers.insert(words.qualifiers.begin() + static_cast<std::ptrdiff_t>(i), "satfinite");
          break;
        }
    if (const auto i = other(words))
      add({"satfinite", "d",
           has ? "the sum wraps: .satfinite is missing" : "the sum saturates: .satfinite is too much",
           ".satfinite in the statement", 1, true},
          *i);
  }

  // Operands that are one literal.
  struct Immediate {
    Part part;
    std::string_view kind, operand, text;
    std::array<int, 4> values;
  };
  void immediates() {
    static constexpr Immediate kImmediates[] = {
        {Part::selector, "selector", "e", "the sparsity selector is {} instead of {}", {0, 1, 2, 3}},
        {Part::sign_a, "sign", "a", "A is multiplied by {} instead of {}", {1, -1, 1, -1}},
        {Part::sign_b, "sign", "b", "B is multiplied by {} instead of {}", {1, -1, 1, -1}},
        {Part::transposed_a, "transposed", "a", "A's transposition is {} instead of {}", {0, 1, 0, 1}},
        {Part::transposed_b, "transposed", "b", "B's transposition is {} instead of {}", {0, 1, 0, 1}},
    };
    for (const Immediate& row : kImmediates)
      for (std::size_t n = 0; n < words_.operands.size() && n < instruction_.operands().size(); ++n) {
        if (operand(n).part != row.part) continue;
        std::set<std::string> tried{words_.operands[n]};
        for (const int value : row.values) {
          Words words = words_;
          words.operands[n] = std::to_string(value);
          if (!tried.insert(words.operands[n]).second) continue;
          if (const auto i = other(words))
            add({std::string(row.kind), std::string(row.operand),
                 fmt::format(fmt::runtime(row.text), value, words_.operands[n]),
                 "the immediates of the statement", 1, true},
                *i);
        }
      }
  }

  void scale_selectors() {
    for (std::size_t n = 0; n < words_.operands.size() && n < instruction_.operands().size(); ++n) {
      const bool left = operand(n).part == Part::selector_a;
      if (!left && operand(n).part != Part::selector_b) continue;
      if (operand(n).literals.size() != 2 || !operand(n).literals[0] || !operand(n).literals[1]) continue;
      for (int byte = 0; byte < 4; ++byte)
        for (int thread = 0; thread < 4; ++thread) {
          if (operand(n).literals[0] == std::uint64_t(byte) && operand(n).literals[1] == std::uint64_t(thread))
            continue;
          Words words = words_;
          words.operands[n] = fmt::format("{{{}, {}}}", byte, thread);
          if (const auto i = other(words))
            add({"scale_selector", left ? "scale_a" : "scale_b",
                 fmt::format("the scale factors of {} are chosen by {} instead of {}", left ? "A" : "B",
                             words.operands[n], words_.operands[n]),
                 "byte-id and thread-id of the scale factors", 1, true},
                *i);
        }
    }
  }

  // row and col of forms that have both
  void layouts() {
    for (std::size_t subset = 1; subset < 4; ++subset) {
      Words words = words_;
      std::size_t seen = 0;
      for (std::string& q : words.qualifiers)
        if (q == "row" || q == "col")
          if (subset >> seen++ & 1) q = q == "row" ? "col" : "row";
      if (seen != 2) continue;
      if (const auto i = other(words))
        add({"transposed",
             subset == 1   ? "a"
             : subset == 2 ? "b"
                           : "a b",
             "the layouts in the statement are others", ".row and .col in the statement", 1, true},
            *i);
    }
  }

  void targets() {
    std::set<std::string> plans{instruction_.plan()};
    for (const Target target : Target::all()) {
      const Result<Instruction> i = Instruction::parse(instruction_.text(), target);
      if (!i || !same_registers(instruction_, *i) || !plans.insert(i->plan()).second) continue;
      add({"target", "", fmt::format("the arithmetic of {}: {}", target.name(), i->plan()),
           "on which GPU the result was computed", 4},
          *i);
    }
  }

  // f16 accumulators where f32 belong: C is rounded to f16, D comes from f16.
  void accumulation() {
    Words words = words_;
    const Operand* c = instruction_.find(Part::c);
    if (operand(0).format != "f32" || c == nullptr || c->format != "f32") return;
    for (std::string& q : words.qualifiers)
      if (q == "f32") q = "f16";
    const Result<Instruction> half = Instruction::parse(words.text(), instruction_.target());
    if (!half || half->operands()[0].format != "f16") return;
    Hypothesis h{"accumulator_type", "c d", "the sum is accumulated in f16 instead of f32",
                 "the types of C and D in the statement", 2};
    h.execution = [half = *half](const LoadedCapture& inputs) { return accumulate(inputs, half); };
    out_.push_back(std::move(h));
  }

  // The elements of one array in another's fragment.
  static void convert_all(const Operand& from_op, const Array& from, const Operand& to_op, Array& to, int lanes,
                          std::uint64_t cases, const Conversion& conversion) {
    const Packing &pf = from_op.fragment.packing(), &pt = to_op.fragment.packing();
    std::vector<Place> places;
    const std::vector<Place> table = from_op.fragment.table();
    for (int lane = 0; lane < lanes; ++lane)
      for (int reg = 0; reg < to_op.registers; ++reg)
        for (int slot = 0; slot < pt.per_register(); ++slot) {
          const Coordinate at = *to_op.fragment.at(lane, reg, slot);
          const auto index = static_cast<std::size_t>(
              (at.product * to_op.fragment.rows() + at.row) * to_op.fragment.columns() + at.column);
          const Place place = table[index];
          for (std::uint64_t n = 0; n < cases; ++n) {
            const auto item = [&](int l, int r, int registers) {
              return (n * static_cast<std::uint64_t>(lanes) + static_cast<std::uint64_t>(l)) *
                         static_cast<std::uint64_t>(registers) +
                     static_cast<std::uint64_t>(r);
            };
            const std::uint64_t bits =
                from.at(item(place.lane, place.reg, from_op.registers)) >> place.low_bit &
                ((std::uint64_t{1} << pf.bits) - 1);
            const std::uint64_t code = convert(conversion, bits, 0) & ((std::uint64_t{1} << pt.bits) - 1);
            const std::uint64_t out = item(lane, reg, to_op.registers);
            to.set(out, to.at(out) | code << pt.low_bit_of(slot));
          }
        }
  }
  static Result<Array> accumulate(const LoadedCapture& inputs, const Instruction& half) {
    LoadedCapture capture = inputs;
    capture.instruction = half;
    const auto shaped = [&](const Operand& op) {
      return Array::zeros(
          "x", 4,
          {inputs.cases, static_cast<std::uint64_t>(half.lanes()), static_cast<std::uint64_t>(op.registers)});
    };
    const Operand &c16 = *half.find(Part::c), &c32 = *inputs.instruction.find(Part::c);
    Array c = shaped(c16);
    LoadedCapture copy = inputs;
    convert_all(c32, *registers_of(copy, Part::c), c16, c, half.lanes(), inputs.cases,
                {FormatId::f32, FormatId::f16, CvtRounding::rn});
    *registers_of(capture, Part::c) = std::move(c);
    capture.expected = shaped(half.operands()[0]);
    capture.mask.reset();
    const Result<Array> d16 = execute_trial(capture);
    if (!d16) return d16.error();
    Array d = inputs.expected;
    std::ranges::fill(d.data, std::byte{0});
    convert_all(half.operands()[0], *d16, inputs.instruction.operands()[0], d, half.lanes(), inputs.cases,
                {FormatId::f16, FormatId::f32});
    return d;
  }

  const Instruction& instruction_;
  Words words_;
  std::vector<Hypothesis> out_;
};

}  // namespace

std::vector<Hypothesis> statement_hypotheses(const LoadedCapture& capture) {
  return StatementCollection(capture).run();
}

}  // namespace warpbit
