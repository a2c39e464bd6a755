# SPDX-License-Identifier: Apache-2.0
"""Whole products: exact ones against NumPy's integers, and the order of K by sums that can be told apart by hand."""

import pickle

import numpy as np
import pytest

import warpbit
from conftest import GOLDEN, arrays_of, refusal

S8 = warpbit.Instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "sm_90")
F16 = warpbit.Instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "sm_90")


def integers(shape, seed):
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)


@pytest.mark.parametrize("shape", [(16, 8, 32), (33, 19, 70), (1, 1, 1)])
def test_integers(shape):
    rows, columns, depth = shape
    a, b = integers((rows, depth), 1), integers((depth, columns), 2)
    c = np.random.default_rng(3).integers(-1000, 1000, (rows, columns)).astype(np.int32)
    wanted = a.astype(np.int32) @ b.astype(np.int32)
    result = warpbit.gemm(S8, a.view(np.uint8), b.view(np.uint8))
    assert result.d.dtype == np.int32 and result.format == "s32" and np.array_equal(result.d, wanted)
    assert result.codes.dtype == np.uint32 and np.array_equal(result.codes.view(np.int32), wanted)
    assert result.kernel in warpbit.kernels() and result.inferred is False
    # C, and B by columns, A backwards, every second column of D.
    wide = np.zeros((rows, 2 * columns), np.uint32)
    by_columns = np.ascontiguousarray(b.T).view(np.uint8).T
    backwards = np.ascontiguousarray(a[::-1]).view(np.uint8)[::-1]
    out = warpbit.gemm(S8, backwards, by_columns, c.view(np.uint32), out=wide[:, ::2], order="descending split_k=2").d
    assert np.array_equal(out.astype(np.uint32).view(np.int32), wanted + c)
    assert np.array_equal(wide[:, ::2], out) and not wide[:, 1::2].any()


def test_the_order_of_k():
    """Each step of 8 adds one product of 1 to 2^24, where f32 has only even numbers: cut, each is lost, unless they meet first."""
    a = np.zeros((1, 24))
    a[0, [0, 8, 16]] = 4096, 1, 1
    b = np.zeros((24, 1))
    b[[0, 8, 16], 0] = 4096, 1, 1

    def product(**options):
        d = warpbit.gemm(F16, warpbit.encode("f16", a), warpbit.encode("f16", b), **options).d
        return d[0, 0]

    assert product() == 2.0**24
    assert product(order="descending") == 2.0**24 + 2
    assert product(order="1:2:0") == 2.0**24 + 2
    assert product(order="0:2:1") == 2.0**24
    assert product(order="split_k=3") == 2.0**24  # 2^24 + 1, to nearest even, twice
    assert product(order="1:2:0 split_k=2") == 2.0**24 + 2  # runs of 1 + 1, and of 2^24
    assert product(order="2:0:1 split_k=2") == 2.0**24  # 2^24 + 1, cut; and 1 more, to even
    assert "expected each of the 3 steps of K once" in str(refusal(lambda: product(order="0:1")))


def test_a_tile_is_what_a_gpu_recorded():
    file = arrays_of(GOLDEN + "mma/mma_sync_aligned_m16n8k8_row_col_f32_f16_f16_f32.npz")
    i = warpbit.Instruction(bytes(file["statement"]).decode(), "sm_90a")
    a, b, c, d = (warpbit.gather(i.operand(r), file[r]) for r in "abcd")
    for case in range(len(a)):
        for kernel in warpbit.kernels():
            assert np.array_equal(warpbit.gemm(i, a[case], b[case], c[case], kernel=kernel).codes, d[case])


def test_wgmma_rounds_as_hopper_does_for_fp8():
    """13 bits of a fraction below the largest: of 2^0 and 2^-13, a step each, both stay; 2^-14 is cut."""
    i = warpbit.Instruction("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3", "sm_90a")
    a, b = np.zeros((70, 96)), np.zeros((96, 9))
    a[:, 0], b[0] = 1, 1
    a[:, 40], b[40] = 2.0**-9, 2.0**-4
    a[:, 90], b[90] = 2.0**-9, 2.0**-5
    codes = warpbit.encode("e4m3", a), warpbit.encode("e4m3", b)
    result = warpbit.gemm(i, *codes)
    assert result.inferred is False and (result.d == 1 + 2.0**-13).all()
    small_first = warpbit.gemm(i, *codes, order="descending").d
    assert (small_first == 1 + 2.0**-13).all()  # 3 2^-14, cut
    negated = warpbit.Instruction(i.canonical + " {d}, a_desc, b_desc, p, -1, 1;", "sm_90a")
    assert (warpbit.gemm(negated, *codes).d == -1 - 2.0**-13).all()


