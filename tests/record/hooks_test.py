# SPDX-License-Identifier: Apache-2.0
"""The hooks of Python programs, on stand-ins of a few lines for Triton, Inductor, CuPy, Numba and PyTorch."""
import pathlib
import tempfile
import unittest

import record_test
from record_test import Recording

# What the stand-ins share: a machine program is an ELF of 64 bytes, the head and only section, with a number; tensors are views
# of one storage.
COMMON = '''
import ctypes
from fake_gpu import *

def machine(number):
    out = bytearray(64)
    out[:4], out[58], out[60], out[63] = b"\\x7fELF", 64, 1, number
    return bytes(out)

class Storage:
    def __init__(self, address, size): self.address, self.size = address, size
    def data_ptr(self): return self.address
    def nbytes(self): return self.size

class Device:
    type = "cuda"

class Tensor:
    """A matrix of f32 in a storage."""
    dtype, device = "torch.float32", Device
    def __init__(self, values, shape, offset=0, storage=None):
        self.storage = storage or Storage(allocate(values), 4 * len(values))
        self.shape, self.offset = tuple(shape), offset
    def untyped_storage(self): return self.storage
    def data_ptr(self): return self.storage.address + 4 * self.offset
    def stride(self): return tuple([self.shape[1], 1][-len(self.shape):]) if len(self.shape) == 2 else (1,)
    def element_size(self): return 4
    def numel(self): return 4
    def dim(self): return len(self.shape)
    def is_neg(self): return False
    def is_conj(self): return False
    def unsqueeze(self, at): return Tensor(None, (*self.shape[:at], 1, *self.shape[at:]), self.offset, self.storage)
    def expand(self, *shape): return self if shape == self.shape else None
'''
FILES = {
    "common.py": COMMON,
    "triton/__init__.py": "__version__ = '3.6'\nfrom .compiler import compiler\nfrom .backends.nvidia import driver\nfrom .runtime import autotuner",
    "triton/backends/__init__.py": "", "triton/backends/nvidia/__init__.py": "",
    "triton/backends/nvidia/driver.py": '''
from common import *
class CudaLauncher:
    def __call__(self, x, y, z, stream, function, metadata, launch_metadata, enter, leave, *arguments):
        launch(function, u64(arguments[0].data_ptr()), u32(arguments[1]), grid=(x, y, z))
''',
    "triton/compiler/__init__.py": "",
    "triton/compiler/compiler.py": '''
from common import *
class CompiledKernel:
    def __init__(self, name, text, number):
        self.name, self.asm, self.module = name, {"ptx": text, "cubin": machine(number)}, None
    def _init_handles(self):
        if self.module is None:
            self.module = load(self.asm["cubin"])
            self.function = function(self.module, self.name)
''',
    "triton/runtime/__init__.py": "",
    "triton/runtime/autotuner.py": "class Autotuner:\n    def _bench(self, run): return run()",
    "cupy/__init__.py": "allocator = 'the pool'\nfrom . import cuda\nfrom .cuda import compiler\n__version__ = '14'",
    "cupy/cuda/__init__.py": "def set_allocator(one):\n    import cupy\n    cupy.allocator = one",
    "cupy/cuda/compiler.py": '''
from common import *
class nvrtc:
    getPTX = staticmethod(lambda program: ptx("add_one"))
class _NVRTCProgram:
    ptr = 1
    def compile(self, options=()): return machine(5) + b"what lies behind", None
from cupy.cuda import function
''',
    "cupy/cuda/function.py": '''
from common import *
class Module:
    def load(self, program): self.ptr = load(program)
''',
    "numba/__init__.py": "__version__ = '0.6'", "numba/cuda/__init__.py": "",
    "numba/cuda/codegen.py": '''
from common import *
class Program:
    code = machine(9)
class CUDACodeLibrary:
    _linking_files, _linking_libraries = set(), set()
    def get_asm_str(self, cc=None): return ptx("add_one").decode()
    def get_cubin(self, cc=None): return Program
''',
    "torch/__init__.py": '''
from common import *
__version__ = "2.11"
float32, bfloat16 = "torch.float32", "torch.bfloat16"
registered = {}
class _C:
    class DispatchKey:
        class BackendSelect: name = "BackendSelect"
    @staticmethod
    def _dispatch_keyset_full_after(key): return 6
class library:
    class Library:
        def __init__(self, namespace, kind): pass
        def impl(self, name, function, key, with_keyset): registered[name] = function
class Named:
    def __init__(self, name): self.name = name
class Op:
    def __init__(self, *names): self._schema = type("Schema", (), {"arguments": [Named(n) for n in names]})
    def redispatch(self, keyset, *args, **kwargs):
        assert keyset == 2, keyset
        return product(*args, **kwargs)
class Packet:
    default = Op("self", "mat2")
class VectorPacket:
    default = Op("self", "mat", "vec")
class ops:
    class aten: mm, addmv = Packet, VectorPacket
class backends:
    class cuda:
        class matmul: allow_tf32 = True
class cuda:
    is_current_stream_capturing = staticmethod(lambda: False)
    memory_snapshot = staticmethod(lambda: [])
get_float32_matmul_precision = lambda: "highest"
gemm = function(load(machine(1)), "noisy")
def product(*operands, **numbers):
    out = Tensor([0] * 4, (2, 2)) if len(operands) == 2 else Tensor([0] * 4, (4,))
    launch(gemm, u64(out.data_ptr()), u32(0), grid=(5, 1, 1))
    (ctypes.c_float * 4).from_address(out.data_ptr())[:] = [1, 2, 3, 4]
    return out
def addmv(y, a, x, **numbers): return registered["addmv"](3, y, a, x, **numbers)
def mm(a, b): return registered["mm"](3, a, b) if "mm" in registered else product(a, b)
''',
}


