// SPDX-License-Identifier: Apache-2.0
// Codes, numbers and formats; GPUs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/arguments.hpp"
#include "cli/ask.hpp"
#include "cli/format_block.hpp"
#include "cli/gpu_conversion.hpp"
#include "warpbit/detail/letters.hpp"
#include "warpbit/format.hpp"

namespace warpbit::cli {
namespace {

// ---- Words

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
  std::string rounded = n->is_exact ? "exact" : fmt::format("rounded to {}", e ? e->decimal : "a NaN");
  const auto gpu = conversion_to(format.name);
  if (gpu && !n->is_exact && std::ranges::find(gpu->roundings, "rn") == gpu->roundings.end())
    rounded += fmt::format(" by rn, which NVIDIA's cvt to {} does not do; it has {}", format.name,
                           fmt::join(gpu->roundings, ", "));
  else if (gpu && gpu->always_saturates && n->is_beyond_largest)
    if (const auto most = encode_number(format.name, word, Rounding::nearest_even, true))
      rounded += fmt::format("; NVIDIA's cvt to {} saturates: {}", format.name,
                             explain_code(format.name, most->code)->decimal);
  return AskReading{"number", fmt::format("The number {} in {}: {}", typed, format.name, rounded), {view}};
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

// Words of English, too.
bool is_common_word(std::string_view name) {
  constexpr std::string_view kWords[] = {"half", "double", "float", "single", "int", "char", "byte"};
  return std::ranges::find(kWords, in_small_letters(name)) != std::end(kWords);
}

// "mxfp8 vs mxfp4": each of them, if there is nothing else.
AskReadings several_formats(const AskedLine& line) {
  AskReadings out;
  const std::vector<std::string> words = meant_words(line, {"vs", "vs.", "versus", "and", "or", "difference",
                                                            "between", "of", "to", "from", "compare", "the"});
  for (const std::string& word : words) {
    const std::string name(up_to(word, ",?"));
    const std::string type = element_type(name);
    if (const auto block = block_format_of(name))
      out.push_back(block_reading(*block, {})[0]);
    else if (!type.empty())
      out.push_back(format_reading(*find_format_info(type)));
    else
      return {};
  }
  return out.size() > 1 ? out : AskReadings{};
}

// "compute capability 8.9", "compute cap 9.0", "cc 7.5", "compute_90a": the target of that number.
std::optional<Target> by_capability(const std::string& text) {
  AskScanner in(text);
  if (in.take_one({"compute_", "compute capability ", "compute cap ", "Compute Capability ", "CC ", "cc "})
          .empty())
    return std::nullopt;
  std::string digits;
  while (const auto number = in.take_number()) {
    digits += fmt::format("{}", *number);
    if (!in.take(".")) break;
  }
  const Result<Target> found = Target::find_ptx(fmt::format("sm_{}{}", digits, in.rest()));
  return found ? std::optional(*found) : std::nullopt;
}

}  // namespace

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
  if (const AskReadings several = several_formats(line); !several.empty()) return several;
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
  if (const auto target = by_capability(line.text)) {
    AskedLine named = line;
    named.words.clear();
    named.targets = {*target};
    return ask_target(named);
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
