// SPDX-License-Identifier: Apache-2.0
// Panels: from the registers of a factor to codes in the order of blocks, and from these to values and
// exponents.
//
// A register holds 4 / bytes elements. Of A two registers make a unit, one of each row of a pair; a code of one
// byte becomes an f16 code:
//
//     bytes 4   x | y                         -> x y
//     bytes 2   x0 x1 | y0 y1                 -> x0 y0 x1 y1
//     bytes 1   x0 x1 x2 x3 | y0 y1 y2 y3     -> x0 y0 x1 y1, and after those of all units x2 y2 x3 y3
//
// Of B a register alone holds neighbours in k; of tf32 two are brought side by side. A lane has one unit or
// two, of B one register or more; by_register the first of all lanes come first.
#pragma once

#include "kernel/body.hpp"
#include "kernel/body/vectors.hpp"

namespace warpbit {
namespace {

// Two bytes in the low bytes of 16-bit halves, as f16 codes; of a word or a vector of words.
template <class V>
inline V as_halves(const Encoding& e, V v) {
  const std::uint32_t sign = e.sign_mask * 0x10001U, magnitude = e.magnitude_mask * 0x10001U;
  return (v & sign) << e.sign_shift | (v & magnitude) << e.magnitude_shift;
}
#if defined(__AVX512BW__)
// The same of bytes in the high bytes of halves: the sign up to its place, then down with it, the copies of the
// sign that follow masked. Shifts by vectors take one instruction, those by a number that is not known two.
//
//     S EEEE MMM 00000000   ->   S S EEEE MMM 0000000   ->   S 0 EEEE MMM 0000000        e4m3
struct MovedUp {
  Words up, down, kept;

