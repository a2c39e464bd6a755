# SPDX-License-Identifier: Apache-2.0
"""The order of a sum, found from D."""
import pickle

import numpy as np
import pytest

import warpbit

MMA = warpbit.Instruction("mma.m16n8k16.f32.f16", "sm_90a")


def operands():
    random = np.random.default_rng(1)
    return (random.standard_normal(shape).astype(np.float16) for shape in ((32, 584), (584, 24)))


def test_left_out_values_are_found():
    a, b = operands()
    d = warpbit.gemm(MMA, a, b, order="split_k=9 unit=64 spread=cut store=f16").d
    assert d.dtype == np.float16
    search = warpbit.find_order(a, b, d, target="H200", types="f16")  # float16: store=f16
    assert search == warpbit.find_order(a, b, d.view(np.uint16), target="H200", types="f16", order="store=f16")
    best = search.found[0]
    assert (best.equal, best.elements, best.left_out) == (768, 768, 8)
    assert "the last 8 values of K are not in the sum" in str(search)
    again = warpbit.gemm(best.instruction, a, b, order=best.order).d
    assert (again.view(np.uint16) == d.view(np.uint16)).all()


def test_codes_of_bf16_are_int16_or_uint16():
    random = np.random.default_rng(2)
    a, b = (random.standard_normal(shape).astype(np.float32).view(np.uint32) >> 16 for shape in ((8, 64), (64, 12)))
    a, b = a.astype(np.uint16), b.astype(np.uint16)
    mma = warpbit.Instruction("mma.m16n8k16.f32.bf16", "H100")
    d = warpbit.gemm(mma, a, b, order="store=bf16").d
    for kind in (np.uint16, np.int16):
        search = warpbit.find_order(a.view(kind), b.view(kind), d.view(kind), target="H100", types="bf16")
        assert any(f.order == "store=bf16" for f in search.found)


def test_descriptions_of_one_sum():
    random = np.random.default_rng(3)
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((16, 256), (256, 24)))
    d = warpbit.gemm(MMA, a, b, order="split_k=4").d
    search = warpbit.find_order(a, b, d, target="H100", types="f16")
    assert [f.order for f in search.found] == ["split_k=4"] and search.split_k == "yes"
    assert "promote=64" in [order for form, order in search.found[0].same]


def test_first_orders_are_tried_first():
    a, b = operands()
    d = warpbit.gemm(MMA, a, b, order="runs=100:484").d
    search = warpbit.find_order(a, b, d, target="sm_90a", types="f16", first=["split_k=2", "runs=100:484"], most_found=1)
    assert [f.order for f in search.found] == ["runs=100:484"]
    assert search.tried <= 16


def test_some_elements_are_enough():
    a, b = operands()
    d = warpbit.gemm(MMA, a, b, order="split_k=3 unit=64").d
    places = [(7 * n % 32, 11 * n % 24) for n in range(60)]
    codes = [(row, column, d.view(np.uint32)[row, column]) for row, column in places]
    numbers = [(row, column, float(d[row, column])) for row, column in places]
    by_codes, by_numbers = (warpbit.find_order(a, b, target="H100", types="f16", elements=e) for e in (codes, numbers))
    assert by_codes == by_numbers
    assert by_codes.found[0].elements == 60
    again = warpbit.gemm(by_codes.found[0].instruction, a, b, order=by_codes.found[0].order).d
    assert all(again[place] == d[place] for place in places)
    with pytest.raises(warpbit.Error, match="both d and elements"):
        warpbit.find_order(a, b, d, target="H100", types="f16", elements=codes)
    with pytest.raises(warpbit.Error, match="no elements of D"):
        warpbit.find_order(a, b, target="H100", types="f16")
    ints = [(row, column, int(code)) for row, column, code in codes]
    assert warpbit.find_order(a, b, target="H100", types="f16", elements=ints, codes=True) == by_codes
    with pytest.raises(warpbit.Error, match=r"element \(0, 0\) is 0.1 at \[\]; expected numbers that f32 holds exactly"):
        warpbit.find_order(a, b, target="H100", types="f16", elements=[(0, 0, 0.1)])


