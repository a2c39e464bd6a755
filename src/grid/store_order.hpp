// SPDX-License-Identifier: Apache-2.0
// Whose bytes stay where lanes of one warp store different ones to one place by one instruction. PTX leaves it open. In
// global memory the highest lane's stay. In shared memory the lanes go in parts, each of as many as fill its 32 banks of
// 4 bytes once: all lanes of 4 bytes, halves of 8, quarters of 16. A later part stores over an earlier one; in a part the
// lowest lane's bytes stay.
//
// Measured on an H200 (ptxas 13.0, -O3 and -G), lane t stores t:
//
//     st.shared.b32     [0]  0        [4 (t % 4)]  0 1 2 3           [4 (t / 4)]  0 4 8 12 16 20 24 28
//     st.shared.v2.b32  [0]  16       [8 (t % 8)]  16 17 ... 23      [8 (t / 4)]  0 4 8 12 16 20 24 28
//     st.shared.v4.b32  [0]  24       [16 (t % 4)] 24 25 26 27       [16 (t / 8)] 0 8 16 24    [16 (t / 16)] 8 24
//
// Stores of 1 and 2 bytes, of .b64, and to the shared memory of another block, were not measured: they follow the same
// rule here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "grid/program.hpp"

namespace warpbit::grid::steps {

/// So many lanes, of as many bytes each, store to shared memory together.
inline int lanes_together(std::size_t bytes) {
  constexpr std::size_t kBanks = 128;
  return static_cast<int>(std::min<std::size_t>(kLanes, kBanks / bytes));
}

/// Calls visit(lane) in the order of the lanes' stores to shared memory: what comes last stays.
template <class Visit>
void in_store_order(Lanes lanes, std::size_t bytes, Visit visit) {
  const int together = lanes_together(bytes);
  for (int end = together; end <= kLanes; end += together)
    for (int lane = end - 1; lane >= end - together; --lane)
      if ((lanes >> lane & 1) != 0) visit(lane);
}

/// What is told of lanes that have stored different values of so many bytes to one place of shared memory.
inline std::string which_stays(std::size_t bytes) {
  const int parts = kLanes / lanes_together(bytes);
  const std::string part = parts == 1   ? ""
                           : parts == 2 ? " in the last half of the warp that stores there"
                           : parts == 4 ? " in the last quarter of the warp that stores there"
                                        : " in the last eighth of the warp that stores there";
  return "which one stays is not defined, here the lowest lane's" + part;
}

}  // namespace warpbit::grid::steps
