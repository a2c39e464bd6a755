// SPDX-License-Identifier: Apache-2.0
// Scaled groups on a block (NUMERICS.md, "Block scaling"), in integers. Twice an e2m1 is an integer of at most
// 12; the sum of a group's 16 products in quarters is one of 12 bits, and times two significands one of 20.
// Each is moved to units of 2^(E - 35) in 64 bits. A NaN scale factor and a C that is NaN or Inf decide the result by
// masks. Left to the specification are results that are subnormal.
//
// A is arranged in words of four bytes, the even k or the odd k of a register, as in the registers,
//
//     [block of rows][lane t of four][register 2 half + which row]
//
// and B as [group][word][low, high][16]. A sparse A becomes a dense one of twice the depth, as the
// products of what it does not store are zero.
#pragma once

#include "kernel/body.hpp"
#include "kernel/body/codes.hpp"
#include "kernel/body/panels.hpp"
#include "kernel/body/vectors.hpp"

namespace warpbit {
namespace {

constexpr int kGroups = 4, kRowBlocks = 8;
constexpr int kGroupWindow = 35;
constexpr int kLargestElement = 12;      // of e2m1, in halves
constexpr std::int32_t kNever = -10000;  // an exponent of what does not count
// Of WindowedGroups: a C that is so far above the largest exponent of scales is above all products; and a group whose
// scales' exponent is so little below E is not cut, as it has 8 fraction bits.
constexpr std::int32_t kAboveScales = 4, kNothingCut = kGroupWindow - 8;

using Quads = VectorOf<std::int8_t, 4 * kLanes>::type;
using F64 = VectorOf<double, kLanes / 2>::type;

struct GroupScales {
  alignas(64) std::int32_t exponent[kGroups][kBlock];
  alignas(64) std::uint32_t significand[kGroups][kBlock];  // in both halves of the word
};

struct GroupPanels {
  alignas(64) std::uint32_t a[kRowBlocks][2][2][kBlock];  // [block][word of a register if sparse][low, high]
  alignas(64) std::uint32_t a_nonzero[kRowBlocks * kBlock + 4];
  alignas(64) std::uint32_t b[kGroups][4][2][kBlock];
  alignas(64) std::uint32_t b_nonzero[kGroups][kBlock];
  alignas(64) std::uint32_t start[kGroups][kBlock];  // sums begin with this
  GroupScales a_scales, b_scales;
  std::uint32_t a_special;              // NaN scales of rows: bit 2 * block + which
  std::uint32_t b_special;              // of columns: lanes of a block
  std::uint32_t undefined[kRowBlocks];  // metadata without a meaning: lanes of a block
};

// ---- Elements

// Nibbles, one in each byte, as e2m1 in halves.
inline Quads elements(U32 nibbles) {
#if defined(WARPBIT_LOOKS_UP)
  constexpr std::int8_t kHalves[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  const Quads table = lanes<Quads>([&](int i) { return kHalves[i % 16]; });
  return bits<Quads>(look_up(bits<Octets>(table), bits<Octets>(nibbles)));
#else
  const Quads code = bits<Quads>(nibbles), magnitude = code & 7, sign = code > 7;
  const Quads value = magnitude - (magnitude > 4) - (magnitude > 5) + (3 & (magnitude > 6));
  return (value ^ sign) - sign;
#endif
}

// Of each word of nibbles, bit 4 i: whether number i is no zero.
inline U32 nonzero_nibbles(U32 v) {
  return (v | v >> 1 | v >> 2) & 0x11111111;
}

// Adds the four products of unsigned and signed bytes in each word, to two sums of 16 bits.
inline Shorts add_products(Shorts sums, U32 left, U32 right) {
#if defined(__AVX512BW__)
  return sums + bits<Shorts>(_mm512_maddubs_epi16(bits<__m512i>(left), bits<__m512i>(right)));
#elif defined(__AVX2__)
  return sums + bits<Shorts>(_mm256_maddubs_epi16(bits<__m256i>(left), bits<__m256i>(right)));
#elif defined(WARPBIT_NEON)
  // No left byte is above twice the largest element: they are signed, too.
  const auto x = bits<int8x16_t>(left), y = bits<int8x16_t>(right);
  return sums + bits<Shorts>(vpaddq_s16(vmull_s8(vget_low_s8(x), vget_low_s8(y)), vmull_high_s8(x, y)));
#else
  const Shorts even = bits<Shorts>(left & 0x00FF00FF), odd = bits<Shorts>(left >> 8 & 0x00FF00FF);
  const Shorts b = bits<Shorts>(right);
  return sums + even * (bits<Shorts>(bits<Words>(b) << 8) >> 8) + odd * (b >> 8);
#endif
}

// One word of A, as unsigned bytes: the numbers plus the largest.
inline void store_elements(U32 raw, int lane, std::uint32_t (&to)[2][kBlock]) {
  store(to[0] + lane, elements(raw & 0x0F0F0F0F) + kLargestElement);
  store(to[1] + lane, elements(raw >> 4 & 0x0F0F0F0F) + kLargestElement);
}

// The dense words of a register of a sparse A. Each nibble of metadata says to which two of four bytes two
// bytes belong; that of register r of lane t is byte t of the metadata of lane r.
struct Expanded {
  U32 word[2];
  U32 clash;  // true where two bytes belong to one
};
inline Expanded expand(U32 stored, const std::byte* metadata, int lane) {
  std::uint32_t four[kLanes];
  for (int i = 0; i < kLanes; i += 4) __builtin_memcpy(four + i, metadata, 16);
  U32 nibbles =
      load<U32>(four) >> (lanes<U32>([](int i) { return i / 4 * 8; }) + static_cast<std::uint32_t>(2 * lane));
  Expanded out{};
  for (int i = 0; i < 2; ++i, nibbles >>= 4, stored >>= 16) {
    const U32 first = nibbles & 3, second = nibbles >> 2 & 3;
    out.word[i] = (stored & 0xFF) << 8 * first | (stored >> 8 & 0xFF) << 8 * second;
    out.clash |= bits<U32>(first == second);
  }
  return out;
}

template <bool kSparse>
inline void arrange_rows(const PartRegisters& given, GroupPanels& panels) {
  for (int block = 0; block < kRowBlocks; ++block) {
    panels.undefined[block] = 0;
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      const U32 raw = load<U32>(given.a + 4 * (block * kBlock + lane));
      std::uint32_t* nonzero = panels.a_nonzero + block * kBlock + lane;
      if constexpr (kSparse) {
        const Expanded dense = expand(raw, given.e + 16 * block, lane);
        for (int i = 0; i < 2; ++i) store_elements(dense.word[i], lane, panels.a[block][i]);
        store(nonzero, nonzero_nibbles(dense.word[0]) | nonzero_nibbles(dense.word[1]) << 1);
        // An even register is of the first row.
        const std::uint32_t clashes = negative_lanes(bits<I32>(dense.clash));
        panels.undefined[block] |=
            ((clashes & 0x5555) != 0 ? 0x5555U : 0) | ((clashes & 0xAAAA) != 0 ? 0xAAAAU : 0);
      } else {
        store_elements(raw, lane, panels.a[block][0]);
        store(nonzero, nonzero_nibbles(raw));
      }
    }
  }
  // A group lies in two lanes: the first of them gets the bits of both.
  for (int i = 0; i < kRowBlocks * kBlock; i += kLanes)
    store(panels.a_nonzero + i, load<U32>(panels.a_nonzero + i) | load<U32>(panels.a_nonzero + i + 4)
                                                                      << (kSparse ? 2 : 1));
}

template <bool kSparse>
inline void arrange_columns(const PartRegisters& given, GroupPanels& panels) {
  constexpr int kRegisters = kSparse ? 4 : 2;  // of a lane, and words of a group
  alignas(64) std::uint32_t words[4 * kRegisters][kBlock];
  for (int first = 0; first < 4 * kRegisters; first += 4) {
#if defined(__AVX512BW__)
    U32 four[4];
#else
    std::uint32_t four[4][kBlock];
#endif
    transpose(given.b + 4 * first, 16 * kRegisters, four);
    __builtin_memcpy(words[first], four, sizeof four);
  }
  for (int group = 0; group < kGroups; ++group)
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      Shorts sum{};
      U32 nonzero{};
      for (int i = 0; i < kRegisters; ++i) {
        // Word i of the group: its lane of four, and its register.
        const int t = kSparse ? i : group % 2 * 2 + i, reg = kSparse ? group : group / 2;
        const U32 raw = load<U32>(words[t * kRegisters + reg] + lane);
        nonzero |= nonzero_nibbles(raw) << i;
        for (int high = 0; high < 2; ++high) {
          const U32 values = bits<U32>(elements(raw >> (4 * high) & 0x0F0F0F0F));
          store(panels.b[group][i][high] + lane, values);
          sum = add_products(sum, U32{} + kLargestElement * 0x01010101U, values);
        }
      }
      store(panels.b_nonzero[group] + lane, nonzero);
      store(panels.start[group] + lane, -sum);
    }
}

// ---- Scale factors

// Those of 16 rows, or of eight columns, each twice; the lanes of NaN. Side by side are those of all blocks.
template <bool kFractions>
inline std::uint32_t decode_scales(const std::byte* registers, const std::uint16_t* at, bool of_a,
                                   GroupScales& out) {
  std::uint32_t codes[kBlock] = {}, special = 0;
  for (int i = 0; i < kBlock; ++i)
    __builtin_memcpy(codes + i, registers + at[of_a ? i : i / 2], kFractions ? 4 : 2);
  for (int block = 0; block < (kFractions ? 4 : 2); ++block)
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      const U32 code = load<U32>(codes + lane) >> (8 * block) & (kFractions ? 0x7F : 0xFF);
      I32 exponent = bits<I32>(code) - 127;
      if constexpr (kFractions) {  // ue4m3
        const U32 field = code >> 3, fraction = code & 7;
        const U32 significand = field == 0 ? fraction : fraction | 8;
        exponent = code == 0 ? I32{} + kNever : max(bits<I32>(field), I32{} + 1) - 7;
        store(out.significand[block] + lane, significand | significand << 16);
      }
      store(out.exponent[block] + lane, exponent);
      special |= negative_lanes(code == (kFractions ? 0x7F : 0xFF)) << lane;
    }
  return special;
}

