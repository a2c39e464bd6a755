// SPDX-License-Identifier: Apache-2.0
// The panels of one case, from the registers of a factor to values and exponents.
#pragma once

#include "kernel/body.hpp"
#include "kernel/body/panels.hpp"
#include "kernel/body/vectors.hpp"

namespace warpbit {
namespace {

// ---- tf32 by powers, without a detour by codes: few products share the work

#if defined(__AVX512BW__)
template <bool kByRegister>
bool unpack_tf32_a(const std::byte* registers, int count, float* values, float* powers) {
  PowersTo to{values, powers};
  for (int at = 0; at < count / kLanes; ++at) {
    const U32 v = load<U32>(registers + 64 * at) & 0xFFFFE000;
    to.put(at, kByRegister ? by_register_order(v) : v);
  }
  return to.specials.any();
}

template <bool kByRegister>
bool unpack_tf32_b(const std::byte* registers, int depth, float* values, float* powers) {
  U32 words[4];
  if (depth == 4)
    words_of_short_columns(registers, words);
  else
    words_of_columns<kByRegister>(registers, words);
  SpecialsFound specials;
  for (int two = 0; two < depth / 2; ++two) {
    const U32 codes = words[two] & 0xFFFFE000;
    specials.add(codes);
#pragma GCC unroll 2
    for (int which = 0; which < 2; ++which) {
      const U32 code = twice(codes, which);
      store(values + 32 * two + 16 * which, code);
      store(powers + 32 * two + 16 * which, code & 0x7F800000);
    }
  }
  return specials.any();
}
#endif

// ---- B of halves and near bf16: exponents of codes that are not yet there twice

#if defined(__AVX512BW__)
// Two words of eight columns at a time, [word][column], as f16 or bf16 codes: four k of the panel.
struct ColumnsTo {
  const Encoding& encoding;
  int top;
  std::uint32_t* codes;
  float* values;
  std::int8_t* exponents;
  Words most{};

  __attribute__((always_inline)) void put(int four, U32 words) {
    const Words magnitude = bits<Words>(words) & 0x7FFF;
    most = max(most, magnitude);
    if (encoding.kind == Encoding::Kind::half) {
      put_exponents(four, exponents_of_half(encoding, magnitude));
      put_codes(four, words);
    } else {
      put_exponents(four, exponents_of_bf16(magnitude, top));
      put_bf16(four, words);
    }
  }

 private:
  // e0 e1 of the first word, e2 e3 of the second -> e0 e0 e1 e1 e2 e2 e3 e3
  void put_exponents(int four, Words found) {
    const U32 by_column = shuffle(bits<U32>(found), [](int i) { return i % 2 * 8 + i / 2; });
    store(exponents + 64 * four,
          look_up(bits<Octets>(by_column), lanes<Octets>([](int i) { return i % 16 / 2 * 2; })));
  }
  void put_codes(int four, U32 words) {
    struct Halves {
      VectorOf<std::uint32_t, kLanes / 2>::type word[2];
    };
    std::uint32_t* to = codes + 32 * four;
#pragma GCC unroll 2
    for (int which = 0; which < 2; ++which) {
      const auto twice = bits<Halves>(look_up(
          bits<Octets>(words), lanes<Octets>([which](int i) { return i % 16 / 4 * 4 + i % 2 + 2 * which; })));
      store(to + 8 * which, twice.word[0]);
      store(to + 8 * which + 16, twice.word[1]);
    }
  }
  void put_bf16(int four, U32 words) {
    float* to = values + 64 * four;
#pragma GCC unroll 2
    for (int which = 0; which < 2; ++which) {
      const U32 word = twice(words, which);
      store(to + 32 * which, word << 16);
      store(to + 32 * which + 16, word & 0xFFFF0000);
    }
  }
};

// True if there are specials, as decode().
bool unpack_columns(const Encoding& e, const std::byte* registers, int depth, bool by_register, int top,
                    std::uint32_t* codes, float* values, std::int8_t* exponents) {
  const int twos = depth * e.bytes / 8, group = by_register ? twos / 2 : twos;
  U32 words[4];
  if (twos == 2)
    words_of_short_columns(registers, words);
  else
    (by_register ? words_of_columns<true> : words_of_columns<false>)(registers, words);
  ColumnsTo to{e, top, codes, values, exponents};
  for (int i = 0; i < twos; ++i) {
    if (e.bytes == 2) {
      to.put(i, words[i]);
    } else {
      const int at = i / group * 2 * group + i % group;
      to.put(at, low_halves(e, words[i]));
      to.put(at + group, high_halves(e, words[i]));
    }
  }
  if (e.kind == Encoding::Kind::bf16) return top == 255;
  const auto* halves = reinterpret_cast<const std::uint16_t*>(codes);
  for (int i = 0; i < kBlock * depth; i += 2 * kLanes) store_halves(halves + i, values + i);
  return any(to.most >= e.first_special);
}
#endif

// ---- From registers to values and exponents

// True if there are specials, as decode().
inline bool unpack_a(const Encoding& e, const std::byte* registers, int rows, int depth, bool by_register,
                     int top, void* codes, float* values, void* exponents) {
  const int count = 2 * rows * depth;
#if defined(__AVX512BW__)
  if (e.kind == Encoding::Kind::tf32 && top == 0)
    return (by_register ? unpack_tf32_a<true> : unpack_tf32_a<false>)(registers, count, values,
                                                                      static_cast<float*>(exponents));
#endif
  arrange_a(e, registers, rows, depth, by_register, codes);
  return decode(e, codes, count, 2, top, values, exponents);
}
inline bool unpack_b(const Encoding& e, const std::byte* registers, int depth, bool by_register, int top,
                     std::uint32_t* codes, float* values, void* exponents) {
#if defined(__AVX512BW__)
  if (e.bytes < 4 && top != 0 && (depth * e.bytes == 16 || depth * e.bytes == 32))
    return unpack_columns(e, registers, depth, by_register, top, codes, values,
                          static_cast<std::int8_t*>(exponents));
  if (e.kind == Encoding::Kind::tf32 && top == 0 && depth <= 8)
    return (by_register ? unpack_tf32_b<true> : unpack_tf32_b<false>)(registers, depth, values,
                                                                      static_cast<float*>(exponents));
#endif
  arrange_b(e, registers, depth, by_register, codes);
  return decode(e, codes, kBlock * depth, kBlock, top, values, exponents);
}

// A factor of one case: its codes in the order of the panel, and the panel. What m16n8k16 needs of all these,
// of A and of B, lies at different places of a page: a load waits for an earlier store to its own place of
// another one.
struct Factor {
  static constexpr int kMost = kBlock * kMostDepth;
  alignas(64) float values[kMost + 256];
  alignas(64) std::int32_t exponents[kMost + 64];
  alignas(64) std::uint32_t codes[kMost + 128];
};
struct Factors {
  Factor a, b;
  std::uint16_t a_special[kMostRows], b_special[1];
};

}  // namespace
}  // namespace warpbit
