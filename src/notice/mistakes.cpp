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
      {"barrier", "a barrier is left out", true, barrier, barrier},
      {"fence", "a fence is left out", true, fence, fence},
      {"wait", "a wait is left out, or lets one group more be pending", true, wait, wait},
      {"parity", "a barrier object is waited for with the other parity", true, parity, parity},
      {"arrival", "an arrival or a commit is left out", true, arrival, arrival},
      {"copy", "an asynchronous copy is left out", false, copy, copy},
      {"store", "a store is left out", false, store, store},
      {"fragment", "two registers of a fragment are exchanged", false, fragment, fragment},
      {"transposed", "a matrix is read or written the other way", false, transposed, transposed},
      {"selector", "the selector of scales or metadata is another one", false, selector, selector},
      {"product_sign", "a product is subtracted", false, product_sign, product_sign},
      {"product", "a product is left out, as a step of K", false, product, product},
      {"accumulation", "products are added outside of the tensor core", false, accumulation, accumulation},
      {"swizzle", "an exclusive or is left out, as that of a swizzle", false, swizzle},
      {"bound", "a bound is off by one", false, bound},
      {"comparison", "a comparison is turned", false, comparison},
      {"last_step", "a loop ends one step early", false, last_step},
      {"guard", "a guard is left out", false, guard},
      {"stride", "a stride or a shift is one more", false, stride},
      {"offset", "an access is one element further", false, offset, offset},
      {"parameter", "a number that the kernel is given is one more", false, parameter},
      {"literal", "a number is another one", false, literal, literal},
      {"exchanged", "two sources are exchanged", false, exchanged},
      {"term", "a term, a factor or a limit is forgotten", false, term},
      {"rounding", "a rounding is another one", false, rounding, rounding},
      {"fusion", "a product and a sum are rounded each", false, fusion},
      {"sign", "a number with a sign is taken without, or the other way round", false, sign},
  };
  return kRows;
}

}  // namespace warpbit::noticing
