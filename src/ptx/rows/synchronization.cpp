// SPDX-License-Identifier: Apache-2.0
// Synchronisation and communication; barrier objects.
#include "ptx/rows/rows.hpp"

namespace warpbit::ptx {

using enum Feature;
using enum Kind;

std::span<const FormRow> synchronization_rows() {
  static constexpr FormRow kRows[] = {
      {"bar{,.cta}.sync", "a:u32(0..15)! b:u32(0..4294967264/32)!?", sm_75, barriers, "cta 7.8"},
      {"bar{,.cta}.arrive", "a:u32(0..15)! b:u32(32..4294967264/32)!", sm_75, barriers, "cta 7.8"},
      {"bar{,.cta}.red.popc.u32", "d:T a:u32(0..15)! b:u32(0..4294967264/32)!? p:pred!", sm_75, barriers,
       "cta 7.8"},
      {"bar{,.cta}.red{.and,.or}.pred", "d:T a:u32(0..15)! b:u32(0..4294967264/32)!? p:pred!", sm_75, barriers,
       "cta 7.8"},
      {"bar.warp.sync", "m:u32!", sm_75, barriers},
      {"barrier{,.cta}.sync{,.aligned}", "a:u32(0..15)! b:u32(0..4294967264/32)!?", sm_75, barriers, "cta 7.8"},
      {"barrier{,.cta}.arrive{,.aligned}", "a:u32(0..15)! b:u32(32..4294967264/32)!", sm_75, barriers,
       "cta 7.8"},
      {"barrier{,.cta}.red{,.aligned}.popc.u32", "d:T a:u32(0..15)! b:u32(0..4294967264/32)!? p:pred!", sm_75,
       barriers, "cta 7.8"},
      {"barrier{,.cta}.red{,.aligned}{.and,.or}.pred", "d:T a:u32(0..15)! b:u32(0..4294967264/32)!? p:pred!",
       sm_75, barriers, "cta 7.8"},
      {"vote.sync{.all,.any,.uni}.pred", "d:pred a:pred m:u32!", sm_75, exchanges},
      {"vote.sync.ballot.b32", "d:T a:pred m:u32!", sm_75, exchanges},
      {"match.any.sync{.b32,.b64}", "d:u32 a:T m:u32!", sm_75, exchanges},
      {"match.all.sync{.b32,.b64}", "d_|p:u32 a:T m:u32!", sm_75, exchanges},
      {"redux.sync{.add,.min,.max}{.u32,.s32}", "d:u32 a:u32 m:u32!", sm_80, exchanges},
      {"redux.sync{.and,.or,.xor}.b32", "d:u32 a:u32 m:u32!", sm_80, exchanges},
      {"redux.sync{.min,.max}{,.abs}{,.NaN}.f32", "d:T a:T m:u32!", redux_f32, not_measured},
      {"activemask.b32", "d:T", sm_75, active_mask},
      {"elect.sync", "d_&p:u32 m:u32!", sm_90, election, "8.0"},
      {"membar{.cta,.gl,.sys}", "", sm_75, barriers},
      {"membar.proxy.alias", "", sm_75, barriers, "7.5"},
      {"fence{,.sc,.acq_rel,.acquire,.release}{$scope}", "", sm_75, barriers},
      {"fence{,.sc,.acq_rel,.acquire,.release}.cluster", "", sm_90, barriers},
      {"fence.proxy.alias", "", sm_75, barriers, "7.5"},
      {"fence.acquire.sync_restrict::shared::cluster.cluster", "", sm_90, barriers},
      {"fence.release.sync_restrict::shared::cta.cluster", "", sm_90, barriers},
      {"fence.mbarrier_init.release.cluster", "", sm_90, barriers, "8.0"},
      {"fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", "", sm_90, barriers, "8.0"},
      {"fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster", "", sm_90, barriers, "8.0"},
      {"fence.proxy.tensormap::generic.release{,$restrict}{$scope,.cluster}", "", sm_90, barriers, "8.3"},
      {"fence.proxy.tensormap::generic.acquire{$scope,.cluster}", "[x] #imm(128)", sm_90, barriers, "8.3"},
      {"fence.proxy{.alias,.async,.async.global,.async.shared::cta,.async.shared::cluster}{$restrict}", "",
       sm_90, barriers},
      {"barrier.cluster.arrive{,.release,.relaxed}{,.aligned}", "", sm_90, barriers,
       "release 8.0, relaxed 8.0"},
      {"barrier.cluster.wait{,.acquire}{,.aligned}", "", sm_90, barriers, "acquire 8.0"},
      {"clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128", "[p] [q]", sm_100, requests},
      {"clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128", "[p] [m]", sm_100,
       requests},
      {"clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.multicast::cluster::all.b128",
       "[p] [q]", cancel_multicast, requests},
      {"clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128",
       "[p] [m]", cancel_multicast, requests},
      {"clusterlaunchcontrol.query_cancel.is_canceled.pred.b128", "d:pred a:T", sm_100, requests},
      {"clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128", "#d:b32 a:T", sm_100, requests},
      {"clusterlaunchcontrol.query_cancel{.get_first_ctaid::x,.get_first_ctaid::y,.get_first_ctaid::z}.b32.b128",
       "d:U a:T", sm_100, requests},
      {"fence.proxy.async{,.global,.shared::cta,.shared::cluster}", "", sm_90, barriers, "8.0"},
      {"griddepcontrol{.launch_dependents,.wait}", "", sm_90, barriers},
  };
  return kRows;
}

// One in another block gives no state.
std::span<const FormRow> barriers_rows() {
  static constexpr FormRow kRows[] = {
      {"mbarrier.init{$own}.b64", "[m] a:u32!", sm_80, barrier_objects},
      {"mbarrier.inval{$own}.b64", "[m]", sm_80, barrier_objects},
      {"mbarrier{.expect_tx,.complete_tx}{,.relaxed.cta,.relaxed.cluster}{$own,.shared::cluster}.b64",
       "[m] a:u32!", sm_90, barrier_objects, "8.0"},
      {"mbarrier{.arrive,.arrive_drop}{,.release.cta}{$own}.b64", "d_:u64 [m]", sm_80, barrier_states,
       "release 8.0"},
      {"mbarrier{.arrive,.arrive_drop}.noComplete{,.release.cta}{$own}.b64", "d_:u64 [m] a:u32(1..)!", sm_80,
       barrier_states, "release 8.0"},
      {"mbarrier{.arrive,.arrive_drop}{,$arrive_order}{$own}.b64", "d_:u64 [m] a:u32(1..)!?", sm_90,
       barrier_states, "release 8.0, relaxed 8.6"},
      {"mbarrier{.arrive,.arrive_drop}{,$arrive_order}.shared::cluster.b64", "_ [m] a:u32(1..)!?", sm_90,
       barrier_objects, "8.0, relaxed 8.6"},
      {"mbarrier{.arrive,.arrive_drop}.expect_tx{,$arrive_order}{$own}.b64", "d_:u64 [m] a:u32!", sm_90,
       barrier_states, "8.0, relaxed 8.6"},
      {"mbarrier{.arrive,.arrive_drop}.expect_tx{,$arrive_order}.shared::cluster.b64", "_ [m] a:u32!", sm_90,
       barrier_objects, "8.0, relaxed 8.6"},
      {"mbarrier.test_wait{,.acquire.cta}{$own}.b64", "d:pred [m] a:u64!", sm_80, barrier_objects,
       "acquire 8.0"},
      {"mbarrier.test_wait.parity{,.acquire.cta}{$own}.b64", "d:pred [m] a:u32(0..1)!", sm_80, barrier_objects,
       "7.1, acquire 8.0"},
      {"mbarrier.test_wait{$wait_order}{$own}.b64", "d:pred [m] a:u64!", sm_90, barrier_objects,
       "relaxed 8.6, acquire 8.0"},
      {"mbarrier.test_wait.parity{$wait_order}{$own}.b64", "d:pred [m] a:u32(0..1)!", sm_90, barrier_objects,
       "7.1, relaxed 8.6, acquire 8.0"},
      {"mbarrier.try_wait{,$wait_order}{$own}.b64", "d:pred [m] a:u64! b:u32?", sm_90, barrier_objects,
       "relaxed 8.6, acquire 8.0"},
      {"mbarrier.try_wait.parity{,$wait_order}{$own}.b64", "d:pred [m] a:u32(0..1)! b:u32?", sm_90,
       barrier_objects, "relaxed 8.6, acquire 8.0"},
      {"mbarrier.pending_count.b64", "d:u32 a:u64!", sm_80, barrier_objects},
  };
  return kRows;
}

}  // namespace warpbit::ptx
