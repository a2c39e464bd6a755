// SPDX-License-Identifier: Apache-2.0
#include "grid/undefined_bits.hpp"

#include <algorithm>
#include <bit>

namespace warpbit::grid {
namespace {

using scalar::Operation, scalar::Results, scalar::Sources;

/// An instruction, what it reads in a lane, and what of that is undefined.
struct Case {
  const Operation& operation;
  const Sources &value, &undefined;
  const std::array<std::uint64_t, 4>& unknown;
  const std::array<int, 4>& same;

  std::uint64_t known(int i) const { return value[i] & ~undefined[i]; }
  std::uint64_t may_be_set(int i) const { return value[i] | undefined[i]; }
  bool is_same(int i, int j) const {
    return same[static_cast<std::size_t>(i)] == same[static_cast<std::size_t>(j)];
  }
  bool cancel() const { return unknown[0] != 0 && unknown[0] == unknown[1]; }
};

constexpr Results kDefined = {}, kUndefined = {~std::uint64_t{0}, true, true};

bool is_of_integers(ptx::Type type) {
  return !ptx::is_packed(type) && (ptx::is_integer(type) || ptx::row(type).cls == ptx::TypeClass::bits);
}

/// How elements lie in a register: the bits from one to the next, and those that count.
struct Elements {
  int stride = 0, bits = 0;

