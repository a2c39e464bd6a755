// SPDX-License-Identifier: Apache-2.0
// Where a kernel's stores may go, by its text.
#include "grid/stores.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "grid/compile.hpp"
#include "warpbit/ptx.hpp"

namespace stores_test {

using namespace warpbit;

constexpr std::uint64_t kCounter = grid::kBuffers + 0x1000;

// Its parameters lie at 0, 8, 16 to 39 and 40.
const std::string kBefore = R"(.version 8.7
.target sm_90a
.address_size 64
.global .u32 counter;
.func put(.param .b64 to)
{
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [to];
  st.global.u32 [%rd1], 1;
  ret;
}
.visible .entry k(.param .u64 in, .param .u64 out, .param .align 8 .b8 both[24], .param .u32 n)
{
  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .shared .align 8 .b8 tile[64];
  ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0;
)";

struct Row {
  std::string body;
  std::vector<std::int64_t> parameters;
  bool counter = false;
};

grid::Stores stores_of(const std::string& body) {
  const auto module = ptx::parse_module(kBefore + body + "\n  ret;\n}\n");
  REQUIRE(module);
  grid::Addresses addresses;
  for (const ptx::Variable& one : (*module)->variables) addresses.emplace_back(&one, kCounter);
  const Result<grid::Program> program = grid::compile(*module, "k", *Target::find("sm_90a"), addresses, {});
  INFO((program ? "" : program.error().message()));
  REQUIRE(program);
  return program->stores;
}

const std::vector<Row> kKnown = {
    {"", {}},
    {"ld.global.u32 %r3, [%rd1]; st.global.u32 [%rd2], %r3;", {8}},
    {"cvta.to.global.u64 %rd3, %rd2; st.global.u32 [%rd3+64], 1;", {8}},
    {"add.u64 %rd3, %rd2, 64; st.u32 [%rd3], 1;", {8}},
    {"atom.global.add.u32 %r3, [%rd1], 1;", {0}},
    {"red.global.add.u32 [%rd1], 1;", {0}},
    // Distances, whatever they are made of.
    {"ld.global.u32 %r3, [%rd1]; mul.wide.u32 %rd3, %r3, 4; add.u64 %rd3, %rd2, %rd3; st.global.u32 [%rd3], 1;",
     {8}},
    {"ld.global.u64 %rd3, [%rd1]; mad.lo.u64 %rd4, %rd3, 4, %rd2; st.global.u32 [%rd4], 1;", {8}},
    {"ld.global.u32 %r3, [%rd1]; cvt.u64.u32 %rd3, %r3; shl.b64 %rd3, %rd3, 2; add.u64 %rd3, %rd3, %rd2; st.global.u32 [%rd3], 1;",
     {8}},
    // One of two, and both.
    {"selp.b64 %rd3, %rd1, %rd2, %p1; st.global.u32 [%rd3], 1;", {0, 8}},
    {"mov.b64 %rd3, %rd1; L: st.global.u32 [%rd3], 1; mov.b64 %rd3, %rd2; @%p1 bra L;", {0, 8}},
    {"sub.u64 %rd3, %rd1, %rd2; add.u64 %rd3, %rd2, %rd3; st.global.u32 [%rd3], 1;", {0, 8}},
    // Of a structure a word, or all.
    {"ld.param.u64 %rd3, [both+8]; st.global.u32 [%rd3], 1;", {24}},
    {"ld.param.v2.u64 {%rd3, %rd4}, [both]; st.global.u32 [%rd4], 1;", {16, 24}},
    {"mov.b64 %rd3, both; ld.param.u64 %rd4, [%rd3+8]; st.global.u32 [%rd4], 1;", {16, 24, 32}},
    {"st.global.u32 [counter], 1;", {}, true},
    {"mov.u64 %rd3, counter; @%p1 st.global.u32 [%rd3], 1; st.global.u32 [%rd2], 1;", {8}, true},
    // Shared memory is none of it.
    {"mov.u32 %r3, tile; st.shared.u32 [%r3], 1;", {}},
    {"mov.u64 %rd3, tile; cvta.shared.u64 %rd3, %rd3; st.u32 [%rd3], 1;", {}},
};

const std::vector<std::string> kAnywhere = {
    "ld.global.u64 %rd3, [%rd1]; st.global.u32 [%rd3], 1;",
    "ld.global.v2.u64 {%rd3, %rd4}, [%rd1]; st.global.u32 [%rd4], 1;",
    "ld.global.v2.u32 {%r3, %r4}, [%rd1]; mov.b64 %rd3, {%r3, %r4}; st.global.u32 [%rd3], 1;",
    "ld.global.u32 %r3, [%rd1]; cvt.u64.u32 %rd3, %r3; shl.b64 %rd3, %rd3, 32; or.b64 %rd3, %rd3, 16; st.global.u32 [%rd3], 1;",
    "ld.global.v2.u32 {%r3, %r4}, [%rd1]; cvt.u64.u32 %rd3, %r3; cvt.u64.u32 %rd4, %r4; bfi.b64 %rd5, %rd4, %rd3, 32, 32; st.global.u32 [%rd5], 1;",
    "st.shared.u64 [tile], %rd1; ld.shared.u64 %rd3, [tile]; st.global.u32 [%rd3], 1;",
    "atom.global.exch.b64 %rd3, [%rd1], 0; st.global.u32 [%rd3], 1;",
    "mov.u64 %rd3, 17592186044416; st.global.u32 [%rd3], 1;",
    "{ .param .b64 to; st.param.b64 [to], %rd1; call put, (to); }",
};

TEST_CASE("the text says where stores may go") {
  for (const Row& row : kKnown) {
    INFO(row.body);
    grid::Stores found = stores_of(row.body);
    std::ranges::sort(found.parameters);
    CHECK_FALSE(found.anywhere);
    CHECK(found.parameters == row.parameters);
    CHECK(found.variables == (row.counter ? std::vector{kCounter} : std::vector<std::uint64_t>{}));
  }
}

TEST_CASE("the text does not say where stores may go") {
  for (const std::string& body : kAnywhere) {
    INFO(body);
    CHECK(stores_of(body).anywhere);
  }
}

TEST_CASE("arguments say which ranges stores reach") {
  std::vector<std::byte> in(64), out(64);
  grid::GlobalMemory memory;
  const std::uint64_t one = memory.add("in", in), other = memory.add("out", out);
  const auto reached = [&](const grid::Stores& stores, std::uint64_t argument) {
    std::vector<std::byte> parameters(16);
    std::memcpy(parameters.data() + 8, &argument, sizeof argument);
    std::string found;
    for (const grid::GlobalMemory::Range& range : memory.ranges())
      if (may_reach(stores, parameters, memory, range)) found += range.name + " ";
    return found;
  };
  const grid::Stores by_argument{false, {}, {8}};
  CHECK(reached(by_argument, one) == "in ");
  CHECK(reached(by_argument, other + 16) == "out ");
  CHECK(reached(by_argument, other + 64) == "out ");     // its end
  CHECK(reached(by_argument, other - 16) == "in out ");  // beside all
  CHECK(reached(by_argument, 5) == "in out ");           // no address
  CHECK(reached({false, {one + 4}, {8}}, 5) == "in ");   // a distance from a variable
  CHECK(reached({true, {}, {}}, one) == "in out ");
  CHECK(reached({}, one).empty());  // there are none
}

}  // namespace stores_test
