# SPDX-License-Identifier: Apache-2.0
"""Kernels of PTX on NumPy arrays. What a kernel must leave is computed here, by hand or by NumPy."""

import _thread
import gc
import runpy
import struct
import threading
import time

import numpy as np
import pytest

import warpbit
from conftest import again, refusal

# y = a x + y for n elements: product and sum in two instructions, which the assembler makes one.
SAXPY = """
.version 8.7
.target sm_90a
.address_size 64
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
"""

# What nvcc makes of kernels with parameters of other kinds.
OTHERS = """
.version 8.7
.target sm_90a
.address_size 64
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);
.global .align 4 .u32 counter = 3;
.const .align 4 .b8 table[16] = {10, 0, 0, 0, 20, 0, 0, 0, 30, 0, 0, 0, 40};
.global .align 1 .b8 $str[14] = {98, 108, 111, 99, 107, 32, 37, 100, 58, 32, 37, 100, 10, 0};

// struct { int* to; int plus; }: to[thread] = table[thread] + plus, and the counter is one more.
.visible .entry by_value(.param .align 8 .b8 pair[16])
{
  .reg .pred %p<2>;  .reg .b32 %r<7>;  .reg .b64 %rd<10>;
  ld.param.u32 %r1, [pair+8];
  ld.param.u64 %rd1, [pair];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  mov.u64 %rd3, table;
  add.s64 %rd4, %rd3, %rd2;
  ld.const.u32 %r3, [%rd4];
  add.s32 %r4, %r3, %r1;
  add.s64 %rd5, %rd1, %rd2;
  st.global.u32 [%rd5], %r4;
  setp.ne.s32 %p1, %r2, 0;
  @%p1 bra DONE;
  mov.u64 %rd6, counter;
  atom.global.add.u32 %r5, [%rd6], 1;
DONE:
  ret;
}

// to[0] = the bytes of all parameters but the first.
.visible .entry kinds(.param .u64 to, .param .f64 d, .param .u8 c, .param .u16 s, .param .u64 l, .param .f32 f, .param .b32 w)
{
  .reg .b16 %rs<3>;  .reg .b32 %r<3>;  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [to];
  ld.param.b64 %rd2, [d];
  st.global.b64 [%rd1], %rd2;
  ld.param.b64 %rd3, [l];
  st.global.b64 [%rd1+8], %rd3;
  ld.param.b32 %r1, [f];
  st.global.b32 [%rd1+16], %r1;
  ld.param.b32 %r2, [w];
  st.global.b32 [%rd1+20], %r2;
  ld.param.b16 %rs1, [s];
  st.global.b16 [%rd1+24], %rs1;
  ld.param.b8 %rs2, [c];
  st.global.b8 [%rd1+26], %rs2;
  ret;
}

// *to = whether p is null.
.visible .entry is_null(.param .u64 to, .param .u64 p)
{
  .reg .pred %p<2>;  .reg .b32 %r<2>;  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [p];
  setp.eq.s64 %p1, %rd2, 0;
  selp.u32 %r1, 1, 0, %p1;
  st.global.u32 [%rd1], %r1;
  ret;
}

.visible .entry say(.param .u32 n)
{
  .local .align 8 .b8 depot[8];
  .reg .b32 %r<4>;  .reg .b64 %rd<5>;
  mov.u64 %rd1, depot;
  cvta.local.u64 %rd2, %rd1;
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  st.local.v2.u32 [%rd1], {%r2, %r1};
  mov.u64 %rd3, $str;
  cvta.global.u64 %rd4, %rd3;
  { .reg .b32 temp;  .param .b64 param0;  .param .b64 param1;  .param .b32 retval0;
  st.param.b64 [param0+0], %rd4;
  st.param.b64 [param1+0], %rd2;
  call.uni (retval0), vprintf, (param0, param1);
  ld.param.b32 %r3, [retval0+0];
  }
  ret;
}

// Says it, too, and then writes where nothing is.
.visible .entry astray()
{
  .local .align 8 .b8 depot[8];
  .reg .b32 %r<4>;  .reg .b64 %rd<5>;
  mov.u64 %rd1, depot;
  cvta.local.u64 %rd2, %rd1;
  mov.u32 %r2, 7;
  st.local.v2.u32 [%rd1], {%r2, %r2};
  mov.u64 %rd3, $str;
  cvta.global.u64 %rd4, %rd3;
  { .reg .b32 temp;  .param .b64 param0;  .param .b64 param1;  .param .b32 retval0;
  st.param.b64 [param0+0], %rd4;
  st.param.b64 [param1+0], %rd2;
  call.uni (retval0), vprintf, (param0, param1);
  ld.param.b32 %r3, [retval0+0];
  }
  mov.u64 %rd3, 64;
  st.global.u32 [%rd3], %r2;
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
"""


# Kernels with clusters and the asynchronous machine.
HOPPER = """
.version 8.7
.target sm_90a
.address_size 64

// to[block] = the number of the next block of the cluster, which that has in its shared memory.
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

// The same with the first barrier before the store.
.visible .entry hasty(.param .u64 to)
{
  .shared .align 4 .b32 mine;
  .reg .b32 %r<8>;  .reg .b64 %rd<4>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, mine;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  st.shared.u32 [%r2], %r1;
  mov.u32 %r3, %cluster_ctarank;
  xor.b32 %r5, %r3, 1;
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

// Thread 0 writes what thread 32 reads, and no barrier is between them.
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

// to[0] to to[15]: the box of 4 x 4 words at (column, row).
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
"""


