# SPDX-License-Identifier: Apache-2.0
"""Matrices and registers against the formulas of the PTX manual, "Matrix Fragments for mma.m16n8k16"."""

import numpy as np
import pytest

import warpbit
from conftest import SM_90 as MMA, refusal

SPARSE = warpbit.Instruction("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}, e, 0;", "sm_90")


def place_of_a(row, column):
    """groupID = lane / 4, threadID_in_group = lane % 4; a0, a1, ... in pairs."""
    i = (row >= 8) * 2 + (column >= 8) * 4 + column % 2
    return row % 8 * 4 + column % 8 // 2, i // 2, i % 2


def place_of_b(row, column):
    i = (row >= 8) * 2 + row % 2
    return column * 4 + row % 8 // 2, i // 2, i % 2


def place_of_c(row, column):
    return row % 8 * 4 + column // 2, (row >= 8) * 2 + column % 2, 0


@pytest.mark.parametrize("role, place, bits", [("a", place_of_a, 16), ("b", place_of_b, 16), ("c", place_of_c, 32)])
def test_elements_lie_where_the_manual_says(role, place, bits):
    operand = MMA.operand(role)
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 1 << bits, (5, *operand.shape), dtype=np.uint64).astype(operand.code_dtype)
    registers = np.zeros((5, *operand.register_shape), np.uint32)
    for row in range(operand.shape[0]):
        for column in range(operand.shape[1]):
            lane, reg, slot = place(row, column)
            registers[:, lane, reg] |= codes[:, row, column].astype(np.uint32) << np.uint32(bits * slot)
    assert np.array_equal(warpbit.scatter(operand, codes), registers)
    assert np.array_equal(warpbit.gather(operand, registers), codes)
    assert np.array_equal(warpbit.gather(operand, registers[2]), codes[2])
    assert np.array_equal(warpbit.scatter(operand, codes[2]), registers[2])
    wide = np.repeat(registers, 2, axis=2)[:, :, ::2]
    assert np.array_equal(warpbit.gather(operand, wide[::-1]), codes[::-1])
    assert np.array_equal(warpbit.scatter(operand, np.asfortranarray(codes)), registers)


def test_values():
    a = MMA.operand("a")
    values = np.arange(256.0).reshape(16, 16) - 100
    registers = warpbit.scatter_values(a, values)
    assert np.array_equal(warpbit.gather(a, registers), values.astype(np.float16).view(np.uint16))
    assert np.array_equal(warpbit.gather_values(a, registers), values)
    above = warpbit.scatter_values(a, values + 2.0**-30, rounding="rp")
    nextafter = np.nextafter(values.astype(np.float16), np.float16(np.inf))
    assert np.array_equal(warpbit.gather_values(a, above), nextafter.astype(np.float64))
    large = warpbit.scatter_values(a, np.full((16, 16), 1e9), satfinite=True)
    assert np.array_equal(warpbit.gather_values(a, large), np.full((16, 16), 65504.0))


