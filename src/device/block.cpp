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
    : shared(threads_in(how.block), how.shared_bytes),
      products(threads_in(how.block), shared, [this](int group, int reg) { return register_name(group, reg); }),
      meeting(threads_in(how.block), shared, [this](int first) { return execute(first); }),
      how_(how),
      options_(how.execute),
      index_(index),
      worker_(worker),
      body_([this, &thread] {
        try {
          thread();
        } catch (const Unwind&) {  // its fault has been recorded
        } catch (...) {
          if (!exception_) exception_ = std::current_exception();
        }
        meeting.end(running_);
      }),
      begun_(static_cast<std::size_t>(meeting.threads())),
      fragments_(begun_.size()) {
  options_.threads = 1;
}

void Block::run_thread(int i) {
  const Dim3& size = how_.block;
  const auto n = static_cast<unsigned>(i);
  threadIdx = {n % size.x, n / size.x % size.y, n / (size.x * size.y)};
  running_ = i;
  Fibre& fibre = worker_.fibre(i);
  if (!begun_[n]) fibre.begin(body_);
  begun_[n] = true;
  fibre.resume();
  if (fibre.is_abandoned()) meeting.end(i);
  if (fibre.has_overflowed() && !meeting.fault())
    meeting.fault() =
        block::fault_of({i, meeting.last(i)}, {Errc::stack_overflow, fmt::format("stack of thread {}", i),
                                               fmt::format("it needs more than {} bytes", how_.stack_bytes),
                                               "Launch.stack_bytes must be larger"});
}

// A destructor that runs while its thread is being unwound must not wait.
void Block::end_if_unwinding() const {
  if (unwinding_ && std::uncaught_exceptions() == 0) throw Unwind{};
}

block::Who Block::who(Place at) {
  meeting.is_at(running_, at);
  return {running_, at};
}

void Block::wait(Call& call) {
  end_if_unwinding();
  if (unwinding_) return;
  meeting.wait(running_, call);
  worker_.fibre(running_).suspend();
  end_if_unwinding();
}

void Block::fail(Fault fault) {
  if (!unwinding_ && !meeting.fault()) {
    if (fault.error.code == Errc::never_written) {
      meeting.stick(running_, std::move(fault));
      worker_.fibre(running_).suspend();
    } else {
      meeting.fault() = std::move(fault);
    }
  }
  throw Unwind{};
}

void Block::fail_if(block::Found fault) {
  if (fault) fail(*std::move(fault));
}

const Instruction& Block::instruction(const char* form, block::Who who) {
  const Result<Instruction>& instruction = worker_.instruction(form, -1);
  if (!instruction) fail(block::fault_of(who, instruction.error()));
  return *instruction;
}

std::uint32_t Block::convert(const char* form, float first, float second, Place at) {
  const block::Who me{running_, at};
  const Instruction& conversion = instruction(form, me);
  std::uint32_t d = 0;
  const Operand& to = conversion.operands()[0];
  const Result<Execution> done = execute_batch(
      conversion, std::array{OperandView::dense(&first, 1, 1, 32), OperandView::dense(&second, 1, 1, 32)},
      ResultView::dense(&d, 1, to.registers, to.register_bits), 1, options_);
  if (!done) fail(block::fault_of(me, done.error()));
  inferred_ = inferred_ || done->inferred;
  return d;
}

void Block::run_warp(int warp) {
  const int end = std::min((warp + 1) * block::kWarp, meeting.threads());
  do {
    for (int i = warp * block::kWarp; i < end && goes_on(); ++i)
      if (meeting.can_run(i)) run_thread(i);
  } while (goes_on() && meeting.meet(warp));
}

void Block::unwind() {
  unwinding_ = true;
  for (int i = 0; i < meeting.threads(); ++i)
    while (begun_[static_cast<std::size_t>(i)] && !meeting.has_ended(i)) run_thread(i);
}

void Block::run() {
  Block* const before = std::exchange(t_block, this);
  const std::array indices{threadIdx, blockIdx, blockDim, gridDim};
  blockIdx = index_;
  blockDim = {how_.block.x, how_.block.y, how_.block.z};
  gridDim = {how_.grid.x, how_.grid.y, how_.grid.z};
  while (!meeting.all_have_ended()) {
    do {  // the warps of a warpgroup wait for each other
      for (int warp = 0; warp < meeting.warps() && goes_on(); ++warp) run_warp(warp);
    } while (goes_on() && meeting.any_can_run());
    if (exception_ || !meeting.pass_barrier()) break;
  }
  unwind();
  if (meeting.fault()) meeting.fault()->block = index_;
  t_block = before;
  threadIdx = indices[0], blockIdx = indices[1], blockDim = indices[2], gridDim = indices[3];
  if (exception_) std::rethrow_exception(exception_);
}

}  // namespace warpbit::device
