// SPDX-License-Identifier: Apache-2.0
// Forms and statements of PTX, as people write and paste them, and what one can look at of a form.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "cli/arguments.hpp"
#include "cli/ask.hpp"
#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "warpbit/detail/letters.hpp"
#include "warpbit/format.hpp"
#include "warpbit/layout.hpp"

namespace warpbit::cli {
namespace {

constexpr std::size_t kMostNear = 5;

const std::set<std::string, std::less<>>& opcodes() {
  static const auto all = [] {
    std::set<std::string, std::less<>> out;
    for (const FormInfo& form : all_forms()) out.insert(form.canonical.substr(0, form.canonical.find('.')));
    return out;
  }();
  return all;
}

std::vector<Target> targets_with(const std::string& form) {
  std::vector<Target> out;
  for (const FormInfo& info : all_forms())
    if (info.canonical == form)
      for (const Target target : info.targets)
        if (std::ranges::find(out, target) == out.end()) out.push_back(target);
  return out;
}

std::string target_text(const Target target) {
  for (const TargetNames& row : target_names())
    if (row.target == target) return fmt::format("{} ({})", target.name(), row.names.front());
  return std::string(target.name());
}

// ---- In words

struct FamilyWords {
  std::string_view begin, words;
};
constexpr FamilyWords kFamilyWords[] = {
    {"mma.sp", "a product of a warp with a sparse A"},
    {"mma", "a product of a warp"},
    {"wmma.load", "a load of a fragment of wmma"},
    {"wmma.store", "a store of a fragment of wmma"},
    {"wmma.mma", "a product of a warp on fragments of wmma"},
    {"wgmma.mma_async.sp", "an asynchronous product of a warpgroup with a sparse A"},
    {"wgmma.mma_async", "an asynchronous product of a warpgroup"},
    {"wgmma", "an instruction that orders the asynchronous products of a warpgroup"},
    {"ldmatrix", "a load of matrices from shared memory by a warp"},
    {"stmatrix", "a store of matrices to shared memory by a warp"},
    {"movmatrix", "a transposition of a matrix in registers"},
    {"cvt", "a conversion of numbers"},
    {"fence", "a fence between kinds of accesses to memory"},
    {"tcgen05.mma.kind", "a product of matrices by tcgen05.mma, with its types in the name"},
    {"tcgen05.mma.m128", "a product of matrices by tcgen05.mma, with its types in the name"},
    {"tcgen05.mma", "a product in tensor memory, whose shape and types are in an instruction descriptor"},
    {"tcgen05.ld", "a load from tensor memory to registers"},
    {"tcgen05.st", "a store from registers to tensor memory"},
    {"tcgen05.cp", "a copy from shared memory to tensor memory"},
    {"tcgen05", "an instruction of tensor memory"},
};

std::string words_of_form(const Instruction& i) {
  std::string out;
  for (const auto& [begin, words] : kFamilyWords)
    if (out.empty() && i.canonical().starts_with(begin)) out = words;
  const Operand *d = i.find(Part::d), *a = i.find(Part::a), *b = i.find(Part::b);
  if (d != nullptr && a != nullptr && b != nullptr && i.terms() > 0)
    out += fmt::format(": D {} x {} of {}, A {} x {} of {}, B {} x {} of {}", i.rows(), i.columns(), d->format,
                       i.rows(), i.depth(), a->format, i.depth(), i.columns(), b->format);
  return out;
}

// ---- Views

// No form of PTX.
bool is_typed_product(const Instruction& i) {
  return i.family() == "tcgen05.mma by types";
}

// "^mma\.sync...$"
std::string exactly(std::string_view form) {
  std::string out = "^";
  for (const char c : form) out += c == '.' ? std::string("\\.") : std::string(1, c);
  return out + "$";
}

// A form or statement on a target, as an argument.
AskCommand aimed_command(std::string_view command, const std::string& text, Target target,
                         std::vector<std::string> more) {
  AskCommand out{std::string(command)};
  if (text.find(' ') == text.npos)
    out.push_back(fmt::format("{}@{}", text, target.name()));
  else
    out.insert(out.end(), {text, "--target", std::string(target.name())});
  out.insert(out.end(), more.begin(), more.end());
  out.emplace_back("--json");
  return out;
}

void add_layout_view(std::vector<AskView>& out, const Instruction& i, const std::string& text) {
  AskView view{"layout", "Where the elements of each operand lie", {}};
  LayoutOptions options;
  std::vector<std::string> more;
  if (const auto idesc = example_descriptor(i)) {
    options.instruction_descriptor = *idesc;
    more = {"--idesc", hexadecimal(*idesc)};
    view.title += fmt::format(", with the instruction descriptor {}", more.back());
  }
  if (!layout(i, options)) return;
  view.commands.push_back(aimed_command("layout", text, i.target(), more));
  if (fragment_moves(i))
    view.commands.push_back(aimed_command("layout", text, i.target(), {"--by", "ldmatrix"}));
  options.swizzle = Swizzle::bytes_128;
  for (const std::string operand : {"a", "b"}) {
    options.operand = operand;
    const Operand* described = i.find(operand == "a" ? Part::a : Part::b);
    if (described == nullptr || described->kind != OperandKind::descriptor || !layout(i, options)) continue;
    std::vector<std::string> swizzled = more;
    swizzled.insert(swizzled.end(), {"--operand", operand, "--swizzle", "128"});
    view.commands.push_back(aimed_command("layout", text, i.target(), swizzled));
  }
  out.push_back(view);
}

void add_sum_view(std::vector<AskView>& out, const Instruction& i, const std::vector<Target>& given) {
  const Operand *a = i.find(Part::a), *b = i.find(Part::b);
  if (a == nullptr || b == nullptr || i.terms() == 0) return;
  const std::string form(i.canonical());
  const Result<FormatInfo> format = find_format_info(a->format);
  const bool is_integer = !format || format->is_integer;
  // Listings have no products by types.
  const std::vector<Target> on = is_typed_product(i)
                                     ? std::vector{i.target()}
                                     : compared_targets(form, given.empty() ? std::vector<Target>{} : given);
  out.push_back(sum_view(form, on, is_integer ? "1 1" : "1 2^-12", "1 1"));
}

void add_format_view(std::vector<AskView>& out, const Instruction& i) {
  std::vector<std::string_view> names;
  for (const Operand& operand : i.operands())
    if (find_format_info(operand.format) && std::ranges::find(names, operand.format) == names.end())
      names.push_back(operand.format);
  if (names.empty()) return;
  AskView view{"format", fmt::format("The formats of its elements: {}", fmt::join(names, ", ")), {}};
  for (const std::string_view name : names) view.commands.push_back({"format", std::string(name), "--json"});
  out.push_back(view);
}

AskView gpu_view(const Instruction& i) {
  const std::string form(i.canonical());
  if (is_typed_product(i))
    return {"gpu",
            "On what its results rest",
            {{"check", fmt::format("{}@{}", form, i.target().name()), "--json"}}};
  return {
      "gpu",
      "Which GPU has it, what it becomes in machine code, and on what its results rest",
      {{"check", form, "--json"},
       {"list", "--evidence", "--forms", "--target", std::string(i.target().name()), exactly(form), "--json"}}};
}

// On the first target that has it, or on the newest that does.
Result<Instruction> parsed(const std::string& text, const std::vector<Target>& targets) {
  for (const Target target : targets)
    if (Result<Instruction> out = Instruction::parse(text, target)) return out;
  // Of the targets that people compare, one for which machine code was seen.
  for (const std::string_view name : {"sm_90a", "sm_100a", "sm_120a", "sm_80", "sm_75"})
    if (Result<Instruction> out = Instruction::parse(text, *Target::find_ptx(name))) return out;
  return parse_on_newest(text);
}

// ---- Texts

// The form that is short for several, most likely first: those of the text's type as factors, with sums in 32 bits.
std::vector<std::string> ranked_forms(const Error& ambiguous, const std::string& text) {
  std::vector<std::pair<int, std::string>> ranked;
  std::string_view rest = ambiguous.accepted;
  while (!rest.empty()) {
    const std::string form(up_to(rest, ","));
    rest.remove_prefix(std::min(rest.size(), form.size() + 2));
    if (form.find(' ') != form.npos) continue;  // "and 3 more"
    const Result<Instruction> i = parse_on_newest(form);
    if (!i) continue;
    const Operand *a = i->find(Part::a), *d = i->find(Part::d);
    const bool names_a = a != nullptr && text.find(a->format) != text.npos;
    const bool is_wide = d != nullptr && d->element_bits == 32;
    ranked.emplace_back((names_a ? 0 : 2) + (is_wide ? 0 : 1), form);
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& r) { return r.first; });
  std::vector<std::string> out;
  for (auto& [rank, form] : ranked) out.push_back(form);
  return out;
}

AskReadings ambiguous_form(const std::string& text, const Error& error, const std::vector<Target>& targets) {
  const std::vector<std::string> forms = ranked_forms(error, text);
  if (forms.empty()) return {no_form(text, error, targets)};
  Result<AskReading> first = form_reading("form", forms[0], targets);
  if (!first) return {no_form(text, first.error(), targets)};
  const bool is_short = error.seen.starts_with("is short for");
  first->understood = fmt::format("{} {}{} {} is shown: {}", text, error.seen, is_short ? ", of which" : ";",
                                  forms[0], first->understood);
  for (std::size_t i = 1; i < forms.size(); ++i) first->suggestions.push_back({forms[i], "may be meant, too"});
  return {*first};
}

// What people write for the words of PTX, beside other names of formats (find_format_info).
struct WordSpelling {
  std::string_view seen, meant;
};
constexpr WordSpelling kWordSpellings[] = {{"e4m3fn", "e4m3"}, {"transpose", "trans"}, {"trans.", "trans"}};

// "mma m16n8k16 f16" -> "mma.m16n8k16.f16"
std::string joined_words(const std::string& form, const std::vector<std::string>& words) {
  std::string out = form;
  for (const std::string& typed : words) {
    std::string word = in_small_letters(typed);
    for (const auto& [seen, meant] : kWordSpellings)
      if (word == seen) word = meant;
    if (const Result<FormatInfo> format = find_format_info(word)) word = format->name;
    while (word.starts_with('.')) word.erase(0, 1);
    if (!word.empty()) out += "." + word;
  }
  return out;
}

AskReadings bare_form(const std::string& form, std::string_view rest, const AskedLine& line) {
  std::vector<std::string> words;
  for (const std::string& word : words_of(rest))
    if (word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:.") ==
        word.npos)
      words.push_back(word);
    else
      break;  // of a message
  const std::string whole = joined_words(form, words);
  Result<std::string> full = full_form(whole, line.target());
  if (!full && full.error().code == Errc::ambiguous_form)
    return ambiguous_form(whole, full.error(), line.targets);
  Result<AskReading> out = full ? form_reading("form", *full, line.targets) : Result<AskReading>(full.error());
  if (!out && !words.empty() && form.find('.') != form.npos) {  // of a message that goes on behind the form
    const Result<std::string> alone = full_form(form, line.target());
    if (alone)
      if (Result<AskReading> other = form_reading("form", *alone, line.targets)) return {*other};
  }
  if (!out) return {no_form(whole, out.error(), line.targets)};
  out->understood = *full == whole ? fmt::format("{} is {}", whole, out->understood)
                                   : fmt::format("{} is short for {}: {}", whole, *full, out->understood);
  return {*out};
}

// A statement as the assembler sees it: operands of inline assembly are registers.
std::string statement_text(const std::string& form, std::string_view operands) {
  std::string out = form + " ";
  for (const char c : operands) {
    const bool is_blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if ((is_blank && out.back() == ' ') || (c == '%' && out.back() == '%')) continue;
    out += is_blank ? ' ' : c;
  }
  while (out.ends_with(' ')) out.pop_back();
  return out + ";";
}

// FORM@NAME without such a target: the form at names that differ in one letter.
AskReading no_target(const std::string& form, const Error& error) {
  AskReading out{"error", error.message()};
  for (const TargetNames& row : target_names())
    for (const std::string_view name : row.names)
      if (letters_apart(in_small_letters(name), in_small_letters(error.seen)) <= 1)
        out.suggestions.push_back(
            {fmt::format("{}@{}", form, name), fmt::format("a GPU, {}", row.target.name())});
  out.suggestions.push_back({form, "the form alone"});
  return out;
}

AskReadings full_statement(const std::string& form, std::string_view operands, const AskedLine& line) {
  const std::string statement = statement_text(form, operands);
  const Result<Instruction> i = parsed(statement, line.targets);
  if (i) {
    Result<AskReading> out = form_reading("statement", std::string(i->canonical()), line.targets, statement);
    if (!out) return {no_form(form, out.error(), line.targets)};
    out->understood = fmt::format("A statement of {}: {}", i->canonical(), out->understood);
    return {*out};
  }
  const Result<std::string> full = full_form(form, line.target());
  Result<AskReading> bare =
      full ? form_reading("statement", *full, line.targets) : Result<AskReading>(full.error());
  if (!bare) return {no_form(form, bare.error(), line.targets)};
  bare->understood = fmt::format("A statement of {}, {}; its operands are refused: {}", *full, bare->understood,
                                 i.error().message());
  return {*bare};
}

bool is_form_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == ':';
}

