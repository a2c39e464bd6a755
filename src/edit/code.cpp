// SPDX-License-Identifier: Apache-2.0
#include "edit/code.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "assembler/flow.hpp"
#include "ptx/type.hpp"

namespace warpbit::edit {
namespace {

Site site_of(const ptx::ModuleText& module, const ptx::FunctionText& function, int index) {
  const ptx::Statement& statement = function.statements[static_cast<std::size_t>(index)];
  Site out{&function, index, statement.position.line, {}, {}, 0, 0, statement.text.size(), {}, false};
  out.at = out.guard_at = static_cast<std::size_t>(statement.text.data() - module.text.data());
  if (statement.guard >= 0) {
    out.guard_at = module.text.rfind('@', out.at);
    out.guard = fmt::format("@{}{} ", statement.guard_negated ? "!" : "",
                            function.registers[static_cast<std::size_t>(statement.guard)].name);
  }
  out.text = out.guard + ptx::one_line(statement.text);
  if (Result<warpbit::Statement> parts = split(statement.text)) out.parts = *std::move(parts);
  out.writes_first = !out.parts.operands.empty() && out.parts.operands[0].kind != OperandText::Kind::address &&
                     assembler::writes_first(function, statement);
  return out;
}

}  // namespace

bool Site::has(std::string_view qualifier) const {
  return std::ranges::find(parts.qualifiers, qualifier) != parts.qualifiers.end();
}

std::string_view Site::type() const {
  for (auto word = parts.qualifiers.rbegin(); word != parts.qualifiers.rend(); ++word)
    if (ptx::find_type(*word)) return *word;
  return {};
}

int Site::bits() const {
  const auto found = ptx::find_type(type());
  return found ? ptx::bits(*found) : 32;
}

std::string Site::operand(std::size_t n) const {
  return n < parts.operands.size() ? std::string(parts.operands[n].text) : std::string();
}

std::vector<std::string> Site::operands() const {
  std::vector<std::string> out;
  for (const OperandText& one : parts.operands) out.emplace_back(one.text);
  return out;
}

std::string Site::with(const std::vector<std::string>& others) const {
  return fmt::format("{} {};", spell(parts), fmt::join(others, ", "));
}

Result<Code> Code::read(const std::string& text) {
  auto module = ptx::parse_module(text);
  if (!module) return module.error();
  Code out;
  out.module_ = *std::move(module);
  for (const ptx::FunctionText& function : out.module_->functions)
    for (int i = 0; i < static_cast<int>(function.statements.size()); ++i) {
      Site one = site_of(*out.module_, function, i);
      out.by_text_.try_emplace({one.line, one.text}, static_cast<int>(out.sites_.size()));
      out.sites_.push_back(std::move(one));
    }
  return out;
}

int Code::find(int line, const std::string& text) const {
  const auto found = by_text_.find({line, text});
  return found == by_text_.end() ? -1 : found->second;
}

int Code::find(const ptx::FunctionText* function, int index) const {
  const auto found = std::ranges::find_if(
      sites_, [&](const Site& one) { return one.function == function && one.index == index; });
  return found == sites_.end() ? -1 : static_cast<int>(found - sites_.begin());
}

std::string Code::changed(std::vector<Edit> edits) const {
  std::ranges::sort(edits, std::greater(), &Edit::at);
  std::string out = text();
  for (const Edit& one : edits) out.replace(one.at, one.length, one.text);
  return out;
}

bool is_literal(const Site& site, std::size_t operand) {
  return operand < site.parts.operands.size() &&
         site.parts.operands[operand].kind == OperandText::Kind::literal;
}

std::uint64_t literal_of(const Site& site, std::size_t operand) {
  const auto type = ptx::find_type(site.type());
  return ptx::literal_bits(site.parts.operands[operand].literal, type.value_or(ptx::Type::b64));
}

std::string literal_text(const Site& site, std::size_t operand, std::uint64_t bits) {
  const bool is_real = site.parts.operands[operand].literal.is_float;
  if (is_real && site.type() == "f64") return fmt::format("0d{:016X}", bits);
  if (is_real && site.bits() == 32) return fmt::format("0f{:08X}", bits);
  return bits < 4096 ? fmt::format("{}", bits) : fmt::format("{:#x}", bits);
}

bool is_load(const Site& site) {
  return site.does() == ptx::Does::load || site.does() == ptx::Does::atomic;
}
bool is_store(const Site& site) {
  return site.does() == ptx::Does::store || site.does() == ptx::Does::atomic ||
         site.does() == ptx::Does::reduction;
}

Edit replaced(const Site& site, std::string text) {
  return {site.at, site.length, std::move(text)};
}

Edit whole(const Site& site, const std::string& text) {
  return {site.guard_at, site.at + site.length - site.guard_at, guarded(text, site.guard)};
}

bool is_among(std::string_view word, std::string_view words) {
  return fmt::format(" {} ", words).find(fmt::format(" {} ", word)) != std::string::npos;
}

std::string guarded(std::string text, std::string_view guard) {
  for (std::size_t at = text.find("$G"); at != text.npos; at = text.find("$G", at + guard.size()))
    text.replace(at, 2, guard);
  return text;
}

}  // namespace warpbit::edit
