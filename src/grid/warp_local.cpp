// SPDX-License-Identifier: Apache-2.0
// What lanes have of their own beside values: local memory, and which bits nothing has written.
#include <algorithm>
#include <cstring>

#include "grid/cluster.hpp"
#include "grid/steps.hpp"
#include "grid/warp.hpp"

namespace warpbit::grid {

void Warp::forget(const Path& path, const Place& place, Lanes lanes) {
  if (place.exists() && block_.checks()) undefined_.forget(path, place, lanes);
}

std::byte* Warp::local(int lane, std::int64_t at, std::int64_t bytes) {
  if (at >= kStack) {
    std::vector<std::byte>& memory = allocated_[static_cast<std::size_t>(lane)];
    const std::int64_t end = stack(lane);
    if (bytes < 0 || at > end - bytes) return nullptr;
    if (static_cast<std::int64_t>(memory.size()) < end - kStack)
      memory.resize(static_cast<std::size_t>(end - kStack));
    return memory.data() + (at - kStack);
  }
  std::vector<std::byte>& memory = local_[static_cast<std::size_t>(lane)];
  if (at < 0 || bytes < 0 || at > kLocalBytes - bytes) return nullptr;
  if (static_cast<std::int64_t>(memory.size()) < at + bytes)
    memory.resize(static_cast<std::size_t>(at + bytes));
  return memory.data() + at;
}

void Warp::copy_local(int lane, std::int64_t to, std::int64_t from, std::int64_t bytes) {
  const auto count = static_cast<std::size_t>(bytes);
  (void)local(lane, std::max(to, from), bytes);  // the memory grows before it is looked at
  std::memmove(local(lane, to, bytes), local(lane, from, bytes), count);
  if (defined(lane, std::max(to, from), bytes) != nullptr)
    std::memmove(defined(lane, to, bytes), defined(lane, from, bytes), count);
  undefined_.local().copy(to, from, bytes);
}

std::int64_t Warp::local_at(int lane, const std::byte* byte) const {
  const std::vector<std::byte>& of = local_[static_cast<std::size_t>(lane)];
  return std::less_equal<>()(of.data(), byte) && std::less<>()(byte, of.data() + of.size()) ? byte - of.data()
                                                                                            : -1;
}

std::byte* Warp::defined(int lane, std::int64_t at, std::int64_t bytes) {
  if (!block_.checks()) return nullptr;
  const bool allocated = at >= kStack;
  std::vector<std::byte>& of =
      (allocated ? allocated_defined_ : local_defined_)[static_cast<std::size_t>(lane)];
  const std::int64_t first = allocated ? at - kStack : at;
  if (static_cast<std::int64_t>(of.size()) < first + bytes) of.resize(static_cast<std::size_t>(first + bytes));
  return of.data() + first;
}

void Warp::move_masks(RegisterFile& masks, Path& path, const Step& step, Lanes lanes) {
  RegisterFile none;
  none.reserve(constants_.slots(), constants_.predicates());
  registers_.swap(masks);
  constants_.swap(none);
  (void)steps::what_runs(step)(*this, path, step, lanes);
  constants_.swap(none);
  registers_.swap(masks);
}

}  // namespace warpbit::grid
