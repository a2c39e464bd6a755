// SPDX-License-Identifier: Apache-2.0
// The functions of the rows of mistakes.cpp, by what they change.
#pragma once

#include <fmt/format.h>

#include "notice/mistakes.hpp"

namespace warpbit::noticing {

using edit::Code, edit::Site;
using Changes = std::vector<Change>;

/// The opcode and the words of a statement: "cp.async.wait_group".
std::string name_of(const Site& site);
/// Whether it begins with one of some words, which blanks part.
bool begins(std::string_view name, std::string_view words);
/// Adds the statement with another text, under its guard.
void add_text(const Site& site, std::string text, std::string sentence, Changes& to);
/// Adds the statement with another operand.
void add_operand(const Site& site, std::size_t n, std::string operand, std::string sentence, Changes& to);
/// Adds the statement with another word.
void add_word(const Site& site, std::size_t n, std::string_view word, std::string sentence, Changes& to);
/// Adds that the statement is not there.
void leave_out(const Site& site, std::string sentence, Changes& to);
/// An operand plus a number, as a statement before this one computes it, in a scope of its own.
void add_plus(const Site& site, std::size_t n, std::string_view type, std::int64_t number, std::string sentence,
              Changes& to);
/// The bits of a register that an operand is; 0 if it is none.
int register_bits(const Site& site, std::size_t n);

// ---- Order (kinds_order.cpp)
void barrier(const Code& code, const Site& site, Changes& to);
void fence(const Code& code, const Site& site, Changes& to);
void wait(const Code& code, const Site& site, Changes& to);
void parity(const Code& code, const Site& site, Changes& to);
void arrival(const Code& code, const Site& site, Changes& to);
void copy(const Code& code, const Site& site, Changes& to);
void store(const Code& code, const Site& site, Changes& to);

// ---- Products (kinds_product.cpp)
void fragment(const Code& code, const Site& site, Changes& to);
void transposed(const Code& code, const Site& site, Changes& to);
void selector(const Code& code, const Site& site, Changes& to);
void product_sign(const Code& code, const Site& site, Changes& to);
void product(const Code& code, const Site& site, Changes& to);
void accumulation(const Code& code, const Site& site, Changes& to);

// ---- Places and conditions (kinds_index.cpp)
void swizzle(const Code& code, const Site& site, Changes& to);
void bound(const Code& code, const Site& site, Changes& to);
void comparison(const Code& code, const Site& site, Changes& to);
void last_step(const Code& code, const Site& site, Changes& to);
void guard(const Code& code, const Site& site, Changes& to);
void stride(const Code& code, const Site& site, Changes& to);
void offset(const Code& code, const Site& site, Changes& to);
void parameter(const Code& code, const Site& site, Changes& to);

// ---- Numbers (kinds_number.cpp)
void literal(const Code& code, const Site& site, Changes& to);
void exchanged(const Code& code, const Site& site, Changes& to);
void term(const Code& code, const Site& site, Changes& to);
void rounding(const Code& code, const Site& site, Changes& to);
void fusion(const Code& code, const Site& site, Changes& to);
void sign(const Code& code, const Site& site, Changes& to);

}  // namespace warpbit::noticing
