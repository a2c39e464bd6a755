// SPDX-License-Identifier: Apache-2.0
// `warpbit ask`: what lines mean that people hold, and that every command of an answer answers.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "in_turn.hpp"
#include "tool.hpp"

namespace ask_test {

using namespace tool;
using nlohmann::json;

// A line, what it is, its form if there is one, and the first command.
struct Asked {
  std::string line, kind, form, command;
};

const std::string kMma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
const std::string kWgmma = "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16";
const std::string kTileLoad = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes";
const std::string kMap = "7f0000000000 20000066510 0 0 3ff00000fff 0 3f00000000000000 7f 4000 400 0 0 0 0 0 0";

const Asked kAsked[] = {
    // PTX
    {kMma, "form", kMma, "layout " + kMma + "@sm_90a --json"},
    {"mma.m16n8k16.f32.f16@H100", "form", kMma, "layout " + kMma + "@sm_90a --json"},
    {"mma m16n8k16 fp32 fp16 RTX 4090", "form", kMma, "layout " + kMma + "@sm_89 --json"},
    {"mma m16n8k16 f16 H100", "form", kMma, "layout " + kMma + "@sm_90a --json"},
    {kMma + " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};", "statement", kMma,
     "layout " + kMma + " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13}; --target sm_90a --json"},
    {"asm volatile(\"" + kMma +
         " \" \"{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};\\n\" : \"=f\"(d0) : \"r\"(a0));",
     "statement", kMma,
     "layout " + kMma + " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13}; --target sm_90a --json"},
    {"@%p1 " + kMma + " {%f0,%f1,%f2,%f3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%f10,%f11,%f12,%f13};", "statement",
     kMma,
     "layout " + kMma +
         " {%f0,%f1,%f2,%f3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%f10,%f11,%f12,%f13}; --target sm_90a --json"},
    {"wgmma m64n128k16 f32 bf16", "form", kWgmma, "layout " + kWgmma + "@sm_90a --json"},
    {"ldmatrix x4 trans", "form", "ldmatrix.sync.aligned.m8n8.x4.trans.b16",
     "layout ldmatrix.sync.aligned.m8n8.x4.trans.b16@sm_90a --json"},
    {"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", "form",
     "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32",
     "check tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 --json"},
    {"ptxas error : Instruction '" + kMma + "' requires .target sm_80 or higher", "form", kMma,
     "layout " + kMma + "@sm_90a --json"},
    {"mma.m16n8k64.f32.f16", "error", "", "check mma.m16n8k64.f32.f16 --json"},
    {"mma.m16n8k16.f32.f16@H10", "error", "", ""},
    // CuTe, CUTLASS, wmma, Triton
    {"SM80_16x8x16_F32F16F16F32_TN", "atom", kMma, "layout " + kMma + "@sm_80 --json"},
    {"MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>{} H100", "atom", kMma, "layout " + kMma + "@sm_90a --json"},
    {"SM80_16x8x32_S32S8U8S32_TN_SATURATE", "atom", "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32",
     "layout mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32@sm_80 --json"},
    {"SM80_16x8x256_S32U1U1S32_TN_XORPOPC", "atom", "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc",
     "layout mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc@sm_80 --json"},
    {"SM70_8x8x4_F32F16F16F32_NT", "atom", "mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32",
     "layout mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32@sm_70 --json"},
    {"SM90_64x128x16_F32BF16BF16_SS<GMMA::Major::K, GMMA::Major::MN>", "atom", kWgmma,
     "layout " + kWgmma + " {d}, a_desc, b_desc, p, 1, 1, 0, 1; --target sm_90a --json"},
    {"SM90_64x128x16_F32BF16BF16_RS", "atom", kWgmma, "layout " + kWgmma + "@sm_90a --json"},
    {"SM75_U32x4_LDSM_N", "atom", "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
     "layout ldmatrix.sync.aligned.m8n8.x4.shared.b16@sm_75 --json"},
    {"SM75_U16x8_LDSM_T", "atom", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
     "layout ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16@sm_75 --json"},
    {"SM90_U32x2_STSM_N", "atom", "stmatrix.sync.aligned.m8n8.x2.shared.b16",
     "layout stmatrix.sync.aligned.m8n8.x2.shared.b16@sm_90a --json"},
    {"SM100_MMA_F16BF16_2x1SM_SS", "atom", "tcgen05.mma.cta_group::2.kind::f16", ""},
    {"SM100_MMA_MXF4_SS<float_e2m1_t, float_e2m1_t, float, float_ue4m3_t, 128, 128, 16>", "atom",
     "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X", ""},
    {"SM120_16x8x32_TN<float_e4m3_t, float_e2m1_t, float>", "atom",
     "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e2m1.f32", ""},
    {"SM100::TMEM::LOAD::SM100_TMEM_LOAD_32dp32b32x", "atom", "tcgen05.ld.sync.aligned.32x32b.x32.b32", ""},
    {"SM100_UTCCP_4x32dp128bit_1cta", "atom", "tcgen05.cp.cta_group::1.32x128b.warpx4", ""},
    {"SM80_16x8x64_F32F16F16F32_TN", "error", "",
     "check mma.sync.aligned.m16n8k64.row.col.f32.f16.f16.f32 --json"},
    {"nvcuda::wmma::fragment<matrix_a, 16, 16, 16, half, row_major>", "atom",
     "wmma.load.a.sync.aligned.row.m16n16k16.f16", ""},
    {"#ttg.nvidia_mma<{versionMajor = 3, instrShape = [16, 128, 16]}>", "atom",
     "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", ""},
    {"#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>", "atom", kMma, ""},
    {"MMA_64x256x16_F16F16F16_SS", "atom", "wgmma.mma_async.sync.aligned.m64n256k16.f16.f16.f16", ""},
    {"SM100_MMA_F16BF16_2x1SM_SS_NOELECT", "atom", "tcgen05.mma.cta_group::2.kind::f16", ""},
    {"make_tma_copy(SM90_TMA_LOAD{}, mA, sA)", "name", kTileLoad, "check " + kTileLoad + " --json"},
    // CuTe DSL, by name or place
    {"cute.nvgpu.warp.LdMatrix16x16x8bOp(2)", "atom", "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8", ""},
    {"LdMatrix8x8x16bOp(transpose=True, num_matrices=4)", "atom",
     "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", ""},
    {"warp.MmaF16BF16Op(cutlass.BFloat16, cutlass.Float32, (16, 8, 16))", "atom",
     "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", ""},
    {"tcgen05.Ld32x32bOp(tcgen05.Repetition.x32, tcgen05.Pack.NONE)", "atom",
     "tcgen05.ld.sync.aligned.32x32b.x32.b32", ""},
    {"tcgen05.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (256, 128, 16), tcgen05.CtaGroup.TWO)", "atom",
     "tcgen05.mma.cta_group::2.kind::f16", ""},
    // Layouts of CuTe
    {"((4,8),(2,2,2)):((32,1),(16,8,128))", "layout", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
     "layout mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 --operand a --json"},
    {"using ALayout = Layout<Shape<Shape<_4,_8>, Shape<_2,_2,_2>>, Stride<Stride<_32,_1>, Stride<_16,_8,_128>>>;",
     "layout", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", ""},
    {"tD: ((_4,_8,_4),(_2,_2,_16)):((_128,_1,_16),(_64,_8,_512))", "layout",
     "wgmma.mma_async.sync.aligned.m64n128k16.f16.f16.f16", ""},
    {"Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)", "layout",
     "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
     "layout wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 --operand b --swizzle 128 --json"},
    {"CU_TENSOR_MAP_SWIZZLE_64B", "layout", "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
     "layout wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 --operand b --swizzle 64 --json"},
    {"(3,5):(7,1)", "layout", "", ""},
    // Kernels of libraries
    {"ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_nn", "name", kMma, ""},
    {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8>(T1::Params)",
     "name", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", ""},
    {"nvjet_tst_128x128_64x6_2x1_v_bz_TNT", "name", kWgmma, ""},
    {"sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1", "name",
     "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32", ""},
    // Other statements of kernels, and what stands for them
    {"@elect mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 32768;", "statement",
     "mbarrier.arrive.expect_tx.shared::cta.b64", "check mbarrier.arrive.expect_tx.shared::cta.b64 --json"},
    {"ex2.approx.ftz.f32 %f12, %f11;", "statement", "ex2.approx.ftz.f32", ""},
    {"bar.sync", "form", "bar.sync", ""},
    {"__shfl_xor_sync(0xffffffff, x, 1)", "name", "shfl.sync.bfly.b32", ""},
    {"CUBLAS_COMPUTE_32F_FAST_TF32", "name", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", ""},
    {"%acc = ttng.tc_gen5_mma %a, %b, %d : !ttg.memdesc<128x64xf8E4M3FN, #shared>", "name",
     "tcgen05.mma.cta_group::1.kind::f8f6f4", ""},
    // Messages and questions
    {"ptxas k.ptx, line 12; error : Feature 'mma with FP8 floating point type' requires .target sm_89 or higher",
     "form", "mma.sync.aligned.m16n8k16.row.col.f16.e5m2.e4m3.f16", ""},
    {"ptxas k.ptx, line 88; error : Feature 'cp.async' requires .target sm_80 or higher", "form",
     "cp.async.cg.shared.global", ""},
    {"PTX with .target 'sm_90a' cannot be compiled for architecture 'sm_90'", "target", "", ""},
    {"which lane holds element (3,5) of A in m16n8k16?", "form",
     "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", ""},
    {"fp8e4nv data type is not supported on CUDA arch < 89", "format", "", "format e4m3 --json"},
    {"finding of the rule lanes_not_synchronised", "name", "", "list --rules --json"},
    // Machine code
    {"@P0 SYNCS.EXCH.64 URZ, [UR6], UR4 ;", "machine", "mbarrier.init.shared::cta.b64", ""},
    {"MUFU.RSQ R7, R6 ;", "machine", "rsqrt.approx.ftz.f32", ""},
    {"S2R R0, SR_TID.X ;", "machine", "mov.u32", ""},
    {"I2F.U32.RP R0, R3 ;", "machine", "cvt.rn.f32.s32", ""},
    {"R2UR UR4, R0 ;", "machine", "mov.b32", ""},
    {"CCTL.IVALL ;", "machine", "discard.global.L2", ""},
    {"UISETP.NE.AND UP0, UPT, UR4, URZ, UPT ;", "machine", "setp.lt.s32", ""},
    {"UTMALDG.2D [UR8], [UR4] ;", "machine", kTileLoad, ""},
    {"LDTM.x32 R4, tmem[UR6] ;", "machine", "tcgen05.ld.sync.aligned.32x32b.x32.b32", ""},
    {"/*0070*/ HMMA.16816.F32 R4, R8, R26, R4 ;", "machine", kMma, "layout " + kMma + "@sm_80 --json"},
    {"LDSM.16.M88.4", "machine", "ldmatrix.sync.aligned.m8n8.x4.b16", ""},
    {"HGMMA.64x128x16.F32.BF16", "machine", kWgmma, ""},
    {"UTCHMMA", "machine", "tcgen05.mma.cta_group::1.kind::f16", ""},
    {"HMMA.999.F32", "error", "", ""},
    // Words of hexadecimal digits
    {"0x4000004000010040", "descriptor", "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
     "descriptor 0x4000004000010040 --form wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 --json"},
    {"0x4000404000010040", "descriptor", "tcgen05.mma.cta_group::1.kind::f16",
     "descriptor 0x4000404000010040 --form tcgen05.mma.cta_group::1.kind::f16 --idesc 0x8200490 --json"},
    {"idesc 0x8200490", "idesc", "tcgen05.mma.cta_group::1.kind::f16",
     "descriptor 0x8200490 --form tcgen05.mma.cta_group::1.kind::f16 --json"},
    {kMap, "tensormap", "", "tensormap " + kMap + " --json"},
    // Formats, codes, numbers
    {"e4m3 0x7e", "code", "", "format e4m3 --json 0x7e"},
    {"0x3c00 f16", "code", "", "format f16 --json 0x3c00"},
    {"0x3c00", "code", "", "format f16 --json 0x3c00"},
    {"3.3 in e4m3", "number", "", "format e4m3 --json 3.3"},
    {"f16 -inf", "number", "", "format f16 --json -- -inf"},
    {"E4M3FN 448", "number", "", "format e4m3 --json 448"},
    {"2**-12", "number", "", "format f32 --json 0x1p-12"},
    {"nvfp4 0.1 -0.4", "format", "", "format nvfp4 --json 0.1 -0.4"},
    {"e4m3", "format", "", "format e4m3 --json"},
    {"torch.float8_e5m2,", "format", "", "format e5m2 --json"},
    {"CUDA_R_4F_E2M1", "format", "", "format e2m1 --json"},
    {"mxfp8_e4m3 vs mxfp4", "format", "", "format mxfp8_e4m3 --json"},
    {"0.1", "number", "", "format f32 --json 0.1"},
    // GPUs
    {"compute capability 8.9", "target", "", "list --evidence --target sm_89 --json"},
    {"H100", "target", "", "list --evidence --target sm_90a --json"},
    {"NVIDIA GeForce RTX 4090", "target", "", "list --evidence --target sm_89 --json"},
    {"blackwell", "target", "", "list --targets --json"},
    // Sums
    {"1 + 2^-12 - 3.5", "sum", kMma,
     "explain " + kMma + " --target sm_80,sm_90a,sm_100a,sm_120a --a 1 2^-12 -3.5 --b 1 1 1 --json"},
    {"1*1 + 2^-12*1 + 0.1 on H100 and A100", "sum", kMma,
     "explain " + kMma + " --target sm_90a,sm_80 --a 1 2^-12 0.1 --b 1 1 1 --json"},
    {"sum 1 2^-12 -3.5 f16 A100,H100", "sum", kMma,
     "explain " + kMma + " --target sm_80,sm_90a --a 1 2^-12 -3.5 --b 1 1 1 --json"},
    {"16777216 + 1 - 16777216", "sum", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", ""},
    {"1+2^-24", "sum", kMma, ""},
    {"0.5 - 0.25", "sum", kMma, ""},
    {"sum 1,2^-12", "sum", kMma, ""},
    {"\"1 + 2^-12\"", "sum", kMma, ""},
    {"1 + 2^-24 on V100", "sum", "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", ""},
    {"1 + 2 in s8 on T4", "sum", "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", ""},
    {"1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1 on H100", "sum", kMma, ""},
    // Products
    {"H100 fp8 gemm", "product", "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3", ""},
    {"fp8 gemm on H100", "product", "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3", ""},
    {"B200 nvfp4 gemm", "product", "tcgen05.mma.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.ue4m3",
     ""},
    {"RTX 5090 fp8 gemm", "product", "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32", ""},
    {"NVFP4 matmul RTX 5090", "product",
     "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", ""},
    {"A100 int8 matmul", "product", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", ""},
    {"int8 matmul on T4", "product", "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", ""},
    {"which instruction does a bf16 gemm use on B200?", "product", "tcgen05.mma.kind::f16.f32.bf16.bf16", ""},
    {"tf32 matmul A100", "product", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", ""},
    {"V100 fp16 GEMM", "product", "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", ""},
    {"H100 gemm", "product", "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", ""},
    {"fp8 gemm", "product", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", ""},
    {"A100 fp8 gemm", "error", "", ""},
    {"H100 gemm of fish", "error", "", ""},
    // No sums
    {"<text x=\"116\" y=\"220\">+</text>", "error", "", ""},
    {"<text x=\"467\" y=\"160\">0</text>", "error", "", ""},
    {"<circle cx=\"5\" cy=\"7\"/>", "error", "", ""},
    {"<rect width=\"10\" height=\"20\" x=\"+1\" y=\"-2\"/>", "error", "", ""},
    {"f(\"3\", \"4\")", "error", "", ""},
    {"\"a\" = \"1\" + \"2\"", "error", "", ""},
    {"1,000", "error", "", ""},
    {"1,000,000 + 2", "error", "", ""},
    {"1,250", "error", "", ""},
    {"2024-01-05", "error", "", ""},
    {"116 220", "error", "", ""},
    // Nothing
    {"hello world", "error", "", ""},
    {"555-1234", "error", "", ""},
    {"sum 1,250 2,500", "error", "", ""},
    {"2 + 3 = 5", "error", "", ""},
    {"description 0x1234", "error", "", ""},
    {"The fence was painted white", "error", "", ""},
    {"a half of the house", "error", "", ""},
    {"xmma.sync.aligned.m16n8k16", "error", "", ""},
    {"mma.syncopation", "error", "", ""},
    {"ldmatrixx4", "error", "", ""},
    {"qmma.sink", "error", "", ""},
    {"FOOSM80_16x8x16_F32F16F16F32_TN", "error", "", ""},
    {"SM80_16x8x16_F32F16F16F32_TNX", "error", "", ""},
    {"my__shfl_xor_syncs", "error", "", ""},
    {"((4,8),(2,2)):((16,1),(8))", "error", "", ""},
    {"foo.bar e.g. main.cpp", "error", "", ""},
    {"", "error", "", ""},
};

json answer(const Output& output) {
  const json out = json::parse(output.out, nullptr, false);
  REQUIRE(out.is_object());
  CHECK(out["schema"] == "ask/1");
  CHECK_FALSE(out["understood"].get<std::string>().empty());
  CHECK(output.err.empty());
  CHECK(output.status == (out["kind"] == "error" ? 1 : 0));
  return out;
}

json asked(const std::string& line) {
  return answer(run({"ask", "--json", "--", line}));
}

std::string joined(const json& command) {
  std::string out;
  for (const std::string word : command) out += (out.empty() ? "" : " ") + word;
  return out;
}

// Every command of the answer answers, whenever it is new. What results rest on takes longer to say: a few times are enough.
void require_answers(const json& found) {
  static std::set<std::string> known;
  static int evidence = 0;
  for (const json& view : found["views"]) {
    CHECK_FALSE(view["title"].get<std::string>().empty());
    CHECK_FALSE(view["commands"].empty());
    for (const json& command : view["commands"]) {
      const std::string text = joined(command);
      if (!known.insert(text).second || (text.starts_with("list --evidence") && ++evidence > 3)) continue;
      const Output output = run(command.get<std::vector<std::string>>());
      INFO(text << ": " << output.err);
      CHECK((output.status == 0 || output.status == 1));
    }
  }
}

TEST_CASE("lines that people hold are understood", "[quick][cli][once]") {
  for (const auto& [line, kind, form, command] : kAsked) {
    INFO(line);
    const json found = asked(line);
    CHECK(found["line"] == line);
    CHECK(found["kind"] == kind);
    CHECK(found.value("form", "") == form);
    if (!command.empty()) {
      REQUIRE_FALSE(found["views"].empty());
      CHECK(joined(found["views"][0]["commands"][0]) == command);
    }
    require_answers(found);
  }
}

TEST_CASE("several readings of a line are listed, and near names suggested", "[quick][cli]") {
  const json word = asked("0x4000004000010040");
  REQUIRE(word["also"].size() == 2);
  CHECK(word["also"][0]["form"] == "tcgen05.mma.cta_group::1.kind::f16");
  CHECK(word["also"][1]["kind"] == "code");
  CHECK(asked("0x3c00")["also"][0]["understood"] == "0x3c00 is a code of bf16: 0.0078125");
  const std::pair<std::string, std::string> near[] = {
      {"H10", "H100"},
      {"HMMMA", "HMMA"},
      {"e4m4", "e4m3"},
      {"mma.m16n8k16.f32.f16@H10", "mma.m16n8k16.f32.f16@H100"},
      {"fp8", "e5m2"},
      {"RTX 4091", "RTX 4090"},
      {"mma.m16n8k61.f32.f16", kMma},
  };
  for (const auto& pair : near) {
    const std::string &line = pair.first, &name = pair.second;
    INFO(line);
    const json found = asked(line);
    CHECK(std::ranges::any_of(found["suggestions"],
                              [&](const json& s) { return s["line"] == name && !s["why"].empty(); }));
  }
}

TEST_CASE("what is asked is answered as text, too, and words need no quotes", "[quick][cli]") {
  const Output text = run({"ask", "mma", "m16n8k16", "f32", "f16", "H100"});
  CHECK(text.status == 0);
  CHECK_THAT(text.out,
             Catch::StartsWith("form: ") && Catch::Contains("\n    warpbit layout " + kMma + "@sm_90a\n"));
  CHECK(run({"ask", "frobnicate"}).status == 1);
  CHECK_THAT(run({"ask", "-inf"}).out, Catch::StartsWith("number: The number -inf"));
  CHECK_THAT(run({"ask", "ue8m0", "3"}).out,
             Catch::Contains("cvt to ue8m0 does not do; it has") && Catch::Contains("rz, rp"));
}

// By hand. 2^-24 beside 1 is kept by neither: f32 has 23 bits behind the point, and rounds to zero.
TEST_CASE("a sum is answered on each target, with what compare prints", "[quick][cli]") {
  const json one = asked("1 + 2^-24 on H100")["answers"];
  REQUIRE(one.size() == 1);
  CHECK(one[0]["form"] == kMma);
  CHECK(one[0]["target"] == "sm_90a");
  CHECK(one[0]["code"] == "0x3f800000");
  CHECK(one[0]["value"] == "1");
  CHECK(one[0]["exact"] == "1.000000059604644775390625");
  CHECK(one[0]["nearest"] == "0x3f800000");
  CHECK(one[0]["ulps"] == "0.5");
  const Output text = run({"ask", "1 + 2^-24 on H100"});
  CHECK_THAT(text.out, Catch::Contains("sm_90a  0x3f800000 (1)  0.5\n") &&
                           Catch::Contains("exact: 1.000000059604644775390625\n"));
  // -1 + 2^-25: an A100 cuts what an H100 keeps.
  const json two = asked("-1 + 2^-25 on A100 and H100")["answers"];
  REQUIRE(two.size() == 2);
  CHECK(two[0]["code"] == "0xbf800000");
  CHECK(two[1]["code"] == "0xbf7fffff");
  const Output asks = run({"ask", "-1 + 2^-25 on A100 and H100"}),
               compares = run({"compare", "mma.m16n8k16.f32.bf16", "--targets", "A100,H100", "--a", "-1 2^-25",
                               "--b", "1 1"});
  CHECK_FALSE(compares.out.empty());
  CHECK_THAT(asks.out, Catch::Contains(compares.out));
}

TEST_CASE("in f16 may be the factors or the accumulators", "[quick][cli]") {
  const json found = asked("2048 + 1 in f16");
  std::set<std::string> narrow, wide;  // 2049 is no number of f16, and halfway: 2048 is even
  for (const json& answer : found["answers"])
    (answer["form"] == kMma ? wide : narrow).insert(answer["value"].get<std::string>());
  CHECK(wide == std::set<std::string>{"2049"});
  CHECK(narrow == std::set<std::string>{"2048"});
  CHECK(found["views"].size() == 2);
  CHECK_THAT(run({"ask", "2048 + 1 in f16"}).out,
             Catch::Contains("in accumulators of f32:") && Catch::Contains("in accumulators of f16:"));
  CHECK(asked("2048 + 1 on H100")["answers"].size() == 1);
  CHECK(asked("0.1 + 0.2 in f16 on H100")["notes"].size() == 2);
}

TEST_CASE("products are told with commands for one's own matrices", "[quick][cli]") {
  const json found = asked("H100 fp8 gemm");
  CHECK_THAT(found["understood"], Catch::StartsWith("Products of e4m3 on H100 (sm_90a) use wgmma.mma_async"));
  std::set<std::string> commands;
  for (const std::string line : found["with_files"])
    commands.insert(line.substr(0, line.find_first_of(" (", 8)));
  CHECK(commands == std::set<std::string>{"warpbit run", "warpbit order", "warpbit diagnose", "warpbit.gemm"});
  CHECK_THAT(run({"ask", "H100 fp8 gemm"}).out,
             Catch::Contains("\n    warpbit order a.npy b.npy d.npy --form "));
  CHECK(asked("B200 nvfp4 gemm")["with_files"].size() == 2);
  CHECK_THAT(asked("A100 fp8 gemm")["understood"],
             Catch::Contains("A100 (sm_80) has no product of e4m3; it has f16, "));
  CHECK_FALSE(asked("H100 gemm")["suggestions"].empty());
}

TEST_CASE("a descriptor is one of the target that is named", "[quick][cli]") {
  const auto forms = [](const std::string& line) {
    const json out = json::parse(run({"ask", line, "--json"}).out);
    std::vector<std::string> found = {out["kind"] == "error" ? "" : out.value("form", "")};
    for (const json& one : out["also"])
      if (one.contains("form")) found.push_back(one["form"]);
    for (std::string& form : found) form.resize(std::min(form.size(), form.find('.')));
    return found;
  };
  using Forms = std::vector<std::string>;
  const std::string bits = "0xefe450b211198230";  // bits 46 to 48 are 1
  CHECK(forms(bits) == Forms{"tcgen05", "wgmma"});
  CHECK(forms(bits + " sm_90a") == Forms{"wgmma"});
  CHECK(forms(bits + " B200") == Forms{"tcgen05"});
  CHECK(forms(bits + " A100") == Forms{""});
  CHECK(forms("idesc 0x8200490 B200")[0] == "tcgen05");
  CHECK(forms("idesc 0x8200490 H100") == Forms{""});
}

TEST_CASE("no line is too strange", "[quick][cli][sampled]") {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::size(kAsked); i += tries_all() ? 2 : 8)
    lines.push_back(kAsked[i].line.substr(0, kAsked[i].line.size() * (1 + i / 2 % 3) / 4));
  std::mt19937 random(1);
  const std::string_view kSigns = "0123456789abcdefxSM_<>{}[],;.:@%^*+-/ \"'mkn\n\\\xC3\x97\xFF";
  for (int i = 0; i < 20; ++i) {
    std::string line;
    for (std::size_t n = random() % 200; n > 0; --n) line += kSigns[random() % kSigns.size()];
    lines.push_back(line);
  }
  for (const std::string repeated : {"1+", "(", "0x", "SM", "mma.", "@", "\"", "2^", "-", "<", "{"}) {
    std::string line;
    for (int i = 0; i < (tries_all() ? 3000 : 500); ++i) line += repeated;
    lines.push_back(line);
  }
  for (const std::string word : {"mma ", "mma.", "HMMA.", "tcgen05.mma ", "cvt.rn ", "f16 ", "1 + "}) {
    std::string line;
    while (line.size() + word.size() <= 20'000) line += word;  // the longest that is read
    lines.push_back(line);
  }
  lines.push_back(std::string(100'000, 'a'));
  for (const std::string& line : lines) {
    INFO(line.substr(0, 300));
    require_answers(asked(line));
  }
}

}  // namespace ask_test
