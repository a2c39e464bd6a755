// SPDX-License-Identifier: Apache-2.0
#include "kernel/elementwise.hpp"

#include <array>

namespace warpbit {

void run_elementwise(const ElementwiseKernel& k, std::span<const OperandView> sources,
                     const OperandView& random_bits, const ResultView& destination, std::size_t index) {
  thread_local std::array<RegisterFile, kMaxSources> files;
  thread_local RegisterFile random, out;
  for (std::size_t i = 0; i < k.sources.size(); ++i) files[i].load(k.sources[i], sources[i], k.lanes, index);
  out.clear(k.destination.registers, k.lanes);
  if (k.random_bits) random.load(*k.random_bits, random_bits, k.lanes, index);
  const auto share = [&](std::size_t element) {
    return k.random_bits ? warpbit::random_bits(k.conversion->to, static_cast<int>(element),
                                                static_cast<std::uint32_t>(random.at(0, 0)))
                         : 0;
  };
  for (std::size_t i = 0; i < k.elements.size(); ++i) {
    const std::uint64_t code = files[k.elements[i].operand].get(k.elements[i].bits);
    out.set(k.destination.places[i], k.conversion ? convert(*k.conversion, code, share(i)) : code);
  }
  out.store(k.destination.registers, destination, k.lanes, index);
}

}  // namespace warpbit
