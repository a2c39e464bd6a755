// SPDX-License-Identifier: Apache-2.0
// warpbit order --sum: reductions of one array.
#pragma once

#include <span>
#include <string>

#include "warpbit/reduction.hpp"

namespace warpbit::cli {

struct SumArguments {
  std::string reduction;  ///< empty: the command is about a product
  std::string axis = "1";
  double epsilon = 0;
  std::string v;  ///< the file of attention's values
  ReductionHints hints;
};

/// The words of an order, and what they mean.
int print_order_words(std::span<const SumOrderWord> words, bool as_json);

/// x, d: files; `known`: an order in words, of which D is computed and compared, or empty; `words`: the words are listed.
int order_sum(const SumArguments& o, const std::string& x, const std::string& d, const std::string& known,
              bool words, bool as_json);

}  // namespace warpbit::cli
