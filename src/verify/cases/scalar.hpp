// SPDX-License-Identifier: Apache-2.0
// The inputs of recorded scalar instructions, a function of a form and its operands: what tools/capture/record_scalar.py says
// of them, in the same order.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "numeric/words.hpp"
#include "scalar/operation.hpp"
#include "warpbit/inputs.hpp"

namespace scalar_cases {

using Values = std::vector<std::uint64_t>;
using warpbit::ones;
using warpbit::ptx::Type;

/// Cases of a digest; of all inputs of 32 bits as many more.
inline constexpr std::uint64_t kBlock = warpbit::inputs::kBlockCases, kLargeBlock = std::uint64_t{1} << 24;

// ---- Forms

/// Of subtractions cases and results have the borrow, the complement of the carry flag.
enum class Role : std::uint8_t { number, predicate, negated, carry, borrow };
struct Place {
  Role role = Role::number;
  Type type = Type::b32;
};

/// An operand of a statement: "-a.b0:u32", "#0x1a", "!q".
struct Operand {
  std::optional<Type> type = {};  ///< of a constant none
  std::string part = {};          ///< "b0"; empty: the whole register
  bool is_negative = false;
};

/// A form, its operands taken apart.
struct Form {
  std::string name, notation;
  std::vector<std::string> words = {};  ///< of the name, the opcode first
  std::vector<Operand> operands = {};   ///< the result first
  std::vector<Place> sources = {};  ///< registers in the order of the statement; then the carry that it takes
  std::vector<Place> results = {};  ///< and a second predicate, or the carry that it leaves
  std::vector<std::uint64_t> constants = {};  ///< behind the numbers

  bool has(std::string_view word) const { return std::ranges::find(words, word) != words.end(); }
  std::vector<std::string_view> qualifiers() const { return {words.begin() + 1, words.end()}; }
};

inline int bits(const Place& place) {
  return place.role == Role::number ? warpbit::ptx::bits(place.type) : 1;
}

/// The type of an operand: "T", "U", "V", "W" (warpbit/ptx/forms.hpp) or its name. Nothing if there is none.
inline std::optional<Type> type_of(std::string_view letter, const std::vector<Type>& types) {
  const std::size_t back = letter == "T" || letter == "W" ? 1 : letter == "U" || letter == "V" ? 2 : 0;
  if (back == 0) return warpbit::ptx::find_type(letter);
  if (types.size() < back) return {};
  const Type type = types[types.size() - back];
  return letter == "W" ? warpbit::ptx::twice(type) : type;
}

inline std::optional<std::uint64_t> constant(std::string_view text) {
  const bool is_hexadecimal = text.starts_with("0x");
  if (is_hexadecimal) text.remove_prefix(2);
  std::uint64_t out = 0;
  const auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), out, is_hexadecimal ? 16 : 10);
  if (error != std::errc() || rest != text.data() + text.size()) return {};
  return out;
}

/// Adds an operand to a form. False: it is none.
inline bool add_operand(Form& form, std::string_view text, const std::vector<Type>& types) {
  if (text.starts_with('#')) {
    form.operands.emplace_back();
    const auto value = constant(text.substr(1));
    if (value) form.constants.push_back(*value);
    return value.has_value();
  }
  const std::size_t colon = std::min(text.find(':'), text.size()), dot = std::min(text.find('.'), colon);
  const std::string_view part = text.substr(dot, colon - dot);
  const auto type = text == "!q" ? Type::pred : type_of(text.substr(std::min(colon + 1, text.size())), types);
  form.operands.push_back({type, std::string(part.substr(part.empty() ? 0 : 1)), text.starts_with('-')});
  if (!type) return false;
  const Role role = text == "!q" ? Role::negated : *type == Type::pred ? Role::predicate : Role::number;
  (form.operands.size() == 1 ? form.results : form.sources).push_back({role, *type});
  if (form.operands.size() == 1 && text.substr(0, dot).find('|') != text.npos)
    form.results.push_back({Role::predicate, Type::pred});
  return true;
}

