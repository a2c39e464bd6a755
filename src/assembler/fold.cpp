// SPDX-License-Identifier: Apache-2.0
#include "assembler/fold.hpp"

#include <algorithm>
#include <optional>

#include "assembler/contract.hpp"
#include "assembler/known.hpp"
#include "assembler/rounded.hpp"
#include "scalar/floating.hpp"

namespace warpbit::assembler {
namespace {

using ptx::Type;

constexpr std::uint32_t kMagnitude = 0x7FFF'FFFF;
constexpr std::uint64_t kOne64 = std::uint64_t{1023} << 52, kSign64 = std::uint64_t{1} << 63;

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
    if (v.opcode() == "selp") return choose(v);
    const bool multiplies = v.opcode() == "mul",
               is_half = v.type() == "f16" || v.type() == "f16x2" || v.type() == "bf16" || v.type() == "bf16x2";
    if (multiplies && is_half) return multiply(v);
    const auto result = known_.result(v);
    const bool divides = v.opcode() == "div" || v.opcode() == "rem";
    if (result && divides && v.type() == "s32" && rules_.has(Rule::fold)) return become(v, *result);
    if (v.type() != "f32" && v.type() != "f64") return;
    if (is_checked(v) && v.is_register(1) && rules_.has(Rule::fold)) {
      const auto source = known_.source(v, 1);
      if (source) return check(v, *source);
    }
    if (result && rules_.has(Rule::fold)) {
      const bool approximate = v.has("approx");
      if (approximate) editor_.acted(Rule::fold, v.i);
      if (approximate || multiplies || v.opcode() == "add" || v.opcode() == "sub") become(v, *result);
    } else if (is_division(v) && rules_.has(Rule::divide)) {
      // div.full.ftz becomes a product early or not at all.
      const bool is_late = v.has("full") && v.has("ftz") && known_.is_late(v, 2);
      if (const auto c = known_.source(v, 2); c && !is_late) divide(v, static_cast<std::uint32_t>(*c));
    } else if (multiplies) {
      multiply(v);
    }
  }

