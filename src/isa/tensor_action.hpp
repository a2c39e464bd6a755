// SPDX-License-Identifier: Apache-2.0
// What the forms of tcgen05 do, as their qualifiers say it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "warpbit/tensor_memory.hpp"

namespace warpbit::tensor {

/// tcgen05.alloc, dealloc, relinquish_alloc_permit
struct Allocation {
  enum class Kind : std::uint8_t { allocate, deallocate, relinquish } kind;
  bool is_exclusive = false;  ///< .exclusive
};

/// The shape of tcgen05.ld and tcgen05.st (PTX manual, "Data Movement Shape").
enum class MoveShape : std::uint8_t { s32x32b, s16x64b, s16x128b, s16x256b, s16x32bx2 };

/// tcgen05.ld, tcgen05.ld.red, tcgen05.st
struct RegisterMove {
  struct Reduction {
    bool max;
    bool absolute, propagates_nan;
    enum class Type : std::uint8_t { u32, s32, f32 } type;
  };
  bool stores;
  MoveShape shape;
  int number;      ///< .x1 to .x128
  bool is_packed;  ///< .pack::16b, .unpack::16b
  std::optional<Reduction> reduction = {};
};

/// The shape, multicast and source format of tcgen05.cp.
struct Copy {
  enum class Shape : std::uint8_t { s128x256b, s4x256b, s128x128b, s64x128b, s32x128b } shape;
  enum class Multicast : std::uint8_t { none, warpx2_02_13, warpx2_01_23, warpx4 } multicast;
  int source_bits;  ///< of an element, in memory: 8; 6 (.b6x16_p32), 4 (.b4x16_p64)
};

/// tcgen05.shift.down
struct Shift {};

/// tcgen05.commit
struct Commit {
  int mask_bits;            ///< of the blocks' mask of a multicast, 16 or 32; 0 without
  bool reads_of_a = false;  ///< arrives when products have read A from shared memory
};

/// tcgen05.fence::..., tcgen05.wait::...
struct Ordering {
  enum class Kind : std::uint8_t { before_thread_sync, after_thread_sync, wait_ld, wait_st } kind;
};

}  // namespace warpbit::tensor

namespace warpbit {

/// An action on tensor memory. `lanes` execute it together: 32, or 1.
struct TensorAction {
  int lanes = 1;
  int cta_group = 1;  ///< 1 where the form has none
  std::variant<tensor::Allocation, tensor::RegisterMove, tensor::Copy, tensor::Shift, TensorMma, tensor::Commit,
               tensor::Ordering>
      what = tensor::Shift{};
  std::string_view not_executed = {};  ///< why nothing executes it; empty: it is executed
};

}  // namespace warpbit
