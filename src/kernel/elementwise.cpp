// SPDX-License-Identifier: Apache-2.0
#include "kernel/elementwise.hpp"

#include <algorithm>
#include <array>

#include "kernel/conversion_table.hpp"

namespace warpbit {
namespace {

void run_case(const ElementwiseKernel& k, std::span<const OperandView> sources, const OperandView& extra,
              const ResultView& destination, std::size_t index) {
  thread_local std::array<RegisterFile, kMaxSources> files;
  thread_local RegisterFile extras, out;
  for (std::size_t i = 0; i < k.sources.size(); ++i) files[i].load(k.sources[i], sources[i], k.lanes, index);
  out.clear(k.destination.registers, k.lanes);
  if (k.extra) extras.load(*k.extra, extra, k.lanes, index);
  const auto share = [&](std::size_t element) {
    return k.extra
               ? extra_of(*k.conversion, static_cast<int>(element), static_cast<std::uint32_t>(extras.at(0, 0)))
               : 0;
  };
  for (std::size_t i = 0; i < k.elements.size(); ++i) {
    const std::uint64_t code = files[k.elements[i].operand].get(k.elements[i].bits);
    out.set(k.destination.places[i], k.conversion ? convert(*k.conversion, code, share(i)) : code);
  }
  out.store(k.destination.registers, destination, k.lanes, index);
}

// ---- By a table: conversions of one lane to one register, straight from registers

bool is_single(const ElementwiseKernel& k) {
  const auto has_literals = [](const TileRegisters& registers) { return !registers.literals.empty(); };
  return k.lanes == 1 && k.destination.registers.count == 1 && !std::ranges::any_of(k.sources, has_literals);
}

std::uint32_t load_register(const std::byte* from, int bytes) {
  std::uint32_t out = 0;
  switch (bytes) {
    case 1: std::memcpy(&out, from, 1); break;
    case 2: std::memcpy(&out, from, 2); break;
    default: std::memcpy(&out, from, 4); break;
  }
  return out;
}
void store_register(std::byte* to, int bytes, std::uint32_t value) {
  switch (bytes) {
    case 1: std::memcpy(to, &value, 1); break;
    case 2: std::memcpy(to, &value, 2); break;
    default: std::memcpy(to, &value, 4); break;
  }
}

struct SourceBits {
  const std::byte* first;
  std::ptrdiff_t stride;  // from case to case
  int bytes, low_bit;
};

void look_up(const ConversionTable& table, std::span<const SourceBits> elements,
             std::span<const RegisterBits> places, std::byte* to, std::ptrdiff_t stride, int bytes,
             std::size_t cases) {
  for (std::size_t i = 0; i < cases; ++i, to += stride) {
    std::uint32_t out = 0;
    for (std::size_t e = 0; e < elements.size(); ++e) {
      const SourceBits& x = elements[e];
      const std::uint32_t word = load_register(x.first + static_cast<std::ptrdiff_t>(i) * x.stride, x.bytes);
      out |= table(word >> x.low_bit) << places[e].low_bit;
    }
    store_register(to, bytes, out);
  }
}

}  // namespace

void run_elementwise(const ElementwiseKernel& k, std::span<const OperandView> sources, const OperandView& extra,
                     const ResultView& destination, std::size_t first, std::size_t last,
                     const ConversionTable* table) {
  if (table == nullptr || !is_single(k)) {
    for (std::size_t i = first; i < last; ++i) run_case(k, sources, extra, destination, i);
    return;
  }
  std::array<SourceBits, 8> elements;
  for (std::size_t e = 0; e < k.elements.size(); ++e) {
    const auto& [operand, bits] = k.elements[e];
    const OperandView& view = sources[operand];
    elements[e] = {view.at(first, bits.lane, bits.reg), view.case_stride, k.sources[operand].bits / 8,
                   bits.low_bit};
  }
  look_up(*table, std::span(elements).first(k.elements.size()), k.destination.places,
          destination.at(first, 0, 0), destination.case_stride, k.destination.registers.bits / 8, last - first);
}

}  // namespace warpbit
