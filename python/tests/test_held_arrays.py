# SPDX-License-Identifier: Apache-2.0
"""Arrays of every kind that people hold, in every function that takes a matrix: exact, or refused with the remedy.

    [[1, 2], [3, 4]] [[5, 6], [7, 8]] = [[19, 22], [43, 50]]
"""

import array
import ctypes
import types

import numpy as np
import pytest

import stand_ins
import warpbit
from conftest import refusal

A, B, D = [[1, 2], [3, 4]], [[5, 6], [7, 8]], [[19, 22], [43, 50]]

# The codes of 1 to 8, by hand.
CODES = {
    "f16": [0x3C00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800],
    "bf16": [0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0, 0x40C0, 0x40E0, 0x4100],
    "e4m3": [0x38, 0x40, 0x44, 0x48, 0x4A, 0x4C, 0x4E, 0x50],
    "tf32": [0x3F800000, 0x40000000, 0x40400000, 0x40800000, 0x40A00000, 0x40C00000, 0x40E00000, 0x41000000],
    "f64": [n << 48 for n in (0x3FF0, 0x4000, 0x4008, 0x4010, 0x4014, 0x4018, 0x401C, 0x4020)],
    "s8": [1, 2, 3, 4, 5, 6, 7, 8],
}
MMA = {format: warpbit.Instruction("mma.sync.aligned." + form, "sm_90") for format, form in {
    "f16": "m16n8k16.row.col.f32.f16.f16.f32", "bf16": "m16n8k16.row.col.f32.bf16.bf16.f32",
    "e4m3": "m16n8k32.row.col.f32.e4m3.e4m3.f32", "tf32": "m16n8k8.row.col.f32.tf32.tf32.f32",
    "f64": "m8n8k4.row.col.f64.f64.f64.f64", "s8": "m16n8k32.row.col.s32.s8.s8.s32"}.items()}

# What an array of a dtype is to an operand of each format: n numbers, c codes, or refused for the reason.
SIGN, SMALL, NONE = "if they are numbers", "if these are codes", "; expected codes, uint"
FORMATS = ("f16", "bf16", "e4m3", "tf32", "f64", "s8")
MEANING = {
    #               f16    bf16   e4m3   tf32   f64    s8
    "float16":     ("n",   "n",   "n",   "n",   "n",   "n"),
    "float32":     ("n",   "n",   "n",   "n",   "n",   "n"),
    "float64":     ("n",   "n",   "n",   "n",   "n",   "n"),
    "int8":        (SIGN,  SIGN,  SIGN,  SIGN,  SIGN,  "n"),
    "int16":       (SIGN,  "c",   SIGN,  SIGN,  SIGN,  "n"),
    "int32":       (SIGN,  SIGN,  SIGN,  SIGN,  SIGN,  "n"),
    "int64":       (SIGN,  SIGN,  SIGN,  SIGN,  SIGN,  "n"),
    "uint8":       (SMALL, SMALL, "c",   SMALL, SMALL, "c"),
    "uint16":      ("c",   "c",   "c",   SMALL, SMALL, "c"),
    "uint32":      ("c",   "c",   "c",   "c",   SMALL, "c"),
    "uint64":      ("c",   "c",   "c",   "c",   "c",   "c"),
    "bool":        (NONE,) * 6,
    "complex64":   (NONE,) * 6,
    "longdouble":  (NONE,) * 6,
    ">f4":         (NONE,) * 6,
    "object":      (NONE,) * 6,
    "U1":          (NONE,) * 6,
    "datetime64[s]": (NONE,) * 6,
}


# ---- Functions: each with the operands of a product, and what must come out

def by_gemm(mma, a, b):
    d = warpbit.gemm(mma, a, b).d
    assert d.dtype == {"f64": np.float64, "s8": np.int32}.get(mma.operand("a").format, np.float32)
    assert d.tolist() == D


def by_explain(mma, a, b):
    assert warpbit.explain(mma, a[0], b[0]).result.decimal() == "17"  # 1 x 5 + 2 x 6


def by_compare(mma, a, b):
    assert warpbit.compare([mma, mma], a[0], b[0]).explanations[1].result.decimal() == "17"


def by_scatter(mma, a, b):
    operand = mma.operand("a")
    wide = np.zeros(operand.shape, np.uint64)
    wide[:2, :2] = np.reshape(CODES[operand.format][:4], (2, 2))
    padded = np.zeros(operand.shape, a.dtype)
    padded[:2, :2] = a
    assert np.array_equal(warpbit.gather(operand, warpbit.scatter(operand, padded)), wide)


