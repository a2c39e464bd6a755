// SPDX-License-Identifier: Apache-2.0
// Mistakes that are another instruction on the same registers: types, selectors, signs, targets.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "diagnose/hypothesis.hpp"
#include "isa/instruction.hpp"
#include "numeric/conversion.hpp"

namespace warpbit::diagnosis {
namespace {

// Types that take the same bits.
struct TypePair {
  std::string_view one, other, kind;
};
constexpr TypePair kTypes[] = {
    {"f16", "bf16", "type"},    {"e4m3", "e5m2", "type"},   {"e2m3", "e3m2", "type"},
    {"s8", "u8", "signedness"}, {"s4", "u4", "signedness"}, {"ue8m0", "ue4m3", "type"},
};

// Operands that are literals, and what they may be instead.
struct Immediate {
  Part part;
  std::string_view kind, operand, text, hint;
  std::span<const std::string_view> values;
};
constexpr std::string_view kBits[] = {"0", "1"}, kSigns[] = {"1", "-1"}, kLanes[] = {"0", "1", "2", "3"},
                           kPairs[] = {"{0, 0}", "{0, 1}", "{0, 2}", "{0, 3}", "{1, 0}", "{1, 1}",
                                       "{1, 2}", "{1, 3}", "{2, 0}", "{2, 1}", "{2, 2}", "{2, 3}",
                                       "{3, 0}", "{3, 1}", "{3, 2}", "{3, 3}"},
                           kHint = "the immediates of the statement",
                           kPairHint = "byte-id and thread-id of the scale factors";
constexpr Immediate kImmediates[] = {
    {Part::selector, "selector", "e", "the sparsity selector is {} instead of {}", kHint, kLanes},
    {Part::sign_a, "sign", "a", "A is multiplied by {} instead of {}", kHint, kSigns},
    {Part::sign_b, "sign", "b", "B is multiplied by {} instead of {}", kHint, kSigns},
    {Part::transposed_a, "transposed", "a", "A's transposition is {} instead of {}", kHint, kBits},
    {Part::transposed_b, "transposed", "b", "B's transposition is {} instead of {}", kHint, kBits},
    {Part::selector_a, "scale_selector", "scale_a", "the scale factors of A are chosen by {} instead of {}",
     kPairHint, kPairs},
    {Part::selector_b, "scale_selector", "scale_b", "the scale factors of B are chosen by {} instead of {}",
     kPairHint, kPairs},
};

bool same_registers(const Instruction& x, const Instruction& y) {
  const auto shape = [](const Operand& op) {
    return std::tuple(op.part, op.kind, op.registers, op.register_bits);
  };
  return x.lanes() == y.lanes() && std::ranges::equal(x.operands(), y.operands(), {}, shape, shape);
}

// C, or D where it is the accumulator.
const Operand& accumulator_of(const Instruction& i) {
  const Operand* c = i.find(Part::c);
  return c == nullptr ? i.operands()[0] : *c;
}

// The sum in f16: C is rounded to it, D comes from it.
Result<Array> accumulate(const Problem& inputs, const Instruction& half) {
  // Accumulators, read by place.
  const auto fragment = [](const Operand& op, int lanes) { return Fragment(Part::c, op, lanes); };
  const Fragment c32 = fragment(accumulator_of(inputs.instruction), half.lanes()),
                 d32 = fragment(inputs.instruction.operands()[0], half.lanes()),
                 c16 = fragment(accumulator_of(half), half.lanes()),
                 d16 = fragment(half.operands()[0], half.lanes());
  const auto read = [](const Array& array, const Fragment& from, const Fragment& to) {
    return moved(array, from, to, map_of(to, from, [](const Fragment&, const Coordinate& c) { return c; }));
  };
  const auto converted = [](Array array, const Conversion& conversion) {
    change(array, [&](std::uint64_t code) { return convert(conversion, code, 0); });
    return array;
  };
  Problem capture = inputs;
  capture.instruction = half;
  if (capture.layout) capture.layout = layout_of(half);
  Array& c = *array_of(capture, Part::c);
  c = read(converted(c, {FormatId::f32, FormatId::f16, CvtRounding::rn}), c32, c16);
  capture.expected = read(inputs.expected, d32, d16);
  capture.mask.reset();
  const Result<Array> d = execute_trial(capture);
  if (!d) return d;
  return converted(read(*d, d16, d32), {FormatId::f16, FormatId::f32});
}

class StatementCollection {
 public:
  explicit StatementCollection(Collection& to) : to_(to), instruction_(to.instruction) {}

  void run() {
    types();
    saturation();
    immediates();
    layouts();
    targets();
    accumulation();
  }

 private:
  Result<Instruction> parsed(const Statement& s) const {
    return Instruction::parse(text(s), instruction_.target());
  }
  // Another instruction, if it exists and has the same registers.
  void add(Hypothesis h, const Result<Instruction>& other) {
    if (other && same_registers(instruction_, *other))
      to_.add(std::move(h)).inputs = [other = *other](Trial& trial) { trial.capture.instruction = other; };
  }

