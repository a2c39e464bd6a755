// SPDX-License-Identifier: Apache-2.0
// warpbit descriptor
#include <fmt/format.h>

#include <span>

#include "cli/arguments.hpp"
#include "cli/json.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit::cli {
namespace {

constexpr std::size_t kRangesShown = 8;

struct DescriptorArguments {
  std::string descriptor, form, target, operand, idesc;
  std::uint64_t size = kMostSharedBytes;
  bool transposed = false, ranges = false, json = false;

  Instruction instruction() const { return instruction_anywhere(asked_form(form, target)); }
};

// A descriptor, the matrix that an instruction reads by it, and what looks wrong.
struct Reading {
  std::uint64_t bits;
  DescriptorForm form;
  std::string operand;
  DescribedMatrix matrix;
  std::vector<ByteRange> ranges = {};
  std::uint64_t bytes = 0;
  std::vector<DescriptorFinding> findings = {};

  std::string_view major() const { return matrix.major == Major::k ? "K" : operand == "a" ? "M" : "N"; }
  std::string_view lines() const { return operand == "b" ? "columns" : "rows"; }
  // "A", "B", "the source" of a copy
  std::string_view name() const { return operand == "a" ? "A" : operand == "b" ? "B" : "source"; }
};

void print_ranges(const std::vector<ByteRange>& ranges, bool all) {
  const std::size_t shown = all || ranges.size() <= kRangesShown ? ranges.size() : kRangesShown - 1;
  for (std::size_t i = 0; i < shown; ++i) fmt::print("  [{:#x}, {:#x}]\n", ranges[i].first, ranges[i].last);
  if (shown < ranges.size())
    fmt::print("  and {} more, to {:#x} (--ranges shows all)\n", ranges.size() - shown, ranges.back().last);
}

InstructionDescriptor instruction_descriptor(const DescriptorArguments& o, const Instruction& instruction) {
  const std::optional<TensorMma> mma = tensor_mma(instruction);
  if (!mma) refuse("--idesc", std::string(instruction.canonical()), "tcgen05.mma");
  return required(
      InstructionDescriptor::decode(parse_word("instruction descriptor", o.idesc), *mma, instruction.target()));
}

DescribedMatrix matrix_of(const DescriptorArguments& o, const Instruction& instruction,
                          const std::string& operand) {
  const Part part = operand == "a" ? Part::a : operand == "b" ? Part::b : Part::source;
  if (o.idesc.empty())
    return required(described_matrix(instruction, part, o.transposed ? std::optional(true) : std::nullopt));
  if (o.transposed) refuse("--transposed", "--idesc", "the instruction descriptor, which says it");
  return required(described_matrix(instruction, part, instruction_descriptor(o, instruction)));
}

Reading read(const DescriptorArguments& o, const Instruction& instruction, const std::string& operand) {
  Reading out{parse_hex("descriptor", o.descriptor), descriptor_form(instruction), operand,
              matrix_of(o, instruction, operand)};
  out.ranges = DescriptorMap(Descriptor::decode(out.bits, out.form), out.matrix).ranges();
  for (const ByteRange& range : out.ranges) out.bytes += range.last - range.first + 1;
  out.findings = check_descriptor(out.bits, out.matrix, o.size, out.form);
  return out;
}

void print_reading(const Reading& r, bool all_ranges) {
  fmt::print("{}\n{}: {} {} of {} elements of {} bits, {}-major{}\n", descriptor_text(r.bits, r.form), r.name(),
             r.matrix.lines, r.lines(), r.matrix.depth, r.matrix.element_bits, r.major(),
             r.matrix.padded ? ", 16 of them in each 16 bytes" : "");
  fmt::print("reads {} bytes of shared memory:\n", r.bytes);
  print_ranges(r.ranges, all_ranges);
  for (const DescriptorFinding& f : r.findings) fmt::print("{}: {}\n", name(f.issue), f.message);
}

// ---- Their fields

struct MatrixDescriptorField {
  std::string_view name;
  int first_bit, bits;
  std::string (*meaning)(const Descriptor& d);
};

std::string no_meaning(const Descriptor&) {
  return "";
}
std::string swizzle_meaning(const Descriptor& d) {
  return d.swizzle == Swizzle::bytes_128_atoms_32 ? "128-byte swizzle, atoms of 32 bytes" : name(d.swizzle);
}

// From bit 0 on (warpbit/descriptor.hpp).
constexpr MatrixDescriptorField kStart{"start >> 4", 0, 14,
                                       [](const Descriptor&d) { return hexadecimal(d.start); }},
    kLeading{"LBO >> 4", 16, 14, [](const Descriptor&d) { return fmt::format("{} bytes", d.leading); }},
    kStride{"SBO >> 4", 32, 14, [](const Descriptor&d) { return fmt::format("{} bytes", d.stride); }},
    kBase{"base offset", 49, 3, [](const Descriptor&d) { return fmt::format("{}", d.base_offset); }};
constexpr MatrixDescriptorField kWgmmaFields[] = {kStart,
                                                  {"ignored", 14, 2, no_meaning},
                                                  kLeading,
                                                  {"ignored", 30, 2, no_meaning},
                                                  kStride,
                                                  {"ignored", 46, 3, no_meaning},
                                                  kBase,
                                                  {"ignored", 52, 10, no_meaning},
                                                  {"swizzle", 62, 2, swizzle_meaning}};
constexpr MatrixDescriptorField kTensorFields[] = {
    kStart,
    {"0", 14, 2, no_meaning},
    kLeading,
    {"0", 30, 2, no_meaning},
    kStride,
    {"1", 46, 3, no_meaning},
    kBase,
    {"LBO mode", 52, 1,
     [](const Descriptor& d) {
       return std::string(d.absolute_leading ? "LBO is an address" : "LBO is an offset");
     }},
    {"0", 53, 8, no_meaning},
    {"swizzle", 61, 3, swizzle_meaning}};

nlohmann::ordered_json fields_json(std::uint64_t bits, DescriptorForm form) {
  const Descriptor d = Descriptor::decode(bits, form);
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const MatrixDescriptorField& f :
       form == DescriptorForm::wgmma ? std::span<const MatrixDescriptorField>(kWgmmaFields) : kTensorFields)
    out.push_back({{"field", f.name},
                   {"first_bit", f.first_bit},
                   {"bits", f.bits},
                   {"value", bits >> f.first_bit & ((std::uint64_t{1} << f.bits) - 1)},
                   {"meaning", f.meaning(d)}});
  return out;
}

