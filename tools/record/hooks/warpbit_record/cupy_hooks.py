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
    this thread was made of it, whatever CuPy has done to it."""
    if not library.HAS_KERNELS:
        return
    original, latest = module._NVRTCProgram.compile, threading.local()

    def knows_ptx(program, ptx):
        import cupy  # it is not whole yet when this module is

        library.knows_ptx(program, ptx, "cupy " + cupy.__version__)

    @functools.wraps(original)
    def compile(self, *args, **kwargs):
        latest.ptx = None
        result = original(self, *args, **kwargs)
        program = result[0] if isinstance(result, tuple) else result
        if isinstance(program, bytes) and program.startswith(b"\x7fELF"):
            latest.ptx = module.nvrtc.getPTX(self.ptr)
            knows_ptx(program, latest.ptx)
        return result

    functions = module.function

    class Module(functions.Module):
        def load(self, program):
            ptx = getattr(latest, "ptx", None)
            latest.ptx = None
            if ptx is not None:
                knows_ptx(program, ptx)
            return super().load(program)

    class Functions:
        """What this module calls `function`. Of the module itself nothing changes: Cython's modules look for its Module."""

        def __init__(self):
            self.Module = Module

        def __getattr__(self, name):
            return getattr(functions, name)

    module._NVRTCProgram.compile = compile
    module.function = Functions()
