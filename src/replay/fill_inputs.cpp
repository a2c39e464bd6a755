// SPDX-License-Identifier: Apache-2.0
// Registers of elements are made many at a time, in loops that compilers turn into vector instructions.
#include "replay/fill_inputs.hpp"

#include <algorithm>
#include <cstring>  // std::memcpy
#include <vector>

#include "warpbit/inputs.hpp"

// Compiled for several levels of x86-64, chosen at run time; everything is inlined.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define WARPBIT_CLONES [[gnu::flatten, gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
#else
#define WARPBIT_CLONES
#endif

namespace warpbit {
namespace {

using namespace inputs;
using U = std::uint32_t;

// Registers at a time.
constexpr int kRun = 64;

// The registers of a member, in rounded up runs: lane and number as in the counter, with and without the
// registers whose one element repeats that of the register before.
struct Places {
  std::vector<U> own, shared;

  explicit Places(const Member& m) {
    const bool by_lane = m.neighbour == Neighbour::lane;
    const int count = (m.lanes * m.registers + kRun - 1) / kRun * kRun;
    for (int i = 0; i < count; ++i) {
      const int lane = i / m.registers, reg = m.first + i % m.registers;
      own.push_back(counter_of(m, 0, lane, reg).w[3]);
      shared.push_back(counter_of(m, 0, by_lane ? lane & ~1 : lane, by_lane ? reg : reg & ~1).w[3]);
    }
  }
};

// A run of registers of one case, and its random bits: word by word.
struct Run {
  const U *place, *own;  // where they differ, a register repeats another one
  U random[4][kRun];
  U out[kRun];
};

// The same as inputs::philox, round by round.
WARPBIT_CLONES void make_random(Key key, Words counter, Run& run) {
  auto& [x0, x1, x2, x3] = run.random;
  for (int i = 0; i < kRun; ++i) {
    x0[i] = counter.w[0];
    x1[i] = counter.w[1];
    x2[i] = counter.w[2];
    x3[i] = run.place[i];
  }
  for (int round = 0; round < kPhiloxRounds; ++round) {
    for (int i = 0; i < kRun; ++i) philox_round(key, x0[i], x1[i], x2[i], x3[i]);
    key = next_key(key);
  }
}

// Element e of n of each register, as in inputs::share: where its random bits are.
struct Share {
  const U *fraction, *choice;
  int fraction_right = 0, choice_left = 0;
  U fraction_mask = ~U{0}, choice_mask = ~U{0};

