// SPDX-License-Identifier: Apache-2.0
// Small kernels with tensor memory, in PTX, and what they compute. Each is correct; tests of mistakes change one place.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/format.hpp"
#include "warpbit/ptx.hpp"
#include "warpbit/tensor_map.hpp"

namespace tensor_kernels {

using namespace warpbit;

/// d[i] = a b[i] for two products of 128 x 16 by 16 x 16, f16, one behind the other with the same D and the same place for b.
/// a: a row for each thread; b: two times 16 columns, K side by side.
inline constexpr const char* kTwice = R"(.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 d)
.reqntid 128
{
  .reg .pred %p<8>;  .reg .b32 %r<80>;  .reg .b64 %rd<12>;
  .shared .align 128 .b8 tiles[8192];
  .shared .align 8 .b64 done;
  .shared .align 4 .b32 where;
  mov.u32 %r1, %tid.x;
  shr.u32 %r2, %r1, 5;
  setp.eq.u32 %p1, %r2, 0;
  setp.eq.u32 %p2, %r1, 0;
  setp.lt.u32 %p3, %r1, 16;
  setp.ne.u32 %p4, %r1, %r1;
  mov.u32 %r3, tiles;
  mov.u32 %r4, done;
  mov.u32 %r5, where;
  @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r5], 32;
  @%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
  @%p2 mbarrier.init.shared::cta.b64 [%r4], 1;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd3, [b];
  ld.param.u64 %rd6, [d];
  mul.wide.u32 %rd2, %r1, 32;
  add.s64 %rd1, %rd1, %rd2;
  add.s64 %rd3, %rd3, %rd2;
  mul.wide.u32 %rd7, %r1, 64;
  add.s64 %rd6, %rd6, %rd7;
  and.b32 %r6, %r1, 7;
  shl.b32 %r6, %r6, 4;
  shr.u32 %r7, %r1, 3;
  shl.b32 %r7, %r7, 8;
  add.s32 %r6, %r6, %r7;
  add.s32 %r6, %r6, %r3;
  ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd1];
  ld.global.v4.u32 {%r14, %r15, %r16, %r17}, [%rd1+16];
  st.shared.v4.u32 [%r6], {%r10, %r11, %r12, %r13};
  st.shared.v4.u32 [%r6+128], {%r14, %r15, %r16, %r17};
  @%p3 ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd3];
  @%p3 ld.global.v4.u32 {%r14, %r15, %r16, %r17}, [%rd3+16];
  @%p3 st.shared.v4.u32 [%r6+4096], {%r10, %r11, %r12, %r13};
  @%p3 st.shared.v4.u32 [%r6+4224], {%r14, %r15, %r16, %r17};
  fence.proxy.async.shared::cta; // first
  tcgen05.fence::before_thread_sync; // first
  bar.sync 0; // first
  tcgen05.fence::after_thread_sync; // first
  ld.shared.u32 %r8, [%r5];
  shr.u32 %r9, %r3, 4;
  cvt.u64.u32 %rd4, %r9;
  or.b64 %rd4, %rd4, 0x401000080000;
  add.s64 %rd5, %rd4, 256;
  mov.u32 %r20, 0x8040010;
  shl.b32 %r21, %r2, 21;
  add.s32 %r21, %r21, %r8;
  @%p2 tcgen05.mma.cta_group::1.kind::f16 [%r8], %rd4, %rd5, %r20, %p4; // first
  @%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4]; // first
