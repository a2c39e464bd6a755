#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records matrix products of PyTorch's libraries on a GPU: inputs by generator, results by digest and sample.

    record.py [--out products.jsonl] [--drawn N --seed N] [--only REGEX] [--limit SECONDS] [--list]

needs PyTorch and NumPy. It runs each product of `table()` and of `held_out()`, with each profile twice, and writes a
line of JSON for each. A product that raises is written with its error. As a module, without PyTorch: element,
operand, Product, table, held_out.

Lines are records of the kind generated_product of src/recording/FORMAT.md, which says how inputs are made, what a profile is,
and what is kept of D. In `mirrored` the exact product is 0, or one term, and D shows what roundings left over, in a narrow type, too.
"""
import argparse
import ctypes
import datetime
import json
import os
import re
import sys
import tempfile
import time
from dataclasses import asdict, dataclass

import numpy as np

# ---- Inputs, by operations that NumPy and PyTorch share: int64, which wraps

A, B, C, BIAS, A_SCALE, B_SCALE, ROWS, COLUMNS = range(8)


def signed(x):
    return x - (1 << 64) if x >> 63 else x


def shift_right(x, n):
    return x >> n & (1 << 64 - n) - 1


def mix(place, word):
    x = (place + 1) * signed(0x9E3779B97F4A7C15) + word
    x = (x ^ shift_right(x, 30)) * signed(0xBF58476D1CE4E5B9)
    x = (x ^ shift_right(x, 27)) * signed(0x94D049BB133111EB)
    return x ^ shift_right(x, 31)


@dataclass
class Type:
    """A type of elements: widths of its code, exponent and fraction, and PyTorch's name."""
    bits: int
    exponent: int
    fraction: int
    torch: str

    def bias(self):
        return (1 << self.exponent - 1) - 1


TYPES = {
    "f16": Type(16, 5, 10, "float16"),
    "bf16": Type(16, 8, 7, "bfloat16"),
    "f32": Type(32, 8, 23, "float32"),
    "e4m3": Type(8, 4, 3, "float8_e4m3fn"),
    "e5m2": Type(8, 5, 2, "float8_e5m2"),
    "s8": Type(8, 0, 0, "int8"),
    "s32": Type(32, 0, 0, "int32"),
}


def element(kind, place, seed, operand):
    """Codes of elements, at places of any shape."""
    x, t = mix(place, 16 * seed + operand), TYPES[kind]
    if t.exponent == 0:
        return x & (1 << t.bits) - 1
    sign = 0 if operand in (A_SCALE, B_SCALE) else shift_right(x, 63)
    exponent = (x >> 40 & 7) - 4 + t.bias()
    return sign << t.bits - 1 | exponent << t.fraction | x & (1 << t.fraction) - 1


def operand(p, which, profile, items, rows, columns):
    """Codes of A or B at these items, rows and columns, which are int64 arrays that are broadcast."""
    kind, height, width = (p.a, p.m, p.k) if which == A else (p.b, p.k, p.n)
    if profile == "ones":
        one = 1 if kind == "s8" else TYPES[kind].bias() << TYPES[kind].fraction
        return (items + rows + columns) * 0 + one
    k = columns if which == A else rows
    twin = k >= p.k - p.k // 2 if profile == "mirrored" else k < 0
    k = k + (p.k - 1 - 2 * k) * twin
    rows, columns = (rows, k) if which == A else (k, columns)
    code = element(kind, (items * height + rows) * width + columns, p.seed, which)
    return code ^ twin * (1 << TYPES[kind].bits - 1) if which == A else code


# ---- Products

