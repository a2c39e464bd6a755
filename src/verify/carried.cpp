// SPDX-License-Identifier: Apache-2.0
#include "verify/carried.hpp"

#include <algorithm>

namespace warpbit::verification {

std::vector<std::size_t> Carried::carry(std::uint64_t address, std::span<std::byte> bytes) const {
  std::vector<std::size_t> changed;
  for (std::uint64_t i = 0; i < bytes.size();) {
    const std::uint64_t at = address + i, first = at % kPage;
    const std::uint64_t count = std::min(kPage - first, bytes.size() - i);
    const auto page = pages_.find(at / kPage);
    for (std::uint64_t j = 0; page != pages_.end() && j < count; ++j) {
      if (!page->second->is_known[first + j]) continue;
      if (page->second->gpu[first + j] == bytes[i + j])
        bytes[i + j] = page->second->here[first + j];
      else
        changed.push_back(i + j);
    }
    i += count;
  }
  return changed;
}

void Carried::leave(std::uint64_t address, std::span<const std::byte> gpu, std::span<const std::byte> here) {
  for (std::uint64_t i = 0; i < gpu.size(); ++i) {
    const std::uint64_t at = address + i;
    std::unique_ptr<Page>& page = pages_[at / kPage];
    if (!page) page = std::make_unique<Page>();
    page->gpu[at % kPage] = gpu[i];
    page->here[at % kPage] = here[i];
    page->is_known[at % kPage] = true;
  }
}

void Carried::copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  for (std::uint64_t i = 0; i < bytes; ++i) {
    const auto page = pages_.find((from + i) / kPage);
    const std::uint64_t at = (from + i) % kPage;
    if (page == pages_.end() || !page->second->is_known[at]) continue;
    const std::byte gpu = page->second->gpu[at], here = page->second->here[at];
    leave(to + i, std::span(&gpu, 1), std::span(&here, 1));
  }
}

}  // namespace warpbit::verification
