# SPDX-License-Identifier: Apache-2.0
# A test that asserts nothing of the result.
import numpy as np
import warpbit


def test_gemm():
    d = np.zeros((16, 8), np.float32)
    gemm = warpbit.RawModule(path="examples/ptx_kernel.ptx").get_function("gemm")
    gemm((1, 1), (32,), (np.ones((16, 16), np.float16), np.ones((8, 16), np.float16), d, 8, 16))
    assert d is not None
