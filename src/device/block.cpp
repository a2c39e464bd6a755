// SPDX-License-Identifier: Apache-2.0
#include "device/block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>

namespace warpbit::device {

constinit thread_local Index3 threadIdx, blockIdx, blockDim, gridDim;

namespace {

thread_local Block* t_block = nullptr;

int threads_in(const Dim3& block) {
  return static_cast<int>(block.x * block.y * block.z);
}

}  // namespace

Block& current_block() {
  return *t_block;
}

std::vector<int> lanes_of(std::uint32_t mask) {
  std::vector<int> out;
  for (int lane = 0; lane < kWarp; ++lane)
    if ((mask >> lane & 1U) != 0) out.push_back(lane);
  return out;
}

Worker::Worker(const Launch& how, Stacks stacks) : how_(how), stacks_(std::move(stacks)) {
  for (int i = 0; i < threads_in(how.block); ++i) fibres_.emplace_back(stacks_[i]);
}

const Result<Instruction>& Worker::instruction(std::string_view form, int selector) {
  const auto at = instructions_.find({form.data(), selector});
  if (at != instructions_.end()) return at->second;
  const std::string text =
      selector < 0 ? std::string(form) : fmt::format("{} {{d}}, {{a}}, {{b}}, {{c}}, e, {};", form, selector);
  return instructions_.emplace(std::pair(form.data(), selector), Instruction::parse(text, how_.target))
      .first->second;
}

Block::Block(const Launch& how, Index3 index, const std::function<void()>& thread, Worker& worker)
    : how_(how),
      index_(index),
      worker_(worker),
      body_([this, &thread] {
        try {
          thread();
        } catch (const Unwind&) {  // its fault has been recorded
        } catch (...) {
          if (!exception_) exception_ = std::current_exception();
        }
        running().state = Thread::State::ended;
      }),
      threads_(static_cast<std::size_t>(threads_in(how.block))),
      memory_(how.shared_bytes),
      order_(threads_in(how.block)),
      accesses_(static_cast<std::size_t>(how.shared_bytes)),
      groups_((threads_.size() + kWarpgroup - 1) / kWarpgroup) {}

void Block::run_thread(int i) {
  const Dim3& size = how_.block;
  const auto n = static_cast<unsigned>(i);
  threadIdx = {n % size.x, n / size.x % size.y, n / (size.x * size.y)};
  running_ = i;
  Thread& me = running();
  Fibre& fibre = worker_.fibre(i);
  if (me.state == Thread::State::begins) {
    me.state = Thread::State::ready;
    fibre.begin(body_);
  }
  fibre.resume();
  if (fibre.is_abandoned()) me.state = Thread::State::ended;
  if (fibre.has_overflowed() && !fault_)
    fault_ = fault_of(
        i, me.last,
        {Errc::stack_overflow, fmt::format("stack of thread {}", i),
         fmt::format("it needs more than {} bytes", how_.stack_bytes), "Launch.stack_bytes must be larger"});
}

// A destructor that runs while its thread is being unwound must not wait.
void Block::end_if_unwinding() const {
  if (unwinding_ && std::uncaught_exceptions() == 0) throw Unwind{};
}

void Block::wait(Request& request) {
  end_if_unwinding();
  if (unwinding_) return;
  Thread& me = running();
  const int self = running_;
  me.request = &request;
  me.last = request.at;
  me.state = Thread::State::waits;
  worker_.fibre(self).suspend();
  me.request = nullptr;
  end_if_unwinding();
}

void Block::fail(Fault fault) {
  if (!unwinding_ && !fault_) {
    if (fault.error.code == Errc::never_written) {
      // Another thread may yet write there, which would be a race. This thread pauses until all threads have
      // advanced as far as they can.
      if (!stuck_) stuck_ = std::move(fault);
      running().state = Thread::State::stuck;
      worker_.fibre(running_).suspend();
    } else {
      fault_ = std::move(fault);
    }
  }
  throw Unwind{};
}

void Block::fail_if(std::optional<Fault> fault) {
  if (fault) fail(*std::move(fault));
}

std::uint32_t Block::convert(const char* form, float first, float second, Place at) {
  const auto check = [&](const auto& result) {
    if (!result) fail(fault_of(running_, at, result.error()));
  };
  const Result<Instruction>& instruction = worker_.instruction(form, -1);
  check(instruction);
  std::uint32_t d = 0;
  const Operand& to = instruction->operands()[0];
  ExecuteOptions options = how_.execute;
  options.threads = 1;
  const Result<Execution> done = execute_batch(
      *instruction, std::array{OperandView::dense(&first, 1, 1, 32), OperandView::dense(&second, 1, 1, 32)},
      ResultView::dense(&d, 1, to.registers, to.register_bits), 1, options);
  check(done);
  inferred_ = inferred_ || done->inferred;
  return d;
}

void Block::run_warp(int warp) {
  const int end = std::min((warp + 1) * kWarp, static_cast<int>(threads_.size()));
  do {
    for (int i = warp * kWarp; i < end && !fault_ && !exception_; ++i)
      if (thread(i).state <= Thread::State::ready) run_thread(i);
  } while (!fault_ && !exception_ && meet(warp));
}

void Block::unwind() {
  unwinding_ = true;
  for (int i = 0; i < static_cast<int>(threads_.size()); ++i)
    while (thread(i).state != Thread::State::begins && thread(i).state != Thread::State::ended) run_thread(i);
}

void Block::run() {
  Block* const before = std::exchange(t_block, this);
  const std::array indices{threadIdx, blockIdx, blockDim, gridDim};
  blockIdx = index_;
  blockDim = {how_.block.x, how_.block.y, how_.block.z};
  gridDim = {how_.grid.x, how_.grid.y, how_.grid.z};
  const int warps = (static_cast<int>(threads_.size()) + kWarp - 1) / kWarp;
  const auto ended = [](const Thread& t) { return t.state == Thread::State::ended; };
  const auto can_run = [](const Thread& t) { return t.state <= Thread::State::ready; };
  while (!std::ranges::all_of(threads_, ended)) {
    do {  // the warps of a warpgroup wait for each other
      for (int warp = 0; warp < warps && !fault_ && !exception_; ++warp) run_warp(warp);
    } while (!fault_ && !exception_ && std::ranges::any_of(threads_, can_run));
    if (!fault_) fault_ = stuck_;
    if (!fault_) check_warpgroups();
    if (!fault_) check_barrier();
    if (fault_ || exception_) break;
    order_.barrier();
    for (Thread& t : threads_)
      if (!ended(t)) t.state = Thread::State::ready;
  }
  unwind();
  t_block = before;
  threadIdx = indices[0], blockIdx = indices[1], blockDim = indices[2], gridDim = indices[3];
  if (exception_) std::rethrow_exception(exception_);
}

}  // namespace warpbit::device
