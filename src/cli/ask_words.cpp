// SPDX-License-Identifier: Apache-2.0
// Messages and questions: the instruction that their words name. Asked last, of lines with words that are no part of a form.
//
//     ... error : Feature 'mma with FP8 floating point type' requires .target sm_89 ...     mma, e4m3
//     which lane holds element (3,5) of A in m16n8k16?                                      m16n8k16
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "cli/ask.hpp"
#include "warpbit/detail/letters.hpp"
#include "warpbit/result.hpp"

namespace warpbit::cli {
namespace {

// What stands for an instruction that people name by its first words: those that are no forms of tensor instructions.
struct Example {
  std::string_view name, form;
};
constexpr Example kFirstForms[] = {
    {"cp.async.bulk.tensor", kTileLoad},
    {"cp.async.bulk", kBulkLoad},
    {"cp.async", "cp.async.cg.shared.global"},
    {"cp.reduce.async.bulk", "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32"},
    {"mbarrier.try_wait", "mbarrier.try_wait.parity.shared::cta.b64"},
    {"mbarrier.test_wait", "mbarrier.test_wait.parity.shared::cta.b64"},
    {"mbarrier.arrive", "mbarrier.arrive.shared::cta.b64"},
    {"mbarrier.expect_tx", "mbarrier.arrive.expect_tx.shared::cta.b64"},
    {"mbarrier", "mbarrier.init.shared::cta.b64"},
    {"setmaxnreg", "setmaxnreg.inc.sync.aligned.u32"},
    {"redux", "redux.sync.add.s32"},
    {"elect", "elect.sync"},
    {"shfl", "shfl.sync.bfly.b32"},
    {"bar.sync", "bar.sync"},
    {"barrier.cluster", "barrier.cluster.arrive"},
    {"barrier.sync", "barrier.sync"},
    {"griddepcontrol", "griddepcontrol.wait"},
    {"tensormap", "tensormap.replace.tile.global_address.shared::cta.b1024.b64"},
    {"clusterlaunchcontrol",
     "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128"},
    {"st.async", "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32"},
    {"fence.proxy", "fence.proxy.async"},
    {"fence.mbarrier_init", "fence.mbarrier_init.release.cluster"},
    {"warpgroup.arrive", "wgmma.fence.sync.aligned"},
    {"warpgroup.depbar", "wgmma.wait_group.sync.aligned"},
    {"ex2.approx", "ex2.approx.ftz.f32"},
    {"tanh.approx", "tanh.approx.f32"},
    {"mapa", "mapa.shared::cluster.u32"},
    {"lop3", "lop3.b32"},
    {"prmt", "prmt.b32"},
};

// What messages and people say for words of forms.
constexpr Example kSpoken[] = {{"fp8", "e4m3"},   {"fp4", "e2m1"},        {"block", "block_scale"},
                               {"int8", "s8"},    {"sparse", "sp"},       {"bfloat16", "bf16"},
                               {"half", "f16"},   {"fp16", "f16"},        {"nvfp4", "mxf4nvf4"},
                               {"mxfp4", "mxf4"}, {"transposed", "trans"}};

// The words of all forms, and the first of each.
struct Vocabulary {
  std::set<std::string, std::less<>> words, opcodes;
};
const Vocabulary& vocabulary() {
  static const Vocabulary all = [] {
    Vocabulary out;
    for (const FormInfo& form : all_forms()) {
      const std::vector<std::string> words = dot_words(form.canonical);
      out.opcodes.insert(words.front());
      out.words.insert(words.begin() + 1, words.end());
    }
    out.opcodes.erase("fence");  // a word of English, too
    return out;
  }();
  return all;
}

// What a line names of a form.
struct Named {
  std::string opcode;  // empty: not said
  std::vector<std::string> qualifiers;
};

// "m16n8" stands for m16n8k16.
bool says(const std::vector<std::string>& form, const std::string& word) {
  return std::ranges::any_of(form, [&](const std::string& one) {
    return one == word || (word.starts_with('m') && word.find('n') != word.npos && one.starts_with(word + "k"));
  });
}

std::string first_form(const Named& named) {
  for (const FormInfo& form : all_forms()) {
    const std::vector<std::string> words = dot_words(form.canonical);
    if (!named.opcode.empty() && words.front() != named.opcode) continue;
    if (std::ranges::all_of(named.qualifiers, [&](const std::string& one) { return says(words, one); }))
      return form.canonical;
  }
  return "";
}

// With as many of the qualifiers as a form has, the first ones first.
std::string nearest_of(Named named) {
  while (true) {
    if (std::string form = first_form(named); !form.empty()) return form;
    if (named.qualifiers.empty()) return "";
    named.qualifiers.pop_back();
  }
}

bool is_shape(std::string_view word) {
  AskScanner in(word);
  if (!in.take("m") || !in.take_number() || !in.take("n") || !in.take_number()) return false;
  return in.is_done() || (in.take("k") && in.take_number() && in.is_done());
}

std::string_view example_of(std::string_view word) {
  for (const auto& [name, form] : kFirstForms)
    if (word.starts_with(name) && (word.size() == name.size() || word[name.size()] == '.')) return form;
  return "";
}

// Adds what a word says: an opcode with its qualifiers, a qualifier, or nothing. False if it begins like a form that none is.
bool add_word(Named& named, std::string_view word, bool is_quoted) {
  const std::string small = in_small_letters(word);
  for (const auto& [name, form] : kSpoken)
    if (small == name) return named.qualifiers.emplace_back(form), true;
  const bool begins_with_dot = word.starts_with('.');
  std::vector<std::string> parts = dot_words(word.substr(begins_with_dot ? 1 : 0));
  if (parts.empty()) return true;
  const bool is_opcode = !begins_with_dot && vocabulary().opcodes.contains(parts.front());
  if (is_opcode) {
    if (!std::all_of(parts.begin() + 1, parts.end(),
                     [](const std::string& one) { return vocabulary().words.contains(one); }))
      return false;
    if (named.opcode.empty()) named.opcode = parts.front();
    named.qualifiers.insert(named.qualifiers.end(), parts.begin() + 1, parts.end());
  } else if ((begins_with_dot || is_quoted) && vocabulary().words.contains(parts.front())) {
    named.qualifiers.push_back(parts.front());
  } else if (is_shape(word)) {
    named.qualifiers.emplace_back(word);
  }
  return true;
}

// Words without the signs of sentences; "/" parts them.
std::vector<std::string> bare_words(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool is_kept = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == ':';
    out += is_kept ? c : ' ';
  }
  std::vector<std::string> words = words_of(out);
  for (std::string& word : words)
    while (word.ends_with('.') || word.ends_with(':')) word.pop_back();
  std::erase(words, "");
  return words;
}

// What stands between quotes, as ptxas has them.
std::vector<std::string> quoted_parts(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = text.find('\''); at != text.npos;) {
    const std::size_t end = text.find('\'', at + 1);
    if (end == text.npos) break;
    out.emplace_back(text.substr(at + 1, end - at - 1));
    at = text.find('\'', end + 1);
  }
  return out;
}

