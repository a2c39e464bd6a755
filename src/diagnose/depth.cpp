// SPDX-License-Identifier: Apache-2.0
// Mistakes in what is summed: parts of K, the accumulator, signs, scales, exchanged factors, containers of narrow
// elements, tiles of other cases.
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/elements.hpp"
#include "diagnose/hypothesis.hpp"
#include "numeric/conversion.hpp"

namespace warpbit::diagnosis {
namespace {

// Multiplies each element by 2^power.
void scale(const Fragment& fragment, int power, Array& array) {
  if (power == 0) return;
  const Format& f = *find_format(fragment.op().format);
  change(array, [&](std::uint64_t word) {
    return with_elements(fragment.packing(), word,
                         [&](std::uint64_t code, int) { return scaled(f, code, power); });
  });
}

bool is_signed_magnitude(const Fragment& fragment) {
  const Format& f = *find_format(fragment.op().format);
  return (!f.is_integer || f.zero_bits != 0) && f.is_signed;
}
// Changes the sign of each element; integers wrap.
std::function<std::uint64_t(std::uint64_t)> negation(const Fragment& f) {
  return [packing = f.packing(), sign = std::uint64_t{1} << (f.op().element_bits - 1),
          wraps = find_format(f.op().format)->is_integer && !is_signed_magnitude(f)](std::uint64_t word) {
    return with_elements(packing, word, [&](std::uint64_t code, int) {
      return wraps ? (0 - code) & packing.mask() : code ^ sign;
    });
  };
}
bool is_signed(const Fragment& f) {
  return find_format(f.op().format)->is_signed;
}
void add_sign(Collection& to, const Fragment& f, std::string_view what, std::string hint) {
  if (!is_signed(f)) return;
  to.add_change({"sign", f.role(), fmt::format("{} is {}", f.letter(), what), std::move(hint), 1, true},
                {f.part()}, negation(f));
}

// ---- C and D

bool is_zero(const Array& array) {
  return std::ranges::all_of(array.data, [](std::byte x) { return x == std::byte{0}; });
}

Result<Array> execute_after(const Problem& inputs, const Array& c) {
  Problem next = inputs;
  array_of(next, Part::c)->data = c.data;
  return execute_trial(next);
}

Array c_as_d(const Problem& inputs) {
  Array out = *array_of(inputs, Part::c);
  out.header = inputs.expected.header;
  return out;
}

// The accumulators still hold the result that the kernel has made before: its own D of another case is C.
void collect_kept(Collection& to) {
  if (to.capture.matrices || to.capture.cases < 2) return;
  to.add({"accumulator_not_cleared", "c", "the accumulators begin with D of the case before, not with C",
          "where the accumulators are cleared", 1, false, true})
      .inputs = [](Trial& t) {
    Array& c = *array_of(t.capture, Part::c);
    const std::size_t bytes = c.data.size() / t.capture.cases;
    std::copy(t.capture.expected.data.begin(),
              t.capture.expected.data.end() - static_cast<std::ptrdiff_t>(bytes),
              c.data.begin() + static_cast<std::ptrdiff_t>(bytes));
  };
}

// C, or the product, added twice.
void add_twice(Collection& to) {
  const auto add = [&](std::string kind, std::string text, auto run) {
    to.add({std::move(kind), "c", std::move(text), "where the accumulators begin, and how often they are added",
            2})
        .execution = run;
  };
  const Fragment& d = to.fragment(Part::d);
  add("accumulator_twice", "C is added twice, the second time to D", [&d](const Problem& in) -> Result<Array> {
    const Result<Array> once = execute_trial(in);
    return once ? Result<Array>(sum_of(d, *once, c_as_d(in))) : once;
  });
  add("accumulator_twice", "C is doubled before the product is added",
      [&d](const Problem& in) { return execute_after(in, sum_of(d, c_as_d(in), c_as_d(in))); });
  add("executed_twice", "the product is added twice", [](const Problem& in) -> Result<Array> {
    const Result<Array> once = execute_trial(in);
    return once ? execute_after(in, *once) : once;
  });
}

void collect_accumulator(Collection& to) {
  const Fragment &c = to.fragment(Part::c), &d = to.fragment(Part::d);
  const auto set_scale_d = [](Trial& trial) {
    if (Array* scale = array_of(trial.capture, Part::scale_d)) std::ranges::fill(scale->data, std::byte{1});
  };
  to.add({"accumulator_missing", "c", "C is not added",
          "where the accumulators begin, and how often they are added", 1, true})
      .inputs = [set_scale_d](Trial& trial) {
    std::ranges::fill(array_of(trial.capture, Part::c)->data, std::byte{0});
    set_scale_d(trial);
  };
  to.add({"accumulator_kept", "c", "C is added though scale-d is 0", "the predicate scale-d", 1, true}).inputs =
      set_scale_d;
  add_sign(to, c, "subtracted", "the sign of the accumulators");
  if (is_signed(d))
    to.add({"sign", "d", "D is negated", "the sign of the results", 1}).execution =
        [negate = negation(d)](const Problem& in) -> Result<Array> {
      Result<Array> out = execute_trial(in);
      if (out) change(*out, negate);
      return out;
    };
  if (c.op().format != d.op().format) return;
  collect_kept(to);
  to.add({"not_executed", "d", "the instruction is not executed: D is C", "the bound of the loop over K", 1})
      .execution = c_as_d;
  to.add({"not_stored", "d", "D is not stored: it is 0", "whether the results are written", 1}).execution =
      [](const Problem& inputs) -> Result<Array> {
    Array out = inputs.expected;
    std::ranges::fill(out.data, std::byte{0});
    return out;
  };
  add_twice(to);
}

// An operand is multiplied by a power of two. 2^n A B + C is 2^n (A B + 2^-n C): no input tells A from B, and D
// neither where C is 0.
void collect_scaled(Collection& to) {
  constexpr int kMost = 16;
  struct Row {
    std::string_view operands, names;
    int of_c, of_d;  // what n is multiplied by for C before, for D after
  };
  static constexpr Row kRows[] = {
      {"a b", "A or B", -1, 1}, {"c", "C", 1, 0}, {"d", "D", 0, 1}, {"a b d", "A, B or D", 0, 1}};
  const Fragment *c = to.find(Part::c), &d = to.fragment(Part::d);
  if (!is_signed_magnitude(d)) return;
  const Array* scale_d = array_of(to.capture, Part::scale_d);
  const bool adds = c != nullptr && !is_zero(*array_of(to.capture, Part::c)) && !(scale_d && is_zero(*scale_d));
  for (const Row& row : std::span(kRows).subspan(adds ? 0 : 3, adds ? 3 : 1))
    for (int n = -kMost; n <= kMost; ++n) {
      if (n == 0 || (n == 1 && row.of_d == 0 && c->op().format == d.op().format)) continue;  // C is doubled
      Hypothesis& h =
          to.add({"scaled", std::string(row.operands),
                  fmt::format("{} is {} by {}", row.names, n > 0 ? "multiplied" : "divided", 1 << std::abs(n)),
                  "which scale is forgotten or applied twice", 3});
      h.consistent = true;  // a C too small to be seen explains much by chance
      h.execution = [row, n, c, &d](const Problem& in) {
        Problem scaled = in;
        if (row.of_c != 0) scale(*c, row.of_c * n, *array_of(scaled, Part::c));
        Result<Array> out = execute_trial(scaled);
        if (out) scale(d, row.of_d * n, *out);
        return out;
      };
    }
}

// ---- K

// Elements of A, of B or of both are those of source(k): of another k, or 0 if that is -1.
template <class Source>
void add_k(Collection& to, bool a, bool b, Hypothesis h, Source source) {
  for (const Fragment& f : to.fragments) {
    const bool left = f.part() == Part::a;
    if (!(left ? a : f.part() == Part::b && b)) continue;
    // k of B for k of a stored element of A
    const int times = left ? 1 : to.instruction.depth() / to.instruction.terms();
    h.moves.push_back({f.part(), f.part(), map_of(f, f, [&](const Fragment&, Coordinate c) {
                         int& k = left ? c.column : c.row;
                         const int other = source(k / times);
                         k = other * times + k % times;
                         return other < 0 ? kZero : f.slot_at(c);
                       })});
    h.operand += (h.operand.empty() ? "" : " ") + f.role();
  }
  to.add(std::move(h));
}

// Elements [first, first + size) are those of another run of K again.
void add_repeated(Collection& to, int first, int size) {
  constexpr std::string_view kNames[] = {"", "A", "B", "A and B"};
  for (int from = 0; from < to.instruction.terms(); from += size)
    for (int which = 1; which < 4 && from != first; ++which) {
      if ((which & 1 && !to.has(Part::a)) || (which & 2 && !to.has(Part::b))) continue;
      add_k(
          to, which & 1, which & 2,
          {"depth_repeated", "",
           fmt::format("{}: k {} to {} are those from {} again", kNames[which], first, first + size - 1, from),
           "how the address advances with K", 2},
          [&](int k) { return k >= first && k < first + size ? k - first + from : k; });
    }
}

void collect_k(Collection& to) {
  const int terms = to.instruction.terms();
  const auto missing = [&](int first, int last, int cost, bool pairs) {
    add_k(to, true, true,
          {"depth_missing", "", fmt::format("k {} to {} are not summed", first, last),
           "the bound of the loop over K", cost, pairs},
          [&](int k) { return k >= first && k <= last ? -1 : k; });
  };
  for (int size = terms / 2; size >= std::max(1, terms / 32); size /= 2)
    for (int first = 0; first < terms; first += size) {
      missing(first, first + size - 1, 1, size == terms / 2);
      if (size >= terms / 4) add_repeated(to, first, size);
    }
  for (int first = std::max(1, terms - 4); first < terms - 1; ++first) missing(first, terms - 1, 2, false);
}

// ---- A and B

// Operands of tf32 are words of f32; the instruction drops their low 13 bits, a kernel may round before.
void collect_rounded(Collection& to) {
  struct Row {
    std::string roles, names;
    std::vector<Part> parts;
  };
  const auto has_low_bits = [&](Part part) {
    const Array* array = array_of(to.capture, part);
    if (array == nullptr || to.fragment(part).op().format != "tf32") return false;
    for (std::uint64_t i = 0; i < array->header.items(); ++i)
      if ((array->at(i) & 0x1FFF) != 0) return true;
    return false;
  };
  const bool a = has_low_bits(Part::a), b = has_low_bits(Part::b);
  for (const Row& row : {Row{"a b", "A and B are", {Part::a, Part::b}}, Row{"a", "A is", {Part::a}},
                         Row{"b", "B is", {Part::b}}}) {
    if (!std::ranges::all_of(row.parts, [&](Part part) { return part == Part::a ? a : b; })) continue;
    to.add_change({"rounded", row.roles, row.names + " rounded to tf32 to nearest, not cut off",
                   "what is meant must be rounded, too: cvt.rna.tf32.f32", 1},
                  row.parts, [](std::uint64_t x) {
                    return convert({FormatId::f32, FormatId::tf32, CvtRounding::rna}, x, 0);
                  });
  }
}

void collect_factor(Collection& to, const Fragment& f) {
  const char name = f.letter();
  add_sign(to, f, "negated", fmt::format("the sign of {}", name));
  const Packing& packing = f.packing();
  if (packing.low_bit == 0 || packing.bits == packing.slot_bits) return;
  const int low = packing.low_bit;
  const std::uint64_t mask = in_all_slots(packing, packing.mask());
  to.add_change({"container", f.role(),
                 fmt::format("elements of {} lie in bits 0 to {} of their containers instead of {} to {}", name,
                             packing.bits - 1, low, low + packing.bits - 1),
                 fmt::format("shift each element of {} left by {}", name, low), 1, true},
                {f.part()}, [low, mask](std::uint64_t x) { return (x & mask) >> low; });
  to.add_change({"container", f.role(), fmt::format("elements of {} are shifted twice", name),
                 fmt::format("shift each element of {} left by {} once", name, low), 2},
                {f.part()}, [low, mask](std::uint64_t x) { return ((x & mask) << low) & mask; });
}

// A is filled from B's matrix by A's indices, and B from A's.
void collect_exchanged_factors(Collection& to) {
  const Fragment &a = to.fragment(Part::a), &b = to.fragment(Part::b);
  if (a.packing() != b.packing()) return;
  const auto exchanged = [](const Fragment&, const Coordinate& c) {
    return Coordinate{c.column, c.row, c.product};
  };
  to.add({"factors_exchanged", "a b", "A and B are exchanged", "which operand is which matrix", 1, true})
      .moves = {{Part::a, Part::b, map_of(a, b, exchanged)}, {Part::b, Part::a, map_of(b, a, exchanged)}};
}

// ---- Tiles

// The operand of another case: the address does not advance, or too early.
void collect_other_tiles(Collection& to) {
  if (to.capture.cases < 2 || to.capture.matrices) return;
  static constexpr std::pair<std::string_view, std::int64_t (*)(std::int64_t)> kOthers[] = {
      {"the case before", [](std::int64_t n) { return n - 1; }},
      {"the next case", [](std::int64_t n) { return n + 1; }},
      {"the first case", [](std::int64_t) { return std::int64_t{0}; }},
  };
  for (const Part part : {Part::a, Part::b, Part::c, Part::metadata, Part::scale_a, Part::scale_b}) {
    if (!to.has(part)) continue;
    const std::string role(part == Part::c ? "c" : to.instruction.find(part)->role);
    for (const auto& [text, other] : kOthers)
      to.add({"other_tile", role, fmt::format("{} is that of {}", role, text),
              "how the address advances from one instruction to the next", 2, false, true})
          .inputs = [part, other = other](Trial& trial) {
        Array& array = *array_of(trial.capture, part);
        const Array old = array;
        const auto count = static_cast<std::int64_t>(trial.capture.cases);
        const auto bytes = static_cast<std::int64_t>(array.data.size()) / count;
        const auto slots = static_cast<std::ptrdiff_t>(trial.known.size()) / count;
        for (std::int64_t n = 0; n < count; ++n) {
          const std::int64_t from = other(n);
          if (from >= 0 && from < count)
            std::copy_n(old.data.begin() + from * bytes, bytes, array.data.begin() + n * bytes);
          else
            std::fill_n(trial.known.begin() + n * slots, slots, Knowledge::nothing);
        }
      };
  }
}

}  // namespace

void collect_depth(Collection& to) {
  if (to.has(Part::c)) collect_accumulator(to);
  const bool a = to.has(Part::a), b = to.has(Part::b);
  if (a || b) collect_k(to);
  for (const Part part : {Part::a, Part::b})
    if (to.has(part)) collect_factor(to, to.fragment(part));
  if (a && b) collect_exchanged_factors(to);
  collect_rounded(to);
  collect_other_tiles(to);
  collect_scaled(to);
}

}  // namespace warpbit::diagnosis