@pytest.fixture(scope="module")
def hopper():
    return warpbit.RawModule(HOPPER)


@pytest.fixture(scope="module")
def saxpy():
    return warpbit.RawModule(SAXPY).get_function("saxpy")


@pytest.fixture(scope="module")
def others():
    return warpbit.RawModule(code=OTHERS, target="sm_90a")


def test_five_lines(tmp_path):
    (tmp_path / "kernel.ptx").write_text(SAXPY)
    x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    module = warpbit.RawModule(path=str(tmp_path / "kernel.ptx"), target="sm_90a")
    module.get_function("saxpy")((4,), (32,), (y, x, np.float32(2), 100))
    assert np.array_equal(y, 2 * np.arange(100) + 1)


def test_what_a_module_says(saxpy, others):
    assert str(others.target) == "sm_90a" and others.kernels[0] == "by_value" and others.check() == []
    assert repr(others) == "<RawModule for sm_90a: " + ", ".join(others.kernels) + ">"
    assert (saxpy.name, repr(saxpy), saxpy.shared_size_bytes) == ("saxpy", "<RawKernel saxpy>", 0)
    assert [(p.name, p.type, p.bytes, p.offset, p.alignment) for p in saxpy.parameters] == [
        ("y", "u64", 8, 0, 8), ("x", "u64", 8, 8, 8), ("a", "f32", 4, 16, 4), ("n", "u32", 4, 20, 4)]
    again(saxpy.parameters[0])


def test_a_report(saxpy):
    y, x = np.zeros(64, np.float32), np.ones(64, np.float32)
    report = saxpy.launch(2, 32, [y, x, 3, 64], threads=1)
    assert (report.fault, report.inferred, report.contracted, report.blocks, report.printed) == (None, False, True, 2, "")
    assert 0 < report.steps <= 2 * 19  # of each warp one for each instruction, some of which are done together
    assert repr(report) == f"<LaunchReport: 2 blocks, {report.steps} steps>"
    assert report.order_dependent == [] and report.inferences == []
    assert (report.checked_shared, report.checked_global) == (0, 3 * 64)
    assert saxpy.launch(2, 32, [y, x, 3, 64], check_global=False).checked_global == 0
    again(report)
    other = warpbit.RawModule(code=SAXPY.replace("sm_90a", "sm_90"), target="sm_120a").get_function("saxpy").launch(2, 32, [y, x, 3, 64])
    assert other.inferred and [(i.instruction, i.open, i.source) for i in other.inferences][-1] == (
        "assembler: contract", "which statements it changes", "an H100")
    again(other)


