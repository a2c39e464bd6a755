// SPDX-License-Identifier: Apache-2.0
// The driver API alone: NVRTC makes PTX, the driver loads it, a variable is set by its name, launches by arrays of
// arguments and by a buffer, with a cluster and without.
#include <cuda.h>
#include <nvrtc.h>

#include <cstring>
#include <string>

#include "common.cuh"

#define DRIVER(call)                                                         \
  do {                                                                       \
    const CUresult status = (call);                                          \
    if (status != CUDA_SUCCESS) {                                            \
      std::fprintf(stderr, "%s:%d: error %d\n", __FILE__, __LINE__, status); \
      std::exit(1);                                                          \
    }                                                                        \
  } while (false)

const char source[] = R"(
struct Job { const float* x; float* y; int n; float factor; char name[3]; short shift; };
__device__ float offsets[4];
__global__ void scale(const Job job) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < job.n) job.y[i] = job.x[(i + job.shift) % job.n] * job.factor + offsets[i % 4] + job.name[i % 3];
}
extern "C" __global__ void powers(double* y, unsigned short n, signed char first, double base) {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = pow(base, i % 40 + first) + rank;
}
)";

struct Job {
  CUdeviceptr x, y;
  int n;
  float factor;
  char name[3];
  short shift;
};

std::vector<char> compile(std::string& lowered) {
  nvrtcProgram program;
  nvrtcCreateProgram(&program, source, "jobs.cu", 0, nullptr, nullptr);
  nvrtcAddNameExpression(program, "scale");
  const char* options[] = {"--gpu-architecture=compute_90a", "--std=c++17"};
  if (nvrtcCompileProgram(program, 2, options) != NVRTC_SUCCESS) std::exit(1);
  std::size_t size = 0;
  nvrtcGetPTXSize(program, &size);
  std::vector<char> ptx(size);
  nvrtcGetPTX(program, ptx.data());
  const char* name = nullptr;
  nvrtcGetLoweredName(program, "scale", &name);
  lowered = name;
  nvrtcDestroyProgram(&program);
  return ptx;
}

void report_from(CUdeviceptr place, std::size_t bytes) {
  std::vector<char> copy(bytes);
  DRIVER(cuMemcpyDtoH(copy.data(), place, bytes));
  print_digest(copy.data(), bytes);
}

int main() {
  CUdevice device;
  CUcontext context;
  DRIVER(cuInit(0));
  DRIVER(cuDeviceGet(&device, 0));
  DRIVER(cuDevicePrimaryCtxRetain(&context, device));
  DRIVER(cuCtxSetCurrent(context));
  std::string lowered;
  CUmodule module;
  DRIVER(cuModuleLoadData(&module, compile(lowered).data()));
  CUfunction scale, powers;
  DRIVER(cuModuleGetFunction(&scale, module, lowered.c_str()));
  DRIVER(cuModuleGetFunction(&powers, module, "powers"));
  CUdeviceptr offsets;
  std::size_t size = 0;
  DRIVER(cuModuleGetGlobal(&offsets, &size, module, "offsets"));
  const float values[] = {1, 10, 100, 1000};
  DRIVER(cuMemcpyHtoD(offsets, values, size));

  Numbers numbers;
  const std::vector<float> x = numbers.draw<float>(300);
  Job job = {0, 0, 300, 2.5f, {'a', 'b', 'c'}, 7};
  DRIVER(cuMemAlloc(&job.x, 1200));
  DRIVER(cuMemAlloc(&job.y, 1200));
  DRIVER(cuMemcpyHtoD(job.x, x.data(), 1200));
  void* arguments[] = {&job};
  DRIVER(cuLaunchKernel(scale, 3, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
  report_from(job.y, 1200);

  CUdeviceptr y;
  DRIVER(cuMemAlloc(&y, 200 * 8));
  DRIVER(cuMemsetD32(y, 0x3ff00000, 400));
  struct {
    CUdeviceptr y;
    unsigned short n;
    signed char first;
    double base;
  } buffer = {y, 190, -9, 1.7};
  std::size_t length = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &length,
                   CU_LAUNCH_PARAM_END};
  DRIVER(cuLaunchKernel(powers, 2, 1, 1, 100, 1, 1, 0, nullptr, nullptr, extra));
  report_from(y, 1600);

  CUlaunchAttribute cluster;
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim.x = 2, cluster.value.clusterDim.y = 1, cluster.value.clusterDim.z = 1;
  CUlaunchConfig config = {2, 1, 1, 100, 1, 1, 0, nullptr, &cluster, 1};
  buffer.base = 0.3;
  void* each[] = {&buffer.y, &buffer.n, &buffer.first, &buffer.base};
  DRIVER(cuLaunchKernelEx(&config, powers, each, nullptr));
  report_from(y, 1600);
}
