# SPDX-License-Identifier: Apache-2.0
"""Arrays as people hold them: what their dtype says counts, exactly, or a sentence says why not."""

import numpy as np
import pytest

import stand_ins
import warpbit
from conftest import SM_80, SM_90, refusal
from warpbit import _core

BF16 = warpbit.Instruction("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "sm_90")
TF32 = warpbit.Instruction("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "sm_90")
E4M3 = warpbit.Instruction("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "sm_90")
S8 = warpbit.Instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "sm_90")
S8_U8 = warpbit.Instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", "sm_90")

# kind, name and bytes, as ml_dtypes 0.5 and NumPy have them.
DTYPES = {
    ("V", "bfloat16", 2): "bf16", ("V", "float8_e4m3fn", 1): "e4m3", ("V", "float8_e5m2", 1): "e5m2",
    ("V", "float8_e8m0fnu", 1): "ue8m0", ("V", "float6_e2m3fn", 1): "e2m3", ("V", "float6_e3m2fn", 1): "e3m2",
    ("V", "float4_e2m1fn", 1): "e2m1", ("V", "int4", 1): "s4", ("V", "uint4", 1): "u4", ("f", "float16", 2): "f16",
    ("f", "float32", 4): "f32", ("f", "float64", 8): "f64", ("i", "int8", 1): "s8", ("i", "int32", 4): "s32",
    ("f", "float8_e5m2", 1): "e5m2",  # whatever the kind
    ("u", "uint8", 1): "", ("u", "uint64", 8): "",
    ("V", "float8_e4m3fnuz", 1): None, ("V", "float8_e4m3", 1): None, ("V", "float8_e4m3b11fnuz", 1): None,
    ("V", "int2", 1): None, ("f", "float128", 16): None, ("i", "int16", 2): "", ("i", "int64", 8): "",
    ("V", "bfloat16", 4): None, ("V", "void16", 2): None, ("b", "bool", 1): None, ("O", "object", 8): None,
    ("V", "half", 2): None, ("V", "tensorfloat32", 4): None, ("V", "e4m3", 1): None, ("M", "datetime64[ns]", 8): None,
}


def test_formats_of_dtypes():
    assert {key: _core._format_of_items(*key) for key in DTYPES} == DTYPES


def test_numbers_give_numbers():
    a, b = np.float16([[1, 2]]), np.asfortranarray(np.float16([[0.5, 3], [0.25, -1]]))
    d = warpbit.gemm(SM_90, a, b).d
    assert d.dtype == np.float32 and d.tolist() == [[1, 1]]
    assert warpbit.gemm(SM_90, a, b, np.float32([[1, -1]])).d.tolist() == [[2, 0]]
    x, y = np.int8([[-3, 2]]), np.int8([[5], [7]])
    assert warpbit.gemm(S8, x, y).d.dtype == np.int32 and warpbit.gemm(S8, x, y).d.tolist() == [[-1]]
    assert warpbit.gemm(S8, x, y, np.int32([[-9]])).d.tolist() == [[-10]]
    assert warpbit.gemm(S8_U8, x, y.view(np.uint8)).d.tolist() == [[-1]]  # uint8 is the type of u8 itself
    f64 = warpbit.Instruction("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64.rn", "sm_90")
    assert warpbit.gemm(f64, np.float64([[0.1]]), np.float64([[3]])).d.tolist() == [[0.1 * 3]]


def test_codes_give_numbers():
    a, b = np.float16([[1, 2]]), np.float16([[3], [4]])
    for arrays in ((a.view(np.uint16), b), (a, b.view(np.uint16)), (a, b, np.uint32([[0]])), (a.view(np.uint16), b.view(np.uint16))):
        done = warpbit.gemm(SM_90, *arrays)
        assert done.d.dtype == np.float32 and done.d.tolist() == [[11]] and done.codes.tolist() == [[0x41300000]]
    out = np.zeros((1, 1), np.uint32)
    assert warpbit.gemm(SM_90, a, b, out=out).d is out
    out = np.zeros((1, 1), np.float32)
    assert warpbit.gemm(SM_90, a, b, out=out).d is out and out.tolist() == [[11]]
    u8 = warpbit.Instruction("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32", "sm_90")
    assert warpbit.gemm(u8, np.uint8([[200]]), np.uint8([[2]])).d.dtype == np.int32


def test_orders_and_strides():
    wide = np.arange(64 * 64, dtype=np.float16).reshape(64, 64) % 7
    for a in (wide, np.asfortranarray(wide), wide.T, wide[::-1, ::3], wide[5:6], np.broadcast_to(wide[0], (4, 64))):
        b = a.T
        assert np.array_equal(warpbit.gemm(SM_90, a, b).d, a.astype(np.float32) @ b.astype(np.float32))


def test_float32_for_tf32():
    # Below 1 + 2^-10, and in the middle between 1 and that.
    a, one = np.array([[0x3F801FFF], [0x3F801000]], np.uint32).view(np.float32), np.float32([[1]])
    for order, expected in {"ascending": (1, 1), "tf32=rz": (1, 1), "tf32=rn": (1 + 2**-10, 1), "tf32=rna": (1 + 2**-10,) * 2}.items():
        d = warpbit.gemm(TF32, a, one, order=order).d
        assert d.dtype == np.float32 and d[:, 0].tolist() == list(expected)
        assert warpbit.gemm(TF32, a.view(np.uint32), one.view(np.uint32), order=order).d.view(np.float32)[:, 0].tolist() == list(expected)
    assert warpbit.explain(TF32, a[0], one[0]).code == warpbit.explain(TF32, a[0].view(np.uint32), one[0].view(np.uint32)).code == 0x3F800000
    registers = [np.full((32, count), a[0, 0], np.float32) for count in (4, 2, 4)]
    assert np.array_equal(warpbit.execute(TF32, *registers).d, warpbit.execute(TF32, *(r.view(np.uint32) for r in registers)).d)


@pytest.mark.parametrize("call, message", [
    (lambda: warpbit.gemm(S8, np.full((2, 2), 128, np.int16), np.ones((2, 2), np.int8)), "A is int16 of shape (2, 2) with integers beyond s8"),
    (lambda: warpbit.gemm(S8_U8, np.int8([[1]]), np.int8([[-1]])), "B is int8 of shape (1, 1) with integers beyond u8; expected from 0 to 255"),
    (lambda: warpbit.gemm(SM_90, np.ones((1, 1), ">f2"), np.ones((1, 1), np.float16)), "A is >f2 of shape (1, 1); expected codes, uint16"),
    (lambda: warpbit.gemm(SM_90, np.ones((1, 1), np.float16), np.ones((1, 1), np.float16), out=[[0]]),
     "out is object of type list; expected uint32 or float32 with two dimensions"),
    (lambda: warpbit.execute(SM_90, [[1]], [[1]], [[1]]), "scatter makes them of a matrix, scatter_values of one of numbers"),
])
def test_refusals(call, message):
    assert message in str(refusal(call))


# ---- Numbers where codes are meant

def test_numbers_of_an_element():
    wanted = warpbit.explain(SM_90, np.uint16([0x3C00, 0x3800]), np.uint16([0x4000, 0x4400]), np.uint32(0x3F800000))
    for a in ([1.0, 0.5], (1.0, 0.5), np.float16([1, 0.5]), np.float32([1, 0.5]), np.array([1, 0.5]), list(np.float16([1, 0.5]))):
        for c in (1, 1.0, np.float32(1), np.uint32(0x3F800000)):
            assert warpbit.explain(SM_90, a, [2.0, 4.0], c) == wanted
    pair = warpbit.compare([SM_80, SM_90], [1.0], [2.0]).explanations
    assert [e.result.decimal() for e in pair] == ["2", "2"]
    assert warpbit.explain(S8, np.int8([-1]), [3.0]).code == 0xFFFFFFFD
    assert warpbit.explain(SM_90, [-0.0], [1.0], -0.0).code == 0


@pytest.mark.parametrize("arguments, message", [
    (([0.1], [1.0]), "a is 0.1 at [0]; expected numbers that f16 holds exactly; warpbit.encode"),
    (([1.0], [1e6]), "b is 1000000.0 at [0]; expected numbers that f16 holds"),
    (([1.0], [1.0], 0.1), "c is 0.1 at []; expected numbers that f32 holds"),
    (([1.0], [2049]), "b is 2049.0 at [0]; expected numbers that f16 holds"),
    ((["1"], [1.0]), "a is object of type list; expected codes, uint16, or numbers that f16"),
    ((np.ones((1, 1)), [1.0]), "a is float64 of shape (1, 1); expected a row of A or a column of B: one dimension"),
    ((np.int8([1]), [1.0]), "a is int8 of shape (1,); expected codes, uint16"),
    (([1.0], [1.0], [1.0]), "c is object of type list; expected one number"),
    (([1.0], [1.0], 0, [1.0]), "a_scale is given; expected none"),
])
def test_refused_numbers(arguments, message):
    assert message in str(refusal(lambda: warpbit.explain(SM_90, *arguments)))


def test_numbers_without_a_sign_or_a_nan():
    assert "a is -0.0 at [0]; expected numbers that s8 holds" in str(refusal(lambda: warpbit.explain(S8, [-0.0], [1.0])))
    assert warpbit.explain(SM_90, [float("nan")], [1.0]).code == 0x7FFFFFFF


# ---- PyTorch's tensors

def test_tensors(monkeypatch):
    torch = stand_ins.torch(monkeypatch)
    codes = warpbit.encode("bf16", np.arange(-8, 8).reshape(4, 4))
    a = stand_ins.Tensor(codes, torch.bfloat16, requires_grad=True)
    b = stand_ins.Tensor(codes.T, torch.bfloat16)
    numbers = np.arange(-8, 8).reshape(4, 4).astype(np.float32)
    d = warpbit.gemm(BF16, a, b).d
    assert d.dtype == np.float32 and np.array_equal(d, numbers @ numbers.T)
    assert np.array_equal(warpbit.gemm(BF16, a, b, stand_ins.Tensor(d, torch.float32)).d, 2 * d)
    assert np.array_equal(warpbit.decode("bf16", a), numbers) and np.array_equal(warpbit.encode("e4m3", a), warpbit.encode("e4m3", numbers))
    out = stand_ins.Tensor(np.zeros((4, 4), np.float32), torch.float32)
    warpbit.gemm(BF16, a, b, out=out)
    assert np.array_equal(out.array, d)
    eight = stand_ins.Tensor(warpbit.encode("e4m3", numbers), torch.float8_e4m3fn)
    assert np.array_equal(warpbit.gemm(E4M3, eight, eight).d, numbers @ numbers)
    assert warpbit.explain(BF16, stand_ins.Tensor(codes[0], torch.bfloat16), [1.0] * 4).result.decimal() == "-26"
    assert np.array_equal(warpbit.gemm(SM_90, a, b).d, d)  # numbers that f16 holds, too
    away = stand_ins.Tensor(codes, torch.bfloat16, device="cuda:0")
    assert str(refusal(lambda: warpbit.gemm(BF16, away, b))) == "tensor: it is on cuda:0; expected a tensor on the CPU: x.cpu()"
    pairs = stand_ins.Tensor(np.zeros((4, 4), np.uint8), torch.float4_e2m1fn_x2)
    assert "torch.float4_e2m1fn_x2 of shape (4, 4); expected" in str(refusal(lambda: warpbit.decode("e2m1", pairs)))


# ---- ml_dtypes itself, where it is installed

@np.errstate(invalid="ignore")  # signalling NaNs
def test_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for (_, name, bytes), format in DTYPES.items():
        if hasattr(ml_dtypes, name) and np.dtype(getattr(ml_dtypes, name)).itemsize == bytes:
            dtype = np.dtype(getattr(ml_dtypes, name))
            assert dtype.name == name and _core._format_of_items(dtype.kind, dtype.name, dtype.itemsize) == format
            if not format:
                continue
            bits = warpbit.format(format).bits
            array = np.arange(1 << bits, dtype=warpbit.format(format).dtype).view(dtype)
            assert np.array_equal(warpbit.decode(format, array), array.astype(np.float64), equal_nan=True)
    numbers = np.arange(-8, 8).reshape(4, 4).astype(np.float32)
    a = numbers.astype(ml_dtypes.bfloat16)
    assert np.array_equal(warpbit.gemm(BF16, a, np.asfortranarray(a)).d, numbers @ numbers)
    a = numbers.astype(ml_dtypes.int4)
    s4 = warpbit.Instruction("mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32", "sm_80")
    assert np.array_equal(warpbit.gemm(s4, a, a).d, numbers @ numbers)
    assert warpbit.explain(BF16, [ml_dtypes.bfloat16(2)], [3.0]).result.decimal() == "6"
