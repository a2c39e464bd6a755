// SPDX-License-Identifier: Apache-2.0
#include "device/stacks.hpp"

#include <fmt/format.h>
#include <signal.h>  // sigaltstack
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>  // std::strerror
#include <fstream>

#include "device/sanitizer.hpp"

namespace warpbit::device {

void Stacks::Unmap::operator()(std::byte* memory) const {
  sanitizer::forget(memory, bytes);
  munmap(memory, bytes);
}

Result<Stacks> Stacks::make(int count, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  bytes = (bytes + page - 1) / page * page;
  const auto refused = [&] {
    return Error{Errc::launch_shape, "launch",
                 fmt::format("{} stacks of {} bytes: {}", count, bytes, std::strerror(errno)),
                 "fewer threads in a block, or a smaller Launch.stack_bytes"};
  };
  const std::size_t all = static_cast<std::size_t>(count) * (Stack::kGuard + bytes);
  void* const memory = mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return refused();
  Stacks out(std::unique_ptr<std::byte, Unmap>(static_cast<std::byte*>(memory), Unmap{all}));
  for (int i = 0; i < count; ++i) {
    std::byte* const guard = out.memory_.get() + static_cast<std::size_t>(i) * (Stack::kGuard + bytes);
    out.stacks_.push_back({guard, guard + Stack::kGuard, guard + Stack::kGuard + bytes});
    if (mprotect(guard + Stack::kGuard, bytes, PROT_READ | PROT_WRITE) != 0) return refused();
  }
  return out;
}

int Stacks::max_workers(int count) {
  long mappings = 65530;  // Linux's default
  std::ifstream("/proc/sys/vm/max_map_count") >> mappings;
  return static_cast<int>(std::clamp(mappings / 4 * 3 / (2L * count), 1L, 1L << 20));
}

struct SignalStack::Before {
  stack_t stack{};
  std::array<std::byte, 64 * 1024> memory;
};

SignalStack::SignalStack() : before_(std::make_unique<Before>()) {
  stack_t mine{};
  mine.ss_sp = before_->memory.data();
  mine.ss_size = before_->memory.size();
  sigaltstack(&mine, &before_->stack);
}

SignalStack::~SignalStack() {
  sigaltstack(&before_->stack, nullptr);
}

}  // namespace warpbit::device
