// SPDX-License-Identifier: Apache-2.0
// Tensor maps in the memory of a launch: those that copies use, and those that a kernel changes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "block/fault.hpp"
#include "grid/async_tables.hpp"
#include "grid/program.hpp"
#include "warpbit/tensor_map.hpp"

namespace warpbit::grid {

class Warp;
struct Path;

/// Tensor maps in global memory that a kernel changes: a copy may use one when the change is released and acquired
/// (PTX manual, "tensormap.cp_fenceproxy", "fence.proxy.tensormap").
class ChangedMaps {
 public:
  void change(std::uint64_t address, block::Who who) { states_[address] = {who, false, false}; }
  void release_all();
  void copy(std::uint64_t address, block::Who who) { states_[address] = {who, true, false}; }
  void acquire(std::uint64_t address);
  /// What is missing before a map may be used, and who has changed it; nothing if nothing is.
  struct Missing {
    block::Who who;
    std::string_view what, must;
  };
  std::optional<Missing> missing(std::uint64_t address) const;

 private:
  struct State {
    block::Who who;
    bool released, acquired;
  };
  std::map<std::uint64_t, State> states_;
};

namespace steps {

/// A lane's number, or its address with its offset.
std::uint64_t value(Warp& warp, const Path& path, const Step& step, const OperandAt& of, int lane);

/// The tensor map at an address, for a lane's copy, which has so many coordinates; 0: any number. Errors: address_misaligned,
/// address_out_of_bounds, descriptor_field; that of a fault of the block.
Result<TensorMap> read_map(Warp& warp, const Step& step, std::uint64_t at, int dimensions, int lane);

}  // namespace steps
}  // namespace warpbit::grid
