// SPDX-License-Identifier: Apache-2.0
#include "explain/natural.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace warpbit {

constexpr int kLimb = 32;

Natural::Natural(u128 value) {
  for (; value != 0; value >>= kLimb) limbs_.push_back(static_cast<std::uint32_t>(value));
}

void Natural::trim() {
  while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
}

int Natural::bit_length() const {
  if (limbs_.empty()) return 0;
  return static_cast<int>(limbs_.size() - 1) * kLimb + std::bit_width(limbs_.back());
}

u128 Natural::low_bits() const {
  u128 out = 0;
  for (std::size_t i = 0; i < limbs_.size() && i < 4; ++i)
    out |= static_cast<u128>(limbs_[i]) << (kLimb * static_cast<int>(i));
  return out;
}

bool Natural::bit(int i) const {
  const auto limb = static_cast<std::size_t>(i / kLimb);
  return limb < limbs_.size() && (limbs_[limb] >> (i % kLimb) & 1) != 0;
}

void Natural::multiply_add(std::uint32_t factor, std::uint32_t summand) {
  std::uint64_t carry = summand;
  for (std::uint32_t& limb : limbs_) {
    carry += std::uint64_t{limb} * factor;
    limb = static_cast<std::uint32_t>(carry);
    carry >>= kLimb;
  }
  if (carry != 0) limbs_.push_back(static_cast<std::uint32_t>(carry));
  trim();
}

void Natural::multiply_power(std::uint32_t base, int n) {
  while (n > 0) {
    std::uint32_t power = base;
    for (--n; n > 0 && std::uint64_t{power} * base <= ~std::uint32_t{0}; --n) power *= base;
    multiply_add(power, 0);
  }
}

void Natural::shift_left(int n) {
  if (limbs_.empty()) return;
  multiply_add(std::uint32_t{1} << (n % kLimb), 0);
  limbs_.insert(limbs_.begin(), static_cast<std::size_t>(n / kLimb), 0);
}

void Natural::add(const Natural& x) {
  limbs_.resize(std::max(limbs_.size(), x.limbs_.size()) + 1);
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < limbs_.size(); ++i) {
    carry += std::uint64_t{limbs_[i]} + (i < x.limbs_.size() ? x.limbs_[i] : 0);
    limbs_[i] = static_cast<std::uint32_t>(carry);
    carry >>= kLimb;
  }
  trim();
}

void Natural::subtract(const Natural& x) {
  std::uint64_t borrow = 0;
  for (std::size_t i = 0; i < limbs_.size(); ++i) {
    const std::uint64_t taken = borrow + (i < x.limbs_.size() ? x.limbs_[i] : 0);
    borrow = limbs_[i] < taken;
    limbs_[i] = static_cast<std::uint32_t>(limbs_[i] - taken);
  }
  trim();
}

// What is shorter than the divisor is the first rest; then bit by bit: the rest doubles, and loses the divisor
// where it can.
Natural Natural::divide(const Natural& divisor) {
  const int bits = std::max(bit_length() - divisor.bit_length() + 1, 0);  // of the quotient, at most
  Natural rest = shifted_right(bits), quotient;
  quotient.limbs_.resize(static_cast<std::size_t>((bits + kLimb - 1) / kLimb));
  for (int i = bits - 1; i >= 0; --i) {
    rest.multiply_add(2, bit(i) ? 1 : 0);
    if (rest < divisor) continue;
    rest.subtract(divisor);
    quotient.limbs_[static_cast<std::size_t>(i / kLimb)] |= std::uint32_t{1} << (i % kLimb);
  }
  quotient.trim();
  *this = std::move(quotient);
  return rest;
}

Natural Natural::shifted_right(int n) const {
  Natural out;
  const auto skipped = std::min(static_cast<std::size_t>(n / kLimb), limbs_.size());
  out.limbs_.assign(limbs_.begin() + static_cast<std::ptrdiff_t>(skipped), limbs_.end());
  const int low = n % kLimb;
  for (std::size_t i = 0; low != 0 && i < out.limbs_.size(); ++i) {
    const std::uint32_t above = i + 1 < out.limbs_.size() ? out.limbs_[i + 1] : 0;
    out.limbs_[i] = out.limbs_[i] >> low | above << (kLimb - low);
  }
  out.trim();
  return out;
}

std::uint32_t Natural::divide_small(std::uint32_t divisor) {
  std::uint64_t rest = 0;
  for (std::size_t i = limbs_.size(); i-- > 0;) {
    rest = rest << kLimb | limbs_[i];
    limbs_[i] = static_cast<std::uint32_t>(rest / divisor);
    rest %= divisor;
  }
  trim();
  return static_cast<std::uint32_t>(rest);
}

Natural Natural::times(std::uint64_t factor) const {
  Natural out = *this, low = *this;
  out.multiply_add(static_cast<std::uint32_t>(factor >> kLimb), 0);
  out.shift_left(kLimb);
  low.multiply_add(static_cast<std::uint32_t>(factor), 0);
  out.add(low);
  return out;
}

std::string Natural::decimal() const {
  constexpr std::uint32_t kNineDigits = 1'000'000'000;
  std::vector<std::uint32_t> groups;
  for (Natural rest = *this; !rest.is_zero();) groups.push_back(rest.divide_small(kNineDigits));
  if (groups.empty()) return "0";
  std::string out = std::to_string(groups.back());
  for (std::size_t i = groups.size() - 1; i-- > 0;) out += fmt::format("{:09}", groups[i]);
  return out;
}

std::strong_ordering operator<=>(const Natural& x, const Natural& y) {
  if (x.limbs_.size() != y.limbs_.size()) return x.limbs_.size() <=> y.limbs_.size();
  for (std::size_t i = x.limbs_.size(); i-- > 0;)
    if (x.limbs_[i] != y.limbs_[i]) return x.limbs_[i] <=> y.limbs_[i];
  return std::strong_ordering::equal;
}

}  // namespace warpbit
