// SPDX-License-Identifier: Apache-2.0
// The notation of orders of a sum: one row for each word.
#include "warpbit/gemm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "numeric/formats.hpp"

namespace warpbit {
namespace {

template <class T>
bool read_number(std::string_view text, T& to) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

// "1024:512"
bool read_list(std::string_view text, std::vector<std::size_t>& to) {
  to.clear();
  while (true) {
    const std::size_t end = std::min(text.find(':'), text.size());
    if (!read_number(text.substr(0, end), to.emplace_back())) return false;
    if (end == text.size()) return true;
    text.remove_prefix(end + 1);
  }
}
std::string list_text(const std::vector<std::size_t>& list) {
  return fmt::format("{}", fmt::join(list, ":"));
}

bool read_format(std::string_view text, std::string& to) {
  const Format* found = find_format(text);
  if (found == nullptr || found->bits < 16 || found->is_integer || found->ignored_low != 0) return false;
  to = found->name;
  return true;
}

// Names of the values of an enumeration or a choice, the default first.
template <class Enum>
struct Name {
  std::string_view name;
  Enum value;
};
constexpr Name<Spread> kSpreads[] = {{"up", Spread::up},     {"first", Spread::first},
                                     {"last", Spread::last}, {"down", Spread::down},
                                     {"cut", Spread::cut},   {"turns", Spread::turns}};
constexpr Name<MergeOrder> kMergeOrders[] = {
    {"ascending", MergeOrder::ascending}, {"descending", MergeOrder::descending},
    {"pairs", MergeOrder::pairs},         {"halves", MergeOrder::halves},
    {"tree", MergeOrder::tree},           {"fours", MergeOrder::fours}};
constexpr Name<SliceOrder> kSliceOrders[] = {{"", SliceOrder::ascending},
                                             {"halves", SliceOrder::halves},
                                             {"pair_halves", SliceOrder::pair_halves},
                                             {"pairs", SliceOrder::pairs}};
constexpr Name<FusedScaling> kFused[] = {
    {"alpha", FusedScaling::alpha}, {"beta", FusedScaling::beta}, {"none", FusedScaling::none}};
constexpr Name<FactorOrder> kFactorOrders[] = {
    {"ab", FactorOrder::together}, {"a", FactorOrder::a_first}, {"b", FactorOrder::b_first}};
constexpr Name<Tf32Rounding> kTf32[] = {
    {"rz", Tf32Rounding::cut}, {"rn", Tf32Rounding::nearest_even}, {"rna", Tf32Rounding::nearest_away}};
constexpr Name<bool> kScales[] = {{"each", false}, {"last", true}};
constexpr Name<bool> kPlacesOfC[] = {{"first", false}, {"last", true}};
constexpr Name<Rounding> kRoundings[] = {{"rn", Rounding::nearest_even},
                                         {"rz", Rounding::toward_zero},
                                         {"rm", Rounding::down},
                                         {"rp", Rounding::up},
                                         {"rna", Rounding::nearest_away}};

template <class Enum, std::size_t kCount>
bool read_name(const Name<Enum> (&names)[kCount], std::string_view text, Enum& to) {
  const auto* found = std::ranges::find(names, text, &Name<Enum>::name);
  if (found == std::end(names)) return false;
  to = found->value;
  return true;
}
// Nothing for the default.
template <class Enum, std::size_t kCount>
std::string name_text(const Name<Enum> (&names)[kCount], Enum value) {
  return value == names[0].value ? std::string()
                                 : std::string(std::ranges::find(names, value, &Name<Enum>::value)->name);
}

struct Word {
  SumOrderWord shown;
  bool (*read)(SumOrder& to, std::string_view value);
  std::string (*write)(const SumOrder& from);  // nothing for the default
};

bool read_steps(SumOrder& to, std::string_view value) {
  to.k_order.clear();
  to.descending = value == "descending";
  return to.descending || value == "ascending" || read_list(value, to.k_order);
}
std::string steps_text(const SumOrder& from) {
  return from.descending ? "descending" : list_text(from.k_order);
}

// "32x4:halves"
bool read_slices(SumOrder& to, std::string_view value) {
  const std::size_t colon = std::min(value.find(':'), value.size());
  if (colon < value.size() &&
      (colon + 1 == value.size() || !read_name(kSliceOrders, value.substr(colon + 1), to.slice_order)))
    return false;
  value = value.substr(0, colon);
  const std::size_t x = std::min(value.find('x'), value.size());
  return x < value.size() && read_number(value.substr(0, x), to.slices) &&
         read_number(value.substr(x + 1), to.slice_width);
}

std::string slices_text(const SumOrder& from) {
  if (from.slices == 1) return "";
  const std::string by = name_text(kSliceOrders, from.slice_order);
  return fmt::format("{}x{}{}{}", from.slices, from.slice_width, by.empty() ? "" : ":", by);
}

bool read_runs(SumOrder& to, std::string_view value) {
  return read_list(value, to.runs);
}
std::string runs_text(const SumOrder& from) {
  return list_text(from.runs);
}

bool read_promotion(SumOrder& to, std::string_view value) {
  const std::size_t colon = std::min(value.find(':'), value.size());
  return read_number(value.substr(0, colon), to.promote) &&
         (colon == value.size() || read_format(value.substr(colon + 1), to.promote_format));
}
std::string promotion_text(const SumOrder& from) {
  if (from.promote == 0) return "";
  return fmt::format("{}{}{}", from.promote, from.promote_format.empty() ? "" : ":", from.promote_format);
}

bool read_store(SumOrder& to, std::string_view value) {
  const std::size_t colon = std::min(value.find(':'), value.size());
  return read_format(value.substr(0, colon), to.store) &&
         (colon == value.size() || read_name(kRoundings, value.substr(colon + 1), to.store_rounding));
}
std::string store_text(const SumOrder& from) {
  const std::string rounding = name_text(kRoundings, from.store_rounding);
  return from.store + (rounding.empty() ? "" : ":") + rounding;
}

// What a word with a member of SumOrder reads and writes.
template <auto kMember>
bool read_number_of(SumOrder& to, std::string_view value) {
  return read_number(value, to.*kMember);
}
template <auto kMember, std::size_t kUsual = 0>
std::string number_of(const SumOrder& from) {
  return from.*kMember == kUsual ? std::string() : std::to_string(from.*kMember);
}
template <auto kMember>
std::string factor_of(const SumOrder& from) {
  return from.*kMember == 1 ? std::string() : fmt::format("{}", from.*kMember);
}
template <auto kMember>
bool read_format_of(SumOrder& to, std::string_view value) {
  return read_format(value, to.*kMember);
}
template <auto kMember>
std::string format_of(const SumOrder& from) {
  return from.*kMember;
}
template <const auto& kNames, auto kMember>
bool read_name_of(SumOrder& to, std::string_view value) {
  return read_name(kNames, value, to.*kMember);
}
template <const auto& kNames, auto kMember>
std::string name_of(const SumOrder& from) {
  return name_text(kNames, from.*kMember);
}

using O = SumOrder;
constexpr Word kWords[] = {
    {{"", "ascending, descending, 1:0:3:2", "the order of the instruction's steps, before K is cut into runs"},
     read_steps,
     steps_text},
    {{"omit", "64", "the last (K mod this) values are left out of the sum"},
     read_number_of<&O::omit>,
     number_of<&O::omit>},
    {{"tf32", "rn, rna, rz", "how f32 operands become tf32; rz, cut off, unless given"},
     read_name_of<kTf32, &O::tf32>,
     name_of<kTf32, &O::tf32>},
    {{"split_k", "4", "the maximum number of runs, each summed on accumulators of its own"},
     read_number_of<&O::split_k>,
     number_of<&O::split_k, 1>},
    {{"unit", "64", "runs have multiples of this many values of K; the depth of the instruction unless given"},
     read_number_of<&O::unit>,
     number_of<&O::unit>},
    {{"spread", "up, first, last, down, cut, turns",
      "where units do not divide evenly: rounded up (unless given), one more for the first or the last runs, "
      "rounded down and all the rest in the last run; cut: K / runs, rounded down, and that up to units, which may "
      "leave values out; turns: runs take a unit each by turns"},
     read_name_of<kSpreads, &O::spread>,
     name_of<kSpreads, &O::spread>},
    {{"runs", "1024:1024:512", "the length of each run, instead of split_k"}, read_runs, runs_text},
    {{"short_first", "32", "in each run the (length mod this) values come first, not last"},
     read_number_of<&O::short_first>,
     number_of<&O::short_first>},
    {{"sliced", "2x32, 32x4:halves, 256x1:pair_halves, 8x1:pairs",
      "so many accumulators in a run take so many values by turns, and are added in the end, ascending; halves: as "
      "threads exchange sums, each with the one half of them further on; pair_halves: the same of sums of two neighbours; "
      "pairs: (0+1)+(2+3), as NumPy's sum"},
     read_slices,
     slices_text},
    {{"promote", "128, 128:f32",
      "after so many values the accumulators are added to outer ones of that format (f32 unless given)"},
     read_promotion,
     promotion_text},
    {{"scales", "each, last", "a_scale and b_scale are of each promotion, or of whole rows and columns"},
     read_name_of<kScales, &O::scales_last>,
     name_of<kScales, &O::scales_last>},
    {{"scale_order", "ab, a, b",
      "by which scale factor the sum is multiplied first; by their product unless given"},
     read_name_of<kFactorOrders, &O::scale_order>,
     name_of<kFactorOrders, &O::scale_order>},
    {{"partials", "f16", "the sums of runs are rounded to this format before they are merged"},
     read_format_of<&O::partials>,
     format_of<&O::partials>},
    {{"merge", "f16", "the running sum of runs has this format"},
     read_format_of<&O::merge>,
     format_of<&O::merge>},
    {{"merge_order", "ascending, descending, pairs, halves, tree, fours",
      "the order in which the sums of runs are added: pairs (0+1)+(2+3), halves (0+2)+(1+3), tree 0+(1+2), fours "
      "(0+4+8)+(1+5)+(2+6)+(3+7)"},
     read_name_of<kMergeOrders, &O::merge_order>,
     name_of<kMergeOrders, &O::merge_order>},
    {{"c", "first, last", "accumulators start at C, or alpha sum + beta C"},
     read_name_of<kPlacesOfC, &O::c_last>,
     name_of<kPlacesOfC, &O::c_last>},
    {{"alpha", "0.5", "the factor of the sum, in f32"}, read_number_of<&O::alpha>, factor_of<&O::alpha>},
    {{"beta", "2", "the factor of C, in f32"}, read_number_of<&O::beta>, factor_of<&O::beta>},
    {{"fused", "alpha, beta, none",
      "which of the two products is not rounded before they are added; alpha's unless given"},
     read_name_of<kFused, &O::fused>,
     name_of<kFused, &O::fused>},
    {{"between", "f16", "alpha sum is rounded to this format before C is added"},
     read_format_of<&O::between>,
     format_of<&O::between>},
    {{"store", "f16, f16:rz", "the format of D, and the rounding to it (rn unless given)"},
     read_store,
     store_text},
};

// "descending+split_k=2 unit=64" as words: a + before a letter separates, too.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  std::size_t first = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const bool is_end = i == text.size() || text[i] == ' ' || text[i] == '\t' || text[i] == '\n' ||
                        (text[i] == '+' && i + 1 < text.size() && is_letter(text[i + 1]));
    if (!is_end) continue;
    if (i > first) out.push_back(text.substr(first, i - first));
    first = i + 1;
  }
  return out;
}

