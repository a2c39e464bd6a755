// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "warpbit/capture.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/replay.hpp"

namespace warpbit {

/// A capture whose statement is decoded and whose arrays are known to fit it.
struct LoadedCapture {
  CaptureHeader header;
  Instruction instruction;
  std::uint64_t cases = 0;
  std::vector<Array> sources;  ///< in the order of the source operands
  Array expected;
  std::optional<Array> mask;  ///< uint8, the shape of `expected`
  std::optional<Array> names;
  std::vector<std::string> notes;

  /// Matrix elements in all cases, masked or not.
  std::uint64_t elements() const {
    const Operand& d = instruction.operands()[0];
    const int slots = header.layout == CaptureLayout::elements ? 1 : d.fragment.packing().per_register();
    return expected.header.items() * static_cast<std::uint64_t>(slots);
  }
  /// True if the place is to be compared: `item` indexes `expected`.
  bool compared(std::uint64_t item) const { return !mask || mask->at(item) != 0; }
};

/// Loads and checks everything before any array data is read. `header` is filled as soon as it is known.
Result<LoadedCapture> load_capture(const std::filesystem::path& path, const ReplayOptions& options,
                                   CaptureHeader& header);

/// Calls visit(mismatch) for each compared element in order, with `expected` and `got` filled from two arrays
/// of the shape of `expected`; `visit` may be called with equal codes.
template <class Visit>
void for_each_element(const LoadedCapture& capture, const Array& expected, const Array& got, Visit visit) {
  const Operand& d = capture.instruction.operands()[0];
  const auto name_of = [&](std::uint64_t i) { return capture.names ? capture.names->text(i) : std::string(); };
  if (capture.header.layout == CaptureLayout::elements) {
    for (std::uint64_t i = 0; i < capture.cases; ++i) {
      if (!capture.compared(i)) continue;
      Mismatch m;
      m.index = i;
      m.expected = expected.at(i);
      m.got = got.at(i);
      m.format = d.format;
      visit(m, [&] { return name_of(i); });
    }
    return;
  }
  const Packing& packing = d.fragment.packing();
  std::uint64_t item = 0;
  for (std::uint64_t i = 0; i < capture.cases; ++i)
    for (int lane = 0; lane < capture.instruction.lanes(); ++lane)
      for (int reg = 0; reg < d.registers; ++reg, ++item) {
        if (!capture.compared(item)) continue;
        const std::uint64_t e = expected.at(item), g = got.at(item);
        for (int slot = 0; slot < packing.per_register(); ++slot) {
          const int low = packing.low_bit_of(slot);
          const std::uint64_t mask =
              packing.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << packing.bits) - 1;
          const Coordinate at = *d.fragment.at(lane, reg, slot);
          Mismatch m;
          m.index = i;
          m.lane = lane;
          m.reg = reg;
          m.row = at.row;
          m.column = at.column;
          m.product = at.product;
          m.expected = (e >> low) & mask;
          m.got = (g >> low) & mask;
          m.format = d.format;
          visit(m, [&] { return name_of(i); });
        }
      }
}

}  // namespace warpbit
