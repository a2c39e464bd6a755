// SPDX-License-Identifier: Apache-2.0
// Captures from kernels with mma and, on a GPU of compute capability 9.0, wgmma:
//
//   nvcc -std=c++17 -arch=sm_90a -o example tools/capture/example.cu
//   ./example . && warpbit verify example_mma.npz example_wgmma.npz
//
// README.md has the lines for other GPUs.
#include <cstdio>

#include "capture.cuh"

namespace {

constexpr std::uint32_t kSteps = 8, kWarps = 4;

// Two f16 near 1, another pair for each number.
__device__ std::uint32_t pair(std::uint32_t number) {
  number = (number + 1) * 0x9E3779B9;
  number = (number ^ number >> 15) * 0x85EBCA6B;
  return ((number ^ number >> 13) & 0x8FFF8FFF) | 0x30003000;
}

// ---- mma: each warp adds up kSteps products. Every one of them is a case.

constexpr char kMma[] = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c};";
enum MmaMember { kA, kB, kC, kD };

__global__ void add_products(capture::View view) {
  const std::uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float d[4] = {};
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    const std::uint32_t number = warp * kSteps + step;
    std::uint32_t a[4], b[2];
    for (std::uint32_t i = 0; i < 4; ++i) a[i] = pair((number * 32 + lane) * 8 + i);
    for (std::uint32_t i = 0; i < 2; ++i) b[i] = pair((number * 32 + lane) * 8 + 4 + i);

    const capture::Case record(view, number);
    record.put(kA, a);
    record.put(kB, b);
    record.put(kC, d);
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    record.put(kD, d);
  }
}

// ---- wgmma: A (64 x 16) and B (16 x 8) in shared memory, without swizzling.

constexpr char kWgmma[] =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d}, desc_a, desc_b, scale_d, 1, 1, 0, 0;";
enum WgmmaMember { kDescA, kDescB, kScaleD, kDIn, kMemory, kResult };

constexpr std::uint32_t kBytesA = 64 * 16 * 2, kBytesB = 16 * 8 * 2, kBytes = kBytesA + kBytesB;

// 8 x 8 elements are 128 bytes in a row; they follow each other along K, and then along M or N.
//
//  62-63  46-59 0  32-45  16-29  0-13        in units of 16 bytes
//  swizz           SBO    LBO    start
[[maybe_unused]] __device__ std::uint64_t descriptor(const void* begin) {
  constexpr std::uint64_t kAlongK = 128, kAlongRows = 256;
  return (kAlongRows >> 4) << 32 | (kAlongK >> 4) << 16 | (__cvta_generic_to_shared(begin) >> 4 & 0x3FFF);
}

__global__ void one_product(capture::View view) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  __shared__ alignas(1024) unsigned char memory[kBytes];
  for (std::uint32_t i = threadIdx.x; i < kBytes / 4; i += blockDim.x)
    reinterpret_cast<std::uint32_t*>(memory)[i] = pair(blockIdx.x * kBytes + i);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const std::uint64_t a = descriptor(memory), b = descriptor(memory + kBytesA);
  const std::uint32_t scale_d = blockIdx.x % 2;
  float d[4];
  for (std::uint32_t i = 0; i < 4; ++i) d[i] = static_cast<float>(threadIdx.x * 4 + i) / 128;

  const capture::Case record(view, blockIdx.x);
  record.put_memory(kMemory, memory);
  record.put_descriptor(kDescA, a, memory);
  record.put_descriptor(kDescB, b, memory);
  record.put(kScaleD, static_cast<unsigned char>(scale_d));
  record.put(kDIn, d);
  asm volatile(
      "{\n"
      ".reg .pred scale_d;\n"
      "setp.ne.u32 scale_d, %6, 0;\n"
      "wgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, scale_d, 1, 1, 0, 0;\n"
      "wgmma.commit_group.sync.aligned;\n"
      "wgmma.wait_group.sync.aligned 0;\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(a), "l"(b), "r"(scale_d)
      : "memory");
  record.put(kResult, d);
#endif
}

void record_mma(const std::string& target, const std::string& path) {
  using capture::registers;
  const capture::Recording recording(
      kMma, target, {registers("a", 4), registers("b", 2), registers("c", 4), registers("d", 4)},
      kSteps * kWarps);
  add_products<<<1, 32 * kWarps>>>(recording.view());
  recording.write(path, "tools/capture/example.cu");
}

void record_wgmma(const std::string& path) {
  using namespace capture;
  const Recording recording(kWgmma, "sm_90a",
                            {value("desc_a", 8), value("desc_b", 8), value("scale_d", 1), registers("d_in", 4),
                             memory("smem", kBytes), registers("d", 4)},
                            kSteps, 128);
  one_product<<<kSteps, 128>>>(recording.view());
  recording.write(path, "tools/capture/example.cu");
}

}  // namespace

int main(int count, char** arguments) try {
  if (count != 2) return std::fprintf(stderr, "usage: example FOLDER\n"), 2;
  const std::string folder = arguments[1];
  cudaDeviceProp device{};
  if (const cudaError_t status = cudaGetDeviceProperties(&device, 0); status != cudaSuccess)
    throw std::runtime_error(cudaGetErrorString(status));
  const bool has_wgmma = device.major == 9 && device.minor == 0;
  const std::string target = has_wgmma ? "sm_90a" : "sm_" + std::to_string(10 * device.major + device.minor);
  record_mma(target, folder + "/example_mma.npz");
  if (has_wgmma) record_wgmma(folder + "/example_wgmma.npz");
} catch (const std::exception& error) {
  return std::fprintf(stderr, "example: %s\n", error.what()), 2;
}