// ---- Sums

// 64 bits for each of 32, those of the even lanes and those of the odd ones.
struct Wide {
  U64 even, odd;
};
constexpr std::uint64_t kLowHalf = 0xFFFFFFFF;

// Numbers times 2^kUp, cut to multiples of 2^drop, in units of that.
template <int kUp>
inline Wide cut(U32 magnitude, U32 drop) {
  const U64 m = bits<U64>(magnitude), n = bits<U64>(min(drop, U32{} + 63));
  const U64 high = m & ~kLowHalf;
  return {(m & kLowHalf) << kUp >> (n & kLowHalf),
          (kUp >= 32 ? high << (kUp % 32) : high >> (32 - kUp) % 32) >> (n >> 32)};
}

// Adds them, those negated where `sign` is -1; but for the 1 that a negation adds.
inline void add_signed(Wide& sum, const Wide& x, I32 sign) {
  const I32 even = shuffle(sign, [](int i) { return i & ~1; });
  const I32 odd = shuffle(sign, [](int i) { return i | 1; });
  sum.even += x.even ^ bits<U64>(even);
  sum.odd += x.odd ^ bits<U64>(odd);
}
inline void add_ones(Wide& sum, U32 ones) {
  sum.even += bits<U64>(ones) & kLowHalf;
  sum.odd += bits<U64>(ones) >> 32;
}

