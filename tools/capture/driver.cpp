// SPDX-License-Identifier: Apache-2.0
#include "driver.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>  // getenv
#include <regex>

#include "provenance.hpp"

namespace capture {
namespace {

using Status = int;  // CUresult

// Calls of a library by name.
class Library {
 public:
  explicit Library(const char* name) : name_(name), handle_(dlopen(name, RTLD_NOW)) {}
  bool found() const { return handle_ != nullptr; }

  template <class... Arguments>
  Status operator()(const char* function, Arguments... arguments) const {
    void* const address = dlsym(handle_, function);
    if (address == nullptr) throw Failure(std::string(name_) + " has no " + function);
    return reinterpret_cast<Status (*)(Arguments...)>(address)(arguments...);
  }

 private:
  const char* name_;
  void* handle_;
};

// The driver's library, or what WARPBIT_CUDA names (the program itself if it is empty).
const Library& cuda() {
  const char* const named = std::getenv("WARPBIT_CUDA");
  static const Library library(named ? named : "libcuda.so.1");
  if (!library.found()) throw Failure("libcuda.so.1: not found; an NVIDIA driver has it");
  return library;
}

std::string message(Status status) {
  const char *name = nullptr, *text = nullptr;
  cuda()("cuGetErrorName", status, &name);
  cuda()("cuGetErrorString", status, &text);
  return (name ? name : "error " + std::to_string(status)) + std::string(text ? ", " : "") + (text ? text : "");
}

template <class... Arguments>
void call(const char* function, Arguments... arguments) {
  if (const Status status = cuda()(function, arguments...); status != 0)
    throw Failure(std::string(function) + ": " + message(status));
}

// Of the driver, as `nvidia-smi` prints it; empty if the management library is not there.
std::string driver_version() {
  const Library management("libnvidia-ml.so.1");
  std::array<char, 96> text{};
  if (management.found() && management("nvmlInit_v2") == 0)
    management("nvmlSystemGetDriverVersion", text.data(), static_cast<unsigned>(text.size()));
  return text.data();
}

}  // namespace

std::optional<std::string> with_known_version(const std::string& ptx, const std::string& message) {
  static const std::regex kMessage("Unsupported .version [0-9.]+; current version is '([0-9.]+)'");
  static const std::regex kVersion("\\.version [0-9.]+");
  std::smatch found;
  if (!std::regex_search(message, found, kMessage)) return std::nullopt;
  return std::regex_replace(ptx, kVersion, ".version " + found[1].str(),
                            std::regex_constants::format_first_only);
}

Device::Device(int number) {
  call("cuInit", 0U);
  int count = 0, version = 0;
  call("cuDeviceGetCount", &count);
  if (number >= count)
    throw Failure("device " + std::to_string(number) + ": there are " + std::to_string(count) + " GPUs");
  call("cuDeviceGet", &device_, number);
  std::array<char, 256> text{};
  call("cuDeviceGetName", text.data(), static_cast<int>(text.size()), device_);
  name_ = text.data();
  constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_...
  int major = 0, minor = 0;
  call("cuDeviceGetAttribute", &major, kMajor, device_);
  call("cuDeviceGetAttribute", &minor, kMinor, device_);
  compute_capability_ = 10 * major + minor;
  call("cuDriverGetVersion", &version);
  driver_ = driver_version();
  driver_ += (driver_.empty() ? "" : ", ") + cuda_version(version);
  void* context = nullptr;
  call("cuDevicePrimaryCtxRetain", &context, device_);
  call("cuCtxSetCurrent", context);
}

bool Device::is_usable() const {
  return cuda()("cuCtxSynchronize") == 0;
}

std::size_t Device::free_bytes() const {
  std::size_t unused = 0, all = 0;
  call("cuMemGetInfo_v2", &unused, &all);
  return unused;
}

DevicePointer Device::allocate(std::size_t bytes) const {
  DevicePointer out = 0;
  call("cuMemAlloc_v2", &out, bytes == 0 ? std::size_t{1} : bytes);
  return out;
}
void Device::free(DevicePointer pointer) const {
  call("cuMemFree_v2", pointer);
}
void Device::set(DevicePointer to, unsigned char value, std::size_t bytes) const {
  call("cuMemsetD8_v2", to, value, bytes);
}
void Device::copy_in(DevicePointer to, const void* from, std::size_t bytes) const {
  call("cuMemcpyHtoD_v2", to, from, bytes);
}
void Device::copy_out(void* to, DevicePointer from, std::size_t bytes) const {
  call("cuMemcpyDtoH_v2", to, from, bytes);
}

void Device::launch(Function function, const Grid& grid, std::vector<void*> arguments) const {
  void* const stream = nullptr;
  void** const extra = nullptr;
  call("cuLaunchKernel", function, static_cast<unsigned>(grid.blocks), grid.rows, 1U, grid.threads, 1U, 1U, 0U,
       stream, arguments.data(), extra);
}

void Device::wait() const {
  call("cuCtxSynchronize");
}

// The context of the device is that of the process, whatever the device is called here.
Module::Module(const Device&, const std::string& image) {
  std::array<char, 4096> log{};
  std::array<int, 2> options = {5, 6};  // CU_JIT_ERROR_LOG_BUFFER, ..._SIZE_BYTES
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(log.size())};
  const auto load = [&](const std::string& code) {
    return cuda()("cuModuleLoadDataEx", &module_, code.c_str(), 2U, options.data(), values.data());
  };
  Status status = load(image);
  if (status != 0)
    if (const auto older = with_known_version(image, log.data())) status = load(*older);
  if (status != 0) throw Failure("the driver does not load it: " + message(status) + "\n" + log.data());
}

Module::~Module() {
  cuda()("cuModuleUnload", module_);
}

Function Module::function(const char* name) const {
  Function out = nullptr;
  call("cuModuleGetFunction", &out, module_, name);
  return out;
}

Buffer::~Buffer() {
  try {
    if (pointer_ != 0) device_->free(pointer_);
  } catch (const Failure&) {  // the device was lost, and its memory with it
  }
}

}  // namespace capture
