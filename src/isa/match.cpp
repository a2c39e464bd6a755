// SPDX-License-Identifier: Apache-2.0
// Finds the form for qualifiers, or an error that names the wrong qualifier and the accepted ones.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>  // std::back_inserter
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "isa/instruction.hpp"
#include "isa/memo.hpp"
#include "numeric/format_names.hpp"
#include "warpbit/detail/letters.hpp"

namespace warpbit {
namespace {

std::string list(const std::vector<std::string>& items, std::string_view last = " and ") {
  if (items.size() < 2) return items.empty() ? "nothing" : items.front();
  return fmt::format("{}{}{}", fmt::join(items.begin(), items.end() - 1, ", "), last, items.back());
}

std::string dotted(std::string_view qualifier) {
  return qualifier.empty() ? "none" : fmt::format(".{}", qualifier);
}

// The values of a slot over some forms, in the order of the table.
std::vector<std::string> values(const std::vector<const Form*>& forms, std::size_t slot) {
  std::vector<std::string> out;
  std::unordered_set<std::string_view> seen;
  for (const Form* form : forms)
    if (seen.insert(form->qualifiers[slot]).second) out.push_back(form->qualifiers[slot]);
  return out;
}

std::vector<const Form*> documented(const Family& family) {
  std::vector<const Form*> out;
  for (const Form& form : family.forms)
    if (form.undocumented.empty()) out.push_back(&form);
  return out;
}

// The lookup tables for the forms of a family. A qualifier belongs to one group, and those of a group fill its
// slots in order, so that the text of a form tells its slots.
struct Index {
  std::unordered_map<std::string_view, int> groups;  // by qualifier; a group: by the number of its first slot
  std::vector<int> of_slots;                         // their groups
  std::unordered_map<std::string_view, const Form*> forms;  // by text, the first one

  explicit Index(const Family& family) {
    for (const QualifierSlot& slot : family.slots)
      of_slots.push_back(static_cast<int>(std::ranges::find(family.slots, slot.group, &QualifierSlot::group) -
                                          family.slots.begin()));
    for (std::size_t slot = 0; slot < family.slots.size(); ++slot)
      for (const Form& form : family.forms) groups.emplace(form.qualifiers[slot], of_slots[slot]);
    for (const Form& form : family.forms) forms.emplace(form.canonical, &form);
  }
};

const Index& index_of(const Family& family) {
  static Memo<const Family*, Index> all;
  return all.get(&family, [&] { return Index(family); });
}

// The group that a qualifier belongs to; -1: none.
int group_of(const Index& index, const Family& family, std::string_view qualifier) {
  if (const auto at = index.groups.find(qualifier); at != index.groups.end()) return at->second;
  for (std::size_t slot = 0; slot < family.slots.size(); ++slot)
    if (family.slots[slot].resembles && family.slots[slot].resembles(qualifier)) return index.of_slots[slot];
  return -1;
}

// The qualifier in each slot: an index into statement.qualifiers, or -1.
struct Assignment {
  std::vector<int> index;
  std::vector<std::string_view> text;  // "" where absent
};

Error repeated(const Statement& s, const Family& family, std::string_view group, std::string_view qualifier) {
  std::vector<std::string> slots;
  for (const QualifierSlot& slot : family.slots)
    if (slot.group == group) slots.push_back(fmt::format("one {}", slot.what));
  return {Errc::repeated_qualifier, spell(s), fmt::format("'.{}' is one too many", qualifier), list(slots)};
}

// The qualifiers of some forms that the statement has not, in the order of the table.
std::vector<std::string> other_words(const Statement& s, const Family& family,
                                     const std::vector<const Form*>& forms) {
  std::vector<std::string> out;
  for (std::size_t slot = 0; slot < family.slots.size(); ++slot)
    for (const std::string& word : values(forms, slot)) {
      const bool is_given = std::ranges::find(s.qualifiers, word) != s.qualifiers.end();
      if (!word.empty() && !is_given && std::ranges::find(out, word) == out.end()) out.push_back(word);
    }
  return out;
}

// The documented forms of a family, and which of them have a word: their numbers.
struct FormsByWord {
  std::vector<const Form*> forms;
  std::unordered_map<std::string_view, std::vector<std::size_t>> numbers;