struct PartResult {
  U32 d;
  I32 suspicious;
};

// Units of 2^(E - 35), rounded toward zero to f32. As f64 a sum below 2^51 is exact, and four times that has an
// exponent field from 1025 to 1075, or is zero: its lowest 9 bits are free of the others.
//
//     63   62..52      51..29       28..0
//     S    0x401 ...   MMM...M      cut
inline PartResult round_sum(const Wide& sum, I32 e) {
  constexpr std::uint64_t kThreeHalves = 0x4358000000000000;  // 1.5 * 2^54, whose last place is 4
  const auto number = [&](U64 units) { return bits<U64>(bits<F64>(units + kThreeHalves) - 0x1.8p54); };
  const U64 even = number(sum.even), odd = number(sum.odd);
  const U32 magnitude = bits<U32>((even >> 29 & kLowHalf) | (odd << 3 & ~kLowHalf));
  const U32 sign = bits<U32>(even >> 32 | (odd & ~kLowHalf)) & 0x80000000;
  const I32 up = e + (127 + 1 - 2 - kGroupWindow);
  const U32 field = bits<U32>(bits<I32>(magnitude >> 23) + up);
  PartResult out{};
  const I32 small = bits<I32>(field)<1, large = bits<I32>(field)> 254;
  out.suspicious = (magnitude != 0) & small;
  const U32 finite = magnitude + (bits<U32>(up) << 23);
  out.d = magnitude == 0 ? U32{} : (large != 0 ? U32{} + 0x7F800000 : finite) | sign;
  return out;
}

