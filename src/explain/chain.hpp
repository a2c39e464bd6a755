// SPDX-License-Identifier: Apache-2.0
// One element of D over a long K: instructions in chains, whose sums are added as the order says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "api/sum_tree.hpp"
#include "kernel/tile.hpp"
#include "threads.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/result.hpp"

namespace warpbit {

/// A computation over a K of some depth.
struct Chain {
  const Computation* computation = nullptr;
  const Tile* tile = nullptr;
  std::size_t depth = 0;
  SumFormats formats;
  std::vector<SumRun> runs;

  std::size_t terms() const { return static_cast<std::size_t>(tile->terms); }
  std::size_t instructions() const {
    std::size_t out = 0;
    for (const SumRun& run : runs)
      for (const SumSlice& slice : run)
        for (const SumBlock& block : slice) out += block.size();
    return out;
  }
};

/// Errors: view_mismatch, for no sum of products, for several instructions of one whose D cannot be the C of
/// the next, and for orders that no computation has (Computation::order). The computation must outlive it.
Result<Chain> find_chain(const Computation& computation, std::size_t depth);
/// The errors of the order alone.
Result<void> check_order(const Computation& computation, std::size_t depth);

/// What the instruction of a step of K gets, and C.
ElementCodes codes_of_step(const ElementCodes& codes, const SumStep& step, std::uint64_t c);

/// All over the same K: `depth`, rounded up to a whole number of the deepest instruction. Errors: those of
/// find_chain and check_formats.
Result<std::vector<Chain>> find_chains(std::span<const Computation> computations, std::size_t depth);

/// D of codes of any length; scale factors are those of the first step.
std::uint64_t run_chain(const Chain& chain, const ElementCodes& codes);
Explanation explain(const Chain& chain, const ElementCodes& codes);
/// The same. Errors: those of execute_element.
Result<Explanation> explain_checked(const Chain& chain, const ElementCodes& element);

/// True if both compute every element by the same additions and roundings, so that no input tells them apart
/// (sum_identity). Precondition: the same depth, operands of the same formats.
bool same_steps(const Chain& x, const Chain& y);

/// Refuses a computation whose operands have other formats than those of `first`, or that is of another form if
/// blocks are scaled. Errors: view_mismatch.
Result<void> check_formats(const Instruction& first, const Instruction& other);

}  // namespace warpbit
