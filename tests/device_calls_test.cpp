// SPDX-License-Identifier: Apache-2.0
// vprintf, malloc, free and __assertfail: what they print and allocate, and that no kernel reaches the host by them.
#include <catch2/catch.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "grid/memory.hpp"
#include "grid/printed.hpp"
#include "warpbit/ptx.hpp"

namespace device_calls_test {

using namespace warpbit;

// ---- Formats

// Words as a kernel lays them: 4 or 8 bytes at a multiple of their size.
std::string printed(const std::string& format, const std::vector<std::byte>& bytes,
                    const std::string& text = "", int* count = nullptr) {
  int conversions = 0;
  std::size_t at = 0;
  const std::string out = grid::printed(format,
                                        {[&](std::uint64_t size) {
                                           at = (at + size - 1) / size * size;
                                           std::uint64_t value = 0;
                                           if (at + size <= bytes.size()) std::memcpy(&value, &bytes[at], size);
                                           at += size;
                                           return value;
                                         },
                                         [&](std::uint64_t, std::size_t most) { return text.substr(0, most); }},
                                        conversions);
  if (count != nullptr) *count = conversions;
  return out;
}

template <class T>
std::vector<std::byte> bytes_of(T value) {
  const auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  return {bytes.begin(), bytes.end()};
}

// As the C library formats it, which formats what a GPU prints.
template <class T>
std::string expected(const std::string& format, T value) {
  std::array<char, 4096> out;
  const int size = std::snprintf(out.data(), out.size(), format.c_str(), value);
  return {out.data(), static_cast<std::size_t>(size)};
}

TEST_CASE("conversions print what the C library prints") {
  for (const char* flags : {"", "-", "+", " ", "#", "0", "-#", "+0", " #0", "-+ #0"})
    for (const char* width : {"", "1", "7", "40"})
      for (const char* precision : {"", ".", ".0", ".1", ".5", ".20", ".400"}) {
        const std::string begin = std::string("%") + flags + width + precision;
        const auto same = [&](const std::string& type, auto value) {
          INFO(begin + type);
          CHECK(printed("<" + begin + type + ">", bytes_of(value)) ==
                expected("<" + begin + type + ">", value));
        };
        const bool has_sign = std::string_view(flags).find_first_of("+ ") != std::string_view::npos;
        const bool has_alternative = std::string_view(flags).find('#') != std::string_view::npos;
        for (const int value : {0, 1, -1, 42, 1'000'000, std::numeric_limits<int>::min()}) {
          if (!has_alternative) same("d", value);
          if (!has_sign) same("x", value);
          if (!has_sign) same("o", value);
          if (!has_sign && !has_alternative) same("u", value);
          if (!has_sign && !has_alternative) same("hu", value);
          if (!has_alternative) same("hhd", value);
        }
        for (const long long value : {0LL, -1LL, std::numeric_limits<long long>::min()}) {
          if (!has_alternative) same("lld", value);
          if (!has_sign) same("llX", value);
        }
        for (const double value : {0.0, -0.0, 1.0, -2.5, 0.1, 1e22, 5e-324, std::numeric_limits<double>::max(),
                                   std::numeric_limits<double>::infinity(), std::nan("")})
          for (const char type : std::string("fFeEgGaA")) same(std::string(1, type), value);
      }
  CHECK(printed("%c%5c|%-3c|", [] {
          std::vector<std::byte> out;
          for (const int c : {'a', 'b', 'c'})
            for (const std::byte one : bytes_of(c)) out.push_back(one);
          return out;
        }()) == "a    b|c  |");
  CHECK(printed("%s|%8s|%-8s|%.2s|", {}, "text") == "text|    text|text    |te|");
  CHECK(printed("%p %p", [] {
          std::vector<std::byte> out = bytes_of(std::uint64_t{0x7F00'0000'1234});
          out.resize(16);
          return out;
        }()) == "0x7f0000001234 (nil)");
}

TEST_CASE("widths and precisions are arguments, too") {
  std::vector<std::byte> list;
  for (const int word : {7, -42, -5, 3, 6, 2, 9})
    for (const std::byte one : bytes_of(word)) list.push_back(one);
  CHECK(printed("[%*d][%*d][%*.*d]", list) == "[    -42][3    ][    09]");
}

TEST_CASE("what a device does not convert is text") {
  int count = -1;
  CHECK(printed("a%n%5n%hhn%m%S%C%ls%d%", bytes_of(7), "s", &count) == "a%n%5n%hhn%m%S%Cs0%");
  CHECK(count == 2);
  CHECK(printed("100%% %y", {}) == "100% %y");
  std::string many;
  for (int i = 0; i < 40; ++i) many += "%d";
  CHECK(printed(many, {}, "", &count) == std::string(32, '0') + many.substr(0, 16));
  CHECK(count == 32);
}

TEST_CASE("no width and no precision is larger than the buffer") {
  constexpr std::size_t kMost = grid::Printed::kBytes;
  for (const char* type : {"d", "x", "s", "f", "e", "#g", "a", "c", "p"}) {
    INFO(type);
    const std::string wide =
        std::string("%") + (type[0] == '#' ? "#" : "") + "99999999999" + (type + (type[0] == '#'));
    CHECK(printed(wide, {}, "t").size() == kMost);
  }
  const std::string digits = printed("%.999999999f|", bytes_of(0.5));
  CHECK(digits.size() == 2 + kMost + 1);
  CHECK(digits.substr(0, 4) == "0.50");
  CHECK(digits.find_first_not_of('0', 3) == digits.size() - 1);
  CHECK(printed("%.99999999d", bytes_of(7)).size() == kMost);
  const std::string exponent = printed("%.2000e", bytes_of(0.1));
  CHECK(exponent == expected("%.2000e", 0.1));
  CHECK(printed("%#.2000g", bytes_of(0.1)) == expected("%#.2000g", 0.1));
  CHECK(printed("%.2000g", bytes_of(0.1)) == expected("%.2000g", 0.1));
  CHECK(printed("%.2000a", bytes_of(0.1)) == expected("%.2000a", 0.1));
}

// ---- Kernels

std::string module_of(const std::string& before, const std::string& body) {
  return R"(.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);
)" + before +
         body;
}
std::string kernel(const std::string& name, const std::string& body) {
  return ".visible .entry " + name + R"((.param .u64 out)
{
  .local .align 8 .b8 list[16]; .reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %rd<7>;
  ld.param.u64 %rd6, [out]; mov.u64 %rd5, list; cvta.local.u64 %rd5, %rd5;
)" + body +
         "\n  ret;\n}\n";
}
std::string print(const std::string& format, const std::string& list) {
  return "{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], " + format + "; st.param.b64 [a], " +
         list + "; call.uni (r), vprintf, (f, a); ld.param.b32 %r4, [r]; }\n";
}
std::string allocate(const std::string& bytes) {
  return "{ .param .b64 n; .param .b64 r; st.param.b64 [n], " + bytes +
         "; call.uni (r), malloc, (n); ld.param.b64 %rd1, [r]; }\n";
}
std::string release(const std::string& address) {
  return "{ .param .b64 p; st.param.b64 [p], " + address + "; call.uni free, (p); }\n";
}
std::string format_of(const std::string& name, const std::string& text) {
  std::string out = ".global .align 1 .b8 " + name + "[" + std::to_string(text.size() + 1) + "] = {";
  for (const char c : text) out += std::to_string(static_cast<int>(c)) + ", ";
  return out + "0};\n";
}
std::string address_of(const std::string& name) {
  return "mov.u64 %rd2, " + name + "; cvta.global.u64 %rd2, %rd2;\n";
}

