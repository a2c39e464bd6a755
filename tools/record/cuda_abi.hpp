// SPDX-License-Identifier: Apache-2.0
// What the recorder uses of the CUDA driver and of CUPTI, declared here so that it compiles where neither is installed.
// Both libraries are opened when the program runs. tests/record/abi_test.cpp compares this with the toolkit's headers.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

namespace warpbit::record {

using Address = std::uint64_t;

// ---- The driver

/// CUlaunchAttribute.
struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    unsigned char bytes[64];
    unsigned cluster[3];
    int cooperative;
  };
};
static_assert(sizeof(LaunchAttribute) == 72);

constexpr int kCooperative = 2, kClusterDimension = 4, kClusterPolicy = 5,
              kPreferredCluster = 11;  // CU_LAUNCH_ATTRIBUTE_*

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3], block[3], shared;
  void* stream;
  LaunchAttribute* attributes;
  unsigned count;
};
static_assert(sizeof(LaunchConfig) == 56);

constexpr int kPointerMemoryType = 2, kPointerRangeStart = 11,
              kPointerRangeSize = 12;    // CU_POINTER_ATTRIBUTE_*
constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
constexpr unsigned kMemoryOfHost = 1;    // CU_MEMORYTYPE_HOST
constexpr unsigned kNonBlocking = 1;     // CU_STREAM_NON_BLOCKING
constexpr int kRelaxed = 2;              // CU_STREAM_CAPTURE_MODE_RELAXED

// f(name of the member, symbol, result and parameters)
#define WARPBIT_DRIVER_FUNCTIONS(f)                                                                           \
  f(context, "cuCtxGetCurrent", int(void**)) f(context_device, "cuCtxGetDevice", int(int*)) f(                \
      device_attribute, "cuDeviceGetAttribute", int(int*, int, int)) f(device_name, "cuDeviceGetName",        \
                                                                       int(char*, int, int))                  \
      f(version, "cuDriverGetVersion", int(int*)) f(error_name, "cuGetErrorName", int(int, const char**)) f(  \
          synchronize, "cuCtxSynchronize", int()) f(stream_create, "cuStreamCreate", int(void**, unsigned))   \
          f(stream_synchronize, "cuStreamSynchronize", int(void*)) f(                                         \
              is_capturing, "cuStreamIsCapturing",                                                            \
              int(void*, int*)) f(capture_mode, "cuThreadExchangeStreamCaptureMode", int(int*))               \
              f(copy, "cuMemcpyAsync", int(Address, Address, std::size_t, void*)) f(                          \
                  host_allocate, "cuMemHostAlloc",                                                            \
                  int(void**, std::size_t, unsigned)) f(host_free, "cuMemFreeHost", int(void*))               \
                  f(pointer_attribute, "cuPointerGetAttribute", int(void*, int, Address))                     \
                      f(function_name, "cuFuncGetName", int(const char**, void*))                             \
                          f(function_parameter, "cuFuncGetParamInfo",                                         \
                            int(void*, std::size_t, std::size_t*, std::size_t*))                              \
                              f(function_module, "cuFuncGetModule", int(void**, void*))                       \
                                  f(kernel_name, "cuKernelGetName", int(const char**, void*))                 \
                                      f(kernel_parameter, "cuKernelGetParamInfo",                             \
                                        int(void*, std::size_t, std::size_t*, std::size_t*))                  \
                                          f(kernel_function, "cuKernelGetFunction", int(void**, void*))       \
                                              f(library_module, "cuLibraryGetModule", int(void**, void*)) f(  \
                                                  module_global, "cuModuleGetGlobal_v2",                      \
                                                  int(Address*, std::size_t*, void*, const char*))            \
                                                  f(launch, "cuLaunchKernel",                                 \
                                                    int(void*, unsigned, unsigned, unsigned, unsigned,        \
                                                        unsigned, unsigned, unsigned, void*, void**, void**)) \
                                                      f(launch_cooperative, "cuLaunchCooperativeKernel",      \
                                                        int(void*, unsigned, unsigned, unsigned, unsigned,    \
                                                            unsigned, unsigned, unsigned, void*, void**))     \
                                                          f(launch_ex, "cuLaunchKernelEx",                    \
                                                            int(const LaunchConfig*, void*, void**, void**))

/// The functions of the driver. Those that an old driver lacks are null.
struct Driver {
#define WARPBIT_MEMBER(name, symbol, ...) \
  using name##_type = __VA_ARGS__;        \
  name##_type* name = nullptr;
  WARPBIT_DRIVER_FUNCTIONS(WARPBIT_MEMBER)
#undef WARPBIT_MEMBER

  /// Whether the library is there, with what the recorder cannot do without.
  bool open() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) return false;
#define WARPBIT_FIND(name, symbol, ...) name = reinterpret_cast<name##_type*>(dlsym(library, symbol));
    WARPBIT_DRIVER_FUNCTIONS(WARPBIT_FIND)
#undef WARPBIT_FIND
    return context != nullptr && synchronize != nullptr && copy != nullptr && pointer_attribute != nullptr;
  }

  const char* error(int code) const {
    const char* name = nullptr;
    if (error_name != nullptr) error_name(code, &name);
    return name != nullptr ? name : "an unknown error";
  }
};

