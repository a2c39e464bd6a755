// SPDX-License-Identifier: Apache-2.0
// Copies in bulk and of tensors of PTX 9.3 and 9.4 ("cp.async.bulk", "cp.async.bulk.tensor", "Overriding tensor property value"):
// with an order, a mask of 32 bits, reports, and parts of a tensor map in the statement.
#include "ptx/rows/rows.hpp"

namespace warpbit::ptx {

using enum Feature;
using enum Kind;

std::span<const FormRow> later_bulk_rows() {
  static constexpr FormRow kRows[] = {
      {"cp.async.bulk.weak.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
       "[p] [q] a:u32(0..1048560/16) [m]", strong_copies, copies, "9.3"},
      {"cp.async.bulk.relaxed{.cta,.cluster}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.b128",
       "[p] [q] a:u32(0..1048560/16) [m]", strong_copies, copies, "9.3"},
      {"cp.async.bulk.weak{.shared::cta,.shared::cluster}.global.mbarrier::complete_tx::bytes"
       "{,.L2::cache_hint}",
       "[p] [q] a:u32(0..1048560/16) [m] c:u64&L2::cache_hint", strong_copies, copies, "9.3"},
      {"cp.async.bulk.weak.shared::cta.global.mbarrier::complete_tx::bytes{,.L2::cache_hint}.ignore_oob",
       "[p] [q] a:u32(0..1048560/16) b:u32(0..15) b:u32(0..15) [m] c:u64&L2::cache_hint", strong_copies, copies,
       "9.3"},
      {"cp.async.bulk.weak.shared::cluster.global.mbarrier::complete_tx::bytes{$multicast}{,.L2::cache_hint}",
       "[p] [q] a:u32(0..1048560/16) [m] b:u16 c:u64&L2::cache_hint", strong_copies, copies, "9.3"},
      {"cp.async.bulk.weak.global.shared::cta.bulk_group{,.L2::cache_hint}",
       "[p] [q] a:u32(0..1048560/16) c:u64&L2::cache_hint", strong_copies, copies, "9.3"},
      {"cp.async.bulk.weak.global.shared::cta.bulk_group{,.L2::cache_hint}.cp_mask",
       "[p] [q] a:u32(0..1048560/16) c:u64&L2::cache_hint b:u16", tensor_group, copies, "9.3"},
      {"cp.async.bulk.relaxed{$scope,.cluster}{.shared::cta,.shared::cluster}.global"
       ".mbarrier::complete_tx::bytes{,.L2::cache_hint}.b128",
       "[p] [q] a:u32(0..1048560/16) [m] c:u64&L2::cache_hint", strong_copies, copies, "9.3"},
      {"cp.async.bulk.relaxed{$scope,.cluster}.shared::cta.global.mbarrier::complete_tx::bytes"
       "{,.L2::cache_hint}.ignore_oob.b128",
       "[p] [q] a:u32(0..1048560/16) b:u32(0..15) b:u32(0..15) [m] c:u64&L2::cache_hint", strong_copies, copies,
       "9.3"},
      {"cp.async.bulk.relaxed{$scope,.cluster}.shared::cluster.global"
       ".mbarrier::complete_tx::bytes{$multicast}{,.L2::cache_hint}.b128",
       "[p] [q] a:u32(0..1048560/16) [m] b:u16 c:u64&L2::cache_hint", strong_copies, copies, "9.3"},
      {"cp.async.bulk.relaxed{$scope,.cluster}.global.shared::cta.bulk_group{,.L2::cache_hint}.b128",
       "[p] [q] a:u32(0..1048560/16) c:u64&L2::cache_hint", strong_copies, copies, "9.3"},
      {"cp.async.bulk.relaxed{$scope,.cluster}.global.shared::cta.bulk_group{,.L2::cache_hint}.cp_mask.b128",
       "[p] [q] a:u32(0..1048560/16) c:u64&L2::cache_hint b:u16", tensor_group, copies, "9.3"},
      {"cp.async.bulk{,.weak}{.shared::cta,.shared::cluster}.global.mbarrier::complete_tx::bytes{$report}"
       "{,.L2::cache_hint}",
       "[p] [q] a:u32(0..1048560/16) [m] c:u64&L2::cache_hint", sm_107f, copies, "9.4"},
      {"cp.async.bulk{,.weak}.shared::cta.global.mbarrier::complete_tx::bytes.mbarrier::report::disabled"
       "{,.L2::cache_hint}.ignore_oob",
       "[p] [q] a:u32(0..1048560/16) b:u32(0..15) b:u32(0..15) [m] c:u64&L2::cache_hint", sm_107f, copies,
       "9.4"},
      {"cp.async.bulk{,.weak}.shared::cluster.global.mbarrier::complete_tx::bytes{$report}{$multicast}"
       "{,.L2::cache_hint}",
       "[p] [q] a:u32(0..1048560/16) [m] b:u16 c:u64&L2::cache_hint", sm_107f, copies, "9.4"},
      {"cp.async.bulk{,.weak}.shared::cluster.global.mbarrier::complete_tx::bytes{,$report}"
       ".multicast::cluster::32b{,.L2::cache_hint}",
       "[p] [q] a:u32(0..1048560/16) [m] b:u32 c:u64&L2::cache_hint", sm_107f, copies, "9.4"},
      {"cp.async.bulk.relaxed{$scope,.cluster}{.shared::cta,.shared::cluster}.global"
       ".mbarrier::complete_tx::bytes{$report}{,.L2::cache_hint}.b128",
       "[p] [q] a:u32(0..1048560/16) [m] c:u64&L2::cache_hint", sm_107f, copies, "9.4"},
      {"cp.async.bulk.relaxed{$scope,.cluster}.shared::cta.global.mbarrier::complete_tx::bytes"
       ".mbarrier::report::disabled{,.L2::cache_hint}.ignore_oob.b128",
       "[p] [q] a:u32(0..1048560/16) b:u32(0..15) b:u32(0..15) [m] c:u64&L2::cache_hint", sm_107f, copies,
       "9.4"},
      {"cp.async.bulk.relaxed{$scope,.cluster}.shared::cluster.global"
       ".mbarrier::complete_tx::bytes{$report}{$multicast}{,.L2::cache_hint}.b128",
       "[p] [q] a:u32(0..1048560/16) [m] b:u16 c:u64&L2::cache_hint", sm_107f, copies, "9.4"},
      {"cp.async.bulk.relaxed{$scope,.cluster}.shared::cluster.global"
       ".mbarrier::complete_tx::bytes{,$report}.multicast::cluster::32b{,.L2::cache_hint}.b128",
       "[p] [q] a:u32(0..1048560/16) [m] b:u32 c:u64&L2::cache_hint", sm_107f, copies, "9.4"},
  };
  return kRows;
}

std::span<const FormRow> later_tensors_rows() {
  static constexpr FormRow kRows[] = {
      {"cp.async.bulk.tensor{$dim}{.shared::cta,.shared::cluster}.global{,.tile}"
       ".mbarrier::complete_tx::bytes{$report}{$group}{,.L2::cache_hint}",
       "[p] [t,c] [m] c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor{$dim}.shared::cluster.global{,.tile}"
       ".mbarrier::complete_tx::bytes{$report}{$multicast}{$group}{,.L2::cache_hint}",
       "[p] [t,c] [m] b:u16 c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor{$dim}.shared::cluster.global{,.tile}.mbarrier::complete_tx::bytes{,$report}"
       ".multicast::cluster::32b{$group}{,.L2::cache_hint}",
       "[p] [t,c] [m] b:u32 c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor{$dim}{.shared::cta,.shared::cluster}.global{,.tile}"
       ".mbarrier::complete_tx::bytes{,$report}{$group}{,.L2::cache_hint}.override::global_address",
       "[p] [t,g,c] [m] c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor{$dim}.shared::cluster.global{,.tile}"
       ".mbarrier::complete_tx::bytes{,$report}{$multicast}{$group}{,.L2::cache_hint}"
       ".override::global_address",
       "[p] [t,g,c] [m] b:u16 c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor{$dim}.shared::cluster.global{,.tile}.mbarrier::complete_tx::bytes{,$report}"
       ".multicast::cluster::32b{$group}{,.L2::cache_hint}.override::global_address",
       "[p] [t,g,c] [m] b:u32 c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor.2d{.shared::cta,.shared::cluster}.global.tile::gather4"
       ".mbarrier::complete_tx::bytes{$report}{$group}{,.L2::cache_hint}",
       "[p] [t,c] [m] c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4"
       ".mbarrier::complete_tx::bytes{$report}{$multicast}{$group}{,.L2::cache_hint}",
       "[p] [t,c] [m] b:u16 c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes{,$report}"
       ".multicast::cluster::32b{$group}{,.L2::cache_hint}",
       "[p] [t,c] [m] b:u32 c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor.2d{.shared::cta,.shared::cluster}.global.tile::gather4"
       ".mbarrier::complete_tx::bytes{,$report}{$group}{,.L2::cache_hint}.override::global_address",
       "[p] [t,g,c] [m] c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4"
       ".mbarrier::complete_tx::bytes{,$report}{$multicast}{$group}{,.L2::cache_hint}"
       ".override::global_address",
       "[p] [t,g,c] [m] b:u16 c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes{,$report}"
       ".multicast::cluster::32b{$group}{,.L2::cache_hint}.override::global_address",
       "[p] [t,g,c] [m] b:u32 c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor{.3d,.4d,.5d}{.shared::cta,.shared::cluster}.global"
       "{.im2col,.im2col::w,.im2col::w::128}.mbarrier::complete_tx::bytes{$report}{$group}{,.L2::cache_hint}",
       "[p] [t,c] [m] {o} c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor{.3d,.4d,.5d}.shared::cluster.global{.im2col,.im2col::w,.im2col::w::128}"
       ".mbarrier::complete_tx::bytes{$report}{$multicast}{$group}{,.L2::cache_hint}",
       "[p] [t,c] [m] {o} b:u16 c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor{.3d,.4d,.5d}.shared::cluster.global{.im2col,.im2col::w,.im2col::w::128}"
       ".mbarrier::complete_tx::bytes{,$report}.multicast::cluster::32b{$group}{,.L2::cache_hint}",
       "[p] [t,c] [m] {o} b:u32 c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor{.3d,.4d,.5d}{.shared::cta,.shared::cluster}.global"
       "{.im2col,.im2col::w,.im2col::w::128}.mbarrier::complete_tx::bytes{,$report}{$group}"
       "{,.L2::cache_hint}.override::global_address",
       "[p] [t,g,c] [m] {o} c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor{.3d,.4d,.5d}.shared::cluster.global{.im2col,.im2col::w,.im2col::w::128}"
       ".mbarrier::complete_tx::bytes{,$report}{$multicast}{$group}{,.L2::cache_hint}"
       ".override::global_address",
       "[p] [t,g,c] [m] {o} b:u16 c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor{.3d,.4d,.5d}.shared::cluster.global{.im2col,.im2col::w,.im2col::w::128}"
       ".mbarrier::complete_tx::bytes{,$report}.multicast::cluster::32b{$group}{,.L2::cache_hint}"
       ".override::global_address",
       "[p] [t,g,c] [m] {o} b:u32 c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor.1d{.shared::cta,.shared::cluster}.global{,.tile}"
       ".mbarrier::complete_tx::bytes{,$report}{$group}{,.L2::cache_hint}.override::global_address"
       ".override::global_dim",
       "[p] [t,g,z,c] [m] c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor.1d.shared::cluster.global{,.tile}.mbarrier::complete_tx::bytes{,$report}"
       ".multicast::cluster::32b{$group}{,.L2::cache_hint}.override::global_address.override::global_dim",
       "[p] [t,g,z,c] [m] b:u32 c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor{.2d,.3d,.4d,.5d}{.shared::cta,.shared::cluster}.global{,.tile}"
       ".mbarrier::complete_tx::bytes{,$report}{$group}{,.L2::cache_hint}.override::global_address"
       ".override::global_dim_stride",
       "[p] [t,g,z,l,u,c] [m] c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor{.2d,.3d,.4d,.5d}.shared::cluster.global{,.tile}"
       ".mbarrier::complete_tx::bytes{,$report}.multicast::cluster::32b{$group}{,.L2::cache_hint}"
       ".override::global_address.override::global_dim_stride",
       "[p] [t,g,z,l,u,c] [m] b:u32 c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor{.3d,.4d,.5d}.global.shared::cta.im2col_no_offs::w.bulk_group{,.L2::cache_hint}",
       "[t,c] [q] c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor{$dim}.global.shared::cta{,.tile}.bulk_group{,.L2::cache_hint}"
       ".override::global_address",
       "[t,g,c] [q] c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group{,.L2::cache_hint}"
       ".override::global_address",
       "[t,g,c] [q] c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor{.3d,.4d,.5d}.global.shared::cta{.im2col_no_offs,.im2col_no_offs::w}"
       ".bulk_group{,.L2::cache_hint}.override::global_address",
       "[t,g,c] [q] c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor.1d.global.shared::cta{,.tile}.bulk_group{,.L2::cache_hint}"
       ".override::global_address.override::global_dim",
       "[t,g,z,c] [q] c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.async.bulk.tensor{.2d,.3d,.4d,.5d}.global.shared::cta{,.tile}.bulk_group{,.L2::cache_hint}"
       ".override::global_address.override::global_dim_stride",
       "[t,g,z,l,u,c] [q] c:u64&L2::cache_hint", sm_107f, tensor_copies, "9.4"},
      {"cp.reduce.async.bulk.tensor{.3d,.4d,.5d}.global.shared::cta{.and,.or,.xor,.add,.inc,.dec,.min,.max}"
       ".im2col_no_offs::w.bulk_group{,.L2::cache_hint}",
       "[t,c] [q] c:u64&L2::cache_hint", sm_107f, tensor_reductions, "9.4"},
      {"cp.reduce.async.bulk.tensor{$dim}.global.shared::cta{.and,.or,.xor,.add,.inc,.dec,.min,.max}"
       "{,.tile}.bulk_group{,.L2::cache_hint}.override::global_address",
       "[t,g,c] [q] c:u64&L2::cache_hint", sm_107f, tensor_reductions, "9.4"},
      {"cp.reduce.async.bulk.tensor{.3d,.4d,.5d}.global.shared::cta"
       "{.and,.or,.xor,.add,.inc,.dec,.min,.max}{.im2col_no_offs,.im2col_no_offs::w}.bulk_group"
       "{,.L2::cache_hint}.override::global_address",
       "[t,g,c] [q] c:u64&L2::cache_hint", sm_107f, tensor_reductions, "9.4"},
      {"cp.reduce.async.bulk.tensor.1d.global.shared::cta{.and,.or,.xor,.add,.inc,.dec,.min,.max}{,.tile}"
       ".bulk_group{,.L2::cache_hint}.override::global_address.override::global_dim",
       "[t,g,z,c] [q] c:u64&L2::cache_hint", sm_107f, tensor_reductions, "9.4"},
      {"cp.reduce.async.bulk.tensor{.2d,.3d,.4d,.5d}.global.shared::cta"
       "{.and,.or,.xor,.add,.inc,.dec,.min,.max}{,.tile}.bulk_group{,.L2::cache_hint}"
       ".override::global_address.override::global_dim_stride",
       "[t,g,z,l,u,c] [q] c:u64&L2::cache_hint", sm_107f, tensor_reductions, "9.4"},
      {"cp.async.bulk.prefetch.tensor{$dim}.L2.global{,.tile}.L2::evict_last", "[t,c]", sm_107f, control,
       "9.4"},
      {"cp.async.bulk.prefetch.tensor{$dim}.L2.global{,.tile}{,.L2::cache_hint,.L2::evict_last}"
       ".override::global_address",
       "[t,g,c] c:u64&L2::cache_hint", sm_107f, control, "9.4"},
      {"cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4.L2::evict_last", "[t,c]", sm_107f, control,
       "9.4"},
      {"cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4{,.L2::cache_hint,.L2::evict_last}"
       ".override::global_address",
       "[t,g,c] c:u64&L2::cache_hint", sm_107f, control, "9.4"},
      {"cp.async.bulk.prefetch.tensor{.3d,.4d,.5d}.L2.global{.im2col,.im2col::w,.im2col::w::128}"
       ".L2::evict_last",
       "[t,c] {o}", sm_107f, control, "9.4"},
      {"cp.async.bulk.prefetch.tensor{.3d,.4d,.5d}.L2.global{.im2col,.im2col::w,.im2col::w::128}"
       "{,.L2::cache_hint,.L2::evict_last}.override::global_address",
       "[t,g,c] {o} c:u64&L2::cache_hint", sm_107f, control, "9.4"},
      {"cp.async.bulk.prefetch.tensor.1d.L2.global{,.tile}{,.L2::cache_hint,.L2::evict_last}"
       ".override::global_address.override::global_dim",
       "[t,g,z,c] c:u64&L2::cache_hint", sm_107f, control, "9.4"},
      {"cp.async.bulk.prefetch.tensor{.2d,.3d,.4d,.5d}.L2.global{,.tile}{,.L2::cache_hint,.L2::evict_last}"
       ".override::global_address.override::global_dim_stride",
       "[t,g,z,l,u,c] c:u64&L2::cache_hint", sm_107f, control, "9.4"},
      {"applypriority.async.bulk.tensor{$dim}{,.global}.bulk_group{,.tile}.L2::evict_normal", "[t,c]", sm_107f,
       control, "9.4"},
      {"applypriority.async.bulk.tensor{$dim}{,.global}.bulk_group{,.tile}.L2::evict_normal"
       ".override::global_address",
       "[t,g,c]", sm_107f, control, "9.4"},
      {"applypriority.async.bulk.tensor.2d{,.global}.bulk_group.tile::gather4.L2::evict_normal", "[t,c]",
       sm_107f, control, "9.4"},
      {"applypriority.async.bulk.tensor.2d{,.global}.bulk_group.tile::gather4.L2::evict_normal"
       ".override::global_address",
       "[t,g,c]", sm_107f, control, "9.4"},
      {"applypriority.async.bulk.tensor{.3d,.4d,.5d}{,.global}.bulk_group"
       "{.im2col,.im2col::w,.im2col::w::128}.L2::evict_normal",
       "[t,c] {o}", sm_107f, control, "9.4"},
      {"applypriority.async.bulk.tensor{.3d,.4d,.5d}{,.global}.bulk_group"
       "{.im2col,.im2col::w,.im2col::w::128}.L2::evict_normal.override::global_address",
       "[t,g,c] {o}", sm_107f, control, "9.4"},
      {"applypriority.async.bulk.tensor.1d{,.global}.bulk_group{,.tile}.L2::evict_normal"
       ".override::global_address.override::global_dim",
       "[t,g,z,c]", sm_107f, control, "9.4"},
      {"applypriority.async.bulk.tensor{.2d,.3d,.4d,.5d}{,.global}.bulk_group{,.tile}.L2::evict_normal"
       ".override::global_address.override::global_dim_stride",
       "[t,g,z,l,u,c]", sm_107f, control, "9.4"},
  };
  return kRows;
}

}  // namespace warpbit::ptx
