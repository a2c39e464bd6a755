// SPDX-License-Identifier: Apache-2.0
// Runs the cases on a GPU, each twice, and prints what golden/kernels/ keeps.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#include "cases.hpp"
#include "tools/capture/driver.hpp"
#include "tools/capture/provenance.hpp"

namespace {

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "record: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

/// Launches on the first GPU.
class Gpu {
 public:
  std::vector<kernels::Outcome> outcomes;

  void begin(const char* name) {
    for (void* p : memory_) check(cudaFree(p), "cudaFree");
    memory_.clear();
    name_ = name;
  }
  template <class T>
  const T* input(const std::vector<T>& values) {
    T* const at = allocate<T>(values.size());
    check(cudaMemcpy(at, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    return at;
  }
  template <class T>
  T* output(std::size_t elements) {
    words_.resize(elements * sizeof(T) / 4);
    T* const at = allocate<T>(elements);
    output_ = at;
    return at;
  }
  template <class... Parameters, class... Arguments>
  void launch(const kernels::Shape& shape, void (*kernel)(Parameters...), Arguments... arguments) {
    const auto bytes = static_cast<int>(shape.shared_bytes);
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "shared memory");
    const std::vector<std::uint32_t> first = run(shape, kernel, arguments...);
    if (first != run(shape, kernel, arguments...)) {
      std::fprintf(stderr, "record: %s: two runs differ\n", name_);
      std::exit(1);
    }
    outcomes.push_back(kernels::outcome_of(name_, first));
  }

 private:
  template <class T>
  T* allocate(std::size_t elements) {
    memory_.push_back(nullptr);
    check(cudaMalloc(&memory_.back(), elements * sizeof(T)), "cudaMalloc");
    return static_cast<T*>(memory_.back());
  }
  template <class Kernel, class... Arguments>
  std::vector<std::uint32_t> run(const kernels::Shape& shape, Kernel kernel, Arguments... arguments) {
    check(cudaMemset(output_, 0xFF, words_.size() * 4), "cudaMemset");
    kernel<<<dim3(shape.columns, shape.rows), shape.threads, shape.shared_bytes>>>(arguments...);
    check(cudaGetLastError(), name_);
    check(cudaDeviceSynchronize(), name_);
    check(cudaMemcpy(words_.data(), output_, words_.size() * 4, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return words_;
  }

  const char* name_ = "";
  std::vector<void*> memory_;
  void* output_ = nullptr;
  std::vector<std::uint32_t> words_;
};

void print(const std::vector<kernels::Outcome>& outcomes) {
  const capture::Device device(0);
  int runtime = 0;
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  const std::string about = capture::about({device.name(), device.compute_capability(), device.driver(),
                                            capture::cuda_version(runtime), capture::today()});
  std::printf("{\n  \"target\": \"" WARPBIT_TARGET
              "\",\n  \"source\": \"hardware\",\n  \"provenance\": {%s, "
              "\"program\": \"tests/kernels/record.cu\"},\n  \"cases\": [",
              about.c_str());
  const char* separator = "\n";
  for (const kernels::Outcome& o : outcomes) {
    std::printf("%s    {\"name\": \"%s\", \"words\": %llu, \"digest\": \"0x%016llx\",\n     \"samples\": [",
                separator, o.name.c_str(), static_cast<unsigned long long>(o.words),
                static_cast<unsigned long long>(o.digest));
    for (std::size_t i = 0; i < o.samples.size(); ++i)
      std::printf("%s\"0x%08x\"", i == 0 ? "" : ", ", o.samples[i]);
    std::printf("]}");
    separator = ",\n";
  }
  std::printf("\n  ]\n}\n");
}

}  // namespace

int main() {
  Gpu gpu;
  kernels::run_all(gpu);
  print(gpu.outcomes);
}