  const Operand& operand(std::size_t i) const { return instruction_.operands()[i]; }

  void types() {
    for (const TypePair& pair : kTypes)
      for (const auto& [from, to] : {std::pair{pair.one, pair.other}, std::pair{pair.other, pair.one}}) {
        std::vector<std::size_t> at;
        for (std::size_t i = 0; i < statement_.qualifiers.size(); ++i)
          if (statement_.qualifiers[i] == from) at.push_back(i);
        for (std::size_t subset = 1; subset < std::size_t{1} << at.size(); ++subset) {
          Statement changed = statement_;
          for (std::size_t i = 0; i < at.size(); ++i)
            if (subset >> i & 1) changed.qualifiers[at[i]] = to;
          type(pair.kind, from, to, parsed(changed));
        }
      }
  }
  void type(std::string_view kind, std::string_view from, std::string_view to,
            const Result<Instruction>& other) {
    if (!other || !same_registers(instruction_, *other)) return;
    std::vector<std::string_view> roles;
    for (std::size_t n = 0; n < other->operands().size(); ++n) {
      const Operand& op = other->operands()[n];
      if (op.format == operand(n).format) continue;
      if (op.part == Part::d || op.part == Part::c) return;  // D's bits mean something else
      roles.push_back(op.role);
    }
    if (roles.empty()) return;
    const std::string changed = fmt::format("{}", fmt::join(roles, " and "));
    add({std::string(kind), fmt::format("{}", fmt::join(roles, " ")),
         fmt::format("{} {} taken as {} instead of {}", changed, roles.size() == 1 ? "is" : "are", to, from),
         fmt::format("the type of {} in the statement", changed), 1, true},
        other);
  }

  void saturation() {
    Statement changed = statement_;
    std::vector<std::string_view>& q = changed.qualifiers;
    const bool has = std::erase(q, "satfinite") > 0;
    if (const auto type = std::ranges::find(q, operand(0).format); !has && type != q.end())
      q.insert(type, "satfinite");
    add({"satfinite", "d",
         has ? "the sum wraps: .satfinite is missing" : "the sum saturates: .satfinite is too much",
         ".satfinite in the statement", 1, true},
        parsed(changed));
  }

  void immediates() {
    for (const Immediate& row : kImmediates)
      for (std::size_t n = 0; n < statement_.operands.size() && n < instruction_.operands().size(); ++n) {
        const auto& literals = operand(n).literals;
        if (operand(n).part != row.part || literals.empty()) continue;
        if (std::find(literals.begin(), literals.end(), std::nullopt) != literals.end()) continue;
        const std::string_view is = statement_.operands[n].text;
        for (const std::string_view value : row.values) {
          Statement changed = statement_;
          changed.operands[n].text = value;
          if (value != is)
            add({std::string(row.kind), std::string(row.operand),
                 fmt::format(fmt::runtime(row.text), value, is), std::string(row.hint), 1, true},
                parsed(changed));
        }
      }
  }

  // row and col of forms that have both
  void layouts() {
    constexpr std::string_view kRoles[] = {"", "a", "b", "a b"};
    for (std::size_t subset = 1; subset < 4; ++subset) {
      Statement changed = statement_;
      std::size_t seen = 0;
      for (std::string_view& q : changed.qualifiers)
        if (q == "row" || q == "col")
          if (subset >> seen++ & 1) q = q == "row" ? "col" : "row";
      if (seen == 2)
        add({"transposed", std::string(kRoles[subset]), "the layouts in the statement are others",
             ".row and .col in the statement", 1, true},
            parsed(changed));
    }
  }

  void targets() {
    std::set<std::string> plans{instruction_.plan()};
    for (const Target target : Target::all()) {
      const Result<Instruction> i = Instruction::parse(instruction_.text(), target);
      if (i && same_registers(instruction_, *i) && plans.insert(i->plan()).second)
        add({"target", "", fmt::format("the arithmetic of {}: {}", target.name(), i->plan()),
             "on which GPU the result was computed", 4},
            i);
    }
  }

  // f16 accumulators where f32 belong
  void accumulation() {
    if (operand(0).format != "f32" || accumulator_of(instruction_).format != "f32" || !to_.has(Part::c)) return;
    Statement changed = statement_;
    std::ranges::replace(changed.qualifiers, "f32", "f16");
    const Result<Instruction> half = parsed(changed);
    if (!half || half->operands()[0].format != "f16") return;
    to_.add({"accumulator_type", "c d", "the sum is accumulated in f16 instead of f32",
             "the types of C and D in the statement", 2})
        .execution = [half = *half](const Problem& inputs) { return accumulate(inputs, half); };
  }

  Collection& to_;
  const Instruction& instruction_;
  const Statement& statement_ = instruction_.decoded().statement;
};

}  // namespace

void collect_statements(Collection& to) {
  StatementCollection(to).run();
}

}  // namespace warpbit::diagnosis
