// SPDX-License-Identifier: Apache-2.0
// Structs as parameters of a kernel: pointers and numbers of all sizes side by side, an array with an index
// that only the run knows, one whose address a function takes, and one of a single byte; beside them scalars of
// 8, 16 and 64 bits.
#include <cstdint>

namespace kernel {

struct Line {
  const float* from;
  float* to;
  int count;
  double slope;
  short offsets[5];
  bool squared;
};

struct Polynomial {
  float coefficients[7];
  uint8_t degree;
};

struct Flag {
  uint8_t on;
};

__device__ __noinline__ float value(const Polynomial& p, float x) {
  float sum = 0;
  for (int i = p.degree; i >= 0; --i) sum = __fadd_rn(__fmul_rn(sum, x), p.coefficients[i]);
  return sum;
}

extern "C" __global__ void structs(const Line line, int8_t small, const Polynomial polynomial, uint16_t medium,
                                   Flag flag, int64_t large, int64_t* integers) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= line.count) return;
  const float x = line.from[i];
  const double y = __dadd_rn(__dmul_rn(line.slope, x), line.offsets[i % 5]);
  line.to[i] = value(polynomial, static_cast<float>(line.squared ? __dmul_rn(y, y) : y));
  integers[i] = flag.on ? large * small + medium : i;
}

}  // namespace kernel
