// SPDX-License-Identifier: Apache-2.0
// spdecompress by PTX ISA 9.4, "spdecompress" and its Figure 44: elements and indices lie in the registers of a vector from the lowest
// bits on, without gaps. Of a group of `from` elements each goes to the place of its index in a group of `to`, the later one of two
// with one index; other places are 0. The oracle is that text in vectors of bits.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "warpbit/inputs.hpp"
#include "warpbit/ptx.hpp"

namespace decompress_test {

using namespace warpbit;

// ---- The text

struct Form {
  std::size_t element, index, from, to, number;

  std::size_t metadata() const { return (from * index * number + 31) / 32; }
  std::size_t elements() const { return (from * element * number + 31) / 32; }
  std::size_t dense() const { return (to * element * number + 31) / 32; }
  std::string text() const {
    return fmt::format("spdecompress.b{}.b{}.sp::{}:{}.x{}", element, index, from, to, number);
  }
};

// "Number of iterations": from `least` on in powers of two.
struct Row {
  std::size_t element, index, from, to, least, most;
};
constexpr Row kRows[] = {
    {8, 2, 1, 2, 2, 64},   {8, 2, 1, 4, 1, 64},   {8, 2, 2, 4, 1, 64},  {8, 4, 1, 2, 2, 64},
    {8, 4, 1, 4, 1, 64},   {8, 4, 2, 4, 1, 64},   {8, 4, 1, 8, 1, 64},  {8, 4, 2, 8, 1, 64},
    {8, 4, 4, 8, 1, 64},   {8, 4, 1, 16, 1, 32},  {8, 4, 2, 16, 1, 32}, {8, 4, 4, 16, 1, 32},
    {16, 2, 1, 2, 1, 64},  {16, 2, 1, 4, 1, 64},  {16, 2, 2, 4, 1, 64}, {16, 4, 1, 2, 1, 64},
    {16, 4, 1, 4, 1, 64},  {16, 4, 2, 4, 1, 64},  {16, 4, 1, 8, 1, 32}, {16, 4, 2, 8, 1, 32},
    {16, 4, 1, 16, 1, 16}, {16, 4, 2, 16, 1, 16},
};

std::vector<Form> forms() {
  std::vector<Form> out;
  for (const Row& row : kRows)
    for (std::size_t number = row.least; number <= row.most; number *= 2)
      out.push_back({row.element, row.index, row.from, row.to, number});
  return out;
}

std::size_t number_at(const std::vector<bool>& bits, std::size_t at, std::size_t count) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (bits[at + i]) out += std::size_t{1} << i;
  return out;
}
std::vector<bool> bits_of(const std::vector<std::uint32_t>& words, std::size_t first, std::size_t count) {
  std::vector<bool> out;
  for (std::size_t i = 0; i < 32 * count; ++i) out.push_back((words[first + i / 32] >> i % 32 & 1) != 0);
  return out;
}

// Of the words of a lane: its metadata, then its elements.
std::vector<bool> expected(const Form& form, const std::vector<std::uint32_t>& in, std::size_t lane) {
  const std::size_t first = lane * (form.metadata() + form.elements());
  const std::vector<bool> metadata = bits_of(in, first, form.metadata()),
                          elements = bits_of(in, first + form.metadata(), form.elements());
  std::vector<bool> out(32 * form.dense());
  for (std::size_t k = 0; k < form.from * form.number; ++k) {
    const std::size_t place = k / form.from * form.to + number_at(metadata, k * form.index, form.index);
    for (std::size_t i = 0; i < form.element; ++i)
      out[place * form.element + i] = elements[k * form.element + i];
  }
  return out;
}

// ---- Launches

constexpr std::size_t kLanes = 128;

std::string vector_of(const char* name, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += fmt::format("{}{}{}", i == 0 ? "" : ", ", name, i);
  return "{" + out + "}";
}

std::string kernel_of(const Form& form) {
  std::string loads, stores;
  for (std::size_t i = 0; i < form.metadata(); ++i)
    loads += fmt::format("  ld.global.u32 %m{}, [%p + {}];\n", i, 4 * i);
  for (std::size_t i = 0; i < form.elements(); ++i)
    loads += fmt::format("  ld.global.u32 %c{}, [%p + {}];\n", i, 4 * (form.metadata() + i));
  for (std::size_t i = 0; i < form.dense(); ++i)
    stores += fmt::format("  st.global.u32 [%p + {}], %d{};\n", 4 * i, i);
  return fmt::format(R"(.version 9.4
.target sm_107a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{
  .reg .b32 %i, %m<64>, %c<64>, %d<128>;
  .reg .u64 %p;
  mov.u32 %i, %tid.x;
  ld.param.u64 %p, [in];
  mad.wide.u32 %p, %i, {}, %p;
{}  {} {}, {}, {};
  ld.param.u64 %p, [out];
  mad.wide.u32 %p, %i, {}, %p;
{}  ret;
}}
)",
                     4 * (form.metadata() + form.elements()), loads, form.text(), vector_of("%d", form.dense()),
                     vector_of("%m", form.metadata()), vector_of("%c", form.elements()), 4 * form.dense(),
                     stores);
}

