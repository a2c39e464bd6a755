// SPDX-License-Identifier: Apache-2.0
// A plan describes how one output element of a form is computed: a short list of steps. It is data; node.cpp
// executes it. The rows that use these steps are in src/target/, their explanation and proof in
// src/target/NUMERICS.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "numeric/formats.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

// The state of the steps: the running value, which starts as C in C's format; and C itself.

/// The running value that a step starts from.
enum class Start : std::uint8_t {
  running,  ///< the running value (C, if no step came before)
  zero,     ///< +0: C is not part of the sum
};

/// A set of k: those with bit (k % period) of `mask` set, in ascending order. The period is a power of two.
struct KSet {
  std::uint8_t period = 1;
  std::uint8_t mask = 1;

  constexpr bool contains(std::size_t k) const { return (mask >> (k & (period - 1u))) & 1; }
  friend bool operator==(const KSet&, const KSet&) = default;
};

/// The exponents that count for E.
enum class Exponents : std::uint8_t {
  raw,          ///< the sum of the factors' raw exponents
  normalised,   ///< the same, but subnormals, C included, count from their leading bits
  of_products,  ///< those of the products' leading bits
};

/// Properties that the sums of all observed GPUs share (NUMERICS.md, "The node"). Rows of targets use only
/// the defaults, and kernels know only these; other values serve to ask what a GPU without such a property
/// would return.
struct SumRules {
  bool positive_zero = true;  ///< a zero result is +0; else -0 if the sum, or each of its terms, is negative
  bool zeros_raise = false;   ///< zero products raise E
  Exponents exponents = Exponents::raw;
  Overflow overflow = Overflow::to_infinity;
  friend bool operator==(const SumRules&, const SumRules&) = default;
};

/// A floor of E below the exponents of all sums: there is none.
inline constexpr int kNoFloor = -4096;

/// Nodes of `products` products each, chained over the selected k; each is rounded once to `result`
/// (NUMERICS.md, "The node"). The scales of scaled elements are powers of two; their exponents are added to
/// those of the products.
struct Fused {
  int products;  ///< L
  int window;    ///< F: addends are cut to multiples of 2^(E - F)
  int floor;     ///< minimum of E, or kNoFloor
  FormatId result;
  int kept_fraction_bits;  ///< of the result; below format(result).fraction_bits if fewer survive
  Rounding rounding;
  Start start = Start::running;
  KSet k = {};
  SumRules rules = {};
  friend bool operator==(const Fused&, const Fused&) = default;
};

/// running = C and the sums of `group` products in ascending k, each times its two scales, aligned by the
/// scales' exponents, added and rounded once (NUMERICS.md, "Block scaling"). Elements are e2m1, a group lies
/// within a block.
struct GroupScaled {
  int group;
  int window;  ///< F: addends are cut to multiples of 2^(E - F)
  int floor;   ///< minimum of E, or kNoFloor
  FormatId result;
  Rounding rounding;
  /// If the result is a subnormal, it is computed again without the sums below 2^least whose scales are not the largest.
  int least = kNoFloor;
  SumRules rules = {};  ///< of_products: of the largest product of a group, scaled; normalised: as raw
  friend bool operator==(const GroupScaled&, const GroupScaled&) = default;
};

/// running = C and sums of neighbouring products, each times its two scales, added exactly, cut, added and rounded once
/// (NUMERICS.md, "Block scaling of tcgen05"). S is the largest exponent of a product's scales, R that of a product with its
/// scales, both of products that are not zero. Elements are e2m1, a sum lies within a block.
///
///     exponent of C    sums of         addends are cut to multiples of
///     R or more        group_below_c   2^(exponent of C - F)
///     less, or C is 0  group           2^(S - F)
struct WindowedGroups {
  int group, group_below_c;
  int window;  ///< F
  FormatId result;
  Rounding rounding;
  friend bool operator==(const WindowedGroups&, const WindowedGroups&) = default;
};

