// SPDX-License-Identifier: Apache-2.0
#include "assembler/contract.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>  // pair

#include "assembler/flow.hpp"

namespace warpbit::assembler {
namespace {

/// An add or sub that becomes an fma.
struct Fused {
  int product = -1;      ///< the statement of its product; -1: it is no fma
  int operand = 0;       ///< which source of the sum is the product: 1 or 2
  bool negated = false;  ///< an odd number of neg lies between
};

class Finder {
 public:
  /// `late`: the flow is another one.
  Finder(Assembled& function, Rules rules, const Flow& flow, bool late)
      : f_(function.function), rules_(rules), late_(late), flow_(flow), editor_(function) {
    sums_.resize(f_.statements.size());
    products_.resize(f_.statements.size());
    candidates_.resize(f_.statements.size());
  }

  void run() {
    for (int i = 0; i < size(); ++i)
      if (is_product(i)) find_uses(i);
    for (int i = 0; i < size(); ++i) choose(i);
    const int count = size();
    for (int i = 0; i < count; ++i) finish(i);
    for (int i = 0; i < count; ++i)
      if (fused(i).product >= 0) fuse(i);
    editor_.apply();
  }

 private:
  /// A sum that uses a product, by way of other statements.
  struct Way {
    int sum, operand;
    bool negated;
    std::vector<int> through;
  };
  struct Product {
    std::vector<Way> ways = {};
    int others = 0;       // uses that are no sums
    bool stays = false;   // a neg or a product by 1 of it is needed itself
    bool direct = false;  // a sum uses it without these between
    int changes = 0;      // of these
    // What one of these uses alone is used once.
    int uses() const {
      return !direct && changes == 1 && others == 0 ? 1 : static_cast<int>(ways.size()) + others;
    }
  };
  struct Candidate {
    int product, operand;
    bool negated;
  };

  int size() const { return static_cast<int>(f_.statements.size()); }
  View view(int i) const { return {f_, i}; }
  const Operand& operand(int i, int n) const { return view(i).operand(n); }
  static bool is_floating(std::string_view type) {
    constexpr std::array<std::string_view, 6> kTypes = {"f32", "f64", "f16", "f16x2", "bf16", "bf16x2"};
    return std::ranges::find(kTypes, type) != kTypes.end();
  }
  bool is_product(int i) const {
    const View v = view(i);
    if (v.is_guarded() || v.rounds() || v.has("sat")) return false;
    if (is_quotient(v)) return rules_.has(Rule::quotient);
    return v.opcode() == "mul" && is_floating(v.type()) && v.unit_factor() == 0 && rules_.has(Rule::contract);
  }
  bool is_sum_for(int i, int product) const {
    const View v = view(i), p = view(product);
    const bool is_mixed = v.type() != "f32" && v.has("f32");  // add.f32.f16
    return (v.opcode() == "add" || v.opcode() == "sub") && !is_mixed && !v.rounds() && v.type() == p.type() &&
           v.has("ftz") == p.has("ftz") && v.words().size() < 4;
  }
  // A statement through which a product is fused: 1, or -1 if it changes the sign; 2: abs of x x, which is x x; 0 if it is
  // none.
  int passes(int i, int product) const {
    const View v = view(i), p = view(product);
    if (v.is_guarded() || !v.is_register(0) || !v.is_register(1)) return 0;
    if (v.opcode() == "mov") return 1;
    if (v.type() != p.type() || (v.has("ftz") && !p.has("ftz"))) return 0;
    const bool is_packed = v.type().ends_with("x2");
    if (is_packed && (v.has("ftz") || v.type() == "bf16x2")) return 0;
    if (v.opcode() == "abs") return is_square(p) ? 2 : 0;
    return v.opcode() == "neg" ? -1 : v.unit_factor();
  }
  bool are_same(const Operand& a, const Operand& b) const {
    return a.kind == Operand::Kind::reg && b.kind == Operand::Kind::reg &&
           flow_.origin(a.index) == flow_.origin(b.index);
  }
  bool is_square(const View& v) const {
    return v.opcode() == "mul" && v.type() == "f32" && are_same(v.operand(1), v.operand(2));
  }
  // Whether a factor is one that an instruction of the machine takes from constant memory, or has itself: a literal, a
  // parameter of the kernel. Such a product is fused in all blocks. The dividend of a quotient is a factor as it stands only
  // in div.approx.ftz: the others scale it.
  bool has_constant(int product) const {
    const View v = view(product);
    const bool divides = is_quotient(v);
    if (divides && !(v.has("approx") && v.has("ftz"))) return false;
    for (int n = 1; n <= (divides ? 1 : 2); ++n)
      if (v.operand(n).kind == Operand::Kind::literal ||
          (v.is_register(n) && flow_.is_constant(v.operand(n).index)))
        return true;
    return false;
  }

