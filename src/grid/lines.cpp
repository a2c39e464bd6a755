// SPDX-License-Identifier: Apache-2.0
#include "grid/lines.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

namespace warpbit {

namespace ptx {
namespace {

constexpr std::pair<std::string_view, Cancel> kNames[] = {
    {"first_come", Cancel::first_come},
    {"never", Cancel::never},
    {"always", Cancel::always},
    {"random", Cancel::random},
};

}  // namespace

std::string_view name(Cancel cancel) {
  return std::ranges::find(kNames, cancel, &std::pair<std::string_view, Cancel>::second)->first;
}

std::optional<Cancel> find_cancel(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name, &std::pair<std::string_view, Cancel>::first);
  return found == std::end(kNames) ? std::nullopt : std::optional(found->second);
}

}  // namespace ptx

namespace grid {
namespace {

// SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014).
std::uint64_t mix(std::uint64_t seed, std::uint64_t x) {
  std::uint64_t z = seed + (x + 1) * 0x9E37'79B9'7F4A'7C15;
  z = (z ^ z >> 30) * 0xBF58'476D'1CE4'E5B9;
  z = (z ^ z >> 27) * 0x94D0'49BB'1331'11EB;
  return z ^ z >> 31;
}

constexpr std::uint64_t kMaxRandomLines = 64, kRefusedOneIn = 8;

std::uint64_t lines_of(std::uint64_t clusters, ptx::Cancel schedule, std::uint64_t seed) {
  switch (schedule) {
    case ptx::Cancel::never: return clusters;
    case ptx::Cancel::always: return 1;
    case ptx::Cancel::random: return 1 + mix(seed, clusters) % std::min(clusters, kMaxRandomLines);
    default: return static_cast<std::uint64_t>(std::sqrt(static_cast<double>(clusters)));
  }
}

}  // namespace

Lines::Lines(std::uint64_t clusters, ptx::Cancel schedule, std::uint64_t seed, bool may_take)
    : clusters_(clusters), lines_(may_take ? lines_of(clusters, schedule, seed) : clusters) {
  if (may_take && schedule == ptx::Cancel::random) seed_ = seed;
}

std::uint64_t Lines::line_of(std::uint64_t cluster) const {
  return (seed_ ? mix(*seed_, cluster) : cluster) % lines_;
}

std::uint64_t Lines::find(std::uint64_t line, std::uint64_t from) const {
  if (!seed_) return std::min(clusters_, from + (line + lines_ - from % lines_) % lines_);
  while (from < clusters_ && line_of(from) != line) ++from;
  return from;
}

void Lines::advance(std::uint64_t line, std::uint64_t running) {
  Line& of = left_.try_emplace(line, Line{find(line, 0), 0}).first->second;
  of.running = running;
  of.next = find(line, of.next + 1);
  if (of.next == clusters_) left_.erase(line);
}

std::optional<std::uint64_t> Lines::begin() {
  while (begun_ < lines_) {
    const std::uint64_t line = begun_++, first = find(line, 0);
    if (first == clusters_) continue;
    advance(line, first);
    return first;
  }
  while (!ready_.empty()) {
    const std::uint64_t line = ready_.front();
    ready_.pop_front();
    const auto found = left_.find(line);
    if (found == left_.end()) continue;  // the last of it were taken meanwhile
    const std::uint64_t next = found->second.next;
    advance(line, next);
    return next;
  }
  return std::nullopt;
}

void Lines::pass(std::uint64_t cluster) {
  const auto found = left_.find(line_of(cluster));
  if (found == left_.end() || found->second.running != cluster) return;
  found->second.running = clusters_;
  ready_.push_back(found->first);
}

std::optional<std::uint64_t> Lines::take(std::uint64_t by) {
  const auto found = left_.find(line_of(by));
  if (found == left_.end() || found->second.running != by) return std::nullopt;
  const std::uint64_t next = found->second.next;
  if (seed_ && mix(~*seed_, next) % kRefusedOneIn == 0) return std::nullopt;
  advance(found->first, by);
  return next;
}

}  // namespace grid
}  // namespace warpbit
