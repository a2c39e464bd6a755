// SPDX-License-Identifier: Apache-2.0
// Sums and fused products of f16 or bf16 with f32 (PTX manual, "Mixed Precision Floating-Point Instructions"): what is narrow is
// converted, exactly, and the operation is that of f32. The processor's own f32 is the oracle. Of two of them, PTX ISA 9.4.
#include <fmt/format.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <vector>

#include "warpbit/inputs.hpp"
#include "warpbit/ptx.hpp"

namespace mixed_sums_test {

using namespace warpbit;

constexpr std::size_t kCount = 20'480, kBlock = 256;

struct Words {
  std::vector<std::uint16_t> a, b;
  std::vector<std::uint32_t> c, e;
};

// Any bits; every other exponent lies near the middle, so that sums have digits of both.
Words drawn() {
  Words out;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const std::uint64_t x = inputs::mix(i, 0x5EED), y = inputs::mix(i, 0xFEED);
    out.a.push_back(static_cast<std::uint16_t>(x));
    out.b.push_back(static_cast<std::uint16_t>(x >> 16));
    const auto any = static_cast<std::uint32_t>(y);
    out.c.push_back(i % 2 == 0 ? any : (any & 0x807F'FFFF) | static_cast<std::uint32_t>(100 + y % 56) << 23);
    const auto other = static_cast<std::uint32_t>(y >> 32);
    const std::uint32_t near = (other & 0x80FF'FFFF) | (out.c.back() & 0x7F00'0000);
    out.e.push_back(i % 4 < 2 ? near : other);
  }
  return out;
}

float widened(std::uint16_t code, bool is_bf16) {
  if (is_bf16) return std::bit_cast<float>(std::uint32_t{code} << 16);
  const int exponent = code >> 10 & 31, fraction = code & 0x3FF;
  const float sign = (code & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  return sign * std::ldexp(static_cast<float>(exponent == 0 ? fraction : fraction | 0x400),
                           std::max(exponent, 1) - 25);
}

std::uint32_t result_of(float value, bool saturates) {
  if (saturates)
    return std::isnan(value) || std::signbit(value) ? 0 : std::bit_cast<std::uint32_t>(std::min(value, 1.0F));
  return std::isnan(value) ? 0x7FFF'FFFF : std::bit_cast<std::uint32_t>(value);
}

// As the processor rounds it, whatever the compiler knows of the values.
std::uint32_t expected(char operation, int rounding, bool saturates, float a, float b, float c) {
  volatile float x = a, y = b, z = c, out = 0;
  std::fesetround(rounding);
  if (operation == '+') out = x + z;
  if (operation == '-') out = x - z;
  if (operation == '*') out = std::fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z));
  if (operation == 'x') out = x * z;
  std::fesetround(FE_TONEAREST);
  return result_of(out, saturates);
}

std::vector<std::uint32_t> launched(const std::string& statement, Words& in) {
  const auto module = ptx::Module::load(fmt::format(R"(.version 9.0
.target sm_100
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)
{{
  .reg .u32 %i, %block;
  .reg .u64 %p;
  .reg .b16 %a, %b;
  .reg .f32 %c, %d;
  mov.u32 %i, %tid.x;
  mov.u32 %block, %ctaid.x;
  mad.lo.u32 %i, %block, {}, %i;
  ld.param.u64 %p, [a];
  mad.wide.u32 %p, %i, 2, %p;
  ld.global.b16 %a, [%p];
  ld.param.u64 %p, [b];
  mad.wide.u32 %p, %i, 2, %p;
  ld.global.b16 %b, [%p];
  ld.param.u64 %p, [c];
  mad.wide.u32 %p, %i, 4, %p;
  ld.global.f32 %c, [%p];
  {}
  ld.param.u64 %p, [d];
  mad.wide.u32 %p, %i, 4, %p;
  st.global.f32 [%p], %d;
  ret;
}}
)",
                                                    kBlock, statement));
  REQUIRE((module.ok() ? "" : module.error().message()) == std::string());
  std::vector<std::uint32_t> out(kCount);
  const ptx::Report report = module->function("k")->launch(
      {.grid = {kCount / kBlock}, .block = {kBlock}},
      {ptx::buffer(in.a), ptx::buffer(in.b), ptx::buffer(in.c), ptx::buffer(out)});
  REQUIRE((report.fault ? report.fault->message() : "") == std::string());
  CHECK(report.inferred);
  return out;
}

struct Rounding {
  const char* word;
  int mode;
};
constexpr Rounding kRoundings[] = {{"", FE_TONEAREST},
                                   {".rn", FE_TONEAREST},
                                   {".rz", FE_TOWARDZERO},
                                   {".rm", FE_DOWNWARD},
                                   {".rp", FE_UPWARD}};

TEST_CASE("f16 and bf16 are added to f32, and multiplied into it, as f32 is") {
  Words in = drawn();
  std::size_t forms = 0;
  for (const char* const type : {"f16", "bf16"})
    for (const Rounding& rounding : kRoundings)
      for (const char* const sat : {"", ".sat"})
        for (const char operation : {'+', '-', '*'}) {
          if (operation == '*' && *rounding.word == '\0') continue;  // fma names its rounding
          const std::string statement =
              fmt::format("{}{}{}.f32.{} %d, {}%c;",
                          operation == '+'   ? "add"
                          : operation == '-' ? "sub"
                                             : "fma",
                          rounding.word, sat, type, operation == '*' ? "%a, %b, " : "%a, ");
          INFO(statement);
          const std::vector<std::uint32_t> got = launched(statement, in);
          std::size_t different = 0;
          for (std::size_t i = 0; i < kCount; ++i) {
            const bool is_bf16 = *type == 'b';
            const std::uint32_t wanted =
                expected(operation, rounding.mode, *sat != '\0', widened(in.a[i], is_bf16),
                         widened(in.b[i], is_bf16), std::bit_cast<float>(in.c[i]));
            if (got[i] != wanted && different++ == 0)
              UNSCOPED_INFO(fmt::format("{:04x} {:04x} {:08x}: {:08x}, expected {:08x}", in.a[i], in.b[i],
                                        in.c[i], got[i], wanted));
          }
          CHECK(different == 0);
          ++forms;
        }
  CHECK(forms == 56);
}

