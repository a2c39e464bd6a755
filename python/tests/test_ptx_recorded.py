# SPDX-License-Identifier: Apache-2.0
"""A kernel that Triton compiled leaves what a GPU left. Its files are beside the first folder of WARPBIT_GOLDEN_PATH."""

import json
import os
import pathlib

import numpy as np
import pytest

import warpbit

FOLDER = pathlib.Path(os.environ.get("WARPBIT_GOLDEN_PATH", "").split(":")[0]) / "../../kernels/triton_add"

def test_five_lines():
    if not FOLDER.exists():
        pytest.exit(f"not run: there is no {FOLDER}", returncode=77)
    arrays, case = np.load(FOLDER / "arrays.npz"), json.loads((FOLDER / "case.json").read_text())
    x, y, z = (arrays["in_" + name].copy() for name in "xyz")
    module = warpbit.RawModule(path=str(FOLDER / "kernel.ptx"), target="sm_90a")
    module.get_function(case["entry"])(case["grid"], case["block"], (x, y, z, 5000, None, None))
    assert np.array_equal(z, arrays["out_z"]) and not np.array_equal(z, arrays["in_z"])
