// SPDX-License-Identifier: Apache-2.0
// Prints registers of inputs as tools/capture/inputs.py does, compiled by nvcc for the host:
//
//   input_stream FORM SEED PROFILE FIRST CASES <members
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "warpbit/inputs.hpp"
#include "warpbit/inputs/text.hpp"

using namespace warpbit::inputs;

int main(int count, char** arguments) {
  if (count != 6) return 2;
  const Key key = key_of(arguments[1], std::strtoull(arguments[2], nullptr, 10));
  const auto profile = find_profile(arguments[3]);
  const std::uint64_t first = std::strtoull(arguments[4], nullptr, 10),
                      cases = std::strtoull(arguments[5], nullptr, 10);
  for (std::string line; std::getline(std::cin, line);) {
    const auto m = parse_member(line);
    if (!m || !profile) return 2;
    const char* blank = "";
    for (std::uint64_t i = first; i < first + cases; ++i)
      for (int lane = 0; lane < m->lanes; ++lane)
        for (int reg = m->first; reg < m->first + m->registers; ++reg, blank = " ")
          std::printf("%s%llx", blank, static_cast<unsigned long long>(word(key, *profile, *m, i, lane, reg)));
    std::printf("\n");
  }
}