  explicit MovedUp(const Encoding& e)
      : up(repeat(static_cast<std::uint16_t>(e.sign_shift - 8))),
        down(repeat(static_cast<std::uint16_t>(e.sign_shift - e.magnitude_shift))),
        kept(repeat(
            static_cast<std::uint16_t>(e.sign_mask << e.sign_shift | e.magnitude_mask << e.magnitude_shift))) {}
  U32 operator()(Octets high_bytes) const {
    const __m512i signs = _mm512_sllv_epi16(bits<__m512i>(high_bytes), bits<__m512i>(up));
    return bits<U32>(bits<Words>(_mm512_srav_epi16(signs, bits<__m512i>(down))) & kept);
  }
};
// Two bytes of each word, from the first one on.
inline __attribute__((always_inline)) Octets two_bytes(U32 v, int first) {
  return look_up(bits<Octets>(v), lanes<Octets>([first](int i) {
                   return i % 2 == 0 ? 0x80 : i % 16 / 4 * 4 + i % 4 / 2 + first;
                 }));
}
inline U32 low_halves(const Encoding& e, U32 v) {
  return MovedUp(e)(two_bytes(v, 0));
}
inline U32 high_halves(const Encoding& e, U32 v) {
  return MovedUp(e)(two_bytes(v, 2));
}
// Of units, x0 x1 x2 x3 | y0 y1 y2 y3: x0 y0 x1 y1, or x2 y2 x3 y3 in the sixteens where first(i) is 2.
template <class First>
inline __attribute__((always_inline)) Octets bytes_of_units(U32 v, First first) {
  return look_up(bits<Octets>(v), lanes<Octets>([first](int i) {
                   return i % 2 == 0 ? 0x80 : i % 16 / 8 * 8 + i % 4 / 2 * 4 + i % 8 / 4 + first(i);
                 }));
}
#endif
// The lower two bytes of a word, and the upper two.
template <class V>
inline V low_halves(const Encoding& e, V v) {
  return as_halves(e, (v & 0xFF) | (v & 0xFF00) << 8);
}
template <class V>
inline V high_halves(const Encoding& e, V v) {
  return as_halves(e, (v >> 16 & 0xFF) | v >> 24 << 16);
}

// ---- A

#if defined(__AVX512BW__)
// Of eight units, two a lane: the first ones first.
constexpr int by_register_place(int i) {
  return i < 4 ? 2 * i : 2 * i - 7;
}
inline U32 by_register_order(U32 v) {
  return bits<U32>(shuffle(bits<U64>(v), by_register_place));
}

// Units of two-byte elements.
template <bool kByRegister>
inline __attribute__((always_inline)) Words rows_side_by_side(Words v) {
  return shuffle(v, [](int i) {
    const int unit = kByRegister ? by_register_place(i / 4) : i / 4;
    return 4 * unit + i % 2 * 2 + i % 4 / 2;
  });
}

// 64 bytes of registers of one-byte elements, in the order of the panel: of all units the lower halves and the
// upper ones, or, if grouped, those of each four units.
template <bool kGrouped, bool kByRegister, class Put>
inline __attribute__((always_inline)) void for_halves_of_units(U32 v, Put put) {
  static_assert(kGrouped || !kByRegister);
  if constexpr (kGrouped) {
#pragma GCC unroll 2
    for (int four = 0; four < 2; ++four) {
      const auto twice = bits<U32>(shuffle(bits<U64>(v), [four](int i) {
        const int unit = 4 * four + i % 4;
        return kByRegister ? by_register_place(unit) : unit;
      }));
      put(four, bytes_of_units(twice, [](int i) { return i < 32 ? 0 : 2; }));
    }
  } else {
    put(0, bytes_of_units(v, [](int) { return 0; }));
    put(1, bytes_of_units(v, [](int) { return 2; }));
  }
}

// Registers of 64 bytes: one pair of rows with two units a lane, or two pairs with one.
template <bool kByRegister>
inline void arrange_pairs(const Encoding& e, const std::byte* registers, bool two_rows, std::byte* to) {
  const auto v = load<U32>(registers);
  if (e.bytes == 4) return store(to, kByRegister ? by_register_order(v) : v);
  if (e.bytes == 2) return store(to, rows_side_by_side<kByRegister>(bits<Words>(v)));
  const auto put = [&, moved = MovedUp(e)](int half, Octets high_bytes) {
    store(to + 64 * half, moved(high_bytes));
  };
  kByRegister || two_rows ? for_halves_of_units<true, kByRegister>(v, put)
                          : for_halves_of_units<false, false>(v, put);
}

void arrange_a(const Encoding& e, const std::byte* registers, int rows, int depth, bool by_register,
               void* codes) {
  auto* to = static_cast<std::byte*>(codes);
  const int row_bytes = 2 * depth * e.bytes;
  for (int at = 0; at < rows * row_bytes; at += 64)
    (by_register ? arrange_pairs<true> : arrange_pairs<false>)(e, registers + at, row_bytes == 32,
                                                               to + at * (e.bytes == 1 ? 2 : 1));
}
#else
// x0 x1 y0 y1 -> x0 y0 x1 y1
inline std::uint64_t interleave(std::uint32_t x, std::uint32_t y) {
  return std::uint64_t{x & 0xFFFF} | std::uint64_t{y & 0xFFFF} << 16 | std::uint64_t{x >> 16} << 32 |
         std::uint64_t{y >> 16} << 48;
}

void arrange_a(const Encoding& e, const std::byte* registers, int rows, int depth, bool by_register,
               void* codes) {
  const int units = depth * e.bytes / 4, group = by_register ? units / 2 : units;
  auto* to = static_cast<std::byte*>(codes);
  for (int row = 0; row < rows; ++row, to += 2 * depth * (e.bytes == 1 ? 2 : e.bytes))
    for (int unit = 0; unit < units; ++unit, registers += 8) {
      const int at = by_register ? unit % 2 * group + unit / 2 : unit;
      const auto x = load<std::uint32_t>(registers), y = load<std::uint32_t>(registers + 4);
      if (e.bytes == 4) {
        store(to + 8 * at, x);
        store(to + 8 * at + 4, y);
      } else if (e.bytes == 2) {
        store(to + 8 * at, interleave(x, y));
      } else {
        std::byte* pair = to + 8 * (at / group * 2 * group + at % group);
        store(pair, interleave(low_halves(e, x), low_halves(e, y)));
        store(pair + 8 * group, interleave(high_halves(e, x), high_halves(e, y)));
      }
    }
}
#endif

// ---- B

#if defined(__AVX512BW__)
// Four words of each of four columns.
inline U32 four_columns(const std::byte* registers, int column_bytes) {
  if (column_bytes == 16) return load<U32>(registers);
  return bits<U32>(load_sixteens([&](int n) { return registers + n * column_bytes; }));
}

// Four words of each of eight columns -> [word][column], each column twice.
inline void transpose(const std::byte* registers, int column_bytes, U32 out[4]) {
  const U32 low = four_columns(registers, column_bytes),
            high = four_columns(registers + 4 * column_bytes, column_bytes);
#pragma GCC unroll 4
  for (int w = 0; w < 4; ++w) out[w] = shuffle(low, high, [&](int lane) { return lane / 2 * 4 + w; });
}

// Of eight columns, four of them in `low`, two words: [word][column], or [column][word].
template <bool kByColumn>
inline __attribute__((always_inline)) U32 two_words(U32 low, U32 high, int first) {
  return shuffle(low, high,
                 [first](int i) { return kByColumn ? i / 2 * 4 + first + i % 2 : i % 8 * 4 + first + i / 8; });
}

// Of eight columns of eight words, two in each of four lanes, the words two at a time in the order of the
// panel.
//
//     by_register   w0 w2 | w4 w6 | w1 w3 | w5 w7        else   w0 w1 | w2 w3 | w4 w5 | w6 w7
template <bool kByColumn, bool kByRegister>
inline __attribute__((always_inline)) void words_of_columns(const std::byte* registers, U32 (&out)[4]) {
  U32 fours[2][2];  // [four columns][four words]: [column][word]
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    const U32 x = load<U32>(registers + 128 * half), y = load<U32>(registers + 128 * half + 64);
#pragma GCC unroll 2
    for (int four = 0; four < 2; ++four)
      fours[four][half] = shuffle(
          x, y, [four](int i) { return i / 4 * 8 + (kByRegister ? i % 4 * 2 + four : 4 * four + i % 4); });
  }
#pragma GCC unroll 4
  for (int two = 0; two < 4; ++two)
    out[two] = two_words<kByColumn>(fours[two / 2][0], fours[two / 2][1], two % 2 * 2);
}

// Calls put(i, two) for the words of eight columns, two at a time in the order of the panel.
template <bool kByColumn, class Put>
inline __attribute__((always_inline)) void for_two_words(const std::byte* registers, int words,
                                                         bool by_register, Put put) {
  if (words == 8) {
    U32 twos[4];
    if (by_register)
      words_of_columns<kByColumn, true>(registers, twos);
    else
      words_of_columns<kByColumn, false>(registers, twos);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) put(i, twos[i]);
    return;
  }
  for (int first = 0; first < words; first += 4) {
    const U32 low = four_columns(registers + 4 * first, 4 * words),
              high = four_columns(registers + 4 * (first + 4 * words), 4 * words);
    put(first / 2, two_words<kByColumn>(low, high, 0));
    put(first / 2 + 1, two_words<kByColumn>(low, high, 2));
  }
}
#else
inline void transpose(const std::byte* registers, int column_bytes, std::uint32_t out[4][16]) {
  for (int w = 0; w < 4; ++w)
    for (int n = 0; n < 8; ++n)
      out[w][2 * n] = out[w][2 * n + 1] = load<std::uint32_t>(registers + n * column_bytes + 4 * w);
}
inline void store(void* to, const std::uint32_t (&words)[16]) {
  __builtin_memcpy(to, words, sizeof words);
}
#endif

