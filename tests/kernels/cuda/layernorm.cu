// SPDX-License-Identifier: Apache-2.0
// Layer normalisation of f32: a row for each block of three warps, four elements a thread. Sums by warp
// shuffles and through shared memory, rsqrtf, 128-bit loads and stores; mean and factor of each row are stored,
// too.

namespace kernel {

constexpr int kWarps = 3;

// The sum of all threads' x, in each of them. `partial` may be used again after a barrier.
__device__ float sum_of_block(float x, float* partial) {
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_down_sync(~0u, x, distance);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
  __syncthreads();
  float sum = partial[0];
  for (int i = 1; i < kWarps; ++i) sum += partial[i];
  return sum;
}

extern "C" __global__ void layernorm(const float4* x, const float4* weight, const float4* bias, float4* y,
                                     float* mean, float* factor, float epsilon) {
  __shared__ float partial[2][kWarps];
  const int t = threadIdx.x, at = blockIdx.x * blockDim.x + t;
  const float columns = 4 * blockDim.x;
  float4 v = x[at];
  const float average = sum_of_block((v.x + v.y) + (v.z + v.w), partial[0]) / columns;
  v.x -= average, v.y -= average, v.z -= average, v.w -= average;
  const float squares = v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  const float r = rsqrtf(sum_of_block(squares, partial[1]) / columns + epsilon);
  const float4 w = weight[t], b = bias[t];
  y[at] = make_float4(v.x * r * w.x + b.x, v.y * r * w.y + b.y, v.z * r * w.z + b.z, v.w * r * w.w + b.w);
  if (t == 0) {
    mean[blockIdx.x] = average;
    factor[blockIdx.x] = r;
  }
}

}  // namespace kernel