ptx::Report launched(const std::string& kernel, std::size_t lanes, std::vector<std::uint32_t>& in,
                     std::vector<std::uint32_t>& out) {
  const auto module = ptx::Module::load(kernel);
  REQUIRE((module.ok() ? "" : module.error().message()) == std::string());
  const auto function = module->function("k");
  REQUIRE((function.ok() ? "" : function.error().message()) == std::string());
  return function->launch({.grid = {1}, .block = {static_cast<unsigned>(lanes)}},
                          {ptx::buffer(in), ptx::buffer(out)});
}

// Any elements, and any indices that are places. Bits behind the last index are any, too.
std::vector<std::uint32_t> drawn(const Form& form) {
  std::vector<std::uint32_t> out;
  std::uint64_t number = 0;
  const auto next = [&] { return inputs::mix(number++, form.element * 64 + form.index * 16 + form.to); };
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::size_t first = out.size();
    for (std::size_t i = 0; i < form.metadata() + form.elements(); ++i)
      out.push_back(static_cast<std::uint32_t>(next() >> 32));
    for (std::size_t k = 0; k < form.from * form.number; ++k) {
      const std::size_t at = k * form.index;
      std::uint32_t& word = out[first + at / 32];
      const std::uint32_t field = (1U << form.index) - 1;
      word = (word & ~(field << at % 32)) | static_cast<std::uint32_t>(next() % form.to) << at % 32;
    }
  }
  return out;
}

// ---- Cases

TEST_CASE("elements go where their indices say, in each form") {
  const std::vector<Form> all = forms();
  CHECK(all.size() == 143);
  std::size_t places = 0;
  for (const Form& form : all) {
    INFO(form.text());
    std::vector<std::uint32_t> in = drawn(form), out(kLanes * form.dense());
    const ptx::Report report = launched(kernel_of(form), kLanes, in, out);
    REQUIRE((report.fault ? report.fault->message() : "") == std::string());
    CHECK(report.inferred);
    std::size_t different = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      different += bits_of(out, lane * form.dense(), form.dense()) == expected(form, in, lane) ? 0 : 1;
    CHECK(different == 0);
    places += kLanes * form.to * form.number;
  }
  CHECK(places > 1'000'000);
}

TEST_CASE("the manual's figure of spdecompress", "[quick]") {
  std::vector<std::uint32_t> in = {0x3121, 0x060503F9}, out(2);
  REQUIRE(!launched(kernel_of({8, 4, 2, 4, 2}), 1, in, out).fault);
  CHECK(out == std::vector<std::uint32_t>{0x0003F900, 0x06000500});
}

TEST_CASE("an index that is no place is a fault", "[quick]") {
  std::vector<std::uint32_t> in = {0x12, 0x2211}, out(1);
  const ptx::Report report = launched(kernel_of({8, 4, 1, 2, 2}), 1, in, out);
  REQUIRE(report.fault);
  CHECK(report.fault->error.code == Errc::undefined_operand);
  CHECK_THAT(report.fault->message(),
             Catch::Contains("index 2 in the metadata is undefined; defined is 0 to 1"));
}

std::string small_kernel(const std::string& body) {
  return ".version 9.4\n.target sm_107a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
         "  .reg .b32 %m, %c, %d<2>; .reg .u64 %p; ld.param.u64 %p, [out];\n" +
         body + "\n}\n";
}

TEST_CASE("registers of two of the vectors are not one", "[quick]") {
  for (const char* const operands : {"{%d0, %d0}, {%m}, {%c}", "{%d0, %d1}, {%d1}, {%c}",
                                     "{%d0, %d1}, {%m}, {%d0}", "{%d0, %d1}, {%m}, {%m}"}) {
    INFO(operands);
    const auto module = ptx::Module::load(
        small_kernel(fmt::format("mov.u32 %m, 0; mov.u32 %c, 0; spdecompress.b8.b4.sp::2:4.x2 {};", operands)));
    REQUIRE(module.ok());
    const auto function = module->function("k");
    REQUIRE(!function.ok());
    CHECK_THAT(function.error().message(), Catch::Contains("a register is in two places of its vectors"));
  }
}

// The byte that no one wrote is the last of four, with index 3 in the second group.
TEST_CASE("bits that no one wrote move as elements do", "[quick]") {
  const auto stored = [](const char* register_of, const char* metadata) {
    std::vector<std::uint32_t> in(1), out(1);
    return launched(
               small_kernel(fmt::format(
                   "{} shl.b32 %d0, %c, 24; or.b32 %c, %d0, 0x112233; spdecompress.b8.b4.sp::2:4.x2 {{%d0, %d1}}, {{%m}}, "
                   "{{%c}}; st.global.u32 [%p], {}; ret;",
                   metadata, register_of)),
               1, in, out)
        .fault.has_value();
  };
  const char* const known = "mov.u32 %m, 0x3121;";
  CHECK_FALSE(stored("%d0", known));
  CHECK(stored("%d1", known));
  CHECK(stored("%d0", ""));
}

}  // namespace decompress_test
