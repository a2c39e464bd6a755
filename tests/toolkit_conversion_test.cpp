// SPDX-License-Identifier: Apache-2.0
// Conversions against the host code of the CUDA toolkit's headers. Without these the program says so and exits
// with 77.
#if __has_include(<cuda_fp4.h>)
#include <cuda_fp4.h>  // includes those of fp6, fp8, bf16 and fp16
#else
#define WARPBIT_NO_TOOLKIT
#endif

#include <fmt/format.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>  // std::exit

#include "cvt_cases.hpp"
#include "tally.hpp"

namespace toolkit_conversion_test {

#ifdef WARPBIT_NO_TOOLKIT

TEST_CASE("conversions are those of the toolkit's headers", "[toolkit]") {
  fmt::print("not run: needs cuda_fp4.h of the CUDA toolkit\n");
  std::exit(77);
}

#else

using Code = std::uint64_t;

float f32(Code code) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(code));
}
double f64(Code code) {
  return std::bit_cast<double>(code);
}
Code code(float x) {
  return std::bit_cast<std::uint32_t>(x);
}
Code code(__half x) {
  return static_cast<__half_raw>(x).x;
}
Code code(__nv_bfloat16 x) {
  return static_cast<__nv_bfloat16_raw>(x).x;
}
__half_raw f16(Code code) {
  __half_raw raw;
  raw.x = static_cast<unsigned short>(code);
  return raw;
}
__nv_bfloat16_raw bf16(Code code) {
  __nv_bfloat16_raw raw;
  raw.x = static_cast<unsigned short>(code);
  return raw;
}
unsigned char byte(Code code) {
  return static_cast<unsigned char>(code);
}

