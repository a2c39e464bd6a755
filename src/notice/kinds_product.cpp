// SPDX-License-Identifier: Apache-2.0
// Mistakes in products of matrices, and in moves of their fragments.
#include <algorithm>

#include "notice/kinds.hpp"

namespace warpbit::noticing {
namespace {

bool is_vector(const OperandText& operand) {
  return operand.kind == OperandText::Kind::vector;
}

// "{%r1, %r2}"
std::string vector_text(const std::vector<std::string>& parts) {
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

std::vector<std::string> parts_of(const OperandText& operand) {
  std::vector<std::string> out;
  for (const OperandText& one : operand.parts) out.emplace_back(one.text);
  return out;
}

// The number of literals at the end of its operands.
std::size_t literals_at_end(const Site& site) {
  const auto& all = site.parts.operands;
  const auto last = std::find_if(all.rbegin(), all.rend(),
                                 [](const OperandText& one) { return one.kind != OperandText::Kind::literal; });
  return static_cast<std::size_t>(last - all.rbegin());
}

void toggle(const Site& site, std::size_t n, const char* sentence, Changes& to) {
  add_operand(site, n, std::to_string(site.parts.operands[n].literal.bits ^ 1), sentence, to);
}

// A product of registers d = a * b + c with vectors d and c alike.
bool has_addend(const Site& site) {
  const auto& all = site.parts.operands;
  return begins(name_of(site), "mma. wmma.mma") && all.size() >= 4 && is_vector(all[0]) && is_vector(all[3]) &&
         all[0].parts.size() == all[3].parts.size();
}

}  // namespace

void fragment(const Code&, const Site& site, Changes& to) {
  if (!begins(name_of(site), kProducts) && !begins(name_of(site), kFragments)) return;
  for (std::size_t n = 0; n < site.parts.operands.size(); ++n) {
    const OperandText& operand = site.parts.operands[n];
    std::vector<std::string> parts = is_vector(operand) ? parts_of(operand) : std::vector<std::string>();
    if (parts.size() < 2 || parts[0] == parts[1] || operand.parts[0].kind != OperandText::Kind::name) continue;
    std::swap(parts[0], parts[1]);
    add_operand(site, n, vector_text(parts), fmt::format("{} and {} are exchanged", parts[1], parts[0]), to);
  }
}

void transposed(const Code&, const Site& site, Changes& to) {
  const std::string name = name_of(site);
  const auto& words = site.parts.qualifiers;
  for (std::size_t n = 0; n < words.size(); ++n) {
    if (begins(name, "ldmatrix stmatrix")) {
      if (words[n] == "trans") add_word(site, n, "", "without .trans", to);
      if (!site.has("trans") && edit::is_among(words[n], "x1 x2 x4"))
        add_word(site, n, fmt::format("{}.trans", words[n]), "with .trans", to);
    }
    if (begins(name, "wmma.load wmma.store") && edit::is_among(words[n], "row col"))
      add_word(site, n, words[n] == "row" ? "col" : "row",
               fmt::format("with the other layout than .{}", words[n]), to);
  }
  // Behind scale-d: imm-scale-a, imm-scale-b, and of 16-bit types imm-trans-a, if A lies in memory, and imm-trans-b.
  const std::size_t literals = literals_at_end(site);
  if (begins(name, "wgmma.mma_async") && literals >= 3)
    toggle(site, site.parts.operands.size() - 1, kTransposedB, to);
  if (begins(name, "wgmma.mma_async") && literals >= 4)
    toggle(site, site.parts.operands.size() - 2, kTransposedA, to);
}

void selector(const Code&, const Site& site, Changes& to) {
  const std::string name = name_of(site);
  const auto& all = site.parts.operands;
  if (!begins(name, "mma. wgmma.mma_async.sp")) return;
  if (begins(name, "mma.sp") && literals_at_end(site) > 0) toggle(site, all.size() - 1, kOtherSelector, to);
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (!is_vector(all[n]) || all[n].parts.empty() || all[n].parts[0].kind != OperandText::Kind::literal)
      continue;
    std::vector<std::string> parts = parts_of(all[n]);
    parts[0] = std::to_string(all[n].parts[0].literal.bits ^ 1);
    add_operand(site, n, vector_text(parts), kOtherByte, to);
  }
}

void product_sign(const Code&, const Site& site, Changes& to) {
  const std::size_t literals = literals_at_end(site);
  if (!begins(name_of(site), "wgmma.mma_async") || literals < 2) return;
  const std::size_t scale_a = site.parts.operands.size() - (literals <= 4 ? literals : 4);
  if (site.operand(scale_a) == "1") add_operand(site, scale_a, "-1", kOtherSign, to);
}

void product(const Code&, const Site& site, Changes& to) {
  if (begins(name_of(site), "wgmma.mma_async tcgen05.mma")) leave_out(site, kNoProduct, to);
  if (!has_addend(site)) return;
  const auto d = parts_of(site.parts.operands[0]), c = parts_of(site.parts.operands[3]);
  std::string text;
  for (std::size_t i = 0; i < d.size(); ++i)
    if (d[i] != c[i]) text += fmt::format("$Gmov.b{} {}, {}; ", site.type() == "f64" ? 64 : 32, d[i], c[i]);
  to.push_back({edit::whole(site, text), kDIsC});
}

void accumulation(const Code&, const Site& site, Changes& to) {
  if (!has_addend(site) || site.type() != "f32") return;
  const auto d = parts_of(site.parts.operands[0]), c = parts_of(site.parts.operands[3]);
  std::vector<std::string> operands = site.operands(), products, zeros(d.size(), "_zero");
  for (std::size_t i = 0; i < d.size(); ++i) products.push_back(fmt::format("_product{}", i));
  operands[0] = vector_text(products);
  operands[3] = vector_text(zeros);
  std::string text = fmt::format("{{ .reg .f32 _product<{}>, _zero; mov.f32 _zero, 0f00000000; $G{} ", d.size(),
                                 site.with(operands));
  for (std::size_t i = 0; i < d.size(); ++i)
    text += fmt::format("$Gadd.f32 {}, {}, {}; ", d[i], products[i], c[i]);
  to.push_back({edit::whole(site, text + "}"), kAddedOutside});
}

}  // namespace warpbit::noticing
