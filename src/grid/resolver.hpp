// SPDX-License-Identifier: Apache-2.0
// Where the bytes lie that a lane accesses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "grid/bounds.hpp"
#include "grid/records.hpp"
#include "grid/steps.hpp"

namespace warpbit::grid::steps {

/// Undefined bits are stored to global memory, where others read them. False after a fault.
bool allows_undefined(Warp& warp, const Path& path, const Step& step, Lanes lanes,
                      const std::vector<Place>& from);
/// Bytes of a range, at an address; what is stored there has values from now on.
Target bytes_of(const GlobalMemory::Range& range, std::uint64_t address, std::uint64_t bytes, bool writes);

/// The address in a place of a step.
std::uint64_t address_of(Warp& warp, const Path& path, const Step& step, std::size_t place, int lane);

/// For the lanes of a step, one after the other.
class Resolver {
 public:
  Resolver(Warp& warp, Path& path, const Step& step)
      : warp_(warp), path_(path), step_(step), bounds_(bounds_of(warp, path, step.access)) {}

  /// data is nullptr after a fault. `unit`: the address is a multiple of it, if it is more than the bytes.
  Target resolve(int lane, std::uint64_t address, std::uint64_t bytes, bool writes, std::uint64_t unit = 0);

 private:
  Target fault(int lane, Error error);
  Target shared(int lane, std::uint64_t address, std::uint64_t bytes, bool of_cluster);
  Target local(int lane, std::uint64_t address, std::uint64_t bytes);
  Target parameter(int lane, std::uint64_t address, std::uint64_t bytes);
  Target global(int lane, std::uint64_t address, std::uint64_t bytes, bool writes);

  Warp& warp_;
  Path& path_;
  const Step& step_;
  std::optional<Bounds> bounds_;
  const GlobalMemory::Range* last_ = nullptr;  // in which a lane's bytes lay
};

}  // namespace warpbit::grid::steps
