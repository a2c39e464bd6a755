// SPDX-License-Identifier: Apache-2.0
// The inputs of golden-digests/scalar/: what tools/capture/record_scalar.py says of them, in the same order.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scalar/operation.hpp"
#include "scalar_table.hpp"

namespace scalar_cases {

using Values = std::vector<std::uint64_t>;
using warpbit::ones;

constexpr std::uint64_t kBlock = 4096, kLargeBlock = std::uint64_t{1} << 24;

/// A form: the types of its sources in the order of the statement, predicates and the carry among them; constants.
struct Form {
  std::string name, operands;
  std::vector<std::string> sources, results;
  std::vector<std::uint64_t> constants;  ///< behind the numbers
  std::vector<std::string> parts;        ///< of the result and the sources, "b0"; empty: whole registers
  std::vector<bool> negative;            ///< the same of signs
};

inline bool is_number(const std::string& type) {
  return type != "pred" && type != "!pred" && type != "carry";
}

inline int bits(const std::string& type) {
  return is_number(type) ? warpbit::ptx::bits(*warpbit::ptx::find_type(type)) : 1;
}

inline Form form(const std::string& name, const std::string& operands) {
  Form out{name, operands, {}, {}, {}, {}, {}};
  const std::vector<std::string> words = scalar_table::split(name, '.');
  std::vector<std::string> types;
  for (const std::string& word : words)
    if (warpbit::ptx::find_type(word)) types.push_back(word);
  const auto type_of = [&](const std::string& operand) -> std::string {
    const std::string type = operand.substr(operand.find(':') + 1);
    if (type == "T") return types.back();
    if (type == "W") return scalar_table::wide().at(types.back());
    return type == "U" || type == "V" ? types.at(types.size() - 2) : type;
  };
  for (const std::string& one : scalar_table::split(operands, ' ')) {
    const std::size_t dot = std::min(one.find('.'), one.find(':')), end = one.find(':');
    out.parts.push_back(end == one.npos || dot == end ? "" : one.substr(dot + 1, end - dot - 1));
    out.negative.push_back(one[0] == '-');
    if (out.results.empty()) {
      out.results.push_back(type_of(one));
      if (one[1] == '|') out.results.push_back("pred");
    } else if (one[0] == '#') {
      out.constants.push_back(std::stoull(one.substr(1), nullptr, 0));
    } else {
      out.sources.push_back(one == "!q" ? "!pred" : type_of(one));
    }
  }
  if (words[0] == "addc" || words[0] == "subc" || words[0] == "madc") out.sources.push_back("carry");
  if (std::ranges::find(words, "cc") != words.end()) out.results.push_back("carry");
  return out;
}

/// Forms that the assembler takes, and the manual does not have: they are recorded, and nothing is computed for them.
struct Undocumented {
  const char* pattern;
  const char* reason;
};
constexpr Undocumented kUndocumented[] = {
    {"fma{.rz,.rm,.rp}{,.relu}{,.oob}{.bf16,.bf16x2}", "the manual has .rn alone"},
    {"madc{.lo,.hi}{.u16,.s16}", "the manual has 32 and 64 bits"},
    {"madc.hi.sat.s32", "the manual has no .sat"},
    {"testp{.f32,.f64}", "the manual requires a test"},
};

inline std::set<std::string> undocumented() {
  std::set<std::string> out;
  for (const Undocumented& one : kUndocumented)
    for (const std::string& name : scalar_table::names(one.pattern)) out.insert(name);
  return out;
}

// ---- Boundary values

enum class Length { least, brief, full };  // for four, three, and fewer numbers

struct Fields {
  int exponent, fraction;
};
inline const Fields* floating(const std::string& type) {
  static const std::map<std::string, Fields> kFields = {
      {"f16", {5, 10}}, {"bf16", {8, 7}}, {"f32", {8, 23}}, {"f64", {11, 52}}};
  const auto found = kFields.find(type);
  return found == kFields.end() ? nullptr : &found->second;
}

/// Each once, where it comes first.
inline Values distinct(const Values& values, int width) {
  Values out;
  for (const std::uint64_t value : values)
    if (std::ranges::find(out, value & ones(width)) == out.end()) out.push_back(value & ones(width));
  return out;
}

inline Values floating_boundary(const Fields& f, Length length) {
  const auto u = [](int x) { return static_cast<std::uint64_t>(x); };
  const std::uint64_t bias = ones(f.exponent - 1), unit = std::uint64_t{1} << f.fraction;
  const std::uint64_t all = unit - 1, half = unit / 2, top = ones(f.exponent) << f.fraction,
                      size = u(f.fraction);
  const std::uint64_t one = bias * unit, two = one + unit;
  Values out = {0, 1, all, unit, one - 1, one, one + 1, top - 1, top, top + 1, top + half + 5};
  if (f.exponent + f.fraction == 15) out.push_back(0x7FF7);  // the NaN that .oob asks for
  if (length == Length::full) {
    for (const std::uint64_t value :
         {std::uint64_t{2}, all / 2, unit + 1, 2 * unit + all, one + half, two, two + half / 2, two + half,
          one - unit, one - unit + 1, one + size * unit, one + size * unit + 1, two + size * unit + all,
          one - size * unit, bias / 2 * unit + 3, (bias + bias / 2) * unit + 7, top - unit, top + half,
          top + all})
      out.push_back(value);
    for (const std::uint64_t power : {7u, 8u, 15u, 16u, 31u, 32u, 63u, 64u}) {
      if (power >= bias) continue;
      out.push_back(one + power * unit - 1);
      out.push_back(one + power * unit);
    }
  }
  const std::size_t positive = out.size();
  for (std::size_t i = 0; i < positive; ++i)
    out.push_back(out[i] + (std::uint64_t{1} << (f.exponent + f.fraction)));
  return distinct(out, f.exponent + f.fraction + 1);
}

inline Values integer_boundary(int width, Length length) {
  const std::uint64_t most = ones(width), sign = std::uint64_t{1} << (width - 1),
                      middle = std::uint64_t{1} << width / 2;
  Values out = {0, 1, 8, 31, 32, 33, 64, 255, most, 0x0123456789ABCDEF};
  const auto add = [&](std::initializer_list<std::uint64_t> more) { out.insert(out.end(), more); };
  if (length != Length::least)
    add({2, 7, 63, 100, most - 1, sign, sign - 1, middle, middle - 1, 0x5555555555555555, 0xAAAAAAAAAAAAAAAA});
  if (length == Length::full)
    add({3,
         5,
         15,
         16,
         65,
         127,
         128,
         256,
         1000,
         most - 2,
         most - 31,
         most - 32,
         sign + 1,
         middle / 2,
         middle / 2 - 1,
         most - middle,
         0xFFFFFF,
         0x1000000,
         0x7FFFFFFF,
         0x80000000,
         0xFFFFFFFF,
         0x8080808080808080,
         0x7F7F7F7F7F7F7F7F});
  return distinct(out, width);
}

inline Values boundary(const std::string& type, Length length) {
  if (!is_number(type)) return {0, 1};
  if (type.ends_with("x2")) {
    const Values half = boundary(type.substr(0, type.size() - 2), length);
    Values out;
    for (std::size_t i = 0; i < half.size(); ++i)
      out.push_back(half[i] | half[(7 * i + 3) % half.size()] << 16);
    return out;
  }
  if (const Fields* fields = floating(type)) return floating_boundary(*fields, length);
  return integer_boundary(bits(type), length);
}

// ---- Drawn ones

inline std::uint64_t fnv(std::string_view text) {
  std::uint64_t out = 0xCBF29CE484222325;
  for (const char c : text) out = (out ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return out;
}

/// The word that counter k stands for.
inline std::uint64_t draw(std::uint64_t seed, std::uint64_t k) {
  std::uint64_t x = seed + 0x9E3779B97F4A7C15 * (k + 1);
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

inline std::uint64_t with_exponent(const Fields& f, std::uint64_t x, std::uint64_t y) {
  if (y % 2 == 0) return x;
  const std::uint64_t exponent = (y >> 8) % 16 + ones(f.exponent - 1) - 8;
  return (x & ~(ones(f.exponent) << f.fraction)) | exponent << f.fraction;
}

/// What is drawn for a type.
struct Drawing {
  int width;
  bool packed;
  const Fields* fields;

  explicit Drawing(const std::string& type)
      : width(bits(type)),
        packed(type.ends_with("x2")),
        fields(floating(packed ? type.substr(0, type.size() - 2) : type)) {}

  std::uint64_t operator()(std::uint64_t x, std::uint64_t y) const {
    if (fields != nullptr) {
      const std::uint64_t low = with_exponent(*fields, x, y);
      if (!packed) return low & ones(width);
      return (low & 0xFFFF) | (with_exponent(*fields, x >> 16, y >> 32) & 0xFFFF) << 16;
    }
    if (packed || width < 32 || y % 2 == 0) return x & ones(width);
    return (x & ones(width)) >> (y >> 8) % static_cast<std::uint64_t>(width);
  }
};

// ---- Cases

/// The sources of a row's cases; one array for each.
inline std::vector<Values> inputs(const Form& form) {
  const auto numbers = std::ranges::count_if(form.sources, is_number);
  std::vector<Values> out(form.sources.size());
  if (form.sources.size() == 1 && bits(form.sources[0]) <= 16) {
    for (std::uint64_t i = 0; i <= ones(bits(form.sources[0])); ++i) out[0].push_back(i);
    return out;
  }
  const Length length = numbers <= 2 ? Length::full : numbers == 3 ? Length::brief : Length::least;
  std::vector<Values> lists;
  std::size_t crossed = 1;
  for (const std::string& type : form.sources) crossed *= lists.emplace_back(boundary(type, length)).size();
  for (std::size_t j = 0, repeat = crossed; j < lists.size(); ++j) {
    repeat /= lists[j].size();
    for (std::size_t i = 0; i < crossed; ++i) out[j].push_back(lists[j][i / repeat % lists[j].size()]);
  }
  const std::uint64_t seed = fnv(form.name + ' ' + form.operands), count = numbers == 1 ? 16384 : 4096;
  for (std::size_t j = 0; j < out.size(); ++j) {
    const Drawing drawn(form.sources[j]);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t k = 16 * i + 2 * j;
      out[j].push_back(drawn(draw(seed, k), draw(seed, k + 1)));
    }
  }
  return out;
}

/// What a lane reads in each case of a form.
struct Reading {
  enum class Source { number, predicate, negated, carry };
  const Form& form;
  const std::vector<Values>& inputs;
  std::vector<Source> kinds;

  Reading(const Form& of, const std::vector<Values>& in) : form(of), inputs(in) {
    for (const std::string& type : form.sources)
      kinds.push_back(type == "carry"   ? Source::carry
                      : type == "pred"  ? Source::predicate
                      : type == "!pred" ? Source::negated
                                        : Source::number);
  }

  warpbit::scalar::Sources operator()(std::size_t i) const {
    warpbit::scalar::Sources out;
    for (std::size_t j = 0; j < inputs.size(); ++j) {
      const std::uint64_t x = inputs[j][i];
      if (kinds[j] == Source::number)
        out.value[static_cast<std::size_t>(out.count++)] = x;
      else if (kinds[j] == Source::carry)
        out.carry = x != 0;
      else
        out.predicate = (x != 0) != (kinds[j] == Source::negated);
    }
    for (const std::uint64_t constant : form.constants)
      out.value[static_cast<std::size_t>(out.count++)] = constant;
    return out;
  }
};

inline warpbit::scalar::Operation operation(const std::string& name) {
  static thread_local std::vector<std::string> words;  // the operation has views of them
  words = scalar_table::split(name, '.');
  const std::vector<std::string_view> views(words.begin() + 1, words.end());
  return warpbit::scalar::operation(words[0], views);
}

/// With the parts and signs of its operands.
inline warpbit::scalar::Operation operation(const Form& form) {
  warpbit::scalar::Operation out = operation(form.name);
  for (std::size_t i = 0; i < form.parts.size(); ++i)
    if (!form.parts[i].empty()) warpbit::scalar::select_part(out, i, form.parts[i]);
  if (out.function == warpbit::scalar::Function::vmad) {
    out.negate_product = form.negative[1] != form.negative[2];
    out.negate_addend = form.negative[3];
  }
  return out;
}

}  // namespace scalar_cases
