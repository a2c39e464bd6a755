// SPDX-License-Identifier: Apache-2.0
// Textures, samplers or surfaces of the process, by the handles that kernels have of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string_view>

namespace warpbit::texture {

/// What a fault says of a number that is no handle of the process: by it others know the fault.
inline constexpr std::string_view kNoTexture = "is no texture", kNoSurface = "is no surface";

template <class T>
class Handles {
 public:
  /// Handles begin behind `first`: each kind has its own.
  explicit Handles(std::uint64_t first) : last_(first) {}

  std::uint64_t add(const T& one) {
    const std::lock_guard lock(mutex_);
    last_ += kStep;
    all_.emplace(last_, std::make_shared<T>(one));
    return last_;
  }
  /// nullptr if there is none.
  std::shared_ptr<const T> find(std::uint64_t handle) const {
    const std::shared_lock lock(mutex_);
    const auto found = all_.find(handle);
    return found == all_.end() ? nullptr : found->second;
  }
  /// False if there is none.
  bool forget(std::uint64_t handle) {
    const std::lock_guard lock(mutex_);
    return all_.erase(handle) != 0;
  }
  template <class Visit>
  void for_each(Visit visit) const {
    const std::shared_lock lock(mutex_);
    for (const auto& [handle, one] : all_) visit(*one);
  }

 private:
  static constexpr std::uint64_t kStep = 32;
  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<const T>> all_;
  std::uint64_t last_;
};

}  // namespace warpbit::texture
