// SPDX-License-Identifier: Apache-2.0
// The launches of these kernels that a GPU has recorded (golden/kernels/): their inputs, made by a generator,
// and what becomes of their outputs. Compiled by both compilers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attention.cuh"
#include "cluster_sum.cuh"
#include "fp8_gemm.cuh"
#include "gemm.cuh"
#include "mental_model.cuh"
#include "sparse_gemm.cuh"
#include "tma_gemm.cuh"
#include "warpbit/inputs.hpp"
#include "wgmma_gemm.cuh"

namespace kernels {

/// Bits of a code's exponent and significand, and the exponent fields that inputs have.
struct Codes {
  int exponent_bits, significand_bits;
  std::uint32_t least_exponent, exponents;
};
inline constexpr Codes kBf16{8, 7, 120, 12}, kBf16NearOne{8, 7, 124, 4}, kF16{5, 10, 9, 11}, kE4m3{4, 3, 1, 13};

/// What tells the inputs of one case apart.
class Generator {
 public:
  explicit Generator(const char* name) : key_(warpbit::inputs::key_of(name, 0)) {}

  /// Random words of the next operand.
  std::vector<std::uint32_t> words(std::size_t count) {
    std::vector<std::uint32_t> out(count);
    for (std::size_t i = 0; i < count; ++i)
      out[i] = warpbit::inputs::philox(key_, {{static_cast<std::uint32_t>(i), 0, operand_, 0}}).w[0];
    ++operand_;
    return out;
  }
  /// Random codes: sign, one of the exponents, significand.
  template <class T>
  std::vector<T> codes(std::size_t count, const Codes& format) {
    std::vector<T> out;
    for (const std::uint32_t random : words(count)) {
      const std::uint32_t exponent =
          format.least_exponent + (random >> 8 & 0xFFFF) * format.exponents / 0x10000;
      const std::uint32_t low =
          random >> 24 << 8 | (random & 0xFF);  // 16 bits, of which the lowest is the sign
      const std::uint32_t significand = low >> 1 & ((1U << format.significand_bits) - 1);
      out.push_back(static_cast<T>(((low & 1) << format.exponent_bits | exponent) << format.significand_bits |
                                   significand));
    }
    return out;
  }
  /// 16 bits of metadata each: four groups, two different columns in ascending order.
  std::vector<std::uint16_t> metadata(std::size_t count) {
    constexpr std::uint16_t kChoices[] = {0x4, 0x8, 0xC, 0x9, 0xD, 0xE};
    std::vector<std::uint16_t> out;
    for (const std::uint32_t random : words(count)) {
      std::uint16_t code = 0;
      for (int group = 0; group < 4; ++group)
        code = static_cast<std::uint16_t>(code << 4 | kChoices[(random >> 8 * group & 0xFF) * 6 / 256]);
      out.push_back(code);
    }
    return out;
  }