TICKETS = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry tickets(.param .u64 to)
{
  .reg .b32 %r<3>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [to];
  atom.relaxed.gpu.global.add.u32 %r1, [%rd1], 1;
  mov.u32 %r2, %ctaid.x;
  mad.wide.u32 %rd2, %r2, 4, %rd1;
  st.global.u32 [%rd2+4], %r1;
  ret;
}
"""


def test_other_orders_of_the_threads():
    kernel = warpbit.RawModule(code=TICKETS).get_function("tickets")

    def order(schedule):
        to = np.zeros(9, np.uint32)
        assert kernel.launch(8, 1, [to], schedule=schedule, threads=1).fault is None
        assert to[0] == 8 and set(to[1:]) == set(range(8))
        return tuple(to[1:])

    assert order(0) == tuple(range(8))  # one block after the other
    assert order(7) == order(7)
    assert len({order(schedule) for schedule in range(1, 20)}) > 5


def test_what_a_kernel_leaves_open(others):
    p = np.ones(1, np.uint32)  # so that it does not wait
    kernel = others.get_function("forever")
    (one,) = kernel.launch(1, 2, [p]).order_dependent
    assert (one.instruction, one.why) == ("ld.volatile.global.u32", "the value depends on when other threads write it")
    assert (one.line, one.file, one.source_line) == (OTHERS[: OTHERS.index("ld.volatile")].count("\n") + 1, "", 0)
    again(one)
    assert kernel.launch(1, 1, [p]).order_dependent == []  # there are no others


# to[block] = the block that does its work.
TAKING = """
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
"""


def test_clusters_take_others_by_a_schedule():
    kernel = warpbit.RawModule(code=TAKING).get_function("taking")

    def after(**schedule):
        to = np.zeros(5, np.uint32)
        report = kernel.launch(5, 1, [to], **schedule)
        assert report.fault is None and report.blocks + report.cancelled == 5
        assert report.blocks == len(set(to))
        again(report)
        return to.tolist()

    assert after() == after(cancel="first_come") == [0, 1, 0, 1, 0]
    assert after(cancel="never") == [0, 1, 2, 3, 4]
    assert after(cancel="always") == [0, 0, 0, 0, 0]
    assert len({tuple(after(cancel="random", cancel_seed=seed)) for seed in range(10)}) > 3
    with pytest.raises(warpbit.Error):
        after(cancel="sometimes")


UNROLLED = """.version 9.0
.target sm_90a
.address_size 64
.visible .entry k()
{
  .reg .b32 %r<3>;
  .loc 1 18 5
  .loc 1 4 3, function_name $names, inlined_at 1 18 5
  .loc 1 2 3, function_name $names, inlined_at 1 4 3
  mov.u32 %r1, 1;
  .loc 1 20 5
  .loc 1 4 3, function_name $names, inlined_at 1 20 5
  .loc 1 2 3, function_name $names, inlined_at 1 4 3
  mov.u32 %r1, 2;
  .loc 1 30 5
  mov.u32 %r2, 3;
  .loc 1 2 3, function_name $names, inlined_at 1 4 3
  mov.u32 %r1, 4;
  .loc 1 2 3, function_name $names, inlined_at 1 4 3
  mov.u32 %r1, 5;
  ret;
}
.file 1 "kernel.cu"
.section .debug_str
{
$names:
.b8 95,90,53,115,116,97,103,101,80,102,0
}
"""


def test_a_line_that_may_be_another():
    # A loop that calls stage() at lines 18 and 20 is unrolled: nothing tells of which call the copies are.
    report = warpbit.RawModule(UNROLLED).get_function("k").launch(1, 32, (), profile=True, as_written=True)
    first = {line.statement: line.chain[0] for line in report.profile if line.statement.startswith("mov")}
    assert [(link.line, link.or_lines) for link in first.values()] == [
        (18, []), (20, []), (30, []), (18, [20]), (20, [18])]
    assert [link.function for link in first.values()] == ["k"] * 5


# Of four warps two have 32 elements, one 16, one none. 80 floats are 320 bytes in 10 sectors.
def test_a_profile(saxpy):
    y, x = np.zeros(128, np.float32), np.ones(128, np.float32)
    report = saxpy.launch(2, 64, (y, x, 2.0, 80), profile=True)
    by_line = {line.statement: line for line in report.profile}
    load = by_line["ld.global.f32 %f2, [%rd5]"]
    assert (load.opcode, load.family, load.file, load.source_line) == ("ld", "ld.global", "", 0)
    assert SAXPY.splitlines()[load.line - 1].strip() == load.statement + ";"
    assert (load.warps, load.lanes, load.bytes, load.sectors, load.conflicts) == (3, 80, 320, 10, 0)
    assert (by_line["@%p1 bra DONE"].warps, by_line["@%p1 bra DONE"].lanes) == (2, 48)
    assert [line.line for line in report.profile] == sorted(line.line for line in report.profile)
    assert (load.least_sectors, load.shared_bytes, load.products) == (10, 0, 0)
    assert sum(line.constant_bytes for line in report.profile) == 4 * 32 * (8 + 8 + 4 + 4)
    without = saxpy.launch(2, 64, (y, x, 2.0, 80))
    assert (without.profile, without.timeline.warps) == ([], 0)
    again(report)
    again(load)


# Warp 0 waits at the barrier (its third statement) until warp 1 is there with its third, the sixth of the block.
MEETING = """
.version 8.7
.target sm_90a
.address_size 64
.visible .entry meet()
{
  .reg .b32 %r<3>;
  mov.u32 %r1, %tid.x;
  add.u32 %r2, %r1, 1;
  bar.sync 0;
  ret;
}
"""


def test_a_timeline():
    kernel = warpbit.RawModule(code=MEETING).get_function("meet")
    report = kernel.launch(2, 64, (), as_written=True, profile=True, observed_block=(1, 0, 0))
    timeline = report.timeline
    assert (timeline.block, timeline.warps, timeline.statements, timeline.covered) == ((1, 0, 0), 2, 8, 8)
    assert [(run.warp, run.first, run.count) for run in timeline.runs] == [(0, 0, 3), (1, 3, 4), (0, 7, 1)]
    (wait,) = timeline.waits
    assert (wait.what, wait.warp, wait.lanes, wait.line, wait.waited) == ("barrier", 0, 0xFFFFFFFF, 10, True)
    assert (wait.begin, wait.released, wait.to) == (3, 6, 7)
    assert (wait.by.what, wait.by.block, wait.by.warp, wait.by.line, wait.by.statement) == ("arrival", (1, 0, 0), 1, 10, 5)
    svg = report.profile_svg("meet <1>")
    assert svg.startswith("<?xml") and "meet &lt;1&gt;" in svg and "block (1, 0, 0)" in svg
    again(report)
    fault = kernel.launch(2, 64, (), profile=True, observed_block=(2, 0, 0)).fault
    assert "the observed block" in fault.message


# (1 + 2^-12)^2 - 1 is 2^-11 + 2^-24; the product alone, rounded to 24 bits, loses 2^-24.
@pytest.mark.parametrize("contract, expected", [(True, 2.0**-11 + 2.0**-24), (False, 2.0**-11)])
def test_products_and_sums(saxpy, contract, expected):
    a = np.float32(1 + 2.0**-12)
    y = np.array([-1], np.float32)
    report = saxpy.launch((1,), (1,), (y, np.array([a]), a, 1), contract=contract)
    assert y[0] == expected and report.contracted == contract


def test_rules_of_the_assembler(saxpy):
    a = np.float32(1 + 2.0**-12)

    def launch(**how):
        y = np.array([-1], np.float32)
        saxpy((1,), (1,), (y, np.array([a]), a, 1), **how)
        y[0] = -1
        return saxpy.launch((1,), (1,), (y, np.array([a]), a, 1), **how), y[0]

    fused, separate = 2.0**-11 + 2.0**-24, 2.0**-11
    report, result = launch()
    (one,) = report.assembled
    assert result == fused and (one.rule, one.statement, one.file, one.source_line) == ("contract", "add.f32 %f5, %f4, %f3", "", 0)
    assert SAXPY.splitlines()[one.line - 1].strip() == one.statement + ";"
    again(report)
    again(one)
    for how in ({"as_written": True}, {"without": ["fold", "contract"]}, {"without": "contract"}):
        report, result = launch(**how)
        assert (report.assembled, report.contracted, result) == ([], False, separate)
    assert launch(without=["fold"])[1] == fused
    names = [rule.name for rule in warpbit.assembler_rules()]
    assert "contract" in names and len(set(names)) == len(names)
    assert all(rule.pattern and rule.result and rule.since and rule.evidence for rule in warpbit.assembler_rules())
    again(warpbit.assembler_rules()[0])
    report, _ = saxpy.launch((1,), (1,), (None, None, a, 0), without=["contraction"]), None
    assert report.fault.error.code == "no_such_rule" and "contract" in report.fault.error.accepted


@pytest.mark.parametrize("cls", [list, tuple])
def test_numbers_become_what_the_parameter_is(others, cls):
    to = np.zeros(27, np.uint8)
    others.get_function("kinds")((1,), (1,), cls([to, 0.1, -3, 65535, -(1 << 40), True, 0xFFFFFFFF]))
    assert to.tobytes() == struct.pack("<dqfIHb", 0.1, -(1 << 40), 1.0, 0xFFFFFFFF, 65535, -3)
    others.get_function("kinds")(1, 1, cls([to, np.float64(2), np.uint8(200), np.int16(-1), np.int64(5), 0.1, np.float32(1)]))
    assert to.tobytes() == struct.pack("<dqffHB", 2, 5, 0.1, 1, 65535, 200)
    others.get_function("kinds")(1, 1, cls([to, 7, b"\x11", True, (1 << 64) - 1, -0.0, False]))
    assert to.tobytes() == struct.pack("<dqfIHB", 7, -1, -0.0, 0, 1, 0x11)


NUMBERS = [
    (1, "a", "argument 'd': object of type str; expected an array or tensor, a number, a TensorMap, bytes or None"),
    (1, np.float32(1), "argument 'd': 1.0, float32 of 4 bytes; expected 8 bytes (.f64)"),
    (1, np.int64(1), "argument 'd': 1, int64 of 8 bytes; expected 8 bytes (.f64)"),
    (2, 256, "argument 'c': 256; expected an integer of 1 bytes (.u8)"),
    (2, -129, "argument 'c': -129; expected an integer of 1 bytes (.u8)"),
    (3, 2.0, "argument 's': 2.0; expected an integer, or a NumPy scalar of 2 bytes (.u16)"),
    (3, np.float16(2), "argument 's': 2.0, float16 of 2 bytes; expected 2 bytes (.u16)"),
    (3, None, "argument 's': None, which is a pointer of 8 bytes; expected 2 bytes (.u16)"),
    (4, 1 << 64, "argument 'l': 18446744073709551616; expected an integer of 8 bytes (.u64)"),
    (5, 1e300, "argument 'f': 1e+300; expected a number that .f32 holds"),
    (5, 10**40, f"argument 'f': {10**40}; expected a number that .f32 holds"),
    (1, 10**400, f"argument 'd': {10**400}; expected a number that .f64 holds"),
    (5, np.zeros(1), "argument 'f': an array, which is a pointer of 8 bytes; expected 4 bytes (.f32)"),
    (6, 1.5, "argument 'w': 1.5; expected an integer, or a NumPy scalar of 4 bytes (.b32)"),
    (6, b"123", "argument 'w': 3 bytes; expected 4 bytes (.b32)"),
]


@pytest.mark.parametrize("at, value, message", NUMBERS)
def test_numbers_that_do_not_fit(others, at, value, message):
    arguments = [np.zeros(27, np.uint8), 0, 0, 0, 0, 0, 0]
    arguments[at] = value
    error = refusal(lambda: others.get_function("kinds")(1, 1, arguments))
    assert (error.code, str(error)) == ("argument_mismatch", message)


def read_only(numbers):
    out = np.array(numbers, np.float32)
    out.flags.writeable = False
    return out


def test_a_read_only_array_is_read(saxpy):
    x, y = read_only([1, 2, 3, 4]), np.ones(4, np.float32)
    saxpy(1, 4, (y, x, 2, 4))
    assert y.tolist() == [3, 5, 7, 9]
    fault = saxpy.launch(1, 4, (x, y, 2, 4)).fault
    assert fault.error.code == "address_read_only" and "'y' must not be written" in fault.message
    assert x.tolist() == [1, 2, 3, 4]
    error = refusal(lambda: warpbit.address(x))
    assert str(error) == "address: float32 of shape (4,), which is read-only; expected an array that can be written to"


@pytest.mark.parametrize("array, seen", [
    (np.zeros(8, np.float32)[::2], "float32 of shape (4,), which is not C-contiguous"),
    (np.zeros((2, 3), np.float32).T, "float32 of shape (3, 2), which is not C-contiguous"),
    (np.zeros(4, ">f4"), ">f4 of shape (4,) in another byte order"),
    (np.ma.zeros(4), "masked float64 of shape (4,)"),
    (np.array([None, 1]), "object of shape (2,)"),
])
def test_arrays_that_are_refused(saxpy, array, seen):
    error = refusal(lambda: saxpy(1, 1, (array, array, 1, 1)))
    assert str(error) == f"argument 'y': {seen}; expected a C-contiguous array of numbers"
    error = refusal(lambda: warpbit.address(array))
    assert (error.where, error.seen) == ("address", seen)


@pytest.mark.parametrize("dtype", [np.float16, np.uint16, [("f", "<f4"), ("i", "u1", 3)], "S5", "M8[s]"])
@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (0,)])
def test_any_array_is_a_buffer(others, dtype, shape):
    to = np.zeros(1, np.uint32)
    others.get_function("is_null")(1, 1, (to, np.zeros(shape, dtype)))
    assert to[0] == 0
    others.get_function("is_null")(1, 1, (to, None))
    assert to[0] == 1


def test_a_structure_by_value_with_an_address(others):
    to = np.zeros(4, np.int32)
    kernel, counter = others.get_function("by_value"), others.get_global("counter").view(np.uint32)
    before = int(counter[0])
    pair = np.zeros((), [("to", np.uint64), ("plus", np.int32), ("pad", np.int32)])
    pair["to"], pair["plus"] = warpbit.address(to), 5
    assert warpbit.address(to) == warpbit.address(to) == pair["to"]
    kernel(1, 4, (pair[()],))  # numpy.void
    assert to.tolist() == [15, 25, 35, 45] and counter[0] == before + 1
    kernel(1, 4, (struct.pack("<Qii", warpbit.address(to), -10, 0),))
    assert to.tolist() == [0, 10, 20, 30] and counter[0] == before + 2
    # One of its arguments, too: the same memory.
    others.get_function("is_null")(1, 1, (to, to))
    assert to.tolist() == [0, 10, 20, 30]


def test_an_address_is_forgotten(others):
    to = np.zeros(4, np.int32)
    address = warpbit.address(to)
    pair = struct.pack("<Qii", address, 0, 0)
    others.get_function("by_value")(1, 4, (pair,))
    other = np.zeros(4, np.int32)
    assert warpbit.address(other) != address
    del to
    gc.collect()
    report = others.get_function("by_value").launch(1, 4, (pair,))
    assert report.fault.error.code == "address_unknown"


def test_variables_of_the_module():
    module = warpbit.RawModule(OTHERS)
    counter, table = module.get_global("counter").view(np.uint32), module.get_global("table").view(np.int32)
    assert counter.tolist() == [3] and table.tolist() == [10, 20, 30, 40]
    counter[0], table[:] = 100, [1, 2, 3, 4]
    to, kernel = np.zeros(4, np.int32), module.get_function("by_value")
    pair = struct.pack("<Qii", warpbit.address(to), 0, 0)
    del module
    kernel((3,), (4,), (pair,))
    assert to.tolist() == [1, 2, 3, 4] and counter.tolist() == [103]
    del kernel
    gc.collect()
    assert counter.tolist() == [103]  # the view keeps it
    error = refusal(lambda: warpbit.RawModule(OTHERS).get_global("none"))
    assert error.code == "no_such_variable" and "counter" in error.accepted


def test_printf(others, capsys):
    others.get_function("say")((3,), (1,), (-5,))
    assert capsys.readouterr().out == "block 0: -5\nblock 1: -5\nblock 2: -5\n"
    assert others.get_function("say").launch(2, 1, (1,)).printed == "block 0: 1\nblock 1: 1\n"
    assert capsys.readouterr().out == ""


def test_a_fault(others, capsys):
    report = others.get_function("astray").launch((2,), (3,), ())
    fault = report.fault
    assert (fault.kernel, fault.at.line) == ("astray", 0)
    assert (fault.error.code, fault.block, fault.at.warp, fault.at.lanes) == ("address_out_of_bounds", (0, 0, 0), 0, [0])
    assert OTHERS.splitlines()[fault.at.ptx_line - 1] == "  st.global.u32 [%rd3], %r2;"
    assert str(fault) == fault.message and fault.message.startswith(str(fault.error)) and fault.message in repr(report)
    assert report.printed.startswith("block 7: 7\n")
    again(report)
    error = refusal(lambda: others.get_function("astray")((2,), (3,), ()))
    assert (error.code, str(error)) == ("address_out_of_bounds", fault.message)
    assert capsys.readouterr().out.startswith("block 7: 7\n")


def test_launches_that_are_none(saxpy):
    y = np.zeros(4, np.float32)
    for grid in (0, -1, (1, 1, 1, 1), (), "1", 1.5, None, 1 << 32):
        error = refusal(lambda: saxpy(grid, 1, (y, y, 1, 1)))
        assert (error.code, error.where, error.seen) == ("launch_shape", "grid", repr(grid))
    assert refusal(lambda: saxpy(1, 1025, (y, y, 1, 1))).code == "launch_shape"
    assert refusal(lambda: saxpy(1, 1, (y, y, 1, 1), shared_mem=1 << 20)).code == "launch_shape"
    for cluster in (0, (), (2, 1, 1, 1), "2"):
        error = refusal(lambda: saxpy(1, 1, (y, y, 1, 1), cluster=cluster))
        assert (error.code, error.where, error.seen) == ("launch_shape", "cluster", repr(cluster))
    assert refusal(lambda: saxpy(3, 1, (y, y, 1, 1), cluster=2)).code == "launch_shape"
    assert str(refusal(lambda: saxpy(1, 1, (y, y, 1)))) == "saxpy: 3 arguments; expected 4"
    saxpy(np.int64(1), [np.uint8(4)], (y, y, 1, 1), cluster=(1, 1, 1))
    saxpy(2, 2, (y, y, 1, 1), cluster=2)


@pytest.mark.parametrize("cluster, expected", [(None, [0, 1, 2, 3]), (2, [1, 0, 3, 2]), ((4, 1), [1, 2, 3, 0])])
def test_blocks_of_a_cluster(hopper, cluster, expected):
    to = np.full(4, 9, np.uint32)
    hopper.get_function("neighbours")(4, 1, (to,), cluster=cluster)
    assert to.tolist() == expected


def test_a_launch_goes_on_behind_what_it_finds(hopper):
    kernel, to = hopper.get_function("racing"), np.zeros(1, np.uint32)
    report = kernel.launch(1, 64, (to,))
    assert report.fault.error.code == "data_race" and report.findings == []
    report = kernel.launch(3, 64, (to,), lenient=True)
    assert report.fault is None and report.blocks == 3 and to[0] == 7
    assert [(f.fault.error.code, f.fault.block, f.times) for f in report.findings] == [("data_race", (0, 0, 0), 3)]
    found = report.findings[0].fault
    assert (found.at.warp, found.other.warp, found.at.elsewhere) == (1, 0, None)
    assert "1 findings" in repr(report)
    again(report)
    with pytest.warns(RuntimeWarning) as warnings:
        kernel(1, 64, (to,), lenient=True)
    assert [str(w.message) for w in warnings] == [found.message + "\n  finding of the rule data_race"] and warnings[0].filename == __file__


def test_the_other_side_is_another_block(hopper):
    to = np.zeros(2, np.uint32)
    fault = hopper.get_function("hasty").launch(2, 1, (to,), cluster=2).fault
    assert fault.error.code == "data_race" and "of block 0 of the cluster" in fault.message
    assert fault.at.elsewhere is None and {fault.block, fault.other.elsewhere} == {(0, 0, 0), (1, 0, 0)}
    again(fault)


def test_a_tensor_map(hopper):
    image = np.arange(6 * 8, dtype=np.uint32).reshape(6, 8)
    tensor = warpbit.TensorMap("u32", warpbit.address(image), [8, 6], [32], [4, 4])
    expected = np.pad(image, ((0, 1), (0, 0)))[3:7, 4:8]
    for argument in (tensor, tensor.encode(), np.frombuffer(tensor.encode(), "V128")[0]):
        tile = np.full((4, 4), 9, np.uint32)
        hopper.get_function("box")(1, 1, (argument, 4, 3, tile))
        assert np.array_equal(tile, expected)
    error = refusal(lambda: hopper.get_function("box")(1, 1, (tensor, tensor, 3, tile)))
    assert (error.code, str(error)) == (
        "argument_mismatch", "argument 'column': a TensorMap, which is 128 bytes; expected 4 bytes (.u32)")
    error = refusal(lambda: hopper.get_function("box")(1, 1, (warpbit.TensorMap("u32", 8, [8], [], [8]), 4, 3, tile)))
    assert error.code == "descriptor_field"
    lost = warpbit.TensorMap("u32", 0, [8, 6], [32], [4, 4])
    fault = hopper.get_function("box").launch(1, 1, (lost, 4, 3, tile)).fault
    assert fault.error.code == "address_out_of_bounds"


# A thread reads a texture at (x, 0.5).
TEXTURE = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry read(.param .u64 texture, .param .u64 at, .param .u64 out)
{
  .reg .b32 %t;  .reg .f32 %x, %r<4>;  .reg .b64 %h, %p;
  mov.u32 %t, %tid.x;
  ld.param.u64 %h, [texture];
  ld.param.u64 %p, [at];
  mad.wide.u32 %p, %t, 4, %p;
  ld.global.f32 %x, [%p];
  tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%h, {%x, 0f3F000000}];
  ld.param.u64 %p, [out];
  mad.wide.u32 %p, %t, 4, %p;
  st.global.f32 [%p], %r0;
  ret;
}
"""


