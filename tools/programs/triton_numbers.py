# SPDX-License-Identifier: Apache-2.0
"""Programs in Triton: functions, conversions, assembly, texts."""
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from common import program
from triton_rows import empty

torch.manual_seed(3)


@triton.jit
def many_functions(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.5)
    u = tl.abs(v) + 0.25
    tl.store(y + at, libdevice.tanh(v), mask=at < n)
    tl.store(y + n + at, libdevice.pow(u, v), mask=at < n)
    tl.store(y + 2 * n + at, libdevice.lgamma(u), mask=at < n)
    tl.store(y + 3 * n + at, libdevice.erfinv(v / 20), mask=at < n)
    tl.store(y + 4 * n + at, libdevice.asin(v / 20) + libdevice.atan2(v, u), mask=at < n)
    tl.store(y + 5 * n + at, tl.sin(v) + tl.cos(v) * tl.erf(v), mask=at < n)
    rounded = libdevice.sqrt_rn(u) + libdevice.div_rn(v, u)
    tl.store(y + 6 * n + at, tl.exp2(v) + tl.log2(u) - tl.rsqrt(u) + rounded, mask=at < n)
    tl.store(y + 7 * n + at, tl.fma(v, u, v) + tl.floor(v) + libdevice.rint(v) + libdevice.fmod(v, u), mask=at < n)


@program
def functions():
    x, results = torch.randn(200) * 4, []
    for dtype in (torch.float32, torch.float64):
        y = empty(8, 200, dtype=dtype)
        many_functions[(1,)](x.to(dtype).cuda(), y, 200, BLOCK=256)
        results.append(y)
    return results


@triton.jit
def cast(x, e4m3, e5m2, halves, back, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    tl.store(e4m3 + at, v.to(tl.float8e4nv), mask=at < n)
    tl.store(e5m2 + at, v.to(tl.float8e5), mask=at < n)
    tl.store(halves + at, v.to(tl.bfloat16), mask=at < n)
    again = v.to(tl.float16).to(tl.float8e5).to(tl.float32) + v.to(tl.bfloat16).to(tl.float8e4nv).to(tl.float32)
    tl.store(back + at, again.to(tl.float16), mask=at < n)


@program
def fp8_casts():
    x = (torch.randn(700) * torch.logspace(-4, 3, 700)).cuda()
    results = [empty(700, dtype=d) for d in (torch.float8_e4m3fn, torch.float8_e5m2, torch.bfloat16, torch.float16)]
    cast[(3,)](x, *results, 700, BLOCK=256)
    return [r.cpu().view(torch.uint8) for r in results]


@triton.jit
def assembled(x, y, high, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    tl.store(y + at, tl.inline_asm_elementwise("""{ .reg .b32 t; prmt.b32 t, $1, $1, 0x0123; lop3.b32 $0, t, $1, 0xff,
        0x6a; }""", "=r,r", [v], dtype=tl.int32, is_pure=True, pack=1), mask=at < n)
    tl.store(high + at, tl.umulhi(v.to(tl.uint32), (v ^ 0x5bd1e995).to(tl.uint32)).to(tl.int32), mask=at < n)


@program
def inline_assembly():
    x = torch.randint(-2**31, 2**31 - 1, (200,)).int().cuda()
    y, high = empty(200, dtype=torch.int32), empty(200, dtype=torch.int32)
    assembled[(1,)](x, y, high, 200, BLOCK=256)
    return [y, high]


@triton.jit
def say(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.device_print("value", tl.load(x + at, mask=at < n, other=0))


@program
def printing():
    say[(2,)](torch.arange(40).cuda(), 40, BLOCK=32, num_warps=1)
    torch.cuda.synchronize()
    return []
