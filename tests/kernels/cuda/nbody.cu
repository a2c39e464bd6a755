// SPDX-License-Identifier: Apache-2.0
// One step of bodies that attract each other, f32: the others go through shared memory tile by tile. rsqrtf,
// and sums of products that the compiler may contract.

namespace kernel {

constexpr int kTile = 64;

__device__ float3 attraction(float3 sum, float4 body, float4 other, float softening) {
  const float x = other.x - body.x, y = other.y - body.y, z = other.z - body.z;
  const float inverse = rsqrtf(x * x + y * y + z * z + softening);
  const float factor = other.w * inverse * inverse * inverse;
  return make_float3(sum.x + x * factor, sum.y + y * factor, sum.z + z * factor);
}

// Bodies: place and mass. Their number is the grid's threads.
extern "C" __global__ void nbody(const float4* bodies, float4* moved, float3* speeds, float softening,
                                 float step) {
  __shared__ float4 tile[kTile];
  const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 body = bodies[i];
  float3 sum = {};
  for (int first = 0; first < n; first += kTile) {
    tile[threadIdx.x] = bodies[first + threadIdx.x];
    __syncthreads();
#pragma unroll 4
    for (int j = 0; j < kTile; ++j) sum = attraction(sum, body, tile[j], softening);
    __syncthreads();
  }
  float3 speed = speeds[i];
  speed = make_float3(speed.x + sum.x * step, speed.y + sum.y * step, speed.z + sum.z * step);
  speeds[i] = speed;
  moved[i] = make_float4(body.x + speed.x * step, body.y + speed.y * step, body.z + speed.z * step, body.w);
}

}  // namespace kernel
