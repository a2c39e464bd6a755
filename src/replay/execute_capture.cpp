// SPDX-License-Identifier: Apache-2.0
#include "replay/execute_capture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>  // std::memcpy
#include <list>
#include <variant>

#include "api/checks.hpp"
#include "isa/instruction.hpp"
#include "threads.hpp"

namespace warpbit {
namespace {

// The registers of an operand in case `index` and those behind it.
template <class View = OperandView>
View view_of(const Instruction& instruction, const Operand& op, auto& array, std::uint64_t index = 0) {
  View out = View::dense(array.data.data(), instruction.lanes(), op.registers, op.register_bits);
  out.base += static_cast<std::ptrdiff_t>(index) * out.case_stride;
  return out;
}

// A case of an array.
auto of_case(auto& array, std::uint64_t cases, std::uint64_t index) {
  const std::size_t bytes = array.data.size() / cases;
  return std::span(array.data).subspan(index * bytes, bytes);
}

std::vector<OperandView> source_views(const LoadedCapture& capture) {
  std::vector<OperandView> out;
  for (std::size_t i = 0; i < capture.sources.size(); ++i)
    out.push_back(view_of(capture.instruction, capture.instruction.operands()[i + 1], capture.sources[i]));
  return out;
}

// The library's answer to the inputs of a capture, in the shape of the expected result: registers to registers,
// and threads one by one (layout `scalars`).
Result<Array> execute_registers(const LoadedCapture& capture, const ExecuteOptions& options) {
  const Instruction& instruction = capture.instruction;
  Array got = capture.expected;
  const auto d = view_of<ResultView>(instruction, instruction.operands()[0], got);
  const Result<Execution> done = execute_batch(instruction, source_views(capture), d, capture.cases, options);
  if (!done) return done.error();
  return got;
}

// Element n (layout `elements`).
ElementInputs codes_of_row(const LoadedCapture& capture, std::uint64_t n) {
  ElementInputs out;
  for (std::size_t i = 0; i < capture.sources.size(); ++i) {
    const Part part = capture.instruction.operands()[i + 1].part;
    std::vector<std::uint64_t>* const row = part == Part::a         ? &out.a
                                            : part == Part::b       ? &out.b
                                            : part == Part::scale_a ? &out.a_scale
                                            : part == Part::scale_b ? &out.b_scale
                                                                    : nullptr;
    const Array& array = capture.sources[i];
    if (part == Part::c) out.c = array.at(n);
    if (row == nullptr) continue;
    const std::uint64_t extent = array.header.shape[1];
    for (std::uint64_t k = 0; k < extent; ++k) row->push_back(array.at(n * extent + k));
  }
  if (capture.before) out.c = capture.before->at(n);
  return out;
}

// One element after the other.
Result<Array> execute_elements(const LoadedCapture& capture) {
  const Tile& tile = std::get<Tile>(capture.instruction.decoded().kernel);
  Array got = capture.expected;
  for_each_piece(0, capture.cases,
                 [&](std::uint64_t n) { got.set(n, run_element(tile, codes_of_row(capture, n))); });
  return got;
}

// The registers of an operand in a case. A capture has addresses and strides as 32 bits, and what is the same in
// all lanes once.
std::vector<std::byte> registers_of_case(const Operand& op, int lanes, const Array& array, std::uint64_t cases,
                                         std::uint64_t index) {
  const auto bytes = static_cast<std::size_t>(op.register_bits / 8);
  const std::uint64_t each = array.header.items() / cases;
  std::vector<std::byte> out(static_cast<std::size_t>(lanes * op.registers) * bytes);
  for (std::size_t i = 0; i < out.size() / bytes; ++i) {
    const std::uint64_t value = array.at(index * each + i % each);
    std::memcpy(out.data() + i * bytes, &value, bytes);
  }
  return out;
}

Error in_case(std::uint64_t index, Error error) {
  error.where = fmt::format("case {}, {}", index, error.where);
  return error;
}

// Moves between registers and memory, warp by warp: what is in d afterwards, or in memory.
Result<Array> execute_warps(const LoadedCapture& capture, const ExecuteOptions& options) {
  const Instruction& instruction = capture.instruction;
  Array got = capture.expected, memory = *capture.memory;
  std::ranges::fill(got.data, std::byte{0});
  for (std::uint64_t i = 0; i < capture.cases; ++i) {
    std::list<std::vector<std::byte>> registers;
    std::vector<OperandArray> operands;
    if (!capture.stores()) operands.emplace_back(of_case(got, capture.cases, i));
    for (const Array& source : capture.sources) {
      const Operand& op = instruction.operands()[operands.size()];
      operands.push_back(source.data.empty() ? OperandArray()
                                             : OperandArray(registers.emplace_back(registers_of_case(
                                                   op, instruction.lanes(), source, capture.cases, i))));
    }
    const Result<Execution> done =
        execute_warp(instruction, operands, of_case(memory, capture.cases, i), 0, options);
    if (!done) return in_case(i, done.error());
  }
  if (capture.stores()) got.data = std::move(memory.data);
  return got;
}

// What the product of a warpgroup in case i reads.
WarpgroupSources warpgroup_sources(const LoadedCapture& capture, std::uint64_t i) {
  const Instruction& instruction = capture.instruction;
  WarpgroupSources out;
  for (std::size_t s = 0; s < capture.sources.size(); ++s) {
    const Operand& op = instruction.operands()[s + 1];
    const Array& array = capture.sources[s];
    if (array.data.empty()) continue;
    const OperandView view = view_of(instruction, op, array, i);
    const bool described = op.kind == OperandKind::descriptor;
    if (op.part == Part::a && described) out.a_descriptor = array.at(i);
    if (op.part == Part::a && !described) out.a = view;
    if (op.part == Part::b) out.b_descriptor = array.at(i);
    if (op.part == Part::metadata) out.metadata = view;
    if (op.part == Part::scale_d) out.accumulate = array.at(i) != 0;
  }
  return out;
}

// One product of a warpgroup after the other.
Result<Array> execute_warpgroups(const LoadedCapture& capture, const ExecuteOptions& options) {
  const Instruction& instruction = capture.instruction;
  Array got = *capture.before;
  got.header.name = capture.expected.header.name;
  for (std::uint64_t i = 0; i < capture.cases; ++i) {
    const Result<Execution> done = execute_warpgroup(
        instruction, warpgroup_sources(capture, i), of_case(*capture.memory, capture.cases, i),
        view_of<ResultView>(instruction, instruction.operands()[0], got, i), options);
    if (!done) return in_case(i, done.error());
  }
  return got;
}

}  // namespace

Result<Array> execute(const LoadedCapture& capture, const ExecuteOptions& options) {
  if (capture.header.layout == CaptureLayout::elements) return execute_elements(capture);
  if (!capture.memory) return execute_registers(capture, options);
  return capture.before ? execute_warpgroups(capture, options) : execute_warps(capture, options);
}

Result<void> check_element(const LoadedCapture& capture, std::uint64_t index, Coordinate at) {
  const Instruction& instruction = capture.instruction;
  const Tile* tile = std::get_if<Tile>(&instruction.decoded().kernel);
  if (tile == nullptr)
    return Error{Errc::view_mismatch, std::string(instruction.canonical()), "it is no product of matrices",
                 "an instruction of the form D = A B + C"};
  if (index >= capture.cases)
    return Error{Errc::usage, "case", std::to_string(index), fmt::format("0..{}", capture.cases - 1)};
  if (capture.header.layout == CaptureLayout::elements) return {};
  if (at.row < 0 || at.row >= tile->rows || at.column < 0 || at.column >= tile->columns || at.product < 0 ||
      at.product >= tile->products)
    return Error{Errc::usage, "element", fmt::format("({}, {}), product {}", at.row, at.column, at.product),
                 fmt::format("a row below {}, a column below {}, a product below {}", tile->rows, tile->columns,
                             tile->products)};
  return {};
}

std::vector<ElementInputs> codes_of_executed(const LoadedCapture& capture, std::uint64_t index,
                                             std::span<const Coordinate> elements) {
  if (capture.header.layout == CaptureLayout::elements) return {codes_of_row(capture, index)};
  const Instruction& instruction = capture.instruction;
  const Tile* tile = std::get_if<Tile>(&instruction.decoded().kernel);
  if (!tile->uses_memory())
    return codes_of_elements(*tile, tile_views(instruction, source_views(capture)), index, elements);
  const TileViews views = warpgroup_views(
      instruction, warpgroup_sources(capture, index), of_case(*capture.memory, capture.cases, index),
      view_of(instruction, instruction.operands()[0], *capture.before, index));
  return codes_of_elements(*tile, views, 0, elements);
}

}  // namespace warpbit
