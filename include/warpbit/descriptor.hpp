// SPDX-License-Identifier: Apache-2.0
// Matrix descriptors: how instructions find their operands in shared memory (PTX manual, "Matrix Descriptor Format" and
// "Strides"; of tcgen05 "Shared memory descriptor"). The map of addresses is measured for wgmma (src/target/NUMERICS.md,
// "Descriptors"), and not for tcgen05 (src/machine/TENSOR_MEMORY.md, "Descriptors of shared memory").
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/detail/swizzle.hpp"
#include "warpbit/fragment.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

class Instruction;
struct InstructionDescriptor;
enum class Part;

/// Whose form of descriptor: that of wgmma (sm_90a), or that of tcgen05 (sm_100a and later).
enum class DescriptorForm : std::uint8_t { wgmma, tcgen05 };

/// The span in bytes: 128, 64 or 32; 16 without a swizzle, where chunks keep their places.
int span_bytes(Swizzle swizzle);
/// "no swizzle", "128-byte swizzle" and so on.
std::string name(Swizzle swizzle);

/// A descriptor, its fields in bytes. Those of wgmma and of tcgen05 differ in the upper bits:
///
///     wgmma     63 62    51 50 49        45 ... 32      29 ... 16      13 ... 0
///               swizzle  base offset     stride / 16    leading / 16   start / 16     all other bits are ignored
///
///     tcgen05   63 62 61   60 ... 53   52         51 50 49      48 47 46   45 ... 32  and so on
///               swizzle    0           LBO mode   base offset   0  0  1               bits 14, 15, 30 and 31 are 0
///
/// The swizzle of tcgen05 is 0 (none), 2 (128 bytes), 4 (64), 6 (32), whose upper bits are those of wgmma, or 1 (128 bytes,
/// atoms of 32). Its LBO mode 1 makes the leading offset an address.
struct Descriptor {
  std::uint32_t start = 0;    ///< address in shared memory; a multiple of 16 below 2^18, like the next two
  std::uint32_t leading = 0;  ///< leading dimension byte offset, LBO
  std::uint32_t stride = 0;   ///< stride dimension byte offset, SBO
  int base_offset = 0;        ///< 0 to 7
  Swizzle swizzle = Swizzle::none;
  bool absolute_leading = false;  ///< tcgen05: rows go on at the address `leading` behind the first 128 bytes

  /// What the fields hold, whether or not the instruction allows it.
  static Descriptor decode(std::uint64_t bits, DescriptorForm form = DescriptorForm::wgmma);
  /// The descriptor of wgmma. Errors: descriptor_field, with the field, its value and its range.
  Result<std::uint64_t> encode() const;

  /// The same of tcgen05. Errors: descriptor_field, for bits and values that the manual does not allow. `where` names the
  /// operand in them.
  static Result<Descriptor> decode_tensor(std::string_view where, std::uint64_t bits);
  Result<std::uint64_t> encode_tensor() const;
  friend bool operator==(const Descriptor&, const Descriptor&) = default;
};

/// The set bits that have no effect; without a swizzle the base offset is among them. Of tcgen05 no others: they are not
/// allowed.
std::uint64_t ignored_descriptor_bits(std::uint64_t descriptor, DescriptorForm form = DescriptorForm::wgmma);

/// One line: "start 0x400, LBO 16, SBO 1024, base offset 0, 128-byte swizzle", then the ignored bits.
std::string descriptor_text(std::uint64_t descriptor, DescriptorForm form = DescriptorForm::wgmma);

/// The contiguous direction of an operand in shared memory.
enum class Major : std::uint8_t {
  k,   ///< K: rows of A, columns of B
  mn,  ///< M or N (imm-trans 1)
};

/// The addresses of the 16-byte chunks of an operand (NUMERICS.md, "Descriptors"). `line` counts along the
/// strided direction, `chunk` along the contiguous one. With W the span, S the stride and L the leading
/// offset, a chunk lies at
///
///     (line % 8) W + (line / 8) S + (chunk % (W / 16)) 16 + (chunk / (W / 16)) L
///
/// from the start; where M or N is contiguous and nothing is swizzled, L and S change places. Then bits 4 to
/// 6 (for narrower swizzles 4 to 5, or 4) of the address are XORed with those of address / 128 - base offset.
///
/// With atoms of 32 bytes, bits 5 and 6 are XORed with the lowest two of address / 128, and a group has four lines, not
/// eight, where M or N is contiguous. With an absolute L, bytes of a line that lie 128 bytes or more behind start / 128 * 128
/// follow at L, plus the same terms of the line.
class ChunkMap {
 public:
  static constexpr std::uint64_t kChunk = 16;
  ChunkMap(const Descriptor& descriptor, Major major)
      : start_(descriptor.start),
        span_(static_cast<std::uint64_t>(span_bytes(descriptor.swizzle))),
        by_lines_(exchanged(descriptor, major) ? descriptor.leading : descriptor.stride),
        by_spans_(exchanged(descriptor, major) ? descriptor.stride : descriptor.leading),
        base_offset_(static_cast<std::uint64_t>(descriptor.base_offset)),
        mask_(span_ / kChunk - 1),
        rows_(mask_),
        shift_(span_ == 16   ? 0
               : span_ == 32 ? 1
               : span_ == 64 ? 2
                             : 3) {
    if (descriptor.swizzle == Swizzle::bytes_128_atoms_32) {
      rows_ = 3;
      atom_shift_ = 5;
      if (major == Major::mn) group_shift_ = 2;
    }
    is_absolute_ = descriptor.absolute_leading;
  }

