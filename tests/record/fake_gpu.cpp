// SPDX-License-Identifier: Apache-2.0
// A CUDA driver and a CUPTI without a GPU, as far as tools/record uses them: memory is the host's, and a kernel does what
// its name says. It calls CUPTI's subscriber as the real ones do, and opens CUDA_INJECTION64_PATH in cuInit.
//   add_one(f32* p, u32 n)           p[i] += 1; 2 where the module's image is "by two"
//   through(u64* table, u32 n)       adds 1 to the word that table[0] points to
//   count()                          adds 1 to the module's variable `counter`
//   noisy(f32* p, u32 n)             p[0] is another number in each run
//   store_map(128 bytes)             adds 1 to the word that the first word points to
//   fails(f32* p, u32 n)             the launch fails, and every call from then on
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../../tools/record/cuda_abi.hpp"

using namespace warpbit::record;

namespace {

constexpr int kInvalid = 1, kNotFound = 500, kLaunchFailed = 719;

struct FakeModule {
  std::string image;
  std::uint32_t counter = 0;
};
struct FakeFunction {
  FakeModule* module;
  std::string name;
};

std::map<Address, std::size_t> allocations;
std::map<std::string, int> unknown;
Callback* subscriber = nullptr;
void* user_data = nullptr;
std::map<std::uint32_t, bool> enabled;
int status = 0;
int noise = 0;

std::vector<std::size_t> sizes_of(const std::string& name) {
  if (name == "count") return {};
  if (name == "store_map") return {128};
  return {8, 4};
}

int run(const FakeFunction& f, void** parameters) {
  if (f.name == "fails") return status = kLaunchFailed;
  if (f.name == "count") return ++f.module->counter, 0;
  Address address = 0;
  std::memcpy(&address, parameters[0], 8);
  if (f.name == "store_map") return ++*reinterpret_cast<std::uint32_t*>(address), 0;
  if (f.name == "through") return ++**reinterpret_cast<std::uint64_t**>(address), 0;
  std::uint32_t n = 0;
  std::memcpy(&n, parameters[1], 4);
  auto* const p = reinterpret_cast<float*>(address);
  if (f.name == "noisy") p[0] = static_cast<float>(++noise);
  for (std::uint32_t i = 0; i < n && f.name == "add_one"; ++i) p[i] += f.module->image == "by two" ? 2 : 1;
  return 0;
}

// A call, with the subscriber's calls around it.
template <class Parameters, class Body>
int called(std::uint32_t id, const Parameters& parameters, const char* symbol, const Body& body) {
  int result = 0;
  const auto tell = [&](int site) {
    if (subscriber == nullptr || !enabled[id]) return;
    const CallbackData data{site, "", &parameters, &result, symbol, nullptr, 0, nullptr, 0};
    subscriber(user_data, kDriverCalls, id, &data);
  };
  tell(0);
  result = status != 0 ? status : body();
  tell(1);
  return result;
}

}  // namespace

extern "C" {

#define WARPBIT_FAKE __attribute__((visibility("default")))

WARPBIT_FAKE int cuInit(unsigned) {
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  void* const library = path != nullptr ? dlopen(path, RTLD_NOW) : nullptr;
  if (library != nullptr) reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))();
  return 0;
}
WARPBIT_FAKE int cuCtxGetCurrent(void** out) {
  return *out = &status, 0;
}
WARPBIT_FAKE int cuCtxGetDevice(int* out) {
  return *out = 0, 0;
}
WARPBIT_FAKE int cuDeviceGet(int* out, int) {
  return *out = 0, 0;
}
WARPBIT_FAKE int cuDevicePrimaryCtxRetain(void** out, int) {
  return *out = &status, 0;
}
WARPBIT_FAKE int cuCtxSetCurrent(void*) {
  return 0;
}
WARPBIT_FAKE int cuDeviceGetAttribute(int* out, int which, int) {
  return *out = which == kMajor ? 9 : 0, 0;
}
WARPBIT_FAKE int cuDeviceGetName(char* out, int, int) {
  return std::strcpy(out, "fake"), 0;
}
WARPBIT_FAKE int cuDriverGetVersion(int* out) {
  return *out = 13000, 0;
}
WARPBIT_FAKE int cuGetErrorName(int, const char** out) {
  return *out = "CUDA_ERROR_FAKE", 0;
}
WARPBIT_FAKE int cuCtxSynchronize() {
  return status;
}
WARPBIT_FAKE int cuStreamCreate(void** out, unsigned) {
  return *out = &noise, 0;
}
WARPBIT_FAKE int cuStreamSynchronize(void*) {
  return status;
}
WARPBIT_FAKE int cuStreamIsCapturing(void* stream, int* out) {
  return *out = reinterpret_cast<Address>(stream) == 99, 0;
}
WARPBIT_FAKE int cuThreadExchangeStreamCaptureMode(int*) {
  return 0;
}
WARPBIT_FAKE int cuMemHostAlloc(void** out, std::size_t size, unsigned) {
  return (*out = std::malloc(size)) == nullptr;
}
WARPBIT_FAKE int cuMemFreeHost(void* memory) {
  return std::free(memory), 0;
}

