// SPDX-License-Identifier: Apache-2.0
#include "warpbit/device/launch.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <exception>

#include "api/checks.hpp"
#include "block/shape.hpp"
#include "device/block.hpp"
#include "threads.hpp"

namespace warpbit {
namespace {

constexpr std::size_t kMinStack = 16 * 1024, kMaxStack = std::size_t{1} << 30;

std::optional<Fault> check(const Launch& how) {
  const auto fault = [](std::string seen, std::string accepted) {
    return block::refused({Errc::launch_shape, "launch", std::move(seen), std::move(accepted)});
  };
  if (auto error = block::check_shape(how.grid, how.block, how.shared_bytes))
    return block::refused(*std::move(error));
  if (how.stack_bytes < kMinStack || how.stack_bytes > kMaxStack)
    return fault(fmt::format("stacks of {} bytes", how.stack_bytes),
                 fmt::format("{} to {}", kMinStack, kMaxStack));
  if (Result<Kernel> kernel = kernel_for(how.execute); !kernel) return block::refused(kernel.error());
  return std::nullopt;
}

// The combined outcome of the blocks so far.
struct Outcome {
  Launched launched;
  std::int64_t fault_block = -1;
  std::exception_ptr exception;
  std::optional<Error> no_stacks;  // set by a host thread that could not run blocks
};

void run_block(const Launch& how, std::int64_t number, const std::function<void()>& thread,
               device::Worker& worker, Outcome& outcome) {
  const auto n = static_cast<unsigned>(number);
  const device::Index3 index{n % how.grid.x, n / how.grid.x % how.grid.y, n / how.grid.x / how.grid.y};
  device::Block block(how, index, thread, worker);
  block.run();
#pragma omp critical(warpbit_launch)
  {
    outcome.launched.inferred = outcome.launched.inferred || block.inferred();
    if (block.meeting.fault() && (outcome.fault_block < 0 || number < outcome.fault_block)) {
      outcome.launched.fault = std::move(block.meeting.fault());
      outcome.fault_block = number;
    }
  }
}

// One host thread: takes waiting blocks until there are none.
void run_blocks(const Launch& how, const std::function<void()>& thread, std::int64_t& next, Outcome& outcome) {
  const auto blocks = static_cast<std::int64_t>(block::product(how.grid));
  Result<device::Stacks> stacks =
      device::Stacks::make(static_cast<int>(block::product(how.block)), how.stack_bytes);
  if (!stacks) {
#pragma omp critical(warpbit_launch)
    outcome.no_stacks = stacks.error();
    return;
  }
  device::Worker worker(how, *std::move(stacks));
  for (;;) {
    std::int64_t block = 0;
    bool stop = false;
#pragma omp critical(warpbit_launch)
    {
      block = next++;
      stop = block >= blocks || outcome.exception || (outcome.fault_block >= 0 && block > outcome.fault_block);
    }
    if (stop) return;
    run_block(how, block, thread, worker, outcome);
  }
}

}  // namespace

Launched launch(const Launch& how, const std::function<void()>& thread) {
  Outcome outcome;
  outcome.launched.fault = check(how);
  if (!outcome.launched) return std::move(outcome.launched);
  const auto blocks = static_cast<std::int64_t>(block::product(how.grid));
  const auto threads = static_cast<int>(block::product(how.block));
  const std::int64_t most = std::min<std::int64_t>(device::Stacks::max_workers(threads), blocks);
  const int workers = thread_count(how.execute.threads, static_cast<std::uint64_t>(most));
  const device::Rescue rescue;
  std::int64_t next = 0;
#pragma omp parallel num_threads(workers)
  try {
    run_blocks(how, thread, next, outcome);
  } catch (...) {
#pragma omp critical(warpbit_launch)
    if (!outcome.exception) outcome.exception = std::current_exception();
  }
  if (outcome.exception) std::rethrow_exception(outcome.exception);
  if (next == 0) outcome.launched.fault = block::refused(*std::move(outcome.no_stacks));
  return std::move(outcome.launched);
}

}  // namespace warpbit
