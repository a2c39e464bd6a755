// SPDX-License-Identifier: Apache-2.0
#include "ptx/forms.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <iterator>
#include <string>
#include <unordered_map>

#include "isa/since.hpp"
#include "isa/statement.hpp"
#include "numeric/formats.hpp"
#include "numeric/words.hpp"
#include "ptx/refusal.hpp"
#include "ptx/rows/opcodes.hpp"

namespace warpbit::ptx {
namespace {

struct Forms {
  std::vector<ScalarForm> all;
  std::unordered_map<std::string_view, std::vector<const ScalarForm*>> by_opcode;
};
const Forms& forms() {
  static const Forms out = [] {
    Forms made;
    for (const Chapter& chapter : chapters())
      for (const FormRow& row : chapter.rows) made.all.push_back(take_apart(row, chapter));
    for (const ScalarForm& form : made.all)
      for (const std::string_view opcode : form.opcodes) made.by_opcode[opcode].push_back(&form);
    return made;
  }();
  return out;
}

// ---- Words against a row

bool starts_with(std::span<const std::string_view> words, const Words& first) {
  return words.size() >= first.size() && std::equal(first.begin(), first.end(), words.begin());
}

bool fits(const ScalarForm& form, std::size_t slot, std::span<const std::string_view> words) {
  if (slot == form.slots.size()) return words.empty();
  return std::ranges::any_of(form.slots[slot], [&](const Words& alternative) {
    return starts_with(words, alternative) && fits(form, slot + 1, words.subspan(alternative.size()));
  });
}

// Words that belong to an opcode: they stand before all others, in the order of the form.
struct FixedWords {
  std::string_view opcodes, words;
};
constexpr FixedWords kFixed[] = {
    {"mul mad madc mul24 mad24 dp2a", "lo hi wide"},
    {"shf", "l r"},
    {"cvta", "to"},
    {"cvt", "pack"},
    {"bar barrier", "cta arrive red warp cluster wait"},
    {"membar fence", "proxy"},
    {"createpolicy", "fractional range cvt"},
    {"cp", "async mbarrier arrive commit_group wait_group wait_all bulk tensor reduce prefetch"},
    {"applypriority", "async bulk tensor"},
    {"mbarrier",
     "init inval arrive arrive_drop expect_tx complete_tx test_wait try_wait parity pending_count check_layout"},
    {"st red", "async bulk"},
    {"tensormap", "replace cp_fenceproxy"},
    {"multimem", "ld_reduce st red cp reduce async bulk"},
    {"fabric", "try_get try_put try_red try_pullred submit wait async"},
    {"setmaxnreg", "inc dec"},
    {"suld sust sured", "b p"},
    {"clusterlaunchcontrol", "try_cancel async query_cancel"},
};

// The lists of an opcode's.
Words fixed_words(std::string_view opcode) {
  Words out;
  for (const FixedWords& one : kFixed)
    if (has_word(one.opcodes, opcode)) out.push_back(one.words);
  return out;
}

// Words of one of these classes keep their order among themselves.
enum class WordClass { free, type, space, eviction };
WordClass class_of(std::string_view word) {
  if (find_type(word)) return WordClass::type;
  if (word == "global" || word == "shared" || word.starts_with("shared::")) return WordClass::space;
  return word.starts_with("L2::evict") ? WordClass::eviction : WordClass::free;
}

/// The words of a statement, of which some slots of a form have taken theirs.
struct Taking {
  std::span<const std::string_view> fixed_words;  ///< of the opcode: lists
  std::span<const std::string_view> words;        ///< 64 at most
  std::uint64_t used = 0;                         ///< a bit each
  std::size_t fixed = 0;                          ///< that stand at the beginning

