// SPDX-License-Identifier: Apache-2.0
// Words of hexadecimal digits, codes and numbers: tensor maps, descriptors, formats.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/arguments.hpp"
#include "cli/ask.hpp"
#include "cli/format_block.hpp"
#include "cli/json.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/detail/letters.hpp"
#include "warpbit/format.hpp"
#include "warpbit/instruction_descriptor.hpp"
#include "warpbit/layout.hpp"
#include "warpbit/quantize.hpp"

namespace warpbit::cli {
namespace {

constexpr std::string_view kWgmmaForm = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16";

// ---- Words

// A word of hexadecimal digits, without 0x.
struct HexWord {
  std::string digits;
  bool has_prefix = false;

  std::string text() const { return "0x" + digits; }
  std::uint64_t bits() const { return number<std::uint64_t>(digits, 16).value_or(0); }
};

std::optional<HexWord> hex_word(std::string_view word) {
  while (word.ends_with(',') || word.ends_with('u') || word.ends_with('U') || word.ends_with('L') ||
         word.ends_with('l'))
    word.remove_suffix(1);
  const bool has_prefix = word.starts_with("0x") || word.starts_with("0X");
  if (has_prefix) word.remove_prefix(2);
  if (word.empty() || word.find_first_not_of("0123456789abcdefABCDEF") != word.npos) return std::nullopt;
  return HexWord{std::string(word), has_prefix};
}

// The words without those that only join others.
std::vector<std::string> meant_words(const AskedLine& line, std::initializer_list<std::string_view> joints) {
  std::vector<std::string> out;
  for (const std::string& word : line.words)
    if (std::ranges::find(joints, in_small_letters(word)) == joints.end()) out.push_back(word);
  return out;
}

// ---- Codes and numbers

// "-inf" would be read as an option.
AskCommand format_command(std::string_view format, const std::vector<std::string>& values) {
  AskCommand out{"format", std::string(format), "--json"};
  if (!values.empty() && values.front().starts_with('-')) out.emplace_back("--");
  out.insert(out.end(), values.begin(), values.end());
  return out;
}

bool is_code(std::string_view word) {
  const bool has_prefix =
      word.starts_with("0x") || word.starts_with("0X") || word.starts_with("0b") || word.starts_with("0B");
  return has_prefix && word.find_first_of("pP.") == word.npos;
}

// What `warpbit format` answers, or nothing.
std::optional<AskReading> value_reading(const FormatInfo& format, const std::string& typed) {
  std::string word = typed;
  const std::size_t power = word.find("2^");
  if (power != word.npos && power <= 1)
    word = fmt::format("{}0x1p{}", word.substr(0, power), word.substr(power + 2));
  AskView view{"format", fmt::format("{} in {}", typed, format.name), {format_command(format.name, {word})}};
  if (is_code(word)) {
    const bool is_binary = word[1] == 'b' || word[1] == 'B';
    const auto code = number<std::uint64_t>(std::string_view(word).substr(2), is_binary ? 2 : 16);
    const Result<ExplainedCode> e =
        code ? explain_code(format.name, *code) : Result<ExplainedCode>(Error{Errc::usage, "", "", ""});
    if (!e) return std::nullopt;
    return AskReading{"code", fmt::format("{} is a code of {}: {}", typed, format.name, e->decimal), {view}};
  }
  const Result<EncodedNumber> n = encode_number(format.name, word);
  if (!n) return std::nullopt;
  const Result<ExplainedCode> e = explain_code(format.name, n->code);
  return AskReading{"number",
                    fmt::format("The number {} in {}: {}", typed, format.name,
                                n->is_exact ? "exact" : fmt::format("rounded to {}", e ? e->decimal : "a NaN")),
                    {view}};
}

AskReading format_reading(const FormatInfo& format) {
  const std::string name(format.name);
  std::string what = fmt::format("an integer of {} bits", format.bits);
  if (!format.is_integer)
    what = fmt::format("a number format of {} bits: {} of the exponent, {} of the fraction", format.bits,
                       format.exponent_bits, format.fraction_bits);
  return {"format",
          fmt::format("{} is {}", name, what),
          {{"format",
            fmt::format("What {} can represent, and its codes", name),
            {{"format", name, "--json"}, {"format", name, "--table", "--json"}}}}};
}

AskReadings block_reading(const BlockFormat& block, const std::vector<std::string>& values) {
  if (!values.empty() && !quantize(block.name, std::span<const std::string>(values)))
    return {{"error", fmt::format("{} is a block format, but not all of '{}' are finite numbers", block.name,
                                  fmt::join(values, " "))}};
  return {{"format",
           fmt::format("{} is a block format: {} elements of {} share a scale factor of {}{}", block.name,
                       block.block, block.element, block.scale,
                       values.empty() ? "" : fmt::format("; {} numbers in it", values.size())),
           {{"format",
             fmt::format("What numbers become in {}", block.name),
             {format_command(block.name, values)}}}}};
}

// For a name of two formats of a size: the other.
std::vector<AskSuggestion> other_of(const std::string& name) {
  for (const std::span<const SharedName> names : {shared_names(), shared_block_names()})
    for (const SharedName& shared : names)
      if (shared.name == in_small_letters(name))
        return {{std::string(shared.other), fmt::format("{} may be meant by {}, too", shared.other, name)}};
  return {};
}

// Formats in which people meet codes of a size, likely ones first.
constexpr std::string_view kLikely[] = {"f16",  "bf16", "f32",  "tf32", "f64", "e4m3", "e5m2", "ue8m0", "ue4m3",
                                        "e2m1", "e3m2", "e2m3", "s8",   "u8",  "s4",   "u4",   "s32"};

// ---- Descriptors

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
    if (of_instruction ? word == "idesc" ||
                             (is_long && i > 0 &&
                              (words[i - 1] == "instruction" || words[i - 1] == "instr" || words[i - 1] == "i"))
                       : is_long || word == "adesc" || word == "bdesc" || word == "sdesc")
      return true;
  }
  return false;
}

