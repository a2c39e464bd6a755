// SPDX-License-Identifier: Apache-2.0
#include "grid/early_reads.hpp"

#include <vector>

#include "block/order.hpp"

namespace warpbit::grid {

std::shared_ptr<EarlyRead> EarlyReads::add(std::int32_t site, int warp, EarlyRead read) {
  std::shared_ptr<EarlyRead>& at = all_[{site, warp}];
  if (at == nullptr) at = std::make_shared<EarlyRead>();
  *at = std::move(read);
  return at;
}

bool EarlyReads::wait_for_use(const GlobalConflict& found, const block::Order& order, const Fault& race) {
  if (found.before.writes || found.before.strong || !found.now.writes) return false;
  const auto meets = [&](const EarlyRead& one) {
    return one.thread / block::kWarp != found.now.thread / block::kWarp &&
           one.first < found.byte + found.bytes && found.byte < one.first + one.bytes &&
           !order.before(one.thread, one.clock, found.now.thread);
  };
  std::vector<EarlyRead*> all;
  bool has_site = false,
       any_used = false;  // the record keeps the latest read of a warp, and others are before it
  for (const auto& [key, one] : all_) {
    if (!meets(*one)) continue;
    all.push_back(one.get());
    has_site = has_site || key.first == found.before.site;
    any_used = any_used || one->used;
  }
  if (!has_site || any_used) return false;
  const auto told = std::make_shared<const Fault>(race);
  for (EarlyRead* one : all)
    if (one->race == nullptr) one->race = told;
  return true;
}

}  // namespace warpbit::grid
