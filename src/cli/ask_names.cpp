// SPDX-License-Identifier: Apache-2.0
// Names that libraries and compilers give to instructions that the library knows, each with a form of PTX: a row each. A name is
// a whole identifier of the line, whatever stands around it.
#include <fmt/format.h>

#include <algorithm>

#include "cli/ask.hpp"
#include "warpbit/detail/letters.hpp"

namespace warpbit::cli {
namespace {

// ---- CUDA C++, CuTe, CUTLASS, Triton, MLIR

constexpr std::string_view kBulkStore = "cp.async.bulk.global.shared::cta.bulk_group";
constexpr std::string_view kMma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
constexpr std::string_view kTf32Mma = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32";
constexpr std::string_view kWgmma = "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16";
constexpr std::string_view kOfTypes = "its types come from its operands; common ones are taken";

constexpr AskName kLibraryNames[] = {
    // CUDA C++
    {"__syncthreads", "bar.sync", "all threads of the block meet"},
    {"__syncthreads_count", "bar.red.popc.u32", "all threads of the block meet and count"},
    {"__syncthreads_and", "bar.red.and.pred", "all threads of the block meet and vote"},
    {"__syncthreads_or", "bar.red.or.pred", "all threads of the block meet and vote"},
    {"__syncwarp", "bar.warp.sync", "the named lanes of a warp meet"},
    {"__threadfence", "fence.acq_rel.gpu", "a fence for all threads of the GPU"},
    {"__threadfence_block", "fence.acq_rel.cta", "a fence for the threads of the block"},
    {"__threadfence_system", "fence.acq_rel.sys", "a fence for all threads of the system"},
    {"__shfl_sync", "shfl.sync.idx.b32", "a lane's register read by others"},
    {"__shfl_up_sync", "shfl.sync.up.b32", "a lane's register read by others"},
    {"__shfl_down_sync", "shfl.sync.down.b32", "a lane's register read by others"},
    {"__shfl_xor_sync", "shfl.sync.bfly.b32", "a lane's register read by others"},
    {"__ballot_sync", "vote.sync.ballot.b32", "a bit of each lane"},
    {"__any_sync", "vote.sync.any.pred", "whether a lane says yes"},
    {"__all_sync", "vote.sync.all.pred", "whether all lanes say yes"},
    {"__activemask", "activemask.b32", "the lanes that execute it"},
    {"__match_any_sync", "match.any.sync.b32", "the lanes with the same value"},
    {"__match_all_sync", "match.all.sync.b32", "whether all lanes have the same value"},
    {"__reduce_add_sync", "redux.sync.add.s32", "a reduction over a warp"},
    {"__reduce_max_sync", "redux.sync.max.s32", "a reduction over a warp"},
    {"__reduce_min_sync", "redux.sync.min.s32", "a reduction over a warp"},
    {"__ldg", "ld.global.nc.f32", "a load of memory that nothing writes during the kernel"},
    {"__nanosleep", "nanosleep.u32", "a pause"},
    {"__byte_perm", "prmt.b32", "bytes chosen from two registers"},
    {"__dp4a", "dp4a.s32.s32", "four products of bytes, added"},
    {"__fmaf_rn", "fma.rn.f32", "a product and a sum, rounded once"},
    {"__fmaf_rz", "fma.rz.f32", "a product and a sum, rounded once"},
    {"__hfma2", "fma.rn.f16x2", "two products and sums, each rounded once"},
    {"__hadd2", "add.rn.f16x2", "two sums"},
    {"__hmul2", "mul.rn.f16x2", "two products"},
    {"__float2half_rn", "cvt.rn.f16.f32", "a conversion"},
    {"__float2half_rz", "cvt.rz.f16.f32", "a conversion"},
    {"__float2bfloat16", "cvt.rn.bf16.f32", "a conversion"},
    {"__float2bfloat16_rn", "cvt.rn.bf16.f32", "a conversion"},
    {"__floats2half2_rn", "cvt.rn.f16x2.f32", "a conversion of two numbers"},
    {"__floats2bfloat162_rn", "cvt.rn.bf16x2.f32", "a conversion of two numbers"},
    {"__half2float", "cvt.f32.f16", "a conversion"},
    {"__nv_cvt_float2_to_fp8x2", "cvt.rn.satfinite.e4m3x2.f32", "a conversion of two numbers"},
    {"__nv_cvt_float_to_fp8", "cvt.rn.satfinite.e4m3x2.f32", "a conversion, of which one half is used"},
    {"__nv_cvt_fp8x2_to_halfraw2", "cvt.rn.f16x2.e4m3x2", "a conversion of two numbers"},
    {"__float_to_tf32", "cvt.rna.tf32.f32", "a conversion"},
    {"__cvta_generic_to_shared", "cvta.to.shared.u64", "the address in shared memory of a pointer"},
    {"__isShared", "isspacep.shared", "whether a pointer is one to shared memory"},
    {"__expf", "ex2.approx.f32", "a product with log2(e), and this"},
    {"exp2f", "ex2.approx.ftz.f32", "with -use_fast_math"},
    {"__tanhf", "tanh.approx.f32", "an approximation"},
    {"__frcp_rn", "rcp.rn.f32", "a reciprocal, rounded"},
    {"__fsqrt_rn", "sqrt.rn.f32", "a square root, rounded"},
    {"atomicAdd", "atom.add.u32", "an atomic addition"},
    {"atomicCAS", "atom.cas.b32", "an atomic comparison and exchange"},
    {"atomicExch", "atom.exch.b32", "an atomic exchange"},
    {"atomicMax", "atom.max.s32", "an atomic maximum"},
    {"__pipeline_memcpy_async", "cp.async.ca.shared.global", "an asynchronous copy of 4, 8 or 16 bytes"},
    {"__pipeline_commit", "cp.async.commit_group", "ends a group of copies"},
    {"__pipeline_wait_prior", "cp.async.wait_group", "waits for groups of copies"},
    {"cuda::memcpy_async", "cp.async.ca.shared.global", "or a bulk copy where an mbarrier is given"},
    {"cudaGridDependencySynchronize", "griddepcontrol.wait", "waits for the kernel before"},
    {"cudaTriggerProgrammaticLaunchCompletion", "griddepcontrol.launch_dependents",
     "lets the next kernel begin"},
    {"load_matrix_sync", "wmma.load.a.sync.aligned.row.m16n16k16.f16", "a fragment of wmma; f16 is taken"},
    {"store_matrix_sync", "wmma.store.d.sync.aligned.row.m16n16k16.f32", "a fragment of wmma; f32 is taken"},
    {"mma_sync", "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "a product of fragments; f16 is taken"},
    // CuTe and CUTLASS
    {"cp_async_fence", "cp.async.commit_group", "ends a group of copies"},
    {"cp_async_wait", "cp.async.wait_group", "waits for groups of copies"},
    {"warpgroup_arrive", "wgmma.fence.sync.aligned", "before the first product of a group"},
    {"warpgroup_commit_batch", "wgmma.commit_group.sync.aligned", "ends a group of products"},
    {"warpgroup_wait", "wgmma.wait_group.sync.aligned", "waits for groups of products"},
    {"warpgroup_fence_operand", "wgmma.fence.sync.aligned", "it keeps the compiler from moving registers"},
    {"warpgroup_reg_alloc", "setmaxnreg.inc.sync.aligned.u32", "takes registers"},
    {"warpgroup_reg_dealloc", "setmaxnreg.dec.sync.aligned.u32", "gives registers back"},
    {"elect_one_sync", "elect.sync", "chooses a lane"},
    {"cluster_arrive_relaxed", "barrier.cluster.arrive.relaxed", "an arrival that orders nothing"},
    {"cluster_arrive", "barrier.cluster.arrive", "an arrival at the cluster's barrier"},
    {"cluster_wait", "barrier.cluster.wait", "waits for the cluster's barrier"},
    {"cluster_sync", "barrier.cluster.arrive", "the cluster's barrier"},
    {"tma_store_fence", "fence.proxy.async.shared::cta", "orders writes before a bulk store"},
    {"tma_store_arrive", "cp.async.bulk.commit_group", "ends a group of bulk stores"},
    {"tma_store_wait", "cp.async.bulk.wait_group.read", "waits until bulk stores have read"},
    {"fence_view_async_shared", "fence.proxy.async.shared::cta", "orders writes before asynchronous reads"},
    {"fence_barrier_init", "fence.mbarrier_init.release.cluster", "makes new mbarriers known to the cluster"},
    {"launch_dependent_grids", "griddepcontrol.launch_dependents", "lets the next kernel begin"},
    {"wait_on_dependent_grids", "griddepcontrol.wait", "waits for the kernel before"},
    {"prefetch_tma_descriptor", "prefetch.tensormap", "fetches a tensor map early"},
    {"initialize_barrier", "mbarrier.init.shared::cta.b64", "a new mbarrier"},
    {"set_barrier_transaction_bytes", "mbarrier.arrive.expect_tx.shared::cta.b64", "arrives and expects bytes"},
    {"wait_barrier", "mbarrier.try_wait.parity.shared::cta.b64", "waits for a phase"},
    {"arrive_and_expect_tx", "mbarrier.arrive.expect_tx.shared::cta.b64", "arrives and expects bytes"},
    {"umma_arrive", kCommit, "arrives when products are complete"},
    {"fence_view_async_tmem_load", "tcgen05.wait::ld.sync.aligned", "waits for loads of tensor memory"},
    {"fence_view_async_tmem_store", "tcgen05.wait::st.sync.aligned", "waits for stores to tensor memory"},
    {"tcgen05_before_thread_sync", "tcgen05.fence::before_thread_sync", "before threads meet"},
    {"tcgen05_after_thread_sync", "tcgen05.fence::after_thread_sync", "after threads meet"},
    {"SM90_TMA_LOAD", kTileLoad, "a copy by a tensor map, which warpbit tensormap reads"},
    {"SM90_TMA_LOAD_MULTICAST", kTileLoad, "to several blocks of a cluster, with .multicast::cluster"},
    {"SM90_TMA_LOAD_IM2COL", kTileLoad, "with .im2col"},
    {"SM90_TMA_STORE", kTileStore, "a copy by a tensor map, which warpbit tensormap reads"},
    {"SM90_TMA_REDUCE_ADD", kTileReduce, "additions by a tensor map"},
    {"SM100_TMA_2SM_LOAD", kTileLoad, "for a pair of blocks, with .cta_group::2"},
    {"SM100_TMA_2SM_LOAD_MULTICAST", kTileLoad, "for pairs of blocks of a cluster"},
    {"SM90_BULK_COPY_G2S", kBulkLoad, "a copy of bytes"},
    {"SM90_BULK_COPY_S2G", kBulkStore, "a copy of bytes"},
    {"SM80_CP_ASYNC_CACHEALWAYS", "cp.async.ca.shared.global", "an asynchronous copy of 4, 8 or 16 bytes"},
    {"SM80_CP_ASYNC_CACHEGLOBAL", "cp.async.cg.shared.global", "an asynchronous copy of 16 bytes"},
    {"SM80_CP_ASYNC_CACHEALWAYS_ZFILL", "cp.async.ca.shared.global", "with zeros behind the source's size"},
    {"SM80_CP_ASYNC_CACHEGLOBAL_ZFILL", "cp.async.cg.shared.global", "with zeros behind the source's size"},
    // Triton and MLIR
    {"tl.dot", kMma, kOfTypes},
    {"tt.dot", kMma, kOfTypes},
    {"tl.dot_scaled", "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", kOfTypes},
    {"tt.dot_scaled", "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", kOfTypes},
    {"ttng.warp_group_dot", kWgmma, kOfTypes},
    {"triton_nvidia_gpu.warp_group_dot", kWgmma, kOfTypes},
    {"ttng.warp_group_dot_wait", "wgmma.wait_group.sync.aligned", "waits for groups of products"},
    {"ttng.tc_gen5_mma", "tcgen05.mma.cta_group::1.kind::f16", kOfTypes},
    {"ttng.tc_gen5_mma_scaled", "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", kOfTypes},
    {"ttng.tc_gen5_commit", kCommit, "arrives when products are complete"},
    {"ttng.tmem_load", "tcgen05.ld.sync.aligned.32x32b.x32.b32", "a load of tensor memory"},
    {"ttng.tmem_store", "tcgen05.st.sync.aligned.32x32b.x32.b32", "a store to tensor memory"},
    {"ttng.tmem_alloc", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", "columns of tensor memory"},
    {"ttng.async_tma_copy_global_to_local", kTileLoad, "a copy by a tensor map"},
    {"ttng.async_tma_copy_local_to_global", kTileStore, "a copy by a tensor map"},
    {"ttng.init_barrier", "mbarrier.init.shared::cta.b64", "a new mbarrier"},
    {"ttng.wait_barrier", "mbarrier.try_wait.parity.shared::cta.b64", "waits for a phase"},
    {"ttng.barrier_expect", "mbarrier.arrive.expect_tx.shared::cta.b64", "arrives and expects bytes"},
    {"ttng.fence_async_shared", "fence.proxy.async.shared::cta", "orders writes before asynchronous reads"},
    {"ttg.async_copy_global_to_local", "cp.async.cg.shared.global", "an asynchronous copy"},
    {"ttg.async_commit_group", "cp.async.commit_group", "ends a group of copies"},
    {"ttg.async_wait", "cp.async.wait_group", "waits for groups of copies"},
    {"nvgpu.mma.sync", kMma, kOfTypes},
    {"nvvm.mma.sync", kMma, kOfTypes},
    {"nvgpu.ldmatrix", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "a load of matrices"},
    {"nvvm.ldmatrix", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "a load of matrices"},
    {"nvgpu.warpgroup.mma", kWgmma, kOfTypes},
    {"nvvm.wgmma.mma_async", kWgmma, kOfTypes},
    {"nvvm.wgmma.fence.aligned", "wgmma.fence.sync.aligned", "before the first product of a group"},
    {"nvgpu.tma.async.load", kTileLoad, "a copy by a tensor map"},
    {"nvgpu.device_async_copy", "cp.async.cg.shared.global", "an asynchronous copy"},
    {"nvvm.cp.async.shared.global", "cp.async.cg.shared.global", "an asynchronous copy"},
    {"nvvm.barrier0", "bar.sync", "all threads of the block meet"},
    {"llvm.nvvm.barrier0", "bar.sync", "all threads of the block meet"},
    {"nvvm.elect.sync", "elect.sync", "chooses a lane"},
    // What cuBLAS computes with
    {"CUBLAS_COMPUTE_16F", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "sums in f16"},
    {"CUBLAS_COMPUTE_32F", kMma, "sums in f32; A and B have a type of their own, f16 is taken"},
    {"CUBLAS_COMPUTE_32F_FAST_16F", kMma, "A and B are rounded to f16"},
    {"CUBLAS_COMPUTE_32F_FAST_16BF", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
     "A and B are rounded to bf16"},
    {"CUBLAS_COMPUTE_32F_FAST_TF32", kTf32Mma, "A and B are rounded to tf32"},
    {"CUBLAS_COMPUTE_32I", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "sums in s32"},
    {"CUBLAS_COMPUTE_64F", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "sums in f64"},
    {"CUTE_ARCH_TMA_SM90_ENABLED", kTileLoad, "CuTe's copies by tensor maps"},
    {"_scaled_mm", "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3",
     "a product of FP8 matrices with scales"},
    {"scaled_mm", "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3",
     "a product of FP8 matrices with scales"},
    {"_int_mm", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "a product of s8 matrices"},
    {"allow_tf32", kTf32Mma, "PyTorch's products of f32 round A and B to tf32 with it"},
};

bool is_identifier(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ':';
}

// The identifiers of a text, with namespaces; without a dot or colon at an end.
std::vector<std::string_view> identifiers_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_identifier(text[end])) ++end;
    std::string_view one = text.substr(at, end - at);
    while (one.ends_with('.') || one.ends_with(':')) one.remove_suffix(1);
    if (!one.empty()) out.push_back(one);
    at = end + 1;
  }
  return out;
}

// "cute::cp_async_fence" ends with the name; "xcp_async_fence" does not.
bool is_named(std::string_view identifier, std::string_view name) {
  if (!identifier.ends_with(name)) return false;
  return identifier.size() == name.size() ||
         std::string_view(".:").find(identifier[identifier.size() - name.size() - 1]) != std::string_view::npos;
}

void replace(std::string& text, std::string_view seen, std::string_view meant) {
  if (const std::size_t at = text.find(seen); at != text.npos) text.replace(at, seen.size(), meant);
}

// The form for FP8 or FP4, if the identifiers name them.
std::string with_types(std::string form, const std::vector<std::string_view>& identifiers) {
  const auto names = [&](std::string_view type) {
    return std::ranges::any_of(identifiers, [&](std::string_view one) {
      const std::size_t x = one.find_last_of('x');  // "128x64xf8E4M3FN"
      return element_type(one) == type || (x != one.npos && element_type(one.substr(x + 1)) == type);
    });
  };
  if (names("e2m1")) replace(form, "kind::mxf8f6f4", "kind::mxf4");
  if (!names("e4m3") && !names("e5m2")) return form;
  replace(form, "kind::f16", "kind::f8f6f4");
  replace(form, ".f16.f16", ".e4m3.e4m3");
  replace(form, "k16", "k32");
  return form;
}

}  // namespace

AskReadings ask_name(const AskedLine& line) {
  const std::vector<std::string_view> all = identifiers_of(line.text);
  for (const std::string_view one : all)
    for (const auto& [name, form, said] : kLibraryNames)
      if (is_named(one, name))
        return {any_form_reading("name", fmt::format("{}: {}; it stands for", name, said),
                                 said == kOfTypes ? with_types(std::string(form), all) : std::string(form),
                                 line.targets)};
  return {};
}

}  // namespace warpbit::cli
