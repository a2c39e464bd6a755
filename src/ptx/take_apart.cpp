// SPDX-License-Identifier: Apache-2.0
// A row of scalar forms (rows/rows.hpp), taken apart.
#include <algorithm>
#include <cctype>
#include <string>

#include "numeric/words.hpp"
#include "ptx/forms.hpp"

namespace warpbit::ptx {
namespace {

// ".mmio.relaxed" -> mmio, relaxed; "" -> none.
Words words_of(std::string_view dotted) {
  return dotted.empty() ? Words{} : words_between(dotted.substr(1), ".");
}

// The alternatives of "{a,$name,$name+}" without its braces; "+": with a cache hint before the vector and the type. An empty one comes last: words are taken if they can be.
std::vector<Words> alternatives(std::string_view text) {
  std::vector<Words> out;
  bool may_be_absent = false;
  const auto add = [&](std::string_view alternative) {
    if (alternative.empty())
      may_be_absent = true;
    else
      out.push_back(words_of(alternative));
  };
  for (std::string_view one : words_between(text, ",")) {
    if (!one.starts_with('$')) {
      add(one);
      continue;
    }
    const bool hint = one.ends_with('+');
    if (hint) one.remove_suffix(1);
    const std::size_t first = out.size();
    for (const std::string_view words : words_between(words_of_set(one.substr(1)), ",")) add(words);
    if (hint)
      for (Words& words : std::span(out).subspan(first))
        words.insert(std::ranges::find_if(
                         words, [](std::string_view word) { return word[0] == 'v' || find_type(word); }),
                     "L2::cache_hint");
  }
  std::ranges::stable_sort(out, std::greater(), [](const Words& words) { return words.size(); });
  if (may_be_absent) out.emplace_back();
  return out;
}

// A piece of a pattern: "{...}", "$name" or ".words", taken from its front.
std::string_view take_piece(std::string_view& pattern) {
  const std::size_t end =
      pattern.front() == '{' ? pattern.find('}') + 1 : std::min(pattern.find_first_of("{$", 1), pattern.size());
  const std::string_view out = pattern.substr(0, end);
  pattern.remove_prefix(end);
  return out;
}

OperandForm operand_form(std::string_view text) {
  OperandForm out;
  if (text.ends_with('?')) out.presence = OperandForm::Presence::optional;
  if (text.ends_with('&')) out.presence = OperandForm::Presence::with_boolean;
  if (out.presence != OperandForm::Presence::always) text.remove_suffix(1);
  if (const std::size_t with = text.find('&', text.find(':')); with != text.npos) {
    out.presence = OperandForm::Presence::with_word;
    out.word = text.substr(with + 1);
    text = text.substr(0, with);
  }
  if (text.ends_with('!')) {
    out.must_be_written = true;
    text.remove_suffix(1);
  }
  if (text.ends_with(')')) {
    const std::size_t open = text.find('(');
    out.values = text.substr(open + 1, text.size() - open - 2);
    text = text.substr(0, open);
  }
  if (text.ends_with('=')) {
    out.is_strict = true;
    text.remove_suffix(1);
  }
  if (text.starts_with('[')) {
    const bool is_surface = text == "[h,s]", is_texture = text == "[h,x]";
    out.kind = text.starts_with("[t,")    ? OperandForm::Kind::tensor
               : text.starts_with("[e,")  ? OperandForm::Kind::handle
               : is_surface || is_texture ? OperandForm::Kind::texture
                                          : OperandForm::Kind::address;
    if (is_surface) out.type = Type::s32;
    if (is_texture) out.type_from = 'T';
    out.must_be_written = true;
    out.role = text.substr(1, 1);
    out.count = static_cast<int>(std::ranges::count(text, ',')) + 1;
    return out;
  }
  if (text == "{o}") {
    out.kind = OperandForm::Kind::offsets;
    out.role = "o";
    return out;
  }
  if (text == "_") {
    out.kind = OperandForm::Kind::sink;
    return out;
  }
  if (text == "#imm") {
    out.kind = OperandForm::Kind::immediate;
    out.role = "imm";
    return out;
  }
  if (text.starts_with('@')) {
    out.kind = text == "@label" ? OperandForm::Kind::label : OperandForm::Kind::table;
    return out;
  }
  if (text.starts_with('#')) {
    out.kind = OperandForm::Kind::vector;
    text.remove_prefix(1);
  }
  if (text.starts_with('{')) {  // {a:b16*2}
    out.kind = OperandForm::Kind::pack;
    const char count = text[text.size() - 2];
    std::isdigit(static_cast<unsigned char>(count)) != 0 ? out.count = count - '0' : out.count_from = count;
    text = text.substr(1, text.size() - 4);
  }
  if (text.starts_with('+') || text.starts_with('-')) {
    out.may_be_negative = true;
    out.may_be_positive = text[0] == '+';
    text.remove_prefix(text.find('-') + 1);
  }
  const std::size_t colon = text.find(':');
  std::string_view name = text.substr(0, colon);
  const std::string_view type = text.substr(colon + 1);
  out.role = name.substr(0, 1);
  if (const std::size_t dot = name.find('.'); dot != name.npos) {
    out.parts = name.substr(dot + 1);
    name = name.substr(0, dot);
  }
  out.sink = name.find('_') != name.npos;
  if (name.find('|') != name.npos) out.second = OperandForm::Second::allowed;
  if (name.find('&') != name.npos) out.second = OperandForm::Second::required;
  if (type.size() == 1)
    out.type_from = type[0];
  else
    out.type = find_type(type).value();
  return out;
}

// By place: the results, then the sources that a step has.
std::string uses_of(std::span<const OperandForm> operands) {
  using Kind = OperandForm::Kind;
  std::string out = "rr";
  for (const OperandForm& one : operands)
    if (!one.is_destination() && one.kind != Kind::sink && one.kind != Kind::immediate &&
        one.kind != Kind::label && one.kind != Kind::table)
      out += one.must_be_written ? 'm' : 'v';
  return out;
}

// "7.8"
Version version_of(std::string_view text) {
  return {text.at(0) - '0', text.at(2) - '0'};
}

}  // namespace

ScalarForm take_apart(const FormRow& row, const Chapter& chapter) {
  ScalarForm out{&row, &chapter, {}, {}, {}, {}, {}, {}, false, {}};
  std::string_view pattern = row.pattern;
  if (pattern.front() == '{') {
    const std::string_view names = take_piece(pattern);
    out.opcodes = words_between(names.substr(1, names.size() - 2), ",");
  } else {
    const std::size_t end = std::min(pattern.find_first_of(".{$"), pattern.size());
    out.opcodes = {pattern.substr(0, end)};
    pattern.remove_prefix(end);
  }
  while (!pattern.empty()) {
    const std::string_view piece = take_piece(pattern);
    out.slots.push_back(alternatives(piece.front() == '{' ? piece.substr(1, piece.size() - 2) : piece));
    for (const Words& alternative : out.slots.back()) out.words.insert(alternative.begin(), alternative.end());
  }
  if (!row.operands.empty())
    for (const std::string_view operand : words_between(row.operands, " "))
      out.operands.push_back(operand_form(operand));
  if (!row.since.empty())
    for (const std::string_view one : words_between(row.since, ",")) {
      const std::vector<std::string_view> parts = words_between(one.substr(one.find_first_not_of(' ')), " ");
      if (parts.size() == 1)
        out.since = version_of(parts[0]);
      else
        out.later.emplace_back(parts[0], version_of(parts[1]));
    }
  out.has_parts = std::ranges::any_of(out.operands, [](const OperandForm& one) { return !one.parts.empty(); });
  out.uses = uses_of(out.operands);
  return out;
}

}  // namespace warpbit::ptx
