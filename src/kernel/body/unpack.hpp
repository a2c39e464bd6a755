// SPDX-License-Identifier: Apache-2.0
// The panels of one case, from the registers of a factor to values and exponents.
#pragma once

#include "kernel/body.hpp"
#include "kernel/body/panels.hpp"
#include "kernel/body/vectors.hpp"

namespace warpbit {
namespace {

// A factor of one case: its codes in the order of the panel, and the panel. What m16n8k16 needs of all these,
// of A and of B, lies at different places of a page: a load waits for an earlier store to its own place of
// another one.
struct Factor {
  static constexpr int kMax = kBlock * kMaxPanelDepth;
  alignas(64) float values[kMax + 256];
  alignas(64) std::int32_t exponents[kMax + 64];
  alignas(64) std::uint32_t codes[kMax + 128];
};
struct Factors {
  Factor a, b;
};

// ---- A vector at a time. What follows is arrange_a(), arrange_b() and decode() in one, for the most frequent
// types.

#if defined(__AVX512BW__)
// Codes of two bytes: how their exponents, of 8 bits, and values are found, and whether the largest magnitude
// is that of a special.
struct F16Codes {
  Words exponents(Words magnitude) const { return near_exponents(magnitude, 10, kTopOfHalf); }
  void put_values(const std::uint16_t* codes, float* to) const { store_halves(codes, to); }
  bool is_special(Words most) const { return any_from(most, repeat(std::uint16_t{0x7C00})); }
};
struct Bf16Codes {
  int top;

  Words exponents(Words magnitude) const { return near_exponents(magnitude, 7, top); }
  void put_values(const std::uint16_t* codes, float* to) const { store_bf16(codes, to); }
  bool is_special(Words) const { return top == 255; }
};

// Codes of one byte, whose halves are those of f16.
struct ByteCodes {
  MovedUp moved;
  Octets magnitude_mask, field_mask, least_normal, subnormal, added, first_special;
  Words fraction_bits;

  explicit ByteCodes(const Encoding& e)
      : moved(e),
        magnitude_mask(repeat(e.magnitude_mask)),
        field_mask(repeat(static_cast<std::uint8_t>(e.magnitude_mask >> (10 - e.magnitude_shift)))),
        least_normal(repeat(static_cast<std::uint8_t>(1 << (10 - e.magnitude_shift)))),
        subnormal(bits<Octets>(_mm512_broadcast_i64x2(_mm_cvtsi64_si128(load<std::int64_t>(e.subnormal))))),
        added(repeat(static_cast<std::uint8_t>(e.added_exponent))),
        first_special(repeat(static_cast<std::uint8_t>(min(e.first_special >> e.magnitude_shift, 0xFF)))),
        fraction_bits(repeat(static_cast<std::uint16_t>(10 - e.magnitude_shift))) {}

