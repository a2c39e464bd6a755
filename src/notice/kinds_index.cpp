// SPDX-License-Identifier: Apache-2.0
// Mistakes in places, bounds and conditions.
#include <array>
#include <optional>
#include <utility>

#include "notice/kinds.hpp"
#include "ptx/type.hpp"

namespace warpbit::noticing {
namespace {

bool is_integer(std::string_view type) {
  return !type.empty() && (type[0] == 'u' || type[0] == 's') && type.find('x') == type.npos;
}

using Pair = std::pair<std::string_view, std::string_view>;
// What a word becomes, and what it is then the word of.
constexpr std::array<Pair, 8> kBounds = {{{"lt", "le"},
                                          {"le", "lt"},
                                          {"gt", "ge"},
                                          {"ge", "gt"},
                                          {"lo", "ls"},
                                          {"ls", "lo"},
                                          {"hi", "hs"},
                                          {"hs", "hi"}}};
constexpr std::array<Pair, 16> kTurned = {{{"lt", "ge"},
                                           {"le", "gt"},
                                           {"gt", "le"},
                                           {"ge", "lt"},
                                           {"eq", "ne"},
                                           {"ne", "eq"},
                                           {"lo", "hs"},
                                           {"ls", "hi"},
                                           {"hi", "ls"},
                                           {"hs", "lo"},
                                           {"ltu", "geu"},
                                           {"leu", "gtu"},
                                           {"gtu", "leu"},
                                           {"geu", "ltu"},
                                           {"equ", "neu"},
                                           {"neu", "equ"}}};

void replace_word(const Site& site, std::span<const Pair> pairs, Changes& to) {
  if (site.parts.opcode != "setp" && site.parts.opcode != "set") return;
  for (std::size_t n = 0; n < site.parts.qualifiers.size(); ++n)
    for (const auto& [word, other] : pairs)
      if (site.parts.qualifiers[n] == word)
        return add_word(site, n, other, fmt::format("with .{} in place of .{}", other, word), to);
}

const ptx::Operand& operand_of(const ptx::FunctionText& f, const ptx::Statement& s, int n) {
  return f.operands[static_cast<std::size_t>(s.first_operand + n)];
}

/// The statement to which a branch behind a comparison goes back, if the comparison is of a loop.
std::optional<int> loop_begin(const Site& site) {
  constexpr int kNear = 3;
  const ptx::FunctionText& f = *site.function;
  for (int i = site.index + 1; i <= site.index + kNear && i < static_cast<int>(f.statements.size()); ++i) {
    const ptx::Statement& s = f.statements[static_cast<std::size_t>(i)];
    if (s.is->does != ptx::Does::branch || s.guard < 0 || s.operands != 1) continue;
    const ptx::Operand& label = operand_of(f, s, 0);
    if (label.kind == ptx::Operand::Kind::label && label.index <= site.index) return label.index;
  }
  return std::nullopt;
}

/// What a loop adds to a register in each step; 1 if that is not seen.
std::int64_t step_of(const Code& code, const Site& site, int begin, std::string_view name) {
  for (int i = site.index; i >= begin; --i) {
    const int number = code.find(site.function, i);
    if (number < 0) break;
    const Site& one = code.site(number);
    if (one.parts.opcode == "add" && one.operand(0) == name && edit::is_literal(one, 2))
      return static_cast<std::int64_t>(one.parts.operands[2].literal.bits);
  }
  return 1;
}

}  // namespace

void swizzle(const Code&, const Site& site, Changes& to) {
  if (site.parts.opcode == "xor" && (site.type() == "b32" || site.type() == "b64"))
    add_text(site, fmt::format("mov.{} {}, {};", site.type(), site.operand(0), site.operand(1)),
             "the exclusive or is left out", to);
}

void bound(const Code&, const Site& site, Changes& to) {
  if (is_integer(site.type())) replace_word(site, kBounds, to);
}

void comparison(const Code&, const Site& site, Changes& to) {
  replace_word(site, kTurned, to);
}

void last_step(const Code& code, const Site& site, Changes& to) {
  if (site.parts.opcode != "setp" || site.bits() < 32 || site.type().empty() || site.type()[0] == 'f') return;
  const std::optional<int> begin = loop_begin(site);
  if (!begin || register_bits(site, 1) != site.bits()) return;
  const std::string type = fmt::format("u{}", site.bits());
  add_plus(site, 1, type, step_of(code, site, *begin, site.operand(1)), "the loop ends one step early", to);
}

void guard(const Code&, const Site& site, Changes& to) {
  if (!site.guard.empty() && site.does() != ptx::Does::branch && site.does() != ptx::Does::ret &&
      site.does() != ptx::Does::exit)
    to.push_back(
        {{site.guard_at, site.at - site.guard_at, ""}, fmt::format("without its guard {}", site.guard)});
}

void stride(const Code&, const Site& site, Changes& to) {
  const bool is_shift = site.parts.opcode == "shl";
  if (!is_shift && site.parts.opcode != "mul" && site.parts.opcode != "mad") return;
  if (!is_shift && !is_integer(site.type())) return;
  constexpr std::size_t kFactor = 2;
  if (edit::is_literal(site, kFactor)) {
    const std::uint64_t was = edit::literal_of(site, kFactor);
    add_operand(site, kFactor, edit::literal_text(site, kFactor, was + 1),
                fmt::format("{} is one more", site.operand(kFactor)), to);
  } else if (!is_shift && register_bits(site, kFactor) == site.bits()) {
    add_plus(site, kFactor, site.type(), 1, fmt::format("{} is one more", site.operand(kFactor)), to);
  }
}

void offset(const Code&, const Site& site, Changes& to) {
  if ((!edit::is_load(site) && !edit::is_store(site)) || site.has("param")) return;
  for (std::size_t n = 0; n < site.parts.operands.size(); ++n) {
    const OperandText& operand = site.parts.operands[n];
    if (operand.kind != OperandText::Kind::address || operand.parts.size() != 1) continue;
    const std::int64_t by = std::max(site.bits() / 8, 1) * (site.has("v4") ? 4 : site.has("v2") ? 2 : 1);
    add_operand(site, n,
                fmt::format("[{}{:+}]", operand.parts[0].name, operand.offset + operand.parts[0].offset + by),
                fmt::format("{} bytes further", by), to);
  }
}

void parameter(const Code&, const Site& site, Changes& to) {
  if (!begins(name_of(site), "ld.param") || !site.function->is_entry || register_bits(site, 0) != 32) return;
  if (site.type() != "u32" && site.type() != "s32" && site.type() != "b32") return;
  to.push_back({edit::whole(site, fmt::format("$G{} $Gadd.u32 {}, {}, 1;", site.with(site.operands()),
                                              site.operand(0), site.operand(0))),
                fmt::format("{} is one more", site.operand(1))});
}

}  // namespace warpbit::noticing
