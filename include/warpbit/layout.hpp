// SPDX-License-Identifier: Apache-2.0
// Layouts of operands: where each element of each matrix of an instruction lies, as a list, and that list as a
// picture, a table or data (PTX manual, "Matrix Fragments" of each instruction; of what lies in shared memory
// "Strides" and "Swizzling Modes").
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
  Place place;            ///< in registers; of an address, the lane that gives it
  std::uint64_t bit = 0;  ///< in memory: where it begins
  friend bool operator==(const LayoutCell&, const LayoutCell&) = default;
};

/// Where the elements of an operand lie.
enum class Medium {
  registers,      ///< of the lanes
  shared_memory,  ///< at addresses in shared memory, by a descriptor
  memory,         ///< at offsets from one address that all lanes give
  addresses,      ///< the element (i, 0) stands for row i of a matrix, which lies where a lane says
};

/// All elements of an operand.
struct OperandLayout {
  std::string role;    ///< the manual's name: "d", "a", "b_desc", ...
  std::string format;  ///< the manual's name of the element type
  Medium medium = Medium::registers;
  int rows = 0, columns = 0, products = 0;  ///< `products` matrices side by side
  int lanes = 0, registers = 0;             ///< in registers; `registers` in a lane
  Packing packing;                          ///< in registers
  int element_bits = 0;
  /// What the places depend on beside the form: a selector, a descriptor, a stride. Else empty.
  std::string note;
  /// By product, row and column, then by lane and register or address. An element may have several places.
  std::vector<LayoutCell> cells;
};

/// The operands of an instruction that hold matrices.
struct Layout {
  std::string form;    ///< in the manual's spelling
  std::string target;  ///< for which the form was read
  std::vector<OperandLayout> operands;
  /// A sentence for each operand in shared memory of which nothing says where it lies.
  std::vector<std::string> unknown;
};

/// What a form does not say.
struct LayoutOptions {
  std::string operand;  ///< the only one wanted: its role, or "b" for "b_desc"; empty: all
  /// Of the operand in shared memory: where it lies. A literal in the statement says the same.
  std::optional<std::uint64_t> descriptor;
  /// Without a descriptor: the first part of a tile at address 0 in the canonical layout (CanonicalTile).
  std::optional<Swizzle> swizzle;
  /// Instead of imm-trans of the statement.
  bool transposed = false;
};

/// The instruction on the newest target on which it exists: fragments do not depend on the target. Errors:
/// those of Instruction::parse.
Result<Instruction> parse_on_newest(std::string_view text);

/// Errors: operand_kind for an operand that the instruction does not have or that holds no matrix, and for an
/// instruction without any; usage for one that is asked for and of which nothing says where it lies, and for a
/// descriptor that several operands could have; no_such_layout where no canonical layout is possible.
Result<Layout> layout(const Instruction& instruction, const LayoutOptions& options = {});

// ---- For people

/// Gives `text` one of the 256 colours of terminals.
using Paint = std::function<std::string(std::string_view text, int colour)>;

/// How layout_text shows it.
struct LayoutText {
  bool by_lanes = false;  ///< lane by lane and register, which elements; else the matrices with what holds them
  int width = 100;        ///< no line is longer, unless a single cell is; in characters
  Paint paint;            ///< empty: no colours
};
/// Neighbours of one register, or of 16 bytes of memory, are one cell. A matrix that is too wide is shown up to
/// where it repeats itself; if it does not, in blocks of columns. Ends with a newline.
std::string layout_text(const Layout& layout, const LayoutText& how = {});

/// A picture of all operands: each with its matrices, and lane by lane. An XML document in UTF-8.
std::string layout_svg(const Layout& layout);
/// Writes it; the file is complete or untouched. Errors: file_unwritable.
Result<void> write_layout_svg(const std::filesystem::path& path, const Layout& layout);

// ---- For programs: a record for each place of each element, with these fields, of which those that the medium
// does not have are left out (JSON), empty (CSV), or left out for all (Markdown):
//
//     operand, product, row, column
//     lane, register, low_bit      in registers: from low_bit of the register on
//     byte, bit                    in memory: from bit 0 to 7 of the byte on
//     bits                         how many

/// {"form": ..., "target": ..., "operands": [...], "elements": [records]}, and a newline.
std::string layout_json(const Layout& layout);
/// A line of names and a line for each record.
std::string layout_csv(const Layout& layout);
/// The same as a table.
std::string layout_markdown(const Layout& layout);

// ---- Questions

/// A question: where an element lies, or what lies at a place.
struct LayoutQuestion {
  std::string operand;  ///< may be empty if a place is given
  std::optional<Coordinate> element;
  bool any_product = true;  ///< the element of each of the matrices side by side
  std::optional<int> lane, reg;
  std::optional<std::uint64_t> byte;
};
/// One of these, words separated by blanks; numbers may be hexadecimal (0x...). Errors: usage.
///
///     a[3,5]    a[3,5,1]    lane 7 reg 2    a lane 7 reg 2    lane 7    b byte 0x412
Result<LayoutQuestion> parse_layout_question(std::string_view text);

/// An operand and one of its cells.
struct LayoutAnswer {
  const OperandLayout* operand;
  LayoutCell cell;
};
/// What lies there; nothing if the place exists and holds no element. Precondition: `layout` outlives the
/// answer. Errors: usage for an element, lane, register or medium that does not exist, with what does.
Result<std::vector<LayoutAnswer>> answer(const Layout& layout, const LayoutQuestion& question);

/// One line without a newline: "a[3,5]: lane 14, register 0, bits 31:16", or the other way round.
std::string text(const LayoutAnswer& answer, const LayoutQuestion& question);

}  // namespace warpbit
#pragma GCC visibility pop
