// SPDX-License-Identifier: Apache-2.0
// Sums of integers and counts of bits on blocks: exact, whatever the order of k. Elements become 16-bit
// integers, two in each 32-bit lane, whose products are added in pairs; with VNNI bytes, four in each lane.
#pragma once

#include <cstring>

#include "kernel/body.hpp"
#include "kernel/body/panels.hpp"
#include "kernel/body/vectors.hpp"

namespace warpbit {
namespace {

// The eight bytes that begin at `from`, in each pair of lanes.
inline I32 repeat_two(const std::byte* from) {
  return bits<I32>(U64{} + load<std::uint64_t>(from));
}

// The number of ones in each byte.
inline I32 count_in_bytes(I32 v) {
#if defined(__AVX2__)
  const auto table = lanes<Octets>([](int i) { return (i & 1) + (i >> 1 & 1) + (i >> 2 & 1) + (i >> 3 & 1); });
  const auto count = [&](I32 x) { return bits<I32>(look_up(table, bits<Octets>(x))); };
  return count(v & 0x0F0F0F0F) + count(v >> 4 & 0x0F0F0F0F);
#elif defined(WARPBIT_NEON)
  return bits<I32>(vcntq_u8(bits<uint8x16_t>(v)));
#else
  U32 u = bits<U32>(v);
  u -= u >> 1 & 0x55555555;
  u = (u & 0x33333333) + (u >> 2 & 0x33333333);
  return bits<I32>((u + (u >> 4)) & 0x0F0F0F0F);
#endif
}
inline I32 sum_of_bytes(I32 v) {
  v = (v & 0x00FF00FF) + (v >> 8 & 0x00FF00FF);
  return (v & 0xFFFF) + (v >> 16);
}

// What a lane of A and one of B add to a sum, and what the sum over k becomes. Counts of up to 16 words fit in
// bytes.
struct XorCounts {
  static I32 add(I32 sum, I32 x, I32 y) { return sum + count_in_bytes(x ^ y); }
  static I32 total(I32 sum) { return sum_of_bytes(sum); }
};
struct AndCounts {
  static I32 add(I32 sum, I32 x, I32 y) { return sum + count_in_bytes(x & y); }
  static I32 total(I32 sum) { return sum_of_bytes(sum); }
};

// Modulo 2^32, or clamped.
inline I32 add_accumulator(I32 sum, I32 c, bool saturates) {
  const I32 total = bits<I32>(bits<U32>(sum) + bits<U32>(c));
  if (!saturates) return total;
  const I32 overflowed = (total ^ sum) & (total ^ c);
  return overflowed < 0 ? (c >> 31) ^ 0x7FFFFFFF : total;
}

// A part and how it is computed. An item is a word, a double or a half.
//
//     A [row of blocks][item][2]      B [column][item]      C, D [row of blocks][16]
struct NativePart : PartRegisters {
  const NativeProgram& program;
  int rows;  // of blocks
};

// Panels in planes: A [plane][row of blocks][word][2], B [plane][word][16]; and what is added to the sums.
struct IntegerPanels {
  const std::byte *a, *b;
  int planes, rows;
  I32 more{};
};

// The sums of two rows of blocks, in lanes from `lane` on.
template <class Term, int kWords>
inline void sum_two(const IntegerPanels& p, int row, int lane, I32 out[2]) {
  I32 upper_even{}, upper_odd{}, lower_even{}, lower_odd{};
  const std::byte *a = p.a + std::ptrdiff_t{8} * row * kWords, *b = p.b + std::ptrdiff_t{4} * lane;
  for (int plane = 0; plane < p.planes; ++plane) {
#pragma GCC unroll 8
    for (int w = 0; w < kWords; w += 2) {
      const I32 even = load<I32>(b + 4 * kBlock * w), odd = load<I32>(b + 4 * kBlock * (w + 1));
      upper_even = Term::add(upper_even, repeat_two(a + 8 * w), even);
      upper_odd = Term::add(upper_odd, repeat_two(a + 8 * (w + 1)), odd);
      lower_even = Term::add(lower_even, repeat_two(a + 8 * (kWords + w)), even);
      lower_odd = Term::add(lower_odd, repeat_two(a + 8 * (kWords + w + 1)), odd);
    }
    a += std::ptrdiff_t{8} * p.rows * kWords;
    b += 4 * kBlock * kWords;
  }
  out[0] = Term::total(upper_even + upper_odd) + p.more;
  out[1] = Term::total(lower_even + lower_odd) + p.more;
}

template <class Term, int kWords>
inline __attribute__((always_inline)) void integer_blocks(const NativePart& part, IntegerPanels p) {
  // Copies, which no store to D can change.
  const std::byte* from = part.c;
  std::byte* to = part.d;
  const bool saturates = part.program.saturates;
  for (int row = 0; row < p.rows; row += 2)
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      I32 sums[2];
      sum_two<Term, kWords>(p, row, lane, sums);
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        const std::ptrdiff_t at = std::ptrdiff_t{4} * (kBlock * (row + i) + lane);
        const I32 c = exchange_middle(load<I32>(from + at));
        store(to + at, exchange_middle(add_accumulator(sums[i], c, saturates)));
      }
    }
}

