// SPDX-License-Identifier: Apache-2.0
#include "grid/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace warpbit::grid {
namespace {

constexpr std::uint64_t kAlignment = 256, kGap = std::uint64_t{1} << 20, kHeapAlignment = 16;

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

ZeroBytes::ZeroBytes(std::uint64_t bytes) : data_(static_cast<std::byte*>(std::calloc(bytes, 1))) {
  if (!data_ && bytes != 0) throw std::bad_alloc();
}
void ZeroBytes::Free::operator()(std::byte* data) const {
  std::free(data);
}

// ---- Heap

Heap::Heap() {
  add_gap(kHeap, kBytes);
}

void Heap::add_gap(std::uint64_t address, std::uint64_t bytes) {
  gaps_.emplace(address, bytes);
  by_size_.emplace(bytes, address);
}
void Heap::take_gap(std::uint64_t address, std::uint64_t bytes) {
  gaps_.erase(address);
  by_size_.erase({bytes, address});
}

std::uint64_t Heap::allocate(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0 || bytes > kBytes) return 0;
  const std::uint64_t wanted = rounded(bytes, kHeapAlignment);
  const auto found = by_size_.lower_bound({wanted, 0});
  if (found == by_size_.end()) return 0;
  const auto [size, address] = *found;
  take_gap(address, size);
  if (size > wanted) add_gap(address + wanted, size - wanted);
  sizes_.emplace(address, bytes);
  std::fill_n(defined(address), bytes, std::byte{0});
  return address;
}

std::byte* Heap::defined(std::uint64_t address) const {
  return defined_.data() + (address - kHeap);
}

bool Heap::release(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = sizes_.find(address);
  if (found == sizes_.end()) return false;
  std::uint64_t bytes = rounded(found->second, kHeapAlignment);
  sizes_.erase(found);
  // With the gaps on both sides.
  auto after = gaps_.lower_bound(address);
  if (after != gaps_.end() && after->first == address + bytes) {
    const auto [next, size] = *after++;
    take_gap(next, size);
    bytes += size;
  }
  if (after != gaps_.begin()) {
    const auto [before, size] = *std::prev(after);
    if (before + size == address) {
      take_gap(before, size);
      address = before;
      bytes += size;
    }
  }
  add_gap(address, bytes);
  return true;
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
  return insert(next_, {0, bytes, nullptr, true, std::move(name)});
}
std::uint64_t GlobalMemory::add_constant(std::string name, std::uint64_t bytes) {
  return insert(next_constant_, {0, bytes, nullptr, false, std::move(name)});
}
void GlobalMemory::begin_undefined(std::uint64_t address, std::byte* defined) {
  Range& range = *std::ranges::find(ranges_, address, &Range::address);
  range.defined = defined;
  range.began_with_values = false;
}
void GlobalMemory::follow_values() {
  for (Range& range : ranges_) {
    if (range.defined != nullptr || !range.writable || range.bytes == 0) continue;
    range.defined = owned_.emplace_back(range.bytes).data();
    std::fill_n(range.defined, range.bytes, std::byte{0xFF});
  }
}

void GlobalMemory::allocate() {
  for (Range& range : ranges_)
    if (range.data == nullptr && range.bytes != 0) range.data = owned_.emplace_back(range.bytes).data();
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
  return range.has(address, bytes) ? &range : nullptr;
}

bool GlobalMemory::overlaps(std::uint64_t address, std::uint64_t bytes) const {
  return std::ranges::any_of(ranges_, [&](const Range& one) {
    return address - one.address < one.bytes || one.address - address < bytes;
  });
}

const GlobalMemory::Range* GlobalMemory::find_byte(const std::byte* byte) const {
  const auto found = std::ranges::find_if(
      ranges_, [&](const Range& one) { return byte >= one.data && byte < one.data + one.bytes; });
  return found == ranges_.end() ? nullptr : &*found;
}

std::string GlobalMemory::Range::part(std::uint64_t first, std::uint64_t count) const {
  return count == 1 ? fmt::format("byte {} of {}", first, name)
                    : fmt::format("bytes {} to {} of {}", first, first + count - 1, name);
}

// The array before or behind an address that is likely to be meant: the nearer one.
const GlobalMemory::Range* GlobalMemory::near(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(ranges_, address, {}, &Range::address);
  const Range* const before = after == ranges_.begin() ? nullptr : &*(after - 1);
  if (before != nullptr && before->heap != nullptr) return before;
  const std::uint64_t past = before == nullptr ? kGap + 1
                                               : address - std::min(address, before->address + before->bytes),
                      ahead = after == ranges_.end() || after->heap != nullptr ? kGap + 1
                                                                               : after->address - address;
  if (std::min(past, ahead) > kGap) return nullptr;
  return ahead < past ? &*after : before;
}

std::string GlobalMemory::describe(std::uint64_t address, std::uint64_t bytes) const {
  const std::string what = fmt::format("{} byte{} at {:#x}", bytes, bytes == 1 ? "" : "s", address);
  const Range* const range = near(address);
  if (range == nullptr) return what;
  if (range->heap != nullptr) return what + " (of the heap, where nothing is allocated)";
  if (address < range->address)
    return fmt::format("{} ({} bytes before {})", what, range->address - address, range->name);
  return fmt::format("{} ({}, which has {} bytes)", what, range->part(address - range->address, bytes),
                     range->bytes);
}

}  // namespace warpbit::grid
