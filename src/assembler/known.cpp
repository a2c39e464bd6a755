// SPDX-License-Identifier: Apache-2.0
#include "assembler/known.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "assembler/rounded.hpp"
#include "numeric/formats.hpp"
#include "scalar/operation.hpp"

namespace warpbit::assembler {
namespace {

using ptx::Type;

/// Instructions of which the assembler computes the result if it knows the sources, by the types among their words.
struct Folding {
  std::string_view opcode, types;
};
constexpr std::string_view kNumbers = "f32 f64 u16 s16 u32 s32 u64 s64",
                           kSigned = "f32 f64 f16x2 u16 s16 u32 s32 u64 s64",
                           kIntegers = "u16 s16 u32 s32 u64 s64", kBits = "pred b16 b32 b64",
                           kSmall = "u8 s8 u16 s16 u32 s32 f32 f64 f16 bf16";
constexpr Folding kFoldings[] = {
    {"add", kNumbers},
    {"sub", kNumbers},
    {"mul", kNumbers},
    {"min", kNumbers},
    {"max", kNumbers},
    {"neg", kSigned},
    {"abs", kSigned},
    {"mad", kIntegers},
    {"and", kBits},
    {"or", kBits},
    {"xor", kBits},
    {"not", kBits},
    {"shl", kBits},
    {"shr", "b16 b32 b64 u16 s16 u32 s32 u64 s64"},
    {"bfe", kIntegers},
    {"clz", kBits},
    {"popc", kBits},
    {"shf", kBits},
    {"selp", "f32 b32 u32 s32 b16 u16 s16"},
    {"slct", "f32 s32 u32 b32"},
    {"set", "f32 u32 s32"},
    {"setp", "f32 f64 u16 s16 u32 s32 u64 s64 b16 b32 b64"},
    {"testp", "f32 f64"},
    {"cvt", kSmall},
};

bool is_folded(const View& v) {
  const auto found = std::ranges::find(kFoldings, v.opcode(), &Folding::opcode);
  if (found == std::end(kFoldings) || v.has("cc") || v.has("NaN") || v.has("rz") || v.has("rm") || v.has("rp"))
    return false;
  if (v.opcode() == "cvt" && v.words().size() >= 2 && has_word("u64 s64", v.type()))
    return has_word(kIntegers, v.result_type());  // of 64 bits to an integer alone
  return std::ranges::all_of(
      v.words(), [&](std::string_view word) { return !ptx::find_type(word) || has_word(found->types, word); });
}

bool is_approximate(const View& v) {
  return v.has("approx") && v.type() == "f32" && !v.has("scaled");
}

/// What becomes a sum with -0: it flushes, and does no more than its source operand could. Its source is a number of the same
/// basic block; one of another block is known too late.
bool is_sum_with_zero(const View& v) {
  if (v.type() != "f32" || !v.has("ftz")) return false;
  constexpr std::array<std::string_view, 3> kWords = {"ftz", "sat", "f32"};
  const auto only = [&](std::string_view word) { return std::ranges::find(kWords, word) != kWords.end(); };
  return v.opcode() == "neg" || v.opcode() == "abs" || (v.opcode() == "mul" && v.unit_factor() != 0) ||
         (v.opcode() == "cvt" && std::ranges::all_of(v.words(), only));
}

}  // namespace

std::optional<std::uint64_t> with_sign(const View& v, std::uint64_t bits) {
  struct Row {
    std::string_view type;
    std::uint64_t sign, infinity, quiet;
  };
  constexpr Row kRows[] = {{"f32", 0x8000'0000, 0x7F80'0000, 0x0040'0000},
                           {"f64", std::uint64_t{1} << 63, std::uint64_t{0x7FF} << 52, 0},
                           {"f16x2", 0x8000'8000, 0, 0}};
  const auto* const row = std::ranges::find(kRows, v.type(), &Row::type);
  if (row == std::end(kRows) || v.words().size() != 1) return {};
  const std::uint64_t out = v.opcode() == "neg" ? bits ^ row->sign : bits & ~row->sign;
  return (bits & ~row->sign) > row->infinity ? out | row->quiet : out;
}

Known::Known(const FunctionText& function, const Flow& flow)
    : f_(function), flow_(flow), in_(flow.blocks().size()) {
  if (f_.statements.empty()) return;
  in_[0] = Values();
  for (next_ = {0}; !next_.empty();) {
    const int block = next_.back();
    next_.pop_back();
    follow(block);
    if (handed_on_ <= kMost) continue;
    next_.clear();
    sources_.clear();
    results_.clear();
    late_.clear();
  }
}

void Known::follow(int block) {
  const Flow::Block& of = flow_.blocks()[static_cast<std::size_t>(block)];
  Values values = *in_[static_cast<std::size_t>(block)];
  local_.clear();
  for (int i = of.first; i < of.last; ++i) pass(i, values);
  handed_on_ += values.size() * (1 + of.next.size());
  for (const int next : of.next) {
    std::optional<Values>& in = in_[static_cast<std::size_t>(next)];
    if (!in) {
      in = values;
      next_.push_back(next);
      continue;
    }
    const std::size_t before = in->size();
    std::erase_if(*in, [&](const auto& one) {
      const auto found = values.find(one.first);
      return found == values.end() || found->second != one.second;
    });
    if (in->size() != before) next_.push_back(next);
  }
}

// Notes what is known at the statement, for the last time that control comes to it.
void Known::pass(int i, Values& values) {
  const View v{f_, i};
  Values sources;
  bool is_local = true;
  for_each_access(
      f_, i,
      [&](int reg) {
        const bool made_here = local_.contains(reg);
        is_local = is_local && made_here;
        const auto found = values.find(reg);
        if (found == values.end()) return;
        sources.insert(*found);
        if (!made_here) late_.emplace(i, reg);
      },
      [](int) {});
  if (sources.empty())
    sources_.erase(i);
  else
    sources_[i] = std::move(sources);
  std::optional<std::uint64_t> result = v.opcode() == "mov" ? moved(v) : computed(v);
  if (!is_local && is_sum_with_zero(v)) result.reset();
  if (!result) result = of_any(v);
  const Operand* const d = v.operands() > 0 ? &v.operand(0) : nullptr;
  const bool has_register = d != nullptr && d->kind == Operand::Kind::reg;
  if (result && has_register)
    *result = scalar::cut(*result, ptx::bits(f_.registers[static_cast<std::size_t>(d->index)].type));
  if (result)
    results_[i] = *result;
  else
    results_.erase(i);
  const std::vector<std::pair<int, std::uint64_t>> parts = unpacked(v);
  // Behind a guard the register has the result or what it had.
  const auto had = has_register ? values.find(d->index) : values.end();
  const bool same = had != values.end() && result == had->second;
  for_each_access(
      f_, i, [](int) {},
      [&](int reg) {
        values.erase(reg);
        if (is_local)
          local_.insert(reg);
        else
          local_.erase(reg);
      });
  if (result && has_register && (same || !v.is_guarded())) values[d->index] = *result;
  for (const auto& [reg, part] : parts) values[reg] = part;
}

std::optional<std::uint64_t> Known::value(const View& v, const Operand& operand, Type type) const {
  if (operand.kind == Operand::Kind::literal) return ptx::literal_bits(operand.literal, type);
  if (operand.kind != Operand::Kind::reg) return {};
  const auto at = sources_.find(v.i);
  if (at == sources_.end()) return {};
  const auto found = at->second.find(operand.index);
  if (found == at->second.end()) return {};
  return found->second;
}

std::optional<std::uint64_t> Known::moved(const View& v) const {
  const Type type = ptx::find_type(v.type()).value_or(Type::b32);
  const Operand &d = v.operand(0), &a = v.operand(1);
  if (d.kind != Operand::Kind::reg) return {};
  if (a.kind != Operand::Kind::vector) {
    const auto bits = value(v, a, type);
    return bits && a.negated ? std::uint64_t{*bits == 0} : bits;
  }
  if (ptx::bits(type) > 64 || a.count == 0) return {};
  std::uint64_t out = 0;
  const int size = ptx::bits(type) / a.count;
  for (int k = 0; k < a.count; ++k) {
    const auto part = value(v, f_.operands[static_cast<std::size_t>(a.first + k)], Type::b64);
    if (!part) return {};
    out |= scalar::cut(*part, size) << k * size;
  }
  return out;
}

// mov {a, b}, x
std::vector<std::pair<int, std::uint64_t>> Known::unpacked(const View& v) const {
  std::vector<std::pair<int, std::uint64_t>> out;
  if (v.opcode() != "mov" || v.is_guarded() || v.operand(0).kind != Operand::Kind::vector) return out;
  const Type type = ptx::find_type(v.type()).value_or(Type::b32);
  const auto whole = value(v, v.operand(1), type);
  const Operand& d = v.operand(0);
  if (!whole || ptx::bits(type) > 64 || d.count == 0) return out;
  const int size = ptx::bits(type) / d.count;
  for (int k = 0; k < d.count; ++k) {
    const Operand& part = f_.operands[static_cast<std::size_t>(d.first + k)];
    if (part.kind == Operand::Kind::reg) out.emplace_back(part.index, scalar::cut(*whole >> k * size, size));
  }
  return out;
}

std::optional<std::uint64_t> Known::computed(const View& v) const {
  const bool approximate = is_approximate(v) || is_division(v);
  if ((!approximate && !is_folded(v)) || v.operands() < 2) return {};
  for (int n = 1; n < v.operands(); ++n)
    if (v.is_register(n) && !value(v, v.operand(n), Type::b64)) return {};
  const scalar::Operation operation = scalar::operation(v.opcode(), v.words());
  scalar::Sources sources;
  if (operation.execute == nullptr || v.operands() > 1 + static_cast<int>(sources.value.size())) return {};
  for (int n = 1; n < v.operands(); ++n) {
    const Operand& operand = v.operand(n);
    const Type type = scalar::source_type(operation, n - 1);
    const bool is_predicate = type == Type::pred, of_predicates = operation.type == Type::pred;
    const auto bits = value(v, operand, type);
    if (!bits) return {};
    if (is_predicate && !of_predicates)
      sources.predicate = (*bits != 0) != operand.negated;
    else
      sources.value[static_cast<std::size_t>(sources.count++)] =
          is_predicate ? static_cast<std::uint64_t>((*bits != 0) != operand.negated) : *bits;
  }
  if (is_division(v)) return {};  // becomes a product first
  if (approximate) return rounded(v.opcode(), static_cast<std::uint32_t>(sources[0]), operation.ftz);
  if (v.opcode() == "neg" || v.opcode() == "abs")
    if (const auto out = with_sign(v, sources[0])) return out;
  if (operation.type == Type::pred) {
    const std::uint64_t a = sources[0], b = sources[1];
    return v.opcode() == "and" ? a & b : v.opcode() == "or" ? a | b : v.opcode() == "xor" ? a ^ b : 1 - a;
  }
  const std::uint64_t out = scalar::execute(operation, sources).value;
  // What makes a NaN stays.
  const bool is_arithmetic = v.opcode() == "add" || v.opcode() == "sub" || v.opcode() == "mul";
  if (is_arithmetic && has_word("f32 f64", v.type()) &&
      decode(format(v.type() == "f32" ? FormatId::f32 : FormatId::f64), out).cls == Class::nan)
    return {};
  return ptx::is_signed(operation.to) ? static_cast<std::uint64_t>(scalar::extend(out, ptx::bits(operation.to)))
                                      : out;
}

// Where a source comes from in its block, by way of mov: a statement that writes a register, or -1 and a register.
std::pair<int, int> Known::origin(const View& v, int n) const {
  int reg = v.operand(n).index;
  for (int i = flow_.definition_above(reg, v.i); i >= 0; i = flow_.definition_above(reg, i)) {
    const View definition{f_, i};
    if (definition.opcode() != "mov" || definition.is_guarded() || !definition.is_register(0) ||
        !definition.is_register(1) || definition.operand(1).negated)
      return {i, reg};
    reg = definition.operand(1).index;
  }
  return {-1, reg};
}

// xor p, p; setp x, x; and x, 0.
std::optional<std::uint64_t> Known::of_any(const View& v) const {
  if (v.opcode() == "and" && v.type() != "pred" && (source(v, 1) == 0 || source(v, 2) == 0)) return 0;
  const bool compares = v.opcode() == "setp", differs = v.opcode() == "xor";
  if ((!compares && !differs) || v.words().empty() || v.operands() != 3 || !v.is_register(1) ||
      !v.is_register(2) || origin(v, 1) != origin(v, 2))
    return {};
  if (differs) return v.operand(1).negated != v.operand(2).negated ? 1 : 0;
  if (has_word("lt gt ne lo hi", v.words().front())) return 0;
  const bool is_total = has_word("le ge eq ls hs", v.words().front()) && has_word(kIntegers, v.type());
  if (is_total || has_word("leu geu equ", v.words().front())) return 1;
  return {};
}

std::optional<bool> Known::guard(const View& v) const {
  if (!v.is_guarded()) return {};
  const auto at = sources_.find(v.i);
  if (at == sources_.end()) return {};
  const auto found = at->second.find(v.statement().guard);
  if (found == at->second.end()) return {};
  return (found->second != 0) != v.statement().guard_negated;
}

std::optional<std::uint64_t> Known::source(const View& v, int n) const {
  return value(v, v.operand(n), ptx::find_type(v.type()).value_or(Type::b32));
}
bool Known::is_late(const View& v, int n) const {
  return v.is_register(n) && late_.contains({v.i, v.operand(n).index});
}
std::optional<std::uint64_t> Known::result(const View& v) const {
  const auto found = results_.find(v.i);
  if (found == results_.end()) return {};
  return found->second;
}

}  // namespace warpbit::assembler
