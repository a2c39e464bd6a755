# SPDX-License-Identifier: Apache-2.0
"""Tests a kernel as it is: what nvcc makes of examples/ptx_kernel.cu is run without a GPU, and so are its two mistakes."""

import numpy as np
import warpbit

module = warpbit.RawModule(path="examples/ptx_kernel.ptx")
a = (np.arange(64 * 48) % 7 - 3).reshape(64, 48).astype(np.float16)
b = (np.arange(32 * 48) % 11 - 5).reshape(32, 48).astype(np.float16)
expected = a.astype(int) @ b.T.astype(int)  # which f32 holds

for kernel in ("gemm", "gemm_exchanged", "gemm_too_far"):
    d = np.zeros((64, 32), np.float32)
    try:
        module.get_function(kernel)((4, 4), (32,), (a, b, d, 32, 48))
        print(f"{kernel}: {np.count_nonzero(d != expected)} of {d.size} elements differ")
        for row, column in np.argwhere(d != expected)[:2]:
            print(f"  d[{row}, {column}] is {d[row, column]:g}, not {expected[row, column]}")
    except warpbit.Error as error:
        print(f"{kernel}: {error}")
