# SPDX-License-Identifier: Apache-2.0
"""What nvcc makes of examples/ptx_kernel.cu runs as the guide says of the file beside it. Needs nvcc."""

import shutil
import subprocess

import numpy as np
import pytest

import warpbit
from conftest import refusal

SOURCE = "examples/ptx_kernel.cu"
A = (np.arange(64 * 48) % 7 - 3).reshape(64, 48).astype(np.float16)
B = (np.arange(32 * 48) % 11 - 5).reshape(32, 48).astype(np.float16)


def product(module, kernel):
    d = np.zeros((64, 32), np.float32)
    module.get_function(kernel)((4, 4), (32,), (A, B, d, 32, 48))
    return d


def test_the_kernel_and_its_mistakes(tmp_path):
    if shutil.which("nvcc") is None:
        pytest.exit("not run: there is no nvcc", returncode=77)
    made = str(tmp_path / "kernel.ptx")
    subprocess.run(["nvcc", "-ptx", "-arch=sm_90a", "-lineinfo", SOURCE, "-o", made], check=True)
    for path in (made, SOURCE.replace(".cu", ".ptx")):
        module = warpbit.RawModule(path=path)
        assert module.check() == []
        right = A.astype(int) @ B.T.astype(int)
        assert np.array_equal(product(module, "gemm"), right)
        # Elements 1 and 2 of each lane, at (0, 1) and (8, 0) of its places, change them.
        tiles = right.reshape(4, 2, 8, 4, 4, 2).copy()
        tiles[:, 0, :, :, :, 1], tiles[:, 1, :, :, :, 0] = tiles[:, 1, :, :, :, 0].copy(), tiles[:, 0, :, :, :, 1].copy()
        assert np.array_equal(product(module, "gemm_exchanged"), tiles.reshape(64, 32))
        error = refusal(lambda: product(module, "gemm_too_far"))
        line = 1 + open(SOURCE, encoding="utf-8").read().split("right[i] = ")[0].count("\n")
        assert error.code == "address_out_of_bounds" and f" > {line}: PTX line " in error.message and SOURCE in error.message and "warp 0, lane 28" in error.message
