// SPDX-License-Identifier: Apache-2.0
#include "ptx/refusal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>
#include <string>

#include "isa/statement.hpp"
#include "numeric/format_names.hpp"
#include "numeric/formats.hpp"
#include "ptx/forms.hpp"
#include "ptx/rows/opcodes.hpp"
#include "warpbit/detail/letters.hpp"

namespace warpbit::ptx {
namespace {

// ---- Words for words

struct WordKind {
  std::string_view name, words;
  bool is_sure = false;  ///< the writer means it: what disagrees with it is wrong
};
constexpr WordKind kWordKinds[] = {
    {"integer rounding", "rni rzi rmi rpi"},
    {"rounding", "rn rz rm rp rna rs approx full"},
    {"part of the product", "lo hi wide"},
    {"comparison", "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan"},
    {"scope", "cta cluster gpu sys"},
    {"order of memory", "relaxed acquire release acq_rel sc weak volatile"},
    {"state space", "const local param param::entry param::func global shared shared::cta shared::cluster"},
    {"number of elements", "v2 v4 v8"},
    {"number of dimensions", "1d 2d 3d 4d 5d"},
    {"operation", "add sub and or xor exch inc dec min max cas popc any all uni ballot up down bfly idx", true},
    {"kind of fence", "mbarrier_init proxy", true},
};

// What all of these are; "qualifier" if they have no name together.
std::string_view kind_of(const Words& words) {
  if (std::ranges::all_of(words, [](std::string_view word) { return find_type(word).has_value(); }))
    return "type";
  for (const WordKind& kind : kWordKinds)
    if (std::ranges::all_of(words, [&](std::string_view word) { return has_word(kind.words, word); }))
      return kind.name;
  return "qualifier";
}

bool is_sure(std::string_view word) {
  return std::ranges::any_of(kWordKinds,
                             [&](const WordKind& kind) { return kind.is_sure && has_word(kind.words, word); });
}

// What a word is that another takes the place of: .lo is a comparison where .lt is.
std::string_view kind_of(const Words& words, const Words& instead) {
  Words both = words;
  both.insert(both.end(), instead.begin(), instead.end());
  const std::string_view common = kind_of(both);
  return common == "qualifier" ? kind_of(words) : common;
}

constexpr std::size_t kMost = 16;  // that a message lists

// ".a, .b or .c"
std::string list(const Words& words) {
  std::string out;
  for (std::size_t i = 0; i < std::min(words.size(), kMost); ++i)
    out += fmt::format("{}.{}", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  return words.size() > kMost ? out + ", ..." : out;
}

std::string dotted(const Words& words) {
  return words.empty() ? "none" : fmt::format(".{}", fmt::join(words, "."));
}

void add(Words& to, std::string_view word) {
  if (std::ranges::find(to, word) == to.end()) to.push_back(word);
}

// ---- Changes

/// A form and how it differs from the words that are given.
struct Change {
  Words words;             ///< of the form, in its order
  Words missing, surplus;  ///< that must come, and go
  int cost = 0;
};

// A missing word is less than a surplus one; a type is surer than most words, an operation than its type.
constexpr int kMissing = 4, kMissingType = 6, kSurplus = 5, kSurplusType = 9, kSurplusSure = 12, kUnknown = 2,
              kElsewhere = 1;

constexpr std::size_t kMostWords = 32;  // of a form, and more; the bits of Nearest::Taken

/// The nearest forms of an opcode.
class Nearest {
 public:
  Nearest(std::string_view opcode, std::span<const std::string_view> words, Target target) : given_(words) {
    for (const ScalarForm* form : forms_of(opcode))
      for (const std::string_view word : form->words) add(known_, word);
    struct Begin {
      const ScalarForm* form;
      Change change;
    };
    std::vector<Begin> begins;  // each with the words that are none of the form
    for (const ScalarForm* form : forms_of(opcode)) {
      Change change;
      change.cost = target.row().features.has(form->row->needs) ? 0 : kElsewhere;
      for (const std::string_view word : words)
        if (!form->words.contains(word)) change.cost += surplus(word);
      begins.push_back({form, std::move(change)});
    }
    std::ranges::stable_sort(begins, {}, [](const Begin& one) { return one.change.cost; });
    for (Begin& one : begins) search(*one.form, 0, one.change, {});
  }
  /// Known ones that people call so, or that a slip of two letters makes of it.
  Words near_words(std::string_view word) const {
    Words out;
    std::ranges::copy_if(formats_called(word), std::back_inserter(out),
                         [&](std::string_view called) { return is_known(called); });
    if (!out.empty()) return out;
    std::ranges::copy_if(known_, std::back_inserter(out), [&](std::string_view known) {
      return std::min(word.size(), known.size()) > 4 && letters_apart(word, known) <= 2;
    });
    return out;
  }
  bool is_known(std::string_view word) const { return std::ranges::find(known_, word) != known_.end(); }

  std::vector<Change> best = {};

 private:
  /// The words that a form has taken, and the place behind the last type of them.
  struct Taken {
    std::uint32_t words = 0;  ///< a bit each
    std::size_t types = 0;
  };
  void search(const ScalarForm& form, std::size_t slot, Change& change, Taken taken);
  void take(std::string_view word, Change& change, Taken& taken);
  void finish(const ScalarForm& form, Change change, Taken taken);
  int surplus(std::string_view word) const {
    return !is_known(word)   ? kUnknown
           : find_type(word) ? kSurplusType
           : is_sure(word)   ? kSurplusSure
                             : kSurplus;
  }

  std::span<const std::string_view> given_;
  Words known_ = {};
  int cost_ = std::numeric_limits<int>::max();
};

void Nearest::search(const ScalarForm& form, std::size_t slot, Change& change, Taken taken) {
  if (change.cost > cost_) return;
  if (slot == form.slots.size()) return finish(form, change, taken);
  const std::size_t words = change.words.size(), missing = change.missing.size();
  const int cost = change.cost;
  for (const Words& alternative : form.slots[slot]) {
    Taken next = taken;
    for (const std::string_view word : alternative) take(word, change, next);
    search(form, slot + 1, change, next);
    change.words.resize(words);
    change.missing.resize(missing);
    change.cost = cost;
  }
}

// Types keep their order; other words may stand anywhere.
void Nearest::take(std::string_view word, Change& change, Taken& taken) {
  const bool is_type = find_type(word).has_value();
  std::size_t at = is_type ? taken.types : 0;
  while (at < given_.size() && ((taken.words >> at & 1) != 0 || given_[at] != word)) ++at;
  change.words.push_back(word);
  if (at < given_.size()) {
    taken.words |= std::uint32_t{1} << at;
    if (is_type) taken.types = at + 1;
  } else {
    change.missing.push_back(word);
    change.cost += is_type ? kMissingType : kMissing;
  }
}

void Nearest::finish(const ScalarForm& form, Change change, Taken taken) {
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if ((taken.words >> i & 1) != 0) continue;
    change.surplus.push_back(given_[i]);
    if (form.words.contains(given_[i])) change.cost += surplus(given_[i]);
  }
  if (change.cost > cost_) return;
  if (change.cost < cost_) best.clear();
  cost_ = change.cost;
  best.push_back(std::move(change));
}

// ---- Sentences

/// What an instruction asks for beside a word that is missing.
struct Remark {
  Does does;
  std::string_view word, text;
};
constexpr std::string_view kMask =
    ", which must be there since PTX 6.4, and with it the mask of lanes as the last operand";
constexpr Remark kRemarks[] = {{Does::shuffle, "sync", kMask}, {Does::vote, "sync", kMask}};

std::string_view remark(std::string_view opcode, std::string_view word) {
  for (const Remark& one : kRemarks)
    if (one.does == ptx::opcode(opcode).does && one.word == word) return one.text;
  return "";
}

// Why a conversion does not round.
std::string exact(std::string_view opcode, const Change& change) {
  Words types;
  for (const std::string_view word : change.words)
    if (find_type(word)) types.push_back(word);
  if (ptx::opcode(opcode).does != Does::convert || types.size() != 2 ||
      !kind_of(change.surplus).ends_with("rounding"))
    return "";
  const bool floats = is_floating(*find_type(types[0])) && is_floating(*find_type(types[1]));
  return floats ? fmt::format(": {} to {} is exact", types[1], types[0]) : ": integers are not rounded";
}

std::string spelled_forms(std::string_view opcode, const std::vector<Change>& changes) {
  std::vector<std::string> out;
  for (const Change& change : changes) {
    std::string form = warpbit::spell(opcode, change.words);
    if (std::ranges::find(out, form) == out.end()) out.push_back(std::move(form));
  }
  if (out.size() > 3) out.resize(3);
  return fmt::format("{}", fmt::join(out, " or "));
}

// All changes say which words come and go where the first one does.
Error refusal(std::string_view opcode, std::string spelled, const std::vector<Change>& best,
              const Nearest& nearest) {
  const Change& first = best.front();
  Words coming;  // one each
  for (const Change& change : best)
    if (change.missing.size() == 1 && change.surplus == first.surplus) add(coming, change.missing[0]);
  const bool is_one = first.missing.size() == 1 && !coming.empty();
  if (!first.surplus.empty()) {
    const std::string_view gone = first.surplus[0];
    if (!nearest.is_known(gone)) {
      const Words near = nearest.near_words(gone);
      return {Errc::unknown_qualifier, std::move(spelled), std::string(gone),
              !near.empty() ? list(near)
              : is_one      ? list(coming)
                            : fmt::format("none there: {}", spelled_forms(opcode, best))};
    }
    if (!first.missing.empty())
      return {Errc::no_such_form, std::move(spelled),
              fmt::format("the {} is {}", kind_of(first.surplus, coming), dotted(first.surplus)),
              is_one ? fmt::format("with the other qualifiers it can be {}", list(coming))
                     : fmt::format("nearest is {}", spelled_forms(opcode, best))};
    return {
        Errc::surplus_qualifier, std::move(spelled),
        fmt::format("the {} {} must go{}", kind_of(first.surplus), dotted(first.surplus), exact(opcode, first)),
        spelled_forms(opcode, best)};
  }
  if (first.missing.empty())
    return {Errc::qualifier_order, std::move(spelled), "its qualifiers stand in another order",
            spelled_forms(opcode, best)};
  if (is_one && coming.size() > 1)
    return {Errc::missing_qualifier, std::move(spelled), std::string(kind_of(coming)), list(coming)};
  return {Errc::missing_qualifier, std::move(spelled), fmt::format("qualifier {}", dotted(first.missing)),
          fmt::format("{}{}", spelled_forms(opcode, best), remark(opcode, first.missing[0]))};
}

// 0: the text is right but for its operands or its target.
int distance(Errc code) {
  switch (code) {
    case Errc::missing_qualifier:
    case Errc::surplus_qualifier:
    case Errc::repeated_qualifier:
    case Errc::qualifier_order: return 1;
    case Errc::no_such_form: return 2;
    case Errc::unknown_qualifier: return 3;
    case Errc::unknown_instruction: return 4;
    default: return 0;
  }
}

}  // namespace

Error no_form(std::string_view opcode, std::span<const std::string_view> words, Target target) {
  if (words.size() > kMostWords)
    return {Errc::no_such_form, warpbit::spell(opcode, words.first(kMostWords)) + "...",
            fmt::format("it has {} qualifiers", words.size()),
            fmt::format("no form has more than {}", kMostWords)};
  const std::string_view undescribed = ptx::opcode(opcode).undescribed;
  if (std::ranges::any_of(words, [&](std::string_view word) { return has_word(undescribed, word); }))
    return {Errc::instruction_not_modelled,
            warpbit::spell(opcode, words),
            "no document says which operands it has",
            {}};
  const Nearest nearest(opcode, words, target);
  return refusal(opcode, warpbit::spell(opcode, words), nearest.best, nearest);
}

const Error& nearer(const Error& scalar, const Error& tensor) {
  return distance(tensor.code) < distance(scalar.code) ? tensor : scalar;
}

}  // namespace warpbit::ptx
