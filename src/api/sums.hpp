// SPDX-License-Identifier: Apache-2.0
// Matrices of sums, and the additions and roundings between the accumulators and D.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernel/gemm.hpp"
#include "numeric/formats.hpp"
#include "warpbit/gemm.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// Codes of a format, row by row, in items of code_bytes().
struct Sums {
  Sums(const Format& f, std::size_t m, std::size_t n)
      : format(&f), rows(m), columns(n), codes(m * n * code_bytes(f.bits)) {}

  const Format* format;
  std::size_t rows, columns;
  std::vector<std::byte> codes;

  std::size_t item() const { return code_bytes(format->bits); }
  ItemMatrix items() { return {codes.data(), static_cast<std::ptrdiff_t>(columns), 1, item()}; }
};

/// Each sum rounded to nearest even.
Sums converted(Sums x, const Format& to, int threads);

/// x + y in f32, or in f64 if one of the three formats is that, and then in `to`; to nearest even. Integers, of `tile`'s D, wrap or are clamped as its plan has it.
Sums added(const Tile& tile, Sums x, const Sums& y, const Format& to, int threads);

/// outer + a_scale b_scale inner: the first product in that order is rounded to f32, the rest once to the format of
/// `outer`. Scales of f32; without data 1.
Sums promoted(Sums outer, const Sums& inner, const ItemMatrix& a_scale, const ItemMatrix& b_scale,
              std::size_t block, FactorOrder order, int threads);

/// What becomes D. Without data there is no C, no bias.
struct Epilogue {
  const SumOrder* order = nullptr;
  const Format* store = nullptr;  ///< also of C and of the bias
  ItemMatrix c, bias, d;
};
/// D = store(alpha sum + beta C + bias), in f32 or, of f64 sums, in f64.
void store(const Epilogue& epilogue, Sums& sums, int threads);

}  // namespace warpbit
#pragma GCC visibility pop