  Octets magnitude(U32 codes) const { return bits<Octets>(codes) & magnitude_mask; }
  Octets exponents(U32 codes) const {
    const Octets number = magnitude(codes);
    const auto down = bits<Octets>(_mm512_srlv_epi16(bits<__m512i>(codes), bits<__m512i>(fraction_bits)));
    return number < least_normal ? look_up(subnormal, number) : (down & field_mask) + added;
  }
  bool is_special(Octets most) const { return any_from(most, first_special); }
};

// Puts 64 bytes of halves into a panel.
inline void put_halves(int at, Words halves, Factor& to) {
  auto* codes = reinterpret_cast<std::uint16_t*>(to.codes) + 2 * kLanes * at;
  store(codes, halves);
  store_halves(codes, to.values + 2 * kLanes * at);
}

// ---- A; true if there are specials, as decode()

template <bool kByRegister, class Codes>
bool unpack_short_a(Codes of, const std::byte* registers, int bytes, Factor& to) {
  Words most{};
  auto* codes = reinterpret_cast<std::uint16_t*>(to.codes);
  auto* exponents = reinterpret_cast<std::int8_t*>(to.exponents);
  for (int at = 0; at < bytes / 2; at += 4 * kLanes) {
    Words found[2];
#pragma GCC unroll 2
    for (int part = 0; part < 2; ++part) {
      const int i = at + 2 * kLanes * part;
      const Words v = rows_side_by_side<kByRegister>(load<Words>(registers + 2 * i)), magnitude = v & 0x7FFF;
      store(codes + i, v);
      most = max(most, magnitude);
      found[part] = of.exponents(magnitude);
      of.put_values(codes + i, to.values + i);
    }
    store_narrow(exponents + at, found[0], found[1]);
  }
  return of.is_special(most);
}

// x0 x1 x2 x3 | y0 y1 y2 y3 -> x0 y0 x1 y1 and x2 y2 x3 y3, of eight units in the order of the panel.
template <bool kGrouped, bool kByRegister>
inline __attribute__((always_inline)) Octets rows_side_by_side(Octets v) {
  const Octets in_sixteens =
      look_up(v, lanes<Octets>([](int i) { return i % 8 / 4 * 8 + i % 2 * 4 + i % 4 / 2 + i % 16 / 8 * 2; }));
  return bits<Octets>(shuffle(bits<U32>(in_sixteens), [](int i) {
    const int group = kGrouped ? 4 : 8, upper = i % (2 * group) / group;
    const int at = i / (2 * group) * group + i % group, unit = kByRegister ? by_register_place(at) : at;
    return unit / 2 * 4 + upper * 2 + unit % 2;
  }));
}

template <bool kGrouped, bool kByRegister>
bool unpack_bytes_a(const ByteCodes& of, const std::byte* registers, int bytes, Factor& to) {
  Octets most{};
  auto* exponents = reinterpret_cast<std::int8_t*>(to.exponents);
  for (int at = 0; at < bytes; at += 64) {
    const auto v = load<U32>(registers + at);
    most = max(most, of.magnitude(v));
    store(exponents + at, rows_side_by_side<kGrouped, kByRegister>(of.exponents(v)));
    for_halves_of_units<kGrouped, kByRegister>(v, [&](int half, Octets high_bytes) {
      put_halves(at / 32 + half, bits<Words>(of.moved(high_bytes)), to);
    });
  }
  return of.is_special(most);
}

// f32 codes -> the upper halves of neighbours in k side by side; of A in one half of a sixteen, the other is 0.
//
//     A   x0 y0 x1 y1 -> x0 x1 y0 y1        B   e0 e1 f0 f1 -> e0 e1 e0 e1 f0 f1 f0 f1
template <bool kUpper>
inline __attribute__((always_inline)) U64 upper_halves_of_a(U32 codes) {
  return bits<U64>(look_up(bits<Octets>(codes), lanes<Octets>([](int i) {
                             return i % 16 / 8 == kUpper ? i % 8 / 4 * 4 + i % 4 / 2 * 8 + 2 + i % 2 : 0x80;
                           })));
}
inline U64 upper_halves_of_b(U32 codes) {
  return bits<U64>(look_up(bits<Octets>(codes),
                           lanes<Octets>([](int i) { return i / 8 * 8 % 16 + i % 4 / 2 * 4 + 2 + i % 2; })));
}
constexpr std::uint64_t kFieldMask = 0x7F80'7F80'7F80'7F80;

// Fields of 16 bits into a panel, less `subtracted`; and whether one is too large.
struct FieldsTo {
  std::byte* to;
  std::uint16_t subtracted;
  Words most{};

  void put(int at, U64 upper_halves) {
    const auto fields = bits<Words>(upper_halves);
    most = max(most, fields);
    store(to + 64 * at, fields - subtracted);
  }
  bool any_too_large() const { return any_from(most, repeat(std::uint16_t{(kMaxField + 1) << 7})); }
};

bool unpack_fields_a(bool by_register, const std::byte* registers, int count, Factor& to) {
  FieldsTo fields{reinterpret_cast<std::byte*>(to.exponents), 127 << 7};
  for (int at = 0; at < count / kLanes; at += 2) {
    U32 codes[2];
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      codes[i] = load<U32>(registers + 64 * (at + i));
      if (by_register) codes[i] = by_register_order(codes[i]);
      store(to.values + kLanes * (at + i), codes[i] & 0xFFFFE000);
    }
    // Pairs of k 0 4 1 5 2 6 3 7 -> 0 .. 7.
    const U64 both = (upper_halves_of_a<false>(codes[0]) | upper_halves_of_a<true>(codes[1])) & kFieldMask;
    fields.put(at / 2, shuffle(both, [](int i) { return i % 4 * 2 + i / 4; }));
  }
  return fields.any_too_large();
}

bool unpack_powers_a(bool by_register, const std::byte* registers, int count, Factor& to) {
  PowersTo panel{to.values, reinterpret_cast<float*>(to.exponents)};
  for (int at = 0; at < count / kLanes; ++at) {
    const U32 v = load<U32>(registers + 64 * at) & 0xFFFFE000;
    panel.put(at, by_register ? by_register_order(v) : v);
  }
  return panel.specials.any();
}

// ---- B; true if there are specials, as decode()

// Of two words, e0 e1 of the first and e2 e3 of the second -> of each column e0 e0 e1 e1 e2 e2 e3 e3.
inline Octets four_exponents(Words of_words) {
  const U32 by_column = shuffle(bits<U32>(of_words), [](int i) { return i % 2 * 8 + i / 2; });
  return look_up(bits<Octets>(by_column), lanes<Octets>([](int i) { return i % 16 / 2 * 2; }));
}

template <class Codes>
bool unpack_short_b(Codes of, const std::byte* registers, int words, bool by_register, Factor& to) {
  Words most{};
  auto* codes = reinterpret_cast<std::uint16_t*>(to.codes);
  auto* exponents = reinterpret_cast<std::int8_t*>(to.exponents);
  for_two_words<false>(registers, words, by_register, [&](int i, U32 two) {
    const Words magnitude = bits<Words>(two) & 0x7FFF;
    store(codes + 2 * kLanes * i, two);
    most = max(most, magnitude);
    store(exponents + 4 * kLanes * i, four_exponents(of.exponents(magnitude)));
    of.put_values(codes + 2 * kLanes * i, to.values + 2 * kLanes * i);
  });
  return of.is_special(most);
}

bool unpack_bytes_b(const ByteCodes& of, const std::byte* registers, int words, bool by_register, Factor& to) {
  Octets most{};
  auto* exponents = reinterpret_cast<std::int8_t*>(to.exponents);
  const int group = by_register ? words / 4 : words / 2;  // of two words
  for_two_words<false>(registers, words, by_register, [&](int i, U32 two) {
    const int at = i / group * 2 * group + i % group;
    most = max(most, of.magnitude(two));
    const U32 by_column = shuffle(bits<U32>(of.exponents(two)), [](int n) { return n % 2 * 8 + n / 2; });
#pragma GCC unroll 2
    for (int upper = 0; upper < 2; ++upper) {
      const Octets bytes = two_bytes(two, 2 * upper);
      put_halves(at + upper * group, bits<Words>(of.moved(bytes)), to);
      store(exponents + 4 * kLanes * (at + upper * group),
            look_up(bits<Octets>(by_column), lanes<Octets>([upper](int n) {
                      return n % 16 / 8 * 8 + n % 8 / 4 * 4 + n % 4 / 2 + 2 * upper;
                    })));
    }
  });
  return of.is_special(most);
}

bool unpack_fields_b(bool by_register, const std::byte* registers, int words, Factor& to) {
  FieldsTo fields{reinterpret_cast<std::byte*>(to.exponents), 0};
  for_two_words<true>(registers, words, by_register, [&](int i, U32 two) {
    store(to.values + kLanes * i, two & 0xFFFFE000);
    fields.put(i, upper_halves_of_b(two) & kFieldMask);
  });
  return fields.any_too_large();
}

bool unpack_powers_b(bool by_register, const std::byte* registers, int words, Factor& to) {
  PowersTo panel{to.values, nullptr};
  for_two_words<true>(registers, words, by_register, [&](int i, U32 two) { panel.put(i, two & 0xFFFFE000); });
  return panel.specials.any();
}
#endif

// ---- The factors of a case, by how their elements are encoded

class Unpacker {
 public:
  Unpacker(const FusedParts& how, int rows) : how_(how), rows_(rows) {}

