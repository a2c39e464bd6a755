// SPDX-License-Identifier: Apache-2.0
// One source of kernel code for a GPU and for a machine without one. nvcc compiles these declarations to
// inline PTX and plain pointers. With any other compiler the same names run in this library
// (warpbit::launch), which checks for behaviour that a GPU leaves undefined.
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
// Kernels may call: cp.async with its groups; ldmatrix, stmatrix, movmatrix; mma, mma.sp, mma with block
// scaling (the rows of warpbit/device/rows.hpp); wgmma with its fence, groups and descriptors
// (warpbit/device/wgmma.hpp), fence.proxy.async; __syncthreads, __syncwarp, __activemask, votes and shuffles;
// the built-in variables. Atomics, other fences, mbarriers and bulk copies are not supported.
//
// Accumulators of wgmma, and an A in registers, are AsyncFragments. Under nvcc these are Fragments. Here
// every access to them is checked, since products read and write them until a wait.
//
// Do not catch exceptions (faults unwind by one). Write `float x = a[i]`, not `auto`: `a[i]` is a proxy that
// loads on conversion. The host compiler computes the kernel's own sums and products; it may fuse them
// differently from nvcc.
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
