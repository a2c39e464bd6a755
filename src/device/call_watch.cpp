// SPDX-License-Identifier: Apache-2.0
#include "device/call_watch.hpp"

#include <algorithm>
#include <iterator>

namespace warpbit::device {
namespace {

std::uintptr_t address_of(const std::byte* at) {
  return reinterpret_cast<std::uintptr_t>(at);
}

std::byte* pointer_to(std::uintptr_t address) {
  return reinterpret_cast<std::byte*>(address);
}

}  // namespace

void GlobalAccesses::reads(const std::byte* from, std::size_t bytes) {
  std::uintptr_t first = address_of(from), last = first + bytes;
  auto at = reads_.upper_bound(first);
  if (at != reads_.begin() && std::prev(at)->second >= first) --at;
  while (at != reads_.end() && at->first <= last) {  // what it touches becomes one with it
    first = std::min(first, at->first);
    last = std::max(last, at->second);
    at = reads_.erase(at);
  }
  reads_.emplace(first, last);
}

void GlobalAccesses::writes(const std::byte* to, std::size_t bytes) {
  std::uintptr_t first = address_of(to);
  const std::uintptr_t last = first + bytes;
  while (first < last) {
    const auto next = before_.upper_bound(first);
    const auto here = next == before_.begin() ? before_.end() : std::prev(next);
    const std::uintptr_t known = here == before_.end() ? 0 : here->first + here->second.size();
    if (known > first) {
      first = known;
      continue;
    }
    const std::uintptr_t end = next == before_.end() ? last : std::min(last, next->first);
    std::vector<std::byte>& kept = known == first ? here->second : before_[first];
    kept.insert(kept.end(), pointer_to(first), pointer_to(end));
    first = end;
  }
}

std::vector<std::span<std::byte>> GlobalAccesses::read() const {
  std::vector<std::span<std::byte>> out;
  for (const auto& [first, last] : reads_) out.emplace_back(pointer_to(first), last - first);
  return out;
}

// FNV-1a, 64 bits.
std::uint64_t GlobalAccesses::changes() const {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100'0000'01b3; };
  for (const auto& [first, was] : before_)
    for (std::size_t i = 0; i < was.size(); ++i) {
      const std::byte now = *pointer_to(first + i);
      if (now == was[i]) continue;
      add(first + i);
      add(static_cast<std::uint64_t>(now));
    }
  return hash;
}

const PlantedCall* CallWatch::at(std::string_view call, Place place) {
  if (planted_ == nullptr) {
    const std::lock_guard lock(mutex_);
    sites_.insert({place.file, place.line, std::string(call)});
    return nullptr;
  }
  if (place.line != planted_->line || call != planted_->call || place.file != planted_->file) return nullptr;
  if (executed_++ == 0 && first_) first_();
  return planted_;
}

}  // namespace warpbit::device
