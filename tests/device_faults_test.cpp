// SPDX-License-Identifier: Apache-2.0
// Each mistake that a launch finds, alone and in its smallest kernel, beside its correct neighbour.
#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "device_inputs.hpp"
#include "warpbit/device.hpp"

namespace device_faults_test {

using namespace warpbit;
using namespace warpbit::device;
using Lanes = std::vector<int>;

Launched run(const std::function<void()>& kernel, unsigned threads = 32, std::string_view on = "sm_90") {
  return launch({device_inputs::target(on), {}, {threads}, 1024}, kernel);
}

void require_ok(const Launched& launched) {
  INFO((launched ? "" : launched.fault->message()));
  REQUIRE(launched.ok());
}

Fault fault_of(const std::function<void()>& kernel, unsigned threads = 32) {
  const Launched launched = run(kernel, threads);
  REQUIRE_FALSE(launched.ok());
  return *launched.fault;
}

// The line that ends in a comment. (A fault ends a kernel by an exception, so what may be one stands in no
// assertion.)
unsigned marked(const std::string& comment) {
  return device_inputs::line_of("tests/device_faults_test.cpp", " // <- " + comment + "\n");
}

int lane() {
  return static_cast<int>(threadIdx.x) % 32;
}
int thread() {
  return static_cast<int>(threadIdx.x);
}
SharedArray<std::uint32_t> words() {
  return shared_array<std::uint32_t>(0, 256);
}
Lanes range(int first, int last) {
  Lanes out;
  for (int i = first; i <= last; ++i) out.push_back(i);
  return out;
}

using A = Fragment<std::uint32_t, 4>;
using B = Fragment<std::uint32_t, 2>;
using Sums = Fragment<float, 4>;

// ---- Order in shared memory

TEST_CASE("a read needs a barrier behind another thread's write", "[quick][device]") {
  const auto kernel = [](bool barrier) {
    return [barrier] {
      words()[thread()] = 7u;  // <- written
      if (barrier) __syncthreads();
      const std::uint32_t next = words()[(thread() + 1) % 64];  // <- read
      REQUIRE(next == 7u);
    };
  };
  require_ok(run(kernel(true), 64));
  // Thread 0 reads before thread 1 has written: the race is told, not that nothing is there.
  const Fault fault = fault_of(kernel(false), 64);
  CHECK(
      fault.error.message() ==
      "store to shared memory: bytes 0x4 to 0x7 were read by lane 0 of warp 0 before they were written, and no "
      "barrier came between this write and that read; a "
      "__syncwarp must come between them, or a __syncthreads if other warps use these bytes, too");
  CHECK(fault.lanes == Lanes{1});
  CHECK(fault.at.line == marked("written"));
  REQUIRE(fault.other);
  CHECK(fault.other->lanes == Lanes{0});
  CHECK(fault.other->at.line == marked("read"));
  REQUIRE(fault.address);
  CHECK(fault.address->space == Space::shared);
  CHECK(fault.address->byte == 4);
}

TEST_CASE("an overwrite needs a barrier behind another warp's read", "[quick][device]") {
  const auto kernel = [](bool barrier) {
    return [barrier] {
      words()[thread()] = 7u;
      __syncthreads();
      const std::uint32_t other = words()[(thread() + 32) % 64];  // <- read before
      if (barrier) __syncthreads();
      words()[thread()] = other + 1;  // <- overwritten
    };
  };
  require_ok(run(kernel(true), 64));
  const Fault fault = fault_of(kernel(false), 64);
  CHECK(fault.error.code == Errc::data_race);
  CHECK(fault.error.accepted == "a __syncthreads must come between them");
  // The second warp reads what the first has overwritten by then.
  CHECK(fault.warp == 1);
  CHECK(fault.lanes == Lanes{0});
  CHECK(fault.at.line == marked("read before"));
  REQUIRE(fault.other);
  CHECK(fault.other->warp == 0);
  CHECK(fault.other->at.line == marked("overwritten"));
}

TEST_CASE("__syncwarp orders the lanes of its mask and no others", "[quick][device]") {
  const auto kernel = [](std::uint32_t mask, int distance) {
    return [mask, distance] {
      words()[thread()] = 7u;
      if ((mask >> lane() & 1) != 0) __syncwarp(mask);
      (void)std::uint32_t(words()[(thread() & ~31) + (lane() ^ distance)]);
    };
  };
  require_ok(run(kernel(kWholeWarp, 16), 64));
  CHECK(fault_of(kernel(0x0000'FFFF, 1), 32).error.code == Errc::data_race);  // lane 16 reads of lane 17
  const auto halves = [] {
    const std::uint32_t mask = lane() < 16 ? 0x0000'FFFF : 0xFFFF'0000;
    words()[lane()] = 7u;
    __syncwarp(mask);
    (void)std::uint32_t(words()[lane() ^ 1]);
  };
  require_ok(run(halves));
  // What one lane knows of another it passes on.
  require_ok(run([] {
    if (lane() == 0) words()[0] = 1u;
    if (lane() < 2) __syncwarp(0b011);
    if (lane() == 1 || lane() == 2) __syncwarp(0b110);
    if (lane() == 2) (void)std::uint32_t(words()[0]);
  }));
  // A shuffle orders nothing.
  CHECK(fault_of([] {
          words()[lane()] = 7u;
          (void)__shfl_xor_sync(kWholeWarp, 1, 1);
          (void)std::uint32_t(words()[lane() ^ 1]);
        }).error.code == Errc::data_race);
}

TEST_CASE("two lanes must not write one place", "[quick][device]") {
  const Fault fault = fault_of([] {
    words()[lane() / 2] = 7u;  // <- twice
  });
  CHECK(
      fault.error.message() ==
      "store to shared memory: bytes 0x0 to 0x3 were written by lane 0 of warp 0, and no barrier came between "
      "that write and this one; a "
      "__syncwarp must come between them, or a __syncthreads if other warps use these bytes, too");
  CHECK(fault.lanes == Lanes{1});
  CHECK(fault.at.line == marked("twice"));
  REQUIRE(fault.other);
  CHECK(fault.other->at.line == marked("twice"));
}

TEST_CASE("shared memory must be written before it is read", "[quick][device]") {
  const Fault fault = fault_of(
      [] {
        if (thread() >= 32) words()[thread()] = 7u;
        __syncthreads();
        (void)std::uint32_t(words()[thread() + 1]);  // <- never
      },
      64);
  CHECK(
      fault.error.message() ==
      "load from shared memory: bytes 0x4 to 0x7 of shared memory have never been written; they must be written before this "
      "statement");
  CHECK(fault.warp == 0);
  CHECK(fault.lanes == Lanes{0});
  CHECK(fault.at.line == marked("never"));
  CHECK_FALSE(fault.other);
  CHECK(fault_of([] { (void)ldmatrix<1>(words() + 4 * (lane() % 8)); }).error.code == Errc::never_written);
}

// ---- Asynchronous copies

TEST_CASE("a copy is there when its group has been waited for", "[quick][device]") {
  const std::vector<std::uint32_t> source(64, 9);
  const GlobalArray<const std::uint32_t> from(source);
  const auto kernel = [&](auto wait) {
    return [&, wait] {
      cp_async_ca<4>(words() + lane(), from + lane());  // <- copied
      cp_async_commit_group();
      cp_async_ca<4>(words() + (32 + lane()), from + (32 + lane()));
      cp_async_commit_group();
      wait();
      const std::uint32_t value = words()[lane()];  // <- used
      CHECK(value == 9);
    };
  };
  require_ok(run(kernel([] { cp_async_wait_group<0>(); })));
  require_ok(run(kernel([] { cp_async_wait_group<1>(); })));
  require_ok(run(kernel([] { cp_async_wait_all(); })));
  const Fault without = fault_of(kernel([] {}));
  CHECK(
      without.error.message() ==
      "load from shared memory: bytes 0x0 to 0x3 are the destination of a cp.async of this thread that is not "
      "complete (it is in group 1 of 2); "
      "this thread must execute cp.async.wait_group 1 before this statement");
  CHECK(without.at.line == marked("used"));
  REQUIRE(without.other);
  CHECK(without.other->at.line == marked("copied"));
  const Fault too_few = fault_of(kernel([] {
    cp_async_wait_group<2>();  // <- waits
  }));
  CHECK(
      too_few.error.message() ==
      "cp.async.wait_group: it waits for all groups but the last 2, and lane 0 of warp 0 accesses bytes 0x0 to "
      "0x3, the destination of "
      "a cp.async of this thread that is not complete (it is in group 1 of 2); this statement must be cp.async.wait_group 1, or each step must commit a group, an empty one, too");
  CHECK(too_few.at.line == marked("waits"));
  REQUIRE(too_few.other);
  CHECK(too_few.other->at.line == marked("used"));
  CHECK(
      fault_of([&] {
        cp_async_ca<4>(words() + lane(), from + lane());
        cp_async_wait_group<0>();
        words()[lane()] = 1u;
      }).error.seen ==
      "bytes 0x0 to 0x3 are the destination of a cp.async of this thread that is not complete (it is in no group yet)");
  // Another thread's copy, with a barrier but no wait.
  const Fault other = fault_of(
      [&] {
        if (thread() < 32) cp_async_ca<4>(words() + lane(), from + lane());
        __syncthreads();
        if (thread() >= 32) (void)std::uint32_t(words()[lane()]);
      },
      64);
  CHECK(
      other.error.accepted ==
      "thread 0 must execute cp.async.wait_all (or cp.async.commit_group and then cp.async.wait_group 0), and then a "
      "barrier together with this thread, before this statement");
  CHECK(other.warp == 1);
}

TEST_CASE("a copy fills with zeros behind its source", "[quick][device]") {
  const std::vector<std::uint32_t> source{1, 2};
  const GlobalArray<const std::uint32_t> from(source);
  require_ok(run([&] {
    if (lane() != 0) return;
    cp_async_cg(words(), from, 8);
    cp_async_wait_all();
    for (const auto& [i, value] : {std::array{0u, 1u}, {1, 2}, {2, 0}, {3, 0}})
      CHECK(std::uint32_t(words()[i]) == value);
  }));
  CHECK(fault_of([&] { cp_async_cg(words(), from); }).error.message() ==
        "cp.async.cg.shared.global: 16 bytes from 0x0 are out of bounds; the array has 0x0 to 0x7");
  CHECK(fault_of([&] { cp_async_cg(words(), from, 17); }).error.code == Errc::undefined_operand);
  CHECK(fault_of([&] { cp_async_cg(words() + 1, from, 8); }).error.message() ==
        "cp.async.cg.shared.global: address 0x4 is misaligned; it must be a multiple of 16");
}

// ---- Bounds and alignment

TEST_CASE("accesses are within their arrays", "[quick][device]") {
  std::vector<float> memory(32);
  const GlobalArray<float> global(memory);
  require_ok(run([&] { global[lane()] += 2.0f; }));
  CHECK(memory == std::vector<float>(32, 2.0f));

  const Fault load = fault_of([&] {
    (void)float(global[lane() + 1]);  // <- loaded
  });
  CHECK(load.error.message() ==
        "load from global memory: 4 bytes from 0x80 are out of bounds; the array has 0x0 to 0x7f");
  CHECK(load.lanes == Lanes{31});
  CHECK(load.at.line == marked("loaded"));
  const Fault store = fault_of([&] {
    global[lane() - 3] = 1.0f;  // <- stored
  });
  CHECK(store.error.message() ==
        "store to global memory: 4 bytes from -0xc are out of bounds; the array has 0x0 to 0x7f");
  CHECK(store.lanes == Lanes{0});
  CHECK(store.at.line == marked("stored"));
  const Fault shared = fault_of([] { shared_array<float>(128, 16)[lane()] = 1.0f; });
  CHECK(shared.error.message() ==
        "store to shared memory: 4 bytes from 0xc0 are out of bounds; the array has 0x80 to 0xbf");
  CHECK(shared.lanes == Lanes{16});
  CHECK(fault_of([] { (void)shared_array<float>(1000, 7); }).error.message() ==
        "shared_array: 28 bytes from 0x3e8 are out of bounds; the array has 0x0 to 0x3ff");
  CHECK(fault_of([] { (void)float(shared_array<float>(16, -1)[0]); }).error.message() ==
        "load from shared memory: 4 bytes from 0x10 are out of bounds; the array has none");
  struct alignas(8) Pair {
    float x, y;
  };
  CHECK(fault_of([&] { (void)Pair(as<Pair>(global + 1)[0]); }).error.message() ==
        "load from global memory: address 0x4 is misaligned; it must be a multiple of 8");
}

TEST_CASE("rows of matrices are aligned and within their array", "[quick][device]") {
  const auto kernel = [](int late, int add) {
    return [late, add] {
      for (int i = 0; i < 4; ++i) words()[4 * lane() + i] = static_cast<std::uint32_t>(i);
      __syncwarp();
      const auto row = shared_array<std::uint32_t>(0, 128) + 4 * lane();
      const Fragment<std::uint32_t, 4> r = ldmatrix<4>(row + (lane() == late ? add : 0));  // <- rows
      CHECK(r[3] == static_cast<std::uint32_t>(lane() % 4));
    };
  };
  require_ok(run(kernel(0, 0)));
  const Fault misaligned = fault_of(kernel(9, 2));
  CHECK(misaligned.error.message() ==
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16: address 0x98 is misaligned; it must be a multiple of 16");
  CHECK(misaligned.lanes == Lanes{9});
  CHECK(misaligned.at.line == marked("rows"));
  const Fault outside = fault_of(kernel(30, 8));
  CHECK(outside.error.message() ==
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16: 16 bytes from 0x200 are out of bounds; the array has 0x0 to "
        "0x1ff");
  CHECK(outside.lanes == Lanes{30});
  // Two rows at one place: of the same words, and of others.
  const auto store = [](std::uint32_t factor) {
    return [factor] {
      stmatrix<1>(words() + lane() / 2 % 4 * 4,
                  Fragment<std::uint32_t, 1>{static_cast<std::uint32_t>(lane()) * factor});
    };
  };
  require_ok(run(store(0)));
  CHECK(fault_of(store(1)).error.code == Errc::stores_overlap);
}

// ---- Lanes that do not meet

TEST_CASE("all lanes execute a product", "[quick][device]") {
  const Fault ended = fault_of([] {
    if (lane() == 5) {
      __syncwarp(1u << 5);  // <- last seen
      return;
    }
    (void)mma<m16n8k16, f32, bf16>(A{}, B{}, Sums{});  // <- left alone
  });
  CHECK(
      ended.error.message() ==
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32: executed by lanes 0-4, 6-31, but lane 5 has ended; "
      "all lanes of the warp must execute it, at one place");
  CHECK(ended.error.code == Errc::lanes_missing);
  CHECK(ended.lanes == Lanes{5});
  CHECK(ended.at.line == marked("left alone"));
  REQUIRE(ended.other);
  CHECK(ended.other->at.line == marked("last seen"));

  const Fault diverged = fault_of([] {
    if (lane() < 16) (void)mma<m16n8k16, f32, bf16>(A{}, B{}, Sums{});  // <- in a branch
    __syncthreads();                                                    // <- past it
  });
  CHECK(
      diverged.error.message() ==
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32: executed by lanes 0-15, but __syncthreads by lanes "
      "16-31; all lanes of the warp must execute it, at one place");
  CHECK(diverged.error.code == Errc::threads_diverge);
  CHECK(diverged.lanes == range(16, 31));
  CHECK(diverged.at.line == marked("in a branch"));
  REQUIRE(diverged.other);
  CHECK(diverged.other->at.line == marked("past it"));

  const Fault shapes = fault_of([] {
    if (lane() % 2 == 0)
      (void)mma<m16n8k16, f32, f16>(A{}, B{}, Sums{});
    else
      (void)mma<m16n8k8, f32, tf32>(A{}, B{}, Sums{});
  });
  CHECK(shapes.error.code == Errc::lanes_disagree);
  CHECK(shapes.error.seen.find("but mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 by lanes 1, 3, 5") !=
        std::string::npos);

  // The same form at two places.
  const Fault places = fault_of([] {
    if (lane() < 8)
      (void)mma<m16n8k16, f32, f16>(A{}, B{}, Sums{});  // <- one place
    else
      (void)mma<m16n8k16, f32, f16>(A{}, B{}, Sums{});  // <- another place
  });
  CHECK(places.error.code == Errc::lanes_disagree);
  CHECK(places.at.line == marked("one place"));
  REQUIRE(places.other);
  CHECK(places.other->at.line == marked("another place"));

  // A warp that is not whole.
  CHECK(fault_of([] { (void)mma<m16n8k16, f32, f16>(A{}, B{}, Sums{}); }, 40).warp == 1);
}

TEST_CASE("a form must exist on the target", "[quick][device]") {
  const Launched launched = run([] { (void)mma<m16n8k32, f32, e4m3>(A{}, B{}, Sums{}); }, 32, "sm_80");
  REQUIRE_FALSE(launched.ok());
  CHECK(launched.fault->error.code == Errc::not_on_target);
}

TEST_CASE("what an instruction refuses names the place", "[quick][device]") {
  const Fault fault = fault_of([] {
    (void)mma_sp<m16n8k32, f32, bf16>(A{}, A{}, Sums{}, 0);  // <- no metadata
  });
  CHECK(fault.error.code == Errc::undefined_operand);
  CHECK(fault.error.where == "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32");
  CHECK(fault.lanes == range(0, 31));
  CHECK(fault.at.line == marked("no metadata"));
}

TEST_CASE("a barrier is for all threads", "[quick][device]") {
  const Fault branch = fault_of([] {
    if (lane() < 8)
      __syncthreads();  // <- one barrier
    else
      __syncthreads();  // <- another barrier
  });
  CHECK(branch.error.code == Errc::threads_diverge);
  CHECK(branch.lanes == range(8, 31));
  CHECK(branch.at.line == marked("one barrier"));
  REQUIRE(branch.other);
  CHECK(branch.other->at.line == marked("another barrier"));
  const Fault warps = fault_of(
      [] {
        if (thread() < 32)
          __syncthreads();
        else
          __syncthreads();
      },
      64);
  CHECK(warps.error.code == Errc::threads_diverge);
  CHECK(warps.warp == 1);
  // Threads that have ended are not waited for.
  require_ok(run(
      [] {
        if (thread() % 3 == 0) return;
        __syncthreads();
      },
      100));
}

// ---- Shuffles and votes

TEST_CASE("shuffles and votes", "[quick][device]") {
  require_ok(run([] {
    const int l = lane();
    CHECK(__shfl_sync(kWholeWarp, l * 10, 7) == 70);
    CHECK(__shfl_sync(kWholeWarp, l * 10, 35) == 30);
    CHECK(__shfl_sync(kWholeWarp, l, 3, 8) == l / 8 * 8 + 3);
    CHECK(__shfl_up_sync(kWholeWarp, l, 1) == (l == 0 ? 0 : l - 1));
    CHECK(__shfl_down_sync(kWholeWarp, l, 4, 16) == (l % 16 >= 12 ? l : l + 4));
    CHECK(__shfl_xor_sync(kWholeWarp, l + 0.5, 16) == (l ^ 16) + 0.5);
    CHECK(__shfl_xor_sync(kWholeWarp, l, 8, 8) == (l % 16 < 8 ? l : l - 8));
    CHECK(__ballot_sync(kWholeWarp, l % 4 == 1) == 0x2222'2222);
    CHECK(__any_sync(kWholeWarp, l == 3));
    CHECK_FALSE(__all_sync(kWholeWarp, l == 3));
    CHECK(__all_sync(kWholeWarp, l < 32));
    if (l < 10) CHECK(__activemask() == 0x3FF);
    if (l < 4) CHECK(__ballot_sync(0xF, l != 2) == 0b1011);
  }));
  require_ok(run([] { CHECK(__ballot_sync(kWholeWarp, true) == (thread() < 32 ? 0xFFFF'FFFFu : 0xFFu)); }, 40));
}

TEST_CASE("a shuffle reads a lane that takes part", "[quick][device]") {
  const Fault fault = fault_of([] {
    if (lane() < 16) (void)__shfl_sync(0x0000'FFFF, lane(), lane() + 1);  // <- shuffled
  });
  CHECK(fault.error.message() ==
        "__shfl_sync: lane 15 reads lane 16, which takes no part; a lane that executes it: "
        "0-15");
  CHECK(fault.lanes == Lanes{15});
  CHECK(fault.at.line == marked("shuffled"));
  CHECK(
      fault_of([] { (void)__shfl_sync(0xFF, lane(), 0); }).error.message() ==
      "__shfl_sync: its mask 0x000000ff does not name lane 8, which executes it; the mask must name every lane that executes it");
  const Fault missing = fault_of([] {
    if (lane() == 0) (void)__shfl_sync(kWholeWarp, 1, 0);
    __syncthreads();
  });
  CHECK(missing.error.code == Errc::threads_diverge);
  CHECK(missing.lanes == range(1, 31));
  CHECK(fault_of([] { (void)__shfl_sync(kWholeWarp, 1, 0, 12); }).error.message() ==
        "__shfl_sync: width 12 is undefined; defined is 1, 2, 4, 8, 16 or 32");
}

}  // namespace device_faults_test
