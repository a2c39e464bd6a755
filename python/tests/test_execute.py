# SPDX-License-Identifier: Apache-2.0
"""Executing on arrays: the bits are those that a GPU recorded; arrays are taken as they lie, or refused."""

import pickle
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import warpbit
from conftest import CAPTURE, FORM, GOLDEN, arrays_of, refusal


@pytest.fixture(scope="module")
def mma():
    return warpbit.Instruction(FORM, "sm_90a")


def sources(arrays):
    return [arrays[name] for name in "abc"]


def test_a_batch_is_what_a_gpu_recorded(mma, recorded):
    result = warpbit.execute(mma, *sources(recorded))
    assert result.d.dtype == np.uint32 and result.d.shape == (16, 32, 4)
    assert np.array_equal(result.d, recorded["d"])
    assert result.kernel in warpbit.kernels() and result.inferred is False


@pytest.mark.parametrize("name, extra", [
    ("mma/mma_sync_aligned_m16n8k32_row_col_s32_s8_s8_s32.npz", ""),
    ("mma/mma_sync_aligned_m16n8k16_row_col_f64_f64_f64_f64.npz", ""),
    ("mma_sp/mma_sp_ordered_metadata_sync_aligned_m16n8k128_row_col_s32_s4_s4_s32_sel0.npz", "e"),
    ("cvt/cvt_bf16_f16.npz", None),
])
def test_other_instructions(name, extra):
    file = arrays_of(GOLDEN + name)
    instruction = warpbit.Instruction(bytes(file["statement"]).decode(), "sm_90a")
    arrays = [file["a"][:, None, None]] if extra is None else [file[n] for n in "abc" + extra]
    arrays = [a if a.ndim == 3 else a[:, :, None] for a in arrays]
    d = warpbit.execute(instruction, *arrays).d
    assert np.array_equal(d.reshape(file["d"].shape), file["d"])


def test_one_case_without_a_dimension(mma, recorded):
    one = warpbit.execute(mma, *(x[3] for x in sources(recorded)))
    assert one.d.shape == (32, 4) and np.array_equal(one.d, recorded["d"][3])


@pytest.mark.parametrize("kernel", warpbit.kernels())
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_kernels_and_threads(mma, recorded, kernel, threads):
    result = warpbit.execute(mma, *sources(recorded), kernel=kernel, threads=threads)
    assert result.kernel == kernel and np.array_equal(result.d, recorded["d"])


def strided(array, case_step, lane_step, register_step, reverse):
    """The same numbers in memory of other strides, some of them negative."""
    steps = (case_step, lane_step, register_step)
    big = np.full([n * s + 3 for n, s in zip(array.shape, steps)], 0xDEADBEEF, np.uint32)
    view = big[tuple(slice(1, 1 + n * s, s) for n, s in zip(array.shape, steps))]
    if reverse:
        view = view[::-1, ::-1, ::-1]
    view[...] = array
    return view


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.booleans()), min_size=4, max_size=4))
def test_strides_are_honoured(how):
    file = arrays_of(CAPTURE)
    views = [strided(file[n], *h) for n, h in zip("abc", how)]
    out = strided(np.zeros_like(file["d"]), *how[3])
    assert warpbit.execute(warpbit.Instruction(FORM, "sm_90a"), *views, out=out).d is out
    assert np.array_equal(out, file["d"])


def test_other_orders_of_axes_unaligned_and_repeated(mma, recorded):
    fortran = [np.asfortranarray(x) for x in sources(recorded)]
    assert np.array_equal(warpbit.execute(mma, *fortran).d, recorded["d"])
    raw = np.zeros(recorded["a"].nbytes + 1, np.uint8)
    unaligned = raw[1:].view(np.uint32).reshape(recorded["a"].shape)
    unaligned[...] = recorded["a"]
    assert np.array_equal(warpbit.execute(mma, unaligned, *sources(recorded)[1:]).d, recorded["d"])
    b = np.broadcast_to(recorded["b"][0], (16, 32, 2))
    assert np.array_equal(warpbit.execute(mma, recorded["a"], b, recorded["c"]).d[0], recorded["d"][0])


