// SPDX-License-Identifier: Apache-2.0
#include "api/sum_identity.hpp"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <string_view>
#include <variant>

#include "api/sum_tree.hpp"
#include "isa/instruction.hpp"

namespace warpbit {
namespace {

// splitmix64, of words one after the other.
class Hash {
 public:
  Hash& add(std::uint64_t word) {
    value_ += 0x9E3779B97F4A7C15 + word;
    value_ = (value_ ^ value_ >> 30) * 0xBF58476D1CE4E5B9;
    value_ = (value_ ^ value_ >> 27) * 0x94D049BB133111EB;
    value_ ^= value_ >> 31;
    return *this;
  }
  Hash& add(std::string_view text) {
    for (const char c : text) add(static_cast<unsigned char>(c));
    return add(text.size());
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

enum class NodeKind : std::uint8_t { wraps, chain, zero, c, sum, promotion, rounding, stored };

std::uint64_t hash_of(NodeKind kind, std::initializer_list<std::uint64_t> words) {
  Hash out;
  out.add(static_cast<std::uint64_t>(kind));
  for (const std::uint64_t word : words) out.add(word);
  return out.value();
}
std::uint64_t word_of(const Format& f) {
  return static_cast<std::uint64_t>(f.id);
}

// Whether all numbers of a format are in the other.
bool is_within(const Format& f, const Format& wide) {
  if (f.id == wide.id || wide.id == FormatId::f64) return true;
  return wide.id == FormatId::f32 && (f.id == FormatId::f16 || f.id == FormatId::bf16);
}

// ---- The arithmetic of an instruction

// The products that a plan of one step adds to the running value before it rounds: where an instruction begins does not
// count. 0 for another plan.
std::size_t products_of_node(const Plan& plan) {
  if (plan.size() != 1) return 0;
  const Step& step = *plan.begin();
  if (const auto* fused = std::get_if<Fused>(&step);
      fused && fused->start == Start::running && fused->k == KSet{})
    return static_cast<std::size_t>(fused->products);
  if (const auto* fma = std::get_if<FmaChain>(&step); fma && fma->start == Start::running) return 1;
  if (std::holds_alternative<PairSums>(step)) return 2;
  if (const auto* sum = std::get_if<IntegerSum>(&step); sum && sum->overflow == Overflow::saturate)
    return static_cast<std::size_t>(sum->products);
  return 0;
}

// Addition modulo 2^32, whose order does not count.
bool only_wraps(const Plan& plan) {
  if (plan.size() != 1) return false;
  if (const auto* sum = std::get_if<IntegerSum>(plan.begin())) return sum->overflow == Overflow::ieee;
  return std::holds_alternative<BitCount>(*plan.begin());
}

// Whether a sum that began at +0 is never -0.
bool is_never_negative_zero(const Plan& plan) {
  return std::all_of(plan.begin(), plan.end(), [](const Step& step) {
    const auto* fused = std::get_if<Fused>(&step);
    return fused != nullptr && fused->rules.positive_zero;
  });
}

// ---- The tree

struct Node {
  std::uint64_t hash = 0;
  const Format* format = nullptr;
  bool is_zero = false;  // +0, from which outer accumulators start
  bool may_be_negative_zero = true;
  std::uint64_t exact = 0;  // the hash without widening roundings
};

// The operations of SumTree on nodes.
class Nodes {
 public:
  Nodes(const Instruction& i, const SumOrder& order, const SumInputs& inputs, const SumFormats& formats)
      : tile_(std::get<Tile>(i.decoded().kernel)), formats_(formats), inputs_(inputs) {
    const Plan& plan = *tile_.plan;
    const auto terms = static_cast<std::size_t>(tile_.terms);
    unit_ = std::min(products_of_node(plan), terms);
    never_negative_zero_ = is_never_negative_zero(plan);
    Hash arithmetic;
    arithmetic.add(describe(plan)).add(tile_.a.format->name).add(tile_.b.format->name);
    arithmetic.add(static_cast<std::uint64_t>(order.tf32)).add(unit_ == 0 ? terms : unit_);
    arithmetic.add(tile_.negate_a != tile_.negate_b ? 1 : 0);
    if (unit_ == 0) unit_ = terms;
    arithmetic_ = arithmetic.value();
  }

  Node chain(const SumBlock& steps, bool from_c) const {
    from_c = from_c && inputs_.has_c;
    Hash out;
    out.add(hash_of(NodeKind::chain, {arithmetic_, from_c ? 1U : 0U}));
    for (const SumStep& step : steps)
      for (std::size_t at = 0; at < static_cast<std::size_t>(tile_.terms); at += unit_) {
        const std::size_t count = at < step.count ? std::min(unit_, step.count - at) : 0;
        out.add(count == 0 ? 0 : step.first + at).add(count);
      }
    return made(out.value(), *formats_.accumulated, from_c || !never_negative_zero_);
  }
  Node outer(bool from_c) const {
    if (from_c && inputs_.has_c)
      return converted(made(hash_of(NodeKind::c, {}), *formats_.accumulated, true), *formats_.promoted);
    Node out = made(hash_of(NodeKind::zero, {}), *formats_.promoted, false);
    out.is_zero = true;
    return out;
  }
  Node promoted(const Node& outer, const Node& inner, std::size_t number) const {
    const Format& to = *formats_.promoted;
    if (inputs_.has_scales)
      return made(hash_of(NodeKind::promotion, {outer.exact, inner.exact, word_of(to), number + 1}), to, true);
    if (to.id == FormatId::f32 || to.id == FormatId::f64) return added(outer, inner, to);
    return made(hash_of(NodeKind::promotion, {outer.exact, inner.exact, word_of(to)}), to, true);
  }
  Node added(const Node& x, const Node& y, const Format& to) const {
    if (x.is_zero && !y.may_be_negative_zero) return converted(y, to);
    const auto [least, most] = std::minmax(x.exact, y.exact);
    return made(hash_of(NodeKind::sum, {least, most, word_of(to)}), to,
                x.may_be_negative_zero && y.may_be_negative_zero);
  }
  Node converted(const Node& x, const Format& to) const {
    if (x.format->id == to.id) return x;
    Node out = x;
    out.format = &to;
    out.hash = hash_of(NodeKind::rounding, {x.exact, word_of(to)});
    if (!is_within(*x.format, to)) out.exact = out.hash, out.may_be_negative_zero = true;
    return out;
  }

 private:
  static Node made(std::uint64_t hash, const Format& format, bool may_be_negative_zero) {
    return {hash, &format, false, may_be_negative_zero, hash};
  }

  const Tile& tile_;
  const SumFormats& formats_;
  const SumInputs& inputs_;
  std::size_t unit_ = 1;
  bool never_negative_zero_ = false;
  std::uint64_t arithmetic_ = 0;
};

// What becomes of the sum on its way to D.
std::uint64_t stored_hash(const Node& sum, const SumInputs& in, const SumOrder& o, const Format& stored) {
  const bool has_c = o.c_last && in.has_c, is_scaled = o.alpha != 1 || has_c;
  Hash out;
  out.add(static_cast<std::uint64_t>(NodeKind::stored)).add(sum.exact).add(word_of(stored));
  const bool rounds = is_scaled || in.has_bias || o.scales_last || !is_within(*sum.format, stored);
  out.add(rounds ? static_cast<std::uint64_t>(o.store_rounding) : 0).add(in.has_bias ? 1 : 0);
  out.add(o.scales_last ? 1 + static_cast<std::uint64_t>(o.scale_order) : 0);
  out.add(is_scaled ? 1 : 0).add(std::bit_cast<std::uint32_t>(o.alpha));
  if (has_c)
    out.add(std::bit_cast<std::uint32_t>(o.beta)).add(static_cast<std::uint64_t>(o.fused)).add(o.between);
  return out.value();
}

}  // namespace

Result<std::uint64_t> sum_identity(const Instruction& instruction, const SumInputs& inputs,
                                   const SumOrder& order) {
  const Result<SumFormats> formats = find_sum_formats(instruction, order, inputs.has_bias);
  if (!formats) return formats.error();
  const Result<std::vector<SumRun>> runs = find_runs(instruction, inputs.depth, order);
  if (!runs) return runs.error();
  const auto& tile = std::get<Tile>(instruction.decoded().kernel);
  if (only_wraps(*tile.plan))
    return hash_of(NodeKind::wraps,
                   {Hash().add(describe(*tile.plan)).value(), summed_depth(instruction, inputs.depth, order),
                    inputs.has_c ? 1U : 0U, tile.starts_at_zero ? 1U : 0U});
  Nodes nodes(instruction, order, inputs, *formats);
  const Node sum = SumTree(order, *formats, std::span(*runs), nodes).sum();
  return stored_hash(sum, inputs, order, *formats->stored);
}

}  // namespace warpbit
