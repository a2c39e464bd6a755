// SPDX-License-Identifier: Apache-2.0
// Sums and products of four numbers of eight bits or less, by PTX ISA 9.4, "Alternate Floating-Point Instructions": where elements lie
// in a register, each operation exact, and one rounding to nearest even. The oracle is that text in numbers of double precision.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "in_turn.hpp"
#include "scalar/operation.hpp"
#include "warpbit/inputs.hpp"
#include "warpbit/ptx.hpp"

namespace narrow_sums_test {

using namespace warpbit;

// ---- The text

struct Numbers {
  const char* name;
  int exponent_bits, fraction_bits, bias, stride;
  bool is_signed = true;

  int bits() const { return exponent_bits + fraction_bits + (is_signed ? 1 : 0); }
  std::uint32_t of(std::uint32_t reg, int i) const { return reg >> i * stride & ((1U << bits()) - 1); }
};
constexpr Numbers kNumbers[] = {
    {"e5m2x4", 5, 2, 15, 8}, {"e4m3x4", 4, 3, 7, 8},   {"e3m2x4", 3, 2, 3, 8},          {"e2m3x4", 2, 3, 1, 8},
    {"e2m1x4", 2, 1, 1, 4},  {"e2m1p4x4", 2, 1, 1, 8}, {"ue8m0x4", 8, 0, 127, 8, false}};
constexpr std::size_t kResults = 2, kTypes = std::size(kNumbers);

// The number that a code would be if there were no infinities and NaNs.
double plain(const Numbers& n, std::uint32_t code) {
  const std::uint32_t fraction = code & ((1U << n.fraction_bits) - 1),
                      field = code >> n.fraction_bits & ((1U << n.exponent_bits) - 1);
  if (!n.is_signed) return std::ldexp(1.0, static_cast<int>(field) - n.bias);
  const std::uint32_t significand = field == 0 ? fraction : fraction | 1U << n.fraction_bits;
  const double size = std::ldexp(significand, static_cast<int>(std::max(field, 1U)) - n.bias - n.fraction_bits);
  return (code >> (n.bits() - 1) & 1) != 0 ? -size : size;
}

double value(const Numbers& n, std::uint32_t code) {
  const std::uint32_t size = n.is_signed ? code & ((1U << (n.bits() - 1)) - 1) : code;
  if (n.exponent_bits == 5 && size >= 0x7C) return size > 0x7C ? NAN : code == 0x7C ? INFINITY : -INFINITY;
  if ((n.exponent_bits == 4 && size == 0x7F) || (!n.is_signed && code == 0xFF)) return NAN;
  return plain(n, code);
}

// To nearest even, and as if numbers went on one code beyond the largest: from half-way to that on a result is beyond it.
std::uint32_t rounded(const Numbers& to, double x, bool satfinite) {
  const std::uint32_t largest = to.exponent_bits == 5 ? 0x7B : 0x7E, sign = std::signbit(x) ? 0x80 : 0;
  if (std::isnan(x)) return 0x7F;
  const double size = std::fabs(x);
  std::uint32_t code = 0;
  while (code <= largest && (plain(to, code) + plain(to, code + 1)) / 2 < size) ++code;
  if (code <= largest && (plain(to, code) + plain(to, code + 1)) / 2 == size && code % 2 == 1) ++code;
  if (code <= largest) return sign | code;
  return satfinite ? sign | largest : to.exponent_bits == 5 ? sign | 0x7C : 0x7F;
}

// A product within what a sum with the least and the largest number of eight bits can tell from others: below 2^-24, or from
// 2^18 on, only its sign counts, and that it is no zero. With this the sum of doubles is exact.
double told(double product) {
  if (product == 0 || !std::isfinite(product)) return product;
  return std::copysign(std::clamp(std::fabs(product), 0x1p-24, 0x1p18), product);
}

double computed(char operation, double a, double b, double c) {
  switch (operation) {
    case '+': return told(a) + b;
    case '-': return told(a) - b;
    case '*': return a * b;
    default: return told(a * b) + c;
  }
}

// ---- Forms

struct Form {
  char operation;
  bool satfinite;
  std::size_t to, a, b;  // of kNumbers