/// The NaN that an FMA returns.
enum class NanRule : std::uint8_t {
  canonical,
  first_of_b_sum_a,  ///< the first NaN among b, the running sum and a, made quiet; else the canonical one
  first_of_b_a_sum,  ///< likewise; not used by any target
  first_of_sum_b_a,
  first_of_sum_a_b,
  first_of_a_b_sum,
  first_of_a_sum_b,
};

/// running = fma(a[k], b[k], running) for ascending k, each rounded to `format`.
struct FmaChain {
  FormatId format;
  Rounding rounding;
  NanRule nan;
  Start start = Start::running;
  bool fused = true;  ///< false: a[k] b[k] is rounded before it is added
  friend bool operator==(const FmaChain&, const FmaChain&) = default;
};

/// running = round(running + round(a[k] b[k] + a[k+1] b[k+1])) for k = 0, 2, ...; IEEE, NaN canonical.
struct PairSums {
  FormatId format;
  Rounding rounding;
  friend bool operator==(const PairSums&, const PairSums&) = default;
};

/// running = round(C + running): one IEEE addition, NaN canonical.
struct Add {
  FormatId format;
  Rounding rounding;
  friend bool operator==(const Add&, const Add&) = default;
};

/// running = round(running), NaN canonical.
struct Convert {
  FormatId format;
  Rounding rounding;
  friend bool operator==(const Convert&, const Convert&) = default;
};

/// As many products as there are.
inline constexpr int kWholeDepth = 1 << 16;

/// running = exact sums of `products` products and the running value as s32, chained over ascending k, each wrapped modulo 2^32
/// or clamped. Where they wrap, no order shows.
struct IntegerSum {
  Overflow overflow;
  int products = kWholeDepth;  ///< L
  friend bool operator==(const IntegerSum&, const IntegerSum&) = default;
};

enum class BitOperation : std::uint8_t { xor_, and_ };

/// running = C + number of k with (a[k] op b[k]), modulo 2^32.
struct BitCount {
  BitOperation operation;
  friend bool operator==(const BitCount&, const BitCount&) = default;
};

using Step =
    std::variant<Fused, GroupScaled, WindowedGroups, FmaChain, PairSums, Add, Convert, IntegerSum, BitCount>;

struct Plan {
  static constexpr std::size_t kMaxSteps = 4;

  constexpr Plan(std::initializer_list<Step> list) {
    for (const Step& step : list) steps_[size_++] = step;
  }
  constexpr Plan(FormatId operands_in, std::initializer_list<Step> list) : Plan(list) {
    operands = operands_in;
  }

  /// If set, a and b are first converted to this format; the conversion is exact.
  std::optional<FormatId> operands;

  constexpr const Step* begin() const { return steps_.data(); }
  constexpr const Step* end() const { return steps_.data() + size_; }
  constexpr Step* begin() { return steps_.data(); }
  constexpr Step* end() { return steps_.data() + size_; }
  constexpr std::size_t size() const { return size_; }
  /// Precondition: fewer than kMaxSteps steps.
  constexpr void push_back(const Step& step) { steps_[size_++] = step; }

  friend bool operator==(const Plan& x, const Plan& y) {
    if (x.operands != y.operands || x.size_ != y.size_) return false;
    for (std::size_t i = 0; i < x.size_; ++i)
      if (!(x.steps_[i] == y.steps_[i])) return false;
    return true;
  }

 private:
  std::array<Step, kMaxSteps> steps_{IntegerSum{}, IntegerSum{}, IntegerSum{}, IntegerSum{}};
  std::size_t size_ = 0;
};

/// The first step of a kind; null if the plan has none.
template <class S>
const S* first_of(const Plan& plan) {
  for (const Step& step : plan)
    if (const S* s = std::get_if<S>(&step)) return s;
  return nullptr;
}

/// One line for a person, e.g. "fused L 16, F 25, floor -133 -> f32 rz" or "fused L 16, F 25, no floor -> f32 rz".
std::string describe(const Step& step);
/// The same for all steps.
std::string describe(const Plan& plan);

std::string_view name(Rounding rounding);

}  // namespace warpbit
#pragma GCC visibility pop
