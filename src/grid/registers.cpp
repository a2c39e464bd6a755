// SPDX-License-Identifier: Apache-2.0
#include "grid/registers.hpp"

#include <utility>

namespace warpbit::grid {

// Blocks come and go by the thousand: without this the system would clear new memory for each.
std::vector<RegisterFile::Slots>& RegisterFile::spare() {
  static thread_local std::vector<Slots> out;
  return out;
}

void RegisterFile::forget_spare() {
  spare().clear();
}

RegisterFile::~RegisterFile() {
  constexpr std::size_t kSpare = 64;
  if (slots_.empty() || spare().size() == kSpare) return;
  slots_.clear();
  spare().push_back(std::move(slots_));
}

void RegisterFile::reserve(std::uint32_t slots, std::uint32_t predicates) {
  if (slots_.empty() && slots != 0 && !spare().empty()) {
    slots_ = std::move(spare().back());
    spare().pop_back();
  }
  if (slots_.size() < std::size_t{slots} * kLanes) slots_.resize(std::size_t{slots} * kLanes);
  if (predicates_.size() < predicates) predicates_.resize(predicates);
}

}  // namespace warpbit::grid