ptx::Report launch(const ptx::Module& module, const std::string& name, std::vector<std::uint64_t>& out,
                   ptx::Launch how = {}) {
  const Result<ptx::Function> function = module.function(name);
  if (!function) FAIL(function.error().message());
  return function->launch(how, {ptx::buffer(out)});
}
ptx::Report launch(const std::string& text, ptx::Launch how = {}) {
  const Result<ptx::Module> module = ptx::Module::load(text);
  if (!module) FAIL(module.error().message());
  std::vector<std::uint64_t> out(64);
  return launch(*module, "k", out, how);
}

TEST_CASE("%n writes nothing") {
  static int secret = 1234;
  const std::string body = "st.local.u64 [list], " + std::to_string(reinterpret_cast<std::uintptr_t>(&secret)) +
                           ";\n" + address_of("f") + print("%rd2", "%rd5");
  const ptx::Report report = launch(module_of(format_of("f", "AAAAA%n"), kernel("k", body)));
  CHECK(report.ok());
  CHECK(report.printed == "AAAAA%n");
  CHECK(secret == 1234);
}

TEST_CASE("a function of the device that is declared otherwise is refused at its declaration") {
  const auto refused = [](const std::string& declared, const std::string& call) {
    const std::string text =
        ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func " + declared +
        ";\n.visible .entry k() { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 r; .param "
        ".b32 w; " +
        call + " ret; }\n";
    INFO(text);
    const Result<ptx::Module> module = ptx::Module::load(text);
    REQUIRE(module);
    REQUIRE_FALSE(module->function("k"));
    const std::vector<Error> found = module->check();
    REQUIRE(found.size() == 1);
    CHECK(module->function("k").error().message() == found[0].message());
    CHECK_THAT(found[0].message(),
               Catch::StartsWith("line 4, column ") && Catch::Contains("as a device has it"));
  };
  refused("(.param .b32 w) vprintf()", "call.uni (w), vprintf, ();");
  refused("(.param .b32 w) vprintf(.param .b64 a)", "call.uni (w), vprintf, (a);");
  refused("(.param .b32 w) vprintf(.param .b64 a, .param .b32 b)", "call.uni (w), vprintf, (a, c);");
  refused("(.param .b64 w) vprintf(.param .b64 a, .param .b64 b)", "call.uni (r), vprintf, (a, b);");
  refused("vprintf(.param .b64 a, .param .b64 b)", "call.uni vprintf, (a, b);");
  refused("(.param .b64 r) malloc()", "call.uni (r), malloc, ();");
  refused("(.param .b32 w) malloc(.param .b64 a)", "call.uni (w), malloc, (a);");
  refused("(.param .b64 r) malloc(.param .b64 a, .param .b64 b)", "call.uni (r), malloc, (a, b);");
  refused("free()", "call.uni free, ();");
  refused("free(.param .b32 c)", "call.uni free, (c);");
  refused("(.param .b32 w) free(.param .b64 a)", "call.uni (w), free, (a);");
  refused("__assertfail()", "call.uni __assertfail, ();");
  refused("__assertfail(.param .b64 a, .param .b64 b)", "call.uni __assertfail, (a, b);");
}

