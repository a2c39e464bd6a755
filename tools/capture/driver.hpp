// SPDX-License-Identifier: Apache-2.0
// The CUDA driver, found at run time (CUDA Driver API manual; names with _v2 are those that cuda.h stands for).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace capture {

/// What went wrong, in words for a person.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// PTX whose `.version` is later than what reads it knows, with the one that its message names: "Unsupported
/// .version 9.0; current version is '8.7'". Nothing if the message is another.
std::optional<std::string> with_known_version(const std::string& ptx, const std::string& message);

/// An address in the memory of the GPU.
using DevicePointer = std::uint64_t;
using Function = struct CUfunc_st*;

struct Grid {
  std::uint64_t blocks;  ///< at most 2^31 - 1
  std::uint32_t threads;
  std::uint32_t rows = 1;  ///< of blocks
};

/// A GPU. Errors of kernels leave it unusable to this process.
class Device {
 public:
  explicit Device(int number);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }
  /// 90 for 9.0
  int compute_capability() const { return compute_capability_; }
  /// "580.159.04, CUDA 13.0", as far as known
  const std::string& driver() const { return driver_; }
  std::size_t free_bytes() const;

  /// Waits for all kernels; false if one of this process was in error.
  bool is_usable() const;

  DevicePointer allocate(std::size_t bytes) const;
  void free(DevicePointer pointer) const;
  void set(DevicePointer to, unsigned char value, std::size_t bytes) const;
  void copy_in(DevicePointer to, const void* from, std::size_t bytes) const;
  void copy_out(void* to, DevicePointer from, std::size_t bytes) const;

  /// A grid of blocks. `arguments` point to the values of the parameters.
  void launch(Function function, const Grid& grid, std::vector<void*> arguments) const;
  /// Waits for all kernels.
  void wait() const;

 private:
  int device_ = 0, compute_capability_ = 0;
  std::string name_, driver_;
};

/// Kernels on the GPU, as long as this lives.
class Module {
 public:
  /// From a cubin, or from PTX, which the driver assembles; what it says against it is in the Failure.
  Module(const Device& device, const std::string& image);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();

  Function function(const char* name) const;

 private:
  struct CUmod_st* module_ = nullptr;
};

/// Memory of the GPU, as long as this lives.
class Buffer {
 public:
  Buffer(const Device& device, std::size_t bytes)
      : device_(&device), bytes_(bytes), pointer_(device.allocate(bytes)) {}
  Buffer(Buffer&& other) noexcept : device_(other.device_), bytes_(other.bytes_), pointer_(other.pointer_) {
    other.pointer_ = 0;
  }
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer();

  std::size_t bytes() const { return bytes_; }
  DevicePointer pointer() const { return pointer_; }

 private:
  const Device* device_;
  std::size_t bytes_;
  DevicePointer pointer_;
};

}  // namespace capture
