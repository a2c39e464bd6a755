# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's tensor instructions on a CPU, bit by bit as real GPUs compute them.

    mma = warpbit.Instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_90")
    a = warpbit.scatter_values(mma.operand("a"), numpy.ones((16, 16)))
    ...
    d = warpbit.execute(mma, a, b, c).d

    module = warpbit.RawModule(path="kernel.ptx", target="sm_90a")
    module.get_function("gemm")(grid, block, (x, y, 2.5, 1000))

Registers are arrays of unsigned integers, (cases, lanes, registers). Of a matrix, an element or an array the dtype says what it is:
floats, integers with a sign, lists and numbers of Python are numbers; unsigned integers are codes. Nothing is rounded or
converted silently: what does not fit is an Error, which says what was seen, where, and what is accepted.
"""

from ._error import explained_import as _explained_import

try:
    import numpy as _numpy  # the extension needs it later

    from ._core import *
    from ._core import __version__ as __version__
except ImportError as _error:
    raise _explained_import(_error) from None
from ._error import Error as Error
