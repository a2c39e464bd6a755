# SPDX-License-Identifier: Apache-2.0
"""Programs in Triton: products, attention, convolutions; tensor maps; configurations tried in turn. Not deterministic,
and so on purpose: split_k_atomic."""
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from common import program
from triton_rows import empty, normal, zeros

torch.manual_seed(4)
triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))


# ---- Products

@triton.jit
def product_tile(a, b, sums, rows, columns, first, last, stride_a, stride_b, M, N, K, BK: tl.constexpr):
    """Adds A[rows, first..last] B[first..last, columns] to sums, BK at a time."""
    depth = tl.arange(0, BK)
    for k in range(first, last, BK):
        inside = k + depth < K
        left = tl.load(a + rows[:, None] * stride_a + k + depth, mask=(rows < M)[:, None] & inside[None, :], other=0)
        right = tl.load(b + (k + depth)[:, None] * stride_b + columns, mask=inside[:, None] & (columns < N)[None, :],
                        other=0)
        sums = tl.dot(left, right, sums, out_dtype=sums.dtype)
    return sums


@triton.jit
def store_tile(c, sums, rows, columns, M, N):
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c + rows[:, None] * N + columns, sums.to(c.dtype.element_ty), mask=inside)


@triton.jit
def matmul_kernel(a, b, c, bias, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """Tiles in groups of rows, for the cache; a bias and an activation."""
    tile, down, across = tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = tile // (GROUP * across)
    height = min(down - group * GROUP, GROUP)
    rows = (group * GROUP + tile % (GROUP * across) % height) * BM + tl.arange(0, BM)
    columns = tile % (GROUP * across) // height * BN + tl.arange(0, BN)
    sums = product_tile(a, b, tl.zeros((BM, BN), tl.float32), rows, columns, 0, K, K, N, M, N, K, BK)
    sums += tl.load(bias + columns, mask=columns < N, other=0.0)[None, :]
    store_tile(c, tl.where(sums > 0, sums, 0.01 * sums), rows, columns, M, N)


@program
def matmul():
    M, N, K, results = 100, 72, 136, []
    for dtype, warps, stages in ((torch.float16, 4, 3), (torch.bfloat16, 8, 2), (torch.float32, 4, 2)):
        a, b, c, bias = normal(M, K, dtype=dtype), normal(K, N, dtype=dtype), empty(M, N, dtype=dtype), normal(N)
        matmul_kernel[(4,)](a, b, c, bias, M, N, K, BM=64, BN=64, BK=32, GROUP=2, num_warps=warps, num_stages=stages)
        results.append(c)
    return results


@triton.jit
def two_loops(a, b, d, e, c, M, N, K, L, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    sums = product_tile(a, b, tl.zeros((BM, BN), tl.float32), rows, columns, 0, K, K, N, M, N, K, BK)
    sums = tl.sigmoid(sums * 0.1)
    sums = product_tile(d, e, sums, rows, columns, 0, L, L, N, M, N, L, BK)
    store_tile(c, sums, rows, columns, M, N)


@program
def matmul_two_loops():
    M, N, K, L = 70, 50, 96, 200
    a, b = normal(M, K, dtype=torch.bfloat16), normal(K, N, dtype=torch.bfloat16)
    d, e, c = normal(M, L, dtype=torch.bfloat16), normal(L, N, dtype=torch.bfloat16), empty(M, N)
    two_loops[(2, 2)](a, b, d, e, c, M, N, K, L, BM=64, BN=32, BK=32)
    return [c]


@triton.jit
def split(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SHARE: tl.constexpr,
          ATOMIC: tl.constexpr):
    part, rows = tl.program_id(2), tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    sums = product_tile(a, b, tl.zeros((BM, BN), tl.float32), rows, columns, part * SHARE, min(part * SHARE + SHARE, K),
                        K, N, M, N, K, BK)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    if ATOMIC:
        tl.atomic_add(c + rows[:, None] * N + columns, sums, mask=inside, sem="relaxed")
    else:
        tl.store(c + (part * M + rows[:, None]) * N + columns, sums, mask=inside)


@triton.jit
def add_parts(parts, c, size, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    each = tl.load(parts + tl.arange(0, PARTS)[:, None] * size + at, mask=(at < size)[None, :], other=0.0)
    tl.store(c + at, tl.sum(each, axis=0), mask=at < size)


@program
def split_k():
    M, N, K = 48, 40, 512
    a, b = normal(M, K, dtype=torch.float16), normal(K, N, dtype=torch.float16)
    parts, c = empty(4, M, N), empty(M, N)
    split[(1, 2, 4)](a, b, parts, M, N, K, BM=64, BN=32, BK=32, SHARE=128, ATOMIC=False)
    add_parts[(15,)](parts, c, M * N, PARTS=4, BLOCK=128)
    return [c]


@program
def split_k_atomic():
    M, N, K = 32, 32, 1024
    a, b, c = normal(M, K, dtype=torch.float16), normal(K, N, dtype=torch.float16), zeros(M, N)
    split[(1, 1, 16)](a, b, c, M, N, K, BM=32, BN=32, BK=32, SHARE=64, ATOMIC=True)
    return [c]


@triton.jit
def matmul_8bit(a, b, scale_a, scale_b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                SUM: tl.constexpr):
    """B by columns: K in a row, as 8-bit operands have it."""
    rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    depth, sums = tl.arange(0, BK), tl.zeros((BM, BN), SUM)
    for k in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + k + depth, mask=(rows < M)[:, None], other=0.0)
        right = tl.load(b + columns[None, :] * K + (k + depth)[:, None], mask=(columns < N)[None, :], other=0.0)
        sums = tl.dot(left, right, sums, out_dtype=SUM)
    by_row, by_column = tl.load(scale_a + rows, mask=rows < M), tl.load(scale_b + columns, mask=columns < N)
    store_tile(c, sums.to(tl.float32) * by_row[:, None] * by_column, rows, columns, M, N)


@program
def matmul_int8():
    a, b = (torch.randint(-128, 128, (n, 128)).to(torch.int8).cuda() for n in (60, 44))
    c = empty(60, 44)
    matmul_8bit[(1, 2)](a, b, normal(60), normal(44), c, 60, 44, 128, BM=64, BN=32, BK=64, SUM=tl.int32)
    return [c]


@program
def matmul_fp8():
    a, b = (torch.randn(n, 256).to(torch.float8_e4m3fn).cuda() for n in (64, 64))
    c = empty(64, 64, dtype=torch.bfloat16)
    matmul_8bit[(1, 1)](a, b, normal(64), normal(64), c, 64, 64, 256, BM=64, BN=64, BK=128, SUM=tl.float32)
    return [c]


@triton.jit
def scaled_kernel(a, scale_a, b, scale_b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, depth, groups = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K), tl.arange(0, K // 32)
    left, right = tl.load(a + rows[:, None] * K + depth), tl.load(b + depth[:, None] * N + columns)
    left_scale = tl.load(scale_a + rows[:, None] * (K // 32) + groups)
    right_scale = tl.load(scale_b + columns[:, None] * (K // 32) + groups)
    sums = tl.dot_scaled(left, left_scale, "e4m3", right, right_scale, "e4m3")
    tl.store(c + rows[:, None] * N + columns, sums)


@program
def matmul_mx():
    """Blocks of 32 numbers with a scale; on Hopper the compiler multiplies it in."""
    a, b = torch.randn(64, 128).to(torch.float8_e4m3fn).cuda(), torch.randn(128, 32).to(torch.float8_e4m3fn).cuda()
    scales = [torch.randint(120, 134, (n, 4)).to(torch.uint8).cuda() for n in (64, 32)]
    c = empty(64, 32)
    scaled_kernel[(1,)](a, scales[0], b, scales[1], c, M=64, N=32, K=128)
    return [c]


@triton.jit
def grouped_kernel(pointers, sizes, groups, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                   BK: tl.constexpr):
    """Products of different sizes; their addresses stand in memory."""
    tile, end = tl.program_id(0), 0
    for g in range(groups):
        M, N, K = tl.load(sizes + g * 3), tl.load(sizes + g * 3 + 1), tl.load(sizes + g * 3 + 2)
        across = tl.cdiv(N, BN)
        count = tl.cdiv(M, BM) * across
        while tile >= end and tile < end + count:
            a = tl.load(pointers + g * 3).to(tl.pointer_type(tl.float16))
            b = tl.load(pointers + g * 3 + 1).to(tl.pointer_type(tl.float16))
            c = tl.load(pointers + g * 3 + 2).to(tl.pointer_type(tl.float16))
            rows = (tile - end) // across * BM + tl.arange(0, BM)
            columns = (tile - end) % across * BN + tl.arange(0, BN)
            sums = product_tile(a, b, tl.zeros((BM, BN), tl.float32), rows, columns, 0, K, K, N, M, N, K, BK)
            store_tile(c, sums, rows, columns, M, N)
            tile += PROGRAMS
        end += count


@program
def grouped_matmul():
    sizes = [(40, 32, 64), (64, 80, 48), (16, 16, 100)]
    matrices = [(normal(m, k, dtype=torch.float16), normal(k, n, dtype=torch.float16), empty(m, n, dtype=torch.float16))
                for m, n, k in sizes]
    pointers = torch.tensor([[x.data_ptr() for x in each] for each in matrices]).cuda()
    grouped_kernel[(3,)](pointers, torch.tensor(sizes, dtype=torch.int32).cuda(), 3, PROGRAMS=3, BM=32, BN=32, BK=32)
    return [c for _, _, c in matrices]


# ---- Tensor maps

@triton.jit
def tma_kernel(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        sums = tl.dot(a.load([row, k]), b.load([column, k]).T, sums)
    c.store([row, column], sums.to(tl.float16))


@program
def tma_matmul():
    """The host makes the maps."""
    a, b = normal(100, 192, dtype=torch.float16), normal(72, 192, dtype=torch.float16)
    c = empty(100, 72, dtype=torch.float16)
    maps = [TensorDescriptor.from_tensor(x, [64, 64]) for x in (a, b, c)]
    tma_kernel[(2, 2)](*maps, 192, BM=64, BN=64, BK=64)
    return [c]


@triton.jit
def persistent_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr):
    left = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    right = tl.make_tensor_descriptor(b, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    result = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    across = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * across, PROGRAMS, flatten=True):
        row, column = tile // across * BM, tile % across * BN
        sums = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            sums = tl.dot(left.load([row, k]), right.load([column, k]).T, sums)
        result.store([row, column], sums.to(tl.float16))


@program
def persistent_matmul():
    """The kernel makes the maps, in memory that Triton's launcher asks for."""
    a, b = normal(120, 128, dtype=torch.float16), normal(136, 128, dtype=torch.float16)
    c = empty(120, 136, dtype=torch.float16)
    persistent_kernel[(2,)](a, b, c, 120, 136, 128, BM=64, BN=64, BK=64, PROGRAMS=2)
    return [c]


# ---- Attention, convolution

@triton.jit
def flash_kernel(q, k, v, out, logs, scale, length, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rows, at = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    base = tl.program_id(1) * length * D
    queries = tl.load(q + base + rows[:, None] * D + at, mask=(rows < length)[:, None], other=0.0)
    top, total = tl.full((BM,), -float("inf"), tl.float32), tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    for first in range(0, min((tl.program_id(0) + 1) * BM, length), BN):
        columns = first + tl.arange(0, BN)
        keys = tl.load(k + base + columns[None, :] * D + at[:, None], mask=(columns < length)[None, :], other=0.0)
        scores = tl.dot(queries, keys) * (scale * 1.4426950408889634)
        scores = tl.where((rows[:, None] >= columns[None, :]) & (columns < length)[None, :], scores, -1e6)
        higher = tl.maximum(top, tl.max(scores, 1))
        weights, fade = tl.exp2(scores - higher[:, None]), tl.exp2(top - higher)
        total = total * fade + tl.sum(weights, 1)
        values = tl.load(v + base + columns[:, None] * D + at, mask=(columns < length)[:, None], other=0.0)
        sums = tl.dot(weights.to(values.dtype), values, sums * fade[:, None])
        top = higher
    tl.store(logs + tl.program_id(1) * length + rows, top + tl.log2(total), mask=rows < length)
    tl.store(out + base + rows[:, None] * D + at, (sums / total[:, None]).to(out.dtype.element_ty),
             mask=(rows < length)[:, None])


@program
def flash_attention():
    results = []
    for dtype, d in ((torch.float16, 32), (torch.bfloat16, 64)):
        q, k, v = (normal(3, 100, d, dtype=dtype) for _ in range(3))
        out, logs = empty(3, 100, d, dtype=dtype), empty(3, 100)
        flash_kernel[(2, 3)](q, k, v, out, logs, d**-0.5, 100, D=d, BM=64, BN=32)
        results += [out, logs]
    return results


@triton.jit
def conv_kernel(x, w, y, H, W, C: tl.constexpr, OUT: tl.constexpr, BM: tl.constexpr):
    """3 x 3, channels last: nine products of shifted pixels."""
    pixel, c, o = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, C), tl.arange(0, OUT)
    row, column, image = pixel // W % H, pixel % W, pixel // (H * W)
    sums = tl.zeros((BM, OUT), tl.float32)
    for tap in tl.static_range(9):
        r, s = row + tap // 3 - 1, column + tap % 3 - 1
        inside = (r >= 0) & (r < H) & (s >= 0) & (s < W)
        values = tl.load(x + ((image * H + r) * W + s)[:, None] * C + c, mask=inside[:, None], other=0.0)
        sums = tl.dot(values, tl.load(w + (tap * C + c)[:, None] * OUT + o), sums)
    tl.store(y + pixel[:, None] * OUT + o, sums)


@program
def conv():
    x, w, y = normal(2, 8, 16, 16, dtype=torch.float16), normal(9, 16, 32, dtype=torch.float16), empty(2, 8, 16, 32)
    conv_kernel[(4,)](x, w, y, 8, 16, C=16, OUT=32, BM=64)
    return [y]


# ---- Configurations

@triton.autotune([triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((64, 1), (128, 4), (512, 8))],
                 key=["n"])
@triton.jit
def tuned_sum(x, y, n, BLOCK: tl.constexpr):
    row, at, sums = tl.program_id(0), tl.arange(0, BLOCK), tl.zeros((BLOCK,), tl.float64)
    for first in range(0, n, BLOCK):
        sums += tl.load(x + row * n + first + at, mask=first + at < n, other=0.0)
    tl.store(y + row, tl.sum(sums, axis=0).to(tl.float32))


@program
def autotune():
    """Each configuration is tried; which one is kept depends on the time, and the sum in f64 hardly on it."""
    x, y = normal(20, 700), empty(20)
    tuned_sum[(20,)](x, y, 700)
    return [y]