 private:
  warpbit::inputs::Key key_;
  std::uint32_t operand_ = 0;
};

/// Blocks of a grid, threads of a block, bytes of shared memory; blocks of a cluster.
struct Shape {
  unsigned columns, rows, threads, shared_bytes;
  unsigned cluster_columns = 1, cluster_rows = 1;
};

/// A tensor map of a row-major matrix, and its box. Elements of bf16 have the swizzle of 128 bytes, those of f32 none.
struct MatrixMap {
  bool is_bf16;
  unsigned columns, rows, box_columns, box_rows;
};

/// What is kept of an output.
struct Outcome {
  std::string name;
  std::uint64_t words, digest;         ///< of 32 bits each; inputs::mix, summed
  std::vector<std::uint32_t> samples;  ///< words 0, words / kSamples, ...
};
inline constexpr std::size_t kSamples = 16;

inline Outcome outcome_of(std::string name, const std::vector<std::uint32_t>& words) {
  Outcome out{std::move(name), words.size(), 0, {}};
  for (std::size_t i = 0; i < words.size(); ++i) out.digest += warpbit::inputs::mix(i, words[i]);
  for (std::size_t i = 0; i < kSamples; ++i) out.samples.push_back(words[i * (words.size() / kSamples)]);
  return out;
}

// ---- The cases. `On` copies inputs to where kernels read them, makes room for the output, and launches:
//
//     on.begin(name)   on.input(vector)   on.output<T>(elements)   on.map(array, matrix)
//     on.launch(shape, kernel, arguments...)

/// Row by row of tiles of 64 x 64, by either GEMM of bf16.
template <class On, class Kernel>
void run_gemm(On& on, const char* name, unsigned m, unsigned n, unsigned k, unsigned shared_bytes,
              Kernel kernel) {
  on.begin(name);
  Generator generator(name);
  const auto a = on.input(generator.codes<std::uint16_t>(m * k, kBf16));
  const auto b = on.input(generator.codes<std::uint16_t>(k * n, kBf16));
  const auto d = on.template output<float>(m * n);
  on.launch({n / kTile, m / kTile, kThreads, shared_bytes}, kernel, a, b, d, static_cast<int>(k));
}
static_assert(wgmma_gemm::kTile == kTile && wgmma_gemm::kThreads == kThreads);

template <class On>
void run_mental_model(On& on, const char* name) {
  on.begin(name);
  Generator generator(name);
  const auto a = on.input(generator.codes<std::uint16_t>(16 * 16, kF16));
  const auto b = on.input(generator.codes<std::uint16_t>(16 * 8, kF16));
  const auto d = on.template output<std::uint16_t>(16 * 8);
  on.launch({1, 1, 32, 768}, mental_model<Tutorial::fixed>, a, b, d);
}

template <class On>
void run_fp8_gemm(On& on, const char* name, unsigned m, unsigned n, unsigned k) {
  on.begin(name);
  Generator generator(name);
  const auto a = on.input(generator.codes<std::uint8_t>(m * k, kE4m3));
  const auto b = on.input(generator.codes<std::uint8_t>(k * n, kE4m3));
  const auto d = on.template output<float>(m * n);
  on.launch({n / Fp8Gemm::tile, m / Fp8Gemm::tile, Fp8Gemm::threads, Fp8Gemm::shared_bytes}, fp8_gemm, a, b, d,
            static_cast<int>(k), 0.3F);
}

template <class On>
void run_sparse_gemm(On& on, const char* name, unsigned m, unsigned n, unsigned k) {
  on.begin(name);
  Generator generator(name);
  const auto a = on.input(generator.codes<std::uint16_t>(m * k / 2, kF16));
  const auto metadata = on.input(generator.metadata(m * k / 16));
  const auto b = on.input(generator.codes<std::uint16_t>(k * n, kF16));
  const auto d = on.template output<float>(m * n);
  on.launch({n / SparseGemm::tile, m / SparseGemm::tile, SparseGemm::threads, SparseGemm::shared_bytes},
            sparse_gemm, a, metadata, b, d, static_cast<int>(k));
}

template <class On>
void run_attention(On& on, const char* name, unsigned queries, unsigned keys) {
  on.begin(name);
  Generator generator(name);
  const auto q = on.input(generator.codes<std::uint16_t>(queries * Attention::depth, kBf16NearOne));
  const auto k = on.input(generator.codes<std::uint16_t>(keys * Attention::depth, kBf16NearOne));
  const auto v = on.input(generator.codes<std::uint16_t>(keys * Attention::depth, kBf16NearOne));
  const auto o = on.template output<float>(queries * Attention::depth);
  on.launch({queries / Attention::tile, 1, Attention::threads, Attention::shared_bytes}, attention, q, k, v, o,
            static_cast<int>(keys));
}

template <class On>
void run_tma_gemm(On& on, const char* name, unsigned m, unsigned n, unsigned k) {
  constexpr unsigned tile = tma_gemm::kTile, step = tma_gemm::kStep, blocks = tma_gemm::kBlocks;
  on.begin(name);
  Generator generator(name);
  const auto a = on.input(generator.codes<std::uint16_t>(m * k, kBf16));
  const auto b = on.input(generator.codes<std::uint16_t>(n * k, kBf16));
  const auto d = on.template output<float>(m * n);
  on.launch({n / tile, m / tile, tma_gemm::kThreads, tma_gemm::kShared, 1, blocks},
            tma_gemm::gemm<tma_gemm::Mistake::none>, on.map(a, {true, k, m, step, tile}),
            on.map(b, {true, k, n, step, tile / blocks}), on.map(d, {false, n, m, tile, tile}),
            static_cast<int>(k / step));
}

template <class On>
void run_cluster_sum(On& on, const char* name, unsigned columns, unsigned rows) {
  on.begin(name);
  Generator generator(name);
  const unsigned blocks = columns * rows, clusters = blocks / cluster_sum::kBlocks;
  const auto in = on.input(generator.words(blocks * cluster_sum::kThreads));
  const auto out = on.template output<std::uint32_t>((blocks + 2 * clusters) * cluster_sum::kThreads + blocks);
  on.launch({columns, rows, cluster_sum::kThreads, cluster_sum::kShared, 2, 2},
            cluster_sum::sum<cluster_sum::Mistake::none>, in, out);
}

/// Those of sm_90a.
template <class On>
void run_all(On& on) {
  run_mental_model(on, "mental_model");
  run_gemm(on, "gemm 64x64x32", 64, 64, 32, kGemmShared, gemm<Mistake::none>);
  run_gemm(on, "gemm 192x128x256", 192, 128, 256, kGemmShared, gemm<Mistake::none>);
  run_fp8_gemm(on, "fp8_gemm 64x128x256", 64, 128, 256);
  run_sparse_gemm(on, "sparse_gemm 128x64x256", 128, 64, 256);
  run_attention(on, "attention 128x320", 128, 320);
  const auto by_wgmma = wgmma_gemm::gemm<wgmma_gemm::Mistake::none>;
  run_gemm(on, "wgmma_gemm 128x64x64", 128, 64, 64, wgmma_gemm::kShared, by_wgmma);
  run_gemm(on, "wgmma_gemm 64x128x512", 64, 128, 512, wgmma_gemm::kShared, by_wgmma);
  run_tma_gemm(on, "tma_gemm 128x64x64", 128, 64, 64);
  run_tma_gemm(on, "tma_gemm 256x128x640", 256, 128, 640);
  run_cluster_sum(on, "cluster_sum 4x6", 4, 6);
}

}  // namespace kernels
