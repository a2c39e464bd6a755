// SPDX-License-Identifier: Apache-2.0
#include "async/global_copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "async/block.hpp"

namespace warpbit::async {

std::optional<std::pair<std::size_t, std::span<const std::byte>>> GlobalRows::meets(const std::byte* at,
                                                                                    std::size_t count) const {
  if (at >= end() || at + count <= first) return std::nullopt;
  const std::size_t before = rows == 1 || at <= first ? 0 : static_cast<std::size_t>((at - first) / stride);
  for (std::size_t row = before; row < std::min(rows, before + 2); ++row) {
    const std::byte* const begin = first + static_cast<std::ptrdiff_t>(row) * stride;
    if (at < begin + bytes && begin < at + count)
      return std::pair(row, std::span(std::max(at, begin), std::min(at + count, begin + bytes)));
  }
  return std::nullopt;
}

namespace {

// From the last row of some to the next one.
std::ptrdiff_t distance(const GlobalRows& rows, const GlobalRows& next) {
  return next.first - (rows.end() - rows.bytes);
}

}  // namespace

bool GlobalCopies::is_pending(const Copy& copy, std::size_t row) {
  switch (copy.wait) {
    case Copy::Wait::threads:
      return copy.block->shared.is_copying(copy.who.thread + static_cast<int>(row), copy.number);
    case Copy::Wait::group: return copy.block->groups.is_writing(copy.who.thread, copy.number);
    default: return copy.block->mbarriers.is_open(copy.object, copy.agent, copy.number);
  }
}

// Whether a copy of one row continues the rows of another one, at equal distances.
bool GlobalCopies::continues(const Copy& last, const Copy& copy) {
  const GlobalRows& rows = last.rows;
  const std::ptrdiff_t stride = distance(rows, copy.rows);
  const int thread = last.who.thread + (copy.wait == Copy::Wait::threads ? static_cast<int>(rows.rows) : 0);
  return copy.who.thread == thread && copy.who.at == last.who.at && copy.number == last.number &&
         copy.agent == last.agent && copy.object == last.object && copy.block == last.block &&
         copy.wait == last.wait && copy.rows.rows == 1 && copy.rows.bytes == rows.bytes &&
         stride >= static_cast<std::ptrdiff_t>(rows.bytes) && (rows.rows == 1 || stride == rows.stride);
}

void GlobalCopies::add(const Copy& copy) {
  if (copies_.size() >= most_) {
    forget_those_waited_for();
    most_ = std::max<std::size_t>(64, 2 * copies_.size());
  }
  cover(copy.rows);
  if (copy.writes) ++writing_;
  if (copies_.empty() || !continues(copies_.back(), copy)) return copies_.push_back(copy);
  GlobalRows& rows = copies_.back().rows;
  rows.stride = distance(rows, copy.rows);
  ++rows.rows;
}

void GlobalCopies::cover(const GlobalRows& rows) {
  first_ = first_ == nullptr ? rows.first : std::min(first_, rows.first);
  end_ = std::max(end_, rows.end());
}

void GlobalCopies::forget_those_waited_for() {
  std::erase_if(copies_, [](const Copy& copy) {
    for (std::size_t row = 0; row < (copy.wait == Copy::Wait::threads ? copy.rows.rows : 1); ++row)
      if (is_pending(copy, row)) return false;
    return true;
  });
  first_ = end_ = nullptr;
  writing_ = 0;
  for (const Copy& copy : copies_) {
    cover(copy.rows);
    if (copy.writes) ++writing_;
  }
}

std::optional<GlobalCopies::Conflict> GlobalCopies::conflict(const std::byte* at, std::size_t bytes,
                                                             bool writes, bool strong) {
  if (!may_meet(writes) || at >= end_ || at + bytes <= first_) return std::nullopt;
  forget_those_waited_for();
  for (const Copy& copy : copies_) {
    if ((!writes && !copy.writes) || (strong && (copy.writes || copy.strong))) continue;
    const auto met = copy.rows.meets(at, bytes);
    if (!met || !is_pending(copy, met->first)) continue;
    const int row = copy.wait == Copy::Wait::threads ? static_cast<int>(met->first) : 0;
    return Conflict{copy, copy.who.thread + row, met->second.data(), met->second.size()};
  }
  return std::nullopt;
}

std::string advice(const GlobalCopies::Conflict& found, int thread) {
  const std::string_view then = found.thread == thread ? "" : ", and then a barrier together with this thread,";
  const GlobalCopies::Copy& copy = found.copy;
  const block::Cluster& cluster = copy.block->shared.cluster();
  const std::string who = cluster.name(found.thread, copy.block->shared.rank());
  switch (copy.wait) {
    case GlobalCopies::Copy::Wait::threads:
      return fmt::format("{} must execute cp.async.wait_all{} before this statement", who, then);
    case GlobalCopies::Copy::Wait::group:
      return fmt::format(
          "{} must execute cp.async.bulk.wait_group 0{} before this statement (with .read it waits until shared "
          "memory has been read, not until the bytes are there)",
          who, then);
    default: return cluster.advice(copy.agent, copy.number);
  }
}

}  // namespace warpbit::async
