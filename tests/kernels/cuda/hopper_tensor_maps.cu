// SPDX-License-Identifier: Apache-2.0
// One copy for each block, by a tensor map of its own: tiles of all ranks, im2col, element strides, what
// stands for elements outside, types that are converted, slices of channels, and for the last block a map whose
// fields the kernel replaces. Shared memory is written before, and shown.
#include "hopper.cuh"

namespace kernel {

constexpr int kThreads = 64, kWords = 1024, kMaps = 9;

struct Maps {
  TensorMap map[kMaps];
};

// What a block copies: the rank, negative for im2col; bytes; coordinates; offsets.
struct Copy {
  int rank, bytes, at[5], offsets[3];
};

#define LOAD(rank, mode, coordinates, corner)                                                                \
  asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global." mode                                \
               ".mbarrier::complete_tx::bytes [%0], [%1, " coordinates "], [%2]" corner ";" ::"r"(to),       \
               "l"(map), "r"(barrier), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(c.at[4]), \
               "h"(static_cast<int16_t>(c.offsets[0])), "h"(static_cast<int16_t>(c.offsets[1])),             \
               "h"(static_cast<int16_t>(c.offsets[2]))                                                       \
               : "memory")

__device__ void copy(unsigned to, const TensorMap* map, const Copy& c, unsigned barrier) {
  switch (c.rank) {
    case 1: LOAD(1, "tile", "{%3}", ""); break;
    case 2: LOAD(2, "tile", "{%3, %4}", ""); break;
    case 3: LOAD(3, "tile", "{%3, %4, %5}", ""); break;
    case 4: LOAD(4, "tile", "{%3, %4, %5, %6}", ""); break;
    case 5: LOAD(5, "tile", "{%3, %4, %5, %6, %7}", ""); break;
    case -3: LOAD(3, "im2col", "{%3, %4, %5}", ", {%8}"); break;
    case -4: LOAD(4, "im2col", "{%3, %4, %5, %6}", ", {%8, %9}"); break;
    case -5: LOAD(5, "im2col", "{%3, %4, %5, %6, %7}", ", {%8, %9, %10}"); break;
  }
}

#define REPLACE(field, type, ...)                                                                     \
  asm volatile("tensormap.replace.tile." field ".shared::cta.b1024." type ";" ::"r"(map), __VA_ARGS__ \
               : "memory")

// A map of rank 1 of u32 becomes one of f32 of `part`: 24 x 9 elements, rows of 128 bytes, a box of 16 x 6 with
// every second row, the 64-byte swizzle, zeros outside. All lanes of a warp copy it to `in_memory`.
__device__ void replace_fields(unsigned map, const float* part, TensorMap* in_memory) {
  if (threadIdx.x == 0) {
    REPLACE("global_address", "b64 [%0], %1", "l"(part));
    REPLACE("rank", "b32 [%0], %1", "r"(1));
    REPLACE("box_dim", "b32 [%0], 0, %1", "r"(16));
    REPLACE("box_dim", "b32 [%0], 1, %1", "r"(6));
    REPLACE("global_dim", "b32 [%0], 0, %1", "r"(24));
    REPLACE("global_dim", "b32 [%0], 1, %1", "r"(9));
    REPLACE("global_stride", "b64 [%0], 0, %1", "l"(uint64_t{128}));
    REPLACE("element_stride", "b32 [%0], 0, %1", "r"(1));
    REPLACE("element_stride", "b32 [%0], 1, %1", "r"(2));
    REPLACE("elemtype", "b32 [%0], %1", "n"(7));
    REPLACE("interleave_layout", "b32 [%0], %1", "n"(0));
    REPLACE("swizzle_mode", "b32 [%0], %1", "n"(2));
    REPLACE("fill_mode", "b32 [%0], %1", "n"(0));
  }
  __syncwarp();
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], "
      "128;" ::"l"(in_memory),
      "r"(map)
      : "memory");
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(in_memory) : "memory");
}

extern "C" __global__ void __launch_bounds__(kThreads)
    hopper_tensor_maps(const __grid_constant__ Maps maps, const Copy* copies, const float* image,
                       TensorMap* replaced, unsigned* out) {
  __shared__ __align__(1024) unsigned tile[kWords];
  __shared__ __align__(128) TensorMap changed;
  __shared__ uint64_t barrier;
  const Copy c = copies[blockIdx.x];
  const unsigned at = shared_address(&barrier);
  const TensorMap* map = &maps.map[blockIdx.x % kMaps];
  for (int i = threadIdx.x; i < kWords; i += kThreads) tile[i] = 0xA5000000 + i;
  if (threadIdx.x == 0) {
    init(at, 1);
    fence_barriers();
  }
  if (blockIdx.x == kMaps && threadIdx.x < 32) {
    if (threadIdx.x < 16) changed.words[threadIdx.x] = map->words[threadIdx.x];
    __syncwarp();
    replace_fields(shared_address(&changed), image + 40, replaced);
    map = replaced;
  }
  fence_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expecting(at, c.bytes);
    copy(shared_address(tile), map, c, at);
  }
  wait(at, 0);
  for (int i = threadIdx.x; i < kWords; i += kThreads) out[blockIdx.x * kWords + i] = tile[i];
}

}  // namespace kernel
