#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products that cuBLAS computes on CUDA cores, for the recorder:

    tools/record/record -o OUT --first 0 --no-kernels -- python3 tools/capture/cuda_core_products.py [--list]

needs PyTorch. tf32 is off. Each shape is computed with random numbers and, if its row says so, with probes.

A probe shows a sum's order. All of B is 1, and so is a row of A but for two elements:

    A[r]   1  1  2^100  1  1  -2^100  1  1        D[r] counts the ones that are added after the two have met
                 i             j

The big number swallows every 1 that is added to it before it meets the other one. Where M is smaller than N the
probes are columns of B, and where both are small the product is computed several times. Of f16, which has no
2^100, the two are 2^15 and the ones 2^-24.

Random numbers are the first ones of a stream for each operand, which repeats itself after some thousand: the rows of a
matrix differ, and yet it takes little room in an archive.
"""
import argparse
import functools

import torch

# Sizes M, N, K; layouts: N a row-major operand, T the transposed view of one; whether probes are of use.
ALL = ("NN", "NT", "TN", "TT")
SINGLE = [
    # tiles, with K below and above their depth
    (16, 16, 16, ALL, True), (17, 19, 23, ("NN",), True), (33, 65, 100, ("NN", "TN"), True), (64, 64, 64, ALL, True),
    (128, 128, 128, ("NN", "NT"), True), (96, 80, 300, ("NN", "TN"), True), (200, 120, 500, ("NN",), True),
    (256, 256, 64, ("NN",), True), (256, 128, 1000, ("TN",), True), (512, 512, 33, ("NN",), True),
    (320, 384, 40, ("TN",), True),
    (512, 256, 8, ("NN",), False), (512, 384, 96, ("NT",), True), (2048, 64, 64, ("NN",), True),
    (64, 2048, 40, ("NN",), False), (100, 1000, 77, ("NN",), True),
    # a long K, which is cut
    (64, 64, 1024, ("NN", "NT"), True), (64, 64, 4096, ("NN", "TN"), True), (32, 32, 2048, ("NN",), True),
    (16, 64, 1023, ("NN", "TN"), True), (128, 64, 777, ("NN",), True), (130, 70, 2047, ("NN",), True),
    (8, 8, 4096, ("NN", "TT"), True), (20, 300, 1500, ("NN",), True),
    # few rows or columns
    (2, 64, 64, ("NN",), True), (4, 256, 300, ("NN", "TN"), True), (3, 5, 7, ("NN",), True), (8, 512, 128, ("NN",), True),
    (300, 2, 256, ("NN",), True), (1000, 8, 100, ("NT",), True), (512, 3, 513, ("TN",), True), (6, 6, 1, ("NN",), False),
    (64, 64, 1, ("NN",), False), (50, 50, 2, ("NN",), False), (40, 40, 4, ("TN",), False),
    # a vector
    (1, 64, 64, ("NN", "NT"), True), (1, 500, 300, ("NN", "NT"), True), (1, 128, 2048, ("NN", "NT"), True),
    (1, 37, 4095, ("NT",), True), (1, 1000, 100, ("NN", "NT"), True), (64, 1, 64, ("NN", "TN"), True),
    (500, 1, 300, ("NN", "TN"), True), (128, 1, 2048, ("NN", "TN"), True), (1000, 1, 99, ("TN",), True),
    (2, 1, 1000, ("NN",), True), (1, 1, 64, ("NN",), True), (1, 1, 1000, ("NN",), True), (1, 1, 3, ("NN",), False),
]
DOUBLE = [
    (1, 64, 100, ("NN", "NT"), True), (64, 1, 300, ("NN", "TN"), True), (2, 40, 128, ("NN",), True),
    (3, 64, 257, ("NN", "TN"), True), (4, 4, 1000, ("NN",), True), (16, 16, 64, ("NN", "TN"), True), (30, 50, 70, ("NN",), True), (64, 64, 512, ("NN",), True),
    (64, 64, 1, ("NN",), False), (1, 1, 500, ("NN",), True),
]
HALF = [
    (1, 64, 64, ("NN", "NT"), True), (1, 300, 500, ("NN", "NT"), True), (1, 128, 1024, ("NT",), True),
    (128, 1, 1024, ("NN", "TN"), True), (300, 1, 77, ("NN",), True), (1, 1, 512, ("NN",), True), (7, 13, 33, ("NN",), True), (2, 64, 128, ("NN",), True),
]
# Products of a batch; with C: alpha A B + beta C.
BATCHES = [(3, 16, 16, 48, ("NN", "TN"), True), (4, 64, 64, 200, ("NN",), True), (5, 1, 64, 128, ("NN", "NT"), True),
           (8, 7, 9, 300, ("NN",), True), (2, 32, 1, 500, ("NN",), True)]
WITH_C = [(64, 64, 64), (64, 64, 1024), (1, 64, 300), (64, 1, 300), (100, 30, 77), (16, 64, 1023), (8, 8, 4096)]
VECTORS = [(64, 64), (500, 300), (37, 2048), (1000, 99), (5, 4095)]
DOTS = [3, 64, 127, 1000, 1024, 3000, 8192]
TOGETHER = 40  # probes of a shape at least
MOST = 1024    # at most


@functools.cache
def stream(which, dtype):
    period = (4093, 4091, 4079, 4073)[which - 1]
    numbers = torch.randn(period, generator=torch.Generator().manual_seed(which), dtype=torch.float64).to(dtype)
    return numbers.repeat((1 << 21) // period).cuda()


def matrix(numbers, rows, columns, layout):
    """The first numbers as a matrix; or, of a batch of rows, as several."""
    batch = rows[:-1] if isinstance(rows, tuple) else ()
    rows = rows[-1] if isinstance(rows, tuple) else rows
    total = rows * columns * (batch[0] if batch else 1)
    if layout == "N":
        return numbers[:total].clone().view(*batch, rows, columns)
    return numbers[:total].clone().view(*batch, columns, rows).transpose(-1, -2)


def pairs(depth, count, seed):
    """Pairs of places in K: one half begins with 0, evenly up to the end; the others are random."""
    if depth < 2:
        return []
    numbers = torch.Generator().manual_seed(seed)
    half = min((count + 1) // 2, depth - 1)
    out = [(0, 1 + n * (depth - 1) // half) for n in range(half)]
    while len(out) < count:
        i, j = torch.randint(depth, (2,), generator=numbers).tolist()
        if i != j:
            out.append((min(i, j), max(i, j)))
    return out


def probe_rows(places, rows, depth, dtype):
    one, big = (2.0 ** -24, 2.0 ** 15) if dtype == torch.float16 else (1.0, 2.0 ** 100)
    out = torch.full((rows, depth), one, dtype=dtype)
    for row, (i, j) in enumerate(places):
        out[row, i], out[row, j] = big, -big
    return out.cuda()


def laid_out(rows, layout):
    return rows if layout == "N" else rows.transpose(-1, -2).contiguous().transpose(-1, -2)


def probes(m, n, depth, layout, dtype, multiply, batch=()):
    """Calls multiply(A, B) until enough pairs were asked; a batch has the same probes in each of its products."""
    many, turned = max(m, n), n > m
    count = max(TOGETHER, min(many, MOST))
    places = pairs(depth, count, m + n + depth)
    for first in range(0, len(places), many):
        a = probe_rows(places[first:first + many], many, depth, dtype)
        b = torch.ones(depth, min(m, n), dtype=dtype).cuda()
        if turned:
            a, b = b.T, a.T
        a, b = (x.expand(*batch, *x.shape).contiguous() for x in (a, b))
        multiply(laid_out(a, layout[0]), laid_out(b, layout[1]))


def products(multiply, sizes, dtype):
    for m, n, depth, layouts, has_probes in sizes:
        for layout in layouts:
            yield (m, n, depth, layout, dtype), lambda: multiply(
                matrix(stream(1, dtype), m, depth, layout[0]), matrix(stream(2, dtype), depth, n, layout[1]))
            if has_probes:
                yield (m, n, depth, layout, dtype, "probes"), lambda: probes(m, n, depth, layout, dtype, multiply)


def batches():
    for batch, m, n, depth, layouts, has_probes in BATCHES:
        for layout in layouts:
            yield (batch, m, n, depth, layout), lambda: torch.bmm(
                matrix(stream(1, torch.float32), (batch, m), depth, layout[0]),
                matrix(stream(2, torch.float32), (batch, depth), n, layout[1]))
            if has_probes:
                yield (batch, m, n, depth, layout, "probes"), lambda: probes(
                    m, n, depth, layout, torch.float32, torch.bmm, (batch,))
    a, b, c = (matrix(stream(which, torch.float32), (3, 24), 24, "N") for which in (1, 2, 3))
    yield ("baddbmm",), lambda: torch.baddbmm(c, a, b, alpha=0.5, beta=3)


def with_c():
    for m, n, depth in WITH_C:
        a, b = matrix(stream(1, torch.float32), m, depth, "N"), matrix(stream(2, torch.float32), depth, n, "N")
        c, bias = matrix(stream(3, torch.float32), m, n, "N"), stream(4, torch.float32)[:n].clone()
        yield ("addmm", m, n, depth, "C"), lambda: torch.addmm(c, a, b)
        yield ("addmm", m, n, depth, "beta C"), lambda: torch.addmm(c, a, b, alpha=1.7, beta=0.3)
        yield ("addmm", m, n, depth, "bias"), lambda: torch.addmm(bias, a, b)


def vectors():
    for m, depth in VECTORS:
        for layout in "NT":
            a, x = matrix(stream(1, torch.float32), m, depth, layout), stream(2, torch.float32)[:depth].clone()
            yield ("mv", m, depth, layout), lambda: torch.mv(a, x)
        y = stream(3, torch.float32)[:m].clone()
        yield ("addmv", m, depth), lambda: torch.addmv(y, a, x, alpha=1.7, beta=0.3)
    for depth in DOTS:
        for dtype in (torch.float32, torch.float64, torch.float16):
            x, y = (stream(which, dtype)[:depth].clone() for which in (1, 2))
            yield ("dot", depth, dtype), lambda: torch.dot(x, y)
            if depth in (64, 1000, 3000) and dtype != torch.float16:
                yield ("dot", depth, dtype, "probes"), lambda: probes(
                    1, 1, depth, "NN", dtype, lambda a, b: torch.dot(a[0], b[:, 0]))


def table():
    yield from products(torch.mm, SINGLE, torch.float32)
    yield from products(torch.mm, DOUBLE, torch.float64)
    for dtype in (torch.float16, torch.bfloat16):
        yield from products(torch.mm, HALF, dtype)
    yield from batches()
    yield from with_c()
    yield from vectors()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="say what is computed")
    options = parser.parse_args()
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_tf32 = False
    for name, compute in table():
        if options.list:
            print(*name)
        try:
            compute()
        except RuntimeError as error:  # the others go on
            print(*name, "failed:", error)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