// Words of English, too.
bool is_common_word(std::string_view name) {
  constexpr std::string_view kWords[] = {"half", "double", "float", "single", "int", "char", "byte"};
  return std::ranges::find(kWords, in_small_letters(name)) != std::end(kWords);
}

}  // namespace

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

AskReadings ask_format(const AskedLine& line) {
  std::vector<std::string> words = meant_words(
      line, {"in", "as", "of", "the", "a", "an", "code", "format", "number", "to", "=", "is", "what"});
  std::optional<FormatInfo> format;
  std::optional<BlockFormat> block;
  std::vector<AskSuggestion> others;
  for (auto word = words.begin(); word != words.end() && !format && !block; ++word) {
    const bool has_namespace = word->find("::") != word->npos;
    const std::string name(up_to(*word, has_namespace ? ",?" : ":,?"));
    block = block_format_of(name);
    if (const std::string type = element_type(name); !block && !type.empty()) format = *find_format_info(type);
    if (format && is_common_word(name) && words.size() + 1 < line.words.size()) return {};
    if (format || block) {
      others = other_of(name);
      words.erase(word);
      break;
    }
  }
  for (std::string& word : words)
    while (word.ends_with(',') || word.ends_with('?')) word.pop_back();
  if (!block && !format) return {};
  AskReadings out;
  if (block || words.empty()) {
    out = block ? block_reading(*block, words) : AskReadings{format_reading(*format)};
    out[0].suggestions = others;
    return out;
  }
  for (const std::string& word : words) {
    const auto value = value_reading(*format, word);
    if (!value) return {};
    out.push_back(*value);
  }
  for (std::size_t i = 1; i < out.size(); ++i) {
    out[0].understood += fmt::format("; {}", out[i].understood);
    out[0].views.insert(out[0].views.end(), out[i].views.begin(), out[i].views.end());
  }
  out.resize(1);
  out[0].suggestions = others;
  return out;
}

AskReadings ask_code(const AskedLine& line) {
  const auto hex = line.words.size() == 1 ? hex_word(line.words[0]) : std::nullopt;
  if (!hex || (!hex->has_prefix && hex->digits.size() != 16)) return {};
  const int digits = static_cast<int>(hex->digits.size());
  const int bits = digits <= 1 ? 4 : digits <= 2 ? 8 : digits <= 4 ? 16 : digits <= 8 ? 32 : 64;
  AskReadings out;
  for (const std::string_view name : kLikely) {
    const Result<FormatInfo> format = find_format_info(name);
    if (!format || (format->bits != bits && !(bits == 8 && format->bits == 6))) continue;
    if (const auto reading = value_reading(*format, hex->text())) out.push_back(*reading);
  }
  return out;
}

AskReadings ask_number(const AskedLine& line) {
  if (line.words.size() != 1) return {};
  AskReadings all;
  for (const std::string_view name : {"f32", "f16", "bf16", "tf32", "e4m3", "e5m2", "e2m1"})
    if (const auto reading = value_reading(*find_format_info(name), line.words[0])) all.push_back(*reading);
  if (all.empty() || all[0].kind != "number") return {};
  AskReading out{"number", fmt::format("The number {}", line.words[0])};
  for (const AskReading& reading : all)
    out.views.insert(out.views.end(), reading.views.begin(), reading.views.end());
  out.suggestions = {{fmt::format("{} + 2^-12", line.words[0]), "a sum, on several GPUs"}};
  return {out};
}

AskReadings ask_target(const AskedLine& line) {
  if (line.words.empty() && !line.targets.empty()) {
    AskReadings out;
    for (const Target target : line.targets) {
      const std::string name(target.name());
      std::string known = name;
      for (const TargetNames& row : target_names())
        if (row.target == target)
          known =
              fmt::format("{}, of the architecture {}: {}", name, row.architecture, fmt::join(row.names, ", "));
      AskReading reading{"target", fmt::format("The target {}", known)};
      reading.target = target;
      reading.views = {{"gpu",
                        fmt::format("What {} has, and on what its results rest", name),
                        {{"list", "--evidence", "--target", name, "--json"},
                         {"list", "--forms", "--target", name, "--json"}}}};
      out.push_back(reading);
    }
    return out;
  }
  const Result<Target> found = Target::find(line.text);
  if (found || found.error().code != Errc::ambiguous_target) return {};
  AskReading out{
      "target", found.error().message(), {{"gpu", "All targets and names", {{"list", "--targets", "--json"}}}}};
  for (const TargetNames& row : target_names())
    if (found.error().accepted.find(fmt::format("{} (", row.target.name())) != std::string::npos)
      out.suggestions.push_back(
          {std::string(row.names.front()), fmt::format("{}, {}", row.target.name(), row.architecture)});
  return {out};
}

}  // namespace warpbit::cli