  explicit FormsByWord(const Family& family) : forms(documented(family)) {
    for (std::size_t i = 0; i < forms.size(); ++i)
      for (const std::string& word : forms[i]->qualifiers) {
        std::vector<std::size_t>& with = numbers[word];
        if (with.empty() || with.back() != i) with.push_back(i);
      }
  }
};

// The forms that have as many of the other words as any.
std::vector<const Form*> forms_with_most(const Statement& s, const Family& family) {
  static Memo<const Family*, FormsByWord> all;
  const FormsByWord& by_word = all.get(&family, [&] { return FormsByWord(family); });
  std::vector<int> counts(by_word.forms.size());
  for (const std::string_view word : s.qualifiers)
    if (const auto at = by_word.numbers.find(word); at != by_word.numbers.end())
      for (const std::size_t i : at->second) ++counts[i];
  std::vector<const Form*> out;
  if (counts.empty()) return out;
  const int most = std::ranges::max(counts);
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] == most) out.push_back(by_word.forms[i]);
  return out;
}

// What an unknown qualifier may be: the format that people call so, a word that differs in a letter or two, or what the others
// leave open.
Error no_such_qualifier(const Statement& s, const Family& family, std::string_view qualifier) {
  constexpr std::size_t kMost = 12;
  std::vector<std::string> fit;
  const std::vector<std::string_view> called = formats_called(qualifier);
  const std::vector<std::string> open = other_words(s, family, forms_with_most(s, family));
  for (const std::string_view format : called)
    if (std::ranges::any_of(documented(family), [&](const Form* form) {
          return std::ranges::find(form->qualifiers, format) != form->qualifiers.end();
        }))
      fit.emplace_back(format);
  if (fit.empty())
    std::ranges::copy_if(open, std::back_inserter(fit), [&](const std::string& word) {
      return 3 * letters_apart(qualifier, word) < std::min(word.size(), qualifier.size());
    });
  if (fit.empty()) fit = open;
  if (fit.empty()) return {Errc::unknown_qualifier, spell(s), std::string(qualifier), "none beside the others"};
  const std::size_t more = fit.size() - std::min(fit.size(), kMost);
  fit.resize(fit.size() - more);
  for (std::string& word : fit) word.insert(0, ".");
  if (more > 0) fit.push_back(fmt::format("{} more", more));
  return {Errc::unknown_qualifier, spell(s), std::string(qualifier), list(fit)};
}

Result<Assignment> assign(const Statement& s, const Family& family, const Index& index) {
  const std::size_t n = family.slots.size();
  Assignment out{std::vector<int>(n, -1), std::vector<std::string_view>(n)};
  for (std::size_t i = 0; i < s.qualifiers.size(); ++i) {
    const std::string_view q = s.qualifiers[i];
    const int group = group_of(index, family, q);
    if (group < 0) return no_such_qualifier(s, family, q);
    std::size_t slot = 0;
    const auto taken = [&] {
      return out.index[slot] >= 0 && !(family.slots[slot].repeatable && out.text[slot] == q);
    };
    while (slot < n && (index.of_slots[slot] != group || taken())) ++slot;
    if (slot == n) return repeated(s, family, family.slots[static_cast<std::size_t>(group)].group, q);
    out.index[slot] = static_cast<int>(i);
    out.text[slot] = q;
  }
  for (std::size_t slot = 0; slot < n; ++slot)
    if (const int at = out.index[slot]; family.slots[slot].leading && at >= 0 && at != static_cast<int>(slot))
      return Error{Errc::qualifier_order, spell(s),
                   fmt::format("'.{}' stands behind '.{}'", out.text[slot],
                               s.qualifiers[static_cast<std::size_t>(std::max(at, 1) - 1)]),
                   slot == 0 ? fmt::format("'.{}' as the first", out.text[slot])
                             : fmt::format("'.{}' as number {}", out.text[slot], slot + 1)};
  for (std::size_t slot = 1; slot < n; ++slot)
    if (family.slots[slot].after_previous && out.index[slot] >= 0 && out.index[slot] < out.index[slot - 1])
      return Error{Errc::qualifier_order, spell(s),
                   fmt::format("'.{}' stands before '.{}'", out.text[slot], out.text[slot - 1]),
                   fmt::format("'.{}' before '.{}'", out.text[slot - 1], out.text[slot])};
  return out;
}

std::vector<std::size_t> differences(const Form& form, const Assignment& given) {
  std::vector<std::size_t> out;
  for (std::size_t slot = 0; slot < given.text.size(); ++slot)
    if (form.qualifiers[slot] != given.text[slot]) out.push_back(slot);
  return out;
}

