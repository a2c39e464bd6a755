// SPDX-License-Identifier: Apache-2.0
// Words of what tcgen05 is told.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "async/tensor.hpp"

namespace warpbit::async {

/// "32 at 0x40"
inline std::string range_text(TensorMemory::Columns columns) {
  return fmt::format("{} at {:#x}", columns.count, columns.first);
}

/// For all lanes of its warp.
inline Fault of_warp(block::Who who, Error error, KernelRule rule) {
  Fault out = block::fault_of(who, std::move(error), rule);
  out.lanes = block::lanes_of(block::kAllLanes);
  return out;
}

/// The statement is named by whoever has it; an operand stays.
inline Error without_place(Error error) {
  if (const std::size_t operand = error.where.find(", "); operand != std::string::npos)
    error.seen = fmt::format("{}: {}", error.where.substr(operand + 2), error.seen);
  error.where.clear();
  return error;
}

}  // namespace warpbit::async
