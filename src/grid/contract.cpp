// SPDX-License-Identifier: Apache-2.0
#include "grid/contract.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>  // pair

#include "grid/flow.hpp"

namespace warpbit::grid {
namespace {

using ptx::Operand, ptx::Statement;

class Finder {
 public:
  explicit Finder(const ptx::FunctionText& function) : f_(function), flow_(function) {
    out_.sums.resize(f_.statements.size());
    out_.dropped.resize(f_.statements.size());
    out_.saved.resize(f_.statements.size());
    products_.resize(f_.statements.size());
    candidates_.resize(f_.statements.size());
  }

  Contraction run() {
    for (int i = 0; i < size(); ++i)
      if (is_product(i)) find_uses(i);
    for (int i = 0; i < size(); ++i) choose(i);
    for (int i = 0; i < size(); ++i) finish(i);
    return std::move(out_);
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
    int others = 0;  // uses that are no sums
    int uses() const { return static_cast<int>(ways.size()) + others; }
  };
  struct Candidate {
    int product, operand;
    bool negated;
  };

  int size() const { return static_cast<int>(f_.statements.size()); }
  const Statement& statement(int i) const { return f_.statements[static_cast<std::size_t>(i)]; }
  const Operand& operand(int i, int n) const {
    return f_.operands[static_cast<std::size_t>(statement(i).first_operand + n)];
  }
  std::span<const std::string_view> words(int i) const {
    const Statement& s = statement(i);
    return std::span(f_.qualifiers)
        .subspan(static_cast<std::size_t>(s.first_qualifier), static_cast<std::size_t>(s.qualifiers));
  }
  bool has(int i, std::string_view word) const { return std::ranges::find(words(i), word) != words(i).end(); }
  std::string_view type(int i) const { return words(i).empty() ? std::string_view() : words(i).back(); }
  bool is_floating(int i) const {
    constexpr std::array<std::string_view, 6> kTypes = {"f32", "f64", "f16", "f16x2", "bf16", "bf16x2"};
    return std::ranges::find(kTypes, type(i)) != kTypes.end();
  }
  bool rounds(int i) const { return has(i, "rn") || has(i, "rz") || has(i, "rm") || has(i, "rp"); }
  bool is_product(int i) const {
    return statement(i).opcode == "mul" && is_floating(i) && !rounds(i) && !has(i, "sat") &&
           statement(i).guard < 0;
  }
  bool is_sum_for(int i, int product) const {
    const std::string_view opcode = statement(i).opcode;
    return (opcode == "add" || opcode == "sub") && !rounds(i) && type(i) == type(product) &&
           has(i, "ftz") == has(product, "ftz") && words(i).size() < 4;
  }

  // Adds the uses of what a statement writes.
  void follow(int definition, int product, bool negated, const std::vector<int>& through, Product& out) const {
    const int reg = operand(definition, 0).index;
    const Flow::Uses uses = flow_.uses(definition, reg);
    out.others += uses.elsewhere ? 1 : 0;
    for (const int i : uses.statements) {
      const std::string_view opcode = statement(i).opcode;
      const auto is = [&](int n) {
        return operand(i, n).kind == Operand::Kind::reg && operand(i, n).index == reg;
      };
      const bool neg = opcode == "neg" && type(i) == type(product) && type(i) != "bf16x2" &&
                       has(i, "ftz") == has(product, "ftz");
      if (is_sum_for(i, product) && is(1) != is(2)) {
        out.ways.push_back({i, is(1) ? 1 : 2, negated, through});
      } else if ((neg || opcode == "mov") && statement(i).guard < 0 && is(1) &&
                 operand(i, 0).kind == Operand::Kind::reg) {
        std::vector<int> further = through;
        further.push_back(i);
        follow(i, product, negated != neg, further, out);
      } else {
        ++out.others;
      }
    }
  }

  void find_uses(int i) {
    Product& product = products_[static_cast<std::size_t>(i)];
    if (operand(i, 0).kind != Operand::Kind::reg) return;
    follow(i, i, false, {}, product);
    std::ranges::stable_sort(product.ways, {}, &Way::sum);
    if (std::ranges::adjacent_find(product.ways, {}, &Way::sum) != product.ways.end())
      ++product.others;  // t - t
    for (const Way& way : product.ways) candidates(way.sum).push_back({i, way.operand, way.negated});
  }

  const Product& product(int i) const { return products_[static_cast<std::size_t>(i)]; }
  std::vector<Candidate>& candidates(int sum) { return candidates_[static_cast<std::size_t>(sum)]; }
  Fused& fused(int sum) { return out_.sums[static_cast<std::size_t>(sum)]; }

  bool have_same_factors(int x, int y) const {
    const auto same = [&](int n, int m) {
      const Operand &a = operand(x, n), &b = operand(y, m);
      return a.kind == Operand::Kind::reg && b.kind == Operand::Kind::reg && a.index == b.index;
    };
    return (same(1, 1) && same(2, 2)) || (same(1, 2) && same(2, 1));
  }

  // Whether a sum keeps one of its products from being fused anywhere: the other one, which nothing else uses, is fused
  // there, or it is the same product, so that the sum is t + t.
  bool keeps(const Way& way, int i) {
    for (const Candidate& other : candidates(way.sum)) {
      if (other.product == i) continue;
      const bool only = product(i).uses() == 1, other_only = product(other.product).uses() == 1;
      if (!only && other_only) return true;
      if ((only || other_only) && statement(way.sum).opcode == "add" && way.negated == other.negated &&
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
    bool drops = !ways.empty() && product(i).others == 0, saves = false;
    for (const Way& way : ways) {
      const bool is = fused(way.sum).product == i;
      drops = drops && is;
      for (int n = 1; is && n <= 2; ++n)
        saves = saves || (operand(i, n).kind == Operand::Kind::reg &&
                          flow_.is_written(operand(i, n).index, i - 1, way.sum));
    }
    out_.saved[static_cast<std::size_t>(i)] = saves;
    if (!drops) return;
    out_.dropped[static_cast<std::size_t>(i)] = true;
    for (const Way& way : ways)
      for (const int through : way.through) out_.dropped[static_cast<std::size_t>(through)] = true;
  }

  const ptx::FunctionText& f_;
  Flow flow_;
  std::vector<Product> products_;                   // by statement
  std::vector<std::vector<Candidate>> candidates_;  // by sum
  Contraction out_;
};

}  // namespace

Contraction contract(const ptx::FunctionText& function) {
  return Finder(function).run();
}

}  // namespace warpbit::grid
