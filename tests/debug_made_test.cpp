// SPDX-License-Identifier: Apache-2.0
// What made an element, back through the tiles of products, tensor memory and copies that add. What is expected follows from the
// statements of the kernels, by hand.
#include <algorithm>
#include <catch2/catch.hpp>

#include "warpbit/debug.hpp"

namespace debug_made_test {

using namespace warpbit;

// The opcodes of the chain of the 4 bytes from the last argument's element `at` on, each once, the last one first.
std::vector<std::string> opcodes_of(const std::string& file, std::size_t a, std::size_t b, std::size_t d) {
  const ptx::Module module = *ptx::Module::load_file("tests/correct/" + file);
  std::vector<std::uint16_t> x(a), y(b);
  std::vector<float> z(d);
  Debugger debugger(*module.function("kernel"), {.grid = {1}, .block = {128}},
                    {ptx::buffer(x), ptx::buffer(y), ptx::buffer(z)});
  const auto made =
      debugger.made(~std::uint64_t{0}, writes_memory(std::as_bytes(std::span(z)).subspan(4 * 3, 4)));
  REQUIRE(made);
  std::vector<std::string> out;
  for (const DebugOrigin& one : *made) {
    std::string text = one.statement;
    if (text.starts_with('@')) text.erase(0, text.find(' ') + 1);
    text.resize(text.find(' '));
    if (std::ranges::find(out, text) == out.end()) out.push_back(text);
  }
  return out;
}

TEST_CASE("what made an element goes through tiles of products and through tensor memory") {
  CHECK(opcodes_of("wgmma_fed_by_bulk_copies.ptx", 1024, 128, 512) ==
        std::vector<std::string>{"st.global.v2.f32", "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
                                 "mov.f32",
                                 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"});
  // A comes from registers, through tensor memory; B through shared memory; t, whether D is added, from the thread's number.
  CHECK(opcodes_of("tcgen05_a_in_tensor_memory.ptx", 2048, 256, 2048) ==
        std::vector<std::string>{"st.global.v4.u32", "tcgen05.ld.sync.aligned.32x32b.x16.b32",
                                 "tcgen05.mma.cta_group::1.kind::f16", "tcgen05.st.sync.aligned.32x32b.x8.b32",
                                 "ld.global.v4.u32", "setp.ge.u32", "st.shared.v4.u32", "mov.u32"});
}

TEST_CASE("what made an element goes on where a copy adds") {
  // Each of two copies in bulk adds a word of shared memory to y[0], which is 0 before.
  const std::string text = R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry sums(.param .u64 y)
{
  .reg .b32 %r<4>; .reg .b64 %rd<2>;
  .shared .align 16 .b32 buf[4];
  ld.param.u64 %rd1, [y];
  mov.u32 %r1, 2;
  mov.u32 %r2, buf;
  st.shared.v4.u32 [%r2], {%r1, %r1, %r1, %r1};
  fence.proxy.async;
  cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r2], 16;
  cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r2], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
})";
  const ptx::Module module = *ptx::Module::load(text);
  std::vector<std::uint32_t> y(4);
  Debugger debugger(*module.function("sums"), {.grid = {1}, .block = {1}}, {ptx::buffer(y)});
  const auto made = debugger.made(~std::uint64_t{0}, writes_memory(std::as_bytes(std::span(y)).first(4)));
  REQUIRE(made);
  std::vector<std::uint64_t> steps;
  for (const DebugOrigin& one : *made) steps.push_back(one.step);
  CHECK(steps == std::vector<std::uint64_t>{7, 6, 4, 2});
  CHECK(y[0] == 4);
}

}  // namespace debug_made_test
