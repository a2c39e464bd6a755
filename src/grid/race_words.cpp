// SPDX-License-Identifier: Apache-2.0
#include "grid/race_words.hpp"

#include <fmt/format.h>

#include "grid/block.hpp"
#include "grid/reach.hpp"

namespace warpbit::grid {

std::string_view both_of(const GlobalConflict& found) {
  return block::both_accesses(found.before.writes, found.now.writes);
}

namespace {

int number_of(const Grid& grid, const GlobalSide& side) {
  return number_at(grid.program, Block::place(side.site));
}

int line_of(const Grid& grid, int number) {
  return statement_of(grid.program.origins[static_cast<std::size_t>(number)]).position.line;
}

// Whether threads come from the second statement to the first, and not back: what reads there is meant to find what is written.
bool reads_behind(const Grid& grid, const GlobalConflict& found) {
  const Program& program = grid.program;
  const int read = number_of(grid, found.before), write = number_of(grid, found.now);
  const auto function = [&](std::int32_t of) { return program.origins[static_cast<std::size_t>(of)].function; };
  return !found.before.writes && found.now.writes && read != write && function(read) == function(write) &&
         leads_to(program, write, read, false) && !leads_to(program, read, write, false);
}

}  // namespace

std::string must_meet(const Grid& grid, const GlobalConflict& found) {
  const bool is_taken = found.before.writes && !found.now.writes && !found.flaw;
  const int by =
      is_taken ? claims(grid.program, number_of(grid, found.before), number_of(grid, found.now)) : -1;
  if (by < 0)
    return "a __syncwarp must come between them, or a __syncthreads if other warps use these bytes, too";
  return fmt::format(
      "one atom.cas must write these bytes, too, or the write must be followed by a flag with .release for which the "
      "reader waits (the atom.cas at PTX line {} tells that a place is taken, and not that this write is done), or a "
      "__syncwarp must come between them",
      line_of(grid, by));
}

const GlobalSide* flag_store(const Grid& grid, const GlobalConflict& found) {
  const auto polls = [&](const GlobalSide& of) {
    const block::StrongUse use = grid.program.use_at(Block::place(of.site));
    return of.strong && !of.writes && use.bytes != 0 && !use.is_data;
  };
  const auto stores = [](const GlobalSide& of) { return of.writes && !of.strong; };
  if (found.flaw || found.misfit != block::Misfit::none || is_stale(found)) return nullptr;
  if (stores(found.before) && polls(found.now)) return &found.before;
  return stores(found.now) && polls(found.before) ? &found.now : nullptr;
}

BetweenBlocks between_blocks(const Grid& grid, const GlobalConflict& found) {
  const std::string_view both = both_of(found), first = both.substr(0, both.find(" and "));
  if (found.told_warp >= 0 && !found.flaw && found.misfit == block::Misfit::none) {
    const std::string now = found.now.writes ? "write" : "read";
    return {
        fmt::format("nothing orders {}: warp {} of this block comes behind {}, by a flag, and no barrier came "
                    "between that flag and this {}",
                    both, found.told_warp, first, now),
        fmt::format("a __syncthreads must come between the wait of warp {} for the flag and this {}",
                    found.told_warp, now)};
  }
  if (flag_store(grid, found) != nullptr)
    return {"this is a plain store to a flag, for which that load waits", fmt::format("it {}", kStrongStore)};
  const bool is_early = !found.before.writes && found.now.writes && !found.flaw;
  const int wait =
      is_early ? awaits_before(grid.program, number_of(grid, found.before), number_of(grid, found.now)) : -1;
  if (wait >= 0)
    return {
        fmt::format(
            "nothing orders this write and that read, which stands behind the wait for a flag at PTX line {}",
            line_of(grid, wait)),
        "all threads that read must come behind that wait (a __syncthreads must follow it, if one thread waits for "
        "them), and its flag must be written with .release.gpu after this write"};
  const bool is_reversed = reads_behind(grid, found);
  const std::string advice = fmt::format(
      "a flag must be written with .release.gpu after {} and read with .acquire.gpu before {} (an atomic "
      "without an order needs a __threadfence before it, and one after it)",
      is_reversed ? "this write" : first, is_reversed ? "that read" : "this statement");
  return {is_reversed ? "nothing orders this write and that read, which stands behind it"
                      : fmt::format("nothing orders {}", both),
          advice + (found.misfit != block::Misfit::none
                        ? ""
                        : ", or both accesses must be atomic if either order is right")};
}

}  // namespace warpbit::grid