def test_out(mma, recorded):
    out = np.empty((16, 32, 4), np.uint32)
    assert warpbit.execute(mma, *sources(recorded), out=out).d is out
    assert np.array_equal(out, recorded["d"])
    both = recorded["c"].copy()  # D in place of C
    warpbit.execute(mma, recorded["a"], recorded["b"], both, out=both)
    assert np.array_equal(both, recorded["d"])
    together = np.zeros((16, 32, 8), np.uint32)  # interleaved, but apart
    together[:, :, :4] = recorded["c"]
    warpbit.execute(mma, recorded["a"], recorded["b"], together[:, :, :4], out=together[:, :, 4:])
    assert np.array_equal(together[:, :, 4:], recorded["d"]) and np.array_equal(together[:, :, :4], recorded["c"])


WANTED = "expected uint32 of shape (cases, 32, 4) or (32, 4)"


@pytest.mark.parametrize("change, message", [
    (lambda r: [r["a"].astype(np.int32), r["b"], r["c"]], "operand a is int32 of shape (16, 32, 4); " + WANTED),
    (lambda r: [r["a"].astype(">u4"), r["b"], r["c"]], "operand a is >u4 of shape (16, 32, 4); " + WANTED),
    (lambda r: [r["a"].view(np.float32), r["b"], r["c"]], "operand a is float32 of shape (16, 32, 4); " + WANTED),
    (lambda r: [r["a"], r["b"], r["c"][:, :, :3]], "operand c is uint32 of shape (16, 32, 3); " + WANTED),
    (lambda r: [r["a"].reshape(16, 128), r["b"], r["c"]], "operand a is uint32 of shape (16, 128); " + WANTED),
    (lambda r: [r["a"].tolist(), r["b"], r["c"]], "operand a is object of type list; " + WANTED),
    (lambda r: [r["a"], r["b"]], "2 arrays of registers; expected 3, of a, b, c"),
    (lambda r: [r["a"], r["b"], r["c"], r["c"]], "4 arrays of registers; expected 3, of a, b, c"),
    (lambda r: [r["a"], r["b"][:7], r["c"]], "shapes (16, 32, 4) and (7, 32, 2); expected equally many cases"),
    (lambda r: [r["a"], r["b"][0], r["c"]], "shapes (16, 32, 4) and (32, 2); expected equally many cases"),
])
def test_what_does_not_fit_is_refused(mma, recorded, change, message):
    refused = refusal(lambda: warpbit.execute(mma, *change(recorded)))
    assert refused.code == "view_mismatch" and str(refused).startswith(FORM + ": " + message)


@pytest.mark.parametrize("out, message", [
    (lambda r: np.zeros((15, 32, 4), np.uint32), "out is uint32 of shape (15, 32, 4); expected 16 cases"),
    (lambda r: np.zeros((32, 4), np.uint32), "out is uint32 of shape (32, 4); expected 16 cases"),
    (lambda r: np.broadcast_to(r["d"], (16, 32, 4)), "out is read-only; expected an array that can be written to"),
    (lambda r: np.lib.stride_tricks.as_strided(np.zeros((32, 4), np.uint32), (16, 32, 4), (0, 16, 4)),
     "items of out share memory or are interleaved"),
    (lambda r: r["c"][::-1], "out shares memory with source 2; expected memory of its own"),
    (lambda r: r["a"][:, :, ::-1], "out shares memory with source 0; expected memory of its own"),
    (lambda r: np.zeros((16, 32, 4), np.uint64), "operand d is uint64 of shape (16, 32, 4); " + WANTED),
])
def test_where_results_cannot_go(mma, recorded, out, message):
    before = {name: array.copy() for name, array in recorded.items()}
    refused = refusal(lambda: warpbit.execute(mma, *sources(recorded), out=out(recorded)))
    assert str(refused).startswith(FORM + ": " + message)
    assert all(np.array_equal(before[name], recorded[name]) for name in before)