void print_reading_json(const Reading& r) {
  using nlohmann::ordered_json;
  const Descriptor d = Descriptor::decode(r.bits, r.form);
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
                            {"ignored_bits", hexadecimal(ignored_descriptor_bits(r.bits, r.form))},
                            {"absolute_leading", d.absolute_leading},
                            {"swizzle_atom_bytes", d.swizzle == Swizzle::bytes_128_atoms_32 ? 32 : 16},
                            {"operand", r.operand},
                            {"major", r.major()},
                            {"lines", r.matrix.lines},
                            {"depth", r.matrix.depth},
                            {"element_bits", r.matrix.element_bits},
                            {"padded", r.matrix.padded},
                            {"bytes", r.bytes},
                            {"ranges", ranges},
                            {"findings", findings},
                            {"fields", fields_json(r.bits, r.form)},
                            {"text", descriptor_text(r.bits, r.form)}});
}

int print_matrix(const DescriptorArguments& o, const Instruction& instruction, const std::string& operand) {
  const Reading reading = read(o, instruction, operand);
  if (o.json)
    print_reading_json(reading);
  else
    print_reading(reading, o.ranges);
  return reading.findings.empty() ? kYes : kNo;
}

// ---- Instruction descriptors

std::string bits_of(const InstructionDescriptorField& f) {
  return f.bits == 1 ? fmt::format("{}", f.first_bit)
                     : fmt::format("{}-{}", f.first_bit, f.first_bit + f.bits - 1);
}

nlohmann::ordered_json fields_json(const std::vector<InstructionDescriptorField>& fields) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const InstructionDescriptorField& f : fields)
    out.push_back({{"field", f.name},
                   {"first_bit", f.first_bit},
                   {"bits", f.bits},
                   {"value", f.value},
                   {"meaning", f.meaning}});
  return out;
}

void print_instruction_json(std::uint32_t bits, const TensorMma& mma,
                            const Result<InstructionDescriptor>& decoded) {
  using nlohmann::ordered_json;
  ordered_json findings = ordered_json::array();
  ordered_json out{{"descriptor", hexadecimal(bits)},
                   {"operand", "idesc"},
                   {"kind", name(mma.kind)},
                   {"fields", fields_json(fields(bits, mma.kind))}};
  if (decoded)
    out.update({{"m", decoded->m},
                {"n", decoded->n},
                {"k", decoded->k},
                {"a", decoded->a},
                {"b", decoded->b},
                {"d", decoded->d},
                {"text", text(*decoded)}});
  else
    findings.push_back({{"issue", name(DescriptorIssue::not_allowed)}, {"message", decoded.error().message()}});
  out["findings"] = findings;
  print_json("descriptor", out);
}

int print_instruction(const DescriptorArguments& o, const Instruction& instruction, const TensorMma& mma) {
  const std::uint32_t bits = parse_word("instruction descriptor", o.descriptor);
  const Result<InstructionDescriptor> decoded = InstructionDescriptor::decode(bits, mma, instruction.target());
  if (o.json) {
    print_instruction_json(bits, mma, decoded);
    return decoded ? kYes : kNo;
  }
  if (decoded) fmt::print("{}\n", text(*decoded));
  for (const InstructionDescriptorField& f : fields(bits, mma.kind))
    fmt::print("  bits {:<6}{:<23}{}{}\n", bits_of(f), f.name, f.value,
               f.meaning.empty() ? "" : fmt::format("{:<{}}{}", "", f.value < 10 ? 3 : 2, f.meaning));
  if (!decoded) fmt::print("{}: {}\n", name(DescriptorIssue::not_allowed), decoded.error().message());
  return decoded ? kYes : kNo;
}

