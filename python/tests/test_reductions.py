# SPDX-License-Identifier: Apache-2.0
"""In which order a kernel added: rows of an H200, and sums whose bits are known by hand."""

import numpy as np
import pytest

import warpbit
from conftest import refusal

FOLDER = "examples/reductions/"
BIG = 2.0**30  # swallows ones


def test_softmax_of_pytorch():
    x, d = np.load(FOLDER + "softmax_x.npy"), np.load(FOLDER + "softmax_d.npy")
    search = warpbit.find_reduction_order("softmax", x, d)
    assert (len(search.classes), search.more_classes, search.rows, search.complete) == (1, 0, 64, True)
    assert "threads=32 function=expf" in search.classes[0] and "one order explains all 64 rows" in str(search)
    for order in search.classes[0]:
        got = warpbit.reduce("softmax", x, order)
        assert (got.dtype, got.tobytes()) == (np.float32, d.tobytes())
    got = warpbit.reduce("softmax", x.T, search.classes[0][0], axis=0)
    assert (got.shape, np.ascontiguousarray(got.T).tobytes()) == ((100, 64), d.tobytes())
    wrong = d.copy()
    wrong[5, 7] = 0
    search = warpbit.find_reduction_order("softmax", x, wrong, threads=32)
    assert (search.classes, search.nearest_rows) == ([], 5)


def test_sums_by_hand():
    x = np.array([[BIG, 1, 1, -BIG], [BIG, -BIG, 1, 1]], np.float32)
    assert warpbit.reduce("sum", x).tolist() == [0, 2]
    assert warpbit.reduce("sum", x, "threads=4 lanes=pairs").tolist() == [0, 2]
    assert warpbit.reduce("sum", x, "threads=4").tolist() == [0, 0]
    assert warpbit.reduce("sum", x, axis=0).tolist() == [2 * BIG, -BIG, 2, -BIG]
    assert warpbit.reduce("sum", x, axis=None).shape == ()
    assert warpbit.reduce("mean", np.array([1, 2], np.float16), d_format="f16").dtype == np.float16
    assert warpbit.reduce("sum", np.array([1e300, 1])).dtype == np.float64


@pytest.mark.parametrize("change, message", [
    ({"x": [[1, 2]]}, "an array of float16"), ({"x": np.ones((2, 4), np.int32)}, "an array of float16"),
    ({"d": np.ones(1, np.float32)}, "one for each row"), ({"reduction": "product"}, "one of sum, mean"),
    ({"x": np.ones((2, 0), np.float32)}, "an array without values"),
])
def test_refusals(change, message):
    asked = {"reduction": "sum", "x": np.ones((2, 4), np.float32), "d": np.full(2, 4, np.float32), **change}
    assert message in str(refusal(lambda: warpbit.find_reduction_order(**asked)))
    assert "threads=" in str(refusal(lambda: warpbit.reduce("sum", np.ones(4, np.float32), "thread=4")))


def test_all_reduces_by_hand():
    """2^30 swallows ones, which are left if it has gone before they come."""
    x = np.zeros((3, 8), np.float32)
    x[0], x[1], x[2] = BIG, -BIG, 1
    ring = warpbit.all_reduce(x, "ring=0,1,2 sizes=2")  # (1+2)+0, (2+0)+1, (0+1)+2, and again
    assert ring.tolist() == [0, 0, 0, 0, 1, 1, 0, 0]
    assert warpbit.all_reduce(x, "trees=0(1,2)").tolist() == [1] * 8
    search = warpbit.find_all_reduce_order(x, np.ones(8, np.float32))
    assert (search.ranges, search.complete, search.tried) == ([(0, 8, "(0+1)+2", 0)], True, 3)
    search = warpbit.find_all_reduce_order(x, np.full(8, 5, np.float32))
    assert (search.name, search.order, search.explained) == (None, None, 0)
    assert warpbit.all_reduce(x.astype(np.float16)[1:], "ring=0,1", mean=True).dtype == np.float16
    assert "each of the ranks 0 to 2 once" in str(refusal(lambda: warpbit.all_reduce(x, "ring=0,1")))
    assert "the type of x" in str(refusal(lambda: warpbit.find_all_reduce_order(x, np.ones(8))))


def test_attention_by_hand():
    """Equal scores: each exponential is 1."""
    x, v = np.zeros((1, 4), np.float32), np.array([[BIG, 1], [1, 2], [-BIG, 3], [1, 4]], np.float32)
    order = "threads=32 value_lanes=4 online function=ex2"
    assert warpbit.reduce("attention", x, order, v=v).tolist() == [[0.5, 2.5]]
    assert warpbit.reduce("attention", x, order.replace("=4", "=1"), v=v).tolist() == [[0.25, 2.5]]
    d = np.array([[0.5, 2.5]], np.float32)
    search = warpbit.find_reduction_order("attention", x, d, v=v, threads=32, blocks=1)
    assert (search.rows, search.all_rows) == (1, 1) and search.classes
    for one in search.classes:
        assert warpbit.reduce("attention", x, one[0], v=v).tolist() == d.tolist()
    assert "as many as x has columns" in str(refusal(lambda: warpbit.reduce("attention", x, order)))
