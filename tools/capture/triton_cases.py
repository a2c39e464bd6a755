# SPDX-License-Identifier: Apache-2.0
"""Kernels in Triton that record_kernels.py --triton records, and how it compiles them for the GPU of this machine."""
import os
import re

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # the PTX shall have no path of this machine

import numpy as np
import torch
import triton
import triton.language as tl

from hopper_cases import rolled
from kernel_cases import Array, Generator, Scalar, TensorMap, with_specials
from triton.tools.tensor_descriptor import TensorDescriptor

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


@triton.jit
def matmul_by_descriptors(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for at in range(0, K, BK):
        sums = tl.dot(a.load([row, at]), b.load([column, at]).T, sums)
    c.store([row, column], sums.to(tl.float16))


@triton.jit
def matmul_persistent(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BLOCKS: tl.constexpr,
                      SPECIALISED: tl.constexpr):
    left = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    right = tl.make_tensor_descriptor(b, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    result = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    columns = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * columns, BLOCKS, flatten=False,
                         warp_specialize=SPECIALISED):
        row, column = tile // columns * BM, tile % columns * BN
        sums = tl.zeros((BM, BN), dtype=tl.float32)
        for at in range(0, K, BK):
            sums = tl.dot(left.load([row, at]), right.load([column, at]).T, sums)
        result.store([row, column], sums.to(tl.float16))


class Described:
    """An argument that is a descriptor of an array, made by the host, with the blocks that a kernel loads or stores."""

    def __init__(self, array, block):
        self.array, self.name, self.block = array, array.name, block

    def value(self):
        """For the compiler."""
        return TensorDescriptor.from_tensor(torch.empty(self.array.data.shape, dtype=TYPES[self.array.dtype],
                                                        device="cuda"), self.block)

    def parameters(self, meta):
        """The map as Triton's launcher makes it, the shape and the strides."""
        rows, columns = self.array.data.shape
        type, size = {torch.float16: ("f16", 2)}[TYPES[self.array.dtype]]
        if meta["elem_size"] != size:
            raise ValueError(f"{self.name}: elements of {meta['elem_size']} bytes in {meta}")
        map = TensorMap("map_" + self.name, self.array, type, (columns, rows), meta["block_size"][::-1],
                        swizzle=meta["swizzle"], promotion=2)
        return [map, Scalar(self.name + "_rows", "s32", rows), Scalar(self.name + "_columns", "s32", columns),
                Scalar(self.name + "_stride", "s64", columns), Scalar(self.name + "_step", "s64", 1)]


class Case:
    def __init__(self, name, kernel, grid, outputs, arguments, constants, warps=4, stages=3, reference=None):
        self.name, self.kernel, self.grid, self.outputs = name, kernel, [*grid, 1, 1][:3], outputs.split()
        self.arguments, self.constants, self.warps, self.stages = arguments, constants, warps, stages
        self.reference = reference


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


def halves(name, m, n, k):
    """A, B with K in a row, C."""
    r = Generator(name)
    a, b = (rolled(r, size, k).astype(np.float16) for size in (m, n))
    return Array("a", a), Array("b", b), Array("c", np.full((m, n), -1, np.float16))


def product(inputs):
    return {"c": inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64).T}


def descriptors():
    """Tensor maps: of the host, of the kernel; warps of different tasks."""
    m, n, k = 104, 72, 200
    a, b, c = halves("triton_descriptors", m, n, k)
    yield Case("triton_descriptors", matmul_by_descriptors, (2, 2), "c",
               [Described(a, [64, 64]), Described(b, [64, 64]), Described(c, [64, 64]), Scalar("K", "s32", k)],
               {"BM": 64, "BN": 64, "BK": 64}, reference=product)
    for name, rows, warps, specialised in (("triton_persistent", 64, 4, False), ("triton_specialised", 64, 4, True),
                                           ("triton_specialised_128", 128, 8, True)):
        a, b, c = halves(name, m, n, k)
        yield Case(name, matmul_persistent, (2,), "c",
                   [a, b, c, Scalar("M", "s32", m), Scalar("N", "s32", n), Scalar("K", "s32", k)],
                   {"BM": rows, "BN": 64, "BK": 64, "BLOCKS": 2, "SPECIALISED": specialised}, warps=warps,
                   reference=product)


def table():
    yield from descriptors()
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


def value(argument):
    """What the compiler needs to know of an argument."""
    if isinstance(argument, Described):
        return argument.value()
    return TYPES[argument.dtype] if isinstance(argument, Array) else argument.value


def parameters_of(ptx):
    """Those of the kernel: "u32", "b8[128]"."""
    head = re.search(r"\.visible \.entry \w+\((.*?)\)", ptx, re.S).group(1)
    found = re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)[^,\[]*(\[\d+\])?", head)
    return [type + size for type, size in found]


def check_parameters(name, arguments, scratch, ptx):
    """That the compiler has made the parameters that the arguments are for."""
    kinds = {Array: "u64", TensorMap: "b8[128]"}
    expected = [kinds.get(type(a)) or a.type.replace("s", "u") for a in arguments]
    expected += ["u64"] * len(scratch)
    if parameters_of(ptx) != expected:
        raise ValueError(f"{name}: has parameters {parameters_of(ptx)}, expected {expected}")


def prepare(case, out, write_launch):
    """Compiles a case and writes its recording."""
    compiled = case.kernel.warmup(*(value(a) for a in case.arguments), grid=tuple(case.grid), num_warps=case.warps,
                                  num_stages=case.stages, **case.constants)
    meta, ptx = compiled.metadata, compiled.asm["ptx"]
    described = iter(getattr(meta, "tensordesc_meta", None) or [])
    arguments = []
    for a in case.arguments:
        arguments += a.parameters(next(described)) if isinstance(a, Described) else [a]
    scratch = {name: getattr(meta, name + "_size", 0) for name in ("global_scratch", "profile_scratch")}
    if scratch["profile_scratch"]:
        raise ValueError(f"{case.name}: it needs a scratch buffer for profiles")
    check_parameters(case.name, arguments, scratch, ptx)
    threads = re.search(r"\.(?:reqntid|maxntid)\s+(\d+)", ptx)  # also of warps with other tasks
    if not threads:
        raise ValueError(f"{case.name}: the kernel does not say how many threads it has")
    about = {"library": f"triton {triton.__version__}", "entry": meta.name, "grid": case.grid,
             "block": [int(threads.group(1)), 1, 1], "cluster": [1, 1, 1], "shared": meta.shared, "outputs": case.outputs,
             "prints": False, "constants": {k: str(v) for k, v in case.constants.items()}}
    program = f"tools/capture/record_kernels.py --triton --only {case.name}"
    return [write_launch(out / f"{case.name}.zip", program, about, ptx, arguments, scratch)]
