# SPDX-License-Identifier: Apache-2.0
"""Hooks for Python programs: what the injected library cannot see is told to it when a module is imported."""
import importlib
import importlib.abc
import importlib.util
import os
import sys

# A module, the file of this folder that knows it, its function, which gets the module when it has been imported.
HOOKS = {
    "triton.compiler.compiler": ("triton_hooks", "compiler"),
    "triton.backends.nvidia.driver": ("triton_hooks", "driver"),
    "triton.runtime.autotuner": ("triton_hooks", "autotuner"),
    "torch": ("torch_hooks", "torch_itself"),
    "torch._inductor.runtime.static_triton_launcher": ("torch_hooks", "static_launcher"),
    "torch._inductor.runtime.static_cuda_launcher": ("torch_hooks", "static_launcher"),
    "torch._inductor.runtime.triton_heuristics": ("torch_hooks", "heuristics"),
    "cupy": ("cupy_hooks", "cupy_itself"),
    "cupy.cuda.compiler": ("cupy_hooks", "compiler"),
    "numba.cuda.codegen": ("numba_hooks", "codegen"),
    "numba_cuda.numba.cuda.codegen": ("numba_hooks", "codegen"),
}


def apply(name, module):
    file, function = HOOKS[name]
    try:
        getattr(importlib.import_module("warpbit_record." + file), function)(module)
    except Exception as error:  # the program comes first
        print(f"warpbit record: {name} is not what the recorder knows, and is not watched: {error!r}", file=sys.stderr)


class Loader(importlib.abc.Loader):
    def __init__(self, name, loader):
        self.name, self.loader = name, loader

    def __getattr__(self, attribute):  # get_resource_reader and the like
        return getattr(self.loader, attribute)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        apply(self.name, module)


class Finder(importlib.abc.MetaPathFinder):
    def __init__(self):
        self.seeking = set()

    def find_spec(self, name, path=None, target=None):
        if name not in HOOKS or name in self.seeking:
            return None
        self.seeking.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.seeking.discard(name)
        if spec is not None and spec.loader is not None:
            spec.loader = Loader(name, spec.loader)
        return spec


def install():
    sys.meta_path.insert(0, Finder())
    end = os._exit

    def flushing_exit(status):
        if "warpbit_record.library" in sys.modules:
            sys.modules["warpbit_record.library"].flush()
        end(status)

    os._exit = flushing_exit
