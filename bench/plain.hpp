// SPDX-License-Identifier: Apache-2.0
// Plain products: what the processor does in the same time where no bit must be a GPU's. This header is
// compiled for several vector extensions: types alone, no function of which the linker would keep any one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace bench {

enum class Element { f32, s32, f64 };

struct Shape {
  Element element = Element::f32;
  int m = 0, n = 0, k = 0;
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// C += A B for `count` tiles, which lie one after the other: C, A and B of the first, of the second and so on,
/// each column by column. All sizes are multiples of 64 bytes, and so is the address.
using Multiply = void (*)(void* tiles, std::size_t count);

struct Product {
  Shape shape;
  Multiply by_hand, by_eigen;
};

/// C += A B by Eigen for square matrices of f32, column by column, on so many threads.
using MultiplySquare = void (*)(int size, float* c, const float* a, const float* b, int threads);

/// The products as they are compiled for one vector extension.
struct Plain {
  std::string_view extension;
  std::span<const Product> products;
  MultiplySquare square;
};

}  // namespace bench
