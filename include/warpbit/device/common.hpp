// SPDX-License-Identifier: Apache-2.0
// Shared by both compilers: fragments, and the names of types and shapes in the PTX manual's spelling.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
/// Marks a kernel; goes before its return type.
#define WARPBIT_KERNEL __global__
/// Marks a function that kernels call.
#define WARPBIT_DEVICE __device__ __forceinline__
#define WARPBIT_BOTH   __host__ __device__
#else
#define WARPBIT_KERNEL inline
#define WARPBIT_DEVICE inline
#define WARPBIT_BOTH
#endif

namespace warpbit::device {

/// One lane's part of an operand: N registers.
template <class R, int N>
struct Fragment {
  R r[N];

  WARPBIT_BOTH constexpr R& operator[](int i) { return r[i]; }
  WARPBIT_BOTH constexpr const R& operator[](int i) const { return r[i]; }
};

// Element types, named as in qualifiers. Registers hold the bits; these types only select a form.
struct f16 {};
struct bf16 {};
struct tf32 {};
struct f32 {};
struct f64 {};
struct e4m3 {};
struct e5m2 {};
struct e3m2 {};
struct e2m3 {};
struct e2m1 {};
struct s8 {};
struct u8 {};
struct s4 {};
struct u4 {};
struct s32 {};
struct ue8m0 {};  ///< for scale factors, like the next one
struct ue4m3 {};
struct f16x2 {};  ///< two per register, like the next one
struct bf16x2 {};
struct e4m3x2 {};
struct e5m2x2 {};

// Shapes.
struct m8n8k4 {};
struct m8n8k16 {};
struct m8n8k32 {};
struct m16n8k4 {};
struct m16n8k8 {};
struct m16n8k16 {};
struct m16n8k32 {};
struct m16n8k64 {};
struct m16n8k128 {};

// Kinds of block scaling.
struct mxf8f6f4 {};
struct mxf4 {};
struct mxf4nvf4 {};

}  // namespace warpbit::device
