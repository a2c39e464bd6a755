// SPDX-License-Identifier: Apache-2.0
#include "kernel/gather.hpp"

#include <algorithm>
#include <cstring>

namespace warpbit {
namespace {

// Whether the elements lie in runs of `bytes` bytes.
bool lie_in_runs(std::span<const GatheredElement> elements, int element_bytes, int bytes) {
  const auto count = static_cast<std::size_t>(bytes / element_bytes);
  if (count == 0 || elements.size() % count != 0) return false;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const GatheredElement& first = elements[i - i % count];
    const int offset = static_cast<int>(i % count) * element_bytes;
    if (elements[i].in_operand != first.in_operand + offset || elements[i].in_panel != first.in_panel + offset)
      return false;
  }
  return true;
}

}  // namespace

Gather::Gather(std::span<const GatheredElement> elements, int element_bytes) : run_bytes_(element_bytes) {
  for (const int bytes : {2, 4, 8, 16})
    if (lie_in_runs(elements, element_bytes, bytes)) run_bytes_ = bytes;
  for (std::size_t i = 0; i < elements.size(); i += static_cast<std::size_t>(run_bytes_ / element_bytes))
    runs_.push_back(elements[i]);
  is_copy_ = std::ranges::all_of(runs_, [](const auto& run) { return run.in_operand == run.in_panel; });
}

template <class Move>
void Gather::by_size(Move move) const {
  switch (run_bytes_) {
    case 1: return move.template operator()<1>();
    case 2: return move.template operator()<2>();
    case 4: return move.template operator()<4>();
    case 8: return move.template operator()<8>();
    default: return move.template operator()<16>();
  }
}

void Gather::to_panel(const std::byte* registers, std::byte* panel) const {
  by_size([&]<std::size_t kBytes>() {
    for (const GatheredElement& run : runs_)
      std::memcpy(panel + run.in_panel, registers + run.in_operand, kBytes);
  });
}

void Gather::to_registers(const std::byte* panel, std::byte* registers) const {
  by_size([&]<std::size_t kBytes>() {
    for (const GatheredElement& run : runs_)
      std::memcpy(registers + run.in_operand, panel + run.in_panel, kBytes);
  });
}

const std::byte* Gather::panel(const std::byte* registers, std::vector<std::uint32_t>& scratch) const {
  if (is_copy_) return registers;
  scratch.resize((bytes() + 3) / 4);
  auto* out = reinterpret_cast<std::byte*>(scratch.data());
  to_panel(registers, out);
  return out;
}

}  // namespace warpbit