// `nan`: true in the lanes that a NaN scale factor reaches.
template <bool kFractions, bool kSparse>
inline PartResult group_part(const GroupPanels& panels, const GroupProgram& program, U32 c, I32 nan, int block,
                             int lane) {
  constexpr int kUp = kGroupWindow - (kFractions ? 8 : 2);  // less the fraction bits of a group
  constexpr int kWords = kSparse ? 4 : 2;
  const U32 c_field = c << 1 >> 24, c_fraction = c & 0x7FFFFF;
  const U32 c_significand = c_field == 0 ? c_fraction : c_fraction | 0x800000;
  const I32 c_exponent = max(bits<I32>(c_field), I32{} + 1) - 127;
  I32 sums[kGroups], exponents[kGroups], largest = I32{} + kNever, least = -largest;
#pragma GCC unroll 4
  for (int group = 0; group < kGroups; ++group) {
    const int at = group % 2 * 8 + group / 2 * 2;  // of the pair of rows, in the words of A
    const auto pair = [](const auto* from) {
      return bits<U32>(repeat_pair(reinterpret_cast<const float*>(from)));
    };
    auto sum = load<Shorts>(panels.start[group] + lane);
#pragma GCC unroll 4
    for (int i = 0; i < kWords; ++i)
#pragma GCC unroll 2
      for (int high = 0; high < 2; ++high) {
        const std::uint32_t* words =
            kSparse ? panels.a[block][i % 2][high] + i / 2 * 4 : panels.a[block][0][high] + i * 4;
        sum = add_products(sum, pair(words + at), load<U32>(panels.b[group][i][high] + lane));
      }
    const int scale = kFractions ? group : group / 2;
    auto significands = bits<Shorts>(U32{} + 0x00010001);
    if constexpr (kFractions)
      significands = bits<Shorts>(pair(panels.a_scales.significand[scale] + 2 * block)) *
                     load<Shorts>(panels.b_scales.significand[scale] + lane);
    sums[group] = sum_of_products(sum, significands);
    exponents[group] = bits<I32>(pair(panels.a_scales.exponent[scale] + 2 * block)) +
                       load<I32>(panels.b_scales.exponent[scale] + lane);
    const U32 both = pair(panels.a_nonzero + block * kBlock + at) & load<U32>(panels.b_nonzero[group] + lane);
    largest = max(largest, both != 0 ? exponents[group] : I32{} + kNever);
    least = min(least, both != 0 ? exponents[group] : I32{} - kNever);
  }
  const I32 of_c = c_significand == 0 ? I32{} + kNever : c_exponent;
  const I32 e = max(max(of_c, largest), I32{} + program.floor);

  const I32 c_sign = bits<I32>(c) >> 31;
  Wide total{};
  add_signed(total, cut<kGroupWindow - 23>(c_significand, bits<U32>(e - c_exponent)), c_sign);
  U32 negated = bits<U32>(-c_sign);
#pragma GCC unroll 4
  for (int group = 0; group < kGroups; ++group) {
    const I32 sign = sums[group] >> 31;
    const U32 magnitude = bits<U32>((sums[group] ^ sign) - sign);
    add_signed(total, cut<kUp>(magnitude, bits<U32>(e - exponents[group])), sign);
    negated -= bits<U32>(sign);
  }
  add_ones(total, negated);
  PartResult out = round_sum(total, e);
  if (program.windowed) out.suspicious |= (of_c < largest + kAboveScales) & (e - least > kNothingCut);
  const I32 special = bits<I32>(c_field == 255) | nan;
  nan |= special & bits<I32>(c_fraction != 0);
  out.suspicious &= ~special;
  out.d = nan != 0 ? U32{} + 0x7FFFFFFF : special != 0 ? c : out.d;
  return out;
}