inline void arrange_column(const Encoding& e, const std::byte* registers, int depth, bool by_register,
                           void* codes) {
  const int words = depth * e.bytes / 4, group = by_register ? words / 2 : words;
  // Of elements of a byte the lower two of a group of words come first.
  const auto place = [&](int w) {
    return static_cast<std::byte*>(codes) + 32 * (e.bytes == 1 && w >= group ? w + group : w);
  };
#if defined(__AVX512BW__)
  if (e.bytes == 4)
    return for_two_words<true>(registers, words, by_register,
                               [&](int i, U32 two) { store(place(2 * i), two); });
  for_two_words<false>(registers, words, by_register, [&](int i, U32 two) {
    store(place(2 * i), e.bytes == 1 ? low_halves(e, two) : two);
    if (e.bytes == 1) store(place(2 * i) + 32 * group, high_halves(e, two));
  });
#else
  for (int i = 0; i < 8 * words; ++i) {
    const auto word = load<std::uint32_t>(registers + 4 * i);
    const int column = i / words, w = i % words, at = by_register ? w % 2 * group + w / 2 : w;
    if (e.bytes == 4) {
      store(place(at / 2 * 2) + 8 * column + 4 * (at % 2), word);
    } else {
      store(place(at) + 4 * column, e.bytes == 1 ? low_halves(e, word) : word);
      if (e.bytes == 1) store(place(at) + 32 * group + 4 * column, high_halves(e, word));
    }
  }
#endif
}

void arrange_b(const Encoding& e, const std::byte* registers, int columns, int depth, bool by_register,
               void* codes) {
  const int code_bytes = e.bytes == 1 ? 2 : e.bytes;
  auto* to = static_cast<std::byte*>(codes);
  for (int column = 0; column < columns; ++column)
    arrange_column(e, registers + 8 * depth * e.bytes * column, depth, by_register,
                   to + 8 * depth * code_bytes * column);
}

