// SPDX-License-Identifier: Apache-2.0
#include "ptx/evidence.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <unordered_map>

namespace warpbit::ptx {
namespace {

// ---- What the manual leaves open

constexpr std::string_view kNaN = "the bits of a NaN", kNone = "no results are known";
constexpr std::string_view kWithinError = "all bits within an error";
using enum TypesOf;

// Strict: a row without something open has integers, moves and choices whose every bit the manual states. "PTX manual" means
// the page of the instruction.
constexpr Kind kKinds[] = {
    // The manual bounds the error. The ten words: flash-attention#2263.
    {"ex2.approx", "ex2", any, "approx", kWithinError, "ten words of a GB200 are equal (flash-attention#2263)"},
    {"other approximate functions", "lg2 rcp rsqrt sqrt sin cos tanh div", floats, "approx|full", kWithinError,
     "tables of lg2, rcp, rsqrt, sin as of a chip of 2006 (envytools)"},

    // "Division by zero yields an unspecified, machine-specific value."
    {"integers: division", "div rem", integers, "", "a divisor of 0, and the least number by -1", kNone},
    // What the 8 bits of the manual are for 64-bit sources an H100 takes as 32 bits.
    {"integers: bit fields of 64 bits", "bfe bfi", any, "u64|s64|b64", "places and sizes from 256 on", kNone},
    {"integers: abs, fns, mul24, mad24", "abs fns mul24 mad24", integers, "",
     "the least number, a base over 31, bits over 24", kNone},
    {"integers",
     "add sub mul mad addc subc madc sad min max neg popc clz bfind brev bfe bfi szext bmsk dp4a dp2a",
     integers, "", "", ""},

    {"floats with .ftz", "add sub mul fma mad div rcp sqrt", floats, "ftz",
     "the bits of a NaN, and what is flushed after rounding", kNone},
    {"floats: arithmetic", "add sub mul fma mad div rcp sqrt", floats, "", kNaN, kNone},
    {"floats: min, max, abs, neg", "min max abs neg", floats, "", kNaN, kNone},
    {"comparisons of two halves by set", "set", any, "f16x2|bf16x2", "where the two results lie", kNone},
    {"comparisons, choices, signs", "set setp selp slct testp copysign", any, "", "", ""},

    {"cvt: integers", "cvt", integers, "", "", ""},
    // NaNs too: 0, or 2^(bits - 1) where a type has 64 bits.
    {"cvt: floats to integers", "cvt", to_integers, "", "", ""},
    {"cvt: integers to f16", "cvt", from_integers, "f16", "numbers over 65504", kNone},
    {"cvt: integers to f32, f64, bf16", "cvt", from_integers, "", "", ""},
    {"cvt: f16, bf16, f32, f64", "cvt", floats, "", kNaN, kNone},

    {"logic, shifts, permutations", "and or xor not cnot lop3 shf shl shr prmt", any, "", "", ""},
    {"moves", "mov", any, "", "", ""},
    {"addresses", "cvta isspacep mapa getctarank alloca stacksave stackrestore", any, "", "", ""},
    {"cache policies", "createpolicy", any, "", "the bits of a policy", kNone},
    {"loads and stores", "ld ldu st", any, "", "", ""},

    {"atomics of floats", "atom red", floats, "add|min|max", "the bits of a NaN, and what is flushed", kNone},
    {"atomics of integers and bits", "atom red", any, "", "", ""},

    {"control, hints", "cp", any, "prefetch", "", ""},
    {"tensor reductions", "cp", any, "reduce tensor", "rounding, NaNs, and what lies outside", kNone},
    {"tensor copies", "cp", any, "tensor", "what lies outside, and how a tile lies in memory", kNone},
    {"bulk reductions of floats", "cp", any, "reduce f16|bf16|f32|f64", "rounding and NaNs", kNone},
    {"bulk reductions of integers", "cp", any, "reduce", "", ""},
    {"other copies", "cp", any, "", "", ""},
    {"tensor maps: copies", "tensormap", any, "cp_fenceproxy", "", ""},
    {"tensor maps: changes", "tensormap", any, "replace", "the bytes of a map", kNone},

    // Which clusters are taken is no result of a form: launches say so (grid/freedom.cpp).
    {"requests for clusters", "clusterlaunchcontrol", any, "", "the bits of a response", kNone},

    // One in another block gives no state.
    {"barrier objects", "mbarrier", any, "shared::cluster", "", ""},
    {"barrier objects: states", "mbarrier", any, "arrive|arrive_drop", "the bits of a state", kNone},
    {"barrier objects", "mbarrier", any, "", "", ""},
    {"barriers and fences", "bar barrier membar fence griddepcontrol", any, "", "", ""},
    {"elect.sync", "elect", any, "", "which lane is elected", kNone},
    {"activemask", "activemask", any, "", "which lanes are together", kNone},
    {"shfl, vote, match, redux", "shfl vote match redux", any, "", "", ""},
    {"control, hints",
     "bra brx ret exit trap brkpt nanosleep pmevent setmaxnreg prefetch prefetchu applypriority discard", any,
     "", "", ""},

    // "assembler.contract" is no form but a rule (doc/guide/assembler.md).
    {"rules of the assembler", "assembler", any, "", "which statements it changes", kNone},
};

bool is_among(std::string_view list, std::string_view word, char at) {
  while (true) {
    const std::size_t end = list.find(at);
    if (list.substr(0, end) == word) return true;
    if (end == list.npos) return false;
    list.remove_prefix(end + 1);
  }
}

bool have_all(std::span<const std::string_view> words, std::string_view wanted) {
  while (!wanted.empty()) {
    const std::size_t end = wanted.find(' ');
    const std::string_view one = wanted.substr(0, end);
    if (std::ranges::none_of(words, [&](std::string_view word) { return is_among(one, word, '|'); }))
      return false;
    wanted = end == wanted.npos ? std::string_view() : wanted.substr(end + 1);
  }
  return true;
}

TypesOf types_of(std::span<const std::string_view> words) {
  bool first = false, last = false, any_floating = false, has_type = false;
  for (const std::string_view word : words) {
    const std::optional<Type> type = find_type(word);
    if (!type) continue;
    const Type element = row(*type).element;
    last = is_floating(element) || element == Type::bf16;
    if (!has_type) first = last;
    has_type = true;
    any_floating = any_floating || last;
  }
  if (!any_floating) return integers;
  if (!first) return last ? to_integers : floats;
  return last ? floats : from_integers;
}

// ---- What was recorded

struct RecordedForm {
  std::string_view form, recording;
};
constexpr RecordedForm kRecorded[] = {
#include <recorded_forms.inc>
};

// Words that change no bit of a result; those of caches begin so.
struct NeutralWords {
  std::string_view opcodes, words;
};
constexpr std::string_view kOrders = "weak relaxed acquire release acq_rel volatile mmio cta cluster gpu sys";
constexpr NeutralWords kNeutral[] = {
    {"ld ldu st atom red mbarrier", kOrders},
    {"ld ldu st", "nc ca cg cs lu cv wb wt"},
    {"cp", "ca cg tile"},
    {"mbarrier", "shared shared::cta"},
};
bool is_neutral(std::string_view opcode, std::string_view word) {
  if (word.starts_with("L1::") || (word.starts_with("L2::") && opcode != "createpolicy")) return true;
  return std::ranges::any_of(kNeutral, [&](const NeutralWords& one) {
    return is_among(one.opcodes, opcode, ' ') && is_among(one.words, word, ' ');
  });
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

std::vector<std::string_view> split(std::string_view form) {
  std::vector<std::string_view> out;
  for (std::size_t end = 0; end != form.npos;) {
    end = form.find('.');
    out.push_back(form.substr(0, end));
    if (end != form.npos) form.remove_prefix(end + 1);
  }
  return out;
}

const std::unordered_map<std::string, std::string_view>& recordings() {
  static const std::unordered_map<std::string, std::string_view> made = [] {
    std::unordered_map<std::string, std::string_view> out;
    for (const RecordedForm& one : kRecorded) {
      const std::vector<std::string_view> words = split(one.form);
      out.try_emplace(key_of(words[0], std::span(words).subspan(1)), one.recording);
    }
    return out;
  }();
  return made;
}

}  // namespace

std::span<const Kind> kinds() {
  return kKinds;
}

const Kind* kind_of(std::string_view opcode, std::span<const std::string_view> words) {
  const TypesOf types = types_of(words);
  const auto found = std::ranges::find_if(kKinds, [&](const Kind& kind) {
    return is_among(kind.opcodes, opcode, ' ') && (kind.types == any || kind.types == types) &&
           have_all(words, kind.words);
  });
  return found == std::end(kKinds) ? nullptr : &*found;
}

bool is_recorded(Target target) {
  return target.name() == "sm_90" || target.name() == "sm_90a";
}

std::string_view recording_of(std::string_view opcode, std::span<const std::string_view> words) {
  const auto found = recordings().find(key_of(opcode, words));
  return found == recordings().end() ? std::string_view() : found->second;
}

FormEvidence evidence(std::string_view opcode, std::span<const std::string_view> words, Target target) {
  const Kind* const kind = kind_of(opcode, words);
  const std::string_view recording = recording_of(opcode, words);
  const bool is_defined = kind != nullptr && kind->open.empty();
  const bool is_captured = is_recorded(target) && !recording.empty();
  return {is_captured ? Rests::captured : is_defined ? Rests::defined : Rests::inferred, kind, recording};
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