def test_a_texture():
    read = warpbit.RawModule(TEXTURE).get_function("read")
    at = np.array([0.5, 1, 1.25, 3.5, 9], np.float32)

    def texels(handle):
        out = np.zeros(5, np.float32)
        read((1,), (5,), (handle, at, out))
        return out.tolist()

    image = np.array([[1, 2, 4, 8]], np.float32)
    assert texels(warpbit.texture(image, "2d")) == [1, 2, 2, 8, 8]
    assert texels(warpbit.texture(image, "2d", linear=True)) == [1, 1.5, 1.75, 8, 8]
    assert texels(warpbit.texture(image, "2d", addressing="border", border=[7])) == [1, 2, 2, 8, 7]
    halves = image.astype(np.float16)
    assert texels(warpbit.texture(halves, "2d", addressing="border")) == [1, 2, 2, 8, 0]
    assert texels(warpbit.texture(halves, "2d", addressing="border", border=2**-24)) == [1, 2, 2, 8, 2**-24]
    bytes_ = np.array([[0, 51, 102, 255]], np.uint8)
    assert texels(warpbit.texture(bytes_, "2d", floats=True)) == [np.float32(x / 255) for x in (0, 51, 51, 255, 255)]
    handle = warpbit.texture(np.zeros((2, 2), np.float32), "2d")
    gc.collect()
    report = read.launch((1,), (5,), (handle, at, np.zeros(5, np.float32)))
    assert "is no texture" in report.fault.message
    for array, shape, how, seen in [(np.zeros(3, np.float32), "2d", {}, "a 2D texture"),
                                    (image, "2d", {"addressing": "repeat"}, "wrap, clamp, mirror or border"),
                                    (image, "4d", {}, "memory, 1d, 2d"),
                                    (np.zeros((2, 2)), "2d", {}, "float16 or float32")]:
        error = refusal(lambda: warpbit.texture(array, shape, **how))
        assert error.code == "usage" and seen in str(error)
    for array, seen in (image.astype(">f4"), "in another byte order"), (image[:, ::2], "which is not C-contiguous"):
        error = refusal(lambda: warpbit.texture(array, "2d"))
        assert error.code == "argument_mismatch" and seen in str(error)


