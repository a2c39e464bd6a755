// SPDX-License-Identifier: Apache-2.0
// Words of hexadecimal digits: tensor maps, descriptors of matrices and of instructions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/arguments.hpp"
#include "cli/ask.hpp"
#include "cli/json.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/detail/letters.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/layout.hpp"

namespace warpbit::cli {
namespace {

constexpr std::string_view kWgmmaForm = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16";

// The form that the line says beside the descriptor, if that is one of `opcode`.
std::string form_beside(const AskedLine& line, std::string_view opcode, std::string_view otherwise) {
  for (const AskReading& reading : ask_form(line))
    if (reading.form.starts_with(opcode)) return reading.form;
  return std::string(otherwise);
}

AskReading wgmma_descriptor(const std::string& bits, const std::string& form) {
  const Descriptor d = Descriptor::decode(parse_hex("descriptor", bits), DescriptorForm::wgmma);
  AskReading out{"descriptor",
                 fmt::format("{} as a matrix descriptor of wgmma: matrices from {:#x} on in shared memory",
                             bits, d.start)};
  out.form = form;
  out.views = {{"descriptor",
                fmt::format("What it says and reads as B of {}", form),
                {{"descriptor", bits, "--form", form, "--json"}}}};
  const Result<Instruction> i = parse_on_newest(form);
  if (i && layout(*i, {.operand = "b", .descriptor = parse_hex("descriptor", bits)}))
    out.views.push_back({"layout",
                         "Where it puts the elements",
                         {{"layout", form, "--operand", "b", "--descriptor", bits, "--json"}}});
  return out;
}

AskReading tensor_descriptor(const std::string& bits, const std::string& form) {
  const Descriptor d = Descriptor::decode(parse_hex("descriptor", bits), DescriptorForm::tcgen05);
  AskReading out{"descriptor",
                 fmt::format("{} as a matrix descriptor of tcgen05: matrices from {:#x} on in shared memory",
                             bits, d.start)};
  out.form = form;
  out.views = {{"descriptor",
                fmt::format("What it says and reads as B of {} with the instruction descriptor {}", form,
                            kTensorDescriptor),
                {{"descriptor", bits, "--form", form, "--idesc", std::string(kTensorDescriptor), "--json"}}}};
  return out;
}

constexpr std::string_view kInstructionForms[] = {
    "tcgen05.mma.cta_group::1.kind::f16",
    "tcgen05.mma.cta_group::1.kind::f8f6f4",
    "tcgen05.mma.cta_group::1.kind::tf32",
    "tcgen05.mma.cta_group::1.kind::i8",
    "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale",
    "tcgen05.mma.cta_group::1.kind::mxf4.block_scale",
    "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X",
    "tcgen05.mma.cta_group::2.kind::f16",
};

std::optional<InstructionDescriptor> decoded_for(std::uint32_t bits, std::string_view form) {
  const Result<Instruction> i = parse_on_newest(form);
  const auto mma = i ? tensor_mma(*i) : std::nullopt;
  if (!mma) return std::nullopt;
  const Target target = *Target::find_ptx("sm_100a");
  const Result<InstructionDescriptor> out = InstructionDescriptor::decode(bits, *mma, target);
  return out ? std::optional(*out) : std::nullopt;
}

// Whether a target has the form; none may be said.
bool exists(std::string_view form, const std::vector<Target>& targets) {
  return targets.empty() || std::ranges::any_of(targets, [&](Target target) {
           return Instruction::parse(std::string(form), target).ok();
         });
}

AskReading no_descriptor(const std::string& bits, std::string_view kind, const std::vector<Target>& targets) {
  std::vector<std::string_view> names;
  for (const Target target : targets) names.push_back(target.name());
  return {"error", fmt::format("{} as {} descriptor is not understood: {} {} no instruction that takes one",
                               bits, kind, fmt::join(names, " and "), names.size() == 1 ? "has" : "have")};
}

// For each kind in which it is one; for the form that is named, or for the first kind, also if it is none.
AskReadings instruction_descriptors(const std::string& bits, const std::string& named, bool is_said,
                                    const std::vector<Target>& targets) {
  AskReadings out;
  const auto value = number<std::uint32_t>(std::string_view(bits).substr(2), 16);
  if (!value) return {};
  const auto add = [&](std::string_view form, const std::string& words) {
    AskReading reading{"idesc", fmt::format("{} as an instruction descriptor for {}: {}", bits, form, words)};
    reading.form = form;
    reading.views = {{"descriptor",
                      fmt::format("Its fields for {}", form),
                      {{"descriptor", bits, "--form", std::string(form), "--json"}}}};
    if (decoded_for(*value, form))
      reading.views.push_back({"layout",
                               "Where its operands lie in tensor memory",
                               {{"layout", std::string(form), "--idesc", bits, "--json"}}});
    out.push_back(reading);
  };
  const auto words = [](const std::optional<InstructionDescriptor>& d) {
    return d ? text(*d) : "not an allowed one";
  };
  if (!named.empty()) {
    add(named, words(decoded_for(*value, named)));
    return out;
  }
  for (const std::string_view form : kInstructionForms)
    if (const auto d = decoded_for(*value, form); d && exists(form, targets)) add(form, words(d));
  if (out.empty() && is_said && exists(kTensorForm, targets)) add(kTensorForm, words(std::nullopt));
  if (out.empty() && is_said) out.push_back(no_descriptor(bits, "an instruction", targets));
  return out;
}

// Whether words say that a number is a descriptor: of an instruction, or of a matrix.
bool says_descriptor(const std::string& small, bool of_instruction) {
  std::string bare;
  for (const char c : small) bare += std::isalnum(static_cast<unsigned char>(c)) ? c : ' ';
  const std::vector<std::string> words = words_of(bare);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool is_long = word == "desc" || word == "descriptor" || word == "descr";
    if (of_instruction
            ? word == "idesc" ||
                  (is_long && i > 0 &&
                   (words[i - 1] == "instruction" || words[i - 1] == "instr" || words[i - 1] == "i"))
            : is_long || word.ends_with("descriptor") || word == "adesc" || word == "bdesc" || word == "sdesc")
      return true;
  }
  return false;
}

}  // namespace