// ---- CUPTI

/// CUpti_CallbackData.
struct CallbackData {
  int site;  // 0 before the call, 1 behind it
  const char* function;
  const void* parameters;
  void* result;
  const char* symbol;  // the kernel, of launches
  void* context;
  std::uint32_t context_id;
  std::uint64_t* correlation;
  std::uint32_t correlation_id;
};

using Callback = void(void*, int, std::uint32_t, const void*);
constexpr int kDriverCalls = 1;  // CUPTI_CB_DOMAIN_DRIVER_API

struct Cupti {
  int (*subscribe)(void**, Callback*, void*) = nullptr;
  int (*enable)(std::uint32_t, void*, int, std::uint32_t) = nullptr;
  void* subscriber = nullptr;

  /// The library that the program has loaded, else the one that is named, else one of the usual names.
  bool open(const char* named) {
    void* library = nullptr;
    const char* const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
    for (const char* name : names)
      if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr && named != nullptr && *named != '\0') library = dlopen(named, RTLD_NOW);
    for (const char* name : names)
      if (library == nullptr) library = dlopen(name, RTLD_NOW);
    if (library == nullptr) return false;
    subscribe = reinterpret_cast<decltype(subscribe)>(dlsym(library, "cuptiSubscribe"));
    enable = reinterpret_cast<decltype(enable)>(dlsym(library, "cuptiEnableCallback"));
    return subscribe != nullptr && enable != nullptr;
  }
};

// The calls that are watched: their numbers are CUPTI_DRIVER_TRACE_CBID_*, their parameters the structs NAME_params.
enum class Call {
  module_load,       // {void** module; const void* image, ...}
  module_load_file,  // {void** module; const char* file}
  library_load,
  library_load_file,
  library_kernel,
  unload,
  link_add,
  link_complete,
  launch,
  launch_cooperative,
  launch_ex,
  graph_launch,
  copy_in,
  copy,
  fill8,
  fill16,
  fill32
};

struct WatchedCall {
  std::uint32_t id;
  Call call;
  bool has_stream;
};

constexpr WatchedCall kLoads[] = {
    {18, Call::module_load_file, false},   {19, Call::module_load, false}, {20, Call::module_load, false},
    {21, Call::module_load, false},        {22, Call::unload, false},      {678, Call::library_load, false},
    {679, Call::library_load_file, false}, {680, Call::unload, false},     {681, Call::library_kernel, false},
    {363, Call::link_add, false},          {382, Call::link_add, false},   {365, Call::link_complete, false}};
constexpr WatchedCall kLaunches[] = {{307, Call::launch, true},
                                     {442, Call::launch, true},
                                     {477, Call::launch_cooperative, true},
                                     {478, Call::launch_cooperative, true},
                                     {652, Call::launch_ex, true},
                                     {653, Call::launch_ex, true},
                                     {514, Call::graph_launch, true},
                                     {515, Call::graph_launch, true}};
constexpr WatchedCall kCopies[] = {
    {276, Call::copy_in, false}, {277, Call::copy_in, true}, {397, Call::copy_in, false},
    {421, Call::copy_in, true},  {280, Call::copy, false},   {281, Call::copy, true},
    {399, Call::copy, false},    {423, Call::copy, true},    {305, Call::copy, false},
    {306, Call::copy, true},     {408, Call::copy, false},   {418, Call::copy, true},
    {249, Call::fill8, false},   {216, Call::fill8, true},   {411, Call::fill8, false},
    {428, Call::fill8, true},    {250, Call::fill16, false}, {218, Call::fill16, true},
    {412, Call::fill16, false},  {429, Call::fill16, true},  {251, Call::fill32, false},
    {220, Call::fill32, true},   {413, Call::fill32, false}, {430, Call::fill32, true}};

/// cuLaunchKernel_params; cuLaunchCooperativeKernel_params ends before `extra`.
struct LaunchParameters {
  void* function;
  unsigned grid[3], block[3], shared;
  void* stream;
  void** parameters;
  void** extra;
};
/// cuLaunchKernelEx_params.
struct LaunchExParameters {
  const LaunchConfig* config;
  void* function;
  void** parameters;
  void** extra;
};
/// cuModuleLoadData_params, cuModuleLoad_params, cuLibraryLoadData_params and those like them.
struct LoadParameters {
  void** handle;
  const void* image;
};
/// cuLibraryGetKernel_params.
struct LibraryKernelParameters {
  void** kernel;
  void* library;
  const char* name;
};
/// cuLinkAddData_params.
struct LinkAddParameters {
  void* state;
  int type;
  const void* data;
  std::size_t size;
};
/// cuLinkComplete_params.
struct LinkCompleteParameters {
  void* state;
  void** cubin;
  std::size_t* size;
};
/// cuMemcpy..._params, with a stream where there is one.
struct CopyParameters {
  Address to, from;
  std::size_t bytes;
  void* stream;
};
/// cuMemsetD8_params, D16 and D32: the value is of 1, 2 or 4 bytes.
struct FillParameters {
  Address to;
  std::uint32_t value;
  std::size_t count;
  void* stream;
};

}  // namespace warpbit::record