@dataclass
class Product:
    op: str  # mm, bmm, addmm (C a matrix), bias (C a row), scaled_mm, int_mm
    a: str
    d: str
    layout: str  # of A and B: N row-major, T column-major
    m: int
    n: int
    k: int
    seed: int = 0
    b: str = ""  # as a
    batch: int = 1
    alpha: float = 1.0
    beta: float = 0.0
    scales: str = ""  # one, scalar, rows; blocks: 1 x 128 of A and 128 x 128 of B; strips: 1 x 128 of both
    tf32: bool = False
    reduced: bool = True  # reduced-precision reduction
    fast: bool = False  # fast accumulation
    lt: bool = False  # cuBLASLt preferred
    held_out: bool = False

    def __post_init__(self):
        self.b = self.b or self.a

    def name(self):
        kind = "tf32" if self.tf32 else self.a if self.a == self.b else f"{self.a}-{self.b}"
        flags = [self.scales, "fast" * self.fast, "lt" * self.lt, "" if self.reduced else "full"]
        if self.op == "addmm":
            flags.append(f"alpha{self.alpha:g}beta{self.beta:g}")
        shape = "x".join(str(x) for x in ([self.batch] if self.batch > 1 else []) + [self.m, self.n, self.k])
        return " ".join([f"{self.op}.{kind}.{self.d}", self.layout, shape] + [f for f in flags if f])

    def profiles(self):
        if self.op == "int_mm":
            return ["plain"]
        plain = ["plain", "mirrored"]
        return plain + ["ones"] if self.op in ("mm", "bmm", "scaled_mm") and self.scales in ("", "one") else plain


SMALL = [(16, 16, 16), (17, 24, 32), (32, 48, 64), (48, 17, 72), (64, 64, 100), (72, 100, 128), (100, 72, 48), (128, 128, 128),
         (24, 128, 17), (128, 16, 300)]
MEDIUM = [(256, 256, 256), (256, 512, 456), (300, 200, 1000), (384, 640, 512), (512, 512, 1032), (513, 257, 129),
          (777, 333, 555), (1000, 1000, 1000), (1024, 768, 2048), (640, 1152, 4104)]
