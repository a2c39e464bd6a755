// SPDX-License-Identifier: Apache-2.0
// A CUDA driver without a GPU, as far as tools/capture uses it: memory is the host's, and a kernel that
// `warpbit list --ptx` printed does what this library says that its statement does. Results of a model: of use
// only for tests of what is around the kernels. FAKE_DRIVER makes it fail at statements that FAKE_STATEMENT, a
// regular expression, is found in: "refuse" modules; "launch": kernels fail, and every call of the process from
// then on; "die": kernels end the process; "noise": results differ from run to run.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "warpbit/machine.hpp"
#include "warpbit/record.hpp"

namespace {

using namespace warpbit;

struct FakeModule {
  Instruction instruction;
  std::vector<CaptureMember> members;
};

constexpr int kInvalidValue = 1, kInvalidImage = 200, kLaunchFailed = 719;

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool is_asked_for(const char* what, const std::string& statement) {
  return environment("FAKE_DRIVER") == what &&
         std::regex_search(statement, std::regex(environment("FAKE_STATEMENT")));
}

// What every call returns: an error of a kernel stays.
int status = 0;

FakeModule* module_of(const std::string& ptx) {
  static const std::regex kHead(R"(// (.*)\n\.version 9\.0\n\.target (\w+)\n[^]*)");
  std::smatch found;
  if (!std::regex_match(ptx, found, kHead)) return nullptr;
  const Result<Target> target = Target::find(found[2].str());
  if (!target) return nullptr;
  const Result<Instruction> instruction = Instruction::parse(found[1].str(), *target);
  if (!instruction) return nullptr;
  const Result<std::vector<CaptureMember>> members = capture_members(*instruction);
  return members ? new FakeModule{*instruction, *members} : nullptr;
}

// One case of a kernel; the members as its parameters point to them.
class Case {
 public:
  Case(const FakeModule& module, const std::vector<std::byte*>& arrays, std::size_t index)
      : module_(module), arrays_(arrays), index_(index) {
    int used = 0;
    for (const Operand& operand : module.instruction.operands()) {
      binding_.push_back(used);
      used += operand.registers;
    }
    registers_ = Registers(module.instruction.lanes(), used);
  }

  bool run() {
    const Instruction& instruction = module_.instruction;
    for (std::size_t i = 0; i + 1 < module_.members.size(); ++i) load(i);
    const std::vector<const Instruction*> lanes(static_cast<std::size_t>(instruction.lanes()), &instruction);
    const Result<Effects> effects = execute_warp(lanes, binding_, registers_, memory_);
    if (!effects || !apply(*effects, registers_, memory_)) return false;
    store();
    return true;
  }

 private:
  std::byte* array(std::size_t member) const {
    return arrays_[member] + index_ * module_.members[member].case_bytes();
  }
  // The operand that a member holds.
  std::size_t operand(const CaptureMember& member) const {
    const auto operands = module_.instruction.operands();
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (operands[i].label == member.name) return i;
    return 0;  // d_in
  }

  void load(std::size_t i) {
    const CaptureMember& member = module_.members[i];
    if (member.name == "smem") {
      memory_ = Memory(member.case_bytes());
      static_cast<void>(memory_.write(Space::shared, 0, std::span(array(i), member.case_bytes())));
      return;
    }
    const auto bytes = static_cast<std::size_t>(member.register_bits / 8);
    const int first = binding_[operand(member)];
    for (int lane = 0; lane < registers_.lanes(); ++lane)
      for (int reg = 0; reg < member.registers; ++reg) {
        std::uint64_t value = 0;
        const int place = (member.lanes == 1 ? 0 : lane) * member.registers + reg;
        std::memcpy(&value, array(i) + static_cast<std::size_t>(place) * bytes, bytes);
        registers_.write(lane, first + reg, value);
      }
  }

  void store() {
    const CaptureMember& member = module_.members.back();
    std::byte* const to = array(module_.members.size() - 1);
    if (member.name == "smem_out") {
      std::memcpy(to, memory_.shared().data(), member.case_bytes());
      return;
    }
    const auto bytes = static_cast<std::size_t>(member.register_bits / 8);
    for (int lane = 0; lane < member.lanes; ++lane)
      for (int reg = 0; reg < member.registers; ++reg) {
        const std::uint64_t value = registers_.read(lane, binding_[0] + reg);
        std::memcpy(to + static_cast<std::size_t>(lane * member.registers + reg) * bytes, &value, bytes);
      }
  }