def test_words_and_basis(mma, recorded):
    with pytest.raises(warpbit.Error, match="kernel: 'mmx'; expected one of reference, scalar, avx2, avx512, neon"):
        warpbit.execute(mma, *sources(recorded), kernel="mmx")
    older = warpbit.Instruction(FORM, "sm_87")
    assert warpbit.execute(older, *sources(recorded)).inferred is True
    assert refusal(lambda: warpbit.execute(older, *sources(recorded), allow_inferred=False)).code == "inferred_plan"


def test_no_cases(mma):
    empty = [np.zeros((0, 32, n), np.uint32) for n in (4, 2, 4)]
    assert warpbit.execute(mma, *empty).d.shape == (0, 32, 4)


def test_others_run_meanwhile(mma, recorded):
    """The GIL is released: this thread counts while the other one executes."""
    many = [np.repeat(x, 4000, axis=0) for x in sources(recorded)]
    done = threading.Event()
    results = []

    def work():
        results.append(warpbit.execute(mma, *many, kernel="scalar", threads=1).d)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    counted = 0
    while not done.is_set():
        counted += 1
        time.sleep(0.0005)
    thread.join()
    assert counted > 5
    assert np.array_equal(results[0], np.repeat(recorded["d"], 4000, axis=0))


def test_results_are_pickled(mma, recorded):
    result = warpbit.execute(mma, *sources(recorded))
    again = pickle.loads(pickle.dumps(result))
    assert np.array_equal(again.d, result.d)
    assert (again.kernel, again.inferred, repr(again)) == (result.kernel, result.inferred, repr(result))


def test_matrices_from_and_to_shared_memory():
    file = arrays_of(GOLDEN + "ldmatrix/ldmatrix_sync_aligned_m8n8_x1_shared_b16.npz")
    load = warpbit.Instruction("ldmatrix.sync.aligned.m8n8.x1.shared.b16", "sm_90a")
    dtype = load.operand("p").dtype
    for case in range(2):
        d, memory = warpbit.execute_warp(load, file["addr"][case][:, None].astype(dtype), shared=file["smem"][case])
        assert np.array_equal(d, file["r"][case]) and np.array_equal(memory, file["smem"][case])
    file = arrays_of(GOLDEN + "stmatrix/stmatrix_sync_aligned_m8n8_x1_shared_b16.npz")
    store = warpbit.Instruction("stmatrix.sync.aligned.m8n8.x1.shared.b16", "sm_90a")
    for case in range(2):
        before = file["smem"][case].copy()
        d, memory = warpbit.execute_warp(store, file["addr"][case][:, None].astype(dtype), file["r"][case], shared=before)
        assert d is None and np.array_equal(memory, file["smem_out"][case])
        assert np.array_equal(before, file["smem"][case])
    beyond = np.full((32, 1), 1 << 20, dtype)
    assert refusal(lambda: warpbit.execute_warp(load, beyond, shared=np.zeros(64, np.uint8))).code == "address_out_of_bounds"
    assert "execute_warp with a memory" in str(refusal(lambda: warpbit.execute(load, np.zeros((32, 1), dtype))))


def test_a_product_of_a_warpgroup():
    name = "wgmma_mma_async_sync_aligned_m64n24k16_f16_f16_f16_rs_1_m1_1.descriptors.npz"
    file = arrays_of(GOLDEN + "wgmma/" + name)
    wgmma = warpbit.Instruction(bytes(file["statement"]).decode(), "sm_90a")
    for case in range(2):
        d = file["d_in"][case].copy()
        warpbit.execute_warpgroup(wgmma, file["smem"][case], d=d, a=file["a"][case],
                                  b_descriptor=int(file["desc_b"][case]), accumulate=bool(file["scale_d"][case]))
        assert np.array_equal(d, file["d"][case])
    assert "no d; expected uint32 of shape" in str(refusal(lambda: warpbit.execute_warpgroup(wgmma, file["smem"][0], a=file["a"][0])))
