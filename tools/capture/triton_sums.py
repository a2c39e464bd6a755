# SPDX-License-Identifier: Apache-2.0
"""Reductions in Triton whose loops are known, for reductions.py."""
import torch
import triton
import triton.language as tl


@triton.jit
def of_block(x, d, K, B: tl.constexpr):
    """A row at once."""
    row, at = tl.program_id(0), tl.arange(0, B)
    tl.store(d + row, tl.sum(tl.load(x + row * K + at, mask=at < K, other=0.0).to(tl.float32), 0))


@triton.jit
def of_vector(x, d, K, B: tl.constexpr):
    """B accumulators, summed in the end."""
    row, at = tl.program_id(0), tl.arange(0, B)
    sums = tl.zeros((B,), tl.float32)
    for k in range(0, K, B):
        sums += tl.load(x + row * K + k + at, mask=k + at < K, other=0.0).to(tl.float32)
    tl.store(d + row, tl.sum(sums, 0))


@triton.jit
def of_scalar(x, d, K, B: tl.constexpr):
    """The sum of each B values is added to one number."""
    row, at = tl.program_id(0), tl.arange(0, B)
    total = 0.0
    for k in range(0, K, B):
        total += tl.sum(tl.load(x + row * K + k + at, mask=k + at < K, other=0.0).to(tl.float32), 0)
    tl.store(d + row, total)


@triton.jit
def of_tile(x, d, N, K, B: tl.constexpr, R: tl.constexpr):
    """R rows at once."""
    rows, at = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, B)
    inside = (rows < N)[:, None] & (at < K)[None, :]
    tl.store(d + rows, tl.sum(tl.load(x + rows[:, None] * K + at[None, :], mask=inside, other=0.0), 1), mask=rows < N)


@triton.jit
def of_split(x, parts, K, run, S: tl.constexpr, B: tl.constexpr):
    """A run of a row, as of_vector."""
    row, part, at = tl.program_id(0), tl.program_id(1), tl.arange(0, B)
    sums = tl.zeros((B,), tl.float32)
    for k in range(part * run, min((part + 1) * run, K), B):
        inside = (k + at < K) & (k + at < (part + 1) * run)
        sums += tl.load(x + row * K + k + at, mask=inside, other=0.0)
    tl.store(parts + row * S + part, tl.sum(sums, 0))


@triton.jit
def softmax(x, d, K, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    values = tl.load(x + row * K + at, mask=at < K, other=-float("inf"))
    e = tl.exp(values - tl.max(values, 0))
    tl.store(d + row * K + at, e / tl.sum(e, 0), mask=at < K)


@triton.jit
def split_kv(x, v, parts, logs, K, run, S: tl.constexpr, B: tl.constexpr, V: tl.constexpr):
    """Softmax of a run of scores times V columns of values, B at a time, as attention to one query has it; and log(sum of exp)."""
    row, part, at, column = tl.program_id(0), tl.program_id(1), tl.arange(0, B), tl.arange(0, V)
    greatest, total, sums = -float("inf"), 0.0, tl.zeros((V,), tl.float32)
    for k in range(part * run, min((part + 1) * run, K), B):
        inside = (k + at < K) & (k + at < (part + 1) * run)
        scores = tl.load(x + row * K + k + at, mask=inside, other=-float("inf"))
        values = tl.load(v + (k + at)[:, None] * V + column[None, :], mask=inside[:, None], other=0.0)
        new = tl.maximum(tl.max(scores, 0), greatest)
        scale, p = tl.exp(greatest - new), tl.exp(scores - new)
        sums = sums * scale + tl.sum(p[:, None] * values, 0)
        total = total * scale + tl.sum(p, 0)
        greatest = new
    tl.store(parts + (row * S + part) * V + column, sums / total)
    tl.store(logs + row * S + part, greatest + tl.log(total))


@triton.jit
def merge_kv(parts, logs, d, log, S: tl.constexpr, V: tl.constexpr):
    """The parts of a row become one, each after the other."""
    row, column = tl.program_id(0), tl.arange(0, V)
    greatest, total, sums = -float("inf"), 0.0, tl.zeros((V,), tl.float32)
    for part in range(0, S):
        one = tl.load(logs + row * S + part)
        new = tl.maximum(one, greatest)
        scale, weight = tl.exp(greatest - new), tl.exp(one - new)
        sums = sums * scale + weight * tl.load(parts + (row * S + part) * V + column)
        total = total * scale + weight
        greatest = new
    tl.store(d + row * V + column, sums / total)
    tl.store(log + row, greatest + tl.log(total))


def rows(kernel, x, block, warps):
    d = torch.empty(x.shape[0], dtype=torch.float32, device="cuda")
    kernel[(x.shape[0],)](x, d, x.shape[1], B=block, num_warps=warps)
    return d


def tiles(x, block, of_rows, warps):
    d = torch.empty(x.shape[0], dtype=torch.float32, device="cuda")
    of_tile[(triton.cdiv(x.shape[0], of_rows),)](x, d, *x.shape, B=block, R=of_rows, num_warps=warps)
    return d


def split(x, count, block, warps):
    parts = torch.empty((x.shape[0], count), dtype=torch.float32, device="cuda")
    of_split[(x.shape[0], count)](x, parts, x.shape[1], triton.cdiv(x.shape[1], count), S=count, B=block, num_warps=warps)
    return rows(of_block, parts, triton.next_power_of_2(count), 1)


def same(kernel, x, block, warps):
    d = torch.empty_like(x)
    kernel[(x.shape[0],)](x, d, x.shape[1], B=block, num_warps=warps)
    return d


def attention(x, v, count, block, warps):
    """Rows of v by the softmax of scores x, in so many parts, and log(sum of exp(x)) of each row."""
    (N, K), V = x.shape, v.shape[1]
    parts, logs = torch.empty((N, count, V), device="cuda"), torch.empty((N, count), device="cuda")
    d, log = torch.empty((N, V), device="cuda"), torch.empty(N, device="cuda")
    split_kv[(N, count)](x, v, parts, logs, K, triton.cdiv(K, count), S=count, B=block, V=V, num_warps=warps)
    if count == 1:
        return parts[:, 0], logs[:, 0]
    merge_kv[(N,)](parts, logs, d, log, S=count, V=V, num_warps=1)
    return d, log