// ---- Parts

template <bool kFractions, bool kSparse>
void one_part(const GroupProgram& program, const Parts& parts, const PartCursor& at) {
  const PartRegisters given = at.part();
  GroupPanels panels;
  arrange_rows<kSparse>(given, panels);
  arrange_columns<kSparse>(given, panels);
  panels.a_special = decode_scales<kFractions>(given.a_scales, program.scales.a, true, panels.a_scales);
  panels.b_special = decode_scales<kFractions>(given.b_scales, program.scales.b, false, panels.b_scales);

  // All are computed before one is stored, since D may be C, A or B.
  alignas(64) std::uint32_t d[kRowBlocks][kBlock];
  for (int block = 0; block < kRowBlocks; ++block) {
    std::uint32_t c[kBlock], suspicious = panels.undefined[block];
    const std::uint32_t rows = panels.a_special >> 2 * block;
    const std::uint32_t nan =
        panels.b_special | ((rows & 1) != 0 ? 0x5555U : 0) | ((rows & 2) != 0 ? 0xAAAAU : 0);
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      const U32 codes = load_part<U32>(given.c + (4 * block + lane / 4) * parts.c_stride, parts.c_stride);
      const U32 bit = lanes<U32>([](int i) { return 1U << i; }) << static_cast<std::uint32_t>(lane);
      const PartResult result =
          group_part<kFractions, kSparse>(panels, program, codes, bits<I32>((nan & bit) != 0), block, lane);
      store(c + lane, codes);
      store(d[block] + lane, result.d);
      suspicious |= negative_lanes(result.suspicious) << lane;
    }
    if (__builtin_expect(suspicious != 0, 0))
      for (int i = 0; i < kBlock; ++i)
        if (suspicious >> i & 1)
          d[block][i] = static_cast<std::uint32_t>(parts.exact({at.index(), block, 0, i}, c[i]));
  }
  for (int block = 0; block < kRowBlocks; ++block)
    for (int lane = 0; lane < kBlock; lane += kLanes)
      store_part(given.d + (4 * block + lane / 4) * parts.d_stride, parts.d_stride, load<U32>(d[block] + lane));
}

void groups(const GroupProgram& p, const Parts& parts) {
  const auto one = p.fractions ? (p.sparse ? one_part<true, true> : one_part<true, false>)
                               : (p.sparse ? one_part<false, true> : one_part<false, false>);
  for (PartCursor at(parts); at.next();) one(p, parts, at);
}

}  // namespace
}  // namespace warpbit
