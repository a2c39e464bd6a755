// SPDX-License-Identifier: Apache-2.0
// Runs the cases on a GPU, each twice, and prints what golden/kernels/ keeps.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#include "cases.hpp"
#include "tools/capture/driver.hpp"
#include "tools/capture/provenance.hpp"
#include "tools/capture/tensor_map_driver.cuh"

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
  template <class T>
  warpbit::device::TensorMapParameter map(const T* array, const kernels::MatrixMap& matrix) {
    const cuuint64_t dim[] = {matrix.columns, matrix.rows}, stride[] = {matrix.columns * sizeof(T)};
    const cuuint32_t box[] = {matrix.box_columns, matrix.box_rows}, step[] = {1, 1};
    CUtensorMap made;
    const CUresult result =
        encode_(&made, matrix.is_bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2,
                const_cast<T*>(array), dim, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                matrix.is_bf16 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
                CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS) {
      std::fprintf(stderr, "record: %s: no tensor map: %d\n", name_, static_cast<int>(result));
      std::exit(1);
    }
    return warpbit::device::TensorMapParameter::of(made);
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
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {shape.cluster_columns, shape.cluster_rows, 1};
    cudaLaunchConfig_t how{};
    how.gridDim = dim3(shape.columns, shape.rows);
    how.blockDim = shape.threads;
    how.dynamicSmemBytes = shape.shared_bytes;
    how.attrs = &cluster;
    how.numAttrs = 1;
    check(cudaLaunchKernelEx(&how, kernel, arguments...), name_);
    check(cudaDeviceSynchronize(), name_);
    check(cudaMemcpy(words_.data(), output_, words_.size() * 4, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return words_;
  }

  decltype(&cuTensorMapEncodeTiled) encode_ =
      tensor_maps::driver_function<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled", 12000);
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
