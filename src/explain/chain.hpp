// SPDX-License-Identifier: Apache-2.0
// One element of D over a long K: instructions in a chain, in runs whose sums are added.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "api/checks.hpp"
#include "kernel/gemm.hpp"
#include "kernel/tile.hpp"
#include "threads.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/result.hpp"

namespace warpbit {

/// A computation over a K of some depth.
struct Chain {
  const Computation* computation = nullptr;
  const Tile* tile = nullptr;
  KSteps k;

  std::size_t terms() const { return static_cast<std::size_t>(tile->terms); }
};

/// Errors: view_mismatch, for no sum of products, for several instructions of one whose D cannot be the C of
/// the next, and those of find_k_steps. The computation must outlive it.
Result<Chain> find_chain(const Computation& computation, std::size_t depth);

/// What the instruction of a step of K gets, and C.
ElementCodes codes_of_step(const Chain& chain, const ElementCodes& codes, std::size_t step, std::uint64_t c);

/// D, or whatever stands for its running value: the first run starts from `c`, each further one from `zero`;
/// each step makes execute(step, running) of it, and add(d, sum) takes in the sum of a further run.
template <class Running, class Execute, class Add>
Running for_each_step(const Chain& chain, const Running& c, const Running& zero, Execute execute, Add add) {
  const KSteps& k = chain.k;
  const std::atomic<bool>* const stop = stop_flag();
  Running d = c;
  for (std::size_t first = 0; first < k.steps.size(); first += k.run) {
    Running running = first == 0 ? c : zero;
    for (std::size_t i = first; i < std::min(first + k.run, k.steps.size()); ++i) {
      end_if(stop);
      running = execute(k.steps[i], running);
    }
    d = first == 0 ? running : add(d, running);
  }
  return d;
}

/// All over the same K: `depth`, rounded up to a whole number of the deepest instruction. Errors: those of
/// find_chain and check_formats.
Result<std::vector<Chain>> find_chains(std::span<const Computation> computations, std::size_t depth);

/// D of codes of any length; scale factors are those of the first step.
std::uint64_t run_chain(const Chain& chain, const ElementCodes& codes);
Explanation explain(const Chain& chain, const ElementCodes& codes);
/// The same. Errors: those of execute_element.
Result<Explanation> explain_checked(const Chain& chain, const ElementCodes& element);

/// True if both compute every element by the same additions and roundings, so that no input tells them apart:
/// by sums of as many products in the same order, or by integer sums that only wrap. Precondition: the same
/// depth, operands of the same formats.
bool same_steps(const Chain& x, const Chain& y);

/// Refuses a computation whose operands have other formats than those of `first`, or that is of another form if
/// blocks are scaled. Errors: view_mismatch.
Result<void> check_formats(const Instruction& first, const Instruction& other);

}  // namespace warpbit
