// SPDX-License-Identifier: Apache-2.0
// Which mistake makes these registers of one operand of what they should be.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <set>

#include "diagnose/elements.hpp"
#include "diagnose/hypothesis.hpp"
#include "diagnose/verdict.hpp"

namespace warpbit {
namespace {

using namespace diagnosis;
using SlotCodes = std::vector<std::uint64_t>;

SlotCodes codes_of(const Fragment& f, std::span<const std::byte> registers) {
  const auto bytes = static_cast<std::size_t>(f.op().register_bits / 8);
  SlotCodes out;
  for (std::size_t at = 0; at < registers.size(); at += bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, registers.data() + at, bytes);
    for (int slot = 0; slot < f.per_register(); ++slot)
      out.push_back(word >> f.packing().low_bit_of(slot) & f.packing().mask());
  }
  return out;
}

// `known`: where `predicted` says what there is.
Score compare(const SlotCodes& right, const SlotCodes& got, const SlotCodes& predicted,
              const std::vector<bool>& known) {
  Score out;
  std::set<std::uint64_t> values;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!known.empty() && !known[i]) continue;
    if (got[i] != predicted[i]) {
      ++out.contradicted;
      continue;
    }
    ++out.explained;
    if (got[i] == right[i]) continue;
    ++out.gained;
    if (values.size() < kLeastValues) values.insert(got[i]);
  }
  out.values = values.size();
  return out;
}

// Mistakes that change each number by itself.
struct CodeChange {
  Hypothesis h;
  std::function<std::uint64_t(std::uint64_t)> change;
};
std::vector<CodeChange> code_changes(const Fragment& f) {
  std::vector<CodeChange> out;
  const Format& format = *find_format(f.op().format);
  const char name = f.letter();
  if (format.is_integer || !format.is_signed) return out;
  const std::uint64_t sign = std::uint64_t{1} << (format.bits - 1);
  out.push_back({{"sign", f.role(), fmt::format("{} is negated", name), "the sign", 1},
                 [sign](std::uint64_t x) { return x ^ sign; }});
  for (int n = -16; n <= 16; ++n)
    if (n != 0)
      out.push_back({{"scaled", f.role(),
                      fmt::format("{} is {} by {}", name, n > 0 ? "multiplied" : "divided", 1 << std::abs(n)),
                      "which scale is forgotten or applied twice", 3},
                     [&format, n](std::uint64_t x) { return scaled(format, x, n); }});
  // The numbers are right, in another format of as many bits.
  for (const Format& other : formats())
    if (other.bits == format.bits && other.is_signed && !other.is_integer && other.name != format.name)
      out.push_back(
          {{"type", f.role(), fmt::format("{} is written as {} instead of {}", name, other.name, format.name),
            "the type of the conversion", 1},
           [&](std::uint64_t x) {
             return round(other, value_of(decode(format, x), format), Rounding::nearest_even);
           }});
  return out;
}

}  // namespace

Result<Diagnosis> diagnose(const Operand& operand, int lanes, std::span<const std::byte> expected,
                           std::span<const std::byte> got) {
  constexpr std::array kParts{Part::a, Part::b, Part::c, Part::d};
  const bool is_matrix =
      std::ranges::find(kParts, operand.part) != kParts.end() && operand.registers > 0 && lanes > 0;
  const auto bytes =
      static_cast<std::size_t>(std::max(lanes, 0) * operand.registers * (operand.register_bits / 8));
  if (!is_matrix || lanes != operand.fragment.lanes())
    return Error{Errc::operand_kind, std::string(operand.role), "no matrix in registers of these lanes",
                 "A, B, C or D in registers"};
  if (expected.size() != bytes || got.size() != bytes)
    return Error{Errc::view_mismatch, std::string(operand.role),
                 fmt::format("{} and {} bytes", expected.size(), got.size()), fmt::format("{} each", bytes)};
  const FragmentMap& map = operand.fragment;
  Hypotheses hypotheses{{Fragment(operand.part, operand, lanes)}, {map.rows(), map.columns()}};
  const Fragment& f = hypotheses.fragments[0];
  const SlotCodes right = codes_of(f, expected), wrong = codes_of(f, got);
  Diagnosis out;
  out.elements = right.size();
  for (std::size_t i = 0; i < right.size(); ++i) out.right += right[i] == wrong[i] ? 1 : 0;
  if (out.right == out.elements) {
    out.verdict = Verdict::correct;
    return out;
  }
  collect_places(hypotheses);
  const std::vector<CodeChange> changes = code_changes(f);
  out.hypotheses = hypotheses.all.size() + changes.size();
  std::vector<Candidate> candidates;
  const auto judge = [&](const Hypothesis& h, const SlotCodes& predicted, const std::vector<bool>& known) {
    const Candidate c{{&h}, compare(right, wrong, predicted, known)};
    if (c.score.explained > out.right || c.is_consistent()) candidates.push_back(c);
  };
  SlotCodes predicted = right;
  std::vector<bool> known(right.size());
  for (const Hypothesis& h : hypotheses.all) {
    for (std::size_t i = 0; i < right.size(); ++i) {
      const std::int32_t from = h.moves[0].map[i];
      const bool inside = from >= 0 && from < static_cast<std::int32_t>(right.size());
      predicted[i] = inside ? right[static_cast<std::size_t>(from)] : 0;
      known[i] = inside || from == kZero;
    }
    judge(h, predicted, known);
  }
  for (const CodeChange& change : changes) {
    std::ranges::transform(right, predicted.begin(), change.change);
    judge(change.h, predicted, {});
  }
  std::ranges::stable_sort(candidates, is_better);
  conclude(candidates, {}, out);
  return out;
}

}  // namespace warpbit
