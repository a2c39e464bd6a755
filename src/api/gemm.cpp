// SPDX-License-Identifier: Apache-2.0
#include "warpbit/gemm.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "api/checks.hpp"
#include "api/no_product.hpp"
#include "api/ordered_product.hpp"
#include "api/sum_runs.hpp"
#include "isa/families/tensor_product.hpp"
#include "isa/instruction.hpp"
#include "kernel/bodies.hpp"
#include "kernel/gemm.hpp"
#include "numeric/formats.hpp"

namespace warpbit {
namespace {

// The tile of an instruction that gemm supports.
Result<const Tile*> find_tile(const Instruction& i) {
  const std::string accepted = "a dense product of matrices: mma, wmma or wgmma.mma_async";
  const Tile* tile = std::get_if<Tile>(&i.decoded().kernel);
  if (tile == nullptr) return no_product(i, "it is no product of matrices", accepted);
  if (tile->sparsity.is_sparse()) return mismatch(i, "its A is sparse", accepted);
  if (tile->c.format != tile->d.format)
    return mismatch(i, fmt::format("C is {} and D is {}", tile->c.format->name, tile->d.format->name),
                    "C in the format of D, as the D of one step is the C of the next");
  if (tile->starts_at_zero)
    return mismatch(i, "scale-d is 0", "1 or a predicate, as the D of one step is the C of the next");
  // Immediates are no matrices, and selectors only say where scale factors lie.
  constexpr OperandKind kMatrices[] = {OperandKind::vector, OperandKind::scalar, OperandKind::descriptor};
  for (const Operand& operand : i.operands())
    if (!operand.literals.empty() && std::ranges::find(kMatrices, operand.kind) != std::end(kMatrices))
      return mismatch(i, fmt::format("literals in {}", operand.role), "registers, or no operands at all");
  return tile;
}

Result<void> check_scales(const Instruction& i, const Tile& t, const Gemm& p, const SumOrder& order) {
  const bool takes = t.a_scale.is_present() || order.promote != 0 || order.scales_last;
  for (const auto& [name, scale] : {std::pair("a_scale", &p.a_scale), std::pair("b_scale", &p.b_scale)})
    if (scale->data != nullptr && !takes)
      return mismatch(
          i, fmt::format("{} is given", name),
          "no scale factors: the form has no block scaling, and the order neither promote nor scales=last");
  if (order.scales_last && t.a_scale.is_present())
    return mismatch(i, "scales=last", "no such scale factors: the form has block scaling");
  return {};
}

Result<void> check_problem(const Instruction& i, const Tile& t, const Gemm& p, const SumOrder& order) {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  if (std::max({p.rows, p.columns, p.depth}) > kMost)
    return mismatch(i, fmt::format("{} rows, {} columns, depth {}", p.rows, p.columns, p.depth),
                    fmt::format("at most {} of each", kMost));
  const auto empty = [&](std::string_view matrix) {
    return mismatch(i, fmt::format("{} has no data", matrix), "its elements");
  };
  if (Result<void> scales = check_scales(i, t, p, order); !scales) return scales;
  if (p.rows == 0 || p.columns == 0) return {};
  if (p.d.data == nullptr) return empty("d");
  if (p.depth == 0) return {};
  if (p.a.data == nullptr) return empty("a");
  if (p.b.data == nullptr) return empty("b");
  if (!t.a_scale.is_present()) return {};
  if (p.a_scale.data == nullptr) return empty("a_scale");
  if (p.b_scale.data == nullptr) return empty("b_scale");
  return {};
}

template <class View>
ItemMatrix items(const View& view, const Format& format) {
  const auto bytes = static_cast<unsigned>(code_bytes(format.bits));
  // Only D is written.
  auto* data = static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(view.data)));
  return {data, view.row_stride, view.column_stride, bytes};
}

}  // namespace

std::string_view product_by_types(const Instruction& instruction) {
  return product_by_types(*instruction.decoded().form);
}

Error no_product(const Instruction& i, std::string seen, std::string accepted) {
  if (const std::string_view product = product_by_types(i); !product.empty())
    return mismatch(i, "its types are in an instruction descriptor",
                    fmt::format("types in the name: {}", product));
  return mismatch(i, std::move(seen), std::move(accepted));
}

