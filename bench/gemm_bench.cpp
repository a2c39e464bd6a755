// SPDX-License-Identifier: Apache-2.0
// Time of whole products, beside Eigen's product of matrices of float with as many threads. Each line is the
// median and the least of some runs that take turns.
#include <omp.h>

#include <Eigen/Core>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "warpbit/gemm.hpp"

namespace {

using namespace warpbit;

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Times {
  std::vector<double> all;
  double least() const { return *std::ranges::min_element(all); }
  double median() {
    std::ranges::sort(all);
    return all[all.size() / 2];
  }
};

}  // namespace

int main(int count, char** arguments) {
  const int size = count > 1 ? std::atoi(arguments[1]) : 1024, runs = count > 2 ? std::atoi(arguments[2]) : 9;
  const Result<Instruction> mma =
      Instruction::parse("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", Target::find("sm_90").value());
  if (!mma) return std::fprintf(stderr, "%s\n", mma.error().message().c_str());
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Matrix left(size, size), right(size, size), product(size, size);
  const auto elements = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  std::vector<std::uint16_t> a(elements), b(elements);
  std::vector<std::uint32_t> d(elements);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const auto fill = [&](Matrix& matrix, std::vector<std::uint16_t>& codes) {
    for (std::size_t i = 0; i < elements; ++i) {
      const float value = matrix.data()[i] = normal(random);
      std::uint32_t code = 0;
      std::memcpy(&code, &value, 4);
      codes[i] = static_cast<std::uint16_t>(code >> 16);
    }
  };
  fill(left, a);
  fill(right, b);

  Times eigen[2], ours[2];
  for (int run = 0; run < runs; ++run)
    for (int t = 0; t < 2; ++t) {
      Eigen::setNbThreads(t + 1);
      eigen[t].all.push_back(seconds([&] { product.noalias() = left * right; }));
      GemmOptions options;
      options.execute.threads = t + 1;
      const auto n = static_cast<std::size_t>(size);
      const Gemm problem{n, n, n, {a.data(), size, 1}, {b.data(), size, 1}, {}, {d.data(), size, 1}};
      ours[t].all.push_back(seconds([&] {
        if (!gemm(*mma, problem, options)) std::abort();
      }));
    }
  for (int t = 0; t < 2; ++t)
    std::printf("%d threads: Eigen %.2f ms (median %.2f), gemm %.2f ms (median %.2f), ratio %.2f (%.2f)\n",
                t + 1, 1e3 * eigen[t].least(), 1e3 * eigen[t].median(), 1e3 * ours[t].least(),
                1e3 * ours[t].median(), ours[t].least() / eigen[t].least(),
                ours[t].median() / eigen[t].median());
  std::printf("2 threads are %.2f (%.2f) times as fast as one\n", ours[0].least() / ours[1].least(),
              ours[0].median() / ours[1].median());
}
