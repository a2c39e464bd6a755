// SPDX-License-Identifier: Apache-2.0
// What variables .texref, .samplerref and .surfref stand for in a launch (PTX manual, "Texture Sampler and Surface Types").
// In registers and in memory each has an address, which is none of memory:
//
//     mov.u64 %rd, tex;             address of `tex`     -> handle of its texture
//     tex.2d... [%rd, {%f0, %f1}];  address or handle    -> texture
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "grid/program.hpp"

namespace warpbit::grid {

/// Handles, by variable of a module.
using Bound = std::map<const ptx::Variable*, std::uint64_t>;

/// Of a variable of the module, or of a parameter of a kernel. Precondition: it is a reference.
std::uint64_t reference_address(const ptx::ModuleText& module, const ptx::Variable& reference);

/// What is wrong with a handle for a variable: it is that of nothing, or of something of another kind.
std::optional<Error> wrong_handle(const ptx::Variable& reference, std::uint64_t handle);

class References {
 public:
  /// Of a launch, whose parameters hold the handles of parameters that are references. Errors: argument_mismatch, if one that the
  /// kernel names has no handle, or one that contradicts its initial value in independent mode.
  static Result<References> of(const Program& program, const Bound& bound,
                               std::span<const std::byte> parameters);

  /// Of what an address stands for; another number itself.
  std::uint64_t handle(std::uint64_t address) const {
    const auto found = by_address_.find(address);
    return found == by_address_.end() ? address : found->second.handle;
  }
  /// The kind of the variable at an address.
  ptx::Opaque opaque(std::uint64_t address) const {
    const auto found = by_address_.find(address);
    return found == by_address_.end() ? ptx::Opaque::none : found->second.variable->opaque;
  }
  /// What an instruction of Program::textures reads that names a texture and a sampler; nullptr of others.
  std::shared_ptr<const ptx::Texture> sampled(std::int32_t operation) const {
    const auto found = sampled_.find(operation);
    return found == sampled_.end() ? nullptr : found->second;
  }

 private:
  struct One {
    const ptx::Variable* variable;
    std::uint64_t handle;
  };
  void add(const Program& program, const ptx::Variable& variable, std::uint64_t handle);
  std::optional<Error> check(const Program& program, const ptx::Variable& variable) const;
  std::optional<Error> sample(const Program& program, std::int32_t operation);
  Result<ptx::Sampler> sampler_of(const Program& program, const ptx::Variable& variable, int axes) const;

  std::map<std::uint64_t, One> by_address_;
  std::map<std::int32_t, std::shared_ptr<const ptx::Texture>> sampled_;
};

}  // namespace warpbit::grid
