// SPDX-License-Identifier: Apache-2.0
// Scalars that all warps read and one of them replaces, as Triton does it:
//
//        ld.global.f32 %f1, [%rd1];      each warp, all lanes one address
//        add.f32 %f2, %f1, %f3;
//   @%p1 st.global.f32 [%rd1], %f2;      thread 0
//
// Such a read is in a race with the store of another warp, which does no harm if nothing depends on what was read. Who comes later
// is followed as other races of loads are (Records::race); where the read comes first, its value is followed as an undefined one, until
// something depends on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "block/fault.hpp"
#include "grid/global_accesses.hpp"

namespace warpbit::grid {

struct EarlyRead {
  int thread = 0;  ///< one of the warp's, in its cluster
  std::uint32_t clock = 0;
  const std::byte* first = nullptr;
  std::size_t bytes = 0;
  bool used = false;  ///< something depends on its value
  std::shared_ptr<const Fault> race =
      nullptr;  ///< with a store that has come since: what is told if something does
};

class EarlyReads {
 public:
  /// The latest one of a warp by the step of that site.
  std::shared_ptr<EarlyRead> add(std::int32_t site, int warp, EarlyRead read);
  /// Whether a store conflicts with such reads alone, of which none is used yet. From now on a use is the fault.
  bool wait_for_use(const GlobalConflict& found, const block::Order& order, const Fault& race);

 private:
  std::map<std::pair<std::int32_t, int>, std::shared_ptr<EarlyRead>> all_;  // by site and warp
};

}  // namespace warpbit::grid
