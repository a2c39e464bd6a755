// SPDX-License-Identifier: Apache-2.0
// A kernel for each form of tcgen05.mma that the tests run: one row each.
#include "product.cuh"

namespace kernel {

// %0 d, %1 descriptor of B, %2 of the instruction, %3 enable-input-d, %4 descriptor of A, %5 A in tensor memory, %6 metadata,
// %7 and %8 scale factors, %9 zero-column mask, %10 to %17 disabled lanes.
#define FORM(name, blocks, a_is_in_tensor, text)                                                             \
  struct name {                                                                                              \
    static constexpr int group = blocks;                                                                     \
    static constexpr bool a_in_tensor = a_is_in_tensor;                                                      \
    __device__ static void issue(const Sources& s, const Product& p) {                                       \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %3, 0;\ntcgen05.mma." text ";\n}" ::"r"(s.d),           \
                   "l"(s.b_shared), "r"(s.descriptor), "r"(s.accumulates), "l"(s.a_shared), "r"(s.a),        \
                   "r"(s.metadata), "r"(s.scale_a), "r"(s.scale_b), "l"(p.zero_columns), "r"(p.disabled[0]), \
                   "r"(p.disabled[1]), "r"(p.disabled[2]), "r"(p.disabled[3]), "r"(p.disabled[4]),           \
                   "r"(p.disabled[5]), "r"(p.disabled[6]), "r"(p.disabled[7])                                \
                   : "memory");                                                                              \
    }                                                                                                        \
  };                                                                                                         \
  extern "C" __global__ void __launch_bounds__(kernel::kThreads)                                             \
      product_##name(const Product* p, const unsigned char* a, const unsigned char* b,                       \
                     const unsigned* metadata, const uint4* scales, unsigned* d) {                           \
    kernel::product<name>(*p, a, b, metadata, scales, d);                                                    \
  }

#define LANES4 "{%10, %11, %12, %13}"
#define LANES8 "{%10, %11, %12, %13, %14, %15, %16, %17}"
#define SCALES "[%7], [%8]"

#if __CUDA_ARCH__ == 1030
FORM(mxf4, 1, false, "cta_group::1.kind::mxf4.block_scale.block32 [%0], %4, %1, %2, " SCALES ", p")
FORM(mxf4nvf4, 1, false, "cta_group::1.kind::mxf4nvf4.block_scale.block16 [%0], %4, %1, %2, " SCALES ", p")
#else
FORM(f16, 1, false, "cta_group::1.kind::f16 [%0], %4, %1, %2, p")
FORM(f16_a, 1, true, "cta_group::1.kind::f16.collector::a::fill [%0], [%5], %1, %2, p")
FORM(f16_lanes, 1, false, "cta_group::1.kind::f16 [%0], %4, %1, %2, " LANES4 ", p")
FORM(f16_scaled_d, 1, false, "cta_group::1.kind::f16 [%0], %4, %1, %2, p, 3")
FORM(f16_ashift, 1, true, "cta_group::1.kind::f16.ashift [%0], [%5], %1, %2, p")
FORM(f16_pair, 2, false, "cta_group::2.kind::f16.collector::a::lastuse [%0], %4, %1, %2, p")
FORM(f16_pair_lanes, 2, false, "cta_group::2.kind::f16 [%0], %4, %1, %2, " LANES8 ", p")
FORM(f16_pair_a, 2, true, "cta_group::2.kind::f16 [%0], [%5], %1, %2, p")
FORM(f16_ws, 1, false, "ws.cta_group::1.kind::f16.collector::b1::fill [%0], %4, %1, %2, p, %9")
FORM(f16_ws_a, 1, true, "ws.cta_group::1.kind::f16 [%0], [%5], %1, %2, p")
FORM(f16_sp, 1, false, "sp.cta_group::1.kind::f16 [%0], %4, %1, [%6], %2, p")
FORM(f16_sp_a, 1, true, "sp.cta_group::1.kind::f16 [%0], [%5], %1, [%6], %2, p")
FORM(f16_sp_pair, 2, false, "sp.cta_group::2.kind::f16 [%0], %4, %1, [%6], %2, p")
FORM(f16_ws_sp, 1, false, "ws.sp.cta_group::1.kind::f16 [%0], %4, %1, [%6], %2, p, %9")
FORM(tf32, 1, false, "cta_group::1.kind::tf32 [%0], %4, %1, %2, p")
FORM(tf32_a, 1, true, "cta_group::1.kind::tf32 [%0], [%5], %1, %2, p")
FORM(tf32_sp, 1, false, "sp.cta_group::1.kind::tf32 [%0], %4, %1, [%6], %2, p")
FORM(f8f6f4, 1, false, "cta_group::1.kind::f8f6f4 [%0], %4, %1, %2, p")
FORM(f8f6f4_a, 1, true, "cta_group::1.kind::f8f6f4 [%0], [%5], %1, %2, p")
FORM(f8f6f4_sp, 1, false, "sp.cta_group::1.kind::f8f6f4 [%0], %4, %1, [%6], %2, p")
FORM(f8f6f4_ws, 1, false, "ws.cta_group::1.kind::f8f6f4 [%0], %4, %1, %2, p")
FORM(f8f6f4_ws_sp, 1, false, "ws.sp.cta_group::1.kind::f8f6f4 [%0], %4, %1, [%6], %2, p")
FORM(i8, 1, false, "cta_group::1.kind::i8 [%0], %4, %1, %2, p")
FORM(i8_sp, 1, false, "sp.cta_group::1.kind::i8 [%0], %4, %1, [%6], %2, p")
FORM(i8_ws, 1, false, "ws.cta_group::1.kind::i8 [%0], %4, %1, %2, p")
FORM(mxf8f6f4, 1, false,
     "cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [%0], %4, %1, %2, " SCALES ", p")
FORM(mxf8f6f4_a, 1, true, "cta_group::1.kind::mxf8f6f4.block_scale.block32 [%0], [%5], %1, %2, " SCALES ", p")
FORM(mxf8f6f4_sp, 1, false,
     "sp.cta_group::1.kind::mxf8f6f4.block_scale.block32 [%0], %4, %1, [%6], %2, " SCALES ", p")
FORM(mxf8f6f4_pair, 2, false, "cta_group::2.kind::mxf8f6f4.block_scale.block32 [%0], %4, %1, %2, " SCALES ", p")
FORM(mxf4, 1, false, "cta_group::1.kind::mxf4.block_scale [%0], %4, %1, %2, " SCALES ", p")
FORM(mxf4_sp, 1, false,
     "sp.cta_group::1.kind::mxf4.block_scale.scale_vec::2X [%0], %4, %1, [%6], %2, " SCALES ", p")
FORM(mxf4nvf4_2, 1, false,
     "cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::2X [%0], %4, %1, %2, " SCALES ", p")
FORM(mxf4nvf4, 1, false,
     "cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [%0], %4, %1, %2, " SCALES ", p")
FORM(mxf4nvf4_a, 1, true, "cta_group::1.kind::mxf4nvf4.block_scale.block16 [%0], [%5], %1, %2, " SCALES ", p")
FORM(mxf4nvf4_pair, 2, false, "cta_group::2.kind::mxf4nvf4.block_scale.block16 [%0], %4, %1, %2, " SCALES ", p")
#endif

}  // namespace kernel
