#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums, means, norms and softmax of PyTorch, Triton, Inductor and CuPy on a GPU, as a recording of the kind `reduction`:

    tools/capture/reductions.py FOLDER [--driver VERSION] [--date DAY]

Needs PyTorch; Triton and CuPy if they are there. Numbers are those of a stream that repeats itself after some thousand: the rows of
an array differ, and yet it takes little room in an archive.
"""
import argparse
import functools
import json
import tempfile

import torch

import recording

f32, f16, bf16, f64 = torch.float32, torch.float16, torch.bfloat16, torch.float64
e4m3 = torch.float8_e4m3fn
NAMES = {f32: "f32", f16: "f16", bf16: "bf16", f64: "f64", e4m3: "e4m3"}
VIEWS = {bf16: torch.int16, e4m3: torch.uint8}  # of what NumPy has no type for
EPSILON = 1e-6
PERIOD = 4093


@functools.cache
def stream(dtype):
    return torch.randn(PERIOD, generator=torch.Generator().manual_seed(53), dtype=torch.float64).to(dtype)


def numbers(shape, dtype):
    count = shape[0] * shape[1]
    return stream(dtype).repeat(count // PERIOD + 1)[:count].reshape(shape).cuda()


class Results(recording.Recording):
    """A recording, and what failed."""

    def __init__(self, options, program):
        super().__init__({"format": "recording-1", "target": "sm_90a", "source": "hardware", "program": program,
                          "device": torch.cuda.get_device_name(), "driver": options.driver,
                          "toolkit": f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}", "date": options.date})
        self.failed = []

    def array(self, t):
        t = t.contiguous().cpu()
        items = t.view(VIEWS.get(t.dtype, t.dtype)).numpy()
        return {"dtype": NAMES[t.dtype], "shape": list(t.shape), "strides": list(t.stride()), "data": self.keep(items.tobytes())}

    def add(self, library, name, op, shape, dtype, axis, call, **more):
        """call(x): of a matrix, its rows (axis 1), its columns (0) or all of it (None)."""
        x = numbers(shape, dtype)
        name = f"{library.split()[0]}.{name}.{NAMES[dtype]}.{shape[0]}x{shape[1]}" + ("" if axis == 1 else f".axis{axis}")
        try:
            d = call(x)
            line = {"kind": "reduction", "name": name, "op": op, "x": self.array(x), "d": self.array(d), "library": library,
                    "kernels": kernels(lambda: call(x)), "stable": bool(torch.equal(d, call(x))), **more}
        except Exception as error:  # a library that is not there, or has no such function
            self.failed.append(f"{name}: {error!r}"[:200])
            return
        if axis is not None:
            line["axis"] = axis
        if op in ("layer_norm", "rms_norm"):
            line["epsilon"] = EPSILON
        self.records.append(line)


def kernels(call):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        call()
        torch.cuda.synchronize()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        profiler.export_chrome_trace(file.name)
        with open(file.name) as text:
            events = [event for event in json.load(text)["traceEvents"] if event.get("cat") == "kernel"]
    return [{"name": event["name"], "grid": event["args"]["grid"], "block": event["args"]["block"]}
            for event in sorted(events, key=lambda event: event["ts"])]


# ---- PyTorch: shapes whose kernels differ

ROWS = [(1, 100), (1, 1000), (1, 4096), (1, 65536), (1, 1 << 18), (64, 1000), (256, 1024), (8, 33), (16, 250), (12, 12344), (640, 2048)]
COLUMNS = [(1000, 64), (4096, 256), (100, 7), (32, 31), (2000, 3)]


def pytorch(r):
    library = f"torch {torch.__version__}"
    add = functools.partial(r.add, library)
    for shape in ROWS:
        add("sum", "sum", shape, f32, 1, lambda x: x.sum(1))
    for shape in COLUMNS:
        add("sum", "sum", shape, f32, 0, lambda x: x.sum(0))
    for shape in (300, 700), (1000, 1000), (17, 19):
        add("sum", "sum", shape, f32, None, lambda x: x.sum().reshape(1))
    for dtype in (f16, bf16):
        for shape, axis in (((64, 4096), 1), ((1, 65536), 1), ((16, 100), 1), ((512, 64), 0)):
            add("sum_to_f32", "sum", shape, dtype, axis, lambda x, axis=axis: x.sum(axis, dtype=f32))
            add("sum", "sum", shape, dtype, axis, lambda x, axis=axis: x.sum(axis))
    add("sum", "sum", (16, 1000), f64, 1, lambda x: x.sum(1))
    for shape, dtype in (((64, 1000), f32), ((64, 4096), bf16), ((1, 30000), f32)):
        add("mean", "mean", shape, dtype, 1, lambda x: x.mean(1))
    for shape in (64, 1000), (8, 5000), (1, 30000):
        add("norm", "norm", shape, f32, 1, lambda x: torch.linalg.vector_norm(x, dim=1))
    for shape, dtype in (((64, 100), f32), ((64, 1024), f32), ((32, 1500), f32), ((8, 8192), f32), ((4, 50000), f32), ((32, 1024), bf16),
                         ((32, 3000), f16)):
        add("softmax", "softmax", shape, dtype, 1, lambda x: x.softmax(1))
    for shape, dtype in (((64, 768), f32), ((32, 1024), f32), ((16, 4096), f32), ((16, 1000), f32), ((32, 1024), bf16)):
        add("layer_norm", "layer_norm", shape, dtype, 1, lambda x: torch.nn.functional.layer_norm(x, x.shape[1:], eps=EPSILON))
    for shape, dtype in (((64, 768), f32), ((32, 4096), f32), ((32, 1024), bf16), ((16, 1000), f16)):
        add("rms_norm", "rms_norm", shape, dtype, 1, lambda x: torch.nn.functional.rms_norm(x, x.shape[1:], eps=EPSILON))


def pytorch_logs(r):
    add = functools.partial(r.add, f"torch {torch.__version__}")
    for shape, dtype in (((64, 1000), f32), ((16, 4096), f32), ((8, 20000), f32), ((32, 1024), bf16)):
        add("logsumexp", "logsumexp", shape, dtype, 1, lambda x: x.logsumexp(1))
        add("log_softmax", "log_softmax", shape, dtype, 1, lambda x: x.log_softmax(1))
        add("var", "var", shape, dtype, 1, lambda x: x.var(1, correction=0))
    for shape in (8, 1000), (4, 4096), (1, 20000), (300, 64):
        add("cumsum", "cumsum", shape, f32, 1, lambda x: x.cumsum(1))
        add("cumsum", "cumsum", shape, f32, 0, lambda x: x.cumsum(0))


def inductor(r):
    add = functools.partial(r.add, f"inductor {torch.__version__}")
    compiled = functools.partial(torch.compile, dynamic=False)
    for shape in (64, 1000), (8, 20000), (256, 3000):
        add("sum", "sum", shape, f32, 1, compiled(lambda x: x.sum(1)))
    add("sum", "sum", (700, 900), f32, None, compiled(lambda x: x.sum().reshape(1)))
    add("sum", "sum", (3000, 40), f32, 0, compiled(lambda x: x.sum(0)))
    add("mean", "mean", (64, 3000), f32, 1, compiled(lambda x: x.mean(1)))
    for shape in (32, 1000), (8, 9000):
        add("softmax", "softmax", shape, f32, 1, compiled(lambda x: x.softmax(1)))
    for shape in (32, 768), (16, 3000):
        add("rms_norm", "rms_norm", shape, f32, 1, compiled(lambda x: torch.nn.functional.rms_norm(x, x.shape[1:], eps=EPSILON)))
        add("layer_norm", "layer_norm", shape, f32, 1, compiled(lambda x: torch.nn.functional.layer_norm(x, x.shape[1:], eps=EPSILON)))
        add("logsumexp", "logsumexp", shape, f32, 1, compiled(lambda x: x.logsumexp(1)))
        add("log_softmax", "log_softmax", shape, f32, 1, compiled(lambda x: x.log_softmax(1)))


# ---- Triton: kernels whose loops are known

def triton_kernels(r):
    import triton

    import triton_sums as t

    add = functools.partial(r.add, f"triton {triton.__version__}")
    for K, block, warps in ((1000, 1024, 4), (1024, 1024, 8), (2048, 2048, 4), (4000, 4096, 16), (100, 128, 1)):
        for dtype in (f32, f16):
            add(f"block.w{warps}", "sum", (4, K), dtype, 1, lambda x, a=(block, warps): t.rows(t.of_block, x, *a))
    for K, block, warps in ((4096, 1024, 4), (3000, 512, 2), (1000, 256, 8)):
        for dtype in (f32, f16):
            add(f"vector.w{warps}", "sum", (4, K), dtype, 1, lambda x, a=(block, warps): t.rows(t.of_vector, x, *a))
            add(f"scalar.w{warps}", "sum", (4, K), dtype, 1, lambda x, a=(block, warps): t.rows(t.of_scalar, x, *a))
    for K, block, of_rows, warps in ((64, 64, 16, 4), (500, 512, 4, 4), (128, 128, 8, 2)):
        add(f"tile{of_rows}.w{warps}", "sum", (32, K), f32, 1, lambda x, a=(block, of_rows, warps): t.tiles(x, *a))
    for split in (2, 4, 8, 3):
        add(f"split{split}", "sum", (4, 6144), f32, 1, lambda x, split=split: t.split(x, split, 512, 4))
    add("softmax.w4", "softmax", (8, 1000), f32, 1, lambda x: t.same(t.softmax, x, 1024, 4))
    add("softmax.w8", "softmax", (4, 4096), f32, 1, lambda x: t.same(t.softmax, x, 4096, 8))


def triton_attention(r):
    """Softmax split over KV: how each row's log(sum of exp) and its values came about."""
    import triton

    import triton_sums as t

    add = functools.partial(r.add, f"triton {triton.__version__}")
    for K, V, count, block, warps in ((1024, 16, 1, 128, 4), (4096, 16, 4, 128, 4), (4096, 64, 8, 64, 4), (6000, 16, 5, 128, 2), (2048, 32, 2, 32, 1)):
        v = numbers((K, V), f32)
        name = f"split_kv{count}.b{block}.w{warps}"
        add(name, "logsumexp", (16, K), f32, 1, lambda x, v=v, a=(count, block, warps): t.attention(x, v, *a)[1])
        add(name + f".v{V}", "attention", (16, K), f32, 1, lambda x, v=v, a=(count, block, warps): t.attention(x, v, *a)[0], v=r.array(v))


def cupy_sums(r):
    import cupy

    def sums(x):
        return torch.from_dlpack(cupy.from_dlpack(x).sum(axis=1))

    for accelerators in ([], ["cub"]):
        cupy._core.set_reduction_accelerators(accelerators)
        cupy._core.set_routine_accelerators(accelerators)
        for shape in (4, 4096), (1, 100000), (64, 1000):
            r.add(f"cupy {cupy.__version__}", "".join(["sum", *("." + one for one in accelerators)]), "sum", shape, f32, 1, sums)


def run(program, description, parts):
    """Options of the command line; a recording of what parts(results) add, each of which may need a library that is not there."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", help="where the recording goes: a new folder, or a .zip")
    options.add_argument("--driver", default="")
    options.add_argument("--date", default="")
    options = options.parse_args()
    r = Results(options, program)
    for part in parts:
        try:
            part(r)
        except ImportError as error:
            r.failed.append(f"{part.__name__}: {error}")
    r.write(options.folder)
    print(len(r.records), "records")
    print(*r.failed, sep="\n")


if __name__ == "__main__":
    run("tools/capture/reductions.py", __doc__, (pytorch, pytorch_logs, inductor, triton_kernels, triton_attention, cupy_sums))