def setUpModule():
    global place
    record_test.setUpModule()
    place = tempfile.TemporaryDirectory()
    for name, text in FILES.items():
        path = pathlib.Path(place.name) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def tearDownModule():
    place.cleanup()
    record_test.tearDownModule()


class Hooks(unittest.TestCase):
    def recorded(self, program, *options):
        r = Recording(program, *options, path=[place.name])
        self.assertEqual(r.done.returncode, 0, r.done.stderr)
        self.assertNotIn("not watched", r.done.stderr)
        return r

    TRITON = '''
import triton
from triton.compiler.compiler import CompiledKernel
from triton.backends.nvidia.driver import CudaLauncher
from common import *
kernel = CompiledKernel("add_one", ptx("add_one").decode(), 3)
kernel._init_handles()
whole = Tensor([1, 2, 3, 4, 5, 6], (6,))
'''

    def test_triton(self):
        r = self.recorded(self.TRITON + "piece = Tensor(None, (2,), 1, Storage(whole.data_ptr(), 16))\n"
                          "CudaLauncher()(7, 1, 1, 0, kernel.function, None, None, None, None, piece, 2)")
        [launch] = r.records
        self.assertEqual((launch["entry"], launch["grid"], launch["library"], launch["stable"]),
                         ("add_one", [7, 1, 1], "triton 3.6", True))
        self.assertIn(b".entry add_one", r.data(launch["module"]))
        [part] = launch["memory"]  # the storage, not the allocation of 24 bytes and not the view of 8
        self.assertEqual((part["bytes"], r.floats(part["after"])), (16, [1, 3, 4, 4]))

    def test_what_tunes_is_not_recorded(self):
        r = self.recorded(self.TRITON + "from triton.runtime.autotuner import Autotuner\n"
                          "run = lambda: CudaLauncher()(1, 1, 1, 0, kernel.function, None, None, None, None, whole, 2)\n"
                          "Autotuner()._bench(run); Autotuner()._bench(run); run()")
        self.assertEqual(len(r.records), 1)
        self.assertEqual(r.floats(r.records[0]["memory"][0]["before"])[:2], [3, 4])

    def test_no_kernels_leaves_the_launcher_alone(self):
        r = self.recorded(self.TRITON + "print(hasattr(CudaLauncher.__call__, '__wrapped__'))", "--no-kernels")
        self.assertEqual(r.done.stdout, "False\n")

    def test_cupy(self):
        r = self.recorded("import cupy\nfrom common import *\ncupy.cuda.compiler._NVRTCProgram().compile()\n"
                          "module = cupy.cuda.compiler.function.Module(); module.load(machine(5))\n"
                          "launch(function(module.ptr, 'add_one'), u64(p), u32(1)); print(cupy.allocator)")
        self.assertEqual(r.done.stdout, "None\n")
        self.assertEqual(r.records[0]["library"], "cupy 14")
        self.assertIn(b".entry add_one", r.data(r.records[0]["module"]))

    def test_what_cupy_loads_is_not_what_it_compiled(self):
        r = self.recorded("import cupy\nfrom common import *\ncompiler = cupy.cuda.compiler\n"
                          "for number in (6, 7):\n    if number == 6: compiler._NVRTCProgram().compile()\n"
                          "    module = compiler.function.Module(); module.load(machine(number))\n"
                          "    launch(function(module.ptr, 'add_one'), u64(p), u32(1))\n"
                          "import cupy.cuda.function; print(cupy.cuda.function.Module.__module__)")
        self.assertEqual(r.done.stdout, "cupy.cuda.function\n")
        self.assertEqual([("module" in x, x["library"]) for x in r.records], [(True, "cupy 14"), (False, "driver")])

    def test_numba(self):
        r = self.recorded("import numba.cuda.codegen as c\ncode = c.CUDACodeLibrary().get_cubin().code\n"
                          "launch(function(load(code), 'add_one'), u64(p), u32(1))")
        self.assertEqual(r.records[0]["library"], "numba 0.6")

    def test_products(self):
        r = self.recorded("import torch\na = torch.Tensor([1, 2, 3, 4], (2, 2)); b = torch.Tensor([5, 6, 7, 8], (2, 2))\n"
                          "for i in range(5): d = torch.mm(a, b)\nprint(floats(d.data_ptr(), 4))")
        self.assertEqual(r.done.stdout, "[1.0, 2.0, 3.0, 4.0]\n")
        self.assertEqual([x["kind"] for x in r.records], ["product"] * 3 + ["launch"] * 2)  # those over --first are launches
        product = r.records[0]
        self.assertEqual((product["op"], product["tf32"], product["kernels"], product["stable"], product["library"]),
                         ("mm", True, [{"name": "noisy", "grid": [5, 1, 1]}], True, "torch 2.11"))
        for name, values in (("a", [1, 2, 3, 4]), ("b", [5, 6, 7, 8]), ("d", [1, 2, 3, 4])):
            array = product[name]
            self.assertEqual((array["dtype"], array["shape"], array["strides"], r.floats(array["data"])),
                             ("f32", [2, 2], [2, 1], values))
        self.assertIn("2 products after the first of each shape", r.done.stderr)

    def test_vectors_are_columns(self):
        r = self.recorded("import torch\nfrom common import *\na = Tensor([1, 2, 3, 4, 5, 6, 7, 8], (4, 2))\n"
                          "x, y = Tensor([1, 2], (2,)), Tensor([0] * 4, (4,))\n"
                          "torch.addmv(y, a, x)\ntorch.addmv(y, a, x, alpha=2, beta=0)", "--no-kernels", "--first", "0")
        first, second = r.records
        self.assertEqual({name: first[name]["shape"] for name in "abcd"}, {"a": [4, 2], "b": [2, 1], "c": [4, 1], "d": [4, 1]})
        self.assertEqual((first["op"], first["alpha"], first["beta"], r.floats(first["d"]["data"])), ("addmv", 1, 1, [1, 2, 3, 4]))
        self.assertEqual(("c" in second, second["alpha"], second["beta"]), (False, 2, 0))

    def test_the_programs_own_sitecustomize_runs(self):
        (pathlib.Path(place.name) / "sitecustomize.py").write_text("import os\nif 'WARPBIT_RECORD_OUT' in os.environ: print('mine')")
        try:
            r = self.recorded("pass")
        finally:
            (pathlib.Path(place.name) / "sitecustomize.py").unlink()
        self.assertEqual(r.done.stdout, "mine\n")


if __name__ == "__main__":
    unittest.main()
