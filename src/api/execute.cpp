// SPDX-License-Identifier: Apache-2.0
#include "warpbit/execute.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>

#include "isa/instruction.hpp"

namespace warpbit {
namespace {

std::string form_of(const Instruction& i) {
  return std::string(i.canonical());
}

Result<void> check_basis(const Instruction& instruction, const ExecuteOptions& options) {
  if (options.allow_inferred || !instruction.inferred()) return {};
  const Evidence& e = instruction.evidence();
  return Error{Errc::inferred_plan, form_of(instruction) + " on " + std::string(instruction.target().name()),
               std::string(e.order.basis == Basis::inferred ? e.order.from : e.window.from),
               "allow inferred arithmetic to execute it"};
}

bool all_literals(const Operand& operand) {
  return !operand.literals.empty() &&
         std::ranges::all_of(operand.literals, [](const auto& literal) { return literal.has_value(); });
}

Result<void> check_views(const Instruction& instruction, std::span<const OperandView> sources,
                         const ResultView& destination) {
  const std::span<const Operand> operands = instruction.operands();
  if (sources.size() + 1 != operands.size())
    return Error{Errc::view_mismatch, form_of(instruction), fmt::format("{} source views", sources.size()),
                 fmt::format("{}, one for each source operand", operands.size() - 1)};
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (sources[i].base == nullptr && !all_literals(operands[i + 1]))
      return Error{Errc::view_mismatch, form_of(instruction),
                   fmt::format("the view of {} is empty", operands[i + 1].role), "registers to read"};
  if (destination.base == nullptr)
    return Error{Errc::view_mismatch, form_of(instruction),
                 fmt::format("the view of {} is empty", operands[0].role), "registers to write"};
  return {};
}

// The views by the part of their operands.
TileViews tile_views(const Instruction& instruction, std::span<const OperandView> sources) {
  TileViews out;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    switch (instruction.operands()[i + 1].part) {
      case Part::left_factor: out.a = sources[i]; break;
      case Part::right_factor: out.b = sources[i]; break;
      case Part::accumulator: out.c = sources[i]; break;
      case Part::metadata: out.e = sources[i]; break;
      case Part::destination:
      case Part::selector: break;
    }
  }
  return out;
}

Result<void> check_metadata(const Instruction& instruction, const OperandView& e, std::size_t cases) {
  const Form& form = *instruction.decoded().form;
  for (std::size_t i = 0; i < cases; ++i) {
    const std::optional<MetadataFault> fault = find_fault(instruction.decoded().tile, e, i, form.ordered);
    if (!fault) continue;
    const RegisterBits& bits = fault->bits;
    return Error{
        Errc::undefined_operand, form_of(instruction),
        fmt::format("metadata {:#x} in case {}, lane {}, bits {}-{} (row {}, group {})", fault->nibble, i,
                    bits.lane, bits.low_bit, bits.low_bit + bits.bits - 1, fault->row, fault->group),
        defined_nibbles(form)};
  }
  return {};
}

}  // namespace

Result<Execution> execute_batch(const Instruction& instruction, std::span<const OperandView> sources,
                                const ResultView& destination, std::size_t cases,
                                const ExecuteOptions& options) {
  if (Result<void> basis = check_basis(instruction, options); !basis) return basis.error();
  if (cases == 0) return Execution{instruction.inferred()};
  if (Result<void> views = check_views(instruction, sources, destination); !views) return views.error();

  if (cases > static_cast<std::size_t>(PTRDIFF_MAX))
    return Error{Errc::view_mismatch, form_of(instruction), fmt::format("{} cases", cases),
                 fmt::format("at most {}", PTRDIFF_MAX)};

  const Tile& tile = instruction.decoded().tile;
  const TileViews operands = tile_views(instruction, sources);
  if (tile.sparsity.is_sparse() && options.undefined == Undefined::error)
    if (Result<void> metadata = check_metadata(instruction, operands.e, cases); !metadata)
      return metadata.error();
  const auto count = static_cast<std::ptrdiff_t>(cases);
  const int wanted = options.threads > 0 ? options.threads : omp_get_max_threads();
  const int threads = static_cast<int>(std::min<std::ptrdiff_t>(wanted, count));
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (std::ptrdiff_t i = 0; i < count; ++i) run_tile(tile, operands, destination, static_cast<std::size_t>(i));
  return Execution{instruction.inferred()};
}

Result<Element> execute_element(const Instruction& instruction, std::span<const std::uint64_t> a,
                                std::span<const std::uint64_t> b, std::uint64_t c,
                                const ExecuteOptions& options) {
  if (Result<void> basis = check_basis(instruction, options); !basis) return basis.error();
  const auto terms = static_cast<std::size_t>(instruction.terms());
  if (a.size() != b.size() || a.size() > terms)
    return Error{Errc::view_mismatch, form_of(instruction),
                 fmt::format("{} elements of a and {} of b", a.size(), b.size()),
                 fmt::format("the same number of both, at most {}", terms)};
  return Element{run_element(instruction.decoded().tile, a, b, c), instruction.inferred()};
}

}  // namespace warpbit
