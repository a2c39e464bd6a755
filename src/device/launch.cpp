// SPDX-License-Identifier: Apache-2.0
#include "warpbit/device/launch.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>

#include "api/checks.hpp"
#include "block/shape.hpp"
#include "device/cluster.hpp"
#include "device/twin.hpp"
#include "threads.hpp"
#include "warpbit/review.hpp"

namespace warpbit {

using device::CallWatch;

namespace {

constexpr std::size_t kMinStack = 16 * 1024, kMaxStack = std::size_t{1} << 30;

std::optional<Fault> check(const Launch& how) {
  const auto fault = [](std::string seen, std::string accepted) {
    return block::refused({Errc::launch_shape, "launch", std::move(seen), std::move(accepted)});
  };
  if (auto error = block::check_shape(how.grid, how.block, how.shared_bytes))
    return block::refused(*std::move(error));
  if (auto error = block::check_cluster(how.grid, how.cluster)) return block::refused(*std::move(error));
  if (block::product(how.cluster) > 1)
    if (auto error = async::not_on(how.target, "a cluster")) return block::refused(*std::move(error));
  if (how.stack_bytes < kMinStack || how.stack_bytes > kMaxStack)
    return fault(fmt::format("stacks of {} bytes", how.stack_bytes),
                 fmt::format("{} to {}", kMinStack, kMaxStack));
  if (Result<Kernel> kernel = kernel_for(how.execute); !kernel) return block::refused(kernel.error());
  return std::nullopt;
}

// The combined outcome of the clusters so far.
struct Outcome {
  Launched launched;
  std::int64_t faulty = -1;
  std::exception_ptr exception;
  std::optional<Error> no_stacks;  // set by a host thread that could not run blocks
  std::int64_t next = 0;
  std::mutex mutex;  // guards all of it
};

std::int64_t clusters_of(const Launch& how) {
  return static_cast<std::int64_t>(block::product(how.grid) / block::product(how.cluster));
}

int threads_of(const Launch& how) {
  return static_cast<int>(block::product(how.block) * block::product(how.cluster));
}

void run_cluster(const Launch& how, std::int64_t number, const std::function<void()>& thread,
                 device::Worker& worker, Outcome& outcome) {
  device::Cluster cluster(how, static_cast<std::uint64_t>(number), thread, worker);
  cluster.run();
  const std::lock_guard lock(outcome.mutex);
  outcome.launched.inferred = outcome.launched.inferred || cluster.inferred();
  if (cluster.fault() && (outcome.faulty < 0 || number < outcome.faulty)) {
    outcome.launched.fault = std::move(cluster.fault());
    outcome.faulty = number;
  }
}

// The number of a cluster that nobody has begun and that is still wanted.
std::optional<std::int64_t> take(const Launch& how, Outcome& outcome) {
  const std::lock_guard lock(outcome.mutex);
  const std::int64_t number = outcome.next++;
  if (number >= clusters_of(how) || outcome.exception || (outcome.faulty >= 0 && number > outcome.faulty))
    return std::nullopt;
  return number;
}

// One host thread: takes waiting clusters until there are none.
void run_clusters(const Launch& how, const std::function<void()>& thread, CallWatch* watch, Outcome& outcome) {
  Result<device::Stacks> stacks = device::Stacks::make(threads_of(how), how.stack_bytes);
  if (!stacks) {
    const std::lock_guard lock(outcome.mutex);
    outcome.no_stacks = stacks.error();
    return;
  }
  device::Worker worker(how, *std::move(stacks), watch);
  while (const std::optional<std::int64_t> number = take(how, outcome))
    run_cluster(how, *number, thread, worker, outcome);
}

}  // namespace

namespace device {

Launched launch_once(const Launch& how, const std::function<void()>& thread, CallWatch* watch) {
  Outcome outcome;
  const std::int64_t most = std::min<std::int64_t>(Stacks::max_workers(threads_of(how)), clusters_of(how));
  const int workers = thread_count(how.execute.threads, static_cast<std::uint64_t>(most));
  const Rescue rescue;
  const auto run = [&](int) {
    try {
      run_clusters(how, thread, watch, outcome);
    } catch (...) {
      const std::lock_guard lock(outcome.mutex);
      if (!outcome.exception) outcome.exception = std::current_exception();
    }
  };
  share(workers, std::cref(run));
  if (outcome.exception) std::rethrow_exception(outcome.exception);
  if (outcome.next == 0) outcome.launched.fault = block::refused(*std::move(outcome.no_stacks));
  return std::move(outcome.launched);
}

}  // namespace device

Launched launch(const Launch& how, const std::function<void()>& thread) {
  if (std::optional<Fault> refused = check(how)) return {std::move(refused)};
  const TestProcess* const process = TestProcess::self();
  Launched out = process == nullptr        ? device::launch_once(how, thread, nullptr)
                 : process->is_first_run() ? device::launch_recorded(*process, how, thread)
                                           : device::launch_twins(*process, how, thread);
  if (out.fault) add_remark(remark(*out.fault, Grade::fault));
  return out;
}

}  // namespace warpbit