TEST_CASE("strings and lists that lie nowhere are faults") {
  const auto fault = [](const std::string& format, const std::string& list, const std::string& text) {
    ptx::Launch how;
    how.grid = {2};
    how.cluster = Dim3{2};
    const ptx::Report report =
        launch(module_of(format_of("f", text),
                         kernel("k", ".shared .align 8 .b8 s[64]; st.shared.u64 [s], 5;\n" + address_of("f") +
                                         "mov.u64 %rd3, " + list + "; st.local.u64 [list], %rd3;\n" +
                                         print("%rd2", format))),
               how);
    REQUIRE(report.fault);
    CHECK(report.fault->error.code == Errc::address_out_of_bounds);
    CHECK(report.printed.empty());
  };
  for (const char* below : {"0x7f00000000ffffff", "0x7f00000000fffffd", "0x7effffffffffffff",
                            "0x7f0fffffffffffff", "0x7f10000000100000", "-1", "64"}) {
    INFO(below);
    fault("%rd5", below, "%s");  // a string
    fault(below, "0", "%u");     // a list
  }
}

TEST_CASE("a format that is null prints nothing; strings may lie anywhere") {
  const std::string body = print("0", "0") + "st.global.u32 [%rd6], %r4;\n" + R"(
    .shared .align 8 .b8 s[8]; mov.b64 %rd1, 0x0a; st.shared.u64 [s], %rd1; mov.u64 %rd1, s; cvta.shared.u64 %rd1, %rd1;
    st.local.u64 [list], %rd1;
)" + address_of("f") + print("%rd2", "%rd5") +
                           "st.global.u32 [%rd6+4], %r4;\n";
  const Result<ptx::Module> module = ptx::Module::load(module_of(format_of("f", "s%s"), kernel("k", body)));
  REQUIRE(module);
  std::vector<std::uint64_t> out(1);
  const ptx::Report report = launch(*module, "k", out);
  CHECK(report.ok());
  CHECK(report.printed == "s\n");
  CHECK(out[0] == 0x1'FFFF'FFFF);
}

