// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime without a GPU, as far as tools/capture/capture.cuh uses it: memory is the host's, and the
// test plays one thread after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#define __device__
#define CUDART_VERSION 13000

struct FakeIndex {
  unsigned x = 0, y = 0, z = 0;
};
inline FakeIndex threadIdx, blockDim{1, 1, 1};

// Generic addresses from fake_shared on are those from 0x1400 on of shared memory.
inline const unsigned char* fake_shared = nullptr;
inline std::size_t __cvta_generic_to_shared(const void* pointer) {
  return static_cast<std::size_t>(static_cast<const unsigned char*>(pointer) - fake_shared) + 0x1400;
}

enum cudaError_t { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorMisalignedAddress = 716 };
enum cudaMemcpyKind { cudaMemcpyDeviceToHost };
struct cudaDeviceProp {
  char name[256];
  int major, minor;
};

// What kernels end with, and how much memory there is.
inline cudaError_t fake_status = cudaSuccess;
inline std::size_t fake_memory = std::size_t{1} << 30;

inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : "misaligned address";
}
inline cudaError_t cudaDeviceSynchronize() {
  return fake_status;
}
inline cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  if (bytes > fake_memory) return cudaErrorMemoryAllocation;
  *pointer = std::malloc(bytes);
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* pointer) {
  std::free(pointer);
  return cudaSuccess;
}
inline cudaError_t cudaMemset(void* pointer, int value, std::size_t bytes) {
  std::memset(pointer, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* about, int) {
  std::strcpy(about->name, "Fake GPU");
  about->major = 9;
  about->minor = 0;
  return cudaSuccess;
}
inline cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13010;
  return cudaSuccess;
}