LARGE = [(2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (8192, 1024, 512), (1024, 8192, 1024),
         (4096, 2048, 8192), (3000, 5000, 1016), (8192, 8192, 64), (4095, 2047, 1023), (2048, 6144, 3072)]
LONG = [(1, 8, 4104), (1, 1024, 8192), (8, 8, 11528), (16, 16, 300), (16, 64, 456), (16, 1024, 11560), (33, 72, 1032),
        (64, 8, 1032), (64, 64, 4096), (64, 64, 8192), (64, 256, 11528), (64, 1024, 4104), (72, 512, 11528),
        (128, 8, 11560), (128, 64, 1032), (128, 128, 8192), (128, 256, 4104), (128, 1024, 11528), (200, 120, 8192),
        (256, 64, 11560), (256, 256, 4096), (256, 1024, 8192), (512, 16, 4104), (512, 512, 11528)]
BATCHES = [(2, 16, 16, 64), (3, 64, 48, 100), (8, 128, 128, 64), (4, 64, 64, 4104), (2, 256, 256, 1032), (16, 512, 64, 512),
           (2, 64, 8, 11528), (4, 1024, 1024, 256)]
EIGHT_BITS = [(16, 16, 16), (32, 48, 64), (64, 64, 96), (128, 128, 128), (128, 256, 304), (256, 256, 1024), (16, 64, 4096),
              (64, 64, 8192), (128, 128, 11536), (512, 512, 4112), (1024, 2048, 512), (4096, 4096, 4096), (8192, 8192, 1040)]
LAYOUTS = ["NN", "NT", "TN", "TT"]
FLOATS = [("f16", False), ("bf16", False), ("f32", True)]


def plain_products():
    for t, (kind, tf32) in enumerate(FLOATS):
        for i, (m, n, k) in enumerate(SMALL + MEDIUM + LARGE + LONG):
            yield Product("mm", kind, kind, LAYOUTS[(i + t) % 4], m, n, k, tf32=tf32)
        for i, (batch, m, n, k) in enumerate(BATCHES):
            yield Product("bmm", kind, kind, LAYOUTS[(i + t) % 4], m, n, k, batch=batch, tf32=tf32)
    for i, (m, n, k) in enumerate(SMALL[::2] + MEDIUM[::3] + LARGE[::5] + LONG[::3]):
        yield Product("mm", "f32", "f32", LAYOUTS[i % 4], m, n, k)


def products_with_options():
    some = SMALL[1::4] + MEDIUM[1::3] + LONG[4::3]
    for kind in ("f16", "bf16"):
        for i, (m, n, k) in enumerate(some + LARGE[::4]):
            yield Product("mm", kind, "f32", LAYOUTS[i % 4], m, n, k)
        for i, (m, n, k) in enumerate(MEDIUM[4::5] + LONG[2:24:2]):
            yield Product("mm", kind, kind, LAYOUTS[(i + 1) % 4], m, n, k, reduced=False)
        for i, (m, n, k) in enumerate(MEDIUM[::3] + LONG[8::5]):
            yield Product("mm", kind, kind, LAYOUTS[i % 4], m, n, k, lt=True)
        for i, (m, n, k) in enumerate([(64, 64, 64), (256, 512, 456), (128, 256, 4104), (2048, 1024, 1024)]):
            yield Product("bias", kind, kind, LAYOUTS[i], m, n, k)
    for kind, tf32 in FLOATS:
        for i, (m, n, k) in enumerate([(64, 64, 64), (256, 512, 456), (64, 64, 8192), (128, 256, 4104), (1024, 1024, 1024)]):
            yield Product("addmm", kind, kind, LAYOUTS[i % 4], m, n, k, tf32=tf32, alpha=[1, 0.75, 1.5][i % 3],
                          beta=[1, -0.3, 0.5, 1][i % 4])


def eight_bit_products():
    for fast in (False, True):
        for i, (m, n, k) in enumerate(EIGHT_BITS):
            for d in ("f32", "bf16") if i % 2 else ("f32", "f16"):
                yield Product("scaled_mm", "e4m3", d, "NT", m, n, k, scales="one", fast=fast)
        for i, (m, n, k) in enumerate(EIGHT_BITS[3:9]):
            yield Product("scaled_mm", "e4m3", ("bf16", "f32", "f16")[i % 3], "NT", m, n, k, scales="scalar", fast=fast)
            yield Product("scaled_mm", "e4m3", "bf16", "NT", m, n, k, scales="rows", fast=fast)
        for m, n, k in EIGHT_BITS[4:7]:
            yield Product("scaled_mm", "e5m2", "f32", "NT", m, n, k, b="e4m3", scales="one", fast=fast)
    for m, n, k in [(128, 128, 512), (256, 512, 1024), (512, 256, 4096)]:
        for scales in ("blocks", "strips"):
            yield Product("scaled_mm", "e4m3", "bf16", "NT", m, n, k, scales=scales)
    for i, (m, n, k) in enumerate([(24, 24, 16), (32, 48, 64), (64, 64, 104), (128, 128, 128), (128, 256, 304), (256, 256, 1024),
                                   (64, 64, 8192), (512, 512, 4112), (1024, 2048, 512), (4096, 4096, 4096)]):
        yield Product("int_mm", "s8", "s32", LAYOUTS[i % 4], m, n, k)


def table():
    out = [*plain_products(), *products_with_options(), *eight_bit_products()]
    for seed, p in enumerate(out, 1):
        p.seed = seed
    return out


def held_out():
    """Others, of sizes that the generator draws."""
    out = []
    for i in range(64):
        x = [int(word) for word in shift_right(mix(np.arange(8 * i, 8 * i + 8), 12345), 16)]
        def size(word, most):  # as many of each number of bits
            bits = 4 + word % (most - 4)
            return (1 << bits) + (word >> 8) % (1 << bits)
        m, n, k = size(x[0], 12), size(x[1], 12), size(x[2], 14)
        step = 16 if i % 8 == 7 else [1, 8, 8][x[3] % 3]
        m, n, k = ((size + step - 1) // step * step for size in (m, n, k))
        layout = LAYOUTS[x[4] % 4]
        if i % 8 == 7:
            p = Product("scaled_mm", "e4m3", ["f32", "bf16"][x[5] % 2], "NT", m, n, k, scales="one", fast=x[6] % 2 == 1)
        elif i % 8 == 6:
            kind = ["f16", "bf16"][x[5] % 2]
            p = Product("mm", kind, "f32", layout, m, n, k)
        else:
            kind, tf32 = FLOATS[i % 8 % 3]
            p = Product("mm", kind, kind, layout, m, n, k, tf32=tf32)
        p.seed, p.held_out = 1001 + i, True
        out.append(p)
    return out


def drawn(count, seed):
    """Any number of others, of all kinds, for questions that the table leaves open."""
    out = []
    for i in range(count):
        x = [int(word) for word in shift_right(mix(np.arange(16 * i, 16 * i + 16), signed(seed << 32)), 16)]

        def size(word, least, most, step):
            bits = least + word % (most - least)
            return (((1 << bits) + (word >> 8) % (1 << bits)) + step - 1) // step * step
        step = [1, 2, 4, 8, 8, 16, 64][x[0] % 7]
        m, n, k = (size(word, *range_, step) for word, range_ in zip(x[1:4], ((0, 13), (0, 13), (3, 14))))
        layout, flag, choice = LAYOUTS[x[4] % 4], x[5] % 8, x[6] % 16
        kind, tf32 = FLOATS[x[7] % 3]
        if choice < 3:
            m, n, k = (size(word, 4, most, 16) for word, most in zip(x[1:4], (13, 13, 14)))
            scales = ["one", "one", "scalar", "rows"][x[8] % 4]
            d = "bf16" if scales == "rows" else ["f32", "bf16", "f16"][x[9] % 3]
            p = Product("scaled_mm", "e4m3", d, "NT", m, n, k, scales=scales, fast=flag % 2 == 1)
        elif choice < 5:
            batch = 2 + x[8] % 7
            p = Product("bmm", kind, kind, layout, m, min(n, 1024), min(k, 4096), batch=batch, tf32=tf32)
        elif choice < 7:
            beta = [1.0, 0.5, -0.3][x[8] % 3]
            p = Product("addmm", kind, kind, layout, m, n, k, tf32=tf32, alpha=[1.0, 0.7][x[9] % 2], beta=beta)
        elif choice < 8:
            p = Product("bias", kind, kind, layout, m, n, k, tf32=tf32)
        else:
            d = "f32" if choice < 10 else kind
            p = Product("mm", kind, d, layout, m, n, k, tf32=tf32, reduced=flag != 0 or tf32, lt=flag == 1)
        p.seed, p.held_out = 1000 * seed + i, True
        out.append(p)
    return out


# ---- What is sampled

def sample(p):
    """Items, rows and columns of D: all of a small D, else the outer ones and some drawn from the others."""
    def some(size, most, which):
        if size <= most:
            return list(range(size))
        drawn = shift_right(mix(np.arange(most - 2), 16 * p.seed + which), 1) % size
        return sorted({0, size - 1, *(int(x) for x in drawn)})
    items = some(p.batch, 2, ROWS)
    if p.batch * p.m * p.n <= 1024:
        return list(range(p.batch)), list(range(p.m)), list(range(p.n))
    most = 16 if p.batch == 1 else 10
    return items, some(p.m, most, ROWS), some(p.n, most, COLUMNS)


# ---- On the GPU

class Recorder:
    def __init__(self):
        import torch
        self.torch = torch
        self.device = torch.device("cuda")
        self.library = torch.backends.cuda.preferred_blas_library()

    def tensor(self, kind, codes, column_major=False):
        torch, t = self.torch, TYPES[kind]
        whole = {8: torch.uint8, 16: torch.int16, 32: torch.int32}[t.bits]
        low = (codes - ((codes >> t.bits - 1) << t.bits) if t.bits > 8 else codes).to(whole)
        if column_major:
            low = low.transpose(-2, -1).contiguous().transpose(-2, -1)
        return low.view(getattr(torch, t.torch))

    def grid(self, items, rows, columns):
        torch = self.torch
        return [torch.arange(size, dtype=torch.int64, device=self.device).view(shape)
                for size, shape in ((items, (-1, 1, 1)), (rows, (-1, 1)), (columns, (-1,)))]

    def factor(self, p, which, profile):
        kind, rows, columns, layout = ((p.a, p.m, p.k, p.layout[0]) if which == A else (p.b, p.k, p.n, p.layout[1]))
        codes = operand(p, which, profile, *self.grid(p.batch, rows, columns))
        x = self.tensor(kind, codes, layout == "T")
        return x if p.op == "bmm" else x[0]

    def generated(self, kind, p, which, *shape):
        size = int(np.prod(shape))
        places = self.torch.arange(size, dtype=self.torch.int64, device=self.device)
        return self.tensor(kind, element(kind, places, p.seed, which)).view(shape)

    def scales(self, p):
        """Of strips and blocks, those of one column of strips lie side by side."""
        torch = self.torch
        if p.scales == "one":
            return torch.ones((), device=self.device), torch.ones((), device=self.device)
        blocks = p.k // 128
        shapes = {"scalar": ((), ()), "rows": ((p.m, 1), (1, p.n)), "strips": ((p.m, blocks), (p.n, blocks)),
                  "blocks": ((p.m, blocks), (p.n // 128, blocks))}[p.scales]
        a, b = (self.generated("f32", p, which, *shape) for which, shape in zip((A_SCALE, B_SCALE), shapes))
        if p.scales in ("strips", "blocks"):
            a = a.t().contiguous().t()
            b = (b.t().contiguous() if p.scales == "strips" else b.t())
        return a, b

    def settings(self, p):
        torch = self.torch
        matmul = torch.backends.cuda.matmul
        matmul.allow_tf32 = p.tf32
        matmul.allow_fp16_reduced_precision_reduction = p.reduced
        matmul.allow_bf16_reduced_precision_reduction = p.reduced
        torch.backends.cuda.preferred_blas_library("cublaslt" if p.lt else self.library)

    def call(self, p, profile):
        """A function that computes D."""
        torch = self.torch
        a, b, d = self.factor(p, A, profile), self.factor(p, B, profile), getattr(torch, TYPES[p.d].torch)
        if p.op in ("mm", "bmm"):
            function = getattr(torch, p.op)
            return (lambda: function(a, b)) if p.a == p.d else (lambda: function(a, b, out_dtype=d))
        if p.op == "addmm":
            c = self.generated(p.d, p, C, p.m, p.n)
            return lambda: torch.addmm(c, a, b, beta=p.beta, alpha=p.alpha)
        if p.op == "bias":
            c = self.generated(p.d, p, BIAS, p.n)
            return lambda: torch.addmm(c, a, b)
        if p.op == "int_mm":
            return lambda: torch._int_mm(a, b)
        a_scale, b_scale = self.scales(p)
        return lambda: torch._scaled_mm(a, b, a_scale, b_scale, out_dtype=d, use_fast_accum=p.fast)

    def codes(self, p, d):
        t, whole = TYPES[p.d], {16: self.torch.int16, 32: self.torch.int32}[TYPES[p.d].bits]
        return d.contiguous().view(whole).view(p.batch, p.m, p.n), (1 << t.bits) - 1

    def digest(self, p, d):
        codes, mask = self.codes(p, d)
        flat, out, step = codes.reshape(-1), 0, 1 << 25
        for first in range(0, flat.numel(), step):
            part = flat[first:first + step].to(self.torch.int64) & mask
            places = self.torch.arange(first, first + part.numel(), dtype=self.torch.int64, device=self.device)
            out += int(mix(places, part).sum())
        return f"{out & (1 << 64) - 1:016x}"

    def sampled(self, p, d, items, rows, columns):
        codes, mask = self.codes(p, d)
        index = [self.torch.tensor(x, device=self.device) for x in (items, rows, columns)]
        some = codes[index[0]][:, index[1]][:, :, index[2]].to(self.torch.int64) & mask
        digits = TYPES[p.d].bits // 4
        return "".join(f"{x:0{digits}x}" for x in some.reshape(-1).tolist())

    def profiled(self, function):
        """The result, and what the GPU executed for it, in order."""
        torch = self.torch
        from torch.profiler import ProfilerActivity, profile
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
            result = function()
            torch.cuda.synchronize()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            prof.export_chrome_trace(path)
            with open(path) as file:
                events = json.load(file)["traceEvents"]
        events = [e for e in events if e.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")]
        out = []
        for e in sorted(events, key=lambda e: e["ts"]):
            args = e.get("args", {})
            kept = {"name": e["name"]}
            kept.update((key.replace(" ", "_"), args[key]) for key in
                        ("grid", "block", "cluster", "shared memory", "registers per thread", "bytes") if key in args)
            out.append(kept)
        return result, out

    def run(self, p, profile, kernels):
        function = self.call(p, profile)
        first = function()
        if profile == "plain":
            for _ in range(3):  # now and then the profiler sees nothing
                second, events = self.profiled(function)
                if events:
                    break
            kernels.extend(events)
        else:
            second = function()
        codes = self.codes(p, first)[0]
        out = {"profile": profile, "same": bool(self.torch.equal(codes, self.codes(p, second)[0]))}
        if profile == "ones":
            values = first.to(self.torch.float32)
            return {**out, "least": float(values.min()), "most": float(values.max())}
        items, rows, columns = sample(p)
        return {**out, "digest": self.digest(p, first), "d": self.sampled(p, first, items, rows, columns)}

    def record(self, p):
        defaults = {"batch": 1, "alpha": 1.0, "beta": 0.0, "scales": "", "tf32": False, "reduced": True, "fast": False,
                    "lt": False, "held_out": False}
        line = {"kind": "generated_product", "name": p.name(), **{k: v for k, v in asdict(p).items() if defaults.get(k) != v}}
        line["items"], line["rows"], line["columns"] = sample(p)
        line["kernels"], line["runs"] = [], []
        try:
            self.settings(p)
            for profile in p.profiles():
                line["runs"].append(self.run(p, profile, line["kernels"]))
        except Exception as error:  # whatever the library refuses
            line["error"] = f"{type(error).__name__}: {str(error).splitlines()[0][:300] if str(error) else ''}"
        return line


def versions(torch):
    def of(library, function):
        for name in (library + ".so.13", library + ".so.12", library + ".so"):
            try:
                f = getattr(ctypes.CDLL(name), function)
                f.restype = ctypes.c_size_t
                return int(f())
            except (OSError, AttributeError):
                continue
        return None

    def driver():
        try:
            with open("/proc/driver/nvidia/version") as file:
                return re.search(r"\d+\.\d+(\.\d+)?", file.readline()).group()
        except (OSError, AttributeError):
            return os.popen("nvidia-smi --query-gpu=driver_version --format=csv,noheader").read().strip()

    properties = torch.cuda.get_device_properties(0)
    major, minor = torch.cuda.get_device_capability(0)
    library = of("libcublasLt", "cublasLtGetVersion")
    return {
        "format": "recording-1", "target": f"sm_{major}{minor}" + "a" * (major == 9), "source": "hardware",
        "program": "tools/products/record.py", "device": properties.name, "driver": driver(),
        "toolkit": f"PyTorch {torch.__version__}, cuBLASLt {library}", "date": datetime.date.today().isoformat(),
        "capability": [major, minor], "multiprocessors": properties.multi_processor_count, "torch": torch.__version__,
        "cuda": torch.version.cuda, "cublasLt": library, "numpy": np.__version__,
        "workspace": {name: os.environ.get(name, "") for name in
                      ("CUBLAS_WORKSPACE_CONFIG", "CUBLASLT_WORKSPACE_SIZE")},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="products.jsonl", metavar="FILE", help="where the lines go (products.jsonl)")
    parser.add_argument("--only", default="", metavar="REGEX", help="products whose name matches")
    parser.add_argument("--drawn", type=int, default=0, metavar="N", help="instead of the table N products that --seed draws")
    parser.add_argument("--seed", type=int, default=2, metavar="N", help="of --drawn (2)")
    parser.add_argument("--limit", type=float, default=330, metavar="SECONDS", help="begin no product after that (330)")
    parser.add_argument("--list", action="store_true", help="only print the names")
    options = parser.parse_args()
    products = drawn(options.drawn, options.seed) if options.drawn else table() + held_out()
    products = [p for p in products if re.search(options.only, p.name())]
    if options.list:
        for p in products:
            print(p.seed, p.name())
        return 0
    recorder, start, failed, done = Recorder(), time.monotonic(), 0, 0
    with open(options.out, "w") as file:
        print(json.dumps(versions(recorder.torch), separators=(",", ":")), file=file)
        for done, p in enumerate(products):
            elapsed = time.monotonic() - start
            if elapsed > options.limit:
                print(f"stopped after {elapsed:.0f} s: {len(products) - done} products are missing", flush=True)
                break
            line = recorder.record(p)
            print(json.dumps(line, separators=(",", ":")), file=file, flush=True)
            failed += "error" in line
            last = line.get("error") or ", ".join(kernel["name"][:80] for kernel in line["kernels"])
            changed = "" if all(run["same"] for run in line["runs"]) else "  NOT THE SAME TWICE"
            print(f"{done + 1}/{len(products)} {elapsed:.0f}s {line['name']}: {last}{changed}", flush=True)
    print(f"{failed} failed; {options.out}: {os.path.getsize(options.out)} bytes")
    return 0 if failed < len(products) else 1


if __name__ == "__main__":
    sys.exit(main())