// The forms that differ from the given qualifiers in the fewest slots.
struct Nearest {
  std::size_t distance;
  std::vector<const Form*> forms;

  void offer(const Form* form, const Assignment& given) {
    const std::size_t d = differences(*form, given).size();
    if (d < distance) *this = {d, {}};
    if (d == distance) forms.push_back(form);
  }
};

// Searches the forms of the target if one of them is near, otherwise all.
Nearest nearest(const Family& family, Target target, const Assignment& given) {
  Nearest here{given.text.size() + 1, {}}, anywhere = here;
  for (const Form* form : documented(family)) {
    anywhere.offer(form, given);
    if (target.row().features.has(form->needs)) here.offer(form, given);
  }
  return here.distance == 1 || here.distance == anywhere.distance ? here : anywhere;
}

// The given types of A and B: "e4m3", or "e4m3 x e5m2" if they differ.
std::string factor_types(const Family& family, const Assignment& given) {
  std::vector<std::string> types;
  for (std::size_t slot = 0; slot < given.text.size(); ++slot)
    if (family.slots[slot].role == SlotRole::factor_type && (types.empty() || types.back() != given.text[slot]))
      types.emplace_back(given.text[slot]);
  return fmt::format("{}", fmt::join(types, " x "));
}

// True if some form has the given shape with the given types of A and B.
bool shape_has_types(const Family& family, std::size_t shape, const Assignment& given) {
  return std::ranges::any_of(documented(family), [&](const Form* form) {
    for (std::size_t i = 0; i < given.text.size(); ++i) {
      const bool judged = i == shape || family.slots[i].role == SlotRole::factor_type;
      if (judged && form->qualifiers[i] != given.text[i]) return false;
    }
    return true;
  });
}

// Finds the wrong slot (or several empty ones): the first one, in the manual's order, for which a single
// change gives a form; the shape only as a last resort.
Error wrong_slot(const Statement& s, const Family& family, const Assignment& given, const Nearest& best) {
  const auto rank = [&](std::size_t i) { return std::pair(family.slots[i].role == SlotRole::shape, i); };
  std::size_t slot = differences(*best.forms.front(), given).front();
  for (const Form* form : best.forms)
    slot = std::min(slot, differences(*form, given).front(), [&](auto x, auto y) { return rank(x) < rank(y); });
  std::vector<const Form*> forms;
  std::ranges::copy_if(best.forms, std::back_inserter(forms),
                       [&](const Form* form) { return differences(*form, given).front() == slot; });
  const std::vector<std::string> right = values(forms, slot);

  const QualifierSlot& spec = family.slots[slot];
  if (spec.role == SlotRole::shape && !shape_has_types(family, slot, given))
    return {Errc::no_such_form, std::string(family.name),
            fmt::format("{} does not exist for {}", given.text[slot], factor_types(family, given)),
            "it has " + list(right)};
  std::vector<std::string> accepted;
  for (const std::string& v : right) accepted.push_back(dotted(v));
  return {given.text[slot].empty() ? Errc::missing_qualifier : Errc::no_such_form, spell(s),
          given.text[slot].empty() ? std::string(spec.what)
                                   : fmt::format("the {} is .{}", spec.what, given.text[slot]),
          given.text[slot].empty() ? list(accepted, " or ")
                                   : "with the other qualifiers it can be " + list(accepted, " or ")};
}

Error no_form(const Statement& s, const Family& family, Target target, const Assignment& given) {
  for (std::size_t slot = 0; slot < given.text.size(); ++slot) {
    if (!family.slots[slot].required || !given.text[slot].empty()) continue;
    const std::vector<std::string> all = values(documented(family), slot);
    if (std::ranges::find(all, "") != all.end()) continue;  // of some forms
    std::vector<std::string> accepted;
    for (const std::string& v : all) accepted.push_back("." + v);
    return {Errc::missing_qualifier, spell(s), std::string(family.slots[slot].what), list(accepted, " or ")};
  }
  Nearest best = nearest(family, target, given);
  // What only lacks words is nearer than what changes some.
  const auto changes = [&](const Form* form) {
    return !std::ranges::all_of(differences(*form, given),
                                [&](std::size_t slot) { return given.text[slot].empty(); });
  };
  const bool only_lacks = !std::ranges::all_of(best.forms, changes);
  if (only_lacks) std::erase_if(best.forms, changes);
  if (best.distance == 1 || only_lacks) return wrong_slot(s, family, given, best);
  std::vector<std::string> near;
  for (std::size_t i = 0; i < best.forms.size() && i < 3; ++i) near.push_back(best.forms[i]->canonical);
  return {Errc::no_such_form, spell(s),
          fmt::format("{} of its qualifiers do not fit the others", best.distance),
          "nearest is " + list(near, " or ")};
}

