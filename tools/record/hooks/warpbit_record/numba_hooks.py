# SPDX-License-Identifier: Apache-2.0
"""Numba: PTX when its machine program is made. Numba has no pool: an array has an allocation of its own."""
import functools

from . import library


def codegen(module):
    """CUDACodeLibrary.get_cubin(cc) links; get_asm_str(cc) is the PTX of this library alone, without others linked in."""
    if not library.HAS_KERNELS:
        return
    original = module.CUDACodeLibrary.get_cubin

    @functools.wraps(original)
    def get_cubin(self, cc=None, *args, **kwargs):
        program = original(self, cc, *args, **kwargs)
        code = getattr(program, "code", program)  # an object of cuda.core, or bytes
        if isinstance(code, (bytes, bytearray)) and not (getattr(self, "_linking_files", None) or getattr(self, "_linking_libraries", None)):
            library.knows_ptx(bytes(code), self.get_asm_str(cc=cc), "numba " + version())
        return program

    module.CUDACodeLibrary.get_cubin = get_cubin


def version():
    import numba

    return numba.__version__
