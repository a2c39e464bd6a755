// SPDX-License-Identifier: Apache-2.0
#include "grid/bounds.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "grid/block.hpp"

namespace warpbit::grid {

using ptx::StateSpace;

std::uint64_t place_in_space(const Access& access, std::uint64_t address) {
  constexpr std::uint64_t kOwn = (std::uint64_t{1} << kRankShift) - 1;
  if (access.space == StateSpace::shared && !access.generic) return address & kOwn;
  if (!access.generic) return address;
  if (address - kSharedWindow < kWindowBytes) return (address - kSharedWindow) & kOwn;
  if (address - kLocalWindow < kWindowBytes) return address - kLocalWindow;
  return address >= kParameters && address < kBuffers ? address - kParameters : address;
}

namespace {

// Of an array whose size the launch gives, those up to the end.
std::uint64_t bytes_of(const PlacedVariable& of, std::uint64_t shared_bytes) {
  return of.variable->bytes != 0   ? static_cast<std::uint64_t>(of.variable->bytes)
         : shared_bytes > of.first ? shared_bytes - of.first
                                   : 0;
}

// Parameters of a kernel lie in a memory of their own.
bool is_in_frame(const Program& program, const ptx::Variable& variable) {
  if (variable.space == StateSpace::local) return true;
  if (variable.space != StateSpace::param) return false;
  const ptx::FunctionText& kernel = *program.functions[static_cast<std::size_t>(program.entry)].function;
  return std::ranges::none_of(kernel.parameters, [&](const ptx::Variable& one) { return &one == &variable; });
}

// What compilers on LLVM make of a function's local arrays has a name that no source has.
std::string_view has_arrays(std::string_view name) {
  return name.starts_with("__local_depot") ? ", which has the local arrays of its function," : "";
}

}  // namespace

std::optional<Bounds> bounds_of(Warp& warp, const Path& path, const Access& access) {
  if (access.variable < 0 || !warp.block().checks()) return {};
  const PlacedVariable& of = warp.program().variables[static_cast<std::size_t>(access.variable)];
  const bool in_frame = is_in_frame(warp.program(), *of.variable);
  return Bounds{of.first + (in_frame ? static_cast<std::uint64_t>(path.local) : 0),
                bytes_of(of, warp.block().shared().size())};
}

bool lies_in_variable(Warp& warp, const Path& path, const Step& step, int lane, std::uint64_t at,
                      std::uint64_t bytes) {
  const std::optional<Bounds> bounds = bounds_of(warp, path, step.access);
  if (!bounds || bounds->hold(at, bytes)) return true;
  const ptx::Variable& variable =
      *warp.program().variables[static_cast<std::size_t>(step.access.variable)].variable;
  const std::string name = source_name(variable.name);
  const bool in_shared = variable.space == StateSpace::shared;
  auto from = static_cast<std::int64_t>(at - bounds->first);
  if (in_shared && from >> (kRankShift - 1) == 1)
    from -= std::int64_t{1} << kRankShift;  // below the first byte
  block::Found found = block::fault_of(
      Block::who(warp, step, lane),
      {Errc::address_out_of_bounds,
       {},
       fmt::format("bytes {} to {} of '{}' ({} bytes of {}.{})", from,
                   from + static_cast<std::int64_t>(bytes) - 1, name, bounds->bytes,
                   variable.bytes == 0 ? "dynamic " : "", ptx::name(variable.space)),
       fmt::format("an address that is computed from '{}'{} must stay in it", name, has_arrays(name))},
      KernelRule::beyond_variable);
  if (in_shared && at < warp.block().shared().size())
    found->address = {Space::shared, static_cast<std::int64_t>(at)};
  return warp.block().allows(std::move(found));
}

namespace {

// Calls f(variable, its first byte) for the local variables of the functions that a path is in.
template <class F>
void for_each_local(const Program& program, const Path& path, const F& f) {
  const auto of = [&](int function, std::int64_t frame) {
    for (const PlacedVariable& one : program.functions[static_cast<std::size_t>(function)].locals)
      f(*one.variable, static_cast<std::uint64_t>(frame) + one.first);
  };
  for (const Return& to : path.calls) of(to.function, to.local);
  of(path.function, path.local);
}

}  // namespace

bool lies_in_local_variable(Warp& warp, const Path& path, const Step& step, int lane, std::uint64_t at,
                            std::uint64_t bytes) {
  if (!warp.block().checks() || at >= static_cast<std::uint64_t>(kStack)) return true;
  const ptx::Variable* near = nullptr;  // the last one that begins before, or the first one
  std::uint64_t first = 0;
  bool lies = false;
  for_each_local(warp.program(), path, [&](const ptx::Variable& one, std::uint64_t begin) {
    lies = lies || Bounds{begin, static_cast<std::uint64_t>(one.bytes)}.hold(at, bytes);
    if (near == nullptr || (begin <= at && begin > first)) near = &one, first = begin;
  });
  if (lies) return true;
  const std::string name = near == nullptr ? std::string() : source_name(near->name);
  const auto from = static_cast<std::int64_t>(at - first);
  const std::string range = fmt::format("bytes {} to {} of", from, from + static_cast<std::int64_t>(bytes) - 1);
  return warp.block().allows(block::fault_of(
      Block::who(warp, step, lane),
      {Errc::address_out_of_bounds,
       {},
       near == nullptr ? fmt::format("{} local memory, where no function that runs has a variable", range)
                       : fmt::format("{} '{}' ({} bytes of .local)", range, name, near->bytes),
       near == nullptr
           ? std::string("the variables of a function are gone when it has returned")
           : fmt::format("a pointer to '{}'{} must stay in it; the variables of a function are gone when it "
                         "has returned",
                         name, has_arrays(name))},
      KernelRule::beyond_variable));
}

namespace {

// Of the parameters that have an address's size, the only one that is 0.
std::string null_parameter(const Grid& grid) {
  std::string out;
  for (const PlacedVariable& one : grid.program.variables) {
    const ptx::Variable& variable = *one.variable;
    if (variable.space != StateSpace::param || variable.bytes != sizeof(std::uint64_t) ||
        is_in_frame(grid.program, variable))
      continue;
    const auto bytes = grid.parameters.subspan(static_cast<std::size_t>(one.first), sizeof(std::uint64_t));
    if (std::ranges::any_of(bytes, [](std::byte of) { return of != std::byte{0}; })) continue;
    if (!out.empty()) return {};
    out = source_name(variable.name);
  }
  return out;
}

// Offsets in these are small numbers, as null pointers are.
bool has_windows(const Program& program) {
  return std::ranges::any_of(program.variables, [](const PlacedVariable& one) {
    const StateSpace space = one.variable->space;
    return space == StateSpace::shared || space == StateSpace::local;
  });
}

}  // namespace

Error beyond_global(const Grid& grid, std::uint64_t address, std::uint64_t bytes) {
  constexpr std::uint64_t kNearNull = 4096;
  Errc code = Errc::address_out_of_bounds;
  std::string seen = grid.memory.describe(address, bytes), accepted;
  const GlobalMemory::Range* const near = grid.memory.near(address);
  if (address < kNearNull) {
    const std::string name = null_parameter(grid);
    const bool may_be_offset = name.empty() && has_windows(grid.program);
    seen += !name.empty()   ? fmt::format(" (a null pointer: {} is 0)", name)
            : may_be_offset ? " (a null pointer, or an offset in .shared or .local)"
                            : " (a null pointer)";
    accepted = name.empty() ? "the pointer must be that of an array" : "pass an array as " + name;
    if (may_be_offset) accepted += "; an offset takes ld.shared, ld.local and the like, or cvta before it";
  } else if (near == nullptr) {
    code = Errc::address_unknown;
    seen += ", where nothing lies,";
    accepted = "the address must lie in an array that is passed, or in a variable of the module";
  } else if (near->heap != nullptr) {
    accepted = "it must lie in what malloc has returned and free has not released";
  } else if (address < near->address) {
    accepted = "threads before its beginning must not execute this statement";
  } else {
    accepted = "threads past its end must not execute this statement, or the array must be larger";
  }
  return {code, {}, std::move(seen), std::move(accepted)};
}

bool is_beyond_constants(const Grid& grid, std::uint64_t address) {
  if (address >= kConstants && address < kParameters) return false;
  const auto& parameters =
      grid.program.functions[static_cast<std::size_t>(grid.program.entry)].function->parameters;
  return std::ranges::none_of(parameters,
                              [](const ptx::Variable& one) { return one.pointee == StateSpace::constant; });
}

// cvta.to.shared and cvta.to.local may have taken their window off.
std::string in_another_space(const Grid& grid, ptx::StateSpace space, std::uint64_t address) {
  std::string what = fmt::format("{:#x}", address);
  for (const std::uint64_t window : {std::uint64_t{0}, kSharedWindow, kLocalWindow}) {
    const std::uint64_t at = address + window;
    if (const GlobalMemory::Range* const range = grid.memory.find(at, 1)) {
      what += fmt::format(" ({})", range->part(at - range->address, 1));
      break;
    }
  }
  return fmt::format("address {}, which is none of .{} memory,", what, ptx::name(space));
}

Error of_another_space(const Grid& grid, ptx::StateSpace space, std::uint64_t address) {
  return {
      Errc::address_out_of_bounds,
      {},
      in_another_space(grid, space, address),
      fmt::format("an address of a variable in .{}; pointers to other memory take ld, st and the like of that "
                  "memory, or without a space",
                  ptx::name(space))};
}

std::string source_name(std::string_view symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || !symbol.starts_with("_Z")) return std::string(symbol);
  const std::string whole(demangled.get());
  const std::size_t colons = whole.rfind("::");
  return colons == whole.npos ? whole : whole.substr(colons + 2);
}

std::optional<SharedVariable> shared_variable(const Program& program, std::uint64_t byte) {
  for (const PlacedVariable& one : program.variables) {
    if (one.variable->space != StateSpace::shared || byte < one.first) continue;
    const auto bytes = static_cast<std::uint64_t>(one.variable->bytes);
    if (byte - one.first < bytes) return SharedVariable{source_name(one.variable->name), one.first, bytes};
  }
  return std::nullopt;
}

std::string name_of_shared(const Program& program, std::int64_t byte) {
  const auto at = static_cast<std::uint64_t>(byte);
  const std::optional<SharedVariable> of = shared_variable(program, at);
  if (!of) return {};
  return at == of->first ? of->name : fmt::format("{} + {:#x}", of->name, at - of->first);
}

}  // namespace warpbit::grid
