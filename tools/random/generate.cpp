// SPDX-License-Identifier: Apache-2.0
// Modules of random kernels with their inputs, for record.py.
//
//     generate --kinds                        the names of the kinds
//     generate KIND FIRST COUNT MODULE        MODULE.ptx, MODULE.threads (a line each), MODULE.in (u32, 8 x 128 words each)
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include "verify/cases/random/kernel.hpp"

int main(int argc, char** argv) {
  using namespace random_kernels;
  if (argc == 2 && std::strcmp(argv[1], "--kinds") == 0) {
    for (const Kind& kind : kKinds) std::cout << kind.name << '\n';
    return 0;
  }
  if (argc != 5) return 2;
  for (const Kind& kind : kKinds) {
    if (kind.name != argv[1]) continue;
    const std::uint64_t first = std::strtoull(argv[2], nullptr, 10),
                        count = std::strtoull(argv[3], nullptr, 10);
    const std::string path = argv[4];
    std::ofstream ptx(path + ".ptx"), threads(path + ".threads"), words(path + ".in", std::ios::binary);
    ptx << kHead;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      Builder kernel(kind, seed);
      ptx << kernel.text();
      threads << kernel.threads() << '\n';
      std::vector<std::uint32_t> data = inputs(kind, seed, kernel.threads());
      data.resize(kWords * kMaxThreads);
      words.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(4 * data.size()));
    }
    return ptx && threads && words ? 0 : 1;
  }
  return 2;
}
