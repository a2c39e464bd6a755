// SPDX-License-Identifier: Apache-2.0
#include "reduction/functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "warpbit/ptx.hpp"

namespace warpbit::reduction {
namespace {

/// A function: y = %f9 of x = %f1 (and %f2).
struct FunctionRow {
  std::string_view name, body;
};
// expf of CUDA's mathematical functions, with denormals: k = round(x log2(e)), then 2^k 2^(x log2(e) - k), where log2(e) has a high
// and a low part. k is found with the magic number 1.5 * 2^23 + 127, whose low bits become the exponent; x / 252 is saturated.
constexpr FunctionRow kFunctions[] = {
    {"expf", R"(
  fma.rn.f32 %f3, %f1, 0f3BBB989D, 0f3F000000; cvt.sat.f32.f32 %f3, %f3;
  mov.b32 %f4, 0f437C0000; fma.rm.f32 %f4, %f3, %f4, 0f4B400001;
  sub.rn.f32 %f5, %f4, 0f4B40007F;
  neg.f32 %f5, %f5;
  fma.rn.f32 %f6, %f1, 0f3FB8AA3B, %f5; fma.rn.f32 %f6, %f1, 0f32A57060, %f6;
  ex2.approx.ftz.f32 %f6, %f6;
  mov.b32 %r4, %f4; shl.b32 %r4, %r4, 23; mov.b32 %f7, %r4;
  mul.rn.f32 %f9, %f6, %f7;)"},
    // CUDA's logf: x = m 2^k, m from 2/3 to 4/3; log(1 + f), f = m - 1, by a polynomial, and k log(2). The exponents of k / 2^-23 that
    // are too small get 23 more.
    {"logf", R"(
  setp.lt.f32 %p1, %f1, 0f00800000; mul.rn.f32 %f2, %f1, 0f4B000000; selp.f32 %f1, %f2, %f1, %p1;
  selp.f32 %f7, 0fC1B80000, 0f00000000, %p1;
  mov.b32 %r4, %f1; add.s32 %r5, %r4, -1059760811; and.b32 %r5, %r5, -8388608; sub.s32 %r6, %r4, %r5;
  cvt.rn.f32.s32 %f3, %r5; fma.rn.f32 %f7, %f3, 0f34000000, %f7;
  mov.b32 %f2, %r6; add.rn.f32 %f2, %f2, 0fBF800000;
  fma.rn.f32 %f3, %f2, 0fBE055027, 0f3E1039F6; fma.rn.f32 %f3, %f3, %f2, 0fBDF8CDCC; fma.rn.f32 %f3, %f3, %f2, 0f3E0F2955;
  fma.rn.f32 %f3, %f3, %f2, 0fBE2AD8B9; fma.rn.f32 %f3, %f3, %f2, 0f3E4CED0B; fma.rn.f32 %f3, %f3, %f2, 0fBE7FFF22;
  fma.rn.f32 %f3, %f3, %f2, 0f3EAAAA78; fma.rn.f32 %f3, %f3, %f2, 0fBF000000;
  mul.rn.f32 %f3, %f2, %f3; fma.rn.f32 %f3, %f3, %f2, %f2; fma.rn.f32 %f9, %f7, 0f3F317218, %f3;
  setp.ge.u32 %p1, %r4, 0x7F800000; @%p1 fma.rn.f32 %f9, %f1, 0f7F800000, 0f7F800000;
  setp.eq.f32 %p1, %f1, 0f00000000; selp.f32 %f9, 0fFF800000, %f9, %p1;)"},
    {"ex2", "mul.rn.f32 %f3, %f1, 0f3FB8AA3B; ex2.approx.f32 %f9, %f3;"},
    {"rsqrt", "rsqrt.approx.f32 %f9, %f1;"},
    {"div_full", "div.full.f32 %f9, %f1, %f2;"},
};

constexpr unsigned kBlock = 256, kWarp = 32;  // few numbers have a block of one warp, which begins sooner

ptx::Function compiled(const FunctionRow& row) {
  const std::string text = fmt::format(R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 out, .param .u32 count)
{{
  .reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .f32 %f<10>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [out]; ld.param.u32 %r1, [count];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r2, %r2, %r4, %r3;
  setp.ge.u32 %p1, %r2, %r1; @%p1 ret;
  mul.wide.u32 %rd4, %r2, 4; add.s64 %rd1, %rd1, %rd4; add.s64 %rd2, %rd2, %rd4; add.s64 %rd3, %rd3, %rd4;
  ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd2];
  {}
  st.global.f32 [%rd3], %f9;
  ret;
}}
)",
                                       row.body);
  return *ptx::Module::load(text)->function("k");
}

const ptx::Function& function_of(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string_view, ptx::Function> known;
  const std::scoped_lock lock(mutex);
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  const auto row = std::ranges::find(kFunctions, name, &FunctionRow::name);
  return known.emplace(row->name, compiled(*row)).first->second;
}

}  // namespace

std::vector<float> computed(std::string_view function, std::span<const float> a, std::span<const float> b) {
  std::vector<float> out(a.size()), first(a.begin(), a.end()), second(b.begin(), b.end());
  if (second.empty()) second.resize(a.size());
  if (a.empty()) return out;
  ptx::Launch how;
  const unsigned block = a.size() <= kWarp ? kWarp : kBlock;
  how.grid = {static_cast<unsigned>((a.size() + block - 1) / block)};
  how.block = {block};
  how.check_shared = how.check_global = false;
  how.execute.threads = 1;
  (void)function_of(function).launch(how, {ptx::buffer(first), ptx::buffer(second), ptx::buffer(out),
                                           ptx::value(static_cast<std::uint32_t>(a.size()))});
  return out;
}

}  // namespace warpbit::reduction
