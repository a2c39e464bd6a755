// SPDX-License-Identifier: Apache-2.0
// Short forms: which words may be left out, and the form that is left.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "isa/families/tensor_product.hpp"
#include "isa/instruction.hpp"
#include "isa/short_form.hpp"

namespace warpbit {
namespace {

// "kind::mxf4" is also written "mxf4".
bool is_word(std::string_view qualifier, std::string_view given) {
  return qualifier == given ||
         (qualifier.ends_with(given) && qualifier.substr(0, qualifier.size() - given.size()).ends_with("::"));
}

// A form, and which of its slots a text fills.
class Reading {
 public:
  Reading(const Family& family, const Form& form, Omission omission)
      : family_(family), form_(form), omission_(omission), given_(family.slots.size()) {}

  // True if the words are the qualifiers from the slot on, in order, but for those that may be left out.
  bool fits(GivenWords words, std::size_t slot = 0) {
    if (slot == given_.size()) return words.empty();
    if (form_.qualifiers[slot].empty()) return fits(words, slot + 1);
    const bool whole = family_.slots[slot].leading;  // "wait::ld" is never "ld"
    if (!words.empty() && may_be_given(slot) &&
        (whole ? form_.qualifiers[slot] == words.front() : is_word(form_.qualifiers[slot], words.front()))) {
      given_[slot] = words.front();
      if (fits(words.subspan(1), slot + 1)) return true;
    }
    given_[slot] = {};
    return may_be_left_out(slot) && fits(words, slot + 1);
  }

  // After fits(): whether the types of D and A are given.
  bool has_first_types() const {
    std::size_t types = 0, given = 0;
    for (std::size_t slot = 0; slot < given_.size() && types < 2; ++slot) {
      const bool is_type = family_.slots[slot].group == "type" && !form_.qualifiers[slot].empty();
      types += is_type;
      given += is_type && is_given(slot);
    }
    return given == 2;
  }
  // After fits(): whether it leaves out what each form of the family has, or a part of a word.
  bool is_shorter() const {
    for (std::size_t slot = 0; slot < given_.size(); ++slot)
      if (is_given(slot) ? given_[slot] != form_.qualifiers[slot]
                         : family_.slots[slot].required && !form_.qualifiers[slot].empty())
        return true;
    return false;
  }

 private:
  bool is_given(std::size_t slot) const { return !given_[slot].empty(); }
  // Types are left out from the last on.
  bool may_be_given(std::size_t slot) const {
    const auto back = static_cast<std::size_t>(family_.slots[slot].repeats);
    return omission_ == Omission::any || back == 0 || (is_given(slot - 1) && is_given(slot - back));
  }
  bool may_be_left_out(std::size_t slot) const {
    const QualifierSlot& spec = family_.slots[slot];
    if (omission_ == Omission::any) return true;
    if (spec.repeats == 0) return spec.required && !spec.chosen;
    return form_.qualifiers[slot] == form_.qualifiers[slot - static_cast<std::size_t>(spec.repeats)];
  }

