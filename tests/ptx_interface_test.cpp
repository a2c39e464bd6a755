// SPDX-License-Identifier: Apache-2.0
// Modules of PTX in C++: what lives how long, files, launches from several threads.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "archive.hpp"
#include "small_kernels.hpp"
#include "warpbit/ptx.hpp"

namespace ptx_interface_test {

using namespace warpbit;
using small_kernels::kText;

ptx::Module module_of(std::string text) {
  Result<ptx::Module> out = ptx::Module::load(std::move(text));
  REQUIRE(out.ok());
  return *out;
}
ptx::Function kernel_of(const ptx::Module& module, std::string_view name) {
  Result<ptx::Function> out = module.function(name);
  REQUIRE(out.ok());
  return *out;
}

TEST_CASE("a module is read from a file", "[quick][ptx]") {
  const archive::Directory directory;
  const archive::fs::path path = directory.path / "small.ptx";
  std::ofstream(path) << kText;
  const auto loaded = ptx::Module::load_file(path);
  REQUIRE(loaded.ok());
  CHECK(loaded->entries() == module_of(kText).entries());
  for (const archive::fs::path& none : {directory.path / "none.ptx", directory.path}) {
    const auto refused = ptx::Module::load_file(none);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == Errc::file_unreadable);
    CHECK(refused.error().where == none.string());
  }
}

// astray, from a source that .loc names.
TEST_CASE("a report outlives its module", "[quick][ptx]") {
  std::string text = kText;
  const std::string store = "  st.global.u64 [%rd1], %rd1;";
  REQUIRE(text.find(store) != text.npos);
  text.insert(text.find(store), "  .loc 1 42 0\n");
  text += "\n.file 1 \"a/source/with/a/long/name.cu\"\n";
  const ptx::Report report = [&] { return kernel_of(module_of(std::move(text)), "astray").launch({}, {}); }();
  REQUIRE(report.fault);
  CHECK(report.fault->error.code == Errc::address_out_of_bounds);
  CHECK(report.fault->error.where == "st.global.u64 [%rd1], %rd1");
  CHECK(report.fault->at.line == 42);
  CHECK_THAT(report.fault->message(),
             Catch::Contains("\n  a/source/with/a/long/name.cu:42: PTX line 37: warp 0, lane 0"));
}

TEST_CASE("a kernel keeps its module, and variables their values", "[quick][ptx]") {
  std::optional<ptx::Module> module = module_of(kText);
  const ptx::Function kernel = kernel_of(*module, "by_value");
  const std::span<std::byte> counter = *module->variable("counter");
  module.reset();
  std::uint32_t to = 0;
  struct {
    std::uint64_t to;
    std::uint32_t plus, pad;
  } const pair{ptx::address(std::as_writable_bytes(std::span(&to, 1))), 9, 0};
  for (std::uint32_t i = 1; i <= 2; ++i) {
    REQUIRE(kernel.launch({.grid = {5}}, {ptx::value(pair)}).ok());
    std::uint32_t count = 0;
    REQUIRE(counter.size() == sizeof count);
    std::memcpy(&count, counter.data(), sizeof count);
    CHECK(count == 3 + 5 * i);
  }
  CHECK(to == 9);
  CHECK(ptx::forget(pair.to));
  CHECK_FALSE(ptx::forget(pair.to));
}

TEST_CASE("launches of a module take turns", "[quick][ptx]") {
  const ptx::Module module = module_of(kText);
  const ptx::Function kernel = kernel_of(module, "by_value");
  constexpr int kThreads = 4, kLaunches = 10;
  std::array<std::uint32_t, kThreads> to{};
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const std::uint64_t address =
          ptx::address(std::as_writable_bytes(std::span(to).subspan(static_cast<std::size_t>(t), 1)));
      std::array<std::uint64_t, 2> pair{address, 100};
      for (int i = 0; i < kLaunches; ++i) failed += !kernel.launch({.grid = {3}}, {ptx::value(pair)}).ok();
      ptx::forget(address);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(failed == 0);
  std::uint32_t count = 0;
  std::memcpy(&count, module.variable("counter")->data(), sizeof count);
  CHECK(count == 3 + 3 * kThreads * kLaunches);
  for (const std::uint32_t number : to) CHECK(number == 100);
}

TEST_CASE("a constant array is read and not written", "[quick][ptx]") {
  const ptx::Function saxpy = kernel_of(module_of(kText), "saxpy");
  const std::vector<float> x{1, 2, 3, 4};
  std::vector<float> y{1, 1, 1, 1};
  const ptx::Launch how{.block = {4}};
  REQUIRE(saxpy.launch(how, {ptx::buffer(y), ptx::buffer(x), ptx::value(2.0F), ptx::value(4)}).ok());
  CHECK(y == std::vector<float>{3, 5, 7, 9});
  const ptx::Report report =
      saxpy.launch(how, {ptx::buffer(x), ptx::buffer(y), ptx::value(2.0F), ptx::value(4)});
  REQUIRE(report.fault);
  CHECK(report.fault->error.code == Errc::address_read_only);
  CHECK_THAT(report.fault->message(), Catch::Contains("'y' must not be written; it is constant"));
  CHECK(x == std::vector<float>{1, 2, 3, 4});
  // The same memory as both: the kernel reads what it writes.
  const std::vector<float>& same = y;
  REQUIRE(saxpy.launch(how, {ptx::buffer(y), ptx::buffer(same), ptx::value(1.0F), ptx::value(4)}).ok());
  CHECK(y == std::vector<float>{6, 10, 14, 18});
}