# The same by the names of variables; the texel is stored to a surface, too.
REFERENCES = """
.version 8.0
.target sm_90{mode}
.address_size 64
.global .texref tex;
.global .surfref to;
{sampler}
.visible .entry read(.param .u64 at, .param .u64 out)
{{
  .reg .b32 %t;  .reg .f32 %x, %r<4>;  .reg .b64 %p;
  mov.u32 %t, %tid.x;
  ld.param.u64 %p, [at];
  mad.wide.u32 %p, %t, 4, %p;
  ld.global.f32 %x, [%p];
  tex.2d.v4.f32.f32 {{%r0, %r1, %r2, %r3}}, [tex, {names}{{%x, 0f3F000000}}];
  ld.param.u64 %p, [out];
  mad.wide.u32 %p, %t, 4, %p;
  st.global.f32 [%p], %r0;
  sust.p.2d.b32.trap [to, {{%t, 0}}], %r0;
  ret;
}}
"""


def test_references():
    at = np.array([0.5, 1, 1.25, 3.5, 9], np.float32)
    image, stored = np.array([[1, 2, 4, 8]], np.float32), np.zeros((1, 5), np.float32)

    def texels(module):
        out = np.zeros(5, np.float32)
        module.get_function("read")((1,), (5,), (at, out))
        assert stored[0].tolist() == out.tolist()
        return out.tolist()

    unified = warpbit.RawModule(REFERENCES.format(mode="", sampler="", names=""))
    to = warpbit.surface(stored, "2d")
    assert unified.bind("to", to) is None
    error = refusal(lambda: texels(unified))
    assert error.code == "argument_mismatch" and "the .texref 'tex': no texture is bound to it" in str(error)
    unified.bind("tex", warpbit.texture(image, "2d"))
    assert texels(unified) == [1, 2, 2, 8, 8]
    unified.bind("tex", warpbit.texture(image, "2d", linear=True))
    assert texels(unified) == [1, 1.5, 1.75, 8, 8]
    with_samplers = {"mode": ", texmode_independent", "names": "how, "}
    independent = warpbit.RawModule(REFERENCES.format(sampler=".global .samplerref how;", **with_samplers))
    independent.bind("to", to)
    independent.bind("tex", warpbit.texture(image, "2d", addressing="border"))
    independent.bind("how", warpbit.sampler(linear=True))
    assert texels(independent) == [1, 1.5, 1.75, 8, 8]
    independent.bind("how", warpbit.sampler(addressing="border", border=[7]))
    assert texels(independent) == [1, 2, 2, 8, 7]
    independent.bind("tex", warpbit.texture(image, "2d", normalized=True))
    assert texels(independent) == [4, 7, 7, 7, 7]  # 0.5 is the third texel of four
    independent.bind("how", warpbit.sampler(unnormalized=True))
    assert texels(independent) == [1, 2, 2, 8, 8]
    for name, handle, code, seen in [("text", to, "usage", "expected a .texref, .samplerref or .surfref of the module: tex, to, how"),
                                     ("tex", to, "argument_mismatch", "is no texture but a surface"),
                                     ("how", 7, "argument_mismatch", "0x7 is no sampler")]:
        error = refusal(lambda: independent.bind(name, handle))
        assert error.code == code and seen in str(error)
    error = refusal(lambda: warpbit.sampler(addressing="repeat"))
    assert error.code == "usage" and "wrap, clamp, mirror or border" in str(error)
    lost = warpbit.texture(np.zeros((1, 4), np.float32), "2d")
    gc.collect()
    error = refusal(lambda: independent.bind("tex", lost))
    assert "is no texture; expected what ptx::texture has returned, until it is forgotten" in str(error)


