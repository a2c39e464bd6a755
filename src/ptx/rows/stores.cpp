// SPDX-License-Identifier: Apache-2.0
// Asynchronous stores; memory of several GPUs.
#include "ptx/rows/rows.hpp"

namespace warpbit::ptx {

using enum Feature;
using enum Kind;

// Those without a barrier object take any size.
std::span<const FormRow> stores_rows() {
  static constexpr FormRow kRows[] = {
      {"st.async{,.weak}{$own,.shared::cluster}.mbarrier::complete_tx::bytes{$async,$async_vector}",
       "[p] #a:T [m]", sm_90, loads_and_stores, "8.1"},
      {"st.async.cluster{,.shared::cluster}.mbarrier::complete_tx::bytes{$async,$async_vector}", "[p] #a:T [m]",
       sm_90, loads_and_stores, "8.1"},
      {"st.async{,.weak}{,.shared::cluster}.mbarrier::complete_tx::bytes.b128", "[p] #a:T [m]", sm_90,
       loads_and_stores, "9.2"},
      {"st.async{,.weak}{.shared,.shared::cta}{$async,$async_vector}", "[p] #a:T [m]", sm_90, loads_and_stores,
       "8.1"},
      {"st.async{,.weak}.global{$async,$async_vector}", "[p] #a:T [p]", sm_100, loads_and_stores, "8.7"},
      {"st.async{,.release}{.gpu,.sys}.global{$async,$async_vector}", "[p] #a:T [p]", sm_100, loads_and_stores,
       "8.7"},
      {"st.async.mmio.release{.gpu,.sys}.global{$async}", "[p] #a:T [p]", sm_100, loads_and_stores, "8.7"},
      {"st.async{,.weak}{$own}{,.mbarrier::complete_tx::bytes}{$async,$async_narrow}", "[p] #a:T", sm_90,
       loads_and_stores, "8.1"},
      {"st.async{,.weak}.shared::cluster.mbarrier::complete_tx::bytes{$async,$async_narrow}", "[p] #a:T", sm_90,
       loads_and_stores, "8.1"},
      {"st.async.cluster{,.shared::cluster}.mbarrier::complete_tx::bytes{$async,$async_narrow}", "[p] #a:T",
       sm_90, loads_and_stores, "8.1"},
      {"st.async{.gpu,.sys}{$async,$async_narrow}", "[p] #a:T", sm_90, loads_and_stores, "8.1"},
      {"st.async{,.weak}.global{$async,$async_narrow}", "[p] #a:T", sm_100, loads_and_stores, "8.7"},
      {"st.async{,.release,.mmio.release}{.gpu,.sys}{,.global}{$async,$async_narrow}", "[p] #a:T", sm_100,
       loads_and_stores, "8.7"},
      {"red.async.relaxed.cluster{,.shared::cluster}.mbarrier::complete_tx::bytes{.and,.or,.xor}.b32",
       "[p] a:T [m]?", sm_90, atomics, "8.1"},
      {"red.async.relaxed{.gpu,.sys}{.and,.or,.xor}.b32", "[p] a:u32", sm_90, atomics, "8.1"},
      {"red.async{.relaxed,.release,.mmio.release}{.gpu,.sys}{,.global}{.and,.or,.xor}.b32", "[p] a:u32",
       sm_100, atomics, "8.7"},
      {"red.async{.relaxed,.release,.mmio.release}{.gpu,.sys}.global{.and,.or,.xor}.b32", "[p] a:T [p]", sm_100,
       atomics, "8.7"},
      {"red.async.relaxed.cluster{,.shared::cluster}.mbarrier::complete_tx::bytes{$red_async}", "[p] a:T [m]?",
       sm_90, atomics, "8.1"},
      {"red.async.relaxed{.gpu,.sys}{$red_async}", "[p] a:T", sm_90, atomics, "8.1"},
      {"red.async{.relaxed,.release,.mmio.release}{.gpu,.sys}{,.global}{$red_async}", "[p] a:T", sm_100,
       atomics, "8.7"},
      {"red.async{.relaxed,.release,.mmio.release}{.gpu,.sys}.global{$red_async}", "[p] a:T [p]", sm_100,
       atomics, "8.7"},
      {"st.bulk{,.weak}", "[p] a:u32=(1..0) #imm(0)", sm_100, loads_and_stores, "9.0"},
      {"st.bulk{,.weak}", "[p] a:u64(0..16777216/8) #imm(0)", sm_100, loads_and_stores},
      {"st.bulk{,.weak}.shared::cta", "[r] a:u32=(1..0) #imm(0)", sm_100, loads_and_stores, "9.0"},
      {"st.bulk{,.weak}.shared::cta", "[r] a:u64(0..16777216/8) #imm(0)", sm_100, loads_and_stores},
  };
  return kRows;
}

std::span<const FormRow> multimem_rows() {
  static constexpr FormRow kRows[] = {
      {"multimem.cp.async.bulk.global.shared::cta.bulk_group", "[p] [q] a:u32(0..1048560/16)", sm_90,
       not_executed, "9.1"},
      {"multimem.cp.async.bulk.global.shared::cta.bulk_group.cp_mask", "[p] [q] a:u32(0..1048560/16) b:u16",
       sm_100, not_executed, "9.1"},
      {"multimem.cp.async.bulk.weak.global.shared::cta.bulk_group", "[p] [q] a:u32(0..1048560/16)",
       strong_copies, not_executed, "9.3"},
      {"multimem.cp.async.bulk.relaxed{$scope,.cluster}.global.shared::cta.bulk_group.b128",
       "[p] [q] a:u32(0..1048560/16)", strong_copies, not_executed, "9.3"},
      {"multimem.cp.async.bulk.weak.global.shared::cta.bulk_group.cp_mask",
       "[p] [q] a:u32(0..1048560/16) b:u16", tensor_group, not_executed, "9.3"},
      {"multimem.cp.async.bulk.relaxed{$scope,.cluster}.global.shared::cta.bulk_group.cp_mask.b128",
       "[p] [q] a:u32(0..1048560/16) b:u16", tensor_group, not_executed, "9.3"},
      {"multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group{$bulk_red}", "[p] [q] a:u32(0..1048560/16)",
       sm_90, not_executed, "9.1"},
      {"multimem.cp.reduce.async.bulk.relaxed{$scope,.cluster}.global.shared::cta.bulk_group{$bulk_red}",
       "[p] [q] a:u32(0..1048560/16)", sm_90, not_executed, "9.3"},
      {"multimem.cp.reduce.async.bulk{,.relaxed.cta,.relaxed.cluster,.relaxed.gpu,.relaxed.sys}.global.shared::cta"
       ".bulk_group.add.noftz.f32",
       "[p] [q] a:u32(0..1048560/16)", sm_90, not_executed, "9.4"},
      {"multimem.red.async.release{.gpu,.sys}{,.global}.add{.u32,.s32,.u64}", "[p] a:T", sm_100, not_executed,
       "9.3"},
      {"multimem.st.async.release{.gpu,.sys}{,.global}{$async,$async_narrow}", "[p] #a:T", sm_100, not_executed,
       "9.3"},
      {"multimem.ld_reduce{$multimem_load}{,.global}{$multimem_integer}", "d:T [p]", sm_90, not_executed,
       "8.1"},
      {"multimem.ld_reduce{$multimem_load}{,.global}{.add.f64,.add.f32,.add.v2.f32,.add.v4.f32}", "#d:T [p]",
       sm_90, not_executed, "8.1"},
      {"multimem.ld_reduce{$multimem_load}{,.global}{.add,.min,.max}{.f16x2,.bf16x2,$half_vector}", "#d:T [p]",
       sm_90, not_executed, "8.1"},
      {"multimem.ld_reduce{$multimem_load}{,.global}.add.acc::f32{.f16x2,.bf16x2,$half_vector}", "#d:T [p]",
       sm_90, not_executed, "8.2"},
      {"multimem.ld_reduce{$multimem_load}{,.global}{.add,.add.acc::f16,.min,.max}{.v4,.v8}{.e4m3,.e5m2}",
       "#d:b8 [p]", multimem_fp8, not_executed, "8.1"},
      {"multimem.ld_reduce{$multimem_load}{,.global}{.add,.add.acc::f16,.min,.max}{.v2,.v4,.v8}{.e4m3x2,.e5m2x2}",
       "#d:b16 [p]", multimem_fp8, not_executed, "8.1"},
      {"multimem.ld_reduce{$multimem_load}{,.global}{.add,.add.acc::f16,.min,.max}{,.v2,.v4}{.e4m3x4,.e5m2x4}",
       "#d:b32 [p]", multimem_fp8, not_executed, "8.1"},
      {"multimem.st{$multimem_store}{,.global}{$async,.f16x2,.bf16x2,.v2.f32,.v4.f32,$half_vector}", "[p] #a:T",
       sm_90, not_executed, "8.1"},
      {"multimem.st{$multimem_store}{,.global}{.v4,.v8}{.e4m3,.e5m2}", "[p] #a:b8", multimem_fp8, not_executed,
       "8.1"},
      {"multimem.st{$multimem_store}{,.global}{.v2,.v4,.v8}{.e4m3x2,.e5m2x2}", "[p] #a:b16", multimem_fp8,
       not_executed, "8.1"},
      {"multimem.st{$multimem_store}{,.global}{,.v2,.v4}{.e4m3x4,.e5m2x4}", "[p] #a:b32", multimem_fp8,
       not_executed, "8.1"},
      {"multimem.red{$multimem_red}{,.global}{$multimem_integer}", "[w] a:T", sm_90, not_executed, "8.1"},
      {"multimem.red{$multimem_red}{,.global}{.add.f64,.add.f32,.add.v2.f32,.add.v4.f32,.add.f16x2,.add.bf16x2}",
       "[w] #a:T", sm_90, not_executed, "8.1"},
      {"multimem.red{$multimem_red}{,.global}{.add,.min,.max}{$half_vector}", "[w] #a:T", sm_90, not_executed,
       "8.1"},
  };
  return kRows;
}

// PTX manual, "Fabric Instructions".
std::span<const FormRow> fabric_rows() {
  static constexpr std::string_view kOneGpu = "there is one GPU";
  static constexpr FormRow kRows[] = {
      {"fabric.try_get.async.shared::cta.mbarrier::complete_tx::bytes{$fabric_report}.relaxed.sys.b128",
       "[p] [e,o] a:u32(0..4294967280/16) [m]", sm_100, not_executed, "9.3"},
      {"fabric.try_put.async{,.multimem}.shared::cta.mbarrier::complete_tx::16B{$fabric_report}.relaxed.sys.b128",
       "[e,o] [p] a:u32(0..4294967280/16) [m]", sm_100, not_executed, "9.3"},
      {"fabric.try_put.async{,.multimem}.shared::cta.mbarrier::complete_tx::16B{$fabric_report}"
       ".cp_mask.relaxed.sys.b128",
       "[e,o] [p] a:u32(0..4294967280/16) [m] b:u16", sm_100, not_executed, "9.3"},
      {"fabric.try_put.async{,.multimem}.shared::cta.mbarrier::complete_tx::16B{$fabric_report}"
       ".counted::bytes.relaxed.sys.b128",
       "[e,o,n] [p] a:u32(0..4294967280/16) [m]", sm_100, not_executed, "9.3"},
      {"fabric.try_red.async{,.multimem}.shared::cta.mbarrier::complete_tx::16B{$fabric_report}"
       ".relaxed.sys{$fabric_red}",
       "[e,o] [p] a:u32(0..4294967280/16) [m]", sm_100, not_executed, "9.3"},
      {"fabric.try_red.async{,.multimem}.shared::cta.mbarrier::complete_tx::16B{$fabric_report}"
       ".counted::bytes.relaxed.sys{$fabric_red}",
       "[e,o,n] [p] a:u32(0..4294967280/16) [m]", sm_100, not_executed, "9.3"},
      {"fabric.try_pullred.async.multimem.shared::cta.mbarrier::complete_tx::bytes{$fabric_report}"
       ".relaxed.sys{$fabric_pull}.sync",
       "[p] [e,o] a:u32(0..4294967280/16) [m] #imm(4294967295)", sm_100, not_executed, "9.3"},
      {"fabric.try_pullred.async.multimem.shared::cta.mbarrier::complete_tx::bytes{$fabric_report}"
       ".relaxed.sys{$fabric_pull_narrow}.sync",
       "[p] [e,o] a:u32(0..4294967280/16) [m] #imm(4294967295)", multimem_fp8, not_executed, "9.3"},
      {"fabric.submit{,.op_restrict::fetching}", "", sm_100, not_executed, "9.3"},
      {"fabric.submit.commit_group", "", sm_100, not_executed, "9.5"},
      {"fabric.wait.sync_restrict::reads", "", sm_100, not_executed, "9.3"},
      {"fabric.wait.sync_restrict::read", "#imm", sm_100, not_executed, "9.5"},
      {"fence.proxy{.generic::fabric,.fabric::generic,.fabric::fabric}.alias{.acquire,.release}.sys", "",
       sm_100, not_executed, "9.3", kOneGpu},
  };
  return kRows;
}

}  // namespace warpbit::ptx
