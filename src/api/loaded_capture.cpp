// SPDX-License-Identifier: Apache-2.0
#include "api/loaded_capture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "isa/statement.hpp"

namespace warpbit {
namespace {

// What a member has to look like. Extents of -1 are free.
struct Expectation {
  std::string member;
  std::size_t item_bytes;
  std::vector<std::int64_t> shape;
  std::string shape_text;  // with names for the free extents
};

Result<void> check_member(const CaptureReader& reader, const Expectation& want) {
  const std::string dtype = fmt::format("uint{}", want.item_bytes * 8);
  const ArrayHeader* h = reader.find(want.member);
  if (h == nullptr)
    return Error{Errc::member_missing, want.member, {}, fmt::format("{} {}", dtype, want.shape_text)};
  if (h->kind != 'u' || h->item_bytes != want.item_bytes)
    return Error{Errc::member_dtype, want.member, h->dtype(), dtype};
  bool fits = h->shape.size() == want.shape.size();
  for (std::size_t i = 0; fits && i < want.shape.size(); ++i)
    fits = want.shape[i] < 0 || h->shape[i] == static_cast<std::uint64_t>(want.shape[i]);
  if (!fits) return Error{Errc::member_shape, want.member, h->shape_text(), want.shape_text};
  return {};
}

// The smallest unsigned dtype that holds an element.
std::size_t element_bytes(const Operand& op) {
  return std::bit_ceil(static_cast<std::size_t>(std::max(op.element_bits, 8))) / 8;
}

Expectation registers_member(const Operand& op, int lanes, std::int64_t cases) {
  const std::string n = cases < 0 ? "cases" : std::to_string(cases);
  if (op.kind == OperandKind::scalar)
    return {op.label,
            static_cast<std::size_t>(op.register_bits / 8),
            {cases, lanes},
            fmt::format("({}, {})", n, lanes)};
  return {op.label,
          static_cast<std::size_t>(op.register_bits / 8),
          {cases, lanes, op.registers},
          fmt::format("({}, {}, {})", n, lanes, op.registers)};
}

// Factors: [n, K]; accumulators: [n].
Expectation elements_member(const Operand& op, std::int64_t cases, std::int64_t depth) {
  const std::string n = cases < 0 ? "n" : std::to_string(cases);
  if (op.part == Part::left_factor || op.part == Part::right_factor)
    return {op.label,
            element_bytes(op),
            {cases, depth},
            fmt::format("({}, {})", n, depth < 0 ? "K" : std::to_string(depth))};
  return {op.label, element_bytes(op), {cases}, fmt::format("({},)", n)};
}

// In the layout `elements`, a and b are the operands of products that exist: there is no metadata.
bool has_member(const Operand& op, bool by_element) {
  return op.kind != OperandKind::immediate && !(by_element && op.part == Part::metadata);
}

Error does_not_fit(std::string seen, std::string expected) {
  return {Errc::member_value, "statement", std::move(seen), std::move(expected)};
}

Result<void> check_statement(const Instruction& instruction) {
  const Result<Statement> statement = split(instruction.text());
  if (!statement) return statement.error();
  if (!statement->terminated) return does_not_fit("the closing ';' is missing", "one statement with its ';'");
  if (statement->operands.empty()) return does_not_fit("no operands", "operands such as {d}, {a}, {b}, {c}");
  std::vector<std::string> seen;
  for (const Operand& op : instruction.operands()) {
    if (op.kind == OperandKind::immediate) continue;
    if (!op.is_symbolic)
      return does_not_fit(fmt::format("operand {} is not symbolic ('{}')", op.role, op.label),
                          op.kind == OperandKind::vector ? "one name in braces" : "one name");
    if (std::ranges::find(seen, op.label) != seen.end())
      return does_not_fit(fmt::format("the name {} stands twice", op.label), "a name for each operand");
    seen.push_back(op.label);
  }
  return {};
}

// Checks all members that the statement needs, on their headers alone, and finds the number of cases.
Result<std::uint64_t> check_members(const CaptureReader& reader, const Instruction& instruction) {
  const std::span<const Operand> operands = instruction.operands();
  const bool by_element = reader.header().layout == CaptureLayout::elements;
  if (reader.header().layout == CaptureLayout::scalars)
    return Error{Errc::member_value, "layout", "scalars", "registers or elements for this statement"};
  std::int64_t cases = -1, depth = -1;
  for (const Operand& op : operands) {
    if (!has_member(op, by_element)) continue;
    const Expectation want =
        by_element ? elements_member(op, cases, depth) : registers_member(op, instruction.lanes(), cases);
    if (Result<void> checked = check_member(reader, want); !checked) return checked.error();
    const std::vector<std::uint64_t>& shape = reader.find(op.label)->shape;
    if (shape[0] > static_cast<std::uint64_t>(INT64_MAX))
      return Error{Errc::member_shape, op.label, reader.find(op.label)->shape_text(), want.shape_text};
    cases = static_cast<std::int64_t>(shape[0]);
    if (shape.size() == 2 && by_element) {
      depth = static_cast<std::int64_t>(std::min(shape[1], std::uint64_t{INT64_MAX}));
      if (depth < 1 || depth > instruction.terms())
        return Error{Errc::member_shape, op.label, reader.find(op.label)->shape_text(),
                     fmt::format("1 to {} elements in the second extent", instruction.terms())};
    }
  }
  if (cases == 0) return Error{Errc::no_cases, operands[0].label, "no cases", "at least one"};
  return static_cast<std::uint64_t>(cases);
}

Result<void> read_optional(const CaptureReader& reader, LoadedCapture& out) {
  if (const ArrayHeader* mask = reader.find("mask")) {
    const ArrayHeader& d = out.expected.header;
    if (mask->kind != 'u' || mask->item_bytes != 1)
      return Error{Errc::member_dtype, "mask", mask->dtype(), "uint8"};
    if (mask->shape != d.shape) return Error{Errc::member_shape, "mask", mask->shape_text(), d.shape_text()};
    Result<Array> array = reader.read("mask");
    if (!array) return array.error();
    const auto is_set = [](std::byte place) { return place != std::byte{0}; };
    if (std::ranges::none_of(array->data, is_set))
      return Error{Errc::no_cases, "mask", "no place is compared", "at least one that is not 0"};
    out.mask = std::move(*array);
  }
  if (const ArrayHeader* names = reader.find("names"); names && out.header.layout == CaptureLayout::elements) {
    if (names->kind != 'S') return Error{Errc::member_dtype, "names", names->dtype(), "|S..."};
    if (names->shape != std::vector<std::uint64_t>{out.cases})
      return Error{Errc::member_shape, "names", names->shape_text(), fmt::format("({},)", out.cases)};
    Result<Array> array = reader.read("names");
    if (!array) return array.error();
    out.names = std::move(*array);
  }
  return {};
}

void note_ignored(const CaptureReader& reader, LoadedCapture& out) {
  const bool by_element = out.header.layout == CaptureLayout::elements;
  for (const ArrayHeader& h : reader.arrays()) {
    const bool used = (h.name == "mask" && out.mask) || (h.name == "names" && out.names) ||
                      std::ranges::any_of(out.instruction.operands(), [&](const Operand& op) {
                        return op.label == h.name && has_member(op, by_element);
                      });
    if (!used) out.notes.push_back(fmt::format("member '{}' is ignored", h.name));
  }
  for (const std::string& name : reader.ignored())
    out.notes.push_back(fmt::format("member '{}' is ignored", name));
}

}  // namespace

Result<LoadedCapture> load_capture(const std::filesystem::path& path, const ReplayOptions& options,
                                   CaptureHeader& header) {
  Result<CaptureReader> reader = CaptureReader::open(path, options.read);
  if (!reader) return reader.error();
  header = reader->header();

  const Result<Target> target = options.target ? Result<Target>(*options.target) : Target::find(header.target);
  if (!target) return target.error();
  Result<Instruction> instruction = Instruction::parse(header.statement, *target);
  if (!instruction) return instruction.error();
  if (Result<void> checked = check_statement(*instruction); !checked) return checked.error();
  const Result<std::uint64_t> cases = check_members(*reader, *instruction);
  if (!cases) return cases.error();

  LoadedCapture out{header, *instruction, *cases, {}, {}, {}, {}, {}};
  for (const Operand& op : instruction->operands()) {
    if (!has_member(op, header.layout == CaptureLayout::elements)) {
      out.sources.emplace_back();
      continue;
    }
    Result<Array> array = reader->read(op.label);
    if (!array) return array.error();
    if (op.is_destination())
      out.expected = std::move(*array);
    else
      out.sources.push_back(std::move(*array));
  }
  if (Result<void> read = read_optional(*reader, out); !read) return read.error();
  note_ignored(*reader, out);
  return out;
}

}  // namespace warpbit
