// SPDX-License-Identifier: Apache-2.0
// The members of some cases on the GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "driver.hpp"
#include "generator.hpp"
#include "kernels.hpp"

namespace capture {

inline constexpr std::uint32_t kThreadsOfBlock = 256;  ///< of an instruction of each thread

/// Memory of the GPU for all members of some cases.
class Arrays {
 public:
  Arrays(const Device& device, const Kernel& kernel, std::uint64_t cases) : device_(device), kernel_(kernel) {
    for (const KernelMember& member : kernel.members) buffers_.emplace_back(device, member.bytes() * cases);
  }

  void fill(Generator& generator, const Stream& stream) {
    for (std::size_t i = 0; i + 1 < buffers_.size(); ++i)
      generator.fill(kernel_.members[i], stream, buffers_[i].pointer());
  }

  void write(std::size_t i, const std::vector<unsigned char>& bytes) const {
    device_.copy_in(buffers_[i].pointer(), bytes.data(), bytes.size());
  }

  /// What is not written keeps the bits of `unwritten`.
  void run(Function function, std::uint64_t cases, unsigned char unwritten) {
    device_.set(result(), unwritten, kernel_.result().bytes() * cases);
    std::vector<DevicePointer> pointers;
    for (const Buffer& buffer : buffers_) pointers.push_back(buffer.pointer());
    std::vector<void*> arguments;
    for (DevicePointer& pointer : pointers) arguments.push_back(&pointer);
    auto count = static_cast<std::uint32_t>(cases);
    const bool each_thread = kernel_.lanes == 1;
    if (each_thread) arguments.push_back(&count);
    device_.launch(function,
                   each_thread ? Grid{(cases + kThreadsOfBlock - 1) / kThreadsOfBlock, kThreadsOfBlock}
                               : Grid{cases, kernel_.lanes},
                   arguments);
    device_.wait();
  }

  std::vector<unsigned char> read(std::size_t i, std::uint64_t cases) const {
    std::vector<unsigned char> out(kernel_.members[i].bytes() * cases);
    device_.copy_out(out.data(), buffers_[i].pointer(), out.size());
    return out;
  }
  DevicePointer result() const { return buffers_.back().pointer(); }

 private:
  const Device& device_;
  const Kernel& kernel_;
  std::vector<Buffer> buffers_;
};

[[noreturn]] inline void not_the_same() {
  throw Failure("two runs on the same inputs returned different bits");
}

}  // namespace capture
