# SPDX-License-Identifier: Apache-2.0
"""A launch statement by statement. What is expected follows from the kernel's statements, by hand."""

import numpy as np
import pytest

import warpbit
from conftest import refusal

# y[i] = 3 x[i] + 1, with x in shared memory between, which thread 31 - i has put there.
KERNEL = """
.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 y, .param .u64 x)
{
  .reg .b32 %r<9>; .reg .b64 %rd<6>;
  .shared .align 16 .b32 tile[32];
  ld.param.u64 %rd1, [y];
  ld.param.u64 %rd2, [x];
  mov.u32 %r1, %tid.x;
  sub.s32 %r2, 31, %r1;
  mul.wide.u32 %rd3, %r2, 4;
  add.u64 %rd3, %rd2, %rd3;
  ld.global.s32 %r3, [%rd3];
  mov.u32 %r4, tile;
  shl.b32 %r5, %r2, 2;
  add.u32 %r5, %r4, %r5;
  st.shared.u32 [%r5], %r3;
  bar.sync 0;
  shl.b32 %r6, %r1, 2;
  add.u32 %r6, %r4, %r6;
  ld.shared.s32 %r7, [%r6];
  mad.lo.s32 %r8, %r7, 3, 1;
  mul.wide.u32 %rd4, %r1, 4;
  add.u64 %rd4, %rd1, %rd4;
  st.global.s32 [%rd4], %r8;
  ret;
}
"""
X = np.arange(-5, 27, dtype=np.int32)


@pytest.fixture
def place():
    y = np.zeros(32, np.int32)
    return warpbit.RawModule(code=KERNEL).get_function("k").debug(1, 32, (y, X)), y


def begins(text):
    return lambda statement: statement.statement.startswith(text)


def test_moves(place):
    at, y = place
    assert at.state.step == 0 and at.state.seen is None and at.state.warps == {}
    state = at.step()
    assert state.step == 1 and state.seen.statement == "ld.param.u64 %rd1, [y]" and not state.is_end
    assert at.step(count=2).seen.statement == "mov.u32 %r1, %tid.x"
    assert at.back().step == 2 and at.back(warp=1) is None and at.state.step == 2
    assert at.find(begins("ld.shared")).seen.line == at.state.warps[0].line
    assert at.find(begins("mov.u32"), back=True).seen.statement == "mov.u32 %r4, tile"
    assert at.find(begins("mov.u32"), count=2, back=True) is None
    end = at.goto(1 << 60)
    assert end.is_end and end.fault is None and end.step == 20 and end.findings == []
    np.testing.assert_array_equal(y, 3 * X + 1)
    at.restore()
    assert not y.any()
    assert "behind statement 20, at the end" in repr(at)


def test_registers_and_shared_memory_are_arrays(place):
    at, _ = place
    state = at.find(begins("ld.shared"))
    registers = state.warps[0].registers
    assert registers["%r7"].dtype == np.int32
    np.testing.assert_array_equal(registers["%r7"], X)
    np.testing.assert_array_equal(registers["%r3"], X[::-1])
    np.testing.assert_array_equal(state.seen.written["%r7"], X)
    np.testing.assert_array_equal(state.shared.view(np.int32), X)
    assert list(state.seen.read) == ["%r6"] and state.seen.lanes == 0xFFFFFFFF
    assert state.mbarriers == [] and state.waits == [] and state.pending == [] and state.tensor is None


def test_a_callback_sees_every_statement(place):
    at, _ = place
    seen = []
    assert at.find(lambda one: seen.append(one.line)) is None and at.state.step == 0
    first = KERNEL.split("\n").index("  ld.param.u64 %rd1, [y];") + 1
    assert seen == list(range(first, first + 20))
    with pytest.raises(ZeroDivisionError):
        at.find(lambda one: 1 // 0)


def test_writes(place):
    at, y = place
    state = at.find_write(y, (7,))
    assert state.seen.statement == "st.global.s32 [%rd4], %r8" and y[7] == 3 * X[7] + 1
    assert at.find_write(y, (7,)) is None and at.state.step == state.step
    assert at.find_finding() is None
    assert refusal(lambda: at.find_write(y, (32,))).code == "view_mismatch"
    made = at.made(y, (7,))
    assert [one.statement.split()[0] for one in made] == ["st.global.s32", "mad.lo.s32", "ld.shared.s32", "st.shared.u32", "ld.global.s32"]
    assert [one.lanes for one in made] == [1 << 7] * 3 + [1 << 24] * 2
    assert [one.step for one in made] == [19, 16, 15, 11, 7]


def test_changes(place):
    at, y = place
    at.find(begins("ld.shared"))
    at.set_register(0, "%r7", 100, lanes=1 << 4)
    assert at.state.warps[0].registers["%r7"][4] == 100
    at.goto(1 << 60)
    assert y[4] == 301 and y[5] == 3 * X[5] + 1
    at.find(begins("bar.sync"), back=True)
    at.set_shared(0, np.int32(9).tobytes())
    at.goto(1 << 60)
    assert y[0] == 28
    assert refusal(lambda: at.set_shared(1 << 40, b"1")).code in ("usage", "address_out_of_bounds")


def test_refusals():
    kernel = warpbit.RawModule(code=KERNEL).get_function("k")
    assert refusal(lambda: kernel.debug(1, 32, (1,))).code == "argument_mismatch"
    assert refusal(lambda: kernel.debug(1, 2000, (X, X))).code == "launch_shape"