  /// What lies between a product and its use.
  struct Between {
    bool negated = false;   // an odd number of neg
    bool changed = false;   // any neg, or product by 1, that is an instruction of its own: it flushes
    bool absolute = false;  // abs of a square
    std::vector<int> through = {};
  };
  // Adds the uses of what a statement writes. With .ftz a neg or a product by 1 is a sum of the machine, an addition of -0,
  // and is no part of a subtraction of its result, nor of another neg. What uses its result otherwise than in a sum keeps
  // the product from being fused only if a sum uses the product itself.
  void follow(int definition, int product, const Between& between, Product& out) const {
    const int reg = operand(definition, 0).index;
    const bool is_sum = between.changed;
    const auto otherwise = [&] { is_sum ? out.stays = true : static_cast<bool>(++out.others); };
    const Flow::Uses uses =
        has_constant(product) || is_sum ? flow_.all_uses(definition, reg) : flow_.uses(definition, reg);
    if (uses.elsewhere) otherwise();
    for (const int i : uses.statements) {
      const View v = view(i);
      const auto is = [&](int n) { return v.is_register(n) && v.operand(n).index == reg; };
      const bool is_fixed = is_sum || between.absolute, subtracted = is_fixed && v.opcode() == "sub" && is(2);
      const int sign = passes(i, product);
      if (subtracted) otherwise();
      if (is_sum_for(i, product) && (is(1) != is(2) || subtracted)) {
        if (!subtracted || is(1)) out.ways.push_back({i, is(1) ? 1 : 2, between.negated, between.through});
        out.direct = out.direct || !between.changed;
      } else if (sign != 0 && is(1) && !(is_fixed && v.opcode() == "neg") && !(is_sum && v.opcode() == "abs")) {
        Between further = between;
        further.through.push_back(i);
        further.absolute = between.absolute || sign == 2;
        further.negated = sign != 2 && between.negated != (sign < 0);
        further.changed = between.changed || (v.has("ftz") && v.type() == "f32");
        if (further.changed && !between.changed) ++out.changes;
        follow(i, product, further, out);
      } else {
        otherwise();
      }
    }
  }

  void find_uses(int i) {
    Product& product = products_[static_cast<std::size_t>(i)];
    if (operand(i, 0).kind != Operand::Kind::reg) return;
    follow(i, i, {}, product);
    if (late_ && product.ways.size() != 1) ++product.others;  // not fused
    if (product.stays && (product.direct || product.changes > 1)) ++product.others;
    std::ranges::stable_sort(product.ways, {}, &Way::sum);
    if (std::ranges::adjacent_find(product.ways, {}, &Way::sum) != product.ways.end())
      ++product.others;  // t - t
    for (const Way& way : product.ways) candidates(way.sum).push_back({i, way.operand, way.negated});
  }

  const Product& product(int i) const { return products_[static_cast<std::size_t>(i)]; }
  std::vector<Candidate>& candidates(int sum) { return candidates_[static_cast<std::size_t>(sum)]; }
  Fused& fused(int sum) { return sums_[static_cast<std::size_t>(sum)]; }

  bool have_same_factors(int x, int y) const {
    if (view(x).opcode() != view(y).opcode()) return false;
    const auto same = [&](int n, int m) { return are_same(operand(x, n), operand(y, m)); };
    if (is_quotient(view(x))) return same(1, 1) && (view(x).operands() == 2 || same(2, 2));
    return (same(1, 1) && same(2, 2)) || (same(1, 2) && same(2, 1));
  }

  // Whether a sum keeps one of its products from being fused anywhere: the other one, which nothing else uses, is fused
  // there, or it is the same product, so that the sum is t + t. Of packed types none does: their products are fma with -0
  // from the beginning.
  bool keeps(const Way& way, int i) {
    if (view(i).type().ends_with("x2")) return false;
    for (const Candidate& other : candidates(way.sum)) {
      if (other.product == i) continue;
      const bool only = product(i).uses() == 1, other_only = product(other.product).uses() == 1;
      if (!only && other_only) return true;
      if ((only || other_only) && view(way.sum).opcode() == "add" && way.negated == other.negated &&
          have_same_factors(i, other.product))
        return true;
    }
    return false;
  }
  // Whether all that uses a product is sums, as they stand.
  bool can_fuse(int i) {
    return product(i).others == 0 && std::ranges::all_of(product(i).ways, [&](const Way& way) {
             const int by = fused(way.sum).product;
             return by >= 0 ? by == i : !keeps(way, i);
           });
  }

  // Of two products the one with fewer uses; of as many that of the first operand.
  void choose(int sum) {
    const Candidate* best = nullptr;
    const auto rank = [&](const Candidate& one) { return std::pair(product(one.product).uses(), one.operand); };
    for (const Candidate& one : candidates(sum))
      if (can_fuse(one.product) && (best == nullptr || rank(one) < rank(*best))) best = &one;
    if (best != nullptr) fused(sum) = {best->product, best->operand, best->negated};
  }

