#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products of matrices in orders that are known, since the loops of the kernels are ours: Triton's dot in loops over K, as a recording
of the kind `product` whose records have their `order`:

    tools/capture/ordered_products.py FOLDER [--driver VERSION] [--date DAY]

Needs PyTorch and Triton. Numbers repeat themselves after some thousand, as in reductions.py.
"""
import torch
import triton
import triton.language as tl

import reductions
from reductions import NAMES, bf16, e4m3, f16, f32


@triton.jit
def multiply(a, b, d, M, N, K, run, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BACK: tl.constexpr, EACH: tl.constexpr,
             TWO: tl.constexpr, TF32: tl.constexpr):
    """A tile of a run of K. BACK: from the last BK to the first; EACH: each BK has a sum of its own, which is added; TWO: even and odd
    BK have one each."""
    rows, columns, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    part = tl.program_id(2)
    first = part * run
    steps = tl.cdiv(tl.minimum(first + run, K) - first, BK)
    sums, others = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN), tl.float32)
    for step in range(0, steps):
        at = first + (steps - 1 - step if BACK else step) * BK + k
        left = tl.load(a + rows[:, None] * K + at[None, :], mask=(at < K)[None, :], other=0.0)
        right = tl.load(b + at[:, None] * N + columns[None, :], mask=(at < K)[:, None], other=0.0)
        if EACH:
            sums += tl.dot(left, right, input_precision=TF32)
        elif TWO:
            others, sums = tl.dot(left, right, sums, input_precision=TF32), others
        else:
            sums = tl.dot(left, right, sums, input_precision=TF32)
    if TWO:
        sums += others
    tl.store(d + part * M * N + rows[:, None] * N + columns[None, :], sums.to(d.dtype.element_ty))


@triton.jit
def merge(parts, d, count, SIZE: tl.constexpr, S: tl.constexpr):
    """The sums of runs, ascending."""
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    total = tl.zeros((SIZE,), tl.float32)
    for part in tl.static_range(S):
        total += tl.load(parts + part * count + at).to(tl.float32)
    tl.store(d + at, total.to(d.dtype.element_ty))


def product(a, b, out, block_k=32, split=1, back=False, each=False, two=False, partials=f32, tf32="tf32"):
    M, K, N = a.shape[0], a.shape[1], b.shape[1]
    d = torch.empty((M, N), dtype=out, device="cuda")
    parts = torch.empty((split, M, N), dtype=partials, device="cuda") if split > 1 else d
    run = triton.cdiv(triton.cdiv(K, split), block_k) * block_k
    multiply[(M // 64, N // 64, split)](a, b, parts, M, N, K, run, BM=64, BN=64, BK=block_k, BACK=back, EACH=each, TWO=two, TF32=tf32)
    if split > 1:
        merge[(M * N // 1024,)](parts, d, M * N, SIZE=1024, S=split)
    return d


# The format of A and B, that of D, K, what product() is told, and the order in words. A sum of its own for each BK is one of e4m3
# alone: of other types Triton adds to the sums in place.
CASES = [(dtype, out, K, how, words)
         for dtype in (f16, bf16, e4m3)
         for out in ((f32, f16) if dtype == f16 else (f32, bf16))
         for K, how, words in (
             (512, {}, ""), (1000, {"block_k": 64}, ""), (2048, {"split": 4}, "split_k=4"), (2048, {"split": 2, "block_k": 64}, "split_k=2"),
             (1536, {"split": 3}, "split_k=3"), *((depth, {"block_k": block, "each": True}, f"promote={block}" if dtype == e4m3 else "")
                                                  for depth, block in ((1024, 128), (1024, 64), (512, 32))))]
CASES += [(f16, f32, 512, {"block_k": 16, "back": True}, "descending"), (bf16, f32, 512, {"block_k": 16, "back": True}, "descending"),
          (f16, f32, 1024, {"two": True}, "sliced=2x32"), (bf16, f32, 1024, {"two": True, "block_k": 64}, "sliced=2x64"),
          (f16, f16, 2048, {"split": 4, "partials": f16}, "split_k=4 partials=f16"),
          (bf16, bf16, 2048, {"split": 2, "partials": bf16}, "split_k=2 partials=bf16"),
          (f32, f32, 512, {}, "tf32=rz"), (f32, f32, 1024, {"split": 2}, "split_k=2 tf32=rz"),
          (f32, f32, 512, {"each": True}, "tf32=rz")]


def products(r):
    for dtype, out, K, how, words in CASES:
        name = f"{NAMES[dtype]}.{NAMES[out]}.{K}." + (".".join(f"{key}={NAMES.get(how[key], how[key])}" for key in how) or "plain")
        try:
            a, b = (reductions.numbers(shape, f32).to(dtype) for shape in ((64, K), (K, 128)))
            d = product(a, b, out, **how)
            order = " ".join(filter(None, [words, "" if out == f32 else f"store={NAMES[out]}"])) or "ascending"
            r.records.append({"kind": "product", "name": name, "op": "mm", "a": r.array(a), "b": r.array(b), "d": r.array(d), "kernels": [],
                              "order": order, "library": f"triton {triton.__version__}", "stable": bool(torch.equal(d, product(a, b, out, **how)))})
        except Exception as error:  # a type that this GPU or Triton has not
            r.failed.append(f"{name}: {error!r}"[:300])


if __name__ == "__main__":
    reductions.run("tools/capture/ordered_products.py", __doc__, (products,))
