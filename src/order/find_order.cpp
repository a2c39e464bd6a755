// SPDX-License-Identifier: Apache-2.0
#include "warpbit/find_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "api/checks.hpp"
#include "api/no_product.hpp"
#include "api/sum_identity.hpp"
#include "numeric/formats.hpp"
#include "order/search.hpp"

namespace warpbit {
namespace {

std::size_t item_of_format(std::string_view name) {
  return code_bytes(find_format(name)->bits);
}

}  // namespace

Result<std::vector<Instruction>> instructions_of_products(std::string_view a, std::string_view b,
                                                          Target target) {
  const Format *left = find_format(a), *right = find_format(b);
  if (left == nullptr || right == nullptr)
    return Error{Errc::usage, "order of the sum", fmt::format("operands of {} and {}", a, b),
                 "formats of an instruction: f16, bf16, tf32, e4m3, e5m2, s8, f64; or f32"};
  const std::string types = fmt::format("{}.{}", left->name, right->name);
  std::vector<std::string> forms;
  const std::string_view kind = left->is_integer                                          ? "i8"
                                : left->id == FormatId::f16 || left->id == FormatId::bf16 ? "f16"
                                : left->id == FormatId::tf32                              ? "tf32"
                                                                                          : "f8f6f4";
  if (left->is_integer)
    forms = {fmt::format("mma.sync.aligned.m16n8k32.row.col.s32.{}.s32", types),
             fmt::format("mma.sync.aligned.m16n8k16.row.col.s32.{}.s32", types)};
  else if (left->bits == 8)
    forms = {fmt::format("wgmma.mma_async.sync.aligned.m64n8k32.f32.{}", types)};
  for (const int depth : {16, 8, 4})
    for (const std::string_view sum : {"f32", "f64", "f16"})
      forms.push_back(fmt::format("mma.sync.aligned.m16n8k{}.row.col.{}.{}.{}", depth, sum, types, sum));
  forms.insert(forms.end() - 9, fmt::format("mma.sync.aligned.m16n8k32.row.col.f32.{}.f32", types));
  forms.push_back(fmt::format("mma.sync.aligned.m8n8k4.row.col.f64.{}.f64", types));
  forms.insert(forms.begin(),
               fmt::format("tcgen05.mma.kind::{}.{}.{}", kind, left->is_integer ? "s32" : "f32", types));
  std::vector<Instruction> out;
  for (const std::string& form : forms)
    if (Result<Instruction> i = Instruction::parse(form, target)) out.push_back(*std::move(i));
  std::ranges::stable_sort(out, {}, [](const Instruction& i) { return i.operands()[0].format == "f16"; });
  // Those of f64 are the same chain of FMA, whatever their depth; their units are tried, too.
  if (left->id == FormatId::f64 && out.size() > 1) out.erase(out.begin() + 1, out.end());
  if (left == right)
    for (const std::string_view chain : {"chain.fma.rn.", "chain.fma.rn.f32.", "chain.mul_add.rn."})
      if (Result<Instruction> i = Instruction::parse(fmt::format("{}{}", chain, left->name), target))
        out.push_back(*std::move(i));
  if (!out.empty()) return out;
  return Error{Errc::usage, "order of the sum", fmt::format("operands of {} on {}", types, target.name()),
               "f16, bf16, tf32, e4m3, e5m2, s8 or f64, as far as the target has products of them, or f32"};
}

Result<std::string> store_of_items(const Instruction& i, const SumOrder& known, char kind, std::size_t bytes) {
  if (bytes != 2 || format_of_result(i, known) != "f32") return std::string();
  if (kind == 'f') return std::string("f16");
  const std::string_view a = i.find(Part::a)->format;
  if (a == "f16" || a == "bf16") return std::string(a);
  return std::string("bf16");  // which NumPy has no type for
}

Result<OrderSearch> find_order(std::span<const Instruction> instructions, const FoundProduct& product,
                               const FindOrderOptions& options) {
  const Gemm& g = product.product;
  if (instructions.empty())
    return Error{Errc::usage, "order of the sum", "no instruction",
                 "one or more, as of instructions_of_products"};
  const Instruction& i = instructions[0];
  const Operand *a = i.find(Part::a), *b = i.find(Part::b);
  if (a == nullptr || b == nullptr)
    return no_product(i, "it is no product of matrices", "an instruction D = A B + C");
  for (const Instruction& other : instructions) {
    const Operand *x = other.find(Part::a), *y = other.find(Part::b);
    if (x == nullptr || y == nullptr || x->format != a->format || y->format != b->format || other.blocks() != 0)
      return mismatch(other, "operands of other formats",
                      fmt::format("{} and {}, without block scaling", a->format, b->format));
  }
  if (g.rows == 0 || g.columns == 0 || g.depth == 0 || g.a.data == nullptr || g.b.data == nullptr)
    return mismatch(i, fmt::format("A is {} x {}, B {} x {}", g.rows, g.depth, g.depth, g.columns),
                    "matrices with elements");
  if (g.d.data == nullptr && product.elements.empty())
    return mismatch(i, "no elements of D", "all of D, or some elements");
  for (const ResultElement& e : product.elements)
    if (e.row >= g.rows || e.column >= g.columns)
      return mismatch(i, fmt::format("an element ({}, {}) of D", e.row, e.column),
                      fmt::format("elements of {} x {}", g.rows, g.columns));
  if (options.shard.number < 1 || options.shard.number > options.shard.count)
    return Error{Errc::usage, "order of the sum",
                 fmt::format("shard {} of {}", options.shard.number, options.shard.count),
                 "a number from 1 to the count"};
  const Result<std::size_t> factors = scale_factors(i, g.depth, options.known);
  if (!factors) return factors.error();
  const std::string_view of_d = format_of_result(i, options.known),
                         of_c = options.known.c_last ? of_d : i.operands()[0].format;
  const order::ItemSizes sizes{item_of_format(a->format), item_of_format(b->format), item_of_format(of_c),
                               item_of_format(of_d)};
  const bool is_given = !options.known.store.empty() || options.known.c_last || g.bias.data != nullptr;
  SumOrder known = options.known;
  if (known.store.empty() && !find_format(of_d)->is_integer) known.store = of_d;  // of every instruction
  std::vector<std::unique_ptr<order::Stored>> stores;
  stores.push_back(std::make_unique<order::Stored>(product, std::vector<std::byte>(), known, sizes, *factors));
  for (const std::string_view narrow : {"f16", "bf16"}) {
    if (is_given || of_d != "f32") break;
    auto codes = order::narrowed(product, *find_format(of_d), *find_format(narrow));
    if (!codes) continue;
    FoundProduct in = product;
    in.elements = std::move(codes->second);
    known.store = narrow;
    order::ItemSizes of_narrow = sizes;
    of_narrow.d = item_of_format(narrow);
    stores.push_back(std::make_unique<order::Stored>(in, std::move(codes->first), known, of_narrow, *factors));
  }
  const SumInputs inputs{g.depth, g.c.data != nullptr, g.bias.data != nullptr,
                         g.a_scale.data != nullptr || g.b_scale.data != nullptr};
  return order::search(instructions, options, inputs, stores);
}

}  // namespace warpbit
