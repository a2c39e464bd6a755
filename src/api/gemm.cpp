// SPDX-License-Identifier: Apache-2.0
#include "warpbit/gemm.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <variant>

#include "api/checks.hpp"
#include "isa/instruction.hpp"
#include "kernel/bodies.hpp"
#include "kernel/fused.hpp"
#include "kernel/gemm.hpp"
#include "numeric/formats.hpp"

namespace warpbit {
namespace {

// The tile of an instruction that gemm supports.
Result<const Tile*> find_tile(const Instruction& i) {
  const std::string accepted = "a dense product of matrices in registers, without block scaling";
  const Tile* tile = std::get_if<Tile>(&i.decoded().kernel);
  if (tile == nullptr) return mismatch(i, "it is no product of matrices", accepted);
  if (tile->uses_memory()) return mismatch(i, "its matrices lie in memory", accepted);
  if (tile->sparsity.is_sparse()) return mismatch(i, "its A is sparse", accepted);
  if (tile->a_scale.is_present()) return mismatch(i, "its blocks are scaled", accepted);
  if (tile->c.format != tile->d.format)
    return mismatch(i, fmt::format("C is {} and D is {}", tile->c.format->name, tile->d.format->name),
                    "C in the format of D, as the D of one step is the C of the next");
  for (const Operand& operand : i.operands())
    if (!operand.literals.empty())
      return mismatch(i, fmt::format("literals in {}", operand.role), "registers, or no operands at all");
  return tile;
}

Result<void> check_problem(const Instruction& i, const Gemm& p) {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  if (std::max({p.rows, p.columns, p.depth}) > kMost)
    return mismatch(i, fmt::format("{} rows, {} columns, depth {}", p.rows, p.columns, p.depth),
                    fmt::format("at most {} of each", kMost));
  const auto empty = [&](std::string_view matrix) {
    return mismatch(i, fmt::format("{} has no data", matrix), "its elements");
  };
  if (p.rows == 0 || p.columns == 0) return {};
  if (p.depth > 0 && p.a.data == nullptr) return empty("a");
  if (p.depth > 0 && p.b.data == nullptr) return empty("b");
  if (p.d.data == nullptr) return empty("d");
  return {};
}

template <class View>
ItemMatrix items(const View& view, const TileOperand& operand) {
  const auto bytes = static_cast<unsigned>(code_bytes(operand.format->bits));
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
  if (Result<void> checked = check_problem(instruction, problem); !checked) return checked.error();
  const Result<KSteps> k = find_k_steps(instruction, problem.depth, options.k_order, options.split_k);
  if (!k) return k.error();
  const Result<Kernel> kernel = kernel_for(options.execute);
  if (!kernel) return kernel.error();

  const Tile& t = **tile;
  const MatrixProduct product{&t,
                              problem.rows,
                              problem.columns,
                              problem.depth,
                              items(problem.a, t.a),
                              items(problem.b, t.b),
                              items(problem.c, t.c),
                              items(problem.d, t.d),
                              k->steps,
                              k->run,
                              options.execute.threads};
  const Body* body = fused_tile(t) ? find_body(*kernel) : nullptr;
  run_product(product, body);
  return Execution{instruction.inferred(), body == nullptr ? Kernel::reference : kernel_of(*body)};
}

}  // namespace warpbit
