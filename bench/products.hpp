// SPDX-License-Identifier: Apache-2.0
// Which plain product an instruction is compared with.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plain.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

namespace bench {

/// The plain product with as many multiplications as the instruction executes: of a sparse A, those that exist;
/// in the format of D, but f32 instead of f16.
Shape shape_of(const warpbit::Instruction& instruction);
double multiplications(const Shape& shape);
/// "f32 16x8x16"
std::string name(const Shape& shape);

/// The products for the extension that a kernel uses; Kernel::reference and Kernel::scalar use none.
Plain plain(warpbit::Kernel kernel);

/// Tiles of a product, as many as stay in the first level of cache, with ordinary values.
class Tiles {
 public:
  explicit Tiles(const Shape& shape);
  std::size_t count() const { return count_; }
  void* data();

 private:
  std::size_t count_;
  std::vector<std::byte> bytes_;
};

/// Square matrices with ordinary values.
class Square {
 public:
  explicit Square(int size);
  void multiply(MultiplySquare by, int threads) { by(size_, c_.data(), a_.data(), b_.data(), threads); }

 private:
  int size_;
  std::vector<float> a_, b_, c_;
};

}  // namespace bench
