// SPDX-License-Identifier: Apache-2.0
#include "device/fibre.hpp"

#include <boost/context/protected_fixedsize_stack.hpp>
#include <memory>  // std::allocator_arg
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
namespace {

// Around each switch of stacks. `frames` keeps what the sanitizer remembers of the stack that is left; nullptr
// if it is left for good.
#ifdef WARPBIT_ADDRESS_SANITIZER
void leave(void** frames, const void* bottom, std::size_t size) {
  __sanitizer_start_switch_fiber(frames, bottom, size);
}
void arrive(void* frames, const void** from_bottom, std::size_t* from_size) {
  __sanitizer_finish_switch_fiber(frames, from_bottom, from_size);
}
// Boost's first frame on a stack never returns: what is mapped there next would be taken for it.
void clear(const void* bottom, std::size_t size) {
  __asan_unpoison_memory_region(bottom, size);
}
#else
void leave(void**, const void*, std::size_t) {}
void arrive(void*, const void**, std::size_t*) {}
void clear(const void*, std::size_t) {}
#endif

}  // namespace

// Remembers where the stack lies.
class Fibre::Allocator {
 public:
  Allocator(std::size_t bytes, Stack& stack) : stacks_(bytes), stack_(&stack) {}
  boost::context::stack_context allocate() {
    boost::context::stack_context context = stacks_.allocate();
    stack_->size = context.size;
    stack_->bottom = static_cast<char*>(context.sp) - context.size;
    return context;
  }
  void deallocate(boost::context::stack_context& context) {
    clear(stack_->bottom, stack_->size);
    stacks_.deallocate(context);
  }

 private:
  boost::context::protected_fixedsize_stack stacks_;
  Stack* stack_;
};

Fibre::Fibre(std::size_t stack_bytes)
    : inside_(std::allocator_arg, Allocator(stack_bytes, stack_),
              [this](boost::context::fiber&& outside) { return run(std::move(outside)); }) {}

Fibre::~Fibre() {
  function_ = nullptr;
  resume();
}

boost::context::fiber Fibre::run(boost::context::fiber outside) {
  outside_ = std::move(outside);
  arrive(nullptr, &stack_.outer_bottom, &stack_.outer_size);
  while (function_ != nullptr) {
    (*function_)();
    suspend();
  }
  leave(nullptr, stack_.outer_bottom, stack_.outer_size);
  return std::move(outside_);
}

void Fibre::resume() {
  void* frames = nullptr;
  leave(&frames, stack_.bottom, stack_.size);
  inside_ = std::move(inside_).resume();
  arrive(frames, nullptr, nullptr);
}

void Fibre::suspend() {
  void* frames = nullptr;
  leave(&frames, stack_.outer_bottom, stack_.outer_size);
  outside_ = std::move(outside_).resume();
  arrive(frames, &stack_.outer_bottom, &stack_.outer_size);
}

}  // namespace warpbit::device
