// SPDX-License-Identifier: Apache-2.0
// What a launch takes, the stacks of its threads, and how they end.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "device/fibre.hpp"
#include "device_inputs.hpp"
#include "warpbit/device.hpp"

namespace device_launch_test {

using namespace warpbit;
using namespace warpbit::device;
using Catch::Contains;

constexpr std::size_t kStack = 128 * 1024;

Launched run(const std::function<void()>& kernel, unsigned threads = 32, std::size_t stack_bytes = kStack) {
  Launch how{device_inputs::target("sm_90"), {}, {threads}, 1024};
  how.stack_bytes = stack_bytes;
  return launch(how, kernel);
}

void require_ok(const Launched& launched) {
  INFO((launched ? "" : launched.fault->message()));
  REQUIRE(launched.ok());
}

unsigned marked(const std::string& comment) {
  return device_inputs::line_of("tests/device_launch_test.cpp", " // <- " + comment + "\n");
}

int thread() {
  return static_cast<int>(threadIdx.x);
}

TEST_CASE("built-in variables", "[quick][device]") {
  std::vector<unsigned> seen(2 * 3 * 4 * 5);
  const GlobalArray<unsigned> out(seen);
  const Launched launched = launch({device_inputs::target("sm_90"), {2, 3}, {4, 5}}, [&] {
    const unsigned block = blockIdx.x + gridDim.x * blockIdx.y;
    out[(block * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x] += 1 + block;
  });
  require_ok(launched);
  for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == 1 + i / 20);
}

TEST_CASE("a launch that cannot be", "[quick][device]") {
  const Target target = device_inputs::target("sm_90");
  const auto nothing = [] {};
  for (const Launch& how : {Launch{target, {}, {1025}}, Launch{target, {}, {32, 32, 2}}, Launch{target, {0}},
                            Launch{target, {}, {0}}, Launch{target, {0xFFFF'FFFF, 0xFFFF'FFFF, 0xFFFF'FFFF}},
                            Launch{target, {}, {}, 1 << 20}, Launch{target, {}, {}, 0, {}, 10},
                            Launch{target, {}, {}, 0, {}, std::size_t{1} << 40},
                            Launch{target, {}, {}, 0, {}, std::numeric_limits<std::size_t>::max()}}) {
    const Launched launched = launch(how, nothing);
    REQUIRE_FALSE(launched.ok());
    CHECK(launched.fault->error.code == Errc::launch_shape);
  }
}

// Under the address sanitizer the places of former stacks must carry no marks.
TEST_CASE("launches have stacks of other sizes where others lay", "[quick][device]") {
  for (std::size_t pages = 8; pages < 48; ++pages) {
    Launch how{device_inputs::target("sm_90"), {}, {32}};
    how.stack_bytes = pages * 4096;
    unsigned sum = 0;
    require_ok(launch(how, [&] {
      std::array<volatile unsigned char, 16 * 1024> used;
      for (auto& byte : used) byte = 1;
      __syncwarp();
      for (const auto& byte : used) sum += byte;
    }));
    CHECK(sum == 32 * 16 * 1024);
  }
}

TEST_CASE("what a kernel throws comes out when its threads have ended", "[quick][device]") {
  int ended = 0;
  struct Counted {
    int& count;
    ~Counted() { ++count; }
  };
  const auto kernel = [&] {
    const Counted counted{ended};
    __syncthreads();
    if (thread() == 40) throw std::runtime_error("of thread 40");
    __syncthreads();
  };
  CHECK_THROWS_WITH(run(kernel, 64), "of thread 40");
  CHECK(ended == 64);
}

// ---- Stacks

// Fills an array that lies on the stack.
template <std::size_t Bytes>
[[gnu::noinline]] void fill(unsigned char value) {
  std::array<volatile unsigned char, Bytes> bytes;
  for (auto& byte : bytes) byte = value;
}

void check_overflow(const std::function<void()>& kernel, unsigned line) {
  const Launched launched = run(kernel);
  REQUIRE_FALSE(launched.ok());
  const Fault& fault = *launched.fault;
  CHECK(fault.error.code == Errc::stack_overflow);
  CHECK(fault.error.message() ==
        "stack of thread 5: it needs more than 131072 bytes; Launch.stack_bytes must be larger");
  CHECK(fault.lanes == std::vector<int>{5});
  CHECK(fault.at.line == line);
}

TEST_CASE("a thread that needs more than its stack is named, and harms no other", "[quick][device]") {
  std::array<int, 32> sums{};
  const auto kernel = [&]<std::size_t Bytes>(std::integral_constant<std::size_t, Bytes>) {
    return [&sums] {
      std::array<volatile int, 16> locals;
      for (int i = 0; i < 16; ++i) locals[static_cast<std::size_t>(i)] = thread();
      __syncwarp();  // <- before the array
      if (thread() == 5) fill<Bytes>(1);
      int sum = 0;
      for (const int x : locals) sum += x;
      sums[threadIdx.x] = sum;
    };
  };
  const unsigned line = marked("before the array");
  check_overflow(kernel(std::integral_constant<std::size_t, 160 * 1024>()), line);
  check_overflow(kernel(std::integral_constant<std::size_t, 264 * 1024>()), line);
  check_overflow(kernel(std::integral_constant<std::size_t, 400 * 1024>()), line);
  check_overflow(kernel(std::integral_constant<std::size_t, 512 * 1024>()), line);
  require_ok(run(kernel(std::integral_constant<std::size_t, 264 * 1024>()), 32, 512 * 1024));
  for (int i = 0; i < 32; ++i) CHECK(sums[static_cast<std::size_t>(i)] == 16 * i);
}

// Without a last call, so that nothing makes a loop of it.
[[gnu::noinline]] int depth_of(volatile int& so_far) {
  so_far = so_far + 1;
  return so_far < 0 ? 0 : 1 + depth_of(so_far);
}

TEST_CASE("a recursion without end is a stack overflow", "[quick][device]") {
  volatile int depth = 0;
  check_overflow(
      [&] {
        __syncwarp();  // <- before the recursion
        if (thread() == 5) (void)depth_of(depth);
      },
      marked("before the recursion"));
  CHECK(depth > 1000);
  require_ok(run([] { __syncwarp(); }));
}

TEST_CASE("each stack has a guard, or the launch says that there is no room", "[quick][device][once]") {
  std::vector<Stacks> all;
  for (;;) {
    Result<Stacks> more = Stacks::make(1024, 16 * 1024);
    if (!more) {
      CHECK(more.error().code == Errc::launch_shape);
      CHECK_THAT(more.error().message(),
                 Contains("launch: 1024 stacks of 16384 bytes: ") &&
                     Contains("fewer threads in a block, or a smaller Launch.stack_bytes"));
      break;
    }
    all.push_back(*std::move(more));
    if (all.size() == 64) break;  // a system that allows more mappings
  }
  REQUIRE(all.size() >= static_cast<std::size_t>(std::min(64, Stacks::max_workers(1024))));
  const std::size_t stacks = 1024 * all.size();
  // "first-last rwxp ...": a guard is a mapping of its size without rights.
  std::size_t guards = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::size_t end = 0;
    const std::uint64_t first = std::stoull(line, &end, 16);
    const std::uint64_t last = std::stoull(line.substr(end + 1), nullptr, 16);
    guards += line.find(" ---p ") != line.npos && last - first == Stack::kGuard ? 1U : 0U;
  }
  CHECK(guards >= stacks);
}

TEST_CASE("more threads of the machine than there are mappings for", "[quick][device]") {
  Launch how{device_inputs::target("sm_90"), {64}, {1024}};
  how.execute.threads = 64;
  how.stack_bytes = 16 * 1024;
  std::vector<unsigned> ended(64);
  const GlobalArray<unsigned> out(ended);
  require_ok(launch(how, [&] {
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = 1U;
  }));
  for (const unsigned one : ended) CHECK(one == 1);
  CHECK(Stacks::max_workers(1024) >= 1);
  CHECK(Stacks::max_workers(1) > Stacks::max_workers(1024));
}

// ---- Functions that let no exception out

[[gnu::noinline]] void read_beyond() noexcept {
  const int x = shared_array<int>(0, 1)[7];  // <- in noexcept
  if (x != 0) __syncthreads();
}

TEST_CASE("a fault in a noexcept function is told", "[quick][device]") {
  const Launched launched = run([] { read_beyond(); });
  REQUIRE_FALSE(launched.ok());
  CHECK(launched.fault->error.code == Errc::address_out_of_bounds);
  CHECK(launched.fault->at.line == marked("in noexcept"));
  CHECK(std::uncaught_exceptions() == 0);
}

TEST_CASE("a fault in a destructor is told", "[quick][device]") {
  struct Reads {
    ~Reads() {
      const int x = shared_array<int>(0, 1)[7];  // <- in a destructor
      if (x != 0) __syncthreads();
    }
  };
  const Launched launched = run([] { const Reads at_the_end; });
  REQUIRE_FALSE(launched.ok());
  CHECK(launched.fault->error.code == Errc::address_out_of_bounds);
  CHECK(launched.fault->at.line == marked("in a destructor"));
}

TEST_CASE("threads that a fault ends may wait in destructors", "[quick][device]") {
  struct Waits {
    ~Waits() { __syncthreads(); }
  };
  const Launched launched = run([] {
    const Waits at_the_end;
    __syncwarp();
    if (thread() == 3) {
      const int x = shared_array<int>(0, 1)[7];  // <- beside one that waits
      if (x != 0) __syncwarp();
    }
    __syncwarp();
  });
  REQUIRE_FALSE(launched.ok());
  CHECK(launched.fault->error.code == Errc::address_out_of_bounds);
  CHECK(launched.fault->at.line == marked("beside one that waits"));
  CHECK(std::uncaught_exceptions() == 0);
}

// ---- Indices of 64 bits

TEST_CASE("an index whose address has more than 64 bits is out of bounds", "[quick][device]") {
  using Limits = std::numeric_limits<std::int64_t>;
  std::vector<int> numbers(8);
  const auto message = [&](const std::function<int(GlobalArray<int>)>& read) {
    const Launched launched = run([&] { (void)read(GlobalArray<int>(numbers)); }, 1);
    REQUIRE_FALSE(launched.ok());
    CHECK(launched.fault->error.code == Errc::address_out_of_bounds);
    return launched.fault->message();
  };
  constexpr auto kAbove = "4 bytes from 0x7fffffffffffffff", kBelow = "4 bytes from -0x8000000000000000";
  CHECK_THAT(message([](auto g) -> int { return g[1LL << 62]; }), Contains(kAbove));
  CHECK_THAT(message([](auto g) -> int { return g[-(1LL << 62)]; }), Contains(kBelow));
  CHECK_THAT(message([](auto g) -> int { return g[~std::uint64_t{0}]; }), Contains(kAbove));
  CHECK_THAT(message([](auto g) -> int { return (g + Limits::max())[Limits::max()]; }), Contains(kAbove));
  CHECK_THAT(message([](auto g) -> int { return (g - Limits::min())[0]; }), Contains(kAbove));
  CHECK_THAT(message([](auto g) -> int { return (g + Limits::min())[0]; }),
             Contains(kBelow) && Contains("global address -0x8000000000000000"));
  const Launched launched = run([] { (void)shared_array<int>(0, 1LL << 62); }, 1);
  REQUIRE_FALSE(launched.ok());
  CHECK_THAT(launched.fault->message(), Contains("9223372036854775807 bytes from 0x0"));
}

}  // namespace device_launch_test
