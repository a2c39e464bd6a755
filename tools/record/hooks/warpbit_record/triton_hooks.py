# SPDX-License-Identifier: Apache-2.0
"""Triton: PTX when a kernel is loaded; the storages of tensors when one is launched."""
import functools

from . import library


def version():
    import triton

    return "triton " + triton.__version__


def storage_of(argument):
    """(address, bytes) of the whole storage of a tensor; None for what is none."""
    if hasattr(argument, "untyped_storage"):
        storage = argument.untyped_storage()
        return storage.data_ptr(), storage.nbytes()
    base = getattr(argument, "base", None)  # a descriptor of Triton's, which has its tensor
    return storage_of(base) if base is not None and hasattr(base, "untyped_storage") else None


def parts_of(arguments, names=()):
    found = {}
    for i, argument in enumerate(arguments):
        for one in argument if isinstance(argument, (tuple, list)) else (argument,):
            storage = storage_of(one)
            if storage and storage[0] and storage[1]:
                found.setdefault(storage, names[i] if i < len(names) else "")
    return [(*storage, name) for storage, name in found.items()]


def compiler(module):
    """CompiledKernel loads its machine program in _init_handles, before its first launch."""
    original = module.CompiledKernel._init_handles

    @functools.wraps(original)
    def init_handles(self, *args, **kwargs):
        if getattr(self, "module", None) is None and "ptx" in self.asm and "cubin" in self.asm:
            library.knows_ptx(self.asm["cubin"], self.asm["ptx"], version())
        return original(self, *args, **kwargs)

    if library.HAS_KERNELS:
        module.CompiledKernel._init_handles = init_handles


def driver(module):
    """CudaLauncher is what JITFunction.run and Inductor's launchers call: grid, stream, function, then metadata and hooks
    (4), then the kernel's arguments."""
    original = module.CudaLauncher.__call__

    @functools.wraps(original)
    def call(self, grid_x, grid_y, grid_z, stream, function, *args, **kwargs):
        if not library.wants(function):
            return original(self, grid_x, grid_y, grid_z, stream, function, *args, **kwargs)
        with library.Hint(parts_of(args[4:]), library.where(), version()):
            return original(self, grid_x, grid_y, grid_z, stream, function, *args, **kwargs)

    if library.HAS_KERNELS:
        module.CudaLauncher.__call__ = call


def paused(owner, name):
    """A method during which nothing is recorded: it launches to measure."""
    original = getattr(owner, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def wrapper(*args, **kwargs):
        with library.Paused():
            return original(*args, **kwargs)

    setattr(owner, name, wrapper)


def autotuner(module):
    paused(module.Autotuner, "_bench")
