// SPDX-License-Identifier: Apache-2.0
// Modules of PTX for tests of what launches them.
#pragma once

namespace small_kernels {

// saxpy: y = a x + y for n elements; astray writes where nothing is; by_value: p.to[0] = p.plus, and the counter is one more;
// forever: until p[0] is not zero; say prints its argument.
inline constexpr const char* kText = R"(
.version 8.7
.target sm_90a
.address_size 64
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);
.global .align 4 .u32 counter = 3;
.global .align 1 .b8 $str[4] = {37, 100, 10, 0};
.visible .entry saxpy(.param .u64 y, .param .u64 x, .param .f32 a, .param .u32 n)
{
  .reg .pred %p<2>;  .reg .b32 %r<6>;  .reg .f32 %f<6>;  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [y];
  ld.param.u64 %rd2, [x];
  ld.param.f32 %f1, [a];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra DONE;
  mul.wide.s32 %rd3, %r5, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f2, [%rd5];
  ld.global.f32 %f3, [%rd4];
  mul.f32 %f4, %f1, %f2;
  add.f32 %f5, %f4, %f3;
  st.global.f32 [%rd4], %f5;
DONE:
  ret;
}
.visible .entry astray()
{
  .reg .b64 %rd<2>;
  mov.u64 %rd1, 64;
  st.global.u64 [%rd1], %rd1;
  ret;
}
.visible .entry by_value(.param .align 8 .b8 p[16])
{
  .reg .b32 %r<3>;  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [p+8];
  st.global.u32 [%rd1], %r1;
  mov.u64 %rd2, counter;
  atom.global.add.u32 %r2, [%rd2], 1;
  ret;
}
.visible .entry forever(.param .u64 p)
{
  .reg .pred %p<2>;  .reg .b32 %r<2>;  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p];
AGAIN:
  ld.volatile.global.u32 %r1, [%rd1];
  setp.eq.s32 %p1, %r1, 0;
  @%p1 bra AGAIN;
  ret;
}
.visible .entry say(.param .u32 n)
{
  .local .align 8 .b8 depot[8];
  .reg .b32 %r<3>;  .reg .b64 %rd<4>;
  mov.u64 %rd1, depot;
  cvta.local.u64 %rd2, %rd1;
  ld.param.u32 %r1, [n];
  st.local.u32 [%rd1], %r1;
  mov.u64 %rd1, $str;
  cvta.global.u64 %rd3, %rd1;
  { .param .b64 param0;  .param .b64 param1;  .param .b32 retval0;
  st.param.b64 [param0+0], %rd3;
  st.param.b64 [param1+0], %rd2;
  call.uni (retval0), vprintf, (param0, param1);
  ld.param.b32 %r2, [retval0+0];
  }
  ret;
}
)";

// neighbours: to[block] = the number of the next block of the cluster, which that has in its shared memory; racing: thread 32
// reads what thread 0 writes, with no barrier between them; box: to[0] to to[15] is the box of 4 x 4 words at (column, row).
inline constexpr const char* kHopper = R"(
.version 8.7
.target sm_90a
.address_size 64
.visible .entry neighbours(.param .u64 to)
{
  .shared .align 4 .b32 mine;
  .reg .b32 %r<8>;  .reg .b64 %rd<4>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, mine;
  st.shared.u32 [%r2], %r1;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mov.u32 %r3, %cluster_ctarank;
  mov.u32 %r4, %cluster_nctarank;
  add.s32 %r5, %r3, 1;
  rem.u32 %r5, %r5, %r4;
  mapa.shared::cluster.u32 %r6, %r2, %r5;
  ld.shared::cluster.u32 %r7, [%r6];
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ld.param.u64 %rd1, [to];
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r7;
  ret;
}
.visible .entry racing(.param .u64 to)
{
  .shared .align 4 .b32 cell;
  .reg .pred %p<3>;  .reg .b32 %r<4>;  .reg .b64 %rd<2>;
  mov.u32 %r1, %tid.x;
  setp.eq.u32 %p1, %r1, 0;
  setp.eq.u32 %p2, %r1, 32;
  mov.u32 %r2, 7;
  @%p1 st.shared.u32 [cell], %r2;
  @%p2 ld.shared.u32 %r3, [cell];
  ld.param.u64 %rd1, [to];
  @%p2 st.global.u32 [%rd1], %r3;
  ret;
}
.visible .entry box(.param .align 64 .b8 map[128], .param .u32 column, .param .u32 row, .param .u64 to)
{
  .shared .align 128 .b8 tile[64];
  .shared .align 8 .b64 full;
  .reg .pred %p<3>;  .reg .b32 %r<8>;  .reg .b64 %rd<6>;
  mov.u32 %r1, tile;
  mov.u32 %r2, full;
  ld.param.u32 %r3, [column];
  ld.param.u32 %r4, [row];
  mbarrier.init.shared.b64 [%r2], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 %rd1, [%r2], 64;
  mov.b64 %rd2, map;
  cvta.param.u64 %rd3, %rd2;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd3, {%r3, %r4}], [%r2];
  ld.param.u64 %rd4, [to];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0;
  @!%p1 bra WAIT;
  mov.u32 %r5, 0;
NEXT:
  ld.shared.u32 %r6, [%r1];
  st.global.u32 [%rd4], %r6;
  add.s32 %r1, %r1, 4;
  add.s64 %rd4, %rd4, 4;
  add.s32 %r5, %r5, 1;
  setp.lt.u32 %p2, %r5, 16;
  @%p2 bra NEXT;
  ret;
}
)";

// taking, of one thread: to[block] = the block that does its work.
inline constexpr const char* kBlackwell = R"(
.version 8.8
.target sm_100
.address_size 64
.visible .entry taking(.param .u64 to)
{
  .reg .pred %p<4>;  .reg .b32 %r<8>;  .reg .b64 %rd<4>;  .reg .b128 %q1;
  .shared .align 16 .b8 response[16];
  .shared .align 8 .b64 object;
  ld.param.u64 %rd1, [to];
  mov.u32 %r1, response;
  mov.u32 %r2, object;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %r3;
  mov.u32 %r5, 0;
  mbarrier.init.shared::cta.b64 [%r2], 1;
LOOP:
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;
  clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2];
  mul.wide.u32 %rd2, %r4, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r3;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], %r5;
  @!%p1 bra WAIT;
  xor.b32 %r5, %r5, 1;
  ld.shared.b128 %q1, [%r1];
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q1;
  @%p2 clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r4, %q1;
  @%p2 bra LOOP;
  ret;
}
)";

}  // namespace small_kernels
