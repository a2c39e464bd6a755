// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "record/members.hpp"
#include "warpbit/capture.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/replay.hpp"

namespace warpbit {

/// A capture whose statement is decoded and whose arrays are known to fit it.
struct LoadedCapture {
  CaptureHeader header;
  Instruction instruction;
  std::uint64_t cases = 0;
  std::vector<Array> sources;   ///< in the order of the source operands; empty for those without a member
  std::optional<Array> before;  ///< the destination before the instruction, where it is the accumulator
  std::optional<Array> memory;  ///< before the instruction, if it uses memory
  Array expected;               ///< the destination, or memory after a store
  std::optional<Array> mask;    ///< uint8, the shape of `expected`
  std::optional<Array> names;
  std::vector<std::string> notes;

  /// Without arrays.
  LoadedCapture(CaptureHeader header, Instruction instruction, std::uint64_t cases);

  /// Where one of members_of() belongs.
  Array& array_of(const CaptureArray& member);
  /// The arrays of inputs, also empty ones.
  std::vector<Array*> inputs();
  /// What a file has: the inputs, and these results.
  std::vector<Array> with_results(Array results) &&;
  /// True if the result is memory.
  bool stores() const { return !instruction.operands()[0].is_destination(); }
  /// Elements in an item of `expected`: those of a register, or a byte of memory.
  int slots() const {
    if (header.layout == CaptureLayout::elements || stores()) return 1;
    return instruction.operands()[0].fragment.packing().per_register();
  }
  /// Elements in all cases, masked or not.
  std::uint64_t elements() const { return expected.header.items() * static_cast<std::uint64_t>(slots()); }
  /// True if the place is to be compared: `item` indexes `expected`.
  bool compared(std::uint64_t item) const { return !mask || mask->at(item) != 0; }
};

/// The instruction that a capture is of: its statement on its target, or on that of the options. Errors: those
/// of decoding; member_value.
Result<Instruction> captured_instruction(const CaptureHeader& header, const ReplayOptions& options);

/// Loads and checks everything before any array data is read. Errors: those of decoding and of files.
Result<LoadedCapture> load_capture(const CaptureReader& reader, const ReplayOptions& options);
Result<LoadedCapture> load_capture(const std::filesystem::path& path, const ReplayOptions& options);

/// The same of a file that needs no results: `expected` has their shape, and zeros. A mask is not looked at.
Result<LoadedCapture> load_inputs(const CaptureReader& reader, const ReplayOptions& options);

/// The header of a member: unsigned items of that many bytes, or byte strings where it is 0, in a shape of which the
/// extents that are given count. Errors: member_missing, member_dtype, member_shape.
Result<const ArrayHeader*> find_member(const CaptureReader& reader, std::string_view name,
                                       std::size_t item_bytes,
                                       const std::vector<std::optional<std::uint64_t>>& shape,
                                       const std::string& shape_text);
/// Notes on the members that is_used(name) is not true of.
std::vector<std::string> notes_on_ignored(const CaptureReader& reader,
                                          const std::function<bool(std::string_view)>& is_used);

/// Its cases [first, first + count), as a capture of these alone; an array of `cases` cases.
Array cases_of(const Array& array, std::uint64_t cases, std::uint64_t first, std::uint64_t count);
LoadedCapture cases_of(const LoadedCapture& capture, std::uint64_t first, std::uint64_t count);

/// Where an item of `expected` lies.
inline Mismatch place_of(const LoadedCapture& capture, std::uint64_t item) {
  const std::uint64_t per_case = capture.expected.header.items() / capture.cases;
  const auto within = static_cast<std::int64_t>(item % per_case);
  Mismatch m;
  m.index = item / per_case;
  if (capture.stores()) {
    m.address = within;
    m.format = "b8";
    return m;
  }
  const Operand& d = capture.instruction.operands()[0];
  m.format = d.format;
  if (capture.header.layout != CaptureLayout::registers) return m;
  m.lane = static_cast<int>(within / d.registers);
  m.reg = static_cast<int>(within % d.registers);
  return m;
}

/// Calls visit(mismatch, name) for each compared element in order, with `expected` and `got` filled from two
/// arrays of the shape of `expected`; `visit` may be called with equal codes.
template <class Visit>
void for_each_element(const LoadedCapture& capture, const Array& expected, const Array& got, Visit visit) {
  const Operand& d = capture.instruction.operands()[0];
  const Packing& packing = d.fragment.packing();
  const bool whole = capture.header.layout == CaptureLayout::elements || capture.stores();
  for (std::uint64_t item = 0; item < expected.header.items(); ++item) {
    if (!capture.compared(item)) continue;
    Mismatch m = place_of(capture, item);
    const std::uint64_t e = expected.at(item), g = got.at(item);
    const auto name = [&] { return capture.names ? capture.names->text(m.index) : std::string(); };
    if (whole) {
      m.expected = e;
      m.got = g;
      visit(m, name);
      continue;
    }
    for (int slot = 0; slot < packing.per_register(); ++slot) {
      const int low = packing.low_bit_of(slot);
      const std::uint64_t mask = packing.mask();
      const Coordinate at = *d.fragment.at(std::max(m.lane, 0), std::max(m.reg, 0), slot);
      m.row = at.row;
      m.column = at.column;
      m.product = at.product;
      m.expected = (e >> low) & mask;
      m.got = (g >> low) & mask;
      visit(m, name);
    }
  }
}

// ---- Digests

/// A capture of the layout `digests`, checked.
struct LoadedDigests {
  CaptureHeader header;
  Instruction instruction;
  InputChoice choice;
  DigestBlocks blocks;
  Array digests;  ///< uint64, one for each block
  std::vector<std::string> notes;
};

/// Errors: those of decoding and of files.
Result<LoadedDigests> load_digests(const CaptureReader& reader, const ReplayOptions& options);

/// Elements of the result of one case. Precondition: digests() takes the instruction.
std::uint64_t elements_of_case(const Instruction& instruction);

/// Writes the ordinary capture of a block, with results as computed here; makes the folder if there is none.
/// Errors: file_unwritable; those of generated_capture.
Result<void> write_block(const LoadedDigests& file, std::uint64_t block, const std::filesystem::path& path,
                         const ExecuteOptions& options);

}  // namespace warpbit
