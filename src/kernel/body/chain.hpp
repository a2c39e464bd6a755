// SPDX-License-Identifier: Apache-2.0
// Chains of FMA, or of products and sums, on blocks: a running value of each element, one product a b after the other.
#pragma once

#include "kernel/body.hpp"
#include "kernel/body/vectors.hpp"

namespace warpbit {
namespace {

using EightFloats = VectorOf<float, 8>::type;
using EightDoubles = VectorOf<double, 8>::type;

inline EightFloats fused_row(EightFloats x, EightFloats y, EightFloats z) {
#if defined(__AVX2__)
  return bits<EightFloats>(_mm256_fmadd_ps(bits<__m256>(x), bits<__m256>(y), bits<__m256>(z)));
#else
  for (int i = 0; i < 8; ++i) z[i] = __builtin_fmaf(x[i], y[i], z[i]);
  return z;
#endif
}
inline EightDoubles fused_row(EightDoubles x, EightDoubles y, EightDoubles z) {
#if defined(__AVX512F__)
  return bits<EightDoubles>(_mm512_fmadd_pd(bits<__m512d>(x), bits<__m512d>(y), bits<__m512d>(z)));
#elif defined(__AVX2__)
  struct Halves {
    __m256d low, high;
  };
  const auto a = bits<Halves>(x), b = bits<Halves>(y), c = bits<Halves>(z);
  return bits<EightDoubles>(
      Halves{_mm256_fmadd_pd(a.low, b.low, c.low), _mm256_fmadd_pd(a.high, b.high, c.high)});
#else
  for (int i = 0; i < 8; ++i) z[i] = __builtin_fma(x[i], y[i], z[i]);
  return z;
#endif
}

// Some pairs of rows of D at once, as each sum waits for the one before.
template <class T, bool kFused, int kPairs>
void chain_pairs(const ChainBlocks& c, std::size_t pair) {
  using Row = typename VectorOf<T, 8>::type;
  const T* a = static_cast<const T*>(c.a) + pair * c.pair_stride;
  const T* b = static_cast<const T*>(c.b);
  T* const running = static_cast<T*>(c.running) + pair * kBlock;
  Row sums[2 * kPairs];
  for (int row = 0; row < 2 * kPairs; ++row) sums[row] = load<Row>(running + 8 * row);
  for (std::size_t k = 0; k < c.steps; ++k) {
    const Row right = load<Row>(b + 8 * k);
    for (int row = 0; row < 2 * kPairs; ++row) {
      const Row left =
          Row{} +
          a[static_cast<std::size_t>(row / 2) * c.pair_stride + 2 * k + static_cast<std::size_t>(row % 2)];
      sums[row] = kFused ? fused_row(left, right, sums[row]) : left * right + sums[row];
    }
  }
  for (int row = 0; row < 2 * kPairs; ++row) store(running + 8 * row, sums[row]);
}

template <class T, bool kFused>
void chain_of(const ChainBlocks& c) {
  std::size_t pair = 0;
  for (; pair + 4 <= c.pairs; pair += 4) chain_pairs<T, kFused, 4>(c, pair);
  for (; pair < c.pairs; ++pair) chain_pairs<T, kFused, 1>(c, pair);
}

void chain(const ChainBlocks& c) {
  if (c.is_double)
    c.is_fused ? chain_of<double, true>(c) : chain_of<double, false>(c);
  else
    c.is_fused ? chain_of<float, true>(c) : chain_of<float, false>(c);
}

}  // namespace
}  // namespace warpbit
