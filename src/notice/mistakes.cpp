// SPDX-License-Identifier: Apache-2.0
#include "notice/mistakes.hpp"

#include <sstream>

#include "notice/kinds.hpp"
#include "ptx/type.hpp"

namespace warpbit::noticing {

std::string name_of(const Site& site) {
  return spell(site.parts);
}

bool begins(std::string_view name, std::string_view words) {
  std::istringstream in{std::string(words)};
  for (std::string one; in >> one;)
    if (name.starts_with(one)) return true;
  return false;
}

void add_text(const Site& site, std::string text, std::string sentence, Changes& to) {
  to.push_back({edit::replaced(site, std::move(text)), std::move(sentence)});
}

void add_operand(const Site& site, std::size_t n, std::string operand, std::string sentence, Changes& to) {
  std::vector<std::string> operands = site.operands();
  operands[n] = std::move(operand);
  add_text(site, site.with(operands), std::move(sentence), to);
}

void add_word(const Site& site, std::size_t n, std::string_view word, std::string sentence, Changes& to) {
  Site other = site;
  other.parts.qualifiers[n] = word;
  add_text(site, other.with(site.operands()), std::move(sentence), to);
}

void leave_out(const Site& site, std::string sentence, Changes& to) {
  to.push_back({edit::whole(site, ""), std::move(sentence)});
}

void add_plus(const Site& site, std::size_t n, std::string_view type, std::int64_t number, std::string sentence,
              Changes& to) {
  std::vector<std::string> operands = site.operands();
  const std::string was = std::exchange(operands[n], "_other");
  to.push_back({edit::whole(site, fmt::format("{{ .reg .{} _other; add.{} _other, {}, {}; $G{} }}", type, type,
                                              was, number, site.with(operands))),
                std::move(sentence)});
}

int register_bits(const Site& site, std::size_t n) {
  if (n >= site.parts.operands.size() || site.parts.operands[n].kind != OperandText::Kind::name) return 0;
  for (const ptx::Register& one : site.function->registers)
    if (one.name == site.parts.operands[n].name) return ptx::bits(one.type);
  return 0;
}

std::span<const KindRow> kind_rows() {
  static constexpr KindRow kRows[] = {
      {"barrier", "a barrier is left out", barrier, true},
      {"fence", "a fence is left out", fence, true},
      {"wait", "a wait is left out, or lets one group more be pending", wait, true},
      {"parity", "a barrier object is waited for with the other parity", parity, true},
      {"arrival", "an arrival or a commit is left out", arrival, true},
      {"copy", "an asynchronous copy is left out", copy},
      {"store", "a store is left out", store},
      {"fragment", "two registers of a fragment are exchanged", fragment},
      {"transposed", "a matrix is read or written the other way", transposed},
      {"selector", "the selector of scales or metadata is another one", selector},
      {"product_sign", "a product is subtracted", product_sign},
      {"product", "a product is left out, as a step of K", product},
      {"accumulation", "products are added outside of the tensor core", accumulation},
      {"swizzle", "an exclusive or is left out, as that of a swizzle", swizzle},
      {"bound", "a bound is off by one", bound},
      {"comparison", "a comparison is turned", comparison},
      {"last_step", "a loop ends one step early", last_step},
      {"guard", "a guard is left out", guard},
      {"stride", "a stride or a shift is one more", stride},
      {"offset", "an access is one element further", offset},
      {"parameter", "a number that the kernel is given is one more", parameter},
      {"literal", "a number is another one", literal},
      {"exchanged", "two sources are exchanged", exchanged},
      {"term", "a term, a factor or a limit is forgotten", term},
      {"rounding", "a rounding is another one", rounding},
      {"fusion", "a product and a sum are rounded each", fusion},
      {"sign", "a number with a sign is taken without, or the other way round", sign},
  };
  return kRows;
}

}  // namespace warpbit::noticing
