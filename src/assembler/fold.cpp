// SPDX-License-Identifier: Apache-2.0
#include "assembler/fold.hpp"

#include <algorithm>
#include <optional>

#include "assembler/contract.hpp"
#include "assembler/known.hpp"
#include "assembler/rounded.hpp"
#include "scalar/floating.hpp"
#include "scalar/operation.hpp"

namespace warpbit::assembler {
namespace {

using ptx::Type;

constexpr std::uint32_t kMagnitude = 0x7FFF'FFFF;
constexpr std::uint64_t kSign64 = std::uint64_t{1} << 63;

/// The codes of 1 and of -0.
struct Unit {
  std::string_view type;
  std::uint64_t one, sign;
};
constexpr Unit kUnits[] = {{"f32", 0x3F80'0000, 0x8000'0000},
                           {"f64", std::uint64_t{1023} << 52, kSign64},
                           {"f16", 0x3C00, 0x8000},
                           {"bf16", 0x3F80, 0x8000}};
const Unit* unit_of(std::string_view type) {
  const auto* const found = std::ranges::find(kUnits, type, &Unit::type);
  return found == std::end(kUnits) ? nullptr : found;
}

bool is_nan64(std::uint64_t bits) {
  return (bits & ~kSign64) > std::uint64_t{0x7FF} << 52;
}
/// cvt.f32.f32 and cvt.f64.f64 without other words: at -O0 a sum with -0.
bool is_plain_cvt(const View& v) {
  return v.opcode() == "cvt" && v.words().size() == 2 && v.words()[0] == v.type() &&
         (v.type() == "f32" || v.type() == "f64");
}

/// Instructions of two sources that leave the bits of the first one, if the second one is: the same register, 0, all ones.
struct Copy {
  std::string_view opcode, types;
  enum { twice, zero, ones } second = twice;
};
constexpr std::string_view kBare = "b16 b32 b64", kShifted = "b16 b32 b64 u16 s16 u32 s32 u64 s64";
constexpr Copy kCopies[] = {
    {"min", "f32 f64 f16"},
    {"max", "f32 f64 f16"},
    {"and", kBare},
    {"or", kBare},
    {"and", kBare, Copy::ones},
    {"or", kBare, Copy::zero},
    {"xor", kBare, Copy::zero},
    {"shl", kShifted, Copy::zero},
    {"shr", kShifted, Copy::zero},
};

/// By which the dividend and the divisor c of div.full or div.approx are multiplied.
struct PowerOfTwo {
  std::uint32_t factor;  ///< the code of 2^exponent
  int exponent;
};
PowerOfTwo scaling_of(const View& v, std::uint32_t c) {
  const bool huge = v.has("full") && (c & kMagnitude) > 0x7E80'0000,
             tiny = !v.has("ftz") && (c & kMagnitude) < 0x0080'0000;
  return huge ? PowerOfTwo{0x3E80'0000, -2} : tiny ? PowerOfTwo{0x4B80'0000, 24} : PowerOfTwo{0x3F80'0000, 0};
}

std::uint32_t times_power(std::uint32_t code, PowerOfTwo by) {
  const Format& f = format(FormatId::f32);
  Value value = value_of(decode(f, code), f);
  value.number.exponent += by.exponent;
  return static_cast<std::uint32_t>(round(f, value, Rounding::nearest_even));
}

class Folder {
 public:
  Folder(Assembled& function, Rules rules)
      : f_(function.function), rules_(rules), flow_(flow_of(function)), known_(f_, flow_), editor_(function) {}

  bool run() {
    const int count = static_cast<int>(f_.statements.size());
    for (int i = 0; i < count; ++i) look({f_, i});
    return editor_.apply();
  }

 private:
  void look(const View& v) {
    const auto guard = known_.guard(v);
    if (guard && rules_.has(Rule::fold) && v.opcode() != "bra") {
      editor_.acted(Rule::fold, v.i);
      return *guard ? editor_.unguard(v.i) : editor_.remove(v.i);
    }
    if (!v.is_register(0)) return;
    if (v.opcode() == "selp" || v.opcode() == "slct") return choose(v);
    if (is_copy(v) && rules_.has(Rule::identity)) return copy(v, v.operand(1));
    if (rules_.has(Rule::clamp) && clamp(v)) return;
    const bool multiplies = v.opcode() == "mul",
               is_half = v.type() == "f16" || v.type() == "f16x2" || v.type() == "bf16" || v.type() == "bf16x2";
    if (multiplies && is_half) return multiply(v);
    const auto result = known_.result(v);
    const bool divides = v.opcode() == "div" || v.opcode() == "rem";
    if (result && divides && v.type() == "s32" && rules_.has(Rule::fold)) return become(v, *result);
    const bool is_sign = v.opcode() == "neg" || v.opcode() == "abs";
    if (v.type() != "f32" && v.type() != "f64" && !(is_sign && v.type() == "f16x2")) return;
    if (is_checked(v) && v.is_register(1) && rules_.has(Rule::fold)) {
      const auto source = known_.source(v, 1);
      if (source) return check(v, *source);
    }
    if (result && rules_.has(Rule::fold)) {
      const bool approximate = v.has("approx");
      if (approximate) editor_.acted(Rule::fold, v.i);
      if (approximate || multiplies || is_sign || v.opcode() == "add" || v.opcode() == "sub")
        become(v, *result);
    } else if (is_division(v) && rules_.has(Rule::divide)) {
      // div.full.ftz becomes a product early or not at all.
      const bool is_late = v.has("full") && v.has("ftz") && known_.is_late(v, 2);
      if (const auto c = known_.source(v, 2); c && !is_late) divide(v, static_cast<std::uint32_t>(*c));
    } else if (multiplies) {
      multiply(v);
    }
  }

  // What leaves the bits of its first source.
  bool is_copy(const View& v) const {
    if (v.opcode() == "cvt") return is_plain_cvt(v);
    const auto fits = [&](const Copy& row) {
      if (row.opcode != v.opcode() || v.words().size() != 1 || !has_word(row.types, v.type())) return false;
      if (row.second == Copy::twice) return v.is_twice();
      const auto second = known_.source(v, 2);
      const int bits = row.opcode.starts_with("sh") ? 32 : ptx::bits(*ptx::find_type(v.type()));
      return second && scalar::cut(row.second == Copy::zero ? *second : ~*second, bits) == 0;
    };
    return v.is_register(1) && std::ranges::any_of(kCopies, fits);
  }
  void copy(const View& v, const Operand& from) {
    editor_.acted(Rule::identity, v.i);
    editor_.replace(v.i, editor_.make(v.i, "mov", {v.type()}, {v.operand(0), from}));
  }

  // selp and slct of twice the same, and by what is known. (A literal of slct.s32.s32 is compared as f32: a defect.)
  void choose(const View& v) {
    const bool by_sign = v.opcode() == "slct", same = v.is_twice();
    const auto third = same ? std::nullopt : known_.source(v, 3);
    if (same ? !rules_.has(Rule::identity) : !third || !rules_.has(Rule::fold)) return;
    const bool is_first = same || (by_sign ? is_no_negative(v, *third) : (*third != 0) != v.operand(3).negated);
    editor_.acted(same ? Rule::identity : Rule::fold, v.i);
    const std::string_view type = by_sign ? v.result_type() : v.type();
    editor_.replace(v.i, editor_.make(v.i, "mov", {type}, {v.operand(0), v.operand(is_first ? 1 : 2)}));
  }
  // Of slct: -0 is none, a NaN is one.
  static bool is_no_negative(const View& v, std::uint64_t x) {
    const auto bits = static_cast<std::uint32_t>(x);
    if (v.type() == "s32") return bits <= kMagnitude;
    const bool is_zero = (bits & kMagnitude) == 0 || (v.has("ftz") && (bits & kMagnitude) < 0x0080'0000);
    return is_zero || bits <= 0x7F80'0000;
  }

  // The source of max by 0 or of min by 1, if a statement is one of them.
  const Operand* clamped(const View& v, std::string_view opcode) const {
    const Unit* const unit = unit_of(v.type());
    if (v.opcode() != opcode || unit == nullptr || unit->type == "bf16" || !v.is_register(0) ||
        v.words().size() != (v.has("ftz") ? 2 : 1))
      return nullptr;
    for (const int n : {2, 1}) {
      const auto bound = known_.source(v, n);
      if (bound && v.is_register(3 - n) &&
          (opcode == "min" ? *bound == unit->one : (*bound & ~unit->sign) == 0))
        return &v.operand(3 - n);
    }
    return nullptr;
  }
  // max by 0 and min by 1, one after the other, are .sat of the source. Of f64 they are max by +0, then min.
  bool clamp(const View& v) {
    const bool ends_low = v.opcode() == "max";
    const Operand* const between = clamped(v, ends_low ? "max" : "min");
    if (between == nullptr) return false;
    const View inner{f_, flow_.definition(between->index, v.i)};
    if (inner.i < 0 || inner.is_guarded() || inner.type() != v.type() || (inner.has("ftz") && !v.has("ftz")))
      return false;
    const Operand* const from = clamped(inner, ends_low ? "min" : "max");
    const bool is_double = v.type() == "f64";
    if (from == nullptr || (is_double && !ends_low && inner.literal(2) == 0)) return false;
    const ptx::Type type = *ptx::find_type(v.type());
    const Operand x = register_operand(editor_.temporary(type));
    editor_.insert_before(inner.i, editor_.make(inner.i, "mov", {v.type()}, {x, *from}));
    editor_.acted(Rule::clamp, v.i);
    if (is_double) {
      const Operand high = register_operand(editor_.temporary(type));
      editor_.insert_before(v.i, editor_.make(v.i, "max", {"f64"}, {high, x, literal_operand(0, type)}));
      editor_.replace(v.i, editor_.make(v.i, "min", {"f64"},
                                        {v.operand(0), high, literal_operand(unit_of("f64")->one, type)}));
      return true;
    }
    std::vector<std::string_view> words = {"sat", v.type(), v.type()};
    if (v.has("ftz")) words.insert(words.begin(), "ftz");
    editor_.replace(v.i, editor_.make(v.i, "cvt", std::move(words), {v.operand(0), x}));
    return true;
  }

  // A known source of a function with a check is a literal.
  void check(const View& v, std::uint64_t bits) {
    const std::vector<std::string_view> words(v.words().begin(), v.words().end());
    editor_.replace(v.i, editor_.make(v.i, v.opcode(), words,
                                      {v.operand(0), literal_operand(bits, *ptx::find_type(v.type()))}));
  }
  void become(const View& v, std::uint64_t bits) {
    const Type type = *ptx::find_type(v.type());
    editor_.replace(v.i, editor_.make(v.i, "mov", {v.type()}, {v.operand(0), literal_operand(bits, type)}));
  }

  void divide(const View& v, std::uint32_t c) {
    const PowerOfTwo by = scaling_of(v, c);
    const auto reciprocal = rounded("rcp", times_power(c, by), true);
    if (!reciprocal) return;
    std::vector<std::string_view> words = {"f32"};
    if (v.has("ftz")) words = {"ftz", "f32"};
    Operand x = v.operand(1);
    if (by.exponent != 0) {
      const Operand scaled = register_operand(editor_.temporary(Type::f32));
      editor_.insert_before(
          v.i, editor_.make(v.i, "mul", words, {scaled, x, literal_operand(by.factor, Type::f32)}));
      x = scaled;
    }
    editor_.acted(Rule::divide, v.i);
    editor_.replace(
        v.i, editor_.make(v.i, "mul", words, {v.operand(0), x, literal_operand(*reciprocal, Type::f32)}));
  }

  // A known factor is the second one, and a literal; by 1 or -1 it is no product.
  void multiply(const View& v) {
    for (const int n : {2, 1}) {
      const auto factor = known_.source(v, n);
      if (!factor) continue;
      const Unit* const unit = unit_of(v.type());
      const bool one = unit != nullptr && *factor == unit->one,
                 minus_one = unit != nullptr && *factor == (unit->one | unit->sign);
      const Operand d = v.operand(0), other = v.operand(3 - n);
      if ((one || minus_one) && v.words().size() == 1 && rules_.has(Rule::identity)) {
        editor_.acted(Rule::identity, v.i);
        editor_.replace(v.i, editor_.make(v.i, one ? "mov" : "neg", {v.type()}, {d, other}));
      } else if (n == 1 || v.is_register(n)) {
        const std::vector<std::string_view> words(v.words().begin(), v.words().end());
        if (other.kind == Operand::Kind::literal) return;
        editor_.replace(v.i, editor_.make(v.i, "mul", words,
                                          {d, other, literal_operand(*factor, *ptx::find_type(v.type()))}));
      }
      return;
    }
  }

  FunctionText& f_;
  Rules rules_;
  const Flow& flow_;
  Known known_;
  Editor editor_;
};

}  // namespace

void read(Assembled& function, Rules rules) {
  const FunctionText& f = function.function;
  Editor editor(function);
  for (int i = 0; i < static_cast<int>(f.statements.size()); ++i) {
    const View v{f, i};
    const bool is_sign = v.opcode() == "neg" || v.opcode() == "abs",
               subtracts = v.opcode() == "sub" && v.type() == "f64";
    if (is_sign && v.literal(1)) {
      if (const auto bits = with_sign(v, *v.literal(1)))
        editor.replace(i, editor.make(i, "mov", {v.type()},
                                      {v.operand(0), literal_operand(*bits, *ptx::find_type(v.type()))}));
    } else if (const auto nan = subtracts ? v.literal(2) : std::nullopt; nan && is_nan64(*nan)) {
      const std::vector<std::string_view> words(v.words().begin(), v.words().end());
      editor.replace(i, editor.make(i, "add", words,
                                    {v.operand(0), v.operand(1), literal_operand(*nan ^ kSign64, Type::f64)}));
    } else if (!rules.has(Rule::identity) && is_plain_cvt(v)) {
      const std::uint64_t zero = unit_of(v.type())->sign;
      editor.replace(
          i, editor.make(i, "add", {v.type()},
                         {v.operand(0), v.operand(1), literal_operand(zero, *ptx::find_type(v.type()))}));
    }
  }
  editor.apply();
}

void fold(Assembled& function, Rules rules) {
  while (Folder(function, rules).run()) {
  }
}

}  // namespace warpbit::assembler
