// SPDX-License-Identifier: Apache-2.0
#include "arbiter/solve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <optional>
#include <set>

#include "ptx/type.hpp"

namespace warpbit::arbiter {
namespace {

using Bits = std::optional<std::uint64_t>;
constexpr std::size_t kMaxWanted = 4000;

std::uint64_t mask_of(int bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

/// The sources of a statement as numbers, the result that it had, and the one that is wanted.
struct Equation {
  const Site& site;
  std::vector<Bits> values;  ///< by operand
  std::uint64_t was, wanted;

  int bits() const { return site.bits(); }
  std::uint64_t mask() const { return mask_of(bits()); }
  std::optional<std::uint64_t> value(std::size_t n) const { return n < values.size() ? values[n] : Bits(); }
};

// The least x with x * factor = product modulo 2^bits, if there is one.
Bits quotient(std::uint64_t product, std::uint64_t factor, std::uint64_t mask) {
  if (factor == 0) return {};
  const int zeros = std::countr_zero(factor);
  if ((product & ((std::uint64_t{1} << zeros) - 1)) != 0) return {};
  const std::uint64_t odd = factor >> zeros;
  std::uint64_t inverse = odd;  // each round doubles the bits that are right
  for (int i = 0; i < 6; ++i) inverse *= 2 - odd * inverse;
  return (product >> zeros) * inverse & mask >> zeros;
}

// The first number of 0 to 63 by which a shift has the wanted result.
Bits shift_that(const Equation& e, const auto& shift) {
  for (std::uint64_t n = 0; n < static_cast<std::uint64_t>(e.bits()); ++n)
    if ((shift(n) & e.mask()) == e.wanted) return n;
  return {};
}

double real(std::uint64_t bits, int width) {
  return width == 64 ? std::bit_cast<double>(bits)
                     : static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
}
std::uint64_t code_of(double x, int width) {
  return width == 64 ? std::bit_cast<std::uint64_t>(x) : std::bit_cast<std::uint32_t>(static_cast<float>(x));
}

/// How a source follows from the result and the other sources.
struct Inverse {
  std::string_view opcodes;  ///< by blanks
  Bits (*source)(const Equation&, std::size_t n);
};

Bits as_wanted(const Equation& e, std::size_t) {
  return e.wanted;
}
Bits of_sum(const Equation& e, std::size_t n) {
  const Bits other = e.value(3 - n);
  return n <= 2 && other ? Bits((e.wanted - *other) & e.mask()) : Bits();
}
Bits of_difference(const Equation& e, std::size_t n) {
  const Bits other = e.value(3 - n);
  if (n > 2 || !other) return {};
  return (n == 1 ? e.wanted + *other : *other - e.wanted) & e.mask();
}
Bits of_product(const Equation& e, std::size_t n) {
  const Bits other = e.value(3 - n);
  if (n > 2 || !other || e.site.has("hi")) return {};
  return quotient(e.wanted, *other, e.site.has("wide") ? ~std::uint64_t{0} : e.mask());
}
Bits of_multiply_add(const Equation& e, std::size_t n) {
  if (e.site.has("hi")) return {};
  const std::uint64_t mask = e.site.has("wide") ? ~std::uint64_t{0} : e.mask();
  const Bits a = e.value(1), b = e.value(2), c = e.value(3);
  if (n == 3) return a && b ? Bits((e.wanted - *a * *b) & mask) : Bits();
  const Bits other = n == 1 ? b : a;
  return other && c ? quotient((e.wanted - *c) & mask, *other, mask) : Bits();
}
Bits of_logic(const Equation& e, std::size_t n) {
  const Bits old = e.value(n), other = e.value(3 - n);
  if (n > 2 || !old || !other) return {};
  if (e.site.parts.opcode == "xor") return e.wanted ^ *other;
  const std::uint64_t decides = e.site.parts.opcode == "and" ? *other : ~*other;
  return (*old & ~decides) | (e.wanted & decides);
}
Bits of_shift(const Equation& e, std::size_t n) {
  const Bits a = e.value(1), by = e.value(2);
  const bool left = e.site.parts.opcode == "shl";
  if (n == 1 && by && *by < 64) return (left ? e.wanted >> *by : e.wanted << *by) & e.mask();
  if (n != 2 || !a) return {};
  const std::uint64_t x = *a & e.mask();
  const bool is_signed = e.site.type().starts_with('s') && (x >> (e.bits() - 1) & 1) != 0;
  const auto extended = static_cast<std::int64_t>(is_signed ? x | ~e.mask() : x);
  if (left) return shift_that(e, [&](std::uint64_t by_n) { return x << by_n; });
  return shift_that(e, [&](std::uint64_t by_n) { return static_cast<std::uint64_t>(extended >> by_n); });
}
Bits of_choice(const Equation& e, std::size_t n) {
  const Bits p = e.value(3);
  return p && n == (*p != 0 ? 1U : 2U) ? Bits(e.wanted) : Bits();
}
Bits of_not(const Equation& e, std::size_t) {
  return ~e.wanted & e.mask();
}
Bits of_negation(const Equation& e, std::size_t) {
  return (0 - e.wanted) & e.mask();
}

constexpr Inverse kOfIntegers[] = {
    {"mov cvt min max", as_wanted},
    {"add", of_sum},
    {"sub", of_difference},
    {"mul", of_product},
    {"mad", of_multiply_add},
    {"and or xor", of_logic},
    {"shl shr", of_shift},
    {"selp", of_choice},
    {"not", of_not},
    {"neg", of_negation},
};

Bits of_real(const Equation& e, const auto& source) {
  return code_of(source(real(e.wanted, e.bits())), e.bits());
}
double number(const Equation& e, std::size_t n) {
  return real(e.value(n).value_or(0), e.bits());
}
constexpr Inverse kOfReals[] = {
    {"mov min max", as_wanted},
    {"selp", of_choice},
    {"add", [](const Equation& e,
               std::size_t n) { return of_real(e, [&](double d) { return d - number(e, 3 - n); }); }},
    {"sub",
     [](const Equation& e, std::size_t n) {
       return of_real(e, [&](double d) { return n == 1 ? d + number(e, 2) : number(e, 1) - d; });
     }},
    {"mul",
     [](const Equation& e, std::size_t n) {
       const bool squares = e.site.operand(1) == e.site.operand(2);
       return of_real(e, [&](double d) {
         return squares ? std::copysign(std::sqrt(d), number(e, 1)) : d / number(e, 3 - n);
       });
     }},
    {"div",
     [](const Equation& e, std::size_t n) {
       return of_real(e, [&](double d) { return n == 1 ? d * number(e, 2) : number(e, 1) / d; });
     }},
    {"fma mad",
     [](const Equation& e, std::size_t n) {
       return of_real(e, [&](double d) {
         if (n == 3) return d - number(e, 1) * number(e, 2);
         return (d - number(e, 3)) / number(e, 3 - n);
       });
     }},
    {"neg", [](const Equation& e, std::size_t) { return of_real(e, [](double d) { return -d; }); }},
    {"rcp", [](const Equation& e, std::size_t) { return of_real(e, [](double d) { return 1 / d; }); }},
    {"sqrt", [](const Equation& e, std::size_t) { return of_real(e, [](double d) { return d * d; }); }},
    {"rsqrt", [](const Equation& e, std::size_t) { return of_real(e, [](double d) { return 1 / (d * d); }); }},
    {"ex2", [](const Equation& e, std::size_t) { return of_real(e, [](double d) { return std::log2(d); }); }},
    {"lg2", [](const Equation& e, std::size_t) { return of_real(e, [](double d) { return std::exp2(d); }); }},
    {"tanh", [](const Equation& e, std::size_t) { return of_real(e, [](double d) { return std::atanh(d); }); }},
};

Bits invert(const Equation& e, std::size_t n) {
  const bool is_real = e.site.type() == "f32" || e.site.type() == "f64";
  for (const Inverse& row :
       is_real ? std::span<const Inverse>(kOfReals) : std::span<const Inverse>(kOfIntegers))
    if (is_among(e.site.parts.opcode, row.opcodes)) return row.source(e, n);
  return {};
}

/// A register that should have had other bits, behind an event.
struct Wanted {
  int event;  ///< looked for above it
  std::string name;
  std::uint64_t bits;
};

class Solver {
 public:
  Solver(const Experiment& experiment, const Code& code, const Slice& slice, Solutions& to)
      : experiment_(experiment), code_(code), slice_(slice), to_(to) {}
  void run();

 private:
  const Event& event(int i) const { return slice_.trace.events[static_cast<std::size_t>(i)]; }
  const Site& site(int i) const { return code_.site(event(i).site); }
  void want_stored(int store);
  void want(int above, std::string_view name, std::uint64_t bits) {
    if (queue_.size() < kMaxWanted && seen_.insert({above, std::string(name)}).second)
      queue_.push_back({above, std::string(name), bits});
  }
  void take_back(int at, const Wanted& one);
  void take_back_load(int load, const Wanted& one);
  void take_back_parts(int at, const Wanted& one);
  Bits value(int at, const OperandText& operand) const;

  const Experiment& experiment_;
  const Code& code_;
  const Slice& slice_;
  Solutions& to_;
  std::deque<Wanted> queue_;
  std::set<std::pair<int, std::string>> seen_;
};

Bits Solver::value(int at, const OperandText& operand) const {
  if (operand.kind == OperandText::Kind::literal) {
    const auto type = ptx::find_type(site(at).type());
    return ptx::literal_bits(operand.literal, type.value_or(ptx::Type::b64));
  }
  return event(at).source(operand.name);
}

// The registers of a store whose bytes the GPU left otherwise.
void Solver::want_stored(int store) {
  const std::optional<Cell> cell = accessed(site(store), event(store));
  if (!cell || !cell->symbol.empty() || site(store).parts.operands.size() < 2) return;
  const OperandText& from = site(store).parts.operands[1];
  const auto bytes = static_cast<std::size_t>(site(store).bits()) / 8;
  const bool is_vector = from.kind == OperandText::Kind::vector;
  for (std::size_t i = 0; i < (is_vector ? from.parts.size() : 1); ++i) {
    const OperandText& one = is_vector ? from.parts[i] : from;
    const Bits left = experiment_.left(cell->address + i * bytes, bytes);
    const Bits here = event(store).source(one.name);
    if (left && here && *left != (*here & mask_of(static_cast<int>(8 * bytes)))) want(store, one.name, *left);
  }
}

void Solver::take_back_load(int load, const Wanted& one) {
  const std::optional<Cell> from = accessed(site(load), event(load));
  for (int i = load - 1; from && i >= 0; --i) {
    if (!is_store(site(i)) || site(i).parts.operands.size() < 2) continue;
    const std::optional<Cell> to = accessed(site(i), event(i));
    if (!to || !to->meets(*from)) continue;
    if (to->address == from->address && to->bytes == from->bytes)
      want(i, site(i).parts.operands[1].name, one.bits);
    return;
  }
  to_[{event(load).site, 1}].push_back(one.bits);
}

// mov.b32 d, {a, b}: each source has its part. mov.b32 {a, b}, s: the other part is as it was.
void Solver::take_back_parts(int at, const Wanted& one) {
  const auto& operands = site(at).parts.operands;
  const bool packs = operands[1].kind == OperandText::Kind::vector;
  const std::vector<OperandText>& parts = packs ? operands[1].parts : operands[0].parts;
  const int width = site(at).bits() / std::max(1, static_cast<int>(parts.size()));
  std::uint64_t whole = packs ? 0 : value(at, operands[1]).value_or(0);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int shift = width * static_cast<int>(i);
    if (packs)
      want(at, parts[i].name, one.bits >> shift & mask_of(width));
    else if (parts[i].name == one.name)
      whole = (whole & ~(mask_of(width) << shift)) | (one.bits & mask_of(width)) << shift;
  }
  if (!packs) want(at, operands[1].name, whole);
}

void Solver::take_back(int at, const Wanted& one) {
  const Site& of = site(at);
  const auto& operands = of.parts.operands;
  if (is_load(of)) return take_back_load(at, one);
  if (operands.size() < 2 || !of.writes_first) return;
  if (operands[0].kind == OperandText::Kind::vector || operands[1].kind == OperandText::Kind::vector)
    return take_back_parts(at, one);
  Equation equation{of, {}, event(at).result(one.name).value_or(0), one.bits};
  for (const OperandText& operand : operands) equation.values.push_back(value(at, operand));
  for (std::size_t n = 1; n < operands.size(); ++n) {
    const Bits bits = invert(equation, n);
    if (!bits) continue;
    if (operands[n].kind == OperandText::Kind::literal)
      to_[{event(at).site, n}].push_back(*bits);
    else if (event(at).source(operands[n].name))
      want(at, operands[n].name, *bits);
  }
}

void Solver::run() {
  if (slice_.store < 0) return;
  want_stored(slice_.store);
  while (!queue_.empty()) {
    const Wanted one = queue_.front();
    queue_.pop_front();
    int at = one.event - 1;
    while (at >= 0 && !event(at).result(one.name)) --at;
    if (at >= 0) take_back(at, one);
  }
}

}  // namespace

void solve(const Experiment& experiment, const Code& code, const Slice& slice, Solutions& to) {
  Solver(experiment, code, slice, to).run();
}

}  // namespace warpbit::arbiter