/// The bits of a floating type's exponent and fraction.
struct FloatFields {
  int exponent, fraction;
};
inline std::optional<FloatFields> float_fields(Type type) {
  switch (type) {
    case Type::f16: return {{5, 10}};
    case Type::bf16: return {{8, 7}};
    case Type::f32: return {{8, 23}};
    case Type::f64: return {{11, 52}};
    default: return {};
  }
}

/// Whether there are inputs of it: numbers of 8 to 64 bits, and pairs of 16 bits.
inline bool has_inputs(const Place& place) {
  if (place.role != Role::number) return true;
  const warpbit::ptx::TypeRow& type = warpbit::ptx::row(place.type);
  if (type.element != type.type) return warpbit::ptx::bits(type.element) == 16;
  return type.bits >= 8 && type.bits <= 64 && type.type != Type::tf32;
}

/// Nothing if the operands are none of an instruction on numbers in registers.
inline std::optional<Form> form(const std::string& name, const std::string& notation) {
  Form out{name, notation};
  std::vector<Type> types;
  for (const std::string_view word : warpbit::words_between(name, ".")) {
    out.words.emplace_back(word);
    if (const auto type = warpbit::ptx::find_type(word)) types.push_back(*type);
  }
  for (const std::string_view operand : warpbit::words_between(notation, " "))
    if (!add_operand(out, operand, types)) return {};
  const std::string& opcode = out.words[0];
  const Role flag = opcode == "sub" || opcode == "subc" ? Role::borrow : Role::carry;
  if (opcode == "addc" || opcode == "subc" || opcode == "madc") out.sources.push_back({flag});
  if (out.has("cc")) out.results.push_back({flag});
  const auto numbers = static_cast<std::size_t>(std::ranges::count(out.sources, Role::number, &Place::role));
  const bool is_one = numbers > 0 && numbers + out.constants.size() <= 4 && out.results.size() <= 2;
  if (!is_one || !std::ranges::all_of(out.sources, has_inputs)) return {};
  return out;
}

// ---- Boundary values

enum class Length : std::uint8_t { least, brief, full };  // for four, three, and fewer numbers

/// Each once, where it comes first.
inline Values distinct(const Values& values, int width) {
  Values out;
  for (const std::uint64_t value : values)
    if (std::ranges::find(out, value & ones(width)) == out.end()) out.push_back(value & ones(width));
  return out;
}

inline Values floating_boundary(const FloatFields& f, Length length) {
  const std::uint64_t bias = ones(f.exponent - 1), unit = std::uint64_t{1} << f.fraction;
  const std::uint64_t all = unit - 1, half = unit / 2, top = ones(f.exponent) << f.fraction;
  const std::uint64_t one = bias * unit, two = one + unit, size = static_cast<std::uint64_t>(f.fraction);
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
  if (length == Length::full) {
    add({3, 5, 15, 16, 65, 127, 128, 256, 1000, most - 2, most - 31, most - 32, sign + 1});
    add({middle / 2, middle / 2 - 1, most - middle, 0xFFFFFF, 0x1000000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF});
    add({0x8080808080808080, 0x7F7F7F7F7F7F7F7F});
  }
  return distinct(out, width);
}

inline Values boundary(const Place& place, Length length) {
  if (place.role != Role::number) return {0, 1};
  const Type element = warpbit::ptx::row(place.type).element;
  if (element != place.type) {
    const Values half = boundary({Role::number, element}, length);
    Values out;
    for (std::size_t i = 0; i < half.size(); ++i)
      out.push_back(half[i] | half[(7 * i + 3) % half.size()] << 16);
    return out;
  }
  if (const auto fields = float_fields(element)) return floating_boundary(*fields, length);
  return integer_boundary(bits(place), length);
}

// ---- Drawn ones