  const Numbers& type(int source) const {
    const bool own = source == 0 || (source == 1 && (operation == '*' || operation == 'f'));
    return kNumbers[!own ? to : source == 0 ? a : b];
  }
  int sources() const { return operation == 'f' ? 3 : 2; }
  const char* opcode() const {
    return operation == '+' ? "add" : operation == '-' ? "sub" : operation == '*' ? "mul" : "fma";
  }
  std::vector<std::string_view> words() const {
    std::vector<std::string_view> out = {"rn"};
    if (satfinite) out.emplace_back("satfinite");
    out.insert(out.end(), {kNumbers[to].name, kNumbers[a].name});
    if (operation == '*' || operation == 'f') out.emplace_back(kNumbers[b].name);
    return out;
  }
  std::string text() const {
    std::string out = opcode();
    for (const std::string_view word : words()) out += fmt::format(".{}", word);
    return out;
  }
  std::uint32_t expected(const std::array<std::uint32_t, 3>& in) const {
    std::uint32_t out = 0;
    for (int i = 0; i < 4; ++i) {
      std::array<double, 3> of = {};
      for (int k = 0; k < sources(); ++k)
        of[static_cast<std::size_t>(k)] = value(type(k), type(k).of(in[static_cast<std::size_t>(k)], i));
      out |= rounded(kNumbers[to], computed(operation, of[0], of[1], of[2]), satfinite) << 8 * i;
    }
    return out;
  }
};

std::vector<Form> forms() {
  std::vector<Form> out;
  for (const bool satfinite : {false, true})
    for (std::size_t to = 0; to < kResults; ++to)
      for (std::size_t a = 0; a < kTypes; ++a) {
        for (const char operation : {'+', '-'}) out.push_back({operation, satfinite, to, a, 0});
        for (std::size_t b = 0; b < kTypes; ++b)
          for (const char operation : {'*', 'f'}) out.push_back({operation, satfinite, to, a, b});
      }
  return out;
}

// Codes a and b of two sources are bits of a number, so that all pairs come up; the third one is any.
std::array<std::uint32_t, 3> registers(const Form& form, std::uint64_t number) {
  std::array<std::uint32_t, 3> out = {};
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t pair = number * 4 + static_cast<std::uint64_t>(i);
    const std::array<std::uint64_t, 3> codes = {pair, pair >> 8,
                                                pair < 1 << 16 ? inputs::mix(pair, 0xC0DE) : pair >> 16};
    for (int k = 0; k < form.sources(); ++k) {
      const int stride = form.type(k).stride;
      out[static_cast<std::size_t>(k)] |=
          static_cast<std::uint32_t>(codes[static_cast<std::size_t>(k)] & ((1U << stride) - 1)) << i * stride;
    }
  }
  return out;
}

// Of the registers from 0 to `count`: how many results differ from the text.
std::size_t differing(const Form& form, std::uint64_t count, std::uint64_t step) {
  const std::vector<std::string_view> words = form.words();
  const scalar::Operation operation = scalar::operation(form.opcode(), words);
  REQUIRE(operation.execute != nullptr);
  std::size_t out = 0;
  for (std::uint64_t i = 0; i < count; i += step) {
    const auto in = registers(form, i);
    scalar::Sources sources;
    for (int k = 0; k < form.sources(); ++k)
      sources.value[static_cast<std::size_t>(sources.count++)] = in[static_cast<std::size_t>(k)];
    const std::uint64_t got = scalar::execute(operation, sources).value;
    if (got != form.expected(in) && out++ == 0)
      UNSCOPED_INFO(fmt::format("{:08x} {:08x} {:08x}: {:08x}, expected {:08x}", in[0], in[1], in[2], got,
                                form.expected(in)));
  }
  return out;
}

// ---- Cases

TEST_CASE("sums and products of four narrow numbers are those of the manual, for each pair of codes",
          "[sampled]") {
  const std::vector<Form> all = forms();
  CHECK(all.size() == 2 * 2 * 7 * (2 + 2 * 7));
  for (const Form& form : all) {
    INFO(form.text());
    CHECK(differing(form, 1 << 14, tries_all() ? 3 : 61) == 0);
  }
}

