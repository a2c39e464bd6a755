// SPDX-License-Identifier: Apache-2.0
// Global memory of a launch: the caller's buffers, variables of the module, parameters, and what the kernel allocates.
// Addresses of different ranges are far from each other, and an access must lie in one range.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "warpbit/result.hpp"

namespace warpbit::grid {

/// Where the shared and the local memory of a thread lie among the generic addresses.
inline constexpr std::uint64_t kSharedWindow = 0x7F00'0000'0000'0000, kLocalWindow = 0x7F10'0000'0000'0000,
                               kWindowBytes = std::uint64_t{1} << 32;
/// Where variables in .const, the parameters of the kernel, all else in global memory, arrays with an address of the
/// process (ptx::address), the heap and the workspace of a grid begin.
inline constexpr std::uint64_t kConstants = 0x0E00'0000'0000, kParameters = 0x0F00'0000'0000,
                               kBuffers = 0x1000'0000'0000, kNamed = 0x2000'0000'0000, kHeap = 0x3000'0000'0000,
                               kWorkspace = 0x3800'0000'0000;
/// The first address behind these. Below the constants and from here on callers may place memory themselves.
inline constexpr std::uint64_t kOwnEnd = 0x4000'0000'0000;

/// The 32 bits of an address in a window, whose registers may have 64. One of another space stays whole: no window has it.
inline std::uint64_t window_address(std::uint64_t address, std::uint64_t window) {
  const bool is_others =
      address >= kConstants && address >> 32 != 0xFFFF'FFFF && address - window >= kWindowBytes;
  return is_others ? address : static_cast<std::uint32_t>(address);
}

/// What a grid whose blocks wait for each other has (cooperative_groups::this_grid): its size, and a counter.
using Workspace = std::array<std::byte, 16>;

/// Bytes that are zero until they are written. The system gives a page of them when it is touched first. Throws std::bad_alloc.
class ZeroBytes {
 public:
  explicit ZeroBytes(std::uint64_t bytes);
  std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
};

/// What malloc and free have (CUDA C++ Programming Guide, "Heap Memory Allocation"): 8 MiB, for all blocks and launches of a
/// module.
class Heap {
 public:
  static constexpr std::uint64_t kBytes = 8 << 20;
  Heap();
  /// The address of `bytes` bytes, a multiple of 16, in the smallest gap that has them; 0 if there is none.
  std::uint64_t allocate(std::uint64_t bytes);
  /// False if nothing was allocated there.
  bool release(std::uint64_t address);
  /// Whether all these bytes were allocated together.
  bool holds(std::uint64_t address, std::uint64_t bytes) const;
  std::byte* data() { return data_.data(); }
  /// The bits that have been written of the byte at an address, and of those behind it. Precondition: it holds the byte.
  std::byte* defined(std::uint64_t address) const;

 private:
  void add_gap(std::uint64_t address, std::uint64_t bytes);
  void take_gap(std::uint64_t address, std::uint64_t bytes);

  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> sizes_;  // by address
  std::map<std::uint64_t, std::uint64_t> gaps_;   // the same; multiples of 16, none beside another one
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // size and address of gaps
  ZeroBytes data_{kBytes}, defined_{kBytes};
};

class GlobalMemory {
 public:
  struct Range {
    std::uint64_t address;
    std::uint64_t bytes;
    std::byte* data;
    bool writable;
    std::string name;
    const Heap* heap = nullptr;    ///< of which this is the memory
    std::byte* defined = nullptr;  ///< of memory that may be without a value: the bits that have been written
    bool began_with_values = true;

    /// Whether bytes lie in it.
    bool has(std::uint64_t from, std::uint64_t count) const {
      return count <= bytes && from - address <= bytes - count && (heap == nullptr || heap->holds(from, count));
    }
    /// "bytes 12 to 15 of the array of 'out'", from the first one of the range on; they may lie behind it.
    std::string part(std::uint64_t first, std::uint64_t count) const;
    /// Those of the byte at an address, and of those behind it; nullptr of memory that has values.
    std::byte* defined_at(std::uint64_t at) const {
      return defined == nullptr ? nullptr : defined + (at - address);
    }
  };

  /// Adds a range, whose bytes stay the caller's, and returns its address, a multiple of 256.
  std::uint64_t add(std::string name, std::span<std::byte> bytes);
  /// The same with bytes of its own, initially zero, which are there from `allocate` on.
  std::uint64_t add(std::string name, std::uint64_t bytes);
  /// The same in constant memory, which only `data` of its range writes.
  std::uint64_t add_constant(std::string name, std::uint64_t bytes);
  void allocate();
  /// Adds a range at an address that nothing else has.
  void add(Range range);
  /// The memory of the range at an address begins without a value; `defined`: a zero for each byte.
  void begin_undefined(std::uint64_t address, std::byte* defined);
  /// From now on memory that a kernel may write has a record of which bits have been written: all that have values now.
  void follow_values();
  /// Adds the parameters of the kernel: read-only memory at kParameters.
  void add_parameters(std::span<std::byte> bytes) {
    add({kParameters, bytes.size(), bytes.data(), false, "the parameters"});
  }
  /// Adds the ranges of another one, whose bytes stay its own. Precondition: this one is empty.
  void share(const GlobalMemory& other);

  /// Whether [address, address + bytes) has a byte of a range.
  bool overlaps(std::uint64_t address, std::uint64_t bytes) const;
  /// The range in which all of [address, address + bytes) lies; nullptr if there is none.
  const Range* find(std::uint64_t address, std::uint64_t bytes) const;
  /// "16 bytes at 0x... (bytes 4096 to 4111 of the array of 'out', which has 4096 bytes)".
  std::string describe(std::uint64_t address, std::uint64_t bytes) const;
  /// The array, or the heap, that it names; nullptr if there is none.
  const Range* near(std::uint64_t address) const;
  /// The range of a byte of the process. Precondition: there is one.
  const Range& range_of(const std::byte* byte) const { return *find_byte(byte); }
  /// The same; nullptr if there is none.
  const Range* find_byte(const std::byte* byte) const;
  std::span<const Range> ranges() const { return ranges_; }

 private:
  std::uint64_t insert(std::uint64_t& next, Range range);

  std::vector<Range> ranges_;  // by address
  std::vector<ZeroBytes> owned_;
  std::uint64_t next_ = kBuffers, next_constant_ = kConstants;
};

}  // namespace warpbit::grid
