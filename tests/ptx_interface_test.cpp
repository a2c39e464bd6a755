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

}  // namespace ptx_interface_test
