// SPDX-License-Identifier: Apache-2.0
// A sparse A: the registers of A, B and the metadata become panels by pairs and quads (body.hpp, Selection).
#pragma once

#include "kernel/body.hpp"
#include "kernel/body/panels.hpp"
#include "kernel/body/unpack.hpp"
#include "kernel/body/vectors.hpp"

namespace warpbit {
namespace {

// Of one case. What is read in whole vectors is longer than it need be.
struct Selected {
  static constexpr int kWords = Selection::kMaxWords + 16, kQuads = kMaxPanelDepth / 4;
  alignas(64) std::uint32_t metadata[kWords];
  alignas(64) std::uint32_t nibbles[2 * kWords], entry_places[4 * kWords];
  alignas(64) std::byte columns[8 * 64], words[8 * 64];  // B's registers by k: [column][word], [word][column]
  alignas(64) std::int8_t exponents[8 * kMaxPanelDepth];
  alignas(64) float values[kQuads * kQuadValues];
};

// ---- Metadata

// Sets the third bit of each nibble that is defined.
inline U32 defined(bool one_of_two, bool ordered, U32 words) {
  const U32 low = words & 0x33333333, high = words >> 2 & 0x33333333;
  if (one_of_two)  // 0 and 1, or 2 and 3
    return (((low ^ high ^ 0x11111111) | (low & 0x11111111)) + 0x33333333) ^ 0x44444444;
  return (ordered ? high - low : high ^ low) + 0x33333333;
}

bool is_defined(bool one_of_two, bool ordered, const std::byte* words, const std::uint32_t* third_bits,
                int count) {
  U32 faults{};
  for (int i = 0; i < count; i += kLanes)
    faults |= ~defined(one_of_two, ordered, load<U32>(words + 4 * i)) & load<U32>(third_bits + i);
  return !any(faults);
}

// Some metadata of pairs of rows, the first row's in the lower halves.
inline U32 load_metadata(const Selection& s, const std::byte* registers, int at) {
  const auto row = [&](int which) {
#if defined(__AVX512F__)
    return bits<U32>(_mm512_i32gather_epi32(load<__m512i>(s.word[which] + at), registers, 4)) >>
           load<U32>(s.low_bits[which] + at);
#else
    U32 out;
    for (int i = 0; i < kLanes; ++i)
      out[i] = load<std::uint32_t>(registers + 4 * s.word[which][at + i]) >> s.low_bits[which][at + i];
    return out;
#endif
  };
  return (row(0) & 0xFFFF) | row(1) << 16;
}

// Whether no index is twice in a group and, where one of two is kept, each nibble is 0b0100 or 0b1110; and
// whether all indices of groups ascend.
struct Indices {
  bool regular, ascending;
};

// The nibbles of each sixteen pairs: those of even number first.
inline U32 even_first(U32 v) {
  const auto packed = [](U32 nibbles) { return (nibbles | nibbles >> 4) & 0x00FF00FF; };
  const U32 even = packed(v & 0x0F0F0F0F), odd = packed(v >> 4 & 0x0F0F0F0F);
  const auto from = [](int lane) { return lane % 4 / 2 * kLanes + lane / 4 * 4 + lane % 2 * 2; };
  return shuffle(even, odd, from) | shuffle(even, odd, [&](int lane) { return from(lane) + 1; }) << 8;
}

// The metadata in the order of pairs of rows.
inline Indices gather(const FusedParts& how, int rows, const std::byte* registers, std::uint32_t* out) {
  const Selection& s = *how.selection;
  U32 wrong{}, descending{};
  for (int i = 0; i < rows * s.fours; i += kLanes) {
    const U32 v = load_metadata(s, registers, i);
    const U32 low = v & 0x33333333, high = v >> 2 & 0x33333333, different = low ^ high;
    wrong |= s.kept == 1 ? (~high & 0x11111111) | (low & 0x11111111) | (different & 0x22222222)
                         : ~(different | different >> 1) & 0x11111111;
    descending |= ~((high | 0x44444444) - low) & 0x44444444;
    store(out + i, how.even_first ? even_first(v) : v);
  }
  return {!any(wrong), !any(descending)};
}

// The nibbles of pairs times 8.
inline void find_nibbles(int kept, const std::uint32_t* metadata, int words, std::uint32_t* out) {
  for (int i = 0; i < words; i += kLanes) {
    const U32 v = load<U32>(metadata + i);
    if (kept == 1) {  // the upper half says which of two
      store(out + i, (v << 2 & 0x08080808) | (v & 0x20202020) | 0x40404040);
      continue;
    }
#pragma GCC unroll 2
    for (int part = 0; part < 2; ++part) {
      const U32 pairs = shuffle(v, [part](int lane) { return (part * kLanes + lane) / 2; }) >>
                        lanes<U32>([](int lane) { return lane % 2 * 8; });
      store(out + 2 * i + part * kLanes, (pairs & 0x000F000F) << 3 | (pairs & 0x00F000F0) << 7);
    }
  }
}

// Where in its segment each element is met.
inline void find_entry_places(const std::uint32_t* metadata, int words, std::uint32_t* out) {
  const U32 quad = lanes<U32>([](int lane) { return lane % 4 * 0x04040404; });
  for (int i = 0; i < words; i += kLanes) {
    const U32 v = load<U32>(metadata + i);
#pragma GCC unroll 4
    for (int part = 0; part < 4; ++part) {
      const U32 pair = shuffle(v, [part](int lane) { return (part * kLanes + lane) / 4; }) >>
                       lanes<U32>([](int lane) { return lane % 4 * 4; });
      store(out + 4 * i + part * kLanes, (pair & 0x00030003) | (pair & 0x000C000C) << 6 | quad);
    }
  }
}

// False if metadata is not as it should be: then it is taken for any that is.
inline Indices select(const FusedParts& how, int rows, const std::byte* registers, Selected& out) {
  constexpr int kFirstOfAll = 0b0100'0100;
  const int words = rows * how.selection->fours;
  const Indices indices = gather(how, rows, registers, out.metadata);
  if (!indices.regular) __builtin_memset(out.metadata, kFirstOfAll, sizeof out.metadata);
  find_nibbles(how.selection->kept, out.metadata, words, out.nibbles);
  if (how.selection->kept == 2) find_entry_places(out.metadata, words, out.entry_places);
  return indices;
}

// ---- A

// Registers -> codes [pair][row][2].
inline void arrange_pairs_of_a(const FusedParts& how, int rows, const std::byte* registers, void* codes) {
  const Encoding& e = how.a_encoding;
  auto* to = static_cast<std::byte*>(codes);
#if defined(__AVX512BW__)
  const int row_bytes = 2 * how.depth * e.bytes;
  for (int at = 0; at < rows * row_bytes; at += 64) {
    const U32 given = load<U32>(registers + at), v = row_bytes == 64 ? by_register_order(given) : given;
    if (e.bytes == 2) {
      store(to + at, v);
    } else if (e.bytes == 4) {
      store(to + at, exchange_middle(v));
    } else {
      const auto low = bits<U64>(low_halves(e, v)), high = bits<U64>(high_halves(e, v));
      const auto mixed = [&](int first) {
        return shuffle(low, high, [first](int i) { return i % 2 * 8 + i / 2 + first; });
      };
      store(to + 2 * at, how.even_first ? low : mixed(0));
      store(to + 2 * at + 64, how.even_first ? high : mixed(4));
    }
  }
#else
  const int units = how.depth * e.bytes / 4, each = units / 4;
  for (int row = 0; row < rows; ++row, registers += 8 * units, to += 8 * units * (e.bytes == 1 ? 2 : 1))
    for (int unit = 0; unit < units; ++unit) {
      const std::byte* from = registers + 8 * (unit % 4 * each + unit / 4);
      const auto x = load<std::uint32_t>(from), y = load<std::uint32_t>(from + 4);
      const auto put = [&](int pair, std::uint32_t upper, std::uint32_t lower) {
        store(to + 8 * pair, upper);
        store(to + 8 * pair + 4, lower);
      };
      if (e.bytes == 1) {
        put(how.even_first ? unit : 2 * unit, low_halves(e, x), low_halves(e, y));
        put(how.even_first ? units + unit : 2 * unit + 1, high_halves(e, x), high_halves(e, y));
      } else if (e.bytes == 2) {
        put(unit, x, y);
      } else {
        store(to + 16 * (unit / 2) + 4 * (unit % 2), x);
        store(to + 16 * (unit / 2) + 4 * (unit % 2) + 8, y);
      }
    }
#endif
}

// True if there are specials, as decode().
inline bool unpack_pairs_of_a(const FusedParts& how, int rows, const std::byte* registers, int top, Factor& a) {
  arrange_pairs_of_a(how, rows, registers, a.codes);
  return decode(how.a_encoding, a.codes, 2 * rows * how.depth, 2, top, a.values, a.exponents);
}

// ---- B

// Registers -> words by k, of which a column has 8 or 16, or those of even number first.
inline void arrange_columns(const std::byte* registers, int words, bool even_first, std::byte* to) {
#if defined(__AVX512BW__)
  for (int at = 0; at < 32 * words; at += 64) {
    const U32 v = load<U32>(registers + at);
    store(to + at, words == 8   ? shuffle(v, [](int i) { return i / 8 * 8 + i % 4 * 2 + i % 8 / 4; })
                   : even_first ? shuffle(v, [](int i) { return i % 2 * 8 + i / 8 * 4 + i % 8 / 2; })
                                : shuffle(v, [](int i) { return i % 4 * 4 + i / 4; }));
  }
#else
  for (int i = 0; i < 8 * words; ++i) {
    const int at = i % words, word = even_first ? at * 2 % words + at * 2 / words : at;
    store(to + 4 * i, load<std::uint32_t>(registers + 4 * (i - at + word % 4 * (words / 4) + word / 4)));
  }
#endif
}

// -> [word][column], or, where a word is an element, [two words][column][2].
inline void arrange_words(const std::byte* columns, int words, bool paired, std::byte* to) {
  for (int first = 0; first < words; first += 4, to += 128) {
#if defined(__AVX512BW__)
    const U32 low = four_columns(columns + 4 * first, 4 * words),
              high = four_columns(columns + 4 * (first + 4 * words), 4 * words);
#pragma GCC unroll 2
    for (int at = 0; at < 4; at += 2)
      store(to + 32 * at, paired ? two_words<true>(low, high, at) : two_words<false>(low, high, at));
#else
    for (int i = 0; i < 32; ++i) {
      const int column = paired ? i / 2 % 8 : i % 8, word = paired ? i / 16 * 2 + i % 2 : i / 8;
      store(to + 4 * i, load<std::uint32_t>(columns + 4 * (column * words + first + word)));
    }
#endif
  }
}

// The first two elements of a quad (or the other two) in columns from lane / 2 on, as f32 codes.
inline U32 half_of_quad(const Encoding& e, const std::byte* words, int quad, int which, int lane) {
  if (e.bytes == 1) {
    using HalfU32 = VectorOf<std::uint32_t, kLanes / 2>::type;
    const auto word = load<HalfU32>(words + 32 * quad + 2 * lane);
    return bits<U32>(widen_half(bits<U16>(which == 0 ? low_halves(e, word) : high_halves(e, word))));
  }
  if (e.bytes == 2) {
    const auto codes = load<U16>(words + 64 * quad + 32 * which + 2 * lane);
    return e.kind == Encoding::Kind::bf16 ? widen(codes) << 16 : bits<U32>(widen_half(codes));
  }
  return load<U32>(words + 128 * quad + 64 * which + 4 * lane) & 0xFFFFE000;
}

// What two ascending indices mean, of the halves of a quad.
inline void put_quad(U32 x, U32 y, float* table) {
  const auto put = [table](int nibble, U32 v) { store(table + kBlock * nibble, v); };
  put(0b0100, x);
  put(0b1000, shuffle(x, y, [](int i) { return i % 2 == 0 ? i : kLanes + i - 1; }));
  put(0b1100, shuffle(x, y, [](int i) { return i % 2 == 0 ? i : kLanes + i; }));
  put(0b1001, shuffle(x, y, [](int i) { return i % 2 == 0 ? i + 1 : kLanes + i - 1; }));
  put(0b1101, shuffle(x, y, [](int i) { return i % 2 == 0 ? i + 1 : kLanes + i; }));
  put(0b1110, y);
}

// And two that descend.
inline void put_descending(int quads, float* table) {
  for (int quad = 0; quad < quads; ++quad, table += kQuadValues)
    for (int high = 1; high < 4; ++high)
      for (int low = 0; low < high; ++low)
        for (int lane = 0; lane < kBlock; lane += kLanes)
          store(table + kBlock * (low << 2 | high) + lane,
                shuffle(load<U32>(table + kBlock * (high << 2 | low) + lane), [](int i) { return i ^ 1; }));
}

// The table of values. True if exponents are powers and there are specials among them, as decode().
inline bool put_quads(const Encoding& e, int quads, bool powers, Selected& to) {
  SpecialsFound specials;
  for (int quad = 0; quad < quads; ++quad)
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      const U32 x = half_of_quad(e, to.words, quad, 0, lane), y = half_of_quad(e, to.words, quad, 1, lane);
      put_quad(x, y, to.values + kQuadValues * quad + lane);
      if (!powers) continue;
      specials.add(x);
      specials.add(y);
    }
  return specials.any();
}

// [column][element] -> segments.
inline void put_segments(const std::int8_t* by_column, int depth, std::int8_t* out) {
  for (int first = 0; first < depth; first += 16)
    for (int odd = 0; odd < 2; ++odd, out += 64) {
      const auto sixteen = [&](int i) { return by_column + (2 * i + odd) * depth + first; };
#if defined(WARPBIT_LOOKS_UP)
      for (int i = 0; i < 4; i += kLanes / 4)
        store(out + 16 * i, load_sixteens([&](int n) { return sixteen(i + n); }));
#else
      for (int i = 0; i < 4; ++i) __builtin_memcpy(out + 16 * i, sixteen(i), 16);
#endif
    }
}

// True if there are specials, as decode().
bool column_exponents(const Encoding& e, const std::byte* columns, int depth, int top, std::int8_t* out) {
  Words most{};
  const auto exponents = [&](U32 codes) {
    const Words magnitude = bits<Words>(codes) & 0x7FFF;
    most = max(most, magnitude);
    return e.kind == Encoding::Kind::bf16 ? exponents_of_bf16(magnitude, top) : exponents_of_half(e, magnitude);
  };
  std::int8_t by_column[8 * kMaxPanelDepth];
  for (int word = 0; word < 8 * depth * e.bytes / 4; word += kLanes) {
    const U32 v = load<U32>(columns + 4 * word);
    if (e.bytes == 2) {
      store(by_column + 2 * word, narrow(exponents(v)));
    } else {
      const U32 low = widen(bits<U16>(narrow(exponents(low_halves(e, v))))),
                high = widen(bits<U16>(narrow(exponents(high_halves(e, v)))));
      store(by_column + 4 * word, low | high << 16);
    }
  }
  put_segments(by_column, depth, out);
  return e.kind == Encoding::Kind::bf16 ? top == 255 : any_from(most, repeat(e.first_special));
}

// True if there are specials, as decode().
inline bool unpack_quads_of_b(const FusedParts& how, const std::byte* registers, int top, bool ascending,
                              Selected& out) {
  const Encoding& e = how.b_encoding;
  const int words = how.b_depth * e.bytes / 4, quads = how.b_depth / 4;
  arrange_columns(registers, words, how.even_first, out.columns);
  if (top != 0 && column_exponents(e, out.columns, how.b_depth, top, out.exponents)) return true;
  arrange_words(out.columns, words, e.bytes == 4, out.words);
  const bool special_power = put_quads(e, quads, top == 0, out);
  if (!ascending) put_descending(quads, out.values);
  return special_power;
}

// ---- For blocks of any operands: the same in the order of dense panels

// A's codes [pair][row][2] -> [k][row].
inline void arrange_stored(const FusedParts& how, int rows, const std::byte* registers, void* codes) {
  arrange_pairs_of_a(how, rows, registers, codes);
  auto* at = static_cast<std::byte*>(codes);
  const bool is_wide = how.a_encoding.bytes == 4;
  for (int i = 0; i < 2 * rows * how.depth; i += 4, at += is_wide ? 16 : 8) {
    using Words4 = VectorOf<std::uint32_t, 4>::type;
    using Halves4 = VectorOf<std::uint16_t, 4>::type;
    if (is_wide)
      store(at, exchange_middle(load<Words4>(at)));
    else
      store(at, exchange_middle(load<Halves4>(at)));
  }
}

// B's codes [k / 2][column][k % 2].
inline void arrange_quads(const FusedParts& how, const std::byte* registers, Selected& selected, void* codes) {
  const Encoding& e = how.b_encoding;
  const int words = how.b_depth * e.bytes / 4;
  arrange_columns(registers, words, how.even_first, selected.columns);
  arrange_words(selected.columns, words, e.bytes == 4, selected.words);
  if (e.bytes != 1) {
    __builtin_memcpy(codes, selected.words, static_cast<std::size_t>(8 * how.b_depth * e.bytes));
    return;
  }
  auto* to = static_cast<std::byte*>(codes);
  for (int word = 0; word < 8 * how.b_depth / 4; ++word) {
    const auto four = load<std::uint32_t>(selected.words + 4 * word);
    std::byte* at = to + word / 8 * 64 + word % 8 * 4;
    store(at, low_halves(e, four));
    store(at + 32, high_halves(e, four));
  }
}

// Which k of B each element of A meets, [row of blocks][k][row], from the nibbles of four groups of two rows.
//
//     kept 2   row 0: ..hl   row 1: ..hl   ->   l l' h h'       of each group, plus its first k
//     kept 1   row 0: ...h   row 1: ...h   ->   h h'            the upper bit of the lower index
inline void find_met(const FusedParts& how, int rows, const std::uint32_t* metadata, std::uint8_t* met) {
  const Selection& s = *how.selection;
  const int words = rows * s.fours, each = 2 * s.kept;  // words of `met` for one of metadata
  const U32 mask = U32{} + static_cast<std::uint32_t>(each * s.fours - 1);
  for (int i = 0; i < words * each; i += kLanes) {
    const U32 at = lanes<U32>([](int lane) { return lane; }) + static_cast<std::uint32_t>(i);
    std::uint32_t four[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) four[lane] = metadata[(i + lane) / each];
    const U32 in_row = (at & mask) * 0x04040404;  // the first k of a word of `met`, which has four
    U32 found;
    if (s.kept == 2) {
      const U32 nibbles = load<U32>(four) >> (at % 4 * 4);
      found = (nibbles & 0x3) | (nibbles >> 8 & 0x300) | (nibbles & 0xC) << 14 | (nibbles & 0xC0000) << 6;
    } else {
      const U32 nibbles = load<U32>(four) >> (at % 2 * 8);
      found = (nibbles >> 1 & 0x1) | (nibbles >> 9 & 0x100) | (nibbles << 11 & 0x10000) |
              (nibbles << 3 & 0x1000000);
      found += 0x02020000;  // the second group of a word
    }
    store(met + 4 * i, found + in_row);
  }
}

}  // namespace
}  // namespace warpbit