// The words of eight columns -> [word][16].
template <int kWords>
inline void spread_columns(const std::byte* columns, std::byte* to) {
#if defined(__AVX512BW__)
  U32 four[4];
#else
  std::uint32_t four[4][kBlock];
#endif
#pragma GCC unroll 4
  for (int w = 0; w < kWords; w += 4) {
    transpose(columns + 4 * w, 4 * kWords, four);
    for (int i = 0; i < 4; ++i) store(to + 4 * kBlock * (w + i), four[i]);
  }
}

// ---- Products

#if defined(__AVX512VNNI__)
// Bytes of one factor are unsigned, those of the other signed.
template <bool kUnsignedA>
struct ByteProducts {
  static I32 add(I32 sum, I32 x, I32 y) {
    const auto bytes_of_a = bits<__m512i>(x), bytes_of_b = bits<__m512i>(y);
    if constexpr (kUnsignedA)
      return bits<I32>(_mm512_dpbusd_epi32(bits<__m512i>(sum), bytes_of_a, bytes_of_b));
    else
      return bits<I32>(_mm512_dpbusd_epi32(bits<__m512i>(sum), bytes_of_b, bytes_of_a));
  }
  static I32 total(I32 sum) { return sum; }
};

// The elements of words as planes of bytes, with the bits of `inverted` inverted, less `less`.
//
//     word      e7 e6    e5 e4    e3 e2    e1 e0        of 4 bits
//     plane 0      e6       e4       e2       e0
//     plane 1      e7       e5       e3       e1
template <int kBits>
inline void split(std::uint8_t inverted, std::uint8_t less, const std::byte* words, int count,
                  std::byte* planes) {
#pragma GCC unroll 2
  for (int j = 0; j < 8 / kBits; ++j)
    for (int i = 0; i < count; i += kLanes) {
      const auto v = load<U32>(words + 4 * i);
      const auto elements = bits<Octets>(kBits == 4 ? v >> (4 * j) & 0x0F0F0F0F : v);
      store(planes + 4 * (j * count + i), (elements ^ inverted) - less);
    }
}

// Bytes of A are unsigned if those of B are signed, and the other way round; so A is moved by half of its range
// where both have the same sign, which inverts the highest bit of each element. Elements of four bits that are
// not negative are bytes of either kind.
inline int move_of_a(const NativeProgram& p) {
  if (p.bits == 4) return p.a_signed ? 8 : 0;
  return p.a_signed != p.b_signed ? 0 : p.a_signed ? 128 : -128;
}

// What the move of A added to the sums of columns, negated: moved times the sum of B's column.
template <class Term, int kWords>
inline I32 without_move(const std::byte* b, int moved) {
  I32 even{}, odd{};
#pragma GCC unroll 16
  for (int w = 0; w < kWords; w += 2) {
    even = Term::add(even, I32{} + 0x01010101, load<I32>(b + 4 * kBlock * w));
    odd = Term::add(odd, I32{} + 0x01010101, load<I32>(b + 4 * kBlock * (w + 1)));
  }
  return (even + odd) * -moved;
}

template <class Term, int kBits, int kWords>
void products_of(const NativePart& part) {
  constexpr int kPlanes = 8 / kBits;
  alignas(64) std::byte a[kPlanes * 2 * kMaxRows * 4 * kWords], b[kPlanes * kBlock * 4 * kWords],
      columns[kBlock * 4 * kWords];
  const int moved = move_of_a(part.program);
  split<kBits>(static_cast<std::uint8_t>(moved), 0, part.a, 2 * part.rows * kWords, a);
  const std::uint8_t sign = part.program.b_signed ? 8 : 0;
  spread_columns<kWords>(part.b, columns);
  if constexpr (kBits == 4) split<4>(sign, sign, columns, kBlock * kWords, b);
  const std::byte* planes = kBits == 4 ? b : columns;
  const I32 more = without_move<Term, kPlanes * kWords>(planes, moved);
  integer_blocks<Term, kWords>(part, {a, planes, kPlanes, part.rows, more});
}
template <int kWords>
void products(const NativePart& part) {
  if (part.program.bits == 4) return products_of<ByteProducts<true>, 4, kWords>(part);
  part.program.b_signed ? products_of<ByteProducts<true>, 8, kWords>(part)
                        : products_of<ByteProducts<false>, 8, kWords>(part);
}
#else
struct PairProducts {
  static I32 add(I32 sum, I32 x, I32 y) { return sum + sum_of_products(bits<Shorts>(x), bits<Shorts>(y)); }
  static I32 total(I32 sum) { return sum; }
};

