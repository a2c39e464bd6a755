// SPDX-License-Identifier: Apache-2.0
// A captured graph of copies and kernels, launched twice; kernels that start early (programmatic launches).
#include "common.cuh"

__global__ void add(float* x, const float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += y[i] * 0.5f;
}

__global__ void smooth(const float* x, float* y, int n) {
  cudaGridDependencySynchronize();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = (x[(i + n - 1) % n] + x[i] + x[(i + 1) % n]) / 3;
  cudaTriggerProgrammaticLaunchCompletion();
}

int main() {
  const int n = 300;
  Numbers numbers;
  float *x = on_gpu(numbers.draw<float>(n)), *y = on_gpu(numbers.draw<float>(n)), *z = on_gpu<float>(n);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  cudaGraph_t graph;
  cudaGraphExec_t runnable;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  add<<<3, 128, 0, stream>>>(x, y, n);
  CHECK(cudaMemcpyAsync(z, x, n * sizeof(float), cudaMemcpyDeviceToDevice, stream));
  add<<<3, 128, 0, stream>>>(y, z, n);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&runnable, graph, 0));
  for (int i = 0; i < 2; ++i) CHECK(cudaGraphLaunch(runnable, stream));
  CHECK(cudaStreamSynchronize(stream));
  report(x, n);
  report(y, n);

  cudaLaunchConfig_t config = {};
  config.gridDim = 3, config.blockDim = 128, config.stream = stream;
  cudaLaunchAttribute early;
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &early, config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, smooth, static_cast<const float*>(x), z, n));
  CHECK(cudaLaunchKernelEx(&config, smooth, static_cast<const float*>(z), x, n));
  CHECK(cudaStreamSynchronize(stream));
  report(x, n);
}