TEST_CASE("the last mebibyte of text is kept, and the rest is counted") {
  const std::string body = address_of("f") + R"(
  mov.u32 %r1, %ctaid.x; st.local.u32 [list], %r1; mov.u32 %r2, 0;
AGAIN:
)" + print("%rd2", "%rd5") +
                           "add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 100; @%p1 bra AGAIN;\n";
  const std::string text = module_of(format_of("f", "%09d\n"), kernel("k", body));
  for (const int threads : {1, 2}) {
    ptx::Launch how;
    how.grid = {50};
    how.block = {32};
    how.execute.threads = threads;
    const ptx::Report report = launch(text, how);  // 50 x 32 x 100 lines of 10 bytes
    CHECK(report.printed.size() == 1 << 20);
    CHECK(report.printed_dropped == 1'600'000 - (1 << 20));
    CHECK(report.printed.ends_with("000000049\n"));
    CHECK(report.printed.starts_with("00017\n"));  // byte 551,424 is in block 17
  }
  ptx::Launch how;
  how.grid = {3};
  const ptx::Report report = launch(text, how);
  CHECK(report.printed.size() == 3000);
  CHECK(report.printed_dropped == 0);
}

TEST_CASE("one block that prints for ever does not take all memory") {
  ptx::Launch how;
  how.block = {32};
  how.step_limit = 100'000;
  const ptx::Report report =
      launch(module_of(format_of("f", "line\n"),
                       kernel("k", address_of("f") + "AGAIN:\n" + print("%rd2", "0") + "bra AGAIN;")),
             how);
  REQUIRE(report.fault);
  CHECK(report.printed.size() == 1 << 20);
  CHECK((report.printed_dropped + report.printed.size()) % (32 * 5) == 0);
}

// ---- The heap

TEST_CASE("memory of malloc is there for the next launch, also of a kernel that does not call malloc") {
  const std::string text = module_of(
      "",
      kernel("make", allocate("16") + "st.u64 [%rd1], 77; st.global.u64 [%rd6], %rd1;\n") +
          kernel("read", "ld.global.u64 %rd1, [%rd6]; ld.u64 %rd2, [%rd1]; st.global.u64 [%rd6+8], %rd2;\n") +
          kernel("drop", "ld.global.u64 %rd1, [%rd6];\n" + release("%rd1")));
  const Result<ptx::Module> module = ptx::Module::load(text);
  REQUIRE(module);
  std::vector<std::uint64_t> out(2);
  const auto fault = [&](const char* name) { return launch(*module, name, out).fault; };
  out[0] = 0x3000'0000'0000;
  CHECK(fault("drop"));  // a kernel that only frees, and nothing was ever allocated
  CHECK_FALSE(fault("make"));
  CHECK(out[0] != 0);
  CHECK_FALSE(fault("read"));
  CHECK(out[1] == 77);
  CHECK_FALSE(fault("drop"));
  CHECK(fault("drop"));  // a second time
  CHECK(fault("read"));
  out[0] = 0;
  CHECK_FALSE(fault("drop"));  // null
  out[0] = 1;
  const auto foreign = fault("drop");
  REQUIRE(foreign);
  CHECK_THAT(foreign->message(), Catch::Contains("malloc has returned no such address"));
}

