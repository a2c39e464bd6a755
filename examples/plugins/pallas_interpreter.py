# SPDX-License-Identifier: Apache-2.0
"""wgmma and tcgen05 in JAX Pallas' Mosaic GPU interpreter with a GPU's bits: install("sm_90a") once, then InterpretParams().

The interpreter's host callbacks (jax._src.pallas.mosaic_gpu.interpret.gpu_callbacks, as read in jax-ml/jax in 2026, after 02fed78d)
compute `acc + np.matmul(a, b, dtype=acc.dtype)`, where np is that module's. It gets an np of its own here, whose matmul
waits for the accumulator, so that this takes part in the sum as it does in the tensor core.
"""

import numpy as np
import warpbit

FORMS = {  # the dtype of A and B, by name
    "float16": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "bfloat16": "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
    "float8_e4m3fn": "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
    "float8_e5m2": "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32",
}


class Product:
    """A B, to which an accumulator may be added."""

    __array_ufunc__ = None  # array + Product is __radd__

    def __init__(self, instruction, a, b):
        self.of = instruction, a, b

    def __radd__(self, c):
        return warpbit.gemm(*self.of, np.asarray(c)).d

    def __array__(self, dtype=None, copy=None):
        return warpbit.gemm(*self.of).d


class NumPy:
    """NumPy, but for matmul."""

    def __init__(self, target, forms):
        self.target, self.forms = target, forms

    def __getattr__(self, name):
        return getattr(np, name)

    def matmul(self, a, b, dtype=None):
        a, b = np.asarray(a), np.asarray(b)
        form = self.forms.get(a.dtype.name)
        if form is None or a.dtype != b.dtype or dtype != np.float32:
            return np.matmul(a, b, dtype=dtype)
        return Product(warpbit.Instruction(form, self.target), a, b)


def install(target, forms=FORMS):
    from jax._src.pallas.mosaic_gpu.interpret import gpu_callbacks

    gpu_callbacks.np = NumPy(target, forms)
