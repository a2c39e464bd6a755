// SPDX-License-Identifier: Apache-2.0
// Instruction descriptors of tcgen05.mma: the shape, the types and more that its qualifiers leave open (PTX manual,
// "Instruction Descriptor").
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"
#include "warpbit/target.hpp"
#include "warpbit/tensor_memory.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// What the qualifiers and the operands of a tcgen05.mma say; nothing of another instruction.
std::optional<TensorMma> tensor_mma(const Instruction& instruction);

/// An instruction descriptor, decoded. There are three forms of it, by kind: of f16, tf32, f8f6f4 and i8; of mxf8f6f4; of
/// mxf4 and mxf4nvf4 (src/machine/TENSOR_MEMORY.md, "Instruction descriptors", has the bits).
struct InstructionDescriptor {
  int m = 0, n = 0, k = 0;  ///< of the product of all blocks; of a sparse one, K counts what is not stored, too
  std::string_view a, b, d;  ///< types as formats are named: "f16", "e4m3", "u8", "f32", ...
  std::string_view scale;    ///< of the scale factors: "ue8m0", "ue4m3", "" without
  bool is_sparse = false;
  int sparsity_selector = 0;
  bool saturates = false;  ///< i8
  bool negates_a = false, negates_b = false;
  bool a_is_mn_major = false, b_is_mn_major = false;  ///< bits 15, 16: transposed
  int max_shift = 0;                                  ///< of B's columns, for .ws: 0, 8, 16 or 32
  int scale_id_a = 0, scale_id_b = 0;                 ///< the byte of the word that has the first scale factor
  friend bool operator==(const InstructionDescriptor&, const InstructionDescriptor&) = default;

  /// The scale factors of a row of A or a column of B.
  int scales(const TensorMma& of) const;

  /// Errors: instruction_descriptor, with the field, its bits, its value and what the manual allows: for types and shapes that
  /// do not exist for this mma on this target, for reserved bits, and for a sparsity that is not that of the mma. Whether the
  /// target has the mma is not asked.
  static Result<InstructionDescriptor> decode(std::uint32_t bits, const TensorMma& mma, Target target);
  /// K may be 0 where no other is possible, and D of scaled kinds "". Errors: the same, and for what no field can say.
  Result<std::uint32_t> encode(const TensorMma& mma, Target target) const;
};

/// The zero-column mask descriptor of tcgen05.mma.ws (PTX manual, "Zero-Column Mask Descriptor"): which columns of the product
/// take zeros for B, and by how much the columns of B are shifted.
///
///     63 62   61 ... 56   55 ... 48    47 ... 40    39        38 ... 36   35 ... 32      31 ... 0
///     0       shift       other - 1    zero - 1     enabled   0           first values   start counts, 8 bits each
///
/// Sub-mask i is of N M / 128 columns: runs of `zero` and of `other` columns by turns, of which the first, with the first value
/// i (1: zero), is shorter by the start count i. A start count that would leave no column of it leaves one: the manual's
/// examples do not show that.
struct ZeroColumnMask {
  std::array<int, 4> start_count = {};
  std::array<bool, 4> first_value = {};
  bool is_enabled = false;
  std::array<int, 2> runs = {1, 1};  ///< lengths, by value: of other columns, of zero columns
  int shift = 0;                     ///< column n of the product takes column n + shift of B
  int width = 0;                     ///< of a sub-mask

  /// Errors: descriptor_field, for reserved bits and for shifts beyond that of the instruction descriptor.
  static Result<ZeroColumnMask> decode(std::uint64_t bits, const InstructionDescriptor& of);
  /// Whether it changes anything.
  bool exists() const { return is_enabled || shift != 0; }
  /// Whether a column of the product takes zeros for B. Precondition: 0 <= column < N.
  bool is_zero(int column) const;
};
/// One line: "runs of 3 zero columns and 4 others, columns of B shifted by 2".
std::string text(const ZeroColumnMask& mask);

/// One field of an instruction descriptor.
struct InstructionDescriptorField {
  std::string_view name;
  int first_bit = 0, bits = 0;
  std::uint32_t value = 0;
  std::string meaning;  ///< "f32", "128", "MN-major", or what it should be if it is not allowed
};
/// All fields of a kind's form, from bit 0 on, whether or not they fit together.
std::vector<InstructionDescriptorField> fields(std::uint32_t descriptor, TensorKind kind);

/// One line: "M 128, N 256, K 16, f32 = f16 x f16, A K-major, B MN-major".
std::string text(const InstructionDescriptor& descriptor);

}  // namespace warpbit
#pragma GCC visibility pop
