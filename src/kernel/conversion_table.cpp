// SPDX-License-Identifier: Apache-2.0
#include "kernel/conversion_table.hpp"

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>

namespace warpbit {
namespace {

constexpr int kMaxFraction = 10;  // of a result of an f32

// The bits of an f32 below those that count one by one.
int dropped_bits(const Conversion& c) {
  const Format &from = format(c.from), &to = format(c.to);
  return from.bits <= 16 ? 0 : from.fraction_bits - to.fraction_bits - 1;
}

}  // namespace

bool ConversionTable::has(const Conversion& c) {
  const Format &from = format(c.from), &to = format(c.to);
  if (c.rounding == CvtRounding::rs || c.scaling != Scaling::none || from.is_integer || to.is_integer ||
      to.bits > 32)
    return false;
  return from.bits <= 16 || (c.from == FormatId::f32 && to.fraction_bits <= kMaxFraction);
}

ConversionTable::ConversionTable(const Conversion& c)
    : mask_(static_cast<std::uint32_t>(format(c.from).mask())),
      below_((std::uint32_t{1} << dropped_bits(c)) - 1),
      drop_(dropped_bits(c)),
      shift_(drop_ > 0 ? 1 : 0) {
  codes_.resize((std::size_t{mask_} >> drop_ << shift_) + 1 + static_cast<std::size_t>(shift_));
  for (std::size_t i = 0; i < codes_.size(); ++i) {
    const std::uint64_t code = i >> shift_ << drop_ | (i & static_cast<std::size_t>(shift_));
    codes_[i] = static_cast<std::uint32_t>(convert(c, code, 0));
  }
}

const ConversionTable* find_table(const Conversion& conversion, std::size_t elements) {
  struct Entry {
    Conversion conversion;
    std::size_t converted = 0;
    std::unique_ptr<const ConversionTable> table = nullptr;
  };
  static std::mutex mutex;
  static std::list<Entry> entries;
  if (!ConversionTable::has(conversion)) return nullptr;
  const std::lock_guard lock(mutex);
  auto at = std::ranges::find(entries, conversion, &Entry::conversion);
  if (at == entries.end()) at = entries.insert(entries.end(), Entry{conversion});
  if (at->table != nullptr) return at->table.get();
  at->converted += elements;
  const std::size_t codes = std::size_t{1} << (format(conversion.from).bits - dropped_bits(conversion));
  if (at->converted < codes) return nullptr;
  at->table = std::make_unique<const ConversionTable>(conversion);
  return at->table.get();
}

}  // namespace warpbit