// Where an opcode of the library stands in the text, as a word before a dot, a blank or the end.
std::size_t find_opcode(const std::string& text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at > 0 && is_form_character(text[at - 1])) continue;
    std::size_t end = at;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
      ++end;
    if (end < text.size() && text[end] != '.' && text[end] != ' ') continue;
    if (opcodes().contains(std::string_view(text).substr(at, end - at))) return at;
  }
  return text.npos;
}

// Words that may stand before an opcode alone: of a question, or of a library's name for it.
bool may_precede(std::string_view word) {
  constexpr std::string_view kWords[] = {"what", "is",  "does",        "how", "the",    "a",
                                         "an",   "do",  "instruction", "ptx", "form",   "of",
                                         "show", "ask", "why",         "me",  "layout", "fragment"};
  return std::ranges::find(kWords, in_small_letters(word)) != std::end(kWords);
}

AskReadings form_at(const AskedLine& line, std::size_t at) {
  const std::string_view text = std::string_view(line.text).substr(at);
  std::size_t end = 0;
  while (end < text.size() && is_form_character(text[end])) ++end;
  std::string form(text.substr(0, end));
  while (form.ends_with('.') || form.ends_with(':')) form.pop_back();
  std::string_view rest = up_to(text, ";'\"`", end);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  if (line.target_error) return {no_target(form, *line.target_error)};
  const bool has_operands =
      rest.starts_with('{') || rest.starts_with('%') || rest.starts_with('[') ||
      (rest.find(',') != rest.npos && text.size() > end + 1 + rest.size() && text[end] == ' ');
  return has_operands ? full_statement(form, rest, line) : bare_form(form, rest, line);
}

}  // namespace