// ---- Zero-column masks

// "3-6, 10-13": the columns from and to which the predicate holds.
std::string zero_columns(const ZeroColumnMask& mask, int n) {
  std::string out;
  for (int first = 0; first < n; ++first) {
    if (!mask.is_zero(first)) continue;
    int last = first;
    while (last + 1 < n && mask.is_zero(last + 1)) ++last;
    out += fmt::format("{}{}", out.empty() ? "" : ", ",
                       first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
    first = last;
  }
  return out.empty() ? "none" : out;
}

int print_mask(const DescriptorArguments& o, const Instruction& instruction) {
  if (o.idesc.empty())
    refuse("zero-column mask", "no instruction descriptor", "--idesc HEX, which says the shape");
  const InstructionDescriptor of = instruction_descriptor(o, instruction);
  const std::uint64_t bits = parse_hex("zero-column mask", o.descriptor);
  const ZeroColumnMask mask = required(ZeroColumnMask::decode(bits, of));
  if (o.json) {
    nlohmann::ordered_json columns = nlohmann::ordered_json::array();
    for (int n = 0; n < of.n; ++n)
      if (mask.is_zero(n)) columns.push_back(n);
    print_json("descriptor", {{"descriptor", hexadecimal(bits)},
                              {"operand", "mask"},
                              {"shift", mask.shift},
                              {"zero_columns", columns},
                              {"findings", nlohmann::ordered_json::array()}});
  } else {
    fmt::print("{}\nzero columns of {}: {}\n", text(mask), of.n, zero_columns(mask, of.n));
  }
  return kYes;
}

// ---- All

// The operand that is meant unless one is named: of tcgen05.mma the instruction descriptor, until that is given.
std::string default_operand(const DescriptorArguments& o, const Instruction& instruction) {
  if (tensor_mma(instruction)) return o.idesc.empty() ? "idesc" : "b";
  return descriptor_form(instruction) == DescriptorForm::tcgen05 ? "source" : "b";
}

int descriptor(const DescriptorArguments& o) {
  const Instruction instruction = o.instruction();
  const std::string operand = o.operand.empty() ? default_operand(o, instruction) : o.operand;
  const std::optional<TensorMma> mma = tensor_mma(instruction);
  if ((operand == "idesc" || operand == "mask") && !mma)
    refuse(std::string(instruction.canonical()), fmt::format("--operand {}", operand), "it with tcgen05.mma");
  if (operand == "idesc") return print_instruction(o, instruction, *mma);
  if (operand == "mask") return print_mask(o, instruction);
  if (mma && o.idesc.empty())
    refuse(std::string(instruction.canonical()), fmt::format("--operand {} without --idesc", operand),
           "--idesc HEX, which says the shape and the types");
  return print_matrix(o, instruction, operand);
}

}  // namespace

void add_descriptor(CLI::App& command, int& status) {
  DescriptorArguments& o = add_arguments(command, status, descriptor);
  command
      .add_option("descriptor", o.descriptor,
                  "64 bits in hexadecimal; 32 of an instruction descriptor of tcgen05.mma")
      ->required();
  command
      .add_option("--form", o.form, "the form or statement of wgmma, tcgen05.mma or tcgen05.cp that it is for")
      ->required();
  command.add_option("--target", o.target, "for this target; the newest that has it unless given");
  command
      .add_option(
          "--operand", o.operand,
          "which factor it is; b unless given. Of tcgen05.mma also idesc, the instruction descriptor, and mask, "
          "the zero-column mask; idesc unless given, and b with --idesc")
      ->check(CLI::IsMember({"a", "b", "idesc", "mask", "source"}));
  command.add_option(
      "--idesc", o.idesc,
      "of tcgen05.mma: the instruction descriptor that it stands beside, 32 bits in hexadecimal");
  command.add_flag("--transposed", o.transposed, "read it with M or N contiguous (imm-trans 1)");
  command.add_option("--size", o.size, "bytes of shared memory; the most that there can be unless given")
      ->check(whole_number(0));
  command.add_flag("--ranges", o.ranges, "show all ranges");
  add_json(command, o.json);
  command.footer(examples(
      {"warpbit descriptor 0x4000004000010040 --form wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16",
       "warpbit descriptor 0x4000004000010040 --form wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 --size "
       "2048",
       "warpbit descriptor 0x8200490 --form tcgen05.mma.cta_group::1.kind::f16",
       "warpbit descriptor 0x4000404000010040 --form tcgen05.mma.cta_group::1.kind::f16 --idesc 0x8200490"}));
}

}  // namespace warpbit::cli
