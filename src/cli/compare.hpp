// SPDX-License-Identifier: Apache-2.0
// What warpbit compare compares: the words of its command line, and the computations that they name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/study.hpp"

namespace warpbit::cli {

inline constexpr std::size_t kMostDepth = 16'384;                      // of a K in several instructions
inline constexpr std::uint64_t kMaxProducts = std::uint64_t{1} << 30;  // some minutes by the specification

struct CompareArguments {
  std::vector<std::string> forms, targets, orders = {"ascending"}, find;
  ElementOptions values;
  std::string random, part, svg;
  std::uint64_t cases = 0, seed = 0, max_products = kMaxProducts;
  std::vector<std::size_t> depths;
  Shard shard;
  bool zero_c = false, show = false, json = false, csv = false;

  /// 0 unless given. Refuses several.
  std::size_t depth() const;
};

/// Each form on each target; to be made computations of when K is known.
struct Instructions {
  std::vector<Instruction> list;
  std::size_t terms = 1;  ///< of the deepest
};
/// The forms of the command line, of a capture the one that it is of.
Instructions find_instructions(const CompareArguments& o, const std::vector<std::string>& targets);

/// Each instruction in each order of K.
struct Compared {
  std::vector<Computation> computations;
  std::size_t depth = 0;
};
/// Over this K; if it is 0, over the least that the orders need.
Compared find_computations(const CompareArguments& o, const Instructions& instructions, std::size_t depth);

/// Prints and draws what was found, and returns the exit status: whether all is the same.
int answer(const CompareArguments& o, const DepthStudy& study, const std::vector<Computation>& computations);
/// On generated inputs, over each K.
int compare_random(const CompareArguments& o, const Instructions& instructions);

}  // namespace warpbit::cli
