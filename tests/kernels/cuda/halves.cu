// SPDX-License-Identifier: Apache-2.0
// Arithmetic of f16 and bf16, one and two at a time, as <cuda_fp16.h> and <cuda_bf16.h> have it, a row of
// results for each operation: sums, products, FMAs (also with saturation and relu), quotients, roots, minima
// and maxima with and without NaN, comparisons, approximate functions, conversions. `out` has codes of 16 bits,
// `wide` 32 bits.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace kernel {

// Where the next results go.
struct Rows {
  uint16_t* narrow;
  unsigned* wide;
  int columns;

  __device__ void put(unsigned short x) {
    *narrow = x;
    narrow += columns;
  }
  __device__ void put(unsigned x) {
    *wide = x;
    wide += columns;
  }
  __device__ void put(__half x) { put(__half_as_ushort(x)); }
  __device__ void put(__nv_bfloat16 x) { put(__bfloat16_as_ushort(x)); }
  __device__ void put(__half2 x) { put(*reinterpret_cast<const unsigned*>(&x)); }
  __device__ void put(__nv_bfloat162 x) { put(*reinterpret_cast<const unsigned*>(&x)); }
  __device__ void put(float x) { put(__float_as_uint(x)); }
};

// What both types and their pairs have. T is one of __half, __nv_bfloat16; T2 a pair of it.
template <class T, class T2>
__device__ void arithmetic(Rows& rows, T x, T y, T z, T2 xx, T2 yy, T2 zz) {
  rows.put(__hadd(x, y)), rows.put(__hsub(x, y)), rows.put(__hmul(x, y)), rows.put(__hfma(x, y, z));
  rows.put(__hadd_rn(x, y)), rows.put(__hmul_rn(x, y)), rows.put(__hadd_sat(x, y)), rows.put(__hmul_sat(x, y));
  rows.put(__hfma_sat(x, y, z)), rows.put(__hfma_relu(x, y, z)), rows.put(__hneg(x)), rows.put(__habs(x));
  rows.put(__hmin(x, y)), rows.put(__hmax(x, y)), rows.put(__hmin_nan(x, y)), rows.put(__hmax_nan(x, y));
  rows.put(__hdiv(x, y)), rows.put(hrcp(x)), rows.put(hsqrt(x)), rows.put(hrsqrt(x)), rows.put(hexp2(x));
  rows.put(hlog2(x)), rows.put(hfloor(x)), rows.put(hrint(x)), rows.put(htrunc(x));
  rows.put(__hadd2(xx, yy)), rows.put(__hsub2(xx, yy)), rows.put(__hmul2(xx, yy)),
      rows.put(__hfma2(xx, yy, zz));
  rows.put(__hadd2_sat(xx, yy)), rows.put(__hfma2_sat(xx, yy, zz)), rows.put(__hfma2_relu(xx, yy, zz));
  rows.put(__hneg2(xx)), rows.put(__habs2(xx)), rows.put(__hmin2(xx, yy)), rows.put(__hmax2(xx, yy));
  rows.put(__hmin2_nan(xx, yy)), rows.put(__hmax2_nan(xx, yy)), rows.put(__h2div(xx, yy));
  rows.put(__hadd(__hmul(x, y), z)), rows.put(__hsub2(zz, __hmul2(xx, yy)));  // may be contracted
}

template <class T, class T2>
__device__ void comparisons(Rows& rows, T x, T y, T2 xx, T2 yy) {
  const bool one[] = {__heq(x, y), __hne(x, y),     __hlt(x, y),     __hle(x, y),  __hgt(x, y),
                      __hge(x, y), __hequ(x, y),    __hneu(x, y),    __hltu(x, y), __hgeu(x, y),
                      __hisnan(x), __hbeq2(xx, yy), __hbltu2(xx, yy)};
  unsigned all = 0;
  for (int i = 0; i < 13; ++i) all |= one[i] << i;
  rows.put(all);
  rows.put(__heq2(xx, yy)), rows.put(__hltu2(xx, yy)), rows.put(__hgt2_mask(xx, yy)),
      rows.put(__hneu2_mask(xx, yy));
}

