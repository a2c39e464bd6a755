# SPDX-License-Identifier: Apache-2.0
"""tl.dot and tl.dot_scaled in Triton's interpreter with a GPU's bits: TRITON_INTERPRET=1, then install("sm_90") once.

Replaced are two calls of triton.runtime.interpreter.InterpreterBuilder, the first as read in triton-lang/triton at bf34f5bb; the
second is what TritonSemantic.dot_scaled calls, and the interpreter itself has none:
    create_dot(self, a, b, d, input_precision, max_num_imprecise_acc)
    create_dot_scaled(self, lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, fast_math, lhs_k_pack, rhs_k_pack, acc)
A TensorHandle has .data, of NumPy (bf16 as uint16, fp8 as uint8), and .dtype. Types without a form stay as they were. The order
of K is that of one instruction after the other; a compiled kernel may have another (order of warpbit.gemm).
"""

import functools

import numpy as np
import warpbit

FORMS = {  # the types of A and D
    ("fp16", "fp32"): "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    ("fp16", "fp16"): "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
    ("bf16", "fp32"): "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
    ("fp8e4nv", "fp32"): "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
    ("fp8e5", "fp32"): "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32",
    ("int8", "int32"): "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
}
SCALED = "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.{}.{}.f32.ue8m0"


def nibbles(data, axis):
    """e2m1, two in a byte along K, one in each byte."""
    shape = [2 * size if i == axis else size for i, size in enumerate(data.shape)]
    return np.stack([data & 15, data >> 4], axis + 1).reshape(shape)


def install(target, forms=FORMS):
    from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

    instruction = functools.lru_cache(None)(lambda form: warpbit.Instruction(form, target))
    original = InterpreterBuilder.create_dot

    def create_dot(self, a, b, d, input_precision, max_num_imprecise_acc):
        form = forms.get((str(a.dtype.scalar), str(d.dtype.scalar)))
        if form is None or a.dtype.scalar != b.dtype.scalar:
            return original(self, a, b, d, input_precision, max_num_imprecise_acc)
        out = np.empty(d.data.shape, d.data.dtype)
        for i in np.ndindex(d.data.shape[:-2]):  # a batch, or one product
            warpbit.gemm(instruction(form), a.data[i], b.data[i], d.data[i], out=out[i])
        return TensorHandle(out, d.dtype.scalar)

    def create_dot_scaled(self, lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, fast_math, lhs_k_pack, rhs_k_pack, acc):
        formats = [str(f).split(".")[-1].lower() for f in (lhs_format, rhs_format)]  # "e4m3", "e2m1", ...
        a, b = (nibbles(x.data, axis) if f == "e2m1" else x.data for x, f, axis in zip((lhs, rhs), formats, (1, 0)))
        scales = {"a_scale": lhs_scale.data, "b_scale": rhs_scale.data.T}
        d = warpbit.gemm(instruction(SCALED.format(*formats)), a, b, acc.data, **scales).d
        return TensorHandle(d, acc.dtype.scalar)

    InterpreterBuilder.create_dot, InterpreterBuilder.create_dot_scaled = create_dot, create_dot_scaled
