// SPDX-License-Identifier: Apache-2.0
// The named sets of words, and the chapters.
#include <algorithm>

#include "ptx/rows/rows.hpp"
#include "ptx/rows/words.hpp"

namespace warpbit::ptx {
namespace {

constexpr WordSet kSets[] = {
    {"texture_query",
     ".channel_data_type,.channel_order,.normalized_coords,.force_unnormalized_coords,.filter_mode,.addr_mode_0,"
     ".addr_mode_1,.addr_mode_2,.array_size,.num_mipmap_levels,.num_samples"},
    {"int", ".u16,.u32,.u64,.s16,.s32,.s64"},
    {"carry", ".u32,.u64,.s32,.s64"},
    {"narrow", ".u16,.u32,.s16,.s32"},
    {"bits", ".b16,.b32,.b64"},
    {"us", ".u32,.s32"},
    {"any", ".u16,.u32,.u64,.s16,.s32,.s64,.b16,.b32,.b64,.f32,.f64"},
    {"ints8", ".u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64"},
    {"rnd", ".rn,.rz,.rm,.rp"},
    {"rndi", ".rni,.rzi,.rmi,.rpi"},
    {"half", ".f16,.f16x2"},
    {"bf", ".bf16,.bf16x2"},
    {"eq", ".eq,.ne"},
    {"order", ".eq,.ne,.lt,.le,.gt,.ge"},
    {"fp8_x4", ".e5m2x4,.e4m3x4"},
    {"byte_x4", ".e5m2x4,.e4m3x4,.e3m2x4,.e2m3x4,.e2m1p4x4,.ue8m0x4"},
    {"unsigned", ".eq,.ne,.lt,.le,.gt,.ge,.lo,.ls,.hi,.hs"},
    {"compare", ".eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan"},
    {"bool", ",.and,.or,.xor"},
    {"secondary", ".add,.min,.max"},
    // State spaces. `windows` have their own addresses; .shared::cluster is of sm_90.
    {"ld_windows", ".const,.local,.param,.param::entry,.param::func,.shared,.shared::cta"},
    {"st_windows", ".local,.param,.param::func,.shared,.shared::cta"},
    {"gs", ",.global,.shared,.shared::cta"},
    {"scope", ".cta,.gpu,.sys"},
    {"evict", ".L1::evict_normal,.L1::evict_unchanged,.L1::evict_first,.L1::evict_last,.L1::no_allocate"},
    {"nc",
     ".nc,.ca.nc,.cg.nc,.cs.nc,.nc.L1::evict_normal,.nc.L1::evict_unchanged,.nc.L1::evict_first,.nc.L1::evict_last,"
     ".nc.L1::no_allocate"},
    {"ld_cache", ".ca,.cg,.cs,.lu,.cv"},
    {"st_cache", ".wb,.cg,.cs,.wt"},
    {"acquire", ".relaxed.cta,.relaxed.gpu,.relaxed.sys,.acquire.cta,.acquire.gpu,.acquire.sys"},
    {"relaxed", ".relaxed.cta,.relaxed.gpu,.relaxed.sys"},
    {"acquire_cluster", ".relaxed.cluster,.acquire.cluster"},
    {"release", ".relaxed.cta,.relaxed.gpu,.relaxed.sys,.release.cta,.release.gpu,.release.sys"},
    {"release_cluster", ".relaxed.cluster,.release.cluster"},
    // Up to 16 bytes that are loaded or stored together; 32 on sm_100.
    {"memory",
     ".u8,.u16,.s8,.s16,.b8,.b16,.v2.u8,.v2.u16,.v2.s8,.v2.s16,.v2.b8,.v2.b16,.v4.u8,.v4.u16,.v4.s8,.v4.s16,.v4.b8,.v4.b16,"
     ".v8.u8,.v8.u16,.v8.s8,.v8.s16,.v8.b8,.v8.b16,.u32,.s32,.b32,.f32,.v2.u32,.v2.s32,.v2.b32,.v2.f32,.v4.u32,.v4.s32,"
     ".v4.b32,.v4.f32,.u64,.s64,.b64,.f64,.v2.u64,.v2.s64,.v2.b64,.v2.f64,.b128"},
    {"scalars", ".b8,.b16,.b32,.b64,.b128,.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64,.f32,.f64"},
    {"wide", ".v8.u32,.v8.s32,.v8.b32,.v8.f32,.v4.u64,.v4.s64,.v4.b64,.v4.f64"},
    {"atom_order", ".relaxed,.acquire,.release,.acq_rel"},
    {"atom",
     ".and.b32,.and.b64,.or.b32,.or.b64,.xor.b32,.xor.b64,.exch.b32,.exch.b64,.add.u32,.add.u64,.add.s32,.add.f32,.add.f64,"
     ".inc.u32,.dec.u32,.min.u32,.min.u64,.min.s32,.min.s64,.max.u32,.max.u64,.max.s32,.max.s64,.add.noftz.f16,"
     ".add.noftz.f16x2"},
    {"red",
     ".and.b32,.and.b64,.or.b32,.or.b64,.xor.b32,.xor.b64,.add.u32,.add.u64,.add.s32,.add.f32,.add.f64,.inc.u32,.dec.u32,"
     ".min.u32,.min.u64,.min.s32,.min.s64,.max.u32,.max.u64,.max.s32,.max.s64,.add.noftz.f16,.add.noftz.f16x2"},
    {"atom_vector",
     ".add.v2.f32,.add.v4.f32,.add.noftz.v2.f16,.add.noftz.v4.f16,.add.noftz.v8.f16,.add.noftz.v2.f16x2,"
     ".add.noftz.v4.f16x2,.add.noftz.v2.bf16,.add.noftz.v4.bf16,.add.noftz.v8.bf16,.add.noftz.v2.bf16x2,"
     ".add.noftz.v4.bf16x2,.min.noftz.v2.f16,.min.noftz.v4.f16,.min.noftz.v8.f16,.min.noftz.v2.f16x2,"
     ".min.noftz.v4.f16x2,.min.noftz.v2.bf16,.min.noftz.v4.bf16,.min.noftz.v8.bf16,.min.noftz.v2.bf16x2,"
     ".min.noftz.v4.bf16x2,.max.noftz.v2.f16,.max.noftz.v4.f16,.max.noftz.v8.f16,.max.noftz.v2.f16x2,"
     ".max.noftz.v4.f16x2,.max.noftz.v2.bf16,.max.noftz.v4.bf16,.max.noftz.v8.bf16,.max.noftz.v2.bf16x2,"
     ".max.noftz.v4.bf16x2"},
    {"policy", ".L2::evict_last,.L2::evict_normal,.L2::evict_first,.L2::evict_unchanged"},
    {"policy_both",
     ".L2::evict_last.L2::evict_unchanged,.L2::evict_normal.L2::evict_unchanged,.L2::evict_first.L2::evict_unchanged,"
     ".L2::evict_unchanged.L2::evict_unchanged,.L2::evict_last.L2::evict_first,.L2::evict_normal.L2::evict_first,"
     ".L2::evict_first.L2::evict_first,.L2::evict_unchanged.L2::evict_first"},
    // Asynchronous copies, and barrier objects.
    {"own", ",.shared,.shared::cta"},
    {"arrive_order", ".release.cta,.release.cluster,.relaxed.cta,.relaxed.cluster"},
    {"wait_order", ".acquire.cta,.acquire.cluster,.relaxed.cta,.relaxed.cluster"},
    {"dim", ".1d,.2d,.3d,.4d,.5d"},
    {"group", ",.cta_group::1,.cta_group::2"},
    {"x1_32", ".x1,.x2,.x4,.x8,.x16,.x32"},
    {"x1_64", ".x1,.x2,.x4,.x8,.x16,.x32,.x64"},
    {"multicast", ".multicast::cluster,.multicast::cluster::16b"},
    {"report",
     ".mbarrier::report::disabled,.mbarrier::report::validity::per_16bytes::80000000,"
     ".mbarrier::report::validity::per_16bytes::8000,.mbarrier::report::validity::per_16bytes::80,"
     ".mbarrier::report::validity::per_16bytes::8,.mbarrier::report::validity::per_element::ff"},
    {"bulk_red",
     ".and.b32,.and.b64,.or.b32,.or.b64,.xor.b32,.xor.b64,.add.u32,.add.u64,.add.s32,.add.f32,.add.f64,.inc.u32,.dec.u32,"
     ".min.u32,.min.u64,.min.s32,.min.s64,.max.u32,.max.u64,.max.s32,.max.s64,.add.noftz.f16,.add.noftz.bf16,.min.f16,"
     ".min.bf16,.max.f16,.max.bf16"},
    {"bulk_red_shared",
     ".and.b32,.or.b32,.xor.b32,.add.u32,.add.u64,.add.s32,.inc.u32,.dec.u32,.min.u32,.min.s32,.max.u32,.max.s32"},
    {"red_async", ".add.u32,.add.u64,.add.s32,.add.s64,.inc.u32,.dec.u32,.min.u32,.min.s32,.max.u32,.max.s32"},
    {"async", ".b32,.b64,.u32,.u64,.s32,.s64,.f32,.f64"},
    {"async_vector",
     ".v2.b32,.v2.b64,.v2.u32,.v2.u64,.v2.s32,.v2.s64,.v2.f32,.v2.f64,.v4.b32,.v4.u32,.v4.s32,.v4.f32"},
    {"async_narrow", ".b8,.u8,.s8,.b16,.u16,.s16"},
    {"restrict", ".sync_restrict::shared::cta,.sync_restrict::shared::cluster"},
    // Of several GPUs at once.
    {"multimem_load",
     ",.weak,.relaxed.cta,.relaxed.cluster,.relaxed.gpu,.relaxed.sys,.acquire.cta,.acquire.cluster,"
     ".acquire.gpu,.acquire.sys"},
    {"multimem_store",
     ",.weak,.relaxed.cta,.relaxed.cluster,.relaxed.gpu,.relaxed.sys,.release.cta,.release.cluster,"
     ".release.gpu,.release.sys"},
    {"multimem_red",
     ",.relaxed.cta,.relaxed.cluster,.relaxed.gpu,.relaxed.sys,.release.cta,.release.cluster,.release.gpu,"
     ".release.sys"},
    {"multimem_integer",
     ".and.b32,.and.b64,.or.b32,.or.b64,.xor.b32,.xor.b64,.add.u32,.add.u64,.add.s32,.min.u32,.min.u64,.min.s32,.min.s64,"
     ".max.u32,.max.u64,.max.s32,.max.s64"},
    {"fabric_report", ".mbarrier::report::fabric"},
    {"fabric_red",
     ".and.b32,.and.b64,.or.b32,.or.b64,.xor.b32,.xor.b64,.min.u32,.min.s32,.min.u64,.min.s64,.min.f16,.min.bf16,.max.u32,"
     ".max.s32,.max.u64,.max.s64,.max.f16,.max.bf16,.add.u32,.add.u64,.add.f16,.add.bf16,.add.f32,.add.f64"},
    {"fabric_pull",
     ".and.b32,.and.b64,.or.b32,.or.b64,.xor.b32,.xor.b64,.min.u32,.min.s32,.min.u64,.min.s64,.min.f16,.min.bf16,.max.u32,"
     ".max.s32,.max.u64,.max.s64,.max.f16,.max.bf16,.add.u32,.add.u64,.add.f16,.add.bf16,.add.f32"},
    {"fabric_pull_narrow",
     ".min.e4m3,.min.e5m2,.max.e4m3,.max.e5m2,.add.acc::f16.e4m3,.add.acc::f16.e5m2,.add.acc::f32.f16,"
     ".add.acc::f32.bf16"},
    {"half_vector",
     ".v2.f16,.v2.bf16,.v2.f16x2,.v2.bf16x2,.v4.f16,.v4.bf16,.v4.f16x2,.v4.bf16x2,.v8.f16,.v8.bf16"},
};

}  // namespace

std::span<const WordSet> word_sets() {
  return kSets;
}
std::string_view words_of_set(std::string_view name) {
  return std::ranges::find(kSets, name, &WordSet::name)->words;
}

std::span<const Chapter> chapters() {
  static const Chapter kChapters[] = {
      {"integer arithmetic", integer_rows()},
      {"floating-point arithmetic", floating_rows()},
      {"half-precision arithmetic", half_rows()},
      {"comparison and selection", comparison_rows()},
      {"logic and shifts", logic_rows()},
      {"video", video_rows()},
      {"movement and conversion", movement_rows()},
      {"movement and conversion", compression_rows()},
      {"loads and stores", memory_rows()},
      {"atomics and reductions", atomic_rows()},
      {"synchronisation and communication", synchronization_rows()},
      {"asynchronous copies", copies_rows()},
      {"barrier objects", barriers_rows()},
      {"asynchronous copies in bulk", bulk_rows()},
      {"asynchronous copies in bulk", later_bulk_rows()},
      {"asynchronous copies of tensors", tensors_rows()},
      {"asynchronous copies of tensors", later_tensors_rows()},
      {"textures", textures_rows()},
      {"surfaces", surfaces_rows()},
      {"asynchronous stores", stores_rows()},
      {"memory of several GPUs", multimem_rows()},
      {"memory of several GPUs", fabric_rows()},
      {"hints", hints_rows()},
      {"control flow and the stack", control_rows()},
  };
  return kChapters;
}

}  // namespace warpbit::ptx
