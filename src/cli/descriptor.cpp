// SPDX-License-Identifier: Apache-2.0
// warpbit descriptor
#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/json.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit::cli {
namespace {

constexpr std::size_t kRangesShown = 8;

struct DescriptorArguments {
  std::string descriptor, form, operand = "b";
  std::uint64_t size = kMostSharedBytes;
  bool transposed = false, ranges = false, json = false;
};

// A descriptor, the matrix that an instruction reads by it, and what looks wrong.
struct Reading {
  std::uint64_t bits;
  std::string operand;
  DescribedMatrix matrix;
  std::vector<ByteRange> ranges = {};
  std::uint64_t bytes = 0;
  std::vector<DescriptorFinding> findings = {};

  std::string_view major() const { return matrix.major == Major::k ? "K" : operand == "a" ? "M" : "N"; }
};

void print_ranges(const std::vector<ByteRange>& ranges, bool all) {
  const std::size_t shown = all || ranges.size() <= kRangesShown ? ranges.size() : kRangesShown - 1;
  for (std::size_t i = 0; i < shown; ++i) fmt::print("  [{:#x}, {:#x}]\n", ranges[i].first, ranges[i].last);
  if (shown < ranges.size())
    fmt::print("  and {} more, to {:#x} (--ranges shows all)\n", ranges.size() - shown, ranges.back().last);
}

Reading read(const DescriptorArguments& o) {
  const Instruction instruction = instruction_anywhere(asked_form(o.form));
  Reading out{parse_hex("descriptor", o.descriptor), o.operand,
              required(described_matrix(instruction, o.operand == "a" ? Part::a : Part::b,
                                        o.transposed ? std::optional(true) : std::nullopt))};
  out.ranges = DescriptorMap(Descriptor::decode(out.bits), out.matrix).ranges();
  for (const ByteRange& range : out.ranges) out.bytes += range.last - range.first + 1;
  out.findings = check_descriptor(out.bits, out.matrix, o.size);
  return out;
}

void print_reading(const Reading& r, bool all_ranges) {
  fmt::print("{}\n{}: {} {} of {} elements of {} bits, {}-major\n", descriptor_text(r.bits),
             r.operand == "a" ? "A" : "B", r.matrix.lines, r.operand == "a" ? "rows" : "columns",
             r.matrix.depth, r.matrix.element_bits, r.major());
  fmt::print("reads {} bytes of shared memory:\n", r.bytes);
  print_ranges(r.ranges, all_ranges);
  for (const DescriptorFinding& f : r.findings) fmt::print("{}: {}\n", name(f.issue), f.message);
}

void print_reading_json(const Reading& r) {
  using nlohmann::ordered_json;
  const Descriptor d = Descriptor::decode(r.bits);
  ordered_json ranges = ordered_json::array(), findings = ordered_json::array();
  for (const ByteRange& range : r.ranges) ranges.push_back({range.first, range.last});
  for (const DescriptorFinding& f : r.findings)
    findings.push_back({{"issue", name(f.issue)}, {"message", f.message}});
  print_json("descriptor", {{"descriptor", hexadecimal(r.bits)},
                            {"start", d.start},
                            {"leading", d.leading},
                            {"stride", d.stride},
                            {"base_offset", d.base_offset},
                            {"swizzle_bytes", d.swizzle == Swizzle::none ? 0 : span_bytes(d.swizzle)},
                            {"ignored_bits", hexadecimal(ignored_descriptor_bits(r.bits))},
                            {"operand", r.operand},
                            {"major", r.major()},
                            {"lines", r.matrix.lines},
                            {"depth", r.matrix.depth},
                            {"element_bits", r.matrix.element_bits},
                            {"bytes", r.bytes},
                            {"ranges", ranges},
                            {"findings", findings}});
}

int descriptor(const DescriptorArguments& o) {
  const Reading reading = read(o);
  if (o.json)
    print_reading_json(reading);
  else
    print_reading(reading, o.ranges);
  return reading.findings.empty() ? kYes : kNo;
}

}  // namespace

void add_descriptor(CLI::App& command, int& status) {
  DescriptorArguments& o = add_arguments(command, status, descriptor);
  command.add_option("descriptor", o.descriptor, "64 bits in hexadecimal")->required();
  command.add_option("--form", o.form, "the form or statement of wgmma that it is for")->required();
  command.add_option("--operand", o.operand, "which factor it is; b unless given")
      ->check(CLI::IsMember({"a", "b"}));
  command.add_flag("--transposed", o.transposed, "read it with M or N contiguous (imm-trans 1)");
  command.add_option("--size", o.size, "bytes of shared memory; the most that there can be unless given")
      ->check(whole_number(0));
  command.add_flag("--ranges", o.ranges, "show all ranges");
  add_json(command, o.json);
  command.footer(examples(
      {"warpbit descriptor 0x4000004000010040 --form wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16",
       "warpbit descriptor 0x4000004000010040 --form wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 --size "
       "2048"}));
}

}  // namespace warpbit::cli