  bool is_used(std::size_t i) const { return (used >> i & 1) != 0; }
  bool use(std::size_t i) {
    used |= std::uint64_t{1} << i;
    return true;
  }
  bool take(std::string_view wanted) {
    if (std::ranges::any_of(fixed_words, [&](std::string_view list) { return has_word(list, wanted); })) {
      if (fixed == words.size() || words[fixed] != wanted || is_used(fixed)) return false;
      return use(fixed++);
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (is_used(i)) continue;
      if (words[i] == wanted) return use(i);
      if (const WordClass kind = class_of(words[i]); kind != WordClass::free && kind == class_of(wanted))
        return false;
    }
    return false;
  }
};

// The words in another order, as ptxas takes them and compilers write some (atom.shared.cta.add.u32).
bool fits_in_any_order(const ScalarForm& form, std::size_t slot, const Taking& taken) {
  if (slot == form.slots.size()) return std::popcount(taken.used) == static_cast<int>(taken.words.size());
  return std::ranges::any_of(form.slots[slot], [&](const Words& alternative) {
    Taking mine = taken;
    return std::ranges::all_of(alternative, [&](std::string_view word) { return mine.take(word); }) &&
           fits_in_any_order(form, slot + 1, mine);
  });
}

bool fits_in_any_order(const ScalarForm& form, std::string_view opcode,
                       std::span<const std::string_view> words) {
  return words.size() <= 64 &&
         std::ranges::all_of(words, [&](std::string_view word) { return form.words.contains(word); }) &&
         fits_in_any_order(form, 0, {fixed_words(opcode), words});
}

// Of words that ptxas takes twice; nothing if none is there twice.
std::optional<Words> without_repetition(std::span<const std::string_view> words) {
  Words out;
  for (const std::string_view word : words)
    if (!has_word("approx sat sync uni", word) || std::ranges::find(out, word) == out.end())
      out.push_back(word);
  if (out.size() == words.size()) return {};
  return out;
}

// Three coordinates of a texture, or a surface, are written as four.
void add_texture(std::span<const std::string_view> words, MatchedForm& out) {
  struct Row {
    std::string_view shape;
    int coordinates;
    bool has_layer;
  };
  constexpr Row kRows[] = {{"1d", 1, false}, {"2d", 2, false},   {"3d", 4, false},  {"a1d", 2, true},
                           {"a2d", 4, true}, {"cube", 4, false}, {"acube", 4, true}};
  for (const auto& [shape, coordinates, has_layer] : kRows)
    if (std::ranges::find(words, shape) != words.end()) {
      out.coordinates = coordinates;
      out.has_layer = has_layer;
    }
}

MatchedForm matched(const ScalarForm& form, std::span<const std::string_view> words, Features features) {
  MatchedForm out{&form, {}, 1, false, 0, 0, false, {}, features};
  const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  for (const std::string_view word : words) {
    if (const std::optional<Type> type = find_type(word)) out.types.push_back(*type);
    if (word == "v2" || word == "v4" || word == "v8") out.vector = word[1] - '0';
    if (has_word("1d 2d 3d 4d 5d", word)) out.coordinates = word[0] - '0';
    if (word == "and" || word == "or" || word == "xor") out.boolean = true;
  }
  if (std::ranges::any_of(form.operands,
                          [](const OperandForm& one) { return one.kind == OperandForm::Kind::texture; }))
    add_texture(words, out);
  const auto compressed = std::ranges::find(form.operands, 'C', &OperandForm::count_from);
  if (compressed != form.operands.end()) out.sizes = compression_sizes(compressed->is_destination(), words);
  out.offsets = has("im2col::w") || has("im2col::w::128") ? 2 : out.coordinates - 2;
  if (has("tile::gather4") || has("tile::scatter4")) out.coordinates = 5;  // a column and four rows
  return out;
}

}  // namespace

std::span<const ScalarForm> scalar_forms() {
  return forms().all;
}

std::span<const ScalarForm* const> forms_of(std::string_view opcode) {
  const auto rows = forms().by_opcode.find(opcode);
  if (rows == forms().by_opcode.end()) return {};
  return rows->second;
}

std::string_view why_not_executed(const ScalarForm& form) {
  if (form.row->kind == Kind::not_measured) return "its results have not been measured";
  if (form.row->kind != Kind::not_executed) return {};
  return form.row->not_executed.empty() ? opcode(form.opcodes.front()).not_modelled : form.row->not_executed;
}

Version since(const ScalarForm& form, std::span<const std::string_view> words) {
  Version out = form.since;
  for (const std::string_view word : words) {
    const auto own = std::ranges::find(form.later, word, &std::pair<std::string_view, Version>::first);
    out = std::max(out, own == form.later.end() ? warpbit::since(word) : own->second);
  }
  return out;
}

bool has_words(const ScalarForm& form, std::string_view opcode, std::span<const std::string_view> words) {
  return fits(form, 0, words) || fits_in_any_order(form, opcode, words);
}

int MatchedForm::count_of(const OperandForm& operand) const {
  switch (operand.count_from) {
    case 'M': return sizes.metadata;
    case 'C': return sizes.compressed;
    case 'D': return sizes.dense;
    default: return operand.count;
  }
}

Type MatchedForm::type_of(const OperandForm& operand) const {
  switch (operand.type_from) {
    case 'T': return types.back();
    case 'U':
    case 'V': return types[types.size() - 2];
    case 'W': return twice(types.back()).value();
    default: return operand.type;
  }
}

std::vector<MatchedForm> scalar_matches(std::string_view opcode, std::span<const std::string_view> words,
                                        Target target) {
  if (const std::optional<Words> once = without_repetition(words)) return scalar_matches(opcode, *once, target);
  std::vector<MatchedForm> out;
  const Features features = target.row().features;
  for (const ScalarForm* form : forms_of(opcode))
    if (features.has(form->row->needs) && has_words(*form, opcode, words))
      out.push_back(matched(*form, words, features));
  return out;
}

Result<std::vector<MatchedForm>> match_scalar(std::string_view opcode, std::span<const std::string_view> words,
                                              Target target) {
  const std::span<const ScalarForm* const> rows = forms_of(opcode);
  if (rows.empty()) return Error{Errc::unknown_instruction, {}, std::string(opcode), "those of the PTX manual"};
  if (const std::optional<Words> once = without_repetition(words)) return match_scalar(opcode, *once, target);
  std::vector<MatchedForm> out = scalar_matches(opcode, words, target);
  if (!out.empty()) return out;
  std::vector<const ScalarForm*> elsewhere;
  std::ranges::copy_if(rows, std::back_inserter(elsewhere),
                       [&](const ScalarForm* form) { return has_words(*form, opcode, words); });
  std::vector<Target> having;
  std::ranges::copy_if(Target::all(), std::back_inserter(having), [&](const Target one) {
    return std::ranges::any_of(
        elsewhere, [&](const ScalarForm* form) { return one.row().features.has(form->row->needs); });
  });
  if (having.empty()) return no_form(opcode, words, target);
  return Error{Errc::not_on_target, warpbit::spell(opcode, words), std::string(target.name()), names(having)};
}

}  // namespace warpbit::ptx
