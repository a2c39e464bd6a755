// SPDX-License-Identifier: Apache-2.0
// The samplers of the process, by handle.
#pragma once

#include <cstdint>
#include <memory>

#include "warpbit/detail/texture.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::texture {

/// The sampler of a handle that ptx::sampler has returned and nobody has forgotten; nullptr of others.
std::shared_ptr<const ptx::Sampler> find_sampler(std::uint64_t handle);
/// False if there is none.
bool forget_sampler(std::uint64_t handle);

/// A texture, read as a sampler says. Errors: as ptx::texture.
Result<ptx::Texture> with_sampler(ptx::Texture texture, const ptx::Sampler& sampler);

}  // namespace warpbit::texture
#pragma GCC visibility pop
