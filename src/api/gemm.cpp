// SPDX-License-Identifier: Apache-2.0
#include "warpbit/gemm.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <variant>

#include "api/checks.hpp"
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
  if (tile == nullptr) return mismatch(i, "it is no product of matrices", accepted);
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

Result<void> check_problem(const Instruction& i, const Tile& t, const Gemm& p) {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  if (std::max({p.rows, p.columns, p.depth}) > kMost)
    return mismatch(i, fmt::format("{} rows, {} columns, depth {}", p.rows, p.columns, p.depth),
                    fmt::format("at most {} of each", kMost));
  const auto empty = [&](std::string_view matrix) {
    return mismatch(i, fmt::format("{} has no data", matrix), "its elements");
  };
  for (const auto& [name, scale] : {std::pair("a_scale", &p.a_scale), std::pair("b_scale", &p.b_scale)})
    if (scale->data != nullptr && !t.a_scale.is_present())
      return mismatch(i, fmt::format("{} is given", name), "no scale factors: the form has no block scaling");
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

Result<KSteps> find_k_steps(const Instruction& i, std::size_t depth, const std::vector<std::size_t>& k_order,
                            std::size_t split_k) {
  const auto terms = static_cast<std::size_t>(i.terms());
  const std::size_t count = (depth + terms - 1) / terms;
  if (split_k == 0) return mismatch(i, "split_k is 0", "at least 1");
  KSteps out{k_order, std::max<std::size_t>(1, count / split_k + (count % split_k != 0))};
  if (k_order.empty()) {
    out.steps.resize(count);
    std::iota(out.steps.begin(), out.steps.end(), std::size_t{0});
    return out;
  }
  const std::string accepted = fmt::format("each of the {} steps of K once", count);
  if (k_order.size() != count) return mismatch(i, fmt::format("{} steps in k_order", k_order.size()), accepted);
  std::vector<bool> seen(count);
  for (const std::size_t step : k_order) {
    if (step >= count || seen[step])
      return mismatch(i, fmt::format("step {}{} in k_order", step, step < count ? " twice" : ""), accepted);
    seen[step] = true;
  }
  return out;
}

Result<Execution> gemm(const Instruction& instruction, const Gemm& problem, const GemmOptions& options) {
  if (Result<void> basis = check_basis(instruction, options.execute); !basis) return basis.error();
  const Result<const Tile*> tile = find_tile(instruction);
  if (!tile) return tile.error();
  if (Result<void> checked = check_problem(instruction, **tile, problem); !checked) return checked.error();
  const Result<KSteps> k = find_k_steps(instruction, problem.depth, options.k_order, options.split_k);
  if (!k) return k.error();
  const Result<Kernel> kernel = kernel_for(options.execute);
  if (!kernel) return kernel.error();

  const Tile& t = **tile;
  MatrixProduct product{&t,
                        problem.rows,
                        problem.columns,
                        problem.depth,
                        items(problem.a, *t.a.format),
                        items(problem.b, *t.b.format),
                        items(problem.c, *t.c.format),
                        items(problem.d, *t.d.format),
                        k->steps,
                        k->run,
                        options.execute.threads};
  if (t.a_scale.is_present()) {
    product.a_scale = items(problem.a_scale, *t.a_scale.format);
    product.b_scale = items(problem.b_scale, *t.b_scale.format);
  }
  const Body* body = has_engine(t) ? find_body(*kernel) : nullptr;
  run_product(product, body);
  return Execution{instruction.inferred(), body == nullptr ? Kernel::reference : kernel_of(*body)};
}

}  // namespace warpbit
