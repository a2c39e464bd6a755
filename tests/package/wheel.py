# SPDX-License-Identifier: Apache-2.0
"""What a wheel must do where it was installed; the argument is a capture, or there is none."""

import importlib.metadata
import sys

import numpy as np
import warpbit
from warpbit.testing import BitsDiffer, assert_bits_equal

mma = warpbit.Instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_90")
a, b = np.full((32, 16), 3, np.float16), np.full((16, 24), 0.5, np.float16)
d = warpbit.gemm(mma, a, b).d
assert d.dtype == np.float32 and d.shape == (32, 24) and (d == 24).all()
plugins = [point for point in importlib.metadata.distribution("warpbit").entry_points if point.group == "pytest11"]
assert [(point.name, point.value) for point in plugins] == [("warpbit.pytest_plugin", "warpbit.pytest_plugin")], plugins
assert_bits_equal(d, np.full((32, 24), 24, np.float32))
try:
    assert_bits_equal(d, -d)
except BitsDiffer as differ:
    assert differ.comparison.different == d.size
else:
    raise SystemExit("arrays that differ are taken for equal")
for path in sys.argv[1:]:
    report = warpbit.verify(path)[0]
    assert report.error is None and report.elements > 0 and report.mismatches == 0, report
print("D is", d[0, 0], "everywhere")
