// SPDX-License-Identifier: Apache-2.0
#include "texture/sampler.hpp"

#include <map>
#include <mutex>
#include <shared_mutex>

#include "texture/texture.hpp"

namespace warpbit {
namespace texture {
namespace {

struct AllSamplers {
  std::shared_mutex mutex;
  std::map<std::uint64_t, std::shared_ptr<const ptx::Sampler>> samplers;
  std::uint64_t next = 0x0DC0'0000'0000;
};
AllSamplers& all_samplers() {
  static AllSamplers out;
  return out;
}

}  // namespace

std::shared_ptr<const ptx::Sampler> find_sampler(std::uint64_t handle) {
  AllSamplers& of = all_samplers();
  const std::shared_lock lock(of.mutex);
  const auto found = of.samplers.find(handle);
  return found == of.samplers.end() ? nullptr : found->second;
}

bool forget_sampler(std::uint64_t handle) {
  AllSamplers& of = all_samplers();
  const std::lock_guard lock(of.mutex);
  return of.samplers.erase(handle) != 0;
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
  texture::AllSamplers& of = texture::all_samplers();
  const std::lock_guard lock(of.mutex);
  of.next += 32;
  of.samplers.emplace(of.next, std::make_shared<Sampler>(sampler));
  return of.next;
}

}  // namespace warpbit
