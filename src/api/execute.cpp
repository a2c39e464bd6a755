// SPDX-License-Identifier: Apache-2.0
#include "warpbit/execute.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include "api/checks.hpp"
#include "api/no_product.hpp"
#include "isa/instruction.hpp"
#include "kernel/bodies.hpp"
#include "kernel/conversion_table.hpp"
#include "kernel/fast_tile.hpp"
#include "kernel/floating.hpp"
#include "kernel/fused.hpp"
#include "threads.hpp"

namespace warpbit {

namespace {

// Refuses a view without registers that it should have, or with an offset outside std::ptrdiff_t.
Result<void> check_view(const Instruction& instruction, const Operand& operand, const OperandView& view,
                        std::size_t cases) {
  if (view.base == nullptr && !operand.is_all_literals())
    return mismatch(instruction, fmt::format("the view of {} is empty", operand.role),
                    operand.is_destination() ? "registers to write" : "registers to read");
  std::ptrdiff_t room = PTRDIFF_MAX;
  for (const auto& [stride, count] : {std::pair{view.case_stride, cases},
                                      {view.lane_stride, static_cast<std::size_t>(instruction.lanes())},
                                      {view.register_stride, static_cast<std::size_t>(operand.registers)}}) {
    std::ptrdiff_t bytes = 0;
    const bool overflows = __builtin_mul_overflow(stride, count, &bytes) || bytes == PTRDIFF_MIN;
    if (!overflows) bytes = bytes < 0 ? -bytes : bytes;
    if (overflows || bytes > room)
      return mismatch(instruction,
                      fmt::format("strides {}, {} and {} of {} for {} cases", view.case_stride,
                                  view.lane_stride, view.register_stride, operand.role, cases),
                      fmt::format("offsets of at most {} bytes", PTRDIFF_MAX));
    room -= bytes;
  }
  return {};
}

Result<void> check_views(const Instruction& instruction, std::span<const OperandView> sources,
                         const ResultView& destination, std::size_t cases) {
  const std::span<const Operand> operands = instruction.operands();
  if (sources.size() + 1 != operands.size())
    return mismatch(instruction, fmt::format("{} source views", sources.size()),
                    fmt::format("{}, one for each source operand", operands.size() - 1));
  if (cases > static_cast<std::size_t>(PTRDIFF_MAX))
    return mismatch(instruction, fmt::format("{} cases", cases), fmt::format("at most {}", PTRDIFF_MAX));
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (Result<void> view = check_view(instruction, operands[i + 1], sources[i], cases); !view) return view;
  return check_view(instruction, operands[0], destination, cases);
}

// Selectors in registers must be in range and the same in all lanes.
Result<void> check_selectors(const Instruction& instruction, const Tile& tile, const TileViews& views,
                             std::size_t cases) {
  const auto check = [&](Part part, const TileScale& scale, const OperandView& view) -> Result<void> {
    if (scale.choices.size() < 2) return {};
    const Operand* operand = instruction.find(part);
    for (std::size_t i = 0; i < cases; ++i) {
      const std::optional<SelectorFault> fault = find_fault(scale.selector, view, tile.lanes, i);
      if (!fault) continue;
      const TileSelector& s = scale.selector;
      return mismatch(
          instruction,
          fmt::format("{} of {} is {} in case {}, lane {}", fault->item == 0 ? "byte-id" : "thread-id",
                      operand->role, fault->value, i, fault->lane),
          fault->item == 0 ? fmt::format("a multiple of {} below {}, the same in all lanes", s.step, s.bytes)
                           : fmt::format("0..{}, the same in all lanes", s.threads - 1),
          Errc::undefined_operand);
    }
    return {};
  };
  if (Result<void> left = check(Part::selector_a, tile.a_scale, views.a_selector); !left) return left;
  return check(Part::selector_b, tile.b_scale, views.b_selector);
}

// Calls work(first, last) for runs of cases, each of about `part` of work, of which each case has `each`; for all where
// nobody shares them, and no Stoppable may end them. Independent of the caller's rounding and flushing modes.
template <class Work>
void for_cases(std::size_t cases, std::size_t each, std::size_t part, const ExecuteOptions& options,
               Work work) {
  std::size_t most = std::clamp<std::size_t>(part / std::max<std::size_t>(each, 1), 1, 256);
  const int threads = thread_count(options.threads, (cases + most - 1) / most);
  if (threads == 1 && stop_flag() == nullptr) most = cases;
  for_each_piece(threads, (cases + most - 1) / most, [&](std::size_t i) {
    const DefaultFloating floating;
    work(i * most, std::min(cases, (i + 1) * most));
  });
}

// Executes cases whose views are checked; returns the kernel that computed them.
Kernel run_cases(const Tile& tile, const TileViews& views, const ResultView& destination, std::size_t cases,
                 Kernel wanted, const ExecuteOptions& options) {
  const Body* body = body_for(tile, wanted);
  const auto each = static_cast<std::size_t>(tile.products * tile.rows * tile.columns * tile.terms);
  for_cases(cases, each, body != nullptr ? kBodyPart : kElementPart, options,
            [&](std::size_t first, std::size_t last) {
              if (body != nullptr) return tile.fast->run({*body, tile, views, destination, first, last});
              for (std::size_t i = first; i < last; ++i) run_tile(tile, views, destination, i);
            });
  return body == nullptr ? Kernel::reference : kernel_of(*body);
}

// The value of a scalar: the statement's literal if there is one, else `given`.
std::uint64_t scalar(const Instruction& instruction, Part part, std::uint64_t given) {
  const Operand* operand = instruction.find(part);
  return operand != nullptr && operand->is_all_literals() ? *operand->literals[0] : given;
}

// Checks the arguments of execute_warpgroup against the tile's operands.
Result<void> check_warpgroup(const Instruction& instruction, const Tile& tile, const WarpgroupSources& sources,
                             const TileViews& views, const ExecuteOptions& options) {
  for (const auto& [part, view] :
       {std::pair{Part::d, &views.c}, {Part::a, &views.a}, {Part::metadata, &views.e}})
    if (const Operand* operand = instruction.find(part);
        operand != nullptr && operand->kind != OperandKind::descriptor)
      if (Result<void> checked = check_view(instruction, *operand, *view, 1); !checked) return checked;
  for (const auto& [part, factor, descriptor, given] :
       {std::tuple{Part::a, &tile.a_described, views.a_descriptor, sources.a_descriptor},
        {Part::b, &tile.b_described, views.b_descriptor, sources.b_descriptor}}) {
    if (*factor && !is_described_within(descriptor, **factor, views.b_memory.size()))
      return mismatch(instruction,
                      fmt::format("the bytes up to address {:#x} that {} {:#x} reads",
                                  described_end(descriptor, **factor) - 1, instruction.find(part)->role,
                                  scalar(instruction, part, given)),
                      fmt::format("shared memory has {} bytes", views.b_memory.size()),
                      Errc::address_out_of_bounds);
  }
  return check_metadata(instruction, tile, views.e, 1, options);
}

}  // namespace

const Body* body_for(const Tile& tile, Kernel kernel) {
  return tile.fast ? find_body(kernel) : nullptr;
}

Error mismatch(const Instruction& instruction, std::string seen, std::string accepted, Errc code) {
  return {code, std::string(instruction.canonical()), std::move(seen), std::move(accepted)};
}

TileViews tile_views(const Instruction& instruction, std::span<const OperandView> sources) {
  const auto of = [&](Part part) {
    const Operand* operand = instruction.find(part);
    return operand == nullptr ? OperandView{}
                              : sources[static_cast<std::size_t>(operand - instruction.operands().data() - 1)];
  };
  return {of(Part::a),       of(Part::b),       of(Part::c),          of(Part::metadata),
          of(Part::scale_a), of(Part::scale_b), of(Part::selector_a), of(Part::selector_b)};
}

Result<void> check_basis(const Instruction& instruction, const ExecuteOptions& options) {
  if (options.allow_inferred || !instruction.inferred()) return {};
  const Evidence& e = instruction.evidence();
  return Error{Errc::inferred_plan,
               std::string(instruction.canonical()) + " on " + std::string(instruction.target().name()),
               std::string(e.order.basis == Basis::inferred ? e.order.from : e.window.from),
               "allow inferred arithmetic to execute it"};
}

Result<void> check_metadata(const Instruction& instruction, const Tile& tile, const OperandView& e,
                            std::size_t cases, const ExecuteOptions& options) {
  if (!tile.sparsity.is_sparse() || options.undefined == Undefined::as_measured) return {};
  const Form& form = *instruction.decoded().form;
  const Result<Kernel> kernel = kernel_for(options);
  const Body* body = kernel ? find_body(*kernel) : nullptr;
  if (body == nullptr) body = &k_scalar_body;
  const std::vector<std::uint32_t> third_bits = metadata_bits(tile);
  for (std::size_t i = 0; i < cases; ++i) {
    if (is_defined(*body, tile, third_bits, e, i, form.ordered)) continue;
    const std::optional<MetadataFault> fault = find_fault(tile, e, i, form.ordered);
    if (!fault) continue;
    const RegisterBits& bits = fault->bits;
    return mismatch(
        instruction,
        fmt::format("metadata {:#x} in case {}, lane {}, bits {}-{} (row {}, group {})", fault->nibble, i,
                    bits.lane, bits.low_bit, bits.low_bit + bits.bits - 1, fault->row, fault->group),
        defined_nibbles(form), Errc::undefined_operand);
  }
  return {};
}

Result<Execution> execute_batch(const Instruction& instruction, std::span<const OperandView> sources,
                                const ResultView& destination, std::size_t cases,
                                const ExecuteOptions& options) {
  if (Result<void> basis = check_basis(instruction, options); !basis) return basis.error();
  const Result<Kernel> kernel = kernel_for(options);
  if (!kernel) return kernel.error();
  const auto& computed = instruction.decoded().kernel;
  if (std::holds_alternative<Control>(computed))
    return mismatch(instruction, "it has no results", "a Machine to execute it", Errc::machine_needed);
  if (std::holds_alternative<TensorAction>(computed))
    return mismatch(instruction, "it uses tensor memory", "the functions of warpbit/execute.hpp",
                    Errc::machine_needed);
  if (instruction.uses_memory())
    return mismatch(instruction, "no memory", "execute_warp with a memory", Errc::memory_needed);
  if (cases == 0) return Execution{instruction.inferred(), *kernel};
  if (Result<void> checked = check_views(instruction, sources, destination, cases); !checked)
    return checked.error();
  if (const auto* elementwise = std::get_if<ElementwiseKernel>(&computed)) {
    const OperandView extra = elementwise->extra ? sources.back() : OperandView{};
    constexpr std::size_t kElements = 32 * 4;  // about those of a case
    const ConversionTable* const table =
        elementwise->conversion && *kernel != Kernel::reference
            ? find_table(*elementwise->conversion, cases * elementwise->elements.size())
            : nullptr;
    for_cases(cases, kElements, kElementPart, options, [&](std::size_t first, std::size_t last) {
      run_elementwise(*elementwise, sources.first(elementwise->sources.size()), extra, destination, first, last,
                      table);
    });
    return Execution{instruction.inferred(), Kernel::reference};
  }
  const Tile& tile = std::get<Tile>(computed);
  const TileViews views = tile_views(instruction, sources);
  if (Result<void> selectors = check_selectors(instruction, tile, views, cases); !selectors)
    return selectors.error();
  if (Result<void> metadata = check_metadata(instruction, tile, views.e, cases, options); !metadata)
    return metadata.error();
  return Execution{instruction.inferred(), run_cases(tile, views, destination, cases, *kernel, options)};
}

bool is_dense_tile(const Instruction& instruction) {
  const Tile* const tile = std::get_if<Tile>(&instruction.decoded().kernel);
  const std::span<const Operand> operands = instruction.operands();
  if (tile == nullptr || tile->uses_memory() || tile->sparsity.is_sparse() || tile->a_scale.is_present() ||
      tile->lanes != 32 || operands.size() != 4)
    return false;
  constexpr std::array kParts = {Part::d, Part::a, Part::b, Part::c};
  for (std::size_t i = 0; i < kParts.size(); ++i)
    if (operands[i].part != kParts[i] || operands[i].kind == OperandKind::immediate ||
        !operands[i].literals.empty())
      return false;
  return true;
}

bool run_dense(const Tile& tile, Kernel kernel, std::byte* d, const std::byte* a, const std::byte* b,
               const std::byte* c) {
  const Body* const body = body_for(tile, kernel);
  if (body == nullptr) return false;
  const auto view = [&](const TileRegisters& r, const std::byte* at) {
    return OperandView::dense(at, tile.lanes, r.count, r.bits);
  };
  TileViews views;
  views.a = view(tile.a.registers, a);
  views.b = view(tile.b.registers, b);
  views.c = view(tile.c.registers, c);
  tile.fast->run({*body, tile, views,
                  ResultView::dense(d, tile.lanes, tile.d.registers.count, tile.d.registers.bits), 0, 1});
  return true;
}

bool can_run_all(const Tile& tile) {
  return fused_tile(tile) != nullptr && !tile.plan->operands.has_value() && tile.rows == 16 &&
         tile.columns == 8 && tile.c.format->id == FormatId::f32 && tile.d.format->id == FormatId::f32;
}

bool run_dense_all(const Tile& tile, Kernel kernel, int rows, int columns, const std::byte* a,
                   const std::byte* b, std::byte* d) {
  const Body* const body = body_for(tile, kernel);
  if (body == nullptr || !can_run_all(tile)) return false;
  fused_tile(tile)->run_all(*body, tile, rows, columns, a, b, d);
  return true;
}

Result<Kernel> kernel_for(const ExecuteOptions& options) {
  return options.kernel ? check_kernel(*options.kernel) : chosen_kernel();
}

std::string path_of(const Instruction& instruction, Kernel kernel) {
  const auto* tile = std::get_if<Tile>(&instruction.decoded().kernel);
  const Body* body = tile != nullptr ? body_for(*tile, kernel) : nullptr;
  return body == nullptr ? std::string(name(Kernel::reference))
                         : fmt::format("fast: {} ({})", tile->fast->path, name(kernel_of(*body)));
}

TileViews warpgroup_views(const Instruction& instruction, const WarpgroupSources& sources,
                          std::span<const std::byte> memory, const OperandView& before) {
  TileViews out;
  out.a = sources.a;
  out.e = sources.metadata;
  out.c = before;
  out.a_descriptor = Descriptor::decode(scalar(instruction, Part::a, sources.a_descriptor));
  out.b_descriptor = Descriptor::decode(scalar(instruction, Part::b, sources.b_descriptor));
  out.a_memory = out.b_memory = memory;
  out.accumulate = scalar(instruction, Part::scale_d, sources.accumulate ? 1 : 0) != 0;
  return out;
}

Result<Execution> execute_warpgroup(const Instruction& instruction, const WarpgroupSources& sources,
                                    std::span<const std::byte> shared_memory, const ResultView& d,
                                    const ExecuteOptions& options) {
  if (Result<void> basis = check_basis(instruction, options); !basis) return basis.error();
  const Result<Kernel> kernel = kernel_for(options);
  if (!kernel) return kernel.error();
  const Tile* tile = std::get_if<Tile>(&instruction.decoded().kernel);
  if (tile == nullptr || !tile->uses_memory())
    return mismatch(instruction, "it reads no matrix from shared memory", "wgmma.mma_async");
  const TileViews views = warpgroup_views(instruction, sources, shared_memory, d);
  if (Result<void> checked = check_warpgroup(instruction, *tile, sources, views, options); !checked)
    return checked.error();
  return Execution{instruction.inferred(), run_cases(*tile, views, d, 1, *kernel, options)};
}

bool may_run_in_registers(const Instruction& instruction) {
  const Tile* tile = std::get_if<Tile>(&instruction.decoded().kernel);
  const auto* const fused = tile != nullptr ? dynamic_cast<const FusedTile*>(tile->fast.get()) : nullptr;
  return fused != nullptr && fused->takes_registers(*tile);
}

bool can_run_in_registers(const Instruction& instruction, Kernel kernel, const WarpgroupSources& sources,
                          std::span<const std::byte> memory, const ExecuteOptions& options) {
  const Tile& tile = std::get<Tile>(instruction.decoded().kernel);
  static constexpr std::byte kSomewhere{};  // D, which is not looked at
  const OperandView d =
      OperandView::dense(&kSomewhere, tile.lanes, tile.d.registers.count, tile.d.registers.bits);
  return body_for(tile, kernel) != nullptr &&
         check_warpgroup(instruction, tile, sources, warpgroup_views(instruction, sources, memory, d), options);
}

void run_in_registers(const Instruction& instruction, Kernel kernel, const WarpgroupSources& sources,
                      std::span<const std::byte> memory, std::uint32_t* const* registers) {
  const Tile& tile = std::get<Tile>(instruction.decoded().kernel);
  const auto& fused = static_cast<const FusedTile&>(*tile.fast);
  fused.run_in_registers(*body_for(tile, kernel), tile, warpgroup_views(instruction, sources, memory, {}),
                         registers);
}

Result<Element> execute_element(const Instruction& instruction, const ElementCodes& element,
                                const ExecuteOptions& options) {
  if (Result<void> basis = check_basis(instruction, options); !basis) return basis.error();
  const Tile* tile = std::get_if<Tile>(&instruction.decoded().kernel);
  if (tile == nullptr)
    return no_product(instruction, "it is no product of matrices", "an instruction of the form D = A B + C");
  const auto& [a, b, c, a_scale, b_scale] = element;
  const auto terms = static_cast<std::size_t>(tile->terms);
  if (a.size() != b.size() || a.size() > terms)
    return mismatch(instruction, fmt::format("{} elements of a and {} of b", a.size(), b.size()),
                    fmt::format("the same number of both, at most {}", terms));
  // As many scale factors as the elements need.
  const auto blocks = static_cast<std::size_t>(tile->a_scale.blocks);
  const std::size_t wanted = blocks == 0 ? 0 : (a.size() * blocks + terms - 1) / terms;
  if (a_scale.size() != wanted || b_scale.size() != wanted)
    return mismatch(instruction,
                    fmt::format("{} scale factors of a and {} of b", a_scale.size(), b_scale.size()),
                    fmt::format("{} of both", wanted));
  return Element{run_element(*tile, element), instruction.inferred()};
}

}  // namespace warpbit
