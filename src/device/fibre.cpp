// SPDX-License-Identifier: Apache-2.0
#include "device/fibre.hpp"

#include <cxxabi.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>  // std::memcpy, std::strerror
#include <exception>
#include <fstream>
#include <mutex>
#include <typeinfo>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define WARPBIT_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WARPBIT_ADDRESS_SANITIZER
#endif
#endif

#ifdef WARPBIT_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace warpbit::device {

// What the address sanitizer must know about stacks.
namespace sanitizer {
// leave() and arrive() surround each switch of stacks. `frames` keeps the sanitizer's state of the stack that
// is left; nullptr if it is left for good.
#ifdef WARPBIT_ADDRESS_SANITIZER
inline void leave(void** frames, const void* bottom, std::size_t size) {
  __sanitizer_start_switch_fiber(frames, bottom, size);
}
inline void arrive(void* frames, const void** from_bottom, std::size_t* from_size) {
  __sanitizer_finish_switch_fiber(frames, from_bottom, from_size);
}
/// Clears the marks of frames that never returned; the next frames there would trip over them.
inline void forget(const void* bottom, std::size_t size) {
  __asan_unpoison_memory_region(bottom, size);
}
#else
inline void leave(void**, const void*, std::size_t) {}
inline void arrive(void*, const void**, std::size_t*) {}
inline void forget(const void*, std::size_t) {}
#endif

}  // namespace sanitizer

// ---- Stacks

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

SignalStack::SignalStack() : memory_(64 * 1024) {
  stack_t mine{};
  mine.ss_sp = memory_.data();
  mine.ss_size = memory_.size();
  sigaltstack(&mine, &before_);
}

SignalStack::~SignalStack() {
  sigaltstack(&before_, nullptr);
}

// ---- Fibres

namespace {

constinit thread_local Fibre* t_fibre = nullptr;

}  // namespace

Fibre::Exceptions Fibre::Exceptions::exchange(const Exceptions& now) {
  Exceptions before;
  std::memcpy(&before, abi::__cxa_get_globals(), sizeof before);
  std::memcpy(abi::__cxa_get_globals(), &now, sizeof now);
  return before;
}

Fibre* Fibre::running() {
  return t_fibre;
}

void Fibre::begin(const std::function<void()>& function) {
  sanitizer::forget(stack_.bottom, static_cast<std::size_t>(stack_.top - stack_.bottom));
  function_ = &function;
  is_abandoned_ = false;
  exceptions_ = {};
  inside_ = boost::context::detail::make_fcontext(
      stack_.top, static_cast<std::size_t>(stack_.top - stack_.bottom), &Fibre::enter);
}

void Fibre::enter(boost::context::detail::transfer_t from) {
  Fibre& self = *static_cast<Fibre*>(from.data);
  self.outside_ = from.fctx;
  sanitizer::arrive(nullptr, &self.outer_bottom_, &self.outer_size_);
  (*self.function_)();
  sanitizer::leave(nullptr, self.outer_bottom_, self.outer_size_);
  boost::context::detail::jump_fcontext(self.outside_, nullptr);
}

void Fibre::resume() {
  Fibre* const before = std::exchange(t_fibre, this);
  const Exceptions outer = Exceptions::exchange(exceptions_);
  void* frames = nullptr;
  sanitizer::leave(&frames, stack_.guard, static_cast<std::size_t>(stack_.top - stack_.guard));
  inside_ = boost::context::detail::jump_fcontext(inside_, this).fctx;
  sanitizer::arrive(frames, nullptr, nullptr);
  exceptions_ = Exceptions::exchange(outer);
  t_fibre = before;
}

void Fibre::suspend() {
  void* frames = nullptr;
  sanitizer::leave(&frames, outer_bottom_, outer_size_);
  outside_ = boost::context::detail::jump_fcontext(outside_, nullptr).fctx;
  sanitizer::arrive(frames, &outer_bottom_, &outer_size_);
}

void Fibre::abandon() {
  is_abandoned_ = true;
  sanitizer::leave(nullptr, outer_bottom_, outer_size_);
  boost::context::detail::jump_fcontext(outside_, nullptr);
  std::abort();  // it is never resumed
}

bool Fibre::survives(const void* address) {
  if (address < stack_.guard || address >= stack_.bottom) return false;
  if (std::exchange(has_overflowed_, true)) abandon();
  // The lowest bytes remain a guard.
  std::byte* const opened = stack_.guard + Stack::kGuard / 16;
  return mprotect(opened, static_cast<std::size_t>(stack_.bottom - opened), PROT_READ | PROT_WRITE) == 0;
}

// ---- SIGSEGV and std::terminate

namespace {

std::mutex g_rescues;
int g_rescue_count = 0;
struct sigaction g_signal_before;
std::terminate_handler g_terminate_before = nullptr;

void on_signal(int signal, siginfo_t* info, void* context) {
  if (Fibre* const fibre = Fibre::running(); fibre != nullptr && fibre->survives(info->si_addr)) return;
  if ((g_signal_before.sa_flags & SA_SIGINFO) != 0) return g_signal_before.sa_sigaction(signal, info, context);
  if (g_signal_before.sa_handler != SIG_DFL && g_signal_before.sa_handler != SIG_IGN)
    return g_signal_before.sa_handler(signal);
  sigaction(signal, &g_signal_before, nullptr);  // the access is repeated and ends the process
}

void on_terminate() {
  const std::type_info* const thrown = abi::__cxa_current_exception_type();
  if (Fibre* const fibre = Fibre::running(); fibre != nullptr && thrown && *thrown == typeid(Unwind)) {
    abi::__cxa_end_catch();
    fibre->abandon();
  }
  g_terminate_before();
}

}  // namespace

Rescue::Rescue() {
  const std::scoped_lock lock(g_rescues);
  if (g_rescue_count++ > 0) return;
  struct sigaction mine {};
  mine.sa_sigaction = on_signal;
  mine.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;  // abandon() does not return from it
  sigaction(SIGSEGV, &mine, &g_signal_before);
  g_terminate_before = std::set_terminate(on_terminate);
}

Rescue::~Rescue() {
  const std::scoped_lock lock(g_rescues);
  if (--g_rescue_count > 0) return;
  sigaction(SIGSEGV, &g_signal_before, nullptr);
  std::set_terminate(g_terminate_before);
}

}  // namespace warpbit::device