  const FakeModule& module_;
  const std::vector<std::byte*>& arrays_;
  std::size_t index_;
  Binding binding_;
  Registers registers_{0, 0};
  Memory memory_;
};

}  // namespace

// The functions of the driver (CUDA Driver API manual). Handles are pointers to what they stand for.
extern "C" {

int cuInit(unsigned) {
  return 0;
}
int cuDriverGetVersion(int* version) {
  return *version = 13000, 0;
}
int cuDeviceGetCount(int* count) {
  return *count = 1, 0;
}
int cuDeviceGet(int* device, int number) {
  return *device = number, 0;
}
int cuDeviceGetName(char* name, int bytes, int) {
  return std::strncpy(name, "Fake \"GPU\"", static_cast<std::size_t>(bytes)), 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  const std::string capability = environment("FAKE_CAPABILITY");
  const int both = capability.empty() ? 90 : std::stoi(capability);
  return *value = attribute == 75 ? both / 10 : both % 10, 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  return *context = nullptr, status;
}
int cuCtxSetCurrent(void*) {
  return status;
}
int cuCtxSynchronize() {
  return status;
}
int cuMemGetInfo_v2(std::size_t* unused, std::size_t* all) {
  return *unused = *all = std::size_t{1} << 28, 0;
}
int cuGetErrorName(int, const char** name) {
  return *name = "CUDA_ERROR_FAKE", 0;
}
int cuGetErrorString(int, const char** text) {
  return *text = "what FAKE_DRIVER asked for", 0;
}

int cuModuleLoadDataEx(void** module, const void* image, unsigned, int*, void** values) {
  FakeModule* const loaded = module_of(static_cast<const char*>(image));
  const bool refused = loaded == nullptr || is_asked_for("refuse", loaded->instruction.text());
  *module = refused ? nullptr : loaded;
  if (!refused) return status;
  delete loaded;
  std::strcpy(static_cast<char*>(values[0]), "no such module");
  return kInvalidImage;
}
int cuModuleUnload(void* module) {
  return delete static_cast<FakeModule*>(module), 0;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  *function = module;
  return std::string(name) == "capture" ? status : kInvalidValue;
}

int cuMemAlloc_v2(std::uint64_t* pointer, std::size_t bytes) {
  return *pointer = reinterpret_cast<std::uint64_t>(std::malloc(bytes)), status;
}
int cuMemFree_v2(std::uint64_t pointer) {
  return std::free(reinterpret_cast<void*>(pointer)), 0;
}
int cuMemsetD8_v2(std::uint64_t to, unsigned char value, std::size_t bytes) {
  return std::memset(reinterpret_cast<void*>(to), value, bytes), status;
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), status;
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), status;
}

int cuLaunchKernel(void* function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                   unsigned, void*, void** parameters, void**) {
  const FakeModule& module = *static_cast<const FakeModule*>(function);
  std::vector<std::byte*> arrays;
  for (std::size_t i = 0; i < module.members.size(); ++i)
    arrays.push_back(reinterpret_cast<std::byte*>(*static_cast<std::uint64_t*>(parameters[i])));
  std::size_t cases = blocks;
  if (module.instruction.lanes() == 1) {
    cases = *static_cast<std::uint32_t*>(parameters[arrays.size()]);
    if (cases > std::size_t{blocks} * threads) return kInvalidValue;
  } else if (threads != static_cast<unsigned>(module.instruction.lanes())) {
    return kInvalidValue;
  }
  const std::string& statement = module.instruction.text();
  if (is_asked_for("die", statement)) std::abort();
  if (is_asked_for("launch", statement)) status = kLaunchFailed;
  for (std::size_t i = 0; i < cases && status == 0; ++i)
    if (!Case(module, arrays, i).run()) status = kLaunchFailed;
  static unsigned char runs = 0;
  if (is_asked_for("noise", statement)) arrays.back()[0] = std::byte{++runs};
  return status;
}
}
