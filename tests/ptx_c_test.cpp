// SPDX-License-Identifier: Apache-2.0
// Kernels of PTX through the interface for C.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <set>
#include <string>

#include "small_kernels.hpp"
#include "warpbit/warpbit.h"

extern "C" const char* c_launch(const char* text, float y[50], float x[50]);

namespace ptx_c_test {

using small_kernels::kBlackwell, small_kernels::kHopper, small_kernels::kText;

struct Kernel {
  explicit Kernel(const char* name, const char* text = kText) {
    REQUIRE(warpbit_load_module(text, nullptr, &module) == WARPBIT_OK);
    REQUIRE(warpbit_find_kernel(module, name, &kernel) == WARPBIT_OK);
  }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel() {
    warpbit_free_kernel(kernel);
    warpbit_free_module(module);
  }
  warpbit_module* module = nullptr;
  warpbit_kernel* kernel = nullptr;
};

template <class T>
warpbit_argument value(T& number) {
  return {WARPBIT_VALUE, &number, sizeof number};
}

std::string message() {
  return fmt::format("{}: {}", warpbit_error_name(), warpbit_message());
}

TEST_CASE("C launches a kernel", "[quick][ptx_c]") {
  std::array<float, 50> x{}, y{};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i), y[i] = 1;
  const char* const failure = c_launch(kText, y.data(), x.data());
  INFO((failure == nullptr ? "" : failure));
  REQUIRE(failure == nullptr);
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == static_cast<float>(2 * i + 1));
}

// (1 + 2^-12)^2 - 1 is 2^-11 + 2^-24; the product alone, rounded to 24 bits, loses 2^-24.
TEST_CASE("products and sums are fused or not", "[quick][ptx_c]") {
  const Kernel saxpy("saxpy");
  float a = 1 + 0x1p-12F, x = a;
  std::uint32_t n = 1;
  for (const bool separate : {false, true}) {
    float y = -1;
    const warpbit_argument arguments[] = {
        {WARPBIT_BUFFER, &y, sizeof y}, {WARPBIT_BUFFER, &x, sizeof x}, value(a), value(n)};
    warpbit_launch_options how = WARPBIT_INIT(warpbit_launch_options);
    how.separate = separate;
    warpbit_launch_report report = WARPBIT_INIT(warpbit_launch_report);
    REQUIRE(warpbit_launch(saxpy.kernel, &how, arguments, 4, &report) == WARPBIT_OK);
    CHECK(y == (separate ? 0x1p-11F : 0x1p-11F + 0x1p-24F));
    CHECK(report.contracted == !separate);
  }
}

TEST_CASE("rules of the assembler act, are named, and do not act", "[quick][ptx_c]") {
  const Kernel saxpy("saxpy");
  float a = 1 + 0x1p-12F, x = a;
  std::uint32_t n = 1;
  const auto launch = [&](const warpbit_launch_options& how) {
    float y = -1;
    const warpbit_argument arguments[] = {
        {WARPBIT_BUFFER, &y, sizeof y}, {WARPBIT_BUFFER, &x, sizeof x}, value(a), value(n)};
    REQUIRE(warpbit_launch(saxpy.kernel, &how, arguments, 4, nullptr) == WARPBIT_OK);
    return y;
  };
  warpbit_launch_options how = WARPBIT_INIT(warpbit_launch_options);
  CHECK(launch(how) == 0x1p-11F + 0x1p-24F);
  REQUIRE(warpbit_assembled() != nullptr);
  CHECK(std::string(warpbit_assembled()) == "line 27: contract: add.f32 %f5, %f4, %f3");
  how.as_written = 1;
  CHECK(launch(how) == 0x1p-11F);
  CHECK(warpbit_assembled() == nullptr);
  how.size = offsetof(warpbit_launch_options, without);  // a caller that was compiled before there were rules
  CHECK(launch(how) == 0x1p-11F + 0x1p-24F);
  how = WARPBIT_INIT(warpbit_launch_options);
  for (const char* const without : {"contract", "fold, contract"}) {
    how.without = without;
    CHECK(launch(how) == 0x1p-11F);
  }
  how.without = "contraction";
  CHECK(warpbit_launch(saxpy.kernel, &how, nullptr, 0, nullptr) != WARPBIT_OK);
  CHECK(std::string(warpbit_error_name()) == "no_such_rule");
}