NVFP4 = warpbit.Instruction(
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", "sm_120a")


def test_scale_factors():
    rows, columns, depth, blocks = 33, 19, 150, 10  # the last block has six
    random = np.random.default_rng(7)
    a, b = random.integers(-3, 4, (rows, depth)), random.integers(-3, 4, (depth, columns))
    a_scale, b_scale = random.integers(1, 5, (rows, blocks)), random.integers(1, 5, (blocks, columns))
    left = a * a_scale.repeat(16, 1)[:, :depth]
    right = b * b_scale.repeat(16, 0)[:depth]
    codes = warpbit.encode("e2m1", a.astype(float)), warpbit.encode("e2m1", b.astype(float))
    scales = {"a_scale": warpbit.encode("ue4m3", a_scale.astype(float)), "b_scale": warpbit.encode("ue4m3", b_scale.astype(float))}
    for kernel in warpbit.kernels():
        d = warpbit.gemm(NVFP4, *codes, kernel=kernel, **scales).d
        assert np.array_equal(d, left @ right)
    by_columns = np.ascontiguousarray(scales["b_scale"].T).T
    assert np.array_equal(warpbit.gemm(NVFP4, *codes, a_scale=scales["a_scale"], b_scale=by_columns).d, d)
    refused = str(refusal(lambda: warpbit.gemm(NVFP4, *codes, a_scale=scales["a_scale"][:, :9], b_scale=scales["b_scale"])))
    assert "a_scale is uint8 of shape (33, 9); expected shape (33, 10)" in refused


def test_out_may_be_c():
    a, b = integers((16, 32), 4), integers((32, 8), 5)
    c = np.arange(128, dtype=np.uint32).reshape(16, 8)
    out = c.copy()
    assert warpbit.gemm(S8, a.view(np.uint8), b.view(np.uint8), out, out=out).d is out
    assert np.array_equal(out, (a.astype(np.int32) @ b.astype(np.int32) + c.astype(np.int32)).view(np.uint32))
    result = warpbit.gemm(S8, a.view(np.uint8), b.view(np.uint8), c)
    again = pickle.loads(pickle.dumps(result))
    assert np.array_equal(again.codes, out) and repr(again) == repr(result)


A, B = np.zeros((16, 32), np.uint8), np.zeros((32, 8), np.uint8)


@pytest.mark.parametrize("call, message", [
    (lambda: warpbit.gemm(S8, A.view(np.bool_), B), "A is bool of shape (16, 32); expected codes, uint8, or numbers that s8 holds: integers with a sign, lists; x.astype"),
    (lambda: warpbit.gemm(S8, A, B[:31]), "B is uint8 of shape (31, 8); expected shape (32, 8)"),
    (lambda: warpbit.gemm(S8, A, B, np.zeros((8, 8), np.uint32)), "C is uint32 of shape (8, 8); expected shape (16, 8)"),
    (lambda: warpbit.gemm(S8, A, B, out=np.zeros((16, 8), np.float32)), "out is float32 of shape (16, 8); expected uint32 or int32 with two dimensions"),
    (lambda: warpbit.gemm(S8, A, B, out=np.broadcast_to(np.zeros(8, np.uint32), (16, 8))), "out is read-only; expected an array that can"),
    (lambda: warpbit.gemm(S8, A.ravel(), B), "A is uint8 of shape (512,); expected a matrix: two dimensions"),
    (lambda: warpbit.gemm(S8, A, B, order="split_k=0"), "expected at least 1"),
    (lambda: warpbit.gemm(NVFP4, A, B), "a_scale is not given; expected codes of ue4m3 of shape (16, 2), one for each 16 of K"),
    (lambda: warpbit.gemm(S8, A, B, b_scale=B), "b_scale is given; expected none: the form has no block scaling"),
    (lambda: warpbit.gemm(warpbit.Instruction("cvt.bf16.f16", "sm_90"), A, B), "it is no product of matrices"),
])
def test_refusals(call, message):
    refused = refusal(call)
    assert refused.code == "view_mismatch" and message in str(refused)


def test_shared_memory_is_refused():
    memory = np.zeros(4096, np.uint8)
    d = memory[:512].view(np.uint32).reshape(16, 8)
    with pytest.raises(warpbit.Error, match="out is A|out shares memory with A"):
        warpbit.gemm(S8, memory[:512].reshape(16, 32), B, out=d)
    c = memory[16:528].view(np.uint32).reshape(16, 8)
    assert "out shares memory with C" in str(refusal(lambda: warpbit.gemm(S8, A, B, c, out=d)))
