// SPDX-License-Identifier: Apache-2.0
// Transposes a matrix of 32-bit and one of 8-bit elements through a padded tile of shared memory; the edges are
// inside a tile. Blocks of 32 x 8 threads: a thread has four elements of a column.
#include <cstdint>

namespace kernel {

template <class T>
__device__ void transpose_tile(const T* from, T* to, int rows, int columns) {
  __shared__ T tile[32][33];
  const int row = blockIdx.y * 32, column = blockIdx.x * 32;
  for (int i = threadIdx.y; i < 32; i += 8)
    if (row + i < rows && column + threadIdx.x < columns)
      tile[i][threadIdx.x] = from[(row + i) * columns + column + threadIdx.x];
  __syncthreads();
  for (int i = threadIdx.y; i < 32; i += 8)
    if (column + i < columns && row + threadIdx.x < rows)
      to[(column + i) * rows + row + threadIdx.x] = tile[threadIdx.x][i];
}

extern "C" __global__ void transpose(const float* x, float* y, const uint8_t* bytes, uint8_t* turned, int rows,
                                     int columns) {
  transpose_tile(x, y, rows, columns);
  transpose_tile(bytes, turned, rows, columns);
}

}  // namespace kernel