  const Family& family_;
  const Form& form_;
  const Omission omission_;
  std::vector<std::string_view> given_;  // the word for each slot, or ""
};

// The documented forms that the text may be short for, without repetition, in the order of the tables. Types are meant from
// that of D on: .f16.f16 are those of D and A, if there is such a form, and not those of A and B.
std::vector<const Form*> readings(const Statement& text, Omission omission) {
  std::vector<const Form*> out, with_first_types;
  for (const Family* family : families_of(text.opcode)) {
    std::vector<std::string_view> words = text.qualifiers;
    const auto is_ignored = [&](std::string_view word) {
      const auto ignored = words_beside_product();
      return family == &tensor_product_family() && std::ranges::find(ignored, word) != ignored.end();
    };
    const bool is_longer = std::erase_if(words, is_ignored) != 0;
    for (const Form& form : family->forms) {
      if (!form.undocumented.empty()) continue;
      if (!out.empty() && out.back()->canonical == form.canonical) continue;
      Reading reading(*family, form, omission);
      if (!reading.fits(words) || !(is_longer || reading.is_shorter())) continue;
      out.push_back(&form);
      if (reading.has_first_types()) with_first_types.push_back(&form);
    }
  }
  return with_first_types.empty() ? out : with_first_types;
}

// Those of the target, if it has any.
void prefer(std::vector<const Form*>& forms, std::optional<Target> target) {
  const auto is_here = [&](const Form* form) { return target->row().features.has(form->needs | form->known); };
  if (target && std::ranges::any_of(forms, is_here))
    std::erase_if(forms, [&](const Form* form) { return !is_here(form); });
}

Error ambiguous(const Statement& text, std::string seen, const std::vector<const Form*>& forms) {
  constexpr std::size_t kMost = 5;
  std::vector<std::string_view> names;
  for (const Form* form : forms)
    if (names.size() < kMost) names.push_back(form->canonical);
  return {Errc::ambiguous_form, spell(text), std::move(seen),
          fmt::format("{}{}", fmt::join(names, ", "),
                      forms.size() > kMost ? fmt::format(", and {} more", forms.size() - kMost) : "")};
}

// True if the words are those of a form, in any order, documented or not; but for what the assembler does not require.
bool is_full(const Statement& text) {
  const auto is_said = [&](const std::string& word) {
    return std::ranges::find(text.qualifiers, word) != text.qualifiers.end();
  };
  const auto has_words = [&](const Family& family, const Form& form) {
    std::vector<std::string_view> words;
    for (std::size_t slot = 0; slot < family.slots.size(); ++slot)
      if (const std::string& word = form.qualifiers[slot];
          !word.empty() && (!family.slots[slot].assembler_optional || is_said(word)))
        words.push_back(word);
    return std::ranges::is_permutation(words, text.qualifiers);
  };
  return std::ranges::any_of(families_of(text.opcode), [&](const Family* family) {
    return std::ranges::any_of(family->forms, [&](const Form& form) { return has_words(*family, form); });
  });
}

// Names of block formats, for the kind and the types that they mean.
struct BlockName {
  std::string_view name, kind, scale_vec, factor, scale;
};
constexpr std::string_view kSum = "f32", k1X = "scale_vec::1X", k2X = "scale_vec::2X", k4X = "scale_vec::4X";
constexpr BlockName kBlockNames[] = {
    {"nvfp4", "mxf4nvf4", k4X, "e2m1", "ue4m3"},      {"mxfp4", "mxf4", k2X, "e2m1", "ue8m0"},
    {"mxf8", "mxf8f6f4", k1X, "e4m3", "ue8m0"},       {"mxfp8", "mxf8f6f4", k1X, "e4m3", "ue8m0"},
    {"mxfp8_e4m3", "mxf8f6f4", k1X, "e4m3", "ue8m0"}, {"mxfp8_e5m2", "mxf8f6f4", k1X, "e5m2", "ue8m0"},
    {"mxfp6_e3m2", "mxf8f6f4", k1X, "e3m2", "ue8m0"}, {"mxfp6_e2m3", "mxf8f6f4", k1X, "e2m3", "ue8m0"}};

// "nvfp4" and "mma.m16n8k64.nvfp4" in the words of forms. Alone it is the product of the target.
void name_blocks(Statement& text, std::optional<Target> target) {
  std::vector<std::string_view> words = text.qualifiers;
  if (std::ranges::find(kBlockNames, text.opcode, &BlockName::name) != std::end(kBlockNames)) {
    words.insert(words.begin(), text.opcode);
    text.opcode = target && target->row().features.has(Feature::tensor_memory) ? "tcgen05" : "mma";
  }
  const auto block_of = [](std::string_view word) {
    return std::ranges::find(kBlockNames, word, &BlockName::name);
  };
  if (std::ranges::all_of(words,
                          [&](std::string_view word) { return block_of(word) == std::end(kBlockNames); }))
    return;
  text.qualifiers.clear();
  std::erase(words, kSum);  // that it means anyway
  for (const std::string_view word : words) {
    const auto* const row = block_of(word);
    if (row == std::end(kBlockNames))
      text.qualifiers.push_back(word);
    else
      text.qualifiers.insert(text.qualifiers.end(), {row->kind, row->scale_vec, kSum, row->factor, row->scale});
  }
}

// True if another form differs in this word alone.
bool is_choice(const Family& family, const Form& form, std::size_t slot) {
  const auto differs_here = [&](const Form& other) {
    for (std::size_t i = 0; i < family.slots.size(); ++i)
      if ((other.qualifiers[i] == form.qualifiers[i]) == (i == slot)) return false;
    return true;
  };
  return std::ranges::any_of(family.forms, differs_here);
}

// The words of a form without those that every such form has, with or without its shape and its first types. Types that
// repeat are left out from the last on.
std::string shorter(const Family& family, const Form& form, bool with_shape, bool with_types) {
  const auto is_said = [&](std::size_t slot) {
    const QualifierSlot& spec = family.slots[slot];
    if (spec.role == SlotRole::shape) return with_shape;
    return spec.group == "type" ? with_types : !spec.required || spec.chosen || is_choice(family, form, slot);
  };
  std::vector<std::string_view> words;
  bool repeats = true;  // so far, from behind
  for (std::size_t slot = family.slots.size(); slot-- > 0;) {
    const std::string& word = form.qualifiers[slot];
    const auto back = static_cast<std::size_t>(family.slots[slot].repeats);
    if (word.empty()) continue;
    repeats = repeats && (back == 0 || word == form.qualifiers[slot - back]);
    if (back != 0 ? repeats : !is_said(slot)) continue;
    const std::size_t kind = word.find("::");
    const bool whole =
        kind == word.npos || family.slots[slot].leading || kind + 3 == word.size();  // cta_group::1
    words.push_back(std::string_view(word).substr(whole ? 0 : kind + 2));
  }
  words.push_back(family.opcode);
  std::ranges::reverse(words);
  return fmt::format("{}", fmt::join(words, "."));
}

// A shape alone is that of the product with such a shape.
void name_product(Statement& text) {
  if (!looks_like_shape(text.opcode)) return;
  text.qualifiers.insert(text.qualifiers.begin(), text.opcode);
  text.opcode = opcode_of_shape(text.opcode);
}

}  // namespace

std::vector<const Family*> families_of(std::string_view opcode) {
  std::vector<const Family*> out;
  for (const Family& family : families())
    if (family.opcode == opcode) out.push_back(&family);
  if (const Family& products = tensor_product_family(); products.opcode == opcode) out.push_back(&products);
  return out;
}

bool fits(const Family& family, const Form& form, GivenWords words, Omission omission) {
  return Reading(family, form, omission).fits(words);
}

bool is_meant(const Form& form, const Statement& text) {
  const auto is_sp = [](std::string_view word) { return word == "sp" || word.starts_with("sp::"); };
  return !form.sparsity.is_sparse() || std::ranges::any_of(text.qualifiers, is_sp);
}

std::vector<std::string> short_forms(std::string_view form) {
  std::vector<std::string> out;
  for (const Family& family : families()) {
    const auto found = std::ranges::find_if(
        family.forms, [&](const Form& known) { return known.canonical == form && known.undocumented.empty(); });
    if (found == family.forms.end()) continue;
    for (const bool with_shape : {true, false})
      for (const bool with_types : {false, true}) {
        const std::string text = shorter(family, *found, with_shape, with_types);
        const Result<std::string> full = full_form(text);
        const bool is_new = text != form && std::ranges::find(out, text) == out.end();
        if (is_new && full && *full == form) out.push_back(text);
      }
    return out;
  }
  return out;
}

Result<std::string> full_form(std::string_view text, std::optional<Target> target) {
  Result<Statement> given = split(text);
  if (given) name_product(*given), name_blocks(*given, target);
  if (!given || !given->operands.empty() || given->terminated || is_full(*given)) return std::string(text);
  std::vector<const Form*> forms = readings(*given, Omission::as_in_short_forms);
  prefer(forms, target);
  if (forms.size() == 1) return forms[0]->canonical;
  if (!forms.empty()) {
    Error out = ambiguous(*given, fmt::format("is short for {} forms", forms.size()), forms);
    if (const std::string_view product = product_by_types(*forms[0]); !product.empty())
      out.accepted += fmt::format("; of matrices with types in its name, as {}", product);
    return out;
  }
  const auto is_said = [&](std::string_view word) {
    return std::ranges::find(given->qualifiers, word) != given->qualifiers.end();
  };
  if (is_said("sync")) return std::string(text);  // a form in full is meant
  forms = readings(*given, Omission::any);
  prefer(forms, target);
  const bool is_product = names_product(*given);
  if (is_product && std::ranges::none_of(forms, [&](const Form* form) { return is_meant(*form, *given); }))
    return wrong_word(*given);
  if (forms.empty()) return std::string(text);
  return ambiguous(*given, "leaves out what a short form must say", forms);
}

}  // namespace warpbit
