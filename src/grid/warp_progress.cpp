// SPDX-License-Identifier: Apache-2.0
// Whether a warp will ever come further.
#include <algorithm>

#include "grid/block.hpp"
#include "grid/warp.hpp"

namespace warpbit::grid {
namespace {

// One more word of a digest: the multiplier is 2^64 divided by the golden ratio.
std::uint64_t mixed(std::uint64_t digest, std::uint64_t word) {
  const std::uint64_t out = (digest ^ word) * 0x9E37'79B9'7F4A'7C15;
  return out ^ out >> 29;
}

}  // namespace

std::uint64_t RegisterFile::digest() const {
  std::uint64_t out = 0;
  for (const std::uint32_t word : slots_) out = mixed(out, word);
  for (const std::uint32_t word : predicates_) out = mixed(out, word);
  return out;
}

void Repetition::pass(std::uint64_t state, std::uint64_t changes) {
  const bool is_new = changes != changes_ || until_next_ == 0;
  repeats_ = !is_new && state == state_;
  if (is_new) {
    changes_ = changes;
    passed_ = 0;
    until_next_ = 1;
    state_ = state;
  } else if (!repeats_ && ++passed_ == until_next_) {
    passed_ = 0;
    until_next_ *= 2;
    state_ = state;
  }
}

// What decides all that the warp will do, but for memory and other warps. Registers do not decide when a loop ends that looks at
// memory alone, and may change for ever: a clock, a count of rounds.
std::uint64_t Warp::digest() const {
  const auto looks = [&](const Path& path) {
    return path.waits || (path.last_jump_back >= 0 && step_at(path.last_jump_back).access.ends_by_looks &&
                          step_at(path.last_jump_back).target == path.pc);
  };
  std::uint64_t out = std::ranges::all_of(paths_, looks) ? 0 : registers_.digest();
  for (const Path& path : paths_)
    for (const std::uint64_t one : {std::uint64_t{path.lanes}, static_cast<std::uint64_t>(path.pc),
                                    std::uint64_t{path.frame}, std::uint64_t{path.waits}})
      out = mixed(out, one);
  return out;
}

bool Warp::is_stuck() const {
  return std::ranges::all_of(paths_, &Path::waits) || repetition_.is_endless(block_.changes()) || is_endless();
}

bool Warp::is_endless() const {
  const auto goes_round = [&](const Path& path) {
    return !path.waits && !program_.leads_out[static_cast<std::size_t>(path.pc)];
  };
  return std::ranges::any_of(paths_, goes_round) &&
         std::ranges::all_of(paths_, [&](const Path& path) { return path.waits || goes_round(path); });
}

}  // namespace warpbit::grid
