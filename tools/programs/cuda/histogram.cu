// SPDX-License-Identifier: Apache-2.0
// Memory from the stream's pool, fills and copies in order; atomics in shared and global memory. `sums` adds floats by
// atomics: not deterministic, and so on purpose.
#include "common.cuh"

__global__ void count(const uchar4* x, int n, unsigned* bins) {
  __shared__ unsigned mine[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const uchar4 v = x[i];
    atomicAdd(&mine[v.x], 1u), atomicAdd(&mine[v.y], 1u), atomicAdd(&mine[v.z], 1u), atomicAdd(&mine[v.w], 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], mine[i]);
}

__global__ void sums(const float* x, int n, float* total) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&total[i % 3], x[i]);
}

__global__ void locked_largest(const double* x, int n, unsigned long long* best) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long seen = *best, before;
  do {
    before = seen;
    if (__longlong_as_double(before) >= x[i]) return;
    seen = atomicCAS(best, before, __double_as_longlong(x[i]));
  } while (seen != before);
}

int main() {
  const int n = 4000;
  Numbers numbers;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  std::vector<unsigned char> bytes(n);
  for (auto& byte : bytes) byte = static_cast<unsigned char>((numbers.next() + 1) * 100);
  unsigned char* x = nullptr;
  unsigned *bins = nullptr, *copied = nullptr;
  CHECK(cudaMallocAsync(&x, n, stream));
  CHECK(cudaMallocAsync(&bins, 256 * sizeof(unsigned), stream));
  CHECK(cudaMallocAsync(&copied, 256 * sizeof(unsigned), stream));
  CHECK(cudaMemcpyAsync(x, bytes.data(), n, cudaMemcpyHostToDevice, stream));
  CHECK(cudaMemsetAsync(bins, 0, 256 * sizeof(unsigned), stream));
  count<<<3, 128, 0, stream>>>(reinterpret_cast<const uchar4*>(x), n / 4, bins);
  CHECK(cudaMemcpyAsync(copied, bins, 256 * sizeof(unsigned), cudaMemcpyDeviceToDevice, stream));
  count<<<2, 64, 0, stream>>>(reinterpret_cast<const uchar4*>(x), n / 8, copied);
  CHECK(cudaStreamSynchronize(stream));
  report(bins, 256);
  report(copied, 256);
  CHECK(cudaFreeAsync(x, stream));
  float* total = on_gpu(std::vector<float>(3));
  sums<<<16, 128>>>(on_gpu(numbers.draw<float>(2048, 10)), 2048, total);
  report(total, 3);
  unsigned long long* best = on_gpu(std::vector<unsigned long long>(1));
  locked_largest<<<4, 64>>>(on_gpu(numbers.draw<double>(256, 10)), 256, best);
  report(best, 1);
}