inline std::uint64_t fnv(std::string_view text) {
  std::uint64_t out = 0xCBF29CE484222325;
  for (const char c : text) out = (out ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return out;
}

/// The word that counter k stands for.
inline std::uint64_t draw(std::uint64_t seed, std::uint64_t k) {
  return warpbit::inputs::mix(k, seed);
}

/// A number whose exponent is near that of 1.
inline std::uint64_t near_one(const FloatFields& f, std::uint64_t x, std::uint64_t y) {
  const std::uint64_t exponent = (y >> 8) % 16 + ones(f.exponent - 1) - 8;
  return (x & ~(ones(f.exponent) << f.fraction)) | exponent << f.fraction;
}

/// x, shaped by y.
inline std::uint64_t drawn(const Place& place, std::uint64_t x, std::uint64_t y) {
  const Type element = place.role == Role::number ? warpbit::ptx::row(place.type).element : Type::pred;
  const bool is_packed = place.role == Role::number && element != place.type;
  const int width = bits(place);
  if (const auto fields = float_fields(element)) {
    const auto one = [&](std::uint64_t from, std::uint64_t by) {
      return by % 2 == 0 ? from : near_one(*fields, from, by);
    };
    if (!is_packed) return one(x, y) & ones(width);
    return (one(x, y) & 0xFFFF) | (one(x >> 16, y >> 32) & 0xFFFF) << 16;
  }
  if (is_packed || width < 32 || y % 2 == 0) return x & ones(width);
  return (x & ones(width)) >> (y >> 8) % static_cast<std::uint64_t>(width);
}

// ---- Cases

/// The sources of all cases; one array for each.
inline std::vector<Values> inputs(const Form& form) {
  const auto numbers = std::ranges::count(form.sources, Role::number, &Place::role);
  std::vector<Values> out(form.sources.size());
  if (form.sources.size() == 1 && bits(form.sources[0]) <= 16) {
    for (std::uint64_t i = 0; i <= ones(bits(form.sources[0])); ++i) out[0].push_back(i);
    return out;
  }
  const Length length = numbers <= 2 ? Length::full : numbers == 3 ? Length::brief : Length::least;
  std::vector<Values> lists;
  std::size_t crossed = 1;
  for (const Place& place : form.sources) crossed *= lists.emplace_back(boundary(place, length)).size();
  for (std::size_t j = 0, repeat = crossed; j < lists.size(); ++j) {
    repeat /= lists[j].size();
    for (std::size_t i = 0; i < crossed; ++i) out[j].push_back(lists[j][i / repeat % lists[j].size()]);
  }
  const std::uint64_t seed = fnv(form.name + ' ' + form.notation), count = numbers == 1 ? 16384 : 4096;
  for (std::size_t j = 0; j < out.size(); ++j)
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t k = 16 * i + 2 * j;
      out[j].push_back(drawn(form.sources[j], draw(seed, k), draw(seed, k + 1)));
    }
  return out;
}

/// What a lane reads in case i.
inline warpbit::scalar::Sources sources(const Form& form, const std::vector<Values>& inputs, std::size_t i) {
  warpbit::scalar::Sources out;
  const auto add = [&](std::uint64_t value) { out.value[static_cast<std::size_t>(out.count++)] = value; };
  for (std::size_t j = 0; j < inputs.size(); ++j) {
    const std::uint64_t x = inputs[j][i];
    switch (form.sources[j].role) {
      case Role::number: add(x); break;
      case Role::predicate: out.predicate = x != 0; break;
      case Role::negated: out.predicate = x == 0; break;
      case Role::carry: out.carry = x != 0; break;
      case Role::borrow: out.carry = x == 0; break;
    }
  }
  for (const std::uint64_t constant : form.constants) add(constant);
  return out;
}

/// The instruction, with the parts and signs of its operands.
inline warpbit::scalar::Operation operation(const Form& form) {
  warpbit::scalar::Operation out = warpbit::scalar::operation(form.words[0], form.qualifiers());
  for (std::size_t i = 0; i < form.operands.size(); ++i)
    if (!form.operands[i].part.empty()) warpbit::scalar::select_part(out, i, form.operands[i].part);
  if (out.function == warpbit::scalar::Function::vmad) {
    out.negate_product = form.operands[1].is_negative != form.operands[2].is_negative;
    out.negate_addend = form.operands[3].is_negative;
  }
  return out;
}

}  // namespace scalar_cases
