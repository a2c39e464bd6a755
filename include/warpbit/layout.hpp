// SPDX-License-Identifier: Apache-2.0
// Layouts of operands: where each element of each matrix of an instruction lies, as a list, and that list as
// a picture, a table or data (PTX manual, "Matrix Fragments" of each instruction; for shared memory "Strides"
// and "Swizzling Modes").
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/descriptor.hpp"
#include "warpbit/fragment.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// One place of one element.
struct LayoutCell {
  Coordinate element;
  Place place;  ///< in registers and in tensor memory, `reg` the column; for an address, the lane that gives it
  std::uint64_t bit = 0;  ///< in memory: its first bit
  friend bool operator==(const LayoutCell&, const LayoutCell&) = default;
};

/// Where the elements of an operand lie.
enum class Medium {
  registers,      ///< of the lanes
  shared_memory,  ///< at addresses in shared memory, by a descriptor
  memory,         ///< at offsets from one address that all lanes give
  addresses,      ///< element (i, 0) stands for row i of a matrix, which lies at the address that a lane gives
  tensor_memory,  ///< of a block, or of the two of a pair, relative to an address: lane 128 v + i is lane i of block v
};

/// All elements of an operand.
struct OperandLayout {
  std::string role;    ///< the manual's name: "d", "a", "b_desc", ...
  std::string format;  ///< the manual's name of the element type
  Medium medium = Medium::registers;
  int rows = 0, columns = 0, products = 1;  ///< `products` matrices side by side
  int lanes = 0, registers = 0;             ///< in registers and in tensor memory; `registers` per lane
  Packing packing = {};                     ///< likewise
  int element_bits = 0;
  /// What the places depend on besides the form: a selector, a descriptor, a stride. Otherwise empty.
  std::string note = {};
  /// CuTe's notation, shape:stride, and between what it maps: "((4,8),(2,2)):((32,1),(16,8))" for
  /// "(T32,V4) -> (M16,N8)", whose numbers count along M first; in memory "Swizzle<3,3,3> o 0 o ..." in elements.
  /// Empty where the places are no such layout.
  std::string cute = {}, cute_domain = {};
  /// Of a tile of several steps along K: the elements of one along K, and whether these are rows. 0 otherwise.
  int step = 0;
  bool step_is_rows = false;
  /// By product, row and column, then by lane and register or address. An element may have several places.
  std::vector<LayoutCell> cells = {};
};

/// The operands of an instruction that hold matrices.
struct Layout {
  std::string form;    ///< in the manual's spelling
  std::string target;  ///< for which the form was read
  std::vector<OperandLayout> operands;
  /// A sentence for each operand in shared memory whose location is not given.
  std::vector<std::string> unknown;
};

/// Choices that a form leaves open.
struct LayoutOptions {
  std::string operand;  ///< the only one requested: its role, or "b" for "b_desc"; empty: all
  /// For an operand in shared memory: its descriptor. A literal in the statement has the same effect.
  std::optional<std::uint64_t> descriptor = {};
  /// For a product of tensor memory: its instruction descriptor. A literal in the statement has the same effect.
  std::optional<std::uint32_t> instruction_descriptor = {};
  /// And the lane of the addresses of D, A and metadata, which layouts C and F have 0 and 16 for.
  int tensor_lane = 0;
  /// Without a descriptor: the first part of a tile at address 0 in the canonical layout (CanonicalTile).
  std::optional<Swizzle> swizzle = {};
  /// Overrides imm-trans of the statement.
  bool transposed = false;
  /// With `swizzle`: instead of the part that one instruction reads, a tile of so many rows and columns of the operand:
  /// a multiple of that part, i.e. several steps along K.
  struct Tile {
    int rows = 0, columns = 0;
  };
  std::optional<Tile> tile = {};
};

/// The instruction on the newest target that has it; fragments do not depend on the target. Errors: those of
/// Instruction::parse.
Result<Instruction> parse_on_newest(std::string_view text);

/// The layout of an instruction's matrices. Errors: operand_kind if the requested operand does not exist or
/// holds no matrix, or if no operand holds one; instruction_descriptor; usage if a product of tensor memory has no
/// instruction descriptor, if the requested operand's location is not given, or if several operands could have the
/// descriptor, or for a tile that is no multiple of the instruction's part; no_such_layout if no canonical layout
/// exists.
Result<Layout> layout(const Instruction& instruction, const LayoutOptions& options = {});

