// SPDX-License-Identifier: Apache-2.0
// A line of `warpbit ask`, prepared: what surrounds it in sources is taken off, and the targets behind it are read.
#include <algorithm>
#include <array>
#include <sstream>

#include "cli/ask.hpp"
#include "warpbit/detail/letters.hpp"

namespace warpbit::cli {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::string trimmed(const std::string& text) {
  const auto first = std::ranges::find_if_not(text, is_blank);
  auto last = text.end();
  while (last > first && is_blank(last[-1])) --last;
  return {first, last};
}

// Signs that documents print for those of keyboards.
struct Spelling {
  std::string_view seen, meant;
};
constexpr Spelling kSpellings[] = {{"\xE2\x88\x92", "-"}, {"\xE2\x80\x93", "-"}, {"\xC3\x97", "*"},
                                   {"\xC2\xB7", "*"},     {"\xC2\xA0", " "},     {"\\n", " "},
                                   {"\\t", " "},          {"\\\"", "\""}};

std::string spelled(std::string text) {
  for (const auto& [seen, meant] : kSpellings)
    for (std::size_t at = text.find(seen); at != text.npos; at = text.find(seen, at + meant.size()))
      text.replace(at, seen.size(), meant);
  return text;
}

// "2**-12" of Python as "2^-12".
std::string with_powers(std::string text) {
  constexpr std::string_view kPower = "**", kDigits = "0123456789";
  for (std::size_t at = text.find(kPower, 1); at != text.npos; at = text.find(kPower, at + 1)) {
    const std::size_t end = at + kPower.size();
    const bool is_signed = end < text.size() && (text[end] == '-' || text[end] == '+');
    const std::size_t digit = end + (is_signed ? 1 : 0);
    if (kDigits.find(text[at - 1]) != kDigits.npos && digit < text.size() &&
        kDigits.find(text[digit]) != kDigits.npos)
      text.replace(at, kPower.size(), "^");
  }
  return text;
}

// Whether strings with this around them are those of asm, or only quoted.
bool is_around_asm(const std::string& around) {
  std::string bare;
  for (const char c : around) bare += std::string_view("(),;").find(c) == std::string_view::npos ? c : ' ';
  constexpr std::string_view kWords[] = {"asm", "volatile", "__asm__", "__volatile__"};
  return std::ranges::all_of(words_of(bare), [&](const std::string& word) {
    return std::ranges::find(kWords, word) != std::end(kWords);
  });
}

// What is meant of a C++ source: the strings one behind the other, up to the operands of asm; or what stands before the only
// quote.
std::string from_source(const std::string& text) {
  const std::size_t quote = text.find('"');
  if (quote == text.npos) return text;
  if (text.substr(0, quote).find_first_of(".{") != text.npos) return text.substr(0, quote);
  std::string out, around;
  bool is_inside = false;
  for (const char c : text) {
    if (c == ':' && !is_inside && !out.empty()) break;
    if (c == '"') is_inside = !is_inside;
    if (c == '"' || is_inside) out += c == '"' ? ' ' : c;
    if (c != '"' && !is_inside) around += c;
  }
  return is_around_asm(around) ? out : text;
}

// ---- Targets behind it

bool is_joint(std::string_view word) {
  constexpr std::string_view kJoints[] = {"and",  "on",      "for", "vs", "vs.", "versus",
                                          "with", "against", "at",  ",",  "&"};
  return std::ranges::find(kJoints, in_small_letters(word)) != std::end(kJoints);
}

// A name of a GPU or target that is no number, as "4090" would be.
std::optional<Target> named_target(std::string_view name) {
  if (name.empty() || name.find_first_not_of("0123456789.- ") == name.npos) return std::nullopt;
  const Result<Target> out = Target::find(name);
  return out ? std::optional(*out) : std::nullopt;
}

// Takes the last words off that are a target, the longest name that is one.
std::optional<Target> take_target(std::vector<std::string>& words) {
  for (std::size_t count = std::min<std::size_t>(words.size(), 5); count > 0; --count) {
    std::string name;
    for (std::size_t i = words.size() - count; i < words.size(); ++i)
      name += (name.empty() ? "" : " ") + words[i];
    if (const auto target = named_target(name)) {
      words.resize(words.size() - count);
      return target;
    }
  }
  return std::nullopt;
}

// "A100,H100" -> "A100", ",", "H100", if all of them are targets.
void split_targets(std::vector<std::string>& words) {
  if (words.empty() || words.back().find(',') == std::string::npos || words.back().size() == 1) return;
  std::vector<std::string> parts;
  std::istringstream in(words.back());
  for (std::string part; std::getline(in, part, ',');)
    if (!part.empty()) parts.push_back(part);
  if (parts.empty() ||
      !std::ranges::all_of(parts, [](const auto& part) { return named_target(part).has_value(); }))
    return;
  words.pop_back();
  words.insert(words.end(), parts.begin(), parts.end());
}

// "... on A100 and H100": the targets, in the order of the text.
std::vector<Target> take_targets(std::vector<std::string>& words) {
  std::vector<Target> out;
  while (!words.empty()) {
    std::vector<std::string> left = words;
    while (!left.empty() && is_joint(left.back())) left.pop_back();
    split_targets(left);
    if (!left.empty() && left.back().size() > 1 && left.back().ends_with(',')) left.back().pop_back();
    const auto target = take_target(left);
    if (!target) break;
    words = left;
    if (std::ranges::find(out, *target) == out.end()) out.insert(out.begin(), *target);
  }
  if (!out.empty())
    while (!words.empty() && is_joint(words.back())) words.pop_back();
  return out;
}

// FORM@TARGET: the '@' that no guard predicate and no word of PTX has.
void take_at(AskedLine& out) {
  const std::size_t at = out.text.rfind('@');
  if (at == out.text.npos || at == 0 || is_blank(out.text[at - 1])) return;
  const std::string name = trimmed(out.text.substr(at + 1));
  const Result<Target> target = Target::find(name);
  if (target)
    out.targets = {*target};
  else
    out.target_error = target.error();
  out.text.resize(at);
}

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

std::vector<std::string> dot_words(std::string_view form) {
  std::vector<std::string> out;
  while (!form.empty()) {
    out.emplace_back(up_to(form, "."));
    form.remove_prefix(std::min(form.size(), out.back().size() + 1));
  }
  return out;
}

std::string_view up_to(std::string_view text, std::string_view characters, std::size_t first) {
  const std::size_t end = std::min(text.find_first_of(characters, first), text.size());
  return text.substr(first, end - first);
}

bool AskScanner::take(std::string_view text) {
  if (!rest_.starts_with(text)) return false;
  rest_.remove_prefix(text.size());
  return true;
}

std::string_view AskScanner::take_one(std::initializer_list<std::string_view> texts) {
  for (const std::string_view text : texts)
    if (take(text)) return text;
  return "";
}

void AskScanner::skip_blanks() {
  while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
}

std::optional<int> AskScanner::take_number() {
  constexpr std::size_t kMostDigits = 6;
  std::size_t digits = 0;
  int out = 0;
  for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits)
    if (digits < kMostDigits) out = 10 * out + (rest_[digits] - '0');
  if (digits == 0 || digits > kMostDigits) return std::nullopt;
  rest_.remove_prefix(digits);
  return out;
}

std::optional<Target> AskedLine::target() const {
  return targets.empty() ? std::nullopt : std::optional(targets.front());
}

AskedLine read_line(const std::string& line) {
  AskedLine out{line, trimmed(from_source(with_powers(spelled(line)))), {}};
  take_at(out);
  out.words = words_of(out.text);
  if (out.targets.empty()) {
    out.targets = take_targets(out.words);
    if (!out.targets.empty()) {
      out.text.clear();
      for (const std::string& word : out.words) out.text += (out.text.empty() ? "" : " ") + word;
    }
  }
  return out;
}

}  // namespace warpbit::cli
