# SPDX-License-Identifier: Apache-2.0
"""The hardware's functions on arrays: what an H100 left (golden-digests/scalar/, golden/sm_90a/cvt/), and by hand."""

import importlib.util
import json
import sys
import zipfile

import numpy as np
import pytest

import stand_ins
import warpbit
from conftest import GOLDEN, arrays_of, refusal

with zipfile.ZipFile("golden-digests/scalar/sm_90a.zip") as archive:
    RECORDS = [json.loads(line) for line in archive.read("recording.jsonl").splitlines()[1:]]
# Of the boundary values and draws of a form; those of all values have `first`.
DIGESTS = {(one["form"], one["operands"]): (one["elements"], one["digests"]) for one in RECORDS if "first" not in one}


@pytest.fixture(scope="module")
def recorder():
    """The program that recorded them, which makes the inputs."""
    spec = importlib.util.spec_from_file_location("record_scalar", "tools/capture/record_scalar.py")
    made = importlib.util.module_from_spec(spec)
    sys.path.insert(0, "tools/capture")  # what it imports
    spec.loader.exec_module(made)
    sys.path.remove("tools/capture")
    return made


@np.errstate(over="ignore")
def digests_of(words):
    position = np.arange(1, words.size + 1, dtype=np.uint64)
    x = words.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15) * position
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    x ^= x >> np.uint64(31)
    return [f"{int(x[i:i + 4096].sum(dtype=np.uint64)):016x}" for i in range(0, x.size, 4096)]


FORMS = [("ex2", "ex2.approx.f32", {}), ("ex2", "ex2.approx.ftz.f32", {"ftz": True}), ("lg2", "lg2.approx.f32", {}),
         ("rcp", "rcp.approx.f32", {}), ("rcp", "rcp.approx.ftz.f32", {"ftz": True}), ("rsqrt", "rsqrt.approx.f32", {}),
         ("sqrt_approx", "sqrt.approx.f32", {}), ("sqrt_approx", "sqrt.approx.ftz.f32", {"ftz": True}), ("sin", "sin.approx.f32", {}),
         ("cos", "cos.approx.f32", {}), ("tanh", "tanh.approx.f32", {}), ("ex2", "ex2.approx.f16", {}), ("tanh", "tanh.approx.f16", {}),
         ("rcp", "rcp.approx.ftz.f64", {}), ("rsqrt", "rsqrt.approx.f64", {})]


@pytest.mark.parametrize("function, form, options", FORMS, ids=[form for _, form, _ in FORMS])
def test_as_an_h100_left_it(recorder, function, form, options):
    dtype = {"f16": np.uint16, "f32": np.uint32, "f64": np.uint64}[form.rpartition(".")[2]]
    x, = recorder.inputs(recorder.Form(form, "d:T a:T"))
    y = getattr(warpbit, function)(x.astype(dtype).view(f"f{dtype().itemsize}"), target="H100", **options)
    assert y.dtype.kind == "f" and (y.size, digests_of(y.view(dtype))) == DIGESTS[form, "d:T a:T"]
    assert warpbit.inferences(function, "H100", form.rpartition(".")[2]) == []


def test_bf16(monkeypatch, recorder):
    torch = stand_ins.torch(monkeypatch)
    for function, form in (("tanh", "tanh.approx.bf16"), ("ex2", "ex2.approx.ftz.bf16")):
        x, = recorder.inputs(recorder.Form(form, "d:T a:T"))
        y = getattr(warpbit, function)(stand_ins.Tensor(x.astype(np.uint16), torch.bfloat16), target="H100")
        assert y.dtype == np.uint16 and (y.size, digests_of(y)) == DIGESTS[form, "d:T a:T"]


def test_values_and_shapes():
    assert warpbit.ex2(3, target="H100") == 8 and warpbit.ex2([0.0, -1, 4], target="A100").tolist() == [1, 0.5, 16]
    assert warpbit.ex2(np.zeros((2, 0, 3), np.float32), target="H100").shape == (2, 0, 3)
    x = np.float32([[1, 4], [16, 64]])
    assert warpbit.rsqrt(x.T, target="H100").tolist() == [[1, 0.25], [0.5, 0.125]]
    assert warpbit.lg2(x[::-1], target="B200").tolist() == [[4, 6], [0, 2]]
    assert np.isnan(warpbit.lg2(np.float32(-1), target="H100"))
    found = warpbit.inferences("ex2", "B200")
    assert found and found[0].instruction == "ex2.approx.f32" and "H100" in found[0].source
    assert warpbit.inferences("cvt", "H100", "e4m3") == []


