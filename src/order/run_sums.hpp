// SPDX-License-Identifier: Apache-2.0
// Many orders of the sums of a few elements: what hypotheses have in common is computed once.
//
//     chains of steps -> slices, promotions -> sums of runs     the same for all that differ in the merge and behind it
//          remembered                            remembered for the hypothesis before
//                                                               -> merge -> alpha, beta C, bias -> store: for each
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "api/chains.hpp"
#include "warpbit/gemm.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit::order {

/// Elements that are looked at together, at most.
inline constexpr std::size_t kTogether = 8;

/// Their values, as numbers of f32; a NaN is one of any bits.
using Values = std::array<float, kTogether>;

/// Elements of a small product in any order. Not for several threads at once.
class RunSums {
 public:
  /// `places` are those of the elements in D, row by row. The problem's data must live as long.
  RunSums(const Instruction& instruction, const Gemm& problem, std::span<const std::size_t> places,
          const ExecuteOptions& how);

  /// The codes of the elements of D, in items of 64 bits, as gemm() gives them. Nothing for what only gemm() knows, or
  /// refuses.
  std::optional<std::span<const std::uint64_t>> codes(const SumOrder& order);

 private:
  struct KeyHash {
    std::size_t operator()(const std::vector<std::uint32_t>& key) const;
  };
  using Memo = std::unordered_map<std::vector<std::uint32_t>, Values, KeyHash>;
  // A, B as they are rounded, and what was summed.
  struct Rounded {
    Chains chains;
    Memo memo = {};
  };

  bool knows(const SumOrder& order) const;
  bool find_run_sums(const SumOrder& order);
  Rounded& rounded(Tf32Rounding rounding);
  Values of_slice(Rounded& from, const SumSlice& slice, bool from_c, bool promotes);
  const Values& of_block(Rounded& from, const SumBlock& steps, bool from_c);
  void store(const SumOrder& order, const Format& merged, const Format& stored, const Values& sums);

  const Instruction& i_;
  Gemm g_;
  std::vector<std::size_t> places_;
  ExecuteOptions how_;
  bool is_known_ = false;
  const Format* sum_ = nullptr;  // of accumulators
  std::vector<std::byte> start_;
  std::map<Tf32Rounding, Rounded> rounded_;
  std::optional<SumOrder> last_;  // whose runs these are
  std::vector<Values> runs_;
  std::array<std::uint64_t, kTogether> codes_{};
  std::vector<std::byte> result_;
};

}  // namespace warpbit::order
