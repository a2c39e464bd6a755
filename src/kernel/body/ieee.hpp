// SPDX-License-Identifier: Apache-2.0
// IEEE 754 on blocks: each operation is the processor's own. What it does otherwise than the specification is
// which NaN it returns, where more than one operand is NaN or there is a NaN of its own. One NaN stays one to the end of a
// chain, so that a look at the result finds it; and then the chain is computed again with a look at each operation.
#pragma once

#if !defined(__SSE2__) && !defined(__aarch64__)
#include <fenv.h>  // fegetenv, fesetenv, fesetround
#endif

#include "kernel/body.hpp"
#include "kernel/body/integers.hpp"
#include "kernel/body/vectors.hpp"

namespace warpbit {
namespace {

// At least four, the pieces of a block.
constexpr int kDoubles = kLanes > 8 ? kLanes / 2 : 4;
using Doubles = VectorOf<double, kDoubles>::type;
using Longs = VectorOf<std::int64_t, kDoubles>::type;

// While it lives, arithmetic rounds in a direction, has subnormals and traps nothing. The compiler knows
// nothing of that: the arithmetic is in functions that are not inlined where this lives, between barriers.
class Environment {
 public:
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
#if defined(__SSE2__)
  explicit Environment(NativeProgram::Direction direction)
      : before_(_mm_getcsr()), wanted_(kAllMasked | static_cast<unsigned>(direction) << 13) {
    if (differs()) _mm_setcsr(wanted_);
    asm volatile("" ::: "memory");
  }
  ~Environment() {
    asm volatile("" ::: "memory");
    if (differs()) _mm_setcsr(before_);
  }

 private:
  static constexpr unsigned kAllMasked = 0x1F80, kFlags = 0x3F;
  bool differs() const {
    return (before_ & ~kFlags) != wanted_;
  }
  unsigned before_, wanted_;
#elif defined(__aarch64__)
  explicit Environment(NativeProgram::Direction direction) {
    // The register's mode: nearest, up, down, zero (floating.hpp).
    constexpr std::uint64_t kModes[] = {0, 2, 1, 3};
    wanted_ = kModes[static_cast<int>(direction)] << 22;
    asm volatile("mrs %0, fpcr" : "=r"(before_)::"memory");
    if (before_ != wanted_) asm volatile("msr fpcr, %0" ::"r"(wanted_) : "memory");
  }
  ~Environment() {
    asm volatile("" ::: "memory");
    if (before_ != wanted_) asm volatile("msr fpcr, %0" ::"r"(before_) : "memory");
  }

 private:
  std::uint64_t before_, wanted_;
#else
  explicit Environment(NativeProgram::Direction direction) {
    constexpr int kModes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    fegetenv(&before_);
    fesetenv(FE_DFL_ENV);
    fesetround(kModes[static_cast<int>(direction)]);
    asm volatile("" ::: "memory");
  }
  ~Environment() {
    asm volatile("" ::: "memory");
    fesetenv(&before_);
  }