TEST_CASE("the heap gives 8 MiB, what was freed again, and null beyond") {
  grid::Heap heap;
  constexpr std::uint64_t kBytes = grid::Heap::kBytes;
  CHECK(heap.allocate(0) == 0);
  CHECK(heap.allocate(kBytes + 1) == 0);
  CHECK(heap.allocate(~std::uint64_t{0}) == 0);
  std::vector<std::uint64_t> all;
  while (const std::uint64_t address = heap.allocate(1)) all.push_back(address);
  CHECK(all.size() == kBytes / 16);
  CHECK_FALSE(heap.release(all[0] + 1));
  CHECK_FALSE(heap.release(all[0] - 16));
  const auto release_each_second = [&](std::size_t first) {
    std::size_t released = 0;
    for (std::size_t i = first; i < all.size(); i += 2)
      released += all[i] % 16 == 0 && heap.release(all[i]) ? 1 : 0;
    return released;
  };
  CHECK(release_each_second(0) == all.size() / 2);
  CHECK(heap.allocate(17) == 0);  // no gap is larger
  CHECK_FALSE(heap.release(all[0]));
  CHECK(heap.holds(all[1], 1));
  CHECK_FALSE(heap.holds(all[1], 2));
  CHECK_FALSE(heap.holds(all[0], 1));
  CHECK(release_each_second(1) == all.size() / 2);
  const std::uint64_t whole = heap.allocate(kBytes);  // the gaps are one again
  CHECK(whole != 0);
  CHECK(heap.release(whole));
}

TEST_CASE("an assertion with texts that lie nowhere is a fault") {
  const auto code = [](const std::string& text) {
    const ptx::Report report = launch(module_of(
        "",
        kernel(
            "k",
            "{ .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 s; st.param.b64 [m], " +
                text +
                "; st.param.b64 [f], 0; st.param.b32 [l], 3; st.param.b64 [n], 0; st.param.b64 [s], 1; "
                "call.uni __assertfail, (m, f, l, n, s); }")));
    REQUIRE(report.fault);
    return report.fault->error.code;
  };
  CHECK(code("0") == Errc::assertion);
  CHECK(code("0x7f00000000ffffff") == Errc::address_out_of_bounds);
}

// ---- Sizes

TEST_CASE("no size of shared memory wraps") {
  const Result<ptx::Module> module = ptx::Module::load(
      module_of("", kernel("k", ".shared .align 16 .b8 t[49152]; mov.u32 %r1, t; st.shared.u32 [%r1], 7;")));
  REQUIRE(module);
  std::vector<std::uint64_t> out(1);
  for (const std::uint64_t bytes : {~std::uint64_t{0}, ~std::uint64_t{0} - 49151, ~std::uint64_t{0} - 49152,
                                    std::uint64_t{1} << 63, std::uint64_t{232448 - 49152 + 1}}) {
    INFO(bytes);
    ptx::Launch how;
    how.shared_bytes = bytes;
    const ptx::Report report = launch(*module, "k", out, how);
    REQUIRE(report.fault);
    CHECK(report.fault->error.code == Errc::launch_shape);
  }
}

TEST_CASE("variables have bytes once a launch or the caller needs them") {
  const auto load = [](const std::string& variables) {
    return ptx::Module::load(module_of(variables, kernel("k", "")));
  };
  const Result<ptx::Module> large = load(".global .align 8 .b8 z[1099511627776];");
  REQUIRE(large);
  CHECK(large->check().empty());
  CHECK_THAT(load(".global .b8 a[1099511627776];\n.global .b8 b[1];").error().message(),
             Catch::StartsWith("line 9, column 13") && Catch::Contains("at most 1099511627776"));
  CHECK(load(".const .b8 a[65536];"));
  CHECK_THAT(load(".const .b8 a[65536];\n.const .b8 b;").error().message(),
             Catch::StartsWith("line 9, column 12") && Catch::Contains("65537 bytes in .const up to 'b'"));
  const Result<ptx::Module> two = load(".global .b32 a = 5;\n.global .u64 b = a;");
  REQUIRE(two);
  const Result<std::span<std::byte>> a = two->variable("a"), again = two->variable("a");
  REQUIRE(a);
  CHECK((*a)[0] == std::byte{5});
  CHECK(a->data() == again->data());
}

}  // namespace device_calls_test
