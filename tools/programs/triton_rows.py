# SPDX-License-Identifier: Apache-2.0
"""Programs in Triton: rows, scans, atomics. Not deterministic, and so on purpose: layer_norm_locks (sums of f32 in the
order in which programs come)."""
import torch
import triton
import triton.language as tl

from common import program

torch.manual_seed(2)


def empty(*shape, dtype=torch.float32):
    return torch.empty(shape, dtype=dtype, device="cuda")


def zeros(*shape, dtype=torch.float32):
    """Copied: a fill would be a kernel of PyTorch's own."""
    return torch.zeros(shape, dtype=dtype).cuda()


def normal(*shape, dtype=torch.float32):
    return torch.randn(shape).to(dtype).cuda()


# ---- Rows

@triton.jit
def softmax_rows(x, y, rows, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
        weights = tl.exp(values - tl.max(values, axis=0))
        tl.store(y + row * columns + at, weights / tl.sum(weights, axis=0), mask=at < columns)


@program
def softmax():
    x, y = normal(37, 300), empty(37, 300)
    softmax_rows[(8,)](x, y, 37, 300, BLOCK=512)
    return [y]


@triton.jit
def layer_norm_forward(x, w, b, y, means, factors, n, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside = at < n
    values = tl.load(x + row * n + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(values, axis=0) / n
    centered = tl.where(inside, values - mean, 0.0)
    factor = 1 / tl.sqrt(tl.sum(centered * centered, axis=0) / n + eps)
    tl.store(means + row, mean)
    tl.store(factors + row, factor)
    scaled = centered * factor * tl.load(w + at, mask=inside) + tl.load(b + at, mask=inside)
    tl.store(y + row * n + at, scaled.to(y.dtype.element_ty), mask=inside)


@triton.jit
def normalized_and_gradient(x, w, dy, dx, means, factors, row, n, BLOCK: tl.constexpr):
    """Stores the gradient of a row of x; returns what the row adds to the gradients of w and b."""
    at = tl.arange(0, BLOCK)
    inside = at < n
    g = tl.load(dy + row * n + at, mask=inside, other=0.0).to(tl.float32)
    factor = tl.load(factors + row)
    values = tl.load(x + row * n + at, mask=inside, other=0.0).to(tl.float32)
    normalized = tl.where(inside, (values - tl.load(means + row)) * factor, 0.0)
    wg = tl.load(w + at, mask=inside, other=0.0) * g
    c1, c2 = tl.sum(normalized * wg, axis=0) / n, tl.sum(wg, axis=0) / n
    tl.store(dx + row * n + at, (wg - (normalized * c1 + c2)) * factor, mask=inside)
    return g * normalized, g


@triton.jit
def layer_norm_backward(x, w, dy, dx, parts_w, parts_b, means, factors, rows, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    dw, db = tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK,), tl.float32)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        a, b = normalized_and_gradient(x, w, dy, dx, means, factors, row, n, BLOCK)
        dw += a
        db += b
    tl.store(parts_w + tl.program_id(0) * n + at, dw, mask=at < n)
    tl.store(parts_b + tl.program_id(0) * n + at, db, mask=at < n)


@triton.jit
def sum_parts(parts, total, count, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    sums = tl.zeros((ROWS, BLOCK), tl.float32)
    for first in range(0, count, ROWS):
        rows = first + tl.arange(0, ROWS)
        sums += tl.load(parts + rows[:, None] * n + at, mask=(rows < count)[:, None] & (at < n)[None, :], other=0.0)
    tl.store(total + at, tl.sum(sums, axis=0), mask=at < n)


@triton.jit
def layer_norm_locked(x, w, dy, dx, sum_w, sum_b, locks, means, factors, n, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """Rows of a group add to one row of sums, one after the other: a lock, and whether somebody was there before."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    a, b = normalized_and_gradient(x, w, dy, dx, means, factors, row, n, BLOCK)
    group = row % GROUPS
    to_w, to_b = sum_w + group * n + at, sum_b + group * n + at
    while tl.atomic_cas(locks + group, 0, 1) == 1:
        pass
    if tl.load(locks + GROUPS + group) == 0:
        tl.atomic_xchg(locks + GROUPS + group, 1)
    else:
        a += tl.load(to_w, mask=at < n)
        b += tl.load(to_b, mask=at < n)
    tl.store(to_w, a, mask=at < n)
    tl.store(to_b, b, mask=at < n)
    tl.debug_barrier()
    tl.atomic_xchg(locks + group, 0)


def normed(rows, n):
    x, w, b, dy = normal(rows, n, dtype=torch.float16), normal(n), normal(n), normal(rows, n, dtype=torch.float16)
    y, dx, means, factors = empty(rows, n, dtype=torch.float16), empty(rows, n), empty(rows), empty(rows)
    layer_norm_forward[(rows,)](x, w, b, y, means, factors, n, 1e-5, BLOCK=256, num_warps=2)
    return x, w, dy, y, dx, means, factors


@program
def layer_norm():
    x, w, dy, y, dx, means, factors = normed(30, 200)
    parts_w, parts_b, dw, db = empty(8, 200), empty(8, 200), empty(200), empty(200)
    layer_norm_backward[(8,)](x, w, dy, dx, parts_w, parts_b, means, factors, 30, 200, BLOCK=256)
    for parts, total in ((parts_w, dw), (parts_b, db)):
        sum_parts[(2,)](parts, total, 8, 200, ROWS=4, BLOCK=128)
    return [y, dx, dw, db]


@program
def layer_norm_locks():
    x, w, dy, y, dx, means, factors = normed(24, 200)
    sum_w, sum_b, locks = empty(3, 200), empty(3, 200), zeros(6, dtype=torch.int32)
    layer_norm_locked[(24,)](x, w, dy, dx, sum_w, sum_b, locks, means, factors, 200, GROUPS=3, BLOCK=256)
    dw = empty(200)
    sum_parts[(2,)](sum_w, dw, 3, 200, ROWS=4, BLOCK=128)
    return [y, dx, dw]


@triton.jit
def drop(x, y, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, at) > p
    tl.store(y + at, tl.where(keep, tl.load(x + at, mask=at < n) / (1 - p), 0.0), mask=at < n)


@triton.jit
def draw(normals, integers, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(normals + at, tl.randn(seed, at))
    a, b, c, d = tl.randint4x(seed, at)
    tl.store(integers + at, a ^ b ^ c ^ d)


@program
def dropout():
    x, y, normals, integers = normal(1000), empty(1000), empty(512), empty(512, dtype=torch.int32)
    drop[(4,)](x, y, 1000, 0.3, 1234, BLOCK=256)
    draw[(2,)](normals, integers, 99, BLOCK=256)
    return [y, normals, integers]


@triton.jit
def rotate(x, cosines, sines, y, heads, HALF: tl.constexpr):
    place, head, at = tl.program_id(0), tl.program_id(1), tl.arange(0, HALF)
    first = (place * heads + head) * 2 * HALF + at
    c, s = tl.load(cosines + place * HALF + at), tl.load(sines + place * HALF + at)
    a, b = tl.load(x + first).to(tl.float32), tl.load(x + first + HALF).to(tl.float32)
    tl.store(y + first, (a * c - b * s).to(tl.bfloat16))
    tl.store(y + first + HALF, (a * s + b * c).to(tl.bfloat16))


@program
def rope():
    angles = torch.arange(20)[:, None] * 10000.0 ** -(torch.arange(16) / 16)
    x, y = normal(20, 3, 32, dtype=torch.bfloat16), empty(20, 3, 32, dtype=torch.bfloat16)
    rotate[(20, 3)](x, angles.cos().cuda(), angles.sin().cuda(), y, 3, HALF=16, num_warps=1)
    return [y]


@triton.jit
def entropy(logits, labels, losses, gradients, n, smoothing, BLOCK: tl.constexpr):
    """The row is read in pieces: an online maximum and sum, then the gradient."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    label = tl.load(labels + row)
    top, total, plain = -float("inf"), 0.0, 0.0
    for first in range(0, n, BLOCK):
        x = tl.load(logits + row * n + first + at, mask=first + at < n, other=-float("inf"))
        higher = tl.maximum(top, tl.max(x))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(x - higher))
        plain += tl.sum(tl.where(first + at < n, x, 0.0))
        top = higher
    log = top + tl.log(total)
    tl.store(losses + row, (1 - smoothing) * (log - tl.load(logits + row * n + label)) + smoothing * (log - plain / n))
    for first in range(0, n, BLOCK):
        x = tl.load(logits + row * n + first + at, mask=first + at < n, other=-float("inf"))
        g = tl.exp(x - log) - smoothing / n - tl.where(first + at == label, 1 - smoothing, 0.0)
        tl.store(gradients + row * n + first + at, g, mask=first + at < n)


@program
def cross_entropy():
    x, labels = normal(12, 333), torch.randint(0, 333, (12,)).cuda()
    losses, gradients = empty(12), empty(12, 333)
    entropy[(12,)](x, labels, losses, gradients, 333, 0.1, BLOCK=128)
    return [losses, gradients]


# ---- Scans, orders, places

@triton.jit
def linear(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def scan_rows(x, gates, sums, products, states, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside = at < n
    values = tl.load(x + row * n + at, mask=inside, other=0.0)
    decay = tl.load(gates + row * n + at, mask=inside, other=1.0)
    tl.store(sums + row * n + at, tl.cumsum(values, axis=0), mask=inside)
    tl.store(products + row * n + at, tl.cumprod(decay, axis=0, reverse=True), mask=inside)
    _, state = tl.associative_scan((decay, values), 0, linear)
    tl.store(states + row * n + at, state, mask=inside)


@program
def cumsum():
    x, gates = normal(6, 200), torch.rand(6, 200).cuda()
    results = [empty(6, 200) for _ in range(3)]
    scan_rows[(6,)](x, gates, *results, 200, BLOCK=256)
    return results


@triton.jit
def welford(mean1, m1, n1, mean2, m2, n2):
    n, delta = n1 + n2, mean2 - mean1
    part = tl.where(n == 0.0, 0.0, n2 / n)
    return mean1 + delta * part, m1 + m2 + delta * delta * n1 * part, n


@triton.jit
def moments(x, means, variances, best, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * n + at, mask=at < n, other=0.0)
    mean, m2, count = tl.reduce((values, tl.zeros((BLOCK,), tl.float32), (at < n).to(tl.float32)), 0, welford)
    tl.store(means + row, mean)
    tl.store(variances + row, m2 / count)
    tl.store(best + row, tl.argmax(values, axis=0))


@program
def reduce_welford():
    x, means, variances, best = normal(10, 500), empty(10), empty(10), empty(10, dtype=torch.int32)
    moments[(10,)](x, means, variances, best, 500, BLOCK=512)
    return [means, variances, best]


@triton.jit
def sort_rows(x, up, down, n: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, n)
    values = tl.load(x + row * n + at)
    tl.store(up + row * n + at, tl.sort(values))
    tl.store(down + row * n + at, tl.sort(values.to(tl.int32), descending=True))


@program
def sort():
    x = (torch.randn(6, 128) * 50).cuda()
    up, down = empty(6, 128), empty(6, 128, dtype=torch.int32)
    sort_rows[(6,)](x, up, down, 128)
    return [up, down]


@triton.jit
def count(x, bins, whole, highest, lowest, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(bins + values, 1, mask=at < n, sem="relaxed")
    tl.atomic_add(whole + tl.arange(0, BINS), tl.histogram(values, BINS, mask=at < n))
    tl.atomic_max(highest + values % 4, at.to(tl.float32), mask=at < n)
    tl.atomic_min(lowest + values % 4, at, mask=at < n)


@program
def histogram():
    """Atomics of integers and maxima: the order does not matter."""
    x = torch.randint(0, 64, (1500,)).int().cuda()
    bins, whole = zeros(64, dtype=torch.int32), zeros(64, dtype=torch.int32)
    results = [bins, whole, zeros(4), torch.full((4,), 9999).int().cuda()]
    count[(6,)](x, *results, 1500, BLOCK=256, BINS=64)
    return results


@triton.jit
def move_rows(x, order, gathered, scattered, rows, n, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, BLOCK)
    inside = (row < rows)[:, None] & (at < n)[None, :]
    other = tl.load(order + row, mask=row < rows, other=0)
    tl.store(gathered + row[:, None] * n + at, tl.load(x + other[:, None] * n + at, mask=inside), mask=inside)
    tl.store(scattered + other[:, None] * n + at, tl.load(x + row[:, None] * n + at, mask=inside), mask=inside)


@triton.jit
def move_lanes(x, order, y, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(y + at, tl.gather(tl.load(x + at), tl.load(order + at), axis=0))


@program
def gather_scatter():
    x, order = normal(21, 40), torch.randperm(21).cuda()
    gathered, scattered, y = empty(21, 40), empty(21, 40), empty(16, 32)
    move_rows[(6,)](x, order, gathered, scattered, 21, 40, BLOCK=64, ROWS=4)
    move_lanes[(1,)](x, torch.randint(0, 16, (16, 32)).int().cuda(), y, ROWS=16, COLUMNS=32)
    return [gathered, scattered, y]


@triton.jit
def turn(x, transposed, pairs, flipped, sums, N: tl.constexpr):
    at = tl.arange(0, N)
    square = at[:, None] * N + at[None, :]
    values = tl.load(x + square)
    tl.store(transposed + square, tl.trans(values))
    even, odd = tl.split(tl.reshape(values, (N, N // 2, 2)))
    half = at[:, None] * (N // 2) + tl.arange(0, N // 2)[None, :]
    tl.store(pairs + half, even * odd)
    tl.store(flipped + square, tl.interleave(odd, even))
    tl.store(sums + at, tl.sum(tl.reshape(tl.permute(tl.reshape(values, (N, 2, N // 2)), (2, 0, 1)), (N, N)), axis=1))


@program
def shapes():
    x = normal(32, 32)
    results = [empty(32, 32), empty(32, 16), empty(32, 32), empty(32)]
    turn[(1,)](x, *results, N=32)
    return results