  // A product that is fused wherever it is used is not computed. Its factors may be gone before the last sum.
  void finish(int i) {
    const std::vector<Way>& ways = product(i).ways;
    bool drops = !ways.empty() && product(i).others == 0 && !product(i).stays, saves = false, any = false;
    for (const Way& way : ways) {
      const bool is = fused(way.sum).product == i;
      drops = drops && is;
      any = any || is;
      for (int n = 1; is && n < view(i).operands(); ++n)
        saves = saves || (view(i).is_register(n) && !flow_.keeps(operand(i, n).index, i, way.sum));
    }
    if (!any) return;
    const bool quotient = is_quotient(view(i));
    Made& made = made_[i];
    made = {quotient ? quotient_factors(editor_, view(i)) : factors_of(i, saves),
            quotient ? Rule::quotient : Rule::contract};
    if (drops) {
      editor_.drop(i);
      for (const Way& way : ways) std::ranges::for_each(way.through, [&](int one) { editor_.drop(one); });
    } else if (quotient) {
      editor_.replace(
          i, editor_.make(i, "mul", product_words(i), {operand(i, 0), made.factors[0], made.factors[1]}));
    }
  }
  std::array<Operand, 2> factors_of(int i, bool saves) {
    std::array<Operand, 2> out = {operand(i, 1), operand(i, 2)};
    for (Operand& factor : out) {
      if (!saves || factor.kind != Operand::Kind::reg) continue;
      const Operand saved =
          register_operand(editor_.temporary(f_.registers[static_cast<std::size_t>(factor.index)].type));
      editor_.insert_before(i, editor_.make(i, "mov", {view(i).type()}, {saved, factor}));
      factor = saved;
    }
    return out;
  }
  std::vector<std::string_view> product_words(int i) const {
    return view(i).has("ftz") ? std::vector<std::string_view>{"ftz", "f32"}
                              : std::vector<std::string_view>{"f32"};
  }

  // d = a b + c, where the statement is the sum: each of a, b and c with its sign.
  void fuse(int sum) {
    const Fused& by = fused(sum);
    auto [a, b] = made_.at(by.product).factors;
    Operand c = operand(sum, 3 - by.operand);
    const bool subtracts = view(sum).opcode() == "sub";
    if ((subtracts && by.operand == 2) != by.negated) a = negated(a);
    if (subtracts && by.operand == 1) c = negated(c);
    std::vector<std::string_view> words = {"rn"};
    words.insert(words.end(), view(sum).words().begin(), view(sum).words().end());
    editor_.acted(made_.at(by.product).rule, sum);
    editor_.replace(sum, editor_.make(sum, "fma", std::move(words), {operand(sum, 0), a, b, c}));
  }

  FunctionText& f_;
  Rules rules_;
  bool late_;
  const Flow& flow_;
  Editor editor_;
  std::vector<Fused> sums_;                         // by statement
  std::vector<Product> products_;                   // by statement
  std::vector<std::vector<Candidate>> candidates_;  // by sum
  struct Made {
    std::array<Operand, 2> factors;
    Rule rule;
  };
  std::map<int, Made> made_;  // by product
};

}  // namespace

bool is_division(const View& v) {
  return v.opcode() == "div" && v.type() == "f32" && (v.has("approx") || v.has("full")) && !v.has("scaled");
}
bool is_quotient(const View& v) {
  return is_division(v) || (v.opcode() == "rcp" && v.type() == "f32" && v.has("approx") && !v.has("ftz"));
}

std::array<Operand, 2> quotient_factors(Editor& editor, const View& v) {
  const bool ftz = v.has("ftz"), inverts = v.opcode() == "rcp";
  std::vector<std::string_view> words = {"scaled", inverts || v.has("full") ? "full" : "approx"};
  if (ftz) words.emplace_back("ftz");
  words.emplace_back("f32");
  const int at = v.i;
  const std::array<Operand, 2> sources =
      inverts ? std::array{literal_operand(0x3F80'0000, ptx::Type::f32), v.operand(1)}
              : std::array{v.operand(1), v.operand(2)};
  std::array<Operand, 2> scaled;
  for (std::size_t n = 0; n < 2; ++n) {
    scaled[n] = register_operand(editor.temporary(ptx::Type::f32));
    editor.insert_before(at, editor.make(at, "div", words, {scaled[n], sources[n], sources[1]}));
  }
  const Operand reciprocal = register_operand(editor.temporary(ptx::Type::f32));
  editor.insert_before(at, editor.make(at, "rcp", {"approx", "ftz", "f32"}, {reciprocal, scaled[1]}));
  return {reciprocal, scaled[0]};
}

void contract(Assembled& function, Rules rules) {
  Finder(function, rules, flow_of(function), false).run();
  const FunctionText& f = function.function;
  bool has_calls = false;
  for (int i = 0; i < static_cast<int>(f.statements.size()); ++i)
    has_calls = has_calls || is_plain_call({f, i});
  if (has_calls) Finder(function, rules, Flow(f, true), true).run();
}

}  // namespace warpbit::assembler
