// SPDX-License-Identifier: Apache-2.0
#include "scalar/decompress.hpp"

#include <algorithm>

#include "numeric/formats.hpp"

namespace warpbit::scalar {
namespace {

/// Fields of `bits` bits, of which none lies in two registers.
struct Fields {
  int bits;

  std::size_t reg(int i) const { return static_cast<std::size_t>(i * bits / 32); }
  int low(int i) const { return i * bits % 32; }
  std::uint32_t mask() const { return static_cast<std::uint32_t>(ones(bits)); }
  std::uint32_t get(std::span<const std::uint32_t> from, int i) const {
    return from[reg(i)] >> low(i) & mask();
  }
  void put(std::span<std::uint32_t> to, int i, std::uint32_t value) const {
    to[reg(i)] = (to[reg(i)] & ~(mask() << low(i))) | value << low(i);
  }
};

}  // namespace

int decompress(const ptx::Compression& of, std::span<const std::uint32_t> metadata,
               std::span<const std::uint32_t> compressed, std::span<std::uint32_t> dense) {
  const Fields elements{of.element}, indices{of.index};
  std::ranges::fill(dense, 0);
  for (int n = 0; n < of.number; ++n)
    for (int s = n * of.from; s < (n + 1) * of.from; ++s) {
      const auto index = static_cast<int>(indices.get(metadata, s));
      if (index >= of.to) return index;
      elements.put(dense, n * of.to + index, elements.get(compressed, s));
    }
  return -1;
}

}  // namespace warpbit::scalar