def by_diagnose(mma, a, b):
    d = np.array(D, {"f64": np.float64, "s8": np.int32}.get(mma.operand("a").format, np.float32))
    assert warpbit.diagnose_product(mma, a, b, d=d).verdict == "correct"


def held(dtype, format, meaning):
    """A and B as arrays of the dtype."""
    if meaning != "c":
        return [np.array(x).astype(dtype) for x in (A, B)]
    codes = np.array(CODES[format], np.uint64).reshape(2, 2, 2)
    return [x.astype(dtype) for x in codes]


CASES = [(function, dtype, format, meaning) for dtype, row in MEANING.items() for format, meaning in zip(FORMATS, row)
         for function in (by_gemm, by_explain, by_compare, by_scatter, by_diagnose)
         if not (function is by_diagnose and format == "f64") and not (function is by_scatter and dtype in ("object", "U1", "datetime64[s]"))]


def test_there_are_many():
    assert len(CASES) > 400


@pytest.mark.parametrize("function, dtype, format, meaning", CASES, ids=lambda x: getattr(x, "__name__", x) if len(str(x)) < 40 or callable(x) else "-")
def test_arrays_of_numpy(function, dtype, format, meaning):
    a, b = held(dtype, format, meaning)
    if meaning in "nc":
        function(MMA[format], a, b)
        return
    refused = refusal(lambda: function(MMA[format], a, b))
    assert refused.code == "view_mismatch" and len(str(refused)) < 400
    assert meaning in str(refused) and "x." in refused.accepted, str(refused)


# ---- Other containers

class Shared:
    """An array that another library shares by DLPack, with a type code that NumPy may lack."""

    def __init__(self, numpy, code=None, device=(1, 0)):
        self.numpy, self.code, self.device, self.shape = numpy, code, device, numpy.shape

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        capsule = self.numpy.__dlpack__()
        if self.code is not None:
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
            # data, device, dimensions, type code
            ctypes.c_uint8.from_address(pointer(capsule, b"dltensor") + 20).value = self.code
        return capsule


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned of DLPack 1.0."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("release", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("dimensions", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]


class Newer:
    """An array of float16 that a library with DLPack 1.0 shares: without strides, behind 4 bytes, and read-only if asked."""

    def __init__(self, numpy, read_only=False):
        self.memory = np.concatenate([np.zeros(2, np.float16), numpy.ravel()])
        self.extents = (ctypes.c_int64 * numpy.ndim)(*numpy.shape)
        self.tensor = Versioned(1, 0, None, None, read_only, self.memory.ctypes.data, (1, 0), numpy.ndim, 2, 16, 1,
                                ctypes.addressof(self.extents), None, 4)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, max_version=None, stream=None):
        assert max_version >= (1, 0)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.tensor), b"dltensor_versioned", None)


class OnGpu:
    __cuda_array_interface__ = {"shape": (2, 2), "typestr": "<f2", "data": (0, False), "version": 3}


class Frame:
    def __init__(self, numpy):
        self.numpy = numpy

    def __array__(self, dtype=None):
        return self.numpy


DLPACK = {"bfloat16": (4, "uint16", "bf16"), "float8_e4m3fn": (10, "uint8", "e4m3"), "float8_e5m2": (12, "uint8", "e5m2")}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int16", "int32", "uint8", "uint16", "uint32"])
def test_dlpack(dtype, format):
    meaning = MEANING[dtype][FORMATS.index(format)]
    a, b = (Shared(x) for x in held(dtype, format, meaning))
    if meaning in "nc":
        by_gemm(MMA[format], a, b)
    else:
        assert meaning in str(refusal(lambda: by_gemm(MMA[format], a, b)))


def test_dlpack_1_0():
    a, b = (Newer(np.float16(x)) for x in (A, B))
    by_gemm(MMA["f16"], a, b)
    twice = warpbit.RawModule(code=KERNEL).get_function("twice")
    twice(1, 2, [a])
    assert a.memory.tolist() == [0, 0, 1.125, 2.25, 3, 4]  # 128 more
    fault = twice.launch(1, 2, [Newer(np.float16(A), read_only=True)]).fault
    assert fault is not None and fault.error.code == "address_read_only"


