// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup in kernels in PTX: every kernel leaves in the registers of D what the specification leaves, in
// whatever registers they are.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "warpbit/ptx.hpp"

namespace ptx_wgmma_test {

using namespace warpbit;
using Words = std::vector<std::uint32_t>;

constexpr int kThreads = 128, kOfA = 4096,  // bytes of shared memory before those of B
    kAtOnce = 16 * kThreads;                // that all threads store by one instruction

struct Form {
  const char* types;
  int columns, depth;
  bool a_in_registers;
  const char* immediates;           // behind scale-d
  std::uint32_t sign_and_exponent;  // what of a word of A and B is random
  std::uint32_t fixed;              // and what else is set

  int sums() const { return columns / 2; }
  int shared_bytes() const { return kOfA + (columns * 128 + kAtOnce - 1) / kAtOnce * kAtOnce; }
};

const Form kForms[] = {
    {"f32.bf16.bf16", 256, 16, false, ", 1, 1, 0, 0", 0xFFFF'FFFF, 0},
    {"f32.bf16.bf16", 256, 16, false, ", 1, 1, 0, 0", 0x83FF'83FF, 0x3C00'3C00},
    {"f32.f16.f16", 64, 16, true, ", 1, -1, 0", 0xBFFF'BFFF, 0},
    {"f32.tf32.tf32", 24, 8, false, ", 1, 1", 0xFFFF'FFFF, 0},
    {"f32.tf32.tf32", 24, 8, false, ", 1, 1", 0x83FF'FFFF, 0x3C00'0000},
    {"f32.e4m3.e5m2", 16, 32, false, ", 1, 1", 0xFFFF'FFFF, 0},
    {"s32.s8.u8", 32, 32, false, "", 0xFFFF'FFFF, 0},
};

// D is in every second register, and those of odd number come last.
std::string sums_of(const Form& form) {
  std::string out;
  for (int i = 0; i < form.sums(); ++i)
    out += fmt::format("{}%d{}", i == 0 ? "" : ", ", 2 * (i % 2 * form.sums() + i));
  return out;
}

// Each thread brings a part of `in` to shared memory and its D from `d`, and takes D back.
std::string kernel(const Form& form, bool adds) {
  std::string out = fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 d)
{{
  .reg .pred %p<2>;  .reg .b32 %r<16>;  .reg .b32 %d<{}>;  .reg .b64 %rd<16>;
  .shared .align 1024 .b8 tile[{}];
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [d];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 16;
  add.u64 %rd1, %rd1, %rd3;
  mul.wide.u32 %rd4, %r1, {};
  add.u64 %rd2, %rd2, %rd4;
  shl.b32 %r2, %r1, 4;
  mov.u32 %r3, tile;
  add.u32 %r2, %r2, %r3;
)",
                                6 * form.sums(), form.shared_bytes(), 4 * form.sums());
  for (int at = 0; at < form.shared_bytes(); at += kAtOnce)
    out += fmt::format(
        "ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%rd1+{0}];\nst.shared.v4.b32 [%r2+{0}], {{%r4, %r5, %r6, %r7}};\n",
        at);
  for (int i = 0; i < form.sums(); ++i)
    out += fmt::format("ld.global.b32 %d{}, [%rd2+{}];\n", 2 * (i % 2 * form.sums() + i), 4 * i);
  // A without a swizzle, 128 bytes from one chunk to the next and 256 to the next rows; B with one of 128 bytes.
  out += fmt::format(
      "mov.b64 %rd5, {:#x};\nmov.b64 %rd6, {:#x};\nmov.b64 %rd7, {:#x};\nsetp.ne.u32 %p1, {}, 0;\n"
      "fence.proxy.async;\nbar.sync 0;\nwgmma.fence.sync.aligned;\n",
      0x10'0008'0000U, 0x4000'0040'0001'0000U | kOfA / 16, 0x4000'0040'0001'0002U | kOfA / 16, int{adds});
  for (const char* b : {"%rd6", "%rd7"})
    out += fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}.{} {{{}}}, {}, {}, %p1{};\n", form.columns,
                       form.depth, form.types, sums_of(form),
                       form.a_in_registers ? "{%r4, %r5, %r6, %r7}" : "%rd5", b, form.immediates);
  out += "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  for (int i = 0; i < form.sums(); ++i)
    out += fmt::format("st.global.b32 [%rd2+{}], %d{};\n", 4 * i, 2 * (i % 2 * form.sums() + i));
  return out + "ret;\n}\n";
}

Words random_words(std::size_t count, std::uint32_t random, std::uint32_t fixed, unsigned seed) {
  std::mt19937 bits(seed);
  Words out(count);
  for (std::uint32_t& word : out) word = (static_cast<std::uint32_t>(bits()) & random) | fixed;
  return out;
}

Words run(const ptx::Function& function, Kernel kernel, bool checks, const Words& in, Words d) {
  ptx::Launch how{.block = {kThreads}, .check_shared = checks};
  how.execute.kernel = kernel;
  const ptx::Report report = function.launch(how, std::vector<ptx::Argument>{ptx::buffer(in), ptx::buffer(d)});
  if (report.fault) FAIL(report.fault->message());
  return d;
}

TEST_CASE("products of a warpgroup are those of the specification, wherever D is") {
  for (const Form& form : kForms)
    for (const bool adds : {false, true}) {
      INFO(form.types << ", " << form.columns << " columns, adds: " << adds);
      const Result<ptx::Module> module = ptx::Module::load(kernel(form, adds));
      if (!module) FAIL(module.error().message());
      const Result<ptx::Function> function = module->function("k");
      REQUIRE(function);
      const Words in = random_words(static_cast<std::size_t>(form.shared_bytes() / 4), form.sign_and_exponent,
                                    form.fixed, 1),
                  d = random_words(static_cast<std::size_t>(form.sums() * kThreads), 0xBFFF'FFFF, 0, 2);
      const Words expected = run(*function, Kernel::reference, true, in, d);
      CHECK(expected != d);
      for (const Kernel kernel : kernels())
        for (const bool checks : {false, true}) CHECK((run(*function, kernel, checks, in, d) == expected));
    }
}

}  // namespace ptx_wgmma_test
