// SPDX-License-Identifier: Apache-2.0
// warpbit descriptor
#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit::cli {
namespace {

constexpr std::size_t kRangesShown = 8;

struct DescriptorArguments {
  std::string descriptor, form, operand = "b";
  std::uint64_t size = kMostSharedBytes;
  bool transposed = false, ranges = false;
};

void print_ranges(const std::vector<ByteRange>& ranges, bool all) {
  const std::size_t shown = all || ranges.size() <= kRangesShown ? ranges.size() : kRangesShown - 1;
  for (std::size_t i = 0; i < shown; ++i) fmt::print("  [{:#x}, {:#x}]\n", ranges[i].first, ranges[i].last);
  if (shown < ranges.size())
    fmt::print("  and {} more, to {:#x} (--ranges shows all)\n", ranges.size() - shown, ranges.back().last);
}

int descriptor(const DescriptorArguments& o) {
  const std::uint64_t bits = parse_hex("descriptor", o.descriptor);
  const Instruction instruction = instruction_of(asked_form(o.form, "sm_90a"));
  const bool left = o.operand == "a";
  const DescribedMatrix matrix = required(described_matrix(instruction, left ? Part::a : Part::b,
                                                           o.transposed ? std::optional(true) : std::nullopt));
  fmt::print("{}\n{}: {} {} of {} elements of {} bits, {}-major\n", descriptor_text(bits), left ? "A" : "B",
             matrix.lines, left ? "rows" : "columns", matrix.depth, matrix.element_bits,
             matrix.major == Major::k ? "K"
             : left                   ? "M"
                                      : "N");
  const std::vector<ByteRange> ranges = DescriptorMap(Descriptor::decode(bits), matrix).ranges();
  std::uint64_t bytes = 0;
  for (const ByteRange& range : ranges) bytes += range.last - range.first + 1;
  fmt::print("reads {} bytes of shared memory:\n", bytes);
  print_ranges(ranges, o.ranges);
  const std::vector<DescriptorFinding> findings = check_descriptor(bits, matrix, o.size);
  for (const DescriptorFinding& finding : findings)
    fmt::print("{}: {}\n", name(finding.issue), finding.message);
  return findings.empty() ? kYes : kNo;
}

}  // namespace

void add_descriptor(CLI::App& command, int& status) {
  DescriptorArguments& o = add_arguments(command, status, descriptor);
  command.add_option("descriptor", o.descriptor, "64 bits in hexadecimal")->required();
  command.add_option("--form", o.form, "the form or statement of wgmma that it is for")->required();
  command.add_option("--operand", o.operand, "which factor it is; b unless given")
      ->check(CLI::IsMember({"a", "b"}));
  command.add_flag("--transposed", o.transposed, "M or N is contiguous (imm-trans 1)");
  command.add_option("--size", o.size, "bytes of shared memory; the most that there can be unless given")
      ->check(CLI::NonNegativeNumber);
  command.add_flag("--ranges", o.ranges, "show all ranges");
  command.footer(examples(
      {"warpbit descriptor 0x4000004000010040 --form wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16",
       "warpbit descriptor 0x4000004000010040 --form wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 --size "
       "2048"}));
}

}  // namespace warpbit::cli
