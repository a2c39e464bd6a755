// SPDX-License-Identifier: Apache-2.0
#include "assembler/pair.hpp"

#include <algorithm>
#include <optional>

#include "assembler/flow.hpp"

namespace warpbit::assembler {
namespace {

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
    if (inner.is_guarded() || !inner.is_register(0) || !has_word("f32 f64 f16 f16x2 bf16", inner.type()))
      return;
    replace_uses(inner, 1, "mov", [&](const View& outer) {
      return outer.opcode() == "neg" && outer.words().size() == 1 && outer.type() == inner.type();
    });
  }
  // x 2 - x and x - x 2, if all that uses the product is sums.
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
    const auto is_x = [&](const View& outer, int n) {
      return outer.opcode() == "sub" && outer.words().size() == inner.words().size() && outer.is_register(n) &&
             outer.operand(n).index == x && flow_.keeps(x, inner.i, outer.i);
    };
    replace_uses(inner, 1, "mov", [&](const View& outer) { return is_x(outer, 2); });
    replace_uses(inner, 2, "neg", [&](const View& outer) { return is_x(outer, 1); });
  }
  // Statements that use the result of one as one of their sources, and which the first source of that one is the result of,
  // or its opposite.
  template <class Fits>
  void replace_uses(const View& inner, int n, std::string_view by, Fits fits) {
    std::optional<Operand> x;
    for (const int use : flow_.all_uses(inner.i, inner.operand(0).index).statements) {
      const View outer{f_, use};
      if (use < behind_ || outer.is_guarded() || !outer.is_register(0) || !takes(outer, n, inner) ||
          !fits(outer))
        continue;
      if (!x) {
        x = register_operand(editor_.temporary(*ptx::find_type(inner.type())));
        editor_.insert_before(inner.i, editor_.make(inner.i, "mov", {inner.type()}, {*x, inner.operand(1)}));
      }
      editor_.acted(Rule::identity, outer.i);
      become(outer, by, {inner.type()}, *x);
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

void pair(Assembled& function, Rules rules) {
  while (Pairs(function, rules).run()) {
  }
}

}  // namespace warpbit::assembler