  std::uint64_t mask(int i) const { return ones(bits) << i * stride; }
};
Elements elements(const Operation& o, int source) {
  const auto k = static_cast<std::size_t>(source);
  if (const scalar::Narrow& numbers = o.narrow[k + 1]; numbers.stride != 0)
    return {numbers.stride, format(numbers.format).bits};
  const int bits = ptx::bits(ptx::row(o.from[k]).element);
  return {bits, bits};
}

// All bits of the result; of packed types those of the elements that have some.
Results whole(const Case& of) {
  const Operation& o = of.operation;
  const bool is_narrow = o.narrow[0].stride != 0, both = ptx::is_packed(o.type) && ptx::is_packed(o.to);
  const bool by_element = is_narrow || both || (ptx::is_packed(o.type) && ptx::bits(o.type) == ptx::bits(o.to));
  if (!by_element || of.undefined.predicate) return kUndefined;
  const int count = is_narrow ? 4 : ptx::bits(o.type) / ptx::bits(ptx::row(o.type).element);
  const int bits = is_narrow ? 8 : both ? ptx::bits(ptx::row(o.to).element) : ptx::bits(o.type) / count;
  Results out;
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < std::min(of.value.count, 3); ++k)
      if ((of.undefined[k] & elements(o, k).mask(i)) != 0) out.value |= ones(bits) << i * bits;
  return out;
}

// Each bit of the result depends on the same bit of the sources: it is undefined if it differs as undefined ones are 0 or 1.
Results bitwise(const Case& of) {
  std::uint64_t any = 0, all = ~std::uint64_t{0};
  for (unsigned which = 0; which < 1U << of.value.count; ++which) {
    Sources sources = of.value;
    for (int i = 0; i < of.value.count; ++i) {
      const bool set = (which >> of.same[static_cast<std::size_t>(i)] & 1) != 0;
      sources.value[static_cast<std::size_t>(i)] = set ? of.may_be_set(i) : of.known(i);
    }
    const std::uint64_t result = scalar::execute(of.operation, sources).value;
    any |= result;
    all &= result;
  }
  const bool second = any != all || of.undefined.predicate;
  return {any ^ all, second, second};
}

// It moves bits as it would move those that are undefined.
Results moves(const Case& of) {
  if (of.operation.sat) return kUndefined;
  Sources sources = of.value;
  for (int i = 0; i < of.value.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (of.operation.moved[at] == 'd')
      sources.value[at] = of.undefined[i];
    else if (of.undefined[i] != 0)
      return kUndefined;
  }
  return {scalar::execute(of.operation, sources).value};
}

// Carries go upwards.
Results from_bit(int lowest, const Operation& operation) {
  if (lowest >= ptx::bits(operation.to)) return kDefined;
  return {ones(ptx::bits(operation.to)) & ~ones(lowest), true, true};
}

Results sums(const Case& of) {
  if (of.operation.sat || of.undefined.carry) return kUndefined;
  if (of.operation.spread == scalar::Spread::difference && of.cancel()) return kDefined;
  std::uint64_t bits = 0;
  for (const std::uint64_t one : of.undefined.value) bits |= one;
  Results out = from_bit(std::countr_zero(bits), of.operation);
  out.carry = true;
  return out;
}

// The undefined bits of one factor count from the other one's lowest bit on; where that is 0, not at all.
Results multiplies(const Case& of) {
  const Operation& o = of.operation;
  if (o.sat || of.undefined.carry || o.carry) return kUndefined;
  int lowest = 128;
  for (const auto& [i, other] : {std::pair(0, 1), std::pair(1, 0)}) {
    if (of.undefined[i] == 0 || of.may_be_set(other) == 0) continue;
    if (o.mode == scalar::Mode::high) return kUndefined;
    lowest = std::min(lowest, std::countr_zero(of.undefined[i]) + std::countr_zero(of.may_be_set(other)));
  }
  if (of.undefined[2] != 0) lowest = std::min(lowest, std::countr_zero(of.undefined[2]));
  return from_bit(lowest, o);
}

// The least and the greatest value that a source may have.
std::array<std::uint64_t, 2> range(const Case& of, int i) {
  const std::uint64_t sign = std::uint64_t{1} << (ptx::bits(of.operation.type) - 1);
  const bool by_sign = ptx::is_signed(of.operation.type) && (of.undefined[i] & sign) != 0;
  const std::uint64_t turned = by_sign ? sign : 0;
  return {of.known(i) ^ turned, of.may_be_set(i) ^ turned};
}

// It grows with each of its two sources, or falls: the ends of their ranges tell whether every value gives the same result.
Results monotone(const Case& of) {
  const Results first = scalar::execute(of.operation, of.value);
  for (const std::uint64_t a : range(of, 0))
    for (const std::uint64_t b : range(of, 1)) {
      Sources sources = of.value;
      sources.value[0] = a;
      sources.value[1] = b;
      const Results other = scalar::execute(of.operation, sources);
      if (other.value != first.value || other.second != first.second) return kUndefined;
    }
  return kDefined;
}

// A predicate that is false decides a conjunction, one that is true a disjunction.
Results compares(const Case& of) {
  using scalar::Boolean, scalar::Compare;
  const Operation& o = of.operation;
  if (of.undefined.predicate) return kUndefined;
  if (o.boolean == (of.value.predicate ? Boolean::disjunction : Boolean::conjunction)) return kDefined;
  if (!is_of_integers(o.type) || of.undefined[2] != 0) return kUndefined;
  if (of.is_same(0, 1)) return kDefined;
  if (o.compare != Compare::eq && o.compare != Compare::ne) return monotone(of);
  if (of.cancel()) return kDefined;
  const std::uint64_t known = ones(ptx::bits(o.type)) & ~(of.undefined[0] | of.undefined[1]);
  return ((of.value[0] ^ of.value[1]) & known) != 0 ? kDefined : kUndefined;
}

Results selects(const Case& of) {
  if (of.undefined.predicate) return {of.undefined[0] | of.undefined[1] | (of.value[0] ^ of.value[1])};
  return {of.undefined[of.value.predicate ? 0 : 1]};
}

// The unknown of a sum that is a source, or a source and a known number.
std::uint64_t sum_of_one(const Case& of) {
  const Operation& o = of.operation;
  const bool adds = o.function == scalar::Function::add, subtracts = o.function == scalar::Function::sub;
  if (o.sat || o.takes_carry || of.undefined.carry || !(adds || subtracts)) return 0;
  if (of.undefined[1] == 0) return of.unknown[0];
  return of.undefined[0] == 0 && adds ? of.unknown[1] : 0;
}
std::uint64_t one_of_two(const Case& of) {
  return of.undefined.predicate ? 0 : of.unknown[of.value.predicate ? 0 : 1];
}

UndefinedResults by_rule(const Case& of) {
  using scalar::Spread;
  const Operation& o = of.operation;
  const bool integers = is_of_integers(o.type) && is_of_integers(o.to);
  switch (o.spread) {
    case Spread::whole: return {whole(of)};
    case Spread::bitwise: return {bitwise(of)};
    case Spread::moved: return {o.function == scalar::Function::cvt && !integers ? whole(of) : moves(of)};
    case Spread::compared: return {compares(of)};
    case Spread::selected: return {selects(of), one_of_two(of)};
    case Spread::parts: return {{scalar::undefined_parts(o, of.undefined)}};
    default: break;
  }
  if (!integers) return {whole(of)};
  if (o.spread == Spread::product) return {multiplies(of)};
  if (o.spread == Spread::monotone) return {monotone(of)};
  return {sums(of), sum_of_one(of)};
}

}  // namespace

UndefinedResults undefined_bits(const Operation& operation, const Sources& value,
                                const UndefinedSources& undefined) {
  const Sources& bits = undefined.bits;
  const bool any = bits.predicate || bits.carry ||
                   std::ranges::any_of(bits.value, [](std::uint64_t one) { return one != 0; });
  return any ? by_rule({operation, value, bits, undefined.unknown, undefined.same}) : UndefinedResults{};
}

}  // namespace warpbit::grid
