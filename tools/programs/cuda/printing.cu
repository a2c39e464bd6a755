// SPDX-License-Identifier: Apache-2.0
// printf and assert; recursion; pointers to functions; virtual functions.
#include <cassert>

#include "common.cuh"

__device__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

struct Shape {
  __device__ virtual float area() const = 0;
};
struct Circle : Shape {
  float radius;
  __device__ explicit Circle(float r) : radius(r) {}
  __device__ float area() const override { return 3.14159265f * radius * radius; }
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};

__device__ float twice(float x) {
  return x + x;
}
__device__ float squared(float x) {
  return x * x;
}
__device__ float (*const operations[])(float) = {twice, squared, expf, sinf};

__global__ void talk(const float* x, float* y, unsigned* found) {
  const unsigned i = threadIdx.x;
  assert(blockDim.x == 32);
  Circle circle(x[i]);
  Square square(x[i]);
  const Shape& shape = i % 2 ? static_cast<const Shape&>(circle) : square;
  y[i] = operations[i % 4](x[i]) + shape.area();
  found[i] = ackermann(2, i % 5);
  if (i % 8 == 0) printf("lane %u of block %d: %.3f, %s, %lld\n", i, blockIdx.x, y[i], "text", -1ll * found[i]);
}

int main() {
  Numbers numbers;
  float* y = on_gpu<float>(32);
  unsigned* found = on_gpu<unsigned>(32);
  talk<<<1, 32>>>(on_gpu(numbers.draw<float>(32, 2)), y, found);
  report(y, 32);
  report(found, 32);
}
