// SPDX-License-Identifier: Apache-2.0
// Bodies that attract each other: float4, rsqrtf, tiles in shared memory, loops with bounds from the host.
#include "common.cuh"

__device__ float3 attraction(float4 a, float4 b, float3 sum) {
  const float3 d = {b.x - a.x, b.y - a.y, b.z - a.z};
  const float inverse = rsqrtf(d.x * d.x + d.y * d.y + d.z * d.z + 1e-3f);
  const float strength = b.w * inverse * inverse * inverse;
  return {sum.x + d.x * strength, sum.y + d.y * strength, sum.z + d.z * strength};
}

__global__ void __launch_bounds__(64)
    move(const float4* bodies, float4* moved, float3* speeds, int n, float dt) {
  __shared__ float4 tile[64];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 mine = i < n ? bodies[i] : float4{0, 0, 0, 0};
  float3 force = {0, 0, 0};
  for (int first = 0; first < n; first += 64) {
    tile[threadIdx.x] = first + threadIdx.x < n ? bodies[first + threadIdx.x] : float4{0, 0, 0, 0};
    __syncthreads();
#pragma unroll 8
    for (int j = 0; j < 64; ++j) force = attraction(mine, tile[j], force);
    __syncthreads();
  }
  if (i >= n) return;
  float3& speed = speeds[i];
  speed = {speed.x + force.x * dt, speed.y + force.y * dt, speed.z + force.z * dt};
  moved[i] = {mine.x + speed.x * dt, mine.y + speed.y * dt, mine.z + speed.z * dt, mine.w};
}

/// Kinetic energy and angles, by functions whose bits depend on -use_fast_math.
__global__ void measure(const float3* speeds, float* energy, float* angle, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float3 s = speeds[i];
  energy[i] =
      powf(fabsf(s.x), 1.3f) / sqrtf(s.y * s.y + 1) + logf(1 + s.z * s.z) * expf(-s.x) + __fdividef(s.x, 3.1f);
  angle[i] = atan2f(s.y, s.x) + sinf(s.z * 30) * cosf(s.y) + tanhf(s.x) + fmodf(s.z, 0.01f) + cbrtf(s.x);
}

int main() {
  const int n = 150;
  Numbers numbers;
  float4* bodies[] = {on_gpu<float4>(n), on_gpu<float4>(n)};
  const std::vector<float> places = numbers.draw<float>(4 * n);
  CHECK(cudaMemcpy(bodies[0], places.data(), n * sizeof(float4), cudaMemcpyHostToDevice));
  float3* speeds = on_gpu(std::vector<float3>(n));
  for (int step = 0; step < 3; ++step)
    move<<<3, 64>>>(bodies[step % 2], bodies[1 - step % 2], speeds, n, 0.01f);
  report(bodies[1], n);
  float *energy = on_gpu<float>(n), *angle = on_gpu<float>(n);
  measure<<<2, 128>>>(speeds, energy, angle, n);
  report(energy, n);
  report(angle, n);
}