// The elements of words as planes of 16-bit integers.
//
//     word      e3      e2      e1      e0        of 8 bits
//     plane 0          e2              e0
//     plane 1          e3              e1
template <int kBits, bool kSigned>
inline void split(const std::byte* words, int count, std::byte* planes) {
#pragma GCC unroll 4
  for (int j = 0; j < 16 / kBits; ++j)
    for (int i = 0; i < count; i += kLanes) {
      const I32 v = load<I32>(words + 4 * i);
      if constexpr (kSigned)
        store(planes + 4 * (j * count + i), (bits<Shorts>(v) << (16 - kBits - j * kBits)) >> (16 - kBits));
      else
        store(planes + 4 * (j * count + i), (bits<Words>(v) >> (j * kBits)) & std::uint16_t{(1 << kBits) - 1});
    }
}
void split(int element_bits, bool is_signed, const std::byte* words, int count, std::byte* planes) {
  if (element_bits == 8)
    is_signed ? split<8, true>(words, count, planes) : split<8, false>(words, count, planes);
  else
    is_signed ? split<4, true>(words, count, planes) : split<4, false>(words, count, planes);
}

template <int kWords>
void products(const NativePart& part) {
  const NativeProgram& program = part.program;
  alignas(64) std::byte a[4 * 2 * kMaxRows * 4 * kWords], b[4 * kBlock * 4 * kWords],
      columns[kBlock * 4 * kWords];
  split(program.bits, program.a_signed, part.a, 2 * part.rows * kWords, a);
  spread_columns<kWords>(part.b, columns);
  split(program.bits, program.b_signed, columns, kBlock * kWords, b);
  integer_blocks<PairProducts, kWords>(part, {a, b, 16 / program.bits, part.rows});
}

#endif

// ---- Counts

template <class Term, int kWords>
void counts(const NativePart& part) {
  alignas(64) std::byte b[kBlock * 4 * kWords];
  spread_columns<kWords>(part.b, b);
  integer_blocks<Term, kWords>(part, {part.a, b, 1, part.rows});
}

template <int kWords>
void integers(const NativePart& part) {
  switch (part.program.kind) {
    case NativeProgram::Kind::xor_count: return counts<XorCounts, kWords>(part);
    case NativeProgram::Kind::and_count: return counts<AndCounts, kWords>(part);
    default: return products<kWords>(part);
  }
}
void integers(const NativePart& part, int items) {
  items == 4 ? integers<4>(part) : items == 8 ? integers<8>(part) : integers<16>(part);
}

// The items of a node: of each run of units those from `first` on.
//
//     item          0 1 2 3   4 5 6 7   ...   units of four, word k is item k % 4 * units + k / 4
//     node of two   0 0 1 1   0 0 1 1
inline void take_node(const std::byte* from, int runs, int units, int nodes, int node, int item_bytes,
                      std::byte* to) {
  const std::ptrdiff_t run = std::ptrdiff_t{units} * item_bytes, taken = run / nodes;
  for (int i = 0; i < runs; ++i)
    std::memcpy(to + i * taken, from + i * run + node * taken, static_cast<std::size_t>(taken));
}

// Not inline: its two tiles on the stack would cost those of one node 6 %.
__attribute__((noinline)) void integer_nodes(const NativePart& part) {
  const int items = part.program.items, nodes = part.program.nodes;
  alignas(64) std::byte a[2 * kMaxRows * 4 * 16], b[8 * 4 * 16];
  NativePart one = part;
  one.a = a;
  one.b = b;
  for (int node = 0; node < nodes; ++node) {
    take_node(part.a, 4 * part.rows, items / 4, nodes, node, 8, a);
    take_node(part.b, 4 * 8, items / 4, nodes, node, 4, b);
    if (node > 0) one.c = part.d;
    integers(one, items / nodes);
  }
}

void integers(const NativePart& part) {
  part.program.nodes == 1 ? integers(part, part.program.items) : integer_nodes(part);
}

}  // namespace
}  // namespace warpbit
