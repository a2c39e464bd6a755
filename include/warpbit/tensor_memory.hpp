// SPDX-License-Identifier: Apache-2.0
// Tensor memory, and what instructions do to it (PTX manual, "Tensor Memory" and "TensorCore 5th Generation Family
// Instructions"). No GPU that has it was at hand: src/machine/TENSOR_MEMORY.md says what each rule rests on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

// ---- What the qualifiers of a form say

/// .kind::... of tcgen05.mma.
enum class TensorKind : std::uint8_t { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4, ti16 };
std::string_view name(TensorKind kind);
/// Whether elements of A and B have 16 bits or more. The metadata of a sparse A of these lie by sixteen rows, with a selector.
constexpr bool has_wide_elements(TensorKind kind) {
  return kind == TensorKind::f16 || kind == TensorKind::tf32 || kind == TensorKind::ti16;
}

/// tcgen05.mma: what its qualifiers and its operands' kinds say. The rest is in its instruction descriptor
/// (warpbit/instruction.hpp).
struct TensorMma {
  TensorKind kind = TensorKind::f16;
  int cta_group = 1;
  bool is_sparse = false;             ///< .sp
  bool is_weight_stationary = false;  ///< .ws
  /// Scale factors of a row of 32 bytes of K: .scale_vec::1X, 2X, 4X; 0 without .block_scale. .block32 is 1 or 2, by kind,
  /// .block16 is 4.
  int scale_vec = 0;
  bool a_in_tensor_memory = false;
  bool shifts_a = false;  ///< .ashift
  friend bool operator==(const TensorMma&, const TensorMma&) = default;

  bool is_block_scaled() const { return scale_vec != 0; }
};

// ---- Tensor memory

/// An address of tensor memory. Lanes are rows.
///
///     31 ... 16   15 ... 0
///     lane        column
struct TensorAddress {
  int lane = 0, column = 0;

  static TensorAddress decode(std::uint32_t bits) {
    return {static_cast<int>(bits >> 16), static_cast<int>(bits & 0xFFFF)};
  }
  std::uint32_t encode() const {
    return static_cast<std::uint32_t>(lane) << 16 | static_cast<std::uint32_t>(column);
  }
  friend bool operator==(const TensorAddress&, const TensorAddress&) = default;
};

/// The tensor memory of a block: 128 lanes by 512 columns of words of 32 bits, and which columns are allocated. A word
/// that was never written reads as kUnwritten.
class TensorMemory {
 public:
  static constexpr int kLanes = 128, kColumns = 512, kWindowLanes = 32, kMinAllocation = 32;
  /// A NaN in every format of 32 and 16 bits.
  static constexpr std::uint32_t kUnwritten = 0xFFFF'FFFF;

  TensorMemory();

  // ---- Words. Precondition of all: 0 <= lane < kLanes, 0 <= column < kColumns.

  std::uint32_t read(int lane, int column) const { return words_[index(lane, column)]; }
  void write(int lane, int column, std::uint32_t word) {
    words_[index(lane, column)] = word;
    written_[index(lane, column)] = 1;
  }
  bool is_written(int lane, int column) const { return written_[index(lane, column)] != 0; }
  /// Word (0, 0). The next column follows after one word, the next lane after kStride, which is no power of two: rows of
  /// D would meet in the same lines of a cache.
  static constexpr int kStride = kColumns + 16;
  const std::uint32_t* data() const { return words_.data(); }
  std::uint32_t* data() { return words_.data(); }
  /// Words of some lanes, from data(), are written.
  void mark_written(int first_lane, int lanes, int first_column, int columns);

  // ---- Allocation (PTX manual, "tcgen05.alloc, dealloc, relinquish_alloc_permit")

  /// Columns side by side.
  struct Columns {
    int first = 0, count = 0;
    friend bool operator==(const Columns&, const Columns&) = default;
  };
  /// Allocates columns: the first ones that are free, in steps of 32. Nothing if too few are free side by side: the
  /// instruction waits. Errors: tensor_memory for a number that is no power of two from 32 to 512, that exceeds the one
  /// before, or after relinquish(). With .exclusive (PTX ISA 9.4) any multiple of 32, and nothing beside it: tensor_memory, too,
  /// for an allocation beside an exclusive one, or an exclusive one beside others.
  Result<std::optional<TensorAddress>> allocate(std::uint32_t columns, bool is_exclusive = false);
  /// Errors: tensor_memory for an address that allocate() has not returned, another number of columns, or an exclusive
  /// allocation without .exclusive, or the reverse.
  Result<void> deallocate(std::uint32_t address, std::uint32_t columns, bool is_exclusive = false);
  /// The block allocates no more.
  void relinquish() { may_allocate_ = false; }
  const std::vector<Columns>& allocations() const { return allocations_; }
  bool is_allocated(int column) const;
  /// True if all these columns exist and are allocated.
  bool are_allocated(int first, int count) const;

 private:
  static std::size_t index(int lane, int column) {
    return static_cast<std::size_t>(lane) * kStride + static_cast<std::size_t>(column);
  }
  std::vector<std::uint32_t> words_;
  std::vector<std::uint8_t> written_;
  std::vector<Columns> allocations_;  // by first column
  int last_ = kColumns;               // the columns of the last allocation
  bool is_exclusive_ = false;         // the only allocation is
  bool may_allocate_ = true;
};

}  // namespace warpbit
#pragma GCC visibility pop
