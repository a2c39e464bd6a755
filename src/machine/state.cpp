// SPDX-License-Identifier: Apache-2.0
#include "warpbit/state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>  // std::bad_alloc
#include <set>

namespace warpbit {
namespace {

// A vector throws std::length_error beyond its maximum size; host memory of that size does not exist either.
std::vector<std::byte> zeros(std::uint64_t bytes) {
  std::vector<std::byte> out;
  if (bytes > out.max_size()) throw std::bad_alloc();
  out.resize(static_cast<std::size_t>(bytes));
  return out;
}

// [from, from + bytes) as text for a person. Precondition: bytes > 0.
std::string interval(std::uint64_t from, std::uint64_t bytes) {
  return fmt::format("{:#x} to {:#x}", from, from + (bytes - 1));
}

bool overlap(std::uint64_t a, std::uint64_t a_bytes, std::uint64_t b, std::uint64_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 && (a <= b ? b - a < a_bytes : a - b < b_bytes);
}

}  // namespace

std::string_view name(Space space) {
  constexpr std::string_view kNames[] = {"generic", "global", "shared"};
  return kNames[static_cast<std::size_t>(space)];
}

Memory::Memory(std::uint64_t shared_bytes, std::uint64_t window) {
  ranges_.push_back({window, zeros(shared_bytes), {}});
  unordered_.resize(ranges_.front().bytes.size());
}

Result<void> Memory::check_global(std::uint64_t address, std::uint64_t bytes) const {
  if (bytes > 0 && bytes - 1 > ~address)
    return Error{Errc::address_out_of_bounds, "global memory",
                 fmt::format("{} bytes from {:#x}", bytes, address), "addresses have 64 bits"};
  for (std::size_t i = 0; i < ranges_.size(); ++i)
    if (overlap(address, bytes, ranges_[i].address, ranges_[i].size()))
      return Error{Errc::memory_overlap, "global memory", interval(address, bytes), extent(i, Space::generic)};
  return {};
}

Result<void> Memory::add_global(std::uint64_t address, std::uint64_t bytes) {
  if (Result<void> checked = check_global(address, bytes); !checked) return checked;
  ranges_.push_back({address, zeros(bytes), {}});
  return {};
}

Result<void> Memory::view_global(std::uint64_t address, std::span<std::byte> bytes) {
  if (bytes.empty()) return {};
  if (Result<void> checked = check_global(address, bytes.size()); !checked) return checked;
  ranges_.push_back({address, {}, bytes});
  return {};
}

std::optional<Memory::Place> Memory::find(Space space, std::uint64_t address, std::uint64_t bytes) const {
  const std::size_t first = space == Space::global ? 1 : 0;
  const std::size_t last = space == Space::shared ? 1 : ranges_.size();
  for (std::size_t i = first; i < last; ++i) {
    const std::uint64_t base = space == Space::shared ? 0 : ranges_[i].address;
    const std::uint64_t size = ranges_[i].size();
    if (address >= base && address - base <= size && bytes <= size - (address - base))
      return Place{i, address - base};
  }
  return std::nullopt;
}

std::string Memory::extent(std::size_t range, Space space) const {
  const Range& r = ranges_[range];
  return fmt::format("{} memory at {}", range == 0 ? "shared" : "global",
                     interval(space == Space::shared ? 0 : r.address, r.size()));
}

Error Memory::out_of_bounds(Space space, std::uint64_t address, std::uint64_t bytes) const {
  constexpr int kListed = 4;
  std::string there;
  int more = 0;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    if (ranges_[i].size() == 0 || (space != Space::generic && (space == Space::shared) != (i == 0))) continue;
    if (++more <= kListed) there += (there.empty() ? "" : ", ") + extent(i, space);
  }
  if (more > kListed) there += fmt::format(" and {} more", more - kListed);
  return {Errc::address_out_of_bounds, "memory",
          fmt::format("{} bytes from {:#x} of the {} space", bytes, address, name(space)),
          "there is " + (there.empty() ? "none" : there)};
}

bool Memory::contains(Space space, std::uint64_t address, std::uint64_t bytes) const {
  return find(space, address, bytes).has_value();
}

Result<void> Memory::read(Space space, std::uint64_t address, std::span<std::byte> out) const {
  const std::optional<Place> at = find(space, address, out.size());
  if (!at) return out_of_bounds(space, address, out.size());
  std::ranges::copy_n(ranges_[at->range].data() + at->offset, static_cast<std::ptrdiff_t>(out.size()),
                      out.begin());
  return {};
}

Result<void> Memory::write(Space space, std::uint64_t address, std::span<const std::byte> bytes) {
  const std::optional<Place> at = find(space, address, bytes.size());
  if (!at) return out_of_bounds(space, address, bytes.size());
  const auto offset = static_cast<std::ptrdiff_t>(at->offset);
  std::ranges::copy(bytes, ranges_[at->range].data() + offset);
  if (at->range == 0) std::fill_n(unordered_.begin() + offset, bytes.size(), true);
  return {};
}

Result<void> Memory::write_async(std::uint64_t address, std::span<const std::byte> bytes) {
  if (Result<void> written = write(Space::shared, address, bytes); !written) return written;
  std::fill_n(unordered_.begin() + static_cast<std::ptrdiff_t>(address), bytes.size(), false);
  return {};
}

void Memory::fence_proxy() {
  unordered_.assign(unordered_.size(), false);
}

std::optional<ByteRange> Memory::unordered(std::uint64_t address, std::uint64_t bytes) const {
  const std::uint64_t size = unordered_.size();
  const std::uint64_t begin = std::min(address, size), end = begin + std::min(bytes, size - begin);
  const auto at = [&](std::uint64_t i) { return unordered_.begin() + static_cast<std::ptrdiff_t>(i); };
  const auto first = std::find(at(begin), at(end), true);
  if (first == at(end)) return std::nullopt;
  const auto stop = std::find(first, at(end), false);
  return ByteRange{static_cast<std::uint64_t>(first - at(0)), static_cast<std::uint64_t>(stop - at(0)) - 1};
}

std::optional<ByteRange> Memory::in_shared(Space space, std::uint64_t address, std::uint64_t bytes) const {
  const std::optional<Place> at = find(space, address, bytes);
  if (!at || at->range != 0 || bytes == 0) return std::nullopt;
  return ByteRange{at->offset, at->offset + (bytes - 1)};
}

// ---- Banks of shared memory

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

// ---- Registers

Registers::Registers(int lanes, int registers)
    : lanes_(lanes),
      registers_(registers),
      cells_(static_cast<std::size_t>(lanes) * static_cast<std::size_t>(registers)) {}

void apply(const Effects& effects, Registers& registers) {
  for (const Effects::Write& w : effects.writes) registers.write(w.lane, w.reg, w.value);
}

Result<void> apply(const Effects& effects, Registers& registers, Memory& memory) {
  for (const Effects::MemoryWrite& w : effects.memory_writes)
    if (!memory.contains(w.space, w.address, w.bytes.size()))
      return memory.write(w.space, w.address, w.bytes);  // its error
  for (const Effects::MemoryWrite& w : effects.memory_writes)
    if (const Result<void> done = memory.write(w.space, w.address, w.bytes); !done) return done;
  apply(effects, registers);
  return {};
}

}  // namespace warpbit