WARPBIT_FAKE int cuMemAlloc_v2(Address* out, std::size_t size) {
  *out = reinterpret_cast<Address>(std::calloc(size, 1));
  allocations[*out] = size;
  return 0;
}
WARPBIT_FAKE int cuMemFree_v2(Address address) {
  allocations.erase(address);
  return std::free(reinterpret_cast<void*>(address)), 0;
}
WARPBIT_FAKE int cuPointerGetAttribute(void* out, int which, Address address) {
  for (const auto& [start, size] : allocations) {
    if (address - start >= size) continue;
    const unsigned device = 2;
    if (which == kPointerMemoryType) std::memcpy(out, &device, 4);
    if (which == kPointerRangeStart) std::memcpy(out, &start, 8);
    if (which == kPointerRangeSize) std::memcpy(out, &size, 8);
    return 0;
  }
  return kInvalid;
}
WARPBIT_FAKE int cuMemcpyAsync(Address to, Address from, std::size_t bytes, void* stream) {
  return called(306, CopyParameters{to, from, bytes, stream}, nullptr, [&] {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return 0;
  });
}
WARPBIT_FAKE int cuMemcpyHtoD_v2(Address to, const void* from, std::size_t bytes) {
  return called(276, CopyParameters{to, reinterpret_cast<Address>(from), bytes, nullptr}, nullptr, [&] {
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return 0;
  });
}
WARPBIT_FAKE int cuMemcpyDtoH_v2(void* to, Address from, std::size_t bytes) {
  return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), 0;
}
WARPBIT_FAKE int cuMemsetD32_v2(Address to, unsigned value, std::size_t count) {
  return called(251, FillParameters{to, value, count, nullptr}, nullptr, [&] {
    for (std::size_t i = 0; i < count; ++i) reinterpret_cast<unsigned*>(to)[i] = value;
    return 0;
  });
}
WARPBIT_FAKE int cuModuleLoadData(void** out, const void* image) {
  return called(19, LoadParameters{out, image}, nullptr, [&] {
    *out = new FakeModule{static_cast<const char*>(image)};
    return 0;
  });
}
WARPBIT_FAKE int cuModuleUnload(void* module) {
  return delete static_cast<FakeModule*>(module), 0;
}
WARPBIT_FAKE int cuModuleGetFunction(void** out, void* module, const char* name) {
  return *out = new FakeFunction{static_cast<FakeModule*>(module), name}, 0;
}
WARPBIT_FAKE int cuModuleGetGlobal_v2(Address* out, std::size_t* size, void* module, const char* name) {
  if (std::strcmp(name, "counter") != 0) return kNotFound;
  *out = reinterpret_cast<Address>(&static_cast<FakeModule*>(module)->counter);
  return *size = 4, 0;
}
WARPBIT_FAKE int cuFuncSetAttribute(void*, int, int) {
  return 0;
}
WARPBIT_FAKE int cuFuncGetName(const char** out, void* f) {
  return *out = static_cast<FakeFunction*>(f)->name.c_str(), 0;
}
WARPBIT_FAKE int cuFuncGetModule(void** out, void* f) {
  return *out = static_cast<FakeFunction*>(f)->module, 0;
}
WARPBIT_FAKE int cuFuncGetParamInfo(void* f, std::size_t i, std::size_t* offset, std::size_t* size) {
  const std::vector<std::size_t> sizes = sizes_of(static_cast<FakeFunction*>(f)->name);
  if (i >= sizes.size()) return kInvalid;
  *offset = 8 * i;
  return *size = sizes[i], 0;
}
WARPBIT_FAKE int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                unsigned bz, unsigned shared, void* stream, void** parameters, void** extra) {
  const auto& function = *static_cast<FakeFunction*>(f);
  return called(307, LaunchParameters{f, {gx, gy, gz}, {bx, by, bz}, shared, stream, parameters, extra},
                function.name.c_str(), [&] { return run(function, parameters); });
}
WARPBIT_FAKE int cuLaunchKernelEx(const LaunchConfig* config, void* f, void** parameters, void** extra) {
  const auto& function = *static_cast<FakeFunction*>(f);
  return called(652, LaunchExParameters{config, f, parameters, extra}, function.name.c_str(),
                [&] { return run(function, parameters); });
}

WARPBIT_FAKE int cuptiSubscribe(void** out, Callback* callback, void* data) {
  if (subscriber != nullptr) return kInvalid;
  subscriber = callback;
  user_data = data;
  return *out = &subscriber, 0;
}
WARPBIT_FAKE int cuptiEnableCallback(std::uint32_t on, void*, int, std::uint32_t id) {
  return enabled[id] = on != 0, 0;
}

}  // extern "C"
