// SPDX-License-Identifier: Apache-2.0
#include "replay/loaded_digests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "capture/text.hpp"
#include "replay/loaded_capture.hpp"
#include "warpbit/inputs/text.hpp"
#include "warpbit/record.hpp"

namespace warpbit {
namespace {

// What the members of such a file are.
struct Expected {
  std::string_view name;
  char kind;
  std::size_t dimensions;
  std::string_view dtype, shape;
};
constexpr Expected kSeed{"seed", 'u', 0, "uint64", "()"}, kProfile{"profile", 'S', 0, "|S...", "()"},
    kCount{"count", 'u', 0, "uint64", "()"}, kBlock{"block", 'u', 0, "uint64", "()"},
    kDigest{"digest", 'u', 1, "uint64", "(blocks,)"};
constexpr const Expected* kMembers[] = {&kSeed, &kProfile, &kCount, &kBlock, &kDigest};
constexpr std::uint64_t kMostOfBlock = std::uint64_t{1} << 24;

Result<Array> read(const CaptureReader& reader, const Expected& want) {
  const ArrayHeader* h = reader.find(want.name);
  const std::string name(want.name);
  if (h == nullptr) return Error{Errc::member_missing, name, {}, fmt::format("{} {}", want.dtype, want.shape)};
  if (h->kind != want.kind || (want.kind == 'u' && h->item_bytes != 8))
    return Error{Errc::member_dtype, name, h->dtype(), std::string(want.dtype)};
  if (h->shape.size() != want.dimensions)
    return Error{Errc::member_shape, name, h->shape_text(), std::string(want.shape)};
  return reader.read(want.name);
}

// The cases of a block, of which a file need say nothing.
Result<std::uint64_t> read_of_block(const CaptureReader& reader) {
  if (reader.find(kBlock.name) == nullptr) return inputs::kBlockCases;
  const Result<Array> block = read(reader, kBlock);
  if (!block) return block.error();
  const std::uint64_t cases = block->at(0);
  if (cases >= 1 && cases <= kMostOfBlock) return cases;
  return Error{Errc::member_value, "block", fmt::format("{} cases", cases),
               fmt::format("1 to {}", kMostOfBlock)};
}

std::string profile_names() {
  std::string out;
  for (const std::string_view name : inputs::kProfileNames)
    out += fmt::format("{}{}", out.empty() ? "" : ", ", name);
  return out;
}

}  // namespace

Result<LoadedDigests> load_digests(const CaptureReader& reader, const ReplayOptions& options) {
  const Result<Instruction> instruction = captured_instruction(reader.header(), options);
  if (!instruction) return instruction.error();
  const Result<Array> seed = read(reader, kSeed), profile = read(reader, kProfile),
                      count = read(reader, kCount), digest = read(reader, kDigest);
  for (const Result<Array>* member : {&seed, &profile, &count, &digest})
    if (!*member) return member->error();
  const std::optional<inputs::Profile> known = inputs::find_profile(profile->text());
  if (!known)
    return Error{Errc::member_value, "profile", "it is " + capture::quoted(profile->text()), profile_names()};
  const Result<std::uint64_t> of_block = read_of_block(reader);
  if (!of_block) return of_block.error();
  const DigestBlocks blocks{count->at(0), *of_block};
  if (blocks.cases == 0) return Error{Errc::no_cases, "count", "no cases", "at least one"};
  if (digest->header.items() != blocks.count())
    return Error{
        Errc::member_shape, "digest", digest->header.shape_text(),
        fmt::format("({},), one digest for each {} of {} cases", blocks.count(), *of_block, blocks.cases)};
  LoadedDigests out{reader.header(), *instruction, {seed->at(0), *known}, blocks, *digest, {}};
  for (const ArrayHeader& h : reader.arrays())
    if (std::ranges::none_of(kMembers, [&](const Expected* e) { return e->name == h.name; }))
      out.notes.push_back(fmt::format("member '{}' is ignored", h.name));
  for (const std::string& name : reader.ignored())
    out.notes.push_back(fmt::format("member '{}' is ignored", name));
  return out;
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
