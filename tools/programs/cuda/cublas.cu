// SPDX-License-Identifier: Apache-2.0
// Products of cuBLAS: f32, tf32, halves, integers, a batch; and cuBLASLt with a bias and an activation.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common.cuh"

#define BLAS(call)                                                           \
  do {                                                                       \
    const cublasStatus_t status = (call);                                    \
    if (status != CUBLAS_STATUS_SUCCESS) {                                   \
      std::fprintf(stderr, "%s:%d: error %d\n", __FILE__, __LINE__, status); \
      std::exit(1);                                                          \
    }                                                                        \
  } while (false)

const int M = 64, N = 48, K = 96;

template <class T, class Out>
void product(cublasHandle_t handle, Numbers& numbers, cudaDataType in, cudaDataType out,
             cublasComputeType_t compute) {
  const T *a = on_gpu(numbers.draw<T>(M * K, in == CUDA_R_8I ? 100 : 1)),
          *b = on_gpu(numbers.draw<T>(K * N, in == CUDA_R_8I ? 100 : 1));
  Out* c = on_gpu<Out>(M * N);
  const float one = 1, zero = 0;
  const double one64 = 1, zero64 = 0;
  const int one32 = 1, zero32 = 0;
  const void* alpha = compute == CUBLAS_COMPUTE_64F   ? static_cast<const void*>(&one64)
                      : compute == CUBLAS_COMPUTE_32I ? static_cast<const void*>(&one32)
                                                      : &one;
  const void* beta = compute == CUBLAS_COMPUTE_64F   ? static_cast<const void*>(&zero64)
                     : compute == CUBLAS_COMPUTE_32I ? static_cast<const void*>(&zero32)
                                                     : &zero;
  BLAS(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, M, N, K, alpha, a, in, K, b, in, K, beta, c, out, M,
                    compute, CUBLAS_GEMM_DEFAULT));
  report(c, M * N);
}

void batch(cublasHandle_t handle, Numbers& numbers) {
  const float *a = on_gpu(numbers.draw<float>(3 * M * K)), *b = on_gpu(numbers.draw<float>(3 * K * N));
  float* c = on_gpu(std::vector<float>(3 * M * N, 2.0f));
  const float alpha = 0.5f, beta = -1;
  BLAS(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &alpha, a, M, M * K, b, K, K * N,
                                 &beta, c, M, M * N, 3));
  report(c, 3 * M * N);
  float* y = on_gpu(numbers.draw<float>(M));
  BLAS(cublasSgemv(handle, CUBLAS_OP_N, M, K, &alpha, a, M, b, 1, &beta, y, 1));
  BLAS(cublasSaxpy(handle, M, &alpha, b, 1, y, 1));
  report(y, M);
}

void with_epilogue(Numbers& numbers) {
  cublasLtHandle_t handle;
  BLAS(cublasLtCreate(&handle));
  const __nv_bfloat16 *a = on_gpu(numbers.draw<__nv_bfloat16>(M * K)),
                      *b = on_gpu(numbers.draw<__nv_bfloat16>(K * N)),
                      *bias = on_gpu(numbers.draw<__nv_bfloat16>(M));
  __nv_bfloat16* d = on_gpu<__nv_bfloat16>(M * N);
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t of_a, of_b, of_d;
  BLAS(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  const cublasOperation_t transposed = CUBLAS_OP_T;
  const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
  BLAS(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
  BLAS(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
  BLAS(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
  BLAS(cublasLtMatrixLayoutCreate(&of_a, CUDA_R_16BF, K, M, K));
  BLAS(cublasLtMatrixLayoutCreate(&of_b, CUDA_R_16BF, K, N, K));
  BLAS(cublasLtMatrixLayoutCreate(&of_d, CUDA_R_16BF, M, N, M));
  const float one = 1, zero = 0;
  BLAS(cublasLtMatmul(handle, operation, &one, a, of_a, b, of_b, &zero, d, of_d, d, of_d, nullptr, nullptr, 0,
                      nullptr));
  report(d, M * N);
}

int main() {
  Numbers numbers;
  cublasHandle_t handle;
  BLAS(cublasCreate(&handle));
  product<float, float>(handle, numbers, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F);
  product<float, float>(handle, numbers, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32);
  product<__half, __half>(handle, numbers, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F);
  product<__nv_bfloat16, float>(handle, numbers, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F);
  product<double, double>(handle, numbers, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F);
  product<signed char, int>(handle, numbers, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I);
  batch(handle, numbers);
  with_epilogue(numbers);
}
