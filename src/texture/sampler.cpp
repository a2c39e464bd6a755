// SPDX-License-Identifier: Apache-2.0
#include "texture/sampler.hpp"

#include "texture/handles.hpp"
#include "texture/texture.hpp"

namespace warpbit {
namespace texture {
namespace {

Handles<ptx::Sampler>& samplers() {
  static Handles<ptx::Sampler> out(0x0DC0'0000'0000);
  return out;
}

}  // namespace

std::shared_ptr<const ptx::Sampler> find_sampler(std::uint64_t handle) {
  return samplers().find(handle);
}

bool forget_sampler(std::uint64_t handle) {
  return samplers().forget(handle);
}

Result<ptx::Texture> with_sampler(ptx::Texture texture, const ptx::Sampler& sampler) {
  texture.addressing = sampler.addressing;
  texture.linear = sampler.linear;
  texture.normalized = texture.normalized && !sampler.unnormalized;
  texture.border = sampler.border;
  if (std::optional<Error> error = wrong(texture)) return *std::move(error);
  return texture;
}

}  // namespace texture

std::uint64_t ptx::sampler(const Sampler& sampler) {
  return texture::samplers().add(sampler);
}

}  // namespace warpbit
