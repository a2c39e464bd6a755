// SPDX-License-Identifier: Apache-2.0
// Tensor maps: the 128 bytes of a CUtensorMap, by which bulk copies know a tensor in global memory, as the driver makes
// them for compute capability 9.0 (measured: src/tensor_map/LAYOUT.md). Members have the names of `tensormap.replace`, else
// those of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/detail/swizzle.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// How the elements of a copy are chosen: the function that makes the map. cuTensorMapEncodeIm2colWide makes the map
/// that im2col makes with the corners (W, 0, 0).
enum class TensorMapMode : std::uint8_t { tiled, im2col };

/// The type of an element, in the order of PTX's `.elemtype`; CUtensorMapDataType has f32_ftz behind bf16. Types of 4
/// and 6 bits are refused by the driver of compute capability 9.0.
enum class TensorType : std::uint8_t {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f32_ftz,
  f64,
  bf16,
  tf32,
  tf32_ftz
};

/// Whether channels lie in slices, and their bytes: NC/8HWC8 has 16, NC/16HWC16 has 32.
enum class TensorInterleave : std::uint8_t { none, bytes_16, bytes_32 };

/// The bytes that the L2 cache fetches at once.
enum class L2Promotion : std::uint8_t { none, bytes_64, bytes_128, bytes_256 };

/// What stands for elements outside the tensor: zeros, or CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA.
enum class TensorFill : std::uint8_t { zeros, nan };

/// The name as it is spelled above.
std::string_view name(TensorMapMode mode);
/// The name as it is spelled above.
std::string_view name(TensorType type);
/// The name as it is spelled above.
std::string_view name(TensorInterleave interleave);
/// The name as it is spelled above.
std::string_view name(L2Promotion promotion);
/// The name as it is spelled above.
std::string_view name(TensorFill fill);
/// The bytes of an element. Precondition: one of the enumerators.
std::uint32_t element_bytes(TensorType type);

/// A CUtensorMap.
using TensorMapBytes = std::array<std::byte, 128>;

/// The arguments of a tensor map. Entries beyond the rank, and members of the other mode, have no effect; `decode`
/// leaves them 0.
struct TensorMap {
  TensorMapMode mode = TensorMapMode::tiled;
  TensorType elemtype = TensorType::u8;
  int rank = 1;  ///< dimensions: 1 to 5; 3 to 5 with im2col, or with an interleave
  std::uint64_t global_address = 0;
  std::array<std::uint64_t, 5> global_dim{};      ///< in elements, the contiguous dimension first
  std::array<std::uint64_t, 4> global_stride{};   ///< in bytes, from the second dimension on
  std::array<std::uint32_t, 5> box_dim{};         ///< of tiles: elements of a copy before element strides
  std::array<std::uint32_t, 5> element_stride{};  ///< every how manieth element is copied
  std::array<std::int32_t, 3> pixel_box_lower{};  ///< of im2col: corner of the image, rank - 2 offsets, W first
  std::array<std::int32_t, 3> pixel_box_upper{};  ///< of im2col: the opposite corner
  std::uint32_t channels_per_pixel = 0;           ///< of im2col
  std::uint32_t pixels_per_column = 0;            ///< of im2col
  TensorInterleave interleave_layout = TensorInterleave::none;
  Swizzle swizzle_mode = Swizzle::none;
  L2Promotion l2_promotion = L2Promotion::none;
  TensorFill fill_mode = TensorFill::zeros;

  /// The map. Errors: descriptor_field, the first that the driver refuses.
  Result<TensorMapBytes> encode() const;
  /// The arguments of a map, also of one that the driver would refuse. Bits that mean nothing are ignored. Errors:
  /// descriptor_field, for a code that the driver never writes.
  static Result<TensorMap> decode(std::span<const std::byte, 128> map);

  /// What the driver refuses, each argument with what it would take there (descriptor_field); empty for a legal map.
  std::vector<Error> refusals() const;
  /// The bytes of a copy in shared memory, as the driver counts them: each extent of a box is divided by its element
  /// stride, without the remainder. Precondition: the driver takes the arguments.
  std::uint64_t box_bytes() const;

  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

/// The maximum number of bytes of a box: the shared memory of a multiprocessor.
inline constexpr std::uint64_t kMaxBoxBytes = 233472;  // 228 KiB

/// What looks wrong about a map.
enum class TensorMapIssue : std::uint8_t {
  unknown_code,  ///< a field has a code that the driver never writes
  refused,       ///< the driver refuses an argument
  undocumented,  ///< the driver takes the arguments, but cuda.h forbids them
  overlap,       ///< elements of one dimension lie among those of the next
  ignored_bits,  ///< bits are set that no field has
  stale,         ///< what the driver derived from the arguments belongs to others: fields were replaced
};
/// The name of an issue as it is spelled above.
std::string_view name(TensorMapIssue issue);

/// An issue of one map.
struct TensorMapFinding {
  TensorMapIssue issue;
  std::string message;  ///< one sentence: what was seen, and what would be right
};

/// What looks wrong about the bytes of a map, by issue. A map of unknown codes has this finding alone.
std::vector<TensorMapFinding> check_tensor_map(std::span<const std::byte, 128> map);

/// One field of a map.
struct TensorMapField {
  std::string name;  ///< the member that it holds, and how: "global_dim[0] - 1", "global_stride[0] >> 4"
  int first_bit = 0, bits = 0;
  std::uint64_t value = 0;  ///< its bits
};
/// The fields of a map, from bit 0 on; those alone that say what others there are, if one has an unknown code.
std::vector<TensorMapField> tensor_map_fields(std::span<const std::byte, 128> map);

}  // namespace warpbit
#pragma GCC visibility pop