  // selp d, a, a, p, and selp by a predicate that is known.
  void choose(const View& v) {
    const bool same = v.is_register(1) && v.is_register(2) && v.operand(1).index == v.operand(2).index;
    const auto first = known_.source(v, 3);
    if (same ? !rules_.has(Rule::identity) : !first || !rules_.has(Rule::fold)) return;
    editor_.acted(same ? Rule::identity : Rule::fold, v.i);
    const Operand& taken = v.operand(same || (*first != 0) != v.operand(3).negated ? 1 : 2);
    editor_.replace(v.i, editor_.make(v.i, "mov", {v.type()}, {v.operand(0), taken}));
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
      const bool f32 = v.type() == "f32", f64 = v.type() == "f64";
      const bool one = (f32 && *factor == 0x3F80'0000) || (f64 && *factor == kOne64),
                 minus_one = (f32 && *factor == 0xBF80'0000) || (f64 && *factor == (kOne64 | kSign64));
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

// ---- Pairs

class Pairs {
 public:
  Pairs(Assembled& function, Rules rules)
      : f_(function.function), rules_(rules), flow_(flow_of(function)), editor_(function) {}

  // Who uses a value is known of the function as it was: behind a pair that was changed, pairs below it alone.
  bool run() {
    const int count = static_cast<int>(f_.statements.size());
    for (int i = 0; i < count; i = std::max(i + 1, behind_)) {
      look({f_, i});
      if (changed_ > 0) behind_ = std::max(i + 1, changed_);
    }
    return editor_.apply();
  }

 private:
  static bool is(const View& v, std::string_view opcode) {
    return v.opcode() == opcode && v.type() == "f32" && !v.is_guarded() && v.is_register(0);
  }
  static bool is_flushing(const View& v, std::string_view opcode) {
    return is(v, opcode) && v.has("approx") && v.has("ftz") && !v.has("scaled");
  }

  void look(const View& inner) {
    if (rules_.has(Rule::identity)) {
      if (inner.opcode() == "neg" && inner.words().size() == 1) return negate(inner);
      if (inner.opcode() == "mul" && inner.words().size() == 1) return halve(inner);
    }
    if (!rules_.has(Rule::pair)) return;
    if (is_flushing(inner, "rcp")) return invert(inner);
    if (is_flushing(inner, "ex2")) raise(inner);
  }
  bool takes(const View& outer, int n, const View& inner) const {
    return outer.is_register(n) && outer.operand(n).index == inner.operand(0).index;
  }

  // neg of neg x.
  void negate(const View& inner) {
    if (inner.is_guarded() || !inner.is_register(0) || (inner.type() != "f32" && inner.type() != "f64")) return;
    replace_uses(inner, [&](const View& outer) {
      return outer.opcode() == "neg" && outer.words().size() == 1 && outer.type() == inner.type();
    });
  }
  // x 2 - x, if all that uses the product is sums.
  void halve(const View& inner) {
    const auto factor = inner.literal(2);
    const bool f64 = inner.type() == "f64";
    if (inner.is_guarded() || !inner.is_register(0) || !inner.is_register(1) ||
        (!f64 && inner.type() != "f32") || factor != (f64 ? std::uint64_t{1024} << 52 : 0x4000'0000))
      return;
    const Flow::Uses uses = flow_.uses(inner.i, inner.operand(0).index);
    const auto is_sum = [&](int use) {
      const View v{f_, use};
      return (v.opcode() == "add" || v.opcode() == "sub") && !v.rounds() && v.type() == inner.type();
    };
    if (uses.elsewhere || !std::ranges::all_of(uses.statements, is_sum)) return;
    const int x = inner.operand(1).index;
    replace_uses(inner, [&](const View& outer) {
      return outer.opcode() == "sub" && outer.words().size() == 1 && outer.is_register(2) &&
             outer.operand(2).index == x && flow_.keeps(x, inner.i, outer.i);
    });
  }
  // Statements that use the result of one as their first source, and which that source is the result of.
  template <class Fits>
  void replace_uses(const View& inner, Fits fits) {
    std::optional<Operand> x;
    for (const int use : flow_.all_uses(inner.i, inner.operand(0).index).statements) {
      const View outer{f_, use};
      if (use < behind_ || outer.is_guarded() || !outer.is_register(0) || !takes(outer, 1, inner) ||
          !fits(outer))
        continue;
      if (!x) {
        x = register_operand(editor_.temporary(*ptx::find_type(inner.type())));
        editor_.insert_before(inner.i, editor_.make(inner.i, "mov", {inner.type()}, {*x, inner.operand(1)}));
      }
      editor_.acted(Rule::identity, outer.i);
      become(outer, "mov", {inner.type()}, *x);
    }
  }
  // rcp of rcp x and div by rcp x, whoever else uses it.
  void invert(const View& inner) {
    std::optional<Operand> x;
    for (const int use : flow_.all_uses(inner.i, inner.operand(0).index).statements) {
      const View outer{f_, use};
      const bool inverts = is_flushing(outer, "rcp"),
                 divides = is_flushing(outer, "div") && takes(outer, 2, inner);
      if (use < behind_ || (!inverts && !divides)) continue;
      if (!x) {
        x = register_operand(editor_.temporary(ptx::Type::f32));
        editor_.insert_before(inner.i, editor_.make(inner.i, "mov", {"f32"}, {*x, inner.operand(1)}));
      }
      inverts ? become_move(outer, Rule::pair, *x) : multiply(outer, *x);
    }
  }
  // rcp of ex2 x and div by ex2 x, if nothing else uses it.
  void raise(const View& inner) {
    const int use = flow_.only_use(inner.i, inner.operand(0).index);
    if (use < behind_) return;
    const View outer{f_, use};
    const bool inverts = is_flushing(outer, "rcp");
    if (!inverts && !(is_flushing(outer, "div") && takes(outer, 2, inner) && !takes(outer, 1, inner))) return;
    const Operand negative = register_operand(editor_.temporary(ptx::Type::f32));
    editor_.insert_before(inner.i, editor_.make(inner.i, "neg", {"f32"}, {negative, inner.operand(1)}));
    become(inner, "ex2", {"approx", "ftz", "f32"}, negative);
    inverts ? become_move(outer, Rule::pair, outer.operand(1)) : multiply(outer, outer.operand(2));
  }

  void become(const View& v, std::string_view opcode, std::vector<std::string_view> words,
              const Operand& source) {
    replace(v, opcode, std::move(words), {v.operand(0), source});
  }
  void replace(const View& v, std::string_view opcode, std::vector<std::string_view> words,
               const std::vector<Operand>& operands) {
    editor_.replace(v.i, editor_.make(v.i, opcode, std::move(words), operands));
    changed_ = std::max(changed_, v.i + 1);
  }
  void become_move(const View& outer, Rule rule, const Operand& source) {
    editor_.acted(rule, outer.i);
    become(outer, "mov", {"f32"}, source);
  }
  // A quotient becomes a product.
  void multiply(const View& quotient, const Operand& factor) {
    editor_.acted(Rule::pair, quotient.i);
    replace(quotient, "mul", {"ftz", "f32"}, {quotient.operand(0), quotient.operand(1), factor});
  }

  FunctionText& f_;
  Rules rules_;
  const Flow& flow_;
  Editor editor_;
  int changed_ = 0;  // behind the last statement that was changed
  int behind_ = 0;   // where the function is as it was
};

}  // namespace

void fold(Assembled& function, Rules rules) {
  while (Folder(function, rules).run()) {
  }
}

void pair(Assembled& function, Rules rules) {
  while (Pairs(function, rules).run()) {
  }
}

}  // namespace warpbit::assembler
