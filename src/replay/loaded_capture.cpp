// SPDX-License-Identifier: Apache-2.0
#include "replay/loaded_capture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "isa/statement.hpp"
#include "record/members.hpp"

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

// The name of an operand's member. In the layout `elements` a factor that the statement finds by a descriptor
// is a or b.
std::string member_name(const Operand& op, CaptureLayout layout) {
  if (layout == CaptureLayout::elements && op.kind == OperandKind::descriptor)
    return op.part == Part::a ? "a" : "b";
  return op.label;
}

std::string before_name(CaptureLayout layout) {
  return layout == CaptureLayout::elements ? "c" : std::string(kBefore);
}

// The members of an operand, by layout. An extent that is not known yet is -1.
Expectation registers_member(const Operand& op, int lanes, std::int64_t cases) {
  Expectation out{op.label, item_bytes(op), case_shape(op, lanes), {}};
  std::string text = cases >= 0 ? std::to_string(cases) : lanes == 1 ? "n" : "cases";
  for (const std::int64_t extent : out.shape) text += fmt::format(", {}", extent);
  out.shape_text = fmt::format("({}{})", text, out.shape.empty() ? "," : "");
  out.shape.insert(out.shape.begin(), cases);
  return out;
}

// Factors: [n, K]; scale factors: [n, K / block]; accumulators: [n].
Expectation elements_member(const Operand& op, std::int64_t cases, std::int64_t depth, std::int64_t blocks) {
  const std::string n = cases < 0 ? "n" : std::to_string(cases);
  const auto two = [&](std::int64_t extent, std::string_view name) -> Expectation {
    return {member_name(op, CaptureLayout::elements),
            code_bytes(op.element_bits),
            {cases, extent},
            fmt::format("({}, {})", n, extent < 0 ? std::string(name) : std::to_string(extent))};
  };
  switch (op.part) {
    case Part::a:
    case Part::b: return two(depth, "K");
    case Part::scale_a:
    case Part::scale_b: return two(blocks, "K / block");
    default: return {op.label, code_bytes(op.element_bits), {cases}, fmt::format("({},)", n)};
  }
}

// In the layout `elements`, a and b are the operands of products that exist: there is no metadata.
bool has_member(const Operand& op, CaptureLayout layout) {
  return has_member(op) &&
         !(layout == CaptureLayout::elements && (op.part == Part::metadata || op.part == Part::scale_d));
}

Error does_not_fit(std::string seen, std::string expected) {
  return {Errc::member_value, "statement", std::move(seen), std::move(expected)};
}

// Names that members have whatever the statement says.
bool is_taken(const std::string& name, CaptureLayout layout, bool in_place) {
  constexpr std::array kTaken{kMemory, kMemoryAfter, std::string_view("mask"), std::string_view("names")};
  return std::ranges::find(kTaken, name) != kTaken.end() || (in_place && name == before_name(layout));
}

Result<void> check_statement(const Instruction& instruction, CaptureLayout layout) {
  const Result<Statement> statement = split(instruction.text());
  if (!statement) return statement.error();
  if (!statement->terminated) return does_not_fit("the closing ';' is missing", "one statement with its ';'");
  if (instruction.rows() == 0) return does_not_fit("an instruction without results", "one with results");
  if (statement->operands.empty()) return does_not_fit("no operands", "operands such as {d}, {a}, {b}, {c}");
  std::vector<std::string> seen;
  for (const Operand& op : instruction.operands()) {
    if (op.kind == OperandKind::immediate) continue;
    const auto is_literal = [](const auto& literal) { return literal.has_value(); };
    const bool may_be_literal =
        op.kind == OperandKind::pair || op.kind == OperandKind::predicate || op.part == Part::stride;
    if (may_be_literal && !op.literals.empty() && std::ranges::all_of(op.literals, is_literal)) continue;
    if (!op.is_symbolic)
      return does_not_fit(fmt::format("operand {} is not symbolic ('{}')", op.role, op.label),
                          op.kind == OperandKind::vector    ? "one name in braces"
                          : op.kind == OperandKind::pair    ? "two integers in braces"
                          : op.kind == OperandKind::address ? "one name in brackets"
                                                            : "one name");
    if (is_taken(op.label, layout, accumulates_in_place(instruction)))
      return does_not_fit(fmt::format("the name {} is taken", op.label), "another name");
    if (std::ranges::find(seen, op.label) != seen.end())
      return does_not_fit(fmt::format("the name {} stands twice", op.label), "a name for each operand");
    seen.push_back(op.label);
  }
  return {};
}

