# SPDX-License-Identifier: Apache-2.0
"""CuPy: PTX from NVRTC beside the machine program; an allocation of the driver for each array."""
import functools
import os

from . import library

if library.HAS_KERNELS:
    os.environ.setdefault("CUPY_CACHE_IN_MEMORY", "1")  # what lies in CuPy's cache has no PTX


def cupy_itself(cupy):
    if library.HAS_KERNELS:
        cupy.cuda.set_allocator(None)  # no pool, so that an array has memory of its own


def compiler(module):
    """_NVRTCProgram.compile returns PTX or a machine program, alone or before a mapping of names."""
    if not library.HAS_KERNELS:
        return
    original = module._NVRTCProgram.compile

    @functools.wraps(original)
    def compile(self, *args, **kwargs):
        result = original(self, *args, **kwargs)
        program = result[0] if isinstance(result, tuple) else result
        if isinstance(program, bytes) and program.startswith(b"\x7fELF"):
            import cupy

            library.knows_ptx(program, module.nvrtc.getPTX(self.ptr), "cupy " + cupy.__version__)
        return result

    module._NVRTCProgram.compile = compile
