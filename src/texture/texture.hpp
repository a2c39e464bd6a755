// SPDX-License-Identifier: Apache-2.0
// The textures of the process, by handle.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "warpbit/detail/texture.hpp"

namespace warpbit::texture {

/// The texture of a handle that ptx::texture has returned and nobody has forgotten; nullptr of others.
std::shared_ptr<const ptx::Texture> find(std::uint64_t handle);
/// False if there is none.
bool forget(std::uint64_t handle);

/// "a 2D texture of 64 x 32 texels of u8".
std::string describe(const ptx::Texture& texture);

}  // namespace warpbit::texture
