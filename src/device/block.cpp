// SPDX-License-Identifier: Apache-2.0
#include "device/block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <exception>

#include "async/tensor.hpp"
#include "block/shape.hpp"
#include "device/cluster.hpp"

namespace warpbit::device {

constinit thread_local Index3 threadIdx, blockIdx, blockDim, gridDim;

namespace {

thread_local Block* t_block = nullptr;

int threads_in(const Dim3& block) {
  return static_cast<int>(block::product(block));
}

}  // namespace

Block& current_block() {
  return *t_block;
}

Worker::Worker(const Launch& how, Stacks stacks, CallWatch* watch)
    : how_(how), watch_(watch), stacks_(std::move(stacks)) {
  for (int i = 0; i < threads_in(how.block) * threads_in(how.cluster); ++i) fibres_.emplace_back(stacks_[i]);
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
  const int in_block = group - shared.first_group();
  const int owner = running_ / block::kWarpgroup == in_block ? running_ : in_block * block::kWarpgroup;
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

Block::Block(const Launch& how, Cluster& cluster, int rank, Index3 index, const std::function<void()>& thread,
             Worker& worker)
    : async(cluster.async(), rank, how.shared_bytes,
            [this](block::Found found) {
              const KernelRuleInfo* const rule = found ? find_info(found->rule) : nullptr;
              if (!found || (rule != nullptr && rule->in_source == Grade::silent)) return true;
              if (!found_) found_ = std::move(found);
              return false;
            }),
      products(threads_in(how.block), shared, [this](int group, int reg) { return register_name(group, reg); }),
      meeting(threads_in(how.block), shared, [this](int first) { return execute(first); }),
      how_(how),
      cluster_(cluster),
      rank_(rank),
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
  const auto n = static_cast<std::size_t>(i);
  threadIdx = block::position(n, how_.block);
  running_ = i;
  Fibre& fibre = fibre_of(i);
  if (!begun_[n]) fibre.begin(body_);
  begun_[n] = true;
  fibre.resume();
  if (fibre.is_abandoned()) meeting.end(i);
  if (fibre.has_overflowed() && !meeting.fault())
    meeting.fault() =
        block::fault_of(who(i, meeting.last(i)), {Errc::stack_overflow, fmt::format("stack of thread {}", i),
                                                  fmt::format("it needs more than {} bytes", how_.stack_bytes),
                                                  "Launch.stack_bytes must be larger"});
}

// A destructor that runs while its thread is being unwound must not wait.
void Block::end_if_unwinding() const {
  if (unwinding_ && std::uncaught_exceptions() == 0) throw Unwind{};
}

block::Who Block::who(Place at) {
  meeting.is_at(running_, at);
  return who(running_, at);
}

void Block::wait(Call& call) {
  end_if_unwinding();
  if (unwinding_) return;
  meeting.wait(running_, call);
  fibre_of(running_).suspend();
  end_if_unwinding();
}

void Block::fail(Fault fault) {
  if (!unwinding_ && !meeting.fault()) {
    if (fault.error.code == Errc::never_written) {
      meeting.stick(running_, std::move(fault));
      fibre_of(running_).suspend();
    } else {
      meeting.fault() = std::move(fault);
    }
  }
  throw Unwind{};
}

void Block::fail_if(block::Found fault) {
  if (fault) fail(*std::move(fault));
}

void Block::fail_if_found(std::string_view form) {
  if (!found_) return;
  if (found_->error.where.empty()) found_->error.where = form;
  fail(*std::exchange(found_, std::nullopt));
}

void Block::execute_alone(const calls::Statement& statement, const calls::Operands& operands, Place at) {
  const block::Who me = who(at);
  const Result<Instruction>& instruction = find(statement).instruction;
  if (!instruction) fail(block::fault_of(me, instruction.error()));
  if (operands.d == nullptr) return shared.fence_proxy(running_ / block::kWarp, 1U << running_ % block::kWarp);
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

void Block::enter() {
  t_block = this;
  blockIdx = index_;
  blockDim = {how_.block.x, how_.block.y, how_.block.z};
  gridDim = {how_.grid.x, how_.grid.y, how_.grid.z};
}

void Block::unwind() {
  enter();
  unwinding_ = true;
  for (int i = 0; i < meeting.threads(); ++i)
    while (begun_[static_cast<std::size_t>(i)] && !meeting.has_ended(i)) run_thread(i);
}

Block::Outcome Block::run() {
  if (async.ended) return Outcome::ended;
  enter();
  if (std::exchange(seen_, async.cluster.events()) != async.cluster.events()) (void)meeting.look_again(false);
  while (!meeting.all_have_ended()) {
    do {  // the warps of a warpgroup wait for each other
      for (int warp = 0; warp < meeting.warps() && goes_on(); ++warp) run_warp(warp);
    } while (goes_on() && meeting.any_can_run());
    if (!goes_on()) return Outcome::fault;
    if (meeting.waits_elsewhere()) return Outcome::waits;
    if (!meeting.pass_barrier()) return Outcome::fault;
  }
  if (!goes_on()) return Outcome::fault;
  async.ended = who(running_, meeting.last(running_));
  async.cluster.happened();
  if (!async::end_tensor(async, *async.ended)) meeting.fault() = std::exchange(found_, std::nullopt);
  if (shared.cluster().blocks() == 1 && !meeting.fault()) return Outcome::ended;
  if (!meeting.fault())
    meeting.fault() =
        shared.ends(*async.ended, [this](std::int64_t byte) { return async.mbarriers.has(byte); });
  if (meeting.fault()) meeting.fault()->error.where = "end of the block";
  return goes_on() ? Outcome::ended : Outcome::fault;
}

// ---- Deadlocks

std::uint32_t Block::alive(int warp) const {
  std::uint32_t out = 0;
  for (int i = warp * block::kWarp; i < std::min((warp + 1) * block::kWarp, meeting.threads()); ++i)
    out |= std::uint32_t{!meeting.has_ended(i)} << i % block::kWarp;
  return out;
}

// Lanes of a warp that wait alike are named together.
std::vector<FaultWaiters> Block::waiting(std::span<const async::Lanes> alive_in_cluster) const {
  using Kind = block::Request::Kind;
  std::vector<FaultWaiters> out;
  for (int warp = 0; warp < meeting.warps(); ++warp)
    for (std::uint32_t rest = meeting.waiting(warp); rest != 0;) {
      const block::Request& one = meeting.request(warp * block::kWarp + std::countr_zero(rest));
      const std::uint32_t lanes = rest & meeting.waiting(warp, [&](const block::Request& other) {
        return other.is_same(one) && other.value == one.value;
      });
      rest &= ~lanes;
      std::string awaits;
      if (one.kind == Kind::phase)
        awaits = async.mbarriers.awaited(static_cast<std::int64_t>(one.value), shared.first_warp() + warp);
      if (one.kind == Kind::cluster) awaits = async.cluster.barrier.awaited(alive_in_cluster);
      out.push_back({{index_},
                     {warp},
                     lanes == alive(warp) ? std::vector<int>() : block::lanes_of(lanes),
                     std::string(one.form()),
                     std::move(awaits),
                     one.at});
    }
  return out;
}

bool Block::report_deadlock(const std::vector<FaultWaiters>& waiting) {
  const auto is_elsewhere = [](const block::Request& r) { return r.is_elsewhere(); };
  for (int warp = 0; warp < meeting.warps(); ++warp) {
    const std::uint32_t lanes = meeting.waiting(warp, is_elsewhere);
    if (lanes == 0) continue;
    const int first = warp * block::kWarp + std::countr_zero(lanes);
    const block::Request& request = meeting.request(first);
    const auto cause =
        request.kind == block::Request::Kind::phase
            ? async.mbarriers.cause(static_cast<std::int64_t>(request.value), shared.first_warp() + warp)
            : std::nullopt;
    meeting.fault() =
        block::deadlock(cause ? *cause : block::Cause{who(first, request.at), {}, {}, {}, lanes}, waiting);
    return true;
  }
  return false;
}

// ---- Host threads

Running::Running() : block_(t_block), indices_{threadIdx, blockIdx, blockDim, gridDim} {}

Running::~Running() {
  t_block = block_;
  threadIdx = indices_[0], blockIdx = indices_[1], blockDim = indices_[2], gridDim = indices_[3];
}

}  // namespace warpbit::device