Result<SumFormats> find_sum_formats(const Instruction& i, const SumOrder& o, bool has_bias) {
  const Format& of_d = *find_format(i.operands()[0].format);
  SumFormats out;
  out.accumulated = &of_d;
  const auto find = [&](const std::string& name, const Format& usual, const Format*& to) -> Result<void> {
    to = name.empty() ? &usual : find_format(name);
    const bool is_known =
        to != nullptr &&
        (to == &of_d || (!of_d.is_integer && to->bits >= 16 && !to->is_integer && to->ignored_low == 0));
    if (is_known) return {};
    return mismatch(i, fmt::format("sums of {}", name),
                    of_d.is_integer ? fmt::format("{}, the format of the accumulators", of_d.name)
                                    : "f64, f32, f16 or bf16");
  };
  if (of_d.is_integer && (o.promote != 0 || o.alpha != 1 || o.c_last || o.scales_last || has_bias))
    return mismatch(i, "accumulators of integers, with promote, alpha, c=last, scales=last or a bias",
                    "none of these");
  const Format& outer = o.promote == 0 ? of_d : of_d.id == FormatId::f64 ? of_d : format(FormatId::f32);
  if (Result<void> found = find(o.promote_format, outer, out.promoted); !found) return found.error();
  if (Result<void> found = find(o.partials, *out.promoted, out.partials); !found) return found.error();
  if (Result<void> found = find(o.merge, *out.promoted, out.merged); !found) return found.error();
  if (Result<void> found = find(o.store, *out.merged, out.stored); !found) return found.error();
  const Format* between = nullptr;
  if (Result<void> found = find(o.between, of_d, between); !found) return found.error();
  if (!o.c_last && !o.between.empty()) return mismatch(i, "between, and the accumulators start at C", "c=last");
  if (!o.c_last && o.beta != 1)
    return mismatch(i, fmt::format("beta is {}, and the accumulators start at C", o.beta), "c=last");
  const std::string_view a = i.find(Part::a)->format, b = i.find(Part::b)->format;
  if (o.tf32 != Tf32Rounding::cut && (a != "tf32" || b != "tf32"))
    return mismatch(i, "a rounding to tf32", fmt::format("none: A is {}, B is {}", a, b));
  return out;
}

std::string_view format_of_result(const Instruction& instruction, const SumOrder& order) {
  const std::string_view sum = instruction.operands()[0].format;
  for (const std::string* name : {&order.store, &order.merge, &order.promote_format})
    if (const Format* found = name->empty() ? nullptr : find_format(*name)) return found->name;
  return order.promote == 0 || sum == "f64" ? sum : "f32";
}

Result<std::size_t> scale_factors(const Instruction& i, std::size_t depth, const SumOrder& order) {
  const Result<std::vector<SumRun>> runs = find_runs(i, depth, order);
  if (!runs) return runs.error();
  if (i.blocks() != 0) {
    const auto block = static_cast<std::size_t>(i.terms() / i.blocks());
    return (depth + block - 1) / block;
  }
  std::size_t out = order.scales_last ? 1 : 0;
  if (order.promote != 0 && !order.scales_last)
    for (const SumRun& run : *runs)
      for (const SumSlice& slice : run) out += slice.size();
  return out;
}

Result<Execution> gemm(const Instruction& instruction, const Gemm& problem, const GemmOptions& options) {
  if (Result<void> basis = check_basis(instruction, options.execute); !basis) return basis.error();
  const Result<const Tile*> tile = find_tile(instruction);
  if (!tile) return tile.error();
  const Tile& t = **tile;
  const SumOrder& order = options.order;
  if (Result<void> checked = check_problem(instruction, t, problem, order); !checked) return checked.error();
  const Result<SumFormats> formats = find_sum_formats(instruction, order, problem.bias.data != nullptr);
  if (!formats) return formats.error();
  const Result<std::vector<SumRun>> runs = find_runs(instruction, problem.depth, order);
  if (!runs) return runs.error();
  const Result<Kernel> kernel = kernel_for(options.execute);
  if (!kernel) return kernel.error();
  const Body* const body = has_engine(t) ? find_body(*kernel) : nullptr;

  OrderedProduct product;
  product.base = {&t,
                  problem.rows,
                  problem.columns,
                  summed_depth(instruction, problem.depth, order),
                  items(problem.a, *t.a.format),
                  items(problem.b, *t.b.format),
                  {},
                  {},
                  {},
                  options.execute.threads};
  product.body = body;
  product.order = &order;
  product.runs = &*runs;
  product.formats = *formats;
  product.c = items(problem.c, order.c_last ? *formats->stored : *t.c.format);
  product.bias = items(problem.bias, *formats->stored);
  product.d = items(problem.d, *formats->stored);
  const bool has_blocks = t.a_scale.is_present();
  product.a_scale = items(problem.a_scale, has_blocks ? *t.a_scale.format : format(FormatId::f32));
  product.b_scale = items(problem.b_scale, has_blocks ? *t.b_scale.format : format(FormatId::f32));
  if (Result<void> done = run_ordered(instruction, product); !done) return done.error();
  return Execution{instruction.inferred(), body == nullptr ? Kernel::reference : kernel_of(*body)};
}

}  // namespace warpbit