 private:
  fenv_t before_;
#endif
};

// Eight columns, [column][item] -> [item][16].
template <class T, int kItems>
inline void spread(const std::byte* columns, T* to) {
  for (int item = 0; item < kItems; ++item)
    for (int n = 0; n < 8; ++n) {
      const T x = load<T>(columns + sizeof(T) * static_cast<std::size_t>(n * kItems + item));
      store(to + kBlock * item + 2 * n, typename VectorOf<T, 2>::type{x, x});
    }
}

// ---- f64

inline Doubles multiply_add(Doubles x, Doubles y, Doubles z) {
#if defined(__AVX512F__)
  return bits<Doubles>(_mm512_fmadd_pd(bits<__m512d>(x), bits<__m512d>(y), bits<__m512d>(z)));
#elif defined(__AVX2__)
  return bits<Doubles>(_mm256_fmadd_pd(bits<__m256d>(x), bits<__m256d>(y), bits<__m256d>(z)));
#else
  for (int i = 0; i < kDoubles; ++i) z[i] = __builtin_fma(x[i], y[i], z[i]);
  return z;
#endif
}

// The pair that begins at `from`, in each pair of lanes.
inline Doubles repeat_pair(const std::byte* from) {
#if defined(__AVX512DQ__)
  return bits<Doubles>(_mm512_broadcast_f64x2(bits<__m128d>(load<VectorOf<double, 2>::type>(from))));
#elif defined(__AVX2__)
  const auto pair = bits<__m128d>(load<VectorOf<double, 2>::type>(from));
  return bits<Doubles>(_mm256_set_m128d(pair, pair));
#else
  const auto x = load<double>(from), y = load<double>(from + 8);
  return Doubles{x, y, x, y};
#endif
}

// Of C.
inline Doubles load_doubles(const std::byte* from) {
  return bits<Doubles>(exchange_middle(load<Longs>(from)));
}
inline void store_doubles(std::byte* to, Doubles v) {
  store(to, exchange_middle(bits<Longs>(v)));
}

inline bool has_nan(Doubles x, Doubles y) {
#if defined(__AVX512F__)
  return _mm512_cmp_pd_mask(bits<__m512d>(x), bits<__m512d>(y), _CMP_UNORD_Q) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_pd(_mm256_cmp_pd(bits<__m256d>(x), bits<__m256d>(y), _CMP_UNORD_Q)) != 0;
#else
  for (int i = 0; i < kDoubles; ++i)
    if (x[i] != x[i] || y[i] != y[i]) return true;
  return false;
#endif
}

// Eight columns as spread() has them; whole vectors, since a load waits for smaller stores that it covers.
template <int kItems>
inline void spread_doubles(const std::byte* columns, double* to) {
#if defined(__AVX512BW__)
#pragma GCC unroll 8
  for (int item = 0; item < kItems; item += 2)
#pragma GCC unroll 2
    for (int first = 0; first < 8; first += 4) {
      const auto pairs =
          bits<Longs>(load_sixteens([&](int n) { return columns + 8 * ((first + n) * kItems + item); }));
      double* both = to + kBlock * item + 2 * first;
      store(both, shuffle(pairs, [](int i) { return i / 2 * 2; }));
      store(both + kBlock, shuffle(pairs, [](int i) { return i / 2 * 2 + 1; }));
    }
#else
  spread<double, kItems>(columns, to);
#endif
}

// As many blocks as accumulators fit in registers, below each other; of four blocks, no more than these.
constexpr int kOfFour = kLanes / 4, kTall = kLanes == 16 ? 2 * kOfFour : kOfFour;
constexpr int kParts = kBlock / kDoubles;

// NaN where x is NaN, made quiet; else y.
inline Doubles first_nan(Doubles x, Doubles y) {
  constexpr std::int64_t kQuiet = std::int64_t{1} << 51;
  return x != x ? bits<Doubles>(bits<Longs>(x) | kQuiet) : y;
}

// A part of a block again, with the NaN of NanRule::first_of_b_sum_a from each operation.
template <int kItems>
__attribute__((noinline)) Doubles chain_with_nans(const std::uint8_t* place, const std::byte* a,
                                                  const double* b, Doubles sum) {
  constexpr std::int64_t kOwn = static_cast<std::int64_t>(0xFFF8'0000'0000'0000);
  for (int k = 0; k < kItems; ++k) {
    const Doubles left = repeat_pair(a + std::ptrdiff_t{16} * place[k]);
    const auto right = load<Doubles>(b + std::ptrdiff_t{kBlock} * place[k]);
    const Doubles result = multiply_add(left, right, sum);
    const Doubles own = result != result ? bits<Doubles>(Longs{} + kOwn) : result;
    sum = first_nan(right, first_nan(sum, first_nan(left, own)));
  }
  return sum;
}

// kRows blocks below each other; `b` is [item][16].
template <int kItems, int kRows>
__attribute__((noinline)) void chain_doubles(const NativePart& of, const double* b, int row) {
  const std::uint8_t* place = of.program.place;
  const std::byte *a = of.a + std::ptrdiff_t{16} * row * kItems, *c = of.c;
  std::byte* d = of.d;
  const auto offset = [&](int r, int part) {
    return std::ptrdiff_t{8} * (kBlock * (row + r) + part * kDoubles);
  };
  Doubles sums[kRows][kParts];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int part = 0; part < kParts; ++part) sums[r][part] = load_doubles(c + offset(r, part));
#pragma GCC unroll 1
  for (int k = 0; k < kItems; ++k) {
    const std::byte* left = a + std::ptrdiff_t{16} * place[k];
    const double* right = b + std::ptrdiff_t{kBlock} * place[k];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int part = 0; part < kParts; ++part)
        sums[r][part] = multiply_add(repeat_pair(left + 16 * kItems * r),
                                     load<Doubles>(right + part * kDoubles), sums[r][part]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int part = 0; part < kParts; part += 2) {
      Doubles &x = sums[r][part], &y = sums[r][part + 1];
      if (__builtin_expect(has_nan(x, y), 0)) {
        const std::byte* left = a + std::ptrdiff_t{16} * kItems * r;
        x = chain_with_nans<kItems>(place, left, b + part * kDoubles, load_doubles(c + offset(r, part)));
        y = chain_with_nans<kItems>(place, left, b + (part + 1) * kDoubles,
                                    load_doubles(c + offset(r, part + 1)));
      }
      store_doubles(d + offset(r, part), x);
      store_doubles(d + offset(r, part + 1), y);
    }
}

template <int kItems>
void doubles(const NativePart& of) {
  alignas(64) double b[kItems * kBlock];
  const Environment environment(of.program.direction);
  spread_doubles<kItems>(of.b, b);
  if (of.rows < kTall)
    chain_doubles<kItems, kOfFour>(of, b, 0);
  else
    for (int row = 0; row < of.rows; row += kTall) chain_doubles<kItems, kTall>(of, b, row);
}
void doubles(const NativePart& of) {
  const int items = of.program.items;
  items == 4 ? doubles<4>(of) : items == 8 ? doubles<8>(of) : doubles<16>(of);
}

// ---- f16 products in f32 are exact, so that an FMA is an addition.

// The items of A, or of eight columns of B, as f32.
inline void widen_halves(const std::byte* from, int count, float* to) {
  for (int i = 0; i < count; i += kLanes) store(to + i, widen_half(load<U16>(from + 2 * i)));
}

inline U32 canonical_code(F32 v, bool half) {
  if (half) return v != v ? U32{} + 0x7FFF : convert<U32>(narrow_to_half(v));
  return v != v ? U32{} + 0x7FFFFFFF : bits<U32>(v);
}

constexpr int kHalves = 4;  // terms

// `a` is [item][2], `b` [item][16].
inline U32 half_part(const NativeProgram& program, const float* a, const float* b, F32 c) {
  F32 product[kHalves];
  for (int k = 0; k < kHalves; ++k)
    product[k] = repeat_pair(a + 2 * program.place[k]) * load<F32>(b + kBlock * program.place[k]);
  const F32 sum = program.kind == NativeProgram::Kind::single_chain
                      ? c + (((F32{} + product[0]) + product[1] + product[2]) + product[3])
                      : c + (product[0] + product[1]) + (product[2] + product[3]);
  return canonical_code(sum, program.half_d);
}

__attribute__((noinline)) void half_blocks(const NativePart& part) {
  const NativeProgram& program = part.program;
  alignas(64) float a[8 * kHalves], columns[8 * kHalves], b[kBlock * kHalves];
  widen_halves(part.a, 8 * kHalves, a);
  widen_halves(part.b, 8 * kHalves, columns);
  spread<float, kHalves>(reinterpret_cast<const std::byte*>(columns), b);
  for (int row = 0; row < 4; ++row)
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      const std::ptrdiff_t at = kBlock * row + lane;
      const F32 c = program.half_c ? widen_half(exchange_middle(load<U16>(part.c + 2 * at)))
                                   : bits<F32>(exchange_middle(load<U32>(part.c + 4 * at)));
      const U32 d = exchange_middle(half_part(program, a + 2 * row * kHalves, b + lane, c));
      if (program.half_d)
        store(part.d + 2 * at, convert<U16>(d));
      else
        store(part.d + 4 * at, d);
    }
}

void halves(const NativePart& part) {
  const Environment environment(NativeProgram::Direction::nearest);
  half_blocks(part);
}

}  // namespace
}  // namespace warpbit
