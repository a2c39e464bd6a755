// SPDX-License-Identifier: Apache-2.0
#include "kernel/gather.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

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
  for (std::size_t i = 0; i < runs_.size(); ++i)
    has_gaps_ = has_gaps_ || runs_[i].in_panel != i * static_cast<std::size_t>(run_bytes_);
}

template <class Move>
void Gather::for_each_run(Move move) const {
  const auto all = [&]<std::size_t kBytes>(std::integral_constant<std::size_t, kBytes> bytes) {
    if (has_gaps_)
      for (const GatheredElement& run : runs_) move(bytes, run, run.in_panel);
    else
      for (std::size_t at = 0; const GatheredElement& run : runs_) move(bytes, run, at), at += kBytes;
  };
  switch (run_bytes_) {
    case 1: return all(std::integral_constant<std::size_t, 1>{});
    case 2: return all(std::integral_constant<std::size_t, 2>{});
    case 4: return all(std::integral_constant<std::size_t, 4>{});
    case 8: return all(std::integral_constant<std::size_t, 8>{});
    default: return all(std::integral_constant<std::size_t, 16>{});
  }
}

void Gather::to_panel(const std::byte* registers, std::byte* panel) const {
  for_each_run([=](auto bytes, const GatheredElement& run, std::size_t at) {
    std::memcpy(panel + at, registers + run.in_operand, bytes);
  });
}

void Gather::to_registers(const std::byte* panel, std::byte* registers) const {
  for_each_run([=](auto bytes, const GatheredElement& run, std::size_t at) {
    std::memcpy(registers + run.in_operand, panel + at, bytes);
  });
}

const std::byte* Gather::panel(const std::byte* registers, Scratch::Words& to) const {
  if (is_copy_) return registers;
  to.resize((bytes() + 3) / 4);
  to_panel(registers, bytes_of(to));
  return bytes_of(to);
}

}  // namespace warpbit
