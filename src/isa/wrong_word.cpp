// SPDX-License-Identifier: Apache-2.0
// Which word of a short text is wrong, and what may stand in its place: mma.m16n8k15.f32.f16 has a shape that no form has, with
// .f32.f16 there are m16n8k8 and m16n8k16.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <tuple>

#include "isa/families/tensor_product.hpp"
#include "isa/short_form.hpp"
#include "numeric/format_names.hpp"
#include "numeric/formats.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit {
namespace {

using Words = std::vector<std::string_view>;

bool is_type(std::string_view word) {
  return find_format(word) != nullptr || !formats_called(word).empty();
}

// Those that may have products with types in their names.
std::vector<const Family*> products_of(std::string_view opcode) {
  const Family& by_types = tensor_product_family();
  return opcode == by_types.opcode ? std::vector{&by_types} : families_of(opcode);
}

void add_new(Words& to, std::string_view word) {
  if (std::ranges::find(to, word) == to.end()) to.push_back(word);
}

// What may stand for the word: for a shape a shape, for a type a type. `first` is the first form with one of them.
struct Replacement {
  Words words = {};
  const Form* first = nullptr;
};

Replacement replacement(const Statement& text, std::size_t at) {
  Words without = text.qualifiers, with = text.qualifiers;
  const std::string_view word = text.qualifiers[at];
  without.erase(without.begin() + static_cast<std::ptrdiff_t>(at));
  Replacement out;
  for (const Family* family : products_of(text.opcode))
    for (const Form& form : family->forms) {
      if (!form.undocumented.empty() || !is_meant(form, text) || !fits(*family, form, without, Omission::any))
        continue;
      for (const std::string& other : form.qualifiers) {
        if (other.empty() || looks_like_shape(other) != looks_like_shape(word) ||
            (is_type(word) && !is_type(other)))
          continue;
        with[at] = other;
        if (!fits(*family, form, with, Omission::any)) continue;
        add_new(out.words, other);
        if (out.first == nullptr) out.first = &form;
      }
    }
  return out;
}

// The first form that has all of the words, in any order.
const Form* in_another_order(const Statement& text) {
  for (const Family* family : products_of(text.opcode))
    for (const Form& form : family->forms) {
      if (!form.undocumented.empty() || !is_meant(form, text)) continue;
      std::vector<std::string> left = form.qualifiers;
      const auto is_there = [&](std::string_view word) {
        const auto found = std::ranges::find(left, word);
        if (found == left.end()) return false;
        left.erase(found);
        return true;
      };
      if (std::ranges::all_of(text.qualifiers, is_there)) return &form;
    }
  return nullptr;
}

// "m16n8k16" -> 16, 8, 16. Precondition: it looks like a shape.
std::array<int, 3> numbers_of(std::string_view shape) {
  std::array<int, 3> out{};
  for (int& number : out) {
    shape.remove_prefix(1);
    const char* const end = std::from_chars(shape.data(), shape.data() + shape.size(), number).ptr;
    shape.remove_prefix(static_cast<std::size_t>(end - shape.data()));
  }
  return out;
}

// How many of its numbers are others, and by which factors in all.
std::pair<int, double> distance(std::string_view x, std::string_view y) {
  const std::array<int, 3> of_x = numbers_of(x), of_y = numbers_of(y);
  std::pair<int, double> out{};
  for (std::size_t i = 0; i < 3; ++i) {
    out.first += of_x[i] != of_y[i];
    out.second += std::abs(std::log2((of_x[i] + 1.0) / (of_y[i] + 1.0)));
  }
  return out;
}

// Those that differ from the shape in the fewest numbers, the nearest ones first.
Words nearest_shapes(Words shapes, std::string_view to) {
  std::ranges::stable_sort(shapes, {}, [&](std::string_view shape) { return distance(shape, to); });
  const int fewest = distance(shapes.front(), to).first;
  std::erase_if(shapes, [&](std::string_view shape) { return distance(shape, to).first != fewest; });
  return shapes;
}

std::string listed(const Words& words, std::string_view before) {
  constexpr std::size_t kMost = 6;
  std::vector<std::string> out;
  for (const std::string_view word : words)
    if (out.size() < kMost) out.push_back(fmt::format("{}{}", before, word));
  if (words.size() > kMost) out.push_back(fmt::format("{} more", words.size() - kMost));
  if (out.size() == 1) return out[0];
  return fmt::format("{} and {}", fmt::join(out.begin(), out.end() - 1, ", "), out.back());
}

// "mma: m16n8k15 does not exist for f32 and f16; it has m16n8k16 and m16n8k8"
Error no_such_shape(const Statement& text, std::size_t at, const Words& shapes) {
  Words others = text.qualifiers;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(at));
  return {Errc::no_such_form, std::string(text.opcode),
          fmt::format("{} does not exist{}", text.qualifiers[at],
                      others.empty() ? "" : fmt::format(" for {}", listed(others, ""))),
          "it has " + listed(nearest_shapes(shapes, text.qualifiers[at]), "")};
}