AskReadings reading_of(std::string_view text, bool is_quoted, const AskedLine& line) {
  Named named;
  for (const std::string& word : bare_words(text)) {
    if (const std::string_view example = example_of(in_small_letters(word)); !example.empty())
      return {any_form_reading("form", fmt::format("'{}' names", word), std::string(example), line.targets)};
    if (!add_word(named, word, is_quoted)) return {};
  }
  const bool has_shape = std::ranges::any_of(named.qualifiers, [](const auto& one) { return is_shape(one); });
  if (named.opcode.empty() && !has_shape && (!is_quoted || named.qualifiers.empty())) return {};
  const std::string form = nearest_of(named);
  if (form.empty()) return {};
  return {any_form_reading("form",
                           is_quoted ? fmt::format("'{}' names forms like", text) : "It names forms like", form,
                           line.targets)};
}

// A word of letters that no form has.
bool is_of_prose(const std::string& word) {
  return word.size() > 1 && std::ranges::all_of(word, [](unsigned char c) { return std::isalpha(c); }) &&
         !vocabulary().words.contains(in_small_letters(word)) && !vocabulary().opcodes.contains(word) &&
         element_type(word).empty();
}

AskReadings rule_reading(const AskedLine& line) {
  for (const std::string& word : bare_words(line.text))
    for (const KernelRuleInfo& rule : kernel_rules())
      if (word == rule.name && word.find('_') != word.npos)
        return {
            {"name",
             fmt::format("{} is a rule that launch looks at. A kernel keeps it if {}", rule.name, rule.says),
             {{"gpu", "All rules", {{"list", "--rules", "--json"}}}}}};
  return {};
}

}  // namespace

AskReadings ask_words(const AskedLine& line) {
  const std::vector<std::string> words = bare_words(line.text);
  constexpr std::size_t kMost = 60;  // of a message or a question
  if (words.size() < 3 || words.size() > kMost || std::ranges::none_of(words, is_of_prose)) return {};
  if (AskReadings rule = rule_reading(line); !rule.empty()) return rule;
  const std::vector<std::string> quoted = quoted_parts(line.line);
  if (AskReadings out = reading_of(fmt::format("{}", fmt::join(quoted, " ")), true, line); !out.empty())
    return out;
  for (const std::string& part : quoted)
    if (AskReadings out = ask_target(read_line(part)); !out.empty()) return out;
  if (AskReadings out = reading_of(line.text, false, line); !out.empty()) return out;
  constexpr std::size_t kLeast = 6;  // letters of a type's name that nothing else is called
  for (const std::string& word : words)
    if (const std::string type = element_type(word); word.size() >= kLeast && !type.empty())
      if (word.find_first_of("0123456789") != word.npos) return ask_format(read_line(type));
  return {};
}

}  // namespace warpbit::cli