// Whether an operand may be of this kind, as its brackets and braces say.
bool may_be(const OperandText& text, OperandKind kind) {
  switch (kind) {
    case OperandKind::vector:
    case OperandKind::pair: return text.kind == OperandText::Kind::vector;
    case OperandKind::address: return text.kind == OperandText::Kind::address;
    case OperandKind::scalar: return text.kind != OperandText::Kind::address;  // metadata also in braces
    default: return text.kind == OperandText::Kind::name || text.kind == OperandText::Kind::literal;
  }
}

// Of forms with the same qualifiers, the one whose operands the statement has: as many as possible of the right kind, then in
// the right number. A bare form is the first one.
const Form* with_operands_of(const Statement& statement, const Family& family, const Form* first) {
  const auto fit = [&](const Form& form) {
    const std::size_t given = statement.operands.size(), wanted = form.operands.size();
    std::size_t right = 0;
    while (right < std::min(given, wanted) && may_be(statement.operands[right], form.operands[right].kind))
      ++right;
    return std::pair(right, given == wanted);
  };
  const Form *best = first, *last = &family.forms.back();
  if (statement.operands.empty()) return best;
  for (const Form* form = first; form != last && form[1].qualifiers == first->qualifiers; ++form)
    if (fit(form[1]) > fit(*best)) best = form + 1;
  return best;
}

// " with scale_input_d": the last operand that the first form of the same text has not.
std::string operand_of(const Form& form, const Form& first) {
  for (auto at = form.operands.rbegin();
       form.operands.size() > first.operands.size() && at != form.operands.rend(); ++at)
    if (std::ranges::find(first.operands, at->role, &OperandSpec::role) == first.operands.end())
      return fmt::format(" with {}", at->role);
  return "";
}

// The form that results if required qualifiers that the assembler does not require are added, or nullptr.
const Form* lenient_form(const Family& family, const Assignment& given) {
  const auto fits = [&](const Form& form) {
    return std::ranges::all_of(differences(form, given), [&](std::size_t slot) {
      return family.slots[slot].assembler_optional && given.text[slot].empty();
    });
  };
  const auto form = std::ranges::find_if(family.forms, fits);
  return form == family.forms.end() ? nullptr : &*form;
}

// The first form with a statement's qualifiers.
Result<const Form*> form_of(const Statement& statement, const Family& family, const Index& index,
                            Target target) {
  // Most are written as the table has them.
  if (const auto found = index.forms.find(spell(statement)); found != index.forms.end()) return found->second;
  const Result<Assignment> given = assign(statement, family, index);
  if (!given) return given.error();
  if (const auto found = index.forms.find(spell(family.opcode, given->text)); found != index.forms.end())
    return found->second;
  const Form* lenient = lenient_form(family, *given);
  if (lenient == nullptr) return no_form(statement, family, target, *given);
  const std::size_t slot = differences(*lenient, *given).front();
  return Error{Errc::undocumented_form, spell(statement),
               fmt::format(".{} omitted, which ptxas 13.0 does not reject", lenient->qualifiers[slot]),
               lenient->canonical};
}

}  // namespace

Result<const Form*> match(const Statement& statement, const Family& family, Target target) {
  const Index& index = index_of(family);
  const Result<const Form*> first = form_of(statement, family, index, target);
  if (!first) return first.error();
  // Forms with the same text differ in their operands; they are adjacent.
  const Form* form = with_operands_of(statement, family, *first);
  const auto named = [&] { return form->canonical + operand_of(*form, **first); };
  if (!form->undocumented.empty()) {
    const Nearest best = nearest(family, target, *assign(statement, family, index));
    return Error{Errc::undocumented_form, named(), std::string(form->undocumented),
                 best.forms.front()->canonical};
  }
  if (!target.row().features.has(form->needs))
    return Error{Errc::not_on_target, named(), std::string(target.name()), names(targets_of(*form))};
  if (!target.row().features.has(form->known))
    return Error{Errc::not_modelled, form->canonical, std::string(target.name()), names(targets_of(*form))};
  return form;
}

}  // namespace warpbit