def test_shards_are_pickled_and_merged():
    a, b = operands()
    d = warpbit.gemm(MMA, a, b, order="split_k=5 unit=32 merge_order=descending").d
    wrong = d.copy()
    wrong[3, 4] += 1
    for result, limit in ((d, 5e9), (wrong, 1e9)):
        whole, *shares = (warpbit.find_order(a, b, result, target="H100", types="f16", shard=shard, limit=limit)
                          for shard in ((1, 1), (2, 3), (1, 3), (3, 3)))
        merged = warpbit.merge_orders(pickle.loads(pickle.dumps(shares)))
        assert merged == whole and str(merged) == str(whole)
        assert merged != shares[0]
    with pytest.raises(warpbit.Error, match="no share"):
        warpbit.merge_orders([])


def test_bias_and_factors():
    a, b = operands()
    bias = np.arange(24, dtype=np.float32)[None]
    plain, added = (warpbit.gemm(MMA, a, b, bias=x).d for x in (None, bias))
    assert (added == plain + bias).all()  # one rounding of f32, as NumPy's
    rows, columns = np.full((32, 1), 2, np.float32), np.full((1, 24), 0.25, np.float32)
    assert (warpbit.gemm(MMA, a, b, a_scale=rows, b_scale=columns, order="scales=last").d == plain / 2).all()
    with pytest.raises(warpbit.Error, match="a_scale"):
        warpbit.gemm(MMA, a, b, a_scale=rows[:3], b_scale=columns, order="scales=last")


def test_refusals():
    a, b = operands()
    d = warpbit.gemm(MMA, a, b).d
    with pytest.raises(warpbit.Error, match="uint8 of shape .*, codes of another format than f32; expected its dtype"):
        warpbit.find_order(a, b, d.astype(np.uint8), target="H200", types="f16")
    with pytest.raises(warpbit.Error, match="expected shape"):
        warpbit.find_order(a, b, d[:3], target="H200", types="f16")
    with pytest.raises(warpbit.Error, match="operands of f16.s8"):
        warpbit.find_order(a, b, d, target="H200", types="f16.s8")
    with pytest.raises(warpbit.Error, match="'backward'"):
        warpbit.find_order(a, b, d, target="H200", types="f16", order="backward")


def looped(a, b, ks):
    """A product and an addition after the other, in the type of the arrays."""
    d = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for k in ks:
        d += a[:, k : k + 1] * b[k]
    return d


def in_runs(a, b, *lasts):
    runs = [looped(a, b, range(*run)) for run in zip((0, *lasts), (*lasts, a.shape[1]))]
    return sum(runs[1:], runs[0])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(("by", "order", "split"), [
    (lambda a, b: looped(a, b, range(256)), "ascending", "no"),
    (lambda a, b: looped(a, b, reversed(range(256))), "descending", "no"),
    (lambda a, b: in_runs(a, b, 128), "split_k=2", "yes"),
    (lambda a, b: in_runs(a, b, 64, 128, 192), "split_k=4", "yes"),
    (lambda a, b: np.stack([(a * b[:, j]).sum(axis=1) for j in range(b.shape[1])], axis=1), "split_k=2 unit=8 sliced=8x1:pairs", "yes"),
])
def test_orders_of_numpy(kind, by, order, split):
    random = np.random.default_rng(4)
    a, b = (random.standard_normal(shape).astype(kind) for shape in ((12, 256), (256, 16)))
    d = by(a, b)
    search = warpbit.find_order(a, b, d, target="H100", types={4: "f32", 8: "f64"}[a.itemsize])
    assert f"chain.mul_add.rn.{'f32' if kind is np.float32 else 'f64'}" == search.found[0].instruction.canonical
    orders = [o for f in search.found for o in [f.order, *(order for form, order in f.same)]]
    assert order in orders
    assert search.split_k in (split, "cannot be told")
    for found in search.found:
        assert np.array_equal(warpbit.gemm(found.instruction, a, b, order=found.order).d.view(np.uint8), d.view(np.uint8))
