// SPDX-License-Identifier: Apache-2.0
// Fragments: which element of a matrix lies in which bits of which register of which lane
// (PTX manual, "Matrix Fragments" of each instruction). A map is a value.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#pragma GCC visibility push(default)
namespace warpbit {

/// A place in a matrix. Some instructions compute several independent products side by side; `product` is the
/// index of the one that the matrix belongs to (0 if there is only one).
struct Coordinate {
  int row = 0;
  int column = 0;
  int product = 0;
  friend auto operator<=>(const Coordinate&, const Coordinate&) = default;
};

/// Bits in the registers of a warp: bits [low_bit, low_bit + bits) of one register of one lane.
struct Place {
  int lane = 0;
  int reg = 0;
  int low_bit = 0;
  int bits = 0;

  /// A mask of `bits` ones.
  std::uint64_t mask() const { return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }
  friend bool operator==(const Place&, const Place&) = default;
};

/// How elements lie in one register, lowest first: slot e is bits [slot_bits e + low_bit, ... + bits).
///
///     slot 1            slot 0
///     ..xxxx..          ..xxxx..     slot_bits 8, low_bit 2, bits 4
///
/// If only some of the slots hold elements, there are `slots` of them, starting at slot `first_slot`.
struct Packing {
  int register_bits = 32;
  int slot_bits = 32;
  int low_bit = 0;
  int bits = 32;
  int first_slot = 0;
  int slots = 0;  ///< 0: all

  int per_register() const { return slots > 0 ? slots : register_bits / slot_bits; }
  /// The lowest bit of the element in an occupied slot.
  int low_bit_of(int slot) const { return (first_slot + slot) * slot_bits + low_bit; }
  /// As many ones as an element has bits.
  std::uint64_t mask() const { return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }
  friend auto operator<=>(const Packing&, const Packing&) = default;
};

/// The lanes that hold elements: those with lane % period in [first, first + count). The digits of a map
/// number them consecutively, in ascending order. The other lanes hold no elements.
struct ActiveLanes {
  int period = 1;
  int first = 0;
  int count = 1;
  friend auto operator<=>(const ActiveLanes&, const ActiveLanes&) = default;
};

/// Places of a map that hold nothing, although its digits count them: those of elements outside the matrix, once `origin` is
/// added to all of them; and of each `block` rows those from `used` on, so that row `block` follows row `used` - 1.
struct Border {
  Coordinate origin = {};
  int block = 1, used = 1;
  friend auto operator<=>(const Border&, const Border&) = default;
};

/// A static fragment map: (lane, value) -> (row, column), each index split into mixed-radix digits with a step
/// in the matrix for each digit (CuTe's shape:stride). Value v of a lane is slot v % per_register of register
/// v / per_register.
class FragmentMap {
 public:
  /// One digit: it counts to `size`, and each unit moves by `step`.
  struct Digit {
    int size;
    Coordinate step;
    friend auto operator<=>(const Digit&, const Digit&) = default;
  };
  /// Lowest digits first. The sizes of `lane` multiply to the number of active lanes.
  FragmentMap(int rows, int columns, int products, Packing packing, std::vector<Digit> lane,
              std::vector<Digit> value, ActiveLanes active = {});

  /// Rows and columns exchanged. Precondition: Border::block is 1.
  FragmentMap transposed() const;
  /// A map of rows x columns with one more, highest digit of values: this map repeated, each time moved by
  /// the digit's step.
  FragmentMap tiled(int rows, int columns, Digit value) const;

  /// The same with one more digit of lanes, i.e. for more lanes than this map has.
  FragmentMap over_lanes(int rows, int columns, Digit lanes) const;
  /// The same with a border.
  FragmentMap within(const Border& border) const;

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  int products() const { return products_; }
  int lanes() const { return active_lanes_ / active_.count * active_.period; }
  int registers() const { return values_ / packing_.per_register(); }
  const Packing& packing() const { return packing_; }

  /// The element in a slot of a register of a lane. Nothing if the lane, register or slot does not exist, or
  /// if the lane or the place holds no element.
  std::optional<Coordinate> at(int lane, int reg, int slot) const;
  /// The element that the given bit belongs to, padding excluded.
  std::optional<Coordinate> at_bit(int lane, int reg, int bit) const;
  /// Every place that holds the element, by lane and register. Empty if it is outside the matrix.
  std::vector<Place> find(Coordinate element) const;

  /// The map as a flat table: for each element (product, row, column), at index (product * rows + row) *
  /// columns + column, the first place that holds it. Precondition: every element has a place.
  std::vector<Place> table() const;

  /// CuTe's notation with steps as (row,column[,product]), preceded by the border if there is one, and by the active lanes if
  /// not all are active, e.g. "((4,8),(2,2)):(((0,2),(1,0)),((0,1),(8,0)))".
  std::string text() const;

  /// Equal maps are written alike. The order is arbitrary and serves lookup.
  friend auto operator<=>(const FragmentMap&, const FragmentMap&) = default;

 private:
  Place place(int active, int value) const;
  std::optional<Coordinate> coordinate(int active, int value) const;

  int rows_, columns_, products_;
  Packing packing_;
  std::vector<Digit> lane_, value_;
  ActiveLanes active_;
  Border border_ = {};
  int active_lanes_ = 1, values_ = 1;
};

// ---- Where registers lie in memory

/// Bytes of a memory, both ends included.
struct ByteRange {
  std::uint64_t first = 0, last = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// Registers of one operand over (case, lane, register): a base pointer and byte strides. Registers are
/// little-endian and may be unaligned. Bytes is std::byte or const std::byte.
template <class Bytes>
struct RegisterView {
  Bytes* base = nullptr;
  std::ptrdiff_t case_stride = 0, lane_stride = 0, register_stride = 0;