TEST_CASE("what the assembler gets wrong is noted", "[quick][ptx_c]") {
  const Kernel wrong("k", R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .b32 %r<3>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1];
  bfe.s32 %r2, %r1, 32, 8;
  st.global.u32 [%rd1], %r2; ret;
})");
  warpbit_launch_options how = WARPBIT_INIT(warpbit_launch_options);
  for (const bool as_written : {false, true}) {
    how.as_written = as_written;
    std::uint32_t word = 0x12345678;
    const warpbit_argument argument = {WARPBIT_BUFFER, &word, sizeof word};
    REQUIRE(warpbit_launch(wrong.kernel, &how, &argument, 1, nullptr) == WARPBIT_OK);
    CHECK(word == 0);  // the sign bit is 0; a GPU leaves ones
    CHECK((warpbit_notes() == nullptr) == as_written);
    if (!as_written)
      CHECK(
          std::string(warpbit_notes()) ==
          "line 8: bfe-position: bfe.s32 %r2, %r1, 32, 8: ptxas (13.0) makes it ones; by the PTX manual all bits are the "
          "sign");
  }
}

TEST_CASE("a structure has an address, a module variables", "[quick][ptx_c]") {
  const Kernel kernel("by_value");
  std::uint32_t to = 0;
  struct {
    std::uint64_t to;
    std::uint32_t plus, pad;
  } pair{0, 7, 0};
  REQUIRE(warpbit_address(&to, sizeof to, &pair.to) == WARPBIT_OK);
  void* counter = nullptr;
  std::size_t bytes = 0;
  REQUIRE(warpbit_variable(kernel.module, "counter", &counter, &bytes) == WARPBIT_OK);
  REQUIRE(bytes == 4);
  const auto count = [&] {
    std::uint32_t out = 0;
    std::memcpy(&out, counter, sizeof out);
    return out;
  };
  CHECK(count() == 3);
  const warpbit_launch_options how = WARPBIT_INIT(warpbit_launch_options);
  const warpbit_argument argument = value(pair);
  REQUIRE(warpbit_launch(kernel.kernel, &how, &argument, 1, nullptr) == WARPBIT_OK);
  CHECK(to == 7);
  CHECK(count() == 4);
  REQUIRE(warpbit_forget(pair.to) == WARPBIT_OK);
  CHECK(warpbit_launch(kernel.kernel, &how, &argument, 1, nullptr) == WARPBIT_MEMORY);
  CHECK(std::string(warpbit_error_name()) == "address_unknown");
  CHECK(warpbit_forget(pair.to) == WARPBIT_USAGE);
}

TEST_CASE("a fault is the message, and in the report", "[quick][ptx_c]") {
  const Kernel kernel("astray");
  const warpbit_launch_options how = WARPBIT_INIT(warpbit_launch_options);
  warpbit_launch_report report = WARPBIT_INIT(warpbit_launch_report);
  CHECK(warpbit_launch(kernel.kernel, &how, nullptr, 0, &report) == WARPBIT_MEMORY);
  CHECK(std::string(warpbit_error_name()) == "address_out_of_bounds");
  REQUIRE(report.fault != nullptr);
  CHECK(std::string(report.fault) == warpbit_message());
  CHECK(std::string(report.fault).find("\n  astray, block (0, 0, 0)") != std::string::npos);
  CHECK(report.blocks == 0);
}

