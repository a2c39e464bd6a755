// SPDX-License-Identifier: Apache-2.0
// What is to be seen of a block at one place.
#pragma once

#include <vector>

#include "grid/block.hpp"
#include "grid/warp.hpp"
#include "warpbit/block_state.hpp"

namespace warpbit::grid {

/// A block behind a statement.
class Observed : public ptx::ObservedBlock {
 public:
  /// A path of the warp has done this step. `waits`: it waits for others behind it, which the path does not say yet.
  Observed(Warp& warp, int step, bool waits) : block_(warp.block()), warp_(warp), step_(step), waits_(waits) {}
  ptx::BlockState state() const override;
  Result<void> set_register(int warp, std::uint32_t lanes, std::string_view name, std::uint64_t value) override;
  Result<void> set_shared(std::uint64_t address, std::span<const std::byte> bytes) override;

 private:
  Block& block_;
  const Warp& warp_;
  int step_;
  bool waits_;
};
/// Those of a kernel.
std::vector<ptx::SharedVariable> shared_variables(const Program& program);

}  // namespace warpbit::grid
