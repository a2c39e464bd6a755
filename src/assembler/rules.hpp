// SPDX-License-Identifier: Apache-2.0
// What the assembler (ptxas) does to the bits of a kernel, as a table of rules. The machine code of a GPU is not the PTX
// that it came from: a product and a sum without a rounding may become one instruction, approximations of known numbers
// may be computed beforehand. At -O0 none of these rules acts, at -O1 to -O3 all of them do. Each can be switched off.
// doc/guide/assembler.md shows the table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace warpbit::assembler {

enum class Rule : std::uint8_t {
  unroll,
  fold,
  identity,
  clamp,
  pair,
  divide,
  contract,
  quotient,
  scale,
  sign,
  exchange
};
inline constexpr int kRules = 11;

struct RuleRow {
  Rule rule;
  std::string_view name;
  std::string_view pattern, result;  ///< what it sees, and what it makes of it
  std::string_view since;            ///< the ptxas in which it was first seen
  std::string_view evidence;         ///< recordings of a GPU, and machine code
};
std::span<const RuleRow> rules();
const RuleRow& row(Rule rule);
std::optional<Rule> find_rule(std::string_view name);

/// The rules that act.
class Rules {
 public:
  static Rules all() { return Rules((1U << kRules) - 1); }
  static Rules none() { return Rules(0); }
  bool has(Rule rule) const { return (bits_ >> static_cast<unsigned>(rule) & 1) != 0; }
  Rules without(Rule rule) const { return Rules(bits_ & ~(1U << static_cast<unsigned>(rule))); }
  /// As with `ptxas --fmad=false`: no product is part of another instruction.
  Rules separate() const { return without(Rule::contract).without(Rule::quotient).without(Rule::scale); }
  auto operator<=>(const Rules&) const = default;

 private:
  explicit Rules(std::uint32_t bits) : bits_(bits) {}
  std::uint32_t bits_;
};

}  // namespace warpbit::assembler