const std::vector<FormInfo>& all_forms() {
  static const std::vector<FormInfo> all = forms();
  return all;
}

Result<AskReading> form_reading(std::string_view kind, const std::string& form,
                                const std::vector<Target>& targets, const std::string& statement) {
  const std::string text = statement.empty() ? form : statement;
  const Result<Instruction> i = parsed(text, targets);
  if (!i) return i.error();
  AskReading out{kind, words_of_form(*i)};
  out.form = i->canonical();
  out.target = i->target();
  if (!targets.empty() && std::ranges::find(targets, i->target()) == targets.end()) {
    const std::vector<Target> having = targets_with(out.form);
    out.understood += fmt::format(", which {} does not have, but {}", target_text(targets[0]), names(having));
  }
  add_layout_view(out.views, *i, text);
  add_sum_view(out.views, *i, targets);
  out.views.push_back(gpu_view(*i));
  add_format_view(out.views, *i);
  return out;
}

AskReading no_form(const std::string& form, const Error& error, const std::vector<Target>& targets) {
  const bool is_short = error.code == Errc::missing_qualifier && form.find(".sync") == form.npos;
  AskReading out{"error",
                 is_short ? fmt::format("No form is {}, and none is short for it", form) : error.message()};
  const auto target = targets.empty() ? std::nullopt : std::optional(targets.front());
  for (const std::string& near : nearest_forms(form, target, kMostNear))
    out.suggestions.push_back({near, "a form that exists"});
  out.views.push_back({"gpu", "Why there is no such form", {{"check", form, "--json"}}});
  return out;
}