TEST_CASE("progress counts the blocks", "[quick][ptx]") {
  std::vector<std::uint64_t> seen;
  ptx::Launch how{.grid = {7}};
  how.progress = [&](std::uint64_t done, std::uint64_t blocks) {
    CHECK(blocks == 7);
    seen.push_back(done);
  };
  REQUIRE(kernel_of(module_of(kText), "say").launch(how, {ptx::value(1)}).ok());
  CHECK(seen == std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7});
}

constexpr std::string_view kHead = ".version 8.0\n.target sm_80\n.address_size 64\n";

// As ptxas says of this module.
TEST_CASE("a kernel has the shared variables of its own, and those that it or its functions name",
          "[quick][ptx]") {
  const ptx::Module module = module_of(std::string(kHead) + R"(
.shared .align 16 .b8 unused[4096];
.shared .align 16 .b8 of_function[64];
.shared .align 16 .b8 behind_pointer[256];
.func called() { .reg .b32 %r<2>; mov.u32 %r1, of_function; ret; }
.func behind_pointer_user() { .reg .b32 %r<2>; mov.u32 %r1, behind_pointer; ret; }
.global .u64 table[1] = {behind_pointer_user};
.entry alone() { .shared .align 16 .b8 own[1024]; .reg .b32 %r<2>; mov.u32 %r1, own; ret; }
.entry calls() { .shared .align 16 .b8 own[512]; .reg .b32 %r<2>; mov.u32 %r1, own; call called; ret; }
.entry points() { .reg .b64 %q<2>; mov.u64 %q1, table; ret; }
.entry none() { .shared .align 16 .b8 own[2048]; ret; }
)");
  CHECK(kernel_of(module, "alone").shared_bytes() == 1024);
  CHECK(kernel_of(module, "calls").shared_bytes() == 512 + 64);
  CHECK(kernel_of(module, "points").shared_bytes() == 256);
  CHECK(kernel_of(module, "none").shared_bytes() == 2048);
}

// Counts blocks in the grid's workspace, as cooperative_groups::this_grid().sync() does, whose address are %envreg1 and
// %envreg2. Behind it each block sees what all others have written before.
TEST_CASE("blocks wait for all of their grid", "[quick][ptx]") {
  const ptx::Module module = module_of(std::string(kHead) + R"(
.entry k(.param .u64 p, .param .u64 q) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %nctaid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd2, %rd2, %rd1;
  add.u32 %r3, %r1, 1;
  st.global.u32 [%rd2], %r3;
  mov.u32 %r4, %envreg2;
  mov.u32 %r5, %envreg1;
  mov.b64 %rd3, {%r4, %r5};
  atom.add.release.gpu.u32 %r6, [%rd3+4], 1;
WAIT:
  ld.acquire.gpu.u32 %r6, [%rd3+4];
  setp.lt.u32 %p1, %r6, %r2;
  @%p1 bra WAIT;
  mov.u32 %r7, 0;
  mov.u32 %r8, 0;
SUM:
  mul.wide.u32 %rd4, %r7, 4;
  add.u64 %rd4, %rd4, %rd1;
  ld.global.u32 %r6, [%rd4];
  add.u32 %r8, %r8, %r6;
  add.u32 %r7, %r7, 1;
  setp.lt.u32 %p1, %r7, %r2;
  @%p1 bra SUM;
  ld.param.u64 %rd5, [q];
  mul.wide.u32 %rd6, %r1, 4;
  add.u64 %rd5, %rd5, %rd6;
  st.global.u32 [%rd5], %r8;
  ret;
})");
  constexpr unsigned kBlocks = 20;
  for (const int threads : {1, 3}) {
    std::vector<std::uint32_t> numbers(kBlocks), sums(kBlocks);
    const ptx::Report report = kernel_of(module, "k")
                                   .launch({.grid = {kBlocks}, .block = {1}, .execute = {.threads = threads}},
                                           {ptx::buffer(numbers), ptx::buffer(sums)});
    REQUIRE(report.ok());
    CHECK(sums == std::vector<std::uint32_t>(kBlocks, kBlocks * (kBlocks + 1) / 2));
  }
}

TEST_CASE("what is not modelled is refused by its name, with its line and the reason", "[quick][ptx]") {
  const ptx::Module module = module_of(R"(.version 8.1
.target sm_90
.address_size 64

.entry k() { .reg .b32 %r<4>; .reg .b64 %rd<2>;
  multimem.red.relaxed.sys.global.add.u32 [%rd1],
    %r1;
  vadd4.u32.u32.u32 %r1, %r2, %r3, %r1;
  frobnicate.u32 %r1, %r2;
  ret;
})");
  std::vector<std::string> messages;  // of what is no PTX; a launch refuses the first statement
  for (const Error& error : module.check()) messages.push_back(error.message());
  CHECK(
      messages ==
      std::vector<std::string>{
          "line 9, column 3: frobnicate.u32 %r1, %r2: 'frobnicate' is not an instruction of this library; it has "
          "those of the PTX manual"});
  const Result<ptx::Function> kernel = module.function("k");
  REQUIRE_FALSE(kernel.ok());
  CHECK(
      kernel.error().message() ==
      "line 6, column 3: multimem.red.relaxed.sys.global.add.u32 [%rd1], %r1 is not modelled yet: there is one GPU");
}

}  // namespace ptx_interface_test
