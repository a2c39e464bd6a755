# SPDX-License-Identifier: Apache-2.0
"""Tests of kernels.cu as people write them, from strong to empty: pytest suites.py, or suites.py NAME for one.

notice_suites.py asks how many mistakes each would notice.
"""
import pathlib
import sys
import warnings

import numpy as np

import warpbit

warnings.simplefilter("error")  # a finding of a launch fails a test
MODULE = warpbit.RawModule(path=str(pathlib.Path(__file__).with_name("kernels.ptx")))
saxpy, row_sums, transpose = (MODULE.get_function(name) for name in ("saxpy", "row_sums", "transpose"))


def numbers(shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def run_saxpy(x, y, a):
    out = y.copy()
    saxpy(((len(x) + 127) // 128,), (128,), (x, out, np.float32(a), np.int32(len(x))))
    return out


def run_row_sums(x):
    out = np.zeros(len(x), np.float32)
    row_sums((len(x),), (64,), (x, out, np.int32(x.shape[1])))
    return out


def run_transpose(x):
    rows, columns = x.shape
    out = np.zeros((columns, rows), np.float32)
    transpose(((columns + 15) // 16, (rows + 15) // 16), (16, 16), (x, out, np.int32(rows), np.int32(columns)))
    return out


def same(x, y):
    return np.array_equal(x.view(np.uint32), y.view(np.uint32))


# ---- saxpy

def saxpy_of(x, y, a):
    """The product is exact in float64, and the sum is rounded to float32 after that: once for these numbers."""
    return (np.float64(np.float32(a)) * x.astype(np.float64) + y).astype(np.float32)


def test_saxpy_bits():
    for count in (1, 128, 300):
        x, y = numbers(count), numbers(count, 2)
        guarded = np.concatenate([y, np.full(200, 7, np.float32)])
        saxpy((2 + count // 128,), (128,), (x, guarded, np.float32(1.7), np.int32(count)))
        assert same(guarded[:count], saxpy_of(x, y, 1.7)) and (guarded[count:] == 7).all()


def test_saxpy_one_shape():
    x, y = numbers(256), numbers(256, 2)
    assert same(run_saxpy(x, y, 1.7), saxpy_of(x, y, 1.7))


def test_saxpy_tolerance():
    x, y = numbers(256), numbers(256, 2)
    assert np.allclose(run_saxpy(x, y, 0.01), y, atol=1)


def test_saxpy_empty():
    assert run_saxpy(numbers(256), numbers(256, 2), 1.7) is not None


# ---- sums of rows

def sums_of(x):
    """The same additions in the same order."""
    padded = np.zeros((len(x), (x.shape[1] + 63) // 64, 64), np.float32)
    padded.reshape(len(x), -1)[:, :x.shape[1]] = x
    part = np.zeros((len(x), 64), np.float32)
    for k in range(padded.shape[1]):
        part += padded[:, k]
    for half in (32, 16, 8, 4, 2, 1):
        part[:, :half] += part[:, half:2 * half]
    return part[:, 0]


def test_row_sums_bits():
    for columns in (1, 63, 200):
        x = numbers((3, columns))
        assert same(run_row_sums(x), sums_of(x))


def test_row_sums_tolerance():
    x = numbers((3, 128))
    assert np.allclose(run_row_sums(x), x.sum(1), rtol=1e-2)


def test_row_sums_ones():
    assert (run_row_sums(np.ones((3, 128), np.float32)) == 128).all()


def test_row_sums_empty():
    assert run_row_sums(numbers((3, 128))).shape == (3,)


# ---- transpose

def test_transpose_bits():
    for shape in ((1, 1), (16, 32), (20, 37)):
        x = numbers(shape)
        assert same(run_transpose(x), np.ascontiguousarray(x.T))


def test_transpose_one_shape():
    x = numbers((16, 16))
    assert same(run_transpose(x), np.ascontiguousarray(x.T))


def test_transpose_ones():
    assert (run_transpose(np.ones((16, 16), np.float32)) == 1).all()


def test_transpose_empty():
    assert run_transpose(numbers((16, 16))) is not None


if __name__ == "__main__":
    globals()["test_" + sys.argv[1]]()