// The layout that the statement is captured in.
Result<void> check_layout(CaptureLayout layout, const Instruction& instruction) {
  const bool conversion = instruction.lanes() == 1, moves = instruction.depth() == 0;
  if (conversion ? layout == CaptureLayout::scalars
                 : layout == CaptureLayout::registers || (layout == CaptureLayout::elements && !moves))
    return {};
  return Error{Errc::member_value, "layout", std::string(name(layout)),
               conversion ? "scalars for this statement"
               : moves    ? "registers for this statement"
                          : "registers or elements for this statement"};
}

// Whether a file must have what its inputs led to.
enum class Results { wanted, to_come };

// Checks all members that the statement needs, on their headers alone, and finds the number of cases.
class MemberCheck {
 public:
  MemberCheck(const CaptureReader& reader, const Instruction& instruction, Results results)
      : reader_(reader), instruction_(instruction), layout_(reader.header().layout), results_(results) {}

  Result<std::uint64_t> run() {
    for (const Operand& op : instruction_.operands())
      if (has_member(op, layout_) && (results_ == Results::wanted || !op.is_destination()))
        if (Result<void> checked = operand(op); !checked) return checked.error();
    if (accumulates_in_place(instruction_))
      if (Result<void> checked = check_member(reader_, before()); !checked) return checked.error();
    if (instruction_.uses_memory() && layout_ == CaptureLayout::registers)
      if (Result<void> checked = memory(); !checked) return checked.error();
    if (cases_ == 0) return Error{Errc::no_cases, instruction_.operands()[0].label, "no cases", "at least one"};
    return static_cast<std::uint64_t>(cases_);
  }

  // Zeros in the shape of the result. Precondition: run() succeeded, and the result is to come.
  Array results() const {
    const Operand& d = instruction_.operands()[0];
    if (!d.is_destination()) return Array::zeros(std::string(kMemoryAfter), 1, reader_.find(kMemory)->shape);
    const Expectation e = expectation(d);
    return Array::zeros(e.member, e.item_bytes, {e.shape.begin(), e.shape.end()});
  }

 private:
  Expectation expectation(const Operand& op) const {
    switch (layout_) {
      case CaptureLayout::elements: return elements_member(op, cases_, depth_, blocks_);
      case CaptureLayout::registers:
      case CaptureLayout::scalars: return registers_member(op, instruction_.lanes(), cases_);
      case CaptureLayout::digests: break;
    }
    return {};
  }

  Result<void> operand(const Operand& op) {
    const Expectation want = expectation(op);
    if (Result<void> checked = check_member(reader_, want); !checked) return checked;
    const std::string member = member_name(op, layout_);
    const std::vector<std::uint64_t>& shape = reader_.find(member)->shape;
    if (shape[0] > static_cast<std::uint64_t>(INT64_MAX))
      return Error{Errc::member_shape, member, reader_.find(member)->shape_text(), want.shape_text};
    cases_ = static_cast<std::int64_t>(shape[0]);
    if (layout_ != CaptureLayout::elements || depth_ >= 0 || shape.size() != 2) return {};
    depth_ = static_cast<std::int64_t>(std::min(shape[1], std::uint64_t{INT64_MAX}));
    const int terms = instruction_.terms();
    if (depth_ < 1 || depth_ > terms)
      return Error{Errc::member_shape, member, reader_.find(member)->shape_text(),
                   fmt::format("1 to {} elements in the second extent", terms)};
    const std::int64_t all = instruction_.blocks();  // as many blocks as the elements lie in
    blocks_ = (depth_ * all + terms - 1) / terms;
    return {};
  }

  // D before the instruction, where it is the accumulator.
  Expectation before() const {
    Expectation out = expectation(instruction_.operands()[0]);
    out.member = before_name(layout_);
    return out;
  }

  // Bytes of shared memory, before and after.
  Result<void> memory() {
    Expectation want{std::string(kMemory), 1, {cases_, -1}, fmt::format("({}, bytes)", cases_)};
    if (Result<void> checked = check_member(reader_, want); !checked) return checked;
    if (instruction_.operands()[0].is_destination() || results_ == Results::to_come) return {};
    const std::vector<std::uint64_t>& shape = reader_.find(kMemory)->shape;
    if (shape[1] > static_cast<std::uint64_t>(INT64_MAX))
      return Error{Errc::member_shape, std::string(kMemory), reader_.find(kMemory)->shape_text(),
                   "fewer bytes"};
    want.member = kMemoryAfter;
    want.shape[1] = static_cast<std::int64_t>(shape[1]);
    want.shape_text = fmt::format("({}, {})", cases_, shape[1]);
    return check_member(reader_, want);
  }