// The values that a word takes, or the names of all words.
std::string accepted(const Word* word) {
  if (word != nullptr && !word->shown.name.empty())
    return fmt::format("{}={}", word->shown.name, word->shown.values);
  std::vector<std::string> names;
  for (const Word& w : kWords)
    names.push_back(w.shown.name.empty() ? std::string(w.shown.values) : std::string(w.shown.name) + "=");
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Result<SumOrder> SumOrder::parse(std::string_view text) {
  SumOrder out;
  std::vector<std::string_view> seen;
  const auto refused = [](std::string_view word, std::string_view why, const Word* row) {
    return Error{Errc::usage, "order of the sum", fmt::format("'{}'{}", word, why), accepted(row)};
  };
  const std::vector<std::string_view> words = words_of(text);
  if (words.empty()) return refused(text, "", nullptr);
  for (const std::string_view word : words) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = equals == word.size() ? "" : word.substr(0, equals);
    const Word* row = std::ranges::find(kWords, name, [](const Word& w) { return w.shown.name; });
    if (row == std::end(kWords) || (equals == 0 && !word.empty())) return refused(word, "", nullptr);
    if (std::ranges::find(seen, name) != seen.end()) return refused(word, ", a second one", row);
    seen.push_back(name);
    if (!row->read(out, name.empty() ? word : word.substr(equals + 1))) return refused(word, "", row);
  }
  return out;
}

std::string SumOrder::text() const {
  std::string out;
  for (const Word& word : kWords) {
    const std::string value = word.write(*this);
    if (value.empty()) continue;
    out += fmt::format("{}{}{}{}", out.empty() ? "" : " ", word.shown.name, word.shown.name.empty() ? "" : "=",
                       value);
  }
  return out.empty() ? "ascending" : out;
}

std::vector<SumOrderWord> sum_order_words() {
  std::vector<SumOrderWord> out;
  for (const Word& word : kWords) out.push_back(word.shown);
  return out;
}

}  // namespace warpbit