W1:
  mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r4], 0;
  @!%p5 bra W1;
  tcgen05.fence::after_thread_sync; // wait
  tcgen05.ld.sync.aligned.32x32b.x16.b32 {%r30, %r31, %r32, %r33, %r34, %r35, %r36, %r37, %r38, %r39, %r40, %r41, %r42, %r43, %r44, %r45}, [%r21]; // first
  tcgen05.wait::ld.sync.aligned; // first
  st.global.v4.u32 [%rd6], {%r30, %r31, %r32, %r33};
  st.global.v4.u32 [%rd6+16], {%r34, %r35, %r36, %r37};
  st.global.v4.u32 [%rd6+32], {%r38, %r39, %r40, %r41};
  st.global.v4.u32 [%rd6+48], {%r42, %r43, %r44, %r45};
  @%p3 ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd3+512];
  @%p3 ld.global.v4.u32 {%r14, %r15, %r16, %r17}, [%rd3+528];
  @%p3 st.shared.v4.u32 [%r6+4096], {%r10, %r11, %r12, %r13}; // again
  @%p3 st.shared.v4.u32 [%r6+4224], {%r14, %r15, %r16, %r17};
  fence.proxy.async.shared::cta; // second
  tcgen05.fence::before_thread_sync; // second
  bar.sync 0; // second
  tcgen05.fence::after_thread_sync; // second
  @%p2 tcgen05.mma.cta_group::1.kind::f16 [%r8], %rd4, %rd5, %r20, %p4; // second
  @%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4]; // second
W2:
  mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r4], 1;
  @!%p5 bra W2;
  tcgen05.fence::after_thread_sync; // wait
  tcgen05.ld.sync.aligned.32x32b.x16.b32 {%r30, %r31, %r32, %r33, %r34, %r35, %r36, %r37, %r38, %r39, %r40, %r41, %r42, %r43, %r44, %r45}, [%r21]; // second
  tcgen05.wait::ld.sync.aligned; // second
  st.global.v4.u32 [%rd6+8192], {%r30, %r31, %r32, %r33};
  st.global.v4.u32 [%rd6+8208], {%r34, %r35, %r36, %r37};
  st.global.v4.u32 [%rd6+8224], {%r38, %r39, %r40, %r41};
  st.global.v4.u32 [%rd6+8240], {%r42, %r43, %r44, %r45};
  tcgen05.fence::before_thread_sync; // last
  bar.sync 0; // last
  @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8, 32;
  ret;
}
)";

/// The same a and first b, a moved to tensor memory by threads: d[0]; d[1] has 4 words of a row of a's first 8 columns, as
/// tcgen05.cp moved them.
inline constexpr const char* kMoved = R"(.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 d)
.reqntid 128
{
  .reg .pred %p<8>;  .reg .b32 %r<80>;  .reg .b64 %rd<12>;
  .shared .align 128 .b8 tiles[8192];
  .shared .align 8 .b64 done;
  .shared .align 4 .b32 where;
  mov.u32 %r1, %tid.x;
  shr.u32 %r2, %r1, 5;
  setp.eq.u32 %p1, %r2, 0;
  setp.eq.u32 %p2, %r1, 0;
  setp.lt.u32 %p3, %r1, 16;
  setp.ne.u32 %p4, %r1, %r1;
  mov.u32 %r3, tiles;
  mov.u32 %r4, done;
  mov.u32 %r5, where;
  @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r5], 64;
  @%p2 mbarrier.init.shared::cta.b64 [%r4], 1;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd3, [b];
  ld.param.u64 %rd6, [d];
  mul.wide.u32 %rd2, %r1, 32;
  add.s64 %rd1, %rd1, %rd2;
  add.s64 %rd3, %rd3, %rd2;
  mul.wide.u32 %rd7, %r1, 64;
  add.s64 %rd6, %rd6, %rd7;
  and.b32 %r6, %r1, 7;
  shl.b32 %r6, %r6, 4;
  shr.u32 %r7, %r1, 3;
  shl.b32 %r7, %r7, 8;
  add.s32 %r6, %r6, %r7;
  add.s32 %r6, %r6, %r3;
  ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd1];
  ld.global.v4.u32 {%r14, %r15, %r16, %r17}, [%rd1+16];
  st.shared.v4.u32 [%r6], {%r10, %r11, %r12, %r13};
  @%p3 ld.global.v4.u32 {%r22, %r23, %r24, %r25}, [%rd3];
  @%p3 ld.global.v4.u32 {%r26, %r27, %r28, %r29}, [%rd3+16];
  @%p3 st.shared.v4.u32 [%r6+4096], {%r22, %r23, %r24, %r25};
  @%p3 st.shared.v4.u32 [%r6+4224], {%r26, %r27, %r28, %r29};
  bar.sync 0;
  ld.shared.u32 %r8, [%r5];
  shl.b32 %r21, %r2, 21;
  add.s32 %r21, %r21, %r8;
  tcgen05.st.sync.aligned.32x32b.x8.b32 [%r21+32], {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17};
  tcgen05.wait::st.sync.aligned;
  fence.proxy.async.shared::cta;
  tcgen05.fence::before_thread_sync;
  bar.sync 0; // first
  tcgen05.fence::after_thread_sync;
  shr.u32 %r9, %r3, 4;
  cvt.u64.u32 %rd4, %r9;
  or.b64 %rd4, %rd4, 0x401000080000;
  add.s64 %rd5, %rd4, 256;
  mov.u32 %r20, 0x8040010;
  @%p2 tcgen05.cp.cta_group::1.128x128b [%r8+48], %rd4;
  @%p2 tcgen05.mma.cta_group::1.kind::f16 [%r8], [%r8+32], %rd5, %r20, %p4;
  @%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];