TEST_CASE("each pair of codes, and each three of fma", "[.exhaustive]") {
  for (const Form& form : forms()) {
    INFO(form.text());
    CHECK(differing(form, form.operation == 'f' ? 1 << 22 : 1 << 14, 1) == 0);
  }
}

TEST_CASE("the text knows its own edges", "[quick]") {
  const Numbers &e5m2 = kNumbers[0], &e4m3 = kNumbers[1];
  CHECK(rounded(e4m3, 448, false) == 0x7E);
  CHECK(rounded(e4m3, 464, false) == 0x7E);
  CHECK(rounded(e4m3, 464.5, false) == 0x7F);
  CHECK(rounded(e4m3, -464.5, true) == 0xFE);
  CHECK(rounded(e5m2, 61439, false) == 0x7B);
  CHECK(rounded(e5m2, -61440, false) == 0xFC);
  CHECK(rounded(e5m2, 0x1p-17, false) == 0);
  CHECK(rounded(e5m2, 0x1.8p-17, false) == 1);
  CHECK(value(kNumbers[4], 0xF) == -6);
  CHECK(value(kNumbers[6], 0) == 0x1p-127);
}

// Registers of 16 bits for .e2m1x4, 32 for others.
std::vector<std::uint32_t> launched(const Form& form, std::vector<std::uint32_t>& in, std::size_t count) {
  std::string loads;
  for (int k = 0; k < form.sources(); ++k) {
    const bool is_short = form.type(k).stride == 4;
    loads += fmt::format("  ld.global.u32 %w, [%p + {}];\n  cvt.u{}.u32 %{}{}, %w;\n", 4 * k,
                         is_short ? 16 : 32, is_short ? 'h' : 'r', k);
  }
  std::string operands;
  for (int k = 0; k < form.sources(); ++k)
    operands += fmt::format(", %{}{}", form.type(k).stride == 4 ? 'h' : 'r', k);
  const auto module = ptx::Module::load(fmt::format(R"(.version 9.4
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{
  .reg .b32 %i, %n, %w, %d, %r<3>;
  .reg .b16 %h<3>;
  .reg .u64 %p;
  mov.u32 %i, %tid.x;
  mov.u32 %n, %ctaid.x;
  mad.lo.u32 %i, %n, 256, %i;
  ld.param.u64 %p, [in];
  mad.wide.u32 %p, %i, 12, %p;
{}  {} %d{};
  ld.param.u64 %p, [out];
  mad.wide.u32 %p, %i, 4, %p;
  st.global.u32 [%p], %d;
  ret;
}}
)",
                                                    loads, form.text(), operands));
  REQUIRE((module.ok() ? "" : module.error().message()) == std::string());
  std::vector<std::uint32_t> out(count);
  const auto kernel = module->function("k");
  REQUIRE((kernel.ok() ? "" : kernel.error().message()) == std::string());
  const ptx::Report report = kernel->launch({.grid = {static_cast<unsigned>(count / 256)}, .block = {256}},
                                            {ptx::buffer(in), ptx::buffer(out)});
  REQUIRE((report.fault ? report.fault->message() : "") == std::string());
  CHECK(report.inferred);
  return out;
}

TEST_CASE("kernels have sums and products of four narrow numbers, in registers of each size") {
  constexpr std::size_t kCount = 4096;
  for (const Form& form : {Form{'+', true, 0, 1, 0}, Form{'-', false, 1, 4, 0}, Form{'*', false, 1, 6, 0},
                           Form{'*', true, 0, 4, 4}, Form{'f', false, 1, 2, 4}, Form{'f', true, 0, 4, 5}}) {
    INFO(form.text());
    std::vector<std::uint32_t> in;
    for (std::size_t i = 0; i < kCount; ++i)
      for (const std::uint32_t one : registers(form, 4 * i + 1)) in.push_back(one);
    const std::vector<std::uint32_t> got = launched(form, in, kCount);
    std::size_t different = 0;
    for (std::size_t i = 0; i < kCount; ++i)
      different += got[i] != form.expected({in[3 * i], in[3 * i + 1], in[3 * i + 2]}) ? 1 : 0;
    CHECK(different == 0);
  }
}

}  // namespace narrow_sums_test