@pytest.mark.parametrize("to", ["e4m3", "e5m2"])
def test_pairs_as_an_h100_left_them(to):
    file = arrays_of(GOLDEN + f"cvt/cvt_rn_satfinite_{to}x2_f32.npz")
    pairs = file["d"].ravel().astype(np.uint32)
    for source, byte in (("b", pairs & 0xFF), ("a", pairs >> 8)):
        got = warpbit.cvt(file[source].ravel().view(np.float32), to, target="H100")
        assert got.dtype == np.uint8 and np.array_equal(got, byte)
    file = arrays_of(GOLDEN + f"cvt/cvt_rn_f16x2_{to}x2.npz")
    torch_like = file["a"].ravel().astype(np.uint16).view(np.uint8).reshape(-1, 2)[:, 0]
    back = warpbit.decode(to, torch_like)
    assert np.array_equal(back, (file["d"].ravel() & 0xFFFF).astype(np.uint16).view(np.float16).astype(float), equal_nan=True)


def test_conversions():
    x = np.float32([0.1, 1000, -1e9, np.nan, 2**-20])
    assert warpbit.cvt(x, "e4m3", target="H100").tolist() == [0x1D, 0x7E, 0xFE, 0x7F, 0]  # saturates, always
    assert warpbit.encode("e4m3", x).tolist() == [0x1D, 0x7F, 0x7F, 0x7F, 0] and warpbit.encode("e4m3", x[:3], satfinite=True).tolist() == [0x1D, 0x7E, 0xFE]
    assert warpbit.cvt(x[:3], "e5m2", target="H100").tolist() == [0x2E, 0x64, 0xFB]
    assert warpbit.cvt(np.float32([0.26, 5, 100, -0.75]), "e2m1", target="B200").tolist() == [1, 6, 7, 0xA]
    assert warpbit.cvt(np.float32([1, 3, 0.5]), "ue8m0", target="B200").tolist() == [127, 129, 126]  # up
    assert warpbit.cvt(np.float32([1, 3, 0.5]), "ue8m0", target="B200", rounding="rz").tolist() == [127, 128, 126]
    near = np.float32([1.0007])  # between 1 and 1 + 2^-10
    half = warpbit.cvt(near, "f16", target="H100")
    assert half.dtype == np.float16 and half[0] == 1 + 2**-10 and warpbit.cvt(near, "f16", target="H100", rounding="rz")[0] == 1
    assert warpbit.cvt(np.float64([0.1]), "f32", target="H100")[0] == np.float32(0.1)
    assert warpbit.cvt(np.float16([0.1]), "f32", target="H100")[0] == np.float32(np.float16(0.1))
    tf32 = warpbit.cvt(np.uint32([0x3F801FFF]).view(np.float32), "tf32", target="H100", rounding="rna")
    assert tf32.dtype == np.float32 and tf32[0] == 1 + 2**-10
    assert warpbit.cvt(np.float32([2.5, -3.5]), "s32", target="H100").tolist() == [2, -4]


@pytest.mark.parametrize("call, message", [
    (lambda: warpbit.tanh(np.float64([1]), target="H100"), "tanh: x of f64; expected an array of f32 f16 bf16"),
    (lambda: warpbit.ex2(np.uint32([1]), target="H100"), "x is uint32 of shape (1,); expected an array whose dtype says its format"),
    (lambda: warpbit.ex2(np.float32([1]), target="B200", allow_inferred=False), "infer"),
    (lambda: warpbit.cvt(np.float32([1]), "e4m3", target="A100"), "sm_80"),
    (lambda: warpbit.cvt(np.float64([1]), "e4m3", target="H100"), "x of f64; expected float32"),
    (lambda: warpbit.cvt(np.float32([1]), "u4", target="H100"), "the result of u4; expected one of f32, f16"),
    (lambda: warpbit.inferences("exp", "H100"), "'exp'; expected ex2, lg2"),
])
def test_refusals(call, message):
    assert message in str(refusal(call))