W1:
  mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r4], 0;
  @!%p5 bra W1;
  tcgen05.fence::after_thread_sync; // wait
  tcgen05.ld.sync.aligned.32x32b.x16.b32 {%r30, %r31, %r32, %r33, %r34, %r35, %r36, %r37, %r38, %r39, %r40, %r41, %r42, %r43, %r44, %r45}, [%r21];
  tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r46, %r47, %r48, %r49}, [%r21+48];
  tcgen05.wait::ld.sync.aligned;
  st.global.v4.u32 [%rd6], {%r30, %r31, %r32, %r33};
  st.global.v4.u32 [%rd6+16], {%r34, %r35, %r36, %r37};
  st.global.v4.u32 [%rd6+32], {%r38, %r39, %r40, %r41};
  st.global.v4.u32 [%rd6+48], {%r42, %r43, %r44, %r45};
  st.global.v4.u32 [%rd6+8192], {%r46, %r47, %r48, %r49};
  tcgen05.fence::before_thread_sync;
  bar.sync 0; // last
  @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8, 64;
  ret;
}
)";

/// The product of 256 x 16 by 16 x 32 by a pair of blocks, each of which has half of the rows and half of the columns of b. A
/// second pair of the cluster has the rows and the columns that follow.
inline constexpr const char* kPair = R"(.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 d)
.reqntid 128
{
  .reg .pred %p<8>;  .reg .b16 %h<2>;  .reg .b32 %r<80>;  .reg .b64 %rd<12>;
  .shared .align 128 .b8 tiles[8192];
  .shared .align 8 .b64 done;
  .shared .align 4 .b32 where;
  mov.u32 %r1, %tid.x;
  mov.u32 %r18, %cluster_ctarank;
  shr.u32 %r2, %r1, 5;
  setp.eq.u32 %p1, %r2, 0;
  setp.eq.u32 %p2, %r1, 0;
  and.b32 %r22, %r18, 1;
  setp.eq.u32 %p6, %r22, 0;
  setp.lt.u32 %p3, %r1, 16;
  setp.ne.u32 %p4, %r1, %r1;
  mov.u32 %r3, tiles;
  mov.u32 %r4, done;
  mov.u32 %r5, where;
  @%p1 tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r5], 32;
  @%p2 mbarrier.init.shared::cta.b64 [%r4], 1;
  @%p2 fence.mbarrier_init.release.cluster;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd3, [b];
  ld.param.u64 %rd6, [d];
  mad.lo.u32 %r19, %r18, 128, %r1;
  mul.wide.u32 %rd2, %r19, 32;
  add.s64 %rd1, %rd1, %rd2;
  mul.wide.u32 %rd7, %r19, 128;
  add.s64 %rd6, %rd6, %rd7;
  mad.lo.u32 %r19, %r18, 16, %r1;
  mul.wide.u32 %rd2, %r19, 32;
  add.s64 %rd3, %rd3, %rd2;
  and.b32 %r6, %r1, 7;
  shl.b32 %r6, %r6, 4;
  shr.u32 %r7, %r1, 3;
  shl.b32 %r7, %r7, 8;
  add.s32 %r6, %r6, %r7;
  add.s32 %r6, %r6, %r3;
  ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd1];
  ld.global.v4.u32 {%r14, %r15, %r16, %r17}, [%rd1+16];
  st.shared.v4.u32 [%r6], {%r10, %r11, %r12, %r13};
  st.shared.v4.u32 [%r6+128], {%r14, %r15, %r16, %r17};
  @%p3 ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd3];
  @%p3 ld.global.v4.u32 {%r14, %r15, %r16, %r17}, [%rd3+16];
  @%p3 st.shared.v4.u32 [%r6+4096], {%r10, %r11, %r12, %r13};
  @%p3 st.shared.v4.u32 [%r6+4224], {%r14, %r15, %r16, %r17};
  fence.proxy.async.shared::cta;
  tcgen05.fence::before_thread_sync;
  barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned; // first
  tcgen05.fence::after_thread_sync;
  bar.sync 0;
  ld.shared.u32 %r8, [%r5];
  and.b32 %r9, %r3, 0x3FFFF;
  shr.u32 %r9, %r9, 4;
  cvt.u64.u32 %rd4, %r9;
  or.b64 %rd4, %rd4, 0x401000080000;
  add.s64 %rd5, %rd4, 256;
  mov.u32 %r20, 0x10080010;
  and.b32 %r22, %r18, 6;
  mov.u32 %r23, 3;
  shl.b32 %r23, %r23, %r22;
  cvt.u16.u32 %h1, %r23;
  shl.b32 %r21, %r2, 21;
  add.s32 %r21, %r21, %r8;
  and.pred %p2, %p2, %p6;
  @%p2 tcgen05.mma.cta_group::2.kind::f16 [%r8], %rd4, %rd5, %r20, %p4;
  @%p2 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r4], %h1;
