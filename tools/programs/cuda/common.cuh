// SPDX-License-Identifier: Apache-2.0
// What the programs share: checked calls, arrays that are filled on the CPU, a digest of results.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                        \
  do {                                                                                     \
    const cudaError_t status = (call);                                                     \
    if (status != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (false)

/// Numbers from -1 to 1, always the same.
class Numbers {
 public:
  double next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 40) / (1 << 23) - 1;
  }

  template <class T>
  std::vector<T> draw(std::size_t n, double scale = 1) {
    std::vector<T> values(n);
    for (auto& value : values) value = static_cast<T>(static_cast<float>(next() * scale));
    return values;
  }

 private:
  std::uint64_t state_ = 7;
};

/// A new array of the GPU, with these values.
template <class T>
T* on_gpu(const std::vector<T>& values) {
  T* place = nullptr;
  CHECK(cudaMalloc(&place, values.size() * sizeof(T)));
  CHECK(cudaMemcpy(place, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return place;
}

template <class T>
T* on_gpu(std::size_t n) {
  T* place = nullptr;
  CHECK(cudaMalloc(&place, n * sizeof(T)));
  return place;
}

inline void print_digest(const void* bytes, std::size_t n) {
  std::uint32_t digest = 2166136261u;
  for (std::size_t i = 0; i < n; ++i)
    digest = (digest ^ static_cast<const unsigned char*>(bytes)[i]) * 16777619u;
  std::printf("%08x\n", digest);
}

/// Waits, and prints a digest of what the array has.
template <class T>
void report(const T* place, std::size_t n) {
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::vector<char> bytes(n * sizeof(T));
  CHECK(cudaMemcpy(bytes.data(), place, bytes.size(), cudaMemcpyDeviceToHost));
  print_digest(bytes.data(), bytes.size());
}