// ---- For people

/// Gives `text` one of the 256 colours of terminals.
using Paint = std::function<std::string(std::string_view text, int colour)>;

/// Options of layout_text.
struct LayoutText {
  bool by_lanes = false;  ///< list elements by lane and register; else show the matrices with their holders
  int width = 100;        ///< maximum line length in characters, unless a single cell is longer
  Paint paint;            ///< empty: no colours
};
/// The layout as text. Neighbours in one register, or in 16 bytes of memory, share a cell. A matrix that is
/// too wide is shown up to the point where it repeats; if it does not repeat, in blocks of columns. Ends with
/// a newline.
std::string layout_text(const Layout& layout, const LayoutText& how = {});

/// Options of layout_svg.
struct LayoutPicture {
  bool by_lanes = false;  ///< also what each lane holds, or each row of addresses; a tile has it always
};
/// A picture of the operands, with a legend of its colours. A stands left of D and B above D where all three are there; C
/// is left out where it lies as D does, which the picture says. An XML document in UTF-8.
std::string layout_svg(const Layout& layout, const LayoutPicture& how = {});
/// Writes the picture; the file is complete or untouched. Errors: file_unwritable.
Result<void> write_layout_svg(const std::filesystem::path& path, const Layout& layout,
                              const LayoutPicture& how = {});

// ---- For programs: a record for each place of each element, with these fields. Fields that the medium does
// not have are left out (JSON), empty (CSV), or left out for all (Markdown):
//
//     operand, product, row, column
//     lane, register, low_bit      in registers: starts at low_bit of the register; in tensor memory that is a column,
//                                  and the lanes from 128 on are those of the second block of a pair
//     byte, bit                    in memory: starts at bit 0 to 7 of the byte
//     bits                         its width

/// {"form": ..., "target": ..., "operands": [...], "elements": [records]}, and a newline.
std::string layout_json(const Layout& layout);
/// A line of names, then a line for each record.
std::string layout_csv(const Layout& layout);
/// The records as a Markdown table.
std::string layout_markdown(const Layout& layout);

// ---- Questions

/// A question: where an element lies, or what lies at a place.
struct LayoutQuestion {
  std::string operand;  ///< may be empty if a place is given
  std::optional<Coordinate> element;
  bool any_product = true;  ///< matches the element in each of the matrices side by side
  std::optional<int> lane, reg;
  std::optional<std::uint64_t> byte;
};
/// Parses one of these questions: words separated by blanks; numbers may be hexadecimal (0x...). Errors:
/// usage.
///
///     a[3,5]    a[3,5,1]    lane 7 reg 2    a lane 7 reg 2    lane 7    b byte 0x412
///
/// In tensor memory a register is a column, and the second block of a pair has the lanes from 128 on:
///
///     d lane 7 column 2    d block 1 lane 7
Result<LayoutQuestion> parse_layout_question(std::string_view text);

/// An operand and one of its cells.
struct LayoutAnswer {
  const OperandLayout* operand;
  LayoutCell cell;
};
/// Answers a question. Empty if the place exists but holds no element. Precondition: `layout` outlives the
/// answer. Errors: usage for an element, lane, register or medium that does not exist, with the existing
/// ones.
Result<std::vector<LayoutAnswer>> answer(const Layout& layout, const LayoutQuestion& question);

/// The answers as JSON: {"form": ..., "target": ..., "question": ..., "answers": [records]}, and a newline.
std::string answers_json(const Layout& layout, std::string_view question,
                         const std::vector<LayoutAnswer>& answers);

/// One line without a newline: "a[3,5]: lane 14, register 0, bits 31:16", or in the opposite direction.
std::string text(const LayoutAnswer& answer, const LayoutQuestion& question);

// ---- Scale factors in memory

/// The layout of scale factors, as that of a form "scale_factors" with the operand "sf" in memory. With a question only the
/// cells that answer it. Errors: usage for numbers of rows or blocks that are not 1 to 2^24, and without a question for
/// more than 2^20 scale factors.
Result<Layout> scale_factor_layout(const ScaleLayout& scales, const LayoutQuestion* question = nullptr);