W1:
  mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r4], 0;
  @!%p5 bra W1;
  tcgen05.fence::after_thread_sync; // wait
  tcgen05.ld.sync.aligned.32x32b.x32.b32 {%r30, %r31, %r32, %r33, %r34, %r35, %r36, %r37, %r38, %r39, %r40, %r41, %r42, %r43, %r44, %r45, %r46, %r47, %r48, %r49, %r50, %r51, %r52, %r53, %r54, %r55, %r56, %r57, %r58, %r59, %r60, %r61}, [%r21];
  tcgen05.wait::ld.sync.aligned;
  st.global.v4.u32 [%rd6], {%r30, %r31, %r32, %r33};
  st.global.v4.u32 [%rd6+16], {%r34, %r35, %r36, %r37};
  st.global.v4.u32 [%rd6+32], {%r38, %r39, %r40, %r41};
  st.global.v4.u32 [%rd6+48], {%r42, %r43, %r44, %r45};
  st.global.v4.u32 [%rd6+64], {%r46, %r47, %r48, %r49};
  st.global.v4.u32 [%rd6+80], {%r50, %r51, %r52, %r53};
  st.global.v4.u32 [%rd6+96], {%r54, %r55, %r56, %r57};
  st.global.v4.u32 [%rd6+112], {%r58, %r59, %r60, %r61};
  tcgen05.fence::before_thread_sync;
  barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned; // last
  @%p1 tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
  @%p1 tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r8, 32;
  ret;
}
)";

