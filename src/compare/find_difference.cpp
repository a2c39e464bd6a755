// SPDX-License-Identifier: Apache-2.0
// The search for small inputs that tell two computations apart.
#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

#include "compare/compare_inputs.hpp"
#include "explain/chain.hpp"
#include "explain/dyadic.hpp"
#include "numeric/formats.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/record.hpp"

namespace warpbit {
namespace {

// Nothing is assumed of this element beside what is of its whole target, and it is in the normal range.
bool is_plain(const Explanation& e) {
  return e.assumed.empty() && std::ranges::none_of(e.sums, [](const ExplainedSum& sum) {
           return sum.result.kind != ExactNumber::Kind::finite || is_below_normal(sum);
         });
}

bool is_plain(const Chain& x, const Chain& y, const ElementInputs& in) {
  return is_plain(explain(x, in)) && is_plain(explain(y, in));
}

// Two computations, and inputs that they disagree about. They stay plain if they are.
class Shrinker {
 public:
  Shrinker(const Chain& x, const Chain& y, ElementInputs inputs)
      : x_(x), y_(y), in_(std::move(inputs)), plain_(is_plain(x, y, in_)) {}

  ElementInputs run() {
    const Tile& tile = *x_.tile;
    for (bool smaller = true; smaller;) {
      smaller = false;
      for (std::size_t k = 0; k < in_.a.size(); ++k) smaller = without(k) || smaller;
      smaller = replaced(in_.c, {0, nearest_power(*tile.c.format, in_.c)}) || smaller;
      for (std::size_t k = 0; k < in_.a.size(); ++k) {
        smaller = simpler(*tile.a.format, in_.a[k]) || smaller;
        smaller = simpler(*tile.b.format, in_.b[k]) || smaller;
      }
    }
    return in_;
  }

 private:
  bool differ() const {
    const ElementCodes codes = in_;
    return run_chain(x_, codes) != run_chain(y_, codes) && (!plain_ || is_plain(x_, y_, in_));
  }

  bool without(std::size_t k) {
    if (in_.a[k] == 0 && in_.b[k] == 0) return false;
    const std::uint64_t a = std::exchange(in_.a[k], 0), b = std::exchange(in_.b[k], 0);
    if (differ()) return true;
    in_.a[k] = a;
    in_.b[k] = b;
    return false;
  }

  // The first of the candidates with which they still differ, up to the code itself.
  bool replaced(std::uint64_t& code, std::initializer_list<std::uint64_t> candidates) {
    const std::uint64_t before = code;
    for (const std::uint64_t candidate : candidates) {
      if (candidate == before) break;
      code = candidate;
      if (differ()) return true;
    }
    code = before;
    return false;
  }

  bool simpler(const Format& f, std::uint64_t& code) {
    if (f.is_integer || code == 0) return false;
    const std::uint64_t one = encode(f, {false, 1, 0}, Rounding::nearest_even, Overflow::saturate);
    const std::uint64_t fraction = (std::uint64_t{1} << (f.fraction_bits + f.ignored_low)) - 1;
    // At last without the lowest bit of its fraction.
    const std::uint64_t shorter = (code & fraction) != 0 ? code & (code - 1) : code;
    return replaced(code, {one, nearest_power(f, code), shorter});
  }

  // The number without its fraction.
  static std::uint64_t nearest_power(const Format& f, std::uint64_t code) {
    const Decoded d = decode(f, code);
    if (f.is_integer || d.cls != Class::finite) return code;
    const int top = bit_length(d.significand) - 1;
    return encode(f, {d.negative, 1, d.exponent - f.fraction_bits + top}, Rounding::toward_zero,
                  Overflow::saturate);
  }

  const Chain &x_, &y_;
  ElementInputs in_;
  bool plain_;
};

class DifferenceFinder {
 public:
  DifferenceFinder(std::span<const Computation> both, const std::vector<Chain>& chains)
      : both_(both), x_(chains.front()), y_(chains.back()) {}