  Share(const Run& run, int n, int e) {
    fraction = run.random[n == 1 ? 0 : n == 2 ? 2 * e : n == 4 ? e : e / 2];
    choice = n == 1 ? run.random[2] : n == 2 ? run.random[2 * e + 1] : fraction;
    if (n == 4) fraction_mask = 0xFF, choice_mask = 0xFFFFFF00;
    if (n == 8) {
      fraction_right = 16 * (e % 2), choice_left = 16 - fraction_right;
      fraction_mask = 0xF, choice_mask = U{0xFFFF} << fraction_right;
    }
  }
  Random<U> operator()(int i) const {
    return {fraction[i] >> fraction_right & fraction_mask, (choice[i] & choice_mask) << choice_left};
  }
};

// out |= the elements `code` makes of their random bits, in their place.
template <class Code>
inline void add_elements(const Member& m, Share share, int e, Run& run, Code code) {
  const int low = m.slot_bits * e + m.low_bit;
  const U mask = ones<U>(m.format.bits);
  for (int i = 0; i < kRun; ++i) run.out[i] |= (code(share(i), i) & mask) << low;
}

// As inputs::packed_elements.
template <class Code>
inline void pack_elements(const Member& m, const Setting& s, Run& run, Code code) {
  const int n = m.register_bits / m.slot_bits;
  const bool twins = has_twins(m, s);
  const Twin<U> twin = twin_of<U>(m);
  std::fill(run.out, run.out + kRun, 0);
  for (int e = 0; e < n; ++e) {
    const Share own(run, n, e);
    if (twins && n > 1 && e % 2 != 0)
      add_elements(m, Share(run, n, e - 1), e, run,
                   [=](const Random<U>& r, int i) { return twin_code(twin, code(r), own(i).choice >> 21); });
    else if (twins && n == 1)
      add_elements(m, own, e, run, [=, &run](const Random<U>& r, int i) {
        const U plain = code(r), other = twin_code(twin, plain, run.random[3][i]);
        return run.place[i] != run.own[i] ? other : plain;
      });
    else
      add_elements(m, own, e, run, [&](const Random<U>& r, int) { return code(r); });
  }
}

WARPBIT_CLONES void make_floating(const Member m, const Setting s, Run& run) {
  pack_elements(m, s, run,
                [c = coding_of<U>(m.format), s](const Random<U>& r) { return floating_element(c, s, r); });
}
WARPBIT_CLONES void make_aligned(const Member m, const Setting s, Run& run) {
  pack_elements(m, s, run,
                [c = coding_of<U>(m.format), s](const Random<U>& r) { return aligned_element(c, s, r); });
}
WARPBIT_CLONES void make_uniform(const Member m, const Setting s, Run& run) {
  pack_elements(m, s, run, [c = coding_of<U>(m.format)](const Random<U>& r) { return uniform_element(c, r); });
}

// Integers that are zero now and then.
template <class Code>
inline void pack_integers(const Member& m, const Setting& s, Run& run, Code code) {
  pack_elements(m, s, run, [zeros = s.zeros, code](const Random<U>& r) {
    const U other = code(r);
    return exception(r) < zeros ? U{0} : other;
  });
}
WARPBIT_CLONES void make_integers(const Member m, const Setting s, Run& run) {
  switch (s.profile) {
    case Profile::uniform:
    case Profile::wide: return pack_integers(m, s, run, [](const Random<U>& r) { return r.fraction; });
    case Profile::overflow:
      return pack_integers(m, s, run, [f = m.format, role = m.role, s](const Random<U>& r) {
        return extreme_integer(f, role, s, r);
      });
    case Profile::specials:
      return pack_integers(m, s, run, [f = m.format](const Random<U>& r) { return special_integer(f, r); });
    case Profile::alignment:
      return pack_integers(m, s, run, [f = m.format](const Random<U>& r) { return power_of_two(f, r); });
    default:
      return pack_integers(m, s, run, [f = m.format, s](const Random<U>& r) { return small_integer(f, s, r); });
  }
}
void make_bits(const Setting& s, Run& run) {
  for (int i = 0; i < kRun; ++i)
    run.out[i] =
        bits_word(s.profile, {{run.random[0][i], run.random[1][i], run.random[2][i], run.random[3][i]}});
}

void fill_run(const Member& m, const Setting& s, Key key, std::uint64_t index, Run& run) {
  make_random(key, counter_of(m, index, 0, 0), run);
  if (m.slot_bits == 1) return make_bits(s, run);
  if (m.format.exponent_bits == 0) return make_integers(m, s, run);
  if (s.profile == Profile::uniform) return make_uniform(m, s, run);
  return s.profile == Profile::alignment ? make_aligned(m, s, run) : make_floating(m, s, run);
}

void fill_runs(const CaptureMember& member, const Member& m, Key key, Profile profile, std::uint64_t first,
               std::uint64_t cases, std::byte* array) {
  const Places places(m);
  const int count = m.lanes * m.registers;
  Run run;
  for (std::uint64_t i = 0; i < cases; ++i, array += member.case_bytes()) {
    const Setting setting = setting_of(m, key, profile, first + i);
    const bool repeats = m.register_bits == m.slot_bits && has_twins(m, setting);
    for (int begin = 0; begin < count; begin += kRun) {
      run.own = places.own.data() + begin;
      run.place = (repeats ? places.shared : places.own).data() + begin;
      fill_run(m, setting, key, first + i, run);
      // All of a lane's registers are filled, or there is one lane.
      std::memcpy(array + sizeof(U) * static_cast<std::size_t>(m.first + begin), run.out,
                  sizeof(U) * static_cast<std::size_t>(std::min(kRun, count - begin)));
    }
  }
}

// Register by register.
template <class Register>
void fill_words(const CaptureMember& member, const Member& m, Key key, Profile profile, std::uint64_t first,
                std::uint64_t cases, std::byte* array) {
  for (std::uint64_t i = 0; i < cases; ++i, array += member.case_bytes()) {
    const Setting setting = setting_of(m, key, profile, first + i);
    for (int lane = 0; lane < m.lanes; ++lane)
      for (int reg = m.first; reg < m.first + m.registers; ++reg) {
        const auto value = static_cast<Register>(word(m, setting, key, first + i, lane, reg));
        std::memcpy(array + sizeof(Register) * static_cast<std::size_t>(lane * member.registers + reg), &value,
                    sizeof(Register));
      }
  }
}

}  // namespace

void fill_inputs(const CaptureMember& member, const Member& m, Key key, Profile profile, std::uint64_t first,
                 std::uint64_t cases, std::byte* array) {
  const bool dense = m.lanes == 1 || m.registers == member.registers;
  const bool many = m.lanes * m.registers > 1 && m.register_bits == 32 && profile != Profile::exhaustive;
  if (m.fill == Fill::elements && dense && many) return fill_runs(member, m, key, profile, first, cases, array);
  switch (m.register_bits) {
    case 8: return fill_words<std::uint8_t>(member, m, key, profile, first, cases, array);
    case 16: return fill_words<std::uint16_t>(member, m, key, profile, first, cases, array);
    case 32: return fill_words<std::uint32_t>(member, m, key, profile, first, cases, array);
    default: return fill_words<std::uint64_t>(member, m, key, profile, first, cases, array);
  }
}

}  // namespace warpbit
