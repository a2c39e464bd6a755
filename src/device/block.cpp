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

int RegisterStack::push(int count, Place made) {
  const int first = parts_.empty() ? kFragments : parts_.back().first + parts_.back().count;
  parts_.push_back({first, count, made});
  return first;
}

void RegisterStack::release(int first) {
  for (Part& part : parts_)
    if (part.first == first) part.alive = false;
  while (!parts_.empty() && !parts_.back().alive) parts_.pop_back();
}

const RegisterStack::Part* RegisterStack::find(int reg) const {
  const auto part = std::ranges::find_if(
      parts_, [&](const Part& p) { return p.alive && reg >= p.first && reg < p.first + p.count; });
  return part == parts_.end() ? nullptr : &*part;
}

// For the running thread, or for the first one of another warpgroup.
std::string Block::register_name(int group, int reg) const {
  const int owner = running_ / block::kWarpgroup == group ? running_ : group * block::kWarpgroup;
  const RegisterStack::Part* part = fragments_[static_cast<std::size_t>(owner)].find(reg);
  if (part == nullptr) return fmt::format("register {}", reg);
  return fmt::format("register {} of the fragment of line {}", reg - part->first, part->made.line);
}

const Parsed& Worker::find(const calls::Statement& statement) {
  const std::pair<const void*, const void*> key(statement.form, statement.rest.data());
  if (latest_ != statements_.end() && latest_->first == key) return latest_->second;
  latest_ = statements_.find(key);
  if (latest_ == statements_.end()) {
    std::string text = statement.form;
    for (const calls::Piece& piece : statement.rest) {
      text += piece.text;
      if (piece.number != calls::Piece::kNone) text += std::to_string(piece.number);
    }
    Result<Instruction> instruction = Instruction::parse(text, how_.target);
    latest_ = statements_.emplace(key, Parsed{std::move(text), std::move(instruction)}).first;
  }
  return latest_->second;
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

void Block::execute_alone(const calls::Statement& statement, const calls::Operands& operands, Place at) {
  const block::Who me = who(at);
  const Result<Instruction>& instruction = find(statement).instruction;
  if (!instruction) fail(block::fault_of(me, instruction.error()));
  if (operands.d == nullptr)
    return shared.fence_proxy(me.thread / block::kWarp, 1U << me.thread % block::kWarp);
  if (const Result<void> done = compute(*instruction, std::array{&operands}); !done)
    fail(block::fault_of(me, done.error()));
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
