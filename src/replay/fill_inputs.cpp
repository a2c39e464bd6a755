// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>  // std::memcpy
#include <span>
#include <vector>

#include "replay/execute_capture.hpp"

// Compiled for several levels of x86-64, chosen at run time; everything is inlined.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define WARPBIT_CLONES [[gnu::flatten, gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
#else
#define WARPBIT_CLONES
#endif

namespace warpbit {
namespace {

using namespace inputs;

// Registers of elements are made 64 at a time, in loops that compilers turn into vector instructions.
template <class U>
using Run = Registers<U, 64>;

WARPBIT_CLONES void make_run(const Member& m, const Setting& s, Key key, const Words& c,
                             Run<std::uint32_t>& run) {
  make_elements(m, s, key, c, run);
}
WARPBIT_CLONES void make_run(const Member& m, const Setting& s, Key key, const Words& c,
                             Run<std::uint64_t>& run) {
  make_elements(m, s, key, c, run);
}

// The registers of a case at `places`, which lie side by side.
template <class U>
void fill_runs(const Member& m, const Setting& setting, Key key, const Words& counter,
               std::span<const std::uint32_t> places, std::byte* to) {
  Run<U> run;
  while (!places.empty()) {
    const std::span now = places.first(std::min(places.size(), std::size(run.place)));
    std::ranges::copy(now, run.place);
    make_run(m, setting, key, counter, run);
    to = std::ranges::copy(std::as_bytes(std::span(run.out).first(now.size())), to).out;
    places = places.subspan(now.size());
  }
}

template <class Register>
void fill(const CaptureMember& member, const Member& m, Key key, Profile profile, std::uint64_t first,
          std::uint64_t cases, std::byte* array) {
  std::vector<std::uint32_t> places;
  for (int i = 0; i < m.lanes * m.registers; ++i)
    places.push_back(counter_of(m, 0, i / m.registers, m.first + i % m.registers).w[3]);
  const auto at = [&](std::uint32_t place) {
    return array +
           sizeof(Register) * ((place >> 16) * static_cast<std::size_t>(member.registers) + (place & 0xFFFF));
  };
  using U = std::conditional_t<sizeof(Register) == 8, std::uint64_t, std::uint32_t>;
  const bool dense = m.lanes == 1 || m.registers == member.registers;
  const bool in_runs = dense && m.fill == Fill::elements && places.size() > 1 &&
                       profile != Profile::exhaustive && sizeof(Register) == (m.format.bits > 32 ? 8 : 4);
  if (m.fill == Fill::elements &&
      profile == Profile::exhaustive) {  // multiples of what case 1 has (elements_word)
    for (const std::uint32_t place : places) {
      const std::uint64_t one = elements_word(m, setting_of(m, key, profile, 1), key, 1,
                                              static_cast<int>(place >> 16), static_cast<int>(place & 0xFFFF));
      std::byte* to = at(place);
      for (std::uint64_t i = first; i < first + cases; ++i, to += member.case_bytes()) {
        const auto value = static_cast<Register>(i * one);
        std::memcpy(to, &value, sizeof(Register));
      }
    }
    return;
  }
  for (std::uint64_t i = first; i < first + cases; ++i, array += member.case_bytes()) {
    const Setting setting = setting_of(m, key, profile, i);
    if (in_runs) {
      fill_runs<U>(m, setting, key, counter_of(m, i, 0, 0), places, at(places.front()));
      continue;
    }
    for (const std::uint32_t place : places) {
      const auto value = static_cast<Register>(
          word(m, setting, key, i, static_cast<int>(place >> 16), static_cast<int>(place & 0xFFFF)));
      std::memcpy(at(place), &value, sizeof(Register));
    }
  }
}

}  // namespace

void fill_inputs(const CaptureMember& member, const Member& m, Key key, Profile profile, std::uint64_t first,
                 std::uint64_t cases, std::byte* array) {
  const auto run = m.register_bits == 8    ? fill<std::uint8_t>
                   : m.register_bits == 16 ? fill<std::uint16_t>
                   : m.register_bits == 32 ? fill<std::uint32_t>
                                           : fill<std::uint64_t>;
  run(member, m, key, profile, first, cases, array);
}

}  // namespace warpbit
