// SPDX-License-Identifier: Apache-2.0
#include "replay/loaded_capture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <system_error>

#include "api/checks.hpp"
#include "capture/text.hpp"
#include "isa/instruction.hpp"
#include "warpbit/inputs/text.hpp"
#include "warpbit/record.hpp"

namespace warpbit {
namespace {

Error does_not_fit(std::string seen, std::string expected) {
  return {Errc::member_value, "statement", std::move(seen), std::move(expected)};
}

// Names that members have whatever the statement says.
bool is_taken(const std::string& name, CaptureLayout layout, bool in_place) {
  constexpr std::array kTaken{kMemory, kMemoryAfter, std::string_view("mask"), std::string_view("names")};
  return std::ranges::find(kTaken, name) != kTaken.end() ||
         (in_place && name == (layout == CaptureLayout::elements ? "c" : kBefore));
}

Result<void> check_statement(const Instruction& instruction, CaptureLayout layout) {
  const Statement& statement = instruction.decoded().statement;
  if (!statement.terminated) return does_not_fit("the closing ';' is missing", "one statement with its ';'");
  if (std::holds_alternative<TensorAction>(instruction.decoded().kernel))
    return does_not_fit("an instruction of tensor memory", "one of registers and shared memory");
  if (instruction.rows() == 0) return does_not_fit("an instruction without results", "one with results");
  if (statement.operands.empty()) return does_not_fit("no operands", "operands such as {d}, {a}, {b}, {c}");
  std::vector<std::string> seen;
  for (const Operand& op : instruction.operands()) {
    if (op.kind == OperandKind::immediate) continue;
    const bool may_be_literal =
        op.kind == OperandKind::pair || op.kind == OperandKind::predicate || op.part == Part::stride;
    if (may_be_literal && op.is_all_literals()) continue;
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

// Checks members on their headers alone, and finds the extents that the file chooses.
class MemberCheck {
 public:
  MemberCheck(const CaptureReader& reader, const Instruction& instruction)
      : reader_(reader), instruction_(instruction), layout_(reader.header().layout) {}

  Result<std::uint64_t> run(const std::vector<CaptureArray>& members) {
    for (const CaptureArray& member : members)
      if (Result<void> checked = check(member); !checked) return checked.error();
    const std::uint64_t cases = known(kCases).value_or(0);
    if (cases == 0) return Error{Errc::no_cases, instruction_.operands()[0].label, "no cases", "at least one"};
    return cases;
  }

  // Zeros in the shape of a member. Precondition: all its extents are known.
  Array zeros(const CaptureArray& member) {
    std::vector<std::uint64_t> shape;
    for (const std::int64_t extent : member.shape) shape.push_back(known(extent).value());
    return Array::zeros(member.name, member.item_bytes, shape);
  }

 private:
  std::optional<std::uint64_t> known(std::int64_t extent) const {
    return extent < 0 ? chosen_[static_cast<std::size_t>(-extent)] : std::optional(std::uint64_t(extent));
  }

  // "(cases, 32, 4)", with the number of cases where it is known
  std::string shape_text(const CaptureArray& member) const {
    const bool lanes = layout_ == CaptureLayout::registers;
    const std::array<std::string_view, 5> names{"", lanes ? "cases" : "n", "K", "K / block", "bytes"};
    std::vector<std::string> out;
    for (const std::int64_t extent : member.shape)
      out.emplace_back(known(extent) ? std::to_string(*known(extent))
                                     : names[static_cast<std::size_t>(-extent)]);
    return fmt::format("({}{})", fmt::join(out, ", "), out.size() == 1 ? "," : "");
  }

  Result<void> check(const CaptureArray& member) {
    std::vector<std::optional<std::uint64_t>> shape;
    for (const std::int64_t extent : member.shape) shape.push_back(known(extent));
    const auto found = find_member(reader_, member.name, member.item_bytes, shape, shape_text(member));
    if (!found) return found.error();
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (member.shape[i] < 0) chosen_[static_cast<std::size_t>(-member.shape[i])] = (*found)->shape[i];
    return check_depth(**found);
  }

  // As many blocks as the elements lie in.
  Result<void> check_depth(const ArrayHeader& h) {
    const std::optional<std::uint64_t> depth = known(kDepth);
    const auto terms = static_cast<std::uint64_t>(instruction_.terms());
    if (!depth) return {};
    if (*depth < 1 || *depth > terms)
      return Error{Errc::member_shape, h.name, h.shape_text(),
                   fmt::format("1 to {} elements in the second extent", terms)};
    chosen_[static_cast<std::size_t>(-kBlocks)] =
        (*depth * static_cast<std::uint64_t>(instruction_.blocks()) + terms - 1) / terms;
    return {};
  }

  const CaptureReader& reader_;
  const Instruction& instruction_;
  CaptureLayout layout_;
  std::array<std::optional<std::uint64_t>, 5> chosen_;
};

Result<void> read_optional(const CaptureReader& reader, LoadedCapture& out) {
  const auto read = [&](const char* name, std::size_t item_bytes, const ArrayHeader& like,
                        std::optional<Array>& to) -> Result<void> {
    if (reader.find(name) == nullptr) return {};
    const auto found =
        find_member(reader, name, item_bytes, {like.shape.begin(), like.shape.end()}, like.shape_text());
    if (!found) return found.error();
    Result<Array> array = reader.read(name);
    if (!array) return array.error();
    to = std::move(*array);
    return {};
  };
  if (Result<void> done = read("mask", 1, out.expected.header, out.mask); !done) return done;
  const auto is_set = [](std::byte place) { return place != std::byte{0}; };
  if (out.mask && std::ranges::none_of(out.mask->data, is_set))
    return Error{Errc::no_cases, "mask", "no place is compared", "at least one that is not 0"};
  if (out.header.layout != CaptureLayout::elements) return {};
  return read("names", 0, {"", 'S', 0, {out.cases}}, out.names);
}

Result<LoadedCapture> load(const CaptureReader& reader, const ReplayOptions& options, Results results) {
  const CaptureHeader& header = reader.header();
  const Result<Instruction> instruction = captured_instruction(header, options);
  if (!instruction) return instruction.error();
  if (Result<void> checked = check_layout(header.layout, *instruction); !checked) return checked.error();
  std::vector<CaptureArray> members = members_of(*instruction, header.layout);
  const CaptureArray result = members.back();
  if (results == Results::to_come)
    members.pop_back();
  else if (result.operand != nullptr)  // first: the number of its cases is that of all
    std::rotate(members.begin(), members.end() - 1, members.end());
  MemberCheck check(reader, *instruction);
  const Result<std::uint64_t> cases = check.run(members);
  if (!cases) return cases.error();
  LoadedCapture out(header, *instruction, *cases);
  for (const CaptureArray& member : members) {
    Result<Array> array = reader.read(member.name);
    if (!array) return array.error();
    out.array_of(member) = *std::move(array);
  }
  if (results == Results::to_come) {
    out.expected = check.zeros(result);
    return out;
  }
  if (Result<void> done = read_optional(reader, out); !done) return done.error();
  out.notes = notes_on_ignored(reader, [&](std::string_view name) {
    return std::ranges::find(members, name, &CaptureArray::name) != members.end() ||
           (name == "mask" && out.mask) || (name == "names" && out.names);
  });
  return out;
}

}  // namespace

LoadedCapture::LoadedCapture(CaptureHeader h, Instruction i, std::uint64_t n)
    : header(std::move(h)), instruction(std::move(i)), cases(n) {
  sources.resize(instruction.operands().size() - (stores() ? 0 : 1));
}

Array& LoadedCapture::array_of(const CaptureArray& member) {
  switch (member.holds) {
    case CaptureArray::Holds::before: return before.emplace();
    case CaptureArray::Holds::memory: return memory.emplace();
    case CaptureArray::Holds::memory_after: return expected;
    case CaptureArray::Holds::operand: break;
  }
  return member.is_result() ? expected : sources[member.source];
}

std::vector<Array*> LoadedCapture::inputs() {
  std::vector<Array*> out;
  for (Array& source : sources) out.push_back(&source);
  for (std::optional<Array>* array : {&before, &memory})
    if (*array) out.push_back(&**array);
  return out;
}

std::vector<Array> LoadedCapture::with_results(Array results) && {
  std::vector<Array> out;
  for (Array* array : inputs())
    if (!array->header.name.empty()) out.push_back(std::move(*array));
  out.push_back(std::move(results));
  return out;
}

Result<Instruction> captured_instruction(const CaptureHeader& header, const ReplayOptions& options) {
  const Result<Target> target =
      options.target ? Result<Target>(*options.target) : Target::find_ptx(header.target);
  if (!target) return target.error();
  Result<Instruction> instruction = Instruction::parse(header.statement, *target);
  if (!instruction) return instruction.error();
  if (Result<void> checked = check_statement(*instruction, header.layout); !checked) return checked.error();
  return instruction;
}

Result<LoadedCapture> load_capture(const CaptureReader& reader, const ReplayOptions& options) {
  return load(reader, options, Results::wanted);
}

Result<LoadedCapture> load_capture(const std::filesystem::path& path, const ReplayOptions& options) {
  const Result<CaptureReader> reader = CaptureReader::open(path, options.read);
  return reader ? load_capture(*reader, options) : reader.error();
}

Result<LoadedCapture> load_inputs(const CaptureReader& reader, const ReplayOptions& options) {
  return load(reader, options, Results::to_come);
}

Result<const ArrayHeader*> find_member(const CaptureReader& reader, std::string_view name,
                                       std::size_t item_bytes,
                                       const std::vector<std::optional<std::uint64_t>>& shape,
                                       const std::string& shape_text) {
  const std::string dtype = item_bytes == 0 ? "|S..." : fmt::format("uint{}", item_bytes * 8), where(name);
  const ArrayHeader* h = reader.find(name);
  if (h == nullptr) return Error{Errc::member_missing, where, {}, fmt::format("{} {}", dtype, shape_text)};
  if (item_bytes == 0 ? h->kind != 'S' : h->kind != 'u' || h->item_bytes != item_bytes)
    return Error{Errc::member_dtype, where, h->dtype(), dtype};
  if (!std::equal(shape.begin(), shape.end(), h->shape.begin(), h->shape.end(),
                  [](auto wanted, auto seen) { return wanted.value_or(seen) == seen; }))
    return Error{Errc::member_shape, where, h->shape_text(), shape_text};
  return h;
}

std::vector<std::string> notes_on_ignored(const CaptureReader& reader,
                                          const std::function<bool(std::string_view)>& is_used) {
  std::vector<std::string> out;
  for (const ArrayHeader& h : reader.arrays())
    if (!is_used(h.name)) out.push_back(h.name);
  out.insert(out.end(), reader.ignored().begin(), reader.ignored().end());
  for (std::string& name : out) name = fmt::format("member '{}' is ignored", name);
  return out;
}

Array cases_of(const Array& array, std::uint64_t cases, std::uint64_t first, std::uint64_t count) {
  Array out{array.header, {}};
  if (array.data.empty()) return out;
  const std::size_t bytes = array.data.size() / cases;
  const auto begin = array.data.begin() + static_cast<std::ptrdiff_t>(first * bytes);
  out.data = {begin, begin + static_cast<std::ptrdiff_t>(count * bytes)};
  out.header.shape[0] = count;
  return out;
}

LoadedCapture cases_of(const LoadedCapture& capture, std::uint64_t first, std::uint64_t count) {
  const auto cut = [&](const Array& array) { return cases_of(array, capture.cases, first, count); };
  const auto cut_if_there = [&](const std::optional<Array>& array) {
    return array ? std::optional(cut(*array)) : std::nullopt;
  };
  LoadedCapture out(capture.header, capture.instruction, count);
  std::ranges::transform(capture.sources, out.sources.begin(), cut);
  out.before = cut_if_there(capture.before);
  out.memory = cut_if_there(capture.memory);
  out.expected = cut(capture.expected);
  out.mask = cut_if_there(capture.mask);
  out.names = capture.names;
  out.notes = capture.notes;
  return out;
}

// ---- Digests

namespace {

constexpr std::array<std::string_view, 5> kMembers{"seed", "profile", "count", "block", "digest"};
constexpr std::uint64_t kMostOfBlock = std::uint64_t{1} << 24;

Result<Array> read(const CaptureReader& reader, std::string_view name) {
  const bool blocks = name == "digest";
  const auto found =
      find_member(reader, name, name == "profile" ? 0 : 8,
                  std::vector<std::optional<std::uint64_t>>(blocks ? 1 : 0), blocks ? "(blocks,)" : "()");
  return found ? reader.read(name) : found.error();
}

// The cases of a block, of which a file need say nothing.
Result<std::uint64_t> read_of_block(const CaptureReader& reader) {
  if (reader.find("block") == nullptr) return inputs::kBlockCases;
  const Result<Array> block = read(reader, "block");
  if (!block) return block.error();
  const std::uint64_t cases = block->at(0);
  if (cases >= 1 && cases <= kMostOfBlock) return cases;
  return Error{Errc::member_value, "block", fmt::format("{} cases", cases),
               fmt::format("1 to {}", kMostOfBlock)};
}

}  // namespace

Result<LoadedDigests> load_digests(const CaptureReader& reader, const ReplayOptions& options) {
  const Result<Instruction> instruction = captured_instruction(reader.header(), options);
  if (!instruction) return instruction.error();
  const Result<Array> seed = read(reader, "seed"), profile = read(reader, "profile"),
                      count = read(reader, "count"), digest = read(reader, "digest");
  for (const Result<Array>* member : {&seed, &profile, &count, &digest})
    if (!*member) return member->error();
  const std::optional<inputs::Profile> known = inputs::find_profile(profile->text());
  if (!known)
    return Error{Errc::member_value, "profile", "it is " + capture::quoted(profile->text()),
                 fmt::format("{}", fmt::join(inputs::kProfileNames, ", "))};
  const Result<std::uint64_t> of_block = read_of_block(reader);
  if (!of_block) return of_block.error();
  const DigestBlocks blocks{count->at(0), *of_block};
  if (blocks.cases == 0) return Error{Errc::no_cases, "count", "no cases", "at least one"};
  if (digest->header.items() != blocks.count())
    return Error{
        Errc::member_shape, "digest", digest->header.shape_text(),
        fmt::format("({},), one digest for each {} of {} cases", blocks.count(), *of_block, blocks.cases)};
  return LoadedDigests{reader.header(),
                       *instruction,
                       {seed->at(0), *known},
                       blocks,
                       *digest,
                       notes_on_ignored(reader, [](std::string_view name) {
                         return std::ranges::find(kMembers, name) != kMembers.end();
                       })};
}

std::uint64_t elements_of_case(const Instruction& instruction) {
  const CaptureMember result = capture_members(instruction)->back();
  const Operand& d = instruction.operands()[0];
  if (!d.is_destination()) return result.case_bytes();
  return static_cast<std::uint64_t>(result.lanes) * static_cast<std::uint64_t>(result.registers) *
         static_cast<std::uint64_t>(d.fragment.packing().per_register());
}

Result<void> write_block(const LoadedDigests& file, std::uint64_t block, const std::filesystem::path& path,
                         const ExecuteOptions& options) {
  const std::uint64_t first = file.blocks.first_case(block);
  const Result<std::vector<Array>> arrays =
      generated_capture(file.instruction, file.choice, first, file.blocks.cases_in(block), options);
  if (!arrays) return arrays.error();
  CaptureHeader header = file.header;
  header.target = file.instruction.target().name();
  header.layout = file.instruction.lanes() == 1 ? CaptureLayout::scalars : CaptureLayout::registers;
  header.source = CaptureSource::model;
  header.provenance = nlohmann::ordered_json{
      {"program", "warpbit"},
      {"seed", file.choice.seed},
      {"profile", inputs::name(file.choice.profile)},
      {"first_case",
       first}}.dump();
  std::error_code error;  // what is wrong with the folder, writing the file says
  std::filesystem::create_directories(path.parent_path(), error);
  return write_capture(path, header, *arrays);
}

}  // namespace warpbit
