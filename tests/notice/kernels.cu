// SPDX-License-Identifier: Apache-2.0
// Kernels whose tests suites.py has, as people write them. tests/notice/kernels.ptx is what nvcc makes of it, with the names of
// files as they are here:
//
//     nvcc -ptx -arch=sm_80 -lineinfo tests/notice/kernels.cu -o tests/notice/kernels.ptx
extern "C" __global__ void saxpy(const float* x, float* y, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// Sums of rows by a tree in shared memory, a block of 64 threads for each.
extern "C" __global__ void row_sums(const float* x, float* sums, int columns) {
  __shared__ float part[64];
  float sum = 0;
  for (int k = threadIdx.x; k < columns; k += 64) sum += x[blockIdx.x * columns + k];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

// A matrix and its transpose by swizzled tiles of 16 x 16; a block of 16 x 16 threads for each tile.
extern "C" __global__ void transpose(const float* x, float* y, int rows, int columns) {
  __shared__ float tile[16][16];
  const int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  if (row < rows && column < columns) tile[threadIdx.y][threadIdx.x ^ threadIdx.y] = x[row * columns + column];
  __syncthreads();
  const int to_row = blockIdx.x * 16 + threadIdx.y, to_column = blockIdx.y * 16 + threadIdx.x;
  if (to_row < columns && to_column < rows)
    y[to_row * rows + to_column] = tile[threadIdx.x][threadIdx.y ^ threadIdx.x];
}