  /// The address of a chunk.
  std::uint64_t operator()(std::uint64_t line, std::uint64_t chunk) const {
    const std::uint64_t in_line =
        (line & ((1U << group_shift_) - 1)) * span_ + (line >> group_shift_) * by_lines_;
    const std::uint64_t address =
        is_absolute_ ? in_line + first_of_absolute(chunk)
                     : start_ + in_line + (chunk & mask_) * kChunk + (chunk >> shift_) * by_spans_;
    return address ^ ((address / kRow - base_offset_) & rows_) << atom_shift_;
  }

  /// The distance of two lines that are 8 apart, if it is the same everywhere, i.e. if the swizzle repeats.
  std::optional<std::uint64_t> eight_lines() const {
    if (by_lines_ % (kRow * (rows_ + 1)) != 0) return std::nullopt;
    return by_lines_ << (3 - group_shift_);
  }
  /// Upper bound of the end of the first `lines` and `chunks`; the actual end may lie far below.
  std::uint64_t bound(std::uint64_t lines, std::uint64_t chunks) const {
    const std::uint64_t most = ((1U << group_shift_) - 1) * span_ + ((lines - 1) >> group_shift_) * by_lines_;
    const std::uint64_t last = is_absolute_
                                   ? most + std::max(start_, by_spans_) + kRow
                                   : start_ + most + mask_ * kChunk + ((chunks - 1) >> shift_) * by_spans_;
    return (last / kRow + 1) * kRow;  // a swizzle exchanges chunks of the same row
  }

 private:
  static constexpr std::uint64_t kRow = 128;  // bytes after which the swizzle changes
  static bool exchanged(const Descriptor& d, Major major) {
    return major == Major::mn && d.swizzle == Swizzle::none;
  }
  // Of the first line, before the swizzle.
  std::uint64_t first_of_absolute(std::uint64_t chunk) const {
    const std::uint64_t within = start_ % kRow + chunk * kChunk;
    return within < kRow ? start_ + chunk * kChunk : by_spans_ + within % kRow;
  }
  std::uint64_t start_, span_, by_lines_, by_spans_, base_offset_, mask_;
  std::uint64_t rows_;  // of 128 bytes, after which the swizzle repeats, less one
  int shift_;
  int atom_shift_ = 4, group_shift_ = 3;  // of bytes that stay together, of lines of an atom
  bool is_absolute_ = false;
};

/// The bit in shared memory where an element of an operand begins: i along M (for A) or N (for B), k along K.
/// For a sparse A, k counts stored elements. Addresses are not bounded here. Precondition: 0 <= i, k.
std::uint64_t element_bit(const Descriptor& descriptor, Major major, int element_bits, int i, int k);

/// A factor in shared memory, or a tile of one: `lines` rows of A or columns of B with `depth` elements each
/// (for a sparse A, stored elements). All numbers are positive.
struct DescribedMatrix {
  Major major = Major::k;
  int element_bits = 16;
  int lines = 0, depth = 0;
  /// Of tcgen05, for elements of 4 and 6 bits: sixteen of them begin each 16 bytes, side by side, and the bytes behind them
  /// are left out.
  bool padded = false;

  /// Bytes along the contiguous direction.
  int contiguous_bytes() const {
    const int count = major == Major::mn ? lines : depth;
    return padded ? count : count * element_bits / 8;
  }
  std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(lines) * static_cast<std::uint64_t>(depth) *
           static_cast<std::uint64_t>(padded ? 8 : element_bits) / 8;
  }
  friend bool operator==(const DescribedMatrix&, const DescribedMatrix&) = default;
};

/// The bit where an element of a matrix begins, as above.
std::uint64_t element_bit(const Descriptor& descriptor, const DescribedMatrix& matrix, int i, int k);

/// The address after the last byte read; of padded elements the padding is read, too.
std::uint64_t described_end(const Descriptor& descriptor, const DescribedMatrix& matrix);
/// Whether a memory of this size contains the whole matrix.
bool is_described_within(const Descriptor& descriptor, const DescribedMatrix& matrix, std::uint64_t bytes);

/// The bits of all elements of a matrix, and the inverse map.
class DescriptorMap {
 public:
  /// Element (i, k) of the matrix.
  struct Element {
    std::uint64_t bit;  ///< where it begins
    int i, k;
    friend bool operator==(const Element&, const Element&) = default;
  };
  DescriptorMap(const Descriptor& descriptor, const DescribedMatrix& matrix);

