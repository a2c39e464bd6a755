# SPDX-License-Identifier: Apache-2.0
"""Kernels in Triton that record_kernels.py --triton records, and how it compiles them for the GPU of this machine."""
import os

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # the PTX shall have no path of this machine

import numpy as np
import torch
import triton
import triton.language as tl

from kernel_cases import Array, Generator, Scalar, with_specials

TYPES = {"float32": torch.float32, "float16": torch.float16, "int8": torch.int8, "int32": torch.int32,
         "float8_e4m3fn": torch.float8_e4m3fn}


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    weights = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * n + at, weights / tl.sum(weights, axis=0), mask=at < n)


@triton.jit
def layernorm(x, weight, bias, y, n, epsilon, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside = at < n
    values = tl.load(x + row * n + at, mask=inside, other=0.0).to(tl.float32)
    centered = tl.where(inside, values - tl.sum(values, axis=0) / n, 0.0)
    factor = tl.rsqrt(tl.sum(centered * centered, axis=0) / n + epsilon)
    scaled = centered * factor * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
    tl.store(y + row * n + at, scaled.to(tl.float16), mask=inside)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SUM: tl.constexpr):
    rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), dtype=SUM)
    for at in range(0, K, BK):
        inside = depth + at < K
        left = tl.load(a + rows[:, None] * K + depth + at, mask=(rows < M)[:, None] & inside[None, :], other=0.0)
        right = tl.load(b + columns[None, :] * K + (depth + at)[:, None], mask=(columns < N)[None, :] & inside[:, None],
                        other=0.0)
        sums = tl.dot(left, right, sums, out_dtype=SUM)
    tl.store(c + rows[:, None] * N + columns, sums, mask=(rows < M)[:, None] & (columns < N)[None, :])


@triton.jit
def cumsum(x, y, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * n + at, mask=at < n, other=0)
    tl.store(y + row * n + at, tl.cumsum(values, axis=0), mask=at < n)


@triton.jit
def sort(x, y, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(y + row * BLOCK + at, tl.sort(tl.load(x + row * BLOCK + at)))


class Case:
    def __init__(self, name, kernel, grid, outputs, arguments, constants, warps=4):
        self.name, self.kernel, self.grid, self.outputs = name, kernel, [*grid, 1, 1][:3], outputs.split()
        self.arguments, self.constants, self.warps = arguments, constants, warps


def rows(name, n, columns, dtype=np.float32):
    return with_specials(Generator(name).normal(n, columns, scale=2).astype(dtype))


def products(name, dtype, result):
    """A and B by rows, both with K in a row; C. Numbers of 8 bits as codes."""
    r, (m, n, k) = Generator(name), (70, 80, 144)
    a, b = (r.integers(-128, 128, (size, k), np.int8) for size in (m, n))
    if dtype != "int8":  # of e4m3 the two NaNs only in one row, and no large numbers elsewhere
        a, b = ((x.view(np.uint8) & 0xBF) for x in (a, b))
        a[3, 5], a[7], b[9, 4] = 0x7F, a[7] | 0x40, 0x7E
        a[7][(a[7] & 0x7F) == 0x7F] = 0
    return [Array("a", a, dtype), Array("b", b, dtype), Array("c", np.full((m, n), -1, result)), Scalar("M", "s32", m),
            Scalar("N", "s32", n), Scalar("K", "s32", k)]


def table():
    r = Generator("triton")
    x = rows("triton_softmax", 19, 300)
    yield Case("triton_softmax_300", softmax, (19,), "y",
               [Array("x", x), Array("y", np.full_like(x, -1)), Scalar("n", "s32", 300)], {"BLOCK": 512})
    x = rows("triton_layernorm", 19, 500, np.float16)
    yield Case("triton_layernorm", layernorm, (19,), "y",
               [Array("x", x), Array("weight", r.normal(500)), Array("bias", r.normal(500)),
                Array("y", np.full_like(x, -1)), Scalar("n", "s32", 500), Scalar("epsilon", "f32", 1e-5)],
               {"BLOCK": 512}, warps=2)
    blocks = {"BM": 64, "BN": 32, "BK": 64}
    yield Case("triton_matmul_fp8", matmul, (2, 3), "c", products("fp8", "float8_e4m3fn", np.float32),
               {**blocks, "SUM": tl.float32})
    yield Case("triton_matmul_int8", matmul, (2, 3), "c", products("int8", "int8", np.int32),
               {**blocks, "SUM": tl.int32})
    x = r.integers(-(2**31), 2**31 - 1, (5, 700))
    yield Case("triton_cumsum", cumsum, (5,), "y",
               [Array("x", x), Array("y", np.zeros_like(x)), Scalar("n", "s32", 700)], {"BLOCK": 1024})
    x = r.normal(5, 256)
    x[1] = np.round(x[1])
    yield Case("triton_sort", sort, (5,), "y", [Array("x", x), Array("y", np.zeros_like(x))], {"BLOCK": 256})


CASES = list(table())


def prepare(case, out, write_case):
    """Compiles a case and writes its folder."""
    values = [TYPES[a.dtype] if isinstance(a, Array) else a.value for a in case.arguments]
    compiled = case.kernel.warmup(*values, grid=tuple(case.grid), num_warps=case.warps, **case.constants)
    meta = compiled.metadata
    folder = out / case.name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.ptx").write_text(compiled.asm["ptx"])
    about = {"entry": meta.name, "grid": case.grid, "block": [32 * meta.num_warps, 1, 1], "shared": meta.shared,
             "cluster": [1, 1, 1], "outputs": case.outputs, "triton": triton.__version__, "prints": False,
             "meta": {k: str(v) for k, v in case.constants.items()}}
    scratch = getattr(meta, "global_scratch_size", 0), getattr(meta, "profile_scratch_size", 0)
    if any(scratch):
        raise ValueError(f"{case.name}: needs scratch buffers of {scratch} bytes")
    write_case(folder, about, case.arguments, scratch=2)
    return [folder]
