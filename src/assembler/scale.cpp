// SPDX-License-Identifier: Apache-2.0
#include "assembler/scale.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "assembler/contract.hpp"
#include "assembler/flow.hpp"

namespace warpbit::assembler {
namespace {

// 2, 4, 8, 1/2, 1/4, 1/8: what an FMUL of the machine has a modifier for.
constexpr std::array<std::uint64_t, 6> kPowers = {0x4000'0000, 0x4080'0000, 0x4100'0000,
                                                  0x3F00'0000, 0x3E80'0000, 0x3E00'0000};

bool is_product(const View& v) {
  return v.opcode() == "mul" && v.type() == "f32" && !v.has("rz") && !v.has("rm") && !v.has("rp") &&
         !v.has("scaled");
}

/// By which operand a product is one by a power of two; 0: it is none.
int scaling(const View& v) {
  if (!is_product(v)) return 0;
  for (int n = 1; n <= 2; ++n)
    if (const auto bits = v.literal(n);
        bits && std::ranges::find(kPowers, *bits) != kPowers.end() && v.is_register(3 - n))
      return n;
  return 0;
}

class Scaling {
 public:
  Scaling(Assembled& function, Rules rules)
      : f_(function.function), rules_(rules), flow_(flow_of(function)), editor_(function) {}

  void run() {
    const int count = static_cast<int>(f_.statements.size());
    for (int i = 0; i < count; ++i)
      if (can_be_scaled({f_, i})) scale({f_, i});
    editor_.apply();
  }

 private:
  bool can_be_scaled(const View& v) const {
    if (v.is_guarded() || !v.is_register(0) || scaled_.contains(v.i)) return false;
    if (is_quotient(v)) return rules_.has(Rule::quotient);
    return is_product(v) && !v.has("rn") && !v.has("sat");
  }

  void scale(const View& inner) {
    const int use = flow_.only_use(inner.i, inner.operand(0).index);
    if (use < 0 || scaled_.contains(use)) return;
    const View outer{f_, use};
    const int by = scaling(outer);
    if (by == 0 || outer.operand(3 - by).index != inner.operand(0).index) return;
    const std::array<Operand, 2> factors = is_quotient(inner)
                                               ? quotient_factors(editor_, inner)
                                               : std::array{saved(inner, 1, use), saved(inner, 2, use)};
    std::vector<std::string_view> words = {"scaled"};
    words.insert(words.end(), outer.words().begin(), outer.words().end());
    editor_.replace(use, editor_.make(use, "mul", std::move(words),
                                      {outer.operand(0), factors[0], factors[1], outer.operand(by)}));
    editor_.drop(inner.i);
    editor_.acted(Rule::scale, use);
    scaled_.insert(use);
  }

  // A factor, which may be gone where the second product is.
  Operand saved(const View& inner, int n, int use) {
    Operand factor = inner.operand(n);
    if (factor.kind != Operand::Kind::reg || flow_.keeps(factor.index, inner.i, use)) return factor;
    const Operand out = register_operand(editor_.temporary(ptx::Type::f32));
    editor_.insert_before(inner.i, editor_.make(inner.i, "mov", {"f32"}, {out, factor}));
    return out;
  }

  FunctionText& f_;
  Rules rules_;
  const Flow& flow_;
  Editor editor_;
  std::set<int> scaled_;  // statements
};

}  // namespace

void scale(Assembled& function, Rules rules) {
  Scaling(function, rules).run();
}

}  // namespace warpbit::assembler