__device__ void conversions(Rows& rows, __half x, float f, int n) {
  rows.put(__half2float(x)), rows.put(__float2half_rn(f)), rows.put(__float2half_rz(f));
  rows.put(__float2half_ru(f)), rows.put(__float2half_rd(f)), rows.put(__floats2half2_rn(f, -f));
  rows.put(unsigned(__half2int_rn(x))), rows.put(unsigned(__half2int_rz(x))), rows.put(__half2uint_rd(x));
  rows.put(static_cast<unsigned short>(__half2short_ru(x))), rows.put(__half2ushort_rz(x));
  rows.put(static_cast<unsigned>(__half2ll_rz(x))), rows.put(static_cast<unsigned>(__half2ull_rn(x) >> 3));
  rows.put(__int2half_rn(n)), rows.put(__int2half_rz(n)), rows.put(__uint2half_ru(n));
  rows.put(__short2half_rn(static_cast<short>(n))), rows.put(__ushort2half_rd(static_cast<unsigned short>(n)));
  rows.put(__ll2half_rn(static_cast<long long>(n) << 8)), rows.put(__double2half(f * 1.0000001));
  rows.put(static_cast<unsigned>(static_cast<unsigned char>(__half2char_rz(x))));
}

__device__ void conversions(Rows& rows, __nv_bfloat16 x, float f, int n) {
  rows.put(__bfloat162float(x)), rows.put(__float2bfloat16_rn(f)), rows.put(__float2bfloat16_rz(f));
  rows.put(__float2bfloat16_ru(f)), rows.put(__float2bfloat16_rd(f)), rows.put(__floats2bfloat162_rn(f, -f));
  rows.put(unsigned(__bfloat162int_rn(x))), rows.put(unsigned(__bfloat162int_rz(x)));
  rows.put(__bfloat162uint_rd(x)), rows.put(__int2bfloat16_rn(n)), rows.put(__uint2bfloat16_rz(n));
  rows.put(__double2bfloat16(f * 1.0000001));
}

#define UNARY(op, T, code)                         \
  do {                                             \
    T result;                                      \
    asm(op " %0, %1;" : "=h"(result) : "h"(code)); \
    rows.put(result);                              \
  } while (0)

extern "C" __global__ void halves(const unsigned* x, const unsigned* y, const unsigned* z, const float* f,
                                  uint16_t* out, unsigned* wide) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  Rows rows = {out + i, wide + i, static_cast<int>(gridDim.x * blockDim.x)};
  {
    const auto pair = [](unsigned code) { return *reinterpret_cast<const __half2*>(&code); };
    const __half2 xx = pair(x[i]), yy = pair(y[i]), zz = pair(z[i]);
    arithmetic(rows, xx.x, yy.x, zz.x, xx, yy, zz);
    comparisons(rows, xx.x, yy.x, xx, yy);
    conversions(rows, xx.x, f[i], static_cast<int>(z[i]));
  }
  {
    const auto pair = [](unsigned code) { return *reinterpret_cast<const __nv_bfloat162*>(&code); };
    const __nv_bfloat162 xx = pair(x[i]), yy = pair(y[i]), zz = pair(z[i]);
    arithmetic(rows, xx.x, yy.x, zz.x, xx, yy, zz);
    comparisons(rows, xx.x, yy.x, xx, yy);
    conversions(rows, xx.x, f[i], static_cast<int>(z[i]));
  }
  const unsigned short code = static_cast<unsigned short>(x[i]);
  UNARY("tanh.approx.f16", unsigned short, code);
  UNARY("ex2.approx.f16", unsigned short, code);
  UNARY("cvt.rni.f16.f16", unsigned short, code);
  UNARY("cvt.sat.f16.f16", unsigned short, code);
  UNARY("abs.ftz.f16", unsigned short, code);
}

}  // namespace kernel
