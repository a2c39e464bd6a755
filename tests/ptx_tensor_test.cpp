// SPDX-License-Identifier: Apache-2.0
// Kernels with tensor memory, from PTX: products of integers, every element of which is known.
#include <catch2/catch.hpp>

#include "archive.hpp"
#include "warpbit/format.hpp"
#include "warpbit/ptx.hpp"

namespace ptx_tensor_test {

using namespace warpbit;

constexpr int kThreads = 128;

std::uint16_t f16_of(int value) {
  static const Codec codec = *Codec::find("f16");
  return static_cast<std::uint16_t>(*codec.encode(value));
}

/// A row-major matrix of f16, of small integers: those of a product of 256 terms are exact.
struct Matrix {
  int rows, columns;
  std::vector<std::uint16_t> words;
  std::vector<int> values;

  template <class Value>
  Matrix(int of_rows, int of_columns, Value value)
      : rows(of_rows),
        columns(of_columns),
        words(static_cast<std::size_t>(rows * columns)),
        values(static_cast<std::size_t>(rows * columns)) {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) {
        at(values, i, j) = value(i, j);
        at(words, i, j) = f16_of(value(i, j));
      }
  }
  template <class T>
  T& at(std::vector<T>& of, int i, int j) const {
    return of[static_cast<std::size_t>(i * columns + j)];
  }
};

ptx::Module load(const std::string& name) {
  Result<ptx::Module> out = ptx::Module::load(archive::bytes_of("tests/kernels/sm_100/" + name));
  if (!out) FAIL(out.error().message());
  return *std::move(out);
}

void require_product(Matrix& a, Matrix& b, Matrix& c) {
  int wrong = 0;
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < b.columns; ++j) {
      int sum = 0;
      for (int k = 0; k < a.columns; ++k) sum += a.at(a.values, i, k) * b.at(b.values, k, j);
      wrong += c.at(c.words, i, j) != f16_of(sum) ? 1 : 0;
    }
  CHECK(wrong == 0);
}

// Triton leaves out the fences of tcgen05, and nothing else.
void require_tolerated(const ptx::Report& report) {
  if (report.fault) FAIL(report.fault->message());
  CHECK_FALSE(report.findings.empty());
  for (const ptx::Finding& one : report.findings)
    CHECK_THAT(one.fault.message(), Catch::Contains("must execute tcgen05.fence::before_thread_sync") ||
                                        Catch::Contains("tcgen05.fence::after_thread_sync must come between"));
}

TEST_CASE("Triton's product with A in tensor memory", "[quick]") {
  const ptx::Module module = load("triton_matmul.ptx");
  Result<ptx::Function> kernel = module.function("matmul");
  if (!kernel) FAIL(kernel.error().message());
  // Blocks of 128 x 128, some of them partly outside, and steps of 64 along K.
  Matrix a(208, 176, [](int i, int k) { return (i * 7 + k * 3) % 5 - 2; }),
      b(176, 144, [](int k, int j) { return (k * 5 + j * 11) % 7 - 3; }),
      c(208, 144, [](int, int) { return 0; });
  const ptx::Report report = kernel->launch(
      {.grid = {2, 2}, .block = {kThreads}, .shared_bytes = 32784},
      {ptx::buffer(a.words), ptx::buffer(b.words), ptx::buffer(c.words), ptx::value(a.rows),
       ptx::value(b.columns), ptx::value(a.columns), ptx::value(a.columns), ptx::value(1),
       ptx::value(b.columns), ptx::value(1), ptx::value(b.columns), ptx::value(1), ptx::null(), ptx::null()});
  require_tolerated(report);
  require_product(a, b, c);
}

TEST_CASE("Triton's product with tensor copies, whose maps it makes", "[quick]") {
  const ptx::Module module = load("triton_matmul_tma_device.ptx");
  Result<ptx::Function> kernel = module.function("matmul_tma_device");
  if (!kernel) FAIL(kernel.error().message());
  constexpr int kSize = 256;
  // The second factor by columns: that is how the kernel reads it.
  Matrix a(kSize, kSize, [](int i, int k) { return (i * 7 + k * 3) % 5 - 2; }),
      b(kSize, kSize, [](int k, int j) { return (k * 5 + j * 11) % 7 - 3; }),
      transposed(kSize, kSize, [&](int j, int k) { return b.at(b.values, k, j); }),
      c(kSize, kSize, [](int, int) { return 0; });
  std::vector<std::byte> scratch(3 * 384);
  const ptx::Report report = kernel->launch(
      {.grid = {3}, .block = {kThreads}, .shared_bytes = 131120},
      {ptx::buffer(a.words), ptx::buffer(transposed.words), ptx::buffer(c.words), ptx::value(kSize),
       ptx::value(kSize), ptx::value(kSize), ptx::buffer(scratch), ptx::null()});
  require_tolerated(report);
  require_product(a, b, c);
}

}  // namespace ptx_tensor_test