TEST_CASE("what is inferred has a text", "[quick][ptx_c]") {
  std::string text = kText;
  text.replace(text.find("sm_90a"), 6, "sm_90");
  for (const char* const target : {"sm_90a", "sm_120a"}) {
    warpbit_module* module = nullptr;
    warpbit_kernel* kernel = nullptr;
    REQUIRE(warpbit_load_module(text.c_str(), target, &module) == WARPBIT_OK);
    REQUIRE(warpbit_find_kernel(module, "saxpy", &kernel) == WARPBIT_OK);
    const warpbit_launch_options how = WARPBIT_INIT(warpbit_launch_options);
    warpbit_launch_report report = WARPBIT_INIT(warpbit_launch_report);
    float a = 1, x = 1, y = 1;
    std::uint32_t n = 1;
    const warpbit_argument arguments[] = {
        {WARPBIT_BUFFER, &y, sizeof y}, {WARPBIT_BUFFER, &x, sizeof x}, value(a), value(n)};
    REQUIRE(warpbit_launch(kernel, &how, arguments, 4, &report) == WARPBIT_OK);
    const bool is_recorded = std::string(target) == "sm_90a";
    CHECK((report.inferred == 0) == is_recorded);
    CHECK((warpbit_inferences() == nullptr) == is_recorded);
    if (!is_recorded)
      CHECK(std::string(warpbit_inferences())
                .find(": assembler: contract: which statements it changes; as an H100") != std::string::npos);
    warpbit_free_kernel(kernel);
    warpbit_free_module(module);
  }
}

TEST_CASE("printf and a limit of steps", "[quick][ptx_c]") {
  const Kernel say("say"), forever("forever");
  warpbit_launch_options how = WARPBIT_INIT(warpbit_launch_options);
  warpbit_launch_report report = WARPBIT_INIT(warpbit_launch_report);
  how.grid[0] = 2;
  std::uint32_t n = 12;
  const warpbit_argument argument = value(n);
  REQUIRE(warpbit_launch(say.kernel, &how, &argument, 1, &report) == WARPBIT_OK);
  CHECK(std::string(report.printed) == "12\n12\n");
  how.step_limit = 100;
  std::uint32_t zero = 0;
  const warpbit_argument buffer{WARPBIT_BUFFER, &zero, sizeof zero};
  CHECK(warpbit_launch(forever.kernel, &how, &buffer, 1, &report) == WARPBIT_EXECUTION);
  CHECK(std::string(warpbit_error_name()) == "step_limit");
}

TEST_CASE("what a kernel leaves open is in the report", "[quick][ptx_c]") {
  const Kernel forever("forever");
  warpbit_launch_options how = WARPBIT_INIT(warpbit_launch_options);
  warpbit_launch_report report = WARPBIT_INIT(warpbit_launch_report);
  std::uint32_t one = 1;
  const warpbit_argument buffer{WARPBIT_BUFFER, &one, sizeof one};
  REQUIRE(warpbit_launch(forever.kernel, &how, &buffer, 1, &report) == WARPBIT_OK);
  CHECK(report.order_dependent == nullptr);
  how.block[0] = 2;
  REQUIRE(warpbit_launch(forever.kernel, &how, &buffer, 1, &report) == WARPBIT_OK);
  REQUIRE(report.order_dependent != nullptr);
  const std::string said = report.order_dependent;
  CHECK(said.starts_with("line "));
  CHECK(said.ends_with(": ld.volatile.global.u32: the value depends on when other threads write it"));
}

TEST_CASE("blocks form clusters", "[quick][ptx_c]") {
  const Kernel kernel("neighbours", kHopper);
  const auto after = [&](std::uint32_t x, std::uint32_t y) {
    warpbit_launch_options how = WARPBIT_INIT(warpbit_launch_options);
    how.grid[0] = 4;
    how.cluster[0] = x;
    how.cluster[1] = y;
    std::array<std::uint32_t, 4> to{};
    const warpbit_argument buffer{WARPBIT_BUFFER, to.data(), sizeof to};
    CHECK(warpbit_launch(kernel.kernel, &how, &buffer, 1, nullptr) == WARPBIT_OK);
    return to;
  };
  CHECK(after(0, 0) == std::array<std::uint32_t, 4>{0, 1, 2, 3});
  CHECK(after(2, 0) == std::array<std::uint32_t, 4>{1, 0, 3, 2});
  CHECK(after(4, 1) == std::array<std::uint32_t, 4>{1, 2, 3, 0});
  warpbit_launch_options how = WARPBIT_INIT(warpbit_launch_options);
  how.grid[0] = 3;
  how.cluster[0] = 2;
  std::array<std::uint32_t, 3> to{};
  const warpbit_argument buffer{WARPBIT_BUFFER, to.data(), sizeof to};
  CHECK(warpbit_launch(kernel.kernel, &how, &buffer, 1, nullptr) == WARPBIT_EXECUTION);
  CHECK(std::string(warpbit_error_name()) == "launch_shape");
}