// No row has an exception: the headers of CUDA 13.0 nowhere differ from the captures of sm_90a.
struct Row {
  const char* form;
  Code (*toolkit)(Code);
};
constexpr Row kRows[] = {
    {"cvt.rn.satfinite.e4m3x2.f32",
     [](Code x) -> Code { return __nv_cvt_float_to_fp8(f32(x), __NV_SATFINITE, __NV_E4M3); }},
    {"cvt.rn.satfinite.e5m2x2.f32",
     [](Code x) -> Code { return __nv_cvt_float_to_fp8(f32(x), __NV_SATFINITE, __NV_E5M2); }},
    {"cvt.rn.satfinite.e4m3x2.f16x2",
     [](Code x) -> Code { return __nv_cvt_halfraw_to_fp8(f16(x), __NV_SATFINITE, __NV_E4M3); }},
    {"cvt.rn.satfinite.e5m2x2.f16x2",
     [](Code x) -> Code { return __nv_cvt_halfraw_to_fp8(f16(x), __NV_SATFINITE, __NV_E5M2); }},
    {"cvt.rn.f16x2.e4m3x2", [](Code x) -> Code { return __nv_cvt_fp8_to_halfraw(byte(x), __NV_E4M3).x; }},
    {"cvt.rn.f16x2.e5m2x2", [](Code x) -> Code { return __nv_cvt_fp8_to_halfraw(byte(x), __NV_E5M2).x; }},
    {"cvt.rn.satfinite.e2m3x2.f32",
     [](Code x) -> Code { return __nv_cvt_float_to_fp6(f32(x), __NV_E2M3, cudaRoundNearest); }},
    {"cvt.rn.satfinite.e3m2x2.f32",
     [](Code x) -> Code { return __nv_cvt_float_to_fp6(f32(x), __NV_E3M2, cudaRoundNearest); }},
    {"cvt.rn.f16x2.e2m3x2", [](Code x) -> Code { return __nv_cvt_fp6_to_halfraw(byte(x), __NV_E2M3).x; }},
    {"cvt.rn.f16x2.e3m2x2", [](Code x) -> Code { return __nv_cvt_fp6_to_halfraw(byte(x), __NV_E3M2).x; }},
    {"cvt.rn.satfinite.e2m1x2.f32",
     [](Code x) -> Code { return __nv_cvt_float_to_fp4(f32(x), __NV_E2M1, cudaRoundNearest); }},
    {"cvt.rn.satfinite.e2m1x2.f16x2",
     [](Code x) -> Code { return __nv_cvt_halfraw_to_fp4(f16(x), __NV_E2M1, cudaRoundNearest); }},
    {"cvt.rn.f16x2.e2m1x2", [](Code x) -> Code { return __nv_cvt_fp4_to_halfraw(byte(x), __NV_E2M1).x; }},
    {"cvt.rz.satfinite.ue8m0x2.f32",
     [](Code x) -> Code { return __nv_cvt_float_to_e8m0(f32(x), __NV_SATFINITE, cudaRoundZero); }},
    {"cvt.rz.ue8m0x2.f32",
     [](Code x) -> Code { return __nv_cvt_float_to_e8m0(f32(x), __NV_NOSAT, cudaRoundZero); }},
    {"cvt.rp.satfinite.ue8m0x2.f32",
     [](Code x) -> Code { return __nv_cvt_float_to_e8m0(f32(x), __NV_SATFINITE, cudaRoundPosInf); }},
    {"cvt.rp.ue8m0x2.f32",
     [](Code x) -> Code { return __nv_cvt_float_to_e8m0(f32(x), __NV_NOSAT, cudaRoundPosInf); }},
    {"cvt.rz.satfinite.ue8m0x2.bf16x2",
     [](Code x) -> Code { return __nv_cvt_bfloat16raw_to_e8m0(bf16(x), __NV_SATFINITE, cudaRoundZero); }},
    {"cvt.rz.ue8m0x2.bf16x2",
     [](Code x) -> Code { return __nv_cvt_bfloat16raw_to_e8m0(bf16(x), __NV_NOSAT, cudaRoundZero); }},
    {"cvt.rp.satfinite.ue8m0x2.bf16x2",
     [](Code x) -> Code { return __nv_cvt_bfloat16raw_to_e8m0(bf16(x), __NV_SATFINITE, cudaRoundPosInf); }},
    {"cvt.rp.ue8m0x2.bf16x2",
     [](Code x) -> Code { return __nv_cvt_bfloat16raw_to_e8m0(bf16(x), __NV_NOSAT, cudaRoundPosInf); }},
    {"cvt.rn.bf16x2.ue8m0x2", [](Code x) -> Code { return __nv_cvt_e8m0_to_bf16raw(byte(x)).x; }},
    {"cvt.rn.f16.f32", [](Code x) { return code(__float2half_rn(f32(x))); }},
    {"cvt.rz.f16.f32", [](Code x) { return code(__float2half_rz(f32(x))); }},
    {"cvt.rm.f16.f32", [](Code x) { return code(__float2half_rd(f32(x))); }},
    {"cvt.rp.f16.f32", [](Code x) { return code(__float2half_ru(f32(x))); }},
    {"cvt.rn.f16.f64", [](Code x) { return code(__double2half(f64(x))); }},
    {"cvt.f32.f16", [](Code x) { return code(__half2float(f16(x))); }},
    {"cvt.rn.bf16.f32", [](Code x) { return code(__float2bfloat16_rn(f32(x))); }},
    {"cvt.rz.bf16.f32", [](Code x) { return code(__float2bfloat16_rz(f32(x))); }},
    {"cvt.rm.bf16.f32", [](Code x) { return code(__float2bfloat16_rd(f32(x))); }},
    {"cvt.rp.bf16.f32", [](Code x) { return code(__float2bfloat16_ru(f32(x))); }},
    {"cvt.rn.bf16.f64", [](Code x) { return code(__double2bfloat16(f64(x))); }},
    {"cvt.f32.bf16", [](Code x) { return code(__bfloat162float(bf16(x))); }},
};

TEST_CASE("conversions are those of the toolkit's headers", "[toolkit]") {
  for (const Row& row : kRows) {
    const cvt_cases::Meaning m = cvt_cases::meaning(row.form);
    Tally tally;
    for (const Code source : cvt_cases::sources(m.oracles.from, m.oracles.to)) {
      const Code got = convert(m.ours, source, 0), toolkit = row.toolkit(source);
      // Of f64 NaNs the header's host code is canonical; GPUs keep sign and payload (NUMERICS.md, "cvt").
      const bool nan_of_f64 = m.oracles.from == "f64" && std::isnan(f64(source));
      tally.check(nan_of_f64 ? toolkit == 0x7FFF : got == toolkit,
                  [&] { return fmt::format("{:x}: {:x}, toolkit {:x}", source, got, toolkit); });
    }
    tally.judge(row.form);
  }
}

#endif

}  // namespace toolkit_conversion_test
