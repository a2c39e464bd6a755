// SPDX-License-Identifier: Apache-2.0
// The kernels of this folder as a GPU gets them.
#include "attention.cuh"
#include "gemm.cuh"
#include "mental_model.cuh"
#include "sparse_gemm.cuh"
#if __CUDA_ARCH__ >= 890
#include "fp8_gemm.cuh"
#endif

template __global__ void kernels::gemm<kernels::Mistake::none>(const std::uint16_t*, const std::uint16_t*,
                                                               float*, int);
template __global__ void kernels::mental_model<kernels::Tutorial::fixed>(const std::uint16_t*,
                                                                         const std::uint16_t*, std::uint16_t*);
