// SPDX-License-Identifier: Apache-2.0
// What tools/record declares of the driver and of CUPTI is what the toolkit's headers declare.
#include <cuda.h>
#include <cupti.h>

#include <cstddef>
#include <cstdio>

#include "../../tools/record/cuda_abi.hpp"

using namespace warpbit::record;

#define SAME_PLACE(ours, member, theirs, other) static_assert(offsetof(ours, member) == offsetof(theirs, other))
#define SAME_CALL(name, kind)                                                 \
  static_assert(has(kLoads, CUPTI_DRIVER_TRACE_CBID_##name, Call::kind) ||    \
                has(kLaunches, CUPTI_DRIVER_TRACE_CBID_##name, Call::kind) || \
                has(kCopies, CUPTI_DRIVER_TRACE_CBID_##name, Call::kind))

template <std::size_t N>
constexpr bool has(const WatchedCall (&calls)[N], std::uint32_t id, Call call) {
  for (const WatchedCall& one : calls)
    if (one.id == id && one.call == call) return true;
  return false;
}

static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute) &&
              sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
SAME_PLACE(LaunchAttribute, bytes, CUlaunchAttribute, value);
SAME_PLACE(LaunchConfig, block, CUlaunchConfig, blockDimX);
SAME_PLACE(LaunchConfig, shared, CUlaunchConfig, sharedMemBytes);
SAME_PLACE(LaunchConfig, stream, CUlaunchConfig, hStream);
SAME_PLACE(LaunchConfig, attributes, CUlaunchConfig, attrs);
SAME_PLACE(LaunchConfig, count, CUlaunchConfig, numAttrs);
SAME_PLACE(CallbackData, parameters, CUpti_CallbackData, functionParams);
SAME_PLACE(CallbackData, result, CUpti_CallbackData, functionReturnValue);
SAME_PLACE(CallbackData, symbol, CUpti_CallbackData, symbolName);
SAME_PLACE(CallbackData, correlation_id, CUpti_CallbackData, correlationId);
SAME_PLACE(LaunchParameters, block, cuLaunchKernel_params, blockDimX);
SAME_PLACE(LaunchParameters, shared, cuLaunchKernel_params, sharedMemBytes);
SAME_PLACE(LaunchParameters, stream, cuLaunchKernel_params, hStream);
SAME_PLACE(LaunchParameters, extra, cuLaunchKernel_params, extra);
SAME_PLACE(LaunchParameters, parameters, cuLaunchCooperativeKernel_params, kernelParams);
SAME_PLACE(LaunchExParameters, extra, cuLaunchKernelEx_params, extra);
SAME_PLACE(LoadParameters, image, cuModuleLoadDataEx_params, image);
SAME_PLACE(LoadParameters, image, cuModuleLoad_params, fname);
SAME_PLACE(LoadParameters, image, cuLibraryLoadData_params, code);
SAME_PLACE(LibraryKernelParameters, library, cuLibraryGetKernel_params, library);
SAME_PLACE(LinkAddParameters, size, cuLinkAddData_v2_params, size);
SAME_PLACE(LinkCompleteParameters, size, cuLinkComplete_params, sizeOut);
SAME_PLACE(CopyParameters, stream, cuMemcpyHtoDAsync_v2_params, hStream);
SAME_PLACE(CopyParameters, stream, cuMemcpyAsync_params, hStream);
SAME_PLACE(FillParameters, count, cuMemsetD8_v2_params, N);
SAME_PLACE(FillParameters, stream, cuMemsetD32Async_params, hStream);
SAME_CALL(cuModuleLoad, module_load_file);
SAME_CALL(cuModuleLoadData, module_load);
SAME_CALL(cuModuleLoadDataEx, module_load);
SAME_CALL(cuModuleLoadFatBinary, module_load);
SAME_CALL(cuModuleUnload, unload);
SAME_CALL(cuLibraryLoadData, library_load);
SAME_CALL(cuLibraryLoadFromFile, library_load_file);
SAME_CALL(cuLibraryUnload, unload);
SAME_CALL(cuLibraryGetKernel, library_kernel);
SAME_CALL(cuLinkAddData_v2, link_add);
SAME_CALL(cuLinkComplete, link_complete);
SAME_CALL(cuLaunchKernel, launch);
SAME_CALL(cuLaunchKernel_ptsz, launch);
SAME_CALL(cuLaunchCooperativeKernel, launch_cooperative);
SAME_CALL(cuLaunchKernelEx, launch_ex);
SAME_CALL(cuLaunchKernelEx_ptsz, launch_ex);
SAME_CALL(cuGraphLaunch, graph_launch);
SAME_CALL(cuMemcpyHtoD_v2, copy_in);
SAME_CALL(cuMemcpyHtoDAsync_v2_ptsz, copy_in);
SAME_CALL(cuMemcpyDtoD_v2, copy);
SAME_CALL(cuMemcpyAsync_ptsz, copy);
SAME_CALL(cuMemsetD8_v2, fill8);
SAME_CALL(cuMemsetD16Async_ptsz, fill16);
SAME_CALL(cuMemsetD32_v2_ptds, fill32);
static_assert(kCooperative == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
              kClusterDimension == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
              kClusterPolicy == CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE &&
              kPreferredCluster == CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION);
static_assert(kPointerMemoryType == CU_POINTER_ATTRIBUTE_MEMORY_TYPE &&
              kPointerRangeStart == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR &&
              kPointerRangeSize == CU_POINTER_ATTRIBUTE_RANGE_SIZE && kMemoryOfHost == CU_MEMORYTYPE_HOST);
static_assert(kMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
              kMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR &&
              kDriverCalls == CUPTI_CB_DOMAIN_DRIVER_API && kNonBlocking == CU_STREAM_NON_BLOCKING &&
              kRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED);

int main() {
  std::puts("the same");
}
