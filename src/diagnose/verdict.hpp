// SPDX-License-Identifier: Apache-2.0
// What predictions explain, and the verdict that follows.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnose/hypothesis.hpp"
#include "warpbit/diagnose.hpp"

namespace warpbit::diagnosis {

inline constexpr std::uint64_t kLeastNew = 4;     // the minimum of wrong elements that a claim explains
inline constexpr std::uint64_t kLeastValues = 3;  // and of different values among them

// What a prediction explains.
struct Score {
  std::uint64_t explained = 0, contradicted = 0;
  std::uint64_t gained = 0;  // explained, and not right as they are
  std::uint64_t values = 0;  // different codes among those, up to kLeastValues
};

// Mistakes that are made in the same kernel.
using Together = std::vector<const Hypothesis*>;

struct Candidate {
  Together together;
  Score score;

  int cost() const;
  bool is_consistent() const { return score.contradicted == 0 && score.gained >= kLeastNew; }
};

// The better one first: what nothing contradicts, then what explains more, then what is simpler.
bool is_better(const Candidate& x, const Candidate& y);

// The verdict on candidates, the best first, and on orders of the sum that explain all; out.elements and out.right are known.
void conclude(const std::vector<Candidate>& candidates, std::vector<Finding> orders, Diagnosis& out);

}  // namespace warpbit::diagnosis
