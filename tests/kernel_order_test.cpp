// SPDX-License-Identifier: Apache-2.0
// Products that cuBLAS computed on a GPU (golden/products/, recorded by tools/products/record.py) come out bit for bit in the
// order that the names of their kernels tell.
#include "warpbit/find_order.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "warpbit/verify.hpp"

namespace kernel_order_test {

using namespace warpbit;

struct Refused {
  const char* part;  // of the message
  std::size_t products;
};
// What no rule explains: a kernel of integers without tensor cores, and one in which some tiles of D cut K and others do not.
constexpr Refused kRefused[] = {{"cutlass1x", 1}, {"cuts K in some", 1}};

TEST_CASE("products of cuBLAS come out in the order that kernels' names tell", "[capture]") {
  const std::filesystem::path recording = "golden/products/sm_90a.jsonl";
  std::vector<std::size_t> refused(std::size(kRefused));
  std::size_t equal = 0, sampled = 0;
  for (const FileReport& report : verify_all(find_verifiable(std::span(&recording, 1)))) {
    const std::string note = report.notes.empty() ? "" : report.notes.back();
    INFO(report.record << ": " << note << (report.error ? report.error->message() : ""));
    if (report.status == FileStatus::not_reproducible) {
      const auto* known = std::ranges::find_if(
          kRefused, [&](const Refused& r) { return note.find(r.part) != std::string::npos; });
      REQUIRE(known != std::end(kRefused));
      ++refused[static_cast<std::size_t>(known - kRefused)];
      continue;
    }
    REQUIRE(report.status == FileStatus::replayed);
    CHECK(report.mismatches == 0);
    CHECK_FALSE(report.may_differ);
    ++equal;
    sampled += report.elements;
  }
  for (std::size_t i = 0; i < refused.size(); ++i) {
    INFO(kRefused[i].part);
    CHECK(refused[i] == kRefused[i].products);
  }
  CHECK(equal == 462);
  CHECK(sampled > 1'000'000);
}

// ---- Names

struct Named {
  const char *a, *d;
  std::size_t rows, columns, depth;
  std::vector<NamedLaunch> launches;
  const char *form, *order;
};
const std::string kReduce =
    "void cublasLt::splitKreduce_kernel<32, 16, int, float, __half, float, __half>(int)";

TEST_CASE("names of kernels and their grids tell the order", "[capture]") {
  const Named cases[] = {
      {"f16",
       "f16",
       64,
       64,
       4096,
       {{"nvjet_sm90_hsh_32x64_64x16_2x1_v_bz_splitK_NTN", {2, 3, 1}}, {kReduce, {2, 4, 1}}},
       "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
       "split_k=3 unit=64 spread=cut store=f16"},
      // 2 x 9 tiles, as clusters of 2 x 4: 2 x 12
      {"bf16",
       "bf16",
       200,
       120,
       8192,
       {{"nvjet_sm90_tst_64x24_64x16_2x4_h_bz_splitK_TNT", {8, 12, 1}}},
       "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16",
       "split_k=4 unit=64 spread=cut store=bf16"},
      {"e4m3",
       "f32",
       256,
       256,
       1024,
       {{"Memset (Device)"}, {"nvjet_sm90_qqsss_24x64_128x16_4x2_h_bz_algo2_TNN", {8, 6, 1}}},
       "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3",
       "promote=128"},
      {"bf16",
       "bf16",
       777,
       333,
       555,
       {{"void cutlass::Kernel2<cutlass_75_tensorop_s1688gemm_bf16_128x128_tn_align1>(int)", {28, 1, 6}},
        {kReduce}},
       "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32",
       "split_k=6 unit=8 short_first=32 store=bf16"},
      {"f16",
       "f16",
       2230,
       471,
       4480,
       {{"void cutlass::Kernel2<cutlass_75_tensorop_s1688gemm_f16_256x128_nn_align1>(int)", {36, 1, 3}},
        {kReduce}},
       "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
       "split_k=3 unit=64 short_first=32 store=f16"},
      {"f16",
       "f16",
       27,
       1230,
       9500,
       {{"void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_256x64_64x3_nn_align2>(int)",
         {4, 2, 26}},
        {kReduce}},
       "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
       "split_k=26 unit=8 short_first=64 partials=f16 store=f16"},
      {"f16",
       "f16",
       777,
       333,
       555,
       {{"void cutlass::Kernel2<cutlass_75_tensorop_f16_s1688gemm_f16_64x64_nt_align1>(int)", {104, 1, 2}}},
       "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
       "split_k=2 unit=8 short_first=32 merge=f16 store=f16"},
      {"tf32",
       "f32",
       777,
       333,
       555,
       {{"sm80_xmma_gemm_f32f32_tf32f32_f32_nt_n_tilesize128x128x16_stage4_execute_kernel__5x_cublas",
         {7, 3, 6}},
        {"sm80_xmma_gemm_f32f32_tf32f32_f32_nt_n_tilesize128x128x16_stage4_execute_split_k_kernel__5x_cublas",
         {7, 3, 4}}},
       "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
       "tf32=rn sliced=6x16"},
      {"tf32",
       "f32",
       128,
       1024,
       11528,
       {{"sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x64x32_warpgroupsize1x1x1_execute_segment_k_on_kernel__5x_cublas",
         {112, 1, 1}}},
       "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32",
       "tf32=rn split_k=7 unit=32 spread=last merge_order=tree"},
  };
  for (const Named& c : cases) {
    INFO(c.launches.front().name);
    NamedProduct product;
    product.a = product.b = c.a, product.d = c.d;
    product.rows = c.rows, product.columns = c.columns, product.depth = c.depth;
    product.launches = c.launches;
    const auto how = kernel_order(product);
    REQUIRE(how.ok());
    CHECK(how->form == c.form);
    CHECK(how->order.text() == c.order);
  }
}

TEST_CASE("kernels whose order no name tells are refused", "[capture]") {
  const std::pair<std::vector<NamedLaunch>, const char*> cases[] = {
      {{},
       "order of the sum: no kernel; expected nvjet_sm90_, cutlass_75_, cutlass_80_, sm80_xmma_gemm_, sm90_xmma_gemm_, "
       "gemmSN_NN_kernel, gemmSN_TN_kernel, gemvx::kernel, gemvNSP_kernel, gemv2N_kernel, dot_kernel, gemmk1_kernel..."},
      {{{"Memset (Device)"}, {"void gemv2T_kernel<float>(int)"}},
       "order of the sum: the kernel void gemv2T_kernel<float>(int); expected nvjet_sm90_, cutlass_75_, cutlass_80_, "
       "sm80_xmma_gemm_, sm90_xmma_gemm_, gemmSN_NN_kernel, gemmSN_TN_kernel, gemvx::kernel, gemvNSP_kernel, "
       "gemv2N_kernel, dot_kernel, gemmk1_kernel..."},
      {{{"void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>(int)"}},
       "order of the sum: the kernel cutlass_80_simt_sgemm_64x64_8x5_tn_align1 uses no tensor core; expected "
       "operands of f32"},
      {{{"nvjet_sm90_hsh"}},
       "order of the sum: the kernel nvjet_sm90_hsh; expected nvjet_sm90_TYPES_TILE_DEPTHxSTAGES_CLUSTER_..."},
      {{{"sm90_xmma_gemm_f32f32_tilesize64x256x32_warpgroupsize1x1x1_execute_segment_k_on_kernel__5x_cublas",
         {30, 4, 1}}},
       "order of the sum: the kernel "
       "sm90_xmma_gemm_f32f32_tilesize64x256x32_warpgroupsize1x1x1_execute_segment_k_on_kernel__5x_cublas cuts K in some tiles of D "
       "only; expected one with a block or more for each tile"}};
  for (const auto& [launches, message] : cases) {
    NamedProduct product;
    product.a = product.b = "tf32", product.d = "f32";
    product.rows = 672, product.columns = 3384, product.depth = 8928;
    product.launches = launches;
    const auto how = kernel_order(product);
    REQUIRE(!how.ok());
    CHECK(how.error().message() == message);
  }
}

}  // namespace kernel_order_test
