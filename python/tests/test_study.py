# SPDX-License-Identifier: Apache-2.0
"""Errors of targets and orders over several K, against sums of fractions and `gemm` in the same order."""
from fractions import Fraction
from math import floor, log2

import numpy as np
import pytest
import warpbit

HOPPER = warpbit.Instruction("wgmma.m64n8k32.f32.e4m3", "H100")
BLACKWELL = warpbit.Instruction("tcgen05.f32.e4m3", "B200")
ORDERS = ["ascending", "promote=128", "split_k=4"]
DEPTHS = [128, 256]


def computations():
    return [warpbit.Computation(i, order, DEPTHS[-1]) for i in (HOPPER, BLACKWELL) for order in ORDERS]


def study(**options):
    return warpbit.compare_depths(computations(), DEPTHS, 1, **{"seed": 3, "profile": "narrow", **options})


def ulp(x):
    return Fraction(2) ** (floor(log2(abs(x))) - 23)


def test_rows_are_what_gemm_gives():
    """Of the element that a study shows, whose exact sum and results `explain` has as fractions."""
    shown = study(zero_c=True)
    assert [(row["depth"], row["target"], row["order"]) for row in shown.rows] == [
        (depth, target, order) for depth in DEPTHS for target in ("sm_90a", "sm_100a") for order in ORDERS]
    for comparison in shown.comparisons:
        for computation, explanation in zip(computations(), comparison.first.comparison.explanations):
            assert explanation.inferred == (computation.instruction.target.name == "sm_100a")
        exact = Fraction(comparison.first.comparison.explanations[0].exact.decimal())
        errors = [(Fraction(e.result.decimal()) - exact) / ulp(exact) for e in comparison.first.comparison.explanations]
        for error, result in zip(errors, comparison.results):
            assert float(error) in result.errors


def test_a_study_is_the_same_as_each_depth_alone():
    shown = study()
    for depth, of_depth in zip(DEPTHS, shown.comparisons):
        alone = warpbit.compare_generated(computations(), 1, seed=3, profile="narrow", depth=depth)
        assert of_depth.depth == alone.depth == depth
        for x, y in zip(of_depth.results, alone.results):
            assert np.array_equal(x.errors, y.errors)
            assert x.differing == y.differing
    row = shown.rows[7]
    errors = abs(shown.comparisons[1].results[1].errors)
    assert row["depth"] == 256 and row["order"] == "promote=128" and row["inferred"] == ""
    assert row["max"] == errors.max() and row["exact"] == (errors == 0).sum() and row["elements"] == 512
    assert row["p50"] == np.sort(errors)[255]
    assert shown.rows[9]["inferred"] == "inferred: no result of that GPU"


def test_pictures_and_tables(tmp_path):
    shown = study()
    assert str(shown) == shown.text() and "sm_100a split_k=4" in str(shown)
    assert shown.svg().startswith("<?xml") and shown._repr_html_().startswith("<svg")
    shown.write_svg(tmp_path / "errors.svg")
    assert (tmp_path / "errors.svg").read_text() == shown.svg()
    assert repr(shown) == "<DepthStudy: 6 computations, 2 K>"
    integers = warpbit.compare_depths([warpbit.Instruction("mma.m16n8k32.s32.s8.s8", t) for t in ("sm_80", "sm_90")], [32], 1)
    assert integers._repr_html_() is None
    with pytest.raises(warpbit.Error, match="no element has an error"):
        integers.svg()


@pytest.mark.parametrize("depths, message", [([], "no K"), ([64, 32], "a K of 32 behind one of 64"), ([33, 40], "multiples of 32")])
def test_refusals(depths, message):
    with pytest.raises(warpbit.Error, match=message):
        warpbit.compare_depths([HOPPER], depths, 1)