def test_out_keeps_other_bits():
    load = warpbit.Instruction("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "sm_90").operand("a")
    out = np.zeros((2, *load.register_shape), np.uint64)
    matrices = np.arange(64, dtype=np.uint64).reshape(2, 8, 4)
    assert warpbit.scatter(load, matrices, out=out) is out
    assert np.array_equal(warpbit.gather(load, out), matrices)
    metadata = SPARSE.operand("e")
    ones = np.full((32, 1), 0xFFFFFFFF, np.uint32)
    warpbit.scatter(metadata, np.zeros(metadata.shape, np.uint8), out=ones)
    held = ones[:, 0] != 0xFFFFFFFF
    assert held.tolist() == [lane % 4 < 2 for lane in range(32)]  # selector 0: two of four lanes


def test_a_product_of_matrices():
    rng = np.random.default_rng(4)
    a, b, c = rng.integers(-8, 8, (16, 16)), rng.integers(-8, 8, (16, 8)), rng.integers(-8, 8, (16, 8))
    registers = [warpbit.scatter_values(MMA.operand(r), m.astype(float)) for r, m in (("a", a), ("b", b), ("c", c))]
    d = warpbit.execute(MMA, *registers).d
    assert np.array_equal(warpbit.gather_values(MMA.operand("d"), d), a @ b + c)


def test_several_products_side_by_side():
    volta = warpbit.Instruction("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "sm_70")
    rng = np.random.default_rng(5)
    shapes = {r: volta.operand(r).shape for r in "abc"}
    assert shapes["a"] == (4, 8, 4)
    m = {r: rng.integers(-8, 8, shape).astype(float) for r, shape in shapes.items()}
    d = warpbit.execute(volta, *(warpbit.scatter_values(volta.operand(r), m[r]) for r in "abc")).d
    assert np.array_equal(warpbit.gather_values(volta.operand("d"), d), m["a"] @ m["b"] + m["c"])


def test_a_sparse_product():
    rng = np.random.default_rng(6)
    dense = np.zeros((16, 8, 4))
    for row in range(16):
        for group in range(8):
            chosen = rng.choice(4, 2, replace=False)
            dense[row, group, chosen] = rng.integers(1, 9, 2)
    dense = dense.reshape(16, 32)
    b, c = rng.integers(-8, 8, (32, 8)).astype(float), np.zeros((16, 8))
    codes, metadata = warpbit.compress(SPARSE, warpbit.encode("f16", dense))
    assert codes.shape == (16, 16) and codes.dtype == np.uint16 and metadata.shape == (16, 8)
    for row in range(16):
        for group in range(8):
            places = np.flatnonzero(dense[row, 4 * group:4 * group + 4])
            assert metadata[row, group] == places[0] | places[1] << 2
    assert np.array_equal(warpbit.decode("f16", warpbit.expand(SPARSE, codes, metadata)), dense)
    d = warpbit.execute(SPARSE, warpbit.scatter(SPARSE.operand("a"), codes), warpbit.scatter_values(SPARSE.operand("b"), b),
                        warpbit.scatter_values(SPARSE.operand("c"), c), warpbit.scatter(SPARSE.operand("e"), metadata)).d
    assert np.array_equal(warpbit.gather_values(SPARSE.operand("d"), d), dense @ b)
    refused = refusal(lambda: warpbit.compress(SPARSE, np.full((16, 32), 0x3C00, np.uint16)))
    assert refused.code == "not_sparse" and "row 0" in str(refused)


def test_floats_are_their_own_codes():
    halves = np.arange(256, dtype=np.float16).reshape(16, 16)
    a = warpbit.scatter(MMA.operand("a"), halves)
    assert np.array_equal(a, warpbit.scatter(MMA.operand("a"), halves.view(np.uint16)))
    assert np.array_equal(a, warpbit.scatter_values(MMA.operand("a"), halves))
    b = warpbit.scatter(MMA.operand("b"), np.eye(16, 8, dtype=np.float16))
    c, out = np.ones((32, 4), np.float32), np.empty((32, 4), np.float32)
    warpbit.execute(MMA, a, b, c, out=out)
    assert np.array_equal(warpbit.gather_values(MMA.operand("d"), out), halves[:, :8].astype(np.float64) + 1)
    product = warpbit.gemm(MMA, halves, np.eye(16, dtype=np.float16), out=np.empty((16, 16), np.float32)).d
    assert product.dtype == np.float32 and np.array_equal(product, halves)


@pytest.mark.parametrize("call, message", [
    (lambda: warpbit.gather(MMA.operand("a"), np.zeros((32, 3), np.uint32)), "operand a is uint32 of shape (32, 3); expected uint32"),
    (lambda: warpbit.scatter(MMA.operand("a"), np.zeros((16, 15), np.uint32)),
     "the matrix of a is uint16 of shape (16, 15); expected shape (16, 16) or (cases, 16, 16)"),
    (lambda: warpbit.scatter_values(MMA.operand("b"), np.zeros((8, 16))),
     "the matrix of b is float64 of shape (8, 16); expected shape (16, 8) or (cases, 16, 8)"),
    (lambda: warpbit.gather(SPARSE.operand("f"), np.zeros((32, 1), np.uint32)), "operand f has no matrix in registers"),
    (lambda: warpbit.compress(MMA, np.zeros((16, 16), np.uint16)), "its A is not sparse"),
    (lambda: warpbit.compress(SPARSE, np.zeros((16, 16), np.uint16)),
     "the dense A is uint16 of shape (16, 16); expected shape (16, 32)"),
])
def test_refusals(call, message):
    assert message in str(refusal(call))
