// SPDX-License-Identifier: Apache-2.0
// Each mistake with products of a warpgroup that a launch finds, alone and in its smallest kernel, beside its
// correct neighbour.
#include <catch2/catch.hpp>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "device_inputs.hpp"
#include "warpbit/device.hpp"

namespace device_wgmma_faults_test {

using namespace warpbit;
using namespace warpbit::device;
using Lanes = std::vector<int>;

constexpr const char* kForm = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16";

Launched run(const std::function<void()>& kernel, unsigned threads = 128, std::string_view on = "sm_90a") {
  return launch({device_inputs::target(on), {}, {threads}, 4096}, kernel);
}

void require_ok(const Launched& launched) {
  INFO((launched ? "" : launched.fault->message()));
  REQUIRE(launched.ok());
}

Fault fault_of(const std::function<void()>& kernel, unsigned threads = 128, std::string_view on = "sm_90a") {
  const Launched launched = run(kernel, threads, on);
  REQUIRE_FALSE(launched.ok());
  return *launched.fault;
}

unsigned marked(const std::string& comment) {
  return device_inputs::line_of("tests/device_wgmma_faults_test.cpp", " // <- " + comment + "\n");
}

int thread() {
  return static_cast<int>(threadIdx.x);
}
Lanes range(int first, int last) {
  Lanes out;
  for (int i = first; i <= last; ++i) out.push_back(i);
  return out;
}

// A of 64 x 16 in bytes 0 to 0x7ff, B of 16 x 8 in 0x800 to 0x8ff.
SharedArray<std::uint16_t> tile() {
  return shared_array<std::uint16_t>(0, 2048);
}
std::uint64_t a_at() {
  return matrix_descriptor(tile(), 128, 256, Swizzle::none);
}
std::uint64_t b_at() {
  return matrix_descriptor(tile() + 1024, 128, 256, Swizzle::none);
}

// Each thread writes 9 elements, one of them of B.
void fill(bool fence = true, bool barrier = true) {
  for (int i = 0; i < 9; ++i) tile()[(i * 128 + thread()) % 1152] = 0x3C00;  // <- written
  if (fence) fence_proxy_async();
  if (barrier) __syncthreads();
}

using Sums = AsyncFragment<float, 4>;
using A = AsyncFragment<std::uint32_t, 4>;
using Shape = m64nNkK<8, 16>;

void multiply(Sums& d, device::Place at = device::Place::here()) {
  wgmma<Shape, f32, f16>(d, a_at(), b_at(), true, at);
}
void multiply(Sums& d, const A& a, device::Place at = device::Place::here()) {
  wgmma<Shape, f32, f16>(d, a, b_at(), true, at);
}
void finish() {
  wgmma_commit_group();
  wgmma_wait_group<0>();
}

void check_group(const Fault& fault) {
  CHECK(fault.warp == 0);
  CHECK(fault.warps == 4);
  CHECK(fault.lanes == range(0, 31));
}

// ---- Registers

TEST_CASE("a product needs a fence behind writes to its registers", "[quick][device]") {
  const auto kernel = [](bool first, bool second) {
    return [=] {
      fill();
      Sums d;
      if (first) wgmma_fence();
      multiply(d);  // <- unfenced
      finish();
      d[2] = 1.0f;  // <- changed
      if (second) wgmma_fence();
      multiply(d);  // <- changed before
      finish();
      const float sum = d[2];
      if (sum != 17.0f) throw std::runtime_error("another sum");
    };
  };
  require_ok(run(kernel(true, true)));
  const Fault none = fault_of(kernel(false, true));
  CHECK(none.error.message() ==
        std::string(kForm) +
            ": no wgmma.fence came before this wgmma, the first of these warps; all four warps must execute "
            "wgmma.fence before it, after the last access to the registers of this wgmma");
  CHECK(none.at.line == marked("unfenced"));
  check_group(none);
  const Fault changed = fault_of(kernel(true, false));
  CHECK(changed.error.code == Errc::protocol_violation);
  CHECK(changed.error.seen.find("register 2 of the fragment of line ") == 0);
  CHECK(changed.error.seen.find(" is part of D, and was accessed by a thread after the last wgmma.fence") !=
        std::string::npos);
  CHECK(changed.error.accepted ==
        "all four warps must execute wgmma.fence between that access and this statement");
  CHECK(changed.at.line == marked("changed before"));
  check_group(changed);
  REQUIRE(changed.other);
  CHECK(changed.other->warps == 1);
  CHECK(changed.other->at.line == marked("changed"));
}

TEST_CASE("products of one shape share D without a fence, others do not", "[quick][device]") {
  const auto kernel = [](bool fence) {
    return [=] {
      fill();
      Sums d;
      wgmma_fence();
      multiply(d);
      multiply(d);
      wgmma_commit_group();
      wgmma_wait_group<0>();
      if (fence) wgmma_fence();
      wgmma<m64nNkK<8, 8>, f32, tf32>(d, a_at(), b_at(), true);  // <- other shape
      finish();
    };
  };
  require_ok(run(kernel(true)));
  const Fault fault = fault_of(kernel(false));
  CHECK(fault.error.seen.find("was accessed as an accumulator of m64n8k16 after") != std::string::npos);
  CHECK(fault.at.line == marked("other shape"));
}

TEST_CASE("an accumulator is read when its group has been waited for", "[quick][device]") {
  const auto kernel = [](auto wait) {
    return [=] {
      fill();
      Sums d, other;
      wgmma_fence();
      multiply(d);  // <- of d
      wgmma_commit_group();
      multiply(other);
      wgmma_commit_group();
      wait();
      if (thread() == 37) (void)float(d[3]);  // <- read early
      wgmma_wait_group<0>();
    };
  };
  require_ok(run(kernel([] { wgmma_wait_group<1>(); })));
  require_ok(run(kernel([] { wgmma_wait_group<0>(); })));
  const Fault fault = fault_of(kernel([] { wgmma_wait_group<2>(); }));
  CHECK(fault.error.code == Errc::protocol_violation);
  CHECK(fault.error.where == "read of an AsyncFragment");
  CHECK(fault.error.seen.find(" is read, but it is an accumulator of " + std::string(kForm) +
                              ", which is not complete") != std::string::npos);
  CHECK(fault.error.accepted == "wgmma.wait_group 1 must come before this statement");
  CHECK(fault.warp == 1);
  CHECK(fault.lanes == Lanes{5});
  CHECK(fault.at.line == marked("read early"));
  REQUIRE(fault.other);
  CHECK(fault.other->warps == 4);
  CHECK(fault.other->at.line == marked("of d"));
}

TEST_CASE("copies of an accumulator read it", "[quick][device]") {
  for (const int way : {0, 1, 2}) {
    const Fault fault = fault_of([way] {
      fill();
      Sums d, copy;
      wgmma_fence();
      multiply(d);
      wgmma_commit_group();
      if (way == 0) Sums third = d;
      if (way == 1) copy = d;
      if (way == 2) d = Sums();
    });
    INFO(way);
    CHECK(fault.error.where == (way < 2 ? "read of an AsyncFragment" : "write to an AsyncFragment"));
    CHECK(fault.error.accepted == "wgmma.wait_group 0 must come before this statement");
    CHECK(fault.at.line >= marked("read early"));
  }
}

TEST_CASE("A in registers stays until its product is complete", "[quick][device]") {
  const auto kernel = [](bool wait) {
    return [=] {
      fill();
      Sums d;
      A a = Fragment<std::uint32_t, 4>{{0x3C003C00, 0x3C003C00, 0x3C003C00, 0x3C003C00}};
      wgmma_fence();
      multiply(d, a);  // <- with a
      wgmma_commit_group();
      if (wait) wgmma_wait_group<0>();
      a[1] = 0;  // <- overwritten
      wgmma_wait_group<0>();
      const float sum = d[0];
      if (sum != 16.0f) throw std::runtime_error("another sum");
    };
  };
  require_ok(run(kernel(true)));
  const Fault fault = fault_of(kernel(false));
  CHECK(fault.error.where == "write to an AsyncFragment");
  CHECK(fault.error.seen.find("register 1 of the fragment of line ") == 0);
  CHECK(fault.error.seen.find(" is written, but it is part of A of ") != std::string::npos);
  CHECK(fault.at.line == marked("overwritten"));
  REQUIRE(fault.other);
  CHECK(fault.other->at.line == marked("with a"));
}

TEST_CASE("a fragment does not end before its product", "[quick][device]") {
  const auto kernel = [](bool wait) {
    return [=] {
      fill();
      Sums d;
      {
        A a;  // <- short
        wgmma_fence();
        multiply(d, a);  // <- with the short one
        wgmma_commit_group();
        if (wait) wgmma_wait_group<0>();
      }
      wgmma_wait_group<0>();
    };
  };
  require_ok(run(kernel(true)));
  const Fault fault = fault_of(kernel(false));
  CHECK(fault.error.where == "end of an AsyncFragment");
  CHECK(fault.error.seen.find(" is given up, but it is part of A of ") != std::string::npos);
  CHECK(fault.at.line == marked("short"));
  REQUIRE(fault.other);
  CHECK(fault.other->at.line == marked("with the short one"));
}

TEST_CASE("a fragment has so many registers", "[quick][device]") {
  const Fault fault = fault_of([] {
    Sums d;
    d[4] = 1.0f;  // <- no such register
  });
  CHECK(fault.error.code == Errc::address_out_of_bounds);
  CHECK(fault.at.line == marked("no such register"));
}

TEST_CASE("lanes may have other fragments in a branch, and give the same ones to a product",
          "[quick][device]") {
  require_ok(run([] {
    fill();
    if (thread() % 2 == 0) {
      A only_here;
      only_here[0] = 1;
    }
    Sums d;
    wgmma_fence();
    multiply(d);
    finish();
  }));
  const Fault fault = fault_of([] {
    fill();
    Sums one, two;
    wgmma_fence();
    multiply(thread() == 70 ? two : one);  // <- one of two
    finish();
  });
  CHECK(
      fault.error.message() ==
      std::string(kForm) +
          ": d is another fragment in lane 6 of warp 2 than in lane 0 of warp 0; all lanes must give the same");
  CHECK(fault.warp == 2);
  CHECK(fault.lanes == Lanes{6});
  CHECK(fault.at.line == marked("one of two"));
}

// ---- Shared memory

TEST_CASE("a product needs a proxy fence behind generic writes", "[quick][device]") {
  const auto kernel = [](bool writer, bool reader, int reading) {
    return [=] {
      fill(writer);
      if (reader && thread() < reading) fence_proxy_async_shared_cta();
      Sums d;
      wgmma_fence();
      multiply(d);  // <- through the async proxy
      finish();
    };
  };
  require_ok(run(kernel(true, false, 0)));
  require_ok(run(kernel(false, true, 128)));
  for (const Fault& fault : {fault_of(kernel(false, false, 0)), fault_of(kernel(false, true, 127))}) {
    CHECK(fault.error.seen.find("which was written through the generic proxy") != std::string::npos);
    CHECK(
        fault.error.accepted ==
        "the thread of that write must execute fence.proxy.async after it, and before any barrier that comes between them");
    CHECK(fault.at.line == marked("through the async proxy"));
    check_group(fault);
    REQUIRE(fault.other);
    CHECK(fault.other->at.line == marked("written"));
    REQUIRE(fault.address);
    CHECK(fault.address->space == Space::shared);
  }
  // One thread that knows of all writes fences for all others.
  require_ok(run([] {
    fill(false);
    if (thread() == 77) fence_proxy_async();
    __syncthreads();
    Sums d;
    wgmma_fence();
    multiply(d);
    finish();
  }));
  // Lane 0 knows of its warp by __syncwarp, the others only of their own.
  for (const bool together : {false, true}) {
    const Launched launched = run([=] {
      fill(false, false);
      if (together) __syncwarp();
      if (thread() % 32 == 0) fence_proxy_async();
      __syncthreads();
      Sums d;
      wgmma_fence();
      multiply(d);
      finish();
    });
    CHECK(launched.ok() == together);
  }
}

TEST_CASE("a fence does not order later writes", "[quick][device]") {
  const Fault fault = fault_of([] {
    fill(true, false);
    if (thread() == 5) tile()[5] = 0x4000;  // <- behind the fence
    __syncthreads();
    Sums d;
    wgmma_fence();
    multiply(d);
    finish();
  });
  CHECK(
      fault.error.message() ==
      std::string(kForm) +
          ": it reads shared memory 0xa to 0xb, which was written through the generic proxy, and no "
          "fence.proxy.async came between that write and this statement; the thread of that write must execute "
          "fence.proxy.async after it, and before any barrier that comes between them");
  REQUIRE(fault.other);
  CHECK(fault.other->lanes == Lanes{5});
  CHECK(fault.other->at.line == marked("behind the fence"));
  CHECK(fault.address->byte == 10);
}

TEST_CASE("cp.async writes through the generic proxy, when it is waited for", "[quick][device]") {
  const std::vector<std::uint16_t> source(1152, 0x3C00);
  const GlobalArray<const std::uint16_t> from(source);
  const auto kernel = [&](int fence) {  // 0: none, 1: before the wait, 2: behind it
    return [&, fence] {
      for (int i = thread(); i < 144; i += 128) cp_async_cg(tile() + 8 * i, from + 8 * i);  // <- copied
      if (fence == 1) fence_proxy_async();
      cp_async_wait_all();
      if (fence == 2) fence_proxy_async();
      __syncthreads();
      Sums d;
      wgmma_fence();
      multiply(d);
      finish();
    };
  };
  require_ok(run(kernel(2)));
  for (const int fence : {0, 1}) {
    const Fault fault = fault_of(kernel(fence));
    CHECK(
        fault.error.accepted ==
        "the thread of that write must execute fence.proxy.async after it, and before any barrier that comes between them");
    REQUIRE(fault.other);
    CHECK(fault.other->at.line == marked("copied"));
  }
}

TEST_CASE("a product reads as all lanes of its warpgroup", "[quick][device]") {
  // Each warp writes and waits for itself: lanes of other warps have not been waited for.
  const Fault race = fault_of([] {
    fill(true, false);
    __syncwarp();
    Sums d;
    wgmma_fence();
    multiply(d);  // <- without a barrier
    finish();
  });
  CHECK(race.error.code == Errc::data_race);
  CHECK(race.error.accepted == "a __syncthreads must come between them");
  CHECK(race.at.line == marked("without a barrier"));
  check_group(race);
  REQUIRE(race.other);
  CHECK(race.other->at.line == marked("written"));

  const Fault never = fault_of([] {
    if (thread() != 9)
      fill();
    else
      __syncthreads();
  });
  CHECK(never.error.code == Errc::threads_diverge);
  const Fault hole = fault_of([] {
    for (int i = 0; i < 8; ++i) tile()[i * 128 + thread()] = 0;
    fence_proxy_async();
    __syncthreads();
    Sums d;
    wgmma_fence();
    multiply(d);  // <- B is not there
    finish();
  });
  CHECK(
      hole.error.message() ==
      std::string(kForm) +
          ": bytes 0x800 to 0x8ff of shared memory have never been written; they must be written before this statement");
  CHECK(hole.at.line == marked("B is not there"));
  check_group(hole);
}

TEST_CASE("a product does not read what is still copied", "[quick][device]") {
  const std::vector<std::uint16_t> source(8, 0x3C00);
  const GlobalArray<const std::uint16_t> from(source);
  const Fault fault = fault_of([&] {
    fill();
    if (thread() == 64) cp_async_cg(tile() + 8, from);  // <- on its way
    __syncthreads();
    Sums d;
    wgmma_fence();
    multiply(d);  // <- too early
    finish();
  });
  CHECK(fault.error.code == Errc::copy_pending);
  CHECK(fault.at.line == marked("too early"));
  REQUIRE(fault.other);
  CHECK(fault.other->warp == 2);
  CHECK(fault.other->at.line == marked("on its way"));
}

TEST_CASE("a tile stays until its product is complete", "[quick][device]") {
  const std::vector<std::uint16_t> source(8, 0x3C00);
  const GlobalArray<const std::uint16_t> from(source);
  const auto kernel = [&](bool wait, bool barrier, bool copies) {
    return [&, wait, barrier, copies] {
      fill();
      Sums d;
      wgmma_fence();
      multiply(d);  // <- reads
      wgmma_commit_group();
      if (wait) wgmma_wait_group<0>();
      if (barrier) __syncthreads();
      if (thread() == 33 && !copies) tile()[1027] = 0;                 // <- overwrites
      if (thread() == 33 && copies) cp_async_cg(tile() + 1024, from);  // <- copies over
      cp_async_wait_all();
      wgmma_wait_group<0>();
    };
  };
  require_ok(run(kernel(true, true, false)));
  require_ok(run(kernel(true, true, true)));
  for (const bool copies : {false, true}) {
    // A barrier is no wait.
    const Fault early = fault_of(kernel(false, true, copies));
    CHECK(early.error.code == Errc::protocol_violation);
    CHECK(early.error.seen.ends_with(copies ? " reads shared memory 0x800 to 0x80f and is not complete"
                                            : " reads shared memory 0x806 to 0x807 and is not complete"));
    CHECK(early.error.accepted ==
          "all four warps must execute wgmma.wait_group 0, and then a barrier, before this statement");
    CHECK(early.warp == 1);
    CHECK(early.lanes == Lanes{1});
    CHECK(early.at.line == marked(copies ? "copies over" : "overwrites"));
    REQUIRE(early.other);
    CHECK(early.other->warps == 4);
    CHECK(early.other->at.line == marked("reads"));
    // A warp's wait says nothing of the others.
    const Fault race = fault_of(kernel(true, false, copies));
    CHECK(race.error.code == Errc::data_race);
    CHECK(race.at.line == marked(copies ? "copies over" : "overwrites"));
    REQUIRE(race.other);
    CHECK(race.other->at.line == marked("reads"));
  }
}

// The barrier is behind the product, but not behind its end.
TEST_CASE("a product reads until it has been waited for", "[quick][device]") {
  const auto kernel = [](bool barrier) {
    return [=] {
      if (thread() < 128) {
        for (int i = 0; i < 9; ++i) tile()[i * 128 + thread()] = 0x3C00;
        fence_proxy_async();
      }
      __syncthreads();
      Sums d;
      if (thread() < 128) {
        wgmma_fence();
        multiply(d);  // <- long
        wgmma_commit_group();
      }
      __syncthreads();
      if (thread() < 128) wgmma_wait_group<0>();
      if (barrier) __syncthreads();
      if (thread() >= 128) tile()[thread()] = 0;  // <- by the other warpgroup
    };
  };
  require_ok(run(kernel(true), 256));
  const Fault fault = fault_of(kernel(false), 256);
  CHECK(fault.error.code == Errc::data_race);
  CHECK(fault.warp == 4);
  CHECK(fault.at.line == marked("by the other warpgroup"));
  REQUIRE(fault.other);
  CHECK(fault.other->at.line == marked("long"));
}

TEST_CASE("descriptors are within shared memory and the same in all lanes", "[quick][device]") {
  const Fault outside = fault_of([] {
    fill();
    Sums d;
    const std::uint64_t a = matrix_descriptor(tile() + 1152, 128, 256, Swizzle::none);
    wgmma_fence();
    wgmma<Shape, f32, f16>(d, a, b_at(), true);  // <- A out
    finish();
  });
  CHECK(outside.error.code == Errc::address_out_of_bounds);
  CHECK(outside.at.line == marked("A out"));
  REQUIRE(outside.address);
  CHECK(outside.address->byte == 2304 + 2047);
  CHECK(outside.error.seen.find("the bytes up to address 0x10ff that a_desc ") == 0);

  const Fault different = fault_of([] {
    fill();
    Sums d;
    wgmma_fence();
    wgmma<Shape, f32, f16>(d, a_at(), thread() / 2 == 36 ? a_at() : b_at(), true);  // <- two of B
    finish();
  });
  CHECK(different.error.code == Errc::lanes_disagree);
  CHECK(different.warp == 2);
  CHECK(different.lanes == Lanes{8, 9});
  CHECK(different.at.line == marked("two of B"));

  CHECK(fault_of([] { (void)matrix_descriptor(tile() + 4, 128, 256, Swizzle::none); }).error.code ==
        Errc::address_misaligned);
  CHECK(fault_of([] { (void)matrix_descriptor(tile(), 8, 256, Swizzle::none); }).error.code ==
        Errc::descriptor_field);
  CHECK(fault_of([] { (void)matrix_descriptor(tile(), 16, 1 << 18, Swizzle::none); }).error.code ==
        Errc::descriptor_field);
}

// ---- Warps that do not meet

TEST_CASE("four warps execute a product", "[quick][device]") {
  const Fault ended = fault_of([] {
    fill();
    if (thread() / 32 == 2) return;
    wgmma_fence();  // <- by three
  });
  CHECK(ended.error.message() ==
        "wgmma.fence.sync.aligned: executed by warps 0-1, 3, but warp 2 has ended; all four warps of the "
        "warpgroup "
        "must execute it, at one place");
  CHECK(ended.error.code == Errc::lanes_missing);
  CHECK(ended.lanes == range(0, 31));
  CHECK(ended.at.line == marked("by three"));
  REQUIRE(ended.other);
  CHECK(ended.other->warp == 2);

  const Fault branch = fault_of([] {
    fill();
    if (thread() < 96) wgmma_fence();
    __syncthreads();  // <- past it
  });
  CHECK(branch.error.code == Errc::threads_diverge);
  CHECK(branch.error.seen == "executed by warps 0-2, but __syncthreads by warp 3");
  REQUIRE(branch.other);
  CHECK(branch.other->at.line == marked("past it"));

  const Fault lanes = fault_of([] {
    fill();
    if (thread() % 32 < 16) wgmma_fence();
    __syncthreads();
  });
  CHECK(lanes.error.message() ==
        "wgmma.fence.sync.aligned: executed by lanes 0-15, but __syncthreads by lanes 16-31; all lanes of the "
        "warpgroup must execute it, at one place");

  const Fault forms = fault_of([] {
    fill();
    Sums d;
    wgmma_fence();
    if (thread() < 64)
      multiply(d);
    else
      wgmma<Shape, f32, f16, f16, -1>(d, a_at(), b_at(), true);  // <- another sign
  });
  CHECK(forms.error.code == Errc::lanes_disagree);
  CHECK(forms.error.where == kForm);
  REQUIRE(forms.other);
  CHECK(forms.other->warp == 2);
  CHECK(forms.other->at.line == marked("another sign"));

  CHECK(fault_of([] { wgmma_commit_group(); }, 96).error.seen ==
        "executed by warps 0-2, but there is no warp 3");
  CHECK(fault_of([] { wgmma_commit_group(); }, 100).error.code == Errc::lanes_missing);
}

TEST_CASE("wgmma and its proxy fence exist on the target", "[quick][device]") {
  CHECK(fault_of([] { wgmma_fence(); }, 128, "sm_90").error.code == Errc::not_on_target);
  CHECK(fault_of([] { fence_proxy_async(); }, 1, "sm_80").error.code == Errc::not_on_target);
  require_ok(run([] { fence_proxy_async(); }, 1, "sm_90"));
}

TEST_CASE("the message names both sides", "[quick][device]") {
  const Fault fault = fault_of([] {
    fill();
    Sums d;
    wgmma_fence();
    multiply(d);                     // <- one side
    if (thread() == 0) d[0] = 1.0f;  // <- the other side
    finish();
  });
  const std::string file = __FILE__;
  INFO(fault.message());
  CHECK(fault.message().ends_with("\n  block (0, 0, 0)\n  " + file + ":" +
                                  std::to_string(marked("the other side")) + ": warp 0, lane 0\n  " + file +
                                  ":" + std::to_string(marked("one side")) +
                                  ": warps 0-3, lanes 0-31: issues the wgmma"));
}

}  // namespace device_wgmma_faults_test
