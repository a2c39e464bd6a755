// SPDX-License-Identifier: Apache-2.0
// The memory that the threads of a block see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/result.hpp"
#include "warpbit/view.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// What an address means (PTX manual, "State Spaces" and "Generic Addressing").
enum class Space {
  generic,  ///< shared memory from its window on; global memory at its own addresses
  global,
  shared,  ///< 0 is the first byte of the block's shared memory
};

/// The name of a space as PTX spells it, without the dot.
std::string_view name(Space space);

/// Bytes of shared memory and any number of ranges of global memory, zero at first. An access lies in one
/// range as a whole: where two ranges touch, none goes across.
class Memory {
 public:
  /// `shared_bytes` bytes of shared memory, which in the generic space begin at address `window`.
  /// Precondition: window + shared_bytes does not exceed 2^64.
  explicit Memory(std::uint64_t shared_bytes = 0, std::uint64_t window = 0);

  /// Adds global memory at [address, address + bytes), which are also its generic addresses. Errors:
  /// memory_overlap with the shared window or with global memory; address_out_of_bounds beyond 2^64.
  Result<void> add_global(std::uint64_t address, std::uint64_t bytes);

  /// True if every byte of [address, address + bytes) lies in one range of the space.
  bool contains(Space space, std::uint64_t address, std::uint64_t bytes) const;
  /// Copies bytes out. Errors: address_out_of_bounds.
  Result<void> read(Space space, std::uint64_t address, std::span<std::byte> out) const;
  /// Copies bytes in through the generic proxy, all or none. Errors: address_out_of_bounds.
  Result<void> write(Space space, std::uint64_t address, std::span<const std::byte> bytes);

  /// The same through the async proxy, into shared memory (PTX manual, "Async proxy").
  Result<void> write_async(std::uint64_t address, std::span<const std::byte> bytes);
  /// Orders what was written to shared memory through the generic proxy before reads through the async proxy.
  void fence_proxy();
  /// The first bytes in a row, out of `bytes` from `address` of shared memory, that were last written through
  /// the generic proxy and not been ordered since; nothing if there are none.
  std::optional<ByteRange> unordered(std::uint64_t address, std::uint64_t bytes) const;

  /// Where in shared memory an access lies, if it does.
  std::optional<ByteRange> in_shared(Space space, std::uint64_t address, std::uint64_t bytes) const;

  /// The bytes of shared memory.
  std::span<const std::byte> shared() const { return ranges_.front().bytes; }
  std::uint64_t shared_bytes() const { return ranges_.front().bytes.size(); }
  /// The generic address of the first byte of shared memory.
  std::uint64_t window() const { return ranges_.front().address; }

 private:
  struct Range {
    std::uint64_t address;  // in the generic space
    std::vector<std::byte> bytes;
  };
  // Where an access begins: the number of its range and the offset in it.
  struct Place {
    std::size_t range;
    std::uint64_t offset;
  };
  std::optional<Place> find(Space space, std::uint64_t address, std::uint64_t bytes) const;
  std::string extent(std::size_t range, Space space) const;
  Error out_of_bounds(Space space, std::uint64_t address, std::uint64_t bytes) const;

  std::vector<Range> ranges_;    // the first is shared memory
  std::vector<bool> unordered_;  // by byte of shared memory
};

}  // namespace warpbit
#pragma GCC visibility pop
