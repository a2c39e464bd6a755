// SPDX-License-Identifier: Apache-2.0
// What a module must not do to its host: files without end, calls without end, launches that wait for themselves, text that
// takes more than its length.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "warpbit/ptx.hpp"
#include "warpbit/result.hpp"
#include "warpbit/tensor_map.hpp"

namespace ptx_host_test {

using namespace warpbit;

const std::string kBegin = ".version 8.8\n.target sm_90a\n.address_size 64\n";

ptx::Module load(const std::string& text) {
  Result<ptx::Module> module = ptx::Module::load(kBegin + text);
  if (!module) FAIL(module.error().message());
  return *std::move(module);
}
ptx::Function kernel(const ptx::Module& module) {
  Result<ptx::Function> function = module.function("k");
  if (!function) FAIL(function.error().message());
  return *std::move(function);
}
Error refusal(const std::string& text) {
  const Result<ptx::Module> module = ptx::Module::load(kBegin + text);
  if (!module) return module.error();
  const Result<ptx::Function> function = module->function("k");
  REQUIRE_FALSE(function);
  return function.error();
}

// ---- Launches

TEST_CASE("a launch inside of another one of its module is refused") {
  const ptx::Module module = load(".visible .entry k() { ret; }"), other = load(".visible .entry k() { ret; }");
  const ptx::Function k = kernel(module), of_other = kernel(other);
  std::vector<ptx::Report> inner, of_others;
  const auto launches = [&] {
    inner.push_back(k.launch({}, {}));
    of_others.push_back(of_other.launch({}, {}));
  };
  for (const int threads : {1, 2}) {
    ptx::Launch how;
    how.execute.threads = threads;
    how.observe = [&](const ptx::Observation&) { return launches(), true; };
    CHECK(k.launch(how, {}).ok());
    how.observe = {};
    how.progress = [&](std::uint64_t, std::uint64_t) { launches(); };
    CHECK(k.launch(how, {}).ok());
  }
  REQUIRE(inner.size() == 4);
  for (const ptx::Report& one : inner) {
    REQUIRE(one.fault);
    CHECK(one.fault->error.code == Errc::launch_shape);
    CHECK_THAT(one.fault->message(), Catch::Contains("a launch inside of another one of its module"));
  }
  for (const ptx::Report& one : of_others) CHECK(one.ok());
  // One module that observes another, inside which the first is launched again.
  ptx::Launch outer, between;
  std::optional<ptx::Report> innermost;
  between.observe = [&](const ptx::Observation&) { return innermost = k.launch({}, {}), true; };
  outer.observe = [&](const ptx::Observation&) { return of_other.launch(between, {}).ok(); };
  CHECK_FALSE(k.launch(outer, {}).stopped);
  REQUIRE(innermost);
  CHECK(innermost->fault);
  CHECK(k.launch({}, {}).ok());
}

// A counter: no state comes twice.
constexpr const char* kForever =
    ".visible .entry k() { .reg .b64 %rd1; .reg .pred %p1; mov.b64 %rd1, 0; L: add.u64 %rd1, %rd1, 2; "
    "setp.ne.u64 %p1, %rd1, 1; @%p1 bra L; ret; }";

TEST_CASE("a process that is forked during a launch does not wait for it") {
  const ptx::Module module = load(kForever);
  const ptx::Function k = kernel(module);
  std::atomic<bool> stop = false;
  std::thread other([&] {
    const Stoppable stoppable(stop);
    CHECK_THROWS_AS(k.launch({}, {}), Stopped);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    ptx::Launch how;
    how.execute.threads = 1;
    const ptx::Report report = k.launch(how, {});
    _exit(report.fault && report.fault->error.code == Errc::launch_shape ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  stop = true;
  other.join();
}

TEST_CASE("a launch that waits for its turn can be stopped") {
  const ptx::Module module = load(kForever);
  const ptx::Function k = kernel(module);
  std::atomic<bool> stop = false, stop_waiting = false;
  const auto run = [&](const std::atomic<bool>& flag) {
    const Stoppable stoppable(flag);
    CHECK_THROWS_AS(k.launch({}, {}), Stopped);
  };
  std::thread first([&] { run(stop); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  std::thread second([&] { run(stop_waiting); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  stop_waiting = true;
  second.join();
  stop = true;
  first.join();
}

// ---- Parameters

TEST_CASE("parameters have an end, and a direction") {
  const auto body = [](const std::string& statement) {
    return ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n  .reg .b32 %r<3>; .reg .b64 %rd<3>;\n  " +
           statement + "\n  ret;\n}\n";
  };
  std::vector<std::uint32_t> out(2);
  const auto run = [&](const std::string& statement) {
    const ptx::Module module = load(body(statement));
    return kernel(module).launch({}, {ptx::buffer(out), ptx::value(7)});
  };
  CHECK(run("ld.param.u32 %r1, [out+4];").ok());
  for (const char* beyond :
       {"ld.param.u32 %r1, [out+8];", "ld.param.u64 %rd1, [out+8];", "ld.param.u64 %rd1, [n];",
        "ld.param.v2.u32 {%r1, %r2}, [out+8];", "ld.param.u32 %r1, [n+-8];"}) {
    INFO(beyond);
    const ptx::Report report = run(beyond);
    REQUIRE(report.fault);
    CHECK(report.fault->error.code == Errc::address_out_of_bounds);
    CHECK(report.fault->ptx_line == 7);
  }
  CHECK_THAT(refusal(body("mov.u32 %r1, 9; st.param.u32 [n], %r1;")).message(),
             Catch::StartsWith("line 7, column 19") && Catch::Contains("a store to 'n', which is a parameter"));
  const std::string calls =
      ".func (.param .b32 q) f(.param .b32 a) { .reg .b32 %r<2>; mov.u32 %r1, 1; MIDDLE ret; }\n.visible .entry k() { .param "
      ".b32 x; .param .b32 y; .reg .b32 %r<2>; mov.u32 %r1, 1; st.param.b32 [x], %r1; call.uni (y), f, (x); "
      "ld.param.b32 %r1, [y]; ret; }\n";
  const auto with = [&](const std::string& middle) {
    std::string text = calls;
    return text.replace(text.find("MIDDLE"), 6, middle);
  };
  CHECK(kernel(load(with("st.param.b32 [q], %r1; ld.param.b32 %r1, [a];"))).launch({}, {}).ok());
  CHECK_THAT(refusal(with("st.param.b32 [a], %r1;")).message(), Catch::Contains("a store to 'a'"));
  CHECK_THAT(refusal(with("ld.param.b32 %r1, [q];")).message(),
             Catch::Contains("a load of 'q', which is a result"));
  CHECK(kernel(load(with("st.param.b32 [q+4], %r1;"))).launch({}, {}).fault);
}

TEST_CASE("a prefetch by a tensor map that is none is a fault") {
  const ptx::Module module = load(R"(.visible .entry k(.param .align 64 .b8 m[128])
{
  .reg .b32 %r<2>; .reg .b64 %rd<2>;
  mov.b64 %rd1, m; cvta.param.u64 %rd1, %rd1; mov.u32 %r1, 0;
  cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {%r1, %r1}];
  ret;
})");
  const ptx::Report report = kernel(module).launch({}, {std::vector<std::byte>(128, std::byte{0x5A})});
  REQUIRE(report.fault);
  CHECK_THAT(report.fault->message(), Catch::Contains("tensor map"));
}

TEST_CASE("a prefetch by a tensor map of another rank is a fault") {
  TensorMap map;
  map.rank = 2;
  map.elemtype = TensorType::u32;
  map.global_address = std::uint64_t{1} << 20;
  map.global_dim = {16, 16};
  map.global_stride = {64};
  map.box_dim = {16, 16};
  map.element_stride = {1, 1};
  const Result<TensorMapBytes> bytes = map.encode();
  REQUIRE(bytes.ok());
  const auto prefetched = [&](const std::string& form) {
    const ptx::Module module = load(
        ".visible .entry k(.param .align 64 .b8 m[128])\n{ .reg .b64 %rd<2>; mov.b64 "
        "%rd1, m; cvta.param.u64 %rd1, %rd1; cp.async.bulk.prefetch.tensor." +
        form + "; ret; }");
    const std::vector<std::byte> argument(bytes->begin(), bytes->end());
    return kernel(module).launch({}, {argument});
  };
  CHECK(prefetched("2d.L2.global.tile [%rd1, {0, 0}]").ok());
  const ptx::Report report = prefetched("3d.L2.global.tile [%rd1, {0, 0, 0}]");
  REQUIRE(report.fault);
  CHECK_THAT(report.fault->message(),
             Catch::Contains("a tensor map of 2 dimensions; expected 3, as the instruction has"));
}

// ---- Texts

TEST_CASE("what is no regular file is not read") {
  for (const char* path : {"/dev/zero", "/dev/null", "/tmp"}) {
    const Result<ptx::Module> module = ptx::Module::load_file(path);
    REQUIRE_FALSE(module);
    CHECK(module.error().code == Errc::file_unreadable);
    CHECK_THAT(module.error().message(), Catch::Contains("not a regular file"));
  }
  CHECK_THAT(ptx::Module::load_file("/no/such/file").error().message(), Catch::Contains("No such file"));
}

TEST_CASE("registers that nothing names take no memory") {
  std::string text = ".visible .entry k(.param .u64 out) { .reg .b64 %rd<2147483648>;";
  for (int i = 0; i < 2000; ++i) text += ".reg .b32 %r" + std::to_string(i) + "x<1000000>;";
  const ptx::Module module = load(
      text +
      "ld.param.u64 %rd2147483646, [out]; mov.u32 %r7x999999, 5; st.global.u32 [%rd2147483646], %r7x999999; ret; }");
  std::vector<std::uint32_t> out(1);
  CHECK(kernel(module).launch({}, {ptx::buffer(out)}).ok());
  CHECK(out[0] == 5);
  const auto message = [](const std::string& declarations) {
    return refusal(".visible .entry k() { " + declarations + " ret; }").message();
  };
  CHECK_THAT(message(".reg .b32 %r<2147483649>;"), Catch::Contains("0 to 2147483648"));
  CHECK_THAT(message(".reg .b32 %r<3>; mov.u32 %r3, 0;"), Catch::Contains("'%r3'"));
  CHECK_THAT(message(".reg .b32 %r5; .reg .b32 %r<6>;"), Catch::Contains("a second time"));
  CHECK_THAT(message(".reg .b32 %r<6>; .reg .b32 %r5;"), Catch::Contains("a second time"));
  CHECK_THAT(message(".reg .b32 %r<6>, %r<2>;"), Catch::Contains("a second time"));
  CHECK_THAT(message(std::string(200, '{') + std::string(200, '}')), Catch::Contains("at most 100 levels"));
  load(".visible .entry k() { .reg .b32 %r6; .reg .b32 %r<6>; { .reg .b32 %r6, %r<6>; } ret; }");
  load(".visible .entry k() { .reg .b32 a; .reg .f16 a<2>; mov.b32 a, 5; mov.b32 {a0, a1}, a; ret; }");
  load(".visible .entry k() { .reg .f16 a<2>; .reg .b32 a; mov.b32 a, {a0, a1}; ret; }");
}

// Ten times the text takes at most twenty times as long, where it took a hundred times.
template <class Text>
void check_linear(Text text) {
  const auto seconds = [&](int n) {
    const auto begin = std::chrono::steady_clock::now();
    const ptx::Module module = load(text(n));
    CHECK(module.check().empty());
    CHECK(module.function("k"));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  seconds(100);  // tables are made
  const double few = seconds(1000);
  CHECK(seconds(10'000) < 20 * few + 0.5);
}

std::string repeated(int n, const std::function<std::string(const std::string&)>& text) {
  std::string out;
  for (int i = 0; i < n; ++i) out += text(std::to_string(i));
  return out;
}

TEST_CASE("large modules take time with their size", "[once]") {
  const std::string end = ".visible .entry k() { ret; }";
  check_linear([&](int n) {  // each calls the next
    return ".func f0() { ret; }\n" +
           repeated(n,
                    [](const std::string& i) {
                      return ".func f" + std::to_string(std::stoi(i) + 1) + "() { call.uni f" + i +
                             "; ret; }\n";
                    }) +
           ".visible .entry k() { call.uni f" + std::to_string(n) + "; ret; }";
  });
  check_linear([&](int n) {
    return repeated(n,
                    [](const std::string& i) { return ".func f" + i + "();\n.func g" + i + "() { ret; }\n"; }) +
           repeated(n, [](const std::string& i) { return ".alias f" + i + ", g" + i + ";\n"; }) +
           ".visible .entry k() { " +
           repeated(n, [](const std::string& i) { return "call.uni f" + i + ";\n"; }) + " ret; }";
  });
  check_linear([&](int n) {
    return ".global .u64 g0 = 1;\n" +
           repeated(n,
                    [](const std::string& i) {
                      return ".global .u64 g" + std::to_string(std::stoi(i) + 1) + " = g" + i + ";\n";
                    }) +
           ".visible .entry k() { .reg .b64 %rd<2>; ld.global.u64 %rd1, [g" + std::to_string(n) + "]; ret; }";
  });
  check_linear([&](int n) {
    return ".visible .entry k() { " +
           repeated(n,
                    [](const std::string& i) { return ".reg .b32 %a" + i + "x<2>; .reg .b32 b" + i + ";\n"; }) +
           " ret; }";
  });
}

TEST_CASE("the address of an alias calls the function that it is") {
  const ptx::Module module = load(R"(.func f();
.global .u32 seen;
.func g() { .reg .b32 %r<2>; mov.u32 %r1, 3; st.global.u32 [seen], %r1; ret; }
.alias f, g;
.visible .entry k() { .reg .b64 %rd<2>; mov.u64 %rd1, f; P: .callprototype _ (); call %rd1, P; call.uni f; ret; })");
  CHECK(kernel(module).launch({}, {}).ok());
  CHECK((*module.variable("seen"))[0] == std::byte{3});
}

}  // namespace ptx_host_test