bool has_form(Target target, std::string_view form) {
  const std::vector<Target> having = targets_with(std::string(form));
  return std::ranges::find(having, target) != having.end();
}

std::vector<Target> compared_targets(const std::string& form, const std::vector<Target>& given) {
  const std::vector<Target> having = targets_with(form);
  const auto has = [&](Target target) { return std::ranges::find(having, target) != having.end(); };
  std::vector<Target> out;
  for (const Target target : given)
    if (has(target)) out.push_back(target);
  if (!out.empty()) return out;
  for (const std::string_view name : {"sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"})
    if (const Target target = *Target::find_ptx(name); has(target)) out.push_back(target);
  constexpr std::size_t kMost = 4;
  if (out.size() > kMost) out.erase(out.begin() + 1);  // Ada adds f16 as Ampere does
  if (out.empty() && !having.empty()) out.push_back(having.back());
  return out;
}

AskView sum_view(const std::string& form, const std::vector<Target>& targets, const std::string& a,
                 const std::string& b) {
  std::vector<std::string_view> names;
  for (const Target target : targets) names.push_back(target.name());
  const std::string list = fmt::format("{}", fmt::join(names, ","));
  AskView out{"sum", fmt::format("How {} adds, on {}", form, fmt::join(names, ", ")), {}};
  out.commands.push_back({"explain", form, "--target", list, "--a", a, "--b", b, "--json"});
  if (targets.size() > 1)
    out.commands.push_back({"compare", form, "--targets", list, "--a", a, "--b", b, "--json"});
  return out;
}

AskReadings ask_form(const AskedLine& line) {
  const std::size_t at = find_opcode(line.text);
  if (at == line.text.npos) return {};
  const std::string_view opcode = up_to(line.text, ". ", at);
  const bool is_alone = at + opcode.size() == line.text.size() || line.text[at + opcode.size()] == ' ';
  const bool is_english = opcode == "fence";
  if (is_alone && is_english && !std::ranges::all_of(words_of(line.text.substr(0, at)), may_precede)) return {};
  AskReadings out = form_at(line, at);
  if (out[0].kind != "error") return out;
  const AskReadings other = ask_statement(line);
  return other.empty() ? out : other;
}

}  // namespace warpbit::cli