  /// By bit, then by i and k.
  std::span<const Element> elements() const { return elements_; }
  /// The elements that overlap bits [first_bit, first_bit + bits); those of byte x are at (8 x, 8).
  std::span<const Element> at(std::uint64_t first_bit, std::uint64_t bits) const;
  /// The bytes read, ascending; no two ranges touch.
  std::vector<ByteRange> ranges() const;
  /// The bytes that several elements share.
  std::vector<ByteRange> shared_ranges() const;

 private:
  std::uint64_t element_bits_;
  std::vector<Element> elements_;
};

/// A tile in a canonical layout (PTX manual, "Canonical Layouts"). An atom is 8 rows (K-major) or 8 k
/// (MN-major; of 32-byte atoms 4) of one span each, stored consecutively and swizzled; atoms follow each other along M or N
/// first:
///
///     -> K
///     0  2      along M or N
///     1  3
///
/// The offsets equal those of CUTLASS's tile_to_shape for such an atom.
class CanonicalTile {
 public:
  /// Errors: no_such_layout for elements that the swizzle does not move (MN-major: 8 and 16 bits by every one but that of
  /// 32-byte atoms, 32 bits by that alone), extents that are not whole atoms, and tiles beyond the addresses that a descriptor
  /// can hold.
  static Result<CanonicalTile> make(const DescribedMatrix& tile, Swizzle swizzle);

  const DescribedMatrix& matrix() const { return tile_; }
  Swizzle swizzle() const { return whole_.swizzle; }
  /// The size of the tile.
  std::uint64_t bytes() const { return tile_.bytes(); }
  /// Required alignment of the tile's start, for base offset 0. Alignment 128 also works with a non-zero base
  /// offset.
  int alignment() const;

  /// The bit, from the tile's start on, where element (i, k) of the tile must be written.
  std::uint64_t element_bit(int i, int k) const;

  /// The offset to add to the start address of a descriptor to reach the part that begins at (i, k), e.g. the
  /// next K step of an instruction; a sixteenth of it is added to the descriptor itself. Errors:
  /// no_such_layout if no descriptor can reach that part.
  Result<std::uint32_t> step(const DescribedMatrix& part, int i, int k) const;

  /// The descriptor of the part that begins at (i, k) in a tile that begins at `start`. Errors: those of
  /// step; address_misaligned; descriptor_field.
  Result<Descriptor> descriptor(std::uint32_t start, const DescribedMatrix& part, int i = 0, int k = 0) const;

 private:
  CanonicalTile(const DescribedMatrix& tile, const Descriptor& whole) : tile_(tile), whole_(whole) {}
  DescribedMatrix tile_;
  Descriptor whole_;  // at address 0
};

// ---- What looks wrong

enum class DescriptorIssue {
  ignored_bits,      ///< bits are set that have no effect
  newer_descriptor,  ///< bits are set as in the descriptors of newer GPUs
  ignored_leading,   ///< LBO is set but not used
  misaligned_start,  ///< the start lies within the swizzle's repeat, with a base offset of 0
  exchanged,         ///< with LBO and SBO exchanged it would be the canonical layout
  bytes_for_units,   ///< some fields hold bytes instead of 16-byte units
  read_twice,        ///< several elements share bytes
  out_of_bounds,     ///< bytes beyond shared memory are read
  older_descriptor,  ///< tcgen05: it is a descriptor of wgmma
  other_major,       ///< tcgen05: with the other transpose bit it would be the canonical layout
  not_allowed,       ///< tcgen05: a field has a value that the manual does not allow, or not for this matrix
};
/// The name of an issue as it is spelled above.
std::string_view name(DescriptorIssue issue);

/// An issue of one descriptor.
struct DescriptorFinding {
  DescriptorIssue issue;
  std::string message;  ///< one sentence with the numbers and the probable intent
};

/// The maximum shared memory of a multiprocessor whose instructions use such descriptors (CUDA programming
/// guide).
inline constexpr std::uint64_t kMostSharedBytes = 233472;  // 228 KiB

/// The matrix that a descriptor of this instruction describes. `factor` is Part::a or Part::b; of tcgen05.cp Part::source. A
/// bare form of wgmma covers both placements of A (registers and shared memory). `transposed` overrides the instruction's
/// imm-trans. Errors: operand_kind if the factor has no descriptor, or cannot be transposed.
Result<DescribedMatrix> described_matrix(const Instruction& instruction, Part factor,
                                         std::optional<bool> transposed = std::nullopt);
/// The same of tcgen05.mma with an instruction descriptor of its: what each block of a pair has. Error: operand_kind.
Result<DescribedMatrix> described_matrix(const Instruction& instruction, Part factor,
                                         const InstructionDescriptor& of);
/// Whose descriptors an instruction has.
DescriptorForm descriptor_form(const Instruction& instruction);

/// The suspicious properties, by issue. A finding that explains why bytes are read twice or out of bounds
/// replaces those. A valid but unusual layout may be reported, too.
std::vector<DescriptorFinding> check_descriptor(std::uint64_t descriptor, const DescribedMatrix& matrix,
                                                std::uint64_t shared_bytes = kMostSharedBytes,
                                                DescriptorForm form = DescriptorForm::wgmma);

}  // namespace warpbit
#pragma GCC visibility pop
