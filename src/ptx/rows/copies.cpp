// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies; asynchronous copies in bulk; asynchronous copies of tensors.
#include "ptx/rows/rows.hpp"

namespace warpbit::ptx {

using enum Feature;
using enum Kind;

std::span<const FormRow> copies_rows() {
  static constexpr FormRow kRows[] = {
      {"cp.async.ca{.shared,.shared::cta}.global{,.L2::64B,.L2::128B,.L2::256B}",
       "[p] [q] #imm(4,8,16) a:u32(0..16)!?", sm_80, copies, "shared::cta 7.0"},
      {"cp.async.ca{.shared,.shared::cta}.global{,.L2::64B,.L2::128B,.L2::256B}",
       "[p] [q] #imm(4,8,16) p:pred(0..1)!", sm_80, copies, "7.5, shared::cta 7.0"},
      {"cp.async.ca{.shared,.shared::cta}.global.L2::cache_hint{,.L2::64B,.L2::128B,.L2::256B}",
       "[p] [q] #imm(4,8,16) a:u32(0..16)!? c:u64", sm_80, copies, "shared::cta 7.0"},
      {"cp.async.ca{.shared,.shared::cta}.global.L2::cache_hint{,.L2::64B,.L2::128B,.L2::256B}",
       "[p] [q] #imm(4,8,16) p:pred(0..1)! c:u64", sm_80, copies, "7.5, shared::cta 7.0"},
      {"cp.async.cg{.shared,.shared::cta}.global{,.L2::64B,.L2::128B,.L2::256B}",
       "[p] [q] #imm(16) a:u32(0..16)!?", sm_80, copies, "shared::cta 7.0"},
      {"cp.async.cg{.shared,.shared::cta}.global{,.L2::64B,.L2::128B,.L2::256B}",
       "[p] [q] #imm(16) p:pred(0..1)!", sm_80, copies, "7.5, shared::cta 7.0"},
      {"cp.async.cg{.shared,.shared::cta}.global.L2::cache_hint{,.L2::64B,.L2::128B,.L2::256B}",
       "[p] [q] #imm(16) a:u32(0..16)!? c:u64", sm_80, copies, "shared::cta 7.0"},
      {"cp.async.cg{.shared,.shared::cta}.global.L2::cache_hint{,.L2::64B,.L2::128B,.L2::256B}",
       "[p] [q] #imm(16) p:pred(0..1)! c:u64", sm_80, copies, "7.5, shared::cta 7.0"},
      {"cp.async.commit_group", "", sm_80, copies},
      {"cp.async.wait_group", "#imm", sm_80, copies},
      {"cp.async.wait_all", "", sm_80, copies},
      {"cp.async.mbarrier.arrive{,.noinc}{$own}.b64", "[p]", sm_80, copies},
  };
  return kRows;
}

std::span<const FormRow> bulk_rows() {
  static constexpr FormRow kRows[] = {
      {"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
       "[p] [q] a:u32(0..1048560/16) [m]", sm_90, copies, "8.0"},
      {"cp.async.bulk{.shared::cta,.shared::cluster}.global.mbarrier::complete_tx::bytes{,.L2::cache_hint}",
       "[p] [q] a:u32(0..1048560/16) [m] c:u64&L2::cache_hint", sm_90, copies, "8.0, shared::cta 8.6"},
      {"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes{,.L2::cache_hint}.ignore_oob",
       "[p] [q] a:u32(0..1048560/16) b:u32(0..15) b:u32(0..15) [m] c:u64&L2::cache_hint", sm_90, copies, "9.2"},
      {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{$multicast}{,.L2::cache_hint}",
       "[p] [q] a:u32(0..1048560/16) [m] b:u16 c:u64&L2::cache_hint", sm_90, copies, "8.0"},
      {"cp.async.bulk.global.shared::cta.bulk_group{,.L2::cache_hint}",
       "[p] [q] a:u32(0..1048560/16) c:u64&L2::cache_hint", sm_90, copies, "8.0"},
      {"cp.async.bulk.global.shared::cta.bulk_group{,.L2::cache_hint}.cp_mask",
       "[p] [q] a:u32(0..1048560/16) c:u64&L2::cache_hint b:u16", sm_100, copies, "8.0"},
      {"cp.async.bulk.commit_group", "", sm_90, copies, "8.0"},
      {"cp.async.bulk.wait_group{,.read}", "#imm", sm_90, copies, "8.0"},
      {"cp.async.bulk.wait_group.sync_restrict::proxy::async", "#imm", sm_100, not_executed, "9.5",
       "no document says what it waits for"},
      {"cp.async.bulk.prefetch.L2.global{,.L2::cache_hint}", "[p] a:u32(0..1048560/16) c:u64&L2::cache_hint",
       sm_90, control, "8.0"},
      {"cp.reduce.async.bulk.global.shared::cta.bulk_group{,.L2::cache_hint}{$bulk_red}",
       "[p] [q] a:u32(0..1048560/16) c:u64&L2::cache_hint", sm_90, bulk_reductions, "8.0"},
      {"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes{$bulk_red_shared}",
       "[p] [q] a:u32(0..1048560/16) [m]", sm_90, bulk_reductions, "8.0"},
      {"cp.reduce.async.bulk.relaxed{$scope,.cluster}.global.shared::cta.bulk_group{,.L2::cache_hint}{$bulk_red}",
       "[p] [q] a:u32(0..1048560/16) c:u64&L2::cache_hint", sm_90, bulk_reductions, "9.3"},
      {"cp.reduce.async.bulk.relaxed{.cta,.cluster}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes{$bulk_red_shared}",
       "[p] [q] a:u32(0..1048560/16) [m]", sm_90, bulk_reductions, "9.3"},
      {"cp.reduce.async.bulk{,.relaxed.cta,.relaxed.cluster,.relaxed.gpu,.relaxed.sys}.global.shared::cta.bulk_group"
       "{,.L2::cache_hint}.add.noftz.f32",
       "[p] [q] a:u32(0..1048560/16) c:u64&L2::cache_hint", sm_90, bulk_reductions, "9.4"},
      {"cp.async.bulk.prefetch.L2.global.L2::evict_last", "[p] a:u32(0..1048560/16)", sm_107f, control, "9.4"},
      {"applypriority.async.bulk{,.global}.bulk_group.L2::evict_normal", "[p] a:u32(0..4294967280/16)", sm_107f,
       control, "9.4"},
  };
  return kRows;
}

std::span<const FormRow> tensors_rows() {
  static constexpr FormRow kRows[] = {
      {"cp.async.bulk.tensor{$dim}{.shared::cta,.shared::cluster}.global{,.tile}.mbarrier::complete_tx::bytes{,.L2::cache_hint}",
       "[p] [t,c] [m] c:u64&L2::cache_hint", sm_90, tensor_copies, "8.0, shared::cta 8.6"},
      {"cp.async.bulk.tensor{$dim}.shared::cluster.global{,.tile}.mbarrier::complete_tx::bytes{$multicast}"
       "{,.L2::cache_hint}",
       "[p] [t,c] [m] b:u16 c:u64&L2::cache_hint", sm_90, tensor_copies, "8.0"},
      {"cp.async.bulk.tensor{.3d,.4d,.5d}{.shared::cta,.shared::cluster}.global.im2col.mbarrier::complete_tx::bytes"
       "{,.L2::cache_hint}",
       "[p] [t,c] [m] {o} c:u64&L2::cache_hint", sm_90, tensor_copies, "8.0, shared::cta 8.6"},
      {"cp.async.bulk.tensor{.3d,.4d,.5d}.shared::cluster.global.im2col.mbarrier::complete_tx::bytes{$multicast}"
       "{,.L2::cache_hint}",
       "[p] [t,c] [m] {o} b:u16 c:u64&L2::cache_hint", sm_90, tensor_copies, "8.0"},
      {"cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes{,.L2::cache_hint}",
       "[p] [t,c] [m] c:u64&L2::cache_hint", sm_100, tensor_copies, "8.0, shared::cta 8.6"},
      {"cp.async.bulk.tensor{.3d,.4d,.5d}.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes{,.L2::cache_hint}",
       "[p] [t,c] [m] {o} c:u64&L2::cache_hint", sm_100, tensor_copies, "8.0, shared::cta 8.6"},
      {"cp.async.bulk.tensor{$dim}{.shared::cta,.shared::cluster}.global{,.tile}.mbarrier::complete_tx::bytes{$group}"
       "{,.L2::cache_hint}",
       "[p] [t,c] [m] c:u64&L2::cache_hint", tensor_group, tensor_copies, "8.0, shared::cta 8.6"},
      {"cp.async.bulk.tensor{$dim}.shared::cluster.global{,.tile}.mbarrier::complete_tx::bytes{$multicast}{$group}"
       "{,.L2::cache_hint}",
       "[p] [t,c] [m] b:u16 c:u64&L2::cache_hint", tensor_group, tensor_copies, "8.0"},
      {"cp.async.bulk.tensor.2d{.shared::cta,.shared::cluster}.global.tile::gather4.mbarrier::complete_tx::bytes{$group}"
       "{,.L2::cache_hint}",
       "[p] [t,c] [m] c:u64&L2::cache_hint", tensor_group, tensor_copies, "8.0, shared::cta 8.6"},
      {"cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes{$multicast}{$group}"
       "{,.L2::cache_hint}",
       "[p] [t,c] [m] b:u16 c:u64&L2::cache_hint", tensor_group, tensor_copies, "8.0"},
      {"cp.async.bulk.tensor{.3d,.4d,.5d}{.shared::cta,.shared::cluster}.global{.im2col,.im2col::w,.im2col::w::128}"
       ".mbarrier::complete_tx::bytes{$group}{,.L2::cache_hint}",
       "[p] [t,c] [m] {o} c:u64&L2::cache_hint", tensor_group, tensor_copies, "8.0, shared::cta 8.6"},
      {"cp.async.bulk.tensor{.3d,.4d,.5d}.shared::cluster.global{.im2col,.im2col::w,.im2col::w::128}"
       ".mbarrier::complete_tx::bytes{$multicast}{$group}{,.L2::cache_hint}",
       "[p] [t,c] [m] {o} b:u16 c:u64&L2::cache_hint", tensor_group, tensor_copies, "8.0"},
      {"cp.async.bulk.tensor{$dim}.global.shared::cta{,.tile}.bulk_group{,.L2::cache_hint}",
       "[t,c] [q] c:u64&L2::cache_hint", sm_90, tensor_copies, "8.0"},
      {"cp.async.bulk.tensor{.3d,.4d,.5d}.global.shared::cta.im2col_no_offs.bulk_group{,.L2::cache_hint}",
       "[t,c] [q] c:u64&L2::cache_hint", sm_90, tensor_copies, "8.0"},
      {"cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group{,.L2::cache_hint}",
       "[t,c] [q] c:u64&L2::cache_hint", tensor_group, tensor_copies, "8.0"},
      {"cp.reduce.async.bulk.tensor{$dim}.global.shared::cta{.and,.or,.xor,.add,.inc,.dec,.min,.max}{,.tile}.bulk_group"
       "{,.L2::cache_hint}",
       "[t,c] [q] c:u64&L2::cache_hint", sm_90, tensor_reductions, "8.0"},
      {"cp.reduce.async.bulk.tensor{.3d,.4d,.5d}.global.shared::cta{.and,.or,.xor,.add,.inc,.dec,.min,.max}.im2col_no_offs"
       ".bulk_group{,.L2::cache_hint}",
       "[t,c] [q] c:u64&L2::cache_hint", sm_90, tensor_reductions, "8.0"},
      {"cp.reduce.async.bulk.tensor.2d.global.shared::cta{.and,.or,.xor,.add,.inc,.dec,.min,.max}.tile::scatter4.bulk_group"
       "{,.L2::cache_hint}",
       "[t,c] [q] c:u64&L2::cache_hint", tensor_group, tensor_reductions, "8.0"},
      {"cp.async.bulk.prefetch.tensor{$dim}.L2.global{,.tile}{,.L2::cache_hint}", "[t,c] c:u64&L2::cache_hint",
       sm_90, control, "8.0"},
      {"cp.async.bulk.prefetch.tensor{.3d,.4d,.5d}.L2.global.im2col{,.L2::cache_hint}",
       "[t,c] {o} c:u64&L2::cache_hint", sm_90, control, "8.0"},
      {"cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4{,.L2::cache_hint}",
       "[t,c] c:u64&L2::cache_hint", tensor_group, control, "8.0"},
      {"cp.async.bulk.prefetch.tensor{.3d,.4d,.5d}.L2.global{.im2col::w,.im2col::w::128}{,.L2::cache_hint}",
       "[t,c] {o} c:u64&L2::cache_hint", tensor_group, control, "8.0"},
      {"tensormap.replace.tile.global_address{,.global,.shared::cta}.b1024.b64", "[p] a:T", tensormap_replace,
       map_changes, "8.3"},
      {"tensormap.replace.tile.rank{,.global,.shared::cta}.b1024.b32", "[p] a:T", tensormap_replace,
       map_changes, "8.3"},
      {"tensormap.replace.tile{.box_dim,.global_dim,.element_stride}{,.global,.shared::cta}.b1024.b32",
       "[p] #imm(0..4) a:u32", tensormap_replace, map_changes, "8.3"},
      {"tensormap.replace.tile.global_stride{,.global,.shared::cta}.b1024.b64", "[p] #imm(0..4) a:T",
       tensormap_replace, map_changes, "8.3"},
      {"tensormap.replace.tile.elemtype{,.global,.shared::cta}.b1024.b32", "[p] #imm(0..15)", tensormap_replace,
       map_changes, "8.3"},
      {"tensormap.replace.tile.interleave_layout{,.global,.shared::cta}.b1024.b32", "[p] #imm(0..2)",
       tensormap_replace, map_changes, "8.3"},
      {"tensormap.replace.tile.swizzle_mode{,.global,.shared::cta}.b1024.b32", "[p] #imm(0..3)",
       tensormap_replace, map_changes, "8.3"},
      {"tensormap.replace.tile.swizzle_atomicity{,.global,.shared::cta}.b1024.b32", "[p] #imm(0..3)",
       swizzle_atomicity, map_changes, "8.3"},
      {"tensormap.replace.tile.fill_mode{,.global,.shared::cta}.b1024.b32", "[p] #imm(0..1)", tensormap_replace,
       map_changes, "8.3"},
      {"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release{$scope,.cluster}.sync.aligned",
       "[p] [q] #imm(128)", sm_90, map_copies, "8.3"},
  };
  return kRows;
}

}  // namespace warpbit::ptx
