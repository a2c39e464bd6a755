// SPDX-License-Identifier: Apache-2.0
// What the rows of defects.cpp ask of a statement: whether the assembler gets it wrong where it stands.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "assembler/halves.hpp"
#include "assembler/known.hpp"

namespace warpbit::assembler {

class DefectFinder {
 public:
  explicit DefectFinder(const FunctionText& f) : f_(f), flow_(f), known_(f, flow_), halves_(f, flow_) {}

  bool half_addend(const View& v) const;
  bool upper_half(const View& v) const;
  bool bfe_position(const View& v) const;
  bool bfi_length(const View& v) const;
  bool funnel_clamp(const View& v) const;
  bool short_sign(const View& v) const;
  bool sign_byte(const View& v) const;
  bool word_sign(const View& v) const;
  bool set_guard(const View& v) const;
  bool testp_guard(const View& v) const { return keeps_old(v); }
  bool lop3_twice(const View& v) const;
  bool high_chain(const View& v) const;
  bool slct_literal(const View& v) const;
  bool alternating(const View& v) const;
  bool saturated_sum(const View& v) const;
  bool signed_part(const View& v) const;
  bool half_to_half(const View& v) const;
  bool nan_range(const View& v) const;
  bool cnot_minus(const View& v) const;
  bool half_square(const View& v) const;
  bool carry_of_zero(const View& v) const;
  bool xorsign_half(const View& v) const;
  bool shift_sign(const View& v) const;

  bool is_needed(int statement) const { return flow_.is_needed(statement); }

 private:
  static bool is_among(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
  }
  Halves::Value result(const View& v) const { return {v.i, v.operand(0).index}; }
  int result_bits(const View& v) const {
    return ptx::bits(f_.registers[static_cast<std::size_t>(v.operand(0).index)].type);
  }
  bool is_known(const View& v, int n, std::uint64_t number) const {
    const auto found = known_.source(v, n);
    return found && *found == number;
  }
  bool keeps_old(const View& v) const;
  /// A register of a source, or of which that is a copy; -1: a literal and the like.
  int origin(const View& v, int n) const { return v.is_register(n) ? flow_.origin(v.operand(n).index) : -1; }
  /// Whether a register has before both statements the same value.
  bool is_same(int reg, int above, int below) const {
    return flow_.is_written_once(reg) || flow_.keeps(reg, above, below);
  }
  View maker_of(const Operand& of, int statement) const;
  View maker(const View& v, int n) const { return maker_of(v.operand(n), v.i); }
  bool is_same_source(const View& above, int m, const View& v, int n) const;
  bool serves_alone(const View& made, const View& user) const;
  bool undoes(const View& sum, const View& v, int n) const;
  bool joins_numbers(const View& sum, const View& v) const;
  bool makes_signed_part(const View& v) const;
  std::optional<bool> is_signed_half(const View& v, const Operand& half) const;
  bool is_short(const View& v, int n) const;
  bool takes_least(const View& use, const View& made) const;
  std::optional<float> number(const View& v, int n) const;
  bool loops(const View& v) const;
  bool is_invariant(const View& v, int n) const;
  bool alternates(const View& product, int reg) const;
  bool makes_high(const View& first, const View& second) const;
  bool repeats_high(const View& v) const;
  bool takes_sum(const View& v) const;
  bool upper_half_of_constant(const View& v) const;
  bool is_at_symbol(const View& v) const;
  unsigned used_word(const View& v) const;
  bool extends_sign(const View& v) const;
  bool extends_zero(const View& v) const;
  int kept_bytes(const View& v, int reg) const;

  const FunctionText& f_;
  Flow flow_;
  Known known_;
  Halves halves_;
};

}  // namespace warpbit::assembler
