// SPDX-License-Identifier: Apache-2.0
// Names of element types in C++, Python and libraries.
#include <algorithm>

#include "cli/ask.hpp"
#include "warpbit/detail/letters.hpp"
#include "warpbit/format.hpp"

namespace warpbit::cli {
namespace {

struct TypeName {
  std::string_view seen, meant;
};
// Without namespaces, beside the names of formats (find_format_info).
constexpr TypeName kTypeNames[] = {
    // C++
    {"half_t", "f16"},
    {"__half", "f16"},
    {"__half2", "f16"},
    {"half2", "f16"},
    {"float16_t", "f16"},
    {"bfloat16_t", "bf16"},
    {"__nv_bfloat16", "bf16"},
    {"__nv_bfloat162", "bf16"},
    {"nv_bfloat16", "bf16"},
    {"nv_bfloat162", "bf16"},
    {"tfloat32_t", "tf32"},
    {"int", "s32"},
    {"int32_t", "s32"},
    {"int8_t", "s8"},
    {"signed char", "s8"},
    {"char", "s8"},
    {"uint8_t", "u8"},
    {"unsigned char", "u8"},
    {"int4_t", "s4"},
    {"uint4_t", "u4"},
    {"int4b_t", "s4"},
    {"uint4b_t", "u4"},
    {"uint1_t", "b1"},
    {"float_e4m3_t", "e4m3"},
    {"float_e5m2_t", "e5m2"},
    {"float_e2m1_t", "e2m1"},
    {"float_e2m3_t", "e2m3"},
    {"float_e3m2_t", "e3m2"},
    {"float_ue8m0_t", "ue8m0"},
    {"float_ue4m3_t", "ue4m3"},
    {"__nv_fp8_e4m3", "e4m3"},
    {"__nv_fp8_e5m2", "e5m2"},
    {"__nv_fp8_e8m0", "ue8m0"},
    {"__nv_fp6_e2m3", "e2m3"},
    {"__nv_fp6_e3m2", "e3m2"},
    {"__nv_fp4_e2m1", "e2m1"},
    {"__NV_E4M3", "e4m3"},
    {"__NV_E5M2", "e5m2"},
    {"__NV_E2M1", "e2m1"},
    // cudaDataType
    {"CUDA_R_16F", "f16"},
    {"CUDA_R_16BF", "bf16"},
    {"CUDA_R_32F", "f32"},
    {"CUDA_R_64F", "f64"},
    {"CUDA_R_8I", "s8"},
    {"CUDA_R_8U", "u8"},
    {"CUDA_R_4I", "s4"},
    {"CUDA_R_4U", "u4"},
    {"CUDA_R_32I", "s32"},
    {"CUDA_R_8F_E4M3", "e4m3"},
    {"CUDA_R_8F_E5M2", "e5m2"},
    {"CUDA_R_8F_UE8M0", "ue8m0"},
    {"CUDA_R_8F_UE4M3", "ue4m3"},
    {"CUDA_R_6F_E2M3", "e2m3"},
    {"CUDA_R_6F_E3M2", "e3m2"},
    {"CUDA_R_4F_E2M1", "e2m1"},
    {"CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3", "ue4m3"},
    {"CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0", "ue8m0"},
    {"CU_TENSOR_MAP_DATA_TYPE_FLOAT16", "f16"},
    {"CU_TENSOR_MAP_DATA_TYPE_BFLOAT16", "bf16"},
    {"CU_TENSOR_MAP_DATA_TYPE_FLOAT32", "f32"},
    {"CU_TENSOR_MAP_DATA_TYPE_TFLOAT32", "tf32"},
    {"CU_TENSOR_MAP_DATA_TYPE_UINT8", "u8"},
    // Python: PyTorch, ml_dtypes and JAX, Triton, CuTe DSL
    {"float8_e8m0fnu", "ue8m0"},
    {"float4_e2m1fn_x2", "e2m1"},
    {"float4_e2m1fn", "e2m1"},
    {"float6_e2m3fn", "e2m3"},
    {"float6_e3m2fn", "e3m2"},
    {"float8e4nv", "e4m3"},
    {"float8e5", "e5m2"},
    {"fp8e4nv", "e4m3"},
    {"fp8e5", "e5m2"},
    {"Float16", "f16"},
    {"BFloat16", "bf16"},
    {"TFloat32", "tf32"},
    {"Float32", "f32"},
    {"Float64", "f64"},
    {"Float8E4M3FN", "e4m3"},
    {"Float8E4M3", "e4m3"},
    {"Float8E5M2", "e5m2"},
    {"Float8E8M0FNU", "ue8m0"},
    {"Float4E2M1FN", "e2m1"},
    {"Float6E2M3FN", "e2m3"},
    {"Float6E3M2FN", "e3m2"},
    {"Int8", "s8"},
    {"Uint8", "u8"},
    {"Int4", "s4"},
    {"Int32", "s32"},
    // MLIR and LLVM
    {"f8E4M3FN", "e4m3"},
    {"f8E5M2", "e5m2"},
    {"f8E8M0FNU", "ue8m0"},
    {"f4E2M1FN", "e2m1"},
    {"f6E2M3FN", "e2m3"},
    {"f6E3M2FN", "e3m2"},
};
constexpr std::string_view kNamespaces[] = {
    "torch.",   "np.",       "numpy.",     "jnp.",   "jax.numpy.",       "tl.",
    "cutlass.", "cutlass::", "ml_dtypes.", "cute::", "triton.language.", "cutlass::detail::",
    "cp.",      "cupy."};

}  // namespace

std::string element_type(std::string_view name) {
  for (const std::string_view space : kNamespaces)
    if (name.starts_with(space)) return element_type(name.substr(space.size()));
  const auto known = std::ranges::find(kTypeNames, name, &TypeName::seen);
  if (known != std::end(kTypeNames)) return std::string(known->meant);
  if (const Result<FormatInfo> format = find_format_info(name)) return std::string(format->name);
  // "E4M3FN": finite, without infinities; "E8M0FNU": unsigned, too.
  const std::string small = in_small_letters(name);
  for (const std::string_view end : {"fnu", "fn"})
    if (small.ends_with(end)) {
      const std::string bare = small.substr(0, small.size() - end.size());
      const Result<FormatInfo> format = find_format_info(bare == "e8m0" ? "ue8m0" : bare);
      return format && !format->is_integer ? std::string(format->name) : "";
    }
  return "";
}

}  // namespace warpbit::cli
