// SPDX-License-Identifier: Apache-2.0
#include "ptx/evidence.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "numeric/formats.hpp"
#include "numeric/words.hpp"
#include "ptx/rows/opcodes.hpp"

namespace warpbit::ptx {
namespace {

// ---- What the manual leaves open

constexpr std::string_view kNaN = "the bits of a NaN", kNone = "no results are known";
constexpr std::string_view kWithinError = "all bits within an error";
using enum Kind;

// Strict: a row without something open has integers, moves and choices whose every bit the manual states. "PTX manual" means
// the page of the instruction.
constexpr KindRow kKinds[] = {
    // The manual bounds the error. The ten words: flash-attention#2263.
    {ex2, "", "ex2.approx", kWithinError, "ten words of a GB200 are equal (flash-attention#2263)"},
    {floats, "approx full", "other approximate functions", kWithinError,
     "tables of lg2, rcp, rsqrt, sin as of a chip of 2006 (envytools)"},

    // "Division by zero yields an unspecified, machine-specific value."
    {division, "", "integers: division", "a divisor of 0, and the least number by -1", kNone},
    // What the 8 bits of the manual are for 64-bit sources an H100 takes as 32 bits.
    {wide_fields, "", "integers: bit fields of 64 bits", "places and sizes from 256 on", kNone},
    {integer_edges, "", "integers: abs, fns, mul24, mad24", "the least number, a base over 31, bits over 24",
     kNone},
    {integers, "", "integers", "", ""},

    {floats, "ftz", "floats with .ftz", "the bits of a NaN, and what is flushed after rounding", kNone},
    {floats, "", "floats: arithmetic", kNaN, kNone},
    {narrow_floats, "", "floats of up to eight bits", kNaN, kNone},
    {extremes, "", "floats: min, max, abs, neg", kNaN, kNone},
    {halves_by_set, "", "comparisons of two halves by set", "where the two results lie", kNone},
    {comparisons, "", "comparisons, choices, signs", "", ""},

    {integers_to_integers, "", "cvt: integers", "", ""},
    // NaNs too: 0, or 2^(bits - 1) where a type has 64 bits.
    {floats_to_integers, "", "cvt: floats to integers", "", ""},
    {integers_to_floats, "f16", "cvt: integers to f16", "numbers over 65504", kNone},
    {integers_to_floats, "", "cvt: integers to f32, f64, bf16", "", ""},
    {floats_to_floats, "", "cvt: f16, bf16, f32, f64", kNaN, kNone},

    {logic, "", "logic, shifts, permutations", "", ""},
    // scalar/video.cpp says what it is.
    {video, "", "video instructions", "what the assembler makes of them",
     "ptxas 13.0 makes the same of 2,400 statements for sm_75 to sm_120"},
    {moves, "", "moves", "", ""},
    {decompressions, "", "spdecompress", "the order of elements in registers", kNone},
    {addresses, "", "addresses", "", ""},
    {policies, "", "cache policies", "the bits of a policy", kNone},
    {loads_and_stores, "", "loads and stores", "", ""},

    {atomics, "f16 f16x2 bf16 bf16x2 f32 f64", "atomics of floats", "the bits of a NaN, and what is flushed",
     kNone},
    {atomics, "", "atomics of integers and bits", "", ""},

    {textures, "", "textures", "filtering, and what lies outside", kNone},
    {surfaces, "", "surfaces", "what lies outside, and conversions to a format", kNone},
    {control, "", "control, hints", "", ""},
    {tensor_reductions, "", "tensor reductions", "rounding, NaNs, and what lies outside", kNone},
    {tensor_copies, "", "tensor copies", "what lies outside, and how a tile lies in memory", kNone},
    {bulk_reductions, "f16 bf16 f32 f64", "bulk reductions of floats", "rounding and NaNs", kNone},
    {bulk_reductions, "", "bulk reductions of integers", "", ""},
    {copies, "", "other copies", "", ""},
    {map_copies, "", "tensor maps: copies", "", ""},
    {map_changes, "", "tensor maps: changes", "the bytes of a map", kNone},

    // Which clusters are taken is no result of a form: launches say so (grid/freedom.cpp).
    {requests, "", "requests for clusters", "the bits of a response", kNone},

    {barrier_objects, "", "barrier objects", "", ""},
    {barrier_states, "", "barrier objects: states", "the bits of a state", kNone},
    {barriers, "", "barriers and fences", "", ""},
    {election, "", "elect.sync", "which lane is elected", kNone},
    {active_mask, "", "activemask", "which lanes are together", kNone},
    {exchanges, "", "shfl, vote, match, redux", "", ""},

    {assembler, "", "rules of the assembler", "which statements it changes", kNone},
};

const KindRow* row_of(Kind kind, std::span<const std::string_view> words) {
  const auto* const found = std::ranges::find_if(kKinds, [&](const KindRow& row) {
    const auto is_there = [&](std::string_view word) { return has_word(row.words, word); };
    return row.kind == kind && (row.words.empty() || std::ranges::any_of(words, is_there));
  });
  return found == std::end(kKinds) ? nullptr : found;
}

// ---- What was recorded

struct RecordedForm {
  std::string_view form, recording;
};
constexpr RecordedForm kRecorded[] = {
#include <recorded_forms.inc>
};

// Words that change no bit of a result; those of caches begin so.
constexpr std::string_view kOrders = "weak relaxed acquire release acq_rel volatile mmio cta cluster gpu sys",
                           kCaches = "nc ca cg cs lu cv wb wt";
bool is_neutral(std::string_view opcode, std::string_view word) {
  const Does does = ptx::opcode(opcode).does;
  if (word.starts_with("L1::") || (word.starts_with("L2::") && does != Does::policy)) return true;
  if (does == Does::copy)
    return has_word("ca cg tile mbarrier::report::disabled", word) || has_word(kOrders, word);
  if (does == Does::mbarrier && has_word("shared shared::cta", word)) return true;
  const bool has_cache =
      does == Does::load || does == Does::store || does == Does::surface_load || does == Does::surface_store;
  if (has_cache && has_word(kCaches, word)) return true;
  return (accesses_memory(does) || does == Does::mbarrier) && has_word(kOrders, word);
}

// Of all forms that have the same results: words in the order of the alphabet, then types in theirs.
std::string key_of(std::string_view opcode, std::span<const std::string_view> words) {
  std::vector<std::string_view> free, types;
  for (const std::string_view word : words) {
    if (is_neutral(opcode, word)) continue;
    (find_type(word) ? types : free).push_back(word == "shared::cta" ? "shared" : word);
  }
  std::ranges::sort(free);
  free.insert(free.end(), types.begin(), types.end());
  return fmt::format("{}.{}", opcode, fmt::join(free, "."));
}

const std::unordered_map<std::string, std::string_view>& recordings() {
  static const std::unordered_map<std::string, std::string_view> made = [] {
    std::unordered_map<std::string, std::string_view> out;
    for (const RecordedForm& one : kRecorded) {
      const std::vector<std::string_view> words = words_between(one.form, ".");
      out.try_emplace(key_of(words[0], std::span(words).subspan(1)), one.recording);
    }
    return out;
  }();
  return made;
}

}  // namespace

std::span<const KindRow> kinds() {
  return kKinds;
}

const KindRow* kind_of(const ScalarForm& form, std::span<const std::string_view> words) {
  return row_of(form.row->kind, words);
}

const KindRow* kind_of(std::string_view opcode, std::span<const std::string_view> words) {
  for (const ScalarForm* const form : forms_of(opcode))
    if (has_words(*form, opcode, words))
      if (const KindRow* const kind = kind_of(*form, words); kind != nullptr) return kind;
  return nullptr;
}

bool is_recorded(Target target) {
  return target.name() == "sm_90" || target.name() == "sm_90a";
}

std::string_view recording_of(std::string_view opcode, std::span<const std::string_view> words) {
  const auto found = recordings().find(key_of(opcode, words));
  return found == recordings().end() ? std::string_view() : found->second;
}

FormEvidence evidence(const KindRow* kind, std::string_view opcode, std::span<const std::string_view> words,
                      Target target) {
  const std::string_view recording = recording_of(opcode, words);
  const bool is_defined = kind != nullptr && kind->open.empty();
  const bool is_captured = is_recorded(target) && !recording.empty();
  return {is_captured ? Rests::captured : is_defined ? Rests::defined : Rests::inferred, kind, recording};
}

FormEvidence rule_evidence(std::string_view rule, Target target) {
  return evidence(row_of(assembler, {}), "assembler", std::span(&rule, 1), target);
}

void for_each_form(const ScalarForm& row,
                   const std::function<void(std::string_view, std::span<const std::string_view>)>& visit) {
  for (const std::string_view opcode : row.opcodes) {
    std::vector<std::vector<std::string_view>> forms = {{}};
    for (const auto& alternatives : row.slots) {
      std::vector<std::vector<std::string_view>> different;
      for (std::vector<std::string_view> words : alternatives) {
        std::erase_if(words, [&](std::string_view word) { return is_neutral(opcode, word); });
        if (std::ranges::find(different, words) == different.end()) different.push_back(std::move(words));
      }
      std::vector<std::vector<std::string_view>> longer;
      for (const std::vector<std::string_view>& form : forms)
        for (const std::vector<std::string_view>& words : different) {
          longer.push_back(form);
          longer.back().insert(longer.back().end(), words.begin(), words.end());
        }
      forms = std::move(longer);
    }
    for (const std::vector<std::string_view>& form : forms) visit(opcode, form);
  }
}

}  // namespace warpbit::ptx
