// SPDX-License-Identifier: Apache-2.0
// The plain products for one vector extension, which the compiler's flags choose. WARPBIT_PLAIN is the name of
// the function that lists them.
#include "plain.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>

namespace bench {

Plain WARPBIT_PLAIN();

namespace {

#if defined(__AVX512F__)
constexpr std::string_view kExtension = "avx512";
constexpr int kVectorBytes = 64, kRegisters = 32;
#elif defined(__AVX2__)
constexpr std::string_view kExtension = "avx2";
constexpr int kVectorBytes = 32, kRegisters = 16;
#else
constexpr std::string_view kExtension = "any";
constexpr int kVectorBytes = 16, kRegisters = 16;
#endif

template <class T>
struct Simd {
  typedef T Vector __attribute__((vector_size(kVectorBytes), may_alias));
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
};

// How much of C is kept in registers: so many vectors of a column, of so many columns. Two chains of additions
// for each of the four cycles that one takes hide it; the rest is for reading less of A and B.
template <class T, int M>
struct Block {
  static constexpr int kVectors = std::min(M / Simd<T>::kLanes, kRegisters / 8);
  static constexpr int kColumns = kRegisters == 32 && kVectors < 4 ? 8 : 4;
};

// One block: C += A B for kVectors vectors of rows and kColumns columns.
template <class T, int M, int K>
[[gnu::always_inline]] inline void multiply_block(T* c, const T* a, const T* b) {
  using Vector = typename Simd<T>::Vector;
  constexpr int kLanes = Simd<T>::kLanes, kVectors = Block<T, M>::kVectors, kColumns = Block<T, M>::kColumns;
  Vector sum[kColumns][kVectors];
  for (int j = 0; j < kColumns; ++j)
    for (int v = 0; v < kVectors; ++v) sum[j][v] = *reinterpret_cast<const Vector*>(c + j * M + v * kLanes);
#pragma GCC unroll 8
  for (int k = 0; k < K; ++k) {
    Vector column[kVectors];
    for (int v = 0; v < kVectors; ++v) column[v] = *reinterpret_cast<const Vector*>(a + k * M + v * kLanes);
    for (int j = 0; j < kColumns; ++j)
      for (int v = 0; v < kVectors; ++v) sum[j][v] += column[v] * b[j * K + k];
  }
  for (int j = 0; j < kColumns; ++j)
    for (int v = 0; v < kVectors; ++v) *reinterpret_cast<Vector*>(c + j * M + v * kLanes) = sum[j][v];
}

// The matrices of one tile (Multiply).
template <class T, int M, int N, int K>
struct Tile {
  T c[M * N], a[M * K], b[K * N];
};

template <class T, int M, int N, int K>
void by_hand(void* tiles, std::size_t count) {
  constexpr int kRows = Simd<T>::kLanes * Block<T, M>::kVectors, kColumns = Block<T, M>::kColumns;
  static_assert(M % kRows == 0 && N % kColumns == 0);
  auto* tile = static_cast<Tile<T, M, N, K>*>(tiles);
  for (std::size_t i = 0; i < count; ++i, ++tile)
    for (int m = 0; m < M; m += kRows)
      for (int n = 0; n < N; n += kColumns)
        multiply_block<T, M, K>(tile->c + n * M + m, tile->a + m, tile->b + n * K);
}

template <class T, int M, int N, int K>
void by_eigen(void* tiles, std::size_t count) {
  Eigen::setNbThreads(1);
  auto* tile = static_cast<Tile<T, M, N, K>*>(tiles);
  for (std::size_t i = 0; i < count; ++i, ++tile) {
    Eigen::Map<Eigen::Matrix<T, M, N>, Eigen::Aligned64> c(tile->c);
    const Eigen::Map<const Eigen::Matrix<T, M, K>, Eigen::Aligned64> a(tile->a);
    const Eigen::Map<const Eigen::Matrix<T, K, N>, Eigen::Aligned64> b(tile->b);
    c.noalias() += a * b;
  }
}

template <class T, int M, int N, int K>
constexpr Product product(Element element) {
  return {{element, M, N, K}, by_hand<T, M, N, K>, by_eigen<T, M, N, K>};
}

constexpr std::array kProducts{
    product<float, 16, 8, 8>(Element::f32),          product<float, 16, 8, 16>(Element::f32),
    product<float, 16, 8, 32>(Element::f32),         product<float, 16, 8, 64>(Element::f32),
    product<float, 64, 256, 16>(Element::f32),       product<float, 128, 256, 16>(Element::f32),
    product<std::int32_t, 16, 8, 32>(Element::s32),  product<std::int32_t, 16, 8, 64>(Element::s32),
    product<std::int32_t, 16, 8, 256>(Element::s32), product<double, 16, 8, 16>(Element::f64),
};

void square(int size, float* c, const float* a, const float* b, int threads) {
  Eigen::setNbThreads(threads);
  using Matrix = Eigen::MatrixXf;
  Eigen::Map<Matrix>(c, size, size).noalias() +=
      Eigen::Map<const Matrix>(a, size, size) * Eigen::Map<const Matrix>(b, size, size);
}

}  // namespace

Plain WARPBIT_PLAIN() {
  return {kExtension, kProducts, square};
}

}  // namespace bench
