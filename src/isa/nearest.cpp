// SPDX-License-Identifier: Apache-2.0
// Finds the forms nearest to a mistyped one.
#include <algorithm>
#include <limits>
#include <numeric>  // std::iota
#include <unordered_map>
#include <utility>
#include <vector>

#include "isa/form.hpp"
#include "isa/short_form.hpp"
#include "isa/statement.hpp"
#include "numeric/format_names.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit {
namespace {

// Costs of differences. A replaced qualifier costs less than an extra one, depending on similarity. A missing
// one costs least, since people often stop typing early.
constexpr int kExtra = 10, kMissing = 6, kLeastReplacement = 2, kOpcode = 150, kOtherTarget = 10;

// Levenshtein's distance in percent of the longer word.
int difference(std::string_view x, std::string_view y) {
  if (x == y) return 0;
  std::vector<std::size_t> row(y.size() + 1);
  for (std::size_t j = 0; j <= y.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < y.size(); ++j) {
      const std::size_t replaced = diagonal + (x[i] != y[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return static_cast<int>(100 * row.back() / std::max(x.size(), y.size()));
}

int replacement(std::string_view given, std::string_view right) {
  return kLeastReplacement + (kExtra + kMissing - kLeastReplacement) * difference(given, right) / 100;
}

// The cost of replacing each given word by a word of a form; 0 for the same word.
class Costs {
 public:
  explicit Costs(const Statement& given) : given_(given.qualifiers) {}

  std::size_t count() const { return given_.size(); }
  std::string_view given(std::size_t i) const { return given_[i]; }
  const std::vector<int>& of(std::string_view right) {
    const auto [row, is_new] = rows_.try_emplace(right);
    if (is_new)
      for (const std::string_view word : given_)
        row->second.push_back(word == right ? 0 : replacement(word, right));
    return row->second;
  }

 private:
  std::vector<std::string_view> given_;
  std::unordered_map<std::string_view, std::vector<int>> rows_;  // keyed by the word of a form
};

struct Candidate {
  const Form* form;
  int of_given;  // cost of the given words
  int cost;      // total cost
  int moved;     // words in other positions
};

// What the given words cost at least: those that are too many for the form.
int least_cost(const Costs& costs, const Form& form) {
  const auto given = static_cast<int>(costs.count()), right = static_cast<int>(form.qualifiers.size());
  return kExtra * std::max(given - right, 0);
}

// Pairs the most similar words, in any order.
Candidate compared(Costs& costs, const Form& form) {
  Candidate out{&form, 0, 0, 0};
  std::vector<const std::vector<int>*> right;
  for (const std::string& q : form.qualifiers) {
    if (q.empty()) continue;
    if (right.size() < costs.count()) out.moved += costs.given(right.size()) != q;
    right.push_back(&costs.of(q));
  }
  std::vector<std::size_t> left(costs.count());
  std::iota(left.begin(), left.end(), std::size_t{0});
  while (!left.empty() && !right.empty()) {
    int best = std::numeric_limits<int>::max();
    std::size_t from = 0, to = 0;
    for (std::size_t x = 0; x < left.size() && best > 0; ++x)
      for (std::size_t y = 0; y < right.size() && best > 0; ++y)
        if (const int cost = (*right[y])[left[x]]; cost < best) {
          best = cost;
          from = x;
          to = y;
        }
    out.of_given += best;
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(from));
    right.erase(right.begin() + static_cast<std::ptrdiff_t>(to));
  }
  out.of_given += kExtra * static_cast<int>(left.size());
  out.cost = out.of_given + kMissing * static_cast<int>(right.size());
  return out;
}

// With the names of PTX for those that people use, and the opcode of a shape alone. Whether names have changed.
bool name_as_ptx(Statement& text) {
  bool changes = false;
  for (std::string_view& word : text.qualifiers)
    if (const auto called = formats_called(word); !called.empty()) word = called[0], changes = true;
  if (looks_like_shape(text.opcode)) {
    text.qualifiers.insert(text.qualifiers.begin(), text.opcode);
    text.opcode = opcode_of_shape(text.opcode);
  }
  return changes;
}

// The form that a text is short for, if it is for one.
std::vector<std::string> form_of_short(const Statement& text, std::optional<Target> target) {
  const std::string spelled = spell(text);
  const Result<std::string> full = full_form(spelled, target);
  return full && *full != spelled ? std::vector{*full} : std::vector<std::string>();
}

}  // namespace

std::vector<std::string> nearest_forms(std::string_view text, std::optional<Target> target, std::size_t most) {
  Result<Statement> given = split_name(text);
  if (!given) return {};
  const bool has_names = name_as_ptx(*given);
  Costs costs(*given);
  std::vector<Candidate> all;
  const int tolerated = kExtra / 2 * static_cast<int>(given->qualifiers.size() + 1);
  for (const Family* family : families_near(*given)) {
    const int opcode = difference(given->opcode, family->opcode);
    if (opcode > 50) continue;
    for (const Form& form : family->forms) {
      if (!form.undocumented.empty() || least_cost(costs, form) > tolerated) continue;
      Candidate candidate = compared(costs, form);
      if (candidate.of_given > tolerated) continue;
      const bool elsewhere = target && !target->row().features.has(form.needs | form.known);
      candidate.cost += kOpcode * opcode / 100 + (elsewhere ? kOtherTarget : 0);
      all.push_back(candidate);
    }
  }
  std::ranges::stable_sort(all, {}, [](const Candidate& c) { return std::pair(c.cost, c.moved); });
  std::vector<std::string> out =
      has_names && most > 0 ? form_of_short(*given, target) : std::vector<std::string>();
  for (auto at = all.begin(); at != all.end() && out.size() < most; ++at)
    if (std::ranges::find(out, at->form->canonical) == out.end()) out.push_back(at->form->canonical);
  return out;
}

}  // namespace warpbit