  // True if there are specials, as decode(), or fields that are too large.
  bool a(const std::byte* registers, int top, Factor& to) const {
    const Encoding& e = how_.a_encoding;
    const int count = 2 * rows_ * how_.depth;
    [[maybe_unused]] const int bytes = count * e.bytes;
#if defined(__AVX512BW__)
    if (e.bytes == 2 && top != 0) {
      if (e.kind == Encoding::Kind::half) return short_a(F16Codes{}, registers, bytes, to);
      return short_a(Bf16Codes{top}, registers, bytes, to);
    }
    if (e.bytes == 1) {
      if (how_.by_register) return unpack_bytes_a<true, true>(a_, registers, bytes, to);
      if (how_.depth == 16) return unpack_bytes_a<true, false>(a_, registers, bytes, to);
      return unpack_bytes_a<false, false>(a_, registers, bytes, to);
    }
    if (top == kTopOfFields) return unpack_fields_a(how_.by_register, registers, count, to);
    if (e.bytes == 4 && top == 0) return unpack_powers_a(how_.by_register, registers, count, to);
#endif
    arrange_a(e, registers, rows_, how_.depth, how_.by_register, to.codes);
    return decode(e, to.codes, count, 2, top, to.values, to.exponents);
  }

  bool b(const std::byte* registers, int top, Factor& to) const {
    const Encoding& e = how_.b_encoding;
#if defined(__AVX512BW__)
    const int words = how_.b_depth * e.bytes / 4;
    if (e.bytes == 2 && top != 0) {
      if (e.kind == Encoding::Kind::half)
        return unpack_short_b(F16Codes{}, registers, words, how_.by_register, to);
      return unpack_short_b(Bf16Codes{top}, registers, words, how_.by_register, to);
    }
    if (e.bytes == 1) return unpack_bytes_b(b_, registers, words, how_.by_register, to);
    if (top == kTopOfFields) return unpack_fields_b(how_.by_register, registers, words, to);
    if (e.bytes == 4 && top == 0) return unpack_powers_b(how_.by_register, registers, words, to);
#endif
    arrange_column(e, registers, how_.b_depth, how_.by_register, to.codes);
    return decode(e, to.codes, kBlock / 2 * how_.b_depth, kBlock / 2, top, to.values, to.exponents);
  }

 private:
#if defined(__AVX512BW__)
  template <class Codes>
  bool short_a(Codes of, const std::byte* registers, int bytes, Factor& to) const {
    return how_.by_register ? unpack_short_a<true>(of, registers, bytes, to)
                            : unpack_short_a<false>(of, registers, bytes, to);
  }
#endif

  const FusedParts& how_;
  int rows_;
#if defined(__AVX512BW__)
  ByteCodes a_{how_.a_encoding}, b_{how_.b_encoding};
#endif
};

}  // namespace
}  // namespace warpbit