// For .fp16 .f16: of the formats that people call so those that fit the other words, or all.
Error wrong_name(const Statement& text, std::size_t at) {
  const Words called = formats_called(text.qualifiers[at]), possible = replacement(text, at).words;
  Words fit = called;
  std::erase_if(fit,
                [&](std::string_view word) { return std::ranges::find(possible, word) == possible.end(); });
  return {Errc::unknown_qualifier, spell(text), std::string(text.qualifiers[at]),
          listed(fit.empty() ? called : fit, ".")};
}

bool is_known(const Statement& text, std::string_view word) {
  return std::ranges::any_of(products_of(text.opcode), [&](const Family* family) {
    return std::ranges::any_of(family->forms, [&](const Form& form) {
      return std::ranges::find(form.qualifiers, word) != form.qualifiers.end();
    });
  });
}

}  // namespace

bool names_product(const Statement& text) {
  const auto is_of_product = [](std::string_view word) { return looks_like_shape(word) || is_type(word); };
  const Family& by_types = tensor_product_family();
  if (text.opcode == by_types.opcode && !text.qualifiers.empty()) {  // beside loads, copies, ...
    const std::string_view first = text.qualifiers[0];
    if (first != "mma" && !first.starts_with("kind::") && !is_of_product(first)) return false;
  }
  const auto has_products = [](const Family* family) {  // a conversion has types, and no shape
    const auto has = [&](SlotRole role) {
      return std::ranges::find(family->slots, role, &QualifierSlot::role) != family->slots.end();
    };
    return has(SlotRole::shape) && has(SlotRole::factor_type);
  };
  return std::ranges::any_of(products_of(text.opcode), has_products) &&
         std::ranges::any_of(text.qualifiers, is_of_product);
}

std::vector<const Family*> families_near(const Statement& text) {
  if (names_product(text)) return products_of(text.opcode);
  std::vector<const Family*> out;
  for (const Family& family : families()) out.push_back(&family);
  return out;
}

std::string_view opcode_of_shape(std::string_view shape) {
  constexpr int kOfWarpgroup = 64, kOfBlock = 128;
  const int rows = numbers_of(shape)[0];
  return rows >= kOfBlock ? "tcgen05" : rows >= kOfWarpgroup ? "wgmma" : "mma";
}

Error wrong_word(const Statement& text) {
  const Words& words = text.qualifiers;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (!formats_called(words[i]).empty()) return wrong_name(text, i);
  if (const Form* form = in_another_order(text))
    return {Errc::qualifier_order, spell(text), "its words stand in another order", form->canonical};
  // A word that no form has is it; then the shape.
  std::vector<std::tuple<bool, bool, std::size_t>> order;
  for (std::size_t i = 0; i < words.size(); ++i)
    order.emplace_back(is_known(text, words[i]), !looks_like_shape(words[i]), i);
  std::ranges::sort(order);
  for (const auto& [known, is_no_shape, at] : order) {
    const Replacement instead = replacement(text, at);
    if (instead.first == nullptr) continue;
    if (!is_no_shape) return no_such_shape(text, at, instead.words);
    if (!known)
      return {Errc::unknown_qualifier, spell(text), std::string(words[at]), listed(instead.words, ".")};
    return {Errc::no_such_form, spell(text), fmt::format("'.{}' does not fit the other words", words[at]),
            "there can be " + listed(instead.words, ".")};
  }
  return {Errc::no_such_form, spell(text), "its words do not fit each other",
          fmt::format("nearest is {}", fmt::join(nearest_forms(spell(text), std::nullopt, 3), " or "))};
}

}  // namespace warpbit