// ---- Moves of fragments
//
// Which ldmatrix fills an operand's registers from shared memory, and which stmatrix stores them; and where D of a
// product is A of the next. All of it is found by comparing maps, form by form (PTX manual, "ldmatrix", "stmatrix").

/// How a matrix is stored: what lies contiguously.
enum class StorageOrder { row_major, column_major };

/// The address of a lane: where the element begins with which the lane's 16 bytes begin.
struct LineAddress {
  int instruction = 0, warp = 0, lane = 0;
  int row = 0, column = 0;  ///< of the operand; of tiles side by side, of all of them
  friend bool operator==(const LineAddress&, const LineAddress&) = default;
};

/// Lanes whose lines go into the same registers. One for each matrix of the first instruction, in the first warp.
struct MovedMatrix {
  int first_lane = 0, lanes = 0;
  std::vector<int> registers;                 ///< of the operand, as FragmentMove::registers
  int rows[2] = {0, 0}, columns[2] = {0, 0};  ///< first and last
};

/// How an operand's registers are loaded from memory, or stored, if it can be done by one kind of instruction.
struct FragmentMove {
  std::string operand;  ///< the manual's name
  StorageOrder order = StorageOrder::row_major;
  /// Fragments side by side, of adjacent tiles: along K for A, along N for others. Their registers count on: with two
  /// registers each, register 2 is the first of the second tile.
  int tiles = 1;
  int registers_each = 0;  ///< registers of one fragment
  bool stores = false;     ///< stmatrix; else ldmatrix
  /// The elements of D as pairs of 16 bits: register i holds those of registers 2 i (in the low half) and 2 i + 1.
  bool packed = false;
  bool padded = false;  ///< in memory, each element has the bits that it has in a register, padding included

  std::string form = {};    ///< empty: none does it
  std::string reason = {};  ///< why none does
  /// Registers of the operand that each instruction names, in its order.
  std::vector<std::vector<int>> registers = {};
  int shift = 0;          ///< each register must be shifted left by so many bits afterwards
  int line_elements = 0;  ///< that the 16 bytes at an address hold
  int line_padding = 0;   ///< bytes behind them that hold none
  std::vector<MovedMatrix> matrices = {};
  std::vector<LineAddress> addresses = {};  ///< by instruction, warp and lane
  /// The row and column as formulas of the lane i, the instruction j (if there are several) and the warp w (of a
  /// warpgroup): "i % 16". Empty if no sum of digits says it.
  std::string row = {}, column = {};
};

/// A part of a register of A and the register of D whose value it is.
struct ChainedElement {
  int reg = 0, low_bit = 0;  ///< of A
  int tile = 0, d_reg = 0;   ///< tiles of D side by side along N; the register
  int d_low_bit = 0;
  friend bool operator==(const ChainedElement&, const ChainedElement&) = default;
};
/// D of a product as A of the next one of the same form, as in attention.
struct FragmentChain {
  int tiles = 0;  ///< of D, side by side, that make `steps.size()` fragments of A
  std::vector<std::vector<ChainedElement>> steps;  ///< by step along K; empty if it cannot be
  std::string reason;                              ///< why it cannot be
};

/// All of it for one instruction.
struct FragmentMoves {
  std::string form, target;
  std::vector<FragmentMove> moves;
  std::vector<FragmentChain> chain;  ///< one, or none where D or A is not of interest
};

/// The moves for each operand in registers, or for one: both orders of storage, and adjacent tiles together where one
/// fragment has fewer registers than an instruction moves. Instructions of the same target are tried, `.shared` ones.
/// Errors: operand_kind if the operand does not exist, or the instruction multiplies no fragments.
Result<FragmentMoves> fragment_moves(const Instruction& instruction, const std::string& operand = "");

/// As text, with a table of lanes and rows for each. Ends with a newline.
std::string text(const FragmentMoves& moves, int width = 100);
/// {"form": ..., "target": ..., "by": "ldmatrix", "moves": [...], "d_as_a": ...}, and a newline.
std::string fragment_moves_json(const FragmentMoves& moves);

}  // namespace warpbit
#pragma GCC visibility pop
