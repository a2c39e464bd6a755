# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for packages that Debian does not have, as far as examples/plugins/ and the module itself call them: the same
names, parameters and meanings, on NumPy."""

import sys
import types

import numpy as np


def module(monkeypatch, name, **members):
    """Makes `import name` give a module with these members, and the modules above it nothing else."""
    parts = name.split(".")
    for i in range(len(parts)):
        path = ".".join(parts[:i + 1])
        monkeypatch.setitem(sys.modules, path, types.ModuleType(path))
        if i:
            setattr(sys.modules[".".join(parts[:i])], parts[i], sys.modules[path])
    vars(sys.modules[name]).update(members)
    return sys.modules[name]


# ---- PyTorch: tensors that hold codes, of a type that NumPy may lack

class Type:
    def __init__(self, name, bytes):
        self.name, self.bytes = name, bytes

    def __str__(self):
        return "torch." + self.name


TYPES = {name: Type(name, bytes) for name, bytes in {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e8m0fnu": 1,
    "float4_e2m1fn_x2": 1, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1}.items()}


class Tensor:
    def __init__(self, array, dtype, device="cpu", requires_grad=False):
        self.array, self.dtype, self.device, self.requires_grad = array, dtype, device, requires_grad

    shape = property(lambda self: self.array.shape)

    def detach(self):
        return Tensor(self.array, self.dtype, self.device)

    def element_size(self):
        return self.dtype.bytes

    def view(self, dtype):
        assert dtype.bytes == self.dtype.bytes
        return Tensor(self.array, dtype, self.device)

    def to(self, dtype):
        assert (self.dtype.name, dtype.name) == ("float32", "float16")
        with np.errstate(over="ignore"):
            return Tensor(self.array.astype(np.float16), dtype)

    def numpy(self):
        if self.requires_grad or self.device != "cpu" or not hasattr(np, self.dtype.name):
            raise RuntimeError("as PyTorch would")
        return self.array.view(self.dtype.name)


def from_numpy(array):
    return Tensor(array, TYPES[array.dtype.name])


class Operator:
    """What torch.library.custom_op makes of a function."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *args):
        return self.function(*args)

    def register_fake(self, function):
        self.fake = function
        return function


class TorchDispatchMode:
    pass


def torch(monkeypatch):
    def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None):
        assert fn is None and name == "warpbit::mm" and mutates_args == ()
        return Operator

    module(monkeypatch, "torch.utils._python_dispatch", TorchDispatchMode=TorchDispatchMode)
    made = sys.modules["torch"]
    aten_mm = types.SimpleNamespace(default=lambda a, b: "another mm")
    vars(made).update(TYPES, Tensor=Tensor, from_numpy=from_numpy, library=types.SimpleNamespace(custom_op=custom_op),
                      ops=types.SimpleNamespace(aten=types.SimpleNamespace(mm=aten_mm)))
    return made