def test_dlpack_of_types_that_numpy_lacks():
    for name, (code, dtype, format) in DLPACK.items():
        x = Shared(np.array([1, 2], dtype), code)
        assert np.array_equal(warpbit.decode(format, x), warpbit.decode(format, np.array([1, 2], dtype))), name
    a, b = (Shared(np.uint16(x), 4) for x in np.reshape(CODES["bf16"], (2, 2, 2)))
    by_gemm(MMA["bf16"], a, b)
    by_gemm(MMA["f16"], a, b)  # numbers that f16 holds, too
    assert "DLPack's type code 9" in str(refusal(lambda: warpbit.gemm(MMA["e4m3"], Shared(np.uint8(A), 9), np.uint8(B))))
    away = Shared(np.float16(A), device=(2, 0))
    assert "it is in the memory of a device (DLPack's 2); expected a copy" in str(refusal(lambda: warpbit.gemm(MMA["f16"], away, np.float16(B))))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int16", "int32", "uint8", "bfloat16", "float8_e4m3fn", "bool"])
def test_tensors(monkeypatch, dtype, format):
    torch = stand_ins.torch(monkeypatch)
    own = {"bfloat16": "bf16", "float8_e4m3fn": "e4m3"}.get(dtype)
    meaning = "n" if own else MEANING[dtype][FORMATS.index(format)]
    codes = held("uint16" if own == "bf16" else "uint8", own, "c") if own else held(dtype, format, meaning)
    a, b = (stand_ins.Tensor(x, getattr(torch, dtype), requires_grad=True) for x in codes)
    if meaning in "nc":
        by_gemm(MMA[format], a, b)
    else:
        assert meaning in str(refusal(lambda: by_gemm(MMA[format], a, b)))


@pytest.mark.parametrize("format", FORMATS)
def test_lists_are_numbers(format):
    mma = MMA[format]
    for a, b in ((A, B), (np.array(A, float).tolist(), B), (tuple(map(tuple, A)), B), (Frame(np.float64(A)), B),
                 (memoryview(np.float32(A)), B), (A, np.float32(B)), ([[np.float16(x) for x in row] for row in A], B)):
        by_gemm(mma, a, b)
    assert warpbit.explain(mma, [1, 2], range(5, 7)).result.decimal() == "17"
    assert warpbit.explain(mma, array.array("d", [1, 2]), [5, 6.0], 100).result.decimal() == "117"
    assert warpbit.explain(mma, [1, 2], [5, 6], 100, codes=False) == warpbit.explain(mma, [1.0, 2.0], [5.0, 6.0], 100.0)
    codes = [CODES[format][:2], CODES[format][4:6]]
    assert warpbit.explain(mma, *codes, codes=True).result.decimal() == "17"
    assert warpbit.gemm(mma, [codes[0]], np.transpose([codes[1]]).tolist(), codes=True).d.tolist() == [[17]]


def test_what_might_be_both_is_refused():
    f16 = MMA["f16"]
    one = np.uint16([0x3C00])
    for a, b, c in (([1], one, 0), (one, [1], 0), (one, one, 1)):
        assert "integers of Python, beside" in str(refusal(lambda: warpbit.explain(f16, a, b, c)))
    assert "or codes=True" in str(refusal(lambda: warpbit.gemm(f16, [[0x3C00]], one[None])))
    assert warpbit.explain(f16, one, [1.0], 1.0).result.decimal() == "2"
    assert warpbit.explain(f16, one, [0], 0).code == 0  # 0 is 0
    assert warpbit.explain(f16, one, [0x3C00], codes=True).result.decimal() == "1"
    assert warpbit.explain(MMA["s8"], np.uint8([0xFF]), [3]).result.decimal() == "-3"  # an integer format: no question
    assert "codes beside numbers" in str(refusal(lambda: warpbit.explain(f16, [np.uint16(1), 2.0], [1.0, 1.0])))
    assert "of floats; expected integers: codes=True" in str(refusal(lambda: warpbit.explain(f16, [1.0], one, codes=True)))


def test_what_is_not_exact_is_refused():
    for format, value in {"f16": 0.1, "bf16": 257.0, "e4m3": 17.0, "tf32": 0.1, "s8": 0.5}.items():
        refused = refusal(lambda: warpbit.gemm(MMA[format], [[1.0], [value]], [[1.0]]))
        assert str(refused).endswith(f"A is {value} at [1, 0]; expected numbers that {format} holds exactly; "
                                     f'warpbit.encode("{format}", x) rounds others')
    assert "with integers beyond s8; expected from -128 to 127" in str(refusal(lambda: warpbit.gemm(MMA["s8"], [[128]], [[1]])))
    assert "x is in" not in str(refusal(lambda: warpbit.gemm(MMA["f16"], [[float("inf"), 1e6]], [[1.0]] * 2)))