// ---- Two at a time

// Of a pair of f16 or bf16 and two of f32; of each lane 32 or 64 bits.
template <class Out>
std::vector<Out> launched_pairs(const std::string& statement, Words& in) {
  const auto module = ptx::Module::load(fmt::format(R"(.version 9.4
.target sm_107f
.address_size 64
.visible .entry k(.param .u64 h, .param .u64 x, .param .u64 y, .param .u64 d)
{{
  .reg .u32 %i, %block;
  .reg .u64 %p;
  .reg .b32 %h;
  .reg .b64 %x, %y;
  .reg .b{0} %d;
  mov.u32 %i, %tid.x;
  mov.u32 %block, %ctaid.x;
  mad.lo.u32 %i, %block, {1}, %i;
  ld.param.u64 %p, [h];
  mad.wide.u32 %p, %i, 4, %p;
  ld.global.b32 %h, [%p];
  ld.param.u64 %p, [x];
  mad.wide.u32 %p, %i, 8, %p;
  ld.global.b64 %x, [%p];
  ld.param.u64 %p, [y];
  mad.wide.u32 %p, %i, 8, %p;
  ld.global.b64 %y, [%p];
  {2}
  ld.param.u64 %p, [d];
  mad.wide.u32 %p, %i, {3}, %p;
  st.global.b{0} [%p], %d;
  ret;
}}
)",
                                                    8 * sizeof(Out), kBlock, statement, sizeof(Out)));
  REQUIRE((module.ok() ? "" : module.error().message()) == std::string());
  std::vector<Out> out(kCount / 2);
  const auto kernel = module->function("k");
  REQUIRE((kernel.ok() ? "" : kernel.error().message()) == std::string());
  const ptx::Report report =
      kernel->launch({.grid = {kCount / 2 / kBlock}, .block = {kBlock}},
                     {ptx::buffer(in.a), ptx::buffer(in.c), ptx::buffer(in.e), ptx::buffer(out)});
  REQUIRE((report.fault ? report.fault->message() : "") == std::string());
  CHECK(report.inferred);
  return out;
}

const char* opcode_of(char operation) {
  return operation == '+' ? "add" : operation == '-' ? "sub" : operation == '*' ? "fma" : "mul";
}

TEST_CASE("two of f16 or bf16 are added to two of f32, and multiplied with them, as f32 is") {
  Words in = drawn();
  std::size_t forms = 0;
  for (const char* const type : {"f16x2", "bf16x2"})
    for (const Rounding& rounding : kRoundings)
      for (const char operation : {'+', '-', '*'}) {
        if (operation == '*' && *rounding.word == '\0') continue;
        const std::string statement =
            fmt::format("{}{}.f32x2.{}{} %d, %h, {}%x;", opcode_of(operation), rounding.word, type,
                        operation == '*' ? ".f32x2.f32x2" : ".f32x2", operation == '*' ? "%y, " : "");
        INFO(statement);
        const auto got = launched_pairs<std::uint64_t>(statement, in);
        std::size_t different = 0;
        for (std::size_t i = 0; i < kCount; ++i) {
          const auto part = static_cast<std::uint32_t>(got[i / 2] >> i % 2 * 32);
          const std::uint32_t wanted = expected(operation, rounding.mode, false, widened(in.a[i], *type == 'b'),
                                                std::bit_cast<float>(in.e[i]), std::bit_cast<float>(in.c[i]));
          if (part != wanted && different++ == 0)
            UNSCOPED_INFO(fmt::format("{:04x} {:08x} {:08x}: {:08x}, expected {:08x}", in.a[i], in.e[i],
                                      in.c[i], part, wanted));
        }
        CHECK(different == 0);
        ++forms;
      }
  CHECK(forms == 28);
}

// A cut to f32 and a cut to bf16 are one cut.
TEST_CASE("sums and products of two of f32 are cut to bf16") {
  Words in = drawn();
  for (const char operation : {'+', '-', 'x'}) {
    const std::string statement = fmt::format("{}.rz.bf16x2.f32x2.f32x2 %d, %y, %x;", opcode_of(operation));
    INFO(statement);
    const auto got = launched_pairs<std::uint32_t>(statement, in);
    std::size_t different = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto part = static_cast<std::uint16_t>(got[i / 2] >> i % 2 * 16);
      const std::uint32_t wanted = expected(operation, FE_TOWARDZERO, false, std::bit_cast<float>(in.e[i]), 0,
                                            std::bit_cast<float>(in.c[i])) >>
                                   16;
      if (part != wanted && different++ == 0)
        UNSCOPED_INFO(fmt::format("{:08x} {:08x}: {:04x}, expected {:04x}", in.e[i], in.c[i], part, wanted));
    }
    CHECK(different == 0);
  }
}

}  // namespace mixed_sums_test