std::uint64_t HexWord::bits() const {
  return number<std::uint64_t>(digits, 16).value_or(0);
}

std::optional<HexWord> hex_word(std::string_view word) {
  while (word.ends_with(';') || word.ends_with(')') || word.ends_with(',') || word.ends_with('u') ||
         word.ends_with('U') || word.ends_with('L') || word.ends_with('l'))
    word.remove_suffix(1);
  const bool has_prefix = word.starts_with("0x") || word.starts_with("0X");
  if (has_prefix) word.remove_prefix(2);
  if (word.empty() || word.find_first_not_of("0123456789abcdefABCDEF") != word.npos) return std::nullopt;
  return HexWord{std::string(word), has_prefix};
}

AskReadings ask_tensor_map(const AskedLine& line) {
  std::vector<std::string> words;
  for (const std::string& word : words_of(line.text)) {
    const auto hex = hex_word(word);
    if (!hex) return {};
    words.push_back(hex->digits);
  }
  const auto fits = [&](std::size_t count, std::size_t digits) {
    return words.size() == count &&
           std::ranges::all_of(words, [&](const auto& word) { return word.size() <= digits; });
  };
  if (!fits(16, 16) && !fits(32, 8) && !fits(128, 2) && !(words.size() == 1 && words[0].size() == 256))
    return {};
  AskCommand command{"tensormap"};
  command.insert(command.end(), words.begin(), words.end());
  command.emplace_back("--json");
  return {{"tensormap",
           "The 128 bytes of a tensor map",
           {{"tensormap", "What it means, and what looks wrong about it", {command}}}}};
}

AskReadings ask_descriptor(const AskedLine& line) {
  std::vector<HexWord> words;
  for (const std::string& word : line.words)
    if (const auto hex = hex_word(word); hex && (hex->has_prefix || hex->digits.size() == 16))
      words.push_back(*hex);
  const std::string small = in_small_letters(line.text);
  const auto says = [&](std::string_view word) { return small.find(word) != small.npos; };
  const bool says_instruction = says_descriptor(small, true);
  const bool says_matrix = !says_instruction && says_descriptor(small, false);
  if (words.size() != 1) return {};
  const HexWord& word = words[0];
  const bool is_alone = line.words.size() == 1;
  const std::string tensor_form = form_beside(line, "tcgen05.mma", "");
  if (word.digits.size() <= 8 && !says_matrix) {
    if (!is_alone && !says_instruction && tensor_form.empty()) return {};
    if (is_alone && word.digits.size() < 6) return {};
    return instruction_descriptors(word.text(), tensor_form, says_instruction || !tensor_form.empty(),
                                   line.targets);
  }
  if (word.digits.size() > 16 || (!is_alone && !says_matrix && !says("wgmma") && !says("tcgen05"))) return {};
  // Bits 46 to 48 of a descriptor of tcgen05 are 1.
  const bool is_tensor = (word.bits() >> 46 & 7) == 1 || !tensor_form.empty();
  const std::string wgmma_form = form_beside(line, "wgmma.mma_async", kWgmmaForm);
  AskReadings out;
  if (exists(wgmma_form, line.targets)) out.push_back(wgmma_descriptor(word.text(), wgmma_form));
  const std::string other = tensor_form.empty() ? std::string(kTensorForm) : tensor_form;
  if (exists(other, line.targets) && !says("wgmma"))
    out.insert(is_tensor ? out.begin() : out.end(), tensor_descriptor(word.text(), other));
  if (out.empty()) out.push_back(no_descriptor(word.text(), "a matrix", line.targets));
  return out;
}

}  // namespace warpbit::cli
