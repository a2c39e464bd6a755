// SPDX-License-Identifier: Apache-2.0
// Sums and fused products of f16 or bf16 with f32 (PTX manual, "Mixed Precision Floating-Point Instructions"): what is narrow is
// converted, exactly, and the operation is that of f32. The processor's own f32 is the oracle.
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
  std::vector<std::uint32_t> c;
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

TEST_CASE("f16 and bf16 are added to f32, and multiplied into it, as f32 is") {
  struct Rounding {
    const char* word;
    int mode;
  };
  constexpr Rounding kRoundings[] = {{"", FE_TONEAREST},
                                     {".rn", FE_TONEAREST},
                                     {".rz", FE_TOWARDZERO},
                                     {".rm", FE_DOWNWARD},
                                     {".rp", FE_UPWARD}};
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

}  // namespace mixed_sums_test
