// SPDX-License-Identifier: Apache-2.0
// Mistakes in arithmetic.
#include <utility>

#include "notice/kinds.hpp"
#include "ptx/type.hpp"

namespace warpbit::noticing {
namespace {

bool is_real(std::string_view type) {
  return type.starts_with("f") || type.starts_with("bf");
}

// "mov.b32 d, source;", of a register of 16 to 64 bits; empty for others.
std::string move_of(const Site& site, std::size_t source) {
  const int bits = register_bits(site, 0);
  if (bits < 16 || edit::is_literal(site, source)) return {};
  return fmt::format("mov.b{} {}, {};", bits, site.operand(0), site.operand(source));
}

}  // namespace

std::string_view other_rounding(std::string_view word) {
  constexpr std::pair<std::string_view, std::string_view> kOther[] = {
      {"rn", "rz"},   {"rz", "rn"},   {"rna", "rz"}, {"rni", "rzi"},
      {"rzi", "rni"}, {"rmi", "rzi"}, {"rpi", "rzi"}};
  for (const auto& [one, other] : kOther)
    if (one == word) return other;
  return {};
}

void literal(const Code&, const Site& site, Changes& to) {
  constexpr std::string_view kOpcodes = "add sub mul fma mad and or setp min max selp mov shfl shr div";
  if (!edit::is_among(site.parts.opcode, kOpcodes)) return;
  for (std::size_t n = 1; n < site.parts.operands.size() && n < 4; ++n) {
    if (!edit::is_literal(site, n) || (site.parts.opcode == "shfl" && n != 2)) continue;
    const std::uint64_t was = edit::literal_of(site, n);
    // A float of twice the size, 1 in place of 0.0, an integer that is one more.
    const std::uint64_t exponent = std::uint64_t{1} << (site.type() == "f64" ? 52 : 23);
    const bool is_float = site.parts.operands[n].literal.is_float;
    const int bits = std::max(site.bits(), 8);
    const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    const std::uint64_t one = site.type() == "f64" ? 0x3ff0'0000'0000'0000 : 0x3f80'0000;
    const std::uint64_t changed = !is_float ? was + 1 : was == 0 ? one : was + exponent;
    const std::string other = edit::literal_text(site, n, changed & mask);
    add_operand(site, n, other, fmt::format("{} in place of {}", other, site.operand(n)), to);
  }
}

void exchanged(const Code&, const Site& site, Changes& to) {
  if (!edit::is_among(site.parts.opcode, "sub div rem selp shl shr") || site.parts.operands.size() < 3) return;
  std::vector<std::string> operands = site.operands();
  std::swap(operands[1], operands[2]);
  if (operands[1] != operands[2] && !edit::is_literal(site, 2))
    add_text(site, site.with(operands), fmt::format("{} and {} are exchanged", operands[2], operands[1]), to);
}

void term(const Code&, const Site& site, Changes& to) {
  if (!is_real(site.type())) return;
  const std::string_view opcode = site.parts.opcode;
  if (opcode == "fma" && site.parts.operands.size() == 4) {
    Site other = site;
    other.parts.opcode = "mul";
    add_text(site, other.with({site.operand(0), site.operand(1), site.operand(2)}),
             fmt::format("the addend {} is forgotten", site.operand(3)), to);
  }
  if (edit::is_among(opcode, "add sub mul div min max") && site.parts.operands.size() == 3)
    if (std::string text = move_of(site, 1); !text.empty())
      add_text(site, std::move(text), fmt::format("{} is forgotten", site.operand(2)), to);
  if (edit::is_among(opcode, "neg abs rcp sqrt rsqrt ex2 lg2 tanh") &&
      register_bits(site, 1) == register_bits(site, 0))
    add_text(site, move_of(site, 1), fmt::format("{} is forgotten", opcode), to);
}

void rounding(const Code&, const Site& site, Changes& to) {
  for (std::size_t n = 0; n < site.parts.qualifiers.size(); ++n) {
    const std::string_view word = site.parts.qualifiers[n], other = other_rounding(word);
    if (!other.empty())
      return add_word(site, n, other, fmt::format("with .{} in place of .{}", other, word), to);
  }
  if (edit::is_among(site.parts.opcode, "add sub mul") && edit::is_among(site.type(), "f32 f64") &&
      !site.parts.qualifiers.empty())
    add_word(site, 0, fmt::format("rz.{}", site.parts.qualifiers[0]), "with .rz", to);
}

void fusion(const Code&, const Site& site, Changes& to) {
  if (site.parts.opcode != "fma" || site.parts.operands.size() != 4 || !edit::is_among(site.type(), "f32 f64"))
    return;
  const std::string words = fmt::format(".{}", fmt::join(site.parts.qualifiers, "."));
  to.push_back(
      {edit::whole(site,
                   fmt::format("{{ .reg .{} _product; $Gmul{} _product, {}, {}; $Gadd{} {}, _product, {}; }}",
                               site.type(), words, site.operand(1), site.operand(2), words, site.operand(0),
                               site.operand(3))),
       "the product and the sum are rounded each"});
}

void sign(const Code&, const Site& site, Changes& to) {
  constexpr std::pair<std::string_view, std::string_view> kOther[] = {
      {"s8", "u8"}, {"u8", "s8"}, {"s16", "u16"}, {"u16", "s16"}, {"s32", "u32"}, {"u32", "s32"}};
  if (!edit::is_among(site.parts.opcode, "shr cvt ld div rem min max") || site.has("param")) return;
  if (edit::is_load(site) && register_bits(site, 0) <= site.bits()) return;  // nothing is extended
  const std::size_t n = site.parts.qualifiers.empty() ? 0 : site.parts.qualifiers.size() - 1;
  for (const auto& [word, other] : kOther)
    if (n < site.parts.qualifiers.size() && site.parts.qualifiers[n] == word)
      return add_word(site, n, other, fmt::format("with .{} in place of .{}", other, word), to);
}

}  // namespace warpbit::noticing