  const CaptureReader& reader_;
  const Instruction& instruction_;
  CaptureLayout layout_;
  Results results_;
  std::int64_t cases_ = -1, depth_ = -1, blocks_ = -1;
};

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
  for (const ArrayHeader& h : reader.arrays()) {
    const bool used =
        (h.name == "mask" && out.mask) || (h.name == "names" && out.names) ||
        (h.name == kMemory && out.memory) || (out.before && h.name == before_name(out.header.layout)) ||
        (h.name == kMemoryAfter && out.stores()) ||
        std::ranges::any_of(out.instruction.operands(), [&](const Operand& op) {
          return member_name(op, out.header.layout) == h.name && has_member(op, out.header.layout);
        });
    if (!used) out.notes.push_back(fmt::format("member '{}' is ignored", h.name));
  }
  for (const std::string& name : reader.ignored())
    out.notes.push_back(fmt::format("member '{}' is ignored", name));
}

Result<LoadedCapture> load(const CaptureReader& reader, const ReplayOptions& options, Results results) {
  const CaptureHeader& header = reader.header();
  const Result<Instruction> instruction = captured_instruction(header, options);
  if (!instruction) return instruction.error();
  if (Result<void> checked = check_layout(header.layout, *instruction); !checked) return checked.error();
  MemberCheck check(reader, *instruction, results);
  const Result<std::uint64_t> cases = check.run();
  if (!cases) return cases.error();

  LoadedCapture out{header, *instruction, *cases, {}, {}, {}, {}, {}, {}, {}};
  if (results == Results::to_come) out.expected = check.results();
  const auto read = [&](std::string_view member, auto& to) -> Result<void> {
    Result<Array> array = reader.read(member);
    if (!array) return array.error();
    to = *std::move(array);
    return {};
  };
  for (const Operand& op : instruction->operands()) {
    if (op.is_destination() && results == Results::to_come) continue;
    Array& to = op.is_destination() ? out.expected : out.sources.emplace_back();
    if (!has_member(op, header.layout)) continue;
    if (Result<void> done = read(member_name(op, header.layout), to); !done) return done.error();
  }
  if (accumulates_in_place(*instruction))
    if (Result<void> done = read(before_name(header.layout), out.before); !done) return done.error();
  if (instruction->uses_memory() && header.layout == CaptureLayout::registers)
    if (Result<void> done = read(kMemory, out.memory); !done) return done.error();
  if (out.stores() && results == Results::wanted)
    if (Result<void> done = read(kMemoryAfter, out.expected); !done) return done.error();
  if (results == Results::to_come) return out;
  if (Result<void> done = read_optional(reader, out); !done) return done.error();
  note_ignored(reader, out);
  return out;
}

}  // namespace

Result<Instruction> captured_instruction(const CaptureHeader& header, const ReplayOptions& options) {
  const Result<Target> target = options.target ? Result<Target>(*options.target) : Target::find(header.target);
  if (!target) return target.error();
  Result<Instruction> instruction = Instruction::parse(header.statement, *target);
  if (!instruction) return instruction.error();
  if (Result<void> checked = check_statement(*instruction, header.layout); !checked) return checked.error();
  return instruction;
}

Result<LoadedCapture> load_capture(const CaptureReader& reader, const ReplayOptions& options) {
  return load(reader, options, Results::wanted);
}

Result<LoadedCapture> load_inputs(const CaptureReader& reader, const ReplayOptions& options) {
  return load(reader, options, Results::to_come);
}

LoadedCapture cases_of(const LoadedCapture& capture, std::uint64_t first, std::uint64_t count) {
  const auto cut = [&](const Array& array) {
    Array out{array.header, {}};
    if (array.data.empty()) return out;
    const std::size_t bytes = array.data.size() / capture.cases;
    const auto begin = array.data.begin() + static_cast<std::ptrdiff_t>(first * bytes);
    out.data = {begin, begin + static_cast<std::ptrdiff_t>(count * bytes)};
    out.header.shape[0] = count;
    return out;
  };
  const auto cut_if_there = [&](const std::optional<Array>& array) {
    return array ? std::optional(cut(*array)) : std::nullopt;
  };
  LoadedCapture out{capture.header,
                    capture.instruction,
                    count,
                    {},
                    cut_if_there(capture.before),
                    cut_if_there(capture.memory),
                    cut(capture.expected),
                    cut_if_there(capture.mask),
                    capture.names,
                    capture.notes};
  for (const Array& source : capture.sources) out.sources.push_back(cut(source));
  return out;
}

}  // namespace warpbit