  /// A dense array [cases][lanes][registers] of registers of `register_bits` bits.
  static RegisterView dense(std::conditional_t<std::is_const_v<Bytes>, const void, void>* base, int lanes,
                            int registers, int register_bits) {
    const std::ptrdiff_t reg = register_bits / 8, lane = reg * registers;
    return {static_cast<Bytes*>(base), lane * lanes, lane, reg};
  }
  /// A register of case `index`.
  Bytes* at(std::size_t index, int lane, int reg) const {
    return base + static_cast<std::ptrdiff_t>(index) * case_stride + lane * lane_stride + reg * register_stride;
  }
  operator RegisterView<const Bytes>() const { return {base, case_stride, lane_stride, register_stride}; }
};
using OperandView = RegisterView<const std::byte>;  ///< of a source
using ResultView = RegisterView<std::byte>;         ///< of the destination

// ---- The inputs of one element of D

/// The inputs of one output element of D = A B + C: the codes of equally many elements of a row of A and of a
/// column of B, at most Instruction::terms() (the rest are +0), and the code of C. For a sparse A: its stored
/// elements, in their order, and the elements of B that they are multiplied by. With block scaling also the
/// codes of the scale factors of the blocks, otherwise empty (PTX manual, "Block Scaling").
struct ElementCodes {
  std::span<const std::uint64_t> a, b;
  std::uint64_t c = 0;
  std::span<const std::uint64_t> a_scale = {}, b_scale = {};
};
/// The same, with owned codes.
struct ElementInputs {
  std::vector<std::uint64_t> a, b;
  std::uint64_t c = 0;
  std::vector<std::uint64_t> a_scale = {}, b_scale = {};

  operator ElementCodes() const { return {a, b, c, a_scale, b_scale}; }
};

// ---- Scale factors in memory
//
// Where the scale factors of a matrix with block scaling lie in memory. The order of 128 x 4 tiles is that of cuBLAS
// (cuBLAS documentation, "1D Block Scaling Factors Layout"), of CUTLASS (Sm1xxBlockScaledConfig, whose atom is
// ((32,4),(V,4)):((16,4),(0,1)) for blocks of V elements) and of PyTorch (torchao, to_blocked).

/// How scale factors follow each other. Each is a byte.
enum class ScaleOrder : std::uint8_t {
  tiles,   ///< tiles of 128 rows x 4 blocks, 512 bytes each
  linear,  ///< row by row, without padding
};

/// A scale factor: that of block `block` along K in row `row` of A, or in column `row` of B.
struct ScaleFactor {
  std::int64_t row = 0, block = 0;
  friend bool operator==(const ScaleFactor&, const ScaleFactor&) = default;
};

/// The scale factors of a matrix: `rows` rows of A or columns of B with `blocks` blocks along K each; neither is negative, and
/// their product with padding fits 63 bits.
/// In tiles the matrix is padded to whole tiles, which follow each other along K first. In a tile, 16 bytes hold four
/// blocks of each of four rows that are 32 apart:
///
///     tile = (row / 128) ceil(blocks / 4) + block / 4
///     offset = 512 tile + (row % 32) 16 + (row / 32 % 4) 4 + block % 4
///
///     byte    0        4         8         12       16 ...
///     [0,0-3]  [32,0-3]  [64,0-3]  [96,0-3]  [1,0-3] ...
struct ScaleLayout {
  static constexpr std::int64_t kTileRows = 128, kTileBlocks = 4, kTileBytes = 512;
  static constexpr std::int64_t kApart = 32, kLine = 16;  ///< the distance of rows in 16 bytes; those bytes

  std::int64_t rows = 0, blocks = 0;
  ScaleOrder order = ScaleOrder::tiles;

  /// Tiles along K.
  constexpr std::int64_t tiles_across() const { return (blocks + kTileBlocks - 1) / kTileBlocks; }
  /// Tiles along M or N.
  constexpr std::int64_t tiles_down() const { return (rows + kTileRows - 1) / kTileRows; }
  /// All bytes, padding included.
  constexpr std::int64_t bytes() const {
    return order == ScaleOrder::linear ? rows * blocks : tiles_down() * tiles_across() * kTileBytes;
  }

  /// The byte of a scale factor. Precondition: 0 <= row < rows and 0 <= block < blocks; in tiles also what pads them.
  constexpr std::int64_t offset(std::int64_t row, std::int64_t block) const {
    if (order == ScaleOrder::linear) return row * blocks + block;
    const std::int64_t tile = row / kTileRows * tiles_across() + block / kTileBlocks;
    return tile * kTileBytes + row % kApart * kLine + row % kTileRows / kApart * kTileBlocks +
           block % kTileBlocks;
  }

  /// The scale factor at a byte, and that of padding, too: its row may be `rows` or more, its block `blocks` or more.
  /// Precondition: 0 <= offset < bytes().
  constexpr ScaleFactor place(std::int64_t offset) const {
    if (order == ScaleOrder::linear) return {offset / blocks, offset % blocks};
    const std::int64_t tile = offset / kTileBytes, byte = offset % kTileBytes;
    return {tile / tiles_across() * kTileRows + byte % kLine / kTileBlocks * kApart + byte / kLine,
            tile % tiles_across() * kTileBlocks + byte % kTileBlocks};
  }

  /// The scale factor at a byte. Nothing for padding and outside.
  constexpr std::optional<ScaleFactor> at(std::int64_t offset) const {
    if (offset < 0 || offset >= bytes()) return std::nullopt;
    const ScaleFactor out = place(offset);
    return out.row < rows && out.block < blocks ? std::optional(out) : std::nullopt;
  }

  friend bool operator==(const ScaleLayout&, const ScaleLayout&) = default;
};

}  // namespace warpbit
#pragma GCC visibility pop