TEST_CASE("blocks take others that have not begun", "[quick][ptx_c]") {
  const Kernel kernel("taking", kBlackwell);
  const auto after = [&](std::int32_t cancel, std::uint64_t seed, std::uint64_t cancelled) {
    warpbit_launch_options how = WARPBIT_INIT(warpbit_launch_options);
    warpbit_launch_report report = WARPBIT_INIT(warpbit_launch_report);
    how.grid[0] = 5;
    how.cancel = cancel;
    how.cancel_seed = seed;
    std::array<std::uint32_t, 5> to{};
    const warpbit_argument buffer{WARPBIT_BUFFER, to.data(), sizeof to};
    CHECK(warpbit_launch(kernel.kernel, &how, &buffer, 1, &report) == WARPBIT_OK);
    CHECK(report.blocks + report.cancelled == 5);
    if (cancel != WARPBIT_CANCEL_RANDOM) CHECK(report.cancelled == cancelled);
    return to;
  };
  CHECK(after(WARPBIT_CANCEL_FIRST_COME, 0, 3) == std::array<std::uint32_t, 5>{0, 1, 0, 1, 0});
  CHECK(after(WARPBIT_CANCEL_NEVER, 0, 0) == std::array<std::uint32_t, 5>{0, 1, 2, 3, 4});
  CHECK(after(WARPBIT_CANCEL_ALWAYS, 0, 4) == std::array<std::uint32_t, 5>{});
  std::set<std::array<std::uint32_t, 5>> different;
  for (std::uint64_t seed = 0; seed < 10; ++seed) different.insert(after(WARPBIT_CANCEL_RANDOM, seed, 0));
  CHECK(different.size() > 3);
  warpbit_launch_options how = WARPBIT_INIT(warpbit_launch_options);
  how.cancel = WARPBIT_CANCEL_RANDOM + 1;
  CHECK(warpbit_launch(kernel.kernel, &how, nullptr, 0, nullptr) == WARPBIT_USAGE);
}

TEST_CASE("a lenient launch goes on behind what it finds", "[quick][ptx_c]") {
  const Kernel kernel("racing", kHopper);
  warpbit_launch_options how = WARPBIT_INIT(warpbit_launch_options);
  warpbit_launch_report report = WARPBIT_INIT(warpbit_launch_report);
  how.grid[0] = 2;
  how.block[0] = 64;
  std::uint32_t to = 0;
  const warpbit_argument buffer{WARPBIT_BUFFER, &to, sizeof to};
  CHECK(warpbit_launch(kernel.kernel, &how, &buffer, 1, &report) == WARPBIT_EXECUTION);
  CHECK(std::string(warpbit_error_name()) == "data_race");
  CHECK(report.findings == 0);
  how.lenient = 1;
  REQUIRE(warpbit_launch(kernel.kernel, &how, &buffer, 1, &report) == WARPBIT_OK);
  CHECK(to == 7);
  CHECK(report.fault == nullptr);
  CHECK(report.blocks == 2);
  CHECK(report.checked_shared > 0);
  CHECK(report.checked_global > 0);
  REQUIRE(report.findings == 1);
  warpbit_finding finding = WARPBIT_INIT(warpbit_finding);
  REQUIRE(warpbit_describe_finding(0, &finding) == WARPBIT_OK);
  CHECK(std::string(finding.name) == "data_race");
  CHECK(std::string(finding.rule) == "data_race");
  CHECK(std::string(finding.grade) == "finding");
  CHECK(std::string(finding.message).find("\n  racing, block (0, 0, 0)") != std::string::npos);
  CHECK(finding.times == 2);
  CHECK(warpbit_describe_finding(1, &finding) == WARPBIT_USAGE);
  CHECK(message() == "usage: finding: 1; expected 0 to 0");
  CHECK(warpbit_describe_finding(0, nullptr) == WARPBIT_USAGE);
  how.unchecked_global = 1;
  REQUIRE(warpbit_launch(kernel.kernel, &how, &buffer, 1, &report) == WARPBIT_OK);
  CHECK(report.checked_shared > 0);
  CHECK(report.checked_global == 0);
  how.unchecked_shared = 1;
  REQUIRE(warpbit_launch(kernel.kernel, &how, &buffer, 1, nullptr) == WARPBIT_OK);
  CHECK(warpbit_describe_finding(0, &finding) == WARPBIT_USAGE);
  CHECK(message() == "usage: finding: 0; expected none: the last launch has found nothing");
}