// ---- Values and exponents

template <class V>
inline bool any(V truth) {
#if defined(__AVX512BW__)
  return _mm512_test_epi8_mask(bits<__m512i>(truth), bits<__m512i>(truth)) != 0;
#else
  for (unsigned i = 0; i < sizeof(V) / sizeof(truth[0]); ++i)
    if (truth[i] != 0) return true;
  return false;
#endif
}

// Whether a lane has at least this.
inline bool any_from(Words v, Words least) {
#if defined(__AVX512BW__)
  return _mm512_cmpge_epu16_mask(bits<__m512i>(v), bits<__m512i>(least)) != 0;
#else
  return any(v >= least);
#endif
}
#if defined(__AVX512BW__)
inline bool any_from(Octets v, Octets least) {
  return _mm512_cmpge_epu8_mask(bits<__m512i>(v), bits<__m512i>(least)) != 0;
}
#endif

// Codes of f32 or of its upper half: of these the largest magnitude, and the least magnitude less one, for
// which zero is above all others.
template <class V>
struct Magnitudes {
  V most{}, least_less_one = ~V{};

  void add(V magnitude) {
    most = max(most, magnitude);
    least_less_one = min(least_less_one, magnitude - 1);
  }
};

// From the upper halves. The bottom may come out one too low.
inline ExponentRange range(U16 most, U16 least_less_one) {
  const int top = (~least(~most) & 0x7FFF) >> 7, bottom = least(least_less_one) >> 7;
  return {max(top, 1), max(bottom, 1) < top - kNearExponents || top > kMaxTop};
}

ExponentRange exponent_range(const Encoding& e, const void* codes, int count) {
  if (e.kind == Encoding::Kind::half) return {kTopOfHalf, false};
  const auto* from = static_cast<const std::byte*>(codes);
  if (e.kind == Encoding::Kind::bf16) {
    Magnitudes<Words> found;
    for (int i = 0; i < 2 * count; i += 4 * kLanes) found.add(load<Words>(from + i) & 0x7FFF);
    struct Halves {
      U16 low, high;
    };
    const auto most = bits<Halves>(found.most), least = bits<Halves>(found.least_less_one);
    return range(max(most.low, most.high), min(least.low, least.high));
  }
  Magnitudes<U32> found;
  for (int i = 0; i < 4 * count; i += 4 * kLanes) found.add(load<U32>(from + i) & 0x7FFFE000);
  return range(narrow(found.most >> 16), narrow(found.least_less_one >> 16));
}

// Exponent fields relative to the top; of zeros none. As numbers of 8 bits, in the lower bytes.
inline Words near_exponents(Words magnitude, int fraction_bits, int top) {
  const Words field = max(magnitude >> fraction_bits, Words{} + 1);
  const Words raw = field + static_cast<std::uint16_t>(kTopExponent - top);
  return magnitude == 0 ? Words{} + static_cast<std::uint8_t>(kNoNearExponent) : raw;
}

// Codes of a byte moved to halves -> their exponents.
inline Words exponents_of_moved(const Encoding& e, Words magnitude) {
  const Words byte = magnitude >> e.magnitude_shift;
#if defined(WARPBIT_LOOKS_UP)
  const auto table = bits<Octets>(U64{} + load<std::uint64_t>(e.subnormal));
  const auto subnormal = bits<Words>(look_up(table, bits<Octets>(byte | 0x8000)));
#else
  const Words subnormal =
      lanes<Words>([&](int i) { return static_cast<std::uint8_t>(e.subnormal[byte[i] & 7]); });
#endif
  return magnitude < 1 << 10 ? subnormal : (magnitude >> 10) + static_cast<std::uint16_t>(e.added_exponent);
}

inline Words exponents_of_half(const Encoding& e, Words magnitude) {
  return e.bytes == 1 ? exponents_of_moved(e, magnitude) : near_exponents(magnitude, 10, kTopOfHalf);
}
inline Words exponents_of_bf16(Words magnitude, int top) {
  return near_exponents(magnitude, 7, top);
}

// The values of two vectors of f16 or bf16 codes.
inline void store_halves(const std::uint16_t* codes, float* values) {
  store(values, widen_half(load<U16>(codes)));
  store(values + kLanes, widen_half(load<U16>(codes + kLanes)));
}
inline void store_bf16(const std::uint16_t* codes, float* values) {
  store(values, widen(load<U16>(codes)) << 16);
  store(values + kLanes, widen(load<U16>(codes + kLanes)) << 16);
}

