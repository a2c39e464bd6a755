# SPDX-License-Identifier: Apache-2.0
"""examples/plugins/ on stand-ins of the packages that they are for: what comes out is what a GPU recorded."""

import importlib.util
import types

import numpy as np
import pytest

import stand_ins
import warpbit
from conftest import SM_90

CASES = range(0, 16, 3)


@pytest.fixture()
def matrices(recorded):
    """A, B, C and D of a few cases of CAPTURE, float16 and float32."""
    of = {role: warpbit.gather(SM_90.operand(role), recorded[role]) for role in "abcd"}
    return [tuple(of[role][i].view(np.float16 if role in "ab" else np.float32) for role in "abcd") for i in CASES]


def example(name):
    spec = importlib.util.spec_from_file_location(name, f"examples/plugins/{name}.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def same(x, y):
    return x.dtype == y.dtype and np.array_equal(x.view(np.uint32), y.view(np.uint32))


def handle_of(data, name):
    dtype = type("dtype", (), {"__str__": lambda self: name, "__eq__": lambda self, other: str(self) == str(other),
                               "scalar": property(lambda self: self)})()
    return types.SimpleNamespace(data=data, dtype=dtype)


class InterpreterBuilder:
    """Triton's."""

    def create_dot(self, a, b, d, input_precision, max_num_imprecise_acc):
        return "another dot"


def test_triton(monkeypatch, matrices):
    builder_class = type("InterpreterBuilder", (InterpreterBuilder,), {})
    stand_ins.module(monkeypatch, "triton.runtime.interpreter", InterpreterBuilder=builder_class,
                     TensorHandle=lambda data, dtype: types.SimpleNamespace(data=data, dtype=dtype))
    example("triton_interpreter").install("sm_90")
    builder = builder_class()
    for a, b, c, d in matrices:
        got = builder.create_dot(handle_of(a, "fp16"), handle_of(b, "fp16"), handle_of(c, "fp32"), None, 0)
        assert same(got.data, d) and str(got.dtype) == "fp32"
    batch = [handle_of(np.stack(all_of), name) for all_of, name in zip(zip(*matrices), ("fp16", "fp16", "fp32"))]
    assert same(builder.create_dot(*batch, None, 0).data, np.stack([d for *_, d in matrices]))
    # bf16 lies in uint16: 1.5 x 2 + 0.25
    a, b = np.full((16, 16), 0x3FC0, np.uint16), np.eye(16, dtype=np.uint16) * np.uint16(0x4000)
    got = builder.create_dot(handle_of(a, "bf16"), handle_of(b, "bf16"), handle_of(np.full((16, 16), 0.25, np.float32), "fp32"), None, 0)
    assert (got.data == 3.25).all()
    assert builder.create_dot(handle_of(a, "fp32"), handle_of(b, "fp32"), handle_of(c, "fp32"), None, 0) == "another dot"


def test_triton_scaled(monkeypatch):
    builder_class = type("InterpreterBuilder", (InterpreterBuilder,), {})
    stand_ins.module(monkeypatch, "triton.runtime.interpreter", InterpreterBuilder=builder_class,
                     TensorHandle=lambda data, dtype: types.SimpleNamespace(data=data, dtype=dtype))
    plugin = example("triton_interpreter")
    assert plugin.nibbles(np.uint8([[0x21, 0x43]]), 1).tolist() == [[1, 2, 3, 4]]
    assert plugin.nibbles(np.uint8([[0x21], [0x43]]), 0).tolist() == [[1], [2], [3], [4]]
    plugin.install("sm_120a")
    # Of ones: 32 products of 2 x 4, and 32 of 1 x 1; e2m1's 1 is 2.
    a, b = np.full((16, 64), 0x38, np.uint8), np.full((32, 8), 0x22, np.uint8)
    scales = [np.uint8([[128, 127]] * n) for n in (16, 8)]
    scales[1][:, 0] = 129
    u8 = [handle_of(x, "uint8") for x in (a, scales[0], b, scales[1])]
    got = builder_class().create_dot_scaled(u8[0], u8[1], "ScaleDotElemTypeTY.E4M3", u8[2], u8[3], "ScaleDotElemTypeTY.E2M1",
                                            False, True, True, handle_of(np.full((16, 8), 0.5, np.float32), "fp32"))
    assert got.data.dtype == np.float32 and (got.data == 32 * 8 + 32 + 0.5).all()


def test_tinygrad(monkeypatch, recorded):
    def generic_wmma_helper(inp, warp_size, WARP_THREADS, K, NUM_A, NUM_B, NUM_C, a_elem, b_elem, c_map):
        return "another product"

    ops_python = stand_ins.module(monkeypatch, "tinygrad.runtime.ops_python", generic_wmma_helper=generic_wmma_helper)
    example("tinygrad_emulator").install(target="sm_90")

    # PTX manual, Matrix Fragments for mma.m16n8k16: element i of a lane, two in a register.
    def a_elem(x, k, row, first):
        return x[k % 2 + row // 8 * 2 + k // 8 * 4][first + row % 8 * 4 + k % 8 // 2]

    def b_elem(x, column, k, first):
        return x[k % 2 + k // 8 * 2][first + column * 4 + k % 8 // 2]

    def c_map(lane, i):
        return lane % 4 * 2 + i % 2, lane // 4 + i // 2 * 8

    warps = [7, 12]  # two of them side by side
    def elements(role, dtype):
        registers = np.concatenate([np.ascontiguousarray(recorded[role][case]).view(dtype) for case in warps])
        return [[float(x) for x in column] for column in registers.T]

    inp = [elements("a", np.float16), elements("b", np.float16), elements("c", np.float32)]
    assert [len(x) for x in inp] == [8, 4, 4] and len(inp[0][0]) == 64
    got = ops_python.generic_wmma_helper(inp, 64, 32, 16, 8, 4, 4, a_elem, b_elem, c_map)
    assert np.array_equal(np.float32(got), np.float32(elements("d", np.float32)), equal_nan=True)
    assert ops_python.generic_wmma_helper(inp, 64, 32, 8, 4, 2, 4, a_elem, b_elem, c_map) == "another product"


def test_pallas(monkeypatch, matrices):
    callbacks = stand_ins.module(monkeypatch, "jax._src.pallas.mosaic_gpu.interpret.gpu_callbacks", np=np)
    example("pallas_interpreter").install("sm_90")
    for a, b, c, d in matrices:
        assert same(c + callbacks.np.matmul(a, b, dtype=c.dtype), d)
    assert callbacks.np.eye(2).tolist() == [[1, 0], [0, 1]]
    alone = np.asarray(callbacks.np.matmul(np.full((16, 16), 3, np.float16), np.eye(16, dtype=np.float16), dtype=np.float32))
    assert alone.dtype == np.float32 and (alone == 3).all()
    assert isinstance(callbacks.np.matmul(c, c.T, dtype=np.float32), np.ndarray)


def test_torch(monkeypatch):
    torch = stand_ins.torch(monkeypatch)
    plugin = example("torch_operator")
    # -1 + 2^-25 in each element: Hopper keeps the small product, Ampere cuts it (src/target/NUMERICS.md).
    a, b = np.zeros((16, 16), np.float16), np.zeros((16, 8), np.float16)
    a[:, :2], b[0], b[1] = [-1, 2.0**-12], 1, 2.0**-13
    tensors = [stand_ins.Tensor(x, torch.float16, requires_grad=True) for x in (a, b)]
    for target, bits in ("sm_90", 0xBF7FFFFF), ("sm_80", 0xBF800000):
        assert (plugin.mm(*tensors, target).numpy().view(np.uint32) == bits).all()
    # Every row and column of its own: what is exact.
    a, b = np.arange(256).reshape(16, 16) % 61, np.arange(128).reshape(16, 8) % 13
    tensors = [stand_ins.Tensor(x.astype(np.float16), torch.float16, requires_grad=True) for x in (a, b)]
    assert (plugin.mm(*tensors, "sm_90").numpy() == a @ b).all()
    mode = plugin.Bits("sm_90")
    got = mode.__torch_dispatch__(torch.ops.aten.mm.default, (), tensors)
    assert got.dtype is torch.float16 and (got.numpy() == (a @ b).astype(np.float16)).all()
    assert mode.__torch_dispatch__(lambda *args: "another", (), tensors) == "another"
