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
// Kernel code is plain: no exceptions are caught in it, and no object of it minds being dropped.
#pragma once

#include "warpbit/device/common.hpp"
#include "warpbit/device/rows.hpp"
#ifdef __CUDACC__
#include "warpbit/device/cuda.hpp"
#else
#include "warpbit/device/host.hpp"
#include "warpbit/device/launch.hpp"
#endif