  // Made small: the first that are plain then, or else the first.
  std::optional<ElementInputs> among_probes(const Instruction& instruction) {
    const Result<Probes> all = probes(instruction);
    std::optional<ElementInputs> first;
    if (!all) return first;
    const std::size_t steps = steps_of_k();
    for (const Probe& p : all->probes)
      for (std::size_t turn = 0; turn <= (steps > 1 ? steps : 0); ++turn) {
        ++tried;
        const ElementInputs in = over_k(p, turn);
        if (run_chain(x_, in) == run_chain(y_, in)) continue;
        const ElementInputs small = Shrinker(x_, y_, in).run();
        if (is_plain(x_, y_, small)) return small;
        if (!first) first = small;
      }
    return first;
  }

  // Inputs of the profile, in case and place of the first difference.
  Result<std::optional<ElementInputs>> among_generated(inputs::Profile profile, std::size_t depth) {
    constexpr std::uint64_t kCases = 144;  // of `mixed` sixteen of each profile
    const Result<std::vector<LoadedCapture>> captures =
        inputs_along_steps(both_, {0, profile}, 0, kCases, depth);
    if (!captures) return captures.error();
    const Result<Comparison> comparison = compare_inputs(*captures, both_, {});
    if (!comparison) return comparison.error();
    tried += comparison->elements;
    if (!comparison->first) return std::optional<ElementInputs>();
    const ElementInputs in =
        inputs_along_k(*captures, comparison->first->index, {&comparison->first->at, 1})[0];
    return std::optional(Shrinker(x_, y_, in).run());
  }

  std::uint64_t tried = 0;

 private:
  std::size_t steps_of_k() const { return (x_.depth + x_.terms() - 1) / x_.terms(); }

  // The probe, and behind it zeros; for a turn from 1 on one product after the other in another step.
  ElementInputs over_k(const ElementInputs& p, std::size_t turn) const {
    const std::size_t steps = steps_of_k(), depth = steps * x_.terms();
    ElementInputs out = p;
    if (!out.a_scale.empty()) return out;
    for (const auto& [from, to] : {std::pair(&p.a, &out.a), std::pair(&p.b, &out.b)}) {
      to->assign(depth, 0);
      for (std::size_t i = 0; i < std::min(from->size(), depth); ++i)
        (*to)[turn == 0 ? i : (i + turn - 1) % steps * x_.terms() + i / steps] = (*from)[i];
    }
    return out;
  }

  std::span<const Computation> both_;
  const Chain &x_, &y_;
};

}  // namespace

Result<DifferenceSearch> find_difference(const Computation& x, const Computation& y, std::size_t depth) {
  const Computation both[] = {x, y};
  const Result<std::vector<Chain>> chains = find_chains(both, depth);
  if (!chains) return chains.error();
  const Chain &of_x = chains->front(), &of_y = chains->back();
  DifferenceSearch out;
  out.equal_steps = same_steps(of_x, of_y);
  if (out.equal_steps) return out;
  DifferenceFinder search(both, *chains);
  std::optional<ElementInputs> found;
  // Plain ones, or else the first.
  const auto take = [&](std::optional<ElementInputs> next) {
    if (next && (!found || is_plain(of_x, of_y, *next))) found = std::move(next);
    return found && is_plain(of_x, of_y, *found);
  };
  bool done = take(search.among_probes(x.instruction)) || take(search.among_probes(y.instruction));
  for (const inputs::Profile profile : {inputs::Profile::ordinary, inputs::Profile::mixed}) {
    if (done) break;
    Result<std::optional<ElementInputs>> generated = search.among_generated(profile, depth);
    if (!generated) return generated.error();
    done = take(std::move(*generated));
  }
  out.tried = search.tried;
  if (!found) return out;
  const Result<ElementComparison> comparison = compare_element(both, *found);
  if (!comparison) return comparison.error();
  out.found = {*found, *comparison};
  return out;
}

}  // namespace warpbit
