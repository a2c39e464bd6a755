// SPDX-License-Identifier: Apache-2.0
// One source of kernel code for a GPU and for a machine without one. Compiled by nvcc, what is declared here is
// inline PTX and plain pointers; by any other compiler, the same names run in this library (warpbit::launch),
// which checks what a GPU leaves undefined.
//
//     using namespace warpbit::device;
//
//     WARPBIT_KERNEL void product(GlobalArray<const unsigned short> a, ..., GlobalArray<float> d) {
//       const SharedArray<unsigned short> tile = shared_array<unsigned short>(0, 16 * 16);
//       cp_async_cg(tile + 8 * threadIdx.x, a + 8 * threadIdx.x);
//       cp_async_commit_group();
//       cp_async_wait_group<0>();
//       __syncthreads();
//       ...
//       sums = mma<m16n8k16, f32, bf16>(ldmatrix<4>(tile + ...), ..., sums);
//     }
//
// What kernels may call: cp.async with its groups; ldmatrix, stmatrix, movmatrix; mma, mma.sp, mma with block
// scaling (the rows of warpbit/device/rows.hpp); wgmma with its fence, groups and descriptors
// (warpbit/device/wgmma.hpp), fence.proxy.async; __syncthreads, __syncwarp, __activemask, votes and shuffles;
// the built-in variables. There are no atomics, no other fences, no mbarriers and no bulk copies.
//
// Accumulators of wgmma, and an A in registers, are AsyncFragments: under nvcc Fragments, here variables whose
// every access is checked, since products read and write them until a wait.
//
// Kernel code is plain: it catches no exceptions, for a fault ends its threads by one, and names the type of a
// value that it reads, for `auto x = a[i]` is the element itself, which is read where x is used. Its own sums
// and products are those of the compiler at hand, which may fuse them as another one does not.
#pragma once

#if __cplusplus < 202002L
#error "warpbit/device.hpp needs -std=c++20"
#else

#include "warpbit/device/common.hpp"
#include "warpbit/device/rows.hpp"
#ifdef __CUDACC__
#include "warpbit/device/cuda.hpp"
#include "warpbit/device/cuda_wgmma.hpp"
#else
#include "warpbit/device/host.hpp"
#include "warpbit/device/host_wgmma.hpp"
#include "warpbit/device/launch.hpp"
#endif

#endif
