# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's tensor instructions on a CPU, bit by bit as real GPUs compute them.

    mma = warpbit.Instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_90")
    a = warpbit.scatter_values(mma.operand("a"), numpy.ones((16, 16)))
    ...
    d = warpbit.execute(mma, a, b, c).d

    module = warpbit.RawModule(path="kernel.ptx", target="sm_90a")
    module.get_function("gemm")(grid, block, (x, y, 2.5, 1000))

Registers are arrays of unsigned integers, (cases, lanes, registers); a matrix of codes has an unsigned integer for each
element, or is an array or a tensor of PyTorch whose dtype says the format: float16, bfloat16, float8_e4m3fn, int8, ... Nothing is
converted silently: an array that does not fit is an Error, which says what was seen, where, and what is accepted.
"""

from ._core import *
from ._core import __version__ as __version__
from ._error import Error as Error