# A thread adds 1 to the texel (x, 0) of its number, and stores 7 beside the row.
SURFACE = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry count(.param .u64 surface)
{
  .reg .b32 %t, %r;  .reg .b64 %h;
  mov.u32 %t, %tid.x;
  ld.param.u64 %h, [surface];
  shl.b32 %r, %t, 2;
  sured.b.add.2d.u32.zero [%h, {%r, 0}], 1;
  sust.p.2d.b32.trap [%h, {%t, 1}], 7;
  ret;
}
"""


def test_a_surface():
    count = warpbit.RawModule(SURFACE).get_function("count")
    image = np.array([[1, 2, 3, 4], [0, 0, 0, 0]], np.uint32)
    handle = warpbit.surface(image, "2d")
    count((1,), (3,), (handle,))
    assert image.tolist() == [[2, 3, 4, 4], [7, 7, 7, 0]]
    report = count.launch((1,), (5,), (handle,))
    assert "coordinates x 4, y 1 of a 2D surface of 4 x 2 texels" in report.fault.message
    other = warpbit.surface(np.zeros((2, 2), np.uint32), "2d")
    gc.collect()
    assert "is no surface" in count.launch((1,), (1,), (other,)).fault.message
    fixed = np.zeros((2, 2), np.uint32)
    fixed.flags.writeable = False
    for array, shape, seen in [(np.zeros(3, np.float32), "2d", "of a 2D surface"), (image, "cube", "1d, 2d, 3d, a1d or a2d"),
                               (image, "4d", "1d, 2d, 3d, a1d or a2d"), (np.zeros((2, 2)), "2d", "float16 or float32"),
                               (fixed, "2d", "one that a kernel can store to")]:
        error = refusal(lambda: warpbit.surface(array, shape))
        assert error.code == "usage" and seen in str(error)


def test_modules_that_are_refused(tmp_path):
    for call, where in ((lambda: warpbit.RawModule(), "RawModule"), (lambda: warpbit.RawModule(SAXPY, path="x"), "RawModule"),
                        (lambda: warpbit.RawModule(SAXPY, options=("-std=c++17",)), "options"),
                        (lambda: warpbit.RawModule(SAXPY, backend="nvcc"), "backend"),
                        (lambda: warpbit.RawModule(SAXPY, name_expressions=["f<int>"]), "name_expressions")):
        error = refusal(call)
        assert (error.code, error.where) == ("usage", where)
    warpbit.RawModule(SAXPY, options=(), backend=None, name_expressions=None)
    assert refusal(lambda: warpbit.RawModule(path=tmp_path / "none.ptx")).code == "file_unreadable"
    assert refusal(lambda: warpbit.RawModule(path=tmp_path)).code == "file_unreadable"
    assert refusal(lambda: warpbit.RawModule(SAXPY, target="sm_80")).code == "not_on_target"
    assert refusal(lambda: warpbit.RawModule("__global__ void f() {}")).where == "line 1, column 1"
    error = refusal(lambda: warpbit.RawModule(SAXPY).get_function("sax"))
    assert str(error) == "there is no kernel 'sax'; the module has saxpy"
    broken = warpbit.RawModule(SAXPY.replace("mul.f32", "mul.f33"))
    (error,) = broken.check()
    line = 1 + SAXPY[:SAXPY.index("mul.f32")].count("\n")
    assert error.where.startswith(f"line {line}, column 3") or f"line {line}" in str(error)
    assert refusal(lambda: broken.get_function("saxpy")) == error


def test_a_limit_of_steps(others):
    report = others.get_function("forever").launch(1, 1, (np.zeros(1, np.uint32),), step_limit=1000)
    assert report.fault.error.code == "step_limit"


def test_keyboard_interrupt(others):
    kernel = others.get_function("forever")
    threading.Timer(0.3, _thread.interrupt_main).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        kernel(1, 64, (np.zeros(1, np.uint32),))
    assert time.monotonic() - begin < 10
    others.get_function("say")(1, 1, (1,))  # it can be used again


def test_the_gil_is_released(others):
    flag = np.zeros(1, np.uint32)

    def end():
        flag[0] = 1

    threading.Timer(0.2, end).start()
    others.get_function("forever")(1, 1, (flag,))
    assert flag[0] == 1


def test_launches_of_a_module_take_turns():
    module = warpbit.RawModule(OTHERS)
    kernel, counter = module.get_function("by_value"), module.get_global("counter").view(np.uint32)
    arrays = [np.zeros(4, np.int32) for _ in range(4)]
    launch = lambda to: [kernel(5, 4, (struct.pack("<Qii", warpbit.address(to), 1, 0),)) for _ in range(20)]
    threads = [threading.Thread(target=launch, args=(to,)) for to in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter[0] == 3 + 4 * 20 * 5 and all(to.tolist() == [11, 21, 31, 41] for to in arrays)


def test_the_example(capsys):
    runpy.run_path("examples/ptx_kernel.py")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "gemm: 0 of 2048 elements differ" and lines[1].startswith("gemm_exchanged: ")
    assert lines[-3].startswith("gemm_too_far: ld.global.u32 ")
    assert lines[-2:] == ["  gemm_too_far, block (3, 0, 0)", "  examples/ptx_kernel.cu:48 > 29: PTX line 258: warp 0, lane 28"]
