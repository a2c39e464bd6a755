// SPDX-License-Identifier: Apache-2.0
#include "assembler/fold.hpp"

#include "assembler/contract.hpp"
#include "assembler/known.hpp"
#include "assembler/rounded.hpp"
#include "scalar/floating.hpp"

namespace warpbit::assembler {
namespace {

using ptx::Type;

constexpr std::uint32_t kMagnitude = 0x7FFF'FFFF;

/// By which the dividend and the divisor c of div.full or div.approx are multiplied.
struct PowerOfTwo {
  std::uint32_t factor;  ///< the code of 2^exponent
  int exponent;
};
PowerOfTwo scaling_of(const View& v, std::uint32_t c) {
  const bool huge = v.has("full") && (c & kMagnitude) > 0x7E80'0000, tiny = !v.has("ftz") && (c & kMagnitude) < 0x0080'0000;
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
      : f_(function.function), rules_(rules), flow_(f_), known_(f_, flow_), editor_(function) {}

  bool run() {
    const int count = static_cast<int>(f_.statements.size());
    for (int i = 0; i < count; ++i) look({f_, i});
    return editor_.apply();
  }

 private:
  void look(const View& v) {
    if (!v.is_register(0) || (v.type() != "f32" && v.type() != "f64")) return;
    if (selects_same(v)) return select(v);
    const bool multiplies = v.opcode() == "mul";
    const auto result = known_.result(v);
    if (result && rules_.has(Rule::fold)) {
      const bool approximate = v.has("approx");
      if (approximate) editor_.acted(Rule::fold, v.i);
      if (approximate || multiplies || v.opcode() == "add" || v.opcode() == "sub") become(v, *result);
    } else if (is_quotient(v) && rules_.has(Rule::divide)) {
      if (const auto c = known_.source(v, 2)) divide(v, static_cast<std::uint32_t>(*c));
    } else if (multiplies && v.type() == "f32") {
      multiply(v);
    }
  }

  // selp d, a, a, p
  static bool selects_same(const View& v) {
    return v.opcode() == "selp" && v.is_register(1) && v.is_register(2) &&
           v.operand(1).index == v.operand(2).index;
  }
  void select(const View& v) {
    if (!rules_.has(Rule::identity)) return;
    editor_.acted(Rule::identity, v.i);
    editor_.replace(v.i, editor_.make(v.i, "mov", {v.type()}, {v.operand(0), v.operand(1)}));
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
      editor_.insert_before(v.i, editor_.make(v.i, "mul", words, {scaled, x, literal_operand(by.factor, Type::f32)}));
      x = scaled;
    }
    editor_.acted(Rule::divide, v.i);
    editor_.replace(v.i,
                    editor_.make(v.i, "mul", words, {v.operand(0), x, literal_operand(*reciprocal, Type::f32)}));
  }

  // A known factor is the second one, and a literal; by 1 or -1 it is no product.
  void multiply(const View& v) {
    for (const int n : {2, 1}) {
      const auto factor = known_.source(v, n);
      if (!factor) continue;
      const bool one = *factor == 0x3F80'0000, minus_one = *factor == 0xBF80'0000;
      const Operand d = v.operand(0), other = v.operand(3 - n);
      if ((one || minus_one) && v.words().size() == 1 && rules_.has(Rule::identity)) {
        editor_.acted(Rule::identity, v.i);
        editor_.replace(v.i, editor_.make(v.i, one ? "mov" : "neg", {"f32"}, {d, other}));
      } else if (n == 1 || v.is_register(n)) {
        const std::vector<std::string_view> words(v.words().begin(), v.words().end());
        if (other.kind == Operand::Kind::literal) return;
        editor_.replace(v.i, editor_.make(v.i, "mul", words, {d, other, literal_operand(*factor, Type::f32)}));
      }
      return;
    }
  }

  FunctionText& f_;
  Rules rules_;
  Flow flow_;
  Known known_;
  Editor editor_;
};

// ---- Pairs

class Pairs {
 public:
  Pairs(Assembled& function, Rules rules)
      : f_(function.function), rules_(rules), flow_(f_), editor_(function) {}

  bool run() {
    const int count = static_cast<int>(f_.statements.size());
    bool found = false;
    for (int i = 0; i < count && !found; ++i) found = look({f_, i});
    return editor_.apply();
  }

 private:
  static bool is(const View& v, std::string_view opcode) {
    return v.opcode() == opcode && v.type() == "f32" && !v.is_guarded() && v.is_register(0);
  }
  static bool is_flushing(const View& v, std::string_view opcode) {
    return is(v, opcode) && v.has("approx") && v.has("ftz") && !v.has("scaled");
  }

  bool look(const View& inner) {
    const bool reciprocal = is_flushing(inner, "rcp"), power = is_flushing(inner, "ex2"),
               negation = is(inner, "neg") && !inner.has("ftz");
    if (!reciprocal && !power && !negation) return false;
    const int use = flow_.only_use(inner.i, inner.operand(0).index);
    if (use < 0) return false;
    const View outer{f_, use};
    const auto takes = [&](int n) { return outer.is_register(n) && outer.operand(n).index == inner.operand(0).index; };
    if (negation) {
      if (!is(outer, "neg") || outer.has("ftz") || !takes(1) || !rules_.has(Rule::identity)) return false;
      become(inner, "mov", {"f32"}, inner.operand(1));
      return becomes_move(outer, Rule::identity);
    }
    const bool inverts = is_flushing(outer, "rcp") && takes(1), divides = is_flushing(outer, "div") && takes(2);
    if ((!inverts && !divides) || !rules_.has(Rule::pair)) return false;
    if (divides && takes(1)) return false;
    if (power) {
      const Operand negative = register_operand(editor_.temporary(ptx::Type::f32));
      editor_.insert_before(inner.i, editor_.make(inner.i, "neg", {"f32"}, {negative, inner.operand(1)}));
      become(inner, "ex2", {"approx", "ftz", "f32"}, negative);
    } else {
      become(inner, "mov", {"f32"}, inner.operand(1));
    }
    if (inverts) return becomes_move(outer, Rule::pair);
    editor_.acted(Rule::pair, outer.i);
    editor_.replace(outer.i, editor_.make(outer.i, "mul", {"ftz", "f32"},
                                          {outer.operand(0), outer.operand(1), outer.operand(2)}));
    return true;
  }

  void become(const View& v, std::string_view opcode, std::vector<std::string_view> words, const Operand& source) {
    editor_.replace(v.i, editor_.make(v.i, opcode, std::move(words), {v.operand(0), source}));
  }
  bool becomes_move(const View& outer, Rule rule) {
    editor_.acted(rule, outer.i);
    become(outer, "mov", {"f32"}, outer.operand(1));
    return true;
  }

  FunctionText& f_;
  Rules rules_;
  Flow flow_;
  Editor editor_;
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
