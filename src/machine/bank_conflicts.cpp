// SPDX-License-Identifier: Apache-2.0
#include "warpbit/state.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace warpbit {
namespace {

constexpr std::uint64_t kBanks = 32, kBankBytes = 4;

// The words accessed in each bank.
using Banks = std::array<std::set<std::uint64_t>, kBanks>;

int extra_wavefronts(std::span<const std::uint64_t> phase, std::uint64_t line_bytes) {
  Banks banks;
  for (const std::uint64_t address : phase) {
    const std::uint64_t first = address / kBankBytes;
    const std::uint64_t words = (address % kBankBytes + line_bytes + kBankBytes - 1) / kBankBytes;
    for (std::uint64_t word = first; word != first + words; ++word) banks[word % kBanks].insert(word);
  }
  std::size_t fullest = 1;
  for (const auto& words : banks) fullest = std::max(fullest, words.size());
  return static_cast<int>(fullest) - 1;
}

}  // namespace

BankConflicts bank_conflicts(std::span<const std::uint64_t> addresses, int line_bytes) {
  const auto bytes = static_cast<std::uint64_t>(line_bytes);
  const std::size_t lanes = std::max<std::uint64_t>(1, kBanks * kBankBytes / bytes);
  BankConflicts out;
  for (; !addresses.empty(); addresses = addresses.subspan(std::min(lanes, addresses.size()))) {
    out.phases.push_back(extra_wavefronts(addresses.first(std::min(lanes, addresses.size())), bytes));
    out.total += out.phases.back();
  }
  return out;
}

}  // namespace warpbit
