// SPDX-License-Identifier: Apache-2.0
#include "replay/loaded_digests.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <system_error>

#include "capture/text.hpp"
#include "replay/loaded_capture.hpp"
#include "warpbit/inputs/text.hpp"
#include "warpbit/record.hpp"

namespace warpbit {
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