def test_gpus_are_refused_with_the_remedy():
    cupy = type("ndarray", (OnGpu,), {"__module__": "cupy._core.core"})()
    assert str(refusal(lambda: warpbit.gemm(MMA["f16"], cupy, np.float16(B)))).endswith(
        "it is in the memory of a GPU; expected a copy in the memory of this computer: x.get()")
    assert "a copy in the memory of this computer" in str(refusal(lambda: warpbit.encode("f16", OnGpu())))


# ---- Results

def test_results_have_the_dtype_of_their_format(monkeypatch):
    half = warpbit.Instruction("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "sm_90")
    codes = np.uint16(CODES["f16"]).reshape(2, 2, 2)
    done = warpbit.gemm(half, *codes)
    assert (done.d.dtype, done.format) == (np.float16, "f16") and done.d.tolist() == D
    assert done.codes.dtype == np.uint16 and done.codes.tolist() == [[0x4CC0, 0x4D80], [0x5160, 0x5240]]
    bf16 = [[0x4198, 0x41B0], [0x422C, 0x4248]]
    done = warpbit.gemm(half, *codes, order="store=bf16")
    assert done.format == "bf16" and done.d.dtype == np.uint16 and done.d.tolist() == bf16 and warpbit.decode("bf16", done.d).tolist() == D
    # Where ml_dtypes is installed, its type.
    ml_dtypes = types.ModuleType("ml_dtypes")
    ml_dtypes.bfloat16 = np.dtype([("bfloat16", np.uint16)])
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", ml_dtypes)
    done = warpbit.gemm(half, *codes, order="store=bf16")
    assert done.d.dtype == ml_dtypes.bfloat16 and done.codes.tolist() == bf16


# ---- Launches

KERNEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry twice(.param .u64 x) {
.reg .b64 %d<3>; .reg .b32 %r<3>; .reg .b16 %h<3>;
ld.param.u64 %d1, [x]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 2; add.u64 %d1, %d1, %d2;
ld.global.u16 %h1, [%d1]; add.u16 %h2, %h1, 128; st.global.u16 [%d1], %h2; ret; }
"""


def test_launches_take_tensors(monkeypatch):
    torch = stand_ins.torch(monkeypatch)
    twice = warpbit.RawModule(code=KERNEL).get_function("twice")
    first, after = np.uint16(CODES["bf16"][:2]), [0x4000, 0x4080]  # 2 and 4: the exponent plus 1
    for held_by in (lambda x: stand_ins.Tensor(x, torch.bfloat16), lambda x: Shared(x, 4), lambda x: x, memoryview, lambda x: x.view(np.int16)):
        memory = first.copy()
        twice(1, 2, [held_by(memory)])
        assert memory.tolist() == after
    for x, message in ((OnGpu(), "in the memory of a GPU"), (stand_ins.Tensor(first, torch.bfloat16, "cuda:0"), "x.cpu()"),
                       (Frame(first), "shares no memory; expected np.asarray(x)"), ([1, 2], "object of type list"),
                       (first.copy()[::-1], "not C-contiguous")):
        assert message in str(refusal(lambda: twice(1, 2, [x])))


@pytest.mark.parametrize("code, message", [
    ('#include <cuda_bf16.h>\nextern "C" __global__ void f() {}', "CUDA C++; expected PTX: nvcc -ptx -arch=sm_90a"),
    (b"\x7fELF\x02\x01", "a cubin or another ELF file, which is compiled; expected PTX: cuobjdump -ptx"),
    (b"\x50\xed\x55\xba\x01\x00", "a fatbin, which is compiled; expected PTX: cuobjdump -ptx"),
])
def test_modules_that_are_no_ptx(code, message):
    assert message in str(refusal(lambda: warpbit.RawModule(code=code)))


# ---- Errors

def test_errors_print_no_array():
    x = np.full((64, 64), 7.5, np.float32)
    with pytest.raises(TypeError) as raised:
        warpbit.gemm("mma.m16n8k16.f32.f16", x, x)
    assert "'mma.m16n8k16.f32.f16', float32 of shape (64, 64), float32 of shape (64, 64)" in str(raised.value)
    assert "7.5" not in str(raised.value)
    with pytest.raises(TypeError) as raised:
        warpbit.gemm(MMA["f16"], x, x, threads=x)
    assert "threads=float32 of shape (64, 64)" in str(raised.value) and "7.5" not in str(raised.value)
    with pytest.raises(TypeError) as raised:
        MMA["f16"].operand(x)
    assert "7.5" not in str(raised.value)
