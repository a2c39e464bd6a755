// SPDX-License-Identifier: Apache-2.0
// What the tests of kernels share.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/gemm.hpp"
#include "warpbit/target.hpp"

namespace device_inputs {

inline warpbit::Target target(std::string_view name) {
  const warpbit::Result<warpbit::Target> found = warpbit::Target::find(name);
  REQUIRE(found.ok());
  return *found;
}

/// Codes of 16 bits of both signs, from `least` on and below least + 0x200.
inline std::vector<std::uint16_t> codes(int count, std::uint32_t seed, unsigned least) {
  std::vector<std::uint16_t> out(static_cast<std::size_t>(count));
  for (std::uint16_t& code : out) {
    seed = seed * 1664525 + 1013904223;
    code = static_cast<std::uint16_t>((seed >> 31) << 15 | (least + (seed >> 16 & 0x1FF)));
  }
  return out;
}

/// The number of the one line of a file that contains the text.
inline unsigned line_of(const std::string& path, const std::string& text) {
  std::ifstream file(path);
  REQUIRE(file);
  unsigned found = 0, number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if ((line += '\n').find(text) == line.npos) continue;
    INFO(text);
    REQUIRE(found == 0);
    found = number;
  }
  INFO(text);
  REQUIRE(found != 0);
  return found;
}

/// A matrix of 16-bit codes.
struct Matrix {
  const std::vector<std::uint16_t>& codes;
  int row_stride, column_stride;
};

/// D = A B by gemm(), whose elements are of type T, row-major.
template <class T>
std::vector<T> product(std::string_view form, std::string_view on, int m, int n, int k, const Matrix& a,
                       const Matrix& b) {
  using namespace warpbit;
  const auto size = [](int x) { return static_cast<std::size_t>(x); };
  std::vector<T> d(size(m * n));
  const Result<Instruction> instruction = Instruction::parse(form, target(on));
  REQUIRE(instruction.ok());
  REQUIRE(gemm(*instruction, {size(m),
                              size(n),
                              size(k),
                              {a.codes.data(), a.row_stride, a.column_stride},
                              {b.codes.data(), b.row_stride, b.column_stride},
                              {},
                              {d.data(), n, 1}})
              .ok());
  return d;
}

}  // namespace device_inputs
