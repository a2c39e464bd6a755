// SPDX-License-Identifier: Apache-2.0
// Matrix descriptors: how warpgroup instructions find their operands in shared memory (PTX manual, "Matrix
// Descriptor Format" and "Strides"; the map of addresses is measured, src/target/NUMERICS.md, "Descriptors").
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
enum class Part;

/// The span in bytes: 128, 64 or 32; 16 without a swizzle, where chunks keep their places.
int span_bytes(Swizzle swizzle);
/// "no swizzle", "128-byte swizzle" and so on.
std::string name(Swizzle swizzle);

/// A descriptor, its fields in bytes.
///
///     63 62    51 50 49        45 ... 32      29 ... 16      13 ... 0
///     swizzle  base offset     stride / 16    leading / 16   start / 16     all other bits are ignored
struct Descriptor {
  std::uint32_t start = 0;    ///< address in shared memory; a multiple of 16 below 2^18, like the next two
  std::uint32_t leading = 0;  ///< leading dimension byte offset, LBO
  std::uint32_t stride = 0;   ///< stride dimension byte offset, SBO
  int base_offset = 0;        ///< 0 to 7
  Swizzle swizzle = Swizzle::none;
  bool absolute_leading = false;  ///< tcgen05: the leading offset is an address, where K goes on

  static Descriptor decode(std::uint64_t bits);
  /// Errors: descriptor_field, with the field, its value and its range.
  Result<std::uint64_t> encode() const;

  /// The same of tcgen05 (PTX manual, "Shared memory descriptor" of tcgen05):
  ///
  ///     63 61    60 53   52           51 49        48 46  45 ... 32    29 ... 16     13 ... 0
  ///     swizzle  0       LBO is an    base offset  001    stride / 16  leading / 16  start / 16
  ///     0 2 4 6          address
  ///     1: 128 bytes in atoms of 32
  ///
  /// Errors: descriptor_field. `where` names the operand in them.
  static Result<Descriptor> decode_tensor(std::string_view where, std::uint64_t bits);
  Result<std::uint64_t> encode_tensor() const;
  friend bool operator==(const Descriptor&, const Descriptor&) = default;
};

/// The set bits that have no effect; without a swizzle the base offset is among them.
std::uint64_t ignored_descriptor_bits(std::uint64_t descriptor);

/// One line: "start 0x400, LBO 16, SBO 1024, base offset 0, 128-byte swizzle", then the ignored bits.
std::string descriptor_text(std::uint64_t descriptor);

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
        shift_(span_ == 16   ? 0
               : span_ == 32 ? 1
               : span_ == 64 ? 2
                             : 3) {
    exchanged_ = mask_;
    if (descriptor.swizzle == Swizzle::bytes_128_atoms_32) {
      exchanged_ = 3;
      atom_ = 2 * kChunk;
      if (major == Major::mn) group_ = 4;
    }
    if (descriptor.absolute_leading) beyond_ = descriptor.leading;
  }

  /// The address of a chunk.
  std::uint64_t operator()(std::uint64_t line, std::uint64_t chunk) const {
    std::uint64_t address = start_ + line % group_ * span_ + line / group_ * by_lines_;
    if (beyond_ != 0 && start_ % kRow + chunk * kChunk >= kRow)
      address = beyond_ + (address - start_) + (start_ % kRow + chunk * kChunk) % kRow;
    else
      address += (chunk & mask_) * kChunk + (chunk >> shift_) * by_spans_;
    return address ^ ((address / kRow - base_offset_) & exchanged_) * atom_;
  }

  /// The distance of two lines that are 8 apart, if it is the same everywhere, i.e. if the swizzle repeats.
  std::optional<std::uint64_t> eight_lines() const {
    if (by_lines_ % (kRow * (exchanged_ + 1)) != 0 || beyond_ != 0) return std::nullopt;
    return 8 / group_ * by_lines_;
  }
  /// Upper bound of the end of the first `lines` and `chunks`; the actual end may lie far below.
  std::uint64_t bound(std::uint64_t lines, std::uint64_t chunks) const {
    const std::uint64_t last = std::max(start_, beyond_) + 7 * span_ + (lines - 1) / group_ * by_lines_ +
                               mask_ * kChunk + ((chunks - 1) >> shift_) * by_spans_;
    return (last / kRow + 1) * kRow;  // a swizzle exchanges chunks of the same row
  }

 private:
  static constexpr std::uint64_t kRow = 128;  // bytes after which the swizzle changes
  static bool exchanged(const Descriptor& d, Major major) {
    return major == Major::mn && d.swizzle == Swizzle::none;
  }
  std::uint64_t start_, span_, by_lines_, by_spans_, base_offset_, mask_;
  int shift_;
  std::uint64_t exchanged_ = 0,
                atom_ = kChunk;  // the swizzle: bits of the number of a row of 128 bytes, and what they move
  std::uint64_t group_ = 8;      // lines of an atom
  std::uint64_t beyond_ = 0;     // where lines go on behind the first 128 bytes; 0: nowhere
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
  /// Sixteen elements, of 4 or 6 bits each, lie in the lower of each 16 bytes (PTX manual, "Packing formats of shared memory" of
  /// tcgen05).
  bool padded = false;

  /// Bytes along the contiguous direction.
  int contiguous_bytes() const {
    const int count = major == Major::mn ? lines : depth;
    return padded ? count : count * element_bits / 8;
  }
  std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(lines) * static_cast<std::uint64_t>(depth) *
           static_cast<std::uint64_t>(element_bits) / 8;
  }
  friend bool operator==(const DescribedMatrix&, const DescribedMatrix&) = default;
};

/// The bit where an element of a matrix begins, as above.
std::uint64_t element_bit(const Descriptor& descriptor, const DescribedMatrix& matrix, int i, int k);

/// The address after the last byte read.
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
/// (MN-major) of one span each, stored consecutively and swizzled; atoms follow each other along M or N
/// first:
///
///     -> K
///     0  2      along M or N
///     1  3
///
/// The offsets equal those of CUTLASS's tile_to_shape for such an atom.
class CanonicalTile {
 public:
  /// Errors: no_such_layout for MN-major elements that are not 16 bits wide, extents that are not whole
  /// atoms, and tiles beyond the addresses that a descriptor can hold.
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
  newer_descriptor,  ///< bits are set as in the descriptors of newer GPUs (tcgen05)
  ignored_leading,   ///< LBO is set but not used
  misaligned_start,  ///< the start lies within the swizzle's repeat, with a base offset of 0
  exchanged,         ///< with LBO and SBO exchanged it would be the canonical layout
  bytes_for_units,   ///< some fields hold bytes instead of 16-byte units
  read_twice,        ///< several elements share bytes
  out_of_bounds,     ///< bytes beyond shared memory are read
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

/// The matrix that a descriptor of this instruction describes. `factor` is Part::a or Part::b. A bare form
/// covers both placements of A (registers and shared memory). `transposed` overrides the instruction's
/// imm-trans. Errors: operand_kind if the factor has no descriptor, or cannot be transposed.
Result<DescribedMatrix> described_matrix(const Instruction& instruction, Part factor,
                                         std::optional<bool> transposed = std::nullopt);

/// The suspicious properties, by issue. A finding that explains why bytes are read twice or out of bounds
/// replaces those. A valid but unusual layout may be reported, too.
std::vector<DescriptorFinding> check_descriptor(std::uint64_t descriptor, const DescribedMatrix& matrix,
                                                std::uint64_t shared_bytes = kMostSharedBytes);

}  // namespace warpbit
#pragma GCC visibility pop
