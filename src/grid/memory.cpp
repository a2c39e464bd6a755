// SPDX-License-Identifier: Apache-2.0
#include "grid/memory.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warpbit::grid {
namespace {

constexpr std::uint64_t kAlignment = 256, kGap = std::uint64_t{1} << 20, kHeapAlignment = 16;

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

// ---- Heap: the first gap that is large enough

std::uint64_t Heap::allocate(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0 || bytes > kBytes) return 0;
  std::uint64_t at = kHeap;
  for (const auto& [address, size] : sizes_) {
    if (address - at >= bytes) break;
    at = rounded(address + size, kHeapAlignment);
  }
  if (at + bytes > kHeap + kBytes) return 0;
  sizes_.emplace(at, bytes);
  return at;
}

bool Heap::release(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  return sizes_.erase(address) == 1;
}

bool Heap::holds(std::uint64_t address, std::uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto after = sizes_.upper_bound(address);
  if (after == sizes_.begin()) return false;
  const auto& [first, size] = *std::prev(after);
  return bytes <= size && address - first <= size - bytes;
}

// ---- Ranges

void GlobalMemory::add(Range range) {
  const auto after = std::ranges::upper_bound(ranges_, range.address, {}, &Range::address);
  ranges_.insert(after, std::move(range));
}

std::uint64_t GlobalMemory::insert(std::uint64_t& next, Range range) {
  const std::uint64_t address = range.address = next;
  next += rounded(range.bytes + kGap, kAlignment);
  add(std::move(range));
  return address;
}

std::uint64_t GlobalMemory::add(std::string name, std::span<std::byte> bytes) {
  return insert(next_, {0, bytes.size(), bytes.data(), true, std::move(name)});
}
std::uint64_t GlobalMemory::add(std::string name, std::uint64_t bytes) {
  return add(std::move(name), owned_.emplace_back(bytes));
}
std::uint64_t GlobalMemory::add_constant(std::string name, std::uint64_t bytes) {
  std::vector<std::byte>& data = owned_.emplace_back(bytes);
  return insert(next_constant_, {0, bytes, data.data(), false, std::move(name)});
}

void GlobalMemory::share(const GlobalMemory& other) {
  ranges_ = other.ranges_;
  next_ = other.next_;
  next_constant_ = other.next_constant_;
}

const GlobalMemory::Range* GlobalMemory::find(std::uint64_t address, std::uint64_t bytes) const {
  const auto after = std::ranges::upper_bound(ranges_, address, {}, &Range::address);
  if (after == ranges_.begin()) return nullptr;
  const Range& range = *(after - 1);
  const std::uint64_t at = address - range.address;
  if (bytes > range.bytes || at > range.bytes - bytes) return nullptr;
  return range.heap == nullptr || range.heap->holds(address, bytes) ? &range : nullptr;
}

std::string GlobalMemory::describe(std::uint64_t address, std::uint64_t bytes) const {
  const std::string what = fmt::format("{} bytes from {:#x} on", bytes, address);
  const auto after = std::ranges::upper_bound(ranges_, address, {}, &Range::address);
  if (after == ranges_.begin()) return what;
  const Range& range = *(after - 1);
  const std::uint64_t at = address - range.address;
  if (range.heap != nullptr) return what + " (of the heap, where nothing is allocated)";
  if (at > range.bytes + kGap) return what;
  return fmt::format("{} (byte {} of {}, which has {})", what, at, range.name, range.bytes);
}

}  // namespace warpbit::grid