/// The same by tensor copies, whose bytes are counted at an object of the even block. a and b are tensor maps.
inline constexpr const char* kCopied = R"(.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128], .param .u64 d)
.reqntid 128
.reqnctapercluster 2, 1, 1
{
  .reg .pred %p<8>;  .reg .b16 %h<2>;  .reg .b32 %r<80>;  .reg .b64 %rd<12>;
  .shared .align 128 .b8 tiles[8192];
  .shared .align 8 .b64 done;
  .shared .align 8 .b64 full;
  .shared .align 4 .b32 where;
  mov.u32 %r1, %tid.x;
  mov.u32 %r18, %cluster_ctarank;
  shr.u32 %r2, %r1, 5;
  setp.eq.u32 %p1, %r2, 0;
  setp.eq.u32 %p2, %r1, 0;
  setp.eq.u32 %p6, %r18, 0;
  setp.ne.u32 %p4, %r1, %r1;
  mov.u32 %r3, tiles;
  mov.u32 %r4, done;
  mov.u32 %r5, where;
  mov.u32 %r16, full;
  and.b32 %r17, %r16, 0xFEFFFFFF;
  @%p1 tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r5], 32;
  @%p2 mbarrier.init.shared::cta.b64 [%r4], 1;
  @%p2 mbarrier.init.shared::cta.b64 [%r16], 2;
  @%p2 fence.mbarrier_init.release.cluster;
  ld.param.u64 %rd6, [d];
  mad.lo.u32 %r19, %r18, 128, %r1;
  mul.wide.u32 %rd7, %r19, 128;
  add.s64 %rd6, %rd6, %rd7;
  mov.b64 %rd1, a;
  cvta.param.u64 %rd1, %rd1;
  mov.b64 %rd3, b;
  cvta.param.u64 %rd3, %rd3;
  mov.u32 %r10, 0;
  shl.b32 %r11, %r18, 7;
  shl.b32 %r12, %r18, 4;
  add.s32 %r13, %r3, 4096;
  tcgen05.fence::before_thread_sync;
  barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned; // first
  tcgen05.fence::after_thread_sync;
  @%p2 mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r17], 4608;
  @%p2 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%r3], [%rd1, {%r10, %r11}], [%r17];
  @%p2 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%r13], [%rd3, {%r10, %r12}], [%r17];
  ld.shared.u32 %r8, [%r5];
  shl.b32 %r21, %r2, 21;
  add.s32 %r21, %r21, %r8;
  and.b32 %r9, %r3, 0x3FFFF;
  shr.u32 %r9, %r9, 4;
  cvt.u64.u32 %rd4, %r9;
  or.b64 %rd4, %rd4, 0xC000401000010000;
  add.s64 %rd5, %rd4, 256;
  mov.u32 %r20, 0x10080010;
  mov.u16 %h1, 3;
  and.pred %p2, %p2, %p6;
  @!%p2 bra W1;
W0:
  mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r16], 0;
  @!%p5 bra W0;
  tcgen05.mma.cta_group::2.kind::f16 [%r8], %rd4, %rd5, %r20, %p4;
  tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r4], %h1;
W1:
  mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r4], 0;
  @!%p5 bra W1;
  tcgen05.fence::after_thread_sync;
  tcgen05.ld.sync.aligned.32x32b.x32.b32 {%r30, %r31, %r32, %r33, %r34, %r35, %r36, %r37, %r38, %r39, %r40, %r41, %r42, %r43, %r44, %r45, %r46, %r47, %r48, %r49, %r50, %r51, %r52, %r53, %r54, %r55, %r56, %r57, %r58, %r59, %r60, %r61}, [%r21];
  tcgen05.wait::ld.sync.aligned;
  st.global.v4.u32 [%rd6], {%r30, %r31, %r32, %r33};
  st.global.v4.u32 [%rd6+16], {%r34, %r35, %r36, %r37};
  st.global.v4.u32 [%rd6+32], {%r38, %r39, %r40, %r41};
  st.global.v4.u32 [%rd6+48], {%r42, %r43, %r44, %r45};
  st.global.v4.u32 [%rd6+64], {%r46, %r47, %r48, %r49};
  st.global.v4.u32 [%rd6+80], {%r50, %r51, %r52, %r53};
  st.global.v4.u32 [%rd6+96], {%r54, %r55, %r56, %r57};
  st.global.v4.u32 [%rd6+112], {%r58, %r59, %r60, %r61};
  tcgen05.fence::before_thread_sync;
  barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned; // last
  @%p1 tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
  @%p1 tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r8, 32;
  ret;
}
)";

/// One of these kernels, its arrays of integers, and what it must leave.
struct SmallKernel {
  const char* name;
  const char* text;
  int blocks, rows, columns;
};
inline constexpr SmallKernel kKernels[] = {
    {"twice", kTwice, 1, 128, 16}, {"moved", kMoved, 1, 128, 16},   {"pair", kPair, 2, 256, 32},
    {"pairs", kPair, 4, 512, 32},  {"copied", kCopied, 2, 256, 32},
};

inline const SmallKernel& kernel(std::string_view name) {
  return *std::ranges::find(kKernels, name, [](const SmallKernel& one) { return std::string_view(one.name); });
}

