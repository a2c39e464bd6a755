# SPDX-License-Identifier: Apache-2.0
"""CuPy: PTX from NVRTC beside the machine program; an allocation of the driver for each array."""
import functools
import os
import threading

from . import library

if library.HAS_KERNELS:
    os.environ.setdefault("CUPY_CACHE_IN_MEMORY", "1")  # what lies in CuPy's cache has no PTX


def cupy_itself(cupy):
    if library.HAS_KERNELS:
        cupy.cuda.set_allocator(None)  # no pool, so that an array has memory of its own


def compiler(module):
    """_NVRTCProgram.compile returns PTX or a machine program, alone or before a mapping of names. What is loaded next in
    this thread was made of it: the driver gets other bytes than these."""
    if not library.HAS_KERNELS:
        return
    original, functions, latest = module._NVRTCProgram.compile, module.function, threading.local()

    @functools.wraps(original)
    def compile(self, *args, **kwargs):
        latest.ptx = None
        result = original(self, *args, **kwargs)
        program = result[0] if isinstance(result, tuple) else result
        if isinstance(program, bytes) and program.startswith(b"\x7fELF"):
            latest.ptx = module.nvrtc.getPTX(self.ptr)
        return result

    class Module(functions.Module):
        def load(self, program):
            import cupy  # it is not whole yet when this module is

            with library.NextPtx(getattr(latest, "ptx", None) or b"", "cupy " + cupy.__version__):
                latest.ptx = None
                return super().load(program)

    class Functions:
        """What this module calls `function`. Of the module itself nothing changes: Cython's modules look for its Module."""

        def __init__(self):
            self.Module = Module

        def __getattr__(self, name):
            return getattr(functions, name)

    module._NVRTCProgram.compile = compile
    module.function = Functions()