// Callers of an older library know less of a structure: the rest is not touched.
TEST_CASE("structures may be shorter", "[quick][ptx_c]") {
  const Kernel say("say");
  warpbit_launch_options how = WARPBIT_INIT(warpbit_launch_options);
  how.size = offsetof(warpbit_launch_options, separate);
  how.threads = -1;  // behind its end
  warpbit_launch_report report = WARPBIT_INIT(warpbit_launch_report);
  report.size = offsetof(warpbit_launch_report, fault);
  const char* const untouched = "untouched";
  report.fault = report.printed = untouched;
  std::uint32_t n = 1;
  const warpbit_argument argument = value(n);
  REQUIRE(warpbit_launch(say.kernel, &how, &argument, 1, &report) == WARPBIT_OK);
  CHECK(report.blocks == 1);
  CHECK(report.fault == untouched);
  CHECK(report.printed == untouched);
}

TEST_CASE("calls that are wrong are refused", "[quick][ptx_c]") {
  const Kernel saxpy("saxpy");
  warpbit_module* module = saxpy.module;
  warpbit_kernel* kernel = saxpy.kernel;
  warpbit_launch_options how = WARPBIT_INIT(warpbit_launch_options);
  warpbit_launch_report report = WARPBIT_INIT(warpbit_launch_report), no_size{};
  warpbit_parameter parameter = WARPBIT_INIT(warpbit_parameter);
  std::uint64_t address = 0;
  void* data = nullptr;
  std::size_t bytes = 0;
  const auto load = [](const char* text, const char* target) {
    warpbit_module* out = nullptr;
    const warpbit_status status = warpbit_load_module(text, target, &out);
    CHECK(out == nullptr);
    return status;
  };
  CHECK(load(nullptr, nullptr) == WARPBIT_USAGE);
  CHECK(load("", nullptr) == WARPBIT_STATEMENT);
  CHECK(load("int main() {}", nullptr) == WARPBIT_STATEMENT);
  CHECK(load(kText, "sm_1") == WARPBIT_STATEMENT);
  CHECK(load(kText, "sm_80") == WARPBIT_STATEMENT);
  CHECK(std::string(warpbit_error_name()) == "not_on_target");
  CHECK(warpbit_load_module(kText, nullptr, nullptr) == WARPBIT_USAGE);
  CHECK(warpbit_describe_module(nullptr, nullptr) == WARPBIT_USAGE);
  CHECK(warpbit_describe_module(module, nullptr) == WARPBIT_USAGE);
  CHECK(warpbit_kernel_name(nullptr, 0) == nullptr);
  CHECK(warpbit_kernel_name(module, -1) == nullptr);
  kernel = nullptr;
  CHECK(warpbit_find_kernel(module, nullptr, &kernel) == WARPBIT_USAGE);
  CHECK(warpbit_find_kernel(nullptr, "saxpy", &kernel) == WARPBIT_USAGE);
  CHECK(warpbit_find_kernel(module, "saxpx", &kernel) == WARPBIT_EXECUTION);
  CHECK(
      message() ==
      "no_such_kernel_entry: there is no kernel 'saxpx'; the module has saxpy, astray, by_value, forever, say");
  CHECK(kernel == nullptr);
  kernel = saxpy.kernel;
  CHECK(warpbit_describe_kernel(nullptr, nullptr) == WARPBIT_USAGE);
  CHECK(warpbit_describe_parameter(kernel, 4, &parameter) == WARPBIT_USAGE);
  CHECK(message() == "usage: parameter: 4; expected 0 to 3");
  CHECK(warpbit_describe_parameter(kernel, -1, &parameter) == WARPBIT_USAGE);
  CHECK(warpbit_variable(module, "none", &data, &bytes) == WARPBIT_EXECUTION);
  CHECK(warpbit_variable(module, "counter", nullptr, &bytes) == WARPBIT_USAGE);
  CHECK(warpbit_address(nullptr, 1, &address) == WARPBIT_USAGE);
  CHECK(warpbit_forget(1) == WARPBIT_USAGE);

  std::array<float, 4> y{};
  float a = 1;
  std::uint32_t n = 4;
  const warpbit_argument buffer{WARPBIT_BUFFER, y.data(), sizeof y};
  std::array<warpbit_argument, 4> arguments{buffer, buffer, value(a), value(n)};
  const auto launch = [&] { return warpbit_launch(kernel, &how, arguments.data(), arguments.size(), &report); };
  REQUIRE(launch() == WARPBIT_OK);
  CHECK(warpbit_launch(nullptr, &how, arguments.data(), 4, &report) == WARPBIT_USAGE);
  CHECK(warpbit_launch(kernel, nullptr, arguments.data(), 4, &report) == WARPBIT_USAGE);
  CHECK(warpbit_launch(kernel, &how, nullptr, 4, &report) == WARPBIT_USAGE);
  CHECK(warpbit_launch(kernel, &how, arguments.data(), 4, &no_size) == WARPBIT_USAGE);
  CHECK(warpbit_launch(kernel, &how, arguments.data(), 3, &report) == WARPBIT_EXECUTION);
  CHECK(message() == "argument_mismatch: saxpy: 3 arguments; expected 4");
  arguments[2].bytes = 3;
  CHECK(launch() == WARPBIT_EXECUTION);
  CHECK(message() == "argument_mismatch: argument 'a': 3 bytes; expected 4 bytes (.f32)");
  arguments[2] = {WARPBIT_NULL, nullptr, 0};
  CHECK(launch() == WARPBIT_EXECUTION);
  arguments[2] = {5, &a, sizeof a};
  CHECK(launch() == WARPBIT_USAGE);
  CHECK(message() == "usage: argument 2: kind 5; expected a warpbit_argument_kind");
  arguments[2] = {WARPBIT_VALUE, nullptr, 4};
  CHECK(launch() == WARPBIT_USAGE);
  arguments[2] = value(a);
  arguments[1].kind = WARPBIT_CONSTANT;
  CHECK(launch() == WARPBIT_OK);
  arguments[0].kind = WARPBIT_CONSTANT;
  CHECK(launch() == WARPBIT_MEMORY);
  arguments[0].kind = WARPBIT_UNWRITTEN;
  CHECK(launch() != WARPBIT_OK);
  CHECK(std::string(warpbit_error_name()) == "never_written");
  arguments[0].kind = WARPBIT_BUFFER;
  how.threads = -1;
  CHECK(launch() == WARPBIT_USAGE);
  how.threads = 0;
  how.block[0] = 1025;
  CHECK(launch() == WARPBIT_EXECUTION);
  CHECK(std::string(warpbit_error_name()) == "launch_shape");
  warpbit_free_module(nullptr);
  warpbit_free_kernel(nullptr);
}

}  // namespace ptx_c_test