inline std::uint16_t f16_of(int value) {
  static const Codec codec = *Codec::find("f16");
  return static_cast<std::uint16_t>(*codec.encode(value));
}

class Run {
 public:
  explicit Run(const SmallKernel& of)
      : of_(of), a_(index(of.rows * kDepth)), b_(index(2 * 32 * kDepth)), d_(index(512 * 32)) {
    for (std::size_t i = 0; i < a_.size(); ++i) a_[i] = f16_of(a(static_cast<int>(i)));
    for (std::size_t i = 0; i < b_.size(); ++i) b_[i] = f16_of(b(static_cast<int>(i)));
  }

  ptx::Report launch(const std::string& text, bool strict, bool lenient = false) {
    const Result<ptx::Module> module = ptx::Module::load(text);
    if (!module) FAIL(module.error().message());
    const Result<ptx::Function> function = module->function("k");
    if (!function) FAIL(function.error().message());
    ptx::Launch how{.grid = {static_cast<unsigned>(of_.blocks)}, .block = {128}};
    if (of_.blocks > 1) how.cluster = how.grid;
    how.lenient = lenient;
    how.strict = strict;
    if (of_.text != kCopied) return function->launch(how, {ptx::buffer(a_), ptx::buffer(b_), ptx::buffer(d_)});
    const auto bytes = [](std::vector<std::uint16_t>& of) { return std::as_writable_bytes(std::span(of)); };
    const std::uint64_t a = ptx::address(bytes(a_)), b = ptx::address(bytes(b_));
    const ptx::Report out =
        function->launch(how, {ptx::value(map(a, 256, 128)), ptx::value(map(b, 64, 16)), ptx::buffer(d_)});
    CHECK((ptx::forget(a) && ptx::forget(b)));
    return out;
  }

  void require_equal() const {
    int wrong = 0;
    const bool is_twice = of_.text == kTwice;
    for (int i = 0; i < of_.rows; ++i)
      for (int j = 0; j < of_.columns; ++j) {
        wrong += d_[index(i * of_.columns + j)] != product(i, j + i / 256 * of_.columns) ? 1 : 0;
        if (is_twice) wrong += d_[index(2048 + i * of_.columns + j)] != product(i, j + of_.columns) ? 1 : 0;
      }
    if (of_.text == kMoved)
      for (int i = 0; i < of_.rows; ++i)
        for (int w = 0; w < 4; ++w) {
          const std::uint32_t two =
              a_[index(i * kDepth + 2 * w)] | std::uint32_t{a_[index(i * kDepth + 2 * w + 1)]} << 16;
          wrong += d_[index(2048 + i * of_.columns + w)] != two ? 1 : 0;
        }
    CHECK(wrong == 0);
  }

 private:
  static constexpr int kDepth = 16;
  // Tiles of whole rows, with a swizzle of 32 bytes.
  static TensorMapBytes map(std::uint64_t address, std::uint64_t rows, std::uint32_t box) {
    TensorMap out;
    out.elemtype = TensorType::f16;
    out.rank = 2;
    out.global_address = address;
    out.global_dim = {kDepth, rows};
    out.global_stride = {2 * kDepth};
    out.box_dim = {kDepth, box};
    out.element_stride = {1, 1};
    out.swizzle_mode = Swizzle::bytes_32;
    const Result<TensorMapBytes> bytes = out.encode();
    if (!bytes) FAIL(bytes.error().message());
    return *bytes;
  }
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  // Apart from each other as far as f16 has them.
  static int a(int i) { return i / kDepth * 5 % 127 - 63 + i % kDepth; }
  static int b(int i) { return i / kDepth * 7 % 61 - 30 + 3 * (i % kDepth); }
  static std::uint32_t product(int i, int j) {
    int sum = 0;
    for (int k = 0; k < kDepth; ++k) sum += a(i * kDepth + k) * b(j * kDepth + k);
    return std::bit_cast<std::uint32_t>(static_cast<float>(sum));
  }

  const SmallKernel& of_;
  std::vector<std::uint16_t> a_, b_;
  std::vector<std::uint32_t> d_;
};

}  // namespace tensor_kernels
