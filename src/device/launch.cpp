// SPDX-License-Identifier: Apache-2.0
#include "warpbit/device/launch.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <exception>

#include "api/checks.hpp"
#include "device/block.hpp"

namespace warpbit {
namespace {

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", the largest of all.
constexpr std::uint64_t kMostThreads = 1024, kMostShared = 227 * 1024, kMostBlocks = 0x7FFF'FFFF;
constexpr std::size_t kLeastStack = 16 * 1024;

std::string size(const Dim3& d) {
  return fmt::format("{} x {} x {}", d.x, d.y, d.z);
}

// The product, or more than 2^32 if it is that.
std::uint64_t product(const Dim3& d) {
  const std::uint64_t plane = std::uint64_t{d.x} * d.y;
  return plane > 0xFFFF'FFFF ? plane : plane * d.z;
}

std::optional<Fault> check(const Launch& how) {
  const auto fault = [](std::string seen, std::string accepted) {
    return Fault{{Errc::launch_shape, "launch", std::move(seen), std::move(accepted)}, {}, 0, {}, {}, {}, {}};
  };
  const auto in = [](std::uint64_t n, std::uint64_t most) { return n >= 1 && n <= most; };
  if (!in(product(how.block), kMostThreads) || how.block.z > 64)
    return fault(fmt::format("a block of {} threads", size(how.block)), "1 to 1024 threads, z at most 64");
  if (!in(product(how.grid), kMostBlocks))
    return fault(fmt::format("a grid of {} blocks", size(how.grid)), "1 to 2147483647 blocks");
  if (how.shared_bytes > kMostShared)
    return fault(fmt::format("{} bytes of shared memory", how.shared_bytes),
                 fmt::format("at most {}", kMostShared));
  if (how.stack_bytes < kLeastStack)
    return fault(fmt::format("stacks of {} bytes", how.stack_bytes), fmt::format("at least {}", kLeastStack));
  if (Result<Kernel> kernel = kernel_for(how.execute); !kernel) {
    Fault out = fault({}, {});
    out.error = kernel.error();
    return out;
  }
  return std::nullopt;
}

// What the blocks of a launch have left so far.
struct Outcome {
  Launched launched;
  std::int64_t fault_block = -1;
  std::exception_ptr exception;
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
    if (block.fault() && (outcome.fault_block < 0 || number < outcome.fault_block)) {
      outcome.launched.fault = std::move(block.fault());
      outcome.fault_block = number;
    }
  }
}

}  // namespace

Launched launch(const Launch& how, const std::function<void()>& thread) {
  Outcome outcome;
  outcome.launched.fault = check(how);
  if (!outcome.launched) return std::move(outcome.launched);
  const auto blocks = static_cast<std::int64_t>(product(how.grid));
  const int wanted = how.execute.threads > 0 ? how.execute.threads : omp_get_max_threads();
  const int workers = static_cast<int>(std::min<std::int64_t>(wanted, blocks));
  std::int64_t next = 0;
#pragma omp parallel num_threads(workers)
  {
    try {
      device::Worker worker(how);
      for (;;) {
        std::int64_t block = 0;
        bool stop = false;
#pragma omp critical(warpbit_launch)
        {
          block = next++;
          stop =
              block >= blocks || outcome.exception || (outcome.fault_block >= 0 && block > outcome.fault_block);
        }
        if (stop) break;
        run_block(how, block, thread, worker, outcome);
      }
    } catch (...) {
#pragma omp critical(warpbit_launch)
      if (!outcome.exception) outcome.exception = std::current_exception();
    }
  }
  if (outcome.exception) std::rethrow_exception(outcome.exception);
  return std::move(outcome.launched);
}

std::string Fault::message() const {
  const auto of = [](int w, int count, const std::vector<int>& l, const device::Place& p) {
    std::string out = fmt::format("\n  {}:{}: warp{} {}", p.file, p.line, count == 1 ? "" : "s", w);
    if (count > 1) out += fmt::format("-{}", w + count - 1);
    if (!l.empty()) out += fmt::format(", {} {}", l.size() == 1 ? "lane" : "lanes", ranges(l));
    return out;
  };
  std::string out = error.message();
  if (at.line == 0) return out;
  const bool missing = error.code == Errc::lanes_missing || error.code == Errc::lanes_disagree ||
                       error.code == Errc::threads_diverge;
  out += fmt::format("\n  block ({}, {}, {})", block.x, block.y, block.z);
  if (address)
    out += fmt::format(", {} address {}{:#x}", name(address->space), address->byte < 0 ? "-" : "",
                       address->byte < 0 ? -address->byte : address->byte);
  out += of(warp, warps, missing && other ? std::vector<int>() : lanes, at);
  if (other) out += of(other->warp, other->warps, other->lanes, other->at);
  return out;
}

}  // namespace warpbit
