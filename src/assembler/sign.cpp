// SPDX-License-Identifier: Apache-2.0
#include "assembler/sign.hpp"

#include <algorithm>

#include "assembler/flow.hpp"

namespace warpbit::assembler {
namespace {

class Signs {
 public:
  /// Registers from `own` on are those of this rule.
  Signs(Assembled& function, int own)
      : f_(function.function), flow_(flow_of(function)), editor_(function), own_(own) {}

  bool run() {
    for (int i = 0; i < static_cast<int>(f_.statements.size()); ++i) look({f_, i});
    return editor_.apply();
  }

 private:
  static bool is_sign(const View& v) {
    return (v.opcode() == "neg" || v.opcode() == "abs") && v.words().size() == 1 && v.type() == "f32" &&
           v.is_register(0) && v.is_register(1);
  }
  // A choice among numbers, cvt.f64.f32, or a sign that has become one of these.
  bool takes_sign(const View& v) const {
    if (v.opcode() == "selp") return v.type() == "f32";
    if (v.opcode() == "mov") return v.is_guarded() && v.type() == "f32";
    if (v.opcode() == "slct") return v.result_type() == "f32";
    if (v.opcode() == "cvt") return v.words().size() == 2 && v.words()[0] == "f64" && v.type() == "f32";
    return (v.opcode() == "xor" || v.opcode() == "and") && v.is_register(0) && v.operand(0).index >= own_;
  }

  void look(const View& v) {
    if (!is_sign(v)) return;
    if (v.is_guarded()) {
      editor_.replace(v.i, editor_.make(v.i, "mov", {"b32"}, {v.operand(0), bits_of(v)}));
      return editor_.acted(Rule::sign, v.i);
    }
    const int d = v.operand(0).index;
    const Flow::Uses uses = flow_.all_uses(v.i, d);
    std::vector<int> choices = uses.statements;
    std::erase_if(choices, [&](int use) { return !takes_sign({f_, use}); });
    const int merge = merged_by(v.i, d);
    if (choices.empty() && merge < 0) return;
    const auto converts = [&](int use) { return View{f_, use}.opcode() == "cvt"; };
    if (std::ranges::any_of(choices, converts)) {
      const Operand x = register_operand(editor_.temporary(ptx::Type::f32));
      editor_.insert_before(v.i, editor_.make(v.i, "mov", {"f32"}, {x, v.operand(1)}));
      for (const int use : choices)
        if (converts(use)) convert({f_, use}, v.opcode(), x);
      std::erase_if(choices, converts);
    }
    if (!choices.empty() || merge >= 0) {
      const Operand bits = bits_of(v);
      for (const int use : choices) choose(View{f_, use}, d, bits);
      if (merge >= 0) keep(View{f_, merge}, d, bits);
    }
    editor_.acted(Rule::sign, v.i);
    editor_.drop(v.i);
  }

  // The computation of f32 with a guard that writes the register next, in the same block: where the guard is false, the
  // value stays, and is chosen. -1: there is none.
  int merged_by(int i, int reg) const {
    for (int k = i + 1; k < static_cast<int>(f_.statements.size()) && flow_.block(k) == flow_.block(i); ++k) {
      bool writes = false;
      for_each_access(
          f_, k, [](int) {}, [&](int one) { writes = writes || one == reg; });
      if (writes) return flow_.is_needed(k) && is_merged({f_, k}) ? k : -1;
    }
    return -1;
  }
  static bool is_merged(const View& v) {
    if (!v.is_guarded() || becomes_branches(v) || v.words().empty()) return false;
    if (v.opcode() == "cvt" || v.opcode() == "slct") return v.result_type() == "f32";
    return v.type() == "f32" && v.opcode() != "set" && v.opcode() != "copysign";
  }
  void keep(const View& v, int reg, const Operand& bits) {
    ptx::Statement made = editor_.make(v.i, "mov", {"b32"}, {register_operand(reg), bits});
    made.guard = -1;
    editor_.insert_before(v.i, std::move(made));
  }

  // In a register of their own, before the statement.
  Operand bits_of(const View& v) {
    const Operand out = register_operand(editor_.temporary(ptx::Type::b32));
    const bool negates = v.opcode() == "neg";
    ptx::Statement made =
        editor_.make(v.i, negates ? "xor" : "and", {"b32"},
                     {out, v.operand(1), literal_operand(negates ? 0x8000'0000 : 0x7FFF'FFFF, ptx::Type::b32)});
    made.guard = -1;
    editor_.insert_before(v.i, std::move(made));
    return out;
  }

  // cvt.f64.f32 gives no sign to a NaN, and takes none, as neg and abs of f64.
  void convert(const View& v, std::string_view by, const Operand& x) {
    const Operand wide = register_operand(editor_.temporary(ptx::Type::f64));
    editor_.insert_before(v.i, editor_.make(v.i, "cvt", {"f64", "f32"}, {wide, x}));
    editor_.replace(v.i, editor_.make(v.i, by, {"f64"}, {v.operand(0), wide}));
  }

  // The choice takes these bits in the place of a register.
  void choose(const View& v, int reg, const Operand& bits) {
    std::vector<Operand> operands;
    for (int n = 0; n < v.operands(); ++n)
      operands.push_back(n > 0 && v.is_register(n) && v.operand(n).index == reg ? bits : v.operand(n));
    const std::vector<std::string_view> words(v.words().begin(), v.words().end());
    editor_.replace(v.i, editor_.make(v.i, v.opcode(), words, operands));
  }

  FunctionText& f_;
  const Flow& flow_;
  Editor editor_;
  int own_;
};

}  // namespace

// Of neg of abs x the neg becomes a sign first, then abs.
void sign(Assembled& function) {
  const int own = static_cast<int>(function.function.registers.size());
  while (Signs(function, own).run()) {
  }
}

}  // namespace warpbit::assembler
