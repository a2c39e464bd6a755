// SPDX-License-Identifier: Apache-2.0
// Fills members and makes digests of results: on the GPU if the kernels of generate.cu are at hand, else here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver.hpp"
#include "kernels.hpp"
#include "warpbit/inputs.hpp"

namespace capture {

/// Which inputs, of which cases.
struct Stream {
  warpbit::inputs::Key key;
  warpbit::inputs::Profile profile;
  std::uint64_t first, cases;
};

class Generator {
 public:
  /// From the PTX of generate.cu, which may be empty.
  Generator(const Device& device, const std::string& ptx);

  bool on_device() const { return fill_ != nullptr; }

  /// Fills the array of a member. What the GPU makes of the first case must be what is computed here.
  void fill(const KernelMember& member, const Stream& stream, DevicePointer to);
  /// A digest for each block of kBlockCases cases; the first case is the first of a block. The first time, that
  /// of a block made here must be the same.
  std::vector<std::uint64_t> digests(const KernelMember& result, const Stream& stream, DevicePointer from);

 private:
  std::vector<std::uint64_t> digests_on_device(const KernelMember& result, const Stream& stream,
                                               DevicePointer from);
  std::vector<std::uint64_t> digests_here(const KernelMember& result, const Stream& stream, DevicePointer from);

  const Device& device_;
  std::optional<Module> module_;
  Function fill_ = nullptr, digest_ = nullptr;
  bool digest_compared_ = false;
};

}  // namespace capture
