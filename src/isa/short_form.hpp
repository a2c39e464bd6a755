// SPDX-License-Identifier: Apache-2.0
// Texts that leave out words of a form: which words may be left out, and what is wrong with a text that is short for none.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "isa/form.hpp"
#include "isa/statement.hpp"

namespace warpbit {

using GivenWords = std::span<const std::string_view>;

enum class Omission {
  as_in_short_forms,
  any,  // to find what a text may have left out
};

/// The families of an opcode, and the products of tcgen05 by types.
std::vector<const Family*> families_of(std::string_view opcode);
/// Whether the words are qualifiers of the form, in its order, and the others may be left out.
bool fits(const Family& family, const Form& form, GivenWords words, Omission omission);
/// False of a sparse form where the text does not say so.
bool is_meant(const Form& form, const Statement& text);

/// Whether the text is a product without operands: of an opcode that has products, with a shape or a type.
bool names_product(const Statement& text);
/// The families whose forms may be meant: of a product those of its opcode, of any other text all.
std::vector<const Family*> families_near(const Statement& text);
/// The opcode whose products have such a shape, by its rows: mma, wgmma, tcgen05.
std::string_view opcode_of_shape(std::string_view shape);
/// The word of such a text for which it is short for no form, and what may stand there.
Error wrong_word(const Statement& text);

}  // namespace warpbit
