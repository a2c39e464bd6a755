// SPDX-License-Identifier: Apache-2.0
// A sparse A: from metadata to places in B's panel, and the exponents as the search for E wants them (body.hpp,
// Selection).
#pragma once

#include "kernel/body.hpp"
#include "kernel/body/panels.hpp"
#include "kernel/body/vectors.hpp"

namespace warpbit {
namespace {

// Of one case. What is read in whole vectors is longer than it need be.
struct Selected {
  static constexpr int kMost = 2 * kMostRows * kMostDepth, kMostMetadata = kMost / 4;
  alignas(64) std::uint32_t metadata[kMostMetadata / 4 + 16] = {};
  alignas(64) std::uint8_t places[kMost];
  alignas(64) std::uint8_t entry_places[kMostRows * Selection::kMostEntries * 16];
  alignas(64) std::int8_t entry_exponents[kMostRows * Selection::kMostEntries * 16];
};

// ---- Places

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

// The metadata in the order of pairs of rows. False if an index is twice in a group, or where one of two is
// kept a nibble is none of 0b0100 and 0b1110.
inline bool gather(const FusedCases& cases, const std::byte* registers, std::uint32_t* out) {
  const Selection& s = *cases.selection;
  I32 fault{};
  for (int i = 0; i < cases.rows * s.fours; i += kLanes) {
    const U32 v = load_metadata(s, registers, i);
    const U32 low = v & 0x33333333, high = v >> 2 & 0x33333333, different = low ^ high;
    const U32 wrong = s.kept == 1 ? (~high & 0x11111111) | (low & 0x11111111) | (different & 0x22222222)
                                  : ~(different | different >> 1) & 0x11111111;
    fault |= wrong != 0;
    store(out + i, v);
  }
  return negative_lanes(fault) == 0;
}

inline void find_places(const PlaceTable& p, int rows, const std::uint32_t* words, std::uint8_t* out) {
  const auto* metadata = reinterpret_cast<const std::uint8_t*>(words);
  const int count = rows * p.pair;
#if defined(__AVX2__)
  const Octets step = repeat_sixteen(p.step);
  for (int i = 0; i < count; i += static_cast<int>(sizeof(Octets))) {
    const Octets bytes = load_sixteens([&](int n) { return metadata + p.first[i / 16 + n]; });
    const int at = i % PlaceTable::kMost;
    const auto blend = [](Octets mask, Octets x, Octets y) { return (x & mask) | (y & ~mask); };
    const auto shifted = [](Octets v, int by) { return bits<Octets>(bits<U64>(v) >> by); };
    const Octets byte = look_up(bytes, load<Octets>(p.source + at));
    const Octets nibble = blend(load<Octets>(p.upper_nibble + at), shifted(byte, 4), byte);
    const Octets index = blend(load<Octets>(p.upper_index + at), shifted(nibble, 2), nibble) & 3;
    store(out + i, look_up(step, index) + load<Octets>(p.origin + at));
  }
#else
  for (int i = 0; i < count; ++i) {
    const int at = i % PlaceTable::kMost, byte = metadata[p.first[i / 16] + p.source[at]];
    const int nibble = p.upper_nibble[at] != 0 ? byte >> 4 : byte;
    const int index = (p.upper_index[at] != 0 ? nibble >> 2 : nibble) & 3;
    out[i] = static_cast<std::uint8_t>(p.step[index] + p.origin[at]);
  }
#endif
}

// ---- Entries

// Exponents of A's panel -> entries.
inline void enter(const FusedCases& cases, const void* panel, std::int8_t* entries) {
  const Selection& s = *cases.selection;
  const auto* from = static_cast<const std::byte*>(panel);
  const int pair = 2 * cases.depth;
#if defined(__AVX512BW__)
  if (16 * s.entries == pair) {  // no gaps
    const __m512i order = load<__m512i>(s.order);
    for (int at = 0; at < cases.rows * pair; at += 64)
      store(entries + at, _mm512_permutexvar_epi32(order, load<__m512i>(from + at)));
    return;
  }
#endif
  for (int row = 0; row < cases.rows; ++row, from += pair, entries += 16 * s.entries)
    for (int i = 0; i < 4 * s.entries; ++i)
      if (s.halves[i] < 0)
        __builtin_memset(entries + 4 * i, kNoExponentAtAll, 4);
      else
        __builtin_memcpy(entries + 4 * i, from + 4 * s.halves[i], 4);
}

// ---- B's exponents by column

// [column][element, in the order of registers] -> [segment][even columns, odd columns][4][16].
inline void put_segments(const std::int8_t* by_column, int depth, std::int8_t* out) {
  for (int first = 0; first < depth; first += 16)
    for (int odd = 0; odd < 2; ++odd, out += 64) {
      const auto sixteen = [&](int i) { return by_column + (2 * i + odd) * depth + first; };
#if defined(__AVX2__)
      for (int i = 0; i < 4; i += kLanes / 4)
        store(out + 16 * i, load_sixteens([&](int n) { return sixteen(i + n); }));
#else
      for (int i = 0; i < 4; ++i) __builtin_memcpy(out + 16 * i, sixteen(i), 16);
#endif
    }
}

// True if there are specials, as decode().
bool column_exponents(const Encoding& e, const std::byte* registers, int depth, int top, std::int8_t* out) {
  Words most{};
  const auto exponents = [&](U32 codes) {
    const Words magnitude = bits<Words>(codes) & 0x7FFF;
    most = max(most, magnitude);
    return e.kind == Encoding::Kind::bf16 ? exponents_of_bf16(magnitude, top) : exponents_of_half(e, magnitude);
  };
  std::int8_t by_column[8 * kMostDepth];
  for (int word = 0; word < 8 * depth * e.bytes / 4; word += kLanes) {
    const U32 v = load<U32>(registers + 4 * word);
    if (e.bytes == 2) {
      store(by_column + 2 * word, exponents(v));
    } else {
      const U32 low = widen(bits<U16>(exponents(low_halves(e, v)))),
                high = widen(bits<U16>(exponents(high_halves(e, v))));
      store(by_column + 4 * word, low | high << 16);
    }
  }
  put_segments(by_column, depth, out);
  return e.kind == Encoding::Kind::bf16 ? top == 255 : any(most >= e.first_special);
}

// ---- Of a case

// False if metadata is not as it should be: then all places are any.
inline bool select(const FusedCases& cases, const std::byte* registers, Selected& out) {
  const bool regular = gather(cases, registers, out.metadata);
  if (!regular) __builtin_memset(out.metadata, 0, sizeof out.metadata);
  find_places(cases.selection->in_panel, cases.rows, out.metadata, out.places);
  return regular;
}

// B, and the exponents of both. `a` is unpacked, as if it were dense. True if there are specials in B.
inline bool unpack_sparse(const FusedCases& cases, const std::byte* b_registers, FusedBlocks& blocks,
                          const Factor& a, Factor& b, Selected& selected) {
  const Encoding& e = cases.b_encoding;
  if (blocks.b_top == 0)
    return unpack_b(e, b_registers, cases.b_depth, false, 0, b.codes, b.values, b.exponents);
  arrange_b(e, b_registers, cases.b_depth, false, b.codes);
  const auto* codes = reinterpret_cast<const std::uint16_t*>(b.codes);
  for (int k = 0; k < kBlock * cases.b_depth; k += 2 * kLanes)
    (e.kind == Encoding::Kind::bf16 ? store_bf16 : store_halves)(codes + k, b.values + k);
  const bool special = column_exponents(e, b_registers, cases.b_depth, blocks.b_top,
                                        reinterpret_cast<std::int8_t*>(b.exponents));
  enter(cases, a.exponents, selected.entry_exponents);
  find_places(cases.selection->in_entries, cases.rows, selected.metadata, selected.entry_places);
  blocks.a_exponents = selected.entry_exponents;
  return special;
}

}  // namespace
}  // namespace warpbit
