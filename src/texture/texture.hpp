// SPDX-License-Identifier: Apache-2.0
// The textures of the process, by handle.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "warpbit/detail/texture.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::texture {

/// What a shape is, and what CUDA takes of it (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
struct ShapeRow {
  std::string_view name, said;
  int axes;
  bool is_array, is_cube;
  std::uint32_t most;  ///< texels of an axis
  /// That an instruction has, without a layer: a direction of cubes.
  int coordinates() const { return is_cube ? 3 : axes; }
};
const ShapeRow& shape_row(ptx::TextureShape shape);

/// The texture of a handle that ptx::texture has returned and nobody has forgotten; nullptr of others.
std::shared_ptr<const ptx::Texture> find(std::uint64_t handle);
/// False if there is none.
bool forget(std::uint64_t handle);

/// What is wrong with a texture; nothing if it can be.
std::optional<Error> wrong(const ptx::Texture& texture);
/// What is wrong with the extents, layers, channels or the number of texels of what is `said` so, with up to `most` texels along an
/// axis; nothing if it can be.
std::optional<Error> wrong_extents(const ptx::Texture& texture, std::string_view said, std::uint32_t most);
/// As ptx::with_extents, of what is `said` so.
Result<ptx::Texture> with_extents(ptx::Texture texture, std::span<const std::uint64_t> array,
                                  std::string_view said);

/// "64 x 32 texels".
std::string describe_extents(const ptx::Texture& texture);
/// "a 2D texture of 64 x 32 texels".
std::string describe(const ptx::Texture& texture);

}  // namespace warpbit::texture
#pragma GCC visibility pop