bool decode_halves(Encoding e, const std::uint16_t* codes, int count, float* values, std::int8_t* exponents) {
  Words most{};
  for (int i = 0; i < count; i += 4 * kLanes) {
    const Words x = load<Words>(codes + i) & 0x7FFF, y = load<Words>(codes + i + 2 * kLanes) & 0x7FFF;
    most = max(max(most, x), y);
    store_halves(codes + i, values + i);
    store_halves(codes + i + 2 * kLanes, values + i + 2 * kLanes);
    store_narrow(exponents + i, exponents_of_half(e, x), exponents_of_half(e, y));
  }
  return any_from(most, repeat(e.first_special));
}

// f32 codes whose lower halves count or are 0.
inline U32 f32_codes(const Encoding& e, const std::uint16_t* codes, int i) {
  return e.kind == Encoding::Kind::bf16 ? widen(load<U16>(codes + i)) << 16
                                        : load<U32>(codes + 2 * i) & 0xFFFFE000;
}

void decode_near_bf16(const std::uint16_t* codes, int count, int top, float* values, std::int8_t* exponents) {
  for (int i = 0; i < count; i += 4 * kLanes) {
    const Words x = load<Words>(codes + i) & 0x7FFF, y = load<Words>(codes + i + 2 * kLanes) & 0x7FFF;
    store_bf16(codes + i, values + i);
    store_bf16(codes + i + 2 * kLanes, values + i + 2 * kLanes);
    store_narrow(exponents + i, exponents_of_bf16(x, top), exponents_of_bf16(y, top));
  }
}

void decode_near_tf32(const std::uint32_t* codes, int count, int top, float* values, std::int8_t* exponents) {
  for (int i = 0; i < count; i += kLanes) {
    const U32 code = load<U32>(codes + i) & 0xFFFFE000, magnitude = code << 1;
    const I32 raw = max(bits<I32>(magnitude >> 24), I32{} + 1) + (kTopExponent - top);
    store(values + i, code);
    store(exponents + i, convert<I8>(magnitude == 0 ? I32{} + kNoNearExponent : raw));
  }
}

// Values and, of A, powers, a vector at a time; of f32 codes whose lower halves count or are 0.
struct PowersTo {
  float *values, *powers;
  SpecialsFound specials{};

  void put(int at, U32 codes) {
    store(values + kLanes * at, codes);
    if (powers != nullptr) store(powers + kLanes * at, codes & 0x7F800000);
    specials.add(codes);
  }
};

bool decode_powers(const Encoding& e, const std::uint16_t* codes, int count, float* values, float* powers) {
  PowersTo to{values, powers};
  for (int i = 0; i < count; i += kLanes) to.put(i / kLanes, f32_codes(e, codes, i));
  return to.specials.any();
}

// Of B, in place in twice the room, [k / 2][column][k % 2] -> [k / 4][column][k % 4][2].
void repeat_by_four(std::int8_t* exponents, int count) {
  using Pairs = VectorOf<std::uint16_t, 2 * kBlock>::type;
  using Exponents = VectorOf<std::int8_t, 4 * kBlock>::type;
  for (int i = count - 2 * kBlock; i >= 0; i -= 2 * kBlock) {
    // The upper half of what is loaded is not looked at.
    const auto pairs = shuffle(load<Pairs>(exponents + i), [](int to) { return to / 2 % 2 * 8 + to / 4; });
    store(exponents + 2 * i, shuffle(bits<Exponents>(pairs), [](int to) { return to / 2 * 2 + to / 2 % 2; }));
  }
}

bool decode(const Encoding& e, const void* codes, int count, int each, int top, float* values,
            void* exponents) {
  const auto* words = static_cast<const std::uint16_t*>(codes);
  auto* near = static_cast<std::int8_t*>(exponents);
  bool special = top == 255;
  if (e.kind == Encoding::Kind::half)
    special = decode_halves(e, words, count, values, near);
  else if (top == 0)
    return decode_powers(e, words, count, values, each == 2 ? static_cast<float*>(exponents) : nullptr);
  else if (e.kind == Encoding::Kind::bf16)
    decode_near_bf16(words, count, top, values, near);
  else
    decode_near_tf32(static_cast<const std::uint32_t*>(codes), count, top, values, near);
  if (each == 8) repeat_by_four(near, count);
  return special;
}

}  // namespace
}  // namespace warpbit
