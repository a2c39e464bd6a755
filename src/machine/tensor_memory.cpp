// SPDX-License-Identifier: Apache-2.0
#include "warpbit/tensor_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace warpbit {

std::string_view name(TensorKind kind) {
  constexpr std::array<std::string_view, 8> kNames{"f16",      "tf32", "f8f6f4",   "i8",
                                                   "mxf8f6f4", "mxf4", "mxf4nvf4", "ti16"};
  return kNames[static_cast<std::size_t>(kind)];
}

TensorMemory::TensorMemory() : words_(std::size_t{kLanes} * kStride, kUnwritten), written_(words_.size()) {}

void TensorMemory::mark_written(int first_lane, int lanes, int first_column, int columns) {
  for (int lane = first_lane; lane < first_lane + lanes; ++lane)
    std::fill_n(written_.begin() + static_cast<std::ptrdiff_t>(index(lane, first_column)), columns,
                std::uint8_t{1});
}

Result<std::optional<TensorAddress>> TensorMemory::allocate(std::uint32_t columns, bool is_exclusive) {
  const auto refuse = [&](std::string seen, std::string accepted) {
    return Error{Errc::tensor_memory, "tcgen05.alloc", std::move(seen), std::move(accepted)};
  };
  if (!may_allocate_)
    return refuse("an allocation after tcgen05.relinquish_alloc_permit",
                  "no allocation of this block behind it");
  if (is_exclusive_)
    return refuse("an allocation beside an exclusive one", "tcgen05.dealloc.exclusive before it");
  if (is_exclusive && !allocations_.empty())
    return refuse("an exclusive allocation beside others", "tcgen05.dealloc of all others before it");
  const bool is_even = is_exclusive ? columns % kMinAllocation == 0 : std::has_single_bit(columns);
  if (columns < kMinAllocation || columns > kColumns || !is_even)
    return refuse(
        fmt::format("{} columns", columns),
        fmt::format("a {} from {} to {}{}", is_exclusive ? "multiple of 32" : "power of two", kMinAllocation,
                    kColumns, is_exclusive ? "; sm_107's columns behind these are not modelled" : ""));
  const int count = static_cast<int>(columns);
  if (count > last_)
    return refuse(fmt::format("{} columns after an allocation of {}", count, last_),
                  "no more columns than those of the block's allocation before");
  int first = 0;
  auto behind = allocations_.begin();  // what comes behind the gap from `first` on
  for (; behind != allocations_.end() && behind->first < first + count; ++behind)
    first = behind->first + behind->count;
  if (first + count > kColumns) return std::optional<TensorAddress>();
  allocations_.insert(behind, {first, count});
  last_ = count;
  is_exclusive_ = is_exclusive;
  return std::optional(TensorAddress{0, first});
}

Result<void> TensorMemory::deallocate(std::uint32_t address, std::uint32_t columns, bool is_exclusive) {
  const TensorAddress at = TensorAddress::decode(address);
  const auto found = std::ranges::find_if(allocations_, [&](const Columns& one) {
    return at.lane == 0 && one.first == at.column && static_cast<std::uint32_t>(one.count) == columns;
  });
  if (found != allocations_.end()) {
    if (is_exclusive != is_exclusive_)
      return Error{Errc::tensor_memory, "tcgen05.dealloc", is_exclusive ? ".exclusive" : "no .exclusive",
                   "the .exclusive of tcgen05.alloc"};
    allocations_.erase(found);
    is_exclusive_ = false;
    return {};
  }
  std::string known;
  for (const Columns& one : allocations_)
    known += fmt::format("{}{} at {:#x}", known.empty() ? "" : ", ", one.count, one.first);
  return Error{Errc::tensor_memory, "tcgen05.dealloc", fmt::format("{} columns at {:#x}", columns, address),
               known.empty() ? "nothing is allocated" : "an allocation: " + known};
}

bool TensorMemory::is_allocated(int column) const {
  return std::ranges::any_of(
      allocations_, [&](const Columns& one) { return column >= one.first && column < one.first + one.count; });
}

bool TensorMemory::are_allocated(int first, int count) const {
  for (int column = first; column < first + count; ++column)
    if (!is_allocated(column)) return false;
  return first >= 0;
}

}  // namespace warpbit
