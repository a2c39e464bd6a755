// SPDX-License-Identifier: Apache-2.0
// Tests a kernel as it is: what nvcc makes of examples/ptx_kernel.cu is run without a GPU, and so are its two mistakes.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "warpbit/ptx.hpp"

namespace ptx = warpbit::ptx;

int main() {
  const auto module = ptx::Module::load_file("examples/ptx_kernel.ptx");
  if (!module) return std::fprintf(stderr, "%s\n", module.error().message().c_str());

  const int rows = 64, columns = 32, depth = 48;
  const auto number = [](int i, int k) { return (i * 5 + k * 3 + i * k) % 7 % 4 - 1; };
  const auto f16 = [](int n) -> std::uint16_t {
    return n < 0 ? 0xBC00 : n == 0 ? 0x0000 : n == 1 ? 0x3C00 : 0x4000;
  };
  std::vector<std::uint16_t> a, b;
  for (int i = 0; i < rows * depth; ++i) a.push_back(f16(number(i / depth, i % depth)));
  for (int i = 0; i < columns * depth; ++i) b.push_back(f16(number(i / depth + 1, i % depth)));

  for (const char* name : {"gemm", "gemm_exchanged", "gemm_too_far"}) {
    const auto kernel = module->function(name);
    if (!kernel) return std::fprintf(stderr, "%s\n", kernel.error().message().c_str());
    std::vector<float> d(rows * columns);
    const ptx::Report report = kernel->launch(
        {.grid = {columns / 8, rows / 16}, .block = {32}},
        {ptx::buffer(a), ptx::buffer(b), ptx::buffer(d), ptx::value(columns), ptx::value(depth)});
    if (!report) {
      std::printf("%s: %s\n", name, report.fault->message().c_str());
      continue;
    }
    int differ = 0;
    for (int i = 0; i < rows * columns; ++i) {
      int sum = 0;
      for (int k = 0; k < depth; ++k) sum += number(i / columns, k) * number(i % columns + 1, k);
      differ += d[static_cast<std::size_t>(i)] != static_cast<float>(sum);
    }
    std::printf("%s: %d of %d elements differ\n", name, differ, rows * columns);
  }
}
